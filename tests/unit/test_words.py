from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.words import all_words, content_words, has_content, idf, overlap


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tenants", "tenant"),
        ("payable", "PAYABLE"),
        ("leased", "lease"),
        ("leasing", "leases"),
        ("quickly", "quick"),
        ("Café", "cafe"),
        ("Straße", "STRASSE"),
        ("ﬁne", "fine"),
        ("e\u0301tat", "état"),
        ("１９７３", "1973"),
    ],
)
def test_forms_that_are_one_word(one: str, other: str) -> None:
    assert all_words(one) == all_words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("3.14", "314"), ("1,250", "1250"), ("5", "5,000"), ("lawful", "unlawful"), ("is", "i"), ("bring", "br")],
)
def test_forms_that_are_not(one: str, other: str) -> None:
    assert all_words(one) != all_words(other)


def test_numbers_are_kept_whole() -> None:
    assert all_words("§ 7.2, 1,250 and 302A.") == ["7.2", "1,250", "and", "302a"]


def test_content_words_and_their_absence() -> None:
    assert content_words("Who shall pay the rent?") == ["pay", "rent"]
    assert content_words("Who are they?") == ["who", "are", "they"]
    assert content_words(" … ! ") == []
    assert has_content("Two.")
    assert has_content("租金")
    assert not has_content("Yes, they do.")
    assert not has_content("—")


def test_idf_by_hand() -> None:
    weights = idf([["a", "a", "b"], ["a"]])
    assert weights == {"a": pytest.approx(math.log(1 + 0.5 / 2.5)), "b": pytest.approx(math.log(1 + 1.5 / 1.5))}
    assert idf([]) == {}


def test_overlap_by_hand() -> None:
    assert overlap(["a", "b", "b"], ["b", "c"]) == 0.5
    assert overlap(["a", "b"], ["b"], {"b": 3.0}) == 0.75
    assert overlap([], ["b"]) == 0.0
    assert overlap(["a"], []) == 0.0


@given(st.text(max_size=200), st.text(max_size=200))
def test_shares_are_shares_and_words_are_folded_once(a: str, b: str) -> None:
    assert 0.0 <= overlap(content_words(a), all_words(b), idf([all_words(b)])) <= 1.0
    assert all(value > 0 for value in idf([all_words(a), all_words(b)]).values())
    if content_words(a):
        assert overlap(content_words(a), all_words(a)) == 1.0
