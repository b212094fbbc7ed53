"""The catalogue of a store: which document versions there are, their text, and which of them readers may see.

It is a SQLite database, and it alone decides what exists. A version is ``staged`` while its points are written,
``current`` once committed, ``retired`` from the commit that replaced or removed it until its points are gone. A crash
leaves staged or retired rows behind; whoever opens the store next finds in them which points to delete.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pincite.errors import IndexFormatError, InputError, StoreError
from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.types import Document, Heading, Page, StoredDocument

__all__ = ["FORMAT", "Catalogue"]

#: Raised with every change of the layout of the database or of the points.
FORMAT = 1

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE versions (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('staged', 'current', 'retired')),
    uri TEXT NOT NULL,
    title TEXT NOT NULL,
    media_type TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    recipe TEXT NOT NULL,
    added_at TEXT NOT NULL,
    chunks INTEGER NOT NULL DEFAULT 0,
    characters INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    pages TEXT NOT NULL,
    headings TEXT NOT NULL,
    warnings TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (document_id, version)
);
CREATE UNIQUE INDEX one_current ON versions (document_id) WHERE state = 'current';
CREATE INDEX by_uri ON versions (uri) WHERE state = 'current';
CREATE INDEX unsettled ON versions (state) WHERE state <> 'current';
-- The last number given to each document, kept after a removal: an old citation can never come to mean another text.
CREATE TABLE numbers (document_id TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE fields (name TEXT PRIMARY KEY) WITHOUT ROWID;
"""

_LISTED = (
    "document_id, version, title, uri, media_type, content_hash, chunks, characters, added_at, recipe, "
    "metadata, warnings"
)


class Catalogue:
    """The database. Its methods may be called from any thread of the process that holds the store."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        except sqlite3.Error as error:
            raise StoreError(f"the catalogue {path} cannot be opened: {error}") from error
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            self._connection.close()
            raise _explained(path, error) from error

    def close(self) -> None:
        """Close the database, which then is one file. Idempotent."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise _explained(self._path, error) from error

    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(query, parameters).fetchall()
            except sqlite3.Error as error:
                raise _explained(self._path, error) from error

    # The header

    def create(self, header: StoreHeader, points: str) -> None:
        """Lay out an empty catalogue, all in one transaction. Its points are in the folder named `points` beside it."""
        stored = {
            "format": str(FORMAT),
            "points": points,
            "identity": json.dumps(asdict(header.identity)),
            "probes": json.dumps(header.probes),
            "language": header.language,
            "created_at": header.created_at,
        }
        with self._transaction() as connection:
            for statement in _SCHEMA.split(";\n"):
                if statement.strip():
                    connection.execute(statement)
            connection.executemany("INSERT INTO meta VALUES (?, ?)", stored.items())

    def is_empty_file(self) -> bool:
        """Whether `create` has not run, or was cut off before it took effect."""
        return not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'meta'")

    def header(self) -> StoreHeader:
        """What the index was built with. Raises IndexFormatError for another format."""
        meta = dict(self._rows("SELECT name, value FROM meta"))
        found = meta.get("format")
        if found != str(FORMAT):
            raise IndexFormatError(
                f"the index at {self._path.parent} has format {found}, this pincite reads format {FORMAT}: "
                "add the documents to a new index, or use the pincite that made it"
            )
        try:
            return StoreHeader(
                identity=EncoderIdentity(**json.loads(meta["identity"])),
                probes=tuple(tuple(probe) for probe in json.loads(meta["probes"])),
                language=meta["language"],
                created_at=meta["created_at"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise IndexFormatError(f"the header in {self._path} is damaged: {error!r}") from error

    def points(self) -> str:
        """Name of the folder that holds the points."""
        rows = self._rows("SELECT value FROM meta WHERE name = 'points'")
        if not rows:
            raise IndexFormatError(f"the header in {self._path} is damaged: it does not say where the points are")
        return str(rows[0][0])

    def set_points(self, name: str) -> None:
        """Say that the points are in the folder `name`."""
        with self._transaction() as connection:
            connection.execute("UPDATE meta SET value = ? WHERE name = 'points'", (name,))

    def index_record(self) -> str | None:
        """What `set_index` kept; None in an index made before there was such a thing."""
        rows = self._rows("SELECT value FROM meta WHERE name = 'index'")
        return str(rows[0][0]) if rows else None

    def set_index(self, record: str, points: str | None = None) -> None:
        """Keep a record of the vector index; at the same moment, say that the points are in the folder `points`."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('index', ?)", (record,))
            if points is not None:
                connection.execute("UPDATE meta SET value = ? WHERE name = 'points'", (points,))

    # Versions

    def next_version(self, document_id: str) -> int:
        """The number of the document's next version, from 1."""
        rows = self._rows("SELECT last FROM numbers WHERE document_id = ?", (document_id,))
        return int(rows[0][0]) + 1 if rows else 1

    def numbers(self) -> dict[str, int]:
        """Document id → the last number given, removed documents included."""
        return dict(self._rows("SELECT document_id, last FROM numbers"))

    def keep_numbers(self, numbers: Mapping[str, int]) -> None:
        """See to it that none of these numbers, nor an earlier one, is given again."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO numbers VALUES (?, ?) ON CONFLICT (document_id) DO UPDATE"
                " SET last = max(last, excluded.last)",
                numbers.items(),
            )

    def stage(self, document: Document, recipe: str, added_at: str, fields: Iterable[str]) -> int:
        """Record a version that is about to be written, and return its key. An older staged one is retired."""
        if document.version < self.next_version(document.id):
            raise InputError(f"version {document.version} of {document.uri} was used before")
        with self._transaction() as connection:
            connection.execute(
                "UPDATE versions SET state = 'retired' WHERE document_id = ? AND state = 'staged'", (document.id,)
            )
            connection.execute(
                "INSERT INTO numbers VALUES (?, ?) ON CONFLICT (document_id) DO UPDATE SET last = excluded.last",
                (document.id, document.version),
            )
            connection.executemany("INSERT OR IGNORE INTO fields VALUES (?)", [(field,) for field in fields])
            cursor = connection.execute(
                "INSERT INTO versions (document_id, version, state, uri, title, media_type, content_hash, recipe,"
                " added_at, characters, metadata, pages, headings, warnings, text)"
                " VALUES (?, ?, 'staged', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    document.id,
                    document.version,
                    document.uri,
                    document.title,
                    document.media_type,
                    document.content_hash,
                    recipe,
                    added_at,
                    len(document.text),
                    json.dumps(dict(document.metadata), ensure_ascii=False),
                    json.dumps([[p.number, p.start, p.end, p.label] for p in document.pages], ensure_ascii=False),
                    json.dumps([[h.level, h.text, h.start, h.end] for h in document.headings], ensure_ascii=False),
                    json.dumps(document.warnings, ensure_ascii=False),
                    document.text,
                ),
            )
            return int(cursor.lastrowid or 0)

    def count_chunks(self, key: int, added: int) -> None:
        """Note that `added` more points of a staged version were written."""
        with self._transaction() as connection:
            connection.execute("UPDATE versions SET chunks = chunks + ? WHERE key = ?", (added, key))

    def commit(self, keys: Sequence[int]) -> list[int]:
        """Make staged versions current and retire those they replace, in one transaction. Returns the retired keys."""
        retired: list[int] = []
        with self._transaction() as connection:
            for key in keys:
                found = connection.execute(
                    "SELECT document_id FROM versions WHERE key = ? AND state = 'staged'", (key,)
                ).fetchone()
                if found is None:
                    raise StoreError(f"ticket {key} is not staged: it was committed, discarded or replaced")
                old = connection.execute(
                    "SELECT key FROM versions WHERE document_id = ? AND state = 'current'", found
                ).fetchall()
                retired.extend(row[0] for row in old)
                connection.execute(
                    "UPDATE versions SET state = 'retired' WHERE document_id = ? AND state = 'current'", found
                )
                connection.execute("UPDATE versions SET state = 'current' WHERE key = ?", (key,))
        return retired

    def retire(self, keys: Sequence[int], state: str) -> list[int]:
        """Take versions out of sight that are in `state`, and return their keys. Others stay as they are."""
        retired: list[int] = []
        with self._transaction() as connection:
            for key in keys:
                cursor = connection.execute(
                    "UPDATE versions SET state = 'retired' WHERE key = ? AND state = ?", (key, state)
                )
                if cursor.rowcount:
                    retired.append(key)
        return retired

    def forget(self, keys: Sequence[int]) -> None:
        """Delete the rows of versions whose points are gone."""
        with self._transaction() as connection:
            connection.executemany("DELETE FROM versions WHERE key = ?", [(key,) for key in keys])

    def unsettled(self) -> list[int]:
        """Keys of versions that readers must not see: staged, or retired and not yet deleted."""
        return [row[0] for row in self._rows("SELECT key FROM versions WHERE state <> 'current'")]

    def current_keys(self) -> dict[int, tuple[str, int]]:
        """Key → (document id, version) of every current version."""
        return {
            key: (document_id, version)
            for key, document_id, version in self._rows(
                "SELECT key, document_id, version FROM versions WHERE state = 'current'"
            )
        }

    def key_of(self, document_id: str) -> int | None:
        """The key of the current version."""
        rows = self._rows("SELECT key FROM versions WHERE document_id = ? AND state = 'current'", (document_id,))
        return int(rows[0][0]) if rows else None

    def listed(self, where: str = "", parameters: Sequence[Any] = ()) -> list[StoredDocument]:
        """Current documents by uri, without their text. `where` is SQL of this module's callers, never a user's."""
        rows = self._rows(
            f"SELECT {_LISTED} FROM versions WHERE state = 'current' {where} ORDER BY uri, document_id", parameters
        )
        return [
            StoredDocument(
                id=row[0],
                version=row[1],
                title=row[2],
                uri=row[3],
                media_type=row[4],
                content_hash=row[5],
                chunks=row[6],
                characters=row[7],
                added_at=row[8],
                recipe=row[9],
                metadata=json.loads(row[10]),
                warnings=tuple(json.loads(row[11])),
            )
            for row in rows
        ]

    def chunk_counts(self) -> dict[int, int]:
        """Key → number of points written, of every current version."""
        return dict(self._rows("SELECT key, chunks FROM versions WHERE state = 'current'"))

    def document(self, document_id: str, version: int | None) -> Document | None:
        """A current document with its text; None if that version is not the current one."""
        rows = self._rows(
            "SELECT document_id, text, title, uri, media_type, content_hash, version, metadata, pages, headings,"
            " warnings FROM versions WHERE document_id = ? AND state = 'current'",
            (document_id,),
        )
        if not rows or version not in (None, rows[0][6]):
            return None
        row = rows[0]
        return Document(
            id=row[0],
            text=row[1],
            title=row[2],
            uri=row[3],
            media_type=row[4],
            content_hash=row[5],
            version=row[6],
            metadata=json.loads(row[7]),
            pages=tuple(Page(*page) for page in json.loads(row[8])),
            headings=tuple(Heading(*heading) for heading in json.loads(row[9])),
            warnings=tuple(json.loads(row[10])),
        )

    def fields(self) -> frozenset[str]:
        """Names of every metadata field a document ever had; what a filter may name."""
        return frozenset(row[0] for row in self._rows("SELECT name FROM fields"))

    def integrity(self) -> list[str]:
        """SQLite's own check; empty when all is well."""
        return [row[0] for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]


def _explained(path: Path, error: sqlite3.Error) -> StoreError:
    """The error to raise for what SQLite says: damage is one thing, a full or read-only disk another."""
    if isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError):
        return StoreError(f"the catalogue {path} cannot be used: {error}")
    return IndexFormatError(f"{path} is not a catalogue of pincite, or is damaged: {error}")
