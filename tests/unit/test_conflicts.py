"""What contradicts what, told sparingly, with both places exact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.citations import cite
from pincite.conflicts import conflicts
from pincite.contrary import contrary
from pincite.support.lexical import LexicalSupport
from pincite.types import Chunk, Citation, Hit, Passage

CONTRARY = [
    ("The notice period is sixty days.", "The notice period is 90 days.", "60 days / 90 days"),
    ("The notice period is 3 months.", "The notice period is 30 days.", "3 months / 30 days"),
    ("The valve opens at 40 bar.", "The valve opens at 60 bar.", "40 bar / 60 bar"),
    ("The company earned five million dollars.", "The company earned $6 million.", "5,000,000 / 6,000,000"),
    ("The library closes at 18:00 on Monday.", "The library closes at 18:00 on Friday.", "monday / friday"),
    ("The lease ends on 1 March 2024.", "The lease ends on April 1, 2024.", "1 march 2024 / "),
    ("The tower was opened in 1889.", "The tower was opened in 1887.", "1889 / 1887"),
    ("The annual fee is at least 100 euros.", "The annual fee is at most 100 euros.", "at least 100 "),
    ("Smoking is allowed in the hall.", "Smoking is not allowed in the hall.", "allowed / forbidden"),
    ("Smoking is forbidden in the hall.", "Smoking is permitted in the hall.", "forbidden / allowed"),
    ("Pets live in the flats.", "Pets never live in the flats.", "yes / no"),
    ("The tenant must mend the roof.", "The tenant may mend the roof.", "must / may"),
    ("Pay before delivery of the goods.", "Pay after delivery of the goods.", "before / after"),
    ("The deposit is 10% of the price.", "The deposit is 15 percent of the price.", "10 "),
]
NOT_CONTRARY = [
    ("Pump P1 delivers 40 bar.", "Pump P2 delivers 60 bar.", "another thing, by its code"),
    ("Valve A opens at 40 bar.", "Valve B opens at 60 bar.", "another thing, by its letter"),
    ("The office in Mumbai opens at 9.", "The office in Delhi opens at 10.", "another place"),
    ("The notice period in Germany is 60 days.", "The notice period is 90 days.", "a place that one adds"),
    ("The notice period is 60 days.", "The notice period is 2 months.", "60 days may be 2 months"),
    ("The notice period is 12 months.", "The notice period is 1 year.", "the same"),
    ("The notice period is 90 days.", "The notice period is ninety days.", "the same"),
    ("The annual fee is at least 100 euros.", "The annual fee is 150 euros.", "within the bound"),
    ("In 2010 the town had 1,000 people.", "In 2020 the town had 1,200 people.", "another year"),
    ("The town had 1,000 people in 2010.", "The town had 1,200 people in 2020.", "another year"),
    ("Under section 5 the fine is 100 euros.", "Under section 6 the fine is 200 euros.", "another section"),
    ("The fine is 100 euros.", "The fine is 200 euros if paid late.", "an exception"),
    ("The fee was formerly 100 euros a month.", "The fee is 200 euros a month.", "what no longer holds"),
    ("Is the fee of the club 100 euros?", "The fee of the club is 200 euros.", "a question"),
    ("It lasts 60 days.", "It takes 90 days.", "nobody knows what it is"),
    ("It lasts 60 days.", "It lasts 90 days.", "nobody knows what it is"),
    ("Smoking is forbidden in the hall.", "Smoking is not allowed in the hall.", "the same"),
    ("The tenant must not smoke indoors.", "The tenant may not smoke indoors.", "both forbid"),
    ("5. The deposit is paid in advance.", "7. The deposit is paid in advance.", "numbers of a list"),
    ("Loans last three weeks for members.", "Loans last 4 weeks.", "members, whom one adds"),
    ("The room has 2 beds and 3 lamps.", "The room has 2 beds.", "not one by one"),
    ("The gas boiler holds 40 litres.", "The electric boiler holds 60 litres.", "another boiler"),
    ("The first floor has 12 rooms.", "The second floor has 14 rooms.", "another floor"),
    ("Copper melts at 1085 degrees [3].", "Copper melts at 1085 degrees [7].", "numbers of notes"),
]


@pytest.mark.parametrize(("one", "other", "difference"), CONTRARY)
def test_what_is_contrary_is_told(one: str, other: str, difference: str) -> None:
    told = contrary(one, other)
    assert told.startswith(difference.split(" / ")[0])
    assert " / " in told


@pytest.mark.parametrize(("one", "other", "why"), NOT_CONTRARY)
def test_what_speaks_of_something_else_is_not(one: str, other: str, why: str) -> None:
    assert contrary(one, other) == "", why
    assert contrary(other, one) == "", why


def test_a_common_document_or_heading_names_the_subject() -> None:
    assert contrary("The fee is 60.", "The fee is 90.") == ""
    assert contrary("The fee is 60.", "The fee is 90.", known=1) == "60 / 90"
    assert contrary("It is 60 days long.", "It is 90 days long.", known=1) == "60 days / 90 days"


LINE = (
    "the notice period is fee was 60 90 sixty days months not may must at least most P1 P2 in 2019 Germany unless "
    "before after allowed forbidden 1 March 5% $40 40 bar , . ? [1] section 7 it"
)
WORDS = st.sampled_from(LINE.split(" "))


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=14).map(" ".join), st.lists(WORDS, max_size=14).map(" ".join))
def test_it_is_symmetric_and_never_of_one_sentence(one: str, other: str) -> None:
    told, back = contrary(one, other), contrary(other, one)
    assert back == " / ".join(reversed(told.split(" / ")))
    assert contrary(one, one) == ""


# Places


def passage(
    text: str, document: str = "a", version: int = 1, *, start: int = 0, title: str = "Handbook", **metadata: Any
) -> Passage:
    chunk = Chunk(f"{document}.{version}.{start}", document, version, text, start, start + len(text), 0)
    return Passage(chunk, title, f"/{document}.md", Hit(chunk.id, 1.0, 1, "fused"), metadata=metadata)


def cited(answer: str, passages: list[Passage]) -> list[Citation]:
    return cite(answer, "?", passages, support=LexicalSupport())


ANSWER = "The notice period is 60 days. [1]"


def test_both_places_are_exact_and_the_newer_is_named() -> None:
    one = "Terms of work.\n\nThe notice period is 60 days. Holidays are thirty days."
    other = "Notices. The notice period is ninety days. Holidays are thirty days."
    passages = [
        passage(one, "a", start=100, title="Handbook 2022", valid_from="2022-01-01"),
        passage(other, "b", start=40, title="Handbook 2024", valid_from="2024-07-01"),
    ]
    (found,) = conflicts(cited(ANSWER, passages), passages)
    assert found.difference == "60 days / 90 days"
    assert (found.citation.document_id, found.against.document_id) == ("a", "b")
    assert found.against.quote == "The notice period is ninety days."
    assert other[found.against.start - 40 : found.against.end - 40] == found.against.quote
    assert one[found.citation.start - 100 : found.citation.end - 100] == found.citation.quote
    assert (found.against.answer_start, found.against.answer_end) == (0, len("The notice period is 60 days."))
    assert (found.against.verdict, found.against.number, found.against.chunk_id) == ("unsupported", 0, "b.1.40")
    assert found.later == "Handbook 2024, version 1: in force from 2024-07-01, the other 2022-01-01"
    # From the other side: the same conflict, the same one newer.
    (back,) = conflicts(cited("The notice period is 90 days. [2]", passages), passages)
    assert (back.difference, back.later) == ("90 days / 60 days", found.later)


@pytest.mark.parametrize(
    ("first", "second", "later"),
    [
        ({"date": "2021-05-01"}, {"date": "2020-05-01"}, "Handbook, version 1: dated 2021-05-01, the other 2020"),
        ({"date": "2021-05-01"}, {}, ""),
        (
            {"valid_from": "2020-01-01", "date": "2023-01-01"},
            {"valid_from": "2021-01-01", "date": "2022-01-01"},
            "Manual",
        ),
    ],
)
def test_dates_of_both_tell_which_is_newer(first: dict[str, Any], second: dict[str, Any], later: str) -> None:
    passages = [
        passage("The notice period is 60 days.", "a", **first),
        passage("The notice period is 90 days.", "b", title="Manual", **second),
    ]
    (found,) = conflicts(cited(ANSWER, passages), passages)
    assert found.later.startswith(later) if later else found.later == ""


def test_of_one_document_the_version_tells_and_else_when_it_was_added() -> None:
    passages = [passage("The fee is 60 euros.", "a", 2), passage("The fee is 90 euros.", "a", 10)]
    (found,) = conflicts(cited("The fee is 60 euros. [1]", passages), passages)
    assert found.later == "Handbook, version 10: the other is version 2"
    two = [passage("The notice period is 60 days.", "a"), passage("The notice period is 90 days.", "b", title="Memo")]
    added = {"a": "2024-01-01T00:00:00+00:00", "b": "2023-01-01T00:00:00+00:00"}
    (found,) = conflicts(cited(ANSWER, two), two, dated=lambda document, _: added.get(document))
    assert found.later.startswith("Handbook, version 1: added 2024-01-01")
    (found,) = conflicts(cited(ANSWER, two), two, dated=lambda *_: None)
    assert found.later == ""


def test_of_two_documents_of_one_title_the_file_is_named() -> None:
    passages = [
        passage("The notice period is 60 days.", "old", date="2020-05-01"),
        passage("The notice period is 90 days.", "new", date="2021-05-01"),
    ]
    (found,) = conflicts(cited(ANSWER, passages), passages)
    assert found.later == "Handbook (new.md), version 1: dated 2021-05-01, the other 2020-05-01"


def test_what_is_no_conflict_of_the_answer_is_left_out() -> None:
    same = passage("The notice period is 60 days. The notice period is 90 days.", "a")
    assert conflicts(cited(ANSWER, [same]), [same]) == []  # within one version: the author's own affair
    other = passage("The notice period is 90 days.", "b")
    unsupported = [replace(each, verdict="unsupported") for each in cited(ANSWER, [same, other])]
    assert conflicts(unsupported, [same, other]) == []
    p1 = passage("The pump delivers 40 bar at most.", "a", title="Pump P1")
    p2 = passage("The pump delivers 60 bar at most.", "b", title="Pump P2")
    assert conflicts(cited("The pump delivers 40 bar at most. [1]", [p1, p2]), [p1, p2]) == []
    for one, two, number in (
        ("Pump, v1", "Pump, v2", 1),
        ("Pump 2019", "Pump 2021", 1),
        ("Pump 2019-03-01", "Pump 2021-03-02", 1),
        ("Pump, version 2", "Pump, version 3", 1),
        ("Pump of flat 12", "Pump of flat 14", 0),
        ("Pump of flat 12", "Pump of flat 12, 2021", 1),
    ):
        pair = [replace(p1, title=one), replace(p2, title=two)]
        assert len(conflicts(cited("The pump delivers 40 bar at most. [1]", pair), pair)) == number, (one, two)


def test_a_place_is_told_once_and_bears_its_number_where_it_is_cited() -> None:
    passages = [passage("The notice period is 60 days.", "a"), passage("The notice period is 90 days.", "b")]
    answer = (
        "The notice period is 60 days. [1] The notice period is 90 days. [2] Again: the notice period is 60 days. [1]"
    )
    found = conflicts(cited(answer, passages), passages)
    assert [(each.citation.number, each.against.number) for each in found] == [(1, 2)]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(["The notice period is {} days.", "Rent is due on the {}th.", "Pets are {} allowed.", "Ä §\n"])
    ),
    st.lists(st.sampled_from(["60", "90", "not", ""]), min_size=2, max_size=2),
    st.integers(0, 50),
)
def test_offsets_are_exact_whatever_stands_around(lines: list[str], values: list[str], start: int) -> None:
    texts = [" ".join(line.format(value) for line in [*lines, "The notice period is {} days."]) for value in values]
    passages = [passage(text, name, start=start) for text, name in zip(texts, "ab", strict=True)]
    citations = cited(f"The notice period is {values[0]} days. [1]", passages)
    for each in conflicts(citations, passages):
        text = texts["ab".index(each.against.document_id)]
        assert text[each.against.start - start : each.against.end - start] == each.against.quote
        assert each.citation in citations


def test_an_answer_tells_its_conflicts_with_both_places(tmp_path: Path) -> None:
    from pincite import Pincite

    old = (
        "---\nvalid_from: 2022-01-01\n---\n# Staff handbook\n\n## Leaving\n\nThe notice period for staff is sixty days."
    )
    (tmp_path / "old.md").write_text(old)
    (tmp_path / "new.md").write_text(old.replace("2022-01", "2024-07").replace("sixty", "90"))
    (tmp_path / "other.md").write_text("# Canteen\n\nLunch for staff is served from noon.\n")
    with Pincite.open(tmp_path / "index", environment={}) as pincite:
        pincite.add(sorted(tmp_path.glob("*.md")))
        answer = pincite.ask("What is the notice period for staff?")
        (found,) = answer.conflicts
        assert sorted(found.difference.split(" / ")) == ["60 days", "90 days"]
        assert found.later == "Staff handbook (new.md), version 1: in force from 2024-07-01, the other 2022-01-01"
        assert found.citation in answer.citations
        assert found.against.headings == ("Staff handbook", "Leaving")
        for each in (found.citation, found.against):
            document = pincite.store.get_document(each.document_id, each.version)
            assert document is not None
            assert document.text[each.start : each.end] == each.quote
        assert pincite.ask("When is lunch served for staff?").conflicts == ()
