from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.chunkers.parent_child import ParentChildChunker
from pincite.chunkers.structure import StructureChunker
from pincite.errors import ConfigError
from pincite.types import Chunk
from toys_text import ToyWords, text_document


def cut(text: str, size: int = 8, parent_size: int = 40) -> list[Chunk]:
    return list(ParentChildChunker(ToyWords(), size=size, parent_size=parent_size).chunk(text_document(text)))


TEXT = "# A\n\n" + "One two three four. " * 8 + "\n\n# B\n\n" + "Five six seven. " * 30 + "\n\n# C\n\nEnd."


def test_a_small_chunk_is_found_and_its_section_is_read() -> None:
    chunks = cut(TEXT)
    whole = [(c.start, c.end) for c in StructureChunker(ToyWords(), size=40).chunk(text_document(TEXT))]
    read = [chunk.parent or (chunk.start, chunk.end) for chunk in chunks]
    assert list(dict.fromkeys(read)) == whole
    assert TEXT[slice(*whole[0])].startswith("# A\n\nOne")
    assert "# B" not in TEXT[slice(*whole[0])]
    assert all(len(chunk.text.split()) <= 8 for chunk in chunks)
    assert chunks[-1].parent is None  # the section is the chunk itself


PARTS = [
    "# H\n\n",
    "## H two\n\n",
    "### H\n\n",
    "One two three. ",
    "Four five six seven eight.\n\n",
    "a\n",
    "| a |\n| b |\n",
]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join), st.integers(1, 12), st.integers(1, 30))
def test_parents_are_what_the_structure_chunker_cuts(text: str, size: int, more: int) -> None:
    chunks = cut(text, size, size + more)
    whole = {(c.start, c.end) for c in StructureChunker(ToyWords(), size=size + more).chunk(text_document(text))}
    assert {chunk.parent or (chunk.start, chunk.end) for chunk in chunks} == whole


@pytest.mark.parametrize(("size", "parent_size"), [(0, 9), (9, 9), (9, 8), (9, 0), (9, True), (True, 9)])
def test_impossible_settings_are_refused(size: int, parent_size: int) -> None:
    with pytest.raises(ConfigError, match=r"size is"):
        ParentChildChunker(ToyWords(), size=size, parent_size=parent_size)
