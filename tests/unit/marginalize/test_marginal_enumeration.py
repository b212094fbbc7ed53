"""RAG-Sequence and RAG-Token against the sum over every answer of a small vocabulary."""

from __future__ import annotations

import math

import numpy as np
import pytest
from enumerated import CONTEXTS, Enumeration

from pincite.marginalize import decode
from pincite.marginalize.logspace import log
from pincite.marginalize.posterior import running_posterior, sequence_posterior, token_posterior
from pincite.marginalize.prior import log_prior
from pincite.marginalize.rag_sequence import conditional_logprobs, sequence_logprob, totals
from pincite.marginalize.rag_token import mixture, token_logprobs
from toys_scorer import TableScorer

SCORES = [2.7, 1.9, 0.4, 0.3, -1.0]
ENDS = [(4,), (2, 4)]


def world(k: int, ends: tuple[int, ...] = (4,), dtype: type[np.floating] = np.float64, seed: int = 7) -> Enumeration:
    return Enumeration(TableScorer(ends=ends, dtype=dtype, seed=seed), np.exp(log_prior(SCORES[:k])).tolist())


def table(all_of: Enumeration, dtype: type[np.floating], *, pad: int) -> tuple[np.ndarray, np.ndarray]:
    """log p(y_i|x,z,y<i) of every answer, its end last: (answers, k + pad, longest + 1 + pad), and which count."""
    answers, k, longest = all_of.answers, len(all_of.prior), all_of.longest + 1
    found = np.full((len(answers), k + pad, longest + pad), np.nan, dtype=dtype)
    for a, answer in enumerate(answers):
        for z in range(k):
            found[a, z, : len(answer) + 1] = np.log(all_of.columns(z, answer))
        found[a, k:, : len(answer) + 1] = -1.0  # a passage that pads the batch may say anything
    lengths = np.array([len(answer) + 1 for answer in answers])
    return found, np.arange(longest + pad) < lengths[:, None]


@pytest.mark.parametrize("pad", [0, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("ends", ENDS)
def test_both_models_are_the_sums_that_the_paper_writes(
    k: int, ends: tuple[int, ...], dtype: type[np.floating], pad: int
) -> None:
    all_of = world(k, ends, dtype)
    given, mask = table(all_of, dtype, pad=pad)
    prior = np.append(log_prior(SCORES[:k]), [-np.inf] * pad)
    by_passage = totals(given, mask[:, None, :])
    sequence = sequence_logprob(prior, by_passage)
    tokens = token_logprobs(prior, given, mask).sum(axis=-1)
    assert sequence.dtype == tokens.dtype == np.float64
    for a, answer in enumerate(all_of.answers):
        assert sequence[a] == pytest.approx(math.log(all_of.sequence(answer)), abs=1e-6)
        assert tokens[a] == pytest.approx(math.log(all_of.token(answer)), abs=1e-6)
    # One at a time is the same as all at once, and posteriors are Bayes' rule.
    posterior = sequence_posterior(prior, by_passage)
    for a in (0, 3, 17, len(all_of.answers) - 1):
        assert sequence_logprob(prior, by_passage[a]) == pytest.approx(sequence[a], abs=1e-12)
        answer = all_of.answers[a]
        bayes = [p * math.prod(all_of.columns(z, answer)) / all_of.sequence(answer) for z, p in enumerate(all_of.prior)]
        assert posterior[a] == pytest.approx(bayes + [0.0] * pad, abs=1e-6)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("k", [1, 3, 5])
def test_all_answers_and_what_is_unfinished_are_the_whole(k: int, ends: tuple[int, ...]) -> None:
    all_of = world(k, ends)
    given, mask = table(all_of, np.float64, pad=0)
    prior = log_prior(SCORES[:k])
    full = [a for a, answer in enumerate(all_of.answers) if len(answer) == all_of.longest]
    for ended, unfinished in (
        (
            np.exp(sequence_logprob(prior, totals(given, mask[:, None, :]))).sum(),
            np.exp(sequence_logprob(prior, totals(given[full, :, :-1]) + log(-np.expm1(given[full, :, -1])))).sum(),
        ),
        (
            np.exp(token_logprobs(prior, given, mask).sum(axis=-1)).sum(),
            (
                np.exp(token_logprobs(prior, given[full, :, :-1]).sum(axis=-1))
                * -np.expm1(token_logprobs(prior, given[full, :, -1:])[:, 0])
            ).sum(),
        ),
    ):
        assert 0 < ended <= 1
        assert ended + unfinished == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_two_models_agree_on_one_passage_and_on_one_scored_token(seed: int) -> None:
    alone, several = world(1, seed=seed), world(4, seed=seed)
    prior = log_prior(SCORES[:4])
    for answer in alone.answers:
        columns = np.log([alone.columns(0, answer)])
        assert sequence_logprob([0.0], totals(columns)) == pytest.approx(
            token_logprobs([0.0], columns).sum(), abs=1e-12
        )
    for word in several.words:
        columns = np.log([several.columns(z, (word,), end=False) for z in range(4)])
        assert sequence_logprob(prior, totals(columns)) == pytest.approx(
            token_logprobs(prior, columns).sum(), abs=1e-12
        )
    # With the end scored as well there are two, and the models part.
    columns = np.log([several.columns(z, (0,)) for z in range(4)])
    assert abs(sequence_logprob(prior, totals(columns)) - token_logprobs(prior, columns).sum()) > 1e-3


def test_three_passages_and_an_answer_of_two_tokens() -> None:
    prior = np.log([0.6, 0.3, 0.1])
    reader = np.array([[0.5, 0.4], [0.2, 0.9], [0.8, 0.1]])
    # .6*.5*.4 + .3*.2*.9 + .1*.8*.1 = .182; (.6*.5 + .3*.2 + .1*.8) * (.6*.4 + .3*.9 + .1*.1) = .44 * .52 = .2288
    assert np.exp(sequence_logprob(prior, totals(np.log(reader)))) == pytest.approx(0.182, abs=1e-12)
    assert np.exp(token_logprobs(prior, np.log(reader)).sum()) == pytest.approx(0.2288, abs=1e-12)
    assert sequence_posterior(prior, totals(np.log(reader))) == pytest.approx(
        [0.12 / 0.182, 0.054 / 0.182, 0.008 / 0.182]
    )
    assert running_posterior(prior, np.log(reader))[0] == pytest.approx([0.30 / 0.44, 0.06 / 0.44, 0.08 / 0.44])
    assert running_posterior(prior, np.log(reader))[1] == pytest.approx([0.12 / 0.182, 0.054 / 0.182, 0.008 / 0.182])
    assert token_posterior(prior, np.log(reader))[1] == pytest.approx([0.24 / 0.52, 0.27 / 0.52, 0.01 / 0.52])
    assert np.exp(conditional_logprobs(prior, np.log(reader))) == pytest.approx([0.44, 0.182 / 0.44])


def test_the_country_that_won() -> None:
    prior = log_prior([2.7, 1.9, 0.4])
    assert np.exp(prior).round(4).tolist() == [0.6453, 0.29, 0.0647]
    assert float(np.exp(sequence_logprob(prior, np.log([0.9, 0.35, 0.1])))) == pytest.approx(0.6888, abs=5e-5)


def test_probabilities_are_averaged_and_not_their_logarithms() -> None:
    readers = np.log([[0.9, 0.1], [0.001, 0.999]])
    yes = float(np.exp(mixture(np.log([0.5, 0.5]), readers))[0])
    assert yes == pytest.approx(0.4505, abs=1e-9)
    # What averaging logits would give, a document that rules a word out deciding alone.
    averaged = readers.mean(axis=0)
    assert math.exp(averaged[0] - np.logaddexp(*averaged)) == pytest.approx(0.087, abs=5e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_greedy_search_takes_the_likeliest_symbol_each_time(
    k: int, ends: tuple[int, ...], dtype: type[np.floating]
) -> None:
    for seed in range(8):
        all_of = world(k, ends, dtype, seed)
        for score_end in (True, False):
            found = decode.greedy(
                all_of.scorer.read(all_of.contexts), log_prior(SCORES[:k]), ends, max_tokens=4, score_end=score_end
            )
            assert (found.tokens, found.ended) == all_of.greedy(4)
            expected = all_of.token(found.tokens, end=found.ended and score_end)
            assert found.logprob == pytest.approx(math.log(expected), abs=1e-6)
            assert str(found.certainty) == "exact"
            assert found.slack == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_wide_beam_finds_the_likeliest_answers_of_all(
    k: int, ends: tuple[int, ...], dtype: type[np.floating]
) -> None:
    all_of = world(k, ends, dtype)
    reading = all_of.scorer.read(all_of.contexts)
    found = decode.beam(reading, log_prior(SCORES[:k]), ends, beams=2000, max_tokens=4)
    ended = [each for each in found if each.ended]
    ranked = sorted(all_of.answers, key=lambda answer: -all_of.token(answer))
    assert [each.tokens for each in ended] == ranked
    for each in ended:
        assert each.logprob == pytest.approx(math.log(all_of.token(each.tokens)), abs=1e-6)
    # The others are cut, and stand where their likeliest continuation would.
    ranks = [
        all_of.token(each.tokens)
        if each.ended
        else all_of.token(each.tokens, end=False) * max(all_of.mixed(each.tokens)[:-1])
        for each in found
    ]
    assert ranks == sorted(ranks, reverse=True)
    assert len(found) - len(ended) == len(all_of.words) ** 4
    few = decode.beam(all_of.scorer.read(all_of.contexts), log_prior(SCORES[:k]), ends, beams=40, max_tokens=4)
    assert few[0].tokens == found[0].tokens


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("beams", [1, 2, 3, 5])
def test_a_narrow_beam_is_the_beam_search_of_the_textbook(beams: int, ends: tuple[int, ...]) -> None:
    for seed in range(10):
        all_of = world(3, ends, seed=seed)
        reading = all_of.scorer.read(all_of.contexts)
        found = decode.beam(reading, log_prior(SCORES[:3]), ends, beams=beams, max_tokens=4)
        assert [(each.tokens, each.ended) for each in found] == all_of.beam(beams, 4)


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("k", "ends"), [(1, (4,)), (3, (2, 4)), (5, (2, 4))])
def test_thorough_decoding_of_everything_ranks_all_answers(
    k: int, ends: tuple[int, ...], dtype: type[np.floating], again: bool
) -> None:
    all_of = Enumeration(TableScorer(ends=ends, dtype=dtype), np.exp(log_prior(SCORES[:k])).tolist(), longest=3)
    found = decode.thorough(
        all_of.scorer.read(all_of.contexts),
        log_prior(SCORES[:k]),
        ends,
        max_tokens=3,
        beams=2000,
        again=(lambda: all_of.scorer.read(all_of.contexts)) if again else None,
    )
    assert all(each.ended for each in found)
    assert [each.tokens for each in found] == sorted(all_of.answers, key=lambda answer: -all_of.sequence(answer))
    for each in found:
        assert each.logprob == pytest.approx(math.log(all_of.sequence(each.tokens)), abs=1e-6)
        assert each.token_logprobs.sum() == pytest.approx(each.logprob, abs=1e-9)


@pytest.mark.parametrize("mode", ["greedy", "beam", "thorough", "fast"])
def test_a_passage_of_prior_zero_changes_nothing(mode: str) -> None:
    for seed in range(6):
        scorer = TableScorer(seed=seed, ends=(2, 4))
        options = {"max_tokens": 4} | ({} if mode == "greedy" else {"beams": 2})
        run = getattr(decode, mode)
        alone = run(scorer.read(CONTEXTS[:2]), np.log([0.7, 0.3]), scorer.ends, **options)
        beside = run(scorer.read([CONTEXTS[3], *CONTEXTS[:2]]), log([0.0, 0.7, 0.3]), scorer.ends, **options)
        for one, other in zip(*([x] if mode == "greedy" else x for x in (alone, beside)), strict=True):
            assert one.tokens == other.tokens
            assert one.logprob == pytest.approx(other.logprob, abs=1e-12)
            assert np.isfinite(other.posteriors).all()
            assert other.posteriors[:, 1:] == pytest.approx(one.posteriors, abs=1e-12)
            assert (other.posteriors[:, 0] == 0).all()
