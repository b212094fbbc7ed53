"""From what a user names (files, folders, patterns) to the files that are read."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pincite.errors import InputError

__all__ = ["Found", "find_files"]


@dataclass(frozen=True, slots=True)
class Found:
    """One file to read, or, with a `reason`, one thing that is passed over."""

    path: Path
    reason: str = ""
    detail: str = ""


def find_files(names: Iterable[str | Path]) -> Iterator[Found]:
    """Files under the named files, folders and patterns, each once, folders in the order of their names.

    Hidden files and folders inside a folder (``.git``, ``.pincite``) are passed over and named; a hidden file that is
    named itself is read. Links are followed; a folder is entered once. Raises InputError for a name that matches
    nothing, before any file is read.
    """
    roots: list[Path] = []
    for name in names:
        text = os.fspath(name)
        path = Path(text).expanduser()
        if path.exists() or path.is_symlink():
            roots.append(path)
        elif glob.has_magic(text) and (matches := sorted(glob.glob(str(path), recursive=True))):
            roots.extend(Path(match) for match in matches)
        else:
            what = "no file matches" if glob.has_magic(text) else "there is no file or folder"
            raise InputError(f"{what} {text!r}")
    return _walk(roots)


def _walk(roots: list[Path]) -> Iterator[Found]:
    seen: set[Path] = set()
    for root in roots:
        yield from _visit(root, seen)


def _visit(path: Path, seen: set[Path]) -> Iterator[Found]:
    try:
        real = path.resolve()
        if real in seen:
            return
        seen.add(real)
        if path.is_dir():
            for child in sorted(path.iterdir(), key=lambda each: each.name):
                if child.name.startswith("."):
                    yield Found(child, "hidden", "hidden files and folders are not read unless named")
                else:
                    yield from _visit(child, seen)
        elif path.is_file():
            yield Found(path)
        elif path.is_symlink():
            yield Found(path, "unreadable", "a link to nothing")
        else:
            yield Found(path, "unreadable", "not a regular file")
    except OSError as error:
        yield Found(path, "unreadable", error.strerror or str(error))
