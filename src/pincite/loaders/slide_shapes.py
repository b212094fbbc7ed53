"""The shapes of a PowerPoint slide as text: boxes with their bullets and numbers, tables, charts, diagrams."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pincite.loaders.chart_data import read_chart
from pincite.loaders.clean import collapse
from pincite.loaders.numbering import ordinal
from pincite.loaders.office_package import Element, Package, attribute, child, find, local
from pincite.loaders.table_text import first_row_is_header

__all__ = ["Block", "Slide", "paragraph_text", "read_blocks"]

_SPARE = frozenset({"dt", "ftr", "hdr", "sldNum"})  #: placeholders that say the same on every slide
_TITLES = frozenset({"title", "ctrTitle"})
_BODIES = frozenset({"body", "obj", "subTitle", "half", "clipArt", "media", ""})
_DEEPEST = 32  #: groups within groups that are opened
_STYLES = {"alpha": "a", "roman": "i", "arabic": "1"}


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a slide: a title, the lines of a box, or the rows of a table."""

    kind: Literal["title", "lines", "table"]
    lines: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    header: bool = True


@dataclass(frozen=True, slots=True)
class Slide:
    """A slide with the layout and the master that it takes places and bullets from."""

    package: Package
    part: str
    root: Element
    layouts: tuple[Element, ...]  #: the layout, then the master


@dataclass(slots=True)
class _Placed:
    top: float
    left: float
    height: float
    order: int
    blocks: list[Block] = field(default_factory=list)


def read_blocks(slide: Slide) -> Iterator[Block]:
    """The blocks of a slide: the title first, then from top to bottom and from left to right.

    Shapes whose upper halves overlap stand in one row. A shape without a place, of its own or inherited, keeps its
    place in the file.
    """
    placed: list[_Placed] = []
    _collect(slide, child(slide.root, "cSld", "spTree"), placed, (0.0, 0.0, 1.0, 1.0), 0)
    titles = [each for each in placed if each.blocks[0].kind == "title"]
    rest = [each for each in placed if each.blocks[0].kind != "title"]
    for each in [*titles, *_in_reading_order(rest)]:
        yield from each.blocks


def _in_reading_order(placed: list[_Placed]) -> Iterator[_Placed]:
    row: list[_Placed] = []
    for each in sorted(placed, key=lambda one: (one.top, one.left, one.order)):
        if row and each.top > row[0].top + min(row[0].height, each.height) / 2:
            yield from sorted(row, key=lambda one: (one.left, one.order))
            row = []
        row.append(each)
    yield from sorted(row, key=lambda one: (one.left, one.order))


def _collect(
    slide: Slide, tree: Element | None, placed: list[_Placed], frame: tuple[float, float, float, float], depth: int
) -> None:
    """Add the shapes of a tree. `frame` turns its coordinates into those of the slide: offsets, then scales."""
    if tree is None or depth > _DEEPEST:
        return
    for shape in tree:
        tag = local(shape)
        if tag == "AlternateContent":
            options = [each for each in shape if local(each) in ("Choice", "Fallback")]
            told = next((each for each in options if find(each, "t") is not None), options[0] if options else None)
            _collect(slide, told, placed, frame, depth + 1)
        elif tag == "grpSp":
            _collect(slide, shape, placed, _group_frame(shape, frame), depth + 1)
        elif tag in ("sp", "cxnSp", "graphicFrame", "pic"):
            blocks = list(_blocks(slide, shape, tag))
            if blocks:
                left, top, height = _place(slide, shape)
                order = len(placed)
                if left is None or top is None:
                    # After the one before it: as if it stood a little below.
                    last = placed[-1] if placed else _Placed(0, 0, 0, 0)
                    placed.append(_Placed(last.top, last.left, last.height, order, blocks))
                    continue
                x, y, scale_x, scale_y = frame
                placed.append(_Placed(y + top * scale_y, x + left * scale_x, height * abs(scale_y), order, blocks))


def _blocks(slide: Slide, shape: Element, tag: str) -> Iterator[Block]:
    if tag == "graphicFrame":
        yield from _graphic(slide, shape)
        return
    kind, _ = _placeholder(shape)
    body = child(shape, "txBody")
    if body is None or kind in _SPARE:
        return
    if kind in _TITLES:
        title = collapse(" ".join(paragraph_text(p) for p in body if local(p) == "p"))
        if title:
            yield Block("title", (title,))
        return
    lines = tuple(_lines(body, _bullets(slide, shape, body)))
    if lines:
        yield Block("lines", lines)


def _placeholder(shape: Element) -> tuple[str | None, str]:
    """Type and index of a placeholder; type None for an ordinary shape."""
    for properties in shape:
        if local(properties).startswith("nv"):
            mark = child(properties, "nvPr", "ph")
            if mark is not None:
                return attribute(mark, "type"), attribute(mark, "idx")
    return None, ""


def _inherited(slide: Slide, shape: Element) -> Iterator[Element]:
    """The placeholders of layout and master that a shape takes after, nearest first."""
    kind, index = _placeholder(shape)
    if kind is None:
        return
    for root in slide.layouts:
        tree = child(root, "cSld", "spTree")
        others = [(each, *_placeholder(each)) for each in (tree if tree is not None else ()) if local(each) == "sp"]
        found = next((each for each, _, number in others if index and number == index), None)
        if found is None:
            wanted = ("title", "ctrTitle") if kind in _TITLES else (kind or "body", "body")
            found = next((each for name in wanted for each, other, _ in others if other == name), None)
        if found is not None:
            yield found
            kind = _placeholder(found)[0] or kind  # the master goes by the layout's type


def _place(slide: Slide, shape: Element) -> tuple[float | None, float | None, float]:
    """Left, top and height of a shape in the coordinates of its tree; None where nothing says."""
    for each in (shape, *_inherited(slide, shape)):
        transform = child(each, "spPr", "xfrm")
        transform = child(each, "xfrm") if transform is None else transform
        offset, extent = child(transform, "off"), child(transform, "ext")
        if offset is not None:
            return _number(offset, "x"), _number(offset, "y"), _number(extent, "cy")
    return None, None, 0.0


def _group_frame(group: Element, frame: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    transform = child(group, "grpSpPr", "xfrm")
    offset, inner = child(transform, "off"), child(transform, "chOff")
    if offset is None or inner is None:
        return frame
    extent, scaled = child(transform, "ext"), child(transform, "chExt")
    scale_x = _number(extent, "cx") / _number(scaled, "cx") if _number(scaled, "cx") else 1.0
    scale_y = _number(extent, "cy") / _number(scaled, "cy") if _number(scaled, "cy") else 1.0
    x, y, outer_x, outer_y = frame
    return (
        x + outer_x * (_number(offset, "x") - scale_x * _number(inner, "x")),
        y + outer_y * (_number(offset, "y") - scale_y * _number(inner, "y")),
        outer_x * scale_x,
        outer_y * scale_y,
    )


def _number(element: Element | None, name: str) -> float:
    text = attribute(element, name) if element is not None else ""
    return float(text) if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,9})?", text) else 0.0


# Text


def paragraph_text(paragraph: Element) -> str:
    """The words of a paragraph, formulas included; line breaks are line ends."""
    pieces: list[str] = []
    for each in paragraph.iter():
        tag = local(each)
        if tag == "t":
            pieces.append(each.text or "")
        elif tag == "br":
            pieces.append("\n")
        elif tag == "tab":
            pieces.append("\t")
    return "".join(pieces)


def _lines(body: Element, bullets: Sequence[Element]) -> Iterator[str]:
    counts: dict[int, int] = {}
    for paragraph in body:
        if local(paragraph) != "p":
            continue
        text = paragraph_text(paragraph).strip()
        properties = child(paragraph, "pPr")
        level = int(min(_number(properties, "lvl"), 8))
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        if not text:
            continue
        mark = _mark(properties, level, bullets, counts)
        counts = counts if mark and mark != "-" else {k: v for k, v in counts.items() if k < level}
        indent = "  " * level if mark else ""
        yield indent + (f"{mark} {text}" if mark else text)


def _mark(properties: Element | None, level: int, bullets: Sequence[Element], counts: dict[int, int]) -> str:
    """The bullet or number before a paragraph; "" if there is none."""
    for source in (
        [] if properties is None else [properties],
        *([child(each, f"lvl{level + 1}pPr")] for each in bullets),
    ):
        for each in source[0] if source and source[0] is not None else ():
            tag = local(each)
            if tag == "buNone":
                return ""
            if tag in ("buChar", "buBlip"):
                return "-"
            if tag == "buAutoNum":
                start = int(_number(each, "startAt")) or 1
                counts[level] = counts.get(level, start - 1) + 1
                return _numbered(attribute(each, "type"), counts[level])
    return ""


def _numbered(scheme: str, number: int) -> str:
    style = next((mark for name, mark in _STYLES.items() if scheme.startswith(name)), "1")
    style = style.upper() if "Uc" in scheme else style
    written = ordinal(number, style)
    if scheme.endswith("ParenBoth"):
        return f"({written})"
    return written + (")" if scheme.endswith("ParenR") else "" if scheme.endswith("Plain") else ".")


def _bullets(slide: Slide, shape: Element, body: Element) -> list[Element]:
    """Where a shape's bullets are said, nearest first."""
    kind, _ = _placeholder(shape)
    found = [child(body, "lstStyle")]
    found.extend(child(each, "txBody", "lstStyle") for each in _inherited(slide, shape))
    if slide.layouts:
        styles = child(slide.layouts[-1], "txStyles")
        found.append(child(styles, "bodyStyle" if kind in _BODIES else "otherStyle"))
    return [each for each in found if each is not None]


# Tables, charts, diagrams


def _graphic(slide: Slide, frame: Element) -> Iterator[Block]:
    data = child(frame, "graphic", "graphicData")
    for each in data if data is not None else ():
        tag = local(each)
        if tag == "tbl":
            yield from _table(each)
        elif tag == "chart":
            _, part = slide.package.relations(slide.part).get(attribute(each, "id"), ("", ""))
            titles, rows = read_chart(slide.package.spare_xml(part) if part else None)
            if titles:
                yield Block("lines", titles)
            if rows:
                yield Block("table", rows=rows)
        elif tag == "relIds":
            _, part = slide.package.relations(slide.part).get(attribute(each, "dm"), ("", ""))
            lines = tuple(_diagram(slide.package.spare_xml(part) if part else None))
            if lines:
                yield Block("lines", lines)


def _table(table: Element) -> Iterator[Block]:
    rows: list[tuple[str, ...]] = []
    for row in table:
        if local(row) == "tr":
            cells = []
            for cell in row:
                if local(cell) == "tc":
                    merged = attribute(cell, "hMerge") in ("1", "true") or attribute(cell, "vMerge") in ("1", "true")
                    texts = [paragraph_text(p) for p in cell.iter() if local(p) == "p" and not merged]
                    cells.append(collapse(" ".join(texts)))
            rows.append(tuple(cells))
    rows = [row for row in rows if any(row)]
    if rows and max(map(len, rows)) == 1:
        yield Block("lines", tuple(row[0] for row in rows))
    elif rows:
        properties = child(table, "tblPr")
        named = properties is not None and attribute(properties, "firstRow") in ("1", "true")
        yield Block("table", rows=tuple(rows), header=named or first_row_is_header(rows))


def _diagram(root: Element | None) -> Iterator[str]:
    points = child(root, "ptLst")
    for point in points if points is not None else ():
        body = child(point, "t")
        if body is not None and attribute(point, "type") in ("", "node", "asst"):
            text = collapse(" ".join(paragraph_text(p) for p in body if local(p) == "p"))
            if text:
                yield f"- {text}"
