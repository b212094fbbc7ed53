"""``pincite lab`` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pincite.lab.catalogue import LESSONS


def run(*arguments: str, folder: Path, code: int = 0, **environment: str) -> str:
    """Its standard output, or its standard error where it must fail. Fails with a stack trace."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PINCITE_")}
    done = subprocess.run(
        [sys.executable, "-m", "pincite", "lab", *arguments],
        cwd=folder,
        capture_output=True,
        env={**clean, **environment},
        timeout=120,
        check=False,
    )
    errors = done.stderr.decode()
    assert "Traceback" not in errors, errors
    assert done.returncode == code, (done.returncode, errors[-2000:])
    return done.stdout.decode() if code == 0 else errors


def test_without_a_name_the_lessons_are_listed(tmp_path: Path) -> None:
    out = run(folder=tmp_path)
    assert [line.split()[0] for line in out.splitlines() if line and line[0] != " "][: len(LESSONS)] == list(LESSONS)
    listed = json.loads(run("--json", folder=tmp_path))
    assert [entry["name"] for entry in listed] == list(LESSONS)
    assert list(tmp_path.iterdir()) == []


def test_a_lesson_is_plain_text_in_a_pipe(tmp_path: Path) -> None:
    out = run("cricket", folder=tmp_path, FORCE_COLOR="", TERM="xterm-256color")
    assert "\x1b" not in out
    assert "p(y|x)     = 0.5808 + 0.1015 + 0.0065 = 0.6888" in out
    assert "0.6962" in out
    assert max(map(len, out.splitlines())) <= 100


def test_json_is_the_same_each_time_and_measures_nothing(tmp_path: Path) -> None:
    first = run("search-cost", "--json", folder=tmp_path)
    assert first == run("search-cost", "--json", folder=tmp_path)
    lesson = json.loads(first)
    assert not any(step["measured"] for step in lesson["steps"])
    numbers = {value["name"]: value["value"] for step in lesson["steps"] for value in step["values"]}
    assert numbers["operations of a query"] == 32_279_537_664 or numbers["about"] == 32_279_537_664
    cricket = json.loads(run("cricket", "--json", folder=tmp_path))
    numbers = {value["name"]: value["value"] for step in cricket["steps"] for value in step["values"]}
    assert numbers["p(y|x)"] == pytest.approx(0.6888, abs=5e-5)


def test_measuring_is_said_and_can_be_left_out(tmp_path: Path) -> None:
    assert "Measured here, now" in run("search-cost", folder=tmp_path)
    assert "Measured here, now" not in run("search-cost", "--no-measure", folder=tmp_path)
    measured = json.loads(run("search-cost", "--json", "--measure", folder=tmp_path))
    assert [step["measured"] for step in measured["steps"]].count(True) == 1


def test_all_lessons_one_after_the_other(tmp_path: Path) -> None:
    every = json.loads(run("--all", "--json", folder=tmp_path))
    assert [lesson["name"] for lesson in every] == list(LESSONS)
    out = run("--all", "--no-measure", folder=tmp_path)
    for name in LESSONS:
        assert f"{name}: " in out


def test_a_wrong_name_is_one_line(tmp_path: Path) -> None:
    error = run("criket", folder=tmp_path, code=2)
    assert "did you mean 'cricket'" in error
    assert len(error.splitlines()) == 1
    assert "--all shows every lesson" in run("cricket", "--all", folder=tmp_path, code=2)


def test_where_no_other_characters_can_be_shown_it_still_prints(tmp_path: Path) -> None:
    out = run("fusion", folder=tmp_path, PYTHONIOENCODING="ascii")
    assert "0.03226" in out
