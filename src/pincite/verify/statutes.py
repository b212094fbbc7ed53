"""The provisions of a document that is an act, or a part of one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import lru_cache

from pincite.types import Document, MetadataValue
from pincite.verify.forms import from_roman
from pincite.verify.grammar import ActNames, Grammar

__all__ = ["ProvisionText", "act_of", "number_key", "plain_act", "provisions_of"]

_HEADING = re.compile(
    r"\s*(?:(?P<unit>section|article|rule|order|regulation|sec\.|art\.|§)\s*)?"
    r"(?P<number>\d{1,4}\s?-?\s?[A-Z]{0,3}(?![A-Za-z])|(?<=order )[IVXLC]+\b)[.:)\s—–-]*(?P<title>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LINE = re.compile(
    r"^[ \t]*(?:\d?\[)?(?P<number>\d{1,3}[A-Z]{0,2})\.[ \t]+(?=[\"“\[A-Z(])(?P<title>[^\n]{3,160})", re.MULTILINE
)
_CALLED = re.compile(r"may be (?:called|cited as)\s+the\s+(?P<name>[A-Z][^.;\n]{4,90}?)(?:,?\s*\d{4})?[.;]")
#: What a provision that is no longer there says instead: "[Heading.] Rep. by …", "[Article 31 omitted by …]".
_REPEALED = re.compile(
    r"\A[^—–]{0,330}?\]\s*(?:Rep\.|Repealed|Omitted|Om\.)(?=[\s,])|\A\W*(?:\w+\s+){0,4}(?:Rep\.|[Rr]epealed|[Oo]mitted)"
    r"(?:\s+by|\s*,|\s+w\.e\.f|\s*\]|\s*\.|\s*\Z)"
)
_GONE = re.compile(r"Rep\.|[Rr]epealed|[Oo]mitted|Om\.")
_FROM = re.compile(r"w\.\s?e\.\s?f\.?,?\s*(\d{1,2})\s?-\s?(\d{1,2})\s?-\s?(\d{4})")
#: So many provisions make a document an act, where nothing else says so.
_ENOUGH = 5


@dataclass(frozen=True, slots=True)
class ProvisionText:
    """One provision of a document."""

    unit: str
    number: str  #: ``304B``
    title: str  #: as its heading says; empty where that has only the number
    start: int
    end: int
    repealed: str = ""  #: what it says of its own repeal
    repealed_from: str = ""  #: the first day without it, ISO 8601, where it says so
    note: str = ""  #: in words, what is odd about it


@lru_cache(maxsize=4096)
def plain_act(name: str) -> str:
    """A name of an act as it is compared: without case, article, full stops and year.

    >>> plain_act("The Arms Act, 1959") == plain_act("ARMS ACT")
    True
    """
    text = re.sub(r"\b(?:1[6-9]|20)\d\d\b|[^\w\s&]|_", " ", name).casefold()
    return "".join(word for word in text.split() if word != "the")


def number_key(number: str) -> tuple[int, str]:
    """How numbers of provisions are ordered: 302, 302A, 303."""
    match = re.match(r"(\d+)(.*)", number)
    return (int(match.group(1)), match.group(2)) if match else (0, number)


def act_of(document: Document, grammar: Grammar) -> str:
    """The key of the act that a document is, or is a part of; its title where the grammar has none; empty: no act."""
    metadata = document.metadata
    if said := str(metadata.get("act", "")):
        return said if said in grammar.acts else _by_name(said, grammar) or said
    for act in grammar.acts.values():
        if any(fnmatch(document.uri, pattern) for pattern in act.documents):
            return act.key
    if key := _by_name(document.title, grammar, _year(document.title)):
        return key
    for act in grammar.acts.values():
        if act.field and act.field in metadata:
            return act.key
    headings = sum(bool(_heading(each.text)) for each in document.headings)
    if headings < _ENOUGH:
        return ""
    if called := _CALLED.search(document.text, 0, 6000):
        return _by_name(called.group("name"), grammar) or called.group("name")
    return document.title if re.search(rf"\b(?:{'|'.join(grammar.kinds)})\b", document.title, re.IGNORECASE) else ""


def _year(title: str) -> int | None:
    match = re.search(r"\b(?:1[6-9]|20)\d\d\b", title)
    return int(match.group()) if match else None


def _by_name(name: str, grammar: Grammar, year: int | None = None) -> str:
    wanted = plain_act(name)
    fits = [
        act
        for act in grammar.acts.values()
        if wanted and any(wanted == plain_act(each) for each in (act.name, *act.aliases))
    ]
    exact = [act for act in fits if year is None or act.year is None or act.year == year]
    return (exact or fits)[0].key if fits else ""


def provisions_of(document: Document, act: ActNames | None, grammar: Grammar) -> list[ProvisionText]:
    """The provisions of a document that is an act, in order: by its metadata, its headings, or its numbered lines."""
    unit = act.unit if act else "section"
    if act and act.field and (number := str(document.metadata.get(act.field, ""))):
        return [_whole(document, unit, number)]
    found = list(_headed(document, unit, grammar)) or list(_lined(document, unit))
    return _as_before(_rising(_labelled(found, document)))


def _whole(document: Document, unit: str, number: str) -> ProvisionText:
    metadata = document.metadata
    title = re.sub(r"^\w+\s+\d+\w*\.?\s*", "", document.title)
    body = document.text
    gone = str(metadata.get("status", "")).casefold() in ("repealed", "omitted", "deleted")
    said = str(metadata.get("repealed_by", "")) or "its file says so" if gone else ""
    since = (_day(metadata, "repealed_on") or _gone_from(said)) if gone else ""
    return ProvisionText(unit, _number(number), title, 0, len(body), said, since)


def _day(metadata: Mapping[str, MetadataValue], key: str) -> str:
    said = str(metadata.get(key, ""))
    return said if re.fullmatch(r"\d{4}-\d\d-\d\d", said) else ""


def _number(text: str) -> str:
    return re.sub(r"[\s-]", "", text).upper()


def _heading(text: str) -> re.Match[str] | None:
    return _HEADING.match(text)


def _headed(document: Document, unit: str, grammar: Grammar) -> Iterator[ProvisionText]:
    headings = document.headings
    for i, heading in enumerate(headings):
        match = _heading(heading.text)
        if not match:
            continue
        named = (match.group("unit") or "").casefold().rstrip(".")
        own = next((key for key, each in grammar.units.items() if named and named in each.words), unit)
        if not match.group("number")[0].isdigit():
            number = str(from_roman(match.group("number")))
        else:
            number = _number(match.group("number"))
        end = next(
            (each.start for each in headings[i + 1 :] if each.level <= heading.level or _heading(each.text)),
            len(document.text),
        )
        yield _provision(document, own, number, match.group("title").strip(), heading.start, end)


def _lined(document: Document, unit: str) -> Iterator[ProvisionText]:
    matches = list(_LINE.finditer(document.text))
    if len(matches) < _ENOUGH:
        return
    for i, match in enumerate(matches):
        end = matches[i + 1].start() if i + 1 < len(matches) else len(document.text)
        title = re.split(r"\.\s*[—–-]|[—–]", match.group("title"))[0]
        yield _provision(document, unit, match.group("number"), title.strip(), match.start(), end)


def _provision(document: Document, unit: str, number: str, title: str, start: int, end: int) -> ProvisionText:
    body = document.text[start:end]
    opening = " ".join(re.sub(r"^\W*(?:section|article)?\s*\d+\w*\W{0,3}", "", body[:400], flags=re.IGNORECASE).split())
    said, since = "", ""
    if match := _REPEALED.match(opening):
        begins = list(_GONE.finditer(opening, 0, match.end() + 8))
        said = opening[begins[-1].start() if begins else 0 :][:120].strip()
        since = "" if "ibid" in said[:60] and not _FROM.search(said[:60]) else _gone_from(said)
    while end > start and document.text[end - 1].isspace():
        end -= 1
    return ProvisionText(unit, number, title.strip("[] ").rstrip(".") or "", start, end, said.strip(), since)


def _gone_from(said: str) -> str:
    """The first day without a provision, as its note says it; or the year alone; empty where neither is said."""
    if day := _FROM.search(said):
        return f"{int(day.group(3)):04}-{int(day.group(2)):02}-{int(day.group(1)):02}"
    years = re.findall(r"\b(?:1[6-9]|20)\d\d\b", said)
    return years[-1] if years else ""


def _as_before(found: Sequence[ProvisionText]) -> list[ProvisionText]:
    """With the day of what was repealed "ibid.": by the same act as the one before."""
    made: list[ProvisionText] = []
    for each in found:
        if each.repealed and not each.repealed_from and "ibid" in each.repealed and made:
            last = next((other.repealed_from for other in reversed(made) if other.repealed_from), "")
            each = replace(each, repealed_from=last)
        made.append(each)
    return made


def _labelled(found: Sequence[ProvisionText], document: Document) -> list[ProvisionText]:
    """With labels that are one too low set right: where nearly all are their own place in the row, these are as well.

    Of four sections of a file of the Bharatiya Nyaya Sanhita the label is that of the section before.
    """
    numbers = [int(each.number) if each.number.isdigit() else -1 for each in found]
    right = sum(number == i for i, number in enumerate(numbers, start=1))
    if len(found) < 20 or right < 0.95 * len(found) or len(set(numbers)) == len(numbers):
        return list(found)
    return [
        replace(each, number=str(i), note=f"labelled {each.number} in {document.title}") if number == i - 1 else each
        for i, (each, number) in enumerate(zip(found, numbers, strict=True), start=1)
    ]


def _rising(found: Sequence[ProvisionText]) -> list[ProvisionText]:
    """The longest run of rising numbers: what else is numbered in an act, a schedule or a form, begins again at 1."""
    keys = [(each.unit, number_key(each.number)) for each in found]
    units = {unit for unit, _ in keys}
    kept: list[ProvisionText] = []
    for unit in units:
        indices = [i for i, key in enumerate(keys) if key[0] == unit]
        tails: list[tuple[int, str]] = []
        ends: list[int] = []
        before: dict[int, int] = {}
        for i in indices:
            number = keys[i][1]
            at = bisect_left(tails, number)
            if at == len(tails):
                tails.append(number)
                ends.append(i)
            else:
                tails[at] = number
                ends[at] = i
            before[i] = ends[at - 1] if at else -1
        i = ends[-1] if ends else -1
        while i >= 0:
            kept.append(found[i])
            i = before[i]
    return sorted(kept, key=lambda each: each.start)
