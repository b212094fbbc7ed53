"""A batch, and the copy of an index: every version with its times, and what a search of then gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from adding_helpers import CountingEncoder, Library

from pincite.build import Pincite, reindex
from pincite.chunkers.structure import StructureChunker
from pincite.config import load_settings
from pincite.errors import InputError
from pincite.indexing import AddListener, Batch, copy_documents
from pincite.store.edge import EdgeStore
from pincite.store.plan import Retention
from pincite.types import FileOutcome, PointInTime
from toys import make_chunks, make_document, toy_header

MOMENTS = ("2024-01-01T12:00:00.000+00:00", "2999-01-01T00:00:00.000+00:00")


def grow(library: Library) -> None:
    """Documents with a past: updated, removed, added again, restored."""
    a = library.write("a.txt", "first alpha")
    b = library.write("b.txt", "only beta")
    library.pipeline.add(library.files, valid_from="2020-01-01")
    library.write("a.txt", "second alpha")
    library.pipeline.add(a, valid_from="2022-01-01", valid_to="2030-01-01")
    library.pipeline.remove(b, on="2023-01-01")
    library.pipeline.add(b)
    library.pipeline.restore(a, 1)
    library.pipeline.add(library.write("c.txt", "gone gamma"))
    library.pipeline.remove(library.files / "c.txt")


def test_a_copy_has_every_version_with_its_times_chunks_and_results(tmp_path: Path) -> None:
    library = Library(tmp_path)
    grow(library)
    encoder = CountingEncoder()
    with EdgeStore.create(tmp_path / "copy", toy_header(encoder), retention=Retention(None)) as copy:
        chunker = StructureChunker(encoder.tokenizer, size=40)
        assert copy_documents(library.store, copy, chunker, encoder, "r1") == 2
        assert copy.history() == library.store.history()
        assert len(copy.history()) == 6
        assert copy.sources() == library.store.sources()
        for each in copy.history():
            assert copy.chunks(each.id, each.version) == library.store.chunks(each.id, each.version)
        moments = [PointInTime(as_of=f"{year}-06-01") for year in range(2018, 2035)]
        moments += [PointInTime(recorded=each.added_at) for each in copy.history()]
        moments += [PointInTime("2022-06-01", each.added_at) for each in copy.history()]
        for at in [None, *moments]:
            for query in ("alpha", "beta", "gamma"):
                assert copy.search_lexical(query, 9, at=at) == library.store.search_lexical(query, 9, at=at), at
        assert copy.check() == []
        # Texts that stand in several versions are encoded once.
        assert len(encoder.given) == len(set(encoder.given))
    library.close()


@pytest.mark.parametrize("kept", [None, 0])
def test_reindexing_keeps_what_is_kept(tmp_path: Path, kept: int | None) -> None:
    folder = tmp_path / "library"
    environment = {} if kept is None else {"PINCITE_HISTORY_VERSIONS": str(kept)}
    path = tmp_path / "a.txt"
    with Pincite.open(folder) as pincite:
        path.write_text("The rent is 500 euros.")
        pincite.add(path, valid_from="2020-01-01")
        path.write_text("The rent is 600 euros.")
        pincite.add(path, valid_from="2023-01-01")
        other = tmp_path / "b.txt"
        other.write_text("No pets are allowed.")
        pincite.add(other)
        pincite.remove(other)
        before = pincite.store.history()
        chunks = [pincite.store.chunks(each.id, each.version) for each in before]
        asked = [_cited(pincite, day) for day in ("2019-01-01", "2021-01-01", "2024-01-01")]
    settings = load_settings(environment=environment, overrides={"store.path": folder})
    assert reindex(settings) == 1
    with Pincite.open(folder) as pincite:
        after = pincite.store.history()
        if kept == 0:
            assert [(each.version, each.current) for each in after] == [(2, True)]
        else:
            assert after == before
            assert [pincite.store.chunks(each.id, each.version) for each in after] == chunks
            assert [_cited(pincite, day) for day in ("2019-01-01", "2021-01-01", "2024-01-01")] == asked
        # Numbers go on, also of what is gone.
        assert [pincite.store.next_version(each.id) for each in before] == [3, 3, 2]
        assert [outcome.status for outcome in pincite.add(path).outcomes] == ["unchanged"]


def _cited(pincite: Pincite, as_of: str) -> list[tuple[str, str]]:
    found = pincite.search("How much is the rent?", as_of=as_of).passages
    return sorted((each.chunk.id, each.chunk.text) for each in found)


# A batch


class Refusing(CountingEncoder):
    def encode_passages(self, texts: object) -> object:  # type: ignore[override]
        raise RuntimeError(f"no vectors for {texts}")


def test_a_batch_that_is_abandoned_leaves_nothing(tmp_path: Path) -> None:
    library = Library(tmp_path)
    document = make_document("some text", "toy:a")
    batch = Batch(library.store, Refusing(), "r", AddListener(), [])
    batch.put(document, make_chunks(document), FileOutcome("toy:a", "added"))
    assert batch.holds("toy:a")
    assert not batch.holds("toy:b")
    with pytest.raises(RuntimeError):
        batch.flush()
    batch.abandon()
    assert library.store.history() == []
    assert library.store.point_count == 0
    assert not batch.holds("toy:a")
    batch.flush()
    library.close()


def test_outcomes_are_told_once_they_are_true(tmp_path: Path) -> None:
    library = Library(tmp_path)

    class Listener(AddListener):
        def finished(self, outcome: FileOutcome) -> None:
            assert library.store.find(uri=outcome.uri) is not None
            told.append(outcome.uri)

    told: list[str] = []
    outcomes: list[FileOutcome] = []
    batch = Batch(library.store, CountingEncoder(), "r", Listener(), outcomes)
    for n in range(5):
        document = make_document(f"text {n}", f"toy:{n}")
        batch.put(document, make_chunks(document), FileOutcome(document.uri, "added"))
        batch.end_source()
    assert told == []
    batch.flush()
    assert told == [outcome.uri for outcome in outcomes] == [f"toy:{n}" for n in range(5)]
    assert batch.encoded == 5
    library.close()


def test_a_version_number_that_was_given_is_refused(tmp_path: Path) -> None:
    library = Library(tmp_path)
    document = make_document("some text", "toy:a")
    library.store.commit([library.store.stage(document)])
    with pytest.raises(InputError, match="used before"):
        library.store.stage(document)
    library.close()
