"""Each lesson against arithmetic done here, and none with a number in its words that it did not compute."""

from __future__ import annotations

import io
import itertools
import math
import re
from functools import cache

import numpy as np
import pytest
from rich.console import Console

from pincite.cli.lab import print_lesson
from pincite.errors import ConfigError, InputError
from pincite.lab import bm25, cricket, dilution, fusion, overlap, search_cost, sequence_and_token, temperature
from pincite.lab.catalogue import LESSONS, find
from pincite.lab.record import Lesson, Step, Value, dec

#: The numbers that the lessons are known by, as they are printed.
KNOWN = {
    "cricket": [
        *("2.70", "1.90", "0.40", "0.6453", "0.2900", "0.0647", "0.90", "0.35", "0.10", "0.6888"),
        *("0.6900", "0.3100", "0.7295", "(0.5, 0.5, 0.5)", "0.6962", "0.8433", "0.4505"),
    ],
    "fusion": ["1 / (60 + 1)", "0.01639", "0.03226"],
    "search-cost": ["21,015,324", "768", "32,279,537,664", "3.2 × 10^10", "64.6 GB", "32.3 GB", "16.1 GB", "2.0 GB"],
    "sequence-and-token": ["0.6500", "0.5290", "0.4420", "1.0000"],
    "bm25": ["1.2", "0.75", "0.1335", "0.9808", "1.4009"],
    "overlap": ["66", "1.303", "1.333"],
    "dilution": ["0.9000", "0.7295", "0.6888"],
    "temperature": ["0.6453", "0.6888", "0.9000", "0.4500"],
}

#: What may stand in words beside what was computed: the settings and constants that a lesson explains, and a year.
ALLOWED = {
    "cricket": {1.0, 0.5, 2023.0},
    "bm25": {0.0, 0.5, 1.0, 1.2, 0.75, 2.2, 32.0},
    "search-cost": {4.0, 16.0, 32.0, 128.0},
    "fusion": {0.0, 1.0, 60.0},
    "sequence-and-token": {1.0, 3.0},
    "temperature": {0.0},
    "overlap": {1.0, 17.0},
    "dilution": set(),
}

NUMBER = re.compile(r"(?<![\w.^])\d[\d,]*(?:\.\d+)?")


@cache
def made(name: str) -> Lesson:
    return find(name).lesson()


def drawn(lesson: Lesson, width: int = 100) -> str:
    out = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, highlight=False)
    print_lesson(out, lesson)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def values(lesson: Lesson) -> dict[str, float]:
    """The value of each name, the first where one comes twice."""
    found: dict[str, float] = {}
    for step in lesson.steps:
        for value in step.values:
            found.setdefault(value.name, value.value)
    return found


# All of them


@pytest.mark.parametrize("name", LESSONS)
def test_the_known_numbers_are_printed_to_their_digits(name: str) -> None:
    text = drawn(made(name))
    for number in KNOWN[name]:
        assert number in text, number


@pytest.mark.parametrize("name", LESSONS)
def test_words_state_no_number_that_was_not_computed(name: str) -> None:
    steps = made(name).steps
    computed = [value.value for step in steps for value in step.values]
    for step in steps:
        for text in (step.title, step.says, step.after):
            for found in NUMBER.findall(re.sub(r"“[^”]*”", "", text)):
                number = float(found.replace(",", ""))
                nearest = min(abs(abs(value) - number) for value in computed)
                digits = len(found.partition(".")[2])
                assert number in ALLOWED[name] or nearest <= 0.51 * 10**-digits, (found, text)


def worked(how: str) -> list[float]:
    """What the working of a number comes to, for each of its parts that is arithmetic."""
    names = {"ln": math.log, "exp": math.exp, "ceil": math.ceil, "sigmoid": lambda x: 1 / (1 + math.exp(-x))}
    found = []
    for part in re.split(r" = |; ", how):
        text = re.sub(r"(?<=\d),(?=\d{3})", "", part).replace("⌈", "ceil(").replace("⌉", ")")
        text = re.sub(r" (bytes|pieces|bits|ms)\b", "", text).replace("10^", "10**")
        text = text.translate(str.maketrans("×·−", "**-"))
        if set(re.findall(r"[^\W\d]+", text)) <= set(names) and re.search(r"\d", text):
            found.append(float(eval(text, {"__builtins__": {}}, names)))
    return found


@pytest.mark.parametrize("name", LESSONS)
def test_every_working_comes_to_its_number(name: str) -> None:
    """The working is text: here it is computed. Its numbers are rounded, so the last digit may be off."""
    checked = 0
    for step in made(name).steps:
        for value in step.values:
            unit = {"GB": 1e9, "ms": 1e-3}.get(value.unit, 1.0)
            for result in worked(value.how):
                checked += 1
                assert result == pytest.approx(value.value * unit, rel=2e-3, abs=1.1e-4), (value.name, value.how)
    assert checked >= 4


def test_the_check_of_workings_can_fail() -> None:
    assert worked("2 × 3 = 6") == [6.0, 6.0]
    assert worked("ln(1 + (3 − 1 + 0.5) / 1.5)") == pytest.approx([math.log(1 + 2.5 / 1.5)])
    assert worked("1 + ⌈(66 − 20) / (20 − 5)⌉ = 5; counted") == [5.0, 5.0]
    assert worked("21,015,324 × 4 bytes") == [84_061_296.0]
    assert worked("given") == worked("softmax of 2") == worked("") == []


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_the_same_each_time(name: str) -> None:
    assert find(name).lesson() == made(name)
    assert not any(step.measured for step in made(name).steps)


@pytest.mark.parametrize("name", LESSONS)
@pytest.mark.parametrize("width", [32, 40, 80, 200])
def test_a_lesson_fits_its_terminal(name: str, width: int) -> None:
    text = drawn(made(name), width)
    assert max(map(len, text.splitlines())) <= min(width, 110)
    for step in made(name).steps:
        for value in step.values:
            assert value.shown.split()[0] in text
            assert set(value.how.split()) <= set(text.split())
    assert drawn(made(name), 5) == drawn(made(name), 32)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_says_what_it_does(name: str) -> None:
    lesson = made(name)
    assert lesson.name == name
    assert lesson.title
    for step in lesson.steps:
        assert step.title
        assert step.says or step.formula or step.values
        for value in step.values:
            assert math.isfinite(value.value), (step.title, value.name)


def test_an_unknown_lesson_names_the_nearest() -> None:
    assert find("Search_Cost").name == "search-cost"
    with pytest.raises(InputError, match="did you mean 'cricket'"):
        find("criket")
    with pytest.raises(InputError, match="there are: bm25, fusion"):
        find("zzz")


def test_numbers_as_lessons_write_them() -> None:
    assert dec(-0.61904) == "−0.6190"
    assert dec(math.inf) == "∞"
    assert dec(32_279_537_664, "e") == "3.2 × 10^10"
    assert dec(0.00045, "e") == "4.5 × 10^−4"
    assert Value("x", 2.0, form=".1f", unit="GB").shown == "2.0 GB"


def test_marks_of_the_terminal_are_text() -> None:
    step = Step("[red]t[/red]", "[bold]x[/bold]", "[/]", (Value("[a]", 1.0, "[b]"),), "[link=x]y[/link]")
    text = drawn(Lesson("l", "[x]", (step,), ("[s]",)))
    for mark in ("[red]t[/red]", "[bold]x[/bold]", "[/]", "[a]", "[b]", "[link=x]y[/link]", "[x]", "[s]"):
        assert mark in text


# One by one


def softmax(scores: list[float]) -> list[float]:
    total = sum(math.exp(s) for s in scores)
    return [math.exp(s) / total for s in scores]


@pytest.mark.parametrize(
    ("vectors", "query", "other", "reader"),
    [
        (((0.7, 1.3, 2.0), (0.9, 0.1, 0.0), (0.1, 0.2, 0.6)), (2.0, 1.0, 0.0), (0.5, 0.5, 0.5), (0.9, 0.35, 0.1)),
        (((1.0, 0.0), (0.0, 3.0)), (0.4, 0.3), (1.0, -1.0), (0.2, 0.6)),
        (((1.0,), (2.0,), (3.0,), (0.0,)), (1.0,), (-1.0,), (1.0, 0.0, 0.5, 0.25)),
    ],
)
def test_cricket_is_arithmetic(
    vectors: tuple[tuple[float, ...], ...],
    query: tuple[float, ...],
    other: tuple[float, ...],
    reader: tuple[float, ...],
) -> None:
    lesson = cricket.lesson(vectors, query, other, reader)
    found = values(lesson)
    for letter, asked in (("", query), ("'", other)):
        scores = [sum(q * v for q, v in zip(asked, vector, strict=True)) for vector in vectors]
        prior = softmax(scores)
        answer = sum(p * q for p, q in zip(prior, reader, strict=True))
        for z in range(len(reader)):
            assert found[f"s{letter}(z{z + 1})"] == pytest.approx(scores[z], abs=1e-12)
            assert found[f"p{letter}(z{z + 1}|x)"] == pytest.approx(prior[z], abs=1e-12)
            if not letter:
                assert found[f"p(z{z + 1}|x,y)"] == pytest.approx(prior[z] * reader[z] / answer, abs=1e-12)
        assert found[f"p{letter}(y|x)"] == pytest.approx(answer, abs=1e-12)


def test_cricket_averaging_logits_is_another_number() -> None:
    found = values(cricket.lesson())
    prior, reader = softmax([2.7, 1.9, 0.4]), (0.9, 0.35, 0.1)
    mean = sum(p * math.log(q / (1 - q)) for p, q in zip(prior, reader, strict=True))
    assert found["wrong"] == pytest.approx(1 / (1 + math.exp(-mean)), abs=1e-12)
    assert found["wrong − right"] > 0.05
    assert found["wrong, by logits"] == pytest.approx(0.0867, abs=5e-5)


def test_cricket_refuses_what_does_not_fit() -> None:
    with pytest.raises(InputError, match="same dimension"):
        cricket.lesson(query=(1.0, 2.0))
    with pytest.raises(InputError, match="reader: 2 numbers, but there are 3"):
        cricket.lesson(reader=(0.5, 0.5))
    with pytest.raises(InputError, match="probabilities"):
        cricket.lesson(reader=(0.5, 0.5, 1.5))


def enumerated(
    prior: tuple[float, ...], first: dict[str, tuple[float, ...]], second: dict[str, dict[str, tuple[float, ...]]]
) -> dict[str, tuple[float, float]]:
    k = range(len(prior))
    return {
        f"{one} {two}": (
            sum(prior[z] * first[one][z] * second[one][two][z] for z in k),
            sum(prior[z] * first[one][z] for z in k) * sum(prior[z] * second[one][two][z] for z in k),
        )
        for one in first
        for two in second[one]
    }


def test_sequence_and_token_are_enumeration() -> None:
    rng = np.random.default_rng(5)
    for k in (1, 2, 3, 5):
        prior = tuple(rng.dirichlet(np.ones(k)).tolist())

        def table(k: int = k) -> dict[str, tuple[float, ...]]:
            rows = rng.dirichlet(np.ones(3), size=k)
            return {name: tuple(rows[:, i].tolist()) for i, name in enumerate("abc")}

        first = table()
        second = {token: table() for token in first}
        found = values(sequence_and_token.lesson(prior, first, second))
        expected = enumerated(prior, first, second)
        assert len(expected) == 9
        for answer, (sequence, token) in expected.items():
            assert found[f"{answer}, RAG-Sequence"] == pytest.approx(sequence, rel=1e-12)
            assert found[f"{answer}, RAG-Token"] == pytest.approx(token, rel=1e-12)
        assert found["sum, RAG-Sequence"] == pytest.approx(1.0, abs=1e-12)
        assert found["sum, RAG-Token"] == pytest.approx(1.0, abs=1e-12)


def test_sequence_and_token_agree_on_one_token_and_differ_on_two() -> None:
    lesson = sequence_and_token.lesson()
    one, two = (
        next(v.value for v in step.values if v.name == "difference")
        for step in lesson.steps
        if any(v.name == "difference" for v in step.values)
    )
    assert one == 0
    assert two == pytest.approx(0.529 - 0.442, abs=1e-12)
    text = drawn(lesson)
    assert "“New Angeles”: 0.2080 against 0.1210" in text
    found = values(lesson)
    # p(y2|x,y1) of RAG-Sequence is what its own two probabilities say.
    assert found["p(York|New), RAG-Sequence"] == pytest.approx(0.529 / 0.65, abs=1e-12)
    assert found["p(York|New), RAG-Token"] == pytest.approx(0.68, abs=1e-12)


def test_sequence_and_token_refuse_what_is_no_distribution() -> None:
    with pytest.raises(InputError, match="add up to"):
        sequence_and_token.lesson(prior=(0.6, 0.3, 0.2))
    with pytest.raises(InputError, match="first after z1"):
        sequence_and_token.lesson(first={"New": (0.5, 0.2, 0.5), "Los": (0.1, 0.8, 0.5)})
    with pytest.raises(InputError, match="follows each token"):
        sequence_and_token.lesson(first={"Old": (0.9, 0.2, 0.5), "Los": (0.1, 0.8, 0.5)})


def test_fusion_is_arithmetic() -> None:
    lists = {"dense": ("A", "B", "C", "D"), "bm25": ("D", "B", "C")}
    found = values(fusion.lesson(lists))
    for document in "ABCD":
        ranks = [names.index(document) + 1 for names in lists.values() if document in names]
        assert found[f"score of {document}"] == pytest.approx(sum(1 / (60 + rank) for rank in ranks), abs=1e-15)
    assert found["A from bm25"] == 0
    assert found["first place over second, k = 60"] == pytest.approx(62 / 61)
    text = drawn(fusion.lesson())
    assert "The order is B, D, C, A." in text
    assert "With k = 0 the order is D, A, B, C" in text
    with pytest.raises(InputError, match="no document"):
        fusion.lesson({"dense": ()})


def test_bm25_is_the_formula_and_the_engine_agrees() -> None:
    lesson = bm25.lesson()
    found = values(lesson)
    # By hand: A is "cricket bat, cricket ball", B "cricket final", C six words with one cricket; the mean length is 4.
    common, rare = math.log(1 + 0.5 / 3.5), math.log(1 + 2.5 / 1.5)
    assert found["score of A"] == pytest.approx(common * 2 * 2.2 / (2 + 1.2), abs=1e-12)
    assert found["score of B"] == pytest.approx((common + rare) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 4)), abs=1e-12)
    assert found["score of C"] == pytest.approx(common * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 6 / 4)), abs=1e-12)
    for name in "ABC":
        assert found[f"engine's score of {name}"] == pytest.approx(found[f"score of {name}"], rel=1e-3)
    # However often a word is said, its part stays below k1 + 1.
    saturation = [value for name, value in found.items() if name.startswith("tf = ")]
    assert saturation == sorted(saturation)
    assert 2.19 < saturation[-1] < 2.2


def test_bm25_with_other_parameters_does_not_ask_the_engine() -> None:
    lesson = bm25.lesson(k1=2.0, b=0.0)
    assert not any("engine" in name for name in values(lesson))
    assert values(lesson)["norm of A"] == values(lesson)["norm of C"] == 2.0
    with pytest.raises(InputError, match="no document holds"):
        bm25.lesson(query="zebra")


def test_the_engine_is_asked_for_other_documents_too() -> None:
    documents = {"x": "green tea", "y": "black tea, green leaf, green cup", "z": "coffee"}
    lesson = bm25.lesson(documents, "green tea")
    found = values(lesson)
    for name in "xy":
        assert found[f"score of {name}"] > 0
        assert found[f"engine's score of {name}"] == pytest.approx(found[f"score of {name}"], rel=1e-3)


@pytest.mark.parametrize(("count", "size", "lap"), [(66, 20, 5), (7, 20, 5), (100, 10, 9), (40, 20, 0), (41, 20, 19)])
def test_overlap_counts_the_windows_of_the_formula(count: int, size: int, lap: int) -> None:
    text = " ".join(f"w{i}" for i in range(count))
    found = values(overlap.lesson(text, size, lap))
    windows, start = [], 0
    while True:
        windows.append(range(start, min(start + size, count)))
        if start + size >= count:
            break
        start += size - lap
    name = f"with an overlap of {lap}" if lap else "without overlap"
    assert found[name] == len(windows)
    assert found["tokens N"] == count
    read = list(itertools.chain.from_iterable(windows))
    assert found["tokens read more than once"] == len({i for i in read if read.count(i) > 1})


def test_overlap_says_which_sentences_are_cut() -> None:
    lesson = overlap.lesson()
    found = values(lesson)
    assert found["sentences"] == 5
    # Sentences of 12, 12, 10 … words: counted by hand from their spans, windows 1-20, 21-40, 41-60, 61-66.
    lengths = [len(sentence.split()) for sentence in re.split(r"(?<=[.]) ", overlap.TEXT)]
    ends = list(itertools.accumulate(lengths))
    cut = [(end - 1) // 20 != (end - length) // 20 for end, length in zip(ends, lengths, strict=True)]
    assert found["sentences cut, without overlap"] == sum(cut) == 3
    longest = max(lengths)
    assert found["longest sentence"] == longest
    assert found[f"sentences cut, with an overlap of {longest - 1}"] == 0
    assert found[f"cost with an overlap of {longest - 1}"] > 5
    with pytest.raises(InputError, match="no word"):
        overlap.lesson(" ")
    with pytest.raises(ConfigError, match="overlap"):
        overlap.lesson(size=5, overlap=5)


def test_search_cost_is_arithmetic() -> None:
    assert search_cost.brute_force(21_015_324, 768) == 2 * 21_015_324 * 768 == 32_279_537_664
    found = values(search_cost.lesson())
    assert found["operations of a query"] == 32_279_537_664
    assert found["float32"] == pytest.approx(21_015_324 * 768 * 4 / 1e9)
    assert found["product code"] == pytest.approx(21_015_324 * 768 / 4 / 2 / 1e9)
    assert found["on the ground level"] == 128 * 32
    assert found["vectors compared"] == pytest.approx(4096 + 16 * math.log(21_015_324) / math.log(16))
    small = values(search_cost.lesson(1000, 10))
    assert small["operations of a query"] == 20_000
    with pytest.raises(InputError, match="at least 2 passages"):
        search_cost.lesson(1, 768)


def test_product_codes_are_counted_as_they_are_built() -> None:
    pytest.importorskip("faiss")
    import faiss

    from pincite.store.ivfpq import _pieces

    index = faiss.index_factory(768, f"IVF16,PQ{_pieces(768, False)}x4fs")
    assert index.pq.code_size == 96


def test_the_measured_step_is_marked_and_scaled() -> None:
    step = search_cost.measure(200, 16, scaled_to=2000, repeats=3)
    assert step.measured
    found = {value.name: value.value for value in step.values}
    assert found["a query over all passages"] == pytest.approx(found["milliseconds"] / 1e3 * 10)
    assert found["operations a second"] == pytest.approx(2 * 200 * 16 / (found["milliseconds"] / 1e3))


def test_dilution_grows_and_falls() -> None:
    found = values(dilution.lesson())
    prior = softmax([2.7, 1.9])
    assert found["p(y|x), k = 1"] == pytest.approx(0.9, abs=1e-12)
    assert found["p(y|x), k = 2"] == pytest.approx(prior[0] * 0.9 + prior[1] * 0.35, abs=1e-12)
    four = softmax([2.7, 1.9, 0.4, 0.3])
    expected = sum(p * q for p, q in zip(four, (0.9, 0.35, 0.1, 0.95), strict=True))
    assert found["p(y|x), k = 4"] == pytest.approx(expected, abs=1e-12)
    assert found["p(y|x), k = 4"] > found["p(y|x), k = 3"]
    text = drawn(dilution.lesson())
    assert "Passage z2 is the first that lowered it; the highest is with k = 1." in text
    assert "No passage lowered it" in drawn(dilution.lesson(reader=(0.1, 0.2, 0.9)))
    with pytest.raises(InputError, match="reader: 2 numbers"):
        dilution.lesson(reader=(0.1, 0.2))


def test_temperature_goes_to_its_limits() -> None:
    found = values(temperature.lesson(temperatures=(1e-3, 1.0, 1e6)))
    assert found["p(y|x), T = 0.001"] == pytest.approx(found["T → 0"], abs=1e-9)
    assert found["p(y|x), T = 1e+06"] == pytest.approx(found["T → ∞"], abs=1e-5)
    assert found["T → 0"] == 0.9
    assert found["T → ∞"] == pytest.approx(0.45)
    # Two passages that share the highest score share the limit.
    assert values(temperature.lesson((1.0, 1.0), (0.2, 0.6)))["T → 0"] == pytest.approx(0.4)
    with pytest.raises(InputError, match="temperature"):
        temperature.lesson(temperatures=(0.0,))
