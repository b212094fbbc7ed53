"""From an answer to its proof: for each of its sentences, the exact characters of a source that support it.

Find which passages a sentence is said to rest on (its markers, or for a generator that writes none the passages it
read), and find in them, with a `pincite.protocols.SupportScorer`, what supports it and how well. Where no sentence of a
source does, the parts of the sentence that stand before its markers, what it quotes, or its clauses are judged one by
one. What it quotes is looked for word for word, whatever the scorer says: see `pincite.quotes`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pincite.blocks import Blocks
from pincite.markers import CodeReader
from pincite.quotation_marks import find_quotations
from pincite.quotes import NormalText, locate
from pincite.sentences import sentence_spans, statement_spans
from pincite.types import Chunk, Citation, Passage, Quotation, Support
from pincite.words import all_words, content_words, has_content, overlap

if TYPE_CHECKING:
    from pincite.protocols import SupportScorer

__all__ = [
    "Statement",
    "add_markers",
    "cite",
    "is_good",
    "quotation",
    "quotations",
    "statements",
    "supporting",
    "words_in_common",
]

_MARKER = re.compile(r"\[(\d{1,3})\]")
_ITEM = re.compile(r"\A(?:[-*•]|\d{1,3}[.)])\s+(?=\S)")
_BLOCK_QUOTE = re.compile(r"^[ ]{0,3}>[ >]*", re.MULTILINE)
_CONNECTIVE = re.compile(r"\A[\s,;]*(?:(?:and|but|while|whereas|or)\s+)?")
#: Where a clause with a subject of its own begins.
_CLAUSE = re.compile(
    r"(?:;\s+|,?\s+(?=(?:and|but|while|whereas|although|though)\s))(?:(?:and|but|while|whereas|although|though)\s+)?"
    r"(?=(?:the|an?|each|every|no|any|all|either|neither|both|this|that|these|those|it|they|he|she|its|their|there)\b"
    r"|[A-Z\d])"
)
#: What reads like a verb: an auxiliary, a past form, or "pays" after a noun.
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|may|might|must|shall|should|will|would|can|could)\b"
    r"|\b\w{2,}ed\b|(?<!\bthe )(?<!\ba )(?<!'s )(?<!s' )(?<!’s )(?<=\w )\b\w+[^s\W]s\b",
    re.IGNORECASE,
)
#: A clause of fewer content words proves too little to be judged by itself.
_LEAST_CLAUSE = 3
#: What is put together of several sentences scores no more than what one supports.
_MOST_SUPPORTED = 0.99
#: Sentences that stand no further apart than this, by their number, are cited as one.
_ADJACENT = 2
#: Words around a quotation that merely introduce it ("the lease provides: …"); more of them claim something.
_FRAMING = 4
_INTRODUCES = re.compile(
    r"\b(?:says?|said|states?|stated|provides?|provided|reads?|according|declares?|lays? down|held|holds?|quot\w+)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer and the passages it names, as indices; none where it names none."""

    start: int
    end: int
    text: str  #: without its markers and without the number or dot of a list
    named: tuple[int, ...]
    parts: tuple[Statement, ...] = ()  #: what stands before each of its markers, where these stand apart


def statements(text: str) -> list[Statement]:
    """The sentences of an answer with the ``[n]`` markers that stand in them or right after them.

    A marker that begins a line belongs to what follows on the line. Markers in code are none. Sentences within one pair
    of quotation marks are one statement; of a block quote each has all its markers.

    >>> [(s.text, s.named) for s in statements("Two terms [2]. Or ten years. [1][3]")]
    [('Two terms.', (1,)), ('Or ten years.', (0, 2))]
    """
    code = CodeReader()
    coded = [code.is_code(character) for character in text]
    found = [match for match in _MARKER.finditer(text) if not coded[match.start()]]
    masked = text
    for match in found:
        masked = masked[: match.start()] + " " * len(match.group()) + masked[match.end() :]
    quoted = find_quotations(text)
    blocks = [span for span in quoted if _BLOCK_QUOTE.match(text, text.rfind("\n", 0, span[0]) + 1)]
    spans = _joined(sentence_spans(masked), [span for span in quoted if span not in blocks])
    markers: list[list[re.Match[str]]] = [[] for _ in spans]
    for match in found:
        before = sum(start < match.start() for start, _ in spans)
        owner = before - 1
        if before == 0 or (match.start() >= spans[owner][1] and _leads(masked, match)):
            owner += 1
        if owner < len(spans):
            markers[owner].append(match)
    named = [_numbers(each) for each in markers]
    for first, last in blocks:
        inside = [i for i, (start, end) in enumerate(spans) if start < last and end > first]
        together = tuple(dict.fromkeys(number for i in inside for number in named[i]))
        for i in inside:
            named[i] = together
    return [
        Statement(start, end, _without_markers(text, start, end, found), names, _parts(text, start, end, own))
        for (start, end), names, own in zip(spans, named, markers, strict=True)
    ]


def _numbers(markers: Sequence[re.Match[str]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(match.group(1)) - 1 for match in markers))


def _joined(spans: list[tuple[int, int]], quoted: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sentences, those that one pair of quotation marks holds together made one."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and any(first < joined[-1][1] and start < last for first, last in quoted):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _parts(text: str, start: int, end: int, markers: Sequence[re.Match[str]]) -> tuple[Statement, ...]:
    """What stands before each group of markers of a sentence; none where there is but one group."""
    groups: list[list[re.Match[str]]] = []
    for match in markers:
        if groups and not any(map(str.isalnum, text[groups[-1][-1].end() : match.start()])):
            groups[-1].append(match)
        else:
            groups.append([match])
    if len(groups) < 2:
        return ()
    begins = [start, *(group[-1].end() for group in groups[:-1])]
    # Words after the last markers go with those before.
    ends = [*(group[0].start() for group in groups[:-1]), max(end, groups[-1][0].start())]
    parts = []
    for first, last, group in zip(begins, ends, groups, strict=True):
        piece = text[first : min(last, end)]
        lead = len(piece) - len(_CONNECTIVE.sub("", piece, count=1))
        first, last = first + lead, min(last, end)
        while last > first and text[last - 1].isspace():
            last -= 1
        parts.append(Statement(first, last, _without_markers(text, first, last, group), _numbers(group)))
    return tuple(parts)


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
    bare = _BLOCK_QUOTE.sub("", "".join([*parts, text[position:end]]))
    # "1." at the beginning of a list's line is no number that a source must hold.
    return _ITEM.sub("", " ".join(bare.split()))


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
    generator having said which that is. See `supporting` for what is found. Numbers of passages count from 1 as in the
    prompt. Page and headings are the chunk's own; a row of a table has the table's header for its context.
    """
    if sources is not None and parts:
        stated = [
            Statement(start, end, text[start:end], (source,))
            for (start, end), source in zip(parts, sources, strict=True)
        ]
        sources = None
    else:
        stated = statements(text)
    citations: list[Citation] = []
    for statement in stated:
        if not content_words(statement.text):
            continue
        indices = statement.named if sources is None else sources
        citations += supporting(
            statement, indices, passages, support=support, question=question, one=sources is not None
        )
    return citations


def is_good(citation: Citation) -> bool:
    """Whether what it points at supports the sentence."""
    return citation.verdict in ("verbatim", "supported")


def supporting(
    statement: Statement,
    indices: Sequence[int],
    passages: Sequence[Passage],
    *,
    support: SupportScorer,
    question: str = "",
    one: bool = False,
) -> list[Citation]:
    """What each of the passages of these indices is worth for a statement; with `one` only what the best is.

    Where none of them supports it by one sentence, it is taken apart, and what then supports all of it is given instead:
    its parts, each by a passage that its own markers name; its quotations, which all stand in one passage word for
    word, with no more than an introduction around them; or its clauses, each with a subject, a verb and three content
    words, which sentences of these passages support one by one. Of one passage sentences that stand together are one
    citation. Indices that name no passage are passed over.
    """
    known = [i for i in dict.fromkeys(indices) if 0 <= i < len(passages)]
    texts = [passages[i].chunk.text for i in known]
    found = list(zip(known, support.judge(statement.text, texts, question=question), strict=True)) if known else []
    if one and found:
        # Python's max keeps the first of equals: the source the generator put first.
        found = [max(found, key=lambda pair: pair[1].score)]
    citations = [_citation(statement, i, passages[i], worth) for i, worth in found]
    if not citations or any(map(is_good, citations)):
        return citations
    return (
        _by_parts(statement, passages, support)
        or _by_quotation(statement, known, passages)
        or _by_clauses(statement, known, passages, support)
        or citations
    )


def _by_parts(statement: Statement, passages: Sequence[Passage], support: SupportScorer) -> list[Citation]:
    citations: list[Citation] = []
    for part in statement.parts:
        if len(content_words(part.text)) < _LEAST_CLAUSE:
            return []
        own = supporting(part, part.named, passages, support=support)
        if not any(map(is_good, own)):
            return []
        citations += own
    return citations


def _by_quotation(statement: Statement, indices: Sequence[int], passages: Sequence[Passage]) -> list[Citation]:
    """For what a scorer that looks at single sentences cannot see: a quotation of several, or with marked omissions."""
    spans = find_quotations(statement.text)
    around, position = [], 0
    for start, end in spans:
        around.append(statement.text[position:start])
        position = end
    rest = " ".join([*around, statement.text[position:]])
    introduces = len(content_words(rest)) <= _FRAMING and _INTRODUCES.search(rest)
    if not spans or (has_content(rest) and not introduces):
        return []
    for i in indices:
        located = [locate(statement.text[start:end], [passages[i].chunk.text]) for start, end in spans]
        if all(each.verdict == "verbatim" for each in located):
            return [_citation(statement, i, passages[i], Support(e.start, e.end, "verbatim", 1.0)) for e in located]
    return []


def _by_clauses(
    statement: Statement, indices: Sequence[int], passages: Sequence[Passage], support: SupportScorer
) -> list[Citation]:
    clauses = _CLAUSE.split(statement.text)
    if len(clauses) < 2 or not all(
        _VERB.search(each) and len(content_words(each)) >= _LEAST_CLAUSE for each in clauses
    ):
        return []
    texts = [passages[i].chunk.text for i in indices]
    found: dict[int, list[Support]] = {}
    for clause in clauses:
        worth = support.judge(clause, texts)
        best = max(range(len(texts)), key=lambda n: (worth[n].verdict in ("verbatim", "supported"), worth[n].score, -n))
        if worth[best].verdict not in ("verbatim", "supported"):
            return []
        found.setdefault(indices[best], []).append(worth[best])
    return [
        _citation(statement, i, passages[i], each)
        for i, worth in found.items()
        for each in _together(passages[i].chunk.text, worth)
    ]


def _together(text: str, found: Sequence[Support]) -> list[Support]:
    """Sentences that stand next to each other, or with one between, as one."""
    starts = [start for start, _ in statement_spans(text)]
    joined: list[Support] = []
    for each in sorted(found, key=lambda each: (each.start, each.end)):
        between = [start for start in starts if joined and joined[-1].start < start <= each.start]
        if joined and len(between) <= _ADJACENT:
            last = joined[-1]
            joined[-1] = Support(
                last.start, max(last.end, each.end), "supported", min(last.score, each.score, _MOST_SUPPORTED)
            )
        else:
            joined.append(replace(each, verdict="supported", score=min(each.score, _MOST_SUPPORTED)))
    return joined


# Quotations


def quotations(
    text: str, passages: Sequence[Passage], *, named: Sequence[int] = (), sources: Sequence[NormalText] | None = None
) -> list[Quotation]:
    """What becomes of everything that an answer quotes, in order.

    A quotation is credited to the passages that its sentences name, or where they name none to `named`; with neither it
    may stand in any. `sources` are the passages' texts, where they are made already. What stands there is given by its
    place in the document.
    """
    spans = find_quotations(text)
    if not spans:
        return []
    stated = statements(text)
    made = sources or [NormalText(each.chunk.text) for each in passages]
    found = []
    for start, end in spans:
        credited = [i for each in stated if each.start < end and each.end > start for i in each.named]
        found.append(quotation(text, (start, end), passages, made, credited or named))
    return found


def quotation(
    text: str,
    span: tuple[int, int],
    passages: Sequence[Passage],
    sources: Sequence[NormalText],
    named: Sequence[int],
) -> Quotation:
    """What becomes of the words at `span`, credited to the passages of these indices."""
    words = text[slice(*span)]
    located = locate(words, sources, named)
    if located.source < 0:
        return Quotation(*span, words, located.verdict)
    chunk = passages[located.source].chunk
    return Quotation(
        *span,
        words,
        located.verdict,
        number=located.source + 1,
        document_id=chunk.document_id,
        version=chunk.version,
        start=chunk.start + located.start,
        end=chunk.start + located.end,
        quote=chunk.text[located.start : located.end],
        difference=located.difference,
    )


def add_markers(text: str, citations: Sequence[Citation]) -> tuple[str, list[Citation]]:
    """Write ``[n]`` after every sentence of `text` that a citation supports, and move the citations' spans along.

    A sentence that nothing supports gets no marker: it stays as bare as its proof.
    """
    markers: dict[int, list[str]] = {}
    for citation in citations:
        if is_good(citation):
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
