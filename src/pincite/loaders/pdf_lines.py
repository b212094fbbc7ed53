"""From the characters of a page to its lines: cleaned, with every character's origin, a box and how they are set."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from pincite.loaders.clean import clean
from pincite.loaders.pdf_pages import MARK, RawPage, Style

__all__ = ["Line", "PageLines", "page_lines"]

_SOFT = "\u00ad\u0002"
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_LIGATURE = re.compile("[\ufb00-\ufb06]")
# Lam with alef is one glyph, and PDFium gives its two letters in the order in which they are seen.
_ALEF = "\u0622\u0623\u0625\u0627"
_LAM = "\u0644"
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_HYPHENS = "-\u2010"
_PLAIN = Style(0.0, False, "")
#: A raised or lowered mark is at most this much of its line's size, and overlaps its height by at least that much.
_RAISED_SIZE = 0.85
_RAISED_OVERLAP = 0.25


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page, or a piece of one that stands in a column.

    `origins` has for each character of `text` its number in `RawPage.text`, -1 for a space that was put between two
    pieces. The box is in points of the page as it is shown, y upwards. `broken` says that the line ends within a word
    or at a hyphen; its last character is then `MARK`. `lead` is how many characters at the beginning are set as the
    first one is, where that differs from the line's `style`. `mixed` says that parts are bold and parts are not.
    """

    text: str
    origins: array[int]
    left: float
    bottom: float
    right: float
    top: float
    style: Style
    broken: bool = False
    lead: int = 0
    lead_style: Style = _PLAIN
    mixed: bool = False

    @property
    def height(self) -> float:
        """Of its box, in points."""
        return self.top - self.bottom

    @property
    def rtl(self) -> bool:
        """Whether most of its letters are written from right to left."""
        found = len(_RIGHT_TO_LEFT.findall(self.text))
        return found * 2 > sum(map(str.isalpha, self.text))


@dataclass(frozen=True, slots=True)
class PageLines:
    """The lines of a page in the order of the file, and what cleaning took out."""

    lines: list[Line]
    width: float  #: as shown
    height: float
    controls: int = 0
    invisible: int = 0
    outside: int = 0  #: lines that stand wholly outside of what is shown of the page, and are left out
    beyond: str = ""  #: what they say


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of characters of a page between two ends of lines."""

    start: int
    end: int
    left: float
    bottom: float
    right: float
    top: float


def page_lines(page: RawPage, gutters: tuple[float, ...] = ()) -> PageLines:
    """The lines of `page`. A line that is empty where a gutter lies (x as shown) is divided there."""
    shown = _Shown(page)
    pieces = [piece for start, end in _runs(page.text) for piece in shown.divided(start, end, gutters)]
    lines: list[Line] = []
    controls = invisible = 0
    # OCR says itself what is one line.
    numbered = enumerate(pieces) if page.confidence is not None else _grouped(pieces, gutters)
    for _, group in groupby(numbered, key=lambda each: each[0]):
        line, gone, unseen = shown.line([piece for _, piece in group])
        controls += gone
        invisible += unseen
        if line is not None:
            lines.append(line)
    inside = [line for line in lines if shown.shows(line)]
    beyond = "\n".join(line.text for line in lines if line not in inside) if len(inside) < len(lines) else ""
    return PageLines(inside, *shown.extent, controls, invisible, len(lines) - len(inside), beyond)


def _runs(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in re.finditer("\n|\ufffe\n?|[\u0002\u00ad][ \t]*\n", text):
        end = match.start() if match[0] == "\n" else match.start() + 1
        yield start, end
        start = match.end()
    yield start, len(text)


def _grouped(pieces: list[_Piece], gutters: tuple[float, ...]) -> Iterator[tuple[int, _Piece]]:
    """The pieces with the number of their line: raised marks stay in the line that they stand in."""
    number = 0
    before: _Piece | None = None
    for piece in pieces:
        if before is not None and not _continues(before, piece, gutters):
            number += 1
        yield number, piece
        before = piece


def _continues(before: _Piece, piece: _Piece, gutters: tuple[float, ...]) -> bool:
    sizes = sorted((before.top - before.bottom, piece.top - piece.bottom))
    if sizes[0] <= 0:
        return False
    overlap = min(before.top, piece.top) - max(before.bottom, piece.bottom)
    gap = piece.left - before.right
    same = overlap >= 0.8 * sizes[1]
    raised = sizes[0] <= _RAISED_SIZE * sizes[1] and overlap >= _RAISED_OVERLAP * sizes[0]
    if any(before.right <= gutter <= piece.left for gutter in gutters):
        return False
    if any(each.end - each.start > 2 and each.top - each.bottom > each.right - each.left for each in (before, piece)):
        return False  # written upwards
    if raised and not same:
        return -0.3 * sizes[1] <= gap <= 0.8 * sizes[1]
    # Cells of one row, however far apart, are one line.
    return same and gap >= -0.3 * sizes[1]


class _Shown:
    """A page as a viewer shows it: turned."""

    def __init__(self, page: RawPage) -> None:
        self._page = page
        width, height = page.size
        self.extent = (height, width) if page.turned in (90, 270) else (width, height)
        self._starts = [at for at, _ in page.words]

    def box(self, i: int) -> tuple[float, float, float, float] | None:
        """Of character `i`: left, bottom, right, top; None where it has none."""
        x0, y0, x1, y1 = self._page.boxes[4 * i : 4 * i + 4]
        if x1 <= x0 and y1 <= y0:
            return None
        x, y = self._page.corner
        x0, y0, x1, y1 = x0 - x, y0 - y, x1 - x, y1 - y
        width, height = self._page.size
        turned = self._page.turned
        if turned == 90:
            return y0, width - x1, y1, width - x0
        if turned == 180:
            return width - x1, height - y1, width - x0, height - y0
        if turned == 270:
            return height - y1, x0, height - y0, x1
        return x0, y0, x1, y1

    def shows(self, line: Line) -> bool:
        """Whether any of `line` is on the page; one without a box is taken to be."""
        if line.right <= line.left and line.top <= line.bottom:
            return True
        width, height = self.extent
        return line.right > 0 and line.left < width and line.top > 0 and line.bottom < height

    def divided(self, start: int, end: int, gutters: tuple[float, ...]) -> Iterator[_Piece]:
        text = self._page.text
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start == end:
            return
        if not gutters and self._page.turned == 0:
            # The common case, without a look at every box.
            flat = self._page.boxes[4 * start : 4 * end]
            placed = [i for i in range(0, len(flat), 4) if flat[i + 2] > flat[i] or flat[i + 3] > flat[i + 1]]
            if placed:
                x, y = self._page.corner
                yield _Piece(
                    start,
                    end,
                    min(flat[i] for i in placed) - x,
                    min(flat[i + 1] for i in placed) - y,
                    max(flat[i + 2] for i in placed) - x,
                    max(flat[i + 3] for i in placed) - y,
                )
            else:
                yield _Piece(start, end, 0.0, 0.0, 0.0, 0.0)
            return
        first = start
        box: list[float] = []
        for i in range(start, end):
            here = self.box(i)
            if here is None:
                continue
            if box and any(box[2] <= gutter <= here[0] or here[2] <= gutter <= box[0] for gutter in gutters):
                yield _Piece(first, i, *box)
                first, box = i, []
            box = (
                [min(box[0], here[0]), min(box[1], here[1]), max(box[2], here[2]), max(box[3], here[3])]
                if box
                else list(here)
            )
        yield _Piece(first, end, *(box or (0.0, 0.0, 0.0, 0.0)))

    def line(self, pieces: list[_Piece]) -> tuple[Line | None, int, int]:
        """The pieces as one line; how many controls and invisible characters were in them."""
        text = ""
        origins = array("i")
        controls = invisible = 0
        for number, piece in enumerate(pieces):
            shown, came, gone, unseen = self._cleaned(piece.start, piece.end)
            apart = number and piece.left - pieces[number - 1].right > 0.2 * (piece.top - piece.bottom)
            # The mark of a note and a number are two numbers.
            if text[-1:] != " " and (apart or (text[-1:].isdigit() and shown[:1].isdigit())):
                text += " "
                origins.append(-1)
            text += shown
            origins.extend(came)
            controls += gone
            invisible += unseen
        while text and text[-1].isspace():
            text = text[:-1]
            origins.pop()
        if not text.strip():
            return None, controls, invisible
        style, lead, lead_style, mixed = self._set(pieces, origins)
        broken = text.endswith(MARK)
        tall = max(pieces, key=lambda piece: piece.right - piece.left)
        return (
            Line(
                text,
                origins,
                min(piece.left for piece in pieces),
                tall.bottom,
                max(piece.right for piece in pieces),
                tall.top,
                style,
                broken,
                lead,
                lead_style,
                mixed,
            ),
            controls,
            invisible,
        )

    def _cleaned(self, start: int, end: int) -> tuple[str, array[int], int, int]:
        raw = self._page.text[start:end]
        mark = ""
        if raw[-1:] == MARK or raw[-1:] in tuple(_SOFT):
            raw, mark = raw[:-1], MARK
        cleaned = clean(raw)
        if cleaned.text == raw and not _LIGATURE.search(raw) and not _RIGHT_TO_LEFT.search(raw):
            return raw + mark, array("i", range(start, start + len(raw) + len(mark))), 0, 0
        origins = array("i")
        at = 0
        text = ""
        for character in cleaned.text:
            # Cleaning only takes characters out, but for line ends, which are one for one.
            found = raw.find(character, at)
            at = found if found >= 0 else at
            written = _LIGATURES.get(character, " " if character == "\n" else character)
            text += written
            origins.extend([start + at] * len(written))
            at += 1
        text = self._in_reading_order(text, origins)
        if mark:
            origins.append(end - 1)
        return text + mark, origins, cleaned.controls, cleaned.invisible

    def _in_reading_order(self, text: str, origins: array[int]) -> str:
        letters = list(text)
        for i in range(len(letters) - 1):
            if letters[i + 1] == _LAM and letters[i] in _ALEF:
                one, two = origins[i], origins[i + 1]
                if self._page.boxes[4 * one : 4 * one + 4] == self._page.boxes[4 * two : 4 * two + 4] and one != two:
                    letters[i], letters[i + 1] = letters[i + 1], letters[i]
                    origins[i], origins[i + 1] = two, one
        return "".join(letters)

    def _set(self, pieces: list[_Piece], origins: array[int]) -> tuple[Style, int, Style, bool]:
        """The style of most of it; how far that of its beginning holds where it is another; whether it is mixed."""
        page = self._page
        if not page.styles:
            return _PLAIN, 0, _PLAIN, False  # OCR does not say
        share: Counter[Style] = Counter()
        runs: list[tuple[int, Style]] = []
        for piece in pieces:
            at = piece.start
            k = max(0, bisect_right(self._starts, at) - 1)
            while at < piece.end:
                stop = self._starts[k + 1] if k + 1 < len(self._starts) else piece.end
                style = page.styles[page.words[k][1]]
                share[style] += min(stop, piece.end) - at
                runs.append((at, style))
                at = stop
                k += 1
        most = share.most_common(1)[0][0]
        # A raised number before the words does not count as their beginning.
        big = max(style.size for _, style in runs)
        first = next((style for _, style in runs if style.size > _RAISED_SIZE * big), runs[0][1])
        mixed = len({style.bold for style, count in share.items() if count > 1}) > 1
        if first.bold == most.bold and first.font == most.font:
            return most, 0, _PLAIN, mixed
        begun = False
        for at, style in runs:
            if style.bold == first.bold and style.font == first.font:
                begun = True
            elif begun:
                return most, sum(0 <= origin < at for origin in origins), first, mixed
        return most, len(origins), first, mixed
