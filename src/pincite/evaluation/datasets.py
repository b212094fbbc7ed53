"""Evaluation sets in the BEIR layout, from a folder: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/SPLIT.tsv``.

Each of the first two may be gzipped (``.jsonl.gz``); all are UTF-8, with or without a byte-order mark. A query's
metadata may carry ``spans``: where in the documents its answer stands, as ``{"document": id, "start": n, "end": n}``
with half-open offsets into the document's text. Labels that are spans stay true however the documents are cut.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pincite.errors import InputError
from pincite.types import Document, Heading, Page, Qrels

__all__ = [
    "Dataset",
    "LabelledSpan",
    "Record",
    "as_document",
    "find_datasets",
    "find_file",
    "identifier_of",
    "json_rows",
    "load_dataset",
    "splits",
    "text_of",
]

#: What the last column of ``qrels/SPLIT.tsv`` may be called, where the first line names the columns.
_GRADE_COLUMN = frozenset({"score", "relevance", "grade", "label"})


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """Where an answer stands: a half-open range of characters of a document of the set. Never empty."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Record:
    """One document of a set."""

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Judged queries over a corpus. `queries` holds exactly those that `qrels` judges, in the file's order."""

    name: str
    split: str
    folder: Path
    queries: Mapping[str, str]  #: query id → text
    qrels: Qrels  #: grades as in the file: relevant is what is above 0
    spans: Mapping[str, tuple[LabelledSpan, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  #: what was odd in the files, in words: duplicates, judged queries without a text

    @property
    def corpus_file(self) -> Path:
        """The file that `documents` reads."""
        return find_file(self.folder, "corpus")

    def documents(self) -> Iterator[Record]:
        """The corpus, read from its file each time, in the file's order; one document at a time is in memory.

        Raises InputError for an id that comes twice, and for what is malformed, with the line.
        """
        seen: set[str] = set()
        file = self.corpus_file
        for number, row in json_rows(file):
            identifier = identifier_of(row, number, file)
            if identifier in seen:
                raise InputError(f"{file}, line {number}: document {identifier!r} comes twice in the corpus")
            seen.add(identifier)
            metadata = row.get("metadata") or {}
            if not isinstance(metadata, dict):
                raise InputError(f"{file}, line {number}: metadata should be an object, got {metadata!r}")
            yield Record(
                id=identifier,
                text=text_of(row, "text", number, file),
                title=text_of(row, "title", number, file) if row.get("title") is not None else "",
                metadata=metadata,
            )


def as_document(record: Record) -> Document:
    """A document of a set, with the headings and pages that `eval make` kept with it; plain text where there are none.

    Raises InputError where they do not fit the text. A set of another maker may mean something else by these names:
    where it has not both of them, what does not fit is passed over.
    """
    kept = record.metadata
    headings: tuple[Heading, ...] = ()
    pages: tuple[Page, ...] = ()
    try:
        headings, pages = _structure(kept, len(record.text))
    except (TypeError, ValueError) as error:
        if {"headings", "pages"} <= kept.keys():
            raise InputError(
                f"document {record.id!r} of the set has headings or pages that do not fit: {error}"
            ) from None
    version = kept.get("version")
    return Document(
        id=record.id,
        text=record.text,
        title=record.title,
        uri=str(kept.get("uri") or record.id),
        media_type=str(kept.get("media_type") or "text/plain"),
        content_hash=hashlib.sha256(record.text.encode("utf-8", "replace")).hexdigest(),
        version=version if type(version) is int and version > 0 else 1,
        pages=pages,
        headings=headings,
    )


def _structure(kept: Mapping[str, Any], length: int) -> tuple[tuple[Heading, ...], tuple[Page, ...]]:
    headings = tuple(Heading(int(a), str(b), int(c), int(d)) for a, b, c, d in kept.get("headings") or ())
    pages = tuple(Page(int(a), int(b), int(c), str(d)) for a, b, c, d in kept.get("pages") or ())
    for places in ([(h.start, h.end) for h in headings], [(p.start, p.end) for p in pages]):
        if outside := [(start, end) for start, end in places if not 0 <= start <= end <= length]:
            raise ValueError(f"characters {outside[0][0]} to {outside[0][1]} of {length}")
        if places != sorted(places, key=lambda place: place[0]):
            raise ValueError("they are not in order")
    return headings, pages


def splits(folder: Path) -> list[str]:
    """The names of the splits that `folder` has judgements for; none where it is no set."""
    return sorted(each.stem for each in (folder / "qrels").glob("*.tsv"))


def find_datasets(folder: Path) -> list[Path]:
    """`folder` itself if it is a set, or the sets directly in it, by name. Raises InputError if there is none."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}")
    if (folder / "qrels").is_dir():
        return [folder]
    found = sorted(each for each in folder.iterdir() if splits(each))
    if not found:
        raise InputError(
            f"{folder} is not a set in the BEIR layout and holds none: "
            "expected corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv"
        )
    return found


def load_dataset(folder: Path, split: str = "test") -> Dataset:
    """The set in `folder`. A pair judged twice keeps its last grade, and `Dataset.notes` counts such pairs.

    A judged query without a text is left out and counted in the notes. Raises InputError naming the file and line
    for what is missing or malformed.
    """
    file = folder / "qrels" / f"{split}.tsv"
    if not file.is_file():
        there = splits(folder)
        hint = f"; there are the splits {', '.join(there)}" if there else ": it is not a set in the BEIR layout"
        raise InputError(f"there is no {file}{hint}")
    qrels, notes = _read_qrels(file)
    queries: dict[str, str] = {}
    spans: dict[str, tuple[LabelledSpan, ...]] = {}
    source = find_file(folder, "queries")
    seen: set[str] = set()
    for number, row in json_rows(source):
        query_id = identifier_of(row, number, source)
        if query_id in seen:
            raise InputError(f"{source}, line {number}: query {query_id!r} comes twice in the queries")
        seen.add(query_id)
        if query_id not in qrels:
            continue
        queries[query_id] = text_of(row, "text", number, source)
        if labelled := _spans(row, number, source):
            spans[query_id] = labelled
    if missing := sorted(set(qrels) - set(queries)):
        if not queries:
            raise InputError(f"none of the {len(missing)} queries that {file} judges is in {source}")
        notes.append(f"{_count(len(missing), 'judged query')} without a text left out, {missing[0]!r} the first")
    return Dataset(
        name=folder.resolve().name,
        split=split,
        folder=folder,
        queries=queries,
        qrels={query_id: qrels[query_id] for query_id in queries},
        spans=spans,
        notes=tuple(notes),
    )


def _read_qrels(file: Path) -> tuple[dict[str, dict[str, int]], list[str]]:
    qrels: dict[str, dict[str, int]] = {}
    twice = negative = 0
    for number, line in enumerate(_lines(file), 1):
        fields = line.rstrip("\r\n").split("\t")
        if not line.strip() or (number == 1 and fields[-1].strip().lower() in _GRADE_COLUMN):
            continue
        try:
            query_id, document_id, written = fields
            grade = int(written)
        except ValueError:
            raise InputError(
                f"{file}, line {number}: expected query, document and a whole number, tab-separated"
            ) from None
        if not query_id or not document_id:
            raise InputError(f"{file}, line {number}: the query's or the document's id is empty")
        twice += document_id in qrels.setdefault(query_id, {})
        negative += grade < 0
        qrels[query_id][document_id] = grade
    if not qrels:
        raise InputError(f"{file} holds no judgements")
    notes = []
    if twice:
        notes.append(f"{_count(twice, 'pair')} judged twice in {file.name}: the last grade counts")
    if negative:
        notes.append(f"{_count(negative, 'grade')} below 0 in {file.name}: not relevant, as 0")
    return qrels, notes


def _spans(row: Mapping[str, Any], number: int, file: Path) -> tuple[LabelledSpan, ...]:
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise InputError(f"{file}, line {number}: metadata should be an object, got {metadata!r}")
    found: dict[LabelledSpan, None] = {}  # in order, each once: a label given twice is one label
    for each in metadata.get("spans") or ():
        try:
            span = LabelledSpan(each["document"], each["start"], each["end"])
        except (KeyError, TypeError):
            raise InputError(f"{file}, line {number}: a span needs document, start and end") from None
        if (
            not isinstance(span.document_id, str)
            or type(span.start) is not int
            or type(span.end) is not int
            or not 0 <= span.start < span.end
        ):
            raise InputError(
                f"{file}, line {number}: a span is a document's id and whole numbers with 0 <= start < end, got {each}"
            )
        found[span] = None
    return tuple(found)


def find_file(folder: Path, stem: str) -> Path:
    """The file of a set with this stem, plain or packed. Raises InputError if there is neither."""
    plain = folder / f"{stem}.jsonl"
    packed = folder / f"{stem}.jsonl.gz"
    if plain.is_file():
        return plain
    if packed.is_file():
        return packed
    raise InputError(f"{folder} has neither {plain.name} nor {packed.name}: it is not a set in the BEIR layout")


def _lines(file: Path) -> Iterator[str]:
    # The mark is no part of the first id. Lines end at line feeds alone: U+2028 within a text ends none.
    try:
        with gzip.open(file, "rt", encoding="utf-8-sig") if file.suffix == ".gz" else _plain(file) as lines:
            yield from lines
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8: {error}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{file} cannot be read: {error}") from None


def _plain(file: Path) -> IO[str]:
    return file.open(encoding="utf-8-sig")


def json_rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, with their line numbers. Raises InputError naming the line at fault."""
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file}, line {number}: not JSON: {error}") from None
        if not isinstance(row, dict):
            raise InputError(f"{file}, line {number}: expected an object")
        yield number, row


def identifier_of(row: Mapping[str, Any], number: int, file: Path) -> str:
    """The ``_id`` of a row. Raises InputError where it is no text, or empty."""
    identifier = text_of(row, "_id", number, file)
    if not identifier:
        raise InputError(f"{file}, line {number}: _id is empty")
    return identifier


def text_of(row: Mapping[str, Any], key: str, number: int, file: Path) -> str:
    """The text under `key` of a row. Raises InputError where it is none."""
    value = row.get(key)
    if not isinstance(value, str):
        raise InputError(f"{file}, line {number}: {key} should be text, got {value!r:.80}")
    return value


def _count(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun}" if number == 1 else f"{number} {plural}"
