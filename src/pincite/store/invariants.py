"""What must be so of an index: catalogue, points, text, vectors and codes agree. Whatever does not is told in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pincite.store.payload import ORDINAL_BITS, PAST, read_chunk

if TYPE_CHECKING:
    from pincite.protocols import Matrix
    from pincite.store.care import VectorIndex
    from pincite.store.catalogue import Catalogue
    from pincite.store.points import Points
    from pincite.store.visible import Visible
    from pincite.types import Hit

__all__ = ["Broken", "broken_invariants"]

#: So many chunks are looked for by their own vectors.
_SAMPLE = 100
#: A chunk with the same vector may stand in its place.
_SAME = 0.9999


class Broken(NamedTuple):
    """Something that is not as it must be."""

    told: str
    key: int | None = (
        None  #: the version whose points are to be written anew, or deleted where there is no such version
    )
    encodings: tuple[bytes, ...] = ()  #: digests that the catalogue must forget
    text: bool = False  #: chunk and document say different things: either may be the damaged one


def broken_invariants(
    catalogue: Catalogue,
    points: Points,
    visible: Visible,
    index: VectorIndex,
    nearest: Callable[[Matrix, int], list[Hit]],
) -> Iterator[Broken]:
    """Whatever is not as it must be; nothing is changed.

    The catalogue is whole, and codes that it names can be used. Every point that is not hidden is of a version that is
    kept, and marked if that is past; its text is what the document has in its span; none is missing. What was encoded
    has the point that the catalogue names. Chunks are found by their own vectors with `nearest`, the exact search.
    """
    yield from (Broken(f"catalogue: {problem}") for problem in catalogue.integrity())
    if catalogue.purging():
        yield Broken("a purge was cut off: its text may still be in the files until the index can be written anew")
    if index.state.sidecar is not None and index.codes is None:
        yield from (Broken(f"vector index: {note}") for note in index.notes)
    yield from _points(catalogue, points, visible)
    yield from _encodings(catalogue, points)
    yield from _vectors(points, visible, nearest)


def _points(catalogue: Catalogue, points: Points, visible: Visible) -> Iterator[Broken]:
    expected = catalogue.chunk_counts(past=True)
    counted: dict[int, int] = dict.fromkeys(expected, 0)
    texts: dict[int, str] = {}
    for point_id, payload in points.scan_payloads():
        key = point_id >> ORDINAL_BITS
        if key in visible.hidden:  # being written
            continue
        if key not in counted:
            yield Broken(f"point {point_id} belongs to no document", key)
            continue
        counted[key] += 1
        chunk = read_chunk(payload)
        if key not in texts:
            texts.clear()  # points come in the order of their ids: one document at a time
            document = catalogue.document(*(visible.version_of(key) or ("", 0)))
            texts[key] = document.text if document else ""
        if texts[key][chunk.start : chunk.end] != chunk.text:
            told = f"chunk {chunk.id} is not the text of its span {chunk.start}-{chunk.end}"
            yield Broken(told, key, text=True)
        if (payload.get(PAST) == 1) != (key in visible.past):
            state = "past" if key in visible.past else "current"
            yield Broken(f"chunk {chunk.id} is {state} and its point is not marked so", key)
    for key, count in expected.items():
        if counted[key] != count:
            document_id, version = visible.version_of(key) or ("unknown", 0)
            yield Broken(f"document {document_id} version {version}: {count} chunks, {counted[key]} found", key)


def _encodings(catalogue: Catalogue, points: Points) -> Iterator[Broken]:
    for some in catalogue.encodings():
        vectors = points.vectors([point_id for _, point_id in some])
        lost = tuple(digest for (digest, _), vector in zip(some, vectors, strict=True) if not vector.any())
        if lost:
            yield Broken(f"{len(lost)} encoded texts have no point that holds their vector", encodings=lost)


def _vectors(points: Points, visible: Visible, nearest: Callable[[Matrix, int], list[Hit]]) -> Iterator[Broken]:
    """A sample, the same for the same index: every chunk is the nearest to its own vector."""
    ids = np.array([point_id for point_id in points.scan() if visible.is_current(point_id)])
    if not len(ids):
        return
    picked = np.random.default_rng(0).choice(ids, min(_SAMPLE, len(ids)), replace=False).tolist()
    for point_id, vector in zip(picked, points.vectors(picked), strict=True):
        name = visible.chunk_of(point_id)
        hits = nearest(vector, 10)
        if all(hit.chunk_id != name for hit in hits) and (not hits or hits[-1].score < _SAME):
            yield Broken(f"chunk {name} is not found by its own vector", point_id >> ORDINAL_BITS)
