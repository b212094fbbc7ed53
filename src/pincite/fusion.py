"""Combining the rankings of several retrievers into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pincite.errors import InputError
from pincite.types import Hit

__all__ = ["reciprocal_rank_fusion"]


def reciprocal_rank_fusion(runs: Mapping[str, Sequence[Hit]], *, k: int = 60) -> list[Hit]:
    """Fuse rankings by ``score(d) = Σ_r 1 / (k + rank_r(d))``, best first, with stage ``fused``.

    Ranks count from 1; a ranking that lacks a chunk contributes nothing; within one ranking a chunk's best rank counts
    once. Ties go to the better single rank, then to the smaller chunk id, so that runs repeat exactly. Raises
    InputError if `k` is negative. Source: Cormack, Clarke and Büttcher 2009, section 2 (k = 60).

    >>> dense = [Hit(c, 0.0, rank, "dense") for rank, c in enumerate("abc", 1)]
    >>> lexical = [Hit(c, 0.0, rank, "bm25") for rank, c in enumerate("dec", 1)]
    >>> [(hit.chunk_id, round(hit.score, 4)) for hit in reciprocal_rank_fusion({"dense": dense, "bm25": lexical})][:2]
    [('c', 0.0317), ('a', 0.0164)]
    """
    if k < 0:
        raise InputError(f"k must not be negative, got {k}")
    scores: dict[str, float] = {}
    best: dict[str, int] = {}
    for hits in runs.values():
        ranks: dict[str, int] = {}
        for hit in hits:
            rank = ranks.get(hit.chunk_id)
            if rank is None or hit.rank < rank:
                ranks[hit.chunk_id] = hit.rank
        for chunk_id, rank in ranks.items():
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1.0 / (k + rank)
            if rank < best.get(chunk_id, rank + 1):
                best[chunk_id] = rank
    order = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], best[chunk_id], chunk_id))
    return [Hit(chunk_id, scores[chunk_id], rank, "fused") for rank, chunk_id in enumerate(order, start=1)]
