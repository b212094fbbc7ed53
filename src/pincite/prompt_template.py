"""The texts that prompts are made of: versioned files in ``templates/``, which a user's own file can replace.

A file holds two sections, ``--- system`` and ``--- user``, each a line of its own; what stands before the first is a
note to the reader. ``{name}`` is a placeholder, ``{{`` and ``}}`` are braces.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pincite.errors import ConfigError

__all__ = ["ANSWER", "STAND_ALONE", "Template", "packaged", "parse", "read"]

_FOLDER = Path(__file__).with_name("templates")
_SECTION = re.compile(r"^--- *(\S+) *$", re.MULTILINE)

#: What each section must hold, and what it may.
_Needs = dict[str, tuple[frozenset[str], frozenset[str]]]

ANSWER: _Needs = {
    "system": (frozenset({"key", "refusal"}), frozenset({"key", "refusal"})),
    "user": (frozenset({"sources", "question"}), frozenset({"sources", "question", "key", "refusal"})),
}
"""Of a template that answers. Without the key a model could not know the frames, without the refusal it could not
decline in words that are understood."""

STAND_ALONE: _Needs = {
    "system": (frozenset(), frozenset()),
    "user": (frozenset({"history", "question"}), frozenset({"history", "question"})),
}
"""Of a template that rewrites a follow-up question."""


@dataclass(frozen=True, slots=True)
class Template:
    """A system message and a user message with placeholders."""

    name: str  #: with its version: ``answer-1``; of a user's own file its name and the first of its SHA-256
    system: str
    user: str

    def fill(self, **values: str) -> tuple[str, str]:
        """Both messages with the placeholders replaced. What stands in a value is not looked at again."""
        return self.system.format(**values), self.user.format(**values)


@lru_cache
def packaged(name: str = "answer-1", needs: str = "answer") -> Template:
    """A template of this package by its name, ``answer-1``. `needs` is ``answer`` or ``stand-alone``."""
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return parse(text, name, STAND_ALONE if needs == "stand-alone" else ANSWER)


def read(path: Path) -> Template:
    """A user's own template for answers. Raises ConfigError for one that cannot be read or would not do, and says why.

    Its name is that of the file with the first eight hex digits of its SHA-256: ``mine.txt#1f0c3a9e``.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"answer.template {str(path)!r} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"answer.template {str(path)!r} is not UTF-8 text: {error}") from error
    return parse(text, f"{path.name}#{hashlib.sha256(data).hexdigest()[:8]}", ANSWER)


def parse(text: str, name: str, needs: _Needs = ANSWER) -> Template:
    """The template that `text` describes. Raises ConfigError for a section or a placeholder that is missing or unknown.

    White space around a section is not part of it.
    """
    pieces = _SECTION.split(text.replace("\r\n", "\n"))
    found = dict(zip(pieces[1::2], (each.strip() for each in pieces[2::2]), strict=True))
    wanted = ", ".join(f"'--- {each}'" for each in needs)
    if len(pieces[1::2]) != len(found) or found.keys() != needs.keys():
        there = ", ".join(f"'--- {each}'" for each in pieces[1::2]) or "none"
        raise ConfigError(f"the template {name} needs the sections {wanted}, each once; it has: {there}")
    for section, (must, may) in needs.items():
        names = set(_placeholders(found[section], f"the template {name}, section {section}"))
        if unknown := sorted(names - may):
            known = ", ".join(f"{{{each}}}" for each in sorted(may)) or "none"
            raise ConfigError(
                f"the template {name} has an unknown placeholder {{{unknown[0]}}} in its section {section}; there are: "
                f"{known}. A brace that is meant as one is written twice"
            )
        if missing := sorted(must - names):
            raise ConfigError(f"the template {name} lacks the placeholder {{{missing[0]}}} in its section {section}")
    return Template(name, found["system"], found["user"])


def _placeholders(text: str, where: str) -> Iterator[str]:
    try:
        for _, name, form, conversion in string.Formatter().parse(text):
            if name is None:
                continue
            if form or conversion or not name.isidentifier():
                raise ConfigError(f"{where}: {{{name}}} is no placeholder; write a brace that is meant as one twice")
            yield name
    except ValueError as error:
        raise ConfigError(f"{where}: {error}; a brace that is meant as one is written twice") from error
