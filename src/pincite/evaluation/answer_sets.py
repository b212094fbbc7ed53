"""Questions with gold answers, in the BEIR layout: what a reader is measured on.

Beside what `pincite.evaluation.datasets` reads, the metadata of a query in ``queries.jsonl`` holds its answers:

    {"_id": "q1", "text": "When was it built?", "metadata": {"answers": [{"text": "1889", "answer_start": 52}]}}
    {"_id": "q2", "text": "Who owns it?", "metadata": {"answer": "the city", "other_answers": ["Paris"]}}
    {"_id": "q3", "text": "Who painted it?", "metadata": {"answerable": false, "passage": "d1"}}

``answers`` are texts, or objects with a ``text``; ``answer`` is one text, or a list. ``answer_start`` may say at which
character of a gold passage's text, its title not counted, the answer begins. A query is without an answer where
``answerable`` is false, or where ``answers`` or ``answer`` is there and holds none. The judgements name the passages
that hold the answer. A query without an answer needs none; ``passage`` may then name the document that looks right and
does not hold it. ``gold_sentences`` may list the sentences of the gold documents that an answer rests on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

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
    sentences: tuple[str, ...] = ()  #: of the gold documents, those that the answer rests on, where the set names them

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


class _Given(NamedTuple):
    """A gold answer as the file has it, without white space around it."""

    text: str
    start: int | None  #: the character of a gold passage's text at which it is said to begin


class _Row(NamedTuple):
    """A question that is asked, not yet held against the corpus."""

    where: str
    question: Question
    given: tuple[_Given, ...]


def load_answer_set(folder: Path, split: str = "test") -> AnswerSet:
    """The questions of the set in `folder`, in the file's order: those that `split` judges and those without an answer.

    The latter need no judgement and belong to every split. The corpus is read once, to hold the questions against it.
    The notes count what is left out: judged queries whose metadata says nothing of answers, questions with an answer
    that the split does not judge, gold documents that the corpus lacks beside others that it has. They count answers
    that no gold passage holds as well: answers may be written freely.

    Raises InputError for a set that has no answers, saying what is needed; with the line for what is malformed, for a
    question without a text, an ``answer_start`` at which no gold passage has the answer, and a ``passage`` that the
    corpus lacks; with the query and the document where the corpus lacks all that is relevant to a question; and as
    `load_dataset` does.
    """
    dataset = load_dataset(folder, split)
    rows: list[_Row] = []
    silent = 0
    unjudged: list[str] = []
    for where, query_id, text, metadata in _queries(folder):
        judged = dataset.qrels.get(query_id)
        given = _answers(metadata, where)
        if given is None:
            silent += judged is not None
        elif given and judged is None:
            unjudged.append(query_id)
        else:
            if not text.strip():
                raise InputError(f"{where}: the question {query_id!r} is empty: text should hold it")
            rows.append(_Row(where, _question(query_id, text, given, judged or {}, metadata, where), given))
    judgements = folder / "qrels" / f"{split}.tsv"
    if not rows and unjudged:
        raise InputError(
            f"{judgements} judges no question that has an answer: give it a line for each, "
            f"{unjudged[0]!r} the first, that names the document which holds the answer"
        )
    if not rows:
        raise InputError(
            f"{folder} has questions but no answers: give each query of queries.jsonl its own as "
            '"metadata": {"answers": [{"text": "…"}]}, or {"answerable": false} where the corpus does not hold one'
        )
    notes = list(dataset.notes)
    if silent:
        notes.append(f"{silent} judged {'query' if silent == 1 else 'queries'} without a word on answers left out")
    if unjudged:
        these = "question with an answer" if len(unjudged) == 1 else "questions with an answer"
        notes.append(f"{len(unjudged)} {these} left out: {judgements.name} does not judge {unjudged[0]!r}, the first")
    questions, odd = _held_against_corpus(dataset, rows, judgements)
    return AnswerSet(dataset, tuple(questions), len(questions), (*notes, *odd))


def _question(
    query_id: str,
    text: str,
    given: tuple[_Given, ...],
    grades: Mapping[str, int],
    metadata: Mapping[str, Any],
    where: str,
) -> Question:
    if given:
        gold = sorted((each for each, grade in grades.items() if grade > 0), key=lambda each: -grades[each])
        answers = tuple(dict.fromkeys(each.text for each in given))
        return Question(query_id, text, answers, tuple(gold), sentences=_sentences(metadata, where))
    shown = metadata.get("passage")
    if shown is not None and not isinstance(shown, str):
        raise InputError(f"{where}: passage should be the id of a document, got {shown!r:.80}")
    return Question(query_id, text, (), (), shown or "")


def _held_against_corpus(dataset: Dataset, rows: list[_Row], judgements: Path) -> tuple[list[Question], list[str]]:
    """The questions with those gold documents that there are, and what was odd, in words."""
    wanted = {each for row in rows for each in (*row.question.gold, row.question.shown)}
    texts = {each.id: each.text for each in dataset.documents() if each.id in wanted}
    flat = {name: _flat(text) for name, text in texts.items()}
    questions: list[Question] = []
    gone: list[tuple[str, str]] = []
    nowhere: list[tuple[str, str]] = []
    answers = 0
    for where, question, given in rows:
        if question.shown and question.shown not in texts:
            raise InputError(
                f"{where}: passage names {question.shown!r}, and {dataset.corpus_file.name} has no such _id"
            )
        gold = tuple(each for each in question.gold if each in texts)
        if question.gold and not gold:
            raise InputError(
                f"{judgements}: query {question.id!r} is given the document {question.gold[0]!r}, "
                f"and {dataset.corpus_file.name} has no such _id: nothing that is found could be right"
            )
        gone += [(each, question.id) for each in question.gold if each not in texts]
        if gold:
            _check_starts(where, given, {name: texts[name] for name in gold})
            answers += len(question.answers)
            held = [flat[name] for name in gold]
            nowhere += [(each, question.id) for each in question.answers if not any(_flat(each) in t for t in held)]
        questions.append(replace(question, gold=gold))
    notes = []
    if gone:
        these = "relevant document" if len(gone) == 1 else "relevant documents"
        notes.append(
            f"{len(gone)} {these} left out: the corpus lacks {gone[0][0]!r} of query {gone[0][1]!r}, the first"
        )
    if nowhere:
        verb = "stands" if len(nowhere) == 1 else "stand"
        notes.append(
            f"{len(nowhere)} of {answers} gold answers {verb} in no gold passage, that of query {nowhere[0][1]!r} the "
            "first: a reader that quotes cannot match what is written freely"
        )
    return questions, notes


def _check_starts(where: str, given: tuple[_Given, ...], texts: Mapping[str, str]) -> None:
    """Raises InputError for an answer that no gold passage has where it is said to begin."""
    for text, start in given:
        if start is None or any(each.startswith(text, start) for each in texts.values()):
            continue
        name, passage = next(iter(texts.items()))
        there = passage[start : start + max(len(text), 1)]
        raise InputError(
            f"{where}: the answer {text!r:.80} does not begin at character {start} of document {name!r}, where there "
            f"is {there!r:.80}: answer_start counts the characters of the text from 0, without the title; it may be "
            "left out"
        )


def _flat(text: str) -> str:
    """Without differences of case and white space."""
    return " ".join(text.split()).casefold()


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


def _answers(metadata: Mapping[str, Any], where: str) -> tuple[_Given, ...] | None:
    """The gold answers; empty for a question without one, None where nothing is said of answers."""
    said = [key for key in ("answers", "answer", "answerable") if metadata.get(key) is not None]
    if not said:
        return None
    answerable = metadata.get("answerable")
    if answerable is not None and not isinstance(answerable, bool):
        raise InputError(f"{where}: answerable should be true or false, got {answerable!r:.80}")
    found: list[_Given] = []
    for key in ("answers", "answer", "other_answers"):
        given = metadata.get(key)
        for each in given if isinstance(given, list) else [] if given is None else [given]:
            text = each.get("text", each.get("answer")) if isinstance(each, dict) else each
            if not isinstance(text, str):
                raise InputError(f'{where}: {key} should hold texts, or objects {{"text": "…"}}, got {each!r:.80}')
            start = _start(each, where) if isinstance(each, dict) else None
            if text.strip():
                before = len(text) - len(text.lstrip())
                found.append(_Given(text.strip(), None if start is None else start + before))
    if answerable is False:
        if found:
            raise InputError(f"{where}: answerable is false, and there is the answer {found[0].text!r:.80}")
        return ()
    if answerable and not found:
        raise InputError(f"{where}: answerable is true, and there is no answer")
    return tuple(found)


def _sentences(metadata: Mapping[str, Any], where: str) -> tuple[str, ...]:
    given = metadata.get("gold_sentences") or []
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise InputError(f"{where}: gold_sentences should be a list of texts, got {given!r:.80}")
    return tuple(dict.fromkeys(each for each in given if each.strip()))


def _start(answer: Mapping[str, Any], where: str) -> int | None:
    start = answer.get("answer_start")
    if start is not None and (type(start) is not int or start < 0):
        raise InputError(f"{where}: answer_start should be a whole number from 0 on, or left out, got {start!r:.80}")
    return start
