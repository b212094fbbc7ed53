"""Reading an index that another process holds: each call is a question to it, over its socket.

One client serves all threads of a process: every call takes a connection that is free, or opens one up to a bound. It
talks to one holder, and says so when that has gone; who comes after it is the matter of `pincite.store.shared`.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pincite.errors import StoreBusyError, StoreError
from pincite.store import rendezvous, wire
from pincite.store.wire import FINGERPRINT, Message, WireError

__all__ = ["HolderGoneError", "StoreClient", "describe_holder"]

#: Most connections of one client: its threads share them, and leave some for other clients.
CONNECTIONS = 8

#: Seconds that an answer is waited for. A holder that builds a vector index answers nobody meanwhile.
_ANSWER = 120.0
#: Of the calls that look at everything.
_SLOW = {"check": 3600.0, "measure_recall": 3600.0}


class HolderGoneError(StoreError):
    """The process that was asked holds the index no longer, or never did: nothing was changed, ask who holds it now."""


@dataclass
class _Session:
    """What a thread that reads one state has of it."""

    connection: socket.socket | None = None  #: on which the holder keeps it; None until the first call
    lost: bool = False  #: the connection broke: the thread's next calls see what there is


@wire.forwards
class StoreClient:
    """The reading half of `pincite.protocols.Store`, answered by the process that holds the index in `folder`.

    Raises HolderGoneError when nobody who serves holds it, from here and from every call; StoreBusyError when the
    holder is of another version of pincite, has no connection to spare, or does not answer within `timeout` seconds.
    Writing raises StoreBusyError, which names the holder. Errors of the store come as what they are there.
    """

    def __init__(self, folder: Path, *, timeout: float = 5.0) -> None:
        self.folder = folder
        self._timeout = timeout
        address = rendezvous.look_up(folder)
        if address is None:
            raise HolderGoneError(f"no process says that it holds the index {folder}")
        if address.wire != FINGERPRINT:
            raise StoreBusyError(f"{_in_use(folder)}, which is another version of pincite. {_WAIT}")
        self._address = address
        self._lock = threading.Lock()
        self._free: list[socket.socket] = []
        self._room = threading.BoundedSemaphore(CONNECTIONS)
        self._closed = False
        self._local = threading.local()
        self._give(self._take()[0])

    @property
    def pid(self) -> int:
        """Of the process that answers."""
        return self._address.pid

    # Asking

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A method of the store, in the process that holds it."""
        return self._ask({"call": name, "args": wire.encode(list(args)), "kwargs": wire.encode(kwargs)})

    def look(self, name: str) -> Any:
        """A property of the store."""
        return self._ask({"call": name})

    def change(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:  # noqa: ARG002
        """Raise StoreBusyError: only the holder writes."""
        raise StoreBusyError(f"{_in_use(self.folder)}. {_WAIT}")

    def writing(self) -> NoReturn:
        """Raise StoreBusyError: only the holder writes."""
        self.change("writing", (), {})

    def ask_to_yield(self) -> bool:
        """Ask the holder to close the index for somebody who wants to write. Whether it will: not while it writes."""
        return bool(self._ask({"call": "yield"}))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Calls of this thread see one state, as long as the holder keeps it: see `pincite.store.serving.SESSION`."""
        if self._session is not None:
            yield
            return
        session = self._local.session = _Session()
        try:
            yield
        finally:
            self._local.session = None
            if session.connection is not None:
                try:
                    wire.send(session.connection, wire.pack({"release": True}), self._timeout)
                except OSError:
                    self._drop(session.connection)
                else:
                    self._give(session.connection)

    @property
    def _session(self) -> _Session | None:
        session: _Session | None = getattr(self._local, "session", None)
        return session

    def _ask(self, request: Message) -> Any:
        session = self._session
        if session is None or session.lost:
            answer, connection = self._exchange_on_any(request)
            self._give(connection)
        elif session.connection is None:
            # The holder keeps the state from the first call on: to begin is no message of its own.
            answer, session.connection = self._exchange_on_any({**request, "hold": True})
        else:
            try:
                answer = self._exchange(session.connection, request)
            except BaseException as error:
                self._drop(session.connection)
                session.connection, session.lost = None, True
                if not isinstance(error, HolderGoneError):
                    raise
                answer, connection = self._exchange_on_any(request)
                self._give(connection)
        wire.raise_error(answer)
        return wire.decode(answer.get("value"))

    def _exchange_on_any(self, request: Message) -> tuple[Message, socket.socket]:
        """The answer, and the connection it came on, which is the caller's to give back."""
        while True:
            connection, used = self._take()
            try:
                return self._exchange(connection, request), connection
            except BaseException as error:
                self._drop(connection)
                # One that was idle may have been closed while its holder is well: try the next.
                if not (used and isinstance(error, HolderGoneError)):
                    raise

    def _exchange(self, connection: socket.socket, request: Message) -> Message:
        frame = wire.pack(request)
        seconds = _SLOW.get(request["call"], max(_ANSWER, self._timeout))
        try:
            wire.send(connection, frame, seconds)
            return wire.receive(connection, seconds)
        except TimeoutError as error:
            raise StoreBusyError(f"{_in_use(self.folder)}, which does not answer. {_WAIT}") from error
        except (OSError, EOFError, WireError) as error:
            raise HolderGoneError(f"the process that held the index {self.folder} has gone") from error

    # Connections

    def _take(self) -> tuple[socket.socket, bool]:
        """A connection of this thread's own until it is given or dropped, and whether it was in use before."""
        if not self._room.acquire(timeout=max(_ANSWER, self._timeout)):
            raise StoreBusyError(f"{_in_use(self.folder)}, which does not answer. {_WAIT}")
        try:
            with self._lock:
                if self._closed:
                    raise HolderGoneError(f"the index {self.folder} was closed")
                if self._free:
                    return self._free.pop(), True
            return self._connect(), False
        except BaseException:
            self._room.release()
            raise

    def _connect(self) -> socket.socket:
        until = time.monotonic() + self._timeout
        pause = 0.01
        while True:
            try:
                connection = self._address.connect(until - time.monotonic())
                try:
                    busy = rendezvous.introduce(connection, self._address, max(until - time.monotonic(), 0.001))
                except BaseException:
                    connection.close()
                    raise
            except TimeoutError as error:
                raise StoreBusyError(f"{_in_use(self.folder)}, which does not answer. {_WAIT}") from error
            except (OSError, EOFError, WireError) as error:
                raise HolderGoneError(f"the process that held the index {self.folder} has gone") from error
            if not busy:
                return connection
            connection.close()
            if time.monotonic() + pause > until:
                raise StoreBusyError(f"{_in_use(self.folder)}: {busy}. {_WAIT}")
            time.sleep(pause)
            pause = min(2 * pause, 0.2)

    def _give(self, connection: socket.socket) -> None:
        with self._lock:
            keep = not self._closed
            if keep:
                self._free.append(connection)
        if not keep:
            connection.close()
        self._room.release()

    def _drop(self, connection: socket.socket) -> None:
        connection.close()
        self._room.release()

    def close(self) -> None:
        """Close the connections; calls that are running end first. Idempotent."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for connection in free:
            connection.close()

    def __enter__(self) -> StoreClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_WAIT = "Wait until it has finished, or name another index with --store."


def _in_use(folder: Path) -> str:
    return f"the index {folder} is in use by {describe_holder(folder)}"


def describe_holder(folder: Path) -> str:
    """Who holds an index, as the holder says in ``holder.json``: process, command, since when."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        holder = json.loads((folder / "holder.json").read_text(encoding="utf-8"))
        return f"process {holder['pid']} ({holder['command']}, since {holder['since']})"
    return "another process"
