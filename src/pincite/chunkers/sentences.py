"""Chunks of whole sentences, whatever the headings are."""

from __future__ import annotations

from collections.abc import Iterator

from pincite.chunkers.pack import trim
from pincite.chunkers.packing import Packer
from pincite.chunkers.plan import Plan
from pincite.protocols import Tokenizer
from pincite.types import Chunk, Document

__all__ = ["SentenceChunker"]


class SentenceChunker:
    """Fills chunks of at most `size` tokens with sentences, one after the other, over paragraphs and headings alike.

    A sentence is cut only when it alone is over the limit, fenced blocks and tables as `StructureChunker` cuts them.
    `overlap_sentences` repeats that many sentences of the chunk before, as far as half of `size` allows. Chunks have
    no headings. The exceptions for characters that are over the limit by themselves are those of `StructureChunker`.

    Raises ConfigError when `size` is below 1 or `overlap_sentences` is negative or not less than `size`.
    """

    name = "sentences"

    def __init__(self, tokenizer: Tokenizer, *, size: int, overlap_sentences: int = 0) -> None:
        self._packer = Packer(self.name, tokenizer, size, overlap_sentences)

    def chunk(self, document: Document) -> Iterator[Chunk]:
        """Chunks of `document` in reading order; see `pincite.protocols.Chunker`."""
        start, end = trim(document.text, 0, len(document.text))
        if start == end:
            return
        plan = Plan(document, self._packer.tokenizer, structure=False)
        for ordinal, piece in enumerate(self._packer.pack(plan, start, end)):
            yield piece.chunk(document, ordinal)
