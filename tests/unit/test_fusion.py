from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from step_helpers import ranking

from pincite.errors import InputError
from pincite.fusion import reciprocal_rank_fusion, standardized_sum
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


# Standardized sums

HALF = {"bm25": 0.5, "dense": 0.5}
scored = st.dictionaries(
    st.sampled_from("abcdefgh"), st.floats(0, 40, allow_nan=False).map(lambda x: round(x, 2)), max_size=8
)


def leg(scores: Mapping[str, float], stage: str) -> list[Hit]:
    best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return [Hit(chunk_id, score, rank, stage) for rank, (chunk_id, score) in enumerate(best, 1)]


def legs(lexical: Mapping[str, float], dense: Mapping[str, float]) -> dict[str, list[Hit]]:
    return {"bm25": leg(lexical, "bm25"), "dense": leg(dense, "dense")}


def test_what_stands_out_wins() -> None:
    # Worked by hand. bm25, filled with one zero: mean 4, deviation sqrt(32/3) = 3.266: b 1.225, c 0, the others -1.225.
    # dense: mean 0.5, deviation sqrt(0.32/3) = 0.3266: a 1.225, b 0, c -1.225.
    fused = standardized_sum(legs({"b": 8.0, "c": 4.0}, {"a": 0.9, "b": 0.5, "c": 0.1}), {"bm25": 0.6, "dense": 0.4})
    assert [(hit.chunk_id, round(hit.score, 3)) for hit in fused] == [("b", 0.735), ("a", -0.245), ("c", -0.49)]
    assert [hit.rank for hit in fused] == [1, 2, 3]
    assert {hit.stage for hit in fused} == {"fused"}


def test_one_hit_among_many_passages_stands_out_only_where_the_others_score_zero() -> None:
    runs = legs({"z": 3.0}, {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "z": 0.5})
    assert ids(standardized_sum(runs, {"bm25": 0.6, "dense": 0.4}))[0] == "z"
    # Not filled up with zeros a single score is the same as its mean: it says nothing.
    assert ids(standardized_sum(runs, HALF, zero=())) == "abcdz"


def test_a_leg_of_no_weight_and_a_leg_that_says_nothing_leave_the_other_as_it_is() -> None:
    runs = legs({"b": 8.0, "c": 4.0, "a": 1.0}, {"a": 0.9, "b": 0.5, "c": 0.1})
    assert ids(standardized_sum(runs, {"bm25": 1.0, "dense": 0.0})) == "bca"
    assert ids(standardized_sum(runs, {"bm25": 0.0, "dense": 1.0})) == "abc"
    assert ids(standardized_sum(legs({"b": 8.0, "c": 4.0, "a": 1.0}, dict.fromkeys("abc", 0.7)), HALF)) == "bca"
    assert ids(standardized_sum(legs({}, {"a": 0.9, "b": 0.5}), HALF)) == "ab"
    assert standardized_sum(legs({}, {}), HALF) == []
    # What the one leg alone found comes last when that leg does not count.
    assert ids(standardized_sum(legs({"b": 8.0, "c": 1.0}, {"x": 0.9, "c": 0.1}), {"bm25": 1.0, "dense": 0.0})) == "bcx"


def test_within_a_ranking_the_best_score_of_a_chunk_counts_once() -> None:
    once = legs({"b": 8.0, "c": 4.0}, {"a": 0.9, "b": 0.5})
    twice = {**once, "bm25": [*once["bm25"], Hit("b", 1.0, 3, "bm25")]}
    assert standardized_sum(twice, HALF) == standardized_sum(once, HALF)


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
def test_a_weight_that_is_none_is_refused(weight: float) -> None:
    with pytest.raises(InputError, match="weight of the ranking dense"):
        standardized_sum(legs({"a": 1.0}, {"a": 1.0}), {"bm25": 0.5, "dense": weight})


def test_a_ranking_without_a_weight_is_refused() -> None:
    with pytest.raises(InputError, match="weight of the ranking dense"):
        standardized_sum(legs({"a": 1.0}, {"a": 1.0}), {"bm25": 0.5})


@given(scored, scored, st.floats(0, 1))
def test_every_chunk_comes_once_best_first_and_a_limit_is_its_beginning(
    lexical: dict[str, float], dense: dict[str, float], weight: float
) -> None:
    weights = {"bm25": 1 - weight, "dense": weight}
    fused = standardized_sum(legs(lexical, dense), weights)
    assert sorted(hit.chunk_id for hit in fused) == sorted({*lexical, *dense})
    assert all(a.score >= b.score for a, b in pairwise(fused))
    assert all(math.isfinite(hit.score) for hit in fused)
    for limit in (1, 3):
        assert standardized_sum(legs(lexical, dense), weights, limit=limit) == fused[:limit]


@given(scored, scored, st.floats(0.1, 50), st.floats(-3, 3))
def test_the_unit_of_a_leg_does_not_matter(
    lexical: dict[str, float], dense: dict[str, float], scale: float, shift: float
) -> None:
    fused = {hit.chunk_id: hit.score for hit in standardized_sum(legs(lexical, dense), HALF)}
    # A true zero may be scaled, not moved.
    moved = legs(
        {name: scale * score for name, score in lexical.items()},
        {name: scale * score + shift for name, score in dense.items()},
    )
    again = {hit.chunk_id: hit.score for hit in standardized_sum(moved, HALF)}
    assert again == pytest.approx(fused, abs=1e-3)


@given(scored, scored)
def test_a_higher_score_in_one_leg_is_never_worse_for_it(lexical: dict[str, float], dense: dict[str, float]) -> None:
    fused = {hit.chunk_id: hit.score for hit in standardized_sum(legs(lexical, dense), HALF)}
    for a in fused:
        for b in fused:
            if lexical.get(a, 0) >= lexical.get(b, 0) and dense.get(a, -1) >= dense.get(b, -1):
                assert fused[a] >= fused[b] - 1e-9
