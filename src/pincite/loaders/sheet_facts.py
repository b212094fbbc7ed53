"""What a workbook's package says of its sheets beside the values: extent, percentages, errors, comments, text boxes.

The reader of the values keeps a sheet as one rectangle, however few of its cells are filled, gives errors as blanks,
and passes number formats, comments and drawings over. What it does not tell is taken from the package here, in one pass
over each sheet's bytes. Only the XML variants (.xlsx, .xlsm) say so much; of .xlsb the extent is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pincite.loaders.clean import collapse
from pincite.loaders.office_package import Element, Package, attribute, child, children, local

__all__ = ["SheetFacts", "sheet_facts"]

Cell = tuple[int, int]  # row and column, from 0

_FILLED = re.compile(rb'<(?:\w+:)?c\b(?=[^<>]*\br="([A-Z]{1,3})(\d{1,7})")[^<>]*(?<!/)>')
_ERROR = re.compile(
    rb'<(?:\w+:)?c\b(?=[^<>]*\bt="e")(?=[^<>]*\br="([A-Z]{1,3})(\d{1,7})")[^<>]*>'
    rb"(?:<f\b[^<>]*/>|<f\b[^<>]*>[^<]*</f>)?<v>(#[A-Z0-9/!?_]{2,20})</v>"
)
_UNVALUED = re.compile(rb"(?:</f>|<f\b[^<>]*/>)\s*(?:<v/>|<v></v>)?\s*</(?:\w+:)?c>")
_TAIL = 1 << 14  #: bytes of a piece that are read again with the next, so that no cell is cut in two
_PERCENT_FORMATS = frozenset({"9", "10"})


@dataclass(slots=True)
class SheetFacts:
    """Of one sheet. Rows and columns are counted from 0."""

    cells: int = 0  #: of the smallest rectangle around all filled cells
    percents: set[Cell] = field(default_factory=set)  #: cells whose number is shown as a percentage
    errors: dict[Cell, str] = field(default_factory=dict)  #: ``#REF!`` and the like
    unvalued: int = 0  #: formulas whose result the file does not hold
    comments: list[tuple[str, str, str]] = field(default_factory=list)  #: cell, author, text
    boxes: list[str] = field(default_factory=list)  #: texts of text boxes and shapes


def sheet_facts(package: Package) -> dict[str, SheetFacts]:
    """The facts of every worksheet by its name. Raises what `office_package.DAMAGE` lists."""
    book = package.main("xl/workbook.xml")
    relations = package.relations(book)
    if book.endswith(".bin"):
        return _binary_facts(package)
    percent = _percent_styles(package, book)
    people = _people(package, book)
    found: dict[str, SheetFacts] = {}
    sheets = child(package.xml(book), "sheets")
    for sheet in sheets if sheets is not None else ():
        _, part = relations.get(attribute(sheet, "id"), ("", ""))
        facts = found[attribute(sheet, "name")] = SheetFacts()
        if part:
            _scan(package, part, percent, facts)
            for kind, target in package.relations(part).values():
                if kind == "threadedComment":
                    facts.comments.extend(_threads(package.spare_xml(target), people))
                elif kind == "drawing":
                    facts.boxes.extend(_boxes(package.spare_xml(target)))
            threaded = {cell for cell, _, _ in facts.comments}
            for target in package.related(part, "comments"):
                # A thread is kept a second time as a comment, for older programs.
                facts.comments.extend(each for each in _comments(package.spare_xml(target)) if each[0] not in threaded)
    return found


def _scan(package: Package, part: str, percent: re.Pattern[bytes] | None, facts: SheetFacts) -> None:
    top = left = 1 << 30
    bottom = right = -1
    for data, end in _overlapping(package, part):
        columns = set()
        for match in _FILLED.finditer(data):
            if match.start() >= end:
                break
            letters, digits = match.groups()
            columns.add(letters)
            row = int(digits) - 1
            if row < top:
                top = row
            if row > bottom:
                bottom = row
        if columns:
            numbers = [_column(letters) for letters in columns]
            left, right = min(left, *numbers), max(right, *numbers)
        for match in _ERROR.finditer(data, 0):
            facts.errors[int(match[2]) - 1, _column(match[1])] = match[3].decode()
        facts.unvalued += sum(1 for match in _UNVALUED.finditer(data) if match.start() < end)
        if percent is not None:
            facts.percents.update((int(m[2]) - 1, _column(m[1])) for m in percent.finditer(data))
    if bottom >= 0:
        facts.cells = (bottom - top + 1) * (right - left + 1)


def _overlapping(package: Package, part: str) -> Iterator[tuple[bytes, int]]:
    """Pieces of a part that overlap, each with where the part of it ends that is not read again."""
    tail = b""
    for piece in package.pieces(part):
        data = tail + piece
        end = max(0, len(data) - _TAIL)
        cut = data.rfind(b"<", 0, end + 1)
        end = max(cut, 0)
        yield data, end
        tail = data[end:]
    yield tail, len(tail)


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number - 1


def _percent_styles(package: Package, book: str) -> re.Pattern[bytes] | None:
    """What a cell looks like that shows its number as a percentage; None if there is no such style."""
    for part in package.related(book, "styles"):
        root = package.spare_xml(part)
        formats = set(_PERCENT_FORMATS)
        for each in children(root, "numFmts"):
            if "%" in re.sub(r'"[^"]*"|\\.', "", attribute(each, "formatCode")):
                formats.add(attribute(each, "numFmtId"))
        styles = child(root, "cellXfs")
        wanted = [
            str(i)
            for i, each in enumerate(styles if styles is not None else ())
            if attribute(each, "numFmtId") in formats
        ]
        if wanted:
            listed = "|".join(wanted).encode()
            return re.compile(
                rb'<(?:\w+:)?c\b(?=[^<>]*\bs="(?:' + listed + rb')")(?=[^<>]*\br="([A-Z]{1,3})(\d{1,7})")[^<>]*(?<!/)>'
            )
    return None


def _people(package: Package, book: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in package.related(book, "person"):
        root = package.spare_xml(part)
        for person in root if root is not None else ():
            found[attribute(person, "id")] = attribute(person, "displayName")
    return found


def _threads(root: Element | None, people: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for comment in root if root is not None else ():
        text = child(comment, "text")
        if text is not None and collapse(text.text or ""):
            yield attribute(comment, "ref"), people.get(attribute(comment, "personId"), ""), collapse(text.text)


def _comments(root: Element | None) -> Iterator[tuple[str, str, str]]:
    names = [collapse(each.text or "") for each in children(root, "authors")]
    listed = child(root, "commentList")
    for comment in listed if listed is not None else ():
        text = collapse("".join(each.text or "" for each in comment.iter() if local(each) == "t"))
        author = attribute(comment, "authorId")
        name = names[int(author)] if author.isdecimal() and int(author) < len(names) else ""
        # Excel writes the author's name as the first line of the comment.
        text = text.removeprefix(f"{name}:").strip() if name else text
        if text:
            yield attribute(comment, "ref"), name, text


def _boxes(root: Element | None) -> Iterator[str]:
    for body in root.iter() if root is not None else ():
        if local(body) == "txBody":
            lines = [
                "".join(each.text or "" for each in p.iter() if local(each) == "t") for p in body if local(p) == "p"
            ]
            if any(map(str.strip, lines)):
                yield "\n".join(line for line in lines if line.strip())


# The binary variant: records of an id and a length, each number in groups of seven bits, lowest first.


def _binary_facts(package: Package) -> dict[str, SheetFacts]:
    """The largest extent of any sheet, under the name ""; which part is which sheet matters to nobody."""
    facts = SheetFacts()
    for part in package.names:
        if part.startswith("xl/worksheets/") and part.endswith(".bin") and "index" not in part:
            data = package.read(part) or b""
            facts.cells = max(facts.cells, _binary_extent(data))
    return {"": facts}


def _binary_extent(data: bytes) -> int:
    top = left = 1 << 30
    bottom = right = -1
    row = at = 0
    while at < len(data):
        kind = data[at]
        at += 1
        if kind & 0x80 and at < len(data):
            kind = (kind & 0x7F) | (data[at] & 0x7F) << 7
            at += 1
        size = shift = 0
        while at < len(data) and shift < 28:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        if kind == 0:
            row = int.from_bytes(data[at : at + 4], "little")
        elif 2 <= kind <= 11:  # a cell with a value; 1 is a blank one
            column = int.from_bytes(data[at : at + 4], "little")
            top, bottom, left, right = min(top, row), max(bottom, row), min(left, column), max(right, column)
        at += size
    return (bottom - top + 1) * (right - left + 1) if bottom >= 0 else 0
