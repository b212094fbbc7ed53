from __future__ import annotations

import re

import pytest

from pincite.chunkers.window import WindowChunker
from pincite.errors import ConfigError
from pincite.types import Document, Page


class ToyCharacters:
    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, c in enumerate(text) if not c.isspace()]


class ToyWords:
    def spans(self, text: str) -> list[tuple[int, int]]:
        return [m.span() for m in re.finditer(r"\S+", text)]


class ToyUnread:
    """Must not be asked anything."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        raise AssertionError(text)


def document(text: str, pages: tuple[Page, ...] = ()) -> Document:
    return Document("d", text, "t", "u", "text/plain", "0", pages=pages)


def test_offsets_of_repeated_words_are_carried() -> None:
    chunks = list(WindowChunker(ToyWords(), size=1).chunk(document("tick tock tick tock tick")))
    assert [(c.start, c.text) for c in chunks] == [(0, "tick"), (5, "tock"), (10, "tick"), (15, "tock"), (20, "tick")]


def test_windows_by_hand() -> None:
    chunks = WindowChunker(ToyWords(), size=3, overlap=1).chunk(document(" a b c d e f "))
    assert [c.text for c in chunks] == ["a b c", "c d e", "e f"]


@pytest.mark.parametrize(("overlap", "windows"), [(0, 20), (50, 39), (99, 1_901)])
def test_overlap_up_to_one_less_than_size(overlap: int, windows: int) -> None:
    chunks = list(WindowChunker(ToyCharacters(), size=100, overlap=overlap).chunk(document("x" * 2_000)))
    assert len(chunks) == windows
    assert all(len(c.text) == 100 for c in chunks)


@pytest.mark.parametrize(
    ("size", "overlap"), [(100, 100), (100, 150), (100, -1), (100, True), (0, 0), (-130, 0), (1, 1)]
)
def test_impossible_settings_are_refused_before_any_text_is_read(size: int, overlap: int) -> None:
    with pytest.raises(ConfigError, match=r"overlap is|size is"):
        WindowChunker(ToyUnread(), size=size, overlap=overlap)


def test_cut_moves_back_to_the_cluster() -> None:
    family = "👨‍👩‍👧"  # five code points
    chunks = WindowChunker(ToyCharacters(), size=6).chunk(document("abcd" + family + "e"))
    assert [c.text for c in chunks] == ["abcd", family + "e"]


def test_cluster_over_the_limit_is_cut_between_code_points() -> None:
    chunks = list(WindowChunker(ToyCharacters(), size=4).chunk(document("q" + "\u0301" * 9)))
    assert [len(c.text) for c in chunks] == [4, 4, 2]


def test_characters_the_tokenizer_drops_are_covered() -> None:
    class ToyLetters:
        def spans(self, text: str) -> list[tuple[int, int]]:
            return [(i, i + 1) for i, c in enumerate(text) if c.isalpha()]

    chunks = list(WindowChunker(ToyLetters(), size=2).chunk(document("--a-b--c--")))
    assert [c.text for c in chunks] == ["--a-b--", "c--"]
    assert len(list(WindowChunker(ToyLetters(), size=2).chunk(document("-" * 2_000)))) == 4  # 512 characters each


def test_page_is_that_of_the_start() -> None:
    pages = (Page(1, 0, 4), Page(2, 4, 9))
    chunks = WindowChunker(ToyWords(), size=2).chunk(document("a b\nc d e", pages))
    assert [(c.text, c.page) for c in chunks] == [("a b", 1), ("c d", 2), ("e", 2)]
