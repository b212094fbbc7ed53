"""The records that flow through pincite. All are frozen; none knows how it was made or where it is kept.

Offsets are always half-open ranges of Unicode code points into `Document.text`, so that for every chunk
``document.text[chunk.start:chunk.end] == chunk.text`` and for every citation
``document.text[citation.start:citation.end] == citation.quote``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count, repeat
from typing import Literal, NamedTuple, TypeAlias

__all__ = [
    "BUILT_IN_FIELDS",
    "VALIDITY_FIELDS",
    "AddReport",
    "Alarm",
    "Answer",
    "Chunk",
    "Citation",
    "Conflict",
    "Correction",
    "Document",
    "Evidence",
    "FileOutcome",
    "Filter",
    "Gate",
    "Generation",
    "Heading",
    "Hit",
    "Marginal",
    "Marginalization",
    "Message",
    "MetadataValue",
    "Page",
    "Passage",
    "PointInTime",
    "Prompt",
    "Qrels",
    "Quotation",
    "QuoteVerdict",
    "Run",
    "SearchResult",
    "SentenceShares",
    "StoredDocument",
    "StoredSource",
    "Support",
    "Token",
    "Verdict",
]

MetadataValue: TypeAlias = "str | int | float | bool"

Filter: TypeAlias = "Mapping[str, MetadataValue | Sequence[MetadataValue]]"
"""Conditions that all must hold: field → value, or field → values of which one must match."""

BUILT_IN_FIELDS = frozenset({"document_id", "media_type", "page", "title", "uri", "version"})
"""What a filter may name of every document, beside its metadata."""

VALIDITY_FIELDS = ("valid_from", "valid_to")
"""Metadata that says when a version is in force: its first day and its last, ISO 8601 dates; see `PointInTime`."""

Verdict: TypeAlias = Literal["verbatim", "supported", "unsupported", "unknown"]
"""What checking a citation found.

verbatim: the answer's sentence (or its quoted part) stands in the source word for word. supported: the source
sentence supports it by the check in `pincite.citations`. unsupported: it was checked and does not. unknown: it
could not be checked.
"""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a paginated document. Pages lie in order and do not overlap."""

    number: int  #: position in the file, from 1
    start: int
    end: int
    label: str = ""  #: the printed page number, when the file states one ("xii")


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading. `text` is cleaned for display; ``document.text[start:end]`` is the heading as it stands."""

    level: int  #: from 1, the outermost
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """One version of one source, as text.

    `id` is derived from the source's address, not from its content: an edited file keeps its id and gets a new
    `version`. `content_hash` is the SHA-256 of the source's bytes in hex.
    """

    id: str
    text: str
    title: str
    uri: str
    media_type: str
    content_hash: str
    version: int = 1
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    warnings: tuple[str, ...] = ()  #: what reading it lost or doubted, in words ("page 3: no text layer")

    def page_at(self, offset: int) -> int | None:
        """The number of the page that holds the character at `offset`; None where the document has no pages.

        Text between two pages (a separator) belongs to the page before it.
        """
        from bisect import bisect_right

        i = bisect_right(self.pages, offset, key=lambda page: page.start)
        return self.pages[i - 1].number if i else (self.pages[0].number if self.pages else None)

    def heading_path(self, offset: int) -> tuple[str, ...]:
        """The headings in force at `offset`, outermost first. A heading is in force from its first character."""
        path: list[Heading] = []
        for heading in self.headings:
            if heading.start > offset:
                break
            while path and path[-1].level >= heading.level:
                path.pop()
            path.append(heading)
        return tuple(heading.text for heading in path)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a document that is indexed and retrieved as one unit.

    `headings` (outermost first), `before` and `after` are context: they are encoded and shown with the chunk but are
    not part of its span. `ordinal` counts from 0 within the document version.
    """

    id: str
    document_id: str
    version: int
    text: str
    start: int
    end: int
    ordinal: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    before: str = ""  #: stands before the text where it is read: the header of a table, the opening of a fence
    after: str = ""  #: stands behind it: the end of a fence
    parent: tuple[int, int] | None = None  #: the span to read when this chunk is found, where it is a wider one

    @property
    def reading(self) -> str:
        """The text as it is read: with what stands before and behind it."""
        return f"{self.before}{self.text}{self.after}"


class Hit(NamedTuple):
    """One chunk found by one stage. Scores of different stages are not comparable; higher is always better.

    A tuple, because a search makes two hundred of them: a frozen dataclass takes five times as long to make.
    """

    chunk_id: str
    score: float
    rank: int  #: from 1
    stage: str  #: "dense", "bm25", "fused", …

    @classmethod
    def ranked(cls, chunk_ids: Sequence[str], scores: Sequence[float], stage: str) -> list[Hit]:
        """Hits of one ranking, best first, ranks from 1.

        >>> Hit.ranked(["b", "a"], [0.9, 0.2], "dense")[1]
        Hit(chunk_id='a', score=0.2, rank=2, stage='dense')
        """
        # Straight to the tuple's constructor: two calls of Python for each hit would be most of a search's own time.
        return list(map(partial(tuple.__new__, cls), zip(chunk_ids, scores, count(1), repeat(stage), strict=False)))


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as a generator reads it: with its document's name and how it was found."""

    chunk: Chunk
    title: str
    uri: str
    hit: Hit
    legs: Mapping[str, Hit] = field(default_factory=dict)  #: the same chunk's hit in each stage that found it
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    found: tuple[tuple[int, int], ...] = ()  #: spans of the chunks that were found, where `chunk` is a wider span
    prior: float | None = None  #: p(z|x), the retriever's confidence among the passages read; None: not marginalized
    posterior: float | None = None  #: after the answer, see `Marginal.posteriors`: retriever and reader together
    suspicion: float = 0.0  #: how much the text reads like orders to a model, in [0, 1]; see `pincite.suspicion`

    @property
    def location(self) -> str:
        """Where in the document, for people: ``p. 12, Article II › Section 1``."""
        parts = []
        if self.chunk.page is not None:
            parts.append(f"p. {self.chunk.page}")
        if self.chunk.headings:
            parts.append(" › ".join(self.chunk.headings))
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages in order, and what every leg did to find them."""

    query: str
    passages: tuple[Passage, ...]
    legs: Mapping[str, tuple[Hit, ...]]
    timings: Mapping[str, float] = field(default_factory=dict)  #: seconds per stage
    notes: tuple[str, ...] = ()  #: a leg that found nothing and why, a degraded stage


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a generator."""

    role: Literal["system", "user", "assistant"]
    content: str
    searched: str = ""  #: of a question: what retrieval was asked for it, where that is known


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a generator is given.

    A chat model reads `messages`, in which passage number n stands as ``[n]``. A base model that follows no
    instructions reads `question` and `passages` and makes its own text of them.
    """

    question: str
    passages: tuple[Passage, ...]
    messages: tuple[Message, ...] = ()
    dropped: tuple[tuple[Passage, str], ...] = ()  #: passages left out, and why
    token_count: int = 0  #: of the messages, with what is kept free for a chat template; not of the answer
    history: tuple[Message, ...] = ()  #: of the conversation, what stands in `messages`
    forgotten: tuple[tuple[Message, str], ...] = ()  #: of the conversation, what was left out, and why
    answer_tokens: int = 0  #: kept free for the answer
    template: str = ""  #: name and version of the text that the messages were made with


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token. `logprob` is the natural logarithm of its probability, None where not given.

    Where passages were marginalized, the probability is that of the mixture.
    """

    text: str
    logprob: float | None = None
    posterior: tuple[float, ...] = ()  #: share of each passage, in their order, sums to 1; empty: not marginalized
    baseline: float | None = None  #: natural log-probability of the same token without any passage; None: not known


Marginalization: TypeAlias = Literal["token", "sequence"]
"""RAG-Token or RAG-Sequence, of Lewis et al. 2020, section 2.1."""


@dataclass(frozen=True, slots=True)
class SentenceShares:
    """What each passage was worth for one sentence of an answer."""

    start: int  #: into the text that the generator wrote
    end: int
    posteriors: tuple[float, ...]  #: sums to 1


@dataclass(frozen=True, slots=True)
class Marginal:
    """The passages as a latent variable: what each was worth before the answer and after it."""

    mode: Marginalization
    logprob: float  #: natural logarithm of p(y|x), the end included where the answer came to one
    priors: tuple[float, ...]  #: p(z|x) of each passage that was read; sums to 1
    posteriors: tuple[float, ...]  #: p(z|x,y) of each, for ``token`` the mean over the tokens; sums to 1
    certainty: str  #: of the words: ``exact``, ``certified`` or ``approximate (mass ≤ ε)``, see `pincite.marginalize`
    slack: float = 0.0  #: by how much `logprob` may be too low, where a model lists only its likeliest tokens
    baseline: float | None = None  #: natural log-probability of the same answer without any passage; None: not known
    sentences: tuple[SentenceShares, ...] = ()  #: the same for each sentence of `Generation.text`

    @property
    def probability(self) -> float:
        """p(y|x), in [0, 1]; where there is `slack`, the least that it can be."""
        from math import exp

        return min(1.0, exp(self.logprob))


@dataclass(frozen=True, slots=True)
class Generation:
    """What a generator wrote. `sources` names, where the generator knows, the passage each answer came from."""

    text: str
    tokens: tuple[Token, ...] = ()
    finish_reason: str = "stop"
    usage: Mapping[str, int] = field(default_factory=dict)
    model: str = ""
    sources: tuple[int, ...] = ()  #: indices into `Prompt.passages`, best first
    parts: tuple[tuple[int, int], ...] = ()  #: spans of `text` that stand for themselves, one for each of `sources`
    marginal: Marginal | None = None  #: its priors and posteriors are of the first passages of the prompt, in order
    refused: str = ""  #: what was written and is not given as an answer, because no passage read holds its words


@dataclass(frozen=True, slots=True)
class Citation:
    """A checked pointer from a span of the answer to exact characters of an exact version of a document."""

    number: int  #: as shown to the reader, from 1
    answer_start: int
    answer_end: int
    document_id: str
    version: int
    chunk_id: str
    start: int  #: into the document's text
    end: int
    quote: str
    title: str
    uri: str
    page: int | None
    headings: tuple[str, ...]
    verdict: Verdict
    score: float  #: strength of support in [0, 1]; 1 for verbatim
    context: str = ""  #: what the quote is read under, not part of it: the header of the table that it is a row of
    why: str = ""  #: of one that is not supported: what differs, in words

    @property
    def reference(self) -> str:
        """Where it points, as ``pincite show`` opens it: ``DOCUMENT@VERSION:START-END``."""
        return f"{self.document_id}@{self.version}:{self.start}-{self.end}"


QuoteVerdict: TypeAlias = Literal["verbatim", "altered", "elsewhere", "stitched", "absent"]
"""How words in quotation marks fare in the source they are credited to.

verbatim: they stand there, give or take white space, quotes, dashes, ligatures and hyphens at line ends. altered:
nearly so, with other words. elsewhere: they stand in another passage. stitched: pieces of them stand there, apart, and
what is between is not said to be left out. absent: nowhere among the passages.
"""


@dataclass(frozen=True, slots=True)
class Support:
    """How well a source supports a statement, and which of its sentences does."""

    start: int  #: of the supporting sentence, or of several that follow each other, into the source's text
    end: int
    verdict: Verdict
    score: float  #: in [0, 1]
    why: str = ""  #: of one that is not supported: what differs, in words


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words in quotation marks in an answer, held against the sources."""

    answer_start: int  #: of the words, without the marks
    answer_end: int
    text: str
    verdict: QuoteVerdict
    number: int = 0  #: the source in which `quote` stands; 0: none
    document_id: str = ""
    version: int = 0
    start: int = 0  #: into the document's text
    end: int = 0
    quote: str = ""  #: what stands there; of what is stitched, from the first piece to the last
    difference: str = ""  #: of what is altered or stitched: how it differs, in words


@dataclass(frozen=True, slots=True)
class Correction:
    """A source number that was wrong, and the only one that supports the sentence."""

    answer_start: int  #: of the sentence
    answer_end: int
    was: int
    now: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two passages that say different things about what a sentence of the answer says."""

    citation: Citation  #: what supports the answer
    against: Citation  #: what says otherwise; its span in the answer is the same, its number 0 where that is not cited
    difference: str  #: what differs, in words: ``60 days / 90 days``
    later: str = ""  #: which of the two is newer, and how that is known; empty where it is not


@dataclass(frozen=True, slots=True)
class Alarm:
    """A sign that a document tries to steer the answer. The answer is given all the same."""

    kind: Literal["instruction", "steering", "link"]
    detail: str  #: in words
    number: int = 0  #: the passage, from 1; 0: none in particular


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about whether the passages answer a question: measured, not yet weighed.

    None where it was not measured: without a dense leg, without a model's probabilities.
    """

    cosine: float | None = None  #: of the nearest passage and the question
    words: float = 0.0  #: largest share of the question's content words in one passage
    margin: float = 0.0  #: by how much the first fused score is above the second, of their spread
    reach: float | None = None  #: cosine of the question and the best sentence of the answer's sources
    support: float = 0.0  #: mean score of support of the answer's sentences
    unsupported: float = 0.0  #: share of the answer's sentences that no source supports
    posterior: float | None = None  #: largest p(z|x,y)
    logprob: float | None = None  #: mean natural log-probability of an answer's token
    gain: float | None = None  #: mean log-probability of a token with the passages less that without
    missing: float = 0.0  #: share of the question's names and numbers that no passage holds


Gate: TypeAlias = Literal["", "search", "generator", "support", "confidence"]
"""What withheld an answer: nothing that was found speaks to the question; the generator itself; no source supports what
it wrote; too little evidence that the passages answer. Empty for an answer that was given.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question's answer with its proof, or an abstention with its reason."""

    question: str
    text: str
    citations: tuple[Citation, ...]
    passages: tuple[Passage, ...]
    abstained: bool = False
    reason: str = ""  #: why it abstained: ``no-evidence`` or ``insufficient-evidence`` with an explanation in `text`
    gate: Gate = ""  #: what withheld it
    model: str = ""
    warnings: tuple[str, ...] = ()  #: unknown citation numbers, passages over budget, degraded stages
    timings: Mapping[str, float] = field(default_factory=dict)  #: seconds per stage
    tokens: tuple[Token, ...] = ()  #: as the generator wrote them, without citation markers; empty where it has none
    marginal: Marginal | None = None  #: None where the passages were not marginalized
    quotations: tuple[Quotation, ...] = ()  #: words in quotation marks, held against the sources
    corrections: tuple[Correction, ...] = ()  #: numbers of sources that were wrong and have been set right
    conflicts: tuple[Conflict, ...] = ()  #: passages that say otherwise
    alarms: tuple[Alarm, ...] = ()  #: signs that a document tries to steer the answer
    evidence: Evidence | None = None  #: what `confidence` was made of
    confidence: float | None = None  #: that the passages answer the question, calibrated; see `pincite.calibration`
    searched: str = ""  #: the question that retrieval was asked: of a follow-up, made to stand alone

    @property
    def probability(self) -> float | None:
        """p(y|x) of the answer, summed over the passages; None where they were not marginalized.

        Where `Marginal.slack` is above 0, the least that it can be.
        """
        return None if self.marginal is None else self.marginal.probability


@dataclass(frozen=True, slots=True)
class PointInTime:
    """Which versions a search sees, where not the current ones.

    `as_of` is a day, ``2024-06-30``: what was in force then. Of the versions of a document that is the one with the
    latest start on or before the day; equal starts: the one recorded last. A version starts on its ``valid_from``, or
    else on the day it was recorded, the first of a document since ever. It ends on its ``valid_to``, its last day, and
    when the document was removed, as do all versions before it. A version of the same bytes as the one before it says
    anew what held of that, and takes its place.

    `recorded` is a moment, ISO 8601 in UTC: what the index knew then. Without `as_of` that is what was current then;
    with it, what was held to be in force on that day.
    """

    as_of: str | None = None
    recorded: str | None = None


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One version of a document as the store lists it, without its text.

    The current one has no `ended_at`. One that was replaced has `ended_at`, one whose document was removed
    `removed_on` as well.
    """

    id: str
    version: int
    title: str
    uri: str
    media_type: str
    content_hash: str
    chunks: int
    characters: int
    added_at: str  #: when this version was recorded, ISO 8601 in UTC
    recipe: str = ""  #: how it was cut and encoded; a document added again under another recipe is cut again
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    source: str = ""  #: address of the file that it was read from; of most, their own
    starts: str = ""  #: first day from which it is in force, see `PointInTime`; empty: since ever
    ended_at: str = ""  #: when another version took its place or the document was removed, ISO 8601 in UTC
    removed_on: str = ""  #: first day from which the document is no longer in force, where it was removed

    @property
    def current(self) -> bool:
        """Whether a search without a point in time sees it."""
        return not self.ended_at

    @property
    def valid_to(self) -> str:
        """Its last day in force, where it says so."""
        return str(self.metadata.get("valid_to", ""))


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A file, or whatever else documents were read from, as it was when it was read last."""

    uri: str
    content_hash: str  #: SHA-256 of its bytes in hex
    reading: str = ""  #: how it was read: another way reads it again
    recipe: str = ""  #: how its documents were cut


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of one file, or of one document in it, in a run of `add` or `sync`."""

    uri: str
    status: Literal["added", "updated", "unchanged", "moved", "removed", "skipped"]
    document_id: str | None = None
    version: int | None = None
    chunks: int = 0
    reason: str = ""  #: for a skipped file: a stable word, then the explanation in `detail`
    detail: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AddReport:
    """The whole outcome of a run of `add` or `sync`: every file is in it once, and every document of one with many."""

    outcomes: tuple[FileOutcome, ...]
    seconds: float
    encoded: int = 0  #: chunks that the encoder was given; others were encoded before

    def count(self, status: str) -> int:
        """How many files ended as `status`."""
        return sum(outcome.status == status for outcome in self.outcomes)

    @property
    def chunks(self) -> int:
        """Chunks written by this run."""
        return sum(o.chunks for o in self.outcomes if o.status in ("added", "updated", "moved"))

    @property
    def skipped(self) -> tuple[FileOutcome, ...]:
        """The files that were not indexed."""
        return tuple(outcome for outcome in self.outcomes if outcome.status == "skipped")


Run: TypeAlias = "Mapping[str, Sequence[Hit]]"
"""Query id → hits, best first."""

Qrels: TypeAlias = "Mapping[str, Mapping[str, int]]"
"""Query id → document id → relevance grade."""
