"""Taking a document out of an evaluation set: its text, and every question that was made of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.errors import InputError
from pincite.evaluation.journal import JOURNAL

__all__ = ["Forgotten", "check_set", "forget_document"]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was taken out of a set."""

    folder: Path
    documents: int  #: rows of the corpus
    questions: int  #: whose answers were in the document
    events: int  #: of the journal, emptied or taken out


def forget_document(folder: Path, document_id: str) -> Forgotten:
    """Take a document out of the set in `folder`, each file in one step.

    A question whose answers all stand in it is taken out; one that others answer as well keeps those. In the journal
    the place of such a question stays, empty and rejected, so that no later one gets its id. Raises InputError for a
    folder that holds no set, and for a file of it that cannot be read.
    """
    check_set(folder)
    events = _rewrite(folder / JOURNAL, lambda rows: _journal(rows, document_id))
    documents = _rewrite(folder / "corpus.jsonl", lambda rows: _without(rows, document_id))
    gone: set[str] = set()
    questions = _rewrite(folder / "queries.jsonl", lambda rows: _queries(rows, document_id, gone))
    for file in sorted((folder / "qrels").glob("*.tsv")):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not _judges(line, document_id, gone)]
        if len(kept) < len(lines):
            _put(file, kept)
    return Forgotten(folder, documents, questions, events)


def check_set(folder: Path) -> None:
    """Raises InputError for a folder that holds no evaluation set."""
    names = ("corpus.jsonl", "queries.jsonl", JOURNAL)
    if not any((folder / name).is_file() for name in names):
        raise InputError(f"{folder} holds no evaluation set: none of {', '.join(names)} is there")


def _without(rows: Iterable[Any], document_id: str) -> tuple[list[Any], int]:
    everything = list(rows)
    kept = [row for row in everything if row.get("_id") != document_id]
    return kept, len(everything) - len(kept)


def _queries(rows: Iterable[Any], document_id: str, gone: set[str]) -> tuple[list[Any], int]:
    kept, changed = [], 0
    for row in rows:
        spans = (row.get("metadata") or {}).get("spans") or []
        others = [span for span in spans if span.get("document") != document_id]
        changed += len(others) < len(spans)
        if spans and not others:
            gone.add(str(row.get("_id")))
            continue
        if len(others) < len(spans):
            row = {**row, "metadata": {**row["metadata"], "spans": others}}
        kept.append(row)
    return kept, changed


def _judges(line: str, document_id: str, gone: set[str]) -> bool:
    query, _, rest = line.rstrip("\n").partition("\t")
    return query in gone or rest.split("\t")[0] == document_id


def _journal(rows: Iterable[Any], document_id: str) -> tuple[list[Any], int]:
    kept: list[Any] = []
    touched: dict[str, Mapping[str, Any]] = {}
    changed = 0
    for row in rows:
        proposal = row.get("proposal")
        if row.get("event") == "none" and row["asked"][0] == document_id:
            changed += 1
            continue
        if proposal is not None and (
            proposal["id"] in touched or any(label["document_id"] == document_id for label in proposal["labels"])
        ):
            empty = {**proposal, "question": "", "labels": [], "flags": []}
            touched[proposal["id"]] = empty
            row = {**row, "proposal": empty}
            changed += 1
        kept.append(row)
    # Rejected at the end, whatever was decided before: nobody is asked about an empty question.
    kept += [{"event": "decided", "decision": "rejected", "proposal": empty} for empty in touched.values()]
    return kept, changed


def _rewrite(file: Path, change: Callable[[Iterable[Any]], tuple[list[Any], int]]) -> int:
    """Write the rows anew that `change` leaves; how many it changed. A file that is not there has none."""
    if not file.is_file():
        return 0
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
        kept, changed = change(rows)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"{file} is damaged, it was left as it is: {error}") from None
    if changed:
        _put(file, (json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
    return changed


def _put(file: Path, lines: Iterable[str]) -> None:
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(lines)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
