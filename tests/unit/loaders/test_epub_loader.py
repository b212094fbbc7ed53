"""Books: the order of the spine, titles from the contents, notes, protection, damage."""

from __future__ import annotations

import io
import zipfile

import pytest
from book_samples import chapter, epub

from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.formats import build_loaders
from pincite.loaders import epub as module
from pincite.loaders.choose import choose_loader
from pincite.loaders.epub import EpubLoader
from pincite.protocols import Source
from pincite.types import Document


def load(data: bytes) -> Document:
    document = EpubLoader().load(Source("/a.epub", "a.epub", data))
    for heading in document.headings:
        assert heading.text in " ".join(document.text[heading.start : heading.end].split())
    return document


def headings(document: Document) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in document.headings]


def test_chapters_follow_the_spine_and_are_pages() -> None:
    pages = {"b.xhtml": chapter("<h1>Second</h1><p>two</p>"), "a.xhtml": chapter("<h1>First</h1><p>one</p>")}
    document = load(epub(pages, spine=["a.xhtml", "b.xhtml"]))
    assert document.text == "First\n\none\n\nSecond\n\ntwo"
    assert [(page.number, page.label) for page in document.pages] == [(1, "First"), (2, "Second")]
    assert [document.text[page.start : page.end] for page in document.pages] == ["First\n\none", "Second\n\ntwo"]
    assert headings(document) == [(1, "First"), (1, "Second")]


def test_what_stands_beside_the_reading_order_comes_last() -> None:
    pages = {"n.xhtml": chapter("<p>notes</p>"), "a.xhtml": chapter("<p>story</p>")}
    assert load(epub(pages, later=["n.xhtml"])).text == "story\n\nnotes"


def test_an_empty_element_of_xhtml_does_not_swallow_the_page() -> None:
    document = load(epub({"a.xhtml": chapter('<a id="x"/><script src="s.js"/><p>seen</p><div/><p>too</p>')}))
    assert document.text == "seen\n\ntoo"


@pytest.mark.parametrize("kind", ["contents", "old_contents"])
def test_titles_of_the_contents_are_headings_where_a_chapter_has_none(kind: str) -> None:
    pages = {
        "a.xhtml": chapter("<p class='head'>THE GRAVE</p><p>cold storms</p>"),
        "b.xhtml": chapter("<p>no title here</p>"),
        "c.xhtml": chapter("<h2>Own</h2><p>x</p>"),
        "d.xhtml": chapter("<p>start</p><p id='s1'>Part one.</p><p>x</p><p id='s2'>Part two</p><p>y</p>"),
    }
    entries = [
        ("The Grave", "a.xhtml"),
        ("The Prayer", "b.xhtml"),
        ("Other", "c.xhtml"),
        ("Part one", "d.xhtml#s1"),
        ("Part two", "d.xhtml#s2"),
    ]
    document = load(epub(pages, **{kind: entries}))
    assert headings(document) == [
        (1, "THE GRAVE"),
        (1, "The Prayer"),
        (2, "Own"),
        (1, "Part one."),
        (1, "Part two"),
    ]
    assert document.text.count("The Grave") == 0
    assert "The Prayer\n\nno title here" in document.text
    assert [page.label for page in document.pages][:3] == ["THE GRAVE", "The Prayer", "Other"]
    assert "Contents" not in document.text


def test_notes_and_asides_are_kept() -> None:
    page = (
        '<h1>A</h1><p>text<a epub:type="noteref" href="#n">1</a></p>'
        '<aside epub:type="footnote" id="n"><p>the note</p></aside><footer>the end</footer>'
    )
    assert load(epub({"a.xhtml": chapter(page)})).text == "A\n\ntext1\n\nthe note\n\nthe end"


def test_metadata() -> None:
    described = (
        "<dc:title>The\n Book</dc:title><dc:creator>A. Author</dc:creator><dc:creator>B. Author</dc:creator>"
        "<dc:language>de</dc:language><dc:date>1999-01-02</dc:date><dc:publisher>House</dc:publisher>"
        "<dc:identifier>x</dc:identifier>"
    )
    document = load(epub({"a.xhtml": chapter("<p>x</p>")}, metadata=described))
    assert document.title == "The Book"
    assert document.metadata == {
        "author": "A. Author, B. Author",
        "language": "de",
        "date": "1999-01-02",
        "publisher": "House",
    }


def test_copy_protection_is_encryption_and_scrambled_fonts_are_not() -> None:
    def encryption(algorithm: str) -> dict[str, str]:
        method = f'<EncryptedData><EncryptionMethod Algorithm="{algorithm}"/></EncryptedData>'
        return {"META-INF/encryption.xml": f"<encryption>{method}</encryption>"}

    pages = {"a.xhtml": chapter("<p>x</p>")}
    assert load(epub(pages, extra=encryption("http://www.idpf.org/2008/embedding"))).text == "x"
    with pytest.raises(EncryptedError, match="copy protection"):
        load(epub(pages, extra=encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc")))


def test_damage_costs_the_chapter() -> None:
    document = load(epub({"a.xhtml": b"\x89PNG\r\n\x1a\n" + bytes(99), "b.xhtml": chapter("<p>sound</p>")}))
    assert document.text == "sound"
    assert any("OPS/a.xhtml could not be read" in warning for warning in document.warnings)


def test_a_chapter_that_is_missing_is_named() -> None:
    data = epub({"a.xhtml": chapter("<p>x</p>"), "b.xhtml": chapter("<p>gone</p>")})
    data = data.replace(b"OPS/b.xhtml", b"OPS/q.xhtml")
    assert load(data).warnings == ("OPS/b.xhtml is missing",)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", epub({})[:-30], b"text"])
def test_no_book(data: bytes) -> None:
    with pytest.raises(LoadError):
        load(data)


def test_a_book_without_text() -> None:
    with pytest.raises(NoTextError):
        load(epub({"a.xhtml": chapter("<img src='x.png' alt=''/>")}))


def test_an_entity_bomb_is_not_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    described = "<dc:title>t</dc:title>"
    data = epub({"a.xhtml": chapter("<p>x</p>")}, metadata=described, extra={"OPS/toc.ncx": bomb + "<ncx>&b;</ncx>"})
    assert load(data).text == "x"


def test_a_book_that_unpacks_to_more_than_a_book_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LARGEST_BOOK", 100_000)
    with pytest.raises(LoadError, match="more than a book can hold"):
        load(epub({f"{i}.xhtml": chapter("<p>" + "a " * 20_000 + "</p>") for i in range(4)}))


def test_a_book_is_known_where_its_kind_is_not_said_first() -> None:
    late = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(epub({"a.xhtml": chapter("<p>x</p>")}))) as made,
        zipfile.ZipFile(late, "w") as book,
    ):
        for name in sorted(made.namelist()):
            book.writestr(name, made.read(name))
    loaders = build_loaders()
    assert choose_loader(loaders, Source("/a.zip", "a.zip", late.getvalue())).name == "epub"
    silent = late.getvalue().replace(b"application/epub+zip", b"application/octet-st")
    assert choose_loader(loaders, Source("/a.epub", "a.epub", silent)).name == "epub"
    assert choose_loader(loaders, Source("/a.zip", "a.zip", silent)).name == "archive"
