"""Headings of files without an outline: acts by their numbers, others by how they are set."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from loader_samples import Placed, drawn, lines, pdf, source

from pincite.loaders.pdf import PdfLoader
from pincite.types import Document

DATA = Path(os.environ.get("PINCITE_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
ACTS = DATA / "indian-acts-pdf"
TEXT = [f"words of the text that go on for a whole line, as text does, {n}" for n in "abcdefgh"]


def load(data: bytes) -> Document:
    return PdfLoader(ocr="off").load(source("act.pdf", data))


def shown(document: Document) -> list[tuple[int, str]]:
    for heading in document.headings:
        assert heading.text in " ".join(document.text[heading.start : heading.end].split())
    return [(heading.level, heading.text) for heading in document.headings]


CONTENTS = [
    *["THE SMALL ACT, 1999", "ARRANGEMENT OF SECTIONS", "CHAPTER I", "PRELIMINARY"],
    *[f"{n}. Title of number {n}." for n in (1, 2, 3)],
    *["CHAPTER II", "OF RULES"],
    *[f"{n}. Title of number {n}." for n in (4, 5, 6, "6A")],
]
SECTIONS = [
    *["THE SMALL ACT, 1999", "CHAPTER I", "PRELIMINARY"],
    *["1. Title of number 1.—This Act may be called the Small Act as", "Part II of the Schedule says."],
    *["2. Title of number 2.—In this Act the following is a list:—", "1. A list begins with one.", "2. It goes on."],
    *["3. Title of number 3 which is too long for", "a single line.—Whoever reads it knows more."],
    *["CHAPTER II", "OF RULES"],
    *["1[4. Title of number 4.—Nothing is a rule.]", TEXT[1], "5. [Title of number 5.] Rep. by Act 3 of 2001, s. 2."],
    *["6. Title of number 6.—See section 4.", "6A. “Title”.—The word “title” is one.", "THE SCHEDULE", TEXT[2]],
]


def test_the_sections_of_an_act_are_headings_and_its_contents_are_none() -> None:
    document = load(drawn([lines(CONTENTS), lines(SECTIONS)]))
    assert shown(document) == [
        (2, "CHAPTER I PRELIMINARY"),
        (3, "1. Title of number 1."),
        (3, "2. Title of number 2."),
        (3, "3. Title of number 3 which is too long for a single line."),
        (2, "CHAPTER II OF RULES"),
        (3, "4. Title of number 4."),
        (3, "5. [Title of number 5.]"),
        (3, "6. Title of number 6."),
        (3, "6A. “Title”."),
        (1, "THE SCHEDULE"),
    ]
    assert document.title == "THE SMALL ACT, 1999"
    assert document.page_at(document.headings[0].start) == 2
    at = document.text.index("Nothing is a rule")
    assert document.heading_path(at) == ("CHAPTER II OF RULES", "4. Title of number 4.")


def test_a_numbered_list_is_no_act() -> None:
    assert load(drawn([lines([f"{n}. Buy the things that are needed." for n in range(1, 20)])])).headings == ()


def test_lines_that_are_set_as_headings_are_headings() -> None:
    page: list[Placed] = [
        (72, 780, "A Study of Things", "Helvetica-Bold", 20),
        (72, 745, "1 Introduction", "Helvetica-Bold", 14),
        *lines(TEXT, top=720),
        (72, 590, "A bold line that is a heading as well", "Times-Bold", 11),
        *lines(TEXT, top=570),
        (72, 440, "2 A heading that is long", "Helvetica-Bold", 14),
        (72, 424, "and has two lines", "Helvetica-Bold", 14),
        *lines(TEXT, top=400),
        (72, 270, "Figure 2. A caption is no heading", "Times-Bold", 11),
        (72, 250, "Bold words", "Times-Bold", 11),
        (132, 250, "at the beginning of a line of text", "Times-Roman", 11),
    ]
    assert shown(load(drawn([page]))) == [
        (1, "A Study of Things"),
        (2, "1 Introduction"),
        (3, "A bold line that is a heading as well"),
        (2, "2 A heading that is long and has two lines"),
    ]


def test_a_file_set_in_bold_has_no_headings() -> None:
    assert load(drawn([[(x, y, text, "Times-Bold", 11) for x, y, text in lines(TEXT)]])).headings == ()


def test_the_outline_counts_before_the_type() -> None:
    document = load(pdf(["Scope\none two", "Rules\nthree"], outline=[("Scope", 0, 0), ("Rules", 0, 1)]))
    assert shown(document) == [(1, "Scope"), (1, "Rules")]


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "docs-docling").is_dir(), reason="needs the evaluation data: set PINCITE_DATA")
def test_arabic_is_read_in_its_own_order() -> None:
    data = (DATA / "docs-docling" / "pdf" / "sources" / "right_to_left_01.pdf").read_bytes()
    document = load(data)
    # Lam and alef are one glyph, whose two letters the file has in the order in which they are seen.
    assert document.text.startswith("تحسين الإنتاجية وحل المشكلات من خلال البرمجة بلغة")
    assert "التحليلات" in document.text or "تحليلات" in document.text


# How the acts number their sections, read from PDFium's own text and without any of the loader's code.
NUMBERED = re.compile(
    r"(?m)^(?=(?:\d{0,3}\s?\[)?(\d{1,3}[A-Z]{0,2})\.\s?[“\"'\[A-Z][^\n]*(?:\n(?!\d)[^\n]*){0,3}?"
    r"(?:\.\s?[—–]|\]\.?[^\n]*(?:Rep|Omitted|Repealed)))"
)


@pytest.mark.data
@pytest.mark.skipif(not ACTS.is_dir(), reason="needs the evaluation data: set PINCITE_DATA")
@pytest.mark.parametrize(
    ("name", "first", "sections"), [("ipc.pdf", 13, 511), ("AA2012-32.pdf", 2, 46), ("THE CODE*.pdf", 18, 484)]
)
def test_real_acts(name: str, first: int, sections: int) -> None:
    """`first` is the page, from 0, on which the text begins behind the contents."""
    import pypdfium2 as pdfium

    path = next(ACTS.glob(name))
    document = load(path.read_bytes())
    file = pdfium.PdfDocument(path)
    raw = "\n".join(file[i].get_textpage().get_text_range() for i in range(first, len(file))).replace("\r", "")
    file.close()
    wanted = set(NUMBERED.findall(raw))
    assert len(wanted) > 0.95 * sections
    numbers = [
        match[1] for heading in document.headings if (match := re.match(r"(\d+[A-Z]*)\.? ?\W*[A-Z“]", heading.text))
    ]
    assert len(numbers) == len(set(numbers)), "no section twice"
    assert len(wanted & set(numbers)) >= 0.99 * len(wanted)
    assert {str(n) for n in range(1, sections + 1)} <= set(numbers)
    assert all(document.page_at(heading.start) > first for heading in document.headings)  # type: ignore[operator]
