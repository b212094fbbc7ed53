"""What is known of a mixture where readers list only their likeliest tokens, and how sure a choice from it is.

A token that reader z does not list has there at most the probability of the last one listed, and at most what the
listed ones leave of 1. So every token's mixture lies between two bounds: with 0 in the rows that do not list it, and
with that much. Where the lower bound of one token is above the upper bounds of all others, it is the likeliest of the
whole vocabulary, proven without having seen it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pincite.marginalize.logspace import as_floats, log, logsumexp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.marginalize.logspace import Floats
    from pincite.protocols import NextTokens

__all__ = ["EXACT", "Certainty", "Lists"]

#: What the listed probabilities of a row may be short of, or above, their true sum, by rounding in single precision.
_ROUNDING = 1e-6

_ORDER = ("exact", "certified", "approximate")


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure it is that the tokens chosen are those that the whole vocabulary of every reader would have given.

    exact: the whole vocabulary was there. certified: it was not, but bounds prove the choice. approximate: they do
    not; another choice may be likelier, by a probability of at most `mass` (when sampling: a share of at most `mass` of
    the probability could not be drawn from). This is about the choice; how far the log-probability may be off is the
    `slack` beside it.
    """

    kind: Literal["exact", "certified", "approximate"]
    mass: float = 0.0

    def __str__(self) -> str:
        if self.kind != "approximate":
            return self.kind
        return f"approximate (mass ≤ {_rounded_up(self.mass):.2g})"

    @staticmethod
    def worse(a: Certainty, b: Certainty) -> Certainty:
        """The less sure of two; of two approximate ones that of the greater mass."""
        return max(a, b, key=lambda each: (_ORDER.index(each.kind), each.mass))


EXACT = Certainty("exact")


def _rounded_up(mass: float) -> float:
    """To two digits, upwards: a bound that is printed must still hold."""
    if not mass > 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(mass)) - 1)
    return math.ceil(mass / unit - 1e-9) * unit


class Lists:
    """The listed tokens of some rows, with bounds for those that are not listed.

    `rows` picks the rows of `NextTokens` (all k passages of one hypothesis). Log-probabilities throughout.
    """

    def __init__(self, listed: NextTokens, rows: slice) -> None:
        assert listed.ids is not None
        self.ids: NDArray[np.int64] = np.asarray(listed.ids[rows])
        self.logprobs = np.where(self.ids >= 0, as_floats(listed.logprobs[rows]), -np.inf)
        there = self.ids >= 0
        last = np.where(there, self.logprobs, np.inf).min(axis=1, initial=np.inf)
        self.last: Floats = np.where(there.any(axis=1), last, 0.0)
        left = 1.0 - np.exp(self.logprobs).sum(axis=1)
        self.left: Floats = log(np.maximum(left, 0.0) + _ROUNDING)

    @property
    def unlisted(self) -> Floats:
        """The most that a single token can have in each row that does not list it; shape (k,)."""
        return np.minimum(self.last, np.minimum(self.left, 0.0))

    def tokens(self) -> NDArray[np.int64]:
        """Every token that some row lists, rising."""
        found = np.unique(self.ids)
        return found[found >= 0]

    def bounds(self, tokens: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The least and the most that each of `tokens` (rising) can have in each row; (k, tokens) each."""
        lower = np.full((len(self.ids), len(tokens)), -np.inf)
        listed = np.zeros(lower.shape, dtype=bool)
        places, wanted = self._places(tokens)
        row, at = np.nonzero(wanted)
        lower[row, places[row, at]], listed[row, places[row, at]] = self.logprobs[row, at], True
        return lower, np.where(listed, lower, self.unlisted[:, None])

    def sum_bounds(self, tokens: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The least and the most that `tokens` (rising) can have together in each row; (k,) each."""
        _, member = self._places(tokens)
        lower = logsumexp(np.where(member, self.logprobs, -np.inf))
        missing = len(tokens) - member.sum(axis=1)
        most = np.minimum(self.left, self.last + log(missing))
        return lower, np.minimum(np.logaddexp(lower, np.where(missing > 0, most, -np.inf)), np.maximum(lower, 0.0))

    def _places(self, tokens: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where in `tokens` (rising) each listed token stands, and whether it does."""
        if not len(tokens):
            return np.zeros_like(self.ids), np.zeros(self.ids.shape, dtype=bool)
        places = np.minimum(np.searchsorted(tokens, self.ids), len(tokens) - 1)
        return places, tokens[places] == self.ids
