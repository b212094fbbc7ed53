"""``pincite eval make`` as a person meets it: a terminal, keys, Ctrl-C, and a toy endpoint that proposes."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pincite.evaluation.datasets import load_dataset
from pincite.evaluation.making import Journal

pty = pytest.importorskip("pty", reason="needs a terminal of a Unix system")

DEMO = Path(__file__).resolve().parents[2] / "src" / "pincite" / "demo" / "documents"
FILES = (
    "amendment-20-terms-and-sessions.md",
    "amendment-21-repeal-of-prohibition.md",
    "amendment-22-presidential-term-limit.md",
    "amendment-26-voting-age.md",
)
KEYS = "[q]uit: "
PICK = "for none: "
WORDS = "empty: leave): "


def environment(**more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINCITE_", "OPENAI_"))}
    return {**clean, "TERM": "dumb", "COLUMNS": "200", **more}


def run(*arguments: str, folder: Path, code: int = 0, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pincite", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(**more),
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout + done.stderr


class Terminal:
    """A person at a terminal: waits for what is shown, types lines."""

    def __init__(self, *arguments: str, folder: Path, **more: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pincite", *arguments],
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(**more),
            start_new_session=True,
        )
        os.close(slave)
        self.text = ""

    def until(self, wanted: str, timeout: float = 90) -> str:
        """What is shown from now on up to and with `wanted`."""
        start, end = len(self.text), time.monotonic() + timeout
        while wanted not in self.text[start:]:
            ready, _, _ = select.select([self.master], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no {wanted!r} after {timeout} s in {self.text[start:]!r}"
            assert self._read(), f"ended before {wanted!r}: {self.text[start:]!r}"
        return self.text[start:]

    def send(self, line: str) -> None:
        os.write(self.master, f"{line}\n".encode())

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """The exit status, when all has been shown."""
        while self._read():
            pass
        os.close(self.master)
        code = self.process.wait(60)
        assert "Traceback" not in self.text, self.text
        return code

    def _read(self) -> bool:
        try:
            data = os.read(self.master, 65536)
        except OSError:  # how Linux says that the other end is closed
            return False
        self.text += data.decode("utf-8", "replace").replace("\r", "")
        return bool(data)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "documents").mkdir()
    for name in FILES:
        shutil.copy(DEMO / name, folder / "documents")
    run("add", "documents", folder=folder)
    return folder


@pytest.fixture
def open_terminal() -> Iterator[Callable[..., Terminal]]:
    """Makes terminals; none outlives its test, which would hold the index."""
    made: list[Terminal] = []

    def make(*arguments: str, folder: Path) -> Terminal:
        made.append(Terminal(*arguments, folder=folder))
        return made[-1]

    yield make
    for each in made:
        each.kill()


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[str], Callable[[Callable[[str], str]], None]]]:
    """A toy chat endpoint: its address, the passages it was shown, and how to say what it replies."""
    seen: list[str] = []
    reply: list[Callable[[str], str]] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(body["messages"][1]["content"])
            message = {"content": reply[0](seen[-1])}
            data = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}/v1", seen, reply.append
        http.shutdown()
        thread.join()


def words_of(shown: str) -> str:
    """Some words from the end of the passage that a model was shown."""
    words = shown.partition("\n\n")[2].rpartition("\n</passage")[0].split()
    return " ".join(words[-20:-1])


def propose_all(shown: str) -> str:
    number = len(shown)
    return json.dumps({"question": f"Which rule has {number} zebras in it, brother?", "quote": words_of(shown)})


def rows(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]


def texts(folder: Path) -> dict[str, str]:
    return {record.id: record.text for record in load_dataset(folder).documents()}


def test_a_person_types_questions_and_picks_answers(
    library: Path, tmp_path: Path, open_terminal: Callable[..., Terminal]
) -> None:
    """No model at all: search, pick, name the words; a document by name where the search did not find it."""
    made = tmp_path / "set"
    person = open_terminal("eval", "make", str(made), "--add", folder=library)
    person.until("Question: ")
    person.send("From what age may people vote?")
    shown = person.until(PICK)
    place = re.search(r"^(\d)\. Amendment XXVI", shown, re.M)
    assert place, shown
    person.send("9")
    assert "numbers from 1" in person.until(PICK)
    person.send(place[1])
    person.until(WORDS)
    person.send("words that are not there")
    assert "not in the document" in person.until(WORDS)
    person.send("who are eighteen ... of age or older")
    shown = person.until("Question: ")
    assert "q001 saved, 1 answer" in shown
    assert "»who are eighteen years of age or older«" in shown
    person.send("When does the new Congress meet?")
    person.until(PICK)
    person.send("/noon on the 3d day of January")
    person.until(PICK)
    person.send("d amendment-20-terms-and-sessions.md")
    person.until(WORDS)
    person.send("such meeting shall begin at noon on the 3d day of January")
    assert "q002 saved" in person.until("Question: ")
    person.send("From what age may the people vote?")
    person.until(PICK)
    person.send("1")
    person.until(WORDS)
    person.send("of")
    assert "near-duplicate of q001" in person.until("[y/N] ")
    person.send("n")
    person.until("Question: ")
    person.send("Who is the king?")
    person.until(PICK)
    person.send("")
    assert "left out" in person.until("Question: ")
    person.send("")
    assert person.end() == 0
    assert "2 questions over 4 documents" in person.text
    dataset = load_dataset(made)
    corpus = texts(made)
    labels = [corpus[s.document_id][s.start : s.end] for name in ("q001", "q002") for s in dataset.spans[name]]
    assert labels == [
        "who are eighteen years of age or older",
        "such meeting shall begin at noon on the 3d day of January",
    ]
    assert all(row["metadata"]["made_by"] == "person" and row["metadata"]["accepted"] for row in rows(made))  # type: ignore[index]
    assert "| person: 2 |" in (made / "README.md").read_text(encoding="utf-8")


def test_a_person_decides_on_what_a_model_proposes(
    library: Path,
    tmp_path: Path,
    endpoint: tuple[str, list[str], Callable[..., None]],
    open_terminal: Callable[..., Terminal],
) -> None:
    url, seen, says = endpoint
    says(propose_all)
    made = tmp_path / "set"
    arguments = ("--questions", "4", "--model", "openai:toy", "--base-url", url)
    person = open_terminal("eval", "make", str(made), *arguments, folder=library)
    assert "4 questions: 12 calls at most" in person.until("Go on? [Y/n] ")
    assert not seen, "nothing is asked before the estimate was seen"
    person.send("")
    first = person.until(KEYS)
    assert "»" in first
    assert "Which rule has" in first
    person.send("a")
    person.until(KEYS)
    person.send("r")
    person.until(KEYS)
    person.send("w")
    person.until(WORDS)
    person.send("... by Congress")
    assert "not in the document" in person.until(WORDS)
    person.send("passed by congress")
    assert "»Passed by Congress«" in person.until(KEYS)
    person.send("e")
    person.until("Question: ")
    person.send(" And why?")  # behind what stands there already
    person.until(KEYS)
    person.send("a")
    person.until(KEYS)
    person.interrupt()
    assert person.end() == 130
    assert "2 questions over 4 documents; 1 not decided yet: go on with --resume" in person.text
    kept = rows(made)
    assert [row["metadata"]["edited"] for row in kept] == [False, True]  # type: ignore[index]
    assert str(kept[1]["text"]).endswith("And why?")
    calls = len(seen)
    assert calls == 4
    person = open_terminal("eval", "make", str(made), "--resume", *arguments, folder=library)
    assert "1/1  q004" in person.until(KEYS)
    person.send("e")
    person.until("Question: ")
    person.send(" Is that so?")
    person.until(KEYS)
    person.send("s")
    assert person.end() == 0
    assert Journal.resume(made).open()[0].question.endswith("Is that so?"), "an edit is kept, also undecided"
    assert len(seen) == calls, "what was proposed is not asked for again"
    assert [row["_id"] for row in rows(made)] == ["q001", "q003"]


def test_without_a_terminal_it_takes_what_nobody_saw_only_when_told(
    library: Path, tmp_path: Path, endpoint: tuple[str, list[str], Callable[..., None]]
) -> None:
    url, seen, says = endpoint
    made = tmp_path / "set"
    arguments = ("eval", "make", str(made), "--questions", "4", "--model", "openai:toy", "--base-url", url)
    assert "--accept-all" in run(*arguments, folder=library, code=2)
    assert not made.exists()
    replies = iter(
        [
            json.dumps({"question": "Which rule is zebra?", "quote": "a quote that is made up"}),
            "I am only a model.",
            "{document: copied}",
        ]
    )
    says(lambda shown: next(replies, propose_all(shown)))
    out = run(*arguments, "--accept-all", "--max-calls", "5", folder=library)
    assert len(seen) == 5
    assert "quote-not-found 1" in out
    assert "unreadable-reply 2" in out
    assert "stopped at 5 calls" in out
    kept = rows(made)
    assert len(kept) == 2, (made / "journal.jsonl").read_text(encoding="utf-8")
    assert [row["metadata"]["accepted"] for row in kept] == [False, False]  # type: ignore[index]
    corpus = texts(made)
    for row in kept:
        for span in row["metadata"]["spans"]:  # type: ignore[index]
            assert corpus[span["document"]][span["start"] : span["end"]] == span["quote"]
    assert "| looked at by a person | 0 of 2 |" in (made / "README.md").read_text(encoding="utf-8")


def test_a_set_goes_on_as_it_was_begun(
    library: Path, tmp_path: Path, endpoint: tuple[str, list[str], Callable[..., None]]
) -> None:
    """No question is ever in two splits; more calls than three a question reach every passage."""
    url, seen, says = endpoint
    made = tmp_path / "set"
    command = ("eval", "make", str(made), "--accept-all", "--model", "openai:toy", "--base-url", url)
    assert "named with letters" in run(*command, "--split", "../x", folder=library, code=2)
    assert not made.exists(), "told before anything is asked"
    replies = iter(["I am only a model."] * 3)
    says(lambda shown: next(replies, propose_all(shown)))
    out = run(*command, "--questions", "1", "--max-calls", "4", "--split", "train,test", folder=library)
    assert len(seen) == 4
    assert "1 proposal from 4 calls" in out
    out = run(*command, "--questions", "3", "--resume", folder=library)
    assert "2 proposals from 2 calls" in out, "of this run alone"
    sides = [(made / "qrels" / f"{name}.tsv").read_text().splitlines()[1:] for name in ("train", "test")]
    assert len({line.split()[0] for side in sides for line in side}) == len(sides[0]) + len(sides[1]) == 3
    refused = run(*command, "--resume", "--split", "test", folder=library, code=2)
    assert "begun with another --split" in refused
    assert "| model | openai:toy |" in (made / "README.md").read_text(encoding="utf-8")


def test_a_failing_endpoint_is_an_error_and_costs_nothing_that_was_made(library: Path, tmp_path: Path) -> None:
    made = tmp_path / "set"
    address = "http://127.0.0.1:9/v1"
    arguments = ("--accept-all", "--max-calls", "1", "--model", "ollama:none", "--base-url", address)
    out = run("eval", "make", str(made), *arguments, folder=library)
    assert "failed 1" in out
    assert "0 questions over 4 documents" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--accept-all",), "writes no questions"),
        (("--accept-all", "--add"), "give one of them"),
        (("--accept-all", "--model", "openai:x"), "needs a key"),
        (("--accept-all", "--model", "local", "--resume"), "no set was begun"),
        (("--accept-all", "--model", "local", "--where", "nonsense"), "KEY=VALUE"),
    ],
)
def test_wrong_input_is_named(library: Path, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    assert says in run("eval", "make", str(tmp_path / "set"), *arguments, folder=library, code=2)
