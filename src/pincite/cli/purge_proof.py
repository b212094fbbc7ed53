"""Evidence that nothing of a purged document is left: taken before it is deleted, looked for afterwards.

What is looked for is counted before as well: a search that finds nothing afterwards proves something only if it found
the document before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pincite.cli.common import short_path
from pincite.sentences import sentence_spans
from pincite.types import PointInTime
from pincite.words import has_content

if TYPE_CHECKING:
    from pincite.protocols import Matrix, Store
    from pincite.types import Hit, StoredDocument

__all__ = ["Check", "Evidence", "proof", "sentences_in"]

_T = TypeVar("_T")

#: Bytes, in UTF-8, that a sentence has at least: a shorter one may stand anywhere by chance. Longer ones are cut.
_LEAST, _MOST = 40, 400

#: The same of a whole text that holds no such sentence, and of an address or metadata: these are looked for as well.
_LEAST_OF_ALL = 8

#: Of each version so many words and sentences are searched for, and so many of all its vectors.
_WORDS, _SENTENCES, _VECTORS = 8, 4, 200

#: Sentences times bytes of the files: what a scan may take, some ten seconds.
_SCAN = 40_000_000_000

#: Of a vector, so many of its numbers are looked for in the files.
_NUMBERS = 16

_BLOCK = 1 << 23


@dataclass(frozen=True, slots=True)
class Check:
    """One way of looking: what was looked for, how much of it was found before the purge and after it."""

    name: str
    looked_for: int
    before: int
    after: int
    detail: str = ""
    left: tuple[str, ...] = ()  #: what was found afterwards, in words


@dataclass(frozen=True, slots=True)
class _Query:
    text: str
    version: StoredDocument


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a document before it is purged."""

    versions: tuple[StoredDocument, ...]
    queries: tuple[_Query, ...]
    vectors: tuple[tuple[StoredDocument, Matrix], ...]
    sentences: tuple[str, ...]  #: that its versions hold, in the order of the text
    encoded: tuple[str, ...] = ()  #: the texts that were encoded
    marks: tuple[bytes, ...] = ()  #: the beginnings of its vectors, as the files hold them
    facts: tuple[str, ...] = ()  #: its addresses and titles, the names and values of its metadata

    @classmethod
    def of(cls, store: Store, versions: Sequence[StoredDocument]) -> Evidence:
        """Taken from an open store that still holds the document, every version of it that is kept."""
        from pincite.chunkers.context import encoded_text

        queries: list[_Query] = []
        vectors: list[tuple[StoredDocument, Matrix]] = []
        sentences: dict[str, None] = {}
        encoded: dict[str, None] = {}
        facts: dict[str, None] = {}
        for each in versions:
            facts.update(dict.fromkeys(text for text in _facts(each) if len(text.encode("utf-8")) >= _LEAST_OF_ALL))
            document = store.get_document(each.id, each.version)
            chunks = store.chunks(each.id, each.version)
            if document is not None:
                found = list(_sentences(document.text)) or list(_whole(document.text))
                sentences.update(dict.fromkeys(found))
                words = sorted(
                    {word for word in document.text.split() if word.isalnum() and has_content(word)},
                    key=lambda w: (-len(w), w),
                )
                asked = [*words[:_WORDS], *_spread(found, _SENTENCES)]
                queries += [_Query(text, each) for text in asked]
            rows = store.vectors([chunk.id for chunk in chunks])
            vectors += [(each, row) for row in rows if row.any()]
            encoded.update({encoded_text(c.headings, c.text, c.before, c.after): None for c in chunks})
        chosen = _spread(vectors, _VECTORS)
        marks = dict.fromkeys(_mark(row) for _, row in chosen)
        return cls(
            tuple(versions),
            tuple(queries),
            tuple(chosen),
            tuple(sentences),
            tuple(encoded),
            tuple(marks),
            tuple(facts),
        )


def proof(store: Store, folder: Path, evidence: Evidence, purge: Callable[[], object]) -> list[Check]:
    """Look for the document, purge it, look again."""
    sentences = _spread(evidence.sentences, _bearable(folder))
    before = _Look(store, folder, evidence, sentences)
    purge()
    after = _Look(store, folder, evidence, sentences)
    held = _held_by_others(store, after.sentences)
    others = sorted({short_path(uri) for uri in held.values()})
    remaining = [text for text in after.sentences if text not in held]
    facts = _not_of_others(store, after.facts, evidence)
    shared = _of_others(store, after.marks)
    told = f"in {after.files} files of {after.size / 1e6:.1f} MB"
    if others:
        more = f" and {len(others) - 3} others" if len(others) > 3 else ""
        told += f"; {len(held)} stand in documents that are kept and are not counted: {', '.join(others[:3])}{more}"
    all_of_it = len(evidence.sentences)
    of_all = "" if len(sentences) == all_of_it else f" of {all_of_it:,}, evenly chosen"
    queries, vectors = len(evidence.queries), len(evidence.vectors)
    return [
        Check("searches for its words and sentences", queries, len(before.terms), len(after.terms), left=after.terms),
        Check("searches with its vectors", vectors, len(before.near), len(after.near), left=after.near),
        Check(
            f"its sentences{of_all}",
            len(sentences),
            len(before.sentences),
            len(remaining),
            told if sentences else f"no text is of {_LEAST_OF_ALL} bytes or more",
            tuple(f"{text[:60]!r} in {after.places[text]}" for text in remaining),
        ),
        Check(
            "its vectors, as bytes",
            len(evidence.marks),
            len(before.marks),
            len(after.marks) - len(shared),
            f"in the same files{f'; {len(shared)} of equal texts of others are not counted' if shared else ''}",
            tuple(f"a vector in {after.marks[mark]}" for mark in after.marks if mark not in shared),
        ),
        Check(
            "its address, title and metadata",
            len(evidence.facts),
            len(before.facts),
            len(facts),
            _told_of_facts(evidence, len(after.facts) - len(facts)),
            tuple(f"{text[:60]!r} in {after.facts[text]}" for text in facts),
        ),
        Check("catalogue, sources, log of runs", 4, before.mentions, after.mentions),
    ]


class _Look:
    """What is found of the evidence now."""

    def __init__(self, store: Store, folder: Path, evidence: Evidence, sentences: Sequence[str]) -> None:
        documents = {each.id for each in evidence.versions}
        self.terms = tuple(
            f"the search for {query.text[:60]!r}"
            for query in evidence.queries
            if _found(query.version, partial(store.search_lexical, query.text))
        )
        self.near = tuple(
            f"the search with a vector of version {version.version}"
            for version, row in evidence.vectors
            if _found(version, partial(store.search_dense, row, exact=True))
        )
        wanted: dict[bytes, str] = {text.encode("utf-8"): text for text in (*sentences, *evidence.facts)}
        found: dict[bytes, str] = {}
        self.files = self.size = 0
        for file in _files(folder):
            self.files += 1
            self.size += file.stat().st_size
            for pattern in _patterns_in(file, [*wanted, *evidence.marks]):
                found.setdefault(pattern, str(file.relative_to(folder)))
        self.places = {wanted[pattern]: place for pattern, place in found.items() if pattern in wanted}
        self.sentences = [text for text in sentences if text in self.places]
        self.facts = {text: self.places[text] for text in evidence.facts if text in self.places}
        self.marks = {pattern: place for pattern, place in found.items() if pattern not in wanted}
        uris = {uri for each in evidence.versions for uri in (each.uri, each.source)}
        self.mentions = sum(
            (
                any(store.history(document) for document in documents),
                any(store.get_document(each.id, each.version) for each in evidence.versions),
                any(store.find_source(uri) for uri in uris),
                any(
                    outcome.document_id in documents or outcome.uri in uris
                    for run in store.runs(1000)
                    for outcome in run.outcomes
                ),
            )
        )


def sentences_in(folder: Path, sentences: Iterable[str]) -> dict[Path, int]:
    """File below a folder → how many of these sentences it holds; only files that hold one."""
    texts = _spread(list(sentences), _bearable(folder))
    found = {file: len(_patterns_in(file, [text.encode("utf-8") for text in texts])) for file in _files(folder)}
    return {file: count for file, count in found.items() if count}


def _found(version: StoredDocument, search: Callable[..., list[Hit]]) -> bool:
    """Whether a search finds the document: now, and at the points in time at which this version was to be found."""
    points = [None, PointInTime(recorded=version.added_at), PointInTime(as_of=version.starts or version.added_at[:10])]
    return any(
        hit.chunk_id.startswith(f"{version.id}.")
        for at in points
        for where in (None, {"document_id": version.id})
        for hit in search(10, where, at=at)
    )


def _held_by_others(store: Store, texts: Sequence[str]) -> dict[str, str]:
    """Those of the texts that stand in a document that is kept → the address of one."""
    left = set(texts)
    held: dict[str, str] = {}
    for each in store.history() if left else ():
        document = store.get_document(each.id, each.version)
        if document is not None:
            held.update({text: each.uri for text in left - held.keys() if text in document.text})
    return held


def _facts(version: StoredDocument) -> Iterator[str]:
    yield from (version.uri, version.source, version.title)
    for name, value in version.metadata.items():
        # Values of other kinds stand anywhere; text may be written with signs that escape what is in it.
        yield from (name, *([line.strip()[:_MOST] for line in value.splitlines()] if isinstance(value, str) else ()))


def _not_of_others(store: Store, facts: Iterable[str], evidence: Evidence) -> list[str]:
    """Those of the facts that are found of no document that is kept, nor of another file in the log of runs."""
    left = dict.fromkeys(facts)
    own = {uri for each in evidence.versions for uri in (each.uri, each.source)}

    def strike(*texts: str) -> None:
        for fact in [fact for fact in left if any(fact in text for text in texts)]:
            del left[fact]

    for each in store.history() if left else ():
        strike(each.uri, each.source, each.title, *map(str, (*each.metadata, *each.metadata.values())))
        document = store.get_document(each.id, each.version) if left else None
        if document is not None:
            strike(document.text)
    for run in store.runs(1000) if left else ():
        strike(*(outcome.uri for outcome in run.outcomes if outcome.uri not in own))
    return list(left)


def _told_of_facts(evidence: Evidence, held: int) -> str:
    if not evidence.facts:
        return f"none is of {_LEAST_OF_ALL} bytes or more"
    return f"in the same files{f'; {held} of other documents are not counted' if held else ''}"


def _of_others(store: Store, marks: Iterable[bytes]) -> set[bytes]:
    """Those of the marks that are of a chunk that is kept: its text is the same."""
    left, held = set(marks), set[bytes]()
    for each in store.history() if left else ():
        rows = store.vectors([chunk.id for chunk in store.chunks(each.id, each.version)])
        held |= left.intersection(map(_mark, rows))
    return held


def _mark(row: Matrix) -> bytes:
    """The beginning of a vector as the files of the index hold it."""
    import numpy as np

    return np.asarray(row[:_NUMBERS], dtype="<f4").tobytes()


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentence_spans(text):
        line = max(text[start:end].splitlines(), key=len, default="").strip()
        raw = line.encode("utf-8", "replace")
        if len(raw) >= _LEAST:
            yield raw[:_MOST].decode("utf-8", "ignore")


def _whole(text: str) -> Iterator[str]:
    """A text without a sentence that is long enough, from its first word on."""
    raw = text.strip().encode("utf-8", "replace")
    if len(raw) >= _LEAST_OF_ALL:
        yield raw[:_MOST].decode("utf-8", "ignore")


def _files(folder: Path) -> list[Path]:
    """All below a folder but the note of who holds the index, with the command's own words: it goes at the end."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and file.name != "holder.json")


def _bearable(folder: Path) -> int:
    size = sum(file.stat().st_size for file in _files(folder)) if folder.is_dir() else 0
    return max(50, _SCAN // max(size, 1))


def _patterns_in(file: Path, patterns: Sequence[bytes]) -> list[bytes]:
    """Those of the patterns that stand in a file, which is read in blocks."""
    overlap = max(map(len, patterns), default=1) - 1
    left = set(patterns)
    tail = b""
    try:
        with file.open("rb") as opened:
            while left and (block := opened.read(_BLOCK)):
                data = tail + block
                left -= {pattern for pattern in left if pattern in data}
                tail = data[-overlap:] if overlap else b""
    except FileNotFoundError:
        pass  # it went while it was looked for
    return [pattern for pattern in patterns if pattern not in left]


def _spread(things: Sequence[_T], most: int) -> list[_T]:
    """At most so many, evenly over all."""
    if len(things) <= most:
        return list(things)
    return [things[i * len(things) // most] for i in range(most)]
