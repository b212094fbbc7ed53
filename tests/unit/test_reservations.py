"""What a source says less than a statement that has all its words from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.claims import disagreement
from pincite.reservations import changed_copy, reserve
from pincite.support.lexical import judge

RIOTING = (
    "Whoever is guilty of rioting, being armed with a weapon, shall be punished with imprisonment for a term which may "
    "extend to five years, or with fine, or with both."
)


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        # Somebody's word, a question
        ("The petitioner alleged that the officer took a bribe.", "The officer took a bribe."),
        ("The counsel contended that the contract was void ab initio.", "The contract was void ab initio."),
        ("The court rejected the argument that the contract was void.", "The contract was void."),
        ("We are unable to agree that the contract was void.", "The contract was void."),
        ("The question is whether the contract was void.", "The contract was void."),
        # Denied without a "not"
        ("The company lacks a licence.", "The company has a licence."),
        ("The court refused to grant bail.", "The court granted bail."),
        ("The claim is hardly barred by limitation.", "The claim is barred by limitation."),
        ("The appeal is allowed in part.", "The appeal is allowed."),
        ("Article 370 ceased to be operative.", "Article 370 is operative."),
        ("The offence is non-bailable.", "The offence is bailable."),
        ("The offence is bailable and non-cognizable.", "The offence is non-bailable and cognizable."),
        # Of somebody or something else
        ("The wife of the appellant killed the deceased.", "The appellant killed the deceased."),
        ("Ram's brother killed Shyam.", "Ram killed Shyam."),
        ("The attempt to murder is punishable with ten years.", "Murder is punishable with ten years."),
        ("Few employees are entitled to bonus.", "Employees are entitled to bonus."),
        ("No child below the age of fourteen years shall work in a mine.", "No child shall work in a mine."),
        ("A person who has lived here for long may vote in the town.", "A person may vote in the town."),
        # One of two, both of two
        (RIOTING, RIOTING.partition(", or")[0] + "."),
        ("Murder shall be punished with death, or imprisonment for life.", "Murder shall be punished with death."),
        ("It is a term of two years and a fine.", "It is a term of two years or a fine."),
        # May be, would be
        ("The contract may be void.", "The contract is void."),
        ("Had notice been served, the suit would be maintainable.", "The suit is maintainable."),
        # How much, when
        ("At least three directors must be present.", "Three directors must be present."),
        ("Rent rises by two percent.", "Rent rises to two percent."),
        ("Three quarters of the members must agree.", "A quarter of the members must agree."),
        ("It applies to contracts made after 1 July 2024.", "It applies to contracts made on 1 July 2024."),
        # Another condition
        ("The right lies against the State rather than private persons.", "The right lies against private persons."),
        ("Unlike the buyer, the seller may cancel.", "The buyer may cancel."),
        # Exchanged
        ("A shall pay B one hundred rupees.", "B shall pay A one hundred rupees."),
        ("A sells a horse to B.", "B sells a horse to A."),
        ("B is guilty of theft.", "A is guilty of theft."),
        ("The Governor may, on the advice of the Council, prorogue the House.",
         "The Council may, on the advice of the Governor, prorogue the House."),
        ("If the buyer defaults, the seller may resell the goods.",
         "If the seller defaults, the buyer may resell the goods."),
        ("He was convicted under section 302 and acquitted under section 120B.",
         "He was acquitted under section 302 and convicted under section 120B."),
        ("Clause (a) applies to minors and clause (b) to adults.",
         "Clause (b) applies to minors and clause (a) to adults."),
        ("He was acquitted by the trial court but convicted by the High Court.",
         "He was convicted by the trial court."),
        ("The section was inserted by the Act of 1983 and repealed by the Act of 2013.",
         "The section was repealed by the Act of 1983."),
        ("Gopalan was overruled in Maneka.", "Maneka was overruled in Gopalan."),
        ("Interest runs from the date of default, not from the date of the loan.",
         "Interest runs from the date of the loan, not from the date of default."),
    ],
)  # fmt: skip
def test_what_is_said_with_a_reserve_is_not_supported(sentence: str, statement: str) -> None:
    found = judge(statement, sentence)
    assert found.verdict == "unsupported"
    assert found.score < 0.5
    # Both support themselves.
    assert judge(sentence, sentence).verdict == "verbatim"
    assert judge(statement, statement).verdict == "verbatim"


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        ("The High Court held that the contract was void.", "The contract was void."),
        ("The petitioner, who alleged that the officer took a bribe, was fined.", "The petitioner was fined."),
        ("Section 3 of the Act says that no court shall hear it.", "The Act says that no court shall hear it."),
        ("If the buyer defaults, the seller may resell the goods.",
         "The seller may resell the goods if the buyer defaults."),
        ("The Governor may, on the advice of the Council, prorogue the House.",
         "The Governor may prorogue the House on the advice of the Council."),
        ("The appellant was convicted of murder and sentenced to imprisonment.",
         "The appellant was sentenced to imprisonment and convicted of murder."),
        ("A sold the house to B.", "The house was sold to B by A."),
        ("The section was inserted in 1983 and repealed in 2013.", "The section was repealed in 2013."),
        ("The Board shall consist of five members or more, as the State decides.",
         "The Board shall consist of five members or more."),
        ("Nobody shall disclose it to employees or third parties.", "Nobody shall disclose it to third parties."),
    ],
)  # fmt: skip
def test_what_is_said_outright_is_supported(sentence: str, statement: str) -> None:
    assert judge(statement, sentence).verdict in ("supported", "verbatim")


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("weapon", "stick", "the source says “weapon”, not “stick”"),
        ("shall be punished", "may be punished", "the source says “shall”, not “may”"),
        ("armed with a weapon", "armed with a weapon and masked", ""),
        (", or with fine, or with both", "", "the source has “or with fine or with both”"),
    ],
)
def test_a_copy_that_was_changed(was: str, now: str, told: str) -> None:
    assert changed_copy(RIOTING.replace(was, now).lower(), RIOTING.lower()) == told
    assert changed_copy(RIOTING.lower(), RIOTING.lower()) == ""


def test_a_paraphrase_is_no_copy() -> None:
    told = "for rioting with a weapon one goes to prison for up to five years or pays a fine or both"
    assert changed_copy(told, RIOTING.lower()) == ""


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_texts_can_be_compared_and_say_the_same_as_themselves(own: str, other: str) -> None:
    assert isinstance(reserve(own, other), str)
    assert isinstance(changed_copy(own, other), str)
    assert changed_copy(own, own) == ""


_PARTS = st.sampled_from(
    ["A", "B", "the court", "tenant", "who may", "shall not", "or", "and", "if", "unless", ",", ";", "by", "to"] * 2
    + [
        "1 July 2024",
        "non-bailable",
        "refused",
        "alleged that",
        "whether",
        "would be",
        "few",
        "wife's",
        "(a)",
        "at least",
    ]
)


@given(st.lists(_PARTS, max_size=20).map(" ".join))
def test_a_sentence_never_differs_from_itself(text: str) -> None:
    assert disagreement(text, text, text) == ""
