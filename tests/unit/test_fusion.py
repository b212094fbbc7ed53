from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from step_helpers import ranking

from pincite.errors import InputError
from pincite.fusion import reciprocal_rank_fusion
from pincite.types import Hit

rankings = st.dictionaries(
    st.sampled_from(["dense", "bm25", "third", "fourth"]), st.lists(st.sampled_from("abcdefgh"), max_size=8)
)


def oracle(runs: dict[str, list[Hit]], k: int) -> list[str]:
    """The formula and the order of ties, in exact arithmetic."""

    def key(chunk_id: str) -> tuple[Fraction, int, int, str]:
        ranks = [[hit.rank for hit in hits if hit.chunk_id == chunk_id] for hits in runs.values()]
        found = [(min(each), place) for place, each in enumerate(ranks) if each]
        score = sum((Fraction(1, k + rank) for rank, _ in found), Fraction(0))
        return (-score, *min(found), chunk_id)

    return sorted({hit.chunk_id for hits in runs.values() for hit in hits}, key=key)


def ids(hits: list[Hit]) -> str:
    return "".join(hit.chunk_id for hit in hits)


def test_a_chunk_that_both_found_wins() -> None:
    # Worked by hand: c = 1/63 + 1/63, a = d = 1/61, b = e = 1/62.
    fused = reciprocal_rank_fusion({"dense": ranking("abc"), "bm25": ranking("dec")})
    assert ids(fused) == "cadbe"
    assert fused[0].score == pytest.approx(2 / 63)
    assert fused[1].score == fused[2].score == pytest.approx(1 / 61)
    assert [hit.rank for hit in fused] == [1, 2, 3, 4, 5]
    assert {hit.stage for hit in fused} == {"fused"}


def test_with_k_0_agreement_counts_for_little() -> None:
    fused = reciprocal_rank_fusion({"dense": ranking("abc"), "bm25": ranking("dec")}, k=0)
    assert [(hit.chunk_id, round(hit.score, 3)) for hit in fused][:3] == [("a", 1.0), ("d", 1.0), ("c", 0.667)]


def test_the_ranking_named_first_decides_ties() -> None:
    assert ids(reciprocal_rank_fusion({"bm25": ranking("zy"), "dense": ranking("ab")})) == "zayb"
    assert ids(reciprocal_rank_fusion({"dense": ranking("ab"), "bm25": ranking("zy")})) == "azby"
    # The better single rank goes before the ranking: with k = 0, 1/2 + 1/2 = 1/1.
    assert ids(reciprocal_rank_fusion({"one": ranking("xa"), "two": ranking("ya")}, k=0)) == "xya"


def test_within_a_ranking_the_best_rank_of_a_chunk_counts_once() -> None:
    twice = [Hit("a", 0.0, 3, "dense"), Hit("a", 0.0, 1, "dense"), Hit("b", 0.0, 2, "dense")]
    fused = reciprocal_rank_fusion({"dense": twice})
    assert [(hit.chunk_id, hit.score) for hit in fused] == [("a", 1 / 61), ("b", 1 / 62)]


def test_empty_rankings() -> None:
    assert reciprocal_rank_fusion({}) == []
    assert reciprocal_rank_fusion({"dense": [], "bm25": []}) == []
    assert ids(reciprocal_rank_fusion({"dense": [], "bm25": ranking("ab")})) == "ab"


def test_a_negative_k_is_refused() -> None:
    with pytest.raises(InputError, match="k must not be negative, got -1"):
        reciprocal_rank_fusion({}, k=-1)


def test_equal_ranks_in_any_order_of_rankings_are_a_tie() -> None:
    # 1/61 + 1/62 + 1/67 differs in the last bit from the same terms added in another order.
    for order in permutations((1, 2, 7)):
        runs = {str(place): [Hit("x", 0.0, rank, "")] for place, rank in enumerate(order)}
        assert reciprocal_rank_fusion(runs)[0].score == reciprocal_rank_fusion({**runs})[0].score
        both = {
            str(place): [Hit("x", 0.0, rank, ""), Hit("y", 0.0, other, "")]
            for place, (rank, other) in enumerate(zip(order, (1, 2, 7), strict=True))
        }
        scores = {hit.chunk_id: hit.score for hit in reciprocal_rank_fusion(both)}
        assert scores["x"] == scores["y"]


@given(rankings, st.integers(0, 100))
def test_agrees_with_exact_arithmetic(given_ids: dict[str, list[str]], k: int) -> None:
    runs = {stage: ranking(each, stage) for stage, each in given_ids.items()}
    fused = reciprocal_rank_fusion(runs, k=k)
    assert [hit.chunk_id for hit in fused] == oracle(runs, k)
    assert [hit.rank for hit in fused] == list(range(1, len(fused) + 1))


@given(rankings)
def test_scores_do_not_depend_on_any_order(given_ids: dict[str, list[str]]) -> None:
    runs = {stage: ranking(each, stage) for stage, each in given_ids.items()}
    other = {stage: list(reversed(runs[stage])) for stage in reversed(list(runs))}
    assert {hit.chunk_id: hit.score for hit in reciprocal_rank_fusion(runs)} == {
        hit.chunk_id: hit.score for hit in reciprocal_rank_fusion(other)
    }
    # The order of hits inside a ranking means nothing: their ranks do.
    shuffled = {stage: list(reversed(hits)) for stage, hits in runs.items()}
    assert reciprocal_rank_fusion(runs) == reciprocal_rank_fusion(shuffled)
