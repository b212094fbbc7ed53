"""Workbooks of Excel (.xlsx, .xlsm, .xlsb, .xls): every sheet a page, its regions as Markdown tables.

The values come from calamine, which reads all four formats a good deal faster than a parser in Python; what it does not
tell comes from the package, see `sheet_facts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import chain
from typing import Any

from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.loaders.office_package import DAMAGE, Package, refuse
from pincite.loaders.sheet_facts import SheetFacts, sheet_facts
from pincite.loaders.sheet_text import write_sheet
from pincite.loaders.table_text import value_text
from pincite.loaders.writer import TextWriter
from pincite.protocols import Source
from pincite.types import Document, MetadataValue

__all__ = ["WorkbookLoader"]

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BIFF = (b"\x09\x00\x04\x00", b"\x09\x02\x06\x00", b"\x09\x04\x06\x00")  # workbooks of before 1994, without a container
_MOST_CELLS = 20_000_000  #: of one sheet's rectangle, filled or not: some 30 bytes each while it is read
_WHAT = "workbook"
_MEDIA_TYPES = {
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xlsb": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
    "xls": "application/vnd.ms-excel",
}


class WorkbookLoader:
    """Reads every sheet, hidden ones included, as a page under a heading with the sheet's name.

    Regions of a sheet, set apart by blank rows and columns, are Markdown tables; lines of one cell above a table are
    its title. Values are written as people write them: dates in ISO 8601, whole numbers without a decimal point,
    percentages and errors (``#REF!``) as shown where the format is .xlsx or .xlsm. Of merged cells the value stands
    once. Formulas show the result that the file holds; those without one are counted in a warning. Comments and text
    boxes follow the cells of their sheet. A sheet whose cells lie so far apart that its rectangle is beyond 20 million
    is left out and named. Hidden rows and columns are read; number formats other than percentages, charts and
    pictures are not.
    """

    name = "workbook"
    suffixes = frozenset({".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb", ".xls", ".xlt"})

    def load(self, source: Source) -> Document:
        """The text of `source`.

        Raises EncryptedError for a protected file, NoTextError for one without text, LoadError for a damaged one.
        """
        data = source.data
        facts: dict[str, SheetFacts] = {}
        metadata: dict[str, MetadataValue] = {}
        title = ""
        if data.startswith(b"PK"):
            try:
                package = Package(data, _WHAT)
                facts = sheet_facts(package)
                metadata, title = package.properties()
            except DAMAGE as error:
                refuse(error, _WHAT)
            kind = "xlsb" if "" in facts else "xlsx"
        elif data.startswith((_OLE, *_BIFF)):
            if "EncryptedPackage".encode("utf-16-le") in data:
                raise EncryptedError(f"the {_WHAT} is encrypted: a password is needed to open it")
            kind = "xls"
        else:
            raise LoadError(f"the file is named like a {_WHAT} and is none: open it and save it as .xlsx or .csv")
        reader = _Reader(facts)
        reader.read(data)
        text = reader.writer.text
        if not reader.filled:
            raise NoTextError(f"the {_WHAT} holds no text{': ' if reader.warnings else ''}{'; '.join(reader.warnings)}")
        if reader.hidden:
            metadata["hidden_sheets"] = ", ".join(reader.hidden)
        metadata["sheets"] = ", ".join(page.label for page in reader.writer.pages)
        return Document(
            id=document_id(source.uri),
            text=text,
            title=title or stem_title(source.name),
            uri=source.uri,
            media_type=_MEDIA_TYPES[kind],
            content_hash=content_hash(data),
            metadata=metadata,
            pages=tuple(reader.writer.pages),
            headings=tuple(reader.writer.headings),
            warnings=reader.writer.losses() + tuple(reader.warnings),
        )


class _Reader:
    """Writes the sheets of a workbook one after the other."""

    def __init__(self, facts: dict[str, SheetFacts]) -> None:
        self.writer = TextWriter()
        self.warnings: list[str] = []
        self.hidden: list[str] = []
        self.filled = 0  #: sheets with something in them
        self._facts = facts

    def read(self, data: bytes) -> None:
        from python_calamine import CalamineWorkbook, PasswordError, SheetVisibleEnum

        try:
            book = CalamineWorkbook.from_object(BytesIO(data))
            for sheet in book.sheets_metadata:
                name = " ".join(sheet.name.split())
                self.writer.begin_page(name)
                if sheet.visible != SheetVisibleEnum.Visible:
                    self.hidden.append(name)
                self._sheet(book, sheet.name, name)
            self.writer.end_page()
        except PasswordError as error:
            raise EncryptedError(f"the {_WHAT} is encrypted: a password is needed to open it") from error
        except LoadError:
            raise
        except BaseException as error:
            # A panic of the library's Rust code is no Exception, and leaves nothing behind that could be used again.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise LoadError(f"the {_WHAT} is damaged: {' '.join(str(error).split())}") from error
        if self.hidden:
            listed = ", ".join(f"“{name}”" for name in self.hidden)
            self.warnings.append(f"hidden sheet{'s' if len(self.hidden) > 1 else ''} read as the others: {listed}")

    def _sheet(self, book: Any, key: str, name: str) -> None:
        from python_calamine import WorksheetNotFound

        facts = self._facts.get(key) or SheetFacts()
        largest = self._facts[""].cells if "" in self._facts else facts.cells
        rows: Iterator[Sequence[str]] = iter(())
        if largest > _MOST_CELLS:
            self.warnings.append(
                f"sheet “{name}” left out: its cells spread over {largest:,}, and at most {_MOST_CELLS:,} are read"
            )
        else:
            try:
                rows = _rows(book.get_sheet_by_name(key), facts)
            except WorksheetNotFound:
                self.warnings.append(f"sheet “{name}” is named and missing")
        first = next(filter(any, rows), None)
        if first is not None or facts.boxes or facts.comments:
            self.filled += 1
            self.writer.write(name or "Sheet", level=1)
        elif largest <= _MOST_CELLS:
            self.warnings.append(f"sheet “{name}” holds no cells with text")
        write_sheet(self.writer, rows if first is None else chain([first], rows))
        for box in facts.boxes:
            self.writer.write(box)
        for cell, author, text in facts.comments:
            self.writer.write(f"Comment on {cell}{f' by {author}' if author else ''}: {text}")
        if facts.unvalued:
            which = "formula" if facts.unvalued == 1 else "formulas"
            self.warnings.append(f"sheet “{name}”: {facts.unvalued} {which} without a stored result")


def _rows(sheet: Any, facts: SheetFacts) -> Iterator[Sequence[str]]:
    """The texts of the cells, row by row."""
    if sheet.start is None:
        return
    left = sheet.start[1]
    special = bool(facts.percents or facts.errors)
    for number, values in enumerate(sheet.iter_rows()):
        row = [value.strip() if type(value) is str else value_text(value) for value in values]
        if special:
            for i, value in enumerate(values):
                cell = (number, left + i)
                if value == "" and cell in facts.errors:
                    row[i] = facts.errors[cell]
                elif type(value) is float and cell in facts.percents:
                    row[i] = f"{value_text(round(value * 100, 10))}%"
        yield row
