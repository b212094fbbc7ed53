"""A toy endpoint: an HTTP server on the loopback address whose language model is a table of made-up probabilities.

It answers ``/v1/completions`` in the shape of llama.cpp's server or of vLLM, refuses what it is told to refuse, and
writes down what it was asked. The probabilities depend on the bytes of the prompt alone.
"""

from __future__ import annotations

import functools
import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import numpy as np

__all__ = ["BOS", "ToyEndpoint", "shared"]

EOS, BOS = 0, 1
WORDS = ["the", " the", " in", " tenant", " lease", "\n", "\n\n", "\n ", " \n", " 1871", "é"]
LETTERS = [chr(code) for code in range(32, 127)]
_BYTES = [bytes([code]) for code in range(128, 256)]  #: pieces of characters
_LIMITS = "Requested sample logprobs of {asked}, which is greater than max allowed: {limit}"


class ToyEndpoint:
    """Parameters
    shape: whose answers it gives.
    pieces: whether characters that are no tokens are made of bytes; else those of `whole` are tokens.
    limit, refusal: the most log-probabilities it lists, and what it says to somebody who asks for more; without
        a text it lists fewer and says nothing.
    arrays: whether it takes several prompts; ``"one"`` answers only the first of them.
    echo: whether it echoes with log-probabilities.
    opens: whether a text begins with a token of its own.
    spaces: whether its tokenizer puts a space before every text, as sentencepiece does.
    longest: the most bytes of a prompt.
    """

    def __init__(
        self,
        shape: Literal["llama.cpp", "vllm"],
        *,
        pieces: bool = True,
        whole: str = "",
        limit: int | None = None,
        refusal: str = _LIMITS,
        arrays: bool | Literal["one", "list"] = True,
        echo: bool = True,
        opens: bool = True,
        spaces: bool = False,
        sharpness: float = 2.0,
        ending: float = 1.0,
        longest: int = 4000,
    ) -> None:
        self.shape = shape
        self.vocabulary = [b"", b"", *(w.encode() for w in [*WORDS, *LETTERS, *whole]), *(_BYTES if pieces else [])]
        self.eos_text = "</s>"
        self.limit, self.refusal, self.arrays, self.echo = limit, refusal, arrays, echo
        self.opens, self.spaces, self.longest = opens, spaces, longest
        self.sharpness, self.ending = sharpness, ending
        self.replies: list[tuple[int, Any] | None] = []  #: given before its own; None hangs up without a word
        self.headers: dict[str, str] = {}  #: sent with the next of `replies`
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.keys: list[str] = []
        self._favoured: dict[bytes, dict[int, float]] = {}
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # The headers and the body leave together: else each answer waits for an acknowledgement.
            wbufsize = -1

            def log_message(self, format: str, *args: Any) -> None: ...

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
                endpoint.asked.append((self.path, body))
                endpoint.keys.append(self.headers.get("Authorization", ""))
                scripted = endpoint.replies.pop(0) if endpoint.replies else endpoint.answer(self.path, body)
                if scripted is None:
                    self.close_connection = True
                    return
                status, reply = scripted
                data = json.dumps(reply).encode()
                self.send_response(status)
                for key, value in endpoint.headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def completions(self) -> list[dict[str, Any]]:
        """The bodies of the completions that were asked for."""
        return [body for path, body in self.asked if path == "/v1/completions"]

    def set(self, text: str | bytes, probabilities: Mapping[str | bytes, float]) -> None:
        """After `text` these tokens have these probabilities; the others share what they leave."""
        data = text.encode() if isinstance(text, str) else text
        chosen = {self.number(token): value for token, value in probabilities.items()}
        self._favoured[data] = chosen

    def number(self, token: str | bytes) -> int:
        if token == self.eos_text:
            return EOS
        return self.vocabulary.index(token.encode() if isinstance(token, str) else token, 2)

    def logprobs(self, data: str | bytes) -> np.ndarray:
        """Of every token after these bytes; what a test computes with."""
        data = data.encode() if isinstance(data, str) else data
        seed = int.from_bytes(hashlib.sha256(data).digest()[:8], "big")
        weights = np.exp(self.sharpness * np.random.default_rng(seed).standard_normal(len(self.vocabulary)))
        weights[BOS] = 1e-9
        weights[self.vocabulary.index(b"\n")] *= self.ending
        if chosen := self._favoured.get(data):
            others = [each for each in range(len(weights)) if each not in chosen]
            weights[others] *= (1 - sum(chosen.values())) / weights[others].sum()
            weights[list(chosen)] = list(chosen.values())
        return np.log(weights / weights.sum())

    def tokenize(self, text: str, first: bool) -> list[int]:
        data, ids = text.encode(), [BOS] if first and self.opens else []
        if self.spaces and data:
            data = b" " + data
        while data:
            found = max((v for v in self.vocabulary if v and data.startswith(v)), key=len)
            ids.append(self.vocabulary.index(found))
            data = data[len(found) :]
        return ids

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if path == "/tokenize" and self.shape == "llama.cpp":
            ids = self.tokenize(body["content"], body["add_special"])
            return 200, {"tokens": [{"id": each, "piece": self._piece(each)} for each in ids]}
        if path == "/props" and self.shape == "llama.cpp":
            return 200, {"total_slots": 4}
        if path != "/v1/completions":
            return 404, {"error": {"message": "no such path"}}
        asked, limit = body["logprobs"], self.limit
        if limit is not None and asked > limit and self.refusal:
            return 400, {"error": {"message": self.refusal.format(asked=asked, limit=limit)}}
        prompts = body["prompt"]
        many = isinstance(prompts, list) and not isinstance(prompts[0], int)
        if many and not self.arrays:
            return 400, {"error": {"message": "prompt must be a string"}}
        prompts = prompts if many else [prompts]
        if self.arrays == "one":
            prompts = prompts[:1]
        if any(len(self._data(prompt)) > self.longest for prompt in prompts):
            return 400, {"error": {"message": f"the maximum context length is {self.longest} tokens"}}
        count = min(asked, limit or asked, len(self.vocabulary))
        make = self._llama if self.shape == "llama.cpp" else self._vllm
        choices = [{"index": i, **make(prompt, count, body)} for i, prompt in enumerate(prompts)]
        if self.arrays == "list" and many:
            return 200, [{"choices": [each]} for each in choices]
        # The index says which answer is whose, not the order.
        return 200, {"choices": choices[::-1], "usage": {}}

    def _data(self, prompt: str | Sequence[int]) -> bytes:
        if isinstance(prompt, str):
            return prompt.encode()
        return b"".join(self.vocabulary[each] for each in prompt)

    def _piece(self, token: int) -> str | list[int]:
        try:
            return self.vocabulary[token].decode()
        except UnicodeDecodeError:
            return list(self.vocabulary[token])

    def _llama(self, prompt: str | Sequence[int], count: int, body: Mapping[str, Any]) -> dict[str, Any]:
        logprobs = self.logprobs(self._data(prompt))
        if "grammar" in body:
            found = [EOS, *(i for i, v in enumerate(self.vocabulary) if v.startswith(b"\n") and "n" in body["grammar"])]
            return {"text": "", "logprobs": {"content": [{"top_probs": [self._object(i, 0.1, "prob") for i in found]}]}}
        order = np.argsort(-logprobs, kind="stable")
        written = int(body["logit_bias"][0][0]) if body.get("logit_bias") else int(order[0])
        top = [self._object(int(i), float(logprobs[i])) for i in order[:count]]
        content = [{**self._object(written, float(logprobs[written])), "top_logprobs": top}]
        text = self.vocabulary[written].decode("utf-8", "replace")
        return {"text": text, "finish_reason": "length" if text else "stop", "logprobs": {"content": content}}

    def _object(self, token: int, value: float, key: str = "logprob") -> dict[str, Any]:
        data = self.vocabulary[token]
        return {"id": token, "token": data.decode("utf-8", "replace"), "bytes": list(data), key: value}

    def _text(self, token: int) -> str:
        return {EOS: self.eos_text, BOS: "<s>"}.get(token, self.vocabulary[token].decode("utf-8", "replace"))

    def _vllm(self, prompt: str, count: int, body: Mapping[str, Any]) -> dict[str, Any]:
        logprobs = self.logprobs(prompt)
        order = [int(i) for i in np.argsort(-logprobs, kind="stable")]
        tokens, values = [self._text(order[0])], [float(logprobs[order[0]])]
        tops = [{self._text(i): float(logprobs[i]) for i in order[:count]}]
        if body.get("echo"):
            if not self.echo:
                return {"text": "x", "logprobs": None}
            data, before = b"", []
            for token in self.tokenize(prompt, first=True):
                before.append((self._text(token), float(self.logprobs(data)[token]) if data else None))
                data += self.vocabulary[token]
            tokens, values = [*(t for t, _ in before), *tokens], [*(v for _, v in before), *values]
            tops = [None, *[{}] * (len(tokens) - 2), *tops]
        stopped = order[0] == EOS
        return {
            "text": "" if stopped else tokens[-1],
            "finish_reason": "stop" if stopped else "length",
            "logprobs": {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops, "text_offset": []},
        }


@functools.cache
def shared(shape: Literal["llama.cpp", "vllm"], whole: str = "") -> ToyEndpoint:
    """One for the whole run, never closed."""
    return ToyEndpoint(shape, pieces=shape == "llama.cpp", whole=whole, ending=300.0)
