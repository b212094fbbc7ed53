"""Collects the text of a document piece by piece, with the spans of its headings and pages."""

from __future__ import annotations

from collections.abc import Iterable

from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.types import Heading, Page

__all__ = ["TextWriter"]


class TextWriter:
    """Paragraphs set off by a blank line, lines that belong together by a line end. What is written is cleaned."""

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self.pages: list[Page] = []
        self.length = 0
        self._parts: list[str] = []
        self._controls = self._invisible = 0
        self._page: int | None = None  # where the open one begins; -1 before its first text
        self._label = ""

    @property
    def text(self) -> str:
        """What was written."""
        return "".join(self._parts)

    def write(self, text: str, *, level: int = 0, close: bool = False) -> bool:
        """Write a paragraph, as a heading where `level` is not 0; False if nothing of it can be seen.

        `close` sets it below the one before without a blank line between.
        """
        cleaned = clean(text)
        self._controls += cleaned.controls
        self._invisible += cleaned.invisible
        body = "\n".join(line.rstrip() for line in cleaned.text.split("\n")).strip("\n")
        if not body.strip():
            return False
        start = self._put(body, close)
        if level:
            self.headings.append(Heading(level, collapse(body), start + len(body) - len(body.lstrip()), self.length))
        return True

    def lines(self, lines: Iterable[str], *, close: bool = False) -> None:
        """Write lines that belong together, such as the rows of a table, as one paragraph."""
        first = True
        for line in lines:
            first = not self.write(line, close=close or not first) and first

    def begin_page(self, label: str = "") -> None:
        """End the open page, if there is one, and begin the next."""
        self.end_page()
        self._page, self._label = -1, label

    def end_page(self) -> None:
        """End the open page; nothing if there is none."""
        if self._page is None:
            return
        start = self.length if self._page < 0 else self._page
        self.pages.append(Page(len(self.pages) + 1, start, self.length, self._label))
        self._page = None

    def losses(self) -> tuple[str, ...]:
        """The warnings for what cleaning removed."""
        return loss_warnings(self._controls, self._invisible)

    def _put(self, body: str, close: bool) -> int:
        lead = ("\n" if close else "\n\n") if self._parts else ""
        start = self.length + len(lead)
        self._parts.append(lead + body)
        self.length = start + len(body)
        if self._page == -1:
            self._page = start
        return start
