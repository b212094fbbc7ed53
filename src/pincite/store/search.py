"""Searching the points: the best by BM25, the nearest by cosine, exactly or by what was built over the vectors.

A search here knows nothing of locks. Its answer is points with scores; `ranked` makes hits of them, in the one order
that equal scores have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import qdrant_edge as qdrant

from pincite.errors import InputError
from pincite.store import recall
from pincite.store.engine import EXACT, VECTOR, conditions, number, search_params
from pincite.store.payload import KEY, ORDINAL_BITS, PAST, TERMS
from pincite.store.points import unit
from pincite.types import Hit

if TYPE_CHECKING:
    from pincite.protocols import Matrix
    from pincite.store.ivfpq import IvfPq
    from pincite.store.plan import Beam
    from pincite.store.points import Points
    from pincite.store.visible import Visible
    from pincite.types import Filter

__all__ = ["CodesNow", "condition", "direction", "lexical", "nearest", "ranked"]

#: BM25 parameters: Robertson and Zaragoza 2009, the usual values.
BM25_K1 = 1.2
BM25_B = 0.75
#: How soon a word that the query repeats counts no more; chosen without test queries, see docs/decisions/0010.
BM25_K3 = 8.0
#: So many of the best chunks are weighed by how often the query says a word.
_REPEATED_AMONG = 400


@dataclass(frozen=True, slots=True)
class CodesNow:
    """IVF-PQ codes, and how they stand to the chunks there are now."""

    index: IvfPq
    outside: tuple[int, ...]  #: current document versions that came after the codes were made
    live: int  #: how many codes are of current chunks


class _Weighed(NamedTuple):
    """A point with a score of our own sum."""

    id: int
    score: float


def condition(
    where: Filter | None, known: Set[str], visible: Visible, allowed: Set[int] | None = None
) -> qdrant.Filter | None:
    """What a point must meet to be found: the caller's filter, over the fields that are `known`, and be visible.

    That is to be of a current version, or of one of those that are `allowed`. Raises InputError for an unknown field
    or a wrong value.
    """
    asked = conditions(where, known) if where else []
    if allowed is not None:
        asked.append(qdrant.FieldCondition(key=KEY, match=qdrant.MatchAny(sorted(allowed))))
        return qdrant.Filter(must=asked)
    excluded: list[Any] = []
    if visible.hidden:
        excluded.append(qdrant.FieldCondition(key=KEY, match=qdrant.MatchAny(sorted(visible.hidden))))
    if visible.past:
        excluded.append(qdrant.FieldCondition(key=PAST, match=qdrant.MatchValue(1)))
    return qdrant.Filter(must=asked or None, must_not=excluded or None) if asked or excluded else None


def ranked(points: Iterable[Any], k: int, visible: Visible, stage: str, allowed: Set[int] | None = None) -> list[Hit]:
    """The k best points as hits: by score, and equal ones by document and position."""
    found = sorted([(-point.score, number(point.id)) for point in points])[:k]
    # A point of no document is for `check` to tell.
    seen = visible.keys if allowed is None else allowed
    found = [pair for pair in found if pair[1] >> ORDINAL_BITS in seen]
    names = [visible.chunk_of(point_id) for _, point_id in found]
    return Hit.ranked(names, [-negated for negated, _ in found], stage)


# By words


def lexical(points: Points, counted: Mapping[str, int], k: int, condition: Any) -> list[Any]:
    """The k best points by BM25, and ties. `counted` says how often the query says each word.

    A word said n times counts ``(k3 + 1) · n / (k3 + n)`` times. The engine counts it once, so where words are repeated
    its best `_REPEATED_AMONG` chunks (at least k) are weighed again: their order is exact, a chunk behind them is not
    considered.
    """
    repeated: dict[int, list[str]] = {}
    for term, times in counted.items():
        if times > 1:
            repeated.setdefault(times, []).append(term)
    # Most words that are repeated are stop words, which only the engine knows, or words of no document.
    repeated = {times: terms for times, terms in repeated.items() if points.query(_text_query(terms), 1, None)}
    wanted = _text_query(counted)
    if not repeated:
        return _best(points, wanted, k, condition, None)
    return _weighed(points, _best(points, wanted, max(k, _REPEATED_AMONG), condition, None), repeated)


def _weighed(points: Points, found: list[Any], repeated: Mapping[int, Sequence[str]]) -> list[Any]:
    """What was found with what the repeated words count beyond once: BM25 is a sum over words."""
    scores = {number(point.id): float(point.score) for point in found}
    if not scores:
        return found
    these = qdrant.Filter(must=[qdrant.HasIdCondition(set(scores))])
    for times, terms in repeated.items():
        beyond = (BM25_K3 + 1) * times / (BM25_K3 + times) - 1
        for point in points.query(_text_query(terms), len(scores), these):
            scores[number(point.id)] += beyond * point.score
    return [_Weighed(point_id, score) for point_id, score in scores.items()]


def _text_query(terms: Iterable[str]) -> Any:
    return qdrant.TextQuery(TERMS, " ".join(terms), qdrant.Bm25Params(k=BM25_K1, b=BM25_B))


# By vectors


def direction(vector: Matrix, dimension: int) -> Matrix | None:
    """The query vector scaled to length 1; None if it has no direction. Raises InputError for another shape."""
    if vector.shape != (dimension,):
        raise InputError(f"the query vector has shape {vector.shape}, the index holds {dimension}")
    return unit(vector) if np.isfinite(vector).all() and vector.any() else None


def nearest(
    points: Points,
    visible: Visible,
    direction: Matrix,
    k: int,
    condition: Any,
    beam: Beam | None,
    codes: CodesNow | None,
) -> list[Any]:
    """The k points nearest to a unit vector, and ties: as wide as `beam`, exactly where it is None.

    With `codes` the candidates are theirs, which know nothing of `condition`, only of what is current.
    """
    query = qdrant.Query.Nearest(direction.tolist(), using=VECTOR)
    if beam is not None:
        if codes is None:
            found = _best(points, query, k, condition, search_params(beam), recall.K)
        else:
            among = _candidates(codes, visible, direction, k, beam)
            found = _best(points, query, k, among, EXACT) if among is not None else []
        # A graph in pieces, or cells too empty, give fewer than there are.
        if len(found) >= min(k, points.count):
            return found
    return _best(points, query, k, condition, EXACT)


def _candidates(codes: CodesNow, visible: Visible, direction: Matrix, k: int, beam: Beam) -> qdrant.Filter | None:
    """The condition of being near by the codes, or not in them. None when that may leave fewer than k."""
    # Codes of what was removed take up places among the candidates.
    wanted = int(max(k, recall.K) * (beam.oversampling or 1) * codes.index.count / max(codes.live, 1)) + 1
    if wanted >= codes.index.count:
        return None
    near = codes.index.search(direction, wanted, beam.nprobe or 1).tolist()
    ids = {point_id for point_id in near if visible.is_current(point_id)}
    if len(ids) <= k:
        return None
    either: list[Any] = [qdrant.HasIdCondition(ids)]
    if codes.outside:
        either.append(qdrant.FieldCondition(key=KEY, match=qdrant.MatchAny(list(codes.outside))))
    return qdrant.Filter(should=either)


def _best(points: Points, query: Any, k: int, condition: Any, params: Any, least: int = 0) -> list[Any]:
    """The k best points and every one that ties with the last of them: the engine takes any of those.

    At least `least` are asked for: where the engine scores candidates of a multiple of that number again, few results
    must not mean few candidates.
    """
    most = points.count
    limit = min(max(k, least), most) + 1
    while True:
        found = points.query(query, limit, condition, params)
        if len(found) < limit or limit > most or found[-1].score < found[k - 1].score:
            return found
        limit = min(4 * limit, most + 1)
