"""What an evaluation of answers found: as tables, as data, as Markdown, as a page, and question by question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pincite.evaluation.answer_records import STAGES, AnswerReport, Lost, Mean, Outcome, Reading, Refusals
from pincite.evaluation.answer_stages import RIGHT_F1
from pincite.evaluation.answer_tables import counted, wide_tables

if TYPE_CHECKING:
    from rich.table import Table

    from pincite.evaluation.answer_measures import AnswerScore
    from pincite.evaluation.kept_replies import Reply
    from pincite.evaluation.wide_table import WideTable

__all__ = [
    "METHOD",
    "answers_data",
    "answers_markdown",
    "answers_remarks",
    "answers_rows",
    "answers_tables",
    "lost_data",
    "markdown",
    "mean_data",
    "question_rows",
    "refusals_data",
]

#: Of fewer questions than this the bootstrap gives intervals that hold the truth much less often than they say.
_FEW = 30

METHOD = (
    "Success@k: questions with a gold passage among the first k. Gold: the reader is given the gold passage alone. "
    "EM and F1 are of the questions that have an answer, an abstention counting 0. p(gold): the probability that the "
    "reader gives to the gold answers, with the passages that were found. Failures are in no mean. A question is lost "
    "at the first stage that went wrong. retrieval: no gold passage was found. refusal: refused though one was. "
    "reading: the answer is wrong, which is neither a gold answer, nor holds all words of one in a row, nor has "
    f"F1 of {RIGHT_F1:g} or more. citation: the answer is right and names no gold passage as its source."
)


def answers_tables(reports: Sequence[AnswerReport], width: int | None = None) -> Iterator[Table]:
    """The reports as tables of rich: one for each set, and one of comparisons.

    A table that is wider than `width` characters is given in parts below each other, each with the names at its left.
    """
    for each in wide_tables(reports):
        yield from each.parts(width)


def answers_remarks(report: AnswerReport) -> list[str]:
    """What is to be known when reading the figures, in words: failures with their reasons, what was left out."""
    lines = [*report.notes]
    if report.questions < report.total:
        lines.append(f"a sample of {report.questions} of {report.total} questions, drawn by the seed {report.seed}")
    if report.outcomes and report.outcomes[0].success is None:
        lines.append("no question has a gold passage: nothing is said of retrieval")
    lines += _few_remarks(report)
    readings: dict[str, Reading | None] = {}
    for each in report.outcomes:
        readings.setdefault(f"{each.reader}, gold passage", each.on_gold)  # one for all numbers of passages
        readings[each.name] = each.end_to_end
        if each.dropped:
            fate = (
                "did not fit into its prompt and was"
                if each.dropped == 1
                else "did not fit into their prompts and were"
            )
            lines.append(f"{each.name}: {counted(each.dropped, 'passage')} {fate} not read")
        if each.probability and each.probability.impossible:
            n = each.probability.impossible
            fate = "has probability 0 and is" if n == 1 else "have probability 0 and are"
            lines.append(f"{each.name}: {counted(n, 'gold answer')} {fate} not in the mean of log p(gold)")
        if each.probability and each.probability.failed:
            why = Counter(asked.gold_failure for asked in each.asked if asked.gold_failure)
            lines.append(f"{each.name}: the probability of the gold answer could not be told: {_counted(why)}")
        for stage in STAGES:
            why = Counter(lost.by for lost in each.lost if lost is not None and lost.stage == stage and lost.by)
            if stage != "failure" and why:
                lines.append(f"{each.name}: lost by {stage}: {_counted(dict(why.most_common()))}")
        if each.kept:
            fate = (
                "1 reply was kept from before, with the time it"
                if each.kept == 1
                else (f"{each.kept} replies were kept from before, with the time they")
            )
            lines.append(f"{each.name}: {fate} took then")
    for name, reading in readings.items():
        lines += _reading_remarks(name, reading) if reading else []
    return lines


def _few_remarks(report: AnswerReport) -> Iterator[str]:
    """Said of the whole set, or of the one of its two kinds of questions that is too few."""
    parts = (
        ((report.questions, ""),)
        if report.questions < _FEW
        else ((report.questions - report.unanswerable, " with an answer"), (report.unanswerable, " without an answer"))
    )
    for number, kind in parts:
        if 0 < number < _FEW:
            yield f"{counted(number, 'question')}{kind}: intervals by resampling are too narrow"


def _reading_remarks(name: str, reading: Reading) -> Iterator[str]:
    if reading.failed:
        exact, f1 = reading.failed_as_wrong
        yield (
            f"{name}: {reading.failed} failed and {'is' if reading.failed == 1 else 'are'} in no mean: "
            f"{_counted(reading.failures)}. "
            f"Counted as wrong, EM of all questions is {exact:.4f} and F1 {f1:.4f}"
        )
    if reading.cut:
        fate = "was cut off at its" if reading.cut == 1 else "were cut off at their"
        yield f"{name}: {counted(reading.cut, 'answer')} {fate} longest allowed length"


def _counted(reasons: Mapping[str, int]) -> str:
    return "; ".join(f"{count} × {reason}" for reason, count in reasons.items())


def answers_data(reports: Sequence[AnswerReport]) -> dict[str, Any]:
    """Everything in the reports as plain JSON data, question by question as well. Minus infinity is null."""
    return {
        "sets": [
            {
                "dataset": report.dataset,
                "split": report.split,
                "rule": report.rule,
                "seed": report.seed,
                "questions": report.questions,
                "unanswerable": report.unanswerable,
                "total": report.total,
                "failed": report.failed,
                "facts": dict(report.facts),
                "notes": answers_remarks(report),
                "configurations": {each.name: _outcome_data(each) for each in report.outcomes},
                "comparisons": [asdict(versus) for versus in report.versus],
            }
            for report in reports
        ]
    }


def _outcome_data(outcome: Outcome) -> dict[str, Any]:
    probability = outcome.probability
    return {
        "reader": outcome.reader,
        "k": outcome.k,
        "model": outcome.model,
        "retrieval": {"success": mean_data(outcome.success)},
        "gold_passage": _reading_data(outcome.on_gold),
        "end_to_end": _reading_data(outcome.end_to_end),
        "probability_of_gold": None
        if probability is None
        else {
            "mean": mean_data(probability.mean),
            "mean_log": mean_data(probability.mean_log),
            "impossible": probability.impossible,
            "failed": probability.failed,
        },
        "p50_seconds": outcome.p50_seconds,
        "passages_dropped": outcome.dropped,
        "kept_from_before": outcome.kept,
        "lost": _lost_counts(outcome),
        "per_question": list(question_rows(outcome)),
    }


def _reading_data(reading: Reading | None) -> dict[str, Any] | None:
    if reading is None:
        return None
    exact, f1 = reading.failed_as_wrong
    return {
        "exact": mean_data(reading.exact),
        "f1": mean_data(reading.f1),
        "answered": reading.answered,
        "abstained": reading.abstained,
        "failed": reading.failed,
        "failures": dict(reading.failures),
        "failed_as_wrong": {"exact": exact, "f1": f1},
        "right_abstentions": mean_data(reading.right_abstentions),
        "refusals": refusals_data(reading.refusals),
        "all_exact": mean_data(reading.all_exact),
        "all_f1": mean_data(reading.all_f1),
        "cut": reading.cut,
    }


def refusals_data(refusals: Refusals | None) -> dict[str, Any] | None:
    """As plain JSON data."""
    if refusals is None:
        return None
    return {
        "precision": mean_data(refusals.precision),
        "recall": mean_data(refusals.recall),
        "f1": mean_data(refusals.f1),
        "right": refusals.right,
        "wrong": refusals.wrong,
        "missed": refusals.missed,
    }


def lost_data(lost: Lost | None) -> dict[str, str] | None:
    """As plain JSON data."""
    return None if lost is None else {"stage": lost.stage, "by": lost.by}


def _lost_counts(outcome: Outcome) -> dict[str, Any]:
    """How many questions each stage lost, and the ids of them."""
    ids: dict[str, list[str]] = {each: [] for each in STAGES}
    for asked, lost in zip(outcome.asked, outcome.lost, strict=True):
        if lost is not None:
            ids[lost.stage].append(asked.question.id)
    why: dict[str, Counter[str]] = {name: Counter() for name in ids}
    for lost in outcome.lost:
        if lost is not None:
            why[lost.stage][lost.by] += 1
    return {
        name: {"questions": len(each), "by": {by: n for by, n in why[name].most_common() if by}, "ids": each}
        for name, each in ids.items()
    }


def mean_data(mean: Mean | None) -> dict[str, float | int | None] | None:
    """As plain JSON data."""
    if mean is None:
        return None
    return {"mean": mean.value, "low": mean.low, "high": mean.high, "questions": mean.n}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def answers_rows(report: AnswerReport) -> Iterator[dict[str, Any]]:
    """A row for each question under each configuration, for looking into single answers."""
    for outcome in report.outcomes:
        for row in question_rows(outcome):
            yield {"set": report.dataset, "configuration": outcome.name, "model": outcome.model, **row}


def question_rows(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """Every question of a configuration, as plain JSON data."""
    rows = zip(outcome.asked, outcome.scores, outcome.gold_scores, outcome.lost, strict=True)
    for asked, own, gold, lost in rows:
        yield {
            "id": asked.question.id,
            "question": asked.question.text,
            "gold": list(asked.question.answers),
            "gold_passages": list(asked.question.gold),
            "passages": list(asked.documents),
            "found": asked.found,
            "lost": lost_data(lost),
            **_reply_data(asked.end_to_end, own),
            "search_seconds": asked.search_seconds,
            "gold_logprob": _finite(asked.gold_logprob),
            "gold_impossible": asked.gold_logprob == -math.inf,
            "gold_logprob_failure": asked.gold_failure,
            "on_gold_passage": _reply_data(asked.on_gold, gold) if asked.on_gold else None,
        }


def _reply_data(reply: Reply, score: AnswerScore | None) -> dict[str, Any]:
    return {
        "outcome": reply.outcome,
        "answer": reply.text,
        "reason": reply.reason,
        "exact": score.exact if score else None,
        "f1": score.f1 if score else None,
        "seconds": reply.seconds,
        "priors": list(reply.priors),
        "posteriors": list(reply.posteriors),
        "logprob": _finite(reply.logprob),
        "certainty": reply.certainty,
        "cited": None if reply.cited is None else list(reply.cited),
    }


def answers_markdown(reports: Sequence[AnswerReport], *, title: str, about: Sequence[str] = ()) -> str:
    """The report as Markdown: the same tables, and what is to be known when reading them."""
    remarks = [f"{report.dataset}: {remark}" for report in reports for remark in answers_remarks(report)]
    return markdown(title, list(wide_tables(reports)), METHOD, remarks, about)


def markdown(title: str, tables: Sequence[WideTable], method: str, remarks: Sequence[str], about: Sequence[str]) -> str:
    """A report of tables as Markdown. Everything that comes from data is escaped."""
    lines = [f"# {_md(title)}", ""]
    for table in tables:
        lines += [f"## {_md(table.title)}", ""]
        lines.append("| " + " | ".join(_md(each) for each in table.columns) + " |")
        lines.append("|" + "---|" * table.names + "---:|" * (len(table.columns) - table.names))
        lines += ["| " + " | ".join(_md(each) for each in row) + " |" for row in table.rows]
        lines.append("")
    lines += [method, ""]
    lines += [f"- {_md(remark)}" for remark in remarks]
    lines += ["", *(f"    {each}" for each in about), ""]
    return "\n".join(lines)


def _md(text: str) -> str:
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\|`*_<>[]#" else c for c in flat)
