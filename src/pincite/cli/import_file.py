"""``pincite import``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import ConfigOption, JsonOption, StoreOption, console, print_json, read_settings

if TYPE_CHECKING:
    from pincite.protocols import StoreHeader
    from pincite.store.edge import EdgeStore
    from pincite.types import FileOutcome

__all__ = ["import_file"]


def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `pincite export` wrote.")],
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a new index of an exported file. Nothing is encoded anew.

    There must be no index in the folder yet. Interrupted or failed, it leaves none. The log of runs is not carried.
    """
    from pincite.build import index_options, retention
    from pincite.cli.progress import AddProgress
    from pincite.errors import InputError
    from pincite.portable import import_store
    from pincite.store.edge import EdgeStore

    settings = read_settings(store, config)
    folder = settings.store.path
    if EdgeStore.exists(folder):
        raise InputError(f"there is an index at {folder} already: name another folder with --store")

    def create(fresh: Path, header: StoreHeader) -> EdgeStore:
        return EdgeStore.create(fresh, header, index=index_options(settings), retention=retention(settings))

    outcomes: list[FileOutcome] = []
    started = time.perf_counter()
    with AddProgress(console(stderr=True), outcomes) as listener:
        read = import_store(file, folder, create, listener, timeout=settings.store.lock_timeout)
    if as_json:
        print_json({"store": folder, "read": read})
    else:
        typer.echo(
            f"{read.documents} documents, {read.versions} versions, {read.chunks} chunks "
            f"in the index {folder} ({time.perf_counter() - started:.1f} s)"
        )
