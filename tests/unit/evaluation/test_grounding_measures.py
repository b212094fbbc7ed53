"""Citation recall and precision worked by hand, as Gao et al. 2023 define them in section 4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.evaluation.grounding_measures import (
    gold_spans,
    judge_answer,
    judge_statement,
    pointers,
    sentence_overlap,
    words_of_question,
)
from pincite.types import Answer, Chunk, Citation, Document, Hit, Passage


def toy_supports(statement: str, sources: Sequence[str]) -> list[bool]:
    """A toy: a text supports a statement where it holds all its words."""
    return [set(statement.casefold().strip(".").split()) <= set(source.casefold().split()) for source in sources]


def judged(statement: str, *texts: str) -> tuple[bool, tuple[bool, ...]]:
    found = judge_statement(statement, [(f"c{i}", text) for i, text in enumerate(texts)], toy_supports)
    return found.recalled, found.precise


@pytest.mark.parametrize(
    ("statement", "texts", "recalled", "precise"),
    [
        # No citation: no recall, and nothing whose precision could be told.
        ("red roof", [], False, ()),
        # One citation: its precision is the recall of the statement.
        ("red roof", ["red roof"], True, (True,)),
        ("red roof", ["red"], False, (False,)),
        # Both are needed: neither supports it alone, and without either the rest does not.
        ("red roof", ["red", "roof"], True, (True, True)),
        # Each supports it alone: neither is irrelevant, though one would do.
        ("red roof", ["red roof", "roof red"], True, (True, True)),
        # The second says nothing of it, and the first suffices: irrelevant.
        ("red roof", ["red roof", "blue"], True, (True, False)),
        # The second has a part of it only, and is not needed: irrelevant too.
        ("red roof", ["red roof", "red"], True, (True, False)),
        # Two halves and a whole: without either half the rest still supports it, and no half does alone.
        ("red roof", ["red", "roof", "red roof"], True, (False, False, True)),
        # Two halves and a stranger.
        ("red roof", ["red", "roof", "blue"], True, (True, True, False)),
        # Half of it twice: without either copy the other is there.
        ("red roof", ["red", "red", "roof"], True, (False, False, True)),
        # All of them together do not support it: every citation is wrong, also the one that has a part.
        ("red roof", ["red", "blue"], False, (False, False)),
    ],
)
def test_a_statement_by_hand(statement: str, texts: list[str], recalled: bool, precise: tuple[bool, ...]) -> None:
    assert judged(statement, *texts) == (recalled, precise)


WORDS = ["red", "roof", "old"]


@given(st.lists(st.sets(st.sampled_from(WORDS)).map(lambda words: " ".join(sorted(words))), max_size=4))
def test_it_is_the_definition_whatever_is_cited(texts: list[str]) -> None:
    statement = " ".join(WORDS)
    recalled, precise = judged(statement, *texts)

    def entails(chosen: Sequence[str]) -> bool:
        return bool(chosen) and toy_supports(statement, [" ".join(chosen)])[0]

    assert recalled == entails(texts)
    for i, text in enumerate(texts):
        rest = [*texts[:i], *texts[i + 1 :]]
        irrelevant = not entails([text]) and entails(rest)
        assert precise[i] == (recalled and not irrelevant)


def test_a_passage_that_is_cited_twice_counts_once() -> None:
    found = judge_statement("red roof", [("c", "red roof"), ("c", "red roof")], toy_supports)
    assert (found.cited, found.precise) == (("c",), (True,))


def test_faithful_is_what_was_read_supports_also_uncited() -> None:
    found = judge_statement("red roof", [], toy_supports, offered=["blue", "the red roof"])
    assert (found.recalled, found.faithful, found.pinpointed) == (False, True, False)
    found = judge_statement("red roof", [], toy_supports, offered=["red", "roof"])
    assert not found.faithful
    # Two passages that are cited together bear it out, where no single one does.
    found = judge_statement("red roof", [("a", "red"), ("b", "roof")], toy_supports, offered=["red", "roof"])
    assert found.faithful


# Whole answers

TEXTS = {"a": "the roof is red", "b": "the lamp is blue", "c": "the roof is old and red"}


def passage(name: str) -> Passage:
    chunk = Chunk(name, name, 1, TEXTS[name], 0, len(TEXTS[name]), 0)
    return Passage(chunk, name, name, Hit(name, 1.0, 1, "fused"))


def citation(
    number: int, text: str, part: str, source: str, start: int, end: int, quote: str | None = None
) -> Citation:
    at = text.index(part)
    quote = TEXTS[source][start:end] if quote is None else quote
    return Citation(
        number, at, at + len(part), source, 1, source, start, end, quote, source, source, None, (), "supported", 0.9
    )


def test_an_answer_by_hand() -> None:
    text = "The roof is red [1][2]. The lamp is green [2]. The roof is old. Yes."
    citations = (
        citation(1, text, "The roof is red", "a", 0, 15),
        citation(2, text, "The roof is red", "b", 0, 16),
        citation(2, text, "The lamp is green", "b", 0, 16),
    )
    proof = judge_answer(Answer("?", text, citations, tuple(map(passage, "abc"))), toy_supports)
    # Three statements; "Yes." says nothing of its own.
    assert [each.text for each in proof.statements] == ["The roof is red.", "The lamp is green.", "The roof is old."]
    assert [each.recalled for each in proof.statements] == [True, False, False]
    assert [each.precise for each in proof.statements] == [(True, False), (False,), ()]
    assert proof.recall == pytest.approx(1 / 3)
    assert proof.precision == pytest.approx(1 / 3)  # one of three citations
    assert proof.faithfulness == pytest.approx(2 / 3)  # c says that it is old, uncited
    assert proof.pinpoint == pytest.approx(1 / 3)


def test_the_characters_pointed_at_may_say_less_than_their_passage() -> None:
    text = "The roof is old [1]."
    cited = (citation(1, text, "The roof is old", "c", 0, 11),)
    proof = judge_answer(Answer("?", text, cited, (passage("c"),)), toy_supports)
    assert (proof.recall, proof.pinpoint) == (1.0, 0.0)


def test_what_bears_no_number_is_no_citation() -> None:
    text = "The roof is red [1]. The lamp is green."
    cited = (
        citation(1, text, "The roof is red", "a", 0, 15),
        # As for a generator that writes no numbers: held against b in vain.
        replace(citation(1, text, "The lamp is green", "b", 0, 16), verdict="unsupported"),
    )
    proof = judge_answer(Answer("?", text, cited, tuple(map(passage, "ab"))), toy_supports)
    assert [each.cited for each in proof.statements] == [("a",), ()]
    assert proof.precision == 1.0


def test_an_answer_that_cites_nothing_has_precision_0_and_one_that_says_nothing_none() -> None:
    bare = judge_answer(Answer("?", "The roof is red.", (), (passage("a"),)), toy_supports)
    assert (bare.recall, bare.precision, bare.faithfulness) == (0.0, 0.0, 1.0)
    silent = judge_answer(Answer("?", "Yes, they do.", (), ()), toy_supports)
    assert (silent.recall, silent.precision, silent.faithfulness) == (None, None, None)


def test_every_subset_of_sources_by_enumeration() -> None:
    """Recall of the answer with each choice of citations is that of the words they hold."""
    for size in range(4):
        for chosen in combinations("abc", size):
            marks = "".join(f"[{n}]" for n in range(1, size + 1))
            text = f"The roof is red {marks}."
            cited = tuple(citation(n, text, "The roof is red", name, 0, 5) for n, name in enumerate(chosen, 1))
            proof = judge_answer(Answer("?", text, cited, tuple(map(passage, "abc"))), toy_supports)
            assert proof.recall == float(bool({"a", "c"} & set(chosen)))
            # a and c support it alone; b never does, and is needed only by nobody.
            right = len({"a", "c"} & set(chosen))
            assert proof.precision == (right / size if size else 0.0)


# Pointers and places


def test_pointers_are_read_again() -> None:
    documents = {name: Document(name, text, name, name, "text/plain", "") for name, text in TEXTS.items()}
    text = "The roof is red"
    right = citation(1, text, text, "a", 0, 15)
    shifted = citation(1, text, text, "a", 1, 16, "the roof is red")
    gone = citation(1, text, text, "b", 0, 5)
    empty = citation(1, text, text, "a", 3, 3)
    del documents["b"]
    assert pointers([right, shifted, gone, empty], lambda name, _: documents.get(name)) == (1, 4)
    assert pointers([], lambda *_: None) == (0, 0)


def test_gold_sentences_stand_where_they_stand() -> None:
    text = "One.  Two\nwords here. (Three)."
    assert gold_spans(text, ["Two words here.", "(Three).", "Four.", " "]) == [(6, 21), (22, 30), None, None]


def test_places_meet_where_they_share_half_of_the_shorter() -> None:
    gold = [("d", 10, 30), ("d", 40, 60)]
    assert sentence_overlap([("d", 12, 28)], gold) == (1.0, 0.5)
    assert sentence_overlap([("d", 0, 19)], gold) == (0.0, 0.0)  # 9 of 19: less than half
    assert sentence_overlap([("d", 0, 20)], gold) == (1.0, 0.5)  # 10 of 20
    assert sentence_overlap([("e", 10, 30), ("d", 0, 100)], gold) == (0.5, 1.0)
    assert sentence_overlap([], gold) == (None, 0.0)
    assert sentence_overlap([("d", 1, 2)], []) == (0.0, None)


def test_words_of_the_question() -> None:
    assert words_of_question("Who painted the old tower?", "The tower was painted by Anna.") == pytest.approx(2 / 3)
    assert words_of_question("Who painted it?", "") == 0.0
