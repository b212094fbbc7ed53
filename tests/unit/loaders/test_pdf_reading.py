"""The order of lines, words broken at their ends, and what stands around the text."""

from __future__ import annotations

import pytest
from loader_samples import drawn, lines, pdf, source
from reportlab.pdfbase.pdfmetrics import stringWidth

from pincite.loaders.pdf import PdfLoader
from pincite.loaders.pdf_boxes import boxes
from pincite.types import Document

LEFT = [f"left column line {n} with enough words in it" for n in range(12)]
RIGHT = [f"right column line {n} with enough words too" for n in range(12)]
BODY = [f"an ordinary line of text, number {n}, of usual length" for n in "abcdefghijkl"]


def load(data: bytes) -> Document:
    return PdfLoader(ocr="off").load(source("paper.pdf", data))


def places(document: Document, texts: list[str]) -> list[int]:
    return [document.text.index(text) for text in texts]


def test_columns_that_were_written_row_by_row_are_read_down() -> None:
    rows = [line for pair in zip(lines(LEFT), lines(RIGHT, x=320), strict=True) for line in pair]
    title = (120.0, 760.0, "A title across both of the columns of this page", "Times-Bold", 18.0)
    foot = (72.0, 520.0, "A sentence below, which runs across the whole of the page from edge to edge, as a note does.")
    document = load(drawn([[title, *rows, foot]]))
    order = places(document, [title[2], *LEFT, *RIGHT, foot[2]])
    assert order == sorted(order)


def test_columns_that_were_written_one_after_the_other_stay() -> None:
    document = load(drawn([[*lines(LEFT), *lines(RIGHT, x=320)]]))
    order = places(document, [*LEFT, *RIGHT])
    assert order == sorted(order)


def test_a_title_that_was_drawn_last_is_read_first() -> None:
    document = load(drawn([[*lines(BODY), (72, 770, "Drawn last")]]))
    assert document.text.startswith("Drawn last\n")
    assert document.text.endswith(BODY[-1])


def test_a_column_that_was_drawn_first_is_read_second() -> None:
    document = load(drawn([[*lines(RIGHT, x=320), *lines(LEFT)]]))
    order = places(document, [*LEFT, *RIGHT])
    assert order == sorted(order)


def test_rows_of_a_table_stay_rows() -> None:
    rows = [(f"name {n}", f"{n * 7}", f"{n * 11} kg") for n in range(14)]
    cells = [
        (x, 700.0 - 14 * i, cell) for i, row in enumerate(rows) for x, cell in zip((72, 260, 420), row, strict=True)
    ]
    document = load(drawn([cells]))
    assert document.text.split("\n") == [" ".join(row) for row in rows]


def test_a_raised_number_stays_in_its_line() -> None:
    width = stringWidth("The date", "Times-Roman", 11)
    raised = (72 + width, 705.0, "2", "Times-Roman", 6.5)
    rest = (72 + width + 3.3, 700.0, "[is appointed].")
    document = load(drawn([[(72.0, 700.0, "The date"), raised, rest, *lines(BODY, top=680)]]))
    assert document.text.startswith("The date2[is appointed].\n")


@pytest.mark.parametrize(
    ("above", "below", "read"),
    [
        ("by the final judg-", "ment of the court", "by the final judgment of the court"),
        ("the well-known, a well-", "known rule", "the well-known, a well-known rule"),
        ("it is known well; a well-", "known rule was known", "it is known well; a well-known rule was known"),
        ("section 12-", "34 applies", "section 12-"),
        ("of Anglo-", "Saxon law", "Anglo-"),
    ],
)
def test_words_are_mended_at_line_ends(above: str, below: str, read: str) -> None:
    assert read in load(drawn([lines([above, below, *BODY])])).text


def test_running_heads_and_page_numbers_are_left_out_and_counted() -> None:
    pages = [
        [(72.0, 800.0, "Annual report 2025"), *lines([f"{line} {n}" for line in BODY]), (300.0, 40.0, f"- {n + 3} -")]
        for n in range(5)
    ]
    document = load(drawn(pages))
    assert "Annual report" not in document.text
    assert " - " not in document.text
    assert document.text.count(BODY[0]) == document.text.count(BODY[-1]) == 5
    assert document.warnings == ("10 running heads, feet and page numbers left out",)
    assert [page.label for page in document.pages] == ["3", "4", "5", "6", "7"]


def test_two_pages_keep_everything() -> None:
    document = load(drawn([[(72, 800, "Annual report"), *lines(BODY), (300, 40, f"{n}")] for n in (1, 2)]))
    assert document.text.count("Annual report") == 2
    assert document.warnings == ()


def test_text_at_the_edge_that_only_looks_alike_stays() -> None:
    # Numbered headings that count up with the pages; letters that all begin alike; pages of a single line.
    sections = load(drawn([[(72, 800, f"Section {n}"), *lines(BODY)] for n in range(1, 7)]))
    assert [f"Section {n}" in sections.text for n in range(1, 7)] == [True] * 6
    letters = load(drawn([lines(["Dear customer,", *BODY], top=800) for _ in range(6)]))
    assert letters.text.count("Dear customer,") == 6
    assert load(pdf([f"page {n}" for n in range(8)])).text.count("page") == 8


def test_a_page_of_a_running_head_alone_keeps_it() -> None:
    pages = [[(72.0, 800.0, "Annual report"), *lines(BODY)] for _ in range(5)]
    document = load(drawn([*pages, [(72.0, 800.0, "Annual report")]]))
    assert document.text.count("Annual report") == 1
    assert document.pages[-1].end > document.pages[-1].start


def test_a_turned_page_is_read_along_its_text() -> None:
    for turned in (0, 90, 180, 270):
        # As it is drawn, whatever a viewer is told to do with it; and drawn so that turning sets it right.
        assert load(drawn([lines(BODY, top=500)], turned=turned)).text.split("\n") == BODY
        upright = load(drawn([lines(BODY, top=500)], turned=turned, drawn_turned=turned))
        assert upright.text.split("\n") == BODY


def test_pages_without_text_are_named_together() -> None:
    document = load(pdf(["one", "", "", "four", ""]))
    assert document.warnings == ("pages 2-3, 5: no text",)


def test_ligatures_are_written_as_letters_and_their_boxes_hold() -> None:
    # A font whose code 1 stands for the one character ﬁ.
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def "
        "1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <20> <7e> <0020> endbfrange "
        "1 beginbfchar <01> <FB01> endbfchar endcmap end end"
    )
    content = "BT /F 20 Tf 72 700 Td (an of\\001cer \\001led it) Tj ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 4 0 R>>>>/Contents 5 0 R>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream ",
        f"<</Length {len(cmap)}>>stream\n{cmap}\nendstream ",
    ]
    body = "".join(f"{n} 0 obj{each}endobj\n" for n, each in enumerate(objects, 1))
    data = f"%PDF-1.4\n{body}trailer<</Root 1 0 R>>\n%%EOF".encode()
    document = load(data)
    assert document.text == "an officer filed it"
    start = document.text.index("filed")
    whole = boxes(data, document, start, start + 5)
    part = boxes(data, document, start + 1, start + 5)
    assert len(whole) == len(part) == 1
    assert whole == part, "the two letters of a ligature have the box of both"


def test_a_page_that_does_not_begin_at_zero() -> None:
    from io import BytesIO

    from reportlab.pdfgen.canvas import Canvas

    buffer = BytesIO()
    canvas = Canvas(buffer, invariant=1, cropBox=(100, 200, 400, 700))
    for x, y, text in [*lines(BODY[:4], x=120, top=600), (110, 60, "below what is shown")]:
        canvas.drawString(x, y, text)
    canvas.showPage()
    canvas.save()
    document = load(buffer.getvalue())
    assert document.text.split("\n") == BODY[:4]
    assert document.warnings == ("1 line outside of the page left out",)
    (box,) = boxes(buffer.getvalue(), document, 0, 5)
    assert box.x0 == pytest.approx(120, abs=1)
    assert box.y0 < 601 < box.y1
