"""A journal as a folder in the BEIR layout: the accepted questions over the documents of an index as it is now."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.errors import InputError
from pincite.evaluation.journal import Journal, Label, Proposal
from pincite.evaluation.quotes import find_quote

if TYPE_CHECKING:
    from pincite.protocols import Store
    from pincite.types import Document

__all__ = ["Written", "check_splits", "split_of", "write_set"]


@dataclass(frozen=True, slots=True)
class Written:
    """What `write_set` wrote."""

    questions: int
    documents: int
    splits: Mapping[str, int]
    lost: tuple[str, ...] = ()  #: ids of questions whose words are no longer in their documents: left out
    moved: int = 0  #: labels that were found again in a later version of their document


def split_of(question_id: str, splits: Sequence[str]) -> str:
    """The one of `splits` that a question belongs to: by the hash of its id, so that it never changes sides."""
    return splits[int.from_bytes(hashlib.sha256(question_id.encode()).digest()[:4], "big") % len(splits)]


def check_splits(splits: Sequence[str]) -> None:
    """Raises InputError for a name of a split that is no file name, and where there is none."""
    if not splits:
        raise InputError("a set needs a split: name one, like test")
    for name in splits:
        if not re.fullmatch(r"[\w-]+", name):
            raise InputError(f"a split is named with letters, digits, - and _, got {name!r}")


def write_set(folder: Path, journal: Journal, store: Store, *, splits: Sequence[str] = ("test",)) -> Written:
    """Write the accepted questions over all current documents of `store` in the BEIR layout, each file in one step.

    A label is where its words are: at the same place if they still stand there, else at the nearest place of the
    document as it is now that holds them. A question that loses all its labels is left out and counted, never guessed.
    Documents carry their headings and pages as metadata, so that a set can be cut again as the index is. Raises
    InputError for a name of a split that is no file name, and where the folder holds a split that is not among
    `splits`: its questions would be in two.
    """
    check_splits(splits)
    if others := sorted({each.stem for each in (folder / "qrels").glob("*.tsv")} - set(splits)):
        raise InputError(f"{folder} holds the split {others[0]}, too: name all its splits with --split")
    by_id: dict[str, Document | None] = {}
    lost, moved = [], 0
    queries: list[dict[str, Any]] = []
    rows: dict[str, list[str]] = {split: [] for split in splits}
    counts = dict.fromkeys(splits, 0)
    for proposal in journal.accepted():
        labels = []
        for label in proposal.labels:
            if label.document_id not in by_id:
                by_id[label.document_id] = store.get_document(label.document_id)
            now = _current(label, by_id[label.document_id])
            if now is not None:
                labels.append(now)
                moved += now != label
        if not labels:
            lost.append(proposal.id)
            continue
        queries.append(_query(proposal, labels, seen=journal.decisions[proposal.id] == "accepted"))
        split = split_of(proposal.id, splits)
        counts[split] += 1
        rows[split] += [f"{proposal.id}\t{document}\t1\n" for document in dict.fromkeys(e.document_id for e in labels)]
    documents = 0

    def corpus() -> Iterator[str]:
        nonlocal documents
        for each in store.documents():
            if (document := store.get_document(each.id)) is not None:
                documents += 1
                yield _json(_row(document))

    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    _put(folder / "corpus.jsonl", corpus())
    _put(folder / "queries.jsonl", map(_json, queries))
    for split, lines in rows.items():
        _put(folder / "qrels" / f"{split}.tsv", ["query-id\tcorpus-id\tscore\n", *lines])
    written = Written(len(queries), documents, counts, tuple(lost), moved)
    _put(folder / "README.md", [_readme(journal, written, queries)])
    return written


def _current(label: Label, document: Document | None) -> Label | None:
    if document is None:
        return None
    # Not by the version: an index that was made anew counts from 1 again.
    same = document.text[label.start : label.end] == label.quote
    span = (label.start, label.end) if same else find_quote(document.text, label.quote, label.start)
    return span and Label(document.id, document.version, *span, document.text[slice(*span)])


def _query(proposal: Proposal, labels: Sequence[Label], *, seen: bool) -> dict[str, Any]:
    person = proposal.made_by == "person"
    return {
        "_id": proposal.id,
        "text": proposal.question,
        "metadata": {
            "spans": [
                {"document": e.document_id, "start": e.start, "end": e.end, "version": e.version, "quote": e.quote}
                for e in labels
            ],
            "made_by": "person" if person else "model",
            **({} if person else {"model": proposal.made_by}),
            "accepted": seen,
            "edited": proposal.edited,
            "flags": list(proposal.flags),
        },
    }


def _row(document: Document) -> dict[str, Any]:
    return {
        "_id": document.id,
        "title": document.title,
        "text": document.text,
        "metadata": {
            "uri": document.uri,
            "version": document.version,
            "media_type": document.media_type,
            "headings": [[h.level, h.text, h.start, h.end] for h in document.headings],
            "pages": [[p.number, p.start, p.end, p.label] for p in document.pages],
        },
    }


def _json(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _put(file: Path, lines: Iterable[str]) -> None:
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", errors="replace", newline="\n") as opened:
            opened.writelines(lines)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)


def _readme(journal: Journal, written: Written, queries: Sequence[Mapping[str, Any]]) -> str:
    begun = journal.header
    made = Counter(query["metadata"]["made_by"] for query in queries)
    models = sorted({each.made_by for each in journal.proposals.values()} - {"person"})
    proposed = sum(each.made_by != "person" for each in journal.proposals.values())
    rows = {
        "questions": f"{written.questions} ({', '.join(f'{n} in {split}' for split, n in written.splits.items())})",
        "made by": ", ".join(f"{who}: {n}" for who, n in sorted(made.items())) or "nobody yet",
        "looked at by a person": f"{sum(q['metadata']['accepted'] for q in queries)} of {written.questions}",
        "flagged (copied words, near-duplicate, points at the text, ambiguous)": sum(
            bool(query["metadata"]["flags"]) for query in queries
        ),
        "documents": written.documents,
        "model": ", ".join(models) or "none",
        "proposed by the model": f"{proposed}, in {journal.calls} calls",
        "no proposal": ", ".join(f"{why}: {n}" for why, n in sorted(journal.reasons.items())) or "none",
        "rejected in review": sum(decision == "rejected" for decision in journal.decisions.values()),
        "lost: words no longer in the document": len(written.lost),
        "seed": begun.get("seed"),
        "begun": begun.get("begun"),
        "encoder of the index": begun.get("encoder"),
        "documents limited by": begun.get("where") or "nothing",
    }
    return f"""\
# An evaluation set made with pincite

Questions over the documents of one index, with the exact words that answer them. BEIR layout:
`corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`; `metadata.spans` of a query are half-open character
offsets into the text of a document. `journal.jsonl` holds every proposal and decision: keep it to go on with
`--resume`.

| | |
|---|---|
{chr(10).join(f"| {name} | {value} |" for name, value in rows.items())}

Only the documents named in the qrels were judged. Another may answer a question too; it counts as a miss.
"""
