"""What holds of mixtures and posteriors whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pincite.errors import InputError
from pincite.marginalize.logspace import log, log_softmax, logsumexp
from pincite.marginalize.posterior import (
    answer_posterior,
    running_posterior,
    sequence_posterior,
    span_posterior,
    token_posterior,
)
from pincite.marginalize.prior import log_prior
from pincite.marginalize.rag_sequence import conditional_logprobs, rank_fast, rank_thorough, sequence_logprob, totals
from pincite.marginalize.rag_token import mixture, token_logprobs

passages = st.integers(1, 6)
scores = st.floats(-1e4, 1e4) | st.just(-np.inf) | st.floats(-5, 5)
logs = st.floats(-1e4, 0) | st.just(-np.inf) | st.floats(-5, 0)


@st.composite
def priors(draw: st.DrawFn, k: int) -> np.ndarray:
    given = draw(arrays.arrays(np.float64, k, elements=scores).filter(lambda s: not np.isneginf(s).all()))
    return log_prior(given)


@st.composite
def answers(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """log p(z|x) and log p(y_i|x,z,y<i)."""
    k, length = draw(passages), draw(st.integers(0, 5))
    return draw(priors(k)), draw(arrays.arrays(np.float64, (k, length), elements=logs))


@given(answers())
def test_posteriors_are_probabilities(answer: tuple[np.ndarray, np.ndarray]) -> None:
    prior, tokens = answer
    found = [
        sequence_posterior(prior, totals(tokens))[None],
        running_posterior(prior, tokens),
        token_posterior(prior, tokens),
        span_posterior(prior, tokens)[None],
        answer_posterior("token", prior, tokens)[None],
    ]
    for each in found:
        assert not np.isnan(each).any()
        assert (each >= 0).all()
        assert each.sum(axis=-1) == pytest.approx(np.ones(len(each)))
        assert (each[:, np.isneginf(prior)] == 0).all()
    assert found[1].shape == found[2].shape == tokens.T.shape


@given(answers(), st.randoms())
def test_passages_in_another_order_are_the_same_passages(answer: tuple[np.ndarray, np.ndarray], random: object) -> None:
    prior, tokens = answer
    order = np.random.default_rng(random.randint(0, 99)).permutation(len(prior))  # type: ignore[attr-defined]
    assert running_posterior(prior[order], tokens[order]) == pytest.approx(running_posterior(prior, tokens)[:, order])
    assert token_posterior(prior[order], tokens[order]) == pytest.approx(token_posterior(prior, tokens)[:, order])
    assert token_logprobs(prior[order], tokens[order]) == pytest.approx(token_logprobs(prior, tokens), abs=1e-9)


@given(answers())
def test_tokens_of_rag_sequence_add_up_to_the_answer(answer: tuple[np.ndarray, np.ndarray]) -> None:
    prior, tokens = answer
    parts = conditional_logprobs(prior, tokens)
    assert not np.isnan(parts).any()
    assert parts.sum() == pytest.approx(float(sequence_logprob(prior, totals(tokens))), rel=1e-9, abs=1e-9)


@given(st.data())
def test_a_mixture_is_a_distribution_between_its_parts_and_grows_with_them(data: st.DataObject) -> None:
    k, v = data.draw(passages), data.draw(st.integers(1, 6))
    prior = data.draw(priors(k))
    rows = log_softmax(data.draw(arrays.arrays(np.float64, (k, v), elements=st.floats(-1e4, 1e4))))
    mixed = mixture(prior, rows)
    assert np.exp(mixed).sum() == pytest.approx(1.0)
    some = rows[~np.isneginf(prior)]
    assert (mixed <= some.max(axis=0) + 1e-9).all()
    assert (mixed >= some.min(axis=0) - 1e-9).all()
    more = rows.copy()
    more[data.draw(st.integers(0, k - 1))] += 0.5
    assert (mixture(prior, more) >= mixed).all()


@given(answers())
def test_a_likelier_reading_raises_its_passage_and_the_answer(answer: tuple[np.ndarray, np.ndarray]) -> None:
    prior, tokens = answer
    values = totals(tokens)
    before, at = sequence_posterior(prior, values), sequence_logprob(prior, values)
    values[0] += 1.0
    assert sequence_posterior(prior, values)[0] >= before[0] - 1e-12
    assert sequence_logprob(prior, values) >= at - 1e-12


def test_an_answer_that_nobody_gives_says_nothing_about_the_passages() -> None:
    prior = log([0.6, 0.4, 0.0])
    nothing = np.full((3, 2), -np.inf)
    assert np.isneginf(sequence_logprob(prior, totals(nothing)))
    assert sequence_posterior(prior, totals(nothing)) == pytest.approx([0.6, 0.4, 0.0])
    # Given by a passage of prior 0 alone it is still given by none.
    nothing[2] = -0.1
    assert running_posterior(prior, nothing) == pytest.approx(np.array([[0.6, 0.4, 0.0]] * 2))


def test_a_sentence_is_judged_by_its_own_tokens() -> None:
    prior = np.log([0.5, 0.5])
    tokens = np.log([[0.9, 0.9, 0.1, 0.5], [0.1, 0.1, 0.9, 0.5]])
    assert span_posterior(prior, tokens, 0, 2)[0] == pytest.approx(0.81 / 0.82)
    assert span_posterior(prior, tokens, 2, 4) == pytest.approx([0.1, 0.9])
    assert span_posterior(prior, tokens, 2, 4, mode="token") == pytest.approx([(0.1 + 0.5) / 2, (0.9 + 0.5) / 2])
    assert answer_posterior("token", prior, tokens) == pytest.approx([0.6, 0.4])
    assert answer_posterior("sequence", prior, tokens) == pytest.approx([0.9, 0.1])
    assert span_posterior(prior, tokens, 1, 1) == pytest.approx([0.5, 0.5])
    for start, stop in ((3, 2), (0, 5), (-1, 2)):
        with pytest.raises(InputError, match="no span"):
            span_posterior(prior, tokens, start, stop)


def test_ranking_candidates_thoroughly_and_fast() -> None:
    prior = np.log([0.6, 0.4])
    reader = np.log([[0.5, 0.1], [0.4, 0.5], [0.4, 0.5]])
    order, logprob = rank_thorough(prior, reader)
    assert order.tolist() == [1, 2, 0]
    assert np.exp(logprob) == pytest.approx([0.44, 0.44, 0.34])
    order, logprob = rank_fast(prior, reader, [[True, False], [False, True], [True, True]])
    assert order.tolist() == [2, 0, 1]
    assert np.exp(logprob) == pytest.approx([0.44, 0.3, 0.2])
    with pytest.raises(InputError, match="shape"):
        rank_fast(prior, reader, [True, False])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_extreme_numbers_stay_numbers(dtype: type[np.floating]) -> None:
    prior = log_prior(np.array([1e4, -1e4, 9999.0], dtype=dtype))
    tokens = np.array([[-1e4, -2e-4], [-np.inf, -1.0], [-1e4, -0.5]], dtype=dtype)
    assert np.exp(prior).sum() == pytest.approx(1.0)
    for found in (
        token_logprobs(prior, tokens),
        conditional_logprobs(prior, tokens),
        sequence_logprob(prior, totals(tokens)),
    ):
        assert found.dtype == np.float64
        assert np.isfinite(found).all()
    assert running_posterior(prior, tokens).sum(axis=1) == pytest.approx([1.0, 1.0])
    assert np.isneginf(logsumexp(np.full((2, 3), -np.inf))).all()
    assert logsumexp(np.zeros((2, 0))).tolist() == [-np.inf, -np.inf]
