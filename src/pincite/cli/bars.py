"""Progress bars on standard error; silent where nobody watches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from pincite.evaluation.tune import TuneListener

__all__ = ["bars", "fit_pipe", "watched"]

#: Columns of a table that goes into a pipe or a file, at least and at most.
_PIPED = (100, 120)


def fit_pipe(out: Console) -> Console:
    """`out` with a width that tables fit into also where it is no terminal, and says 80."""
    if not out.is_terminal:
        out.width = min(max(out.width, _PIPED[0]), _PIPED[1])
    return out


def bars(err: Console) -> Progress:
    """Bars with a description, as many as tasks are added. To be entered; gone when it is left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


@contextmanager
def watched(err: Console) -> Iterator[TuneListener]:
    """Bars for what an evaluation or a sweep is at; what is told is shown also where nobody watches."""
    from pincite.evaluation.tune import Tried, TuneListener

    progress = bars(err)
    points = progress.add_task("settings tried", total=None, visible=False)
    work = progress.add_task("", total=None)

    class Bars(TuneListener):
        def indexing(self, dataset: str, done: int, total: int) -> None:
            progress.update(work, description=f"{dataset}: indexing", completed=done, total=total)

        def searching(self, dataset: str, configuration: str, done: int, total: int) -> None:
            progress.update(work, description=f"{dataset}: {configuration}", completed=done, total=total)

        def tried(self, point: Tried, done: int, total: int) -> None:
            description = f"settings tried ({point.chunks:,} chunks)"
            progress.update(points, description=description, completed=done, total=total, visible=True)

        def told(self, message: str) -> None:
            progress.console.print(message, markup=False)

    with progress:
        yield Bars()
