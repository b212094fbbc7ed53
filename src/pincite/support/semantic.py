"""Does a source say it? Shared words and near vectors, calibrated together, with every veto of the lexical scorer.

A few sentences that follow each other may support a statement together. The probability is a logistic model of two
numbers: the share of the statement's content words that stand in them, and the cosine of its vector with the sum of
theirs. Its three coefficients were fitted on half of WiCE's development claims: docs/decisions/0019-support.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pincite.claims import disagreement, misplaced, with_digits
from pincite.errors import InputError
from pincite.support.sentences import MOST_DENIED, Sentences, missing_words, scaled, settled
from pincite.types import Support
from pincite.words import content_words, overlap

if TYPE_CHECKING:
    from pincite.protocols import Encoder, Matrix

__all__ = ["COEFFICIENTS", "Likeness", "SemanticSupport"]

#: Constant, weight of the share of words, weight of the cosine: log-odds that annotators call the claim supported.
COEFFICIENTS = (-4.94, 4.94, 2.43)
#: Of the claims of that half that reach this, none was less than supported.
_THRESHOLD = 0.75
#: So many sentences that follow each other are read as one.
_TOGETHER = 3
#: A run with this share of a statement's content words is about the same, and is told how it differs.
_ABOUT = 0.5


class Likeness(NamedTuple):
    """How like a run of sentences is to a statement."""

    first: int
    last: int
    covered: float  #: share of the statement's content words, in [0, 1]
    cosine: float
    probability: float  #: in [0, 1]


class SemanticSupport:
    """Words or vectors, as a `pincite.protocols.SupportScorer`.

    `threshold` is the probability from which a statement is supported, if nothing in it differs from what the sentences
    claim. The score is that probability, moved so that the threshold is at a half.
    """

    name = "semantic"

    def __init__(self, encoder: Encoder, *, threshold: float = _THRESHOLD) -> None:
        if not 0 < threshold < 1:
            raise InputError(f"the threshold must be between 0 and 1, it is {threshold}")
        self.encoder = encoder
        self.threshold = threshold

    def judge(self, statement: str, sources: Sequence[str], *, question: str = "") -> list[Support]:
        """What each of `sources` is worth for `statement`, in their order."""
        found = [Sentences(source) for source in sources]
        result = [settled(statement, each, question) for each in found]
        open_ones = [each for each, support in zip(found, result, strict=True) if support is None]
        judged = iter(
            self._judge(statement, each, runs, question)
            for each, runs in zip(open_ones, self.likenesses(statement, open_ones), strict=True)
        )
        return [support or next(judged) for support in result]

    def score(self, statement: str, sentences: Sequence[str]) -> list[float]:
        """How far each sentence alone supports `statement`, in [0, 1]."""
        return [support.score for support in self.judge(statement, sentences)]

    def close(self) -> None:
        """The encoder is not this scorer's: nothing is held."""

    def likenesses(self, statement: str, sources: Sequence[Sentences]) -> list[list[Likeness]]:
        """For each source, how like the runs of a few of its sentences are to the statement, the short runs first.

        Each sentence is there; a run of several only where each of them has a word of the statement that is not in the
        others.
        """
        if not sources:
            return []
        own = content_words(with_digits(statement))
        texts = [text for each in sources for text in each.texts]
        vectors = _unit(self.encoder.encode_passages([statement, *texts]).astype(np.float32))
        result = []
        begin = 1
        for each in sources:
            result.append(_likenesses(own, each, vectors[0], vectors[begin : begin + len(each.texts)]))
            begin += len(each.texts)
        return result

    def _judge(self, statement: str, found: Sentences, runs: Sequence[Likeness], question: str) -> Support:
        relevance = found.relevance(question)

        def order(run: Likeness) -> tuple[float, ...]:
            return -(run.last - run.first), run.probability, max(relevance[run.first : run.last]), -run.first

        able = [run for run in runs if run.probability >= self.threshold]
        for run in sorted(able, key=order, reverse=True):
            if not self._differs(statement, found, run):
                return Support(*found.span(run.first, run.last), "supported", scaled(run.probability, self.threshold))
        best = max(runs, key=lambda run: (run.probability, run.first - run.last, -run.first))
        why = self._differs(statement, found, best) if best.covered >= _ABOUT else ""
        words = [word for each in found.words[best.first : best.last] for word in each]
        return Support(
            *found.span(best.first, best.last),
            "unsupported",
            min(MOST_DENIED, scaled(best.probability, self.threshold)),
            why or missing_words(statement, words),
        )

    def _differs(self, statement: str, found: Sentences, run: Likeness) -> str:
        texts = found.texts[run.first : run.last]
        # Sentences are told apart as clauses are: what one of them denies is no denial in the next.
        why = disagreement(statement, "; ".join(texts), found.source)
        own = set(content_words(with_digits(statement)))
        for text, words in zip(texts, found.words[run.first : run.last], strict=True):
            # Beside other sentences a word that is replaced in this one may stand, and one that is exchanged twice.
            if not why and len(texts) > 1 and overlap(list(own), words) >= _ABOUT:
                why = misplaced(statement, text)
        return why


def _needed(own: set[str], words: Sequence[Sequence[str]]) -> bool:
    """Whether each sentence has a word of the statement that the others lack: none is only brought along."""
    if len(words) == 1:
        return True
    held = [own.intersection(each) for each in words]
    return all(each - set().union(*(held[:i] + held[i + 1 :])) for i, each in enumerate(held))


def _likenesses(own: Sequence[str], found: Sentences, statement: Matrix, vectors: Matrix) -> list[Likeness]:
    result = []
    wanted = set(own)
    for first, last in found.runs(_TOGETHER):
        if not _needed(wanted, found.words[first:last]):
            continue
        covered = overlap(own, (word for each in found.words[first:last] for word in each))
        cosine = float(_unit(vectors[first:last].sum(axis=0, keepdims=True))[0] @ statement)
        cosine = cosine if math.isfinite(cosine) else 0.0
        result.append(Likeness(first, last, covered, cosine, _probability(covered, cosine)))
    return result


def _probability(covered: float, cosine: float) -> float:
    constant, words, vectors = COEFFICIENTS
    return 1 / (1 + math.exp(-(constant + words * covered + vectors * cosine)))


def _unit(vectors: Matrix) -> Matrix:
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    lengths[lengths == 0] = 1
    unit: Matrix = vectors / lengths
    return unit
