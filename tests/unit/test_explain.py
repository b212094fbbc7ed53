"""How a marginalized answer is drawn: whole, aligned, legible without colour, and safe."""

from __future__ import annotations

import io
import math
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from pincite.cli.explain import print_explanation
from pincite.types import Answer, Chunk, Hit, Marginal, Marginalization, Passage, Token

ESCAPE = re.compile(r"\x1b\[[\d;]*m")


def passage(number: int, title: str = "Rent Act", heading: str = "Section 5", page: int | None = 12) -> Passage:
    chunk = Chunk(f"d{number}.1.0", f"d{number}", 1, "text", 0, 4, 0, headings=(heading,), page=page)
    return Passage(chunk, title, f"/{number}.md", Hit(chunk.id, 1.0, number, "fused"))


def shares(place: int, count: int, share: float = 0.9) -> tuple[float, ...]:
    if count == 1:
        return (1.0,)
    return tuple(share if i == place else (1 - share) / (count - 1) for i in range(count))


def answer(
    tokens: list[Token],
    count: int = 3,
    *,
    mode: Marginalization = "token",
    logprob: float = -1.0,
    baseline: float | None = -4.0,
    slack: float = 0.0,
    certainty: str = "exact",
    passages: tuple[Passage, ...] | None = None,
) -> Answer:
    return Answer(
        "q",
        "".join(token.text for token in tokens),
        (),
        tuple(passage(i + 1) for i in range(count)) if passages is None else passages,
        tokens=tuple(tokens),
        marginal=Marginal(
            mode,
            logprob,
            shares(0, count, 0.5),
            shares(1 % count, count, 0.75),
            certainty,
            slack=slack,
            baseline=baseline,
        ),
    )


def draw(given: Answer, width: int = 80, *, colour: bool = False) -> str:
    file = io.StringIO()
    out = Console(
        file=file,
        width=width,
        force_terminal=True,
        color_system="truecolor" if colour else None,
        highlight=False,
        legacy_windows=False,
    )
    print_explanation(out, given)
    return file.getvalue()


def pairs(text: str) -> list[tuple[str, str]]:
    """Lines of the answer, each with its line of marks."""
    lines = text.splitlines()
    start = lines.index("Which passage each word came from") + 1
    end = next(i for i, line in enumerate(lines) if line.startswith("A letter"))
    block = lines[start:end]
    return list(zip(block[::2], block[1::2], strict=True))


THREE = [
    Token("The", -0.1, shares(0, 3), math.log(0.9)),
    Token(" ten", -0.2, shares(0, 3), math.log(0.1)),
    Token("ant", -0.1, shares(0, 3), math.log(0.2)),
    Token(" pays", -0.1, shares(1, 3), -3.0),
    Token(" rent", -0.1, (0.3, 0.3, 0.4), -3.0),
    Token(".", -0.1, shares(2, 3), -3.0),
]


def test_a_letter_stands_under_the_first_character_of_what_a_passage_gave() -> None:
    ((words, marks),) = pairs(draw(answer(THREE)))
    assert words == "  The tenant pays rent."
    assert marks == "  A··─────── B─── c───C"
    assert [words[marks.index(letter)] for letter in "ABcC"] == ["T", "p", "r", "."]


def test_what_the_letters_mean_is_said_where_they_are_used() -> None:
    text = draw(answer(THREE), 110)
    assert "of each word by itself" in text
    assert "A small letter: less than half" in text
    assert "p ≥ 0.5 without any passage" in text
    plain = draw(answer(THREE[3:4], mode="sequence"))
    assert "up to and with the word" in plain
    assert "small letter" not in plain
    assert "Dots" not in plain


def test_every_passage_has_a_line_and_two_bars() -> None:
    text = draw(answer(THREE))
    assert "A 1. Rent Act, p. 12, Section 5" in text
    assert "C 3. Rent Act" in text
    bars = [line for line in text.splitlines() if line.startswith("  before")]
    assert [re.findall(r"\d\.\d{4}", line) for line in bars] == [
        ["0.5000", "0.1250"],
        ["0.2500", "0.7500"],
        ["0.2500", "0.1250"],
    ]
    before, after = (part.count("█") for part in bars[1].split("after"))
    assert (before, after) == (5, 14)  # of 19 cells: 4.75 and 14.25


def test_the_probability_its_certainty_and_the_model_alone() -> None:
    text = draw(
        answer(THREE, logprob=math.log(0.6888), baseline=math.log(0.1), certainty="approximate (mass ≤ 0.0012)")
    )
    assert "probability of the answer 0.6888   approximate (mass ≤ 0.0012)   RAG-Token" in text
    assert "without passages p = 0.1000: the passages make it 6.9 times as probable" in text
    words = math.exp(sum(token.logprob or 0 for token in THREE))
    whole = draw(answer(THREE, logprob=math.log(words / 4)))
    assert f"its words {words:.4f}, times 0.2500 that the answer ends there" in whole
    assert "ends there" not in draw(answer(THREE, logprob=math.log(words)))
    assert "ends there" not in draw(answer(THREE, logprob=math.log(words / 4), slack=0.1))
    assert "knew it anyway" not in text


@pytest.mark.parametrize(("baseline", "said"), [(0.5, True), (0.41, True), (0.39, False), (0.9, True)])
def test_an_answer_nearly_as_probable_without_passages_was_known(baseline: float, said: bool) -> None:
    text = draw(answer(THREE, logprob=math.log(0.8), baseline=math.log(baseline)))
    assert ("the model knew it anyway" in text) == said


def test_extremes_of_probability() -> None:
    text = draw(answer(THREE, logprob=-900.0, baseline=-math.inf))
    assert "probability of the answer 1.4 × 10^−391" in text
    assert "without passages p = 0: only the passages make it possible" in text
    assert "10^391 times" in draw(answer(THREE, logprob=0.0, baseline=-900.0))
    assert "without passages" not in draw(answer(THREE, baseline=None))
    assert "probability of the answer 0 " in draw(answer(THREE, logprob=-math.inf, baseline=-math.inf))
    assert "probability of the answer 1.0000" in draw(answer(THREE, logprob=1e-12))
    assert "1.0 × 10^−4" in draw(answer(THREE, logprob=math.log(9.99e-5)))


def test_a_probability_that_is_only_bounded_is_no_number() -> None:
    text = draw(answer(THREE, logprob=math.log(0.2), slack=math.log(3), baseline=math.log(0.05), certainty="certified"))
    assert "probability of the answer between 0.2000 and 0.6000   certified" in text
    assert "the passages make it at least 4.0 times as probable" in text
    # It may be far likelier than the baseline: neither is claimed.
    text = draw(answer(THREE, logprob=math.log(0.2), slack=math.log(3), baseline=math.log(0.15)))
    assert "without passages p = 0.1500\n" in text
    assert "knew it anyway" in draw(answer(THREE, logprob=math.log(0.2), slack=0.1, baseline=math.log(0.15)))
    assert "probability of the answer 0.2000 " in draw(answer(THREE, logprob=math.log(0.2), slack=1e-9))
    assert "between 0 and 1.0000" in draw(answer(THREE, logprob=-math.inf, slack=math.inf))


def test_without_a_marginal_it_says_what_to_run() -> None:
    text = draw(Answer("q", "a", (), ()), 200)
    assert len(text.splitlines()) == 1
    assert "--marginalize token --model local" in text
    none = draw(Answer("q", "Nothing found.", (), (), abstained=True, reason="no-evidence"))
    assert none == "nothing to explain: no answer was given\n"


def test_without_tokens_the_passages_are_still_weighed() -> None:
    text = draw(answer([]))
    assert "gave no tokens" in text
    assert "B 2. Rent Act" in text
    assert "probability of the answer" in text
    bare = draw(answer([Token("Yes", -0.1)]))
    assert pairs(bare) == [("  Yes", "  ?──")]


def test_one_passage_and_ten() -> None:
    one = draw(answer([Token("Yes", -0.1, (1.0,), -2.0)], 1))
    assert "RAG-Token, 1 passage\n" in one
    assert pairs(one) == [("  Yes", "  A──")]
    tokens = [Token(f" w{i}", -0.1, shares(i, 10), -2.0) for i in range(10)]
    ten = draw(answer(tokens, 10))
    ((_, marks),) = pairs(ten)
    assert re.findall("[A-Z]", marks) == list("ABCDEFGHIJ")
    assert "J 10. Rent Act" in ten


def test_passages_after_the_twenty_sixth_share_a_mark() -> None:
    tokens = [Token(" a", -0.1, shares(0, 40), -2.0), Token(" b", -0.1, shares(30, 40), -2.0)]
    text = draw(answer(tokens, 40), 110)
    assert pairs(text) == [("   a b", "   A +")]
    assert "+: a passage after the twenty-sixth" in text
    assert "+ 40. Rent Act" in text


@pytest.mark.parametrize("width", [36, 40, 80, 100, 200])
@pytest.mark.parametrize(
    "words",
    [
        [" word", " and", " some", "thing", " else"],
        ["東京都は", "日本の", "首都です。"],
        ["संविधान", " का", " अनुच्छेद", " हिन्दी", "में"],
        [" " + "x" * 300, "y" * 7],
        ["👩‍👩‍👧", " family", "e\u0301\u0301"],
    ],
)
def test_long_answers_wrap_and_the_marks_stay_under_their_words(width: int, words: list[str]) -> None:
    tokens = [Token(words[i % len(words)], -0.1, shares(i % 3, 3), -2.0) for i in range(60)]
    text = draw(answer(tokens), width)
    assert all(
        cell_len(line) <= max(width, 20) for line in text.splitlines() if "before" not in line and "after" not in line
    )
    shown = pairs(text)
    for line, marks in shown:
        assert cell_len(marks) <= cell_len(line)
        assert cell_len(line.rstrip()) == cell_len(marks.rstrip())
    joined = "".join(line[2:] for line, _ in shown)
    assert joined.replace(" ", "") == "".join(token.text for token in tokens).replace(" ", "")


@pytest.mark.parametrize("width", [40, 64, 80, 110])
def test_bars_fit_their_terminal(width: int) -> None:
    text = draw(answer(THREE, passages=(passage(1, "A title " * 40), passage(2), passage(3, "東京" * 60))), width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert text.count("after") >= 3


def test_lines_of_the_answer_are_kept() -> None:
    tokens = [Token("One.\n", -0.1, shares(0, 3), -2.0), Token("\nTwo", -0.1, shares(1, 3), -2.0)]
    assert pairs(draw(answer(tokens))) == [("  One.", "  A───"), ("", ""), ("  Two", "  B──")]


def test_text_of_documents_and_models_is_data() -> None:
    tokens = [
        Token("[bold]x[/bold]", -0.1, shares(0, 2), -2.0),
        Token("[/]\x1b[31mred\x07\x9b2J", -0.1, shares(1, 2), -2.0),
        Token("\u202eevil\u2066\r\ud800", -0.1, shares(1, 2), -2.0),
    ]
    named = passage(1, "[link=http://x]T[/link]\x1b]0;title\x07", "H\n[red]\u202e")
    text = draw(answer(tokens, 2, passages=(named, passage(2))))
    assert "[bold]x[/bold][/][31mred2Jevil" in text
    assert "A 1. [link=http://x]T[/link]]0;title, p. 12, H [red]" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    coloured = draw(answer(tokens, 2, passages=(named, passage(2))), colour=True)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", ESCAPE.sub("", coloured))


def test_colours_follow_the_passages_and_change_no_character() -> None:
    coloured = draw(answer(THREE), colour=True)
    assert ESCAPE.sub("", coloured) == draw(answer(THREE))
    # Okabe and Ito's sky blue and orange, as grounds under black letters.
    assert "48;2;86;180;233mThe" in coloured
    assert "48;2;230;159;0mpays" in coloured
    # Less than half: green letters, no ground.
    assert "38;2;0;158;115mrent" in coloured


def test_in_a_pipe_it_is_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    print_explanation(Console(file=file, soft_wrap=True, highlight=False), answer(THREE))
    assert "\x1b" not in file.getvalue()
    assert pairs(file.getvalue()) == pairs(draw(answer(THREE)))
    monkeypatch.setenv("NO_COLOR", "1")
    file = io.StringIO()
    print_explanation(Console(file=file, width=80, force_terminal=True, highlight=False), answer(THREE))
    assert not re.search(r"\x1b\[[\d;]*(38|48)[;m]", file.getvalue())


def test_without_other_characters_it_is_ascii() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    out = Console(file=file, width=80, highlight=False)
    print_explanation(out, answer(THREE, baseline=-900.0, certainty="approximate (mass ≤ 0.0012)"))
    file.flush()
    text = raw.getvalue().decode()
    assert "A..------- B--- c---C" in text
    assert "(mass <= 0.0012)" in text
    assert "####" in text


def test_a_small_share_is_not_drawn_as_none() -> None:
    given = Answer(
        "q", "a", (), (passage(1), passage(2)), marginal=Marginal("token", -1.0, (0.9999, 0.0001), (1.0, 0.0), "exact")
    )
    second = [line for line in draw(given).splitlines() if line.startswith("  before")][1]
    before, after = second.split("after")
    assert "▏" in before
    assert "▏" not in after
