"""``pincite eval retrieval`` on a small set, with the real encoder and the real engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pytrec_eval", reason="needs the extra eval")

DOCUMENTS = [
    ("d1", "Rent", "The tenant pays the rent on the third working day of each month."),
    ("d2", "Repairs", "The landlord mends the roof, the windows and the heating at his own cost."),
    ("d3", "Notice", "Either party may end the lease with three months' notice in writing."),
    ("d4", "", "Photosynthesis turns light into sugar in green algae."),
    ("d5", "Deposit", "The deposit is two months' rent and is returned when the lease ends."),
    ("d6", "", ""),
]
QUERIES = [
    ("q1", "when is the rent due", {"d1": 1, "d5": 0}, ("d1", 0, 20)),
    ("q2", "who repairs a leaking roof", {"d2": 2}, ("d2", 0, 27)),
    ("q3", "how can the contract be terminated", {"d3": 1, "d5": 1}, None),
    ("q4", "how do algae make sugar", {"d4": 1}, None),
]


def make(folder: Path, copies: int = 1) -> Path:
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as out:
        for copy in range(copies):
            for identifier, title, text in DOCUMENTS:
                suffix = f"-{copy}" if copy else ""
                row = {"_id": identifier + suffix, "title": title, "text": f"{text} {suffix}".strip() if text else ""}
                out.write(json.dumps(row) + "\n")
    with (folder / "queries.jsonl").open("w") as out:
        for identifier, text, _, span in QUERIES:
            metadata = {"spans": [dict(zip(("document", "start", "end"), span, strict=True))]} if span else {}
            out.write(json.dumps({"_id": identifier, "text": text, "metadata": metadata}) + "\n")
    lines = [f"{q}\t{d}\t{grade}" for q, _, grades, _ in QUERIES for d, grade in grades.items()]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines, ""]))
    return folder


def environment(folder: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINCITE_", "OPENAI_"))}
    return {**clean, "PINCITE_CACHE": str(folder / "cache")}


def run(*arguments: str, folder: Path, code: int = 0) -> tuple[str, str]:
    """Run a command in `folder`: standard output and error. Fails unless it ends with `code`, and on a stack trace."""
    done = subprocess.run(
        [sys.executable, "-m", "pincite", "eval", "retrieval", *arguments],
        cwd=folder,
        capture_output=True,
        env=environment(folder),
        timeout=200,
        check=False,
    )
    out, errors = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in errors, errors
    assert done.returncode == code, (done.returncode, out[-2000:], errors[-2000:])
    return out, errors


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eval")
    make(folder / "sets" / "lease")
    make(folder / "sets" / "other")
    (folder / "sets" / "nothing").mkdir()
    return folder


@pytest.fixture(scope="module")
def first(place: Path) -> dict[str, Any]:
    """The first run, which builds the index, with everything that can be written."""
    (place / "out").mkdir()
    out, errors = run(
        "sets/lease", "--baselines", "--json", "--html", "out/report.html", "--trec-out", "out/trec", folder=place
    )
    assert "lease: 1 empty documents left out: d6" in errors
    assert "written to out/report.html" in errors
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_configurations_are_measured_and_compared(first: dict[str, Any]) -> None:
    (report,) = first["sets"]
    assert list(report["configurations"])[:2] == ["bm25", "dense"]
    assert list(report["configurations"])[-4:] == ["hybrid", "constant", "random", "oracle"]
    assert report["facts"]["documents"] == 5
    for name, each in report["configurations"].items():
        assert 0 <= each["measures"]["nDCG@10"] <= 1, name
    assert report["configurations"]["oracle"]["measures"]["nDCG@10"] == 1.0
    dense = report["configurations"]["dense"]
    assert dense["measures"]["nDCG@10"] > 0.8
    # A whole document covers every answer in it: no such figure is shown.
    assert not [name for each in report["configurations"].values() for name in each["measures"] if "span" in name]
    assert "--unit chunk" in " ".join(report["notes"])
    assert dense["latency_ms"]["p50"] > dense["latency_ms"]["p50_search"] > 0
    bm25 = report["configurations"]["bm25"]
    assert bm25["latency_ms"]["p50"] == bm25["latency_ms"]["p50_search"]  # nothing was encoded
    assert {each["against"] for each in report["comparisons"]} == {"bm25"}
    assert "constant" not in {each["name"] for each in report["comparisons"]}
    assert not any(each["saved"] for each in report["configurations"].values())


def test_the_page_and_trecs_files_are_written(place: Path, first: dict[str, Any]) -> None:
    page = (place / "out" / "report.html").read_text()
    for each in first["sets"][0]["configurations"].values():
        assert f"{each['measures']['nDCG@10']:.4f}" in page
    from pincite.evaluation.measures import measure
    from pincite.evaluation.trec import read_qrels, read_run

    qrels = read_qrels(place / "out" / "trec" / "lease" / "test.qrels")
    for name in ("bm25", "dense", "hybrid"):
        run_of = read_run(place / "out" / "trec" / "lease" / f"{name}.run")
        measured = measure({q: [d for d, _ in ranking] for q, ranking in run_of.items()}, qrels)
        ours = first["sets"][0]["configurations"][name]["measures"]
        assert measured.mean("nDCG@10") == pytest.approx(ours["nDCG@10"])
        for ranking in run_of.values():  # whoever sorts by score gets our order
            assert [score for _, score in ranking] == sorted({score for _, score in ranking}, reverse=True)


def test_a_second_time_nothing_is_searched(place: Path, first: dict[str, Any]) -> None:
    out, _ = run("sets/lease", "--json", folder=place)
    again = json.loads(out)["sets"][0]["configurations"]
    for name, each in again.items():
        assert each["saved"], name
        assert each["measures"] == first["sets"][0]["configurations"][name]["measures"]
    out, _ = run("sets/lease", "--json", "--fresh", "-c", "dense", folder=place)
    fresh = json.loads(out)["sets"][0]["configurations"]["dense"]
    assert not fresh["saved"]
    assert fresh["measures"] == again["dense"]["measures"]


def test_a_folder_of_sets_and_settings_of_ones_own(place: Path, first: dict[str, Any]) -> None:
    assert first
    out, _ = run(
        "sets", "-c", "bm25", "-c", "wide:search.mode=hybrid,search.rrf_k=60", "-c", "dense", "--baseline", "dense",
        "--measure", "MRR@5", folder=place,
    )  # fmt: skip
    assert "MRR@5 against dense" in out
    assert "lease" in out
    assert "other" in out
    rows = [line.split() for line in out.splitlines() if line.strip().startswith("wide")]
    assert len(rows) >= 3
    assert len(rows[0]) >= 4  # its name, two sets, the mean


def test_chunks(place: Path) -> None:
    small = "small:chunk.recipe=window,chunk.size=5,search.merge=0"
    out, _ = run("sets/lease", "--unit", "chunk", "-c", small, "-c", "dense", "--json", folder=place)
    (report,) = json.loads(out)["sets"]
    assert report["unit"] == "chunk"
    assert report["facts"]["passages"] > 10
    assert report["facts"]["passages of dense"] == 5
    # A span of more than five tokens is in no window of five, but in several together (which `merge` would join).
    measures = report["configurations"]["small"]["measures"]
    assert measures["span recall@10"] < measures["span union recall@10"]
    assert report["configurations"]["dense"]["measures"]["span recall@10"] == 1.0


def test_a_sample_and_few_passages(place: Path, first: dict[str, Any]) -> None:
    assert first
    out, _ = run("sets/lease", "--queries", "2", "-k", "10", "-c", "bm25", "--json", folder=place)
    (report,) = json.loads(out)["sets"]
    assert (report["queries"], report["judged"]) == (2, 4)
    assert "Recall@100" not in report["configurations"]["bm25"]["measures"]
    assert run("sets/lease", "--queries", "2", "-k", "5", "-c", "bm25", "--measure", "nDCG@5", folder=place)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sets/lease", "-c", "x:serch.mode=bm25"], "x: unknown setting serch.mode; did you mean search.mode?"),
        (["sets/lease", "-c", "x:search.mode=fast"], "configuration x: setting search.mode"),
        (["sets/lease", "-c", "x:search.mode"], "expected section.key=value, got 'search.mode'"),
        (["sets/lease", "-c", "mine"], "without changes there are bm25, dense, rrf, hybrid"),
        (["sets/lease", "-c", "../x:search.k=3"], "is no name"),
        (["sets/lease", "-c", "bm25", "-c", "bm25"], "two configurations are named 'bm25'"),
        (["sets/lease", "-c", "oracle:search.k=3", "--baselines"], "'oracle' is the name of a ranking"),
        (["sets/lease", "--baseline", "bm26"], "--baseline 'bm26' is none of the configurations: bm25"),
        (["sets/lease", "--measure", "ndcg"], "there is no measure 'ndcg'"),
        (["sets/lease", "-k", "5"], "--measure nDCG@10 needs --k 10 or more"),
        (["sets/lease", "-c", "x:chunk.size=64"], "configuration x: chunk.size has no effect with --unit document"),
        (["sets/lease", "-c", "x:chunk.size=64"], "give --unit chunk"),
        (["sets/lease", "-c", "x:search.merge=1"], "search.merge has no effect with --unit document"),
        (["sets/lease", "-c", "x:store.path=other", "--unit", "chunk"], "store.path is no way of searching"),
        (["sets/lease", "-c", "x:answer.model=local"], "answer.model is no way of searching"),
        (["sets/lease", "--html", "absent/a.html"], "there is no folder absent: create it first"),
        (["sets/lease", "--html", "sets"], "is a folder: name a file in it"),
        (["sets/lease", "--unit", "page"], "--unit is document or chunk"),
        (["sets/lease", "--split", "dev"], "there are the splits test"),
        (["sets", "--split", "dev"], "no set in sets has the split dev"),
        (["sets/nothing"], "holds none"),
        (["sets/absent"], "there is no folder sets/absent"),
        (["sets/lease", "sets"], "two sets are named 'lease'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_before_anything_is_done(place: Path, arguments: list[str], told: str) -> None:
    _, errors = run(*arguments, folder=place, code=2)
    assert told in " ".join(errors.split())


@pytest.mark.slow
def test_interrupted_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """Interrupted while it indexes: what was encoded is kept, nothing stands for an index, the next run finishes."""
    make(tmp_path / "many", copies=120)
    command = [sys.executable, "-m", "pincite", "eval", "retrieval", "many", "-c", "bm25", "-c", "dense", "--json"]
    vectors = tmp_path / "cache" / "evaluation" / "vectors" / "vectors.sqlite"

    def kept() -> int:
        import sqlite3

        if not vectors.exists():
            return 0
        connection = sqlite3.connect(f"file:{vectors}?mode=ro", uri=True, timeout=10)
        try:
            return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])
        except sqlite3.OperationalError:  # not laid out yet
            return 0
        finally:
            connection.close()

    child = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(tmp_path)
    )
    try:
        deadline = time.monotonic() + 120
        while kept() < 250 and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130, errors.decode()
    assert "interrupted" in errors.decode()
    assert "Traceback" not in errors.decode()
    before = kept()
    assert before >= 250
    assert not list((tmp_path / "cache" / "evaluation" / "indexes").glob("*/summary.json"))
    out, _ = run("many", "-c", "bm25", "-c", "dense", "--json", folder=tmp_path)
    (report,) = json.loads(out)["sets"]
    assert report["facts"]["documents"] == 5 * 120
    assert report["configurations"]["dense"]["measures"]["nDCG@10"] > 0.3
    assert kept() == 5 * 120 + 4  # the queries as well, and nothing twice
