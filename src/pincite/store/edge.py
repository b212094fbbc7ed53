"""The embedded store: Qdrant Edge for vectors, BM25 and filters, beside a SQLite catalogue of document versions.

A point is one chunk. Its id is ``key << 24 | ordinal``, where `key` is the catalogue's number of the document version,
so that ids are one space over both legs and sort by document and position. Every point carries its key: versions that
are not current are hidden by a filter on it inside the engine, and a commit is the change of that set.

Qdrant Edge is in beta. Nothing outside this file knows it.
"""

from __future__ import annotations

import difflib
import json
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
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
from pincite.types import Chunk, Document, Filter, Hit, MetadataValue, Passage, StoredDocument

if TYPE_CHECKING:
    from pincite.protocols import Matrix, StoreHeader

__all__ = ["EdgeStore"]

_ORDINAL_BITS = 24
_VECTOR = "dense"
_TERMS = "terms"
_KEY = "key"
_TAGS = "tags"

#: BM25 parameters: Robertson and Zaragoza 2009, the usual values.
BM25_K1 = 1.2
BM25_B = 0.75

#: Points above which `optimize` builds an HNSW graph; below, every search is exact. See docs/decisions.
HNSW_THRESHOLD = 100_000

_BUILT_IN_FIELDS = frozenset({"document_id", "media_type", "page", "title", "uri", "version"})


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
        self._recover()

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
        try:
            if header is not None and not cls.exists(folder):
                # The shard comes first and the catalogue's one transaction last: an index cut off while it was made
                # has no catalogue, so it does not exist, and is made afresh.
                shutil.rmtree(folder / "points", ignore_errors=True)
                shard = _create_shard(folder / "points", header)
                draft = folder / "catalogue.new"
                for leftover in folder.glob("catalogue.new*"):
                    leftover.unlink()
                catalogue = Catalogue(draft)
                catalogue.create(replace(header, created_at=header.created_at or _now()))
                catalogue.close()
                draft.rename(folder / "catalogue.sqlite")
                catalogue = Catalogue(folder / "catalogue.sqlite")
            else:
                catalogue = Catalogue(folder / "catalogue.sqlite")
                if catalogue.is_empty_file():
                    raise IndexFormatError(f"the catalogue of the index at {folder} is empty: it is damaged")
                catalogue.header()
                try:
                    shard = qdrant.EdgeShard.load(str(folder / "points"))
                except Exception as error:
                    raise IndexFormatError(f"the index at {folder} cannot be opened: {error}") from error
            return cls(folder, lock, catalogue, shard)
        except BaseException:
            if catalogue is not None:
                catalogue.close()
            lock.release()
            raise

    def _recover(self) -> None:
        self._staged: dict[int, Document] = {}
        self._show()
        self._hidden: frozenset[int] = frozenset(self._catalogue.unsettled())
        if self._hidden:
            self._delete(sorted(self._hidden))

    @property
    def header(self) -> StoreHeader:
        """What the index was built with."""
        return self._header

    def _show(self) -> None:
        """Take what readers may see from the catalogue."""
        self._keys = self._catalogue.current_keys()
        self._current = {document_id: (key, version) for key, (document_id, version) in self._keys.items()}

    # Writing

    def next_version(self, document_id: str) -> int:
        """The number the next version of this document gets."""
        return self._catalogue.next_version(document_id)

    def stage(self, document: Document, recipe: str = "", added_at: str = "") -> int:
        """Begin a new version; see `pincite.protocols.Store`."""
        with self._writer:
            key = self._catalogue.stage(document, recipe, added_at or _now(), document.metadata)
            # Hidden before its first point is written, and not while a search runs that began without knowing of it.
            with self._visibility.write():
                self._hidden |= {key}
            self._staged[key] = replace(document, text="", pages=(), headings=())
            return key

    def stage_chunks(self, ticket: int, chunks: Sequence[Chunk], contexts: Sequence[str], vectors: Matrix) -> None:
        """Write chunks of a staged version; see `pincite.protocols.Store`."""
        if not len(chunks) == len(contexts) == len(vectors):
            raise InputError(f"{len(chunks)} chunks, {len(contexts)} contexts and {len(vectors)} vectors do not match")
        if not chunks:
            return
        self._check_vectors(vectors)
        with self._writer:
            document = self._staged.get(ticket)
            if document is None:
                raise StoreError(f"ticket {ticket} is not staged: it was committed, discarded or replaced")
            for chunk in chunks:
                if (chunk.document_id, chunk.version) != (document.id, document.version):
                    raise InputError(f"chunk {chunk.id} is not of {document.id} version {document.version}")
            points = [
                qdrant.Point(
                    id=ticket << _ORDINAL_BITS | chunk.ordinal,
                    vector={_VECTOR: vector},
                    payload=_payload(ticket, chunk, document, context, self._header.language),
                )
                for chunk, context, vector in zip(chunks, contexts, vectors.tolist(), strict=True)
            ]
            self._shard.update(qdrant.UpdateOperation.upsert_points(points))
            self._catalogue.count_chunks(ticket, len(chunks))

    def _check_vectors(self, vectors: Matrix) -> None:
        dimension = self._header.identity.dimension
        if vectors.ndim != 2 or vectors.shape[1] != dimension:
            raise InputError(f"vectors have shape {vectors.shape}, the index holds dimension {dimension}")
        if not np.isfinite(vectors).all():
            raise InputError("a vector holds NaN or infinity")
        if not np.any(vectors, axis=1).all():
            raise InputError("a vector is zero: it has no direction to compare")

    def commit(self, tickets: Sequence[int]) -> list[StoredDocument]:
        """Make staged versions current at one moment; see `pincite.protocols.Store`."""
        with self._writer:
            # The points are on disk before the catalogue says that they count.
            self._shard.flush()
            retired = self._catalogue.commit(tickets)
            with self._visibility.write():
                self._show()
                self._hidden = (self._hidden - set(tickets)) | set(retired)
                self._delete_points(retired)
            self._forget(retired)
            committed = [self._staged.pop(ticket).id for ticket in tickets]
            return [document for document_id in committed if (document := self.find(document_id=document_id))]

    def discard(self, tickets: Sequence[int]) -> None:
        """Forget staged versions."""
        with self._writer:
            known = [ticket for ticket in tickets if self._staged.pop(ticket, None)]
            self._catalogue.retire(known)
            self._delete(known)

    def remove(self, document_id: str) -> bool:
        """Make a document unreachable in every leg before returning."""
        with self._writer:
            key = self._catalogue.key_of(document_id)
            if key is None:
                return False
            self._catalogue.retire([key])
            with self._visibility.write():
                self._show()
                self._hidden |= {key}
                self._delete_points([key])
            self._forget([key])
            return True

    def _delete(self, keys: Sequence[int]) -> None:
        self._delete_points(keys)
        self._forget(keys)

    def _delete_points(self, keys: Sequence[int]) -> None:
        if keys:
            self._shard.update(qdrant.UpdateOperation.delete_points_by_filter(_any_key(keys)))

    def _forget(self, keys: Sequence[int]) -> None:
        # The catalogue's rows go last, after the deletion is on disk: until then a crash finds them and deletes again.
        if keys:
            self._shard.flush()
            self._catalogue.forget(keys)
            self._hidden -= set(keys)

    # Reading

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several calls see one state; see `pincite.protocols.Store`."""
        with self._visibility.read():
            yield

    def documents(self) -> list[StoredDocument]:
        """Every current document, by uri."""
        return self._catalogue.listed()

    def find(self, *, uri: str | None = None, document_id: str | None = None) -> StoredDocument | None:
        """The current document with this address, or this id."""
        column, value = ("uri", uri) if uri is not None else ("document_id", document_id)
        found = self._catalogue.listed(f"AND {column} = ?", (value,))
        return found[0] if found else None

    def get_document(self, document_id: str, version: int | None = None) -> Document | None:
        """A current document with its text."""
        return self._catalogue.document(document_id, version)

    def search_dense(self, vector: Matrix, k: int, where: Filter | None = None) -> list[Hit]:
        """The k nearest chunks by cosine similarity."""
        if vector.shape != (self._header.identity.dimension,):
            raise InputError(
                f"the query vector has shape {vector.shape}, the index holds {self._header.identity.dimension}"
            )
        if not np.isfinite(vector).all() or not vector.any():
            return []
        return self._search(qdrant.Query.Nearest(vector.tolist(), using=_VECTOR), k, where, "dense")

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
        conditions = self._conditions(where)
        with self._visibility.read():
            hidden, keys = self._hidden, self._keys
            excluded: list[Any] | None = (
                [qdrant.FieldCondition(key=_KEY, match=qdrant.MatchAny(sorted(hidden)))] if hidden else None
            )
            condition = qdrant.Filter(must=conditions or None, must_not=excluded) if conditions or excluded else None
            points = self._shard.query(
                qdrant.QueryRequest(limit=k, query=query, filter=condition, with_payload=False, with_vector=False)
            )
        found = sorted((-point.score, _number(point.id)) for point in points)
        hits = []
        for rank, (negated, point_id) in enumerate(found, start=1):
            document_id, version = keys[point_id >> _ORDINAL_BITS]
            ordinal = point_id & ((1 << _ORDINAL_BITS) - 1)
            hits.append(Hit(f"{document_id}.{version}.{ordinal}", -negated, rank, stage))
        return hits

    def _conditions(self, where: Filter | None) -> list[Any]:
        if not where:
            return []
        known = _BUILT_IN_FIELDS | self._catalogue.fields()
        conditions = []
        for name, value in where.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(sorted(known))}"
                raise InputError(f"no document has a field {name!r}{hint}")
            values = [value] if isinstance(value, str | int | float | bool) else list(value)
            conditions.append(
                qdrant.FieldCondition(key=_TAGS, match=qdrant.MatchAny([_tag(name, each) for each in values]))
            )
        return conditions

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        """The chunks of `hits` with their documents' names, in the order given."""
        with self._visibility.read():
            ids = {}
            for hit in hits:
                document_id, version, ordinal = hit.chunk_id.rsplit(".", 2)
                key, current = self._current.get(document_id, (0, 0))
                if current == int(version):
                    ids[hit.chunk_id] = key << _ORDINAL_BITS | int(ordinal)
            records = self._shard.retrieve(list(ids.values()), with_payload=True, with_vector=False)
        payloads = {record.id: record.payload for record in records}
        return [
            _passage(payload, hit)
            for hit in hits
            if hit.chunk_id in ids and (payload := payloads.get(ids[hit.chunk_id])) is not None
        ]

    def chunks(self, document_id: str) -> list[Chunk]:
        """The current chunks of a document, in order."""
        with self._visibility.read():
            if document_id not in self._current:
                return []
            payloads = [payload for _, payload in self._scroll(_any_key([self._current[document_id][0]]))]
        return sorted((_chunk(payload) for payload in payloads), key=lambda chunk: chunk.ordinal)

    def _scroll(self, condition: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        offset = None
        while True:
            records, offset = self._shard.scroll(
                qdrant.ScrollRequest(limit=512, offset=offset, filter=condition, with_payload=True, with_vector=False)
            )
            for record in records:
                yield _number(record.id), record.payload or {}
            if offset is None:
                return

    # Care

    @property
    def point_count(self) -> int:
        """Points in the engine, hidden ones included."""
        return int(self._shard.info().points_count)

    @property
    def indexed_count(self) -> int:
        """Points whose vector is in an HNSW graph; the others are searched exactly."""
        return int(self._shard.info().indexed_vectors_count)

    def needs_optimizing(self) -> bool:
        """Whether so many points are outside the HNSW graph that building it pays."""
        return self.point_count - self.indexed_count > HNSW_THRESHOLD

    def optimize(self) -> bool:
        """Merge segments, and above `HNSW_THRESHOLD` points build the HNSW graph. True if anything was done.

        The engine holds the interpreter for the whole of it: a process that serves others must not call this.
        """
        with self._writer:
            return bool(self._shard.optimize())

    def check(self) -> list[str]:
        """Every broken invariant in words; empty when all is well."""
        with self._writer, self._visibility.read():
            problems = [f"catalogue: {problem}" for problem in self._catalogue.integrity()]
            expected = self._catalogue.chunk_counts()
            counted: dict[int, int] = dict.fromkeys(expected, 0)
            texts: dict[int, str] = {}
            for point_id, payload in self._scroll(None):
                key = point_id >> _ORDINAL_BITS
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
        """Release the store. Idempotent."""
        with self._writer:
            if not self._closed:
                self._closed = True
                try:
                    self._shard.close()
                finally:
                    self._catalogue.close()
                    self._process_lock.release()

    def give_place_to(self, fresh: Path) -> None:
        """Close, and let the complete index in the folder `fresh` take this one's place. Cut off, one of them stands.

        The lock is held until it is done, so that nobody can add to the old index in between.
        """
        old = self.folder.with_name(self.folder.name + ".old")
        with self._writer:
            self._closed = True
            self._shard.close()
            self._catalogue.close()
            shutil.rmtree(old, ignore_errors=True)
            self.folder.rename(old)
            fresh.rename(self.folder)
            self._process_lock.release()
            shutil.rmtree(old, ignore_errors=True)

    def __enter__(self) -> EdgeStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _create_shard(folder: Path, header: StoreHeader) -> qdrant.EdgeShard:
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
    return shard


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
    return f"{name}={written}"


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
        parent=payload["parent"],
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
