"""``pincite eval grounding`` on a small set, with the real encoder, the real engine, sentences as answers."""

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
    ("d1", "Rent", "The tenant pays the rent on the third working day of each month. Late rent bears interest."),
    ("d2", "Repairs", "The landlord mends the roof, the windows and the heating at his own cost."),
    ("d3", "Notice", "Either party may end the lease with three months' notice in writing."),
    ("d4", "", "Photosynthesis turns light into sugar in green algae."),
]
RENT = "The tenant pays the rent on the third working day of each month."
QUERIES: list[tuple[str, str, dict[str, Any], str]] = [
    ("q1", "when does the tenant pay the rent", {"answers": ["third working day"], "gold_sentences": [RENT]}, "d1"),
    ("q2", "who mends the roof and the windows", {"answers": ["the landlord"]}, "d2"),
    ("q3", "how do green algae turn light into sugar", {"answer": "photosynthesis"}, "d4"),
    ("q4", "which stadium hosted the final of 1987", {"answerable": False, "passage": "d3"}, ""),
]


def make(folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": identifier, "title": title, "text": text} for identifier, title, text in DOCUMENTS]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [{"_id": identifier, "text": text, "metadata": metadata} for identifier, text, metadata, _ in QUERIES]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    lines = [f"{identifier}\t{gold}\t1" for identifier, _, _, gold in QUERIES if gold]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines, ""]))


def environment(folder: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINCITE_", "OPENAI_"))}
    return {**clean, "PINCITE_CACHE": str(folder / "cache")}


def run(*arguments: str, folder: Path, code: int = 0) -> tuple[str, str]:
    """Run a command in `folder`: standard output and error. Fails unless it ends with `code`, and on a stack trace."""
    done = subprocess.run(
        [sys.executable, "-m", "pincite", "eval", "grounding", *arguments],
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
    folder = tmp_path_factory.mktemp("grounding")
    make(folder / "lease")
    return folder


@pytest.fixture(scope="module")
def first(place: Path) -> dict[str, Any]:
    """The first run, which builds the index, with everything that can be written."""
    out, _ = run("lease", "-k", "1,3", "--json", "--report", "report.html", "--answers", "answers.jsonl", folder=place)
    found: dict[str, Any] = json.loads(out)
    return found


def test_answers_of_sentences_are_borne_out_by_themselves(place: Path, first: dict[str, Any]) -> None:
    (found,) = first["sets"]
    assert list(found["configurations"]) == ["none k=1", "none k=3"]
    assert (found["support"], found["broken_pointers"], found["failed"]) == ({"name": "lexical"}, 0, 0)
    for each in found["configurations"].values():
        borne = each["grounding"]
        assert (borne["scored"], borne["refused"], borne["failed"]) == (3, 1, 0)
        assert borne["exact_pointers"] == borne["citations"] >= 3
        for figure in ("recall", "precision", "pinpoint", "faithfulness"):
            assert borne[figure]["mean"] == 1.0
        assert 0.3 < borne["similarity"]["mean"] <= 1
        assert borne["gold_recall"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "questions": 1}
        assert each["retrieval"]["success"]["mean"] == 1.0
        assert each["end_to_end"]["refusals"]["recall"]["mean"] == 1.0
        assert [row["lost"] for row in each["per_question"]] == [None] * 4
        assert [row["grounding"]["outcome"] for row in each["per_question"]] == ["scored"] * 3 + ["refused"]
        assert each["per_question"][3]["reason"] == "no-evidence gate"
        (cited, *_) = each["per_question"][0]["grounding"]["citations"]
        assert (cited["reference"], cited["quote"], cited["verdict"]) == (f"d1@1:0-{len(RENT)}", RENT, "verbatim")
    assert {each["measure"] for each in found["comparisons"]} >= {"citation recall", "faithfulness"}
    page = (place / "report.html").read_text()
    assert "citation precision" in page
    assert "none k=3: every question" in page
    rows = [json.loads(line) for line in (place / "answers.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["q1", "q2", "q3", "q4"] * 2


def test_tables_for_people_and_what_is_kept(place: Path, first: dict[str, Any]) -> None:
    assert first
    out, errors = run("lease", "-k", "1", folder=place)
    for told in ("retrieval: Success@k", "citation recall", "the stage that lost a question", "refusals: precision"):
        assert told in out
    assert "lease: none k=1: 3 answers kept from before" in errors
    assert "what supports what is told by: name lexical" in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lease", "--support", "bleu"], "'bleu' is not known; there are: lexical, semantic, nli"),
        (["lease", "--support", "judge:extractive"], "cannot be asked"),
        (["lease", "-k", "none"], "-k takes whole numbers"),
        (["lease", "--report", "report.pdf"], "must end with .md, .html, .json"),
    ],
)
def test_what_cannot_be_is_said_before_any_work(place: Path, arguments: list[str], said: str) -> None:
    out, errors = run(*arguments, folder=place, code=2)
    assert said in " ".join(errors.split())
    assert not out


class Endpoint:
    """A chat endpoint: as reader it says one cited sentence, as judge a letter. From a number on it waits."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.verdict = "A"
        self.patience = 10_000
        self.waiting, self.go_on = threading.Event(), threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None: ...

            def do_POST(self) -> None:
                data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text = data["messages"][-1]["content"]
                kind = "judge" if "Reply with A, B or C" in text else "reader"
                endpoint.asked.append(f"{kind} {data['model']}")
                if len(endpoint.asked) >= endpoint.patience:
                    endpoint.waiting.set()
                    endpoint.go_on.wait(60)
                said = "The tenant pays the rent on the third working day of each month [1]."
                if kind == "judge":
                    said = endpoint.verdict
                elif data["model"] == "loose":
                    said = "On the third working day of each month the tenant pays the rent [1]."
                elif data["model"] == "liar":
                    said = "The tenant pays the rent on the ninth working day of each month [1]."
                choice = {"delta": {"content": said}, "finish_reason": None}
                done = {"delta": {}, "finish_reason": "stop"}
                try:
                    self.send_response(200)
                    if data.get("stream"):
                        lines = [f"data: {json.dumps({'choices': [each]})}\n\n" for each in (choice, done)]
                        self.send_header("Content-Type", "text/event-stream")
                        self.end_headers()
                        self.wfile.write("".join([*lines, "data: [DONE]\n\n"]).encode())
                    else:
                        whole = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
                        self.send_header("Content-Type", "application/json")
                        self.end_headers()
                        self.wfile.write(json.dumps({"choices": [whole]}).encode())
                except OSError:
                    pass  # nobody waits for it any more

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.go_on.set()
    made.http.shutdown()
    made.http.server_close()
    thread.join()


def test_two_models_and_what_the_support_gate_refuses(place: Path, first: dict[str, Any], endpoint: Endpoint) -> None:
    assert first
    models = ["--model", "openai:right", "--model", "openai:liar"]
    out, _ = run("lease", *models, "--base-url", endpoint.url, "-k", "1", "--json", "--fresh", folder=place)
    found = json.loads(out)["sets"][0]["configurations"]
    right, liar = found["openai:right none k=1"], found["openai:liar none k=1"]
    assert right["per_question"][0]["grounding"]["recall"] == 1.0
    assert right["per_question"][0]["lost"] is None
    # What no source supports is refused, and the stage says so.
    assert [row["lost"] for row in liar["per_question"]] == [{"stage": "refusal", "by": "support gate"}] * 3 + [None]
    assert liar["lost"]["refusal"] == {"questions": 3, "by": {"support gate": 3}, "ids": ["q1", "q2", "q3"]}
    assert liar["grounding"]["scored"] == 0
    assert liar["grounding"]["recall"] is None


def test_a_judge_is_recorded_and_a_reply_that_is_no_verdict_fails(
    place: Path, first: dict[str, Any], endpoint: Endpoint
) -> None:
    assert first
    endpoint.verdict = "C"
    judged = ["--support", "judge:openai:judge", "--base-url", endpoint.url, "--model", "openai:loose", "-k", "1"]
    out, _ = run("lease", *judged, "--json", folder=place)
    (found,) = json.loads(out)["sets"]
    assert found["support"]["model"] == "openai:judge"
    assert found["support"]["prompt"].startswith("version ")
    assert "temperature 0" in found["support"]["seed"]
    assert "judge judge" in endpoint.asked
    (first_question, *_) = found["configurations"]["none k=1"]["per_question"]
    assert first_question["grounding"]["recall"] == 0.0  # as the judge says
    asked = len(endpoint.asked)
    run("lease", *judged, "--json", folder=place)
    assert len(endpoint.asked) == asked  # neither a reader nor a judge is asked twice
    endpoint.verdict = "perhaps"
    out, _ = run("lease", *judged, "--json", "--fresh", "--limit", "4", folder=place, code=1)
    (found,) = json.loads(out)["sets"]
    failed = [row["grounding"]["failure"] for row in found["configurations"]["none k=1"]["per_question"]]
    assert any("'perhaps'" in each for each in failed)
    assert any("failed and" in each for each in found["notes"])


def test_control_c_keeps_what_was_answered(place: Path, first: dict[str, Any], endpoint: Endpoint) -> None:
    assert first
    endpoint.patience = 3
    arguments = ["lease", "--model", "openai:slow", "--base-url", endpoint.url, "-k", "2", "--json"]
    running = subprocess.Popen(
        [sys.executable, "-m", "pincite", "eval", "grounding", *arguments],
        cwd=place,
        env=environment(place),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert endpoint.waiting.wait(90), "the third question was never asked"
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert b"interrupted: what was answered is kept" in errors
    assert b"Traceback" not in errors
    assert not out
    endpoint.patience = 10_000
    endpoint.go_on.set()
    run(*arguments, folder=place)
    assert len(endpoint.asked) == 2 + 1 + 4  # what was kept, what was cut off, and that with the rest: 3 gold, 3 found
