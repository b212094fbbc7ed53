"""From replies to figures: means with intervals, the probability of gold, and comparisons with the first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pincite.evaluation.answer_measures import AnswerScore, Rule, normal_form, score
from pincite.evaluation.answer_refusals import measure_refusals
from pincite.evaluation.answer_stages import GATES, is_right, lost_at
from pincite.evaluation.kept_replies import Reply
from pincite.evaluation.significance import bootstrap_interval, holm, randomization_test

if TYPE_CHECKING:
    from pincite.evaluation.answer_sets import Question

from pincite.evaluation.answer_records import (
    AnswerReport,
    AnswerVersus,
    Asked,
    GoldProbability,
    Lost,
    Mean,
    Outcome,
    Reading,
)

__all__ = [
    "assess",
    "correct",
    "correct_answers",
    "mean_of",
    "odd_gold",
    "paired",
    "versus",
]

#: Two values no further apart than this are equal.
_EQUAL = 1e-9


def assess(name: str, reader: str, k: int, model: str, asked: Sequence[Asked], rule: Rule, seed: int) -> Outcome:
    """The figures of one configuration from what was asked and replied."""
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
        success=mean_of([float(each.found) for each in asked if each.found is not None], seed),
        on_gold=_reading(questions, on_gold, gold_scores, seed) if any(on_gold) else None,
        end_to_end=_reading(questions, replies, scores, seed),
        probability=_probability(asked, seed),
        p50_seconds=float(np.median(seconds)) if seconds else None,
        dropped=sum(each.dropped for each in replies),
        kept=0,
        asked=tuple(asked),
        scores=tuple(scores),
        gold_scores=tuple(gold_scores),
        lost=tuple(_lost(each, rule) for each in asked),
    )


def _lost(asked: Asked, rule: Rule) -> Lost | None:
    reply, gold, answers = asked.end_to_end, asked.on_gold, asked.question.answers
    alone = None if gold is None or gold.outcome == "failed" else is_right(_answered(gold), answers, rule)
    return lost_at(
        asked.question,
        found=asked.found,
        outcome=reply.outcome,
        right=is_right(_answered(reply), answers, rule),
        cited=reply.cited,
        # A reader that was only given passages says why in its own words: each refusal would be one of its own.
        why=reply.reason if reply.outcome == "failed" or reply.reason in GATES else "the reader",
        right_on_gold=alone,
    )


def _answered(reply: Reply) -> str:
    return reply.text if reply.outcome == "answered" else ""


def _scores(questions: Sequence[Question], replies: Sequence[Reply | None], rule: Rule) -> list[AnswerScore | None]:
    """What each reply is worth: an abstention as the empty answer, nothing for a failure."""
    return [
        None if reply is None or reply.outcome == "failed" else score(_answered(reply), question.answers, rule)
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
        exact=mean_of([each.exact for each in answerable], seed),
        f1=mean_of([each.f1 for each in answerable], seed),
        answered=outcomes["answered"],
        abstained=outcomes["abstained"],
        failed=sum(failures.values()),
        right_abstentions=mean_of(refused, seed),
        all_exact=mean_of([each.exact for _, each in scored], seed),
        all_f1=mean_of([each.f1 for _, each in scored], seed),
        failed_as_wrong=(
            sum(each.exact for _, each in scored) / len(rows) if rows else 0.0,
            sum(each.f1 for _, each in scored) / len(rows) if rows else 0.0,
        ),
        failures=dict(failures.most_common()),
        cut=sum(r.cut for _, r, _ in rows),
        refusals=measure_refusals(
            [(q.answerable, r.outcome == "abstained") for q, r, _ in rows if r.outcome != "failed"], seed
        ),
    )


def _probability(asked: Sequence[Asked], seed: int) -> GoldProbability | None:
    told = [each.gold_logprob for each in asked if each.gold_logprob is not None]
    failed = sum(bool(each.gold_failure) for each in asked)
    possible = [each for each in told if each > -math.inf]
    if not told and not failed:
        return None
    return GoldProbability(
        mean=mean_of([math.exp(each) for each in told], seed),
        mean_log=mean_of(possible, seed),
        impossible=len(told) - len(possible),
        failed=failed,
    )


def mean_of(values: Sequence[float], seed: int) -> Mean | None:
    """The mean with its 95 % bootstrap interval; None of no values."""
    if not values:
        return None
    low, high = bootstrap_interval(values, seed=seed)
    return Mean(float(np.mean(values)), low, high, len(values))


_Values: TypeAlias = "Callable[[Outcome], list[float | None]]"


def versus(outcomes: Sequence[Outcome], seed: int) -> Iterable[AnswerVersus]:
    """Every configuration against the first that has the measure, on F1 and on the probability of gold."""
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
    return paired(outcome.name, against.name, measure, pairs, seed)


def paired(
    name: str, against: str, measure: str, pairs: Sequence[tuple[float, float]], seed: int
) -> AnswerVersus | None:
    """One configuration held against another, of each question both values; None without any."""
    if not pairs:
        return None
    differences = np.array([mine - theirs for mine, theirs in pairs])
    differences[np.abs(differences) <= _EQUAL] = 0.0
    p = randomization_test(differences, seed=seed)
    return AnswerVersus(
        name=name,
        against=against,
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


def correct_answers(reports: Sequence[AnswerReport]) -> list[AnswerReport]:
    """The reports with `AnswerVersus.p_holm` corrected over every comparison of all of them together."""
    corrected = iter(correct([versus for report in reports for versus in report.versus]))
    return [replace(report, versus=tuple(next(corrected) for _ in report.versus)) for report in reports]


def correct(comparisons: Sequence[AnswerVersus]) -> list[AnswerVersus]:
    """The comparisons with `AnswerVersus.p_holm` corrected over all of them."""
    p_values = holm([each.p for each in comparisons])
    return [replace(each, p_holm=p) for each, p in zip(comparisons, p_values, strict=True)]


# Asking


def odd_gold(questions: Sequence[Question], rule: Rule) -> list[str]:
    """What is to be known of the gold answers under this rule."""
    empty = [each for each in questions if each.answers and not any(normal_form(a, rule) for a in each.answers)]
    if not empty:
        return []
    return [
        f"{len(empty)} of the questions {'has' if len(empty) == 1 else 'have'} gold answers of which the rule {rule} "
        f"leaves nothing, {empty[0].answers[0]!r} the first: it counts an abstention as right there; "
        "the rule unicode does not"
    ]
