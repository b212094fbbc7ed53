"""What an evaluation of grounding found: as tables, as data, as Markdown, as a page, and question by question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pincite.evaluation.answer_page import html_of, lost_cell, unfolded
from pincite.evaluation.answer_report import (
    METHOD,
    answers_data,
    answers_remarks,
    markdown,
    mean_data,
    question_rows,
)
from pincite.evaluation.answer_tables import NOTHING, compared, counted, figure, interval, wide_tables
from pincite.evaluation.wide_table import WideTable

if TYPE_CHECKING:
    from rich.table import Table

    from pincite.evaluation.grounding_records import Grounding, GroundingReport, Item
    from pincite.types import Citation

__all__ = [
    "grounding_data",
    "grounding_html",
    "grounding_markdown",
    "grounding_remarks",
    "grounding_rows",
    "grounding_tables",
]

#: The figures of an answer, by the name of their field and as a column.
_FIGURES = (
    ("recall", "citation recall"),
    ("precision", "citation precision"),
    ("pinpoint", "recall of the characters"),
    ("faithfulness", "faithfulness"),
    ("similarity", "relevance: cosine"),
    ("words", "relevance: words"),
    ("gold_precision", "gold sentences: precision"),
    ("gold_recall", "gold sentences: recall"),
)

_METHOD = (
    METHOD + " Citation recall and precision: Gao et al. 2023 (ALCE), section 4, the mean over the answers given. "
    "Recall of the characters: the same recall of what is pointed at, without the rest of the passages. Faithfulness: "
    "statements that what was read supports, cited or not. Relevance: cosine of question and answer, and the share of "
    "the question's content words in the answer. Gold sentences: places cited that are of the sentences the set names, "
    "and those sentences that are cited. Exact: citations whose characters were read again and are those quoted."
)


def grounding_tables(reports: Sequence[GroundingReport], width: int | None = None) -> Iterator[Table]:
    """The reports as tables of rich: those of `pincite eval answers`, and one of how answers are borne out."""
    for each in _wide_tables(reports):
        yield from each.parts(width)


def _wide_tables(reports: Sequence[GroundingReport]) -> Iterator[WideTable]:
    for report in reports:
        yield from wide_tables([report.answers])
        yield _grounding_table(report)
        yield _relevance_table(report)
    if any(report.versus for report in reports):
        yield compared((report.answers.dataset, versus) for report in reports for versus in report.versus)


def _grounding_table(report: GroundingReport) -> WideTable:
    columns = ["", "scored", "refused", "failed"]
    for _, name in _FIGURES[:4]:
        columns += [name, "95 %"]
    columns += ["statements", "cited", "citations", "exact"]
    rows = [
        [
            each.name,
            str(each.scored),
            str(each.refused),
            str(each.failed),
            *_cells(each, _FIGURES[:4]),
            str(each.statements),
            str(each.cited_statements),
            str(each.citations),
            f"{each.exact / each.citations:.1%}" if each.citations else NOTHING,
        ]
        for each in report.groundings
    ]
    title = f"{report.answers.dataset}: are the answers borne out, by {report.support.get('name', NOTHING)}"
    return WideTable(title, columns, rows)


def _relevance_table(report: GroundingReport) -> WideTable:
    columns = [""]
    for _, name in _FIGURES[4:]:
        columns += [name, "95 %"]
    rows = [[each.name, *_cells(each, _FIGURES[4:])] for each in report.groundings]
    return WideTable(f"{report.answers.dataset}: do they answer what was asked", columns, rows)


def _cells(grounding: Grounding, figures: Sequence[tuple[str, str]]) -> list[str]:
    means = [getattr(grounding, field) for field, _ in figures]
    return [cell for mean in means for cell in (figure(mean), interval(mean))]


def grounding_remarks(report: GroundingReport) -> list[str]:
    """What is to be known when reading the figures, in words."""
    told = ", ".join(f"{name} {value}" for name, value in report.support.items())
    lines = [f"what supports what is told by: {told}", *report.notes, *answers_remarks(report.answers)]
    for each in report.groundings:
        broken = each.citations - each.exact
        if broken:
            fate = "does not point at what it quotes" if broken == 1 else "do not point at what they quote"
            lines.append(f"{each.name}: {counted(broken, 'citation')} {fate}: the proof is broken")
    return lines


def grounding_data(reports: Sequence[GroundingReport]) -> dict[str, Any]:
    """Everything in the reports as plain JSON data, question by question as well."""
    data = answers_data([replace(report.answers, versus=report.versus) for report in reports])
    for row, report in zip(data["sets"], reports, strict=True):
        row["support"] = dict(report.support)
        row["notes"] = grounding_remarks(report)
        row["broken_pointers"] = report.broken
        for grounding in report.groundings:
            configuration = row["configurations"][grounding.name]
            configuration["grounding"] = _grounding_data(grounding)
            for question, item in zip(configuration["per_question"], grounding.items, strict=True):
                question["grounding"] = _item_data(item)
    return data


def _grounding_data(grounding: Grounding) -> dict[str, Any]:
    return {
        "scored": grounding.scored,
        "refused": grounding.refused,
        "failed": grounding.failed,
        "failures": dict(grounding.failures),
        **{field: mean_data(getattr(grounding, field)) for field, _ in _FIGURES},
        "statements": grounding.statements,
        "cited_statements": grounding.cited_statements,
        "citations": grounding.citations,
        "exact_pointers": grounding.exact,
    }


def _item_data(item: Item) -> dict[str, Any]:
    answer, proof = item.answer, item.proof
    return {
        "outcome": item.outcome,
        "failure": item.failure,
        "recall": proof.recall if proof else None,
        "precision": proof.precision if proof else None,
        "pinpoint": proof.pinpoint if proof else None,
        "faithfulness": proof.faithfulness if proof else None,
        "similarity": item.similarity,
        "words": item.words,
        "gold_precision": item.gold_precision,
        "gold_recall": item.gold_recall,
        "exact_pointers": list(item.pointers),
        "statements": [asdict(each) for each in proof.statements] if proof else [],
        "citations": [_citation_data(each) for each in answer.citations] if answer else [],
        "warnings": list(answer.warnings) if answer else [],
    }


def _citation_data(citation: Citation) -> dict[str, Any]:
    return {
        "number": citation.number,
        "reference": citation.reference,
        "quote": citation.quote,
        "verdict": citation.verdict,
        "why": citation.why,
    }


def grounding_rows(report: GroundingReport) -> Iterator[dict[str, Any]]:
    """A row for each question under each configuration, for looking into single answers."""
    for outcome, grounding in zip(report.answers.outcomes, report.groundings, strict=True):
        for row, item in zip(question_rows(outcome), grounding.items, strict=True):
            yield {
                "set": report.answers.dataset,
                "configuration": outcome.name,
                "model": outcome.model,
                **row,
                "grounding": _item_data(item),
            }


def grounding_markdown(reports: Sequence[GroundingReport], *, title: str, about: Sequence[str] = ()) -> str:
    """The report as Markdown: the same tables, and what is to be known when reading them."""
    remarks = [f"{report.answers.dataset}: {remark}" for report in reports for remark in grounding_remarks(report)]
    return markdown(title, list(_wide_tables(reports)), _METHOD, remarks, about)


_ROW_COLUMNS = (
    "id", "question", "gold", "outcome", "answer", "lost at", "statements borne out", "citations needed", "cited",
)  # fmt: skip


def grounding_html(reports: Sequence[GroundingReport], *, title: str, about: Sequence[str] = ()) -> str:
    """The report as one page that needs nothing else; every question can be unfolded. All data is escaped."""
    sections = [
        (
            report.answers.dataset,
            grounding_remarks(report),
            [unfolded(each.name, _ROW_COLUMNS, _html_rows(report, i)) for i, each in enumerate(report.groundings)],
        )
        for report in reports
    ]
    return html_of(title, list(_wide_tables(reports)), _METHOD, sections, about)


def _html_rows(report: GroundingReport, place: int) -> list[list[str]]:
    rows = zip(question_rows(report.answers.outcomes[place]), report.groundings[place].items, strict=True)
    cells = []
    for row, item in rows:
        stated = item.proof.statements if item.proof else ()
        needed = [each for statement in stated for each in statement.precise]
        cited = [f"[{c.number}] {c.reference} {c.verdict}" for c in item.answer.citations] if item.answer else []
        cells.append(
            [
                row["id"],
                row["question"],
                " / ".join(row["gold"]) or NOTHING,
                item.outcome,
                item.failure or row["answer"],
                lost_cell(row["lost"]),
                f"{sum(each.recalled for each in stated)} of {len(stated)}" if stated else NOTHING,
                f"{sum(needed)} of {len(needed)}" if needed else NOTHING,
                "; ".join(cited) or NOTHING,
            ]
        )
    return cells
