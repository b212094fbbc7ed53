"""Shared by every test. `toys` is importable because ``pythonpath`` in pyproject.toml names this folder."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

# Also for a test run from elsewhere, or without the project's settings.
if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

# The same examples every time, and none judged by the clock of a busy machine.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")
