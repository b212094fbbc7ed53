"""Who does it to whom: whether two sentences of the same words have the parts exchanged.

No grammar is parsed. Two words on either side of a third that both sentences have are exchanged where each stands in
the other's place, under the other's preposition: "A sues B" and "B sues A", "from A to B" and "from B to A", "A is
owed by B" and "A owes B". A passive that keeps the roles ("B is sued by A") does not fit that, nor does a list.

Words of two clauses are exchanged where each says of the other's what its own says there, and a word is spliced into a
clause that has another in its place: "acquitted by the first court, convicted by the second".
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

from pincite.words import all_words, content_words, has_content

__all__ = ["exchanged", "parties", "with_parties"]

#: Statutes and their illustrations call people A, B and Z. "A" is a person where no article can stand.
_IS_A = re.compile(
    r"(?<![\w.(/-])A(?=(?:['’]s)?\s+(?:is|was|shall|may|has|had|will|must|does|did|can|and|or)\b|['’]s\b|,)"
    r"|(?<=[a-z,;:] )A(?![\w)/&-]|\.\w)"
)
_SELLS = re.compile(r"(?<![\w.(/-])A(?=\s+[a-z]+s\b)")
_LETTER = re.compile(r"(?<![\w.(/'’-])[B-HJ-UWYZ](?!\w|[)/&-]|\.\s*\w)")


def parties(text: str) -> set[str]:
    """The single capital letters by which `text` calls people or things. Not I, V and X."""
    return set(_LETTER.findall(text)) | ({"A"} if with_parties(text) != text else set())


def with_parties(text: str) -> str:
    """`text` with every "A" that is a person made "A_", which is no article."""
    text = _IS_A.sub("A_", text)
    return _SELLS.sub("A_", text) if _LETTER.search(text) else text


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOKEN = re.compile(r"\w+|[,;]")
#: "The Governor may, on the advice of the Council, prorogue": what stands between these commas interrupts a clause.
_INTERRUPTS = re.compile(
    r"\b(may|shall|must|will|can|is|are|was|were|has|have|had),(\s+(?:on|with|by|after|before|under|in|at|for|upon)\b"
    r"[^,;]{1,80}),"
)
#: Where a clause ends: what stands in two of them is said of different things.
_PARTS = re.compile(r"[,;:]|\b(?:and|but|while|whereas|if|unless|when|where|until|because|than|not|nor|rather)\b")
_CLAUSE_WORD = re.compile(r"\((?:[a-z]{1,3}|\d{1,3})\)|\w+")
_ARTICLES = _words("the a an his her its their this that these those any each every")
_PREPOSITIONS = _words("to by from against over than before after under with for of on in into at")
#: Those that say of themselves which part a word has.
_TELLING = _words("to by from against over than before after")
#: These tell where or with whom: "lives with" is so of both.
_PLACES = _words("on in at with")
_PASSIVE = _words("is are was were be been being")
_JOINS = _words(", ; and or nor")
#: Both sides of these are alike.
_MUTUAL = frozenset(all_words("marry married met meet equal equals border borders resemble join joined and"))


class _Word(NamedTuple):
    position: int
    preposition: str
    shown: str


def exchanged(statement: str, sentence: str) -> str:
    """How the parts are exchanged, in words; empty where they are not. Both in lower case."""
    statement, sentence = (_INTERRUPTS.sub(r"\1\2", text) for text in (statement, sentence))
    tokens, tokens_there = _TOKEN.findall(statement), _TOKEN.findall(sentence)
    if why := _crossed(statement, sentence) or _spliced(statement, sentence):
        return why
    own, other = _placed(tokens), _placed(tokens_there)
    shared = sorted((word for word in own if word in other), key=lambda word: own[word].position)
    joins = [0, *accumulate(token in _JOINS for token in tokens)]
    for i, first in enumerate(shared):
        for j in range(i + 1, len(shared)):
            here, there = (own[first], own[shared[j]]), (other[first], other[shared[j]])
            crossed = here[0].preposition == there[1].preposition and here[1].preposition == there[0].preposition
            told = {here[0].preposition, here[1].preposition} <= _TELLING
            if crossed and told and here[0].preposition != here[1].preposition:
                return _told(*here)
            turned = crossed and there[0].position > there[1].position
            acted = there[0].position < there[1].position and "by" in (here[1].preposition, there[1].preposition)
            if not (turned or acted) or joins[here[0].position] != joins[here[1].position]:
                continue
            low, high = sorted(at.position for at in there)
            between = shared[i + 1 : j]
            if _MUTUAL.intersection(between):
                continue
            for middle in between:
                if not low < other[middle].position < high:
                    continue
                # "Lives with" is so of both; "was overruled in" is not.
                if turned and here[1].preposition in _PLACES and not _is_passive(tokens, own[middle]):
                    continue
                if turned or _acts(tokens, own[middle], here[1]) != _acts(tokens_there, other[middle], there[1]):
                    return _told(*here)
    return ""


def _crossed(statement: str, sentence: str) -> str:
    """Words that two clauses have exchanged: "allows the first and dismisses the second", and the other way round."""
    here, there = _clause_of(statement), _clause_of(sentence)
    cells: dict[tuple[int, int], str] = {}
    for word, (clause, shown) in here.items():
        if word in there:
            cells.setdefault((clause, there[word][0]), shown)
    for (i, p), shown in cells.items():
        for k, q in cells:
            if i < k and p != q and (i, q) in cells and (k, p) in cells:
                return f"the source says “{shown}” of “{cells[k, p]}”, not of “{cells[i, q]}”"
    return ""


def _spliced(statement: str, sentence: str) -> str:
    """A word that the sentence has in one clause, said of what stands in another, where its place is taken there."""
    known = set(all_words(statement))
    here = _clause_of(statement)
    clauses = [_placed(_TOKEN.findall(clause)) for clause in _PARTS.split(sentence)]
    where = {word: number for word, (number, _) in _clause_of(sentence).items()}
    shared = [word for word in here if word in where]
    for word in shared:
        home = clauses[where[word]]
        place = home.get(word)
        if place is None or not place.preposition or known.issuperset(home):
            continue
        for other in shared:
            number = where[other]
            if number == where[word] or here[other][0] != here[word][0]:
                continue
            for taken, there in clauses[number].items():
                if taken not in known and there.preposition == place.preposition:
                    return f"the source says “{here[other][1]}” of “{there.shown}”, not of “{place.shown}”"
    return ""


def _clause_of(text: str) -> dict[str, tuple[int, str]]:
    """The content words that stand once in a text, folded: in which of its clauses, and as they are written."""
    found: dict[str, list[tuple[int, str]]] = {}
    for number, clause in enumerate(_PARTS.split(text)):
        for word in _CLAUSE_WORD.findall(clause):
            if word[0] == "(":
                found.setdefault(word, []).append((number, word))
            elif has_content(word):
                found.setdefault(content_words(word)[0], []).append((number, word))
    return {word: places[0] for word, places in found.items() if len(places) == 1}


def _acts(tokens: list[str], verb: _Word, agent: _Word) -> bool:
    """Whether the word is who does it, of a verb in the passive: "is paid by the tenant"."""
    return agent.preposition == "by" and _is_passive(tokens, verb)


def _is_passive(tokens: list[str], verb: _Word) -> bool:
    return bool(_PASSIVE.intersection(tokens[max(0, verb.position - 2) : verb.position]))


def _placed(tokens: list[str]) -> dict[str, _Word]:
    """The content words that stand once in a text, folded, with where they stand and the preposition before them.

    All words of "by the district court" stand under it, and all of the list "by war, strikes or floods".
    """
    found: dict[str, list[_Word]] = {}
    preposition, ended = "", False
    for position, token in enumerate(tokens):
        if token in _PREPOSITIONS:
            preposition, ended = token, False
        elif token in _JOINS:
            ended = False
        elif token in _ARTICLES:
            preposition = "" if ended else preposition
        elif has_content(token):
            found.setdefault(content_words(token)[0], []).append(_Word(position, preposition, token))
            ended = True
        else:
            preposition = ""
    return {word: places[0] for word, places in found.items() if len(places) == 1}


def _told(first: _Word, second: _Word) -> str:
    return f"in the source “{first.shown}” and “{second.shown}” have each other's part"
