"""IVF-PQ codes of the stored vectors in a file beside the points, by faiss: candidates, never answers.

Jégou, Douze and Schmid 2011, "Product quantization for nearest neighbor search": vectors are put into `nlist` cells
(k-means), the rest to the cell's centre is cut into pieces, each coded with 4 bits. A search codes nothing of the
query: it looks into the `nprobe` nearest cells and gives the points whose codes are nearest. The store scores these
again with the vectors themselves. The file is faiss's own format, and is believed only if its checksum is the one in
the catalogue.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pincite.errors import MissingExtraError, StoreError
from pincite.store.plan import Sidecar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.protocols import Matrix
    from pincite.store.plan import Layout

__all__ = ["IvfPq", "build", "cells", "installed", "load", "require", "runs", "smallest"]

#: Training points a centre needs, as faiss sees it; and how many it uses at most.
_FEWEST_PER_CENTRE = 39
_MOST_PER_CENTRE = 256
_SMALLEST_NLIST = 16


def installed() -> bool:
    """Whether faiss is there."""
    return importlib.util.find_spec("faiss") is not None


def require() -> None:
    """Raise MissingExtraError without faiss."""
    if not installed():
        raise MissingExtraError("index.kind ivfpq", "faiss")


def smallest(nlist: int | None) -> int:
    """Points below which no index is trained."""
    return _FEWEST_PER_CENTRE * (nlist or _SMALLEST_NLIST)


def cells(points: int) -> int:
    """`nlist` by the number of points: the power of two below four roots of it, with 39 points or more to a cell."""
    most = max(_SMALLEST_NLIST, int(min(4 * points**0.5, points / _FEWEST_PER_CENTRE)))
    return 1 << (most.bit_length() - 1)


def runs(keys: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Numbers as first and last of each run: ``1 2 3 7`` → ``(1, 3), (7, 7)``."""
    found: list[tuple[int, int]] = []
    for key in sorted(keys):
        if found and key == found[-1][1] + 1:
            found[-1] = (found[-1][0], key)
        else:
            found.append((key, key))
    return tuple(found)


def build(
    file: Path,
    points: str,
    keys: Iterable[int],
    ids: NDArray[np.int64],
    sample: Callable[[NDArray[np.int64]], Matrix],
    batches: Iterator[tuple[NDArray[np.int64], Matrix]],
    layout: Layout,
) -> Sidecar:
    """Train on a sample of the vectors, code all of them, and write `file`, which is on disk on return.

    `ids` are the points there are, `sample` gives vectors of some of them, `batches` gives all. Raises
    MissingExtraError without faiss, StoreError if nothing can be written.
    """
    faiss = _faiss()
    count = len(ids)
    nlist = layout.nlist or cells(count)
    picked = np.random.default_rng(0).choice(ids, min(count, _MOST_PER_CENTRE * nlist), replace=False)
    training = sample(np.sort(picked))
    dimension = training.shape[1]
    index = faiss.index_factory(dimension, f"IVF{nlist},PQ{_pieces(dimension, layout.finer)}x4fs")
    index.cp.seed = 0
    faiss.omp_set_num_threads(os.cpu_count() or 1)
    try:
        index.train(training)
        for some, vectors in batches:
            index.add_with_ids(vectors, some)
    finally:
        faiss.omp_set_num_threads(1)
    fresh = file.with_suffix(".new")
    try:
        faiss.write_index(index, str(fresh))
        with open(fresh, "rb+") as written:
            os.fsync(written.fileno())
        checksum = _checksum(fresh)
        fresh.replace(file)
    except (OSError, RuntimeError) as error:
        fresh.unlink(missing_ok=True)
        raise StoreError(f"the codes of the vector index cannot be written to {file}: {error}") from error
    return Sidecar(file.name, checksum, points, int(index.ntotal), dimension, runs(keys))


def _pieces(dimension: int, finer: bool) -> int:
    """Pieces of a vector: of 4 numbers (2 if `finer`) or as few more as divide the dimension."""
    length = next(n for n in range(2 if finer else 4, dimension + 1) if dimension % n == 0) if dimension > 3 else 1
    return dimension // length


class IvfPq:
    """The codes, open for searching. Its methods may be called from any thread."""

    def __init__(self, index: Any, sidecar: Sidecar) -> None:
        self._index = index
        self.count = sidecar.count
        self.keys = sidecar.keys()
        self.nlist = int(index.nlist)

    def search(self, vector: Matrix, n: int, nprobe: int) -> NDArray[np.int64]:
        """Ids of the `n` points (fewer, if the cells hold fewer) whose codes are nearest to a unit vector."""
        options = _faiss().SearchParametersIVF(nprobe=min(nprobe, self.nlist))
        _, ids = self._index.search(vector[None], min(n, self.count), params=options)
        found: NDArray[np.int64] = ids[0][ids[0] >= 0]
        return found


def load(folder: Path, sidecar: Sidecar, points: str, dimension: int) -> IvfPq | str:
    """Open the codes; in words why they cannot be used, if so."""
    file = folder / sidecar.file
    again = "run `pincite optimize` to build them again"
    if sidecar.points != points or sidecar.dimension != dimension:
        return f"the IVF-PQ codes are of other points: {again}"
    if not installed():
        return "the IVF-PQ codes need faiss: pip install 'pincite[faiss]'"
    try:
        if _checksum(file) != sidecar.sha256:
            return f"the IVF-PQ codes in {file.name} are damaged: {again}"
        faiss = _faiss()
        index = faiss.read_index(str(file))
    except (OSError, RuntimeError) as error:
        return f"the IVF-PQ codes in {file.name} cannot be read ({error}): {again}"
    if (index.ntotal, index.d) != (sidecar.count, dimension):
        return f"the IVF-PQ codes in {file.name} are of {index.ntotal} points, not {sidecar.count}: {again}"
    faiss.omp_set_num_threads(1)  # a query is too little for two; the encoder has the cores
    return IvfPq(index, sidecar)


def _checksum(file: Path) -> str:
    digest = hashlib.sha256()
    with open(file, "rb") as opened:
        while block := opened.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("index.kind ivfpq", "faiss") from None
    return faiss
