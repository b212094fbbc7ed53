"""``pincite history``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    console,
    open_index,
    plain,
    print_json,
    read_settings,
    short_path,
)
from pincite.cli.versions import in_force, told_counts, told_detail, told_moment, told_spans

if TYPE_CHECKING:
    from pincite.protocols import RunNote
    from pincite.types import StoredDocument

__all__ = ["history"]

#: So many lines are printed of each run.
_LINES = 20


def history(
    document: Annotated[
        str | None,
        typer.Argument(metavar="[DOCUMENT]", help="Its id, the beginning of one, or its path; also a removed one."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="Without DOCUMENT: the last N runs.")] = 10,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the kept versions of a document: when each was recorded and on which days it is in force.

    Without DOCUMENT, the last runs that changed the index, with what was skipped and why. In a pipe, versions are
    lines: number, recorded, ended, first and last day in force, characters, chunks, hash, separated by tabs.
    """
    with open_index(read_settings(store, config)) as pincite:
        if document is None:
            runs = pincite.store.runs(limit)
            _print_runs(runs, as_json=as_json)
            return
        versions = pincite.history(document)
    spans = in_force(versions)
    if as_json:
        rows = [
            {
                **plain(each),
                "current": each.current,
                "in_force": [{"first": first, "last": last} for first, last in spans[each.version]],
            }
            for each in versions
        ]
        print_json(rows)
    elif sys.stdout.isatty():
        _print_versions(versions, spans)
    else:
        for each in versions:
            some = spans[each.version] or [("never", "never")]
            first, last = some[0][0], some[-1][1]
            facts = (each.version, each.added_at, each.ended_at, first, last, each.characters, each.chunks)
            typer.echo("\t".join(map(str, (*facts, each.content_hash[:12]))))


def _print_versions(versions: Sequence[StoredDocument], spans: dict[int, list[tuple[str, str]]]) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    out = console()
    last = versions[-1]
    out.print(f"[bold]{escape(last.title)}[/] [dim]{last.id} {escape(short_path(last.uri))}[/]")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("version", justify="right")
    for name in ("recorded (UTC)", "ended (UTC)"):
        table.add_column(name, overflow="fold")
    table.add_column("in force", overflow="fold", min_width=23)
    for name in ("characters", "chunks"):
        table.add_column(name, justify="right")
    table.add_column("sha256")
    for each in versions:
        recorded, ended = (told_moment(moment).removesuffix(" UTC") for moment in (each.added_at, each.ended_at))
        table.add_row(
            str(each.version),
            recorded,
            f"{ended}, removed" if each.removed_on else ended or "[green]current[/]",
            told_spans(spans[each.version]),
            f"{each.characters:,}",
            str(each.chunks),
            each.content_hash[:12],
        )
    out.print(table)
    if missing := last.version - len(versions):
        out.print(f"{missing} {'version is' if missing == 1 else 'versions are'} not kept")


def _print_runs(runs: Sequence[RunNote], *, as_json: bool) -> None:
    if as_json:
        print_json(runs)
        return
    from rich.markup import escape

    out = console()
    if not runs:
        out.print("no run is remembered")
    for run in runs:
        when, command = told_moment(run.at), escape(run.command)
        out.print(f"[bold]{when}[/]  {command:7}  {told_counts(run)}; {run.seconds:.1f} s")
        for each in run.outcomes[:_LINES]:
            told = short_path(each.uri) + told_detail(each)
            out.print(f"  {each.status:7} {escape(told)}", style="dim")
            for warning in each.warnings:
                out.print(f"          note: {escape(warning)}", style="dim")
        if (more := len(run.outcomes) - _LINES) > 0:
            out.print(f"  … and {more:,} more; --json has all", style="dim")
