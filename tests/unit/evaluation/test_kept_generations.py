from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pincite.errors import BackendError, InputError
from pincite.evaluation.answer_sets import AnswerSet, Question
from pincite.evaluation.kept_generations import KeptGenerator
from pincite.evaluation.labelling import label_questions
from pincite.types import (
    Answer,
    Chunk,
    Evidence,
    Generation,
    Hit,
    Marginal,
    Passage,
    Prompt,
    SentenceShares,
    Token,
)

MARGINAL = Marginal("token", -1.0, (0.7, 0.3), (0.9, 0.1), "exact", 0.0, -3.0, (SentenceShares(0, 4, (0.9, 0.1)),))
WRITTEN: list[Token | Generation] = [
    Token("Rent", -0.5, (0.9, 0.1), -2.0),
    Generation("Rent", (Token("Rent", -0.5),), "stop", {"n": 1}, "m", (0,), ((0, 4),), MARGINAL, "no"),
]


class ToyGenerator:
    """Writes the same whatever is asked, and counts."""

    name = "toy"
    cites = False

    def __init__(self) -> None:
        self.asked = 0

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:  # noqa: ARG002
        self.asked += 1
        yield from WRITTEN

    def count_tokens(self, text: str) -> int:
        return len(text)

    def close(self) -> None:
        """Nothing is held."""


def prompt(question: str = "q?", score: float = 0.5) -> Prompt:
    chunk = Chunk("d.1.0", "d", 1, "Rent is due.", 0, 12, 0)
    return Prompt(question, (Passage(chunk, "T", "u", Hit("d.1.0", score, 1, "fused")),))


def test_what_is_kept_is_what_was_written(tmp_path: Path) -> None:
    inner = ToyGenerator()
    kept = KeptGenerator(inner, tmp_path / "a" / "k.jsonl", "r")
    assert list(kept.stream(prompt())) == WRITTEN
    again = KeptGenerator(inner, tmp_path / "a" / "k.jsonl", "r")
    assert list(again.stream(prompt())) == WRITTEN
    assert (inner.asked, kept.taken, again.taken) == (1, 0, 1)
    assert again.count_tokens("abc") == 3


def test_another_question_score_or_recipe_is_asked(tmp_path: Path) -> None:
    inner, file = ToyGenerator(), tmp_path / "k.jsonl"
    kept = KeptGenerator(inner, file, "r")
    for each in (prompt(), prompt("other?"), prompt(score=0.6)):
        list(kept.stream(each))
    list(KeptGenerator(inner, file, "another").stream(prompt()))
    list(KeptGenerator(inner, file, "r", fresh=True).stream(prompt()))
    assert inner.asked == 5


def test_a_line_cut_short_is_asked_again_and_spoils_no_other(tmp_path: Path) -> None:
    inner, file = ToyGenerator(), tmp_path / "k.jsonl"
    list(KeptGenerator(inner, file, "r").stream(prompt("one?")))
    whole = file.read_text()
    file.write_text(whole + "\n" + whole[: len(whole) // 2])
    list(KeptGenerator(inner, file, "r").stream(prompt("two?")))
    last = KeptGenerator(inner, file, "r")
    list(last.stream(prompt("one?")))
    list(last.stream(prompt("two?")))
    assert (inner.asked, last.taken) == (2, 2)


def questions(*rows: tuple[str, tuple[str, ...]]) -> AnswerSet:
    made = tuple(Question(name, f"{name}?", ("a",) if gold else (), gold) for name, gold in rows)
    dataset: Any = type("Named", (), {"name": "toy"})()
    return AnswerSet(dataset, made, len(made))


def answered(question: str) -> Answer:
    return Answer(question, "Rent.", (), prompt().passages, evidence=Evidence())


def test_what_was_not_found_counts_as_not_answered() -> None:
    labels = label_questions(questions(("a", ("d",)), ("b", ("elsewhere",)), ("c", ())), answered)
    assert [row.answerable for row in labels.rows] == [True, False, False]
    assert labels.not_found == 1


def test_failures_are_told_and_many_in_a_row_end_it() -> None:
    def some(question: str) -> Answer:
        if question.startswith("b"):
            raise InputError("too long")
        return answered(question)

    labels = label_questions(questions(("a", ("d",)), ("b", ("d",))), some)
    assert (len(labels.rows), labels.failed) == (1, {"b": "too long"})

    def none(question: str) -> Answer:
        raise BackendError(f"gone: {question}")

    with pytest.raises(BackendError, match="5 questions failed one after another"):
        label_questions(questions(*((str(i), ("d",)) for i in range(9))), none)
