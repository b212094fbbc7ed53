"""Versions in the store: what ends, what stays findable, by whom, and whose vectors are known."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from version_helpers import ALL, ENCODER, Archive, digest, make_archive

from pincite.errors import StoreError
from pincite.loaders.ids import document_id
from pincite.store.edge import EdgeStore
from pincite.store.plan import IndexOptions, Retention
from pincite.store.points import Points
from pincite.types import Hit, PointInTime, StoredSource
from toys import make_chunks, make_document, toy_header

A, B = document_id("toy:a"), document_id("toy:b")
NOON, EVENING = "2024-01-01T12:00:00.000+00:00", "2024-01-01T18:00:00.000+00:00"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    made = make_archive(tmp_path / "index", monkeypatch, ALL)
    yield made
    made.store.close()


def test_updates_and_removals_become_true_at_one_moment(archive: Archive) -> None:
    archive.put("old alpha")
    archive.put("old beta", "toy:b")
    ticket, other = archive.stage("new alpha"), archive.stage("new gamma", "toy:c")
    archive.clock = EVENING
    committed = archive.store.commit(
        [ticket, other], remove=[B], on="2024-03-01", sources=[StoredSource("toy:c", "h", "r", "c")]
    )
    assert [(each.uri, each.version, each.added_at) for each in committed] == [
        ("toy:a", 2, EVENING),
        ("toy:c", 1, EVENING),
    ]
    assert sorted(archive.near("alpha")) == ["new alpha", "new gamma"]
    assert archive.store.find(document_id=B) is None
    past = [each for each in archive.store.history() if not each.current]
    assert [(each.id, each.version, each.ended_at, each.removed_on) for each in past] == [
        (A, 1, EVENING, ""),
        (B, 1, EVENING, "2024-03-01"),
    ]
    assert archive.store.find_source("toy:c") == StoredSource("toy:c", "h", "r", "c")
    assert archive.store.check() == []


def test_one_bad_ticket_and_nothing_is_removed(archive: Archive) -> None:
    archive.put("kept alpha")
    with pytest.raises(StoreError, match="not staged"):
        archive.store.commit([999], remove=[A], sources=[StoredSource("toy:x", "h")])
    assert archive.near("alpha") == ["kept alpha"]
    assert archive.store.sources() == []


@pytest.mark.parametrize("reopened", [False, True])
def test_past_versions_are_found_only_by_who_asks_for_their_time(archive: Archive, reopened: bool) -> None:
    archive.put("first alpha\nalpha too")
    archive.clock = EVENING
    archive.put("second alpha")
    if reopened:
        archive.reopen()
    assert archive.words("alpha") == ["second alpha"]
    assert archive.near("first alpha") == ["second alpha"]
    assert archive.store.search_lexical("alpha", 9, {"version": 1}) == []
    then = PointInTime(recorded=NOON)
    assert sorted(archive.words("alpha", then)) == ["alpha too", "first alpha"]
    assert archive.near("first alpha", then)[0] == "first alpha"
    assert archive.words("second", then) == []
    assert archive.words("alpha", PointInTime(recorded=EVENING)) == ["second alpha"]
    assert archive.words("alpha", PointInTime(recorded="2023-12-31T00:00:00.000+00:00")) == []
    assert archive.words("alpha", PointInTime()) == ["second alpha"]


def test_a_removed_document_is_found_before_its_end_alone(archive: Archive) -> None:
    archive.put("secret alpha")
    archive.put("other words", "toy:b")
    archive.clock = EVENING
    assert archive.store.remove(A, "2024-05-05")
    assert archive.near("secret alpha") == archive.near("other words") == ["other words"]
    assert archive.words("secret") == []
    assert archive.store.chunks(A) == []
    assert archive.store.get_document(A) is None
    assert archive.words("secret", PointInTime(as_of="2024-05-04")) == ["secret alpha"]
    assert archive.words("secret", PointInTime(as_of="2024-05-05")) == []
    assert archive.words("secret", PointInTime(as_of="2024-05-05", recorded=NOON)) == ["secret alpha"]
    assert not archive.store.remove(A)


def test_chunks_vectors_and_passages_of_a_past_version(archive: Archive) -> None:
    old = archive.put("first alpha\nfirst beta")
    archive.put("second alpha")
    assert [chunk.text for chunk in archive.store.chunks(A, 1)] == ["first alpha", "first beta"]
    assert [chunk.text for chunk in archive.store.chunks(A)] == ["second alpha"]
    assert archive.store.chunks(A, 3) == []
    assert archive.store.get_document(A, 1) == old
    assert archive.store.get_document(A, 7) is None
    vectors = archive.store.vectors([f"{A}.1.1", f"{A}.2.0", f"{A}.3.0"])
    expected = ENCODER.encode_passages(["first beta", "second alpha"])
    assert np.allclose(vectors, [*expected, np.zeros(8)], atol=1e-6)
    # A citation to an old version can be shown.
    (passage,) = archive.store.passages([Hit(f"{A}.1.1", 1.0, 1, "dense")])
    assert passage.chunk.text == old.text[passage.chunk.start : passage.chunk.end] == "first beta"


def test_a_filter_and_a_point_in_time_hold_both(archive: Archive) -> None:
    archive.put("old alpha", team="red")
    archive.put("old alpha", "toy:b", team="blue")
    archive.clock = EVENING
    archive.put("new alpha", team="blue")
    then = PointInTime(recorded=NOON)
    red = archive.store.search_lexical("alpha", 9, {"team": "red"}, at=then)
    assert [hit.chunk_id for hit in red] == [f"{A}.1.0"]
    assert archive.store.search_lexical("alpha", 9, {"team": "red"}) == []
    blue = archive.store.search_dense(ENCODER.encode_queries(["alpha"])[0], 9, {"team": "blue"}, at=then)
    assert [hit.chunk_id for hit in blue] == [f"{B}.1.0"]


def test_a_search_of_then_is_the_search_that_was_made_then(archive: Archive) -> None:
    """Replay: what each leg gave after every commit is what it gives now for that moment, to the last score."""
    rng = np.random.default_rng(3)
    vector = ENCODER.encode_queries(["alpha beta"])[0]
    seen = []
    for minute in range(25):
        archive.clock = f"2024-01-01T12:{minute:02}:00.000+00:00"
        uri = f"toy:{rng.integers(4)}"
        if rng.random() < 0.3:
            archive.store.remove(document_id(uri))
        else:
            archive.put(f"alpha {minute} beta\nbeta {'alpha ' * int(rng.integers(1, 4))}", uri)
        seen.append((archive.clock, _hits(archive, None)))
    archive.reopen()
    archive.store.compact()
    for moment, before in seen:
        assert _hits(archive, PointInTime(recorded=moment)) == before, moment
    assert vector.shape == (8,)


def _hits(archive: Archive, at: PointInTime | None) -> list[tuple[str, float]]:
    """The dense leg: its scores are of the vectors alone. Word statistics are of all that is kept."""
    hits = archive.store.search_dense(ENCODER.encode_queries(["alpha beta"])[0], 99, at=at)
    words = sorted(hit.chunk_id for hit in archive.store.search_lexical("alpha beta", 99, at=at))
    return [(hit.chunk_id, round(hit.score, 6)) for hit in hits] + [(each, 0.0) for each in words]


def test_numbers_go_on_after_removal_and_purge(archive: Archive) -> None:
    archive.put("one")
    archive.put("two")
    archive.store.remove(A)
    assert archive.store.next_version(A) == 3
    archive.put("three")
    archive.store.purge([A])
    archive.reopen()
    assert archive.store.next_version(A) == 4
    assert archive.put("four").version == 4


def test_removed_and_added_again_within_one_commit_is_the_removal(archive: Archive) -> None:
    archive.put("old")
    archive.store.commit([archive.stage("new")], remove=[A])
    assert archive.near("new") == []
    assert [(each.version, each.current) for each in archive.store.history(A)] == [(1, False), (2, False)]
    assert archive.store.check() == []
    archive.reopen()
    assert archive.near("new") == []


def test_a_current_version_is_replaced_by_who_comes_second(archive: Archive) -> None:
    """Adding an id again is never a second current document, nor the old text in silence."""
    for text in ("one", "two", "three"):
        archive.put(text)
        assert archive.store.document_count == len(archive.store.documents()) == 1
    assert archive.near("one") == ["three"]
    assert [each.version for each in archive.store.history(A)] == [1, 2, 3]


# What was encoded


def test_a_vector_is_known_by_its_text_and_no_longer_after_purge(archive: Archive) -> None:
    archive.put("alpha\nbeta")
    known = archive.store.encoded([digest("alpha"), digest("never"), digest("beta")])
    assert known.keys() == {digest("alpha"), digest("beta")}
    assert np.allclose(known[digest("beta")], ENCODER.encode_passages(["beta"])[0], atol=1e-6)
    archive.store.remove(A)
    assert archive.store.encoded([digest("alpha")]).keys() == {digest("alpha")}
    archive.store.purge([A])
    assert archive.store.encoded([digest("alpha")]) == {}


def test_a_vector_is_known_while_any_chunk_has_it(archive: Archive) -> None:
    """Two documents with the same text: deleting either one leaves the other's vector known."""
    archive.put("same words")
    archive.put("same words", "toy:b")
    archive.store.purge([B])
    assert archive.store.encoded([digest("same words")]).keys() == {digest("same words")}
    archive.put("same words", "toy:b")
    archive.store.purge([A])
    assert archive.store.encoded([digest("same words")]).keys() == {digest("same words")}


def test_what_was_staged_and_discarded_is_not_known(archive: Archive) -> None:
    ticket = archive.stage("alpha")
    archive.store.discard([ticket])
    assert archive.store.encoded([digest("alpha")]) == {}


def test_many_digests_at_once(archive: Archive) -> None:
    lines = [f"line {n}" for n in range(1200)]
    archive.put("\n".join(lines))
    assert len(archive.store.encoded([digest(line) for line in [*lines, *lines]])) == 1200


# In approximate indexes


@pytest.mark.parametrize("kind", ["hnsw", "int8"])
def test_a_past_version_is_not_in_the_way_of_an_approximate_search(tmp_path: Path, kind: str) -> None:
    """k current chunks come back however many past ones are nearer."""
    index = IndexOptions(kind, exact_until=10)  # type: ignore[arg-type]
    with EdgeStore.create(tmp_path / "index", toy_header(ENCODER), index=index, retention=ALL) as store:
        archive = Archive(tmp_path / "index", store)
        for n in range(30):
            archive.put("\n".join(f"near words {n} {line}" for line in range(5)))
        archive.put("\n".join(f"other {n} thing" for n in range(20)), "toy:b")
        store.optimize()
        hits = store.search_dense(ENCODER.encode_queries(["near words 3 2"])[0], 25)
        assert len(hits) == 25
        assert {hit.chunk_id.rpartition(".")[0] for hit in hits} == {f"{A}.30", f"{B}.1"}
        assert store.check() == []


def test_points_that_the_engine_has_twice_are_joined_at_opening(tmp_path: Path) -> None:
    """Killed while it merges, the engine keeps both the old segments and the new one."""
    folder = tmp_path / "index"
    with EdgeStore.create(folder, toy_header(ENCODER), retention=ALL) as store:
        archive = Archive(folder, store)
        archive.put("\n".join(f"line {n}" for n in range(20)))
    (points,) = folder.glob("points-*.edge")
    # A segment that is there twice.
    import shutil
    import uuid

    for segment in list((points / "segments").iterdir()):
        shutil.copytree(segment, segment.with_name(str(uuid.uuid4())))
    with EdgeStore.open(folder, retention=ALL) as store:
        assert store.point_count == 20
        assert store.check() == []
        archive = Archive(folder, store)
        archive.put("changed")
        archive.put("other", "toy:b")
        store.remove(B)
        assert archive.near("line 3") == ["changed"]
        assert store.check() == []
        assert len(store.history()) == 3


def test_a_store_without_retention_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = make_archive(tmp_path / "index", monkeypatch, Retention())
    archive.put("one")
    archive.put("two")
    assert [each.version for each in archive.store.history()] == [2]
    assert archive.store.point_count == 1
    archive.store.close()


def test_opening_again_changes_nothing(archive: Archive) -> None:
    archive.put("one")
    archive.put("two")
    archive.store.remove(A)
    before = archive.store.history()
    time.sleep(0.002)
    archive.reopen()
    assert archive.store.history() == before
    assert archive.store.check() == []


def test_a_past_version_can_be_written_beside_the_current_one(archive: Archive, tmp_path: Path) -> None:
    """As a copy of an index does: with the times that it had."""
    archive.put("one", valid_from="2020-01-01")
    archive.clock = EVENING
    archive.put("two")
    with EdgeStore.create(tmp_path / "copy", toy_header(ENCODER), retention=ALL) as copy:
        for stored in archive.store.history():
            document = archive.store.get_document(stored.id, stored.version)
            assert document is not None
            ticket = copy.stage(document, was=stored, source=stored.source)
            chunks = make_chunks(document)
            copy.stage_chunks(ticket, chunks, [""] * len(chunks), ENCODER.encode_passages([c.text for c in chunks]))
            copy.commit([ticket])
        assert copy.history() == archive.store.history()
        assert copy.check() == []
        assert replace(make_document("one", "toy:a"), metadata={"valid_from": "2020-01-01"}) == copy.get_document(A, 1)


@pytest.mark.parametrize("retention", [ALL, Retention()], ids=["marked", "deleted"])
def test_until_old_points_are_marked_or_deleted_they_take_nobodys_place(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, retention: Retention
) -> None:
    archive.reopen(retention)
    archive.put("alpha beta")
    archive.put("alpha beta gamma delta", "toy:b")
    ticket = archive.stage("other words")
    seen: list[list[str]] = []
    for name in ("mark", "delete"):
        real = getattr(Points, name)

        def before(points: Points, keys: Sequence[int], real: Any = real) -> None:
            if keys:
                # One result is asked for: the best match is the old version, whose points are still there.
                seen.append(archive.texts(archive.store.search_lexical("alpha beta", 1)))
                seen.append(archive.texts(archive.store.search_dense(ENCODER.encode_queries(["alpha beta"])[0], 1)))
            real(points, keys)

        monkeypatch.setattr(Points, name, before)
    archive.store.commit([ticket])
    assert seen == [["alpha beta gamma delta"]] * 2
