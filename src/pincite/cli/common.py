"""What several commands share: the options that name an index, opening it, printing."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.build import Pincite
    from pincite.config import Settings
    from pincite.types import Chunk, Filter, MetadataValue, StoredDocument

__all__ = [
    "ConfigOption",
    "JsonOption",
    "StoreOption",
    "WhereOption",
    "console",
    "cut_otherwise",
    "open_index",
    "parse_meta",
    "parse_where",
    "plain",
    "print_json",
    "read_settings",
    "reading_markup",
    "recipes",
    "short_path",
    "unfinished_reindex",
]

StoreOption = Annotated[
    Path | None, typer.Option("--store", metavar="FOLDER", help="The index. Default: .pincite in this folder.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings file. Default: pincite.toml in this folder.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY=VALUE",
        help="Only documents with this title, uri, page, media_type or metadata. Repeat a key for either value, "
        "use several keys for all of them.",
    ),
]


def read_settings(store: Path | None, config: Path | None, **overrides: object) -> Settings:
    """Settings in force, with the command's own options on top; None means not given."""
    from pincite.config import load_settings

    given = {name.replace("_", ".", 1): value for name, value in overrides.items()}
    return load_settings(config, environment=os.environ, overrides={"store.path": store, **given})


def open_index(settings: Settings, *, create: bool = False) -> Pincite:
    """Open the index that the settings name."""
    from pincite.build import Pincite

    return Pincite.open(settings=settings, create=create)


def parse_where(conditions: Sequence[str] | None) -> Filter | None:
    """``["year=1971", "year=1992", "status=in force"]`` → a filter. Raises InputError for anything without "="."""
    from pincite.errors import InputError

    found: dict[str, list[str]] = {}
    for condition in conditions or ():
        name, equals, value = condition.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--where takes KEY=VALUE, got {condition!r}")
        found.setdefault(name.strip(), []).append(value.strip())
    return found or None


def parse_meta(given: Sequence[str] | None) -> dict[str, MetadataValue]:
    """``["status=in force"]`` → metadata. Raises InputError for anything without "="."""
    from pincite.errors import InputError

    metadata: dict[str, MetadataValue] = {}
    for each in given or ():
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--meta takes KEY=VALUE, got {each!r}")
        metadata[key.strip()] = value.strip()
    return metadata


def recipes(documents: Sequence[StoredDocument]) -> dict[str, int]:
    """How the documents were cut → how many of them, the most frequent first."""
    return dict(Counter(each.recipe or "not recorded" for each in documents).most_common())


def cut_otherwise(documents: Sequence[StoredDocument], settings: Settings) -> str:
    """What to say of documents that were not cut as the settings say; "" where all were."""
    from pincite.build import chunk_recipe

    wanted = chunk_recipe(settings.chunk)
    other = {name: count for name, count in recipes(documents).items() if name != wanted}
    if not other:
        return ""
    told = ", ".join(f"{count} as {name}" for name, count in other.items())
    return (
        f"not every document is cut as the settings say: {told}, of {len(documents)}; "
        f"the settings say {wanted}: run `pincite reindex`"
    )


def reading_markup(chunk: Chunk) -> str:
    """The text of a chunk as rich markup, with the header of its table or the fences of its code around it, dimmed."""
    from rich.markup import escape

    def dim(text: str) -> str:
        return f"[dim]{escape(text)}[/]" if text else ""

    return f"{dim(chunk.before)}{escape(chunk.text)}{dim(chunk.after)}"


def console(*, stderr: bool = False) -> Console:
    """A console that writes plain text into pipes and files."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=not (sys.stderr if stderr else sys.stdout).isatty())


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False, indent=2))


def plain(value: object) -> Any:
    """Records as JSON data."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no word for it
    return value


def unfinished_reindex(store: Path) -> Path:
    """Where `pincite.build.reindex` makes the new index; one that is there while none runs is of a killed one."""
    return store / "reindex"


def short_path(uri: str) -> str:
    """A path below the current folder without the folder; others as they are."""
    try:
        return str(Path(uri).relative_to(Path.cwd()))
    except ValueError:
        return uri
