"""``pincite restore``."""

from __future__ import annotations

from typing import Annotated

import typer

from pincite.cli.common import ConfigOption, JsonOption, StoreOption, open_index, print_json, read_settings, short_path

__all__ = ["restore"]


def restore(
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="Its id, the beginning of one, or its path.")],
    version: Annotated[int, typer.Option("--version", metavar="N", min=1, help="The version whose text is wanted.")],
    valid_from: Annotated[
        str | None,
        typer.Option("--valid-from", metavar="DATE", help="The day from which it is in force again. Default: today."),
    ] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the text of an earlier version current again, as a new version; also of a removed document.

    The file it was read from stays as it is: the next `add` or `sync` of it makes the file's text current again.
    """
    with open_index(read_settings(store, config)) as pincite:
        restored = pincite.restore(document, version, valid_from=valid_from)
    if as_json:
        print_json(restored)
        return
    typer.echo(
        f"restored {restored.id} {short_path(restored.uri)}: version {restored.version} has the text of "
        f"version {version} ({restored.chunks} chunks)"
    )
