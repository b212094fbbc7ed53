"""Greedy search, beam search and sampling of the mixture."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from pincite.errors import BackendError, InputError
from pincite.marginalize import decode
from pincite.marginalize.logspace import log
from pincite.marginalize.posterior import token_posterior
from pincite.marginalize.prior import log_prior
from pincite.protocols import Context
from toys_scorer import TableScorer

CONTEXTS = [("a",), ("b",), ("c",)]
PRIOR = log_prior([1.0, 0.5, 0.0])


def fixed(*rows: list[float], ends: tuple[int, ...] = (2,), widest: int | None = None) -> TableScorer:
    """The same probabilities at every step."""

    def table(context: Context, _: tuple[int, ...]) -> list[float]:
        return rows["abc".index(context[0])]

    return TableScorer([chr(97 + t) for t in range(len(rows[0]))], ends, table, dtype=np.float64, widest=widest)


def test_tokens_that_end_an_answer_are_one_symbol() -> None:
    # Each end is less likely than the word; together they are likelier.
    reader = fixed([0.4, 0.3, 0.3], ends=(1, 2))
    found = decode.greedy(reader.read([("a",)]), [0.0], reader.ends, max_tokens=3)
    assert (found.tokens, found.finish, found.ended, found.end_scored) == ((), "end", True, True)
    assert math.exp(found.logprob) == pytest.approx(0.6)
    assert found.row_logprobs.shape == (1, 1)
    silent = decode.greedy(reader.read([("a",)]), [0.0], reader.ends, max_tokens=3, score_end=False)
    assert (silent.tokens, silent.logprob, silent.ended, silent.end_scored) == ((), 0.0, True, False)
    assert silent.row_logprobs.shape == (1, 0)
    assert silent.posteriors.shape == (0, 1)
    best = decode.beam(reader.read([("a",)]), [0.0], reader.ends, beams=2, max_tokens=3)
    assert [round(math.exp(each.logprob), 6) for each in best] == [0.6, 0.24]
    # The end wins no tie.
    tie = fixed([0.5, 0.25, 0.25], ends=(1, 2))
    assert decode.greedy(tie.read([("a",)]), [0.0], tie.ends, max_tokens=2).tokens == (0, 0)


def test_an_answer_of_just_as_many_tokens_as_allowed_may_end() -> None:
    def table(_: Context, answer: tuple[int, ...]) -> list[float]:
        return [0.9, 0.1] if len(answer) < 2 else [0.1, 0.9]

    reader = TableScorer("a.", (1,), table)
    for most, tokens, finish in ((1, (0,), "length"), (2, (0, 0), "end"), (5, (0, 0), "end")):
        for found in (
            decode.greedy(reader.read([("a",)]), [0.0], (1,), max_tokens=most),
            decode.beam(reader.read([("a",)]), [0.0], (1,), beams=2, max_tokens=most)[0],
            decode.thorough(reader.read([("a",)]), [0.0], (1,), max_tokens=most)[0],
        ):
            assert (found.tokens, found.finish) == (tokens, finish)
            assert found.logprob == pytest.approx(len(found.token_logprobs) * math.log(0.9), abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_one_beam_is_greedy_search(seed: int) -> None:
    reader = TableScorer(seed=seed, ends=(2, 4))
    greedy = decode.greedy(reader.read(CONTEXTS), PRIOR, reader.ends, max_tokens=5)
    (beam,) = decode.beam(reader.read(CONTEXTS), PRIOR, reader.ends, beams=1, max_tokens=5)
    assert (beam.tokens, beam.finish) == (greedy.tokens, greedy.finish)
    assert beam.logprob == pytest.approx(greedy.logprob, abs=1e-12)
    assert beam.row_logprobs == pytest.approx(greedy.row_logprobs, abs=1e-12)
    # More beams never find less.
    for beams in (2, 4, 8):
        found = decode.beam(reader.read(CONTEXTS), PRIOR, reader.ends, beams=beams, max_tokens=5)
        assert len(found) <= beams
        assert len({(each.tokens, each.finish) for each in found}) == len(found)
        if greedy.ended and found[0].ended:
            assert found[0].logprob >= greedy.logprob - 1e-12


def test_a_beam_finds_what_greedy_search_misses() -> None:
    def table(_: Context, answer: tuple[int, ...]) -> list[float]:
        return {(): [0.5, 0.4, 0.1], (0,): [0.3, 0.3, 0.4], (1,): [0.05, 0.05, 0.9]}.get(answer, [0.1, 0.1, 0.8])

    reader = TableScorer("ab.", (2,), table)
    assert decode.greedy(reader.read([("a",)]), [0.0], (2,), max_tokens=3).tokens == (0,)
    found = decode.beam(reader.read([("a",)]), [0.0], (2,), beams=2, max_tokens=3)
    assert [(each.tokens, round(math.exp(each.logprob), 4)) for each in found] == [((1,), 0.36), ((0,), 0.2)]


def test_a_beam_stops_when_nothing_can_reach_what_ended() -> None:
    reader = fixed([0.05, 0.05, 0.9])
    reading = reader.read([("a",)])
    decode.beam(reading, [0.0], (2,), beams=1, max_tokens=50)
    assert reading.steps == 0
    reading = reader.read([("a",)])
    assert len(decode.beam(reading, [0.0], (2,), beams=3, max_tokens=50)) == 3
    assert reading.steps < 4


def test_what_is_reported_of_every_token() -> None:
    reader = TableScorer(seed=3)
    steps = list(decode.stream_greedy(reader.read(CONTEXTS), PRIOR, reader.ends, max_tokens=4))
    found = steps.pop()
    assert isinstance(found, decode.Decoded)
    assert all(isinstance(step, decode.Step) for step in steps)
    assert tuple(step.token for step in steps) == found.tokens  # type: ignore[union-attr]
    for i, step in enumerate(steps):
        assert isinstance(step, decode.Step)
        assert step.logprob == pytest.approx(found.token_logprobs[i])
        assert step.posterior == pytest.approx(found.posteriors[i])
        assert step.row_logprobs == pytest.approx(found.row_logprobs[:, i])
    assert found.posteriors == pytest.approx(token_posterior(PRIOR, found.row_logprobs))
    assert found.token_logprobs.sum() == pytest.approx(found.logprob)
    given = decode.score_answer(reader.read(CONTEXTS), found.tokens, reader.ends)
    assert given.dtype == np.float64
    assert given[:, : len(found.tokens)] == pytest.approx(found.row_logprobs[:, : len(found.tokens)], abs=1e-6)
    assert given.shape == (3, len(found.tokens) + 1)


def test_a_given_answer_has_its_end_once() -> None:
    reader = TableScorer(ends=(2, 4), seed=1)
    reading = reader.read(CONTEXTS)
    found = decode.score_answer(reading, (), reader.ends)
    both = np.exp([reader.logprobs(context, ())[[2, 4]] for context in CONTEXTS]).sum(axis=1)
    assert np.exp(found)[:, 0] == pytest.approx(both)
    with pytest.raises(InputError, match="token 4 ends an answer"):
        decode.score_answer(reading, (0, 4), reader.ends)


@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("widest", [None, 4])
def test_samples_are_as_frequent_as_the_mixture_says(temperature: float, widest: int | None) -> None:
    rows = [[0.7, 0.1, 0.15, 0.05], [0.1, 0.6, 0.1, 0.2]]
    reader = fixed(*rows, ends=(2, 3), widest=widest)
    prior = np.log([0.3, 0.7])
    mixed = np.array([0.3 * 0.7 + 0.7 * 0.1, 0.3 * 0.1 + 0.7 * 0.6, 0.3 * 0.2 + 0.7 * 0.3])
    expected = mixed ** (1 / temperature) / (mixed ** (1 / temperature)).sum()
    rng, draws = np.random.default_rng(11), 1000
    counts: Counter[int] = Counter()
    for _ in range(draws):
        found = next(
            decode.stream_sample(
                reader.read(CONTEXTS[:2]), prior, (2, 3), rng=rng, temperature=temperature, max_tokens=1, widest=widest
            )
        )
        counts[found.token if isinstance(found, decode.Step) else 2] += 1
        if temperature == 1:
            assert found.certainty.kind == ("exact" if widest is None else "certified")
    chi = sum((counts[i] - draws * p) ** 2 / (draws * p) for i, p in enumerate(expected))
    assert chi < 13.8  # two degrees of freedom, one in a thousand


def test_a_sample_repeats_with_its_seed_and_is_scored_as_the_mixture() -> None:
    reader = TableScorer(seed=2, sharpness=0.5)
    answers = set()
    for seed in range(20):
        one, other = (
            decode.sample(
                reader.read(CONTEXTS), PRIOR, reader.ends, rng=np.random.default_rng(seed), temperature=2, max_tokens=5
            )
            for _ in range(2)
        )
        assert one.tokens == other.tokens
        answers.add(one.tokens)
        rows = reader.read(CONTEXTS).score([one.tokens], end=one.ended)[0].astype(float)
        assert one.logprob == pytest.approx(np.logaddexp.reduce(PRIOR[:, None] + rows, axis=0).sum(), abs=1e-6)
    assert len(answers) > 5


def test_a_list_that_lacks_what_was_drawn_says_so() -> None:
    reader = fixed([0.4, 0.3, 0.2, 0.1], ends=(3,), widest=2)
    seen = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found = decode.sample(reader.read([("a",)]), [0.0], (3,), rng=rng, max_tokens=1, widest=2)
        seen.add(found.certainty.kind)
        if found.certainty.kind == "approximate":
            assert found.certainty.mass == pytest.approx(0.3, abs=1e-5)
    assert seen == {"certified", "approximate"}


@pytest.mark.parametrize("name", ["greedy", "beam", "thorough", "fast", "sample"])
def test_what_cannot_be_searched(name: str) -> None:
    reader = TableScorer()
    run = getattr(decode, name)
    more = {"beam": {"beams": 2}, "sample": {"rng": np.random.default_rng(0)}}.get(name, {})

    def attempt(prior: object = PRIOR, ends: object = (4,), **changed: object) -> object:
        return run(reader.read(CONTEXTS), prior, ends, **({"max_tokens": 2} | more | changed))

    assert attempt()
    for prior in (log_prior([1.0, 2.0]), [0.0, 0.0, 0.0], [math.nan] * 3, [-math.inf] * 3):
        with pytest.raises(InputError, match="prior"):
            attempt(prior)
    for ends in ((), (-1,)):
        with pytest.raises(InputError, match="end"):
            attempt(ends=ends)
    with pytest.raises(InputError, match="vocabulary has only 5"):
        attempt(ends=(5,))
    with pytest.raises(InputError, match="max_tokens"):
        attempt(max_tokens=0)
    with pytest.raises(InputError, match="width"):
        attempt(width=0)
    if name in ("beam", "thorough", "fast"):
        with pytest.raises(InputError, match="beams"):
            attempt(beams=0)
    if name == "sample":
        for temperature in (0.0, -1.0, math.nan):
            with pytest.raises(InputError, match="temperature"):
                attempt(temperature=temperature)


@pytest.mark.parametrize("name", ["greedy", "beam", "thorough", "fast", "sample"])
@pytest.mark.parametrize("bad", [math.nan, 0.0])
@pytest.mark.parametrize("widest", [None, 2])
def test_a_model_that_gives_no_probabilities(name: str, bad: float, widest: int | None) -> None:
    reader = fixed([bad, bad, bad], widest=widest)
    more = {"beam": {"beams": 2}, "sample": {"rng": np.random.default_rng(0)}}.get(name, {})
    with pytest.raises(
        BackendError,
        match="NaN" if math.isnan(bad) else "no token any probability" if widest is None else "lists no token",
    ):
        getattr(decode, name)(reader.read([("a",)]), [0.0], (2,), max_tokens=2, **more)


def test_a_model_that_fuses_its_passages_has_one_row() -> None:
    reader = fixed([0.2, 0.7, 0.1])
    found = decode.greedy(reader.read([("a",)]), [0.0], (2,), max_tokens=2)
    assert found.tokens == (1, 1)
    assert found.posteriors.tolist() == [[1.0], [1.0]]


def test_extreme_logits_in_half_precision() -> None:
    def table(context: Context, _: tuple[int, ...]) -> list[float]:
        return [1.0, 0.0, 0.0] if context[0] == "a" else [0.0, 1e-7, 1 - 1e-7]

    reader = TableScorer("ab.", (2,), table, dtype=np.float16)
    prior = log_prior([1e4, -1e4])
    found = decode.greedy(reader.read(CONTEXTS[:2]), prior, (2,), max_tokens=2)
    assert found.tokens == (0, 0)
    assert math.isfinite(found.logprob)
    assert found.posteriors == pytest.approx(np.array([[1.0, 0.0]] * 2))
    other = decode.greedy(reader.read(CONTEXTS[:2]), log([0.0, 1.0]), (2,), max_tokens=2)
    assert (other.tokens, other.ended) == ((), True)


def test_only_likely_tokens_are_looked_at_and_none_is_missed() -> None:
    rng = np.random.default_rng(0)
    for trial in range(30):
        k, v, beams = int(rng.integers(1, 7)), 3000, int(rng.integers(1, 6))
        weights = np.exp(rng.normal(0, rng.uniform(0.01, 4), size=(k, v)))
        rows = (weights / weights.sum(axis=1, keepdims=True)).tolist()
        prior = log_prior(rng.normal(0, 2, size=k))
        reader = TableScorer([str(t) for t in range(v)], (0,), lambda c, _, rows=rows: rows[int(c[0])])
        found = decode.beam(reader.read([(str(z),) for z in range(k)]), prior, (0,), beams=beams, max_tokens=1)
        logs = np.stack([reader.logprobs((str(z),), ()) for z in range(k)]).astype(float)
        mixed = np.logaddexp.reduce(prior[:, None] + logs, axis=0)
        best = [t for t in np.argsort(-mixed, kind="stable") if t][: len(found)]
        assert {each.tokens[0] for each in found if each.tokens} <= set(best), trial
        assert found[0].tokens == (best[0],) or mixed[0] >= mixed[best[0]], trial
