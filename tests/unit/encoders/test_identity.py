"""An index remembers which encoder made it, and refuses another, empty or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pincite.chunkers.window import WindowChunker
from pincite.errors import EncoderMismatchError
from pincite.generators.extractive import ExtractiveGenerator
from pincite.identity import check_identity, probe_vectors
from pincite.loaders.read import InProcessReader
from pincite.loaders.text import TextLoader
from pincite.pipeline import Pipeline
from pincite.protocols import StoreHeader
from pincite.store.edge import EdgeStore
from toys import ToyEncoder, copy_index

PERMUTATION = [7, 0, 1, 2, 3, 4, 5, 6]


def header_of(encoder: ToyEncoder) -> StoreHeader:
    probes = tuple(tuple(float(x) for x in probe) for probe in probe_vectors(encoder))
    return StoreHeader(encoder.identity, probes, "english")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "index"
    EdgeStore.create(folder, header_of(ToyEncoder(8))).close()
    return folder


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Iterator[EdgeStore]:
    """An empty index made with a toy of 8 dimensions."""
    copy_index(template, tmp_path / "index")
    with EdgeStore.open(tmp_path / "index") as store:
        yield store


def open_with(store: EdgeStore, encoder: ToyEncoder) -> Pipeline:
    return Pipeline(
        store=store,
        encoder=encoder,
        chunker=WindowChunker(encoder.tokenizer, size=32, overlap=0),
        reader=InProcessReader([TextLoader()]),
        generator=lambda: ExtractiveGenerator(encoder),
    )


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (ToyEncoder(8, revision="toy-2", permutation=PERMUTATION), "revision"),
        (ToyEncoder(16), "dimension"),
        (ToyEncoder(8, query_prefix="query: "), "query_prefix"),
        (ToyEncoder(8, passage_prefix="passage: "), "passage_prefix"),
        (ToyEncoder(8, max_tokens=65), "max_tokens"),
    ],
)
def test_another_encoder_is_refused_and_the_way_out_is_named(store: EdgeStore, other: ToyEncoder, named: str) -> None:
    """Also one of the same dimension, and also while the index is empty."""
    assert store.point_count == 0
    with pytest.raises(EncoderMismatchError, match=named) as caught:
        open_with(store, other)
    assert "pincite reindex" in str(caught.value)


def test_pooling_and_normalisation_are_compared(store: EdgeStore) -> None:
    for change in ({"pooling": "cls"}, {"normalize": False}):

        class Other(ToyEncoder):
            identity = replace(ToyEncoder(8).identity, **change)  # type: ignore[assignment, arg-type]

        with pytest.raises(EncoderMismatchError, match=next(iter(change))):
            check_identity(store, Other(8))


def test_the_name_alone_may_differ(store: EdgeStore) -> None:
    """A model folder that was moved is the same model."""
    check_identity(store, ToyEncoder(8, name="/somewhere/else"))


def test_the_same_identity_with_other_vectors_is_found_out_by_the_probes(store: EdgeStore) -> None:
    """Same revision, permuted dimensions: what a changed runtime or a lying identity would do."""
    pipeline = open_with(store, ToyEncoder(8, permutation=PERMUTATION))
    for use in (lambda: pipeline.add_text("text", name="a.txt"), lambda: pipeline.search("text")):
        with pytest.raises(EncoderMismatchError, match="pincite reindex"):
            use()
    assert store.documents() == []


def test_small_differences_of_another_processor_pass(store: EdgeStore) -> None:
    class Nearly(ToyEncoder):
        def encode_passages(self, texts):  # type: ignore[no-untyped-def]
            return super().encode_passages(texts) + np.float32(1e-4)

    pipeline = open_with(store, Nearly(8))
    pipeline.add_text("text", name="a.txt")
    assert [passage.chunk.text for passage in pipeline.search("text").passages] == ["text"]


def test_after_closing_and_opening_the_other_is_refused_still(tmp_path: Path) -> None:
    with EdgeStore.create(tmp_path / "index", header_of(ToyEncoder(8))) as store:
        open_with(store, ToyEncoder(8)).add_text("kept", name="a.txt")
    with EdgeStore.open(tmp_path / "index") as store:
        with pytest.raises(EncoderMismatchError):
            open_with(store, ToyEncoder(8, revision="2"))
        assert len(open_with(store, ToyEncoder(8)).search("kept").passages) == 1
