"""From an answer to its proof: for each of its sentences, the exact characters of a source that support it.

Two steps: find which passages a sentence is said to rest on (its markers, or for a generator that writes none the
passages it read), and find in them, with a `pincite.protocols.SupportScorer`, what supports it and how well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pincite.blocks import Blocks
from pincite.markers import CodeReader
from pincite.sentences import sentence_spans
from pincite.types import Chunk, Citation, Passage, Support
from pincite.words import all_words, content_words, overlap

if TYPE_CHECKING:
    from pincite.protocols import SupportScorer

__all__ = ["Statement", "add_markers", "cite", "statements", "words_in_common"]

_MARKER = re.compile(r"\[(\d{1,3})\]")
_ITEM = re.compile(r"\A(?:[-*•]|\d{1,3}[.)])\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer and the passages it names, as indices; none where it names none."""

    start: int
    end: int
    text: str  #: without its markers and without the number or dot of a list
    named: tuple[int, ...]


def statements(text: str) -> list[Statement]:
    """The sentences of an answer with the ``[n]`` markers that stand in them or right after them.

    A marker that begins a line belongs to what follows on the line. Markers in code are none.

    >>> [(s.text, s.named) for s in statements("Two terms [2]. Or ten years. [1][3]")]
    [('Two terms.', (1,)), ('Or ten years.', (0, 2))]
    """
    code = CodeReader()
    coded = [code.is_code(character) for character in text]
    found = [match for match in _MARKER.finditer(text) if not coded[match.start()]]
    masked = text
    for match in found:
        masked = masked[: match.start()] + " " * len(match.group()) + masked[match.end() :]
    spans = sentence_spans(masked)
    named: list[list[int]] = [[] for _ in spans]
    for match in found:
        before = sum(start < match.start() for start, _ in spans)
        owner = before - 1
        if before == 0 or (match.start() >= spans[owner][1] and _leads(masked, match)):
            owner += 1
        if owner < len(spans):
            named[owner].append(int(match.group(1)) - 1)
    return [
        Statement(start, end, _without_markers(text, start, end, found), tuple(dict.fromkeys(numbers)))
        for (start, end), numbers in zip(spans, named, strict=True)
    ]


def _leads(masked: str, marker: re.Match[str]) -> bool:
    """Whether a marker begins its line and words follow."""
    before = masked[: marker.start()].rpartition("\n")[2]
    after = masked[marker.end() :].partition("\n")[0]
    return not before.strip() and bool(after.strip())


def _without_markers(text: str, start: int, end: int, markers: Sequence[re.Match[str]]) -> str:
    parts, position = [], start
    for marker in markers:
        if start <= marker.start() < end:
            # "two years [1], or" is "two years, or" and "two [1] years" is "two years".
            parts.append(text[position : marker.start()].rstrip())
            position = marker.end()
    # "1." at the beginning of a list's line is no number that a source must hold.
    return _ITEM.sub("", " ".join("".join([*parts, text[position:end]]).split()))


def cite(
    text: str,
    question: str,
    passages: Sequence[Passage],
    *,
    sources: Sequence[int] | None = None,
    parts: Sequence[tuple[int, int]] = (),
    support: SupportScorer,
) -> list[Citation]:
    """The citations of `text`, in its order.

    With `sources` None the answer carries ``[n]`` markers, and each sentence is held against every passage it names.
    Otherwise it carries none: each sentence is held against the passages of those indices, and cited to the one that
    supports it best; or, where `parts` gives spans of the text, each of them is held against its own source, the
    generator having said which that is. Numbers of passages count from 1 as in the prompt. Page and headings are the
    chunk's own; a row of a table has the table's header for its context.
    """

    def judged(statement: Statement, indices: Sequence[int]) -> list[tuple[int, Support]]:
        texts = [passages[i].chunk.text for i in indices]
        return list(zip(indices, support.judge(statement.text, texts, question=question), strict=True))

    citations: list[Citation] = []
    if sources is not None and parts:
        stated = [
            Statement(start, end, text[start:end], (source,))
            for (start, end), source in zip(parts, sources, strict=True)
        ]
        sources = None
    else:
        stated = statements(text)
    for statement in stated:
        if not content_words(statement.text):
            continue
        if sources is None:
            found = judged(statement, [i for i in statement.named if 0 <= i < len(passages)])
        else:
            of_all = judged(statement, list(dict.fromkeys(sources)))
            # Python's max keeps the first of equals: the source the generator put first.
            found = [max(of_all, key=lambda pair: pair[1].score)] if of_all else []
        citations += [_citation(statement, i, passages[i], worth) for i, worth in found]
    return citations


def add_markers(text: str, citations: Sequence[Citation]) -> tuple[str, list[Citation]]:
    """Write ``[n]`` after every sentence of `text` that a citation supports, and move the citations' spans along.

    A sentence that nothing supports gets no marker: it stays as bare as its proof.
    """
    markers: dict[int, list[str]] = {}
    for citation in citations:
        if citation.verdict in ("verbatim", "supported"):
            here = markers.setdefault(citation.answer_end, [])
            if (marker := f"[{citation.number}]") not in here:
                here.append(marker)
    written = {position: f" {''.join(here)}" for position, here in sorted(markers.items())}
    out, position = [], 0
    for end, marker in written.items():
        out += [text[position:end], marker]
        position = end

    def moved(position: int, *, is_end: bool) -> int:
        # A marker stands after the sentence that ends where it was put, and before one that begins there.
        return position + sum(len(m) for p, m in written.items() if p < position or (p == position and not is_end))

    return "".join([*out, text[position:]]), [
        replace(
            citation,
            answer_start=moved(citation.answer_start, is_end=False),
            answer_end=moved(citation.answer_end, is_end=True),
        )
        for citation in sorted(citations, key=lambda each: each.answer_end)
    ]


def _citation(statement: Statement, index: int, passage: Passage, support: Support) -> Citation:
    chunk = passage.chunk
    return Citation(
        number=index + 1,
        answer_start=statement.start,
        answer_end=statement.end,
        document_id=chunk.document_id,
        version=chunk.version,
        chunk_id=chunk.id,
        start=chunk.start + support.start,
        end=chunk.start + support.end,
        quote=chunk.text[support.start : support.end],
        title=passage.title,
        uri=passage.uri,
        page=chunk.page,
        headings=chunk.headings,
        verdict=support.verdict,
        score=round(support.score, 4),
        context=_header(chunk, support.start),
        why=support.why,
    )


def _header(chunk: Chunk, start: int) -> str:
    """The header of the table of which a row stands at `start` of the chunk."""
    if "|" not in chunk.text[start:].partition("\n")[0]:
        return ""
    return Blocks(chunk.before + chunk.text).header(len(chunk.before) + start)


def words_in_common(question: str, passages: Sequence[Passage]) -> float:
    """The largest share of the question's content words that any one passage holds, title and headings included."""
    asked = content_words(question)
    return max(
        (overlap(asked, all_words("\n".join((p.title, *p.chunk.headings, p.chunk.text)))) for p in passages),
        default=0.0,
    )
