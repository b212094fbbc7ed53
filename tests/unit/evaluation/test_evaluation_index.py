"""The index of a corpus: what is in it, when it is used again, what an interruption leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from eval_helpers import DOCUMENTS, make_set

from pincite.chunkers.structure import StructureChunker
from pincite.chunkers.window import WindowChunker
from pincite.encoders.cached import CachedEncoder
from pincite.errors import InputError
from pincite.evaluation import index as module
from pincite.evaluation.datasets import Dataset, load_dataset
from pincite.evaluation.index import CorpusIndex, EvaluationListener, corpus_hash, ensure_index, index_key
from pincite.store.edge import EdgeStore
from pincite.types import Chunk, Document
from toys import ToyEncoder

if TYPE_CHECKING:
    from pincite.protocols import Matrix

WORDY = "The tenant pays rent on the third day. " * 12


class Spy(ToyEncoder):
    """Remembers the passages that it encoded."""

    def __init__(self, fail_at: int | None = None) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.fail_at = fail_at

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        if self.fail_at is not None and len(self.seen) + len(texts) > self.fail_at:
            raise KeyboardInterrupt
        self.seen += texts
        return super().encode_passages(texts)


def build(dataset: Dataset, folder: Path, encoder: Any = None, **settings: Any) -> CorpusIndex:
    settings = {"language": "english", "create": EdgeStore.create, **settings}
    return ensure_index(dataset, folder, encoder=encoder or Spy(), **settings)


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(make_set(tmp_path / "tiny"))


def test_a_document_is_one_passage_with_its_title_in_both_legs(dataset: Dataset, tmp_path: Path) -> None:
    encoder = Spy()
    index = build(dataset, tmp_path / "cache", encoder)
    assert encoder.seen[0] == f"Rent {DOCUMENTS[0]['text']}"
    assert encoder.seen[2] == DOCUMENTS[2]["text"]
    assert (index.documents, index.chunks, index.reused) == (4, 4, False)
    with EdgeStore.open(index.folder) as store:
        assert store.check() == []
        (chunk,) = store.chunks("d1")
        assert (chunk.start, chunk.end, chunk.text) == (0, len(DOCUMENTS[0]["text"]), DOCUMENTS[0]["text"])
        # The word stands in the title alone.
        assert store.search_lexical("repairs", 5)[0].chunk_id == "d2.1.0"
        assert [hit.chunk_id for hit in store.search_lexical("empty", 5)] == ["d4.1.0"]


def test_empty_documents_are_named_and_a_title_alone_is_a_text(dataset: Dataset, tmp_path: Path) -> None:
    told: list[str] = []

    class Listener(EvaluationListener):
        def told(self, message: str) -> None:
            told.append(message)

    encoder = Spy()
    index = build(dataset, tmp_path / "cache", encoder, listener=Listener())
    assert index.empty == ("d5",)
    assert told == ["tiny: 1 empty documents left out: d5"]
    assert encoder.seen[3] == "Empty"


def test_a_long_document_is_one_passage_all_the_same(tmp_path: Path) -> None:
    documents = [{"_id": "d1", "title": "T", "text": WORDY}]
    index = build(load_dataset(make_set(tmp_path / "long", documents)), tmp_path / "cache")
    assert index.chunks == 1


@pytest.mark.parametrize("chunker", [StructureChunker, WindowChunker])
def test_chunks_carry_the_title_once(tmp_path: Path, chunker: Any) -> None:
    documents = [
        {"_id": "d1", "title": "Leases", "text": WORDY},
        {"_id": "d2", "title": "Roof", "text": "Roof\nIt leaks."},
    ]
    encoder = Spy()
    contexts: list[str] = []

    class Watched(EdgeStore):
        def stage_chunks(self, ticket: int, chunks: Sequence[Chunk], context: Sequence[str], vectors: Matrix) -> None:
            contexts.extend(f"{c}\n{chunk.text}" for c, chunk in zip(context, chunks, strict=True))
            super().stage_chunks(ticket, chunks, context, vectors)

    index = build(
        load_dataset(make_set(tmp_path / "long", documents)),
        tmp_path / "cache",
        encoder,
        create=Watched.create,
        unit="chunk",
        chunker=chunker(encoder.tokenizer, size=20),
        recipe="20",
    )
    assert index.chunks > 4
    assert len(contexts) == index.chunks
    for text in contexts[:-1]:
        assert text.count("Leases") == 1
    if chunker is StructureChunker:
        assert all(text.startswith("Leases\n") for text in encoder.seen[:-1])
        # A text that begins with its title is not given it again.
        assert contexts[-1].count("Roof") == 1
        assert encoder.seen[-1] == "Roof\nIt leaks."
    with EdgeStore.open(index.folder) as store:
        assert store.check() == []
        assert all(WORDY[chunk.start : chunk.end] == chunk.text for chunk in store.chunks("d1"))


def test_a_second_time_it_is_there(dataset: Dataset, tmp_path: Path) -> None:
    first = build(dataset, tmp_path / "cache")
    encoder = Spy()
    second = build(dataset, tmp_path / "cache", encoder)
    assert second == replace(first, reused=True)
    assert encoder.seen == []


def test_what_could_change_a_search_changes_the_name(dataset: Dataset) -> None:
    identity = ToyEncoder().identity
    corpus = corpus_hash(dataset)
    key = index_key(corpus, identity, "english", "chunk", "a")
    others = {
        index_key("other", identity, "english", "chunk", "a"),
        index_key(corpus, replace(identity, revision="2"), "english", "chunk", "a"),
        index_key(corpus, identity, "german", "chunk", "a"),
        index_key(corpus, identity, "english", "document", "a"),
        index_key(corpus, identity, "english", "chunk", "b"),
    }
    assert len(others | {key}) == 6
    assert key == index_key(corpus, identity, "english", "chunk", "a")
    (dataset.corpus_file).write_bytes(dataset.corpus_file.read_bytes() + b"\n")
    assert corpus_hash(dataset) != corpus


def test_interrupted_it_leaves_no_index_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH", 4)
    documents = [{"_id": f"d{n}", "title": "", "text": f"text number {n}"} for n in range(20)]
    dataset = load_dataset(make_set(tmp_path / "many", documents))
    cache, vectors = tmp_path / "cache", tmp_path / "vectors"
    with pytest.raises(KeyboardInterrupt):
        build(dataset, cache, CachedEncoder(Spy(fail_at=11), vectors))
    assert not [each for each in cache.iterdir() if (each / "summary.json").exists()]
    encoder = Spy()
    index = build(dataset, cache, CachedEncoder(encoder, vectors))
    assert len(encoder.seen) == 12  # two batches of four were kept
    assert index.documents == 20
    assert not list(cache.glob("*.building"))
    with EdgeStore.open(index.folder) as store:
        assert store.document_count == 20
        expected = ToyEncoder().encode_queries(["text number 7"])[0]
        assert store.search_dense(expected, 1)[0].chunk_id == "d7.1.0"


def test_an_index_without_its_summary_is_made_again(dataset: Dataset, tmp_path: Path) -> None:
    first = build(dataset, tmp_path / "cache")
    (first.folder / "summary.json").write_text("{")
    again = build(dataset, tmp_path / "cache")
    assert not again.reused
    assert again.documents == first.documents


def test_progress_and_documents_of_many_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 5)
    documents = [{"_id": f"d{n}", "title": "", "text": WORDY if n == 1 else "short"} for n in range(6)]
    seen: list[tuple[int, int]] = []

    class Listener(EvaluationListener):
        def indexing(self, dataset: str, done: int, total: int) -> None:  # noqa: ARG002
            seen.append((done, total))

    encoder = Spy()
    index = build(
        load_dataset(make_set(tmp_path / "many", documents)),
        tmp_path / "cache",
        encoder,
        unit="chunk",
        chunker=WindowChunker(encoder.tokenizer, size=8),
        listener=Listener(),
    )
    assert seen[-1] == (6, 6)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    with EdgeStore.open(index.folder) as store:
        assert store.check() == []
        for n in range(6):
            chunks = store.chunks(f"d{n}")
            found = store.search_dense(np.asarray(ToyEncoder().encode_queries([chunks[-1].text])[0]), 99)
            assert found[0].score == pytest.approx(1, abs=1e-5)
            assert chunks[-1].id in {hit.chunk_id for hit in found if hit.score > 0.9999}


def test_what_cannot_be_indexed(tmp_path: Path, dataset: Dataset) -> None:
    with pytest.raises(InputError, match="needs a chunker"):
        build(dataset, tmp_path / "cache", unit="chunk")
    empty = load_dataset(make_set(tmp_path / "empty", [{"_id": "d1", "text": " "}]))
    with pytest.raises(InputError, match="no document with text"):
        build(empty, tmp_path / "cache")


def test_the_one_chunk_of_a_document_is_all_of_it() -> None:
    document = Document("d", " a\nb ", "", "d", "text/plain", "")
    (chunk,) = module.WholeDocument().chunk(document)
    assert document.text[chunk.start : chunk.end] == chunk.text == " a\nb "
    assert list(module.WholeDocument().chunk(replace(document, text=" \n"))) == []


HEADED = "Of rent\nThe rent is due in May.\nOf pets\nA cat is allowed, a dog is not."
KEPT = {"headings": [[1, "Of rent", 0, 7], [1, "Of pets", 32, 39]], "pages": [[1, 0, 31, "i"], [2, 32, 71, "ii"]]}


def test_chunks_have_the_headings_and_pages_that_the_set_keeps(tmp_path: Path) -> None:
    """As in the index that `eval make` made the set from; a whole document is as BEIR has it."""
    documents = [
        {"_id": "d1", "title": "Rules", "text": HEADED, "metadata": KEPT},
        {"_id": "d2", "title": "Pages", "text": "A cat.", "metadata": {"pages": 12}},
    ]
    dataset = load_dataset(make_set(tmp_path / "kept", documents, qrels={"q1": {"d1": 1}}))
    encoder = Spy()
    chunker = StructureChunker(encoder.tokenizer, size=20)
    index = build(dataset, tmp_path / "cache", encoder, unit="chunk", chunker=chunker)
    with EdgeStore.open(index.folder) as store:
        places = [(chunk.headings, chunk.page) for chunk in store.chunks("d1")]
        assert places == [(("Of rent",), 1), (("Of pets",), 2)]
        assert [chunk.headings for chunk in store.chunks("d2")] == [("Pages",)]
        assert len(store.search_lexical("rules", 9)) == 2, "the title is in every chunk, beside the headings"
    whole = Spy()
    build(dataset, tmp_path / "cache", whole)
    assert whole.seen == [f"Rules {HEADED}", "Pages A cat."]


def test_a_set_that_states_no_headings_is_cut_without_any(tmp_path: Path) -> None:
    """As in the index it was made from; the words of the title are found all the same."""
    documents = [
        {"_id": "d1", "title": "Rules", "text": "A cat.", "metadata": {"headings": [], "pages": []}},
        {"_id": "d2", "title": "Rules", "text": "A dog."},
    ]
    dataset = load_dataset(make_set(tmp_path / "stated", documents, qrels={"q1": {"d1": 1}}))
    encoder = Spy()
    chunker = StructureChunker(encoder.tokenizer, size=20)
    index = build(dataset, tmp_path / "cache", encoder, unit="chunk", chunker=chunker)
    assert encoder.seen == ["A cat.", "Rules\nA dog."]
    with EdgeStore.open(index.folder) as store:
        assert [chunk.headings for name in ("d1", "d2") for chunk in store.chunks(name)] == [(), ("Rules",)]
        assert len(store.search_lexical("rules", 9)) == 2


def test_headings_that_do_not_fit_are_named(tmp_path: Path) -> None:
    documents = [{"_id": "d1", "title": "", "text": "A cat.", "metadata": KEPT}]
    dataset = load_dataset(make_set(tmp_path / "odd", documents, qrels={"q1": {"d1": 1}}))
    chunker = StructureChunker(ToyEncoder().tokenizer, size=20)
    with pytest.raises(InputError, match="'d1' of the set has headings or pages that do not fit"):
        build(dataset, tmp_path / "cache", unit="chunk", chunker=chunker)
