"""What a sentence claims beyond the words it uses: how much, in what unit, duty or permission, yes or no, of whom.

Two sentences may share nearly all their words and still say different things ("at least two months", "at most three
months"). What is compared here is cheap and errs towards finding a difference: a paraphrase that is right may be
refused, a changed number must not pass. Written for English; other languages have only their digits compared.
"""

from __future__ import annotations

import re
import unicodedata

from pincite.words import all_words, content_words, overlap

__all__ = ["agrees", "numbers"]

_UNITS_TO_TWELVE = "zero one two three four five six seven eight nine ten eleven twelve".split()
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {word: value for value, word in enumerate([*_UNITS_TO_TWELVE, *_TEENS])}
_VALUES |= {word: 20 + 10 * i for i, word in enumerate(_TENS)}
_VALUES |= {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_NUMERALS = {word: str(value) for word, value in _VALUES.items()}
_NUMERALS |= {"once": "1x", "twice": "2x", "double": "2x", "half": "0.5"}
_NUMERALS |= dict(
    zip(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(),
        "1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th 11th 12th".split(),
        strict=True,
    )
)
_NUMERAL = re.compile(rf"\b(?:(?P<tens>{'|'.join(_TENS)})-)?(?P<word>{'|'.join(_NUMERALS)})\b")

# Phrases that bound the number after them. "Not more than" is a bound and no negation, so these are replaced first.
_BOUNDS = (
    (" ≥ ", re.compile(r"\b(?:at least|not? (?:less|fewer|earlier|shorter|lower) than|(?:a )?minimum of)\b")),
    (
        " ≤ ",
        re.compile(
            r"\b(?:at most|not? (?:more|greater|later|longer|higher) than|up to|(?:a )?maximum of|not exceed(?:ing)?|within)\b"
        ),
    ),
    (" > ", re.compile(r"\b(?:(?:more|greater|longer|higher) than|over|above|exceed(?:s|ed|ing)?)\b")),
    (" < ", re.compile(r"\b(?:(?:less|fewer|shorter|lower) than|under|below)\b")),
)
_NUMBER = re.compile(r"(?P<bound>[≥≤<>])?\s*(?:(?:the|an?)\s+)?[$€£₹]?\s*(?P<number>(?<!\w)-?\w*\d\w*(?:[.,]\d+)*)")
# "1,250" and "1,00,000" group digits; "3,14" is a decimal number and must not become 314.
_GROUPING = re.compile(r"(?<=\d),(?=(?:\d{2,3},)*\d{3}(?!\d))")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | dict.fromkeys("’‘", "'"))
_SYMBOLS = {"%": " percent ", "per cent": " percent ", "€": " euro ", "$": " dollar ", "£": " pound ", "₹": " rupee "}

_UNITS = frozenset(all_words("minute hour day week month quarter year percent euro dollar pound rupee cent"))
_ORDER = frozenset({"before", "after"})
_DUTY = re.compile(r"\b(?:must|shall|required|obliged|ha(?:s|ve) to|needs? to|mandatory)\b")
_LEAVE = re.compile(r"\b(?:may|can|might|could|entitled|allowed|permitted|optional)\b")
_NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|none|nobody|nothing|cannot|without)\b|n't\b")
_CLAUSE = re.compile(r"[;:]|,\s*(?=(?:nor|but|unless|except|provided)\b)")
_NAME = re.compile(r"(?<=\s)[\"'“‘(]*([A-Z][\w&.-]*\w)")


def agrees(statement: str, sentence: str, passage: str) -> bool:
    """Whether nothing that `statement` claims differs from what `sentence`, of `passage`, claims.

    Every number of the statement, with its bound and every unit, must be in the sentence, and every name in the
    passage, where it may stand a sentence earlier. A duty is not a permission, and what is denied must be denied.
    """
    own, other = _plain(statement), _plain(sentence)
    if not numbers(statement) <= numbers(sentence):
        return False
    words, others = set(all_words(_units(own))), set(all_words(_units(other)))
    if not (words & _UNITS <= others and words & _ORDER <= others):
        return False
    if not set(all_words(" ".join(_NAME.findall(statement)))) <= set(all_words(passage)):
        return False
    clause = _nearest_clause(own, other)
    denied = len(_NEGATION.findall(own))
    if denied != len(_NEGATION.findall(clause)):
        return False
    # "Must not" and "may not" forbid alike.
    return (
        denied > 0
        or not (_only(_DUTY, _LEAVE, own) and _only(_LEAVE, _DUTY, other))
        and not (_only(_LEAVE, _DUTY, own) and _only(_DUTY, _LEAVE, other))
    )


def numbers(text: str) -> set[str]:
    """The numbers of `text`, written in digits or in words, each with its bound.

    >>> sorted(numbers("Not more than thirty days, or 1,250 euros under section 7A."))
    ['1250', '7a', '≤30']
    """
    return {(match["bound"] or "") + match["number"] for match in _NUMBER.finditer(_GROUPING.sub("", _plain(text)))}


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).translate(_DASHES).casefold()
    text = " ".join(text.split())
    for symbol, phrase in _BOUNDS:
        text = phrase.sub(symbol, text)
    return _NUMERAL.sub(_digits, text)


def _digits(match: re.Match[str]) -> str:
    tens, word = match["tens"], match["word"]
    if tens and word in _VALUES and _VALUES[word] < 10:
        return str(_VALUES[tens] + _VALUES[word])
    return f"{_VALUES[tens]}-{_NUMERALS[word]}" if tens else _NUMERALS[word]


def _units(text: str) -> str:
    for symbol, word in _SYMBOLS.items():
        text = text.replace(symbol, word)
    return text


def _nearest_clause(statement: str, sentence: str) -> str:
    """Statutes string many clauses together: a negation in another one says nothing about this statement."""
    wanted = content_words(statement)
    return max(_CLAUSE.split(sentence), key=lambda clause: overlap(wanted, content_words(clause)))


def _only(one: re.Pattern[str], other: re.Pattern[str], text: str) -> bool:
    return one.search(text) is not None and other.search(text) is None
