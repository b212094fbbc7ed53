"""p(z|x): scores, temperatures and calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import InputError
from pincite.marginalize.prior import DEFAULT_TEMPERATURE, calibrate, log_prior, logits, of_passages
from pincite.types import Chunk, Hit, Passage


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_softmax_with_a_temperature(dtype: type[np.floating]) -> None:
    scores = np.array([[2.0, 1.0, -np.inf], [0.0, 0.0, 0.0]], dtype=dtype)
    found = log_prior(scores, 0.5)
    assert found.dtype == np.float64
    weight = math.exp(2.0)
    assert np.exp(found) == pytest.approx(np.array([[weight / (1 + weight), 1 / (1 + weight), 0], [1 / 3] * 3]))


@pytest.mark.parametrize("temperature", [1e-300, 1e-3, 1.0, 1e300])
def test_extreme_scores_and_temperatures(temperature: float) -> None:
    found = log_prior([1e4, -1e4, -np.inf, 1e4], temperature)
    assert not np.isnan(found).any()
    assert np.exp(found).sum() == pytest.approx(1.0)
    assert found[0] == found[3]


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=6), st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_only_differences_of_scores_count(scores: list[float], shift: float, temperature: float) -> None:
    one, other = log_prior(scores, temperature), log_prior(np.array(scores) + shift, temperature)
    assert np.exp(other) == pytest.approx(np.exp(one), abs=1e-6)


@pytest.mark.parametrize(
    ("scores", "temperature", "message"),
    [
        ([], 1.0, "at least one"),
        (3.0, 1.0, "at least one"),
        ([1.0, math.nan], 1.0, "NaN"),
        ([1.0, math.inf], 1.0, "infinite"),
        ([[1.0, 2.0], [-math.inf, -math.inf]], 1.0, "at least one must remain"),
        ([1.0], 0.0, "above 0"),
        ([1.0], -1.0, "above 0"),
        ([1.0], math.nan, "above 0"),
        ([1.0], math.inf, "above 0"),
    ],
)
def test_what_no_prior_can_be_made_of(scores: object, temperature: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        log_prior(scores, temperature)  # type: ignore[arg-type]


def test_reciprocal_rank_sums_are_taken_in_proportion() -> None:
    sums = [1 / 61 + 1 / 62, 1 / 61, 0.0]
    assert np.exp(log_prior(logits("rrf", sums))) == pytest.approx(np.array(sums) / sum(sums))
    for stage in ("dense", "bm25", "fused", "cross-encoder"):
        assert logits(stage, [0.3, -2.0]).tolist() == [0.3, -2.0]
    with pytest.raises(InputError, match="below 0"):
        logits("rrf", [0.1, -0.1])


def found_by(*hits: tuple[float, str]) -> list[Passage]:
    chunk = Chunk("c", "d", 1, "text", 0, 4, 0)
    return [Passage(chunk, "", "", Hit("c", score, i, stage)) for i, (score, stage) in enumerate(hits, 1)]


def test_the_prior_of_passages_as_they_were_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_passages(found_by((2.0, "other"), (1.0, "other"))) == pytest.approx(log_prior([2.0, 1.0]))
    assert of_passages(found_by((2.0, "bm25"), (1.0, "bm25")), 0.1) == pytest.approx(log_prior([2.0, 1.0], 0.1))
    monkeypatch.setitem(DEFAULT_TEMPERATURE, "dense", 0.5)
    assert of_passages(found_by((0.9, "dense"), (0.1, "dense"))) == pytest.approx(log_prior([0.9, 0.1], 0.5))
    # Scores of another stage are on another scale: such a passage stands with the last that was scored.
    mixed = found_by((3.0, "cross-encoder"), (-2.0, "cross-encoder"), (0.99, "dense"))
    assert of_passages(mixed) == pytest.approx(log_prior([3.0, -2.0, -2.0]))
    sums = found_by((0.03, "fused"), (0.01, "fused"))
    assert np.exp(of_passages(sums, 1.0, "rrf")) == pytest.approx([0.75, 0.25])
    monkeypatch.setitem(DEFAULT_TEMPERATURE, "rrf", 0.5)
    assert np.exp(of_passages(sums, stage="rrf")) == pytest.approx([0.9, 0.1])
    with pytest.raises(InputError, match="at least one"):
        of_passages([])


def drawn(temperature: float, questions: int = 1500) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Questions of which one passage answers, drawn from the softmax of the scores at a temperature."""
    rng = np.random.default_rng(5)
    scores, logprobs = [], []
    for _ in range(questions):
        some = rng.normal(0, 1, size=rng.integers(2, 7)).astype(np.float32)
        right = rng.choice(len(some), p=np.exp(log_prior(some, temperature)))
        scores.append(some)
        logprobs.append(np.where(np.arange(len(some)) == right, -0.1, -12.0))
    return scores, logprobs


@pytest.mark.parametrize("true", [0.3, 1.0, 2.0])
def test_calibration_finds_the_temperature_the_data_were_drawn_with(true: float) -> None:
    scores, logprobs = drawn(true)
    found = calibrate(scores, logprobs)
    assert found.temperature == pytest.approx(true, rel=0.2)
    assert found.questions == 1500
    assert found.mean_logprob >= found.at_one
    assert found.mean_logprob > found.uniform
    # No temperature nearby is better, by the formula itself.
    for factor in (0.8, 0.95, 1.05, 1.25):
        other = np.mean(
            [
                np.logaddexp.reduce(log_prior(s, found.temperature * factor) + y)
                for s, y in zip(scores, logprobs, strict=True)
            ]
        )
        assert other < found.mean_logprob


def test_calibration_does_not_depend_on_the_scale_of_the_scores() -> None:
    scores, logprobs = drawn(0.5, 500)
    one, other = calibrate(scores, logprobs), calibrate([1e-4 * s.astype(np.float64) for s in scores], logprobs)
    assert other.temperature == pytest.approx(1e-4 * one.temperature, rel=1e-3)
    assert other.mean_logprob == pytest.approx(one.mean_logprob, abs=1e-9)


@pytest.mark.parametrize(
    ("scores", "logprobs"),
    [
        ([[1.0], [5.0]], [[-1.0], [-2.0]]),  # one passage each
        ([[1.0, 1.0]], [[-1.0, -9.0]]),  # scores all equal
        ([[1.0, 3.0]], [[-2.0, -2.0]]),  # the reader does not care
        ([[1.0, -math.inf]], [[-2.0, -1.0]]),  # one passage ruled out
    ],
)
def test_data_that_say_nothing_leave_the_temperature_at_one(
    scores: list[list[float]], logprobs: list[list[float]]
) -> None:
    found = calibrate(scores, logprobs)
    assert found.temperature == 1.0
    assert found.mean_logprob == found.at_one


def test_calibration_stays_within_its_bounds_and_counts_what_it_used() -> None:
    # The best passage always answers: the colder the better. The worst always does: the flatter the better.
    scores = [[2.0, 1.0]] * 3 + [[2.0, 1.0]]
    cold = calibrate(scores, [[-0.1, -9.0]] * 3 + [[-math.inf, -math.inf]])
    assert cold.questions == 3
    assert cold.mean_logprob == pytest.approx(-0.1)
    assert 0 < cold.temperature < 0.2
    flat = calibrate(scores, [[-9.0, -0.1]] * 4)
    assert 100 < flat.temperature < 1e4
    assert flat.mean_logprob == pytest.approx(flat.uniform, abs=0.01)


@pytest.mark.parametrize(
    ("scores", "logprobs", "message"),
    [
        ([], [], "nothing to calibrate"),
        ([[1.0]], [[-math.inf]], "nothing to calibrate"),
        ([[1.0]], [], "same questions"),
        ([[1.0, 2.0]], [[-1.0]], "question 0"),
        ([[1.0, 2.0]], [[-1.0, math.nan]], "NaN"),
        ([[1.0, math.nan]], [[-1.0, -1.0]], "NaN"),
    ],
)
def test_what_cannot_be_calibrated_on(scores: list[list[float]], logprobs: list[list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        calibrate(scores, logprobs)
