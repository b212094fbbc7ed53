"""Tables in plain text (.csv, .tsv, .psv), written as one Markdown table.

The text of the file as it stands would be kept as easily, but a row of it is no unit for anything that reads on:
sentences run across the rows, and an answer was the whole passage. A Markdown row is cited by itself, and every piece
of the table repeats the header.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain, islice
from pathlib import PurePosixPath

from pincite.errors import NoTextError
from pincite.loaders.clean import clean, loss_warnings
from pincite.loaders.decode import decode
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.loaders.table_text import first_row_is_header, is_prose, table_lines
from pincite.loaders.writer import TextWriter
from pincite.protocols import Source
from pincite.types import Document, MetadataValue

__all__ = ["DelimitedLoader"]

_MEDIA_TYPES = {".tsv": "text/tab-separated-values", ".tab": "text/tab-separated-values"}
_USUAL = {".tsv": "\t", ".tab": "\t", ".psv": "|"}
# The ones that are least likely to be part of what a cell says come first; commas are in numbers and sentences.
_DELIMITERS = "\t|;,"
_SAMPLE = 1 << 16  #: characters that the delimiter is found in
_SAMPLE_RECORDS = 200
_AGREEMENT = 0.9  #: share of records with the same number of cells that settles the delimiter
_MOST_LINES = 100  #: of one record, in a file of which a quote was never closed; a hundred times as many in others
_LARGEST_CELL = 16 << 20  #: characters
_TITLES = 10  #: lines above the header at most
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\n', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Dialect:
    delimiter: str
    columns: int  #: of most records
    quoted: bool = True


class DelimitedLoader:
    r"""Reads a delimited text as a table: one record a row, its first row the header where it names the columns.

    Comma, semicolon, tab and pipe are tried, and the one that parts most records into the same number of cells is
    taken. Lines of one cell above the table are its title and stay text. Cells keep their words; line breaks in them
    become spaces, and a pipe is written as ``\|``. Rows with too few or too many cells are read as they are and
    counted in a warning. A file that holds no delimiter is a list, or plain text where its lines are long.
    """

    name = "delimited"
    suffixes = frozenset({".csv", ".tsv", ".tab", ".psv"})

    def load(self, source: Source) -> Document:
        """The text of `source`.

        Raises UnsupportedFormatError for binary data, NoTextError for a file without a visible character.
        """
        decoded = decode(source.data)
        cleaned = clean(decoded.text)
        text = cleaned.text
        if not text.strip():
            raise NoTextError("the file is empty" if not source.data else "the file holds no visible text")
        suffix = PurePosixPath(source.name).suffix.lower()
        table = _Table(text, suffix)
        try:
            table.write()
        except (_UnbalancedError, csv.Error):
            table = _Table(text, suffix, quoted=False)
            table.write()
        if not table.writer.text.strip():
            raise NoTextError("the table holds no text")
        metadata: dict[str, MetadataValue] = {"rows": table.rows, "columns": table.dialect.columns}
        if decoded.detected:
            metadata["encoding"] = decoded.encoding
        return Document(
            id=document_id(source.uri),
            text=table.writer.text,
            title=stem_title(source.name),
            uri=source.uri,
            media_type=_MEDIA_TYPES.get(suffix, "text/csv"),
            content_hash=content_hash(source.data),
            metadata=metadata,
            warnings=decoded.warnings + loss_warnings(cleaned.controls, cleaned.invisible) + table.warnings(),
        )


class _UnbalancedError(Exception):
    """A cell goes on and on: its closing quote is missing."""


class _Table:
    """One reading of the text as a table."""

    def __init__(self, text: str, suffix: str, *, quoted: bool = True) -> None:
        self.writer = TextWriter()
        self.rows = self.short = self.long = 0  #: rows below the header, and those of another width
        self.header = False
        self._quoted = quoted
        named = _SEPARATOR_LINE.match(text)
        self._text = text[named.end() :] if named else text
        self.dialect = _Dialect(named[1], 0) if named else _sniff(self._text, suffix, quoted)
        if named:
            self.dialect = _Dialect(named[1], _columns(_sample(self._text, named[1], quoted))[0])

    def write(self) -> None:
        """Write the table. Raises _UnbalancedError, or csv.Error for a cell beyond all measure."""
        records = _records(self._text, self.dialect.delimiter, self._quoted)
        first = list(islice(records, _SAMPLE_RECORDS))
        columns = self.dialect.columns
        if columns < 2:
            self._write_list(first, records)
            return
        titles = 0
        while titles < min(_TITLES, len(first) - 1) and sum(map(bool, map(str.strip, first[titles]))) == 1:
            titles += 1
        if titles == _TITLES or len(first[titles]) < 2:
            titles = 0
        for record in first[:titles]:
            self.writer.write(" ".join(" ".join(record).split()), close=True)
        first = first[titles:]
        self.header = first_row_is_header(first)
        width = len(first[0]) if self.header and len(first[0]) > columns else columns
        self.writer.lines(
            table_lines(self._counted(chain(first, records), width), width, header=self.header), close=True
        )

    def warnings(self) -> tuple[str, ...]:
        """What was doubtful, in words."""
        warnings = []
        if not self._quoted:
            warnings.append("quotes are not balanced: read without regard to them")
        if self.short:
            warnings.append(f"{self.short} row{'s' if self.short > 1 else ''} with too few cells")
        if self.long:
            warnings.append(f"{self.long} row{'s' if self.long > 1 else ''} with too many cells")
        return tuple(warnings)

    def _counted(self, records: Iterator[list[str]], width: int) -> Iterator[list[str]]:
        for i, record in enumerate(records):
            self.rows += i > 0 or not self.header
            self.short += len(record) < width
            # Cells without text at the end are how some programs fill up rows.
            while len(record) > width and not record[-1].strip():
                record.pop()
            self.long += len(record) > width
            yield record

    def _write_list(self, first: list[list[str]], records: Iterator[list[str]]) -> None:
        prose = is_prose([record[0] for record in first])
        self.header = not prose and first_row_is_header(first)
        if prose:
            self.writer.lines(self.dialect.delimiter.join(record) for record in chain(first, records))
        else:
            self.writer.lines(table_lines(self._counted(chain(first, records), 1), 1, header=self.header))


def _sniff(text: str, suffix: str, quoted: bool) -> _Dialect:
    """The delimiter under which most records have the same number of cells."""
    found: dict[str, tuple[bool, float, int]] = {}
    for delimiter in _DELIMITERS:
        sample = _sample(text, delimiter, quoted)
        columns, share = _columns(sample)
        if columns > 1:
            # A mark that only the remarks of a table hold is not in its header.
            found[delimiter] = (len(sample[0]) == columns, share, columns)
    usual = _USUAL.get(suffix, "")
    if usual in found:
        return _Dialect(usual, found[usual][2])
    for from_the_first in (True, False):
        for delimiter, (first, share, columns) in found.items():
            if share >= _AGREEMENT and first >= from_the_first:
                return _Dialect(delimiter, columns)
    if not found:
        return _Dialect(usual or ",", 1)
    best = max(found, key=lambda delimiter: found[delimiter])
    return _Dialect(best, found[best][2])


def _sample(text: str, delimiter: str, quoted: bool) -> list[list[str]]:
    cut = text if len(text) <= _SAMPLE else text[: text.rfind("\n", 0, _SAMPLE) + 1 or _SAMPLE]
    try:
        return list(islice(_records(cut, delimiter, quoted), _SAMPLE_RECORDS))
    except (_UnbalancedError, csv.Error):
        return list(islice(_records(cut, delimiter, False), _SAMPLE_RECORDS))


def _columns(records: Sequence[list[str]]) -> tuple[int, float]:
    """How many cells most of `records` have, and the share of the records that have as many."""
    if not records:
        return 0, 0.0
    counts = Counter(map(len, records))
    # Lines above the table have one cell, and are no argument for there being one column.
    several = {columns: times for columns, times in counts.items() if columns > 1}
    if not several or 2 * sum(several.values()) < len(records):
        return 1, counts[1] / len(records)
    columns = max(several, key=lambda each: (several[each], each))
    return columns, several[columns] / len(records)


def _records(text: str, delimiter: str, quoted: bool) -> Iterator[list[str]]:
    """The records of `text` that hold anything."""
    if not quoted:
        for each in StringIO(text):
            if not each.isspace():
                yield each.rstrip("\n").split(delimiter)
        return
    if csv.field_size_limit() < _LARGEST_CELL:
        csv.field_size_limit(_LARGEST_CELL)  # for the whole process: cells that hold a document are no mistake
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=delimiter != "\t")
    most = _MOST_LINES if text.count('"') % 2 else 100 * _MOST_LINES
    line = 0
    for record in reader:
        if reader.line_num - line > most:
            raise _UnbalancedError
        line = reader.line_num
        if any(cell and not cell.isspace() for cell in record):
            yield record
