"""Filling chunks from a plan: as much as the budget holds, each piece with the context it is read in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pincite.chunkers.context import context_text, encoded_text
from pincite.chunkers.ids import chunk_id
from pincite.chunkers.pack import check_size, largest_fit, max_characters, trim
from pincite.chunkers.plan import Plan
from pincite.errors import ConfigError
from pincite.protocols import Tokenizer
from pincite.types import Chunk, Document

__all__ = ["Packer", "Piece", "check_count"]


class Piece(NamedTuple):
    """What becomes a chunk: a trimmed range of the text and its context."""

    start: int
    end: int
    headings: tuple[str, ...] = ()
    before: str = ""
    after: str = ""

    def chunk(self, document: Document, ordinal: int, parent: tuple[int, int] | None = None) -> Chunk:
        """The chunk of this piece. A parent that is no wider than the piece itself is none."""
        return Chunk(
            id=chunk_id(document.id, document.version, ordinal),
            document_id=document.id,
            version=document.version,
            text=document.text[self.start : self.end],
            start=self.start,
            end=self.end,
            ordinal=ordinal,
            headings=self.headings,
            page=document.page_at(self.start),
            before=self.before,
            after=self.after,
            parent=parent if parent != (self.start, self.end) else None,
        )


def check_count(recipe: str, name: str, value: int, least: int = 0) -> int:
    """`value`, or ConfigError when it is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{recipe}: {name} is {value!r}; it must be a number of at least {least}")
    return value


class Packer:
    """Packs ranges of a plan into pieces of at most `size` tokens of `tokenizer`, context included.

    The context is the headings in force (where the plan knows headings), the header of a table that the piece goes on
    with, and the fences of a fenced block that it holds a part of. Headings and header may take a quarter of the size
    each. Of headings the outermost are left out first, and all when the innermost alone is too long; a table's header
    is cut down to its last row and the delimiter row, else left out.

    `overlap` repeats that many sentences of the piece before, as far as half of `size` allows. `name` is for messages.
    Raises ConfigError when `size` is below 1, `overlap` is negative or not less than `size`.
    """

    def __init__(self, name: str, tokenizer: Tokenizer, size: int, overlap: int = 0) -> None:
        self.tokenizer = tokenizer
        self.size = check_size(name, size)
        self.overlap = check_count(name, "overlap_sentences", overlap)
        # A sentence has a token at least: as many of them as tokens would leave no room for a new one.
        if overlap >= size:
            raise ConfigError(
                f"{name}: overlap_sentences is {overlap} and size is {size}; overlap_sentences (chunk.overlap in the "
                "settings) must be less than size (chunk.size; unset: what the encoder takes)"
            )
        self._last_context = ("", True)
        self._last_frame = ("", True)

    def fits(self, plan: Plan, start: int, end: int) -> bool:
        """Whether the range is one piece within the limit, its context counted."""
        return self.whole(plan, start, end) is not None

    def whole(self, plan: Plan, start: int, end: int) -> Piece | None:
        """The range as one piece; None where it is over the limit."""
        # Estimated first, with room for an estimate that is too high: most sections do not come near.
        if end - start > max_characters(self.size) or plan.tokens.count(start, end) > self.size + 8:
            return None
        before, after = plan.framing.frame(start, end, self._frame_fits)
        piece = Piece(start, end, self._context(plan, start, end), before, after)
        return piece if self._count(_encoded(plan, piece)) <= self.size else None

    def pack(self, plan: Plan, start: int, last: int) -> Iterator[Piece]:
        """Pieces of the range, which is trimmed, in order."""
        text = plan.text
        if piece := self.whole(plan, start, last):
            yield piece
            return
        covered = start  # everything before it is in a piece
        while True:
            headings = self._context(plan, start, last)
            before = plan.framing.before(start, self._frame_fits)
            end = self._end(plan, start, covered, last, headings, before)
            if end is None and start < covered:
                # The repeated sentences leave no room for a new one: do without them.
                start = covered
                continue
            if end is None and (headings or before):
                headings, before = (), ""
                end = self._end(plan, start, covered, last, headings, before)
            if end is None:
                end = self._forced_end(plan, start, last)
                a, b = trim(text, start, end)
                yield Piece(a, b)
            else:
                a, b = trim(text, start, end)
                yield Piece(a, b, headings, before, plan.framing.after(a, b, before))
            while end < last and text[end].isspace():
                end += 1
            if end >= last:
                return
            covered = end
            start = plan.overlap_start(start, end, self.overlap, self.size // 2)

    def _context(self, plan: Plan, start: int, last: int) -> tuple[str, ...]:
        """The headings for a piece at `start`, as many of the inner ones as a quarter of the size holds."""
        headings = plan.headings_at(start, last)
        beginning = plan.text[start : start + 1000]
        while headings:
            context = context_text(headings, beginning)
            if self._last_context[0] != context:
                self._last_context = (context, self._quarter_holds(context))
            if self._last_context[1]:
                break
            headings = headings[1:]
        return headings

    def _frame_fits(self, frame: str) -> bool:
        if self._last_frame[0] != frame:
            self._last_frame = (frame, self._quarter_holds(frame))
        return self._last_frame[1]

    def _quarter_holds(self, text: str) -> bool:
        # A text of many characters is not tokenized only to find that it is too long.
        return len(text) <= max_characters(self.size) and self._count(text) <= self.size // 4

    def _count(self, text: str) -> int:
        return len(self.tokenizer.spans(text)) if text else 0

    def _end(
        self, plan: Plan, start: int, covered: int, last: int, headings: tuple[str, ...], before: str
    ) -> int | None:
        """The end of the piece that begins at `start`, beyond `covered`; None if no good cut gives one that fits."""
        text = plan.text
        used = self._count(context_text(headings, text[start : start + 1000])) + self._count(before)
        limit = min(last, plan.tokens.advance(start, self.size - used), start + max_characters(self.size))

        def cut(limit: int) -> int | None:
            return plan.best_cut(start, covered, limit, last, self.size)

        def excess(end: int) -> int | None:
            a, b = trim(text, start, end)
            piece = Piece(a, b, headings, before, plan.framing.after(a, b, before))
            whole = _encoded(plan, piece)
            spans = self.tokenizer.spans(whole)
            if len(spans) <= self.size:
                return None
            at = len(whole) - len(piece.after) - (b - a)  # where the piece's own text begins
            room = self.size - self._count(piece.after)
            return max(start, spans[room][0] - at + a) if room > 0 else start

        return largest_fit(start, limit, cut, excess)

    def _forced_end(self, plan: Plan, start: int, last: int) -> int:
        """For a cluster that no piece can hold: as many of its code points as fit, one at least."""
        text = plan.text
        limit = min(last, plan.tokens.advance(start, self.size), start + max_characters(self.size))

        def excess(end: int) -> int | None:
            a, b = trim(text, start, end)
            spans = self.tokenizer.spans(text[a:b])
            return a + spans[self.size][0] if len(spans) > self.size else None

        end = largest_fit(start, max(limit, start + 1), lambda limit: limit, excess)
        return end if end is not None else start + 1


def _encoded(plan: Plan, piece: Piece) -> str:
    return encoded_text(piece.headings, plan.text[piece.start : piece.end], piece.before, piece.after)
