"""What a question is asked about: excerpts of the documents of an index, drawn at random."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pincite.protocols import Store
    from pincite.types import Document, Filter

__all__ = ["Excerpt", "excerpt_at", "sample_excerpts", "worth_asking"]

#: Letters below which an excerpt says too little to ask about; a CJK character counts as three.
_LEAST_LETTERS = 60
#: Of a set cut by a filter at most so many chunks are drawn from.
_MOST_FILTERED = 20_000

_CONTENTS_LINE = re.compile(r"(?:\.{3,}|…|\s{3,}|\t)\s*(?:\d+|[ivxlc]+)\s*$", re.I)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What a question is asked about: a span of a document's version. ``document.text[start:end] == text``."""

    document_id: str
    version: int
    title: str
    uri: str
    location: str
    start: int
    end: int
    text: str


def sample_excerpts(store: Store, *, seed: int = 0, where: Filter | None = None) -> Iterator[Excerpt]:
    """Excerpts of the current documents in a random order that `seed` repeats, one of every document before a second.

    An excerpt is a chunk, or the wider span that is read for it. Left out are those that are very short, that are
    mostly no letters, and tables of contents. `where` limits the documents as it does a search, inside the engine.
    """
    chance = random.Random(seed)
    cut = _filtered(store, where, seed) if where else None
    listed = {each.id: each for each in store.documents() if cut is None or each.id in cut}
    # By content: ids are made of addresses, which differ from machine to machine.
    waiting = sorted(listed, key=lambda each: (listed[each].content_hash, each))
    chance.shuffle(waiting)
    left: dict[str, list[Excerpt]] = {}
    while waiting:
        again = []
        for document_id in waiting:
            if document_id not in left:
                left[document_id] = _excerpts(store, document_id, cut[document_id] if cut is not None else None)
                chance.shuffle(left[document_id])
            if left[document_id]:
                yield left[document_id].pop()
            if left[document_id]:
                again.append(document_id)
        waiting = again


def _filtered(store: Store, where: Filter, seed: int) -> dict[str, set[str]]:
    """Ids of the chunks that the engine admits, by document."""
    import numpy as np

    # The engine's own filter decides; the direction of the question does not matter but must be a direction.
    vector = np.random.default_rng(seed).normal(size=store.header.identity.dimension).astype(np.float32)
    admitted: dict[str, set[str]] = {}
    hits = store.search_dense(vector / np.linalg.norm(vector), min(max(store.point_count, 1), _MOST_FILTERED), where)
    for passage in store.passages(hits):
        admitted.setdefault(passage.chunk.document_id, set()).add(passage.chunk.id)
    return admitted


def _excerpts(store: Store, document_id: str, admitted: set[str] | None) -> list[Excerpt]:
    document = store.get_document(document_id)
    if document is None:
        return []
    spans = sorted(
        {
            chunk.parent or (chunk.start, chunk.end)
            for chunk in store.chunks(document_id)
            if admitted is None or chunk.id in admitted
        }
    )
    return [excerpt_at(document, *span) for span in spans if worth_asking(document.text[slice(*span)])]


def excerpt_at(document: Document, start: int, end: int) -> Excerpt:
    """The excerpt of `document` at these characters."""
    page = document.page_at(start)
    parts = [f"p. {page}"] if page is not None else []
    if path := document.heading_path(start):
        parts.append(" › ".join(path))
    return Excerpt(
        document.id,
        document.version,
        document.title,
        document.uri,
        ", ".join(parts),
        start,
        end,
        document.text[start:end],
    )


def worth_asking(text: str) -> bool:
    """Whether `text` says enough to ask about, and is neither mostly figures nor a table of contents."""
    letters = sum((3 if c >= "\u2e80" else 1) for c in text if c.isalpha())
    marks = sum(not c.isspace() for c in text)
    if letters < _LEAST_LETTERS or letters < marks / 2:
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) < 3 or sum(bool(_CONTENTS_LINE.search(line)) for line in lines) < len(lines) / 2
