from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from loader_samples import pdf, source

import pincite
from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.pdf import PdfLoader
from pincite.loaders.pdf_hyphens import Spelling
from pincite.types import Document


def load(data: bytes) -> Document:
    return PdfLoader().load(source("paper.pdf", data))


def test_pages_are_where_they_say() -> None:
    document = load(pdf(["First page\nline two", "Second page"], title="Deed"))
    assert document.text == "First page\nline two\n\nSecond page"
    assert [document.text[p.start : p.end] for p in document.pages] == ["First page\nline two", "Second page"]
    assert [p.number for p in document.pages] == [1, 2]
    assert document.title == "Deed"
    assert document.warnings == ()
    assert document.media_type == "application/pdf"


def test_a_page_without_text_is_named_with_the_reason() -> None:
    document = load(pdf(["one", None, "three", ""]))
    assert document.warnings == ("page 2: no text layer (image only)", "page 4: no text")
    assert document.text == "one\n\nthree"
    assert [(p.start, p.end) for p in document.pages] == [(0, 3), (3, 3), (5, 10), (10, 10)]
    assert [document.page_at(i) for i in (0, 2, 5, 9)] == [1, 1, 3, 3]


def test_leading_blank_pages() -> None:
    document = load(pdf([None, None, "three"]))
    assert [(p.start, p.end) for p in document.pages] == [(0, 0), (0, 0), (0, 5)]
    assert document.page_at(0) == 3


def test_a_scan_is_refused() -> None:
    with pytest.raises(NoTextError, match=r"2 pages and none has text: 2 of them pictures.*OCR"):
        load(pdf([None, None]))
    with pytest.raises(NoTextError, match="all blank"):
        load(pdf([""]))


def test_a_file_that_needs_a_password_is_encrypted_and_one_that_only_restricts_opens() -> None:
    with pytest.raises(EncryptedError, match="password"):
        load(pdf(["secret"], user="open", owner="own"))
    assert load(pdf(["restricted"], owner="own")).text == "restricted"


def test_bookmarks_become_headings_where_their_words_stand() -> None:
    document = load(
        pdf(
            ["see Scope below\n1.1 Scope\ntext\nScope\nmore", "CHAPTER\nTWO Rules\nx"],
            outline=[("Scope", 0, 0), ("Chapter Two Rules", 0, 1), ("Nowhere", 1, 1)],
        )
    )
    assert [(h.level, h.text) for h in document.headings] == [(1, "1.1 Scope"), (1, "CHAPTER TWO Rules")]
    assert [document.text[h.start : h.end] for h in document.headings] == ["1.1 Scope", "CHAPTER\nTWO Rules"]
    assert document.warnings == ("1 of 3 bookmarks not found on their page",)


@pytest.mark.parametrize(
    "title", ["", "untitled", "Microsoft Word - lease.doc", "lease.indd", "PowerPoint Presentation"]
)
def test_a_title_made_by_a_program_is_none(title: str) -> None:
    assert load(pdf(["x"], title=title)).title == "paper"


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        # The document's own spelling decides.
        ("sub-section one; of sub\ufffesection two", "sub-section one; of sub-section two"),
        ("the distribution; of dis\ufffetribution", "the distribution; of distribution"),
        ("a US-ASCII b US\ufffeASCII", "a US-ASCII b US-ASCII"),
        # Two words of the document make a compound, anything else was one word.
        ("a well is founded; well\ufffefounded", "a well is founded; well-founded"),
        ("hori\ufffezontally", "horizontally"),
        # Unless the document breaks nothing but compounds.
        ("ill-will; ill\ufffewill; quasi\ufffemarital", "ill-will; ill-will; quasi-marital"),
        # Numbers and brackets are never run together.
        ("section 12\ufffeA and (a)\ufffe(b) x\ufffe", "section 12-A and (a)-(b) x-"),
        ("older: cor\u0002\nrect", "older: correct"),
        ("soft: cor\u00ad \nrect", "soft: correct"),
        ("\ufffe\ufffe", "--"),
    ],
)
def test_words_broken_at_line_ends(text: str, mended: str) -> None:
    assert Spelling(text).mend(text) == mended


@pytest.mark.parametrize(
    "data", [b"", b"%PDF-1.7", b"not a pdf", b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 1 0 R>>endobj"]
)
def test_what_is_not_a_pdf_is_a_load_error(data: bytes) -> None:
    with pytest.raises(LoadError):
        load(data)


def test_many_threads_may_load_at_once() -> None:
    data = pdf([f"page {n}" for n in range(20)])
    with ThreadPoolExecutor(4) as pool:
        assert len({document.text for document in pool.map(lambda _: load(data), range(12))}) == 1


def test_a_heading_is_set_apart_from_the_line_below_it() -> None:
    demo = Path(pincite.__file__).parent / "demo" / "documents" / "reconstruction-amendments.pdf"
    document = load(demo.read_bytes())
    assert len(document.headings) == 12
    for heading in document.headings:
        assert " ".join(document.text[heading.start : heading.end].split()) == heading.text
        assert document.text[heading.end : heading.end + 2] == "\n\n"
        assert heading.start == 0 or document.text[heading.start - 2 : heading.start] == "\n\n"
    assert [document.page_at(heading.start) for heading in document.headings if heading.level == 1] == [1, 2, 3]
    for page in document.pages:
        assert document.text[page.start : page.end].strip().startswith("Amendment")
