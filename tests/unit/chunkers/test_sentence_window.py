from __future__ import annotations

import pytest

from pincite.chunkers.sentence_window import SentenceWindowChunker
from pincite.errors import ConfigError
from pincite.types import Chunk
from toys_text import ToyWords, text_document

LONG = [f"Sentence number {i} has quite enough words to be found all by itself." for i in range(9)]


def cut(text: str, window: int = 2, size: int = 40) -> list[Chunk]:
    return list(SentenceWindowChunker(ToyWords(), size=size, window=window).chunk(text_document(text)))


def test_one_sentence_is_found_and_its_neighbours_are_read() -> None:
    text = " ".join(LONG)
    chunks = cut(text)
    assert [chunk.text for chunk in chunks] == LONG
    read = [text[slice(*chunk.parent)] for chunk in chunks if chunk.parent]
    assert read[0] == " ".join(LONG[:3])
    assert read[4] == " ".join(LONG[2:7])
    assert read[8] == " ".join(LONG[6:])


def test_the_window_stays_within_the_section() -> None:
    text = "# A\n\n" + " ".join(LONG[:3]) + "\n\n## B\n\n" + " ".join(LONG[3:6]) + "\n\n# C\n\n" + " ".join(LONG[6:])
    chunks = cut(text, window=5)
    read = [text[slice(*chunk.parent)] for chunk in chunks if chunk.parent]
    assert len(read) == 9
    assert set(read) == {
        "# A\n\n" + " ".join(LONG[:3]),
        "## B\n\n" + " ".join(LONG[3:6]),
        "# C\n\n" + " ".join(LONG[6:]),
    }
    assert [chunk.headings for chunk in chunks] == [("A",)] * 3 + [("A", "B")] * 3 + [("C",)] * 3
    assert chunks[0].text == "# A\n\n" + LONG[0]


def test_no_chunk_is_a_mere_no() -> None:
    text = f"May it be returned? No. {LONG[0]} {LONG[1]} Never."
    chunks = cut(text)
    assert [chunk.text for chunk in chunks] == [f"May it be returned? No. {LONG[0]}", f"{LONG[1]} Never."]
    assert [chunk.text for chunk in cut("No.")] == ["No."]
    assert cut("No.")[0].parent is None


def test_a_sentence_over_the_size_is_cut_and_its_pieces_are_read_together() -> None:
    text = "word " * 60 + "end."
    chunks = cut(text, window=1)
    assert len(chunks) == 2
    assert {chunk.parent for chunk in chunks} == {(0, len(text))}


@pytest.mark.parametrize(("size", "window"), [(0, 2), (40, 0), (40, -1), (40, True)])
def test_impossible_settings_are_refused(size: int, window: int) -> None:
    with pytest.raises(ConfigError, match=r"window is|size is"):
        SentenceWindowChunker(ToyWords(), size=size, window=window)
