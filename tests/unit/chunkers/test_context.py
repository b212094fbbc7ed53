from __future__ import annotations

import pytest

from pincite.chunkers.context import context_text, encoded_text
from pincite.chunkers.ids import chunk_id


@pytest.mark.parametrize(
    ("headings", "text", "context"),
    [
        ([], "It applies.", ""),
        (["A", "B"], "It applies.", "A\nB"),
        (["A", "Scope"], "Scope\nIt applies.", "A"),
        (["A", "Scope"], "## **Scope**\n\nIt applies.", "A"),
        (["A", "Scope of Act"], "SCOPE  OF\nACT\nIt applies.", "A"),
        (["Part I", "Scope"], "# Part I\n## Scope\nIt applies.", ""),
        (["A", "Part I", "Scope"], "# Part I\n## Scope\nIt applies.", "A"),
        (["A", "Scope"], "Scoped work", "A\nScope"),
        (["A", "第一章"], "第一章\n本文", "A"),
        (["A", "***"], "text", "A"),
        (["Same", "Same"], "Same\ntext", "Same"),
    ],
)
def test_headings_the_text_begins_with_are_left_out(headings: list[str], text: str, context: str) -> None:
    assert context_text(headings, text) == context
    assert encoded_text(headings, text) == (f"{context}\n{text}" if context else text)


def test_chunk_id_names_document_version_and_ordinal() -> None:
    assert chunk_id("abc", 2, 17) == "abc.2.17"
