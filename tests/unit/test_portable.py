"""An index in one file: what comes back, and what is refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pincite.chunkers.structure import StructureChunker
from pincite.errors import InputError
from pincite.indexing import AddListener, Batch, copy_documents
from pincite.portable import export_store, import_store
from pincite.protocols import StoreHeader
from pincite.store.edge import EdgeStore
from pincite.store.plan import Retention
from pincite.types import Document, FileOutcome, PointInTime, StoredSource
from toys import ToyEncoder, make_document, toy_header

KEEP = Retention(versions=None)
TEXTS = {
    "toy:valve": ["The valve opens at 40 bar.", "The valve opens at 60 bar."],
    "toy:lease": ["# Lease\n\nThe tenant pays on the third day.\n\n# Notice\n\nThree months ahead."],
    "toy:gone": ["This note was removed."],
}


def put(store: EdgeStore, encoder: ToyEncoder, document: Document) -> None:
    batch = Batch(store, encoder, "toy", AddListener(), [])
    chunks = list(StructureChunker(encoder.tokenizer, size=12).chunk(document))
    batch.put(document, chunks, FileOutcome(document.uri, "added"), source=document.uri)
    batch.end_source(StoredSource(document.uri, document.content_hash, "toy", "toy"))
    batch.flush()


@pytest.fixture
def store(tmp_path: Path) -> EdgeStore:
    encoder = ToyEncoder()
    store = EdgeStore.create(tmp_path / "index", toy_header(encoder), retention=KEEP)
    for uri, texts in TEXTS.items():
        for version, text in enumerate(texts, 1):
            put(store, encoder, make_document(text, uri, version=version, metadata={"year": 1970 + version}))
    store.remove(make_document("", "toy:gone").id, on="2024-07-01")
    return store


def creator(folder: Path) -> Callable[[StoreHeader], EdgeStore]:
    return lambda header: EdgeStore.create(folder, header, retention=KEEP)


def everything(store: EdgeStore) -> tuple[object, ...]:
    encoder = ToyEncoder()
    query = encoder.encode_queries(["valve opens bar"])[0]
    history = store.history()
    return (
        store.header,
        history,
        [store.get_document(each.id, each.version) for each in history],
        [store.chunks(each.id, each.version) for each in history],
        store.sources(),
        [store.search_lexical("valve note", 9, at=PointInTime(as_of=day)) for day in ("1990-01-01", "2026-12-31")],
        [(hit.chunk_id, round(hit.score, 6)) for hit in store.search_dense(query, 9)],
        [store.next_version(each.id) for each in history],
    )


def test_everything_comes_back(store: EdgeStore, tmp_path: Path) -> None:
    with store:
        told = export_store(store, tmp_path / "library.pincite")
        assert (told.documents, told.versions, told.gone) == (2, 4, ())
        import_store(tmp_path / "library.pincite", creator(tmp_path / "again"))
        before = everything(store)
    with EdgeStore.open(tmp_path / "again", retention=KEEP) as again:
        assert everything(again) == before
        assert again.check() == []
        # What was encoded is known: the same text is not encoded again.
        encoder = ToyEncoder()
        batch = Batch(again, encoder, "toy", AddListener(), [])
        copy = make_document(TEXTS["toy:lease"][0], "toy:copy")
        chunks = list(StructureChunker(encoder.tokenizer, size=12).chunk(copy))
        batch.put(copy, chunks, FileOutcome(copy.uri, "added"))
        batch.flush()
        assert batch.encoded == 0


def test_a_copy_cut_anew_keeps_every_version(store: EdgeStore, tmp_path: Path) -> None:
    encoder = ToyEncoder()
    with store, EdgeStore.create(tmp_path / "again", toy_header(encoder), retention=KEEP) as again:
        assert copy_documents(store, again, StructureChunker(encoder.tokenizer, size=12), encoder, "toy") == 2
        assert everything(again)[1:] == everything(store)[1:]
        assert again.check() == []


def test_a_file_that_is_there_is_not_written_over(store: EdgeStore, tmp_path: Path) -> None:
    target = tmp_path / "library.pincite"
    target.write_text("mine")
    with store, pytest.raises(InputError, match="already"):
        export_store(store, target)
    assert target.read_text() == "mine"


def test_a_run_that_is_cut_off_leaves_no_file(store: EdgeStore, tmp_path: Path) -> None:
    class Interrupting(AddListener):
        def reading(self, uri: str) -> None:
            if uri == "toy:valve":
                raise KeyboardInterrupt

    with store, pytest.raises(KeyboardInterrupt):
        export_store(store, tmp_path / "library.pincite", Interrupting())
    assert [each.name for each in tmp_path.iterdir() if each.name != "index"] == []


def rewritten(source: Path, target: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            if (data := change(name, old.read(name))) is not None:
                new.writestr(name, data)


def truncated(name: str, data: bytes) -> bytes | None:
    return None if name == "pincite.json" else data


def altered(name: str, data: bytes) -> bytes:
    return data.replace(b"60 bar", b"90 bar") if name == "versions.jsonl" else data


def newer(name: str, data: bytes) -> bytes:
    return json.dumps({**json.loads(data), "format": 99}).encode() if name == "pincite.json" else data


@pytest.mark.parametrize(
    ("change", "told"), [(truncated, "cut off"), (altered, "is not what was written"), (newer, "has format 99")]
)
def test_a_file_that_is_not_whole_is_refused(
    store: EdgeStore, tmp_path: Path, change: Callable[[str, bytes], bytes | None], told: str
) -> None:
    with store:
        export_store(store, tmp_path / "library.pincite")
    rewritten(tmp_path / "library.pincite", tmp_path / "changed", change)
    with pytest.raises(InputError, match=told):
        import_store(tmp_path / "changed", creator(tmp_path / "again"))
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"not a zip at all" * 99])
def test_what_is_no_export_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(InputError, match="no export of pincite"):
        import_store(tmp_path / "file", creator(tmp_path / "again"))
    with pytest.raises(InputError, match="no file"):
        import_store(tmp_path / "nowhere", creator(tmp_path / "again"))


def test_vectors_come_back(store: EdgeStore, tmp_path: Path) -> None:
    with store:
        export_store(store, tmp_path / "library.pincite")
        ids = [chunk.id for each in store.history() for chunk in store.chunks(each.id, each.version)]
        before = store.vectors(ids)
    import_store(tmp_path / "library.pincite", creator(tmp_path / "again"))
    with EdgeStore.open(tmp_path / "again") as again:
        np.testing.assert_allclose(again.vectors(ids), before, atol=1e-7)
