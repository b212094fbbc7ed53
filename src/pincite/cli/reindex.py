"""``pincite reindex``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from pincite.cli.common import ConfigOption, StoreOption, console, read_settings, unfinished_reindex

if TYPE_CHECKING:
    from pincite.types import FileOutcome

__all__ = ["reindex"]


def reindex(store: StoreOption = None, config: ConfigOption = None) -> None:
    """Cut and encode every document anew, with the encoder and chunking of the settings.

    The old index stays whole until the new one takes its place.
    """
    from pincite.build import reindex as run
    from pincite.cli.progress import AddProgress

    outcomes: list[FileOutcome] = []
    settings = read_settings(store, config)
    out = console(stderr=True)
    try:
        with AddProgress(out, outcomes) as listener:
            count = run(settings, listener)
    except KeyboardInterrupt:
        # What was half made is removed, unless the two were just changing places.
        changing = unfinished_reindex(settings.store.path).exists()
        told = "one of the two stands, run it again to be sure" if changing else "the index is as it was"
        out.print(f"interrupted: {told}", style="yellow")
        raise typer.Exit(130) from None
    typer.echo(f"reindexed {count} documents, {sum(each.chunks for each in outcomes)} chunks")
