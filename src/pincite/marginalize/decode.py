"""Searching for an answer under RAG-Token: greedy search and sampling over the mixture of all passages.

"RAG-Token … can be seen as a standard, autoregressive seq2seq generator" (Lewis et al. 2020, arXiv:2005.11401, section
2.5): the mixture is an ordinary distribution over the next token. A `Reading` of k rows and a prior of k
log-probabilities go in; a model that fuses its passages (Fusion-in-Decoder) is the case of one row.

Log-probabilities are those of the answer itself: there is no length normalisation, so a longer answer is never
likelier than what it begins with. `max_tokens` counts tokens without the end; after the last of them the end is looked
for once more. `ends` are one symbol, whose probability is their sum; it wins if it is likelier than every token.

`width` is how many tokens of each row are asked for first from a reader that lists, and `widest` the most it gives
(`TokenScorer.widest`): while bounds do not prove a choice a list ten times as long is asked for. Readers that give the
whole vocabulary ignore both, and everything is exact.

Beam search is in `pincite.marginalize.beam` and RAG-Sequence in `pincite.marginalize.candidates`; their names can be
had from here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pincite.errors import BackendError, InputError
from pincite.marginalize.beam import beam
from pincite.marginalize.candidates import fast, thorough
from pincite.marginalize.certificate import EXACT, Certainty, Lists
from pincite.marginalize.decoded import Choice, Decoded, by_token
from pincite.marginalize.logspace import as_floats, logsumexp
from pincite.marginalize.posterior import sequence_posterior
from pincite.marginalize.steps import (
    END,
    WIDTH,
    ask,
    best,
    checked_ends,
    checked_prior,
    nothing_likely,
    symbols,
    symbols_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pincite.marginalize.logspace import Floats
    from pincite.protocols import NextTokens, Reading

__all__ = [
    "Decoded",
    "Step",
    "beam",
    "fast",
    "greedy",
    "sample",
    "score_answer",
    "stream_greedy",
    "stream_sample",
    "thorough",
]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One token of an answer, as soon as it is chosen."""

    token: int
    logprob: float  #: log p(y_i|x,y<i) of the mixture
    row_logprobs: Floats  #: log p(y_i|x,z,y<i) after each passage; (k,)
    posterior: Floats  #: p(z_i|x,y≤i) of RAG-Token; (k,), sums to 1
    certainty: Certainty


def greedy(
    reading: Reading,
    log_prior: ArrayLike,
    ends: Collection[int],
    *,
    max_tokens: int,
    widest: int | None = None,
    width: int = WIDTH,
    score_end: bool = True,
) -> Decoded:
    """The likeliest symbol of the mixture at every step, until that is the end. See `stream_greedy`."""
    steps = stream_greedy(
        reading, log_prior, ends, max_tokens=max_tokens, widest=widest, width=width, score_end=score_end
    )
    return _last(steps)


def stream_greedy(
    reading: Reading,
    log_prior: ArrayLike,
    ends: Collection[int],
    *,
    max_tokens: int,
    widest: int | None = None,
    width: int = WIDTH,
    score_end: bool = True,
) -> Iterator[Step | Decoded]:
    """`greedy` as it goes: a `Step` for each token (none for the end), and the `Decoded` last.

    `log_prior` is log p(z|x) for each row of the reading and sums to 1. Of equal tokens the lowest is chosen.
    `score_end` says whether the end's own probability counts in the answer's. The reading is used up. Raises InputError
    for a prior that does not fit, no `ends`, or `max_tokens` below 1; BackendError where the model gives no
    probabilities.
    """
    prior, stops = checked_prior(log_prior, reading.rows), checked_ends(ends)

    def choose(near: NextTokens) -> Choice:
        return best(near, slice(None), prior, stops)

    yield from _walk(reading, prior, lambda: choose, max_tokens, widest, width, score_end)


def sample(
    reading: Reading,
    log_prior: ArrayLike,
    ends: Collection[int],
    *,
    rng: np.random.Generator,
    temperature: float = 1.0,
    max_tokens: int,
    widest: int | None = None,
    width: int = WIDTH,
    score_end: bool = True,
) -> Decoded:
    """An answer drawn from the mixture. See `stream_sample`."""
    steps = stream_sample(
        reading,
        log_prior,
        ends,
        rng=rng,
        temperature=temperature,
        max_tokens=max_tokens,
        widest=widest,
        width=width,
        score_end=score_end,
    )
    return _last(steps)


def stream_sample(
    reading: Reading,
    log_prior: ArrayLike,
    ends: Collection[int],
    *,
    rng: np.random.Generator,
    temperature: float = 1.0,
    max_tokens: int,
    widest: int | None = None,
    width: int = WIDTH,
    score_end: bool = True,
) -> Iterator[Step | Decoded]:
    """`sample` as it goes: a `Step` for each token (none for the end), and the `Decoded` last.

    At temperature 1 a passage is drawn from the prior and a token from its reader, which is how RAG-Token says a token
    comes about; of lists that is a draw from the whole vocabulary, and certified, unless it falls on what is not
    listed. At another temperature the mixture's probabilities are raised to its inverse, the end's as one, and of lists
    only what is listed can be drawn. Log-probabilities are those of the mixture itself, whatever the temperature. The
    same `rng` gives the same answer. Errors as for `stream_greedy`; InputError for a temperature that is not above 0.
    """
    prior, stops = checked_prior(log_prior, reading.rows), checked_ends(ends)
    if not (temperature > 0 and math.isfinite(temperature)):
        raise InputError(
            f"the temperature must be above 0 and finite, got {temperature}; greedy search is another call"
        )

    def draw() -> Callable[[NextTokens], Choice]:
        # Drawn once for a step: a longer list must not change what was drawn from the shorter.
        row, point = int(rng.choice(len(prior), p=_probabilities(prior))), float(rng.random())
        if temperature == 1:
            return lambda near: _from_row(near, prior, stops, row, point)
        return lambda near: _from_mixture(near, prior, stops, temperature, point)

    yield from _walk(reading, prior, draw, max_tokens, widest, width, score_end)


def score_answer(reading: Reading, tokens: Sequence[int], ends: Collection[int]) -> Floats:
    """Log-probabilities of the tokens of a given answer, and of its end, after each row; shape (rows, T + 1), float64.

    What `rag_sequence`, `rag_token` and `posterior` take. The reading stays as it was. Raises InputError for tokens
    that hold one of `ends`, for an answer has its end once; BackendError where the model gives NaN.
    """
    stops = {int(end) for end in checked_ends(ends)}
    if within := [token for token in tokens if token in stops]:
        raise InputError(f"token {within[0]} ends an answer: give the tokens before it, the end is scored beside them")
    found = as_floats(reading.score([list(tokens)], end=True)[0])
    if np.isnan(found).any():
        raise BackendError("the model gave log-probabilities that are no numbers (NaN)")
    return found


def _walk(
    reading: Reading,
    prior: Floats,
    chooser: Callable[[], Callable[[NextTokens], Choice]],
    max_tokens: int,
    widest: int | None,
    width: int,
    score_end: bool,
) -> Iterator[Step | Decoded]:
    if max_tokens < 1:
        raise InputError(f"max_tokens must be at least 1, got {max_tokens}")
    choices: list[Choice] = []
    sure, ended = EXACT, False
    while True:
        choice = ask(reading, chooser(), width, widest)
        ended = choice.symbol == END
        if len(choices) == max_tokens and not ended:
            break
        sure = Certainty.worse(sure, choice.certainty)
        choices.append(choice)
        if ended:
            break
        yield Step(
            choice.symbol,
            float(logsumexp(prior + choice.rows)),
            choice.rows,
            sequence_posterior(prior, choice.rows),
            choice.certainty,
        )
        reading.extend(range(len(prior)), [choice.symbol] * len(prior))
    yield by_token(prior, choices, sure, ended=ended, score_end=score_end)


def _last(steps: Iterator[Step | Decoded]) -> Decoded:
    for step in steps:
        if isinstance(step, Decoded):
            return step
    raise AssertionError("a walk ends with what it found")


def _from_row(near: NextTokens, prior: Floats, ends: NDArray[np.int64], row: int, point: float) -> Choice:
    """The symbol at `point` of [0, 1) in the tokens of one row, laid end to end."""
    logprobs = near.logprobs[row].astype(np.float64)
    # From the likeliest down, as lists come: a list and the whole vocabulary then give the same draw.
    ids = np.argsort(-logprobs, kind="stable") if near.ids is None else near.ids[row]
    heights = np.cumsum(np.exp(logprobs[ids] if near.ids is None else logprobs))
    if not heights[-1] > 0:
        raise nothing_likely(exact=near.ids is None)
    sure = EXACT if near.ids is None else Certainty("certified")
    if near.ids is None or point >= heights[-1]:
        if near.ids is not None:
            unseen = float(np.exp(logsumexp(prior + Lists(near, slice(None)).left)))
            sure = Certainty("approximate", min(1.0, unseen))
        point *= float(heights[-1])
    place = min(int(np.searchsorted(heights, point, side="right")), len(heights) - 1)
    token = int(ids[place])
    return _chosen(near, prior, ends, END if token in ends else token, sure)


def _from_mixture(near: NextTokens, prior: Floats, ends: NDArray[np.int64], temperature: float, point: float) -> Choice:
    """The symbol at `point` of [0, 1) in the mixture raised to the inverse of the temperature."""
    found = symbols(near, slice(None), prior, ends, near.logprobs.shape[1])
    top = found.lower.max()
    if np.isneginf(top):
        raise nothing_likely(exact=near.ids is None)
    heights = np.cumsum(np.exp((found.lower - top) / temperature))
    place = min(int(np.searchsorted(heights, point * heights[-1], side="right")), len(heights) - 1)
    unseen = 1.0 - float(np.exp(found.lower).sum())
    sure = EXACT if near.ids is None else Certainty("approximate", min(1.0, max(0.0, unseen)))
    return _chosen(near, prior, ends, int(found.tokens[place]), sure)


def _chosen(near: NextTokens, prior: Floats, ends: NDArray[np.int64], symbol: int, sure: Certainty) -> Choice:
    tokens = np.array([] if symbol == END else [symbol], dtype=np.int64)
    found = symbols_of(near, slice(None), prior, tokens, ends)
    return Choice(symbol, found.rows[:, 0], found.rows_upper[:, 0], sure)


def _probabilities(log_prior: Floats) -> Floats:
    found = np.exp(log_prior)
    return np.asarray(found / found.sum())
