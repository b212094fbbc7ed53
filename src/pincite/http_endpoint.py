"""How an endpoint over HTTP is asked: the key is shown nowhere, attempts are bounded, errors say what to do.

Both `pincite.generators.openai` and `pincite.scorers.endpoint` ask so.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pincite.errors import BackendError, ConfigError

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["BODY_LIMIT", "HttpEndpoint", "Problem", "parse_object", "server_message"]

BODY_LIMIT = 1 << 20
"""Bytes of a body that are read, unless the caller expects more."""

_RETRIED = frozenset({429, 500, 502, 503, 504})
_MESSAGE_LIMIT = 300  #: characters of a server's own words that are shown


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an attempt failed before it gave anything."""

    error: BackendError  #: to be raised where nothing else helps
    retry: bool = True
    retry_after: float | None = None
    status: int = 0  #: of HTTP; 0 where there was no answer at all
    parameter: str = ""  #: at fault, where the endpoint names one
    message: str = ""  #: the endpoint's own words, with whatever they hold: not to be shown as they are


class HttpEndpoint:
    """One endpoint and the conduct towards it.

    Parameters
        name: what errors call it.
        model: the name the endpoint knows the model by.
        base_url: up to and including the version, ``http://localhost:11434/v1``. Must not carry credentials.
        api_key: sent as a bearer token, and shown nowhere: not in ``repr``, errors or logs.
        api_key_variable: the environment variable that error messages tell the user to look at. It is not read here.
        timeout: seconds for a whole answer, waits between attempts included.
        connect_timeout, read_timeout: seconds to connect, and of silence before giving up.
        max_retries: further attempts after a failed connection or status 429, 500, 502, 503 or 504.
        max_wait: the longest pause before an attempt, in seconds. A server that asks for more (``Retry-After``) is
            taken at its word: the call fails at once and says how long.
        sleep: replaces `time.sleep` in tests.

    Redirects are not followed, so the key goes to no other host. Proxies named by the environment are used, as httpx
    does. Nothing is contacted before something is asked. Raises ConfigError for an address or a key of a wrong form.
    """

    def __init__(
        self,
        name: str,
        model: str,
        base_url: str,
        *,
        api_key: str | None = None,
        api_key_variable: str = "OPENAI_API_KEY",
        timeout: float = 120.0,
        connect_timeout: float = 10.0,
        read_timeout: float = 60.0,
        max_retries: int = 2,
        max_wait: float = 20.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"base_url must be an http or https address such as http://localhost:11434/v1, got {base_url!r}"
            )
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ConfigError("base_url must not carry credentials, a query or a fragment; pass the key as api_key")
        if api_key is not None and not (api_key.isascii() and api_key.strip().isprintable()):
            raise ConfigError("api_key holds characters that cannot be sent in a header; copy it again")
        self.name = name
        self.model = model
        self.base_url = base_url
        self.api_key_variable = api_key_variable
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.read_timeout = read_timeout
        self.max_retries = max_retries
        self.max_wait = max_wait
        self._api_key = api_key.strip() if api_key else ""
        self._sleep = sleep
        self._tls: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.base_url!r})"

    def url(self, path: str) -> str:
        """Where `path` is, below `base_url`."""
        return f"{self.base_url.rstrip('/')}/{path}"

    def client(self, **headers: str) -> httpx.Client:
        """A client with the key, the limits of time and `headers`; the caller closes it."""
        import httpx

        limits = httpx.Timeout(min(self.read_timeout, self.timeout), connect=min(self.connect_timeout, self.timeout))
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        return httpx.Client(timeout=limits, headers=headers, verify=self._tls_context())

    def post(
        self, url: str, body: Mapping[str, Any] | None, *, client: httpx.Client, limit: int = BODY_LIMIT
    ) -> Mapping[str, Any] | Problem:
        """The object that the endpoint answers `body` with, or the problem that was left after the last attempt.

        Without a body it is asked with GET.

        Tried again is only what failed before anything was received, and what the server asks for again. Raises
        BackendError for an answer that is late or no object, and ConfigError for an address that is none.
        """
        import httpx

        method = "GET" if body is None else "POST"
        deadline = time.monotonic() + self.timeout
        attempt = 0
        while True:
            received = False
            try:
                with client.stream(method, url, json=body) as response:
                    received = True
                    if response.status_code == 200:
                        return parse_object(self.body(response, deadline, limit).decode("utf-8", "replace"), self.name)
                    problem = self.problem(response, deadline)
            except httpx.HTTPError as error:
                # A connection that was kept may have been closed by the other side since.
                lost = isinstance(error, httpx.RemoteProtocolError) and not received
                retry = lost or isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout))
                problem = Problem(self.transport_error(error), retry)
            except httpx.InvalidURL as error:
                raise ConfigError(f"base_url is not a valid address: {error}") from error
            if not self.pause(problem, attempt, deadline):
                return problem
            attempt += 1

    def pause(self, problem: Problem, attempt: int, deadline: float) -> bool:
        """Wait for the attempt after number `attempt`, from 0. False, without waiting, where none is to be made."""
        seconds = 0.5 * 2**attempt if problem.retry_after is None else problem.retry_after
        late = seconds > self.max_wait or time.monotonic() + seconds > deadline
        if not problem.retry or attempt >= self.max_retries or late:
            return False
        self._sleep(seconds)
        return True

    def _tls_context(self) -> ssl.SSLContext:
        """Made once: reading the certificates takes longer than a request to a server on the same machine."""
        import ssl

        import httpx

        if self._tls is None:
            # Plain http needs no certificates; a context without any trusts nobody, should it ever be asked.
            secure = self.base_url.lower().startswith("https:")
            self._tls = httpx.create_ssl_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return self._tls

    def chunks(self, response: httpx.Response, deadline: float) -> Iterator[bytes]:
        """The body as it comes. Raises BackendError once `deadline` of `time.monotonic` is past."""
        for chunk in response.iter_bytes():
            if time.monotonic() > deadline:
                raise BackendError(f"{self.name} did not finish within {self.timeout:g} s (timeout)")
            yield chunk

    def body(self, response: httpx.Response, deadline: float, limit: int = BODY_LIMIT) -> bytes:
        """The whole body, or a little more than `limit` bytes of it."""
        pieces, size = [], 0
        for chunk in self.chunks(response, deadline):
            pieces.append(chunk)
            size += len(chunk)
            if size > limit:
                break
        return b"".join(pieces)

    def problem(self, response: httpx.Response, deadline: float) -> Problem:
        """What a status other than 200 means, and whether trying again can help."""
        status = response.status_code
        text = self.body(response, deadline).decode("utf-8", "replace")
        message, parameter = server_message(text)
        said = f": {self.shown(message)}" if message else ""
        where = f"{self.name} at {self.base_url}"
        wait = _retry_after(response.headers.get("retry-after", ""))
        if status in (401, 403):
            given = "the API key was refused" if self._api_key else "no API key was given"
            error = BackendError(f"{where} answered {status}, {given}; check {self.api_key_variable}{said}")
        elif status == 404:
            error = BackendError(
                f"{where} answered 404: there is no model {self.model!r} or no such path; check the model's name "
                f"and that base_url ends in its version (…/v1){said}"
            )
        elif status == 429:
            hint = "" if wait is None else f", try again in {wait:.0f} s"
            error = BackendError(f"{where} answered 429: too many requests{hint}{said}")
        elif 300 <= status < 400:
            error = BackendError(f"{where} answered {status}, a redirect, which is not followed; correct base_url")
        else:
            error = BackendError(f"{where} answered {status}{said}")
        return Problem(error, status in _RETRIED, wait, status, parameter, message)

    def transport_error(self, error: httpx.HTTPError) -> BackendError:
        """What a failure of the connection is called, and what to look at."""
        import httpx

        where = f"{self.name} at {self.base_url}"
        if isinstance(error, httpx.ConnectTimeout):
            return BackendError(
                f"{where}: no connection within {self.connect_timeout:g} s; check base_url and the network"
            )
        if isinstance(error, httpx.ConnectError):
            return BackendError(
                f"cannot connect to {where} ({self.shown(str(error))}); "
                "check that the server runs and that base_url is right"
            )
        if isinstance(error, httpx.TimeoutException):
            return BackendError(f"{where} sent nothing for {min(self.read_timeout, self.timeout):g} s (read timeout)")
        if isinstance(error, httpx.ProxyError):
            return BackendError(f"{where}: the proxy set in the environment failed ({self.shown(str(error))})")
        return BackendError(f"the connection to {where} broke ({self.shown(str(error)) or type(error).__name__})")

    def shown(self, message: str) -> str:
        """A server's words, cut, on one line, and without the key if it repeats it."""
        if self._api_key:
            message = message.replace(self._api_key, "[key]")
        line = " ".join(message.split())
        return line if len(line) <= _MESSAGE_LIMIT else line[: _MESSAGE_LIMIT - 1] + "…"


def parse_object(data: str, name: str) -> Mapping[str, Any]:
    """The JSON object in `data`, which the endpoint `name` sent. Raises BackendError for anything else."""
    try:
        value = json.loads(data)
    except ValueError as error:
        raise BackendError(f"{name} sent what is not JSON ({data[:80]!r}); check base_url") from error
    if not isinstance(value, dict):
        raise BackendError(f"{name} sent {data[:80]!r} where an object was expected; check base_url")
    return value


def server_message(body: str) -> tuple[str, str]:
    """The message and the name of the parameter at fault, from the shapes that servers use for errors."""
    try:
        value = json.loads(body)
    except ValueError:
        return body.strip(), ""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        message = error.get("message") or error.get("detail") or json.dumps(error, ensure_ascii=False)
        return str(message), str(error.get("param") or "")
    return str(error), ""


def _retry_after(value: str) -> float | None:
    """Seconds from now that a ``Retry-After`` header asks for: a number, or an HTTP date. None if it is neither."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
