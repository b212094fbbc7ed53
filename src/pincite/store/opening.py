"""The files of an index: laid out when it is made, loaded when it is opened, begun anew when they are damaged."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.errors import IndexFormatError, StoreError
from pincite.store.care import now
from pincite.store.catalogue import Catalogue
from pincite.store.engine import create_shard, from_engine, load_shard
from pincite.store.plan import IndexState, Layout
from pincite.store.points import next_points, points_folders, points_name

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

    from pincite.protocols import StoreHeader

__all__ = ["begin_anew", "lay_out", "load_points", "strangers"]

#: What an index has in its folder, or left there when it was cut off.
_OURS = re.compile(
    r"lock(\.next)?|holder\.json|serving\.json|points-\d+\.edge|catalogue\.(sqlite|new)(-wal|-shm|-journal)?"
    r"|ivfpq-.*|reindex|importing|\..*"
)


def strangers(folder: Path) -> list[str]:
    """Names in a folder that no index leaves there: among them it could not be told what is whose."""
    try:
        return sorted(each.name for each in folder.iterdir() if not _OURS.fullmatch(each.name))
    except OSError:
        return []  # there is no such folder, or it will be said when it is made


def load_points(folder: Path, points: str) -> EdgeShard:
    """Open the folder of points. Raises IndexFormatError where it is missing or damaged."""
    if not (folder / points).is_dir():
        raise IndexFormatError(
            f"the index at {folder} is damaged: its folder {points} is missing; `pincite doctor --repair` makes it anew"
        )
    try:
        return load_shard(folder / points)
    except BaseException as error:
        if not from_engine(error):
            raise
        raise IndexFormatError(
            f"the index at {folder} cannot be opened: {error}; `pincite doctor --repair` makes its points anew"
        ) from error


def begin_anew(folder: Path, catalogue: Catalogue) -> EdgeShard:
    """An empty folder of points in the place of one that cannot be opened."""
    points, layout = next_points(folder), Layout()
    create_shard(folder / points, catalogue.header(), layout)
    catalogue.set_index(IndexState(wanted=layout, layout=layout).dump(), points)
    return load_shard(folder / points)


def lay_out(folder: Path, header: StoreHeader, layout: Layout) -> None:
    """Make an empty index. The catalogue comes last and whole: one cut off while it was made has none, so it is not."""
    for leftover in points_folders(folder):
        shutil.rmtree(leftover)
    for leftover in folder.glob("catalogue.new*"):
        leftover.unlink()
    points = points_name(1)
    try:
        create_shard(folder / points, header, layout)
    except BaseException as error:
        if not from_engine(error) and not isinstance(error, OSError):
            raise
        raise StoreError(f"the index at {folder} cannot be made: {error}") from error
    catalogue = Catalogue(folder / "catalogue.new")
    try:
        catalogue.create(replace(header, created_at=header.created_at or now()), points)
        catalogue.set_index(IndexState(wanted=layout, layout=layout).dump())
    finally:
        catalogue.close()
    (folder / "catalogue.new").rename(folder / "catalogue.sqlite")
