"""What an address looks like in text, however it is written, and where a browser would go for it."""

from __future__ import annotations

import html
import re

__all__ = ["address_at", "as_followed", "comparable", "runs_something"]

# What an address may begin with. Bare names of hosts count where they end in a domain that programs make links of.
_ADDRESS = re.compile(
    r"(?<![a-z0-9])(?:[a-z][a-z0-9+.-]{0,30}:)?//(?=[^\s/])"
    r"|(?<![a-z0-9])www\.(?=[\w-])"
    r"|(?<![a-z0-9])(?:javascript|vbscript|data|mailto|file|blob|tel|sms|magnet|intent):(?=\S)"
    r"|(?<![\w.@-])[\w.+-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)+"
    r"|(?<![\w.@/-])(?:[a-z0-9-]{1,63}\.)+(?:com|net|org|info|biz|xyz|io|app|dev|site|online|top|link|click|shop|club|"
    r"store|edu|gov|ru|cn|tk|ai|co|de|eu|fr|gg|jp|kr|ly|nl|su|ua|uk|(?!py|rs|sh|md|so|mk)[a-z]{2}(?=(?::\d+)?[/?]))"
    r"(?![\w-]|\.[a-z])",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_RUNS = re.compile(r"\s*(?:javascript|vbscript|data):", re.IGNORECASE)


def address_at(token: str) -> int | None:
    """Where an address begins in `token`; one that is written in entities or escapes begins with the token."""
    plain = _plain(token)
    if plain != token and _ADDRESS.search(plain) is not None:
        match = _ADDRESS.search(token)
        # Before the first entity the token is as it reads.
        first = min((at for at in (token.find("&"), token.find("\\")) if at >= 0), default=0)
        return match.start() if match is not None and match.start() < first else 0
    match = _ADDRESS.search(token)
    return None if match is None else match.start()


def _plain(written: str) -> str:
    return _ESCAPED.sub(r"\1", html.unescape(written))


def as_followed(written: str) -> str:
    """An address as a browser would follow it."""
    return re.sub(r"[\x00-\x20]", "", _plain(written.strip().removeprefix("<").removesuffix(">")))


def comparable(address: str) -> str:
    """The part of an address that tells it from others."""
    return re.sub(r"\A(?:https?:)?//|\Amailto:", "", address, flags=re.IGNORECASE).rstrip("/").casefold()


def runs_something(address: str) -> bool:
    """Whether it is no place but a program, or holds what it leads to."""
    return _RUNS.match(address) is not None
