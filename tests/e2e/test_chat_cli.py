"""``pincite chat`` on a small library, with the real encoder and the real engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

MANUALS = {
    "x200.md": "# Warranty of the X200\n\nThe warranty on the X200 lasts two years from the day of purchase.\n",
    "x300.md": "# Warranty of the X300\n\nThe warranty on the X300 lasts three years from the day of purchase.\n",
    "bicycles.md": "# Bicycles\n\nThe chain of a bicycle is oiled every month and after rain.\n",
}
X200 = "How long is the warranty on the X200?"
X300 = "How long is the warranty on the X300?"


def chat(
    folder: Path, *lines: str, options: tuple[str, ...] = (), code: int = 0, **environment: str
) -> tuple[str, str]:
    """What a conversation of these lines prints, and what it says on standard error."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINCITE_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pincite", "chat", *options],
        cwd=folder,
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        env={**clean, **environment},
        timeout=240,
        check=False,
    )
    told, errors = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in errors, errors
    assert done.returncode == code, (done.returncode, told[-2000:], errors[-2000:])
    return told, errors


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manuals")
    for name, text in MANUALS.items():
        (folder / name).write_text(text)
    subprocess.run(
        [sys.executable, "-m", "pincite", "add", *MANUALS], cwd=folder, check=True, capture_output=True, timeout=240
    )
    return folder


def test_three_turns_of_which_two_lean_on_the_first(library: Path) -> None:
    told, _ = chat(library, X200, "", "and the X300?", "yes, please", "/sources", "/quit", "never asked?")
    assert told.count("The warranty on the X200 lasts two years") == 2  # the answer and its source
    assert told.count("The warranty on the X300 lasts three years") == 4
    assert told.count(f"searched for: {X300}") == 2
    assert "version 1 · characters" in told
    sources = told[told.rindex("searched for") :]
    assert "1. Warranty of the X300" in sources
    assert "· cited" in sources
    assert "never asked" not in told


def test_one_line_of_json_for_each_answer(library: Path) -> None:
    told, _ = chat(library, X200, "and the X300?", "What do the moons of Mars weigh?", options=("--json",))
    first, second, third = map(json.loads, told.splitlines())
    assert (first["question"], first["searched"]) == (X200, X200)
    assert (second["question"], second["searched"]) == ("and the X300?", X300)
    assert "three years" in second["text"]
    (citation,) = second["citations"]
    assert citation["verdict"] == "verbatim"
    assert citation["reference"].endswith(f"@1:{citation['start']}-{citation['end']}")
    assert second["timings"]["rewrite"] >= 0
    assert third["abstained"]
    assert third["reason"] == "no-evidence"


def test_a_new_conversation_knows_nothing_of_the_last(library: Path) -> None:
    told, errors = chat(library, X200, "/new", "and the X300?", "/nonsense", options=("--json",))
    assert [json.loads(line)["searched"] for line in told.splitlines()] == [X200, "and the X300?"]
    assert "another conversation begins" in errors
    assert "/nonsense is not known. /sources:" in errors


def test_a_filter_holds_for_what_is_kept_of_the_turn_before(library: Path) -> None:
    told, _ = chat(library, X200, "and the X300?", options=("--json", "--where", "title=Warranty of the X300"))
    for line in told.splitlines():
        assert {passage["title"] for passage in json.loads(line)["passages"]} <= {"Warranty of the X300"}


def test_nothing_asked_and_wrong_settings(library: Path, tmp_path: Path) -> None:
    assert chat(library) == ("", "")
    assert "there is no index" in chat(tmp_path, "Why?", code=2)[1]
    (tmp_path / "mine.txt").write_text("--- system\n{key}\n--- user\n{sources} {question}\n")
    _, errors = chat(library, X200, code=2, PINCITE_ANSWER_TEMPLATE=str(tmp_path / "mine.txt"))
    assert "lacks the placeholder {refusal} in its section system" in errors


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_an_interrupt_ends_it_politely(library: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "pincite", "chat", "--json"],
        cwd=library,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{X200}\n".encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["question"] == X200
        time.sleep(0.5)  # it waits for the next line
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors.decode().strip() == ""


class ToyChat:
    """A toy chat endpoint: answers by rule, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[dict[str, str]]] = []
        self.rewriting: str | None = X300  #: what it makes of a follow-up; None: it fails
        toy = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None: ...

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                toy.asked.append(body["messages"])
                rewrites = body["messages"][0]["content"].startswith("You rewrite")
                if rewrites and toy.rewriting is None:
                    self.send_error(400)
                    return
                text = toy.rewriting if rewrites else toy.answer(body["messages"][-1]["content"])
                choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
                data = json.dumps({"choices": [choice]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.options = ("--json", "--model", "openai:toy", "--base-url", f"http://127.0.0.1:{self.http.server_port}/v1")

    def answer(self, prompt: str) -> str:
        """The first sentence about a warranty, with the number of its source."""
        frame = next(each for each in prompt.split("</source-") if "lasts" in each)
        number = frame.split("[")[1].split("]")[0]
        return f"{next(line for line in frame.splitlines() if 'lasts' in line)} [{number}]"


@pytest.fixture
def toy() -> Iterator[ToyChat]:
    made = ToyChat()
    yield made
    made.http.shutdown()
    made.http.server_close()


def test_a_model_rewrites_for_the_search_and_answers_the_question_as_it_was_asked(library: Path, toy: ToyChat) -> None:
    told, _ = chat(library, X200, "and the X300?", options=toy.options)
    first, second = map(json.loads, told.splitlines())
    assert "two years" in first["text"]
    assert (second["searched"], "three years" in second["text"]) == (X300, True)
    plain, rewriting, followed = toy.asked
    assert [message["role"] for message in plain] == ["system", "user"]
    assert f"Question: {X200}" in rewriting[1]["content"]
    assert rewriting[1]["content"].endswith("Last question: and the X300?")
    assert [message["role"] for message in followed] == ["system", "user", "assistant", "user"]
    assert followed[1]["content"] == X200
    assert followed[2]["content"] == "The warranty on the X200 lasts two years from the day of purchase."
    assert followed[3]["content"].endswith("\n\nQuestion: and the X300?")
    # What was found before is there as well.
    assert "Warranty of the X200" in followed[3]["content"]


def test_a_rewriting_that_fails_is_told_and_the_question_is_searched_for_as_it_stands(
    library: Path, toy: ToyChat
) -> None:
    toy.rewriting = None
    told, _ = chat(library, X200, "and the X300?", options=toy.options)
    second = json.loads(told.splitlines()[1])
    assert second["searched"] == "and the X300?"
    assert any(warning.startswith("the question was searched for as it stands: ") for warning in second["warnings"])
    assert not second["abstained"]
    # Where nothing speaks to it, the question before is searched for.
    toy.rewriting = "Which is it?"
    told, _ = chat(library, X200, "yes, please", options=toy.options)
    second = json.loads(told.splitlines()[1])
    assert second["searched"] == X200
    assert any("nothing speaks to 'yes, please'" in warning for warning in second["warnings"])


def test_a_question_that_fails_does_not_end_the_conversation(library: Path, toy: ToyChat) -> None:
    toy.http.shutdown()
    toy.http.server_close()
    told, _ = chat(library, X200, "What do the moons of Mars weigh?", options=toy.options, code=5)
    failed, answered = map(json.loads, told.splitlines())
    assert "error" in failed
    assert answered["reason"] == "no-evidence"
