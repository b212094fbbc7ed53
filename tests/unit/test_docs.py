"""The documentation says what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pincite

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_what_the_code_says() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "make_reference.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_documented() -> None:
    concepts = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    missing = [name for name in pincite.__all__ if f"`{name}`" not in concepts]
    assert not missing, missing


@pytest.mark.parametrize(
    "page", ["README.md", "CHANGELOG.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    file = ROOT / page
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", file.read_text(encoding="utf-8")):
        assert (file.parent / target).exists(), target
