from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from step_helpers import passage

from pincite import citations
from pincite.citations import add_markers, statements, words_in_common
from pincite.support.lexical import LexicalSupport, judge
from pincite.types import Citation, Passage
from toys import ToyEncoder

if TYPE_CHECKING:
    from pincite.protocols import Matrix

VALVE = "The limit is 40 bar. Above that the valve opens."
OTHER = "The pump is checked every year. It is painted blue."
LEASE = (
    "The term of this lease is two years. The tenant pays 1,250 euros on the third day of each month. "
    "The tenant may not keep dogs. Two keys are handed over. Notice is given three months before the end."
)


def cite(
    text: str,
    question: str,
    passages: Sequence[Passage],
    *,
    sources: Sequence[int] | None = None,
    parts: Sequence[tuple[int, int]] = (),
) -> list[Citation]:
    """With the lexical judge."""
    return citations.cite(text, question, passages, sources=sources, parts=parts, support=LexicalSupport())


def shown(source: str, statement: str, question: str = "") -> tuple[str, str]:
    support = judge(statement, source, question=question)
    return support.verdict, source[support.start : support.end]


# Statements and the passages they name


def named(text: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(each.text, each.named) for each in statements(text)]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("One [1]. Two [2][3].", [("One.", (0,)), ("Two.", (1, 2))]),
        ("One. [1] Two. [2]", [("One.", (0,)), ("Two.", (1,))]),
        ("One [2], or more [1], counts [2].", [("One, or more, counts.", (1, 0))]),
        ("One [1] two.", [("One two.", (0,))]),
        ("One.", [("One.", ())]),
        ("[1] One. Two [2].", [("One.", (0,)), ("Two.", (1,))]),
        ("One.\n\n[2] Two.\n[1]\n", [("One.", ()), ("Two.", (1, 0))]),
        ("- One [1]\n- Two [2]", [("One", (0,)), ("Two", (1,))]),
        ("1. One [1].\n2. Two [2].", [("One.", (0,)), ("Two.", (1,))]),
        ("Use `a[1]` so [2].", [("Use `a[1]` so.", (1,))]),
        ("```\nx[3]\n```", [("```", ()), ("x[3]", ()), ("```", ())]),
        ("A ` stray [1].\n\nNext [2].", [("A ` stray [1].", ()), ("Next.", (1,))]),
        ("一个[1]。两个[2]。", [("一个。", (0,)), ("两个。", (1,))]),
        ("[1]", []),
        ("", []),
        # One pair of quotation marks holds its sentences together.
        ('It says "One two. Three four." [1] Five.', [('It says "One two. Three four."', (0,)), ("Five.", ())]),
        ("“One two. Three four.” [1]", [("“One two. Three four.”", (0,))]),
        # Each sentence of a block quote has its markers.
        ("> One two three.\n> Four five six. [2]", [("One two three.", (1,)), ("Four five six.", (1,))]),
        ("The array[2] holds x_[1], landlord[1].", [("The array[2] holds x_[1], landlord.", (0,))]),
        ("One. [unsupported] Two [1].", [("One.", ()), ("Two.", (0,))]),
    ],
)
def test_statements(text: str, right: list[tuple[str, tuple[int, ...]]]) -> None:
    assert named(text) == right


@given(st.lists(st.sampled_from(["One", " two", ".", " ", "\n", "[1]", "[2]", "`", "\n\n", "三", "。", "- "])))
def test_statements_lie_in_the_text_in_order(parts: list[str]) -> None:
    text = "".join(parts)
    position = 0
    for statement in statements(text):
        assert position <= statement.start < statement.end <= len(text)
        position = statement.end
        assert text[statement.start : statement.end].strip()


def test_the_parts_of_a_statement_stand_before_its_markers() -> None:
    text = "One is so [2], and two is not [1][3] here. Three [1]."
    first, second = statements(text)
    assert [(each.text, each.named) for each in first.parts] == [("One is so", (1,)), ("two is not here.", (0, 2))]
    assert [text[each.start : each.end] for each in first.parts] == ["One is so", "two is not [1][3] here."]
    assert second.parts == ()
    assert [text[start:end] for start, end in first.markers] == ["[2]", "[1]", "[3]"]


# Judging


def test_fabricated_misattributed_and_stitched() -> None:
    assert shown(VALVE, "The limit is 40 bar.") == ("verbatim", "The limit is 40 bar.")
    assert shown(VALVE, "The limit is 60 bar.")[0] == "unsupported"
    assert shown(OTHER, "The limit is 40 bar.")[0] == "unsupported"
    assert shown(VALVE, "The limit is the valve.")[0] == "unsupported"
    assert shown(VALVE, "The limit opens above 40 bar.")[0] == "unsupported"


def test_misattributed_in_an_answer() -> None:
    found = cite("The limit is 40 bar [2]. It is painted blue [2].", "", [passage(VALVE), passage(OTHER, n=2)])
    assert [(each.number, each.verdict) for each in found] == [(2, "unsupported"), (2, "verbatim")]


@pytest.mark.parametrize(
    "statement",
    [
        "The tenant may keep dogs.",
        "The term is not two years.",
        "The tenant does not pay 1,250 euros.",
        "The tenant pays 1,520 euros.",
        "The tenant pays 1250000 euros.",
        "The term of this lease is three years.",
        "The tenant must keep dogs.",
        "The tenant pays 1,250 dollars on the third day of each month.",
        "The tenant pays 1,250 euros on the fourth day of each month.",
        "Notice is given three months after the end.",
        'The tenant pays 900 euros "on the third day of each month".',
        'Nobody says that "the term of this lease is two years".',
        "Rent.",
        "猫",
    ],
)
def test_what_the_source_does_not_say(statement: str) -> None:
    assert shown(LEASE, statement)[0] == "unsupported"


@pytest.mark.parametrize(
    ("statement", "verdict", "sentence"),
    [
        ("the term of this lease is two years", "verbatim", "The term of this lease is two years."),
        ("The lease has a term of 2 years.", "supported", "The term of this lease is two years."),
        ("The tenant must not keep dogs.", "supported", "The tenant may not keep dogs."),
        ('It says "Two keys are handed over".', "verbatim", "Two keys are handed over."),
        ("It says “two  keys are\nhanded over”.", "verbatim", "Two keys are handed over."),
        (
            "The tenant pays 1250 euros on the third day.",
            "supported",
            "The tenant pays 1,250 euros on the third day of each month.",
        ),
    ],
)
def test_what_the_source_says(statement: str, verdict: str, sentence: str) -> None:
    assert shown(LEASE, statement) == (verdict, sentence)


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        ("The “limit” isn’t 40 bar.", 'The "limit" isn\'t 40 bar.'),
        ("The ﬁnal ﬂow is low.", "The final flow is low."),
        ("From 5–10 bar — no more.", "From 5-10 bar - no more."),
        ("The termi-\nnation is void.", "The termination is void."),
        ("The  limit\n is 40\tbar.", "the limit is 40 bar"),
        ("Cafe\u0301 rules apply.", "Café rules apply."),
        ("STRASSE bleibt frei.", "Straße bleibt frei."),
        ("限制为40巴。", "限制为40巴。"),
    ],
)
def test_marks_white_space_and_ligatures_do_not_matter(source: str, statement: str) -> None:
    assert judge(statement, source).verdict == "verbatim"


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        ("It is 5,000 euros.", "5"),
        ("It is 3.14 bar.", "3"),
        ("It is 3.14 bar.", "14"),
        ("It is -5 degrees.", "5"),
        ("There are twenty-two keys.", "two"),
        ("A network is down.", "two"),
    ],
)
def test_a_number_is_not_a_part_of_another(source: str, statement: str) -> None:
    assert judge(statement, source).verdict == "unsupported"


def test_a_true_fragment_of_a_denial_is_no_support() -> None:
    source = "Nothing in this clause means that the tenant may keep dogs."
    assert judge("The tenant may keep dogs.", source).verdict == "unsupported"
    # Two words are an answer, not a claim: what is asked about them is in the question.
    assert judge("two years", "The term shall not exceed two years.").verdict == "verbatim"


def test_a_short_answer_goes_to_the_sentence_the_question_asks_about() -> None:
    assert shown(LEASE, "two", "How many keys are handed over?") == ("verbatim", "Two keys are handed over.")
    assert shown(LEASE, "two", "How long is the term?") == ("verbatim", "The term of this lease is two years.")


def test_a_statement_without_content_cannot_be_checked() -> None:
    found = shown(LEASE, "No.", "May the tenant keep dogs?")
    assert found == ("unknown", "The tenant may not keep dogs.")
    assert shown(LEASE, "Yes, they do.")[0] == "unknown"
    assert judge("The limit.", "").verdict == "unknown"
    assert judge("The limit.", " \n ").verdict == "unknown"


def test_a_later_sentence_that_agrees_beats_a_nearer_one_that_does_not() -> None:
    source = "The monthly rent of the flat is 900 euros. In total the rent of the flat is 950 euros."
    assert shown(source, "The rent of the flat is about 950 euros.")[1] == "In total the rent of the flat is 950 euros."


def test_an_encoder_has_no_part_in_the_verdict() -> None:
    for statement in ("The limit is 60 bar.", "The limit is 40 bar.", "The valve opens above the limit."):
        with_vectors, without = judge(statement, VALVE, encoder=ToyEncoder()), judge(statement, VALVE)
        assert (with_vectors.verdict, with_vectors.score) == (without.verdict, with_vectors.score)


texts = st.text(st.sampled_from("ab 12.,-'\"“”`[]()\n\tnot no é限。"), max_size=60)


@given(texts, texts, texts)
def test_judging_is_deterministic_and_stays_inside_the_source(statement: str, source: str, question: str) -> None:
    support = judge(statement, source, question=question)
    assert support == judge(statement, source, question=question)
    assert 0 <= support.start <= support.end <= len(source)
    assert 0.0 <= support.score <= 1.0
    assert (support.score == 1.0) == (support.verdict == "verbatim")
    assert (support.score >= 0.5) == (support.verdict in ("verbatim", "supported"))


# Citations


def check(citations: list[Citation], document: str, text: str, sentences: list[str]) -> None:
    assert [text[each.answer_start : each.answer_end] for each in citations] == sentences
    for each in citations:
        assert document[each.start : each.end] == each.quote


def test_citations_point_into_the_document_and_the_answer() -> None:
    document = "# Lease\n\n" + LEASE
    text = "The term is two years [1]. The tenant may keep dogs. [1]"
    found = cite(text, "", [passage(LEASE, start=9, headings=("Lease",))])
    check(found, document, text, ["The term is two years [1].", "The tenant may keep dogs."])
    assert [each.verdict for each in found] == ["supported", "unsupported"]
    assert found[0].quote == "The term of this lease is two years."
    assert (found[0].document_id, found[0].version, found[0].chunk_id) == ("d1", 1, "d1.1.0")
    assert (found[0].title, found[0].uri, found[0].headings) == ("Lease", "/Lease.txt", ("Lease",))


def test_numbers_that_name_no_passage_point_nowhere() -> None:
    assert cite("The limit is 40 bar [0]. It is [3].", "", [passage(VALVE), passage(OTHER, n=2)]) == []
    assert cite("The limit is 40 bar [1].", "", []) == []


def test_punctuation_and_code_are_not_cited() -> None:
    assert cite("… [1]\n\n— [1]\n\n`x[1]`", "", [passage(VALVE)]) == []


def test_without_markers_the_best_source_is_cited() -> None:
    text = "The limit is 40 bar. It is painted blue. The moon is far."
    found = cite(text, "", [passage(OTHER), passage(VALVE, n=2)], sources=[0, 1])
    assert [(each.number, each.verdict) for each in found] == [(2, "verbatim"), (1, "verbatim"), (1, "unsupported")]
    assert cite(text, "", [passage(OTHER)], sources=[]) == []


def test_parts_are_held_against_their_own_source() -> None:
    text = "It is painted blue. It is painted blue."
    passages = [passage(OTHER), passage(VALVE, n=2)]
    found = cite(text, "", passages, sources=[0, 1], parts=[(0, 19), (20, 39)])
    assert [(each.number, each.verdict) for each in found] == [(1, "verbatim"), (2, "unsupported")]
    assert [(each.answer_start, each.answer_end) for each in found] == [(0, 19), (20, 39)]


def test_markers_are_added_and_spans_move_along() -> None:
    text = "The limit is 40 bar. The moon is far. It is painted blue."
    marked, found = add_markers(text, cite(text, "", [passage(OTHER), passage(VALVE, n=2)], sources=[0, 1]))
    assert marked == "The limit is 40 bar. [2] The moon is far. It is painted blue. [1]"
    assert [marked[each.answer_start : each.answer_end] for each in found] == [
        "The limit is 40 bar.",
        "The moon is far.",
        "It is painted blue.",
    ]
    # What was written names the same sentences when it is read back.
    assert [(each.text, each.named) for each in statements(marked)] == [
        ("The limit is 40 bar.", (1,)),
        ("The moon is far.", ()),
        ("It is painted blue.", (0,)),
    ]


def test_a_row_of_a_table_is_cited_under_its_header() -> None:
    table = "| Pump | Limit |\n|---|---|\n| P1 | 400 bar |\n| P2 | 500 bar |"
    whole = passage(f"Words stand above. Limits\n{table}\n\nPumps are tested.")
    text = "| P2 | 500 bar | [1]\n\nPumps are tested. [1]\n\n| Pump | Limit | [1]"
    row, prose, header = cite(text, "What is the limit?", [whole])
    assert (row.quote, row.context) == ("| P2 | 500 bar |", "| Pump | Limit |\n|---|---|")
    assert whole.chunk.text[row.start - whole.chunk.start : row.end - whole.chunk.start] == row.quote
    assert (prose.quote, prose.context) == ("Pumps are tested.", "")
    assert (header.quote, header.context) == ("| Pump | Limit |", "")
    piece = dataclasses.replace(
        whole, chunk=dataclasses.replace(whole.chunk, text="| P2 | 500 bar |", before="| Pump | Limit |\n|---|---|\n")
    )
    (row,) = cite("| P2 | 500 bar | [1]", "What is the limit?", [piece])
    assert (row.quote, row.context) == ("| P2 | 500 bar |", "| Pump | Limit |\n|---|---|")


def test_two_citations_of_one_sentence() -> None:
    text = "The limit is 40 bar. Done."
    one = cite(text, "", [passage(VALVE)], sources=[0])[0]
    other = dataclasses.replace(one, number=2)
    end = dataclasses.replace(one, number=3, answer_start=21, answer_end=26)
    marked, found = add_markers(text, [end, one, other, one])
    assert marked == "The limit is 40 bar. [1][2] Done. [3]"
    assert [marked[each.answer_start : each.answer_end] for each in found] == ["The limit is 40 bar."] * 3 + ["Done."]


words = st.sampled_from(["limit", "valve", "40", "5,000", "not", "“opens”", "ﬁne", "限制", "bar", "the", "E-5", "…"])
sentence = st.lists(words, min_size=1, max_size=6).map(lambda each: " ".join(each) + ".")
prose = st.lists(sentence, min_size=1, max_size=5).map(" ".join)


@given(prose, st.lists(prose, min_size=1, max_size=3), st.text(max_size=10))
def test_every_citation_is_exact(text: str, sources: list[str], prefix: str) -> None:
    documents = {f"d{n}": prefix + source + " tail" for n, source in enumerate(sources)}
    passages = [passage(source, start=len(prefix), n=n) for n, source in enumerate(sources)]
    found = cite(text, "limit", passages, sources=list(range(len(sources))))
    for each in found:
        assert documents[each.document_id][each.start : each.end] == each.quote != ""
        assert text[each.answer_start : each.answer_end].strip()
    marked, moved = add_markers(text, found)
    assert [marked[each.answer_start : each.answer_end] for each in moved] == [
        text[each.answer_start : each.answer_end] for each in found
    ]
    plain = marked
    for number in range(1, len(sources) + 1):
        plain = plain.replace(f" [{number}]", "")
    assert plain == text


def test_words_in_common_counts_titles_and_headings() -> None:
    one = passage("It opens.", title="Valve", headings=("Limits",))
    assert words_in_common("What is the limit of the valve?", [one]) == 1.0
    assert words_in_common("What is the limit of the pump?", [one]) == 0.5
    assert words_in_common("What is the limit?", []) == 0.0


@pytest.mark.parametrize(
    ("statement", "source"),
    [
        ("Pets are allowed.", "No pets are allowed in the building."),
        ("The tenant may sublet.", "Neither the tenant may sublet nor the landlord enter."),
        ("Rent is due monthly.", "It is false that rent is due monthly."),
        ('The murderer gets a pardon and a medal ("the tenant must pay the rent").', "The tenant must pay the rent."),
    ],
)
def test_true_words_in_a_false_setting_prove_nothing(statement: str, source: str) -> None:
    assert judge(statement, source).verdict == "unsupported"


def test_a_quotation_may_be_introduced() -> None:
    said = 'The lease provides: "the tenant must pay the rent".'
    assert judge(said, "The tenant must pay the rent.").verdict == "verbatim"


def test_a_defined_term_in_quotation_marks_proves_nothing() -> None:
    secret = "Confidential Information shall be kept secret for five years after the Termination Date."
    false = 'Either party may publish the “Confidential Information” in newspapers on the "Termination Date".'
    assert judge(false, secret).verdict == "unsupported"
    article = "# Article 17. Abolition of Untouchability\n\n“Untouchability” is abolished in any form."
    found = judge("“Untouchability” is abolished in any form.", article)
    assert (found.verdict, article[found.start : found.end]) == (
        "verbatim",
        "“Untouchability” is abolished in any form.",
    )


def test_the_nearest_sentence_is_so_by_direction_and_not_by_length() -> None:
    class Long(ToyEncoder):
        """The second sentence's vector is a hundred times as long; it is the first that is alike."""

        def encode_passages(self, texts: Sequence[str]) -> Matrix:
            assert len(texts) == 3
            return np.array([[1, 0], [0.9, 0.1], [30, 90]], dtype=np.float32)

    source = "Rent falls due early. Dogs are not kept."
    support = judge("Payment comes at dawn.", source, encoder=Long())
    assert support.verdict == "unsupported"
    assert source[support.start : support.end] == "Rent falls due early."
