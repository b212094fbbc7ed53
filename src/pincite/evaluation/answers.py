"""Readers measured on questions with gold answers: what retrieval finds, what the reader makes of it, and of the truth.

Each question is put to a reader twice: with its gold passage alone, and with the first k passages that a search finds.
The difference between the two is what retrieval costs; what the gold passage does not give either is the reader's own.

Every reply ends in one of three ways. ``answered``: there is a text, and it is scored. ``abstained``: the reader says
that the passages do not hold the answer; on a question that has one this scores 0, on one without it is right.
``failed``: an error, with its reason. A failure is no answer and no abstention: it is counted, it is in no mean, and
`Reading.failed_as_wrong` says what the means would be if it were wrong.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pincite.errors import BackendError, InputError
from pincite.evaluation.answer_measures import Rule, check_rule
from pincite.evaluation.index import EvaluationListener
from pincite.evaluation.kept_replies import KeptReplies, Reply

if TYPE_CHECKING:
    from pincite.evaluation.answer_sets import AnswerSet, Question
    from pincite.types import Passage

from pincite.evaluation.answer_assessment import assess, correct_answers, odd_gold, versus
from pincite.evaluation.answer_records import AnswerReport, Asked, Found, Opened, Outcome, Reader
from pincite.evaluation.answerers import reply_of

__all__ = [
    "evaluate_answers",
]

#: After so many failures one after another no more is asked: an endpoint that is gone, prompts that never fit.
IN_A_ROW = 5

_GIVEN_UP = f"not asked, after {IN_A_ROW} failures in a row"


def evaluate_answers(
    answers: AnswerSet,
    readers: Sequence[Reader],
    *,
    rule: Rule = "squad",
    seed: int = 0,
    kept: KeptReplies | None = None,
    listener: EvaluationListener | None = None,
) -> AnswerReport:
    """Put every question to every reader, with its gold passage and with what a search finds, and compare.

    The gold passages first, then each number of passages over all questions, so that no answer is quicker because the
    same question was just asked. Replies are put into `kept` as they come, and taken from there: interrupted, nothing
    is asked twice. The first configuration is the one that the others are held against.

    A configuration on which `IN_A_ROW` questions fail one after another is given up: the rest of its questions fail
    too, saying so. Raises BackendError where that happens before there is any reply at all, InputError for readers of
    one name or none, and what `Reader.open` raises.
    """
    check_rule(rule)
    names = [_name(reader, k) for reader in readers for k in reader.ks]
    if not names:
        raise InputError("there is no reader to evaluate")
    if len(set(names)) < len(names):
        raise InputError(f"two configurations have one name: {', '.join(names)}")
    outcomes: list[Outcome] = []
    for reader in readers:
        with reader.open() as opened:
            work = _Work(answers, reader, opened, kept, listener or EvaluationListener(), first=not outcomes)
            gold = work.on_gold()
            for k in reader.ks:
                asked = work.end_to_end(k, gold)
                outcomes.append(assess(_name(reader, k), reader.name, k, opened.answerer.name, asked, rule, seed))
                outcomes[-1] = replace(outcomes[-1], kept=work.take_kept())
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
        versus=tuple(versus(outcomes, seed)),
        notes=(*answers.notes, *odd_gold(questions, rule)),
    )
    return correct_answers([report])[0]


class _Work:
    """One reader at work on the questions of a set."""

    def __init__(
        self,
        answers: AnswerSet,
        reader: Reader,
        opened: Opened,
        kept: KeptReplies | None,
        listener: EvaluationListener,
        *,
        first: bool,
    ) -> None:
        self.answers = answers
        self.reader = reader
        self.opened = opened
        self.kept = kept
        self.listener = listener
        self._found: dict[str, Found] = {}
        self._silent = first  #: nothing has been replied by any reader
        self._in_a_row: Counter[str] = Counter()  #: failures since the last success, of replies and of probabilities
        self._taken = 0

    def take_kept(self) -> int:
        """How many replies were taken from what was kept, since this was asked last."""
        taken, self._taken = self._taken, 0
        return taken

    def on_gold(self) -> dict[str, Reply]:
        """Question id → the reply to its gold passages, or to the one that only looks right; not for those without."""
        replies: dict[str, Reply] = {}
        most = max(self.reader.ks)
        for question in self._counted("gold passage"):
            named = question.gold[:most] if question.answerable else (question.shown,) if question.shown else ()
            if passages := self.opened.passages(named) if named else ():
                replies[question.id] = self._reply(question, passages)
        return replies

    def end_to_end(self, k: int, gold: Mapping[str, Reply]) -> list[Asked]:
        """Every question with the first k passages that are found."""
        asked = []
        for question in self._counted(f"k={k}"):
            if question.id not in self._found:
                self._found[question.id] = self.opened.search(question.text, max(self.reader.ks))
            found = self._found[question.id]
            passages = found.passages[:k]
            reply = self._reply(question, passages) if passages else Reply("abstained", reason="nothing was found")
            logprob, failure = self._gold_logprob(question, passages)
            asked.append(
                Asked(
                    question,
                    tuple(each.chunk.document_id for each in passages),
                    gold.get(question.id),
                    reply,
                    found.seconds,
                    logprob,
                    failure,
                )
            )
        return asked

    def _counted(self, what: str) -> Iterable[Question]:
        name = f"{self.reader.name} {what}"
        if not self._silent:
            self._in_a_row.clear()  # fewer passages may fit where more did not
        for done, question in enumerate(self.answers.questions, 1):
            yield question
            self.listener.searching(self.answers.name, name, done, len(self.answers.questions))

    def _key(self, question: Question, passages: Sequence[Passage], *more: str) -> str:
        return KeptReplies.key(
            self.reader.recipe,
            self.opened.answerer.name,
            question.text,
            # The score too: it is the prior where passages are marginalized.
            *(f"{each.chunk.id} {each.hit.stage} {each.hit.score:.5g}" for each in passages),
            "",
            *more,
        )

    def _reply(self, question: Question, passages: Sequence[Passage]) -> Reply:
        key = self._key(question, passages)
        if self.kept and (reply := self.kept.reply(key)):
            self._taken += 1
            self._silent = False
            return reply
        if self._in_a_row["reply"] >= IN_A_ROW:
            return Reply("failed", reason=_GIVEN_UP)
        started = time.perf_counter()
        try:
            generation = self.opened.answerer.answer(question.text, passages)
        except (BackendError, InputError) as error:
            self._failed("reply", error)
            return Reply("failed", reason=str(error), seconds=time.perf_counter() - started)
        self._succeeded("reply")
        named = passages if getattr(self.opened.answerer, "names_sources", False) else None
        reply = reply_of(generation, time.perf_counter() - started, named)
        if self.kept:
            self.kept.put_reply(key, reply)
        return reply

    def _gold_logprob(self, question: Question, passages: Sequence[Passage]) -> tuple[float | None, str]:
        if not question.answerable or not passages:
            return None, ""
        key = self._key(question, passages, *question.answers)
        if self.kept and (known := self.kept.logprob(key)) is not None:
            return known, ""
        if self._in_a_row["probability"] >= IN_A_ROW:
            return None, _GIVEN_UP
        try:
            logprob = self.opened.answerer.gold_logprob(question.text, passages, question.answers)
        except (BackendError, InputError) as error:
            self._failed("probability", error)
            return None, str(error)
        if logprob is None:
            return None, ""
        self._succeeded("probability")
        if self.kept:
            self.kept.put_logprob(key, logprob)
        return logprob, ""

    def _succeeded(self, what: str) -> None:
        self._silent = False
        self._in_a_row[what] = 0

    def _failed(self, what: str, error: BackendError | InputError) -> None:
        self._in_a_row[what] += 1
        if self._silent and self._in_a_row[what] >= IN_A_ROW:
            message = f"{self.opened.answerer.name} failed {IN_A_ROW} times in a row, the last time: {error}"
            raise BackendError(message) from error


def _name(reader: Reader, k: int) -> str:
    return f"{reader.name} k={k}"


# Measuring
