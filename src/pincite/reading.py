"""What is read when chunks are found: the wider span around a chunk, and neighbours as one passage.

Pure functions on passages. Whatever they give, ``document.text[chunk.start:chunk.end] == chunk.text`` holds for the
chunk of every passage, as it does for what a chunker cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pincite.blocks import Blocks, may_divide
from pincite.errors import InputError
from pincite.types import Chunk, Document, Passage

__all__ = ["POOL", "DocumentOf", "arrange", "widen"]

DocumentOf = Callable[[str, int], Document | None]
"""(document id, version) → the stored document; None when it is no longer kept."""

#: So many passages are worth retrieving for each one to read: neighbours, and chunks of one parent, become one.
POOL = 3

#: Two passages with more characters of white space between them are not taken for neighbours.
_GAP = 200
#: A table's header is put before a passage that begins inside the table if it is not longer than this, in characters.
_HEADER = 2000


def arrange(
    passages: Sequence[Passage],
    *,
    k: int,
    document_of: DocumentOf,
    merge: int = 0,
    per_document: int = 0,
) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """The first `k` passages to read, made of `passages` (best first), and notes on what was left out.

    1. Widen: a passage whose chunk has a parent becomes the parent's span, see `widen`.
    2. Merge: in order, a passage that overlaps one already placed, or directly follows or precedes it (nothing but
       white space between), joins it, when the whole is at most `merge` characters. The passage made keeps the place,
       the hit, the legs and the chunk id of the best of them. One that would make too large a passage stays apart,
       without the characters that are already placed; it is left out when what was found of it is among those.
       With `merge` = 0 passages stay as they were found, only that of two spans one of which holds the other the
       wider one is read: no span is read twice whole.
    3. Cap: at most `per_document` passages of one document are placed; 0 is no cap. Those left out are counted in a
       note.
    4. The first `k`: the first passage that would be number k + 1 ends it, and what ranks behind is not looked at.

    `Passage.found` lists the spans that were found where the passage is another span than one chunk's, in the order
    of the text. `Passage.hit` stays the hit of the stage that found it, with its rank there: ranks of the result are
    in order, but may have gaps. Passages of another version of a document never join. Where the document is gone a
    passage stays as it is.

    Raises InputError if k is below 1, or `merge` or `per_document` below 0.
    """
    if k < 1 or merge < 0 or per_document < 0:
        raise InputError(
            f"k must be at least 1, merge and per_document at least 0, got {k}, {merge} and {per_document}"
        )
    shelf = _Shelf(_Library(document_of), merge)
    left_out: dict[str, int] = {}
    for passage in passages:
        placed = shelf.prepared(passage)
        if placed is None:
            continue
        name = placed.passage.chunk.document_id
        if not placed.joins and per_document and shelf.count(name) >= per_document:
            left_out[name] = left_out.get(name, 0) + 1
            continue
        if not placed.joins and len(shelf.passages) == k:
            break
        shelf.put(placed)
    notes = []
    if left_out:
        number = sum(left_out.values())
        notes.append(
            f"{number} passage{'s' * (number > 1)} left out: at most {per_document} of one document "
            "(search.per_document)"
        )
    return tuple(shelf.passages), tuple(notes)


def widen(passage: Passage, document_of: DocumentOf) -> Passage:
    """The passage with its chunk's parent for its span; as it is without a parent, or when the document is gone.

    Text, page and headings are those of the wider span, and the header of a table or the fences of code stand around it
    where its ends lie inside one. `Passage.found` holds the span that was found. The chunk's id and ordinal stay.
    """
    return _widen(passage, _Library(document_of))


def _widen(passage: Passage, library: _Library) -> Passage:
    parent = passage.chunk.parent
    if parent is None:
        return passage
    chunk = library.span(passage.chunk, *parent)
    return passage if chunk is None else replace(passage, chunk=chunk, found=_found(passage))


def _found(passage: Passage) -> tuple[tuple[int, int], ...]:
    return passage.found or ((passage.chunk.start, passage.chunk.end),)


class _Library:
    """The documents of one call, each asked for once, and only when it is needed."""

    def __init__(self, document_of: DocumentOf) -> None:
        self._document_of = document_of
        self._documents: dict[tuple[str, int], Document | None] = {}
        self._blocks: dict[tuple[str, int], Blocks] = {}

    def document(self, chunk: Chunk) -> Document | None:
        key = (chunk.document_id, chunk.version)
        if key not in self._documents:
            self._documents[key] = self._document_of(*key)
        return self._documents[key]

    def span(self, chunk: Chunk, start: int, end: int, frame: tuple[str, str] | None = None) -> Chunk | None:
        """`chunk` as this span of its document, in `frame` (before, after), by default what it needs there.

        None when the document is gone or is not the one that the chunk was cut from.
        """
        document = self.document(chunk)
        if document is None or document.text[chunk.start : chunk.end] != chunk.text:
            return None
        before, after = self._frame(document, start, end) if frame is None else frame
        moved = start != chunk.start
        return replace(
            chunk,
            text=document.text[start:end],
            start=start,
            end=end,
            page=document.page_at(start) if moved else chunk.page,
            headings=document.heading_path(start) if moved else chunk.headings,
            before=before,
            after=after,
            parent=None,
        )

    def _frame(self, document: Document, start: int, end: int) -> tuple[str, str]:
        if not may_divide(document.text, start, document.media_type):
            return "", ""
        key = (document.id, document.version)
        if key not in self._blocks:
            self._blocks[key] = Blocks(document.text, document.media_type)
        return self._blocks[key].frame(start, end, lambda frame: len(frame) <= _HEADER)

    def only_space(self, chunk: Chunk, start: int, end: int) -> bool:
        """Whether nothing but white space lies in the range, which may be empty."""
        if end - start > _GAP:
            return False
        document = self.document(chunk)
        return document is not None and not document.text[start:end].strip()


@dataclass(slots=True)
class _Placed:
    """A passage ready to be placed, and the places on the shelf that it takes the place of; none for a new one."""

    passage: Passage
    joins: list[int]


class _Shelf:
    """The passages placed so far, best first. No two of one document version overlap where that can be avoided."""

    def __init__(self, library: _Library, limit: int) -> None:
        self.passages: list[Passage] = []
        self._library = library
        self._limit = limit

    def count(self, document_id: str) -> int:
        return sum(passage.chunk.document_id == document_id for passage in self.passages)

    def put(self, placed: _Placed) -> None:
        if not placed.joins:
            self.passages.append(placed.passage)
            return
        first, *others = placed.joins
        self.passages[first] = placed.passage
        for i in reversed(others):
            del self.passages[i]

    def prepared(self, passage: Passage) -> _Placed | None:
        """How `passage` would be placed; None where all that was found of it is read already."""
        passage = _widen(passage, self._library)
        chunk = passage.chunk
        near = [i for i, other in enumerate(self.passages) if self._touch(other.chunk, chunk)]
        joined: Passage | None = None
        joins: list[int] = []
        for i in near:
            # The places are in order, so the first that it joins is the best.
            union = self._join(self.passages[i], passage) if joined is None else self._join(joined, self.passages[i])
            if union is not None:
                joined, joins = union, [*joins, i]
        if joined is not None:
            return _Placed(joined, joins)
        rest = self._rest(passage, [self.passages[i].chunk for i in near]) if self._limit else passage
        return None if rest is None else _Placed(rest, [])

    def _touch(self, a: Chunk, b: Chunk) -> bool:
        if (a.document_id, a.version) != (b.document_id, b.version):
            return False
        first, second = (a, b) if a.start <= b.start else (b, a)
        if second.start < first.end:
            return True
        return self._limit > 0 and self._library.only_space(a, first.end, second.start)

    def _join(self, best: Passage, other: Passage) -> Passage | None:
        """One passage of both, in the place of the better; None where it would be over the limit."""
        a, b = best.chunk, other.chunk
        start, end = min(a.start, b.start), max(a.end, b.end)
        found = tuple(sorted({*_found(best), *_found(other)}))
        if (start, end) == (a.start, a.end):
            return replace(best, found=found if found != ((start, end),) else ())
        if end - start > self._limit and (start, end) != (b.start, b.end):
            return None
        before = a.before if a.start == start else b.before
        after = a.after if a.end == end else b.after
        chunk = self._library.span(a, start, end, (before, after))
        return None if chunk is None else replace(best, chunk=chunk, found=found)

    def _rest(self, passage: Passage, placed: Sequence[Chunk]) -> Passage | None:
        """`passage` without what is placed already at its ends; None when what was found of it is placed."""
        chunk = passage.chunk
        start, end = chunk.start, chunk.end
        for other in sorted(placed, key=lambda other: other.start):
            if other.start <= start < other.end:
                start = other.end
        for other in sorted(placed, key=lambda other: other.end, reverse=True):
            if other.start < end <= other.end:
                end = other.start
        if (start, end) == (chunk.start, chunk.end):
            return passage
        text = chunk.text[start - chunk.start : max(start, end) - chunk.start]
        start += len(text) - len(text.lstrip())
        end = start + len(text.strip())
        found = tuple((max(a, start), min(b, end)) for a, b in _found(passage) if a < end and b > start)
        if start >= end or not found:
            return None
        rest = self._library.span(chunk, start, end)
        return (
            passage if rest is None else replace(passage, chunk=rest, found=found if found != ((start, end),) else ())
        )
