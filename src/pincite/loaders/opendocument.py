"""OpenDocument files: text (.odt), presentations (.odp) and spreadsheets (.ods), packed or as one XML file (.fodt …).

Spreadsheets are read here and not by calamine, which gives numbers without their formats: the file holds every cell as
it is shown, with its percent sign, its currency and its decimals.
"""

from __future__ import annotations

import re
from itertools import chain

from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.loaders.odf_text import OdfText, Styles, table_rows
from pincite.loaders.office_package import (
    DAMAGE,
    Element,
    Package,
    attribute,
    child,
    find,
    local,
    parse_xml,
    refuse,
    stated_properties,
)
from pincite.loaders.sheet_text import write_sheet
from pincite.loaders.writer import TextWriter
from pincite.protocols import Source
from pincite.types import Document

__all__ = ["OpenDocumentLoader"]

_WHAT = "OpenDocument file"
_KINDS = {"text": "text", "presentation": "presentation", "spreadsheet": "spreadsheet", "drawing": "graphics"}
_SPARE = frozenset({"header", "footer", "date-time", "page-number", "page"})
_LENGTH = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?)(cm|mm|in|pt|pc|px)?")
_UNITS = {"cm": 1.0, "mm": 0.1, "in": 2.54, "pt": 2.54 / 72, "pc": 2.54 / 6, "px": 2.54 / 96, None: 1.0}
_SHAPES = frozenset(
    ("frame", "custom-shape", "g", "rect", "ellipse", "caption", "polygon", "path", "line", "connector")
)


class OpenDocumentLoader:
    """Reads the body of an OpenDocument file in reading order.

    Text: headings with their levels and numbers, lists with theirs, tables as Markdown, text boxes after the paragraph
    that they are set at, foot- and endnotes at the end behind "[^1]". Presentations: every slide a page, its title a
    heading, the other shapes from top to bottom and from left to right, notes behind "Notes:". Spreadsheets: every
    sheet a page and a heading, its cells as they are shown, see `sheet_text.write_sheet`. Comments follow the text, the
    slide or the sheet. The data of embedded charts are tables.

    Deleted text of tracked changes, tables of contents and what stands above and below each page are left out; hidden
    text is left out and told in a warning; hidden slides and sheets are read and named in one.
    """

    name = "opendocument"
    suffixes = frozenset({".odt", ".ott", ".fodt", ".odp", ".otp", ".fodp", ".ods", ".ots", ".fods", ".odg", ".fodg"})

    def load(self, source: Source) -> Document:
        """The text of `source`.

        Raises EncryptedError for a protected file, NoTextError for one without text, LoadError for a damaged one.
        """
        try:
            reader = _Reader(source.data)
            reader.read()
        except DAMAGE as error:
            refuse(error, _WHAT)
        writer = reader.writer
        if not writer.text:
            raise NoTextError(f"the {_WHAT} holds no text")
        metadata, title = stated_properties(reader.meta if reader.meta is not None else ())
        warnings = writer.losses()
        warnings += reader.text.hidden.warnings()
        if reader.hidden:
            what = "sheet" if reader.kind == "spreadsheet" else "slide"
            warnings += (
                f"hidden {what}{'s' if len(reader.hidden) > 1 else ''} read as the others: {', '.join(reader.hidden)}",
            )
            metadata[f"hidden_{what}s"] = ", ".join(reader.hidden)
        if reader.kind == "spreadsheet":
            metadata["sheets"] = ", ".join(page.label for page in writer.pages)
        elif writer.pages:
            metadata["slides"] = len(writer.pages)
        first = ""
        if reader.kind != "spreadsheet":
            first = reader.text.title or (writer.headings[0].text if writer.headings else "")
        return Document(
            id=document_id(source.uri),
            text=writer.text,
            title=title or first or stem_title(source.name),
            uri=source.uri,
            media_type=f"application/vnd.oasis.opendocument.{_KINDS[reader.kind]}",
            content_hash=content_hash(source.data),
            metadata=metadata,
            pages=tuple(writer.pages),
            headings=tuple(writer.headings),
            warnings=warnings + tuple(reader.warnings),
        )


class _Reader:
    """Opens a file, packed or flat, and writes its body."""

    def __init__(self, data: bytes) -> None:
        self.writer = TextWriter()
        self.warnings: list[str] = []
        self.hidden: list[str] = []  #: numbers of hidden slides, names of hidden sheets
        self._package: Package | None = None
        if data.startswith((b"PK", b"\xd0\xcf\x11\xe0")):
            self._package = Package(data, _WHAT)
            manifest = self._package.read("META-INF/manifest.xml") or b""
            if b"encryption-data" in manifest:
                raise EncryptedError(f"the {_WHAT} is encrypted: a password is needed to open it")
            content = self._package.xml("content.xml")
            styles = self._package.spare_xml("styles.xml")
            meta = self._package.spare_xml("meta.xml")
        else:
            content = parse_xml(data)
            styles, meta = None, content
        self.meta = child(meta, "meta")
        body = child(content, "body")
        found = next((each for each in (body if body is not None else ()) if local(each) in _KINDS), None)
        if found is None:
            raise LoadError("the file holds no OpenDocument text, presentation or spreadsheet")
        self.kind = local(found)
        self._body = found
        self._styles = Styles(styles, content)
        self.text = OdfText(self.writer, self._styles)

    def read(self) -> None:
        if self.kind == "text":
            self.text.blocks(self._body)
            self._objects()
            self.text.write_notes()
            self._comments()
        elif self.kind == "spreadsheet":
            self._sheets()
        else:
            self._slides()
        self.writer.end_page()

    def _comments(self) -> None:
        for author, text in self.text.comments:
            self.writer.write(f"Comment by {author}: {text}" if author else f"Comment: {text}")
        self.text.comments.clear()

    # Spreadsheets

    def _sheets(self) -> None:
        for table in self._body:
            if local(table) != "table":
                continue
            name = " ".join(attribute(table, "name").split())
            self.writer.begin_page(name)
            if not self._styles.shown(attribute(table, "style-name")):
                self.hidden.append(name)
            before = self.writer.length
            rows = table_rows(table, self.text.cell_text)
            first = next(filter(any, rows), None)
            shapes = child(table, "shapes")
            if first is not None or (shapes is not None and any(map(str.strip, shapes.itertext()))):
                self.writer.write(name or "Sheet", level=1)
            if first is not None:
                write_sheet(self.writer, chain([first], rows))
            if shapes is not None:
                self.text.blocks(shapes)
            # Charts show what the cells say.
            self.text.objects.clear()
            self._comments()
            if self.writer.length == before:
                self.warnings.append(f"sheet “{name}” holds no cells with text")

    # Presentations and drawings

    def _slides(self) -> None:
        number = 0
        for page in self._body:
            if local(page) != "page":
                continue
            number += 1
            self.writer.begin_page()
            if not self._styles.shown(attribute(page, "style-name")):
                self.hidden.append(str(number))
            shapes = [each for each in page if local(each) in _SHAPES and attribute(each, "class") not in _SPARE]
            titles = [each for each in shapes if attribute(each, "class") == "title"]
            for each in titles:
                title = " ".join(" ".join(self.text.cell(each)).split())
                if title:
                    self.writer.write(title, level=1)
            for each in sorted((each for each in shapes if each not in titles), key=_place):
                if local(each) == "frame":
                    self.text.frame(each)
                else:
                    self.text.blocks(each)
                self._objects()
            for each in page:
                if local(each) == "annotation":
                    self.text.blocks([each])
                elif local(each) == "notes":
                    frames = [frame for frame in each if attribute(frame, "class") == "notes"]
                    notes = "\n".join(" ".join(text.split()) for frame in frames for text in self.text.cell(frame))
                    if notes.strip():
                        self.writer.write(f"Notes: {notes.strip()}")
            self.text.write_notes()
            self._comments()

    def _objects(self) -> None:
        """Write the charts embedded so far: titles and data. What else is embedded has no text to give."""
        for address in self.text.objects:
            name = address.removeprefix("./").rstrip("/")
            root = self._package.spare_xml(f"{name}/content.xml") if self._package is not None else None
            chart = find(child(root, "body"), "chart")
            if chart is None:
                continue
            for each in chart.iter():
                if local(each) == "title":
                    self.writer.write(" ".join(" ".join(each.itertext()).split()))
            table = find(chart, "table")
            if table is not None:
                self.text.table(table)
        self.text.objects.clear()


def _place(shape: Element) -> tuple[float, float]:
    """Top and left of a shape in centimetres; a group is where its topmost shape is."""
    top, left = _length(attribute(shape, "y")), _length(attribute(shape, "x"))
    if local(shape) == "g":
        return min((_place(each) for each in shape if local(each) in _SHAPES), default=(0.0, 0.0))
    return round(top, 1), left


def _length(text: str) -> float:
    match = _LENGTH.fullmatch(text)
    return float(match[1]) * _UNITS[match[2]] if match else 0.0
