"""``pincite status``."""

from __future__ import annotations

from pincite.cli.common import ConfigOption, JsonOption, StoreOption, console, open_index, print_json, read_settings

__all__ = ["status"]


def status(store: StoreOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Say what the index holds and how it searches."""
    from pincite.build import build_generator

    settings = read_settings(store, config)
    with open_index(settings) as pincite:
        documents = pincite.documents()
        header = pincite.store.header
        points, indexed = pincite.store.point_count, pincite.store.indexed_count
        generator = build_generator(settings, pincite.encoder).name
    size = sum(file.stat().st_blocks * 512 for file in settings.store.path.rglob("*") if file.is_file())
    facts = {
        "index": str(settings.store.path),
        "created": header.created_at,
        "documents": len(documents),
        "chunks": sum(each.chunks for each in documents),
        "characters": sum(each.characters for each in documents),
        "on disk": f"{size / 1e6:.1f} MB",
        "encoder": f"{header.identity.name}, {header.identity.dimension} dimensions",
        "lexical language": header.language,
        "vector search": f"HNSW over {indexed:,} of {points:,} chunks" if indexed else "exact (recall 1)",
        "answers by": generator,
    }
    if as_json:
        print_json(facts)
        return
    from rich.markup import escape

    out = console()
    for name, value in facts.items():
        shown = f"{value:,}" if isinstance(value, int) else escape(str(value))
        out.print(f"[dim]{name:17}[/] {shown}")
