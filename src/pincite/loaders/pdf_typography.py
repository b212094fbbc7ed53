"""Headings by how they are set: larger or bolder than the text, on lines of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pincite.loaders.clean import collapse
from pincite.loaders.pdf_pages import Style
from pincite.loaders.pdf_set_lines import SetLine, body_style
from pincite.types import Heading

__all__ = ["find_set_headings"]

_LARGER = 1.12
_LONGEST = 200
_LONGEST_BOLD = 110
_MOST_LINES = 4
_DEEPEST = 6
#: More headings than this share of all lines are something else: a poster, a table, a file set in bold.
_MOST = 0.2
_FEW_LINES = 12
_BULLETS = "•●▪■◦‣–—-*+·☐☑✓➢\uf0b7\uf0a7,;:)"
_LEADER = re.compile(r"(?:\.\s?){3,}\s*[\divxlc]*\s*$|[…·_]{2,}\s*[\divxlc]*\s*$", re.IGNORECASE)
_CAPTION = re.compile(r"(?:fig(?:ure)?|table|tab|plate|chart|algorithm|listing|equation)\.?\s*\d", re.IGNORECASE)
_NUMBERED = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3})*)[.)]?\s+[^\W\d_]")


def find_set_headings(text: str, lines: Sequence[SetLine]) -> tuple[Heading, ...]:
    """The headings in order, the largest of level 1; of one size, bold before plain.

    Lines of the same kind that follow one another are one heading. Captions and lines of a table of contents are none.
    """
    body = body_style(lines)
    if body.size <= 0:
        return ()
    found = [
        (start, end, style)
        for start, end, style in _runs(text, lines, body)
        if any(map(str.isalpha, text[start:end]))
        and end - start <= _LONGEST
        and (style.size >= _LARGER * body.size or text[end - 1] not in ".,;")
    ]
    larger = [each for each in found if each[2].size >= _LARGER * body.size]
    for chosen in (found, larger):
        if len(chosen) <= max(_FEW_LINES, _MOST * len(lines)):
            return _levelled(text, chosen)
    return ()


def _runs(text: str, lines: Sequence[SetLine], body: Style) -> Iterator[tuple[int, int, Style]]:
    start: SetLine | None = None
    end: SetLine | None = None
    count = 0
    for i, each in enumerate(lines):
        may = _is_set_as_heading(text, each, body) and not _stands_beside(lines, i)
        if not may or (start is None and not _may_begin(text[each.start : each.end].strip())):
            if start is not None and end is not None and count <= _MOST_LINES:
                yield start.start, end.end, _kind(start)
            start = end = None
            continue
        goes_on = (
            start is not None
            and end is not None
            and end.page == each.page
            and _kind(start) == _kind(each)
            and 0 < end.line.bottom - each.line.bottom <= 1.9 * each.line.height
            and not _NUMBERED.match(text, each.start)
        )
        if goes_on:
            end = each
            count += 1
            continue
        if start is not None and end is not None and count <= _MOST_LINES:
            yield start.start, end.end, _kind(start)
        start = end = each
        count = 1
    if start is not None and end is not None and count <= _MOST_LINES:
        yield start.start, end.end, _kind(start)


def _may_begin(shown: str) -> bool:
    """Whether a heading may begin so: not within a sentence, not with the mark of a list, with more than a letter."""
    letters = sum(map(str.isalpha, shown))
    return not shown[0].islower() and shown[0] not in _BULLETS and (letters > 2 or not shown.isascii())


def _kind(each: SetLine) -> Style:
    style = each.line.style
    return Style(round(style.size), style.bold, "")


def _is_set_as_heading(text: str, each: SetLine, body: Style) -> bool:
    line = each.line
    shown = text[each.start : each.end].strip()
    if len(shown) < 2 or not any(map(str.isalpha, shown)) or _LEADER.search(shown) or _CAPTION.match(shown):
        return False
    if line.style.size >= _LARGER * body.size:
        return True
    return (
        line.style.bold
        and not body.bold
        and not line.mixed
        and line.style.size >= 0.9 * body.size
        and len(shown) <= _LONGEST_BOLD
    )


def _stands_beside(lines: Sequence[SetLine], i: int) -> bool:
    """Whether another line stands at the same height close by: a cell of a table, or a word of a figure."""
    here = lines[i].line
    if lines[i].line.style.size >= 16:
        return False
    for k in (i - 1, i + 1):
        if 0 <= k < len(lines) and lines[k].page == lines[i].page:
            other = lines[k].line
            overlap = min(here.top, other.top) - max(here.bottom, other.bottom)
            near = max(here.left, other.left) - min(here.right, other.right) < 150
            if overlap > 0.5 * min(here.height, other.height) and near:
                return True
    return False


def _levelled(text: str, found: Sequence[tuple[int, int, Style]]) -> tuple[Heading, ...]:
    kinds = sorted({style for _, _, style in found}, key=lambda style: (-style.size, not style.bold))
    level = {kind: min(i, _DEEPEST) for i, kind in enumerate(kinds, 1)}
    return tuple(Heading(level[style], collapse(text[start:end]), start, end) for start, end, style in found)
