"""p(z|x,y): what each passage was worth, once the answer is known. Bayes' rule on the models of Lewis et al. 2020.

A passage of prior 0 has posterior 0 and changes nothing. An answer that no passage gives any probability says nothing
about them: its posterior is the prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pincite.errors import InputError
from pincite.marginalize.logspace import as_floats, log_softmax, logsumexp

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pincite.marginalize.logspace import Floats
    from pincite.types import Marginalization

__all__ = ["answer_posterior", "running_posterior", "sequence_posterior", "span_posterior", "token_posterior"]


def sequence_posterior(log_prior: ArrayLike, logprobs: ArrayLike) -> Floats:
    """p(z|x,y) ∝ p(z|x) p(y|x,z), probabilities: from log p(z|x) and log p(y|x,z), both (..., k), to (..., k)."""
    prior = as_floats(log_prior)
    joint = prior + as_floats(logprobs)
    known = ~np.isneginf(logsumexp(joint))[..., None]
    return np.exp(np.where(known, log_softmax(joint), log_softmax(prior)))


def running_posterior(log_prior: ArrayLike, token_logprobs: ArrayLike) -> Floats:
    """p(z|x,y≤i) of RAG-Sequence after each token: from (k,) and (k, T) to (T, k).

    One passage explains everything so far, so evidence adds up; the last row is the `sequence_posterior`.
    """
    so_far = np.cumsum(as_floats(token_logprobs), axis=-1)
    return sequence_posterior(log_prior, np.swapaxes(so_far, -1, -2))


def token_posterior(log_prior: ArrayLike, token_logprobs: ArrayLike) -> Floats:
    """p(z_i|x,y≤i) of RAG-Token, for each token alone: from (k,) and (k, T) to (T, k).

    Each token has a passage of its own, drawn from the prior anew, so a row depends on its own token only.
    """
    return sequence_posterior(log_prior, np.swapaxes(as_floats(token_logprobs), -1, -2))


def answer_posterior(mode: Marginalization, log_prior: ArrayLike, token_logprobs: ArrayLike) -> Floats:
    """What each passage was worth for a whole answer: from (k,) and (k, T) to (k,); sums to 1.

    The `span_posterior` of all its tokens. For "sequence" p(z|x,y); for "token", where every token has a passage of its
    own, the mean of their posteriors: the expected share of the tokens that came from z.
    """
    return span_posterior(log_prior, token_logprobs, mode=mode)


def span_posterior(
    log_prior: ArrayLike,
    token_logprobs: ArrayLike,
    start: int = 0,
    stop: int | None = None,
    mode: Marginalization = "sequence",
) -> Floats:
    """What each passage was worth for the tokens from `start` up to `stop`: from (k,) and (k, T) to (k,); sums to 1.

    For "sequence": p(z|x) times the probability of these tokens after passage z and all that stands before them,
    normalised: one passage explains this sentence, whatever explained those before. For "token": the mean of the
    tokens' own posteriors, which is the expected share of these tokens that came from z. The whole answer is the span
    of all its tokens; no tokens give the prior. Raises InputError for a span that is not within the answer.
    """
    values = as_floats(token_logprobs)
    length = values.shape[-1]
    stop = length if stop is None else stop
    if not 0 <= start <= stop <= length:
        raise InputError(f"tokens {start} to {stop} are no span of an answer of {length} tokens")
    part = values[..., start:stop]
    if mode == "sequence" or start == stop:
        return sequence_posterior(log_prior, part.sum(axis=-1))
    return np.asarray(token_posterior(log_prior, part).mean(axis=-2))
