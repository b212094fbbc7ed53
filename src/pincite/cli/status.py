"""``pincite status``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    console,
    cut_otherwise,
    open_index,
    print_json,
    read_settings,
    recipes,
)
from pincite.cli.versions import told_counts, told_moment

if TYPE_CHECKING:
    from pincite.config import HistorySettings
    from pincite.protocols import Recall

__all__ = ["recall_line", "status"]


def status(
    store: StoreOption = None,
    config: ConfigOption = None,
    recall: Annotated[
        bool, typer.Option("--recall", help="Measure now how much of the exact result the vector search finds.")
    ] = False,
    queries: Annotated[int, typer.Option(min=1, max=100_000, help="Queries that --recall makes.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Which stored vectors --recall makes them of.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Say what the index holds and how it searches."""
    from pincite.answer_models import build_generator
    from pincite.build import chunk_recipe
    from pincite.errors import PinciteError

    settings = read_settings(store, config)
    with open_index(settings) as pincite:
        documents = pincite.documents()
        past = [each for each in pincite.store.history() if not each.current]
        last = pincite.store.runs(1)
        header = pincite.store.header
        index = pincite.store.index_report()
        measured = pincite.store.measure_recall(queries, seed) if recall else None
        try:
            generator = build_generator(settings, pincite.encoder).name
        except PinciteError as error:  # what the index holds can be said all the same
            generator = f"nobody: {error}"
    cut = recipes(documents)
    advice = cut_otherwise(documents, settings)
    size = sum(file.stat().st_blocks * 512 for file in settings.store.path.rglob("*") if file.is_file())
    facts: dict[str, object] = {
        "index": str(settings.store.path),
        "created": header.created_at,
        "documents": len(documents),
        "chunks": sum(each.chunks for each in documents),
        "characters": sum(each.characters for each in documents),
        "past versions": len(past),
        "past chunks": sum(each.chunks for each in past),
        "removed documents": len({each.id for each in past} - {each.id for each in documents}),
        "retention": _kept(settings.history),
        "last run": f"{last[0].command}, {told_moment(last[0].at)}: {told_counts(last[0])}" if last else "none",
        "on disk": f"{size / 1e6:.1f} MB",
        "encoder": f"{header.identity.name}, {header.identity.dimension} dimensions",
        "lexical language": header.language,
        "vector search": index.search,
        "answers by": generator,
    }
    if as_json:
        extra = {"cut as": cut, "settings cut as": chunk_recipe(settings.chunk), "notes": [advice] if advice else []}
        print_json({**facts, **extra, "vector index": index, "recall now": measured})
        return
    from rich.markup import escape

    if cut:
        facts["cut as"] = "; ".join(f"{name} ({count:,})" if len(cut) > 1 else name for name, count in cut.items())
    if index.beam:
        facts["beam"] = index.beam
    if index.recall is not None:
        facts["when built"] = recall_line(index.recall)
    if recall:
        facts["now"] = recall_line(measured) if measured is not None else "recall 1: every search is exact"
    out = console()
    for name, value in facts.items():
        shown = f"{value:,}" if isinstance(value, int) else escape(str(value))
        out.print(f"[dim]{name:17}[/] {shown}")
    for note in (*([advice] if advice else ()), *index.notes):
        out.print(f"[yellow]{'note':17}[/] {escape(note)}")


def _kept(history: HistorySettings) -> str:
    """What the settings of `history` say, in words."""
    if history.versions == 0:
        return "none: what is replaced or removed is deleted"
    most = "all" if history.versions is None else f"the last {history.versions:,} of each document"
    return f"{most}, for good" if history.days is None else f"{most}, for {history.days:g} days"


def recall_line(measured: Recall) -> str:
    """One line: recall with its interval, what it was measured with and when, milliseconds beside those of exact."""
    return (
        f"recall@{measured.k} {measured.recall:.4f} (95 %: {measured.low:.4f} to {measured.high:.4f}), "
        f"{measured.queries} queries on {measured.points:,} chunks, {measured.measured_at[:10]}; "
        f"ms p50 {measured.p50_ms:.2f}, p99 {measured.p99_ms:.2f} (exact: {measured.exact_p50_ms:.2f}, "
        f"{measured.exact_p99_ms:.2f})"
    )
