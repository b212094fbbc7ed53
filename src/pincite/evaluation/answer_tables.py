"""The figures of an evaluation of answers as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pincite.evaluation.answer_records import STAGES, AnswerReport, AnswerVersus, Mean
from pincite.evaluation.report import SIGNIFICANT
from pincite.evaluation.wide_table import WideTable

__all__ = [
    "LOST_COLUMNS",
    "NOTHING",
    "compared",
    "counted",
    "figure",
    "interval",
    "lost_cells",
    "versus_table",
    "wide_tables",
]

#: Stands where there is nothing to give: a reader that tells no probability, a set without a passage to find.
NOTHING = "—"


def wide_tables(reports: Sequence[AnswerReport]) -> Iterator[WideTable]:
    """The reports as tables: of each set, of what it refused, of where questions were lost, and of comparisons."""
    for report in reports:
        yield _set_table(report)
        if report.unanswerable:
            yield _unanswerable_table(report)
        yield _lost_table(report)
    if any(report.versus for report in reports):
        yield versus_table(reports)


def _title(report: AnswerReport) -> str:
    these = "" if report.questions == 1 else f" {report.unanswerable} of them"
    without = f",{these} without an answer" if report.unanswerable else ""
    return f"{report.dataset} {report.split}: {counted(report.questions, 'question')}{without}, rule {report.rule}"


def _set_table(report: AnswerReport) -> WideTable:
    columns = [
        "", "retrieval: Success@k", "gold passage: EM", "gold passage: F1", "end to end: EM", "end to end: F1",
        "95 % of F1", "abstained", "failed", "p(gold)", "log p(gold)", "s p50",
    ]  # fmt: skip
    rows = []
    for each in report.outcomes:
        gold, own, probability = each.on_gold, each.end_to_end, each.probability
        rows.append(
            [
                each.name,
                figure(each.success),
                figure(gold.exact if gold else None),
                figure(gold.f1 if gold else None),
                figure(own.exact),
                figure(own.f1),
                interval(own.f1),
                str(own.abstained),
                str(own.failed + (gold.failed if gold else 0)),
                figure(probability.mean if probability else None),
                figure(probability.mean_log if probability else None, 3),
                NOTHING if each.p50_seconds is None else _seconds(each.p50_seconds),
            ]
        )
    return WideTable(_title(report), columns, rows)


def _unanswerable_table(report: AnswerReport) -> WideTable:
    """Questions without an answer have a credit of their own."""
    columns = [
        "", "refusals: precision", "95 %", "recall", "95 %", "F1", "95 %", "on the passage shown", "EM of all",
        "F1 of all",
    ]  # fmt: skip
    rows = []
    for each in report.outcomes:
        refusals = each.end_to_end.refusals
        told = (refusals.precision, refusals.recall, refusals.f1) if refusals else (None,) * 3
        rows.append(
            [
                each.name,
                *(cell for mean in told for cell in (figure(mean), interval(mean))),
                figure(each.on_gold.right_abstentions if each.on_gold else None),
                figure(each.end_to_end.all_exact),
                figure(each.end_to_end.all_f1),
            ]
        )
    return WideTable(f"{report.dataset}: {counted(report.unanswerable, 'question')} without an answer", columns, rows)


def _lost_table(report: AnswerReport) -> WideTable:
    """Which stage lost how many questions."""
    columns = ["", "not lost", *LOST_COLUMNS]
    rows = []
    for each in report.outcomes:
        stages = Counter(
            "answered" if lost.stage == "refusal" and not asked.question.answerable else lost.stage
            for asked, lost in zip(each.asked, each.lost, strict=True)
            if lost is not None
        )
        rows.append([each.name, str(len(each.asked) - stages.total()), *lost_cells(stages)])
    return WideTable(f"{report.dataset}: the stage that lost a question", columns, rows)


LOST_COLUMNS = (*(f"lost: {each}" for each in STAGES), "answered without an answer")


def lost_cells(stages: Counter[str]) -> list[str]:
    """How many each stage lost, in the order of `LOST_COLUMNS`."""
    return [str(stages[each]) for each in (*STAGES, "answered")]


def versus_table(reports: Sequence[AnswerReport]) -> WideTable:
    """Every comparison of the reports."""
    return compared((report.dataset, versus) for report in reports for versus in report.versus)


def compared(pairs: Iterable[tuple[str, AnswerVersus]]) -> WideTable:
    """Comparisons, each with the set that it is on."""
    rows = [
        [versus.name, dataset, f"{versus.measure} against {versus.against}", *_versus_cells(versus)]
        for dataset, versus in pairs
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


def figure(mean: Mean | None, digits: int = 4) -> str:
    """The mean as it is printed."""
    return NOTHING if mean is None else f"{mean.value:.{digits}f}"


def interval(mean: Mean | None) -> str:
    """Its 95 % interval as it is printed."""
    return NOTHING if mean is None else f"{mean.low:.3f} to {mean.high:.3f}"


def counted(number: int, noun: str) -> str:
    """``1 question``, ``2 questions``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"
