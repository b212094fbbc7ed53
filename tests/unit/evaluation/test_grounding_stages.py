"""Which stage lost a question, and how well a reader knows when to refuse."""

from __future__ import annotations

import random

import pytest

from pincite.evaluation.answer_refusals import measure_refusals
from pincite.evaluation.answer_sets import Question
from pincite.evaluation.answer_stages import is_right, lost_at

ASKED = Question("q", "When was it built?", ("1889",), ("d1",))
WITHOUT = Question("q", "Who owns it?", (), ())


@pytest.mark.parametrize(
    ("found", "outcome", "right", "cited", "stage"),
    [
        (True, "answered", True, ("d1",), None),
        (True, "answered", True, None, None),  # a reader that names no sources is not held to them
        (None, "answered", True, None, None),
        (True, "answered", True, ("d2", "d1"), None),
        (True, "answered", True, ("d2",), "citation"),
        (True, "answered", True, (), "citation"),
        (True, "answered", False, ("d1",), "reading"),
        (None, "answered", False, None, "reading"),
        (True, "abstained", False, (), "refusal"),
        (False, "abstained", False, (), "retrieval"),
        (False, "answered", False, ("d2",), "retrieval"),
        (False, "answered", True, None, None),
        (False, "answered", True, ("d2",), "retrieval"),  # right, and proved by nothing that is gold
        (True, "failed", False, None, "failure"),
        (False, "failed", False, None, "failure"),
    ],
)
def test_the_first_step_that_went_wrong(
    found: bool | None, outcome: str, right: bool, cited: tuple[str, ...] | None, stage: str | None
) -> None:
    lost = lost_at(ASKED, found=found, outcome=outcome, right=right, cited=cited, why="because")
    assert (lost.stage if lost else None) == stage
    if stage in ("refusal", "failure"):
        assert lost is not None
        assert lost.by == "because"


def test_a_question_without_an_answer_is_lost_by_answering_it() -> None:
    assert lost_at(WITHOUT, found=None, outcome="abstained", right=False, why="generator") is None
    lost = lost_at(WITHOUT, found=None, outcome="answered", right=False)
    assert lost is not None
    assert (lost.stage, lost.by) == ("refusal", "answered, and there is no answer")


def test_what_the_gold_passage_alone_gives_is_told_of_what_was_misread() -> None:
    for alone, told in ((True, "right from the gold passage alone"), (False, "wrong from"), (None, "")):
        lost = lost_at(ASKED, found=True, outcome="answered", right=False, right_on_gold=alone)
        assert lost is not None
        assert lost.by.startswith(told)
        assert bool(lost.by) == bool(told)


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("1889", ["1889"], True),
        ("It was built in 1889, they say.", ["1889"], True),
        ("It was built in 18890.", ["1889"], False),
        ("", ["1889"], False),
        ("The city of Lyon", ["the city of Paris", "Paris"], True),  # F1 of 2/3: shares most of its words
        ("Lyon", ["the city of Paris"], False),
        ("anything", [], False),
        ("something", ["the"], False),  # the rule leaves nothing of this gold answer
    ],
)
def test_right_is_one_that_holds_a_gold_answer_or_shares_half(answer: str, gold: list[str], right: bool) -> None:
    assert is_right(answer, gold, "squad") is right


# Refusals


def test_refusals_by_hand() -> None:
    # (has an answer, refused): 3 right refusals, 1 wrong, 2 missed, 4 rightly answered.
    decided = [(False, True)] * 3 + [(True, True)] + [(False, False)] * 2 + [(True, False)] * 4
    found = measure_refusals(decided)
    assert found is not None
    assert (found.right, found.wrong, found.missed) == (3, 1, 2)
    assert found.precision is not None
    assert found.recall is not None
    assert found.f1 is not None
    assert (found.precision.value, found.precision.n) == (0.75, 4)
    assert (found.recall.value, found.recall.n) == (0.6, 5)
    assert found.f1.value == pytest.approx(2 * 0.75 * 0.6 / (0.75 + 0.6))
    for mean in (found.precision, found.recall, found.f1):
        assert 0 <= mean.low < mean.value < mean.high <= 1


def test_the_interval_is_that_of_drawing_questions() -> None:
    """The table drawn at once gives what drawing question after question gives."""
    decided = [(False, True)] * 12 + [(True, True)] * 6 + [(False, False)] * 5 + [(True, False)] * 17
    found = measure_refusals(decided, seed=3)
    assert found is not None
    assert found.precision is not None
    draw = random.Random(1)
    shares = []
    for _ in range(4000):
        drawn = [draw.choice(decided) for _ in decided]
        refused = [answerable for answerable, refused in drawn if refused]
        shares.append(refused.count(False) / len(refused))
    shares.sort()
    assert found.precision.low == pytest.approx(shares[100], abs=0.03)
    assert found.precision.high == pytest.approx(shares[3900], abs=0.03)


def test_nothing_refused_has_no_precision_and_nothing_unanswerable_no_measure() -> None:
    found = measure_refusals([(False, False), (True, False)])
    assert found is not None
    assert found.precision is None
    assert found.recall is not None
    assert (found.recall.value, found.recall.low, found.recall.high) == (0.0, 0.0, 0.0)
    assert found.f1 is not None
    assert found.f1.value == 0.0
    assert measure_refusals([(True, True), (True, False)]) is None
    assert measure_refusals([]) is None
