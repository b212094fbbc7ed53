from __future__ import annotations

import hashlib

import pytest
from loader_samples import docx, p, package, pdf, source

from pincite.errors import EncryptedError, UnsupportedFormatError
from pincite.formats import build_loaders
from pincite.loaders.choose import choose_loader
from pincite.loaders.docx import DocxLoader
from pincite.loaders.html import HtmlLoader
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.loaders.markdown import MarkdownLoader
from pincite.loaders.numbering import ordinal
from pincite.loaders.pdf import PdfLoader
from pincite.loaders.text import TextLoader
from pincite.protocols import Loader

LOADERS: list[Loader] = [PdfLoader(), DocxLoader(), HtmlLoader(), MarkdownLoader(), TextLoader()]
PAGE = b"\n<!-- saved -->\n<!DOCTYPE html><html><p>x"
PDF = pdf(["x"])
WORD = docx(p("x"))


def chosen(name: str, data: bytes) -> str:
    return choose_loader(LOADERS, source(name, data)).name


def test_no_suffix_is_claimed_twice() -> None:
    claimed = [suffix for loader in LOADERS for suffix in loader.suffixes]
    assert len(claimed) == len(set(claimed))
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in claimed)


@pytest.mark.parametrize(
    ("name", "data", "loader"),
    [
        ("a.pdf", PDF, "pdf"),
        ("a.PDF", PDF, "pdf"),
        ("a.docx", WORD, "docx"),
        ("a.docm", WORD, "docx"),
        ("a.html", PAGE, "html"),
        ("a.md", b"# a", "markdown"),
        ("a.txt", b"a", "text"),
        ("a.py", b"a", "text"),
        # The content contradicts the suffix.
        ("a.txt", PDF, "pdf"),
        ("a.docx", PDF, "pdf"),
        ("a.pdf", WORD, "docx"),
        ("a.doc", WORD, "docx"),
        ("a.zip", WORD, "docx"),
        ("a.pdf", PAGE, "html"),
        ("a.txt", PAGE, "html"),
        ("a", PAGE, "html"),
        ("a", "\ufeff<!doctype html>".encode("utf-16-le"), "html"),
        # HTML inside a text format is what the file is about.
        ("a.md", PAGE, "markdown"),
        ("a.jsx", PAGE, "text"),
        # Nothing is known, but it is text.
        ("LICENSE", b"Permission is granted", "text"),
        ("a.unheard", b"text", "text"),
        ("a.unheard", "text".encode("utf-16"), "text"),
        # Damaged: the loader of the suffix says what is wrong.
        ("a.pdf", b"junk", "pdf"),
        ("a.docx", b"PK\x03\x04junk", "docx"),
        ("a.txt", b"", "text"),
    ],
)
def test_the_suffix_decides_unless_the_content_contradicts_it(name: str, data: bytes, loader: str) -> None:
    assert chosen(name, data) == loader


CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
ODT = "application/vnd.oasis.opendocument.text"
MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    f'<manifest:file-entry manifest:full-path="/" manifest:version="1.3" manifest:media-type="{ODT}"/>'
    "</manifest:manifest>"
)


@pytest.mark.parametrize("name", ["a", "a.zip", "a.epub", "a.txt"])
@pytest.mark.parametrize(
    ("parts", "loader"),
    [
        ({"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER}, "epub"),
        ({"META-INF/container.xml": CONTAINER, "content.opf": "", "mimetype": "application/epub+zip\n"}, "epub"),
        ({"content.opf": "", "META-INF/container.xml": CONTAINER}, "epub"),
        ({"META-INF/container.xml": CONTAINER, "mimetype": "application/zip"}, "epub"),
        ({"content.xml": "", "mimetype": ODT}, "opendocument"),
        ({"content.xml": "", "META-INF/manifest.xml": MANIFEST}, "opendocument"),
    ],
)
def test_a_package_is_what_its_parts_say_wherever_they_stand(name: str, parts: dict[str, str], loader: str) -> None:
    assert choose_loader(build_loaders(), source(name, package(parts))).name == loader


@pytest.mark.parametrize(
    "parts",
    [
        {"a.txt": "words", "sub/META-INF/container.xml": CONTAINER},
        {"a.txt": "words", "META-INF/MANIFEST.MF": "Manifest-Version: 1.0"},
        {"a.txt": "words", "META-INF/manifest.xml": MANIFEST.replace('path="/"', 'path="Object 1/"')},
    ],
)
def test_other_packages_are_archives(parts: dict[str, str]) -> None:
    assert choose_loader(build_loaders(), source("a.zip", package(parts))).name == "archive"


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.docx", OLE + "PowerPoint Document".encode("utf-16-le"), r"PowerPoint .*save it as \.pptx"),
        ("a.mobi", b"\x00\x01BOOKMOBI" + bytes(90), "Kindle"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c", "archive"),
        ("a.doc", OLE + "WordDocument".encode("utf-16-le"), r"\.doc .*save it as \.docx"),
        ("a.ppt", OLE + "PowerPoint Document Workbook".encode("utf-16-le"), "PowerPoint"),
        ("a.msg", OLE, "Outlook"),
        ("a.txt", b"\x89PNG\r\n", "picture.*OCR"),
        ("a.jpg", b"", "picture"),
        ("a.bin", bytes(100), "'a.bin' is not text"),
    ],
)
def test_a_format_that_is_not_read_is_named_with_those_that_are(name: str, data: bytes, words: str) -> None:
    with pytest.raises(UnsupportedFormatError, match=words) as caught:
        chosen(name, data)
    assert "docx, html, markdown, pdf, text" in str(caught.value)


def test_a_protected_office_file_is_encrypted() -> None:
    with pytest.raises(EncryptedError):
        chosen("a.docx", OLE + "EncryptedPackage".encode("utf-16-le"))


def test_a_format_whose_loader_is_absent_is_unsupported() -> None:
    with pytest.raises(UnsupportedFormatError):
        choose_loader([TextLoader()], source("a.pdf", PDF))


def test_ids() -> None:
    assert document_id("/a") == hashlib.sha256(b"/a").hexdigest()[:16]
    assert document_id("/a\udcff") != document_id("/a")
    assert content_hash(b"x") == hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("a/b.c.pdf", "b.c"),
        ("C:\\x\\lease.docx", "lease"),
        (".env", ".env"),
        ("", "untitled"),
        ("a\udcff\x00.txt", "a?"),
    ],
)
def test_titles_from_names(name: str, title: str) -> None:
    assert stem_title(name) == title


@pytest.mark.parametrize(
    ("number", "style", "written"),
    [
        (1, "a", "a"),
        (26, "a", "z"),
        (27, "A", "AA"),
        (703, "a", "aaa"),
        (1994, "I", "MCMXCIV"),
        (4000, "i", "4000"),
        (0, "a", "0"),
    ],
)
def test_ordinals(number: int, style: str, written: str) -> None:
    assert ordinal(number, style) == written


@pytest.mark.parametrize(
    "head", [b"\n" * 4000, b" \t\r\n" * 1000, b"<!---->" * 500, b"<!-- a -->\n" * 400, b'<?xml version="1.0"?> ' * 200]
)
@pytest.mark.timeout(10)
def test_what_almost_begins_like_a_page_is_judged_at_once(head: bytes) -> None:
    assert chosen("a.txt", head + b"words") == "text"


def test_a_page_may_begin_with_blank_lines_and_comments() -> None:
    head = b"\n\n<?xml version='1.0'?>\n<!-- saved -- from -->\n\n<!---->\n"
    assert chosen("a.txt", head + b"<html><p>x") == "html"
