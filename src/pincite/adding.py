"""Reading sources into an index: what is new, what changed, what is as it was, what is gone."""

from __future__ import annotations

import hashlib
import os
import stat
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
from pincite.trust import check_level
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

__all__ = ["NO_TESSERACT", "Adding", "Given", "Moves", "file_uri", "passed_over", "skipped_outcome", "unchanged"]

#: What `Adding.reading` ends with where scans are not read because there is nothing to read them with.
NO_TESSERACT = ", no tesseract"


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
        """Raises InputError for a field that every document has already, and for what is no day or level of trust."""
        named, _ = with_days(metadata or {})
        if taken := sorted(BUILT_IN_FIELDS & set(named)):
            raise InputError(f"metadata cannot be named {taken[0]!r}: every document has a field of this name already")
        for name in VALIDITY_FIELDS:
            if metadata and name in metadata:
                day(str(metadata[name]), name)
        if "trust" in named:
            named = {**named, "trust": check_level(str(named["trust"]))}
        first = day(valid_from, "valid_from") if valid_from else ""
        last = day(valid_to, "valid_to", end=True) if valid_to else ""
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
        sources = (passed_over(each) if each.reason else self.source(each.path) for each in found)
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
        batch = Batch(self.store, self.encoder, self.recipe, listener, outcomes, on or given.valid_from)
        moves = Moves(gone)
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
                    batch.report(skipped_outcome(source.uri, error.reason, str(error)))
            for document in moves.left:
                # It may have come back since it was missed; the next run then reads it.
                if not os.path.isfile(document.source):
                    batch.remove(document.id, moves.outcome(document, batch.on))
            batch.flush()
        except BaseException:
            batch.abandon()
            raise
        return AddReport(tuple(outcomes), time.perf_counter() - started, batch.encoded)

    def record(self, source: Source) -> StoredSource:
        """The source as it is now. Raises LoadError where it cannot be read."""
        return StoredSource(source.uri, _hash(source), self.reading, self.recipe)

    def is_as_it_was(self, record: StoredSource, olds: Sequence[StoredDocument], given: Given, *, redate: bool) -> bool:
        """Whether nothing would come of reading a source again, of which `olds` are the current documents."""
        known = self.store.find_source(record.uri)
        if known is None or not olds:
            return False
        # What was read with OCR is not read again without, only because Tesseract is not found just now.
        readings = {record.reading, record.reading.removesuffix(NO_TESSERACT)}
        if known.reading not in readings or replace(known, reading=record.reading) != record:
            return False
        return all(_says(old, given, redate) for old in olds)

    def _add_one(self, source: Source, given: Given, batch: Batch, redate: bool, moves: Moves) -> None:
        if batch.holds(source.uri):
            batch.flush()  # named twice in one run: the second is compared with the first
        olds = {each.id: each for each in self.store.documents_of(source.uri)}
        looks = _looks(source)
        record = self.record(source)
        if self.is_as_it_was(record, list(olds.values()), given, redate=redate):
            batch.report(unchanged(source, list(olds.values())))
            return
        kept: set[str] = set()
        complete = True
        for item in self.reader.read(source):
            if looks != _looks(source):
                break
            skipped = None if isinstance(item, Document) else item
            if isinstance(item, Document):
                if item.id in kept:
                    skipped = skipped_outcome(item.uri, "duplicate", "its source has two of this name")
                else:
                    kept.add(item.id)
                    skipped = self._put(item, source, olds.get(item.id), given, batch, redate, moves)
            if skipped is not None:
                complete = False
                batch.report(skipped)
                # What was read of it before stays, with all that it holds.
                kept |= {old.id for old in olds.values() if _is_of(old.uri, skipped.uri)}
        if looks != _looks(source):
            batch.report(skipped_outcome(source.uri, "changed", "it changed while it was read: run this again"))
            batch.end_source()
            return
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
        moves: Moves,
    ) -> FileOutcome | None:
        """Put a document that is new or changed into the batch. What to tell of it where that is not possible."""
        if old is None and self._is_of_another(loaded, source, batch):
            return skipped_outcome(loaded.uri, "duplicate", "another file has a document of this address")
        origin = moves.origin(loaded) if old is None else None
        # The same bytes, under another address or read another way: what was said of them still holds.
        same = origin or (old if old is not None and old.content_hash == loaded.content_hash else None)
        # How far a document is trusted is said by who adds it, not by the document.
        own = {name: value for name, value in loaded.metadata.items() if name != "trust"}
        said = {**same.metadata, **own} if same is not None else own
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
        if origin is not None and chunks:
            batch.remove(origin.id, moves.outcome(origin, batch.on))
        if not chunks:
            return skipped_outcome(document.uri, NoTextError.reason, "nothing to index: it holds no text")
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
            starts=_starts(document, old, origin, batch.on),
        )
        return None

    def _is_of_another(self, document: Document, source: Source, batch: Batch) -> bool:
        """Whether the address is one that another source gave, now or before: ``a.zip#b`` may also be a file."""
        found = self.store.find(document_id=document.id)
        return batch.holds(document.id) or (found is not None and found.source != source.uri)

    def _is_the_same(self, document: Document, old: StoredDocument, redate: bool) -> bool:
        if (old.content_hash, old.recipe) != (document.content_hash, self.recipe):
            return False
        stored = self.store.get_document(old.id, old.version)
        if stored is None:
            return False
        if not redate:
            document = replace(document, metadata=_with_days_of(stored.metadata, document.metadata))
        return replace(document, version=stored.version, warnings=()) == replace(stored, warnings=())

    def source(self, path: Path) -> Source | FileOutcome:
        """A file to read, or what is told of one that is not."""
        uri = file_uri(path)
        try:
            size = path.stat().st_size
        except OSError as error:
            return skipped_outcome(uri, "unreadable", error.strerror or str(error))
        if size > self.max_file_bytes:
            detail = f"{size / 1e6:.0f} MB, the limit is {self.max_file_bytes / 1e6:.0f} MB (load.max_file_mb)"
            return skipped_outcome(uri, "too-large", detail)
        return Source(uri=uri, name=path.name, path=path)


class Moves:
    """Documents that are gone, by their bytes: a new one with the same bytes is one of them at another address."""

    def __init__(self, gone: Sequence[StoredDocument]) -> None:
        self._gone: dict[str, list[StoredDocument]] = {}
        for document in gone:
            self._gone.setdefault(document.content_hash, []).append(document)
        self._moved: set[str] = set()

    def origin(self, document: Document) -> StoredDocument | None:
        """One that is gone and had the bytes of a new document; see `origin_of`."""
        return self.origin_of(document.content_hash, document.uri)

    def origin_of(self, digest: str, uri: str) -> StoredDocument | None:
        """One that is gone and had these bytes, each once; of several one with the file name of the new address."""
        waiting = self._gone.get(digest)
        if not waiting:
            return None
        name = os.path.basename(uri)
        found = next((each for each in waiting if os.path.basename(each.uri) == name), waiting[0])
        waiting.remove(found)
        self._moved.add(found.id)
        return found

    @property
    def left(self) -> list[StoredDocument]:
        """Those that are gone and nowhere else."""
        return [each for waiting in self._gone.values() for each in waiting]

    def outcome(self, document: StoredDocument, on: str = "") -> FileOutcome:
        """What is told of one that is gone, from the day `on`."""
        detail = "its text has moved" if document.id in self._moved else ""
        warnings: tuple[str, ...] = ()
        if on and on < document.starts:
            warnings = (f"removed from {on}, before it begins on {document.starts}: it is in force on no day",)
        return FileOutcome(document.uri, "removed", document.id, document.version, detail=detail, warnings=warnings)


def file_uri(path: Path) -> str:
    """The address of a file, its document's identity: one for every spelling of its path, links followed."""
    return os.path.realpath(path)


def passed_over(found: Found) -> FileOutcome:
    """What is told of something that is not read."""
    # A name that is not text (it is why some are passed over) is shown with escapes.
    name = os.fsencode(found.path.absolute()).decode("utf-8", "backslashreplace")
    return skipped_outcome(name, found.reason, found.detail)


def _hash(source: Source) -> str:
    """SHA-256 of a source's bytes in hex; a file is not held in memory for it. Raises LoadError."""
    try:
        if source.path is None:
            return content_hash(source.data)
        digest = hashlib.sha256()
        # A pipe that took the place of a file would be waited for.
        with open(
            os.open(source.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb"
        ) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise LoadError("not a regular file")
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()
    except OSError as error:
        raise LoadError(error.strerror or str(error)) from error


def _looks(source: Source) -> tuple[int, ...]:
    """What tells a file that changed from one that did not without reading it; empty where there is no file."""
    if source.path is None:
        return ()
    try:
        found = source.path.stat()
    except OSError:
        return (0,)
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _is_of(uri: str, other: str) -> bool:
    """Whether an address is the other or of something in it: a part, a member, a part of a member."""
    return uri == other or uri.startswith((f"{other}#", f"{other}/"))


def _starts(document: Document, old: StoredDocument | None, origin: StoredDocument | None, on: str) -> str | None:
    """From which day a version is in force, where that is not its own `valid_from`, else the day it is recorded."""
    if origin is not None:  # it was in force under its old address until now
        return on or today()
    first = document.metadata.get("valid_from")
    if old is None:
        return None
    if first == old.metadata.get("valid_from") and (first or old.content_hash == document.content_hash):
        return old.starts  # what was corrected or read another way is in force since when that was
    # What takes the place of a text that is not yet in force is not in force before it.
    return None if first else max(old.starts, today())


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
    if gone := sorted(set(old.metadata) - set(new.metadata) - {"valid_from"}):
        warnings.append(f"the new version lacks the metadata {', '.join(gone)}: give it again if it still holds")
    first = str(new.metadata.get("valid_from", ""))
    if first and first < old.starts:
        warnings.append(
            f"it is in force from {first}, before version {old.version} ({old.starts}), and is the current one now: "
            "add texts in the order of their days"
        )
    return tuple(warnings)


def skipped_outcome(uri: str, reason: str, detail: str) -> FileOutcome:
    """What is told of something that could not be read."""
    return FileOutcome(uri, "skipped", reason=reason, detail=detail)


def unchanged(source: Source, olds: Sequence[StoredDocument]) -> FileOutcome:
    """What is told of a source that is as it was."""
    if len(olds) == 1:
        return FileOutcome(olds[0].uri, "unchanged", olds[0].id, olds[0].version, olds[0].chunks)
    return FileOutcome(source.uri, "unchanged", chunks=sum(each.chunks for each in olds))
