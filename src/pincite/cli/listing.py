"""``pincite list``."""

from __future__ import annotations

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


def list_documents(store: StoreOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the documents of the index."""
    with open_index(read_settings(store, config)) as pincite:
        documents = pincite.documents()
    if as_json:
        print_json(documents)
        return
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table("id", "version", "chunks", "characters", "title", "source", box=box.SIMPLE_HEAD, pad_edge=False)
    for each in documents:
        table.add_row(
            each.id,
            str(each.version),
            str(each.chunks),
            f"{each.characters:,}",
            escape(each.title),
            escape(short_path(each.uri)),
        )
    out = console()
    if documents:
        out.print(table)
    out.print(f"{len(documents)} documents, {sum(each.chunks for each in documents):,} chunks")
