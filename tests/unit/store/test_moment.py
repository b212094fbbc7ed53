"""Points in time against an oracle that is written from the words of `pincite.types.PointInTime` alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.store.moment import Span, visible_at
from pincite.types import PointInTime

FIRST = date(2024, 1, 1)
DAYS = 12


def day(n: int) -> str:
    return (FIRST + timedelta(days=n)).isoformat()


def moment(n: int) -> str:
    """Two a day."""
    return f"{day(n // 2)}T{'06' if n % 2 == 0 else '18'}:00:00.000+00:00"


@dataclass(frozen=True)
class Event:
    """Something that happened to the one document: a version was recorded, or it was removed."""

    at: int  #: a moment
    removed: bool = False
    valid_from: int | None = None
    valid_to: int | None = None
    on: int | None = None  #: of a removal


def spans_of(events: list[Event], document_id: str, first_key: int) -> list[Span]:
    """The rows that a store writes of these events: the last version ends with the next event."""
    spans: list[Span] = []
    for event in events:
        if spans and not spans[-1].ended_at:
            removed_on = day(event.at // 2 if event.on is None else event.on) if event.removed else ""
            spans[-1] = spans[-1]._replace(ended_at=moment(event.at), removed_on=removed_on)
        if not event.removed:
            starts = day(event.valid_from) if event.valid_from is not None else day(event.at // 2) if spans else ""
            spans.append(
                Span(
                    first_key + len(spans),
                    document_id,
                    len(spans) + 1,
                    moment(event.at),
                    "",
                    starts,
                    "" if event.valid_to is None else day(event.valid_to),
                    "",
                )
            )
    return spans


def oracle(events: list[Event], as_of: int | None, recorded: int | None) -> int | None:
    """The number of the version that is seen, from 0, or None.

    Everything is looked at day by day and event by event, nothing is sorted: first forget what was not yet known.
    """
    known = [event for event in events if recorded is None or event.at <= recorded]
    if as_of is None:
        # What was current then: the last thing that had happened was that it was recorded.
        if not known or known[-1].removed:
            return None
        return sum(not event.removed for event in known) - 1
    best: int | None = None
    best_start = -1
    number = -1
    in_force: dict[int, Event] = {}
    for event in known:
        if event.removed:
            on = event.at // 2 if event.on is None else event.on
            if in_force and on <= as_of:
                # The document was out of force by that day: none of the versions it had is seen.
                in_force.clear()
            continue
        number += 1
        in_force[number] = event
    for number, event in in_force.items():
        earlier = any(not other.removed for other in events[: events.index(event)])
        start = event.valid_from if event.valid_from is not None else event.at // 2 if earlier else -1
        if start <= as_of and start >= best_start:
            best, best_start = number, start
    if best is None:
        return None
    last = in_force[best].valid_to
    return best if last is None or as_of <= last else None


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    moments = sorted(draw(st.sets(st.integers(0, 2 * DAYS - 1), min_size=1, max_size=6)))
    some_day = st.none() | st.integers(0, DAYS - 1)
    events: list[Event] = []
    for at in moments:
        # Nothing can be removed that is not there.
        if events and not events[-1].removed and draw(st.booleans()) and draw(st.booleans()):
            events.append(Event(at, removed=True, on=draw(some_day)))
        else:
            events.append(Event(at, valid_from=draw(some_day), valid_to=draw(some_day)))
    return events


@settings(max_examples=600)
@given(
    st.lists(histories(), min_size=1, max_size=3),
    st.none() | st.integers(-1, DAYS),
    st.none() | st.integers(-1, 2 * DAYS),
)
def test_what_is_visible_is_what_the_words_say(
    all_events: list[list[Event]], as_of: int | None, recorded: int | None
) -> None:
    spans: list[Span] = []
    expected = set()
    for n, events in enumerate(all_events):
        seen = oracle(events, as_of, recorded)
        if seen is not None:
            expected.add(100 * n + seen)
        spans += spans_of(events, f"d{n}", 100 * n)
    at = PointInTime(None if as_of is None else day(as_of), None if recorded is None else moment(recorded))
    assert visible_at(spans, at) == expected
    assert visible_at(iter(spans), at) == expected
    assert visible_at(reversed(spans), at) == expected


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [("2019-12-31", {1}), ("2020-01-01", {2}), ("2023-05-31", {2}), ("2023-06-01", {3}), ("2030-01-01", {3})],
)
def test_an_act_and_its_amendments_by_hand(as_of: str, expected: set[int]) -> None:
    """The first version is in force since ever, the others from the days that they name."""
    spans = [
        Span(1, "act", 1, "2024-01-01T00:00", "2024-01-02T00:00", "", "", ""),
        Span(2, "act", 2, "2024-01-02T00:00", "2024-01-03T00:00", "2020-01-01", "", ""),
        Span(3, "act", 3, "2024-01-03T00:00", "", "2023-06-01", "", ""),
    ]
    assert visible_at(spans, PointInTime(as_of)) == expected


def test_a_document_added_again_is_found_whatever_day_it_says_it_starts() -> None:
    """It was removed in May and added again with a first day before that: it is in force."""
    spans = [
        Span(1, "d", 1, "2024-01-01T00:00", "2024-05-01T00:00", "", "", "2024-05-01"),
        Span(2, "d", 2, "2024-05-02T00:00", "", "2020-01-01", "", ""),
    ]
    assert visible_at(spans, PointInTime("2024-06-01")) == {2}
    assert visible_at(spans, PointInTime("2019-01-01")) == {1}
    assert visible_at(spans, PointInTime("2024-06-01", recorded="2024-05-01T12:00")) == set()
    assert visible_at(spans, PointInTime("2024-06-01", recorded="2024-04-01T00:00")) == {1}


def test_a_removal_ends_every_version_that_came_before_it() -> None:
    """Also one of a later start than the version that was removed had."""
    spans = [
        Span(1, "d", 1, "2024-01-01T00:00", "2024-02-01T00:00", "2024-01-01", "", ""),
        Span(2, "d", 2, "2024-02-01T00:00", "2024-03-01T00:00", "2023-01-01", "", "2023-06-01"),
    ]
    assert visible_at(spans, PointInTime("2024-04-01")) == set()
    assert visible_at(spans, PointInTime("2023-03-01")) == {2}
