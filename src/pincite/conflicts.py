"""Passages that say otherwise: what contradicts the sentences that an answer rests on, with both places.

Every sentence of the passages found, from another document or another version, is held against the sentence that was
cited (`pincite.contrary`). That errs towards silence: what is told is meant to be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pincite.contrary import contrary
from pincite.sentences import statement_spans
from pincite.types import Citation, Conflict, Passage
from pincite.words import content_words

__all__ = ["conflicts"]

#: Metadata that says when a document is of: the first that both have decides. ISO 8601, so that text sorts as time.
_DATES = (
    ("valid_from", "in force from"),
    ("date", "dated"),
    ("recorded", "recorded"),
    ("updated", "updated"),
    ("published", "published"),
)

#: P1, X-200; not v2, rev3, 1st.
_CODE = re.compile(
    r"\b(?!(?:v|ver|rev|version)-?\d|\d+(?:st|nd|rd|th)\b)(?=\w*-?\d)(?=[\d-]*[a-z])[a-z\d]+(?:-[a-z\d]+)*\b"
)
#: In a title: the lease of flat 12; not a year, a date or the number of an edition.
_NUMBERED = re.compile(
    r"(?<![\d./-])(?<!\bv)(?<!\bv )(?<!\brev )(?<!\brev\. )(?<!\bversion )(?<!\bedition )"
    r"(?!(?:19|20)\d\d\b)\d+\b(?![./-]\d)(?!\s*(?:st|nd|rd|th)\b)"
)


def conflicts(
    citations: Sequence[Citation],
    passages: Sequence[Passage],
    *,
    dated: Callable[[str, int], str | None] | None = None,
) -> list[Conflict]:
    """What among `passages` says otherwise than what the citations that support the answer point at.

    In the order of the citations; the same two places once. `Conflict.against` has the span of its citation in the
    answer, the verdict ``unsupported`` and the difference as its `why`; its number is that of the citation which points
    at the same characters, and 0 where the answer has none. `dated` says when a version was added (ISO 8601), None
    where it is not known; it is asked only where nothing better tells which of the two is newer: the metadata
    ``valid_from``, ``date``, ``recorded``, ``updated`` or ``published`` of both, or of one document the version's
    number. Documents whose titles or headings name different things, by a code (P1, P2) or a number (flat
    12), are not compared.

    Raises nothing: a citation whose passage is not among those given is held against them all the same.
    """
    numbers = {(each.document_id, each.version, each.start, each.end): each.number for each in citations}
    metadata = {(each.chunk.document_id, each.chunk.version): each for each in passages}
    found: list[Conflict] = []
    seen: set[frozenset[tuple[str, int, int, int]]] = set()
    for citation in citations:
        if citation.verdict not in ("verbatim", "supported"):
            continue
        own = metadata.get((citation.document_id, citation.version))
        for passage in passages:
            chunk = passage.chunk
            if (chunk.document_id, chunk.version) == (citation.document_id, citation.version):
                continue
            if _of_different_things(citation, passage):
                continue
            known = _common(citation, passage)
            for start, end in statement_spans(chunk.text):
                difference = contrary(citation.quote, chunk.text[start:end], known=known)
                here = (chunk.document_id, chunk.version, chunk.start + start, chunk.start + end)
                pair = frozenset([(citation.document_id, citation.version, citation.start, citation.end), here])
                if not difference or pair in seen:
                    continue
                seen.add(pair)
                against = _against(citation, passage, start, end, numbers.get(here, 0), difference)
                later = _later(citation, own, against, passage, dated)
                found.append(Conflict(citation, against, difference, later))
    return found


def _common(citation: Citation, other: Passage) -> int:
    """Content words that tell the subject of both beside their sentences; all that is needed, of one document."""
    if citation.document_id == other.chunk.document_id:
        return 2
    of_one = {word for text in citation.headings for word in content_words(text)}
    of_other = {word for text in other.chunk.headings for word in content_words(text)}
    titles = set(content_words(citation.title)) & set(content_words(other.title))
    return len((of_one & of_other) | titles)


def _of_different_things(citation: Citation, other: Passage) -> bool:
    """Whether titles and headings name codes, or the titles numbers, and none that is the same."""
    titles = citation.title.casefold(), other.title.casefold()
    places = " ".join(citation.headings).casefold(), " ".join(other.chunk.headings).casefold()
    codes = [set(_CODE.findall(f"{title} {place}")) for title, place in zip(titles, places, strict=True)]
    numbers = [set(_NUMBERED.findall(title)) for title in titles]
    return any(one and two and one.isdisjoint(two) for one, two in (codes, numbers))


def _against(citation: Citation, passage: Passage, start: int, end: int, number: int, difference: str) -> Citation:
    chunk = passage.chunk
    return replace(
        citation,
        number=number,
        document_id=chunk.document_id,
        version=chunk.version,
        chunk_id=chunk.id,
        start=chunk.start + start,
        end=chunk.start + end,
        quote=chunk.text[start:end],
        title=passage.title,
        uri=passage.uri,
        page=chunk.page,
        headings=chunk.headings,
        verdict="unsupported",
        score=0.0,
        context="",
        why=difference,
    )


def _later(
    citation: Citation,
    own: Passage | None,
    against: Citation,
    other: Passage,
    dated: Callable[[str, int], str | None] | None,
) -> str:
    """Which of the two is newer and how that is known: ``Handbook, version 2: in force from 2024-07-01, …``."""
    for how, one, two in _times(citation, own, against, other, dated):
        if one and two and one != two:
            newer, when, before = (citation, one, two) if one > two else (against, two, one)
            return f"{_name(newer, citation, against)}: {how} {when}, the other {before}"
    if citation.document_id == against.document_id:
        newer, older = sorted((citation, against), key=lambda each: -each.version)
        return f"{_name(newer, citation, against)}: the other is version {older.version}"
    return ""


def _name(newer: Citation, one: Citation, other: Citation) -> str:
    """Which document and version; its file too, of two that bear one title."""
    file = newer.uri.replace("\\", "/").rpartition("/")[2]
    same = one.title == other.title and one.document_id != other.document_id
    return f"{newer.title}{f' ({file})' if same and file else ''}, version {newer.version}"


def _times(
    citation: Citation,
    own: Passage | None,
    against: Citation,
    other: Passage,
    dated: Callable[[str, int], str | None] | None,
) -> Iterator[tuple[str, str, str]]:
    """How each way of telling puts it, and the two times; empty where one is not known."""
    for name, how in _DATES:
        yield how, _said(own, name), _said(other, name)
    if dated is not None and citation.document_id != against.document_id:
        yield (
            "added",
            dated(citation.document_id, citation.version) or "",
            dated(against.document_id, against.version) or "",
        )


def _said(passage: Passage | None, name: str) -> str:
    return "" if passage is None else str(passage.metadata.get(name, ""))
