"""From scores to an order: what every reranker does the same way, and says in the same words."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pincite.chunkers.context import encoded_text
from pincite.errors import InputError
from pincite.protocols import Reranked
from pincite.types import Hit, Passage

__all__ = ["check_budget", "order", "passage_text", "rerank_in_batches"]


def passage_text(passage: Passage) -> str:
    """What a reranker reads of a passage: the document's title, the headings above the chunk, and the chunk.

    A title that the next line repeats is left out, as `pincite.chunkers.context.encoded_text` does with headings.
    """
    chunk = passage.chunk
    return encoded_text([part for part in (passage.title, *chunk.headings) if part.strip()], chunk.reading)


def check_budget(depth: int, batch: int, seconds: float | None, weight: float) -> None:
    """Raise InputError for a depth or batch below 1, a budget of no time, or a weight outside (0, 1]."""
    if depth < 1 or batch < 1:
        raise InputError(f"depth and batch must be at least 1, got depth={depth}, batch={batch}")
    if seconds is not None and not seconds > 0:
        raise InputError(f"seconds must be above 0, or None for no limit; got {seconds}")
    if not 0 < weight <= 1:
        raise InputError(f"weight must be above 0 and at most 1, got {weight}")


def rerank_in_batches(
    name: str,
    passages: Sequence[Passage],
    score: Callable[[Sequence[Passage]], Sequence[float]],
    *,
    depth: int,
    batch: int,
    seconds: float | None = None,
    weight: float = 1.0,
    clock: Callable[[], float] = time.monotonic,
) -> Reranked:
    """Score the first `depth` passages, `batch` at a time and best first, and order them by `order`.

    The clock is looked at between batches: once `seconds` have passed no further batch is begun. The first always is.
    """
    candidates = passages[:depth]
    scores: dict[int, float] = {}
    started = clock()
    for first in range(0, len(candidates), batch):
        if first and seconds is not None and clock() - started >= seconds:
            break
        some = candidates[first : first + batch]
        scores.update(zip(range(first, first + len(some)), map(float, score(some)), strict=True))
    left = len(candidates) - len(scores)
    notes = [f"{name}: {left} of {len(candidates)} passages not scored within {seconds:g} s"] if left else []
    ordered = order(name, passages, scores, weight=weight)
    return Reranked(ordered.passages, (*notes, *ordered.notes))


def order(name: str, passages: Sequence[Passage], scores: Mapping[int, float], *, weight: float = 1.0) -> Reranked:
    """The passages whose index is in `scores` best first, then the others in the order given.

    Equal scores keep the order given. A passage that was scored gets a hit of the stage `name`, ranks from 1; the hit
    it had moves to `legs`, under its own stage. With a `weight` below 1 the hit's score is
    ``weight · z(score) + (1 - weight) · z(first)``, where `first` is the score the passage came with and z
    subtracts the mean of the scored passages and divides by their standard deviation (0 where all are equal).

    Where a score is NaN or infinite, or several are all equal, the scores say nothing: everything is returned as it
    was given, with a note.
    """
    given = list(passages)
    if not scores:
        return Reranked(given)
    values = list(scores.values())
    if odd := sum(not math.isfinite(value) for value in values):
        return Reranked(given, (f"{name}: {odd} of {len(values)} scores are no numbers; the order is the one before",))
    if len(values) > 1 and max(values) == min(values):
        return Reranked(given, (f"{name}: all {len(values)} scores are equal; the order is the one before",))
    notes: tuple[str, ...] = ()
    if weight < 1:
        first = [given[i].hit.score for i in scores]
        if all(map(math.isfinite, first)):
            blended = (weight * a + (1 - weight) * b for a, b in zip(_z(values), _z(first), strict=True))
            scores = dict(zip(scores, blended, strict=True))
        else:
            notes = (f"{name}: the scores before are no numbers and have no weight",)
    best = sorted(scores, key=lambda i: (-scores[i], i))
    reranked = [_with_hit(given[i], Hit(given[i].chunk.id, scores[i], rank, name)) for rank, i in enumerate(best, 1)]
    return Reranked(reranked + [passage for i, passage in enumerate(given) if i not in scores], notes)


def _with_hit(passage: Passage, hit: Hit) -> Passage:
    return replace(passage, hit=hit, legs={**passage.legs, passage.hit.stage: passage.hit})


def _z(values: Sequence[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / deviation if deviation else 0.0 for value in values]
