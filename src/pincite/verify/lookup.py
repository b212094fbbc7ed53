"""Whether an authority is in the corpus as it is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pincite.verify.fitting import fit
from pincite.verify.forms import report_year
from pincite.verify.known_cases import LIKE_NAME, SAME_NAME, Case, Tie, name_score
from pincite.verify.records import Authority, Finding, Place
from pincite.verify.registry import Act, Provision, Registry
from pincite.verify.statutes import number_key

__all__ = ["LATER", "look_up"]

#: A report may come out so many years after the decision.
LATER = 2
#: A name that is no match is still told of as the nearest, from here on.
_NEAR = 0.4
#: So many documents must give a report for a case before it speaks against another report of the same kind.
_EVIDENCE = 2


def look_up(authority: Authority, registry: Registry, as_of: str | None = None, *, sentence: str = "") -> Finding:
    """What the registry has of `authority`; see `pincite.verify.records.AuthorityStatus`.

    `as_of` is a day, ISO 8601: a provision that was not in force then is ``not-in-force``; None asks for what is
    recorded as current. `sentence` is the sentence that names it: with it, a provision that is there but about
    something else, where another act's with that number fits, is ``wrong-act``. Never raises for what it is given.
    """
    if authority.kind == "case":
        return _case(authority, registry)
    return _provision(authority, registry, as_of, sentence)


# Cases


def _case(authority: Authority, registry: Registry) -> Finding:
    if authority.parties is None:
        return _by_report(authority, registry)
    words = tuple(registry.grammar.parties.words(party) if party else () for party in authority.parties)
    named = (words[0], words[1])
    near = registry.cases.like(named, _NEAR)
    owners = [case for report in authority.reports for case in registry.cases.owners(report)]
    same = [
        (score, case)
        for score, case in near
        if score >= SAME_NAME or (score >= LIKE_NAME and _reported(authority, registry, case))
    ]
    if not same:
        return _no_such_name(authority, registry, named, near, owners)
    fits = [(score, case) for score, case in same if _year_fits(authority, case)]
    if not fits:
        return _wrong_year(authority, [case for _, case in same])
    best = fits[0][0]
    alike = [case for score, case in fits if score >= best - 0.05]
    if len(alike) > 1:
        owned = [case for case in alike if case in owners]
        known = owned or [case for case in alike if _reported(authority, registry, case)]
        alike = known or alike
    if len(alike) > 1 and authority.year is None:
        return Finding(
            authority,
            "ambiguous",
            f"{len(alike)} cases of that name are in this corpus: {_list([case.name for case in alike])}",
            alike[0].name,
            alike[0].place,
            tuple(case.place for case in alike),
        )
    case = alike[0]
    if wrong := _wrong_report(authority, registry, case, named):
        return wrong
    others = tuple(other.place for other in alike[1:])
    notes = [_how_known(authority, registry, case)]
    if best < 0.9 and not authority.short:
        notes.insert(0, f"there it is called {_v(case.parties)}")
    return Finding(authority, "found", "; ".join(filter(None, notes)), case.name, case.place, others)


def _reported(authority: Authority, registry: Registry, case: Case) -> bool:
    """Whether one of the reports given is known to be of the case."""
    known = {*case.reports, *registry.cases.reports_of(case)} if authority.reports else set()
    return not known.isdisjoint(authority.reports)


def _year_fits(authority: Authority, case: Case) -> bool:
    """Whether the decision can be that of the years given: the year said, and no report before it or long after."""
    if case.year is None:
        return True
    if authority.decided and authority.year is not None and authority.year != case.year:
        return False
    years = [year for report in authority.reports if (year := report_year(report))]
    if not years and authority.year is not None:
        years = [authority.year]
    return all(0 <= year - case.year <= LATER for year in years)


def _wrong_year(authority: Authority, cases: Sequence[Case]) -> Finding:
    year = authority.year or next((year for each in authority.reports if (year := report_year(each))), 0)
    nearest = min(cases, key=lambda case: (abs((case.year or 0) - year), case.place.uri))
    many = f"; {_list([case.name for case in cases if case is not nearest])}" if len(cases) > 1 else ""
    return Finding(
        authority,
        "wrong-year",
        f"this corpus has {nearest.name}{many}; none of {year}",
        nearest.name,
        nearest.place,
        tuple(case.place for case in cases if case is not nearest),
    )


def _wrong_report(
    authority: Authority, registry: Registry, case: Case, named: tuple[tuple[str, ...], tuple[str, ...]]
) -> Finding | None:
    """A finding where a report given for a case is known to be another's, or the case's to be another."""
    known = registry.cases.reports_of(case)
    weights = registry.cases.weights
    for report in authority.reports:
        if report in known or report in case.reports:
            continue
        ties = registry.cases.tied(report)
        if ties and all(name_score(tie.name.words, named, weights) < _NEAR for tie in ties):
            other = ties[0]
            if _told(ties) >= _EVIDENCE:
                return Finding(
                    authority,
                    "wrong-name",
                    f"{report} is {_v(other.name.parties)}, as {_documents(_told(ties))} it",
                    case.name,
                    case.place,
                )
        same = [each for each in (*case.reports, *known) if _kind(each) == _kind(report) and each != report]
        sure = [each for each in same if each in case.reports or known[each] >= _EVIDENCE]
        year = report_year(report)
        if sure and not ties and all(report_year(each) != year for each in sure):
            return Finding(
                authority,
                "wrong-year",
                f"this corpus knows {case.name} as {_list(sure)}, not {report}",
                case.name,
                case.place,
            )
    return None


def _how_known(authority: Authority, registry: Registry, case: Case) -> str:
    known = registry.cases.reports_of(case) if authority.reports else {}
    unproved = [each for each in authority.reports if each not in known and each not in case.reports]
    if not unproved:
        return ""
    return f"the case is there; that it is reported at {_list(unproved)} is said by nothing in this corpus"


def _no_such_name(
    authority: Authority,
    registry: Registry,
    named: tuple[tuple[str, ...], tuple[str, ...]],
    near: Sequence[tuple[float, Case]],
    owners: Sequence[Case],
) -> Finding:
    weights = registry.cases.weights
    if owners:
        other = owners[0]
        return Finding(authority, "wrong-name", f"that report is {other.name}", other.name, other.place)
    cited = 0
    for report in authority.reports:
        ties = registry.cases.tied(report)
        agreeing = [tie for tie in ties if name_score(tie.name.words, named, weights) >= _NEAR]
        cited = max(cited, _told(agreeing))
        if ties and not agreeing and _told(ties) >= _EVIDENCE:
            there: Case | None = _document_of(ties, registry, report)
            return Finding(
                authority,
                "wrong-name",
                f"{report} is {_v(ties[0].name.parties)}, as {_documents(_told(ties))} it",
                there.name if there else "",
                there.place if there else None,
            )
    if cited:
        note = f"its text is not in this corpus; {_documents(cited)} it so"
    elif near:
        note = f"not in this corpus; the nearest names are {_list([case.name for _, case in near[:3]])}"
    else:
        note = "not in this corpus"
    return Finding(authority, "not-found", note)


def _by_report(authority: Authority, registry: Registry) -> Finding:
    """Of a case that is named by its reports alone."""
    for report in authority.reports:
        for owner in registry.cases.owners(report):
            return Finding(authority, "found", "", owner.name, owner.place)
    for report in authority.reports:
        ties = registry.cases.tied(report)
        if not ties:
            continue
        case = _document_of(ties, registry, report)
        if case is not None:
            note = f"{_documents(_told(ties))} {case.name} so"
            return Finding(authority, "found", note, case.name, case.place)
        names = _list(list(dict.fromkeys(_v(tie.name.parties) for tie in ties)))
        note = f"its text is not in this corpus; {_documents(_told(ties))} {names} so"
        return Finding(authority, "not-found", note)
    return Finding(authority, "not-found", "not in this corpus, and cited nowhere in it")


def _document_of(ties: Sequence[Tie], registry: Registry, report: str) -> Case | None:
    """The case of the corpus that a report is, by the names that are given for it."""
    year = report_year(report)
    for tie in ties:
        for _, case in registry.cases.like(tie.name.words):
            if year is None or case.year is None or 0 <= year - case.year <= LATER:
                return case
    return None


def _told(ties: Sequence[Tie]) -> int:
    return sum(tie.count for tie in ties)


def _kind(report: str) -> str:
    return "".join(letter for letter in report if letter.isalpha())


def _v(parties: tuple[str, str]) -> str:
    return " v ".join(each for each in parties if each)


def _documents(count: int) -> str:
    return "1 document of this corpus cites" if count == 1 else f"{count} documents of this corpus cite"


def _list(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more


# Provisions


def _provision(authority: Authority, registry: Registry, as_of: str | None, sentence: str) -> Finding:
    if not authority.act:
        return _of_no_act(authority, registry, as_of, sentence)
    act = registry.act(authority.act)
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
    others = _elsewhere(authority, registry, act, as_of)
    scored = [(fit(sentence, registry.texts(each.place), authority.text), each) for each in others] if sentence else []
    good = [each for each in scored if each[0] >= 0.5]
    if good:
        _, other = max(good, key=lambda each: each[0])
        its = registry.acts[other.act]
        return Finding(authority, "wrong-act", f"{note}; {_title(its, other)} fits", _title(its, other), other.place)
    return Finding(authority, "not-found", note)


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
        return replace(
            finding, note="; ".join(each for each in ("no act is named; taken for this", finding.note) if each)
        )
    names = [registry.acts[each.act].name for each in found]
    return Finding(
        authority,
        "ambiguous",
        f"no act is named; {_list(names)} have {authority.unit} {authority.provision}",
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
    return replace(finding, status="not-found", note=f"{finding.name} is there; it has no ({missing})")


def _lacks(text: str, mark: str) -> bool:
    """Whether a text that is divided by marks of this kind has not this one."""
    plain: Place | str = mark
    if f"({plain})" in text:
        return False
    first, second = ("1", "2") if mark[0].isdigit() else ("a", "b") if mark.islower() else ("A", "B")
    return f"({first})" in text and f"({second})" in text
