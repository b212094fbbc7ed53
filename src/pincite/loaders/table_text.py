"""Tables as text: Markdown rows between pipes, so that each piece of a long table can repeat the header."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pincite.loaders.clean import collapse

__all__ = ["first_row_is_header", "header_rows", "is_prose", "table_lines", "value_text"]

_NUMBER = re.compile(r"[-+(]?[^\w\s.,-]?\s?\d[\d.,' ]*(?:[eE][-+]?\d+)?\s?[%)]?[^\w\s.,-]?")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[ T].*)?|\d\d?[./]\d\d?[./]\d{2,4}")
_YEAR = re.compile(r"(?:FY\s?)?(?:1[89]|20|21)\d\d")
_LONG = 80  #: characters of a cell from which on it is a paragraph
_TITLES = 3  #: rows of one cell above the names of the columns at most
_SAMPLE = 50  #: rows that are looked at to tell a header from data


def table_lines(rows: Iterable[Sequence[str]], width: int, *, header: int = 1) -> Iterator[str]:
    r"""The lines of a Markdown table, without line ends, one at a time.

    Rows of fewer than `width` cells are filled up; longer ones stay longer. `header` rows name the columns; where there
    are none, there is no row of dashes: the first row is data like the others. White space in a cell becomes one space,
    and a pipe is written as ``\|``.
    """
    for i, row in enumerate(rows):
        line = " | ".join([collapse(cell).replace("|", "\\|") if cell else "" for cell in row])
        yield f"| {line}{' | ' * max(0, width - len(row))} |"
        if i + 1 == header:
            yield "|" + "---|" * max(width, len(row))


def is_prose(cells: Sequence[str]) -> bool:
    """Whether the cells of a single column are paragraphs rather than values: few, long, or whole sentences."""
    filled = [cell for cell in cells if cell.strip()]
    long = sum(len(cell) > _LONG or cell.rstrip().endswith((".", "!", "?", ":")) for cell in filled[:_SAMPLE])
    return len(filled) < 3 or 4 * long > len(filled[:_SAMPLE])


def first_row_is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of `rows` names the columns.

    It does not where it holds a number or a date in a column of numbers or dates, years (as names of columns) and
    numbers that count the columns aside, or an empty row of names.
    """
    if not rows:
        return False
    names = [cell.strip() for cell in rows[0]]
    filled = [name for name in names if name]
    if not filled:
        return False
    if len(rows) == 1:
        return not any(_is_data(name) for name in filled)
    numbers = [name for name in filled if _is_data(name)]
    if all(_YEAR.fullmatch(name) for name in numbers) and len(numbers) < len(filled):
        return True
    if len(numbers) > 1 and _consecutive(numbers):
        return True
    for column, name in enumerate(names):
        if not _is_data(name):
            continue
        below = [row[column].strip() for row in rows[1 : _SAMPLE + 1] if column < len(row) and row[column].strip()]
        if below and 2 * sum(map(_is_data, below)) > len(below):
            return False
    return True


def header_rows(rows: Sequence[Sequence[str]], cells: Sequence[int]) -> int:
    """How many of `rows` at the top name the columns, where the file does not say; 0 where none does.

    `cells` counts the cells of each row, one that spans columns once. A row of a single cell above the names is a
    title, and counts with them. A lone row is no header: there is nothing that it names.
    """
    titles = 0
    while titles < min(_TITLES, len(rows) - 1) and cells[titles] == 1:
        titles += 1
    return titles + 1 if len(rows) > 1 and first_row_is_header(rows[titles:]) else 0


def _is_data(text: str) -> bool:
    return len(text) <= 40 and bool(_NUMBER.fullmatch(text) or _DATE.fullmatch(text))


def _consecutive(texts: Sequence[str]) -> bool:
    if not all(text.isdecimal() and len(text) < 9 for text in texts):
        return False
    numbers = [int(text) for text in texts]
    return all(b - a == 1 for a, b in pairwise(numbers))


def value_text(value: object) -> str:
    """A value of a spreadsheet as people write it: no ``1.0`` for 1, dates in ISO 8601, ``TRUE`` and ``FALSE``.

    >>> [value_text(v) for v in (1.0, 0.1 + 0.2, True, datetime.datetime(2024, 5, 1), 1e-7)]
    ['1', '0.3', 'TRUE', '2024-05-01', '0.0000001']
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, datetime.datetime):
        value = value.replace(microsecond=0)
        if value.time() == datetime.time():
            return value.date().isoformat()
        return value.isoformat(" ", "seconds" if value.second else "minutes")
    if isinstance(value, datetime.time):
        return value.replace(microsecond=0).isoformat("seconds" if value.second else "minutes")
    if isinstance(value, datetime.timedelta):
        seconds = round(value.total_seconds())
        sign, seconds = "-" if seconds < 0 else "", abs(seconds)
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return "" if value is None else str(value)


def _float_text(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    # Fifteen digits are what a spreadsheet keeps; what is beyond is noise of binary fractions.
    text = f"{value:.15g}"
    if "e-" in text and abs(value) >= 1e-10:
        digits = 14 + int(text.rpartition("e-")[2])
        return f"{value:.{digits}f}".rstrip("0")
    return text
