"""Questions with gold answers, read from the BEIR layout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from eval_helpers import make_set

from pincite.errors import InputError
from pincite.evaluation.answer_sets import AnswerSet, Question, load_answer_set, sample_questions

DATA = Path(os.environ.get("PINCITE_DATA", Path(__file__).resolve().parents[4] / "shared" / "data")) / "beir"


def query(identifier: str, **metadata: Any) -> dict[str, Any]:
    return {"_id": identifier, "text": f"question {identifier}", "metadata": metadata}


def load(folder: Path, *queries: dict[str, Any], qrels: dict[str, dict[str, int]] | None = None) -> AnswerSet:
    judged = {each["_id"]: {"d1": 1} for each in queries} if qrels is None else qrels
    return load_answer_set(make_set(folder / "asked", queries=list(queries), qrels=judged))


def test_the_forms_an_answer_may_have(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        query("q1", answers=[{"text": "308", "answer_start": 34}, {"text": " 308 "}, {"text": "three hundred"}]),
        query("q2", answer="the city", other_answers=[{"answer": "Paris"}, "Lyon"], answerable=True),
        query("q3", answers=["one", "two"]),
    )
    assert [each.answers for each in found.questions] == [
        ("308", "three hundred"),
        ("the city", "Paris", "Lyon"),
        ("one", "two"),
    ]
    assert found.questions[0] == Question("q1", "question q1", ("308", "three hundred"), ("d1",))
    assert (found.name, found.total, found.notes) == ("asked", 3, ())


def test_gold_passages_are_the_relevant_ones_best_first(tmp_path: Path) -> None:
    qrels = {"q1": {"d1": 1, "d2": 0, "d3": 3}, "q2": {"d1": 0}}
    found = load(tmp_path, query("q1", answer="x"), query("q2", answer="y"), qrels=qrels)
    assert [each.gold for each in found.questions] == [("d3", "d1"), ()]


def test_questions_without_an_answer_need_no_judgement(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        query("q1", answer="x"),
        query("q2", answerable=False, answer="", passage="d2"),
        query("q3", answers=[]),
        query("elsewhere", answer="judged in another split"),
        query("silent"),
        qrels={"q1": {"d1": 1}, "q3": {"d1": 1}},
    )
    assert [(each.id, each.answerable, each.gold, each.shown) for each in found.questions] == [
        ("q1", True, ("d1",), ""),
        ("q2", False, (), "d2"),
        ("q3", False, (), ""),
    ]


def test_a_judged_query_without_a_word_on_answers_is_left_out_and_counted(tmp_path: Path) -> None:
    found = load(tmp_path, query("q1", answer="x"), query("q2", spans=[]))
    assert [each.id for each in found.questions] == ["q1"]
    assert found.notes == ("1 judged query without a word on answers left out",)


def test_a_set_without_answers_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"questions but no answers.*\"answers\": \[\{\"text\": .*\"answerable\": false"
    ):
        load_answer_set(make_set(tmp_path / "tiny"))


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"answers": [{"start": 3}]}, r"line 1: answers should hold texts"),
        ({"answer": 7}, r"line 1: answer should hold texts.*got 7"),
        ({"answerable": "no"}, r"line 1: answerable should be true or false, got 'no'"),
        ({"answerable": True}, r"line 1: answerable is true, and there is no answer"),
        ({"answerable": False, "answer": "x"}, r"line 1: answerable is false, and there is the answer 'x'"),
        ({"answer": "x", "other_answers": [None]}, r"line 1: other_answers should hold texts"),
    ],
)
def test_what_is_malformed_is_named_with_its_line(tmp_path: Path, metadata: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load(tmp_path, query("q1", **metadata))


def test_a_sample_is_drawn_by_the_seed_and_keeps_the_order(tmp_path: Path) -> None:
    whole = load(tmp_path, *(query(f"q{i:02d}", answer="x") for i in range(20)))
    some = sample_questions(whole, 5, seed=3)
    names = [each.id for each in some.questions]
    assert len(names) == 5
    assert names == sorted(names)
    assert some.total == 20
    assert sample_questions(whole, 5, seed=3) == some
    assert sample_questions(whole, 5, seed=4) != some
    assert sample_questions(whole, None) is sample_questions(whole, 99) is whole
    with pytest.raises(InputError, match="at least 1"):
        sample_questions(whole, 0)


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="needs the evaluation data: set PINCITE_DATA")
def test_the_published_sets() -> None:
    xquad = load_answer_set(DATA / "xquad-en")
    assert len(xquad.questions) == 1190
    assert all(each.answerable and len(each.gold) == 1 for each in xquad.questions)
    documents = {each.id: each.text for each in xquad.dataset.documents()}
    assert all(each.answers[0] in documents[each.gold[0]] for each in xquad.questions)
    clapnq = load_answer_set(DATA / "clapnq")
    assert [sum(each.answerable is answerable for each in clapnq.questions) for answerable in (True, False)] == [
        300,
        300,
    ]
    assert all(each.shown for each in clapnq.questions if not each.answerable)
    assert sum(len(each.answers) > 1 for each in clapnq.questions) > 100
