"""Reading sources into an index: what is new, what changed, what is as it was, what is gone."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.errors import InputError, LoadError, NoTextError
from pincite.indexing import AddListener, Batch
from pincite.loaders.ids import content_hash
from pincite.protocols import Source
from pincite.sources import Found, find_files
from pincite.types import (
    BUILT_IN_FIELDS,
    VALIDITY_FIELDS,
    AddReport,
    Document,
    FileOutcome,
    MetadataValue,
    StoredDocument,
    StoredSource,
)
from pincite.validity import day, today, with_days

if TYPE_CHECKING:
    from pincite.protocols import Chunker, Encoder, Reader, Store

__all__ = ["Adding", "Given", "file_uri"]


@dataclass(frozen=True, slots=True)
class Given:
    """What whoever adds documents says of them all. It wins over what they say of themselves."""

    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    valid_from: str = ""  #: first day in force of what is new or changed, ISO 8601; empty: not said
    valid_to: str = ""  #: last day

    @classmethod
    def checked(
        cls,
        metadata: Mapping[str, MetadataValue] | None,
        valid_from: str | None,
        valid_to: str | None = None,
    ) -> Given:
        """Raises InputError for a field that every document has already, and for what is no day."""
        named, _ = with_days(metadata or {})
        if taken := sorted(BUILT_IN_FIELDS & set(named)):
            raise InputError(f"metadata cannot be named {taken[0]!r}: every document has a field of this name already")
        for name in VALIDITY_FIELDS:
            if metadata and name in metadata:
                day(str(metadata[name]), name)
        first = day(valid_from, "valid_from") if valid_from else ""
        last = day(valid_to, "valid_to") if valid_to else ""
        return cls(named, first, last)

    def of(self, metadata: Mapping[str, MetadataValue]) -> dict[str, MetadataValue]:
        """The metadata of a document that says `metadata` of itself."""
        days = zip(VALIDITY_FIELDS, (self.valid_from, self.valid_to), strict=True)
        return {**metadata, **self.metadata, **{name: value for name, value in days if value}}


@dataclass(frozen=True, slots=True)
class Adding:
    """The parts that reading into an index takes. One at a time adds."""

    store: Store
    encoder: Encoder
    chunker: Chunker
    reader: Reader
    recipe: str = ""  #: names how chunks are cut; a document added under another recipe is cut again
    reading: str = ""  #: names how files are read; a file read another way is read again
    max_file_bytes: int = 512_000_000

    def add_files(self, names: Sequence[str | Path], given: Given, listener: AddListener | None = None) -> AddReport:
        """See `pincite.pipeline.Pipeline.add`."""
        found = list(find_files(names))
        sources = (_passed_over(each) if each.reason else self._source(each.path) for each in found)
        return self.add(sources, len(found), given, listener)

    def add(
        self,
        sources: Iterable[Source | FileOutcome],
        total: int,
        given: Given,
        listener: AddListener | None = None,
        *,
        redate: bool = True,
        gone: Sequence[StoredDocument] = (),
        on: str = "",
    ) -> AddReport:
        """Read sources one after the other; documents `gone` are removed with the last of them, from the day `on`.

        Without `redate`, a source that is as it was keeps its days whatever is given. A document that is gone, and
        whose bytes are those of a new one, has moved.
        """
        started = time.perf_counter()
        listener = listener or AddListener()
        listener.found(total)
        outcomes: list[FileOutcome] = []
        batch = Batch(self.store, self.encoder, self.recipe, listener, outcomes, on)
        moves = _Moves(gone)
        try:
            for source in sources:
                if isinstance(source, FileOutcome):
                    batch.report(source)
                    continue
                listener.reading(source.uri)
                try:
                    self._add_one(source, given, batch, redate, moves)
                except LoadError as error:
                    # What was indexed of an earlier version stays: a file that cannot be read just now is not gone.
                    batch.report(_skipped(source.uri, error.reason, str(error)))
            for document in gone:
                batch.remove(document.id, moves.outcome(document))
            batch.flush()
        except BaseException:
            batch.abandon()
            raise
        return AddReport(tuple(outcomes), time.perf_counter() - started, batch.encoded)

    def _add_one(self, source: Source, given: Given, batch: Batch, redate: bool, moves: _Moves) -> None:
        if batch.holds(source.uri):
            batch.flush()  # named twice in one run: the second is compared with the first
        olds = {each.id: each for each in self.store.documents_of(source.uri)}
        record = StoredSource(source.uri, _hash(source), self.reading, self.recipe)
        if self.store.find_source(source.uri) == record and all(_says(old, given, redate) for old in olds.values()):
            batch.report(_unchanged(source, list(olds.values())))
            return
        kept: set[str] = set()
        complete = True
        for item in self.reader.read(source):
            skipped = None if isinstance(item, Document) else item
            if isinstance(item, Document):
                if item.id in kept:
                    skipped = _skipped(item.uri, "duplicate", "its source has two of this name")
                else:
                    kept.add(item.id)
                    skipped = self._put(item, source, olds.get(item.id), given, batch, redate, moves)
            if skipped is not None:
                complete = False
                batch.report(skipped)
                # What was read of it before stays.
                kept |= {old.id for old in olds.values() if old.uri == skipped.uri}
        for old in olds.values():
            if old.id not in kept:
                batch.remove(old.id, FileOutcome(old.uri, "removed", old.id, old.version))
        # A source with something that could not be read is read again, and says so again.
        batch.end_source(record if complete else None)

    def _put(
        self,
        loaded: Document,
        source: Source,
        old: StoredDocument | None,
        given: Given,
        batch: Batch,
        redate: bool,
        moves: _Moves,
    ) -> FileOutcome | None:
        """Put a document that is new or changed into the batch. What to tell of it where that is not possible."""
        origin = moves.origin(loaded) if old is None else None
        # What was said of it when it was added under its old address still holds.
        said = {**origin.metadata, **loaded.metadata} if origin is not None else loaded.metadata
        metadata, doubts = with_days(given.of(said))
        document = replace(
            loaded, version=self.store.next_version(loaded.id), metadata=metadata, warnings=loaded.warnings + doubts
        )
        if old is not None and self._is_the_same(document, old, redate):
            batch.report(FileOutcome(old.uri, "unchanged", old.id, old.version, old.chunks))
            return None
        warnings = document.warnings
        if old is not None:
            warnings += _lost(old, document)
        chunks = list(self.chunker.chunk(document))
        if not chunks:
            return _skipped(document.uri, NoTextError.reason, "nothing to index: it holds no text")
        batch.put(
            document,
            chunks,
            FileOutcome(
                document.uri,
                "updated" if old is not None else "moved" if origin is not None else "added",
                document.id,
                document.version,
                len(chunks),
                detail=f"from {origin.uri}" if origin is not None else "",
                warnings=warnings,
            ),
            source=source.uri,
            # What moved was in force under its old address until now.
            starts=None if origin is None else batch.on or today(),
        )
        return None

    def _is_the_same(self, document: Document, old: StoredDocument, redate: bool) -> bool:
        if (old.content_hash, old.recipe) != (document.content_hash, self.recipe):
            return False
        stored = self.store.get_document(old.id, old.version)
        if stored is None:
            return False
        if not redate:
            document = replace(document, metadata=_with_days_of(stored.metadata, document.metadata))
        return replace(document, version=stored.version, warnings=()) == replace(stored, warnings=())

    def _source(self, path: Path) -> Source | FileOutcome:
        uri = file_uri(path)
        try:
            size = path.stat().st_size
        except OSError as error:
            return _skipped(uri, "unreadable", error.strerror or str(error))
        if size > self.max_file_bytes:
            detail = f"{size / 1e6:.0f} MB, the limit is {self.max_file_bytes / 1e6:.0f} MB (load.max_file_mb)"
            return _skipped(uri, "too-large", detail)
        return Source(uri=uri, name=path.name, path=path)

    # Making the index equal to a folder

    def sync(
        self,
        folder: Path,
        given: Given,
        listener: AddListener | None = None,
        *,
        dry_run: bool = False,
        remove_all: bool = False,
    ) -> AddReport:
        """See `pincite.pipeline.Pipeline.sync`."""
        if not folder.is_dir():
            raise InputError(f"{str(folder)!r} is not a folder: sync makes the index equal to a folder")
        found = list(find_files([folder]))
        here = {file_uri(each.path) for each in found}
        below = file_uri(folder).rstrip(os.sep) + os.sep
        known = [each for each in self.store.documents() if each.source.startswith(below)]
        # One that was named itself, in a folder that is passed over, is still there.
        # Nobody can say what is in a folder that cannot be looked into.
        closed = tuple(file_uri(each.path) + os.sep for each in found if each.reason == "unreadable")
        gone = [
            each
            for each in known
            if each.source not in here and not each.source.startswith(closed) and not os.path.lexists(each.source)
        ]
        if gone and all(each.reason for each in found) and not remove_all:
            raise InputError(
                f"{folder} is empty, and the index has {len(gone)} documents from it: is the disk mounted? "
                "If they are to be removed, say --remove-all"
            )
        sources = (_passed_over(each) if each.reason else self._source(each.path) for each in found)
        if dry_run:
            return self._foresee(sources, gone, given)
        return self.add(sources, len(found), given, listener, redate=False, gone=gone, on=given.valid_from)

    def _foresee(
        self, sources: Iterable[Source | FileOutcome], gone: Sequence[StoredDocument], given: Given
    ) -> AddReport:
        """What `add` would do, by the bytes of the sources alone: none is read by a loader, nothing is written."""
        started = time.perf_counter()
        moves = _Moves(gone)
        outcomes: list[FileOutcome] = []
        for source in sources:
            if isinstance(source, FileOutcome):
                outcomes.append(source)
                continue
            try:
                record = StoredSource(source.uri, _hash(source), self.reading, self.recipe)
            except LoadError as error:
                outcomes.append(_skipped(source.uri, error.reason, str(error)))
                continue
            olds = self.store.documents_of(source.uri)
            if self.store.find_source(source.uri) == record and all(_says(old, given, False) for old in olds):
                outcomes.append(_unchanged(source, olds))
            elif olds:
                outcomes.append(FileOutcome(source.uri, "updated", olds[0].id))
            else:
                origin = moves.origin_of(record.content_hash)
                detail = f"from {origin.uri}" if origin is not None else ""
                outcomes.append(FileOutcome(source.uri, "added" if origin is None else "moved", detail=detail))
        outcomes += [moves.outcome(document) for document in gone]
        return AddReport(tuple(outcomes), time.perf_counter() - started)


class _Moves:
    """Documents that are gone, by their bytes: a new one with the same bytes is one of them at another address."""

    def __init__(self, gone: Sequence[StoredDocument]) -> None:
        self._gone: dict[str, list[StoredDocument]] = {}
        for document in gone:
            self._gone.setdefault(document.content_hash, []).append(document)
        self._moved: set[str] = set()

    def origin(self, document: Document) -> StoredDocument | None:
        return self.origin_of(document.content_hash)

    def origin_of(self, digest: str) -> StoredDocument | None:
        """One that is gone and had these bytes, each once."""
        waiting = self._gone.get(digest)
        if not waiting:
            return None
        found = waiting.pop(0)
        self._moved.add(found.id)
        return found

    def outcome(self, document: StoredDocument) -> FileOutcome:
        """What is told of one that is gone."""
        detail = "its text has moved" if document.id in self._moved else ""
        return FileOutcome(document.uri, "removed", document.id, document.version, detail=detail)


def file_uri(path: Path) -> str:
    """The address of a file, its document's identity: one for every spelling of its path, links followed."""
    return os.path.realpath(path)


def _passed_over(found: Found) -> FileOutcome:
    # A name that is not text (it is why some are passed over) is shown with escapes.
    name = os.fsencode(found.path.absolute()).decode("utf-8", "backslashreplace")
    return _skipped(name, found.reason, found.detail)


def _hash(source: Source) -> str:
    """SHA-256 of a source's bytes in hex; a file is not held in memory for it. Raises LoadError."""
    try:
        if source.path is None:
            return content_hash(source.data)
        digest = hashlib.sha256()
        with open(source.path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()
    except OSError as error:
        raise LoadError(error.strerror or str(error)) from error


def _says(old: StoredDocument, given: Given, redate: bool) -> bool:
    """Whether a stored document has the metadata that is given now."""
    wanted = given.of({}) if redate else {k: v for k, v in given.metadata.items() if k not in VALIDITY_FIELDS}
    return all(old.metadata.get(name) == value for name, value in wanted.items())


def _with_days_of(
    stored: Mapping[str, MetadataValue], metadata: Mapping[str, MetadataValue]
) -> dict[str, MetadataValue]:
    """`metadata` with the days of validity of `stored`."""
    days = {name: stored[name] for name in VALIDITY_FIELDS if name in stored}
    return {**{name: value for name, value in metadata.items() if name not in VALIDITY_FIELDS}, **days}


def _lost(old: StoredDocument, new: Document) -> tuple[str, ...]:
    """What to say of an update that lacks what the old version had, or that is older than it by its own word."""
    warnings = []
    if gone := sorted(set(old.metadata) - set(new.metadata) - set(VALIDITY_FIELDS)):
        warnings.append(f"the new version lacks the metadata {', '.join(gone)}: give it again if it still holds")
    first = str(new.metadata.get("valid_from", ""))
    if first and first < old.starts:
        warnings.append(
            f"it is in force from {first}, before version {old.version} ({old.starts}), and is the current one now: "
            "add texts in the order of their days"
        )
    return tuple(warnings)


def _skipped(uri: str, reason: str, detail: str) -> FileOutcome:
    return FileOutcome(uri, "skipped", reason=reason, detail=detail)


def _unchanged(source: Source, olds: Sequence[StoredDocument]) -> FileOutcome:
    if len(olds) == 1:
        return FileOutcome(olds[0].uri, "unchanged", olds[0].id, olds[0].version, olds[0].chunks)
    return FileOutcome(source.uri, "unchanged", chunks=sum(each.chunks for each in olds))
