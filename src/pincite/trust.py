"""Which documents may put words into an answer: a level of trust for each source, said by who runs the index.

A document cannot vouch for itself. Its level is that of the first pattern of the settings that its address matches, or
else the field ``trust`` of the metadata it was added with, or else ``normal``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from pincite.errors import InputError
from pincite.types import Passage, SearchResult

__all__ = ["LEVELS", "Trust", "check_level", "steerable", "trust_of"]

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


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose words answers are made from. Raises InputError for a level that there is not."""

    least: str = "low"  #: the level that a source must have; ``low`` is that of all
    patterns: Patterns = ()

    def __post_init__(self) -> None:
        for level in (self.least, *(level for _, level in self.patterns)):
            check_level(level)

    @property
    def by_all(self) -> bool:
        """Whether every source may steer."""
        return check_level(self.least) == LEVELS[0]

    def among(self, found: SearchResult, k: int) -> tuple[SearchResult, str]:
        """The first `k` passages that may steer, those before them left out and told; why none is left, or nothing."""
        if self.by_all:
            return found, ""
        kept, dropped = steerable(found.passages, self.least, self.patterns)
        last = found.passages.index(kept[k - 1]) if len(kept) >= k else len(found.passages)
        ahead = [passage for passage, _ in dropped if found.passages.index(passage) < last]
        titles = "; ".join(dict.fromkeys(passage.title for passage in ahead))
        count = f"{len(ahead)} passage{'' if len(ahead) == 1 else 's'}"
        notes = [f"left out, by the trust of their sources: {count}, of {titles}"] if ahead else []
        # How near to the question an untrusted document is is no sign that the others answer it.
        gone = {passage.chunk.document_id for passage, _ in dropped}
        legs = {
            name: tuple(hit for hit in hits if hit.chunk_id.rsplit(".", 2)[0] not in gone)
            for name, hits in found.legs.items()
        }
        result = replace(found, passages=tuple(kept[:k]), legs=legs, notes=(*found.notes, *notes))
        if kept or not dropped:
            return result, ""
        return result, (
            f"What was found comes from sources {self.told}, and answers are not made from those (answer.trust). "
            f"Nearest: {dropped[0][0].title}."
        )

    @property
    def told(self) -> str:
        """Which sources may not steer, in words."""
        return f"of less than {check_level(self.least)} trust"
