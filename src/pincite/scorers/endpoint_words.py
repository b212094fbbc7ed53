"""The tokens of an endpoint: as the numbers it gives them itself, or else as their texts.

llama.cpp's server says of every token which one it is, cuts text into tokens and takes prompts made of them, so a
token there is a token of the model. vLLM and OpenAI list texts, so a token there is a text, and a prompt is the
context with the answer behind it: where the tokenizer would cut that text otherwise, the model reads other tokens than
those that were chosen.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pincite.errors import BackendError, InputError

if TYPE_CHECKING:
    from pincite.protocols import Context
    from pincite.scorers.endpoint_replies import Listed

__all__ = ["END_TEXTS", "NumberedWords", "Prompt", "Row", "TextWords", "Words"]

Prompt: TypeAlias = "str | tuple[int, ...]"
"""A context with the answer so far, as the endpoint takes it."""

Row: TypeAlias = "list[tuple[int, float]]"
"""Tokens with their log-probabilities, falling, each once."""

Post: TypeAlias = "Callable[[str, Mapping[str, Any]], Mapping[str, Any]]"
"""Sends a body to a path and gives the object that comes back. Raises BackendError."""

END_TEXTS = (
    "</s>",
    "<eos>",
    "[EOS]",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<end_of_turn>",
    "<turn|>",
    "<｜end▁of▁sentence｜>",
)
"""How models write the token that ends their text. Where an endpoint ends its text with another, it is learned."""

_LINE_FEEDS = 8  #: runs of so many are tokens that are known beforehand
_OTHER_FEEDS = 1000  #: more than a vocabulary has other tokens that begin with a line feed
_OTHER_ENDS = 8  #: more than a model has end tokens of other names
_KEPT = 256  #: parts of contexts whose tokens are remembered


class Words(Protocol):
    """What a reading needs to know of an endpoint's tokens."""

    @property
    def ends(self) -> frozenset[int]: ...

    @property
    def exact(self) -> bool:
        """Whether tokens are those of the model."""
        ...

    def prompt(self, context: Context) -> Prompt: ...

    def check(self, tokens: Sequence[int]) -> None:
        """Raises InputError for a token that the endpoint has not named."""
        ...

    def grown(self, prompt: Prompt, token: int) -> Prompt:
        """`prompt` followed by `token`. Raises as `check` does."""
        ...

    def row(self, listed: Sequence[Listed], *, bounding: bool) -> Row:
        """The tokens of a list. With `bounding` no token that is left out is likelier than the last one."""
        ...

    def encode(self, text: str) -> list[int]: ...

    def decode(self, tokens: Sequence[int]) -> str: ...


class NumberedWords:
    """Tokens by the numbers of llama.cpp's server, which cuts text at ``/tokenize``.

    Control tokens that are written out in a text (``<eos>``) are read as ordinary characters: no passage can forge
    one.
    """

    exact = True

    def __init__(self, post: Post, ends: Mapping[int, bytes]) -> None:
        self.ends = frozenset(ends)
        self._post = post
        self._bytes: dict[int, bytes] = dict(ends)
        self._cut: dict[tuple[str, bool], list[int]] = {}

    def prompt(self, context: Context) -> Prompt:
        # A model may begin every text with a token of its own; it stands before the first part.
        ids = [token for place, part in enumerate(context) for token in self._tokens(part, first=place == 0)]
        if not ids:
            raise InputError("a context is empty, and this model begins with no token of its own")
        return tuple(ids)

    def check(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._known(token)

    def grown(self, prompt: Prompt, token: int) -> Prompt:
        self.check([token])
        assert not isinstance(prompt, str)
        return (*prompt, token)

    def row(self, listed: Sequence[Listed], *, bounding: bool) -> Row:  # noqa: ARG002 - every token is told
        found: dict[int, float] = {}
        for each in listed:
            if each.id is None or each.data is None:
                raise BackendError("the endpoint gave a token without its number, which it gave before")
            self._bytes.setdefault(each.id, each.data)
            found.setdefault(each.id, each.logprob)
        return _falling(found)

    def encode(self, text: str) -> list[int]:
        return list(self._tokens(text, first=False))

    def decode(self, tokens: Sequence[int]) -> str:
        data = b"".join(self._known(token) for token in tokens if token not in self.ends)
        return data.decode("utf-8", "replace")

    def _known(self, token: int) -> bytes:
        if token not in self._bytes:
            raise InputError(f"token {token} was neither listed by this endpoint nor made by encode")
        return self._bytes[token]

    def _tokens(self, text: str, *, first: bool) -> list[int]:
        known = self._cut.get((text, first))  # another thread may clear them at any time
        if known is not None:
            return known
        ids, pieces = self._tokenize(text, first)
        if not first and text and b"".join(pieces) != text.encode("utf-8", "replace"):
            # Some tokenizers put a space before every text. After a line feed they do not.
            ids = self._after_line_feed(text)
        if len(self._cut) >= _KEPT:
            self._cut.clear()
        self._cut[text, first] = ids
        return ids

    def _after_line_feed(self, text: str) -> list[int]:
        ids, pieces = self._tokenize("\n" + text, False)
        joined = b""
        for count, piece in enumerate(pieces, start=1):
            joined += piece
            if joined.endswith(b"\n") and b"".join(pieces[count:]) == text.encode("utf-8", "replace"):
                return ids[count:]
        raise BackendError(f"the endpoint's tokens of {text[:60]!r} do not spell it")

    def _tokenize(self, text: str, first: bool) -> tuple[list[int], list[bytes]]:
        content = text.encode("utf-8", "replace").decode()
        body = {"content": content, "add_special": first, "parse_special": False, "with_pieces": True}
        reply = self._post("tokenize", body)
        try:
            ids = [int(each["id"]) for each in reply["tokens"]]
            pieces = [
                each["piece"].encode() if isinstance(each["piece"], str) else bytes(each["piece"])
                for each in reply["tokens"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise BackendError("the endpoint's /tokenize gave no tokens with their pieces") from error
        if not first:
            self._bytes.update(zip(ids, pieces, strict=True))
        return ids, pieces


class TextWords:
    """Tokens by their texts, numbered in the order in which they are met.

    A token whose text is not told or is no whole characters is left out: an answer could not be continued with it.
    Where the others are to bound what is left out, all that is less likely is left out too. Tokens of one text count
    as one. All ends are known from the beginning: what ends an answer and was not foreseen counts as one of them. There
    are more than can be met, so that a bound on those that are not listed holds.
    """

    exact = False

    def __init__(self, echo: Callable[[str], list[str]], end_texts: Sequence[str], *, line_feeds: bool) -> None:
        feeds = ["\n" * length for length in range(1, _LINE_FEEDS + 1)] if line_feeds else []
        self._echo = echo
        self._line_feeds = line_feeds
        foreseen = list(dict.fromkeys([*end_texts, *feeds]))
        self._other_end = len(foreseen)
        # What bounds the end has to count how many tokens it may have that no list showed.
        others = ["\n"] * _OTHER_FEEDS if line_feeds else [""] * _OTHER_ENDS
        self._texts: list[str] = [*foreseen, *others]
        self._numbers = {text: number for number, text in enumerate(foreseen)}
        self._numbers[""] = self._other_end
        self._lock = threading.Lock()
        self.ends = frozenset(range(len(self._texts)))

    def prompt(self, context: Context) -> Prompt:
        return "".join(context).encode("utf-8", "replace").decode()

    def check(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self.text(token)

    def grown(self, prompt: Prompt, token: int) -> Prompt:
        assert isinstance(prompt, str)
        return prompt + self.text(token)

    def row(self, listed: Sequence[Listed], *, bounding: bool) -> Row:
        texts = [_text(each) for each in listed]
        floor = float("-inf")
        if bounding and None in texts:
            # Several tokens may hide behind one that is not told; they were not less likely than those that follow.
            whole = texts.index(None)
            floor = max(each.logprob for each in listed[whole:])
            listed, texts = listed[:whole], texts[:whole]
        found: dict[int, float] = {}
        for each, text in zip(listed, texts, strict=True):
            if text is not None and each.logprob >= floor:
                number = self._number(text, stops=each.stops)
                found[number] = _added(found[number], each.logprob) if number in found else each.logprob
        return _falling(found)

    def encode(self, text: str) -> list[int]:
        whole = text.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be sent
        return [self._number(each) for each in self._echo(whole)] if text else []

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self.text(token) for token in tokens if token not in self.ends)

    def text(self, token: int) -> str:
        """Raises InputError for a token that was never met."""
        if not 0 <= token < len(self._texts):
            raise InputError(f"token {token} was neither listed by this endpoint nor made by encode")
        return self._texts[token]

    def _number(self, text: str, *, stops: bool = False) -> int:
        with self._lock:
            if text not in self._numbers:
                if stops or (self._line_feeds and text.startswith("\n")):
                    self._numbers[text] = self._other_end
                else:
                    self._numbers[text] = len(self._texts)
                    self._texts.append(text)
            return self._numbers[text]


def _text(listed: Listed) -> str | None:
    """The text of a token; None where it is not told, or is no whole characters."""
    if listed.data is None:
        return None
    try:
        return listed.data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _falling(found: Mapping[int, float]) -> Row:
    kept = [(token, logprob) for token, logprob in found.items() if logprob > float("-inf")]
    return sorted(kept, key=lambda each: (-each[1], each[0]))


def _added(a: float, b: float) -> float:
    from numpy import logaddexp

    return min(0.0, float(logaddexp(a, b)))


def root_url(base_url: str) -> str:
    """`base_url` without its version: where llama.cpp's server has what the OpenAI protocol does not know."""
    return re.sub(r"/v\d+/*\Z", "", base_url.rstrip("/"))
