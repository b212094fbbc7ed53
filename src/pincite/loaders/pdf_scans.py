"""Pages that are pictures, read by OCR into the same form as pages with a text layer."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from pincite.errors import LoadError
from pincite.loaders.alive import tell_alive
from pincite.loaders.clean import clean, collapse
from pincite.loaders.ocr import OcrError, OcrWord, Tesseract
from pincite.loaders.pdf_pages import RawFile, RawPage, picture

__all__ = ["Scans", "page_numbers", "read_scans"]

_DPI = 300
#: Of a picture; a page of A4 at 300 dpi has 8.7 million. Larger pages are read at fewer dots per inch.
_MOST_PIXELS = 24_000_000
_SECONDS = 120.0
#: Below this a page may lie upside down.
_DOUBTFUL = 0.6
#: Below this a page is a photograph or a script that was not asked for.
_LEAST_CONFIDENCE = 0.3


@dataclass(frozen=True, slots=True)
class Scans:
    """A file with the pages that OCR read, and what became of those that it did not."""

    file: RawFile
    read: dict[int, float]  #: page from 0 → mean confidence of its words, in [0, 1]
    failed: dict[int, str]  #: page from 0 → why


def read_scans(
    data: bytes, file: RawFile, pages: Iterable[int], tesseract: Tesseract, languages: str, seconds: float = _SECONDS
) -> Scans:
    """`file` with `pages` (from 0) as OCR reads them. Each may take `seconds`."""
    found = list(file.pages)
    read: dict[int, float] = {}
    failed: dict[int, str] = {}
    for index in pages:
        tell_alive()
        try:
            pixels, scale = picture(data, index, _DPI, _MOST_PIXELS)
            words = _read(tesseract, pixels, languages, max(70, round(72 * scale)), seconds)
        except LoadError as error:
            failed[index] = collapse(str(error))
            continue
        sure = _sure(words)
        if not words or sure < _LEAST_CONFIDENCE:
            failed[index] = "OCR found nothing legible"
            continue
        found[index] = _as_page(found[index], words, scale, sure)
        read[index] = sure
    return Scans(RawFile(found, file.outline, file.info), read, failed)


def _read(tesseract: Tesseract, pixels: Any, languages: str, dpi: int, seconds: float) -> list[OcrWord]:
    """The words of a page. Where they are doubtful it is tried the other ways up, and the surest reading counts."""
    import numpy as np

    height, width = pixels.shape
    until = monotonic() + seconds
    best: list[OcrWord] = []
    for quarters in (0, 2, 1, 3):  # anticlockwise
        turned = np.ascontiguousarray(np.rot90(pixels, quarters))
        image = b"P5 %d %d 255\n" % (turned.shape[1], turned.shape[0]) + turned.tobytes()
        left = until - monotonic()
        if left <= 0:
            break
        try:
            words = tesseract.read(image, languages, dpi=dpi, seconds=left)
        except OcrError:
            if quarters:
                break
            raise
        if _sure(words) > _sure(best):
            best = [_turned_back(word, quarters, width, height) for word in words]
        if not words or _sure(best) >= _DOUBTFUL:
            break
    return best


def _sure(words: list[OcrWord]) -> float:
    """The mean confidence of the letters, in [0, 1]."""
    letters = sum(len(word.text) for word in words)
    return sum(word.confidence * len(word.text) for word in words) / letters if letters else 0.0


def _turned_back(word: OcrWord, quarters: int, width: int, height: int) -> OcrWord:
    """A word of a page that was turned by `quarters` anticlockwise, where it is on the page as it was."""
    left, top, right, bottom = word.left, word.top, word.right, word.bottom
    if quarters == 1:
        left, top, right, bottom = width - bottom, left, width - top, right
    elif quarters == 2:
        left, top, right, bottom = width - right, height - bottom, width - left, height - top
    elif quarters == 3:
        left, top, right, bottom = top, height - right, bottom, height - left
    return replace(word, left=left, top=top, right=right, bottom=bottom)


def page_numbers(pages: Iterable[int]) -> str:
    """Page numbers from 1, of pages from 0, in the way that people write them: "2-4, 7"."""
    runs: list[list[int]] = []
    for page in sorted(pages):
        if runs and page == runs[-1][1] + 1:
            runs[-1][1] = page
        else:
            runs.append([page, page])
    return ", ".join(f"{a + 1}" if a == b else f"{a + 1}-{b + 1}" for a, b in runs)


def _as_page(page: RawPage, words: list[OcrWord], scale: float, confidence: float) -> RawPage:
    text: list[str] = []
    boxes = array("f")
    before = None
    for word in words:
        if before is not None:
            text.append("\n" if word.line != before else " ")
            boxes.extend((0.0, 0.0, 0.0, 0.0))
        before = word.line
        shown = collapse(clean(word.text).text)
        text.append(shown)
        box = _stored(page, word.left / scale, word.top / scale, word.right / scale, word.bottom / scale)
        for _ in shown:
            boxes.extend(box)
    return replace(page, text="".join(text), boxes=boxes, words=(), styles=(), fault="", confidence=confidence)


def _stored(page: RawPage, left: float, top: float, right: float, bottom: float) -> tuple[float, float, float, float]:
    """A box of the page as shown, y downwards, in points of the page as stored, y upwards."""
    width, height = page.size
    x0, y0, x1, y1 = left, height - bottom, right, height - top
    if page.turned == 90:
        x0, y0, x1, y1 = top, left, bottom, right
    elif page.turned == 180:
        x0, y0, x1, y1 = width - right, top, width - left, bottom
    elif page.turned == 270:
        x0, y0, x1, y1 = width - bottom, height - right, width - top, height - left
    x, y = page.corner
    return x0 + x, y0 + y, x1 + x, y1 + y
