"""The records of an evaluation of answers. Ways in which a reply can end are told in `pincite.evaluation.answers`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pincite.evaluation.answer_measures import AnswerScore, Rule
from pincite.evaluation.kept_replies import Reply

if TYPE_CHECKING:
    from pincite.evaluation.answer_sets import Question
    from pincite.types import Passage

from pincite.evaluation.answerers import Answerer

__all__ = [
    "STAGES",
    "AnswerReport",
    "AnswerVersus",
    "Asked",
    "Found",
    "GoldProbability",
    "Lost",
    "Mean",
    "Opened",
    "Outcome",
    "Reader",
    "Reading",
    "Refusals",
    "Stage",
]


Stage: TypeAlias = Literal["retrieval", "refusal", "reading", "citation", "failure"]
STAGES: tuple[Stage, ...] = ("retrieval", "refusal", "reading", "citation", "failure")


class Lost(NamedTuple):
    """Where a question was lost; see `pincite.evaluation.answer_stages`.

    retrieval: no gold passage was found. refusal: it was refused though a gold passage was found, or answered though
    there is no answer. reading: a gold passage was found and the answer is wrong. citation: the answer is right and
    names no gold passage as its source. failure: an error.
    """

    stage: Stage
    by: str = ""  #: what is known of why, in words


class Found(NamedTuple):
    """What one search gave."""

    passages: Sequence[Passage]  #: best first
    seconds: float = 0.0


class Opened(NamedTuple):
    """A reader at work."""

    answerer: Answerer
    search: Callable[[str, int], Found]  #: the first k passages for a question
    passages: Callable[[Sequence[str]], Sequence[Passage]]  #: documents by their ids, as passages; gone ones left out


@dataclass(frozen=True, slots=True)
class Reader:
    """A named way of answering, with several numbers of passages.

    `recipe` says everything its replies depend on beside question and passages: a reply that was kept is used again
    where it is equal. `open` loads it; only one is open at a time.
    """

    name: str
    ks: tuple[int, ...]  #: how many passages are read
    recipe: str
    open: Callable[[], AbstractContextManager[Opened]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question under one configuration."""

    question: Question
    documents: tuple[str, ...]  #: of the passages that were found, best first
    on_gold: Reply | None  #: given the gold passage alone; None where the corpus has none
    end_to_end: Reply
    search_seconds: float
    gold_logprob: float | None  #: log p(y_gold|x), the passages those that were found; None where it is not told
    gold_failure: str = ""  #: why it could not be told, of a reader that tells it

    @property
    def found(self) -> bool | None:
        """Whether a gold passage is among those found; None where there is none to find."""
        return any(each in self.question.gold for each in self.documents) if self.question.gold else None


@dataclass(frozen=True, slots=True)
class Mean:
    """An average over questions with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float
    n: int  #: questions


@dataclass(frozen=True, slots=True)
class Refusals:
    """Refusing, held against whether there is an answer. Shares are None where there is nothing to divide by."""

    precision: Mean | None  #: share of the refusals that are right: the question has no answer
    recall: Mean | None  #: share of the questions without an answer that were refused
    f1: Mean | None  #: harmonic mean of both
    right: int  #: refused, without an answer
    wrong: int  #: refused, and there is an answer
    missed: int  #: answered, without an answer


@dataclass(frozen=True, slots=True)
class Reading:
    """How the replies of one column compare with the gold answers. Means are None where there is nothing to average."""

    exact: Mean | None  #: over the questions that have an answer, without failures
    f1: Mean | None
    answered: int  #: of the questions that have an answer
    abstained: int
    failed: int  #: of all questions
    right_abstentions: Mean | None  #: share of the questions without an answer on which it abstained
    all_exact: Mean | None  #: over all questions, an abstention as an empty answer (SQuAD 2.0)
    all_f1: Mean | None
    failed_as_wrong: tuple[float, float]  #: exact match and F1 over all questions with failures as 0
    failures: Mapping[str, int]  #: reason → how many
    cut: int = 0  #: answers that ended at the longest allowed length
    refusals: Refusals | None = None  #: None where no question is without an answer


@dataclass(frozen=True, slots=True)
class GoldProbability:
    """How probable the gold answers are, over the questions that have one. Means are None where none was told.

    Of a model that lists only its likeliest tokens these are lower bounds: what no list holds counts as impossible.
    """

    mean: Mean | None  #: of p(y_gold|x)
    mean_log: Mean | None  #: of its natural logarithm, without those that are impossible
    impossible: int  #: gold answers of probability 0
    failed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """One reader with one number of passages on one set."""

    name: str
    reader: str
    k: int
    model: str
    success: Mean | None  #: Success@k: questions with a gold passage among the first k
    on_gold: Reading | None
    end_to_end: Reading
    probability: GoldProbability | None  #: None for a reader that cannot tell it
    p50_seconds: float | None  #: median of searching and answering, without failures; None where there is none
    dropped: int  #: passages over the budget of a prompt
    kept: int  #: replies that were kept from before
    asked: tuple[Asked, ...]
    scores: tuple[AnswerScore | None, ...]  #: end to end, in the order of `asked`; None for a failure
    gold_scores: tuple[AnswerScore | None, ...]  #: of the gold passage alone; None for a failure, or without one
    lost: tuple[Lost | None, ...] = ()  #: end to end, in the order of `asked`; None for a question that was not lost


@dataclass(frozen=True, slots=True)
class AnswerVersus:
    """One configuration held against another, question by question, without those on which either failed."""

    name: str
    against: str
    measure: str  #: ``F1``, ``F1 of all questions`` or ``log p(gold)``
    n: int
    difference: float  #: of the means; above 0 where `name` is better
    interval: tuple[float, float]  #: 95 %, paired bootstrap
    p: float  #: randomization test, two-sided
    p_holm: float  #: corrected for all comparisons of the report
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """Every configuration on one set."""

    dataset: str
    split: str
    rule: Rule
    seed: int
    questions: int
    unanswerable: int  #: of them
    total: int  #: questions of the split; more than `questions` where a sample was taken
    outcomes: tuple[Outcome, ...]
    versus: tuple[AnswerVersus, ...]
    notes: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Replies and probabilities that ended in an error."""
        return sum(
            each.end_to_end.failed
            + (each.on_gold.failed if each.on_gold else 0)
            + (each.probability.failed if each.probability else 0)
            for each in self.outcomes
        )
