"""Importing and asking for help is quick, because nothing heavy is loaded for it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

#: What ``pincite --help`` may load beside the standard library and pincite. ``import pincite`` may load nothing.
FOR_HELP = {
    "typer",
    "click",
    "rich",
    "shellingham",
    "pygments",
    "markdown_it",
    "mdurl",
    "typing_extensions",
    "annotated_doc",
    "colorama",
}
HEAVY = {
    "numpy",
    "onnxruntime",
    "tokenizers",
    "httpx",
    "pydantic",
    "qdrant_edge",
    "lxml",
    "pypdfium2",
    "torch",
    "regex",
}

IMPORT = ["-c", "import pincite"]
HELP = ["-m", "pincite", "--help"]

_REPORT = (
    "import sys; before = set(sys.modules)\n"
    "{program}\n"
    "print(*sorted({{name.partition('.')[0] for name in set(sys.modules) - before}}), file=sys.stderr)"
)


def loaded(program: str) -> set[str]:
    """Top-level packages that a fresh process has after `program`, those it has after starting aside."""
    done = subprocess.run(
        [sys.executable, "-c", _REPORT.format(program=program)], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def third_party(names: set[str]) -> set[str]:
    return {name for name in names if name not in sys.stdlib_module_names and not name.startswith("_")} - {"pincite"}


def test_importing_loads_nothing_of_others() -> None:
    assert third_party(loaded("import pincite")) == set()


def test_help_loads_only_what_prints_it() -> None:
    names = loaded(
        "sys.argv = ['pincite', '--help']\nfrom pincite.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
    )
    assert "typer" in names
    assert third_party(names) <= FOR_HELP
    assert not names & HEAVY


@pytest.mark.parametrize("command", ["add", "search", "ask", "status", "config", "doctor", "lab"])
def test_the_help_of_a_command_is_light_too(command: str) -> None:
    names = loaded(
        f"sys.argv = ['pincite', '{command}', '--help']\n"
        "from pincite.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )
    # Typer itself takes pydantic to read a command's options.
    assert not names & (HEAVY - {"pydantic"})


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs the CPU time of a single child")
@pytest.mark.parametrize(("arguments", "limit"), [(IMPORT, 0.2), (HELP, 0.4)], ids=["import", "help"])
def test_seconds(arguments: list[str], limit: float) -> None:
    """CPU time of the whole process, the interpreter's own start included; wall time is the machine's as well."""
    cpu, wall = [], []
    for _ in range(7):
        started = time.perf_counter()
        child = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall.append(time.perf_counter() - started)
        cpu.append(usage.ru_utime + usage.ru_stime)
        assert child.returncode == 0
        if min(cpu) < limit / 2:
            break
    assert min(cpu) < limit, f"CPU {min(cpu):.3f} s, wall {min(wall):.3f} s at best, {max(wall):.3f} s at worst"


def test_the_installed_command_prints_help() -> None:
    script = Path(sysconfig.get_path("scripts"), "pincite")
    if not script.exists():
        pytest.skip("pincite is not installed as a command here")
    done = subprocess.run([script, "--help"], capture_output=True, text=True, check=True)
    for command in ("add", "search", "ask"):
        assert command in done.stdout
