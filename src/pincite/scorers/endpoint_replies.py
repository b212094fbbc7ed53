"""What endpoints answer to ``POST …/completions`` with ``logprobs``: two shapes, made one.

llama.cpp's server gives ``choices[i].logprobs.content[0].top_logprobs``, a list of objects with id, token, bytes and
logprob. vLLM and OpenAI give ``choices[i].logprobs`` with ``tokens``, ``token_logprobs`` and ``top_logprobs``, in
which texts are keys. Anything else is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pincite.errors import BackendError

__all__ = ["NEEDED", "Listed", "chosen", "echoed", "lists", "named_limit", "too_long"]

NEEDED = (
    "an endpoint that can be marginalized gives, for each prompt of POST …/completions with logprobs: N, the N "
    "likeliest next tokens with their log-probabilities, as llama.cpp's server and vLLM do; a chat endpoint has no "
    "such thing"
)

_NUMBERED = re.compile(r"token_id:\d+\Z")
_ESCAPED = re.compile(r"bytes:((?:\\x[0-9a-fA-F]{2})+)\Z")
_UNKNOWN = "\ufffd"


@dataclass(frozen=True, slots=True)
class Listed:
    """One token of a list."""

    data: bytes | None  #: the bytes of its text; None where the endpoint does not tell which they are
    logprob: float  #: natural, at most 0
    id: int | None = None  #: the endpoint's own number for it
    stops: bool = False  #: the endpoint ended its text with this token, so it is an end


def lists(reply: Mapping[str, Any], count: int, name: str) -> list[list[Listed]]:
    """The likeliest next tokens after each of `count` prompts, as the endpoint orders them.

    Raises BackendError where the reply does not hold them, saying what is needed.
    """
    found = [_list(choice, name) for choice in _choices(reply, count, name)]
    if not all(found):
        raise BackendError(f"{name} gave no log-probabilities of the next token; {NEEDED}")
    return found


def chosen(reply: Mapping[str, Any], count: int, name: str) -> list[tuple[int, float]]:
    """The number and the log-probability of the token written after each of `count` prompts, from llama.cpp's server.

    Raises BackendError where the reply does not hold them.
    """
    try:
        first = [choice["logprobs"]["content"][0] for choice in _choices(reply, count, name)]
        return [(int(each["id"]), _logprob(each["logprob"])) for each in first]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise BackendError(f"{name} gave log-probabilities in a shape that is not known; {NEEDED}") from error


def echoed(reply: Mapping[str, Any], count: int, name: str) -> list[list[tuple[str, float | None]]]:
    """The tokens of each of `count` echoed prompts with their log-probabilities; the one token written is left out.

    An empty list where the endpoint did not echo with log-probabilities.
    """
    found: list[list[tuple[str, float | None]]] = []
    for choice in _choices(reply, count, name):
        given = choice.get("logprobs")
        tokens, values = (given.get(key) if isinstance(given, dict) else None for key in ("tokens", "token_logprobs"))
        if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
            found.append([])
            continue
        pairs = zip(tokens[:-1], values[:-1], strict=True)
        found.append([(str(token), _number(value)) for token, value in pairs])
    return found


def named_limit(message: str, asked: int) -> int | None:
    """The most log-probabilities that a refusal of `asked` says may be asked for; None where it names no number."""
    named = [int(each) for each in re.findall(r"(?<![\w.-])\d{1,9}(?![\w-]|\.\d)", message)]
    return next((each for each in reversed(named) if 0 < each < asked), None)


def too_long(status: int, message: str) -> bool:
    """Whether a refusal says that a prompt does not fit the model's context."""
    words = message.lower()
    return status in (400, 413, 422) and "context" in words and bool(re.search(r"exceed|length|too long", words))


def _choices(reply: Mapping[str, Any], count: int, name: str) -> list[Mapping[str, Any]]:
    given = reply.get("choices")
    choices = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    if len(choices) != count:
        address = "does its address end in its version (…/v1)?"
        raise BackendError(f"{name} gave {len(choices)} answers to {count} prompts; {NEEDED}; {address}")
    indices = [each.get("index") for each in choices]
    if sorted(each for each in indices if isinstance(each, int)) == list(range(count)):
        choices.sort(key=lambda each: int(each["index"]))
    return list(choices)


def _list(choice: Mapping[str, Any], name: str) -> list[Listed]:
    given = choice.get("logprobs")
    if not isinstance(given, dict):
        return []
    stopped = choice.get("finish_reason") == "stop" and not choice.get("text")
    try:
        if isinstance(content := given.get("content"), list):
            return _objects(content[0], stopped) if content else []
        return _keyed(given, stopped)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise BackendError(f"{name} gave log-probabilities in a shape that is not known; {NEEDED}") from error


def _objects(written: Mapping[str, Any], stopped: bool) -> list[Listed]:
    """As llama.cpp's server lists."""
    found = []
    for each in written["top_logprobs"]:
        token, data, own = str(each["token"]), each.get("bytes"), each.get("id")
        known = bytes(data) if isinstance(data, list) else _bytes(token)
        stops = stopped and (own, token) == (written.get("id"), written["token"])
        found.append(Listed(known, _logprob(each["logprob"]), own if isinstance(own, int) else None, stops))
    return found


def _keyed(given: Mapping[str, Any], stopped: bool) -> list[Listed]:
    """As vLLM and OpenAI list."""
    tops = given.get("top_logprobs")
    top = tops[0] if isinstance(tops, list) and tops else None
    if not top:
        return []
    if all(_NUMBERED.match(token) for token in top):
        raise BackendError("the endpoint gives tokens as numbers; start vLLM without --return-tokens-as-token-ids")
    written = given["tokens"][0] if stopped else None
    return [Listed(_bytes(token), _logprob(value), None, token == written) for token, value in top.items()]


def _bytes(token: str) -> bytes | None:
    """The bytes of a token that is given as text; OpenAI writes a piece of a character as ``bytes:`` and escapes."""
    if escaped := _ESCAPED.match(token):
        return bytes.fromhex(escaped[1].replace("\\x", ""))
    return None if _UNKNOWN in token else token.encode("utf-8", "replace")


def _number(value: object) -> float | None:
    return _logprob(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _logprob(value: Any) -> float:
    number = float(value)
    if math.isnan(number):
        raise ValueError("not a number")
    # -9999 is vLLM's minus infinity: JSON has none. Rounding can leave a little more than 0.
    return -math.inf if number <= -9999.0 else min(0.0, number)
