"""Archives and compressed files: every file in them is read as if it lay beside the archive.

Nothing is written to disk. Names lead nowhere, since no file is made of them, but one that points out of the archive
is not believed. Sizes that an archive declares are not believed either: what comes out is counted while it does.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from tarfile import HeaderError
from typing import IO, TYPE_CHECKING, Any

from pincite.errors import EncryptedError, LoadError, UnsupportedFormatError
from pincite.loaders.parts import LIMIT, Budget, Loaders, Names, Part, depth_of, read_part, skipped
from pincite.protocols import Source
from pincite.types import Document, FileOutcome

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ArchiveLoader"]

_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    KeyError,
    IndexError,
    OverflowError,
    NotImplementedError,
    RecursionError,
    MemoryError,
)
_STEP = 1 << 20
_RATIO = 300  #: bytes out of one byte in; text seldom reaches 30, and gzip cannot do better than about 1,030
_UNSUSPECTED = 32 << 20  #: bytes that may come out whatever the ratio
# What operating systems leave in archives: no file of anybody's.
_LITTER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX"})
_COMPRESSED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_TAR_SUFFIX = {".tgz": ".tar", ".tbz2": ".tar", ".tbz": ".tar", ".txz": ".tar", ".gz": "", ".bz2": "", ".xz": ""}


class _LimitError(Exception):
    """No more is read; the message says which limit it was."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A file of an archive, or with a `detail` one that is not read."""

    path: str
    data: bytes = b""
    reason: str = ""
    detail: str = ""


class ArchiveLoader:
    """Reads the files of zip and tar archives, and of single files that gzip, bzip2 or xz compressed.

    Every file goes to the loader that fits it among those that `loaders` gives, under the address ``ARCHIVE#PATH``; of
    several with one path the later ones are called ``PATH~2``. Archives within archives are opened up to `depth`
    (1: none of those inside). Together they may unpack to `max_bytes` bytes and hold `max_files` files; where a limit
    is reached, what was read until then stays and the rest is one outcome with the reason ``archive-limit``, and so is
    a file that expands as no document does. Links and devices, paths that lead out of the archive, hidden files and
    files with a password are skipped.
    """

    name = "archive"
    suffixes = frozenset({".zip", ".tar", *_TAR_SUFFIX})

    def __init__(self, loaders: Loaders, depth: int = 2, max_bytes: int = 1 << 30, max_files: int = 10_000) -> None:
        self._loaders = loaders
        self._depth = depth
        self._max_bytes = max_bytes
        self._max_files = max_files

    def load_all(self, source: Source) -> Iterator[Document | FileOutcome]:
        """The documents of the files in `source`, in the archive's order.

        Raises EncryptedError where every file has a password, LoadError for an archive that is damaged from its
        beginning; what was read before the damage stays, and the damage is an outcome.
        """
        if depth_of(source) >= self._depth:
            detail = f"archives are opened {self._depth} deep" if self._depth else "archives are not opened"
            yield FileOutcome(source.uri, "skipped", reason=LIMIT, detail=detail)
            return
        budget = source.budget if isinstance(source, Part) and source.budget else None
        budget = budget or Budget(self._max_bytes, self._max_files)
        names = Names(source.uri)
        loaders = self._loaders()
        hidden = began = 0
        try:
            for member in _members(source, budget):
                began += 1
                path = PurePosixPath(member.path)
                if any(part in _LITTER or part.startswith("._") for part in path.parts):
                    continue
                if any(part.startswith(".") and part not in (".", "..") for part in path.parts):
                    hidden += 1
                    continue
                uri = names.address(member.path)
                if member.detail:
                    yield FileOutcome(uri, "skipped", reason=member.reason, detail=member.detail)
                else:
                    yield from read_part(loaders, Part(source, uri, path.name, member.data, budget))
        except _LimitError as limit:
            yield FileOutcome(
                source.uri, "skipped", reason=LIMIT, detail=f"the rest of the archive is not read: {limit}"
            )
        except LoadError as error:
            if not began:
                raise
            yield skipped(source.uri, error)
        except _DAMAGE as error:
            damage = LoadError(f"the archive is damaged: {error or type(error).__name__}")
            if not began:
                raise damage from error
            yield skipped(source.uri, damage)
        if hidden:
            detail = f"{hidden} hidden file{'s' if hidden > 1 else ''} not read"
            yield FileOutcome(f"{source.uri}#.", "skipped", reason="hidden", detail=detail)


def _members(source: Source, budget: Budget) -> Iterator[_Member]:
    with _open(source) as file:
        head = file.read(8)
        file.seek(0)
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")) or _ends_as_zip(source.name, file):
            yield from _zip(file, budget)
            return
        for signature, opener in _COMPRESSED.items():
            if head.startswith(signature):
                with opener(file) as unpacked:
                    meter = _Meter(unpacked, budget, source.size)
                    yield from _compressed(source.name, meter)
                return
        meter = _Meter(file, budget, source.size)
        first = meter.peek(512)
        if _is_tar(first, source.name):
            yield from _tar(meter)
            return
    raise UnsupportedFormatError("the file is no archive of a kind that is read")


def _open(source: Source) -> IO[bytes]:
    return source.path.open("rb") if source.path is not None else io.BytesIO(source.data)


def _ends_as_zip(name: str, file: IO[bytes]) -> bool:
    # A program that unpacks itself is an archive behind some code.
    found = name.lower().endswith(".zip") and zipfile.is_zipfile(file)
    file.seek(0)
    return found


class _Meter(io.RawIOBase):
    """Hands bytes on and takes them from the budget."""

    def __init__(self, file: IO[bytes], budget: Budget, packed: int) -> None:
        self._file = file
        self.budget = budget
        self._most = max(_UNSUSPECTED, _RATIO * packed)
        self._read = 0
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay there to be read."""
        while len(self._ahead) < size:
            more = self._take(size - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; all that are left when it is negative."""
        parts: list[bytes] = []
        left = size
        while left:
            if self._ahead:
                part, self._ahead = (self._ahead, b"") if left < 0 else (self._ahead[:left], self._ahead[left:])
            else:
                try:
                    part = self._take(_STEP if left < 0 else min(left, _STEP))
                except _DAMAGE:
                    if left < 0 or not parts:
                        raise
                    break  # what came before the damage is read; to go on meets it again
            if not part:
                break
            parts.append(part)
            left = left - len(part) if left > 0 else left
        return b"".join(parts)

    def _take(self, size: int) -> bytes:
        data = self._file.read(size)
        self._read += len(data)
        self.budget.bytes -= len(data)
        if self.budget.bytes < 0:
            raise _LimitError("it unpacks to more than is allowed")
        if self._read > self._most:
            raise _LimitError(f"more than {_RATIO} bytes come out of one")
        return data


def _count(budget: Budget) -> None:
    budget.files -= 1
    if budget.files < 0:
        raise _LimitError("it holds more files than are allowed")


def _compressed(name: str, meter: _Meter) -> Iterator[_Member]:
    suffix = PurePosixPath(name).suffix.lower()
    inner = name[: -len(suffix)] + _TAR_SUFFIX[suffix] if suffix in _TAR_SUFFIX else name
    if _is_tar(meter.peek(512), inner):
        yield from _tar(meter)
        return
    _count(meter.budget)
    yield _Member(inner or "content", meter.read())


def _is_tar(head: bytes, name: str) -> bool:
    return head[257:262] == b"ustar" or (name.lower().endswith(".tar") and len(head) == 512)


def _tar(meter: _Meter) -> Iterator[_Member]:
    with tarfile.open(fileobj=meter, mode="r|", tarinfo=_Header, errorlevel=0) as archive:
        for info in archive:
            archive.members = []  # type: ignore[attr-defined]  # kept for going back, which a stream cannot
            if info.isdir():
                continue
            path = _tar_name(info.name)
            _count(meter.budget)
            refused = _misplaced(path)
            if refused is not None:
                yield refused
            elif not info.isreg():
                what = "a link" if info.issym() or info.islnk() else "not a regular file"
                yield _Member(_plain(path), reason="unreadable", detail=what)
            elif info.issparse():
                # Its holes take no place in the archive, and any amount of it in memory.
                yield _Member(_plain(path), reason="unreadable", detail="a sparse file")
            else:
                content = archive.extractfile(info)
                yield _Member(_plain(path), content.read() if content is not None else b"")
        # What is packed is checked where it ends.
        while meter.read(_STEP):
            pass


class _Header(tarfile.TarInfo):
    """A header of which nothing is overlooked: the library takes a damaged or a missing one for the end."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        first = tarfile.offset == 0  # of which the library has its own to say
        try:
            return super().fromtarfile(tarfile)
        except HeaderError as error:
            kind = type(error).__name__
            ends = kind == "EOFHeaderError"
            if first or (ends and tarfile.fileobj and tarfile.fileobj.read(512) == bytes(512)):
                raise
            what = "it ends early" if ends or kind == "EmptyHeaderError" else f"{error}, the rest is not read"
            raise LoadError(f"the archive is damaged: {what}") from None


def _zip(file: IO[bytes], budget: Budget) -> Iterator[_Member]:
    with zipfile.ZipFile(file) as archive:
        files = [info for info in archive.infolist() if not info.is_dir()]
        if files and all(info.flag_bits & 1 for info in files):
            raise EncryptedError("the archive is encrypted: a password is needed to open it")
        for info in files:
            _count(budget)
            yield _zip_member(archive, info, budget)


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: Budget) -> _Member:
    path = _zip_name(info)
    refused = _misplaced(path)
    if refused is not None:
        return refused
    path = _plain(path)
    if info.flag_bits & 1:
        return _Member(path, reason="encrypted", detail="a password is needed to open it")
    kind = info.external_attr >> 16 & 0o170000
    if kind == 0o120000:
        return _Member(path, reason="unreadable", detail="a link")
    try:
        with archive.open(info) as content:
            return _Member(path, _Meter(content, budget, info.compress_size).read())
    except _LimitError as limit:
        if budget.bytes < 0:
            raise
        return _Member(path, reason=LIMIT, detail=str(limit))
    except RuntimeError:
        return _Member(path, reason="encrypted", detail="a password is needed to open it")
    except _DAMAGE as error:
        return _Member(path, reason="unreadable", detail=f"damaged: {error or type(error).__name__}")


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The path of a member. Without the mark for UTF-8 it may be UTF-8 all the same; the standard says cp437."""
    if info.flag_bits & 0x800:
        return info.filename
    try:
        return info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _tar_name(name: str) -> str:
    raw = name.encode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _plain(path: str) -> str:
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    shown = "/".join(parts).split("\x00", 1)[0]
    return "".join(c if c.isprintable() else "\ufffd" for c in shown) or "unnamed"


def _misplaced(path: str) -> _Member | None:
    slashed = path.replace("\\", "/")
    if slashed.startswith("/") or re.match(r"[A-Za-z]:", slashed) or ".." in slashed.split("/"):
        return _Member(_plain(path), reason="unreadable", detail="its path leads out of the archive")
    return None
