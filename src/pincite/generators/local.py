"""A small language model that runs in the process: llama.cpp through xllamacpp, Gemma 3 270M by default.

A base model of this size follows no instructions, so it is not given any: it continues a text of worked examples, one
passage at a time, and the best of these readings is the answer. Measurements behind the numbers here are in
``docs/decisions/0004-generators.md``; ``benchmarks/local_generator.py`` repeats them.
"""

from __future__ import annotations

import codecs
import math
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pincite.errors import BackendError, ConfigError, InputError, MissingExtraError
from pincite.generators import gemma
from pincite.generators.few_shot import (
    EXAMPLES,
    NOT_STATED,
    Example,
    FewShotFrame,
    cut,
    flatten,
    is_answer,
    reading_window,
    support,
)
from pincite.types import Generation, Prompt, Token
from pincite.words import all_words, content_words, overlap

__all__ = ["EXAMPLES", "NOT_STATED", "Example", "LocalGenerator", "Reading", "choose"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model answered from one passage alone."""

    passage: int  #: index into the passages given
    text: str  #: exactly the tokens' texts joined
    tokens: tuple[Token, ...]
    finish_reason: str
    support: float  #: share of the answer's words that stand in what was read of the passage, in [0, 1]
    overlap: float  #: share of the question's content words that stand there, in [0, 1]
    abstain_logprob: float = (
        -math.inf
    )  #: of an answer that begins as `NOT_STATED` does; -inf where not among the likely
    prompt_tokens: int = 0
    cached_tokens: int = 0  #: of the prompt, those that were not computed again

    @property
    def mean_logprob(self) -> float:
        """Mean natural log-probability of the answer's tokens; minus infinity where there are none."""
        known = [token.logprob for token in self.tokens if token.logprob is not None]
        return sum(known) / len(known) if known else -math.inf

    def score(self, *, rank_weight: float = 1.0, overlap_weight: float = 2.0) -> float:
        """``mean_logprob - rank_weight · ln(rank) + overlap_weight · overlap``, rank being the passage's, from 1."""
        return self.mean_logprob - rank_weight * math.log(self.passage + 1) + overlap_weight * self.overlap


def choose(question: str, readings: Sequence[Reading], *, least_support: float = 0.5) -> list[Reading]:
    """The readings that answer `question`, best first by `Reading.score`; ties go to the earlier passage.

    Left out are readings that are no answers (`pincite.generators.few_shot.is_answer`), and those of whose words less
    than `least_support` stand in their passage: they were not read there.
    """
    kept = [r for r in readings if is_answer(question, r.text) and r.support >= least_support]
    return sorted(kept, key=lambda reading: -reading.score())


#: Added to a token's logit, so that it is chosen: over all others; over those that a grammar admits as well.
_FORCE, _FAVOUR = 1000.0, 100.0


class LocalGenerator:
    """Reads the first passages one by one with a language model in this process and gives the best answer.

    Parameters
        model_path: a GGUF file; without one, the packaged Gemma 3 270M (Gemma's terms of use apply to it).
        cache_dir: where the packaged weights are put together; see `pincite.generators.gemma.locate`.
        n_ctx: context of the model in tokens: examples, passage, question and answer.
        threads: of the computation. Without a number all cores but one, at least one and at most eight: llama.cpp's
            threads wait for each other in a spin, so one core that is busy elsewhere slows all of them many times
            over (two threads on two busy cores: 0.1 to 2 s a token; one thread: 0.05 s).
        max_tokens: of an answer.
        n_passages: how many passages are read, from the first.
        window_tokens: how much of a passage is read: the run of sentences of about that many tokens that shares most
            words with the question. Reading is nearly all of the time that an answer takes.
        examples: worked examples, for other languages or other kinds of question.

    The weights are loaded at the first question (or by `load`), once, and kept until `close`. Any thread may ask;
    questions are answered one after another. The same prompt gives the same text and log-probabilities whatever was
    asked before. Do not fork after loading.

    llama.cpp's server comes with a listener that cannot be switched off. Where the system has Unix sockets it is
    given one in a private directory that is deleted once it stands, so there is neither a port nor a path to reach
    it by; elsewhere it listens on the loopback address, on a free port, behind a random key.
    """

    cites = False

    def __init__(
        self,
        model_path: str | Path | None = None,
        *,
        cache_dir: str | Path | None = None,
        n_ctx: int = 2048,
        threads: int | None = None,
        max_tokens: int = 64,
        n_passages: int = 3,
        window_tokens: int = 96,
        examples: Sequence[Example] = EXAMPLES,
    ) -> None:
        self.model_path = model_path
        self.cache_dir = cache_dir
        self.n_ctx = n_ctx
        self.threads = threads
        self.max_tokens = max_tokens
        self.n_passages = n_passages
        self.window_tokens = window_tokens
        self.examples = tuple(examples)
        self._frame = FewShotFrame(self.examples, window_tokens)
        self._lock = threading.Lock()
        self._server: Any = None
        self._primed = False
        self._cutting: tuple[str, list[int]] = ("", [])

    @property
    def name(self) -> str:
        """``local:gemma-3-270m``, or ``local:`` and the name of the file."""
        return "local:gemma-3-270m" if self.model_path is None else f"local:{Path(self.model_path).stem}"

    def check(self) -> None:
        """Raise MissingExtraError or ConfigError for what can be known to be missing without loading anything."""
        if find_spec("xllamacpp") is None:
            raise MissingExtraError("The local language model", "local")
        if self.model_path is None:
            gemma.check(None if self.cache_dir is None else Path(self.cache_dir))
        elif not Path(self.model_path).is_file():
            raise ConfigError(f"model_path {str(self.model_path)!r} is not a file; it must name a model in GGUF format")

    def load(self) -> None:
        """Load the weights now. Raises MissingExtraError, ConfigError (no such file) or BackendError."""
        with self._lock:
            self._loaded()

    def close(self) -> None:
        """Free the model. A later question loads it again. Idempotent."""
        with self._lock:
            self._server = None

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        """The tokens of the chosen reading, known only once every passage is read, then the whole.

        `Generation.sources` is the chosen passage, then those whose readings say the same. Empty text with finish
        reason ``no-answer`` where there is no passage (the model is not loaded then) or no reading is an answer.
        Raises BackendError if the model fails or the question does not fit its context, MissingExtraError if the
        extra ``local`` is not installed.
        """
        readings = self.read(prompt.question, [passage.chunk.text for passage in prompt.passages])
        answers = choose(prompt.question, readings)
        usage = {
            "prompt_tokens": sum(reading.prompt_tokens for reading in readings),
            "cached_tokens": sum(reading.cached_tokens for reading in readings),
            "completion_tokens": sum(len(reading.tokens) for reading in readings),
        }
        if not answers:
            yield Generation("", finish_reason="no-answer", usage=usage, model=self.name)
            return
        best = answers[0]
        yield from best.tokens
        yield Generation(
            text=best.text,
            tokens=best.tokens,
            finish_reason=best.finish_reason,
            usage=usage,
            model=self.name,
            sources=tuple(r.passage for r in answers if r is best or all_words(r.text) == all_words(best.text)),
        )

    def read(self, question: str, texts: Sequence[str]) -> list[Reading]:
        """One reading of each of the first `n_passages` texts that is not blank, in the order given."""
        asked = flatten(question)
        readings = []
        for index, text in enumerate(texts[: self.n_passages]):
            if window := reading_window(question, text, self.window_tokens):
                reading = self._read(asked, window)
                readings.append(replace(reading, passage=index))
        return readings

    def continuation_logprobs(self, context: str, continuation: str) -> list[float]:
        """Natural log-probabilities of the tokens of `continuation` after `context`, which is read as it stands.

        They come from the model's full softmax; their sum is the log-probability of the continuation in one cutting
        into tokens, the same after every context: the tokenizer's own but for rare words. The same two texts give the
        same numbers. Takes as long as generating the continuation. Raises InputError for an empty continuation,
        BackendError if the model fails or both do not fit its context, MissingExtraError if the extra ``local`` is not
        installed.
        """
        if not continuation:
            raise InputError("there is nothing to score: the continuation is empty")
        logprobs: list[float] = []
        with self._lock:
            server = self._loaded(primed=False)
            self._primed = False  # the examples make way for this text
            ids = self._token_ids(server, continuation)
            for position, token in enumerate(ids):
                # One step, biased to the token that is to come; the log-probability reported is that before the bias.
                # The first step computes the whole context anew: what was asked before must not change last digits.
                body = {
                    "prompt": [context, *ids[:position]] if position else context,
                    "max_tokens": 1,
                    "logprobs": 1,
                    "logit_bias": [[token, _FORCE]],
                    "cache_prompt": position > 0,
                }
                step = _complete(server, body)["choices"][0]["logprobs"]["content"][0]
                if step["id"] != token:
                    raise BackendError(f"the local model wrote token {step['id']} where {token} was to be scored")
                logprobs.append(float(step["logprob"]))
        return logprobs

    def _token_ids(self, server: Any, text: str) -> list[int]:
        """The tokens of `text`, found by making the model write it. The caller holds the lock."""
        if self._cutting[0] == text:
            return self._cutting[1]
        # A grammar admits nothing else. Of the ways to cut the text the tokenizer's own is wanted, so the tokens of
        # its words are favoured, of those that begin with a letter with the space before. Before "1871" the space is a
        # token of its own: favoured, it would begin every word.
        words = sorted({f" {word}" if word[0].isascii() and word[0].isalpha() else word for word in text.split()})
        wanted = text.encode("utf-8", "replace")
        reply = _complete(
            server,
            {
                "prompt": "\n",
                "max_tokens": len(wanted) + 1,
                "logprobs": 1,
                "grammar": f"root ::= {_literal(text)}",
                "logit_bias": [[word, _FAVOUR] for word in words],
                "cache_prompt": False,
            },
        )
        written, ids = b"", []
        for item in reply["choices"][0]["logprobs"]["content"]:
            if len(written) < len(wanted):
                written += bytes(item["bytes"])
                ids.append(int(item["id"]))
        if written != wanted:
            raise BackendError(f"the local model cannot write {text[:80]!r}: it got to byte {len(written)}")
        self._cutting = (text, ids)
        return ids

    def _read(self, question: str, window: str) -> Reading:
        prefix = self._frame.opening
        with self._lock:
            server = self._loaded()
            # What is left of the last prompt beyond the examples is forgotten first. Otherwise a passage that begins
            # like the last one is computed in a batch of another size, and its last digits depend on what came before.
            _complete(server, {"prompt": prefix, "max_tokens": 1})
            while (reply := _complete_within(server, self._body(prefix, window, question), self.n_ctx)) is None:
                # The estimate was too low for this text: less of it, until the model's own count fits.
                window = cut(window, 0.8)
                if not window:
                    raise BackendError(
                        f"the question does not fit the local model's context of {self.n_ctx} tokens; "
                        "ask a shorter one or raise n_ctx"
                    )
        return _reading(reply, question, window)

    def _body(self, prefix: str, window: str, question: str) -> dict[str, Any]:
        return {
            "prompt": f"{prefix} {window}\nQuestion: {question}\nAnswer:",
            "max_tokens": self.max_tokens,
            "stop": ["\n"],
            "logprobs": 10,
        }

    def _loaded(self, *, primed: bool = True) -> Any:
        """The running model, with the examples computed if `primed`. The caller holds the lock."""
        if self._server is None:
            self._server = self._start()
            self._primed = False
        if primed and not self._primed:
            # Computes the examples once. The second request computes their last token as every later one will; the
            # first uses nothing of what was read before, whose end might be computed otherwise.
            for cached in (False, True):
                _complete(self._server, {"prompt": self._frame.opening, "max_tokens": 1, "cache_prompt": cached})
            self._primed = True
        return self._server

    def _start(self) -> Any:
        try:
            import xllamacpp
        except ImportError as error:
            raise MissingExtraError("The local language model", "local") from error
        if self.model_path is None:
            path = gemma.locate(None if self.cache_dir is None else Path(self.cache_dir))
        else:
            path = Path(self.model_path)
            if not path.is_file():
                raise ConfigError(f"model_path {str(path)!r} is not a file; it must name a model in GGUF format")
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = self.n_ctx
        params.n_parallel = 1
        params.n_gpu_layers = 0
        params.swa_full = True  # without it the layers of sliding attention cannot go back to the examples
        params.cache_ram_mib = 0  # otherwise up to 8 GB of old prompts are kept
        params.fit_params = False
        params.warmup = False
        params.verbosity = -1
        for cpu in (params.cpuparams, params.cpuparams_batch):
            cpu.n_threads = self.threads or max(1, min(8, _cores() - 1))
        params.ui = False
        params.endpoint_props = False
        params.endpoint_slots = False
        params.n_threads_http = 1
        params.api_keys = [secrets.token_hex(32)]
        directory = tempfile.mkdtemp(prefix="pincite-")  # only this user may enter it
        try:
            socket_path = str(Path(directory, "llama.sock"))
            unix = os.name == "posix" and len(os.fsencode(socket_path)) < 100  # the system's limit is 104 or 108
            params.hostnames = [socket_path if unix else "127.0.0.1"]
            params.port = 0
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise BackendError(f"llama.cpp cannot load {path}: {error}; is it a model in GGUF format?") from error
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def _literal(text: str) -> str:
    """`text` as a literal of llama.cpp's grammars."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _complete(server: Any, body: dict[str, Any]) -> dict[str, Any]:
    """The reply to a greedy completion. Raises BackendError for everything that goes wrong."""
    reply: dict[str, Any] = server.handle_completions({"temperature": 0.0, "cache_prompt": True, **body})
    if error := reply.get("error"):
        raise BackendError(f"the local model failed: {error.get('message', error)}")
    return reply


def _complete_within(server: Any, body: dict[str, Any], n_ctx: int) -> dict[str, Any] | None:
    """The reply; None where the prompt leaves no room for an answer within `n_ctx` tokens."""
    reply: dict[str, Any] = server.handle_completions({"temperature": 0.0, "cache_prompt": True, **body})
    if error := reply.get("error"):
        if error.get("type") == "exceed_context_size_error":
            return None
        raise BackendError(f"the local model failed: {error.get('message', error)}")
    full = int(reply["usage"]["prompt_tokens"]) + int(body["max_tokens"]) > n_ctx
    if full and reply["choices"][0]["finish_reason"] == "length":
        return None  # cut off by the end of the context, not by max_tokens
    return reply


def _reading(reply: dict[str, Any], question: str, window: str) -> Reading:
    choice = reply["choices"][0]
    content = (choice.get("logprobs") or {}).get("content") or []
    first = content[0].get("top_logprobs", []) if content else []
    opening = f" {NOT_STATED.split()[0]}"
    tokens = _tokens(content)
    text = "".join(token.text for token in tokens)
    return Reading(
        passage=0,
        text=text,
        tokens=tokens,
        finish_reason=str(choice["finish_reason"]),
        support=support(text, window),
        overlap=overlap(content_words(question), set(all_words(window))),
        abstain_logprob=max((t["logprob"] for t in first if t["token"] == opening), default=-math.inf),
        prompt_tokens=int(reply["usage"]["prompt_tokens"]),
        cached_tokens=int(reply["timings"]["cache_n"]),
    )


def _tokens(content: Sequence[dict[str, Any]]) -> tuple[Token, ...]:
    """Tokens with whole characters and without white space around the answer.

    A token that ends inside a character is joined to the next, and one of white space before the answer too: their
    log-probabilities add up, so the sum over the answer is unchanged.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    tokens: list[Token] = []
    carried = 0.0
    for i, item in enumerate(content):
        text = decoder.decode(bytes(item["bytes"]), final=i == len(content) - 1)
        carried += float(item["logprob"])
        if not tokens:
            text = text.lstrip()
        if text:
            tokens.append(Token(text, carried))
            carried = 0.0
    while tokens and tokens[-1].text != tokens[-1].text.rstrip():
        last = tokens.pop()
        if kept := last.text.rstrip():
            tokens.append(Token(kept, last.logprob))
            break
    return tuple(tokens)
