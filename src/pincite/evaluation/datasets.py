"""Evaluation sets in the BEIR layout, from a folder: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/SPLIT.tsv``.

Each of the first two may be gzipped. A query's metadata may carry ``spans``: where in the documents its answer stands,
as ``{"document": id, "start": n, "end": n}`` with half-open offsets into the document's text. Labels that are spans
stay true however the documents are cut.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pincite.errors import InputError
from pincite.types import Qrels

__all__ = ["Dataset", "LabelledSpan", "Record", "load_dataset"]


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """Where an answer stands: a half-open range of characters of a document of the set."""

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
    qrels: Qrels
    spans: Mapping[str, tuple[LabelledSpan, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  #: what was odd in the files, in words: duplicates, judged queries without a text

    def documents(self) -> Iterator[Record]:
        """The corpus, read from its file each time. Raises InputError for an id that comes twice."""
        seen: set[str] = set()
        for number, row in _rows(self.folder, "corpus"):
            identifier = _text(row, "_id", number, self.folder / "corpus.jsonl")
            if identifier in seen:
                raise InputError(f"{self.folder}: document {identifier!r} comes twice in the corpus")
            seen.add(identifier)
            yield Record(
                id=identifier,
                text=_text(row, "text", number, self.folder / "corpus.jsonl"),
                title=row.get("title") or "",
                metadata=row.get("metadata") or {},
            )


def load_dataset(folder: Path, split: str = "test") -> Dataset:
    """The set in `folder`. A pair judged twice keeps its last grade, and `Dataset.notes` counts such pairs.

    Raises InputError naming the file and line for what is missing or malformed.
    """
    file = folder / "qrels" / f"{split}.tsv"
    if not file.is_file():
        there = sorted(each.stem for each in (folder / "qrels").glob("*.tsv"))
        hint = f"; there are the splits {', '.join(there)}" if there else ": it is not a set in the BEIR layout"
        raise InputError(f"there is no {file}{hint}")
    qrels: dict[str, dict[str, int]] = {}
    twice = 0
    for number, line in enumerate(file.read_text(encoding="utf-8-sig").splitlines(), 1):
        fields = line.split("\t")
        if not line.strip() or (number == 1 and fields[-1].strip() == "score"):
            continue
        try:
            query_id, document_id, grade = fields
            twice += document_id in qrels.setdefault(query_id, {})
            qrels[query_id][document_id] = int(grade)
        except ValueError:
            raise InputError(
                f"{file}, line {number}: expected query, document and a whole number, tab-separated"
            ) from None
    queries: dict[str, str] = {}
    spans: dict[str, tuple[LabelledSpan, ...]] = {}
    for number, row in _rows(folder, "queries"):
        query_id = _text(row, "_id", number, folder / "queries.jsonl")
        if query_id not in qrels:
            continue
        if query_id in queries:
            raise InputError(f"{folder}: query {query_id!r} comes twice in the queries")
        queries[query_id] = _text(row, "text", number, folder / "queries.jsonl")
        if labelled := (row.get("metadata") or {}).get("spans"):
            try:
                spans[query_id] = tuple(
                    LabelledSpan(str(each["document"]), int(each["start"]), int(each["end"])) for each in labelled
                )
            except (KeyError, TypeError, ValueError):
                raise InputError(
                    f"{folder / 'queries.jsonl'}, line {number}: a span needs document, start and end"
                ) from None
    notes = []
    if twice:
        notes.append(f"{twice} pairs are judged twice in {file.name}: the last grade counts")
    if missing := sorted(set(qrels) - set(queries)):
        notes.append(f"{len(missing)} judged queries have no text and are left out, {missing[0]!r} the first")
    return Dataset(
        name=folder.resolve().name,
        split=split,
        folder=folder,
        queries=queries,
        qrels={query_id: qrels[query_id] for query_id in queries},
        spans=spans,
        notes=tuple(notes),
    )


def _rows(folder: Path, stem: str) -> Iterator[tuple[int, dict[str, Any]]]:
    plain = folder / f"{stem}.jsonl"
    packed = folder / f"{stem}.jsonl.gz"
    if not plain.is_file() and not packed.is_file():
        raise InputError(f"{folder} has neither {plain.name} nor {packed.name}: it is not a set in the BEIR layout")
    file = plain if plain.is_file() else packed
    with plain.open(encoding="utf-8") if file is plain else gzip.open(packed, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InputError(f"{file}, line {number}: not JSON: {error}") from None
            if not isinstance(row, dict):
                raise InputError(f"{file}, line {number}: expected an object")
            yield number, row


def _text(row: Mapping[str, Any], key: str, number: int, file: Path) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise InputError(f"{file}, line {number}: {key} should be text, got {value!r}")
    return value
