"""Two versions of a document side by side, as ``pincite show --diff`` prints them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pincite.cli.common import short_path
from pincite.differences import Change, differences, lines_of, word_differences

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from pincite.types import Document

__all__ = ["diff_data", "print_diff"]

#: So many lines around a change are shown.
_CONTEXT = 2


def diff_data(old: Document, new: Document) -> dict[str, Any]:
    """The changes as JSON data: spans of characters of both versions, and their text.

    The first text with each `v1` span replaced by `added` is the second.
    """
    changes = [
        {
            "kind": each.kind,
            "v1": {"start": each.old[0], "end": each.old[1]},
            "v2": {"start": each.new[0], "end": each.new[1]},
            "removed": old.text[slice(*each.old)],
            "added": new.text[slice(*each.new)],
            "headings": new.heading_path(each.new[0]),
        }
        for each in differences(old.text, new.text)
    ]
    return {"id": new.id, "uri": new.uri, "v1": old.version, "v2": new.version, "changes": changes}


def print_diff(out: Console, old: Document, new: Document) -> None:
    """A unified diff by lines, long ones by sentences, with the headings above each place; words stand out in colour.

    A line's own end is not shown; every line that is printed begins with ``-``, ``+`` or a blank.
    """
    from rich.text import Text

    changes = differences(old.text, new.text)
    out.print(Text(f"--- version {old.version}  {short_path(old.uri)}", "bold"), soft_wrap=True)
    out.print(Text(f"+++ version {new.version}  {short_path(new.uri)}", "bold"), soft_wrap=True)
    if not changes:
        out.print("the texts are equal")
        return
    starts = _line_starts(new.text)
    for group in _groups(changes, starts):
        first, last = group[0], group[-1]
        headings = " › ".join(new.heading_path(first.new[0]))
        place = f"@@ characters {first.old[0]}-{last.old[1]} → {first.new[0]}-{last.new[1]} @@"
        out.print(Text.assemble((place, "cyan"), f"  {headings}" if headings else ""), soft_wrap=True)
        begin = starts[max(0, _line_of(starts, first.new[0]) - _CONTEXT)]
        _print_lines(out, " ", _shown(new.text[begin : first.new[0]]))
        for number, each in enumerate(group):
            _print_change(out, old.text[slice(*each.old)], new.text[slice(*each.new)])
            if number + 1 < len(group):
                _print_lines(out, " ", _shown(new.text[each.new[1] : group[number + 1].new[0]]))
        end = _line_of(starts, last.new[1])
        stop = starts[min(len(starts) - 1, end + _CONTEXT)]
        _print_lines(out, " ", _shown(new.text[last.new[1] : stop]))


def _line_starts(text: str) -> list[int]:
    """Where each line begins, and the end of the text."""
    starts = [0]
    for line in lines_of(text):
        starts.append(starts[-1] + len(line))
    return starts


def _line_of(starts: Sequence[int], offset: int) -> int:
    return bisect_left(starts, offset)


def _groups(changes: Sequence[Change], starts: Sequence[int]) -> Iterator[list[Change]]:
    """Changes with so few lines between them that what is shown around them would meet."""
    group: list[Change] = []
    for each in changes:
        if group and _line_of(starts, each.new[0]) - _line_of(starts, group[-1].new[1]) > 2 * _CONTEXT:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _shown(text: str) -> list[Text]:
    from rich.text import Text

    return [Text(line.rstrip("\r\n")) for line in lines_of(text)]


def _print_lines(out: Console, sign: str, lines: Sequence[Text], style: str = "") -> None:
    from rich.text import Text

    for line in lines:
        out.print(Text.assemble((sign, style), line), soft_wrap=True)


def _print_change(out: Console, removed: str, added: str) -> None:
    """The lines that are gone and those that came; of lines that were changed, the words that differ stand out."""
    from rich.text import Text

    before, after = Text(removed, "red"), Text(added, "green")
    if removed and added and out.is_terminal:
        for each in word_differences(removed, added):
            before.stylize("bold reverse", *each.old)
            after.stylize("bold reverse", *each.new)
    for sign, text, style in (("-", before, "red"), ("+", after, "green")):
        if text.plain:
            cuts = _line_starts(text.plain)[1:-1]
            lines = text.divide(cuts)
            for line in lines:
                line.rstrip()
            _print_lines(out, sign, list(lines), style)
