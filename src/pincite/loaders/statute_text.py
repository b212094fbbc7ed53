"""Acts, codes and rules as plain text: their parts, chapters and sections as headings, as in a PDF of one.

Numbered lines are in many texts. An act is told by how its sections begin: "302. Punishment for murder.—Whoever …", a
number, a title, a full stop and a dash. Without several of them, nothing of the text is looked at.
"""

from __future__ import annotations

import re
from array import array
from itertools import islice

from pincite.types import Heading

__all__ = ["read_statute"]

_LEAST_SECTIONS = 10
_LONGEST = 20_000_000  #: characters; no act is longer
_SECTION = re.compile(
    r"^[ \t]{0,40}(?:\d{0,3}\s?[\[*]+\s?){0,4}\d{1,4}[A-Z]{0,3}\. ?[^\W\d_a-z“\"'‘\[(][^\n—–]{2,200}\.\s?[—–]",
    re.MULTILINE,
)


def read_statute(text: str) -> tuple[tuple[Heading, ...], str]:
    """The headings of an act in order, and its name as the text begins with it; empty for what is no act."""
    if len(text) > _LONGEST or sum(1 for _ in islice(_SECTION.finditer(text), _LEAST_SECTIONS)) < _LEAST_SECTIONS:
        return (), ""
    # With the machinery for PDF, which few texts need.
    from pincite.loaders.pdf_lines import Line
    from pincite.loaders.pdf_pages import Style
    from pincite.loaders.pdf_set_lines import SetLine
    from pincite.loaders.pdf_statute import act_title, find_statute

    style = Style(10.0, False, "")
    lines: list[SetLine] = []
    offset = 0
    for line in text.split("\n"):
        shown = line.strip()
        if shown:
            start = offset + len(line) - len(line.lstrip())
            lines.append(SetLine(start, start + len(shown), 0, Line(shown, array("i"), 0, 0, 0, 0, style)))
        offset += len(line) + 1
    headings = find_statute(text, lines)
    return headings, act_title(text, lines) if headings else ""
