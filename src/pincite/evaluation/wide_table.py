"""A table that may be wider than the place for it: given in parts below each other, no value cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["WideTable"]

#: Characters around a column, of the rule and the space beside it.
_GAP = 3
#: Characters that a name is never given less than.
_LEAST_NAME = 10


@dataclass
class WideTable:
    """A table before its width is known: the first columns name a row and stand in every part."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    names: int = 1
    caption: str = ""

    def parts(self, width: int | None) -> Iterator[Table]:
        """Tables of at most `width` characters, each with the names at its left; one table for None.

        No value is cut: names, and a value that is wider than a whole part, are broken over lines.
        """
        from rich.cells import cell_len

        widths = [max(map(cell_len, column)) + _GAP for column in zip(self.columns, *self.rows, strict=True)]
        # Room is left for one figure beside the names, which are broken over lines before they are dropped.
        most = max((width or sum(widths)) - max(widths[self.names :]), self.names * _LEAST_NAME)
        while sum(widths[: self.names]) > most:
            longest = max(range(self.names), key=lambda place: widths[place])
            widths[longest] -= 1
        used = sum(widths[: self.names])
        groups: list[list[int]] = [[]]
        for place in range(self.names, len(self.columns)):
            if width is not None and groups[-1] and used + sum(widths[i] for i in (*groups[-1], place)) > width:
                groups.append([])
            groups[-1].append(place)
        for number, group in enumerate(groups):
            yield self._part(group, widths, width, first=number == 0, last=number == len(groups) - 1)

    def _part(
        self, group: Sequence[int], widths: Sequence[int], width: int | None, *, first: bool, last: bool
    ) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(
            title=Text(self.title) if first else None,
            title_justify="left",
            caption=self.caption if last and self.caption else None,
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        places = [*range(self.names), *group]
        fits = width is None or sum(widths[place] for place in places) <= width
        for place in places:
            name = place < self.names
            table.add_column(
                Text(self.columns[place]),
                justify="left" if name else "right",
                overflow="fold",
                no_wrap=not name and fits,
                width=widths[place] - _GAP if name else None,
            )
        for row in self.rows:
            table.add_row(*(Text(row[place]) for place in places))
        return table
