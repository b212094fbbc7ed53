"""The process that reads: one source at a time, one document each time it is asked, within a limit of memory.

What it says goes through the pipes that were its standard input and output when it started. To whatever runs in here
standard input is empty, and what is printed goes to standard error: no loader and no library below one can spoil the
conversation. The process ends when the one that started it does.

    asked                                            answered
    {"uri", "name", "path"}                          {"kind": "document" | "outcome", "record"}
    {"uri", "name", "path": null}, the bytes         {"kind": "error", "reason", "detail", "spent"}
    {"next": true}                                   {"kind": "end", "spent"}
                                                     {"kind": "alive"}, before any of them

`spent` says that so much memory is still held that a new process is better than this one.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, NoReturn

from pincite.errors import LoaderFaultError, LoadError, MemoryLimitError
from pincite.loaders.alive import Sign
from pincite.loaders.frames import OUT_OF_MEMORY, pack, read_frame, unpack, write_frame
from pincite.loaders.read import read_documents
from pincite.loaders.records import document_record, outcome_record
from pincite.processes import die_with_parent
from pincite.protocols import Container, Loader, Source
from pincite.types import Document, FileOutcome

__all__ = ["serve"]

#: Megabytes held after a file above which the process says that it is spent.
_HELD = 512


def serve(loaders: Sequence[Loader | Container], memory_mb: int) -> None:
    """Read with `loaders` whatever is asked for, until the other side goes. Does not return.

    A file may take `memory_mb` megabytes beyond what the process has when this is called, where the system can limit
    an address space; elsewhere there is no limit.
    """
    asked, answers = _take_pipes()
    # A loader that never lets go of the interpreter would keep `_listen` from noticing. The parent is the thread that
    # started this process; see `pincite.loaders.worker`, where it lives as long as the process.
    die_with_parent()
    # An interruption at the terminal is for the one who asked, who then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Sign.told = lambda: write_frame(answers, pack({"kind": "alive"}))
    _limit_memory(memory_mb)
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(asked, requests), daemon=True).start()
    write_frame(answers, pack({"kind": "ready"}))
    while True:
        request = unpack(requests.get())
        try:
            answer = _read(loaders, request, requests, answers, memory_mb)
            write_frame(answers, pack({**answer, "spent": answer.get("spent") or _held_mb() > _HELD}))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except OSError:
            _end()


def _read(
    loaders: Sequence[Loader | Container],
    request: dict[str, Any],
    requests: SimpleQueue[bytes],
    answers: BinaryIO,
    memory_mb: int,
) -> dict[str, Any]:
    """Send the documents of a source as they are asked for, and return what comes after the last."""
    path = request["path"]
    data = None if path is not None else requests.get()
    source = Source(request["uri"], request["name"], data, None if path is None else Path(path))
    try:
        for message in _messages(loaders, source):
            write_frame(answers, message)
            del message  # one document at a time: this one goes before the next is made
            requests.get()
    except BrokenPipeError:
        _end()
    except LoadError as error:
        if not isinstance(error.__cause__, MemoryError):
            return {"kind": "error", "reason": error.reason, "detail": str(error)}
    except MemoryError:
        pass
    except BaseException as error:  # a loader may raise anything, SystemExit as well
        detail = f"the loader failed: {type(error).__name__}: {_said_by(error)}"
        return {"kind": "error", "reason": LoaderFaultError.reason, "detail": detail}
    else:
        return {"kind": "end"}
    detail = f"reading it takes more memory than the setting load.memory_mb ({memory_mb}) allows, or than there is"
    return {"kind": "error", "reason": MemoryLimitError.reason, "detail": detail, "spent": True}


def _said_by(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "it cannot say what"


def _messages(loaders: Sequence[Loader | Container], source: Source) -> Iterator[bytes]:
    for made in read_documents(loaders, source):
        yield _message(made)
        del made


def _message(made: Document | FileOutcome) -> bytes:
    if isinstance(made, FileOutcome):
        return pack({"kind": "outcome", "record": outcome_record(made)})
    return pack({"kind": "document", "record": document_record(made)})


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    faulthandler.enable(all_threads=False)
    return asked, answers


def _listen(asked: BinaryIO, requests: SimpleQueue[bytes]) -> None:
    # In a thread of its own: the other side may go while a loader is at work.
    try:
        while (frame := read_frame(asked)) is not None:
            requests.put(frame)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    _end()


def _end() -> NoReturn:
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)  # with whatever a loader started
    os._exit(0)


def _limit_memory(memory_mb: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    for what, limit in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, _pages(0) + (memory_mb << 20))):
        hard = resource.getrlimit(what)[1]
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        try:
            resource.setrlimit(what, (limit, hard))
        except (ValueError, OSError):
            continue  # a system that cannot: the machine's own memory is then the limit


def _held_mb() -> float:
    return _pages(1) / (1 << 20)


def _pages(which: int) -> int:
    """Bytes of this process: of its address space (0), or of its memory that is in use (1); 0 where nobody says."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[which]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError, IndexError):
        return 0
