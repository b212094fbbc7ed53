"""Do two sentences say different things about the same thing?

They must be about the same thing first: what is left of both without their values (numbers, amounts, dates), without
negations and words of permission must be the same content words, but for a few that only one of them adds. Then a
value, a yes or no, a permission or a before and after must differ. Precision comes before recall: a sentence that
names another subject, another place, another year or an exception says something else, and that is no contradiction.
Written for English; of other languages only numbers are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from pincite.claims import numbers, with_digits
from pincite.words import all_words, content_words

__all__ = ["contrary"]

#: One sentence may add so many content words, as a share of those that both have; one where they have three or more.
_ADDED = 0.2
#: So many content words, beside units, both sentences must have; of one that begins with "it" nobody knows the subject.
_SUBJECT = 2

_MONTHS = "january february march april may june july august september october november december"
_MONTH = {name: n for n, month in enumerate(_MONTHS.split(), 1) for name in (month, month[:3])} | {"sept": 9}
_NAMED = "|".join(sorted(_MONTH, key=len, reverse=True))
_DATE = re.compile(
    rf"\b(?:(?P<year>[12]\d{{3}})-(?P<month>[01]?\d)-(?P<day>[0-3]?\d)"
    rf"|(?P<d1>[0-3]?\d)(?:st|nd|rd|th)?\s+(?:day\s+)?(?:of\s+)?(?P<m1>{_NAMED})\b\.?(?:,?\s+(?P<y1>[12]\d{{3}}))?"
    rf"|(?P<m2>{_NAMED})\.?\s+(?P<d2>[0-3]?\d)(?:st|nd|rd|th)?\b(?!\s*\d)(?:,?\s+(?P<y2>[12]\d{{3}}))?"
    rf"|(?P<m3>{_NAMED})\.?,?\s+(?P<y3>[12]\d{{3}}))\b"
)
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b")
_YEAR = re.compile(
    r"(?:\b(?:in|since|of|by|from|until|till|during|before|after|year|fiscal|to|and|around|circa)|[(,–-])\s*\Z"
)
#: At the beginning of a sentence a date says of when the rest holds.
_FRAME = re.compile(r"\A\W*(?:in|on|as of|since|during|by|from|until|before|after|at)?\W*(?:the\s+)?(?:end of\s+)?\Z")

_ENUMERATOR = re.compile(r"\A\s*(?:[(\[]?(?:\d{1,3}[a-z]?|[a-z]|[ivxlc]{1,6})[.)\]]+|[-*•])(?:\s+|\Z)")
_NOTE = re.compile(r"\[\d{1,3}\]")
_PLACES = (
    "sections? sec ss articles? arts? rules? clauses? paragraphs? paras? chapters? parts? schedules? sub-?sections? "
    "sub-?clauses? regulations? orders? forms? tables? figures? figs? pages? pp nos? notes? appendix annex items? "
    "steps? volumes? vol amendments? exhibits? questions? cases? acts? rows? lines? lot class grade type model"
)
_REFERENCE = re.compile(
    rf"(?:\b(?:{_PLACES.replace(' ', '|')})\.?|§+)\s*"
    r"(?P<what>\(?\d[\w.()/-]*(?:\s*(?:,|and|or|to|-)\s*\(?\d[\w()/-]*)*)"
)
_NUMBER = re.compile(
    r"(?P<currency>[$€£₹¥]|\b(?:rs|inr|usd|eur|gbp)\.?)?\s*"
    r"(?P<sign>(?<![\w\d)])-)?(?P<digits>(?<![\w.])\d+(?:[.,]\d+)*)"
    r"(?P<glued>(?:%|°[cf]?|st|nd|rd|th|k?m|[ckm]?m|k?g|mg|ml|l|[kmgt]?b|h|hrs?|min|m?s|k?[vw]|hz|[kmg]hz|bar|psi|x|px|pt)\b|%)?"
    r"(?![\w]|[.,]\d)"
)
_NEXT = re.compile(
    r"\s*-?\s*(?:(?:calendar|working|business|full|whole|clear|consecutive)\s+)?(?P<unit>[^\W\d_]+|%|°[cf]?)"
)
_FACTOR = re.compile(r"\s+(?:and\s+)?(\d+(?:\.\d+)?)(?![\w.,]\d|\w)")
_FACTORS = (100.0, 1_000.0, 1_000_000.0, 1_000_000_000.0)
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[^\W\d_])[\w-]+\b")

_SHORT = {
    "percent": "%", "per": "", "hr": "hour", "h": "hour", "min": "minut", "s": "second", "sec": "second", "rs": "₹",
    "inr": "₹", "usd": "$", "eur": "€", "gbp": "£", "dollar": "$", "euro": "€", "pound": "£", "rupe": "₹", "rupee": "₹",
}  # fmt: skip
_MONEY = frozenset("$€£₹¥")
#: Each unit of time in days, at least and at most; 3 months and 90 days may be the same.
_DAYS = {
    "second": (1 / 86_400, 1 / 86_400), "minut": (1 / 1_440, 1 / 1_440), "hour": (1 / 24, 1 / 24), "day": (1, 1),
    "week": (7, 7), "fortnight": (14, 14), "month": (28, 31), "quarter": (89, 93), "year": (360, 366),
}  # fmt: skip
_BOUND_WORDS = {"≥": "at least ", "≤": "at most ", ">": "more than ", "<": "less than ", "": ""}

_NO = re.compile(r"\b(?:not|no|never|neither|nor|none|nobody|nothing|cannot|without)\b|n't\b")
_ALLOWED = re.compile(r"\b(?:allowed|permitted|permissible|lawful|legal)\b")
_FORBIDDEN = re.compile(r"\b(?:forbidden|prohibited|banned|disallowed|unlawful|illegal|impermissible)\b")
_DUTY = re.compile(r"\b(?:must|shall|required|obliged|ha(?:s|ve) to|mandatory|compulsory)\b")
_LEAVE = re.compile(r"\b(?:may|can|might|could|entitled|optional|voluntary)\b")
_SENSES = (_NO, _ALLOWED, _FORBIDDEN, _DUTY, _LEAVE)
_ORDER = re.compile(r"\b(?:before|after)\b")
_EXCEPTION = re.compile(
    r"\b(?:unless|except|excluding|only|provided that|subject to|notwithstanding|otherwise|if|when|while)\b"
)
_THEN = re.compile(
    r"\b(?:former(?:ly)?|previous(?:ly)?|used to|proposed|draft|repealed|instead of|rather than|another|other)\b"
)
_VAGUE = re.compile(r"\A\W*(?:it|this|that|these|those|they|he|she|its|their|his|her|such|there|here)\b")
#: Words that add nothing to what a sentence is about.
_LIGHT = frozenset(
    all_words(
        "now currently new present set fixed equal total exactly about approximately hereby also "
        "least less fewer greater higher lower longer shorter minimum maximum exceed exceeds exceeding"
    )
)
_CAPITAL = re.compile(r"(?<=[^\s.!?:;•*-]\s)[\"'“‘(\[]*([A-Z][\w&.-]*)")


@dataclass(frozen=True, slots=True)
class _Value:
    """A number with its unit and bound, a day or a day of the week."""

    kind: str  #: ``number``, ``date`` or ``weekday``
    amount: float
    unit: str
    word: str  #: the unit as it stands there, folded
    bound: str
    date: tuple[int, int, int]  #: year, month, day; 0 for what is not said
    frame: bool  #: a date at the beginning of the sentence
    shown: str


@dataclass(frozen=True, slots=True)
class _Saying:
    """A sentence taken apart."""

    values: tuple[_Value, ...]
    subject: frozenset[str]  #: content words, without values, units and words of `_SENSES`
    names: frozenset[str]  #: of them, those that begin with a capital inside the sentence
    codes: frozenset[str]  #: P1, X-200
    references: frozenset[str]  #: numbers of sections and the like
    denied: bool
    allowed: int  #: 1 where it says that something is allowed, -1 that it is forbidden, 0 neither
    modal: str  #: ``must``, ``may`` or nothing
    order: frozenset[str]
    exception: bool
    unclear: bool  #: a question, or something that is said not to hold now
    vague: bool  #: begins with a pronoun


def contrary(one: str, other: str, *, known: int = 0) -> str:
    """How two sentences differ, as ``60 days / 90 days``; empty where they do not contradict each other.

    The halves change places with the sentences, and only they do. `known` is how many content words the two have in
    common outside themselves (headings, or their whole document): they count towards a common subject.

    >>> contrary("The notice period is sixty days.", "The notice period is 90 days.")
    '60 days / 90 days'
    >>> contrary("Pump P1 delivers 40 bar.", "Pump P2 delivers 60 bar.")
    ''
    """
    a, b = _saying(one), _saying(other)
    if a.unclear or b.unclear or a.exception != b.exception or a.codes != b.codes:
        return ""
    if a.references != b.references and a.references and b.references:
        return ""
    more, fewer = (a, b) if len(a.subject) >= len(b.subject) else (b, a)
    added = more.subject - fewer.subject
    if fewer.subject - more.subject or added & more.names:
        return ""
    shared = len(fewer.subject)
    if shared + known < _SUBJECT or shared == 0 or ((a.vague or b.vague) and not known):
        return ""
    if len(added) > max(int(_ADDED * shared), shared >= 3):
        return ""
    differing = _differing(a.values, b.values)
    if differing is None:
        return ""
    senses = _senses(a, b)
    if differing:
        # A no and another number: who can say what contradicts what.
        return "" if senses else _told(differing)
    return senses if not added else ""


def _told(pairs: list[tuple[_Value, _Value]]) -> str:
    """What differs; nothing where a date differs too, or stands in front: then each speaks of its own time."""
    dates = [first.kind == "date" for first, _ in pairs]
    if any(first.frame or second.frame for first, second in pairs) or (any(dates) and not all(dates)):
        return ""
    return f"{', '.join(first.shown for first, _ in pairs)} / {', '.join(second.shown for _, second in pairs)}"


def _differing(a: tuple[_Value, ...], b: tuple[_Value, ...]) -> list[tuple[_Value, _Value]] | None:
    """The pairs of values that exclude each other; None where the values do not answer each other one by one."""
    found = []
    for first, second in zip_longest(a, b):
        if first is None or second is None or first.kind != second.kind:
            return None
        if first.kind == "number":
            if first.unit != second.unit and not ({first.unit, second.unit} <= _DAYS.keys() | _MONEY):
                return None
            if {first.unit, second.unit} & _MONEY and {first.unit, second.unit} & _DAYS.keys():
                return None
        if _exclude(first, second):
            found.append((first, second))
    return found


def _exclude(a: _Value, b: _Value) -> bool:
    if a.kind == "date":
        return any(x and y and x != y for x, y in zip(a.date, b.date, strict=True))
    if a.kind == "weekday" or (a.unit != b.unit and {a.unit, b.unit} <= _MONEY):
        return a.unit != b.unit
    (low, high), (least, most) = _range(a), _range(b)
    apart = high < least or most < low
    if a.bound == b.bound:
        return apart
    upper, lower = a.bound in "≤<" and a.bound, b.bound in "≤<" and b.bound
    if a.bound and b.bound and bool(upper) != bool(lower) and not apart:
        return True  # at least 60, at most 60
    if not a.bound or not b.bound:
        # A plain value within the other's bound may well be meant.
        plain, bounded = (a, b) if not a.bound else (b, a)
        value, limit = _range(plain), _range(bounded)
        return value[1] < limit[0] if bounded.bound in "≥>" else value[0] > limit[1]
    return apart


def _range(value: _Value) -> tuple[float, float]:
    if value.unit not in _DAYS:
        return value.amount, value.amount
    least, most = _DAYS[value.unit]
    return value.amount * least, value.amount * most


def _senses(a: _Saying, b: _Saying) -> str:
    """Yes against no, must against may, before against after: the first that differs."""
    sign = [(-1 if each.denied else 1) * (each.allowed or 1) for each in (a, b)]
    if bool(a.allowed) == bool(b.allowed) and sign[0] != sign[1]:
        if a.allowed:
            return " / ".join("allowed" if each > 0 else "forbidden" for each in sign)
        return " / ".join("yes" if each > 0 else "no" for each in sign)
    # "must not" and "may not" forbid alike.
    if not a.denied and not b.denied and a.modal and b.modal and a.modal != b.modal:
        return f"{a.modal} / {b.modal}"
    if len(a.order) == len(b.order) == 1 and a.order != b.order:
        return f"{min(a.order)} / {min(b.order)}"
    return ""


# Taking a sentence apart


@lru_cache(maxsize=8_192)
def _saying(sentence: str) -> _Saying:
    raw = _ENUMERATOR.sub("", _NOTE.sub(" ", " ".join(sentence.split())), count=1)
    plain = with_digits(raw)
    references: list[str] = []

    def refer(match: re.Match[str]) -> str:
        references.extend(re.findall(r"\d\w*", match["what"]))
        return " "

    plain = _REFERENCE.sub(refer, plain)
    values, rest = _values(plain)
    codes = frozenset(match.group() for match in _CODE.finditer(rest))
    without = _CODE.sub(" ", rest)
    for pattern in _SENSES:
        without = pattern.sub(" ", without)
    units = {each for value in values for each in (value.unit, value.word)} | _DAYS.keys()
    subject = frozenset(content_words(without)) - units - _LIGHT if re.search(r"\w", without) else frozenset()
    return _Saying(
        values=values,
        subject=subject,
        names=frozenset(all_words(" ".join(_CAPITAL.findall(raw)))),
        codes=codes,
        references=frozenset(references),
        denied=len(_NO.findall(plain)) % 2 == 1,
        allowed=_sign(plain),
        modal=_modal(plain),
        order=frozenset(_ORDER.findall(plain)),
        exception=_EXCEPTION.search(plain) is not None,
        unclear=raw.rstrip("\"'”’) ").endswith("?") or "|" in raw or _THEN.search(plain) is not None,
        vague=_VAGUE.match(plain) is not None,
    )


def _sign(plain: str) -> int:
    allowed, forbidden = _ALLOWED.search(plain) is not None, _FORBIDDEN.search(plain) is not None
    return allowed - forbidden


def _modal(plain: str) -> str:
    duty, leave = _DUTY.search(plain) is not None, _LEAVE.search(plain) is not None
    return "" if duty == leave else "must" if duty else "may"


def _values(plain: str) -> tuple[tuple[_Value, ...], str]:
    """The values in their order, and the text without them."""
    found: list[tuple[int, int, _Value]] = [*_dates(plain)]
    blank = plain
    for start, end, _ in found:
        blank = blank[:start] + " " * (end - start) + blank[end:]
    found += _amounts(blank)
    for start, end, _ in found:
        blank = blank[:start] + " " * (end - start) + blank[end:]
    return tuple(value for _, _, value in sorted(found, key=lambda each: each[0])), blank


def _dates(plain: str) -> Iterator[tuple[int, int, _Value]]:
    for match in _DATE.finditer(plain):
        year = match["year"] or match["y1"] or match["y2"] or match["y3"] or 0
        month = match["month"] or _MONTH.get(match["m1"] or match["m2"] or match["m3"] or "", 0)
        day = match["day"] or match["d1"] or match["d2"] or 0
        frame = _FRAME.match(plain[: match.start()]) is not None
        date = (int(year), int(month), int(day))
        yield match.start(), match.end(), _Value("date", 0.0, "", "", "", date, frame, match.group())
    for match in _WEEKDAY.finditer(plain):
        name = match.group().removesuffix("s")
        yield match.start(), match.end(), _Value("weekday", 0.0, name, "", "", (0, 0, 0), False, match.group())


def _amounts(text: str) -> Iterator[tuple[int, int, _Value]]:
    position = 0
    while match := _NUMBER.search(text, position):
        position = end = match.end()
        digits = match["digits"]
        amount = _number(digits)
        if amount is None or match["glued"] in ("st", "nd", "rd", "th"):
            continue  # "the 2nd floor" is a name: it stays among the words
        start = (
            match.start("currency")
            if match["currency"]
            else match.start("sign")
            if match["sign"]
            else match.start("digits")
        )
        before = text[: match.start("digits")]
        if not match["currency"] and not match["glued"] and re.fullmatch(r"[12]\d{3}", digits) and _YEAR.search(before):
            frame = _FRAME.match(before) is not None
            yield start, end, _Value("date", 0.0, "", "", "", (int(digits), 0, 0), frame, digits)
            continue
        while (factor := _FACTOR.match(text, end)) and not match["glued"]:
            value = float(factor[1])
            if value in _FACTORS and value > amount % value:
                amount *= value
            elif amount >= 100 and amount % 100 == 0 and value < 100:
                amount += value
            else:
                break
            end = factor.end()
        position = end
        currency = (match["currency"] or "").strip(". ")
        word = match["glued"] or ((following := _NEXT.match(text, end)) and following["unit"]) or ""
        folded = (all_words(word) or [""])[0]
        unit = _unit(currency or word)
        amount = -amount if match["sign"] else amount
        shown = f"{amount:,.12g}"
        named = f"{currency}{shown}" if currency in _MONEY else f"{shown} {currency or word}".strip()
        bound = _bound(before, digits)
        shown = _BOUND_WORDS[bound] + named
        yield start, end, _Value("number", amount, unit, folded, bound, (0, 0, 0), False, shown)


def _number(digits: str) -> float | None:
    try:
        return float(digits.replace(",", "."))  # grouped digits have been joined: what is left is a decimal comma
    except ValueError:
        return None  # 1.2.3 and 192.168.0.1 are names


def _unit(word: str) -> str:
    folded = all_words(word)[0] if re.search(r"\w", word) else word
    return _SHORT.get(folded, folded)


def _bound(before: str, digits: str) -> str:
    near = before[-40:].rpartition(",")[2]
    for found in numbers(f"{re.sub(r'[0-9]', ' ', near)}{digits}"):
        if found.lstrip("≥≤<>") == digits:
            return found[: len(found) - len(digits)]
    return ""
