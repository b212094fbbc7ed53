"""Answers in which the passages are a latent variable: RAG-Token and RAG-Sequence on any model that scores tokens.

Every passage is read apart, and the retriever's confidence in it weighs what the model says after it. The probability
of the answer is the sum over the passages: Lewis et al. 2020 (arXiv:2005.11401), section 2.1.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pincite.errors import InputError
from pincite.generators.few_shot import FewShotFrame, is_answer, support
from pincite.generators.scored import Frame, open_reading, pieces, sentence_tokens, token_texts, windows
from pincite.marginalize import decode, posterior, prior, rag_sequence, rag_token
from pincite.types import Generation, Marginal, Prompt, SentenceShares, Token

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.marginalize.decode import Decoded
    from pincite.protocols import Context, Reading, TokenScorer
    from pincite.retrieve import Fusion
    from pincite.types import Marginalization, Passage

    Array = NDArray[np.float64]

__all__ = ["MarginalGenerator"]

#: A passage is a source of an answer where its posterior is at least this share of the greatest. One that only happens
#: to hold the words ("18" in a date, where another passage made the model say so) would be a false proof.
_SOURCE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question whose passages have been read."""

    log_prior: Array
    windows: tuple[str, ...]
    places: tuple[int, ...]  #: index of each window's passage in the prompt


class MarginalGenerator:
    """Reads every passage apart and answers by the mixture of the readings, weighed by the retriever's confidence.

    Parameters
        scorer: the model.
        mode: ``token`` (each token by the mixture) or ``sequence`` (whole answers by the mixture).
        frame: how a passage and a question are put to the model.
        n_passages: how many passages are read, from the first.
        max_tokens: of an answer.
        beams: of the search for each passage's candidates (``sequence``), or over the mixture (``token``).
        temperature: of the prior; None is the default of the stage that scored the passages.
        fused_by: the rule that gave the scores of the stage ``fused``.
        baseline: also say what the answer's probability is without any passage.

    ``token`` gives the answer that greedy search finds in the mixture (beam search with more than one beam);
    ``sequence`` decodes thoroughly: the candidates of every passage, each scored under every passage.
    """

    cites = False

    def __init__(
        self,
        scorer: TokenScorer,
        mode: Marginalization,
        *,
        frame: Frame | None = None,
        n_passages: int = 5,
        max_tokens: int = 32,
        beams: int = 1,
        temperature: float | None = None,
        fused_by: Fusion = "zscore",
        baseline: bool = True,
        least_support: float = 0.5,
    ) -> None:
        if mode not in ("token", "sequence"):
            raise InputError(f"mode must be token or sequence, got {mode!r}")
        self.scorer = scorer
        self.mode: Marginalization = mode
        self.frame: Frame = frame or FewShotFrame()
        self.n_passages = n_passages
        self.max_tokens = max_tokens
        self.beams = beams
        self.temperature = temperature
        self.fused_by = fused_by
        self.baseline = baseline
        self.least_support = least_support
        self._turn = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name and how its readings are put together: ``local:gemma-3-270m, RAG-Token``."""
        return f"{self.scorer.name}, RAG-{self.mode.title()}"

    def close(self) -> None:
        """Free the model. Idempotent."""
        self.scorer.close()

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        """The tokens of the answer, then the whole, whose `Generation.marginal` says what each passage was worth.

        Tokens are known only once the answer is: one that no passage it came from supports is not given (empty text,
        finish reason ``no-answer``). Raises BackendError when the model fails, InputError for a question too long.
        """
        asked = self._asked(prompt.question, prompt.passages)
        if asked is None:
            yield Generation("", finish_reason="no-answer", model=self.name)
            return
        refused = ""
        for decoded in self._decode(prompt.question, asked):
            text = self.scorer.decode(decoded.tokens).strip()
            if sources := self._sources(prompt.question, text, decoded, asked):
                generation = self._generation(prompt, asked, decoded, sources)
                yield from generation.tokens
                yield generation
                return
            if not refused and is_answer(prompt.question, text):
                refused = text
        yield Generation("", finish_reason="no-answer", model=self.name, refused=refused)

    def answer_logprob(self, question: str, passages: Sequence[Passage], answer: str) -> float:
        """Log p(y|x) of `answer`, its end included, summed over the passages in this generator's mode.

        Minus infinity where no passage can be read. Where the scorer lists (`TokenScorer.widest`), a token that a
        passage's list lacks counts there as impossible: it is then a lower bound. Raises InputError for an answer
        without words.
        """
        if not answer.strip():
            raise InputError("the answer to be scored is empty")
        asked = self._asked(question, passages)
        if asked is None:
            return -math.inf
        rows = self.answer_row_logprobs(question, asked.windows, answer)
        if self.mode == "sequence":
            return float(rag_sequence.sequence_logprob(asked.log_prior, rag_sequence.totals(rows)))
        return float(rag_token.token_logprobs(asked.log_prior, rows).sum())

    def answer_row_logprobs(self, question: str, windows: Sequence[str], answer: str) -> Array:
        """Log-probabilities of the answer's tokens and its end after each window: shape (windows, tokens + 1)."""
        with self._reading([self.frame.context(question, window) for window in windows]) as reading:
            return decode.score_answer(reading, self.scorer.encode(self.frame.answer(answer)), self.scorer.ends)

    def _reading(self, contexts: Sequence[Context]) -> AbstractContextManager[Reading]:
        return open_reading(self.scorer, contexts, self._turn)

    def _asked(self, question: str, passages: Sequence[Passage]) -> _Asked | None:
        read = windows(self.frame, question, passages[: self.n_passages])
        if not read:
            return None
        places = tuple(i for i, _ in read)
        return _Asked(self._prior([passages[i] for i in places]), tuple(window for _, window in read), places)

    def _prior(self, passages: Sequence[Passage]) -> Array:
        """Log p(z|x): the softmax of the scores that put the passages in their order."""
        passages = [_relevance(passage) for passage in passages]
        ranks = self.fused_by == "rrf" and passages[0].hit.stage == "fused"
        return prior.of_passages(passages, self.temperature, "rrf" if ranks else None)

    def _decode(self, question: str, asked: _Asked) -> list[Decoded]:
        """Answers, best first."""
        contexts = [self.frame.context(question, window) for window in asked.windows]
        ends, widest, prior_of = self.scorer.ends, self.scorer.widest, asked.log_prior
        with self._reading(contexts) as reading:
            if self.mode == "sequence":
                return decode.thorough(
                    reading,
                    prior_of,
                    ends,
                    max_tokens=self.max_tokens,
                    beams=self.beams,
                    again=lambda: self.scorer.read(contexts),
                    widest=widest,
                )
            if self.beams > 1:
                return decode.beam(reading, prior_of, ends, beams=self.beams, max_tokens=self.max_tokens, widest=widest)
            return [decode.greedy(reading, prior_of, ends, max_tokens=self.max_tokens, widest=widest)]

    def _sources(self, question: str, text: str, decoded: Decoded, asked: _Asked) -> tuple[int, ...]:
        """The passages that the answer came from, by posterior; none where it is no answer."""
        if not is_answer(question, text):
            return ()
        shares = self._posterior(decoded, asked.log_prior)
        least = _SOURCE_SHARE * float(shares.max())
        return tuple(
            asked.places[row]
            for row in (-shares).argsort(kind="stable")
            if shares[row] >= least and support(text, asked.windows[row]) >= self.least_support
        )

    def _posterior(self, decoded: Decoded, log_prior: Array) -> Array:
        return posterior.answer_posterior(self.mode, log_prior, decoded.row_logprobs)

    def _generation(self, prompt: Prompt, asked: _Asked, decoded: Decoded, sources: tuple[int, ...]) -> Generation:
        import numpy as np

        offered = min(self.n_passages, len(prompt.passages))
        rows, count = decoded.row_logprobs, len(decoded.tokens)
        bare = self._baseline(prompt.question, decoded)
        written = pieces(self.scorer, decoded.tokens)
        shares = _spread(decoded.posteriors[:count], asked.places, offered)
        tokens = token_texts(written, decoded.token_logprobs, shares, bare, running=self.mode == "sequence")
        return Generation(
            text="".join(token.text for token in tokens),
            tokens=tokens,
            finish_reason="stop" if decoded.ended else "length",
            usage={"completion_tokens": count, "passages": len(asked.windows)},
            model=self.name,
            sources=sources,
            marginal=Marginal(
                mode=self.mode,
                logprob=decoded.logprob,
                priors=_row(np.exp(asked.log_prior), asked.places, offered),
                posteriors=_row(self._posterior(decoded, asked.log_prior), asked.places, offered),
                certainty=str(decoded.certainty),
                slack=decoded.slack,
                baseline=None if bare is None or np.isnan(bare).any() else float(bare.sum()),
                sentences=tuple(
                    SentenceShares(start, end, _row(self._span(asked, rows, first, stop), asked.places, offered))
                    for start, end, first, stop in sentence_tokens(written)
                ),
            ),
        )

    def _span(self, asked: _Asked, rows: Array, first: int, stop: int) -> Array:
        return posterior.span_posterior(asked.log_prior, rows, first, stop, self.mode)

    def _baseline(self, question: str, decoded: Decoded) -> Array | None:
        """Log-probabilities of the answer's tokens, and of its end where that is scored, without any passage.

        NaN where they are not known.
        """
        import numpy as np

        if not self.baseline:
            return None
        with self._reading([self.frame.without_passage(question)]) as reading:
            scored = decode.score_answer(reading, decoded.tokens, self.scorer.ends)[0, : len(decoded.token_logprobs)]
        # What a list lacks is not impossible, and an answer must not seem to owe its passages everything.
        return scored if self.scorer.widest is None else np.where(np.isneginf(scored), np.nan, scored)


def _relevance(passage: Passage) -> Passage:
    """With the hit from before, where the last was given for being unlike others: that says nothing of the question."""
    if passage.hit.stage != "mmr":
        return passage
    before = (passage.legs[stage] for stage in ("fused", "dense", "bm25") if stage in passage.legs)
    return replace(passage, hit=next(before, passage.hit))


def _spread(shares: Array, places: Sequence[int], offered: int) -> Array:
    """Columns for every passage offered, 0 for those that held nothing to read."""
    import numpy as np

    spread = np.zeros((len(shares), offered))
    spread[:, places] = shares
    return spread


def _row(shares: Array, places: Sequence[int], offered: int) -> tuple[float, ...]:
    return tuple(_spread(shares[None], places, offered)[0].tolist())
