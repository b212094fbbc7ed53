"""What an evaluation of answers found: as tables, as data, as Markdown, as a page, and question by question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from pincite.evaluation.answer_records import AnswerReport, AnswerVersus, Mean, Outcome, Reading
from pincite.evaluation.report import SIGNIFICANT
from pincite.evaluation.wide_table import WideTable

if TYPE_CHECKING:
    from rich.table import Table

    from pincite.evaluation.answer_measures import AnswerScore
    from pincite.evaluation.kept_replies import Reply

__all__ = ["answers_data", "answers_html", "answers_markdown", "answers_remarks", "answers_rows", "answers_tables"]

#: Stands where there is nothing to give: a reader that tells no probability, a set without a passage to find.
NOTHING = "—"

#: Of fewer questions than this the bootstrap gives intervals that hold the truth much less often than they say.
_FEW = 30

_METHOD = (
    "Success@k: questions with a gold passage among the first k. Gold: the reader is given the gold passage alone. "
    "EM and F1 are of the questions that have an answer, an abstention counting 0. p(gold): the probability that the "
    "reader gives to the gold answers, with the passages that were found. Failures are in no mean."
)


def answers_tables(reports: Sequence[AnswerReport], width: int | None = None) -> Iterator[Table]:
    """The reports as tables of rich: one for each set, and one of comparisons.

    A table that is wider than `width` characters is given in parts below each other, each with the names at its left.
    """
    for each in _wide_tables(reports):
        yield from each.parts(width)


def _wide_tables(reports: Sequence[AnswerReport]) -> Iterator[WideTable]:
    for report in reports:
        yield _set_table(report)
        if report.unanswerable:
            yield _unanswerable_table(report)
    if any(report.versus for report in reports):
        yield _versus_table(reports)


def _title(report: AnswerReport) -> str:
    these = "" if report.questions == 1 else f" {report.unanswerable} of them"
    without = f",{these} without an answer" if report.unanswerable else ""
    return f"{report.dataset} {report.split}: {_count(report.questions, 'question')}{without}, rule {report.rule}"


def _set_table(report: AnswerReport) -> WideTable:
    columns = [
        "", "Success@k", "gold EM", "gold F1", "EM", "F1", "95 % of F1", "abstained", "failed", "p(gold)",
        "log p(gold)", "s p50",
    ]  # fmt: skip
    rows = []
    for each in report.outcomes:
        gold, own, probability = each.on_gold, each.end_to_end, each.probability
        rows.append(
            [
                each.name,
                _figure(each.success),
                _figure(gold.exact if gold else None),
                _figure(gold.f1 if gold else None),
                _figure(own.exact),
                _figure(own.f1),
                f"{own.f1.low:.3f} to {own.f1.high:.3f}" if own.f1 else NOTHING,
                str(own.abstained),
                str(own.failed + (gold.failed if gold else 0)),
                _figure(probability.mean if probability else None),
                _figure(probability.mean_log if probability else None, 3),
                NOTHING if each.p50_seconds is None else _seconds(each.p50_seconds),
            ]
        )
    return WideTable(_title(report), columns, rows)


def _unanswerable_table(report: AnswerReport) -> WideTable:
    """Questions without an answer have a credit of their own."""
    columns = ["", "right abstentions", "95 %", "on the passage shown", "EM of all", "F1 of all"]
    rows = []
    for each in report.outcomes:
        right = each.end_to_end.right_abstentions
        rows.append(
            [
                each.name,
                _figure(right),
                f"{right.low:.3f} to {right.high:.3f}" if right else NOTHING,
                _figure(each.on_gold.right_abstentions if each.on_gold else None),
                _figure(each.end_to_end.all_exact),
                _figure(each.end_to_end.all_f1),
            ]
        )
    return WideTable(f"{report.dataset}: {_count(report.unanswerable, 'question')} without an answer", columns, rows)


def _versus_table(reports: Sequence[AnswerReport]) -> WideTable:
    rows = [
        [versus.name, report.dataset, f"{versus.measure} against {versus.against}", *_versus_cells(versus)]
        for report in reports
        for versus in report.versus
    ]
    columns = ["", "set", "measure", "questions", "difference", "95 %", "p", "p corrected", "won", "tied", "lost"]
    return WideTable("compared question by question", columns, rows, names=2)


def _versus_cells(versus: AnswerVersus) -> tuple[str, ...]:
    low, high = versus.interval
    return (
        str(versus.n),
        f"{versus.difference:+.4f}",
        f"{low:+.3f} to {high:+.3f}",
        f"{versus.p:.4f}",
        f"{versus.p_holm:.4f}{' *' if versus.p_holm < SIGNIFICANT else ''}",
        str(versus.wins),
        str(versus.ties),
        str(versus.losses),
    )


def _figure(mean: Mean | None, digits: int = 4) -> str:
    return NOTHING if mean is None else f"{mean.value:.{digits}f}"


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


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
            lines.append(f"{each.name}: {_count(each.dropped, 'passage')} {fate} not read")
        if each.probability and each.probability.impossible:
            n = each.probability.impossible
            fate = "has probability 0 and is" if n == 1 else "have probability 0 and are"
            lines.append(f"{each.name}: {_count(n, 'gold answer')} {fate} not in the mean of log p(gold)")
        if each.probability and each.probability.failed:
            why = Counter(asked.gold_failure for asked in each.asked if asked.gold_failure)
            lines.append(f"{each.name}: the probability of the gold answer could not be told: {_counted(why)}")
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
            yield f"{_count(number, 'question')}{kind}: intervals by resampling are too narrow"


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
        yield f"{name}: {_count(reading.cut, 'answer')} {fate} longest allowed length"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
        "retrieval": {"success": _mean_data(outcome.success)},
        "gold_passage": _reading_data(outcome.on_gold),
        "end_to_end": _reading_data(outcome.end_to_end),
        "probability_of_gold": None
        if probability is None
        else {
            "mean": _mean_data(probability.mean),
            "mean_log": _mean_data(probability.mean_log),
            "impossible": probability.impossible,
            "failed": probability.failed,
        },
        "p50_seconds": outcome.p50_seconds,
        "passages_dropped": outcome.dropped,
        "kept_from_before": outcome.kept,
        "per_question": list(_question_rows(outcome)),
    }


def _reading_data(reading: Reading | None) -> dict[str, Any] | None:
    if reading is None:
        return None
    exact, f1 = reading.failed_as_wrong
    return {
        "exact": _mean_data(reading.exact),
        "f1": _mean_data(reading.f1),
        "answered": reading.answered,
        "abstained": reading.abstained,
        "failed": reading.failed,
        "failures": dict(reading.failures),
        "failed_as_wrong": {"exact": exact, "f1": f1},
        "right_abstentions": _mean_data(reading.right_abstentions),
        "all_exact": _mean_data(reading.all_exact),
        "all_f1": _mean_data(reading.all_f1),
        "cut": reading.cut,
    }


def _mean_data(mean: Mean | None) -> dict[str, float | int | None] | None:
    if mean is None:
        return None
    return {"mean": mean.value, "low": mean.low, "high": mean.high, "questions": mean.n}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def answers_rows(report: AnswerReport) -> Iterator[dict[str, Any]]:
    """A row for each question under each configuration, for looking into single answers."""
    for outcome in report.outcomes:
        for row in _question_rows(outcome):
            yield {"set": report.dataset, "configuration": outcome.name, "model": outcome.model, **row}


def _question_rows(outcome: Outcome) -> Iterator[dict[str, Any]]:
    for asked, own, gold in zip(outcome.asked, outcome.scores, outcome.gold_scores, strict=True):
        yield {
            "id": asked.question.id,
            "question": asked.question.text,
            "gold": list(asked.question.answers),
            "gold_passages": list(asked.question.gold),
            "passages": list(asked.documents),
            "found": asked.found,
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
    }


def answers_markdown(reports: Sequence[AnswerReport], *, title: str, about: Sequence[str] = ()) -> str:
    """The report as Markdown: the same tables, and what is to be known when reading them."""
    lines = [f"# {_md(title)}", ""]
    for table in _wide_tables(reports):
        lines += [f"## {_md(table.title)}", ""]
        lines.append("| " + " | ".join(_md(each) for each in table.columns) + " |")
        lines.append("|" + "---|" * table.names + "---:|" * (len(table.columns) - table.names))
        lines += ["| " + " | ".join(_md(each) for each in row) + " |" for row in table.rows]
        lines.append("")
    lines += [_METHOD, ""]
    for report in reports:
        lines += [f"- {_md(report.dataset)}: {_md(remark)}" for remark in answers_remarks(report)]
    lines += ["", *(f"    {each}" for each in about), ""]
    return "\n".join(lines)


def _md(text: str) -> str:
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\|`*_<>[]#" else c for c in flat)


_STYLE = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1b1f24; --faint: #5a636e; --line: #d4d9df; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171b; --ink: #e7eaee; --faint: #a3acb7; --line: #363d46; } }
body { background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 80rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } p, li { color: var(--faint); }
code { font-size: .9em; overflow-wrap: anywhere; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th.name, td.name, td.text { text-align: left; } td.text { white-space: normal; min-width: 12rem; }
"""

_ROW_COLUMNS = ("id", "question", "gold", "found", "outcome", "answer", "EM", "F1", "answer on the gold passage")


def answers_html(reports: Sequence[AnswerReport], *, title: str, about: Sequence[str] = ()) -> str:
    """The report as one page that needs nothing else; every question can be unfolded. All data is escaped."""
    body = [f"<h1>{escape(title)}</h1>", *(f"<p><code>{escape(each)}</code></p>" for each in about)]
    for table in _wide_tables(reports):
        body += [f"<h2>{escape(table.title)}</h2>", _html_table(table.columns, table.rows, names=table.names)]
    body.append(f"<p>{escape(_METHOD)}</p>")
    for report in reports:
        items = "".join(f"<li>{escape(each)}</li>" for each in answers_remarks(report))
        body.append(f"<h2>{escape(report.dataset)}</h2><ul>{items}</ul>")
        for outcome in report.outcomes:
            rows = [_html_cells(row) for row in _question_rows(outcome)]
            table_text = _html_table(_ROW_COLUMNS, rows, names=len(_ROW_COLUMNS), kind="text")
            body.append(f"<details><summary>{escape(outcome.name)}: every question</summary>{table_text}</details>")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _html_cells(row: dict[str, Any]) -> list[str]:
    on_gold = row["on_gold_passage"]
    return [
        row["id"],
        row["question"],
        " / ".join(row["gold"]) or NOTHING,
        NOTHING if row["found"] is None else "yes" if row["found"] else "no",
        row["outcome"],
        row["reason"] if row["outcome"] == "failed" else row["answer"],
        NOTHING if row["exact"] is None else f"{row['exact']:.0f}",
        NOTHING if row["f1"] is None else f"{row['f1']:.2f}",
        on_gold["answer"] if on_gold else NOTHING,
    ]


def _html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, names: int, kind: str = "name") -> str:
    def cells(row: Sequence[str], tag: str) -> str:
        marks = (f' class="{kind}"' if i < names else "" for i in range(len(row)))
        return "".join(f"<{tag}{mark}>{escape(cell)}</{tag}>" for mark, cell in zip(marks, row, strict=True))

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{cells(columns, "th")}</tr></thead><tbody>{body}</tbody></table></div>'
