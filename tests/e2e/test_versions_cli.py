"""Documents that change, from the command line: sync, history, points in time, differences, restore, purge."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pincite.cli import app
from pincite.errors import PinciteError

LEASE = (
    "# Lease Act\n\n## Notice\n\nA tenant may end the lease with three months of notice in writing to the landlord.\n\n"
    "## Rent\n\nThe rent is due on the first day of every month without any deduction whatsoever.\n"
)
LATER = LEASE.replace("three months", "six months")
FEES = "# Fees Act\n\nThe court fee for every filing shall be five pounds and nothing more than that.\n"

Cli = Callable[..., Any]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command in this process, in `tmp_path`: its output, or with --json its data; fails on another status."""
    for name in os.environ:
        if name.startswith(("PINCITE_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0, stdin: str | None = None) -> Any:
        done = CliRunner().invoke(app, arguments, input=stdin)
        if isinstance(done.exception, PinciteError):
            assert done.exception.exit_code == code, done.exception
            return str(done.exception)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.output
        return json.loads(done.stdout) if "--json" in arguments else done.output

    return run


@pytest.fixture
def acts(tmp_path: Path) -> Path:
    folder = tmp_path / "acts"
    folder.mkdir()
    (folder / "lease.md").write_text(LEASE)
    (folder / "fees.md").write_text(FEES)
    return folder


def test_sync_makes_the_index_equal_to_a_folder(cli: Cli, acts: Path) -> None:
    assert "2 added, 0 updated, 0 moved, 0 removed, 0 unchanged" in cli("sync", "acts")
    (acts / "lease.md").write_text(LATER)
    (acts / "fees.md").rename(acts / "court-fees.md")
    (acts / "new.txt").write_text("The wombat rule.")
    foreseen = cli("sync", "acts", "--dry-run")
    assert "nothing was written" in foreseen
    assert "0 unchanged" in foreseen
    assert len(cli("list", "--json")) == 2
    report = cli("sync", "acts", "--json")
    ended = {Path(each["uri"]).name: each["status"] for each in report["report"]["outcomes"]}
    assert ended == {"lease.md": "updated", "court-fees.md": "moved", "fees.md": "removed", "new.txt": "added"}
    assert report["report"]["encoded"] == 2  # what moved has its vectors already
    assert f"moved   {Path('acts/court-fees.md')}, from acts/fees.md" in cli("history")
    (acts / "new.txt").unlink()
    (acts / "film.mkv").write_bytes(b"\x1a\x45\xdf\xa3")
    out = cli("sync", "acts", code=1)
    assert "removed acts/new.txt" in out
    assert "skipped acts/film.mkv: unsupported" in out
    shown = cli("history", "--limit", "1")
    assert "1 removed, 1 skipped, 2 unchanged" in shown
    assert "film.mkv: unsupported" in shown
    assert "last run" in cli("status")


def test_a_folder_that_is_empty_or_none_is_told(cli: Cli, acts: Path, tmp_path: Path) -> None:
    assert "is not a folder" in cli("sync", "nowhere", code=2)
    assert "one folder" in cli("sync", "acts", "acts", code=2)
    assert "--urls" in cli("sync", "https://example.org/", code=2)
    assert "no day" in cli("sync", "acts", "--valid-from", "soon", code=2)
    assert not (tmp_path / ".pincite").exists()
    cli("sync", "acts")
    for file in acts.iterdir():
        file.unlink()
    assert "--remove-all" in cli("sync", "acts", code=2)
    assert len(cli("list", "--json")) == 2
    assert "2 removed" in cli("sync", "acts", "--remove-all")
    assert len(cli("list", "--json")) == 0


def test_an_interrupted_sync_says_so_and_the_next_does_the_rest(
    cli: Cli, acts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pincite.cli.progress import AddProgress

    def interrupted(_: AddProgress, uri: str) -> None:
        if uri.endswith("lease.md"):
            raise KeyboardInterrupt

    cli("add", "acts/fees.md")
    (acts / "fees.md").unlink()
    with monkeypatch.context() as patched:
        patched.setattr(AddProgress, "reading", interrupted)
        assert "interrupted: what is listed is in the index" in cli("sync", "acts", code=130)
    assert [each["title"] for each in cli("list", "--json")] == ["Fees Act"]
    assert "all is well" in cli("doctor")
    assert "1 added, 0 updated, 0 moved, 1 removed" in cli("sync", "acts")


def test_the_law_of_another_day(cli: Cli, acts: Path) -> None:
    cli("sync", "acts", "--valid-from", "2020")
    (acts / "lease.md").write_text(LATER)
    cli("sync", "acts", "--valid-from", "2023-07")
    question = ("ask", "How much notice must a tenant give to end the lease?")
    assert "six months" in cli(*question)
    then = cli(*question, "--as-of", "2023-06-30")
    assert "three months" in then
    assert "version 1, in force from 2020-01-01, replaced since" in then
    data = cli(*question, "--as-of", "2023-07-01", "--json")
    citation = data["citations"][0]
    assert (citation["version"], citation["starts"], citation["current"]) == (2, "2023-07-01", True)
    before = cli(*question, "--as-of", "2019-12-31", code=1)
    assert "no version of any document was in force on 2019-12-31: the next is in force from 2020-01-01" in before

    (found,) = cli("search", "notice", "--as-of", "2021-01-01", "-k", "1", "--json")["passages"]
    assert (found["version"], found["starts"], found["current"]) == (1, "2020-01-01", False)
    shown = cli("search", "notice", "--as-of", "2021-01-01", "-k", "1")
    assert "version 1, in force from 2020-01-01, replaced since" in shown
    assert "in force" not in cli("search", "notice", "-k", "1")
    assert "the first was recorded on" in cli("search", "notice", "--as-recorded", "2001-01-01")
    recorded = cli("history", "lease.md", "--json")[0]["added_at"]
    known = cli("search", "notice", "--as-recorded", recorded, "-k", "1")
    assert "three months" in known
    assert "recorded" in known
    for option, text, says in (
        ("--as-of", "2021", "--as-of is '2021', which is no day"),
        ("--as-of", "30.06.2021", "which is no day"),
        ("--as-recorded", "yesterday", "--as-recorded is 'yesterday', which is no moment"),
    ):
        for command in ("search", "ask"):
            assert says in cli(command, "notice", option, text, code=2)


@pytest.mark.usefixtures("acts")
def test_days_of_what_is_added(cli: Cli) -> None:
    cli("add", "acts/lease.md", "--valid-from", "2001-05-01", "--valid-to", "2002-04-30")
    (version,) = cli("history", "lease.md", "--json")
    assert version["in_force"] == [{"first": "2001-05-01", "last": "2002-04-30"}]
    told = "no version of any document was in force on 2003-01-01: the last was in force until 2002-04-30"
    assert told in cli("search", "notice", "--as-of", "2003-01-01")
    assert "in force from 2001-05-01 to 2002-04-30" in cli("ask", "When is the rent due?")
    assert "no day" in cli("add", "acts/fees.md", "--valid-to", "never", code=2)


def test_history_in_a_pipe_is_lines(cli: Cli, acts: Path) -> None:
    cli("add", "acts", "--valid-from", "2020")
    (acts / "lease.md").write_text(LATER)
    cli("add", "acts", "--valid-from", "2021")
    first, second = (line.split("\t") for line in cli("history", "lease.md").splitlines())
    assert [first[0], *first[3:6]] == ["1", "2020-01-01", "2020-12-31", str(len(LEASE))]
    assert [second[0], second[2], *second[3:5]] == ["2", "", "2021-01-01", ""]
    assert "no document" in cli("history", "nothing.md", code=2)


def test_versions_are_shown_and_compared(cli: Cli, acts: Path) -> None:
    cli("add", "acts")
    (acts / "lease.md").write_text(LATER)
    cli("add", "acts")
    assert "three months" in cli("show", "lease.md", "--version", "1")
    assert "six months" in cli("show", "lease.md")
    chunks = cli("show", "lease.md", "--version", "1", "--chunks", "--json")
    assert {chunk["version"] for chunk in chunks} == {1}
    assert "version 7 of" in cli("show", "lease.md", "--version", "7", code=2)
    out = cli("show", "lease.md", "--diff", "1", "2").splitlines()
    assert out[2].startswith("@@ characters ")
    assert out[2].endswith("Lease Act › Notice")
    assert [line for line in out if line.startswith("-A")] == [f"-{LEASE.splitlines()[4]}"]
    assert [line for line in out if line.startswith("+A")] == [f"+{LATER.splitlines()[4]}"]
    for one, two, old, new in ((1, 2, LEASE, LATER), (2, 1, LATER, LEASE), (1, 1, LEASE, LEASE)):
        data = cli("show", "lease.md", "--diff", str(one), str(two), "--json")
        made, at = "", 0
        for change in data["changes"]:
            assert new[change["v2"]["start"] : change["v2"]["end"]] == change["added"]
            made += old[at : change["v1"]["start"]] + change["added"]
            at = change["v1"]["end"]
        assert made + old[at:] == new
    assert "the texts are equal" in cli("show", "lease.md", "--diff", "1", "1")
    assert "give it alone" in cli("show", "lease.md", "--diff", "1", "2", "--chunks", code=2)


@pytest.mark.usefixtures("acts")
def test_what_is_removed_can_be_listed_and_restored(cli: Cli) -> None:
    cli("add", "acts")
    out = cli("remove", "lease.md", "--on", "2024-01-01")
    assert "1 version is kept" in out
    assert "pincite purge" in out
    assert [each["title"] for each in cli("list", "--json")] == ["Fees Act"]
    (gone,) = cli("list", "--removed", "--json")
    assert (gone["title"], gone["removed_on"]) == ("Lease Act", "2024-01-01")
    assert len(cli("list", "--all", "--json")) == 2
    assert cli("list", "--removed").split("\t")[-1].strip() == "2024-01-01"
    assert "three months" in cli("show", "lease.md", "--version", "1")
    assert cli("history", gone["id"], "--json")[0]["removed_on"] == "2024-01-01"
    facts = cli("status", "--json")
    assert (facts["past versions"], facts["removed documents"], facts["retention"]) == (1, 1, "all, for good")
    assert "version 2 has the text of version 1" in cli("restore", "lease.md", "--version", "1")
    assert "is the current one" in cli("restore", "lease.md", "--version", "2", code=2)
    assert "three months" in cli("ask", "How much notice must a tenant give to end the lease?")


def test_purge_asks_and_proves(cli: Cli, acts: Path, tmp_path: Path) -> None:
    cli("add", "acts")
    (acts / "lease.md").write_text(LATER)
    cli("add", "acts")
    assert "say --yes" in cli("purge", "lease.md", code=2)
    assert len(cli("history", "lease.md", "--json")) == 2
    found = cli("purge", "lease.md", "--yes", "--json")
    assert found["clean"]
    assert [each["version"] for each in found["purged"]] == [1, 2]
    for check in found["checks"]:
        # Every way of looking found the document before, so that finding nothing afterwards means something.
        assert check["before"] == check["looked_for"] > 0, check
        assert check["after"] == 0, check
    sentence = b"three months of notice in writing"
    assert all(sentence not in file.read_bytes() for file in (tmp_path / ".pincite").rglob("*") if file.is_file())
    assert "no document" in cli("history", "lease.md", code=2)
    assert "five pounds" in cli("ask", "What is the court fee for a filing?")
    assert "all is well" in cli("doctor")


@pytest.mark.usefixtures("acts")
def test_purge_finds_what_is_left(cli: Cli, tmp_path: Path) -> None:
    cli("add", "acts")
    (tmp_path / ".pincite" / "copy.txt").write_text(f"kept by mistake: {LEASE}")
    kept = tmp_path / "cache" / "evaluation" / "indexes"
    kept.mkdir(parents=True)
    (kept / "corpus.txt").write_text(LEASE)
    out = cli("purge", "lease.md", "--yes", code=1)
    assert "copy.txt" in out
    assert "corpus.txt" in out
    assert "FOUND" in out


def test_purge_does_not_count_what_other_documents_hold(cli: Cli, acts: Path) -> None:
    (acts / "copy.md").write_text(LEASE)
    cli("add", "acts")
    found = cli("purge", "acts/lease.md", "--yes", "--json", code=1)
    assert [check["after"] for check in found["checks"]] == [0] * 6
    assert "2 stand in documents that are kept and are not counted: acts/copy.md" in found["checks"][2]["detail"]
    # It is a document of its own, and named: the text is not gone.
    assert [Path(each["uri"]).name for each in found["held_by"]] == ["copy.md"]
    assert not found["clean"]
    assert "three months" in cli("ask", "How much notice must a tenant give to end the lease?")


def test_purge_takes_what_was_moved_with_it(cli: Cli, acts: Path, tmp_path: Path) -> None:
    cli("sync", "acts")
    (acts / "lease.md").rename(acts / "tenancy.md")
    (acts / "copy.md").write_text(LEASE)
    cli("sync", "acts")
    out = " ".join(cli("purge", "tenancy.md", "--yes", code=1).split())
    assert "1 version, and of acts/lease.md, removed with the same bytes, 1, 2 chunks" in out
    assert (
        "left: the same bytes in acts/copy.md (version 1), a document of its own: delete it with `pincite purge" in out
    )
    assert cli("search", "notice landlord", "--mode", "bm25", "--as-of", "2026-12-01", "--json", code=0)["passages"]
    (copy,) = [each for each in cli("list", "--json") if each["uri"].endswith("copy.md")]
    assert cli("purge", copy["id"], "--yes", "--json")["clean"]
    assert all(
        b"three months" not in file.read_bytes() for file in (tmp_path / ".pincite").rglob("*") if file.is_file()
    )
    assert "no document" in cli("history", "lease.md", code=2)


@pytest.mark.usefixtures("acts")
def test_an_index_goes_into_a_file_and_back(cli: Cli, tmp_path: Path) -> None:
    cli("add", "acts")
    written = cli("export", "acts/library.pincite", "--json")["written"]
    assert (written["documents"], written["gone"]) == (2, [])
    assert "1 skipped (1 index)" in cli("sync", "acts", code=0)
    (tmp_path / "other").mkdir()
    read = cli("import", "acts/library.pincite", "--store", "other", "--json")["read"]
    assert (read["documents"], read["chunks"]) == (2, written["chunks"])
    assert "three months" in cli("ask", "How much notice must a tenant give to end the lease?", "--store", "other")
    assert "already" in cli("import", "acts/library.pincite", "--store", "other", code=2)
    assert "no export of pincite" in cli("import", "acts/lease.md", "--store", "third", code=2)
    assert not (tmp_path / "third").exists()


def test_purge_says_what_it_could_not_check(cli: Cli, acts: Path) -> None:
    (acts / "short.txt").write_text("Ask Mary Hart.\n")
    (acts / "dot.txt").write_text("zyx")
    (acts / "tagged.md").write_text("---\nnightingale_budget: sealed envelope\n---\nThe wombat rule of the house.\n")
    cli("add", "acts")
    sentences = cli("purge", "short.txt", "--yes", "--json")["checks"][2]
    assert (sentences["looked_for"], sentences["before"], sentences["after"]) == (1, 1, 0)
    assert "not checked no text is of 8 bytes or more" in " ".join(cli("purge", "dot.txt", "--yes").split())
    facts = cli("purge", "tagged.md", "--yes", "--json")["checks"][4]
    assert facts["before"] == facts["looked_for"] >= 3
    assert facts["after"] == 0


@pytest.mark.usefixtures("acts")
def test_purge_finds_an_address_that_is_left(cli: Cli, tmp_path: Path) -> None:
    cli("add", "acts")
    (tmp_path / ".pincite" / "notes.txt").write_text(f"{tmp_path}/acts/lease.md")
    assert f"left: '{tmp_path}"[:40] in cli("purge", "lease.md", "--yes", code=1)


@pytest.mark.usefixtures("acts")
def test_purge_without_any_input_asks_for_yes(cli: Cli, tmp_path: Path) -> None:
    cli("add", "acts")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINCITE_", "OPENAI_"))}
    script = "import sys; sys.stdin = None; from pincite.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "purge", "lease.md"], cwd=tmp_path, env=clean, capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    assert "say --yes" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("acts")
def test_purge_takes_a_document_out_of_evaluation_sets_and_caches(cli: Cli, tmp_path: Path) -> None:
    from pincite.build import build_encoder
    from pincite.config import Settings
    from pincite.encoders.cached import CachedEncoder
    from pincite.evaluation.journal import JOURNAL, Journal, Label, Proposal
    from pincite.evaluation.set_files import write_set

    cli("add", "acts")
    documents = {each["title"]: each["id"] for each in cli("list", "--json")}
    folder = tmp_path / "set"
    journal = Journal.begin(folder, {"begun": "today"})
    texts = {"Lease Act": LEASE, "Fees Act": FEES}
    for number, (title, quote) in enumerate(
        (
            ("Lease Act", "three months of notice"),
            ("Fees Act", "five pounds"),
            ("Lease Act", "first day of every month"),
        )
    ):
        start = texts[title].index(quote)
        label = Label(documents[title], 1, start, start + len(quote), quote)
        proposal = Proposal(f"q{number + 1:03}", f"What of the {quote}?", (label,), "person")
        journal.propose(proposal)
        if number < 2:
            journal.decide(proposal, "accepted")
    from pincite import Pincite

    with Pincite.open(".pincite", environment={}) as pincite:
        write_set(folder, journal, pincite.store)
        chunk = pincite.store.chunks(documents["Lease Act"])[0]
    cached = CachedEncoder(build_encoder(Settings()), tmp_path / "cache" / "evaluation" / "vectors")
    from pincite.chunkers.context import encoded_text

    cached.encode_passages([encoded_text(chunk.headings, chunk.text, chunk.before, chunk.after), "another text"])
    cached.close()

    found = cli("purge", "lease.md", "--yes", "--labels", str(folder), "--json")
    assert found["clean"]
    assert found["cached_vectors_deleted"] == 1
    assert found["labels"][0]["documents"] == found["labels"][0]["questions"] == 1
    for file in folder.rglob("*"):
        if file.is_file():
            assert "three months" not in file.read_text(), file
            assert documents["Lease Act"] not in file.read_text(), file
    again = Journal.resume(folder)
    assert [each.id for each in again.accepted()] == ["q002"]
    assert again.open() == []
    assert again.next_id() == "q004"
    assert "holds no evaluation set" in cli("purge", "fees.md", "--yes", "--labels", str(tmp_path), code=2)
    assert len(cli("history", "fees.md", "--json")) == 1
    assert (folder / JOURNAL).is_file()


# Over the network


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    (tmp_path / "site").mkdir()
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *arguments: Quiet(*arguments, directory=str(tmp_path / "site"))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_list_of_urls_is_synced_like_a_folder(cli: Cli, site: str, tmp_path: Path) -> None:
    (tmp_path / "site" / "lease.md").write_text(LEASE)
    (tmp_path / "site" / "fees.html").write_text(
        "<html><body><h1>Fees</h1><p>The fee is five pounds.</p></body></html>"
    )
    urls = tmp_path / "urls.txt"
    urls.write_text(f"# acts\n{site}/lease.md\n{site}/fees.html\n")
    assert "2 added" in cli("sync", "--urls", "urls.txt")
    assert f"{site}/lease.md" in cli("ask", "How much notice must a tenant give to end the lease?")
    (tmp_path / "site" / "lease.md").write_text(LATER)
    (tmp_path / "site" / "fees.html").unlink()
    out = cli("sync", "--urls", "urls.txt")
    assert f"updated {site}/lease.md (version 2)" in out
    assert f"removed {site}/fees.html" in out
    out = cli("sync", "--urls", "urls.txt", code=1)
    assert f"skipped {site}/fees.html: gone: it answers 404" in out
    urls.write_text("# nothing\n")
    assert "--remove-all" in cli("sync", "--urls", "urls.txt", code=2)
    assert "1 removed" in cli("sync", "--urls", "urls.txt", "--remove-all")
    urls.write_text("ftp://example.org/a\n")
    assert "line 1" in cli("sync", "--urls", "urls.txt", code=2)
    assert "not an http or https URL" in cli("sync", "--urls", "file:///etc/passwd", code=2)


# Going on


@contextlib.contextmanager
def watching(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Callable[[], dict[str, str]]]]:
    """``pincite sync --watch`` in a process of its own, and the reading of its next report."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINCITE_", "OPENAI_"))}
    command = [sys.executable, "-m", "pincite", "sync", "acts", "--watch", "--json", *arguments]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**clean, "PINCITE_STORE_LOCK_TIMEOUT": "0.5"},
    ) as process:

        def report() -> dict[str, str]:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            outcomes = json.loads(line)["report"]["outcomes"]
            return {Path(each["uri"]).name: each["status"] for each in outcomes}

        try:
            yield process, report
        finally:
            process.kill()


@pytest.mark.parametrize("arguments", [(), ("--poll", "0.3")])
def test_watching_syncs_after_every_change(acts: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    # The index lies in the folder that is watched: what sync writes there must not wake it again.
    with watching(tmp_path, "--store", "acts/library", *arguments) as (process, report):
        assert report() == {"lease.md": "added", "fees.md": "added", "library": "skipped"}
        (acts / "lease.md").write_text(LATER)
        (acts / ".hidden").write_text("not looked at")
        changed = report()
        assert changed["lease.md"] == "updated"
        (acts / "fees.md").rename(acts / "court-fees.md")
        changed = report()
        assert (changed["court-fees.md"], changed["fees.md"]) == ("moved", "removed")
        # Nobody holds the index while nothing happens.
        listed = subprocess.run(
            [sys.executable, "-m", "pincite", "list", "--store", "acts/library"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert len(listed.stdout.splitlines()) == 2
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "stopped: the index holds what was reported" in errors
        assert "Traceback" not in errors
        assert out == ""


@pytest.mark.usefixtures("acts")
def test_watching_waits_for_an_index_in_use(tmp_path: Path) -> None:
    from pincite import Pincite
    from pincite.store.edge import EdgeStore

    Pincite.open(tmp_path / ".pincite", environment={}).close()
    # Held by one that gives way to nobody and answers nobody.
    holder = EdgeStore.open(tmp_path / ".pincite")
    try:
        with watching(tmp_path) as (process, report):
            assert process.stderr is not None
            assert "tried again later" in process.stderr.readline()
            assert "tried again later" in process.stderr.readline()
            holder.close()
            assert report() == {"lease.md": "added", "fees.md": "added"}
    finally:
        holder.close()


def test_watching_waits_for_a_folder_that_is_away(acts: Path, tmp_path: Path) -> None:
    with watching(tmp_path) as (_, report):
        assert set(report().values()) == {"added"}
        acts.rename(tmp_path / "away")
        time.sleep(2)
        (tmp_path / "away" / "lease.md").write_text(LATER)
        (tmp_path / "away").rename(acts)
        assert report() == {"lease.md": "updated", "fees.md": "unchanged"}
