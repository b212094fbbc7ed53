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


#: Stands in d1.
RENT = "the tenant"


def load(folder: Path, *queries: dict[str, Any], qrels: dict[str, dict[str, int]] | None = None) -> AnswerSet:
    judged = {each["_id"]: {"d1": 1} for each in queries} if qrels is None else qrels
    return load_answer_set(make_set(folder / "asked", queries=list(queries), qrels=judged))


def test_the_forms_an_answer_may_have(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        query("q1", answers=[{"text": "third day", "answer_start": 28}, {"text": " third day "}, {"text": "day 3"}]),
        query("q2", answer="the city", other_answers=[{"answer": "Paris"}, "Lyon"], answerable=True),
        query("q3", answers=["one", "two"]),
    )
    assert [each.answers for each in found.questions] == [
        ("third day", "day 3"),
        ("the city", "Paris", "Lyon"),
        ("one", "two"),
    ]
    assert found.questions[0] == Question("q1", "question q1", ("third day", "day 3"), ("d1",))
    assert (found.name, found.total) == ("asked", 3)


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
    assert "1 question with an answer left out: test.tsv does not judge 'elsewhere', the first" in found.notes


def test_a_judged_query_without_a_word_on_answers_is_left_out_and_counted(tmp_path: Path) -> None:
    found = load(tmp_path, query("q1", answer=RENT), query("q2", spans=[]))
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
        (
            {"answers": [{"text": "third day", "answer_start": 3}]},
            r"line 1: the answer 'third day' does not begin at character 3 of document 'd1', where there is ' tenant",
        ),
        ({"answers": [{"text": "rent", "answer_start": 900}]}, r"line 1: .*character 900 .*where there is ''"),
        ({"answers": [{"text": "rent", "answer_start": -1}]}, r"line 1: answer_start should be a whole number"),
        ({"answers": [{"text": "rent", "answer_start": True}]}, r"line 1: answer_start should be a whole number"),
        ({"answers": [{"text": "rent", "answer_start": "16"}]}, r"line 1: answer_start should be a whole number"),
        ({"answerable": False, "passage": "nodoc"}, r"line 1: passage names 'nodoc', and corpus.jsonl has no such _id"),
        ({"answerable": False, "passage": 7}, r"line 1: passage should be the id of a document, got 7"),
    ],
)
def test_what_is_malformed_is_named_with_its_line(tmp_path: Path, metadata: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load(tmp_path, query("q1", **metadata))


@pytest.mark.parametrize(
    "answer",
    [
        {"text": "third day", "answer_start": 28},
        {"text": " third day ", "answer_start": 27},
        {"text": "roof", "answer_start": 25},  # of d2: any gold passage may hold it
        {"text": "third day", "answer_start": None},
    ],
)
def test_an_answer_may_say_where_it_begins(tmp_path: Path, answer: dict[str, Any]) -> None:
    found = load(tmp_path, query("q1", answers=[answer]), qrels={"q1": {"d1": 1, "d2": 1}})
    assert (found.questions[0].answers, found.notes) == ((answer["text"].strip(),), ())


def test_of_several_places_every_one_must_hold(tmp_path: Path) -> None:
    places = [{"text": "rent", "answer_start": 16}, {"text": "rent", "answer_start": 17}]
    with pytest.raises(InputError, match="character 17 of document 'd1'"):
        load(tmp_path, query("q1", answers=places))


def test_a_place_is_counted_in_characters_without_the_title(tmp_path: Path) -> None:
    document = {"_id": "d1", "title": "किराया", "text": "😀 किराया तीसरे दिन"}
    asked = query("q1", answers=[{"text": "तीसरे", "answer_start": 9}])
    folder = make_set(tmp_path / "hindi", documents=[document], queries=[asked], qrels={"q1": {"d1": 1}})
    assert load_answer_set(folder).questions[0].answers == ("तीसरे",)


def test_answers_that_no_gold_passage_holds_are_counted_in_one_note(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        query("q1", answers=["THE  Tenant", "d1", "two"]),  # case and white space are no difference
        query("q2", answer="the landlord"),  # stands in d2, which is not its gold passage
        query("q3", answers=[]),
    )
    assert found.notes == (
        "3 of 4 gold answers stand in no gold passage, that of query 'q1' the first: "
        "a reader that quotes cannot match what is written freely",
    )
    found = load(tmp_path / "one", query("q1", answer="x"))
    assert found.notes[0].startswith("1 of 1 gold answers stands in no gold passage")


def test_a_question_whose_gold_documents_are_not_in_the_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"test\.tsv: query 'q2' is given the document 'd9', and corpus.jsonl has no"):
        load(
            tmp_path,
            query("q1", answer=RENT),
            query("q2", answer=RENT),
            qrels={"q1": {"d1": 1}, "q2": {"d9": 2, "d8": 1, "d1": 0}},
        )


def test_gold_documents_that_the_corpus_lacks_beside_others_are_counted(tmp_path: Path) -> None:
    qrels = {"q1": {"d9": 3, "d1": 2, "d8": 1, "d7": 0}}
    found = load(tmp_path, query("q1", answer=RENT), qrels=qrels)
    assert found.questions[0].gold == ("d1",)
    assert found.notes == ("2 relevant documents left out: the corpus lacks 'd9' of query 'q1', the first",)


def test_a_judged_question_without_an_answer_needs_no_document(tmp_path: Path) -> None:
    found = load(tmp_path, query("q1", answer=RENT), query("q2", answers=[]), qrels={"q1": {"d1": 1}, "q2": {"d9": 1}})
    assert (len(found.questions), found.notes) == (2, ())


@pytest.mark.parametrize("metadata", [{"answer": RENT}, {"answerable": False}])
def test_an_empty_question_is_named_with_its_line(tmp_path: Path, metadata: dict[str, Any]) -> None:
    empty = {**query("q2", **metadata), "text": " \n"}
    with pytest.raises(InputError, match=r"queries\.jsonl, line 2: the question 'q2' is empty"):
        load(tmp_path, query("q1", answer=RENT), empty)


def test_questions_that_the_split_does_not_judge_are_counted(tmp_path: Path) -> None:
    queries = [query("q1", answer=RENT), query("q2", answer=RENT), query("q3", answer=RENT)]
    found = load(tmp_path, *queries, qrels={"q1": {"d1": 1}})
    assert found.notes == ("2 questions with an answer left out: test.tsv does not judge 'q2', the first",)
    with pytest.raises(InputError, match=r"test\.tsv judges no question that has an answer.*'q1' the first"):
        load(tmp_path / "none", queries[0], query("silent"), qrels={"silent": {"d1": 1}})


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


def test_the_set_in_the_guide_is_whole(tmp_path: Path) -> None:
    guide = (Path(__file__).resolve().parents[3] / "docs" / "guides" / "answers-evaluation.md").read_text("utf-8")
    (tmp_path / "tower" / "qrels").mkdir(parents=True)
    for name in ("tower/corpus.jsonl", "tower/queries.jsonl", "tower/qrels/test.tsv"):
        block = guide.split(f"`{name}`", 1)[1].split("\n\n")[1]
        assert all(line.startswith("    ") for line in block.splitlines())
        (tmp_path / name).write_text("".join(f"{line[4:]}\n" for line in block.splitlines()), "utf-8")
    found = load_answer_set(tmp_path / "tower")
    assert [(each.id, each.gold, each.shown) for each in found.questions] == [
        ("q1", ("d1",), ""),
        ("q2", ("d1",), ""),
        ("q3", (), "d2"),
    ]
    assert found.notes == ()


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="needs the evaluation data: set PINCITE_DATA")
def test_the_published_sets() -> None:
    xquad = load_answer_set(DATA / "xquad-en")
    assert len(xquad.questions) == 1190
    assert all(each.answerable and len(each.gold) == 1 for each in xquad.questions)
    documents = {each.id: each.text for each in xquad.dataset.documents()}
    assert all(each.answers[0] in documents[each.gold[0]] for each in xquad.questions)
    assert xquad.notes == ()
    assert load_answer_set(DATA / "xquad-hi").notes == ()
    clapnq = load_answer_set(DATA / "clapnq")
    assert [sum(each.answerable is answerable for each in clapnq.questions) for answerable in (True, False)] == [
        300,
        300,
    ]
    assert all(each.shown for each in clapnq.questions if not each.answerable)
    assert sum(len(each.answers) > 1 for each in clapnq.questions) > 100
    (note,) = clapnq.notes
    assert "gold answers stand in no gold passage" in note
