from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.numerals import Day, days, numbers, plain, with_digits


@pytest.mark.parametrize(
    ("written", "digits"),
    [
        ("two hundred and fifty", "250"),
        ("fifty thousand", "50000"),
        ("one million two hundred thousand and five", "1200005"),
        ("2.5 million", "2500000"),
        ("three crore", "30000000"),
        ("5 lakh", "500000"),
        ("a hundred", "100"),
        ("two dozen eggs", "24 eggs"),
        ("twenty five", "25"),
        ("one or two", "1 or 2"),
        ("thirty-first", "31st"),
        ("twenty-second and eleventh and twelfth", "22nd and 11th and 12th"),
        ("two-thirds of it", "2/3 of it"),
        ("half of it, ½ of it, 50% of it", "50 percent of it, 50 percent of it, 50 percent of it"),
        ("five per cent", "5 percent"),
        ("€1,250", "1250 euro"),
        ("Rs. 5,000 and ₹500", "5000 rupee and 500 rupee"),
        ("twice", "2x"),
        ("someone, tension, oneness", "someone, tension, oneness"),
    ],
)
def test_in_digits(written: str, digits: str) -> None:
    assert with_digits(written) == digits


@pytest.mark.parametrize(
    "written",
    [
        "1 July 2024",
        "July 1, 2024",
        "July 1st 2024",
        "2024-07-01",
        "1st July, 2024",
        "the first of July 2024",
        "on the 1st day of July 2024",
        "Jul. 1, 2024",
    ],
)
def test_one_day_in_many_forms(written: str) -> None:
    assert days(written) == {Day(2024, 7, 1)}
    assert "1 july 2024" in with_digits(written)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("in May 2024", {Day(2024, 5, None)}),
        ("on 3 May", {Day(None, 5, 3)}),
        ("May 3, 2024", {Day(2024, 5, 3)}),
        ("the court may 3 times", set()),
        ("the tenant may leave in 2024", set()),
        ("Sept. 3rd", {Day(None, 9, 3)}),
        ("part 2024-13-01", set()),
        ("from 1 March 2020 to 2 March 2020", {Day(2020, 3, 1), Day(2020, 3, 2)}),
    ],
)
def test_days(written: str, found: set[Day]) -> None:
    assert days(written) == found


def test_a_day_lies_within_one_that_says_less() -> None:
    assert Day(2024, 7, None).within(Day(2024, 7, 1))
    assert not Day(2024, 7, 1).within(Day(2024, 7, None))
    assert not Day(2023, 7, None).within(Day(2024, 7, 1))
    assert str(Day(2024, 7, None)) == "July 2024"


@given(st.integers(1, 999_999_999))
def test_every_number_in_words_is_read(number: int) -> None:
    assert numbers(_in_words(number)) == {str(number)}


_SMALL = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
)
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def _in_words(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    if number < 100:
        return _TENS[number // 10] + (f"-{_SMALL[number % 10]}" if number % 10 else "")
    for size, word in ((1_000_000, "million"), (1_000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = number % size
            joined = " and " if rest < 100 else " "
            return f"{_in_words(number // size)} {word}" + (f"{joined}{_in_words(rest)}" if rest else "")
    raise AssertionError(number)


@given(st.dates())
def test_every_day_is_read(day: datetime.date) -> None:
    if day.year >= 1000:
        same = Day(day.year, day.month, day.day)
        assert days(day.isoformat()) == {same}
        assert days(day.strftime("%d %B %Y")) == {same}
        assert days(day.strftime("%B %d, %Y")) == {same}


@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    assert all(any(c.isnumeric() for c in number) for number in numbers(text))
    assert numbers(plain(text)) == numbers(text) or "≥" in text or "≤" in text or "<" in text or ">" in text
    days(text)


def test_not_be_less_than_is_a_bound() -> None:
    assert numbers("a term which shall not be less than seven years") == {"≥7"}
    assert numbers("a fine which shall not be more than 500 rupees") == {"≤500"}
