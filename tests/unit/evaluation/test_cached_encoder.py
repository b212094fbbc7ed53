"""Vectors that are kept: what is encoded again, what is not, and what happens to a damaged file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pincite.encoders import cached
from pincite.encoders.cached import FILE_NAME, CachedEncoder
from pincite.errors import BackendError, StoreError
from toys import ToyEncoder

if TYPE_CHECKING:
    from pincite.protocols import Matrix


class Counting(ToyEncoder):
    """Remembers what it was asked to encode, and fails after so many texts."""

    def __init__(self, *, fail_after: int | None = None, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]
        self.seen: list[str] = []
        self.fail_after = fail_after

    def _encode(self, texts: Sequence[str]) -> Matrix:
        if self.fail_after is not None and len(self.seen) + len(texts) > self.fail_after:
            raise KeyboardInterrupt
        self.seen += texts
        return super()._encode(texts)


def test_what_is_kept_is_not_encoded_again(tmp_path: Path) -> None:
    first = CachedEncoder(Counting(), tmp_path)
    vectors = first.encode_passages(["a", "b", "a", ""])
    first.close()
    inner = Counting()
    again = CachedEncoder(inner, tmp_path)
    assert (again.encode_passages(["a", "b", "a", ""]) == vectors).all()
    assert inner.seen == []
    assert (again.encode_passages(["b", "new", "a"])[[0, 2]] == vectors[[1, 0]]).all()
    assert inner.seen == ["new"]
    again.close()
    again.close()
    assert (again.encode_passages(["a"]) == vectors[:1]).all()  # opened again
    again.close()


def test_a_text_that_comes_twice_is_encoded_once(tmp_path: Path) -> None:
    inner = Counting()
    vectors = CachedEncoder(inner, tmp_path).encode_passages(["same"] * 5)
    assert inner.seen == ["same"]
    assert (vectors == vectors[0]).all()


def test_queries_and_passages_are_apart(tmp_path: Path) -> None:
    inner = Counting(query_prefix="query: ")
    encoder = CachedEncoder(inner, tmp_path)
    query, passage = encoder.encode_queries(["rent"])[0], encoder.encode_passages(["rent"])[0]
    assert not np.allclose(query, passage)
    assert len(inner.seen) == 2
    assert (encoder.encode_queries(["rent"])[0] == query).all()


@pytest.mark.parametrize(
    "other",
    [
        {"name": "b"},
        {"revision": "toy-2"},
        {"dimension": 8},
        {"max_tokens": 7},
        {"query_prefix": "q"},
        {"passage_prefix": "p"},
    ],
)
def test_another_encoder_has_its_own_vectors(tmp_path: Path, other: dict[str, object]) -> None:
    CachedEncoder(Counting(), tmp_path).encode_passages(["rent is due"])
    inner = Counting(**other)
    vectors = CachedEncoder(inner, tmp_path).encode_passages(["rent is due"])
    assert len(inner.seen) == 1
    assert (vectors == ToyEncoder(**other).encode_passages(["rent is due"])).all()  # type: ignore[arg-type]


def test_an_interruption_loses_no_more_than_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "_BATCH", 4)
    texts = [f"text {n}" for n in range(10)]
    with pytest.raises(KeyboardInterrupt):
        CachedEncoder(Counting(fail_after=9), tmp_path).encode_passages(texts)
    inner = Counting()
    vectors = CachedEncoder(inner, tmp_path).encode_passages(texts)
    assert len(inner.seen) == 2  # two batches of four were kept
    assert (vectors == ToyEncoder().encode_passages(texts)).all()


def test_more_texts_than_one_statement_takes(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(2100)]
    encoder = CachedEncoder(Counting(), tmp_path)
    vectors = encoder.encode_passages(texts)
    assert (encoder.encode_passages(texts[::-1])[::-1] == vectors).all()
    assert len(encoder.encoder.seen) == 2100  # type: ignore[attr-defined]


def test_a_query_keeps_the_time_that_it_took_alone(tmp_path: Path) -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, tmp_path)
    together = encoder.encode_queries(["one", "two"])
    vector, seconds = encoder.timed_query("one")
    assert (vector == together[0]).all()
    assert seconds > 0
    assert inner.seen == ["one", "two", "one", "one"]  # once to warm up, once to be timed
    assert encoder.timed_query("one")[1] == seconds
    _, other = encoder.timed_query("three")
    assert inner.seen[4:] == ["three"]
    encoder.close()
    later = Counting()
    again = CachedEncoder(later, tmp_path)
    assert again.timed_query("three")[1] == other
    assert (again.encode_queries(["one"])[0] == vector).all()
    assert later.seen == []


@pytest.mark.parametrize(
    "content", [b"this is no database at all, it is some text" * 50, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_damaged_file_says_delete_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(StoreError, match="delete it") as error:
        CachedEncoder(ToyEncoder(), tmp_path).encode_passages(["a"])
    assert str(tmp_path / FILE_NAME) in str(error.value)


def test_a_vector_of_the_wrong_length_is_damage(tmp_path: Path) -> None:
    encoder = CachedEncoder(ToyEncoder(), tmp_path)
    encoder.encode_passages(["a"])
    encoder.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("UPDATE vectors SET vector = x'0000'")
    connection.close()
    with pytest.raises(StoreError, match="2 bytes where 64 were expected"):
        encoder.encode_passages(["a"])


def test_a_file_of_another_format_is_not_read(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match=r"format 99, expected 1\): delete the file"):
        CachedEncoder(ToyEncoder(), tmp_path).encode_queries(["a"])


def test_tables_of_another_layout_are_not_read_whatever_their_number(tmp_path: Path) -> None:
    CachedEncoder(ToyEncoder(), tmp_path).encode_queries(["a"])
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("ALTER TABLE vectors DROP COLUMN seconds")
    connection.close()
    with pytest.raises(StoreError, match=r"its tables are other ones\): delete the file"):
        CachedEncoder(ToyEncoder(), tmp_path).encode_queries(["a"])


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("CREATE TABLE photographs (name TEXT)")
    connection.close()
    before = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(StoreError, match="of another program"):
        CachedEncoder(ToyEncoder(), tmp_path).encode_queries(["a"])
    assert (tmp_path / FILE_NAME).read_bytes() == before


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be kept"):
        CachedEncoder(ToyEncoder(), tmp_path / "file").encode_queries(["a"])


def test_an_encoder_that_lies_about_its_shape(tmp_path: Path) -> None:
    class Liar(ToyEncoder):
        def _encode(self, texts: Sequence[str]) -> Matrix:
            return super()._encode(texts)[:, :3]

    encoder = CachedEncoder(Liar(), tmp_path)
    for encode in (encoder.encode_passages, encoder.encode_queries, lambda texts: encoder.timed_query(texts[0])):
        with pytest.raises(BackendError, match="shape"):
            encode(["a"])


def test_many_threads_share_one(tmp_path: Path) -> None:
    encoder = CachedEncoder(ToyEncoder(), tmp_path)
    texts = [[f"text {n % 7} of {t % 3}" for n in range(20)] for t in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for found, some in zip(pool.map(encoder.encode_passages, texts), texts, strict=True):
            assert (found == ToyEncoder().encode_passages(some)).all()


def test_several_processes_share_one_folder(tmp_path: Path) -> None:
    """All begin at once on a folder that is not there."""
    program = textwrap.dedent("""
        import sys
        from pathlib import Path
        from pincite.encoders.cached import CachedEncoder
        from toys import ToyEncoder
        encoder = CachedEncoder(ToyEncoder(), Path(sys.argv[1]))
        for n in range(60):
            encoder.encode_passages([f"text {n}", f"text {n} of {sys.argv[2]}"])
    """)
    folder = tmp_path / "shared"
    path = str(Path(__file__).resolve().parents[2])
    started = [
        subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r})\n{program}", str(folder), str(number)],
            stderr=subprocess.PIPE,
        )
        for number in range(4)
    ]
    for each in started:
        _, errors = each.communicate(timeout=120)
        assert each.returncode == 0, errors.decode()
    inner = Counting()
    texts = [f"text {n}" for n in range(60)] + [f"text {n} of {number}" for n in range(60) for number in range(4)]
    vectors = CachedEncoder(inner, folder).encode_passages(texts)
    assert inner.seen == []
    assert (vectors == ToyEncoder().encode_passages(texts)).all()


def test_no_model_is_loaded_while_nothing_is_missing(tmp_path: Path) -> None:
    from pincite.encoders.minilm import minilm

    first = minilm(threads=1)
    CachedEncoder(first, tmp_path).encode_queries(["rent"])
    assert first._session is not None
    second = minilm(threads=1)
    CachedEncoder(second, tmp_path).encode_queries(["rent"])
    assert second._session is None
