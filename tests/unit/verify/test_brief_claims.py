"""Which sentence rests on which authorities, and what it says of them. Authorities here are marked by hand."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.quotes import find_quotations
from pincite.verify.claims import Cited, split_claims
from pincite.verify.notes import find_notes, find_references
from pincite.verify.penalties import in_words_of_acts
from pincite.verify.records import Authority
from pincite.verify.statement import asserts, goes_on, only_cites, remark, statement_of


def marked(text: str) -> tuple[str, list[Authority]]:
    """A text in which authorities stand in braces → the text without them, and the authorities."""
    found: list[Authority] = []
    out = ""
    for i, part in enumerate(re.split(r"\{([^{}]*)\}", text)):
        if i % 2:
            found.append(Authority("case", len(out), len(out) + len(part), part))
        out += part
    return out, found


def claims(text: str) -> tuple[list[Cited], list[tuple[int, int]]]:
    plain, authorities = marked(text)
    notes, marks = find_notes(plain)
    return split_claims(plain, authorities, find_quotations(plain), notes, marks)


def said(sentence: str) -> tuple[bool, str]:
    text, authorities = marked(sentence)
    spans = [(a.start, a.end) for a in authorities]
    quoted = find_quotations(text)
    return asserts(text, spans, quoted), statement_of(text, spans, quoted)


def test_a_sentence_rests_on_what_it_names() -> None:
    found, silent = claims("The appeal is late. In {A v. B}, bail was held to be the rule. It rained.")
    assert [each.text for each in found] == ["In A v. B, bail was held to be the rule."]
    assert [each.text for each in found[0].authorities] == ["A v. B"]
    assert len(silent) == 2


def test_the_stop_of_versus_ends_no_sentence() -> None:
    found, _ = claims("Bail is the rule: {State of U.P. v. Ram, A.I.R. 1973 S.C. 14}. The rest is silence.")
    assert len(found) == 1
    assert found[0].text.endswith("14.")


def test_a_citation_alone_belongs_to_the_sentence_before_it() -> None:
    found, silent = claims("Bail is the rule and jail the exception. See {A v. B}; {C v. D}.\n\nNo more.")
    assert [each.text for each in found] == ["Bail is the rule and jail the exception. See A v. B; C v. D."]
    assert found[0].asserts
    assert found[0].statement == "Bail is the rule and jail the exception."
    assert len(silent) == 1


def test_a_list_of_authorities_makes_no_claim() -> None:
    found, _ = claims("Cases cited:\n\n- {A v. B}\n- {C v. D}\n")
    assert [each.text for each in found] == ["- A v. B", "- C v. D"]
    assert not any(each.asserts and each.statement for each in found)


def test_what_goes_on_rests_on_the_claim_before() -> None:
    found, silent = claims(
        "{A v. B} dealt with bail. The Court further held that jail is the exception. The appellant waited.\n\n"
        "It held that nobody knows.",
    )
    assert [each.text for each in found] == [
        "A v. B dealt with bail.",
        "The Court further held that jail is the exception.",
    ]
    assert [each.text for each in found[1].sources] == ["A v. B"]
    assert found[1].authorities == ()
    assert found[1].statement == "jail is the exception."
    assert len(silent) == 2


def test_a_block_quote_belongs_to_what_leads_to_it() -> None:
    found, _ = claims("In {A v. B} it was held as under:\n\n> Bail is the rule and jail is the exception.\n\nNo more.")
    assert [len(each.quotations) for each in found] == [0, 1]
    assert [each.text for each in found[1].sources] == ["A v. B"]


def test_what_a_witness_said_is_not_the_authoritys() -> None:
    found, _ = claims("He was charged under {s. 302 IPC}. The witness said “I saw him run away that night”.")
    assert [each.quotations for each in found] == [()]


def test_a_quotation_of_several_sentences_is_in_one_claim() -> None:
    found, silent = claims("{A v. B} says “Bail is the rule. Jail is the exception. So be it.” The rest is silence.")
    assert len(found) == 1
    assert found[0].text.endswith("So be it.”")
    assert len(silent) == 1


def test_a_note_counts_for_what_refers_to_it() -> None:
    found, _ = claims("Bail is the rule.[^1] It rained.\n\n[^1]: {A v. B}, at p. 3.\n\n[^2]: {C v. D}.\n")
    by_text = {each.text: each for each in found}
    assert [a.text for a in by_text["Bail is the rule.[^1]"].others] == ["A v. B"]
    assert by_text["Bail is the rule.[^1]"].statement == "Bail is the rule."
    assert [a.text for a in by_text["[^1]: A v. B, at p. 3."].authorities] == ["A v. B"]
    assert any("C v. D" in text for text in by_text)  # referred to by nothing: text like any other


def test_a_number_without_its_note_is_missing() -> None:
    found, _ = claims("Bail is the rule [1]. Jail is not [4].\n\n[1] {A v. B}\n")
    assert [[mark.number for mark in each.missing] for each in found if each.missing] == [[4]]


def test_numbers_in_code_and_links_are_no_marks() -> None:
    assert [mark.start for mark in find_notes("`x[1]` and [1](http://x) and so.[2]")[1]] == [32]


def test_pointers_of_pincite_are_found() -> None:
    text = (
        "Bail is the rule [1].\n\n"
        "[1] Lease, p. 3  documents/lease.txt · version 2 · characters 115-294  verbatim\n"
        "and 0123456789abcdef@3:10-20."
    )
    found = find_references(text)
    assert [(each.act, each.below) for each in found] == [
        ("documents/lease.txt", "2:115-294"),
        ("0123456789abcdef", "3:10-20"),
    ]
    assert all(text[each.start : each.end] == each.text for each in found)


def test_what_a_sentence_says_is_told_from_what_leads_to_it() -> None:
    for sentence, expected in (
        ("In {A v. B, (1989) 3 SCC 1}, this Court held that an accused below 16 goes to a school.", "an accused below"),
        ("{Section 302 IPC} provides that whoever commits murder shall die.", "whoever commits murder"),
        ("{Section 302 IPC} punishes murder with death.", "punishes murder"),
        ("Murder is punished with death ({s. 302 IPC}).", "Murder is punished with death."),
        ("Under {Article 21} no person shall be deprived of his life.", "no person shall"),
        ("As held by the Apex Court in {A v. B}, bail is the rule and jail the exception.", "bail is the rule"),
        ("It is well settled in {A v. B} that bail is the rule.", "bail is the rule."),
        ("Reliance is placed on {A v. B}, wherein it was held that bail is the rule.", "bail is the rule."),
    ):
        is_said, statement = said(sentence)
        assert is_said, sentence
        assert statement.startswith(expected), (sentence, statement)


def test_a_fact_of_the_matter_is_no_claim_about_the_law() -> None:
    for sentence in (
        "The accused was charged under {s. 302 IPC}.",
        "The learned Sessions Judge convicted the appellant under {section 302} read with {section 34 IPC}.",
        "An FIR was registered u/s {420 IPC} at Dadar police station.",
        "Reliance is placed on {A v. B} and {C v. D}.",
    ):
        is_said, statement = said(sentence)
        assert not (is_said and statement), sentence


def test_long_quotations_are_not_part_of_what_is_said() -> None:
    assert said("{A v. B} held: “bail is the rule and jail is the exception”.") == (True, "")


def test_only_signals_are_only_a_citation() -> None:
    assert only_cites("See also , and , at .")
    assert not only_cites("Bail, see .")
    assert goes_on("Their Lordships observed that bail is the rule.")
    assert not goes_on("The appellant observed the rule.")


NUMBERS = ("4. ", "1) ", "(a) ", "1.1 ", "12. ", "(iv) ", "- ", "# 3. ", "")


@pytest.mark.parametrize("number", NUMBERS)
def test_the_number_of_a_paragraph_hides_no_claim(number: str) -> None:
    for sentence, expected in (
        ("Under {s. 302 IPC}, whoever commits murder shall die.", "whoever commits murder shall die."),
        ("As per the decision in {A v. B}, bail is the rule of law.", "bail is the rule of law."),
        ("It is most respectfully submitted that under {s. 1 IPC}, murder leads to death.", "murder leads to death."),
        ("According to {A v. B}, bail is the rule of law.", "bail is the rule of law."),
    ):
        assert said(number + sentence) == (True, expected)


def test_an_authority_carries_on_to_the_paragraphs_behind_it() -> None:
    quoted = "“Bail is never the rule in such a matter.”"
    for between in ("", "The appellant waits.\n\n"):
        found, _ = claims(
            f"2. In {{A v. B}} the Court held that bail is due.\n\n{between}3. It was further held {quoted}"
        )
        assert [[a.text for a in each.sources] for each in found] == [["A v. B"], ["A v. B"]]
        assert len(found[1].quotations) == 1
    found, _ = claims("{A v. B} held it so.\n\n{C v. D} dealt with it.\n\nThe Court observed that bail is the rule.")
    assert [a.text for a in found[-1].sources] == ["C v. D"]
    found, silent = claims("{A v. B} held it so.\n\nThe High Court further held that the appeal is late.")
    assert (len(found), len(silent)) == (1, 1)
    found, silent = claims("{A v. B} held it so. It was held in Pratibha V. Rameshwari Devi that bail is the rule.")
    assert (len(found), len(silent)) == (1, 1)


def test_a_citation_under_a_quotation_is_where_it_stands() -> None:
    found, silent = claims("It rained.\n\n“Bail is never the rule in such a matter.”\n\n({A v. B})\n\nNo more.")
    assert [(len(each.quotations), [a.text for a in each.sources]) for each in found] == [(1, ["A v. B"])]
    assert len(silent) == 2


@pytest.mark.parametrize(
    "sentence",
    [
        "See {A v. B}, holding that every inconsistency destroys the credit of a witness.",
        "{A v. B} is authority for the proposition that every inconsistency destroys the credit of a witness.",
        "{A v. B} stands for the principle that every inconsistency destroys the credit of a witness.",
    ],
)
def test_what_an_authority_is_cited_for_is_a_claim(sentence: str) -> None:
    assert said(sentence) == (True, "every inconsistency destroys the credit of a witness.")


@pytest.mark.parametrize("lead", ["As per the decision in", "Per", "The Court said in", "In the words of", "In", "See"])
def test_words_behind_an_authority_are_credited_to_it(lead: str) -> None:
    assert said(f"{lead} {{A v. B}} (2003), “anticipatory bail can never be granted”.")[0]


def test_what_becomes_of_a_case_and_what_it_is_about_are_no_claims() -> None:
    for sentence in (
        "The case of {A v. B} was decided by this Court.",
        "{A v. B} was followed in {C v. D}.",
        "In {A v. B}, the test of a prima facie case was laid down.",
        "{A v. B} discussed the scope of revision.",
    ):
        text, authorities = marked(sentence)
        spans = [(a.start, a.end) for a in authorities]
        assert not asserts(text, spans), sentence
        assert remark(text, spans) == "topic", sentence
    assert said("In {A v. B} the test was laid down: bail is never a rule.")[0]


def test_penalties_are_read_in_the_words_of_acts() -> None:
    for given_, expected in (
        ("Murder is punishable with death.", "Murder shall be punished with death."),
        (
            "The punishment for theft is imprisonment for ten years.",
            "theft shall be punished with imprisonment for ten years.",
        ),
        ("The minimum sentence is two years.", "imprisonment for a term which shall not be less than two years."),
        ("The maximum sentence is harsh.", "The maximum sentence is harsh."),
        ("Bail is the rule.", "Bail is the rule."),
    ):
        assert in_words_of_acts(given_) == expected


PIECES = st.lists(
    st.sampled_from(
        [
            "{A v. B}",
            "{s. 302 IPC}",
            " “bail is the rule” ",
            ". ",
            "\n\n",
            "[1]",
            "\n[1] ",
            " held that ",
            "word ",
            "(",
            ")",
            ":",
        ]
    ),
    max_size=25,
).map("".join)


@given(PIECES)
def test_every_authority_is_in_one_claim(text: str) -> None:
    plain, authorities = marked(text)
    notes, marks = find_notes(plain)
    found, silent = split_claims(plain, authorities, find_quotations(plain), notes, marks)
    assert [a for each in found for a in each.authorities] == authorities
    assert all(plain[start:end].strip() for start, end in silent)
    for each in found:
        assert plain[each.start : each.end] == each.text
        assert all(each.start <= a.start and a.end <= each.end for a in each.authorities)
        assert all(each.start <= start and end <= each.end for start, end in each.quotations)
    starts = [each.start for each in found]
    assert starts == sorted(starts)


@given(st.text(max_size=200))
def test_any_text_has_notes_and_claims(text: str) -> None:
    notes, marks = find_notes(text)
    assert all(text[note.start] == "[" and note.start < note.end <= len(text) for note in notes)
    assert all(text[mark.start] == "[" and text[mark.end - 1] == "]" for mark in marks)
    assert split_claims(text, [], [], notes, marks)[0] == [] or marks
