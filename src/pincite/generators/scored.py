"""What generators share that answer by a model that scores tokens: how it is asked, and the texts of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pincite.generators.few_shot import flatten
from pincite.types import Token

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.protocols import Context, TokenScorer
    from pincite.types import Passage

__all__ = ["Frame", "QuestionContextFrame", "token_texts", "windows"]


class Frame(Protocol):
    """How a passage and a question are put to a model."""

    def window(self, question: str, text: str) -> str:
        """What is read of a passage; empty where it holds no words."""
        ...

    def context(self, question: str, window: str) -> Context:
        """What the model reads before it answers."""
        ...

    def together(self, question: str, windows: Sequence[str]) -> Context:
        """All passages in one context."""
        ...

    def without_passage(self, question: str) -> Context:
        """The same without any passage."""
        ...

    def answer(self, text: str) -> str:
        """An answer as it stands after a context."""
        ...


@dataclass(frozen=True, slots=True)
class QuestionContextFrame:
    """``question: … context: …``, the form that encoder-decoders are trained on for reading."""

    def window(self, question: str, text: str) -> str:
        """All of it, on one line: an encoder reads it whole."""
        del question
        return flatten(text)

    def context(self, question: str, window: str) -> Context:
        """The question, then the passage."""
        return (f"question: {flatten(question)} context: ", window)

    def together(self, question: str, windows: Sequence[str]) -> Context:
        """The question, then all passages."""
        return (f"question: {flatten(question)} context: ", " ".join(windows))

    def without_passage(self, question: str) -> Context:
        """The question alone."""
        return (f"question: {flatten(question)}",)

    def answer(self, text: str) -> str:
        """The answer itself."""
        return text.strip()


def windows(frame: Frame, question: str, passages: Sequence[Passage]) -> list[tuple[int, str]]:
    """What is read of each passage that holds words, with its index."""
    read = ((i, frame.window(question, passage.chunk.text)) for i, passage in enumerate(passages))
    return [(i, window) for i, window in read if window]


def token_texts(
    scorer: TokenScorer,
    tokens: Sequence[int],
    logprobs: NDArray[np.float64],
    shares: NDArray[np.float64] | None = None,
    bare: NDArray[np.float64] | None = None,
) -> tuple[Token, ...]:
    """Tokens with whole characters and without white space around the answer.

    A token that ends inside a character is joined to the next, and one of white space at either end to its neighbour:
    log-probabilities add up, and the share of each passage is that after the last of those joined. `logprobs` and
    `bare` (without any passage) have an entry for each token or more, `shares` a row for each.
    """
    whole = scorer.decode(tokens)
    text_end = len(whole.rstrip())
    made: list[Token] = []
    done, first = len(whole) - len(whole.lstrip()), 0
    for i in range(len(tokens)):
        last = i + 1 == len(tokens)
        so_far = scorer.decode(tokens[: i + 1])
        end = min(len(so_far), text_end)
        if not last and (not whole.startswith(so_far) or end <= done or end == text_end):
            continue  # inside a character, before the answer, or with nothing but white space to come
        made.append(
            Token(
                whole[done:text_end] if last else whole[done:end],
                float(logprobs[first : i + 1].sum()),
                () if shares is None else tuple(shares[i].tolist()),
                None if bare is None else float(bare[first : i + 1].sum()),
            )
        )
        done, first = end, i + 1
    return tuple(token for token in made if token.text)
