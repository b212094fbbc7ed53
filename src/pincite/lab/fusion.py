"""Reciprocal rank fusion of two lists, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pincite.errors import InputError
from pincite.fusion import reciprocal_rank_fusion
from pincite.lab.record import Lesson, Step, Value, dec, total
from pincite.types import Hit

__all__ = ["LISTS", "lesson"]

#: Best first. Document A is in one list only, and first there; B is second in both.
LISTS: Mapping[str, Sequence[str]] = {"dense": ("A", "B", "C", "D"), "bm25": ("D", "B", "C")}


def lesson(lists: Mapping[str, Sequence[str]] = LISTS, k: int = 60, sharp: int = 0) -> Lesson:
    """Reciprocal rank fusion with `k`, and again with `sharp` for contrast. Raises InputError for no document."""
    runs = {name: Hit.ranked(names, [0.0] * len(names), name) for name, names in lists.items()}
    ranks = {name: {hit.chunk_id: hit.rank for hit in hits} for name, hits in runs.items()}
    fused = reciprocal_rank_fusion(runs, k=k)
    if not fused:
        raise InputError("there is no document in the lists")
    given = [
        Value(f"rank of {document} in {name}", rank, "given", "d")
        for name, found in ranks.items()
        for document, rank in found.items()
    ]
    parts, sums = [], []
    for hit in fused:
        each = []
        for name, found in ranks.items():
            if rank := found.get(hit.chunk_id):
                # A ranking alone: what it gives, by the same function.
                alone = {h.chunk_id: h.score for h in reciprocal_rank_fusion({name: runs[name]}, k=k)}[hit.chunk_id]
                each.append(alone)
                parts.append(Value(f"{hit.chunk_id} from {name}", alone, f"1 / ({k} + {rank})", ".5f"))
            else:
                parts.append(Value(f"{hit.chunk_id} from {name}", 0.0, "not in this list: nothing", ".5f"))
        sums.append(Value(f"score of {hit.chunk_id}", hit.score, total(each, ".5f"), ".5f"))
    return Lesson(
        "fusion",
        "Two rankings become one: reciprocal rank fusion",
        (
            Step(
                "Two lists",
                "Two retrievers looked for the same query. Their scores have different units and cannot be added; "
                "their ranks can be compared. Ranks count from 1.",
                values=tuple(given),
            ),
            Step(
                "What each rank is worth",
                f"A rank is worth the reciprocal of itself plus a constant, here {k}. "
                "A document that a list does not hold gets nothing from it.",
                "part(d, list) = 1 / (k + rank of d in the list)",
                tuple(parts),
            ),
            Step(
                "The sums are the new order",
                "The parts of a document are added. The greatest sum comes first.",
                "score(d) = Σ over lists 1 / (k + rank of d)",
                tuple(sums),
                f"The order is {', '.join(hit.chunk_id for hit in fused)}.",
            ),
            _constant(runs, k, sharp),
        ),
        ("Cormack, Clarke and Büttcher 2009, section 2",),
    )


def _constant(runs: Mapping[str, Sequence[Hit]], k: int, sharp: int) -> Step:
    """What the constant does: how much more the first place is worth than the second."""
    two = {"one": Hit.ranked(["first", "second"], [0.0, 0.0], "one")}
    values = []
    for constant in (k, sharp):
        first, second = (hit.score for hit in reciprocal_rank_fusion(two, k=constant))
        how = f"(1 / ({constant} + 1)) / (1 / ({constant} + 2))"
        values.append(Value(f"first place over second, k = {constant}", first / second, how, ".3f"))
    order = [hit.chunk_id for hit in reciprocal_rank_fusion(runs, k=sharp)]
    return Step(
        "What the constant does",
        "A great constant makes neighbouring ranks nearly equal, so that being in both lists counts for more than "
        "being first in one.",
        "(1 / (k + 1)) / (1 / (k + 2))",
        tuple(values),
        f"With k = {sharp} the order is {', '.join(order)}, and the first place of one list alone is worth "
        f"{dec(1 / (sharp + 1), '.3f')}.",
    )
