"""From an answer to its proof: for each of its sentences, the exact characters of a source that support it.

Find which passages a sentence is said to rest on (its markers, or for a generator that writes none the passages it
read), and find in them, with a `pincite.protocols.SupportScorer`, what supports it and how well. Where no sentence of a
source does, the parts of the sentence that stand before its markers, what it quotes, or its clauses are judged one by
one. What it quotes is looked for word for word, whatever the scorer says: see `pincite.quotes`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pincite.assemble import unescape
from pincite.blocks import Blocks
from pincite.claims import AUXILIARY, same_sense
from pincite.quotation_marks import find_quotations
from pincite.quotes import NormalText, locate
from pincite.sentences import statement_spans
from pincite.statements import Statement, statements
from pincite.types import Chunk, Citation, Passage, Quotation, Support
from pincite.words import all_words, content_words, has_content, overlap

if TYPE_CHECKING:
    from pincite.protocols import SupportScorer

__all__ = [
    "Statement",
    "add_markers",
    "cite",
    "is_claim",
    "is_good",
    "quotation",
    "quotations",
    "statements",
    "supporting",
    "words_in_common",
]

#: Where a clause with a subject of its own begins.
_CLAUSE = re.compile(
    r"(?:;\s+|,?\s+(?=(?:and|but|while|whereas|although|though)\s))(?:(?:and|but|while|whereas|although|though)\s+)?"
    r"(?=(?:the|an?|each|every|no|any|all|either|neither|both|this|that|these|those|it|they|he|she|its|their|there)\b"
    r"|[A-Z\d])"
)
#: What reads like a verb: an auxiliary, a past form, or "pays" after a noun.
_VERB = re.compile(
    rf"{AUXILIARY.pattern}|\b\w{{2,}}ed\b"
    r"|(?<!\bthe )(?<!\ba )(?<!'s )(?<!s' )(?<!’s )(?<=\w )\b\w+[^s\W]s\b",
    re.IGNORECASE,
)
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
_DENIES = re.compile(
    r"\b(?:not|no|never|neither|nor|none|nobody|nothing|nowhere|cannot|false\w*|untrue|wrong\w*)\b|n['’]t\b", re.I
)


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


def is_claim(text: str) -> bool:
    """Whether words say enough to be judged by themselves: three content words, or two and a verb.

    "Two years" stands in many places, of many things.
    """
    return len(content_words(text)) >= (2 if AUXILIARY.search(text) else 3)


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

    Where none of them supports it by one sentence, it is taken apart, and what then supports all of it is given
    instead: its parts, each by a passage that its own markers name; its quotations, which all stand in one passage word
    for word, with no more than an introduction around them; or its clauses, each with a subject and a verb, which
    sentences of these passages support one by one. Of one passage sentences that stand together are one citation.
    Indices that name no passage are passed over.
    """
    known = [i for i in dict.fromkeys(indices) if 0 <= i < len(passages)]
    texts = [passages[i].chunk.text for i in known]
    worth = support.judge(unescape(statement.text), texts, question=question) if known else []
    found = list(zip(known, worth, strict=True))
    if one and found:
        # Python's max keeps the first of equals: the source the generator put first.
        found = [max(found, key=lambda pair: pair[1].score)]
    citations = [_citation(statement, i, passages[i], worth) for i, worth in found]
    if not citations or any(map(is_good, citations)):
        return citations
    if found_by_parts := _by_parts(statement, passages, support):
        return found_by_parts
    # Parts that claim something each name their own passage: another's support is not theirs.
    apart = bool(statement.parts) and all(is_claim(part.text) for part in statement.parts)
    return (
        _by_quotation(statement, known, passages)
        or ([] if apart else _by_clauses(statement, known, passages, support))
        or citations
    )


def _by_parts(statement: Statement, passages: Sequence[Passage], support: SupportScorer) -> list[Citation]:
    citations: list[Citation] = []
    for part in statement.parts:
        if not is_claim(part.text):
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
    if not spans or (has_content(rest) and (not introduces or _DENIES.search(rest))):
        return []
    for i in indices:
        source = passages[i].chunk.text
        quoted = [(words := statement.text[start:end], locate(unescape(words), [source])) for start, end in spans]
        located = [each for _, each in quoted]
        # True words prove nothing in a sentence that turns their sense.
        if all(
            each.verdict == "verbatim" and same_sense(words, _whole(source, each.start, each.end))
            for words, each in quoted
        ):
            return [_citation(statement, i, passages[i], Support(e.start, e.end, "verbatim", 1.0)) for e in located]
    return []


def _whole(text: str, start: int, end: int) -> str:
    """The sentences that a range of a text lies in."""
    spans = [(a, b) for a, b in statement_spans(text) if a < end and b > start]
    return text[spans[0][0] : spans[-1][1]] if spans else text[start:end]


def _by_clauses(
    statement: Statement, indices: Sequence[int], passages: Sequence[Passage], support: SupportScorer
) -> list[Citation]:
    clauses = _CLAUSE.split(statement.text)
    if len(clauses) < 2 or not all(_VERB.search(each) and is_claim(each) for each in clauses):
        return []
    texts = [passages[i].chunk.text for i in indices]
    found: dict[int, list[Support]] = {}
    for clause in clauses:
        worth = support.judge(unescape(clause), texts)
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
    located = locate(unescape(words), sources, named)
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
