"""An index in one file: what comes back, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adding_helpers import Library, told

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


def create(folder: Path, header: StoreHeader) -> EdgeStore:
    return EdgeStore.create(folder, header, retention=KEEP)


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
        import_store(tmp_path / "library.pincite", tmp_path / "again", create)
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
        import_store(tmp_path / "changed", tmp_path / "again", create)
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"not a zip at all" * 99])
def test_what_is_no_export_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(InputError, match="no export of pincite"):
        import_store(tmp_path / "file", tmp_path / "again", create)
    with pytest.raises(InputError, match="no file"):
        import_store(tmp_path / "nowhere", tmp_path / "again", create)


def test_vectors_come_back(store: EdgeStore, tmp_path: Path) -> None:
    with store:
        export_store(store, tmp_path / "library.pincite")
        ids = [chunk.id for each in store.history() for chunk in store.chunks(each.id, each.version)]
        before = store.vectors(ids)
    import_store(tmp_path / "library.pincite", tmp_path / "again", create)
    with EdgeStore.open(tmp_path / "again") as again:
        np.testing.assert_allclose(again.vectors(ids), before, atol=1e-7)


def test_what_changes_while_it_is_written_is_found_by_the_next_sync(tmp_path: Path) -> None:
    library = Library(tmp_path)
    file = library.write("a.txt", "old words")
    library.pipeline.sync(library.files)

    class Changing(AddListener):
        def reading(self, uri: str) -> None:
            file.write_text("new words")
            assert uri
            library.write("b.txt", "more words")
            library.pipeline.sync(library.files)

    export_store(library.store, tmp_path / "library.pincite", Changing())
    library.close()
    (tmp_path / "index").rename(tmp_path / "old")
    import_store(tmp_path / "library.pincite", tmp_path / "index", create)
    again = Library(tmp_path)
    assert again.texts() == {"a.txt": "old words"}
    assert told(again.pipeline.sync(again.files).outcomes) == {"a.txt": "updated", "b.txt": "added"}
    assert again.texts() == {"a.txt": "new words", "b.txt": "more words"}
    again.close()


def test_of_what_was_deleted_meanwhile_there_is_no_source(store: EdgeStore, tmp_path: Path) -> None:
    class Purging(AddListener):
        def reading(self, uri: str) -> None:
            if uri == "toy:gone":
                store.purge([make_document("", "toy:valve").id])

    with store:
        assert len(export_store(store, tmp_path / "library.pincite", Purging()).gone) == 2
    import_store(tmp_path / "library.pincite", tmp_path / "again", create)
    with EdgeStore.open(tmp_path / "again", retention=KEEP) as again:
        assert [each.uri for each in again.sources()] == ["toy:lease"]


def test_numbers_are_not_given_again(store: EdgeStore, tmp_path: Path) -> None:
    ids = [make_document("", uri).id for uri in TEXTS]
    with store:
        store.purge([make_document("", "toy:valve").id])
        before = [store.next_version(each) for each in ids]
        export_store(store, tmp_path / "library.pincite")
    assert before == [3, 2, 2]
    import_store(tmp_path / "library.pincite", tmp_path / "again", create)
    with EdgeStore.open(tmp_path / "again", retention=KEEP) as again:
        assert [again.next_version(each) for each in ids] == before


KILLED = """
import os, sys
from pathlib import Path
from pincite.indexing import AddListener
from pincite.portable import import_store
from pincite.store.edge import EdgeStore

class Killing(AddListener):
    def reading(self, uri):
        if uri == "toy:valve":
            os.kill(os.getpid(), 9)

import_store(Path(sys.argv[1]), Path(sys.argv[2]), EdgeStore.create, Killing())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills itself as POSIX does")
def test_killed_it_leaves_no_index_and_the_next_one_clears_up(store: EdgeStore, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    with store:
        export_store(store, tmp_path / "library.pincite")
        count = len(store.history())
    run = [sys.executable, "-c", KILLED, str(tmp_path / "library.pincite"), str(folder)]
    assert subprocess.run(run, check=False).returncode == -9
    assert (folder / "importing" / "catalogue.sqlite").is_file()
    assert not EdgeStore.exists(folder)
    import_store(tmp_path / "library.pincite", folder, create)
    assert not (folder / "importing").exists()
    with EdgeStore.open(folder, retention=KEEP) as again:
        assert len(again.history()) == count
        assert again.check() == []


@pytest.mark.parametrize("there", [True, False])
def test_interrupted_it_leaves_nothing(store: EdgeStore, tmp_path: Path, there: bool) -> None:
    class Interrupting(AddListener):
        def reading(self, uri: str) -> None:
            if uri == "toy:valve":
                raise KeyboardInterrupt

    folder = tmp_path / "again"
    if there:
        folder.mkdir()
    with store:
        export_store(store, tmp_path / "library.pincite")
    with pytest.raises(KeyboardInterrupt):
        import_store(tmp_path / "library.pincite", folder, create, Interrupting())
    assert folder.exists() == there
    assert not there or list(folder.iterdir()) == []


def test_an_index_that_is_there_is_left_alone(store: EdgeStore, tmp_path: Path) -> None:
    with store:
        export_store(store, tmp_path / "library.pincite")
        before = store.history()
    with pytest.raises(InputError, match="already"):
        import_store(tmp_path / "library.pincite", tmp_path / "index", create)
    with EdgeStore.open(tmp_path / "index", retention=KEEP) as again:
        assert again.history() == before


def hostile(source: Path, target: Path, member: str, change: Callable[[bytes], bytes]) -> None:
    """The file with one member changed, and its hash with it."""
    with zipfile.ZipFile(source) as old:
        members = {name: old.read(name) for name in old.namelist()}
    members[member] = change(members[member])
    manifest = json.loads(members["pincite.json"])
    if member != "pincite.json":
        manifest["sha256"][member] = hashlib.sha256(members[member]).hexdigest()
        members["pincite.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("document", "id"), 7),
        (("document", "id"), "two words"),
        (("document", "text"), None),
        (("document", "title"), "\ud800"),
        (("document", "version"), 0),
        (("document", "version"), 1 << 70),
        (("document", "version"), True),
        (("document", "metadata"), []),
        (("document", "metadata"), {"a": [1]}),
        (("document", "metadata"), {"valid_to": "soon"}),
        (("document", "pages"), [{"number": 1, "start": 0, "end": 10**9, "label": ""}]),
        (("document", "headings"), [{"level": "1", "text": "a", "start": 0, "end": 1}]),
        (("document", "warnings"), "words"),
        (("document",), None),
        (("stored", "id"), "another"),
        (("stored", "added_at"), "zzz"),
        (("stored", "added_at"), "2024-13-01T00:00:00+00:00"),
        (("stored", "ended_at"), "xx24-01-01T00:00:00.000+00:00"),
        (("stored", "starts"), "1990"),
        (("stored", "removed_on"), "2024-02-30"),
        (("stored", "characters"), 1),
        (("stored", "chunks"), 99),
        (("stored", "recipe"), None),
        (("chunks", 0, "end"), 10**9),
        (("chunks", 0, "start"), -1),
        (("chunks", 0, "start"), 0.5),
        (("chunks", 0, "ordinal"), "0"),
        (("chunks", 0, "ordinal"), 1 << 60),
        (("chunks", 0, "headings"), "words"),
        (("chunks", 0, "parent"), [0]),
        (("chunks", 0, "page"), "one"),
        (("chunks",), {"a": 1}),
        (("unknown",), 1),
    ],
)
def test_a_line_that_cannot_be_is_refused_and_named(
    small: Path, tmp_path: Path, path: tuple[str | int, ...], value: Any
) -> None:
    def change(data: bytes) -> bytes:
        first, second = data.splitlines()
        record = json.loads(second)
        at = record
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        return first + b"\n" + json.dumps(record).encode() + b"\n"

    hostile(small, tmp_path / "hostile", "versions.jsonl", change)
    with pytest.raises(InputError, match=r"line 2 of versions\.jsonl"):
        import_store(tmp_path / "hostile", tmp_path / "again", create)
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("member", "change"),
    [
        ("versions.jsonl", lambda _: b"[" * 100_000 + b"\n"),
        ("versions.jsonl", lambda _: b"\xff\n"),
        ("versions.jsonl", lambda data: data.splitlines()[0] + b"\n"),
        ("versions.jsonl", lambda data: data + data.splitlines()[0] + b"\n"),
        ("sources.jsonl", lambda _: b'{"uri": 1, "content_hash": "a"}\n'),
        ("sources.jsonl", lambda _: b"[]\n"),
        ("vectors.f32", lambda data: data + b"more"),
        ("vectors.f32", lambda data: data[:-4]),
        ("vectors.f32", lambda data: b"\0" * len(data)),
        ("pincite.json", lambda _: b"[" * 100_000),
        ("pincite.json", lambda _: b"[]"),
        ("pincite.json", lambda data: data.replace(b'"dimension": 8', b'"dimension": -8')),
        ("pincite.json", lambda data: data.replace(b'"numbers": {', b'"numbers": {"a": "b",')),
        ("pincite.json", lambda data: data.replace(b'"versions": 2', b'"versions": 1e999')),
    ],
)
def test_what_is_damaged_is_refused(small: Path, tmp_path: Path, member: str, change: Callable[[bytes], bytes]) -> None:
    hostile(small, tmp_path / "hostile", member, change) if member != "pincite.json" else rewritten(
        small, tmp_path / "hostile", lambda name, data: change(data) if name == member else data
    )
    with zipfile.ZipFile(small) as one, zipfile.ZipFile(tmp_path / "hostile") as other:
        assert one.read(member) != other.read(member)
    with pytest.raises(InputError, match="hostile"):
        import_store(tmp_path / "hostile", tmp_path / "again", create)
    assert not (tmp_path / "again").exists()


def test_damaged_bytes_are_refused(small: Path, tmp_path: Path) -> None:
    data = bytearray(small.read_bytes())
    with zipfile.ZipFile(small) as archive:
        start = archive.getinfo("versions.jsonl").header_offset + 60
    data[start : start + 40] = os.urandom(40)
    (tmp_path / "hostile").write_bytes(data)
    with pytest.raises(InputError, match="hostile"):
        import_store(tmp_path / "hostile", tmp_path / "again", create)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of two documents."""
    folder = tmp_path_factory.mktemp("small")
    encoder = ToyEncoder(8)
    with EdgeStore.create(folder / "index", toy_header(encoder), retention=KEEP) as store:
        for uri in ("toy:valve", "toy:lease"):
            put(store, encoder, make_document(TEXTS[uri][0], uri))
        export_store(store, folder / "library.pincite")
    return folder / "library.pincite"
