"""``pincite add``."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    console,
    cut_otherwise,
    open_index,
    parse_meta,
    print_json,
    read_settings,
    short_path,
)
from pincite.cli.versions import ValidFromOption, check_day

if TYPE_CHECKING:
    from pincite.types import AddReport, FileOutcome

__all__ = ["MetaOption", "add", "report_lines", "unexpected"]

#: Passed over by rule, not for a fault: they do not change the exit status.
_EXPECTED = frozenset({"hidden", "index", "outside"})

MetaOption = Annotated[
    list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Metadata of every document of this run.")
]


def add(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH…", help="Files, folders, patterns in quotes, or - for standard input.")
    ],
    store: StoreOption = None,
    config: ConfigOption = None,
    name: Annotated[
        str, typer.Option("--name", help="What standard input is called; its suffix says what it is.")
    ] = "stdin.txt",
    meta: MetaOption = None,
    valid_from: ValidFromOption = None,
    valid_to: Annotated[
        str | None, typer.Option("--valid-to", metavar="DATE", help="Last day on which they are.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Index documents. What is indexed already and has not changed is left alone.

    Of what changed a new version is made, and the old one is kept for `history`, `show --version` and `--as-of`.

    Exit status: 0 when every file is in, 1 when some were skipped (each is named with its reason).
    """
    from pincite.cli.progress import AddProgress
    from pincite.sources import find_files
    from pincite.types import AddReport

    metadata = parse_meta(meta)
    days = {
        "valid_from": check_day(valid_from, "--valid-from"),
        "valid_to": check_day(valid_to, "--valid-to", end=True),
    }
    files = [path for path in paths if path != "-"]
    find_files(files)  # a name that matches nothing is told before an index is made
    settings = read_settings(store, config)
    out = console(stderr=True)
    outcomes: list[FileOutcome] = []
    interrupted = False
    started = time.perf_counter()
    with open_index(settings, create=True) as pincite:
        with AddProgress(out, outcomes) as listener:
            try:
                if "-" in paths:
                    data = sys.stdin.buffer.read()
                    pincite.add_text(data, name=name, metadata=metadata, listener=listener, **days)
                if files:
                    pincite.add(files, metadata=metadata, listener=listener, **days)
            except KeyboardInterrupt:
                interrupted = True
        if not interrupted and pincite.store.needs_optimizing():
            out.print(f"building the vector index over {pincite.store.point_count:,} chunks …")
            pincite.store.optimize()
            for note in pincite.store.index_report().notes:
                out.print(f"note: {note}", style="yellow", markup=False)
        total = pincite.store.document_count
        advice = cut_otherwise(pincite.documents(), settings)
    report = AddReport(tuple(outcomes), time.perf_counter() - started)
    if as_json:
        print_json(
            {
                "report": report,
                "interrupted": interrupted,
                "documents_in_index": total,
                "notes": [advice] if advice else [],
            }
        )
    else:
        for line in report_lines(report, total):
            console().print(line)
    if advice:
        out.print(f"note: {advice}", style="yellow", markup=False)
    if interrupted:
        out.print("interrupted: what is listed is in the index; run it again for the rest", style="yellow")
        raise typer.Exit(130)
    if unexpected(report):
        raise typer.Exit(1)


def unexpected(report: AddReport) -> bool:
    """Whether anything was skipped for a fault, not by rule."""
    return any(outcome.reason not in _EXPECTED for outcome in report.skipped)


def report_lines(report: AddReport, total: int, *, moves: bool = False) -> list[str]:
    """The report of a run, as rich markup lines: warnings, what was skipped and why, the counts.

    `moves`: what moved or was removed is counted also where nothing was.
    """
    from rich.markup import escape

    lines = [
        f"[yellow]note[/]    {escape(short_path(outcome.uri))}: {escape(warning)}"
        for outcome in report.outcomes
        for warning in outcome.warnings
    ]
    lines += [
        f"[red]skipped[/] {escape(short_path(outcome.uri))}: {escape(outcome.reason)}: {escape(outcome.detail)}"
        for outcome in report.skipped
        if outcome.reason != "hidden"  # often many; they are counted below
    ]
    reasons = Counter(outcome.reason for outcome in report.skipped)
    skipped = f" ({', '.join(f'{count} {reason}' for reason, count in reasons.most_common())})" if reasons else ""
    moved = "".join(
        f"{report.count(status)} {status}, " for status in ("moved", "removed") if moves or report.count(status)
    )
    lines.append(
        f"{report.count('added')} added, {report.count('updated')} updated, {moved}"
        f"{report.count('unchanged')} unchanged, "
        f"{len(report.skipped)} skipped{skipped}; {report.chunks} chunks written in {report.seconds:.1f} s; "
        f"{total} documents in the index"
    )
    return lines
