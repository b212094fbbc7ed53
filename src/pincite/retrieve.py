"""Finding passages: both legs, fused."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pincite.errors import InputError
from pincite.fusion import reciprocal_rank_fusion, standardized_sum
from pincite.types import Hit, SearchResult

if TYPE_CHECKING:
    from pincite.protocols import Matrix, Store
    from pincite.types import Filter, PointInTime

__all__ = ["Fusion", "Mode", "retrieve"]

Mode = Literal["hybrid", "dense", "bm25"]
Fusion = Literal["zscore", "rrf"]


def retrieve(
    store: Store,
    query: str,
    vector: Matrix | None,
    *,
    k: int = 10,
    mode: Mode = "hybrid",
    depth: int = 200,
    fusion: Fusion = "zscore",
    dense_weight: float = 0.45,
    rrf_k: int = 10,
    where: Filter | None = None,
    at: PointInTime | None = None,
) -> SearchResult:
    """The k best passages for `query`, whose vector is `vector` (dimension,); both legs see one state of the store.

    Each leg gives its first `depth` hits (at least k), filtered by `where` and, for versions
    other than the current ones, by `at` inside the engine. ``zscore`` fuses them by
    the sum of their standardized scores, the dense leg weighted by `dense_weight` in [0, 1] and the lexical by the rest
    of 1; ``rrf`` by reciprocal rank with the constant `rrf_k`. A `mode` of one leg leaves the other out; ``bm25`` needs
    no vector. Fewer than k passages come back only when fewer match. Raises InputError if k or depth is below 1, for a
    weight outside [0, 1] and for an unknown mode or fusion.
    """
    if k < 1 or depth < 1:
        raise InputError(f"k and depth must be at least 1, got k={k}, depth={depth}")
    if mode not in ("hybrid", "dense", "bm25"):
        raise InputError(f"mode must be hybrid, dense or bm25, got {mode!r}")
    if fusion not in ("zscore", "rrf"):
        raise InputError(f"fusion must be zscore or rrf, got {fusion!r}")
    if not 0 <= dense_weight <= 1:
        raise InputError(f"dense_weight must be in [0, 1], got {dense_weight}")
    depth = max(depth, k)
    timings: dict[str, float] = {}
    legs: dict[str, tuple[Hit, ...]] = {}
    notes: list[str] = []
    with store.reading():
        # Words first: on equal evidence fusion prefers the ranking named first (docs/decisions/0005).
        if mode != "dense":
            started = time.perf_counter()
            legs["bm25"] = tuple(store.search_lexical(query, depth, where, at=at))
            timings["bm25"] = time.perf_counter() - started
            if not legs["bm25"]:
                notes.append("bm25: no indexed word of the query is in the documents searched")
        if mode != "bm25":
            if vector is None:
                raise InputError("the dense leg needs the query's vector")
            started = time.perf_counter()
            legs["dense"] = tuple(store.search_dense(vector, depth, where, at=at))
            timings["dense"] = time.perf_counter() - started
        started = time.perf_counter()
        if mode != "hybrid":
            best = list(legs[mode][:k])
        elif fusion == "rrf":
            best = reciprocal_rank_fusion(legs, k=rrf_k, limit=k)
        else:
            best = standardized_sum(legs, {"bm25": 1 - dense_weight, "dense": dense_weight}, limit=k)
        timings["fuse"] = time.perf_counter() - started
        started = time.perf_counter()
        found = store.passages(best)
        timings["fetch"] = time.perf_counter() - started
    wanted = {hit.chunk_id for hit in best}
    by_chunk: dict[str, dict[str, Hit]] = {chunk_id: {} for chunk_id in wanted}
    for stage, hits in legs.items():
        for hit in hits:
            if hit.chunk_id in wanted:
                by_chunk[hit.chunk_id][stage] = hit
    return SearchResult(
        query=query,
        passages=tuple(replace(passage, legs=by_chunk[passage.chunk.id]) for passage in found),
        legs=legs,
        timings=timings,
        notes=tuple(notes),
    )
