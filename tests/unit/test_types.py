from __future__ import annotations

import dataclasses

import pytest
from step_helpers import passage

from pincite import types
from pincite.types import AddReport, Chunk, Document, FileOutcome, Heading, Page, Passage
from toys import make_document


def test_every_record_is_frozen_and_has_slots() -> None:
    records = [each for name in types.__all__ if dataclasses.is_dataclass(each := getattr(types, name))]
    assert len(records) >= 15
    for record in records:
        assert record.__dataclass_params__.frozen, record
        assert hasattr(record, "__slots__"), record


def test_hits_of_a_ranking() -> None:
    hits = types.Hit.ranked(["b", "a"], [0.9, 0.2], "dense")
    assert hits == [types.Hit("b", 0.9, 1, "dense"), types.Hit("a", 0.2, 2, "dense")]
    assert [type(hit) for hit in hits] == [types.Hit, types.Hit]
    with pytest.raises(AttributeError):
        hits[0].score = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("offset", "page"),
    [(0, 1), (9, 1), (10, 1), (11, 4), (19, 4), (20, 4), (25, 5), (10_000, 5)],
)
def test_page_at_an_offset(offset: int, page: int) -> None:
    # A line break between pages belongs to the page before it; pages 2 and 3 are blank and take no room.
    pages = (Page(1, 0, 10), Page(2, 11, 11), Page(3, 11, 11), Page(4, 11, 20), Page(5, 21, 30))
    assert make_document("x" * 30, pages=pages).page_at(offset) == page


def test_page_at_the_edges() -> None:
    assert make_document("x").page_at(0) is None
    # Text before the first page, as where a loader puts a title in front, is on the first.
    assert make_document("x" * 9, pages=(Page(7, 4, 9),)).page_at(0) == 7
    blank_first = (Page(1, 0, 0), Page(2, 0, 5), Page(3, 5, 5))
    assert [make_document("xxxxx", pages=blank_first).page_at(offset) for offset in (0, 4)] == [2, 2]


def document(*headings: tuple[int, str, int]) -> Document:
    made = tuple(Heading(level, text, start, start + len(text)) for level, text, start in headings)
    return dataclasses.replace(make_document("x" * 100), headings=made)


def test_the_headings_in_force() -> None:
    found = document((1, "One", 5), (2, "A", 20), (3, "i", 30), (2, "B", 40), (1, "Two", 60), (3, "deep", 70))
    assert found.heading_path(0) == ()
    assert found.heading_path(4) == ()
    assert found.heading_path(5) == ("One",)
    assert found.heading_path(35) == ("One", "A", "i")
    assert found.heading_path(40) == ("One", "B")
    assert found.heading_path(69) == ("Two",)
    assert found.heading_path(99) == ("Two", "deep")  # a level may be left out
    assert document((2, "b", 0), (1, "a", 10)).heading_path(50) == ("a",)
    assert document().heading_path(3) == ()


def test_the_location_of_a_passage() -> None:
    def location(page: int | None, *headings: str) -> str:
        one = passage("x", headings=headings)
        return dataclasses.replace(one, chunk=dataclasses.replace(one.chunk, page=page)).location

    assert location(12, "Article II", "Section 1") == "p. 12, Article II › Section 1"
    assert location(3) == "p. 3"
    assert location(None, "Scope") == "Scope"
    assert location(None) == ""


def test_counting_what_became_of_files() -> None:
    outcomes = (
        FileOutcome("a", "added", chunks=3),
        FileOutcome("b", "updated", chunks=2),
        FileOutcome("c", "unchanged", chunks=7),
        FileOutcome("d", "skipped", reason="hidden"),
    )
    report = AddReport(outcomes, 0.1)
    assert [report.count(status) for status in ("added", "updated", "unchanged", "skipped")] == [1, 1, 1, 1]
    assert report.chunks == 5
    assert report.skipped == (outcomes[3],)
    assert AddReport((), 0.0).chunks == 0


def test_defaults_are_not_shared() -> None:
    one, other = make_document(), make_document()
    assert one.metadata is not other.metadata
    assert Passage(Chunk("c", "d", 1, "", 0, 0, 0), "", "", passage("x").hit).legs == {}
