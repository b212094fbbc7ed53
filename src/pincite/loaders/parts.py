"""Documents inside a file: their addresses, how deep they lie, and how much unpacking is left to them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pincite.errors import LoadError
from pincite.loaders.read import read_documents
from pincite.protocols import Container, Loader, Source
from pincite.types import Document, FileOutcome

__all__ = ["LIMIT", "Budget", "Loaders", "Names", "Part", "depth_of", "read_part", "skipped"]

Loaders = Callable[[], Sequence[Loader | Container]]
"""Gives the loaders for what is inside a file. A function, because the one that asks is among them."""

LIMIT = "archive-limit"
"""The reason of what is not read because an archive is too large, too deep or has too many files."""


@dataclass(slots=True)
class Budget:
    """What may still be unpacked. The archives within an archive share its budget."""

    bytes: int
    files: int


class Part(Source):
    """One file inside another. `depth` is how many files it lies in."""

    __slots__ = ("budget", "depth")

    def __init__(self, outer: Source, uri: str, name: str, data: bytes, budget: Budget | None = None) -> None:
        super().__init__(uri, name, data)
        self.depth: int = depth_of(outer) + 1
        self.budget: Budget | None = budget or getattr(outer, "budget", None)


class Names:
    """Gives every part of a file an address of its own: the second of a name gets ``~2``."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._count: dict[str, int] = {}

    def address(self, name: str) -> str:
        """The address of the part called `name`; a "#" in it would look like a part of the part."""
        name = name.encode("utf-8", "replace").decode("utf-8").replace("%", "%25").replace("#", "%23")
        count = self._count[name] = self._count.get(name, 0) + 1
        if count == 1:
            return f"{self._uri}#{name}"
        other = f"{name}~{count}"
        self._count.setdefault(other, 0)
        if self._count[other]:
            return self.address(name)
        self._count[other] = 1
        return f"{self._uri}#{other}"


def depth_of(source: Source) -> int:
    """How many files `source` lies in: 0 for one that was named by the user."""
    return source.depth if isinstance(source, Part) else 0


def skipped(uri: str, error: LoadError) -> FileOutcome:
    """The outcome of a part that `error` kept from being read."""
    return FileOutcome(uri, "skipped", reason=error.reason, detail=str(error))


def read_part(loaders: Sequence[Loader | Container], part: Part) -> Iterator[Document | FileOutcome]:
    """The documents of `part`; what cannot be read costs only itself."""
    try:
        yield from read_documents(loaders, part)
    except LoadError as error:
        yield skipped(part.uri, error)
