"""Word documents (.docx): body text in order, with headings, list numbers, tables, text boxes and notes.

Read with lxml straight from the package. python-docx refuses the ISO "strict" variant of the format and offers no
list numbers, text boxes, notes or tracked changes, so that all of this would have to be read beside it anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from pincite.errors import LoadError, NoTextError
from pincite.loaders.chart_data import read_chart
from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.loaders.docx_looks import RunLooks
from pincite.loaders.docx_numbering import ListNumbers, value, whole
from pincite.loaders.formula_text import formula_text
from pincite.loaders.hidden import Hidden
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.loaders.office_package import DAMAGE, Element, Package, attribute, child, local, refuse
from pincite.loaders.table_text import header_rows, table_lines
from pincite.protocols import Source
from pincite.types import Document, Heading

__all__ = ["DocxLoader"]


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


Kind = Literal["text", "item", "row"]

_HEADING_NAME = re.compile(r"heading ([1-9])", re.IGNORECASE)
# Containers without a meaning of their own. Their local names are the same in the strict and transitional variants.
_WRAPPERS = _names("sdt sdtContent customXml smartTag ins moveTo hyperlink fldSimple dir bdo body")
# What tracked changes took away, and what never was text.
_GONE = _names(
    "del moveFrom delText delInstrText instrText pPr rPr tblPr trPr tcPr sectPr sdtPr sdtEndPr rt annotationRef"
)
_MOST_HEADER_ROWS = 6
_WIDEST = 200  #: columns up to which rows are filled up
_REPEATED = 120  #: characters of a cell that is written in every row it spans; a longer one stands in its first


class DocxLoader:
    """Reads the body of a Word document in reading order.

    Paragraphs are set off by a blank line, items of one list by a line end. Tables are Markdown: a cell that spans rows
    is written in each of them, one that spans columns is followed by empty ones. A table of one column is a frame.
    Automatic list and heading numbers, which the file does not spell out, are worked out and written, since that is how
    people cite a clause. Inserted text of tracked changes is read, deleted text is not. Foot- and endnotes follow the
    body, each behind the mark "[^1]" that stands where it is referred to. Comments follow the paragraph or table that
    they are on, behind "Comment by", and are counted in the metadata. Headers, footers and the descriptions of pictures
    are left out. Hidden text (marked so, in the colour of its background, too small to read) is left out and told in a
    warning. Of a chart its titles and its data are read.

    Headings come from the style's name ("heading 1" whatever the language of the program, "Title") or from the
    outline level of style or paragraph. The title is the document's own property, or the first Title paragraph, or the
    first heading, or the file's name.
    """

    name = "docx"
    suffixes = frozenset({".docx", ".docm", ".dotx", ".dotm"})

    def load(self, source: Source) -> Document:
        """The text of `source`.

        Raises EncryptedError for a protected file, NoTextError for one without text, LoadError for a damaged one.
        """
        try:
            package = _Package(source.data)
            reader = _Reader(package)
            reader.read()
            metadata, title = package.properties()
        except DAMAGE as error:
            refuse(error, "Word document")
        text = "".join(reader.parts)
        if not text.strip():
            raise NoTextError("the Word document holds no text")
        headings = tuple(reader.headings)
        first = reader.title or (headings[0].text if headings else "")
        if reader.comments:
            metadata["comments"] = reader.comments
        warnings = loss_warnings(reader.controls, reader.invisible) + reader.hidden.warnings()
        if reader.embedded:
            warnings += (f"{reader.embedded} embedded document{'s' if reader.embedded > 1 else ''} left out",)
        return Document(
            id=document_id(source.uri),
            text=text,
            title=title or first or stem_title(source.name),
            uri=source.uri,
            media_type="application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            content_hash=content_hash(source.data),
            metadata=metadata,
            headings=headings,
            warnings=warnings,
        )


class _Package:
    """The parts of the file that are wanted, each unpacked and parsed when asked for."""

    def __init__(self, data: bytes) -> None:
        self._parts = Package(data, "Word document")
        self._main = self._parts.main("word/document.xml")
        self.properties = self._parts.properties

    def main(self) -> Element:
        root = self._parts.xml(self._main)
        if root is None:
            raise LoadError("the file holds no Word document")
        return root

    def beside(self, name: str) -> Element | None:
        """A part in the folder of the main one; None if there is none."""
        folder = self._main.rpartition("/")[0]
        return self._parts.xml(f"{folder}/{name}" if folder else name)

    def chart(self, reference: str) -> Element | None:
        """The chart that the body refers to; None if there is none."""
        _, part = self._parts.relations(self._main).get(reference, ("", ""))
        return self._parts.spare_xml(part) if part else None


@dataclass(slots=True)
class _Style:
    name: str = ""
    based_on: str = ""
    outline: int | None = None  #: from 0
    number: tuple[str, int] | None = None  #: list and level


@dataclass(slots=True)
class _Paragraph:
    text: str = ""
    kind: Kind = "text"
    level: int = 0  #: of a heading, from 1
    is_title: bool = False
    boxes: list[Element] = field(default_factory=list)


class _Reader:
    """Walks the body and collects text."""

    def __init__(self, package: _Package) -> None:
        self.parts: list[str] = []
        self.headings: list[Heading] = []
        self.title = ""
        self.controls = self.invisible = self.embedded = 0
        self.hidden = Hidden()
        self._looks: RunLooks = RunLooks(None, None)
        self._length = 0
        self._last: Kind = "text"
        self._package = package
        self._styles: dict[str, _Style] = {}
        self._default_style = ""
        self._numbering = ListNumbers(package.beside("numbering.xml"))
        self.comments = 0  #: written
        self._comments: list[str] = []  # ids of those on what is being read
        self._known_comments: dict[str, Element] | None = None  # those not written yet
        self._notes: list[tuple[str, str]] = []  # part and id, in the order of their marks

    def read(self) -> None:
        styles, main = self._package.beside("styles.xml"), self._package.main()
        self._read_styles(styles)
        self._looks = RunLooks(styles, main)
        self._blocks(main)
        self._write_notes()

    def _read_styles(self, root: Element | None) -> None:
        for element in root if root is not None else ():
            if local(element) != "style" or attribute(element, "type") not in ("paragraph", ""):
                continue
            style = _Style(value(element, "name"), value(element, "basedOn"))
            properties = child(element, "pPr")
            if properties is not None:
                style.outline = _outline(properties)
                style.number = _list_of(properties)
            self._styles[attribute(element, "styleId")] = style
            if attribute(element, "default") in ("1", "true", "on"):
                self._default_style = attribute(element, "styleId")

    def _blocks(self, parent: Element) -> None:
        for element in parent:
            tag = local(element)
            if tag == "p":
                self._write(self._paragraph(element))
            elif tag == "tbl":
                self._table(element)
            elif tag == "altChunk":
                self.embedded += 1
            elif tag == "AlternateContent":
                self._blocks(_chosen(element))
            elif tag in _WRAPPERS:
                self._blocks(element)

    def _table(self, table: Element) -> None:
        rows = list(_inside(table, "tr"))
        cells = [list(_inside(row, "tc")) for row in rows]
        if all(len(row) <= 1 for row in cells):
            # One column is a frame around text, not a table.
            for row in cells:
                for cell in row:
                    self._blocks(cell)
            return
        grid, header = self._grid(rows, cells)
        width = min(max(map(len, grid), default=0), _WIDEST)
        for i, line in enumerate(table_lines(grid, width, header=header)):
            self._write(_Paragraph(line, "row"), fresh=i == 0)
        self._last = "text"
        self._write_comments()

    def _grid(self, rows: list[Element], cells: list[list[Element]]) -> tuple[list[list[str]], int]:
        """The texts of a table, each in its column, and how many rows at the top name the columns."""
        grid: list[list[str]] = []
        counts: list[int] = []
        above: dict[int, str] = {}  # the texts of cells that reach into rows below, by column
        named = 0
        for row, columns in zip(rows, cells, strict=True):
            properties = child(row, "trPr")
            if child(properties, "del") is not None:
                continue
            texts = [""] * min(max(0, whole(value(properties, "gridBefore"))), _WIDEST)
            shown = False
            for cell in columns:
                merged = child(cell, "tcPr", "vMerge")
                if merged is not None and attribute(merged, "val") != "restart":
                    text = above.get(len(texts), "")
                else:
                    text = collapse(" ".join(self._cell(cell)))
                    above[len(texts)] = text if merged is not None and len(text) <= _REPEATED else ""
                    shown = shown or bool(text)
                span = whole(value(child(cell, "tcPr"), "gridSpan"))
                texts += [text, *[""] * min(span - 1, _WIDEST - len(texts))]
            if shown:
                named += named == len(grid) < _MOST_HEADER_ROWS and _is_on(properties, "tblHeader")
                grid.append(texts)
                counts.append(len(columns))
        return grid, named if 0 < named < len(grid) else header_rows(grid, counts)

    def _cell(self, parent: Element) -> Iterator[str]:
        """The texts inside a cell, tables within it included."""
        for element in parent:
            tag = local(element)
            if tag == "p":
                paragraph = self._paragraph(element)
                yield paragraph.text
                for box in paragraph.boxes:
                    yield from self._cell(box)
            elif tag == "AlternateContent":
                yield from self._cell(_chosen(element))
            elif tag in _WRAPPERS or tag in ("tbl", "tr", "tc"):
                yield from self._cell(element)

    def _paragraph(self, element: Element) -> _Paragraph:
        paragraph = _Paragraph()
        properties = child(element, "pPr")
        pieces: list[str] = []
        self._inline(element, pieces, paragraph.boxes)
        cleaned = clean("".join(pieces))
        self.controls += cleaned.controls
        self.invisible += cleaned.invisible
        lines = [line.rstrip() for line in cleaned.text.split("\n")]
        paragraph.text = "\n".join(lines).strip()
        if not paragraph.text:
            return paragraph
        style = value(properties, "pStyle") if properties is not None else ""
        chain = list(self._chain(style or self._default_style))
        paragraph.is_title = any(known.name.lower() == "title" for known in chain[:1])
        paragraph.level = _heading_level(properties, chain)
        number = _list_of(properties) if properties is not None else None
        if number is None or number[0] == "":
            inherited = next((known.number for known in chain if known.number is not None), None)
            # A style names its list, a paragraph may give only the level.
            number = (inherited[0], number[1] if number else inherited[1]) if inherited else None
        if number is not None and number[0] not in ("", "0"):
            marker = self._numbering.next(*number)
            if marker:
                paragraph.text = f"{marker} {paragraph.text}"
                if not paragraph.level:
                    paragraph.kind = "item"
                    paragraph.text = "  " * min(number[1], 8) + paragraph.text
        return paragraph

    def _chain(self, name: str) -> Iterator[_Style]:
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[name]
            name = self._styles[name].based_on

    def _inline(self, parent: Element, pieces: list[str], boxes: list[Element]) -> None:
        for element in parent:
            tag = local(element)
            if tag == "t":
                self.hidden.shown()
                pieces.append(element.text or "")
            elif tag in ("tab", "ptab"):
                pieces.append("\t")
            elif tag in ("br", "cr"):
                pieces.append("\n")
            elif tag == "noBreakHyphen":
                pieces.append("-")
            elif tag == "sym":
                pieces.append(_symbol(element))
            elif tag in ("footnoteReference", "endnoteReference"):
                self._notes.append((tag.removesuffix("Reference"), attribute(element, "id")))
                pieces.append(f"[^{len(self._notes)}]")
            elif tag == "commentReference":
                self._comments.append(attribute(element, "id"))
            elif tag == "oMath":
                pieces.append(formula_text(element))
            elif tag in ("txbxContent", "chart"):
                boxes.append(element)
            elif tag == "AlternateContent":
                self._inline(_chosen(element), pieces, boxes)
            elif tag == "r" and (why := self._looks.why_hidden(element)):
                self.hidden.note(why, "".join(text.text or "" for text in element if local(text) == "t"))
            elif tag not in _GONE:
                self._inline(element, pieces, boxes)

    def _write(self, paragraph: _Paragraph, fresh: bool = False) -> None:
        text = paragraph.text
        if text:
            close = paragraph.kind != "text" and paragraph.kind == self._last and not fresh
            lead = ("\n" if close else "\n\n") if self.parts else ""
            start = self._length + len(lead)
            self.parts.append(lead + text)
            self._length = start + len(text)
            self._last = paragraph.kind
            if paragraph.level:
                self.headings.append(Heading(paragraph.level, collapse(text), start, self._length))
            if paragraph.is_title and not self.title:
                self.title = collapse(text)
        if paragraph.kind != "row":
            self._write_comments()
        for box in paragraph.boxes:
            if local(box) == "chart":
                self._chart(box)
            else:
                self._blocks(box)

    def _chart(self, element: Element) -> None:
        titles, rows = read_chart(self._package.chart(attribute(element, "id")))
        for title in titles:
            self._write(_Paragraph(title))
        for i, line in enumerate(table_lines(rows, len(rows[0]) if rows else 0)):
            self._write(_Paragraph(line, "row"), fresh=i == 0)
        self._last = "text"

    def _write_comments(self) -> None:
        """Write the comments on what was written last."""
        if self._comments and self._known_comments is None:
            root = self._package.beside("comments.xml")
            listed = root if root is not None else ()
            self._known_comments = {attribute(each, "id"): each for each in listed if local(each) == "comment"}
        pending, self._comments = self._comments, []
        for each in pending:
            comment = self._known_comments.pop(each, None) if self._known_comments else None
            body = collapse(" ".join(self._cell(comment))) if comment is not None else ""
            if comment is not None and body:
                author = collapse(clean(attribute(comment, "author")).text)
                self.comments += 1
                self._write(_Paragraph(f"Comment by {author}: {body}" if author else f"Comment: {body}"))

    def _write_notes(self) -> None:
        known: dict[tuple[str, str], Element] = {}
        for part in sorted({part for part, _ in self._notes}):
            root = self._package.beside(f"{part}s.xml")
            for note in root if root is not None else ():
                known[part, attribute(note, "id")] = note
        # A note may hold a mark of its own only in a damaged file: the list is taken as it is now.
        for mark, reference in enumerate(tuple(self._notes), 1):
            if reference in known:
                body = collapse(" ".join(self._cell(known[reference])))
                if body:
                    self._write(_Paragraph(f"[^{mark}]: {body}"))


def _heading_level(properties: Element | None, chain: list[_Style]) -> int:
    """The heading level of a paragraph, from 1; 0 for body text."""
    direct = _outline(properties) if properties is not None else None
    if direct is not None:
        return direct + 1 if direct < 9 else 0
    for style in chain:
        named = _HEADING_NAME.fullmatch(style.name)
        if named:
            return int(named[1])
        if style.name.lower() == "title":
            return 1
        if style.outline is not None:
            return style.outline + 1 if style.outline < 9 else 0
    return 0


def _inside(element: Element, name: str) -> Iterator[Element]:
    """The children called `name`, also those inside containers."""
    for each in element:
        tag = local(each)
        if tag == name:
            yield each
        elif tag in _WRAPPERS:
            yield from _inside(each, name)


def _chosen(alternatives: Element) -> Element:
    """The first alternative with text in it: the same text box is stored once for each generation of Word."""
    options = [each for each in alternatives if local(each) in ("Choice", "Fallback")]
    for option in options:
        if any(local(element) == "t" and (element.text or "").strip() for element in option.iter()):
            return option
    return options[0] if options else ()


def _outline(properties: Element) -> int | None:
    text = value(properties, "outlineLvl")
    return whole(text) if text else None


def _list_of(properties: Element) -> tuple[str, int] | None:
    element = child(properties, "numPr")
    if element is None:
        return None
    return value(element, "numId"), whole(value(element, "ilvl"))


def _symbol(element: Element) -> str:
    # Symbol fonts keep their signs in the private area, where only the font says what they are.
    text = attribute(element, "char")
    code = int(text, 16) if re.fullmatch(r"[0-9A-Fa-f]{1,5}", text) else 0
    return "" if code == 0 or 0xE000 <= code <= 0xF8FF or 0xD800 <= code <= 0xDFFF else chr(code)


def _is_on(properties: Element | None, name: str) -> bool:
    element = child(properties, name)
    return element is not None and attribute(element, "val") not in ("0", "false", "off")
