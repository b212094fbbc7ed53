"""Writes the text of a page of HTML, where white space is owed rather than written."""

from __future__ import annotations

from pincite.loaders.hidden import Hidden

__all__ = ["HypertextWriter"]


class HypertextWriter:
    """Collects text with pending white space, so that every offset it gives out is that of a character written."""

    def __init__(self, controls: int, invisible: int, hidden: Hidden) -> None:
        self.controls = controls
        self.invisible = invisible
        self.hidden = hidden
        self.headings: list[tuple[int, int, int]] = []  #: level, start, end
        self.anchors: dict[str, int] = {}
        self.repeated = 0  #: characters of cells written again
        self.cells = 0  #: depth of table cells, in which line ends become spaces
        self._parts: list[str] = []
        self._length = 0
        self._bars = 0  # written in the open row
        self._column = -1  # of the open cell
        self._breaks = 0  # line ends owed
        self._space = False  # a space owed
        self._held = ""  # white space owed from verbatim text
        self._marker = ""  # list marker owed
        self._heading: tuple[int, int] | None = None  # level and start of the open one; -1 before its first character
        self._anchors: list[str] = []  # names of what is written next

    def text(self) -> str:
        """What was written."""
        return "".join(self._parts)

    @property
    def part(self) -> int:
        """A place in what is written, for `since`."""
        return len(self._parts)

    def since(self, part: int) -> str:
        """What was written after that place."""
        return "".join(self._parts[part:])

    def line_break(self, count: int, more: int = 0) -> None:
        """Owe `count` line ends, or `more` than are owed already, and at most two."""
        if self.cells:
            self._space = True
        elif not self._marker:
            self._breaks = min(2, max(self._breaks + more, count))
            self._space, self._held = False, ""

    def anchor(self, name: str) -> None:
        """Remember where what is written next begins."""
        self._anchors.append(name)

    def mark_item(self, marker: str) -> None:
        """Owe the marker of a list item."""
        # A number with another inside it and nothing between stand on one line; a bullet says nothing there.
        outer = "" if self._marker.strip() in ("", "-") else self._marker
        self._marker = outer + (marker.lstrip() if outer else marker)

    def forget_item(self) -> None:
        """Drop a list marker behind which nothing was written."""
        self._marker = ""

    def flow(self, text: str) -> None:
        """Write text in which white space only separates words."""
        words = text.split()
        if not words:
            self._space = self._space or bool(text)
            return
        self._space = self._space or text[0].isspace()
        self._put(" ".join(words))
        self._space = text[-1].isspace()

    def verbatim(self, text: str) -> None:
        """Write text whose lines are kept. White space at its end waits for what follows, or is dropped."""
        body = text.rstrip()
        if body:
            self._put(body)
        self._held += text[len(body) :]

    def begin_row(self) -> None:
        """Begin a row of a table. The bars of a row are written with the text behind them: without any, it is none."""
        self._bars = 0

    def open_cell(self, column: int) -> None:
        """Begin the cell of the open row at `column`, counted from 0."""
        self.cells += 1
        self._column = column
        self._space = True

    def close_cell(self) -> None:
        """End the cell."""
        self.cells -= 1
        self._column = -1
        self._held, self._marker = "", ""

    @property
    def owed_bars(self) -> int:
        """How many bars stand between what is written of the row and the open cell."""
        return max(0, self._column + 1 - self._bars)

    def end_row(self, width: int) -> bool:
        """End the row, filled up to `width` cells. False if nothing of it was written."""
        if not self._bars:
            return False
        self._space = True
        self._put(" ".join("|" * max(1, width + 1 - self._bars)))
        self._bars = 0
        self.line_break(1)
        return True

    def rule(self, width: int) -> None:
        """Write the row of dashes that ends a header of `width` cells."""
        self.line_break(1)
        self._put("|" + "---|" * width)
        self.line_break(1)

    def raise_number(self) -> None:
        """Begin a superscript: between digits it is written "^", so that ten squared is not one hundred and two."""
        owed = self._space or self._breaks or self._held or self.owed_bars
        if self._parts and self._parts[-1][-1].isdigit() and not owed:
            self._put("^")

    def open_heading(self, level: int) -> None:
        """Begin a heading with the next character."""
        self.close_heading()
        self._heading = (level, -1)

    def close_heading(self) -> None:
        """End the open heading, if there is one, at the last character written."""
        if self._heading is not None and self._heading[1] >= 0:
            self.headings.append((*self._heading, self._length))
        self._heading = None

    def cut_heading(self) -> None:
        """End the open heading if it has words already: a paragraph may hold them, a second one is not part of it."""
        if self._heading is not None and self._heading[1] >= 0:
            self.close_heading()

    def _put(self, text: str) -> None:
        if self._breaks or not self._parts:
            owed = "\n" * self._breaks if self._parts else ""
            owed += self._held[self._held.rfind("\n") + 1 :]
        else:
            owed = self._held or " " * self._space
        bars = self.owed_bars
        self._bars += bars
        lead = owed + "| " * bars + self._marker
        start = self._length + len(lead)
        if self._heading is not None and self._heading[1] < 0:
            self._heading = (self._heading[0], start)
        if self._anchors:
            for name in self._anchors:
                self.anchors.setdefault(name, start)
            self._anchors.clear()
        self._breaks, self._space, self._held, self._marker = 0, False, "", ""
        self._parts.append(lead + text)
        self._length = start + len(text)
