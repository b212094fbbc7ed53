"""An index that several processes use: one of them holds it and writes or reads, the others ask the holder.

The engine lets one process open its files. So whoever comes first opens them and answers those who come later
(`serving`, `client`); when it goes, closed or killed, one of them opens the index in its place and the rest ask that.
To write is to hold. Who holds the index only to read gives way to who wants to write, and asks the writer from then on;
who writes gives way to nobody until it has finished.

Three locks, all released by the system when their process dies: ``lock`` is that of the holder. ``lock.next`` is had by
a writer while it waits for the first, so that no reader slips in before it, and for a moment by a reader that opens the
index. And the thread that finds out who holds the index now has a lock within its process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pincite.errors import EncoderMismatchError, StoreBusyError, StoreError
from pincite.store import wire
from pincite.store.client import HolderGoneError, StoreClient, describe_holder
from pincite.store.locks import ReadWriteLock
from pincite.store.serving import Serving

if TYPE_CHECKING:
    from pincite.protocols import Store, StoreHeader

__all__ = ["SharedStore", "open_shared"]

Opener: TypeAlias = "Callable[[float], Store]"
"""Opens the index here, waiting so many seconds for its lock. Raises StoreBusyError if that is not enough."""

#: Seconds between two questions to a holder whether it will give way now.
_ASK_AGAIN = 0.25
#: Pauses of a reader that finds no holder that serves, and none that has gone: somebody is just opening or closing.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.2


def open_shared(folder: Path, open_store: Opener, *, write: bool = False, timeout: float = 5.0) -> SharedStore:
    """Use the index in `folder` beside other processes.

    `open_store` opens it here, or makes it. With `write` this process holds it until `close` and gives way to nobody;
    StoreBusyError names who does, if that did not change within `timeout` seconds. Without, it is asked of whoever
    holds it, or opened here if nobody does, and a writing method makes this process the holder for as long as it
    writes, after waiting as long.
    """
    store = SharedStore(folder, open_store, timeout=timeout)
    try:
        store.open(write=write)
    except BaseException:
        store.close()
        raise
    return store


@dataclass
class _Held:
    """The index, open in this process, and the listener that answers others; None where the system gave none."""

    store: Store
    serving: Serving | None

    def close(self) -> None:
        if self.serving is not None:
            self.serving.stop()
        self.store.close()


@dataclass
class _State:
    """What a thread that is inside `SharedStore.reading` keeps open."""

    kept: ExitStack
    of: _Held | StoreClient | None = None


@wire.forwards
class SharedStore:
    """See `pincite.protocols.Store`, of which it has every method. Any thread may use it. Made by `open_shared`.

    The holder may change between any two calls, and within `reading` only where it must: because it died.
    """

    def __init__(self, folder: Path, open_store: Opener, *, timeout: float) -> None:
        self.folder = folder
        self._open_store = open_store
        self._timeout = timeout
        self._gate = ReadWriteLock()  # read: calls of a store that is open here; write: that it is opened or closed
        self._finding = threading.Lock()
        self._counting = threading.Lock()
        self._backend: _Held | StoreClient | None = None
        self._header: StoreHeader | None = None
        self._writers = 0  # calls and contexts that write, and one for as long as it was opened to write
        self._tickets: dict[int, str] = {}  # staged here → the document's id
        self._closed = False
        self._local = threading.local()

    def open(self, *, write: bool) -> None:
        """Find the holder, or become it. Once."""
        if write:
            self._begin_writing()
        else:
            self._find(None)

    @property
    def holds(self) -> bool:
        """Whether the index is open in this process, just now."""
        return isinstance(self._backend, _Held)

    @property
    def header(self) -> StoreHeader:
        """What the index was built with."""
        if self._header is None:
            raise StoreError(f"the index {self.folder} was closed")
        return self._header

    # Reading

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A method that reads: here, or in the process that holds the index."""
        return self._ask(lambda store: getattr(store, name)(*args, **kwargs))

    def look(self, name: str) -> Any:
        """A property."""
        return self._ask(lambda store: getattr(store, name))

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        until = time.monotonic() + self._timeout
        while True:
            state: _State | None = getattr(self._local, "state", None)
            if state is not None:
                backend = self._keep(state)
                if isinstance(backend, _Held):
                    return question(backend.store)
            else:
                with self._gate.read():
                    backend = self._known()
                    if isinstance(backend, _Held):
                        return question(backend.store)
            # Not under the gate: the question to another process may take its time.
            if backend is not None:
                try:
                    return question(backend)
                except HolderGoneError:
                    if time.monotonic() > until:
                        raise
            self._find(backend)

    def _known(self) -> _Held | StoreClient | None:
        if self._closed:
            raise StoreError(f"the index {self.folder} was closed")
        return self._backend

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several calls see one state; see `pincite.protocols.Store`. Asked of another process, for two seconds."""
        if getattr(self._local, "state", None) is not None:
            yield
            return
        with ExitStack() as kept:
            state = self._local.state = _State(kept)
            try:
                self._keep(state)
                yield
            finally:
                self._local.state = None

    def _keep(self, state: _State) -> _Held | StoreClient | None:
        """Whom to ask, who keeps one state from now on until the thread's `reading` ends."""
        if isinstance(state.of, _Held):  # which stays until then
            return state.of
        with ExitStack() as gate:
            gate.enter_context(self._gate.read())
            backend = self._known()
            if isinstance(backend, _Held):
                state.kept.push(gate.pop_all())
                state.kept.enter_context(backend.store.reading())
        if isinstance(backend, StoreClient) and backend is not state.of:
            state.kept.enter_context(backend.reading())
        state.of = backend
        return backend

    # Who holds it

    def _find(self, gone: _Held | StoreClient | None) -> None:
        """Have somebody to ask in place of `gone`: one thread looks, the others wait for what it finds."""
        with self._finding:
            with self._gate.read():
                if self._known() is not gone:
                    return
            self._take_up(self._connect_or_open())

    def _take_up(self, found: _Held | StoreClient) -> None:
        """Ask `found` from now on."""
        try:
            header: StoreHeader = found.store.header if isinstance(found, _Held) else found.header  # type: ignore[attr-defined]
            if self._header not in (None, header):
                raise EncoderMismatchError(
                    f"the index {self.folder} was made anew by another process while it was open here, with another "
                    "encoder or language: open it again"
                )
            with self._gate.write():
                self._known()
                before, self._backend, self._header = self._backend, found, header
        except BaseException:
            found.close()
            raise
        if before is not None:
            before.close()

    def _connect_or_open(self) -> _Held | StoreClient:
        until = time.monotonic() + self._timeout
        pause = _FIRST_PAUSE
        while True:
            unheard: StoreError | None = None
            try:
                return StoreClient(self.folder, timeout=max(until - time.monotonic(), _LONGEST_PAUSE))
            except HolderGoneError:
                pass
            except StoreBusyError as error:
                unheard = error
            # Also where a holder of another version, or one that is silent, left its address: it may be dead.
            try:
                with _next_in_line(self.folder, 0):
                    return self._hold(self._open_store(0))
            except StoreBusyError as error:
                if time.monotonic() + pause > until:
                    raise unheard or error from None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _hold(self, store: Store) -> _Held:
        serving = None
        # Without a socket, or with a disk too full for its address, others find the index in use, as they must.
        with suppress(OSError, RuntimeError):
            serving = Serving(self.folder, store, give_way=self._asked_to_give_way)
        return _Held(store, serving)

    def _asked_to_give_way(self) -> bool:
        if self._writing():
            return False
        # In a thread of its own: the one that was asked is one of those that are waited for.
        threading.Thread(target=self._give_way, name="pincite-give-way", daemon=True).start()
        return True

    def _give_way(self) -> None:
        with suppress(StoreError), self._gate.write():
            if isinstance(self._backend, _Held) and not self._writing():
                held, self._backend = self._backend, None
                held.close()

    def _writing(self) -> bool:
        return bool(self._writers or self._tickets)

    # Writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the index, so that no other process changes it before the end.

        Waits for it as `open_shared` says. Raises StoreBusyError naming who holds it, and StoreError in a thread that
        reads.
        """
        self._begin_writing()
        try:
            yield
        finally:
            with self._counting:
                self._writers -= 1

    def _begin_writing(self) -> None:
        self._refuse_reader()
        until = time.monotonic() + self._timeout
        while True:
            with self._gate.read():
                if isinstance(self._known(), _Held):
                    with self._counting:
                        self._writers += 1
                    return
            with self._finding:
                if not self.holds:
                    self._take_up(self._hold(self._open_to_write(until)))

    def _refuse_reader(self) -> None:
        if getattr(self._local, "state", None) is not None:
            raise StoreError("the index cannot be changed, checked or closed by a thread inside `reading()`")

    def _open_to_write(self, until: float) -> Store:
        """Open the index here, having asked whoever holds it to give way, again and again until then."""
        with _next_in_line(self.folder, until - time.monotonic()):
            while True:
                self._ask_to_yield()
                try:
                    return self._open_store(max(min(_ASK_AGAIN, until - time.monotonic()), 0))
                except StoreBusyError:
                    if time.monotonic() >= until:
                        raise

    def _ask_to_yield(self) -> None:
        # Who does not answer, or does not understand, does not give way: its lock will say so.
        with suppress(HolderGoneError, StoreBusyError), StoreClient(self.folder, timeout=_ASK_AGAIN) as holder:
            holder.ask_to_yield()

    def change(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A method that writes: here, once this process holds the index."""
        with self.writing(), self._gate.read():
            backend = self._known()
            assert isinstance(backend, _Held)  # it gives way to nobody now
            return getattr(backend.store, name)(*args, **kwargs)

    def stage(self, document: Any, *args: Any, **kwargs: Any) -> int:
        """See `pincite.protocols.Store.stage`. Until it is committed or discarded this process holds the index."""
        with self.writing():
            ticket: int = self.change("stage", (document, *args), kwargs)
            with self._counting:
                # One staged earlier of the same document was dropped.
                self._tickets = {n: each for n, each in self._tickets.items() if each != document.id}
                self._tickets[ticket] = document.id
        return ticket

    def commit(self, tickets: Any, **kwargs: Any) -> Any:
        """See `pincite.protocols.Store.commit`."""
        committed = self.change("commit", (tickets,), kwargs)
        self._settle(tickets)
        return committed

    def discard(self, tickets: Any) -> None:
        """See `pincite.protocols.Store.discard`."""
        self._refuse_reader()
        self._known()
        if self._tickets:  # else there is nothing to forget, and no need to wait for whoever holds the index
            self.change("discard", (tickets,), {})
            self._settle(tickets)

    def _settle(self, tickets: Any) -> None:
        with self._counting:
            for ticket in tickets:
                self._tickets.pop(ticket, None)

    # The end

    def give_place_to(self, fresh: Path) -> None:
        """Close, and let the complete index in the folder `fresh` take this one's place."""
        with self.writing(), self._gate.write():
            backend = self._known()
            assert isinstance(backend, _Held)
            if backend.serving is not None:
                backend.serving.stop()
            self._closed, self._backend = True, None
            backend.store.give_place_to(fresh)  # type: ignore[attr-defined]

    def close(self) -> None:
        """Release the index, or take leave of who holds it. Idempotent. Raises StoreError in a thread that reads."""
        self._refuse_reader()
        with self._gate.write():
            self._closed = True
            backend, self._backend = self._backend, None
            if backend is not None:
                backend.close()

    def __enter__(self) -> SharedStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _next_in_line(folder: Path, timeout: float) -> Iterator[None]:
    """Be the one that opens the index when it is free. Raises StoreBusyError naming its holder if another is next."""
    from filelock import FileLock, Timeout

    if not (folder / "lock").exists():  # nobody has opened an index here yet: no file is left where there is none
        yield
        return
    lock = FileLock(str(folder / "lock.next"), thread_local=False)
    try:
        lock.acquire(timeout=max(timeout, 0), poll_interval=0.05)
    except Timeout:
        raise StoreBusyError(
            f"the index {folder} is in use by {describe_holder(folder)}, and another process waits for it. "
            "Wait until it has finished, or name another index with --store."
        ) from None
    except OSError as error:
        raise StoreError(f"the index {folder} cannot be locked: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()
