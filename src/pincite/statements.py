"""The sentences of an answer, each with the passages that its ``[n]`` markers name."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pincite.markers import CodeReader
from pincite.quotation_marks import find_quotations
from pincite.sentences import sentence_spans

__all__ = ["MARKER", "UNSUPPORTED", "Statement", "marked", "statements"]

#: Stands where the numbers of a sentence would that no source supports. Nobody takes it for a citation: it has none.
UNSUPPORTED = "[unsupported]"
MARKER = re.compile(r"\[(\d{1,3})\]")
_MARKED_UNSUPPORTED = re.compile(re.escape(UNSUPPORTED))
#: A marker that was written as a link says no more than the marker.
_WITH_ADDRESS = re.compile(r"\[\d{1,3}\](?:\((?:https?://|www\.|#)[^()\s]{1,2000}\))?")
#: A line of a list of sources: "[1] The title", "[2]: https://…". Lower case goes on with the sentence above.
_ENTRY = re.compile(
    r"^[ \t]*(?:[-*•][ \t]+)?(?=\[\d{1,3}\])(?:\[\d{1,3}\][ \t]*)+:?[ \t]*(?=[^\W_a-z]|https?:)", re.MULTILINE
)
#: "The landlord[1]." names a source; what looks like the name of a variable does not.
_SUBSCRIPTED = re.compile(
    r"(?:(?<!\w)[a-zA-Z]|\w*(?:_|[a-z][A-Z])\w*"
    r"|\b(?:arr|arrays?|lists?|tuples?|vectors?|matrix|argv|args|items|values|keys|rows|cols|data|buf|buffer))"
    r"(?:\[\d+\])*\Z"
)
_ITEM = re.compile(r"\A(?:[-*•]|\d{1,3}[.)])\s+(?=\S)")
_BLOCK_QUOTE = re.compile(r"^[ ]{0,3}>[ >]*", re.MULTILINE)
_CONNECTIVE = re.compile(r"\A[\s,;]*(?:(?:and|but|while|whereas|or)\s+)?")


def marked(text: str) -> list[re.Match[str]]:
    """The markers of a text; what is in code and the subscript of something like ``array[2]`` is none."""
    code = CodeReader()
    coded = [code.is_code(character) for character in text]
    return [
        match
        for match in MARKER.finditer(text)
        if not coded[match.start()] and not _SUBSCRIPTED.search(text, max(0, match.start() - 40), match.start())
    ]


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer and the passages it names, as indices; none where it names none."""

    start: int
    end: int
    text: str  #: without its markers and without the number or dot of a list
    named: tuple[int, ...]
    markers: tuple[tuple[int, int], ...] = ()  #: where they stand in the answer
    parts: tuple[Statement, ...] = ()  #: what stands before each of its markers, where these stand apart


def statements(text: str) -> list[Statement]:
    """The sentences of an answer with the ``[n]`` markers that stand in them or right after them.

    A marker that begins a line belongs to what follows on the line. Markers in code are none. Sentences within one pair
    of quotation marks are one statement; of a block quote each has all its markers.

    >>> [(s.text, s.named) for s in statements("Two terms [2]. Or ten years. [1][3]")]
    [('Two terms.', (1,)), ('Or ten years.', (0, 2))]
    """
    found = marked(text)
    masks = sorted(
        [*(_WITH_ADDRESS.match(text, match.start()) or match for match in found), *_MARKED_UNSUPPORTED.finditer(text)],
        key=lambda match: match.start(),
    )
    pieces, position = [], 0
    for match in masks:
        pieces += [text[position : match.start()], " " * len(match.group())]
        position = match.end()
    masked = "".join([*pieces, text[position:]])
    quoted = find_quotations(text)
    blocks = [span for span in quoted if _BLOCK_QUOTE.match(text, text.rfind("\n", 0, span[0]) + 1)]
    entries = {match.start() for match in _ENTRY.finditer(text)}
    cut = _parted(masked, sentence_spans(masked), entries)
    spans = _joined(masked, cut, [span for span in quoted if span not in blocks])
    starts = [start for start, _ in spans]
    markers: list[list[re.Match[str]]] = [[] for _ in spans]
    for match in found:
        before = bisect_left(starts, match.start())
        owner = before - 1
        if before == 0 or (match.start() >= spans[owner][1] and _leads(masked, match)):
            owner += 1
        if owner < len(spans):
            markers[owner].append(match)
    named = [_numbers(each) for each in markers]
    for first, last in blocks:
        inside = [i for i, (start, end) in enumerate(spans) if start < last and end > first]
        together = tuple(dict.fromkeys(number for i in inside for number in named[i]))
        for i in inside:
            named[i] = together
    return [
        Statement(
            start,
            end,
            _without_markers(text, start, end, masks),
            names,
            tuple(match.span() for match in own),
            _parts(text, start, end, own),
        )
        for (start, end), names, own in zip(spans, named, markers, strict=True)
    ]


def _parted(text: str, spans: list[tuple[int, int]], borders: set[int]) -> list[tuple[int, int]]:
    """The spans cut where a line of a list of sources begins."""
    if not borders:
        return spans
    ordered = sorted(borders)
    parted = []
    for start, end in spans:
        cuts = [start, *ordered[bisect_right(ordered, start) : bisect_left(ordered, end)], end]
        for first, last in pairwise(cuts):
            bare = text[first:last].strip()
            if bare:
                first += len(text[first:last]) - len(text[first:last].lstrip())
                parted.append((first, first + len(bare)))
    return parted


def _numbers(markers: Sequence[re.Match[str]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(match.group(1)) - 1 for match in markers))


def _joined(text: str, spans: list[tuple[int, int]], quoted: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sentences, those that one pair of quotation marks holds together made one."""
    joined: list[tuple[int, int]] = []
    begins = [first for first, _ in quoted]
    for start, end in spans:
        # Quotations lie in order, none in another: the last that begins before the border reaches furthest.
        before = bisect_left(begins, joined[-1][1]) - 1 if joined else -1
        within = before >= 0 and start < quoted[before][1]
        # A stop that stands alone is the end of the sentence before it.
        stop = bool(joined) and not any(map(str.isalnum, text[start:end])) and "\n" not in text[joined[-1][1] : start]
        if within or stop:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _parts(text: str, start: int, end: int, markers: Sequence[re.Match[str]]) -> tuple[Statement, ...]:
    """What stands before each group of markers of a sentence; none where there is but one group."""
    groups: list[list[re.Match[str]]] = []
    for match in markers:
        if groups and not any(map(str.isalnum, text[groups[-1][-1].end() : match.start()])):
            groups[-1].append(match)
        else:
            groups.append([match])
    if len(groups) < 2:
        return ()
    begins = [start, *(group[-1].end() for group in groups[:-1])]
    # Words after the last markers go with those before.
    more = any(map(str.isalnum, text[groups[-1][-1].end() : end]))
    ends = [*(group[0].start() for group in groups[:-1]), end if more else groups[-1][0].start()]
    parts = []
    for first, last, group in zip(begins, ends, groups, strict=True):
        piece = text[first : min(last, end)]
        lead = len(piece) - len(_CONNECTIVE.sub("", piece, count=1))
        first, last = first + lead, min(last, end)
        while last > first and text[last - 1].isspace():
            last -= 1
        parts.append(Statement(first, last, _without_markers(text, first, last, group), _numbers(group)))
    return tuple(parts)


def _leads(masked: str, marker: re.Match[str]) -> bool:
    """Whether a marker begins its line and words follow."""
    before = masked[: marker.start()].rpartition("\n")[2]
    after = masked[marker.end() :].partition("\n")[0]
    return not before.strip() and bool(after.strip())


def _without_markers(text: str, start: int, end: int, markers: Sequence[re.Match[str]]) -> str:
    parts, position = [], start
    for marker in markers:
        if start <= marker.start() < end:
            # "two years [1], or" is "two years, or" and "two [1] years" is "two years".
            parts.append(text[position : marker.start()].rstrip())
            position = marker.end()
    bare = _BLOCK_QUOTE.sub("", "".join([*parts, text[position:end]]))
    # "1." at the beginning of a list's line is no number that a source must hold.
    return _ITEM.sub("", " ".join(bare.split()))
