from __future__ import annotations

import pytest

from pincite.chunkers.sentences import SentenceChunker
from pincite.errors import ConfigError
from toys_text import ToyWords, text_document


def cut(text: str, size: int, overlap: int = 0) -> list[str]:
    chunker = SentenceChunker(ToyWords(), size=size, overlap_sentences=overlap)
    return [chunk.text for chunk in chunker.chunk(text_document(text))]


def test_sentences_are_packed_over_paragraphs_and_headings() -> None:
    text = "A b c.\n\n# H\n\nD e. F g h.\n\nI j."
    assert cut(text, 8) == ["A b c.\n\n# H\n\nD e.", "F g h.\n\nI j."]
    chunks = SentenceChunker(ToyWords(), size=8).chunk(text_document(text))
    assert all(chunk.headings == () for chunk in chunks)


def test_overlap_repeats_whole_sentences() -> None:
    text = "One a. Two a. Three a. Four a. Five a. Six a."
    assert cut(text, 6, 1) == ["One a. Two a. Three a.", "Three a. Four a. Five a.", "Five a. Six a."]
    assert cut(text, 8, 2) == ["One a. Two a. Three a. Four a.", "Three a. Four a. Five a. Six a."]


def test_repetitive_text_has_the_offsets_of_its_own_places() -> None:
    chunks = list(SentenceChunker(ToyWords(), size=1).chunk(text_document("tick tock tick tock tick")))
    assert [chunk.start for chunk in chunks] == [0, 5, 10, 15, 20]


@pytest.mark.parametrize(("size", "overlap"), [(10, 10), (10, 15), (10, -1), (10, True), (0, 0)])
def test_impossible_settings_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ConfigError, match=r"overlap_sentences is|size is"):
        SentenceChunker(ToyWords(), size=size, overlap_sentences=overlap)
