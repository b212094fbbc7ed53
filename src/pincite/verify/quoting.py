"""The quotations of a checked text against the authorities that they are credited to, and against the whole corpus."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pincite.quotes import NormalText, locate
from pincite.types import PointInTime, Quotation, QuoteVerdict
from pincite.verify.reading import Reader
from pincite.verify.records import Mark, MarkStatus, Place

if TYPE_CHECKING:
    from pincite.protocols import Store

__all__ = ["Quoting"]

_STATUSES: dict[QuoteVerdict, MarkStatus] = {
    "verbatim": "ok",
    "altered": "altered-quote",
    "stitched": "altered-quote",
    "elsewhere": "quote-elsewhere",
    "absent": "quote-absent",
}
#: Chunks that share most words with a quotation, whose documents are searched for it.
_CANDIDATES = 5
#: Texts made alike that are kept at hand.
_KEPT = 64
#: Words left out or changed are marked so.
_MARKED = re.compile(r"[\[\]()…*]|\.\s?\.")


class Quoting:
    """Holds quotations against sources; texts made alike are kept for the next one."""

    def __init__(self, store: Store, reader: Reader, at: PointInTime | None) -> None:
        self._store = store
        self._reader = reader
        self._at = at
        self._normal: dict[tuple[str, int, int, int], NormalText] = {}
        self._held: dict[tuple[str, tuple[Place, ...], bool], tuple[Quotation | None, Mark]] = {}

    def hold(
        self, words: str, start: int, places: Sequence[Place], *, credited: bool = True
    ) -> tuple[Quotation | None, Mark]:
        """What became of `words`, which stand in the text from `start` without their marks.

        `places` are those of the authorities. They are looked for there, then in the rest of these documents, then in
        the documents of the corpus that share most words with them. `credited`: whether the text says that they are the
        authority's; where it does not, words that are nowhere are not held against it.
        """
        key = words, tuple(places), credited
        if key not in self._held:
            self._held[key] = self._hold(words, places, credited)
        quotation, mark = self._held[key]
        end = start + len(words)
        if quotation is not None:
            quotation = replace(quotation, answer_start=start, answer_end=end)
        return quotation, replace(mark, start=start, end=end)

    def _hold(self, words: str, places: Sequence[Place], credited: bool) -> tuple[Quotation | None, Mark]:
        """The same of words that stand at the beginning."""
        start, end = 0, len(words)

        def marked(status: MarkStatus, note: str = "", place: Place | None = None) -> Mark:
            return Mark(start, end, "quotation", status, note, place, self._reader.quote(place) if place else "")

        found = locate(words, [self._text(place) for place in places]) if places else None
        if found is not None and found.source >= 0:
            within = places[found.source]
            at = self._reader.part(within, within.start + found.start, within.start + found.end)
            quotation = _quotation(words, start, found.verdict, at, self._reader, found.difference)
            if found.verdict != "verbatim" and (exact := self._elsewhere(words, places)) is not None:
                # Nearly so in the one, word for word in another: it is the other that is quoted.
                note = f"it stands in {exact.title}"
                return _quotation(words, start, "elsewhere", exact, self._reader), marked(
                    "quote-elsewhere", note, exact
                )
            return quotation, marked(_STATUSES[found.verdict], found.difference, at)
        other = self._elsewhere(words, places)
        if not places:
            note = "its authority is not in this corpus"
            if other is not None:
                return None, marked("unchecked", f"{note}; the words stand in {other.title}", other)
            return None, marked("unchecked", note)
        if other is not None:
            note = f"it stands in {other.title}"
            return _quotation(words, start, "elsewhere", other, self._reader), marked("quote-elsewhere", note, other)
        if not credited:
            return None, marked(
                "unchecked", "these words are nowhere in the corpus, and not said to be the authority's"
            )
        names = ", ".join(dict.fromkeys(place.title for place in places[:3]))
        return (
            Quotation(start, end, words, "absent"),
            marked("quote-absent", f"these words stand neither in {names} nor elsewhere in the corpus"),
        )

    def _elsewhere(self, words: str, places: Sequence[Place]) -> Place | None:
        """Where in the corpus the very words stand."""
        candidates = [self._whole(place) for place in places]
        for passage in self._store.passages(self._store.search_lexical(words, _CANDIDATES, at=self._at)):
            chunk = passage.chunk
            candidates.append(
                Place(
                    chunk.document_id,
                    chunk.version,
                    0,
                    len(self._text_of(chunk.document_id, chunk.version)),
                    passage.title,
                    passage.uri,
                )
            )
        # What comes near is dear to find, and not asked for: where the words within are not, the whole is not.
        within = None if _MARKED.search(words) else NormalText(" ".join(words.split()[1:-1]))
        for place in dict.fromkeys(candidates):
            if within is not None and within.normal and not any(True for _ in self._text(place).find_normal(within)):
                continue
            found = locate(words, [self._text(place)])
            if found.verdict == "verbatim":
                return self._reader.part(place, found.start, found.end)
        return None

    def _whole(self, place: Place) -> Place:
        return self._reader.part(place, 0, len(self._reader.text(place)))

    def _text_of(self, document_id: str, version: int) -> str:
        return self._reader.text(Place(document_id, version, 0, 0, "", ""))

    def _text(self, place: Place) -> NormalText:
        key = place.document_id, place.version, place.start, place.end
        if key not in self._normal:
            if len(self._normal) >= _KEPT:
                del self._normal[next(iter(self._normal))]
            self._normal[key] = NormalText(self._reader.compared(place))
        return self._normal[key]


def _quotation(
    words: str, start: int, verdict: QuoteVerdict, place: Place, reader: Reader, difference: str = ""
) -> Quotation:
    return Quotation(
        answer_start=start,
        answer_end=start + len(words),
        text=words,
        verdict=verdict,
        document_id=place.document_id,
        version=place.version,
        start=place.start,
        end=place.end,
        quote=reader.quote(place),
        difference=difference,
    )
