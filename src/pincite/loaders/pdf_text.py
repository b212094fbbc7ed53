"""A PDF as one text: its lines in order, mended, with the page and the character that each came from.

Loading a file and showing where its words stand both go through here, so that their offsets agree.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.loaders.pdf_columns import lines_in_order
from pincite.loaders.pdf_furniture import Furniture, find_furniture
from pincite.loaders.pdf_headings import find_headings
from pincite.loaders.pdf_hyphens import Spelling
from pincite.loaders.pdf_lines import Line
from pincite.loaders.pdf_pages import MARK, RawFile, RawPage
from pincite.loaders.pdf_set_lines import SetLine
from pincite.loaders.pdf_statute import act_title
from pincite.types import Heading, Page

__all__ = ["PdfText", "read_text"]

_PAGE_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class PdfText:
    """The text of a file with its maps.

    `origins` has for each character its number in the `RawPage.text` of its page, -1 for one that was put in.
    """

    text: str
    pages: tuple[Page, ...]
    headings: tuple[Heading, ...]
    lost_bookmarks: int
    origins: array[int]
    outside: tuple[int, ...]  #: of each page: lines outside of what is shown, which were left out
    beyond: tuple[str, ...]  #: of each page: what those lines say
    controls: tuple[int, ...]  #: of each page: characters without a meaning that were left out
    invisible: int
    left_out: int  #: lines of running heads, feet and page numbers
    title: str  #: the name of an act; "" for other files


def read_text(raw: RawFile) -> PdfText:
    """Put the pages of `raw` together. The text is empty where no page has any."""
    found = [lines_in_order(page) for page in raw.pages]
    furniture = find_furniture(found)
    kept = [
        [line for i, line in enumerate(page.lines) if (number, i) not in furniture.lines]
        for number, page in enumerate(found)
    ]
    kept = [_with_breaks(lines) for lines in kept]
    spelling = Spelling("\n".join(line.text for lines in kept for line in lines))
    text, origins, pages, places = _join(raw.pages, kept, spelling, furniture)
    headings, lost = find_headings(raw.outline, text, pages, places)
    title = act_title(text, places) if headings else ""
    text, origins, pages, headings = _set_apart(text, origins, pages, headings)
    return PdfText(
        text,
        tuple(pages),
        headings,
        lost,
        origins,
        tuple(page.outside for page in found),
        tuple(page.beyond for page in found),
        tuple(page.controls for page in found),
        sum(page.invisible for page in found),
        len(furniture.lines),
        title,
    )


def _with_breaks(lines: list[Line]) -> list[Line]:
    """A hyphen that ends a line and is followed by a small letter is a mark, whatever the file calls it."""
    marked = []
    for line, after in zip(lines, [*lines[1:], None], strict=False):
        ends = line.text[-1:] in "-\u2010" and line.text[-2:-1].isalpha()
        if ends and after is not None and after.text[:1].islower() and not line.broken:
            line = _replaced(line)
        marked.append(line)
    return marked


def _replaced(line: Line) -> Line:
    from dataclasses import replace

    return replace(line, text=line.text[:-1] + MARK, broken=True)


def _join(
    raw: Sequence[RawPage], kept: list[list[Line]], spelling: Spelling, furniture: Furniture
) -> tuple[str, array[int], list[Page], list[SetLine]]:
    parts: list[str] = []
    origins = array("i")
    pages: list[Page] = []
    places: list[SetLine] = []
    length = 0

    def put(text: str, came: array[int]) -> None:
        nonlocal length
        parts.append(text)
        origins.extend(came)
        length += len(text)

    for number, (page, lines) in enumerate(zip(raw, kept, strict=True)):
        if length and lines:
            put(_PAGE_BREAK, array("i", [-1, -1]))
        start = length
        for i, line in enumerate(lines):
            begin = length
            after = lines[i + 1] if i + 1 < len(lines) else None
            if line.broken:
                text, came = line.text[:-1], line.origins[:-1]
                if after is None or not spelling.is_one_word(text, after.text):
                    text, came = text + "-", line.origins
                put(text, came)
            else:
                put(line.text, line.origins)
            places.append(SetLine(begin, length, number, line))
            if after is not None and not line.broken:
                put("\n", array("i", [-1]))
        label = page.label or furniture.labels.get(number, "")
        pages.append(Page(number + 1, start, length, label))
    return "".join(parts), origins, pages, places


def _set_apart(
    text: str, origins: array[int], pages: list[Page], headings: tuple[Heading, ...]
) -> tuple[str, array[int], list[Page], tuple[Heading, ...]]:
    """The text with a blank line around every heading, and the maps moved along.

    A page gives a heading and the line below it as two lines like any others; without the blank line the heading
    would run into the sentence that follows.
    """
    inserted: list[int] = []  # a line break goes in before each of these offsets
    for heading in headings:
        if text[max(0, heading.start - 2) : heading.start].endswith("\n") and text[heading.start - 2] != "\n":
            inserted.append(heading.start)
        if text[heading.end : heading.end + 1] == "\n" and text[heading.end + 1 : heading.end + 2] != "\n":
            inserted.append(heading.end)
    # Where one heading follows another, one blank line parts them.
    inserted = sorted(each for each in set(inserted) if each - 1 not in inserted)
    if not inserted:
        return text, origins, pages, headings
    bounds = list(zip([0, *inserted], [*inserted, len(text)], strict=True))
    moved = array("i")
    for start, end in bounds:
        if start:
            moved.append(-1)
        moved.extend(origins[start:end])

    def span(start: int, end: int) -> tuple[int, int]:
        return start + bisect_right(inserted, start), end + bisect_left(inserted, end)

    return (
        "\n".join(text[start:end] for start, end in bounds),
        moved,
        [Page(page.number, *span(page.start, page.end), page.label) for page in pages],
        tuple(Heading(heading.level, heading.text, *span(heading.start, heading.end)) for heading in headings),
    )
