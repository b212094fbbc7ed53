"""What a sweep is about: the measure, the questions that choose and those that judge, and the points of the grid."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pincite.errors import InputError
from pincite.evaluation.datasets import load_dataset, splits

if TYPE_CHECKING:
    from pincite.evaluation.datasets import Dataset

__all__ = [
    "Aim",
    "Point",
    "Sides",
    "Value",
    "aim",
    "cutting",
    "default_aim",
    "halves",
    "point_key",
    "points_of",
    "read_sides",
]

#: With fewer questions to judge by, all won and none lost is still p > 0.05 by the randomization test (2 / 2^5).
_LEAST_HELD_OUT = 6

Value: TypeAlias = "str | int | float | None"
Point: TypeAlias = "Mapping[str, Value]"
"""``section.key`` → value."""


# What is aimed at


@dataclass(frozen=True, slots=True)
class Aim:
    """A measure by its own name: ``Recall@5``, ``span recall@5``. `k` is None where the reading budget sets it."""

    name: str
    shown: str
    spans: bool
    k: int | None


_AIMS = {
    "recall": ("Recall", False),
    "ndcg": ("nDCG", False),
    "mrr": ("MRR", False),
    "success": ("Success", False),
    "span-recall": ("span recall", True),
    "span-union-recall": ("span union recall", True),
    "span-mrr": ("span MRR", True),
}


def aim(name: str) -> Aim:
    """The measure that a person calls `name`: ``recall@5``, ``mrr@10``, ``ndcg@10``, ``span-recall@5`` …

    A span measure without ``@k`` is taken at the point's own ``search.k``. Raises InputError for any other name.
    """
    kind, at, cutoff = name.strip().lower().partition("@")
    known = _AIMS.get(kind)
    if known is None or (at and not (cutoff.isdecimal() and 0 < int(cutoff) <= 1000)) or not (at or known[1]):
        listed = ", ".join(f"{each}@k" for each in _AIMS)
        raise InputError(f"there is no measure {name!r} to tune for; there are {listed}")
    k = int(cutoff) if at else None
    return Aim(f"{known[0]}@{k}" if k else known[0], f"{kind}@{k}" if k else kind, known[1], k)


def default_aim(folder: Path, split: str) -> Aim:
    """The measure for a set of which nothing else is known: of spans, where it has any."""
    return aim("span-recall@5" if load_dataset(folder, split).spans else "recall@5")


# The two sides


@dataclass(frozen=True, slots=True)
class Sides:
    """The questions that choose and those that judge the choice, over one corpus."""

    dataset: Dataset  #: all of them
    train: tuple[str, ...]
    held_out: tuple[str, ...]
    how: str  #: in words, how they were divided
    notes: tuple[str, ...] = ()

    def only(self, query_ids: Sequence[str]) -> Dataset:
        """The set with these questions alone."""
        wanted = set(query_ids)
        return replace(
            self.dataset,
            queries={name: text for name, text in self.dataset.queries.items() if name in wanted},
            qrels={name: grades for name, grades in self.dataset.qrels.items() if name in wanted},
            spans={name: spans for name, spans in self.dataset.spans.items() if name in wanted},
        )


def halves(query_ids: Sequence[str], seed: int = 0) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two halves by the hash of each id: a question stays on its side whatever questions are added.

    The halves are about as large as each other, not exactly.
    """
    first = [hashlib.sha256(f"{seed}:{each}".encode()).digest()[0] % 2 == 0 for each in query_ids]
    return (
        tuple(each for each, side in zip(query_ids, first, strict=True) if side),
        tuple(each for each, side in zip(query_ids, first, strict=True) if not side),
    )


def read_sides(folder: Path, goal: Aim, *, split: str = "test", seed: int = 0) -> Sides:
    """The set in `folder`, divided: its own train split chooses and `split` judges, or else the halves of `split`.

    For a span measure only questions with labelled spans are taken. Raises InputError where there are none, or where
    a side is empty.
    """
    judged = load_dataset(folder, split)
    notes = list(judged.notes)
    dataset, how = judged, f"halves of {split} by the hash of the question's id"
    if split != "train" and "train" in splits(folder):
        training = load_dataset(folder, "train")
        notes += training.notes
        twice = set(training.queries) & set(judged.queries)
        if twice:
            notes.append(f"{len(twice)} questions are in train and in {split}: they only judge")
        dataset = replace(
            judged,
            queries={**training.queries, **judged.queries},
            qrels={**training.qrels, **judged.qrels},
            spans={**training.spans, **judged.spans},
        )
        train = tuple(each for each in training.queries if each not in twice)
        held_out = tuple(judged.queries)
        how = f"train chooses, {split} judges"
    else:
        train, held_out = halves(list(judged.queries), seed)
    if goal.spans:
        without = [each for each in dataset.queries if not dataset.spans.get(each)]
        if len(without) == len(dataset.queries):
            raise InputError(f"{folder} has no labelled spans: tune for recall@5, mrr@10 or ndcg@10 instead")
        if without:
            notes.append(f"{len(without)} questions have no labelled span and are left out")
        train = tuple(each for each in train if dataset.spans.get(each))
        held_out = tuple(each for each in held_out if dataset.spans.get(each))
    if not train or not held_out:
        raise InputError(
            f"{folder} leaves {len(train)} questions to choose by and {len(held_out)} to judge by: more are needed"
        )
    if len(held_out) < _LEAST_HELD_OUT:
        # Before all else: nobody should wait for a result that cannot be one.
        judging = f"{len(held_out)} question judges" if len(held_out) == 1 else f"{len(held_out)} questions judge"
        notes.insert(
            0, f"no result can be significant: only {judging} the choice, and it takes {_LEAST_HELD_OUT} or more"
        )
    return Sides(dataset, train, held_out, how, tuple(notes))


# The grid


def points_of(
    present: Point, grid: Mapping[str, Sequence[Value]], check: Callable[[Point], str | None]
) -> tuple[list[dict[str, Value]], dict[str, int]]:
    """Every choice of the grid, the present settings first, and how many were left out for which reason.

    `present` has every setting that is swept; those that `grid` does not name stay. `check` says why settings cannot
    stand together, "" if they are another point in other words (dropped without a count), None if they can.
    """
    if unknown := sorted(set(grid) - set(present)):
        raise InputError(f"{unknown[0]} cannot be tuned; there are: {', '.join(present)}")
    if empty := [name for name, values in grid.items() if not values]:
        raise InputError(f"the grid has no value for {empty[0]}")
    found: dict[tuple[tuple[str, Value], ...], dict[str, Value]] = {point_key(present): dict(present)}
    left_out: dict[str, int] = {}
    for values in itertools.product(*grid.values()):
        point = {**present, **dict(zip(grid, values, strict=True))}
        why = check(point)
        if why is None:
            found.setdefault(point_key(point), point)
        elif why:
            left_out[why] = left_out.get(why, 0) + 1
    return list(found.values()), left_out


def point_key(point: Point) -> tuple[tuple[str, Value], ...]:
    """A point as a key of a dictionary, whatever the order of its settings."""
    return tuple(sorted(point.items()))


def cutting(point: Point) -> dict[str, Value]:
    """The settings of a point that make another index."""
    return {name: value for name, value in point.items() if name.startswith("chunk.")}
