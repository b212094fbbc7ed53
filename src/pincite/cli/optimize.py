"""``pincite optimize``."""

from __future__ import annotations

import time

import typer

from pincite.cli.common import ConfigOption, StoreOption, open_index, read_settings

__all__ = ["optimize"]


def optimize(store: StoreOption = None, config: ConfigOption = None) -> None:
    """Settle the index on disk, and build the graph for fast search if it is large. `add` does it where it pays."""
    with open_index(read_settings(store, config)) as pincite:
        started = time.perf_counter()
        done = pincite.store.optimize()
    typer.echo(f"optimized in {time.perf_counter() - started:.1f} s" if done else "nothing to do")
