"""The head of a Markdown file: dates, lists, quotes, comments, and keys without a value."""

from __future__ import annotations

import time

import pytest

from pincite.loaders.markdown import MarkdownLoader
from pincite.protocols import Source
from pincite.types import Document


def load(head: str) -> Document:
    return MarkdownLoader().load(Source("/a.md", "a.md", f"---\n{head}\n---\n\n# T\n\ntext\n".encode()))


@pytest.mark.parametrize(
    ("head", "metadata"),
    [
        ("valid_from: 1976-12-18", {"valid_from": "1976-12-18"}),
        ('valid_from: "1976-12-18"  # the day', {"valid_from": "1976-12-18"}),
        ("valid_from: '1976-12-18'", {"valid_from": "1976-12-18"}),
        ("valid_from: 1976-12-18 # the day", {"valid_from": "1976-12-18"}),
        ("a: null\nb: ~\nc: []\nd:\ne: # nothing\nf: Null # yet", {}),
        ('title: "A \\"B\\": c, #1"', {"title": 'A "B": c, #1'}),
        ("title: 'It''s'", {"title": "It's"}),
        ('by: ["An Act, 1951", Another, \'It: third\']', {"by": "An Act, 1951, Another, It: third"}),
        ('by:\n  - "An Act: part one" # a note\n  - Another', {"by": "An Act: part one, Another"}),
        ("by:\n- one\n- 2", {"by": "one, 2"}),
        ("# comment\narticle: 31A\nnumber: 31\nshare: 0.5\nin_force: true", {
            "article": "31A", "number": 31, "share": 0.5, "in_force": True,
        }),
        ("url: https://example.com/a#b", {"url": "https://example.com/a#b"}),
    ],
)  # fmt: skip
def test_values(head: str, metadata: dict[str, object]) -> None:
    document = load(head)
    assert document.metadata == metadata
    assert document.warnings == ()
    assert document.text == "# T\n\ntext\n"


def test_what_is_nested_is_named() -> None:
    document = load("a: 1\nb:\n  - x: 1\nc: {d: 1}")
    assert document.metadata == {"a": 1}
    assert document.warnings == ("front matter left out: b, c (nested)",)


@pytest.mark.parametrize("value", ['"' * 50_001, '"' + "\\" * 50_000, "['" + "a," * 50_000, "[" + '"' * 50_001 + "]"])
def test_odd_quotes_take_linear_time(value: str) -> None:
    start = time.monotonic()
    load(f"a: {value}")
    assert time.monotonic() - start < 5
