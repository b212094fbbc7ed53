"""The cells of one sheet as text: regions set apart by blank rows and columns, each a table, a list or a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pincite.loaders.table_text import first_row_is_header, is_prose, table_lines
from pincite.loaders.writer import TextWriter

__all__ = ["write_sheet"]

_TITLES = 10  #: rows of one cell above a table that are its title, at most
_NOTE = 60  #: characters of a lone cell below a table from which on it is a note, not a row
_HEADER_SAMPLE = 51
_DEEPEST = 8  #: regions within regions that are told apart

_Rows = Sequence[Sequence[str]]


def write_sheet(writer: TextWriter, rows: Iterable[Sequence[str]], *, depth: int = 0) -> None:
    """Write the cells of `rows` region by region, from top to bottom and, where they lie side by side, from the left.

    Blank rows part regions, unless what follows one goes on with the columns of the table above and has no header.
    Blank columns do where what is to the left and right of them are tables of their own; else they are the spacing of
    one table. Rows of a single cell above a table are its title. Cells are without white space at their ends.
    """
    for band in _bands(rows):
        parts = _at_corners(band)
        if len(parts) == 1:
            parts = _side_by_side(band)
        if len(parts) == 1 or depth == _DEEPEST:
            _write_region(writer, parts[0] if len(parts) == 1 else _only(band, _filled_columns(band)))
            continue
        for part in parts:
            write_sheet(writer, part, depth=depth + 1)


def _bands(rows: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Runs of rows that are not blank."""
    held: list[Sequence[str]] = []
    band: list[Sequence[str]] = []
    gap = 0  # blank rows between the two
    blank = 0
    for row in rows:
        if any(row):
            if blank and band:
                if held and gap == 1 and _goes_on(held, band):
                    held.extend(band)
                else:
                    if held:
                        yield held
                    held = band
                band, gap = [], blank
            band.append(row)
            blank = 0
        else:
            blank += 1
    if held and band and gap == 1 and _goes_on(held, band):
        held.extend(band)
        band = []
    if held:
        yield held
    if band:
        yield band


def _goes_on(above: _Rows, below: _Rows) -> bool:
    """Whether the rows below a blank one belong to the table above it."""
    # The last row may be a sum, the first one a title: the widest of a few says where the table's columns are.
    left, right = _extent(above[: _TITLES + 1])
    if right - left < 1 or _extent(below[:_HEADER_SAMPLE]) != (left, right):
        return False
    return len(above) == 1 or not first_row_is_header(below[:_HEADER_SAMPLE])


def _extent(rows: _Rows) -> tuple[int, int]:
    """The first and the last column with anything in them."""
    filled = [[column for column, cell in enumerate(row) if cell] for row in rows]
    return min(row[0] for row in filled if row), max(row[-1] for row in filled if row)


def _at_corners(band: _Rows) -> list[_Rows]:
    """The band, parted where all that follows lies in other columns than all above; no part is of a single row."""
    extents = [_extent([row]) for row in band]
    below: list[tuple[int, int]] = []  # of each row and all under it, from the last up
    for left, right in reversed(extents):
        below.append((min(left, below[-1][0]), max(right, below[-1][1])) if below else (left, right))
    cuts = [0]
    least, most = extents[0]
    for i, (left, right) in enumerate(extents):
        lower = below[len(band) - 1 - i]
        if cuts[-1] + 2 <= i <= len(band) - 2 and (most < lower[0] or lower[1] < least):
            cuts.append(i)
        least, most = min(least, left), max(most, right)
    return [band[start:end] for start, end in pairwise([*cuts, len(band)])]


def _side_by_side(band: _Rows) -> list[_Rows]:
    """The regions that lie side by side in a band, each without its blank columns; its rows may be blank."""
    columns = _filled_columns(band)
    groups = [[columns[0]]]
    for before, column in pairwise(columns):
        if column > before + 1:
            groups.append([])
        groups[-1].append(column)
    if len(groups) == 1:
        return [_only(band, groups[0])]
    parts = [groups[0]]
    for group in groups[1:]:
        if _apart(_only(band, parts[-1]), _only(band, group), group[0] - parts[-1][-1] - 1):
            parts.append(group)
        else:
            parts[-1] = parts[-1] + group
    return [_only(band, part) for part in parts]


def _filled_columns(rows: _Rows) -> list[int]:
    columns: set[int] = set()
    for row in rows:
        if len(columns) < len(row):
            columns.update(column for column, cell in enumerate(row) if cell)
    return sorted(columns)


def _only(rows: _Rows, columns: Sequence[int]) -> list[list[str]]:
    return [[row[column] if column < len(row) else "" for column in columns] for row in rows]


def _apart(left: _Rows, right: _Rows, gap: int) -> bool:
    """Whether what lies on the two sides of `gap` blank columns are two tables.

    A false "no" sets two tables into one row each; a false "yes" takes the numbers of a table from their names. So it
    is only where both have columns with names of their own, and different rows or much space between them.
    """
    rows_left = [i for i, row in enumerate(left) if any(row)]
    rows_right = [i for i, row in enumerate(right) if any(row)]
    if rows_left[-1] < rows_right[0] or rows_right[-1] < rows_left[0]:
        return True
    same = rows_left[0] == rows_right[0] and rows_left[-1] == rows_right[-1]
    return (gap > 1 or not same) and _is_named(left[rows_left[0] :]) and _is_named(right[rows_right[0] :])


def _is_named(rows: _Rows) -> bool:
    names = rows[0]
    words = all(name and any(c.isalpha() for c in name) for name in names)
    return len(names) > 1 and len(rows) > 1 and words and first_row_is_header(rows[:_HEADER_SAMPLE])


def _write_region(writer: TextWriter, rows: _Rows) -> None:
    if len(rows[0]) == 1:
        cells = [row[0] for row in rows]
        if is_prose(cells):
            for cell in cells:
                writer.write(cell)
        else:
            writer.lines(table_lines(rows, 1, header=first_row_is_header(rows[:_HEADER_SAMPLE])))
        return
    begin, end = 0, len(rows)
    while begin < min(end, _TITLES) and _lone(rows[begin]):
        begin += 1
    if begin == _TITLES or (begin < end and _lone(rows[begin])):
        begin = 0
    while end > begin and len(_lone(rows[end - 1])) > _NOTE:
        end -= 1
    for i in range(begin):
        writer.write(_lone(rows[i]), close=i > 0)
    body = rows[begin:end]
    columns = _filled_columns(body) if begin or end < len(rows) else range(len(rows[0]))
    if len(columns) < len(rows[0]):
        body = _only(body, columns)
    header = first_row_is_header(body[:_HEADER_SAMPLE])
    writer.lines(table_lines(body, len(columns), header=header), close=begin > 0)
    for row in rows[end:]:
        writer.write(_lone(row))


def _lone(row: Sequence[str]) -> str:
    """The text of the only cell of a row that has any; "" where there are more or none."""
    filled = [cell for cell in row if cell]
    return filled[0] if len(filled) == 1 else ""
