"""A choice among settings, told: as a table, as data, in words, and as the comment above what is written."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from pincite.evaluation.choice import LEVEL
from pincite.evaluation.settings_file import MARK

if TYPE_CHECKING:
    from rich.table import Table

    from pincite.evaluation.choice import Choice
    from pincite.evaluation.points import Aim, Sides, Value

__all__ = ["choice_comment", "choice_data", "choice_lines", "choice_tables", "shown_value"]

#: Rows of the table; the present settings are always shown.
_ROWS = 15


def choice_tables(choice: Choice, sides: Sides, goal: Aim, width: int | None = None) -> Iterator[Table]:
    """Every point, best first, as many as a person reads; in parts of `width` characters below each other.

    A row is named by its place, and by ``best`` and ``now`` where it is that.
    """
    from pincite.evaluation.wide_table import WideTable

    varied = [
        name for name in choice.present.settings if len({str(each.settings.get(name)) for each in choice.order}) > 1
    ]
    keys = [name.partition(".")[2] for name in varied]
    # Without their sections, where that leaves them apart.
    shown = [key if keys.count(key) == 1 else name for name, key in zip(varied, keys, strict=True)]
    rows = []
    for place, each in enumerate(choice.order, 1):
        if place > _ROWS and each is not choice.present:
            continue
        marks = [word for word, own in (("best", choice.best), ("now", choice.present)) if own is each]
        rows.append(
            [
                " ".join([str(place), ", ".join(marks)]).strip(),
                *(shown_value(each.settings.get(name)) for name in varied),
                f"{each.mean(sides.train):.3f}",
                f"{each.mean(sides.held_out):.3f}",
                f"{each.chunks:,}",
                f"{each.ms:.1f}",
                f"{each.tokens:.0f}",
            ]
        )
    more = f"{len(choice.order)} settings in all; --json lists every one" if len(choice.order) > _ROWS else ""
    columns = ["#", *shown, "chooses", "held out", "chunks", "ms", "tokens"]
    yield from WideTable(f"{goal.shown}, {sides.how}", columns, rows, caption=more).parts(width)


def choice_lines(choice: Choice, sides: Sides, goal: Aim) -> Iterator[str]:
    """What the table comes to, in words."""
    before, after, changes = choice.present, choice.best, choice.changes
    if not changes:
        yield f"no other settings do better on the {len(sides.train)} questions that choose"
        return
    yield f"best: {_shown(changes)}   (now: {_shown({name: before.settings[name] for name in changes})})"
    yield (
        f"{goal.shown} on the {len(sides.train)} questions that chose: "
        f"{before.mean(sides.train):.3f} → {after.mean(sides.train):.3f} (flattered by the choice)"
    )
    yield (
        f"{goal.shown} on the {len(sides.held_out)} held out: {before.mean(sides.held_out):.3f} → "
        f"{after.mean(sides.held_out):.3f}, {choice.gain:+.3f} ({_certainty(choice)})"
    )
    yield f"{'worth it' if choice.worth_it else 'not worth it'}: {choice.why}"


def choice_data(choice: Choice, sides: Sides, goal: Aim) -> dict[str, object]:
    """The same as plain data, with every point."""
    return {
        "dataset": str(sides.dataset.folder),
        "measure": goal.shown,
        "sides": sides.how,
        "questions": {"choose": len(sides.train), "held_out": len(sides.held_out)},
        "points": [
            {
                "settings": each.settings,
                "choose": each.mean(sides.train),
                "held_out": each.mean(sides.held_out),
                "chunks": each.chunks,
                "ms": each.ms,
                "tokens": each.tokens,
                "present": each is choice.present,
            }
            for each in choice.order
        ],
        "present": choice.present.settings,
        "best": choice.best.settings,
        "changes": choice.changes,
        "gain": choice.gain,
        "interval": choice.interval,
        "p": choice.p,
        "worth_it": choice.worth_it,
        "why": choice.why,
        "warnings": [*sides.notes, *choice.warnings],
    }


def choice_comment(choice: Choice, sides: Sides, goal: Aim, command: Sequence[str]) -> list[str]:
    """Why the settings are as they are, for somebody who reads the file in a year; also that they were forced."""
    lines = [
        f"{MARK} {date.today().isoformat()}: {goal.shown} {choice.present.mean(sides.held_out):.3f} → "
        f"{choice.best.mean(sides.held_out):.3f} on {len(sides.held_out)} held-out questions of {sides.dataset.name},",
        f"{MARK} {_certainty(choice, of=' of the gain')}; by: {shlex.join(command)}",
    ]
    if not choice.worth_it:
        chance = f"the gain is not significant (p = {choice.p:.3f}): " if choice.p > LEVEL else ""
        lines.append(f"{MARK} taken by --force although not worth it: {chance}{choice.why}")
    return lines


def _certainty(choice: Choice, of: str = "") -> str:
    low, high = choice.interval
    return f"95 % interval{of} {low:+.3f} to {high:+.3f}, p = {choice.p:.3f}"


def _shown(settings: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} = {shown_value(value)}" for name, value in settings.items())


def shown_value(value: Value) -> str:
    """A value as a person writes it."""
    return "unset" if value is None else str(value)
