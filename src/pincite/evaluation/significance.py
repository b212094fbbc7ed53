"""Whether a difference between two systems over the same queries is more than chance, and how large it may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pincite.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

__all__ = ["EXACT_UP_TO", "bootstrap_interval", "bootstrap_intervals", "holm", "randomization_test"]

#: With as many differences that are not zero, all sign patterns are enumerated (4,096); with more they are drawn.
EXACT_UP_TO = 12

#: Elements of one batch of drawn signs or rows, so that memory does not grow with queries times draws.
_BATCH = 2_000_000


def randomization_test(differences: Sequence[float] | Array, *, permutations: int = 10_000, seed: int = 0) -> float:
    """The two-sided p-value, in (0, 1], of the mean of paired differences, by flipping their signs at random.

    If the two systems were one, each query's difference could as well have the other sign. With at most `EXACT_UP_TO`
    differences that are not zero, p is the share of all sign patterns whose absolute mean is at least the one found.
    With more, `permutations` patterns are drawn from the seed and ``p = (b + 1) / (permutations + 1)``, where b counts
    those at least as far from zero: never 0. No difference at all gives 1. Raises InputError for NaN or infinity.

    Sources: Fisher 1935 (the paired test); Smucker, Allan and Carterette 2007, section 3.1 (for retrieval);
    Phipson and Smyth 2010, section 2 (the + 1).

    >>> randomization_test([0.1, 0.2, 0.3])
    0.25
    """
    values = _vector(differences)
    values = values[values != 0]
    if not len(values):
        return 1.0
    observed = abs(float(values.sum()))
    # Sums of the same numbers in another order differ in the last bits: what is equal must count as equal.
    reached = observed - 1e-12 * float(np.abs(values).sum())
    if len(values) <= EXACT_UP_TO:
        patterns = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
        return float((np.abs((2 * patterns - 1) @ values) >= reached).mean())
    if permutations < 1:
        raise InputError(f"permutations must be at least 1, got {permutations}")
    generator = np.random.default_rng(seed)
    beyond = 0
    for count in _batches(permutations, len(values)):
        signs = generator.integers(0, 2, size=(count, len(values)), dtype=np.int8)
        beyond += int((np.abs((2.0 * signs - 1.0) @ values) >= reached).sum())
    return (beyond + 1) / (permutations + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for having made all of these comparisons, in the order given; each at most 1.

    The smallest is multiplied by their number m, the next by m − 1, and so on; none may be below one before it. Under
    a threshold of 5 % the chance of even one false discovery is then at most 5 %. Source: Holm 1979.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    if any(not 0 <= p <= 1 for p in p_values):
        raise InputError(f"p-values lie between 0 and 1, got {list(p_values)}")
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = highest
    return corrected


def bootstrap_interval(
    values: Sequence[float] | Array, *, level: float = 0.95, draws: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """The percentile interval of the mean over queries, by drawing queries with replacement.

    Given paired differences it is the interval of the difference: the pair of a query is drawn as one. One value gives
    an interval of no width. Raises InputError for no values, NaN or infinity, and a level outside (0, 1).
    Source: Efron and Tibshirani 1993, section 13.3.
    """
    return bootstrap_intervals(_vector(values)[:, None], level=level, draws=draws, seed=seed)[0]


def bootstrap_intervals(
    values: Array, *, level: float = 0.95, draws: int = 10_000, seed: int = 0
) -> list[tuple[float, float]]:
    """`bootstrap_interval` of every column of `values` (queries, columns), the same queries drawn for all of them."""
    if values.ndim != 2 or not len(values) or not np.isfinite(values).all():
        raise InputError("an interval needs at least one value, and all of them finite")
    if not 0 < level < 1 or draws < 1:
        raise InputError(f"level must lie between 0 and 1 and draws be at least 1, got {level} and {draws}")
    size = len(values)
    generator = np.random.default_rng(seed)
    means = []
    for count in _batches(draws, size):
        drawn = generator.integers(0, size, size=(count, size))
        # How often each query was drawn: one product then gives the means of all columns.
        drawn += np.arange(count)[:, None] * size
        times = np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size)
        means.append(times @ values / size)
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def _vector(values: Sequence[float] | Array) -> Array:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise InputError("expected a list of finite numbers")
    return vector


def _batches(total: int, width: int) -> list[int]:
    size = max(1, _BATCH // max(1, width))
    return [min(size, total - start) for start in range(0, total, size)]
