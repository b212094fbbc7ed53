"""Any model behind ``POST {base_url}/completions`` that lists log-probabilities: llama.cpp's server, vLLM and others.

A chat endpoint will not do: marginalization continues one answer after many contexts, and needs of each step the
likeliest next tokens after every context.

With llama.cpp's server tokens have numbers, so the model reads the very tokens that were chosen, and the probability of
any one can be had by forcing it. (What it computes with a quantized model depends a little, by hundredths and for
unlikely tokens by tenths, on what it computes at once.) With vLLM and OpenAI tokens are texts (see
`pincite.scorers.endpoint_words`), and of one that is not listed it is known only that it is not, unless the endpoint
scores a given text (``echo`` with ``logprobs``, vLLM).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pincite.errors import BackendError, InputError
from pincite.http_endpoint import HttpEndpoint, Problem
from pincite.scorers.base import check_contexts
from pincite.scorers.endpoint_reading import EndpointReading
from pincite.scorers.endpoint_replies import NEEDED, Listed, chosen, echoed, lists, named_limit, too_long
from pincite.scorers.endpoint_words import END_TEXTS, NumberedWords, Prompt, Row, TextWords, Words, root_url

if TYPE_CHECKING:
    import httpx

    from pincite.protocols import Context

__all__ = ["EndpointReading", "EndpointScorer"]

_WIDEST = 1000  #: asked for where the endpoint sets no limit: a reply of 100 kB a row
_BODY_LIMIT = 1 << 28
_FORCE = 1000.0  #: added to a token's logit, so that it is written
_REFUSED = frozenset({400, 404, 405, 422, 501})  #: statuses that say that a request is not understood
_MOST_ENDS = 4096


class _AnsweredError(BackendError):
    """The endpoint answered with a status other than 200."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem.error))
        self.status = problem.status
        self.message = problem.message  # not to be shown as it is


class _Opened(NamedTuple):
    """What an endpoint was found to do."""

    words: Words
    widest: int
    arrays: bool  #: whether it takes several prompts in one request
    slots: int  #: how many prompts llama.cpp's server keeps computed; 0 where that is not known


class EndpointScorer:
    """A language model behind an endpoint as a `TokenScorer`: lists of the likeliest tokens, one request a step.

    Parameters
        model: the name the endpoint knows it by.
        base_url: up to and including the version, ``http://localhost:8080/v1``. Must not carry credentials.
        api_key: sent as a bearer token, and shown nowhere.
        provider: first half of `name`.
        api_key_variable: the environment variable that error messages tell the user to look at. It is not read here.
        width: how many tokens of a row are asked for where the caller does not say.
        widest: the most that are asked for; by default 1000. Where the endpoint refuses so many, the most it accepts.
        end_at_newline: an answer ends at every token whose text begins with a line feed: right for a base model that
            writes a line and goes on. A model that answers in paragraphs wants it off.
        end_texts: how the model writes its end of text, for endpoints that list texts.
        reuse: let llama.cpp's server begin a context with what it has computed before: faster where contexts begin
            with the same worked examples. What was asked before then changes the numbers a little.
        timeout, connect_timeout, read_timeout, max_retries, max_wait, sleep: of one request, see
            `pincite.http_endpoint.HttpEndpoint`.

    Nothing is contacted before something is asked. The first question of all is preceded by a few small requests that
    find out what the endpoint does; `ends` and `widest` make them too. May be used from several threads. Every method
    that asks raises BackendError for a failure of the endpoint and for one that does not list log-probabilities, and
    InputError for a context or an answer that is too long for the model.

    The endpoint must give the log-probabilities of the model itself, before temperature and other sampling: llama.cpp's
    server and vLLM do unless told otherwise. Give llama.cpp's server as many slots as there are contexts
    (``--parallel``), and ``--swa-full`` for models with sliding attention, or it reads contexts again at every step.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        api_key: str | None = None,
        provider: str = "openai",
        api_key_variable: str = "OPENAI_API_KEY",
        width: int = 20,
        widest: int | None = None,
        end_at_newline: bool = True,
        end_texts: Sequence[str] = END_TEXTS,
        reuse: bool = False,
        timeout: float = 120.0,
        connect_timeout: float = 10.0,
        read_timeout: float = 60.0,
        max_retries: int = 2,
        max_wait: float = 20.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if width < 1 or (widest is not None and widest < 1):
            raise InputError(f"width and widest must be at least 1, got {width} and {widest}")
        self.model = model
        self.base_url = base_url
        self.provider = provider
        self.width = width
        self.end_at_newline = end_at_newline
        self.end_texts = tuple(end_texts)
        self.reuse = reuse
        self._asked_widest = _WIDEST if widest is None else widest
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
        self._lock = threading.RLock()
        self._client: httpx.Client | None = None
        self._opened: _Opened | None = None
        self._echoes = True  # until it does not

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {self.base_url!r}, provider={self.provider!r})"

    @property
    def name(self) -> str:
        """``openai:MODEL``, or with another provider's name."""
        return f"{self.provider}:{self.model}"

    @property
    def ends(self) -> frozenset[int]:
        """The tokens that end an answer: of end of text, and those that begin with a line feed."""
        return self._open().words.ends

    @property
    def widest(self) -> int | None:
        """The most tokens of a row that the endpoint lists, found out once."""
        return self._open().widest

    @property
    def exact(self) -> bool:
        """Whether tokens are the model's own and every one can be scored, as with llama.cpp's server."""
        return self._open().words.exact

    @property
    def concurrent(self) -> bool:
        """Whether readings of several questions at once do each other no harm.

        llama.cpp's server keeps contexts in slots, and readings would put each other's out: all would be computed anew
        at every step, and a little otherwise.
        """
        return not self._open().slots

    def encode(self, text: str) -> list[int]:
        """See `TokenScorer.encode`. Raises BackendError where the endpoint neither tokenizes nor echoes."""
        return self._open().words.encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """See `TokenScorer.decode`. Raises InputError for a token that this endpoint never named."""
        return self._open().words.decode(tokens)

    def read(self, contexts: Sequence[Context]) -> EndpointReading:
        """See `TokenScorer.read`. The first step is asked for at once, so a context that is too long is known here.

        With llama.cpp's server the parts of a context are cut into tokens apart; elsewhere they are read as one text.
        """
        check_contexts(contexts)
        words = self._open().words
        prompts = [words.prompt(context) for context in contexts]
        reading = EndpointReading(self, words, prompts)
        if words.exact:
            # llama.cpp computes a text a little otherwise in one piece than in several, or beside another text. So
            # contexts are read whole and alone, and every step from the first on is one token after what is known.
            self._fill_slots(prompts)
        reading.next_tokens()
        return reading

    def close(self) -> None:
        """Close the connections. A later question opens them again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def lists(self, prompts: Sequence[Prompt], count: int, *, bounding: bool = True) -> list[Row]:
        """The `count` likeliest tokens after each prompt, or as many as the endpoint lists.

        With `bounding` no token that is left out is likelier than the last one of its row.
        """
        opened = self._open()
        asked = min(count, opened.widest)
        unique = list(dict.fromkeys(prompts))
        found = [each for reply, size in self._batches(unique, asked) for each in lists(reply, size, self.name)]
        rows = dict(zip(unique, (opened.words.row(each, bounding=bounding) for each in found), strict=True))
        return [rows[prompt] for prompt in prompts]

    def forced(self, prompts: Sequence[Prompt], token: int) -> list[float]:
        """The log-probability of `token` after each prompt, listed or not: where `exact`.

        The token is written because its logit is raised; the log-probability reported is that before.
        """
        unique = list(dict.fromkeys(prompts))
        scores: list[float] = []
        for reply, size in self._batches(unique, 1, logit_bias=[[token, _FORCE]]):
            for written, logprob in chosen(reply, size, self.name):
                if written != token:
                    raise BackendError(f"{self.name} wrote token {written} where {token} was to be scored")
                scores.append(logprob)
        by_prompt = dict(zip(unique, scores, strict=True))
        return [by_prompt[prompt] for prompt in prompts]

    def echoed(self, prompts: Sequence[Prompt]) -> list[list[tuple[str, float | None]]] | None:
        """Each prompt's own tokens with their log-probabilities; None where the endpoint does not give them."""
        if not self._echoes:
            return None
        found: list[list[tuple[str, float | None]]] = []
        try:
            for reply, size in self._batches(prompts, 1, echo=True):
                found.extend(echoed(reply, size, self.name))
        except _AnsweredError as error:
            if error.status not in _REFUSED | {500}:  # some fail over it
                raise
            found = []
        if not found or not all(found):
            self._echoes = False
            return None
        return found

    def _fill_slots(self, prompts: Sequence[Prompt]) -> None:
        """Have each prompt computed in a slot of llama.cpp's server of its own."""
        slots = self._open().slots
        for place, prompt in enumerate(dict.fromkeys(prompts)):
            slot = {"id_slot": place % slots} if slots else {}
            self._complete(prompt, 1, cache_prompt=self.reuse, **slot)

    def _batches(self, prompts: Sequence[Prompt], count: int, **more: Any) -> list[tuple[Mapping[str, Any], int]]:
        """Replies to all prompts in their order, each with how many it is for."""
        if self._open().arrays:
            return [(self._complete(list(prompts), count, **more), len(prompts))] if prompts else []
        return [(self._complete(prompt, count, **more), 1) for prompt in prompts]

    def _complete(self, prompt: Prompt | list[Prompt], count: int, **more: Any) -> Mapping[str, Any]:
        body = {"model": self.model, "prompt": prompt, "max_tokens": 1, "temperature": 0.0, "logprobs": count, **more}
        return self._post(self._http.url("completions"), body)

    def _post(self, url: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        with self._lock:
            if self._client is None:
                self._client = self._http.client()
            client = self._client
        reply = self._http.post(url, body, client=client, limit=_BODY_LIMIT)
        if isinstance(reply, Problem):
            if too_long(reply.status, reply.message):
                raise InputError(f"a context is too long for the model: {reply.error}")
            raise _AnsweredError(reply) if reply.status else reply.error
        if reply.get("error") and not reply.get("choices"):
            raise BackendError(f"{self.name} failed: {self._http.shown(str(reply['error']))}")
        return reply

    def _open(self) -> _Opened:
        """What the endpoint does; found out at first."""
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    self._opened = self._find_out()
        return self._opened

    def _find_out(self) -> _Opened:
        widest, first = self._find_widest()
        numbered = self._numbered() if all(each.id is not None for each in first) else None
        words = numbered or TextWords(self._pieces, self.end_texts, line_feeds=self.end_at_newline)
        return _Opened(words, widest, self._takes_arrays(), self._count_slots() if numbered else 0)

    def _count_slots(self) -> int:
        try:
            slots = self._post(f"{root_url(self.base_url)}/props", None).get("total_slots")
        except _AnsweredError as error:
            if error.status not in _REFUSED:
                raise
            slots = None
        return slots if isinstance(slots, int) else 0

    def _find_widest(self) -> tuple[int, list[Listed]]:
        """The longest list that the endpoint gives, up to what is wanted, and what it was."""
        asked, refused, given = self._asked_widest, self._asked_widest + 1, 0
        first: list[Listed] = []
        named: int | None = None
        while given < refused - 1 and given != named:
            try:
                (found,) = lists(self._complete("The", asked), 1, self.name)
            except _AnsweredError as error:
                if error.status not in _REFUSED:
                    raise
                if "logprob" not in error.message.lower() or asked == 1:
                    raise BackendError(f"{error}; {NEEDED}") from error
                refused, named = asked, named_limit(error.message, asked)
                asked = (given + refused) // 2 if named is None else named
            else:
                if len(found) < asked:
                    return len(found), found
                given, first = asked, found
                asked = (given + refused) // 2
        return given, first

    def _takes_arrays(self) -> bool:
        try:
            lists(self._complete(["The", "A"], 1), 2, self.name)
        except _AnsweredError as error:
            if error.status not in _REFUSED | {500}:
                raise
            return False
        except BackendError as error:
            # One answer to two prompts, or, as older servers gave, one object for each.
            if not (NEEDED in str(error) or "an object was expected" in str(error)):
                raise
            return False
        return True

    def _numbered(self) -> NumberedWords | None:
        """The tokens by their numbers, where the endpoint is llama.cpp's server; else None.

        A grammar that admits only what ends an answer makes it list exactly those tokens.
        """
        grammar = 'root ::= ("\\n" [^\\x00]*)?' if self.end_at_newline else 'root ::= ""'
        body = {
            "prompt": "\n",
            "max_tokens": 1,
            "logprobs": _MOST_ENDS,
            "grammar": grammar,
            "post_sampling_probs": True,
            "samplers": ["temperature"],
            "temperature": 100.0,  # so flat that none is rounded to 0
        }
        try:
            reply = self._post(self._http.url("completions"), body)
            listed = reply["choices"][0]["logprobs"]["content"][0]["top_probs"]
            ends = {int(each["id"]): bytes(each["bytes"]) for each in listed}
            words = NumberedWords(lambda path, body: self._post(f"{root_url(self.base_url)}/{path}", body), ends)
            words.encode("A")
        except (_AnsweredError, KeyError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, _AnsweredError) and error.status not in _REFUSED:
                raise
            return None
        return words if 0 < len(ends) < _MOST_ENDS else None

    def _pieces(self, text: str) -> list[str]:
        """The tokens of `text`, as the endpoint echoes them."""
        for tokens in self.echoed([text]) or []:
            for start in range(len(tokens) - 1, -1, -1):  # it may begin with a token of its own
                if "".join(token for token, _ in tokens[start:]) == text:
                    return [token for token, _ in tokens[start:]]
        raise BackendError(
            f"{self.name} cannot say of which tokens {text[:60]!r} is made: scoring a given text needs llama.cpp's "
            "server, or an endpoint whose /completions takes echo with logprobs, as vLLM's does"
        )
