"""Asking the questions of a set that says which of them can be answered, and noting the evidence for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pincite.errors import BackendError, InputError
from pincite.evaluation.calibrating import Labelled
from pincite.evaluation.index import EvaluationListener

if TYPE_CHECKING:
    from pincite.evaluation.answer_sets import AnswerSet
    from pincite.types import Answer

__all__ = ["Labels", "label_questions"]

#: After so many failures one after another no more is asked.
IN_A_ROW = 5


@dataclass(frozen=True, slots=True)
class Labels:
    """Every question of a set that was asked."""

    rows: tuple[Labelled, ...]
    answers: tuple[Answer, ...]  #: in the order of the rows
    not_found: int  #: questions with an answer, none of whose gold documents was found: labelled as not answered
    failed: Mapping[str, str]  #: question id → why it has no row


def label_questions(
    answers: AnswerSet, ask: Callable[[str], Answer], *, listener: EvaluationListener | None = None
) -> Labels:
    """Put every question to `ask`, a pipeline without a calibration.

    What is labelled is whether the passages found answer the question. An answerable question none of whose gold
    documents is among them is therefore one that they do not: to refuse it is right. Raises BackendError where
    `IN_A_ROW` questions fail one after another.
    """
    rows: list[Labelled] = []
    given: list[Answer] = []
    failed: dict[str, str] = {}
    in_a_row = not_found = 0
    for done, question in enumerate(answers.questions, 1):
        try:
            answer = ask(question.text)
        except (BackendError, InputError) as error:
            failed[question.id] = str(error)
            in_a_row += 1
            if in_a_row >= IN_A_ROW:
                raise BackendError(f"{IN_A_ROW} questions failed one after another, the last: {error}") from error
            continue
        in_a_row = 0
        found = {each.chunk.document_id for each in answer.passages}
        lost = question.answerable and bool(question.gold) and not found.intersection(question.gold)
        not_found += lost
        if answer.evidence is not None:
            rows.append(Labelled(question.id, question.answerable and not lost, answer.evidence, answer.abstained))
            given.append(answer)
        if listener:
            listener.searching(answers.name, "asking", done, len(answers.questions))
    return Labels(tuple(rows), tuple(given), not_found, failed)
