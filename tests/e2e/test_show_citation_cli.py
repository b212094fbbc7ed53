"""A citation is kept, read back, and opened: also after the document changed, and after it was purged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pincite.cli import app
from pincite.cli.citation import Reference, read_reference
from pincite.errors import PinciteError
from pincite.types import Citation

LEASE = (
    "# Lease Act\n\n## Notice\n\nA tenant may end the lease with three months of notice in writing to the landlord.\n\n"
    "## Rent\n\nThe rent is due on the first day of every month without any deduction whatsoever.\n"
)
QUESTION = "With how much notice may a tenant end the lease?"
SENTENCE = "A tenant may end the lease with three months of notice in writing to the landlord."

Cli = Callable[..., Any]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command in this process, in `tmp_path`: its output, or with --json its data; fails on another status."""
    for name in os.environ:
        if name.startswith(("PINCITE_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0) -> Any:
        done = CliRunner().invoke(app, arguments)
        if isinstance(done.exception, PinciteError):
            assert done.exception.exit_code == code, done.exception
            return str(done.exception)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.output
        return json.loads(done.stdout) if "--json" in arguments else done.output

    return run


@pytest.fixture
def kept(cli: Cli, tmp_path: Path) -> str:
    """The reference of a citation that was written to a file as JSON and read back."""
    (tmp_path / "lease.md").write_text(LEASE)
    cli("add", "lease.md")
    (tmp_path / "answer.json").write_text(json.dumps(cli("ask", QUESTION, "--json")))
    (row,) = json.loads((tmp_path / "answer.json").read_text())["citations"]
    known = {each.name for each in fields(Citation)}
    citation = Citation(**{name: value for name, value in row.items() if name in known})
    assert citation.quote == SENTENCE
    assert row["reference"] == citation.reference
    return citation.reference


def test_a_citation_is_opened(cli: Cli, kept: str) -> None:
    data = cli("show", kept, "--json")
    assert data["reference"] == kept
    assert data["quote"] == SENTENCE
    assert LEASE[data["start"] : data["end"]] == SENTENCE
    assert data["headings"] == ["Lease Act", "Notice"]
    assert data["current"] is True
    assert data["now"] == {"version": 1, "start": data["start"], "end": data["end"]}
    told = " ".join(cli("show", kept).split())
    assert f"» {SENTENCE} «" in told
    assert "Lease Act, Notice lease.md · version 1" in told
    assert "This is the current version." in told


def test_surroundings_are_shown(cli: Cli, tmp_path: Path) -> None:
    words = " ".join(f"word{n}" for n in range(300))
    (tmp_path / "long.txt").write_text(words)
    cli("add", "long.txt")
    (listed,) = cli("list", "--json")
    start = words.index("word150")
    data = cli("show", f"{listed['id']}@1:{start}-{start + 15}", "--json")
    assert data["quote"] == "word150 word151"
    assert words.endswith(data["after"] + words[data["end"] + len(data["after"]) :])
    around = data["before"] + data["quote"] + data["after"]
    assert around in words
    assert 200 < len(data["before"]) <= 240
    assert 200 < len(data["after"]) <= 240
    assert data["before"].startswith("word")


def test_after_a_change_the_old_version_is_shown_as_such(cli: Cli, kept: str, tmp_path: Path) -> None:
    (tmp_path / "lease.md").write_text("Amended.\n\n" + LEASE)
    cli("add", "lease.md")
    data = cli("show", kept, "--json")
    assert (data["version"], data["current"], data["current_version"]) == (1, False, 2)
    assert data["quote"] == SENTENCE
    assert data["now"]["start"] == data["start"] + len("Amended.\n\n")
    told = " ".join(cli("show", kept).split())
    assert "version 1, replaced since" in told
    assert f"The current version is 2, in which these words stand at characters {data['now']['start']}-" in told

    (tmp_path / "lease.md").write_text(LEASE.replace("three", "six"))
    cli("add", "lease.md")
    assert cli("show", kept, "--json")["now"] is None
    told = " ".join(cli("show", kept).split())
    assert f"» {SENTENCE} «" in told
    assert "The current version is 3, in which these words do not stand any longer." in told


def test_of_a_removed_document_what_it_said_is_shown(cli: Cli, kept: str) -> None:
    cli("remove", "lease.md")
    data = cli("show", kept, "--json")
    assert (data["quote"], data["current_version"], data["now"]) == (SENTENCE, None, None)
    assert "The document was removed since" in cli("show", kept)


def test_after_a_purge_the_error_says_so(cli: Cli, kept: str) -> None:
    cli("purge", "lease.md", "--yes")
    assert "is not in the index: it was purged, or the citation is from another index" in cli("show", kept, code=2)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("@1:", "@7:"), "version 7 of"),
        (("-", "-9"), "and version 1 of"),
    ],
)
def test_what_is_not_there_is_told(cli: Cli, kept: str, change: tuple[str, str], told: str) -> None:
    head, mark, tail = kept.rpartition(change[0])
    assert told in cli("show", f"{head}{change[1]}{tail}", code=2)
    assert mark


def test_a_citation_stands_alone(cli: Cli, kept: str) -> None:
    assert "give it alone" in cli("show", kept, "--version", "1", code=2)
    assert "give it alone" in cli("show", kept, "--chunks", code=2)


def test_references() -> None:
    assert read_reference(" ab12@3:40-90\n") == Reference("ab12", 3, 40, 90)
    assert read_reference("me@home.txt@1:0-5") == Reference("me@home.txt", 1, 0, 5)
    for other in ("ab12", "ab12@3", "ab12@3:40", "@3:4-5", "ab12@3:4-5x", "ab12@-3:4-5"):
        assert read_reference(other) is None
