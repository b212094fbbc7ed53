"""The process that holds an index answers the others: it listens on a local socket, a thread for each connection.

Every answer is one call of the store, which takes the store's own read lock: a commit is seen whole or not at all. A
client may ask for one state over several calls; it is held for `SESSION` seconds at most, for a commit waits for it. A
client that is slow, stopped or dead costs a thread and nothing else: nothing is sent under a lock for longer than that,
everything has a time limit, and the number of connections has a bound.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.errors import StoreError
from pincite.store import rendezvous, wire
from pincite.store.wire import PROPERTIES, READS, Message, WireError

if TYPE_CHECKING:
    from pincite.protocols import Store
    from pincite.store.rendezvous import Address

__all__ = ["CONNECTIONS", "IDLE", "SESSION", "Serving"]

#: Most clients' connections at one time; the next are told so.
CONNECTIONS = 64
#: Seconds that one state is held for a client, at most.
SESSION = 2.0
#: Seconds after which a connection on which nothing is asked is closed. Its client opens another.
IDLE = 60.0

_GREETING = 5.0  #: seconds to prove who one is
_TRANSFER = 30.0  #: seconds for the bytes of one message
_LAST = 0.5  #: seconds for those of a message that has begun when a state has been held long enough
_DRAIN = 5.0  #: seconds that answers being made are waited for when it stops


class Serving:
    """Answers for `store` from when it is made until `stop`. The store must be open that long, and is not closed.

    `give_way` is called when somebody asks to write: it says whether the holder will close its store soon, and returns
    at once. Raises OSError or RuntimeError when the system gives no socket, no thread or no room for the address.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        *,
        give_way: Callable[[], bool] = lambda: False,
        connections: int = CONNECTIONS,
        session: float = SESSION,
        idle: float = IDLE,
        loopback: bool | None = None,
    ) -> None:
        self._folder = folder
        self._store = store
        self._give_way = give_way
        self._limit = connections
        self._session_seconds = session
        self._idle = idle
        self._lock = threading.Lock()
        self._calm = threading.Condition(self._lock)
        self._open: dict[socket.socket, bool] = {}  # connection → whether something is being answered on it
        self._stopping = threading.Event()
        kind: dict[str, bool] = {} if loopback is None else {"loopback": loopback}
        self._listener, self.address = rendezvous.listen(backlog=connections, **kind)
        # A process that ends without closing its store leaves no socket behind. A fork of it shall not remove it.
        self._finalizer = weakref.finalize(self, _withdraw, folder, self.address, os.getpid())
        try:
            rendezvous.publish(folder, self.address)
            threading.Thread(target=self._accept, name="pincite-listen", daemon=True).start()
        except BaseException:
            self._listener.close()
            self._finalizer()
            raise

    def stop(self) -> None:
        """Listen no longer. Answers being made are finished, and waited for some seconds. Idempotent."""
        with self._lock:
            if self._stopping.is_set():
                return
            self._stopping.set()
        self._finalizer()
        self._wake()
        until = time.monotonic() + _DRAIN
        with self._calm:
            for connection, busy in self._open.items():
                if not busy:
                    _hang_up(connection)
            while any(self._open.values()) and self._calm.wait(max(until - time.monotonic(), 0)):
                pass
            for connection in self._open:
                _hang_up(connection)

    def _wake(self) -> None:
        """Have the thread that accepts connections look up: closing a socket does not do that on every system."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                # With a limit: not every system ends an `accept` whose socket is closed.
                self._listener.settimeout(1.0)
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                # Closed; or out of file descriptors, or a client that left before it was accepted.
                self._stopping.wait(0.05)
                continue
            with self._lock:
                room = len(self._open) < self._limit and not self._stopping.is_set()
                if room:
                    self._open[connection] = False
            if not room:
                self._refuse(connection)
                continue
            try:
                threading.Thread(target=self._serve, args=(connection,), name="pincite-answer", daemon=True).start()
            except RuntimeError:  # no more threads
                self._forget(connection)

    def _refuse(self, connection: socket.socket) -> None:
        with suppress(OSError):
            wire.send(connection, wire.pack({"busy": f"all its {self._limit} connections are taken"}), 0.2)
        connection.close()

    def _serve(self, connection: socket.socket) -> None:
        """One connection, from its greeting to its end."""
        try:
            with suppress(OSError, EOFError, WireError):
                if connection.family == socket.AF_INET:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if rendezvous.greet(connection, self.address, _GREETING):
                    self._answer_all(connection)
        finally:
            self._forget(connection)

    def _answer_all(self, connection: socket.socket) -> None:
        while wire.readable(connection, self._idle) and self._begin(connection):
            request = wire.receive(connection, _TRANSFER)
            if request.get("hold"):
                self._hold(connection, request)
            elif "call" in request:
                wire.send(connection, self._answer(request), _TRANSFER)
            self._end(connection)

    def _begin(self, connection: socket.socket) -> bool:
        with self._lock:
            if self._stopping.is_set():
                return False
            self._open[connection] = True
            return True

    def _end(self, connection: socket.socket) -> None:
        with self._calm:
            self._open[connection] = False
            self._calm.notify_all()

    def _forget(self, connection: socket.socket) -> None:
        with self._calm:
            self._open.pop(connection, None)
            self._calm.notify_all()
        connection.close()

    def _hold(self, connection: socket.socket, request: Message) -> None:
        """Answer from one state of the store until the client lets go of it, or has had it long enough."""
        until = time.monotonic() + self._session_seconds
        with ExitStack() as state:
            try:
                state.enter_context(self._store.reading())
            except StoreError as error:
                wire.send(connection, wire.pack(wire.pack_error(error)), _TRANSFER)
                return
            while True:
                # A client that does not take its answer holds up a commit little longer than one that asks nothing.
                wire.send(connection, self._answer(request), max(until - time.monotonic(), _LAST))
                if not wire.readable(connection, until - time.monotonic()):
                    return
                request = wire.receive(connection, max(until - time.monotonic(), _LAST))
                if "call" not in request:
                    return

    def _answer(self, request: Message) -> bytes:
        try:
            return wire.pack({"value": wire.encode(self._call(str(request.get("call")), request))})
        # What goes wrong here is for who asked to hear. The engine's panics are no Exceptions.
        except BaseException as error:
            return wire.pack(wire.pack_error(error))

    def _call(self, name: str, request: Message) -> Any:
        if name == "yield":
            return self._give_way()
        if name in PROPERTIES:
            return getattr(self._store, name)
        if name in READS:
            args, kwargs = wire.decode(request.get("args", ["list"])), wire.decode(request.get("kwargs", {}))
            return getattr(self._store, name)(*args, **kwargs)
        raise StoreError(f"{name!r:.40} is not for others to ask of the process that holds the index")


def _hang_up(connection: socket.socket) -> None:
    """End a connection that another thread may be reading from."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _withdraw(folder: Path, address: Address, pid: int) -> None:
    if os.getpid() == pid:
        rendezvous.withdraw(folder, address)
