"""A disk that is full: nothing is written, what is in the index is still found."""

from __future__ import annotations

import shutil
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest
from version_helpers import ALL, Archive, make_archive

from pincite.errors import StoreError
from pincite.store.edge import EdgeStore
from pincite.store.room import RESERVE, size_on_disk
from toys import ToyEncoder, toy_header

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    made = make_archive(tmp_path / "index", monkeypatch, ALL)
    yield made
    made.store.close()


def leave(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12 - free, free))


def test_a_full_disk_is_told_before_anything_is_written(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.put("alpha one")
    with monkeypatch.context() as full:
        leave(full, RESERVE - 1)
        for change in (
            lambda: archive.put("alpha two"),
            lambda: archive.store.commit([]),
            lambda: archive.store.remove(archive.store.documents()[0].id),
            archive.store.compact,
        ):
            with pytest.raises(StoreError, match=r"^the disk is full: 64 MB free in .*index, \d+ MB needed"):
                change()
        assert archive.words("alpha") == ["alpha one"]
    archive.put("alpha three")
    assert archive.words("alpha") == ["alpha three"]
    assert archive.store.check() == []


def test_an_index_on_a_full_disk_is_opened_and_searched(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.put("alpha one")
    archive.put("alpha two")
    archive.stage("alpha cut off")
    with monkeypatch.context() as full:
        leave(full, 1_000_000)
        archive.reopen()
        assert archive.words("alpha") == ["alpha two"]
        assert archive.near("alpha") == ["alpha two"]
        assert archive.store.point_count == 3  # what is left of the version that was cut off waits
        leave(full, 999_999)
        with pytest.raises(StoreError, match=r"the disk is full: 1.0 MB free in .*, 1 MB needed to open"):
            archive.reopen()
    archive.store = EdgeStore.open(archive.folder, retention=ALL)
    assert archive.store.point_count == 2
    assert archive.store.check() == []


def test_no_index_is_made_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(monkeypatch, RESERVE - 1)
    with pytest.raises(StoreError, match="the disk is full"):
        EdgeStore.create(tmp_path / "index", toy_header(ToyEncoder(8)))
    assert not EdgeStore.exists(tmp_path / "index")


def test_a_copy_needs_room_for_all_that_is_copied(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.put("alpha one")
    taken = sum(size_on_disk(each) for each in archive.folder.glob("points-*.edge"))
    assert taken > 1
    with monkeypatch.context() as full:
        leave(full, RESERVE + taken // 2)
        with pytest.raises(StoreError, match="the disk is full"):
            archive.store.compact()
    archive.store.compact()
    assert archive.words("alpha") == ["alpha one"]


def test_a_disk_that_does_not_say_is_believed(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: object) -> Usage:
        raise OSError("not supported")

    monkeypatch.setattr(shutil, "disk_usage", unknown)
    archive.put("alpha one")
    assert archive.words("alpha") == ["alpha one"]
