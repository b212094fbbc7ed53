from __future__ import annotations

import math

import pytest

from pincite.words import all_words, content_words, idf, overlap


def test_words_are_folded() -> None:
    assert all_words("Cafés CAFE 1,234.5 Élection") == ["caf", "caf", "1,234.5", "election"]
    assert content_words("How many points did the Panthers' defense surrender?") == [
        "point", "panther", "defens", "surrender",
    ]  # fmt: skip
    assert all_words("rule rules use used note notes") == ["rul", "rul", "use", "used", "not", "not"]
    assert content_words("surrendered points") == ["surrender", "point"]
    assert content_words("Who are they?") == ["who", "are", "they"]
    assert content_words("?!") == []


def test_idf_by_hand() -> None:
    weights = idf([["a", "b", "a"], ["a"], ["c"]])
    assert weights["a"] == pytest.approx(math.log(1 + 1.5 / 2.5))
    assert weights["b"] == weights["c"] == pytest.approx(math.log(1 + 2.5 / 1.5))


def test_overlap_is_a_share() -> None:
    assert overlap(["a", "b", "b"], ["b", "c"]) == 0.5
    assert overlap(["a", "b"], ["b"], {"a": 1.0, "b": 3.0}) == 0.75
    assert overlap([], ["b"]) == 0.0
