"""What is read when chunks are found: the wider span around a chunk, and neighbours as one passage.

Pure functions on passages. Whatever they give, ``document.text[chunk.start:chunk.end] == chunk.text`` holds for the
chunk of every passage, as it does for what a chunker cuts.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pincite.blocks import Blocks, may_divide
from pincite.errors import InputError
from pincite.types import Chunk, Document, Passage

__all__ = ["POOL", "DocumentOf", "arrange", "forget", "parts_found", "widen"]

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
       without the characters that are already placed (so does the passage made, where it overlaps a third that it
       would be too large with); it is left out when what was found of it is among those.
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
        if not placed.joins and len(shelf) == k:
            break
        shelf.put(placed)
    notes = []
    if left_out:
        number = sum(left_out.values())
        notes.append(
            f"{number} passage{'s' * (number > 1)} left out: at most {per_document} of one document "
            "(search.per_document)"
        )
    return shelf.passages, tuple(notes)


def widen(passage: Passage, document_of: DocumentOf) -> Passage:
    """The passage with its chunk's parent for its span; as it is without a parent, or when the document is gone.

    Text, page and headings are those of the wider span, and the header of a table or the fences of code stand around it
    where its ends lie inside one. `Passage.found` holds the span that was found. The chunk's id and ordinal stay.
    """
    return _widen(passage, _Library(document_of))


def parts_found(passage: Passage, document_of: DocumentOf) -> list[Passage]:
    """What was found of a wider passage, each span a passage of its own, in the order of the text.

    For a reader without room for the whole. Each has its own page, headings and frame, and the hit and the chunk id of
    the whole; where two spans overlap the later begins behind the earlier. Empty for a passage that is what was found,
    and when the document is gone.
    """
    library = _Library(document_of)
    parts: list[Passage] = []
    behind = passage.chunk.start
    for start, end in passage.found:
        start = max(start, behind)
        behind = max(behind, end)
        inside = passage.chunk.text[start - passage.chunk.start : max(start, end) - passage.chunk.start]
        start += len(inside) - len(inside.lstrip())
        end = start + len(inside.strip())
        if start < end and (chunk := library.span(passage.chunk, start, end)) is not None:
            parts.append(replace(passage, chunk=chunk, found=()))
    return parts


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
        if not may_divide(document.text, start):
            return "", ""
        return _blocks(document.text).frame(start, end, lambda frame: len(frame) <= _HEADER)

    def only_space(self, chunk: Chunk, start: int, end: int) -> bool:
        """Whether nothing but white space lies in the range, which may be empty."""
        if end - start > _GAP:
            return False
        document = self.document(chunk)
        return document is not None and not document.text[start:end].strip()


@lru_cache(maxsize=8)
def _blocks(text: str) -> Blocks:
    """Kept over calls: finding them in a document of some megabytes takes ten times as long as the search itself.

    By the text, so that nothing of another version or another index can be meant.
    """
    return Blocks(text)


def forget() -> None:
    """Let go of the texts that are kept over calls."""
    _blocks.cache_clear()


@dataclass(slots=True)
class _Placed:
    """A passage ready to be placed, and the places on the shelf that it takes the place of; none for a new one."""

    passage: Passage
    joins: list[int]


class _Shelf:
    """The passages placed so far, best first. No two of one document version overlap where that can be avoided.

    Places are numbers that only grow. Those of one document version are kept in the order of the text beside it, so
    that what lies near a passage is found without a look at all the others.
    """

    def __init__(self, library: _Library, limit: int) -> None:
        self._library = library
        self._limit = limit
        self._at: dict[int, Passage] = {}  # by place; a dictionary keeps the order
        self._next = 0
        self._rows: dict[tuple[str, int], list[tuple[int, int, int]]] = {}  # (start, end, place), sorted
        self._longest: dict[tuple[str, int], int] = {}
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._at)

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(self._at.values())

    def count(self, document_id: str) -> int:
        return self._counts.get(document_id, 0)

    def put(self, placed: _Placed) -> None:
        for place in placed.joins:
            self._unlist(place)
        if placed.joins:
            place, *others = placed.joins
            for other in others:
                del self._at[other]
        else:
            place, self._next = self._next, self._next + 1
        chunk = placed.passage.chunk
        key = (chunk.document_id, chunk.version)
        self._at[place] = placed.passage
        insort(self._rows.setdefault(key, []), (chunk.start, chunk.end, place))
        self._longest[key] = max(self._longest.get(key, 0), chunk.end - chunk.start)
        self._counts[chunk.document_id] = self.count(chunk.document_id) + 1

    def _unlist(self, place: int) -> None:
        chunk = self._at[place].chunk
        rows = self._rows[chunk.document_id, chunk.version]
        del rows[bisect_left(rows, (chunk.start, chunk.end, place))]
        self._counts[chunk.document_id] -= 1

    def _near(self, chunk: Chunk) -> list[int]:
        """The places that `chunk` touches, the best first."""
        key = (chunk.document_id, chunk.version)
        rows, reach = self._rows.get(key, []), self._longest.get(key, 0) + _GAP
        first = bisect_left(rows, (chunk.start - reach, 0, 0))
        last = bisect_left(rows, (chunk.end + _GAP + 1, 0, 0))
        return sorted(place for *_, place in rows[first:last] if self._touch(self._at[place].chunk, chunk))

    def prepared(self, passage: Passage) -> _Placed | None:
        """How `passage` would be placed; None where all that was found of it is read already."""
        passage = _widen(passage, self._library)
        chunk = passage.chunk
        near = self._near(chunk)
        joined: Passage | None = None
        joins: list[int] = []
        for i in near:
            # The places are in order, so the first that it joins is the best.
            union = self._join(self._at[i], passage) if joined is None else self._join(joined, self._at[i])
            if union is not None:
                joined, joins = union, [*joins, i]
        # What it joined may still overlap others that it could not join.
        apart = [self._at[i].chunk for i in near if i not in joins]
        whole = joined or passage
        rest = self._rest(whole, apart) if self._limit else whole
        return None if rest is None else _Placed(rest, joins)

    def _touch(self, a: Chunk, b: Chunk) -> bool:
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
