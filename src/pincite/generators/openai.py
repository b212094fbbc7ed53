"""Any model behind an endpoint that speaks the OpenAI chat protocol: OpenAI, vLLM, Ollama, llama.cpp's server …"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pincite.errors import BackendError, ConfigError, InputError
from pincite.http_endpoint import HttpEndpoint, Problem, parse_object, server_message
from pincite.types import Generation, Message, Prompt, Token

if TYPE_CHECKING:
    import httpx

__all__ = ["OpenAIGenerator", "server_sent_events"]

_LOG = logging.getLogger(__name__)
_LINE_LIMIT = 1 << 20  #: bytes of one line of a stream; more is not an answer
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a final "\r" may be half of "\r\n"
_OPTIONAL = ("logprobs", "stream_options", "temperature")

_ECHO = (
    "scoring a given text needs an endpoint whose /completions takes echo with logprobs, as vLLM's does; "
    "a chat endpoint has no such thing"
)


class OpenAIGenerator:
    """Streams answers from ``POST {base_url}/chat/completions``.

    Parameters
        model: the name the endpoint knows it by.
        base_url: up to and including the version, ``http://localhost:11434/v1``. Must not carry credentials.
        api_key: sent as a bearer token, and shown nowhere: not in ``repr``, errors or logs.
        provider: first half of `name`.
        api_key_variable: the environment variable that error messages tell the user to look at. It is not read here.
        timeout: seconds for the whole answer, waits between attempts included.
        connect_timeout, read_timeout: seconds to connect, and of silence before giving up.
        max_retries: further attempts after a failed connection or status 429, 500, 502, 503 or 504. Once a token has
            been handed on nothing is tried again.
        max_wait: the longest pause before an attempt, in seconds. A server that asks for more (``Retry-After``) is
            taken at its word: the call fails at once and says how long.
        logprobs: ask for log-probabilities.
        sleep: replaces `time.sleep` in tests.

    A parameter that the endpoint rejects by name (``max_tokens`` on newer models, ``stream_options`` on older
    servers) is replaced or left out, and the request sent again. Redirects are not followed, so the key goes to
    no other host. Proxies named by the environment are used, as httpx does. Nothing is contacted before `stream` is
    iterated; closing the iterator closes the connection.
    """

    cites = True

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        api_key: str | None = None,
        provider: str = "openai",
        api_key_variable: str = "OPENAI_API_KEY",
        timeout: float = 120.0,
        connect_timeout: float = 10.0,
        read_timeout: float = 60.0,
        max_tokens: int = 512,
        temperature: float = 0.0,
        max_retries: int = 2,
        max_wait: float = 20.0,
        logprobs: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model = model
        self.base_url = base_url
        self.provider = provider
        self.api_key_variable = api_key_variable
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.read_timeout = read_timeout
        self.max_tokens = max_tokens
        self.temperature = temperature
        self.max_retries = max_retries
        self.max_wait = max_wait
        self.logprobs = logprobs
        self._http = HttpEndpoint(
            self.name,
            model,
            base_url,
            api_key=api_key,
            api_key_variable=api_key_variable,
            timeout=timeout,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            max_retries=max_retries,
            max_wait=max_wait,
            sleep=sleep,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {self.base_url!r}, provider={self.provider!r})"

    @property
    def name(self) -> str:
        """``openai:MODEL``, or with another provider's name."""
        return f"{self.provider}:{self.model}"

    def close(self) -> None:
        """Nothing is held between answers."""

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        """Tokens as the endpoint sends them, then the whole.

        A prompt without passages is answered with empty text and finish reason ``no-answer``, without a request.
        The finish reason is otherwise the endpoint's own. Raises InputError for a prompt without messages and
        BackendError for every failure of the endpoint; tokens handed on before a failure are not an answer.
        """
        if not prompt.passages:
            yield Generation("", finish_reason="no-answer", model=self.name)
            return
        if not prompt.messages:
            raise InputError("a chat model needs a prompt with messages; this one has none")
        yield from self._attempts(self._payload(prompt.messages))

    def complete(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Generation:
        """What the endpoint writes after any messages, whole. Raises BackendError for every failure of the endpoint."""
        payload = self._payload(messages)
        if max_tokens is not None:
            payload["max_tokens"] = min(max_tokens, self.max_tokens)
        generation = Generation("", model=self.name)
        for item in self._attempts(payload):
            if isinstance(item, Generation):
                generation = item
        return generation

    def continuation_logprobs(self, context: str, continuation: str) -> list[float]:
        """Natural log-probabilities of the tokens of `continuation` after `context`, from ``POST …/completions``.

        The endpoint must give back the prompt with its log-probabilities (``echo`` with ``logprobs``), as vLLM does; a
        token belongs to the continuation if it begins there. Raises InputError for an empty continuation, and
        BackendError for every failure of the endpoint and for one that does not do this.
        """
        if not continuation:
            raise InputError("there is nothing to score: the continuation is empty")
        text = context + continuation
        body = {
            "model": self.model,
            "prompt": text,
            "max_tokens": 1,
            "temperature": 0.0,
            "echo": True,
            "logprobs": 1,
        }
        with self._http.client() as client:
            reply = self._http.post(self._http.url("completions"), body, client=client)
        if isinstance(reply, Problem):
            if reply.status in (400, 404, 405, 422, 501):
                raise BackendError(f"{reply.error}; {_ECHO}")
            raise reply.error
        choices = reply.get("choices")
        listed = choices[0].get("logprobs") if isinstance(choices, list) and choices else None
        scored = _prompt_logprobs(listed, len(context), len(text)) if isinstance(listed, dict) else []
        if not scored:
            raise BackendError(f"{self.name} at {self.base_url} gave no log-probabilities of the prompt; {_ECHO}")
        return scored

    def _payload(self, messages: Sequence[Message]) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.logprobs:
            payload["logprobs"] = True
        return payload

    def _attempts(self, payload: dict[str, Any]) -> Iterator[Token | Generation]:
        import httpx

        http = self._http
        deadline = time.monotonic() + self.timeout
        attempt = 0
        # One client per answer: its connection lives exactly as long as the iterator.
        with http.client(Accept="text/event-stream") as client:
            while True:
                begun = False
                try:
                    with client.stream("POST", http.url("chat/completions"), json=payload) as response:
                        if response.status_code == 200:
                            for item in self._read(response, deadline):
                                begun = True
                                yield item
                            return
                        problem = http.problem(response, deadline)
                except httpx.HTTPError as error:
                    failure = http.transport_error(error)
                    if begun or not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
                        raise failure from error
                    problem = Problem(failure)
                except httpx.InvalidURL as error:
                    raise ConfigError(f"base_url is not a valid address: {error}") from error
                if (adapted := _adapt(payload, problem)) is not None:
                    _LOG.info("%s rejected a parameter; sending %s", self.name, ", ".join(sorted(adapted)))
                    payload = adapted
                    continue
                if not http.pause(problem, attempt, deadline):
                    raise problem.error
                attempt += 1

    def _read(self, response: httpx.Response, deadline: float) -> Iterator[Token | Generation]:
        if response.headers.get("content-type", "").startswith("application/json"):
            # Some servers ignore "stream" and send the answer whole.
            body = parse_object(self._http.body(response, deadline).decode("utf-8", "replace"), self.name)
            answer = _Answer()
            yield from answer.add(body, self)
            if not answer.finish_reason:
                raise BackendError(f"{self.name} sent an answer without choices")
            yield answer.generation(self)
            return
        answer = _Answer()
        done = False
        for data in server_sent_events(self._http.chunks(response, deadline)):
            if data.strip() == "[DONE]":
                done = True
                break
            yield from answer.add(parse_object(data, self.name), self)
        if not (done or answer.finish_reason):
            raise BackendError(
                f"{self.name} ended the stream before its answer was finished ({len(answer.tokens)} pieces received); "
                "try again, or look at the server's log"
            )
        yield answer.generation(self)


@dataclass(slots=True)
class _Answer:
    """Gathers the chunks of one answer."""

    tokens: list[Token] = field(default_factory=list)
    finish_reason: str = ""
    usage: dict[str, int] = field(default_factory=dict)

    def add(self, chunk: Mapping[str, Any], owner: OpenAIGenerator) -> Iterator[Token]:
        """Take in one chunk (or a whole answer) and give the tokens it adds."""
        if chunk.get("error"):
            message, _ = server_message(json.dumps(chunk))
            raise BackendError(f"{owner.name} failed while answering: {owner._http.shown(message)}")
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self.usage = {k: v for k, v in usage.items() if isinstance(v, int) and not isinstance(v, bool)}
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return  # a chunk of usage alone has none
        choice = choices[0]
        if isinstance(reason := choice.get("finish_reason"), str):
            self.finish_reason = reason
        part = choice.get("delta") or choice.get("message") or {}
        content = part.get("content") if isinstance(part, dict) else None
        if not isinstance(content, str) or not content:
            return
        for token in _tokens(content, choice.get("logprobs")):
            self.tokens.append(token)
            yield token

    def generation(self, owner: OpenAIGenerator) -> Generation:
        return Generation(
            text="".join(token.text for token in self.tokens),
            tokens=tuple(self.tokens),
            finish_reason=self.finish_reason or "stop",
            usage=self.usage,
            model=owner.name,
        )


def _tokens(content: str, logprobs: object) -> list[Token]:
    """The tokens of `content` with their log-probabilities where those tell the same text, else one token."""
    listed = logprobs.get("content") if isinstance(logprobs, dict) else None
    if isinstance(listed, list):
        try:
            tokens = [Token(str(item["token"]), float(item["logprob"])) for item in listed]
        except (KeyError, TypeError, ValueError):
            tokens = []
        if "".join(token.text for token in tokens) == content:
            return tokens
    return [Token(content)]


def _prompt_logprobs(listed: Mapping[str, Any], start: int, end: int) -> list[float]:
    """The log-probabilities of the tokens that begin within [start, end); none where they are not all there."""
    tokens, values, offsets = (listed.get(key) for key in ("tokens", "token_logprobs", "text_offset"))
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return []
    if not isinstance(offsets, list) or len(offsets) != len(tokens):
        offsets, position = [], 0
        for token in tokens:
            offsets.append(position)
            position += len(str(token))
    chosen = [value for offset, value in zip(offsets, values, strict=True) if start <= offset < end]
    return [float(value) for value in chosen] if all(isinstance(value, (int, float)) for value in chosen) else []


def server_sent_events(chunks: Iterable[bytes]) -> Iterator[str]:
    """The data of each event of a stream, whatever way the network has cut it.

    Lines end in LF, CRLF or CR; bytes are decoded per line, so that no character is split. Comments and other fields
    are passed over. A missing blank line at the end, or none between events of one line each, is forgiven.
    Raises BackendError for a line of more than 1 MiB.
    """
    pending: list[str] = []
    held: list[bytes] = []  # pieces of a line whose end has not come yet
    size = 0
    for chunk in chunks:
        ended = b"\n" in chunk or b"\r" in chunk or (held and held[-1].endswith(b"\r"))
        held.append(chunk)
        size += len(chunk)
        if ended:
            *lines, rest = _LINE_END.split(b"".join(held))
            held, size = [rest], len(rest)
            for line in lines:
                yield from _feed(line, pending)
        if size > _LINE_LIMIT:
            raise BackendError("the endpoint sent a line too long to be an answer; check base_url")
    for line in (b"".join(held).rstrip(b"\r"), b""):
        yield from _feed(line, pending)


def _feed(line: bytes, pending: list[str]) -> Iterator[str]:
    if line.startswith(b"data:"):
        data = line[5:].decode("utf-8", "replace").removeprefix(" ")
        if pending and _complete(pending):
            yield "\n".join(pending)
            pending.clear()
        pending.append(data)
    elif not line and pending:
        yield "\n".join(pending)
        pending.clear()


def _complete(pending: list[str]) -> bool:
    try:
        json.loads("\n".join(pending))
    except ValueError:
        return False
    return True


def _adapt(payload: Mapping[str, Any], problem: Problem) -> dict[str, Any] | None:
    """The payload without the parameter that the endpoint rejected; None if that is not what went wrong."""
    if problem.status not in (400, 422):
        return None
    if "max_tokens" in payload and "max_completion_tokens" in problem.message:
        adapted = {key: value for key, value in payload.items() if key != "max_tokens"}
        return {**adapted, "max_completion_tokens": payload["max_tokens"]}
    for key in _OPTIONAL:
        if key in payload and (problem.parameter.split(".")[0] == key or f"'{key}'" in problem.message):
            return {k: v for k, v in payload.items() if k != key}
    return None
