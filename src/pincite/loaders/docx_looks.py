"""Whether a run of a Word document is shown: by its own marks, those of its styles, and what it stands on."""

from __future__ import annotations

import re

from pincite.loaders.docx_numbering import value
from pincite.loaders.office_package import Element, attribute, child, local

__all__ = ["RunLooks"]

#: Half points: 1 point and less cannot be read.
_TINY = 2
#: Colours nearer than this in each part are one to the eye.
_SAME = 10
_WHITE = (255, 255, 255)


class RunLooks:
    """Says of runs why they are not shown.

    The colour of a run counts as hiding where its background is known: its own shading or its paragraph's or cell's, or
    else the page. A background is not known in a table with a style, which may shade it by rules of its own, in a
    text box, which may be filled, on a page with a colour, and under a highlight.
    """

    def __init__(self, styles: Element | None, main: Element | None) -> None:
        self._styles: dict[str, Element] = {}
        self._defaults: dict[str, str] = {}  # kind → id of the style that holds where none is named
        for style in styles if styles is not None else ():
            if local(style) == "style":
                self._styles[attribute(style, "styleId")] = style
                if attribute(style, "default") in ("1", "true", "on"):
                    self._defaults[attribute(style, "type")] = attribute(style, "styleId")
        page = child(main, "background")
        colour = attribute(page, "color") if page is not None else ""
        self._page = _colour(colour) if colour else _WHITE

    def why_hidden(self, run: Element) -> str:
        """In which way a run is hidden; "" where it is shown."""
        chain = self._chain(run)
        if (mark := _first(chain, "vanish")) is not None and _on(mark):
            return "marked as hidden"
        size = _first(chain, "sz")
        half_points = attribute(size, "val") if size is not None else ""
        if half_points.isdecimal() and int(half_points) <= _TINY:
            return "too small to read"
        stated = _first(chain, "color")
        colour = _colour(attribute(stated, "val")) if stated is not None else None
        if colour is None or _first(chain, "highlight") is not None:
            return ""
        background = self._background(run, chain)
        if background is None or any(abs(a - b) > _SAME for a, b in zip(colour, background, strict=True)):
            return ""
        return "white on white" if min(colour) >= 255 - _SAME else "in the colour of its background"

    def _chain(self, run: Element) -> list[Element]:
        """The run properties that hold for a run, the nearest first."""
        own = child(run, "rPr")
        paragraph = next((each for each in run.iterancestors() if local(each) == "p"), None)
        found = [] if own is None else [own]
        named = [value(own, "rStyle")] if own is not None else []
        properties = child(paragraph, "pPr")
        named.append(
            (value(properties, "pStyle") if properties is not None else "") or self._defaults.get("paragraph", "")
        )
        for name in named:
            seen: set[str] = set()
            while name in self._styles and name not in seen:
                seen.add(name)
                style = self._styles[name]
                if (inside := child(style, "rPr")) is not None:
                    found.append(inside)
                name = value(style, "basedOn")
        return found

    def _background(self, run: Element, chain: list[Element]) -> tuple[int, int, int] | None:
        if (shading := _first(chain, "shd")) is not None and _fills(shading):
            return _fill(shading)
        for around in run.iterancestors():
            tag = local(around)
            properties = child(around, "pPr" if tag == "p" else "tcPr" if tag == "tc" else "tblPr")
            if tag in ("p", "tc") and properties is not None and (shading := child(properties, "shd")) is not None:
                if _fills(shading):
                    return _fill(shading)
            elif tag == "tbl" and properties is not None:
                if child(properties, "shd") is not None or value(properties, "tblStyle") not in ("", "TableGrid"):
                    return None
            elif tag in ("txbxContent", "drawing", "pict"):
                return None
            if tag == "p" and properties is not None and self._shaded(value(properties, "pStyle")):
                return None
        return self._page

    def _shaded(self, name: str) -> bool:
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            if child(self._styles[name], "pPr", "shd") is not None:
                return True
            name = value(self._styles[name], "basedOn")
        return False


def _first(chain: list[Element], name: str) -> Element | None:
    return next((found for each in chain if (found := child(each, name)) is not None), None)


def _on(mark: Element) -> bool:
    return attribute(mark, "val") not in ("0", "false", "off")


def _fills(shading: Element) -> bool:
    """Whether a shading gives a background at all."""
    return attribute(shading, "val") not in ("clear", "nil", "") or (
        attribute(shading, "fill") not in ("", "auto") or bool(attribute(shading, "themeFill"))
    )


def _fill(shading: Element) -> tuple[int, int, int] | None:
    """The colour of a background; None for a pattern or a colour of the theme, which is not looked up."""
    plain = attribute(shading, "val") in ("clear", "nil", "") and not attribute(shading, "themeFill")
    return _colour(attribute(shading, "fill")) if plain else None


def _colour(written: str) -> tuple[int, int, int] | None:
    if not re.fullmatch(r"[0-9A-Fa-f]{6}", written):
        return _WHITE if written == "white" else None
    red, green, blue = (int(written[i : i + 2], 16) for i in (0, 2, 4))
    return red, green, blue
