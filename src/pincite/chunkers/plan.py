"""Where a document may be cut, for the chunkers that follow sentences or headings."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from pincite.blocks import Blocks
from pincite.chunkers.pack import Graphemes, TokenMap, max_characters, trim
from pincite.protocols import Tokenizer
from pincite.sentences import sentence_spans
from pincite.types import Document, Heading

__all__ = ["Plan"]

_CLAUSE_SPACE = frozenset(";:—–")
_CLAUSE_WIDE = frozenset("、，；：・。！？")


class Plan:
    """One document with the places where it may be cut, each kind in order.

    Without `structure`, headings are passed over and paragraphs are no better a place than sentences.
    """

    def __init__(self, document: Document, tokenizer: Tokenizer, *, structure: bool = True) -> None:
        self.document = document
        text = self.text = document.text
        self.graphemes = Graphemes(text)
        self.tokens = TokenMap(tokenizer, text, self.graphemes)
        headings = document.headings if structure else ()
        self.headings: Sequence[Heading] = sorted(headings, key=lambda heading: heading.start)
        self._heading_starts = [heading.start for heading in self.headings]
        self._parents = _parents(self.headings)
        #: a chunk may begin there: paragraphs, fenced blocks, tables; or sentences of any of them
        self.blocks = array("L")
        self.sentences = array("L")
        self.lines = array("L")  #: rows of tables, and lines of fenced blocks
        self.outer_lines = array("L")  #: those that are not indented: between two functions, not inside one
        self.framing = Blocks(text)
        self._find_cuts(paragraphs=structure)

    # Sections

    def _blank(self, start: int, end: int) -> bool:
        return start >= end or self.text[start:end].isspace()

    def _nests(self, i: int) -> bool:
        """Whether nothing stands under heading `i` but a deeper heading."""
        if i + 1 >= len(self.headings):
            return False
        here, after = self.headings[i], self.headings[i + 1]
        return after.level > here.level and self._blank(here.end, after.start)

    def sections(self, fits: Callable[[int, int], bool]) -> Iterator[tuple[int, int]]:
        """Trimmed ranges in order that together hold everything but white space.

        Each is a section with all under it when it `fits`, else what stands directly under its heading.
        """
        headings, text = self.headings, self.text
        if not headings:
            yield trim(text, 0, len(text))
            return
        if not self._blank(0, headings[0].start):
            yield trim(text, 0, headings[0].start)
        ends = _section_ends(headings, len(text))
        begin: int | None = None  # of headings that stand over nothing but the next one
        i = 0
        while i < len(headings):
            begin = headings[i].start if begin is None else begin
            start, end = trim(text, begin, ends[i])
            following = bisect_left(self._heading_starts, ends[i], lo=i + 1)
            if not fits(start, end):
                if self._nests(i):
                    i += 1
                    continue
                following = i + 1
                start, end = trim(text, begin, self._heading_starts[i + 1] if following < len(headings) else len(text))
            if start < end:
                yield start, end
            begin = None
            i = following

    def headings_at(self, start: int, last: int) -> tuple[str, ...]:
        """The headings in force at the first words of the range that are not themselves a heading."""
        i = bisect_right(self._heading_starts, start) - 1
        while i >= 0 and self.headings[i].end > start and self._nests(i) and self._heading_starts[i + 1] < last:
            i += 1
        path: list[str] = []
        while i >= 0:
            path.append(self.headings[i].text)
            i = self._parents[i]
        return tuple(reversed(path))

    # Cuts

    def _find_cuts(self, *, paragraphs: bool) -> None:
        text = self.text
        atomic = self.framing.items
        banned = self._heading_interiors()
        starts = sorted({*self.framing.paragraphs, *self._heading_starts})
        blocks = [c for c in starts if c not in banned and self.graphemes.is_boundary(c)]
        if paragraphs:
            self.blocks.extend(blocks)
        inside = _Ranges([(block.start, block.end) for block in atomic])
        held = _Ranges(banned.ranges)
        found = {a for a, _ in sentence_spans(text) if not inside.holds(a) and not held.holds(a)}
        found.update(blocks)
        self.sentences.extend(c for c in sorted(found) if self.graphemes.is_boundary(c))
        for block in atomic:
            for line in block.cuts:
                self.lines.append(line)
                if not text[line].isspace():
                    self.outer_lines.append(line)

    def _heading_interiors(self) -> _Ranges:
        """Where a cut would part a heading from what it stands over."""
        ranges: list[tuple[int, int]] = []
        for i, heading in enumerate(self.headings):
            content, _ = trim(self.text, min(heading.end, len(self.text)), len(self.text))
            beyond = i + 1 < len(self.headings) and content >= self._heading_starts[i + 1]
            if beyond and not self._nests(i):
                content -= 1
            ranges.append((heading.start, content))
        return _Ranges(ranges)

    def sentences_in(self, start: int, end: int) -> Sequence[int]:
        """Where sentences begin inside the range, its own beginning left out."""
        return self.sentences[bisect_right(self.sentences, start) : bisect_left(self.sentences, end)]

    def overlap_start(self, start: int, end: int, sentences: int, tokens: int) -> int:
        """Where a chunk begins that repeats up to `sentences` sentences and `tokens` tokens before `end`."""
        begin = end
        i = bisect_left(self.sentences, end) - 1
        for _ in range(sentences):
            if i < 0 or self.sentences[i] <= start or self.tokens.count(self.sentences[i], end) > tokens:
                break
            begin = self.sentences[i]
            i -= 1
        return begin

    def best_cut(self, start: int, covered: int, limit: int, last: int, size: int) -> int | None:
        """The best place in (start, limit] to end a chunk that must reach beyond `covered`.

        The order is: the section's end, the end of a paragraph, of a sentence, of a line in a long table, of a
        clause, of a word, of a grapheme cluster. A cut that would leave the chunk under half full is passed over
        for a lower kind, unless what follows would fit whole into a chunk of its own.
        """
        if limit >= last:
            return last
        half = min(self.tokens.advance(start, size // 2), start + max_characters(size) // 2)
        block = _last(self.blocks, limit)
        if block > covered and block > start and block >= half:
            return block
        sentence = _last(self.sentences, limit)
        if sentence > covered and sentence > start:
            i = bisect_right(self.sentences, sentence)
            following = min(self.sentences[i] if i < len(self.sentences) else last, last)
            if sentence >= half or self._fits(sentence, following, size):
                return sentence
        if start < covered:
            return None
        line = _last(self.lines, limit)
        if line > start and line > sentence:
            outer = _last(self.outer_lines, limit)
            return outer if outer >= half and outer > sentence else line
        return self._cut_in_sentence(start, limit, half, size)

    def _fits(self, start: int, end: int, size: int) -> bool:
        return end - start <= max_characters(size) and self.tokens.count(start, end) <= size

    def _cut_in_sentence(self, start: int, limit: int, half: int, size: int) -> int | None:
        text = self.text
        word = 0
        for position in range(limit, start, -1):
            before = text[position - 1]
            if before in _CLAUSE_WIDE:
                clause = self.graphemes.is_boundary(position)
            elif before.isspace():
                clause = position - 2 >= start and text[position - 2] in _CLAUSE_SPACE
                word = word or position
            else:
                continue
            if clause and position >= half:
                return position
            if position < half and word:
                break
        if word >= half > start:
            return word
        if word > start and not text[start:word].isspace():
            # The next word is looked for no further than a chunk can reach, or a line without spaces would be
            # scanned again for every chunk.
            reach = min(word + max_characters(size), len(text))
            following = next((p for p in range(word + 1, reach) if text[p].isspace()), reach)
            if following < reach and self._fits(word, following, size):
                return word
        end = self.graphemes.before(limit)
        return end if end > start else None


class _Ranges:
    """Ordered ranges (start, end], asked whether one holds a position."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        self.ranges = ranges
        self._starts = [start for start, _ in ranges]

    def holds(self, position: int) -> bool:
        i = bisect_left(self._starts, position) - 1
        return i >= 0 and position <= self.ranges[i][1]

    __contains__ = holds


def _last(cuts: array[int], limit: int) -> int:
    """The last of `cuts` at or before `limit`; -1 when there is none."""
    i = bisect_right(cuts, limit)
    return cuts[i - 1] if i else -1


def _parents(headings: Sequence[Heading]) -> list[int]:
    """For each heading the index of the one it stands under; -1 for none."""
    parents: list[int] = []
    path: list[int] = []
    for i, heading in enumerate(headings):
        while path and headings[path[-1]].level >= heading.level:
            path.pop()
        parents.append(path[-1] if path else -1)
        path.append(i)
    return parents


def _section_ends(headings: Sequence[Heading], length: int) -> list[int]:
    """For each heading, where the next one begins that is of its level or further out."""
    ends = [length] * len(headings)
    path: list[int] = []
    for i, heading in enumerate(headings):
        while path and headings[path[-1]].level >= heading.level:
            ends[path.pop()] = heading.start
        path.append(i)
    return ends
