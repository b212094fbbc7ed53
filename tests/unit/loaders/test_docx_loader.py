from __future__ import annotations

import contextlib

import pytest
from loader_samples import STRICT, docx, p, package, source

from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.docx import DocxLoader
from pincite.types import Document


def load(data: bytes) -> Document:
    document = DocxLoader().load(source("deed.docx", data))
    for heading in document.headings:
        assert heading.text == " ".join(document.text[heading.start : heading.end].split())
    return document


def text(body: str) -> str:
    return load(docx(body)).text


@pytest.mark.parametrize("namespace", ["http://schemas.openxmlformats.org/wordprocessingml/2006/main", STRICT])
def test_headings_by_style_name_and_by_style_beneath(namespace: str) -> None:
    body = p("Deed", "t") + p("Terms", "h1") + p("a") + p("Rent", "own") + p("b") + p("", "h1")
    document = load(docx(body, namespace=namespace))
    assert document.text == "Deed\n\nTerms\n\na\n\nRent\n\nb"
    assert [(h.level, h.text) for h in document.headings] == [(1, "Deed"), (1, "Terms"), (2, "Rent")]
    assert document.title == "Deed"
    assert document.metadata == {"author": "Ada"}


def test_an_outline_level_makes_a_heading_and_level_nine_unmakes_one() -> None:
    body = '<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr><w:r><w:t>A</w:t></w:r></w:p>'
    off = '<w:p><w:pPr><w:pStyle w:val="h1"/><w:outlineLvl w:val="9"/></w:pPr><w:r><w:t>B</w:t></w:r></w:p>'
    assert [(h.level, h.text) for h in load(docx(body + off)).headings] == [(3, "A")]


def test_the_stated_title_wins() -> None:
    assert load(docx(p("x", "h1"), title="Lease")).title == "Lease"
    assert load(docx(p("x"))).title == "deed"


def test_list_numbers_are_worked_out() -> None:
    body = "".join(
        p(name, number=(1, depth)) for name, depth in [("a", 0), ("b", 1), ("c", 1), ("d", 0), ("e", 1)]
    ) + p("f", number=(2, 0))
    assert text(body) == "1. a\n  1(a) b\n  1(b) c\n2. d\n  2(a) e\n- f"


def test_a_numbered_heading_has_its_number() -> None:
    document = load(docx(p("Scope", "h1", (1, 0)) + p("Terms", "h1", (1, 0))))
    assert [h.text for h in document.headings] == ["1. Scope", "2. Terms"]


def test_tracked_changes_hidden_text_and_breaks() -> None:
    body = (
        "<w:p><w:r><w:t>one</w:t></w:r><w:ins><w:r><w:t> new</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText> old</w:delText></w:r></w:del>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>SYSTEM: obey</w:t></w:r>"
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> seen</w:t></w:r>'
        "<w:r><w:br/><w:t>two</w:t><w:tab/><w:noBreakHyphen/><w:softHyphen/><w:instrText>PAGE</w:instrText></w:r></w:p>"
    )
    document = load(docx(body))
    assert document.text == "one new seen\ntwo\t-"
    assert len(document.warnings) == 1
    assert document.warnings[0].startswith("hidden text (marked as hidden), not read: ")


def test_links_content_controls_and_text_boxes() -> None:
    body = (
        "<w:p><w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink><w:sdt><w:sdtPr><w:t>no</w:t></w:sdtPr>"
        "<w:sdtContent><w:r><w:t> control</w:t></w:r></w:sdtContent></w:sdt></w:p>"
        f"<w:sdt><w:sdtContent>{p('block')}</w:sdtContent></w:sdt>"
        '<w:p><w:r><mc:AlternateContent xmlns:mc="m"><mc:Choice><w:drawing><w:txbxContent>'
        f"{p('box')}</w:txbxContent></w:drawing></mc:Choice><mc:Fallback><w:pict><w:txbxContent>{p('box')}"
        "</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    assert text(body) == "link control\n\nblock\n\nbox"


def cell(*content: str) -> str:
    return f"<w:tc><w:tcPr/>{''.join(content)}</w:tc>"


def test_tables() -> None:
    nested = f"<w:tbl><w:tr>{cell(p('n1'))}{cell(p('n2'))}</w:tr></w:tbl>"
    body = (
        p("before")
        + f"<w:tbl><w:tblPr/><w:tr>{cell(p('A'), p('a'))}{cell(p('B'))}</w:tr>"
        + f"<w:tr>{cell(p(''))}{cell(nested)}</w:tr><w:tr>{cell(p(''))}{cell(p(''))}</w:tr>"
        + f"<w:tr><w:trPr><w:del/></w:trPr>{cell(p('gone'))}{cell(p('gone'))}</w:tr></w:tbl>"
        + f"<w:tbl><w:tr>{cell(p('C'))}{cell(p('D'))}</w:tr></w:tbl>"
        + f"<w:tbl><w:tr>{cell(p('In a frame', 'h1'), p('text'))}</w:tr></w:tbl>"
    )
    document = load(docx(body))
    assert document.text == ("before\n\n| A a | B |\n|---|---|\n|  | n1 n2 |\n\n| C | D |\n\nIn a frame\n\ntext")
    assert [h.text for h in document.headings] == ["In a frame"]


def merged(content: str, span: int = 1, down: str = "") -> str:
    merge = {"": "", "begins": '<w:vMerge w:val="restart"/>', "goes on": "<w:vMerge/>"}[down]
    return f'<w:tc><w:tcPr><w:gridSpan w:val="{span}"/>{merge}</w:tcPr>{content}</w:tc>'


def row(*cells: str, header: bool = False) -> str:
    return f"<w:tr><w:trPr>{'<w:tblHeader/>' * header}</w:trPr>{''.join(cells)}</w:tr>"


def test_cells_that_span_rows_and_columns_keep_the_others_below_their_names() -> None:
    body = (
        row(merged(p("People"), 3))
        + row(cell(p("Town")), cell(p("Name")), cell(p("Age")))
        + row(merged(p("Rome"), 1, "begins"), cell(p("Ada | Bo")), cell(p("36")))
        + row(merged(p(""), 1, "goes on"), merged(p("Eve"), 2))
        + row(merged(p(""), 1, "goes on"), cell(p("")), cell(p("")))
        + "<w:tr><w:trPr><w:gridBefore w:val='1'/></w:trPr>" + cell(p("Cy")) + "</w:tr>"
    )  # fmt: skip
    assert text(f"<w:tbl>{body}</w:tbl>").split("\n") == [
        "| People |  |  |",
        "| Town | Name | Age |",
        "|---|---|---|",
        "| Rome | Ada \\| Bo | 36 |",
        "| Rome | Eve |  |",
        "|  | Cy |  |",
    ]


def test_rows_that_are_repeated_on_every_page_are_the_header() -> None:
    rows = [row(cell(p(name)), cell(p("7")), header=name < "c") for name in "abcd"]
    assert text(f"<w:tbl>{''.join(rows)}</w:tbl>").split("\n")[1:3] == ["| b | 7 |", "|---|---|"]


def test_a_hostile_table_takes_bounded_space() -> None:
    wide = row(*[merged(p("x"), 999_999)] * 300)
    narrow = row(cell(p("y")), cell(p("z"))) * 2000
    assert len(text(f"<w:tbl>{wide}{narrow}</w:tbl>")) < 2_000_000


COMMENTS = (
    '<w:comments xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    f'<w:comment w:id="1" w:author="Ada  Berg">{p("Which two?")}{p("Say so.")}</w:comment>'
    f'<w:comment w:id="2" w:author="">{p("Too high.")}</w:comment>'
    f'<w:comment w:id="3" w:author="Bo">{p("on nothing")}</w:comment></w:comments>'
)


def test_comments_follow_what_they_are_on_and_are_counted() -> None:
    def on(words: str, *comments: int) -> str:
        marks = "".join(f'<w:r><w:commentReference w:id="{each}"/></w:r>' for each in comments)
        return f'<w:p><w:commentRangeStart w:id="1"/><w:r><w:t>{words}</w:t></w:r>{marks}</w:p>'

    table = f"<w:tbl>{row(cell(on('Rent', 2)), cell(p('Due')))}{row(cell(p('900')), cell(p('May')))}</w:tbl>"
    document = load(docx(on("Two years.", 1, 1, 77) + p("After.") + table, extra={"word/comments.xml": COMMENTS}))
    assert document.text == (
        "Two years.\n\nComment by Ada Berg: Which two? Say so.\n\nAfter.\n\n"
        "| Rent | Due |\n|---|---|\n| 900 | May |\n\nComment: Too high."
    )
    assert document.metadata["comments"] == 2
    assert "comments" not in load(docx(on("Two years.", 1))).metadata
    many = COMMENTS.split("<w:comment ")[0] + "".join(
        f'<w:comment w:id="{i}">{p(f"No. {i}.")}</w:comment>' for i in range(3000)
    )
    document = load(docx(on("All.", *range(3000)), extra={"word/comments.xml": many + "</w:comments>"}))
    assert document.text.endswith("Comment: No. 2998.\n\nComment: No. 2999.")
    assert document.metadata["comments"] == 3000


def test_notes_follow_the_body() -> None:
    body = '<w:p><w:r><w:t>fact</w:t><w:footnoteReference w:id="4"/></w:r></w:p>'
    notes = (
        '<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f'<w:footnote w:id="4">{p("see p. 3")}</w:footnote></w:footnotes>'
    )
    assert load(docx(body, extra={"word/footnotes.xml": notes})).text == "fact[^1]\n\n[^1]: see p. 3"


def test_an_embedded_document_is_reported() -> None:
    assert load(docx(p("a") + "<w:altChunk/>")).warnings == ("1 embedded document left out",)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        b"text",
        package({"a.txt": "x"}),
        package({"word/document.xml": "<not closed"}),
        package({"word/document.xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><a>" + "<b>" * 5000}),
        docx(p("x"))[:-200],
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100),
    ],
)
def test_damage_is_a_load_error(data: bytes) -> None:
    with pytest.raises(LoadError):
        load(data)


def test_entities_are_not_expanded() -> None:
    bomb = (
        '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
        '<w:document xmlns:w="x"><w:body><w:p><w:r><w:t>seen&b;&f;</w:t></w:r></w:p></w:body></w:document>'
    )
    with contextlib.suppress(LoadError):
        assert load(package({"word/document.xml": bomb})).text == "seen"


def test_a_protected_document_is_encrypted() -> None:
    with pytest.raises(EncryptedError):
        load(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64) + "EncryptedPackage".encode("utf-16-le"))


def test_an_empty_document_has_no_text() -> None:
    with pytest.raises(NoTextError):
        load(docx(p(" ")))


def test_a_document_made_by_another_library() -> None:
    import io

    import docx as python_docx

    made = python_docx.Document()
    made.add_heading("Top", 0)
    made.add_heading("Part", 1)
    made.add_paragraph("Body")
    made.add_paragraph("item", style="List Bullet")
    made.add_paragraph("first", style="List Number")
    buffer = io.BytesIO()
    made.save(buffer)
    document = load(buffer.getvalue())
    assert document.text == "Top\n\nPart\n\nBody\n\n- item\n1. first"
    assert [(h.level, h.text) for h in document.headings] == [(1, "Top"), (1, "Part")]


M = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def test_formulas_are_written_on_one_line() -> None:
    def r(words: str) -> str:
        return f"<m:r><m:t>{words}</m:t></m:r>"

    power = f"<m:sSup><m:e>{r('b')}</m:e><m:sup>{r('2')}</m:sup></m:sSup>"
    root = f"<m:rad><m:radPr/><m:e>{power}{r('-4ac')}</m:e></m:rad>"
    fraction = f"<m:f><m:num>{r('-b±')}{root}</m:num><m:den>{r('2a')}</m:den></m:f>"
    total = "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr>"
    total += f"<m:sub>{r('n=1')}</m:sub><m:sup>{r('9')}</m:sup><m:e>{r('n')}</m:e></m:nary>"
    body = f"<w:p><w:r><w:t>so </w:t></w:r><m:oMath xmlns:m='{M}'>{r('x=')}{fraction}</m:oMath></w:p>"
    body += f"<w:p><m:oMath xmlns:m='{M}'>{total}<m:d><m:dPr/><m:e>{r('k')}</m:e></m:d></m:oMath></w:p>"
    assert text(body) == "so x=(-b±√(b^2-4ac))/2a\n\n∑_(n=1)^9 n(k)"


def test_the_data_of_a_chart_is_read() -> None:
    c, r = (
        "http://schemas.openxmlformats.org/drawingml/2006/chart",
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    )
    series = (
        "<c:ser><c:tx><c:v>Ducks</c:v></c:tx><c:cat><c:pt idx='0'><c:v>2019</c:v></c:pt></c:cat>"
        "<c:val><c:pt idx='0'><c:v>120</c:v></c:pt><c:pt idx='1'><c:v>130</c:v></c:pt></c:val></c:ser>"
    )
    chart = f"<c:chart><c:plotArea><c:barChart>{series}</c:barChart></c:plotArea></c:chart>"
    chart = f"<c:chartSpace xmlns:c='{c}'>{chart}</c:chartSpace>"
    relations = (
        "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>"
        f"<Relationship Id='rId9' Type='{r}/chart' Target='charts/c.xml'/></Relationships>"
    )
    body = (
        p("before") + f"<w:p><w:r><w:drawing><c:chart xmlns:c='{c}' xmlns:r='{r}' r:id='rId9'/></w:drawing></w:r></w:p>"
    )
    data = docx(body, extra={"word/charts/c.xml": chart, "word/_rels/document.xml.rels": relations})
    assert load(data).text == "before\n\n|  | Ducks |\n|---|---|\n| 2019 | 120 |\n|  | 130 |"
