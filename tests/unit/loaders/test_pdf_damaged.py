"""Broken and hostile files: an error or a sound document, in bounded time."""

from __future__ import annotations

import re
import time

import pytest
from loader_samples import drawn, lines, pdf, source

from pincite.errors import LoadError, NoTextError
from pincite.loaders.pdf import PdfLoader
from pincite.loaders.pdf_boxes import boxes
from pincite.types import Document


def load(data: bytes) -> Document:
    return PdfLoader(ocr="off").load(source("a.pdf", data))


def file(*objects: str) -> bytes:
    """A file of these objects, numbered from 1, the first its catalogue; PDFium makes the table that it lacks."""
    body = "".join(f"{n} 0 obj{each}endobj\n" for n, each in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer<</Root 1 0 R>>\n%%EOF".encode()


def page(content: str, resources: str = "/Font<</F 4 0 R>>") -> bytes:
    return file(
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<<{resources}>>/Contents 5 0 R>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream ",
    )


@pytest.mark.parametrize(
    "data",
    [
        file("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[]/Count 0>>"),
        file("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R]/Count 1>>"),
        file(
            "<</Type/Catalog/Pages 2 0 R>>",
            "<</Type/Pages/Kids[3 0 R]/Count 9>>",
            "<</Type/Pages/Kids[2 0 R]/Count 9>>",
        ),
        file("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[]/Count 2000000000>>"),
        file("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[]/Count 40000>>"),
        page("BT /F 12 Tf 72 2000 Td (far above the page) Tj ET"),
        page("q " * 200_000),
        page("/X Do", "/XObject<</X 5 0 R>>"),
    ],
    ids=["no-pages", "own-child", "loop", "two-thousand-million", "forty-thousand", "outside", "nested", "own-form"],
)
def test_no_text_and_no_hang(data: bytes) -> None:
    started = time.perf_counter()
    with pytest.raises(LoadError) as caught:
        load(data)
    assert str(caught.value)
    assert len(str(caught.value)) < 300
    assert time.perf_counter() - started < 10


def test_text_outside_of_the_page_is_named() -> None:
    with pytest.raises(NoTextError, match="outside"):
        load(page("BT /F 12 Tf 72 2000 Td (far above the page) Tj ET"))


def test_a_damaged_table_of_objects_is_rebuilt() -> None:
    whole = pdf(["one two", "three"])
    broken = re.sub(rb"startxref\n\d+", b"startxref\n7", whole)
    assert load(broken).text == load(whole).text
    assert load(whole[: whole.rindex(b"xref")]).text == load(whole).text


def test_five_thousand_pages_take_seconds() -> None:
    data = pdf([f"words of page {n}" for n in range(5000)])
    started = time.perf_counter()
    document = load(data)
    assert time.perf_counter() - started < 30
    assert len(document.pages) == 5000
    assert document.text.endswith("words of page 4999")


def test_a_long_line_takes_linear_time() -> None:
    started = time.perf_counter()
    # On a page of ten million points: what is too small to be seen, or beyond the page, is not read.
    wide = page("BT /F 10 Tf 10 10 Td " + f"({'a- ' * 10_000}) Tj " * 10 + "ET").replace(b"600 800", b"10000000 800")
    assert b"10000000" in wide
    document = load(wide)
    assert len(document.text) > 250_000
    assert time.perf_counter() - started < 20


def test_controls_do_not_reach_the_text() -> None:
    document = load(page("BT /F 12 Tf 72 700 Td (a\\000b\\001c\\177d) Tj ET"))
    assert not set(document.text) & {chr(n) for n in (*range(9), *range(11, 32), 127)}
    assert document.text[0] == "a"


def test_many_blocks_take_bounded_time() -> None:
    scattered = [(float(n * 37 % 500), float(n * 91 % 800), f"w{n}") for n in range(6000)]
    started = time.perf_counter()
    data = drawn([scattered, lines(["words", "more"])])
    document = load(data)
    assert time.perf_counter() - started < 20
    at = document.text.index("w4321")
    assert len(boxes(data, document, at, at + 5)) == 1


def test_a_font_that_does_not_say_what_it_shows_is_the_reason() -> None:
    shown = ["BT /F 12 Tf 72 700 Td <000100020003> Tj ET", "BT /G 12 Tf 72 700 Td (a page of text) Tj ET"]
    look = "/MediaBox[0 0 600 800]/Resources<</Font<</F 4 0 R/G 9 0 R>>>>"
    document = load(
        file(
            "<</Type/Catalog/Pages 2 0 R>>",
            "<</Type/Pages/Kids[3 0 R 7 0 R]/Count 2>>",
            f"<</Type/Page/Parent 2 0 R{look}/Contents 5 0 R>>",
            "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[6 0 R]>>",
            f"<</Length {len(shown[0])}>>stream\n{shown[0]}\nendstream ",
            "<</Type/Font/Subtype/CIDFontType2/BaseFont/X/CIDSystemInfo"
            "<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/DW 500>>",
            f"<</Type/Page/Parent 2 0 R{look}/Contents 8 0 R>>",
            f"<</Length {len(shown[1])}>>stream\n{shown[1]}\nendstream ",
            "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        )
    )
    assert document.text == "a page of text"
    assert document.warnings == ("page 1: no text (its font has no map from glyphs to characters)",)
