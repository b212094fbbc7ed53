"""From what a user names (files, folders, patterns) to the files that are read."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pincite.errors import InputError

__all__ = ["Found", "find_files"]


#: How a file begins that `pincite.portable` wrote, up to the name of its first member.
_ZIP, _NAME_AT, _FIRST = b"PK\x03\x04", 30, b"versions.jsonl"


@dataclass(frozen=True, slots=True)
class Found:
    """One file to read, or, with a `reason`, one thing that is passed over."""

    path: Path
    reason: str = ""
    detail: str = ""


def find_files(names: Iterable[str | Path]) -> Iterator[Found]:
    """Files under the named files, folders and patterns, each once, folders in the order of their names.

    Hidden files and folders inside a folder (``.git``, ``.pincite``) are passed over and named; a hidden file that is
    named itself is read; an index of pincite, and one in a file, never is. A link is followed where it is named itself
    or stays in the folder in which it is found: one that leads out of it is passed over, for what lies there was not
    asked for. A folder is entered once. Raises InputError for a name that matches nothing or is an index, before any
    file is read.
    """
    roots: list[Path] = []
    for name in names:
        text = os.fspath(name)
        if not text:
            raise InputError("an empty name is no file or folder; this folder is '.'")
        path = Path(os.path.expanduser(text))
        if os.path.lexists(path):
            roots.append(path)
        elif glob.has_magic(text) and (matches := sorted(glob.glob(str(path), recursive=True))):
            roots.extend(Path(match) for match in matches)
        else:
            what = "no file matches" if glob.has_magic(text) else "there is no file or folder"
            raise InputError(f"{what} {text!r}")
    for root in roots:
        if _is_index(root):
            raise InputError(f"{str(root)!r} is an index of pincite, and what else lies in it is not read")
    return _walk(roots)


def _walk(roots: list[Path]) -> Iterator[Found]:
    seen: set[str] = set()
    #: What is still to look at, and the real name of the folder that was asked for; empty: it is named itself.
    waiting = [(root, "") for root in reversed(roots)]
    while waiting:
        path, within = waiting.pop()
        if within and path.name.startswith("."):
            yield Found(path, "hidden", "hidden files and folders are not read unless named")
            continue
        # Not Path.resolve, which gives up on a loop of links.
        real = os.path.realpath(path)
        if within and not os.path.join(real, "").startswith(os.path.join(within, "")) and os.path.exists(real):
            yield Found(path, "outside", f"a link out of the folder, to {real}: name that to have it read")
            continue
        if real in seen:
            continue
        seen.add(real)
        try:
            if path.is_dir():
                if _is_index(path):
                    yield Found(path, "index", "an index of pincite, not documents")
                    continue
                children = sorted(path.iterdir(), key=lambda each: each.name, reverse=True)
                waiting += [(child, within or real) for child in children]
            else:
                yield _look(path)
        except OSError as error:
            yield Found(path, "unreadable", error.strerror or str(error))


def _is_index(path: Path) -> bool:
    return (path / "catalogue.sqlite").is_file() and any(path.glob("points-*.edge"))


def _look(path: Path) -> Found:
    if path.is_file():
        try:
            os.fspath(path.absolute()).encode("utf-8")
        except UnicodeEncodeError:
            # The path is the document's identity, which is kept and shown as text.
            return Found(path, "unreadable", "its name is not UTF-8")
        if _is_export(path):
            return Found(path, "index", "an index of pincite in a file, not documents")
        return Found(path)
    return Found(path, "unreadable", "a link to nothing" if path.is_symlink() else "not a regular file")


def _is_export(path: Path) -> bool:
    """Whether `pincite export` wrote it. One that cannot be looked at is left to whoever reads it."""
    import zipfile

    try:
        with path.open("rb") as file:
            begins = file.read(_NAME_AT + len(_FIRST))
            if not begins.startswith(_ZIP) or begins[_NAME_AT:] != _FIRST:
                return False
            with zipfile.ZipFile(file) as archive:
                return "pincite.json" in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
