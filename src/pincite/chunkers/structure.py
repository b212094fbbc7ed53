"""Chunks along the structure of a document: sections, paragraphs, sentences."""

from __future__ import annotations

from collections.abc import Iterator

from pincite.chunkers.packing import Packer
from pincite.chunkers.plan import Plan
from pincite.protocols import Tokenizer
from pincite.types import Chunk, Document

__all__ = ["StructureChunker"]


class StructureChunker:
    """Packs whole sections, else paragraphs, else sentences, into chunks of at most `size` tokens.

    A section is a heading with everything under it. One that fits is one chunk; one that does not is cut at its
    sub-headings, and what stands directly under its heading is packed by paragraphs and sentences. A sentence is
    cut only when it alone is over the limit: at the end of a line or clause, else between words, else between
    grapheme clusters. A fenced block or a table that fits is not cut; a longer one is cut between lines or rows, and
    its pieces carry its fences or its header in `Chunk.before` and `Chunk.after` (see `pincite.blocks`). No chunk
    reaches over a heading of its own section's level or one further out. A heading with nothing under it but a
    deeper heading goes with that one.

    `Chunk.headings` are the headings in force at the chunk's first words that are not themselves a heading. They
    count: ``encoded_text(chunk.headings, chunk.text, chunk.before, chunk.after)`` is within `size` tokens of
    `tokenizer`. `pincite.chunkers.packing.Packer` says how much of it they and a table's header may take.

    `overlap_sentences` repeats that many sentences of the chunk before, within a section and as far as half of
    `size` allows. Two exceptions are forced: a grapheme cluster that alone is over the limit is cut between code
    points, and a code point that alone is over the limit is a chunk by itself.

    Raises ConfigError when `size` is below 1 or `overlap_sentences` is negative or not less than `size`.
    """

    name = "structure"

    def __init__(self, tokenizer: Tokenizer, *, size: int, overlap_sentences: int = 0) -> None:
        self._packer = Packer(self.name, tokenizer, size, overlap_sentences)

    def chunk(self, document: Document) -> Iterator[Chunk]:
        """Chunks of `document` in reading order; see `pincite.protocols.Chunker`."""
        if not document.text or document.text.isspace():
            return
        packer = self._packer
        plan = Plan(document, packer.tokenizer)
        sections = plan.sections(lambda start, end: packer.fits(plan, start, end))
        pieces = (piece for start, end in sections for piece in packer.pack(plan, start, end))
        for ordinal, piece in enumerate(pieces):
            yield piece.chunk(document, ordinal)
