"""Choices from lists that are cut: what is called certified is what the whole vocabulary would have given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.marginalize import decode
from pincite.marginalize.certificate import EXACT, Certainty, Lists
from pincite.marginalize.prior import log_prior
from pincite.protocols import Context, NextTokens
from toys_scorer import TableScorer

ROUNDING = 2e-6


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[float]], np.ndarray, tuple[int, ...], int]:
    """Probabilities (k, V) with ties and zeros, a prior, the tokens that end, and how many tokens are listed."""
    k, v = draw(st.integers(1, 4)), draw(st.integers(2, 7))
    weights = [draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 10, 60, 300]), min_size=v, max_size=v)) for _ in range(k)]
    rows = [[w / sum(row) for w in row] if sum(row) else [1 / v] * v for row in weights]
    scores = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5, -math.inf]), min_size=k, max_size=k))
    prior = log_prior([0.0, *scores[1:]])
    ends = draw(st.sets(st.integers(0, v - 1), min_size=1, max_size=3))
    return rows, prior, tuple(sorted(ends)), draw(st.integers(1, v))


def scorer(rows: list[list[float]], ends: tuple[int, ...], widest: int | None) -> TableScorer:
    def table(context: Context, answer: tuple[int, ...]) -> list[float]:
        row = rows[int(context[0])]
        return row[len(answer) :] + row[: len(answer)]  # another one at every step

    return TableScorer([chr(97 + t) for t in range(len(rows[0]))], ends, table, widest=widest)


def first(found: decode.Decoded) -> int:
    return found.tokens[0] if found.tokens else -1


def exact_step(rows: list[list[float]], prior: np.ndarray, ends: tuple[int, ...]) -> dict[int, float]:
    """The mixture's probability of every token, and of the end as -1."""
    mixed = np.exp(prior) @ np.array(rows, dtype=np.float32).astype(float)
    step = {t: float(p) for t, p in enumerate(mixed) if t not in ends}
    return step | {-1: float(sum(mixed[end] for end in ends))}


@settings(max_examples=150, deadline=None)
@given(tables())
def test_a_certified_token_is_the_likeliest_of_the_whole_vocabulary(
    case: tuple[list[list[float]], np.ndarray, tuple[int, ...], int],
) -> None:
    rows, prior, ends, n = case
    contexts = [(str(z),) for z in range(len(rows))]
    whole = decode.greedy(scorer(rows, ends, None).read(contexts), prior, ends, max_tokens=1)
    some = decode.greedy(scorer(rows, ends, n).read(contexts), prior, ends, max_tokens=1, widest=n, width=1)
    assert whole.certainty == EXACT
    assert some.certainty.kind in ("certified", "approximate")
    if n == len(rows[0]):
        assert some.certainty == Certainty("certified")
    step = exact_step(rows, prior, ends)
    walk = list(decode.stream_greedy(scorer(rows, ends, n).read(contexts), prior, ends, max_tokens=1, widest=n))
    chosen, sure = (walk[0].token, walk[0].certainty) if len(walk) > 1 else (-1, some.certainty)
    assert chosen == first(some)
    if sure.kind == "certified":
        assert chosen == first(whole)
    else:
        lower = math.exp(some.token_logprobs[0])
        assert max((p for t, p in step.items() if t != chosen), default=0) - lower <= sure.mass + ROUNDING
    # The number itself lies between the bounds that come with it.
    if chosen == -1:
        assert some.logprob - ROUNDING <= math.log(step[-1]) <= some.logprob + some.slack + ROUNDING


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0.5, 2.0, 5.0]), st.integers(1, 3), st.booleans())
def test_a_certified_search_is_the_search_of_the_whole_vocabulary(
    seed: int, n: int, sharpness: float, beams: int, two_ends: bool
) -> None:
    ends = (2, 4) if two_ends else (4,)
    whole, some = (TableScorer(ends=ends, seed=seed, sharpness=sharpness, widest=widest) for widest in (None, n))
    prior, contexts = log_prior([1.5, 0.5, 0.0]), [("a",), ("b",), ("c",)]
    runs = {
        "greedy": {},
        "beam": {"beams": beams},
        "thorough": {"beams": beams},
        "fast": {"beams": beams},
        "sample": {"temperature": 1.0},
    }
    for name, options in runs.items():
        results = []
        for each in (whole, some):
            more = {"rng": np.random.default_rng(seed)} if name == "sample" else {}
            run = getattr(decode, name)
            found = run(each.read(contexts), prior, ends, max_tokens=3, widest=each.widest, width=1, **options, **more)
            results.append(found if isinstance(found, list) else [found])
        right, found = results
        assert all(each.certainty == EXACT for each in right)
        assert {each.certainty for each in found} == {found[0].certainty}
        assert found[0].certainty.kind != "exact"
        if found[0].certainty.kind == "certified":
            assert [each.tokens for each in found] == [each.tokens for each in right], name
        for each in found:
            rows = whole.read(contexts).score([each.tokens], end=each.ended)[0].astype(float)
            if name in ("thorough", "fast"):
                true = float(np.logaddexp.reduce(prior + rows.sum(axis=1)))
            else:
                true = float(np.logaddexp.reduce(prior[:, None] + rows, axis=0).sum())
            assert each.logprob - 1e-5 <= true <= each.logprob + each.slack + 1e-5, name
            assert (each.row_logprobs <= rows + 1e-5).all()


def test_beams_of_different_hypotheses_are_compared_by_their_whole_bounds() -> None:
    certified = 0
    prior, contexts = log_prior([1.5, 0.5, 0.0]), [("a",), ("b",), ("c",)]
    for seed in range(60):
        whole, some = (TableScorer("abcdefgh", (4,), seed=seed, sharpness=2.5, widest=widest) for widest in (None, 3))
        right = decode.beam(whole.read(contexts), prior, (4,), beams=2, max_tokens=3)
        found = decode.beam(some.read(contexts), prior, (4,), beams=2, max_tokens=3, widest=3)
        if found[0].certainty.kind == "certified":
            certified += 1
            assert [each.tokens for each in found] == [each.tokens for each in right]
    assert certified >= 5


@pytest.mark.parametrize("again", [True, False])
def test_thorough_decoding_of_lists_keeps_its_bounds(again: bool) -> None:
    certified = 0
    prior, contexts = log_prior([1.5, 0.5, 0.0]), [("a",), ("b",), ("c",)]
    for seed in range(40):
        whole, some = (TableScorer(ends=(2, 4), seed=seed, sharpness=2, widest=widest) for widest in (None, 3))
        right = decode.thorough(whole.read(contexts), prior, (2, 4), max_tokens=3)
        second = (lambda some=some: some.read(contexts)) if again else None
        found = decode.thorough(some.read(contexts), prior, (2, 4), max_tokens=3, widest=3, width=1, again=second)
        if found[0].certainty.kind == "certified":
            certified += 1
            assert [each.tokens for each in found] == [each.tokens for each in right]
        for each in found:
            rows = whole.read(contexts).score([each.tokens], end=each.ended)[0].astype(float)
            true = float(np.logaddexp.reduce(prior + rows.sum(axis=1)))
            assert each.logprob - 1e-5 <= true <= each.logprob + each.slack + 1e-5
        assert some.open == (0 if again else 1)
    assert certified >= 3


def test_a_longer_list_is_asked_for_only_while_nothing_is_proven() -> None:
    sure = [[0.9, 0.05, 0.03, 0.02, 0.0]] * 2
    reader = scorer(sure, (4,), 5)
    decode.greedy(reader.read([("0",), ("1",)]), np.log([0.5, 0.5]), (4,), max_tokens=1, widest=5, width=1)
    assert reader.widths[0] == 1  # 0.9 is above all that is left: the first list is enough
    # Each row knows its own favourite only; which of them the other holds second takes a longer list.
    apart = [[0.5, 0.1, 0.3, 0.1, 0.0], [0.1, 0.5, 0.3, 0.1, 0.0]]
    reader = scorer(apart, (4,), 5)
    found = decode.greedy(reader.read([("0",), ("1",)]), np.log([0.5, 0.5]), (4,), max_tokens=1, widest=5, width=1)
    assert reader.widths[:2] == [1, 5]
    assert found.tokens == (0,)
    reader = scorer(apart, (4,), 2)
    found = decode.greedy(reader.read([("0",), ("1",)]), np.log([0.5, 0.5]), (4,), max_tokens=1, widest=2, width=1)
    # Token 2: at least .3 in both. Token 0: .25 at least, and at most .25 + .5 * .2.
    assert found.tokens == (2,)
    assert found.certainty.kind == "approximate"
    assert found.certainty.mass >= 0.35 - 0.3 - 1e-6
    # A reader that does not say how much it can list is asked until it gives no more.
    reader = scorer(apart, (4,), 3)
    decode.greedy(reader.read([("0",), ("1",)]), np.log([0.5, 0.5]), (4,), max_tokens=1, width=1)
    assert reader.widths[:3] in ([1, 10, 1], [1, 10, 100])


def test_the_listed_tokens_leave_only_so_much() -> None:
    logprobs = np.log(np.array([[0.6, 0.3], [0.5, 0.4999]], dtype=np.float32))
    lists = Lists(NextTokens(logprobs, np.array([[3, 7], [7, 2]])), slice(None))
    # Row 0: the rest is .1, less than its last. Row 1: .0001.
    assert np.exp(lists.unlisted) == pytest.approx([0.1, 0.0001], abs=ROUNDING)
    lower, upper = lists.bounds(np.array([2, 7]))
    assert np.exp(lower) == pytest.approx(np.array([[0, 0.3], [0.4999, 0.5]]), abs=ROUNDING)
    assert np.exp(upper) == pytest.approx(np.array([[0.1, 0.3], [0.4999, 0.5]]), abs=ROUNDING)
    # Several tokens together may have all that is left, one that is listed for sure, and no more than 1.
    lower, upper = lists.sum_bounds(np.array([3, 5, 8]))
    assert np.exp(lower) == pytest.approx([0.6, 0.0], abs=ROUNDING)
    assert np.exp(upper) == pytest.approx([0.7, 0.0001], abs=ROUNDING)
    short = Lists(NextTokens(logprobs, np.array([[3, -1], [-1, -1]])), slice(None))
    assert np.exp(short.unlisted) == pytest.approx([0.4, 1.0], abs=ROUNDING)
    wide = Lists(NextTokens(np.log([[0.5, 0.01]]), np.array([[0, 1]])), slice(None))
    assert np.exp(wide.unlisted) == pytest.approx([0.01], abs=ROUNDING)  # the last one listed
    assert np.exp(wide.sum_bounds(np.array([5, 6, 7]))[1]) == pytest.approx([0.03], abs=ROUNDING)  # three of those


def test_certainty_is_told_in_words() -> None:
    certified, rough, rougher = Certainty("certified"), Certainty("approximate", 0.0012), Certainty("approximate", 0.2)
    assert [str(each) for each in (EXACT, certified, rough)] == ["exact", "certified", "approximate (mass ≤ 0.0012)"]
    # A bound is rounded upwards.
    assert str(Certainty("approximate", 0.00121)) == "approximate (mass ≤ 0.0013)"
    assert str(Certainty("approximate", 0.9951)) == "approximate (mass ≤ 1)"
    assert str(Certainty("approximate", 0.0)) == "approximate (mass ≤ 0)"
    assert Certainty.worse(EXACT, certified) == certified
    assert Certainty.worse(rough, certified) == rough
    assert Certainty.worse(rough, rougher) == Certainty.worse(rougher, rough) == rougher


@given(st.floats(1e-12, 1.0))
def test_a_printed_bound_holds(mass: float) -> None:
    printed = float(str(Certainty("approximate", mass)).split("≤ ")[1].rstrip(")"))
    assert mass * (1 - 1e-9) <= printed <= mass * 1.11
