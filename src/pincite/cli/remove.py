"""``pincite remove``."""

from __future__ import annotations

from typing import Annotated

import typer

from pincite.cli.common import ConfigOption, JsonOption, StoreOption, open_index, print_json, read_settings, short_path

__all__ = ["remove"]


def remove(
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT…", help="Ids, beginnings of ids, or paths.")],
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove documents from the index. The files themselves stay. Nothing is removed if one is not found."""
    with open_index(read_settings(store, config)) as pincite:
        found = [pincite.resolve(document) for document in documents]
        removed = [pincite.remove(each.id) for each in {each.id: each for each in found}.values()]
    if as_json:
        print_json(removed)
        return
    for each in removed:
        typer.echo(f"removed {each.id} {short_path(each.uri)} ({each.chunks} chunks)")
