"""Readers measured on questions with gold answers: what retrieval finds, what the reader makes of it, and of the truth.

Each question is put to a reader twice: with its gold passage alone, and with the first k passages that a search finds.
The difference between the two is what retrieval costs; what the gold passage does not give either is the reader's own.

Every reply ends in one of three ways. ``answered``: there is a text, and it is scored. ``abstained``: the reader says
that the passages do not hold the answer; on a question that has one this scores 0, on one without it is right.
``failed``: an error, with its reason. A failure is no answer and no abstention: it is counted, it is in no mean, and
`Reading.failed_as_wrong` says what the means would be if it were wrong.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from pincite.assemble import assemble, is_refusal
from pincite.errors import BackendError, InputError
from pincite.evaluation.answer_measures import AnswerScore, Rule, check_rule, normal_form, score
from pincite.evaluation.index import EvaluationListener
from pincite.evaluation.kept_replies import KeptReplies, Reply
from pincite.evaluation.significance import bootstrap_interval, holm, randomization_test
from pincite.markers import MarkerResolver
from pincite.types import Generation, Prompt

if TYPE_CHECKING:
    from pincite.evaluation.answer_sets import AnswerSet, Question
    from pincite.protocols import Generator
    from pincite.types import Passage

__all__ = [
    "AnswerReport",
    "AnswerVersus",
    "Answerer",
    "Asked",
    "Found",
    "GeneratorAnswerer",
    "GoldProbability",
    "Mean",
    "Opened",
    "Outcome",
    "Reader",
    "Reading",
    "correct_answers",
    "evaluate_answers",
    "without_markers",
]

#: After so many failures one after another no more is asked: an endpoint that is gone, prompts that never fit.
IN_A_ROW = 5

_GIVEN_UP = f"not asked, after {IN_A_ROW} failures in a row"

#: A marker right behind a word, or behind another.
_TOUCHING = re.compile(r"(?<=[\w\]])\[([0-9]{1,3})\]")

#: Two values no further apart than this are equal.
_EQUAL = 1e-9


class Answerer(Protocol):
    """What answers questions from passages."""

    @property
    def name(self) -> str:
        """Which model, for the record."""
        ...

    def answer(self, question: str, passages: Sequence[Passage]) -> Generation:
        """The answer, plain text without citation markers; empty where the passages do not hold one.

        Raises BackendError when the model fails, InputError for what it cannot take.
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
    a method ``answer_logprob(question, passages, answer)`` tells the probability of gold answers.
    """

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
        return replace(generation, text=without_markers(generation.text, len(prompt.passages)), usage=usage)

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
                outcomes.append(_assess(_name(reader, k), reader.name, k, opened.answerer.name, asked, rule, seed))
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
        versus=tuple(_versus(outcomes, seed)),
        notes=(*answers.notes, *_odd_gold(questions, rule)),
    )
    return correct_answers([report])[0]


def correct_answers(reports: Sequence[AnswerReport]) -> list[AnswerReport]:
    """The reports with `AnswerVersus.p_holm` corrected over every comparison of all of them together."""
    corrected = iter(holm([versus.p for report in reports for versus in report.versus]))
    return [
        replace(report, versus=tuple(replace(versus, p_holm=next(corrected)) for versus in report.versus))
        for report in reports
    ]


# Asking


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
        reply = _reply_of(generation, time.perf_counter() - started)
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


def _reply_of(generation: Generation, seconds: float) -> Reply:
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
    )


def _name(reader: Reader, k: int) -> str:
    return f"{reader.name} k={k}"


# Measuring


def _assess(name: str, reader: str, k: int, model: str, asked: Sequence[Asked], rule: Rule, seed: int) -> Outcome:
    questions = [each.question for each in asked]
    replies = [each.end_to_end for each in asked]
    on_gold = [each.on_gold for each in asked]
    scores = _scores(questions, replies, rule)
    gold_scores = _scores(questions, on_gold, rule)
    seconds = [each.search_seconds + each.end_to_end.seconds for each in asked if each.end_to_end.outcome != "failed"]
    return Outcome(
        name=name,
        reader=reader,
        k=k,
        model=model,
        success=_mean([float(each.found) for each in asked if each.found is not None], seed),
        on_gold=_reading(questions, on_gold, gold_scores, seed) if any(on_gold) else None,
        end_to_end=_reading(questions, replies, scores, seed),
        probability=_probability(asked, seed),
        p50_seconds=float(np.median(seconds)) if seconds else None,
        dropped=sum(each.dropped for each in replies),
        kept=0,
        asked=tuple(asked),
        scores=tuple(scores),
        gold_scores=tuple(gold_scores),
    )


def _scores(questions: Sequence[Question], replies: Sequence[Reply | None], rule: Rule) -> list[AnswerScore | None]:
    """What each reply is worth: an abstention as the empty answer, nothing for a failure."""
    return [
        None
        if reply is None or reply.outcome == "failed"
        else score(reply.text if reply.outcome == "answered" else "", question.answers, rule)
        for question, reply in zip(questions, replies, strict=True)
    ]


def _reading(
    questions: Sequence[Question], replies: Sequence[Reply | None], scores: Sequence[AnswerScore | None], seed: int
) -> Reading:
    rows = [(q, r, s) for q, r, s in zip(questions, replies, scores, strict=True) if r is not None]
    scored = [(q, s) for q, _, s in rows if s is not None]
    answerable = [s for q, s in scored if q.answerable]
    failures = Counter(r.reason for _, r, _ in rows if r.outcome == "failed")
    outcomes = Counter(r.outcome for q, r, _ in rows if q.answerable)
    refused = [float(r.outcome == "abstained") for q, r, _ in rows if not q.answerable and r.outcome != "failed"]
    return Reading(
        exact=_mean([each.exact for each in answerable], seed),
        f1=_mean([each.f1 for each in answerable], seed),
        answered=outcomes["answered"],
        abstained=outcomes["abstained"],
        failed=sum(failures.values()),
        right_abstentions=_mean(refused, seed),
        all_exact=_mean([each.exact for _, each in scored], seed),
        all_f1=_mean([each.f1 for _, each in scored], seed),
        failed_as_wrong=(
            sum(each.exact for _, each in scored) / len(rows) if rows else 0.0,
            sum(each.f1 for _, each in scored) / len(rows) if rows else 0.0,
        ),
        failures=dict(failures.most_common()),
        cut=sum(r.cut for _, r, _ in rows),
    )


def _probability(asked: Sequence[Asked], seed: int) -> GoldProbability | None:
    told = [each.gold_logprob for each in asked if each.gold_logprob is not None]
    failed = sum(bool(each.gold_failure) for each in asked)
    possible = [each for each in told if each > -math.inf]
    if not told and not failed:
        return None
    return GoldProbability(
        mean=_mean([math.exp(each) for each in told], seed),
        mean_log=_mean(possible, seed),
        impossible=len(told) - len(possible),
        failed=failed,
    )


def _mean(values: Sequence[float], seed: int) -> Mean | None:
    if not values:
        return None
    low, high = bootstrap_interval(values, seed=seed)
    return Mean(float(np.mean(values)), low, high, len(values))


_Values: TypeAlias = "Callable[[Outcome], list[float | None]]"


def _versus(outcomes: Sequence[Outcome], seed: int) -> Iterable[AnswerVersus]:
    if len(outcomes) < 2:
        return
    first = outcomes[0]
    all_questions = first.end_to_end.right_abstentions is not None

    def f1(outcome: Outcome) -> list[float | None]:
        return [
            value.f1 if value is not None and (all_questions or each.question.answerable) else None
            for each, value in zip(outcome.asked, outcome.scores, strict=True)
        ]

    def logprob(outcome: Outcome) -> list[float | None]:
        return [
            each.gold_logprob if each.gold_logprob is not None and each.gold_logprob > -math.inf else None
            for each in outcome.asked
        ]

    measures: list[tuple[str, _Values]] = [
        ("F1 of all questions" if all_questions else "F1", f1),
        ("log p(gold)", logprob),
    ]
    for measure, values in measures:
        # The first that has the measure: the first configuration may be one that gives no probabilities.
        against = next((each for each in outcomes if any(v is not None for v in values(each))), first)
        for other in outcomes:
            if other is not against and (versus := _compare(other, against, measure, values, seed)):
                yield versus


def _compare(outcome: Outcome, against: Outcome, measure: str, values: _Values, seed: int) -> AnswerVersus | None:
    pairs = [
        (mine, theirs)
        for mine, theirs in zip(values(outcome), values(against), strict=True)
        if mine is not None and theirs is not None
    ]
    if not pairs:
        return None
    differences = np.array([mine - theirs for mine, theirs in pairs])
    differences[np.abs(differences) <= _EQUAL] = 0.0
    p = randomization_test(differences, seed=seed)
    return AnswerVersus(
        name=outcome.name,
        against=against.name,
        measure=measure,
        n=len(pairs),
        difference=float(differences.mean()),
        interval=bootstrap_interval(differences, seed=seed),
        p=p,
        p_holm=p,
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
    )


def _odd_gold(questions: Sequence[Question], rule: Rule) -> list[str]:
    """What is to be known of the gold answers under this rule."""
    empty = [each for each in questions if each.answers and not any(normal_form(a, rule) for a in each.answers)]
    if not empty:
        return []
    return [
        f"{len(empty)} of the questions {'has' if len(empty) == 1 else 'have'} gold answers of which the rule {rule} "
        f"leaves nothing, {empty[0].answers[0]!r} the first: it counts an abstention as right there; "
        "the rule unicode does not"
    ]
