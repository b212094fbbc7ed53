"""Lines where they stand in the text of a document, and how most of it is set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.loaders.pdf_lines import Line
from pincite.loaders.pdf_pages import Style

__all__ = ["SetLine", "body_style"]


@dataclass(frozen=True, slots=True)
class SetLine:
    """A line of a page and its span in the text."""

    start: int
    end: int
    page: int  #: from 0
    line: Line


def body_style(lines: Sequence[SetLine]) -> Style:
    """The style of most characters. Sizes are compared in half points: the same type is rarely the same number."""
    sizes: Counter[float] = Counter()
    styles: dict[float, Counter[Style]] = {}
    for each in lines:
        size = round(each.line.style.size * 2) / 2
        sizes[size] += len(each.line.text)
        styles.setdefault(size, Counter())[each.line.style] += len(each.line.text)
    if not sizes:
        return Style(0.0, False, "")
    size = sizes.most_common(1)[0][0]
    return styles[size].most_common(1)[0][0]
