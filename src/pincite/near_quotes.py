"""What comes near to quoted words that do not stand in a source: the same words but for a few, or pieces set together.

Words are compared, not characters, so that what differs can be said: a number, a "not".
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

from pincite.words import has_content

if TYPE_CHECKING:
    from pincite.normal_text import NormalText

__all__ = ["Near", "nearest", "pieced"]

#: Twice the words that agree, in order, by the words of the quote and those of the place: from here on it is the
#: same wording altered. One word in five may be another; of three words none.
ALIKE = 0.7
#: Words of a quote whose places are looked at, the rarest first, until there are so many places.
_PLACES = 20_000
#: So many windows of a source are compared word for word.
_WINDOWS = 3
#: Left out without a mark, so many words in a row make two pieces of a quote.
_APART = 3
#: A word that means something is of the same place if no more words than this were left out before it.
_STRAY = 8
#: A quote is set together of no more pieces than this, of at least so many words each and on average.
_PIECES, _PIECE, _MEAN = 4, 2, 2.5
#: Longer quotes are looked for by their first words.
_LONGEST = 400
_ENDS = re.compile(r"[.!?。](?:'|\s|\Z)")


@dataclass(frozen=True, slots=True)
class Near:
    """A place that comes near, as a range of the source's normal text."""

    span: tuple[int, int]
    ratio: float
    difference: str
    complete: bool = False  #: every word of the quote stands there, in order
    apart: bool = False  #: they stand in pieces


def nearest(quote: NormalText, source: NormalText, marked: frozenset[int] = frozenset()) -> Near | None:
    """The place where the wording is the same but for a few words; None where it is not.

    Before the words of `marked`, by index, something is said to be left out: that is no difference.
    """
    words = quote.words[:_LONGEST]
    best: Near | None = None
    room = len(words) + max(4, len(words) // 2) + 60 * len(marked)
    for first in _windows(words, source, room):
        start, end = max(0, first - len(words)), min(len(source.words), first + room)
        near = _aligned(words, source, start, end, marked)
        if near is not None and (best is None or near.ratio > best.ratio):
            best = near
    return best


def _windows(words: Sequence[str], source: NormalText, width: int) -> Iterator[int]:
    """Where windows of `width` words begin that hold most of the quote's words, the fullest first."""
    hits: list[int] = []
    places = source.places
    for word in sorted(set(words), key=lambda each: len(places.get(each, ()))):
        if hits and len(hits) + len(places.get(word, ())) > _PLACES:
            break
        hits += places.get(word, ())[:_PLACES]
    hits.sort()
    held: Counter[str] = Counter()
    full: list[tuple[int, int]] = []
    last = 0
    for first, at in enumerate(hits):
        while last < len(hits) and hits[last] < at + width:
            held[source.words[hits[last]]] += 1
            last += 1
        full.append((len(held), -at))
        word = source.words[hits[first]]
        held[word] -= 1
        if not held[word]:
            del held[word]
    chosen: list[int] = []
    for _, at in heapq.nlargest(8 * _WINDOWS, full):
        if all(abs(-at - other) >= width // 2 for other in chosen):
            chosen.append(-at)
        if len(chosen) == _WINDOWS:
            break
    yield from chosen


def _aligned(words: Sequence[str], source: NormalText, start: int, end: int, marked: frozenset[int]) -> Near | None:
    window = source.words[start:end]
    blocks = [
        (match.a, match.b, match.size)
        for match in SequenceMatcher(None, window, list(words), autojunk=False).get_matching_blocks()
        if match.size
    ]
    blocks = _compact(blocks, window)
    if not blocks:
        return None
    agreed = sum(size for *_, size in blocks)
    # Words at the ends that were exchanged stand in the source as many words further out.
    first = max(0, blocks[0][0] - blocks[0][1])
    last = min(len(window), blocks[-1][0] + blocks[-1][2] + len(words) - blocks[-1][1] - blocks[-1][2])
    skipped = sum(
        there[0] - here[0] - here[2]
        for here, there in pairwise(blocks)
        if there[1] in marked or here[1] + here[2] in marked
    )
    ratio = 2 * agreed / (len(words) + last - first - skipped)
    if ratio < ALIKE or agreed < 2 or not has_content(" ".join(window[a + i] for a, _, n in blocks for i in range(n))):
        return None
    span = _range(source, start + first, start + last)
    gaps = [
        (here, there)
        for here, there in pairwise(blocks)
        if there[0] > here[0] + here[2] and there[1] == here[1] + here[2] and there[1] not in marked
    ]
    complete = agreed == len(words)
    left_out = [(here[0] + here[2], there[0]) for here, there in gaps]
    apart = complete and any(
        b - a >= _APART or (b - a > 1 and _ENDS.search(_between(source, start + a - 1, start + b))) for a, b in left_out
    )
    if apart and min(size for *_, size in blocks) >= _PIECE:
        return Near(span, ratio, _told_pieces([window[a : a + n] for a, _, n in blocks]), complete=True, apart=True)
    return Near(span, ratio, _told(window, words, blocks, first, last, marked), complete)


def _compact(blocks: list[tuple[int, int, int]], window: Sequence[str]) -> list[tuple[int, int, int]]:
    """Blocks without single words far out at either end, which would stretch the place."""

    def is_stray(single: tuple[int, int, int], here: tuple[int, int, int], there: tuple[int, int, int]) -> bool:
        further = there[0] - here[0] - (there[1] - here[1])
        return single[2] == 1 and further > (_STRAY if has_content(window[single[0]]) else _APART)

    while len(blocks) > 1 and is_stray(blocks[0], blocks[0], blocks[1]):
        blocks = blocks[1:]
    while len(blocks) > 1 and is_stray(blocks[-1], blocks[-2], blocks[-1]):
        blocks = blocks[:-1]
    return blocks


def _told(
    window: Sequence[str],
    words: Sequence[str],
    blocks: Sequence[tuple[int, int, int]],
    first: int,
    last: int,
    marked: frozenset[int],
) -> str:
    """What differs: ``“60” for “40”; left out: “not”; added: “ever”``."""
    told = []
    a, b = first, 0
    for start, at, size in [*blocks, (last, len(words), 0)]:
        theirs, ours = " ".join(window[a:start]), " ".join(words[b:at])
        if ours and theirs:
            told.append(f"“{ours}” for “{theirs}”")
        elif ours:
            told.append(f"added: “{ours}”")
        elif theirs and b not in marked:
            told.append(f"left out: “{theirs}”")
        a, b = start + size, at + size
    return "; ".join(told) or "punctuation"


def _told_pieces(pieces: Sequence[Sequence[str]]) -> str:
    return "stand apart: " + " / ".join(f"“{' '.join(piece)}”" for piece in pieces)


def _range(source: NormalText, first: int, last: int) -> tuple[int, int]:
    return source.starts[first], source.starts[last - 1] + len(source.words[last - 1])


def _between(source: NormalText, word: int, other: int) -> str:
    """What stands between two words, by index."""
    return source.normal[source.starts[word] + len(source.words[word]) : source.starts[other]]


def pieced(quote: NormalText, source: NormalText, reach: int) -> Near | None:
    """Pieces of the quote, in any order, that stand within `reach` characters of the source; None where it has none.

    Every word of the quote is in one of two to four pieces of at least two words, each with a word that means
    something: of fewer and shorter ones any text can be made.
    """
    words = quote.words
    if len(words) < _MEAN * 2 or len(words) > _LONGEST:
        return None
    for first in _windows(words, source, max(8, reach // 6)):
        start = max(0, first - 4)
        end = start
        while end < len(source.words) and source.starts[end] < source.starts[first] + reach:
            end += 1
        found = _partition(words, source.words[start:end])
        if found and len(words) >= _MEAN * len(found):
            begin, finish = min(at for at, _ in found), max(at + size for at, size in found)
            pieces = [source.words[start + at : start + at + size] for at, size in found]
            return Near(_range(source, start + begin, start + finish), 0.0, _told_pieces(pieces), apart=True)
    return None


def _partition(words: Sequence[str], window: Sequence[str]) -> list[tuple[int, int]]:
    """(Place, length) of the fewest pieces of the window that make the words; empty where there are none."""
    places: dict[str, list[int]] = {}
    for i, word in enumerate(window):
        places.setdefault(word, []).append(i)
    found: list[tuple[int, int]] = []
    position = 0
    while position < len(words):
        size, at = 0, 0
        for place in places.get(words[position], ()):
            length = _run(words, position, window, place)
            # A later place of the same length goes on from the piece before it.
            later = bool(found) and at < found[-1][0] <= place
            if length > size or (length == size and later):
                size, at = length, place
        if len(words) - position - size == 1:
            size -= 1  # not one word alone at the end
        if size < _PIECE or len(found) == _PIECES or not has_content(" ".join(words[position : position + size])):
            return []
        found.append((at, size))
        position += size
    return found if len(found) > 1 else []


def _run(words: Sequence[str], position: int, window: Sequence[str], place: int) -> int:
    length = 0
    while (
        position + length < len(words)
        and place + length < len(window)
        and words[position + length] == window[place + length]
    ):
        length += 1
    return length
