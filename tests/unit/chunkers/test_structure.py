from __future__ import annotations

import re

import pytest

from pincite.chunkers.context import encoded_text
from pincite.chunkers.structure import StructureChunker
from pincite.errors import ConfigError
from pincite.types import Chunk, Document, Heading


class ToyWords:
    def spans(self, text: str) -> list[tuple[int, int]]:
        return [m.span() for m in re.finditer(r"\S+", text)]


class ToyCharacters:
    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, c in enumerate(text) if not c.isspace()]


def markdown(text: str) -> Document:
    headings = tuple(
        Heading(len(m.group(1)), m.group(2), m.start(), m.end()) for m in re.finditer(r"^(#+) (.*)$", text, re.M)
    )
    return Document("d", text, "t", "u", "text/markdown", "0", headings=headings)


def cut(text: str, size: int, overlap_sentences: int = 0) -> list[Chunk]:
    chunker = StructureChunker(ToyWords(), size=size, overlap_sentences=overlap_sentences)
    return list(chunker.chunk(markdown(text)))


def test_section_that_fits_is_one_chunk_with_its_subsections() -> None:
    text = "# A\n\none two\n\n## B\n\nthree\n\n# C\n\nfour"
    chunks = cut(text, 20)
    assert [c.text for c in chunks] == ["# A\n\none two\n\n## B\n\nthree", "# C\n\nfour"]
    assert [c.headings for c in chunks] == [("A",), ("C",)]


def test_no_chunk_reaches_over_a_sibling_heading() -> None:
    text = "# A\n\n" + "\n\n".join(f"## S{i}\n\nThe text of {i}." for i in range(5))
    chunks = cut(text, 9)
    assert [c.text.count("## ") for c in chunks] == [1] * 5
    assert [c.headings for c in chunks] == [("A", f"S{i}") for i in range(5)]
    # The heading that stands over nothing but a deeper one goes with it.
    assert chunks[0].text.startswith("# A\n\n## S0\n\n")


def test_continued_sections_carry_their_headings_within_the_limit() -> None:
    text = "# Part\n\n## Scope\n\n" + "One two three four. " * 20
    chunks = cut(text, 16)
    assert len(chunks) > 3
    assert all(c.headings == ("Part", "Scope") for c in chunks)
    assert encoded_text(chunks[1].headings, chunks[1].text).startswith("Part\nScope\nOne")
    assert [len(encoded_text(c.headings, c.text).split()) for c in chunks[1:-1]] == [14] * (len(chunks) - 2)


def test_headings_over_a_quarter_are_dropped_from_the_outside() -> None:
    text = "# one two three\n\n## four five\n\n" + "One two three. " * 20
    assert {c.headings for c in cut(text, 8)[1:]} == {("four five",)}
    assert {c.headings for c in cut(text, 4)[2:]} == {()}


def test_paragraphs_before_sentences_before_words() -> None:
    assert [c.text for c in cut("a b c d.\n\ne f g h.\n\ni j.", 6)] == ["a b c d.", "e f g h.\n\ni j."]
    assert [c.text for c in cut("A b c d. E f g h. I j.", 6)] == ["A b c d.", "E f g h. I j."]
    assert [c.text for c in cut("a b c d e f g h i j", 6)] == ["a b c d e f", "g h i j"]


def test_long_sentence_is_cut_at_a_clause() -> None:
    assert [c.text for c in cut("a b c d; e f g h i j k l", 6)] == ["a b c d;", "e f g h i j", "k l"]


def test_heading_is_never_alone_before_its_text() -> None:
    chunks = cut("# A b\n\n" + "word " * 30, 8)
    assert chunks[0].text == "# A b\n\nword word word word word"


def test_fence_and_table_are_kept_whole_when_they_fit() -> None:
    fence = "```py\na = 1\n\nb = 2\n```"
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    assert fence in [c.text for c in cut("Some words here.\n\n" + fence + "\n\nMore words follow here now.", 9)]
    assert table in [c.text for c in cut("Some words here.\n\n" + table + "\n\nMore words follow here now.", 11)]


def test_long_table_is_cut_at_line_ends() -> None:
    text = "\n".join(f"| {i} | v |" for i in range(20))
    chunks = cut(text, 12)
    assert all(c.text.startswith("|") and c.text.endswith("|") and len(c.text.split()) == 10 for c in chunks)


@pytest.mark.parametrize("opening", ["```\nNever closed. ", "Title\n~~~~~\n\nUnderlined. "])
def test_a_mark_that_opens_no_fence_is_text(opening: str) -> None:
    assert all(c.text.endswith(".") for c in cut(opening + "One two three. " * 30, 10))


def test_overlap_repeats_whole_sentences() -> None:
    text = "A b c. D e f. G h i. J k l. M n o."
    assert [c.text for c in cut(text, 9, 1)] == ["A b c. D e f. G h i.", "G h i. J k l. M n o."]


def test_overlap_gives_way_when_there_is_no_room() -> None:
    assert [c.text for c in cut("A b c. D e f g h.", 6, 3)] == ["A b c.", "D e f g h."]


def test_japanese_without_spaces_stays_under_the_limit_and_ends_at_stops() -> None:
    text = "この法律は公布の日から施行する。" * 200
    chunks = list(StructureChunker(ToyCharacters(), size=200).chunk(markdown(text)))
    assert all(len(c.text) <= 200 and c.text.endswith("。") for c in chunks)


def test_unknown_word_of_any_length_is_bounded_in_characters() -> None:
    assert [len(c.text) for c in cut("x" * 2_000, 10)] == [512, 512, 512, 464]


@pytest.mark.parametrize("overlap", [-1, True, 1.5])
def test_impossible_overlap_is_refused(overlap: int) -> None:
    with pytest.raises(ConfigError, match="overlap_sentences is"):
        StructureChunker(ToyWords(), size=9, overlap_sentences=overlap)


def test_the_text_before_the_first_heading_is_a_chunk() -> None:
    assert [(c.text, c.headings) for c in cut("Preface.\n\n# A\n\ntext", 9)] == [
        ("Preface.", ()),
        ("# A\n\ntext", ("A",)),
    ]
