"""The points of an index: the engine's shard that holds them, its own errors given a name, and the folders it lies in.

Everything the store says to a shard that is open goes through `Points`; what is said about a folder is in `engine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import qdrant_edge as qdrant

from pincite.errors import InputError, StoreError
from pincite.store.engine import VECTOR, any_key, from_engine, number
from pincite.store.payload import PAST

if TYPE_CHECKING:
    from pincite.protocols import Matrix

__all__ = ["Points", "next_points", "points_folders", "points_name", "unit", "unit_rows"]


class Points:
    """The points of the index in `folder`. Whoever builds the index anew gives it another shard.

    Every method raises StoreError where the engine fails.
    """

    def __init__(self, folder: Path, shard: qdrant.EdgeShard, dimension: int) -> None:
        self.folder = folder
        self.shard = shard
        self.dimension = dimension

    @contextmanager
    def engine(self, done: str) -> Iterator[None]:
        """Give the engine's own errors a name: the index cannot be `done`."""
        try:
            yield
        except BaseException as error:
            if not from_engine(error):
                raise
            raise StoreError(f"the index {self.folder} cannot be {done}: {error}") from error

    @property
    def count(self) -> int:
        """How many there are, hidden ones included."""
        with self.engine("read"):
            return int(self.shard.info().points_count)

    @property
    def distinct(self) -> int:
        """How many there are, each counted once. It looks at every one."""
        with self.engine("read"):
            return int(self.shard.count(qdrant.CountRequest(exact=True)))

    @property
    def indexed(self) -> int:
        """How many are in the engine's own graph, live ones."""
        with self.engine("read"):
            return int(self.shard.info().indexed_vectors_count)

    # Writing

    def write(self, points: Iterable[tuple[int, list[float], dict[str, Any]]]) -> None:
        """Add points, each an id, a vector of length 1 and a payload, or put them in the place of those with the id."""
        made = [qdrant.Point(id=point_id, vector={VECTOR: row}, payload=payload) for point_id, row, payload in points]
        with self.engine("written"):
            self.shard.update(qdrant.UpdateOperation.upsert_points(made))

    def delete(self, keys: Sequence[int]) -> None:
        """Delete the points of these document versions."""
        if keys:
            with self.engine("written"):
                self.shard.update(qdrant.UpdateOperation.delete_points_by_filter(any_key(keys)))

    def mark(self, keys: Sequence[int]) -> None:
        """Mark the points of these document versions as past."""
        if keys:
            with self.engine("written"):
                self.shard.update(qdrant.UpdateOperation.set_payload_by_filter(any_key(keys), {PAST: 1}))

    def flush(self) -> None:
        """On return everything that was written is on disk."""
        with self.engine("written"):
            self.shard.flush()

    def optimize(self) -> bool:
        """Merge segments where they are. True if anything was done."""
        with self.engine("optimized"):
            return bool(self.shard.optimize())

    def close(self) -> None:
        """Close the shard."""
        with self.engine("closed"):
            self.shard.close()

    # Reading

    def query(self, query: Any, limit: int, condition: Any, params: Any = None) -> list[Any]:
        """The `limit` best points, best first, each with an id and a score."""
        request = qdrant.QueryRequest(
            limit=limit, query=query, filter=condition, params=params, with_payload=False, with_vector=False
        )
        with self.engine("searched"):
            return self.shard.query(request)

    def payloads(self, ids: Iterable[int]) -> dict[int, Mapping[str, Any]]:
        """What points carry beside their vectors, of those that are there."""
        with self.engine("read"):
            records = self.shard.retrieve(list(dict.fromkeys(ids)), with_payload=True, with_vector=False)
        return {number(record.id): record.payload for record in records if record.payload is not None}

    def vectors(self, ids: Sequence[int]) -> Matrix:
        """Unit vectors of points, a row of zeros for one that is not there, ``(len(ids), dimension)``, float32."""
        found: Matrix = np.zeros((len(ids), self.dimension), np.float32)
        for start in range(0, len(ids), 1024):
            some = ids[start : start + 1024]
            with self.engine("read"):
                # A vector may be several things; these have names.
                records: list[Any] = self.shard.retrieve(
                    list(dict.fromkeys(some)), with_payload=False, with_vector=[VECTOR]
                )
            vectors = {number(record.id): record.vector[VECTOR] for record in records}
            for row, point_id in enumerate(some, start):
                if point_id in vectors:
                    found[row] = vectors[point_id]
        return found

    def scan(self) -> Iterator[int]:
        """Every point's id, in order."""
        for record in self._scroll(2048, None, with_payload=False, with_vector=False):
            yield number(record.id)

    def scan_vectors(self) -> Iterator[tuple[int, Any]]:
        """Every point's id and vector, in order of the ids."""
        for record in self._scroll(2048, None, with_payload=False, with_vector=[VECTOR]):
            yield number(record.id), record.vector[VECTOR]

    def scan_points(self) -> Iterator[tuple[int, list[float], dict[str, Any]]]:
        """Ids, vectors and payloads of the points, in order of the ids: as `write` takes them."""
        for record in self._scroll(512, None, with_payload=True, with_vector=[VECTOR]):
            yield number(record.id), record.vector[VECTOR], record.payload or {}

    def scan_payloads(self, condition: Any = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Ids and payloads of the points that meet the condition, in order of the ids."""
        for record in self._scroll(512, condition, with_payload=True, with_vector=False):
            yield number(record.id), record.payload or {}

    def _scroll(self, limit: int, condition: Any, *, with_payload: bool, with_vector: Any) -> Iterator[Any]:
        offset = None
        while True:
            request = qdrant.ScrollRequest(
                limit=limit, offset=offset, filter=condition, with_payload=with_payload, with_vector=with_vector
            )
            with self.engine("read"):
                records, offset = self.shard.scroll(request)
            yield from records
            if offset is None:
                return


def unit(vectors: Matrix) -> Matrix:
    """Scaled to length 1 along the last axis, in double precision: no length of a float32 vector is out of range."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    units: Matrix = (vectors / lengths).astype(np.float32)
    return units


def unit_rows(vectors: Matrix, dimension: int) -> Matrix:
    """The vectors scaled to length 1: the engine takes a very short one for scaled already.

    Raises InputError for vectors of another dimension and for those that have no direction.
    """
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise InputError(f"vectors have shape {vectors.shape}, the index holds dimension {dimension}")
    if not np.isfinite(vectors).all():
        raise InputError("a vector holds NaN or infinity")
    if not np.any(vectors, axis=1).all():
        raise InputError("a vector is zero: it has no direction to compare")
    return unit(vectors)


# The folders of points beside a catalogue, which names the one that counts


def points_name(generation: int) -> str:
    """The name of a folder of points."""
    return f"points-{generation}.edge"


def points_folders(folder: Path) -> list[Path]:
    """Every folder of points of the index in `folder`."""
    return [each for each in folder.glob("points-*.edge") if each.name[len("points-") : -len(".edge")].isdecimal()]


def next_points(folder: Path) -> str:
    """A name that no folder of points of the index in `folder` has."""
    taken = [int(each.name.removeprefix("points-").removesuffix(".edge")) for each in points_folders(folder)]
    return points_name(1 + max(taken, default=0))
