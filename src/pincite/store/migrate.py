"""Bringing an index of an older format to the present one, where it is. Cut off, it has one format or the other."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pincite.errors import StoreError
from pincite.store.catalogue import Catalogue
from pincite.store.engine import create_past_index
from pincite.store.schema import FORMAT, SCHEMA

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

__all__ = ["complete", "migrate", "migrates"]


def migrates(catalogue: Catalogue) -> bool:
    """Whether the index has an older format that `migrate` knows."""
    return catalogue.format() == "1"


def migrate(catalogue: Catalogue, shard: EdgeShard) -> None:
    """From format 1, which kept the current version alone, to 2, which keeps past ones.

    The points get an index of which are past; then the catalogue is laid out anew in one transaction. What is current
    starts, as every first version does, since ever: when it replaced another is not recorded.
    """
    create_past_index(shard)
    shard.flush()
    old = (
        "key, document_id, version, uri, title, media_type, content_hash, recipe, added_at, chunks, characters,"
        " metadata, pages, headings, warnings, text"
    )
    with catalogue.transaction() as connection:
        for name in ("one_current", "by_uri", "unsettled"):
            connection.execute(f"DROP INDEX {name}")
        connection.execute("ALTER TABLE versions RENAME TO old_versions")
        for name, statement in SCHEMA.items():
            if name not in ("meta", "numbers", "fields"):
                connection.execute(statement)
        connection.execute(
            f"INSERT INTO versions ({old}, state, source, starts)"
            f" SELECT {old}, CASE state WHEN 'current' THEN 'current' ELSE 'retired' END, uri, '' FROM old_versions"
        )
        connection.execute("DROP TABLE old_versions")
        connection.execute(
            "INSERT INTO sources SELECT uri, content_hash, '', recipe FROM versions WHERE state = 'current'"
        )
        connection.execute("UPDATE meta SET value = ? WHERE name = 'format'", (str(FORMAT),))


def complete(catalogue: Catalogue) -> None:
    """Add what a catalogue of this format lacks that was made before there was such a thing: it only saves time.

    Where it cannot be written, the next opening tries again.
    """
    if not catalogue.rows("SELECT 1 FROM sqlite_master WHERE name = 'by_end'"):
        with suppress(StoreError), catalogue.transaction() as connection:
            connection.execute(SCHEMA["by_end"])
