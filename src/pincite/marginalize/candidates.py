"""Searching for an answer under RAG-Sequence: candidates from each passage, scored over all of them.

The likelihood of RAG-Sequence does not come apart into tokens, so no single search finds its best answer. "We run beam
search for each document z" (Lewis et al. 2020, arXiv:2005.11401, section 2.5) and rank what these searches found: after
every passage (thorough decoding), or only after those that found it (fast decoding).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pincite.errors import BackendError, InputError
from pincite.marginalize.certificate import EXACT, Certainty
from pincite.marginalize.decoded import Choice, Decoded, by_sequence
from pincite.marginalize.logspace import as_floats
from pincite.marginalize.rag_sequence import rank_fast, rank_thorough, sequence_logprob
from pincite.marginalize.search import Expansion, Hypothesis, cut, expand, in_order, is_done, path
from pincite.marginalize.steps import END, WIDTH, ask, checked_ends, checked_prior, symbols, symbols_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pincite.marginalize.logspace import Floats
    from pincite.marginalize.search import Edges
    from pincite.protocols import NextTokens, Reading

__all__ = ["fast", "thorough"]

Answer = tuple[tuple[int, ...], bool]  # its tokens, and whether it ended


def thorough(
    reading: Reading,
    log_prior: ArrayLike,
    ends: Collection[int],
    *,
    max_tokens: int,
    beams: int = 1,
    again: Callable[[], Reading] | None = None,
    widest: int | None = None,
    width: int = WIDTH,
    score_end: bool = True,
) -> list[Decoded]:
    """All candidates, likeliest first, each scored after every passage.

    Each passage that has any prior is searched on its own with `beams` beams (greedily with one). A candidate that was
    cut at `max_tokens` counts with the probability of what it has. The reading is used up.

    `again` reads the same contexts once more: `reading` is then closed after the search, for which it grew to at most
    k · `beams` rows, and the candidates are scored by the second reading, which is closed too. Without it everything
    that a search looks at is read after every passage as it goes: nothing is read twice, but the reading grows to as
    many as k · `beams` · k rows (fewer where searches agree). Errors as for `pincite.marginalize.beam.beam`.
    """
    pool = _search(reading, log_prior, ends, max_tokens, beams, widest, width, everywhere=again is None)
    if again is not None:
        reading.close()
        second = again()
        try:
            pool = _rescored(pool, second)
        finally:
            second.close()
    return _ranked(pool, score_end=score_end)


def fast(
    reading: Reading,
    log_prior: ArrayLike,
    ends: Collection[int],
    *,
    max_tokens: int,
    beams: int = 1,
    widest: int | None = None,
    width: int = WIDTH,
    score_end: bool = True,
) -> list[Decoded]:
    """All candidates, likeliest first, each scored only after the passages whose own search found it.

    After any other passage a candidate's probability is taken as 0: `logprob` is a lower bound of log p(y|x), and
    `slack` allows for those passages giving it anything up to 1. The reading grows to k · `beams` rows. Else as
    `thorough`.
    """
    return _ranked(
        _search(reading, log_prior, ends, max_tokens, beams, widest, width, everywhere=False), score_end=score_end
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A beginning of an answer, and the passages after which it is being read: rows of the reading, side by side."""

    start: int
    passages: tuple[int, ...]

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + len(self.passages))

    def row(self, z: int) -> int:
        return self.start + self.passages.index(z)


@dataclass(slots=True, eq=False)
class _Search:
    """The search of one passage."""

    live: list[Hypothesis] = field(default_factory=lambda: [Hypothesis()])
    found: list[Hypothesis] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Moves:
    """One step of all searches."""

    by_passage: dict[int, Expansion]
    edges: Edges
    certainty: Certainty


@dataclass(frozen=True, slots=True, eq=False)
class _Pool:
    """What the searches found: each answer with its choices, and which passages found it, (answers, k)."""

    prior: Floats
    answers: list[Answer]
    paths: list[list[Choice]]
    seen: NDArray[np.bool_]
    certainty: Certainty
    everywhere: bool  #: whether the choices tell what every passage gives


def _search(
    reading: Reading,
    log_prior: ArrayLike,
    ends: Collection[int],
    max_tokens: int,
    beams: int,
    widest: int | None,
    width: int,
    *,
    everywhere: bool,
) -> _Pool:
    prior, stops, k = checked_prior(log_prior, reading.rows), checked_ends(ends), reading.rows
    if beams < 1 or max_tokens < 1:
        raise InputError(f"beams and max_tokens must be at least 1, got beams={beams}, max_tokens={max_tokens}")
    # A passage of prior 0 must change nothing: it may not even propose.
    searches = {z: _Search() for z in range(k) if not np.isneginf(prior[z])}
    active = dict(searches)
    nodes: dict[tuple[int, ...], _Node] = {(): _Node(0, tuple(range(k)))}
    edges: Edges = {}
    sure = EXACT
    for depth in range(max_tokens + 1):

        def choose(
            near: NextTokens, active: dict[int, _Search] = active, nodes: dict[tuple[int, ...], _Node] = nodes
        ) -> _Moves:
            return _moves(near, active, nodes, stops, beams, k)

        moves = ask(reading, choose, width, widest)
        sure = Certainty.worse(sure, moves.certainty)
        edges |= moves.edges
        for z, step in moves.by_passage.items():
            search = active[z]
            search.found += step.ended
            if depth == max_tokens:
                search.found += cut(search.live, step)
            search.live = step.live
        active = {z: search for z, search in active.items() if not is_done(search.live, search.found, beams)}
        if depth == max_tokens or not active:
            break
        nodes = _extend(reading, nodes, active, range(k) if everywhere else None)
    finders: dict[Answer, list[int]] = {}
    for z, search in searches.items():
        best = sorted(search.found, key=lambda each: -each.lower)
        exact = sure == EXACT
        sure = Certainty.worse(sure, in_order([b.lower for b in best], [b.upper for b in best], exact=exact))
        for each in best[:beams]:
            finders.setdefault((each.tokens, each.ended), []).append(z)
    return _pool(prior, finders, edges, sure, everywhere)


def _pool(
    prior: Floats, finders: dict[Answer, list[int]], edges: Edges, certainty: Certainty, everywhere: bool
) -> _Pool:
    # The same answer, cut in one search and ended in another, is one answer.
    answers = [(tokens, ended) for tokens, ended in finders if ended or (tokens, True) not in finders]
    seen = np.zeros((len(answers), len(prior)), dtype=bool)
    for place, (tokens, ended) in enumerate(answers):
        seen[place, finders[tokens, ended] + finders.get((tokens, False), [])] = True
    paths = [path(edges, Hypothesis(tokens, ended=ended)) for tokens, ended in answers]
    return _Pool(prior, answers, paths, seen, certainty, everywhere)


def _moves(
    near: NextTokens,
    active: dict[int, _Search],
    nodes: dict[tuple[int, ...], _Node],
    ends: NDArray[np.int64],
    beams: int,
    k: int,
) -> _Moves:
    alone = np.zeros(1)  # the prior of a passage that is searched on its own
    steps = {}
    sure = EXACT
    for z, search in active.items():
        rows = [nodes[each.tokens].row(z) for each in search.live]
        found = [symbols(near, slice(row, row + 1), alone, ends, beams) for row in rows]
        step = expand(search.live, found, beams, exact=near.ids is None)
        steps[z] = step
        sure = Certainty.worse(sure, step.certainty)
    edges: Edges = {}
    for before, symbol in {edge: None for step in steps.values() for edge in step.edges}:
        edges[before, symbol] = _choice(near, nodes[before], symbol, ends, k)
    return _Moves(steps, edges, sure)


def _choice(near: NextTokens, node: _Node, symbol: int, ends: NDArray[np.int64], k: int) -> Choice:
    """What every passage gives a symbol; one after which it is not read is not known, and may give it anything."""
    tokens = np.array([] if symbol == END else [symbol], dtype=np.int64)
    found = symbols_of(near, node.rows, np.zeros(len(node.passages)), tokens, ends)
    rows, upper = np.full(k, -np.inf), np.zeros(k)
    rows[list(node.passages)], upper[list(node.passages)] = found.rows[:, 0], found.rows_upper[:, 0]
    return Choice(symbol, rows, upper)


def _extend(
    reading: Reading,
    nodes: dict[tuple[int, ...], _Node],
    active: dict[int, _Search],
    everywhere: Sequence[int] | None,
) -> dict[tuple[int, ...], _Node]:
    """Read on with every beginning that some search still holds, after its own passages or `everywhere`."""
    holders: dict[tuple[int, ...], list[int]] = {}
    for z, search in active.items():
        for each in search.live:
            holders.setdefault(each.tokens, []).append(z)
    grown: dict[tuple[int, ...], _Node] = {}
    rows: list[int] = []
    added: list[int] = []
    for tokens, own in holders.items():
        passages = tuple(own if everywhere is None else everywhere)
        grown[tokens] = _Node(len(rows), passages)
        rows += [nodes[tokens[:-1]].row(z) for z in passages]
        added += [tokens[-1]] * len(passages)
    reading.extend(rows, added)
    return grown


def _rescored(pool: _Pool, reading: Reading) -> _Pool:
    """The same answers, with what every passage gives them."""
    paths = []
    # All at once: a model may compute once what candidates begin with alike.
    found = reading.score([tokens for tokens, _ in pool.answers], end=True)
    for choices, seen, matrix in zip(pool.paths, pool.seen, found, strict=True):
        scores = as_floats(matrix)[:, : len(choices)]  # the end's column goes unused where an answer was cut
        if np.isnan(scores).any():
            raise BackendError("the model gave log-probabilities that are no numbers (NaN)")
        scored = []
        for choice, given in zip(choices, scores.T, strict=True):
            rows = np.where(seen, choice.rows, given)
            if pool.certainty == EXACT:
                upper = rows
            else:  # a list that lacks a token knows nothing of it, and of the end perhaps a part
                known = ~np.isneginf(given) & (choice.symbol != END)
                upper = np.where(seen, choice.rows_upper, np.where(known, given, 0.0))
            scored.append(replace(choice, rows=rows, rows_upper=upper))
        paths.append(scored)
    return replace(pool, paths=paths, everywhere=True)


def _ranked(pool: _Pool, *, score_end: bool) -> list[Decoded]:
    lower, upper = (
        np.array([np.sum([getattr(choice, which) for choice in choices], axis=0) for choices in pool.paths])
        for which in ("rows", "rows_upper")
    )
    if pool.everywhere:
        order, logprobs = rank_thorough(pool.prior, lower)
        most = sequence_logprob(pool.prior, upper)[order]
    else:
        order, logprobs = rank_fast(pool.prior, lower, pool.seen)
        most = sequence_logprob(pool.prior, np.where(pool.seen, upper, -np.inf))[order]
    exact = pool.certainty == EXACT
    sure = Certainty.worse(pool.certainty, in_order(logprobs.tolist(), most.tolist(), exact=exact))
    ranked = []
    for place in order:
        choices = pool.paths[place]
        if not pool.everywhere:
            choices = [_only(choice, pool.seen[place]) for choice in choices]
        ended = pool.answers[place][1]
        ranked.append(by_sequence(pool.prior, choices, sure, ended=ended, score_end=score_end))
    return ranked


def _only(choice: Choice, seen: NDArray[np.bool_]) -> Choice:
    return replace(choice, rows=np.where(seen, choice.rows, -np.inf), rows_upper=np.where(seen, choice.rows_upper, 0.0))
