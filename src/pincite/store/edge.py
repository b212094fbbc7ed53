"""The embedded store: Qdrant Edge for vectors, BM25 and filters, beside a SQLite catalogue of document versions.

A point is one chunk. Its id is ``key << 24 | ordinal``, where `key` is the catalogue's number of the document version,
so that ids are one space over both legs and sort by document and position. Every point carries its key: versions that
are not current are hidden by a filter on it inside the engine, and a commit is the change of that set. The points lie
in a folder of their own, which the catalogue names: with one row it can be exchanged for another.

Qdrant Edge is in beta. Nothing outside this file knows it.
"""

from __future__ import annotations

import difflib
import json
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import qdrant_edge as qdrant

from pincite.analysis import LANGUAGES, analyze
from pincite.errors import IndexFormatError, InputError, StoreError
from pincite.store.catalogue import Catalogue
from pincite.store.locks import ProcessLock, ReadWriteLock
from pincite.types import BUILT_IN_FIELDS, Chunk, Document, Filter, Hit, MetadataValue, Passage, StoredDocument

if TYPE_CHECKING:
    from pincite.protocols import Matrix, StoreHeader

__all__ = ["EdgeStore"]

_ORDINAL_BITS = 24
_MAX_ORDINAL = (1 << _ORDINAL_BITS) - 1
_VECTOR = "dense"
_TERMS = "terms"
_KEY = "key"
_TAGS = "tags"

#: BM25 parameters: Robertson and Zaragoza 2009, the usual values.
BM25_K1 = 1.2
BM25_B = 0.75

#: Points above which `optimize` builds an HNSW graph; below, every search is exact (docs/decisions/0009).
HNSW_THRESHOLD = 50_000


class EdgeStore:
    """See `pincite.protocols.Store`. Made by `create` or `open`; holds the folder until `close`."""

    def __init__(self, folder: Path, lock: ProcessLock, catalogue: Catalogue, shard: qdrant.EdgeShard) -> None:
        self.folder = folder
        self._process_lock = lock
        self._catalogue = catalogue
        self._shard = shard
        self._header = catalogue.header()
        self._visibility = ReadWriteLock()
        self._writer = threading.RLock()
        self._closed = False
        self._staged: dict[int, Document] = {}
        self._written: dict[int, int] = {}  # ticket → the last ordinal written
        self._show()
        self._delete(sorted(self._hidden))

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether there is an index in `folder`."""
        return (folder / "catalogue.sqlite").is_file()

    @classmethod
    def create(cls, folder: Path, header: StoreHeader, *, timeout: float = 5.0) -> EdgeStore:
        """Make an empty index. Raises InputError if there is one, or if the language is not known."""
        if header.language not in LANGUAGES:
            raise InputError(f"no stemmer for the language {header.language!r}; known: {', '.join(LANGUAGES)}")
        if cls.exists(folder):
            raise InputError(f"there is an index at {folder} already")
        if (folder / "catalogue.sqlite").exists():
            raise IndexFormatError(f"{folder / 'catalogue.sqlite'} is in the way: it is not a file")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the index folder {folder} cannot be made: {error.strerror}") from error
        return cls._open(folder, header, timeout)

    @classmethod
    def open(cls, folder: Path, *, timeout: float = 5.0) -> EdgeStore:
        """Open an index, finishing or undoing whatever a crash cut off.

        Raises StoreBusyError when another process holds it for longer than `timeout` seconds, and IndexFormatError
        when it was written by another version or is damaged.
        """
        if not cls.exists(folder):
            raise InputError(f"there is no index at {folder}: add documents first, with: pincite add PATH")
        return cls._open(folder, None, timeout)

    @classmethod
    def _open(cls, folder: Path, header: StoreHeader | None, timeout: float) -> EdgeStore:
        lock = ProcessLock(folder)
        lock.acquire(timeout)
        catalogue: Catalogue | None = None
        shard: qdrant.EdgeShard | None = None
        try:
            if header is not None and not cls.exists(folder):
                _lay_out(folder, header)
            catalogue = Catalogue(folder / "catalogue.sqlite")
            if catalogue.is_empty_file():
                raise IndexFormatError(f"the catalogue of the index at {folder} is empty: it is damaged")
            catalogue.header()
            points = catalogue.points()
            if not (folder / points).is_dir():
                raise IndexFormatError(f"the index at {folder} is damaged: its folder {points} is missing")
            try:
                shard = qdrant.EdgeShard.load(str(folder / points))
            except BaseException as error:
                if not _from_engine(error):
                    raise
                raise IndexFormatError(f"the index at {folder} cannot be opened: {error}") from error
            store = cls(folder, lock, catalogue, shard)
            for stray in _points_folders(folder):  # of an exchange that was cut off
                if stray.name != points:
                    shutil.rmtree(stray, ignore_errors=True)
            return store
        except BaseException:
            if shard is not None:
                shard.close()
            if catalogue is not None:
                catalogue.close()
            lock.release()
            raise

    @property
    def header(self) -> StoreHeader:
        """What the index was built with."""
        return self._header

    def _show(self) -> None:
        """Take what readers may see from the catalogue."""
        self._keys = self._catalogue.current_keys()
        self._current = {document_id: (key, version) for key, (document_id, version) in self._keys.items()}
        self._hidden = frozenset(self._catalogue.unsettled())

    def _replace(self, tickets: Sequence[int], retired: Sequence[int]) -> list[str]:
        """Let readers see what was committed, without reading the whole catalogue again. Returns the documents' ids."""
        for key in retired:
            del self._keys[key]
        documents = [self._staged.pop(ticket) for ticket in tickets]
        for key, document in zip(tickets, documents, strict=True):
            self._keys[key] = (document.id, document.version)
            self._current[document.id] = (key, document.version)
        self._hidden = (self._hidden - set(tickets)) | set(retired)
        return [document.id for document in documents]

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold off other writers. Raises StoreError when closed, and in a thread that reads: it would never end."""
        self._visibility.refuse_reader()
        with self._writer:
            self._refuse_closed()
            yield

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError(f"the index {self.folder} was closed")

    # Writing

    def next_version(self, document_id: str) -> int:
        """The number the next version of this document gets."""
        with self.reading():
            return self._catalogue.next_version(document_id)

    def stage(self, document: Document, recipe: str = "", added_at: str = "") -> int:
        """Begin a new version; see `pincite.protocols.Store`. A version staged earlier and not committed is dropped."""
        _check_record(document)
        with self._changing():
            key = self._catalogue.stage(document, recipe, added_at or _now(), document.metadata)
            # Hidden before its first point is written, and not while a search runs that began without knowing of it.
            with self._visibility.write():
                self._hidden |= {key}
            older = [ticket for ticket, staged in self._staged.items() if staged.id == document.id]
            for ticket in older:
                del self._staged[ticket]
            self._staged[key] = replace(document, text="", pages=(), headings=())
            self._written[key] = -1
            self._delete(older)
            return key

    def stage_chunks(self, ticket: int, chunks: Sequence[Chunk], contexts: Sequence[str], vectors: Matrix) -> None:
        """Write chunks of a staged version, in the order of their ordinals; see `pincite.protocols.Store`."""
        if not len(chunks) == len(contexts) == len(vectors):
            raise InputError(f"{len(chunks)} chunks, {len(contexts)} contexts and {len(vectors)} vectors do not match")
        if not chunks:
            return
        units = self._unit_vectors(vectors)
        with self._changing():
            document = self._staged.get(ticket)
            if document is None:
                raise StoreError(f"ticket {ticket} is not staged: it was committed, discarded or replaced")
            last = self._written[ticket]
            for chunk in chunks:
                if (chunk.document_id, chunk.version) != (document.id, document.version):
                    raise InputError(f"chunk {chunk.id} is not of {document.id} version {document.version}")
                if not last < chunk.ordinal <= _MAX_ORDINAL:
                    raise InputError(f"chunk {chunk.id} has ordinal {chunk.ordinal}: ordinals rise, to {_MAX_ORDINAL}")
                if chunk.id != _chunk_id(document.id, document.version, chunk.ordinal):
                    raise InputError(f"chunk {chunk.id!r} is not named by its document, version and ordinal")
                last = chunk.ordinal
            points = [
                qdrant.Point(
                    id=ticket << _ORDINAL_BITS | chunk.ordinal,
                    vector={_VECTOR: vector},
                    payload=_payload(ticket, chunk, document, context, self._header.language),
                )
                for chunk, context, vector in zip(chunks, contexts, units.tolist(), strict=True)
            ]
            with self._engine("written"):
                self._shard.update(qdrant.UpdateOperation.upsert_points(points))
            self._written[ticket] = last
            self._catalogue.count_chunks(ticket, len(chunks))

    def _unit_vectors(self, vectors: Matrix) -> Matrix:
        """The vectors scaled to length 1: the engine takes a very short one for scaled already."""
        dimension = self._header.identity.dimension
        if vectors.ndim != 2 or vectors.shape[1] != dimension:
            raise InputError(f"vectors have shape {vectors.shape}, the index holds dimension {dimension}")
        if not np.isfinite(vectors).all():
            raise InputError("a vector holds NaN or infinity")
        if not np.any(vectors, axis=1).all():
            raise InputError("a vector is zero: it has no direction to compare")
        return _unit(vectors)

    def commit(self, tickets: Sequence[int]) -> list[StoredDocument]:
        """Make staged versions current at one moment; see `pincite.protocols.Store`."""
        with self._changing():
            # The points are on disk before the catalogue says that they count.
            with self._engine("written"):
                self._shard.flush()
            with self._visibility.write():
                try:
                    retired = self._catalogue.commit(tickets)
                    committed = self._replace(tickets, retired)
                except BaseException:
                    self._show()  # what is in memory follows the catalogue, whatever that did before it was cut off
                    raise
                self._delete_points(retired)
            self._forget(retired)
            return [document for document_id in committed if (document := self.find(document_id=document_id))]

    def discard(self, tickets: Sequence[int]) -> None:
        """Forget staged versions. What is committed stays."""
        with self._changing():
            known = self._catalogue.retire(tickets, "staged")
            for ticket in tickets:
                self._staged.pop(ticket, None)
            self._delete(known)

    def remove(self, document_id: str) -> bool:
        """Make a document unreachable in every leg before returning."""
        with self._changing():
            key = self._catalogue.key_of(document_id)
            if key is None:
                return False
            with self._visibility.write():
                try:
                    self._catalogue.retire([key], "current")
                finally:
                    self._show()
                self._delete_points([key])
            self._forget([key])
            return True

    def _delete(self, keys: Sequence[int]) -> None:
        self._delete_points(keys)
        self._forget(keys)

    def _delete_points(self, keys: Sequence[int]) -> None:
        if keys:
            with self._engine("written"):
                self._shard.update(qdrant.UpdateOperation.delete_points_by_filter(_any_key(keys)))

    def _forget(self, keys: Sequence[int]) -> None:
        # The catalogue's rows go last, after the deletion is on disk: until then a crash finds them and deletes again.
        if keys:
            with self._engine("written"):
                self._shard.flush()
            self._catalogue.forget(keys)
            self._hidden -= set(keys)

    @contextmanager
    def _engine(self, done: str) -> Iterator[None]:
        """Give the engine's own errors a name."""
        try:
            yield
        except BaseException as error:
            if not _from_engine(error):
                raise
            raise StoreError(f"the index {self.folder} cannot be {done}: {error}") from error

    # Reading

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several calls see one state; see `pincite.protocols.Store`."""
        with self._visibility.read():
            self._refuse_closed()
            yield

    @property
    def document_count(self) -> int:
        """How many documents there are."""
        return len(self._keys)

    def documents(self) -> list[StoredDocument]:
        """Every current document, by uri."""
        with self.reading():
            return self._catalogue.listed()

    def find(self, *, uri: str | None = None, document_id: str | None = None) -> StoredDocument | None:
        """The current document with this address, or this id."""
        column, value = ("uri", uri) if uri is not None else ("document_id", document_id)
        if value is None or not _storable(value):
            return None
        with self.reading():
            found = self._catalogue.listed(f"AND {column} = ?", (value,))
        return found[0] if found else None

    def get_document(self, document_id: str, version: int | None = None) -> Document | None:
        """A current document with its text."""
        with self.reading():
            return self._catalogue.document(document_id, version)

    def search_dense(self, vector: Matrix, k: int, where: Filter | None = None) -> list[Hit]:
        """The k nearest chunks by cosine similarity, in [-1, 1]. None for a vector without a direction."""
        if vector.shape != (self._header.identity.dimension,):
            raise InputError(
                f"the query vector has shape {vector.shape}, the index holds {self._header.identity.dimension}"
            )
        if not np.isfinite(vector).all() or not vector.any():
            return []
        hits = self._search(qdrant.Query.Nearest(_unit(vector).tolist(), using=_VECTOR), k, where, "dense")
        # Rounding gives 1.0000001: cut only now that the order is settled.
        return [hit if -1 <= hit.score <= 1 else hit._replace(score=max(-1.0, min(1.0, hit.score))) for hit in hits]

    def search_lexical(self, query: str, k: int, where: Filter | None = None) -> list[Hit]:
        """The k best chunks by BM25."""
        terms = " ".join(dict.fromkeys(analyze(query, self._header.language)))
        if not terms:
            return []
        scoring = qdrant.Bm25Params(k=BM25_K1, b=BM25_B)
        return self._search(qdrant.TextQuery(_TERMS, terms, scoring), k, where, "bm25")

    def _search(self, query: Any, k: int, where: Filter | None, stage: str) -> list[Hit]:
        if k <= 0:
            raise InputError(f"k must be at least 1, got {k}")
        with self.reading():
            conditions = self._conditions(where)
            excluded: list[Any] | None = (
                [qdrant.FieldCondition(key=_KEY, match=qdrant.MatchAny(sorted(self._hidden)))] if self._hidden else None
            )
            condition = qdrant.Filter(must=conditions or None, must_not=excluded) if conditions or excluded else None
            found = sorted([(-point.score, _number(point.id)) for point in self._best(query, k, condition)])[:k]
            keys = self._keys
            # A point of no document is for `check` to tell.
            found = [pair for pair in found if pair[1] >> _ORDINAL_BITS in keys]
            names = [_chunk_id(*keys[point_id >> _ORDINAL_BITS], point_id & _MAX_ORDINAL) for _, point_id in found]
        return Hit.ranked(names, [-negated for negated, _ in found], stage)

    def _best(self, query: Any, k: int, condition: Any) -> list[Any]:
        """The k best points and every one that ties with the last of them: the engine takes any of those."""
        most = self.point_count
        limit = min(k, most) + 1
        while True:
            with self._engine("searched"):
                points = self._shard.query(
                    qdrant.QueryRequest(
                        limit=limit, query=query, filter=condition, with_payload=False, with_vector=False
                    )
                )
            if len(points) < limit or limit > most or points[-1].score < points[k - 1].score:
                return points
            limit = min(4 * limit, most + 1)

    def _conditions(self, where: Filter | None) -> list[Any]:
        if not where:
            return []
        known = BUILT_IN_FIELDS | self._catalogue.fields()
        conditions = []
        for name, value in where.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(sorted(known))}"
                raise InputError(f"no document has a field {name!r}{hint}")
            values = [value] if isinstance(value, str | int | float | bool) else value
            if not isinstance(values, Sequence | Set) or not all(
                isinstance(each, str | int | float | bool) for each in values
            ):
                raise InputError(
                    f"the filter {name!r} is {value!r}: expected text, a number, true or false, or a list of these"
                )
            conditions.append(
                qdrant.FieldCondition(key=_TAGS, match=qdrant.MatchAny([_tag(name, each) for each in values]))
            )
        return conditions

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        """The chunks of `hits` with their documents' names, in the order given."""
        with self.reading():
            ids = {}
            for hit in hits:
                document_id, _, rest = hit.chunk_id.rpartition(".")[0].rpartition(".")
                key, version = self._current.get(document_id, (0, 0))
                ordinal = hit.chunk_id.rpartition(".")[2]
                if rest == str(version) and ordinal.isdecimal() and int(ordinal) <= _MAX_ORDINAL:
                    ids[hit.chunk_id] = key << _ORDINAL_BITS | int(ordinal)
            with self._engine("read"):
                records = self._shard.retrieve(list(ids.values()), with_payload=True, with_vector=False)
        payloads = {record.id: record.payload for record in records}
        return [
            _passage(payload, hit)
            for hit in hits
            if hit.chunk_id in ids and (payload := payloads.get(ids[hit.chunk_id])) is not None
        ]

    def chunks(self, document_id: str) -> list[Chunk]:
        """The current chunks of a document, in order."""
        with self.reading():
            if document_id not in self._current:
                return []
            payloads = [payload for _, payload in self._scroll(_any_key([self._current[document_id][0]]))]
        return sorted((_chunk(payload) for payload in payloads), key=lambda chunk: chunk.ordinal)

    def _scroll(self, condition: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        offset = None
        while True:
            with self._engine("read"):
                records, offset = self._shard.scroll(
                    qdrant.ScrollRequest(
                        limit=512, offset=offset, filter=condition, with_payload=True, with_vector=False
                    )
                )
            for record in records:
                yield _number(record.id), record.payload or {}
            if offset is None:
                return

    # Care

    @property
    def point_count(self) -> int:
        """Points in the engine, hidden ones included."""
        with self._engine("read"):
            return int(self._shard.info().points_count)

    @property
    def indexed_count(self) -> int:
        """Points whose vector is in an HNSW graph; the others are searched exactly."""
        with self._engine("read"):
            return int(self._shard.info().indexed_vectors_count)

    def needs_optimizing(self) -> bool:
        """Whether so many points are outside the HNSW graph that building it pays."""
        return self.point_count - self.indexed_count > HNSW_THRESHOLD

    def optimize(self) -> bool:
        """Merge segments, and above `HNSW_THRESHOLD` points build the HNSW graph. True if anything was done.

        The engine holds the interpreter for the whole of it: a process that serves others must not call this.
        """
        with self._changing(), self._engine("optimized"):
            return bool(self._shard.optimize())

    def check(self) -> list[str]:
        """Every broken invariant in words; empty when all is well."""
        with self._changing(), self.reading():
            problems = [f"catalogue: {problem}" for problem in self._catalogue.integrity()]
            expected = self._catalogue.chunk_counts()
            counted: dict[int, int] = dict.fromkeys(expected, 0)
            texts: dict[int, str] = {}
            for point_id, payload in self._scroll(None):
                key = point_id >> _ORDINAL_BITS
                if key in self._hidden:  # being written
                    continue
                if key not in counted:
                    problems.append(f"point {point_id} belongs to no document")
                    continue
                counted[key] += 1
                chunk = _chunk(payload)
                if key not in texts:
                    texts.clear()  # points come in the order of their ids: one document at a time
                    document = self._catalogue.document(*self._keys[key])
                    texts[key] = document.text if document else ""
                if texts[key][chunk.start : chunk.end] != chunk.text:
                    problems.append(f"chunk {chunk.id} is not the text of its span {chunk.start}-{chunk.end}")
            for key, count in expected.items():
                if counted[key] != count:
                    document_id, version = self._keys[key]
                    problems.append(f"document {document_id} version {version}: {count} chunks, {counted[key]} found")
            return problems

    def close(self) -> None:
        """Release the store, once the reads that are running have ended. Idempotent."""
        self._visibility.refuse_reader()
        with self._writer:
            if not self._closed:
                try:
                    self._close_files()
                finally:
                    self._process_lock.release()

    def _close_files(self) -> None:
        with self._visibility.write():
            self._closed = True
            try:
                with self._engine("closed"):
                    self._shard.close()
            finally:
                self._catalogue.close()

    def give_place_to(self, fresh: Path) -> None:
        """Close, and let the complete index in the folder `fresh` take this one's place. Cut off, one of them stands.

        The lock is held until it is done, so that nobody can add to the old index in between.
        """
        with self._changing():
            old_points = self._catalogue.points()
            numbers = self._catalogue.numbers()
            new_points = _points_name(1 + max(_generation(each) for each in _points_folders(self.folder)))
            try:
                self._close_files()
                catalogue = Catalogue(fresh / "catalogue.sqlite")
                (fresh / catalogue.points()).rename(self.folder / new_points)
                catalogue.set_points(new_points)
                catalogue.keep_numbers(numbers)
                catalogue.close()
                # Until this moment the old catalogue names the old points; from it on, the new one the new.
                (fresh / "catalogue.sqlite").replace(self.folder / "catalogue.sqlite")
                shutil.rmtree(self.folder / old_points, ignore_errors=True)
                shutil.rmtree(fresh, ignore_errors=True)
            except OSError as error:
                raise StoreError(f"the new index cannot take the place of {self.folder}: {error}") from error
            finally:
                self._process_lock.release()

    def __enter__(self) -> EdgeStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _points_name(generation: int) -> str:
    return f"points-{generation}.edge"


def _generation(points: Path) -> int:
    return int(points.name.removeprefix("points-").removesuffix(".edge"))


def _points_folders(folder: Path) -> list[Path]:
    return [each for each in folder.glob("points-*.edge") if each.name[len("points-") : -len(".edge")].isdecimal()]


def _lay_out(folder: Path, header: StoreHeader) -> None:
    """Make an empty index. The catalogue comes last and whole: one cut off while it was made has none, so it is not."""
    for leftover in _points_folders(folder):
        shutil.rmtree(leftover)
    for leftover in folder.glob("catalogue.new*"):
        leftover.unlink()
    points = _points_name(1)
    try:
        _create_shard(folder / points, header)
    except BaseException as error:
        if not _from_engine(error) and not isinstance(error, OSError):
            raise
        raise StoreError(f"the index at {folder} cannot be made: {error}") from error
    catalogue = Catalogue(folder / "catalogue.new")
    try:
        catalogue.create(replace(header, created_at=header.created_at or _now()), points)
    finally:
        catalogue.close()
    (folder / "catalogue.new").rename(folder / "catalogue.sqlite")


def _create_shard(folder: Path, header: StoreHeader) -> None:
    dimension = header.identity.dimension
    folder.mkdir(parents=True)
    shard = qdrant.EdgeShard.create(
        str(folder),
        qdrant.EdgeConfig(
            vectors={_VECTOR: qdrant.EdgeVectorParams(size=dimension, distance=qdrant.Distance.Cosine)},
            hnsw_config=qdrant.HnswIndexConfig(m=16, ef_construct=128, full_scan_threshold=10_000),
            optimizers=qdrant.EdgeOptimizersConfig(
                default_segment_number=1,
                indexing_threshold=HNSW_THRESHOLD * dimension * 4 // 1024,  # in KB of vectors
            ),
            # One segment is searched by one thread in any case; a pool of more only passes the query around. Kept with
            # the index. Measured on two cores: a search takes two thirds of the time, two callers get as many answers.
            max_search_threads=1,
        ),
    )
    language = header.language.capitalize()
    text_index = qdrant.TextIndexParams(
        tokenizer=qdrant.TokenizerType.Whitespace,
        lowercase=False,
        stopwords=getattr(qdrant.Language, language),
        stemmer=qdrant.SnowballParams(getattr(qdrant.SnowballLanguage, language)),
        scoring=True,
    )
    # A filter on a field without an index reads every payload.
    for field, schema in (
        (_TERMS, text_index),
        (_KEY, qdrant.IntegerIndexParams(lookup=True, range=False)),
        (_TAGS, qdrant.KeywordIndexParams()),
    ):
        shard.update(qdrant.UpdateOperation.create_field_index(field, schema))
    shard.flush()
    shard.close()


def _from_engine(error: BaseException) -> bool:
    """The engine raises plain `Exception`, and when it panics a `BaseException` of a type that it does not export."""
    return type(error) is Exception or type(error).__name__ == "PanicException"


def _unit(vectors: Matrix) -> Matrix:
    """Scaled to length 1 along the last axis, in double precision: no length of a float32 vector is out of range."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    units: Matrix = (vectors / lengths).astype(np.float32)
    return units


def _chunk_id(document_id: str, version: int, ordinal: int) -> str:
    return f"{document_id}.{version}.{ordinal}"


def _storable(text: str) -> bool:
    """Whether text can be written as UTF-8, which a lone surrogate cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _check_record(document: Document) -> None:
    """Raise InputError for what neither engine can keep as it is."""
    for name in ("id", "uri", "title", "text", "media_type", "content_hash"):
        if not _storable(getattr(document, name)):
            raise InputError(f"the {name} of {document.uri!r} holds a lone surrogate, which is not text")
    for name, value in document.metadata.items():
        if not isinstance(value, str | int | float | bool):
            raise InputError(
                f"the metadata field {name!r} of {document.uri!r} is {value!r}: expected text, a number, true or false"
            )
        if not _storable(f"{name}{value}"):
            raise InputError(f"the metadata field {name!r} of {document.uri!r} holds a lone surrogate")


def _number(point_id: Any) -> int:
    """The engine types ids as number, text or UUID; this store gives numbers only."""
    return int(point_id)


def _any_key(keys: Sequence[int]) -> Any:
    return qdrant.Filter(must=[qdrant.FieldCondition(key=_KEY, match=qdrant.MatchAny(list(keys)))])


def _tag(name: str, value: MetadataValue) -> str:
    """One filterable fact. Values compare as people write them: ``--where year=1973`` finds 1973 and "1973"."""
    if isinstance(value, bool):
        written = "true" if value else "false"
    elif isinstance(value, float) and value.is_integer():
        written = str(int(value))
    else:
        written = str(value)
    return json.dumps([name, written])  # not "name=value": a name may hold "=" as well


def _payload(key: int, chunk: Chunk, document: Document, context: str, language: str) -> dict[str, Any]:
    facts: dict[str, MetadataValue] = {
        **document.metadata,
        "document_id": document.id,
        "media_type": document.media_type,
        "title": document.title,
        "uri": document.uri,
        "version": chunk.version,
    }
    if chunk.page is not None:
        facts["page"] = chunk.page
    return {
        _KEY: key,
        _TAGS: [_tag(name, value) for name, value in facts.items()],
        _TERMS: " ".join(analyze(f"{context}\n{chunk.text}", language)),
        "id": chunk.id,
        "document_id": chunk.document_id,
        "version": chunk.version,
        "ordinal": chunk.ordinal,
        "text": chunk.text,
        "start": chunk.start,
        "end": chunk.end,
        "headings": list(chunk.headings),
        "page": chunk.page,
        "before": chunk.before,
        "after": chunk.after,
        "parent": chunk.parent,
        "title": document.title,
        "uri": document.uri,
        # As JSON: the engine would turn 2.0 into 2 and reorder.
        "metadata": json.dumps(dict(document.metadata), ensure_ascii=False),
    }


def _chunk(payload: Mapping[str, Any]) -> Chunk:
    return Chunk(
        id=payload["id"],
        document_id=payload["document_id"],
        version=payload["version"],
        text=payload["text"],
        start=payload["start"],
        end=payload["end"],
        ordinal=payload["ordinal"],
        headings=tuple(payload["headings"]),
        page=payload["page"],
        # Absent in an index of an older version.
        before=payload.get("before", ""),
        after=payload.get("after", ""),
        parent=tuple(parent) if (parent := payload.get("parent")) else None,
    )


def _passage(payload: Mapping[str, Any], hit: Hit) -> Passage:
    return Passage(
        chunk=_chunk(payload),
        title=payload["title"],
        uri=payload["uri"],
        hit=hit,
        metadata=json.loads(payload["metadata"]),
    )


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
