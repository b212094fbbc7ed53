"""``pincite lab``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite.cli.common import JsonOption, console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.lab.record import Lesson, Step, Value

__all__ = ["lab", "print_lesson"]

#: Columns of a lesson, at most: longer lines are hard to follow; and at least: the longest number with its place.
_WIDEST, _LEAST = 110, 32
_PIPED = 100
#: Columns of a number's working, at least: with less it stands on a line of its own.
_WORKING = 20


def lab(
    name: Annotated[
        str | None, typer.Argument(metavar="LESSON", help="Which lesson. Without one they are listed.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All lessons, one after the other.")] = False,
    measure: Annotated[
        bool | None,
        typer.Option("--measure/--no-measure", help="Also time this machine. Default: yes, but not with --json."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Work through small examples of what pincite computes, number by number.

    Every number is computed when it is shown. Without --measure the numbers are the same each time.
    """
    from dataclasses import replace

    from pincite.errors import InputError
    from pincite.lab.catalogue import LESSONS, find

    if name is not None and everything:
        raise InputError(f"--all shows every lesson: leave out either it or {name!r}")
    if name is None and not everything:
        _list(as_json)
        return
    entries = list(LESSONS.values()) if name is None else [find(name)]
    timed = not as_json if measure is None else measure
    lessons = []
    for entry in entries:
        lesson = entry.lesson()
        if timed and entry.measures:
            lesson = replace(lesson, steps=(*lesson.steps, entry.measured()))
        lessons.append(lesson)
        if not as_json:
            print_lesson(console(), lesson)
    if as_json:
        data = [_data(lesson) for lesson in lessons]
        print_json(data if everything else data[0])


def _list(as_json: bool) -> None:
    from pincite.lab.catalogue import LESSONS

    if as_json:
        print_json([{"name": entry.name, "about": entry.about} for entry in LESSONS.values()])
        return
    out = console()
    width = max(map(len, LESSONS))
    for entry in LESSONS.values():
        _block(out, entry.about, _columns(out), f"{entry.name:{width}}  ", " " * (width + 2), "")
    out.print("\npincite lab LESSON shows one, pincite lab --all shows all of them.", style="dim", markup=False)


def _data(lesson: Lesson) -> dict[str, Any]:
    return {
        "name": lesson.name,
        "title": lesson.title,
        "steps": [
            {
                "title": step.title,
                "formula": step.formula,
                "values": [
                    {"name": v.name.strip(), "value": v.value, "unit": v.unit, "how": v.how, "shown": v.shown}
                    for v in step.values
                ],
                "measured": step.measured,
            }
            for step in lesson.steps
        ],
        "sources": list(lesson.sources),
    }


def print_lesson(out: Console, lesson: Lesson) -> None:
    """Draw a lesson: for each step its words, its formula, and each number with its working.

    As wide as the terminal up to 110 columns, 100 columns in a pipe; where there is no room beside a number its working
    stands on a line of its own. What is in a lesson is text: marks of rich in it are printed as they are.
    """
    width = _columns(out)
    _block(out, f"{lesson.name}: {lesson.title}", width, "", "", "bold")
    for number, step in enumerate(lesson.steps, 1):
        out.print()
        indent = " " * (len(str(number)) + 2)
        _block(out, step.title, width, f"{number}. ", indent, "bold")
        _block(out, step.says, width, indent, indent, "")
        for formula in step.formula.splitlines():
            _block(out, formula, width, f"{indent}  ", f"{indent}    ", "cyan")
        _numbers(out, step, width, f"{indent}  ")
        _block(out, step.after, width, indent, indent, "")
    if lesson.sources:
        out.print()
        _block(out, f"Source: {'; '.join(lesson.sources)}.", width, "", "  ", "dim")
    out.print()


def _columns(out: Console) -> int:
    return max(_LEAST, min(out.width, _WIDEST)) if out.is_terminal else _PIPED


def _numbers(out: Console, step: Step, width: int, indent: str) -> None:
    from rich.cells import cell_len

    if not step.values:
        return
    name = max(cell_len(value.name) for value in step.values)
    shown = max(cell_len(value.shown) for value in step.values)
    room = width - len(indent) - name - shown - 6
    longest = max(cell_len(value.how) for value in step.values)
    stacked = longest > room and room < _WORKING
    room = min(room, longest)
    for value in step.values:
        if stacked:
            _stacked(out, value, width, indent)
        else:
            _row(out, value, indent, name, shown, room)


def _stacked(out: Console, value: Value, width: int, indent: str) -> None:
    _block(out, value.name, width, indent, f"{indent}  ", "")
    if value.how:
        _block(out, value.how, width, f"{indent}  = ", f"{indent}    ", "dim")
    _block(out, value.shown, width, f"{indent}  = ", f"{indent}    ", "bold")


def _row(out: Console, value: Value, indent: str, name: int, shown: int, room: int) -> None:
    """``name = working = value``: the values stand under each other, the working wraps between them."""
    from rich.cells import cell_len, set_cell_size
    from rich.text import Text

    lines = _wrapped(value.how, room)
    for number, line in enumerate(lines):
        last = number == len(lines) - 1
        text = Text(indent)
        text.append(set_cell_size(value.name if number == 0 else "", name))
        if room:
            text.append(" = " if value.how and number == 0 else "   ")
            text.append(set_cell_size(line, room), style="dim")
        if last:
            text.append(" = ")
            text.append(" " * (shown - cell_len(value.shown)) + value.shown, style="bold")
        text.rstrip()
        out.print(text, soft_wrap=True)


def _block(out: Console, text: str, width: int, first: str, rest: str, style: str) -> None:
    """A paragraph with a hanging indent; nothing for no text."""
    from rich.text import Text

    for number, line in enumerate(_wrapped(text, width - len(rest)) if text else ()):
        out.print(Text(first if number == 0 else rest).append(line, style=style), soft_wrap=True)


def _wrapped(text: str, width: int) -> list[str]:
    from textwrap import wrap

    return wrap(text, max(10, width), break_on_hyphens=False) or [""]
