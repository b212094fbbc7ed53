"""What `pincite add`, `optimize` and `status` say of the vector index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pincite.cli import app


def test_the_index_is_built_measured_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for n in range(12):
        (tmp_path / f"{n}.txt").write_text(f"Clause {n}. The tenant of house {n} pays {n * 7} pounds on day {n}.")
    runner = CliRunner()

    def run(*arguments: str) -> str:
        done = runner.invoke(app, arguments)
        assert done.exit_code == 0, done.output
        return done.output

    run("add", *(f"{n}.txt" for n in range(6)))
    assert "exact (recall 1)" in run("status")
    assert "recall 1: every search is exact" in run("status", "--recall")
    facts = json.loads(run("status", "--json"))
    assert (facts["vector search"], facts["vector index"]["recall"], facts["recall now"]) == (
        "exact (recall 1)",
        None,
        None,
    )

    monkeypatch.setenv("PINCITE_INDEX_KIND", "int8")
    assert "built above 10,000 chunks" in run("optimize")
    monkeypatch.setenv("PINCITE_INDEX_EXACT_UNTIL", "3")
    assert "run `pincite optimize`" in run("status")
    built = run("optimize")
    assert "HNSW on int8 codes over 6 of 6 chunks (ef 128, oversampling 2)" in built
    assert "recall@10 1.0000" in built
    assert "recall@10 1.0000" in run("status")
    measured = json.loads(run("status", "--recall", "--queries", "20", "--seed", "5", "--json"))["recall now"]
    assert (measured["queries"], measured["recall"], measured["points"]) == (20, 1.0, 6)
    assert runner.invoke(app, ["status", "--recall", "--queries", "0"]).exit_code == 2
    monkeypatch.setenv("PINCITE_INDEX_KIND", "exact")
    assert "exact (recall 1)" in run("status")
    monkeypatch.setenv("PINCITE_INDEX_KIND", "hsnw")
    refused = runner.invoke(app, ["status"])
    assert refused.exit_code != 0
