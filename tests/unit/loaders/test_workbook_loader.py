from __future__ import annotations

import contextlib
import datetime
import io
import re
import struct
import time
import zipfile
from collections.abc import Callable, Sequence

import openpyxl
import pytest
import xlwt
from loader_samples import package, source
from openpyxl.comments import Comment

from pincite.chunkers.structure import StructureChunker
from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.workbook import WorkbookLoader
from pincite.types import Document
from toys_text import ToyWords

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def load(data: bytes, name: str = "book.xlsx") -> Document:
    document = WorkbookLoader().load(source(name, data))
    for heading in document.headings:
        assert heading.text == document.text[heading.start : heading.end]
    return document


def workbook(fill: Callable[[openpyxl.Workbook], None]) -> bytes:
    book = openpyxl.Workbook()
    fill(book)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def sheet(*rows: Sequence[object], name: str = "Data") -> bytes:
    def fill(book: openpyxl.Workbook) -> None:
        book.active.title = name
        for row in rows:
            book.active.append(list(row))

    return workbook(fill)


def body(*rows: Sequence[object]) -> str:
    """The text of a sheet with these rows, its heading aside."""
    return load(sheet(*rows)).text.removeprefix("Data\n\n")


def changed(data: bytes, part: str, change: Callable[[str], str]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        return package(
            {name: change(parts.read(name).decode()) if name == part else parts.read(name) for name in parts.namelist()}
        )


def test_every_sheet_is_a_page_and_a_heading() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        book.properties.title = "Prices"
        book.properties.creator = "Ada"
        book.active.title = "North"
        book.active.append(["Item", "Price"])
        book.active.append(["rope", 3])
        south = book.create_sheet("South")
        south.append(["Item", "Price"])
        south.append(["sail", 40])
        south.sheet_state = "hidden"
        book.create_sheet("Empty")

    document = load(workbook(fill))
    assert document.text == (
        "North\n\n| Item | Price |\n|---|---|\n| rope | 3 |\n\nSouth\n\n| Item | Price |\n|---|---|\n| sail | 40 |"
    )
    assert [(h.level, h.text) for h in document.headings] == [(1, "North"), (1, "South")]
    assert [(p.number, p.label) for p in document.pages] == [(1, "North"), (2, "South"), (3, "Empty")]
    assert document.text[document.pages[1].start : document.pages[1].end].startswith("South\n\n| Item")
    assert document.title == "Prices"
    assert document.metadata["sheets"] == "North, South, Empty"
    assert document.metadata["hidden_sheets"] == "South"
    assert document.metadata["author"] == "Ada"
    assert document.warnings == (
        "sheet “Empty” holds no cells with text",
        "hidden sheet read as the others: “South”",
    )


def test_values_are_written_as_people_write_them() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        cells = book.active
        cells.title = "Data"
        cells.append(["what", "value"])
        for value in (
            1.0,
            0.1 + 0.2,
            -2.50,
            1e-7,
            datetime.date(2024, 5, 1),
            datetime.datetime(2024, 5, 1, 13, 30),
            datetime.time(8, 5),
            datetime.timedelta(hours=30, minutes=5),
            True,
            "a | b\nc",
        ):
            cells.append(["x", value])
        cells.append(["x", 0.455])
        cells.cell(cells.max_row, 2).number_format = "0.0%"

    values = [line.split(" | ", 1)[1].removesuffix(" |") for line in load(workbook(fill)).text.split("\n")[4:]]
    assert values == [
        *("1", "0.3", "-2.5", "0.0000001", "2024-05-01", "2024-05-01 13:30", "08:05", "30:05:00", "TRUE", "a \\| b c"),
        "45.5%",
    ]


def test_errors_stand_and_formulas_without_a_result_are_counted() -> None:
    data = sheet(["a", "b"], ["x", "#REF!"], ["y", "=1+1"])
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        assert b't="e"><v>#REF!</v>' in parts.read("xl/worksheets/sheet1.xml")
    document = load(data)
    assert "| x | #REF! |" in document.text
    assert document.warnings == ("sheet “Data”: 1 formula without a stored result",)
    computed = changed(
        data,
        "xl/worksheets/sheet1.xml",
        lambda xml: re.sub(r"<f>1\+1</f><v ?/>|<f>1\+1</f><v></v>", "<f>1+1</f><v>2</v>", xml),
    )
    assert "| y | 2 |" in load(computed).text
    assert load(computed).warnings == ()


def test_blank_rows_part_tables_and_title_lines_stay_above() -> None:
    text = body(["Ducks per year"], ["Year", "Ducks"], [2019, 120], [], [], ["Name", "Town"], ["Ada", "Rome"])
    assert text == (
        "Ducks per year\n| Year | Ducks |\n|---|---|\n| 2019 | 120 |\n\n| Name | Town |\n|---|---|\n| Ada | Rome |"
    )


def test_a_blank_row_inside_a_table_does_not_part_it() -> None:
    text = body(["Name", "Price"], [], ["rope", 3], [], ["sail", 40])
    assert text == "| Name | Price |\n|---|---|\n| rope | 3 |\n| sail | 40 |"


def test_blank_columns_are_spacing_unless_tables_lie_side_by_side() -> None:
    text = body(["Assets", None, 2023, None, 2024], ["Cash", None, 5, None, 6], ["Land", None, 7, None, 8])
    assert text == "| Assets | 2023 | 2024 |\n|---|---|---|\n| Cash | 5 | 6 |\n| Land | 7 | 8 |"
    text = body(["Name", "Price", None, None, "Town", "Code"], ["rope", 3, None, None, "Rome", "R"], ["sail", 4])
    assert text == "| Name | Price |\n|---|---|\n| rope | 3 |\n| sail | 4 |\n\n| Town | Code |\n|---|---|\n| Rome | R |"


def test_tables_that_touch_at_a_corner_are_two() -> None:
    text = body(["a", "b"], ["x", "y"], [None, None, "c", "d"], [None, None, "z", "w"])
    assert text == "| a | b |\n|---|---|\n| x | y |\n\n| c | d |\n|---|---|\n| z | w |"


def test_of_merged_cells_the_value_stands_once() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        for row in (["Region", "Sales", None], ["North", 1, 2], [None, 3, 4]):
            book.active.append(row)
        book.active.merge_cells("B1:C1")
        book.active.merge_cells("A2:A3")

    assert load(workbook(fill)).text.endswith("| Region | Sales |  |\n|---|---|---|\n| North | 1 | 2 |\n|  | 3 | 4 |")


def test_lines_of_text_are_paragraphs() -> None:
    assert body(["How to use this book."], ["Read every sheet."], ["Ask."]) == (
        "How to use this book.\n\nRead every sheet.\n\nAsk."
    )


def test_comments_follow_the_sheet() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        book.active.append(["a", "b"])
        book.active["B1"].comment = Comment("Eve:\nwhy b?", "Eve")

    assert load(workbook(fill)).text.endswith("| a | b |\n|---|---|\n\nComment on B1 by Eve: why b?")


def test_old_workbooks() -> None:
    book = xlwt.Workbook()
    cells = book.add_sheet("Old")
    for i, (name, value) in enumerate([("Name", "Price"), ("rope", 3.0), ("sail", 40.25)]):
        cells.write(i, 0, name)
        cells.write(i, 1, value)
    buffer = io.BytesIO()
    book.save(buffer)
    document = load(buffer.getvalue(), "old.xls")
    assert document.text == "Old\n\n| Name | Price |\n|---|---|\n| rope | 3 |\n| sail | 40.25 |"
    assert document.media_type == "application/vnd.ms-excel"
    for length in range(0, len(buffer.getvalue()), 97):
        with pytest.raises(LoadError):
            load(buffer.getvalue()[:length], "old.xls")


def record(kind: int, data: bytes = b"") -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    assert len(data) < 128
    return head + bytes([len(data)]) + data


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def binary_workbook(rows: Sequence[tuple[int, Sequence[tuple[int, str]]]]) -> bytes:
    cells = b""
    for row, columns in rows:
        cells += record(0, struct.pack("<IIHHBI", row, 0, 300, 0, 0, 0))
        for column, text in columns:
            cells += record(6, struct.pack("<II", column, 0) + wide(text))
    sheet_part = record(129) + record(148, bytes(16)) + record(145) + cells + record(146) + record(130)
    bundle = record(156, struct.pack("<II", 0, 1) + wide("rId1") + wide("Data"))
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
    relations = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
    return package(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations.format(
                f'<Relationship Id="rId1" Type="{relation}officeDocument" Target="xl/workbook.bin"/>'
            ),
            "xl/workbook.bin": record(131) + record(143) + bundle + record(144) + record(132),
            "xl/_rels/workbook.bin.rels": relations.format(
                f'<Relationship Id="rId1" Type="{relation}worksheet" Target="worksheets/sheet1.bin"/>'
            ),
            "xl/worksheets/sheet1.bin": sheet_part,
        }
    )


def test_binary_workbooks() -> None:
    document = load(binary_workbook([(0, [(0, "Name"), (1, "Town")]), (1, [(0, "Ada"), (1, "Rome")])]), "b.xlsb")
    assert document.text == "Data\n\n| Name | Town |\n|---|---|\n| Ada | Rome |"
    assert "binary" in document.media_type


def test_cells_far_apart_are_not_a_rectangle_in_memory() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        book.active["A1"] = "near"
        book.active["XFD1048576"] = "far"
        book.create_sheet("Good").append(["a", "b"])

    document = load(workbook(fill))
    assert document.text == "Good\n\n| a | b |\n|---|---|"
    assert "17,179,869,184" in document.warnings[0]
    with pytest.raises(NoTextError, match="spread"):
        load(binary_workbook([(0, [(0, "near")]), (1048575, [(16383, "far")])]), "b.xlsb")


def test_a_long_sheet_is_read_in_time_and_its_pieces_have_the_header() -> None:
    rows = "".join(
        f'<row r="{i}"><c r="A{i}"><v>{i}</v></c><c r="B{i}" t="inlineStr"><is><t>item {i}</t></is></c>'
        f'<c r="C{i}"><v>{i / 8}</v></c></row>'
        for i in range(2, 100_001)
    )
    data = changed(
        sheet(["Id", "Name", "Price"]),
        "xl/worksheets/sheet1.xml",
        lambda xml: xml.replace("</sheetData>", rows + "</sheetData>"),
    )
    started = time.perf_counter()
    document = load(data)
    assert time.perf_counter() - started < 15
    assert document.text.count("\n") == 100_002
    assert document.text.endswith("| 100000 | item 100000 | 12500 |")


def test_a_piece_of_a_table_comes_with_its_header() -> None:
    document = load(sheet(["Parameter", "Default"], *([f"parameter {i}", i] for i in range(60))))
    (found,) = [c for c in StructureChunker(ToyWords(), size=60).chunk(document) if "parameter 47 " in c.text]
    assert found.before == "| Parameter | Default |\n|---|---|\n"
    assert found.headings == ("Data",)


@pytest.mark.parametrize("name", ["a.xlsx", "a.xls"])
def test_protected_workbooks_are_encrypted(name: str) -> None:
    with pytest.raises(EncryptedError):
        load(OLE + bytes(600) + "EncryptedPackage".encode("utf-16-le"), name)


def test_what_is_no_workbook_is_refused() -> None:
    with pytest.raises(NoTextError):
        load(sheet())
    with pytest.raises(LoadError, match="save it as"):
        load(b"Name\tPrice\nrope\t3\n", "a.xls")
    with pytest.raises(LoadError):
        load(package({"xl/workbook.xml": "<workbook/>"}))
    with pytest.raises(LoadError):
        load(OLE + bytes(2000), "a.xls")


def test_every_truncation_and_many_changed_bytes() -> None:
    data = sheet(["a", "b"], [1, "#REF!"], ["x", 2])
    for length in range(0, len(data), 61):
        with pytest.raises(LoadError):
            load(data[:length])
    for at in range(0, len(data), 41):
        with contextlib.suppress(LoadError):
            load(data[:at] + b"\xff\x00\xff" + data[at + 3 :])


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pincite.loaders.office_package._LARGEST_SUM", 3 << 20)
    bomb = changed(sheet(["a"]), "xl/worksheets/sheet1.xml", lambda xml: xml + " " * (4 << 20))
    with pytest.raises(LoadError, match="unpacks to more than 3 MB"):
        load(bomb)


def test_stairs_and_boxes_within_boxes_end_soon() -> None:
    stairs = [[None] * (2 * i) + ["a", "b"] for i in range(60) for _ in range(2)]
    assert body(*stairs).count("|---|---|") == 60
    nested: list[list[object]] = [["x", "y"], ["z", "w"]]
    for _ in range(30):
        nested = [
            ["p", *([None] * (len(nested[0]) + 1))],
            [None] * (len(nested[0]) + 2),
            *([None, None, *row] for row in nested),
        ]
    assert body(*nested).count("p") == 30


def test_bytes_that_only_begin_cells_cost_linear_time() -> None:
    data = changed(sheet(["a"]), "xl/worksheets/sheet1.xml", lambda xml: xml.replace("</sheetData>", "<c " * 700_000))
    started = time.perf_counter()
    with pytest.raises(LoadError):
        load(data)
    assert time.perf_counter() - started < 10
