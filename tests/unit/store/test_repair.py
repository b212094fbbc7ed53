"""Damage done to the points by hand: it is found, told in words, and mended from the text that is kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import qdrant_edge as qdrant

from pincite.errors import IndexFormatError, InputError
from pincite.indexing import encode_chunks
from pincite.store.edge import EdgeStore
from pincite.store.engine import VECTOR
from pincite.store.payload import ORDINAL_BITS, PAST
from pincite.store.plan import Retention
from pincite.types import Chunk, Document, PointInTime
from toys import ToyEncoder, make_chunks, make_document, toy_header

KEEP = Retention(versions=None)
LONG_AGO = PointInTime(as_of="1900-01-01")
ENCODER = ToyEncoder()


def rewrite(document: Document) -> tuple[list[Chunk], list[str], object, list[bytes]]:
    chunks = make_chunks(document)
    return (chunks, *encode_chunks(document, chunks, ENCODER))


@pytest.fixture
def store(tmp_path: Path) -> EdgeStore:
    store = EdgeStore.create(tmp_path / "index", toy_header(ENCODER), retention=KEEP)
    for uri, version, text in (
        ("toy:valve", 1, "The valve opens at 40 bar.\nIt closes at 35 bar."),
        ("toy:valve", 2, "The valve opens at 60 bar.\nIt closes at 35 bar."),
        ("toy:lease", 1, "The tenant pays on the third day.\nNotice is given in writing."),
    ):
        ticket = store.stage(make_document(text, uri, version=version))
        store.stage_chunks(ticket, *rewrite(make_document(text, uri, version=version)))
        store.commit([ticket])
    return store


def state(store: EdgeStore) -> object:
    query = ENCODER.encode_queries(["valve opens bar"])[0]
    return [
        [(hit.chunk_id, round(hit.score, 5)) for hit in search]
        for at in (None, LONG_AGO)
        for search in (store.search_lexical("valve notice", 9, at=at), store.search_dense(query, 9, at=at))
    ]


def first_point(store: EdgeStore, uri: str, version: int) -> int:
    key = store._visible.key_of(make_document("", uri).id, version)
    assert key is not None
    return key << ORDINAL_BITS


def lose_a_point(store: EdgeStore) -> None:
    point = first_point(store, "toy:lease", 1)
    store._points.shard.update(qdrant.UpdateOperation.delete_points([point]))


def lose_the_mark(store: EdgeStore) -> None:
    point = first_point(store, "toy:valve", 1)
    store._points.shard.update(qdrant.UpdateOperation.delete_payload([point], [PAST]))


def change_the_text(store: EdgeStore) -> None:
    point = first_point(store, "toy:valve", 2)
    store._points.shard.update(qdrant.UpdateOperation.set_payload([point], {"text": "The valve never opens."}))


def add_a_stray(store: EdgeStore) -> None:
    payload = dict(store._points.payloads([first_point(store, "toy:lease", 1)]).popitem()[1])
    stray = qdrant.Point(id=999 << ORDINAL_BITS, vector={VECTOR: [1.0] * 16}, payload={**payload, "key": 999})
    store._points.shard.update(qdrant.UpdateOperation.upsert_points([stray]))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lose_a_point, "2 chunks, 1 found"),
        (lose_the_mark, "not marked so"),
        (change_the_text, "is not the text of its span"),
        (add_a_stray, "belongs to no document"),
    ],
)
def test_damage_is_found_and_mended(store: EdgeStore, damage: Callable[[EdgeStore], None], told: str) -> None:
    with store:
        assert store.check() == []
        before = state(store)
        damage(store)
        store._points.flush()
        found = store.check()
        assert any(told in each for each in found), found
        assert store.repair(rewrite) == found
        assert store.check() == []
        assert state(store) == before


def test_a_text_that_was_damaged_is_not_taken_for_the_right_one(store: EdgeStore) -> None:
    with store:
        with store._catalogue.transaction() as connection:
            connection.execute("UPDATE versions SET text = replace(text, '60 bar', '90 bar')")
        found = store.check()
        assert len(found) == 1
        assert "is not the text of its span" in found[0]
        assert store.repair(rewrite) == []
        assert store.check() == found
        texts = [each.chunk.text for each in store.passages(store.search_lexical("opens", 9))]
        assert texts == ["The valve opens at 60 bar."]


def test_points_that_cannot_be_opened_are_made_anew_of_the_catalogue(store: EdgeStore, tmp_path: Path) -> None:
    with store:
        before = state(store)
        points = store._catalogue.points()
    shutil.rmtree(tmp_path / "index" / points)
    with pytest.raises(IndexFormatError, match="doctor --repair"):
        EdgeStore.open(tmp_path / "index")
    with EdgeStore.open(tmp_path / "index", retention=KEEP, salvage=True) as again:
        assert any("0 found" in each for each in again.check())
        again.repair(rewrite)
        assert again.check() == []
        assert state(again) == before
    with EdgeStore.open(tmp_path / "index", retention=KEEP) as again:
        assert state(again) == before


def test_a_text_whose_vector_is_gone_is_encoded_again(store: EdgeStore) -> None:
    with store:
        document = make_document("The tenant pays on the third day.", "toy:other")
        _, _, digests = encode_chunks(document, make_chunks(document), ENCODER)
        assert set(store.encoded(digests)) == set(digests)
        lose_a_point(store)
        assert store.encoded(digests) == {}
        store.repair(rewrite)
        assert store.check() == []


def test_an_index_is_not_made_among_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "lease.md").write_text("The tenant pays.")
    with pytest.raises(InputError, match=r"lease\.md.*empty or a new folder"):
        EdgeStore.create(folder, toy_header(ENCODER))
    assert [each.name for each in folder.iterdir()] == ["lease.md"]
