"""Which past versions are kept, for how long, and that the others are gone from everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from version_helpers import ALL, Archive, digest, make_archive

from pincite.loaders.ids import document_id
from pincite.store.moment import later
from pincite.store.plan import Retention
from pincite.types import PointInTime

A = document_id("toy:a")


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    made = make_archive(tmp_path / "index", monkeypatch, ALL)
    yield made
    made.store.close()


def versions(archive: Archive, document: str = A) -> list[int]:
    return [each.version for each in archive.store.history(document)]


@pytest.mark.parametrize(("kept", "expected"), [(0, [5]), (1, [4, 5]), (3, [2, 3, 4, 5]), (None, [1, 2, 3, 4, 5])])
def test_the_last_so_many_past_versions_are_kept(archive: Archive, kept: int | None, expected: list[int]) -> None:
    archive.reopen(Retention(kept))
    for n in range(1, 6):
        archive.clock = f"2024-01-{n:02}T12:00:00.000+00:00"
        archive.put(f"word{n} alpha")
    assert versions(archive) == expected
    assert archive.store.point_count == len(expected)
    for n in range(1, 6):
        at = PointInTime(recorded=f"2024-01-{n:02}T12:00:00.000+00:00")
        assert archive.words("alpha", at) == ([f"word{n} alpha"] if n in expected else [])
        assert (digest(f"word{n} alpha") in archive.store.encoded([digest(f"word{n} alpha")])) == (n in expected)
        assert (archive.store.get_document(A, n) is not None) == (n in expected)
    assert archive.store.check() == []


def test_a_removed_document_keeps_as_many(archive: Archive) -> None:
    archive.reopen(Retention(1))
    archive.put("one")
    archive.put("two")
    archive.store.remove(A)
    assert versions(archive) == [2]
    archive.reopen(Retention(0))
    assert versions(archive) == [2], "what was kept goes with the next change of its document, or when told"
    assert archive.store.expire() == 1
    assert versions(archive) == []
    assert archive.store.point_count == 0
    assert archive.store.expire() == 0


def test_days_since_it_ended(archive: Archive) -> None:
    archive.reopen(Retention(None, days=10))
    archive.put("one")
    archive.clock = "2024-02-01T12:00:00.000+00:00"
    archive.put("two")
    archive.clock = "2024-02-11T11:59:59.999+00:00"
    assert archive.store.expire() == 0
    assert versions(archive) == [1, 2]
    archive.clock = "2024-02-11T12:00:00.000+00:00"
    assert archive.store.expire() == 1
    assert versions(archive) == [2]
    # What is current never expires.
    archive.clock = "2034-01-01T00:00:00.000+00:00"
    assert archive.store.expire() == 0
    archive.put("three")
    assert versions(archive) == [2, 3]
    assert archive.store.check() == []


@pytest.mark.parametrize("kept", [None, 5])
def test_what_is_too_old_goes_with_a_commit_of_another_once_an_hour(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, kept: int | None
) -> None:
    retention = Retention(kept, days=10)
    ticks = [0.0]
    monkeypatch.setattr("pincite.store.edge.time.monotonic", lambda: ticks[0])
    archive.put("one")
    archive.put("two")
    archive.reopen(retention)
    archive.put("first of the store", "toy:b")
    archive.clock = "2024-03-01T12:00:00.000+00:00"
    ticks[0] += 3599
    archive.put("within the hour", "toy:b")
    assert versions(archive) == [1, 2]
    ticks[0] += 2
    archive.put("after it", "toy:b")
    assert versions(archive) == [2]
    assert archive.store.check() == []
    archive.store.remove(A)
    archive.clock = "2024-06-01T12:00:00.000+00:00"
    archive.reopen()
    assert versions(archive) == [2]
    archive.put("first of the store again", "toy:b")
    assert versions(archive) == []


def test_age_is_asked_of_an_index_also_in_one_made_before_there_was_one(archive: Archive) -> None:
    archive.put("one")
    with archive.store._catalogue.transaction() as connection:
        connection.execute("DROP INDEX by_end")
    archive.reopen(Retention(None, days=10))
    query = "SELECT key FROM versions WHERE state = 'past' AND ended_at <= '2024'"
    plan = archive.store._catalogue.rows(f"EXPLAIN QUERY PLAN {query}")
    assert "by_end" in str(plan)


def test_days_without_number_keep_all(archive: Archive) -> None:
    archive.reopen(Retention(None, days=1e12))
    archive.put("one")
    archive.put("two")
    assert archive.store.expire() == 0
    assert versions(archive) == [1, 2]


def test_a_clock_that_is_set_back_changes_neither_order_nor_days(archive: Archive) -> None:
    archive.clock = "2024-05-01T12:00:00.000+00:00"
    archive.put("one")
    archive.clock = "2024-01-01T12:00:00.000+00:00"
    archive.put("two")
    archive.reopen()
    archive.put("three")
    rows = archive.store.history(A)
    assert [each.added_at for each in rows] == [f"2024-05-01T12:00:00.00{n}+00:00" for n in range(3)]
    assert [each.ended_at for each in rows] == [*[each.added_at for each in rows[1:]], ""]
    for each, text in zip(rows, ("one", "two", "three"), strict=True):
        found = archive.store.get_document(A, each.version)
        assert found is not None
        assert found.text == text
        at = PointInTime(recorded=each.added_at)
        assert archive.words("one two three", at) == [text]
    # From which day it is in force the clock says, not the order of the record.
    assert [each.starts for each in rows] == ["", "2024-01-01", "2024-01-01"]
    archive.clock = "2024-06-01T12:00:00.000+00:00"
    archive.put("four")
    assert archive.store.history(A)[-1].added_at == archive.clock


def test_what_follows_a_moment() -> None:
    now = "2024-01-01T00:00:00.000+00:00"
    assert later(now, "") == later(now, now) == now
    assert later(now, "2025-12-31T23:59:59.999+00:00") == "2026-01-01T00:00:00.000+00:00"
    for useless in ("9999-12-31T23:59:59.999+00:00", "tomorrow"):
        assert later(now, useless) == now


def test_a_change_of_one_document_expires_nothing_of_another(archive: Archive) -> None:
    archive.put("one")
    archive.put("two")
    archive.put("b one", "toy:b")
    archive.reopen(Retention(0))
    archive.put("b two", "toy:b")
    assert versions(archive) == [1, 2]
    assert versions(archive, document_id("toy:b")) == [2]


def test_a_first_version_after_everything_was_deleted_is_in_force_since_ever(archive: Archive) -> None:
    archive.reopen(Retention(0))
    archive.put("one")
    archive.store.remove(A)
    archive.put("again")
    assert [each.starts for each in archive.store.history(A)] == [""]
    archive.put("replaced")
    assert [each.starts for each in archive.store.history(A)] == ["2024-01-01"]


@given(
    st.integers(0, 5) | st.none(),
    st.none() | st.floats(0, 40, allow_nan=False),
    st.integers(0, 6),
    st.integers(0, 50),
)
def test_the_rule_of_what_is_kept(count: int | None, days: float | None, later: int, age: int) -> None:
    ended = "2024-01-01T00:00:00.000+00:00"
    now = f"2024-{1 + age // 28:02}-{1 + age % 28:02}T00:00:00.000+00:00"
    real_age = (age // 28) * 31 - (2 if age >= 56 else 0) + age % 28
    expected = (count is None or later < count) and (days is None or real_age < days)
    assert Retention(count, days).keeps(later, ended, now) == expected
