"""What generators share that answer by a model that scores tokens: how it is asked, and the texts of its tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pincite.generators.few_shot import flatten
from pincite.sentences import sentence_spans
from pincite.types import Token

if TYPE_CHECKING:
    from threading import Lock

    import numpy as np
    from numpy.typing import NDArray

    from pincite.protocols import Context, Reading, TokenScorer
    from pincite.scorers.rag_checkpoint import RagForm
    from pincite.types import Passage

__all__ = [
    "Frame",
    "Piece",
    "QuestionContextFrame",
    "RagFrame",
    "open_reading",
    "pieces",
    "sentence_tokens",
    "token_texts",
    "windows",
]


class Frame(Protocol):
    """How a passage and a question are put to a model."""

    def window(self, question: str, text: str, title: str = "") -> str:
        """What is read of a passage of a document with this title; empty where the text holds no words."""
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

    def window(self, question: str, text: str, title: str = "") -> str:
        """All of it, on one line: an encoder reads it whole."""
        del question, title
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


@dataclass(frozen=True, slots=True)
class RagFrame:
    """``title / text // question``, the form that the published RAG checkpoints were trained on."""

    form: RagForm

    def window(self, question: str, text: str, title: str = "") -> str:
        """The title and all of the text."""
        del question
        read = flatten(text)
        return f"{flatten(title)}{self.form.title_sep}{read}" if read else ""

    def context(self, question: str, window: str) -> Context:
        """One passage and the question."""
        title, _, text = window.partition(self.form.title_sep)
        # In lower case, as the question comes back from the tokenizer of the question encoder in training.
        return self.form.context(title, text, flatten(question).lower())

    def together(self, question: str, windows: Sequence[str]) -> Context:
        """All passages and the question."""
        return (self.form.prefix, " ".join(windows), self.form.doc_sep, flatten(question).lower())

    def without_passage(self, question: str) -> Context:
        """The question after an empty passage."""
        return self.form.context("", "", flatten(question).lower())

    def answer(self, text: str) -> str:
        """The answer itself."""
        return text.strip()


def windows(frame: Frame, question: str, passages: Sequence[Passage]) -> list[tuple[int, str]]:
    """What is read of each passage that holds words, with its index."""
    read = ((i, frame.window(question, p.chunk.text, p.title)) for i, p in enumerate(passages))
    return [(i, window) for i, window in read if window]


@contextmanager
def open_reading(scorer: TokenScorer, contexts: Sequence[Context], turn: Lock) -> Iterator[Reading]:
    """The contexts read, and closed at the end, whatever happens.

    A model has room for the passages of one question. Those of other threads wait for their `turn`, unless the scorer
    says of itself that it is `concurrent`.
    """
    with nullcontext() if getattr(scorer, "concurrent", False) else turn:
        reading = scorer.read(contexts)
        try:
            yield reading
        finally:
            reading.close()


class Piece(NamedTuple):
    """Text of an answer and the tokens that wrote it: those from `first` up to `stop`."""

    text: str
    first: int
    stop: int


def pieces(scorer: TokenScorer, tokens: Sequence[int]) -> list[Piece]:
    """The answer in whole characters, without white space around it.

    A token that ends inside a character belongs to the same piece as the next, and one of nothing but white space at
    either end to its neighbour, so that every token is in one piece. Empty where the answer is.
    """
    whole = scorer.decode(tokens)
    text_end = len(whole.rstrip())
    made: list[Piece] = []
    done, first = len(whole) - len(whole.lstrip()), 0
    for i in range(len(tokens)):
        last = i + 1 == len(tokens)
        so_far = scorer.decode(tokens[: i + 1])
        end = text_end if last else min(len(so_far), text_end)
        if not last and (not whole.startswith(so_far) or end <= done or end == text_end):
            continue  # inside a character, before the answer, or with nothing but white space to come
        made.append(Piece(whole[done:end], first, i + 1))
        done, first = end, i + 1
    return [piece for piece in made if piece.text]


def token_texts(
    written: Sequence[Piece],
    logprobs: NDArray[np.float64],
    shares: NDArray[np.float64] | None = None,
    bare: NDArray[np.float64] | None = None,
    *,
    running: bool = False,
) -> tuple[Token, ...]:
    """The pieces as tokens: log-probabilities add up, and passages have the share they have after the last of them.

    `logprobs` and `bare` (without any passage; NaN where that is not known) have an entry for each token or more,
    `shares` a row for each.
    """
    tokens = []
    for text, first, stop in written:
        without = math.nan if bare is None else float(bare[first:stop].sum())
        tokens.append(
            Token(
                text,
                float(logprobs[first:stop].sum()),
                ()
                if shares is None
                else tuple((shares[stop - 1] if running else shares[first:stop].mean(axis=0)).tolist()),
                None if math.isnan(without) else without,
            )
        )
    return tuple(tokens)


def sentence_tokens(written: Sequence[Piece]) -> list[tuple[int, int, int, int]]:
    """For each sentence of the pieces' text: its start and end there, and its tokens, from the first up to the last.

    A piece belongs to the sentence in which it begins; a sentence in which none begins is left out.
    """
    text = "".join(piece.text for piece in written)
    starts = [0, *accumulate(len(piece.text) for piece in written)]
    found = []
    for start, end in sentence_spans(text):
        inside = [piece for at, piece in zip(starts, written, strict=False) if start <= at + _leading(piece) < end]
        if inside:
            found.append((start, end, inside[0].first, inside[-1].stop))
    return found


def _leading(piece: Piece) -> int:
    return len(piece.text) - len(piece.text.lstrip()) if piece.text.strip() else 0
