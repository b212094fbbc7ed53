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
    there are, and the ``sha256`` of each other member. Written last: a file without it was cut off.

Writing takes the calls of the store's protocol alone, so an index can be written while others change it: what the file
holds is what was kept when it began.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pincite.chunkers.context import encoded_text
from pincite.errors import InputError, PinciteError
from pincite.indexing import AddListener, encoding_digest, lexical_context
from pincite.loaders.records import document_record, read_document
from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.types import Chunk, StoredDocument, StoredSource

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
    listed = store.history()
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
            member.line(
                {
                    "document": document_record(document),
                    "stored": _record(stored),
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
        for source in store.sources():
            member.line(asdict(source))
    chunks = sum(len(chunk_ids) for _, chunk_ids in names)
    manifest = {
        "format": FORMAT,
        "header": asdict(store.header),
        "versions": len(names),
        "chunks": chunks,
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


def import_store(path: Path, create: Callable[[StoreHeader], Store], listener: AddListener | None = None) -> Portable:
    """Write what the file at `path` holds into the empty store that `create` makes with its header.

    Nothing is encoded, and the store is closed. Raises InputError for a file that is no such file, was cut off or
    changed; what the store then holds is of no use.
    """
    listener = listener or AddListener()
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive, path)
            _check_hashes(archive, manifest, path)
            header = StoreHeader(
                **{
                    **manifest["header"],
                    "identity": EncoderIdentity(**manifest["header"]["identity"]),
                    "probes": tuple(tuple(each) for each in manifest["header"]["probes"]),
                }
            )
            listener.found(manifest["versions"])
            with (
                closing(create(header)) as store,
                archive.open(_VERSIONS) as versions,
                archive.open(_VECTORS) as vectors,
                archive.open(_SOURCES) as sources,
            ):
                current = sum(_read_version(json.loads(line), vectors, store, listener) for line in _lines(versions))
                store.commit([], sources=[StoredSource(**json.loads(line)) for line in _lines(sources)])
    except PinciteError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, EOFError, NotImplementedError) as error:
        raise InputError(f"{path} is no export of pincite, or is damaged: {type(error).__name__}: {error}") from error
    return Portable(current, manifest["versions"], manifest["chunks"], path.stat().st_size)


def _manifest(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    if _MANIFEST not in archive.namelist():
        raise InputError(f"{path} is no export of pincite, or was cut off: it has no {_MANIFEST}")
    if archive.getinfo(_MANIFEST).file_size > _LONGEST_LINE:
        raise InputError(f"{path} is no export of pincite: its {_MANIFEST} is too long")
    manifest: dict[str, Any] = json.loads(archive.read(_MANIFEST))
    if manifest["format"] != FORMAT:
        raise InputError(f"{path} has format {manifest['format']}, this pincite reads format {FORMAT}")
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


def _read_version(record: dict[str, Any], vectors: IO[bytes], store: Store, listener: AddListener) -> bool:
    """Put one version into the store. Whether it is the current one."""
    import numpy as np

    document = read_document(record["document"])
    stored = StoredDocument(**{**record["stored"], "warnings": tuple(record["stored"]["warnings"])})
    listener.reading(document.uri)
    chunks = [_chunk(each, document.id, document.version, document.text) for each in record["chunks"]]
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
    return stored.current


def _chunk(record: dict[str, Any], document_id: str, version: int, text: str) -> Chunk:
    start, end, ordinal = record["start"], record["end"], record["ordinal"]
    parent = record["parent"]
    return Chunk(
        **{
            **record,
            "id": f"{document_id}.{version}.{ordinal}",
            "document_id": document_id,
            "version": version,
            "text": text[start:end],
            "headings": tuple(record["headings"]),
            "parent": None if parent is None else (parent[0], parent[1]),
        }
    )


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
