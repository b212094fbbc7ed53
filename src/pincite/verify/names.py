"""Names of the parties of a case, made comparable, and how alike two of them are.

A name is cut down to the words that say who it is: titles, "and others", what comes after "alias" or "represented by"
are left out, abbreviations written out. Words compare equal when they are spelled alike: Indian names are written in
Roman letters in more than one way (Mohammad, Mohammed; Lakshmi, Laxmi). An initial equals any word that it begins.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

__all__ = ["PartyWords", "alike", "common_weights", "party_score", "skeleton"]

_WORD = re.compile(r"[^\W_]+(?:['’/][^\W_]+)*|@")
_MESSRS = re.compile(r"\bM\s?/\s?[sS]\b\.?")
#: Of two words of four letters or more, the least share of letters in common that makes them one.
_SPELLED_ALIKE = 0.86
#: The same of two words with the same consonants.
_SOUNDING_ALIKE = 0.72
#: Of a name that is longer than the one it is held against three quarters must agree: times this, that is enough for
#: `pincite.verify.known_cases.SAME_NAME`.
_FURTHER = 0.95


@dataclass(frozen=True)
class PartyWords:
    """How names are cut down: the table ``parties`` of the grammar."""

    expand: Mapping[str, str]
    ignore: frozenset[str]
    rest: frozenset[str]

    def words(self, party: str) -> tuple[str, ...]:
        """The words of a party's name that say who it is, in order; all of its words where none does.

        >>> PartyWords({"U.P.": "Uttar Pradesh"}, frozenset({"of", "ors"}), frozenset()).words("State of U.P. & Ors.")
        ('state', 'uttar', 'pradesh')
        """
        cached = self._cache.get(party)
        if cached is None:
            cached = self._cache[party] = self._words(party)
        return cached

    def _words(self, party: str) -> tuple[str, ...]:
        text = unicodedata.normalize("NFKD", party)
        if not text.isascii():
            text = "".join(letter for letter in text if not unicodedata.combining(letter))
        text = self._short.sub(lambda match: f" {self._long[match.lastgroup or '']} ", text)
        text = _MESSRS.sub(" ", text)
        found = [word.casefold() for word in _WORD.findall(text)]
        kept: list[str] = []
        for word in found:
            if word in self.rest and kept:
                break
            if word not in self.ignore and word != "@":
                kept.append(word)
        return tuple(kept) or tuple(found)

    @cached_property
    def _cache(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def _long(self) -> dict[str, str]:
        return {f"e{i}": long for i, long in enumerate(self.expand.values())}

    @cached_property
    def _short(self) -> re.Pattern[str]:
        """All abbreviations at once, the longest first; each is a group."""
        made = []
        for i, short in sorted(enumerate(self.expand), key=lambda each: (-len(each[1]), each[1])):
            letters = re.sub(r"[.\s]", "", short)
            if re.search(r"[.&(]", short):
                inner = r"[\s.]{0,2}".join(re.escape(letter) for letter in letters)
                made.append(rf"(?P<e{i}>(?<![\w.]){inner}\.?(?!\w))")
            else:
                made.append(rf"(?P<e{i}>(?i:\b{re.escape(letters)}\b\.?))")
        return re.compile("|".join(made) or r"(?!)")


@lru_cache(maxsize=65_536)
def _as_said(word: str) -> str:
    """A word with the letters and pairs of letters that write one sound made one."""
    text = word.replace("ksh", "x").replace("ks", "x").replace("ph", "f").replace("w", "v").replace("z", "j")
    text = text.replace("ck", "k").replace("q", "k").replace("sh", "s").replace("ee", "i").replace("oo", "u")
    text = re.sub(r"(?<=[bcdgjkpt])h", "", text)
    return text if text.startswith("ch") else text.replace("c", "k")


@lru_cache(maxsize=65_536)
def skeleton(word: str) -> str:
    """What is left of a word where spellings of a name agree: its first letter and its consonants.

    >>> skeleton("mohammad") == skeleton("mohammed"), skeleton("laxmi") == skeleton("lakshmi")
    (True, True)
    """
    text = _as_said(word)
    first, rest = text[:1], re.sub(r"[aeiouyh]", "", text[1:])
    return re.sub(r"(.)\1+", r"\1", first + rest)


@lru_cache(maxsize=262_144)
def alike(first: str, second: str) -> float:
    """How surely two words of names are one: 1 for equal, less for a spelling or an initial, 0 for different ones."""
    if first == second:
        return 1.0
    if len(first) == 1 or len(second) == 1:
        return 0.7 if first[0] == second[0] else 0.0
    if first.isdigit() or second.isdigit() or min(len(first), len(second)) < 4:
        return 0.85 if min(len(first), len(second)) == 3 and skeleton(first) == skeleton(second) else 0.0
    if first[0] != second[0]:
        return 0.0
    ratio = max(
        SequenceMatcher(None, one, other, autojunk=False).ratio()
        for one, other in {(first, second), (_as_said(first), _as_said(second))}
    )
    alike_said = skeleton(first) == skeleton(second) and len(skeleton(first)) >= 2
    return max(ratio, 0.85) if ratio >= (_SOUNDING_ALIKE if alike_said else _SPELLED_ALIKE) else 0.0


def party_score(cited: Sequence[str], known: Sequence[str], weights: Mapping[str, float]) -> float:
    """How surely two parties, as `PartyWords.words`, are one, in [0, 1].

    The share of the words of `cited` that are among `known`, weighed by how much a word says, less a part of what of
    `known` is not among them: a name is often cited shorter than it is and seldom longer. A word of `cited` that is not
    in `known` makes it somebody else ("Anwar Lohariya" is not "Anwar and others") unless much else agrees, so the two
    are not exchangeable. Words that are written apart in one and together in the other are joined, and an abbreviation
    stands for the words that it is the initials of.
    """
    if not cited or not known:
        return 0.0
    if cited == known or "".join(cited) == "".join(known):
        return 1.0
    cited, known = _written_out(cited, known), _written_out(known, cited)
    cited, known = _joined(cited, known), _joined(known, cited)
    forward, backward = _covered(cited, known, weights), _covered(known, cited, weights)
    if forward >= backward:
        return forward * (0.5 + 0.5 * backward)
    own = _covered(cited, known, weights, initials=False)
    return 0.95 * backward * min(0.5 + 0.5 * forward, _FURTHER * own)


def _written_out(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """`words` with what abbreviates several of `others` written out: of "sbi" and "state bank india"."""
    initials = "".join(word[0] for word in others)
    made: list[str] = []
    for word in words:
        at = initials.find(word) if 3 <= len(word) <= 6 and word not in others else -1
        made += others[at : at + len(word)] if at >= 0 else [word]
    return made


def _joined(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """`words` with two that follow each other made one where `others` have them as one: "uma devi", "umadevi"."""
    long = [other for other in others if len(other) >= 6]
    made: list[str] = []
    i = 0
    while i < len(words):
        both = "".join(words[i : i + 2])
        if long and i + 1 < len(words) and any(alike(both, other) for other in long):
            made.append(both)
            i += 2
        else:
            made.append(words[i])
            i += 1
    return made


def _covered(
    words: Sequence[str], others: Sequence[str], weights: Mapping[str, float], *, initials: bool = True
) -> float:
    """The weight of `words` that are among `others`, as a share; without `initials` those that are not do not count."""
    free = list(others)
    total = gained = 0.0
    unlike: list[str] = []
    for word in words:
        if word in free:
            # What is there as it is stands for nothing else: "S." is no "Sonowalia" where the other has an "S." too.
            free.remove(word)
            total += _weight(word, weights)
            gained += _weight(word, weights)
        else:
            unlike.append(word)
    for word in sorted(unlike, key=len, reverse=True):
        weight = _weight(word, weights)
        total += weight
        best, at = 0.0, -1
        for i, other in enumerate(free):
            if (likeness := alike(word, other)) > best:
                best, at = likeness, i
        if at >= 0:
            free.pop(at)
            gained += weight * best
        elif len(word) == 1 and not initials:
            total -= weight
    return gained / total if total else 0.0


def _weight(word: str, weights: Mapping[str, float]) -> float:
    known = weights.get(word)
    if known is not None:
        return known
    return 0.3 if len(word) == 1 or word.isdigit() else 1.0


def common_weights(names: Iterable[Sequence[str]]) -> dict[str, float]:
    """How much each word says of who a party is: the rarer among `names`, the more. In (0, 1]."""
    from math import log

    sets = [set(words) for words in names]
    counts: dict[str, int] = {}
    for words in sets:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    most = log(1 + len(sets))
    return {
        word: (
            0.3 if len(word) == 1 or word.isdigit() else max(0.1, log((1 + len(sets)) / count) / most if most else 1.0)
        )
        for word, count in counts.items()
    }
