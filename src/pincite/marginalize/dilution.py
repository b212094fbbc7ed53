"""What further passages do to an answer: its probability as k grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pincite.errors import InputError
from pincite.marginalize.logspace import as_floats
from pincite.marginalize.prior import log_prior
from pincite.marginalize.rag_sequence import sequence_logprob

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Dilution", "dilution", "mean_by_k", "preferred_k"]

#: A fall of log p(y|x) smaller than this is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Dilution:
    """log p(y|x) of one answer with the first 1, 2, … passages, under RAG-Sequence."""

    by_k: tuple[float, ...]  #: natural logarithms; the first is with one passage
    first_harmful: int | None  #: the first passage, from 0, that lowered it; None if none did
    best_k: int  #: with how many passages it is highest; the fewest of several

    @property
    def probabilities(self) -> tuple[float, ...]:
        """p(y|x) with the first 1, 2, … passages."""
        return tuple(map(math.exp, self.by_k))


def dilution(logits: ArrayLike, logprobs: ArrayLike) -> Dilution:
    """What becomes of log p(y|x) as passages are added in their order.

    `logits` (k,) are the scores over the temperature, or the log prior of all: renormalised over the first passages
    the two are the same. `logprobs` (k,) is log p(y|x,z). A passage lowers the probability exactly if it gives the
    answer less than those before it together. Raises InputError for shapes that differ, and what `log_prior` refuses.
    """
    scores, reader = as_floats(logits), as_floats(logprobs)
    if scores.ndim != 1 or scores.shape != reader.shape:
        raise InputError(f"scores {scores.shape} and log-probabilities {reader.shape} must be one for each passage")
    if np.isnan(reader).any():
        raise InputError("a log-probability is NaN")
    by_k = []
    for k in range(1, len(scores) + 1):
        # Until a passage has any prior there is no mixture to ask for.
        none = np.isneginf(scores[:k]).all() and k < len(scores)
        by_k.append(-math.inf if none else float(sequence_logprob(log_prior(scores[:k]), reader[:k])))
    falls = (place for place in range(1, len(by_k)) if by_k[place] < by_k[place - 1] - _ROUNDING)
    return Dilution(tuple(by_k), next(falls, None), _highest(by_k))


def mean_by_k(many: Sequence[Dilution]) -> tuple[float, ...]:
    """The mean of log p(y|x) over questions with 1, 2, … passages; a question that has fewer gives what it has.

    Minus infinity where one of the answers has probability 0. Raises InputError for no questions.
    """
    return tuple(float(each) for each in _by_k(many).mean(axis=0))


def preferred_k(many: Sequence[Dilution]) -> int:
    """The k that labelled questions prefer: that of the highest mean of log p(y|x), the smallest of several.

    Each is the `dilution` of a question's right answer. One whose answer has probability 0 would decide alone, with a
    mean of minus infinity: so fewer such questions are better, and among those k with the fewest the mean is over the
    others. Raises InputError for none.
    """
    table = _by_k(many)
    possible = np.isfinite(table)
    means = np.where(possible, table, 0.0).sum(axis=0) / np.maximum(1, possible.sum(axis=0))
    most = possible.sum(axis=0).max()
    return _highest([float(m) if n == most else -math.inf for m, n in zip(means, possible.sum(axis=0), strict=True)])


def _by_k(many: Sequence[Dilution]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    if not many:
        raise InputError("no questions: nothing says which k is best")
    longest = max(len(each.by_k) for each in many)
    return np.array([each.by_k + (each.by_k[-1],) * (longest - len(each.by_k)) for each in many])


def _highest(values: Sequence[float]) -> int:
    """The first place, from 1, of the highest value, apart from rounding."""
    top = max(values)
    return next(place for place, value in enumerate(values, 1) if value >= top - _ROUNDING)
