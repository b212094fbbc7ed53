"""The side that asks, and which side one is: what a client gives, and what becomes of it when the holder changes.

Two stores of one process hold each other off as two processes do, so most of it needs one process only.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.errors import EncoderMismatchError, InputError, StoreBusyError, StoreError
from pincite.protocols import Store
from pincite.store import client as client_module
from pincite.store import rendezvous, wire
from pincite.store.client import HolderGoneError, StoreClient
from pincite.store.edge import EdgeStore
from pincite.store.serving import Serving
from pincite.store.shared import SharedStore, open_shared
from toys import ToyEncoder, copy_index, make_chunks, make_document, toy_header

ENCODER = ToyEncoder(8)


def stage(store: Any, text: str, uri: str = "toy:notes.txt") -> tuple[str, int]:
    document = make_document(text, uri)
    document = replace(document, version=store.next_version(document.id))
    ticket = store.stage(document)
    chunks = make_chunks(document)
    store.stage_chunks(ticket, chunks, [""] * len(chunks), ENCODER.encode_passages([c.text for c in chunks]))
    return document.id, ticket


def put(store: Any, text: str, uri: str = "toy:notes.txt") -> str:
    document_id, ticket = stage(store, text, uri)
    store.commit([ticket])
    return document_id


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with EdgeStore.create(tmp_path_factory.mktemp("template") / "index", toy_header(ENCODER)) as made:
        put(made, "river bank\nriver delta\nmountain top")
        return made.folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    copy_index(template, tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture
def held(folder: Path) -> Iterator[EdgeStore]:
    with EdgeStore.open(folder) as store:
        serving = Serving(folder, store)
        yield store
        serving.stop()


Open = Callable[..., SharedStore]


@pytest.fixture
def shared(folder: Path) -> Iterator[Open]:
    """Opens the index, as one process of several; all are closed in the end."""
    opened: list[SharedStore] = []

    def open_one(*, write: bool = False, timeout: float = 5.0) -> SharedStore:
        opened.append(
            open_shared(folder, lambda wait: EdgeStore.open(folder, timeout=wait), write=write, timeout=timeout)
        )
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def soon(true: Callable[[], bool], seconds: float = 5) -> bool:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.01)
    return true()


# A client alone


def test_a_client_gives_what_the_store_gives(held: EdgeStore) -> None:
    query = ENCODER.encode_queries(["river"])[0]
    (document,) = held.documents()
    names = [chunk.id for chunk in held.chunks(document.id)]
    with StoreClient(held.folder) as client:
        for ask in (
            lambda store: store.header,
            lambda store: store.document_count,
            lambda store: store.point_count,
            lambda store: store.indexed_count,
            lambda store: store.documents(),
            lambda store: store.find(uri="toy:notes.txt"),
            lambda store: store.find(document_id="none"),
            lambda store: store.next_version(document.id),
            lambda store: store.get_document(document.id),
            lambda store: store.get_document(document.id, 1),
            lambda store: store.search_dense(query, 2),
            lambda store: store.search_dense(query.astype(np.float64), k=3, exact=True),
            lambda store: store.search_dense(query, 3, {"uri": ["toy:notes.txt", "toy:other"]}),
            lambda store: store.search_lexical("river ¿第三? \ud83d", 10),
            lambda store: store.search_lexical("river", 10, {"page": 3}),
            lambda store: store.passages(held.search_lexical("river", 10)),
            lambda store: store.chunks(document.id),
            lambda store: store.vectors([*names, "gone"]).tolist(),
            lambda store: store.needs_optimizing(),
            lambda store: store.index_report(),
            lambda store: store.measure_recall(5),
            lambda store: store.check(),
        ):
            assert ask(client) == ask(held)
        assert client.vectors(names).dtype == np.float32
        assert client.vectors([]).shape == (0, 8)
        with pytest.raises(InputError, match="k must be at least 1, got 0"):
            client.search_lexical("river", 0)
        with pytest.raises(InputError):
            client.search_dense(query, 1, {"no such field": 1})


def test_it_has_every_method_of_a_store(held: EdgeStore) -> None:
    with StoreClient(held.folder) as client:
        for name in vars(Store):
            if not name.startswith("_"):
                assert hasattr(client, name), name
                assert hasattr(SharedStore, name), name


def test_a_large_document_passes(held: EdgeStore) -> None:
    text = "Straße 第三条 🙂 and so on\n" * 200_000
    document = replace(make_document(text, "toy:large"), version=1)
    held.commit([held.stage(document)])
    with StoreClient(held.folder) as client:
        assert client.get_document(document.id) == document


@pytest.mark.parametrize("name", wire.WRITES)
def test_a_client_that_writes_is_told_who_holds_the_index(held: EdgeStore, name: str) -> None:
    with StoreClient(held.folder) as client, pytest.raises(StoreBusyError) as caught:
        getattr(client, name)(["x"])
    assert f"process {os.getpid()}" in str(caught.value)
    assert str(held.folder) in str(caught.value)


def test_many_threads_share_a_few_connections(held: EdgeStore) -> None:
    expected = held.search_lexical("river", 5)
    problems: list[object] = []
    with StoreClient(held.folder) as client:

        def read() -> None:
            for _ in range(20):
                with client.reading():
                    hits = client.search_lexical("river", 5)
                    texts = [passage.chunk.text for passage in client.passages(hits)]
                if hits != expected or sorted(texts) != ["river bank", "river delta"]:
                    problems.append((hits, texts))

        threads = [in_thread(read) for _ in range(24)]
        for thread in threads:
            thread.join(30)
        assert problems == []
        assert 1 <= len(client._free) <= client_module.CONNECTIONS


def test_reading_sees_one_state_while_another_commits(held: EdgeStore) -> None:
    with StoreClient(held.folder) as client:
        with client.reading(), client.reading():
            hits = client.search_lexical("river", 5)
            writer = in_thread(lambda: put(held, "no more of it"))
            time.sleep(0.1)
            assert len(client.passages(hits)) == 2
        writer.join(5)
        assert client.passages(hits) == []
        assert client.search_lexical("river", 5) == []


def test_a_state_held_too_long_is_let_go_and_nothing_fails(folder: Path) -> None:
    with EdgeStore.open(folder) as store:
        serving = Serving(folder, store, session=0.1)
        with StoreClient(folder) as client:
            with client.reading():
                hits = client.search_lexical("river", 5)
                put(store, "no more of it")
                assert client.passages(hits) == []
            assert client.document_count == 1
        serving.stop()


def test_a_connection_that_was_idle_too_long_is_replaced(folder: Path) -> None:
    with EdgeStore.open(folder) as store:
        serving = Serving(folder, store, idle=0.05)
        with StoreClient(folder) as client:
            for _ in range(3):
                time.sleep(0.15)
                assert client.document_count == 1
                time.sleep(0.15)
                with client.reading():
                    assert client.document_count == 1
        serving.stop()


def test_no_holder_a_dead_one_and_one_that_stops_are_told(folder: Path) -> None:
    with pytest.raises(HolderGoneError):
        StoreClient(folder)
    with EdgeStore.open(folder) as store:
        serving = Serving(folder, store)
        said = (folder / rendezvous.FILE).read_text()
        client = StoreClient(folder)
        serving.stop()
        with pytest.raises(HolderGoneError):
            client.documents()
        client.close()
        with pytest.raises(HolderGoneError):
            client.documents()
    (folder / rendezvous.FILE).write_text(said)
    with pytest.raises(HolderGoneError):
        StoreClient(folder)


def test_a_holder_of_another_version_is_not_asked(held: EdgeStore) -> None:
    file = held.folder / rendezvous.FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), "wire": "older"}))
    with pytest.raises(StoreBusyError, match=f"process {os.getpid()}.*another version"):
        StoreClient(held.folder)


def test_a_holder_without_room_is_waited_for_and_then_named(folder: Path) -> None:
    with EdgeStore.open(folder) as store:
        serving = Serving(folder, store, connections=1)
        first = StoreClient(folder)
        started = time.monotonic()
        with pytest.raises(StoreBusyError, match="connections are taken"):
            StoreClient(folder, timeout=0.3)
        assert 0.1 < time.monotonic() - started < 3
        threading.Timer(0.2, first.close).start()
        with StoreClient(folder, timeout=5) as second:
            assert second.document_count == 1
        serving.stop()


def test_a_holder_that_is_silent_is_waited_for_and_then_named(folder: Path) -> None:
    listener, address = rendezvous.listen(backlog=5)
    rendezvous.publish(folder, address)
    started = time.monotonic()
    with pytest.raises(StoreBusyError, match="does not answer"):
        StoreClient(folder, timeout=0.3)
    assert time.monotonic() - started < 3
    listener.close()
    rendezvous.withdraw(folder, address)


# Whoever comes first holds it


def test_the_first_reader_holds_and_answers_the_others(shared: Open, folder: Path) -> None:
    first, second, third = shared(), shared(), shared()
    assert (first.holds, second.holds, third.holds) == (True, False, False)
    assert first.documents() == second.documents() == third.documents()
    assert second.header == first.header
    first.close()
    assert len(second.search_lexical("river", 5)) == len(third.search_lexical("river", 5)) == 2
    assert sorted((second.holds, third.holds)) == [False, True]
    first.close()
    for store in (second, third):
        store.close()
        with pytest.raises(StoreError, match="was closed"):
            store.documents()
    assert not (folder / rendezvous.FILE).exists()
    assert not (folder / "holder.json").exists()
    with EdgeStore.open(folder, timeout=0) as store:
        assert store.check() == []


def test_readers_give_way_to_a_writer_and_go_on(shared: Open) -> None:
    reader, other = shared(), shared()
    writer = shared(write=True)
    assert (reader.holds, other.holds, writer.holds) == (False, False, True)
    put(writer, "a new text", "toy:new")
    for store in (reader, other):
        assert len(store.search_lexical("new", 5)) == 1
        assert not store.holds
    writer.close()
    assert reader.document_count == other.document_count == 2


def test_a_writer_gives_way_to_nobody(shared: Open) -> None:
    writer, reader = shared(write=True), shared()
    for _ in range(2):
        started = time.monotonic()
        with pytest.raises(StoreBusyError, match=f"in use by process {os.getpid()}"):
            shared(write=True, timeout=0.4)
        assert 0.3 < time.monotonic() - started < 4
    assert writer.holds
    assert put(writer, "still here")
    assert reader.document_count == 1
    waiting = in_thread(lambda: shared(write=True, timeout=10))
    time.sleep(0.2)
    writer.close()
    waiting.join(10)
    assert reader.document_count == 1
    assert not reader.holds


def test_a_reader_that_writes_holds_it_for_as_long_as_it_writes(shared: Open) -> None:
    one, two = shared(), shared()
    document_id, ticket = stage(two, "a draft", "toy:draft")
    assert (one.holds, two.holds) == (False, True)
    with pytest.raises(StoreBusyError):
        shared(write=True, timeout=0.3)
    assert one.find(document_id=document_id) is None
    two.commit([ticket])
    # Nothing is left to write: now it gives way.
    assert one.remove(document_id)
    assert (one.holds, two.holds) == (True, False)
    assert two.find(document_id=document_id) is None
    _, ticket = stage(two, "another draft", "toy:draft")
    two.discard([ticket])
    with one.writing():
        assert not put_if_free(two)
        assert put(one, "mine", "toy:mine")
    assert put_if_free(two)


def put_if_free(store: SharedStore) -> bool:
    store._timeout, before = 0.3, store._timeout
    try:
        put(store, "theirs", "toy:theirs")
    except StoreBusyError:
        return False
    finally:
        store._timeout = before
    return True


def test_what_was_staged_anew_no_longer_holds_the_index(shared: Open) -> None:
    one, two = shared(), shared()
    stage(one, "a draft", "toy:draft")
    _, ticket = stage(one, "a better draft", "toy:draft")
    one.commit([ticket])
    assert put_if_free(two)
    one.discard([])  # of nothing: it need not hold the index for that
    assert two.holds
    one.close()
    with pytest.raises(StoreError, match="was closed"):
        one.discard([])


def test_a_thread_that_reads_cannot_write_nor_close_wherever_the_index_is(shared: Open) -> None:
    for store in (shared(), shared()):
        with store.reading():
            for call in (lambda: store.remove("x"), lambda: stage(store, "x"), store.check, store.close):  # noqa: B023
                with pytest.raises(StoreError, match="reading"):
                    call()
            assert store.document_count == 1


def test_a_reader_gives_way_only_when_its_reads_have_ended(shared: Open) -> None:
    reader = shared()
    with reader.reading():
        hits = reader.search_lexical("river", 5)
        waiting = in_thread(lambda: put(shared(write=True), "no more of it"))
        waiting.join(0.3)
        assert waiting.is_alive()
        assert len(reader.passages(hits)) == 2
    waiting.join(10)
    assert not waiting.is_alive()
    assert reader.passages(hits) == []


def test_reading_goes_on_when_the_holder_closes_in_the_middle(shared: Open) -> None:
    holder, reader = shared(), shared()
    with reader.reading():
        hits = reader.search_lexical("river", 5)
        holder.close()
        assert len(reader.passages(hits)) == 2
        with reader.reading():
            assert reader.search_lexical("river", 5) == hits
    assert reader.holds


def test_reading_keeps_one_state_of_the_holder_that_comes_in_the_middle(shared: Open) -> None:
    """Also of a writer, and when the reader itself is it."""
    for write in (True, False):
        holder, reader = shared(), shared()
        assert not reader.holds
        with reader.reading():
            assert reader.document_count == 1
            holder.close()
            writer = shared(write=True) if write else reader
            hits = reader.search_lexical("river", 5)
            assert len(hits) == 2
            assert reader.holds != write
            changing = in_thread(lambda: put(writer if write else shared(), "no more of it"))  # noqa: B023
            changing.join(0.3)
            assert changing.is_alive()
            assert len(reader.passages(hits)) == 2
        changing.join(10)
        assert not changing.is_alive()
        assert reader.passages(hits) == []
        put(reader if not write else writer, "river bank\nriver delta\nmountain top")
        writer.close()
        reader.close()


def test_threads_that_lose_their_holder_find_one_together(shared: Open) -> None:
    holder, reader = shared(), shared()
    problems: list[object] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                assert len(reader.search_lexical("river", 5)) == 2
            except BaseException as error:
                problems.append(error)
                raise

    threads = [in_thread(read) for _ in range(6)]
    time.sleep(0.2)
    holder.close()
    assert soon(lambda: reader.holds)
    writer = shared(write=True)
    assert not reader.holds
    time.sleep(0.1)
    writer.close()
    assert soon(lambda: reader.holds)
    stop.set()
    for thread in threads:
        thread.join(10)
    assert problems == []


def test_an_index_made_anew_with_another_encoder_is_not_gone_on_with(
    shared: Open, folder: Path, tmp_path: Path
) -> None:
    reader, writer = shared(), shared(write=True)
    assert reader.document_count == 1
    fresh = tmp_path / "fresh"
    EdgeStore.create(fresh, toy_header(ToyEncoder(8, revision="toy-2"))).close()
    writer.give_place_to(fresh)
    for _ in range(2):
        with pytest.raises(EncoderMismatchError, match="open it again"):
            reader.search_lexical("river", 5)
    reader.close()
    with EdgeStore.open(folder, timeout=0) as store:
        assert store.header.identity.revision == "toy-2"
    assert shared().document_count == 0


def test_an_index_made_anew_with_the_same_encoder_is(shared: Open, tmp_path: Path) -> None:
    reader, writer = shared(), shared(write=True)
    fresh = tmp_path / "fresh"
    with EdgeStore.create(fresh, reader.header) as target:
        put(target, "another text", "toy:other")
    writer.give_place_to(fresh)
    with pytest.raises(StoreError, match="was closed"):
        writer.documents()
    assert [document.uri for document in reader.documents()] == ["toy:other"]


def test_where_no_socket_can_be_had_the_index_is_in_use_as_ever(
    shared: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(**_: object) -> None:
        raise OSError("no socket")

    monkeypatch.setattr(rendezvous, "listen", none)
    first = shared()
    assert first.document_count == 1
    started = time.monotonic()
    with pytest.raises(StoreBusyError, match=f"process {os.getpid()}"):
        shared(timeout=0.3)
    assert time.monotonic() - started < 3
    first.close()
    assert shared().document_count == 1
    assert not (folder / rendezvous.FILE).exists()


def test_what_a_dead_holder_of_another_version_left_is_no_obstacle(shared: Open, folder: Path) -> None:
    left = {"path": "/nowhere/socket", "port": 0, "key": "00", "pid": 1, "wire": "older"}
    (folder / rendezvous.FILE).write_text(json.dumps(left))
    assert shared().holds


def test_where_there_is_no_index_nothing_is_left(tmp_path: Path) -> None:
    for folder in (tmp_path / "none", tmp_path):
        for write in (False, True):
            with pytest.raises(InputError, match="no index"):
                open_shared(folder, lambda wait: EdgeStore.open(folder, timeout=wait), write=write)  # noqa: B023
    assert list(tmp_path.iterdir()) == []


STOPPED = """
import os, sys, time
from pathlib import Path
from pincite.store.edge import EdgeStore
from pincite.store.shared import open_shared
folder = Path(sys.argv[1])
store = open_shared(folder, lambda wait: EdgeStore.open(folder, timeout=wait))
print(store.holds, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_a_holder_that_was_stopped_is_named_and_its_death_frees_the_index(shared: Open, folder: Path) -> None:
    command = [sys.executable, "-c", STOPPED, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "True\n"
            process.send_signal(signal.SIGSTOP)
            for write in (False, True):
                started = time.monotonic()
                with pytest.raises(StoreBusyError, match=f"process {process.pid} "):
                    shared(write=write, timeout=0.5)
                assert time.monotonic() - started < 4
        finally:
            process.kill()
    assert shared().document_count == 1
