"""What every chunker needs: token positions of a whole document, grapheme-safe cuts, checked sizes.

A document is tokenized once, in blocks, and cuts are found by bisection in the token positions. Some tokenizers
count a piece of text differently from the same characters inside a longer text, so these positions only propose:
the final piece is always counted by itself and made smaller until it fits.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable

import regex

from pincite.errors import ConfigError
from pincite.protocols import Tokenizer

__all__ = [
    "CHARACTERS_PER_TOKEN",
    "Graphemes",
    "TokenMap",
    "check_size",
    "largest_fit",
    "max_characters",
    "trim",
]

CHARACTERS_PER_TOKEN = 16
"""No chunk is longer than this many characters for each token of its size (and never held below 512).

A tokenizer may call a word of any length one unknown token, or see nothing at all in control characters; without
a second limit such text would be one chunk.
"""

_BLOCK = 1 << 16
# Characters that never join a neighbour of this same class: runs of them are skipped without looking inside.
_SIMPLE = r"[ -~\t\n\u3001\u3002\u3041-\u3096\u30A1-\u30FA\u4E00-\u9FFF\u0410-\u044F]"
_CLUSTER = regex.compile(rf"(?:{_SIMPLE}(?={_SIMPLE}|\Z))+|(?P<cluster>\X)")


def check_size(name: str, size: int) -> int:
    """`size`, or ConfigError when it is not a whole number above zero."""
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise ConfigError(f"{name}: size is {size!r}; it must be a number of tokens of at least 1")
    return size


def max_characters(size: int) -> int:
    """The most characters a chunk of `size` tokens may hold."""
    return max(512, CHARACTERS_PER_TOKEN * size)


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space at either end; empty (start == end) when nothing else is in it."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


class Graphemes:
    """Which positions of a text are inside a user-perceived character (Unicode UAX #29, extended clusters).

    White space is never taken as part of a cluster: a position beside it is always a boundary, because chunks are
    trimmed there.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = array("L")
        self._ends = array("L")
        if text.isascii():  # only CR LF is a cluster then, and it is white space
            return
        for match in _CLUSTER.finditer(text):
            start, end = match.span("cluster")
            if end - start > 1:
                self._starts.append(start)
                self._ends.append(end)

    def _cluster(self, position: int) -> tuple[int, int] | None:
        i = bisect_left(self._starts, position) - 1
        if i < 0 or self._ends[i] <= position:
            return None
        if self._text[position - 1].isspace() or self._text[position].isspace():
            return None
        return self._starts[i], self._ends[i]

    def is_boundary(self, position: int) -> bool:
        """Whether a cut at `position` leaves every cluster whole."""
        return self._cluster(position) is None

    def before(self, position: int) -> int:
        """The last boundary at or before `position`."""
        cluster = self._cluster(position)
        return position if cluster is None else cluster[0]

    def after(self, position: int) -> int:
        """The first boundary at or after `position`."""
        cluster = self._cluster(position)
        return position if cluster is None else cluster[1]


class TokenMap:
    """Where the tokens of a document begin and end, counted in one pass.

    The text is given to the tokenizer in blocks of about 64k characters, so that memory and time stay linear for a
    line of any length. Counts of ranges are close estimates: see `largest_fit`.
    """

    def __init__(self, tokenizer: Tokenizer, text: str, graphemes: Graphemes) -> None:
        self._length = len(text)
        self.starts = array("L")
        self.ends = array("L")
        start = 0
        while start < len(text):
            end = min(start + _BLOCK, len(text))
            if end < len(text):
                space = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
                end = space + 1 if space > start else max(graphemes.before(end), start)
                end = end if end > start else min(start + _BLOCK, len(text))
            spans = tokenizer.spans(text[start:end])
            self.starts.extend([start + a for a, _ in spans])
            self.ends.extend([start + b for _, b in spans])
            start = end

    def first(self, position: int) -> int:
        """The index of the first token that ends after `position`."""
        return bisect_right(self.ends, position)

    def before(self, position: int) -> int:
        """How many tokens of the document begin before `position`."""
        return bisect_left(self.starts, position)

    def start(self, index: int) -> int:
        """Where token `index` begins; the length of the text when there is none."""
        return self.starts[index] if index < len(self.starts) else self._length

    def count(self, start: int, end: int) -> int:
        """How many tokens have a character in the range, as the whole text is tokenized."""
        return max(0, self.before(end) - self.first(start))

    def advance(self, position: int, tokens: int) -> int:
        """The end of the longest range from `position` that holds at most `tokens` tokens."""
        return self.start(self.first(position) + tokens)


def largest_fit(
    start: int,
    limit: int,
    cut: Callable[[int], int | None],
    excess: Callable[[int], int | None],
) -> int | None:
    """The end of a piece from `start` that really fits; None when `cut` finds no place for one.

    `cut(limit)` proposes an end in (start, limit]. `excess(end)` counts the piece itself and gives None when it
    fits, else the position where its first token over the budget begins. Each round has a smaller limit, and after
    three it is halved, so there are O(log limit) rounds whatever the tokenizer does.
    """
    rounds = 0
    while limit > start:
        end = cut(limit)
        if end is None:
            return None
        over = excess(end)
        if over is None:
            return end
        rounds += 1
        limit = min(over, end - 1)
        if rounds > 3:
            limit = min(limit, start + (end - start) // 2)
    return None
