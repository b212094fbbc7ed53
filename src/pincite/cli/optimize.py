"""``pincite optimize``."""

from __future__ import annotations

import time

import typer

from pincite.cli.common import ConfigOption, StoreOption, open_index, read_settings

__all__ = ["optimize"]


def optimize(store: StoreOption = None, config: ConfigOption = None) -> None:
    """Settle the index on disk, and build the vector index of the settings if it is large. `add` does it where it pays.

    What was built is measured against exact search and kept only if it finds enough (index.recall_floor).
    """
    from pincite.cli.status import recall_line

    with open_index(read_settings(store, config)) as pincite:
        started = time.perf_counter()
        done = pincite.store.optimize()
        report = pincite.store.index_report()
    typer.echo(f"optimized in {time.perf_counter() - started:.1f} s" if done else "nothing to do")
    typer.echo(f"vector search: {report.search}{f' ({report.beam})' if report.beam else ''}")
    if report.recall is not None:
        typer.echo(recall_line(report.recall))
    for note in report.notes:
        typer.echo(f"note: {note}")
