"""Folders that are not, or not any more, an index: a clear error, and nothing of the user's is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import qdrant_edge as qdrant

from pincite.errors import IndexFormatError, InputError, StoreError
from pincite.store.edge import EdgeStore
from toys import ToyEncoder, copy_index, make_chunks, make_document, toy_header

ENCODER = ToyEncoder(8)


@pytest.fixture
def index(template: Path, tmp_path: Path) -> Path:
    """An index of one document with three chunks."""
    copy_index(template, tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "index"
    document = make_document("first line\nsecond line\nthird line")
    with EdgeStore.create(folder, toy_header(ENCODER)) as store:
        ticket = store.stage(document)
        chunks = make_chunks(document)
        store.stage_chunks(ticket, chunks, [""] * 3, ENCODER.encode_passages([chunk.text for chunk in chunks]))
        store.commit([ticket])
    return folder


def points(folder: Path) -> Path:
    (found,) = folder.glob("points-*")
    return found


def change(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "catalogue.sqlite")
    with connection:
        connection.execute(statement)
    connection.close()


def damage_shard(folder: Path, work: Callable[[qdrant.EdgeShard], object]) -> None:
    shard = qdrant.EdgeShard.load(str(points(folder)))
    work(shard)
    shard.flush()
    shard.close()


# What `check` finds


def test_check_finds_a_span_that_moved(index: Path) -> None:
    change(index, "UPDATE versions SET text = 'x' || text")
    with EdgeStore.open(index) as store:
        problems = store.check()
    assert len(problems) == 3
    assert "is not the text of its span 0-10" in problems[0]


def test_check_finds_a_point_that_is_gone(index: Path) -> None:
    damage_shard(index, lambda shard: shard.update(qdrant.UpdateOperation.delete_points([1 << 24 | 1])))
    with EdgeStore.open(index) as store:
        (problem,) = store.check()
    assert "3 chunks, 2 found" in problem


def test_check_finds_a_point_of_no_document(index: Path) -> None:
    with EdgeStore.open(index) as store:
        (hit,) = store.search_lexical("first", 1)
        (passage,) = store.passages([hit])
    payload = {
        "key": 77,
        "tags": [],
        "terms": "first",
        "id": passage.chunk.id,
        "document_id": passage.chunk.document_id,
        "text": "ghost",
    }
    ghost = qdrant.Point(id=77 << 24, vector={"dense": [1.0] * 8}, payload=payload)
    damage_shard(index, lambda shard: shard.update(qdrant.UpdateOperation.upsert_points([ghost])))
    with EdgeStore.open(index) as store:
        assert store.check() == [f"point {77 << 24} belongs to no document"]
        # Nobody sees it, and it brings nothing down.
        assert len(store.search_lexical("first", 9)) == 1
        assert len(store.search_dense(np.ones(8, np.float32), 9)) == 3


def test_check_finds_a_damaged_database(index: Path) -> None:
    path = index / "catalogue.sqlite"
    data = bytearray(path.read_bytes())
    page = int.from_bytes(data[16:18], "big")
    data[-page] = 0x55  # no such kind of page
    path.write_bytes(data)
    try:
        with EdgeStore.open(index) as store:
            assert store.check()
    except IndexFormatError:
        pass  # found on opening: as good


# What opening refuses


def rubbish(folder: Path) -> None:
    (folder / "catalogue.sqlite").write_bytes(os.urandom(8192))


def empty(folder: Path) -> None:
    (folder / "catalogue.sqlite").write_bytes(b"")


def foreign(folder: Path) -> None:
    (folder / "catalogue.sqlite").unlink()
    change(folder, "CREATE TABLE notes (text TEXT)")


def no_points(folder: Path) -> None:
    shutil.rmtree(points(folder))


def empty_points(folder: Path) -> None:
    shutil.rmtree(points(folder))
    (folder / "points-1.edge").mkdir()


def points_are_a_file(folder: Path) -> None:
    shutil.rmtree(points(folder))
    (folder / "points-1.edge").write_text("x")


def other_format(folder: Path) -> None:
    change(folder, "UPDATE meta SET value = '99' WHERE name = 'format'")


def no_format(folder: Path) -> None:
    change(folder, "DELETE FROM meta WHERE name = 'format'")


def no_identity(folder: Path) -> None:
    change(folder, "DELETE FROM meta WHERE name = 'identity'")


def bad_identity(folder: Path) -> None:
    change(folder, "UPDATE meta SET value = '{\"name\": 1' WHERE name = 'identity'")


def other_identity(folder: Path) -> None:
    change(folder, "UPDATE meta SET value = '{\"name\": 1}' WHERE name = 'identity'")


def bad_probes(folder: Path) -> None:
    change(folder, "UPDATE meta SET value = '7' WHERE name = 'probes'")


def points_not_named(folder: Path) -> None:
    change(folder, "DELETE FROM meta WHERE name = 'points'")


def no_tables(folder: Path) -> None:
    change(folder, "DROP TABLE versions")


def bad_config(folder: Path) -> None:
    (points(folder) / "edge_config.json").write_text("{")


def bad_segment(folder: Path) -> None:
    for path in points(folder).glob("segments/*/segment.json"):
        path.write_bytes(b"\x00" * 10)


def bad_vectors(folder: Path) -> None:
    """The engine panics on this one."""
    for path in points(folder).glob("segments/*/vector_storage-dense/vectors/status.dat"):
        os.truncate(path, 0)


@pytest.mark.parametrize(
    "damage",
    [
        rubbish,
        empty,
        foreign,
        no_points,
        empty_points,
        points_are_a_file,
        other_format,
        no_format,
        no_identity,
        bad_identity,
        other_identity,
        bad_probes,
        points_not_named,
        bad_config,
        bad_segment,
        bad_vectors,
    ],
)
def test_a_damaged_index_is_refused_with_words(index: Path, damage: Callable[[Path], None]) -> None:
    damage(index)
    for _ in range(2):  # the first attempt changes nothing for the second
        with pytest.raises(IndexFormatError) as caught:
            EdgeStore.open(index)
        assert str(index) in str(caught.value)
    if damage is other_format:
        assert "format 99" in str(caught.value)
    # Nor is it taken for an empty place.
    with pytest.raises(InputError, match="already"):
        EdgeStore.create(index, toy_header())


def test_a_database_without_its_tables_is_a_store_error(index: Path) -> None:
    no_tables(index)
    with pytest.raises(StoreError, match="versions"):
        EdgeStore.open(index)


def test_a_folder_in_the_place_of_the_catalogue(index: Path) -> None:
    (index / "catalogue.sqlite").unlink()
    (index / "catalogue.sqlite").mkdir()
    with pytest.raises(IndexFormatError, match="not a file"):
        EdgeStore.create(index, toy_header())
    with pytest.raises(InputError, match="no index"):
        EdgeStore.open(index)


def test_an_index_cut_off_while_it_was_made_is_made_again(index: Path) -> None:
    """The shard is there, the catalogue only as a draft: it never was."""
    (index / "catalogue.sqlite").rename(index / "catalogue.new")
    (index / "catalogue.new-wal").write_bytes(b"left over")
    assert not EdgeStore.exists(index)
    with EdgeStore.create(index, toy_header(ENCODER)) as store:
        assert store.point_count == 0
        assert store.documents() == []
    with EdgeStore.open(index) as store:
        assert store.check() == []


def test_what_is_not_the_stores_is_left_alone(tmp_path: Path) -> None:
    """What somebody puts beside an index stays, whatever it is called; among it no index is made."""

    def put() -> None:
        for name in ("points", "points-of-view.edge", "catalogue"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "mine.txt").write_text("mine")
        (tmp_path / "notes.txt").write_text("mine")

    EdgeStore.create(tmp_path, toy_header(ENCODER)).close()
    put()
    EdgeStore.open(tmp_path).close()
    assert sorted(path.parent.name for path in tmp_path.glob("*/mine.txt")) == [
        "catalogue",
        "points",
        "points-of-view.edge",
    ]
    assert (tmp_path / "notes.txt").exists()
    (tmp_path / "catalogue.sqlite").unlink()
    with pytest.raises(InputError, match="not of an index: name an empty or a new folder"):
        EdgeStore.create(tmp_path, toy_header(ENCODER))
    assert (tmp_path / "notes.txt").exists()


def test_a_stray_generation_is_cleared_away(index: Path) -> None:
    """An exchange that was cut off leaves points that no catalogue names."""
    shutil.copytree(points(index), index / "points-2.edge")
    with EdgeStore.open(index) as store:
        assert store.check() == []
        assert store.point_count == 3
    assert points(index).name == "points-1.edge"


def test_one_index_takes_the_place_of_another(index: Path, tmp_path: Path) -> None:
    for generation in (2, 3):
        document = make_document(f"generation {generation}", "toy:new", version=generation)
        with EdgeStore.create(tmp_path / "fresh", toy_header(ENCODER)) as fresh:
            ticket = fresh.stage(document)
            fresh.stage_chunks(ticket, make_chunks(document), [""], ENCODER.encode_passages([document.text]))
            fresh.commit([ticket])
        old = EdgeStore.open(index)
        old.give_place_to(tmp_path / "fresh")
        with pytest.raises(StoreError, match="closed"):
            old.documents()
        old.close()
        assert not (tmp_path / "fresh").exists()
        with EdgeStore.open(index) as store:
            assert [each.uri for each in store.documents()] == ["toy:new"]
            assert store.check() == []
        assert points(index).name == f"points-{generation}.edge"


def test_the_new_index_gives_no_number_that_the_old_one_gave(index: Path, tmp_path: Path) -> None:
    """A citation of a document that was removed must never come to mean another text."""
    gone, kept = make_document("first line"), make_document("kept", "toy:kept", version=7)
    with EdgeStore.open(index) as store:
        store.remove(gone.id)
        store.stage(make_document("staged", "toy:kept", version=4))
    with EdgeStore.create(tmp_path / "fresh", toy_header(ENCODER)) as fresh:
        ticket = fresh.stage(kept)
        fresh.stage_chunks(ticket, make_chunks(kept), [""], ENCODER.encode_passages([kept.text]))
        fresh.commit([ticket])
    EdgeStore.open(index).give_place_to(tmp_path / "fresh")
    with EdgeStore.open(index) as store:
        assert store.next_version(gone.id) == 2
        assert store.next_version(kept.id) == 8


# Where nothing can be written


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "index"):
        with pytest.raises(StoreError, match="cannot be made"):
            EdgeStore.create(path, toy_header())
        with pytest.raises(InputError, match="no index"):
            EdgeStore.open(path)


READ_ONLY = """
import os, sys
from pathlib import Path
import filelock
from pincite.errors import StoreError
from pincite.store.edge import EdgeStore
from toys import toy_header
if os.getuid() == 0:  # to whom nothing is forbidden
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
what, folder = sys.argv[1], Path(sys.argv[2])
try:
    EdgeStore.open(folder, timeout=0) if what == "open" else EdgeStore.create(folder, toy_header(), timeout=0)
except StoreError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_cannot_be_written(index: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    above = Path(tempfile.gettempdir()).resolve()
    for path in (tmp_path, *tmp_path.parents):
        if above in path.parents:  # let another user reach it
            path.chmod(path.stat().st_mode | 0o055)
    for path in (index, bare):
        path.chmod(0o555)
    for path in index.iterdir():
        path.chmod(0o444 if path.is_file() else 0o555)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for what, folder in (("open", index), ("create", bare), ("create", bare / "new")):
        result = subprocess.run(
            [sys.executable, "-c", READ_ONLY, what, str(folder)], env=environment, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith("StoreError "), result.stdout + result.stderr
        assert str(folder) in result.stdout
    for path in (index, bare):
        path.chmod(0o755)
