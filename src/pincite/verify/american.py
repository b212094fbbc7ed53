"""Authorities of the United States, found by eyecite (extra ``law``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pincite.errors import MissingExtraError
from pincite.verify.case_names import find_named
from pincite.verify.grammar import Grammar, load_grammar
from pincite.verify.records import Authority

__all__ = ["find_american"]

#: What may stand between a name and its report, and between parallel reports.
_BETWEEN = re.compile(r"[\s,;]{0,3}")
_YEAR = re.compile(r"[^()\[\]]{0,40}\((?:[A-Za-z0-9. ]{0,20}\s)?(\d{4})\)")


def find_american(text: str, grammar: Grammar | None = None) -> list[Authority]:
    """The cases and statutes of the United States that `text` names, in the order of the text.

    Of a statute `act` is its code with its title (``42 U.S.C.``). Of a case the year is that of the decision, as
    American citations give it. Where eyecite leaves out the parties they are read as `grammar` reads them, the one that
    comes with pincite where none is given. Short forms (``Id.``, ``410 U.S. at 115``) are left out. Raises
    MissingExtraError where eyecite is not installed. To join them with others: `pincite.verify.find.merge`.
    """
    try:
        from eyecite import get_citations
        from eyecite.models import FullCaseCitation, FullLawCitation
    except ImportError as error:
        raise MissingExtraError("reading American citations", "law") from error
    cites: list[Any] = list(get_citations(text))
    cases = [each for each in cites if isinstance(each, FullCaseCitation)]
    laws = [each for each in cites if isinstance(each, FullLawCitation)]
    named = [each for each in find_named(text, grammar or _own_grammar()) if each.parties]
    found = [*_cases(text, cases, named), *(_law(text, each) for each in laws)]
    return sorted(found, key=lambda each: each.start)


@cache
def _own_grammar() -> Grammar:
    return load_grammar()


def _cases(text: str, cites: Sequence[Any], named: Sequence[Authority]) -> Iterator[Authority]:
    """One authority for each case: parallel reports follow each other with nothing but a comma between."""
    made: Authority | None = None
    ordered = sorted(cites, key=lambda each: each.span())
    starts = [*(each.span()[0] for each in ordered[1:]), len(text)]
    for cite, following in zip(ordered, starts, strict=False):
        start, end = cite.span()
        report = str(cite.corrected_citation())
        gap = _BETWEEN.match(text, made.end) if made else None
        if made is not None and gap and gap.end() == start and made.year is None:
            made = replace(made, end=end, reports=(*made.reports, report))
        else:
            if made is not None:
                yield replace(made, text=text[made.start : made.end])
            begin, parties = _name(text, cite, start, named)
            made = Authority("case", begin, end, "", parties=parties, reports=(report,))
        if year := _YEAR.match(text, end, following):
            pinpoint = str(cite.metadata.pin_cite or "")
            made = replace(made, end=year.end(), year=int(year.group(1)), decided=True, pinpoint=pinpoint)
    if made is not None:
        yield replace(made, text=text[made.start : made.end])


def _name(text: str, cite: Any, start: int, named: Sequence[Authority]) -> tuple[int, tuple[str, str] | None]:
    """Where the case begins, and its parties; None where no name stands right before the report."""
    for each in named:
        gap = _BETWEEN.match(text, each.end)
        if gap and gap.end() == start:
            return each.start, each.parties
    plaintiff, defendant = cite.metadata.plaintiff, cite.metadata.defendant
    at = text.rfind(plaintiff, 0, start) if plaintiff and defendant else -1
    return (at, (plaintiff, defendant)) if at >= 0 else (start, None)


def _law(text: str, cite: Any) -> Authority:
    start, end = cite.span()
    groups = cite.groups
    title = groups.get("title") or groups.get("chapter") or ""
    return Authority(
        "provision",
        start,
        end,
        text[start:end],
        act=f"{title} {groups.get('reporter', '')}".strip(),
        unit="section",
        provision=str(groups.get("section", "")),
    )
