"""Where a span of the text stands on its pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loader_samples import drawn, lines, source

import pincite
from pincite.errors import InputError
from pincite.loaders.pdf import PdfLoader
from pincite.loaders.pdf_boxes import Box, boxes
from pincite.types import Document

WORDS = "several words of text that stand in a line of the page and are hyphen-"
COLUMNS = [
    [(120.0, 770.0, "A title over both of the columns of this page", "Times-Bold", 18.0)]
    + [
        line
        for pair in zip(
            lines([f"left line {n} of the text on this page" for n in range(9)]),
            lines([f"right line {n} of the text on the page" for n in range(9)], x=330),
            strict=True,
        )
        for line in pair
    ],
    lines([WORDS, "ated at the end", "and 1(2) more"]),
    lines(["the third page", "has other words"]),
]
DEMO = Path(pincite.__file__).parent / "demo" / "documents" / "reconstruction-amendments.pdf"
FILES = {
    "columns": drawn(COLUMNS),
    "turned": drawn([lines(["words that are turned", "with the page"], top=500)], turned=90, drawn_turned=90),
    "demo": DEMO.read_bytes(),
}
DOCUMENTS = {name: PdfLoader(ocr="off").load(source("a.pdf", data)) for name, data in FILES.items()}


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def found_in(data: bytes, found: tuple[Box, ...]) -> str:
    """The letters that PDFium finds within the boxes, in their order."""
    file = pdfium.PdfDocument(data)
    pages = {box.page: file[box.page - 1].get_textpage() for box in found}
    inside = "".join(
        letters(pages[box.page].get_text_bounded(box.x0 - 0.1, box.y0 - 0.1, box.x1 + 0.1, box.y1 + 0.1))
        for box in found
    )
    for page in pages.values():
        page.close()
    file.close()
    return inside


@pytest.mark.parametrize("name", sorted(FILES))
@settings(max_examples=60, deadline=None)
@given(ends=st.tuples(st.integers(0, 10**6), st.integers(0, 120)))
def test_the_boxes_of_a_span_hold_its_letters(name: str, ends: tuple[int, int]) -> None:
    document = DOCUMENTS[name]
    start = ends[0] % len(document.text)
    end = min(len(document.text), start + ends[1])
    found = boxes(FILES[name], document, start, end)
    wanted = letters(document.text[start:end])
    inside = found_in(FILES[name], found)
    assert wanted in inside
    assert len(inside) <= len(wanted) + 2 * len(found)  # at either end, a letter that overlaps
    assert all(box.x0 < box.x1 and box.y0 < box.y1 for box in found)


def span(document: Document, text: str) -> tuple[int, int]:
    start = document.text.index(text)
    return start, start + len(text)


def test_one_box_for_each_piece_of_a_line() -> None:
    document, data = DOCUMENTS["columns"], FILES["columns"]
    one = boxes(data, document, *span(document, "right line 3 of the text"))
    assert len(one) == 1
    assert one[0].page == 1
    assert one[0].x0 == pytest.approx(330, abs=2)
    assert one[0].y0 < 720 - 3 * 14 < one[0].y1
    broken = boxes(data, document, *span(document, "hyphenated at"))
    assert [box.page for box in broken] == [2, 2]
    assert broken[0].y0 > broken[1].y0
    across = boxes(data, document, *span(document, "more\n\nthe third"))
    assert [box.page for box in across] == [2, 3]


def test_no_characters_no_boxes() -> None:
    assert boxes(FILES["columns"], DOCUMENTS["columns"], 3, 3) == ()
    at = DOCUMENTS["columns"].text.index("\n\n")
    assert boxes(FILES["columns"], DOCUMENTS["columns"], at, at + 1) == ()


def test_what_does_not_belong_together_is_refused() -> None:
    document, data = DOCUMENTS["columns"], FILES["columns"]
    with pytest.raises(InputError, match="not the bytes"):
        boxes(FILES["demo"], document, 0, 1)
    with pytest.raises(InputError, match="not within"):
        boxes(data, document, 0, len(document.text) + 1)
    with pytest.raises(InputError, match="another text"):
        boxes(data, replace(document, text=document.text.replace("title", "table")), 0, 1)
