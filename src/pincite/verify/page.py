"""A checked text as one HTML page that needs nothing else: no script, no style sheet, no network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise

from pincite.verify.marks import SAID, counts, marks, said
from pincite.verify.records import Brief, Mark, Place
from pincite.verify.reports import kind, named, reference, shortened, sign, undated

__all__ = ["to_html"]

_COLOURS: dict[str, str] = {"ok": "#d5f0d8", "wrong": "#ffd3cf", "missing": "#ffe9b8", "open": "#e3e6ea"}
_STYLE = """
body { font: 16px/1.55 Georgia, serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem;
 color: #1b1b1b; background: #fff }
h1, h2, table, aside, li, .key { font-family: system-ui, sans-serif }
h1 { font-size: 1.35rem } h2 { font-size: 1.05rem; margin-top: 2rem }
table { border-collapse: collapse; font-size: .9rem } th, td { text-align: left; padding: .25rem .8rem .25rem 0 }
td.n { text-align: right } tr + tr td { border-top: 1px solid #ddd }
.text p { white-space: pre-wrap; margin: 0 0 .9rem }
mark { padding: 0 .1em; border-radius: .15em; color: inherit }
mark mark { box-shadow: 0 0 0 1px #0003 }
sup a { font: 600 .7rem system-ui, sans-serif; text-decoration: none; color: #444; padding-left: .1em }
ol { padding-left: 2.4rem } li { margin: .55rem 0; font-size: .92rem } li:target { outline: 2px solid #777 }
blockquote { margin: .3rem 0 .3rem 1rem; color: #444; font-family: Georgia, serif } .where { color: #666 }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #e8e8e8 } mark { color: #111 }
 sup a, .where, blockquote { color: #aaa } tr + tr td { border-color: #444 } }
@media print { mark { border-bottom: 2px solid #555 } }
"""
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
#: A line of a table in Markdown, the line under its head, and what parts its cells.
_ROW = re.compile(r"\s*\|.*\|\s*")
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_BAR = re.compile(r"(?<!\\)\|")
_LONGEST_QUOTE, _LONGEST_SAID = 600, 160


def to_html(brief: Brief) -> str:
    """The page: what it comes to, the text with every place marked, and what is said of each.

    Everything that comes from the text or the corpus is escaped; the page carries a policy that lets nothing run or
    load.
    """
    found = marks(brief)
    numbered = {id(mark): number for number, mark in enumerate(found, start=1)}
    head = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{_text(brief.name)}, checked</title>",
        "<style>" + _STYLE + _classes() + "</style></head><body>",
        f"<h1>{_text(brief.name)}</h1>",
        *_summary(brief, found),
    ]
    return "\n".join(
        [
            *head,
            '<h2>Text</h2><div class="text">',
            *_body(brief.text, found, numbered),
            "</div>",
            *_list(found, brief.text),
            *_silent(brief),
            "</body></html>",
            "",
        ]
    )


def _classes() -> str:
    return "".join(f"mark.{name}, .key.{name} {{ background: {colour} }}" for name, colour in _COLOURS.items())


def _summary(brief: Brief, found: Sequence[Mark]) -> list[str]:
    table = counts(found)
    statuses = [status for status in SAID if any(status in row for row in table.values())]
    out = []
    if brief.as_of:
        out.append(f"<p>Law in force on {_text(brief.as_of)}.</p>")
    if asked := undated(brief):
        out.append(f"<p>Note: {_text(asked)}.</p>")
    if not found:
        out.append("<p>The text names no authority.</p>")
    else:
        out.append("<table><tr><th></th><th>authorities</th><th>quotations</th><th>claims</th></tr>")
        for status in statuses:
            cells = "".join(f'<td class="n">{table[what].get(status, 0) or ""}</td>' for what in table)
            said = f'<span class="key {kind(status)}">{sign(status)} {_text(SAID[status])}</span>'
            out.append(f"<tr><td>{said}</td>{cells}</tr>")
        out.append("</table>")
        out.append(
            "<p>“Not found in this corpus” does not mean that there is no such authority, nor “the passage found does "
            "not say so” that the claim is false.</p>"
        )
    out.append(f"<p>Sentences that name no authority: {len(brief.silent)}.</p>")
    if brief.settings.get("corpus"):
        out.append(f'<p class="where">Checked against {_text(brief.settings["corpus"])}.</p>')
    out += [f"<p>Note: {_text(warning)}</p>" for warning in brief.warnings]
    return out


def _body(text: str, shown: Sequence[Mark], numbered: dict[int, int]) -> list[str]:
    """The paragraphs with their marks. A mark is closed at the end of a paragraph and opened again in the next."""
    out = []
    position = 0
    breaks = [(match.start(), match.end()) for match in _PARAGRAPH.finditer(text)]
    at = 0
    for end, following in [*breaks, (len(text), len(text))]:
        here: list[Mark] = []
        while at < len(shown) and shown[at].start < end:
            here.append(shown[at])
            at += 1
        # What began in an earlier paragraph and reaches into this one.
        spilling = [mark for mark in shown[max(0, at - 200) : at] if mark.start < position < mark.end]
        shown_here = [*spilling, *here]
        if rows := _rows(text, position, end):
            parts = [_row(text, row, shown_here, numbered) for row in rows]
            out.append("<table>" + "".join(parts) + "</table>")
        elif text[position:end].strip():
            out.append(f"<p>{_marked(text, position, end, shown_here, numbered)}</p>")
        position = following
    return out


def _rows(text: str, start: int, end: int) -> list[list[tuple[int, int]]]:
    """The cells of a table, row by row, where a paragraph is one as Markdown has it; empty where it is none."""
    rows = []
    for line in re.finditer(r"[^\n]+", text[start:end]):
        if not line.group().strip():
            continue
        if not _ROW.fullmatch(line.group()):
            return []
        if _RULE.fullmatch(line.group()):
            continue
        edges = [start + line.start() + bar.start() for bar in _BAR.finditer(line.group())]
        rows.append([(left + 1, right) for left, right in pairwise(edges)])
    return rows


def _row(text: str, cells: Sequence[tuple[int, int]], shown: Sequence[Mark], numbered: dict[int, int]) -> str:
    made = []
    for left, right in cells:
        within = [mark for mark in shown if mark.start < right and mark.end > left]
        made.append(f"<td>{_marked(text, left, right, within, numbered)}</td>")
    return f"<tr>{''.join(made)}</tr>"


def _marked(text: str, start: int, end: int, here: Sequence[Mark], numbered: dict[int, int]) -> str:
    """One paragraph. Marks that cross are cut where they do, so that the elements nest."""
    edges = sorted({start, end, *(min(max(e, start), end) for mark in here for e in (mark.start, mark.end))})
    parts: list[str] = []
    opened: list[Mark] = []
    for left, right in pairwise(edges):
        active = [mark for mark in here if mark.start <= left and mark.end >= right and mark.start < mark.end]
        keep = 0
        while keep < len(opened) and keep < len(active) and opened[keep] is active[keep]:
            keep += 1
        parts += [_close(mark, numbered, ended=mark.end <= left) for mark in reversed(opened[keep:])]
        parts += [f'<mark class="{kind(mark.status)}" title="{_text(said(mark))}">' for mark in active[keep:]]
        opened = active
        parts.append(_text(text[left:right]))
    parts += [_close(mark, numbered, ended=not text[end : mark.end].strip()) for mark in reversed(opened)]
    return "".join(parts)


def _close(mark: Mark, numbered: dict[int, int], *, ended: bool) -> str:
    number = numbered[id(mark)]
    return f'</mark><sup><a href="#m{number}">{number}</a></sup>' if ended else "</mark>"


def _list(shown: Sequence[Mark], text: str) -> list[str]:
    if not shown:
        return []
    out = ["<h2>Places</h2><ol>"]
    for number, mark in enumerate(shown, start=1):
        show = named if mark.what == "authority" else shortened
        words = _text(show(text[mark.start : mark.end], _LONGEST_SAID))
        note = f": {_text(mark.note)}" if mark.note else ""
        key = f'<span class="key {kind(mark.status)}">{sign(mark.status)} {_text(said(mark))}</span>'
        out.append(f'<li id="m{number}">{key} <b>{words}</b>{note}{_where(mark.place)}')
        if mark.quote.strip():
            out.append(f"<blockquote>{_text(shortened(mark.quote, _LONGEST_QUOTE))}</blockquote>")
        out.append("</li>")
    return [*out, "</ol>"]


def _silent(brief: Brief) -> list[str]:
    """The sentences in which nothing was looked up."""
    if not brief.silent:
        return []
    plain = [_BAR.sub(" ", brief.text[start:end]) for start, end in brief.silent]
    said = [_text(shortened(each, _LONGEST_QUOTE)) for each in plain]
    return ["<h2>Sentences that name no authority</h2><ul>", *(f"<li>{each}</li>" for each in said), "</ul>"]


def _where(place: Place | None) -> str:
    if place is None:
        return ""
    page = f", p. {place.page}" if place.page is not None else ""
    return f' <span class="where">{_text(place.title)}{page} · {_text(reference(place))}</span>'


def _text(text: str) -> str:
    """Text as HTML; characters that no document may hold become U+FFFD."""
    return escape(_UNSAFE.sub("\ufffd", text), quote=True)
