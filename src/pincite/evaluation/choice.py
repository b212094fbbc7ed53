"""The choice among measured points: the best on the side that chooses, held against the present on the other."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pincite.errors import InputError
from pincite.evaluation.kept import Tried
from pincite.evaluation.points import Point, Sides, Value, point_key

__all__ = ["LEAST_QUERIES", "LEVEL", "Choice", "choose"]

#: Fewer questions than this on either side choose, or judge, by luck.
LEAST_QUERIES = 20
#: A gain whose p-value is above this may be chance.
LEVEL = 0.05
#: Two means no further apart than this are equal.
_EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class Choice:
    """The best point by the choosing side, held against the present settings on the other."""

    present: Tried
    best: Tried
    order: tuple[Tried, ...]  #: all points, best first on the choosing side
    train_gain: float
    gain: float  #: on the held-out side, mean of the differences
    interval: tuple[float, float]  #: 95 %, paired bootstrap
    p: float  #: paired randomization test, two-sided
    worth_it: bool
    why: str  #: in words, the reason for `worth_it`
    warnings: tuple[str, ...] = ()

    @property
    def changes(self) -> dict[str, Value]:
        """The settings of the best point that are not the present ones."""
        return {name: value for name, value in self.best.settings.items() if value != self.present.settings[name]}


def choose(
    tried: Sequence[Tried],
    present: Point,
    sides: Sides,
    *,
    least_gain: float = 0.01,
    level: float = LEVEL,
    budget: float | None = None,
    seed: int = 0,
) -> Choice:
    """The point with the best mean on the choosing side; of equals that which changes the fewest present settings.

    Then: fewest tokens read, fewest chunks, first in the grid. With `budget` only points that read at
    most so many tokens are taken, the present settings aside. A change is worth it if the held-out side gains at least
    `least_gain` and the difference is significant at `level` (randomization test, two-sided). Raises InputError if the
    present settings were not measured.
    """
    from pincite.evaluation.significance import bootstrap_interval, randomization_test

    now = next((each for each in tried if point_key(each.settings) == point_key(present)), None)
    if now is None:
        raise InputError("the present settings were not measured: nothing can be compared with them")
    means = {id(each): each.mean(sides.train) for each in tried}

    def rank(place_and_point: tuple[int, Tried]) -> tuple[Any, ...]:
        place, each = place_and_point
        # Rounded, so that sums in another order are still equal.
        changes = sum(value != now.settings.get(name) for name, value in each.settings.items())
        return -round(means[id(each)] / _EQUAL), changes, round(each.tokens), each.chunks, place

    order = [each for _, each in sorted(enumerate(tried), key=rank)]
    allowed = [each for each in order if budget is None or each is now or each.tokens <= budget]
    best = allowed[0]
    differences = [best.values[each] - now.values[each] for each in sides.held_out]
    gain = statistics.fmean(differences)
    p = randomization_test(differences, seed=seed)
    warnings = [
        f"only {len(side)} questions {what}: fewer than {LEAST_QUERIES}, the choice is weak"
        for side, what in ((sides.train, "choose"), (sides.held_out, "judge the choice"))
        if len(side) < LEAST_QUERIES
    ]
    if best is now:
        worth_it, why = False, "no other settings do better on the questions that choose"
    elif gain < least_gain:
        worth_it, why = False, f"on the held-out questions the gain is {gain:+.3f}, below {least_gain:g}"
    elif p > level:
        worth_it, why = False, f"on the held-out questions the gain of {gain:+.3f} may be chance (p = {p:.3f})"
    else:
        worth_it, why = True, f"on the held-out questions the gain is {gain:+.3f} (p = {p:.3f})"
    return Choice(
        present=now,
        best=best,
        order=tuple(order),
        train_gain=means[id(best)] - means[id(now)],
        gain=gain,
        interval=bootstrap_interval(differences, seed=seed),
        p=p,
        worth_it=worth_it,
        why=why,
        warnings=tuple(warnings),
    )
