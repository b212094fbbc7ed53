"""Progress of a run of `add`, on standard error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pincite.indexing import AddListener

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.types import FileOutcome

__all__ = ["AddProgress"]


class AddProgress(AddListener):
    """A bar over the files with the name of the one at work; collects outcomes. Silent where nobody watches."""

    def __init__(self, console: Console, outcomes: list[FileOutcome]) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.outcomes = outcomes
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("files", total=None)

    def __enter__(self) -> AddProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def found(self, files: int) -> None:
        """So many files will be looked at."""
        self._progress.update(self._task, total=files)

    def reading(self, uri: str) -> None:
        """A file is being read."""
        self._progress.update(self._task, description=f"reading {Path(uri).name[:40]}")

    def encoded(self, uri: str, done: int, total: int) -> None:
        """So many of the batch's chunks have been encoded."""
        self._progress.update(self._task, description=f"encoding {Path(uri).name[:32]} {done}/{total}")

    def finished(self, outcome: FileOutcome) -> None:
        """A file's outcome is final."""
        self.outcomes.append(outcome)
        self._progress.advance(self._task)
