"""TREC's formats: what is written is read back, and what is malformed is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import InputError
from pincite.evaluation.trec import falling, read_qrels, read_run, write_qrels, write_run

IDS = st.text(min_size=1, max_size=8).filter(
    lambda text: not any(c.isspace() for c in text) and text.isprintable() and text.encode("utf-8", "replace").decode()
)
SCORES = st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(IDS, st.lists(st.tuples(IDS, SCORES), min_size=1, max_size=5), max_size=4))
def test_a_run_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, run: dict[str, list[tuple[str, float]]]
) -> None:
    file = tmp_path_factory.mktemp("trec") / "deep" / "a.run"
    write_run(run, file)
    assert read_run(file) == run


@given(st.dictionaries(IDS, st.dictionaries(IDS, st.integers(-2, 9), min_size=1, max_size=5), max_size=4))
def test_judgements_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, qrels: dict[str, dict[str, int]]
) -> None:
    file = tmp_path_factory.mktemp("trec") / "a.qrels"
    write_qrels(qrels, file)
    assert read_qrels(file) == qrels


def test_the_lines_are_trecs(tmp_path: Path) -> None:
    file = tmp_path / "a.run"
    write_run({"q": [("b", 2.5), ("a", 0.1)]}, file, tag="mine")
    assert file.read_text() == "q Q0 b 1 2.5 mine\nq Q0 a 2 0.1 mine\n"
    write_qrels({"q": {"b": 1}}, file)
    assert file.read_text() == "q 0 b 1\n"


def test_ranks_give_the_order_whatever_the_lines_order(tmp_path: Path) -> None:
    file = tmp_path / "a.run"
    file.write_text("\ufeffq Q0 c 3 9 t\nq Q0 a 1 1 t\n\nq Q0 b 2 5 t\n", encoding="utf-8")
    assert [document for document, _ in read_run(file)["q"]] == ["a", "b", "c"]


@pytest.mark.parametrize("bad", ["two words", "", "tab\tbed", "no\u00a0break"])
def test_an_id_that_the_format_cannot_hold_is_refused(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "a.run"
    for run in ({bad: [("a", 1.0)]}, {"q": [("fine", 2.0), (bad, 1.0)]}):
        with pytest.raises(InputError, match="white space"):
            write_run(run, file)
    with pytest.raises(InputError, match="white space"):
        write_run({"q": [("a", 1.0)]}, file, tag=bad)
    with pytest.raises(InputError, match="white space"):
        write_qrels({"q": {bad: 1}}, file)
    assert not file.exists()  # nothing half written


def test_a_score_that_is_no_number_is_refused(tmp_path: Path) -> None:
    for score in (float("nan"), float("inf")):
        with pytest.raises(InputError, match="score of document a"):
            write_run({"q": [("a", score)]}, tmp_path / "a.run")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("q Q0 a 1 0.5", "line 2: expected qid Q0 docid rank score tag, got 5 fields"),
        ("q Q0 a 1 0.5 t more", "line 2: expected qid Q0 docid rank score tag, got 7 fields"),
        ("q Q0 a first 0.5 t", "line 2: the rank 'first'"),
        ("q Q0 a 1 high t", "line 2: the rank '1' should be a whole number, the score 'high' a number"),
        ("q Q0 a 1 nan t", "line 2: the score is nan"),
    ],
)
def test_a_malformed_run(tmp_path: Path, line: str, told: str) -> None:
    file = tmp_path / "a.run"
    file.write_text(f"q Q0 x 1 0.5 t\n{line}\n")
    with pytest.raises(InputError) as error:
        read_run(file)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("q 0 a", "line 2: expected qid 0 docid grade, got 3"),
        ("q 0 a good", "line 2: the grade 'good'"),
        ("q 0 x 1", "line 2: query q and document x are judged twice"),
    ],
)
def test_malformed_judgements(tmp_path: Path, line: str, told: str) -> None:
    file = tmp_path / "a.qrels"
    file.write_text(f"q 0 x 1\n{line}\n")
    with pytest.raises(InputError) as error:
        read_qrels(file)
    assert told in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_run(tmp_path / "nothing")
    (tmp_path / "bytes").write_bytes(b"\xff\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_qrels(tmp_path / "bytes")


def test_scores_fall_for_programs_that_sort_by_them() -> None:
    assert falling([("a", 3.0), ("b", 1.0)]) == [("a", 3.0), ("b", 1.0)]
    assert falling([("a", 1.0), ("b", 1.0), ("c", 5.0)]) == [("a", 3.0), ("b", 2.0), ("c", 1.0)]
    # Apart as doubles, one number as the float32 that some programs keep.
    assert falling([("a", 1.0 + 1e-12), ("b", 1.0)]) == [("a", 2.0), ("b", 1.0)]
    assert falling([]) == []
