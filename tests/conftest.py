"""Shared by every test. `toys` is importable because ``pythonpath`` in pyproject.toml names this folder."""

from __future__ import annotations

import sys
from pathlib import Path

# Also for a test run from elsewhere, or without the project's settings.
if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))
