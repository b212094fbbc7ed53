"""A copy of the points takes their place: to leave behind what was deleted, or with another vector index over them.

Readers have the old points until the catalogue names the new ones. Cut off before, the old ones stand; after, the new.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pincite.errors import StoreError
from pincite.store.building import optimize_apart, optimize_folder
from pincite.store.engine import copy_shard, create_shard, load_shard
from pincite.store.plan import UNMEASURED, IndexState, Layout
from pincite.store.points import Points, next_points
from pincite.store.room import RESERVE, check_room, size_on_disk

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

    from pincite.protocols import StoreHeader
    from pincite.store.care import VectorIndex
    from pincite.store.catalogue import Catalogue
    from pincite.store.locks import ReadWriteLock

__all__ = ["APART_FROM", "Exchange"]

Optimize: TypeAlias = "Callable[[Path, int, Layout], bool]"

#: Above so many points they are optimized in a process of their own.
APART_FROM = 20_000


class Exchange:
    """Done by the one writer there is, who holds off other writers."""

    def __init__(
        self,
        catalogue: Catalogue,
        points: Points,
        visibility: ReadWriteLock,
        index: VectorIndex,
        header: StoreHeader,
    ) -> None:
        self._folder = points.folder
        self._catalogue = catalogue
        self._points = points
        self._visibility = visibility
        self._index = index
        self._header = header

    def copy_anew(self) -> None:
        """Write every point that there is into a new folder: nothing is left of those that are not."""
        layout = self._index.state.layout
        # Few points are searched where they were written: to merge what is one segment would only add an empty one.
        optimize = self._optimizer() if self._points.indexed or self._points.count > APART_FROM else None
        self._exchange(layout, self._index.state_without_codes(), self._copy_points, optimize)

    def _copy_points(self, target: Path, layout: Layout) -> None:
        create_shard(target, self._header, layout)
        fresh = load_shard(target)
        try:
            copied = Points(self._folder, fresh, self._points.dimension)
            some: list[tuple[int, list[float], dict[str, Any]]] = []
            for point in self._points.scan_points():
                some.append(point)
                if len(some) == 512:
                    copied.write(some)
                    some = []
            copied.write(some)
            copied.flush()
        finally:
            fresh.close()

    def _copy_files(self, target: Path, _: Layout) -> None:
        source = self._folder / self._catalogue.points()
        with self._visibility.write():
            self._points.shard.flush()
            self._points.shard.close()
            try:
                copy_shard(source, target)
            finally:
                self._points.shard = load_shard(source)

    def rebuild(self, layout: Layout, wanted: Layout) -> None:
        """Build the index in a copy of the points that then takes their place. Cut off, one of the two stands."""
        state = IndexState(wanted=wanted, layout=layout, exact=UNMEASURED if layout.graph else "")
        self._exchange(layout, state, self._copy_files, self._optimizer())

    def settle(self) -> bool:
        """Merge segments and finish what the layout asks for: where it takes long, in a copy and by another process."""
        if self._points.count <= APART_FROM:
            self._check_room(1)
            return self._points.optimize()
        index = self._index
        state, layout = index.state_without_codes(), index.state.layout
        return self._exchange(layout, state, self._copy_files, self._optimizer(), needed=False)

    def _optimizer(self) -> Optimize:
        return optimize_apart if self._points.count > APART_FROM else optimize_folder

    def _exchange(
        self,
        layout: Layout,
        state: IndexState,
        copy: Callable[[Path, Layout], None],
        optimize: Optimize | None,
        *,
        needed: bool = True,
    ) -> bool:
        """Let a copy of the points, with `optimize` as `layout` says, take their place; till then readers have the old.

        Unless it is `needed`, a copy in which there was nothing to do is dropped. True if it took their place.
        """
        # To merge segments is to copy them once more.
        self._check_room(1 if optimize is None else 2)
        points = self._points
        new = next_points(self._folder)
        fresh: EdgeShard | None = None
        try:
            with points.engine("optimized"):
                copy(self._folder / new, layout)
                done = optimize is not None and optimize(self._folder / new, points.dimension, layout)
                if not done and not needed:
                    self._index.clear_strays()
                    return False
                fresh = load_shard(self._folder / new)
            with self._visibility.write():
                self._catalogue.set_index(state.dump(), new)
                old, points.shard = points.shard, fresh
                with suppress(Exception):
                    old.close()
                self._index.take(state)
                self._index.clear_strays()
            return True
        except BaseException as error:
            with self._visibility.write():
                self._reopen(fresh)
            if isinstance(error, OSError):
                raise StoreError(f"the index {self._folder} cannot be built anew: {error}") from error
            raise

    def _check_room(self, copies: int) -> None:
        check_room(self._folder, RESERVE + copies * size_on_disk(self._folder / self._catalogue.points()))

    def _reopen(self, fresh: EdgeShard | None) -> None:
        """After an exchange that failed: whatever the catalogue says stands."""
        for shard in {id(each): each for each in (fresh, self._points.shard) if each is not None}.values():
            with suppress(Exception):
                shard.close()
        self._points.shard = load_shard(self._folder / self._catalogue.points())
        self._index.reload()
        self._index.clear_strays()
