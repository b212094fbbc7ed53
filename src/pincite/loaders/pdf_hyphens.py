"""Words that are broken at the ends of lines, mended by the document's own spelling."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from pincite.loaders.pdf_pages import MARK

__all__ = ["Spelling"]

# Older PDFium puts U+0002 for a hyphen at the end of a line; files that name the character have a soft hyphen there.
_HYPHEN = re.compile("(?<=[^\\W\\d_])\u0002\n?(?=[^\\W\\d_])|\ufffe\n?|\u00ad[ \t]*\n")
_WORD = re.compile(r"[^\W\d_]+")
_PAIR = re.compile(r"(?<![^\W\d_])(?=([^\W\d_]{1,40}-[^\W\d_]{1,40})(?![^\W\d_]))")
_LETTERS_BEFORE = re.compile(r"[^\W\d_]+\Z")
_LONGEST_WORD = 60


class Spelling:
    """How a document spells the words that it breaks at line ends."""

    def __init__(self, text: str) -> None:
        self._text = _HYPHEN.sub(MARK, text)
        self._words: Counter[str] = Counter()
        self._pairs: Counter[str] = Counter()
        self._broken: Counter[str] = Counter()
        self._hyphenates = True  # words are broken at all, not only compounds at their own hyphens
        if MARK in self._text:
            self._study()

    def mend(self, text: str) -> str:
        """`text` with every hyphen at a line end either written or dropped, and the lines run together there."""
        parts = _HYPHEN.sub(MARK, text).split(MARK)
        mended = [parts[0]]
        for left, part in pairwise(parts):
            mended.append(part if self.is_one_word(left, part) else f"-{part}")
        return "".join(mended)

    def is_one_word(self, before: str, after: str) -> bool:
        """Whether the hyphen between the line that ends with `before` and the one that begins with `after` is dropped.

        The commoner of the two spellings in this document decides. Where it has neither, two parts that are both words
        of this document make a compound ("well-founded"), and anything else is one word ("hori-zontally"), unless all
        other breaks of the document are at hyphens that were there anyway. Numbers are never run together.
        """
        halves = _halves(before, after)
        if halves is None:
            return False
        left, right = halves[0].lower(), halves[1].lower()
        known = self._written(left, right)
        if known is not None:
            return known
        if halves[1][0].isupper() and not halves[0].isupper():
            return False  # Anglo-Saxon
        # The broken parts themselves were counted as words, on either side of each mark.
        return self._hyphenates and any(self._words[each] <= self._broken[each] for each in (left, right))

    def _study(self) -> None:
        low = self._text.lower()
        self._words = Counter(_WORD.findall(low))
        self._pairs = Counter(match[1] for match in _PAIR.finditer(low))
        parts = low.split(MARK)
        pairs = [halves for halves in map(_halves, parts, parts[1:]) if halves is not None]
        self._broken = Counter(half for halves in pairs for half in halves)
        known = [self._written(*halves) for halves in pairs]
        decided = [one for one in known if one is not None]
        self._hyphenates = any(decided) or not decided

    def _written(self, left: str, right: str) -> bool | None:
        """Whether the document elsewhere writes the word without the hyphen; None where it has neither spelling."""
        one, two = self._words[left + right], self._pairs[f"{left}-{right}"]
        return one > two if one or two else None


def _halves(before: str, after: str) -> tuple[str, str] | None:
    """The letters on either side of a break; None when one side has none."""
    left = _LETTERS_BEFORE.search(before[-_LONGEST_WORD:])
    right = _WORD.match(after[:_LONGEST_WORD])
    return (left[0], right[0]) if left and right else None
