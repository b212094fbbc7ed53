"""``pincite eval answers`` on a small set, with the real encoder, the real engine and sentences as answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

DOCUMENTS = [
    ("d1", "Rent", "The tenant pays the rent on the third working day of each month."),
    ("d2", "Repairs", "The landlord mends the roof, the windows and the heating at his own cost."),
    ("d3", "Notice", "Either party may end the lease with three months' notice in writing."),
    ("d4", "", "Photosynthesis turns light into sugar in green algae."),
]
QUERIES: list[tuple[str, str, dict[str, Any], str]] = [
    ("q1", "when does the tenant pay the rent", {"answers": [{"text": DOCUMENTS[0][2], "answer_start": 0}]}, "d1"),
    ("q2", "who mends the roof and the windows", {"answers": ["the landlord"]}, "d2"),
    ("q3", "how do green algae turn light into sugar", {"answer": "photosynthesis"}, "d4"),
    ("q4", "which stadium hosted the final of 1987", {"answerable": False, "passage": "d3"}, ""),
]


def make(folder: Path, *, answers: bool = True) -> Path:
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as out:
        for identifier, title, text in DOCUMENTS:
            out.write(json.dumps({"_id": identifier, "title": title, "text": text}) + "\n")
    with (folder / "queries.jsonl").open("w") as out:
        for identifier, text, metadata, _ in QUERIES:
            out.write(json.dumps({"_id": identifier, "text": text, "metadata": metadata if answers else {}}) + "\n")
    lines = [f"{identifier}\t{gold}\t1" for identifier, _, _, gold in QUERIES if gold]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines, ""]))
    return folder


def environment(folder: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINCITE_", "OPENAI_"))}
    return {**clean, "PINCITE_CACHE": str(folder / "cache")}


def run(*arguments: str, folder: Path, code: int = 0) -> tuple[str, str]:
    """Run a command in `folder`: standard output and error. Fails unless it ends with `code`, and on a stack trace."""
    done = subprocess.run(
        [sys.executable, "-m", "pincite", "eval", "answers", *arguments],
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
    folder = tmp_path_factory.mktemp("answers")
    make(folder / "sets" / "lease")
    make(folder / "sets" / "silent", answers=False)
    (folder / "out").mkdir()
    return folder


@pytest.fixture(scope="module")
def first(place: Path) -> dict[str, Any]:
    """The first run, which builds the index, with everything that can be written."""
    out, errors = run(
        "sets/lease", "-k", "1,3", "--json", "--report", "out/report.md", "--answers", "out/answers.jsonl", folder=place
    )
    assert "written to out/report.md" in errors
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_three_columns_of_every_configuration(first: dict[str, Any]) -> None:
    (found,) = first["sets"]
    assert (found["questions"], found["unanswerable"], found["failed"], found["rule"]) == (4, 1, 0, "squad")
    assert list(found["configurations"]) == ["none k=1", "none k=3"]
    for each in found["configurations"].values():
        assert each["model"] == "extractive"
        assert each["retrieval"]["success"]["mean"] == 1.0
        # The whole sentence is the answer of q1; the others' are words of their sentences.
        assert each["gold_passage"]["exact"]["mean"] == pytest.approx(1 / 3)
        assert 1 / 3 < each["gold_passage"]["f1"]["mean"] < 1
        assert each["end_to_end"]["exact"]["mean"] == pytest.approx(1 / 3)
        assert each["end_to_end"]["right_abstentions"]["mean"] == 1.0
        assert each["gold_passage"]["right_abstentions"]["mean"] == 1.0
        assert each["probability_of_gold"] is None
        assert each["p50_seconds"] > 0
    (versus,) = found["comparisons"]
    assert (versus["name"], versus["against"], versus["n"]) == ("none k=3", "none k=1", 4)
    assert "eval answers sets/lease -k 1,3" in first["about"][0]


def test_the_report_and_the_answers_are_written(place: Path, first: dict[str, Any]) -> None:
    report = (place / "out" / "report.md").read_text()
    f1 = first["sets"][0]["configurations"]["none k=3"]["end_to_end"]["f1"]["mean"]
    assert f"| {f1:.4f} |" in report
    rows = [json.loads(line) for line in (place / "out" / "answers.jsonl").read_text().splitlines()]
    assert [(row["configuration"], row["id"]) for row in rows][3:5] == [("none k=1", "q4"), ("none k=3", "q1")]
    assert rows[0]["answer"] == DOCUMENTS[0][2]
    assert rows[0]["passages"] == ["d1"]
    assert len(rows[4]["passages"]) == 3
    assert (rows[3]["outcome"], rows[3]["gold"]) == ("abstained", [])


def test_a_second_time_nothing_is_asked_and_another_rule_costs_nothing(place: Path, first: dict[str, Any]) -> None:
    assert first
    out, _ = run("sets/lease", "-k", "3,1", "--json", "--rule", "unicode", folder=place)
    again = json.loads(out)["sets"][0]["configurations"]
    assert [each["kept_from_before"] for each in again.values()] == [8, 4]
    before = first["sets"][0]["configurations"]
    assert again["none k=1"]["end_to_end"]["exact"] == before["none k=1"]["end_to_end"]["exact"]
    out, _ = run("sets/lease", "--json", "--fresh", "--limit", "2", "--seed", "1", folder=place)
    (fresh,) = json.loads(out)["sets"]
    assert (fresh["questions"], fresh["total"]) == (2, 4)
    assert [each["kept_from_before"] for each in fresh["configurations"].values()] == [0]


def test_without_k_the_settings_say_how_many_passages_are_read(place: Path, first: dict[str, Any]) -> None:
    assert first
    out, _ = run("sets/lease", "--json", "--limit", "1", folder=place)
    assert list(json.loads(out)["sets"][0]["configurations"]) == ["none k=5"]
    (place / "two.toml").write_text("[answer]\npassages = 2\n")
    out, _ = run("sets/lease", "--json", "--limit", "1", "--config", "two.toml", folder=place)
    found = json.loads(out)
    assert list(found["sets"][0]["configurations"]) == ["none k=2"]
    assert "answer.passages = 2" in found["about"][2]
    out, _ = run("sets/lease", "--json", "--limit", "1", "--config", "two.toml", "-k", "1", folder=place)
    assert list(json.loads(out)["sets"][0]["configurations"]) == ["none k=1"]


def test_the_temperature_of_the_prior_is_told_where_there_is_a_prior() -> None:
    from pincite.cli.answer_bench import about_run
    from pincite.config import AnswerSettings, Settings

    def told(**answer: Any) -> str:
        return about_run({"x": Settings(answer=AnswerSettings(**answer))}, 0)[2]

    assert "answer.prior_temperature = by stage" in told(model="transformers:x", marginalize="sequence")
    assert "answer.prior_temperature = by stage" in told(model="transformers:x")  # auto
    assert "answer.prior_temperature = 0.5" in told(model="transformers:x", prior_temperature=0.5)
    assert "prior_temperature" not in told(model="transformers:x", marginalize="none")
    assert "prior_temperature" not in told()


def test_what_is_wrong_in_a_set_is_said_before_any_work(place: Path) -> None:
    folder = make(place / "broken")
    lines = (folder / "queries.jsonl").read_text().splitlines()
    wrong = {"_id": "q2", "text": "how heavy", "metadata": {"answers": [{"text": "900 kilograms", "answer_start": 3}]}}
    (folder / "queries.jsonl").write_text("\n".join([lines[0], json.dumps(wrong), *lines[2:], ""]))
    out, errors = run("broken", folder=place, code=2)
    flat = " ".join(errors.split())
    assert "queries.jsonl, line 2: the answer '900 kilograms' does not begin at character 3 of document 'd2'" in flat
    assert not out


def test_tables_for_people_and_a_folder_of_sets(place: Path, first: dict[str, Any]) -> None:
    assert first
    out, errors = run("sets", "-k", "1", "--report", "out/report.html", folder=place)
    assert "lease test: 4 questions, 1 of them without an answer, rule squad" in out
    assert "lease: 1 question without an answer" in out
    assert "lease: 4 questions: intervals by resampling are too narrow" in errors
    assert "refusals: precision" in out
    assert "—" in out  # sentences have no probability
    assert "left out: sets/silent has questions but no answers" in errors
    page = (place / "out" / "report.html").read_text()
    assert "none k=1: every question" in page
    assert "Photosynthesis turns light" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sets/silent"], "questions but no answers"),
        (["sets/nothing"], "there is no folder"),
        (["sets/lease", "-k", "1,zero"], "-k takes whole numbers"),
        (["sets/lease", "-k", "0"], "-k takes whole numbers"),
        (["sets/lease", "--rule", "bleu"], "squad or unicode"),
        (["sets/lease", "--report", "out/report.pdf"], "must end with .md, .html, .json"),
        (["sets/lease", "--answers", "nowhere/answers.jsonl"], "create it first"),
        (["sets/lease", "--marginalize", "token,both"], "marginalize"),
        (["sets/lease", "--model", "extractive", "--marginalize", "token"], "extractive"),
        (["sets/lease", "--split", "dev"], "there are the splits test"),
    ],
)
def test_what_cannot_be_is_said_before_any_work(place: Path, arguments: list[str], said: str) -> None:
    out, errors = run(*arguments, folder=place, code=2)
    assert said in errors
    assert not out


def test_failures_end_with_1_or_stop_the_run(place: Path, first: dict[str, Any]) -> None:
    assert first
    # Nothing listens there. One question is too few to give up.
    _, errors = run(
        "sets/lease", "--model", "ollama:none", "--base-url", "http://127.0.0.1:9/v1", "--limit", "1", "-k", "1",
        folder=place, code=1,
    )  # fmt: skip
    assert "failed and is in no mean" in errors
    _, errors = run(
        "sets/lease", "--model", "ollama:none", "--base-url", "http://127.0.0.1:9/v1", "-k", "1", folder=place, code=5
    )
    assert "failed 5 times in a row" in errors


class Endpoint:
    """A chat endpoint that says the same to everything, and no more from its `patience`-th question on until told."""

    def __init__(self, patience: int) -> None:
        self.asked = 0
        self.waiting, self.go_on = threading.Event(), threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None: ...

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.asked += 1
                if endpoint.asked >= patience:
                    endpoint.waiting.set()
                    endpoint.go_on.wait(60)
                choice = {"delta": {"content": "The landlord[1]."}, "finish_reason": None}
                done = {"delta": {}, "finish_reason": "stop"}
                lines = [f"data: {json.dumps({'choices': [each]})}\n\n" for each in (choice, done)]
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "text/event-stream")
                    self.end_headers()
                    self.wfile.write("".join([*lines, "data: [DONE]\n\n"]).encode())
                except OSError:
                    pass  # nobody waits for it any more

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint(patience=6)
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.go_on.set()
    made.http.shutdown()
    made.http.server_close()
    thread.join()


def test_control_c_keeps_what_was_answered(place: Path, first: dict[str, Any], endpoint: Endpoint) -> None:
    assert first
    arguments = ["sets/lease", "--model", "openai:toy", "--base-url", endpoint.url, "-k", "2", "--json"]
    running = subprocess.Popen(
        [sys.executable, "-m", "pincite", "eval", "answers", *arguments],
        cwd=place,
        env=environment(place),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert endpoint.waiting.wait(90), "the sixth question was never asked"
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert b"interrupted: what was answered is kept" in errors
    assert b"Traceback" not in errors
    assert not out
    endpoint.go_on.set()
    told, _ = run(*arguments, folder=place)
    assert endpoint.asked == 5 + 1 + 3  # what was kept, what was cut off, and that with the rest
    found = json.loads(told)["sets"][0]["configurations"]["none k=2"]
    # Its marker is no part of what is compared, and an answer to q4 is wrong.
    assert found["end_to_end"]["exact"]["mean"] == pytest.approx(1 / 3)
    assert found["end_to_end"]["right_abstentions"]["mean"] == 0.0
    assert {each["answer"] for each in found["per_question"]} == {"The landlord."}
