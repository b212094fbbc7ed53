"""What a sentence claims beyond the words it uses: how much, when, by whom to whom, on what condition, yes or no.

Two sentences may share nearly all their words and still say different things ("at least two months", "at most three
months"). What is compared here is cheap and errs towards finding a difference: a paraphrase that is right may be
refused, a changed number must not pass. Written for English; other languages have only their digits compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pincite.numerals import days, numbers, plain, with_digits
from pincite.reservations import DUTY, LEAVE, NEGATION, changed_copy, reserve
from pincite.roles import exchanged, parties, with_parties
from pincite.words import all_words, content_words, has_content

__all__ = ["AUXILIARY", "agrees", "disagreement", "misplaced", "numbers", "same_sense", "with_digits"]

_UNITS = frozenset(all_words("minute hour day week month quarter year percent euro dollar pound rupee cent"))
_ORDER = frozenset(all_words("before after"))
_BEYOND = frozenset(("beyond", "outside"))
AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|may|might|must|shall|should|will|would|can|could)\b", re.I
)
_MODAL = re.compile(rf"{DUTY.pattern}|{LEAVE.pattern}|\b(?:will|would|should)\b")
_CLAUSE = re.compile(r"[;:]|,\s*(?=(?:nor|but|unless|except|provided)\b)")
#: A condition belongs to what it follows: only these begin a clause that it has no part in.
_MAIN_CLAUSE = re.compile(r"[;:]|,\s*(?=(?:nor|but)\b)|\s+(?:and|but)\s+(?=(?:shall|must|may|will|can)\b)")
_NAME = re.compile(r"(?<=\s)[\"'“‘(]*([A-Z][\w&.-]*\w)")

_EXCEPT = re.compile(
    r"\b(?:unless|except(?:ing)?|save (?:as|that|for|where|in)|other than|excluding|but for"
    r"|rather than|instead of|unlike)\b"
)
_ONLY = re.compile(r"\b(?:only|solely|exclusively|no(?:thing|body|ne)? (?:other|else))\b")
_IF = re.compile(
    r"\b(?:if|provided(?! (?:by|for|in|with|to|under|at|from|on)\b)|providing that|subject to|in case|on condition"
    r"|(?:so|as) long as|in the event|in default of|in the absence of|failing which)\b"
)
#: Say "if" where something is ordered or allowed, and "at that time" or "there" in a story.
_WHERE = re.compile(r"\b(?:where|when|whenever)\b")
_ALL = re.compile(r"\b(?:all|every|everyone|everybody|everything|always)\b")
_LIKE_ALL = re.compile(rf"{_ALL.pattern}|\b(?:each|any|whole|entire|whoever|whatever|no|none|nobody|never|both)\b")
_MOST = re.compile(r"\b(?:most(?= (?:of|\w+s\b))|majority)\b")
_LIKE_MOST = re.compile(rf"{_MOST.pattern}|{_LIKE_ALL.pattern}")
#: Of these what is denied is not the verb: "not all may" is no "all may not".
_NARROW = re.compile(r"\b(?:not|n't) (?:all|every|always|only|necessarily|exclusively)\b")


def agrees(statement: str, sentence: str, passage: str) -> bool:
    """Whether nothing that `statement` claims differs from what `sentence`, of `passage`, claims."""
    return not disagreement(statement, sentence, passage)


def disagreement(statement: str, sentence: str, passage: str) -> str:
    """How what `statement` claims differs from what `sentence`, of `passage`, claims, in words; empty if it does not.

    Every number of the statement, with its bound and every unit, every day as far as it is given, must be in the
    sentence, and every name in the passage, where it may stand a sentence earlier. What is denied must be denied, of
    the same. A duty is not a permission, a part is not all, no word stands in another's place, and who does it to whom
    stays; a condition of what the statement draws on must stand in the statement too. The first difference is told.
    """
    # Whether "A" is a person or an article is not always clear: there it may be either.
    if missing := sorted(parties(statement) - parties(sentence) - set(re.findall(r"\bA\b", sentence))):
        return f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} not named in the sentence of the source"
    own, other = _read(statement), _read(sentence)
    if own == other:
        return ""
    for look in _LOOKS:
        if why := look(own, other):
            return why
    names = dict.fromkeys(_NAME.findall(statement))
    known = {*all_words(passage), *all_words(with_digits(passage))}  # July, where 2024-07-01 stands
    if missing := [name for name in names if not set(all_words(name)) <= known]:
        return f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} not named in the source"
    return _replaced(own, other) or exchanged(own, other)


def misplaced(statement: str, sentence: str) -> str:
    """How the words stand otherwise: a part for all, one in another's place, or who does it to whom; empty if not.

    What remains to be asked of each sentence where several support a statement together.
    """
    own, other = _read(statement), _read(sentence)
    return _quantities(own, other) or _replaced(own, other) or exchanged(own, other)


def same_sense(statement: str, sentence: str) -> bool:
    """Whether the sentence has the statement's numbers, denies as often, and sets no other condition or reserve.

    Weaker than `agrees`: for a statement whose words stand in the sentence one by one. One without a verb ("two
    months") may leave the bound of a number aside.
    """
    own, other = _read(statement), _read(sentence)
    stated, there = numbers(statement), numbers(sentence)
    if not AUXILIARY.search(own):
        stated, there = ({number.lstrip("≥≤<>") for number in each} for each in (stated, there))
    differs = (look(own, other) for look in (_denied, _conditions, _reserve, changed_copy))
    return stated <= there and not any(differs)


def _read(text: str) -> str:
    return plain(with_parties(text))


def _reserve(own: str, other: str) -> str:
    return reserve(own, _used(own, _MAIN_CLAUSE.split(other), same_act=True))


def _numbers(own: str, other: str) -> str:
    stated, there = numbers(own), numbers(other)
    for number in sorted(stated - there):
        bare = number.lstrip("≥≤<>")
        if others := [each for each in there if each.lstrip("≥≤<>") == bare]:
            return f"the source says {_bounded(others[0])}, not {_bounded(number)}"
        # Of the numbers there the one that counts or names the same: "40 bar" for "60 bar", "section 7" for "9".
        for before in (False, True):
            beside = _beside(number, own, before=before)
            for each in sorted(there - stated) if beside else ():
                if _beside(each, other, before=before) == beside:
                    shown = [f"{beside} {n}" if before else f"{n} {beside}" for n in (_bounded(each), _bounded(number))]
                    return f"the source says {shown[0]}, not {shown[1]}"
        return f"{_bounded(number)} is not in the sentence of the source"
    return ""


def _days(own: str, other: str) -> str:
    there = sorted(days(other), key=str)
    for day in sorted(days(own), key=str):
        if not any(day.within(each) for each in there):
            return f"the source says {there[0]}, not {day}" if there else f"{day} is not in the sentence of the source"
    return ""


def _units(own: str, other: str) -> str:
    there, stated = set(all_words(other)), set(all_words(own))
    for word in re.findall(r"\w+", own):
        folded = _folded(word)
        if folded not in _UNITS | _ORDER or folded in there:
            continue
        peers = _ORDER if folded in _ORDER else _UNITS
        for instead in re.findall(r"\w+", other):
            if _folded(instead) in peers - stated:
                return f"the source says “{instead}”, not “{word}”"
        return f"“{word}” is not in the sentence of the source"
    return ""


def _folded(word: str) -> str:
    return (all_words(word) or [""])[0]


def _denied(own: str, other: str) -> str:
    """Whether one denies what the other does not, in words; empty if not."""
    used = _clauses_used(own, other)
    denials, denials_there = NEGATION.findall(own), NEGATION.findall(used)
    if len(denials) < len(denials_there):
        return f"the source denies: it has “{denials_there[0]}”"
    if len(denials) > len(denials_there):
        return f"the source does not deny: the statement has “{denials[0]}”"
    if bool(_NARROW.search(own)) != bool(_NARROW.search(used)):
        return "the source denies something else"
    if len(denials) == 1 and (word := _turned(own, used)):
        return f"the source denies something else: “{word}”"
    if len(denials) == 1:
        mine, theirs = _word_denied(own), _word_denied(used)
        if mine != theirs and mine in content_words(used) and theirs in content_words(own):
            return f"the source denies something else: “{theirs}”, not “{mine}”"
    return ""


def _turned(own: str, other: str) -> str:
    """A word that the sentence denies and the statement does not, where it is so of another the other way round."""
    (free, denied), (free_there, denied_there) = _divided(own), _divided(other)
    exchanged_words = sorted(free & denied_there)
    return exchanged_words[0] if exchanged_words and denied & free_there else ""


def _divided(text: str) -> tuple[set[str], set[str]]:
    """The content words that are not denied, and those that are: behind the negation, as far as its clause goes."""
    match = NEGATION.search(text)
    if match is None:
        return set(content_words(text)), set()
    end = re.search(r"[,;:]|\bbut\b|\Z", text[match.end() :])
    stop = match.end() + (end.start() if end else 0)
    free = set(content_words(f"{text[: match.start()]} {text[stop:]}"))
    denied = set(content_words(text[match.end() : stop]))
    return free - denied, denied - free


def _word_denied(text: str) -> str:
    match = NEGATION.search(text)
    after = content_words(text[match.end() :]) if match else []
    return after[0] if after else ""


def _duty(own: str, other: str) -> str:
    if NEGATION.search(own):
        return ""  # "must not" and "may not" forbid alike
    other = _used(own, _MAIN_CLAUSE.split(other), same_act=True)
    for one, another in ((DUTY, LEAVE), (LEAVE, DUTY)):
        if _only(one, another, own) and _only(another, one, other):
            return f"the source says “{_found(another, other)}”, not “{_found(one, own)}”"
    return ""


def _conditions(own: str, other: str) -> str:
    used = _used(own, _MAIN_CLAUSE.split(other), same_act=True)
    for kind in (_EXCEPT, _ONLY):
        there, here = kind.search(used), kind.search(own)
        if there and not here:
            return f"the source has “{_from(there, used)}”"
        if here and not there:
            return f"the source does not say “{here.group()}”"
    there = _IF.search(used) or (_WHERE.search(used) if _MODAL.search(used) else None)
    if there and not (_IF.search(own) or _WHERE.search(own)):
        return f"the source has “{_from(there, used)}”"
    return ""


def _quantities(own: str, other: str) -> str:
    for kind, enough in ((_ALL, _LIKE_ALL), (_MOST, _LIKE_MOST)):
        if (match := kind.search(own)) and not enough.search(other):
            return f"the source does not say “{match.group()}”"
    return ""


def _replaced(own: str, other: str) -> str:
    """A word of the statement in whose place, between the same two words, the sentence has another."""
    mine, theirs = re.findall(r"\w+", own), re.findall(r"\w+", other)
    folded, there = all_words(" ".join(mine)), all_words(" ".join(theirs))
    if len(folded) != len(mine) or len(there) != len(theirs):
        return ""  # "3.14" is one word and two: nothing can be told by place
    for i in range(1, len(mine) - 1):
        if folded[i] in there or not has_content(mine[i]):
            continue
        for j in range(1, len(theirs) - 1):
            around = (there[j - 1], there[j + 1]) == (folded[i - 1], folded[i + 1])
            same = mine[i][:4] == theirs[j][:4] or {mine[i], theirs[j]} <= _BEYOND  # "party", "parties"
            if around and not same and there[j] not in folded and has_content(theirs[j]):
                return f"the source says “{theirs[j]}”, not “{mine[i]}”"
    return ""


#: In the order in which a reader would be told.
_LOOKS: tuple[Callable[[str, str], str], ...] = (
    _days,
    _numbers,
    _denied,
    _units,
    _duty,
    _conditions,
    _quantities,
    _reserve,
    changed_copy,
)


def _clauses_used(statement: str, sentence: str) -> str:
    return _used(statement, _CLAUSE.split(sentence))


def _used(statement: str, clauses: list[str], *, same_act: bool = False) -> str:
    """The clause nearest to the statement, and those that hold words of it which the nearest lacks.

    Statutes string many clauses together: a negation in one that the statement does not draw on says nothing. With
    `same_act` clauses that order or allow what the statement does not speak of are left out: of "shall use it only
    so and shall not sell it" the first, where the statement is about selling.
    """
    wanted = set(content_words(statement))

    def shared(clause: str) -> int:
        return len(wanted.intersection(content_words(clause)))

    def speaks_of(clause: str) -> bool:
        modal = _MODAL.search(clause) if same_act else None
        act = content_words(clause[modal.end() :])[:1] if modal else []
        return not act or act[0] in wanted

    nearest = max(clauses, key=lambda clause: (shared(clause), speaks_of(clause)))
    missing = wanted - set(content_words(nearest))
    return " ".join(
        each for each in clauses if each is nearest or (speaks_of(each) and not missing.isdisjoint(content_words(each)))
    )


def _beside(number: str, text: str, *, before: bool) -> str:
    """The word right after a number, or right before it, if it means anything."""
    bare = re.escape(number.lstrip("≥≤<>"))
    pattern = rf"([^\W\d]\w*)\s+{bare}(?![\w])" if before else rf"(?<![\w.,]){bare}\s+([^\W\d]\w*)"
    match = re.search(pattern, text)
    return match[1] if match and has_content(match[1]) else ""


_BOUND_WORDS = {"≥": "at least ", "≤": "at most ", ">": "more than ", "<": "less than "}
_TIMES = {"1x": "once", "2x": "twice"}


def _bounded(number: str) -> str:
    bare = number.lstrip("≥≤<>")
    return f"{_BOUND_WORDS.get(number[:1], '')}{_TIMES.get(bare, bare)}"


def _from(match: re.Match[str], text: str) -> str:
    """The words of a condition from where it begins, a few of them."""
    words = text[match.start() :].split(",")[0].split()
    return " ".join(words[:6]).rstrip(".;:") + (" …" if len(words) > 6 else "")


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group() if match else ""


def _only(one: re.Pattern[str], other: re.Pattern[str], text: str) -> bool:
    return one.search(text) is not None and other.search(text) is None
