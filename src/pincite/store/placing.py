"""A new index made beside its place, which it takes when it is complete; and what is left where one was cut off."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pincite.errors import InputError, StoreError
from pincite.store.catalogue import Catalogue
from pincite.store.locks import ProcessLock
from pincite.store.points import points_folders

__all__ = ["placed_when_complete", "remove_unfinished"]

_IMPORTING = "importing"
#: Folders within that of an index in which another is made.
_UNFINISHED = (_IMPORTING, "reindex")


def remove_unfinished(folder: Path) -> None:
    """Delete what was left within the index in `folder` by one that was being made. For its holder. Raises OSError."""
    for name in _UNFINISHED:
        if (folder / name).exists():
            shutil.rmtree(folder / name)


@contextmanager
def placed_when_complete(folder: Path, timeout: float) -> Iterator[Path]:
    """A folder to make an index in, which becomes the one in `folder` when the block ends well and it is closed.

    Cut off, there is none; what is left then goes with the next one made here. After an error nothing is left. Raises
    InputError where there is an index, StoreBusyError where another process makes one for longer than `timeout`
    seconds.
    """
    _refuse(folder)
    there = folder.exists()
    before = {each.name for each in folder.iterdir()} if folder.is_dir() else set()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the index folder {folder} cannot be made: {error.strerror}") from error
    lock = ProcessLock(folder)
    lock.acquire(timeout)
    complete = False
    try:
        _refuse(folder)  # made by another process meanwhile
        try:
            remove_unfinished(folder)
            for leftover in points_folders(folder):
                shutil.rmtree(leftover)
        except OSError as error:
            raise StoreError(f"what is left in {folder} of an index cannot be removed: {error}") from error
        yield folder / _IMPORTING
        try:
            _take_place(folder, folder / _IMPORTING)
        except OSError as error:
            raise StoreError(f"the new index cannot take its place in {folder}: {error}") from error
        complete = True
    finally:
        # Its place it takes with one step: an interruption right after it has not undone it.
        if not complete and not _exists(folder):
            for made in (folder / _IMPORTING, *points_folders(folder)):
                shutil.rmtree(made, ignore_errors=True)
        lock.release()
        if not _exists(folder):
            if "lock" not in before:
                with suppress(OSError):
                    (folder / "lock").unlink(missing_ok=True)
            if not there:
                with suppress(OSError):
                    folder.rmdir()


def _exists(folder: Path) -> bool:
    return (folder / "catalogue.sqlite").is_file()


def _refuse(folder: Path) -> None:
    if _exists(folder):
        raise InputError(f"there is an index at {folder} already: name another folder")


def _take_place(folder: Path, fresh: Path) -> None:
    """The catalogue last: until it is there, there is no index."""
    catalogue = Catalogue(fresh / "catalogue.sqlite")
    points = catalogue.points()
    catalogue.close()
    (fresh / points).rename(folder / points)
    _settle(folder)
    (fresh / "catalogue.sqlite").rename(folder / "catalogue.sqlite")
    _settle(folder)
    shutil.rmtree(fresh, ignore_errors=True)


def _settle(folder: Path) -> None:
    """On return the names in a folder are on the disk, where the system lets a folder be opened."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
