"""Numbers and days as they are written: digits or words, grouped, with a bound, a currency sign or a month's name.

Written for English; other languages have only their digits read.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

__all__ = ["DAY", "Day", "days", "numbers", "plain", "with_digits"]


def _words(text: str) -> list[str]:
    return text.split()


_SMALL = _words(
    "zero one two three four five six seven eight nine ten eleven twelve "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = _words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_VALUES = {word: value for value, word in enumerate(_SMALL)}
_VALUES |= {word: 10 * tens for tens, word in enumerate(_TENS, start=2)}
_GREAT = {"dozen": 12, "thousand": 1_000, "lakh": 100_000, "million": 1_000_000}
_GREAT |= {"crore": 10_000_000, "billion": 1_000_000_000}
_RANKS = {word: value for value, word in enumerate(_ORDINALS, start=1)}
_RANKS |= {f"{word[:-1]}ieth": 10 * tens for tens, word in enumerate(_TENS, start=2)}

_TEN, _UNIT = "|".join(_TENS), "|".join(_SMALL[1:10])
_BELOW_100 = rf"(?:(?:{_TEN})(?:[-\s](?:{_UNIT})\b)?|{'|'.join(sorted(_SMALL, key=len, reverse=True))})"
_HUNDREDS = rf"(?:(?:{_BELOW_100}|an?|\d+)\s+hundred(?:\s+(?:and\s+)?{_BELOW_100}\b)?|hundred)"
_THOUSANDS = "|".join(rf"{word}s?" for word in _GREAT)
_AMOUNT = rf"(?:{_HUNDREDS}|{_BELOW_100}|\d+(?:\.\d+)?|an?)"
_CARDINAL = re.compile(
    rf"(?<![\w.])(?:{_AMOUNT}\s+(?:{_THOUSANDS})(?:\s+(?:and\s+)?{_AMOUNT}\s+(?:{_THOUSANDS}))*"
    rf"(?:\s+(?:and\s+)?(?:{_HUNDREDS}|{_BELOW_100})\b(?!\s+(?:{_THOUSANDS})\b))?|{_HUNDREDS}|{_BELOW_100}"
    rf"|(?:{_THOUSANDS}))(?!\w)"
)
_ORDINAL = re.compile(rf"\b(?:(?P<tens>{_TEN})[-\s])?(?P<rank>{'|'.join(sorted(_RANKS, key=len, reverse=True))})\b")
_FRACTION = re.compile(
    rf"\b(?P<over>an?|{_UNIT})[-\s](?P<under>third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|quarter)s?\b(?=\s+(?:of|the)\b|\s*[.,;)]|$)"
)
_OTHER = (
    (re.compile(r"\b(?:(?:a|one)[-\s])?half\b|(?<![\w.])1\s?[/\u2044]\s?2(?![\w/])"), "50 percent"),
    (re.compile(r"\bonce\b"), "1x"),
    (re.compile(r"\b(?:twice|double)\b"), "2x"),
    (re.compile(r"\u2044"), "/"),
)
_CURRENCIES = {"€": "euro", "$": "dollar", "£": "pound", "₹": "rupee"}
_MONEY = re.compile(r"(?P<sign>[€$£₹]|\b(?:rs\.?|inr)(?=\s?\d))\s?(?P<amount>\d+(?:[.,]\d+)*)")
_SIGNS = (
    (re.compile(r"\s?%|\s?\bper\s+cent\b"), " percent"),
    *((re.compile(re.escape(sign)), f" {word} ") for sign, word in _CURRENCIES.items()),
)

_MONTHS = _words("january february march april may june july august september october november december")
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" if month != "may" else month for month in _MONTHS)
_MONTH = _MONTH.replace("sep(?:tember)?", "sept?(?:ember)?")
_ISO = re.compile(r"(?<![\w-])(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?![\w-])")
_DAY_FIRST = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+day)?(?:\s+of)?\s+(?P<month>{_MONTH})\b\.?(?:,?\s+(?P<year>\d{{4}}))?\b"
)
#: A day as `with_digits` writes it, the year where it is given.
DAY = re.compile(rf"\d{{1,2}} (?:{'|'.join(_MONTHS)})(?: \d{{4}})?\b")
_MONTH_FIRST = re.compile(
    rf"\b(?P<month>{_MONTH})\b\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*(?:percent|euro|dollar|/|:\d))"
    rf"(?:,?\s+(?P<year>\d{{4}})\b)?"
)
_MONTH_OF_YEAR = re.compile(rf"\b(?P<month>{_MONTH})\b\.?,?\s+(?P<year>\d{{4}})\b")

# Phrases that bound the number after them. "Not more than" is a bound and no negation, so these are replaced first.
_BOUNDS = tuple(
    (f" {symbol} ", re.compile(rf"\b(?:{phrases})\b"))
    for symbol, phrases in (
        ("≥", r"at least|not? (?:be )?(?:less|fewer|earlier|shorter|lower) than|(?:a )?minimum of"),
        ("≤", r"at most|not? (?:be )?(?:more|greater|later|longer|higher) than|up to|(?:a )?maximum of|within"),
        ("≤", r"(?:may )?extends? to|not exceed(?:ing)?"),
        (">", r"(?:more|greater|longer|higher) than|over|above|exceed(?:s|ed|ing)?"),
        ("<", r"(?:less|fewer|shorter|lower) than|under|below"),
    )
)
_NUMBER = re.compile(
    r"(?P<bound>[≥≤<>])?\s*(?:(?:the|an?)\s+)?(?:age of\s+)?(?P<number>(?<![\w/])-?\w*\d\w*(?:[.,/]\d+)*)"
)
# "1,250" and "1,00,000" group digits; "3,14" is a decimal number and must not become 314.
_GROUPING = re.compile(r"(?<=\d),(?=(?:\d{2,3},)*\d{3}(?!\d))")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | dict.fromkeys("’‘", "'"))


class Day(NamedTuple):
    """A day, or a month of a year, as far as it is written; None for what is not."""

    year: int | None
    month: int
    day: int | None

    def __str__(self) -> str:
        parts = (self.day, _MONTHS[self.month - 1].capitalize(), self.year)
        return " ".join(str(part) for part in parts if part is not None)

    def within(self, other: Day) -> bool:
        """Whether all that is written here is written there, and the same."""
        return all(own is None or own == theirs for own, theirs in zip(self, other, strict=True))


def numbers(text: str) -> set[str]:
    """The numbers of `text`, written in digits or in words, each with its bound.

    >>> sorted(numbers("Not more than thirty days, or 1,250 euros under section 7A."))
    ['1250', '7a', '≤30']
    """
    return {(match["bound"] or "") + match["number"] for match in _NUMBER.finditer(plain(text))}


def days(text: str) -> set[Day]:
    """The days and months of years that `text` names, whatever form they are in. A bare year is a number.

    >>> [str(day) for day in sorted(days("On 2024-07-01, that is July 1st, 2024."))]
    ['1 July 2024']
    """
    found = set()
    for match in _DAY_FIRST.finditer(with_digits(text)):
        year = match["year"]
        found.add(Day(int(year) if year else None, _month(match["month"]), int(match["day"])))
    rest = _DAY_FIRST.sub(" ", with_digits(text))
    found |= {Day(int(match["year"]), _month(match["month"]), None) for match in _MONTH_OF_YEAR.finditer(rest)}
    return found


@lru_cache(maxsize=4096)
def with_digits(text: str) -> str:
    """`text` in lower case, its numerals in digits that are not grouped, its days as 1 july 2024, signs in words.

    Half of something is 50 percent of it.

    >>> with_digits("Twenty-five days, the third time, €1,250")
    '25 days, the 3rd time, 1250 euro'
    >>> with_digits("fifty thousand on July 1, 2024")
    '50000 on 1 july 2024'
    """
    folded = unicodedata.normalize("NFKC", text).translate(_DASHES).casefold()
    folded = _GROUPING.sub("", folded)
    folded = _FRACTION.sub(_fraction, folded)
    for pattern, written in _OTHER:
        folded = pattern.sub(written, folded)
    folded = _ORDINAL.sub(_ordinal, folded)
    folded = _CARDINAL.sub(_cardinal, folded)
    folded = _MONEY.sub(lambda m: f"{m['amount']} {_CURRENCIES.get(m['sign'], 'rupee')}", folded)
    for pattern, written in _SIGNS:
        folded = pattern.sub(written, folded)
    folded = _ISO.sub(lambda m: f"{int(m['day'])} {_MONTHS[int(m['month']) - 1]} {m['year']}", folded)
    folded = _MONTH_FIRST.sub(_day_first, folded)
    return _DAY_FIRST.sub(_day_first, folded)


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """`with_digits` on one line, with the phrases that bound a number made ≥, ≤, > and <."""
    text = " ".join(with_digits(text).split())
    for symbol, phrase in _BOUNDS:
        text = phrase.sub(symbol, text)
    return text


def _cardinal(match: re.Match[str]) -> str:
    total = current = 0.0
    begun = False
    for word in re.findall(r"[a-z]+|\d+(?:\.\d+)?", match.group()):
        if word in ("and", "a", "an"):
            continue
        great = _GREAT.get(word.removesuffix("s") if word not in _VALUES else "")
        if great:
            total, current, begun = total + (current if begun else 1) * great, 0.0, False
        elif word == "hundred":
            current, begun = (current if begun else 1) * 100, True
        else:
            current, begun = current + (_VALUES[word] if word in _VALUES else float(word)), True
    value = total + current
    return str(int(value)) if value == int(value) else repr(value)


def _ordinal(match: re.Match[str]) -> str:
    value = _RANKS[match["rank"]]
    if match["tens"]:
        if value >= 10:
            return match.group()
        value += _VALUES[match["tens"]]
    last = 0 if 10 <= value % 100 <= 20 else value % 10
    return f"{value}{('th', 'st', 'nd', 'rd')[last] if last <= 3 else 'th'}"


def _fraction(match: re.Match[str]) -> str:
    over = match["over"]
    return f"{_VALUES.get(over, 1)}/{_RANKS.get(match['under'], 4)}"


def _month(written: str) -> int:
    return next(i for i, month in enumerate(_MONTHS, start=1) if month.startswith(written[:3]))


def _day_first(match: re.Match[str]) -> str:
    if match["month"] == "may" and match.re is _MONTH_FIRST and not match["year"]:
        return match.group()  # "the court may 3 times …"
    year = f" {match['year']}" if match["year"] else ""
    return f"{int(match['day'])} {_MONTHS[_month(match['month']) - 1]}{year}"
