"""How much of the exact result an approximate index finds: recall@k, measured on the index itself.

A query is made of two stored vectors drawn at random: their sum, scaled to length 1. It is no stored vector, so that no
index can answer it by finding the point it was made from, and it lies between groups of points rather than inside one,
where an index that follows neighbours or cells has most to lose.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pincite.protocols import Recall

if TYPE_CHECKING:
    from pincite.protocols import Matrix
    from pincite.types import Hit

__all__ = ["Exact", "K", "compare", "exact_results", "found_share", "halfway", "wilson"]

#: Results that are compared.
K = 10

_TIE = 1e-6
#: Seconds the exact searches may take; at least this many queries are asked in any case.
_SECONDS = 60.0
_FEWEST = 50

Search = Callable[["Matrix"], "list[Hit]"]


def halfway(first: Matrix, second: Matrix) -> Matrix:
    """Queries half-way between the rows of `first` and `second`, unit vectors; opposite and zero rows are left out."""
    middle = first.astype(np.float64) + second
    lengths = np.linalg.norm(middle, axis=1, keepdims=True)
    good = (lengths[:, 0] > 1e-3) & first.any(axis=1) & second.any(axis=1)
    made: Matrix = (middle[good] / lengths[good]).astype(np.float32)
    return made


class Exact:
    """Queries with their exact results, to hold several beams against."""

    def __init__(self, queries: list[Matrix], results: list[list[Hit]], times: list[float]) -> None:
        self.queries = queries
        self.results = results
        self.times = times


def exact_results(queries: Matrix, exact: Search) -> Exact:
    """Ask `exact` for the results of the queries; the last are left out when a minute has passed."""
    done = Exact([], [], [])
    for query in queries:
        if len(done.queries) >= _FEWEST and sum(done.times) > _SECONDS * 1e3:
            break
        result, taken = _timed(exact, query)
        done.queries.append(query)
        done.results.append(result)
        done.times.append(taken)
    return done


def compare(reference: Exact, search: Search, points: int, measured_at: str) -> Recall:
    """Mean recall@10 of `search` over the queries of `reference`, with milliseconds of both."""
    shares = []
    times = []
    for query, wanted in zip(reference.queries, reference.results, strict=True):
        result, taken = _timed(search, query)
        shares.append(found_share(result, wanted))
        times.append(taken)
    mean = float(np.mean(shares)) if shares else 1.0
    low, high = wilson(mean, len(shares))
    p50, p99 = _cuts(times)
    exact_p50, exact_p99 = _cuts(reference.times)
    return Recall(
        recall=mean,
        low=low,
        high=high,
        k=K,
        queries=len(shares),
        points=points,
        p50_ms=p50,
        p99_ms=p99,
        exact_p50_ms=exact_p50,
        exact_p99_ms=exact_p99,
        measured_at=measured_at,
    )


def found_share(result: Sequence[Hit], wanted: Sequence[Hit]) -> float:
    """The share of the exact result that was found, each chunk counted once; a tie with its last one is as good."""
    if not wanted:
        return 1.0
    names = {hit.chunk_id for hit in wanted}
    last = wanted[-1].score
    good = {hit.chunk_id for hit in result if hit.chunk_id in names or abs(hit.score - last) <= _TIE}
    return min(len(good), len(wanted)) / len(wanted)


def wilson(share: float, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's 95 % interval of a share (1927), in [0, 1]; (0, 1) without trials.

    A trial here is a query, not a result: results of one query are found or missed together. A share of each query lies
    in [0, 1], where no distribution of a given mean has a greater variance than yes or no: the interval is not too
    narrow.
    """
    if not trials:
        return 0.0, 1.0
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    # Rounding must not put the share itself outside.
    return max(0.0, min(share, (centre - spread) / scale)), min(1.0, max(share, (centre + spread) / scale))


def _timed(search: Search, query: Matrix) -> tuple[list[Hit], float]:
    started = time.perf_counter()
    result = search(query)
    return result, (time.perf_counter() - started) * 1e3


def _cuts(times: Sequence[float]) -> tuple[float, float]:
    if not times:
        return 0.0, 0.0
    p50, p99 = np.percentile(times, [50, 99])
    return round(float(p50), 3), round(float(p99), 3)
