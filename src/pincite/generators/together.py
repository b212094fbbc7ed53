"""Answers from one reading of all passages: one prompt that holds them, or one decoder over all of them encoded.

The first is what most systems do. The second is Fusion-in-Decoder (Izacard and Grave 2021, arXiv:2007.01282): passages
are encoded apart, and the decoder attends to all of them at once.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal

from pincite.errors import InputError
from pincite.generators.few_shot import FewShotFrame, is_answer, support
from pincite.generators.scored import Frame, open_reading, pieces, token_texts, windows
from pincite.marginalize import decode
from pincite.types import Generation, Prompt, Token

if TYPE_CHECKING:
    from pincite.protocols import Context, Reading, TokenScorer
    from pincite.types import Passage

__all__ = ["TogetherGenerator"]


class TogetherGenerator:
    """Reads all passages at once and answers by greedy search.

    Parameters
        scorer: the model. One that fuses its contexts is given a context for each passage, any other a single one.
        fused: whether it does: Fusion-in-Decoder.
        frame: how passages and a question are put to the model.
        n_passages: how many passages are read, from the first.
    """

    cites = False

    def __init__(
        self,
        scorer: TokenScorer,
        *,
        fused: bool = False,
        frame: Frame | None = None,
        n_passages: int = 5,
        max_tokens: int = 32,
        least_support: float = 0.5,
    ) -> None:
        self.scorer = scorer
        self.fused = fused
        self.frame: Frame = frame or FewShotFrame()
        self.n_passages = n_passages
        self.max_tokens = max_tokens
        self.least_support = least_support
        self._turn = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name and how it reads: ``transformers:t5-small, Fusion-in-Decoder``."""
        how: Literal["Fusion-in-Decoder", "one prompt"] = "Fusion-in-Decoder" if self.fused else "one prompt"
        return f"{self.scorer.name}, {how}"

    def close(self) -> None:
        """Free the model. Idempotent."""
        self.scorer.close()

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        """The tokens of the answer, then the whole; empty text where no passage supports what the model wrote.

        Raises BackendError when the model fails, InputError when question and passages are too long for it.
        """
        import numpy as np

        read = windows(self.frame, prompt.question, prompt.passages[: self.n_passages])
        if not read:
            yield Generation("", finish_reason="no-answer", model=self.name)
            return
        with self._reading(prompt.question, [window for _, window in read]) as reading:
            decoded = decode.greedy(
                reading, np.zeros(1), self.scorer.ends, max_tokens=self.max_tokens, widest=self.scorer.widest
            )
        text = self.scorer.decode(decoded.tokens).strip()
        shares = [(support(text, window), -i) for i, window in read]
        sources = tuple(-i for share, i in sorted(shares, reverse=True) if share >= self.least_support)
        answers = is_answer(prompt.question, text)
        if not sources or not answers:
            yield Generation("", finish_reason="no-answer", model=self.name, refused=text if answers else "")
            return
        tokens = token_texts(pieces(self.scorer, decoded.tokens), decoded.token_logprobs)
        yield from tokens
        yield Generation(
            text="".join(token.text for token in tokens),
            tokens=tokens,
            finish_reason="stop" if decoded.finish == "end" else "length",
            usage={"completion_tokens": len(decoded.tokens), "passages": len(read)},
            model=self.name,
            sources=sources,
        )

    def answer_logprob(self, question: str, passages: Sequence[Passage], answer: str) -> float:
        """Log p(y|x) of `answer` after all passages at once, its end included.

        Minus infinity where no passage can be read, and where the scorer lists (`TokenScorer.widest`) and a list lacks
        a token. Raises InputError for an answer without words.
        """
        if not answer.strip():
            raise InputError("the answer to be scored is empty")
        read = windows(self.frame, question, passages[: self.n_passages])
        if not read:
            return -math.inf
        with self._reading(question, [window for _, window in read]) as reading:
            tokens = self.scorer.encode(self.frame.answer(answer))
            return float(decode.score_answer(reading, tokens, self.scorer.ends).sum())

    def _reading(self, question: str, read: Sequence[str]) -> AbstractContextManager[Reading]:
        return open_reading(self.scorer, self._contexts(question, read), self._turn)

    def _contexts(self, question: str, read: Sequence[str]) -> list[Context]:
        if self.fused:
            return [self.frame.context(question, window) for window in read]
        return [self.frame.together(question, read)]
