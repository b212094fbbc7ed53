"""Combining the rankings of several retrievers into one."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence

from pincite.errors import InputError
from pincite.types import Hit

__all__ = ["reciprocal_rank_fusion"]


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
    order = sorted(keyed) if limit is None else heapq.nsmallest(limit, keyed)
    return Hit.ranked([chunk_id for *_, chunk_id in order], [-negated for negated, *_ in order], "fused")
