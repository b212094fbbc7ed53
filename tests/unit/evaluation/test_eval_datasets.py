"""Sets in the BEIR layout: what is read, what is told, what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from eval_helpers import DOCUMENTS, QRELS, QUERIES, make_set

from pincite.errors import InputError
from pincite.evaluation.datasets import LabelledSpan, find_datasets, load_dataset


def test_a_set_is_read_as_it_is(tmp_path: Path) -> None:
    dataset = load_dataset(make_set(tmp_path / "tiny"))
    assert dataset.name == "tiny"
    assert dict(dataset.queries) == {row["_id"]: row["text"] for row in QUERIES if row["_id"] in QRELS}
    assert dataset.qrels == QRELS
    assert [each.id for each in dataset.documents()] == [row["_id"] for row in DOCUMENTS]
    assert dataset.spans["q1"] == (LabelledSpan("d1", 0, 20),)
    assert dataset.notes == ()
    assert len(list(dataset.documents())) == len(list(dataset.documents()))  # read again each time


@pytest.mark.parametrize("packed", [False, True])
def test_packed_and_with_a_byte_order_mark(tmp_path: Path, packed: bool) -> None:
    folder = make_set(tmp_path / "tiny")
    for stem in ("corpus", "queries"):
        data = b"\xef\xbb\xbf" + (folder / f"{stem}.jsonl").read_bytes()
        (folder / f"{stem}.jsonl").unlink()
        if packed:
            (folder / f"{stem}.jsonl.gz").write_bytes(gzip.compress(data))
        else:
            (folder / f"{stem}.jsonl").write_bytes(data)
    qrels = folder / "qrels" / "test.tsv"
    qrels.write_bytes(b"\xef\xbb\xbf" + qrels.read_bytes().replace(b"\n", b"\r\n"))
    dataset = load_dataset(folder)
    assert dataset.qrels == QRELS
    assert next(each.id for each in dataset.documents()) == "d1"


def test_odd_judgements_are_counted(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "tiny")
    (folder / "qrels" / "odd.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td1\t2\nq1\td2\t-1\nq1\td3\t0\nlost\td1\t1\ngone\td1\t1\n"
    )
    dataset = load_dataset(folder, "odd")
    assert dataset.qrels == {"q1": {"d1": 2, "d2": -1, "d3": 0}}
    assert any("1 pair judged twice" in note for note in dataset.notes)
    assert any("1 grade below 0" in note for note in dataset.notes)
    assert any("2 judged queries without a text left out, 'gone' the first" in note for note in dataset.notes)


def test_a_qrels_file_without_a_header_keeps_its_first_line(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "tiny")
    (folder / "qrels" / "bare.tsv").write_text("q1\td1\t1\nq2\td2\t1\n")
    assert load_dataset(folder, "bare").qrels == {"q1": {"d1": 1}, "q2": {"d2": 1}}


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("qrels/test.tsv", "q1\td1\n", "line 1: expected query"),
        ("qrels/test.tsv", "q\td\tscore\nq1\td1\tyes\n", "line 2: expected query"),
        ("qrels/test.tsv", "q1\td1\t0.5\n", "line 1: expected query"),
        ("qrels/test.tsv", "q1\t\t1\n", "line 1: the query's or the document's id is empty"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", "holds no judgements"),
        ("qrels/test.tsv", "nobody\td1\t1\n", "none of the 1 queries"),
        ("qrels/test.tsv", b"\xff\xfe\x00", "is not UTF-8"),
        ("queries.jsonl", '{"_id": "q1", "text": "a"}\n{"_id": "q1", "text": "b"}\n', "line 2: query 'q1' comes twice"),
        ("queries.jsonl", '{"_id": "q1"}\n', "line 1: text should be text, got None"),
        ("queries.jsonl", '{"_id": 1, "text": "a"}\n', "line 1: _id should be text, got 1"),
        ("queries.jsonl", '{"_id": "q1", "text": "a"\n', "line 1: not JSON"),
        ("queries.jsonl", "\n[1]\n", "line 2: expected an object"),
        ("queries.jsonl", '{"_id": "q1", "text": "a", "metadata": 3}\n',
         "line 1: metadata should be an object"),
        ("queries.jsonl", '{"_id": "q1", "text": "a", "metadata": {"spans": [{"document": "d1"}]}}\n', "a span needs"),
        ("queries.jsonl",
         '{"_id": "q1", "text": "a", "metadata": {"spans": [{"document": "d1", "start": 3, "end": 3}]}}\n',
         "0 <= start < end"),
        ("queries.jsonl",
         '{"_id": "q1", "text": "a", "metadata": {"spans": [{"document": "d1", "start": 1.5, "end": 3}]}}\n',
         "0 <= start < end"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_told_with_its_line(tmp_path: Path, file: str, text: str | bytes, told: str) -> None:
    folder = make_set(tmp_path / "tiny")
    (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as error:
        load_dataset(folder)
    assert told in str(error.value)
    assert Path(file).name in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"_id": "d1", "text": "a"}\n\n{"_id": "d1", "text": "b"}\n', "line 3: document 'd1' comes twice"),
        ('{"_id": "", "text": "a"}\n', "line 1: _id is empty"),
        ('{"_id": "d1", "text": "a", "title": 4}\n', "line 1: title should be text"),
        ('{"_id": "d1", "text": "a", "metadata": "x"}\n', "line 1: metadata should be an object"),
    ],
)
def test_a_malformed_corpus_is_told_when_it_is_read(tmp_path: Path, text: str, told: str) -> None:
    folder = make_set(tmp_path / "tiny")
    (folder / "corpus.jsonl").write_text(text)
    dataset = load_dataset(folder)
    with pytest.raises(InputError, match=r"corpus\.jsonl") as error:
        list(dataset.documents())
    assert told in str(error.value)


def test_a_line_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "tiny")
    row = {"_id": "d1", "text": "one\u2028two\x85three", "title": None}
    (folder / "corpus.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    (document,) = load_dataset(folder).documents()
    assert document.text == "one\u2028two\x85three"
    assert document.title == ""


def test_a_packed_file_that_was_cut_off(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "tiny")
    data = gzip.compress((folder / "corpus.jsonl").read_bytes())
    (folder / "corpus.jsonl").unlink()
    for broken in (data[: len(data) // 2], b"not gzip at all", data[:-8] + b"12345678"):
        (folder / "corpus.jsonl.gz").write_bytes(broken)
        with pytest.raises(InputError, match="cannot be read"):
            list(load_dataset(folder).documents())


def test_splits_that_there_are_are_named(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "tiny")
    with pytest.raises(InputError, match="there are the splits test"):
        load_dataset(folder, "dev")
    with pytest.raises(InputError, match="not a set in the BEIR layout"):
        load_dataset(tmp_path, "test")
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(InputError, match=r"neither corpus\.jsonl nor corpus\.jsonl\.gz"):
        list(load_dataset(folder).documents())


def test_a_folder_of_sets(tmp_path: Path) -> None:
    one, two = make_set(tmp_path / "b"), make_set(tmp_path / "a")
    (tmp_path / "notes").mkdir()
    (tmp_path / "README.md").write_text("x")
    assert find_datasets(tmp_path) == [two, one]
    assert find_datasets(one) == [one]
    with pytest.raises(InputError, match="holds none"):
        find_datasets(tmp_path / "notes")
    with pytest.raises(InputError, match="no folder"):
        find_datasets(tmp_path / "nowhere")
