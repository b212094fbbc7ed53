"""Who may touch a store: one process at a time, and within it many readers or one change becoming visible."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path

from pincite.errors import StoreBusyError, StoreError

__all__ = ["ProcessLock", "ReadWriteLock"]


class ProcessLock:
    """An exclusive lock on a store's folder, released by the system when the process dies.

    The holder writes who it is beside the lock, so that a second process can say whom it waits for.
    """

    def __init__(self, folder: Path) -> None:
        from filelock import FileLock

        self._folder = folder
        self._holder = folder / "holder.json"
        # Not per thread: a store opened in one thread may be closed in another.
        self._lock = FileLock(str(folder / "lock"), thread_local=False)

    def acquire(self, timeout: float) -> None:
        """Wait at most `timeout` seconds. Raises StoreBusyError naming the holder."""
        from filelock import Timeout

        try:
            self._lock.acquire(timeout=timeout, poll_interval=0.05)
        except Timeout:
            raise StoreBusyError(
                f"the index {self._folder} is in use by {self._describe_holder()}. "
                "Wait until it has finished, or name another index with --store."
            ) from None
        except OSError as error:
            raise StoreError(f"the index {self._folder} cannot be locked: {error.strerror}") from error
        command = " ".join([Path(sys.argv[0] or "python").name, *sys.argv[1:]])[:200]
        since = datetime.now(timezone.utc).astimezone().isoformat(timespec="seconds")
        # A courtesy to whoever waits: a disk too full for it is no reason to stop.
        with suppress(OSError):
            self._holder.write_text(
                json.dumps({"pid": os.getpid(), "command": command, "since": since}), encoding="utf-8"
            )

    def _describe_holder(self) -> str:
        try:
            holder = json.loads(self._holder.read_text(encoding="utf-8"))
            return f"process {holder['pid']} ({holder['command']}, since {holder['since']})"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"

    def release(self) -> None:
        """Let go. Idempotent."""
        if self._lock.is_locked:
            with suppress(OSError):
                self._holder.unlink()
            self._lock.release()


class ReadWriteLock:
    """Many readers, or one writer.

    A thread that reads may read again inside. A writer waits for the readers there are; new readers wait for it, so
    that a stream of searches cannot hold off a commit for ever.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writing = False
        self._waiting = 0
        self._local = threading.local()

    @contextmanager
    def read(self) -> Iterator[None]:
        """Hold off writers."""
        depth = getattr(self._local, "depth", 0)
        if depth == 0:
            with self._condition:
                while self._writing or self._waiting:
                    self._condition.wait()
                self._readers += 1
        self._local.depth = depth + 1
        try:
            yield
        finally:
            self._local.depth = depth
            if depth == 0:
                with self._condition:
                    self._readers -= 1
                    if self._waiting and not self._readers:
                        self._condition.notify_all()

    def refuse_reader(self) -> None:
        """Raise StoreError in a thread that reads: to wait for writers there, or to be one, is to wait for itself."""
        if getattr(self._local, "depth", 0):
            raise StoreError("the index cannot be changed, checked or closed by a thread inside `reading()`")

    @contextmanager
    def write(self) -> Iterator[None]:
        """Hold off readers. Raises StoreError in a thread that reads."""
        self.refuse_reader()
        entered = False
        try:
            with self._condition:
                self._waiting += 1
                try:
                    while self._writing or self._readers:
                        self._condition.wait()
                    self._writing = entered = True
                finally:
                    self._waiting -= 1
                    # Cut off while it waited, it leaves readers behind that waited for it alone.
                    self._condition.notify_all()
            yield
        finally:
            if entered:
                with self._condition:
                    self._writing = False
                    self._condition.notify_all()
