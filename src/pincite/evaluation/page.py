"""The report of an evaluation as one page of HTML that needs nothing else: no script, no font, no address.

Figures are drawn as SVG within the page. Everything that comes from data is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from pincite.evaluation.compare import QueryChange, SetReport, Versus
from pincite.evaluation.report import (
    configuration_names,
    facts_line,
    mean_over_sets,
    measure_names,
    remarks,
    versus_cells,
)

__all__ = ["html_page"]

#: Colours of the configurations, for a light and a dark ground; lines are told apart by their dashes too.
_LIGHT = ("#0b63c5", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be185d", "#0f766e", "#4b5563")
_DARK = ("#6cb2ff", "#ff9a5c", "#5fd38a", "#c99bff", "#e6c14d", "#ff86b8", "#4fd1c5", "#b6bec9")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2", "12 3", "6 2 1 2 1 2")

_NAMESPACE = "http://www.w3.org/2000/svg"
_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 14, 40
_LEGEND = 172

_STYLE = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1b1f24; --faint: #5a636e; --line: #d4d9df;
  --panel: #f5f7f9; --win: #15803d; --loss: #c2410c; %LIGHT% }
@media (prefers-color-scheme: dark) { :root { --ground: #14171b; --ink: #e7eaee; --faint: #a3acb7; --line: #363d46;
  --panel: #1d2127; --win: #5fd38a; --loss: #ff9a5c; %DARK% } }
body { background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin-bottom: .3rem; }
p, li, figcaption, caption { color: var(--faint); } code { font-size: .9em; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0 1rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; } th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th:first-child, td:first-child, td.text { text-align: left; } td.text { white-space: normal; min-width: 20rem; }
td.best { font-weight: 700; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 0; flex: 1 1 26rem; background: var(--panel);
  border-radius: .5rem; padding: .7rem; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.axis { stroke: var(--faint); fill: none; } .grid { stroke: var(--line); fill: none; }
.win { fill: var(--win); } .loss { fill: var(--loss); } details { margin: .4rem 0; }
"""


def html_page(reports: Sequence[SetReport], *, title: str, about: Sequence[str] = ()) -> str:
    """The whole page. `about` are lines of plain text on how the figures were made (command, version, machine)."""
    names = configuration_names(reports)
    colours = {name: i for i, name in enumerate(names)}
    style = _STYLE.replace("%LIGHT%", _variables(_LIGHT)).replace("%DARK%", _variables(_DARK))
    style += "".join(
        f".s{i} {{ stroke: var(--c{i}); fill: none; stroke-width: 2; stroke-dasharray: {dash or 'none'}; }} "
        f".d{i} {{ fill: var(--c{i}); }}\n"
        for i, dash in enumerate(_DASHES)
    )
    body = [f"<h1>{escape(title)}</h1>"]
    body += [f"<p><code>{escape(line)}</code></p>" for line in about]
    if len(reports) > 1:
        body += _summary(reports)
    for report in reports:
        body += _set(report, colours)
    body += _method(reports)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _variables(colours: Sequence[str]) -> str:
    return " ".join(f"--c{i}: {colour};" for i, colour in enumerate(colours))


def _row(cells: Iterable[str], *, head: bool = False, best: frozenset[int] = frozenset()) -> str:
    tag = "th" if head else "td"
    return "<tr>" + "".join(
        f'<{tag}{" class=best" if i in best else ""}>{escape(cell)}</{tag}>' for i, cell in enumerate(cells)
    ) + "</tr>"  # fmt: skip


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], best: Sequence[frozenset[int]]) -> str:
    lines = [
        f'<div class="wide"><table><caption>{escape(caption)}</caption>',
        f"<thead>{_row(head, head=True)}</thead>",
    ]
    lines += [
        "<tbody>",
        *(_row(row, best=mark) for row, mark in zip(rows, best, strict=True)),
        "</tbody></table></div>",
    ]
    return "\n".join(lines)


def _figures(caption: str, head: Sequence[str], names: Sequence[str], columns: Sequence[Sequence[float | None]]) -> str:
    """A table of measures with the highest of each column in bold."""
    marks = []
    rows = []
    for i, name in enumerate(names):
        rows.append([name, *("" if column[i] is None else f"{column[i]:.4f}" for column in columns)])
        best = frozenset(
            j + 1
            for j, column in enumerate(columns)
            if column[i] is not None and column[i] == max(value for value in column if value is not None)
        )
        marks.append(best)
    return _table(caption, head, rows, marks)


def _value(report: SetReport, name: str, measure: str) -> float | None:
    for outcome in report.outcomes:
        taken = set(outcome.measured.values) | set(outcome.spans.values if outcome.spans else ())
        if outcome.name == name and measure in taken:
            return outcome.mean(measure)
    return None


def _summary(reports: Sequence[SetReport]) -> list[str]:
    names = configuration_names(reports)
    lines = ["<h2>All sets</h2>"]
    for measure in measure_names(reports):
        columns: list[list[float | None]] = [[_value(report, name, measure) for name in names] for report in reports]
        columns.append([mean_over_sets(reports, name, measure) for name in names])
        lines.append(_figures(measure, ["", *(report.dataset for report in reports), "mean"], names, columns))
    rows = []
    for name in names:
        latencies = [next((o.latency for o in report.outcomes if o.name == name), None) for report in reports]
        rows.append([name, *("" if each is None else f"{each.p50:.1f} / {each.p99:.1f}" for each in latencies)])
    head = ["", *(report.dataset for report in reports)]
    lines.append(_table("Milliseconds per query, p50 / p99", head, rows, [frozenset()] * len(rows)))
    return lines


def _set(report: SetReport, colours: dict[str, int]) -> list[str]:
    names = [outcome.name for outcome in report.outcomes]
    measures = measure_names([report])
    lines = [
        f"<h2>{escape(report.dataset)}</h2>",
        f"<p>split {escape(report.split)}, {report.queries} queries, unit {escape(report.unit)}, "
        f"{report.k} passages asked for; {escape(facts_line(report.facts))}</p>",
        _figures(
            "Averages over the queries",
            ["", *measures],
            names,
            [[_value(report, name, measure) for name in names] for measure in measures],
        ),
    ]
    rows = []
    for outcome in report.outcomes:
        low, high = outcome.intervals.get(report.primary, (0.0, 0.0))
        each = outcome.latency
        times = (
            ("", "", "", "")
            if each is None
            else (
                f"{each.p50:.1f} / {each.p99:.1f}",
                f"{each.p50_search:.1f} / {each.p99_search:.1f}",
                f"{each.total_seconds:.1f}",
                f"{outcome.documents:.1f}",
            )
        )
        rows.append([outcome.name, f"{low:.4f} to {high:.4f}", *times])
    head = [
        "",
        f"95 % of {report.primary}",
        "ms p50 / p99",
        "without encoding",
        "seconds in all",
        "documents per query",
    ]
    lines.append(_table("Certainty and time", head, rows, [frozenset()] * len(rows)))
    lines += [
        '<div class="figures">',
        _figure("Recall@k by k", _recall_plot(report, colours)),
        _figure(f"{report.primary} by milliseconds per query (p50)", _scatter(report, colours)),
        "</div>",
    ]
    if report.versus:
        lines.append(_versus_table(report.versus))
        lines.append('<div class="figures">')
        for versus in report.versus:
            caption = (
                f"{versus.name} against {versus.against}, {versus.measure} per query: "
                f"{versus.wins} won, {versus.ties} tied, {versus.losses} lost"
            )
            lines.append(_figure(caption, _bars(versus)))
        lines.append("</div>")
        for versus in report.versus:
            lines += _changes(f"{versus.name}: queries that lost most against {versus.against}", versus.lost_most)
            lines += _changes(f"{versus.name}: queries that won most against {versus.against}", versus.won_most)
    if found := remarks(report):
        lines += ["<h3>To be known</h3>", "<ul>", *(f"<li>{escape(each)}</li>" for each in found), "</ul>"]
    return lines


def _versus_table(versus: Sequence[Versus]) -> str:
    head = ["", "difference", "95 %", "p", "p corrected", "won", "tied", "lost"]
    rows = [[each.name, *versus_cells(each)] for each in versus]
    caption = f"{versus[0].measure} against {versus[0].against}"
    return _table(caption, head, rows, [frozenset()] * len(rows))


def _changes(caption: str, changes: Sequence[QueryChange]) -> list[str]:
    if not changes:
        return []
    lines = [
        f'<details><summary>{escape(caption)}</summary><div class="wide"><table>',
        _row(["query", "text", "before", "after"], head=True),
    ]
    for each in changes:
        text = each.text if len(each.text) <= 300 else each.text[:299] + "…"
        lines.append(
            f'<tr><td>{escape(each.query_id)}</td><td class="text">{escape(text)}</td>'
            f"<td>{each.before:.4f}</td><td>{each.after:.4f}</td></tr>"
        )
    return [*lines, "</table></div></details>"]


def _method(reports: Sequence[SetReport]) -> list[str]:
    total = sum(len(report.versus) for report in reports)
    return [
        "<h2>How to read it</h2>",
        "<p>Measures are trec_eval's, averaged over all judged queries; one that finds nothing counts 0. Intervals: "
        "95 % percentile bootstrap over queries, 10,000 draws. p: paired randomization test, two-sided, exact up to 12 "
        f"differences, else 10,000 drawn; corrected after Holm over all {total} comparisons of this page, * below "
        "0.05. Bold: the highest of a column, which need not be a significant difference. Times are of this machine, "
        "one query after another.</p>",
    ]


# Drawing


def _svg(label: str, parts: Sequence[str], height: int = _HEIGHT) -> str:
    return (
        f'<svg xmlns="{_NAMESPACE}" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(label)}">'
        + "".join(parts)
        + "</svg>"
    )


def _figure(caption: str, drawing: str) -> str:
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


class _Frame:
    """From values to places: x by logarithm, y evenly; with its axes."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], right: int = _RIGHT, digits: int = 2) -> None:
        self.right = _WIDTH - right
        self._digits = digits
        self._x = (math.log(x[0]), math.log(x[1]))
        self._y = y

    def x(self, value: float) -> float:
        low, high = self._x
        return _LEFT + (math.log(value) - low) / (high - low) * (self.right - _LEFT)

    def y(self, value: float) -> float:
        low, high = self._y
        return _HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self, xs: Sequence[float], x_name: str) -> list[str]:
        parts = []
        low, high = self._y
        for step in range(5):
            value = low + (high - low) * step / 4
            y = self.y(value)
            parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{self.right}"/>')
            parts.append(_text(_LEFT - 6, y + 4, f"{value:.{self._digits}f}", "end"))
        for value in xs:
            x = self.x(value)
            parts.append(f'<path class="axis" d="M{x:.1f} {_HEIGHT - _BOTTOM}v4"/>')
            parts.append(_text(x, _HEIGHT - _BOTTOM + 17, f"{value:g}"))
        parts.append(f'<path class="axis" d="M{_LEFT} {_HEIGHT - _BOTTOM}H{self.right}"/>')
        parts.append(_text((_LEFT + self.right) / 2, _HEIGHT - 6, x_name))
        return parts


def _recall_plot(report: SetReport, colours: dict[str, int]) -> str:
    depth = max((len(outcome.curve) for outcome in report.outcomes), default=0)
    if depth < 2:
        return _svg("Recall by k: nothing to draw", [_text(_WIDTH / 2, _HEIGHT / 2, "nothing to draw")])
    searched = [outcome for outcome in report.outcomes if not outcome.is_baseline] or report.outcomes
    # Room for what was searched; of the baselines only what reaches so high is drawn, the legend has the rest.
    lowest = math.floor(min(0.9, *(min(outcome.curve) for outcome in searched)) * 10) / 10
    frame = _Frame((1, depth), (lowest, 1.0), right=_LEGEND)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= depth]
    parts = frame.axes(ticks, "k")
    for i, outcome in enumerate(report.outcomes):
        number = colours[outcome.name] % len(_DASHES)
        points = " ".join(
            f"{frame.x(k):.1f},{frame.y(value):.1f}" for k, value in enumerate(outcome.curve, 1) if value >= lowest
        )
        name = escape(outcome.name)
        parts.append(f'<polyline class="s{number}" points="{points}"><title>{name}</title></polyline>')
        y = _TOP + 12 + 17 * i
        if y < _HEIGHT - _BOTTOM:  # the rest is told by pointing at a line
            parts.append(f'<path class="s{number}" d="M{frame.right + 10} {y - 4}h28"/>')
            parts.append(_text(frame.right + 44, y, f"{outcome.name[:12]} {outcome.curve[-1]:.3f}", "start"))
    return _svg(f"Recall by k on {report.dataset}", parts)


def _scatter(report: SetReport, colours: dict[str, int]) -> str:
    points = [
        (outcome.latency.p50, outcome.mean(report.primary), outcome.name)
        for outcome in report.outcomes
        if outcome.latency is not None and outcome.latency.p50 > 0
    ]
    if not points:
        return _svg("nothing was timed", [_text(_WIDTH / 2, _HEIGHT / 2, "nothing was timed")])
    fastest, slowest = min(x for x, *_ in points), max(x for x, *_ in points)
    scores = [y for _, y, _ in points]
    room = max(0.02, (max(scores) - min(scores)) * 0.25)
    low, high = max(0.0, min(scores) - room), min(1.0, max(scores) + room)
    frame = _Frame((fastest / 1.6, slowest * 1.9), (low, high if high > low else low + 0.1), digits=3)
    ticks = [
        factor * 10.0**power
        for power in range(-3, 7)
        for factor in (1, 2, 5)
        if fastest / 1.6 <= factor * 10.0**power <= slowest * 1.9
    ]
    parts = frame.axes(ticks, "ms")
    taken: list[tuple[float, float]] = []
    for x, y, name in sorted(points):
        px, py = frame.x(x), frame.y(y)
        # A name that would stand on another one moves down a line.
        ty = py + 4
        while any(abs(px - ox) < 110 and abs(ty - oy) < 13 for ox, oy in taken):
            ty += 13
        taken.append((px, ty))
        number = colours[name] % len(_DASHES)
        parts.append(
            f'<circle class="d{number}" cx="{px:.1f}" cy="{py:.1f}" r="5"><title>{escape(name)}</title></circle>'
        )
        parts.append(_text(px + 9, ty, f"{name[:16]} {y:.3f}", "start"))
    return _svg(f"{report.primary} by time on {report.dataset}", parts)


def _bars(versus: Versus) -> str:
    """One bar a query, from the most won to the most lost: those won stand above the line, those lost hang below."""
    height = 180
    middle = height / 2
    values = sorted(versus.differences, reverse=True)
    width = (_WIDTH - _LEFT - _RIGHT) / max(1, len(values))
    reach = max((abs(value) for value in values), default=0.0) or 1.0
    bars: dict[str, list[str]] = {"win": [], "loss": []}
    for i, value in enumerate(values):
        if value:
            size = abs(value) / reach * (middle - 14)
            top = middle - size if value > 0 else middle
            wide = max(width * 0.9, 0.5)
            bars["win" if value > 0 else "loss"].append(
                f"M{_LEFT + i * width:.2f} {top:.1f}h{wide:.2f}v{size:.1f}h-{wide:.2f}z"
            )
    parts: list[Any] = [f'<path class="{kind}" d="{"".join(paths)}"/>' for kind, paths in bars.items() if paths]
    parts += [
        f'<path class="axis" d="M{_LEFT} {middle}H{_WIDTH - _RIGHT}"/>',
        _text(_LEFT - 6, 18, f"+{reach:.2f}", "end"),
        _text(_LEFT - 6, middle + 4, "0", "end"),
        _text(_LEFT - 6, height - 8, f"-{reach:.2f}", "end"),
    ]
    return _svg(f"Differences per query of {versus.name}", parts, height)
