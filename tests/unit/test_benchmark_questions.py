"""The questions of the benchmarks are true of the data they are asked of."""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import sys
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest

from pincite.formats import build_loaders
from pincite.loaders.choose import choose_loader
from pincite.protocols import Container, Source

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
Test = TypeVar("Test", bound=Callable[..., object])
DATA = Path(os.environ.get("PINCITE_DATA", ROOT.parent / "shared" / "data"))
CONSTITUTION = json.loads((BENCHMARKS / "constitution_questions.json").read_text(encoding="utf-8"))
MANUAL = json.loads((BENCHMARKS / "debian_manual_questions.json").read_text(encoding="utf-8"))
ANSWERS = [(question, answer) for question in CONSTITUTION["questions"] for answer in question["answers"]]


def needs(folder: str) -> Callable[[Test], Test]:
    there = pytest.mark.skipif(not (DATA / folder).is_dir(), reason="needs the evaluation data: set PINCITE_DATA")
    return lambda test: pytest.mark.data(there(test))


@cache
def benchmark(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def plain(text: str) -> str:
    return " ".join(text.split())


def letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def pdf_text(path: Path) -> str:
    loader = choose_loader(build_loaders(), Source(str(path), path.name, path=path))
    assert not isinstance(loader, Container)
    return loader.load(Source(str(path), path.name, path=path)).text


# The Constitution of India


@cache
def versions(document: str) -> tuple[str | None, ...]:
    """The text of a file at each point, None where there is no such file."""
    texts = []
    for point in CONSTITUTION["points"]:
        with tarfile.open(DATA / "indian-constitution-git" / point["archive"]) as package:
            member = next((each for each in package if each.name.removeprefix("./") == document), None)
            content = package.extractfile(member) if member is not None else None
            texts.append(content.read().decode() if content is not None else None)
    return tuple(texts)


def in_force(as_of: str) -> int:
    """The number of the point that a day is answered from."""
    return max(i for i, point in enumerate(CONSTITUTION["points"]) if point["valid_from"] <= as_of)


def test_the_constitution_is_asked_about_in_twenty_questions_on_three_or_four_days_each() -> None:
    questions = CONSTITUTION["questions"]
    assert len({question["id"] for question in questions}) == len(questions) == 20
    assert len({question["question"] for question in questions}) == 20
    for question in questions:
        days = [answer["as_of"] for answer in question["answers"]]
        assert 3 <= len(days) <= 4
        assert days == sorted(set(days))
        assert len({answer.get("point") for answer in question["answers"]}) > 1, "one answer on all days proves nothing"


def test_no_day_lies_where_the_law_changed_between_two_points() -> None:
    """The third amendment is of February 1955; what the folder says between it and the 44th was not the law."""
    starts = [point["valid_from"] for point in CONSTITUTION["points"]]
    assert starts == sorted(starts)
    assert not [answer["as_of"] for _, answer in ANSWERS if "1955-01-01" <= answer["as_of"] < "1979-06-20"]


@needs("indian-constitution-git")
@pytest.mark.parametrize(
    ("question", "answer"), ANSWERS, ids=[f"{question['id']}-{answer['as_of']}" for question, answer in ANSWERS]
)
def test_the_quote_tells_the_version_of_the_day_from_every_other(
    question: dict[str, Any], answer: dict[str, Any]
) -> None:
    texts = versions(question["document"])
    number = in_force(answer["as_of"])
    right = texts[number]
    if answer.get("absent"):
        assert right is None
        assert any(text is not None for text in texts), "an article that never was"
        return
    assert right is not None
    first = next(i for i in range(number + 1) if all(text == right for text in texts[i : number + 1]))
    assert CONSTITUTION["points"][first]["name"] == answer["point"]
    for text in texts:
        if text is not None:
            told = plain(answer["quote"]) in plain(text)
            told = told and ("lacks" not in answer or plain(answer["lacks"]) not in plain(text))
            assert told == (text == right)


# The criminal codes


@cache
def sections(name: str) -> tuple[tuple[str, str], ...]:
    """(number, text) of the sections of a code: by their place in JSON, by their headings in a PDF."""
    path = DATA / benchmark("codes").CODES[name].file
    if path.suffix == ".json":
        entries = json.loads(path.read_text(encoding="utf-8"))
        return tuple((str(i), plain(entry["content"])) for i, entry in enumerate(entries, start=1))
    text = plain(pdf_text(path))
    # "302. Punishment for murder.—", "3[304B. Dowry death.—": the table of contents has no dash.
    heads = list(re.finditer(r"(?<!\S)(?:\d{0,2}\[)?(\d+[A-Z]{0,2})\. ?[A-Z][^.—]{2,150}\.—", text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return tuple((head.group(1), text[head.start() : end]) for head, end in zip(heads, ends, strict=True))


PLACES = [place for pair in benchmark("codes").PAIRS for place in (pair.old, pair.new)]


@needs("indian-new-criminal-codes")
@pytest.mark.parametrize("place", PLACES, ids=[f"{place.code}-{place.sections}" for place in PLACES])
def test_the_words_of_a_section_stand_in_it_and_in_no_other(place: Any) -> None:
    wanted = place.sections.split(", ")
    found = [[number for number, text in sections(place.code) if plain(words) in text] for words in place.words]
    assert all(len(each) == 1 for each in found), found
    assert [number for each in found for number in each] == (wanted if len(wanted) > 1 else wanted * len(place.words))


def test_the_codes_follow_one_another_without_a_gap() -> None:
    codes = benchmark("codes")
    assert (codes.OLD_DAY, codes.NEW_DAY) == ("2024-06-30", "2024-07-01")
    assert {codes.CODES[name].valid_to for name in ("IPC", "CrPC")} == {codes.OLD_DAY}
    assert {codes.CODES[name].valid_from for name in ("BNS", "BNSS")} == {codes.NEW_DAY}
    assert len(codes.PAIRS) == 11


# The Debian manual


@cache
def forms() -> dict[str, str]:
    """The letters and digits of each form of the manual, read without pincite but for the PDF."""
    folder = DATA / "docs-debian-policy"

    def visible(page: str) -> str:
        return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(script|style|head)\b.*?</\1>", " ", page)))

    with zipfile.ZipFile(folder / "policy.epub") as book:
        pages = [book.read(name).decode() for name in book.namelist() if name.endswith("html")]
    texts = {
        "html": " ".join(visible(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("html/*.html"))),
        "epub": " ".join(map(visible, pages)),
        "pdf": pdf_text(folder / "policy.pdf"),
        "txt": (folder / "policy.txt").read_text(encoding="utf-8"),
        "rst": " ".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("rst/*"))),
    }
    return {form: letters(text) for form, text in texts.items()}


def test_ten_questions_are_asked_of_the_manual() -> None:
    assert len({question["id"] for question in MANUAL["questions"]}) == len(MANUAL["questions"]) == 10


@needs("docs-debian-policy")
@pytest.mark.parametrize("question", MANUAL["questions"], ids=lambda question: question["id"])
def test_the_sentence_stands_once_in_every_form_of_the_manual(question: dict[str, str]) -> None:
    wanted = letters(question["sentence"])
    assert {form: text.count(wanted) for form, text in forms().items()} == dict.fromkeys(forms(), 1)


# What the benchmarks make of a text


def test_a_title_is_compared_without_its_number() -> None:
    title = benchmark("debian_manual").title
    for text in ("3.2.1. Version numbers", "3.2.1 Version numbers", "Version numbers", "VERSION  NUMBERS"):
        assert title(text) == "versionnumbers"
    assert title("CHAPTER TWENTY-ONE THE ARCHIVE") == title("21. The archive") == "thearchive"
    assert title("X Window System") == "xwindowsystem"


def test_a_section_under_another_heading_has_moved() -> None:
    compare = benchmark("debian_manual").compare
    expected = [("a", "", "A"), ("b", "a", "B"), ("c", "a", "C")]
    got = compare(expected, [("a", "", "A"), ("b", "", "B"), ("d", "a", "D")])
    assert (got.missing, got.extra, got.moved) == (["C"], ["D"], ["B"])


def test_the_targets_of_links_and_comments_are_no_words_of_markdown() -> None:
    expected_words = benchmark("every_file").expected_words
    assert expected_words("<!-- image -->[A page](/start_(1).html) &amp; tea\\_time") == {
        "a": 1,
        "page": 1,
        "tea": 1,
        "time": 1,
    }


def test_a_day_is_answered_from_the_first_point_that_has_its_text() -> None:
    constitution = benchmark("constitution")
    points = [
        constitution.Point("one", "1950-01-26", {"a.md": "old", "b.md": "same"}),
        constitution.Point("two", "1951-06-18", {"a.md": "new", "b.md": "same", "c.md": "more"}),
    ]
    assert constitution.in_force(points, "1951-06-17", "a.md") == ("1950-01-26", "old")
    assert constitution.in_force(points, "1951-06-18", "a.md") == ("1951-06-18", "new")
    assert constitution.in_force(points, "1983-01-01", "b.md") == ("1950-01-26", "same")
    assert constitution.in_force(points, "1951-06-17", "c.md") is None
    assert constitution.in_force(points, "1950-01-25", "a.md") is None
