"""``pincite reindex``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from pincite.cli.common import ConfigOption, StoreOption, console, read_settings

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
    with AddProgress(console(stderr=True), outcomes) as listener:
        count = run(read_settings(store, config), listener)
    typer.echo(f"reindexed {count} documents, {sum(each.chunks for each in outcomes)} chunks")
