"""The text that a base model is given: worked examples, one passage, the question.

A base model follows no instructions. It continues a text, so the text shows it a few passages with a question and a
short answer each, and leaves the last answer open. Measurements behind it are in ``docs/decisions/0004-generators.md``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pincite.sentences import sentence_spans
from pincite.words import all_words, content_words, idf, overlap

if TYPE_CHECKING:
    from pincite.protocols import Context

__all__ = [
    "EXAMPLES",
    "NOT_STATED",
    "Example",
    "FewShotFrame",
    "cost",
    "cut",
    "flatten",
    "is_answer",
    "reading_window",
    "support",
]

NOT_STATED = "not stated"
"""What a worked example answers where its passage does not hold the answer."""


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example of the prompt."""

    passage: str
    question: str
    answer: str


# Invented facts, so that no answer can be known from elsewhere. Short spans copied from the passage, of several kinds
# (number, name, matter, reason, year), because the model imitates their form; one that the passage does not answer.
EXAMPLES: tuple[Example, ...] = (
    Example(
        "The Lindholm lighthouse was built in 1871 by the engineer Marta Oksanen on the northern tip of Varr island. "
        "It stands 34 metres tall, and its lamp can be seen from 20 nautical miles away.",
        "How tall is the Lindholm lighthouse?",
        "34 metres",
    ),
    Example(
        "The Treaty of Ossen, signed in 1648, ended eleven years of war between the two duchies. Its text was drafted "
        "by the jurist Pieter Vaal, and it left the river tolls with the northern duchy until 1702.",
        "Who wrote the text of the Treaty of Ossen?",
        "Pieter Vaal",
    ),
    Example(
        "Members may borrow up to six books at a time. Loans last three weeks and can be renewed twice, unless another "
        "member is waiting for the book.",
        "What is the fine for a damaged cover?",
        NOT_STATED,
    ),
    Example(
        "Cells of the plant store starch in small bodies called amyloplasts. When light falls, the starch is broken "
        "down into sugar, which the roots use overnight.",
        "What is starch broken down into?",
        "sugar",
    ),
    Example(
        "In spring the council of Brennick appointed Teresa Alvim as harbour master. She took over from Jonas Reyle, "
        "who had resigned because of a dispute over mooring fees.",
        "Why did Jonas Reyle leave his post?",
        "a dispute over mooring fees",
    ),
    Example(
        "The club played its home matches at Fenner Park, a ground with 18,500 seats, until the stand burned down in "
        "1987. It then moved to the Riverside Stadium.",
        "When did the stand at Fenner Park burn down?",
        "1987",
    ),
)


# Text that a tokenizer may take for one of its control tokens: <eos>, <|im_end|>, <｜User｜>, </s>, [INST].
_CONTROL = re.compile(r"([<\[])(?=(?:[|｜][^<>|｜\s]+[|｜]|/?[\w:|-]+)[>\]])")
_UNSEEN = re.compile(
    "[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\uffff]+"
)


def flatten(text: str) -> str:
    """One line, without invisible characters and without what a tokenizer takes for a control token.

    The frame of the prompt is made of line breaks. Text that has none cannot forge it, and every visible word of
    an honest text is still there.
    """
    return _CONTROL.sub(r"\1 ", " ".join(_UNSEEN.sub(" ", text).split()))


def cost(text: str) -> int:
    """An estimate of the tokens of `text`: a quarter of its UTF-8 bytes, near for Latin letters and for CJK alike."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


def cut(text: str, share: float) -> str:
    """About the first `share` of `text`, not ending within a word where it has spaces."""
    kept = text[: max(0, int(len(text) * share))]
    if len(kept) < len(text) and " " in kept and not text[len(kept)].isspace():
        kept = kept.rpartition(" ")[0]
    return kept.strip()


def reading_window(question: str, text: str, window_tokens: int) -> str:
    """The run of sentences of `text` that shares most words with the question, on one line.

    About `window_tokens` long; the whole text where it is short enough; empty where there are no words.
    """
    if cost(text) <= window_tokens:
        return flatten(text)
    sentences = [line for start, end in sentence_spans(text) if (line := flatten(text[start:end]))]
    if not sentences:
        return ""
    costs = [cost(sentence) for sentence in sentences]
    words = [content_words(sentence) for sentence in sentences]
    weights, asked = idf(words), content_words(question)
    best, span = -1.0, (0, 1)
    for first in range(len(sentences)):
        last = first + 1
        room = window_tokens - costs[first]
        while last < len(sentences) and costs[last] <= room:
            room -= costs[last]
            last += 1
        shared = overlap(asked, {word for own in words[first:last] for word in own}, weights)
        if shared > best + 1e-9:  # the earliest of equals
            best, span = shared, (first, last)
    window = " ".join(sentences[slice(*span)])
    if cost(window) > window_tokens:  # one long sentence
        window = cut(window, window_tokens / cost(window))
    return window


@dataclass(frozen=True, slots=True)
class FewShotFrame:
    """Worked examples, and how a question about a passage is put after them.

    `window_tokens` is how much of a passage is read: see `reading_window`. None reads it whole, whatever the question
    is, so that what was computed of a passage can be kept for the next question.
    """

    examples: tuple[Example, ...] = EXAMPLES
    window_tokens: int | None = 96

    @property
    def opening(self) -> str:
        """What stands before the passage: the same for every question and passage."""
        shown = (f"Passage: {e.passage}\nQuestion: {e.question}\nAnswer: {e.answer}\n\n" for e in self.examples)
        return "".join(shown) + "Passage:"

    def window(self, question: str, text: str, title: str = "") -> str:
        """What is read of `text`, on one line; empty where it holds no words. The title is not read."""
        del title
        return flatten(text) if self.window_tokens is None else reading_window(question, text, self.window_tokens)

    def context(self, question: str, window: str) -> Context:
        """The examples, a passage and the question, in parts: what is the same for others comes first.

        An answer after it begins with a space.
        """
        return (self.opening, f" {window}\n", f"Question: {flatten(question)}\nAnswer:")

    def answer(self, text: str) -> str:
        """An answer as it stands after the question."""
        return f" {text.strip()}"

    def together(self, question: str, windows: Sequence[str]) -> Context:
        """Several passages in one context, each on a line of its own: what one prompt gives the model."""
        return (self.opening, *(f" {window}\n" for window in windows), f"Question: {flatten(question)}\nAnswer:")

    def without_passage(self, question: str) -> Context:
        """The same examples without their passages: what the model says of itself."""
        shown = "".join(
            f"Question: {e.question}\nAnswer: {e.answer}\n\n" for e in self.examples if e.answer != NOT_STATED
        )
        return (shown, f"Question: {flatten(question)}\nAnswer:")


_YES_OR_NO = frozenset(all_words("yes no"))


def is_answer(question: str, text: str) -> bool:
    """Whether `text` can be an answer at all.

    It is none where it is empty, says `NOT_STATED`, repeats the question (every word of it is there), or says yes or
    no: a model of this size says either to anything, and no sentence can be held against the word.
    """
    words = all_words(text)
    if not words or " ".join(words).startswith(" ".join(all_words(NOT_STATED))):
        return False
    return words[0] not in _YES_OR_NO and not set(all_words(question)).issuperset(words)


def support(text: str, window: str) -> float:
    """The share of the words of an answer that stand in what was read, in [0, 1]."""
    answer, present = all_words(text), set(all_words(window))
    return sum(word in present for word in answer) / len(answer) if answer else 0.0
