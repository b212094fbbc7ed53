"""Measurements of points, kept at once: a sweep that is cut off goes on where it was."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pincite.evaluation.points import Point, Value, point_key

__all__ = ["Kept", "Tried"]


@dataclass(frozen=True, slots=True)
class Tried:
    """What one point gives. `values` has every question of both sides, each in [0, 1]."""

    settings: Point
    values: Mapping[str, float]
    chunks: int
    ms: float  #: median of a search, without encoding the question
    tokens: float  #: of the first search.k passages, mean over the questions

    def mean(self, query_ids: Sequence[str]) -> float:
        """The average over these questions."""
        return statistics.fmean(self.values[each] for each in query_ids)


class Kept:
    """Measurements in a file, a line each, written at once; one that was cut short is not read."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._found: dict[tuple[tuple[str, Value], ...], Tried] = {}
        if file.is_file():
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    tried = Tried(**json.loads(line))
                    self._found[point_key(tried.settings)] = tried
                except (ValueError, TypeError, AttributeError):
                    continue  # cut off while it was written: it is measured again

    def get(self, point: Point) -> Tried | None:
        """What was measured for exactly these settings."""
        return self._found.get(point_key(point))

    def put(self, tried: Tried) -> None:
        """Keep it. On disk when this returns."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as out:
            # A line of its own also after one that was cut short.
            out.write(("\n" if out.tell() else "") + json.dumps(asdict(tried)))
            out.flush()
            os.fsync(out.fileno())
        self._found[point_key(tried.settings)] = tried
