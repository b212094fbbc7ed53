"""Words for comparing a question with text: folded, lightly stemmed, function words left out."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

__all__ = ["all_words", "content_words", "has_content", "idf", "overlap"]

_WORD = re.compile(r"\w+(?:[.,]\d+)*")
_SUFFIXES = ("ingly", "edly", "ing", "ies", "ed", "es", "ly", "s")

# Question words are here too: they say what is asked for, not what it is about.
_FUNCTION_WORDS = frozenset(
    word
    for line in (
        "a about after all also am an and any are as at be because been before being between both but by",
        "can could did do does doing during each for from had has have having he her here hers him his",
        "how i if in into is it its itself just kind many may me might more most much must my no nor not",
        "of on once only or other our ours out over own per same shall she should so some such than that",
        "the their theirs them then there these they this those through to too under until up upon very",
        "was we were what when where which while who whom whose why will with within would you your",
        "yes yours",
    )
    for word in line.split()
)


@lru_cache(maxsize=65_536)
def _fold(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word.casefold())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    if len(plain) > 3 and plain.isascii() and plain.isalpha():
        for suffix in _SUFFIXES:
            if plain.endswith(suffix) and len(plain) - len(suffix) >= 3:
                plain = plain[: -len(suffix)]
                break
        if len(plain) > 3:
            plain = plain.removesuffix("e")
    return plain


def all_words(text: str) -> list[str]:
    """Every word of `text`, folded: case, accents and the commonest English endings removed. Numbers are kept whole."""
    return [_fold(word) for word in _WORD.findall(unicodedata.normalize("NFKC", text))]


def content_words(text: str) -> list[str]:
    """The words of `text` that carry meaning. All of them where only function words are found ("who are they?")."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text))
    kept = [word for word in words if word.casefold() not in _FUNCTION_WORDS]
    return [_fold(word) for word in kept or words]


def has_content(text: str) -> bool:
    """Whether any word of `text` carries meaning of its own: not in "Yes, they do."."""
    return any(word.casefold() not in _FUNCTION_WORDS for word in _WORD.findall(unicodedata.normalize("NFKC", text)))


def idf(texts: Iterable[Sequence[str]]) -> dict[str, float]:
    """How rare each word is among `texts`: ln(1 + (n - df + ½) / (df + ½)), the form BM25 uses. Always positive."""
    sets = [set(words) for words in texts]
    counts: dict[str, int] = {}
    for words in sets:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    return {word: math.log(1 + (len(sets) - df + 0.5) / (df + 0.5)) for word, df in counts.items()}


def overlap(query: Sequence[str], words: Iterable[str], weights: Mapping[str, float] | None = None) -> float:
    """The share of the query's distinct words that are among `words`, in [0, 1], each weighted (1 where not known)."""
    wanted, present = set(query), set(words)
    weight = {word: 1.0 if weights is None else weights.get(word, 1.0) for word in sorted(wanted)}
    total = sum(weight.values())
    return sum(weight[word] for word in sorted(wanted & present)) / total if total else 0.0
