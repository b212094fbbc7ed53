"""Processes that share one index: one adds, two ask, one deletes, and the one that adds is killed in the middle.

The file is also the program of each: ``python test_many_processes.py ROLE INDEX``. What a process has to say it prints,
a JSON object a line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.errors import StoreBusyError
from pincite.store.edge import EdgeStore
from pincite.store.shared import SharedStore, open_shared
from toys import ToyEncoder, make_chunks, make_document, toy_header

ENCODER = ToyEncoder(8)
PARTS = 3
OLD = 20  #: documents that are there from the beginning; the even ones are deleted
ADDED = 500
TOGETHER = 5  #: of them, in one commit
QUESTIONS = 200


def use(folder: Path, *, write: bool = False, timeout: float = 20) -> SharedStore:
    return open_shared(folder, lambda wait: EdgeStore.open(folder, timeout=wait), write=write, timeout=timeout)


def document_of(name: str) -> Any:
    return make_document("\n".join(f"common {name} part{n}" for n in range(PARTS)), f"toy:{name}")


def put(store: Any, names: Sequence[str]) -> None:
    """Add documents, all at one moment."""
    tickets = []
    for name in names:
        document = document_of(name)
        document = replace(document, version=store.next_version(document.id))
        tickets.append(store.stage(document))
        chunks = make_chunks(document)
        for some in (chunks[:1], chunks[1:]):  # in two steps: for a while there is a half of it
            vectors = ENCODER.encode_passages([chunk.text for chunk in some])
            store.stage_chunks(tickets[-1], some, [""] * len(some), vectors)
    store.commit(tickets)


# The processes


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def add(folder: Path) -> None:
    with use(folder, write=True) as store:
        for n in range(0, ADDED, TOGETHER):
            put(store, [f"new{n + more}" for more in range(TOGETHER)])
            say(added=n)


def delete(folder: Path) -> None:
    with use(folder, timeout=0.5) as store:
        for n in range(0, OLD, 2):
            while True:
                started = time.monotonic()
                try:
                    assert store.remove(document_of(f"old{n}").id)
                    say(removed=n)
                    break
                except StoreBusyError as error:
                    say(busy=str(error), seconds=time.monotonic() - started)


def ask(folder: Path) -> None:
    """Until its input ends, and at least so often."""
    ended: list[bool] = []
    import threading

    threading.Thread(target=lambda: ended.append(bool(sys.stdin.read()) or True), daemon=True).start()
    with use(folder) as store:
        n = 0
        while n < QUESTIONS or not ended:
            names = [f"old{n % OLD}", f"new{n % ADDED}"]
            with store.reading():
                found = {name: look(store, name) for name in names}
                if n % 10 == 0:
                    listed = {document.id for document in store.documents()}
                    hits = store.search_lexical("common", 10**6)
                    if sorted(hit.chunk_id.partition(".")[0] for hit in hits) != sorted([*listed] * PARTS):
                        say(problem=f"{len(listed)} documents listed, {len(hits)} chunks found")
            for name, parts in found.items():
                if parts not in (0, PARTS) or (parts == 0 and name.startswith("old") and n % OLD % 2):
                    say(problem=f"{name} has {parts} parts")
            n += 1
            say(asked=n, holds=store.holds)
            time.sleep(0.02)  # there are two processors, and others


def look(store: SharedStore, name: str) -> int:
    """How many parts of a document there are, which every way to them must agree on."""
    document = document_of(name)
    hits = store.search_lexical(name, 10)
    texts = {passage.chunk.text for passage in store.passages(hits)}
    chunks = store.chunks(document.id)
    whole = store.get_document(document.id)
    near = store.search_dense(ENCODER.encode_queries([f"common {name} part0"])[0], 10, {"uri": document.uri})
    if not texts == {chunk.text for chunk in chunks} == set(whole.text.splitlines() if whole else ()):
        say(problem=f"{name}: found {texts}, chunks {len(chunks)}, text {whole and whole.text!r}")
    if not len(hits) == len(near) == len(chunks):
        say(problem=f"{name}: {len(hits)} by words, {len(near)} by vectors, {len(chunks)} chunks")
    return len(hits)


# The test


class Process:
    """One of them, and what it has said so far."""

    def __init__(self, role: str, folder: Path) -> None:
        path = os.pathsep.join(p for p in sys.path if p)
        self._said = folder.with_name(f"{role}-{time.monotonic_ns()}")
        with self._said.open("w") as out:
            self.child = subprocess.Popen(
                [sys.executable, __file__, role, str(folder)],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
            )

    def said(self) -> list[dict[str, Any]]:
        lines = self._said.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def number(self, what: str) -> int:
        """How often it has said that."""
        return sum(what in each for each in self.said())

    def until(self, true: Callable[[], bool], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert self.child.poll() is None or true(), self.child.communicate()[1]
            assert time.monotonic() < end, self.said()[-3:]
            time.sleep(0.02)

    def finish(self) -> None:
        _, errors = self.child.communicate(timeout=60)
        assert self.child.returncode == 0, errors


@contextmanager
def running(role: str, folder: Path) -> Iterator[Process]:
    process = Process(role, folder)
    try:
        yield process
    finally:
        process.child.kill()
        process.child.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with EdgeStore.create(tmp_path / "index", toy_header(ENCODER)) as store:
        put(store, [f"old{n}" for n in range(OLD)])
    return tmp_path / "index"


@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_readers_never_fail_while_one_adds_one_deletes_and_one_is_killed(folder: Path) -> None:
    with running("ask", folder) as one, running("ask", folder) as two:
        one.until(lambda: one.number("asked") > 5)
        two.until(lambda: two.number("asked") > 5)
        assert {reader.said()[-1]["holds"] for reader in (one, two)} == {True, False}
        with running("add", folder) as adder, ExitStack() as later:
            adder.until(lambda: adder.number("added") > 1)
            # The second that wants to write waits for its time, and is told for whom.
            deleter = later.enter_context(running("delete", folder))
            deleter.until(lambda: deleter.number("busy") > 0)
            adder.until(lambda: TOGETHER * adder.number("added") >= ADDED // 2)
            adder.child.kill()
            adder.child.wait()
            added = TOGETHER * adder.number("added")
            killed = {reader: reader.number("asked") for reader in (one, two)}
            assert ADDED // 2 <= added < ADDED
            deleter.finish()
            assert deleter.number("removed") == OLD // 2
            busy = [each for each in deleter.said() if "busy" in each]
            assert busy
            for each in busy:
                assert f"process {adder.child.pid} " in each["busy"]
                assert "add" in each["busy"]
                assert 0.4 < each["seconds"] < 10
        for reader, asked in killed.items():  # and they go on
            reader.until(lambda reader=reader, asked=asked: reader.number("asked") > max(asked, QUESTIONS) + 20)  # type: ignore[misc]
        for reader in (one, two):
            reader.finish()
            assert reader.number("problem") == 0, [each for each in reader.said() if "problem" in each][:5]
            assert reader.number("asked") >= QUESTIONS
    with EdgeStore.open(folder, timeout=0) as store:
        assert store.check() == []
        uris = {document.uri for document in store.documents()}
        kept = {f"toy:old{n}" for n in range(1, OLD, 2)} | {f"toy:new{n}" for n in range(added)}
        last = {f"toy:new{added + more}" for more in range(TOGETHER)}
        assert uris in (kept, kept | last)  # the last may have been told to nobody, but it is whole


@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_a_holder_that_is_killed_is_replaced_by_one_of_its_readers(folder: Path) -> None:
    with running("ask", folder) as one:
        one.until(lambda: one.number("asked") > 5)
        with running("ask", folder) as two, running("ask", folder) as three:
            for reader in (two, three):
                reader.until(lambda reader=reader: reader.number("asked") > 5)  # type: ignore[misc]
            one.child.kill()
            one.child.wait()
            before = {reader: reader.number("asked") for reader in (two, three)}
            for reader, asked in before.items():
                reader.until(lambda reader=reader, asked=asked: reader.number("asked") > asked + 10)  # type: ignore[misc]
            for reader in (two, three):
                reader.finish()
                assert reader.number("problem") == 0
            assert any(each.get("holds") for reader in (two, three) for each in reader.said())


if __name__ == "__main__":
    {"add": add, "delete": delete, "ask": ask}[sys.argv[1]](Path(sys.argv[2]))
