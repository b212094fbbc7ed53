"""Whether there is enough to answer from, and what to say where there is not.

Three outcomes: nothing found speaks to the question (no model is asked), the passages do not answer it, or an answer.
The second is decided by a probability, see `pincite.calibration`; what is said names where was looked and what lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pincite.calibration import SEARCH, Calibration, Weights, kind_of
from pincite.evidence import evidence_of_answer, evidence_of_search, missing_from

if TYPE_CHECKING:
    from pincite.missing import Missing
    from pincite.protocols import Encoder, Generator
    from pincite.types import Citation, Evidence, Filter, Generation, Passage, PointInTime, SearchResult

__all__ = ["Abstaining", "Considered", "insufficient", "told_scope"]

#: Missing names and words that are told, and titles of the nearest passages.
_TOLD = 5


@dataclass(frozen=True, slots=True)
class Considered:
    """The evidence for one question, so far, and what of it is missing from the passages."""

    evidence: Evidence
    missing: Missing
    confidence: float | None = None  #: that the passages answer the question; None without a calibration
    least: float = 0.0  #: the confidence from which on an answer is given

    @property
    def enough(self) -> bool:
        """Whether an answer may be given."""
        return self.confidence is None or self.confidence >= self.least


@dataclass(frozen=True, slots=True)
class Abstaining:
    """Weighs evidence with a calibration. Without one nothing is refused here, and nothing has a confidence."""

    encoder: Encoder
    language: str  #: of the index, for what is a name
    calibration: Calibration | None = None
    least: float | None = None  #: set by the user; None: the calibration's own

    def search(self, question: str, found: SearchResult, passages: Sequence[Passage]) -> Considered:
        """What is known before anything is written; `passages` are those of `found`, as they were found."""
        missing = missing_from(question, passages, self.language)
        evidence = evidence_of_search(question, found, passages, missing, read=self.encoder.reads(question))
        weights = self.calibration.kinds.get(SEARCH) if self.calibration else None
        return self._weighed(evidence, missing, weights)

    def answer(
        self,
        before: Considered,
        question: str,
        generator: Generator,
        generation: Generation,
        citations: Sequence[Citation],
        *,
        sentences: int,
    ) -> Considered:
        """What is known of an answer, `citations` its proof and `sentences` how many of it say something.

        Where the calibration knows no answers of such a generator, it is what was known `before`, weighed as that.
        """
        evidence = evidence_of_answer(
            before.evidence, question, generation, citations, sentences=sentences, encoder=self.encoder
        )
        weights = self.calibration.weights(kind_of(generator)) if self.calibration else None
        return self._weighed(evidence, before.missing, weights)

    def _weighed(self, evidence: Evidence, missing: Missing, weights: Weights | None) -> Considered:
        confidence = weights.probability(evidence) if weights is not None else None
        if weights is None or confidence is None:
            return Considered(evidence, missing)
        return Considered(evidence, missing, round(confidence, 4), weights.least if self.least is None else self.least)


def insufficient(considered: Considered, found: SearchResult, searched: str) -> str:
    """That the passages do not answer: where was looked, what is missing, and what is nearest."""
    missing = considered.missing
    lines = ["The passages found do not answer this question."]
    if not considered.enough:
        lines[0] = (
            "The passages found do not answer this question well enough: the probability that they answer it is "
            f"{considered.confidence:.2f}, and an answer takes {considered.least:.2f}."
        )
    lines.append(f"Searched: {searched}.")
    if missing.named:
        lines.append(f"No passage mentions: {_listed(missing.named)}.")
    elif missing.words:
        lines.append(f"No passage holds the words: {_listed(missing.words)}.")
    titles = list(dict.fromkeys(passage.title for passage in found.passages))
    lines.append(f"Nearest: {_listed(titles, '; ')}.")
    return " ".join(lines)


def told_scope(where: Filter | None, at: PointInTime | None, documents: int) -> str:
    """Where was looked, in words: ``the 34 documents of the index``, ``the documents with title=Lease as of …``."""
    told = ""
    if where:
        conditions = []
        for name, wanted in where.items():
            values = [wanted] if isinstance(wanted, str | int | float | bool) else list(wanted)
            conditions.append(f"{name}={' or '.join(map(str, values))}")
        told = f"the documents with {', '.join(conditions)}"
    elif at is not None:
        told = "the documents"
    else:
        return f"the {documents} document{'' if documents == 1 else 's'} of the index"
    if at is not None and at.as_of:
        told += f" in force on {at.as_of}"
    if at is not None and at.recorded:
        told += f" as the index was on {at.recorded}"
    return told


def _listed(items: Sequence[str], between: str = ", ") -> str:
    more = f" and {len(items) - _TOLD} more" if len(items) > _TOLD else ""
    return between.join(items[:_TOLD]) + more
