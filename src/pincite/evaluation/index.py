"""The corpus of a set as an index that is kept: built once, then only searched.

An index lies in the cache under a name that is made of everything its content depends on. It is built beside its place
and moved there when it is complete, so that what stands there is whole.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pincite import analysis
from pincite.chunkers.context import encoded_text
from pincite.errors import InputError, StoreBusyError, StoreError
from pincite.evaluation.datasets import as_document
from pincite.indexing import lexical_context
from pincite.protocols import StoreHeader
from pincite.types import Chunk, Document, Heading

if TYPE_CHECKING:
    from pincite.evaluation.datasets import Dataset, Record
    from pincite.protocols import Chunker, Encoder, EncoderIdentity, Store

__all__ = [
    "INDEX_FORMAT",
    "CorpusIndex",
    "EvaluationListener",
    "Unit",
    "WholeDocument",
    "corpus_hash",
    "ensure_index",
    "index_key",
    "indexed_document",
]

Unit = Literal["document", "chunk"]

#: Raised whenever the code below makes another index of the same corpus.
INDEX_FORMAT = 1

#: Chunks that are encoded and committed together.
_BATCH = 256

_LOCK_SECONDS = 3600.0

#: Names of documents that are told, of those that hold nothing.
_NAMED = 5


class EvaluationListener:
    """Told what an evaluation does, as it does it. Every method does nothing: override what is wanted."""

    def indexing(self, dataset: str, done: int, total: int) -> None:
        """So many documents of a corpus are in the index."""

    def searching(self, dataset: str, configuration: str, done: int, total: int) -> None:
        """So many queries have been searched."""

    def told(self, message: str) -> None:
        """Something worth saying once: what was left out, what was found finished."""


class WholeDocument:
    """A document is one chunk, whatever its length: the unit of BEIR and of most published figures.

    It deliberately does not respect a token budget, which `pincite.protocols.Chunker` asks for, and it does not trim:
    the encoder cuts what is too long for it, as the reference evaluations do, so the dense leg reads only the beginning
    of a long document while BM25 reads all of it. For comparing with published figures only; ``chunk`` is what a
    pipeline does.
    """

    name = "document"

    def chunk(self, document: Document) -> Iterator[Chunk]:
        """The one chunk; none for a document without a character that is not white space."""
        if document.text.strip():
            yield Chunk(
                id=f"{document.id}.{document.version}.0",
                document_id=document.id,
                version=document.version,
                text=document.text,
                start=0,
                end=len(document.text),
                ordinal=0,
            )


@dataclass(frozen=True, slots=True)
class CorpusIndex:
    """An index of a corpus, complete and on disk."""

    folder: Path
    key: str
    documents: int
    chunks: int
    empty: tuple[str, ...]  #: the documents that hold neither a title nor a text, and are not in it
    reused: bool  #: it was there already


def corpus_hash(dataset: Dataset) -> str:
    """SHA-256 of the bytes of the corpus file as it lies there, in hex."""
    digest = hashlib.sha256()
    with dataset.corpus_file.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def index_key(corpus: str, identity: EncoderIdentity, language: str, unit: Unit, recipe: str) -> str:
    """A name for the index: two that could differ in any search have two names. 32 hex digits.

    `recipe` says what the other facts do not: how documents are cut, and how vectors are indexed.
    """
    # Documents were cut without the headings and pages of their set before, and then with their title where the set
    # says that they have no heading: those indexes are others.
    cut = "chunk of a document with the headings that are stated, also none" if unit == "chunk" else unit
    facts = [INDEX_FORMAT, _analysis_hash(), corpus, asdict(identity), language, cut, recipe]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def _analysis_hash() -> str:
    """Of the code that makes terms of words: an index made by another must not be searched with this one."""
    file = Path(analysis.__file__)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def ensure_index(
    dataset: Dataset,
    folder: Path,
    *,
    create: Callable[[Path, StoreHeader], Store],
    encoder: Encoder,
    language: str,
    unit: Unit = "document",
    chunker: Chunker | None = None,
    recipe: str = "",
    listener: EvaluationListener | None = None,
) -> CorpusIndex:
    """The index of the corpus of `dataset` in `folder`, built now if it is not there.

    `create` makes an empty store in a folder. With the unit ``chunk`` documents are cut by `chunker`; with
    ``document`` each is one passage. `recipe` names how they are cut and how `create` indexes. What each leg reads:

    - ``document``: dense ``f"{title} {text}"`` without white space around it, as in BEIR; BM25 the title and the text.
    - ``chunk``: cut by the headings and pages that the set keeps with a document (see `eval make`), as in the index
      that the set was made from, also where it says that there are none (``"headings": []``); where it says nothing of
      headings, the title is the only one. Dense: the headings above a
      chunk and the chunk. BM25: the same headings, or the title where the chunker gives none, and the chunk. The title
      counts once.

    A document with a title alone is indexed by its title; one with nothing is left out, counted and named. Interrupted,
    it leaves nothing that would be taken for an index, and begins anew the next time; with a `CachedEncoder` no vector
    is made twice. Several processes may call it: one builds, the others wait. Raises InputError for a malformed corpus
    or one without text, StoreError when the cache cannot be written.
    """
    from filelock import FileLock, Timeout

    if unit == "chunk" and chunker is None:
        raise InputError("the unit chunk needs a chunker")
    listener = listener or EvaluationListener()
    key = index_key(corpus_hash(dataset), encoder.identity, language, unit, recipe)
    target = folder / key
    if found := _finished(target, key):
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{key}.lock", timeout=_LOCK_SECONDS):
            if found := _finished(target, key):
                return found
            building = folder / f"{key}.building"
            shutil.rmtree(building, ignore_errors=True)  # of one that was cut off
            shutil.rmtree(target, ignore_errors=True)  # an older index without its summary is not whole
            header = StoreHeader(encoder.identity, (), language)
            store = create(building, header)
            try:
                summary = _build(dataset, store, encoder, chunker if unit == "chunk" else None, recipe, listener)
            finally:
                store.close()
            (building / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
            building.rename(target)
    except Timeout:
        raise StoreBusyError(f"another process has been building the index {target} for an hour") from None
    except OSError as error:
        raise StoreError(f"the index of {dataset.name} cannot be kept in {folder}: {error}") from error
    made = _finished(target, key)
    assert made is not None
    return CorpusIndex(made.folder, key, made.documents, made.chunks, made.empty, reused=False)


def _finished(target: Path, key: str) -> CorpusIndex | None:
    try:
        summary = json.loads((target / "summary.json").read_text(encoding="utf-8"))
        return CorpusIndex(target, key, summary["documents"], summary["chunks"], tuple(summary["empty"]), reused=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _build(
    dataset: Dataset,
    store: Store,
    encoder: Encoder,
    chunker: Chunker | None,
    recipe: str,
    listener: EvaluationListener,
) -> dict[str, object]:
    total = sum(1 for _ in dataset.documents())
    documents = chunks = done = 0
    empty: list[str] = []
    waiting: list[tuple[Document, list[Chunk]]] = []

    def flush() -> None:
        if waiting:
            _write(store, encoder, waiting, recipe, whole=chunker is None)
            waiting.clear()
        listener.indexing(dataset.name, done, total)

    for record in dataset.documents():
        done += 1
        if document := indexed_document(record, "document" if chunker is None else "chunk"):
            cut = list((chunker or WholeDocument()).chunk(document))
            waiting.append((document, cut))
            documents += 1
            chunks += len(cut)
        else:
            empty.append(record.id)
        if sum(len(each) for _, each in waiting) >= _BATCH:
            flush()
    flush()
    if not documents:
        raise InputError(f"{dataset.corpus_file} holds no document with text")
    if empty:
        named = ", ".join(empty[:_NAMED]) + (" …" if len(empty) > _NAMED else "")
        listener.told(f"{dataset.name}: {len(empty)} empty documents left out: {named}")
    if store.needs_optimizing():
        listener.told(f"{dataset.name}: building the vector index over {store.point_count:,} passages …")
        store.optimize()
    return {"documents": documents, "chunks": chunks, "empty": empty, "corpus": dataset.name}


def indexed_document(record: Record, unit: Unit) -> Document | None:
    """The document to index, as it is cut; None if there is nothing in it. Raises InputError as `as_document` does."""
    # As it stands, white space and all: what is encoded is then letter for letter what other evaluations encode.
    title, text = record.title if record.title.strip() else "", record.text
    if not text.strip():
        if not title:
            return None
        title, text = "", title
    document = Document(id=record.id, text=text, title=title, uri=record.id, media_type="text/plain", content_hash="")
    if unit == "document":
        return document
    if text is record.text:
        kept = as_document(record)
        document = replace(document, headings=kept.headings, pages=kept.pages, media_type=kept.media_type)
    if title and not document.headings and record.metadata.get("headings") != []:
        # Of no width, before the first character: a heading that is not in the text.
        document = replace(document, headings=(Heading(1, title.strip(), 0, 0),))
    return document


def _write(
    store: Store, encoder: Encoder, waiting: Sequence[tuple[Document, list[Chunk]]], recipe: str, *, whole: bool
) -> None:
    tickets = []
    work = [(document, chunk) for document, chunks in waiting for chunk in chunks]
    for document, _ in waiting:
        tickets.append(store.stage(document, recipe))
    ticket_of = {document.id: ticket for (document, _), ticket in zip(waiting, tickets, strict=True)}
    for start in range(0, len(work), _BATCH):
        some = work[start : start + _BATCH]
        vectors = encoder.encode_passages([_dense_text(document, chunk, whole) for document, chunk in some])
        first = 0
        while first < len(some):
            document = some[first][0]
            last = first
            while last < len(some) and some[last][0] is document:
                last += 1
            part = [chunk for _, chunk in some[first:last]]
            contexts = [document.title if whole else lexical_context(document, chunk) for chunk in part]
            store.stage_chunks(ticket_of[document.id], part, contexts, vectors[first:last])
            first = last
    store.commit(tickets)


def _dense_text(document: Document, chunk: Chunk, whole: bool) -> str:
    if whole:
        return f"{document.title} {document.text}".strip()
    return encoded_text(chunk.headings, chunk.text, chunk.before, chunk.after)
