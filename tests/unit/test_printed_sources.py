"""The sources of an answer as they are shown below it."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from rich.console import Console
from step_helpers import passage

from pincite.citations import cite
from pincite.cli.ask import print_sources
from pincite.support.lexical import LexicalSupport
from pincite.types import Answer


def shown(context: str) -> list[str]:
    found = passage("| P2 | 500 bar |")
    citations = [
        replace(each, context=context) for each in cite("| P2 | 500 bar | [1]", "", [found], support=LexicalSupport())
    ]
    console = Console(width=200, file=StringIO())
    print_sources(console, Answer("?", "| P2 | 500 bar | [1]", tuple(citations), (found,)))
    assert isinstance(console.file, StringIO)
    return [line.strip() for line in console.file.getvalue().splitlines()]


def test_the_header_of_a_table_stands_above_the_row_and_is_not_quoted() -> None:
    lines = shown("| Pump [bold] | Limit |\n| of all | bar |\n|---|---|")
    at = next(i for i, line in enumerate(lines) if line.startswith("“| P2 | 500 bar |”"))
    assert lines[at - 2 : at] == ["| Pump [bold] | Limit |", "| of all | bar |"]
    assert not any(line.strip("|-") == "" and line for line in lines)


def test_a_quote_without_a_context_stands_below_its_place() -> None:
    lines = shown("")
    at = next(i for i, line in enumerate(lines) if line.startswith("“| P2 | 500 bar |”"))
    assert "characters" in lines[at - 1]
