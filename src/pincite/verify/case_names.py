"""Cases that a text names: parties around "v.", the reports after them, and reports that stand alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pincite.verify.forms import ReportFound
from pincite.verify.grammar import Grammar
from pincite.verify.party_names import CAPITAL, INSIDE, LEADS, first_party, is_initial, is_public, second_party, versus
from pincite.verify.records import Authority

__all__ = ["find_cases", "find_named"]


_YEAR_ONLY = re.compile(
    r"(?:\s+and\b(?:\s[a-z]+\b)?|\s*\.{2,})?[\s,]*(?:[\[(]\s*((?:1[6-9]|20)\d\d)\s*[\])](?!\s\d{1,2}\s[A-Z]{2})"
    r"|(?:[\[(][^()\[\]]{0,60}?|,?\s*(?:Cr|C\.|W\.|S\.?L|Ci|Writ)[^()\[\];]{0,50}?)?"
    r"\s*\b(?:decided|judgment dated)\s+(?:on\s+)?"
    r"[^()\[\];]{0,24}?\b((?:1[6-9]|20)\d\d)\b\s*[\])]?"
    r"|,\s*((?:1[6-9]|20)\d\d)(?=\s*(?:[,.;:)]|\Z)))"
)
_BEFORE_REPORT = re.compile(
    r"[\s,;:=(\[{–—.'’\"-]*(?:(?:since\s+)?reported\s+(?:in|as|at)[\s,:]*)?[(\[{]?\s*(?=[A-Z\d(\[])"
)
_BETWEEN = re.compile(r"[\s,;:=\])}(\[{–—.-]*(?=[A-Z\d(\[])")
_PINPOINT = re.compile(
    r"[\s,\])]*[\[(]?\s*(?:at\s+|in\s+|see\s+)?(?P<where>(?:paras?\.?|paragraphs?|¶+|pp?\.|pages?|at)\s*\d+"
    r"(?:\s*(?:[-–,&]|and|to)\s*\d+)*)(?:\s*[\])])?"
)
_SUPRA = re.compile(r"[\s,]*[\[(]?\s*supra\s*[\])]?", re.IGNORECASE)
_CLOSING = re.compile(r"\s*[\])}]")
_SHORT = re.compile(
    r"(?P<name>(?:[A-Z][\w.&-]*\s+(?:(?:of|and|&)\s+)?){0,5}[A-Z][\w.&-]*?)(?P<own>(?:['’]s|s['’])?)"
    r"(?:\s+(?P<case>[Cc]ase)\b|\s*,?\s*(?P<supra>[\[(]\s*supra\s*[\])]|(?<=,)\s*supra\b|\bsupra\b))"
)
_IN_RE = re.compile(r"\b(?:[Ii]n\s+)?[Rr]e\b[:.]?\s+(?=[A-Z])")
# Before "case", these name no party.
_NOT_NAMES = frozenset(
    word
    for line in (
        "this that the present instant another any each every other such same above said earlier latter former first",
        "second leading landmark reference one no in a an which what his her its their my our your whose",
        "prosecution defence appellant appellants petitioner petitioners respondent respondents plaintiff defendant",
        "state accused complainant revenue department management workman workmen government union board company bank",
        "corporation court criminal civil english american indian police session sessions murder dacoity theft rape",
        "test sc st",
    )
    for word in line.split()
)


def find_named(text: str, grammar: Grammar) -> list[Authority]:
    """The cases that `text` names by both parties, with the reports that follow, in order."""
    found: list[Authority] = []
    last = 0
    for start, end in versus(text, grammar):
        if start < last:
            continue
        made = _around(text, start, end, last, grammar)
        if made is not None:
            found.append(made)
            last = made.end
    return found


def find_cases(text: str, grammar: Grammar) -> list[Authority]:
    """Every case that `text` names: by its parties, by reports alone, or in short where it was named before."""
    named = find_named(text, grammar)
    taken = [(each.start, each.end) for each in named]
    short = _short(text, grammar, named, taken)
    taken = sorted((each.start, each.end) for each in (*named, *short))
    found = [*_with_report_before(text, named, list(_alone(text, grammar, taken))), *short]
    return sorted(found, key=lambda each: each.start)


def _around(text: str, start: int, end: int, floor: int, grammar: Grammar) -> Authority | None:
    left = first_party(text, start, floor)
    if left is None:
        return None
    capital = text[start:end].strip() == "V."
    if capital and is_initial(text[left : start + 1]):
        return None
    right = second_party(text, end, grammar)
    if right is None:
        return None
    first = " ".join(text[left:start].split())
    begin, stop = right
    second = " ".join(text[begin:stop].split())
    reports, year, decided, pinpoint, finish = _after(text, stop, grammar)
    if capital and not reports and not decided and " " not in first and not is_public(second):
        return None  # "Sujata V. Manohar" is a person
    return Authority(
        "case",
        left,
        finish,
        text[left:finish],
        parties=(first, second.rstrip(",")),
        reports=tuple(each.text for each in reports),
        year=year,
        decided=decided,
        pinpoint=pinpoint,
    )


def _after(text: str, position: int, grammar: Grammar) -> tuple[list[ReportFound], int | None, bool, str, int]:
    """What follows a name: reports, year, whether it is of the decision, pinpoint, and where all of it ends."""
    reports: list[ReportFound] = []
    year: int | None = None
    decided = False
    pinpoint = ""
    end = position
    if supra := _SUPRA.match(text, end):
        end = supra.end()
    gap = _BEFORE_REPORT.match(text, end)
    if gap and (found := _at(text, gap, grammar)):
        reports, end = _chain(text, found, grammar)
    elif only := _YEAR_ONLY.match(text, end):
        year, decided, end = int(only.group(1) or only.group(2) or only.group(3)), True, only.end()
        gap = _BEFORE_REPORT.match(text, end)
        if gap and gap.end() - end <= 4 and (found := _at(text, gap, grammar)):
            reports, end = _chain(text, found, grammar)
    if supra := _SUPRA.match(text, end):
        end = supra.end()
    if where := _PINPOINT.match(text, end):
        pinpoint, end = " ".join(where.group("where").split()), where.end()
    if reports and year is None:
        of_decision = next((each for each in reports if each.of_decision and each.year), None)
        dated = of_decision or next((each for each in reports if each.year), None)
        year, decided = (dated.year, dated.of_decision) if dated else (None, False)
    return reports, year, decided, pinpoint, end


def _at(text: str, gap: re.Match[str], grammar: Grammar) -> ReportFound | None:
    """A report where `gap` ends, or at a bracket that it took."""
    for start in range(gap.end(), max(gap.start(), gap.end() - 3) - 1, -1):
        if found := grammar.reader.match(text, start):
            return found
    return None


def _chain(text: str, first: ReportFound, grammar: Grammar) -> tuple[list[ReportFound], int]:
    """The reports from `first` on that are of one case, and where they end with their closing brackets."""
    reports = [first]
    families = {_family(first.text)}
    end = first.end
    while gap := _BETWEEN.match(text, end):
        if gap.end() - end > 6:
            break
        found = _at(text, gap, grammar)
        if found is None or _family(found.text) in families:
            break
        if found.year and first.year and abs(found.year - first.year) > 6:
            break
        reports.append(found)
        families.add(_family(found.text))
        end = found.end
    # One bracket closes what stood before the reports; more do so where as many were opened.
    opened = text[max(0, first.start - 3) : end]
    for _ in range(opened.count("[") + opened.count("(") + 1):
        closing = _CLOSING.match(text, end)
        if not closing or "\n" in closing.group():
            break
        span = text[max(0, first.start - 3) : closing.end()]
        if span.count(")") > span.count("(") or span.count("]") > span.count("["):
            break
        end = closing.end()
    return reports, end


def _family(report: str) -> str:
    """The letters of a report: two of the same are of two cases."""
    return re.sub(r"[^A-Za-z&]", "", report)


def _alone(text: str, grammar: Grammar, taken: list[tuple[int, int]]) -> Iterator[Authority]:
    """Reports that no name stands before, those of one case together."""
    spans = iter(taken)
    span = next(spans, None)
    last = 0
    for found in grammar.reader.find(text):
        while span is not None and span[1] <= found.start:
            span = next(spans, None)
        if found.start < last or (span is not None and found.end > span[0]):
            continue
        reports, end = _chain(text, found, grammar)
        if span is not None and end > span[0]:
            reports, end = [found], found.end
        last = end
        start, parties = _in_re(text, found.start)
        pinpoint = ""
        if where := _PINPOINT.match(text, end):
            pinpoint, end = " ".join(where.group("where").split()), where.end()
        dated = next((each for each in reports if each.of_decision), reports[0])
        yield Authority(
            "case",
            start,
            end,
            text[start:end],
            parties=parties,
            reports=tuple(each.text for each in reports),
            year=dated.year,
            decided=dated.of_decision,
            pinpoint=pinpoint,
        )


def _with_report_before(text: str, named: list[Authority], alone: list[Authority]) -> list[Authority]:
    """Both, where a report that begins a line stands before its name made one: ``1. (2002) 9 SCC 356 - A v. B``."""
    found, starts = list(named), {each.start: i for i, each in enumerate(named)}
    for each in alone:
        gap = re.compile(r"\s{0,2}[-–—:]?\s{0,2}").match(text, each.end)
        i = starts.get(gap.end()) if gap else None
        line = text[text.rfind("\n", 0, each.start) + 1 : each.start]
        if i is None or each.parties or not re.fullmatch(r"\s*(?:[(\[]?\w{1,3}[.)\]])?\s*", line):
            found.append(each)
            continue
        case = found[i]
        found[i] = replace(
            case,
            start=each.start,
            text=text[each.start : case.end],
            reports=tuple(dict.fromkeys((*each.reports, *case.reports))),
            year=case.year or each.year,
        )
    return found


def _in_re(text: str, position: int) -> tuple[int, tuple[str, str] | None]:
    """The name before a report of a case without a "v.": ``In re Berubari Union``."""
    for match in _IN_RE.finditer(text, max(0, position - 90), position):
        name = text[match.end() : position].strip(" ,([-")
        if name and all(CAPITAL.match(word) or word.casefold() in INSIDE for word in name.split()):
            return match.start(), (f"In re {name}", "")
    return position, None


def _short(text: str, grammar: Grammar, named: list[Authority], taken: list[tuple[int, int]]) -> list[Authority]:
    """Cases in short: ``Maneka Gandhi's case``, and names before ``(supra)`` that were given in full before."""
    found = []
    for match in _SHORT.finditer(text):
        start, end = match.start("name"), match.end()
        words = match.group("name").split()
        while words and words[0].strip(".,").casefold() in LEADS:
            start += len(words[0])
            start += len(text[start:]) - len(text[start:].lstrip())
            words = words[1:]
        name = " ".join(words)
        if not words or any(a < end and start < b for a, b in taken):
            continue
        if words[-1].casefold() in _NOT_NAMES or all(word.casefold() in _NOT_NAMES for word in words):
            continue
        before = [each for each in named if each.end <= start]
        same = next((each for each in reversed(before) if _is_short_for(name, each)), None)
        if same is None and not (match.group("own") and match.group("case")):
            continue
        reports, year, decided, pinpoint, finish = _after(text, end, grammar)
        if any(a < finish and end < b for a, b in taken):
            reports, year, decided, pinpoint, finish = [], None, False, "", end
        made = Authority(
            "case",
            start,
            finish,
            text[start:finish],
            parties=(name, ""),
            reports=tuple(each.text for each in reports),
            year=year,
            decided=decided,
            pinpoint=pinpoint,
            short=True,
        )
        if same is not None and not reports:
            made = replace(made, parties=same.parties, reports=same.reports, year=same.year, decided=same.decided)
        found.append(made)
    return found


def _is_short_for(name: str, case: Authority) -> bool:
    short = {word.strip(".,").casefold() for word in name.split()}
    return any(short <= {word.strip(".,'’").casefold() for word in party.split()} for party in case.parties or ())
