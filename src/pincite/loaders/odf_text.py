"""Text of the OpenDocument formats: paragraphs, headings, lists with their numbers, notes, tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pincite.loaders.clean import collapse
from pincite.loaders.hidden import Hidden
from pincite.loaders.numbering import ordinal
from pincite.loaders.office_package import Element, attribute, child, local
from pincite.loaders.table_text import first_row_is_header, table_lines
from pincite.loaders.writer import TextWriter

__all__ = ["OdfText", "Styles", "table_rows"]


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_P, _STYLE = f"{_TEXT}p", f"{_TEXT}style-name"
_CELL, _COVERED, _COLUMNS = f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell", f"{_TABLE}number-columns-repeated"
_SPACE = re.compile(r"[ \t\r\n]+")
_MOST_CELLS = 20_000_000  #: of one table, repeated ones counted each time
# What stands among the text and is none of it, or is read elsewhere.
_GONE = _names(
    "tracked-changes ruby-text hidden-paragraph sequence-decls variable-decls user-field-decls forms "
    "table-of-content illustration-index table-index object-index note-ref-decls title desc event-listeners"
)
_WRAPPERS = _names(
    "section text index-body user-index alphabetical-index bibliography index-title soft-page-break "
    "table-cell covered-table-cell text-box p-group"
)


@dataclass(slots=True)
class _Level:
    """A level of a list: how its items are marked."""

    bullet: bool = False
    style: str = ""  #: of the number; "" where there is none
    before: str = ""
    after: str = ""
    start: int = 1
    shown: int = 1  #: levels written in a number, this one included


@dataclass(slots=True)
class _Style:
    parent: str = ""
    hidden: bool | None = None
    list_style: str = ""
    shown: bool | None = None  #: of a slide or a sheet


class Styles:
    """The styles of a document that say something of its text."""

    def __init__(self, *roots: Element | None) -> None:
        self.lists: dict[str, dict[int, _Level]] = {}
        self.outline: dict[int, _Level] = {}
        self._styles: dict[str, _Style] = {}
        for root in roots:
            for element in root.iter() if root is not None else ():
                tag = local(element)
                if tag == "body":
                    break
                if tag == "style":
                    self._styles[attribute(element, "name")] = _style(element)
                elif tag == "list-style":
                    self.lists[attribute(element, "name")] = dict(map(_level, element))
                elif tag == "outline-style":
                    self.outline = dict(map(_level, element))

    def hidden(self, name: str) -> bool:
        """Whether text of this style is hidden."""
        return any(style.hidden for style in self._chain(name))

    def shown(self, name: str) -> bool:
        """Whether a slide or a sheet of this style is shown."""
        return next((style.shown for style in self._chain(name) if style.shown is not None), True)

    def list_of(self, name: str) -> str:
        """The list that paragraphs of this style are in; "" if none."""
        return next((style.list_style for style in self._chain(name) if style.list_style), "")

    def is_title(self, name: str) -> bool:
        """Whether this is the style of a document's title, or made from it."""
        return name.lower() == "title" or any(style.parent.lower() == "title" for style in self._chain(name))

    def _chain(self, name: str) -> Iterator[_Style]:
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[name]
            name = self._styles[name].parent


def _style(element: Element) -> _Style:
    style = _Style(attribute(element, "parent-style-name"), list_style=attribute(element, "list-style-name"))
    for each in element:
        tag = local(each)
        if tag == "text-properties" and attribute(each, "display") in ("none", "true"):
            style.hidden = attribute(each, "display") == "none"
        elif tag == "table-properties" and attribute(each, "display"):
            style.shown = attribute(each, "display") != "false"
        elif tag == "drawing-page-properties" and attribute(each, "visibility"):
            style.shown = attribute(each, "visibility") != "hidden"
    return style


def _level(element: Element) -> tuple[int, _Level]:
    start, shown = _count(attribute(element, "start-value"), 1), _count(attribute(element, "display-levels"), 1)
    return _count(attribute(element, "level"), 1), _Level(
        bullet=local(element) in ("list-level-style-bullet", "list-level-style-image"),
        style=attribute(element, "num-format")[:1],
        before=attribute(element, "num-prefix"),
        after=attribute(element, "num-suffix"),
        start=start,
        shown=shown,
    )


def _count(text: str, otherwise: int) -> int:
    return int(text) if re.fullmatch(r"\d{1,9}", text) else otherwise


@dataclass(slots=True)
class _Inline:
    """What a paragraph holds beside its words."""

    boxes: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)


class OdfText:
    """Writes the text of an element's children, in order. `notes` and `comments` gather what is referred to."""

    def __init__(self, writer: TextWriter, styles: Styles) -> None:
        self.writer = writer
        self.styles = styles
        self.title = ""
        self.hidden = Hidden()  #: hidden text left out
        self.objects: list[str] = []  #: addresses of embedded objects, where `on_object` is not set
        self.comments: list[tuple[str, str]] = []  #: author and text
        self._notes: list[Element] = []
        self._counts: dict[str | None, dict[int, int]] = {}
        self._in_list = False

    def blocks(self, parent: Element) -> None:
        """Write the paragraphs, lists and tables inside `parent`."""
        listed = False
        for element in parent:
            tag = local(element)
            # A list that goes on in another style is stored as a second one.
            after_list, listed = listed, tag == "list"
            if tag == "p":
                self._paragraph(element)
            elif tag == "h":
                self._heading(element)
            elif tag == "list":
                self._list(element, "", 1, after_list)
            elif tag == "table":
                self.table(element)
            elif tag == "frame":
                self.frame(element)
            elif tag in ("custom-shape", "g", "rect", "ellipse", "line", "connector", "caption", "polygon", "path"):
                self.blocks(element)
            elif tag in _WRAPPERS:
                if tag == "section" and attribute(element, "display") == "none":
                    self._hide(element)
                else:
                    self.blocks(element)
            elif tag == "annotation":
                self._annotation(element)

    def frame(self, frame: Element) -> None:
        """Write what a frame shows: a text box, a table, or the name of an embedded object for later."""
        for element in frame:
            tag = local(element)
            if tag == "text-box":
                self.blocks(element)
                return
            if tag == "table":
                self.table(element)
                return
            if tag in ("object", "object-ole") and attribute(element, "href"):
                self.objects.append(attribute(element, "href"))
                return

    def write_notes(self) -> None:
        """Write the notes referred to so far, each behind its mark."""
        # A note may hold a mark of its own only in a damaged file: the list is taken as it is now.
        for number, note in enumerate(tuple(self._notes), 1):
            body = child(note, "note-body")
            text = collapse(" ".join(self.cell(body))) if body is not None else ""
            if text:
                self.writer.write(f"[^{number}]: {text}")

    def table(self, table: Element) -> None:
        """Write a table, or the text in a frame of one column."""
        cells = [[cell for cell in row if local(cell).endswith("table-cell")] for row in _rows(table)]
        if all(len(row) <= 1 for row in cells):
            # One column is a frame around text, not a table.
            for row in cells:
                for each in row:
                    self.blocks(each)
            return
        rows = [list(map(collapse, row)) for row in table_rows(table, self.cell_text)]
        rows = [row for row in rows if any(row)]
        width = max(map(len, rows), default=0)
        if rows:
            named = child(table, "table-header-rows") is not None
            self.writer.lines(table_lines(rows, width, header=named or first_row_is_header(rows)))

    def cell_text(self, cell: Element) -> str:
        """The text of a cell on one line."""
        if len(cell) == 1 and cell[0].tag == _P and not len(cell[0]):  # nearly all of a long sheet
            style = cell[0].get(_STYLE)
            if not style or not self.styles.hidden(style):
                return collapse(cell[0].text or "")
        return " ".join(self.cell(cell))

    def cell(self, parent: Element) -> Iterator[str]:
        """The texts inside a cell or a note, each paragraph apart."""
        for element in parent:
            tag = local(element)
            if tag in ("p", "h"):
                inline = self._inline(element)
                yield "".join(inline.pieces)
                for box in inline.boxes:
                    yield from self.cell(box)
            elif tag == "annotation":
                self._annotation(element)
            elif tag not in _GONE:
                yield from self.cell(element)

    def _paragraph(self, element: Element, mark: str = "", close: bool = False) -> bool:
        inline = self._inline(element)
        text = "".join(inline.pieces).strip()
        written = False
        if text:
            style = attribute(element, "style-name")
            listed = self.styles.list_of(style) if not mark and not self._in_list else ""
            mark = mark or (f"{found} " if listed and (found := self._number(listed, 1, None)) else "")
            is_title = not mark and self.styles.is_title(style)
            written = self.writer.write(mark + text, close=close, level=int(is_title))
            if written and is_title and not self.title:
                self.title = collapse(text)
        for box in inline.boxes:
            self.frame(box) if local(box) == "frame" else self.blocks(box)
        return written

    def _heading(self, element: Element, mark: str = "") -> None:
        inline = self._inline(element)
        text = collapse("".join(inline.pieces))
        level = min(max(_count(attribute(element, "outline-level"), 1), 1), 10)
        if text:
            if not mark and attribute(element, "is-list-header") != "true" and level in self.styles.outline:
                found = self._number(None, level, None)
                mark = f"{found} " if found else ""
            self.writer.write(mark + text, level=level)
        for box in inline.boxes:
            self.frame(box) if local(box) == "frame" else self.blocks(box)

    # Lists

    def _list(self, element: Element, style: str, depth: int, close: bool = False) -> None:
        style = attribute(element, "style-name") or style
        if (
            depth == 1
            and attribute(element, "continue-numbering") != "true"
            and not attribute(element, "continue-list")
        ):
            self._counts.pop(style, None)
        was, self._in_list = self._in_list, True
        for item in element:
            if local(item) not in ("list-item", "list-header"):
                continue
            mark = ""
            if local(item) == "list-item" and any(local(each) in ("p", "h") for each in item):
                start = attribute(item, "start-value")
                mark = self._number(style, depth, _count(start, 1) if start else None)
            indent = "  " * (min(depth, 9) - 1)
            for each in item:
                tag = local(each)
                if tag == "p":
                    lead = f"{indent}{mark} " if mark else indent
                    if self._paragraph(each, lead, close):
                        mark, close = "", True
                        indent = "  " * min(depth, 9)
                elif tag == "h":
                    self._heading(each, f"{mark} " if mark else "")
                    mark = ""
                elif tag == "list":
                    self._list(each, style, depth + 1, close)
                    close = True
        self._in_list = was

    def _number(self, name: str | None, depth: int, start: int | None) -> str:
        """The mark of the next item of a list at `depth`; of the headings where `name` is None."""
        levels = self.styles.outline if name is None else self.styles.lists.get(name, {})
        level = levels.get(depth)
        if level is None:
            return "" if name is None else "-"
        if level.bullet:
            return "-"
        counts = self._counts.setdefault(name, {})
        if start is not None:
            counts[depth] = start
        else:
            counts[depth] = counts[depth] + 1 if depth in counts else level.start
        for deeper in [other for other in counts if other > depth]:
            del counts[deeper]
        if not level.style:
            return ""
        shown = range(max(1, depth - level.shown + 1), depth + 1)
        there = [(each, levels.get(each, _Level())) for each in shown]
        numbers = [ordinal(counts.get(each, of.start), of.style) for each, of in there if of.style]
        return f"{level.before}{'.'.join(numbers)}{level.after}".strip()

    # Words

    def _hide(self, element: Element) -> None:
        words = "".join(element.itertext()).strip() or attribute(element, "string-value")
        self.hidden.shown()
        self.hidden.note("marked as hidden", words)
        self.hidden.shown()

    def _inline(self, element: Element) -> _Inline:
        inline = _Inline()
        if self.styles.hidden(attribute(element, "style-name")):
            self._hide(element)
        else:
            self._words(element, inline)
        return inline

    def _words(self, parent: Element, inline: _Inline) -> None:
        if parent.text:
            inline.pieces.append(_SPACE.sub(" ", parent.text))
        for element in parent:
            tag = local(element)
            if tag == "s":
                inline.pieces.append(" " * min(_count(attribute(element, "c"), 1), 1000))
            elif tag == "tab":
                inline.pieces.append("\t")
            elif tag == "line-break":
                inline.pieces.append("\n")
            elif tag == "note":
                self._notes.append(element)
                inline.pieces.append(f"[^{len(self._notes)}]")
            elif tag == "annotation":
                self._annotation(element)
            elif tag in ("frame", "custom-shape", "g", "rect", "ellipse"):
                inline.boxes.append(element)
            elif tag == "hidden-text" or (tag == "span" and self.styles.hidden(attribute(element, "style-name"))):
                self._hide(element)
            elif tag and tag not in _GONE:
                self._words(element, inline)
            if element.tail:
                inline.pieces.append(_SPACE.sub(" ", element.tail))

    def _annotation(self, element: Element) -> None:
        author = child(element, "creator")
        texts = ["".join(each.itertext()) for each in element.iter() if local(each) == "p"]
        if collapse(" ".join(texts)):
            self.comments.append(
                (collapse("".join(author.itertext())) if author is not None else "", collapse(" ".join(texts)))
            )


def table_rows(table: Element, cell_text: Callable[[Element], str], most: int = _MOST_CELLS) -> Iterator[list[str]]:
    """The rows of a table, repeated ones as often as they are there; of blank rows that repeat, two.

    `cell_text` gives the text of a cell. Cells at the end of a row that hold nothing are left out. After `most` cells
    it raises ValueError.
    """
    count = 0
    for row in _rows(table):
        cells: list[str] = []
        blank = 0
        for cell in row:
            tag = cell.tag
            if tag not in (_CELL, _COVERED):
                continue
            times = cell.get(_COLUMNS)
            repeated = max(1, _count(times, 1)) if times else 1
            text = cell_text(cell).strip() if tag == _CELL and len(cell) else ""
            if not text and tag == _CELL:
                text = attribute(cell, "string-value") or (attribute(cell, "value") if not len(cell) else "")
            if not text:
                blank += repeated
                continue
            count += blank + repeated
            if count > most:
                raise ValueError(f"a table of more than {most:,} cells")
            cells.extend([""] * blank)
            cells.extend([text] * repeated)
            blank = 0
        times = max(1, _count(attribute(row, "number-rows-repeated"), 1))
        times = times if cells else min(times, 2)
        count += len(cells) * (times - 1)
        if count > most:
            raise ValueError(f"a table of more than {most:,} cells")
        for _ in range(times):
            yield cells


def _rows(table: Element) -> Iterator[Element]:
    for element in table:
        tag = local(element)
        if tag == "table-row":
            yield element
        elif tag in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows(element)
