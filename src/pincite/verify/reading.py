"""The documents of the corpus as a check reads them: each once, of a long one the sentences nearest to a claim."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pincite.claims import with_digits
from pincite.sentences import sentence_spans
from pincite.verify.records import Place
from pincite.words import content_words, idf, overlap

if TYPE_CHECKING:
    from pincite.protocols import Store
    from pincite.types import Document

__all__ = ["UNSEEN", "Reader", "without_amendments"]

#: Documents that are kept at hand. A judgment of a million characters takes some 20 MB as sets of words.
_KEPT = 64
#: Characters up to which a provision is read whole.
_WHOLE = 4000


#: How official prints of acts set apart what an amendment brought in: "1[imprisonment for life]", "2***".
_AMENDED = re.compile(
    r"(?<![\w.])(?P<open>\d{1,3}\[)|(?P<close>\])|(?<![\w.])\d{1,3}\*(?:\s?\*)+|(?<!\*)\*(?:\s?\*){2,}"
)
#: A character, the soft hyphen, that no comparison sees, so that what stands behind it stays where it is.
UNSEEN = "\u00ad"


def without_amendments(text: str) -> str:
    """The text of an act as people quote it, without the marks of its amendments; every other character in its place.

    >>> without_amendments("death or 1[life].").replace("\u00ad", "")
    'death or life.'
    """
    if "[" not in text and "*" not in text:
        return text
    depth = 0
    out = list(text)
    for match in _AMENDED.finditer(text):
        if match["close"] is not None:
            if not depth:
                continue
            depth -= 1
        elif match["open"] is not None:
            depth += 1
        for i in range(*match.span()):
            out[i] = UNSEEN
    return "".join(out)


#: "302. Punishment for murder.—", and in Markdown a heading.
_NOTE = re.compile(
    r"\s*(?:#[^\n]*\n|SECTION \S+\n"
    r"|(?:\d{1,3}\[)?\d{1,3}[A-Z]{0,2}\.\s[^—–\n]{0,200}(?:\n[^—–\n]{0,200})?[.:]?\s?[—–]+)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class _Read:
    text: str
    spans: list[tuple[int, int]]
    words: list[frozenset[str]]
    weights: dict[str, float]


class Reader:
    """Reads documents of a store, and keeps the last ones."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._documents: dict[tuple[str, int], Document | None] = {}
        self._read: dict[tuple[str, int], _Read] = {}

    def document(self, place: Place) -> Document | None:
        """The version that a place is of; None if it is not kept."""
        key = place.document_id, place.version
        if key not in self._documents:
            if len(self._documents) >= _KEPT:
                oldest = next(iter(self._documents))
                del self._documents[oldest]
                self._read.pop(oldest, None)
            self._documents[key] = self._store.get_document(*key)
        return self._documents[key]

    def text(self, place: Place) -> str:
        """The text of the whole document, into which `Place` has its offsets; "" if it is not kept."""
        document = self.document(place)
        return "" if document is None else document.text

    def quote(self, place: Place) -> str:
        """The characters of a place."""
        return self.text(place)[place.start : place.end]

    def compared(self, place: Place) -> str:
        """`quote` as it is compared: of the same length, without the marks of amendments."""
        return without_amendments(self.quote(place))

    def part(self, place: Place, start: int, end: int) -> Place:
        """Other characters of the same document."""
        document = self.document(place)
        page = None if document is None else document.page_at(start)
        return replace(place, start=start, end=end, page=page)

    def windows(self, place: Place, statement: str, limit: int) -> list[tuple[int, int]]:
        """Spans of the document, within the place, that are worth holding against a statement; at most `limit`.

        A short place is one. Of a long one those are chosen whose middle sentence shares most words with the
        statement, weighed by how rare they are there; each with the sentences around it.
        """
        if place.end - place.start <= _WHOLE:
            whole = self.quote(place)
            # The marginal note of a section is no part of what it says, and may be all of what is said of it.
            note = _NOTE.match(whole)
            spans = [(place.start + note.end(), place.end)] if note else []
            return [*spans, (place.start, place.end)] if whole.strip() else []
        read = self._sentences(place)
        first = bisect_left(read.spans, (place.start, 0))
        last = bisect_right(read.spans, (place.end, 0))
        if first >= last:
            return []
        asked = content_words(with_digits(statement))
        shares = [(overlap(asked, read.words[i], read.weights), -i) for i in range(first, last)]
        chosen: list[int] = []
        for share, negative in sorted(shares, reverse=True)[: 3 * limit]:
            if share and len(chosen) < limit and all(abs(-negative - other) > 1 for other in chosen):
                chosen.append(-negative)
        return [
            (
                max(read.spans[max(i - 1, first)][0], place.start),
                min(read.spans[min(i + 1, last - 1)][1], place.end),
            )
            for i in chosen
        ]

    def _sentences(self, place: Place) -> _Read:
        key = place.document_id, place.version
        if key not in self._read:
            text = self.text(place)
            spans = sentence_spans(text)
            words = [frozenset(content_words(with_digits(text[start:end]))) for start, end in spans]
            self._read[key] = _Read(text, spans, words, idf([tuple(each) for each in words]))
        return self._read[key]
