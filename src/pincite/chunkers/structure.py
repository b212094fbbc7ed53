"""Chunks along the structure of a document: sections, paragraphs, sentences."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from pincite.chunkers.context import context_text, encoded_text
from pincite.chunkers.ids import chunk_id
from pincite.chunkers.pack import Graphemes, TokenMap, check_size, largest_fit, max_characters, trim
from pincite.errors import ConfigError
from pincite.protocols import Tokenizer
from pincite.sentences import sentence_spans
from pincite.types import Chunk, Document, Heading

__all__ = ["StructureChunker"]

_FENCE = re.compile(r"[ ]{0,3}(?P<mark>`{3,}|~{3,})")
_CLAUSE_SPACE = frozenset(";:—–")
_CLAUSE_WIDE = frozenset("、，；：・。！？")


class StructureChunker:
    """Packs whole sections, else paragraphs, else sentences, into chunks of at most `size` tokens.

    A section is a heading with everything under it. One that fits is one chunk; one that does not is cut at its
    sub-headings, and what stands directly under its heading is packed by paragraphs and sentences. A sentence is
    cut only when it alone is over the limit: at the end of a line or clause, else between words, else between
    grapheme clusters. A fenced block or a table that fits is not cut; a longer one is cut at line ends. No chunk
    reaches over a heading of its own section's level or one further out. A heading with nothing under it but a
    deeper heading goes with that one.

    `Chunk.headings` are the headings in force at the chunk's first words that are not themselves a heading. They
    count: ``encoded_text(chunk.headings, chunk.text)`` is within `size` tokens of `tokenizer`. They may take a
    quarter of it; beyond that the outermost are left out first, and all when the innermost alone is too long.

    `overlap_sentences` repeats that many sentences of the chunk before, within a section and as far as half of
    `size` allows. Two exceptions are forced: a grapheme cluster that alone is over the limit is cut between code
    points, and a code point that alone is over the limit is a chunk by itself.

    Raises ConfigError when `size` is below 1 or `overlap_sentences` is negative.
    """

    name = "structure"

    def __init__(self, tokenizer: Tokenizer, *, size: int, overlap_sentences: int = 0) -> None:
        self.tokenizer = tokenizer
        self.size = check_size(self.name, size)
        if isinstance(overlap_sentences, bool) or not isinstance(overlap_sentences, int) or overlap_sentences < 0:
            raise ConfigError(
                f"{self.name}: overlap_sentences is {overlap_sentences!r}; it must be a number of at least 0"
            )
        self.overlap_sentences = overlap_sentences

    def chunk(self, document: Document) -> Iterator[Chunk]:
        """Chunks of `document` in reading order; see `pincite.protocols.Chunker`."""
        if not document.text or document.text.isspace():
            return
        plan = _Plan(document, self.tokenizer)
        ordinal = 0
        for start, end in plan.sections(lambda start, end: self._fits(plan, start, end)):
            for a, b, headings in self._pack(plan, start, end):
                yield Chunk(
                    id=chunk_id(document.id, document.version, ordinal),
                    document_id=document.id,
                    version=document.version,
                    text=document.text[a:b],
                    start=a,
                    end=b,
                    ordinal=ordinal,
                    headings=headings,
                    page=document.page_at(a),
                )
                ordinal += 1

    def _pack(self, plan: _Plan, start: int, last: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Chunks of one section, trimmed to (start, last): their ranges and headings."""
        text = plan.text
        if self._fits(plan, start, last):
            yield start, last, self._context(plan, start, last)
            return
        covered = start  # everything before it is in a chunk
        while True:
            headings = self._context(plan, start, last)
            end = self._end(plan, start, covered, last, headings)
            if end is None and start < covered:
                # The repeated sentences leave no room for a new one: do without them.
                start = covered
                continue
            if end is None and headings:
                headings = ()
                end = self._end(plan, start, covered, last, headings)
            if end is None:
                end = self._forced_end(plan, start, last)
            a, b = trim(text, start, end)
            yield a, b, headings
            while end < last and text[end].isspace():
                end += 1
            if end >= last:
                return
            covered = end
            start = plan.overlap_start(start, end, self.overlap_sentences, self.size // 2)

    def _fits(self, plan: _Plan, start: int, end: int) -> bool:
        """Whether the range is one chunk within the limit, its headings counted."""
        # Estimated first, with room for an estimate that is too high: most sections do not come near.
        if end - start > max_characters(self.size) or plan.tokens.count(start, end) > self.size + 8:
            return False
        headings = self._context(plan, start, end)
        return self._count(encoded_text(headings, plan.text[start:end])) <= self.size

    def _context(self, plan: _Plan, start: int, last: int) -> tuple[str, ...]:
        """The headings for a chunk at `start`, as many of the inner ones as a quarter of the size holds."""
        headings = plan.headings_at(start, last)
        beginning = plan.text[start : start + 1000]
        while headings:
            context = context_text(headings, beginning)
            # A heading of many characters is not tokenized only to find that it is too long.
            if len(context) <= max_characters(self.size) and self._count(context) <= self.size // 4:
                break
            headings = headings[1:]
        return headings

    def _count(self, text: str) -> int:
        return len(self.tokenizer.spans(text)) if text else 0

    def _end(self, plan: _Plan, start: int, covered: int, last: int, headings: tuple[str, ...]) -> int | None:
        """The end of the chunk that begins at `start`, beyond `covered`; None if no good cut gives one that fits."""
        text = plan.text
        room = self.size - self._count(context_text(headings, text[start : start + 1000]))
        limit = min(last, plan.tokens.advance(start, room), start + max_characters(self.size))

        def cut(limit: int) -> int | None:
            return plan.best_cut(start, covered, limit, last, self.size)

        def excess(end: int) -> int | None:
            a, b = trim(text, start, end)
            whole = encoded_text(headings, text[a:b])
            spans = self.tokenizer.spans(whole)
            if len(spans) <= self.size:
                return None
            return max(start, spans[self.size][0] - (len(whole) - (b - a)) + a)

        return largest_fit(start, limit, cut, excess)

    def _forced_end(self, plan: _Plan, start: int, last: int) -> int:
        """For a cluster that no chunk can hold: as many of its code points as fit, one at least."""
        text = plan.text
        limit = min(last, plan.tokens.advance(start, self.size), start + max_characters(self.size))

        def excess(end: int) -> int | None:
            a, b = trim(text, start, end)
            spans = self.tokenizer.spans(text[a:b])
            return a + spans[self.size][0] if len(spans) > self.size else None

        end = largest_fit(start, max(limit, start + 1), lambda limit: limit, excess)
        return end if end is not None else start + 1


class _Plan:
    """One document with the places where it may be cut, each kind in order."""

    def __init__(self, document: Document, tokenizer: Tokenizer) -> None:
        text = self.text = document.text
        self.graphemes = Graphemes(text)
        self.tokens = TokenMap(tokenizer, text, self.graphemes)
        self.headings: Sequence[Heading] = sorted(document.headings, key=lambda heading: heading.start)
        self._heading_starts = [heading.start for heading in self.headings]
        self._parents = _parents(self.headings)
        #: a chunk may begin there: paragraphs, fenced blocks, tables; or sentences of any of them
        self.blocks = array("L")
        self.sentences = array("L")
        self.lines = array("L")  #: lines of fenced blocks and tables
        self._find_cuts()

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

    def _find_cuts(self) -> None:
        text = self.text
        blocks, atomic = _blocks(text)
        banned = self._heading_interiors()
        starts = sorted({*blocks, *self._heading_starts})
        self.blocks.extend(c for c in starts if c not in banned and self.graphemes.is_boundary(c))
        inside = _Ranges(atomic)
        held = _Ranges(banned.ranges)
        found = {a for a, _ in sentence_spans(text) if not inside.holds(a) and not held.holds(a)}
        found.update(self.blocks)
        self.sentences.extend(c for c in sorted(found) if self.graphemes.is_boundary(c))
        for start, end in atomic:
            position = text.find("\n", start, end)
            while position >= 0:
                if position + 1 < end and not text[position + 1].isspace():
                    self.lines.append(position + 1)
                position = text.find("\n", position + 1, end)

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
            return line
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


def _blocks(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Where paragraphs, fenced blocks and tables begin; and the ranges of the fenced blocks and tables.

    A fence that is never closed is ordinary text: in plain text the mark means nothing.
    """
    starts: list[int] = []
    atomic: list[tuple[int, int]] = []
    fence: tuple[int, str] | None = None  # where the open one begins, and its mark
    retry: list[int] = []  # paragraph starts met inside a fence, in case it stays open
    table: int | None = None
    fresh = True  # the next line with text begins a block
    position = 0
    while position < len(text):
        newline = text.find("\n", position)
        after = len(text) if newline < 0 else newline + 1
        content, stop = trim(text, position, after)
        mark = _FENCE.match(text, position, after)
        is_row = content < stop and text[content] == "|"
        if table is not None and not is_row:
            atomic.append((table, position))
            table, fresh = None, True
        if fence is not None:
            if content == stop:
                fresh = True
            elif fresh:
                retry.append(content)
                fresh = False
            if mark and text[content:stop].startswith(fence[1]) and not text[content:stop].strip(fence[1][0]):
                atomic.append((fence[0], after))
                fence, fresh = None, True
                retry.clear()
        elif content == stop:
            fresh = True
        else:
            if mark and not fresh and mark.group("mark")[0] == "~":
                mark = None  # under a line of text it underlines a heading
            if fresh or mark or (is_row and table is None):
                starts.append(content)
            fresh = False
            if mark:
                fence = (content, mark.group("mark"))
            elif is_row and table is None:
                table = content
        position = after
    if table is not None:
        atomic.append((table, len(text)))
    starts.extend(retry)
    return starts, atomic
