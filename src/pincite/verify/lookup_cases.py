"""Whether a case is in the corpus under its name, its year and its reports."""

from __future__ import annotations

from collections.abc import Sequence

from pincite.verify.forms import report_year
from pincite.verify.known_cases import LIKE_NAME, SAME_NAME, Case, Tie, Words, listed, name_score
from pincite.verify.records import Authority, Finding
from pincite.verify.registry import Registry

__all__ = ["LATER", "look_up_case"]

#: A report may come out so many years after the decision.
LATER = 2
#: A name that is no match is still told of as the nearest, from here on.
_NEAR = 0.4
#: So many documents must give a report for a case before it speaks against another report of the same kind.
_EVIDENCE = 2


def look_up_case(authority: Authority, registry: Registry) -> Finding:
    """See `pincite.verify.lookup.look_up`."""
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
            f"{len(alike)} cases of that name are in this corpus: {listed([case.name for case in alike])}",
            alike[0].name,
            alike[0].place,
            tuple(case.place for case in alike),
        )
    case = alike[0]
    if wrong := _wrong_report(authority, registry, case, named):
        return wrong
    others = tuple(other.place for other in alike[1:])
    notes = [_how_known(authority, registry, case)]
    if (best < 0.9 or _named_otherwise(named, case.words)) and not authority.short:
        notes.insert(0, f"named there as {_v(case.parties)}")
    return Finding(authority, "found", "; ".join(filter(None, notes)), case.name, case.place, others)


def _named_otherwise(named: Words, known: Words) -> bool:
    """Whether a party is spelled in another way than there, or the parties stand the other way round."""
    if not named[1] or not known[1]:
        return False
    turned = set(named[0]) & set(known[1]) and not set(named[0]) & set(known[0])
    there = {word for party in known for word in party}
    own = {word for party in named for word in party if len(word) > 3}
    return bool(turned) or any(word not in there for word in own)


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
    many = f"; {listed([case.name for case in cases if case is not nearest])}" if len(cases) > 1 else ""
    return Finding(
        authority,
        "wrong-year",
        f"this corpus has {nearest.name}{many}; none of {year}",
        nearest.name,
        nearest.place,
        tuple(case.place for case in cases if case is not nearest),
    )


def _wrong_report(authority: Authority, registry: Registry, case: Case, named: Words) -> Finding | None:
    """A finding where a report given for a case is known to be another's, or the case's to be another."""
    if not authority.reports:
        return None
    known = registry.cases.reports_of(case)
    weights = registry.cases.weights
    for report in authority.reports:
        if report in known or report in case.reports:
            continue
        ties = registry.cases.tied(report)
        if ties and not any(_agree(tie.name.words, named, weights) for tie in ties):
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
                f"this corpus knows {case.name} as {listed(sure)}, not {report}",
                case.name,
                case.place,
            )
    return None


def _agree(one: Words, other: Words, weights: dict[str, float]) -> bool:
    """Whether two names may be of one case: either may be the longer one."""
    return max(name_score(one, other, weights), name_score(other, one, weights)) >= _NEAR


def _how_known(authority: Authority, registry: Registry, case: Case) -> str:
    known = registry.cases.reports_of(case) if authority.reports else {}
    unproved = [each for each in authority.reports if each not in known and each not in case.reports]
    if not unproved:
        return ""
    return f"the case is there; that it is reported at {listed(unproved)} is said by nothing in this corpus"


def _no_such_name(
    authority: Authority,
    registry: Registry,
    named: Words,
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
        agreeing = [tie for tie in ties if _agree(tie.name.words, named, weights)]
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
        note = f"not in this corpus; the nearest names are {listed([case.name for _, case in near[:3]])}"
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
        names = listed(list(dict.fromkeys(_v(tie.name.parties) for tie in ties)))
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
