"""What a question names and no passage mentions: a name, a number, a code, quoted words.

Passages about other things answer a question well as far as words go: "What does Town37 do?" is nearest to what Town36
does. That the very thing asked about is nowhere among them is the plainest sign that they do not answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.analysis import analyze
from pincite.numerals import with_digits
from pincite.words import all_words, content_words, has_content

__all__ = ["Missing", "find_missing"]

#: A word with inner joiners: X300, E1234-XZ, 302(2), 1,000.50, O'Brien, AT&T, U.S.
_TERM = re.compile(r"\w+(?:[-–‑./'’&_,:]\w+|\(\w{1,4}\)|(?<=\b\w)\.(?=\w\b))*")
_QUOTED = re.compile(r"[\"“«„‟]([^\"“”«»„]{2,80})[\"”»“]")
_SENTENCE = re.compile(r"(?<!\b[A-Z])(?<!\b[DM]r)(?<!\bMs)(?<!\bMrs)(?<!\bProf)[.?!:]\s+[\"'“‘(]*\Z|\A[\s\"'“‘(¿¡]*\Z")
_ROMAN = re.compile(r"(?=[IVXLC]{2,})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})\Z")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_ORDINAL = re.compile(r"(?<!\w)(\d+)(?:st|nd|rd|th)\b")
_ACRONYM = re.compile(r"[A-Z]{2,6}\Z")
_SMALL_WORDS = frozenset(("of", "the", "and", "for", "in", "on", "to"))
_TITLES = frozenset(("Dr", "Mr", "Mrs", "Ms", "Prof", "St", "Sir"))

#: Capital letters say nothing of names there.
_ALL_NOUNS = frozenset(("german",))

#: Ends of plurals, and what stands in the singular for them.
_PLURALS = (("ies", "y"), ("es", ""), ("s", ""))

#: From so many letters on, a name is also held by its derivations: "German" by "Germany".
_STEM = 5


@dataclass(frozen=True, slots=True)
class Missing:
    """What a question asks by name, and what of it no passage holds; as written in the question, in its order."""

    asked: tuple[str, ...]  #: names, numbers, codes and quoted words
    named: tuple[str, ...]  #: of these, what no passage holds
    words: tuple[str, ...]  #: content words besides that no passage holds

    @property
    def share(self) -> float:
        """Of what is asked by name, the share that is missing, in [0, 1]; 0 where nothing is."""
        return len(self.named) / len(self.asked) if self.asked else 0.0


def find_missing(question: str, texts: Sequence[str], language: str = "english") -> Missing:
    """What `question` names and none of `texts` holds; a text is a passage with its title and headings.

    A name is a capitalized word that does not merely begin a sentence; in a question whose words are all capitalized,
    and in German, capitals say nothing. A number is held in digits, in words, as an ordinal and in Roman figures: "21"
    by "Amendment XXI", but not by "2021" or "2.1". Of a code every part must stand there in one piece. Quoted words
    must all stand in one text. An acronym is held by capitalized words with its letters.
    """
    spans = _named_spans(question, language)
    asked = tuple(dict.fromkeys(question[start:end] for start, end in spans))
    held = [_Held.of(text, language) for text in texts]
    named = tuple(each for each in asked if not any(one.holds(each, language) for one in held))
    rest = question
    for start, end in sorted(spans, reverse=True):
        rest = f"{rest[:start]} {rest[end:]}"
    words: list[str] = []
    if has_content(rest):
        every = set().union(*(one.words for one in held)) if held else set()
        wanted = {word for word in content_words(rest) if len(word) > 2} - every
        for match in _TERM.finditer(rest):
            folded = all_words(match.group())
            if wanted.intersection(folded) and not any(one.holds(with_digits(match.group()), language) for one in held):
                wanted -= set(folded)
                words.append(match.group())
    return Missing(asked, named, tuple(words))


def _named_spans(question: str, language: str) -> list[tuple[int, int]]:
    """Where a question names something: quoted words first, then terms outside of them."""
    spans = [match.span(1) for match in _QUOTED.finditer(question) if has_content(match[1])]
    terms = [match for match in _TERM.finditer(question) if not any(a <= match.start() < b for a, b in spans)]
    capitals = language not in _ALL_NOUNS and _capitals_tell(question)
    for match in terms:
        term = match.group()
        if any(c.isdigit() for c in term) or (capitals and _is_name(question, match)):
            owner = term[-2:] in ("'s", "’s")
            spans.append((match.start(), match.end() - 2 * owner))
    return sorted(spans)


def _capitals_tell(question: str) -> bool:
    """Whether some word of the question begins small: otherwise it is a title, or written in capitals throughout."""
    return any(match.group()[0].islower() for match in _TERM.finditer(question))


def _is_name(question: str, match: re.Match[str]) -> bool:
    term = match.group()
    if not term[0].isupper() or len(term) < 2 or term in _TITLES or not has_content(term):
        return False
    if sum(c.isupper() for c in term) > 1:  # "IPC", "McDonald": no word begins a sentence so
        return True
    return not _SENTENCE.search(question[: match.start()])


@dataclass(frozen=True, slots=True)
class _Held:
    """What one text holds, in the forms in which it is looked for."""

    words: frozenset[str]  #: folded as for comparing a question with text
    terms: frozenset[str]  #: of the lexical analysis: codes whole, numbers without grouping
    initials: str  #: of the words that begin with a capital, small words between them passed over

    @classmethod
    def of(cls, text: str, language: str) -> _Held:
        digits = with_digits(text)
        terms = {*analyze(text, language), *analyze(digits, language), *_ORDINAL.findall(digits)}
        figures = (match.group() for match in _TERM.finditer(text))
        terms.update(str(value) for each in figures if (value := _roman(each)))
        capitals = (match.group()[0] for match in _TERM.finditer(text) if match.group() not in _SMALL_WORDS)
        return cls(
            frozenset({*all_words(text), *all_words(digits)}),
            frozenset(terms),
            "".join(c if c.isupper() else " " for c in capitals),
        )

    def holds(self, term: str, language: str) -> bool:
        if " " in term.strip():
            return set(content_words(term)) <= self.words
        if any(c.isdigit() for c in term):
            bare = _ORDINAL.sub(r"\1", unicodedata.normalize("NFKC", term).casefold())
            return set(analyze(bare, language)) <= self.terms
        if (value := _roman(term)) and str(value) in self.terms:
            return True
        if _ACRONYM.match(term.replace(".", "")) and term.replace(".", "") in self.initials:
            return True
        parts = [each for each in all_words(term) if len(each) > 1] or all_words(term)
        if set(analyze(term, language)) <= self.terms or all(self._derived(each) for each in parts):
            return True
        return not self.terms.isdisjoint(_other_numbers(term.casefold()))

    def _derived(self, word: str) -> bool:
        if word in self.words:
            return True
        stem = word[: max(_STEM, len(word) - 1)]
        return len(word) >= _STEM and word.isalpha() and any(each.startswith(stem) for each in self.words)


def _other_numbers(word: str) -> set[str]:
    """The singular that `word` may have, or the plural: "parties" for "party", "lessee" for "lessees"."""
    if len(word) < _STEM or not word.isalpha():
        return set()
    singular = {word[: -len(end)] + instead for end, instead in _PLURALS if word.endswith(end)}
    return singular | {word.removesuffix(instead) + end for end, instead in _PLURALS if word.endswith(instead)}


def _roman(term: str) -> int:
    """The value of a Roman figure of two letters or more, in capitals, up to 99; else 0."""
    if not _ROMAN.match(term):
        return 0
    values = [_ROMAN_VALUES[c] for c in term]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
