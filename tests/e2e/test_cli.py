"""The command line on the bundled documents, with the real encoder and the real engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).resolve().parents[2] / "src" / "pincite" / "demo"


def run(*arguments: str, folder: Path, stdin: bytes | None = None, code: int = 0, **environment: str) -> str:
    """Run a command in `folder`; its standard output. Fails unless it ends with `code` and without a stack trace."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINCITE_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pincite", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env={**clean, **environment},
        timeout=120,
        check=False,
    )
    errors = done.stderr.decode()
    assert "Traceback" not in errors, errors
    assert done.returncode == code, (done.returncode, done.stdout.decode()[-2000:], errors[-2000:])
    return done.stdout.decode() if code in (0, 1) else errors


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    out = run("add", str(DEMO / "documents"), folder=folder)
    assert "34 added, 0 updated, 0 unchanged, 0 skipped" in out
    return folder


def test_adding_again_changes_nothing(library: Path) -> None:
    assert "0 added, 0 updated, 34 unchanged, 0 skipped; 0 chunks" in run(
        "add", str(DEMO / "documents"), folder=library
    )


def test_search_gives_the_score_of_every_leg(library: Path) -> None:
    found = json.loads(run("search", "repeal of the prohibition of liquor", "--json", "-k", "3", folder=library))
    first = found["passages"][0]
    assert first["title"] == "Amendment XXI, Repeal of Prohibition"
    assert set(first["legs"]) == {"dense", "bm25"}
    assert [passage["rank"] for passage in found["passages"]] == [1, 2, 3]
    text = run("search", "repeal of the prohibition of liquor", "-k", "1", folder=library)
    assert "Amendment XXI" in text
    assert "bm25" in text


def test_what_was_found_of_a_wider_passage_is_shown_first(tmp_path: Path) -> None:
    parts = [
        f"Clause {n} speaks of the {word} and of nothing else here." for n, word in enumerate(("cat", "kiwi", "dog"))
    ]
    text = "\n\n".join(parts)
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.txt").write_text("Apples are red.")
    (tmp_path / "pincite.toml").write_text("[chunk]\nsize = 14\n")
    run("add", "a.txt", "b.txt", folder=tmp_path)
    first, *others = json.loads(run("search", "which clause speaks of the dog", "--json", folder=tmp_path))["passages"]
    assert first["chunk"]["text"] == text
    assert [text[start:end] for start, end in first["found"]] == parts
    assert [each["rank"] for each in (first, *others)] == list(range(1, len(others) + 2))
    shown = run("search", "which clause speaks of the dog", folder=tmp_path)
    assert "… Clause 2 speaks of the dog" in shown
    assert "cat" not in shown
    assert "found in it 0-" in shown
    assert "\n2. b" in shown
    assert "cat" in run("search", "which clause speaks of the dog", "--full", folder=tmp_path)


def test_a_filter_holds_on_every_leg(library: Path) -> None:
    repealed = json.loads(run("search", "liquor", "--where", "status=repealed", "--json", "-k", "50", folder=library))
    assert {passage["title"] for passage in repealed["passages"]} == {"Amendment XVIII, Prohibition of Liquor"}
    assert "did you mean 'status'" in run("search", "liquor", "--where", "statu=x", folder=library, code=2)
    assert "KEY=VALUE" in run("search", "liquor", "--where", "status", folder=library, code=2)


def test_ask_prints_the_answer_and_its_proof(library: Path) -> None:
    out = run("ask", "How many times can somebody be elected President?", folder=library)
    assert "No person shall be elected to the office of the President more than twice" in out
    assert "Amendment XXII" in out
    assert "verbatim" in out
    assert "version 1 · characters" in out


def test_every_citation_points_at_exact_characters(library: Path) -> None:
    answer = json.loads(run("ask", "At what age may a citizen vote?", "--json", folder=library))
    assert answer["citations"]
    for citation in answer["citations"]:
        span = f"{citation['start']}-{citation['end']}"
        shown = json.loads(run("show", citation["document_id"], "--span", span, "--json", folder=library))
        assert shown["text"] == citation["quote"]
        assert answer["text"][citation["answer_start"] : citation["answer_end"]] in citation["quote"]


def test_no_evidence_is_said_and_is_an_exit_status(library: Path) -> None:
    out = run("ask", "What is the boiling point of ethanol?", folder=library, code=1)
    assert "Nothing in the 34 documents" in out
    assert "[1]" not in out


def test_pdf_answers_carry_their_page(library: Path) -> None:
    question = "Who are citizens of the United States by birth or naturalization?"
    answer = json.loads(run("ask", question, "--json", folder=library))
    assert any(c["page"] == 2 and c["uri"].endswith("reconstruction-amendments.pdf") for c in answer["citations"])


def test_list_show_status_doctor_config(library: Path) -> None:
    documents = json.loads(run("list", "--json", folder=library))
    assert len(documents) == 34
    assert len(run("list", folder=library).splitlines()) == 34
    assert "Repeal of Prohibition" in run("show", "amendment-21-repeal-of-prohibition.md", folder=library)
    assert "amendment-18" in run("show", documents[0]["id"][:8], "--json", folder=library) or documents[0]["uri"]
    assert "exact (recall 1)" in run("status", folder=library)
    assert "all is well" in run("doctor", folder=library)
    shown = run("config", folder=library, OPENAI_API_KEY="sk-secret", PINCITE_SEARCH_K="7")
    assert "k = 7" in shown
    assert "sk-secret" not in shown
    assert "secret" not in json.dumps(json.loads(run("config", "--json", folder=library, OPENAI_API_KEY="sk-secret")))


def test_a_life_of_a_document(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("The zeppelin limit is 5 bar.\n" * 40 + "\nThe quokka clause applies.\n")
    assert "1 added" in run("add", "note.txt", folder=tmp_path)
    note.write_text("The zeppelin limit is 9 bar.\n")
    assert "1 updated" in run("add", "note.txt", folder=tmp_path)
    found = json.loads(run("search", "quokka clause", "--json", "--mode", "bm25", folder=tmp_path))
    assert found["passages"] == []
    found = json.loads(run("search", "zeppelin limit", "--json", folder=tmp_path))
    assert [passage["chunk"]["text"] for passage in found["passages"]] == ["The zeppelin limit is 9 bar."]
    assert found["passages"][0]["chunk"]["version"] == 2
    assert "removed" in run("remove", "note.txt", folder=tmp_path)
    for mode in ("dense", "bm25", "hybrid"):
        found = json.loads(run("search", "zeppelin limit 9 bar", "--json", "--mode", mode, folder=tmp_path))
        assert found["passages"] == []
    assert "1 added" in run("add", "note.txt", folder=tmp_path)
    assert json.loads(run("list", "--json", folder=tmp_path))[0]["version"] == 3


def test_skips_are_named_counted_and_told_by_the_exit_status(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "good.md").write_text("# Lease\n\nThe lease ends in May.\n")
    (papers / "empty.txt").write_bytes(b"")
    (papers / "picture.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (papers / "broken.pdf").write_bytes(b"%PDF-1.7\nnot really")
    (papers / "sheet.xlsx").write_bytes(b"PK\x03\x04whatever")
    (papers / "film.mkv").write_bytes(b"\x1a\x45\xdf\xa3")
    (papers / ".hidden").write_text("secret")
    report = json.loads(run("add", "papers", "--json", folder=tmp_path, code=1))["report"]
    ended = {Path(o["uri"]).name: (o["status"], o["reason"]) for o in report["outcomes"]}
    assert ended["good.md"] == ("added", "")
    assert ended["empty.txt"] == ("skipped", "no-text")
    assert ended["picture.txt"][0] == "skipped"
    assert ended["broken.pdf"] == ("skipped", "unreadable")
    assert ended["sheet.xlsx"] == ("skipped", "unreadable")
    assert ended["film.mkv"] == ("skipped", "unsupported")
    assert ended[".hidden"] == ("skipped", "hidden")
    assert all(o["detail"] for o in report["outcomes"] if o["status"] == "skipped")


def test_standard_input_and_metadata(tmp_path: Path) -> None:
    run("add", "-", "--name", "memo.md", "--meta", "year=1971", folder=tmp_path, stdin=b"# Memo\n\nThe wombat rule.\n")
    found = json.loads(run("search", "wombat", "--where", "year=1971", "--json", folder=tmp_path))
    assert found["passages"][0]["title"] == "Memo"
    assert found["passages"][0]["uri"] == "stdin:memo.md"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("search", "x"), 2, "there is no index"),
        (("ask", "x"), 2, "there is no index"),
        (("add", "missing.txt"), 2, "no file or folder 'missing.txt'"),
        (("add", "*.nothing"), 2, "no file matches"),
        (("--frobnicate",), 2, "No such option"),
    ],
)
def test_errors_are_one_clear_line(tmp_path: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    assert says in run(*arguments, folder=tmp_path, code=code)
    assert not (tmp_path / ".pincite" / "catalogue.sqlite").exists() or arguments[0] == "add"


def test_unknown_settings_name_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "pincite.toml").write_text("[search]\nkk = 3\n")
    assert "did you mean search.k" in run("config", folder=tmp_path, code=2)
    (tmp_path / "pincite.toml").write_text("")
    assert "did you mean PINCITE_SEARCH_K" in run("config", folder=tmp_path, code=2, PINCITE_SEARCH_KK="3")


def test_an_index_that_is_open_elsewhere_can_be_read(library: Path) -> None:
    with held(library, "from pincite import Pincite; p = Pincite.open('.pincite', environment={})"):
        assert len(run("list", folder=library, PINCITE_STORE_LOCK_TIMEOUT="5").splitlines()) == 34


def test_another_process_is_told_who_holds_the_index(library: Path) -> None:
    # One that writes for long: it answers others, and gives way to nobody.
    writes = (
        "from pincite import Pincite; p = Pincite.open('.pincite', environment={}); "
        "w = p.store.writing(); w.__enter__()"
    )
    with held(library, writes) as pid:
        assert len(run("list", folder=library).splitlines()) == 34
        errors = run(
            "remove", "amendment-21-repeal-of-prohibition.md", folder=library, code=3, PINCITE_STORE_LOCK_TIMEOUT="0.2"
        )
        assert f"in use by process {pid}" in errors


@contextmanager
def held(library: Path, how: str) -> Iterator[int]:
    """While it is open, another process has the index open; its number."""
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import sys; {how}; print('open', flush=True); sys.stdin.read()"],
        cwd=library,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"open"
        yield holder.pid
    finally:
        holder.communicate()


def test_reindexing_with_other_chunks_keeps_ids_and_versions(tmp_path: Path) -> None:
    run("add", str(DEMO / "documents" / "article-1-legislative.md"), folder=tmp_path)
    before: list[dict[str, Any]] = json.loads(run("list", "--json", folder=tmp_path))
    out = run("reindex", folder=tmp_path, PINCITE_CHUNK_SIZE="64")
    assert "reindexed 1 documents" in out
    after = json.loads(run("list", "--json", folder=tmp_path))
    assert after[0]["chunks"] > before[0]["chunks"]
    for field in ("id", "version", "added_at", "content_hash"):
        assert after[0][field] == before[0][field]
    assert "all is well" in run("doctor", folder=tmp_path, PINCITE_CHUNK_SIZE="64")


def test_the_demo_command(tmp_path: Path) -> None:
    out = run("demo", folder=tmp_path)
    assert "34 added" in out
    assert "eighteen years of age or older" in out
    assert "verbatim" in out


def test_metadata_cannot_hide_what_every_document_has(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The kiwi rule.")
    assert "'title'" in run("add", "a.txt", "--meta", "title=x", folder=tmp_path, code=2)


def test_reindexing_touches_nothing_beside_the_index(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The kiwi rule.")
    (tmp_path / "disk").mkdir()
    (tmp_path / "lib").symlink_to(tmp_path / "disk" / "lib", target_is_directory=True)
    (tmp_path / "disk" / "lib").mkdir()
    (tmp_path / "lib.new").mkdir()
    (tmp_path / "lib.new" / "thesis.txt").write_text("precious")
    run("add", "a.txt", "--store", "lib", folder=tmp_path)
    assert "reindexed 1 documents" in run("reindex", "--store", "lib", folder=tmp_path)
    assert (tmp_path / "lib.new" / "thesis.txt").read_text() == "precious"
    assert "kiwi" in run("search", "kiwi", "--store", "lib", folder=tmp_path)
    assert "all is well" in run("doctor", "--store", "lib", folder=tmp_path)


def test_odd_questions_and_terminals(library: Path) -> None:
    run("ask", "What does [sic] or [/x] say?", folder=library, code=1)
    assert "Amendment" in run("search", "liquor", folder=library, PYTHONIOENCODING="latin-1")
    listed = run("list", folder=library).splitlines()
    assert len(listed) == 34
    assert all(len(line.split("\t")) == 5 and len(line.split("\t")[0]) == 16 for line in listed)


def test_a_key_in_the_environment_does_not_follow_a_found_file(tmp_path: Path) -> None:
    (tmp_path / "pincite.toml").write_text('[answer]\nmodel = "openai:x"\nbase_url = "http://127.0.0.1:9/v1"\n')
    shown = json.loads(run("config", "--json", folder=tmp_path, OPENAI_API_KEY="sk-x"))
    assert shown["answer"]["api_key"] is None
    named = json.loads(run("config", "--json", "--config", "pincite.toml", folder=tmp_path, OPENAI_API_KEY="sk-x"))
    assert named["answer"]["api_key"] is not None


def test_documents_cut_otherwise_than_the_settings_say_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The kiwi rule.")
    (tmp_path / "b.txt").write_text("The quokka clause.")
    run("add", "a.txt", folder=tmp_path)
    facts = json.loads(run("status", "--json", folder=tmp_path))
    (before,) = facts["cut as"]
    assert before.startswith("structure/")
    assert (facts["cut as"][before], facts["settings cut as"], facts["notes"]) == (1, before, [])
    assert "reindex" not in run("status", folder=tmp_path)

    other = {"PINCITE_CHUNK_RECIPE": "window"}
    report = json.loads(run("add", "b.txt", "--json", folder=tmp_path, **other))
    assert f"1 as {before}, of 2; the settings say window" in report["notes"][0]
    facts = json.loads(run("status", "--json", folder=tmp_path, **other))
    assert sorted(facts["cut as"].values()) == [1, 1]
    assert facts["settings cut as"].startswith("window")
    for command in ("status", "doctor"):
        shown = " ".join(run(command, folder=tmp_path, **other).split())
        assert "run `pincite reindex`" in shown, command
        assert before in shown
    run("reindex", folder=tmp_path, **other)
    assert "pincite reindex" not in run("status", folder=tmp_path, **other)
    assert json.loads(run("status", "--json", folder=tmp_path, **other))["notes"] == []


def test_an_interrupted_reindex_says_so_and_leaves_the_index_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from pincite.cli import app
    from pincite.cli.progress import AddProgress

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("The kiwi rule.")
    run("add", "a.txt", folder=tmp_path)
    half = tmp_path / ".pincite" / "reindex"

    def interrupted(*_: object) -> None:
        assert half.is_dir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(AddProgress, "reading", interrupted)
        done = CliRunner().invoke(app, ["reindex"])
    assert done.exit_code == 130
    assert "interrupted: the index is as it was" in done.output
    assert not half.exists()
    assert "kiwi" in run("search", "kiwi", folder=tmp_path)

    # Killed, it can remove nothing: that is told, does no harm, and goes with the next.
    half.mkdir()
    (half / "points").write_text("half")
    shown = run("doctor", folder=tmp_path)
    assert "all is well" in shown
    assert "harmless" in shown
    run("reindex", folder=tmp_path)
    assert not half.exists()
    assert "harmless" not in run("doctor", folder=tmp_path)


def test_whole_passages_and_chunks_are_shown_with_the_header_of_their_table(tmp_path: Path) -> None:
    rows = "".join(f"| Harbour number {n} | {n * 7} pounds |\n" for n in range(60))
    (tmp_path / "fees.md").write_text(f"# Fees\n\n| Place [a] | Due |\n|---|---|\n{rows}")
    run("add", "fees.md", folder=tmp_path, PINCITE_CHUNK_SIZE="128")
    document = json.loads(run("list", "--json", folder=tmp_path))[0]["id"]
    cut = json.loads(run("show", document, "--chunks", "--json", folder=tmp_path))
    later = [chunk for chunk in cut if chunk["before"]]
    assert later
    assert all("Place" not in chunk["text"] for chunk in later)
    shown = run("show", document, "--chunks", folder=tmp_path)
    assert shown.count("| Place [a] | Due |") == len(cut)
    query = ("search", "Harbour number 55", "-k", "1", "--mode", "bm25")
    alone = {"PINCITE_SEARCH_MERGE": "0"}
    (found,) = json.loads(run(*query, "--json", folder=tmp_path, **alone))["passages"]
    assert found["chunk"]["before"]
    assert "| Place [a] | Due |" in run(*query, "--full", folder=tmp_path, **alone)


def test_a_filter_that_matches_nothing_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "tarif.txt").write_text("The fee is five pounds.")
    run("add", "tarif.txt", folder=tmp_path)
    for mode in ("hybrid", "bm25", "dense"):
        query = ("search", "fee", "--mode", mode, "--json")
        nothing = json.loads(run(*query, "--where", "title=Tarif", folder=tmp_path))
        assert nothing["notes"] == ["no document matches title=Tarif: values are compared whole, as written"]
        assert json.loads(run(*query, "--where", "title=tarif", folder=tmp_path))["passages"]
    # The filter lets a document through, and only the words are not in it.
    other = json.loads(run("search", "zebra", "--mode", "bm25", "--where", "title=tarif", "--json", folder=tmp_path))
    assert other["passages"] == []
    assert not any("no document matches" in note for note in other["notes"])


def test_an_impossible_cut_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The kiwi rule.")
    assert "chunk.overlap" in run("add", "a.txt", folder=tmp_path, code=2, PINCITE_CHUNK_OVERLAP="300")
    parent = {"PINCITE_CHUNK_RECIPE": "parent-child", "PINCITE_CHUNK_PARENT_SIZE": "100"}
    assert "chunk.parent_size" in run("add", "a.txt", folder=tmp_path, code=2, **parent)
    window = {"PINCITE_CHUNK_RECIPE": "window", "PINCITE_CHUNK_OVERLAP": "300"}
    assert "chunk.overlap" in run("add", "a.txt", folder=tmp_path, code=2, **window)


@pytest.mark.parametrize("script", ["no_evidence.py", "chunking.py"])
def test_a_benchmark_without_its_data_says_so_in_a_line(tmp_path: Path, script: str) -> None:
    file = Path(__file__).resolve().parents[2] / "benchmarks" / script
    done = subprocess.run(
        [sys.executable, str(file), "--data", str(tmp_path / "gone")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "--data" in done.stderr
    assert len(done.stderr.splitlines()) == 1
