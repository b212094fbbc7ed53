from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.sentences import sentence_spans, statement_spans


def split(text: str) -> list[str]:
    return [text[a:b] for a, b in sentence_spans(text)]


# In each case "¦" stands where one sentence ends and the next begins; it is taken out before splitting.
CASES = {
    "plain": "It rained. ¦It stopped. ¦Why? ¦Who knows!",
    "section reference": "He was charged under s. 302 of the Code. ¦It was dismissed under ss. 4 and 5.",
    "article": "Art. 5 and Arts. 6 and 7 apply. ¦See Sec. 5 and cl. (a) of sub-sec. (2).",
    "number": "Judgment No. 7 of 1973 was set aside. ¦Nos. 8 and 9 stand.",
    "the word no": "Did he consent? ¦No. ¦He did not.",
    "versus": "Kesavananda v. State of Kerala was decided in 1973. ¦It stands.",
    "acronym inside": "The U.S. Constitution and the U.K. Parliament differ.",
    "acronym last": "He lived in the U.S. ¦The court noted this.",
    "latin": "Some animals, e.g. Cats, i.e. Felines, are exempt. ¦Others are not.",
    "initials": "J. R. R. Smith and Mrs. B. Jones signed. ¦Nobody else did.",
    "titles": "Hon. Mr. Justice Rao, Dr. Sen and Shri K. Das agreed. ¦Prof. Lee did not.",
    "decimals": "The rate is 3.14 per cent. ¦It was 2.5.",
    "money": "A fine of Rs. 500 was paid. ¦Rs. 200 is due.",
    "date": "On Jan. 5, 1973 it began. ¦It ended in Dec. 1974.",
    "year last": "It began in 1973. ¦The rest is known.",
    "own number": "302. Whoever commits murder shall be punished. ¦303. Whoever attempts it shall be fined.",
    "section's own number": "Sec. 5. The Act applies. ¦Art. 6. It does not apply.",
    "inline list": "The tenant shall: (1) pay rent. ¦(2) Keep order. ¦(b) leave in time.",
    "marginal note": "300. Murder.—¦Except as provided, culpable homicide is murder.",
    "number and dash": "1.—(1) This Act may be cited as the Act.",
    "quote": "“Stop!” he said. ¦“Go.” ¦He left.",
    "straight quote": 'She wrote "No." ¦Then she left. ¦"Why?" she asked.',
    "bracket": "(It rained.) ¦Then it stopped (at noon).",
    "bracket inside": "It stopped (see s. 4) and began again. ¦So it was.",
    "note marks": "It is settled.[12] ¦It is clear.² ¦So held.",
    "ellipsis": "It was… strange. ¦Wait... ¦What?",
    "ellipsis goes on": "It was ... not strange.",
    "company": "Acme Ltd. Directors met. ¦They dissolved Acme Ltd. ¦The firm is no more.",
    "et al": "Smith et al. (2019) agree. ¦So do Jones et al. ¦The others do not.",
    "time": "We met at 9 a.m. ¦The bus left at 10 p.m. sharp.",
    "letter": "There is no plan B. ¦The rest is silence.",
    "I": "It is I. ¦He knows.",
    "page": "See pp. 12-14 and para. 3. ¦See Vol. II.",
    "file names": "Edit debian/control and foo.conf then run. ¦Version 4.6.2.0 does this.",
    "japanese": "これは文です。¦次の文！¦本当ですか？¦終わり",
    "japanese quote": "「行く。」と言った。¦彼は去った。",
    "chinese": "第一条。¦本法适用于中国。¦他说：“好！”¦结束",
    "wide decimal": "円周率は３．１４です。¦はい。",
    "hindi": "यह वाक्य है। ¦दूसरा वाक्य है॥ ¦तीसरा",
    "arabic": "كيف حالك؟ ¦أنا بخير. ¦شكرا",
    "thai": "กำหนดให้ผู้เช่าชำระค่าเช่า ภายในเจ็ดวัน",
    "hard lines": "A line that\nwraps hard. ¦The next one\nwraps too.",
    "blank line": "No stop at the end\n¦\nNew paragraph\n ¦\nAnother",
    "list": "The items are\n¦- one\n¦- two\n¦* three\n¦1. four\n¦(a) five; or\n¦(b) six",
    "wrapped reference": "as laid down in section\n302. ¦It is so under cl.\n(a) of s. 3 or sub-section (1) and\n(2).",
    "table": "Text\n¦| a | b |\n¦|---|---|\n¦| 1 | 2 |\n¦after.",
    "markdown heading": "before\n¦# Head 1. The rest\n¦body text",
    "capital heading": "done.\n¦CHAPTER XXIX\n¦Of appeals",
    "proviso": "may be pardoned:\n¦Provided that nothing applies.\n¦Explanation.—¦In this section it is so.",
    "carriage returns": "One\r\n¦\r\nTwo. ¦Three",
}


@pytest.mark.parametrize("marked", CASES.values(), ids=CASES)
def test_cases(marked: str) -> None:
    expected = [part.strip() for part in marked.split("¦")]
    assert split(marked.replace("¦", "")) == expected


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \u3000"])
def test_blank(text: str) -> None:
    assert sentence_spans(text) == []


_SCRAPS = (
    'The|s|U.S|No|e.g|J|302|(a)|(|)|"|”|。|」|।|؟|．|…|—|a|.|. | |\n|\n\n|?|! |- |# |```|\u0301|\x85|\r\n|\u2028|\x1c'
)
SCRAPS = [*_SCRAPS.split("|"), "| "]
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(SCRAPS),
        max_size=30,
    ).map("".join),
)


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_spans_are_trimmed_ordered_and_cover_everything(text: str) -> None:
    spans = sentence_spans(text)
    end = 0
    for a, b in spans:
        assert end <= a < b <= len(text)
        assert text[end:a].strip() == ""
        assert text[a:b] == text[a:b].strip()
        end = b
    assert text[end:].strip() == ""


@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS)
def test_a_blank_line_parts_texts(first: str, second: str) -> None:
    joined = sentence_spans(first + "\n\n" + second)
    shift = len(first) + 2
    assert joined == sentence_spans(first) + [(a + shift, b + shift) for a, b in sentence_spans(second)]


@pytest.mark.parametrize(
    "unit",
    [
        "a. ",
        ". ",
        ".",
        ".'",
        "(a) ",
        "\n",
        "\n \n",
        "。",
        "x",
        " ",
        "'",
        "1.\n",
        "A. ",
        "s. 3 ",
        "| ",
        "—",
        ". —",
        "[1]",
        '"',
        "- ",
    ],
)
def test_work_is_linear(unit: str) -> None:
    """Counts function calls and lines of our own code, not seconds: twice the text, twice the steps."""
    steps = []
    for length in (1_500, 3_000):
        text = (unit * length)[:length]
        count = 0

        def trace(*_: object) -> object:
            nonlocal count
            count += 1
            return trace

        before = sys.gettrace()
        sys.settrace(trace)  # type: ignore[arg-type]
        try:
            sentence_spans(text)
        finally:
            sys.settrace(before)
        steps.append(count)
    assert steps[1] <= 2.2 * steps[0] + 200


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("302. Murder.—Whoever kills dies. Else not.", ["302. Murder.—Whoever kills dies.", "Else not."]),
        ("It must hold:\n(a) water;\n(b) air.", ["It must hold:\n(a) water;", "(b) air."]),
        ("Scope:\n\nIt applies here.", ["Scope:", "It applies here."]),
        (f"{'The person with most votes wins ' * 4}.—The next is second.", None),
    ],
)
def test_a_lead_in_is_joined_to_what_it_leads_into(text: str, statements: list[str] | None) -> None:
    found = [text[start:end] for start, end in statement_spans(text)]
    assert found == (statements or [text[start:end] for start, end in sentence_spans(text)])
