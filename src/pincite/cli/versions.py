"""What several commands share about versions: options that name days, and how a version is told of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import short_path

if TYPE_CHECKING:
    from pincite.protocols import RunNote, Store
    from pincite.types import FileOutcome, Filter, StoredDocument

__all__ = [
    "AsOfOption",
    "AsRecordedOption",
    "ValidFromOption",
    "check_day",
    "check_point",
    "in_force",
    "nothing_then",
    "told_counts",
    "told_detail",
    "told_moment",
    "told_point",
    "told_spans",
    "told_version",
    "version_data",
    "versions_of",
]

AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="DATE", help="Only what was in force on this day: of each document one version."),
]
AsRecordedOption = Annotated[
    str | None,
    typer.Option(
        "--as-recorded", metavar="DATE", help="Only what the index knew at this moment; a day stands for its end, UTC."
    ),
]
ValidFromOption = Annotated[
    str | None,
    typer.Option("--valid-from", metavar="DATE", help="First day on which these versions are in force."),
]


def check_day(text: str | None, option: str, *, end: bool = False) -> str | None:
    """A day that an option gives; see `validity.day`. Raises InputError, before anything is opened."""
    from pincite.validity import day

    return None if text is None else day(text, option, end=end)


def check_point(as_of: str | None, as_recorded: str | None) -> None:
    """Raises InputError for what is no day or no moment, naming the option."""
    from pincite.validity import day, moment

    if as_of is not None:
        day(as_of, "--as-of", whole=True)
    if as_recorded is not None:
        moment(as_recorded, "--as-recorded")


def in_force(history: Sequence[StoredDocument]) -> dict[int, list[tuple[str, str]]]:
    """Version → its days in force, as spans of both days included; empty text stands for no bound, [] for never.

    Of the kept versions of one document, by the rule of `pincite.types.PointInTime` as a search follows it.
    """
    from pincite.store.moment import Span, visible_at
    from pincite.types import PointInTime

    rows = [
        Span(
            key=each.version,
            document_id=each.id,
            version=each.version,
            added_at=each.added_at,
            ended_at=each.ended_at,
            starts=each.starts,
            valid_to=each.valid_to,
            removed_on=each.removed_on,
            content_hash=each.content_hash,
        )
        for each in history
    ]
    #: Days on which another version may come into force; the first stands for all days before the others.
    days = {"0000-01-01"} | {day for row in rows for day in (row.starts, row.removed_on) if day}
    days |= {_next_day(row.valid_to) for row in rows if row.valid_to}
    turns = sorted(days)
    spans: dict[int, list[tuple[str, str]]] = {row.version: [] for row in rows}
    for turn, after in zip(turns, [*turns[1:], ""], strict=True):
        for version in visible_at(rows, PointInTime(turn)):
            first = "" if turn.startswith("0000") else turn
            last = _next_day(after, -1) if after else ""
            known = spans[version]
            if known and first and _next_day(known[-1][1]) == first:
                first = known.pop()[0]
            known.append((first, last))
    return spans


def _next_day(day: str, step: int = 1) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days=step)).isoformat()
    except OverflowError:
        return day


def versions_of(store: Store, named: Iterable[tuple[str, int]]) -> dict[tuple[str, int], StoredDocument]:
    """(Document id, version) → what is listed of it, of those that are kept."""
    wanted = set(named)
    return {
        (each.id, each.version): each
        for document_id in {document_id for document_id, _ in wanted}
        for each in store.history(document_id)
        if (each.id, each.version) in wanted
    }


def version_data(stored: StoredDocument | None) -> dict[str, object]:
    """What JSON says of the version of a passage or a citation."""
    if stored is None:
        return {"starts": None, "valid_to": None, "recorded": None, "current": None}
    return {
        "starts": stored.starts,
        "valid_to": stored.valid_to,
        "recorded": stored.added_at,
        "current": stored.current,
    }


def told_version(stored: StoredDocument, *, recorded: bool = False) -> str:
    """``version 2, in force from 1979-06-20 to 1990-12-31``; with `recorded`, also when it was recorded."""
    days = f", in force from {stored.starts}" if stored.starts else ""
    if stored.valid_to:
        days += f"{'' if days else ', in force'} to {stored.valid_to}"
    state = "" if stored.current else ", removed" if stored.removed_on else ", replaced since"
    state = state or not_in_force(stored)
    when = f", recorded {told_moment(stored.added_at)}" if recorded else ""
    return f"version {stored.version}{days}{state}{when}"


def not_in_force(stored: StoredDocument) -> str:
    """``, not yet in force``, or that it no longer is; "" for a version that is in force today, by its own days."""
    from pincite.validity import today

    if stored.starts > today():
        return ", not yet in force"
    return ", no longer in force" if stored.valid_to and stored.valid_to < today() else ""


def told_spans(spans: Sequence[tuple[str, str]]) -> str:
    """``1976-12-18 – 1979-06-19``; with dots where there is no bound."""
    return ", ".join(f"{first or '…'} – {last or '…'}" for first, last in spans) or "never"


def told_moment(moment: str) -> str:
    """A moment as the index writes it, to the second, for people."""
    return f"{moment[:10]} {moment[11:19]} UTC" if len(moment) > 10 else moment


def told_point(as_of: str | None, as_recorded: str | None) -> str:
    """``as of 1978-01-01, as recorded 2024-06-30``."""
    parts = [f"as of {as_of}"] if as_of else []
    return ", ".join([*parts, f"as recorded {as_recorded}"] if as_recorded else parts)


def nothing_then(store: Store, as_of: str | None, as_recorded: str | None, where: Filter | None = None) -> str:
    """Why a point in time may have left nothing to find; "" where versions were visible then.

    With a filter only what every document was counts: a filter that matches nothing is told elsewhere.
    """
    from pincite.validity import moment, point_in_time

    if point_in_time(as_of, as_recorded) is None or where:
        return ""
    history = store.history()
    if not history:
        return "the index holds no version of any document"
    if as_recorded is not None:
        known_at = moment(as_recorded, "--as-recorded")
        first = min(each.added_at for each in history)
        if first > known_at:
            return f"the index knew no document then: the first was recorded on {told_moment(first)}"
        history = [each for each in history if each.added_at <= known_at]
    if as_of is not None:
        return _not_in_force(history, as_of)
    return ""


def _not_in_force(history: Sequence[StoredDocument], as_of: str) -> str:
    by_document: dict[str, list[StoredDocument]] = {}
    for each in history:
        by_document.setdefault(each.id, []).append(each)
    spans = [span for some in by_document.values() for found in in_force(some).values() for span in found]
    if any(first <= as_of and (not last or as_of <= last) for first, last in spans):
        return ""
    later = sorted(first for first, _ in spans if first > as_of)
    earlier = sorted(last for _, last in spans if last and last < as_of)
    told = [f"the next is in force from {later[0]}"] if later else []
    told += [f"the last was in force until {earlier[-1]}"] if earlier else []
    return f"no version of any document was in force on {as_of}" + (f": {', '.join(told)}" if told else "")


def told_counts(run: RunNote) -> str:
    """``3 added, 1 removed, 20 unchanged``, without what there is none of."""
    order = ("added", "updated", "moved", "removed", "skipped")
    counts = {status: sum(each.status == status for each in run.outcomes) for status in order}
    told = [f"{count:,} {status}" for status, count in {**counts, "unchanged": run.unchanged}.items() if count]
    return ", ".join(told) or "nothing"


def told_detail(outcome: FileOutcome) -> str:
    """Which version a file came to have, and from where it moved: `` (version 2), from old/name.md``."""
    version = f" (version {outcome.version})" if outcome.version and outcome.status == "updated" else ""
    if outcome.reason:
        return f"{version}: {outcome.reason}: {outcome.detail}"
    came = outcome.detail.removeprefix("from ")
    detail = f"from {short_path(came)}" if came != outcome.detail else outcome.detail
    return f"{version}, {detail}" if detail else version
