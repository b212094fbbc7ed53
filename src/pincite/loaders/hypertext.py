"""What a reader sees of a page of HTML, in order, with its headings. Web pages, books and mail are read with it.

In linear time and without recursion. `pincite.loaders.html` says what is left out and how blocks are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from pincite.errors import LoadError
from pincite.loaders.clean import clean, collapse
from pincite.loaders.decode import Decoded, decode
from pincite.loaders.hidden import Hidden, reads_like_orders, tag_words
from pincite.loaders.hypertext_hiding import PLAIN, Look, Sheet, declarations, hiding, looked, of_interest, parse_sheet
from pincite.loaders.hypertext_tables import MOST_COLUMNS, Draft, Grid, Plan
from pincite.loaders.hypertext_writer import HypertextWriter
from pincite.loaders.numbering import ordinal
from pincite.types import Heading, MetadataValue

__all__ = ["Hypertext", "decode_page", "read_hypertext"]


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
# Elements that start on a new line, by the number of line ends around them.
_BREAKS = {
    **dict.fromkeys(_names("p blockquote pre ul ol menu dl table figure form fieldset hr h1 h2 h3 h4 h5 h6"), 2),
    **dict.fromkeys(_names("article section main details address"), 2),
    **dict.fromkeys(_names("div li dt dd tr caption thead tbody tfoot figcaption header footer aside"), 1),
    **dict.fromkeys(_names("legend summary center dir hgroup body html"), 1),
}
# Blocks that end a heading whose end tag is missing; it would swallow the page.
_NOT_IN_HEADINGS = _names("p blockquote pre ul ol menu dl table hr form figure article section main")
# Elements without text for a reader: code, data, controls, pictures, and the way around the site.
_SILENT = _names(
    "head script style noscript template nav search select datalist button input textarea svg canvas iframe object "
    "embed audio video noframes annotation annotation-xml"
)
_SILENT_ROLES = frozenset({"navigation", "search", "contentinfo", "banner"})
# Lists that the page calls menus: read where it shows nothing but links, since they are then what it is about.
_MENU_ROLES = frozenset({"menu", "menubar", "toolbar"})
# The paragraph marks of documentation generators, and the column of line numbers beside a listing.
_SILENT_CLASSES = frozenset({"headerlink", "linenos", "linenodiv", "mw-editsection", "sr-only"})
_PARTS_OF_TABLES = frozenset({"thead", "tr", "td", "th"})
_LANDMARKS = frozenset({"article", "main", "section"})
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_CHARSET = re.compile(rb"""<meta[^>]{0,400}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# Tags that need no end tag, and so say nothing about depth.
_UNCLOSED = _names(
    "area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead tbody tfoot "
    "option optgroup colgroup caption html head body rt rp"
)
_VOID = _names("area base br col embed hr img input link meta param source track wbr")
_XML = re.compile(r"\s*(?:<\?xml|(?:<!DOCTYPE[^>]{0,300}>\s*)?<html[^>]{0,500}xmlns\s*=)", re.IGNORECASE)
_SELF_CLOSED = re.compile(r"<([A-Za-z][\w:.-]*)(?=[\s/])([^<>]*)/>")
_FORMATTING = _names("a b big code em font i nobr s small strike strong tt u")
_MOST_WORK = 100_000_000
_MOST_COPIES = 5_000_000
_MOST = 0.5  #: share of the page's text that its main part must hold to be taken alone


@dataclass(frozen=True, slots=True)
class Hypertext:
    """The visible text of a page. Offsets are into `text`, which may be empty."""

    text: str
    headings: tuple[Heading, ...] = ()
    title: str = ""  #: of the element ``title``
    metadata: dict[str, MetadataValue] = field(default_factory=dict)
    anchors: dict[str, int] = field(default_factory=dict)  #: where the text of an element with an id begins
    controls: int = 0
    invisible: int = 0
    hidden: Hidden = field(default_factory=Hidden)  #: text that a reader is not shown


def decode_page(data: bytes) -> Decoded:
    """The source of a page in the encoding that it declares. Raises UnsupportedFormatError for binary data."""
    # Where the standard stops looking for a declaration: after the first 1,024 bytes.
    match = _XML_ENCODING.search(data[:1024]) or _CHARSET.search(data[:1024])
    return decode(data, match[1].decode("ascii", "replace") if match else None)


def read_hypertext(source: str, *, whole: bool = False) -> Hypertext:
    """The visible text of the page whose source is `source`.

    `whole`: everything shown is read, as in a chapter of a book or a letter, where an aside is a note and a footer is
    the end; else the page's main part alone. Raises LoadError when the page cannot be parsed.
    """
    try:
        # Surrogates cannot be handed to the parser; what entities bring in is cleaned text by text later.
        cleaned = clean(source)
        html = cleaned.text
        hidden = Hidden()
        tag_words(source, hidden)
        if _XML.match(html):
            # To an HTML parser <title/> begins a title that never ends.
            html = _SELF_CLOSED.sub(_closed, html)
        _check_nesting(html)
        page = LexborHTMLParser(html)
        writer = HypertextWriter(cleaned.controls, cleaned.invisible, hidden)
        _write_page(page, html, writer, whole)
        metadata = _metadata(page)
        title = collapse(_first_text(page, "title"))
    except (SelectolaxError, ValueError, RuntimeError, MemoryError) as error:
        if isinstance(error, LoadError):
            raise
        raise LoadError(f"the page could not be parsed: {error}") from error
    text = writer.text()
    headings = tuple(Heading(level, collapse(text[start:end]), start, end) for level, start, end in writer.headings)
    return Hypertext(text, headings, title, metadata, writer.anchors, writer.controls, writer.invisible, writer.hidden)


def _closed(match: re.Match[str]) -> str:
    name = match[1]
    return match[0] if name.lower() in _VOID else f"<{name}{match[2]}></{name}>"


def _first_text(page: LexborHTMLParser, selector: str) -> str:
    node = page.css_first(selector)
    return clean(node.text()).text if node is not None else ""


def _metadata(page: LexborHTMLParser) -> dict[str, MetadataValue]:
    found: dict[str, MetadataValue] = {}
    root = page.css_first("html")
    language = (root.attributes.get("lang") or "") if root is not None else ""
    if language.strip():
        found["language"] = collapse(clean(language).text)
    for node in page.css("meta[name]"):
        key = (node.attributes.get("name") or "").lower()
        value = collapse(clean(node.attributes.get("content") or "").text)
        if key in ("author", "description") and value:
            found.setdefault(key, value)
    return found


class _Visitor(Protocol):
    """Told of every element and text of a part of the page, in document order."""

    def enter(self, node: LexborNode, tag: str) -> bool:
        """Whether to go inside. An element not gone into is not left either."""
        ...

    def leave(self, tag: str) -> None: ...

    def text(self, text: str) -> None: ...


def _walk(root: LexborNode, visitor: _Visitor) -> None:
    """Show `root` and its inside to `visitor`, without recursion: pages nest thousands of elements deep."""
    node = root
    open_tags: list[str] = []
    while True:
        child: LexborNode | None = None
        if node.is_text_node:
            visitor.text(node.text_content or "")
        elif node.is_element_node:
            tag = node.tag or ""
            if visitor.enter(node, tag):
                child = node.first_child
                if child is None:
                    visitor.leave(tag)
                else:
                    open_tags.append(tag)
        if child is not None:
            node = child
            continue
        while open_tags:
            following = node.next
            if following is not None:
                node = following
                break
            parent = node.parent
            visitor.leave(open_tags.pop())
            if parent is None:
                return
            node = parent
        else:
            return


Sight = Literal["shown", "silent", "hidden"]


class _Eyes:
    """Decides, element by element in document order, what a reader is shown."""

    def __init__(self, whole: bool, sheet: Sheet, *, menus: bool = False) -> None:
        self.why = ""  #: of an element that is hidden: in which way
        self._own: list[bool] = []  # of the open elements: whether headers and footers inside are their own
        self._looks: list[Look] = [replace(PLAIN, sure=sheet.whole)]  # of the open elements, behind that of the page
        self._inside = int(whole)
        self._sheet = sheet
        self._menus = menus

    def inherit(self, root: LexborNode) -> None:
        """Begin inside of what stands around `root`."""
        around = []
        parent = root.parent
        while parent is not None:
            around.append(parent)
            parent = parent.parent
        for each in reversed(around):
            self._looks[0] = self._look_of(each, each.tag or "", self._looks[0])

    def look(self, node: LexborNode, tag: str) -> Sight:
        """What becomes of `node`. When it is shown, `close` must be called at its end."""
        if tag in _SILENT:
            return "silent"
        attributes = node.attributes
        role = ""
        look = self._looks[-1]
        if attributes or self._sheet.rules:
            if "hidden" in attributes:
                return self._hidden("attribute hidden")
            if (attributes.get("aria-hidden") or "").strip().lower() == "true":
                return self._hidden("aria-hidden")
            style = attributes.get("style")
            if style and of_interest(style) and (why := hiding(declarations(style), inline=True)):
                return self._hidden(why)
            classes = attributes.get("class")
            ruled = self._sheet.of(tag, classes or "", attributes.get("id") or "")
            if ruled and (why := hiding({**ruled, **declarations(style or "")}, inline=False)):
                if self._sheet.steady or (not look.judged and reads_like_orders(node.text())):
                    return self._hidden(why)
                look = replace(look, judged=True)
            if classes and not _SILENT_CLASSES.isdisjoint(classes.split()):
                return "silent"
            role = (attributes.get("role") or "").strip().lower()
            if role in _SILENT_ROLES or (role in _MENU_ROLES and not self._menus):
                return "silent"
        if tag == "dialog" and "open" not in attributes:
            return self._hidden("a dialog that is not open")
        own = tag in _LANDMARKS or role in ("main", "article")
        if not own and not self._inside:
            if tag in ("footer", "aside") or role == "contentinfo":
                return "silent"
            if tag == "header" or role == "banner":
                if node.css_first("h1") is None:
                    return "silent"
                own = True  # so that a header within a header is not searched again
        self._own.append(own)
        self._looks.append(self._look_of(node, tag, look))
        self._inside += own
        return "shown"

    def veil(self, text: str) -> str:
        """Why `text`, which stands in the open element, is not seen; "" where it is."""
        why, sure = self._looks[-1].veil
        return why if why and text.strip() and (sure or reads_like_orders(text)) else ""

    def close(self) -> None:
        self._inside -= self._own.pop()
        self._looks.pop()

    def _hidden(self, why: str) -> Sight:
        self.why = why
        return "hidden"

    def _look_of(self, node: LexborNode, tag: str, look: Look) -> Look:
        attributes = node.attributes
        if not attributes and tag not in self._sheet.rules:
            return look
        style = attributes.get("style") or ""
        declared = self._sheet.of(tag, attributes.get("class") or "", attributes.get("id") or "")
        if style and of_interest(style):
            declared = {**declared, **declarations(style)}
        return looked(look, declared, attributes, tag, whole=self._sheet.whole)


class _Survey(_Visitor):
    """What one look over the page finds out before anything is written."""

    def __init__(self, whole: bool, sheet: Sheet, *, menus: bool = False) -> None:
        self.total = 0  #: characters shown that are not white space
        self.linked = 0  #: of those, the ones that are part of links
        self.mains: list[tuple[int, LexborNode]] = []  #: the outermost main elements and how much they show
        self.articles: list[tuple[int, LexborNode]] = []
        self.tables: dict[int, Plan] = {}  #: by address; one that is not there only arranges blocks on the page
        self._whole = whole
        self._eyes = _Eyes(whole, sheet, menus=menus)
        self._links = 0  # open ones
        self._open: list[tuple[list[tuple[int, LexborNode]] | None, LexborNode | None, int]] = []
        self._inside: list[list[tuple[int, LexborNode]]] = []
        self._tables: list[tuple[int, Draft]] = []

    def enter(self, node: LexborNode, tag: str) -> bool:
        if self._eyes.look(node, tag) != "shown":
            return False
        if self._tables and (tag in _HEADINGS or tag in ("table", "pre", "article", "main")):
            self._tables[-1][1].layout = True
        if tag == "table":
            role = (node.attributes.get("role") or "").lower()
            self._tables.append((node.mem_id, Draft(layout=role in ("presentation", "none"))))
        elif self._tables and tag in _PARTS_OF_TABLES:
            draft = self._tables[-1][1]
            if tag == "tr":
                draft.begin_row()
            elif tag == "thead":
                draft.head(True)
            else:
                draft.cell(min(_integer(node.attributes.get("colspan")) or 1, MOST_COLUMNS), tag == "th")
        self._links += tag == "a"
        kind = None
        if tag in ("main", "article", "div", "section"):
            role = (node.attributes.get("role") or "").lower()
            if tag == "main" or role == "main":
                kind = self.mains
            elif tag == "article" or role == "article":
                kind = self.articles
        if kind is not None and any(kind is other for other in self._inside):
            kind = None
        if kind is not None:
            self._inside.append(kind)
        self._open.append((kind, node if kind is not None else None, self.total))
        return True

    def leave(self, tag: str) -> None:
        self._eyes.close()
        self._links -= tag == "a"
        kind, node, before = self._open.pop()
        if kind is not None and node is not None:
            self._inside.pop()
            kind.append((self.total - before, node))
        if not self._tables:
            return
        address, draft = self._tables[-1]
        if tag == "tr":
            draft.end_row()
        elif tag == "thead":
            draft.head(False)
        elif tag == "table":
            self._tables.pop()
            plan = draft.plan()
            if plan is not None:
                self.tables[address] = plan

    def text(self, text: str) -> None:
        if self._eyes.veil(text):
            return
        size = sum(map(len, text.split()))
        self.total += size
        self.linked += size * bool(self._links)
        if self._tables:
            self._tables[-1][1].text(text)

    def roots(self, body: LexborNode) -> list[LexborNode]:
        """The parts of the page to write."""
        if self._whole:
            return [body]
        if self.mains:
            most, main = max(self.mains, key=lambda found: found[0])
            if most and most >= _MOST * self.total:
                return [main]
        together = sum(size for size, _ in self.articles)
        if together and together >= _MOST * self.total:
            return [node for _, node in self.articles]
        return [body]


@dataclass(slots=True)
class _List:
    """A list whose items are being written."""

    ordered: bool
    number: int
    style: str


class _Scribe(_Visitor):
    """Writes what is shown."""

    def __init__(
        self, writer: HypertextWriter, tables: Mapping[int, Plan], whole: bool, sheet: Sheet, *, menus: bool
    ) -> None:
        self._writer = writer
        self._plans = tables
        self._eyes = _Eyes(whole, sheet, menus=menus)
        self._lists: list[_List] = []
        self._tables: list[Grid | None] = []  # the open tables; None for one whose rows are no lines
        self._verbatim = 0

    def enter(self, node: LexborNode, tag: str) -> bool:
        writer = self._writer
        if tag == "br":
            if self._verbatim and not writer.cells:
                writer.verbatim("\n")
            else:
                writer.line_break(1, more=1)
            return False
        sight = self._eyes.look(node, tag)
        if sight != "shown":
            if sight == "hidden":
                writer.hidden.shown()
                writer.hidden.note(self._eyes.why, node.text(separator=" "))
                writer.hidden.shown()
            return False
        if tag in _BREAKS and not (tag in ("ul", "ol", "menu") and self._lists):
            writer.line_break(_BREAKS[tag])
        name = node.attributes.get("id")
        if name:
            writer.anchor(name)
        grid = self._tables[-1] if self._tables else None
        if tag in _HEADINGS:
            writer.open_heading(_HEADINGS[tag])
        elif tag in _NOT_IN_HEADINGS:
            writer.cut_heading()
        if tag == "pre":
            self._verbatim += 1
        elif tag == "table":
            plan = self._plans.get(node.mem_id)
            self._tables.append(None if plan is None else Grid(plan))
        elif tag == "tr" and grid is not None:
            if not node.text().strip():
                grid.skip_row(writer)
                self._eyes.close()
                return False
            grid.begin_row(writer)
        elif tag in ("td", "th"):
            if grid is not None:
                attributes = node.attributes
                grid.begin_cell(writer, _integer(attributes.get("rowspan")), _integer(attributes.get("colspan")))
            else:
                writer.line_break(1)
        elif tag in ("ul", "ol", "menu"):
            self._lists.append(_list_of(node, tag))
        elif tag == "li":
            writer.line_break(1)
            self._mark(node)
        elif tag == "sup":
            writer.raise_number()
        elif tag == "q":
            writer.flow("\u201c")
        return True

    def leave(self, tag: str) -> None:
        writer = self._writer
        self._eyes.close()
        if tag in _HEADINGS:
            writer.close_heading()
        elif tag == "pre":
            self._verbatim -= 1
        elif tag == "table":
            self._tables.pop()
        elif tag in ("td", "th"):
            grid = self._tables[-1] if self._tables else None
            if grid is not None:
                grid.end_cell(writer)
            else:
                writer.line_break(1)
        elif tag == "tr" and self._tables and (grid := self._tables[-1]) is not None:
            grid.end_row(writer)
        elif tag in ("ul", "ol", "menu"):
            self._lists.pop()
        elif tag == "li":
            writer.forget_item()
        elif tag == "q":
            writer.flow("\u201d")
        if tag in _BREAKS:
            nested = tag in ("ul", "ol", "menu") and self._lists
            writer.line_break(1 if nested else _BREAKS[tag])

    def begin(self, root: LexborNode) -> None:
        """Begin with what stands around `root`."""
        self._eyes.inherit(root)

    def text(self, text: str) -> None:
        if why := self._eyes.veil(text):
            self._writer.hidden.note(why, text)
            return
        if text.strip():
            self._writer.hidden.shown()
        cleaned = clean(text)
        self._writer.controls += cleaned.controls
        self._writer.invisible += cleaned.invisible
        if self._writer.cells:
            # A row is one line, and a bar would begin a cell of its own.
            self._writer.flow(cleaned.text.replace("|", "\\|"))
        elif self._verbatim and not any(self._tables[-1:]):
            self._writer.verbatim(cleaned.text)
        else:
            self._writer.flow(cleaned.text)

    def _mark(self, node: LexborNode) -> None:
        indent = "  " * max(0, len(self._lists) - 1)
        if not self._lists or not self._lists[-1].ordered:
            self._writer.mark_item(f"{indent}- ")
            return
        numbering = self._lists[-1]
        value = _integer(node.attributes.get("value"))
        if value is not None:
            numbering.number = value
        self._writer.mark_item(f"{indent}{ordinal(numbering.number, numbering.style)}. ")
        numbering.number += 1


def _list_of(node: LexborNode, tag: str) -> _List:
    if tag != "ol":
        return _List(False, 1, "1")
    start = _integer(node.attributes.get("start"))
    return _List(True, 1 if start is None else start, node.attributes.get("type") or "1")


def _integer(value: str | None) -> int | None:
    value = (value or "").strip()
    return int(value) if re.fullmatch(r"-?[0-9]{1,6}", value) else None


def _check_nesting(html: str) -> None:
    """Refuse a page whose parsing would take quadratic time or space.

    Parsing an element costs as much as the elements open around it, and every paragraph repeats the unclosed
    formatting before it. Both sums are bounded here well above any page written for readers.
    """
    nested = formatting = work = copies = 0
    count: dict[str, int] = {}
    for match in _TAG.finditer(html):
        tag = match[2].lower()
        if tag in _UNCLOSED:
            copies += formatting
        elif match[1]:
            if count.get(tag):
                count[tag] -= 1
                nested -= 1
                formatting -= tag in _FORMATTING
        else:
            count[tag] = count.get(tag, 0) + 1
            nested += 1
            formatting += tag in _FORMATTING
            work += nested
            copies += formatting
        if work > _MOST_WORK or copies > _MOST_COPIES:
            raise LoadError("the page nests its elements too deeply to be read")


def _write_page(page: LexborHTMLParser, source: str, writer: HypertextWriter, whole: bool) -> None:
    body = page.body
    if body is None:
        return
    sheet = parse_sheet(
        "\n".join(node.text() for node in page.css("style")),
        linked=page.css_first('link[rel~="stylesheet"]') is not None,
        scripted=page.css_first("script") is not None,
    )
    for comment in _COMMENT.findall(source):
        writer.hidden.note_comment(comment)
    survey = _Survey(whole, sheet)
    _walk(body, survey)
    menus = 0 < survey.total == survey.linked
    if menus:
        survey = _Survey(whole, sheet, menus=True)
        _walk(body, survey)
    for root in survey.roots(body):
        scribe = _Scribe(writer, survey.tables, whole, sheet, menus=menus)
        scribe.begin(root)
        _walk(root, scribe)
        writer.line_break(2)
