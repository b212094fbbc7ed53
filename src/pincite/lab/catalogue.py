"""The lessons there are. A lesson's file is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pincite.errors import InputError

if TYPE_CHECKING:
    from pincite.lab.record import Lesson, Step

__all__ = ["LESSONS", "Entry", "find"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One lesson as it is listed."""

    name: str
    about: str
    measures: bool = False  #: whether there is a step that times this machine

    def lesson(self) -> Lesson:
        """The lesson, computed now. Equal each time on one machine."""
        make: Callable[[], Lesson] = self._of_module("lesson")
        return make()

    def measured(self) -> Step:
        """A step whose numbers are of this machine and this moment. Only where `measures`."""
        make: Callable[[], Step] = self._of_module("measure")
        return make()

    def _of_module(self, name: str) -> Any:
        return getattr(import_module(f"pincite.lab.{self.name.replace('-', '_')}"), name)


LESSONS: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("bm25", "What a word is worth: rarity, repetition and length, over three tiny documents."),
        Entry("fusion", "Two rankings become one: reciprocal rank fusion, rank by rank."),
        Entry("overlap", "Windows that overlap: what is read twice, what it costs, which sentences are cut."),
        Entry("search-cost", "Searching tens of millions of vectors: every one of them, or a graph.", measures=True),
        Entry("cricket", "The passage as a latent variable: prior, mixture, posterior, and why not logits."),
        Entry("sequence-and-token", "RAG-Sequence and RAG-Token: where they agree and where they do not."),
        Entry("dilution", "What further passages do to the probability of an answer."),
        Entry("temperature", "How far to trust the retriever: the temperature of the prior."),
    )
}
"""In an order to read them in."""


def find(name: str) -> Entry:
    """The lesson of that name, in any case. Raises InputError, which names the nearest, for none."""
    if entry := LESSONS.get(name.strip().lower().replace("_", "-")):
        return entry
    near = get_close_matches(name.strip().lower(), LESSONS, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(f"there is no lesson {name!r}; {hint}there are: {', '.join(LESSONS)}")
