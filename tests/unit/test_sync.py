"""Keeping an index in step with a folder: what is told before is what is done, and nothing is lost on the way."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from adding_helpers import Library, told
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite import syncing
from pincite.errors import InputError
from pincite.sources import Found
from pincite.types import AddReport


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    yield made
    made.close()


def facts(report: AddReport) -> list[tuple[str, str, str]]:
    """Of each file what became of it, and from where it moved."""
    return sorted((Path(each.uri).name, each.status, Path(each.detail).name) for each in report.outcomes)


def test_new_changed_moved_and_deleted(library: Library) -> None:
    for name in ("same", "changed", "moved", "deleted"):
        library.write(f"{name}.txt", f"the words of {name}")
    library.pipeline.sync(library.files)
    library.write("changed.txt", "other words")
    library.write("new.txt", "new words")
    (library.files / "sub").mkdir()
    (library.files / "moved.txt").rename(library.files / "sub" / "here.txt")
    (library.files / "deleted.txt").unlink()
    before = library.store.history()
    foreseen = library.pipeline.sync(library.files, dry_run=True)
    assert library.store.history() == before
    assert library.texts().keys() == {"same.txt", "changed.txt", "moved.txt", "deleted.txt"}
    report = library.pipeline.sync(library.files)
    assert told(report.outcomes) == {
        "same.txt": "unchanged",
        "changed.txt": "updated",
        "new.txt": "added",
        "here.txt": "moved",
        "moved.txt": "removed",
        "deleted.txt": "removed",
    }
    assert facts(report) == facts(foreseen)
    assert report.encoded == 2, "what moved is not encoded again"
    assert library.texts() == {
        "same.txt": "the words of same",
        "changed.txt": "other words",
        "new.txt": "new words",
        "here.txt": "the words of moved",
    }
    again = library.pipeline.sync(library.files)
    assert {each.status for each in again.outcomes} == {"unchanged"}


def test_a_moved_file_alone_encodes_nothing_and_keeps_what_was_said_of_it(library: Library) -> None:
    path = library.write("a.txt", "some words")
    library.pipeline.add(path, metadata={"team": "red"})
    path.rename(library.files / "b.txt")
    report = library.pipeline.sync(library.files, valid_from="2024-02-02")
    assert report.encoded == 0
    (stored,) = library.pipeline.documents()
    assert (Path(stored.uri).name, stored.metadata["team"], stored.starts) == ("b.txt", "red", "2024-02-02")
    for day in ("2024-02-01", "2024-02-02"):
        assert library.found("words", as_of=day) == ["some words"], day


def test_what_is_deleted_is_out_of_force_from_the_day_given(library: Library) -> None:
    library.write("a.txt", "alpha words")
    library.write("b.txt", "other words")
    library.pipeline.sync(library.files)
    (library.files / "a.txt").unlink()
    library.pipeline.sync(library.files, valid_from="2024-02-02")
    assert library.found("alpha") == []
    assert library.found("alpha", as_of="2024-02-01") == ["alpha words"]
    assert library.found("alpha", as_of="2024-02-02") == []


def test_what_is_as_it_was_keeps_its_days(library: Library) -> None:
    library.write("a.txt", "some words")
    library.pipeline.sync(library.files, valid_from="2020-01-01")
    report = library.pipeline.sync(library.files, valid_from="2024-02-02")
    assert told(report.outcomes) == {"a.txt": "unchanged"}
    assert library.pipeline.documents()[0].starts == "2020-01-01"


def test_metadata_given_with_sync_is_foreseen(library: Library) -> None:
    library.write("a.txt", "some words")
    library.pipeline.sync(library.files)
    foreseen = library.pipeline.sync(library.files, metadata={"team": "red"}, dry_run=True)
    report = library.pipeline.sync(library.files, metadata={"team": "red"})
    assert facts(report) == facts(foreseen)
    assert told(report.outcomes) == {"a.txt": "updated"}


def test_a_file_that_cannot_be_read_keeps_its_version(library: Library) -> None:
    library.write("a.txt", "some words")
    library.write("b.txt", "other words")
    library.pipeline.sync(library.files)
    library.write("a.txt", "")
    (library.files / "b.txt").unlink()
    (library.files / "b.txt").symlink_to("nowhere")
    for _ in range(2):
        report = library.pipeline.sync(library.files)
        assert told(report.outcomes) == {"a.txt": "skipped", "b.txt": "skipped"}
        assert library.texts() == {"a.txt": "some words", "b.txt": "other words"}


def test_a_folder_that_cannot_be_looked_into_keeps_its_documents(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = library.files / "closed"
    library.write("closed/a.txt", "some words")
    library.write("b.txt", "other words")
    library.pipeline.sync(library.files)
    # As it is for who may not enter: the folder is named unreadable, and of what is in it nothing can be told.
    real = os.path.isfile
    monkeypatch.setattr(
        syncing,
        "find_files",
        lambda _: iter([Found(library.files / "b.txt"), Found(closed, "unreadable", "Permission denied")]),
    )
    monkeypatch.setattr(os.path, "isfile", lambda path: str(closed) not in str(path) and real(path))
    report = library.pipeline.sync(library.files)
    assert told(report.outcomes) == {"b.txt": "unchanged", "closed": "skipped"}
    assert library.texts().keys() == {"a.txt", "b.txt"}


def test_an_empty_folder_is_refused_unless_it_is_meant(library: Library) -> None:
    library.write("a.txt", "some words")
    library.pipeline.sync(library.files)
    (library.files / "a.txt").unlink()
    for dry in (True, False):
        with pytest.raises(InputError, match="is empty"):
            library.pipeline.sync(library.files, dry_run=dry)
    assert library.texts() == {"a.txt": "some words"}
    assert told(library.pipeline.sync(library.files, remove_all=True).outcomes) == {"a.txt": "removed"}
    assert library.texts() == {}
    assert library.pipeline.sync(library.files).outcomes == ()
    shutil.rmtree(library.files)
    with pytest.raises(InputError, match="is not a folder"):
        library.pipeline.sync(library.files)


def test_documents_from_elsewhere_are_left_alone(library: Library, tmp_path: Path) -> None:
    sibling = tmp_path / "files-too"
    sibling.mkdir()
    (sibling / "s.txt").write_text("sibling words")
    library.pipeline.add(sibling)
    library.pipeline.add_text("typed words", name="typed.txt")
    library.write("a.txt", "some words")
    library.pipeline.sync(library.files)
    shutil.rmtree(sibling)
    library.pipeline.sync(library.files)
    assert library.texts().keys() == {"s.txt", "stdin:typed.txt", "a.txt"}


def test_restored_and_synced_the_text_of_the_file_is_back(library: Library) -> None:
    path = library.write("a.txt", "first words")
    library.pipeline.sync(library.files)
    library.write("a.txt", "second words")
    library.pipeline.sync(library.files)
    library.pipeline.restore(path, 1)
    assert library.texts() == {"a.txt": "first words"}
    assert told(library.pipeline.sync(library.files, dry_run=True).outcomes) == {"a.txt": "updated"}
    report = library.pipeline.sync(library.files)
    assert (told(report.outcomes), report.encoded) == ({"a.txt": "updated"}, 0)
    assert library.texts() == {"a.txt": "second words"}
    assert [each.version for each in library.pipeline.history(path)] == [1, 2, 3, 4]


def test_removed_or_purged_and_synced_the_file_is_back(library: Library) -> None:
    path = library.write("a.txt", "some words")
    library.pipeline.sync(library.files)
    for n, away in enumerate((library.pipeline.remove, library.pipeline.purge), start=2):
        away(path)
        assert library.texts() == {}
        assert told(library.pipeline.sync(library.files).outcomes) == {"a.txt": "added"}
        assert library.pipeline.documents()[0].version == n


def test_a_source_of_several_documents_that_is_gone_goes_whole(library: Library) -> None:
    library.write("x.box", "one=first words\ntwo=second words\n")
    library.write("a.txt", "some words")
    library.pipeline.sync(library.files)
    (library.files / "x.box").unlink()
    foreseen = library.pipeline.sync(library.files, dry_run=True)
    report = library.pipeline.sync(library.files)
    assert facts(report) == facts(foreseen)
    assert library.texts() == {"a.txt": "some words"}


# Any edits


def _edit(rng: random.Random, files: Path) -> None:
    names = [f"{letter}.txt" for letter in "abcdef"]
    path = files / rng.choice(names)
    match rng.choice(["write", "write", "move", "delete", "copy"]):
        case "write":
            path.write_text(rng.choice(["red words", "blue words", "green words", f"words {rng.randrange(99)}"]))
        case "move" if path.exists():
            path.rename(files / rng.choice(names))
        case "delete" if path.exists():
            path.unlink()
        case "copy" if path.exists():
            shutil.copy(path, files / f"copy-of-{path.name}")


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 8), min_size=2, max_size=5))
def test_a_dry_run_foretells_and_the_index_becomes_the_folder(seed: int, rounds: list[int]) -> None:
    rng = random.Random(seed)
    with TemporaryDirectory() as folder:
        library = Library(Path(folder))
        highest: dict[str, int] = {}
        try:
            for edits in rounds:
                for _ in range(edits):
                    _edit(rng, library.files)
                foreseen = library.pipeline.sync(library.files, dry_run=True, remove_all=True)
                known = {library.store.get_document(e.id, e.version).text for e in library.store.history()}  # type: ignore[union-attr]
                report = library.pipeline.sync(library.files, remove_all=True)
                assert facts(report) == facts(foreseen)
                there = {path.name: path.read_text() for path in library.files.iterdir()}
                assert library.texts() == there
                assert sorted(library.found("words")) == sorted(there.values())[:10] or len(there) > 10
                assert report.encoded == len(set(there.values()) - {text.strip() for text in known})
                for each in report.outcomes:
                    if each.status in ("added", "updated", "moved"):
                        assert each.version is not None
                        assert each.version == highest.get(each.uri, 0) + 1
                        highest[each.uri] = each.version
                again = library.pipeline.sync(library.files)
                assert {each.status for each in again.outcomes} <= {"unchanged"}
            assert library.store.check() == []
        finally:
            library.close()
