"""The records of an evaluation of grounding: whole answers with their proof, held against what supports them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pincite.evaluation.answer_records import AnswerReport, AnswerVersus, Mean
    from pincite.evaluation.grounding_measures import Proof
    from pincite.types import Answer, Document

__all__ = ["Asking", "GroundedReader", "Grounding", "GroundingReport", "Item"]


class Asking(NamedTuple):
    """A pipeline at work."""

    model: str
    ask: Callable[[str, int], Answer]  #: the answer to a question from the first k passages that are found
    from_gold: Callable[[str, Sequence[str]], Answer | None]  #: from these documents alone; None where none is left
    document: Callable[[str, int], Document | None]  #: a document as it is stored
    similarity: Callable[[str, str], float]  #: cosine of a question and a text
    kept: Callable[[], int] = lambda: 0  #: how many answers were kept from before, so far


@dataclass(frozen=True, slots=True)
class GroundedReader:
    """A named way of answering, with several numbers of passages; only one is open at a time."""

    name: str
    ks: tuple[int, ...]
    open: Callable[[], AbstractContextManager[Asking]]


@dataclass(frozen=True, slots=True)
class Item:
    """One question put to the whole pipeline. Figures are None where they do not apply: a refusal has no citation."""

    question: str  #: its id
    answer: Answer | None  #: None for a failure
    failure: str = ""  #: why it could not be asked, or what it said could not be judged
    proof: Proof | None = None
    pointers: tuple[int, int] = (0, 0)  #: citations whose characters were read again and are those quoted, and all
    similarity: float | None = None  #: cosine of question and answer
    words: float | None = None  #: share of the question's content words that the answer says again
    gold_precision: float | None = None  #: share of the places cited that are gold sentences
    gold_recall: float | None = None  #: share of the gold sentences that are cited

    @property
    def outcome(self) -> str:
        """``scored``, ``refused`` or ``failed``."""
        if self.failure or self.answer is None:
            return "failed"
        return "refused" if self.answer.abstained else "scored"


@dataclass(frozen=True, slots=True)
class Grounding:
    """One reader with one number of passages: how its answers are borne out. Means are over answers.

    None where there is nothing to average: no answer was given, the set has no gold sentences.
    """

    name: str
    scored: int
    refused: int
    failed: int
    recall: Mean | None  #: ALCE's citation recall
    precision: Mean | None  #: ALCE's citation precision
    pinpoint: Mean | None  #: share of the statements that the characters pointed at support by themselves
    faithfulness: Mean | None
    similarity: Mean | None
    words: Mean | None
    gold_precision: Mean | None
    gold_recall: Mean | None
    statements: int  #: of all answers
    cited_statements: int  #: of them, those that name a source
    citations: int
    exact: int  #: of the citations, those whose characters are in the document as quoted
    failures: Mapping[str, int]  #: reason → how many
    items: tuple[Item, ...]  #: in the order of the questions


@dataclass(frozen=True, slots=True)
class GroundingReport:
    """Every configuration on one set.

    `answers` has what `pincite eval answers` tells: retrieval, the gold passage, end to end, refusals, the stage that
    lost a question; its outcomes are in the order of `groundings`.
    """

    answers: AnswerReport
    groundings: tuple[Grounding, ...]
    versus: tuple[AnswerVersus, ...]  #: with those of `answers`, corrected together
    support: Mapping[str, object]  #: what told whether a text supports a statement: name, and model, prompt, seed
    notes: tuple[str, ...] = field(default=())

    @property
    def failed(self) -> int:
        """Questions that ended in an error."""
        return self.answers.failed

    @property
    def broken(self) -> int:
        """Citations whose characters are not in the document as quoted: must be 0."""
        return sum(each.citations - each.exact for each in self.groundings)
