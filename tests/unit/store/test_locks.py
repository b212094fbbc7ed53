"""Who may touch an index: across processes, and across threads of one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pincite.errors import StoreBusyError, StoreError
from pincite.store.edge import EdgeStore
from pincite.store.locks import ProcessLock, ReadWriteLock
from toys import ToyEncoder, copy_index, toy_header

HOLD = """
import sys
from pathlib import Path
from pincite.store.locks import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
lock.acquire(5)
print("held", flush=True)
sys.stdin.read()
lock.release()
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock on `folder` until its input is closed."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def index(template: Path, tmp_path: Path) -> Path:
    copy_index(template, tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "index"
    EdgeStore.create(folder, toy_header(ToyEncoder(8))).close()
    return folder


def test_a_second_process_is_told_who_holds_the_index_and_in_time(index: Path) -> None:
    with holder(index) as process:
        started = time.monotonic()
        with pytest.raises(StoreBusyError) as caught:
            EdgeStore.open(index, timeout=0.3)
        assert 0.25 < time.monotonic() - started < 5
        message = str(caught.value)
        assert f"process {process.pid}" in message
        assert "-c" in message  # its command
        assert str(index) in message
        assert "--store" in message  # what to do


def test_it_is_had_as_soon_as_the_other_lets_go(index: Path) -> None:
    with holder(index) as process:
        assert process.stdin is not None
        threading.Timer(0.2, process.stdin.close).start()
        EdgeStore.open(index, timeout=20).close()
    assert not (index / "holder.json").exists()


def test_a_killed_process_holds_nothing(index: Path) -> None:
    with holder(index) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert json.loads((index / "holder.json").read_text())["pid"] == process.pid
    with EdgeStore.open(index, timeout=1):
        assert json.loads((index / "holder.json").read_text())["pid"] == os.getpid()


def test_the_same_process_cannot_open_it_twice(index: Path) -> None:
    with EdgeStore.open(index):
        with pytest.raises(StoreBusyError, match=str(os.getpid())):
            EdgeStore.open(index, timeout=0.1)
        with pytest.raises(StoreBusyError):
            EdgeStore.open(index, timeout=0)
    EdgeStore.open(index, timeout=0).close()


@pytest.mark.parametrize("note", ["", "{", "[1]", "{}", "null", '{"pid": 1}'])
def test_a_damaged_note_of_the_holder_is_no_trouble(index: Path, note: str) -> None:
    with holder(index):
        (index / "holder.json").write_text(note)
        with pytest.raises(StoreBusyError, match="another process"):
            ProcessLock(index).acquire(0)


def test_without_room_for_the_note_the_lock_is_held_all_the_same(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    lock = ProcessLock(index)
    lock.acquire(0)
    with pytest.raises(StoreBusyError, match="another process"):
        ProcessLock(index).acquire(0)
    lock.release()
    lock.release()
    other = ProcessLock(index)
    other.acquire(0)
    other.release()


def test_a_lock_let_go_in_another_thread_is_let_go(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path)
    lock.acquire(0)
    thread = threading.Thread(target=lock.release)
    thread.start()
    thread.join()
    other = ProcessLock(tmp_path)
    other.acquire(0)
    other.release()


def test_a_failed_opening_lets_go(index: Path) -> None:
    (index / "catalogue.sqlite").write_bytes(b"rubbish" * 999)
    with pytest.raises(StoreError):
        EdgeStore.open(index)
    lock = ProcessLock(index)
    lock.acquire(0)
    lock.release()


# Readers and writers


def started(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_readers_share_and_a_writer_is_alone() -> None:
    lock = ReadWriteLock()
    order: list[str] = []
    inside = threading.Barrier(3)
    leave = threading.Event()

    def read() -> None:
        with lock.read():
            inside.wait(5)
            leave.wait(5)
            order.append("read")

    def write() -> None:
        with lock.write():
            order.append("write")

    readers = [started(read), started(read)]
    inside.wait(5)  # both are in at once
    writer = started(write)
    time.sleep(0.05)
    assert order == []
    late = started(lambda: read_once(lock, order))
    time.sleep(0.05)
    assert order == []  # the late reader waits behind the writer
    leave.set()
    for thread in (*readers, writer, late):
        thread.join(5)
    assert order == ["read", "read", "write", "late"]


def read_once(lock: ReadWriteLock, order: list[str]) -> None:
    with lock.read():
        order.append("late")


def test_a_reader_may_read_again_though_a_writer_waits() -> None:
    lock = ReadWriteLock()
    with lock.read():
        writer = started(lambda: enter_write(lock))
        time.sleep(0.05)
        with lock.read(), lock.read():
            pass
    writer.join(5)
    assert not writer.is_alive()


def enter_write(lock: ReadWriteLock) -> None:
    with lock.write():
        pass


def test_a_reader_cannot_write_and_nothing_is_stuck_after_it_tried() -> None:
    lock = ReadWriteLock()
    with lock.read(), pytest.raises(StoreError, match="reading"), lock.write():
        pass
    with lock.write():
        pass
    with pytest.raises(ZeroDivisionError), lock.read():
        _ = 1 / 0
    with pytest.raises(ZeroDivisionError), lock.write():
        _ = 1 / 0
    with lock.write():
        pass


def test_a_writer_cut_off_while_it_waits_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = ReadWriteLock()
    order: list[str] = []
    wait = lock._condition.wait
    cut = threading.Event()

    def cut_off(timeout: float | None = None) -> bool:
        if threading.current_thread() is not writer:
            return wait(timeout)
        while not cut.is_set():
            wait(0.01)
        raise KeyboardInterrupt

    def write() -> None:
        with pytest.raises(KeyboardInterrupt), lock.write():
            order.append("write")

    monkeypatch.setattr(lock._condition, "wait", cut_off)
    with lock.read():
        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        time.sleep(0.05)
        late = started(lambda: read_once(lock, order))
        time.sleep(0.05)
        assert order == []
        cut.set()
        writer.join(5)
        # The reader that was there still reads: nobody else wakes the late one.
        late.join(5)
    assert order == ["late"]
    with lock.write():
        pass
