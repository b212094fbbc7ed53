"""With the network cut, the main job works; and nothing even tries."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "src" / "pincite" / "demo" / "documents"

#: Adds, searches and answers; any attempt to connect or to resolve a name ends the process with a telling message.
JOB = """
import os, sys

def forbid(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        sys.stderr.write(f"NETWORK {event} {arguments!r}")
        sys.stderr.flush()
        os._exit(99)

sys.addaudithook(forbid)
from pincite import Pincite
with Pincite.open(sys.argv[1], environment={}) as p:
    p.add(sys.argv[2])
    assert p.search("liquor").passages
    print(p.ask("Which right does the Third Amendment give about soldiers?").text)
"""


def test_nothing_tries_to_connect(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", JOB, str(tmp_path / "index"), str(DEMO / "amendment-03-quartering.md")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    # An empty index of one document still has "liquor" to look for: the hit is whatever is nearest.
    assert "NETWORK" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    assert "Soldier" in done.stdout


def test_it_works_where_there_is_no_network(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    cut = [unshare or "unshare", "--net", "--map-root-user"]
    if unshare is None or subprocess.run([*cut, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system does not let a test cut its own network (unshare --net)")
    done = subprocess.run(
        [*cut, sys.executable, "-c", JOB, str(tmp_path / "index"), str(DEMO / "amendment-03-quartering.md")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Soldier" in done.stdout


def test_the_audit_hook_would_see_a_connection() -> None:
    job = JOB.split("from pincite")[0] + "import socket; socket.create_connection(('127.0.0.1', 9))"
    done = subprocess.run([sys.executable, "-c", job], capture_output=True, text=True, check=False)
    assert done.returncode == 99
    assert "NETWORK" in done.stderr
