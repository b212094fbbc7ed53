"""How well a reader knows when not to answer: precision and recall of its refusals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pincite.evaluation.answer_records import Mean, Refusals

__all__ = ["measure_refusals"]

_DRAWS = 10_000


def measure_refusals(decided: Sequence[tuple[bool, bool]], seed: int = 0) -> Refusals | None:
    """Of (the question has an answer, it was refused) for each question; failures are left out by the caller.

    The 95 % intervals come from drawing questions with replacement (Efron and Tibshirani 1993, section 13.3): ratios of
    counts, so the whole table is drawn anew. A draw in which nothing was refused has no precision and is left out of
    its interval. None where no question is without an answer: nothing then is there to be refused.

    >>> measure_refusals([(False, True), (False, False), (True, True)]).precision.value
    0.5
    """
    right = sum(refused and not answerable for answerable, refused in decided)
    wrong = sum(refused and answerable for answerable, refused in decided)
    missed = sum(not refused and not answerable for answerable, refused in decided)
    if not right + missed:
        return None
    cells = np.array([right, wrong, missed, len(decided) - right - wrong - missed])
    drawn = np.random.default_rng(seed).multinomial(len(decided), cells / len(decided), size=_DRAWS).astype(float)
    tables = np.vstack([cells, drawn])

    def ratio(above: list[float], below: list[float], n: int) -> Mean | None:
        """The share of two sums of cells."""
        top, bottom = tables @ np.array(above), tables @ np.array(below)
        if not bottom[0]:
            return None
        shares = top[1:][bottom[1:] > 0] / bottom[1:][bottom[1:] > 0]
        value = float(top[0] / bottom[0])
        low, high = np.quantile(shares, [0.025, 0.975]) if len(shares) else (value, value)
        return Mean(value, float(low), float(high), n)

    return Refusals(
        precision=ratio([1, 0, 0, 0], [1, 1, 0, 0], right + wrong),
        recall=ratio([1, 0, 0, 0], [1, 0, 1, 0], right + missed),
        f1=ratio([2, 0, 0, 0], [2, 1, 1, 0], len(decided)),
        right=right,
        wrong=wrong,
        missed=missed,
    )
