"""``pincite search``."""

from __future__ import annotations

from typing import Annotated

import typer

from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    WhereOption,
    console,
    open_index,
    parse_where,
    print_json,
    read_settings,
)

__all__ = ["search"]


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    k: Annotated[int | None, typer.Option("-k", "--k", min=1, help="How many passages.")] = None,
    mode: Annotated[str | None, typer.Option("--mode", metavar="hybrid|dense|bm25", help="Which legs to ask.")] = None,
    where: WhereOption = None,
    full: Annotated[bool, typer.Option("--full", help="Print whole passages.")] = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find passages, by meaning and by words, with the score of each leg.

    Exit status: 0 also when nothing is found.
    """
    settings = read_settings(store, config, search_k=k, search_mode=mode)
    with open_index(settings) as pincite:
        result = pincite.search(query, where=parse_where(where))
    if as_json:
        passages = [
            {
                "rank": passage.hit.rank,
                "score": passage.hit.score,
                "legs": {stage: {"score": hit.score, "rank": hit.rank} for stage, hit in passage.legs.items()},
                "title": passage.title,
                "uri": passage.uri,
                "chunk": passage.chunk,
                "metadata": passage.metadata,
            }
            for passage in result.passages
        ]
        print_json({"query": query, "passages": passages, "notes": result.notes, "timings": result.timings})
        return
    from rich.markup import escape

    out = console()
    for passage in result.passages:
        legs = "  ".join(f"{stage} {hit.score:.3f} (#{hit.rank})" for stage, hit in passage.legs.items())
        where_in = f", {escape(passage.location)}" if passage.location else ""
        out.print(f"[bold]{passage.hit.rank}. {escape(passage.title)}[/]{where_in}")
        out.print(
            f"   [dim]{passage.hit.stage} {passage.hit.score:.4f}   {legs}   "
            f"{passage.chunk.document_id} {passage.chunk.start}-{passage.chunk.end}[/]"
        )
        text = passage.chunk.text if full else _snippet(passage.chunk.text)
        out.print(f"   {escape(text)}\n")
    if not result.passages:
        out.print("nothing found")
    for note in result.notes:
        console(stderr=True).print(f"[yellow]note[/] {escape(note)}")


def _snippet(text: str, length: int = 240) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1].rsplit(" ", 1)[0] + " …"
