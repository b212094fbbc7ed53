"""PowerPoint presentations (.pptx): every slide a page, its shapes in reading order, notes and comments after them.

Read with lxml straight from the package. python-pptx would bring Pillow and XlsxWriter along, which reading needs
neither of, and has no diagrams, comments, inherited bullets or list numbers, which would be read beside it anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

from pincite.errors import LoadError, NoTextError
from pincite.loaders.clean import collapse
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.loaders.office_package import DAMAGE, Element, Package, attribute, child, local, refuse
from pincite.loaders.slide_shapes import Block, Slide, paragraph_text, read_blocks
from pincite.loaders.table_text import table_lines
from pincite.loaders.writer import TextWriter
from pincite.protocols import Source
from pincite.types import Document

__all__ = ["PptxLoader"]

_WHAT = "presentation"


class PptxLoader:
    """Reads the slides in the order of the show, each as a page.

    The title of a slide is a heading; the other shapes follow from top to bottom and from left to right, with bullets
    and list numbers as the master gives them. Tables, and the data of charts, are Markdown tables; diagrams (SmartArt)
    are lists. Notes follow their slide behind "Notes:", comments behind "Comment by". Hidden slides are read and named
    in a warning. Dates, slide numbers and footers are left out, and so are pictures with their descriptions.

    The title is the document's own property, or the title of the first slide that has one, or the file's name.
    """

    name = "pptx"
    suffixes = frozenset({".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"})

    def load(self, source: Source) -> Document:
        """The text of `source`.

        Raises EncryptedError for a protected file, NoTextError for one without text, LoadError for a damaged one.
        """
        writer = TextWriter()
        try:
            package = Package(source.data, _WHAT)
            reader = _Reader(package, writer)
            reader.read()
            metadata, title = package.properties()
        except DAMAGE as error:
            refuse(error, _WHAT)
        if not writer.text:
            raise NoTextError(f"the {_WHAT} holds no text")
        metadata["slides"] = len(writer.pages)
        if reader.hidden:
            metadata["hidden_slides"] = ", ".join(map(str, reader.hidden))
        warnings = writer.losses()
        if reader.hidden:
            word = "slides" if len(reader.hidden) > 1 else "slide"
            warnings += (f"hidden {word} read as the others: {', '.join(map(str, reader.hidden))}",)
        if reader.missing:
            word = "slides" if len(reader.missing) > 1 else "slide"
            warnings += (f"{word} missing or damaged, left out: {', '.join(map(str, reader.missing))}",)
        first = writer.headings[0].text if writer.headings else ""
        return Document(
            id=document_id(source.uri),
            text=writer.text,
            title=title or first or stem_title(source.name),
            uri=source.uri,
            media_type="application/vnd.openxmlformats-officedocument.presentationml.presentation",
            content_hash=content_hash(source.data),
            metadata=metadata,
            pages=tuple(writer.pages),
            headings=tuple(writer.headings),
            warnings=warnings,
        )


class _Reader:
    """Writes the slides one after the other."""

    def __init__(self, package: Package, writer: TextWriter) -> None:
        self.hidden: list[int] = []
        self.missing: list[int] = []
        self._package = package
        self._writer = writer
        self._main = package.main("ppt/presentation.xml")
        self._authors = dict(self._named_authors())
        self._roots: dict[str, Element | None] = {}

    def read(self) -> None:
        root = self._package.xml(self._main)
        if root is None or local(root) != "presentation":
            raise LoadError(f"the file holds no {_WHAT}")
        relations = self._package.relations(self._main)
        slides = child(root, "sldIdLst")
        for number, each in enumerate(slides if slides is not None else (), 1):
            _, part = relations.get(_relation(each), ("", ""))
            self._writer.begin_page()
            slide = self._package.spare_xml(part) if part else None
            if slide is None:
                self.missing.append(number)
                continue
            if attribute(slide, "show") in ("0", "false"):
                self.hidden.append(number)
            self._slide(part, slide)
        self._writer.end_page()

    def _slide(self, part: str, root: Element) -> None:
        layouts: list[str] = []
        for kind in ("slideLayout", "slideMaster"):
            above = next(iter(self._package.related(part if not layouts else layouts[-1], kind)), "")
            if above:
                layouts.append(above)
        slide = Slide(
            self._package, part, root, tuple(found for name in layouts if (found := self._root(name)) is not None)
        )
        for block in read_blocks(slide):
            self._write(block)
        for kind, name in self._package.relations(part).values():
            if kind == "notesSlide":
                notes = "\n".join(_notes(self._package.spare_xml(name)))
                if notes:
                    self._writer.write(f"Notes: {notes}")
            elif kind == "comments":
                for author, text in _comments(self._package.spare_xml(name)):
                    known = self._authors.get(author, "")
                    self._writer.write(f"Comment by {known}: {text}" if known else f"Comment: {text}")

    def _root(self, part: str) -> Element | None:
        if part not in self._roots:
            self._roots[part] = self._package.spare_xml(part)
        return self._roots[part]

    def _write(self, block: Block) -> None:
        if block.kind == "title":
            self._writer.write(block.lines[0], level=1)
        elif block.kind == "table":
            self._writer.lines(table_lines(block.rows, max(map(len, block.rows)), header=block.header))
        else:
            for i, line in enumerate(block.lines):
                # Items of a list stay together; paragraphs of a box stand apart.
                item = _is_item(line) and i > 0 and _is_item(block.lines[i - 1])
                self._writer.write(line, close=item)

    def _named_authors(self) -> Iterator[tuple[str, str]]:
        for kind in ("commentAuthors", "authors"):
            for part in self._package.related(self._main, kind):
                root = self._package.spare_xml(part)
                for each in root if root is not None else ():
                    yield attribute(each, "id"), collapse(attribute(each, "name"))


def _relation(element: Element) -> str:
    """The relation's id, which has a namespace, beside the slide's own, which has none."""
    return next((str(value) for key, value in element.attrib.items() if key.endswith("}id")), "")


def _is_item(line: str) -> bool:
    head = line.split(None, 1)[0] if line.strip() else ""
    return head == "-" or (len(head) <= 6 and head.endswith((".", ")")))


def _notes(root: Element | None) -> Iterator[str]:
    tree = child(root, "cSld", "spTree")
    for shape in tree if tree is not None else ():
        mark = child(shape, "nvSpPr", "nvPr", "ph")
        body = child(shape, "txBody")
        if body is not None and (mark is None or attribute(mark, "type") == "body"):
            for paragraph in body:
                text = paragraph_text(paragraph).strip() if local(paragraph) == "p" else ""
                if text:
                    yield text


def _comments(root: Element | None) -> Iterator[tuple[str, str]]:
    """Author and text of every comment and reply, of the old kind and the new."""
    for comment in root.iter() if root is not None else ():
        if local(comment) not in ("cm", "reply"):
            continue
        plain, body = child(comment, "text"), child(comment, "txBody")
        text = plain.text or "" if plain is not None else ""
        if body is not None:
            text = " ".join(paragraph_text(p) for p in body if local(p) == "p")
        if collapse(text):
            yield attribute(comment, "authorId"), collapse(text)
