"""The zip package of an office document: parts unpacked under a limit, and XML parsed without entities."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from posixpath import dirname, normpath
from typing import Any, NoReturn, TypeAlias

from lxml import etree

from pincite.errors import EncryptedError, LoadError
from pincite.loaders.clean import clean, collapse
from pincite.types import MetadataValue

__all__ = [
    "DAMAGE",
    "Element",
    "Package",
    "attribute",
    "child",
    "children",
    "find",
    "local",
    "parse_xml",
    "refuse",
    "stated_title",
]

Element: TypeAlias = Any  # lxml ships no types

#: What zipfile, zlib and lxml raise for a damaged package. RuntimeError is how zipfile says that a member has a
#: password; NotImplementedError and RecursionError are children of it.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    etree.LxmlError,
    LookupError,
    ValueError,
    TypeError,
    EOFError,
    OSError,
    OverflowError,
    MemoryError,
    RuntimeError,
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LARGEST_PART = 256 << 20  #: bytes of one unpacked part; more is a bomb, not a document
_LARGEST_SUM = 1 << 30  #: bytes of all parts unpacked
_PROPERTIES = {
    "creator": "author",
    "initial-creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "keyword": "keywords",
    "language": "language",
}


class Package:
    """The parts of a file, each unpacked and parsed when asked for. `what` names the format in messages.

    Names of parts are without a leading slash, and compared without regard to case.
    """

    def __init__(self, data: bytes, what: str) -> None:
        self.what = what
        if data.startswith(_OLE):
            # A protected document is an old-style container with the real one inside.
            if "EncryptedPackage".encode("utf-16-le") in data:
                raise EncryptedError(f"the {what} is encrypted: a password is needed to open it")
            raise LoadError(f"the file is not a {what} but in an old binary format; save it anew in the current one")
        self._zip = zipfile.ZipFile(BytesIO(data))
        self._names = {name.lstrip("/").lower(): name for name in self._zip.namelist()}
        self._unpacked = 0

    @property
    def names(self) -> list[str]:
        """The names of all parts, in lower case."""
        return list(self._names)

    def read(self, name: str) -> bytes | None:
        """The bytes of a part; None if there is none. Raises LoadError beyond the limits."""
        real = self._names.get(name.lower())
        if real is None:
            return None
        with self._zip.open(real) as part:
            data = part.read(_LARGEST_PART + 1)
        self._unpacked += len(data)
        if len(data) > _LARGEST_PART or self._unpacked > _LARGEST_SUM:
            raise LoadError(f"the {self.what} unpacks to more than {_LARGEST_PART >> 20} MB")
        return data

    def pieces(self, name: str, size: int = 1 << 20) -> Iterator[bytes]:
        """The bytes of a part in pieces of `size`, for one that need not be held whole; nothing if there is none."""
        real = self._names.get(name.lower())
        if real is None:
            return
        with self._zip.open(real) as part:
            total = 0
            while piece := part.read(size):
                total += len(piece)
                if total > _LARGEST_SUM:
                    raise LoadError(f"the {self.what} unpacks to more than {_LARGEST_SUM >> 20} MB")
                yield piece

    def xml(self, name: str) -> Element | None:
        """The root of a part; None if there is none."""
        data = self.read(name)
        return None if data is None else parse_xml(data)

    def spare_xml(self, name: str) -> Element | None:
        """The root of a part that the document can do without; None if there is none or it is damaged."""
        try:
            return self.xml(name)
        except etree.LxmlError:
            return None

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """What `part` refers to inside the package: id → (last word of the type, name of the part)."""
        folder, _, base = part.rpartition("/")
        root = self.spare_xml(f"{folder}/_rels/{base}.rels" if folder else f"_rels/{base}.rels")
        found: dict[str, tuple[str, str]] = {}
        for relation in root if root is not None else ():
            target = str(relation.get("Target", ""))
            if not target or relation.get("TargetMode") == "External":
                continue
            name = target.lstrip("/") if target.startswith("/") else normpath(f"{dirname(part)}/{target}").lstrip("/")
            kind = str(relation.get("Type", "")).rpartition("/")[2]
            found[str(relation.get("Id", ""))] = (kind, name)
        return found

    def related(self, part: str, kind: str) -> list[str]:
        """The names of the parts that `part` refers to with a relation of this kind, in order."""
        return [name for each, name in self.relations(part).values() if each == kind]

    def main(self, otherwise: str) -> str:
        """The name of the main part."""
        return next(iter(self.related("", "officeDocument")), otherwise)

    def properties(self) -> tuple[dict[str, MetadataValue], str]:
        """Metadata and title that the document states in ``docProps/core.xml``."""
        root = self.spare_xml("docProps/core.xml")
        return stated_properties(root if root is not None else ())


def stated_properties(elements: Element) -> tuple[dict[str, MetadataValue], str]:
    """Metadata and title from Dublin Core elements, as the office formats keep them."""
    found: dict[str, str] = {}
    for element in elements:
        value = collapse(clean("".join(element.itertext())).text)
        if value:
            name = _PROPERTIES.get(local(element), local(element))
            found[name] = f"{found[name]}, {value}" if local(element) == "keyword" and name in found else value
    metadata: dict[str, MetadataValue] = {}
    for name in dict.fromkeys(_PROPERTIES.values()):
        if name in found:
            metadata[name] = found[name]
    created = found.get("created", "") or found.get("creation-date", "")
    if re.match(r"\d{4}-\d\d-\d\d", created):
        metadata["created"] = created[:10]
    return metadata, stated_title(found.get("title", ""))


def stated_title(title: str) -> str:
    """`title`, or "" where it is what a program writes when nobody gave one."""
    empty = {"word document", "document", "untitled", "powerpoint presentation", "presentation", "title", "slide 1"}
    return "" if title.lower() in empty else title


def parse_xml(data: bytes) -> Element:
    """The root of an XML part. Entities, which read other files or grow without bound, are left as they are."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    return etree.fromstring(data, parser)


def refuse(error: BaseException, what: str) -> NoReturn:
    """Raise what an error of `DAMAGE` means: LoadError, or EncryptedError for a member with a password."""
    if isinstance(error, LoadError):
        raise error
    if isinstance(error, RuntimeError) and not isinstance(error, (NotImplementedError, RecursionError)):
        raise EncryptedError(f"the {what} is encrypted: a password is needed to open it") from error
    raise LoadError(f"the {what} is damaged: {' '.join(str(error).split()) or type(error).__name__}") from error


def local(element: Element) -> str:
    """The name of an element without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """An attribute by its local name; "" if there is none."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""


def child(element: Element | None, *path: str) -> Element | None:
    """The first child called `path[0]`, its first child called `path[1]` …; None where one is missing."""
    for name in path:
        if element is None:
            return None
        element = next((each for each in element if local(each) == name), None)
    return element


def children(element: Element | None, *path: str) -> Iterator[Element]:
    """The children of what `child` gives; none where it gives None."""
    found = child(element, *path)
    if found is not None:
        yield from found


def find(element: Element | None, name: str) -> Element | None:
    """The first element called `name` anywhere inside; None if there is none."""
    if element is None:
        return None
    return next((each for each in element.iter() if local(each) == name), None)
