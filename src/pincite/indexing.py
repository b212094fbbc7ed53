"""Putting documents into a store: gathered, encoded together, and made visible at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pincite.chunkers.context import context_text, encoded_text
from pincite.types import Chunk, Document, FileOutcome

if TYPE_CHECKING:
    from pincite.protocols import Chunker, Encoder, Store

__all__ = ["AddListener", "Batch", "copy_documents", "lexical_context"]

#: Chunks encoded and committed together while adding.
_BATCH = 256


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


class Batch:
    """Documents gathered until there are enough chunks to encode together; then written and committed at once."""

    def __init__(
        self, store: Store, encoder: Encoder, recipe: str, listener: AddListener, outcomes: list[FileOutcome]
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._recipe = recipe
        self._listener = listener
        self._outcomes = outcomes
        self._waiting: list[tuple[Document, list[Chunk], bool, str]] = []
        self._staged: list[int] = []

    def put(self, document: Document, chunks: list[Chunk], *, updated: bool, added_at: str = "") -> None:
        self._waiting.append((document, chunks, updated, added_at))
        if sum(len(each) for _, each, *_ in self._waiting) >= _BATCH:
            self.flush()

    def report(self, outcome: FileOutcome) -> None:
        self._outcomes.append(outcome)
        self._listener.finished(outcome)

    def flush(self) -> None:
        import numpy as np

        work = [(document, chunk) for document, chunks, *_ in self._waiting for chunk in chunks]
        parts = []
        for start in range(0, len(work), _BATCH):
            part = work[start : start + _BATCH]
            texts = [encoded_text(c.headings, c.text, c.before, c.after) for _, c in part]
            parts.append(self._encoder.encode_passages(texts))
            self._listener.encoded(part[-1][0].uri, min(start + _BATCH, len(work)), len(work))
        if not self._waiting:
            return
        vectors = np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.float32)
        position = 0
        for document, chunks, _, added_at in self._waiting:
            ticket = self._store.stage(document, self._recipe, added_at)
            self._staged.append(ticket)
            for start in range(0, len(chunks), _BATCH):
                some = chunks[start : start + _BATCH]
                self._store.stage_chunks(
                    ticket,
                    some,
                    [lexical_context(document, chunk) for chunk in some],
                    vectors[position : position + len(some)],
                )
                position += len(some)
        self._store.commit(self._staged)
        waiting, self._waiting, self._staged = self._waiting, [], []
        for document, chunks, updated, _ in waiting:
            self.report(
                FileOutcome(
                    document.uri,
                    "updated" if updated else "added",
                    document.id,
                    document.version,
                    len(chunks),
                    warnings=document.warnings,
                )
            )

    def abandon(self) -> None:
        """Forget what was staged and not committed."""
        staged, self._staged = self._staged, []
        self._store.discard(staged)


def copy_documents(
    source: Store,
    target: Store,
    chunker: Chunker,
    encoder: Encoder,
    recipe: str,
    listener: AddListener | None = None,
) -> int:
    """Cut and encode every document of `source` anew into `target`; id, version and time stay. Returns the count."""
    listener = listener or AddListener()
    listed = source.documents()
    listener.found(len(listed))
    batch = Batch(target, encoder, recipe, listener, [])
    for stored in listed:
        document = source.get_document(stored.id, stored.version)
        if document is not None:
            listener.reading(document.uri)
            batch.put(document, list(chunker.chunk(document)), updated=False, added_at=stored.added_at)
    batch.flush()
    return len(listed)


def lexical_context(document: Document, chunk: Chunk) -> str:
    """What the lexical leg searches with a chunk beside its text: the document's title, the headings above, a header.

    The title counts once, also where it is the outermost heading. A row of a table is asked for by the names of its
    columns, which stand in `Chunk.before` alone.
    """
    # A chunker that dropped outer headings for want of room may have dropped the title with them.
    headings = chunk.headings if document.title.strip() in chunk.headings else (document.title, *chunk.headings)
    return f"{context_text(headings, chunk.text)}\n{chunk.before}"
