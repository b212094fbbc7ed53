from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.missing import find_missing

TEXTS = [
    "Lessee number 12 is Mr. Rao. Town36 makes cloth.",
    "Amendment XXI, Repeal of Prohibition. The Indian Penal Code of 1860. 302. Punishment for murder: thirty days. "
    "In 2021 it grew by 3.14 in the United States of America; Germany signed on the 3rd of May, O'Brien did not.",
]


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Who is lessee number 3?", ("3",)),
        ("What does Town37 do?", ("Town37",)),
        ("What does Town36 do?", ()),
        ("Who is lessee number 12?", ()),
        ("What did Amendment 21 repeal?", ()),
        ("What did Amendment 22 repeal?", ("22",)),
        ("What is in Amendment XXII?", ("XXII",)),
        ("What is the punishment in section 302 of the IPC?", ()),
        ("What is the punishment in section 303(2)?", ("303(2)",)),
        ("Are 30 days enough?", ()),
        ("How much did the US pay to Rao and to Smith?", ("Smith",)),
        ("What did Dr. Rao tell the German side?", ()),
        ("Where is O'Brien's house?", ()),
        ('What is meant by "repeal of prohibition" and by "bank of gold"?', ("bank of gold",)),
        ("What is E1234-XZ made of?", ("E1234-XZ",)),
        ("धारा ३०२ क्या है?", ()),
    ],
)
def test_what_a_question_names_and_nothing_holds(question: str, missing: tuple[str, ...]) -> None:
    # The second text has "the 3rd of May", which holds a 3.
    texts = TEXTS[:1] if question == "Who is lessee number 3?" else TEXTS
    assert find_missing(question, texts).named == missing


@pytest.mark.parametrize("question", ["What Is The Capital Of France", "WHO OWNS PARIS?", "berlin or paris?"])
def test_capitals_that_tell_nothing_make_no_names(question: str) -> None:
    assert find_missing(question, TEXTS).asked == ()


def test_the_first_word_of_a_sentence_is_no_name() -> None:
    assert find_missing("Paris is where? London too. McDonald said so.", []).asked == ("McDonald",)


def test_german_nouns_are_no_names() -> None:
    assert find_missing("Was kostet ein Haus in Paris?", [], "german").asked == ()
    assert find_missing("Was kostet das X300 von 1990?", [], "german").asked == ("X300", "1990")


def test_words_besides_names_are_told() -> None:
    missing = find_missing("Does Rao sell elephants and cloth?", TEXTS)
    assert (missing.named, missing.words, missing.share) == ((), ("sell", "elephants"), 0.0)


def test_the_share_is_of_what_is_named() -> None:
    assert find_missing("Did Rao meet Smith?", TEXTS).share == 0.5
    assert find_missing("did they meet?", TEXTS).share == 0.0
    assert find_missing("Did Rao meet Smith?", []).share == 1.0


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=3))
def test_what_is_missing_was_asked_for(question: str, texts: list[str]) -> None:
    missing = find_missing(question, texts)
    assert set(missing.named) <= set(missing.asked)
    assert all(each in question for each in (*missing.asked, *missing.words))
    assert 0.0 <= missing.share <= 1.0
    # Who says it all over again holds it all.
    assert find_missing(question, [*texts, question]).named == () or not question.isascii()


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who are the Lessees?", "Lessee number 1 is Anna."),
        ("What do Parties owe?", "Each party owes rent."),
        ("What does the Party owe?", "The parties owe rent."),
        ("Which Boxes are full?", "One box is full."),
    ],
)
def test_a_name_is_held_in_the_other_number(question: str, text: str) -> None:
    assert find_missing(question, [text]).named == ()
