"""``pincite list``."""

from __future__ import annotations

import sys
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

__all__ = ["list_documents"]


def list_documents(
    removed: Annotated[
        bool, typer.Option("--removed", help="Only documents that were removed and of which a version is kept.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Removed documents as well.")] = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the documents of the index. In a pipe: id, version, chunks, title and source, separated by tabs.

    With --removed or --all, the last version of each, and a sixth field: the first day on which it is no longer in
    force, empty for current documents.
    """
    with open_index(read_settings(store, config)) as pincite:
        documents = pincite.documents()
        if removed or everything:
            last = {each.id: each for each in pincite.store.history()}.values()
            documents = [each for each in last if everything or not each.current]
    if as_json:
        print_json(documents)
        return
    if not sys.stdout.isatty():
        # For other programs: whole ids and paths, one document a line, nothing else.
        for each in documents:
            fields = [each.id, str(each.version), str(each.chunks), each.title, short_path(each.uri)]
            typer.echo("\t".join([*fields, each.removed_on] if removed or everything else fields))
        return
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("id", no_wrap=True, overflow="fold")
    for name in ("version", "chunks", "characters"):
        table.add_column(name, justify="right")
    table.add_column("title", overflow="fold")
    table.add_column("source", overflow="fold")
    if removed or everything:
        table.add_column("removed")
    for each in documents:
        table.add_row(
            each.id,
            str(each.version),
            str(each.chunks),
            f"{each.characters:,}",
            escape(each.title),
            escape(short_path(each.uri)),
            *([each.removed_on] if removed or everything else []),
        )
    out = console()
    if documents:
        out.print(table)
    out.print(f"{len(documents)} documents, {sum(each.chunks for each in documents):,} chunks")
