"""Maximal marginal relevance: of the passages found, fewer that say the same.

Carbonell and Goldstein 1998, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing
Summaries", section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pincite.errors import BackendError, InputError
from pincite.protocols import Reranked
from pincite.rerankers.ordering import order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.protocols import Matrix
    from pincite.types import Passage

__all__ = ["MmrReranker", "maximal_marginal_relevance"]


def maximal_marginal_relevance(
    relevance: Sequence[float], similarity: NDArray[np.float64], weight: float
) -> list[tuple[int, float]]:
    """(index, value) in the order chosen: at each step the one with the greatest value, the earlier of equals.

    The value of i is ``weight · relevance[i] - (1 - weight) · max similarity[i, j]`` over the j chosen before; the
    maximum counts as 0 for the first, and where it is negative: to be an opposite is no merit. Values never rise from
    one step to the next.

    >>> maximal_marginal_relevance([1.0, 0.9, 0.2], np.array([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]]), 0.5)
    [(0, 0.5), (2, 0.1), (1, 0.0)]
    """
    gain = weight * np.asarray(relevance, dtype=np.float64)
    repeated = np.zeros(len(gain))
    left = list(range(len(gain)))
    chosen: list[tuple[int, float]] = []
    while left:
        values = gain[left] - (1 - weight) * repeated[left]
        best = int(values.argmax())
        index = left.pop(best)
        chosen.append((index, float(values[best])))
        repeated = np.maximum(repeated, similarity[index])
    return chosen


class MmrReranker:
    """Each next passage is relevant and unlike those before it.

    Parameters
    ----------
    vectors_of
        The vectors of chunks by their ids, float32 (len(ids), dimension), in the order given, rows of length 1 or 0.
    depth
        How many passages are ordered anew.
    weight
        λ: 1 is relevance alone, 0 unlikeness alone.

    Relevance is the score that the passages came with, scaled to [0, 1] over the candidates (the lowest is 0): so it
    is that of whatever stage was before, not of the vectors alone. Similarity is the cosine of the vectors; below 0 it
    counts as 0. A passage whose vector is gone is similar to nothing. Nothing is read by a model: there is no time
    budget. Raises BackendError where the vectors are not of the shape asked for.
    """

    name = "mmr"

    def __init__(self, vectors_of: Callable[[Sequence[str]], Matrix], *, depth: int = 50, weight: float = 0.7) -> None:
        if depth < 1:
            raise InputError(f"depth must be at least 1, got {depth}")
        if not 0 <= weight <= 1:
            raise InputError(f"the weight of relevance must be within 0 and 1, got {weight}")
        self.vectors_of = vectors_of
        self.weight = weight
        self._depth = depth

    @property
    def depth(self) -> int:
        """How many passages are ordered anew."""
        return self._depth

    def rerank(self, query: str, passages: Sequence[Passage]) -> Reranked:  # noqa: ARG002 - relevance came with them
        """See `pincite.protocols.Reranker.rerank`."""
        candidates = passages[: self.depth]
        if not candidates:
            return Reranked([])
        scores = np.asarray([passage.hit.score for passage in candidates], dtype=np.float64)
        vectors = np.asarray(self.vectors_of([passage.chunk.id for passage in candidates]), dtype=np.float64)
        if vectors.ndim != 2 or len(vectors) != len(candidates):
            raise BackendError(f"mmr was given vectors of shape {vectors.shape} for {len(candidates)} passages")
        if not (np.isfinite(scores).all() and np.isfinite(vectors).all()):
            return Reranked(list(passages), ("mmr: scores or vectors are no numbers; the order is the one before",))
        low, high = scores.min(), scores.max()
        if low == high and len(candidates) > 1:
            return Reranked(list(passages), ("mmr: the scores before are all equal; the order is the one before",))
        relevance = (scores - low) / (high - low) if high > low else np.ones(1)
        chosen = maximal_marginal_relevance(relevance.tolist(), vectors @ vectors.T, self.weight)
        # In the order chosen: values of equals may tie.
        picked = [candidates[index] for index, _ in chosen] + list(passages[self.depth :])
        return order(self.name, picked, {rank: value for rank, (_, value) in enumerate(chosen)})

    def close(self) -> None:
        """Nothing is held."""
