from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest
from generator_helpers import Reply, ScriptedServer

from pincite.errors import BackendError, ConfigError, InputError
from pincite.generators.openai import OpenAIGenerator, server_sent_events
from pincite.protocols import ChatModel
from pincite.types import Generation, Message, Prompt, Token

KEY = "sk-secret-123456"


def event(content: str | None = None, finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": {} if content is None else {"content": content}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [{**choice, **more}]}, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
GOOD = [event("Hello"), event(" world"), event(finish="stop"), DONE]


def run(generator: OpenAIGenerator, prompt: Prompt) -> tuple[list[Token], Generation]:
    *tokens, last = list(generator.stream(prompt))
    assert isinstance(last, Generation)
    assert all(isinstance(token, Token) for token in tokens)
    return tokens, last  # type: ignore[return-value]


@pytest.fixture
def prompt(make_prompt: Callable[..., Prompt]) -> Prompt:
    return make_prompt("Who is greeted?", "The world is greeted.")


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def generator(server: ScriptedServer, slept: list[float]) -> OpenAIGenerator:
    return OpenAIGenerator("m", server.url, api_key=KEY, sleep=slept.append, read_timeout=5.0)


def test_streams_the_tokens_and_then_the_whole(
    server: ScriptedServer, generator: OpenAIGenerator, prompt: Prompt
) -> None:
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2, "details": {}}}\n\n'
    server.replies = [Reply(body=[*GOOD[:3], usage, DONE])]
    tokens, whole = run(generator, prompt)
    assert [token.text for token in tokens] == ["Hello", " world"]
    assert whole.text == "Hello world"
    assert whole.tokens == tuple(tokens)
    assert whole.finish_reason == "stop"
    assert whole.usage == {"prompt_tokens": 7, "completion_tokens": 2}
    assert whole.model == generator.name == "openai:m"
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    sent = server.requests[0]
    assert sent["model"] == "m"
    assert sent["temperature"] == 0.0
    assert sent["stream"] is True
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]


def test_log_probabilities_are_kept(server: ScriptedServer, prompt: Prompt) -> None:
    listed = {"content": [{"token": "Hel", "logprob": -0.5}, {"token": "lo", "logprob": -0.25}]}
    torn = {"content": [{"token": "?", "logprob": -1.0}]}
    server.replies = [Reply(body=[event("Hello", logprobs=listed), event("é", logprobs=torn), event(finish="stop")])]
    tokens, _ = run(OpenAIGenerator("m", server.url, logprobs=True), prompt)
    assert tokens == [Token("Hel", -0.5), Token("lo", -0.25), Token("é", None)]
    assert server.requests[0]["logprobs"] is True


def test_no_key_sends_no_header(server: ScriptedServer, prompt: Prompt) -> None:
    server.replies = [Reply(body=GOOD)]
    run(OpenAIGenerator("m", server.url, provider="ollama"), prompt)
    assert "authorization" not in server.headers[0]


def test_characters_split_across_the_network(
    server: ScriptedServer, generator: OpenAIGenerator, prompt: Prompt
) -> None:
    stream = event("naïve 東京 🙂") + event(finish="stop") + DONE
    server.replies = [Reply(body=[stream[i : i + 1] for i in range(len(stream))])]
    _, whole = run(generator, prompt)
    assert whole.text == "naïve 東京 🙂"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'data: {"a":1}\n\ndata: [DONE]\n\n', ['{"a":1}', "[DONE]"]),
        (b'data:{"a":1}\r\n\r\ndata:[DONE]\r\n\r\n', ['{"a":1}', "[DONE]"]),
        (b'data: {"a":1}\r\rdata: [DONE]\r\r', ['{"a":1}', "[DONE]"]),
        (b': ping\n\nevent: x\nid: 1\nretry: 5\ndata: {"a":1}\n\n', ['{"a":1}']),
        (b'data: {"a":1}\ndata: {"b":2}\n', ['{"a":1}', '{"b":2}']),
        (b'data: {"a":\ndata: 1}\n\n', ['{"a":\n1}']),
        (b'data: {"a":1}', ['{"a":1}']),
        ('data: "a\u2028b\u0085c"\n\n'.encode(), ['"a\u2028b\u0085c"']),
        (b"data:  two\n\n", [" two"]),
        (b"\n\n\n", []),
        (b"", []),
    ],
)
def test_server_sent_events(raw: bytes, expected: list[str]) -> None:
    assert list(server_sent_events([raw])) == expected
    for size in (1, 2, 3, 5):
        cut = [raw[i : i + size] for i in range(0, len(raw), size)]
        assert list(server_sent_events(cut)) == expected


def test_an_endless_line_is_refused() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * (1 << 20)

    with pytest.raises(BackendError, match="too long"):
        list(server_sent_events(endless()))


@pytest.mark.parametrize("header", ["2", "date"])
def test_retry_after(
    server: ScriptedServer, generator: OpenAIGenerator, prompt: Prompt, slept: list[float], header: str
) -> None:
    if header == "date":
        header = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=4), usegmt=True)
    server.replies = [Reply(429, headers={"Retry-After": header}), Reply(503), Reply(body=GOOD)]
    _, whole = run(generator, prompt)
    assert whole.text == "Hello world"
    assert 1.5 < slept[0] <= 4.0
    assert slept[1] == 1.0  # no header: the second step of the backoff


def test_a_long_retry_after_is_not_slept(
    server: ScriptedServer, generator: OpenAIGenerator, prompt: Prompt, slept: list[float]
) -> None:
    server.replies = [Reply(429, [b'{"error": {"message": "slow down"}}'], {"Retry-After": "3600"})]
    with pytest.raises(BackendError, match=r"too many requests, try again in 3600 s: slow down"):
        run(generator, prompt)
    assert slept == []


def test_retries_are_bounded(
    server: ScriptedServer, generator: OpenAIGenerator, prompt: Prompt, slept: list[float]
) -> None:
    server.replies = [Reply(500, [b"boom"])] * 3
    with pytest.raises(BackendError, match="answered 500: boom"):
        run(generator, prompt)
    assert slept == [0.5, 1.0]
    assert server.replies == []


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(401, [b'{"error": {"message": "bad key ' + KEY.encode() + b'"}}']), r"OPENAI_API_KEY.*bad key \[key\]"),
        (Reply(403), "refused; check OPENAI_API_KEY"),
        (Reply(404, [b'{"error": "model not found"}']), "no model 'm'.*model not found"),
        (Reply(400, [b'{"error": {"message": "' + b"x" * 900 + b'"}}']), "answered 400: x{299}…$"),
        (Reply(422, [b'{"detail": "nope"}']), "answered 422: .*nope"),
        (Reply(302, headers={"Location": "http://elsewhere.invalid/"}), "redirect"),
        (Reply(body=[b"data: {not json\n\n"]), "not JSON"),
        (Reply(body=[b"data: [1, 2]\n\n"]), "object was expected"),
        (Reply(body=[b'data: {"error": {"message": "out of memory"}}\n\n']), "failed while answering: out of memory"),
        (Reply(body=[event("Hello")]), "ended the stream before"),
        (Reply(body=[]), "ended the stream before"),
        (Reply(body=[b"<html>welcome</html>"]), "ended the stream before"),
        (Reply(body=[event("Hello")], headers={"Content-Length": "9999"}), "broke"),
        (Reply(body=[b"{}"], headers={"Content-Type": "application/json"}), "without choices"),
    ],
)
def test_failures_are_named_and_not_retried(
    server: ScriptedServer, generator: OpenAIGenerator, prompt: Prompt, slept: list[float], reply: Reply, message: str
) -> None:
    server.replies = [reply]
    with pytest.raises(BackendError, match=message) as caught:
        run(generator, prompt)
    assert KEY not in str(caught.value)
    assert slept == []
    assert server.replies == []


def test_missing_key_is_said(server: ScriptedServer, prompt: Prompt) -> None:
    server.replies = [Reply(401)]
    generator = OpenAIGenerator("m", server.url, api_key_variable="MY_KEY")
    with pytest.raises(BackendError, match="no API key was given; check MY_KEY"):
        run(generator, prompt)


def test_nothing_is_retried_after_the_first_token(
    server: ScriptedServer, generator: OpenAIGenerator, prompt: Prompt
) -> None:
    server.replies = [Reply(body=[event("Hello"), b'data: {"error": "overloaded"}\n\n']), Reply(body=GOOD)]
    stream = generator.stream(prompt)
    assert next(stream) == Token("Hello")
    with pytest.raises(BackendError, match="overloaded"):
        next(stream)
    assert len(server.requests) == 1


def test_connection_refused(prompt: Prompt, slept: list[float]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    generator = OpenAIGenerator("m", url, sleep=slept.append)
    with pytest.raises(
        BackendError, match=r"cannot connect to openai:m at http://127\.0\.0\.1:.*check that the server"
    ):
        run(generator, prompt)
    assert slept == [0.5, 1.0]


def test_silence_times_out(server: ScriptedServer, prompt: Prompt) -> None:
    hold = threading.Event()
    server.replies = [Reply(body=[event("Hello"), DONE], wait=hold)]
    generator = OpenAIGenerator("m", server.url, read_timeout=0.2)
    with pytest.raises(BackendError, match=r"sent nothing for 0\.2 s"):
        run(generator, prompt)
    hold.set()


def test_the_whole_answer_has_a_deadline(server: ScriptedServer, prompt: Prompt) -> None:
    server.replies = [Reply(body=[event("x")] * 3, wait=(hold := threading.Event()))]
    generator = OpenAIGenerator("m", server.url, timeout=0.3)
    stream = generator.stream(prompt)
    next(stream)
    threading.Timer(0.1, hold.set).start()
    threading.Event().wait(0.4)
    with pytest.raises(BackendError, match=r"did not finish within 0\.3 s|sent nothing"):
        list(stream)


def test_closing_the_stream_closes_the_connection(
    server: ScriptedServer, generator: OpenAIGenerator, prompt: Prompt
) -> None:
    hold = threading.Event()
    server.replies = [Reply(body=[event("Hello"), *[event("x" * 65536)] * 200, DONE])]
    stream = generator.stream(prompt)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert server.done.wait(5)
    assert server.broken_pipes == 1
    hold.set()


def test_a_whole_answer_where_a_stream_was_asked_for(
    server: ScriptedServer, generator: OpenAIGenerator, prompt: Prompt
) -> None:
    body = json.dumps({"choices": [{"message": {"content": "Hello"}, "finish_reason": "length"}]}).encode()
    server.replies = [Reply(body=[body], headers={"Content-Type": "application/json; charset=utf-8"})]
    tokens, whole = run(generator, prompt)
    assert tokens == [Token("Hello")]
    assert whole.finish_reason == "length"


@pytest.mark.parametrize(
    ("error", "gone", "added"),
    [
        (
            {"message": "Use 'max_completion_tokens' instead.", "param": "max_tokens"},
            "max_tokens",
            "max_completion_tokens",
        ),
        ({"message": "unknown", "param": "stream_options"}, "stream_options", None),
        ({"message": "'temperature' does not support 0.0 with this model"}, "temperature", None),
    ],
)
def test_rejected_parameters_are_left_out(
    server: ScriptedServer,
    generator: OpenAIGenerator,
    prompt: Prompt,
    error: dict[str, str],
    gone: str,
    added: str | None,
) -> None:
    server.replies = [Reply(400, [json.dumps({"error": error}).encode()]), Reply(body=GOOD)]
    _, whole = run(generator, prompt)
    assert whole.text == "Hello world"
    assert gone in server.requests[0]
    assert gone not in server.requests[1]
    assert added is None or server.requests[1][added] == generator.max_tokens


def test_any_messages_are_completed_whole_and_no_longer_than_wanted(
    server: ScriptedServer, generator: OpenAIGenerator
) -> None:
    assert isinstance(generator, ChatModel)
    messages = [Message("system", "Be brief."), Message("user", "Hello?")]
    for wanted, sent in ((7, 7), (10**6, generator.max_tokens), (None, generator.max_tokens)):
        server.replies = [Reply(body=GOOD)]
        assert generator.complete(messages, max_tokens=wanted).text == "Hello world"
        assert server.requests[-1]["max_tokens"] == sent
        assert [each["content"] for each in server.requests[-1]["messages"]] == ["Be brief.", "Hello?"]
    server.replies = [Reply(401, [b"{}"])]
    with pytest.raises(BackendError):
        generator.complete(messages)


def test_the_key_is_shown_nowhere(
    server: ScriptedServer, generator: OpenAIGenerator, prompt: Prompt, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.replies = [Reply(400, [b'{"error": {"message": "\'temperature\' no"}}']), Reply(body=GOOD)]
    run(generator, prompt)
    assert KEY not in repr(generator)
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    "url", ["localhost:11434", "ftp://x/v1", "http://", "http://u:p@host/v1", "http://h/v1?k=1", ""]
)
def test_bad_addresses(url: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        OpenAIGenerator("m", url)


def test_bad_keys_are_refused_without_showing_them() -> None:
    for key in ("sk-\nx", "sk-é"):
        with pytest.raises(ConfigError) as caught:
            OpenAIGenerator("m", "http://h/v1", api_key=key)
        assert "sk-" not in str(caught.value)


def test_a_prompt_without_messages(prompt: Prompt) -> None:
    with pytest.raises(InputError, match="messages"):
        run(OpenAIGenerator("m", "http://127.0.0.1:9/v1"), Prompt("q", prompt.passages))


def test_unused_it_neither_imports_a_client_nor_connects() -> None:
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise SystemExit('connected')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from pincite.generators.openai import OpenAIGenerator\n"
        "g = OpenAIGenerator('m', 'http://example.invalid/v1', api_key='k'); repr(g); g.name\n"
        "assert 'httpx' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
