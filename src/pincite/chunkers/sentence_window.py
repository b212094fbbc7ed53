"""One sentence to find, its neighbourhood to read."""

from __future__ import annotations

from collections.abc import Iterator

from pincite.chunkers.pack import trim
from pincite.chunkers.packing import Packer, Piece, check_count
from pincite.chunkers.plan import Plan
from pincite.protocols import Tokenizer
from pincite.types import Chunk, Document

__all__ = ["SentenceWindowChunker"]

#: A sentence of fewer tokens says too little to be found by: it is taken together with the next.
_LEAST = 12


class SentenceWindowChunker:
    """A chunk is one sentence; `Chunk.parent` reaches `window` chunks to either side, within the section.

    Sentences of fewer than 12 tokens are joined with the next, at the end of a section with the one before, so that no
    chunk is a mere "No."; a heading goes with the first sentence under it. A section here is what stands directly
    under one heading: the sub-sections are sections of their own. A fenced block or table that fits into `size` tokens
    is one chunk; it, or a sentence, that does not is cut as `StructureChunker` cuts it. Headings count as there.

    Raises ConfigError when `size` or `window` is below 1.
    """

    name = "sentence-window"

    def __init__(self, tokenizer: Tokenizer, *, size: int, window: int) -> None:
        self._packer = Packer(self.name, tokenizer, size)
        self.window = check_count(self.name, "window", window, least=1)

    def chunk(self, document: Document) -> Iterator[Chunk]:
        """Chunks of `document` in reading order; see `pincite.protocols.Chunker`."""
        if not document.text or document.text.isspace():
            return
        plan = Plan(document, self._packer.tokenizer)
        ordinal = 0
        for start, end in plan.sections(lambda *_: False):
            pieces = list(self._pieces(plan, start, end))
            for i, piece in enumerate(pieces):
                first = pieces[max(0, i - self.window)]
                last = pieces[min(len(pieces) - 1, i + self.window)]
                yield piece.chunk(document, ordinal, parent=(first.start, last.end))
                ordinal += 1

    def _pieces(self, plan: Plan, start: int, end: int) -> Iterator[Piece]:
        for a, b in self._units(plan, start, end):
            yield from self._packer.pack(plan, a, b)

    def _units(self, plan: Plan, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Trimmed ranges of one sentence, or of a few short ones; the whole section where it is short."""
        units: list[tuple[int, int]] = []
        begin = start
        for cut in [*plan.sentences_in(start, end), end]:
            if self._short(plan, begin, cut) and cut < end:
                continue
            units.append((begin, cut))
            begin = cut
        if len(units) > 1 and self._short(plan, *units[-1]) and self._packer.fits(plan, units[-2][0], units[-1][1]):
            units[-2:] = [(units[-2][0], units[-1][1])]
        return (trim(plan.text, a, b) for a, b in units)

    def _short(self, plan: Plan, start: int, end: int) -> bool:
        return plan.tokens.count(start, end) < _LEAST
