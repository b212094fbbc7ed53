"""Who is measured: anything that answers from passages, and how a generator becomes one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pincite.assemble import assemble, is_refusal
from pincite.errors import BackendError, InputError
from pincite.evaluation.kept_replies import Reply
from pincite.markers import MarkerResolver
from pincite.statements import statements
from pincite.types import Generation, Prompt

if TYPE_CHECKING:
    from pincite.protocols import Generator
    from pincite.types import Passage

__all__ = [
    "Answerer",
    "GeneratorAnswerer",
    "reply_of",
    "without_markers",
]

#: A marker right behind a word, or behind another.
_TOUCHING = re.compile(r"(?<=[\w\]])\[([0-9]{1,3})\]")


class Answerer(Protocol):
    """What answers questions from passages."""

    @property
    def name(self) -> str:
        """Which model, for the record."""
        ...

    def answer(self, question: str, passages: Sequence[Passage]) -> Generation:
        """The answer, plain text without citation markers; empty where the passages do not hold one.

        One with an attribute ``names_sources`` that is true tells in `Generation.sources` which of `passages` its
        answer names as its sources. Raises BackendError when the model fails, InputError for what it cannot take.
        """
        ...

    def gold_logprob(self, question: str, passages: Sequence[Passage], gold: Sequence[str]) -> float | None:
        """Natural logarithm of the probability that the answer is one of `gold`, letter for letter, given the passages.

        Of several it is that of their sum: answers that end exclude each other. None for a reader that cannot tell.
        """
        ...


class _GivesLogprob(Protocol):
    def answer_logprob(self, question: str, passages: Sequence[Passage], answer: str) -> float: ...


class GeneratorAnswerer:
    """Any `pincite.protocols.Generator` as an `Answerer`.

    One that cites is given a prompt as `pincite.assemble.assemble` makes it, of at most `prompt_tokens`, and its
    markers are removed; passages that do not fit are counted in `Generation.usage` as ``passages_dropped``. One with
    a method ``answer_logprob(question, passages, answer)`` tells the probability of gold answers. The sources of an
    answer are those of its markers, or those that the generator names.
    """

    names_sources = True

    def __init__(self, generator: Generator, prompt_tokens: int = 7680) -> None:
        self.generator = generator
        self.prompt_tokens = prompt_tokens

    @property
    def name(self) -> str:
        """See `Answerer`."""
        return self.generator.name

    def answer(self, question: str, passages: Sequence[Passage]) -> Generation:
        """See `Answerer`."""
        cites = self.generator.cites
        prompt = assemble(question, passages, budget=self.prompt_tokens) if cites else Prompt(question, tuple(passages))
        if passages and not prompt.passages:
            raise InputError(f"no passage fits into the prompt of {self.prompt_tokens} tokens")
        generation = None
        for item in self.generator.stream(prompt):
            if isinstance(item, Generation):
                generation = item
        if generation is None:
            raise BackendError(f"{self.name} ended without a result")
        if not cites:
            return generation
        usage = {**generation.usage, "passages_dropped": len(prompt.dropped)}
        text = without_markers(generation.text, len(prompt.passages))
        return replace(generation, text=text, usage=usage, sources=_marked(generation.text, prompt.passages, passages))

    def gold_logprob(self, question: str, passages: Sequence[Passage], gold: Sequence[str]) -> float | None:
        """See `Answerer`."""
        tell = getattr(self.generator, "answer_logprob", None)
        if tell is None:
            return None
        given: _GivesLogprob = self.generator  # type: ignore[assignment]
        logprobs = [float(given.answer_logprob(question, passages, each)) for each in dict.fromkeys(gold)]
        if bad := [each for each in logprobs if math.isnan(each) or each > 1e-6]:
            raise BackendError(f"{self.name} gave {bad[0]} as the logarithm of a probability")
        return min(0.0, float(np.logaddexp.reduce(logprobs)))


def _marked(text: str, read: Sequence[Passage], given: Sequence[Passage]) -> tuple[int, ...]:
    """The passages that markers of `text` name by their place in what was read, as indices into what was given."""
    place = {each.chunk.id: i for i, each in enumerate(given)}
    named = dict.fromkeys(n for each in statements(text) for n in each.named if 0 <= n < len(read))
    return tuple(place[read[n].chunk.id] for n in named if read[n].chunk.id in place)


def without_markers(text: str, passages: int) -> str:
    """`text` without citation markers, and without the space before each. Code stays.

    So does a number in brackets right behind a word, which may be a subscript, unless it is that of one of so many
    `passages`: left there, it would become part of the word that is compared.

    >>> without_markers("It is 324 m tall [1][2]. It opened in 1889[3].", 3)
    'It is 324 m tall. It opened in 1889.'
    """
    resolver = MarkerResolver(known=0)
    plain = resolver.feed(text) + resolver.finish()
    return _TOUCHING.sub(lambda match: "" if 1 <= int(match[1]) <= passages else match[0], plain)


def reply_of(generation: Generation, seconds: float, passages: Sequence[Passage] | None = None) -> Reply:
    """How a question ended. `passages` are those that `Generation.sources` counts; None where it names none."""
    text = generation.text.strip()
    abstained = not text or is_refusal(text)
    marginal = generation.marginal
    return Reply(
        outcome="abstained" if abstained else "answered",
        text=text,
        reason=(text or generation.finish_reason) if abstained else "",
        seconds=seconds,
        priors=marginal.priors if marginal else (),
        posteriors=marginal.posteriors if marginal else (),
        logprob=marginal.logprob if marginal else None,
        certainty=marginal.certainty if marginal else "",
        cut=generation.finish_reason == "length",
        dropped=generation.usage.get("passages_dropped", 0),
        cited=None
        if passages is None
        else tuple(dict.fromkeys(passages[i].chunk.document_id for i in generation.sources if 0 <= i < len(passages))),
    )
