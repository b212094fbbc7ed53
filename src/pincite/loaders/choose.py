"""Which loader reads a file: by its suffix, checked against its content."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Sequence
from io import BytesIO
from pathlib import PurePosixPath

from pincite.errors import EncryptedError, UnsupportedFormatError
from pincite.loaders.decode import looks_binary
from pincite.protocols import Container, Loader, Source

__all__ = ["choose_loader"]

# What the suffix says, for files that are recognised but not read.
_KNOWN = {
    ".doc": "the old binary Word format (save it as .docx)",
    ".dot": "the old binary Word format (save it as .docx)",
    ".ppt": "the old binary PowerPoint format (save it as .pptx)",
    ".pps": "the old binary PowerPoint format (save it as .pptx)",
    ".pages": "an Apple Pages document (export it as .docx or .pdf)",
    ".mobi": "a Kindle book (convert it to .html or .pdf)",
    ".azw3": "a Kindle book (convert it to .html or .pdf)",
    ".djvu": "a DjVu scan (convert it to .pdf with a text layer)",
    ".msg": "an Outlook e-mail (save its text as .txt or .html)",
    ".mht": "a web archive (save the page as .html)",
    ".mhtml": "a web archive (save the page as .html)",
    ".7z": "an archive (unpack it first)",
    ".rar": "an archive (unpack it first)",
    ".zst": "a compressed file (unpack it first)",
    **dict.fromkeys(
        (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".heic"),
        "a picture (reading it needs OCR, which is not available)",
    ),
    **dict.fromkeys((".mp3", ".wav", ".m4a", ".ogg", ".flac"), "a sound recording"),
    **dict.fromkeys((".mp4", ".mkv", ".mov", ".avi", ".webm"), "a film"),
}
_SIGNATURES = (
    (b"\x89PNG", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"\x1f\x8b", ".gz"),
    (b"BZh", ".bz2"),
    (b"\xfd7zXZ\x00", ".xz"),
    (b"7z\xbc\xaf\x27\x1c", ".7z"),
    (b"Rar!\x1a", ".rar"),
    (b"{\\rtf", ".rtf"),
)
# Directories of an office package, by what it then is.
_PACKAGES = (("word/", ".docx"), ("xl/", ".xlsx"), ("ppt/", ".pptx"))
_MIMETYPES = {
    b"application/epub+zip": ".epub",
    b"application/vnd.oasis.opendocument.text": ".odt",
    b"application/vnd.oasis.opendocument.spreadsheet": ".ods",
    b"application/vnd.oasis.opendocument.presentation": ".odp",
    b"application/vnd.oasis.opendocument.text-template": ".odt",
    b"application/vnd.oasis.opendocument.spreadsheet-template": ".ods",
    b"application/vnd.oasis.opendocument.presentation-template": ".odp",
    b"application/vnd.oasis.opendocument.graphics": ".odg",
}
# What the manifest of an OpenDocument package says of the whole, and in it the type.
_ROOT_ENTRY = re.compile(rb"""<[\w:]{1,40}file-entry\s[^<>]{0,400}full-path\s*=\s*["']/["'][^<>]{0,400}>""")
_MEDIA_TYPE = re.compile(rb"""media-type\s*=\s*["']([\w.+/-]{1,100})["']""")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# There is one way alone to read what stands before: with several, a page of blank lines takes for ever to be none.
_HTML = re.compile(
    rb"\s*(?:(?:<\?xml[^>]{0,200}\?>|<!--(?:(?!-->).){0,2000}-->)\s*){0,20}<(?:!doctype\s+html|html)[\s>]", re.I | re.S
)
# Mail programs call a mailbox "Inbox", without a suffix.
_MAILBOX = re.compile(rb"From \S[^\n]{0,200}\d:\d\d[^\n]{0,80}\n[A-Za-z-]{1,60}:")
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
# A page may be saved under these names; under any other suffix of a text format, HTML is what the file is about.
_MAY_BE_HTML = frozenset(
    {"", ".txt", ".text", ".pdf", ".docx", ".doc", ".xls", ".asp", ".aspx", ".jsp", ".php", ".cgi"}
)
_TEXT, _HTML_SUFFIX, _DOCX, _PDF = ".txt", ".html", ".docx", ".pdf"


def choose_loader(loaders: Sequence[Loader | Container], source: Source) -> Loader | Container:
    """The loader of `loaders` that reads `source`.

    The suffix decides unless the content contradicts it: a PDF, a Word document or a web page under another name goes
    to the loader of what it is. A file with an unknown suffix that is not binary is text. The first of several loaders
    with the same suffix wins.

    Raises UnsupportedFormatError, which names the format where it is known and lists what can be read, or
    EncryptedError for a protected Office file.
    """
    suffix = PurePosixPath(source.name.replace("\\", "/")).suffix.lower()
    kind = _content(source, suffix)
    by_suffix = _find(loaders, suffix)
    if kind:
        # Variants of one format (.docm for .docx) keep the loader that their suffix names.
        loader = _find(loaders, kind)
        if loader is None:
            raise UnsupportedFormatError(_refusal(loaders, source.name, kind))
        return loader
    if by_suffix is not None:
        return by_suffix
    if suffix in _KNOWN:
        raise UnsupportedFormatError(_refusal(loaders, source.name, suffix))
    text = _find(loaders, _TEXT)
    if text is None or looks_binary(_head(source, 1 << 16)):
        raise UnsupportedFormatError(_refusal(loaders, source.name, suffix))
    return text


def _head(source: Source, size: int = 4096) -> bytes:
    # A mailbox may be larger than memory: its loader reads it piece by piece, and so nothing reads it whole before.
    if source.path is None:
        return source.data[:size]
    with source.path.open("rb") as file:
        return file.read(size)


def _content(source: Source, suffix: str) -> str:
    """The suffix that `source` deserves by its first bytes; "" when they do not say."""
    head = _head(source)
    if head.lstrip().startswith(b"%PDF-") or (suffix == _PDF and b"%PDF-" in head[:1024]):
        return _PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _package(source, suffix)
    if head.startswith(_OLE):
        return _ole(source.data, suffix)
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if head[257:262] == b"ustar":
        return ".tar"
    if not suffix and _MAILBOX.match(head):
        return ".mbox"
    if suffix in _MAY_BE_HTML and _is_html(head):
        return _HTML_SUFFIX
    return ""


def _package(source: Source, suffix: str) -> str:
    try:
        with zipfile.ZipFile(source.path or BytesIO(source.data)) as package:
            names = package.namelist()
            # The type is the first part by the standard, but not in every program, and some leave it out.
            mimetype = _start_of(package, "mimetype", names, 100).strip()
            container = _start_of(package, "META-INF/container.xml", names, 1 << 16)
            manifest = _ROOT_ENTRY.search(_start_of(package, "META-INF/manifest.xml", names, 1 << 16))
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, KeyError, RuntimeError, NotImplementedError, EOFError):
        # Damaged, but the suffix may still say what it was, and that loader what is wrong with it.
        return suffix or ".zip"
    if mimetype in _MIMETYPES:
        return _MIMETYPES[mimetype]
    if b"application/oebps-package+xml" in container or (container and suffix == ".epub"):
        return ".epub"
    stated = _MEDIA_TYPE.search(manifest[0]) if manifest else None
    if stated and stated[1] in _MIMETYPES:
        return _MIMETYPES[stated[1]]
    folders = {name.lstrip("/").lower().split("/")[0] + "/" for name in names if "/" in name}
    kinds = [kind for folder, kind in _PACKAGES if folder in folders]
    if len(kinds) == 1 and "[Content_Types].xml" in names:
        return kinds[0]
    return ".zip"


def _start_of(package: zipfile.ZipFile, name: str, names: list[str], size: int) -> bytes:
    if name not in names:
        return b""
    with package.open(name) as part:
        return part.read(size)


def _ole(data: bytes, suffix: str) -> str:
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise EncryptedError("the Office document is encrypted: a password is needed to open it")
    streams = (("WordDocument", ".doc"), ("PowerPoint Document", ".ppt"), ("Workbook", ".xls"), ("Book", ".xls"))
    found = [kind for stream, kind in streams if stream.encode("utf-16-le") in data]
    if found:
        # One may be embedded in another: which is which the suffix knows.
        return suffix if suffix in found else found[0]
    if suffix == ".xls":
        return suffix
    return suffix if suffix in _KNOWN else ".doc"


def _is_html(head: bytes) -> bool:
    if head.startswith(_BOMS):
        # Wide encodings put a NUL beside every letter of the declaration.
        head = head.lstrip(b"\xef\xbb\xbf\xff\xfe").replace(b"\x00", b"")
    return _HTML.match(head) is not None


def _find(loaders: Sequence[Loader | Container], suffix: str) -> Loader | Container | None:
    return next((loader for loader in loaders if suffix in loader.suffixes), None)


def _refusal(loaders: Sequence[Loader | Container], name: str, suffix: str) -> str:
    what = _KNOWN.get(suffix)
    known = f"{suffix} is {what}" if what else f"{name!r} is not text and of no known format"
    return f"{known}. Formats that are read: {', '.join(sorted(loader.name for loader in loaders))}"
