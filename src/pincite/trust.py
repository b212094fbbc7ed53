"""Which documents may put words into an answer: a level of trust for each source, said by who runs the index.

A document cannot vouch for itself. Its level is that of the first pattern of the settings that its address matches, or
else the field ``trust`` of the metadata it was added with, or else ``normal``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from pincite.errors import InputError
from pincite.types import Passage

__all__ = ["LEVELS", "check_level", "steerable", "trust_of"]

#: From the least to the most.
LEVELS = ("low", "normal", "high")

Patterns = Sequence[tuple[str, str]]
"""(pattern of addresses, level), the first that matches counts; as a shell's, where ``*`` crosses slashes."""


def check_level(level: str) -> str:
    """`level`, in small letters. Raises InputError for one that there is not."""
    if (known := level.strip().casefold()) in LEVELS:
        return known
    raise InputError(f"there is no level of trust {level!r}; there are: {', '.join(LEVELS)}")


def trust_of(passage: Passage, patterns: Patterns = ()) -> str:
    """The level of the document of `passage`. A value of its metadata that is no level counts as ``low``.

    Raises InputError for a level of `patterns` that there is not.
    """
    for pattern, level in patterns:
        if fnmatchcase(passage.uri, pattern) or fnmatchcase(passage.uri, f"*/{pattern}"):
            return check_level(level)
    stated = passage.metadata.get("trust")
    if stated is None:
        return "normal"
    known = str(stated).strip().casefold()
    return known if known in LEVELS else "low"


def steerable(
    passages: Sequence[Passage], least: str = "low", patterns: Patterns = ()
) -> tuple[list[Passage], list[tuple[Passage, str]]]:
    """The passages that may steer an answer, in their order, and the others with the reason why not.

    `least` is the level that a source must have: ``low`` keeps all. Raises InputError for a level that there is not.
    """
    needed = LEVELS.index(check_level(least))
    kept: list[Passage] = []
    dropped: list[tuple[Passage, str]] = []
    for passage in passages:
        level = trust_of(passage, patterns)
        if LEVELS.index(level) >= needed:
            kept.append(passage)
        else:
            dropped.append((passage, f"its source has {level} trust, answers are made from {LEVELS[needed]} and above"))
    return kept, dropped
