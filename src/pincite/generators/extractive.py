"""Answers with sentences of the passages, word for word: no language model, nothing that can be made up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from pincite.blocks import Blocks
from pincite.sentences import statement_spans
from pincite.steering import suspicious_passages
from pincite.types import Generation, Passage, Prompt, Token
from pincite.words import content_words, idf, overlap

if TYPE_CHECKING:
    from pincite.protocols import Encoder

__all__ = ["ExtractiveGenerator", "Sentence"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage with what speaks for it."""

    passage: int  #: index into the passages given
    start: int  #: into the passage's text
    end: int
    text: str
    overlap: float  #: share of the question's content words in it, in [0, 1], rare words counting more
    cosine: float  #: of its vector and the question's; 0 without an encoder
    prior: float  #: 1 / rank of its passage
    score: float


class ExtractiveGenerator:
    """The sentences that answer best, verbatim but for white space, joined by one space.

    Each sentence scores ``overlap_weight · overlap + cosine_weight · cosine + prior_weight / rank``, where overlap
    is the share of the question's content words (function words aside, common endings removed, weighted by how few
    of the given sentences hold them), cosine that of sentence and question under `encoder` (its term is absent
    without one), and rank the place of the passage in the prompt, from 1. Ties go to the earlier sentence.

    Headings are no answers and are left out, and so is every sentence that scores less than `share` of the best, and
    what reads like orders to a model where there is anything else.

    The text has no ``[n]`` markers (`cites` is false): `Generation.sources` names each sentence's passage, in the
    order of the sentences, repeated where two come from one passage, and `Generation.parts` the sentence's place in
    the text. Best sentence first. Empty text with finish reason ``no-answer`` where no sentence is near enough: with an
    encoder, where overlap and cosine of the best, weighted, stay below `least` (measured: docs/decisions/0007); without
    one, where no sentence shares a content word with the question; and where there is no passage.
    """

    cites = False

    def __init__(
        self,
        encoder: Encoder | None = None,
        *,
        max_sentences: int = 2,
        share: float = 0.95,
        least: float = 1.0,
        overlap_weight: float = 1.0,
        cosine_weight: float = 1.5,
        prior_weight: float = 0.1,
    ) -> None:
        self.encoder = encoder
        self.max_sentences = max_sentences
        self.share = share
        self.least = least
        self.overlap_weight = overlap_weight
        self.cosine_weight = cosine_weight
        self.prior_weight = prior_weight

    @property
    def name(self) -> str:
        """``extractive``."""
        return "extractive"

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        """One token per sentence, without log-probability, then the whole."""
        ranked = _without_orders(self.rank(prompt.question, prompt.passages), prompt.passages)
        chosen: list[Sentence] = []
        if ranked and self._answers(ranked[0]):
            chosen = [s for s in ranked if s.score >= self.share * ranked[0].score][: self.max_sentences]
        # On one line: where a page broke its lines says nothing.
        texts = [" ".join(s.text.split()) for s in chosen]
        tokens = tuple(Token(text if i == 0 else f" {text}") for i, text in enumerate(texts))
        yield from tokens
        text = "".join(token.text for token in tokens)
        ends = list(accumulate(len(token.text) for token in tokens))
        yield Generation(
            text=text,
            tokens=tokens,
            finish_reason="stop" if tokens else "no-answer",
            model=self.name,
            sources=tuple(s.passage for s in chosen),
            parts=tuple((end - len(each), end) for each, end in zip(texts, ends, strict=True)),
        )

    def close(self) -> None:
        """Nothing is held between answers."""

    def _answers(self, best: Sentence) -> bool:
        if self.encoder is None:
            return best.overlap > 0.0
        return self.overlap_weight * best.overlap + self.cosine_weight * best.cosine >= self.least

    def rank(self, question: str, passages: tuple[Passage, ...]) -> list[Sentence]:
        """Every sentence of `passages`, each text once, best first.

        A sentence that speaks for itself in no way (no overlap, no encoder) scores 0 whatever its passage's rank.
        """
        found: list[tuple[int, int, int, str]] = []
        read: list[str] = []  # as they are read: a row of a table under its header
        seen: set[str] = set()
        for index, passage in enumerate(passages):
            lead = len(passage.chunk.before)
            blocks = Blocks(passage.chunk.before + passage.chunk.text)
            for start, end in statement_spans(passage.chunk.text):
                text = passage.chunk.text[start:end]
                flat = " ".join(text.split())  # the same sentence, broken into other lines, is the same
                heads = _is_heading(text, passage) or _is_first_line(start, end, passage)
                if flat not in seen and not heads and not blocks.is_header(lead + start):
                    seen.add(flat)
                    header = blocks.header(lead + start)
                    read.append(f"{header}\n{text}" if header else text)
                    found.append((index, start, end, text))
        if not found:
            return []
        words = [content_words(text) for text in read]
        weights = idf(words)
        query = content_words(question)
        cosines = self._cosines(question, read)
        sentences = []
        for (index, start, end, text), own, cosine in zip(found, words, cosines, strict=True):
            shared = overlap(query, own, weights)
            prior = 1.0 / (index + 1)
            score = self.overlap_weight * shared
            if self.encoder is not None:
                score += self.cosine_weight * cosine
            if score > 0.0:
                score += self.prior_weight * prior
            sentences.append(Sentence(index, start, end, text, shared, cosine, prior, score))
        return sorted(sentences, key=lambda sentence: -sentence.score)

    def _cosines(self, question: str, texts: list[str]) -> list[float]:
        if self.encoder is None:
            return [0.0] * len(texts)
        import numpy as np

        query = self.encoder.encode_queries([question])[0]
        vectors = self.encoder.encode_passages(texts)
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
        return [float(value) for value in (vectors @ query) / np.maximum(lengths, 1e-12)]


def _without_orders(ranked: list[Sentence], passages: tuple[Passage, ...]) -> list[Sentence]:
    """Without what reads like orders to a model, unless nothing else is there to answer with.

    A document about such orders can still be quoted, and whoever is quoted an order is told (`pincite.steering`).
    """
    orders = suspicious_passages(passages)
    if not orders:
        return ranked
    kept = [
        each
        for each in ranked
        if not any(each.passage == i and each.start < end and start < each.end for i, (start, end) in orders)
    ]
    return kept or ranked


def _is_first_line(start: int, end: int, passage: Passage) -> bool:
    """Whether a sentence is the first line of a document and does not end as a sentence does: a title in plain text."""
    chunk = passage.chunk
    if chunk.start + start > 0 or chunk.text[end - 1] in _ENDS or "|" in chunk.text[start:end]:
        return False
    return chunk.text[end : end + 1] in ("\n", "\r") and "\n" not in chunk.text[start:end]


#: A heading of Markdown is a sentence of its own, see `pincite.sentences`. A passage of several sections holds some
#: that are not among its own headings, which are those in force where it begins.
_MARKED = re.compile(r"#{1,6}\s")
_ENDS = ".!?;,:…।。！？\"'”’)]"


def _is_heading(text: str, passage: Passage) -> bool:
    """Whether a sentence is nothing but a heading, of Markdown or of its chunk."""
    if _MARKED.match(text):
        return True
    words = content_words(text)
    if text.isupper() and text[-1].isalnum():  # "CHAPTER VI" where the file has no map of its headings
        return True
    if text[-1] in "—–:":  # a lead-in whose text is in the next chunk
        return True
    return not words or any(words == content_words(heading) for heading in (passage.title, *passage.chunk.headings))
