"""The embedded store: Qdrant Edge for vectors, BM25 and filters, beside a SQLite catalogue of document versions.

A point is one chunk. Its id is ``key << 24 | ordinal``, where `key` is the catalogue's number of the document version,
so that ids are one space over both legs and sort by document and position. Every point carries its key: versions that
are not current are hidden by a filter on it inside the engine, and a commit is the change of that set. The points lie
in a folder of their own, which the catalogue names: with one row it can be exchanged for another. So is every vector
index that the engine cannot build where the points are, and the codes that lie beside them.
"""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import qdrant_edge as qdrant

from pincite.analysis import LANGUAGES, analyze
from pincite.errors import IndexFormatError, InputError, StoreError
from pincite.protocols import IndexReport
from pincite.store import ivfpq, recall
from pincite.store.catalogue import Catalogue
from pincite.store.engine import (
    EXACT,
    VECTOR,
    any_key,
    conditions,
    copy_shard,
    create_shard,
    from_engine,
    load_shard,
    number,
    search_params,
)
from pincite.store.locks import ProcessLock, ReadWriteLock
from pincite.store.payload import (
    KEY,
    MAX_ORDINAL,
    ORDINAL_BITS,
    TERMS,
    check_record,
    chunk_id,
    make_payload,
    read_chunk,
    read_passage,
    storable,
)
from pincite.store.plan import NAMES, UNMEASURED, Beam, IndexOptions, IndexState, Layout
from pincite.types import BUILT_IN_FIELDS, Chunk, Document, Filter, Hit, Passage, StoredDocument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.protocols import Matrix, Recall, StoreHeader

__all__ = ["EdgeStore"]

#: BM25 parameters: Robertson and Zaragoza 2009, the usual values.
BM25_K1 = 1.2
BM25_B = 0.75
#: How soon a word that the query repeats counts no more; chosen without test queries, see docs/decisions/0010.
BM25_K3 = 8.0
#: So many of the best chunks are weighed by how often the query says a word.
_REPEATED_AMONG = 1000

#: Queries that a new index is measured with.
_QUERIES = 300


class EdgeStore:
    """See `pincite.protocols.Store`. Made by `create` or `open`; holds the folder until `close`."""

    def __init__(
        self,
        folder: Path,
        lock: ProcessLock,
        catalogue: Catalogue,
        shard: qdrant.EdgeShard,
        options: IndexOptions | None = None,
    ) -> None:
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
        self._options = options or IndexOptions()
        self._state = IndexState.parse(catalogue.index_record())
        self._codes: ivfpq.IvfPq | None = None
        self._notes: tuple[str, ...] = ()
        self._show()
        self._delete(sorted(self._hidden))
        self._settle()

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether there is an index in `folder`."""
        return (folder / "catalogue.sqlite").is_file()

    @classmethod
    def create(
        cls, folder: Path, header: StoreHeader, *, timeout: float = 5.0, index: IndexOptions | None = None
    ) -> EdgeStore:
        """Make an empty index. Raises InputError if there is one, or if the language is not known.

        `index` says how vectors shall be searched once `optimize` has built what that takes.
        """
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
        return cls._open(folder, header, timeout, index or IndexOptions())

    @classmethod
    def open(cls, folder: Path, *, timeout: float = 5.0, index: IndexOptions | None = None) -> EdgeStore:
        """Open an index, finishing or undoing whatever a crash cut off. `index` is what the next `optimize` builds.

        Raises StoreBusyError when another process holds it for longer than `timeout` seconds, and IndexFormatError
        when it was written by another version or is damaged.
        """
        if not cls.exists(folder):
            raise InputError(f"there is no index at {folder}: add documents first, with: pincite add PATH")
        return cls._open(folder, None, timeout, index or IndexOptions())

    @classmethod
    def _open(cls, folder: Path, header: StoreHeader | None, timeout: float, options: IndexOptions) -> EdgeStore:
        lock = ProcessLock(folder)
        lock.acquire(timeout)
        catalogue: Catalogue | None = None
        shard: qdrant.EdgeShard | None = None
        try:
            if header is not None and not cls.exists(folder):
                _lay_out(folder, header, options.layout())
            catalogue = Catalogue(folder / "catalogue.sqlite")
            if catalogue.is_empty_file():
                raise IndexFormatError(f"the catalogue of the index at {folder} is empty: it is damaged")
            catalogue.header()
            points = catalogue.points()
            if not (folder / points).is_dir():
                raise IndexFormatError(f"the index at {folder} is damaged: its folder {points} is missing")
            try:
                shard = load_shard(folder / points)
            except BaseException as error:
                if not from_engine(error):
                    raise
                raise IndexFormatError(f"the index at {folder} cannot be opened: {error}") from error
            store = cls(folder, lock, catalogue, shard, options)
            store._clear_strays()
            return store
        except BaseException:
            if shard is not None:
                shard.close()
            if catalogue is not None:
                catalogue.close()
            lock.release()
            raise

    def _clear_strays(self) -> None:
        """Remove what an exchange left that was cut off, and what it took the place of."""
        points = self._catalogue.points()
        for stray in _points_folders(self.folder):
            if stray.name != points:
                shutil.rmtree(stray, ignore_errors=True)
        kept = self._state.sidecar.file if self._state.sidecar else ""
        for file in (*self.folder.glob("ivfpq-*.faiss"), *self.folder.glob("ivfpq-*.new")):
            if file.name != kept:
                with suppress(OSError):
                    file.unlink()

    @property
    def header(self) -> StoreHeader:
        """What the index was built with."""
        return self._header

    def _show(self) -> None:
        """Take what readers may see from the catalogue."""
        self._keys = self._catalogue.current_keys()
        self._current = {document_id: (key, version) for key, (document_id, version) in self._keys.items()}
        self._hidden = frozenset(self._catalogue.unsettled())
        self._outside: tuple[tuple[int, ...], int] | None = None

    def _replace(self, tickets: Sequence[int], retired: Sequence[int]) -> list[str]:
        """Let readers see what was committed, without reading the whole catalogue again. Returns the documents' ids."""
        for key in retired:
            del self._keys[key]
        documents = [self._staged.pop(ticket) for ticket in tickets]
        for key, document in zip(tickets, documents, strict=True):
            self._keys[key] = (document.id, document.version)
            self._current[document.id] = (key, document.version)
        self._hidden = (self._hidden - set(tickets)) | set(retired)
        self._outside = None
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
        check_record(document)
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
                if not last < chunk.ordinal <= MAX_ORDINAL:
                    raise InputError(f"chunk {chunk.id} has ordinal {chunk.ordinal}: ordinals rise, to {MAX_ORDINAL}")
                if chunk.id != chunk_id(document.id, document.version, chunk.ordinal):
                    raise InputError(f"chunk {chunk.id!r} is not named by its document, version and ordinal")
                last = chunk.ordinal
            points = [
                qdrant.Point(
                    id=ticket << ORDINAL_BITS | chunk.ordinal,
                    vector={VECTOR: vector},
                    payload=make_payload(ticket, chunk, document, context, self._header.language),
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
                self._shard.update(qdrant.UpdateOperation.delete_points_by_filter(any_key(keys)))

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
            if not from_engine(error):
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
        if value is None or not storable(value):
            return None
        with self.reading():
            found = self._catalogue.listed(f"AND {column} = ?", (value,))
        return found[0] if found else None

    def get_document(self, document_id: str, version: int | None = None) -> Document | None:
        """A current document with its text."""
        with self.reading():
            return self._catalogue.document(document_id, version)

    def search_dense(self, vector: Matrix, k: int, where: Filter | None = None, *, exact: bool = False) -> list[Hit]:
        """The k nearest chunks by cosine similarity, in [-1, 1]; see `pincite.protocols.Store`.

        None for a vector without a direction.
        """
        if vector.shape != (self._header.identity.dimension,):
            raise InputError(
                f"the query vector has shape {vector.shape}, the index holds {self._header.identity.dimension}"
            )
        if not np.isfinite(vector).all() or not vector.any():
            return []
        return self._search_vector(_unit(vector), k, where, None if exact else self._beam)

    def _search_vector(self, unit: Matrix, k: int, where: Filter | None, beam: Beam | None) -> list[Hit]:
        hits = self._search(lambda condition: self._nearest(unit, k, condition, beam, bool(where)), k, where, "dense")
        # Rounding gives 1.0000001: cut only now that the order is settled.
        return [hit if -1 <= hit.score <= 1 else hit._replace(score=max(-1.0, min(1.0, hit.score))) for hit in hits]

    def search_lexical(self, query: str, k: int, where: Filter | None = None) -> list[Hit]:
        """The k best chunks by BM25; see `pincite.protocols.Store`.

        A word that the query repeats counts ``(k3 + 1) · n / (k3 + n)`` times. The engine counts it once, so where words
        are repeated its best `_REPEATED_AMONG` chunks (at least k) are weighed again: their order is exact, a chunk
        behind them is not considered.
        """
        counted = Counter(analyze(query, self._header.language))
        if not counted:
            return []
        repeated: dict[int, list[str]] = {}
        for term, times in counted.items():
            if times > 1:
                repeated.setdefault(times, []).append(term)
        among = max(k, _REPEATED_AMONG) if repeated else k
        wanted = _text_query(counted)

        def best(condition: Any) -> list[Any]:
            points = self._best(wanted, among, condition, None)
            return self._weighed(points, repeated) if repeated else points

        return self._search(best, k, where, "bm25")

    def _weighed(self, points: list[Any], repeated: Mapping[int, Sequence[str]]) -> list[Any]:
        """The points with what the repeated words count beyond once: BM25 is a sum over words."""
        scores = {number(point.id): float(point.score) for point in points}
        if not scores:
            return points
        these = qdrant.Filter(must=[qdrant.HasIdCondition(set(scores))])
        for times, terms in repeated.items():
            beyond = (BM25_K3 + 1) * times / (BM25_K3 + times) - 1
            request = qdrant.QueryRequest(
                limit=len(scores), query=_text_query(terms), filter=these, with_payload=False, with_vector=False
            )
            with self._engine("searched"):
                found = self._shard.query(request)
            for point in found:
                scores[number(point.id)] += beyond * point.score
        return [_Weighed(point_id, score) for point_id, score in scores.items()]

    def _search(self, best: Callable[[Any], list[Any]], k: int, where: Filter | None, stage: str) -> list[Hit]:
        if k <= 0:
            raise InputError(f"k must be at least 1, got {k}")
        with self.reading():
            asked = conditions(where, BUILT_IN_FIELDS | self._catalogue.fields()) if where else None
            excluded: list[Any] | None = (
                [qdrant.FieldCondition(key=KEY, match=qdrant.MatchAny(sorted(self._hidden)))] if self._hidden else None
            )
            condition = qdrant.Filter(must=asked or None, must_not=excluded) if asked or excluded else None
            found = sorted([(-point.score, number(point.id)) for point in best(condition)])[:k]
            keys = self._keys
            # A point of no document is for `check` to tell.
            found = [pair for pair in found if pair[1] >> ORDINAL_BITS in keys]
            names = [chunk_id(*keys[point_id >> ORDINAL_BITS], point_id & MAX_ORDINAL) for _, point_id in found]
        return Hit.ranked(names, [-negated for negated, _ in found], stage)

    def _nearest(self, unit: Matrix, k: int, condition: Any, beam: Beam | None, filtered: bool) -> list[Any]:
        query = qdrant.Query.Nearest(unit.tolist(), using=VECTOR)
        if beam is not None:
            found: list[Any] = []
            if self._codes is None:
                found = self._best(query, k, condition, search_params(beam), recall.K)
            elif not filtered:  # codes know no metadata: a filter would act after they have chosen
                among = self._candidates(self._codes, unit, k, beam)
                found = self._best(query, k, among, EXACT) if among is not None else []
            # A graph in pieces, or cells too empty, give fewer than there are.
            if len(found) >= min(k, self.point_count):
                return found
        return self._best(query, k, condition, EXACT)

    def _candidates(self, codes: ivfpq.IvfPq, unit: Matrix, k: int, beam: Beam) -> Any:
        """The condition of being near by the codes, or not in them. None when that may leave fewer than k."""
        outside, live = self._beside_codes(codes)
        # Codes of what was removed take up places among the candidates.
        wanted = int(max(k, recall.K) * (beam.oversampling or 1) * codes.count / max(live, 1)) + 1
        if wanted >= codes.count:
            return None
        keys = self._keys
        near = codes.search(unit, wanted, beam.nprobe or 1).tolist()
        ids = {point_id for point_id in near if point_id >> ORDINAL_BITS in keys}
        if len(ids) <= k:
            return None
        either: list[Any] = [qdrant.HasIdCondition(ids)]
        if outside:
            either.append(qdrant.FieldCondition(key=KEY, match=qdrant.MatchAny(list(outside))))
        return qdrant.Filter(should=either)

    def _beside_codes(self, codes: ivfpq.IvfPq) -> tuple[tuple[int, ...], int]:
        """Current document versions that came after the codes were made, and how many codes are of current chunks."""
        if self._outside is None:
            self._outside = (tuple(sorted(self._keys.keys() - codes.keys)), self.indexed_count)
        return self._outside

    def _best(self, query: Any, k: int, condition: Any, params: Any, least: int = 0) -> list[Any]:
        """The k best points and every one that ties with the last of them: the engine takes any of those.

        At least `least` are asked for: where the engine scores candidates of a multiple of that number again, few
        results must not mean few candidates.
        """
        most = self.point_count
        limit = min(max(k, least), most) + 1
        while True:
            with self._engine("searched"):
                points = self._shard.query(
                    qdrant.QueryRequest(
                        limit=limit,
                        query=query,
                        filter=condition,
                        params=params,
                        with_payload=False,
                        with_vector=False,
                    )
                )
            if len(points) < limit or limit > most or points[-1].score < points[k - 1].score:
                return points
            limit = min(4 * limit, most + 1)

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        """The chunks of `hits` with their documents' names, in the order given."""
        with self.reading():
            ids = self._point_ids([hit.chunk_id for hit in hits])
            with self._engine("read"):
                records = self._shard.retrieve(list(ids.values()), with_payload=True, with_vector=False)
        payloads = {record.id: record.payload for record in records}
        return [
            read_passage(payload, hit)
            for hit in hits
            if hit.chunk_id in ids and (payload := payloads.get(ids[hit.chunk_id])) is not None
        ]

    def _point_ids(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Chunk id → point id, of those that are of a current version. The point itself need not be there."""
        ids = {}
        for name in chunk_ids:
            rest, _, ordinal = name.rpartition(".")
            document_id, _, named = rest.rpartition(".")
            key, version = self._current.get(document_id, (0, 0))
            if named == str(version) and ordinal.isdecimal() and int(ordinal) <= MAX_ORDINAL:
                ids[name] = key << ORDINAL_BITS | int(ordinal)
        return ids

    def vectors(self, chunk_ids: Sequence[str]) -> Matrix:
        """The unit vectors of chunks, a row of zeros for one that is gone; see `pincite.protocols.Store`."""
        found: Matrix = np.zeros((len(chunk_ids), self._header.identity.dimension), np.float32)
        with self.reading():
            ids = self._point_ids(chunk_ids)
            with self._engine("read"):
                records: list[Any] = self._shard.retrieve(  # a vector may be several things; these have names
                    list(dict.fromkeys(ids.values())), with_payload=False, with_vector=[VECTOR]
                )
        rows = {number(record.id): record.vector[VECTOR] for record in records}
        for row, name in enumerate(chunk_ids):
            vector = rows.get(ids.get(name, -1))
            if vector is not None:
                found[row] = vector
        return found

    def chunks(self, document_id: str) -> list[Chunk]:
        """The current chunks of a document, in order."""
        with self.reading():
            if document_id not in self._current:
                return []
            payloads = [payload for _, payload in self._scroll(any_key([self._current[document_id][0]]))]
        return sorted((read_chunk(payload) for payload in payloads), key=lambda chunk: chunk.ordinal)

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
                yield number(record.id), record.payload or {}
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
        """Points in an approximate index, live ones; the others are searched exactly, or as the codes of their kind."""
        if self._codes is not None:
            counts = self._catalogue.chunk_counts()
            return sum(counts.get(key, 0) for key in self._codes.keys)
        with self._engine("read"):
            return int(self._shard.info().indexed_vectors_count)

    def _settle(self) -> None:
        """Take from the state of the index how it is searched."""
        state = self._state
        notes: list[str] = []
        self._codes = None
        self._outside = None
        if state.sidecar is not None:
            codes = ivfpq.load(self.folder, state.sidecar, self._catalogue.points(), self._header.identity.dimension)
            if isinstance(codes, str):
                notes.append(f"searched exactly: {codes}")
            else:
                self._codes = codes
        built = self._codes is not None or (state.layout.graph and self.indexed_count > 0)
        if state.exact:
            notes.append(f"searched exactly: {state.exact}")
        usable = built and not state.exact and self._options.kind != "exact" and self._enough(self.point_count)
        self._beam = (state.beam or next(state.layout.rungs(self._options))) if usable else None
        self._notes = tuple(notes)

    def needs_optimizing(self) -> bool:
        """Whether so many points are outside the vector index, or another kind is wanted, that building it pays."""
        points = self.point_count
        if self._options.kind == "exact" or not self._enough(points):
            return False
        if self._options.layout() != self._state.wanted or self._state.exact == UNMEASURED:
            return True
        return points - self.indexed_count > self._options.threshold

    def optimize(self) -> bool:
        """Merge segments, and above the threshold of the settings build the vector index. True if anything was done.

        What was built is measured against exact search; below the floor of the settings it is searched wider, then
        built once more with more care, and at last searched exactly, which `index_report` says. Cut off, the index
        that was there before stands. The engine holds the interpreter for the whole of it: a process that serves
        others must not call this. A rebuild needs room on the disk for a second copy of the points.
        """
        with self._changing():
            wanted = self._options.layout()
            if wanted.kind != "exact" and not self._enough(self.point_count):
                return self._optimize_in_place()
            if wanted.kind == "ivfpq":
                ivfpq.require()
            done = self._build(wanted)
            if done or self._untuned(wanted):
                self._tune(wanted)
                return True
            return False

    def _enough(self, points: int) -> bool:
        """Whether the kind in the settings is built over so many."""
        learns = self._options.kind != "ivfpq" or points >= ivfpq.smallest(self._options.nlist)
        return learns and points > self._options.threshold

    def _optimize_in_place(self) -> bool:
        with self._engine("optimized"):
            done = bool(self._shard.optimize())
        self._settle()
        return done

    def _build(self, wanted: Layout) -> bool:
        """Bring the index into the layout that is wanted, unless it is. True if anything was done."""
        if wanted.kind == "ivfpq":
            done = self._rebuild(wanted) if self._state.layout.graph else self._optimize_in_place()
            fits = self._state.wanted == wanted and self._codes is not None
            if done or not fits or self.indexed_count < max(self.point_count, self._codes.count if self._codes else 0):
                self._build_codes(wanted, wanted)
                return True
            return False
        if self._state.wanted != wanted or self._state.layout.kind != wanted.kind:
            return self._rebuild(wanted)
        return self._optimize_in_place()

    def _untuned(self, wanted: Layout) -> bool:
        """Whether there is something to measure that was not measured for the floor of the settings."""
        built = self._codes is not None or (wanted.graph and self.indexed_count > 0)
        return built and (self._state.recall is None or self._state.floor != self._options.recall_floor)

    def _rebuild(self, layout: Layout, wanted: Layout | None = None) -> bool:
        """Build the index in a copy of the points that then takes their place. Cut off, one of the two stands."""
        dimension = self._header.identity.dimension
        old = self._catalogue.points()
        new = _points_name(1 + max(_generation(each) for each in _points_folders(self.folder)))
        state = IndexState(wanted=wanted or layout, layout=layout, exact=UNMEASURED if layout.graph else "")
        fresh: qdrant.EdgeShard | None = None
        with self._visibility.write():
            try:
                with self._engine("optimized"):
                    self._shard.flush()
                    self._shard.close()
                    copy_shard(self.folder / old, self.folder / new)
                    fresh = load_shard(self.folder / new, dimension, layout)
                    fresh.optimize()
                    fresh.flush()
                self._catalogue.set_index(state.dump(), new)
            except BaseException as error:
                with suppress(Exception):
                    if fresh is not None:
                        fresh.close()
                # Interrupted or failed: whatever the catalogue says stands.
                self._shard = load_shard(self.folder / self._catalogue.points())
                self._state = IndexState.parse(self._catalogue.index_record())
                self._settle()
                self._clear_strays()
                if isinstance(error, OSError):
                    raise StoreError(f"the index {self.folder} cannot be built anew: {error}") from error
                raise
            self._shard = fresh
            self._state = state
            self._settle()
            self._clear_strays()
        return True

    def _build_codes(self, layout: Layout, wanted: Layout) -> None:
        covered = set(self._keys)
        ids = [point_id for point_id, _ in self._scan(None) if point_id >> ORDINAL_BITS in covered]
        points = self._catalogue.points()
        taken = [int(file.stem.rpartition("-")[2]) for file in self.folder.glob("ivfpq-*.faiss")]
        sidecar = ivfpq.build(
            self.folder / f"ivfpq-{1 + max(taken, default=0)}.faiss",
            points,
            covered,
            np.array(ids, np.int64),
            self._point_vectors,
            self._batches(covered),
            layout,
        )
        state = IndexState(wanted=wanted, layout=layout, exact=UNMEASURED, sidecar=sidecar)
        self._catalogue.set_index(state.dump())
        with self._visibility.write():
            self._state = state
            self._settle()
        self._clear_strays()

    def _point_vectors(self, ids: NDArray[np.int64]) -> Matrix:
        found: Matrix = np.empty((len(ids), self._header.identity.dimension), np.float32)
        for start in range(0, len(ids), 1024):
            some = ids[start : start + 1024].tolist()
            with self._engine("read"):
                records: list[Any] = self._shard.retrieve(some, with_payload=False, with_vector=[VECTOR])
            rows = {number(record.id): record.vector[VECTOR] for record in records}
            found[start : start + len(some)] = [rows[point_id] for point_id in some]
        return found

    def _batches(self, covered: set[int]) -> Iterator[tuple[NDArray[np.int64], Matrix]]:
        """Ids and vectors of the points of some document versions."""
        ids: list[int] = []
        vectors: list[Any] = []
        for point_id, vector in self._scan([VECTOR]):
            if point_id >> ORDINAL_BITS in covered:
                ids.append(point_id)
                vectors.append(vector[VECTOR])
            if len(ids) == 4096:
                yield np.array(ids, np.int64), np.array(vectors, np.float32)
                ids, vectors = [], []
        if ids:
            yield np.array(ids, np.int64), np.array(vectors, np.float32)

    def _scan(self, with_vector: list[str] | None) -> Iterator[tuple[int, Any]]:
        """Every point's id, in order, and its vectors if asked for."""
        offset = None
        while True:
            with self._engine("read"):
                records, offset = self._shard.scroll(
                    qdrant.ScrollRequest(
                        limit=2048, offset=offset, with_payload=False, with_vector=with_vector or False
                    )
                )
            for record in records:
                yield number(record.id), record.vector
            if offset is None:
                return

    def _tune(self, wanted: Layout) -> None:
        """Find the narrowest beam that reaches the floor; build once more with more care if none does."""
        floor = self._options.recall_floor
        if not (self._codes is not None or (wanted.graph and self.indexed_count > 0)):
            self._keep(replace(self._state, wanted=wanted, beam=None, recall=None, floor=None, exact=""))
            return
        reference = self._reference(_QUERIES, 0)
        best: Recall | None = None
        for layout in (self._state.layout, self._state.layout.stronger()):
            if layout != self._state.layout:
                if wanted.kind == "ivfpq":
                    self._build_codes(layout, wanted)
                else:
                    self._rebuild(layout, wanted)
            for beam in layout.rungs(self._options):
                measured = self._compare(reference, beam)
                if measured.recall >= floor:
                    self._keep(replace(self._state, beam=beam, recall=measured, floor=floor, exact=""))
                    return
                if best is None or measured.recall > best.recall:
                    best = measured
        assert best is not None
        why = (
            f"{NAMES[wanted.kind]} found {best.recall:.3f} of the exact results at its widest beam and most careful "
            f"build, less than index.recall_floor {floor:g}"
        )
        self._keep(replace(self._state, beam=None, recall=best, floor=floor, exact=why))

    def _keep(self, state: IndexState) -> None:
        self._catalogue.set_index(state.dump())
        with self._visibility.write():
            self._state = state
            self._settle()

    def _reference(self, queries: int, seed: int) -> recall.Exact:
        first, second = self._sample(queries, seed)
        made = recall.halfway(first, second)
        return recall.exact_results(made, lambda query: self._search_vector(query, recall.K, None, None))

    def _compare(self, reference: recall.Exact, beam: Beam) -> Recall:
        return recall.compare(
            reference, lambda query: self._search_vector(query, recall.K, None, beam), self.point_count, _now()
        )

    def _sample(self, count: int, seed: int) -> tuple[Matrix, Matrix]:
        """Vectors of chunks drawn at random, twice `count`, with replacement."""
        ids = np.array([point_id for point_id, _ in self._scan(None) if point_id >> ORDINAL_BITS in self._keys])
        if not len(ids):
            none: Matrix = np.empty((0, self._header.identity.dimension), np.float32)
            return none, none
        picked = np.random.default_rng(seed).choice(ids, 2 * count)
        vectors = self._point_vectors(picked)
        return vectors[:count], vectors[count:]

    def measure_recall(self, queries: int = 200, seed: int = 0) -> Recall | None:
        """Recall@10 of a search as it is now; see `pincite.protocols.Store`."""
        if queries < 1:
            raise InputError(f"queries must be at least 1, got {queries}")
        with self.reading():
            beam = self._beam
            return None if beam is None else self._compare(self._reference(queries, seed), beam)

    def index_report(self) -> IndexReport:
        """How vectors are searched; see `pincite.protocols.Store`."""
        with self.reading():
            points, options, state = self.point_count, self._options, self._state
            indexed = self.indexed_count
            notes = list(self._notes)
            name = NAMES[state.layout.kind]
            if self._beam is not None:
                search = f"{name} over {indexed:,} of {points:,} chunks"
                if state.recall is None:
                    notes.append("the recall of this index has not been measured: run `pincite optimize`")
            else:
                search = "exact (recall 1)"
            if options.kind not in ("auto", "exact") and points <= options.threshold:
                notes.append(
                    f"{NAMES[options.kind]} is built above {options.threshold:,} chunks; exact search is quick"
                )
            elif options.kind == "ivfpq" and points < ivfpq.smallest(options.nlist):
                notes.append(f"IVF-PQ needs {ivfpq.smallest(options.nlist):,} chunks to learn its codes from")
            if self.needs_optimizing() and options.layout() != state.wanted:
                notes.append(f"the settings ask for {NAMES[options.layout().kind]}: run `pincite optimize` to build it")
            return IndexReport(
                kind=options.kind,
                search=search,
                points=points,
                indexed=indexed,
                beam="" if self._beam is None else str(self._beam),
                recall_floor=options.recall_floor,
                recall=state.recall,
                notes=tuple(notes),
            )

    def check(self) -> list[str]:
        """Every broken invariant in words; empty when all is well."""
        with self._changing(), self.reading():
            problems = [f"catalogue: {problem}" for problem in self._catalogue.integrity()]
            if self._state.sidecar is not None and self._codes is None:
                problems += [f"vector index: {note}" for note in self._notes]
            expected = self._catalogue.chunk_counts()
            counted: dict[int, int] = dict.fromkeys(expected, 0)
            texts: dict[int, str] = {}
            for point_id, payload in self._scroll(None):
                key = point_id >> ORDINAL_BITS
                if key in self._hidden:  # being written
                    continue
                if key not in counted:
                    problems.append(f"point {point_id} belongs to no document")
                    continue
                counted[key] += 1
                chunk = read_chunk(payload)
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


def _lay_out(folder: Path, header: StoreHeader, layout: Layout) -> None:
    """Make an empty index. The catalogue comes last and whole: one cut off while it was made has none, so it is not."""
    for leftover in _points_folders(folder):
        shutil.rmtree(leftover)
    for leftover in folder.glob("catalogue.new*"):
        leftover.unlink()
    points = _points_name(1)
    try:
        create_shard(folder / points, header, layout)
    except BaseException as error:
        if not from_engine(error) and not isinstance(error, OSError):
            raise
        raise StoreError(f"the index at {folder} cannot be made: {error}") from error
    catalogue = Catalogue(folder / "catalogue.new")
    try:
        catalogue.create(replace(header, created_at=header.created_at or _now()), points)
        catalogue.set_index(IndexState(wanted=layout, layout=layout).dump())
    finally:
        catalogue.close()
    (folder / "catalogue.new").rename(folder / "catalogue.sqlite")


class _Weighed(NamedTuple):
    """A point with a score of our own sum."""

    id: int
    score: float


def _text_query(terms: Iterable[str]) -> Any:
    return qdrant.TextQuery(TERMS, " ".join(terms), qdrant.Bm25Params(k=BM25_K1, b=BM25_B))


def _unit(vectors: Matrix) -> Matrix:
    """Scaled to length 1 along the last axis, in double precision: no length of a float32 vector is out of range."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    units: Matrix = (vectors / lengths).astype(np.float32)
    return units


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
