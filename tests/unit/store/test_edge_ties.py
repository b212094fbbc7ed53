"""The embedded engine promises no order among equal scores; the store does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.store.edge import EdgeStore
from toys import ToyEncoder, make_chunks, make_document, toy_header

ENCODER = ToyEncoder(8)


class Contrary:
    """A shard that, of points with equal scores, gives the last ones first."""

    def __init__(self, shard: Any) -> None:
        self._shard = shard
        self.asked: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shard, name)

    def query(self, request: Any) -> list[Any]:
        import qdrant_edge as qdrant

        self.asked.append(request.limit)
        everything = self._shard.query(
            qdrant.QueryRequest(
                limit=10_000, query=request.query, filter=request.filter, with_payload=False, with_vector=False
            )
        )
        return sorted(everything, key=lambda point: (-point.score, -int(point.id)))[: request.limit]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """One best chunk, fifty equal ones, one worst."""
    document = make_document(
        "apple apple apple\n" + "apple pie tart\n" * 50 + "apple and nothing else but words at all"
    )
    chunks = make_chunks(document)
    vectors = np.array([[1, 0]] + [[1, 1]] * 50 + [[0, 1]], np.float32) @ np.eye(2, 8, dtype=np.float32)
    with EdgeStore.create(tmp_path / "index", toy_header(ENCODER)) as store:
        ticket = store.stage(document)
        store.stage_chunks(ticket, chunks, [""] * len(chunks), vectors)
        store.commit([ticket])
        store._points.shard = Contrary(store._points.shard)  # type: ignore[assignment]
        yield store


def test_of_equal_scores_the_first_chunks_are_taken(store: Any) -> None:
    for k in (1, 2, 7, 50, 51, 52, 99):
        wanted = list(range(min(k, 52)))
        for hits in (store.search_dense(np.eye(1, 8, dtype=np.float32)[0], k), store.search_lexical("apple", k)):
            assert [int(hit.chunk_id.rpartition(".")[2]) for hit in hits] == wanted
            assert [hit.rank for hit in hits] == [ordinal + 1 for ordinal in wanted]


def test_without_a_tie_the_engine_is_asked_once(store: Any) -> None:
    store.search_dense(np.eye(1, 8, dtype=np.float32)[0], 1)
    assert store._points.shard.asked == [2]
