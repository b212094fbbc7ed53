"""One step of a search: what can come next after a hypothesis, and how likely it is at least and at most.

An answer may end by several tokens (a base model ends at any that begins with a line feed). Here they are one symbol,
`END`, whose probability is their sum, in each row and so in the mixture.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from pincite.errors import BackendError, InputError
from pincite.marginalize.certificate import EXACT, Certainty, Lists
from pincite.marginalize.decoded import Choice
from pincite.marginalize.logspace import as_floats, logsumexp
from pincite.marginalize.rag_token import mixture

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pincite.marginalize.logspace import Floats
    from pincite.protocols import NextTokens, Reading

__all__ = [
    "END",
    "WIDTH",
    "Symbols",
    "ask",
    "best",
    "certainty",
    "checked_ends",
    "checked_prior",
    "nothing_likely",
    "symbols",
    "symbols_of",
]

END = -1
"""The end of an answer, where tokens are numbered from 0."""

WIDTH = 20
"""How many tokens of each row are asked for first, from a reader that lists."""

#: How much longer a list to ask for where one is too short to prove a choice. Each asking may run the model again.
_LONGER = 10


@dataclass(frozen=True, slots=True, eq=False)
class Symbols:
    """What may come next: tokens, rising, and `END` last. Log-probabilities, float64."""

    tokens: NDArray[np.int64]  #: (c,)
    rows: Floats  #: after each passage, at least; (k, c)
    rows_upper: Floats  #: after each passage, at most; (k, c)
    lower: Floats  #: of the mixture, at least; (c,)
    upper: Floats  #: of the mixture, at most; (c,)
    outside: float  #: the most that any token not among `tokens` can have; minus infinity where it is less than wanted


def checked_prior(log_prior: ArrayLike, rows: int) -> Floats:
    """`log_prior` as float64. Raises InputError unless it is one for each of `rows`, and sums to 1."""
    prior = as_floats(log_prior)
    if prior.shape != (rows,):
        raise InputError(f"the prior has shape {prior.shape}, the reading has {rows} rows: give one for each row")
    if not abs(float(logsumexp(prior))) < 1e-3:
        raise InputError("the probabilities of the prior do not sum to 1: make it with pincite.marginalize.prior")
    return prior


def checked_ends(ends: Collection[int]) -> NDArray[np.int64]:
    """The tokens that end an answer, rising. Raises InputError for none: an answer could never end."""
    found = np.unique(np.array(list(ends), dtype=np.int64))
    if not len(found) or found[0] < 0:
        raise InputError(f"an answer needs tokens that end it, numbered from 0; got {found[:5].tolist()}")
    return found


def symbols(near: NextTokens, rows: slice, log_prior: Floats, ends: NDArray[np.int64], n: int) -> Symbols:
    """The `n` likeliest symbols of the mixture over `rows`, and perhaps others beside them.

    Of a whole vocabulary only tokens that may be among the `n` likeliest are looked at closely, and none that may is
    missed. Of lists everything that a row lists is there.
    """
    if near.ids is not None:
        lists = Lists(near, rows)
        return _of_lists(lists, log_prior, np.setdiff1d(lists.tokens(), ends, assume_unique=True), ends)
    part = near.logprobs[rows]
    # In the reader's own precision: a pass over the vocabulary, not a copy of it in float64.
    kind = np.promote_types(part.dtype, np.float32)
    best = (part + log_prior.astype(kind)[:, None]).max(axis=0)
    best[ends[ends < len(best)]] = -np.inf
    # The mixture of k rows lies between its greatest part and k times that: what falls short of the n-th greatest
    # part by more than the logarithm of k is not among the n likeliest.
    nth = float(best.max() if n == 1 else np.partition(best, max(0, len(best) - n))[max(0, len(best) - n)])
    margin = np.log(len(part)) + 1e-5 * (1 + abs(nth)) if np.isfinite(nth) else 0.0
    near_best = np.flatnonzero(best >= nth - margin) if np.isfinite(nth) else np.flatnonzero(~np.isneginf(best))
    return symbols_of(near, rows, log_prior, near_best, ends)


def symbols_of(
    near: NextTokens, rows: slice, log_prior: Floats, tokens: NDArray[np.int64], ends: NDArray[np.int64]
) -> Symbols:
    """The symbols for `tokens` (rising, none of `ends`) and the end."""
    if near.ids is not None:
        return _of_lists(Lists(near, rows), log_prior, tokens, ends)
    part = near.logprobs[rows]
    if ends[-1] >= part.shape[1]:
        raise InputError(f"token {ends[-1]} ends an answer, but the vocabulary has only {part.shape[1]} tokens")
    exact = np.column_stack([as_floats(part[:, tokens]), logsumexp(part[:, ends])])
    mixed = mixture(log_prior, exact)
    return Symbols(np.append(tokens, END), exact, exact, mixed, mixed, -np.inf)


def _of_lists(lists: Lists, log_prior: Floats, tokens: NDArray[np.int64], ends: NDArray[np.int64]) -> Symbols:
    (least, most), (least_end, most_end) = lists.bounds(tokens), lists.sum_bounds(ends)
    least, most = np.column_stack([least, least_end]), np.column_stack([most, most_end])
    outside = float(logsumexp(log_prior + lists.unlisted))
    return Symbols(np.append(tokens, END), least, most, mixture(log_prior, least), mixture(log_prior, most), outside)


def certainty(near: NextTokens, lowest: float, highest_other: float) -> Certainty:
    """How sure a choice is whose least likely part has at least `lowest`, when nothing else has over `highest_other`.

    Both are logarithms. Of equal ones that are fully known, the caller has chosen the right one.
    """
    if near.ids is None:
        return EXACT
    if lowest > highest_other:
        return Certainty("certified")
    return Certainty("approximate", float(min(1.0, np.exp(highest_other) - np.exp(lowest))))


def nothing_likely(*, exact: bool) -> BackendError:
    """The error for a step after which no symbol has any probability, as far as is known."""
    if exact:
        return BackendError("the model gave no token any probability")
    return BackendError(
        "an answer cannot go on: the endpoint lists no token after any passage that is told as whole characters; "
        "llama.cpp's server tells all"
    )


def best(near: NextTokens, rows: slice, log_prior: Floats, ends: NDArray[np.int64]) -> Choice:
    """The likeliest symbol of the mixture over `rows`; of equal ones the lowest token, and the end last."""
    found = symbols(near, rows, log_prior, ends, 1)
    place = int(np.argmax(found.lower))
    if np.isneginf(found.lower[place]):
        raise nothing_likely(exact=near.ids is None)
    # What is fully known lost the comparison, or a tie, for good; only what may be likelier than it seems can object.
    open_to_doubt = found.upper > found.lower
    open_to_doubt[place] = False
    rival = max(found.outside, float(found.upper[open_to_doubt].max(initial=-np.inf)))
    sure = certainty(near, float(found.lower[place]), rival)
    return Choice(int(found.tokens[place]), found.rows[:, place], found.rows_upper[:, place], sure)


class Sure(Protocol):
    """A choice that knows how sure it is."""

    @property
    def certainty(self) -> Certainty: ...


Chosen = TypeVar("Chosen", bound=Sure)


def ask(reading: Reading, choose: Callable[[NextTokens], Chosen], width: int, widest: int | None) -> Chosen:
    """What `choose` makes of the next tokens, asked for longer lists while it cannot be sure and they grow."""
    if width < 1:
        raise InputError(f"width must be at least 1, got {width}")
    width = width if widest is None else min(width, widest)
    had = -1
    while True:
        near = reading.next_tokens(width)
        if np.isnan(near.logprobs.max(initial=-np.inf)):
            raise BackendError("the model gave log-probabilities that are no numbers (NaN)")
        chosen = choose(near)
        have = near.logprobs.shape[1]
        if chosen.certainty.kind != "approximate" or have <= had or (widest is not None and width >= widest):
            return chosen
        width, had = width * _LONGER if widest is None else min(width * _LONGER, widest), have
