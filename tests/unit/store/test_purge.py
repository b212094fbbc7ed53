"""After a purge no file of the index holds the text or the vectors, whatever was done with them before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from version_helpers import ALL, ENCODER, Archive, make_archive

from pincite.errors import InputError, StoreError
from pincite.loaders.ids import document_id
from pincite.store import exchange
from pincite.store.catalogue import Catalogue
from pincite.store.copies import copies
from pincite.store.edge import EdgeStore
from pincite.store.plan import IndexOptions, Kind
from pincite.types import AddReport, FileOutcome, PointInTime, StoredSource
from toys import toy_header

A = document_id("toy:secret-name")
SECRETS = ["hidden treasure one", "hidden treasure two", "buried gold three"]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    made = make_archive(tmp_path / "index", monkeypatch, ALL)
    yield made
    made.store.close()


def traces(folder: Path) -> list[str]:
    """What the files of an index hold of the secrets: words, stems, the name, and vectors."""
    needles = {text: text.encode() for text in (*SECRETS, "treasur", "buri", "secret-name", "toy:secret")}
    for text, row in zip(SECRETS, ENCODER.encode_passages(SECRETS), strict=True):
        needles[f"vector of {text}"] = row.tobytes()[:20]
    found = []
    for file in sorted(folder.rglob("*")):
        data = file.read_bytes() if file.is_file() else b""
        found += [f"{what} in {file.relative_to(folder)}" for what, needle in needles.items() if needle in data]
    return found


def fill(archive: Archive) -> None:
    """Two versions and a staged one that was given up, told of in the log, between other documents."""
    archive.put("\n".join(f"before {n}" for n in range(20)), "toy:b")
    archive.put("\n".join(SECRETS[:2]), "toy:secret-name")
    archive.put(SECRETS[2], "toy:secret-name")
    archive.store.discard([archive.stage(SECRETS[0], "toy:secret-name")])
    archive.store.commit([], sources=[StoredSource("toy:secret-name", "hash")])
    outcome = FileOutcome("toy:secret-name", "added", A, 1, detail="hidden treasure one")
    skipped = FileOutcome("toy:secret-name", "skipped", reason="unreadable")
    archive.store.note_run("add", AddReport((outcome, skipped), 0.1))
    archive.put("\n".join(f"after {n}" for n in range(20)), "toy:c")


def test_no_file_holds_the_text_or_a_vector(archive: Archive) -> None:
    fill(archive)
    assert len(traces(archive.folder)) > 10, "the search for traces finds none of what is there"
    assert archive.store.purge([A]) == 2
    assert traces(archive.folder) == []  # while it is open: also what is beside the database
    archive.reopen()
    assert traces(archive.folder) == []
    assert archive.store.history(A) == []
    assert archive.words("treasure", PointInTime(as_of="2024-06-01")) == []
    assert archive.store.get_document(A, 1) is None
    assert archive.store.find_source("toy:secret-name") is None
    assert [each.uri for run in archive.store.runs(9) for each in run.outcomes] == []
    assert len(archive.near("before")) == 40
    assert archive.store.check() == []
    assert archive.store.purge([A]) == 0


def test_after_removal_too(archive: Archive) -> None:
    fill(archive)
    archive.store.remove(A)
    assert traces(archive.folder)
    assert archive.store.purge([A]) == 2
    assert traces(archive.folder) == []


def test_everything(archive: Archive) -> None:
    fill(archive)
    assert archive.store.purge([each.id for each in archive.store.documents()]) == 4
    assert traces(archive.folder) == []
    assert archive.store.point_count == 0
    assert archive.near("anything") == []
    archive.put("again", "toy:secret-name")
    assert archive.near("anything") == ["again"]


@pytest.mark.parametrize("kind", ["hnsw", "int8", "ivfpq"])
def test_with_an_index_built_over_the_vectors(tmp_path: Path, kind: Kind) -> None:
    if kind == "ivfpq":
        pytest.importorskip("faiss")
    index = IndexOptions(kind, exact_until=10, nlist=1 if kind == "ivfpq" else None)
    with EdgeStore.create(tmp_path / "index", toy_header(ENCODER), index=index, retention=ALL) as store:
        archive = Archive(tmp_path / "index", store)
        archive.put("\n".join(f"filler {n} {n * n}" for n in range(300)), "toy:d")
        fill(archive)
        assert store.optimize()
        store.purge([A])
        assert traces(tmp_path / "index") == []
        store.optimize()
        assert traces(tmp_path / "index") == []
        assert store.check() == []


def test_the_same_text_in_another_document_stays(archive: Archive) -> None:
    fill(archive)
    archive.put(SECRETS[0], "toy:other")
    archive.store.purge([A])
    assert archive.words("treasure") == [SECRETS[0]]
    assert [trace.partition(" in ")[0] for trace in traces(archive.folder) if "two" in trace or "gold" in trace] == []


def test_what_is_said_of_it_elsewhere_goes_too(archive: Archive) -> None:
    archive.put("kept words", "toy:b", year=1990)
    archive.put(SECRETS[0], "toy:secret-name", year=1990, nightingale_budget=12)
    moved = FileOutcome("toy:b", "moved", document_id("toy:b"), 1, detail="from toy:secret-name")
    warned = FileOutcome("toy:c", "skipped", reason="damaged", detail="no text", warnings=("as toy:secret-name",))
    archive.store.note_run("sync", AddReport((moved, warned), 0.1))
    archive.store.purge([A])
    assert traces(archive.folder) == []
    assert all(b"nightingale" not in file.read_bytes() for file in archive.folder.rglob("*") if file.is_file())
    (run,) = archive.store.runs()
    assert [(each.uri, each.detail, each.warnings) for each in run.outcomes] == [
        ("toy:b", "", ()),
        ("toy:c", "no text", ()),
    ]
    assert [hit.rank for hit in archive.store.search_lexical("kept", 9, {"year": 1990})] == [1]
    with pytest.raises(InputError, match="nightingale"):
        archive.store.search_lexical("kept", 9, {"nightingale_budget": 12})


@pytest.mark.parametrize("name", ["reindex", "importing"])
def test_an_index_that_was_being_made_goes_too(archive: Archive, name: str) -> None:
    fill(archive)
    with EdgeStore.create(archive.folder / name, toy_header(ENCODER), retention=ALL) as left:
        Archive(archive.folder / name, left).put(SECRETS[0], "toy:secret-name")
    archive.store.remove(document_id("toy:b"))
    assert (archive.folder / name).is_dir()
    archive.store.purge([A])
    assert traces(archive.folder) == []


def test_copies_are_removed_documents_and_named_ones(archive: Archive) -> None:
    archive.put("earlier words", "toy:far")
    archive.put("earlier words", "toy:first")
    for uri in ("toy:first", "toy:second", "toy:copy", "toy:once"):
        archive.put("the same words", uri)
    archive.put("other words", "toy:once")
    for uri in ("toy:first", "toy:far", "toy:once"):
        archive.store.remove(document_id(uri))
    found = copies(archive.store.history(), document_id("toy:second"))
    assert [(each.uri, each.version) for each in found.removed] == [("toy:first", 1), ("toy:first", 2)]
    # What has bytes only of what is purged with it, or had them once, is named and stays.
    assert [each.uri for each in found.held] == ["toy:copy", "toy:far", "toy:once"]
    assert copies(archive.store.history(), document_id("toy:nothing")) == ((), ())


def test_cut_off_it_is_finished_at_the_next_opening(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(archive)
    with monkeypatch.context() as patched:
        patched.setattr(EdgeStore, "compact", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            archive.store.purge([A])
    assert archive.words("treasure") == []
    assert traces(archive.folder)
    assert any("purge" in problem for problem in archive.store.check())
    archive.reopen()
    assert traces(archive.folder) == []
    assert archive.store.check() == []


def test_cut_off_it_can_be_said_again(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(archive)
    with monkeypatch.context() as patched:
        patched.setattr(Catalogue, "vacuum", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            archive.store.purge([A])
    archive.store.purge([A])
    assert traces(archive.folder) == []
    assert archive.store.check() == []


def test_without_room_for_it_the_index_opens_and_says_so(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(archive)
    with monkeypatch.context() as patched:
        patched.setattr(exchange, "create_shard", _no_room)
        with pytest.raises(StoreError, match="No space"):
            archive.store.purge([A])
        archive.reopen()
        assert archive.words("treasure") == []
        assert any("purge" in problem for problem in archive.store.check())
    archive.reopen()
    assert traces(archive.folder) == []
    assert archive.store.check() == []


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _no_room(*_: object) -> None:
    raise OSError(28, "No space left on device")
