"""Where on its pages a span of a PDF's text stands, to be highlighted: worked out anew each time, never stored."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pincite.errors import InputError
from pincite.loaders.ids import content_hash
from pincite.loaders.ocr import Tesseract
from pincite.loaders.pdf_pages import RawFile, read_file
from pincite.loaders.pdf_scans import read_scans
from pincite.loaders.pdf_text import PdfText, read_text
from pincite.types import Document

__all__ = ["Box", "boxes"]


class Box(NamedTuple):
    """A rectangle on a page, in PDF points from the bottom left corner of the page as the file stores it.

    Of a page that the file turns (``/Rotate``) these are points before it is turned, as PDF annotations count them.
    """

    page: int  #: position in the file, from 1
    x0: float
    y0: float
    x1: float
    y1: float


def boxes(data: bytes, document: Document, start: int, end: int) -> tuple[Box, ...]:
    """The rectangles of the characters ``document.text[start:end]``, one for each piece of a line, in reading order.

    `data` are the bytes that `document` was read from. Pages that OCR read are read by it again: their boxes are those
    of whole words. Characters that were put into the text (line ends, a space between two pieces) have none.

    Raises InputError when the span is not within the text, when `data` is another file, and when these bytes give
    another text than the document's (it was read by another version, or Tesseract is not the same).
    """
    if not 0 <= start <= end <= len(document.text):
        raise InputError(f"the span {start}-{end} is not within the {len(document.text)} characters of the text")
    if content_hash(data) != document.content_hash:
        raise InputError("these are not the bytes that the document was read from")
    scanned = str(document.metadata.get("ocr_pages", ""))
    languages = str(document.metadata.get("ocr_languages", ""))
    raw, read = _read(data, scanned, languages)
    if read.text != document.text:
        raise InputError("the bytes give another text than the document has: add the document again")
    found: list[Box] = []
    pages = iter(read.pages)
    page = next(pages, None)
    last = -2
    for offset in range(start, end):
        while page is not None and offset >= page.end:
            page, last = next(pages, None), -2
        if page is None:
            break
        origin = read.origins[offset]
        if origin < 0 or offset < page.start:
            if read.text[offset] == "\n":
                last = -2
            continue
        sideways = raw.pages[page.number - 1].turned in (90, 270)
        flat = raw.pages[page.number - 1].boxes[4 * origin : 4 * origin + 4]
        if len(flat) < 4 or (flat[2] <= flat[0] and flat[3] <= flat[1]):
            continue
        here = Box(page.number, *flat)
        if last >= 0 and found and found[-1].page == here.page and _one_line(found[-1], here, sideways):
            before = found[-1]
            here = Box(
                here.page,
                min(before.x0, here.x0),
                min(before.y0, here.y0),
                max(before.x1, here.x1),
                max(before.y1, here.y1),
            )
            found[-1] = here
        else:
            found.append(here)
        last = origin
    return tuple(found)


def _one_line(before: Box, here: Box, sideways: bool) -> bool:
    """Whether a character stands in the line of what is before it in the text: beside it, `sideways` above or below."""
    if sideways:
        overlap = min(before.x1, here.x1) - max(before.x0, here.x0)
        size = min(before.x1 - before.x0, here.x1 - here.x0)
        gap = max(before.y0, here.y0) - min(before.y1, here.y1)
    else:
        overlap = min(before.y1, here.y1) - max(before.y0, here.y0)
        size = min(before.y1 - before.y0, here.y1 - here.y0)
        gap = max(before.x0, here.x0) - min(before.x1, here.x1)
    return size > 0 and overlap > 0.4 * size and gap < 4 * size


@lru_cache(maxsize=2)
def _read(data: bytes, scanned: str, languages: str) -> tuple[RawFile, PdfText]:
    """What loading made of these bytes. The last files are kept: their citations are looked at one after another."""
    raw = read_file(data)
    if scanned:
        tesseract = Tesseract.find()
        if tesseract is None:
            raise InputError("pages of this document were read by OCR: install tesseract-ocr to find their boxes")
        raw = read_scans(data, raw, _numbers(scanned), tesseract, languages).file
    return raw, read_text(raw)


def _numbers(pages: str) -> list[int]:
    found: list[int] = []
    for run in pages.split(","):
        first, _, last = run.strip().partition("-")
        found += range(int(first) - 1, int(last or first))
    return found
