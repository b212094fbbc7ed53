"""What a sentence claims beyond the words it uses: how much, in what unit, duty or permission, yes or no, of whom.

Two sentences may share nearly all their words and still say different things ("at least two months", "at most three
months"). What is compared here is cheap and errs towards finding a difference: a paraphrase that is right may be
refused, a changed number must not pass. Written for English; other languages have only their digits compared.
"""

from __future__ import annotations

import re
import unicodedata

from pincite.words import all_words, content_words

__all__ = ["agrees", "numbers", "same_sense", "with_digits"]

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_VALUES = {word: value for value, word in enumerate(_SMALL.split())}
_VALUES |= {word: 10 * tens for tens, word in enumerate(_TENS.split(), start=2)}
_VALUES |= {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_NUMERALS = {word: str(value) for word, value in _VALUES.items()}
_NUMERALS |= {"once": "1x", "twice": "2x", "double": "2x", "half": "0.5"}
# "first" is "1st", "second" "2nd", "third" "3rd", and the others end in "th".
_NUMERALS |= {
    word: f"{n}{('st', 'nd', 'rd')[n - 1] if n <= 3 else 'th'}" for n, word in enumerate(_ORDINALS.split(), start=1)
}
_NUMERAL = re.compile(rf"\b(?:(?P<tens>{_TENS.replace(' ', '|')})-)?(?P<word>{'|'.join(_NUMERALS)})\b")

# Phrases that bound the number after them. "Not more than" is a bound and no negation, so these are replaced first.
_BOUNDS = tuple(
    (f" {symbol} ", re.compile(rf"\b(?:{phrases})\b"))
    for symbol, phrases in (
        ("≥", r"at least|not? (?:less|fewer|earlier|shorter|lower) than|(?:a )?minimum of"),
        ("≤", r"at most|not? (?:more|greater|later|longer|higher) than|up to|(?:a )?maximum of|within"),
        ("≤", r"(?:may )?extends? to|not exceed(?:ing)?"),
        (">", r"(?:more|greater|longer|higher) than|over|above|exceed(?:s|ed|ing)?"),
        ("<", r"(?:less|fewer|shorter|lower) than|under|below"),
    )
)
_NUMBER = re.compile(r"(?P<bound>[≥≤<>])?\s*(?:(?:the|an?)\s+)?[$€£₹]?\s*(?P<number>(?<!\w)-?\w*\d\w*(?:[.,]\d+)*)")
# "1,250" and "1,00,000" group digits; "3,14" is a decimal number and must not become 314.
_GROUPING = re.compile(r"(?<=\d),(?=(?:\d{2,3},)*\d{3}(?!\d))")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | dict.fromkeys("’‘", "'"))
_SYMBOLS = {"%": " percent ", "per cent": " percent ", "€": " euro ", "$": " dollar ", "£": " pound ", "₹": " rupee "}

_UNITS = frozenset(all_words("minute hour day week month quarter year percent euro dollar pound rupee cent"))
_ORDER = frozenset(all_words("before after"))
_DUTY = re.compile(r"\b(?:must|shall|required|obliged|ha(?:s|ve) to|mandatory)\b")
_LEAVE = re.compile(r"\b(?:may|can|might|could|entitled|allowed|permitted|optional)\b")
_NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|none|nobody|nothing|cannot|without|false|untrue)\b|n't\b")
_CLAUSE = re.compile(r"[;:]|,\s*(?=(?:nor|but|unless|except|provided)\b)")
_NAME = re.compile(r"(?<=\s)[\"'“‘(]*([A-Z][\w&.-]*\w)")


def agrees(statement: str, sentence: str, passage: str) -> bool:
    """Whether nothing that `statement` claims differs from what `sentence`, of `passage`, claims.

    Every number of the statement, with its bound and every unit, must be in the sentence, and every name in the
    passage, where it may stand a sentence earlier. A duty is not a permission, and what is denied must be denied.
    """
    own, other = _plain(statement), _plain(sentence)
    if not (numbers(statement) <= numbers(sentence) and same_sense(statement, sentence)):
        return False
    words, others = set(all_words(_units(own))), set(all_words(_units(other)))
    if not (words & _UNITS <= others and words & _ORDER <= others):
        return False
    if not set(all_words(" ".join(_NAME.findall(statement)))) <= set(all_words(passage)):
        return False
    if _NEGATION.search(own):
        return True  # "must not" and "may not" forbid alike
    crossed = (_only(_DUTY, _LEAVE, own) and _only(_LEAVE, _DUTY, other)) or (
        _only(_LEAVE, _DUTY, own) and _only(_DUTY, _LEAVE, other)
    )
    return not crossed


def same_sense(statement: str, sentence: str) -> bool:
    """Whether the sentence has the statement's numbers, bounds aside, and denies as often as the statement does.

    Weaker than `agrees`: for a statement whose words stand in the sentence one by one.
    """
    bare = {number.lstrip("≥≤<>") for number in numbers(sentence)}
    own, other = _plain(statement), _plain(sentence)
    return {number.lstrip("≥≤<>") for number in numbers(statement)} <= bare and (
        len(_NEGATION.findall(own)) == len(_NEGATION.findall(_clauses_used(own, other)))
    )


def numbers(text: str) -> set[str]:
    """The numbers of `text`, written in digits or in words, each with its bound.

    >>> sorted(numbers("Not more than thirty days, or 1,250 euros under section 7A."))
    ['1250', '7a', '≤30']
    """
    return {(match["bound"] or "") + match["number"] for match in _NUMBER.finditer(_plain(text))}


def with_digits(text: str) -> str:
    """`text` in lower case with its numerals in digits, not grouped.

    >>> with_digits("Twenty-five days, the third time, 1,250 euros")
    '25 days, the 3rd time, 1250 euros'
    """
    plain = unicodedata.normalize("NFKC", text).translate(_DASHES).casefold()
    return _NUMERAL.sub(_digits, _GROUPING.sub("", plain))


def _plain(text: str) -> str:
    text = " ".join(with_digits(text).split())
    for symbol, phrase in _BOUNDS:
        text = phrase.sub(symbol, text)
    return text


def _digits(match: re.Match[str]) -> str:
    tens, word = match["tens"], match["word"]
    if tens and word in _VALUES and _VALUES[word] < 10:
        return str(_VALUES[tens] + _VALUES[word])
    return f"{_VALUES[tens]}-{_NUMERALS[word]}" if tens else _NUMERALS[word]


def _units(text: str) -> str:
    for symbol, word in _SYMBOLS.items():
        text = text.replace(symbol, word)
    return text


def _clauses_used(statement: str, sentence: str) -> str:
    """The clause nearest to the statement, and those that hold words of it which the nearest lacks.

    Statutes string many clauses together: a negation in one that the statement does not draw on says nothing.
    """
    wanted = set(content_words(statement))
    clauses = _CLAUSE.split(sentence)
    nearest = max(clauses, key=lambda clause: len(wanted.intersection(content_words(clause))))
    missing = wanted - set(content_words(nearest))
    return " ".join(each for each in clauses if each is nearest or not missing.isdisjoint(content_words(each)))


def _only(one: re.Pattern[str], other: re.Pattern[str], text: str) -> bool:
    return one.search(text) is not None and other.search(text) is None
