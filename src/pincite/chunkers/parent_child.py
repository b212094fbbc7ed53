"""A small chunk to find, the section around it to read."""

from __future__ import annotations

from collections.abc import Iterator

from pincite.chunkers.pack import trim
from pincite.chunkers.packing import Packer
from pincite.chunkers.plan import Plan
from pincite.errors import ConfigError
from pincite.protocols import Tokenizer
from pincite.types import Chunk, Document

__all__ = ["ParentChildChunker"]


class ParentChildChunker:
    """Chunks of at most `size` tokens; `Chunk.parent` is what `StructureChunker` cuts at `parent_size` tokens.

    Both are cut along the structure, and every chunk lies within its parent. Only the chunk is encoded: a parent may be
    longer than the encoder takes.

    Raises ConfigError when `size` is below 1 or `parent_size` is not greater than `size`.
    """

    name = "parent-child"

    def __init__(self, tokenizer: Tokenizer, *, size: int, parent_size: int) -> None:
        self._child = Packer(self.name, tokenizer, size)
        self._parent = Packer(f"{self.name}: parent", tokenizer, parent_size)
        if parent_size <= size:
            raise ConfigError(
                f"{self.name}: parent_size is {parent_size} and size is {size}; parent_size (chunk.parent_size in the "
                "settings) must be greater than size (chunk.size; unset: 128)"
            )

    def chunk(self, document: Document) -> Iterator[Chunk]:
        """Chunks of `document` in reading order; see `pincite.protocols.Chunker`."""
        if not document.text or document.text.isspace():
            return
        plan = Plan(document, self._child.tokenizer)
        parents = self._parents(plan)
        parent = next(parents)
        ordinal = 0
        for start, end in plan.sections(lambda start, end: self._child.fits(plan, start, end)):
            # A section that is one chunk, or is packed, lies in one parent or in several one after the other.
            while start < end:
                while parent[1] <= start:
                    parent = next(parents)
                a, b = trim(plan.text, start, min(end, parent[1]))
                for piece in self._child.pack(plan, a, b):
                    yield piece.chunk(document, ordinal, parent=parent)
                    ordinal += 1
                start, _ = trim(plan.text, max(b, min(end, parent[1])), end)

    def _parents(self, plan: Plan) -> Iterator[tuple[int, int]]:
        for start, end in plan.sections(lambda start, end: self._parent.fits(plan, start, end)):
            for piece in self._parent.pack(plan, start, end):
                yield piece.start, piece.end
