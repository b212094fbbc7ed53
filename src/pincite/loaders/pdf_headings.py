"""Headings of a PDF: from its outline; where it has none, from the numbering of an act or from how lines are set."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pincite.loaders.clean import collapse
from pincite.loaders.pdf_pages import Bookmark
from pincite.loaders.pdf_set_lines import SetLine
from pincite.loaders.pdf_statute import find_statute
from pincite.loaders.pdf_typography import find_set_headings
from pincite.types import Heading, Page

__all__ = ["find_headings"]

_NUMBERING = re.compile(
    r"(?:(?:chapter|section|appendix|part|annex|article|schedule)\s+)?[\dA-Z]{1,4}(?:\.\d{1,3})*[.:)]?\s+",
    re.IGNORECASE,
)


def find_headings(
    outline: Sequence[Bookmark], text: str, pages: Sequence[Page], lines: Sequence[SetLine]
) -> tuple[tuple[Heading, ...], int]:
    """The headings in order, and how many bookmarks could not be placed.

    An act whose sections the outline does not name is read by its sections all the same: they are how it is cited.
    """
    placed, lost = _place(outline, text, pages)
    statute = find_statute(text, lines)
    if len(statute) > 2 * len(placed):
        return statute, 0 if not placed else lost
    return (placed or find_set_headings(text, lines)), lost


def _place(outline: Sequence[Bookmark], text: str, pages: Sequence[Page]) -> tuple[tuple[Heading, ...], int]:
    """The bookmarks that stand as a line, or as lines in sequence, on their page; and how many do not."""
    headings: list[Heading] = []
    taken: set[int] = set()
    lost = 0
    lines: dict[int, list[tuple[str, int, int]]] = {}
    for bookmark in outline:
        if bookmark.page >= len(pages):
            lost += 1
            continue
        if bookmark.page not in lines:
            lines[bookmark.page] = _lines(text, pages[bookmark.page])
        span = _find_title(bookmark.title, lines[bookmark.page], taken)
        if span is None:
            lost += 1
            continue
        start, end = span
        taken.add(start)
        headings.append(Heading(bookmark.level, collapse(text[start:end]), start, end))
    headings.sort(key=lambda heading: heading.start)
    return tuple(headings), lost


def _lines(text: str, page: Page) -> list[tuple[str, int, int]]:
    """The lines of a page that are not blank: collapsed, start, end."""
    lines = []
    start = page.start
    for line in text[page.start : page.end].split("\n"):
        shown = line.strip()
        if shown:
            begin = start + line.index(shown)
            lines.append((collapse(shown), begin, begin + len(shown)))
        start += len(line) + 1
    return lines


def _find_title(title: str, lines: list[tuple[str, int, int]], taken: set[int]) -> tuple[int, int] | None:
    # A line with a number before the words counts: bookmarks often leave the number out.
    wanted = title.casefold()
    for i, (_, start, _) in enumerate(lines):
        if start in taken:
            continue
        joined = ""
        for shown, _, end in lines[i : i + 4]:
            joined = f"{joined} {shown}".strip()
            if len(joined) > len(title) + 40:
                break
            folded = joined.casefold()
            if folded == wanted:
                return start, end
            if folded.endswith(wanted):
                number = joined[: len(joined) - len(title)]
                if _NUMBERING.fullmatch(number):
                    return start, end
    return None
