"""``pincite remove``."""

from __future__ import annotations

from typing import Annotated

import typer

from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    console,
    open_index,
    print_json,
    read_settings,
    short_path,
)
from pincite.cli.versions import check_day

__all__ = ["remove"]


def remove(
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT…", help="Ids, beginnings of ids, or paths.")],
    on: Annotated[
        str | None,
        typer.Option("--on", metavar="DATE", help="First day on which they are no longer in force. Default: today."),
    ] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove documents from the index. The files themselves stay. Nothing is removed if one is not found.

    Their versions are kept as the settings of `history` say, for `history`, `restore` and `--as-of`; `purge` deletes
    them as well.
    """
    day = check_day(on, "--on")
    with open_index(read_settings(store, config)) as pincite:
        found = [pincite.resolve(document) for document in documents]
        removed = [pincite.remove(each.id, on=day) for each in {each.id: each for each in found}.values()]
        kept = {each.id: len(pincite.store.history(each.id)) for each in removed}
    if as_json:
        print_json(removed)
        return
    for each in removed:
        left = kept[each.id]
        told = f"; {left} {'version is' if left == 1 else 'versions are'} kept" if left else "; no version is kept"
        typer.echo(f"removed {each.id} {short_path(each.uri)} ({each.chunks} chunks){told}")
    if any(kept.values()):
        console(stderr=True).print("what is kept is deleted for good by: pincite purge DOCUMENT", style="dim")
