"""``pincite calibrate`` on a small set, with the real encoder and the real engine; then `ask` with what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pincite import Pincite

GOODS = [
    "cloth",
    "paper",
    "glass",
    "bricks",
    "rope",
    "soap",
    "salt",
    "wine",
    "bread",
    "cheese",
    "honey",
    "candles",
    "boots",
    "hats",
    "knives",
    "clocks",
    "bells",
    "drums",
    "boats",
    "carts",
]


def make(folder: Path, *, unanswerable: int = 20) -> Path:
    """Twenty towns and what each makes; questions about each, and about towns that there are not."""
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as out:
        for i, goods in enumerate(GOODS):
            text = f"The workshops of Town{i} make {goods}. They have done so for many years."
            out.write(json.dumps({"_id": f"d{i}", "title": f"Town{i}", "text": text}) + "\n")
    with (folder / "queries.jsonl").open("w") as out:
        for i, goods in enumerate(GOODS):
            row = {"_id": f"q{i}", "text": f"What do the workshops of Town{i} make?", "metadata": {"answer": goods}}
            out.write(json.dumps(row) + "\n")
        for i in range(unanswerable):
            text = f"What do the workshops of Town{50 + i} make?"
            out.write(json.dumps({"_id": f"n{i}", "text": text, "metadata": {"answerable": False}}) + "\n")
    lines = [f"q{i}\td{i}\t1" for i in range(len(GOODS))]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines, ""]))
    return folder


def run(*arguments: str, folder: Path, code: int = 0) -> tuple[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINCITE_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pincite", "calibrate", *arguments],
        cwd=folder,
        capture_output=True,
        env={**clean, "PINCITE_CACHE": str(folder / "cache")},
        timeout=250,
        check=False,
    )
    out, errors = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in errors, errors
    assert done.returncode == code, (done.returncode, out[-2000:], errors[-2000:])
    return out, errors


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrate")
    make(folder / "towns")
    out, errors = run("towns", "--out", "own.json", "--plot", "plot.html", "--json", folder=folder)
    (folder / "first.json").write_text(out)
    assert "answer.calibration" in errors or "[answer] calibration = 'own.json'" in errors
    return folder


def test_it_says_by_cross_validation_what_it_is_worth(place: Path) -> None:
    data = json.loads((place / "first.json").read_text())
    own = data["kinds"]["extractive"]
    assert (own["questions"], own["answerable"]) == (40, 20)
    # The name alone tells them apart.
    assert own["recall"]["value"] >= 0.9
    assert own["false_refusals"]["value"] <= 0.1
    assert own["auc"]["low"] <= own["auc"]["value"] <= own["auc"]["high"]
    assert sum(each["size"] for each in own["bins"]) == own["weighed"]
    assert set(data["kinds"]) == {"extractive", "search"}
    assert "<svg " in (place / "plot.html").read_text()


def test_what_it_wrote_decides(place: Path) -> None:
    with Pincite.open(place / "index", environment={}, answer_calibration=str(place / "own.json")) as pincite:
        for i, goods in enumerate(GOODS):
            pincite.add_text(
                f"The workshops of Town{i} make {goods}. They have done so for years.", name=f"town{i}.txt"
            )
        there = pincite.ask("What do the workshops of Town3 make?")
        assert "Town3 make bricks" in there.text
        assert not there.abstained
        assert there.confidence is not None
        assert there.evidence is not None
        assert there.evidence.missing == 0.0
        gone = pincite.ask("What do the workshops of Town77 make?")
        assert (gone.abstained, gone.reason, gone.citations) == (True, "insufficient-evidence", ())
        assert "Searched: the 20 documents of the index." in gone.text
        assert "No passage mentions: Town77." in gone.text
        assert "Nearest: " in gone.text
        assert gone.confidence is not None
        assert gone.confidence < there.confidence
        narrowed = pincite.ask("What do the workshops of Town77 make?", where={"media_type": "text/plain"})
        assert "the documents with media_type=text/plain" in narrowed.text
        # Streamed pieces are the text.
        *pieces, last = pincite.stream("What do the workshops of Town77 make?")
        assert "".join(map(str, pieces)) == last.text  # type: ignore[union-attr]
    settings = {"environment": {}, "answer_calibration": str(place / "own.json"), "answer_least_confidence": 0.0}
    with Pincite.open(place / "index", **settings) as pincite:  # type: ignore[arg-type]
        assert not pincite.ask("What do the workshops of Town77 make?").abstained
    with Pincite.open(place / "index", environment={}, answer_calibration="off") as pincite:
        answer = pincite.ask("What do the workshops of Town77 make?")
        assert answer.confidence is None
        assert answer.evidence is not None
        assert not answer.abstained  # what the calibration is for


def test_again_it_asks_nothing_and_says_the_same(place: Path) -> None:
    kept = next((place / "cache" / "evaluation" / "calibrations").glob("*.jsonl"))
    before = kept.read_text()
    out, errors = run("towns", "--json", folder=place)
    assert kept.read_text() == before
    assert "40 answers were kept" in errors or "answers were kept from before" in errors
    assert json.loads(out)["kinds"] == json.loads((place / "first.json").read_text())["kinds"]


def test_a_table_and_an_svg(place: Path) -> None:
    out, _ = run("towns", "--plot", "plot.svg", folder=place)
    assert "precision of refusals" in out
    assert (place / "plot.svg").read_text().startswith("<svg ")


def test_what_cannot_be_calibrated_is_said_before_anything_is_asked(place: Path) -> None:
    make(place / "one", unanswerable=0)
    _, errors = run("one", folder=place, code=2)
    assert "0 of the questions cannot be answered" in errors
    make(place / "few", unanswerable=5)
    _, errors = run("few", folder=place, code=2)
    assert "5 of the questions cannot be answered" in errors
    assert not list((place / "cache" / "evaluation" / "calibrations").glob("few*"))
    (place / "bad.json").write_text("{}")
    _, errors = run("towns", "--out", "bad.json", folder=place, code=2)
    assert "is no calibration" in errors
    assert (place / "bad.json").read_text() == "{}"
    _, errors = run("towns", "--plot", "plot.png", folder=place, code=2)
    assert "plot.png" in errors
