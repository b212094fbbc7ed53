"""Building in another process: what it builds, that readers go on meanwhile, and what its failures leave."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pincite.errors import StoreError
from pincite.store import building, exchange
from pincite.store.edge import EdgeStore
from pincite.store.plan import IndexOptions, Layout
from toys import ToyEncoder, make_chunks, make_document, toy_header

DIMENSION = 16
POINTS = 700
OPTIONS = IndexOptions("hnsw", exact_until=200)


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EdgeStore:
    monkeypatch.setattr(exchange, "APART_FROM", 0)
    store = EdgeStore.create(tmp_path / "index", toy_header(ToyEncoder(DIMENSION)), index=OPTIONS)
    document = make_document("\n".join(f"line {n}" for n in range(POINTS)), "toy:lines")
    ticket = store.stage(document)
    vectors = np.random.default_rng(0).normal(size=(POINTS, DIMENSION)).astype(np.float32)
    store.stage_chunks(ticket, make_chunks(document), [""] * POINTS, vectors)
    store.commit([ticket])
    return store


def nearest(store: EdgeStore) -> list[str]:
    query = np.random.default_rng(5).normal(size=DIMENSION).astype(np.float32)
    return [hit.chunk_id for hit in store.search_dense(query, 5)]


def test_what_is_built_apart_is_searched_here(filled: EdgeStore) -> None:
    with filled as store:
        before = nearest(store)
        assert store.optimize()
        assert store.indexed_count == POINTS
        assert store.check() == []
        assert nearest(store) == before


def test_where_there_is_nothing_to_do_the_points_stay_where_they_are(filled: EdgeStore) -> None:
    with filled as store:
        assert store.optimize()
        points = store._catalogue.points()
        assert not store.optimize()
        assert store._catalogue.points() == points
        assert len(list(store.folder.glob("points-*"))) == 1


def test_readers_go_on_while_it_is_built(filled: EdgeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked, answered = building.optimize_apart, threading.Event(), threading.Event()

    def slowly(folder: Path, dimension: int, layout: Layout) -> bool:
        asked.set()
        assert answered.wait(20)
        return real(folder, dimension, layout)

    monkeypatch.setattr(exchange, "optimize_apart", slowly)
    with filled as store, ThreadPoolExecutor(1) as pool:
        expected = nearest(store)
        for change in (store.optimize, store.compact):
            asked.clear()
            answered.clear()
            running = pool.submit(change)
            assert asked.wait(20), running.exception(1)
            assert nearest(store) == expected
            assert store.document_count == 1
            answered.set()
            running.result(60)
        assert nearest(store) == expected


def test_a_build_that_fails_apart_says_why_and_leaves_what_was(filled: EdgeStore, tmp_path: Path) -> None:
    with filled as store:
        with pytest.raises(StoreError, match="cannot be optimized"):
            building.optimize_apart(tmp_path / "nowhere", DIMENSION, Layout())
        assert len(nearest(store)) == 5
        assert store.check() == []
