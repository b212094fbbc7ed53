"""JSON: records with a text, lines of records, everything else as paths; and what is broken or hostile."""

from __future__ import annotations

import json
import time
import tracemalloc
from pathlib import Path

import pytest

from pincite.errors import LoadError, NoTextError, UnsupportedFormatError
from pincite.loaders.json_data import JsonLinesLoader, JsonLoader
from pincite.protocols import Source
from pincite.types import Document, FileOutcome


def load(value: object, text_field: str | None = None) -> Document:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    document = JsonLoader(text_field).load(Source("/a.json", "a.json", data))
    for heading in document.headings:
        assert heading.text in " ".join(document.text[heading.start : heading.end].split())
    return document


def lines(data: bytes, text_field: str | None = None) -> list[Document | FileOutcome]:
    return list(JsonLinesLoader(text_field).load_all(Source("/a.jsonl", "a.jsonl", data)))


MURDER = "Whoever commits murder shall be punished with death or imprisonment for life."
THEFT = "Whoever commits theft shall be punished with imprisonment of up to three years."


def test_a_statute_has_a_heading_for_each_section() -> None:
    document = load(
        [
            {"section": 103, "section_title": "Punishment for murder", "section_desc": MURDER, "bailable": False},
            {"section": 303, "section_title": "Theft", "section_desc": THEFT, "bailable": True},
        ]
    )
    assert document.text == (
        f"103. Punishment for murder\n\nbailable: false\n\n{MURDER}\n\n303. Theft\n\nbailable: true\n\n{THEFT}"
    )
    assert [(h.level, h.text) for h in document.headings] == [(1, "103. Punishment for murder"), (1, "303. Theft")]


def test_a_title_that_holds_the_number_is_the_heading_alone() -> None:
    document = load(
        [{"section_name": "Section 103", "content": MURDER}, {"section_name": "Section 303", "content": ""}]
    )
    assert document.text == f"Section 103\n\n{MURDER}\n\nSection 303"


def test_chapters_are_headings_above_the_sections() -> None:
    document = load(
        [
            {
                "chapter": 6,
                "chapter_title": "Offences",
                "Section": 103,
                "section_title": "Murder",
                "section_desc": MURDER,
            },
            {
                "chapter": 6,
                "chapter_title": "Offences",
                "Section": 104,
                "section_title": "By one",
                "section_desc": MURDER,
            },
            {
                "chapter": 17,
                "chapter_title": "Property",
                "Section": 303,
                "section_title": "Theft",
                "section_desc": THEFT,
            },
        ]
    )
    assert [(h.level, h.text) for h in document.headings] == [
        (1, "Chapter 6. Offences"),
        (2, "103. Murder"),
        (2, "104. By one"),
        (1, "Chapter 17. Property"),
        (2, "303. Theft"),
    ]


def test_the_list_of_records_may_stand_in_an_object() -> None:
    document = load(
        {"title": "The Code", "year": 2023, "sections": [{"no": 1, "text": MURDER}, {"no": 2, "text": THEFT}]}
    )
    assert document.title == "The Code"
    assert document.text == f"title: The Code\nyear: 2023\n\n1\n\n{MURDER}\n\n2\n\n{THEFT}"


@pytest.mark.parametrize(
    ("records", "text_field", "chosen"),
    [
        ([{"remark": MURDER, "note": "short"}], None, "remark"),
        ([{"summary": THEFT, "text": MURDER}], None, "text"),
        ([{"summary": THEFT * 9, "text": "x"}], None, "summary"),
        ([{"summary": THEFT * 9, "text": "x"}], "text", "text"),
        ([{"text": "short"}], None, "text"),
        ([{"lines": [MURDER, THEFT], "id": "a"}], None, "lines"),
    ],
)
def test_the_field_that_is_the_text(records: list[dict[str, object]], text_field: str | None, chosen: str) -> None:
    value = records[0][chosen]
    text = "\n".join(value) if isinstance(value, list) else str(value)
    document = load(records, text_field)
    assert text in document.text
    assert f"{chosen}: " not in document.text


def test_a_record_without_the_text_is_written_as_lines() -> None:
    document = load([{"title": "A", "text": MURDER}, {"title": "B", "text": THEFT}, {"title": "C", "page": {"n": 4}}])
    assert document.text.endswith("C\n\npage.n: 4")


def test_settings_are_lines_with_their_paths() -> None:
    document = load(
        b'{"server": {"port": 8080, "hosts": ["a", "b"], "on": true, "key": null}, "rate": 1.10, "x": [{"y": 1}]}'
    )
    assert document.text == "server.port: 8080\nserver.hosts: a, b\nserver.on: true\nrate: 1.10\nx[0].y: 1"
    assert document.headings == ()


def test_numbers_names_and_constants_stay_as_they_are_written() -> None:
    digits = "9" * 5000
    document = load(b'{"a": 1, "a": 2, "b": NaN, "c": ' + digits.encode() + b', "d": 1e400, "e": -0.50}')
    assert document.text == f"a: 1\na (2): 2\nb: NaN\nc: {digits}\nd: 1e400\ne: -0.50"
    assert document.warnings == ("1 names stand twice in an object: both are kept",)


@pytest.mark.parametrize(
    ("data", "warning"),
    [
        (b'{"a": 1,}', "not valid JSON"),
        (b'// remark\n{"a": 1}', "not valid JSON"),
        (b"[" * 100_000, "nests too deeply"),
        (b'{"' + b"k" * 5000 + b'": {' + b",".join(b'"%d": 1' % i for i in range(3000)) + b"}}", "repeated too often"),
    ],
)
def test_what_cannot_be_written_in_lines_is_read_as_it_stands(data: bytes, warning: str) -> None:
    document = load(data)
    assert document.text == data.decode()
    assert warning in document.warnings[0]


def test_lines_of_records_under_the_other_name() -> None:
    data = json.dumps({"title": "A", "text": MURDER}) + "\n" + json.dumps({"title": "B", "text": THEFT})
    assert [heading.text for heading in load(data.encode()).headings] == ["A", "B"]


@pytest.mark.parametrize(("data", "error"), [(b"", NoTextError), (b"{}", NoTextError), (b"[null, []]", NoTextError)])
def test_no_text(data: bytes, error: type[LoadError]) -> None:
    with pytest.raises(error):
        load(data)


def test_one_line_of_two_megabytes_takes_linear_time() -> None:
    value = [{"id": i, "title": f"t{i}", "text": f"word{i} " * 30} for i in range(8_000)]
    start = time.monotonic()
    document = load(value)
    assert time.monotonic() - start < 10
    assert len(document.headings) == 8_000


CORPUS = (
    b'\xef\xbb\xbf{"_id": "d1", "title": "Murder", "text": "Whoever commits murder.", "metadata": {}, "year": 2023, '
    b'"tags": ["a", "b"]}\n\n{"_id": "d2", "title": "", "text": "two"}\nnot json\n'
    b'{"_id": "d2", "title": "Again", "text": "three", "parts": [{"n": 1}]}\n{"title": "No id", "text": "four"}\n'
)


def test_each_line_is_a_document() -> None:
    found = lines(CORPUS)
    assert [each.uri for each in found] == [
        "/a.jsonl#d1",
        "/a.jsonl#d2",
        "/a.jsonl#line-4",
        "/a.jsonl#d2~2",
        "/a.jsonl#line-6",
    ]
    first, second, broken, again, last = found
    assert isinstance(first, Document)
    assert (first.title, first.text) == ("Murder", "Whoever commits murder.")
    assert first.metadata == {"_id": "d1", "year": 2023, "tags": "a, b"}
    assert isinstance(second, Document)
    assert second.title == "d2"
    assert isinstance(broken, FileOutcome)
    assert (broken.status, broken.reason) == ("skipped", "unreadable")
    assert isinstance(again, Document)
    assert again.text == "three\n\nparts[0].n: 1"
    assert isinstance(last, Document)
    assert last.title == "No id"


def test_lines_in_a_wide_encoding() -> None:
    data = '{"id": "a", "text": "Grüße aus Köln"}\n{"id": "b", "text": "zwei"}\n'.encode("utf-16")
    assert [each.text for each in lines(data) if isinstance(each, Document)] == ["Grüße aus Köln", "zwei"]


def test_other_values_on_lines() -> None:
    found = lines(b'["a", "b"]\n"plain words"\n7\nnull\n{"x": {"y": 1}}\n')
    assert [each.text for each in found if isinstance(each, Document)] == ["a, b", "plain words", "7", "x.y: 1"]
    assert [each.reason for each in found if isinstance(each, FileOutcome)] == ["no-text"]


def test_a_line_that_nests_too_deeply_costs_itself() -> None:
    found = lines(b'{"text": "sound"}\n' + b"[" * 100_000 + b"\n")
    assert isinstance(found[0], Document)
    assert isinstance(found[1], FileOutcome)


@pytest.mark.parametrize("data", [b"", b"\n \n", b"no json\nat all\n", b"\x00\x01\x02" * 50])
def test_no_lines_of_json(data: bytes) -> None:
    with pytest.raises(LoadError) as caught:
        lines(data)
    assert not isinstance(caught.value, UnsupportedFormatError)


def test_lines_are_read_as_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("w") as file:
        for i in range(4000):
            file.write(json.dumps({"id": i, "text": f"word{i} " * 500}) + "\n")
    assert path.stat().st_size > 15_000_000
    tracemalloc.start()
    try:
        count = sum(1 for _ in JsonLinesLoader().load_all(Source(str(path), "a.jsonl", path=path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 4000
    assert peak < 8_000_000
