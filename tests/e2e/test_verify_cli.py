"""``pincite verify`` from the command line, on real files of several kinds."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import pytest
from typer.testing import CliRunner

from pincite.build import Pincite
from pincite.cli import app
from pincite.errors import PinciteError

JUDGMENT = """\
Ram Lal Sharma v State of Punjab

Supreme Court of India

4 February 1994
Criminal Appeal No. 22 of 1991
The Judgment was delivered by : A. S. Anand, J.

1. This appeal is directed against the judgment of the High Court.

2. Bail is the rule and committal to jail is an exception. The refusal of bail is a restriction on personal liberty.
"""
CODE = """\
# The Indian Penal Code, 1860

## 302. Punishment for murder

Whoever commits murder shall be punished with death or imprisonment for life, and shall also be liable to fine.
"""
TRUE = "In Ram Lal Sharma v. State of Punjab (1994), the Court held that bail is the rule.\n"
WRONG = "In *Ram Lal Sharma* v. *State of Punjab* (1983), the Court held that bail is the rule.\n"
UNKNOWN = "In Arun Tandekar v. State of Bihar, (1987) 3 SCC 44, the Court held that jail is the rule.\n"

GRAMMAR = """\
[[acts]]
key = "ipc"
name = "Indian Penal Code"
year = 1860
aliases = ["IPC", "Macaulay Code"]
"""

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def law(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a judgment and an act; no test changes it."""
    folder = tmp_path_factory.mktemp("law")
    (folder / "Ram Lal Sharma v State of Punjab.txt").write_text(JUDGMENT)
    (folder / "code.md").write_text(CODE)
    with Pincite.open(folder / "index", environment={}) as p:
        p.add(folder / "Ram Lal Sharma v State of Punjab.txt")
        p.add(folder / "code.md", valid_from="1862-01-01", valid_to="2024-06-30")
    return folder / "index"


@pytest.fixture
def cli(law: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command in `tmp_path`, against the index: its output, or its data."""
    for name in os.environ:
        if name.startswith(("PINCITE_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PINCITE_STORE", str(law))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0, stdin: str | bytes | None = None) -> Any:
        done = CliRunner().invoke(app, arguments, input=stdin)
        if isinstance(done.exception, PinciteError):
            assert done.exception.exit_code == code, done.exception
            return str(done.exception)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.output
        return json.loads(done.stdout) if "--json" in arguments else done.output

    return run


def word(text: str) -> bytes:
    document = docx.Document()
    for part in text.strip().split("\n\n"):
        document.add_paragraph().add_run(part.replace("*", "")).italic = True
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def test_the_exit_status_tells_a_script(cli: Cli, tmp_path: Path) -> None:
    for text, code in ((TRUE, 0), (WRONG, 1), (UNKNOWN, 1), ("It rained.\n", 0)):
        (tmp_path / "brief.md").write_text(text)
        cli("verify", "brief.md", code=code)
    (tmp_path / "brief.md").write_text(UNKNOWN)
    cli("verify", "brief.md", "--missing", "ok", code=0)
    (tmp_path / "brief.md").write_text(WRONG + "\n" + UNKNOWN)
    cli("verify", "brief.md", "--missing", "ok", code=1)


def test_what_is_printed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "brief.md").write_text(f"{WRONG}\n{UNKNOWN}\nIt rained.\n")
    told = " ".join(cli("verify", "brief.md", code=1).split())
    assert "✗ wrong year Ram Lal Sharma v. State of Punjab (1983)" in told
    assert "1994" in told
    assert "? not found in this corpus Arun Tandekar v. State of Bihar, (1987) 3 SCC 44" in told
    assert "1 sentence names no authority" in told
    assert "names no authority: there is nothing to check" in cli("verify", "-", stdin="It rained.")


def test_the_law_of_a_day(cli: Cli) -> None:
    text = "Section 302 IPC provides that whoever commits murder shall be punished with death or imprisonment for life."
    cli("verify", "-", "--as-of", "2020-01-01", stdin=text)
    told = cli("verify", "-", "--as-of", "2025-01-01", stdin=text, code=1)
    assert "not in force" in told
    assert "2024-06-30" in told
    assert "--as-of" in cli("verify", "-", "--as-of", "yesterday", stdin=text, code=2)


def test_json_for_programs(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(TRUE)
    (tmp_path / "b.txt").write_text(WRONG)
    data = cli("verify", "a.md", "b.txt", "--json", code=1)
    assert [Path(each["file"]).name for each in data["briefs"]] == ["a.md", "b.txt"]
    assert [each["ok"] for each in data["briefs"]] == [True, False]
    (mark,) = [m for m in data["briefs"][1]["claims"][0]["marks"] if m["what"] == "authority"]
    assert (mark["status"], mark["place"]["title"]) == ("wrong-year", "Ram Lal Sharma v State of Punjab")
    assert cli("show", mark["place"]["document_id"])


def test_a_word_file_comes_back_with_comments(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "brief.docx").write_bytes(word(WRONG + "\nIt rained."))
    cli("verify", "brief.docx", "--docx", "checked.docx", "--html", "checked.html", code=1)
    document = docx.Document(str(tmp_path / "checked.docx"))
    assert [paragraph.text for paragraph in document.paragraphs] == [WRONG.strip().replace("*", ""), "It rained."]
    assert all(run.italic for paragraph in document.paragraphs for run in paragraph.runs if run.text)
    assert any(comment.text.startswith("✗ wrong year") for comment in document.comments)
    assert "wrong year" in (tmp_path / "checked.html").read_text()
    # What was checked can be checked again.
    cli("verify", "checked.docx", code=1)


def test_several_files_are_written_into_a_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(TRUE)
    (tmp_path / "b.md").write_text(TRUE)
    cli("verify", "a.md", "b.md", "--html", "out", "--docx", "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "a.md.checked.docx",
        "a.md.checked.html",
        "b.md.checked.docx",
        "b.md.checked.html",
    ]


def test_a_text_is_not_written_over(cli: Cli, tmp_path: Path) -> None:
    brief = tmp_path / "brief.md"
    brief.write_text(TRUE)
    (tmp_path / "link.html").symlink_to(brief)
    os.link(brief, tmp_path / "hard.html")
    for arguments in (
        ("--html", "brief.md"),
        ("--docx", "./brief.md"),
        ("--html", "link.html"),
        ("--html", "hard.html"),
        ("--html", "out.x", "--docx", "./out.x"),
    ):
        told = cli("verify", "brief.md", *arguments, code=2)
        assert "written" in told
    assert brief.read_text() == TRUE
    assert not (tmp_path / "out.x").exists()
    (tmp_path / "page.html").write_text("old")
    cli("verify", "brief.md", "--html", "page.html")
    assert "<!doctype html>" in (tmp_path / "page.html").read_text()
    assert not list(tmp_path.glob(".*.new"))


def test_without_a_day_the_law_that_has_ended_is_told(cli: Cli) -> None:
    text = "Section 302 IPC provides that whoever commits murder shall be punished with death or imprisonment for life."
    assert "no day was asked for (--as-of): 1 provision found has an end" in " ".join(
        cli("verify", "-", stdin=text).split()
    )
    assert "no day was asked" not in cli("verify", "-", "--as-of", "2020-01-01", stdin=text)


def test_what_names_no_authority_is_listed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "brief.md").write_text(f"{TRUE}\nIt rained.\n\n| Case | Day |\n|---|---|\n| A | B |\n")
    data = cli("verify", "brief.md", "--json", "--html", "page.html")
    assert data["briefs"][0]["without_authority"][0]["text"] == "It rained."
    page = (tmp_path / "page.html").read_text()
    assert "<li>It rained.</li>" in page
    assert "<td> Case </td>" in page
    assert "|---|" not in page


def test_a_grammar_of_ones_own(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text(GRAMMAR)
    text = "Section 302 of the Macaulay Code provides that whoever commits murder shall be punished with death.\n"
    assert "not found" in cli("verify", "-", stdin=text, code=1)
    assert "is there" in cli("verify", "-", "--grammar", "house.toml", stdin=text, code=1)


def test_an_answer_of_pincite_itself_is_checked(cli: Cli) -> None:
    answer = cli("ask", "Is bail the rule?")
    told = cli("verify", "-", "--missing", "ok", stdin=answer)
    assert "characters" in told


def test_nothing_is_added_to_the_index(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "brief.md").write_text(TRUE)
    before = cli("list")
    cli("verify", "brief.md")
    assert cli("list") == before


def test_an_empty_index_has_nothing(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_text("nothing")
    cli("add", "empty.md", "--store", "other")
    cli("remove", "empty.md", "--store", "other")
    told = cli("verify", "-", "--store", "other", stdin=TRUE, code=1)
    assert "not found in this corpus" in told
    assert "no index" in cli("verify", "-", "--store", "none", stdin=TRUE, code=2)


def test_what_cannot_be_read_is_named(cli: Cli, tmp_path: Path) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "scan.pdf"))
    canvas.rect(10, 10, 100, 100, fill=1)
    canvas.save()
    (tmp_path / "brief.md").write_text(TRUE)
    told = cli("verify", "scan.pdf", "brief.md", code=2)
    assert "scan.pdf: no-text" in told
    assert "brief.md" in told
    assert "there is no file" in cli("verify", "missing.md", code=2)
    (tmp_path / "bad.toml").write_text("nonsense = [")
    cli("verify", "brief.md", "--grammar", "bad.toml", code=2)


@pytest.mark.slow
def test_a_long_text_takes_no_eternity(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text((TRUE + "\nIt rained on that day. " * 20 + "\n\n" + UNKNOWN + "\n") * 1600)
    assert (tmp_path / "long.md").stat().st_size > 1_000_000
    started = time.perf_counter()
    data = cli("verify", "long.md", "--json", code=1)
    assert time.perf_counter() - started < 120
    assert len(data["briefs"][0]["claims"]) == 3200
