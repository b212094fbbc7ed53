"""What a process that works for another owes it: not to outlive it."""

from __future__ import annotations

import sys

__all__ = ["die_with_parent"]


def die_with_parent() -> None:
    """Ask Linux to kill this process when the thread that started it ends; elsewhere nothing is done."""
    if sys.platform == "linux":
        import ctypes
        import signal

        set_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)
