"""Tables of a page: what is known of one before it is written, and where its cells stand."""

from __future__ import annotations

from dataclasses import dataclass, field

from pincite.loaders.hypertext_writer import HypertextWriter
from pincite.loaders.table_text import header_rows

__all__ = ["MOST_COLUMNS", "MOST_ROWS", "Draft", "Grid", "Plan"]

MOST_ROWS, MOST_COLUMNS = 1000, 50  #: that one cell is believed to span
_MOST_HEADER_ROWS = 6
_SAMPLE_ROWS = 50  #: rows that are looked at to tell a header from data
_SAMPLE_CELL = 100  #: characters of one of their cells
_WIDEST = 200  #: columns up to which short rows are filled up
_MOST_REPEATED = 5_000_000  #: characters of a page that are written again
_REPEATED = 120  #: characters of a cell that is written in every row it spans; a longer one stands in its first


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of a table before it is written."""

    width: int  #: columns
    header: int  #: rows at its top that name the columns


@dataclass(slots=True)
class Draft:
    """Collects what a `Plan` needs while a table is looked at. Rows without text do not count."""

    layout: bool = False  #: it only arranges blocks on the page
    _width: int = 0
    _named: int = 0  # rows at its top that say themselves that they are names
    _names: bool = False  # whether it has cells of a header at all
    _several: bool = False  # whether any row has more than one cell
    _rows: list[list[str]] = field(default_factory=list)  # the first of them
    _cells: list[int] = field(default_factory=list)  # how many cells each of those has
    _count: int = 0
    _head: bool = False  # inside of ``thead``
    _row: list[str] | None = None  # the open row, a text for each column
    _open: int = 0  # column of the open cell
    _in_row: int = 0  # cells of the open row
    _data: bool = False  # whether one of them is a cell of data

    def head(self, inside: bool) -> None:
        """A ``thead`` begins or ends."""
        self._head = inside

    def begin_row(self) -> None:
        """A row begins."""
        self._row, self._in_row, self._data = [], 0, False

    def cell(self, columns: int, names: bool) -> None:
        """A cell begins that spans so many columns; `names`: it is one of a header (``th``)."""
        if self._row is None:
            return
        self._open = len(self._row)
        self._row.extend([""] * max(1, columns))
        self._in_row += 1
        self._data = self._data or not names
        self._names = self._names or names

    def text(self, text: str) -> None:
        """Text of the open cell."""
        if not self._row or text.isspace():
            return
        cell = self._row[self._open]
        if self._count <= _SAMPLE_ROWS and len(cell) < _SAMPLE_CELL:
            self._row[self._open] = f"{cell} {' '.join(text[:_SAMPLE_CELL].split())}".strip()
        elif not cell:
            self._row[self._open] = text[:1]

    def end_row(self) -> None:
        """The row ends."""
        row, self._row = self._row, None
        if row is None or not any(row):
            return
        self._several = self._several or self._in_row > 1
        self._width = max(self._width, len(row))
        if self._named == self._count < _MOST_HEADER_ROWS and (self._head or not self._data):
            self._named += 1
        self._count += 1
        if len(self._rows) <= _SAMPLE_ROWS:
            self._rows.append(row)
            self._cells.append(self._in_row)

    def plan(self) -> Plan | None:
        """How the table is to be written; None where its cells are blocks of their own and its rows no lines."""
        if self.layout or not self._several:
            return None
        if self._named:
            # A table whose every row is set as a header is set so for its looks.
            return Plan(self._width, self._named if self._named < self._count else 1)
        if self._names:
            return Plan(self._width, 0)  # the names stand at the left
        return Plan(self._width, header_rows(self._rows, self._cells))


@dataclass(slots=True)
class Grid:
    """A table whose rows are being written: cells that span columns or rows keep the others below their names."""

    plan: Plan
    column: int = 0
    rows: int = 0  #: written
    spans: dict[int, tuple[int, int, str]] = field(default_factory=dict)  #: column → rows to come, width, text
    open: list[tuple[int, int, int]] = field(default_factory=list)  #: of the open cells: part, rows, width

    def begin_row(self, writer: HypertextWriter) -> None:
        """Begin a row."""
        self.column = 0
        writer.begin_row()

    def skip_row(self, writer: HypertextWriter) -> None:
        """Leave out a row without text."""
        self.column = 0
        for column in list(self.spans):
            self._carry(writer, column, silent=True)

    def begin_cell(self, writer: HypertextWriter, rowspan: int | None, colspan: int | None) -> None:
        """Begin a cell, behind those of earlier rows that reach into this one."""
        while self.column in self.spans:
            self._carry(writer, self.column)
        writer.open_cell(self.column)
        columns = min(colspan or 1, MOST_COLUMNS)
        self.open.append((writer.part, min(rowspan or 1, MOST_ROWS), max(1, columns)))

    def end_cell(self, writer: HypertextWriter) -> None:
        """End the cell."""
        if not self.open:
            return
        writer.close_cell()
        part, rowspan, colspan = self.open.pop()
        if rowspan > 1 and len(self.spans) < MOST_COLUMNS:
            text = writer.since(part).strip().lstrip("| ")
            self.spans[self.column] = (rowspan - 1, colspan, text if len(text) <= _REPEATED else "")
        self.column += colspan

    def end_row(self, writer: HypertextWriter) -> None:
        """End the row, and the header with its last row."""
        for column in sorted(column for column in self.spans if column >= self.column):
            # A cell that began in this row stands left of where the row is now.
            self._carry(writer, column)
        width = self.plan.width
        if writer.end_row(width if width <= _WIDEST else 1):
            self.rows += 1
            if self.rows == self.plan.header:
                writer.rule(min(width, _WIDEST))

    def _carry(self, writer: HypertextWriter, column: int, *, silent: bool = False) -> None:
        """Write the cell of an earlier row that reaches into this one at `column`; `silent`: no row is written."""
        rows, width, text = self.spans.pop(column)
        if rows > 1:
            self.spans[column] = (rows - 1, width, text)
        self.column = column
        if text and not silent and writer.repeated < _MOST_REPEATED:
            writer.open_cell(column)
            writer.repeated += len(text) + 2 * writer.owed_bars
            writer.flow(text)
            writer.close_cell()
        self.column += width
