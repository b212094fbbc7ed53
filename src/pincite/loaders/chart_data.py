"""The data that a chart of an Office document shows, as the document keeps it beside the picture."""

from __future__ import annotations

import re

from pincite.loaders.clean import collapse
from pincite.loaders.office_package import Element, attribute, child, children, local

__all__ = ["read_chart"]

_MOST_CELLS = 100_000


def read_chart(root: Element | None) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The titles of a chart and of its axes; its categories and series as rows, the first with the series' names.

    Both empty where there is nothing. No more series are read than hold a hundred thousand values.
    """
    chart = child(root, "chart")
    titles = [_rich(child(chart, "title"))]
    titles += [_rich(child(each, "title")) for each in children(chart, "plotArea") if local(each).endswith("Ax")]
    plot = child(chart, "plotArea")
    series = [each for each in (plot.iter() if plot is not None else ()) if local(each) == "ser"]
    categories: dict[int, str] = {}
    values: list[dict[int, str]] = []
    cells = 0
    for each in series:
        places = child(each, "cat")
        for index, text in _points(child(each, "xVal") if places is None else places).items():
            categories.setdefault(index, text)
        own = child(each, "val")
        values.append(_points(child(each, "yVal") if own is None else own))
        cells += len(values[-1])
        if cells > _MOST_CELLS:
            break
    names = ["".join(_points(child(each, "tx")).values()) for each in series[: len(values)]]
    rows = [
        (categories.get(index, ""), *(each.get(index, "") for each in values))
        for index in sorted({*categories, *(index for each in values for index in each)})
    ]
    return tuple(filter(None, titles)), (("", *names), *rows) if rows else ()


def _points(element: Element | None) -> dict[int, str]:
    """The points that a file keeps of a series, by their index."""
    found: dict[int, str] = {}
    for point in element.iter() if element is not None else ():
        value = child(point, "v")
        if value is None:
            continue
        text = collapse(value.text or "")
        if local(point) == "pt":
            number = attribute(point, "idx")
            index = int(number) if re.fullmatch(r"\d{1,9}", number) else 0
            # The levels of a category stand from the inner to the outer one.
            found[index] = f"{text} {found[index]}" if index in found else text
        elif local(point) == "tx":
            found.setdefault(0, text)
    return found


def _rich(title: Element | None) -> str:
    texts = [each.text or "" for each in (title.iter() if title is not None else ()) if local(each) in ("t", "v")]
    return collapse("".join(texts))
