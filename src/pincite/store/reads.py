"""What is read of an index: documents, versions, chunks, vectors, the hits of both legs, and whether all is well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.analysis import analyze
from pincite.errors import InputError, StoreError
from pincite.store import search
from pincite.store.care import VectorIndex
from pincite.store.catalogue import Catalogue
from pincite.store.engine import any_key
from pincite.store.invariants import Broken, broken_invariants
from pincite.store.locks import ReadWriteLock
from pincite.store.payload import NO_POINT, read_chunk, read_passage, storable
from pincite.store.plan import Beam, IndexOptions
from pincite.store.points import Points
from pincite.store.runs import runs
from pincite.store.visible import Visible
from pincite.types import (
    BUILT_IN_FIELDS,
    Chunk,
    Document,
    Filter,
    Hit,
    Passage,
    PointInTime,
    StoredDocument,
    StoredSource,
)

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

    from pincite.protocols import IndexReport, Matrix, Recall, RunNote, StoreHeader

__all__ = ["EdgeReads"]


class EdgeReads:
    """The reading half of `pincite.store.edge.EdgeStore`; see `pincite.protocols.Store`. Any thread may call it."""

    def __init__(self, folder: Path, catalogue: Catalogue, shard: EdgeShard, options: IndexOptions) -> None:
        self.folder = folder
        self._catalogue = catalogue
        self._header = catalogue.header()
        self._points = Points(folder, shard, self._header.identity.dimension)
        self._visibility = ReadWriteLock()
        self._visible = Visible(catalogue)
        self._index = VectorIndex(catalogue, self._points, self._visible, self._visibility, options)
        self._closed = False

    @property
    def header(self) -> StoreHeader:
        """What the index was built with."""
        return self._header

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError(f"the index {self.folder} was closed")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several calls see one state; see `pincite.protocols.Store`."""
        with self._visibility.read():
            self._refuse_closed()
            yield

    @property
    def document_count(self) -> int:
        """How many current documents there are."""
        return len(self._visible.keys)

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

    def history(self, document_id: str | None = None) -> list[StoredDocument]:
        """Every version that is kept; see `pincite.protocols.Store`."""
        where, parameters = ("", ()) if document_id is None else ("AND document_id = ?", (document_id,))
        with self.reading():
            return self._catalogue.listed(where, parameters, past=True)

    def documents_of(self, source: str) -> list[StoredDocument]:
        """The current documents that were read from a source, by their addresses."""
        with self.reading():
            return self._catalogue.listed("AND source = ?", (source,)) if storable(source) else []

    def sources(self) -> list[StoredSource]:
        """What documents were read from, by address."""
        with self.reading():
            return self._catalogue.sources()

    def find_source(self, uri: str) -> StoredSource | None:
        """What is known of the source with this address."""
        with self.reading():
            found = self._catalogue.sources(uri) if storable(uri) else []
        return found[0] if found else None

    def runs(self, limit: int = 1) -> list[RunNote]:
        """The last runs, the latest first."""
        with self.reading():
            return runs(self._catalogue, limit)

    def get_document(self, document_id: str, version: int | None = None) -> Document | None:
        """A document with its text, of the current version unless one is given."""
        with self.reading():
            return self._catalogue.document(document_id, version)

    def search_dense(
        self,
        vector: Matrix,
        k: int,
        where: Filter | None = None,
        *,
        exact: bool = False,
        at: PointInTime | None = None,
    ) -> list[Hit]:
        """The k nearest chunks by cosine similarity, in [-1, 1]; see `pincite.protocols.Store`.

        None for a vector without a direction.
        """
        direction = search.direction(vector, self._points.dimension)
        if direction is None:
            return []
        return self._search_vector(direction, k, None if exact else self._index.beam, where, at)

    def _search_vector(
        self,
        direction: Matrix,
        k: int,
        beam: Beam | None,
        where: Filter | None = None,
        at: PointInTime | None = None,
    ) -> list[Hit]:
        def nearest(condition: Any) -> list[Any]:
            filtered = bool(where) or at is not None
            return self._index.nearest(direction, k, condition, beam, filtered=filtered)

        hits = self._search(nearest, k, where, at, "dense")
        # Rounding gives 1.0000001: cut only now that the order is settled.
        return [hit if -1 <= hit.score <= 1 else hit._replace(score=max(-1.0, min(1.0, hit.score))) for hit in hits]

    def search_lexical(
        self, query: str, k: int, where: Filter | None = None, *, at: PointInTime | None = None
    ) -> list[Hit]:
        """The k best chunks by BM25; see `pincite.protocols.Store`, and `search.lexical` for repeated words."""
        counted = Counter(analyze(query, self._header.language))
        if not counted:
            return []

        def best(condition: Any) -> list[Any]:
            return search.lexical(self._points, counted, k, condition)

        return self._search(best, k, where, at, "bm25")

    def _search(
        self, best: Callable[[Any], list[Any]], k: int, where: Filter | None, at: PointInTime | None, stage: str
    ) -> list[Hit]:
        if k <= 0:
            raise InputError(f"k must be at least 1, got {k}")
        with self.reading():
            known = BUILT_IN_FIELDS | self._catalogue.fields() if where else BUILT_IN_FIELDS
            allowed = None if at is None else self._visible.at(at)
            condition = search.condition(where, known, self._visible, allowed)
            if allowed is not None and not allowed:
                return []
            return search.ranked(best(condition), k, self._visible, stage, allowed)

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        """The chunks of `hits` with their documents' names, in the order given."""
        with self.reading():
            ids = self._visible.point_ids(hit.chunk_id for hit in hits)
            payloads = self._points.payloads(ids.values())
        found = ((hit, payloads.get(ids.get(hit.chunk_id, NO_POINT))) for hit in hits)
        return [read_passage(payload, hit) for hit, payload in found if payload is not None]

    def vectors(self, chunk_ids: Sequence[str]) -> Matrix:
        """The unit vectors of chunks, a row of zeros for one that is gone; see `pincite.protocols.Store`."""
        with self.reading():
            ids = self._visible.point_ids(chunk_ids)
            return self._points.vectors([ids.get(name, NO_POINT) for name in chunk_ids])

    def chunks(self, document_id: str, version: int | None = None) -> list[Chunk]:
        """The chunks of a version of a document that is kept, in order; of the current one unless one is given."""
        with self.reading():
            key = self._visible.key_of(document_id, version)
            if key is None:
                return []
            payloads = [payload for _, payload in self._points.scan_payloads(any_key([key]))]
        return sorted((read_chunk(payload) for payload in payloads), key=lambda chunk: chunk.ordinal)

    # How it is searched, and whether all is well

    @property
    def point_count(self) -> int:
        """Points in the engine, hidden ones included."""
        return self._points.count

    @property
    def indexed_count(self) -> int:
        """Points in an approximate index, live ones; the others are searched exactly, or as the codes of their kind."""
        return self._index.indexed_count

    def needs_optimizing(self) -> bool:
        """Whether so many points are outside the vector index, or another kind is wanted, that building it pays."""
        return self._index.needs_optimizing()

    def measure_recall(self, queries: int = 200, seed: int = 0) -> Recall | None:
        """Recall@10 of a search as it is now; see `pincite.protocols.Store`."""
        if queries < 1:
            raise InputError(f"queries must be at least 1, got {queries}")
        with self.reading():
            return self._index.measure(self._search_vector, queries, seed)

    def index_report(self) -> IndexReport:
        """How vectors are searched; see `pincite.protocols.Store`."""
        with self.reading():
            return self._index.report()

    def _broken(self) -> list[Broken]:
        def nearest(vector: Matrix, k: int) -> list[Hit]:
            return self.search_dense(vector, k, exact=True)

        return list(broken_invariants(self._catalogue, self._points, self._visible, self._index, nearest))
