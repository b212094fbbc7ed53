"""Care of the vector index: whether it pays, building it, measuring it and searching it wider, and what is said of it.

`VectorIndex` keeps what was built over the points and how it is searched now. To build it anew the points are exchanged
for a copy: that is the store's to do, which lends it, and its search, for one call.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pincite.protocols import IndexReport
from pincite.store import ivfpq, recall, search
from pincite.store.catalogue import Catalogue
from pincite.store.payload import ORDINAL_BITS
from pincite.store.plan import NAMES, UNMEASURED, Beam, IndexOptions, IndexState, Layout
from pincite.store.points import next_points, points_folders

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.protocols import Matrix, Recall
    from pincite.store.locks import ReadWriteLock
    from pincite.store.points import Points
    from pincite.store.visible import Visible
    from pincite.types import Hit

__all__ = ["Rebuild", "Search", "Settle", "VectorIndex", "exchange", "now"]

#: The hits nearest to a unit vector: so many, so widely; None is exactly.
Search = Callable[["Matrix", int, "Beam | None"], "list[Hit]"]
#: Bring the points into the first layout by way of a copy, and record that the second was asked for.
Rebuild = Callable[[Layout, Layout], None]
#: Merge the points' segments and finish what their layout asks for. True if anything was done.
Settle = Callable[[], bool]

#: Queries that a new index is measured with.
_QUERIES = 300


class VectorIndex:
    """What is built over the points, how wide it is searched, and why it is not if it is not.

    A method that changes it is called by the one writer there is; it holds readers off for the moment of the change.
    """

    def __init__(
        self, catalogue: Catalogue, points: Points, visible: Visible, lock: ReadWriteLock, options: IndexOptions
    ) -> None:
        self._catalogue = catalogue
        self._points = points
        self._visible = visible
        self._lock = lock
        self._options = options
        self._stand: tuple[int, search.CodesNow] | None = None
        self.reload()

    def reload(self) -> None:
        """Search as the catalogue says."""
        self.take(IndexState.parse(self._catalogue.index_record()))

    def take(self, state: IndexState) -> None:
        """Search as `state` says from now on. For whoever holds off readers already; else see `_keep`."""
        self.state = state
        self.settle()

    def settle(self) -> None:
        """Take from the state of the index how it is searched: `beam`, None for exactly, `codes`, and `notes` on it."""
        state, notes = self.state, []
        self.codes: ivfpq.IvfPq | None = None
        self._stand = None
        if state.sidecar is not None:
            folder, points = self._points.folder, self._catalogue.points()
            codes = ivfpq.load(folder, state.sidecar, points, self._points.dimension)
            if isinstance(codes, str):
                notes.append(f"searched exactly: {codes}")
            else:
                self.codes = codes
        if state.exact:
            notes.append(f"searched exactly: {state.exact}")
        built = self._is_built(state.layout)
        usable = built and not state.exact and self._options.kind != "exact" and self._is_enough(self._points.count)
        self.beam = (state.beam or next(state.layout.rungs(self._options))) if usable else None
        self.notes = tuple(notes)

    def state_without_codes(self) -> IndexState:
        """What is so of the same points in another folder: codes are of the points that they were made from."""
        if self.state.sidecar is None:
            return self.state
        return replace(self.state, sidecar=None, beam=None, recall=None, floor=None, exact=UNMEASURED)

    def _keep(self, state: IndexState) -> None:
        self._catalogue.set_index(state.dump())
        with self._lock.write():
            self.take(state)

    def clear_strays(self) -> None:
        """Remove what an exchange left that was cut off, and what it took the place of."""
        points = self._catalogue.points()
        for stray in points_folders(self._points.folder):
            if stray.name != points:
                shutil.rmtree(stray, ignore_errors=True)
        kept = self.state.sidecar.file if self.state.sidecar else ""
        for file in (*self._points.folder.glob("ivfpq-*.faiss"), *self._points.folder.glob("ivfpq-*.new")):
            if file.name != kept:
                with suppress(OSError):
                    file.unlink()

    @property
    def indexed_count(self) -> int:
        """Points in an approximate index, live ones; the others are searched exactly, or as the codes of their kind."""
        if self.codes is not None:
            counts = self._catalogue.chunk_counts()
            return sum(counts.get(key, 0) for key in self.codes.keys)
        return self._points.indexed

    # Searching

    def nearest(self, direction: Matrix, k: int, condition: Any, beam: Beam | None, *, filtered: bool) -> list[Any]:
        """The k points nearest to a unit vector, and ties; see `search.nearest`. For a reader.

        `filtered` says that `condition` asks for more than that a point is not hidden.
        """
        codes = None
        if beam is not None and self.codes is not None:
            if filtered:  # codes know no metadata: a filter would act after they have chosen
                beam = None
            else:
                codes = self._codes_now(self.codes)
        return search.nearest(self._points, self._visible, direction, k, condition, beam, codes)

    def _codes_now(self, codes: ivfpq.IvfPq) -> search.CodesNow:
        """The codes with what there is beside them. Counted once between two changes of what readers see."""
        stand, edition = self._stand, self._visible.edition
        if stand is None or stand[0] != edition or stand[1].index is not codes:
            outside = tuple(sorted(self._visible.keys.keys() - codes.keys))
            self._stand = stand = (edition, search.CodesNow(codes, outside, self.indexed_count))
        return stand[1]

    # Whether it pays

    def _is_enough(self, points: int) -> bool:
        """Whether the kind in the settings is built over so many."""
        learns = self._options.kind != "ivfpq" or points >= ivfpq.smallest(self._options.nlist)
        return learns and points > self._options.threshold

    def _is_built(self, layout: Layout) -> bool:
        return self.codes is not None or (layout.graph and self.indexed_count > 0)

    def _is_unmeasured(self, wanted: Layout) -> bool:
        """Whether there is something to measure that was not measured for the floor of the settings."""
        measured = self.state.recall is not None and self.state.floor == self._options.recall_floor
        return self._is_built(wanted) and not measured

    def needs_optimizing(self) -> bool:
        """Whether so many points are outside the vector index, or another kind is wanted, that building it pays."""
        points = self._points.count
        if self._options.kind == "exact" or not self._is_enough(points):
            return False
        if self._options.layout() != self.state.wanted or self.state.exact == UNMEASURED:
            return True
        return points - self.indexed_count > self._options.threshold

    # Building

    def optimize(self, ask: Search, rebuild: Rebuild, settle: Settle) -> bool:
        """Build what the settings want and measure it; see `pincite.store.edge.EdgeStore.optimize`."""
        wanted = self._options.layout()
        if wanted.kind != "exact" and not self._is_enough(self._points.count):
            return self._settle_points(settle)
        if wanted.kind == "ivfpq":
            ivfpq.require()
        done = self._build(wanted, rebuild, settle)
        if done or self._is_unmeasured(wanted):
            self._tune(wanted, ask, rebuild)
            return True
        return False

    def _settle_points(self, settle: Settle) -> bool:
        done = settle()
        self.settle()
        return done

    def _build(self, wanted: Layout, rebuild: Rebuild, settle: Settle) -> bool:
        """Bring the index into the layout that is wanted, unless it is. True if anything was done."""
        if wanted.kind == "ivfpq":
            return self._build_with_codes(wanted, rebuild, settle)
        if self.state.wanted != wanted or self.state.layout.kind != wanted.kind:
            rebuild(wanted, wanted)
            return True
        return self._settle_points(settle)

    def _build_with_codes(self, wanted: Layout, rebuild: Rebuild, settle: Settle) -> bool:
        done = True
        if self.state.layout.graph:
            rebuild(wanted, wanted)
        else:
            done = self._settle_points(settle)
        fits = self.state.wanted == wanted and self.codes is not None
        if done or not fits or self.indexed_count < max(self._points.count, self.codes.count if self.codes else 0):
            self._build_codes(wanted, wanted)
            return True
        return False

    def _build_codes(self, layout: Layout, wanted: Layout) -> None:
        """Code the vectors of what is current, in a new file beside the points."""
        folder = self._points.folder
        covered = set(self._visible.keys)
        ids = [point_id for point_id in self._points.scan() if point_id >> ORDINAL_BITS in covered]
        taken = [int(file.stem.rpartition("-")[2]) for file in folder.glob("ivfpq-*.faiss")]
        sidecar = ivfpq.build(
            folder / f"ivfpq-{1 + max(taken, default=0)}.faiss",
            self._catalogue.points(),
            covered,
            np.array(ids, np.int64),
            lambda some: self._points.vectors(some.tolist()),
            _batches(self._points, covered),
            layout,
        )
        self._keep(IndexState(wanted=wanted, layout=layout, exact=UNMEASURED, sidecar=sidecar))
        self.clear_strays()

    # Measuring

    def _tune(self, wanted: Layout, ask: Search, rebuild: Rebuild) -> None:
        """Find the narrowest beam that reaches the floor; build once more with more care if none does."""
        floor = self._options.recall_floor
        if not self._is_built(wanted):
            self._keep(replace(self.state, wanted=wanted, beam=None, recall=None, floor=None, exact=""))
            return
        reference = self._reference(ask, _QUERIES, 0)
        best: Recall | None = None
        for layout in (self.state.layout, self.state.layout.stronger()):
            if layout != self.state.layout:
                build = self._build_codes if wanted.kind == "ivfpq" else rebuild
                build(layout, wanted)
            for beam in layout.rungs(self._options):
                measured = self._compare(ask, reference, beam)
                if measured.recall >= floor:
                    self._keep(replace(self.state, beam=beam, recall=measured, floor=floor, exact=""))
                    return
                if best is None or measured.recall > best.recall:
                    best = measured
        assert best is not None
        why = (
            f"{NAMES[wanted.kind]} found {best.recall:.3f} of the exact results at its widest beam and most careful "
            f"build, less than index.recall_floor {floor:g}"
        )
        self._keep(replace(self.state, beam=None, recall=best, floor=floor, exact=why))

    def measure(self, ask: Search, queries: int, seed: int) -> Recall | None:
        """Recall@10 of a search as it is now, over so many queries. None where that is exact."""
        beam = self.beam
        return None if beam is None else self._compare(ask, self._reference(ask, queries, seed), beam)

    def _reference(self, ask: Search, queries: int, seed: int) -> recall.Exact:
        made = recall.halfway(*self._sample(queries, seed))
        return recall.exact_results(made, lambda query: ask(query, recall.K, None))

    def _compare(self, ask: Search, reference: recall.Exact, beam: Beam) -> Recall:
        return recall.compare(reference, lambda query: ask(query, recall.K, beam), self._points.count, now())

    def _sample(self, count: int, seed: int) -> tuple[Matrix, Matrix]:
        """Vectors of chunks drawn at random, twice `count`, with replacement."""
        ids = np.array([point_id for point_id in self._points.scan() if self._visible.is_current(point_id)])
        if not len(ids):
            none: Matrix = np.empty((0, self._points.dimension), np.float32)
            return none, none
        picked = np.random.default_rng(seed).choice(ids, 2 * count)
        vectors = self._points.vectors(picked.tolist())
        return vectors[:count], vectors[count:]

    # What is said of it

    def report(self) -> IndexReport:
        """How vectors are searched; see `pincite.protocols.Store`."""
        points, indexed = self._points.count, self.indexed_count
        searched = "exact (recall 1)"
        if self.beam is not None:
            searched = f"{NAMES[self.state.layout.kind]} over {indexed:,} of {points:,} chunks"
        return IndexReport(
            kind=self._options.kind,
            search=searched,
            points=points,
            indexed=indexed,
            beam="" if self.beam is None else str(self.beam),
            recall_floor=self._options.recall_floor,
            recall=self.state.recall,
            notes=(*self.notes, *self._advice(points)),
        )

    def _advice(self, points: int) -> Iterator[str]:
        """Why it is not as the settings ask, and what to do."""
        options = self._options
        if self.beam is not None and self.state.recall is None:
            yield "the recall of this index has not been measured: run `pincite optimize`"
        if options.kind not in ("auto", "exact") and points <= options.threshold:
            yield f"{NAMES[options.kind]} is built above {options.threshold:,} chunks; exact search is quick"
        elif options.kind == "ivfpq" and points < ivfpq.smallest(options.nlist):
            yield f"IVF-PQ needs {ivfpq.smallest(options.nlist):,} chunks to learn its codes from"
        if self.needs_optimizing() and options.layout() != self.state.wanted:
            yield f"the settings ask for {NAMES[options.layout().kind]}: run `pincite optimize` to build it"


def _batches(points: Points, covered: set[int]) -> Iterator[tuple[NDArray[np.int64], Matrix]]:
    """Ids and vectors of the points of some document versions."""
    ids: list[int] = []
    vectors: list[Any] = []
    for point_id, vector in points.scan_vectors():
        if point_id >> ORDINAL_BITS in covered:
            ids.append(point_id)
            vectors.append(vector)
        if len(ids) == 4096:
            yield np.array(ids, np.int64), np.array(vectors, np.float32)
            ids, vectors = [], []
    if ids:
        yield np.array(ids, np.int64), np.array(vectors, np.float32)


def exchange(folder: Path, points: str, numbers: Mapping[str, int], fresh: Path) -> None:
    """Let the complete index in the folder `fresh` take the place of the one in `folder`; both are closed.

    `points` and `numbers` are what the old catalogue said: its folder of points, and the numbers that were given. Cut
    off, one of the two indexes stands. Raises OSError.
    """
    new_points = next_points(folder)
    catalogue = Catalogue(fresh / "catalogue.sqlite")
    (fresh / catalogue.points()).rename(folder / new_points)
    catalogue.set_points(new_points)
    catalogue.keep_numbers(numbers)
    catalogue.close()
    # Until this moment the old catalogue names the old points; from it on, the new one the new.
    (fresh / "catalogue.sqlite").replace(folder / "catalogue.sqlite")
    shutil.rmtree(folder / points, ignore_errors=True)
    shutil.rmtree(fresh, ignore_errors=True)


def now() -> str:
    """The time, UTC, as ISO 8601 to the millisecond."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
