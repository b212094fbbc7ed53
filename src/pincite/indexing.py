"""Putting documents into a store: gathered, encoded together, and made visible at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from pincite.chunkers.context import context_text, encoded_text
from pincite.types import Chunk, Document, FileOutcome

if TYPE_CHECKING:
    from pincite.protocols import Chunker, Encoder, Matrix, Store
    from pincite.types import StoredDocument, StoredSource

__all__ = [
    "AddListener",
    "Batch",
    "Telling",
    "copy_documents",
    "encode_chunks",
    "encoding_digest",
    "lexical_context",
]

#: Chunks encoded and committed together while adding: what a kill can cost, some four seconds of work. The bundled
#: encoder gives 32 chunks a second in batches of 256, 31 of 128, 30 of 64.
_BATCH = 128


class AddListener:
    """Told what `add` does, as it does it. Every method does nothing: override what is wanted."""

    def found(self, files: int) -> None:
        """So many files will be looked at."""

    def reading(self, uri: str) -> None:
        """A file is being read."""

    def encoded(self, uri: str, done: int, total: int) -> None:
        """So many of a document's chunks have been encoded."""

    def finished(self, outcome: FileOutcome) -> None:
        """A file's outcome is final: what is added or updated is on disk and can be searched."""


class Telling(AddListener):
    """Tells another listener everything, and keeps the outcomes."""

    def __init__(self, listener: AddListener) -> None:
        self._listener = listener
        self.outcomes: list[FileOutcome] = []

    def found(self, files: int) -> None:
        """See `AddListener`."""
        self._listener.found(files)

    def reading(self, uri: str) -> None:
        """See `AddListener`."""
        self._listener.reading(uri)

    def encoded(self, uri: str, done: int, total: int) -> None:
        """See `AddListener`."""
        self._listener.encoded(uri, done, total)

    def finished(self, outcome: FileOutcome) -> None:
        """See `AddListener`."""
        self.outcomes.append(outcome)
        self._listener.finished(outcome)


class Batch:
    """Documents gathered until there are enough chunks to encode together; written, and committed source by source.

    However many documents a source has, memory holds the chunks of one batch. What a source's documents replace
    changes at one moment for all of them.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder,
        recipe: str,
        listener: AddListener,
        outcomes: list[FileOutcome],
        on: str = "",
    ) -> None:
        self.on = on  #: the day from which what is removed is out of force; empty: this one
        self._store = store
        self._encoder = encoder
        self._recipe = recipe
        self._listener = listener
        self._outcomes = outcomes
        self._waiting: list[_Waiting] = []
        self._pending: list[FileOutcome] = []
        self._staged: list[int] = []
        self._written = 0
        self._removed: list[str] = []
        self._sources: list[StoredSource] = []
        self._held: set[str] = set()
        self.encoded = 0  #: chunks that the encoder was given

    def put(
        self,
        document: Document,
        chunks: list[Chunk],
        outcome: FileOutcome,
        *,
        source: str = "",
        starts: str | None = None,
        was: StoredDocument | None = None,
    ) -> None:
        """A document to write; the outcome is told once it is committed. The rest as for `Store.stage`."""
        self._waiting.append(_Waiting(document, chunks, source, starts, was))
        self._held |= {source or document.uri, document.id}
        self._pending.append(outcome)
        if sum(len(each.chunks) for each in self._waiting) >= _BATCH:
            self._write()

    def remove(self, document_id: str, outcome: FileOutcome) -> None:
        """A document to remove, at the moment at which what was put becomes visible."""
        self._removed.append(document_id)
        self._pending.append(outcome)

    def holds(self, name: str) -> bool:
        """Whether something of a source with this address, or a document with this id, was put and not committed."""
        return name in self._held

    def report(self, outcome: FileOutcome) -> None:
        """An outcome that waits for nothing."""
        self._outcomes.append(outcome)
        self._listener.finished(outcome)

    def end_source(self, source: StoredSource | None = None) -> None:
        """All of a source was put: it may be committed, and is if that pays. None where not all of it was read."""
        if source is not None:
            self._sources.append(source)
        if self._written + sum(len(each.chunks) for each in self._waiting) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write and commit everything that was put."""
        self._write()
        if self._staged or self._removed or self._sources:
            self._store.commit(self._staged, remove=self._removed, on=self.on, sources=self._sources)
        pending, self._pending, self._staged, self._written = self._pending, [], [], 0
        self._removed, self._sources = [], []
        self._held.clear()
        for outcome in pending:
            self.report(outcome)

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        total = sum(len(each.chunks) for each in waiting)
        done = 0
        for each in waiting:
            ticket = self._store.stage(
                each.document,
                self._recipe,
                source=each.source,
                starts=each.starts,
                was=each.was,
            )
            self._staged.append(ticket)
            each.ticket = ticket
        work = [(each, chunk) for each in waiting for chunk in each.chunks]
        for start in range(0, len(work), _BATCH):
            part = work[start : start + _BATCH]
            vectors, digests = self._vectors([chunk for _, chunk in part])
            position = 0
            while position < len(part):
                each = part[position][0]
                end = position + 1
                while end < len(part) and part[end][0] is each:
                    end += 1
                some = [chunk for _, chunk in part[position:end]]
                self._store.stage_chunks(
                    each.ticket,
                    some,
                    [lexical_context(each.document, chunk) for chunk in some],
                    vectors[position:end],
                    digests[position:end],
                )
                position = end
            done += len(part)
            self._written += len(part)
            self._listener.encoded(part[-1][0].document.uri, done, total)

    def _vectors(self, chunks: Sequence[Chunk]) -> tuple[Matrix, list[bytes]]:
        """The vectors of chunks, and the digests of what is encoded. A text that was encoded before is not again."""
        import numpy as np

        texts = [encoded_text(each.headings, each.text, each.before, each.after) for each in chunks]
        digests = [encoding_digest(text) for text in texts]
        known = self._store.encoded(list(dict.fromkeys(digests)))
        fresh = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known}
        if fresh:
            self.encoded += len(fresh)
            known.update(zip(fresh, self._encoder.encode_passages(list(fresh.values())), strict=True))
        return np.stack([known[digest] for digest in digests]), digests

    def abandon(self) -> None:
        """Forget what was put and not committed."""
        staged, self._staged = self._staged, []
        self._waiting, self._pending, self._removed, self._sources = [], [], [], []
        self._held.clear()
        self._store.discard(staged)


class _Waiting:
    """A document that is not written yet."""

    __slots__ = ("chunks", "document", "source", "starts", "ticket", "was")

    def __init__(
        self, document: Document, chunks: list[Chunk], source: str, starts: str | None, was: StoredDocument | None
    ) -> None:
        self.document = document
        self.chunks = chunks
        self.source = source
        self.starts = starts
        self.was = was
        self.ticket = 0


def copy_documents(
    source: Store,
    target: Store,
    chunker: Chunker,
    encoder: Encoder,
    recipe: str,
    listener: AddListener | None = None,
) -> int:
    """Cut and encode every document of `source` anew into `target`, with every version that is kept.

    Ids, versions and times stay. Returns how many documents are current.
    """
    listener = listener or AddListener()
    listed = source.history()
    listener.found(len(listed))
    batch = Batch(target, encoder, recipe, listener, [])
    for stored in listed:
        document = source.get_document(stored.id, stored.version)
        if document is not None:
            listener.reading(document.uri)
            outcome = FileOutcome(document.uri, "added", document.id, document.version)
            batch.put(document, list(chunker.chunk(document)), outcome, source=stored.source, was=stored)
            batch.end_source()
    batch.flush()
    target.commit([], sources=[replace(each, recipe=recipe) for each in source.sources()])
    return sum(each.current for each in listed)


def encode_chunks(
    document: Document, chunks: Sequence[Chunk], encoder: Encoder
) -> tuple[list[str], Matrix, list[bytes]]:
    """What a store is given with chunks of a document: lexical contexts, vectors, digests of what was encoded."""
    texts = [encoded_text(each.headings, each.text, each.before, each.after) for each in chunks]
    contexts = [lexical_context(document, each) for each in chunks]
    return contexts, encoder.encode_passages(texts), [encoding_digest(text) for text in texts]


def encoding_digest(text: str) -> bytes:
    """By what a text that was encoded is known again: 16 bytes."""
    return blake2b(text.encode("utf-8"), digest_size=16).digest()


def lexical_context(document: Document, chunk: Chunk) -> str:
    """What the lexical leg searches with a chunk beside its text: the document's title, the headings above, a header.

    The title counts once, also where it is the outermost heading. A row of a table is asked for by the names of its
    columns, which stand in `Chunk.before` alone.
    """
    # A chunker that dropped outer headings for want of room may have dropped the title with them.
    headings = chunk.headings if document.title.strip() in chunk.headings else (document.title, *chunk.headings)
    return f"{context_text(headings, chunk.text)}\n{chunk.before}"
