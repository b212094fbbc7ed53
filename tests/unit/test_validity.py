"""Days and moments as people write them, and on which days a version is in force."""

from __future__ import annotations

import os
import time
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.adding import Given
from pincite.cli.versions import check_day, in_force, told_spans, told_version
from pincite.errors import InputError
from pincite.store.moment import Span, visible_at
from pincite.types import PointInTime, StoredDocument
from pincite.validity import day, moment, point_in_time, with_days

START = date(2020, 1, 1)


def test_a_year_or_month_stands_for_its_first_day() -> None:
    assert day("1976", "x") == "1976-01-01"
    assert day(" 1976-12 ", "x") == "1976-12-01"
    assert day("1976-2-9", "x") == "1976-02-09"


def test_a_year_or_month_ends_with_its_last_day() -> None:
    ends = {
        "1990": "1990-12-31",
        "1976-12": "1976-12-31",
        "2023-2": "2023-02-28",
        "2024-02": "2024-02-29",
        "1900-02": "1900-02-28",
        "2000-02": "2000-02-29",
        "2024-02-03": "2024-02-03",
        "9999": "9999-12-31",
    }
    for text, expected in ends.items():
        assert day(text, "x", end=True) == expected
        assert with_days({"valid_to": text}) == ({"valid_to": expected}, ())
    for text in ("0000", "1976-13", "2023-02-29"):
        with pytest.raises(InputError, match="no day"):
            day(text, "x", end=True)
    # One year, and one month, is a time in which something can be in force.
    assert with_days({"valid_from": "1990", "valid_to": "1990"})[1] == ()


def test_a_last_day_that_is_given_is_the_end_too() -> None:
    given = Given.checked({"valid_to": "1990"}, "1976", "1976-12")
    assert (given.valid_from, given.valid_to) == ("1976-01-01", "1976-12-31")
    assert given.metadata["valid_to"] == "1990-12-31"
    assert check_day("1990", "--valid-to", end=True) == "1990-12-31"
    assert check_day("1990", "--valid-from") == "1990-01-01"


@pytest.mark.parametrize("text", ["", "1976-13", "1976-02-30", "18.12.1976", "76-1-1", "1976-12-18T00:00", "today"])
def test_what_is_no_day_is_named(text: str) -> None:
    with pytest.raises(InputError, match=r"--valid-from is .* which is no day: write it as 2024-06-30"):
        day(text, "--valid-from")


def test_a_point_in_time_needs_a_whole_day() -> None:
    assert point_in_time(None, None) is None
    assert point_in_time("2024-6-3", None) == PointInTime("2024-06-03")
    for text in ("2024", "2024-06"):
        with pytest.raises(InputError, match="no day"):
            point_in_time(text, None)
        with pytest.raises(InputError, match="no day"):
            point_in_time(None, text)


def test_moments_are_compared_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    assert moment("2024-06-30", "x") == "2024-06-30T23:59:59.999+00:00"
    assert moment("2024-06-30T14:05+02:00", "x") == "2024-06-30T12:05:00.000+00:00"
    assert moment("2024-06-30T12:05:00z", "x") == moment("2024-06-30T12:05:00+00:00", "x")
    with pytest.raises(InputError, match="no moment"):
        moment("yesterday", "x")
    monkeypatch.setitem(os.environ, "TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert moment("2024-06-30T14:05", "x") == "2024-06-30T08:35:00.000+00:00"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_moment_is_read_alike_by_every_python() -> None:
    same = {
        "2024-06-30 14:05Z": "2024-06-30T14:05:00.000+00:00",
        "2024-06-30T14:05:06.7Z": "2024-06-30T14:05:06.700+00:00",
        "2024-06-30T14:05:06,123456789+0000": "2024-06-30T14:05:06.123+00:00",
        "2024-06-30T23:05-05:30": "2024-07-01T04:35:00.000+00:00",
    }
    for text, expected in same.items():
        assert moment(text, "x") == expected


@pytest.mark.parametrize(
    "text",
    [
        "20240630",
        "2024-W01",
        "2024-W01-1",
        "2024-06-30T14",
        "20240630T1405",
        "2024-06-30T24:00",
        "2024-06-30T14:05+24:00",
        "2024-06-30T14:05+01:60",
        "2024-02-30T14:05",
        "9999-12-31T23:59-05:00",
        "0001-01-01T00:00+05:00",
        "T14:05",
        "0000-01-01",
    ],
)
def test_what_is_no_moment_is_named(text: str) -> None:
    with pytest.raises(InputError, match=r"--as-recorded is .* which is no (moment|day): write "):
        moment(text, "--as-recorded")


def test_metadata_that_is_no_day_is_left_out_and_told() -> None:
    found, warnings = with_days({"valid_from": "soon", "valid_to": "1999", "title": "A"})
    assert found == {"valid_to": "1999-12-31", "title": "A"}
    assert warnings == ("left out: valid_from is 'soon', which is no day: write it as 2024-06-30",)
    _, warnings = with_days({"valid_from": "2001", "valid_to": "2000"})
    assert "never in force" in warnings[0]


def version(number: int, starts: str, valid_to: str = "", removed_on: str = "", ended: bool = True) -> StoredDocument:
    ended_at = f"2030-01-01T00:00:{number:02}.500+00:00" if ended else ""
    return StoredDocument(
        "d",
        number,
        "T",
        "u",
        "text/plain",
        str(number // 2),  # of the second and the third the same bytes
        1,
        1,
        f"2030-01-01T00:00:{number:02}.000+00:00",
        metadata={"valid_to": valid_to} if valid_to else {},
        starts=starts,
        ended_at=ended_at,
        removed_on=removed_on,
    )


DAYS = st.integers(0, 6).map(lambda n: (START + timedelta(days=n)).isoformat())
HISTORIES = st.lists(
    st.tuples(st.one_of(st.just(""), DAYS), st.one_of(st.just(""), DAYS), st.one_of(st.just(""), DAYS)),
    min_size=1,
    max_size=4,
)


@given(HISTORIES, st.booleans())
def test_the_days_told_are_those_on_which_a_search_sees_the_version(
    rows: list[tuple[str, str, str]], current: bool
) -> None:
    last = len(rows)
    history = [
        version(n, starts, valid_to, "" if n == last and current else removed, n < last or not current)
        for n, (starts, valid_to, removed) in enumerate(rows, 1)
    ]
    spans = in_force(history)
    stored = [
        Span(v.version, v.id, v.version, v.added_at, v.ended_at, v.starts, v.valid_to, v.removed_on, v.content_hash)
        for v in history
    ]
    for n in range(-1, 9):
        on = (START + timedelta(days=n)).isoformat()
        told = {
            number
            for number, some in spans.items()
            for first, until in some
            if first <= on and (not until or on <= until)
        }
        assert told == visible_at(stored, PointInTime(on)), (on, history)


def test_how_a_version_is_told_of() -> None:
    first, second = version(1, "1976-12-18"), version(2, "1979-06-20", ended=False)
    spans = in_force([first, second])
    assert told_spans(spans[1]) == "1976-12-18 – 1979-06-19"
    assert told_spans(spans[2]) == "1979-06-20 – …"
    assert told_version(second) == "version 2, in force from 1979-06-20"
    assert told_version(first) == "version 1, in force from 1976-12-18, replaced since"
    assert "recorded 2030-01-01 00:00:01 UTC" in told_version(first, recorded=True)
    assert told_spans(in_force([version(1, ""), version(2, "", ended=False)])[1]) == "never"
