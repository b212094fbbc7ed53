"""Which text of a page of HTML a reader is not shown: by attributes, inline styles, and simple rules of its own sheet.

No layout is computed. What cannot be decided without one (a rule with a combinator, a sheet that lies elsewhere, a
script that may show what is off) is doubtful, and doubtful text counts as hidden when it reads like orders to a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

__all__ = ["PLAIN", "Look", "Sheet", "declarations", "hiding", "looked", "of_interest", "parse_sheet"]

Declarations = Mapping[str, str]
Colour = tuple[int, int, int]

_WHITE: Colour = (255, 255, 255)
_NAMES: dict[str, Colour] = {
    "white": _WHITE,
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255),
    "whitesmoke": (245, 245, 245),
    "floralwhite": (255, 250, 240),
    "black": (0, 0, 0),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "navy": (0, 0, 128),
}
#: Colours nearer than this in each part are one to the eye.
_SAME = 10
_COLOUR = re.compile(r"#[0-9a-f]{3,8}\b|rgba?\([^)]*\)|\b[a-z]+\b")
_SIZE = re.compile(r"(?<![\w#.-])(-?\d*\.?\d+)(px|pt|em|rem|%|ex|ch|vw|vh|in|cm|mm|pc)?(?![\w.])")
_PIXELS = {"px": 1.0, "pt": 4 / 3, "em": 16.0, "rem": 16.0, "%": 0.16, "ex": 8.0, "in": 96.0, "cm": 37.8, "mm": 3.78}
#: In pixels: what is this small cannot be read, what is this far to the left or above is not on the page.
_TINY, _FAR = 1.34, -900.0
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_AT_RULE = re.compile(r"@[\w-]+[^{};]*(?:;|\{(?:[^{}]|\{[^{}]*\})*\})")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SIMPLE = re.compile(r"[a-z][a-z0-9]*|(?:[a-z][a-z0-9]*)?[.#][\w-]+", re.IGNORECASE)
_OF_INTEREST = re.compile(
    r"display|visib|opacity|font|color|background|left|top|right|bottom|indent|clip|height|transform"
)


@dataclass(frozen=True, slots=True)
class Look:
    """How text inside an element looks, as far as is known."""

    colour: Colour | None = (0, 0, 0)  #: None: not known
    background: Colour | None = _WHITE
    sure: bool = True  #: no sheet that is not known could give the background
    tiny: bool = False
    clear: bool = False  #: the colour is transparent
    judged: bool = False  #: it was doubtful whether an element around it is shown, and it was taken to be

    @property
    def veil(self) -> tuple[str, bool]:
        """Why text that looks like this is not seen, "" where it is; whether that is sure."""
        if self.tiny:
            return "too small to read", True
        if self.clear:
            return "transparent", True
        if self.colour is None or self.background is None:
            return "", True
        if all(abs(a - b) <= _SAME for a, b in zip(self.colour, self.background, strict=True)):
            white = min(self.colour) >= 255 - _SAME
            return ("white on white" if white else "in the colour of its background"), self.sure
        return "", True


PLAIN = Look()


@dataclass(frozen=True, slots=True)
class Sheet:
    """The simple rules of a page's own style sheets: selector → what it declares."""

    rules: Mapping[str, Declarations] = field(default_factory=dict)
    whole: bool = True  #: there is no other rule that could give a background
    steady: bool = True  #: nothing on the page could show what is off

    def of(self, tag: str, classes: str, name: str) -> dict[str, str]:
        """What the rules declare of an element, by tag, then class, then id."""
        found: dict[str, str] = {}
        if not self.rules:
            return found
        keys = [tag]
        for each in classes.split():
            keys += [f".{each}", f"{tag}.{each}"]
        if name:
            keys += [f"#{name}", f"{tag}#{name}"]
        for key in keys:
            if key in self.rules:
                found.update(self.rules[key])
        return found


def parse_sheet(sheets: str, *, linked: bool, scripted: bool) -> Sheet:
    """The rules of `sheets`; `linked`: the page has others elsewhere; `scripted`: it has scripts."""
    text = _AT_RULE.sub(" ", _COMMENT.sub(" ", sheets))
    rules: dict[str, dict[str, str]] = {}
    whole, steady = not linked, not scripted
    for selectors, body in _RULE.findall(text):
        declared = declarations(body)
        for selector in selectors.split(","):
            selector = selector.strip()
            if _SIMPLE.fullmatch(selector):
                tag, sign, name = re.match(r"([^.#]*)([.#]?)(.*)", selector).groups()  # type: ignore[union-attr]
                rules.setdefault(f"{tag.lower()}{sign}{name}", {}).update(declared)
            else:
                whole = whole and not any(key.startswith("background") for key in declared)
                steady = steady and not {"display", "visibility", "opacity"} & declared.keys()
    return Sheet(rules, whole, steady)


def declarations(style: str) -> dict[str, str]:
    """``property: value`` pairs in small letters, without ``!important``."""
    found = {}
    for each in style.lower().split(";"):
        name, colon, value = each.partition(":")
        if colon:
            found[name.strip()] = value.replace("!important", "").strip()
    return found


def hiding(style: Declarations, *, inline: bool) -> str:
    """Why an element with this style is not shown; "" where it is."""
    if style.get("display") == "none":
        return "display: none"
    if style.get("visibility") in ("hidden", "collapse"):
        return "visibility: hidden"
    if (opacity := _number(style.get("opacity", ""))) is not None and opacity <= 0.01:
        return "opacity: 0"
    if style.get("position") in ("absolute", "fixed"):
        if any((_pixels(style.get(side, "")) or 0.0) <= _FAR for side in ("left", "top", "right", "bottom")):
            return "off the page"
        if re.match(r"rect\(\s*0(?:px)?[, ]+0(?:px)?[, ]+0(?:px)?[, ]+0", style.get("clip", "")):
            return "clipped away"
    if (_pixels(style.get("text-indent", "")) or 0.0) <= _FAR or re.search(
        r"translate[xy]?\(\s*-\d{4,}px", style.get("transform", "")
    ):
        return "off the page"
    # A sheet folds what a click unfolds; an element that is made so by hand is not for readers.
    folded = any(_pixels(style.get(side, "")) == 0 for side in ("height", "max-height", "width", "max-width"))
    if inline and folded and style.get("overflow") == "hidden":
        return "no height or width"
    return ""


def looked(look: Look, style: Declarations, attributes: Mapping[str, str | None], tag: str, *, whole: bool) -> Look:
    """How the inside of an element looks, given how its parent does; `whole`: every rule for it is known."""
    if not whole and (attributes.get("class") or attributes.get("id")):
        look = replace(look, sure=False)
    if size := style.get("font-size") or style.get("font"):
        look = _sized(look, size, shorthand="font-size" not in style)
    if background := style.get("background-color") or style.get("background") or attributes.get("bgcolor") or "":
        look = _grounded(look, background.lower())
    if style.get("background-image", "none") != "none":
        look = replace(look, background=None)
    colour = style.get("color") or (attributes.get("color") or "" if tag == "font" else "")
    if colour and colour not in ("inherit", "currentcolor", "unset"):
        clipped = "text" in style.get("background-clip", "") + style.get("-webkit-background-clip", "")
        seen, alpha = _colour(colour)
        clear = alpha <= 0.02
        look = replace(look, colour=None if clear else seen, clear=clear and not clipped)
    return look


def of_interest(style: str) -> bool:
    """Whether an inline style says anything that matters here."""
    return _OF_INTEREST.search(style.lower()) is not None


def _sized(look: Look, size: str, *, shorthand: bool) -> Look:
    match = _SIZE.search(size)
    if match is None:
        return look if shorthand else replace(look, tiny=False)
    # A share of what is too small is too small.
    if match[2] in ("em", "%") and look.tiny:
        return look
    pixels = _pixels(match[0])
    return look if pixels is None else replace(look, tiny=pixels <= _TINY)


def _grounded(look: Look, background: str) -> Look:
    if "url(" in background or "gradient" in background or "var(" in background:
        return replace(look, background=None)
    for match in _COLOUR.finditer(background):
        colour, alpha = _colour(match[0])
        if colour is not None:
            return replace(
                look, background=colour if alpha > 0.9 else look.background if alpha <= 0.1 else None, sure=True
            )
    return look if background in ("none", "transparent", "inherit") else replace(look, background=None)


def _colour(written: str) -> tuple[Colour | None, float]:
    """A colour and how opaque it is; None where that is not known."""
    written = written.strip().lower()
    if written == "transparent":
        return _WHITE, 0.0
    if written in _NAMES:
        return _NAMES[written], 1.0
    if match := re.fullmatch(r"#?([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})", written):
        digits = match[1] if len(match[1]) > 4 else "".join(2 * each for each in match[1])
        parts = [int(digits[i : i + 2], 16) for i in range(0, len(digits), 2)]
        return (parts[0], parts[1], parts[2]), parts[3] / 255 if len(parts) > 3 else 1.0
    if match := re.fullmatch(r"rgba?\((.*)\)", written):
        numbers = re.findall(r"(-?\d*\.?\d+)(%?)", match[1])
        if len(numbers) >= 3:
            r, g, b = (round(min(255.0, float(n) * (2.55 if percent else 1))) for n, percent in numbers[:3])
            alpha = float(numbers[3][0]) / (100 if numbers[3][1] else 1) if len(numbers) > 3 else 1.0
            return (r, g, b), alpha
    return None, 1.0


def _pixels(written: str) -> float | None:
    match = _SIZE.match(written.strip())
    if match is None or (match[2] is None and float(match[1]) != 0):
        return None
    return float(match[1]) * _PIXELS.get(match[2] or "px", 16.0)


def _number(written: str) -> float | None:
    match = re.fullmatch(r"(\d*\.?\d+)(%?)", written.strip())
    return None if match is None else float(match[1]) / (100 if match[2] else 1)
