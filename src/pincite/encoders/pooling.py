"""From token vectors to one vector per text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.protocols import Matrix

__all__ = ["normalize_rows", "pool"]


def pool(tokens: Matrix, mask: NDArray[np.int64], how: Literal["mean", "cls", "max"]) -> Matrix:
    """Pool token vectors (batch, length, dimension) under a 0/1 mask (batch, length) to (batch, dimension), float32.

    mean: the average of the unmasked token vectors. cls: the first. max: the elementwise maximum of the unmasked.
    Padding takes no part. As in Reimers and Gurevych 2019 (Sentence-BERT), section 3.

    >>> pool(np.array([[[1.0], [3.0], [99.0]]], dtype=np.float32), np.array([[1, 1, 0]]), "mean").tolist()
    [[2.0]]
    """
    if how == "cls":
        return tokens[:, 0].astype(np.float32)
    weights = mask[:, :, None].astype(np.float32)
    if how == "max":
        highest: Matrix = np.where(weights > 0, tokens, np.finfo(np.float32).min).max(axis=1)
        return highest.astype(np.float32)
    mean: Matrix = (tokens * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
    return mean.astype(np.float32)


def normalize_rows(vectors: Matrix) -> Matrix:
    """Scale each row to length 1, float32. A zero row stays zero: the store refuses it with a reason.

    >>> normalize_rows(np.array([[3.0, 4.0]], dtype=np.float32)).round(2).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
