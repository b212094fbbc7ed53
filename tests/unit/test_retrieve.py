from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from step_helpers import passage, ranking

from pincite.errors import InputError
from pincite.retrieve import retrieve
from pincite.types import Filter, Hit, Passage, PointInTime

VECTOR = np.ones(4, dtype=np.float32)


class FakeStore:
    """Two fixed rankings. Notes what it was asked, and whether that was inside `reading`."""

    def __init__(self, dense: Sequence[Hit], lexical: Sequence[Hit], gone: str = "") -> None:
        self.dense, self.lexical, self.gone = list(dense), list(lexical), gone
        self.calls: list[tuple[object, ...]] = []
        self.open = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        self.open = True
        yield
        self.open = False

    def search_dense(
        self, _: object, k: int, where: Filter | None = None, *, at: PointInTime | None = None
    ) -> list[Hit]:
        assert self.open
        self.calls.append(("dense", k, where, at))
        return self.dense[:k]

    def search_lexical(
        self, query: str, k: int, where: Filter | None = None, *, at: PointInTime | None = None
    ) -> list[Hit]:
        assert self.open
        self.calls.append(("bm25", query, k, where, at))
        return self.lexical[:k]

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        assert self.open
        made = [(hit, passage("text")) for hit in hits if hit.chunk_id not in self.gone]
        return [
            Passage(type(each.chunk)(hit.chunk_id, "d", 1, "text", 0, 4, 0), each.title, each.uri, hit)
            for hit, each in made
        ]


def found(store: FakeStore, **options: Any) -> str:
    result = retrieve(store, "query", VECTOR, **options)  # type: ignore[arg-type]
    return "".join(each.chunk.id for each in result.passages)


def fake(gone: str = "") -> FakeStore:
    return FakeStore(ranking("abc"), ranking("dec", "bm25"), gone)


def test_both_legs_are_fused_and_each_passage_says_who_found_it() -> None:
    store = fake()
    result = retrieve(store, "query", VECTOR, k=4, fusion="rrf", rrf_k=60)  # type: ignore[arg-type]
    assert "".join(each.chunk.id for each in result.passages) == "cdae"  # words go first where all else is equal
    assert [each.hit.rank for each in result.passages] == [1, 2, 3, 4]
    assert {stage: hit.rank for stage, hit in result.passages[0].legs.items()} == {"bm25": 3, "dense": 3}
    assert set(result.passages[1].legs) == {"bm25"}
    assert {stage: len(hits) for stage, hits in result.legs.items()} == {"bm25": 3, "dense": 3}
    assert {"dense", "bm25", "fuse", "fetch"} == set(result.timings)
    assert result.notes == ()


def test_one_leg_alone() -> None:
    store = fake()
    assert found(store, mode="dense", k=2) == "ab"
    assert found(store, mode="bm25", k=2) == "de"
    assert [call[0] for call in store.calls] == ["dense", "bm25"]
    result = retrieve(store, "query", None, mode="bm25")  # type: ignore[arg-type]
    assert result.passages[0].hit.stage == "bm25"


def test_the_filter_the_day_and_the_depth_reach_every_leg() -> None:
    store = fake()
    day = PointInTime(as_of="1975-06-25")
    found(store, k=2, depth=7, where={"year": 1973}, at=day)
    found(store, k=9, depth=7)
    assert sorted(store.calls, key=str) == sorted(
        [
            ("dense", 7, {"year": 1973}, day),
            ("bm25", "query", 7, {"year": 1973}, day),
            ("dense", 9, None, None),
            ("bm25", "query", 9, None, None),
        ],
        key=str,
    )


def test_more_wanted_than_there_is() -> None:
    assert found(fake(), k=1000, fusion="rrf") == "cdaeb"
    assert found(FakeStore([], []), k=5) == ""


def test_a_leg_that_finds_nothing_says_so() -> None:
    result = retrieve(FakeStore(ranking("ab"), []), "zzz", VECTOR)  # type: ignore[arg-type]
    assert "".join(each.chunk.id for each in result.passages) == "ab"
    assert result.notes == ("bm25: no indexed word of the query is in the documents searched",)


def test_chunks_that_are_gone_are_left_out() -> None:
    assert found(fake(gone="c")) == "daeb"


@pytest.mark.parametrize("options", [{"k": 0}, {"k": -1}, {"depth": 0}])
def test_wrong_numbers_are_refused_before_the_store_is_asked(options: dict[str, int]) -> None:
    store = fake()
    with pytest.raises(InputError, match="k and depth must be at least 1"):
        found(store, **options)
    assert store.calls == []


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_the_dense_leg_needs_a_vector(mode: str) -> None:
    with pytest.raises(InputError, match="the dense leg needs the query's vector"):
        retrieve(fake(), "query", None, mode=mode)  # type: ignore[arg-type]
