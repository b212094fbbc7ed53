"""What stands behind a case's name and belongs to it: the rest of the name after a comma, the date of the decision.

"F. N. Roy v. Collector of Customs, Calcutta, decided on 16 May 1957", "A v. Union of India, 1998 that …". The forms are
joined to an authority that was found with neither a year nor a report; nothing is joined across the end of a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from pincite.verify.records import Authority

__all__ = ["levelled", "longer", "with_tails"]

#: Names of cases stand in italics: "*A* v. *B*".
_EMPHASIS = re.compile(r"(?<![\w*_])[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?![\w*_])")
#: Where a capital "V." is no initial: behind the initials of a State or a comma, before a State or the Union.
_CAPITAL_V = re.compile(r"(?P<before>\bState\s+of\s+(?:[A-Z]\.\s?){2,3}\s?|,\s)(?P<v>V)(?=s?\.\s+[A-Z])", re.IGNORECASE)
_AGAINST_STATE = re.compile(r"(?<=\s)V(?=s?\.\s+(?:The\s+)?(?:State|Union)\s+(?:[Oo]f)\b)")
_CAPITAL_AND = re.compile(r"\bAnd(?=\s+(?:Others?|Another|Ors|Anr)\b)")
_ET_CETERA = re.compile(r"\b(?:[Ee]tc\.?\s+)*[Ee]tc\.?(?=\s+(?:[vV]s?\.?|versus)\s)")
_COMMA_V = re.compile(r",(?=\s+(?:[vV]s?\.|v|versus)\s)")

_TOKEN = (
    r"(?:\([A-Z][\w.& ]{1,40}\)|\(?[A-Z@][\w@&'’/-]*\)?|\(?(?:[A-Z]\.)+\)?"
    r"|(?:Ltd|Pvt|Corpn|Govt|Distt|Co|Commr|Ors|Anr|Rep|Spl)\."
    r"|and|&|of|the|through|represented|for|by|to|in|at|\+\d|[Ee]tc\.?|others?|ohters|another|ors\.?|anr\.?)"
)
_REST = rf"(?:,?\s+{_TOKEN}){{0,14}}?"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DAY = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH},?\s+|{_MONTH}\s+\d{{1,2}},?\s+|\d{{1,2}}[./-]\d{{1,2}}[./-])"
_DECIDED = (
    r"(?:(?:judge?ment|order|decision)\s+)?(?:decided|dated|[Dd]t\.?|[Dd]/-|delivered|pronounced)\s*(?:on\s+)?"
    rf"(?i:{_DAY})?"
)
_YEAR = r"(?P<year{}>(?:1[89]|20)\d\d)\b"
#: Between a name and its date: marks, stops ("Societyltd.,", "By Lrs....*"), the number of the case in its court.
_MARKS = r"[\s,.*_:\"'”’–—-]{0,8}"
_DOCKET = (
    r"(?:[(\[]?(?:Crl?\.?|Civil|Criminal|Writ|C\.?\s?A\.?|W\.?\s?P\.?|S\.?\s?L\.?\s?P\.?|Special|Appeals?|Petitions?)"
    r"[^\n;()]{0,70}?[\s,.–—-])?"
)
_TAIL = re.compile(
    rf"(?P<rest>{_REST})(?:"
    rf"{_MARKS}[(\[]\s*(?:(?:{_DECIDED})|(?i:{_DAY}))?{_YEAR.format(1)}\s*[)\]](?!\s*\(?\d|\s*[A-Z]{{2,}})"
    rf"|{_MARKS}{_DOCKET}(?:{_DECIDED}){_YEAR.format(2)}\)?"
    rf"|{_MARKS},\s*(?i:{_DAY})?{_YEAR.format(3)}(?!\s*[(\[]?\d|\s*\(|\s+[A-Z]{{2,}}|-\d)"
    r")"
)
_TO_REPORT = re.compile(rf"(?P<rest>{_REST})[\s,]*[(\[]?\s*(?:(?:since\s+)?reported\s+(?:in|as|at)\s*)?[(\[]?")
#: Characters before a case that may be a part of its name.
_FURTHEST = 120
_LEADS = frozenset(
    ["in", "the", "see", "as", "by", "also", "under", "on", "of", "and", "per", "vide", "for", "&", "to", "at"]
)
_NAME_BEFORE = re.compile(
    r"(?:(?:\(?(?:[A-Z]\.)+|\(?[A-Z][\w@&'’/-]*\)?|(?:Ltd|Pvt|Govt|Distt|Co|Coop|Agrl|Ors|Anr|Etc|etc|M/s|Messrs|Rep|Spl|Sh)\.?"
    r"|\(?\d{1,2}\)|of|and|&|for|the|to|in)[,;]?\s+)+\Z"
)
_NAME_WORD = re.compile(r"\(?[A-Z]\S*")


def levelled(text: str) -> str:
    """`text` with what hides the names of cases levelled, every other character in its place.

    Emphasis and "etc." become blanks; a capital "V." that is no initial, and "And Others", become small; digits of
    every script become ASCII.

    >>> levelled("*State of U.P. V. Ram*, 1994")
    ' State of U.P. v. Ram , 1994'
    """
    plain = _EMPHASIS.sub(_blank, text if text.isascii() else text.translate(_plain_characters()))
    plain = _ET_CETERA.sub(_blank, plain)
    plain = _CAPITAL_V.sub(lambda found: f"{found['before']}v", plain)
    plain = _AGAINST_STATE.sub("v", plain)
    return _COMMA_V.sub(" ", _CAPITAL_AND.sub("and", plain))


@cache
def _plain_characters() -> dict[int, str]:
    """Digits of every script, and the wide letters of Chinese and Japanese print, as ASCII; one character for one."""
    digits = {i: str(unicodedata.decimal(chr(i))) for i in range(128, 0x11000) if chr(i).isdecimal()}
    return digits | {i: chr(i - 0xFEE0) for i in range(0xFF01, 0xFF5F)}


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def with_tails(authorities: Sequence[Authority], text: str) -> list[Authority]:
    """The authorities with what belongs to them joined: a date or a year behind a case, a report that stands alone.

    `text` is `levelled`. None comes to overlap another.
    """
    joined: list[Authority] = []
    for i, authority in enumerate(authorities):
        if joined and authority.start < joined[-1].end:
            continue  # taken in by the one before
        following = authorities[i + 1] if i + 1 < len(authorities) else None
        joined.append(_joined(authority, following, text))
    return joined


def longer(authority: Authority, text: str, floor: int) -> Iterator[Authority]:
    """The same case with more of what stands before it as the first party, the longest name first.

    "Municipal Council, Samrala v. Raj Kumar" may be found from "Samrala" on. `text` is `levelled`; `floor` is where the
    authority before it ends. Only words of a name are taken in, and none across the end of a sentence.
    """
    if authority.kind != "case" or authority.parties is None:
        return
    begin = max(floor, authority.start - _FURTHEST)
    before = _NAME_BEFORE.search(text, begin, authority.start)
    if before is None:
        return
    for word in _NAME_WORD.finditer(text, before.start(), authority.start):
        if word.group().casefold().strip("(.,") in _LEADS:
            continue
        first, second = authority.parties
        name = " ".join(f"{text[word.start() : authority.start]}{first}".split())
        start = word.start()
        yield replace(authority, start=start, text=text[start : authority.end], parties=(name, second))


def _joined(authority: Authority, following: Authority | None, text: str) -> Authority:
    if authority.kind != "case" or authority.parties is None or authority.reports or authority.year is not None:
        return authority
    limit = following.start if following else len(text)
    if following is not None and following.kind == "case" and following.parties is None and following.reports:
        gap = _TO_REPORT.fullmatch(text, authority.end, following.start)
        if gap is not None:
            end = following.end
            return replace(
                _named(authority, gap["rest"]),
                end=end,
                text=text[authority.start : end],
                reports=following.reports,
                year=following.year,
                decided=following.decided,
                pinpoint=following.pinpoint,
            )
    tail = _TAIL.match(text, authority.end, min(limit, authority.end + 200))
    if tail is None:
        return authority
    year = int(tail["year1"] or tail["year2"] or tail["year3"])
    return replace(
        _named(authority, tail["rest"]),
        end=tail.end(),
        text=text[authority.start : tail.end()],
        year=year,
        decided=tail["year3"] is None,
    )


def _named(authority: Authority, rest: str) -> Authority:
    """With the rest of the second party's name."""
    assert authority.parties is not None
    first, second = authority.parties
    return replace(authority, parties=(first, f"{second}{rest}".strip(" ,") if second else second))
