"""With what reserve a source says what a statement says outright.

All words of a statement may stand in a sentence that says something else: that somebody alleged it, refused it or
attempted it, that it is so of the wife of the man, of some or of those below an age, or as one of two alternatives.
Compared are texts as `pincite.numerals.plain` makes them. Written for English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from pincite.numerals import DAY, numbers
from pincite.words import all_words, content_words, has_content

__all__ = ["DUTY", "LEAVE", "NEGATION", "changed_copy", "reserve"]

DUTY = re.compile(r"\b(?:must|shall|required|obliged|ha(?:s|ve) to|mandatory)\b")
LEAVE = re.compile(r"\b(?:may|can|might|could|entitled|allowed|permitted|optional)\b")
NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|none|nobody|nothing|cannot|without|false|untrue)\b|n't\b")

_WORD = re.compile(r"\w+|;")
#: A copy has so many words at least, this share of them in the order of the source; so many may be replaced by others.
_COPY_WORDS, _COPY, _REPLACED = 8, 0.8, 3
_LONGEST = 400
_AND, _OR_WORD = frozenset(["and"]), frozenset(["or"])
_SHALL, _MAY_WORDS = frozenset(["shall", "must"]), frozenset(["may", "can", "might", "could"])
_OPPOSED = ((_AND, _OR_WORD), (_OR_WORD, _AND), (_SHALL, _MAY_WORDS), (_MAY_WORDS, _SHALL))
_ORDERS, _FORBIDS = re.compile(rf"(?:{DUTY.pattern})(?! not\b)"), re.compile(r"\W*(?:no|nothing|neither|none)\b")
_BEYOND = frozenset(["beyond", "outsid"])
#: Numbers are compared elsewhere.
_COUNTS = re.compile(r".*\d|percent\Z").match
_FORBIDDEN = re.compile(r"\b(?:shall|must|may|can) (?:not|only)\b|\bnor\b|\A\W*(?:no|nothing|neither|none)\b")
_CONDITIONS = frozenset(["if", "unless", "except", "save", "provided", "subject", "only", "excluding"])
#: What follows is somebody's word, or in question.
_SAYS = r"(?:alleg|conten|argu|submi|claim|assert|plead|suggest|urg|suspect|accus|den[iy]|doubt|believ|purport)\w*"
_REPORT = re.compile(rf"\b{_SAYS}(?:\s+\w+){{0,2}}?\s+that\b|\bunable to \w+ that\b|\bwhether\b")
_ATTRIBUTES = re.compile(rf"\b(?:according to|in the view of|whether|{_SAYS})\b")
#: Deny without a "not".
_HALF = re.compile(
    r"\b(?:hardly|barely|scarcely|seldom|rarely|(?<!a )few|lack(?:s|ed|ing)?|fail(?:s|ed|ing)? to"
    r"|refus(?:es?|ed|ing|al)|declin(?:es?|ed|ing)|den(?:y|ies|ied|ying)|ceas(?:es?|ed|ing) to|exempt(?:s|ed|ion)?"
    r"|partly|partially|in part(?! [ivxl\d]+\b)|to some extent)\b"
)
_NON = re.compile(r"\bnon[- ]?(\w{3,})")
_MAY = re.compile(r"\b(?:may|might|could)\b(?! not\b)")
_ABLE = re.compile(
    r"\b(?:rights?|powers?|discretion|able|options?|possibl[ey]|authori[sz]ed|empowered|free|up to|punishable|liable)\b"
)
_ARTICLES = frozenset(["the", "a", "an", "his", "her", "its", "their", "this", "that", "any", "every", "each"])
_SOME = frozenset(["some", "certain", "few"])
_TRIES = re.compile(r"(?:attempt|conspir|prepar|fail|inten|threat|offer)\w*\Z")
#: What is said of these is said of what they are of.
_SAME = frozenset(all_words("provision provisions term terms text rule rules state republic union city"))
_POSSESSED = re.compile(r"\b(\w+)'s\s+(\w+)")
_PAIR = re.compile(
    r"(\w+),?\s+(and|or)\s+(?=(?:(?:the|an?|his|its|with|to|by|of|in|for|from|on|at|be|is|are|shall|may)\s+)*(\w+))"
)
_WHO = re.compile(r"(?<!,)\s(?P<who>who|whose|which)\s(?P<what>[^,;]+?)\s(?:shall|must|may|can|will)\b")
_OR = re.compile(r"(\w+),?\s+or\s+(?:(?:the|an?|his|its|with|to|by|of|in|for)\s+)*(\w+)")
_OF_ANY = re.compile(r"\b(?:who|whose|which|that|if|where|when|any|every|whoever|in respect)\b")
_CHANGE = re.compile(r"\b(by|to|from)\s+(\d+(?:[.,/]\d+)*)\b")
_WHEN = re.compile(
    rf"\b(on or after|on or before|on and from|after|before|until|till|by|since|from|on)\s+(?:the\s+)?(?={DAY.pattern})"
)
#: Before, up to, at, from or after a day.
_SIDE = {"after": ">", "before": "<", "on or before": "≤", "by": "≤", "until": "≤", "till": "≤"}


def reserve(own: str, other: str) -> str:
    """What `other` says less than `own`, or of something else, in words for a reader; empty if nothing is found."""
    return next((why for look in _LOOKS if (why := look(own, other))), "")


def changed_copy(own: str, other: str) -> str:
    """What was changed in `own` if it is nearly a copy of `other`, or of a part of it; empty if it is none.

    That is a word for another, an "and" for an "or", a "shall" for a "may"; or an alternative or a condition that is
    left out. Statutes are quoted so, and of a hundred words one that is changed is hard to see.
    """
    mine, theirs = _WORD.findall(own)[:_LONGEST], _WORD.findall(other)[:_LONGEST]
    if len(mine) < _COPY_WORDS:
        return ""
    operations = SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes()
    if sum(j2 - j1 for kind, _, _, j1, j2 in operations if kind == "equal") < _COPY * len(mine):
        return ""
    orders = _ORDERS.search(other) is not None and not _FORBIDS.match(other)
    for kind, i1, i2, j1, j2 in operations:
        was, now = theirs[i1:i2], mine[j1:j2]
        if kind == "replace" and _other_words(was, now, forbidden=_FORBIDDEN.search(own) is not None):
            return f"the source says “{_some(was)}”, not “{_some(now)}”"
        dropped = _dropped(was, orders=orders) if kind == "delete" and i1 else ""
        # What is moved is not left out.
        if dropped and mine.count(dropped) < theirs.count(dropped):
            return f"the source has “{_some(theirs[i1 + was.index(dropped) :])}”"
    return ""


def _dropped(words: Sequence[str], *, orders: bool) -> str:
    """The word by which what is left out, up to the next clause, was a condition or an alternative; empty if none."""
    for i, word in enumerate(words):
        if word in _CONDITIONS or (word == "or" and orders):
            return word
        if word in ("and", "but") or (word == ";" and not _CONDITIONS.intersection(words[i + 1 : i + 2])):
            break
    return ""


def _other_words(was: Sequence[str], now: Sequence[str], *, forbidden: bool) -> bool:
    for one, another in _OPPOSED[:2] if forbidden else _OPPOSED:  # "must not" and "may not" forbid alike
        if not (one.isdisjoint(was) or another.isdisjoint(now)) and one.isdisjoint(now) and another.isdisjoint(was):
            return True
    if len(was) > _REPLACED or len(now) > _REPLACED:
        return False
    content = [
        {all_words(word)[0] for word in words if has_content(word) and not _COUNTS(word)} for words in (was, now)
    ]
    alike = any(a[:4] == b[:4] or {a, b} == _BEYOND for a in content[0] for b in content[1])  # "party", "parties"
    return bool(content[0] and content[1]) and not alike


def _some(words: Sequence[str]) -> str:
    return " ".join(words[:6]) + (" …" if len(words) > 6 else "")


def _reported(own: str, other: str) -> str:
    """That somebody says so, or that it is asked: what the statement draws on stands only behind those words."""
    match = _REPORT.search(other)
    if match is None or _ATTRIBUTES.search(own):
        return ""
    said, _, rest = other[match.end() :].partition(";")
    wanted = set(content_words(own))
    only_there = wanted & set(content_words(said)) - set(all_words(other[: match.start()] + " " + rest))
    if 2 * len(only_there) <= len(wanted):
        return ""
    return f"the source says it only behind “{' '.join(match.group().split())}”"


def _half_denied(own: str, other: str) -> str:
    if NEGATION.search(own) or NEGATION.search(other):
        return ""  # how often both deny is compared elsewhere
    here, there = _HALF.search(own), _HALF.search(other)
    if there and not here:
        return f"the source has “{there.group()}”"
    return f"the source does not say “{here.group()}”" if here and not there else ""


def _non(own: str, other: str) -> str:
    """That something is so, and that it is not, in one word: "bailable" and "non-bailable"."""
    here, there = set(_NON.findall(own)), set(_NON.findall(other))
    for word in sorted(there - here):
        if word in re.findall(r"\w+", own):
            return f"the source says “non-{word}”"
    for word in sorted(here - there):
        if word in re.findall(r"\w+", other):
            return f"the source does not say “non-{word}”"
    return ""


def _may(own: str, other: str) -> str:
    """What may be, or be done, is not what is."""
    if DUTY.search(own) or LEAVE.search(own) or _ABLE.search(own) or "≤" in own:
        return ""
    wanted = set(all_words(own))
    for match in _MAY.finditer(other):
        following = re.findall(r"\w+", other[match.end() :])[:3]
        act = next((word for word in following if has_content(word)), "")
        if act and set(all_words(act)) <= wanted and not DUTY.search(other):
            return f"the source says “{match.group()} {' '.join(following[: following.index(act) + 1])}”"
    would = re.search(r"\bwould (?:be|have)\b", other)
    return f"the source says “{would.group()}”" if would and not re.search(r"\b(?:would|should|if)\b", own) else ""


def _of_another(own: str, other: str) -> str:
    """What is said of the wife of the appellant, of an attempt to murder, of some employees, or of Ram's brother."""
    mine, theirs = re.findall(r"\w+", own), re.findall(r"\w+", other)
    first = next((word for word in mine if has_content(word)), "")
    if mine[:1] == [first] or (mine[1:2] == [first] and mine[0] in _ARTICLES):
        places = [i for i, word in enumerate(theirs) if word == first]
        if len(places) == 1 and (why := _headed(first, mine, theirs, places[0])):
            return why
    folded = set(all_words(own))
    for match in _POSSESSED.finditer(other):
        owner, owned = match.groups()
        if owner in mine and f"{owner}'s" not in own and has_content(owned) and not set(all_words(owned)) <= folded:
            return f"the source speaks of “{match.group()}”"
    return ""


def _headed(first: str, mine: list[str], theirs: list[str], place: int) -> str:
    """What the word at `place` only belongs to."""
    before = place - 1
    while before >= 0 and theirs[before] in _ARTICLES:
        before -= 1
    if before < 0 or theirs[before] in mine:
        return ""
    told = " ".join(theirs[max(0, before - 1) : place + 1])
    if theirs[before] in _SOME:
        return f"the source speaks of “{theirs[before]} {first}”"
    if before < 1 or theirs[before] not in ("of", "to"):
        return ""
    head = theirs[before - 1]
    tries = _TRIES.match(head) is not None
    if theirs[before] == "to" and not tries:
        return ""
    known = set(all_words(" ".join(mine))) | _SAME
    if has_content(head) and not head[0].isdigit() and not set(all_words(head)) <= known:
        return f"the source speaks of “{told}”"
    return ""


def _joined(own: str, other: str) -> str:
    """An "and" for an "or" between the same two words. Of what is denied either means both."""
    if NEGATION.search(own) or NEGATION.search(other):
        return ""
    here, there = _pairs(own), _pairs(other)
    for pair, (word, shown) in here.items():
        if pair in there and there[pair][0] != word:
            return f"the source says “{there[pair][1]}”, not “{shown}”"
    return ""


def _pairs(text: str) -> dict[tuple[str, ...], tuple[str, str]]:
    found = {}
    for match in _PAIR.finditer(text):
        one, word, another = match.groups()
        if has_content(one) and has_content(another):
            found[tuple(sorted(all_words(f"{one} {another}")))] = word, f"{one} {word} {another}"
    return found


def _alternative(own: str, other: str) -> str:
    """One of two things that shall be, given as the only one."""
    duty = DUTY.search(other)
    if duty is None or NEGATION.search(other) or LEAVE.search(own) or _ABLE.search(own) or re.search(r"\bor\b", own):
        return ""
    wanted = set(all_words(own))
    for match in _OR.finditer(other, duty.end()):
        one, another = (set(all_words(word)) for word in match.groups())
        if _OF_ANY.search(other, duty.end(), match.start()) or not (has_content(match[1]) and has_content(match[2])):
            continue
        if bool(one & wanted) != bool(another & wanted):
            return f"the source has “{' '.join(match.group().split())}”"
    return ""


def _narrowed(own: str, other: str) -> str:
    """What is said only of those who are below an age, or who did something."""
    first = next(iter(content_words(own)), "")
    modal = re.search(r"\b(?:shall|must|may|can|will)\b", other)
    if modal is None:
        return ""
    subject = other[: modal.start()]
    if first not in all_words(subject):
        return ""
    bare = {number.lstrip("≥≤<>") for number in numbers(own)}
    for number in sorted(numbers(subject)):
        if number[0] in "≥≤<>" and number[1:] not in bare:
            return f"the source says it only of {_BOUND[number[0]]} {number[1:]}"
    match = _WHO.search(other, 0, min(len(other), modal.end()))
    if match and first in all_words(other[: match.start()]):
        said = content_words(match["what"])
        if said and has_content(match["what"]) and not set(said) & set(all_words(own)):
            words = match["what"].split()
            return f"the source has “{match['who']} {' '.join(words[:5])}{' …' if len(words) > 5 else ''}”"
    return ""


_BOUND = {"≥": "at least", "≤": "at most", ">": "more than", "<": "less than"}


def _changed(own: str, other: str) -> str:
    """By so much, or to so much."""
    here, there = _CHANGE.findall(own), _CHANGE.findall(other)
    for word, number in here:
        words = {each for each, same in there if same == number}
        if words and word not in words:
            return f"the source says “{sorted(words)[0]} {number}”, not “{word} {number}”"
    return ""


def _when(own: str, other: str) -> str:
    """Before a day, on it, or after it."""
    there = {DAY.match(other, match.end()).group(): match[1] for match in _WHEN.finditer(other)}  # type: ignore[union-attr]
    for match in _WHEN.finditer(own):
        day = DAY.match(own, match.end())
        word = there.get(day.group() if day else "", match[1])
        if _SIDE.get(word, "") != _SIDE.get(match[1], ""):
            return f"the source says “{word}” that day, not “{match[1]}”"
    return ""


#: In the order in which a reader would be told.
_LOOKS: tuple[Callable[[str, str], str], ...] = (
    _reported,
    _half_denied,
    _non,
    _when,
    _changed,
    _of_another,
    _narrowed,
    _joined,
    _alternative,
    _may,
)
