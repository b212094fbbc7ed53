"""RAG-Sequence: candidates from each passage, thoroughly and fast."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pincite.marginalize import decode
from pincite.marginalize.posterior import running_posterior
from pincite.marginalize.prior import log_prior
from pincite.protocols import Context
from toys_scorer import TableScorer

CONTEXTS = [("a",), ("b",), ("c",)]
PRIOR = log_prior([0.6, 0.5, 0.0])


def two_readers() -> TableScorer:
    """After passage a the answer is 0, after b it is 1; each knows a little of the other's."""

    def table(context: Context, answer: tuple[int, ...]) -> list[float]:
        if answer:
            return [0.1, 0.1, 0.8]
        return [0.6, 0.3, 0.1] if context[0] == "a" else [0.05, 0.75, 0.2]

    return TableScorer("xy.", (2,), table, dtype=np.float64)


def test_thorough_scores_everywhere_and_fast_only_where_found() -> None:
    reader, prior = two_readers(), np.log([0.55, 0.45])
    thorough = decode.thorough(reader.read(CONTEXTS[:2]), prior, (2,), max_tokens=3)
    assert [(each.tokens, round(math.exp(each.logprob), 6)) for each in thorough] == [
        ((1,), round((0.55 * 0.3 + 0.45 * 0.75) * 0.8, 6)),
        ((0,), round((0.55 * 0.6 + 0.45 * 0.05) * 0.8, 6)),
    ]
    fast = decode.fast(reader.read(CONTEXTS[:2]), prior, (2,), max_tokens=3)
    assert [(each.tokens, round(math.exp(each.logprob), 6)) for each in fast] == [
        ((1,), round(0.45 * 0.75 * 0.8, 6)),
        ((0,), round(0.55 * 0.6 * 0.8, 6)),
    ]
    assert np.isneginf(fast[0].row_logprobs[0]).all()
    assert fast[0].posteriors[-1].tolist() == [0.0, 1.0]
    # What it leaves out may be anything up to the prior of the passages left out.
    for quick, slow in zip(fast, thorough, strict=True):
        assert quick.logprob < slow.logprob < quick.logprob + quick.slack
    assert math.exp(fast[0].logprob + fast[0].slack) == pytest.approx(0.45 * 0.75 * 0.8 + 0.55)


@pytest.mark.parametrize("beams", [1, 2, 4])
@pytest.mark.parametrize("seed", range(6))
def test_a_second_reading_gives_the_same_as_reading_everything_along(seed: int, beams: int) -> None:
    reader = TableScorer(seed=seed, ends=(2, 4))
    first = reader.read(CONTEXTS)
    along = decode.thorough(first, PRIOR, reader.ends, max_tokens=4, beams=beams)
    first.close()
    second = decode.thorough(
        reader.read(CONTEXTS), PRIOR, reader.ends, max_tokens=4, beams=beams, again=lambda: reader.read(CONTEXTS)
    )
    assert reader.open == 0
    assert [(each.tokens, each.finish) for each in along] == [(each.tokens, each.finish) for each in second]
    for one, other in zip(along, second, strict=True):
        assert other.logprob == pytest.approx(one.logprob, abs=1e-5)
        assert other.row_logprobs == pytest.approx(one.row_logprobs, abs=1e-5)
        assert other.posteriors == pytest.approx(running_posterior(PRIOR, other.row_logprobs))
        assert other.certainty.kind == "exact"
        assert other.slack == 0


@pytest.mark.parametrize("seed", range(6))
def test_candidates_are_what_each_passage_alone_would_answer(seed: int) -> None:
    reader = TableScorer(seed=seed)
    own = {
        (found.tokens, found.finish)
        for context in CONTEXTS
        for found in decode.beam(reader.read([context]), [0.0], reader.ends, beams=3, max_tokens=4)
    }
    for run in (decode.thorough, decode.fast):
        found = run(reader.read(CONTEXTS), PRIOR, reader.ends, max_tokens=4, beams=3)
        ended = {tokens for tokens, finish in own if finish == "end"}
        expected = {(tokens, f) for tokens, f in own if f == "end" or tokens not in ended}
        assert {(each.tokens, each.finish) for each in found} == expected
        logprobs = [each.logprob for each in found]
        assert logprobs == sorted(logprobs, reverse=True)


def test_one_passage_is_its_own_search() -> None:
    for seed in range(5):
        reader = TableScorer(seed=seed)
        alone = decode.greedy(reader.read(CONTEXTS[:1]), [0.0], reader.ends, max_tokens=4)
        for run in (decode.thorough, decode.fast):
            (found,) = run(reader.read(CONTEXTS[:1]), [0.0], reader.ends, max_tokens=4)
            assert (found.tokens, found.finish) == (alone.tokens, alone.finish)
            assert found.logprob == pytest.approx(alone.logprob, abs=1e-6)
            assert found.slack == pytest.approx(0.0, abs=1e-9)


def test_rows_that_agree_are_read_once() -> None:
    """Fast decoding never holds more rows than passages times beams; thorough with a second reading neither."""
    most = 0
    reader = TableScorer(seed=4)

    class Watched:
        def __init__(self) -> None:
            self.inner = reader.read(CONTEXTS)

        def __getattr__(self, name: str) -> object:
            nonlocal most
            most = max(most, self.inner.rows)
            return getattr(self.inner, name)

    for beams in (1, 2, 3):
        most = 0
        decode.fast(Watched(), PRIOR, reader.ends, max_tokens=4, beams=beams)  # type: ignore[arg-type]
        assert most <= 3 * max(1, beams)
        most = 0
        decode.thorough(Watched(), PRIOR, reader.ends, max_tokens=4, beams=beams, again=Watched)  # type: ignore[arg-type]
        assert most <= 3 * max(1, beams)
        most = 0
        decode.thorough(Watched(), PRIOR, reader.ends, max_tokens=4, beams=beams)  # type: ignore[arg-type]
        assert most > 3
