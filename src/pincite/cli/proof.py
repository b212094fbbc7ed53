"""What is printed below an answer beside its sources: how its quotations fare, what speaks against it, what to mind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pincite.cli.common import short_path

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.types import Answer, Citation, Quotation

__all__ = ["print_proof"]

_QUOTED = {
    "verbatim": "[green]word for word[/]",
    "altered": "[red]altered[/]",
    "elsewhere": "[yellow]stands in another source than the one named[/]",
    "stitched": "[red]put together from pieces that stand apart[/]",
    "absent": "[red]stands in no source[/]",
}
_SHOWN = 100  #: characters of a quotation


def print_proof(out: Console, answer: Answer) -> None:
    """The quotations that do not stand as they are given, corrected numbers, conflicts, alarms and the confidence."""
    from rich.markup import escape

    for quotation in answer.quotations:
        if quotation.verdict != "verbatim":
            out.print(f"[yellow]quotation[/] “{escape(_short(quotation.text))}” {_told(quotation)}")
    for correction in answer.corrections:
        sentence = answer.text[correction.answer_start : correction.answer_end]
        out.print(
            f"[yellow]corrected[/] \\[{correction.was}] to \\[{correction.now}], the only source that says this: "
            f"{escape(_short(sentence))}"
        )
    for conflict in answer.conflicts:
        later = f" [dim]{escape(conflict.later)}[/]" if conflict.later else ""
        out.print(f"[yellow]conflict[/] {escape(conflict.difference)}{later}")
        for citation in (conflict.citation, conflict.against):
            out.print(f"    {_pin(citation)}")
            out.print(f"    “{escape(' '.join(citation.quote.split()))}”")
    for alarm in answer.alarms:
        number = f" \\[{alarm.number}]" if alarm.number else ""
        out.print(f"[red]alarm[/]{number} {escape(alarm.detail)}")


def _told(quotation: Quotation) -> str:
    from rich.markup import escape

    number = f", see \\[{quotation.number}]" if quotation.number and quotation.verdict != "absent" else ""
    difference = f": {escape(quotation.difference)}" if quotation.difference else ""
    return f"{_QUOTED[quotation.verdict]}{number}{difference}"


def _pin(citation: Citation) -> str:
    from rich.markup import escape

    page = f", p. {citation.page}" if citation.page is not None else ""
    return f"{escape(citation.title)}{page} [dim]{escape(short_path(citation.uri))} · {escape(citation.reference)}[/]"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[:_SHOWN]}…"
