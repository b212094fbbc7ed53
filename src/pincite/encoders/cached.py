"""An encoder that remembers: vectors are kept on disk, and only what is missing is encoded."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from pincite.errors import BackendError, StoreError

if TYPE_CHECKING:
    from pincite.protocols import Encoder, EncoderIdentity, Matrix, Tokenizer

__all__ = ["FILE_NAME", "CachedEncoder", "forget_texts"]

FILE_NAME = "vectors.sqlite"

#: Written into the file; one of another number, or of other tables, is not read.
_FORMAT = 1
_LAYOUT = {
    "spaces": "CREATE TABLE spaces (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "vectors": "CREATE TABLE vectors (space INTEGER NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL, "
    "seconds REAL, PRIMARY KEY (space, hash)) WITHOUT ROWID",
}

#: Texts that are encoded and committed together: what an interruption can lose.
_BATCH = 256

#: Variables of one statement; every SQLite takes as many.
_VARIABLES = 900

_BUSY_SECONDS = 60.0

_Kind = Literal["query", "passage"]


class CachedEncoder:
    """See `pincite.protocols.Encoder`. Keeps the vectors of `encoder` in one SQLite file in `folder`.

    A vector is found again by every field of the encoder's identity, by whether the text was a query or a passage, and
    by the SHA-256 of the text. It is kept as the float32 numbers it was made of: what is read is bit for bit what was
    encoded. The model is not loaded as long as nothing is missing (its file is hashed, for the identity).

    What is encoded is committed 256 texts at a time, so an interruption loses no more. Several threads may share one
    object, several processes one folder: none waits for another's encoding, and a text that two encode at once is kept
    once. Nothing is ever evicted: delete the file to free its room.

    Raises StoreError when the file is damaged, of another format or cannot be written; BackendError when the encoder
    gives vectors of another shape than its identity says.
    """

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        self.encoder = encoder
        self.file = folder / FILE_NAME
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._spaces: dict[_Kind, int] = {}
        self._warm = False

    @property
    def identity(self) -> EncoderIdentity:
        """That of the encoder within: their vectors are the same."""
        return self.encoder.identity

    @property
    def tokenizer(self) -> Tokenizer:
        """That of the encoder within."""
        return self.encoder.tokenizer

    @property
    def max_tokens(self) -> int:
        """That of the encoder within."""
        return self.encoder.max_tokens

    def reads(self, text: str) -> float:
        """What the encoder within says."""
        return self.encoder.reads(text)

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """Vectors of queries, float32 (len(texts), dimension)."""
        return self._encode("query", texts, self.encoder.encode_queries)

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        """Vectors of passages, float32 (len(texts), dimension)."""
        return self._encode("passage", texts, self.encoder.encode_passages)

    def timed_query(self, text: str) -> tuple[Matrix, float]:
        """A query's vector, float32 (dimension,), and the seconds that encoding it alone took when that was done.

        The seconds are kept with the vector. A vector that was encoded with others is encoded once more, alone. The
        first encoding of a session is done twice and the second is timed: models are loaded at first use.
        """
        key = _hash(text)
        with self._opened() as connection:
            space = self._space(connection, "query")
            row = connection.execute(
                "SELECT vector, seconds FROM vectors WHERE space = ? AND hash = ?", (space, key)
            ).fetchone()
        if row is not None and row[1] is not None:
            return self._vector(row[0]), float(row[1])
        if not self._warm:
            self.encoder.encode_queries([text])
            self._warm = True
        started = time.perf_counter()
        fresh = self._checked(self.encoder.encode_queries([text]), 1)
        seconds = time.perf_counter() - started
        # A vector that is kept already stays as it is: it may be in use elsewhere, and differ in its last bits.
        self._write("query", [key], fresh, seconds)
        return (self._vector(row[0]) if row is not None else fresh[0]), seconds

    def close(self) -> None:
        """Close the file. Idempotent; a later call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
                self._spaces = {}

    def __del__(self) -> None:
        # A connection that is not closed before it is collected warns.
        if getattr(self, "_connection", None) is not None:
            self.close()

    def _encode(self, kind: _Kind, texts: Sequence[str], encode: Callable[[Sequence[str]], Matrix]) -> Matrix:
        dimension = self.identity.dimension
        keys = [_hash(text) for text in texts]
        vectors = np.zeros((len(texts), dimension), dtype=np.float32)
        rows: dict[bytes, list[int]] = {}
        for row, key in enumerate(keys):
            rows.setdefault(key, []).append(row)
        for key, blob in self._read(kind, list(rows)):
            vectors[rows.pop(key)] = self._vector(blob)
        # Longest first, so that texts of like length are encoded together whatever the order they came in.
        missing = sorted(rows, key=lambda key: -len(texts[rows[key][0]]))
        for start in range(0, len(missing), _BATCH):
            some = missing[start : start + _BATCH]
            fresh = self._checked(encode([texts[rows[key][0]] for key in some]), len(some))
            self._write(kind, some, fresh)
            for key, vector in zip(some, fresh, strict=True):
                vectors[rows[key]] = vector
        return vectors

    def _vector(self, blob: bytes) -> Matrix:
        dimension = self.identity.dimension
        if len(blob) != 4 * dimension:
            raise self._damaged(f"a vector of {len(blob)} bytes where {4 * dimension} were expected")
        return np.frombuffer(blob, dtype="<f4").astype(np.float32)

    def _checked(self, vectors: Matrix, count: int) -> Matrix:
        expected = (count, self.identity.dimension)
        if vectors.shape != expected:
            raise BackendError(
                f"{self.identity.name} gave vectors of shape {vectors.shape}, its identity says {expected}"
            )
        return vectors

    def _read(self, kind: _Kind, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        if not keys:
            return []
        found: list[tuple[bytes, bytes]] = []
        with self._opened() as connection:
            space = self._space(connection, kind)
            for start in range(0, len(keys), _VARIABLES):
                some = keys[start : start + _VARIABLES]
                marks = ",".join("?" * len(some))
                statement = f"SELECT hash, vector FROM vectors WHERE space = ? AND hash IN ({marks})"
                found += connection.execute(statement, (space, *some)).fetchall()
        return found

    def _write(self, kind: _Kind, keys: Sequence[bytes], vectors: Matrix, seconds: float | None = None) -> None:
        blobs = np.ascontiguousarray(vectors, dtype="<f4")
        with self._opened() as connection:
            space = self._space(connection, kind)
            with connection:
                connection.executemany(
                    "INSERT INTO vectors VALUES (?, ?, ?, ?) "
                    "ON CONFLICT DO UPDATE SET seconds = coalesce(seconds, excluded.seconds)",
                    [(space, key, blob.tobytes(), seconds) for key, blob in zip(keys, blobs, strict=True)],
                )

    def _space(self, connection: sqlite3.Connection, kind: _Kind) -> int:
        """The number of this encoder and kind."""
        if kind not in self._spaces:
            # As text that says which fields it is of; `repr` keeps 1 and "1" apart.
            name = repr((kind, *astuple(self.identity)))
            with connection:
                connection.execute("INSERT OR IGNORE INTO spaces (name) VALUES (?)", (name,))
            self._spaces[kind] = int(
                connection.execute("SELECT number FROM spaces WHERE name = ?", (name,)).fetchone()[0]
            )
        return self._spaces[kind]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The connection, to one thread at a time; what SQLite says gets a name."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                yield self._connection
            except sqlite3.OperationalError as error:
                raise StoreError(f"the vectors kept in {self.file} cannot be used: {error}") from error
            except sqlite3.DatabaseError as error:
                raise self._damaged(str(error)) from error
            except OSError as error:
                raise StoreError(f"vectors cannot be kept in {self.file}: {error.strerror}") from error

    def _connect(self) -> sqlite3.Connection:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.file, timeout=_BUSY_SECONDS, check_same_thread=False)
        try:
            # Looked at before anything is changed: it may be the file of another program.
            with connection:
                connection.execute("BEGIN")  # number and tables of one moment
                self._check(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # The file stays whole whatever happens; a power cut may cost the last batches, which can be made again.
            connection.execute("PRAGMA synchronous = NORMAL")
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                if not self._check(connection):
                    for statement in _LAYOUT.values():
                        connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {_FORMAT}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is laid out; False for an empty one. Raises StoreError for any other."""
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
        if version == 0 and not tables:
            return False
        if version == 0:
            raise StoreError(f"{self.file} is a database of another program: move it away, or keep vectors elsewhere")
        # The tables as well: a number says nothing about what was laid out before the number was raised.
        if version != _FORMAT or tables != _LAYOUT:
            what = f"format {version}, expected {_FORMAT}" if version != _FORMAT else "its tables are other ones"
            raise StoreError(
                f"the vectors in {self.file} were written by another version of pincite ({what}): "
                "delete the file, they will be made again"
            )
        return True

    def _damaged(self, why: str) -> StoreError:
        return StoreError(f"the vectors kept in {self.file} are damaged ({why}): delete it, they will be made again")


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def forget_texts(folder: Path, texts: Iterable[str]) -> int:
    """Delete the vectors of these texts, of every encoder, from the file kept in `folder`. How many there were.

    Raises StoreError when the file cannot be used.
    """
    file = folder / FILE_NAME
    if not file.is_file():
        return 0
    try:
        connection = sqlite3.connect(file, timeout=_BUSY_SECONDS)
        try:
            # What is deleted is overwritten.
            connection.execute("PRAGMA secure_delete = ON")
            spaces = [number for (number,) in connection.execute("SELECT number FROM spaces")]
            rows = [(space, _hash(text)) for text in texts for space in spaces]
            with connection:
                before = connection.total_changes
                connection.executemany("DELETE FROM vectors WHERE space = ? AND hash = ?", rows)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return connection.total_changes - before
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise StoreError(f"the vectors kept in {file} cannot be used: {error}") from error
