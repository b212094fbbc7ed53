"""Text of a PDF that nobody sees: invisible, white on white, transparent, or too small to read.

What the file says of a run of text makes it doubtful; the page as it is drawn decides. Where nothing at all is drawn
between a run's edges it is hidden; where it stands on the picture of a scanned page it is what OCR made of that.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as raw

from pincite.loaders.hidden import reads_like_orders

__all__ = ["Doubt", "confirmed", "doubt_about", "without"]

#: Points; smaller letters cannot be read.
_LEAST_SIZE = 2.0
#: Of 255: what a fill must have of each colour to be white, and what of opacity is none.
_WHITE, _OPAQUE = 245, 8
#: Of 255: where the greys of an area differ by no more, nothing is drawn there.
_FLAT = 10
#: Share of a run's characters between whose edges nothing is drawn.
_MOST = 0.8
#: Share of the invisible characters of a page that stand on ink where they are what OCR read.
_OCR = 0.5
_SCALE = 2.0
_MOST_PIXELS = 16_000_000
_UNSEEN = (raw.FPDF_TEXTRENDERMODE_INVISIBLE, raw.FPDF_TEXTRENDERMODE_CLIP)


@dataclass(frozen=True, slots=True)
class Doubt:
    """A run of characters that may be hidden, and in which way."""

    start: int
    end: int
    why: str


def doubt_about(layer: Any, at: int, size: float, height: float) -> str:
    """In which way the text object of character `at` may be hidden; "" where it is set to be seen.

    `size` is that of its font, `height` that of the character's box, in points.
    """
    if 0 < size < _LEAST_SIZE and 0 < height < 1.5 * _LEAST_SIZE:
        return "too small to read"
    if raw.FPDFTextObj_GetTextRenderMode(raw.FPDFText_GetTextObject(layer, at)) in _UNSEEN:
        return "invisible"
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not raw.FPDFText_GetFillColor(layer, at, red, green, blue, alpha):
        return ""
    if alpha.value <= _OPAQUE:
        return "transparent"
    return "white on white" if min(red.value, green.value, blue.value) >= _WHITE else ""


def confirmed(page: Any, text: str, boxes: array[float], doubts: Sequence[Doubt]) -> list[Doubt]:
    """Those of `doubts` that are hidden indeed on `page` as it is drawn."""
    hidden = [doubt for doubt in doubts if doubt.why == "too small to read"]
    unsure = [doubt for doubt in doubts if doubt.why != "too small to read" and text[doubt.start : doubt.end].strip()]
    if unsure:
        flat = _flat_characters(page, text, boxes, unsure)
        unseen = [
            at for doubt in unsure if doubt.why == "invisible" for at in range(doubt.start, doubt.end) if at in flat
        ]
        inked = sum(not flat[at] for at in unseen)
        is_ocr = bool(unseen) and inked >= _OCR * len(unseen)
        for doubt in unsure:
            seen = [flat[at] for at in range(doubt.start, doubt.end) if at in flat]
            if not seen or sum(seen) < _MOST * len(seen):
                continue
            # A word that OCR saw a little beside its ink is no message.
            if doubt.why == "invisible" and is_ocr and not reads_like_orders(text[doubt.start : doubt.end]):
                continue
            hidden.append(doubt)
    return sorted(hidden, key=lambda doubt: doubt.start)


def _flat_characters(page: Any, text: str, boxes: array[float], doubts: Sequence[Doubt]) -> dict[int, bool]:
    """Of each character with a box: whether nothing is drawn where it stands."""
    width, height = page.get_size()
    scale = min(_SCALE, (_MOST_PIXELS / max(1.0, width * height)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False)
    try:
        pixels = bitmap.to_numpy()
        pixels = pixels.reshape(pixels.shape[:2])
        rows, columns = pixels.shape
        x, y = ctypes.c_int(), ctypes.c_int()

        def device(left: float, bottom: float) -> tuple[int, int]:
            raw.FPDF_PageToDevice(page, 0, 0, columns, rows, 0, left, bottom, x, y)
            return x.value, y.value

        flat: dict[int, bool] = {}
        for doubt in doubts:
            for at in range(doubt.start, doubt.end):
                left, bottom, right, top = boxes[4 * at : 4 * at + 4]
                if right <= left or top <= bottom or text[at].isspace():
                    continue
                # Without the edges, on which a rule or a letter of the next line may lie.
                margin = (top - bottom) * 0.2
                (x0, y0), (x1, y1) = device(left, top - margin), device(right, bottom + margin)
                x0, x1, y0, y1 = min(x0, x1), max(x0, x1) + 1, min(y0, y1), max(y0, y1) + 1
                area = pixels[max(0, y0) : max(0, y1), max(0, x0) : max(0, x1)]
                flat[at] = area.size == 0 or int(area.max()) - int(area.min()) <= _FLAT
        return flat
    finally:
        bitmap.close()


def without(
    text: str, boxes: array[float], words: Sequence[tuple[int, int]], hidden: Sequence[Doubt]
) -> tuple[str, array[float], tuple[tuple[int, int], ...]]:
    """Characters, boxes and style marks of a page without the runs that are hidden. Ends of lines stay."""
    gone = bytearray(len(text))
    for doubt in hidden:
        for at in range(doubt.start, doubt.end):
            gone[at] = text[at] != "\n"
    kept = [at for at in range(len(text)) if not gone[at]]
    moved = array("f")
    for at in kept:
        moved.extend(boxes[4 * at : 4 * at + 4])
    before = [0]
    for flag in gone:
        before.append(before[-1] + (not flag))
    marks: dict[int, int] = {}
    for at, style in words:
        # Of several that come to stand at one place the last holds for what follows.
        marks[before[at]] = style
    return "".join(text[at] for at in kept), moved, tuple((at, style) for at, style in marks.items() if at < len(kept))
