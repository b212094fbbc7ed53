"""What an evaluation found: as data, as tables for a terminal. `pincite.evaluation.page` makes the page in HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pincite.evaluation.compare import Outcome, SetReport, Versus
from pincite.evaluation.wide_table import WideTable

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "SIGNIFICANT",
    "as_data",
    "configuration_names",
    "facts_line",
    "mean_over_sets",
    "measure_names",
    "remarks",
    "tables",
    "versus_cells",
]

#: A comparison whose corrected p-value is below this is marked.
SIGNIFICANT = 0.05


def as_data(reports: Sequence[SetReport]) -> dict[str, Any]:
    """Everything in the reports as plain JSON data, per query as well, and the means over the sets."""
    names = configuration_names(reports)
    measures = measure_names(reports)
    return {
        "sets": [_set_data(report) for report in reports],
        "mean_over_sets": {
            name: {each: mean for each in measures if (mean := mean_over_sets(reports, name, each)) is not None}
            for name in names
        },
    }


def _set_data(report: SetReport) -> dict[str, Any]:
    return {
        "dataset": report.dataset,
        "split": report.split,
        "unit": report.unit,
        "k": report.k,
        "queries": report.queries,
        "judged": report.judged,
        "primary": report.primary,
        "facts": dict(report.facts),
        "notes": list(report.notes),
        "configurations": {outcome.name: _outcome_data(outcome) for outcome in report.outcomes},
        "comparisons": [asdict(versus) for versus in report.versus],
    }


def _outcome_data(outcome: Outcome) -> dict[str, Any]:
    groups = [outcome.measured] + ([outcome.spans] if outcome.spans else [])
    return {
        "measures": {name: each.mean(name) for each in groups for name in each.values},
        "intervals": {name: list(interval) for name, interval in outcome.intervals.items()},
        "recall_curve": list(outcome.curve),
        "latency_ms": asdict(outcome.latency) if outcome.latency else None,
        "documents_per_query": outcome.documents,
        "passages_found_twice": outcome.measured.duplicates,
        "queries_without_a_result": outcome.measured.missing,
        "queries_without_a_relevant_document": outcome.measured.without_relevant,
        "notes": dict(outcome.notes),
        "saved": outcome.saved,
        "is_baseline": outcome.is_baseline,
        "per_query": [
            {"queries": list(each.queries), "values": {name: list(map(float, v)) for name, v in each.values.items()}}
            for each in groups
        ],
    }


def configuration_names(reports: Sequence[SetReport]) -> list[str]:
    """Every configuration, in the order of first appearance."""
    return list(dict.fromkeys(outcome.name for report in reports for outcome in report.outcomes))


def measure_names(reports: Sequence[SetReport]) -> list[str]:
    """Every measure that was taken, in order."""
    found: dict[str, None] = {}
    for report in reports:
        for outcome in report.outcomes:
            for each in (outcome.measured, outcome.spans):
                found |= dict.fromkeys(each.values if each else ())
    return list(found)


def mean_over_sets(reports: Sequence[SetReport], name: str, measure: str) -> float | None:
    """The average of the sets' averages, each set counting once; None unless every set has the figure."""
    values = []
    for report in reports:
        value = _figure(report, name, measure)
        if value is None:
            return None
        values.append(value)
    return sum(values) / len(values) if values else None


def _figure(report: SetReport, name: str, measure: str) -> float | None:
    for outcome in report.outcomes:
        if outcome.name == name and any(each and measure in each.values for each in (outcome.measured, outcome.spans)):
            return outcome.mean(measure)
    return None


def remarks(report: SetReport) -> list[str]:
    """What is to be known when reading the figures, in words: odd files, queries without a result, notes."""
    lines = [*report.notes]
    if report.queries < report.judged:
        lines.append(f"a sample of {report.queries} of {report.judged} queries")
    first = report.outcomes[0].measured if report.outcomes else None
    if first and first.without_relevant:
        lines.append(f"{first.without_relevant} judged queries have no relevant document and count 0")
    for outcome in report.outcomes:
        if outcome.measured.missing:
            lines.append(f"{outcome.name}: {outcome.measured.missing} queries found nothing and count 0")
        if outcome.measured.duplicates:
            lines.append(
                f"{outcome.name}: {outcome.measured.duplicates} passages came twice and count once, where first"
            )
        lines += [f"{outcome.name}: {note} ({count} of the queries)" for note, count in outcome.notes.items()]
    return lines


def tables(reports: Sequence[SetReport], width: int | None = None) -> Iterator[Table]:
    """The report as tables of rich, one set or several.

    A table that is wider than `width` characters is given in parts below each other, each with the names at its left.
    """
    if len(reports) == 1:
        yield from _measures_table(reports[0]).parts(width)
    else:
        yield from _summary_table(reports, reports[0].primary).parts(width)
        recalls = [name for name in measure_names(reports) if name.startswith("Recall@")]
        deepest = max(recalls, key=lambda name: int(name.partition("@")[2]), default=reports[0].primary)
        if deepest != reports[0].primary:
            yield from _summary_table(reports, deepest).parts(width)
        yield from _milliseconds_table(reports).parts(width)
    if any(report.versus for report in reports):
        yield from _versus_table(reports).parts(width)


def _measures_table(report: SetReport) -> WideTable:
    names = measure_names([report])
    shown = [name for name in names if not name.startswith("span ") or name.endswith("@10")]
    rows = []
    for outcome in report.outcomes:
        figures = (_figure(report, outcome.name, name) for name in shown)
        low, high = outcome.intervals.get(report.primary, (0.0, 0.0))
        cells = ["" if figure is None else f"{figure:.4f}" for figure in figures]
        rows.append([outcome.name, *cells, f"{low:.3f} to {high:.3f}", *_latency_cells(outcome)])
    title = f"{report.dataset} {report.split}: {report.queries} queries, unit {report.unit}"
    return WideTable(title, ["", *shown, f"95 % of {report.primary}", "ms p50", "ms p99", "without encoding"], rows)


def _latency_cells(outcome: Outcome) -> tuple[str, str, str]:
    if outcome.latency is None:
        return "", "", ""
    each = outcome.latency
    return f"{each.p50:.1f}", f"{each.p99:.1f}", f"{each.p50_search:.1f} / {each.p99_search:.1f}"


def _summary_table(reports: Sequence[SetReport], measure: str) -> WideTable:
    rows = []
    for name in configuration_names(reports):
        figures = ((report, _figure(report, name, measure)) for report in reports)
        mean = mean_over_sets(reports, name, measure)
        cells = ["" if figure is None else f"{figure:.4f}{_mark(report, name, measure)}" for report, figure in figures]
        rows.append([name, *cells, "" if mean is None else f"{mean:.4f}"])
    marked = any(report.versus and report.primary == measure for report in reports)
    caption = "+ and - : better and worse than the configuration compared against, corrected p below 0.05"
    columns = ["", *(report.dataset for report in reports), "mean"]
    return WideTable(measure, columns, rows, caption=caption if marked else "")


def _mark(report: SetReport, name: str, measure: str) -> str:
    for versus in report.versus:
        if versus.name == name and versus.measure == measure and versus.p_holm < SIGNIFICANT:
            return " +" if versus.difference > 0 else " -"
    return "  "


def _milliseconds_table(reports: Sequence[SetReport]) -> WideTable:
    rows = []
    for name in configuration_names(reports):
        cells = []
        for report in reports:
            latency = next((each.latency for each in report.outcomes if each.name == name), None)
            cells.append("" if latency is None else f"{latency.p50:.1f} / {latency.p99:.1f}")
        if any(cells):
            rows.append([name, *cells])
    return WideTable("milliseconds per query, p50 / p99", ["", *(report.dataset for report in reports)], rows)


def _versus_table(reports: Sequence[SetReport]) -> WideTable:
    first = next(versus for report in reports for versus in report.versus)
    rows = [[versus.name, report.dataset, *versus_cells(versus)] for report in reports for versus in report.versus]
    columns = ["", "set", "difference", "95 %", "p", "p corrected", "won", "tied", "lost"]
    return WideTable(f"{first.measure} against {first.against}", columns, rows, names=2)


def versus_cells(versus: Versus) -> tuple[str, ...]:
    """Difference, interval, p, corrected p, and the queries won, tied and lost, as text."""
    low, high = versus.interval
    return (
        f"{versus.difference:+.4f}",
        f"{low:+.3f} to {high:+.3f}",
        f"{versus.p:.4f}",
        f"{versus.p_holm:.4f}{' *' if versus.p_holm < SIGNIFICANT else ''}",
        str(versus.wins),
        str(versus.ties),
        str(versus.losses),
    )


def facts_line(facts: Mapping[str, object]) -> str:
    """The facts of a set on one line."""
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in facts.items()
    )
