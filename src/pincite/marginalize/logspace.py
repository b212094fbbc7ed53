"""Sums of probabilities that are given as natural logarithms, without overflow, underflow or NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["as_floats", "log", "log_softmax", "logsumexp"]


def as_floats(values: ArrayLike) -> Floats:
    """`values` as float64: half and single precision hold log-probabilities well, but not their sums."""
    return np.asarray(values).astype(np.float64)


def log(values: ArrayLike) -> Floats:
    """Natural logarithm in float64; of 0 it is minus infinity."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(as_floats(values)))


def logsumexp(values: ArrayLike, axis: int = -1) -> Floats:
    """``log Σ exp(values)`` along `axis`, which goes. A sum of nothing but minus infinity is minus infinity."""
    values = as_floats(values)
    if values.shape[axis] == 0:
        return np.full(np.delete(values.shape, axis), -np.inf)
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)  # minus infinity less itself would be NaN
    return np.squeeze(top, axis) + log(np.exp(values - top).sum(axis=axis))


def log_softmax(values: ArrayLike, axis: int = -1) -> Floats:
    """`values` less their `logsumexp`, so that the exponentials along `axis` sum to 1.

    Where all are minus infinity they stay so.
    """
    values = as_floats(values)
    total = np.expand_dims(logsumexp(values, axis), axis)
    return values - np.where(np.isneginf(total), 0.0, total)
