from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.markers import LONGEST, CodeReader, MarkerResolver

CASE_41 = "a [4], [0], [1-3], [2,5], [٣], 【1】, `[1]`\n```\n[1]\n```\nand array[2]"
CASE_44 = "see [1][2], [[3]] and [4"


def resolve(*pieces: str, known: int = 3) -> tuple[str, list[int]]:
    resolver = MarkerResolver(known=known)
    text = "".join(resolver.feed(piece) for piece in pieces) + resolver.finish()
    return text, resolver.unknown


def cut(text: str, *positions: int) -> list[str]:
    ends = [*positions, len(text)]
    return [text[start:end] for start, end in zip([0, *positions], ends, strict=True)]


def test_numbers_lists_ranges_digits_and_brackets() -> None:
    text, unknown = resolve(CASE_41)
    assert text == "a,, [1][2][3], [2], [3], [1], `[1]`\n```\n[1]\n```\nand array[2]"
    assert unknown == [4, 0, 5]


def test_an_unfinished_marker_is_text() -> None:
    assert resolve(CASE_44) == ("see [1][2], [3] and [4", [])
    for text in ("a [", "a [1", "a [1, ", "a [[3]", "a [Source", "a (source 2", "a 【1†so", "a [1, p."):
        assert resolve(text) == (text, [])


CASES = [
    CASE_41,
    CASE_44,
    "a ``x` [9]`` b [9]. ```\n[9]",
    "x  [9]  y [1–2]  \n [9]\n",
    "a [[9]], [Source 2, p. 3] (see source 1).",
    "b 【2†source】 [cite: 1, 9] [^3] f(source 1)",
]


@pytest.mark.parametrize("text", CASES)
def test_every_way_of_cutting_gives_the_same(text: str) -> None:
    whole = resolve(text)
    positions = range(1, len(text))
    for count in (1, 2):
        for chosen in combinations(positions, count):
            assert resolve(*cut(text, *chosen)) == whole
    # Three cuts everywhere are too many for the long texts: every third place.
    for chosen in combinations(positions[::3] if len(text) > 30 else positions, 3):
        assert resolve(*cut(text, *chosen)) == whole
    assert resolve(*text) == whole


pieces = st.lists(
    st.one_of(
        st.text("[]【】0123456789,-–;^ `\n.aé事_٣１", max_size=12),
        st.sampled_from(["[1]", "[7]", " [2, 3]", "`", "```", "[1-3]", "  ", "\n\n", "array[2]"]),
        st.sampled_from(
            ["[[3]]", "[[", "]]", "(source 1)", " [Source 2, p. 3]", "【1†s】", "[cite: 1]", "(", " and 2]"]
        ),
        st.text(max_size=5),
    ),
    max_size=12,
)


@given(pieces)
def test_cut_anywhere_held_back_little_and_never_an_exception(texts: list[str]) -> None:
    whole = resolve("".join(texts))
    assert resolve(*texts) == whole
    assert resolve(*"".join(texts)) == whole
    resolver = MarkerResolver(known=3)
    for character in "".join(texts):
        resolver.feed(character)
        # Lengths of what went in and came out would not tell: markers are removed and spelt out.
        assert len(resolver._held) + len(resolver._space) <= LONGEST + 1


@given(st.text(st.characters(exclude_characters="[【`")))
def test_text_without_brackets_and_code_passes_unchanged(text: str) -> None:
    assert resolve(text) == (text, [])
    resolver = MarkerResolver(known=3)
    fed = "".join(resolver.feed(character) for character in text)
    assert len(text) - len(fed) <= 1


@given(pieces)
def test_resolving_again_changes_nothing(texts: list[str]) -> None:
    once, _ = resolve("".join(texts))
    again, unknown = resolve(once)
    # "[ 1]" may stand where a marker was removed between brackets; it names nothing until it is resolved again.
    assert again.replace(" ", "") == once.replace(" ", "")
    assert unknown == []


def test_long_runs_are_not_held_back() -> None:
    for text in (" " * 10_000, "`" * 10_000, "[" * 10_000, "[" + "1, " * 3_000, "【" + "\n" * 10_000):
        resolver = MarkerResolver(known=3)
        written = 0
        for read, character in enumerate(text, start=1):
            written += len(resolver.feed(character))
            assert read - written <= LONGEST + 1


@pytest.mark.parametrize(
    ("text", "right", "unknown"),
    [
        ("end [1]", "end [1]", []),
        ("[1]", "[1]", []),
        ("[ 1 ]", "[1]", []),
        ("[^1]", "[1]", []),
        ("[1; 3]", "[1][3]", []),
        ("[1,\n2]", "[1][2]", []),
        ("[１]", "[1]", []),
        ("[3-1]", "[3][1]", []),
        ("[2-2]", "[2]", []),
        ("[1–2]", "[1][2]", []),
        ("[2, 2]", "[2]", []),
        ("[1-999]", "[1]", [999]),
        ("a [9].", "a.", [9]),
        ("a [9] b", "a b", [9]),
        ("a [9][8] b", "a b", [9, 8]),
        ("a [9]", "a", [9]),
        ("(see [9])", "(see)", [9]),
        ("[9] b", "b", [9]),
        ("a\n[9] b", "a\nb", [9]),
        ("a [9]\nb", "a\nb", [9]),
        ("[[9]1]", "[ 1]", [9]),
        ("【9】【2】", "[2]", [9]),
        ("[]", "[]", []),
        ("[2024]", "[2024]", []),
        ("[1,]", "[1,]", []),
        ("[a]", "[a]", []),
        ("[[3]]", "[3]", []),
        ("a [[9]].", "a.", [9]),
        ("[[1][2]]", "[[1][2]]", []),
        ("[1 and 3]", "[1][3]", []),
        ("[1 & 3]", "[1][3]", []),
        ("【2†source】", "[2]", []),
        ("【2†L3-L9】", "[2]", []),
        ("[Source 2]", "[2]", []),
        ("[Sources 1, 2]", "[1][2]", []),
        ("[Source 1, Source 9]", "[1]", [9]),
        ("[doc3]", "[3]", []),
        ("[Document 2]", "[2]", []),
        ("[cite: 1, 2]", "[1][2]", []),
        ("[citation:3]", "[3]", []),
        ("[ref. 1]", "[1]", []),
        ("[1, p. 3]", "[1]", []),
        ("[2, pp. 3–9]", "[2]", []),
        ("(source 2)", "[2]", []),
        ("a (see sources 1 and 9) b", "a [1] b", [9]),
        ("a (source 9).", "a.", [9]),
        ("(1) of section (2)", "(1) of section (2)", []),
        ("(documents 1 and 2)", "(documents 1 and 2)", []),
        ("[section 1]", "[section 1]", []),
        ("[page 1]", "[page 1]", []),
        ("[12 May]", "[12 May]", []),
        ("10² x¹", "10² x¹", []),
        ("f(source 1)", "f(source 1)", []),
        ("[sic]", "[sic]", []),
        ("事实[1]。", "事实[1]。", []),
        ("事实[9]。", "事实。", [9]),
        ("array[9] x_[9]", "array[9] x_[9]", []),
        ("array[2][1]", "array[2][1]", []),
    ],
)
def test_forms(text: str, right: str, unknown: list[int]) -> None:
    assert resolve(text) == (right, unknown)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("`[9]` [9]", "`[9]`"),
        ("``[9] ` [9]`` [9]", "``[9] ` [9]``"),
        ("`a\nb [9]` [9]", "`a\nb [9]`"),
        ("```py\nx = [9]\n\ny = `[9]`\n```\nz [9]", "```py\nx = [9]\n\ny = `[9]`\n```\nz"),
        ("```\n[9]\n\n[9]", "```\n[9]\n\n[9]"),  # never closed
        ("a ` stray [9]\n\nnext [9].", "a ` stray [9]\n\nnext."),  # reaches no further than its paragraph
        ("a ` stray [9]\n \nnext [9].", "a ` stray [9]\n \nnext."),
    ],
)
def test_code_is_left_alone(text: str, right: str) -> None:
    assert resolve(text)[0] == right


def test_code_reader_gives_the_fences_to_the_code() -> None:
    reader = CodeReader()
    assert "".join("#" if reader.is_code(character) else character for character in "a `b` c") == "a ### c"


def test_known_numbers_follow_the_prompt() -> None:
    assert resolve("[12] [13]", known=12) == ("[12]", [13])
    assert resolve("[1]", known=0) == ("", [1])
