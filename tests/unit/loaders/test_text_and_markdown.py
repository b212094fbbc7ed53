from __future__ import annotations

import time

import pytest
from loader_samples import source

from pincite.errors import NoTextError, UnsupportedFormatError
from pincite.loaders.markdown import MarkdownLoader
from pincite.loaders.text import TextLoader
from pincite.types import Document


def text(data: bytes | str, name: str = "note.txt") -> Document:
    return TextLoader().load(source(name, data))


def markdown(data: str) -> Document:
    return MarkdownLoader().load(source("note.md", data))


def headings(document: Document) -> list[tuple[int, str]]:
    for heading in document.headings:
        assert heading.text in " ".join(document.text[heading.start : heading.end].split())
    return [(heading.level, heading.text) for heading in document.headings]


def test_text_stands_as_it_is() -> None:
    document = text("one\r\n\r\n  two\n", "folder/my notes.TXT")
    assert document.text == "one\n\n  two\n"
    assert document.title == "my notes"
    assert document.uri == "/folder/folder/my notes.TXT"
    assert document.metadata == {}
    assert document.version == 1


def test_a_guessed_encoding_is_in_the_metadata_and_in_a_warning() -> None:
    document = text("Überblick über die Größe".encode("cp1252"))
    assert document.metadata == {"encoding": "cp1252"}
    assert document.warnings == ("encoding detected as cp1252: the file does not say",)


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.json", "application/json"), ("a.py", "text/plain"), ("README", "text/plain")],
)
def test_media_types(name: str, media_type: str) -> None:
    assert text("a,b", name).media_type == media_type


@pytest.mark.parametrize("data", [b"", b" \n\t ", "\ufeff".encode(), "\u200b\u200b".encode()])
def test_nothing_to_see_is_no_text(data: bytes) -> None:
    with pytest.raises(NoTextError):
        text(data)


def test_a_picture_renamed_to_text_is_refused() -> None:
    with pytest.raises(UnsupportedFormatError):
        text(b"\x89PNG\r\n\x1a\n" + bytes(200))


def test_underlined_titles_of_restructuredtext() -> None:
    document = text(
        "=====\nTitle\n=====\n\nPart one\n========\n\nprose\n-----\n\n"
        "Sub\n---\n\nThe Longer\n---\n\na | b\n\nPart two\n========\n",
        "guide.rst.txt",
    )
    assert headings(document) == [(1, "Title"), (2, "Part one"), (3, "prose"), (3, "Sub"), (2, "Part two")]
    assert document.title == "Title"
    assert text("Title\n=====\n", "a.txt").headings == ()


UNDERLINED = "Manual\n******\n\n1. Scope\n========\n\nText.\n\n1.1. Versions\n-------------\n\n2. Use\n======\n\nMore."


def test_underlined_titles_of_plain_text() -> None:
    document = text(UNDERLINED)
    assert headings(document) == [(1, "Manual"), (2, "1. Scope"), (3, "1.1. Versions"), (2, "2. Use")]
    assert document.title == "Manual"
    assert [document.text[h.start : h.end] for h in document.headings][1:3] == ["1. Scope", "1.1. Versions"]
    assert text("Ada wrote this.\n\n" + UNDERLINED).title == "note"
    assert headings(text(UNDERLINED + "\n\nEnd\n---"))[-1] == (3, "End")
    assert text(UNDERLINED, "a.log").headings == text(UNDERLINED, "a.sql").headings == ()


@pytest.mark.parametrize(
    "ordinary",
    [
        # Two titles are no habit.
        "One\n===\n\nTwo\n===\n\nText.",
        # Rules and tables of other lengths.
        "One\n===\n\nTwo\n===\n\nSix\n===\n\nName\n--------\n\nAge\n--------\n\nTown\n--------\n\nText.",
        "Name  Age\n---------\n\nTown  Age\n---------\n\nRome  Age\n---------\n\nText.",
        "a | b\n-----\n\nc | d\n-----\n\ne | f\n-----\n\n",
        # No blank lines around them.
        "Sum\n---\n12\n\nSum\n---\n13\n\nSum\n---\n14\n",
        "x\nOne\n===\n\nx\nTwo\n===\n\nx\nSix\n===\n\n",
        "  One\n=====\n\n  Two\n=====\n\n  Six\n=====\n\n",
        "123\n---\n\n456\n---\n\n789\n---\n\n",
        "---\n\nText.\n\n***\n\nText.\n\n---\n---\n---\n",
    ],
)
def test_rules_and_tables_of_plain_text_make_no_headings(ordinary: str) -> None:
    assert text(ordinary).headings == ()


SECTIONS = "\n".join(
    f"{'CHAPTER ' + 'I' * (n // 6 + 1) + chr(10) + 'OF THINGS' + chr(10) if n % 6 == 1 else ''}"
    f"{n}. Punishment for thing {n}.—Whoever does it shall be punished under\n"
    f"section 99. Exceptions are in section {n}."
    for n in range(1, 13)
)
CONTENTS = "ARRANGEMENT OF SECTIONS\n" + "\n".join(f"{n}. Punishment for thing {n}." for n in range(1, 13))


def test_an_act_in_plain_text_has_its_sections_for_headings() -> None:
    document = text(f"THE THINGS ACT, 1999\n\n{CONTENTS}\n\n{SECTIONS}\n", "act.txt")
    assert document.title == "THE THINGS ACT, 1999"
    found = headings(document)
    assert found[0] == (1, "CHAPTER I OF THINGS")
    assert [name for level, name in found if level == 2] == [f"{n}. Punishment for thing {n}." for n in range(1, 13)]
    assert all(heading.start > document.text.index("Whoever") - 100 for heading in document.headings)
    section = document.text.index("Exceptions are in section 7")
    assert document.heading_path(section) == ("CHAPTER II OF THINGS", "7. Punishment for thing 7.")
    assert text(SECTIONS, "act.log").headings == ()


@pytest.mark.parametrize(
    "ordinary",
    [
        "\n".join(f"{n}. Apples — they are red. More words." for n in range(1, 30)),
        "\n".join(f"{n}. Buy milk. Then bread." for n in range(1, 30)),
        "\n".join(f"1. Title of a note.—It is said {n} times." for n in range(30)),
        "\n".join(f"{n}. Few of them.—Words." for n in range(1, 9)),
    ],
)
def test_numbered_lists_are_no_act(ordinary: str) -> None:
    assert text(ordinary).headings == ()


def test_two_megabytes_on_one_line_take_linear_time() -> None:
    began = time.perf_counter()
    text("[" + '{"a":1},' * 250_000 + "0]", "big.json")
    markdown("x" * 2_000_000)
    markdown("> " * 100_000)
    assert time.perf_counter() - began < 10


def test_markdown_headings_of_both_kinds_but_not_in_fences_quotes_or_lists() -> None:
    document = markdown(
        "# One *two* #\n\ntext\n\nUnder\nlined\n=====\n\n```sh\n# not one\n```\n\n"
        "> # quoted\n\n- # listed\n\n    # code\n\n"
        "Sub\n---\n\n#no space\n\n### [Deep](x)\n\n#\n"
    )
    assert headings(document) == [(1, "One *two*"), (1, "Under lined"), (2, "Sub"), (3, "[Deep](x)")]
    assert document.title == "One *two*"
    assert document.media_type == "text/markdown"


def test_the_same_words_twice_are_two_headings_with_their_own_spans() -> None:
    document = markdown("# tick\n\ntick\n\n# tick\n")
    assert [(h.start, h.end) for h in document.headings] == [(0, 6), (14, 20)]


def test_front_matter_goes_to_the_metadata_and_not_to_the_text() -> None:
    document = markdown(
        "---\ntitle: 'Lease: form A'\ntags: [law, lease]\npages: 12\nrate: 0.5\ndraft: false # still\ncode: 007\n"
        "authors:\n  - Ada\n  - Bo\nnested:\n  a: 1\n# remark\n---\n\n# Lease\n\nBody\n"
    )
    assert document.text == "# Lease\n\nBody\n"
    assert document.title == "Lease: form A"
    assert document.metadata == {
        "title": "Lease: form A",
        "tags": "law, lease",
        "pages": 12,
        "rate": 0.5,
        "draft": False,
        "code": "007",
        "authors": "Ada, Bo",
    }
    assert document.warnings == ("front matter left out: nested (nested)",)


@pytest.mark.parametrize(
    "data",
    [
        "---\n\nA rule, then prose: with a colon.\n\n---\n",
        "---\ntitle: never closed\n",
        "----\na: 1\n---\n",
        "text\n---\na: 1\n---\n",
    ],
)
def test_rules_are_not_front_matter(data: str) -> None:
    assert markdown(data).text == data


def test_front_matter_alone_is_no_text() -> None:
    with pytest.raises(NoTextError):
        markdown("---\ntitle: x\n---\n")
