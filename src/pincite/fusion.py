"""Combining the rankings of several retrievers into one."""

from __future__ import annotations

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
    terms: dict[str, list[float]] = {}
    best: dict[str, tuple[int, int]] = {}  # best rank, and the place of the first ranking that gave it
    for place, hits in enumerate(runs.values()):
        ranks: dict[str, int] = {}
        for hit in hits:
            rank = ranks.get(hit.chunk_id)
            if rank is None or hit.rank < rank:
                ranks[hit.chunk_id] = hit.rank
        for chunk_id, rank in ranks.items():
            terms.setdefault(chunk_id, []).append(1.0 / (k + rank))
            best[chunk_id] = min(best.get(chunk_id, (rank, place)), (rank, place))
    # Rounded once: the same ranks in another order of rankings must give the same score, or ties would not be ties.
    scores = {chunk_id: math.fsum(each) for chunk_id, each in terms.items()}
    order = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], best[chunk_id], chunk_id))[:limit]
    return [Hit(chunk_id, scores[chunk_id], rank, "fused") for rank, chunk_id in enumerate(order, start=1)]
