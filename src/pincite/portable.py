"""A whole index in one file: every version of every document with its chunks and vectors, to keep or to carry.

The file is a ZIP archive of these members, in this order:

``versions.jsonl``
    One JSON object a line, for every version that is kept, oldest first within a document: ``document`` is the record
    of its `pincite.types.Document`, text included; ``stored`` that of its `pincite.types.StoredDocument`; ``chunks``
    those of its `pincite.types.Chunk`, without what the document says already (``id``, ``document_id``, ``version``,
    ``text``).
``vectors.f32``
    The chunks' unit vectors in the same order, one after the other: little-endian float32, `dimension` of them each.
``sources.jsonl``
    One JSON object a line: the records of `pincite.types.StoredSource`.
``pincite.json``
    ``format`` (1), ``header`` (the record of `pincite.protocols.StoreHeader`), how many ``versions`` and ``chunks``
    there are, ``numbers`` (document id → the last version number that was given, also of what is kept no longer), and
    the ``sha256`` of each other member. Written last: a file without it was cut off.

Writing takes the calls of the store's protocol alone, so an index can be written while others change it: what the file
holds is what was kept when it began. The log of runs is not carried.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pincite.chunkers.context import encoded_text
from pincite.errors import InputError, PinciteError
from pincite.indexing import AddListener, encoding_digest, lexical_context
from pincite.loaders.records import document_record
from pincite.portable_records import need, read_header, read_source, read_version, whole
from pincite.protocols import StoreHeader
from pincite.store.placing import placed_when_complete
from pincite.types import Chunk, Document, StoredDocument
from pincite.validity import with_days

if TYPE_CHECKING:
    from pincite.protocols import Matrix, Store

__all__ = ["FORMAT", "Portable", "export_store", "import_store"]

FORMAT = 1

_VERSIONS, _VECTORS, _SOURCES, _MANIFEST = "versions.jsonl", "vectors.f32", "sources.jsonl", "pincite.json"
_FROM_DOCUMENT = frozenset({"id", "document_id", "version", "text"})
#: Vectors asked of the store, and chunks given to it, at once.
_BATCH = 512
#: No line, and no manifest, of more bytes is believed.
_LONGEST_LINE = 1 << 31


@dataclass(frozen=True, slots=True)
class Portable:
    """What a file holds, and what was passed over."""

    documents: int  #: current ones
    versions: int
    chunks: int
    bytes: int
    gone: tuple[str, ...] = ()  #: addresses of versions that were deleted while they were to be written


def export_store(store: Store, path: Path, listener: AddListener | None = None) -> Portable:
    """Write everything that `store` keeps into a new file at `path`, which appears when it is complete.

    Raises InputError where there is a file already, or where the folder cannot be written to.
    """
    listener = listener or AddListener()
    if path.exists():
        raise InputError(f"there is a file at {path} already: name another")
    partial = path.with_name(f".{path.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
            written = _write(store, archive, listener)
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return replace(written, bytes=path.stat().st_size)


def _write(store: Store, archive: zipfile.ZipFile, listener: AddListener) -> Portable:
    with store.reading():
        listed, sources, numbers = store.history(), store.sources(), store.numbers()
    listener.found(len(listed))
    hashes: dict[str, str] = {}
    names: list[tuple[StoredDocument, list[str]]] = []
    gone: list[str] = []
    with _Member(archive, _VERSIONS, hashes) as member:
        for stored in listed:
            listener.reading(stored.uri)
            with store.reading():
                document = store.get_document(stored.id, stored.version)
                cut = store.chunks(stored.id, stored.version)
            if document is None or len(cut) != stored.chunks:
                gone.append(stored.uri)
                continue
            # In an index of long ago these fields may hold what is no day.
            days = with_days(document.metadata)[0]
            member.line(
                {
                    "document": document_record(replace(document, metadata=days)),
                    "stored": _record(replace(stored, metadata=days)),
                    "chunks": [
                        {name: value for name, value in _record(each).items() if name not in _FROM_DOCUMENT}
                        for each in cut
                    ],
                }
            )
            names.append((stored, [each.id for each in cut]))
    with _Member(archive, _VECTORS, hashes) as member:
        for stored, chunk_ids in names:
            for start in range(0, len(chunk_ids), _BATCH):
                vectors = store.vectors(chunk_ids[start : start + _BATCH])
                if not vectors.any(axis=1).all():
                    raise InputError(f"{stored.uri} was deleted while it was written: export again")
                member.write(vectors.astype("<f4").tobytes())
    with _Member(archive, _SOURCES, hashes) as member:
        # A source of which something is missing here must be read again.
        wanted = {stored.source for stored, _ in names if stored.current}
        missing = {stored.source for stored in listed if stored.uri in gone}
        for source in sources:
            if source.uri in wanted - missing:
                member.line(asdict(source))
    chunks = sum(len(chunk_ids) for _, chunk_ids in names)
    manifest = {
        "format": FORMAT,
        "header": asdict(store.header),
        "versions": len(names),
        "chunks": chunks,
        "numbers": numbers,
        "sha256": hashes,
    }
    archive.writestr(_MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1))
    current = sum(stored.current for stored, _ in names)
    return Portable(current, len(names), chunks, 0, tuple(gone))


class _Member:
    """A member that is being written, and its hash."""

    def __init__(self, archive: zipfile.ZipFile, name: str, hashes: dict[str, str]) -> None:
        self._name = name
        self._hashes = hashes
        self._digest = hashlib.sha256()
        self._file = archive.open(name, "w", force_zip64=True)

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)

    def line(self, record: object) -> None:
        self.write(json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n")

    def __enter__(self) -> _Member:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._hashes[self._name] = self._digest.hexdigest()


def import_store(
    path: Path,
    folder: Path,
    create: Callable[[Path, StoreHeader], Store],
    listener: AddListener | None = None,
    *,
    timeout: float = 5.0,
) -> Portable:
    """Make an index in `folder` of what the file at `path` holds. Nothing is encoded.

    `create` makes an empty store in the folder that it is given, with a header. The index takes its place when it is
    complete; interrupted or failed, nothing of it is left. Raises InputError for a file that is no such file, was cut
    off or changed, or says what cannot be, and where there is an index already; StoreBusyError where another process
    makes one there for longer than `timeout` seconds.
    """
    listener = listener or AddListener()
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive, path)
            _check_hashes(archive, manifest, path)
            header = read_header(manifest["header"])
            with placed_when_complete(folder, timeout) as fresh, closing(create(fresh, header)) as store:
                current = _fill(store, archive, manifest, listener)
    except PinciteError as error:
        if type(error) is InputError and error.__cause__ is not None:
            raise InputError(f"{path}: {error}") from error
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except _UNREADABLE as error:
        raise InputError(f"{path} is no export of pincite, or is damaged: {type(error).__name__}: {error}") from error
    return Portable(current, manifest["versions"], manifest["chunks"], path.stat().st_size)


#: What the libraries raise for a file that is not as it must be. RuntimeError: encrypted, or nested too deeply.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    EOFError,
    RuntimeError,
)


def _fill(store: Store, archive: zipfile.ZipFile, manifest: dict[str, Any], listener: AddListener) -> int:
    """Write everything into the empty store. How many current documents there are."""
    listener.found(manifest["versions"])
    counted = [0, 0]
    current: set[str] = set()
    with archive.open(_VERSIONS) as versions, archive.open(_VECTORS) as vectors:
        for number, line in enumerate(_lines(versions), 1):
            with _Naming(_VERSIONS, number):
                document, stored, chunks = read_version(json.loads(line))
                need(document.id not in current, "a version that follows the current one of its document")
                if stored.current:
                    current.add(document.id)
                listener.reading(document.uri)
                _write_version(document, stored, chunks, vectors, store)
            counted[0] += 1
            counted[1] += len(chunks)
        if vectors.read(1) or counted != [manifest["versions"], manifest["chunks"]]:
            raise ValueError("there are not as many versions and chunks as it says")
    with archive.open(_SOURCES) as opened:
        sources = []
        for number, line in enumerate(_lines(opened), 1):
            with _Naming(_SOURCES, number):
                sources.append(read_source(json.loads(line)))
    store.commit([], sources=sources)
    store.keep_numbers(manifest["numbers"])
    return len(current)


def _manifest(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    if _MANIFEST not in archive.namelist():
        raise InputError(f"{path} is no export of pincite, or was cut off: it has no {_MANIFEST}")
    if archive.getinfo(_MANIFEST).file_size > _LONGEST_LINE:
        raise InputError(f"{path} is no export of pincite: its {_MANIFEST} is too long")
    manifest: dict[str, Any] = json.loads(archive.read(_MANIFEST))
    if manifest["format"] != FORMAT:
        raise InputError(f"{path} has format {manifest['format']}, this pincite reads format {FORMAT}")
    for name in ("versions", "chunks"):
        whole(manifest[name], name, 0)
    for document_id, last in manifest["numbers"].items():
        whole(last, f"the number of {document_id}", 1)
    return manifest


def _check_hashes(archive: zipfile.ZipFile, manifest: dict[str, Any], path: Path) -> None:
    for name in (_VERSIONS, _VECTORS, _SOURCES):
        digest = hashlib.sha256()
        with archive.open(name) as member:
            while block := member.read(1 << 20):
                digest.update(block)
        if digest.hexdigest() != manifest["sha256"][name]:
            raise InputError(f"{path} is damaged: its {name} is not what was written")


def _lines(member: IO[bytes]) -> Iterator[bytes]:
    while line := member.readline(_LONGEST_LINE):
        yield line


def _write_version(
    document: Document, stored: StoredDocument, chunks: Sequence[Chunk], vectors: IO[bytes], store: Store
) -> None:
    import numpy as np

    ticket = store.stage(document, stored.recipe, source=stored.source, was=stored)
    try:
        for start in range(0, len(chunks), _BATCH):
            some = chunks[start : start + _BATCH]
            dimension = store.header.identity.dimension
            data = _exactly(vectors, 4 * dimension * len(some))
            matrix: Matrix = np.frombuffer(data, "<f4").reshape(len(some), dimension).astype(np.float32)
            contexts = [lexical_context(document, each) for each in some]
            store.stage_chunks(ticket, some, contexts, matrix, [_digest(each) for each in some])
    except BaseException:
        store.discard([ticket])
        raise
    store.commit([ticket])


class _Naming:
    """Name the member and the line of what is wrong inside."""

    def __init__(self, member: str, line: int) -> None:
        self._where = f"line {line} of {member}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, InputError):
            raise InputError(f"{self._where}: {error}") from error
        if isinstance(error, _UNREADABLE):
            raise InputError(f"{self._where}: {type(error).__name__}: {error}") from error


def _digest(chunk: Chunk) -> bytes:
    return encoding_digest(encoded_text(chunk.headings, chunk.text, chunk.before, chunk.after))


def _exactly(member: IO[bytes], size: int) -> bytes:
    parts: list[bytes] = []
    missing = size
    while missing:
        block = member.read(missing)
        if not block:
            raise EOFError(f"{_VECTORS} is too short")
        parts.append(block)
        missing -= len(block)
    return b"".join(parts)


def _record(value: StoredDocument | Chunk) -> dict[str, Any]:
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: Any) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return dict(value) if hasattr(value, "keys") else value
