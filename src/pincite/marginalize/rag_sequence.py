"""RAG-Sequence: one passage explains the whole answer. Lewis et al. 2020 (arXiv:2005.11401), section 2.1.

p(y|x) = Σ_z p(z|x) Π_i p(y_i|x,z,y<i)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pincite.errors import InputError
from pincite.marginalize.logspace import as_floats, logsumexp

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pincite.marginalize.logspace import Floats

__all__ = ["conditional_logprobs", "rank_fast", "rank_thorough", "sequence_logprob", "totals"]


def totals(token_logprobs: ArrayLike, mask: ArrayLike | None = None) -> Floats:
    """Sum the tokens: log p(y|x,z) = Σ_i log p(y_i|x,z,y<i), from (..., k, T) to (..., k).

    `mask` is true where a token counts and broadcasts against the tokens; what it hides may hold any number, NaN
    included. No tokens at all have log-probability 0.
    """
    values = as_floats(token_logprobs)
    if mask is not None:
        values = np.where(np.asarray(mask, dtype=bool), values, 0.0)
    return np.asarray(values.sum(axis=-1))


def sequence_logprob(log_prior: ArrayLike, logprobs: ArrayLike) -> Floats:
    """Mix the passages: log p(y|x) = log Σ_z p(z|x) p(y|x,z), from both logarithms (..., k) to (...).

    >>> prior = np.log([0.6453, 0.29, 0.0647])
    >>> float(np.exp(sequence_logprob(prior, np.log([0.90, 0.35, 0.10]))).round(4))
    0.6887
    """
    return logsumexp(as_floats(log_prior) + as_floats(logprobs))


def conditional_logprobs(log_prior: ArrayLike, token_logprobs: ArrayLike) -> Floats:
    """What RAG-Sequence gives every token: log p(y_i|x,y<i), from (k,) and (k, T) to (T,).

    They sum to log p(y|x): what earlier tokens said about the passage is carried on. Once the tokens so far have
    probability 0 the rest is minus infinity.
    """
    prior = as_floats(log_prior)[..., None]
    so_far = logsumexp(np.concatenate([prior, prior + np.cumsum(as_floats(token_logprobs), axis=-1)], axis=-1), axis=-2)
    before, after = so_far[..., :-1], so_far[..., 1:]
    return np.where(np.isneginf(before), -np.inf, after - np.where(np.isneginf(before), 0.0, before))


def rank_thorough(log_prior: ArrayLike, logprobs: ArrayLike) -> tuple[NDArray[np.int64], Floats]:
    """Candidate answers, best first, each scored after every passage: "Thorough Decoding" of section 2.5.

    `logprobs` is log p(y|x,z) of shape (c, k). Returns the order of the candidates and log p(y|x) in that order, (c,)
    each. Candidates of the same probability keep the order given.
    """
    logprob = sequence_logprob(log_prior, logprobs)
    order = np.argsort(-logprob, kind="stable")
    return order, logprob[order]


def rank_fast(log_prior: ArrayLike, logprobs: ArrayLike, seen: ArrayLike) -> tuple[NDArray[np.int64], Floats]:
    """Candidate answers, best first, scored only after the passages that produced them: "Fast Decoding", section 2.5.

    As `rank_thorough`, but where ``seen[c, z]`` is false the search of passage z did not come upon candidate c, and
    p(y|x,z) is taken as 0. What comes back is a lower bound of log p(y|x).
    """
    hidden = ~np.asarray(seen, dtype=bool)
    values = as_floats(logprobs)
    if hidden.shape != values.shape:
        raise InputError(f"`seen` has shape {hidden.shape}, the log-probabilities have {values.shape}: give one each")
    return rank_thorough(log_prior, np.where(hidden, -np.inf, values))
