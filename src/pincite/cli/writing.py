"""An answer's text on standard output: on a terminal as it is written, elsewhere once it has been checked."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pincite.types import Answer

__all__ = ["Writing"]


class Writing:
    """Takes the pieces of `pincite.pipeline.Pipeline.stream`.

    What was written may not be what stands in the end: a number set right, a sentence marked as unsupported. Somebody
    who watched is shown the checked text below; a file or another program gets only that.
    """

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._shown: list[str] = []

    def take(self, piece: str) -> None:
        """More of the text."""
        self._shown.append(piece)
        if self._live:
            sys.stdout.write(piece)
            sys.stdout.flush()

    def end(self, answer: Answer) -> None:
        """The whole, with a line break behind it."""
        if not self._live:
            sys.stdout.write(answer.text)
        elif "".join(self._shown).strip() != answer.text.strip():
            sys.stdout.write(f"\n\nChecked:\n{answer.text}")
        sys.stdout.write("\n")
        sys.stdout.flush()
