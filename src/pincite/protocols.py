"""The seams of pincite: one small protocol per kind of part. Implementations live in the folder of their kind.

Every implementation is run through the battery of its protocol in ``tests/contracts``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.types import (
        AddReport,
        Chunk,
        Document,
        FileOutcome,
        Filter,
        Generation,
        Hit,
        Message,
        Passage,
        PointInTime,
        Prompt,
        StoredDocument,
        StoredSource,
        Support,
        Token,
    )

    Matrix: TypeAlias = NDArray[np.float32]

__all__ = [
    "ChatModel",
    "Chunker",
    "Container",
    "Context",
    "Encoder",
    "EncoderIdentity",
    "Generator",
    "IndexReport",
    "Loader",
    "NextTokens",
    "Reader",
    "Reading",
    "Recall",
    "Reranked",
    "Reranker",
    "Rewrite",
    "RunNote",
    "Source",
    "Store",
    "StoreHeader",
    "SupportScorer",
    "TokenCounter",
    "TokenScorer",
    "Tokenizer",
]

Rewrite: TypeAlias = "Callable[[Document], tuple[Sequence[Chunk], Sequence[str], Matrix, Sequence[bytes]]]"
"""The chunks of a document, what the lexical leg reads with each, their vectors and the digests of what was encoded."""

Context: TypeAlias = "tuple[str, ...]"
"""What a model reads before it answers, in parts that are cut into tokens apart and joined without anything between.

What several contexts begin with is then computed once: the frame of a prompt, and a passage that stands before the
question. A model that does not keep parts apart reads them as one text.
"""


class Source:
    """Something to load: its address, its bytes, and what is known of it before it is opened.

    `uri` is the identity of the document: for a file its absolute path, for standard input ``stdin:NAME``. `name` is
    the file name, whose suffix suggests the format. Where no `data` is given, the file at `path` is read when its
    bytes are first asked for, which raises OSError.
    """

    __slots__ = ("_data", "name", "path", "uri")

    def __init__(self, uri: str, name: str, data: bytes | None = None, path: Path | None = None) -> None:
        if data is None and path is None:
            raise ValueError("a source needs its bytes or a path to read them from")
        self.uri = uri
        self.name = name
        self.path = path
        self._data = data

    @property
    def data(self) -> bytes:
        """The bytes."""
        if self._data is None:
            assert self.path is not None
            self._data = self.path.read_bytes()
        return self._data

    @property
    def size(self) -> int:
        """How many bytes; a file that was not read is only looked at."""
        if self._data is None:
            assert self.path is not None
            return self.path.stat().st_size
        return len(self._data)


@runtime_checkable
class Loader(Protocol):
    """Reads one family of formats. Holds no state between calls."""

    name: str
    suffixes: frozenset[str]  #: lower case, with the dot

    def load(self, source: Source) -> Document:
        """Turn `source` into a document with its page and heading maps.

        The text is what a reader sees, in reading order, without NUL and without surrogates; line ends are line feeds.
        Every `Heading` and `Page` lies within the text. Raises `LoadError` or one of its children, and nothing
        else, whatever the bytes are.
        """
        ...


@runtime_checkable
class Container(Protocol):
    """A loader whose files hold several documents: a mailbox, an archive, lines of JSON, a text too long for one."""

    name: str
    suffixes: frozenset[str]  #: lower case, with the dot

    def load_all(self, source: Source) -> Iterator[Document | FileOutcome]:
        """The documents of `source` in order, each made when it is asked for; what is in it and cannot be read.

        Their addresses are ``source.uri`` itself or begin with ``source.uri + "#"``, differ, and stay the same for as
        long as the document is the same one to a reader. Their `content_hash` is that of their own bytes. What cannot
        be read is a `FileOutcome` that is ``skipped``. Raises `LoadError` or one of its children for the whole.
        """
        ...


class Reader(Protocol):
    """Makes documents of sources with whichever loader fits, and survives what loaders do not."""

    def read(self, source: Source) -> Iterator[Document | FileOutcome]:
        """The documents of `source`, see `Container.load_all`; one for a file that is one document.

        Raises `LoadError` or one of its children where the whole cannot be read, and nothing else.
        """
        ...

    def close(self) -> None:
        """Release what reading takes. Idempotent."""
        ...


@runtime_checkable
class Tokenizer(Protocol):
    """Counts as the encoder counts."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Character ranges of the tokens of `text`, in order, without special tokens and without truncation.

        Ranges are half-open code-point offsets into `text`; characters the tokenizer drops lie in no range.
        """
        ...


@runtime_checkable
class Chunker(Protocol):
    """Cuts a document into chunks whose spans are exact."""

    name: str

    def chunk(self, document: Document) -> Iterator[Chunk]:
        """Chunks in reading order with ordinals from 0.

        For every chunk ``document.text[chunk.start:chunk.end] == chunk.text``, the text is not blank, it does not
        begin or end with white space, no cut falls inside a grapheme cluster, and headings, `before`, text and
        `after` together are within the token budget. Every character that is not white space is in some chunk.
        """
        ...


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """What must be equal for two encoders' vectors to be comparable. Stored with the index."""

    name: str
    revision: str  #: SHA-256 of the weights
    dimension: int
    pooling: str
    normalize: bool
    query_prefix: str
    passage_prefix: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class StoreHeader:
    """What an index was built with; fixed when it is created."""

    identity: EncoderIdentity
    probes: tuple[tuple[float, ...], ...]  #: the encoder's vectors of `pincite.identity.PROBES`
    language: str  #: of the lexical leg, one of `pincite.analysis.LANGUAGES`
    created_at: str = ""  #: ISO 8601 in UTC


@dataclass(frozen=True, slots=True)
class RunNote:
    """A run that changed the index, as the index remembers it. What was unchanged is counted only."""

    command: str
    at: str  #: when it ended, ISO 8601 in UTC
    seconds: float
    unchanged: int
    outcomes: tuple[FileOutcome, ...]


@dataclass(frozen=True, slots=True)
class Recall:
    """How much of the exact result an index finds, measured with queries made of the stored vectors."""

    recall: float  #: mean recall@k over the queries, in [0, 1]
    low: float  #: of its 95 % interval
    high: float
    k: int
    queries: int
    points: int  #: chunks in the index when it was measured
    p50_ms: float  #: milliseconds of a search, the median
    p99_ms: float
    exact_p50_ms: float
    exact_p99_ms: float
    measured_at: str  #: ISO 8601 in UTC


@dataclass(frozen=True, slots=True)
class IndexReport:
    """How vectors are searched."""

    kind: str  #: in the settings
    search: str  #: in words, what a search does now
    points: int
    indexed: int  #: chunks in the approximate index; the others are searched exactly
    beam: str  #: how wide the search is, in words; empty when it is exact
    recall_floor: float
    recall: Recall | None  #: when it was built; None where nothing is built or nothing was measured
    notes: tuple[str, ...]  #: what a user should know: why it is exact, what is damaged, what to run


@runtime_checkable
class Encoder(Protocol):
    """Turns text into vectors. Queries and passages have separate methods: prefixes, or two towers."""

    @property
    def identity(self) -> EncoderIdentity:
        """Loads the model when first asked."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The encoder's own tokenizer."""
        ...

    @property
    def max_tokens(self) -> int:
        """The most content tokens (special tokens not counted) of one passage; what is beyond is not encoded."""
        ...

    def reads(self, text: str) -> float:
        """The share of the letters of `text` that the encoder's vocabulary knows, in [0, 1]; 1 where all is read."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """Vectors of queries: float32, shape (len(texts), dimension), in the order given."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        """Vectors of passages: float32, shape (len(texts), dimension), in the order given.

        Text beyond `max_tokens` is cut, as the reference implementation does; chunkers see to it that none is.
        """
        ...


@runtime_checkable
class Store(Protocol):
    """Keeps documents and chunks and searches both legs. Threads may share it.

    Writing a document version is staged: nothing staged can be seen by any reader until `commit`, which makes all
    of it visible, and all of the version it replaces invisible, at one moment. After a crash the store opens in
    the state of its last commit. Versions that were replaced or removed stay as long as the store's retention says,
    and are seen by those alone who ask for a point in time.
    """

    @property
    def header(self) -> StoreHeader:
        """What the index was built with."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """While it is open, nobody else changes the index: what is read in it holds when it is written.

        Raises StoreBusyError where somebody else does.
        """
        ...

    def next_version(self, document_id: str) -> int:
        """The number the next version of this document gets. Numbers are never used again, even after a removal."""
        ...

    def numbers(self) -> dict[str, int]:
        """Document id → the last version number that was given, also of documents that are kept no longer."""
        ...

    def keep_numbers(self, numbers: Mapping[str, int]) -> None:
        """See to it that none of these version numbers, by document id, nor an earlier one is given again."""
        ...

    def stage(
        self,
        document: Document,
        recipe: str = "",
        added_at: str = "",
        *,
        source: str = "",
        starts: str | None = None,
        was: StoredDocument | None = None,
    ) -> int:
        """Begin a new version of `document`, numbered ``document.version``. Returns a ticket.

        `starts` is the day from which it is in force, where that is not as `pincite.types.PointInTime` says.
        `added_at` is when the version was recorded, ISO 8601 in UTC; empty for now. `source` is the address of what it
        was read from, empty for its own. `was` is the same version in another index: it keeps what that says of it,
        and does not become current if it was not there.
        Raises InputError if a version with that number or a later one was there before.
        """
        ...

    def stage_chunks(
        self,
        ticket: int,
        chunks: Sequence[Chunk],
        contexts: Sequence[str],
        vectors: Matrix,
        digests: Sequence[bytes] = (),
    ) -> None:
        """Write chunks of a staged version.

        `contexts` are texts searched by the lexical leg together with each chunk's own (its headings, its title).
        `digests` name what was encoded, for `encoded` to find the vectors again.
        Raises InputError for a vector of the wrong dimension, a zero vector, NaN or infinity, before anything of the
        call is written.
        """
        ...

    def commit(
        self,
        tickets: Sequence[int],
        *,
        remove: Sequence[str] = (),
        on: str = "",
        sources: Sequence[StoredSource] = (),
    ) -> list[StoredDocument]:
        """Make the staged versions current and the documents `remove` no longer so, all at one moment, durably.

        The removed ones are out of force from the day `on`, empty for today. `sources` is what was read. Returns the
        staged versions.
        """
        ...

    def discard(self, tickets: Sequence[int]) -> None:
        """Forget staged versions."""
        ...

    def remove(self, document_id: str, on: str = "") -> bool:
        """Make a document unreachable in every leg, durably, before returning. False if there is none.

        What retention keeps of it is found by those who ask for a point in time before this one.
        """
        ...

    def purge(self, document_ids: Sequence[str]) -> int:
        """Delete every version of documents, text and vectors, also from the files on disk. How many versions."""
        ...

    def encoded(self, digests: Sequence[bytes]) -> dict[bytes, Matrix]:
        """Digest → unit vector, float32 (dimension,), of those whose vector some chunk here has."""
        ...

    def note_run(self, command: str, report: AddReport) -> None:
        """Keep what became of the files of a run; the last runs are kept."""
        ...

    def runs(self, limit: int = 1) -> list[RunNote]:
        """The last runs, the latest first."""
        ...

    @property
    def document_count(self) -> int:
        """How many current documents there are."""
        ...

    def documents(self) -> list[StoredDocument]:
        """Every current document, by uri."""
        ...

    def find(self, *, uri: str | None = None, document_id: str | None = None) -> StoredDocument | None:
        """The current document with this address, or this id."""
        ...

    def history(self, document_id: str | None = None) -> list[StoredDocument]:
        """Every version that is kept, the current one included, by address and number; of one document or of all."""
        ...

    def sources(self) -> list[StoredSource]:
        """What documents were read from, by address."""
        ...

    def find_source(self, uri: str) -> StoredSource | None:
        """What is known of the source with this address."""
        ...

    def documents_of(self, source: str) -> list[StoredDocument]:
        """The current documents that were read from the source with this address, by their own."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """While it is open in a thread, no commit or removal becomes visible: several calls see one state."""
        ...

    def get_document(self, document_id: str, version: int | None = None) -> Document | None:
        """A document with its text, of the current version unless one is given; None if that is not kept."""
        ...

    def search_dense(
        self,
        vector: Matrix,
        k: int,
        where: Filter | None = None,
        *,
        exact: bool = False,
        at: PointInTime | None = None,
    ) -> list[Hit]:
        """The k nearest chunks by cosine similarity, best first; ties by chunk order. Shape of vector: (dimension,).

        Where an approximate index was built, chunks may be missed, and others take their places: the scores are exact
        and min(k, chunks that match) come back in any case. `exact` goes round the index.
        """
        ...

    def search_lexical(
        self, query: str, k: int, where: Filter | None = None, *, at: PointInTime | None = None
    ) -> list[Hit]:
        """The k best chunks by BM25, best first. Empty when no term of the query is in the index.

        ``Σ idf · tf (k1 + 1) / (tf + k1 (1 - b + b · length / mean length)) · (k3 + 1) n / (k3 + n)`` over the terms of
        the query, with k1 = 1.2, b = 0.75, k3 = 8, where n is how often the query holds the term.
        Source: Robertson and Zaragoza 2009, equation 3.15; Robertson et al. 1994 for k3.
        """
        ...

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        """The chunks of `hits` with their documents' names, in the order given; chunks gone since are left out."""
        ...

    def chunks(self, document_id: str, version: int | None = None) -> list[Chunk]:
        """The chunks of a document, in order, of the current version unless one is given; none if that is not kept."""
        ...

    def vectors(self, chunk_ids: Sequence[str]) -> Matrix:
        """The stored vectors of chunks: float32, shape (len(chunk_ids), dimension), in the order given.

        Rows have length 1. An id that names no current chunk (gone since, still being written, malformed) has a row of
        zeros: rows and ids stay together, and what is gone is similar to nothing. An id given twice has two rows.
        """
        ...

    @property
    def point_count(self) -> int:
        """Chunks in the index, those being written included."""
        ...

    @property
    def indexed_count(self) -> int:
        """Chunks whose vector is in an approximate index; the others are searched exactly."""
        ...

    def needs_optimizing(self) -> bool:
        """Whether `optimize` would make searching noticeably faster."""
        ...

    def compact(self) -> None:
        """Write the points anew, without what was deleted. May block the whole process."""
        ...

    def optimize(self) -> bool:
        """Build whatever makes searching fast. May block the whole process. True if anything was done."""
        ...

    def index_report(self) -> IndexReport:
        """How vectors are searched, and what was measured of it."""
        ...

    def measure_recall(self, queries: int = 200, seed: int = 0) -> Recall | None:
        """Recall@10 of `search_dense` against the exact result, now. None when every search is exact, or none can be.

        Queries are made of stored vectors drawn with `seed`; fewer than `queries` are asked when they take too long.
        """
        ...

    def check(self) -> list[str]:
        """Every broken invariant in words; empty when all is well. Changes nothing."""
        ...

    def repair(self, rewrite: Rewrite, recipe: str = "") -> list[str]:
        """Mend what `check` finds wrong of the points, from the text that is kept; what was wrong, in words.

        `rewrite` gives for a document what it is written anew with, cut by `recipe`.
        """
        ...

    def close(self) -> None:
        """Release the store. Idempotent."""
        ...


class Reranked(NamedTuple):
    """What a reranker made of the passages."""

    passages: list[Passage]
    notes: tuple[str, ...] = ()  #: in words: what was not scored and why, an order that was kept


@runtime_checkable
class Reranker(Protocol):
    """Scores the passages of the first stage against the query, and orders them anew."""

    @property
    def name(self) -> str:
        """The stage's name in hits, tables and notes."""
        ...

    @property
    def depth(self) -> int:
        """How many passages of the first stage it wants."""
        ...

    def rerank(self, query: str, passages: Sequence[Passage]) -> Reranked:
        """The same passages, each exactly once, best first; those that were scored have a hit of this stage.

        Passages beyond `depth`, and those that the time budget left unscored, follow in the order given with the hits
        they had. Where the scores say nothing (NaN, all equal) the order given is kept, and a note says so. Raises
        BackendError when the model fails.
        """
        ...

    def close(self) -> None:
        """Free what it holds. Idempotent."""
        ...


@runtime_checkable
class Generator(Protocol):
    """Writes an answer from a prompt."""

    @property
    def name(self) -> str:
        """Which model, for people and for the record: ``local:gemma-3-270m``, ``openai:gpt-…``."""
        ...

    @property
    def cites(self) -> bool:
        """Whether its text carries ``[n]`` markers that name passages of the prompt."""
        ...

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        """Tokens as they come, and one `Generation` last, whose text is exactly the tokens' texts joined.

        Raises BackendError when the model or endpoint fails.
        """
        ...

    def close(self) -> None:
        """Free what it holds. Idempotent; a later question may load it again."""
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """What a generator may be besides: one that counts as its model does."""

    def count_tokens(self, text: str) -> int:
        """How many tokens the model makes of `text`, special ones aside."""
        ...


@runtime_checkable
class ChatModel(Protocol):
    """What a generator may be besides: one that does what any messages ask."""

    def complete(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Generation:
        """What the model writes after `messages`, whole, of at most `max_tokens` tokens (None: its own limit).

        Raises BackendError when the model or endpoint fails.
        """
        ...


@runtime_checkable
class SupportScorer(Protocol):
    """Says whether a source supports a statement."""

    @property
    def name(self) -> str:
        """Which one, for people and for the record: ``lexical``, ``nli:…``."""
        ...

    def judge(self, statement: str, sources: Sequence[str], *, question: str = "") -> list[Support]:
        """What each of `sources` is worth for `statement`, in their order.

        The span of each result lies within its source. ``verbatim`` only where the words of the statement stand there.
        A `question` helps to choose between sentences that support it alike.
        """
        ...

    def score(self, statement: str, sentences: Sequence[str]) -> list[float]:
        """How far each sentence alone supports `statement`, in [0, 1], in their order."""
        ...

    def close(self) -> None:
        """Free what it holds. Idempotent; a later statement may load it again."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class NextTokens:
    """Natural log-probabilities of the token that comes next, one row for each context.

    With `ids` None the whole vocabulary is there, and ``logprobs[r, t]`` is that of token t: shape (rows, vocabulary).
    Otherwise each row lists its likeliest tokens: ``logprobs[r, i]`` is that of ``ids[r, i]``, falling along the row,
    shape (rows, n); a row that is shorter ends in ids of -1 with minus infinity. A token that is not listed has at
    most the probability of the last one that is, and no more than what the listed ones leave of 1.
    """

    logprobs: Matrix
    ids: NDArray[np.int64] | None = None


@runtime_checkable
class Reading(Protocol):
    """Contexts that a model has read, one row each, and the answer begun after each of them.

    Held by one thread at a time. A scorer may limit how many are open; `close` gives the memory back.
    """

    @property
    def rows(self) -> int:
        """How many there are. A model that fuses all its contexts has one."""
        ...

    def next_tokens(self, width: int | None = None) -> NextTokens:
        """What comes next after every row.

        `width` asks for at least that many tokens of each row from a scorer that lists (`TokenScorer.widest` is the
        most it gives); one that has the whole vocabulary gives it whole.
        """
        ...

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """Row i becomes what row ``rows[i]`` was, followed by ``tokens[i]``.

        Rows may repeat and be left out: this is a step of greedy search, of beam search and of sampling. One batched
        step of the model.
        """
        ...

    def score(self, continuations: Sequence[Sequence[int]], *, end: bool = False) -> list[Matrix]:
        """For each continuation the log-probabilities of its tokens after every row: shape (rows, its length).

        With `end` one column more: that the answer ends there, which is the sum over `TokenScorer.ends`. The reading
        stays as it was. Minus infinity where a scorer that lists cannot know better than "not listed". An empty
        continuation has shape (rows, 0).
        """
        ...

    def close(self) -> None:
        """Free what it holds. Idempotent."""
        ...


@runtime_checkable
class TokenScorer(Protocol):
    """A language model as marginalization sees it: probabilities of tokens after contexts.

    Deterministic: the same contexts and tokens give the same numbers (to the last digits that a batch of another
    shape may change), whatever was asked before.
    """

    @property
    def name(self) -> str:
        """Which model, for people and for the record."""
        ...

    @property
    def ends(self) -> frozenset[int]:
        """The tokens that end an answer. Never empty."""
        ...

    @property
    def widest(self) -> int | None:
        """The most tokens of a row that `Reading.next_tokens` lists; None where it gives the whole vocabulary."""
        ...

    def encode(self, text: str) -> list[int]:
        """The tokens of `text` as it stands in an answer, after a context; no special tokens, not the end."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of an answer's tokens. Bytes that are no whole character become U+FFFD; ends are left out."""
        ...

    def read(self, contexts: Sequence[Context]) -> Reading:
        """Read the contexts. Raises InputError for none or one too long, BackendError when the model fails."""
        ...

    def close(self) -> None:
        """Free the model. Idempotent; a later reading may load it again."""
        ...
