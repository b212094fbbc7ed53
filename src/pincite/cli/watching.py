"""Waiting for a folder to change."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["changes_of", "ticks"]

#: Changes that follow each other within these milliseconds are one, up to the second number of them.
_QUIET_MS = 300
_DEBOUNCE_MS = 2000
#: So often the watch is asked whether it still waits.
_LOOK_MS = 200


def ticks(seconds: float) -> Iterator[bool]:
    """True at once, and again each time so many seconds have passed."""
    while True:
        yield True
        time.sleep(seconds)


def changes_of(folder: Path, *, ignored: Path, poll: float | None, retry: float) -> Iterator[bool]:
    """True at once and whenever something below `folder` has changed; False after `retry` seconds of nothing.

    What changes while the caller is at work is told with the next. Hidden files and what is below `ignored`, the
    index, are not looked at. With `poll` the folder is looked through every so many seconds, for drives that do not
    say what changes on them. A folder that is away is waited for.
    """
    from watchfiles import Change, watch

    kept_out = os.path.realpath(ignored)
    root = os.path.realpath(folder)

    def counts(_: Change, path: str) -> bool:
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if real == kept_out or real.startswith(kept_out + os.sep):
            return False
        below = os.path.relpath(path, folder) if not real.startswith(root) else os.path.relpath(real, root)
        return not any(part.startswith(".") and part not in (".", "..") for part in below.split(os.sep))

    while True:
        if not folder.is_dir():
            yield False
            time.sleep(retry)
            continue
        # From here on nothing is missed: the watch has begun when it first says that nothing happened.
        begun = False
        told = time.monotonic()
        for changes in watch(
            folder,
            watch_filter=counts,
            debounce=_DEBOUNCE_MS,
            step=_QUIET_MS,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            force_polling=True if poll else None,
            poll_delay_ms=int((poll or 0.3) * 1000),
        ):
            if changes or not begun or time.monotonic() - told >= retry:
                yield bool(changes) or not begun
                begun = True
                told = time.monotonic()
            if not folder.is_dir():
                break
