"""Where the names of the parties before and after "v." begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from pincite.verify.forms import ReportFound
from pincite.verify.grammar import Grammar

__all__ = ["CAPITAL", "INSIDE", "LEADS", "first_party", "is_initial", "is_public", "second_party", "versus"]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Lower-case words inside a party's name.
INSIDE = _set(
    "of and & the @ alias s/o d/o w/o de at for by its lrs lrs. through represented etc etc. v. others ors anr"
)
_ENDS = _set("others others. another another. ors ors. anr anr. etc etc. or's an'r lrs lrs.")
# Capitalised words that come before a name and are no part of it.
LEADS = _set(
    """a after again against also although an and another any as at because before both but by case cases cf citing
    compare consequently court decision decisions even finally first following for from further furthermore given hence
    here however if in indeed instead judgment later learned like likewise moreover nor now observed of on once or other
    per re recently referring relied reliance ruling second secondly see similarly since so such that the then there
    therefore these third this though thus to under unlike until vide when where whereas while with within yet
    respectively reported supra held citations citation overruling distinguishing approving quoting counsel""",
)
# After these, "V." is the initial of a name and not "versus".
_TITLES = _set(
    "mr. mrs. ms. dr. shri sri smt. sh. justice prof. by: : by and , no. km. ku. part chapter schedule entry"
)
# Begins the sentence after a party's name that ends in a full stop.
_STARTERS = _set(
    """the in this it we he she they on there that these those as at for from learned a an if when while however
    according after before all again also but by even further had has having his i its no nor not of one our
    since so such then therefore thus to under was what where whether which with mr. shri para paragraph counsel""",
)
_SENTENCE = _set("In See Vide But Also However Further Thus Following Similarly")
_ABBREVIATED = _set(
    """ltd co ors anr etc pvt inc bros govt md smt dr mr mrs st corpn mohd messrs distt commr admn assn supdt asstt
    mills engg devpt dev"""
)
CAPITAL = re.compile(r"[\"'“‘(\[]?[A-Z0-9]")
_WORD = re.compile(r"\S+")
#: The number of a case in its court, which is no part of its name.
_DOCKET = re.compile(
    r"\(?(?:(?i:(?:crl?|civil|criminal|writ|special leave)\b\.?\s?(?:a|m|p|appeals?|petitions?|rev)\b)"
    r"|[CW]\.?\s?[AP]\.?\s?[Nn]o|SLP\b|(?:[Cc]ase|[Aa]ppeal|[Pp]etition)s?\s+[Nn]o)"
)
#: Ends the sentence before a name: "… of the Indian Penal Code. Masud Khan v. …".
_OF_LAW = _set("act code ipc crpc cpc bns bnss bsa rules case bail")
_JOINING = re.compile(r"\s+(?:of|and|&|the|by|for|through|its|represented|In|The|This|And)$")


@lru_cache(maxsize=8)
def _versus_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """The words between parties. Each alternative begins with a letter, which a long text is searched for fast."""
    by_letter: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        by_letter.setdefault(word[0].casefold(), []).append(re.escape(word[1:]))
    either = "|".join(
        f"[{letter}{letter.upper()}](?i:{'|'.join(rests)})" for letter, rests in sorted(by_letter.items())
    )
    return re.compile(rf"(?:{either})\b\.?(?=\s*[\"“‘(\[]?[A-Z0-9])")


def versus(text: str, grammar: Grammar) -> Iterator[tuple[int, int]]:
    """Where "v." stands between words: from the end of the word before to its own end."""
    for match in _versus_pattern(grammar.versus).finditer(text):
        start, word = match.start(), match.group()
        # A capital V alone is a Roman five or an initial: it needs its full stop, and what is before it decides.
        if start == 0 or not text[start - 1].isspace() or word == "V":
            continue
        while start and text[start - 1].isspace():
            start -= 1
        if start and (text[start - 1].isalnum() or text[start - 1] in ".)]'’”\""):
            yield start, match.end()


_AUTHORITIES = _set(
    """the state union commissioner collector officer director government govt board corporation company secretary
    municipal municipality university bank authority tribunal court superintendent chief registrar district deputy
    assistant special income national m/s messrs""",
)


def is_public(name: str) -> bool:
    """Whether a party is no person, by a word of its name: ``The Administrative Officer``."""
    return any(word.strip("(),.").casefold() in _AUTHORITIES for word in name.split())


def is_initial(before: str) -> bool:
    """Whether a "V." after these words is somebody's initial."""
    words = before.split()
    return not words or words[-1].casefold() in _TITLES or bool(re.fullmatch(r"[A-Z]\.?(?:[A-Z]\.)*", words[-1]))


def first_party(text: str, start: int, floor: int) -> int | None:
    """Where the party before "v." begins; None where there is none."""
    low = max(floor, start - 160)
    words = list(_WORD.finditer(text, low, start))
    if words and low > floor and words[0].start() == low:
        words.pop(0)
    begin: int | None = None
    kept: list[re.Match[str]] = []
    for i in range(len(words) - 1, -1, -1):
        match = words[i]
        word = match.group()
        last = i == len(words) - 1
        if not last:
            gap = text[match.end() : words[i + 1].start()]
            if "\n" in gap and (gap.count("\n") > 1 or word[-1] in '.:;)]"”'):
                break
            if word[-1] in ';:]"”?!' or (word.endswith(")") and "(" not in word and not _bracketed(words[: i + 1])):
                break
            if word.endswith(",") and not (_part_of_name(kept) or _led_by(words[: i + 1])):
                break
            bare = word.rstrip(".").lstrip("(\"'“‘[").casefold()
            full = len(bare) > 4 and bare not in _ABBREVIATED | _ENDS
            through = words[i + 1].group().startswith(("Thru", "Thr."))  # "Lamp Industries Limited. Thru. Dir"
            if word.endswith(".") and "." not in word[:-1] and (full or bare in _OF_LAW) and not through:
                break
        if not last and word in _SENTENCE:
            break
        plain = word.strip("(),[]\"'“”‘’").casefold()
        capital = CAPITAL.match(word) and not re.match(r"[(\[]?\d", word)
        if plain in INSIDE or plain in _ENDS or capital or _counted(words, i) or re.fullmatch(r"\+\d", word):
            kept.append(match)
            if re.match(r"[\"“‘\[]", word) or (
                word.startswith("(") and ")" not in "".join(each.group() for each in kept)
            ):
                break
            if len(kept) >= 16:
                break
            continue
        break
    kept.reverse()
    while kept:
        plain = kept[0].group().strip("(),.[]\"'“”‘’").casefold()
        if plain in LEADS or plain in INSIDE - {"etc", "etc."} or plain in _ENDS or not plain:
            kept.pop(0)
            continue
        break
    if not kept or not any(CAPITAL.match(match.group()) for match in kept):
        return None
    begin = kept[0].start()
    while begin < start and text[begin] in "(\"'“‘[":
        begin += 1
    return begin


def _counted(words: list[re.Match[str]], i: int) -> bool:
    """Whether a number says how many others there are: ``And 2 Others``."""
    following = words[i + 1].group().strip("().,").casefold() if i + 1 < len(words) else ""
    return words[i].group().isdigit() and following in {"others", "ors"}


def _bracketed(words: list[re.Match[str]]) -> bool:
    """Whether the last word closes a bracket of a few words that a name may have: ``(Since Deceased)``."""
    near = [match.group() for match in words[-4:]]
    opened = next((i for i in range(len(near) - 1, -1, -1) if near[i].startswith("(")), None)
    return opened is not None and all(re.fullmatch(r"\(?[A-Za-z.,]+\)?", word) for word in near[opened:])


def _part_of_name(kept: list[re.Match[str]]) -> bool:
    """Whether what stands after a comma is no name by itself: a place, "A Registered Society", "& Ors."."""
    words = [match.group().strip("(),.").casefold() for match in kept]
    return all(word in _PARTS or word in _ENDS or word in INSIDE for word in words)


def _led_by(words: list[re.Match[str]]) -> bool:
    """Whether a name that has a comma is led by a word such as "in": nothing but words of a name stands between."""
    for count, match in enumerate(reversed(words)):
        word = match.group()
        if count >= 7:
            return False
        if word.casefold() in _LEADERS:
            return count > 0
        plain = word.strip("(),.").casefold()
        if not (CAPITAL.match(word) or plain in INSIDE) or plain in LEADS - INSIDE or word[-1] in ';:]"”?!':
            return False
        if re.search(r"\d{2}", word) or re.fullmatch(r"J{1,2}\.,?", word):
            return False
    return False


_LEADERS = _set("in see vide case")
_PARTS = _set(
    """registered regd society company ltd limited private pvt association union corporation a an new delhi bombay
    mumbai
    calcutta kolkata madras chennai bangalore hyderabad chandigarh jaipur lucknow kanpur allahabad patna bhopal indore
    raipur nagpur pune ahmedabad baroda surat shillong gauhati guwahati ranchi dhanbad cuttack bhubaneswar trichur
    trivandrum cochin ernakulam mysore meerut agra varanasi ludhiana amritsar jalandhar simla shimla srinagar jammu
    punjab haryana rajasthan gujarat maharashtra karnataka kerala orissa bihar assam u.p m.p a.p h.p uttar madhya andhra
    pradesh tamil nadu west bengal goa sindri karnal india mla mp advocate secretary i ii iii""",
)


def second_party(text: str, end: int, grammar: Grammar) -> tuple[int, int] | None:
    """Where the party after "v." begins and ends; None where there is none."""
    begin: int | None = None
    stop = end
    previous = ""
    for count, match in enumerate(_WORD.finditer(text, end, min(len(text), end + 200)), start=1):
        word, start = match.group(), match.start()
        if begin is None:
            if not (CAPITAL.match(word) or word.casefold() in ("the", "m/s")):
                return None
            begin = start + (len(word) - len(word.lstrip("\"'“‘([")))
        elif _stops_before(text, stop, match, previous, grammar):
            break
        inner = _report_inside(match)
        stop = match.end() if inner is None else inner
        if inner is not None or count >= 18 or _stops_after(text, begin, match, grammar):
            break
        previous = word
    if begin is None:
        return None
    stop = _trimmed(text, begin, stop)
    return (begin, stop) if stop > begin else None


def _stops_before(text: str, stop: int, match: re.Match[str], previous: str, grammar: Grammar) -> bool:
    """Whether a name that ends at `stop` with the word `previous` is over before the word of `match`."""
    word, start = match.group(), match.start()
    plain = word.strip("(),.;:[]\"'“”‘’-").casefold()
    gap = text[stop:start]
    if "\n" in gap and (gap.count("\n") > 1 or previous[-1:] in ".:;,"):
        return True
    if (
        _begins_report(text, start, grammar)
        or word.startswith(("[", "{"))
        or re.match(r"\(?supra", word, re.IGNORECASE)
    ):
        return True
    if word.startswith("(") and not (re.fullmatch(r"\((?:[A-Z][\w.]*|\d{1,2})\)[.,;]?", word) or _in_name(text, start)):
        return True
    if _DOCKET.match(text, start) or re.match(r"\d{3,}", word) or word in ("-", "–", "—", "=", ":"):
        return True
    of_name = CAPITAL.match(word) or plain in INSIDE or plain in _ENDS or re.fullmatch(r"\+\d", word)
    if not (of_name or _AND_OTHERS.match(text, start)):
        return True
    ended = previous.rstrip(".,").casefold() in {"others", "another", "ors", "anr"}
    if ended and plain not in {"etc", "and", "&", ""}:
        return True
    starts = plain in _STARTERS and plain not in INSIDE and not re.fullmatch(r"[A-Z]\.", word)
    return starts and previous.endswith(".")


def _stops_after(text: str, begin: int, match: re.Match[str], grammar: Grammar) -> bool:
    """Whether a name is over with the word of `match`."""
    word = match.group()
    stripped = word.rstrip("\"'”’")
    if stripped[-1:] in ";:?!]" or (stripped != word and stripped[-1:] in ".,"):
        return True
    if stripped.endswith(")") and "(" not in stripped and not _open(text, begin, match.end()):
        return True
    if word.endswith(","):
        return not _goes_on(text, match.end(), grammar)
    bare = word.rstrip(".").lstrip("(").casefold()
    if word.endswith(".") and bare in {"others", "another"}:
        return True
    return word.endswith(".") and "." not in word[:-1] and len(bare) > 4 and bare not in _ABBREVIATED | _ENDS


def _trimmed(text: str, begin: int, stop: int) -> int:
    """Where a name ends without what joins it to what follows, closing brackets and the full stop of the sentence."""
    while True:
        while stop > begin and text[stop - 1] in " ,;:-–—\"'”’[({?!\n":
            stop -= 1
        tail = _JOINING.search(text[begin:stop])
        if not tail:
            break
        stop = begin + tail.start()
    if text[stop - 1] == ")" and text.count("(", begin, stop) < text.count(")", begin, stop):
        stop -= 1
    if text[stop - 1] == "." and not _abbreviation_at(text, begin, stop):
        stop -= 1
    return stop


def _open(text: str, begin: int, stop: int) -> bool:
    return text.count("(", begin, stop) >= text.count(")", begin, stop)


def _in_name(text: str, start: int) -> bool:
    """Whether a bracket holds a part of a name: ``(Dead) by LRs``, ``(India) Ltd.``"""
    close = text.find(")", start, start + 40)
    return (
        close > 0
        and bool(re.fullmatch(r"\([A-Z][A-Za-z.,\s&]*", text[start:close]))
        and "supra" not in text[start:close]
    )


def _abbreviation_at(text: str, begin: int, stop: int) -> bool:
    word = text[begin:stop].split()[-1].rstrip(".").casefold()
    return "." in word or len(word) == 1 or word in _ABBREVIATED


def _goes_on(text: str, position: int, grammar: Grammar) -> bool:
    """Whether after a comma the name goes on: only words of a name stand there, and a report or its bracket follows."""
    for i, match in enumerate(_WORD.finditer(text, position, min(len(text), position + 90))):
        word = match.group()
        if _begins_report(text, match.start(), grammar) or re.match(r"[\[(](?:\d|supra|AIR|A\.I\.R)", word):
            return i > 0
        plain = word.strip("(),.;:").casefold()
        if not (CAPITAL.match(word) or plain in INSIDE or plain in _ENDS) or re.match(r"\d", word):
            return False
        if word[-1] in ";:" or re.fullmatch(r"[Vv]s?\.?|versus", word):
            return False
    return False


def _begins_report(text: str, start: int, grammar: Grammar) -> bool:
    return text[start] in "([0123456789AIJSLMC" and _report_at(text, start, grammar) is not None


def _report_at(text: str, start: int, grammar: Grammar) -> ReportFound | None:
    """The report at `start`, or behind one or two brackets there."""
    return grammar.reader.match(text, start) or (
        grammar.reader.match(text, start + 1) if text[start] in "([{-" else None
    )


_GLUED = re.compile(r"(?<=[A-Za-z.,])[\[(]{1,2}(?=\[?\(?(?:\d|A\.?I\.?R|supra))|(?<=[A-Za-z.,])(?=(?:1[6-9]|20)\d\d\b)")
#: A lower-case word that is a part of a name all the same: "M/s. Chokhamal contractors & others".
_AND_OTHERS = re.compile(r"[a-z]+\s+(?:&|and)\s+(?:[Oo]thers|[Aa]nother|[Oo]rs|[Aa]nr)\b")


def _report_inside(match: re.Match[str]) -> int | None:
    """Where within a word a report begins that nothing parts from the name before it: ``Bihar([1970] 2``."""
    glued = _GLUED.search(match.group(), 1)
    return match.start() + glued.start() if glued else None
