"""What is encoded for a chunk: the headings above it, then its text with what it is read between."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["context_text", "encoded_text"]

_WORD = re.compile(r"\w+")


def encoded_text(headings: Sequence[str], text: str, before: str = "", after: str = "") -> str:
    r"""The text that an encoder reads for a chunk: `context_text`, a line break, then `before`, `text` and `after`.

    The one place where they are put together: chunkers count with it and the pipeline encodes with it. The last three
    joined are `Chunk.reading`.

    >>> encoded_text(["Part I", "Scope"], "It applies.")
    'Part I\nScope\nIt applies.'
    >>> encoded_text(["Part I", "Scope"], "## Scope\n\nIt applies.")
    'Part I\n## Scope\n\nIt applies.'
    >>> encoded_text(["Limits"], "| 42 | ms |", before="| value | unit |\n|---|---|\n")
    'Limits\n| value | unit |\n|---|---|\n| 42 | ms |'
    """
    context = context_text(headings, text)
    reading = f"{before}{text}{after}"
    return f"{context}\n{reading}" if context else reading


def context_text(headings: Sequence[str], text: str) -> str:
    """The headings (outermost first) one a line, without those that `text` begins with; "" when none are left.

    A chunk whose text begins with its own innermost heading, or with several nested ones in a row, must not
    carry them twice. Markup and white space around the words of a heading do not matter.
    """
    kept = list(headings)
    # The most inner headings that stand at the beginning of the text, in order.
    for first in range(len(kept)):
        if _begins_with(text, kept[first:]):
            del kept[first:]
            break
    return "\n".join(kept)


def _begins_with(text: str, headings: Sequence[str]) -> bool:
    words = _WORD.finditer(text)
    for heading in headings:
        for wanted in _WORD.finditer(heading):
            word = next(words, None)
            if word is None or word.group().casefold() != wanted.group().casefold():
                return False
    return True
