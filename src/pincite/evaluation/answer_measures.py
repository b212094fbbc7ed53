"""Whether an answer says what a gold answer says: exact match and F1, under two rules that are named.

- ``squad``: the rule of SQuAD's evaluation, letter for letter. Lower case, without the 32 ASCII punctuation characters,
  without the words *a*, *an* and *the*, white space as single spaces; exact match compares what is left, F1 its words.
  Source: Rajpurkar et al. 2016 (arXiv:1606.05250), section 6.1, and Rajpurkar et al. 2018 (arXiv:1806.03822) for
  questions without an answer: where either side is empty, F1 is 1 if both are and else 0, and gold answers of which
  nothing is left are passed over (`score`); the first version has F1 0 where both are empty, and passes over none.
  Figures in the literature are of this rule. To it 3.14 is 314 and -5 is 5, −5 with a minus sign is neither, and of the
  answer "A" nothing is left.
- ``unicode``: compares what is read rather than how it is written; see `words`.

Both give an answer the best value over several gold answers, each measure for itself, as SQuAD does.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import regex

from pincite.errors import InputError

__all__ = ["RULES", "AnswerScore", "Rule", "check_rule", "exact_match", "normal_form", "score", "token_f1", "words"]

Rule: TypeAlias = Literal["squad", "unicode"]
RULES: tuple[Rule, ...] = ("squad", "unicode")

_ARTICLES = frozenset({"a", "an", "the"})
_SQUAD_ARTICLES = re.compile(r"\b(a|an|the)\b")
_SQUAD_PUNCTUATION = str.maketrans("", "", string.punctuation)


class AnswerScore(NamedTuple):
    """How well an answer agrees with the gold answers."""

    exact: float  #: 1 where it is one of them, else 0
    f1: float  #: in [0, 1], of the words shared with the nearest


def check_rule(name: str) -> Rule:
    """The rule of that name. Raises InputError for another."""
    if name not in RULES:
        raise InputError(f"the rule is {' or '.join(RULES)}, got {name!r}")
    return name


def words(text: str, rule: Rule = "squad") -> list[str]:
    """What of `text` is compared, in order.

    ``unicode``, step by step:

    1. NFKC and case folding: ﬁ is fi, ß is ss, é is é however it is composed. ½ after a whole number stays apart (6½ is
       6 1/2) and so do raised digits (10² is 10^2). Invisible characters go, digits of every script are ASCII's.
    2. Every dash and the minus sign are a hyphen. Before a number that begins a word it is a sign and stays, between
       two words or numbers it separates them.
    3. Separators of thousands go (1,000, 1'000, 1,00,000, and fixed spaces); decimal points stay, and .5 is 0.5.
    4. Words are runs of letters, marks and digits, with an apostrophe, full stop or & inside a word, and ``, : / ^``
       inside a number; other punctuation separates them and goes. A full stop between single letters goes (U.S. is us).
       Symbols, and ``% ‰ # @ &`` that stand alone, are words of their own.
    5. In scripts that put no space between words (Han, Kana, Thai, Lao, Khmer, Burmese) each grapheme is a word.
    6. *a*, *an* and *the* go where a word follows them: "A" is an answer.

    Nothing is left only of text without a visible character: what is punctuation alone is one word.
    """
    return normal_form(text, rule).split() if rule == "squad" else _unicode_words(text)


def normal_form(text: str, rule: Rule = "squad") -> str:
    """`text` as exact match compares it: two answers with one normal form are the same."""
    if rule == "squad":
        bare = text.lower().translate(_SQUAD_PUNCTUATION)
        return " ".join(_SQUAD_ARTICLES.sub(" ", bare).split())
    return " ".join(_unicode_words(text))


def exact_match(answer: str, gold: str, rule: Rule = "squad") -> float:
    """1 where both have one normal form, else 0.

    >>> exact_match("The Eiffel Tower.", "eiffel tower"), exact_match("3.14", "314", "unicode")
    (1.0, 0.0)
    """
    return float(normal_form(answer, rule) == normal_form(gold, rule))


def token_f1(answer: str, gold: str, rule: Rule = "squad") -> float:
    """The harmonic mean of precision and recall of the words, each counted as often as it comes.

    Where either side has no words it is 1 if neither has and else 0.

    >>> token_f1("in the year 1889", "1889")
    0.5
    """
    own, right = words(answer, rule), words(gold, rule)
    if not own or not right:
        return float(own == right)
    shared = sum((Counter(own) & Counter(right)).values())
    if not shared:
        return 0.0
    # In this order the last digit too is that of the official script.
    precision, recall = shared / len(own), shared / len(right)
    return (2 * precision * recall) / (precision + recall)


def score(answer: str, gold: Sequence[str], rule: Rule = "squad") -> AnswerScore:
    """The best over the gold answers. Without any the question has no answer, and only an empty `answer` is right.

    Under ``squad`` a gold answer of which nothing is left is passed over, as the official script does; where it is the
    only one, the question counts as one without an answer.
    """
    right = [each for each in gold if normal_form(each, rule)] or [""]
    return AnswerScore(
        max(exact_match(answer, each, rule) for each in right),
        max(token_f1(answer, each, rule) for each in right),
    )


# The rule ``unicode``

#: Scripts without a space between words.
_SPACELESS = r"\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}"
_JOINED = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_SPACELESS}]]"
_ALONE = rf"[[\p{{L}}\p{{M}}\p{{N}}]&&[{_SPACELESS}]]"

_WORDS = regex.compile(
    rf"""(?V1)
      (?={_ALONE})\X
    | (?:(?<!{_JOINED})-(?=\d))? {_JOINED}+
      (?: (?: (?<=\d)\^-?(?=\d) | (?<=\d)[,:/](?=\d) | ['.&](?={_JOINED}) ) {_JOINED}+ )*
    | [%‰\#@&\p{{S}}]
    """,
    regex.VERBOSE,
)
_THOUSANDS = regex.compile(
    r"(?<!\d)(?<!\d[.,'])\d{1,3}(?:(?:,\d{2,3})*,\d{3}|(?:'\d{3})+|(?:[\u00a0\u2007\u2009\u202f]\d{3})+)(?!\d|[,']\d)"
)
_MIXED_FRACTION = regex.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215f\u2189])")
_RAISED = regex.compile(r"(?<=\d)(?=[\u207a\u207b]?[\u00b2\u00b3\u00b9\u2070\u2074-\u2079])")
_DOTTED_I = regex.compile("i\u0307+")  # the dot of İ, which case folding leaves behind
_DASH = regex.compile(r"[\p{Pd}\u2212\u2043\u02d7]")
_QUOTE = regex.compile(r"['`\u00b4\u02b9\u02bb\u02bc\u02c8\u2018\u2019\u201b\u2032\uff07]")
_INVISIBLE = regex.compile(r"[\p{Cf}\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_LETTER_STOPS = regex.compile(rf"(?V1)(?<!{_JOINED})(?<!{_JOINED}\.)\p{{L}}\p{{M}}*(?:\.\p{{L}}\p{{M}}*)+(?!{_JOINED})")
_BARE_POINT = regex.compile(r"(?<![\p{L}\p{M}\p{N}.])\.(?=\d)")
_SIGN_BEFORE_CURRENCY = regex.compile(r"(?<![\p{L}\p{M}\p{N}])-(\p{Sc})\s*(?=\d)")


def _unicode_words(text: str) -> list[str]:
    folded = _folded(text)
    found: list[str] = [match.group() for match in _WORDS.finditer(folded)]
    if not found:
        return ["".join(folded.split())] if folded.strip() else []
    followed = [each not in "&+#" for each in found[1:]] + [False]  # A & B, A+, A#: no articles
    return [word for word, article in zip(found, followed, strict=True) if not (article and word in _ARTICLES)]


def _folded(text: str) -> str:
    text = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    # Before NFKC, which makes a space and a mark of some quotes, a plain space of a fixed one, and digits of all.
    text = _joined(_QUOTE.sub("'", text))
    text = _RAISED.sub("^", _MIXED_FRACTION.sub(" ", text))
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = _DOTTED_I.sub("i", _QUOTE.sub("'", text))
    text = text.replace("\u2044", "/").replace("\u066b", ".").replace("\u066c", ",")
    text = "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in text)
    text = _joined(_DASH.sub("-", text))
    text = _LETTER_STOPS.sub(lambda match: match.group().replace(".", ""), text)
    text = _BARE_POINT.sub("0.", text)
    signed: str = _SIGN_BEFORE_CURRENCY.sub(r"\1-", text)
    return signed


def _joined(text: str) -> str:
    """`text` without the separators of thousands."""
    found: str = _THOUSANDS.sub(lambda match: regex.sub(r"\D", "", match.group()), text)
    return found
