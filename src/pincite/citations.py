"""From an answer to its proof: for each of its sentences, the exact characters of a source that support it.

Three steps: find which passages a sentence is said to rest on (its markers, or for a generator that writes none the
passages it read), find in them the source sentence that supports it best, and judge the support. The judge is a
lexical-semantic baseline: exact words first, then shared content words and vectors, with a veto for numbers that the
source lacks and for a negation on one side only. It says ``unsupported`` sooner than it is generous.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pincite.sentences import sentence_spans
from pincite.types import Citation, Passage, Verdict
from pincite.words import all_words, content_words, idf, overlap

if TYPE_CHECKING:
    from pincite.protocols import Encoder

__all__ = ["Statement", "Support", "add_markers", "cite", "judge", "statements", "words_in_common"]

_MARKER = re.compile(r"\[(\d{1,3})\]")
_CODE = re.compile(r"(`+).*?\1", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_QUOTED = re.compile(r"[\"“«„]([^\"“”«»„]{8,})[\"”»]")
_NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|none|cannot|without|n't)\b|n't\b")

#: Share of a sentence's content words that the source must hold …
COVERED = 0.75
#: … or this share, if the vectors of the two are also this near.
HALF_COVERED = 0.5
NEAR = 0.6


@dataclass(frozen=True, slots=True)
class Support:
    """How well one source sentence supports one statement."""

    start: int  #: of the source sentence, into the passage's text
    end: int
    verdict: Verdict
    score: float  #: in [0, 1]


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer and the passages it names, as indices; none where it names none."""

    start: int
    end: int
    text: str  #: without its markers
    named: tuple[int, ...]


def statements(text: str) -> list[Statement]:
    """The sentences of an answer with the ``[n]`` markers that stand in or right after them.

    >>> [(s.text, s.named) for s in statements("Two terms [2]. Or ten years. [1][3]")]
    [('Two terms .', (1,)), ('Or ten years.', (0, 2))]
    """
    code = [match.span() for match in _CODE.finditer(text)]
    found = [m for m in _MARKER.finditer(text) if not any(start <= m.start() < end for start, end in code)]
    masked = text
    for match in found:
        masked = masked[: match.start()] + " " * len(match.group()) + masked[match.end() :]
    spans = sentence_spans(masked)
    named: list[list[int]] = [[] for _ in spans]
    for match in found:
        before = [i for i, (start, _) in enumerate(spans) if start < match.start()]
        if before:
            named[before[-1]].append(int(match.group(1)) - 1)
    return [
        Statement(start, end, " ".join(masked[start:end].split()), tuple(dict.fromkeys(numbers)))
        for (start, end), numbers in zip(spans, named, strict=True)
    ]


def cite(
    text: str,
    question: str,
    passages: Sequence[Passage],
    *,
    sources: Sequence[int] | None = None,
    parts: Sequence[tuple[int, int]] = (),
    encoder: Encoder | None = None,
) -> list[Citation]:
    """The citations of `text`, in its order.

    With `sources` None the answer carries ``[n]`` markers, and each sentence is held against every passage it names.
    Otherwise it carries none: each sentence is held against the passages of those indices, and cited to the one that
    supports it best; or, where `parts` gives spans of the text, each of them is held against its own source, the
    generator having said which that is. Numbers of passages count from 1 as in the prompt. Page and headings are the chunk's own.
    """
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
            found = [
                (i, judge(statement.text, passages[i].chunk.text, question=question, encoder=encoder))
                for i in statement.named
                if 0 <= i < len(passages)
            ]
        else:
            judged = [
                (i, judge(statement.text, passages[i].chunk.text, question=question, encoder=encoder))
                for i in dict.fromkeys(sources)
            ]
            # Python's max keeps the first of equals: the source the generator put first.
            found = [max(judged, key=lambda pair: pair[1].score)] if judged else []
        citations += [_citation(statement, i, passages[i], support) for i, support in found]
    return citations


def add_markers(text: str, citations: Sequence[Citation]) -> tuple[str, list[Citation]]:
    """Write ``[n]`` after every sentence of `text` that a citation supports, and move the citations' spans along.

    A sentence that nothing supports gets no marker: it stays as bare as its proof.
    """
    moved: list[Citation] = []
    out, position, shift = [], 0, 0
    for citation in sorted(citations, key=lambda each: each.answer_end):
        start, end = citation.answer_start + shift, citation.answer_end + shift
        moved.append(replace(citation, answer_start=start, answer_end=end))
        if citation.verdict in ("verbatim", "supported"):
            marker = f" [{citation.number}]"
            out += [text[position : citation.answer_end], marker]
            position = citation.answer_end
            shift += len(marker)
    return "".join([*out, text[position:]]), moved


def judge(statement: str, source: str, *, question: str = "", encoder: Encoder | None = None) -> Support:
    """The sentence of `source` that supports `statement` best, and how well.

    Sentences that hold the statement (or what it quotes) word for word come first, among them the one that shares
    most with the question: a short answer such as "two" may stand in many. Then the share of the statement's content
    words decides, rare ones counting more, and cosine similarity where an `encoder` is given. A source without
    sentences gives ``unknown``.
    """
    spans = sentence_spans(source)
    if not spans:
        return Support(0, len(source), "unknown", 0.0)
    quoted = [match.group(1) for match in _QUOTED.finditer(statement)]
    wanted = [_plain(part) for part in quoted] or [_plain(statement)]
    texts = [source[start:end] for start, end in spans]
    exact = [i for i, sentence in enumerate(texts) if all(_holds(_plain(sentence), part) for part in wanted)]
    words = [content_words(sentence) for sentence in texts]
    weights = idf(words)
    asked = content_words(question)
    if exact:
        best = max(exact, key=lambda i: (overlap(asked, words[i], weights), -i))
        return Support(*spans[best], "verbatim", 1.0)
    return _best_support(statement, spans, texts, words, weights, encoder)


def _best_support(
    statement: str,
    spans: Sequence[tuple[int, int]],
    texts: Sequence[str],
    words: Sequence[Sequence[str]],
    weights: Mapping[str, float],
    encoder: Encoder | None,
) -> Support:
    own = content_words(statement)
    covered = [overlap(own, each, weights) for each in words]
    near = [0.0] * len(texts)
    if encoder is not None:
        vectors = encoder.encode_passages([statement, *texts])
        near = [float(value) for value in vectors[1:] @ vectors[0]]
    best = max(range(len(texts)), key=lambda i: (covered[i] + near[i], -i))
    numbers = set(_numbers(statement))
    agrees = numbers <= set(_numbers(texts[best])) and _negated(statement) == _negated(texts[best])
    supported = agrees and (covered[best] >= COVERED or (covered[best] >= HALF_COVERED and near[best] >= NEAR))
    score = max(0.0, min(0.99, max(covered[best], (covered[best] + near[best]) / 2)))
    return Support(*spans[best], "supported" if supported else "unsupported", score if supported else min(score, 0.49))


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
    )


_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | dict.fromkeys("‘’‛", "'") | dict.fromkeys("“”„«»", '"'))
_HYPHENATED = re.compile(r"(?<=\w)-\s*\n\s*(?=\w)")


def _plain(text: str) -> str:
    """For comparing word for word: ligatures, quotes, dashes, case and white space made alike, outer marks removed."""
    text = unicodedata.normalize("NFKC", _HYPHENATED.sub("", text)).translate(_DASHES).casefold()
    return " ".join(text.split()).strip(" .,;:!?\"'()[]")


def _holds(sentence: str, part: str) -> bool:
    return bool(part) and re.search(rf"(?<!\w){re.escape(part)}(?!\w)", sentence) is not None


def _numbers(text: str) -> list[str]:
    return [number.replace(",", "") for number in _NUMBER.findall(text)]


def _negated(text: str) -> bool:
    return len(_NEGATION.findall(text.casefold())) % 2 == 1


def words_in_common(question: str, passages: Sequence[Passage]) -> float:
    """The largest share of the question's content words that any one passage holds, title and headings included."""
    asked = content_words(question)
    return max(
        (overlap(asked, all_words("\n".join((p.title, *p.chunk.headings, p.chunk.text)))) for p in passages),
        default=0.0,
    )
