"""RAG-Token: every token may come from another passage. Lewis et al. 2020 (arXiv:2005.11401), section 2.1.

p(y|x) = Π_i Σ_z p(z|x) p(y_i|x,z,y<i)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pincite.marginalize.logspace import as_floats, logsumexp

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pincite.marginalize.logspace import Floats

__all__ = ["mixture", "token_logprobs"]


def mixture(log_prior: ArrayLike, logprobs: ArrayLike) -> Floats:
    """Mix the passages: log p(y_i|x,y<i) of every token of the vocabulary, from (..., k) and (..., k, V) to (..., V).

    The probabilities are averaged, not their logarithms: one passage that rules a token out does not rule it out of
    the mixture.

    >>> readers = np.log([[0.9, 0.1], [0.001, 0.999]])
    >>> np.exp(mixture(np.log([0.5, 0.5]), readers)).round(4).tolist()
    [0.4505, 0.5495]
    """
    return logsumexp(as_floats(log_prior)[..., None] + as_floats(logprobs), axis=-2)


def token_logprobs(log_prior: ArrayLike, token_logprobs: ArrayLike, mask: ArrayLike | None = None) -> Floats:
    """Mix along one answer: log p(y_i|x,y<i) of its tokens, from (..., k) and (..., k, T) to (..., T).

    They sum to log p(y|x).

    `mask`, of shape (..., T), is true where a token counts; the others have log-probability 0, whatever they hold.
    """
    values = as_floats(token_logprobs)
    if mask is not None:
        values = np.where(np.asarray(mask, dtype=bool)[..., None, :], values, 0.0)
    mixed = mixture(log_prior, values)
    return mixed if mask is None else np.where(np.asarray(mask, dtype=bool), mixed, 0.0)
