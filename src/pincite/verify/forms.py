"""Reports of cases: from a form such as ``({year}) {volume} SCC {page}`` to the places of a text where it stands.

A form is read generously: brackets may be round, square or missing, an abbreviation may have full stops and spaces
between its letters, a volume may be Roman. What is found is written in the one form, so that two ways to cite the same
report compare equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["ReportForm", "ReportFound", "ReportReader", "abbreviation", "from_roman", "read_form", "report_year"]

_PIECE = re.compile(r"\{(\w+)\}|([A-Za-z&]+)|(\d+)|([\s\[\]().,:]+)")
_FIELDS = {"year", "volume", "page", "number", "court", "supp"}
_YEAR = r"(?:1[6-9]|20)\d\d"
_OPEN, _CLOSE = r"(?:[\[(]\s?)?", r"(?:\s?[\])])?"
_NUMBERS = {"year": _YEAR, "volume": r"(?:\d{1,3}|I{1,3}|IV|VI{0,3})", "page": r"\d{1,5}", "number": r"\d{1,6}"}
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


@dataclass(frozen=True, slots=True)
class ReportForm:
    """One report: its form and the other ways to write it."""

    form: str
    variants: tuple[str, ...] = ()
    of_decision: bool = False  #: whether its year is that of the decision; else the report may be later


@dataclass(frozen=True, slots=True)
class ReportFound:
    """A report in a text."""

    start: int
    end: int
    text: str  #: in its form: ``(1973) 4 SCC 225``
    year: int | None
    of_decision: bool


def from_roman(text: str) -> int:
    """The number that Roman or Arabic digits write.

    >>> from_roman("XXI"), from_roman("9")
    (21, 9)
    """
    if text.isdigit():
        return int(text)
    values = [_ROMAN[letter] for letter in text.upper()]
    return sum(-value if i + 1 < len(values) and value < values[i + 1] else value for i, value in enumerate(values))


def report_year(report: str) -> int | None:
    """The year in a report's form; None where it has none."""
    match = re.search(rf"\b{_YEAR}\b", report)
    return int(match.group()) if match else None


def abbreviation(word: str) -> str:
    """A pattern of `word`: letters of capitals with or without full stops and spaces, other words in any case.

    >>> bool(re.fullmatch(abbreviation("SCC"), "S. C. C."))
    True
    """
    if word.isupper() or (len(word) <= 4 and any(letter.isupper() for letter in word[1:])):
        return "".join(
            rf"{re.escape(letter)}\.?{'' if i == len(word) - 1 else chr(92) + 's?'}" for i, letter in enumerate(word)
        )
    if len(word) > 3:
        return rf"(?i:{re.escape(word)})\.?"
    return rf"{re.escape(word)}\.?"


def read_form(form: str, variants: Sequence[str] = (), *, of_decision: bool = False) -> ReportForm:
    """A form, checked. Raises ValueError, in words, for one that cannot be read or has no number and no letters."""
    for each in (form, *variants):
        pieces = _pieces(each)
        if not any(kind == "field" and text in ("page", "number") for kind, text in pieces):
            raise ValueError(f"the form {each!r} has no {{page}} and no {{number}}")
        if not any(kind == "word" for kind, _ in pieces):
            raise ValueError(f"the form {each!r} has no letters to know it by")
    missing = {text for kind, text in _pieces(form) if kind == "field"} - {"supp"}
    for each in variants:
        lacks = missing - {text for kind, text in _pieces(each) if kind == "field"}
        if lacks:
            raise ValueError(f"the variant {each!r} lacks {{{min(lacks)}}} of the form {form!r}")
    return ReportForm(form, tuple(variants), of_decision)


def _pieces(form: str) -> list[tuple[str, str]]:
    """Its parts, as (``field`` | ``word`` | ``digits`` | ``space``, text). Raises ValueError for what is none."""
    found, position = [], 0
    for match in _PIECE.finditer(form):
        if match.start() != position:
            break
        position = match.end()
        name, word, digits, space = match.groups()
        if name and name not in _FIELDS:
            raise ValueError(f"the form {form!r} has {{{name}}}; there are {', '.join(sorted(_FIELDS))}")
        kind = "field" if name else "word" if word else "digits" if digits else "space"
        found.append((kind, name or word or digits or space))
    if position != len(form):
        raise ValueError(f"the form {form!r} cannot be read from {form[position:]!r} on")
    return found


@dataclass(frozen=True)
class ReportReader:
    """Finds reports in texts, of all forms at once."""

    forms: tuple[ReportForm, ...]
    courts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def find(self, text: str) -> list[ReportFound]:
        """Every report in `text`, in order, none overlapping another."""
        return [self._found(match) for match in self._pattern.finditer(text)]

    def match(self, text: str, position: int, end: int | None = None) -> ReportFound | None:
        """The report that begins at `position`, also where nothing parts it from the word before."""
        match = self._anywhere.match(text, position, len(text) if end is None else end)
        return self._found(match) if match else None

    def __iter__(self) -> Iterator[ReportForm]:
        return iter(self.forms)

    def _found(self, match: re.Match[str]) -> ReportFound:
        index = int(match.lastgroup[1:]) if match.lastgroup else 0
        form = self._origin[index]
        values = {key: match.group(group) for key, group in self._groups[index].items()}
        filled = form.form
        for key, value in values.items():
            shown = value
            if key == "court":
                shown = self._court(value)
            elif key == "volume":
                shown = str(from_roman(value))
            elif value.isdigit():
                shown = str(int(value))
            filled = filled.replace(f"{{{key}}}", shown)
        filled = filled.replace("{volume}", "").replace("  ", " ")
        year = values.get("year")
        return ReportFound(match.start(), match.end(), filled, int(year) if year else None, form.of_decision)

    def _court(self, text: str) -> str:
        plain = re.sub(r"[\s.]", "", text).casefold()
        for key, others in self.courts.items():
            if plain in {re.sub(r"[\s.]", "", each).casefold() for each in (key, *others)}:
                return key
        return text

    @cached_property
    def _alternatives(self) -> list[tuple[ReportForm, str, dict[str, str]]]:
        found: list[tuple[ReportForm, str, dict[str, str]]] = []
        for form in self.forms:
            for each in dict.fromkeys((form.form, *form.variants)):
                pattern, groups = self._compile(each, len(found))
                found.append((form, pattern, groups))
        return found

    @cached_property
    def _origin(self) -> list[ReportForm]:
        return [form for form, _, _ in self._alternatives]

    @cached_property
    def _groups(self) -> list[dict[str, str]]:
        return [groups for _, _, groups in self._alternatives]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w/.-]){self._anywhere.pattern}")

    @cached_property
    def _anywhere(self) -> re.Pattern[str]:
        # Those that begin with their year and the others are told apart by one look ahead: a text is mostly neither.
        with_year: list[str] = []
        others: list[str] = []
        for (_, pattern, _), first in zip(self._alternatives, map(self._first, self._sources), strict=True):
            (with_year if first == "year" else others).append(pattern)
        parts = []
        if with_year:
            parts.append(rf"(?=[\[(]?\s?{_YEAR})(?:{'|'.join(with_year)})")
        if others:
            parts.append(rf"(?=[A-Z\d(\[])(?:{'|'.join(others)})")
        return re.compile(rf"(?:{'|'.join(parts)})(?![\w/])")

    @cached_property
    def _sources(self) -> list[str]:
        return [each for form in self.forms for each in dict.fromkeys((form.form, *form.variants))]

    def _first(self, form: str) -> str:
        return next(text for kind, text in _pieces(form) if kind != "space")

    def _compile(self, form: str, index: int) -> tuple[str, dict[str, str]]:
        parts: list[str] = []
        groups: dict[str, str] = {}
        pieces = [(kind, text) for kind, text in _pieces(form) if kind != "space" or ":" in text]
        for i, (kind, text) in enumerate(pieces):
            if i:
                parts.append(r"[\s,]{0,3}")
            if kind == "field" and text == "supp":
                parts.append(r"[\[(]?(?i:suppl?(?:ement(?:ary)?)?)\.?[\])]?")
            elif kind == "field" and text == "court":
                groups[text] = f"{text}_{index}"
                parts.append(rf"\(?(?P<{groups[text]}>{self._courts_pattern})\)?")
            elif kind == "field":
                groups[text] = f"{text}_{index}"
                last = i == len(pieces) - 1
                inside = rf"(?P<{groups[text]}>{_NUMBERS[text]})"
                parts.append(inside if last else rf"{_OPEN}{inside}{_CLOSE}")
            elif kind == "word":
                parts.append(rf"[\[(]?{abbreviation(text)}[\])]?" if "(" in form else abbreviation(text))
            else:
                parts.append(r"\s?:\s?" if ":" in text else re.escape(text))
        # The outer group closes last: `lastgroup` names it.
        return rf"(?P<r{index}>{''.join(parts)})", groups

    @cached_property
    def _courts_pattern(self) -> str:
        names = {each for key, others in self.courts.items() for each in (key, *others)}
        longest_first = sorted(names, key=lambda each: (-len(each), each))
        patterns = [r"\s?".join(self._court_word(word) for word in name.split()) for name in longest_first]
        return "|".join(patterns) or r"[A-Z]\w+"

    @staticmethod
    def _court_word(word: str) -> str:
        if "&" in word:
            return r"\s?".join(rf"{re.escape(letter)}\.?" for letter in word)
        return abbreviation(word)
