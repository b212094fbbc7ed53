"""Room on the disk. The engine maps its files into memory: where the disk is full, the system ends the process.

So whoever is about to write asks first. A quota that is less than the disk has is not seen.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pincite.errors import StoreError

__all__ = ["RESERVE", "check_room", "check_room_to_open", "has_room", "size_on_disk"]

#: Bytes that are left free. An empty index takes 56 MB, and one page of the index over words 34 MB; both measured.
RESERVE = 64_000_000
#: Bytes without which an index is not even opened to be searched. Measured: 0.2 MB are enough.
_OPENING = 1_000_000
#: Bytes that deleting and marking points takes at most, where that can wait.
_SETTLING = 8_000_000


def check_room(folder: Path, needed: int = RESERVE) -> None:
    """Raises StoreError where the disk of an index has fewer bytes free than are `needed`."""
    free = _free(folder)
    if free is not None and free < needed:
        raise StoreError(
            f"the disk is full: {free / 1e6:.0f} MB free in {folder}, {needed / 1e6:.0f} MB needed. "
            "Nothing was written; what is in the index can be searched"
        )


def check_room_to_open(folder: Path) -> None:
    """Raises StoreError where not even a search is possible: the catalogue has files beside it while it is open."""
    free = _free(folder)
    if free is not None and free < _OPENING:
        raise StoreError(
            f"the disk is full: {free / 1e6:.1f} MB free in {folder}, {_OPENING / 1e6:.0f} MB needed to open the index"
        )


def has_room(folder: Path) -> bool:
    """Whether points can be deleted and marked."""
    free = _free(folder)
    return free is None or free >= _SETTLING


def size_on_disk(folder: Path) -> int:
    """Bytes that the files below a folder take; their holes take none."""
    total = 0
    for path, _, files in os.walk(folder):
        for name in files:
            found = os.stat(os.path.join(path, name))
            total += found.st_blocks * 512 if hasattr(found, "st_blocks") else found.st_size
    return total


def _free(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:  # some network drives do not say
        return None
