"""Exact match and F1: SQuAD's rule against its definition, the Unicode rule against what it is there for."""

from __future__ import annotations

import string
import unicodedata
from itertools import groupby

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pincite.errors import InputError
from pincite.evaluation.answer_measures import (
    RULES,
    Rule,
    check_rule,
    exact_match,
    normal_form,
    score,
    token_f1,
    words,
)

# What is worth trying: articles, marks, numbers, signs, scripts, spaces of every kind.
WORDS = "a an the The A cat cats -5 −5 1,000 3.14 . , ' “ é e\u0301 ﬁ ß ẞ U.S. _ a_b 東京 の สวัสดี ½ ² $ % İ"
PIECES = st.sampled_from([*WORDS.split(), "\u00a0", " ", "\t", "\u3000", "\u200b"])
TEXTS = st.one_of(
    st.text(max_size=12), st.lists(PIECES, max_size=6).map("".join), st.lists(PIECES, max_size=6).map(" ".join)
)


def squad_words(text: str) -> list[str]:
    """The published rule, in other words: lower case, no ASCII punctuation, no articles, white space splits."""
    bare = [c for c in text.lower() if c not in string.punctuation]
    # A word, to the rule, is a run of characters that are letters or digits.
    runs = ("".join(run) for _, run in groupby(bare, key=str.isalnum))
    return "".join(" " if run in ("a", "an", "the") else run for run in runs).split()


def squad_f1(answer: str, gold: str) -> float:
    own, right = squad_words(answer), squad_words(gold)
    if not own or not right:
        return 1.0 if own == right else 0.0
    left = list(right)
    for word in own:
        if word in left:
            left.remove(word)
    shared = len(right) - len(left)
    return 2 * shared / (len(own) + len(right))


@given(TEXTS)
@example("the\u00a0end")
@example("a-the b")
@example("the_end an.a")
@example("A\u0301 the\u0301")
def test_squads_normal_form_is_that_of_its_definition(text: str) -> None:
    assert normal_form(text, "squad") == " ".join(squad_words(text))
    assert words(text, "squad") == squad_words(text)


@given(TEXTS, TEXTS)
@example("", "")
@example("the", "")
@example("the cat sat", "cat sat on a mat")
@example("a a b", "b b")
def test_squads_measures_are_those_of_its_definition(answer: str, gold: str) -> None:
    assert exact_match(answer, gold, "squad") == float(squad_words(answer) == squad_words(gold))
    assert token_f1(answer, gold, "squad") == pytest.approx(squad_f1(answer, gold), abs=1e-15)


def test_squads_worked_figures() -> None:
    assert exact_match("The Eiffel Tower!", "eiffel tower", "squad") == 1.0
    assert token_f1("the big red dog", "a red dog", "squad") == pytest.approx(2 * (2 / 3) * 1 / (2 / 3 + 1))
    assert token_f1("dog dog", "dog", "squad") == pytest.approx(2 / 3)  # a word counts as often as it comes
    # Its known faults are part of it.
    assert normal_form("A", "squad") == ""
    assert exact_match("3.14", "314", "squad") == 1.0
    assert exact_match("−5", "-5", "squad") == 0.0


@pytest.mark.parametrize("rule", RULES)
def test_the_best_of_several_gold_answers_and_none(rule: Rule) -> None:
    assert score("red dog", ["blue cat", "red dog"], rule) == (1.0, 1.0)
    exact, f1 = score("big red dog", ["dog", "big red fox", "cat"], rule)
    assert (exact, f1) == (0.0, pytest.approx(2 / 3))
    assert score("", [], rule) == (1.0, 1.0)
    assert score("dog", [], rule) == (0.0, 0.0)
    assert score("", ["dog"], rule) == (0.0, 0.0)


def test_gold_of_which_nothing_is_left() -> None:
    """As in SQuAD 2.0: passed over, and the question without an answer where it is alone."""
    assert score("the", ["A", "cat"], "squad") == (0.0, 0.0)
    assert score("B", ["A"], "squad") == (0.0, 0.0)
    assert score("", ["A"], "squad") == (1.0, 1.0)
    assert score("", ["A"], "unicode") == (0.0, 0.0)
    assert score("a", ["A"], "unicode") == (1.0, 1.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A", "A"),
        ("A", "a."),
        ("−5", "-5"),
        ("1,000", "1000"),
        ("1\u202f000 km", "1000 km"),
        ("1'000", "1000"),
        ("1,00,000", "100000"),
        ("3.14.", "3.14"),
        (".5", "0.5"),
        ("-.5", "−0.5"),
        ("ﬁn", "fin"),
        ("Straße", "STRASSE"),
        ("\u00e9", "e\u0301"),
        ("İstanbul", "istanbul"),
        ("“The Raven”", "the raven"),
        ("John’s", "john's"),
        ("1990–1995", "1990-1995"),
        ("well‑known", "well known"),
        ("U.S.", "us"),
        ("(−5)", "-5"),
        ("6½", "6 1/2"),
        ("10⁻²", "10^-2"),
        ("３０８", "308"),
        ("३०८", "308"),
        ("東京 都。", "「東京都」"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("H₂O", "h2o"),
        ("the soft\u00adware", "software"),
        ("-$5", "$−5"),
    ],
)
def test_the_same_answer_written_otherwise(one: str, other: str) -> None:
    assert exact_match(one, other, "unicode") == 1.0
    assert token_f1(one, other, "unicode") == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A", "B"),
        ("A", ""),
        ("a", "the"),
        ("?", ""),
        ("?", "!"),
        ("3.14", "314"),
        ("-5", "5"),
        ("a lot", "lot of"),
        ("vitamin A", "vitamin"),
        ("A+", "+"),
        ("10²", "102"),
        ("6½", "61/2"),
        ("1,000", "1.000"),
        ("12,5", "125"),
        ("$5", "€5"),
        ("C++", "C"),
        ("C#", "C"),
        ("東京", "京東"),
        ("ば", "は"),
        ("e", "é"),
        ("2010-10", "201010"),
    ],
)
def test_answers_that_are_not_the_same(one: str, other: str) -> None:
    assert exact_match(one, other, "unicode") == 0.0


def test_scripts_without_spaces_are_compared_by_graphemes() -> None:
    # Three characters of four: the same F1 as of words with spaces.
    assert token_f1("東京都庁", "東京都", "unicode") == pytest.approx(2 * (3 / 4) * 1 / (3 / 4 + 1))
    assert words("2010年に", "unicode") == ["2010", "年", "に"]
    assert words("ดี", "unicode") == ["ดี"]  # a consonant with its vowel sign is one
    assert words("서울 타워", "unicode") == ["서울", "타워"]  # Korean has spaces
    assert token_f1("東京都庁", "東京都", "squad") == 0.0


@given(TEXTS)
@example("A")
@example("the a")
@example("A & B")
@example("-$ 5")
@example("a b.c")
@example("...")
@example("東U.S.")
@example(",1,000")
@example(".U.S.")
@example("\u00e9\u1ffd")
def test_the_normal_form_is_one(text: str) -> None:
    normal = normal_form(text, "unicode")
    assert normal_form(normal, "unicode") == normal
    # However it is composed.
    for form in ("NFC", "NFD"):
        assert normal_form(unicodedata.normalize(form, text), "unicode") == normal


@given(TEXTS)
def test_nothing_visible_becomes_nothing(text: str) -> None:
    visible = any(not c.isspace() and unicodedata.category(c) not in ("Cf", "Cc", "Mn") for c in text)
    if visible:
        assert normal_form(text, "unicode")


@given(TEXTS, TEXTS, st.sampled_from(RULES))
def test_bounds_and_what_goes_together(answer: str, gold: str, rule: Rule) -> None:
    exact, f1 = exact_match(answer, gold, rule), token_f1(answer, gold, rule)
    assert exact in (0.0, 1.0)
    assert 0.0 <= f1 <= 1.0
    assert f1 == pytest.approx(token_f1(gold, answer, rule))
    if exact:
        assert f1 == 1.0


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_numbers_are_told_apart(one: int, other: int) -> None:
    assert exact_match(f"{one:,}".replace("-", "−"), str(other), "unicode") == float(one == other)
    assert exact_match(f"{one:,}", str(one), "unicode") == 1.0


def test_an_unknown_rule_is_refused() -> None:
    assert check_rule("unicode") == "unicode"
    with pytest.raises(InputError, match="squad or unicode, got 'bleu'"):
        check_rule("bleu")
