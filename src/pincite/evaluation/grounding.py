"""Whole answers measured: each question through the pipeline as `pincite ask` runs it, gates and citations included.

Three columns as in `pincite.evaluation.answers`: what retrieval finds, what is made of the gold passages, and end to
end; and of every answer that is given, how its citations bear it out (`pincite.evaluation.grounding_measures`).

Every item ends scored, refused or failed with its reason. A failure is in no mean, and none is NaN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from pincite.errors import BackendError, InputError
from pincite.evaluation.answer_assessment import assess, correct, mean_of, odd_gold, paired, versus
from pincite.evaluation.answer_measures import Rule, check_rule
from pincite.evaluation.answer_records import AnswerReport, AnswerVersus, Asked, Mean, Outcome
from pincite.evaluation.answer_stages import GATES
from pincite.evaluation.answer_tables import counted
from pincite.evaluation.answerers import without_markers
from pincite.evaluation.grounding_measures import (
    gold_spans,
    judge_answer,
    pointers,
    sentence_overlap,
    words_of_question,
)
from pincite.evaluation.grounding_records import Asking, GroundedReader, Grounding, GroundingReport, Item
from pincite.evaluation.index import EvaluationListener
from pincite.evaluation.kept_replies import Reply

if TYPE_CHECKING:
    from pincite.evaluation.answer_sets import AnswerSet, Question
    from pincite.evaluation.grounding_measures import Supports
    from pincite.types import Answer

__all__ = ["evaluate_grounding", "gate_of"]

_GATES = dict(zip(("search", "generator", "support", "confidence"), GATES, strict=True))

#: After so many failures one after another no more is asked.
IN_A_ROW = 5

_GIVEN_UP = f"not asked, after {IN_A_ROW} failures in a row"

#: What two readers are compared by, beside F1.
_COMPARED: tuple[tuple[str, Callable[[Item], float | None]], ...] = (
    ("citation recall", lambda item: item.proof.recall if item.proof else None),
    ("citation precision", lambda item: item.proof.precision if item.proof else None),
    ("faithfulness", lambda item: item.proof.faithfulness if item.proof else None),
)


def evaluate_grounding(
    answers: AnswerSet,
    readers: Sequence[GroundedReader],
    supports: Supports,
    *,
    support: Mapping[str, object],
    rule: Rule = "squad",
    seed: int = 0,
    listener: EvaluationListener | None = None,
) -> GroundingReport:
    """Put every question to every reader and judge what comes: `supports` says what bears out what.

    `support` is what the report tells of the scorer: its name and, of a judge, model, prompt and seed. The first
    configuration is the one that the others are held against. Raises as `pincite.evaluation.answers.evaluate_answers`.
    """
    check_rule(rule)
    names = [f"{reader.name} k={k}" for reader in readers for k in reader.ks]
    if not names:
        raise InputError("there is no reader to evaluate")
    if len(set(names)) < len(names):
        raise InputError(f"two configurations have one name: {', '.join(names)}")
    outcomes: list[Outcome] = []
    groundings: list[Grounding] = []
    unplaced: set[tuple[str, str]] = set()
    notes: list[str] = []
    for reader in readers:
        with reader.open() as asking:
            run = _Run(answers, reader, asking, supports, listener or EvaluationListener(), first=not outcomes)
            gold = run.on_gold()
            for k in reader.ks:
                before = asking.kept()
                asked, items = run.end_to_end(k, gold)
                name = f"{reader.name} k={k}"
                outcomes.append(assess(name, reader.name, k, asking.model, asked, rule, seed))
                if taken := asking.kept() - before:
                    notes.append(f"{name}: {counted(taken, 'answer')} kept from before: not in the seconds")
                groundings.append(_grounding(name, items, seed))
            unplaced |= run.unplaced
    questions = answers.questions
    report = AnswerReport(
        dataset=answers.name,
        split=answers.dataset.split,
        rule=rule,
        seed=seed,
        questions=len(questions),
        unanswerable=sum(not each.answerable for each in questions),
        total=answers.total,
        outcomes=tuple(outcomes),
        versus=(),
        notes=(*answers.notes, *odd_gold(questions, rule)),
    )
    compared = correct([*versus(outcomes, seed), *_versus(groundings, seed)])
    return GroundingReport(
        report, tuple(groundings), tuple(compared), dict(support), (*notes, *_notes(answers, unplaced))
    )


def gate_of(answer: Answer) -> str:
    """Which of `pincite.evaluation.answer_stages.GATES` refused; empty for an answer that was given.

    The gate before any model is asked, the generator, the check that a source supports what it wrote, or the one that
    weighs the evidence.
    """
    return _GATES.get(answer.gate, "")


class _Run:
    """One reader at work on the questions of a set."""

    def __init__(
        self,
        answers: AnswerSet,
        reader: GroundedReader,
        asking: Asking,
        supports: Supports,
        listener: EvaluationListener,
        *,
        first: bool,
    ) -> None:
        self.answers = answers
        self.reader = reader
        self.asking = asking
        self.supports = supports
        self.listener = listener
        self.unplaced: set[tuple[str, str]] = set()  #: gold sentences that stand in no gold document
        self._silent = first  #: nothing has been replied by any reader
        self._in_a_row = 0

    def on_gold(self) -> dict[str, Reply]:
        """Question id → the reply to its gold passages; not for questions without any."""
        replies: dict[str, Reply] = {}
        most = max(self.reader.ks)
        for question in self._counted("gold passage"):
            named = question.gold[:most] if question.answerable else (question.shown,) if question.shown else ()
            if not named:
                continue
            answer, failure = self._asked(partial(self.asking.from_gold, question.text, named))
            if answer is not None or failure:
                replies[question.id] = _reply(answer, failure)
        return replies

    def end_to_end(self, k: int, gold: Mapping[str, Reply]) -> tuple[list[Asked], list[Item]]:
        """Every question through the whole pipeline."""
        asked, items = [], []
        for question in self._counted(f"k={k}"):
            answer, failure = self._asked(partial(self.asking.ask, question.text, k))
            documents = () if answer is None else tuple(each.chunk.document_id for each in answer.passages)
            reply = _reply(answer, failure)
            item = Item(question.id, answer, failure) if answer is None else self._judged(question, answer)
            if item.failure and not failure:
                reply = Reply("failed", reason=item.failure, seconds=reply.seconds)
            asked.append(Asked(question, documents, gold.get(question.id), reply, 0.0, None))
            items.append(item)
        return asked, items

    def _judged(self, question: Question, answer: Answer) -> Item:
        read_again = pointers(answer.citations, self.asking.document)
        gold = self._gold_places(question)
        item = Item(question.id, answer, pointers=read_again)
        if answer.abstained:
            return item
        plain = _plain(answer)
        try:
            proof = judge_answer(answer, self.supports)
            similarity = self.asking.similarity(question.text, plain)
        except (BackendError, InputError) as error:
            return replace(item, failure=f"the answer could not be judged: {error}")
        if not isfinite(similarity):
            return replace(item, failure=f"the encoder gives {similarity} as the cosine of question and answer")
        cited = [(c.document_id, c.start, c.end) for c in answer.citations if c.verdict != "unsupported"]
        precision, recall = sentence_overlap(cited, gold) if gold else (None, None)
        return replace(
            item,
            proof=proof,
            similarity=similarity,
            words=words_of_question(question.text, plain),
            gold_precision=precision,
            gold_recall=recall,
        )

    def _gold_places(self, question: Question) -> list[tuple[str, int, int]]:
        """Where the gold sentences of a question stand; those that stand nowhere are noted."""
        places = []
        for sentence in question.sentences:
            for document_id in question.gold:
                document = self.asking.document(document_id, 1)
                (span,) = gold_spans(document.text if document else "", [sentence])
                if span:
                    places.append((document_id, *span))
                    break
            else:
                self.unplaced.add((question.id, sentence))
        return places

    def _asked(self, ask: Callable[[], Answer | None]) -> tuple[Answer | None, str]:
        """The answer, or why there is none; neither where there is nothing to answer from."""
        if self._in_a_row >= IN_A_ROW:
            return None, _GIVEN_UP
        try:
            answer = ask()
        except (BackendError, InputError) as error:
            self._in_a_row += 1
            if self._silent and self._in_a_row >= IN_A_ROW:
                message = f"{self.asking.model} failed {IN_A_ROW} times in a row, the last time: {error}"
                raise BackendError(message) from error
            return None, str(error)
        self._in_a_row, self._silent = 0, False
        return answer, ""

    def _counted(self, what: str) -> Iterable[Question]:
        if not self._silent:
            self._in_a_row = 0  # fewer passages may fit where more did not
        for done, question in enumerate(self.answers.questions, 1):
            yield question
            self.listener.searching(self.answers.name, f"{self.reader.name} {what}", done, len(self.answers.questions))


def _plain(answer: Answer) -> str:
    """The answer's text without its markers."""
    most = max([len(answer.passages), *(each.number for each in answer.citations)])
    return without_markers(answer.text, most)


def _reply(answer: Answer | None, failure: str) -> Reply:
    """An answer as the evaluation of answers has it."""
    if answer is None:
        return Reply("failed", reason=failure)
    seconds = sum(answer.timings.values())
    if answer.abstained:
        return Reply("abstained", text=answer.text, reason=gate_of(answer), seconds=seconds)
    marginal = answer.marginal
    proved = [each.document_id for each in answer.citations if each.verdict in ("verbatim", "supported")]
    return Reply(
        "answered",
        text=_plain(answer),
        seconds=seconds,
        priors=marginal.priors if marginal else (),
        posteriors=marginal.posteriors if marginal else (),
        logprob=marginal.logprob if marginal else None,
        certainty=marginal.certainty if marginal else "",
        cut=any(each.startswith("the answer was cut off") for each in answer.warnings),
        dropped=sum(each.startswith("left out of the prompt") for each in answer.warnings),
        cited=tuple(dict.fromkeys(proved)),
    )


# Measuring


def _grounding(name: str, items: Sequence[Item], seed: int) -> Grounding:
    outcomes = Counter(each.outcome for each in items)
    proofs = [each.proof for each in items if each.proof is not None]
    judged = [each for proof in proofs for each in proof.statements]

    def mean(values: Iterable[float | None]) -> Mean | None:
        return mean_of([each for each in values if each is not None], seed)

    return Grounding(
        name=name,
        scored=outcomes["scored"],
        refused=outcomes["refused"],
        failed=outcomes["failed"],
        recall=mean(each.recall for each in proofs),
        precision=mean(each.precision for each in proofs),
        pinpoint=mean(each.pinpoint for each in proofs),
        faithfulness=mean(each.faithfulness for each in proofs),
        similarity=mean(each.similarity for each in items),
        words=mean(each.words for each in items),
        gold_precision=mean(each.gold_precision for each in items),
        gold_recall=mean(each.gold_recall for each in items),
        statements=len(judged),
        cited_statements=sum(bool(each.cited) for each in judged),
        citations=sum(each.pointers[1] for each in items),
        exact=sum(each.pointers[0] for each in items),
        failures=dict(Counter(each.failure for each in items if each.failure).most_common()),
        items=tuple(items),
    )


def _versus(groundings: Sequence[Grounding], seed: int) -> Iterable[AnswerVersus]:
    """Every configuration against the first, over the questions that both answered."""
    for measure, value in _COMPARED:
        for other in groundings[1:]:
            pairs = [
                (mine, theirs)
                for a, b in zip(other.items, groundings[0].items, strict=True)
                if (mine := value(a)) is not None and (theirs := value(b)) is not None
            ]
            if found := paired(other.name, groundings[0].name, measure, pairs, seed):
                yield found


def _notes(answers: AnswerSet, unplaced: set[tuple[str, str]]) -> Iterable[str]:
    if unplaced:
        yield f"{counted(len(unplaced), 'gold sentence')} not in the gold documents of the question: left out"
    if not any(each.sentences for each in answers.questions):
        yield "the set names no gold sentences: nothing is said of them"
