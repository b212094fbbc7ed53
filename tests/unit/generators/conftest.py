from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from generator_helpers import ScriptedServer, make_passage

from pincite.errors import MissingExtraError
from pincite.generators import gemma
from pincite.generators.local import EXAMPLES, LocalGenerator
from pincite.types import Message, Prompt

MakePrompt = Callable[..., Prompt]


@pytest.fixture
def make_prompt() -> MakePrompt:
    def make(question: str, *texts: str) -> Prompt:
        passages = tuple(make_passage(text, i + 1) for i, text in enumerate(texts))
        listed = "\n".join(f"[{i + 1}] {text}" for i, text in enumerate(texts))
        messages = (
            Message("system", "Answer from the passages."),
            Message("user", f"{listed}\n\nQuestion: {question}"),
        )
        return Prompt(question, passages, messages)

    return make


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A local HTTP server that answers each request with the next of `replies` and then closes the connection."""
    script = ScriptedServer("", [])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def log_message(self, format: str, *args: Any) -> None: ...

        def do_POST(self) -> None:
            script.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            script.paths.append(self.path)
            script.headers.append({key.lower(): value for key, value in self.headers.items()})
            reply = script.replies.pop(0)
            try:
                self.send_response(reply.status)
                for key, value in reply.headers.items():
                    self.send_header(key, value)
                self.end_headers()
                for i, piece in enumerate(reply.body):
                    if reply.wait is not None and i == len(reply.body) - 1:
                        reply.wait.wait(10)
                    self.wfile.write(piece)
                    self.wfile.flush()
            except (BrokenPipeError, ConnectionResetError):
                script.broken_pipes += 1
            finally:
                script.done.set()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        script.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield script
        http.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def local_model() -> Iterator[Path]:
    """The packaged weights in one file."""
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    with tempfile.TemporaryDirectory(prefix="pincite-test-") as directory:
        try:
            yield gemma.locate(Path(directory))
        except MissingExtraError as error:
            pytest.skip(str(error))


@pytest.fixture(scope="session")
def local_generator(local_model: Path) -> Iterator[LocalGenerator]:
    generator = LocalGenerator(local_model, threads=1, max_tokens=16, examples=EXAMPLES[:3])
    yield generator
    generator.close()
