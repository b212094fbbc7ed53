"""The holder's side: who may ask, what may be asked, and that nobody can hold it up."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.errors import InputError, StoreError
from pincite.store import rendezvous, wire
from pincite.store.edge import EdgeStore
from pincite.store.rendezvous import Address
from pincite.store.serving import Serving
from pincite.store.wire import WireError
from toys import ToyEncoder, copy_index, make_chunks, make_document, toy_header

ENCODER = ToyEncoder(8)
posix = pytest.mark.skipif(os.name != "posix", reason="sockets with a path")


def put(store: EdgeStore, text: str, uri: str = "toy:notes.txt") -> str:
    document = make_document(text, uri)
    document = replace(document, version=store.next_version(document.id))
    ticket = store.stage(document)
    chunks = make_chunks(document)
    store.stage_chunks(ticket, chunks, [""] * len(chunks), ENCODER.encode_passages([c.text for c in chunks]))
    store.commit([ticket])
    return document.id


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with EdgeStore.create(tmp_path_factory.mktemp("template") / "index", toy_header(ENCODER)) as made:
        put(made, "river bank\nriver delta")
        return made.folder


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Iterator[EdgeStore]:
    copy_index(template, tmp_path / "index")
    with EdgeStore.open(tmp_path / "index") as opened:
        yield opened


@contextmanager
def serving(store: EdgeStore, **options: Any) -> Iterator[Serving]:
    made = Serving(store.folder, store, **options)
    try:
        yield made
    finally:
        made.stop()


@contextmanager
def connected(address: Address) -> Iterator[socket.socket]:
    connection = address.connect(5)
    try:
        assert rendezvous.introduce(connection, address, 5) == ""
        yield connection
    finally:
        connection.close()


def ask(connection: socket.socket, call: str, *args: Any, hold: bool = False, **kwargs: Any) -> Any:
    request = {"call": call, "args": wire.encode(list(args)), "kwargs": wire.encode(kwargs), "hold": hold}
    wire.send(connection, wire.pack(request), 5)
    answer = wire.receive(connection, 10)
    wire.raise_error(answer)
    return wire.decode(answer["value"])


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("loopback", [pytest.param(False, marks=posix), True])
def test_it_answers_and_the_address_is_for_its_user_alone(store: EdgeStore, loopback: bool) -> None:
    file = store.folder / rendezvous.FILE
    with serving(store, loopback=loopback) as made:
        assert rendezvous.look_up(store.folder) == made.address
        assert made.address.pid == os.getpid()
        if os.name == "posix":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        if not loopback:
            folder = Path(made.address.path).parent
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with connected(made.address) as connection:
            assert ask(connection, "document_count") == 1
            assert ask(connection, "search_lexical", "river", 5) == store.search_lexical("river", 5)
            assert ask(connection, "documents") == store.documents()
            with pytest.raises(InputError, match="k must be at least 1"):
                ask(connection, "search_lexical", "river", k=0)
            with pytest.raises(StoreError, match="TypeError"):
                ask(connection, "documents", "too", "many")
            assert ask(connection, "header") == store.header  # an error ends nothing
    assert not file.exists()
    if not loopback:
        assert not folder.exists()
    with pytest.raises(OSError, match=r".+"):
        made.address.connect(1)
    made.stop()
    assert store.document_count == 1  # the store is not its own to close


@pytest.mark.parametrize(
    "call", ["remove", "commit", "stage", "optimize", "close", "reading", "__init__", "_points", ""]
)
def test_what_is_not_reading_is_refused(store: EdgeStore, call: str) -> None:
    with serving(store) as made, connected(made.address) as connection:
        with pytest.raises(StoreError, match="not for others"):
            ask(connection, call)
        assert ask(connection, "point_count") == 2


def test_without_the_key_nobody_is_heard(store: EdgeStore) -> None:
    with serving(store) as made:
        stranger = replace(made.address, key="00" * 32)
        connection = stranger.connect(5)
        with connection, pytest.raises((EOFError, OSError)):
            rendezvous.introduce(connection, stranger, 5)
        for rude in (b"", b"\x00" * 8, b"\xff" * 8, b"GET / HTTP/1.1\r\n\r\n", wire.pack({"call": "documents"})):
            with made.address.connect(5) as connection:
                connection.sendall(rude)
                connection.shutdown(socket.SHUT_WR)
                assert "nonce" in wire.receive(connection, 5)
                with pytest.raises((EOFError, OSError)):
                    wire.receive(connection, 5)
        with connected(made.address) as connection:
            assert ask(connection, "document_count") == 1


def test_a_stranger_at_the_holders_address_is_not_believed() -> None:
    """The holder died and its port went to another program: that does not know the key."""
    listener, address = rendezvous.listen(backlog=1, loopback=True)

    def pretend() -> None:
        connection, _ = listener.accept()
        with connection:
            wire.send(connection, wire.pack({"nonce": "00" * 32}), 5)
            said = wire.receive(connection, 5)
            assert address.key not in json.dumps(said)
            wire.send(connection, wire.pack({"code": said["code"]}), 5)

    thread = in_thread(pretend)
    with address.connect(5) as connection, pytest.raises(WireError, match="does not know its key"):
        rendezvous.introduce(connection, address, 5)
    thread.join(5)
    listener.close()


@posix
def test_an_address_that_another_user_wrote_is_not_used(store: EdgeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(store):
        assert rendezvous.look_up(store.folder) is not None
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert rendezvous.look_up(store.folder) is None
        monkeypatch.undo()


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"path": 1}', '{"path":"","port":"x","key":"","pid":1,"wire":""}'])
def test_a_damaged_address_is_none(tmp_path: Path, said: str) -> None:
    (tmp_path / rendezvous.FILE).write_text(said)
    assert rendezvous.look_up(tmp_path) is None


@posix
def test_a_long_temporary_folder_is_gone_round(
    store: EdgeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with serving(store) as made, connected(made.address) as connection:
        assert len(made.address.path) < 100
        assert list(deep.iterdir()) == []
        assert ask(connection, "document_count") == 1


def test_beyond_the_bound_it_says_that_it_is_busy_and_frees_what_is_left(store: EdgeStore) -> None:
    with serving(store, connections=2) as made:
        with connected(made.address) as one, connected(made.address) as two:
            with made.address.connect(5) as third:
                assert "2 connections" in rendezvous.introduce(third, made.address, 5)
            assert ask(one, "document_count") == ask(two, "document_count") == 1
        until = time.monotonic() + 5
        while time.monotonic() < until:  # they are seen to have gone
            with made.address.connect(5) as again:
                if rendezvous.introduce(again, made.address, 5) == "":
                    assert ask(again, "document_count") == 1
                    break
        else:
            pytest.fail("no room was made")


def test_clients_that_are_silent_slow_or_dead_hold_up_nobody(store: EdgeStore) -> None:
    """One says nothing, one half a word, one does not take its answers, one dies within a state that it holds."""
    put(store, "\n".join(f"line {n} " + "word " * 50 for n in range(3000)), "toy:large")
    large = make_document("", "toy:large").id
    with serving(store, session=0.3) as made:
        silent = made.address.connect(5)
        with connected(made.address) as half, connected(made.address) as greedy, connected(made.address) as holding:
            half.sendall(b"\x00\x00\x00")
            request = wire.pack({"call": "get_document", "args": ["list", large], "kwargs": {}, "hold": True})
            greedy.sendall(request)
            assert ask(holding, "document_count", hold=True) == 2
            started = time.monotonic()
            put(store, "written meanwhile", "toy:new")
            assert time.monotonic() - started < 3
            with connected(made.address) as other:
                assert ask(other, "document_count") == 3
            assert ask(holding, "document_count") == 3  # what it held was let go
        silent.close()


def test_a_state_is_held_until_it_is_released_and_not_longer_than_the_bound(store: EdgeStore) -> None:
    with serving(store, session=30) as made, connected(made.address) as connection:
        hits = ask(connection, "search_lexical", "river", 5, hold=True)
        writer = in_thread(lambda: put(store, "mountain"))
        writer.join(0.3)
        assert writer.is_alive()
        assert len(ask(connection, "passages", hits)) == 2
        wire.send(connection, wire.pack({"release": True}), 5)
        writer.join(10)
        assert not writer.is_alive()
        assert ask(connection, "passages", hits) == []


def test_a_connection_on_which_nothing_is_asked_is_closed(store: EdgeStore) -> None:
    with serving(store, idle=0.1) as made, connected(made.address) as connection:
        assert wire.readable(connection, 5)
        with pytest.raises(EOFError):
            wire.receive(connection, 5)


class SlowStore:
    """Answers late, as a toy of a store that works hard."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.asked = threading.Event()

    def documents(self) -> list[str]:
        self.asked.set()
        time.sleep(self.seconds)
        return ["late"]

    def chunks(self, _: str) -> list[str]:
        raise BaseException("the engine fell over")  # as panics of the engine do

    def reading(self) -> Any:
        raise StoreError("the index was closed")


def test_stopping_lets_an_answer_finish_and_waits_for_no_silent_client(tmp_path: Path) -> None:
    slow = SlowStore(0.5)
    made = Serving(tmp_path, slow)  # type: ignore[arg-type]
    with connected(made.address) as connection, connected(made.address):
        found: list[Any] = []
        asking = in_thread(lambda: found.append(ask(connection, "documents")))
        assert slow.asked.wait(5)
        started = time.monotonic()
        made.stop()
        assert 0.2 < time.monotonic() - started < 3
        asking.join(5)
        assert found == [["late"]]


def test_what_breaks_in_the_holder_is_told_and_ends_nothing(tmp_path: Path) -> None:
    made = Serving(tmp_path, SlowStore(0))  # type: ignore[arg-type]
    with connected(made.address) as connection:
        with pytest.raises(StoreError, match="BaseException: the engine fell over"):
            ask(connection, "chunks", "a")
        with pytest.raises(StoreError, match="was closed"):
            ask(connection, "documents", hold=True)
        assert ask(connection, "documents") == ["late"]
    made.stop()


def test_an_answer_too_large_for_a_message_is_an_error(store: EdgeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(store) as made, connected(made.address) as connection:
        monkeypatch.setattr(wire, "MAX_MESSAGE", 200)
        with pytest.raises(StoreError, match="too much for one message"):
            ask(connection, "documents")
        assert ask(connection, "point_count") == 2


@posix
def test_a_process_that_ends_without_closing_leaves_no_socket(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from pincite.store.serving import Serving\n"
        "print(Serving(Path(sys.argv[1]), None).address.path)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).parent.exists()
    assert not (tmp_path / rendezvous.FILE).exists()


@posix
def test_the_socket_of_a_killed_process_is_cleared_away_by_the_next(store: EdgeStore) -> None:
    program = (
        "import os, sys, signal; from pathlib import Path; from pincite.store.serving import Serving\n"
        "print(Serving(Path(sys.argv[1]), None).address.path, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(store.folder)], capture_output=True, text=True, timeout=60
    )
    left = Path(done.stdout.strip())
    assert left.exists()
    dead = rendezvous.look_up(store.folder)
    assert dead is not None
    with pytest.raises(ConnectionRefusedError):
        dead.connect(1)
    with serving(store) as made:
        assert not left.parent.exists()
        assert rendezvous.look_up(store.folder) == made.address
        rendezvous.withdraw(store.folder, dead)  # late, and of another: it takes nothing away
        assert rendezvous.look_up(store.folder) == made.address
