"""Lists of Word documents: the file stores which list a paragraph is in, and its number has to be worked out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pincite.loaders.numbering import ordinal
from pincite.loaders.office_package import Element, attribute, child, local

__all__ = ["ListNumbers", "value", "whole"]

_BULLETS = frozenset({"bullet", "none", ""})
_NUMBER_STYLES = {
    "lowerLetter": "a",
    "upperLetter": "A",
    "lowerRoman": "i",
    "upperRoman": "I",
}


@dataclass(slots=True)
class _Level:
    style: str = "decimal"
    pattern: str = ""
    start: int = 1
    legal: bool = False  #: every number of the pattern in digits


class ListNumbers:
    """The numbers of the items of all lists. `root` is the part that defines the lists, if there is one."""

    def __init__(self, root: Element | None) -> None:
        self._levels: dict[str, dict[int, _Level]] = {}
        self._lists: dict[str, str] = {}
        self._starts: dict[tuple[str, int], int] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()
        for element in root if root is not None else ():
            if local(element) == "abstractNum":
                levels = (each for each in element if local(each) == "lvl")
                self._levels[attribute(element, "abstractNumId")] = {
                    whole(attribute(lvl, "ilvl")): _level(lvl) for lvl in levels
                }
            elif local(element) == "num":
                name = attribute(element, "numId")
                self._lists[name] = value(element, "abstractNumId")
                for override in element:
                    start = child(override, "startOverride")
                    if start is not None:
                        self._starts[name, whole(attribute(override, "ilvl"))] = whole(attribute(start, "val"))

    def next(self, name: str, depth: int) -> str:
        """The marker of the next item of list `name` at `depth`; "" when it has none."""
        abstract = self._lists.get(name)
        levels = self._levels.get(abstract or "", {})
        level = levels.get(depth)
        if abstract is None or level is None:
            return ""
        # Lists made from one definition go on counting together until one restarts.
        counts = self._counts.setdefault(abstract, {})
        if (name, depth) in self._starts and (name, depth) not in self._begun:
            counts[depth] = self._starts[name, depth]
        else:
            counts[depth] = counts[depth] + 1 if depth in counts else level.start
        self._begun.add((name, depth))
        for deeper in [other for other in counts if other > depth]:
            del counts[deeper]
        if level.style in _BULLETS:
            return "-" if level.style == "bullet" else level.pattern.strip()

        def written(match: re.Match[str]) -> str:
            wanted = int(match[1]) - 1
            there = levels.get(wanted, _Level())
            style = "decimal" if level.legal else there.style
            number = counts.get(wanted, there.start)
            return f"{number:02d}" if style == "decimalZero" else ordinal(number, _NUMBER_STYLES.get(style, "1"))

        return re.sub(r"%([1-9])", written, level.pattern).strip()


def _level(element: Element) -> _Level:
    start = value(element, "start")
    return _Level(
        style=value(element, "numFmt") or "decimal",
        pattern=value(element, "lvlText"),
        start=whole(start) if start else 1,
        legal=child(element, "isLgl") is not None,
    )


def value(element: Element | None, name: str) -> str:
    """What the child called `name` says; "" if there is none."""
    found = child(element, name)
    return "" if found is None else attribute(found, "val")


def whole(text: str) -> int:
    """A whole number as these files write it; 0 for what is none."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else 0
