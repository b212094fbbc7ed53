"""A piece of a table has its header, a piece of code its fences; both as context, never as part of the span."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.blocks import Blocks, may_divide
from pincite.chunkers.context import encoded_text
from pincite.chunkers.parent_child import ParentChildChunker
from pincite.chunkers.sentence_window import SentenceWindowChunker
from pincite.chunkers.sentences import SentenceChunker
from pincite.chunkers.structure import StructureChunker
from pincite.chunkers.window import WindowChunker
from pincite.protocols import Chunker, Tokenizer
from pincite.types import Chunk
from toys_text import MINILM, ToyWords, fence_is_open, text_document

RECIPES: dict[str, Callable[[Tokenizer, int], Chunker]] = {
    "structure": lambda tokenizer, size: StructureChunker(tokenizer, size=size),
    "sentences": lambda tokenizer, size: SentenceChunker(tokenizer, size=size),
    "sentence-window": lambda tokenizer, size: SentenceWindowChunker(tokenizer, size=size, window=2),
    "parent-child": lambda tokenizer, size: ParentChildChunker(tokenizer, size=size, parent_size=4 * size),
}
every = pytest.mark.parametrize("make", RECIPES.values(), ids=RECIPES.keys())

HEADER = "| Limit | Value | Value |\n| name | low | high |\n|---|---|---|\n"
ROWS = [f"| timeout_{i} | {i} ms | {i * 7} ms |" for i in range(60)]
TABLE = "Table 4: limits of the server\n" + HEADER + "\n".join(ROWS)


def pieces(chunker: Chunker, text: str) -> list[Chunk]:
    document = text_document(text, media_type="text/markdown")
    chunks = list(chunker.chunk(document))
    assert all(document.text[c.start : c.end] == c.text for c in chunks)
    return chunks


@every
def test_every_piece_of_a_table_is_a_table_with_the_whole_header(make: Callable[[Tokenizer, int], Chunker]) -> None:
    chunks = pieces(make(MINILM, 120), f"Some words before.\n\n{TABLE}\n\nSome words after.")
    with_rows = [c for c in chunks if "timeout_" in c.text]
    assert len(with_rows) > 5
    first, *later = with_rows
    assert HEADER in first.text
    assert all(c.before == HEADER and not c.after for c in later)
    for chunk in with_rows:
        tokens = len(MINILM.spans(encoded_text(chunk.headings, chunk.text, chunk.before, chunk.after)))
        assert tokens <= 120
        lines = chunk.reading.split("\n")
        at = lines.index("|---|---|---|")
        assert lines[at - 2 : at] == HEADER.split("\n")[:2]
        assert lines[at + 1].startswith("| timeout_")
        assert lines.count("|---|---|---|") == 1
    # Each row once and whole, in order; the caption once, with the first rows.
    assert [row for c in with_rows for row in c.text.split("\n") if row.startswith("| timeout_")] == ROWS
    assert [c.reading.count("Table 4") for c in with_rows] == [1] + [0] * len(later)
    assert re.search(r"Table 4: limits of the server\n\| Limit", first.text)


def test_the_window_stays_raw() -> None:
    chunks = pieces(WindowChunker(MINILM, size=120), TABLE)
    assert len(chunks) > 5
    assert all(not c.before and not c.after and c.parent is None for c in chunks)


def test_a_table_that_fits_needs_nothing() -> None:
    text = "\n".join(TABLE.split("\n")[:8])
    (chunk,) = pieces(StructureChunker(MINILM, size=250), text)
    assert (chunk.text, chunk.before, chunk.after) == (text, "", "")


def test_a_header_over_a_quarter_is_cut_down_to_its_last_row_and_then_left_out() -> None:
    rows = "\n".join(f"| {i} | b |" for i in range(40))
    wide = "| " + "word " * 20 + "| x |\n| name | unit |\n|---|---|\n"
    later = pieces(StructureChunker(ToyWords(), size=40), wide + rows)[1:]
    assert len(later) > 3
    assert {c.before for c in later} == {"| name | unit |\n|---|---|\n"}
    later = pieces(StructureChunker(ToyWords(), size=20), wide + rows)[3:]
    assert {c.before for c in later} == {""}


def test_the_first_row_is_not_parted_from_its_header() -> None:
    # Four words fit after the header, five do not: a cut before the first row would leave a header alone.
    text = "Words before it.\n\n| a | b |\n|---|---|\n" + "\n".join(f"| {i} | c |" for i in range(9))
    for size in range(11, 30):
        for chunk in pieces(StructureChunker(ToyWords(), size=size), text):
            assert not chunk.text.endswith("---|")


@pytest.mark.parametrize("size", range(24, 60, 3))
def test_the_caption_is_not_parted_from_its_table(size: int) -> None:
    text = "Some words stand here. " * 4 + "\n\nTable 4. Limits\n| a | b |\n|---|---|\n" + "| 1 | c |\n" * 20
    (first,) = [c for c in pieces(StructureChunker(ToyWords(), size=size), text) if "Table 4" in c.reading]
    assert "Table 4. Limits\n| a | b |\n|---|---|\n| 1 | c |" in first.text
    (block,) = Blocks(text).items
    assert text[block.start :].startswith("Table 4")
    # A long paragraph is no caption.
    assert Blocks("word " * 99 + "\n| a |\n|---|\n| 1 |").items[0].start == 496


def test_rows_without_a_mark_have_their_first_row_for_a_header() -> None:
    text = "Limits\nname | unit | value\n" + "\n".join(f"t{i} | ms | {i}" for i in range(60)) + "\n\nAfter."
    chunks = pieces(StructureChunker(ToyWords(), size=40), text)
    later = [c for c in chunks[1:] if re.match(r"t\d+ \|", c.text)]
    assert len(later) > 5
    assert all(c.before == "name | unit | value\n" for c in later)
    assert all(re.search(r"\d$", c.text) for c in later if "After" not in c.text)
    assert chunks[0].text.startswith("Limits\nname | unit | value\nt0 |")


def test_two_lines_with_bars_are_no_table() -> None:
    assert not Blocks("Home | About\nNews | Contact\n\nText.").items
    assert Blocks("a | b\nc | d\ne | f").items


# Fences


CODE = [f"value_{i} = {i}" for i in range(90)]
FENCE = "```python title=x\n" + "\n".join(CODE) + "\n```"


@every
def test_every_piece_of_code_opens_and_closes_its_fence(make: Callable[[Tokenizer, int], Chunker]) -> None:
    # Three words a line: forty lines and the two fences fit.
    chunks = pieces(make(ToyWords(), 123), f"{FENCE}\n\nProse after the code.")
    code = [c for c in chunks if "value_" in c.text]
    assert [c.text.count("value_") for c in code] == [40, 40, 10]
    assert [(c.before, c.after) for c in code] == [
        ("", "\n```"),
        ("```python title=x\n", "\n```"),
        ("```python title=x\n", ""),
    ]
    assert [line for c in code for line in c.text.split("\n") if line.startswith("value_")] == CODE
    for chunk in chunks:
        assert not fence_is_open(chunk.reading)
        inside = re.sub(r"(?s)^```.*?^```", "", chunk.reading, flags=re.M)
        assert "value_" not in inside
    assert "Prose after the code." in re.sub(r"(?s)^```.*?^```", "", chunks[-1].reading, flags=re.M)


@pytest.mark.parametrize("lines", range(36, 46))
def test_the_closing_fence_never_stands_alone(lines: int) -> None:
    text = "```python title=x\n" + "\n".join(CODE[:lines]) + "\n```\n\nProse."
    for size in (122, 123, 124):
        chunks = pieces(StructureChunker(ToyWords(), size=size), text)
        assert not any(c.text.startswith("```") and "value_" not in c.text for c in chunks)
        assert not any(fence_is_open(c.reading) for c in chunks)


@pytest.mark.parametrize("size", range(20, 40))
def test_the_opening_fence_is_not_parted_from_the_first_line(size: int) -> None:
    text = "Some words stand here before it.\n\nAnd more.\n```python\n" + "\n".join(CODE) + "\n```"
    chunks = pieces(StructureChunker(ToyWords(), size=size), text)
    assert not any(c.text.endswith("```python") for c in chunks)


def test_where_a_block_may_be_cut() -> None:
    text = "```py\na\n\n  b\nc\n```\n\n| h |\n|---|\n| 1 |\n| 2 |\n| 3 |\n"
    fence, table = Blocks(text).items
    assert [text[cut:].split("\n")[0] for cut in fence.cuts] == ["  b", "c"]
    assert [text[cut:].split("\n")[0] for cut in table.cuts] == ["| 2 |", "| 3 |"]


def test_the_mark_is_the_blocks_own_and_the_indent_is_kept() -> None:
    body = "\n".join(f"    x{i} = ```" for i in range(30))
    chunks = pieces(StructureChunker(ToyWords(), size=40), f"~~~~ py\ndef f():\n{body}\n~~~~")
    assert len(chunks) > 2
    assert all(c.before == "~~~~ py\n    " and c.reading.endswith("\n~~~~") for c in chunks[1:])


def test_code_is_cut_between_functions_where_it_can_be() -> None:
    functions = "\n".join(f"def f{i}():\n" + "\n".join(f"    a{j} = {j}" for j in range(5)) for i in range(12))
    chunks = pieces(StructureChunker(ToyWords(), size=60), f"```py\n{functions}\n```")
    assert len(chunks) > 3
    assert all(c.text.startswith("def ") for c in chunks[1:])


def test_a_fence_whose_tag_holds_a_bar_ends_the_rows_above_it() -> None:
    rows, code = "a | b\nc | d\ne | f\n", "```x | y\n1\n```\n"
    assert [(b.fenced, b.start, b.end) for b in Blocks(rows + code).items] == [
        (False, 0, len(rows)),
        (True, len(rows), len(rows + code)),
    ]


def test_a_long_opening_line_is_cut_to_its_first_word() -> None:
    text = "```python " + "option " * 20 + "\n" + "\n".join(CODE) + "\n```"
    assert {c.before for c in pieces(StructureChunker(ToyWords(), size=60), text)[1:]} == {"```python\n"}


def test_code_in_a_line_opens_no_fence() -> None:
    assert not Blocks("```not a fence``` goes on\n\nText.\n```\nStill text.").items
    (block,) = Blocks("```\na\n```\n\n```never closed\n| a |").items[:1]
    assert block.fenced


def test_a_table_after_a_fence_that_never_closes_is_still_a_table() -> None:
    assert [b.fenced for b in Blocks("```\nText.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n").items] == [False]


PARTS = [
    "Prose of a few words. And more of it.\n\n",
    "```py\n" + "\n".join(f"a{i} = {i}" for i in range(12)) + "\n```\n",
    "~~~~\nb = 1\n\n```\n    c = 2\n~~~~\n\n",
    "# A heading\n\n",
    "| a | b |\n|---|---|\n" + "\n".join(f"| {i} | x |" for i in range(9)) + "\n\n",
    "````text\n```\nno fence inside\n```\n````\n",
]


@given(st.lists(st.sampled_from(PARTS), max_size=6).map("".join), st.integers(12, 60), st.sampled_from(list(RECIPES)))
def test_no_prose_is_swallowed_and_no_fence_is_left_open(text: str, size: int, recipe: str) -> None:
    for chunk in RECIPES[recipe](ToyWords(), size).chunk(text_document(text)):
        assert not fence_is_open(chunk.reading), chunk
        outside = re.sub(r"(?ms)^(`{3,}|~{3,})[^\n]*\n.*?^\1$", "", chunk.reading)
        assert not re.search(r"[abc]\d* = \d|no fence", outside), chunk
        inside = "".join(m.group() for m in re.finditer(r"(?ms)^(`{3,}|~{3,})[^\n]*\n.*?^\1$", chunk.reading))
        assert "Prose" not in inside


@given(st.lists(st.sampled_from([*PARTS, "x | y\nz | 1\nu | 2\n", "No mark.\n"]), max_size=5).map("".join))
def test_the_quick_look_misses_no_frame(text: str) -> None:
    blocks = Blocks(text)
    for start in range(0, len(text), 3):
        for end in (start + 1, (start + len(text)) // 2 + 1, len(text)):
            if start < end and blocks.frame(start, end) != ("", ""):
                assert may_divide(text, start)


def test_a_row_of_dashes_that_ends_otherwise_costs_no_more_than_another() -> None:
    def seconds(dashes: int) -> float:
        text = "| a | b |\n" + f"|{'-' * dashes}x\n" * 5
        started = time.perf_counter()
        assert Blocks(text).items[0].delimiter == -1
        return time.perf_counter() - started

    assert seconds(9_000) < 0.5  # it took three seconds
