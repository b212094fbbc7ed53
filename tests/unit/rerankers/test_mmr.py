from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import BackendError
from pincite.rerankers.mmr import MmrReranker, maximal_marginal_relevance
from toys_rerank import make_passages


def test_by_hand() -> None:
    """λ = ½; 0 and 1 say nearly the same. First 0 (½·1). Then 1: ½·0.9 - ½·0.9 = 0; 2: ½·0.2 - ½·0 = 0.1."""
    similarity = np.array([[1, 0.9, 0], [0.9, 1, 0.4], [0, 0.4, 1]])
    chosen = maximal_marginal_relevance([1.0, 0.9, 0.2], similarity, 0.5)
    assert [index for index, _ in chosen] == [0, 2, 1]
    assert [value for _, value in chosen] == pytest.approx([0.5, 0.1, 0.0])
    assert [index for index, _ in maximal_marginal_relevance([1.0, 0.9, 0.2], similarity, 0.9)] == [0, 1, 2]


@given(st.integers(1, 9), st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]))
def test_each_step_is_the_definition(n: int, seed: int, weight: float) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = vectors @ vectors.T
    relevance = rng.random(n)
    chosen = maximal_marginal_relevance(relevance.tolist(), similarity, weight)
    assert sorted(index for index, _ in chosen) == list(range(n))
    before: list[int] = []
    for index, value in chosen:

        def worth(i: int) -> float:
            return weight * relevance[i] - (1 - weight) * max(0.0, *(similarity[i, j] for j in before), 0.0)

        left = [i for i in range(n) if i not in before]
        best = max(left, key=lambda i: (worth(i), -i))
        assert index == best
        assert value == pytest.approx(worth(index))
        before.append(index)
    values = [value for _, value in chosen]
    assert values == sorted(values, reverse=True)


def vectors_of(table: dict[str, list[float]]) -> object:
    return lambda ids: np.asarray([table[each] for each in ids], dtype=np.float32)


TABLE = {"d1.1.0": [1.0, 0.0], "d2.1.0": [1.0, 0.0], "d3.1.0": [0.0, 1.0], "d4.1.0": [0.0, 0.0]}


def test_a_repetition_goes_behind_what_is_new() -> None:
    given = make_passages(["same", "same", "other", "gone"], [0.9, 0.8, 0.7, 0.1])
    found = MmrReranker(vectors_of(TABLE), weight=0.5).rerank("q", given)  # type: ignore[arg-type]
    # relevance 1, .875, .75, 0. d1: .5; then d3 .375 (d2: .4375 - .5); then d4 0 (gone: like nothing); then d2.
    assert [passage.chunk.id for passage in found.passages] == ["d1.1.0", "d3.1.0", "d4.1.0", "d2.1.0"]
    assert [passage.hit.score for passage in found.passages] == pytest.approx([0.5, 0.375, 0.0, -0.0625])


def test_relevance_alone_keeps_the_order() -> None:
    given = make_passages(["same", "same", "other", "gone"])
    found = MmrReranker(vectors_of(TABLE), weight=1.0).rerank("q", given)  # type: ignore[arg-type]
    assert [passage.chunk.id for passage in found.passages] == list(TABLE)


def test_opposites_are_no_more_than_unlike() -> None:
    """A negative cosine is no bonus: it would lift what speaks of something else."""
    table = {"d1.1.0": [1.0, 0.0], "d2.1.0": [0.0, 1.0], "d3.1.0": [-1.0, 0.0]}
    given = make_passages(["a", "b", "c"], [0.9, 0.5, 0.5])
    found = MmrReranker(vectors_of(table), weight=0.5).rerank("q", given)  # type: ignore[arg-type]
    assert [passage.chunk.id for passage in found.passages] == ["d1.1.0", "d2.1.0", "d3.1.0"]


def test_only_the_candidates_vectors_are_fetched_once() -> None:
    asked: list[Sequence[str]] = []

    def fetch(ids: Sequence[str]) -> object:
        asked.append(list(ids))
        return np.asarray([TABLE[each] for each in ids], dtype=np.float32)

    MmrReranker(fetch, depth=2).rerank("q", make_passages(["a", "b", "c"]))  # type: ignore[arg-type]
    assert asked == [["d1.1.0", "d2.1.0"]]


def test_vectors_of_another_number_are_an_error() -> None:
    with pytest.raises(BackendError, match="shape"):
        MmrReranker(lambda ids: np.zeros((len(ids) - 1, 2), dtype=np.float32)).rerank("q", make_passages(["a", "b"]))
