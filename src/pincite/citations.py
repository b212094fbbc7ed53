"""From an answer to its proof: for each of its sentences, the exact characters of a source that support it.

Three steps: find which passages a sentence is said to rest on (its markers, or for a generator that writes none the
passages it read), find in them the source sentence that supports it best, and judge the support. The judge is a
lexical baseline: exact words first, then shared content words, with a veto where the two claim different things (see
`pincite.claims`). It says ``unsupported`` sooner than it is generous.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pincite.blocks import Blocks
from pincite.claims import agrees, same_sense, with_digits
from pincite.markers import CodeReader
from pincite.sentences import sentence_spans, statement_spans
from pincite.types import Chunk, Citation, Passage, Verdict
from pincite.words import all_words, content_words, has_content, idf, overlap

if TYPE_CHECKING:
    from pincite.protocols import Encoder, Matrix

__all__ = ["Statement", "Support", "add_markers", "cite", "judge", "statements", "words_in_common"]

_MARKER = re.compile(r"\[(\d{1,3})\]")
_ITEM = re.compile(r"\A(?:[-*•]|\d{1,3}[.)])\s+(?=\S)")
_QUOTED = re.compile(r"[\"“«„]([^\"“”«»„]{8,})[\"”»]")

#: Share of a statement's content words that the source sentence must hold.
#: Vectors have no say: sentences that differ in one decisive word ("on payment", "on delivery") are the nearest of all.
COVERED = 0.85
#: From so many content words on, words that stand in the source are a claim of their own and no mere "two years".
_CLAUSE = 3
#: So is anything with a verb of statements and rules.
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|may|might|must|shall|should|will|would|can|could)\b", re.I
)
#: Words around a quotation that merely introduce it ("the lease provides: …"); more of them claim something.
_FRAMING = 4
_INTRODUCES = re.compile(r"\b(?:says?|said|states?|provides?|reads?|according|declares?|lays? down|quot\w+)\b", re.I)


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
    encoder: Encoder | None = None,
) -> list[Citation]:
    """The citations of `text`, in its order.

    With `sources` None the answer carries ``[n]`` markers, and each sentence is held against every passage it names.
    Otherwise it carries none: each sentence is held against the passages of those indices, and cited to the one that
    supports it best; or, where `parts` gives spans of the text, each of them is held against its own source, the
    generator having said which that is. Numbers of passages count from 1 as in the prompt. Page and headings are the
    chunk's own; a row of a table has the table's header for its context.
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


def judge(statement: str, source: str, *, question: str = "", encoder: Encoder | None = None) -> Support:
    """The sentence of `source` that supports `statement` best, and how well.

    Sentences that hold the statement (or all it quotes, if they agree with the rest of it) word for word come first,
    among them the one that shares most with the question: a short answer such as "two" may stand in many. Then the
    share of the statement's content words decides. An `encoder` has no part in the verdict: it helps to choose the
    sentence to show for a statement that nothing supports. A statement without content ("Yes.") is ``unknown``, shown
    with the sentence that shares most with the question, and so is everything where the source has no sentences.
    """
    spans = statement_spans(source)
    if not spans:
        return Support(0, len(source), "unknown", 0.0)
    texts = [source[start:end] for start, end in spans]
    plain = [_plain(sentence) for sentence in texts]
    exact = [i for i, sentence in enumerate(plain) if _holds(sentence, _plain(statement))]
    quoted = [] if exact else [match.group(1) for match in _QUOTED.finditer(statement)]
    if quoted:
        exact = [i for i, sentence in enumerate(plain) if all(_holds(sentence, _plain(part)) for part in quoted)]
    words = [content_words(with_digits(sentence)) for sentence in texts]
    weights = idf(words)
    asked = content_words(with_digits(question))
    if not has_content(statement):
        best = max(range(len(texts)), key=lambda i: (overlap(asked, words[i], weights), -i))
        return Support(*spans[best], "unknown", 0.0)
    own = content_words(with_digits(statement))
    # True words prove nothing where those around them, in the statement or in the source, turn their sense.
    if quoted or len(own) >= _CLAUSE or _VERB.search(statement):
        exact = [i for i in exact if same_sense(statement, texts[i])]
    if quoted:
        # A quotation proves itself, not what is said around it: that must introduce it, or stand there too.
        rest = _QUOTED.sub(" ", statement)
        around = content_words(with_digits(rest))
        introduced = not around or (len(around) <= _FRAMING and _INTRODUCES.search(rest))
        exact = [i for i in exact if introduced or overlap(around, words[i]) >= COVERED]
    if exact:
        best = max(exact, key=lambda i: (overlap(asked, words[i], weights), -i))
        return Support(*spans[best], "verbatim", 1.0)
    covered = [overlap(own, each) for each in words]
    supported = [share >= COVERED and agrees(statement, texts[i], source) for i, share in enumerate(covered)]
    if any(supported):
        best = max(range(len(texts)), key=lambda i: (supported[i], covered[i], overlap(asked, words[i], weights), -i))
        return Support(*spans[best], "supported", min(covered[best], 0.99))
    near = [0.0] * len(texts)
    if encoder is not None:
        near = _cosines(encoder.encode_passages([statement, *texts]))
    best = max(range(len(texts)), key=lambda i: (covered[i] + near[i], -i))
    return Support(*spans[best], "unsupported", min(covered[best], 0.49))


def _cosines(vectors: Matrix) -> list[float]:
    """Of the first with each of the others; not every encoder gives vectors of length 1."""
    lengths = (vectors * vectors).sum(axis=1) ** 0.5
    lengths[lengths == 0] = 1
    unit = vectors / lengths[:, None]
    return [float(value) for value in unit[1:] @ unit[0]]


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
    )


def _header(chunk: Chunk, start: int) -> str:
    """The header of the table of which a row stands at `start` of the chunk."""
    if "|" not in chunk.text[start:].partition("\n")[0]:
        return ""
    return Blocks(chunk.before + chunk.text).header(len(chunk.before) + start)


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


def words_in_common(question: str, passages: Sequence[Passage]) -> float:
    """The largest share of the question's content words that any one passage holds, title and headings included."""
    asked = content_words(question)
    return max(
        (overlap(asked, all_words("\n".join((p.title, *p.chunk.headings, p.chunk.text)))) for p in passages),
        default=0.0,
    )
