"""What changed between two texts, in spans of both: by lines, and within a changed line by words.

Texts are cut into lines, long lines into their sentences. Lines that stand once in both texts are anchors (patience
diff); only what lies between two anchors is compared line by line. That takes n log n for n lines, where comparing all
with all takes n².
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Literal

__all__ = ["Change", "differences", "lines_of", "word_differences"]

#: Lines longer than this are compared by sentences.
_LONG = 200

#: Between two anchors up to so many pairs of lines are compared; of more, all of both counts as changed.
_PAIRS = 40_000

#: Texts longer than this are not compared by words.
_WORDS_OF = 20_000

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCE = re.compile(r".+?(?:[.!?;:。！？।][\"'”’)\]]*\s+|\Z)", re.S)
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

#: A block that is equal: where it begins in both, and its length.
_Block = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Change:
    """One place where two texts differ. Spans are half-open code points; that of what was added or removed is empty.

    The old text with every `old` span replaced by the new text's `new` span is the new text.
    """

    kind: Literal["added", "removed", "changed"]
    old: tuple[int, int]
    new: tuple[int, int]


def differences(old: str, new: str) -> list[Change]:
    """Where `new` differs from `old`, in order, by whole lines or sentences; empty when they are equal."""
    return _changes(lines_of(old), lines_of(new), 0, 0)


def word_differences(old: str, new: str) -> list[Change]:
    """The same by words, for texts that are short; of long ones, all is one change."""
    if len(old) > _WORDS_OF or len(new) > _WORDS_OF:
        return [] if old == new else [_change(0, len(old), 0, len(new))]
    return _changes(_WORD.findall(old), _WORD.findall(new), 0, 0)


def lines_of(text: str) -> list[str]:
    r"""The lines of a text with their ends, long ones in sentences. Joined they are the text.

    >>> lines_of("one\n\ntwo")
    ['one\n', '\n', 'two']
    """
    parts: list[str] = []
    for line in _LINE.findall(text):
        parts += _SENTENCE.findall(line) if len(line) > _LONG else (line,)
    return parts


def _changes(old: Sequence[str], new: Sequence[str], old_at: int, new_at: int) -> list[Change]:
    old_offsets = list(accumulate(map(len, old), initial=old_at))
    new_offsets = list(accumulate(map(len, new), initial=new_at))
    changes = []
    i = j = 0
    for a, b, size in [*_equal_blocks(old, new), (len(old), len(new), 0)]:
        if i < a or j < b:
            changes.append(_change(old_offsets[i], old_offsets[a], new_offsets[j], new_offsets[b]))
        i, j = a + size, b + size
    return changes


def _change(old_start: int, old_end: int, new_start: int, new_end: int) -> Change:
    kind: Literal["added", "removed", "changed"] = "changed"
    if old_start == old_end:
        kind = "added"
    elif new_start == new_end:
        kind = "removed"
    return Change(kind, (old_start, old_end), (new_start, new_end))


def _equal_blocks(old: Sequence[str], new: Sequence[str]) -> list[_Block]:
    """Blocks of both that are equal, in order; two that touch in both are one."""
    found: list[_Block] = []
    # A stack instead of recursion: what lies between anchors may nest deeply.
    waiting: list[tuple[int, int, int, int]] = [(0, len(old), 0, len(new))]
    while waiting:
        a, a_end, b, b_end = waiting.pop()
        while a < a_end and b < b_end and old[a] == new[b]:
            found.append((a, b, 1))
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and old[a_end - 1] == new[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            found.append((a_end, b_end, 1))
        if a == a_end or b == b_end:
            continue
        if anchors := _anchors(old, new, a, a_end, b, b_end):
            ends = [*anchors, (a_end, b_end)]
            starts = [(a - 1, b - 1), *anchors]
            found += [(i, j, 1) for i, j in anchors]
            waiting += [(i + 1, k, j + 1, m) for (i, j), (k, m) in zip(starts, ends, strict=True)]
        elif (a_end - a) * (b_end - b) <= _PAIRS:
            matcher = SequenceMatcher(None, old[a:a_end], new[b:b_end], autojunk=False)
            found += [(a + i, b + j, size) for i, j, size in matcher.get_matching_blocks() if size]
    return list(_joined(sorted(found)))


def _joined(blocks: Sequence[_Block]) -> Iterator[_Block]:
    last: _Block | None = None
    for a, b, size in blocks:
        if last is not None and (last[0] + last[2], last[1] + last[2]) == (a, b):
            last = (last[0], last[1], last[2] + size)
            continue
        if last is not None:
            yield last
        last = (a, b, size)
    if last is not None:
        yield last


def _anchors(old: Sequence[str], new: Sequence[str], a: int, a_end: int, b: int, b_end: int) -> list[tuple[int, int]]:
    """Lines that stand once in each part, as many of them as are in the same order in both."""
    once_old = _once(old, a, a_end)
    once_new = _once(new, b, b_end)
    pairs = [(i, once_new[line]) for line, i in once_old.items() if line in once_new]
    return _longest_increasing(pairs, key=lambda pair: pair[1])


def _once(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    counts = Counter(lines[start:end])
    return {lines[i]: i for i in range(start, end) if counts[lines[i]] == 1}


def _longest_increasing(
    pairs: Sequence[tuple[int, int]], key: Callable[[tuple[int, int]], int]
) -> list[tuple[int, int]]:
    """The longest subsequence whose keys rise, by piles (patience sorting)."""
    tops: list[int] = []  # the least last key of a subsequence of each length
    at: list[int] = []  # which pair that is
    before: list[int] = []
    for number, pair in enumerate(pairs):
        pile = bisect_left(tops, key(pair))
        before.append(at[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(key(pair))
            at.append(number)
        else:
            tops[pile], at[pile] = key(pair), number
    found = []
    number = at[-1] if at else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]
