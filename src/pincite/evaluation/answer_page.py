"""The report of an evaluation of answers as one page that needs nothing else; every question can be unfolded."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from pincite.evaluation.answer_report import METHOD, answers_remarks, question_rows
from pincite.evaluation.answer_tables import NOTHING, wide_tables

if TYPE_CHECKING:
    from pincite.evaluation.answer_records import AnswerReport
    from pincite.evaluation.wide_table import WideTable

__all__ = ["answers_html", "html_of", "lost_cell", "unfolded"]

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

_ROW_COLUMNS = (
    "id", "question", "gold", "found", "outcome", "answer", "EM", "F1", "lost at", "answer on the gold passage",
)  # fmt: skip


def answers_html(reports: Sequence[AnswerReport], *, title: str, about: Sequence[str] = ()) -> str:
    """The whole page. All data is escaped."""
    sections = [
        (
            report.dataset,
            answers_remarks(report),
            [
                unfolded(outcome.name, _ROW_COLUMNS, [_html_cells(row) for row in question_rows(outcome)])
                for outcome in report.outcomes
            ],
        )
        for report in reports
    ]
    return html_of(title, list(wide_tables(reports)), METHOD, sections, about)


def html_of(
    title: str,
    tables: Sequence[WideTable],
    method: str,
    sections: Sequence[tuple[str, Sequence[str], Sequence[str]]],
    about: Sequence[str] = (),
) -> str:
    """A page of tables, with a section for each set: its name, remarks and, as HTML, what can be unfolded."""
    body = [f"<h1>{escape(title)}</h1>", *(f"<p><code>{escape(each)}</code></p>" for each in about)]
    for table in tables:
        body += [f"<h2>{escape(table.title)}</h2>", _html_table(table.columns, table.rows, names=table.names)]
    body.append(f"<p>{escape(method)}</p>")
    for name, remarks, parts in sections:
        items = "".join(f"<li>{escape(each)}</li>" for each in remarks)
        body += [f"<h2>{escape(name)}</h2><ul>{items}</ul>", *parts]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def unfolded(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text that is folded up under `name`."""
    table = _html_table(columns, rows, names=len(columns), kind="text")
    return f"<details><summary>{escape(name)}: every question</summary>{table}</details>"


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
        lost_cell(row["lost"]),
        on_gold["answer"] if on_gold else NOTHING,
    ]


def lost_cell(lost: dict[str, str] | None) -> str:
    """The stage that lost a question, and why where that is known."""
    if lost is None:
        return NOTHING
    return f"{lost['stage']}: {lost['by']}" if lost["by"] else lost["stage"]


def _html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, names: int, kind: str = "name") -> str:
    def cells(row: Sequence[str], tag: str) -> str:
        marks = (f' class="{kind}"' if i < names else "" for i in range(len(row)))
        return "".join(f"<{tag}{mark}>{escape(cell)}</{tag}>" for mark, cell in zip(marks, row, strict=True))

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{cells(columns, "th")}</tr></thead><tbody>{body}</tbody></table></div>'
