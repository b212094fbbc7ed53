"""Reading that cannot hang, crash or exhaust the process it is done for: another process does it.

The other process, `pincite.loaders.serving`, is started when the first source is read, kept for the next, and replaced
when it has died, was stopped, or holds much memory. A document comes only when it is asked for: of a container with a
million documents there is never more than one on the way.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from pincite import errors
from pincite.errors import LoaderFaultError, LoadError, MemoryLimitError, ReadTimeoutError
from pincite.loaders.frames import OUT_OF_MEMORY, pack, read_frame, unpack, write_frame
from pincite.loaders.records import read_document, read_outcome
from pincite.protocols import Source
from pincite.types import Document, FileOutcome

__all__ = ["WorkerReader"]

#: Seconds that the process may take to be ready.
_START = 60.0
#: Characters of what the process wrote to standard error that are kept, and of those the ones that are shown.
_KEPT, _SHOWN = 8000, 400

_NO_MEMORY = (b"memory allocation of ", b"std::bad_alloc")
_NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # exists on Windows alone

# Not with -m, which would let the current folder, full of somebody's documents, answer for any module.
_PROGRAM = (
    "import sys; sys.path = [path for path in sys.path if path] + [sys.argv.pop(1)]; "
    "from pincite.worker import main; main()"
)


class WorkerReader:
    """Reads in a process of its own, see `pincite.protocols.Reader`. Threads may share one.

    `load` is the section ``load`` of the settings as plain data. Its `seconds` limit the wait for each document; time
    between two documents, in which the caller works, does not count. Its `memory_mb` limit what reading may take.
    `program` is the command that starts the process; `load` as JSON is added to it.

    A source with a path is read by the other process from there, not from bytes that it may hold.
    """

    def __init__(self, load: Mapping[str, Any], program: Sequence[str] = ()) -> None:
        root = Path(__file__).resolve().parents[2]
        program = program or (sys.executable, "-c", _PROGRAM, str(root))
        self._command = [*program, json.dumps(dict(load))]
        self._seconds = float(load["seconds"])
        self._memory_mb = load["memory_mb"]
        self._idle: list[_Child] = []
        self._lock = threading.Lock()
        # Also when this is forgotten, and when the interpreter ends.
        weakref.finalize(self, _end_all, self._idle)

    def read(self, source: Source) -> Iterator[Document | FileOutcome]:
        """See `pincite.protocols.Reader`.

        Raises beside a loader's own errors ReadTimeoutError and MemoryLimitError for a file that goes over the limits,
        and LoaderFaultError when the process dies of the file; the next is then read by a new one.
        """
        child, answer = self._ask(source)
        keep = False
        try:
            while True:
                keep = "spent" in answer and not answer["spent"]
                if answer["kind"] == "end":
                    return
                if answer["kind"] == "error":
                    raise _error(answer["reason"], answer["detail"])
                read = read_outcome if answer["kind"] == "outcome" else read_document
                yield read(answer["record"])
                del answer
                child.send_next()
                answer = child.receive(self._seconds)
        finally:
            if keep:
                self._give_back(child)
            else:
                child.end()

    def close(self) -> None:
        """End the process. Idempotent; reading again starts another."""
        with self._lock:
            _end_all(self._idle)

    def _ask(self, source: Source) -> tuple[_Child, dict[str, Any]]:
        """A process that reads `source`, and its first answer."""
        kept = self._take()
        if kept is not None:
            # It may have died before it was asked, which is not the file's fault: then a new one says what is.
            with suppress(LoaderFaultError):
                return kept, self._first(kept, source)
        child = _Child(self._command, self._memory_mb)
        return child, self._first(child, source)

    def _first(self, child: _Child, source: Source) -> dict[str, Any]:
        try:
            child.send(source)
            return child.receive(self._seconds)
        except BaseException:
            child.end()
            raise

    def _take(self) -> _Child | None:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.alive:
                    return child
                child.end()
        return None

    def _give_back(self, child: _Child) -> None:
        with self._lock:
            if self._idle:
                child.end()
            else:
                self._idle.append(child)


def _end_all(children: list[_Child]) -> None:
    while children:
        children.pop().end()


def _error(reason: str, detail: str) -> LoadError:
    # Loaders may have children of their own, which the caller cannot know.
    kinds: list[type[LoadError]] = [kind for kind in LoadError.__subclasses__() if kind.__module__ == errors.__name__]
    error = {kind.reason: kind for kind in kinds}.get(reason, LoadError)(detail)
    if error.reason != reason:
        error.reason = reason
    return error


class _Child:
    """A process that reads, and the thread that starts it and hears it for as long as it lives.

    That one thread must do both: to the system it is the parent, with whose end the process is killed.
    """

    def __init__(self, command: Sequence[str], memory_mb: int) -> None:
        """Start it. Raises LoaderFaultError if it does not get ready."""
        self._process: subprocess.Popen[bytes] | None = None
        self._memory_mb = memory_mb
        self._frames: SimpleQueue[bytes | None] = SimpleQueue()
        self._said = b""
        self._failure = ""
        self._listener = threading.Thread(target=self._run, args=(command,), name="pincite-reader", daemon=True)
        self._listener.start()
        try:
            ready = self._wait(_START)
        except Empty:
            ready, self._failure = None, f"it was not ready after {_START:g} s"
        except BaseException:
            self.end()
            raise
        if ready is None:
            self.end()
            raise LoaderFaultError(f"the process that reads files did not start: {self._failure or self._end_of_it()}")

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def send(self, source: Source) -> None:
        """Ask for the documents of `source`."""
        self._said = b""
        path = None if source.path is None else os.path.abspath(source.path)
        data = None
        if path is None:
            data = source.data
        self._send(pack({"uri": source.uri, "name": source.name, "path": path}))
        if data is not None:
            self._send(data)

    def send_next(self) -> None:
        """Ask for the next document."""
        self._send(b"{}")

    def _send(self, frame: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):  # it has died; `receive` says of what
            write_frame(self._process.stdin, frame)

    def receive(self, seconds: float) -> dict[str, Any]:
        """Its next answer, waited for so long after its last sign of life.

        Raises ReadTimeoutError, or what `_death` makes of its end.
        """
        while True:
            try:
                frame = self._wait(seconds)
            except Empty:
                raise ReadTimeoutError(
                    f"reading it was stopped after {seconds:g} s without a result; load.seconds is the setting"
                ) from None
            if frame is None:
                raise self._death()
            if (answer := unpack(frame))["kind"] != "alive":
                return answer

    def _wait(self, seconds: float) -> bytes | None:
        until = time.monotonic() + seconds
        while True:
            try:
                # In steps: on Windows an interruption is noticed only between them.
                return self._frames.get(timeout=max(0.0, min(1.0, until - time.monotonic())))
            except Empty:
                if time.monotonic() >= until:
                    raise

    def end(self) -> None:
        """Kill it and what it started, and wait until it is gone. Idempotent."""
        process = self._process
        if process is None:
            return
        if sys.platform == "win32":
            process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._listener.join(5)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(OSError):  # what was still to be sent
                    stream.close()

    def _run(self, command: Sequence[str]) -> None:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # a group of its own: no interruption from the terminal, and killed as one
                creationflags=_NO_WINDOW,
            )
        except OSError as error:
            self._failure = str(error)
            self._frames.put(None)
            return
        self._process = process
        assert process.stdout is not None
        hearing = threading.Thread(target=self._hear, args=(process,), name="pincite-reader-errors", daemon=True)
        hearing.start()
        with suppress(OSError, ValueError, MemoryError):
            while (frame := read_frame(process.stdout)) is not None:
                self._frames.put(frame)
        hearing.join(1)
        self._frames.put(None)

    def _hear(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        with suppress(OSError, ValueError):
            while piece := os.read(process.stderr.fileno(), _KEPT):
                self._said = (self._said + piece)[-_KEPT:]

    def _death(self) -> LoadError:
        assert self._process is not None
        try:
            status = self._process.wait(1)
        except subprocess.TimeoutExpired:
            status = 0
        # Libraries in Rust and C++ end the process when an allocation fails, and say so.
        if status == OUT_OF_MEMORY or any(words in self._said for words in _NO_MEMORY):
            return MemoryLimitError(
                f"reading it takes more memory than the setting load.memory_mb ({self._memory_mb}) allows"
            )
        return LoaderFaultError(f"the process that read it died: {self._end_of_it()}")

    def _end_of_it(self) -> str:
        """How it ended, and the telling part of what it wrote to standard error."""
        status = self._process.poll() if self._process is not None else None
        if status is None:
            how = "it broke off"
        elif status < 0:
            how = _signal_name(-status)
            if -status == getattr(signal, "SIGKILL", 9):
                how += ", as the system does when memory runs out"
        else:
            how = f"exit status {status}"
        said = self._said.decode("utf-8", "replace")
        fatal = said.rfind("Fatal Python error")
        said = said[fatal:] if fatal >= 0 else said[-_SHOWN:]
        said = " ".join(said.split())[:_SHOWN]
        return f"{how}: {said}" if said else how


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
