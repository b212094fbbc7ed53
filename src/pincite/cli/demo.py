"""``pincite demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pincite.cli.add import report_lines
from pincite.cli.common import console, open_index, read_settings

__all__ = ["demo"]

QUESTION = "At what age may a citizen vote?"


def demo(
    question: Annotated[str, typer.Argument(help="What to ask.")] = QUESTION,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="As for `pincite ask`.")] = None,
    store: Annotated[Path, typer.Option("--store", metavar="FOLDER", help="Where to put the index.")] = Path(
        ".pincite-demo"
    ),
) -> None:
    """Index the bundled documents (the Constitution of the United States) and answer a question from them."""
    import shlex

    from rich.markup import escape

    from pincite.cli.ask import print_sources
    from pincite.cli.progress import AddProgress
    from pincite.types import AddReport, Answer, FileOutcome

    folder = Path(__file__).resolve().parent.parent / "demo" / "documents"
    out = console()
    outcomes: list[FileOutcome] = []
    with open_index(read_settings(store, None, answer_model=model), create=True) as pincite:
        out.print(f"[dim]$ pincite add {folder.name}/ --store {escape(str(store))}[/]")
        with AddProgress(console(stderr=True), outcomes) as listener:
            report: AddReport = pincite.add(folder, listener=listener)
        for line in report_lines(report, pincite.store.document_count):
            out.print(line)
        out.print(f"\n[dim]$ pincite ask {escape(shlex.quote(question))} --store {escape(str(store))}[/]")
        for piece in pincite.stream(question):
            if isinstance(piece, Answer):
                typer.echo()
                print_sources(out, piece)
            else:
                typer.echo(piece, nl=False)
