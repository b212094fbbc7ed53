"""What a generator wrote, kept at once: a calibration that is cut off asks nothing twice, and weighs anew for free."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.errors import StoreError
from pincite.types import Generation, Marginal, SentenceShares, Token

if TYPE_CHECKING:
    from pincite.protocols import Generator
    from pincite.types import Prompt

__all__ = ["KeptGenerator"]


class KeptGenerator:
    """A generator whose answers are kept in a file, a line each, and taken from there.

    Two prompts are one where recipe, question and passages are: what of them is read, and the scores that became their
    prior. `recipe` says everything else that an answer depends on. An answer is on disk before it is given; failures
    are never kept, a line that was cut short is not read, and a second process may add to the same file.
    """

    def __init__(self, inner: Generator, file: Path, recipe: str, *, fresh: bool = False) -> None:
        self.inner = inner
        self.file = file
        self.recipe = recipe
        self.taken = 0  #: answers that were kept from before
        self._kept: dict[str, list[Token | Generation]] = {}
        if fresh or not file.is_file():
            return
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                row = json.loads(line)
                self._kept[row["key"]] = [*(_token(each) for each in row["tokens"]), _generation(row["generation"])]
            except (ValueError, KeyError, TypeError):
                continue  # cut off while it was written: it is asked again

    @property
    def name(self) -> str:
        """The generator's own."""
        return self.inner.name

    @property
    def cites(self) -> bool:
        """Whether the generator writes markers."""
        return self.inner.cites

    def __getattr__(self, name: str) -> Any:
        """What else the generator can do: count tokens, take other messages."""
        if name == "inner":  # not set yet
            raise AttributeError(name)
        return getattr(self.inner, name)

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        """What was kept of this prompt, or else what the generator writes now."""
        key = self._key(prompt)
        if (kept := self._kept.get(key)) is not None:
            self.taken += 1
            yield from kept
            return
        items = list(self.inner.stream(prompt))
        self._append(key, items)
        self._kept[key] = items
        yield from items

    def close(self) -> None:
        """Close the generator."""
        self.inner.close()

    def _key(self, prompt: Prompt) -> str:
        read = [
            [each.chunk.id, each.chunk.start, each.chunk.end, each.hit.stage, f"{each.hit.score:.5g}"]
            for each in prompt.passages
        ]
        facts = [self.recipe, self.inner.name, prompt.question, read]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    def _append(self, key: str, items: list[Token | Generation]) -> None:
        tokens = [asdict(each) for each in items if isinstance(each, Token)]
        (generation,) = (asdict(each) for each in items if isinstance(each, Generation))
        row = json.dumps({"key": key, "tokens": tokens, "generation": generation})
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as out:
                # A line of its own also after one that was cut short.
                out.write(("\n" if out.tell() else "") + row)
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise StoreError(f"answers cannot be kept in {self.file}: {error.strerror}") from error


def _token(data: Mapping[str, Any]) -> Token:
    return Token(**{**data, "posterior": tuple(data["posterior"])})


def _generation(data: Mapping[str, Any]) -> Generation:
    marginal = data["marginal"]
    return Generation(
        **{
            **data,
            "tokens": tuple(_token(each) for each in data["tokens"]),
            "sources": tuple(data["sources"]),
            "parts": tuple((start, end) for start, end in data["parts"]),
            "marginal": None if marginal is None else _marginal(marginal),
        }
    )


def _marginal(data: Mapping[str, Any]) -> Marginal:
    shares = (SentenceShares(each["start"], each["end"], tuple(each["posteriors"])) for each in data["sentences"])
    vectors = {name: tuple(data[name]) for name in ("priors", "posteriors")}
    return Marginal(**{**data, **vectors, "sentences": tuple(shares)})
