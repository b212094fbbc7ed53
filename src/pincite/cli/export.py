"""``pincite export``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import ConfigOption, JsonOption, StoreOption, console, open_index, print_json, read_settings

if TYPE_CHECKING:
    from pincite.types import FileOutcome

__all__ = ["export"]


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not be there yet.")],
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the whole index into one file: every version of every document, with chunks and vectors.

    To keep as a backup, or to carry to another machine; `pincite import` reads it. Others may use the index meanwhile.
    """
    from pincite.cli.progress import AddProgress
    from pincite.portable import export_store

    outcomes: list[FileOutcome] = []
    started = time.perf_counter()
    with open_index(read_settings(store, config)) as pincite, AddProgress(console(stderr=True), outcomes) as listener:
        written = export_store(pincite.store, file, listener)
    if as_json:
        print_json({"file": file, "written": written})
    else:
        typer.echo(
            f"{written.documents} documents, {written.versions} versions, {written.chunks} chunks "
            f"in {written.bytes / 1e6:.1f} MB: {file} ({time.perf_counter() - started:.1f} s)"
        )
        for uri in written.gone:
            typer.echo(f"note: {uri} was deleted meanwhile and is not in the file")
