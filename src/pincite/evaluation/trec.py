"""Runs and judgements in TREC's formats: ``qid Q0 docid rank score tag`` and ``qid 0 docid grade``, one a line.

Fields are parted by white space, so an id that holds white space, or is empty, cannot be written: it is refused, never
escaped, because other programs would read an escaped id as another document.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pincite.errors import InputError
from pincite.types import Qrels

__all__ = ["ScoredRun", "falling", "read_qrels", "read_run", "write_qrels", "write_run"]

ScoredRun: TypeAlias = "Mapping[str, Sequence[tuple[str, float]]]"
"""Query id → (document id, score), best first."""


def write_run(run: ScoredRun, file: Path, tag: str = "pincite") -> None:
    """Write `run` in its own order, with ranks from 1 and each score with all of its digits.

    trec_eval and programs like it sort by score, not by rank: where scores do not fall strictly, their order is
    theirs. A query without documents has no line. Raises InputError for an id or tag that is empty or holds white
    space, and for a score that is not finite, before anything is written.
    """
    _check(tag, "tag")
    lines = []
    for query_id, ranking in run.items():
        _check(query_id, "query")
        for rank, (document_id, score) in enumerate(ranking, 1):
            _check(document_id, "document")
            if not math.isfinite(score):
                raise InputError(f"query {query_id}: the score of document {document_id} is {score}")
            lines.append(f"{query_id} Q0 {document_id} {rank} {float(score)!r} {tag}\n")
    _write(file, lines)


def read_run(file: Path) -> dict[str, list[tuple[str, float]]]:
    """The run in `file`, each query's documents by their rank column; equal ranks stay in the file's order.

    Raises InputError naming the line that has not six fields, whose rank is no whole number or whose score is no
    finite number. The same document twice is kept twice: measuring counts it once and says so.
    """
    ranked: dict[str, list[tuple[int, str, float]]] = {}
    for number, fields in _fields(file):
        if len(fields) != 6:
            raise InputError(f"{file}, line {number}: expected qid Q0 docid rank score tag, got {len(fields)} fields")
        query_id, _, document_id, rank, score, _ = fields
        try:
            place, value = int(rank), float(score)
        except ValueError:
            raise InputError(
                f"{file}, line {number}: the rank {rank!r} should be a whole number, the score {score!r} a number"
            ) from None
        if not math.isfinite(value):
            raise InputError(f"{file}, line {number}: the score is {score}")
        ranked.setdefault(query_id, []).append((place, document_id, value))
    return {
        query_id: [(document_id, score) for _, document_id, score in sorted(rows, key=lambda row: row[0])]
        for query_id, rows in ranked.items()
    }


def write_qrels(qrels: Qrels, file: Path) -> None:
    """Write judgements. Raises InputError for an id that is empty or holds white space, before anything is written."""
    lines = []
    for query_id, grades in qrels.items():
        _check(query_id, "query")
        for document_id, grade in grades.items():
            _check(document_id, "document")
            lines.append(f"{query_id} 0 {document_id} {grade}\n")
    _write(file, lines)


def read_qrels(file: Path) -> dict[str, dict[str, int]]:
    """The judgements in `file`. Raises InputError naming the line that is malformed, or that judges a pair again."""
    qrels: dict[str, dict[str, int]] = {}
    for number, fields in _fields(file):
        if len(fields) != 4:
            raise InputError(f"{file}, line {number}: expected qid 0 docid grade, got {len(fields)} fields")
        query_id, _, document_id, written = fields
        try:
            grade = int(written)
        except ValueError:
            raise InputError(f"{file}, line {number}: the grade {written!r} should be a whole number") from None
        if document_id in qrels.setdefault(query_id, {}):
            raise InputError(f"{file}, line {number}: query {query_id} and document {document_id} are judged twice")
        qrels[query_id][document_id] = grade
    return qrels


def falling(ranking: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The same order with scores that fall from place to place, so that a program that sorts by score keeps it.

    The scores stay where they fall already, as float32 too; else they are the number of documents from here to the end.

    >>> falling([("b", 0.5), ("a", 0.5)])
    [('b', 2.0), ('a', 1.0)]
    """
    import numpy as np

    scores = np.array([score for _, score in ranking], dtype=np.float32)
    if bool((scores[1:] < scores[:-1]).all()):
        return list(ranking)
    return [(document_id, float(len(ranking) - place)) for place, (document_id, _) in enumerate(ranking)]


def _check(value: str, what: str) -> None:
    if not value or any(character.isspace() for character in value):
        raise InputError(f"the {what} {value!r} is empty or holds white space: TREC's format cannot hold it")


def _fields(file: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        with file.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line.split()
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8: {error}") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None


def _write(file: Path, lines: Sequence[str]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(lines)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
    except UnicodeEncodeError as error:
        raise InputError(f"an id holds a lone surrogate, which is not text: {error}") from None
