"""Ctrl-C while adding leaves a valid index with what was reported, and running it again does the rest."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path


def test_control_c_leaves_a_valid_index(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    for number in range(60):
        lines = [f"Clause {number}.{line}: the party of part {line} pays {number * line} crowns." for line in range(40)]
        (papers / f"{number:02}.txt").write_text("\n\n".join(lines))
    command = [sys.executable, "-m", "pincite", "add", "papers", "--json"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # It is at work once the catalogue is there.
    deadline = time.monotonic() + 60
    while not (tmp_path / ".pincite" / "catalogue.sqlite").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert b"Traceback" not in errors
    report = json.loads(out)
    assert report["interrupted"]
    kept = {outcome["uri"] for outcome in report["report"]["outcomes"]}
    assert len(kept) < 60
    listed = subprocess.run([*command[:3], "list", "--json"], cwd=tmp_path, capture_output=True, check=True)
    assert {document["uri"] for document in json.loads(listed.stdout)} == kept
    doctor = subprocess.run([*command[:3], "doctor"], cwd=tmp_path, capture_output=True, check=False)
    assert doctor.returncode == 0, doctor.stdout
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    statuses = [outcome["status"] for outcome in json.loads(again.stdout)["report"]["outcomes"]]
    assert statuses.count("unchanged") == len(kept)
    assert statuses.count("added") == 60 - len(kept)
