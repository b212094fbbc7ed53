"""Fenced code and tables in a text: where they are, where they may be cut, and what a piece of one needs around it.

A piece of a table is read with the table's header, a piece of a fenced block between fences of its own. Both stand in
`Chunk.before` and `Chunk.after`: they are context, and the span stays that of the real rows and lines.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Block", "Blocks", "may_divide"]

_FENCE = re.compile(r"[ ]{0,3}(?P<mark>`{3,}|~{3,})")
_BARE_FENCE = re.compile(r"^[ ]{0,3}(?P<mark>`{3,}|~{3,})[^\S\n]*$", re.MULTILINE)
# The dash that counts is the first: were it any, a row of dashes that ends otherwise would be tried at each of them.
_DELIMITER = re.compile(r"\|[\s:|+]*-[\s:|+-]*")
_INFO = re.compile(r"[^\S\n]*\S+")
#: A delimiter row stands no lower than this in a table; above it are header rows.
_HEADER_ROWS = 6
#: Rows without a mark at their beginning (``a | b``) are a table from this many on: fewer are a line of links.
_BARE_ROWS = 3
#: A paragraph directly above a table is its caption if it is not longer than this, in characters.
_CAPTION = 300
#: The white space before a line of code is kept up to this many characters.
_INDENT = 80
_MARKS = frozenset("`~")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block or a table of a text. Offsets are half-open, into that text.

    `start` is where its caption begins, if it has one, else its first line; `body` the first line of code or the first
    row below the header; `close` the line of the closing fence (a table's end). `cuts` are the lines that a piece may
    begin with: never the closing fence, and not the first row or line, which stays with its header.
    """

    fenced: bool
    start: int
    end: int
    head: int  #: where the opening fence or the header begins
    body: int
    close: int
    delimiter: int = -1  #: where the last row of the header begins, if the table has a delimiter row
    cuts: Sequence[int] = field(default=(), repr=False)

    def openings(self, text: str, position: int) -> Iterator[str]:
        """What may stand before a piece that begins at `position`, the whole of it first, then what can be spared.

        Of a table: all header rows with the delimiter row; the last header row with the delimiter row. Of a fenced
        block: the opening line and the white space that was before the line of code; the opening line; its mark and
        first word. Nothing where the piece holds the header itself.
        """
        if not self.start < position < self.end or position < self.body:
            return
        whole = text[self.head : self.body].rstrip() + "\n"
        if not whole.strip():
            return
        if not self.fenced:
            yield whole
            if self.delimiter > self.head:
                yield text[self.delimiter : self.body].rstrip() + "\n"
            return
        line = text.rfind("\n", 0, position) + 1
        indent = text[line:position]
        if indent and len(indent) <= _INDENT and indent.isspace():
            yield whole + indent
        yield whole
        mark = self._mark(text)
        info = _INFO.match(text, self.head + len(mark), self.body)
        yield mark + (info.group() if info else "") + "\n"

    def closing(self, text: str, start: int, end: int) -> str:
        """What must stand after a piece from `start` to `end` so that its fence is closed; "" if nothing."""
        opened = start <= self.head or start >= self.body
        if not self.fenced or not opened or end < self.head + len(text[self.head : self.body].rstrip()):
            return ""
        mark = self._mark(text)
        if end >= self.close and text[max(start, self.close) : end].strip().startswith(mark):
            return ""
        return "\n" + mark if start < end else ""

    def _mark(self, text: str) -> str:
        end = self.head
        while text[end] == text[self.head]:
            end += 1
        return text[self.head : end]


def may_divide(text: str, position: int) -> bool:
    """Whether a piece of `text` that begins at `position` may need a frame. Quick, and never wrongly False.

    Code may be open at either end of a piece wherever there are fences; rows go on at its beginning only below others.
    """
    line = text.rfind("\n", 0, position) + 1
    row_above = text.rfind("\n", 0, max(0, line - 1)) + 1
    return "```" in text or "~~~" in text or text.find("|", row_above, max(position, line)) >= 0


class Blocks:
    """The fenced blocks and tables of one text, found in one pass.

    A fence that is never closed is ordinary text: in plain text the mark means nothing. A table is a run of lines that
    begin with ``|``, as in Markdown, whose header ends with a row of dashes; or of at least three lines with cells
    parted by `` | ``, whose first line is taken for the header. A short paragraph directly above a table is its
    caption: it is not parted from the first rows, and not repeated.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.paragraphs: list[int] = []  #: where paragraphs, fenced blocks and tables begin, in order
        self.items: list[Block] = []
        self._find()
        self._starts = [block.start for block in self.items]

    def inside(self, position: int) -> Block | None:
        """The block that a cut at `position` would divide."""
        i = bisect_left(self._starts, position) - 1
        return self.items[i] if i >= 0 and position < self.items[i].end else None

    def frame(self, start: int, end: int, fits: Callable[[str], bool] = lambda _: True) -> tuple[str, str]:
        """What a piece from `start` to `end` is read between: (before, after), each "" where nothing is needed.

        `fits` says of a text whether there is room for it. A header that does not fit is cut down, see
        `Block.openings`, or left out; a fence that does not fit is left out at both ends.
        """
        before = self.before(start, fits)
        return before, self.after(start, end, before)

    def before(self, start: int, fits: Callable[[str], bool] = lambda _: True) -> str:
        """The part of `frame` that stands before; it depends on where the piece begins only."""
        block = self.inside(start)
        return "" if block is None else next(filter(fits, block.openings(self.text, start)), "")

    def after(self, start: int, end: int, before: str) -> str:
        """The part of `frame` that stands behind, given the other."""
        block = self.inside(end)
        if block is None or not block.fenced or (block.start < start and not before):
            return ""
        return block.closing(self.text, start, end)

    def header(self, position: int) -> str:
        """The header of the table of which a row stands at `position`; "" for anything else, the header included."""
        block = self.inside(position)
        if block is None or block.fenced or position < block.body:
            return ""
        return self.text[block.head : block.body].rstrip()

    def is_header(self, position: int) -> bool:
        """Whether a row of a table's header, one that ends with a row of dashes, stands at `position`."""
        block = self.inside(position + 1)
        return block is not None and not block.fenced and block.delimiter >= 0 and block.head <= position < block.body

    # Finding

    def _find(self) -> None:
        text = self.text
        closable = _Closable(text)
        rows = array("L")  # of the table being read
        bare = False  # whether these are rows without a mark at their beginning
        begin = paragraph = -1  # of that table, its caption included; of the paragraph being read
        fence: tuple[int, int, str] | None = None  # where the open one begins, its first line of code, its mark
        cuts = array("L")
        fresh = True  # the next line with text begins a paragraph
        position = 0
        while position < len(text):
            newline = text.find("\n", position)
            after = len(text) if newline < 0 else newline + 1
            line = text[position:after]
            words = line.strip()
            content = position + len(line) - len(line.lstrip())
            mark = _FENCE.match(line) if words[:1] in _MARKS else None
            if fence is not None:
                if mark and len(words) >= len(fence[2]) and not words.strip(fence[2][0]):
                    self.items.append(Block(True, fence[0], after, fence[0], fence[1], position, cuts=cuts))
                    fence, fresh = None, True
                elif words and position > fence[1]:
                    cuts.append(position)
                position = after
                continue
            if mark and not closable(after, mark.group("mark"), line[mark.end() :]):
                mark = None
            is_row = words[:1] == "|"
            is_bare = not is_row and not mark and " | " in words
            if rows and not (is_bare if bare else is_row):
                self._end_table(begin, rows, position, bare)
                fresh = fresh or not bare or len(rows) >= _BARE_ROWS
                rows = array("L")
            if not words:
                fresh = True
                position = after
                continue
            if mark and not fresh and mark.group("mark")[0] == "~":
                mark = None  # under a line of text it underlines a heading
            if not mark and (is_row or is_bare) and not rows:
                begin, bare = content, is_bare
                if not fresh and content - paragraph <= _CAPTION:
                    begin = paragraph
                elif is_row:
                    self.paragraphs.append(content)
                    fresh = False
            if fresh or mark:
                self.paragraphs.append(content)
                paragraph = content
            fresh = False
            if mark:
                fence, cuts = (content, after, mark.group("mark")), array("L")
            elif is_row or is_bare:
                rows.append(content)
            position = after
        if rows:
            self._end_table(begin, rows, len(text), bare)

    def _end_table(self, begin: int, rows: array[int], end: int, bare: bool) -> None:
        if bare and len(rows) < _BARE_ROWS:
            return
        if bare and begin == rows[0] and begin not in self.paragraphs[-1:]:
            self.paragraphs.append(begin)
        self._put_table(begin, rows, end, named=bare)

    def _put_table(self, begin: int, rows: array[int], end: int, *, named: bool) -> None:
        """A table of these rows; its first row is its header if it is `named`, else what its delimiter row ends."""
        text = self.text
        header = int(named)
        delimiter = -1
        for i in range(1, min(len(rows), _HEADER_ROWS + 1)):
            stop = rows[i + 1] if i + 1 < len(rows) else end
            if not named and stop - rows[i] <= 10_000 and _DELIMITER.fullmatch(text[rows[i] : stop].strip()):
                header, delimiter = i + 1, rows[i - 1]
                break
        body = rows[header] if header < len(rows) else end
        self.items.append(Block(False, begin, end, rows[0], body, end, delimiter, rows[header + 1 :]))


class _Closable:
    """Whether a fence that opens on some line is closed on a later one."""

    def __init__(self, text: str) -> None:
        found = [(match.start(), match.group("mark")) for match in _BARE_FENCE.finditer(text)]
        self._at = [position for position, _ in found]
        self._longest = {mark: array("L", [0] * (len(found) + 1)) for mark in "`~"}
        for mark, longest in self._longest.items():
            for i in range(len(found) - 1, -1, -1):
                here = found[i][1]
                longest[i] = max(longest[i + 1], len(here) if here[0] == mark else 0)

    def __call__(self, after: int, mark: str, info: str) -> bool:
        if mark[0] == "`" and "`" in info:
            return False  # code within a line
        return self._longest[mark[0]][bisect_left(self._at, after)] >= len(mark)
