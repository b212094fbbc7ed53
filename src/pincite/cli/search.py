"""``pincite search``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

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
    reading_markup,
)
from pincite.cli.versions import (
    AsOfOption,
    AsRecordedOption,
    check_point,
    not_in_force,
    nothing_then,
    told_version,
    version_data,
    versions_of,
)

if TYPE_CHECKING:
    from pincite.build import Pincite
    from pincite.types import Filter, Passage

__all__ = ["search"]


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    k: Annotated[int | None, typer.Option("-k", "--k", min=1, help="How many passages.")] = None,
    mode: Annotated[str | None, typer.Option("--mode", metavar="hybrid|dense|bm25", help="Which legs to ask.")] = None,
    where: WhereOption = None,
    as_of: AsOfOption = None,
    as_recorded: AsRecordedOption = None,
    full: Annotated[bool, typer.Option("--full", help="Print whole passages.")] = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find passages, by meaning and by words, with the score of each leg.

    With --as-of and --as-recorded past versions are found, and each passage says which version it is of.

    Exit status: 0 also when nothing is found.
    """
    from pincite.suspicion import SUSPICIOUS, suspicion

    check_point(as_of, as_recorded)
    settings = read_settings(store, config, search_k=k, search_mode=mode)
    then = as_of is not None or as_recorded is not None
    with open_index(settings) as pincite:
        wanted = parse_where(where)
        result = pincite.search(query, where=wanted, as_of=as_of, as_recorded=as_recorded)
        if wanted and not then and not result.passages and not _admits(pincite, wanted):
            # What a leg says of words is beside the point then.
            told = f"no document matches {', '.join(where or ())}: values are compared whole, as written"
            result = replace(result, notes=(told, *(note for note in result.notes if not note.startswith("bm25:"))))
        if not result.passages and (told := nothing_then(pincite.store, as_of, as_recorded, wanted)):
            result = replace(result, notes=(told, *(note for note in result.notes if not note.startswith("bm25:"))))
        versions = versions_of(pincite.store, ((p.chunk.document_id, p.chunk.version) for p in result.passages))
    if as_json:
        passages = [
            {
                "rank": rank,
                "stage": passage.hit.stage,
                "score": passage.hit.score,
                "legs": {stage: {"score": hit.score, "rank": hit.rank} for stage, hit in passage.legs.items()},
                "title": passage.title,
                "uri": passage.uri,
                "version": passage.chunk.version,
                **version_data(versions.get((passage.chunk.document_id, passage.chunk.version))),
                "chunk": passage.chunk,
                "found": passage.found,
                "metadata": passage.metadata,
                "suspicion": suspicion(passage.chunk.text).score,
            }
            for rank, passage in enumerate(result.passages, 1)
        ]
        print_json({"query": query, "passages": passages, "notes": result.notes, "timings": result.timings})
        return
    from rich.markup import escape

    out = console()
    # Counted here: of several that were found and are read as one, the first gives its rank in its stage.
    for number, passage in enumerate(result.passages, 1):
        legs = "  ".join(f"{stage} {hit.score:.3f} (#{hit.rank})" for stage, hit in passage.legs.items())
        where_in = f", {escape(passage.location)}" if passage.location else ""
        out.print(f"[bold]{number}. {escape(passage.title)}[/]{where_in}")
        out.print(
            f"   [dim]{passage.hit.stage} {passage.hit.score:.4f}   {legs}   "
            f"{passage.chunk.document_id} {passage.chunk.start}-{passage.chunk.end}[/]"
        )
        stored = versions.get((passage.chunk.document_id, passage.chunk.version))
        if stored is not None and (then or not stored.current or not_in_force(stored)):
            out.print(f"   [dim]{told_version(stored, recorded=as_recorded is not None)}[/]")
        if passage.found:
            spans = ", ".join(f"{start}-{end}" for start, end in passage.found)
            out.print(f"   [dim]found in it {spans}[/]")
        if (found := suspicion(passage.chunk.text)).score >= SUSPICIOUS:
            order = " ".join(passage.chunk.text[slice(*found.span)].split())
            out.print(f"   [yellow]reads like orders to a model ({found.score:.2f})[/] [dim]{escape(order[:80])}[/]")
        text = reading_markup(passage.chunk) if full else escape(_snippet(_shown(query, passage)))
        out.print(f"   {text}\n")
    if not result.passages:
        out.print("nothing found")
    for note in result.notes:
        console(stderr=True).print(f"[yellow]note[/] {escape(note)}")


def _admits(pincite: Pincite, where: Filter) -> bool:
    """Whether the filter lets any chunk through: each has a place in the vector search, whatever its words are."""
    return bool(pincite.store.search_dense(pincite.encoder.encode_queries(["anything"])[0], 1, where))


def _shown(query: str, passage: Passage) -> str:
    """Of a wider passage the text from where the most words of the query were found; else all of it."""
    from pincite.words import all_words, content_words

    chunk = passage.chunk
    asked = set(content_words(query))

    def words(span: tuple[int, int]) -> int:
        return len(asked.intersection(all_words(chunk.text[span[0] - chunk.start : span[1] - chunk.start])))

    start = max(passage.found, key=words)[0] - chunk.start if passage.found else 0
    return f"… {chunk.text[start:]}" if start else chunk.text


def _snippet(text: str, length: int = 240) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1].rsplit(" ", 1)[0] + " …"
