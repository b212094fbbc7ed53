"""What every scorer shares: a source cut into sentences, runs of them, and what is settled without any model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pincite.claims import AUXILIARY, numbers, same_sense, with_digits
from pincite.sentences import statement_spans
from pincite.types import Support
from pincite.words import content_words, has_content, idf, overlap

if TYPE_CHECKING:
    from pincite.protocols import Matrix

__all__ = [
    "COVERED",
    "MOST_DENIED",
    "MOST_SUPPORTED",
    "Sentences",
    "cosines",
    "missing_words",
    "numbers_missing",
    "scaled",
    "settled",
]

_QUOTED = re.compile(r"[\"“«„]([^\"“”«»„]{8,})[\"”»]")

#: Share of a statement's content words that the source sentence must hold.
COVERED = 0.85
#: What has the words of the statement one by one scores 1, what is supported less, what is not below a half.
MOST_SUPPORTED, MOST_DENIED = 0.99, 0.49
#: From so many content words on, or with a verb, words that stand in the source are a claim and no mere "two years".
_CLAUSE = 3
#: Words around a quotation that merely introduce it ("the lease provides: …"); more of them claim something.
_FRAMING = 4
_WORD = re.compile(r"\w+(?:[.,]\d+)*")
_INTRODUCES = re.compile(r"\b(?:says?|said|states?|provides?|reads?|according|declares?|lays? down|quot\w+)\b", re.I)


@dataclass(frozen=True)
class Sentences:
    """The sentences of a source, with what is compared of them."""

    source: str

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Half-open, in order."""
        return statement_spans(self.source)

    @cached_property
    def texts(self) -> list[str]:
        """As they stand there."""
        return [self.source[start:end] for start, end in self.spans]

    @cached_property
    def words(self) -> list[list[str]]:
        """The content words of each, numerals in digits."""
        return [content_words(with_digits(text)) for text in self.texts]

    @cached_property
    def weights(self) -> dict[str, float]:
        """How rare a word is among the sentences."""
        return idf(self.words)

    def runs(self, longest: int) -> Iterator[tuple[int, int]]:
        """Half-open ranges of at most so many sentences that follow each other, the short ones first."""
        for length in range(1, min(longest, len(self.spans)) + 1):
            yield from ((first, first + length) for first in range(len(self.spans) - length + 1))

    def packed(self, lengths: Sequence[int], room: int) -> list[tuple[int, int]]:
        """Ranges of as many sentences as have room together, half of each in the next; each sentence is in one.

        `lengths` are those of the sentences, in whatever `room` is in. One that is longer than that stands alone.
        """
        windows = []
        first = 0
        while first < len(lengths):
            last, used = first + 1, lengths[first]
            while last < len(lengths) and used + lengths[last] <= room:
                used += lengths[last]
                last += 1
            windows.append((first, last))
            if last == len(lengths):
                break
            first += max(1, (last - first) // 2)
        return windows

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Where the run of the sentences from `first` up to `last` stands."""
        return self.spans[first][0], self.spans[last - 1][1]

    def text(self, first: int, last: int) -> str:
        """All of a run, what is between its sentences included."""
        start, end = self.span(first, last)
        return self.source[start:end]

    def relevance(self, question: str) -> list[float]:
        """What each shares with the question, in [0, 1]."""
        asked = content_words(with_digits(question))
        return [overlap(asked, each, self.weights) for each in self.words]


def settled(statement: str, found: Sentences, question: str = "") -> Support | None:
    """What needs no model: the words stand there, or there is nothing to judge. None where it must be judged.

    Sentences that hold the statement (or all it quotes, if they agree with the rest of it) word for word are
    ``verbatim``; of several it is the one that shares most with the question: a short answer such as "two" may stand in
    many. A statement without content ("Yes.") is ``unknown``, shown with the sentence that shares most with the
    question, and so is everything where the source has no sentences.
    """
    if not found.spans:
        return Support(0, len(found.source), "unknown", 0.0, "the source has no sentences")
    plain = [_plain(sentence) for sentence in found.texts]
    exact = [i for i, sentence in enumerate(plain) if _holds(sentence, _plain(statement))]
    quoted = [] if exact else [match.group(1) for match in _QUOTED.finditer(statement)]
    if quoted:
        exact = [i for i, sentence in enumerate(plain) if all(_holds(sentence, _plain(part)) for part in quoted)]
    if not exact and has_content(statement):
        return None
    relevance = found.relevance(question)
    if not has_content(statement):
        best = max(range(len(plain)), key=lambda i: (relevance[i], -i))
        return Support(*found.spans[best], "unknown", 0.0, "the statement claims nothing that could be checked")
    # True words prove nothing where those around them, in the statement or in the source, turn their sense.
    if quoted or len(content_words(with_digits(statement))) >= _CLAUSE or AUXILIARY.search(statement):
        exact = [i for i in exact if same_sense(statement, found.texts[i])]
    if quoted:
        # A quotation proves itself, not what is said around it: that must introduce it, or stand there too.
        rest = _QUOTED.sub(" ", statement)
        around = content_words(with_digits(rest))
        introduced = not around or (len(around) <= _FRAMING and _INTRODUCES.search(rest))
        exact = [i for i in exact if introduced or overlap(around, found.words[i]) >= COVERED]
    if not exact:
        return None
    best = max(exact, key=lambda i: (relevance[i], -i))
    return Support(*found.spans[best], "verbatim", 1.0)


def missing_words(statement: str, words: Sequence[str]) -> str:
    """Which words of a statement are not among `words`, for a reader: ``no sentence holds: …``."""
    there = set(words)
    written = {word.casefold(): word for word in _WORD.findall(statement)}
    lacking = [
        written.get(word, word)
        for word in dict.fromkeys(_WORD.findall(with_digits(statement)))
        if has_content(word) and word != "least" and not set(content_words(word)) <= there
    ]
    if not lacking:
        return "no sentence says it"
    return f"no sentence holds: {', '.join(lacking[:6])}{' …' if len(lacking) > 6 else ''}"


def numbers_missing(statement: str, premise: str) -> str:
    """Which numbers of a statement a premise lacks, bounds aside, in words; empty where it has them all."""
    there = {each.lstrip("≥≤<>") for each in numbers(premise)}
    lacking = sorted({each.lstrip("≥≤<>") for each in numbers(statement)} - there)
    return f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not in the source" if lacking else ""


def scaled(probability: float, threshold: float) -> float:
    """A probability in [0, 1] so that what reaches the threshold scores a half or more. Keeps the order."""
    if probability >= threshold:
        return min(MOST_SUPPORTED, 0.5 + 0.5 * (probability - threshold) / max(1 - threshold, 1e-9))
    return min(MOST_DENIED, 0.5 * probability / threshold)


def cosines(vectors: Matrix) -> list[float]:
    """Of the first with each of the others; not every encoder gives vectors of length 1."""
    lengths = (vectors * vectors).sum(axis=1) ** 0.5
    lengths[lengths == 0] = 1
    unit = vectors / lengths[:, None]
    return [float(value) for value in unit[1:] @ unit[0]]


_DASHES = str.maketrans(
    dict.fromkeys("‐‑‒–−", "-") | dict.fromkeys("—―", " - ") | dict.fromkeys("‘’‛", "'") | dict.fromkeys("“”„«»", '"')
)
# "5" does not stand in "5,000", "3.14" or "-5", nor "two" in "twenty-two".
_LEFT = r"(?<!\w)(?<!\d[.,])(?<!\w[-'])(?<!(?<![^\s(])-)"
_RIGHT = r"(?!\w)(?![.,]\d)(?![-']\w)"
_HYPHENATED = re.compile(r"(?<=\w)-\s*\n\s*(?=\w)")


def _plain(text: str) -> str:
    """For comparing word for word: ligatures, quotes, dashes, case and white space made alike, outer marks removed."""
    text = unicodedata.normalize("NFKC", _HYPHENATED.sub("", text)).translate(_DASHES).casefold()
    return " ".join(text.split()).strip(" .,;:!?\"'()[]")


def _holds(sentence: str, part: str) -> bool:
    return bool(part) and re.search(_LEFT + re.escape(part) + _RIGHT, sentence) is not None
