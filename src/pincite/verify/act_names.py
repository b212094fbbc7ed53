"""The acts that a text names: those of the grammar by their names, others by what names of acts look like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pincite.verify.forms import abbreviation
from pincite.verify.grammar import Grammar

__all__ = ["ActNamed", "acts_named", "match_act", "meant"]

_YEAR = r"(?:1[6-9]|20)\d\d"
_BEFORE_YEAR = rf"(?:\s*,?\s*(?:[\[(]\s?(?P<bracketed>{_YEAR})\s?[\])]|(?P<year>{_YEAR})(?![\d-])))?"
_TITLE = (
    r"(?:[A-Z][\w'’.&-]*|\((?:[A-Z][\w'’]*|of|and|on|in|the|for|to|[,&\s])+\)"
    r"|of|and|for|the|in|to|on|&|from|against|by|or|with)"
)
#: A name in brackets that a text gives an act after naming it: ("the Code"), (for short 'the 1956 Act').
_DEFINED = re.compile(
    r"\s*,?\s*\([^()]{0,90}?[\"'“‘]\s*(?:[Tt]he\s+|[Ss]aid\s+)*(?P<term>[A-Z0-9][\w .&-]{0,40}?)"
    r"\s*[\"'”’]{1,2}[^()]{0,60}\)"
)
_NO_TITLE = re.compile(r"\b(?:[Ss]ections?|[Aa]rticles?|[Ss]ee|Under|Schedule|Entry|List)\b")
_NO_NAME = frozenset(
    ["the", "this", "that", "said", "such", "same", "under", "principal", "new", "old", "amending", "parent"]
)


@dataclass(frozen=True, slots=True)
class ActNamed:
    """An act, where a text names it."""

    start: int
    end: int
    act: str  #: its key in the grammar, or its name as written
    kind: str  #: what it may be called in short: ``Act``, ``Code``
    term: str = ""  #: what the text calls it from here on, where it says so


def acts_named(text: str, grammar: Grammar) -> list[ActNamed]:
    """Every act that `text` names, in order."""
    found: list[ActNamed] = []
    pattern, position = _anywhere(_key(grammar)), 0
    while match := pattern.search(text, position):
        made = _made(text, match, grammar)
        if made is not None:
            found.append(made)
        # What is no act may hold one: "See the Arms Act".
        position = made.end if made else match.start() + len(match.group().split()[0])
    return found


def match_act(text: str, position: int, grammar: Grammar) -> ActNamed | None:
    """The act that is named at `position`."""
    match = _anywhere(_key(grammar)).match(text, position)
    return _made(text, match, grammar) if match else None


def meant(term: str, before: Sequence[ActNamed], grammar: Grammar) -> str:
    """Which act "the Act", "the Code" goes back to, of those named before; empty where that is not clear.

    It is the one that the text gave that name; or the only one that is called so; or else the last, where no other
    that is called so was named since the one before it.
    """
    defined = [each for each in before if each.term and each.term.casefold() == term.casefold()]
    if defined:
        return defined[-1].act
    fits = [each.act for each in before if each.kind == term]
    if term == "Constitution" and not fits:
        return next((key for key, act in grammar.acts.items() if "Constitution" in act.name), "")
    if len(set(fits)) == 1:
        return fits[0]
    # Named twice running, or nothing else near: the text is about that one now.
    return fits[-1] if len(fits) >= 2 and fits[-1] == fits[-2] else ""


def _key(grammar: Grammar) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the pattern of the names is made of."""
    names = tuple(each for act in grammar.acts.values() for each in (act.name, *act.aliases))
    return tuple(dict.fromkeys(names)), grammar.kinds


@lru_cache(maxsize=8)
def _anywhere(key: tuple[tuple[str, ...], tuple[str, ...]]) -> re.Pattern[str]:
    names, kinds = key
    known = "|".join(_pattern(name) for name in sorted(names, key=len, reverse=True))
    kind = "|".join(map(re.escape, kinds))
    title = rf"(?P<title>[A-Z][\w'’.&-]*(?:\s+{_TITLE}){{0,14}}?\s+(?P<kind>{kind})s?\b)"
    return re.compile(rf"(?<![\w.])(?:(?P<known>{known})(?!\w)|{title}){_BEFORE_YEAR}")


@lru_cache(maxsize=1024)
def _pattern(name: str) -> str:
    words = re.findall(r"[A-Za-z]+|\d+|[().&]|\s+", name)
    letters = re.sub(r"[\s.]", "", name)
    if letters.isupper() or re.fullmatch(r"[A-Z][a-z]{1,2}\.?P\.?C\.?", name.replace(" ", "")):
        letters = r"\s?".join(rf"{re.escape(piece)}\.?" for piece in re.findall(r"[A-Z][a-z]*", name))
        return rf"(?i:{letters})"
    made = []
    for word in words:
        if word.isspace():
            made.append(r"\s+")
        elif word.isalpha() and len(word) > 3 and not word.isupper():
            made.append(rf"(?i:{word})")
        elif word.isalpha() and word.isupper():
            made.append(abbreviation(word))
        else:
            made.append(re.escape(word) if word != "." else r"\.?\s?")
    return "".join(made)


@lru_cache(maxsize=8)
def _by_name(key: tuple[tuple[str, ...], tuple[str, ...]]) -> dict[str, str]:
    return {_plain(name): name for name in key[0]}


def _plain(name: str) -> str:
    return re.sub(r"[\s.]", "", name).casefold()


def _made(text: str, match: re.Match[str], grammar: Grammar) -> ActNamed | None:
    digits = match.group("year") or match.group("bracketed")
    year = int(digits) if digits else None
    start, end = match.span()
    if text[end - 1] == "." and "." not in text[start : end - 1]:
        end -= 1  # the full stop of the sentence
    if match.group("known"):
        name = _plain(match.group("known"))
        acts = [act for act in grammar.acts.values() if name in {_plain(each) for each in (act.name, *act.aliases)}]
        of_year = [act for act in acts if year is None or act.year is None or act.year == year]
        # With a year that none has, another act of that name: the Code of Criminal Procedure of 1861.
        key = of_year[0].key if of_year else f"{acts[0].name}, {year}"
        kind = next((each for each in grammar.kinds if re.search(rf"\b{each}\b", acts[0].name)), "")
    else:
        title = " ".join(match.group("title").split())
        words = title.split()
        while words and words[0].casefold() in _NO_NAME:
            words = words[1:]
            start = match.end("title") if not words else text.index(words[0], start + 1)
            if words and (known := _anywhere(_key(grammar)).match(text, start)) and known.group("known"):
                return _made(text, known, grammar)
        # "Part II of the Indian Penal Code" is that code; "Part II of the Act" names none.
        inner = re.search(r"\bof\s+(?:the\s+)?(?=\S+(?:\s+\S+)*$)", match.group("title"))
        known = _anywhere(_key(grammar)).match(text, match.start("title") + inner.end()) if inner else None
        if known and known.group("known") and known.end("known") == match.end("title"):
            return _made(text, known, grammar)
        if len(words) < 2 or words[-2].casefold() in _NO_NAME or _NO_TITLE.search(title):
            return None
        key = f"{' '.join(words)}, {year}" if year else " ".join(words)
        kind = match.group("kind")
    defined = _DEFINED.match(text, end)
    return ActNamed(start, end, key, kind, defined.group("term") if defined else "")
