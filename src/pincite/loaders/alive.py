"""A sign of life from a loader whose work takes long and is known to end: the pages of a scan, one after the other."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Sign", "tell_alive"]


class Sign:
    """To whom it is told; nobody, unless a process that reads for another says so."""

    told: Callable[[], None] | None = None


def tell_alive() -> None:
    """Say that the work goes on: whoever waits for the document begins to wait anew."""
    if Sign.told is not None:
        Sign.told()
