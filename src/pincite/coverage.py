"""How much of a text an encoder's vocabulary can read.

A subword vocabulary that was not made for a language still gives tokens for it: single letters, or the unknown token.
The vectors made of them look like any other, and they are near one another whatever the text says, so neither the
scores nor their spread tell that nothing was understood. The tokens do.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

__all__ = ["letters_read"]

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
#: One character of these is a word, or the stem of one.
_IDEOGRAPH = regex.compile(r"\p{Han}")


def letters_read(text: str, pieces: Sequence[tuple[int, int]]) -> float:
    """The share of the letters, marks and digits of `text` that lie in pieces a vocabulary knows as more than letters.

    `pieces` are the half-open ranges of the known tokens of `text`, in order; unknown tokens are left out. A letter is
    read when its piece holds two letters or more, when it is a word by itself, or when it is an ideograph. In [0, 1];
    1 for a text without letters. A vocabulary of bytes rather than characters is judged too low by this.

    >>> letters_read("tax law", [(0, 3), (4, 5), (5, 6), (6, 7)])
    0.5
    """
    words = [match.span() for match in _WORD.finditer(text)]
    total = sum(end - start for start, end in words)
    if not total:
        return 1.0
    read = 0
    i = 0
    for start, end in pieces:
        while i < len(words) and words[i][1] <= start:
            i += 1
        j, letters, alone = i, 0, False
        while j < len(words) and words[j][0] < end:
            first, last = max(start, words[j][0]), min(end, words[j][1])
            letters += last - first
            alone = alone or words[j][1] - words[j][0] == 1
            j += 1
        if letters > 1 or (letters == 1 and (alone or _IDEOGRAPH.search(text, start, end))):
            read += letters
    share: float = read / total
    return min(1.0, share)
