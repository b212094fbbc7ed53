"""A store that asks the one within once for each question and leg, and answers from memory after that."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pincite.protocols import Encoder, Matrix, Store
    from pincite.types import Chunk, Document, Filter, Hit, Passage

__all__ = ["RememberedStore"]


class RememberedStore:
    """For searching without a filter, no deeper than `depth`: anything else is asked of the store within, each time.

    `waited` counts the seconds that were spent on asking, `charged` those that asking would have taken every time.
    """

    def __init__(self, store: Store, depth: int) -> None:
        self._store = store
        self._depth = depth
        self._hits: dict[tuple[Any, ...], tuple[list[Hit], float]] = {}
        self._passages: dict[str, Passage | None] = {}
        self._documents: dict[tuple[str, int | None], Document | None] = {}
        self.tokens: dict[tuple[str, int, int], int] = {}
        self.waited = self.charged = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def search_dense(self, vector: Matrix, k: int, where: Filter | None = None, **more: Any) -> list[Hit]:
        key = ("dense", vector.tobytes(), repr(sorted(more.items())))
        return self._once(key, k, where, lambda depth: self._store.search_dense(vector, depth, where, **more))

    def search_lexical(self, query: str, k: int, where: Filter | None = None, **more: Any) -> list[Hit]:
        key = ("bm25", query, repr(sorted(more.items())))
        return self._once(key, k, where, lambda depth: self._store.search_lexical(query, depth, where, **more))

    def _once(self, key: tuple[Any, ...], k: int, where: Filter | None, ask: Callable[[int], list[Hit]]) -> list[Hit]:
        if where is not None or k > self._depth:
            return ask(k)
        if key not in self._hits:
            started = time.perf_counter()
            hits = ask(self._depth)
            self._hits[key] = hits, time.perf_counter() - started
            self.waited += self._hits[key][1]
        hits, seconds = self._hits[key]
        self.charged += seconds
        return hits[:k]

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        if new := [hit for hit in hits if hit.chunk_id not in self._passages]:
            self._passages.update(dict.fromkeys(hit.chunk_id for hit in new))
            self._passages.update({passage.chunk.id: passage for passage in self._store.passages(new)})
        return [replace(found, hit=hit) for hit in hits if (found := self._passages[hit.chunk_id]) is not None]

    def count(self, chunk: Chunk, encoder: Encoder) -> int:
        """Tokens of what is read, as the encoder counts them."""
        place = (chunk.document_id, chunk.start, chunk.end)
        if place not in self.tokens:
            self.tokens[place] = len(encoder.tokenizer.spans(chunk.reading))
        return self.tokens[place]

    def get_document(self, document_id: str, version: int | None = None) -> Document | None:
        if (document_id, version) not in self._documents:
            self._documents[document_id, version] = self._store.get_document(document_id, version)
        return self._documents[document_id, version]
