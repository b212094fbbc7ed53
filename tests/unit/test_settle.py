"""What of an answer stands: markers kept, set right or taken away, and every offset moved along."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from step_helpers import passage

from pincite.citations import is_good, quotations
from pincite.settle import UNSUPPORTED, Settled, settle, settle_unmarked
from pincite.statements import statements
from pincite.support.lexical import LexicalSupport
from pincite.types import Citation, Correction, Passage
from pincite.words import content_words

VALVE = passage("The limit is 40 bar. Above that the valve opens. The valve is red.", start=7)
PUMP = passage("The pump is checked every year. It is painted blue.", n=2)
LEASE = passage(
    "The tenant may not keep dogs. The tenant shall pay a rent of 500 euros.", n=3, title="House Rules of 1999"
)
PASSAGES = [VALVE, PUMP, LEASE]


def settled(text: str, passages: list[Passage] = PASSAGES, question: str = "") -> Settled:
    """With the lexical judge; the offsets of every record are held against the texts."""
    found = settle(text, question, passages, support=LexicalSupport())
    held(found, passages)
    return found


def held(found: Settled, passages: list[Passage]) -> None:
    documents = {each.chunk.document_id: " " * each.chunk.start + each.chunk.text for each in passages}
    for citation in found.citations:
        assert documents[citation.document_id][citation.start : citation.end] == citation.quote
    for quoted in found.quotations:
        assert found.text[quoted.answer_start : quoted.answer_end] == quoted.text
        if quoted.number:
            assert documents[quoted.document_id][quoted.start : quoted.end] == quoted.quote
        else:
            assert quoted.verdict == "absent"


# Markers


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The limit is 40 bar [1]. It is painted blue [2].", "The limit is 40 bar [1]. It is painted blue [2]."),
        ("The limit is 40 bar [2].", "The limit is 40 bar [1]."),
        ("The limit is 40 bar. [2]", "The limit is 40 bar. [1]"),
        ("The limit is 40 bar.[2][3] Yes.", "The limit is 40 bar.[1] Yes."),
        ("[2] The limit is 40 bar.\n[1] It is painted blue.", "[1] The limit is 40 bar.\n[2] It is painted blue."),
        ("The limit is 40 bar [1][2], so.", "The limit is 40 bar [1], so."),
        ("The limit is 40 bar [2] [1].", "The limit is 40 bar [1]."),
        ("[2][1] The limit is 40 bar.", "[1] The limit is 40 bar."),
        ("The limit is 60 bar [1]. The valve is red [1].", f"The limit is 60 bar {UNSUPPORTED}. The valve is red [1]."),
        ("The limit is 60 bar. [1] [2]\nIt is blue.", f"The limit is 60 bar. {UNSUPPORTED}\nIt is blue."),
        ("The valve is red [1]. The moon is far.", f"The valve is red [1]. The moon is far. {UNSUPPORTED}"),
        ("The valve is red.", "The valve is red."),  # true, but it names no source and is given none
        ("Two years [2].", f"Two years {UNSUPPORTED}."),
        ("Yes. [1]", "Yes. [1]"),
        ("# The moon\n\nIn short:\n\n- Is it far?", "# The moon\n\nIn short:\n\n- Is it far?"),
        ("```\nmoon = far[1]\n```\nThe valve is red [1].", "```\nmoon = far[1]\n```\nThe valve is red [1]."),
        ("| moon | far |\n\nThe sources do not say.", "| moon | far |\n\nThe sources do not say."),
        ("", ""),
        # Two clauses that name each other's passage, and what is left of lists of markers
        ("The limit is 40 bar [2] and it is painted blue [1].",
         f"The limit is 40 bar {UNSUPPORTED} and it is painted blue."),
        ("The limit is 60 bar ([2], [3]).", f"The limit is 60 bar ({UNSUPPORTED})."),
        ("The limit is 40 bar [1] and [2].", "The limit is 40 bar [1]."),
        ("The limit is 40 bar [2], [1].", "The limit is 40 bar [1]."),
        # A list of sources claims nothing
        ("The limit is 40 bar [1].\n\nSources:\n[3] House Rules of 1999\n[1]: https://a.example/b",
         "The limit is 40 bar [1].\n\nSources:\n[3] House Rules of 1999\n[1]: https://a.example/b"),
        ("The limit is 40 bar [2](https://a.example/b).", "The limit is 40 bar [1](https://a.example/b)."),
        ("The limit is 40 bar.[2]\r\nIt is painted blue [1][2].\r\n",
         "The limit is 40 bar.[1]\r\nIt is painted blue [2].\r\n"),
        ("By [1973] 3 SCR 1 and (2014) 8 SCC 2 the limit [1973] is 40 bar",
         f"By [1973] 3 SCR 1 and (2014) 8 SCC 2 the limit [1973] is 40 bar {UNSUPPORTED}"),
    ],
)  # fmt: skip
def test_markers(text: str, right: str) -> None:
    found = settled(text)
    assert found.text == right
    # What is settled stays as it is.
    assert settled(found.text).text == right


def test_a_wrong_number_is_set_right_and_told() -> None:
    found = settled("It is painted blue [2]. The limit is 40 bar [2][3].")
    assert found.text == "It is painted blue [2]. The limit is 40 bar [1]."
    start, end = 24, len(found.text)
    assert found.corrections == (Correction(start, end, 2, 1), Correction(start, end, 3, 1))
    assert [(each.number, each.verdict) for each in found.citations] == [(2, "verbatim"), (1, "verbatim")]
    assert found.notes == ()


def test_no_number_is_set_right_where_several_would_do() -> None:
    text = "The limit is 40 bar [2]."
    twice = [*PASSAGES, passage("Remember: The limit is 40 bar.", n=4)]
    found = settled(text, twice)
    assert found.text == f"The limit is 40 bar {UNSUPPORTED}."
    assert found.corrections == ()
    assert [(each.number, each.verdict) for each in found.citations] == [(2, "unsupported")]
    assert "whose number was removed: 'The limit is 40 bar.'" in found.notes[0]


def test_a_number_that_was_removed_is_not_made_up_for() -> None:
    # The marker was of an unknown source and is gone.
    found = settled("The limit is 40 bar.")
    assert (found.text, found.citations, found.corrections) == ("The limit is 40 bar.", (), ())
    assert found.notes == ("1 sentence of the answer names no source and is not proved: 'The limit is 40 bar.'",)
    # One that was taken for a subscript names nothing either.
    assert settled("The limit is 40 bar[9].").citations == ()


def test_numbers_that_do_not_support_are_told() -> None:
    found = settled("The limit is 40 bar [1][2]. The moon is far [3]. The sun is hot [1].")
    assert found.notes == (
        "[2]: no support for 'The limit is 40 bar.'; removed",
        "2 sentences of the answer are not supported by the sources they name, whose numbers were removed: "
        "'The moon is far.'",
    )
    assert found.stands
    assert not settled("The moon is far [3].").stands


def test_a_subscript_names_nothing() -> None:
    named = [each.named for each in statements("The array[2] and x[1] and my_list[3]. The landlord[1].")]
    assert named == [(), (0,)]


def test_what_a_check_drops_supports_nothing() -> None:
    def dropped(citations: Iterable[Citation]) -> list[Citation]:
        return [each for each in citations if each.number != 1]

    found = settle("The limit is 40 bar [1].", "", PASSAGES, support=LexicalSupport(), check=dropped)
    assert (found.text, found.citations) == (f"The limit is 40 bar {UNSUPPORTED}.", ())
    found = settle("The limit is 40 bar [2].", "", PASSAGES, support=LexicalSupport(), check=dropped)
    assert found.corrections == ()


# Several sentences, several passages


def test_a_sentence_of_two_clauses_rests_on_two_sentences() -> None:
    text = "The limit is 40 bar and the valve is red [1]."
    found = settled(text)
    assert found.text == text
    (citation,) = found.citations
    assert (citation.verdict, citation.quote) == ("supported", VALVE.chunk.text)
    found = settled("The limit is 40 bar and the pump is checked every year [1][2].")
    assert [(each.number, each.quote) for each in found.citations] == [
        (1, "The limit is 40 bar."),
        (2, "The pump is checked every year."),
    ]
    assert all(map(is_good, found.citations))
    for false in (
        "The limit is 40 bar and the valve is green [1].",
        "The limit opens above 40 bar [1].",
        "The pump is red and the valve is painted blue [1][2].",
    ):
        assert UNSUPPORTED in settled(false).text, false


def test_what_stands_before_each_marker_is_held_against_it() -> None:
    text = "The limit is 40 bar [1], and the pump is checked every year [2]."
    found = settled(text)
    assert found.text == text
    assert [found.text[each.answer_start : each.answer_end] for each in found.citations] == [
        "The limit is 40 bar",
        "the pump is checked every year",
    ]
    # Each is true of the other's source: no one passage supports the whole, so nothing is set right.
    false = "The limit is 40 bar [1], and the pump is checked every week [2]."
    assert settled(false).text == f"The limit is 40 bar {UNSUPPORTED}, and the pump is checked every week."


# Quotations


def test_fabricated_misattributed_and_stitched() -> None:
    found = settled('It says "The limit is 40 bar" [1].')
    assert [(each.verdict, each.number) for each in found.quotations] == [("verbatim", 1)]
    assert found.text.endswith("[1].")

    found = settled('It says "The limit is 60 bar" [1].')
    assert [(each.verdict, each.number, each.difference) for each in found.quotations] == [
        ("altered", 1, "“60” for “40”")
    ]
    assert found.text == f'It says "The limit is 60 bar" {UNSUPPORTED}.'

    found = settled('It says "The limit is the valve" [1].')
    assert [(each.verdict, each.quote) for each in found.quotations] == [
        ("stitched", "The limit is 40 bar. Above that the valve")
    ]
    assert UNSUPPORTED in found.text

    found = settled('It says "The limit is 40 bar" [2].')
    assert found.text == 'It says "The limit is 40 bar" [1].'
    assert [(each.was, each.now) for each in found.corrections] == [(2, 1)]

    twice = [*PASSAGES, passage("Remember: The limit is 40 bar.", n=4)]
    found = settled('It says "The limit is 40 bar" [2].', twice)
    assert [(each.verdict, each.number) for each in found.quotations] == [("elsewhere", 1)]
    assert found.corrections == ()
    assert found.citations[0].verdict == "unsupported"


def test_false_words_in_quotation_marks_are_not_outweighed() -> None:
    # All content words stand there, so that the sentence alone would pass.
    found = settled("The tenant shall pay “a 500 euros rent of” rent [3].")
    assert found.quotations[0].verdict != "verbatim"
    assert UNSUPPORTED in found.text
    assert (
        "quoted" in found.citations[0].why or "pieces" in found.citations[0].why or "nowhere" in found.citations[0].why
    )


def test_a_quotation_of_two_sentences() -> None:
    text = 'The manual says: "The limit is 40 bar. Above that the valve opens." [1]'
    found = settled(text)
    assert found.text == text
    assert [(each.verdict, each.quote) for each in found.citations] == [
        ("verbatim", "The limit is 40 bar. Above that the valve opens.")
    ]
    block = "The manual:\n\n> The limit is 40 bar.\n> Above that the valve opens. [1]"
    found = settled(block)
    assert found.text == block
    assert [each.verdict for each in found.quotations] == ["verbatim"]
    assert [(each.number, each.verdict) for each in found.citations] == [(1, "verbatim"), (1, "verbatim")]
    for denied in (
        'It never says "The limit is 40 bar … the valve opens" [1].',
        "It is false: “The limit … valve opens” [1].",
    ):
        assert UNSUPPORTED in settled(denied).text


def test_names_and_the_words_of_the_question_are_no_quotations_of_a_source() -> None:
    named = settled('As the "House Rules of 1999" have it, the tenant may not keep dogs [3].')
    assert [each.verdict for each in named.quotations] == ["absent"]
    assert all("nowhere" not in each.why and "no source" not in each.why for each in named.citations)
    asked = settled("The valve is red, “as red as can be” [1].", question="Is the valve as red as can be?")
    assert all("“as red as can be”" not in each.why for each in asked.citations)


def test_quotations_alone() -> None:
    text = "“The limit is 40 bar” [2], and “above that the valve opens”."
    found = quotations(text, PASSAGES)
    assert [(each.verdict, each.number) for each in found] == [("elsewhere", 1), ("elsewhere", 1)]
    assert [each.start for each in found] == [7, 28]
    assert quotations("“The limit is 40 bar”", PASSAGES, named=[2])[0].verdict == "elsewhere"
    assert quotations("“The limit is 40 bar”", PASSAGES)[0].verdict == "verbatim"
    assert quotations("The limit is 40 bar", PASSAGES) == []


# Without markers


def test_an_answer_without_markers() -> None:
    text = "It is painted blue. The moon is far. The limit is 40 bar."
    found = settle_unmarked(text, "", PASSAGES, support=LexicalSupport(), sources=[0, 1])
    held(found, PASSAGES)
    assert found.text == f"It is painted blue. [1] The moon is far. {UNSUPPORTED} The limit is 40 bar. [2]"
    assert [(each.number, each.verdict) for each in found.citations][::2] == [(1, "verbatim"), (2, "verbatim")]
    assert found.text[found.citations[2].answer_start : found.citations[2].answer_end] == "The limit is 40 bar."
    nothing = settle_unmarked("The moon is far.", "", PASSAGES, support=LexicalSupport(), sources=[0])
    assert (nothing.text, nothing.stands) == ("The moon is far.", False)


def test_its_quotations_have_the_numbers_that_are_shown() -> None:
    text = "They say “the pump is checked every year”."
    found = settle_unmarked(text, "", PASSAGES, support=LexicalSupport(), sources=[0, 1])
    assert [(each.verdict, each.number) for each in found.quotations] == [("verbatim", 1)]
    assert (
        found.text[found.quotations[0].answer_start : found.quotations[0].answer_end]
        == "the pump is checked every year"
    )


# Offsets

_MARKS = re.compile(r" ?(?:\[\d+\]|\[unsupported\])")
_BITS = st.sampled_from(
    ["The limit is 40 bar", "The valve is red", "The moon is far", "It is painted blue", " [1]", "[2]", " [3] ", "[9]"]
    * 2
    + [". ", "。", "\n", "\n\n", "- ", "> ", "“the limit is 40 bar”", "“The limit is 60 bar”", "`", " ", "# ", " and "]
)


@given(st.lists(_BITS, max_size=14).map("".join))
def test_only_markers_change_and_every_record_moves_along(text: str) -> None:
    found = settled(text)

    def bare(written: str) -> str:
        # What joins two markers may go with one of them.
        return "".join(_MARKS.sub("", written).split()).replace("and", "")

    assert bare(found.text) == bare(text)
    known = [_bare(each.text) for each in statements(text)]
    for citation in found.citations:
        here = _bare(found.text[citation.answer_start : citation.answer_end])
        assert here
        assert any(here in each for each in known)
    for correction in found.corrections:
        assert _bare(found.text[correction.answer_start : correction.answer_end])
        assert f"[{correction.now}]" in found.text
    if "[unsupported]" not in text:
        good = {each.number for each in found.citations if is_good(each) or each.verdict == "unknown"}
        shown = {
            i + 1
            for each in statements(found.text)
            if content_words(_MARKS.sub(" ", each.text))
            for i in each.named
            if i < len(PASSAGES)
        }
        assert shown <= good


def _bare(text: str) -> str:
    return "".join(character for character in _MARKS.sub("", text) if character.isalnum())
