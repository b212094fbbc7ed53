"""The bundled demo: its files are complete and its golden questions point at words that are there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

import pincite

DEMO = Path(pincite.__file__).parent / "demo"
DOCUMENTS = DEMO / "documents"
FILES = sorted(DOCUMENTS.iterdir())
MARKDOWN = [file for file in FILES if file.suffix == ".md"]
TEXT = [file for file in FILES if file.suffix in {".md", ".txt", ".html"}]
PDF = DOCUMENTS / "reconstruction-amendments.pdf"

QUESTIONS: list[dict[str, Any]] = json.loads((DEMO / "questions.json").read_text(encoding="utf-8"))
ANSWERABLE = [question for question in QUESTIONS if question["answerable"]]
UNANSWERABLE = [question for question in QUESTIONS if not question["answerable"]]


def front_matter(file: Path) -> dict[str, str]:
    opening, block, _ = file.read_text(encoding="utf-8").split("---\n", 2)
    assert opening == ""
    pairs = [re.fullmatch(r"([a-z][a-z0-9_]*): (\S.*)", line) for line in block.splitlines()]
    assert all(pairs), f"{file.name}: a line is not `key: value`"
    found = [pair.groups() for pair in pairs if pair]
    assert len(dict(found)) == len(found), f"{file.name}: a key is there twice"
    return dict(found)


def test_counts_by_format() -> None:
    suffixes = [file.suffix for file in FILES]
    assert {suffix: suffixes.count(suffix) for suffix in set(suffixes)} == {
        ".md": 30,
        ".pdf": 1,
        ".docx": 1,
        ".txt": 1,
        ".html": 1,
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_file_is_not_empty(file: Path) -> None:
    assert file.stat().st_size > 200


@pytest.mark.parametrize("file", TEXT, ids=lambda file: file.name)
def test_text_has_no_carriage_return_and_no_stray_space(file: Path) -> None:
    raw = file.read_bytes()
    assert b"\r" not in raw
    text = raw.decode("utf-8")
    assert text.endswith("\n")
    assert not re.search(r"[ \t]\n|  |\t", text)


@pytest.mark.parametrize("file", MARKDOWN, ids=lambda file: file.name)
def test_front_matter(file: Path) -> None:
    meta = front_matter(file)
    assert {"title", "document", "ratified", "in_force_from", "status"} <= meta.keys()
    assert meta["status"] in {"in force", "superseded in part", "repealed"}
    assert (meta["status"] == "in force") == ("superseded_by" not in meta)
    for key, value in meta.items():
        # A colon and a space would make the value a mapping to a YAML reader.
        assert ": " not in value
        if key in {"signed", "proposed", "ratified"} or "in_force" in key:
            assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", value)
    body = file.read_text(encoding="utf-8").split("---\n", 2)[2]
    assert body.startswith("\n# ")


def test_every_article_and_amendment_is_there_once() -> None:
    articles = [int(m[1]) for file in FILES if (m := re.match(r"article-(\d+)-", file.name))]
    assert sorted(articles) == list(range(1, 8))
    single = [int(m[1]) for file in FILES if (m := re.match(r"amendment-(\d+)-", file.name))]
    with pypdfium2.PdfDocument(PDF) as pdf:
        assert len(pdf) == 3
        titles = [bookmark.get_title() for bookmark in pdf.get_toc() if bookmark.level == 0]
    numerals = [title.split(":")[0] for title in titles]
    assert numerals == ["Amendment XIII", "Amendment XIV", "Amendment XV"]
    assert sorted([*single, 13, 14, 15]) == list(range(1, 28))


def test_question_counts() -> None:
    assert (len(ANSWERABLE), len(UNANSWERABLE)) == (14, 3)
    assert sum(question["trap"] is not None for question in ANSWERABLE) >= 6
    suffixes = [Path(question["file"]).suffix for question in ANSWERABLE]
    assert [suffixes.count(suffix) for suffix in (".pdf", ".html", ".docx", ".txt")] == [2, 1, 1, 1]
    assert all(("page" in question) == question["file"].endswith(".pdf") for question in ANSWERABLE)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["question"])
def test_question(question: dict[str, Any]) -> None:
    names = {file.name for file in FILES}
    trap = question["trap"]
    if trap is not None:
        assert trap["file"] in names
        assert trap["file"] != question["file"]
        assert trap["why"]
    if not question["answerable"]:
        assert question["file"] is question["quote"] is question["answer"] is None
        return
    assert question["file"] in names
    assert question["answer"]
    file = DOCUMENTS / question["file"]
    if file.suffix in {".md", ".txt"}:
        assert file.read_text(encoding="utf-8").count(question["quote"]) == 1
