"""Draw the demo's one PDF: Amendments XIII, XIV and XV, a page each, with an outline.

Run `python scripts/make_demo_pdf.py [output]`. The same text gives the same bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from reportlab.lib.pagesizes import LETTER
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import inch
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph

TARGET = Path(__file__).parents[1] / "src/pincite/demo/documents/reconstruction-amendments.pdf"

MARGIN = inch
WIDTH, HEIGHT = LETTER
HEADING = ParagraphStyle("heading", fontName="Times-Bold", fontSize=17, leading=22, spaceAfter=8)
SECTION = ParagraphStyle("section", fontName="Times-Bold", fontSize=12, leading=15, spaceBefore=10, spaceAfter=3)
BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=11, leading=14, spaceAfter=6)


class Amendment(NamedTuple):
    """One page of the file: an amendment and the text of its sections in order."""

    title: str
    dates: str
    sections: tuple[str, ...]


AMENDMENTS = (
    Amendment(
        "Amendment XIII: Abolition of Slavery",
        "Passed by Congress January 31, 1865. Ratified December 6, 1865.",
        (
            "Neither slavery nor involuntary servitude, except as a punishment for crime whereof "
            "the party shall have been duly convicted, shall exist within the United States, or "
            "any place subject to their jurisdiction.",
            "Congress shall have power to enforce this article by appropriate legislation.",
        ),
    ),
    Amendment(
        "Amendment XIV: Citizenship and Equal Protection",
        "Passed by Congress June 13, 1866. Ratified July 9, 1868.",
        (
            "All persons born or naturalized in the United States, and subject to the "
            "jurisdiction thereof, are citizens of the United States and of the State wherein "
            "they reside. No State shall make or enforce any law which shall abridge the "
            "privileges or immunities of citizens of the United States; nor shall any State "
            "deprive any person of life, liberty, or property, without due process of law; nor "
            "deny to any person within its jurisdiction the equal protection of the laws.",
            "Representatives shall be apportioned among the several States according to their "
            "respective numbers, counting the whole number of persons in each State, excluding "
            "Indians not taxed. But when the right to vote at any election for the choice of "
            "electors for President and Vice President of the United States, Representatives in "
            "Congress, the Executive and Judicial officers of a State, or the members of the "
            "Legislature thereof, is denied to any of the male inhabitants of such State, being "
            "twenty-one years of age, and citizens of the United States, or in any way abridged, "
            "except for participation in rebellion, or other crime, the basis of representation "
            "therein shall be reduced in the proportion which the number of such male citizens "
            "shall bear to the whole number of male citizens twenty-one years of age in such "
            "State.",
            "No person shall be a Senator or Representative in Congress, or elector of President "
            "and Vice President, or hold any office, civil or military, under the United States, "
            "or under any State, who, having previously taken an oath, as a member of Congress, "
            "or as an officer of the United States, or as a member of any State legislature, or "
            "as an executive or judicial officer of any State, to support the Constitution of the "
            "United States, shall have engaged in insurrection or rebellion against the same, or "
            "given aid or comfort to the enemies thereof. But Congress may by a vote of "
            "two-thirds of each House, remove such disability.",
            "The validity of the public debt of the United States, authorized by law, including "
            "debts incurred for payment of pensions and bounties for services in suppressing "
            "insurrection or rebellion, shall not be questioned. But neither the United States "
            "nor any State shall assume or pay any debt or obligation incurred in aid of "
            "insurrection or rebellion against the United States, or any claim for the loss or "
            "emancipation of any slave; but all such debts, obligations and claims shall be held "
            "illegal and void.",
            "The Congress shall have power to enforce, by appropriate legislation, the provisions of this article.",
        ),
    ),
    Amendment(
        "Amendment XV: The Right to Vote Regardless of Race",
        "Passed by Congress February 26, 1869. Ratified February 3, 1870.",
        (
            "The right of citizens of the United States to vote shall not be denied or abridged "
            "by the United States or by any State on account of race, color, or previous "
            "condition of servitude.",
            "The Congress shall have power to enforce this article by appropriate legislation.",
        ),
    ),
)


def draw(canvas: Canvas, text: str, style: ParagraphStyle, top: float) -> float:
    """Draw one paragraph whose space begins at `top` and return where the next one begins."""
    paragraph = Paragraph(text, style)
    _, height = paragraph.wrap(WIDTH - 2 * MARGIN, top - MARGIN)
    bottom = top - style.spaceBefore - height
    if bottom < MARGIN:
        raise ValueError(f"the page is full before: {text[:60]}")
    paragraph.drawOn(canvas, MARGIN, bottom)
    return bottom - style.spaceAfter


def make(target: Path) -> None:
    """Write the PDF to `target`."""
    canvas = Canvas(str(target), pagesize=LETTER, invariant=1, lang="en-US")
    canvas.setTitle("The Reconstruction Amendments (XIII, XIV, XV)")
    canvas.setAuthor("Congress of the United States")
    canvas.setSubject("Constitution of the United States; Amendment XIV superseded in part by Amendment XXVI")
    canvas.setCreator("pincite")
    canvas.setKeywords("Amendment XIII, Amendment XIV, Amendment XV")
    canvas.showOutline()
    for number, amendment in enumerate(AMENDMENTS, start=1):
        page = f"page-{number}"
        canvas.bookmarkPage(page)
        canvas.addOutlineEntry(amendment.title, page, level=0)
        top = draw(canvas, amendment.title, HEADING, HEIGHT - MARGIN)
        top = draw(canvas, amendment.dates, BODY, top)
        for ordinal, text in enumerate(amendment.sections, start=1):
            key = f"{page}-section-{ordinal}"
            canvas.bookmarkHorizontal(key, 0, top)
            canvas.addOutlineEntry(f"Section {ordinal}", key, level=1)
            top = draw(canvas, f"Section {ordinal}", SECTION, top)
            top = draw(canvas, text, BODY, top)
        canvas.setFont("Times-Roman", 9)
        canvas.drawCentredString(WIDTH / 2, MARGIN / 2, f"Page {number} of {len(AMENDMENTS)}")
        canvas.showPage()
    canvas.save()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", type=Path, default=TARGET)
    make(parser.parse_args().output)
