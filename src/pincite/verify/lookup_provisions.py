"""Whether a provision is in the corpus, under the act that is named, and in force on a day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pincite.verify.fitting import fit
from pincite.verify.known_cases import listed
from pincite.verify.records import Authority, Finding
from pincite.verify.registry import Act, Provision, Registry
from pincite.verify.statutes import number_key

__all__ = ["look_up_provision"]

#: The share of a sentence's words in a provision of another act from which on that one is told, where the act that was
#: named has none of that number. Nothing is lost by it: either way it is wrong.
_FITS = 0.4
#: An act is there as a whole where it has so many provisions, and nearly all numbers from the first to the last.
_MANY, _WHOLE = 20, 0.95


def look_up_provision(authority: Authority, registry: Registry, as_of: str | None, sentence: str) -> Finding:
    """See `pincite.verify.lookup.look_up`."""
    if not authority.act:
        return _of_no_act(authority, registry, as_of, sentence)
    act = registry.act(authority.act)
    if act is None and authority.act.startswith("the "):
        return Finding(authority, "ambiguous", f"which it is that the text calls “{authority.act}” is not clear")
    if act is None:
        known = registry.grammar.acts.get(authority.act)
        name = known.full_name if known else authority.act
        return Finding(authority, "not-found", f"{name} is not in this corpus")
    versions = _versions(act, authority)
    if not versions:
        return _no_such_provision(authority, registry, act, as_of, sentence)
    finding = _in_force(authority, registry, act, versions, as_of)
    if finding.status != "found":
        return finding
    if other := _fits_better(authority, registry, act, versions, as_of, sentence):
        return other
    return _below(finding, registry)


def _versions(act: Act, authority: Authority) -> tuple[Provision, ...]:
    """The versions of the provision. "5 (A)" is section 5A where there is one and no section 5 with an "(A)"."""
    found = act.provisions.get((authority.unit, authority.provision), ())
    letter = authority.below[1:-1] if len(authority.below) == 3 else ""
    if letter.isalpha() and letter.isupper():
        return act.provisions.get((authority.unit, authority.provision + letter), ()) or found
    return found


def _title(act: Act, provision: Provision) -> str:
    title = f", {provision.title}" if provision.title else ""
    return f"{provision.unit.capitalize()} {provision.number}, {act.name}{title}"


def _in_force(
    authority: Authority, registry: Registry, act: Act, versions: Sequence[Provision], as_of: str | None
) -> Finding:
    """Found or not in force; the place is that of the version of the day, or of the nearest."""
    there = [each for each in versions if each.in_force(as_of)]
    if there:
        provision = there[-1]
        notes = [provision.note] if provision.note else []
        if as_of is None and provision.ends:
            notes.append(f"in force until {provision.ends}{_instead(act, registry)}")
        if as_of and provision.repealed:
            notes.append(f"its text of that day is not in this corpus: {provision.repealed}")
        return Finding(authority, "found", "; ".join(notes), _title(act, provision), provision.place)
    nearest = _nearest(versions, as_of)
    if nearest.repealed:
        note = f"no longer in force: {nearest.repealed}"
    elif as_of is None:
        since = f" since {nearest.ends}" if nearest.ends else ""
        note = f"no longer in this corpus{since}"
    elif as_of < nearest.starts:
        note = f"in force from {nearest.starts} only"
    else:
        note = f"in force until {nearest.ends}{_instead(act, registry)}"
    return Finding(authority, "not-in-force", note, _title(act, nearest), nearest.place)


def _nearest(versions: Sequence[Provision], as_of: str | None) -> Provision:
    if as_of is None:
        return versions[-1]
    begun = [each for each in versions if each.starts <= as_of]
    return begun[-1] if begun else versions[0]


def _instead(act: Act, registry: Registry) -> str:
    """By what an act was replaced, where the grammar says so. Which provision took whose place it does not say."""
    known = registry.grammar.acts.get(act.key)
    if known is None or not known.replaced_by:
        return ""
    after = registry.grammar.acts[known.replaced_by].full_name
    there = "" if registry.act(known.replaced_by) else ", which is not in this corpus"
    since = f" from {known.replaced_on}" if known.replaced_on else ""
    return f"; replaced{since} by the {after}{there}"


def _no_such_provision(authority: Authority, registry: Registry, act: Act, as_of: str | None, sentence: str) -> Finding:
    numbers = sorted((number for unit, number in act.provisions if unit == authority.unit), key=number_key)
    extent = f" ({numbers[0]} to {numbers[-1]})" if numbers else ""
    note = f"the {act.name} has no {authority.unit} {authority.provision}{extent}"
    others = _elsewhere(authority, registry, act, as_of) if sentence else []
    scored = [(fit(sentence, registry.texts(each.place), authority.text), each) for each in others]
    good = [each for each in scored if each[0] >= _FITS]
    if good:
        _, other = max(good, key=lambda each: each[0])
        its = registry.acts[other.act]
        return Finding(authority, "wrong-act", f"{note}; {_title(its, other)} fits", _title(its, other), other.place)
    return Finding(authority, "no-such-provision" if _is_whole(act, authority.unit) else "not-found", note)


def _is_whole(act: Act, unit: str) -> bool:
    """Whether the corpus has all of an act, as far as its numbers tell: what it has not is not in the act."""
    numbers = {int(digits.group()) for of, each in act.provisions if of == unit and (digits := re.match(r"\d+", each))}
    return len(numbers) >= _MANY and 1 in numbers and len(numbers) >= _WHOLE * max(numbers)


def _elsewhere(authority: Authority, registry: Registry, act: Act | None, as_of: str | None) -> list[Provision]:
    """Provisions of other acts with the same number."""
    found = []
    for other in registry.acts.values():
        if act is not None and other.key == act.key:
            continue
        for (_, number), versions in other.provisions.items():
            if number == authority.provision:
                there = [each for each in versions if each.in_force(as_of)]
                found.append(there[-1] if there else versions[-1])
    return found


def _fits_better(
    authority: Authority,
    registry: Registry,
    act: Act,
    versions: Sequence[Provision],
    as_of: str | None,
    sentence: str,
) -> Finding | None:
    """A finding where the sentence is about what another act's provision of that number says, and not about this."""
    if not sentence:
        return None
    own = fit(sentence, registry.texts(_nearest(versions, as_of).place), authority.text)
    if own >= 0.4:
        return None
    best: tuple[float, Provision] | None = None
    for other in _elsewhere(authority, registry, act, as_of):
        score = fit(sentence, registry.texts(other.place), authority.text)
        if best is None or score > best[0]:
            best = (score, other)
    if best is None or best[0] < 0.6 or best[0] < own + 0.35:
        return None
    there, its = _nearest(versions, as_of), registry.acts[best[1].act]
    note = f"{_title(act, there)} is about something else; {_title(its, best[1])} fits"
    return Finding(authority, "wrong-act", note, _title(its, best[1]), best[1].place, (there.place,))


def _of_no_act(authority: Authority, registry: Registry, as_of: str | None, sentence: str) -> Finding:
    """Of a provision whose act the text does not say clearly."""
    found = [each for each in _elsewhere(authority, registry, None, as_of) if each.unit == authority.unit]
    if not found:
        return Finding(
            authority,
            "not-found",
            f"no act is named, and none in this corpus has {authority.unit} {authority.provision}",
        )
    if len(found) > 1 and sentence:
        scored = sorted(
            ((fit(sentence, registry.texts(each.place), authority.text), i) for i, each in enumerate(found)),
            reverse=True,
        )
        if scored[0][0] >= 0.4 and scored[0][0] >= scored[1][0] + 0.25:
            found = [found[scored[0][1]]]
    first = found[0]
    title = _title(registry.acts[first.act], first)
    if len(found) == 1:
        act = registry.acts[first.act]
        finding = _in_force(authority, registry, act, act.provisions[first.unit, first.number], as_of)
        taken = f"no act is named; taken for that of the {act.name}"
        return replace(finding, note="; ".join(each for each in (taken, finding.note) if each))
    names = [registry.acts[each.act].name for each in found]
    return Finding(
        authority,
        "ambiguous",
        f"no act is named; {listed(names)} have {authority.unit} {authority.provision}",
        title,
        first.place,
        tuple(each.place for each in found),
    )


def _below(finding: Finding, registry: Registry) -> Finding:
    """Whether what is named below a provision is there: ``(1)(a)``, where its text has such marks at all."""
    authority, place = finding.authority, finding.place
    below = [each.strip("()") for each in authority.below.split(")") if "(" in each]
    if place is None or not below or authority.below.startswith(" "):
        return finding
    text = registry.texts(place)
    missing = next((mark for mark in below if _lacks(text, mark)), None)
    if missing is None:
        return finding
    return replace(finding, status="no-such-provision", note=f"{finding.name} is there; it has no ({missing})")


def _lacks(text: str, mark: str) -> bool:
    """Whether a text that is divided by marks of this kind has not this one."""
    if f"({mark})" in text:
        return False
    first, second = ("1", "2") if mark[0].isdigit() else ("a", "b") if mark.islower() else ("A", "B")
    return f"({first})" in text and f"({second})" in text
