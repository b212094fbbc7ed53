"""p(z|x): from the scores of a retriever to the probability that a passage is the one to read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pincite.errors import InputError
from pincite.marginalize.logspace import as_floats, log, log_softmax, logsumexp

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pincite.marginalize.logspace import Floats
    from pincite.types import Passage

__all__ = ["DEFAULT_TEMPERATURE", "Calibration", "calibrate", "log_prior", "logits", "of_passages"]

DEFAULT_TEMPERATURE: dict[str, float] = {"dense": 0.04, "bm25": 1.8, "fused": 0.8, "rrf": 0.05}
"""The temperature for the scores of a stage, where nothing else is set; 1 for a stage that is not here (rerankers).

Calibrated on XQuAD with the bundled encoder, see docs/decisions/0015: within the noise of the best, and rounded.
"""

#: The temperatures that `calibrate` looks at, in units of the scores' own spread.
_LOWEST, _HIGHEST, _GRID = 1e-3, 1e3, 121
#: Differences of mean log-probability below this are rounding.
_FLAT = 1e-12


def log_prior(scores: ArrayLike, temperature: float = 1.0) -> Floats:
    """p(z|x) = softmax(scores / temperature) over the last axis, as natural logarithms; shape as given, float64.

    A score of minus infinity gives a passage probability 0 (a passage that pads a batch, for one). Raises InputError
    for no scores, NaN or plus infinity, nothing but minus infinity, and a temperature that is not above 0 and finite.
    Source: Lewis et al. 2020, section 2.2: p(z|x) ∝ exp(score); the temperature is ours.

    >>> np.exp(log_prior([2.7, 1.9, 0.4])).round(4).tolist()
    [0.6453, 0.29, 0.0647]
    """
    values = _scores(scores)
    if not (temperature > 0 and math.isfinite(temperature)):
        raise InputError(f"the temperature of the prior must be above 0 and finite, got {temperature}")
    # The highest score is taken off first: a quotient of it could overflow where the temperature is small.
    return log_softmax((values - values.max(axis=-1, keepdims=True)) / temperature)


def logits(stage: str, scores: ArrayLike) -> Floats:
    """What `log_prior` divides by the temperature, from the scores that the stage `stage` gave; shape (k,).

    Cosines ("dense"), BM25, standardized sums ("fused") and the scores of rerankers are taken as they stand.
    Reciprocal-rank sums ("rrf") are taken as logarithms, so that at temperature 1 the prior is proportional to them:
    their differences are so small that a softmax of the sums themselves would be flat at any ordinary temperature.
    Raises InputError for NaN, plus infinity, no scores, or an "rrf" score below 0.
    """
    values = _scores(scores)
    if stage != "rrf":
        return values
    if (values < 0).any():
        raise InputError(f"a reciprocal-rank sum cannot be below 0, got {values.min()}: were these scores of `rrf`?")
    return _scores(log(values))


def of_passages(passages: Sequence[Passage], temperature: float | None = None, stage: str | None = None) -> Floats:
    """The prior p(z|x) of passages, as logarithms, by the scores of the stage that put them in their order; shape (k,).

    That stage is the first passage's (`Hit.stage`); `stage` names it better where its name does not say how its scores
    were made ("rrf" for reciprocal-rank sums, whose hits are of the stage "fused"). A passage that it did not score (a
    reranker ran out of time) has the lowest score that it gave. Without a `temperature` the stage's default holds.
    Raises InputError for no passages, and what `logits` and `log_prior` refuse.
    """
    if not passages:
        raise InputError("a prior needs at least one passage, got none")
    scored = passages[0].hit.stage
    scores = np.array([each.hit.score if each.hit.stage == scored else np.nan for each in passages])
    unscored = np.array([each.hit.stage != scored for each in passages])
    scores[unscored] = scores[~unscored].min()
    if temperature is None:
        temperature = DEFAULT_TEMPERATURE.get(stage or scored, 1.0)
    return log_prior(logits(stage or scored, scores), temperature)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What `calibrate` found. Means are of log p(y|x) in nats, over the questions that count."""

    temperature: float
    mean_logprob: float  #: at `temperature`
    at_one: float  #: at temperature 1
    uniform: float  #: with the same prior for every passage of a question
    questions: int  #: how many count: those to whose answer some passage gives a probability


def calibrate(scores: Sequence[ArrayLike], logprobs: Sequence[ArrayLike]) -> Calibration:
    """The temperature that maximizes the mean over questions of log Σ_z softmax(s/T)_z p(y|x,z).

    For each question the scores (k_i,) of its passages and the log-probabilities (k_i,) of its right answer after each
    of them. Looks at temperatures from a thousandth to a thousand times the scores' own spread: at a grid of them and
    at 1, for the mean can have several peaks, and then between the neighbours of the best by golden section. What it
    finds is never worse than temperature 1. Where the data say nothing (one passage each, equal scores or equal
    log-probabilities) the temperature is 1. Questions whose answer has probability 0 after every passage that has any
    prior do not count: no temperature helps them. Raises InputError if none counts, for lengths that differ, and for
    what `log_prior` refuses.
    """
    if len(scores) != len(logprobs):
        raise InputError(
            f"calibration needs scores and log-probabilities of the same questions, got {len(scores)} and "
            f"{len(logprobs)}"
        )
    pairs = []
    for number, (some, likelihood) in enumerate(zip(map(_scores, scores), map(as_floats, logprobs), strict=True)):
        if some.shape != likelihood.shape or some.ndim != 1:
            raise InputError(
                f"question {number}: scores {some.shape} and log-probabilities {likelihood.shape} must be "
                "one each for every passage"
            )
        if np.isnan(likelihood).any():
            raise InputError(f"question {number}: a log-probability is NaN")
        if (np.isfinite(some) & ~np.isneginf(likelihood)).any():
            pairs.append((some, likelihood))
    if not pairs:
        raise InputError("no question has an answer that some passage gives a probability: nothing to calibrate on")
    table, reader = (_padded([pair[i] for pair in pairs]) for i in (0, 1))

    def mean(log_temperature: float) -> float:
        return float(logsumexp(log_prior(table, math.exp(log_temperature)) + reader).mean())

    at_one = mean(0.0)
    uniform = float(logsumexp(log_prior(np.where(np.isneginf(table), table, 0.0)) + reader).mean())
    spread = _spread(table)
    best, value = 0.0, at_one
    if spread > 0:
        grid = np.linspace(math.log(spread * _LOWEST), math.log(spread * _HIGHEST), _GRID)
        values = [mean(each) for each in grid]
        top = int(np.argmax(values))
        found, peak = _golden(mean, grid[max(0, top - 1)], grid[min(_GRID - 1, top + 1)])
        if values[top] > peak:
            found, peak = float(grid[top]), values[top]
        if peak > at_one + _FLAT:
            best, value = found, peak
    return Calibration(math.exp(best), value, at_one, uniform, len(pairs))


def _scores(scores: ArrayLike) -> Floats:
    values = as_floats(scores)
    if values.ndim == 0 or values.size == 0:
        raise InputError("a prior needs the score of at least one passage, got none")
    if np.isnan(values).any() or np.isposinf(values).any():
        raise InputError("a passage's score is NaN or infinite: a prior cannot be made of it")
    if np.isneginf(values).all(axis=-1).any():
        raise InputError("every passage is ruled out by a score of minus infinity: at least one must remain")
    return values


def _padded(rows: Sequence[Floats]) -> Floats:
    """Rows of several lengths as one table; what is missing has score, and probability, minus infinity."""
    table = np.full((len(rows), max(len(row) for row in rows)), -np.inf)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _spread(table: Floats) -> float:
    """The median over questions of the standard deviation of their scores; of those that have any."""
    deviations = [float(np.std(row[np.isfinite(row)])) for row in table]
    return float(np.median([each for each in deviations if each > 0] or [0.0]))


def _golden(
    function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-4
) -> tuple[float, float]:
    """Where `function` is highest between `low` and `high`, if it has one peak there, and how high."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > tolerance:
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return (left, at_left) if at_left >= at_right else (right, at_right)
