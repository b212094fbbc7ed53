"""Shared by every test. `toys` is importable because ``pythonpath`` in pyproject.toml names this folder."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from hypothesis import settings

# Also for a test run from elsewhere, or without the project's settings.
if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

# A shell without job control starts what it runs in the background with interrupts ignored. Children would inherit
# that, and tests interrupt some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time, and none judged by the clock of a busy machine.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")
