"""An index of format 1, as an earlier pincite made it, is brought to the present format where it is."""

from __future__ import annotations

import sqlite3
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from pincite.errors import IndexFormatError
from pincite.store import edge, migrate
from pincite.store.catalogue import Catalogue
from pincite.store.edge import EdgeStore
from pincite.store.plan import Retention
from pincite.store.schema import FORMAT, SCHEMA
from pincite.types import PointInTime
from toys import copy_index

STORED = Path(__file__).parents[2] / "data" / "index-format-1.tar.gz"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(STORED) as archive:
        if sys.version_info >= (3, 12):
            archive.extractall(tmp_path, filter="data")
        else:
            archive.extractall(tmp_path)
    (found,) = tmp_path.rglob("catalogue.sqlite")
    return found.parent


def facts(folder: Path) -> dict[str, Any]:
    with EdgeStore.open(folder, retention=Retention(None)) as store:
        assert store.check() == []
        return {
            Path(each.uri).name: (each, store.get_document(each.id), store.chunks(each.id))
            for each in store.documents()
        }


def test_everything_is_there(old: Path) -> None:
    with sqlite3.connect(old / "catalogue.sqlite") as database:
        before = database.execute(
            "SELECT document_id, version, uri, title, text, chunks, added_at FROM versions WHERE state = 'current'"
        ).fetchall()
        numbers = database.execute("SELECT * FROM numbers ORDER BY 1").fetchall()
    database.close()
    assert len(before) == 3
    with EdgeStore.open(old, retention=Retention(None)) as store:
        assert store.check() == []
        listed = store.documents()
        texts = {each.id: store.get_document(each.id) for each in listed}
        after = [
            (e.id, e.version, e.uri, e.title, text.text, e.chunks, e.added_at)
            for e in listed
            if (text := texts[e.id]) is not None
        ]
        assert sorted(after) == sorted(before)
        assert all((e.starts, e.ended_at, e.removed_on, e.source) == ("", "", "", e.uri) for e in listed)
        assert [source.uri for source in store.sources()] == [each.uri for each in listed]
        for each in listed:
            chunk = store.chunks(each.id)[0]
            (vector,) = store.vectors([chunk.id])
            assert store.search_dense(vector, 1)[0].chunk_id == chunk.id
            assert chunk.id in {hit.chunk_id for hit in store.search_lexical(chunk.text, 9)}
            assert store.search_lexical(chunk.text, 9, at=PointInTime(as_of="1990-01-01"))
        # Also of documents that were removed.
        assert {e.id for e in listed} <= {document for document, _ in numbers}
        assert [(document, store.next_version(document) - 1) for document, _ in numbers] == numbers


def test_it_goes_on_as_any_other(old: Path) -> None:
    with EdgeStore.open(old, retention=Retention(None)) as store:
        limit = next(each for each in store.documents() if each.uri.endswith("limit.txt"))
        assert limit.version == 2
        count = store.point_count
        assert store.remove(limit.id, "2024-01-01")
        assert store.find(document_id=limit.id) is None
        assert store.point_count == count
        text = store.get_document(limit.id, 2)
        assert text is not None
        assert store.search_lexical(text.text, 9, at=PointInTime(as_of="2023-12-31"))
        assert store.purge([limit.id]) == 1
        assert store.check() == []
    with EdgeStore.open(old) as store:
        assert store.next_version(limit.id) == 3


def test_the_database_is_laid_out_as_a_new_one(old: Path, tmp_path: Path) -> None:
    EdgeStore.open(old).close()
    fresh = Catalogue(tmp_path / "fresh.sqlite")
    for statement in SCHEMA.values():
        with fresh.transaction() as connection:
            connection.execute(statement)
    query = "SELECT type, name, sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name"
    brought = Catalogue(old / "catalogue.sqlite")

    def plain(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return [(kind, name, " ".join(sql.replace('"', "").split())) for kind, name, sql in rows]

    assert plain(brought.rows(query)) == plain(fresh.rows(query))
    assert brought.format() == str(FORMAT)
    brought.close()
    fresh.close()


def test_cut_off_anywhere_it_has_one_format_or_the_other(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = facts(copied(old, "whole"))
    places: list[tuple[Any, str]] = [(migrate, "create_past_index"), (Catalogue, "transaction"), (edge, "migrate")]
    for n, (owner, name) in enumerate(places):
        folder = copied(old, f"copy-{n}")
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, _interrupt)
            with pytest.raises(KeyboardInterrupt):
                EdgeStore.open(folder)
        again = facts(folder)
        assert again.keys() == expected.keys()
        assert {name: each[1] for name, each in again.items()} == {name: each[1] for name, each in expected.items()}


def test_a_failure_within_the_transaction_leaves_format_1(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "SCHEMA", {**SCHEMA, "broken": "CREATE NONSENSE"})
        with pytest.raises(Exception, match="syntax"):
            EdgeStore.open(old)
    with sqlite3.connect(old / "catalogue.sqlite") as database:
        assert database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone() == ("1",)
    database.close()
    assert len(facts(old)) == 3


def test_what_was_half_written_in_it_is_gone(old: Path) -> None:
    with sqlite3.connect(old / "catalogue.sqlite") as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(versions)") if row[1] != "key"]
        named = ", ".join(columns)
        taken = ", ".join(
            {"state": "'staged'", "version": "version + 10", "text": "'half'"}.get(each, each) for each in columns
        )
        database.execute(f"INSERT INTO versions ({named}) SELECT {taken} FROM versions WHERE state = 'current'")
    database.close()
    assert len(facts(old)) == 3
    with EdgeStore.open(old) as store:
        assert [each.version for each in store.history() if each.version > 9] == []


def test_a_later_format_is_refused(old: Path) -> None:
    EdgeStore.open(old).close()
    with sqlite3.connect(old / "catalogue.sqlite") as database:
        database.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
    database.close()
    with pytest.raises(IndexFormatError, match="format 99"):
        EdgeStore.open(old)


def copied(folder: Path, name: str) -> Path:
    target = folder.with_name(name)
    copy_index(folder, target)
    return target


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
