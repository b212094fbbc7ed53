"""What stands on page after page around the text: running heads, feet and page numbers.

A line is left out when, at the edge of the page and apart from the text, one like it (the same but for its digits)
stands at the same height on enough other pages. When in doubt it stays: a line of the text that is lost cannot be
cited, a running head that stays does little harm.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pincite.loaders.pdf_lines import Line, PageLines

__all__ = ["Furniture", "find_furniture"]

_LEAST_PAGES = 3
_EDGE = 0.14  #: of the page's height, above and below
_DEEPEST = 3  #: lines from the edge that are looked at
_SAME_HEIGHT = 4.0  #: points
_SHARE = 0.15  #: of the pages with text: on so many must a line stand that has no page number
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlc]{1,7}", re.IGNORECASE)
#: Headings that count up with the pages are text.
_HEADING = re.compile(
    r"(?:amendment|annex|annexure|appendix|article|chapter|clause|exhibit|part|rule|schedule|section|§|question|slide)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Furniture:
    """Which lines of which page are left out, and the page numbers that were among them."""

    lines: frozenset[tuple[int, int]]  #: (page from 0, line of the page from 0)
    labels: dict[int, str]  #: page from 0 → its printed number


@dataclass(frozen=True, slots=True)
class _Candidate:
    page: int
    line: int
    text: str  #: without its digits
    shown: str
    numbers: tuple[int, ...]
    height: float  #: of its middle above the foot of the page, or below its head (negative)


def find_furniture(pages: list[PageLines]) -> Furniture:
    """The running lines of a document. One with fewer than three pages has none."""
    with_text = sum(bool(page.lines) for page in pages)
    if with_text < _LEAST_PAGES:
        return Furniture(frozenset(), {})
    alike: dict[tuple[str, bool], list[_Candidate]] = defaultdict(list)
    for number, page in enumerate(pages):
        for candidate in _candidates(number, page):
            alike[candidate.text, candidate.height < 0].append(candidate)
    found: set[tuple[int, int]] = set()
    labels: dict[int, str] = {}
    heights: list[float] = []
    offsets: Counter[int] = Counter()
    for (text, _), candidates in alike.items():
        for group in _at_one_height(candidates):
            counting = _counts(group)
            if len(group) < _LEAST_PAGES or (_HEADING.match(text) and _is_heading(group, counting)):
                continue
            if counting is None and len(group) < _SHARE * with_text:
                continue
            for each in group:
                found.add((each.page, each.line))
                if counting is not None and counting < len(each.numbers):
                    labels.setdefault(each.page, str(each.numbers[counting]))
                    offsets[each.numbers[counting] - each.page] += 1
            heights.append(group[0].height)
    if offsets:
        # Heads of short chapters: at the height of others, with the number that the page must have.
        offset = offsets.most_common(1)[0][0]
        for candidates in alike.values():
            for each in candidates:
                number = each.page + offset
                at_the_height = any(abs(each.height - height) <= _SAME_HEIGHT for height in heights)
                if at_the_height and _begins_or_ends_with(each.shown, number):
                    found.add((each.page, each.line))
                    labels.setdefault(each.page, str(number))
    return _without_whole_pages(found, labels, pages)


def _begins_or_ends_with(text: str, number: int) -> bool:
    words = text.split()
    return str(number) in (words[0], words[-1])


def _is_heading(group: list[_Candidate], counting: int | None) -> bool:
    """Whether lines that begin with "Section 3" or the like are headings of the text: their own number changes."""
    if counting is not None:
        return counting == 0
    return len({each.numbers for each in group}) * 2 > len(group)


def _candidates(number: int, page: PageLines) -> list[_Candidate]:
    lines = page.lines
    if len(lines) < 2 or page.height <= 0:
        return []
    order = sorted(range(len(lines)), key=lambda i: -(lines[i].top + lines[i].bottom))
    pitches = [lines[a].bottom - lines[b].bottom for a, b in pairwise(order)]
    usual = median([pitch for pitch in pitches if pitch > 1] or [0.0])
    found = []
    for inwards, edge in ((order, True), (order[::-1], False)):
        outer: list[int] = []
        for depth, i in enumerate(inwards[: 2 * _DEEPEST]):
            line = lines[i]
            middle = (line.top + line.bottom) / 2
            far = page.height - middle if edge else middle
            if far > _EDGE * page.height:
                break
            outer.append(i)
            rest = inwards[depth + 1 :]
            if not rest:
                break
            gap = abs(line.bottom - lines[rest[0]].bottom)
            if gap < 0.5 * line.height:
                continue  # the next stands beside it
            numbers_only = all(not any(map(str.isalpha, lines[each].text)) for each in outer)
            if gap >= 1.25 * usual or (numbers_only and gap >= usual):
                found += [_candidate(number, each, lines[each], page.height, edge) for each in outer]
                outer = []
            if depth >= _DEEPEST:
                break
    return found


def _candidate(page: int, i: int, line: Line, height: float, edge: bool) -> _Candidate:
    text = " ".join(line.text.split()).casefold()
    middle = (line.top + line.bottom) / 2
    numbers = tuple(int(each) for each in _DIGITS.findall(text) if len(each) < 7)
    folded = "#" if _ROMAN.fullmatch(text) else _DIGITS.sub("#", text)
    return _Candidate(page, i, folded, text, numbers, middle - height if edge else middle)


def _at_one_height(candidates: list[_Candidate]) -> list[list[_Candidate]]:
    groups: list[list[_Candidate]] = []
    for candidate in sorted(candidates, key=lambda each: each.height):
        if groups and candidate.height - groups[-1][-1].height <= _SAME_HEIGHT:
            groups[-1].append(candidate)
        else:
            groups.append([candidate])
    return groups


def _counts(group: list[_Candidate]) -> int | None:
    """Which number of the line counts the pages: it differs from the page's position by the same on most of them."""
    for place in range(max((len(each.numbers) for each in group), default=0)):
        offsets = [each.numbers[place] - each.page for each in group if place < len(each.numbers)]
        usual = max(set(offsets), key=offsets.count)
        if offsets.count(usual) >= max(_LEAST_PAGES, 0.8 * len(group)):
            return place
    return None


def _without_whole_pages(found: set[tuple[int, int]], labels: dict[int, str], pages: list[PageLines]) -> Furniture:
    """What was found, but for pages of which nothing would be left: there it is the text."""
    counts: dict[int, int] = defaultdict(int)
    for page, _ in found:
        counts[page] += 1
    whole = {page for page, count in counts.items() if count >= len(pages[page].lines)}
    return Furniture(
        frozenset(each for each in found if each[0] not in whole),
        {page: label for page, label in labels.items() if page not in whole},
    )
