"""Questions with gold answers, in the BEIR layout: what a reader is measured on.

Beside what `pincite.evaluation.datasets` reads, the metadata of a query in ``queries.jsonl`` holds its answers:

    {"_id": "q1", "text": "When was it built?", "metadata": {"answers": [{"text": "1889", "answer_start": 52}]}}
    {"_id": "q2", "text": "Who owns it?", "metadata": {"answer": "the city", "other_answers": ["Paris"]}}
    {"_id": "q3", "text": "Who painted it?", "metadata": {"answerable": false, "passage": "d1"}}

``answers`` are texts, or objects with a ``text``; ``answer`` is one text, or a list. A query is without an answer where
``answerable`` is false, or where ``answers`` or ``answer`` is there and holds none. The judgements name the passages
that hold the answer. A query without an answer needs none; ``passage`` may then name the document that looks right and
does not hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pincite.errors import InputError
from pincite.evaluation.datasets import Dataset, find_file, identifier_of, json_rows, load_dataset, text_of

__all__ = ["AnswerSet", "Question", "load_answer_set", "sample_questions"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what is known of its answer."""

    id: str
    text: str
    answers: tuple[str, ...]  #: each of them is right, each once, in order; none where the passages do not answer it
    gold: tuple[str, ...]  #: documents that hold the answer, best judged first; none where no judgement names one
    shown: str = ""  #: of a question without an answer: the document that looks right and does not hold one

    @property
    def answerable(self) -> bool:
        """Whether there is an answer."""
        return bool(self.answers)


@dataclass(frozen=True, slots=True)
class AnswerSet:
    """Questions over a corpus. `dataset` has the corpus, and the judgements of the answerable ones."""

    dataset: Dataset
    questions: tuple[Question, ...]
    total: int  #: questions of the split; more than `questions` where a sample was taken
    notes: tuple[str, ...] = ()  #: what was odd in the files, in words

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.dataset.name


def load_answer_set(folder: Path, split: str = "test") -> AnswerSet:
    """The questions of the set in `folder`, in the file's order: those that `split` judges and those without an answer.

    The latter need no judgement and belong to every split. A judged query whose metadata says nothing of answers is
    left out and counted in the notes. Raises InputError for a set that has no answers, saying what is needed, for what
    is malformed with the line, and as `load_dataset` does.
    """
    dataset = load_dataset(folder, split)
    questions: list[Question] = []
    silent = 0
    for where, query_id, text, metadata in _queries(folder):
        judged = dataset.qrels.get(query_id)
        answers = _answers(metadata, where)
        if answers is None or (judged is None and answers):
            silent += answers is None and judged is not None
            continue
        grades = judged or {}
        gold = sorted((each for each, grade in grades.items() if grade > 0), key=lambda each: -grades[each])
        shown = metadata.get("passage")
        questions.append(
            Question(
                id=query_id,
                text=text,
                answers=answers,
                gold=tuple(gold) if answers else (),
                shown="" if answers or not isinstance(shown, str) else shown,
            )
        )
    if not questions:
        raise InputError(
            f"{folder} has questions but no answers: give each query of queries.jsonl its own as "
            '"metadata": {"answers": [{"text": "…"}]}, or {"answerable": false} where the corpus does not hold one'
        )
    notes = list(dataset.notes)
    if silent:
        notes.append(f"{silent} judged {'query' if silent == 1 else 'queries'} without a word on answers left out")
    return AnswerSet(dataset, tuple(questions), len(questions), tuple(notes))


def sample_questions(answers: AnswerSet, count: int | None, seed: int = 0) -> AnswerSet:
    """The set with `count` of its questions, drawn by the seed, in their order; all of them for None.

    Raises InputError for a count below 1.
    """
    if count is None or count >= len(answers.questions):
        return answers
    if count < 1:
        raise InputError(f"the number of questions must be at least 1, got {count}")
    drawn = np.random.default_rng(seed).choice(len(answers.questions), size=count, replace=False)
    return replace(answers, questions=tuple(answers.questions[i] for i in sorted(int(i) for i in drawn)))


def _queries(folder: Path) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Every query as (where it stands, id, text, metadata)."""
    file = find_file(folder, "queries")
    for number, row in json_rows(file):
        where = f"{file}, line {number}"
        metadata = row.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise InputError(f"{where}: metadata should be an object, got {metadata!r:.80}")
        yield where, identifier_of(row, number, file), text_of(row, "text", number, file), metadata


def _answers(metadata: Mapping[str, Any], where: str) -> tuple[str, ...] | None:
    """The gold answers; empty for a question without one, None where nothing is said of answers."""
    said = [key for key in ("answers", "answer", "answerable") if metadata.get(key) is not None]
    if not said:
        return None
    answerable = metadata.get("answerable")
    if answerable is not None and not isinstance(answerable, bool):
        raise InputError(f"{where}: answerable should be true or false, got {answerable!r:.80}")
    found: dict[str, None] = {}
    for key in ("answers", "answer", "other_answers"):
        given = metadata.get(key)
        for each in given if isinstance(given, list) else [] if given is None else [given]:
            text = each.get("text", each.get("answer")) if isinstance(each, dict) else each
            if not isinstance(text, str):
                raise InputError(f'{where}: {key} should hold texts, or objects {{"text": "…"}}, got {each!r:.80}')
            if text.strip():
                found[text.strip()] = None
    if answerable is False:
        if found:
            raise InputError(f"{where}: answerable is false, and there is the answer {next(iter(found))!r:.80}")
        return ()
    if answerable and not found:
        raise InputError(f"{where}: answerable is true, and there is no answer")
    return tuple(found)
