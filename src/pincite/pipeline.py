"""The main job: add documents, search them, answer from them. Parts are given, nothing here reads configuration."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.abstaining import Abstaining, told_scope
from pincite.adding import Adding, Given, file_uri
from pincite.answering import NO_EVIDENCE, UNREAD, Answering
from pincite.assemble import Layout
from pincite.errors import BackendError, InputError, PinciteError
from pincite.followups import stand_alone, with_earlier
from pincite.identity import check_identity, check_probes
from pincite.indexing import AddListener, Batch, Telling, encode_chunks
from pincite.protocols import Source
from pincite.reading import POOL, arrange, forget
from pincite.retrieve import Fusion, Mode, retrieve
from pincite.store.copies import copies
from pincite.support.lexical import LexicalSupport
from pincite.suspicion import suspicion
from pincite.syncing import sync_folder
from pincite.trust import Trust
from pincite.types import (
    VALIDITY_FIELDS,
    AddReport,
    Answer,
    Document,
    FileOutcome,
    Filter,
    Message,
    MetadataValue,
    PointInTime,
    SearchResult,
    StoredDocument,
    StoredSource,
)
from pincite.validity import day, point_in_time

if TYPE_CHECKING:
    from pincite import protocols
    from pincite.calibration import Calibration
    from pincite.protocols import Chunker, Encoder, Matrix, Reader, Reranker, Store, SupportScorer
    from pincite.types import Chunk, Passage

__all__ = ["Options", "Pipeline"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the pipeline needs to know beyond its parts."""

    k: int = 10
    mode: Mode = "hybrid"
    depth: int = 200
    fusion: Fusion = "zscore"
    dense_weight: float = 0.45
    rrf_k: int = 10
    merge: int = 3000  #: most characters of a passage made of neighbours, see `pincite.reading.arrange`; 0: none
    per_document: int = 0  #: most passages of one document; 0: no cap
    answer_passages: int = 5
    layout: Layout = field(default_factory=Layout)  #: of prompts for models that follow instructions
    calibration: Calibration | None = None  #: makes evidence a probability; None: nothing is refused for want of it
    least_confidence: float | None = None  #: from which on an answer is given; None: the calibration's own
    steering: Trust = field(default_factory=Trust)  #: whose words answers are made from
    max_file_bytes: int = 512_000_000
    recipe: str = ""  #: names how chunks are cut; a document added under another recipe is cut again
    reading: str = ""  #: names how files are read; a file read another way is read again

    @property
    def prompt_tokens(self) -> int:
        """Of an assembled prompt: the context window less the answer."""
        return self.layout.budget - self.layout.answer


class Pipeline:
    """Documents in, checked answers out. Any thread may search and ask; one at a time adds."""

    def __init__(
        self,
        *,
        store: Store,
        encoder: Encoder,
        chunker: Chunker,
        reader: Reader,
        generator: Callable[[], protocols.Generator],
        options: Options | None = None,
        reranker: Reranker | None = None,
        support: SupportScorer | None = None,
    ) -> None:
        self.store = store
        self.encoder = encoder
        self.chunker = chunker
        self.reader = reader
        self.options = options or Options()
        self.reranker = reranker
        self.support = support or LexicalSupport(encoder)
        self._make_generator = generator
        self._generator: protocols.Generator | None = None
        self._making = threading.Lock()
        self._probed = False
        check_identity(store, encoder)

    @property
    def generator(self) -> protocols.Generator:
        """Made at the first question, once."""
        with self._making:
            if self._generator is None:
                self._generator = self._make_generator()
            return self._generator

    # Adding and removing

    def add(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        metadata: Mapping[str, MetadataValue] | None = None,
        valid_from: str | None = None,
        valid_to: str | None = None,
        listener: AddListener | None = None,
    ) -> AddReport:
        """Index files, folders and patterns. Every file ends as added, updated, unchanged or skipped with a reason.

        One file that cannot be read never stops the run. A file whose bytes, metadata and recipe are as before is
        left alone; of one that changed a new version is made, and the old one is kept as far as the settings say. Text
        that was encoded before is not encoded again. Documents become visible in batches, each whole; when this is
        interrupted those told to the listener are in, the rest are not, and running it again does the rest.
        `valid_from` and `valid_to` are the first and the last day on which these versions are in force, ISO 8601.
        Raises InputError for a name that matches nothing, before anything is read.
        """
        names = [paths] if isinstance(paths, str | Path) else list(paths)
        given = Given.checked(metadata, valid_from, valid_to)
        return self._noted("add", listener, lambda told: self._adding().add_files(names, given, told))

    def add_text(
        self,
        data: bytes | str,
        *,
        name: str,
        metadata: Mapping[str, MetadataValue] | None = None,
        valid_from: str | None = None,
        valid_to: str | None = None,
        listener: AddListener | None = None,
    ) -> AddReport:
        """Index one document that is not a file. `name` is its identity, and its suffix says what it is."""
        raw = data.encode("utf-8") if isinstance(data, str) else data
        return self.add_sources(
            [Source(uri=f"stdin:{name}", name=name, data=raw)],
            metadata=metadata,
            valid_from=valid_from,
            valid_to=valid_to,
            listener=listener,
        )

    def add_sources(
        self,
        sources: Sequence[Source],
        *,
        metadata: Mapping[str, MetadataValue] | None = None,
        valid_from: str | None = None,
        valid_to: str | None = None,
        listener: AddListener | None = None,
        command: str = "add",
    ) -> AddReport:
        """Index what is no file, as `add` does; `command` is what the log calls it."""
        given = Given.checked(metadata, valid_from, valid_to)
        return self._noted(command, listener, lambda told: self._adding().add(sources, len(sources), given, told))

    def sync(
        self,
        folder: str | Path,
        *,
        metadata: Mapping[str, MetadataValue] | None = None,
        valid_from: str | None = None,
        listener: AddListener | None = None,
        dry_run: bool = False,
        remove_all: bool = False,
    ) -> AddReport:
        """Make the index equal to a folder: what is new or changed is added, what is gone is removed.

        A file that is gone and stands, with the same bytes, under another name has moved. One that is there and cannot
        be read keeps the version that was read. `valid_from` is the day from which what is new or changed is in force,
        and what is gone no longer is, ISO 8601; else that is today. With `dry_run` nothing is written and no file is
        more than looked at: the report says what would be done. Raises InputError when `folder` is none, and when
        it is empty but the index has documents from it, or when more than half of many are gone, unless `remove_all`
        says that this is meant.
        """
        given = Given.checked(metadata, valid_from)
        path = Path(os.path.expanduser(folder))

        def run(told: AddListener | None) -> AddReport:
            return sync_folder(self._adding(), path, given, told, dry_run=dry_run, remove_all=remove_all)

        return run(listener) if dry_run else self._noted("sync", listener, run)

    def _adding(self) -> Adding:
        self._check_probes()
        return Adding(
            store=self.store,
            encoder=self.encoder,
            chunker=self.chunker,
            reader=self.reader,
            recipe=self.options.recipe,
            reading=self.options.reading,
            max_file_bytes=self.options.max_file_bytes,
        )

    def _noted(self, command: str, listener: AddListener | None, run: Callable[[AddListener], AddReport]) -> AddReport:
        """The report of a run, kept in the index as well; of one that is cut off what it came to."""
        told = Telling(listener or AddListener())
        started = time.perf_counter()
        with self.store.writing():
            try:
                report = run(told)
            except BaseException:
                if told.outcomes:
                    so_far = AddReport(tuple(told.outcomes), time.perf_counter() - started)
                    with suppress(PinciteError):
                        self.store.note_run(f"{command} (cut off)", so_far)
                raise
            self.store.note_run(command, report)
        return report

    def remove(self, document: str | Path, *, on: str | None = None) -> StoredDocument:
        """Remove a document, named by its id (or the beginning of one) or its path. Returns what was removed.

        It can be found in no leg when this returns, but by who asks for a point in time before the day `on` (today);
        see `purge`. Raises InputError if there is none, or several match.
        """
        with self.store.writing():
            found = self.resolve(document)
            known = self.store.find_source(found.source)
            # A file that holds more than this is read again by the next `sync`, as one that holds this alone is.
            again = [] if known is None else [replace(known, reading=_reads_again("removed", known))]
            self.store.commit([], remove=[found.id], on=day(on, "on") if on else "", sources=again)
            gone = FileOutcome(found.uri, "removed", found.id, found.version)
            self.store.note_run("remove", AddReport((gone,), 0.0))
        return found

    def repair(self) -> list[str]:
        """Mend what `Store.check` finds wrong, from the text that the index keeps. What was wrong, in words.

        Versions whose chunks or vectors are not as they must be are cut and encoded anew.
        """
        self._check_probes()

        def rewrite(document: Document) -> tuple[Sequence[Chunk], Sequence[str], Matrix, Sequence[bytes]]:
            chunks = list(self.chunker.chunk(document))
            return (chunks, *encode_chunks(document, chunks, self.encoder))

        with self.store.writing():
            return self.store.repair(rewrite, self.options.recipe)

    # Versions

    def history(self, document: str | Path) -> list[StoredDocument]:
        """Every version of a document that is kept, oldest first; also of a removed one. Named as for `resolve`."""
        return self.store.history(self.resolve(document, removed=True).id)

    def restore(self, document: str | Path, version: int, *, valid_from: str | None = None) -> StoredDocument:
        """Make the text of an earlier version current again, as a new version. Nothing is encoded that was before.

        It is in force from the day `valid_from`, ISO 8601; from today unless that is given. Raises InputError if that
        version is not kept, or is the current one.
        """
        with self.store.writing():
            return self._restore(document, version, day(valid_from, "valid_from") if valid_from else "")

    def _restore(self, document: str | Path, version: int, first: str) -> StoredDocument:
        found = self.resolve(document, removed=True)
        old = self.store.get_document(found.id, version)
        if old is None:
            kept = ", ".join(str(each.version) for each in self.store.history(found.id))
            raise InputError(f"version {version} of {found.uri} is not kept; there are: {kept}")
        now = self.store.find(document_id=found.id)
        if now is not None and now.version == version:
            raise InputError(f"version {version} of {found.uri} is the current one")
        # From when it is in force again is not what it said of itself then.
        metadata = {name: value for name, value in old.metadata.items() if name not in VALIDITY_FIELDS}
        if first:
            metadata["valid_from"] = first
        document_again = replace(old, version=self.store.next_version(old.id), metadata=metadata)
        outcomes: list[FileOutcome] = []
        batch = Batch(self.store, self.encoder, self.options.recipe, AddListener(), outcomes)
        try:
            chunks = list(self.chunker.chunk(document_again))
            outcome = FileOutcome(
                old.uri, "updated", old.id, document_again.version, len(chunks), detail=f"from version {version}"
            )
            batch.put(document_again, chunks, outcome, source=found.source)
            # `sync` shall see that this is not what the file says.
            reading = _reads_again("restored", self.store.find_source(found.source))
            batch.end_source(StoredSource(found.source, old.content_hash, reading, self.options.recipe))
            batch.flush()
        except BaseException:
            batch.abandon()
            raise
        self.store.note_run("restore", AddReport(tuple(outcomes), 0.0, batch.encoded))
        restored = self.store.find(document_id=found.id)
        assert restored is not None
        return restored

    def purge(self, document: str | Path) -> StoredDocument:
        """Delete a document with every version of it, for good, also from the files on disk. Returns the last of them.

        With it go removed documents with the same bytes: what it was before it moved. A document that is current and
        has the same bytes stays; see `pincite.store.copies`.

        Raises InputError if there is none, or several match.
        """
        with self.store.writing():
            found = self.resolve(document, removed=True)
            others = copies(self.store.history(), found.id).removed
            ids = list(dict.fromkeys([found.id, *(each.id for each in others)]))
            self.store.purge(ids)
            # That it was done is remembered, not of what.
            self.store.note_run(f"purge of {len(ids)}", AddReport((), 0.0))
        forget()
        return found

    # Looking

    def documents(self) -> list[StoredDocument]:
        """Every document, by address."""
        return self.store.documents()

    def resolve(self, document: str | Path, *, removed: bool = False) -> StoredDocument:
        """The document with this id, beginning of an id, path or file name; with `removed`, also one that was removed.

        Raises InputError if that is not exactly one.
        """
        name = str(document)
        for found in (
            self.store.find(document_id=name),
            self.store.find(uri=name),
            self.store.find(uri=f"stdin:{name}"),
        ):
            if found:
                return found
        path = file_uri(Path(name))
        if found := self.store.find(uri=path):
            return found
        everything = self.store.documents()
        if removed:
            latest = {each.id: each for each in self.store.history()}
            everything = list(latest.values())
            exact = [each for each in everything if each.id == name or each.uri in (name, f"stdin:{name}", path)]
            if exact:
                return exact[0]
        matches = [each for each in everything if each.id.startswith(name)] if len(name) >= 4 else []
        matches = matches or [each for each in everything if Path(each.uri).name == name]
        if len(matches) == 1:
            return matches[0]
        if matches:
            listed = ", ".join(f"{each.id} ({each.uri})" for each in matches[:5])
            raise InputError(f"{name!r} names {len(matches)} documents: {listed}")
        if parts := self.store.documents_of(path):
            listed = ", ".join(each.uri for each in parts[:5])
            raise InputError(f"{name!r} holds {len(parts)} documents; name one of them: {listed}")
        raise InputError(f"no document {name!r} in the index; `pincite list` shows what there is")

    def show(self, document: str | Path, version: int | None = None) -> Document:
        """A document with its text, of the current version unless one is given; named as for `resolve`."""
        stored = self.resolve(document, removed=version is not None)
        found = self.store.get_document(stored.id, version)
        if found is None and version is not None:
            kept = ", ".join(str(each.version) for each in self.store.history(stored.id))
            raise InputError(f"version {version} of {stored.uri} is not kept; there are: {kept}")
        if found is None:
            raise InputError(f"the document {document!r} was removed meanwhile")
        return found

    # Asking

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        where: Filter | None = None,
        mode: Mode | None = None,
        as_of: str | None = None,
        as_recorded: str | None = None,
    ) -> SearchResult:
        """The best passages to read for `query`. `where` limits the documents, inside the engine and on every leg.

        So do `as_of`, a day, to the versions that were in force then, and `as_recorded`, a day or a moment, to what the
        index knew then; see `pincite.types.PointInTime`. Without either the current versions are searched.

        Both legs are fused, the reranker (if there is one) reads the first of them again, and what is read together is
        put together: see `pincite.retrieve`, `pincite.protocols.Reranker` and `pincite.reading`. A reranker that fails
        leaves the order as it was, and a note says so. How far the encoder's vocabulary reads the query decides how
        much the dense leg counts in fusion (docs/decisions/0010).
        """
        return self._search(query, k, where, mode, self.options.merge, point_in_time(as_of, as_recorded))

    def _search(
        self,
        query: str,
        k: int | None,
        where: Filter | None,
        mode: Mode | None,
        merge: int,
        at: PointInTime | None,
    ) -> SearchResult:
        options = self.options
        mode = mode or options.mode
        k = options.k if k is None else k
        if not query.strip():
            return SearchResult(query, (), {}, notes=("the query is empty",))
        started = time.perf_counter()
        vector = self._query_vector(query) if mode != "bm25" else None
        read = self.encoder.reads(query) if mode == "hybrid" and options.fusion == "zscore" else 1.0
        encoded = time.perf_counter() - started
        # Neighbours become one passage: more are found than are read.
        pool = k * POOL if merge or options.per_document else k
        result = retrieve(
            self.store,
            query,
            vector,
            k=max(pool, self.reranker.depth if self.reranker else 0),
            mode=mode,
            depth=options.depth,
            fusion=options.fusion,
            dense_weight=options.dense_weight * read**2,
            rrf_k=options.rrf_k,
            where=where,
            at=at,
        )
        notes = list(result.notes)
        if read < UNREAD:
            rest = "words decide" if result.legs.get("bm25") else "what it finds near may be anything"
            notes.append(f"dense: the encoder's vocabulary knows less than half of this query; {rest}")
        timings = {"encode": encoded, **result.timings}
        passages: Sequence[Passage] = result.passages
        if self.reranker is not None:
            started = time.perf_counter()
            try:
                passages, remarks = self.reranker.rerank(query, passages)
                notes.extend(remarks)
            except BackendError as error:
                notes.append(f"{self.reranker.name}: failed, the order is that of the first stage: {error}")
            timings["rerank"] = time.perf_counter() - started
        started = time.perf_counter()
        arranged, remarks = arrange(
            passages,
            k=k,
            document_of=self.store.get_document,
            merge=merge,
            per_document=options.per_document,
        )
        timings["arrange"] = time.perf_counter() - started
        return replace(result, passages=arranged, timings=timings, notes=(*notes, *remarks))

    def ask(
        self,
        question: str,
        *,
        k: int | None = None,
        where: Filter | None = None,
        as_of: str | None = None,
        as_recorded: str | None = None,
        history: Sequence[Message] = (),
    ) -> Answer:
        """Answer from the documents, with checked citations, or abstain and say why. The rest as for `search`.

        `history` is the conversation so far, questions and answers, oldest first: a question that leans on it is made
        to stand alone before anything is searched for (`Answer.searched`), see `pincite.followups`.
        """
        for item in self.stream(question, k=k, where=where, as_of=as_of, as_recorded=as_recorded, history=history):
            if isinstance(item, Answer):
                return item
        raise BackendError("the answer ended without a result")  # pragma: no cover - stream always ends with one

    def stream(
        self,
        question: str,
        *,
        k: int | None = None,
        where: Filter | None = None,
        as_of: str | None = None,
        as_recorded: str | None = None,
        history: Sequence[Message] = (),
    ) -> Iterator[str | Answer]:
        """The answer's text in pieces as it is written, then the `Answer` itself.

        The pieces joined are ``answer.text``. Nothing is generated when no passage speaks to the question.
        """
        if not question.strip():
            raise InputError("the question is empty")
        answering = self._answering()
        k = self.options.answer_passages if k is None else k
        at = point_in_time(as_of, as_recorded)
        found, missing = self._evidence(question, k, where, at, history, answering)
        before = answering.abstaining.search(found.query, found, answering.as_found(found.passages))
        timings = dict(found.timings)
        if missing:
            yield missing
            yield Answer(
                question,
                missing,
                (),
                found.passages,
                True,
                NO_EVIDENCE,
                gate="search",
                warnings=found.notes,
                timings=timings,
                searched=found.query,
                evidence=before.evidence,
                confidence=before.confidence,
            )
            return
        scope = told_scope(where, at, self.store.document_count)
        if not self.options.steering.by_all:
            scope += f", without sources {self.options.steering.told}"
        answer = yield from answering.answer(question, found, timings, history, before=before, searched=scope)
        yield replace(answer, searched=found.query)

    def _evidence(
        self,
        question: str,
        k: int,
        where: Filter | None,
        at: PointInTime | None,
        history: Sequence[Message],
        answering: Answering,
    ) -> tuple[SearchResult, str]:
        """What is found for a question, and why that is nothing to answer from; empty if it may be.

        A follow-up is searched for as it was made to stand alone, then as it was asked, then as the question before:
        the first of them that something speaks to. What the last turn was answered from competes, searched for anew:
        under the filter and the date of now, and nothing that is gone meanwhile.
        """
        started = time.perf_counter()
        asked = stand_alone(question, history, self.generator)
        rewriting = time.perf_counter() - started

        def search(query: str) -> tuple[SearchResult, str]:
            # One that reads each passage apart chooses among sentences: what was not found only stands in its way.
            merge = self.options.merge if self.generator.cites else 0
            steering = self.options.steering
            result = self._search(query, k if steering.by_all else POOL * k, where, None, merge, at)
            result, untrusted = steering.among(result, k)
            return result, untrusted or answering.no_evidence(query, result, narrowed=bool(where or at))

        found, missing = search(asked.searched)
        notes = [asked.note] if asked.note else []
        for other in dict.fromkeys((question, asked.before)):
            if missing and other and other != asked.searched:
                instead, nothing = search(other)
                if not nothing:
                    notes.append(f"nothing speaks to {asked.searched!r}: searched for {other!r} instead")
                    found, missing = instead, ""
        if asked.before and not missing and found.query != asked.before:
            found = with_earlier(found, search(asked.before)[0], k)
        timings = {"rewrite": rewriting, **found.timings} if history else found.timings
        read = tuple(replace(each, suspicion=suspicion(each.chunk.text).score) for each in found.passages)
        return replace(found, passages=read, timings=timings, notes=(*notes, *found.notes)), missing

    def _answering(self) -> Answering:
        options = self.options
        abstaining = Abstaining(self.encoder, self.store.header.language, options.calibration, options.least_confidence)
        return Answering(self.store, self.encoder, self.generator, options.layout, self.support, abstaining)

    def _query_vector(self, query: str) -> Matrix:
        self._check_probes()
        vector: Matrix = self.encoder.encode_queries([query])[0]
        return vector

    # Identity

    def _check_probes(self) -> None:
        """Before the first vector of a session: does this encoder still give the vectors the index was made with?"""
        if self._probed or not self.store.header.probes:
            return
        check_probes(self.store, self.encoder)
        self._probed = True

    def check_encoder(self) -> None:
        """Raise EncoderMismatchError if the encoder gives other vectors than the index was made with."""
        self._check_probes()

    def close(self) -> None:
        """Release the index, and the generator's model. Idempotent."""
        if self._generator is not None:
            self._generator.close()
        if self.reranker is not None:
            self.reranker.close()
        self.support.close()
        self.reader.close()
        self.store.close()


def _reads_again(why: str, known: StoredSource | None) -> str:
    """A way of reading that no source is read by, with the lists that name it; see `pincite.web_sources`."""
    lists = "" if known is None else known.reading[len(known.reading.partition("\n")[0]) :]
    return f"{why}{lists}"
