"""A set of a few documents, written to disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["DOCUMENTS", "QRELS", "QUERIES", "make_set"]

DOCUMENTS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "Rent", "text": "The tenant pays rent on the third day. A late payment bears interest."},
    {"_id": "d2", "title": "Repairs", "text": "The landlord repairs the roof and the windows."},
    {"_id": "d3", "title": "", "text": "Photosynthesis turns light into sugar in green algae."},
    {"_id": "d4", "title": "Empty", "text": ""},
    {"_id": "d5", "title": "", "text": " \n"},
]

QUERIES: list[dict[str, Any]] = [
    {
        "_id": "q1",
        "text": "when does the tenant pay rent",
        "metadata": {"spans": [{"document": "d1", "start": 0, "end": 20}]},
    },
    {"_id": "q2", "text": "who repairs the roof"},
    {"_id": "q3", "text": "how do algae make sugar"},
    {"_id": "unjudged", "text": "nobody asked"},
]

QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d2": 1}, "q3": {"d3": 1}}


def make_set(
    folder: Path,
    documents: list[dict[str, Any]] | None = None,
    queries: list[dict[str, Any]] | None = None,
    qrels: dict[str, dict[str, int]] | None = None,
    split: str = "test",
) -> Path:
    """Write a set; what is not given is the one above."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    for stem, rows in (("corpus", documents or DOCUMENTS), ("queries", queries or QUERIES)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{stem}.jsonl").write_text(lines, encoding="utf-8")
    judged = [f"{q}\t{d}\t{grade}" for q, grades in (qrels or QRELS).items() for d, grade in grades.items()]
    text = "\n".join(["query-id\tcorpus-id\tscore", *judged, ""])
    (folder / "qrels" / f"{split}.tsv").write_text(text, encoding="utf-8")
    return folder
