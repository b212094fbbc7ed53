"""The catalogue of a store: which document versions there are, their text, and which of them readers may see.

It is a SQLite database, and it alone decides what exists. A version is ``staged`` while its points are written and
``current`` once committed. The commit that replaces or removes it makes it ``past`` where it is kept, and its points
are then marked; else ``retired`` until they are gone. A crash leaves rows behind that are staged, retired or not yet
marked; whoever opens the store next finds in them which points to delete and to mark.
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
from pincite.store.payload import ORDINAL_BITS
from pincite.store.plan import Retention
from pincite.store.schema import FORMAT, SCHEMA, UNSETTLED
from pincite.types import VALIDITY_FIELDS, Document, Heading, Page, StoredDocument, StoredSource

__all__ = ["Catalogue"]

_LISTED = (
    "document_id, version, title, uri, media_type, content_hash, chunks, characters, added_at, recipe, "
    "metadata, warnings, source, starts, ended_at, removed_on"
)

#: Sources that no document is read from any longer.
_DROP_SOURCES = "DELETE FROM sources WHERE uri NOT IN (SELECT source FROM versions WHERE state = 'current')"


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
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing of what is executed inside, on disk when it is left. For the modules of the store alone."""
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

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a query gives. For the modules of the store alone."""
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
        with self.transaction() as connection:
            for statement in SCHEMA.values():
                connection.execute(statement)
            connection.executemany("INSERT INTO meta VALUES (?, ?)", stored.items())

    def is_empty_file(self) -> bool:
        """Whether `create` has not run, or was cut off before it took effect."""
        return not self.rows("SELECT 1 FROM sqlite_master WHERE name = 'meta'")

    def format(self) -> str | None:
        """The format that the catalogue says it has."""
        rows = self.rows("SELECT value FROM meta WHERE name = 'format'")
        return str(rows[0][0]) if rows else None

    def header(self) -> StoreHeader:
        """What the index was built with. Raises IndexFormatError for another format."""
        meta = dict(self.rows("SELECT name, value FROM meta"))
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
        rows = self.rows("SELECT value FROM meta WHERE name = 'points'")
        if not rows:
            raise IndexFormatError(f"the header in {self._path} is damaged: it does not say where the points are")
        return str(rows[0][0])

    def set_points(self, name: str) -> None:
        """Say that the points are in the folder `name`."""
        with self.transaction() as connection:
            connection.execute("UPDATE meta SET value = ? WHERE name = 'points'", (name,))

    def index_record(self) -> str | None:
        """What `set_index` kept; None in an index made before there was such a thing."""
        rows = self.rows("SELECT value FROM meta WHERE name = 'index'")
        return str(rows[0][0]) if rows else None

    def set_index(self, record: str, points: str | None = None) -> None:
        """Keep a record of the vector index; at the same moment, say that the points are in the folder `points`."""
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('index', ?)", (record,))
            if points is not None:
                connection.execute("UPDATE meta SET value = ? WHERE name = 'points'", (points,))

    # Versions

    def next_version(self, document_id: str) -> int:
        """The number of the document's next version, from 1."""
        rows = self.rows("SELECT last FROM numbers WHERE document_id = ?", (document_id,))
        return int(rows[0][0]) + 1 if rows else 1

    def numbers(self) -> dict[str, int]:
        """Document id → the last number given, removed documents included."""
        return dict(self.rows("SELECT document_id, last FROM numbers"))

    def keep_numbers(self, numbers: Mapping[str, int]) -> None:
        """See to it that none of these numbers, nor an earlier one, is given again."""
        with self.transaction() as connection:
            connection.executemany(
                "INSERT INTO numbers VALUES (?, ?) ON CONFLICT (document_id) DO UPDATE"
                " SET last = max(last, excluded.last)",
                numbers.items(),
            )

    def stage(
        self,
        document: Document,
        recipe: str,
        added_at: str,
        source: str,
        starts: str | None = None,
        was: StoredDocument | None = None,
    ) -> int:
        """Record a version that is about to be written, and return its key. An older staged one is retired.

        With `was` the version keeps what that says of when it was recorded and in force.
        """
        if document.version < self.next_version(document.id):
            raise InputError(f"version {document.version} of {document.uri} was used before")
        with self.transaction() as connection:
            connection.execute(
                "UPDATE versions SET state = 'retired' WHERE document_id = ? AND state = 'staged' AND ended_at = ''",
                (document.id,),
            )
            connection.execute(
                "INSERT INTO numbers VALUES (?, ?) ON CONFLICT (document_id) DO UPDATE SET last = excluded.last",
                (document.id, document.version),
            )
            connection.executemany("INSERT OR IGNORE INTO fields VALUES (?)", [(field,) for field in document.metadata])
            row = {
                "document_id": document.id,
                "version": document.version,
                "state": "staged",
                "uri": document.uri,
                "source": source or document.uri,
                "title": document.title,
                "media_type": document.media_type,
                "content_hash": document.content_hash,
                "recipe": recipe,
                "added_at": was.added_at if was else added_at,
                "starts": was.starts if was else starts,
                "ended_at": was.ended_at if was else "",
                "removed_on": was.removed_on if was else "",
                "valid_to": str(document.metadata.get("valid_to", "")),
                "characters": len(document.text),
                "metadata": json.dumps(dict(document.metadata), ensure_ascii=False),
                "pages": json.dumps([[p.number, p.start, p.end, p.label] for p in document.pages], ensure_ascii=False),
                "headings": json.dumps(
                    [[h.level, h.text, h.start, h.end] for h in document.headings], ensure_ascii=False
                ),
                "warnings": json.dumps(document.warnings, ensure_ascii=False),
                "text": document.text,
            }
            cursor = connection.execute(
                f"INSERT INTO versions ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values())
            )
            return int(cursor.lastrowid or 0)

    def count_chunks(self, key: int, added: int, encodings: Iterable[tuple[bytes, int]] = ()) -> None:
        """Note that `added` more points of a staged version were written, and which text each vector is of."""
        with self.transaction() as connection:
            connection.execute("UPDATE versions SET chunks = chunks + ? WHERE key = ?", (added, key))
            connection.executemany("INSERT OR REPLACE INTO encodings VALUES (?, ?)", encodings)

    def commit(
        self,
        keys: Sequence[int],
        removed: Sequence[str],
        on: str,
        moment: str,
        sources: Sequence[StoredSource],
        retention: Retention,
        *,
        present: str = "",
    ) -> tuple[list[int], list[int]]:
        """Make staged versions current, end those they replace and those of removed documents, in one transaction.

        All of it is recorded at `moment`. `present`, if it is another, is the time by the clock: days count by that.
        Returns the keys that became past, and those that retention does not keep and are retired.
        """
        past: list[int] = []
        present = present or moment
        with self.transaction() as connection:
            for key in keys:
                found = connection.execute(
                    "SELECT document_id, added_at, metadata, ended_at FROM versions WHERE key = ? AND state = 'staged'",
                    (key,),
                ).fetchone()
                if found is None:
                    raise StoreError(f"ticket {key} is not staged: it was committed, discarded or replaced")
                document_id, added_at, metadata, ended_at = found
                if ended_at:  # it was past already where it comes from
                    connection.execute("UPDATE versions SET state = 'past' WHERE key = ?", (key,))
                    past.append(key)
                    continue
                past += _end(connection, document_id, moment, "")
                connection.execute(
                    "UPDATE versions SET state = 'current', added_at = ?, starts = ifnull(starts, ?) WHERE key = ?",
                    (
                        added_at or moment,
                        _start(connection, document_id, json.loads(metadata), added_at or present),
                        key,
                    ),
                )
            for document_id in removed:
                past += _end(connection, document_id, moment, on or present[:10])
            connection.executemany(
                "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)",
                [(each.uri, each.content_hash, each.reading, each.recipe) for each in sources],
            )
            if removed:
                connection.execute(_DROP_SOURCES)
            retired = _not_kept(connection, past, present, retention)
        return [key for key in past if key not in retired], sorted(retired)

    def retire(self, keys: Sequence[int]) -> list[int]:
        """Take staged versions out of sight for good. Returns the keys of those that were staged."""
        retired: list[int] = []
        with self.transaction() as connection:
            for key in keys:
                cursor = connection.execute(
                    "UPDATE versions SET state = 'retired' WHERE key = ? AND state = 'staged'", (key,)
                )
                if cursor.rowcount:
                    retired.append(key)
        return retired

    def purge(self, document_ids: Sequence[str], uris: Sequence[str]) -> None:
        """Retire every version of these documents, and what the log of runs and the list of sources say of them.

        So are the names of metadata fields that no other document has, and what is told of other documents with one of
        the addresses in it. `purging` says that their text may still be in the files, until `purged` is called.
        """
        with self.transaction() as connection:
            each_id, each_uri = [(each,) for each in document_ids], [(each,) for each in uris]
            connection.executemany("UPDATE versions SET state = 'retired' WHERE document_id = ?", each_id)
            connection.executemany("DELETE FROM outcomes WHERE document_id = ?", each_id)
            connection.executemany("DELETE FROM outcomes WHERE uri = ?", each_uri)
            for column, nothing in (("detail", ""), ("warnings", "[]")):
                connection.executemany(
                    f"UPDATE outcomes SET {column} = '{nothing}' WHERE instr({column}, ?) OR instr({column}, ?)",
                    [(uri, json.dumps(uri, ensure_ascii=False)[1:-1]) for uri in uris],
                )
            connection.executemany("DELETE FROM sources WHERE uri = ?", each_uri)
            connection.execute(_DROP_SOURCES)
            names: set[str] = set()
            for (metadata,) in connection.execute("SELECT metadata FROM versions WHERE state != 'retired'"):
                names.update(json.loads(metadata))
            connection.execute("DELETE FROM fields")
            connection.executemany("INSERT INTO fields VALUES (?)", [(name,) for name in names])
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('purging', '1')")

    def purging(self) -> bool:
        """Whether the text of something that was purged may still be in the files."""
        return bool(self.rows("SELECT 1 FROM meta WHERE name = 'purging'"))

    def purged(self) -> None:
        """Note that the files hold nothing of what was purged."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM meta WHERE name = 'purging'")

    def last_moment(self) -> str:
        """The latest at which a version was recorded or ended; empty where there is none."""
        return str(self.rows("SELECT max(ifnull(max(added_at), ''), ifnull(max(ended_at), '')) FROM versions")[0][0])

    def expire(self, moment: str, retention: Retention, *, all_rules: bool = True) -> list[int]:
        """Retire the past versions that retention does not keep any longer, and return their keys.

        Without `all_rules` only for their age, which takes no look at those that are kept.
        """
        if retention.versions is None or not all_rules:
            return self._expire_by_age(retention.ended_until(moment))
        with self.transaction() as connection:
            past = [key for (key,) in connection.execute("SELECT key FROM versions WHERE state = 'past'")]
            return sorted(_not_kept(connection, past, moment, retention))

    def _expire_by_age(self, until: str) -> list[int]:
        old = "state = 'past' AND ended_at <= ?"
        with self.transaction() as connection:
            keys = [key for (key,) in connection.execute(f"SELECT key FROM versions WHERE {old}", (until,))]
            if keys:
                connection.execute(f"UPDATE versions SET state = 'retired' WHERE {old}", (until,))
        return sorted(keys)

    def mark(self, keys: Sequence[int]) -> None:
        """Note that the points of these past versions are marked."""
        with self.transaction() as connection:
            connection.executemany("UPDATE versions SET marked = 1 WHERE key = ?", [(key,) for key in keys])

    def forget(self, keys: Sequence[int]) -> None:
        """Delete the rows of versions whose points are gone."""
        with self.transaction() as connection:
            connection.executemany("DELETE FROM versions WHERE key = ?", [(key,) for key in keys])
            connection.executemany(
                "DELETE FROM encodings WHERE point >= ? AND point < ?",
                [(key << ORDINAL_BITS, key + 1 << ORDINAL_BITS) for key in keys],
            )

    def vacuum(self) -> None:
        """Write the database anew, without what was deleted, and nothing beside it."""
        with self._lock:
            try:
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                raise _explained(self._path, error) from error

    def unsettled(self) -> tuple[list[int], list[int]]:
        """Keys of versions whose points are to be deleted (staged or retired), and to be marked (past)."""
        rows = self.rows(f"SELECT key, state FROM versions WHERE {UNSETTLED}")
        return [key for key, state in rows if state != "past"], [key for key, state in rows if state == "past"]

    def kept_keys(self) -> tuple[dict[int, tuple[str, int]], dict[int, tuple[str, int]]]:
        """Key → (document id, version), of the current versions and of the past ones."""
        current: dict[int, tuple[str, int]] = {}
        past: dict[int, tuple[str, int]] = {}
        for key, document_id, version, state in self.rows(
            "SELECT key, document_id, version, state FROM versions WHERE state IN ('current', 'past')"
        ):
            (current if state == "current" else past)[key] = (document_id, version)
        return current, past

    def key_of(self, document_id: str) -> int | None:
        """The key of the current version."""
        rows = self.rows("SELECT key FROM versions WHERE document_id = ? AND state = 'current'", (document_id,))
        return int(rows[0][0]) if rows else None

    def listed(self, where: str = "", parameters: Sequence[Any] = (), *, past: bool = False) -> list[StoredDocument]:
        """Current documents by uri, without their text; with `past`, every version that is kept.

        `where` is SQL of this module's callers, never a user's.
        """
        states = "state IN ('current', 'past')" if past else "state = 'current'"
        rows = self.rows(
            f"SELECT {_LISTED} FROM versions WHERE {states} {where} ORDER BY uri, document_id, version", parameters
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
                source=row[12],
                starts=row[13] or "",
                ended_at=row[14],
                removed_on=row[15],
            )
            for row in rows
        ]

    def listed_versions(self, keys: Sequence[int]) -> list[StoredDocument]:
        """Versions that are kept, by their keys, in the order given."""
        return [each for key in keys for each in self.listed("AND key = ?", (key,), past=True)]

    def chunk_counts(self, *, past: bool = False) -> dict[int, int]:
        """Key → number of points written, of every current version; with `past`, of every one that is kept."""
        states = "state IN ('current', 'past')" if past else "state = 'current'"
        return dict(self.rows(f"SELECT key, chunks FROM versions WHERE {states}"))

    def written(self) -> int:
        """How many points were written, of whichever versions."""
        return int(self.rows("SELECT ifnull(sum(chunks), 0) FROM versions")[0][0])

    def document(self, document_id: str, version: int | None = None) -> Document | None:
        """A document with its text, of the current version or of one that is kept; None if there is no such."""
        which = "state = 'current'" if version is None else "state IN ('current', 'past') AND version = ?"
        rows = self.rows(
            "SELECT document_id, text, title, uri, media_type, content_hash, version, metadata, pages, headings,"
            f" warnings FROM versions WHERE document_id = ? AND {which}",
            (document_id,) if version is None else (document_id, version),
        )
        if not rows:
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

    def sources(self, uri: str | None = None) -> list[StoredSource]:
        """What documents were read from, by address; or the one with an address."""
        which, parameters = ("", ()) if uri is None else (" WHERE uri = ?", (uri,))
        query = f"SELECT uri, content_hash, reading, recipe FROM sources{which} ORDER BY uri"
        return [StoredSource(*row) for row in self.rows(query, parameters)]

    def encoded(self, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Digest → a point that has the vector of the text with this digest."""
        found: dict[bytes, int] = {}
        for start in range(0, len(digests), 500):
            some = digests[start : start + 500]
            marks = ", ".join("?" * len(some))
            # Of points that have the same text any will do.
            found.update(
                self.rows(f"SELECT digest, min(point) FROM encodings WHERE digest IN ({marks}) GROUP BY digest", some)
            )
        return found

    def encodings(self) -> Iterator[list[tuple[bytes, int]]]:
        """Every digest with the point that has its vector, in the order of the points, some at a time."""
        last = -1
        while some := self.rows(
            "SELECT digest, point FROM encodings WHERE point > ? ORDER BY point LIMIT 1024", (last,)
        ):
            last = some[-1][1]
            yield [(digest, point) for digest, point in some]

    def encodings_of(self, key: int) -> set[bytes]:
        """The digests of what a version's vectors were made of."""
        first, after = key << ORDINAL_BITS, key + 1 << ORDINAL_BITS
        rows = self.rows("SELECT digest FROM encodings WHERE point >= ? AND point < ?", (first, after))
        return {digest for (digest,) in rows}

    def forget_encodings(self, digests: Sequence[bytes]) -> None:
        """Know no longer which point has the vector of these texts."""
        with self.transaction() as connection:
            connection.executemany("DELETE FROM encodings WHERE digest = ?", [(digest,) for digest in digests])

    def rewrite(self, key: int, recipe: str) -> None:
        """Note that a version has no points any longer, and how it is cut when it gets new ones."""
        with self.transaction() as connection:
            connection.execute("UPDATE versions SET chunks = 0, recipe = ? WHERE key = ?", (recipe, key))
            connection.execute(
                "DELETE FROM encodings WHERE point >= ? AND point < ?", (key << ORDINAL_BITS, key + 1 << ORDINAL_BITS)
            )

    def fields(self) -> frozenset[str]:
        """Names of every metadata field a document ever had, purged ones aside; what a filter may name."""
        return frozenset(row[0] for row in self.rows("SELECT name FROM fields"))

    def integrity(self) -> list[str]:
        """SQLite's own check; empty when all is well."""
        return [row[0] for row in self.rows("PRAGMA integrity_check") if row[0] != "ok"]


def _explained(path: Path, error: sqlite3.Error) -> StoreError:
    """The error to raise for what SQLite says: damage is one thing, a full or read-only disk another."""
    if isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError):
        return StoreError(f"the catalogue {path} cannot be used: {error}")
    return IndexFormatError(
        f"{path} is not a catalogue of pincite, or is damaged: {error}. It cannot be repaired: import an export with "
        "`pincite import`, or remove the folder and add the documents again"
    )


def _end(connection: sqlite3.Connection, document_id: str, moment: str, removed_on: str) -> list[int]:
    """Make the current version of a document past; its key, if there is one."""
    keys = [
        key
        for (key,) in connection.execute(
            "SELECT key FROM versions WHERE document_id = ? AND state = 'current'", (document_id,)
        )
    ]
    for key in keys:
        connection.execute(
            "UPDATE versions SET state = 'past', ended_at = ?, removed_on = ? WHERE key = ?", (moment, removed_on, key)
        )
    return keys


def _start(connection: sqlite3.Connection, document_id: str, metadata: Mapping[str, Any], added_at: str) -> str:
    """From which day a version is in force; see `pincite.types.PointInTime`."""
    if given := metadata.get(VALIDITY_FIELDS[0]):
        return str(given)
    earlier = connection.execute(
        "SELECT 1 FROM versions WHERE document_id = ? AND state IN ('current', 'past')", (document_id,)
    ).fetchone()
    return added_at[:10] if earlier else ""


def _not_kept(connection: sqlite3.Connection, past: Sequence[int], moment: str, retention: Retention) -> set[int]:
    """Retire those of the past versions that retention does not keep, and the older ones of the same documents."""
    if retention.keeps_all or not past:
        return set()
    documents = {
        document_id
        for key in past
        for (document_id,) in connection.execute("SELECT document_id FROM versions WHERE key = ?", (key,))
    }
    retired: set[int] = set()
    for document_id in documents:
        rows = connection.execute(
            "SELECT key, ended_at FROM versions WHERE document_id = ? AND state = 'past' ORDER BY version DESC",
            (document_id,),
        ).fetchall()
        retired |= {key for i, (key, ended_at) in enumerate(rows) if not retention.keeps(i, ended_at, moment)}
    connection.executemany("UPDATE versions SET state = 'retired' WHERE key = ?", [(key,) for key in retired])
    return retired
