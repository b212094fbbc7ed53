"""Beam search for an answer under RAG-Token."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from pincite.errors import InputError
from pincite.marginalize.certificate import EXACT, Certainty
from pincite.marginalize.decoded import Decoded, by_token
from pincite.marginalize.search import Expansion, Hypothesis, cut, expand, in_order, is_done, path
from pincite.marginalize.steps import WIDTH, ask, checked_ends, checked_prior, symbols

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pincite.marginalize.search import Edges
    from pincite.protocols import NextTokens, Reading

__all__ = ["beam"]


def beam(
    reading: Reading,
    log_prior: ArrayLike,
    ends: Collection[int],
    *,
    beams: int,
    max_tokens: int,
    widest: int | None = None,
    width: int = WIDTH,
    score_end: bool = True,
) -> list[Decoded]:
    """Up to `beams` answers of the mixture, likeliest first; with one beam the answer of greedy search.

    The reading grows to `beams` times its rows and is used up. Every hypothesis is ranked by its whole probability, its
    end included (even where `score_end` leaves the end out of what is reported). The search stops once nothing that
    goes on can reach the `beams` best that ended. An answer that is cut at `max_tokens` ranks by its likeliest
    continuation, and reports what it has. The certainty is of the whole search: each of its steps and the order at the
    end. Errors as for `pincite.marginalize.decode.stream_greedy`; InputError for `beams` below 1.
    """
    prior, stops, k = checked_prior(log_prior, reading.rows), checked_ends(ends), reading.rows
    if beams < 1 or max_tokens < 1:
        raise InputError(f"beams and max_tokens must be at least 1, got beams={beams}, max_tokens={max_tokens}")
    live, found = [Hypothesis()], list[Hypothesis]()
    edges: Edges = {}
    sure = EXACT
    for depth in range(max_tokens + 1):

        def choose(near: NextTokens, live: list[Hypothesis] = live) -> Expansion:
            parts = [slice(at * k, at * k + k) for at in range(len(live))]
            near_parts = [symbols(near, part, prior, stops, beams) for part in parts]
            return expand(live, near_parts, beams, exact=near.ids is None)

        step = ask(reading, choose, width, widest)
        sure = Certainty.worse(sure, step.certainty)
        edges |= step.edges
        found += step.ended
        if depth == max_tokens:
            found += cut(live, step)
            break
        live = step.live
        if is_done(live, found, beams):
            break
        rows = [parent * k + z for parent in step.parents for z in range(k)]
        reading.extend(rows, [each.tokens[-1] for each in live for _ in range(k)])
    found.sort(key=lambda each: -each.lower)
    order = in_order([each.lower for each in found], [each.upper for each in found], exact=sure == EXACT)
    sure = Certainty.worse(sure, order)
    return [by_token(prior, path(edges, each), sure, ended=each.ended, score_end=score_end) for each in found[:beams]]
