"""What a search found: an answer, what every passage gave its tokens, and how sure the choice of them is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pincite.marginalize.certificate import EXACT, Certainty
from pincite.marginalize.logspace import logsumexp
from pincite.marginalize.posterior import running_posterior, token_posterior
from pincite.marginalize.rag_sequence import conditional_logprobs
from pincite.marginalize.rag_token import mixture

if TYPE_CHECKING:
    from pincite.marginalize.logspace import Floats

__all__ = ["Choice", "Decoded", "by_sequence", "by_token"]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One symbol that was chosen (`pincite.marginalize.steps.END` for the end)."""

    symbol: int
    rows: Floats  #: log-probability after each passage, at least; (k,)
    rows_upper: Floats  #: at most; (k,)
    certainty: Certainty = EXACT


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """An answer and its probabilities, natural logarithms in float64; k passages, T tokens.

    Where the end of the answer was reached and is scored, it is the last column, T + 1 in all: its probability is the
    sum over all tokens that end an answer. Where readers list only their likeliest tokens a token that one does not
    list counts there as probability 0: `logprob` is then a lower bound, and `logprob` + `slack` an upper one.
    """

    tokens: tuple[int, ...]  #: without the end
    logprob: float  #: log p(y|x)
    row_logprobs: Floats  #: log p(y_i|x,z,y<i) after each passage; (k, T) or (k, T + 1)
    token_logprobs: Floats  #: log p(y_i|x,y<i) of the mixture; they sum to `logprob`; (T,) or (T + 1,)
    posteriors: Floats  #: p(z|x,y≤i): RAG-Token's of that token, RAG-Sequence's of all so far; (T, k) or (T + 1, k)
    certainty: Certainty  #: of the choice, the worst of all its steps
    finish: Literal["end", "length"]  #: "length": cut after `max_tokens` tokens
    slack: float = 0.0  #: by how much `logprob` may be too low; 0 where everything was known

    @property
    def ended(self) -> bool:
        """Whether the answer came to its end, and was not cut."""
        return self.finish == "end"

    @property
    def end_scored(self) -> bool:
        """Whether the last column is the end's."""
        return len(self.token_logprobs) > len(self.tokens)


def by_token(
    log_prior: Floats, choices: Sequence[Choice], certainty: Certainty, *, ended: bool, score_end: bool
) -> Decoded:
    """RAG-Token's account of an answer. `choices` are its tokens, and the end last if it `ended`."""
    tokens, rows, upper = _columns(log_prior, choices, ended=ended, score_end=score_end)
    mixed = mixture(log_prior, rows)
    return Decoded(
        tokens=tokens,
        logprob=float(mixed.sum()),
        row_logprobs=rows,
        token_logprobs=mixed,
        posteriors=token_posterior(log_prior, rows),
        certainty=certainty,
        finish="end" if ended else "length",
        slack=_slack(float(mixed.sum()), float(mixture(log_prior, upper).sum())),
    )


def by_sequence(
    log_prior: Floats, choices: Sequence[Choice], certainty: Certainty, *, ended: bool, score_end: bool
) -> Decoded:
    """RAG-Sequence's account of an answer. `choices` as for `by_token`."""
    tokens, rows, upper = _columns(log_prior, choices, ended=ended, score_end=score_end)
    logprob = float(logsumexp(log_prior + rows.sum(axis=1)))
    return Decoded(
        tokens=tokens,
        logprob=logprob,
        row_logprobs=rows,
        token_logprobs=conditional_logprobs(log_prior, rows),
        posteriors=running_posterior(log_prior, rows),
        certainty=certainty,
        finish="end" if ended else "length",
        slack=_slack(logprob, float(logsumexp(log_prior + upper.sum(axis=1)))),
    )


def _columns(
    log_prior: Floats, choices: Sequence[Choice], *, ended: bool, score_end: bool
) -> tuple[tuple[int, ...], Floats, Floats]:
    tokens = tuple(choice.symbol for choice in (choices[:-1] if ended else choices))
    scored = choices if score_end else choices[: len(tokens)]
    empty = np.zeros((len(log_prior), 0))
    rows = np.column_stack([empty, *(choice.rows for choice in scored)])
    return tokens, rows, np.column_stack([empty, *(choice.rows_upper for choice in scored)])


def _slack(least: float, most: float) -> float:
    return 0.0 if most <= least else most - least
