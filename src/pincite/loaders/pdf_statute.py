"""Acts, codes and rules: their parts, chapters and sections as headings.

A section begins with its number at the beginning of a line, "302. Punishment for murder.—", maybe after the mark of
a footnote and a bracket. Notes and lists begin with numbers as well, and the table of contents with the same ones:
so the sections are the longest run of numbers that only grow, of lines that end their title as sections do, outside
of the contents.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pincite.loaders.clean import collapse
from pincite.loaders.pdf_pages import Style
from pincite.loaders.pdf_set_lines import SetLine, body_style
from pincite.types import Heading

__all__ = ["act_title", "find_statute"]

#: Fewer sections make no act: lists are numbered too.
_LEAST_SECTIONS = 5
_LONGEST_TITLE = 400
_MOST_LINES = 6
#: Notes are set smaller than the text.
_NOTE = 0.92

_OPENED = r"(?:\d{0,3}\s?[\[*]+\s?)*(?:\d{1,2}\s(?=\d))?"
_MARKED = re.compile(r"^\d{0,3}\s?\[")
_SECTION = re.compile(rf"{_OPENED}(?P<number>\d{{1,4}}[A-Z]{{0,3}})(?:\s?\.\s*(?=[^\W\d_a-z]|[“\"'‘\[(*])|\s+(?=“))")
_DASH = re.compile(r"\s?[—–―]|(?<=[.:])\s?-{1,2}(?=\s?[A-Z(“\"\[])")
_REPEALED = re.compile(r"[^\]—]{2,300}\]\s?\.?\s*(?:Rep|Omitted|Omit|Deleted)")
_BRACKETED = re.compile(r"\s*\[[^\]]{2,300}\]?[^\]]{0,20}\]")
_PART = re.compile(
    rf"{_OPENED}(?P<kind>CHAPTER|PART|BOOK|TITLE|SCHEDULE|APPENDIX|ANNEXURE|ANNEX)\s?[ -]?\s?"
    r"(?P<number>[IVXLCDM]+-?[A-Z]{0,2}|\d{1,3}[A-Z]?|[A-Z])\b\]?[.:]?\s?[—–-]*\s*(?P<rest>.*)",
    re.IGNORECASE,
)
_SCHEDULE = re.compile(rf"{_OPENED}(?:THE\s+)?(?:[A-Z]+\s+)?SCHEDULES?\]?\.?")
_GROUP = re.compile(r"[A-Z]{1,2}\s?\.\s?[—–-]\s?\D{4,}")
_CONTENTS = re.compile(
    r"(?:arrangement of (?:sections|clauses|rules|regulations|articles)|(?:table of )?contents|index)\W*", re.IGNORECASE
)
_LEVELS = {"CHAPTER": 2}
_NOT_FIRM = ("plain", "small")
_ACT = re.compile(r"[A-Z].*\b(?:ACT|CODE|RULES|REGULATIONS?|CONSTITUTION|ORDINANCE|BILL|ORDER)\b.*")


@dataclass(frozen=True, slots=True)
class _Candidate:
    line: int
    number: tuple[int, str]
    kind: Literal["ended", "bracket", "set", "plain", "small"]
    start: int
    shown: int  #: where its number stands
    end: int  #: of the heading, its dash included


def find_statute(text: str, lines: Sequence[SetLine]) -> tuple[Heading, ...]:
    """The parts, chapters and sections in order; empty for what is no act."""
    body = body_style(lines)
    candidates = [candidate for i in range(len(lines)) if (candidate := _candidate(text, lines, i, body)) is not None]
    first, last = _contents(text, lines, candidates)
    chain = _growing([each for each in candidates if each.kind not in _NOT_FIRM and not first <= each.line <= last])
    firm = sum(each.kind != "set" for each in chain)
    if firm < _LEAST_SECTIONS or firm * 2 < len(chain):
        return ()
    headings = [
        Heading(4, collapse(text[each.shown : each.end]).rstrip("—–―- "), each.start, each.end) for each in chain
    ]
    sections = {each.line for each in chain}
    headings += _parts(text, lines, body, sections, range(first, last + 1))
    headings.sort(key=lambda heading: heading.start)
    levels = {level: i for i, level in enumerate(sorted({heading.level for heading in headings}), 1)}
    return tuple(Heading(levels[each.level], each.text, each.start, each.end) for each in headings)


def act_title(text: str, lines: Sequence[SetLine]) -> str:
    """The name of an act as its first page prints it, in capitals; "" where there is none."""
    for each in lines[:60]:
        shown = collapse(text[each.start : each.end])
        if _ACT.fullmatch(shown) and _capitals(shown) and 8 <= len(shown) <= 150 and not shown.startswith("ACT "):
            return shown
    return ""


def _candidate(text: str, lines: Sequence[SetLine], i: int, body: Style) -> _Candidate | None:
    here = lines[i]
    match = _SECTION.match(text, here.start, here.end)
    if match is None:
        return None
    digits = re.match(r"\d+", match["number"])
    assert digits is not None
    number = (int(digits[0]), match["number"][digits.end() :])
    if here.line.style.size < _NOTE * body.size:
        return _Candidate(i, number, "small", here.start, match.start("number"), here.end)
    limit = here.end
    for following in lines[i + 1 : i + _MOST_LINES]:
        if _SECTION.match(text, following.start, following.end):
            break
        limit = following.end
    limit = min(limit, match.start() + _LONGEST_TITLE)
    bracket = _BRACKETED.match(text, match.end(), limit)
    dash = _DASH.search(text, match.end(), limit)
    if bracket is not None and (dash is None or dash.start() > bracket.end() + 2):
        return _Candidate(i, number, "bracket", here.start, match.start("number"), bracket.end())
    if dash is not None and _is_title(text[match.end() : dash.start()]):
        return _Candidate(i, number, "ended", here.start, match.start("number"), dash.end())
    if "[" in text[here.start : match.start("number")]:
        repealed = _REPEALED.match(text, match.end(), limit)
        if repealed is not None:
            return _Candidate(i, number, "bracket", here.start, match.start("number"), text.index("]", match.end()) + 1)
    line = here.line
    if line.lead and line.lead_style != body and (line.lead_style.bold or line.lead_style.font != body.font):
        return _Candidate(
            i, number, "set", here.start, match.start("number"), here.start + min(line.lead, here.end - here.start)
        )
    return _Candidate(i, number, "plain", here.start, match.start("number"), here.end)


def _is_title(text: str) -> bool:
    # The dash that ends a title follows a full stop or the like, or the title is short; sentences have dashes too.
    ended = text.rstrip()[-1:] in ".:?]”\"’')"
    return (ended and text.count(". ") <= 3) or (len(text) <= 100 and text.count(". ") == 0)


def _contents(text: str, lines: Sequence[SetLine], candidates: Sequence[_Candidate]) -> tuple[int, int]:
    """The first and last line of the table of contents; (0, -1) where there is none.

    It ends where the numbers begin anew: at the end of the page before, or at its last entry where the text begins on
    the same page.
    """
    head = next((i for i, each in enumerate(lines) if _CONTENTS.fullmatch(text[each.start : each.end].strip())), None)
    if head is None:
        return 0, -1
    entries = [each for each in candidates if each.line > head]
    for one, (before, entry) in enumerate(pairwise(entries), 1):
        if one >= 3 and entry.number <= entries[0].number and entry.kind not in _NOT_FIRM:
            end = before.line
            while lines[end + 1].page < lines[entry.line].page:
                end += 1
            return head, end
    return 0, -1


def _growing(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The longest run of candidates, in order, whose numbers only grow."""
    ends: list[tuple[int, str]] = []  # the smallest number that ends a run of each length
    at: list[int] = []
    before: list[int] = []
    for i, candidate in enumerate(candidates):
        length = bisect_left(ends, candidate.number)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [candidate.number]
        at[length : length + 1] = [i]
    chain = []
    i = at[-1] if at else -1
    while i >= 0:
        chain.append(candidates[i])
        i = before[i]
    return chain[::-1]


def _parts(text: str, lines: Sequence[SetLine], body: Style, sections: set[int], contents: range) -> list[Heading]:
    headings = []
    used = -1
    for i, each in enumerate(lines):
        if i <= used or i in contents or i in sections or len(each.line.text) > 160:
            continue
        if each.line.style.size < _NOTE * body.size and not each.line.style.bold:
            continue
        shown = collapse(text[each.start : each.end])
        level = _part_level(shown, each, body)
        if level is None:
            if i + 1 in sections and _is_group(shown, each, body):
                headings.append(Heading(3, shown, each.start, each.end))
            continue
        used = i
        if level < 3 and not _rest(shown):
            # The title stands below the number, in capitals or set apart.
            while used + 1 < len(lines) and used - i < 3 and used + 1 not in sections:
                below = lines[used + 1]
                title = collapse(text[below.start : below.end])
                if len(title) > 120 or not _capitals(title) or _part_level(title, below, body) is not None:
                    break
                used += 1
        end = lines[used].end
        heading = collapse(text[each.start : end])
        headings.append(Heading(level, _MARKED.sub("", heading) or heading, each.start, end))
    return headings


def _part_level(shown: str, each: SetLine, body: Style) -> int | None:
    if _SCHEDULE.fullmatch(shown):
        return 1
    if _GROUP.fullmatch(shown) and _capitals(shown):
        return 3
    match = _PART.fullmatch(shown)
    if match is None:
        return None
    rest = match["rest"]
    if rest and not (_capitals(rest) or each.line.style.bold or each.line.style.size > 1.1 * body.size):
        return None  # "Part II of the Schedule" begins a line of text
    return _LEVELS.get(match["kind"].upper(), 1)


def _rest(shown: str) -> str:
    match = _PART.fullmatch(shown)
    return match["rest"] if match else ""


def _is_group(shown: str, each: SetLine, body: Style) -> bool:
    """A line between sections that names those below: short, set otherwise than the text, without a full stop."""
    style = each.line.style
    return (
        4 <= len(shown) <= 90
        and shown[0].isupper()
        and shown[-1] not in ".;:,)]—"
        and (style.font != body.font or style.bold != body.bold)
    )


def _capitals(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return len(letters) >= 2 and sum(map(str.isupper, letters)) >= 0.8 * len(letters)
