"""One step of beam search, for whatever gives the probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pincite.marginalize.certificate import EXACT, Certainty
from pincite.marginalize.decoded import Choice
from pincite.marginalize.steps import END, Symbols, nothing_likely

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.marginalize.logspace import Floats

    Edges: TypeAlias = dict[tuple[tuple[int, ...], int], Choice]

__all__ = ["Expansion", "Hypothesis", "cut", "expand", "in_order", "is_done", "path"]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """An answer as far as it goes, and how likely it is at least and at most, its end included if it `ended`."""

    tokens: tuple[int, ...] = ()
    lower: float = 0.0
    upper: float = 0.0
    ended: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """What becomes of the live hypotheses in one step."""

    live: list[Hypothesis]  #: the likeliest that go on
    parents: list[int]  #: the place among the hypotheses that each comes from
    ended: list[Hypothesis]
    edges: Edges  #: the choices by which these came about: (tokens before, symbol) → choice
    certainty: Certainty


def expand(hypotheses: Sequence[Hypothesis], found: Sequence[Symbols], beams: int, *, exact: bool) -> Expansion:
    """Continue every hypothesis by its symbols and keep the likeliest.

    The likeliest `beams` that do not end go on. One that ends counts if it is among the likeliest `beams` of all, so
    that with one beam this is greedy search; this is also the rule of most implementations of beam search. `exact`
    says that the symbols' probabilities are known and none is missing.
    """
    rows = _Rows(hypotheses, found)
    order = np.argsort(-rows.lower, kind="stable")
    order = order[~np.isneginf(rows.lower[order])]
    if not len(order):
        raise nothing_likely(exact=exact)
    goes_on = rows.tokens != END
    first, live = order[:beams], order[goes_on[order]][:beams]
    sure = EXACT
    if not exact:
        sure = Certainty.worse(rows.proof(first, beams, np.ones_like(goes_on)), rows.proof(live, beams, goes_on))
    ended = [place for place in first if not goes_on[place]]
    kept = {
        (hypotheses[rows.of[place]].tokens, int(rows.tokens[place])): rows.choice(place) for place in (*live, *ended)
    }
    return Expansion(
        [rows.hypothesis(place) for place in live],
        [int(rows.of[place]) for place in live],
        [rows.hypothesis(place) for place in ended],
        kept,
        sure,
    )


class _Rows:
    """Every continuation of every hypothesis as arrays; for each hypothesis one that stands for what is not listed."""

    def __init__(self, hypotheses: Sequence[Hypothesis], found: Sequence[Symbols]) -> None:
        self.hypotheses, self.found = hypotheses, found
        sizes = [len(each.tokens) for each in found]
        count = len(found)
        self.of: NDArray[np.int64] = np.append(np.repeat(np.arange(count), sizes), np.arange(count))
        self.place = np.concatenate([*(np.arange(size) for size in sizes), np.full(count, -1)])
        self.tokens: NDArray[np.int64] = np.concatenate([*(each.tokens for each in found), np.full(count, END - 1)])
        self.step_lower: Floats = np.concatenate([*(each.lower for each in found), np.full(count, -np.inf)])
        self.step_upper: Floats = np.concatenate([*(each.upper for each in found), [each.outside for each in found]])
        self.base_upper: Floats = np.array([each.upper for each in hypotheses])[self.of]
        self.lower: Floats = np.array([each.lower for each in hypotheses])[self.of] + self.step_lower
        self.upper: Floats = self.base_upper + self.step_upper

    def hypothesis(self, place: int) -> Hypothesis:
        before, symbol = self.hypotheses[self.of[place]], int(self.tokens[place])
        lower, upper = float(self.lower[place]), float(self.upper[place])
        if symbol == END:
            return Hypothesis(before.tokens, lower, upper, ended=True)
        return Hypothesis((*before.tokens, symbol), lower, upper)

    def choice(self, place: int) -> Choice:
        found, at = self.found[self.of[place]], self.place[place]
        return Choice(int(self.tokens[place]), found.rows[:, at], found.rows_upper[:, at])

    def proof(self, chosen: NDArray[np.int64], beams: int, among: NDArray[np.bool_]) -> Certainty:
        """How sure it is that `chosen` are the likeliest `beams` of those `among` which they were chosen.

        Continuations of the same hypothesis are compared by their last step: what is not known of the hypothesis is
        the same for both.
        """
        others = among.copy()
        others[chosen] = False
        # What is fully known lost the comparison for good; so did what cannot be at all.
        rest = np.flatnonzero(others & ~np.isneginf(self.upper))
        if len(chosen) < beams:
            most = self.upper[rest].max(initial=-np.inf)
            return Certainty("certified") if np.isneginf(most) else Certainty("approximate", _probability(most))
        one, other = chosen[:, None], rest[None, :]
        same = self.of[one] == self.of[other]
        settled = np.where(
            same, self.step_upper[other] == self.step_lower[other], self.upper[other] == self.lower[other]
        )
        loses = np.where(same, self.step_lower[one] > self.step_upper[other], self.lower[one] > self.upper[other])
        doubt = ~(settled | loses)
        if not doubt.any():
            return Certainty("certified")
        gap = np.where(
            same,
            np.exp(self.base_upper[other]) * (np.exp(self.step_upper[other]) - np.exp(self.step_lower[one])),
            np.exp(self.upper[other]) - np.exp(self.lower[one]),
        )
        return Certainty("approximate", float(np.clip(gap[doubt].max(), 0.0, 1.0)))


def cut(hypotheses: Sequence[Hypothesis], step: Expansion) -> list[Hypothesis]:
    """The hypotheses that may grow no longer, each with the probability of its best continuation, by which it ranks.

    So an answer that was cut stands before one that ended only if the search would have gone on with it.
    """
    best: dict[int, Hypothesis] = {}
    for child, parent in zip(step.live, step.parents, strict=True):
        best.setdefault(parent, Hypothesis(hypotheses[parent].tokens, child.lower, child.upper))
    return list(best.values())


def is_done(live: Sequence[Hypothesis], ended: Sequence[Hypothesis], beams: int) -> bool:
    """Whether none of `live` can still be among the likeliest `beams`: a continuation is never likelier."""
    if not live or len(ended) < beams:
        return not live
    bar = sorted((each.lower for each in ended), reverse=True)[beams - 1]
    return all(each.upper <= bar for each in live)


def in_order(lower: Sequence[float], upper: Sequence[float], *, exact: bool) -> Certainty:
    """How sure it is that answers with these bounds, highest lower bound first, stand in the right order."""
    if exact:
        return EXACT
    mass, rival = -1.0, -np.inf
    for least, most in reversed(list(zip(lower, upper, strict=True))):
        if rival >= least:
            mass = max(mass, _probability(rival) - _probability(least))
        if most > least:
            rival = max(rival, most)
    return Certainty("certified") if mass < 0 else Certainty("approximate", mass)


def path(edges: Edges, answer: Hypothesis) -> list[Choice]:
    """The choices that an answer is made of, its end last if it ended."""
    tokens = answer.tokens
    choices = [edges[tokens[:at], token] for at, token in enumerate(tokens)]
    return [*choices, edges[tokens, END]] if answer.ended else choices


def _probability(logprob: float) -> float:
    return float(min(1.0, np.exp(logprob)))
