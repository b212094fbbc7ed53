from __future__ import annotations

import contextlib
import time

import pytest
from loader_samples import source

from pincite.chunkers.structure import StructureChunker
from pincite.errors import LoadError, NoTextError, UnsupportedFormatError
from pincite.loaders.delimited import DelimitedLoader
from pincite.types import Document
from toys_text import ToyWords


def load(data: bytes | str, name: str = "list.csv") -> Document:
    return DelimitedLoader().load(source(name, data))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_delimiter_gives_the_same_table(delimiter: str) -> None:
    rows = [["Name", "Size"], ["pool", "12"], ["queue", "7"]]
    document = load("\n".join(delimiter.join(row) for row in rows))
    assert document.text == "| Name | Size |\n|---|---|\n| pool | 12 |\n| queue | 7 |"
    assert document.media_type == "text/csv"
    assert document.metadata == {"rows": 2, "columns": 2}
    assert document.title == "list"
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("text", "first", "columns"),
    [
        ("a;b\n1,5;2,5\n1,5;3,5\n", "| a | b |", 2),  # decimal commas
        ('id;note\n1;"x; y | z"\n2;"x; y | z"\n', "| id | note |", 2),  # another mark in every remark
        ("when,what\n2024-01-02,a;b\n2024-01-03,c;d\n", "| when | what |", 2),
        ('"a,b",c\n"d,e",f\n', "| a,b | c |", 2),
        ("sep=;\na;b\n1;2\n", "| a | b |", 2),
    ],
)
def test_the_delimiter_is_the_one_that_parts_the_header_too(text: str, first: str, columns: int) -> None:
    document = load(text)
    assert document.text.split("\n")[0] == first
    assert document.metadata["columns"] == columns


def test_the_suffix_decides_where_both_would_do() -> None:
    assert load("a,b\tc\nd,e\tf\n", "x.tsv").text.startswith("| a,b | c |")
    assert load("a,b\tc\nd,e\tf\n", "x.tsv").media_type == "text/tab-separated-values"


def test_quoted_cells_keep_commas_quotes_and_pipes_and_lose_line_breaks() -> None:
    document = load('name,note\n"Lozano, Dr","said ""no""\nand | left"\nBerry,ok\n')
    assert document.text.split("\n")[2:] == ['| Lozano, Dr | said "no" and \\| left |', "| Berry | ok |"]


def test_rows_of_another_width_are_kept_and_counted() -> None:
    document = load("a,b,c\n1,2\n1,2,3,4\n1,2,3\n1,2,3\n1,2,3\n")
    assert document.text.split("\n")[2:5] == ["| 1 | 2 |  |", "| 1 | 2 | 3 | 4 |", "| 1 | 2 | 3 |"]
    assert document.warnings == ("1 row with too few cells", "1 row with too many cells")


def test_numbers_in_the_first_row_are_data_and_years_are_names() -> None:
    assert load("1,2.5\n2,3.5\n3,4.5\n").text == "| 1 | 2.5 |\n| 2 | 3.5 |\n| 3 | 4.5 |"
    assert load("Land,2019,2020\nFrance,7,8\nSpain,9,10\n").text.split("\n")[1] == "|---|---|---|"


def test_lines_above_the_table_stay_text() -> None:
    document = load("Report of May\n\nName,Size\npool,12\nqueue,7\n")
    assert document.text.startswith("Report of May\n| Name | Size |\n|---|---|\n")


def test_a_single_column_is_a_list_and_long_lines_are_prose() -> None:
    assert load("Industry\nSales\nHealth\nOther\n").text == "| Industry |\n|---|\n| Sales |\n| Health |\n| Other |"
    prose = "It rains. It pours.\nThe old man is snoring.\nHe went to bed.\n"
    assert load(prose).text == prose.strip()


def test_a_quote_that_is_never_closed_costs_nothing() -> None:
    text = "a,b\n" + '1,"open\n' + "2,x\n" * 500
    document = load(text)
    assert document.metadata["rows"] == 501
    assert document.warnings == ("quotes are not balanced: read without regard to them",)


def test_a_cell_may_hold_a_document() -> None:
    document = load('id,text\n1,"' + "words " * 40_000 + '"\n2,"' + "b\n" * 300 + '"\n3,c\n')
    assert document.metadata == {"rows": 3, "columns": 2}
    assert document.warnings == ()


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings(codec: str) -> None:
    text = "Straße;Größe\nGänsemarkt;für zwölf Gäste\nKönigsallee;schöne Aussicht über Düsseldorf\n"
    document = load(text.encode(codec))
    assert document.text.split("\n")[0] == "| Straße | Größe |"
    assert document.text.split("\n")[2] == "| Gänsemarkt | für zwölf Gäste |"


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(NoTextError):
        load(" \n,,\n")
    with pytest.raises(NoTextError):
        load("")
    with pytest.raises(UnsupportedFormatError):
        load(b"\x89PNG\r\n\x1a\n" + bytes(64))


def test_a_piece_of_a_long_table_comes_with_its_header() -> None:
    rows = "\n".join(f"parameter {i},module {i % 5},{i * 7}" for i in range(60))
    document = load("Parameter,Module,Default\n" + rows)
    chunks = list(StructureChunker(ToyWords(), size=60).chunk(document))
    (found,) = [chunk for chunk in chunks if "parameter 47 " in chunk.text]
    assert found.before == "| Parameter | Module | Default |\n|---|---|---|\n"
    assert "| parameter 47 | module 2 | 329 |" in found.text.split("\n")


def test_time_is_linear() -> None:
    text = "id;name;price\n" + "\n".join(f"{i};item {i};{i / 7:.2f}" for i in range(100_000))
    started = time.perf_counter()
    assert load(text).metadata["rows"] == 100_000
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize("text", ['"' * 50_000, "," * 100_000 + "x", "a\n" * 3 + '"\n' * 10_000, "|x" * 50_000])
def test_hostile_texts_end_soon(text: str) -> None:
    started = time.perf_counter()
    with contextlib.suppress(LoadError):
        load(text)
    assert time.perf_counter() - started < 5
