"""The order in which the lines of a page are read.

The order of the file is kept wherever it can be: most programs write a page as it is read. It is changed in two
cases. Where lines run across two or three columns of prose, as in a page that was written row by row, they are
divided at the gutters and each column is read down. And a block that the file has too late (a title drawn after the
body) or too early moves to where it stands (Breuel, "High Performance Document Layout Analysis", 2003): above what is
below it, and a column before the one to its right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from pincite.loaders.pdf_lines import Line, PageLines, page_lines
from pincite.loaders.pdf_pages import RawPage

__all__ = ["lines_in_order"]

_LEAST_LINES = 6  #: of a column
_LEAST_LETTERS = 18  #: of the usual line of prose, in a column
_MOST_BLOCKS = 200
_MOST_PIECES = 12  #: blocks that are no prose, on a page of text
_MOST_COLUMNS = 4
_CELLS = 0.12  #: of the lines of a column: with more that have cells it is a table
_GUTTER = 7.0  #: points
_NARROWEST = 24  #: of a column, in points


@dataclass(slots=True)
class _Block:
    """Lines that follow one another downwards."""

    lines: list[Line]
    left: float
    bottom: float
    right: float
    top: float

    @property
    def is_prose(self) -> bool:
        """Whether these are the lines of a column of text, full and many."""
        return len(self.lines) >= _LEAST_LINES - 1 and median(len(line.text) for line in self.lines) >= _LEAST_LETTERS

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self.left, self.right = min(self.left, line.left), max(self.right, line.right)
        self.bottom, self.top = min(self.bottom, line.bottom), max(self.top, line.top)


def lines_in_order(page: RawPage) -> PageLines:
    """The lines of `page` as they are read."""
    found = page_lines(page)
    lines = found.lines
    if page.confidence is not None or len(lines) < 3:
        return found  # OCR has its own layout analysis
    gutters = _gutters(page, lines)
    if gutters:
        divided = page_lines(page, gutters)
        if _torn(page, divided.lines, gutters):
            ordered = _by_columns(divided.lines, gutters)
            return replace(found, lines=ordered)
    return replace(found, lines=_by_blocks(lines))


def _gutters(page: RawPage, lines: list[Line]) -> tuple[float, ...]:
    """Where columns of prose meet: x of empty strips with full lines to both sides."""
    if len(lines) < _LEAST_LINES:
        return ()
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    width = int(right - left)
    if not 100 < width < 20_000:
        return ()
    covered = [0] * (width + 2)
    boxes = page.boxes
    turned = page.turned != 0
    if turned:
        return ()
    # Every character and what joins it to the next of its word; a strip that hardly any line crosses is a gutter.
    for line in lines:
        end = None
        for origin in line.origins:
            if origin < 0:
                continue
            x0, x1 = boxes[4 * origin] - page.corner[0], boxes[4 * origin + 2] - page.corner[0]
            if x1 <= x0:
                continue
            begin = x0 if end is None or x0 - end > 0.8 * line.height or x0 < end - line.height else end
            end = x1
            a, b = int(max(0, min(begin, x1) - left)), int(min(width, max(begin, x1) - left))
            covered[a] += 1
            covered[b + 1] -= 1
    depth = 0
    profile = []
    for change in covered:
        depth += change
        profile.append(depth)
    # A character covers some points: compare with the usual depth of a full strip.
    full = sorted(profile)[int(len(profile) * 0.75)]
    empty = [each <= max(2, 0.15 * full) for each in profile]
    # A column is not so narrow: what stands alone between two empty strips belongs to a line that crosses both.
    for x, is_empty in enumerate(empty):
        if is_empty and x and not empty[x - 1]:
            back = x - 1
            while back >= 0 and not empty[back]:
                back -= 1
            if back >= 0 and x - back <= _NARROWEST:
                empty[back:x] = [True] * (x - back)
    gutters = []
    start = None
    for x, is_empty in enumerate([*empty, False]):
        if is_empty and start is None:
            start = x
        elif not is_empty and start is not None:
            if x - start >= _GUTTER and 0.15 * width < (start + x) / 2 < 0.85 * width:
                gutters.append(left + (start + x) / 2)
            start = None
    return tuple(gutters) if 0 < len(gutters) < _MOST_COLUMNS else ()


def _column(line: Line, gutters: tuple[float, ...]) -> int | None:
    """Counted from the left; None for a line that crosses a gutter."""
    first = sum(gutter < line.left for gutter in gutters)
    last = sum(gutter < line.right for gutter in gutters)
    return first if first == last else None


def _torn(page: RawPage, lines: list[Line], gutters: tuple[float, ...]) -> bool:
    """Whether these are columns of prose that the file mixes."""
    columns: list[list[Line]] = [[] for _ in range(len(gutters) + 1)]
    places = []
    for line in lines:
        column = _column(line, gutters)
        if column is not None:
            columns[column].append(line)
            places.append(column)
    for column_lines in columns:
        if len(column_lines) < _LEAST_LINES:
            return False
        width = max(line.right for line in column_lines) - min(line.left for line in column_lines)
        # Cells of a table are short, lines of prose are as wide as their column.
        if median(line.right - line.left for line in column_lines) < 0.6 * width:
            return False
        if median(len(line.text) for line in column_lines) < _LEAST_LETTERS:
            return False
        if sum(_has_cells(page, line) for line in column_lines) > _CELLS * len(column_lines):
            return False
    changes = sum(one != two for one, two in pairwise(places))
    return changes > 2 * len(columns) + 0.25 * min(map(len, columns))


def _has_cells(page: RawPage, line: Line) -> bool:
    """Whether a line has a gap within that is too wide for a space: cells of a row."""
    boxes = page.boxes
    right = None
    for origin in line.origins:
        if origin < 0 or boxes[4 * origin + 2] <= boxes[4 * origin]:
            continue
        if right is not None and boxes[4 * origin] - right > 1.2 * line.height:
            return True
        right = boxes[4 * origin + 2]
    return False


def _by_columns(lines: list[Line], gutters: tuple[float, ...]) -> list[Line]:
    """Bands between the lines that cross a gutter, from above; in each the columns in the direction of reading."""
    crossing = sorted((line for line in lines if _column(line, gutters) is None), key=lambda line: -line.top)
    order = range(len(gutters) + 1)
    rtl = sum(line.rtl for line in lines) * 2 > len(lines)
    ordered: list[Line] = []
    rest = [line for line in lines if _column(line, gutters) is not None]
    for limit in [*crossing, None]:
        middle = -1e9 if limit is None else (limit.top + limit.bottom) / 2
        band = [line for line in rest if (line.top + line.bottom) / 2 >= middle]
        rest = [line for line in rest if (line.top + line.bottom) / 2 < middle]
        for column in reversed(order) if rtl else order:
            ordered += sorted(
                (line for line in band if _column(line, gutters) == column),
                key=lambda line: (-round(line.bottom), line.left),
            )
        if limit is not None:
            ordered.append(limit)
    return ordered


def _by_blocks(lines: list[Line]) -> list[Line]:
    blocks: list[_Block] = []
    for line in lines:
        last = blocks[-1] if blocks else None
        if last is not None and _follows(last.lines[-1], line):
            last.add(line)
        else:
            blocks.append(_Block([line], line.left, line.bottom, line.right, line.top))
    if not 1 < len(blocks) <= _MOST_BLOCKS or any(block.top <= block.bottom for block in blocks):
        return lines
    pieces = sum(not block.is_prose for block in blocks)
    if pieces > max(_MOST_PIECES, 2 * (len(blocks) - pieces)):
        return lines  # a table, a form or a drawing: the program knows its cells better
    return [line for block in _sorted(blocks) for line in block.lines]


def _follows(before: Line, line: Line) -> bool:
    """Whether `line` stands beside or directly below, not in another column."""
    size = max(before.height, line.height)
    down = before.bottom - line.bottom
    if abs(down) < 0.6 * size:
        return True
    return 0 < down <= 2.5 * size and min(before.right, line.right) > max(before.left, line.left) - size


def _sorted(blocks: list[_Block]) -> list[_Block]:
    """A block comes after all that must be read before it; among those that may come, the file's order decides."""
    rtl = sum(line.rtl for block in blocks for line in block.lines) * 2 > sum(len(block.lines) for block in blocks)
    count = len(blocks)
    before: list[set[int]] = [
        {i for i in range(count) if i != j and _precedes(blocks, i, j, rtl)} for j in range(count)
    ]
    left = list(range(count))
    done: set[int] = set()
    ordered = []
    while left:
        at = next((j for j in left if before[j] <= done), left[0])
        left.remove(at)
        done.add(at)
        ordered.append(blocks[at])
    return ordered


def _precedes(blocks: list[_Block], i: int, j: int, rtl: bool) -> bool:
    one, two = blocks[i], blocks[j]
    if min(one.right, two.right) > max(one.left, two.left):
        return one.bottom >= two.top - 0.3 * two.lines[0].height
    if not (one.is_prose and two.is_prose):
        return False  # cells of a table, labels in a figure
    if (one.left > two.right) if not rtl else (one.right < two.left):
        return False
    top, bottom = max(one.top, two.top), min(one.bottom, two.bottom)
    return not any(
        other.left < min(one.right, two.right)
        and other.right > max(one.left, two.left)
        and bottom < (other.top + other.bottom) / 2 < top
        for other in blocks
        if other is not one and other is not two
    )
