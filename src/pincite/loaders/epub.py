"""Books (.epub): the chapters in the order of the spine, each read as the page of HTML that it is.

Read straight from the package: what a library for EPUB would add are objects for writing one.
"""

from __future__ import annotations

import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, TypeAlias
from urllib.parse import unquote

from lxml import etree

from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.loaders.hidden import Hidden
from pincite.loaders.hypertext import Hypertext, decode_page, read_hypertext
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.protocols import Source
from pincite.types import Document, Heading, MetadataValue, Page

__all__ = ["EpubLoader"]

_Element: TypeAlias = Any  # lxml ships no types

_LARGEST_PART = 64 << 20  #: bytes of one unpacked part; more is a bomb, not a chapter
_LARGEST_BOOK = 256 << 20  #: bytes of all chapters
_MOST_CHAPTERS = 20_000
_PAGES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/xml", "text/xml"})
# Scrambled fonts are no protection of the text.
_FONT_MANGLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    etree.LxmlError,
    KeyError,
    ValueError,
    EOFError,
    OSError,
    OverflowError,
    NotImplementedError,
    RecursionError,
    MemoryError,
)
_FIELDS = {
    "creator": "author",
    "language": "language",
    "date": "date",
    "publisher": "publisher",
    "subject": "subject",
    "description": "description",
}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of the table of contents."""

    level: int
    title: str
    part: str
    anchor: str


@dataclass(slots=True)
class _Book:
    chapters: list[str] = field(default_factory=list)  #: parts, in reading order
    contents: list[_Entry] = field(default_factory=list)
    title: str = ""
    metadata: dict[str, MetadataValue] = field(default_factory=dict)


class EpubLoader:
    """Reads a book chapter by chapter as `HtmlLoader` reads a page, but whole: an aside of a book is a note.

    A file of the spine is a page, and its label the title of the chapter: its first heading of level 1, or its title in
    the table of contents. A chapter without headings gets those of the table of contents where its text has them, or
    else the chapter's title, which is then written above it. The table of contents itself is not text. Files that the
    spine sets beside the reading order (``linear="no"``: notes) follow at the end.

    The title is the book's own, or the first heading, or the file's name. Metadata: author, language, date,
    publisher, subject, description.
    """

    name = "epub"
    suffixes = frozenset({".epub"})

    def load(self, source: Source) -> Document:
        """The text of `source`.

        Raises EncryptedError for a book with copy protection, NoTextError for one without text, LoadError for a
        damaged one. A damaged chapter costs itself and a warning.
        """
        try:
            with zipfile.ZipFile(BytesIO(source.data)) as package:
                reader = _Reader(package)
                book = reader.book()
                writer = _Writer()
                for part in book.chapters:
                    _write_chapter(writer, reader, part, [entry for entry in book.contents if entry.part == part])
        except _DAMAGE as error:
            if isinstance(error, LoadError):
                raise
            raise LoadError(f"the book is damaged: {error or type(error).__name__}") from error
        except RuntimeError as error:  # how zipfile says that a member has a password
            raise EncryptedError("the book is encrypted: a password is needed to open it") from error
        text = "".join(writer.parts)
        if not text.strip():
            raise NoTextError("the book holds no text")
        first = writer.headings[0].text if writer.headings else ""
        warnings = (*writer.warnings, *loss_warnings(writer.controls, writer.invisible))
        warnings += writer.hidden.warnings()
        return Document(
            id=document_id(source.uri),
            text=text,
            title=book.title or first or stem_title(source.name),
            uri=source.uri,
            media_type="application/epub+zip",
            content_hash=content_hash(source.data),
            metadata=book.metadata,
            pages=tuple(writer.pages),
            headings=tuple(writer.headings),
            warnings=warnings,
        )


class _Writer:
    """The chapters as one text."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.headings: list[Heading] = []
        self.pages: list[Page] = []
        self.warnings: list[str] = []
        self.controls = self.invisible = 0
        self.hidden = Hidden()

    def write(self, page: Hypertext, label: str, above: str, headings: tuple[Heading, ...]) -> None:
        """Write a chapter, below the heading `above` if there is one."""
        lead = "\n\n" if self.parts else ""
        start = self.length + len(lead)
        if above:
            self.headings.append(Heading(1, above, start, start + len(above)))
        body = start + (len(above) + 2 if above else 0)
        self.headings += [Heading(each.level, each.text, body + each.start, body + each.end) for each in headings]
        text = f"{above}\n\n{page.text}" if above else page.text
        self.parts.append(lead + text)
        self.length = start + len(text)
        self.pages.append(Page(len(self.pages) + 1, start, self.length, label))


def _write_chapter(writer: _Writer, reader: _Reader, part: str, contents: list[_Entry]) -> None:
    try:
        data = reader.read(part)
        if data is None:
            writer.warnings.append(f"{part} is missing")
            return
        decoded = decode_page(data)
        page = read_hypertext(decoded.text, whole=True)
    except _DAMAGE as error:
        if isinstance(error, EncryptedError) or reader.spent:
            raise
        writer.warnings.append(collapse(f"{part} could not be read: {error or type(error).__name__}"))
        return
    writer.warnings += [f"{part}: {warning}" for warning in decoded.warnings]
    writer.controls += page.controls
    writer.invisible += page.invisible
    writer.hidden.add(page.hidden)
    if not page.text.strip():
        return
    chapter = next((entry.title for entry in contents if not entry.anchor), "")
    if not chapter and len(contents) == 1:
        chapter = contents[0].title
    headings, above = page.headings, ""
    if not headings and contents:
        headings = _found(page, contents)
        if not headings:
            above = chapter
    label = next((heading.text for heading in headings if heading.level == 1), chapter)
    writer.write(page, label, above, headings)


def _found(page: Hypertext, contents: list[_Entry]) -> tuple[Heading, ...]:
    """The lines of `page` that are titles of the table of contents: at an anchor, or at the beginning."""
    found: dict[int, Heading] = {}
    for entry in contents:
        start = page.anchors.get(entry.anchor) if entry.anchor else 0
        if start is None:
            continue
        line = page.text[start : start + 4 * len(entry.title) + 80].split("\n", 1)[0]
        shown = line.rstrip()
        if shown and _same(shown, entry.title):
            found.setdefault(start, Heading(entry.level, collapse(shown), start, start + len(shown)))
    return tuple(found[start] for start in sorted(found))


def _same(line: str, title: str) -> bool:
    letters = ["".join(filter(str.isalnum, text)).casefold() for text in (line, title)]
    return bool(letters[0]) and letters[0] == letters[1]


class _Reader:
    """The parts of the package, each unpacked and parsed when asked for."""

    def __init__(self, package: zipfile.ZipFile) -> None:
        self._zip = package
        self._names = {name.lower(): name for name in package.namelist()}
        self._left = _LARGEST_BOOK

    @property
    def spent(self) -> bool:
        """Whether more was unpacked than a book may hold."""
        return self._left < 0

    def read(self, part: str) -> bytes | None:
        """The bytes of a part; None if there is none. Raises LoadError where it, or the book, is too large."""
        real = self._names.get(part.lower())
        if real is None:
            return None
        with self._zip.open(real) as content:
            data = content.read(_LARGEST_PART + 1)
        self._left -= len(data)
        if self.spent or len(data) > _LARGEST_PART:
            raise LoadError("the book unpacks to more than a book can hold")
        return data

    def book(self) -> _Book:
        """What the package says of itself. Raises EncryptedError for copy protection."""
        self._refuse_protection()
        container = self._xml("META-INF/container.xml")
        root = next((each for each in _all(container, "rootfile")), None)
        path = root.get("full-path", "") if root is not None else ""
        if not path:
            path = next((name for name in self._names.values() if name.lower().endswith(".opf")), "")
        package = self._xml(path)
        if package is None:
            raise LoadError("the book is damaged: it has no list of its chapters")
        return self._package(package, posixpath.dirname(path))

    def _refuse_protection(self) -> None:
        encryption = self._xml("META-INF/encryption.xml")
        for method in _all(encryption, "EncryptionMethod"):
            if not (method.get("Algorithm") or "").startswith(_FONT_MANGLING):
                raise EncryptedError("the book has copy protection: it cannot be read without its shop's program")

    def _package(self, package: _Element, folder: str) -> _Book:
        book = _Book()
        items: dict[str, tuple[str, str, str]] = {}
        for item in _all(package, "item"):
            href = _resolve(folder, item.get("href") or "")[0]
            items[item.get("id") or ""] = (href, item.get("media-type") or "", item.get("properties") or "")
        later: list[str] = []
        for reference in _all(package, "itemref"):
            href, kind, properties = items.get(reference.get("idref") or "", ("", "", ""))
            if not href or kind.lower() not in _PAGES or href in book.chapters or href in later:
                continue
            if "nav" in properties.split() and self._only_contents(href):
                continue
            (later if reference.get("linear") == "no" else book.chapters).append(href)
            if len(book.chapters) + len(later) > _MOST_CHAPTERS:
                raise LoadError(f"the book has more than {_MOST_CHAPTERS:,} chapters")
        book.chapters += later
        self._describe(package, book)
        spine = next((each for each in _all(package, "spine")), None)
        ncx = items.get(spine.get("toc") or "", ("", "", ""))[0] if spine is not None else ""
        nav = next((href for href, _, properties in items.values() if "nav" in properties.split()), "")
        book.contents = list(self._contents(nav, "nav")) or list(self._contents(ncx, "ncx"))
        return book

    def _only_contents(self, part: str) -> bool:
        data = self.read(part)
        return data is None or not read_hypertext(decode_page(data).text, whole=True).text.strip()

    def _describe(self, package: _Element, book: _Book) -> None:
        values: dict[str, list[str]] = {}
        for element in _all(package, "metadata"):
            for child in element.iter():
                if "purl.org/dc/" in str(child.tag) or "purl.org/dc/" in (child.prefix or ""):
                    text = collapse(clean("".join(child.itertext())).text)
                    if text and text.lower() != "unknown":
                        values.setdefault(_local(child).lower(), []).append(text)
        book.title = values.get("title", [""])[0]
        for name, key in _FIELDS.items():
            if values.get(name):
                several = name in ("creator", "subject")
                book.metadata[key] = ", ".join(dict.fromkeys(values[name])) if several else values[name][0]

    def _contents(self, part: str, kind: str) -> Iterator[_Entry]:
        try:
            root = self._xml(part) if part else None
        except (LoadError, etree.LxmlError):
            return  # without it the chapters have the titles that stand in them
        if root is None:
            return
        folder = posixpath.dirname(part)
        if kind == "ncx":
            for point in _all(root, "navPoint"):
                label = next((each for each in point if _local(each) == "navLabel"), None)
                target = next((each for each in point if _local(each) == "content"), None)
                if label is not None and target is not None:
                    depth = sum(_local(each) == "navPoint" for each in point.iterancestors()) + 1
                    yield from self._entry(depth, label, folder, target.get("src") or "")
            return
        for nav in _all(root, "nav"):
            kinds = [value for key, value in nav.attrib.items() if key.rpartition("}")[2] == "type"]
            if kinds and "toc" not in kinds[0].split():
                continue
            for link in _all(nav, "a"):
                depth = max(1, sum(_local(each) == "ol" for each in link.iterancestors()))
                yield from self._entry(depth, link, folder, link.get("href") or "")
            return

    def _entry(self, depth: int, label: _Element, folder: str, target: str) -> Iterator[_Entry]:
        title = collapse(clean("".join(label.itertext())).text)
        part, anchor = _resolve(folder, target)
        if title and part and len(title) <= 500:
            yield _Entry(min(depth, 6), title, part, anchor)

    def _xml(self, part: str) -> _Element | None:
        data = self.read(part)
        if data is None:
            return None
        # Entities are how an XML file reads other files or grows without bound; those of HTML are not declared here.
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True, recover=True
        )
        return etree.fromstring(data, parser)


def _resolve(folder: str, href: str) -> tuple[str, str]:
    """The part that `href` means, and the anchor in it; ("", "") for an address outside the book."""
    path, _, anchor = href.partition("#")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        return "", ""
    return posixpath.normpath(posixpath.join(folder, unquote(path))).lstrip("/"), unquote(anchor)


def _local(element: _Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _all(root: _Element | None, name: str) -> Iterator[_Element]:
    if root is not None:
        for element in root.iter():
            if _local(element) == name:
                yield element
