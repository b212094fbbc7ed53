"""Combining the rankings of several retrievers into one."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from pincite.errors import InputError
from pincite.types import Hit

__all__ = ["reciprocal_rank_fusion", "standardized_sum"]


#: Added to the ranks of a ranking that does not count: behind every rank that does.
_LAST = 1 << 40


def reciprocal_rank_fusion(runs: Mapping[str, Sequence[Hit]], *, k: int = 60, limit: int | None = None) -> list[Hit]:
    """Fuse rankings by ``score(d) = Σ_r 1 / (k + rank_r(d))``, best first, with stage ``fused``.

    Ranks count from 1; a ranking that lacks a chunk contributes nothing; within one ranking a chunk's best rank counts
    once. Ties go to the better single rank, then to the chunk that holds this rank in the earlier of `runs`, then to
    the smaller chunk id, so that runs repeat exactly: two chunks that one ranking each found at the same rank are
    always tied, and the caller decides by which ranking is named first. The best `limit` come back, or all.
    Raises InputError if `k` is negative.
    Source: Cormack, Clarke and Büttcher 2009, section 2 (k = 60).

    >>> dense = [Hit(c, 0.0, rank, "dense") for rank, c in enumerate("abc", 1)]
    >>> lexical = [Hit(c, 0.0, rank, "bm25") for rank, c in enumerate("dec", 1)]
    >>> [(hit.chunk_id, round(hit.score, 4)) for hit in reciprocal_rank_fusion({"dense": dense, "bm25": lexical})][:2]
    [('c', 0.0317), ('a', 0.0164)]
    """
    if k < 0:
        raise InputError(f"k must not be negative, got {k}")
    found: dict[str, list[tuple[int, int]]] = {}  # rank in each ranking that has the chunk, and that ranking's place
    for place, hits in enumerate(runs.values()):
        ranks: dict[str, int] = {}
        for chunk_id, _, rank, _ in hits:
            if rank < ranks.get(chunk_id, rank + 1):
                ranks[chunk_id] = rank
        for chunk_id, rank in ranks.items():
            found.setdefault(chunk_id, []).append((rank, place))
    # Rounded once: the same ranks in another order of rankings must give the same score, or ties would not be ties.
    keyed = [
        (-math.fsum([1.0 / (k + rank) for rank, _ in places]), min(places), chunk_id)
        for chunk_id, places in found.items()
    ]
    return _best(keyed, limit)


def standardized_sum(
    runs: Mapping[str, Sequence[Hit]],
    weights: Mapping[str, float],
    *,
    zero: Collection[str] = ("bm25",),
    limit: int | None = None,
) -> list[Hit]:
    """Fuse rankings by ``score(d) = Σ_r w_r · (s_r(d) - μ_r) / σ_r``, best first, with stage ``fused``.

    μ and σ are the mean and the standard deviation of a ranking's own scores, so that what counts is by how much a
    passage stands out in it, in a unit that all rankings share. A ranking that lacks a chunk gives it its lowest score.
    The rankings named in `zero` have a true zero, the score of every passage they do not list: they are filled up with
    zeros to the length of the longest, or few hits would look alike. Scores all equal say nothing and count 0. Rankings
    of weight 0, and those that are empty, say nothing either; a chunk that only they hold comes last.

    Rankings are best first; the first of a chunk counts. Ties go as in `reciprocal_rank_fusion`. The best `limit` come
    back, or all. Raises InputError for a ranking without a weight, or a weight that is negative or not finite.
    Source: Montague and Aslam 2001, section 3 (zero-mean, unit-variance normalization); the filling up is ours.

    >>> dense = [Hit("a", 0.9, 1, "dense"), Hit("b", 0.5, 2, "dense"), Hit("c", 0.1, 3, "dense")]
    >>> lexical = [Hit("b", 8.0, 1, "bm25")]
    >>> fused = standardized_sum({"bm25": lexical, "dense": dense}, {"bm25": 0.5, "dense": 0.5})
    >>> [(hit.chunk_id, round(hit.score, 3)) for hit in fused]
    [('b', 0.707), ('a', 0.259), ('c', -0.966)]
    """
    for name in runs:
        if not math.isfinite(weight := weights.get(name, math.nan)) or weight < 0:
            raise InputError(f"the weight of the ranking {name} is {weight}: it must be a number of at least 0")
    # Best first: of a chunk that comes twice the later, which is the better, stays.
    found = {name: {chunk_id: score for chunk_id, score, _, _ in reversed(hits)} for name, hits in runs.items()}
    longest = max(map(len, found.values()), default=0)
    total: dict[str, float] = dict.fromkeys(chain.from_iterable(found.values()), 0.0)
    for name, scores in found.items():
        if not scores or not weights[name]:
            continue
        filled = longest - len(scores) if name in zero else 0
        count = len(scores) + filled
        mean = math.fsum(scores.values()) / count
        square = math.fsum([(score - mean) ** 2 for score in scores.values()]) + filled * mean**2
        deviation = math.sqrt(square / count)
        # Numbers that differ by no more than rounding are equal.
        if deviation <= 1e-9 * max(map(abs, scores.values())):
            continue
        unit = weights[name] / deviation
        least = 0.0 if filled else min(scores.values())
        value = scores.get
        total = {chunk_id: so_far + unit * (value(chunk_id, least) - mean) for chunk_id, so_far in total.items()}
    if limit is not None and limit < len(total):
        # Only those that can be among the best are worth looking for in the rankings, to settle ties.
        last = heapq.nlargest(limit, total.values())[-1]
        total = {chunk_id: score for chunk_id, score in total.items() if score >= last}
    places: dict[str, tuple[int, int]] = {}  # the best rank of a chunk, and the ranking that has it there
    for place, (name, hits) in enumerate(runs.items()):
        behind = 0 if weights[name] else _LAST
        for chunk_id, _, rank, _ in hits:
            if chunk_id in total and (rank + behind, place) < places.get(chunk_id, (rank + behind + 1, 0)):
                places[chunk_id] = (rank + behind, place)
    return _best([(-score, places[chunk_id], chunk_id) for chunk_id, score in total.items()], limit)


def _best(keyed: list[tuple[float, tuple[int, int], str]], limit: int | None) -> list[Hit]:
    """Hits of (negated score, (best rank, place of its ranking), chunk id), the smallest first."""
    order = sorted(keyed) if limit is None else heapq.nsmallest(limit, keyed)
    return Hit.ranked([chunk_id for *_, chunk_id in order], [-negated for negated, *_ in order], "fused")
