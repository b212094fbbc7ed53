from __future__ import annotations

import pytest
from loader_samples import package, source

from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.opendocument import OpenDocumentLoader
from pincite.types import Document

SPACES = (
    " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
        for name, space in [
            *[(name, name) for name in ("office", "text", "table", "style", "presentation", "meta", "chart")],
            *[("draw", "drawing"), ("svg", "svg-compatible")],
        ]
    )
    + ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'
)


def load(data: bytes, name: str = "deed.odt") -> Document:
    document = OpenDocumentLoader().load(source(name, data))
    for heading in document.headings:
        assert heading.text == document.text[heading.start : heading.end]
    return document


def file(kind: str, body: str, *, styles: str = "", extra: dict[str, str | bytes] | None = None) -> bytes:
    return package(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content {SPACES}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}></office:body>"
            "</office:document-content>",
            "meta.xml": f"<office:document-meta {SPACES}><office:meta><dc:creator>Ada</dc:creator>"
            "<meta:creation-date>2024-05-01T10:00:00</meta:creation-date><meta:keyword>a</meta:keyword>"
            "<meta:keyword>b</meta:keyword></office:meta></office:document-meta>",
            **(extra or {}),
        }
    )


def text(body: str, styles: str = "") -> str:
    return load(file("text", body, styles=styles)).text


def p(words: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{words}</text:p>'


def h(words: str, level: int = 1) -> str:
    return f'<text:h text:outline-level="{level}">{words}</text:h>'


def items(*inner: str, style: str = "L") -> str:
    listed = "".join(f"<text:list-item>{each}</text:list-item>" for each in inner)
    return f'<text:list text:style-name="{style}">{listed}</text:list>'


def cell(words: str, more: str = "") -> str:
    return f"<table:table-cell {more}>{p(words) if words else ''}</table:table-cell>"


def table(*rows: str, name: str = "T", style: str = "") -> str:
    listed = "".join(
        row if row.startswith("<table:table-row") else f"<table:table-row>{row}</table:table-row>" for row in rows
    )
    return f'<table:table table:name="{name}" table:style-name="{style}">{listed}</table:table>'


def frame(inner: str, y: str, kind: str = "", x: str = "0cm") -> str:
    return (
        f'<draw:frame svg:x="{x}" svg:y="{y}" presentation:class="{kind}"><draw:text-box>{inner}</draw:text-box>'
        "</draw:frame>"
    )


NUMBERS = (
    '<text:list-style style:name="L">'
    '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
    '<text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")" text:start-value="3"/>'
    '</text:list-style><text:list-style style:name="B"><text:list-level-style-bullet text:level="1"/></text:list-style>'
    '<text:outline-style style:name="O"><text:outline-level-style text:level="1" style:num-format="I"/>'
    '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style>'
)


def test_headings_paragraphs_and_metadata() -> None:
    styles = '<style:style style:name="P1" style:parent-style-name="Title"/>'
    document = load(file("text", p("Deed", "P1") + h("Terms") + p("one") + h("Rent", 2) + p("two"), styles=styles))
    assert document.text == "Deed\n\nTerms\n\none\n\nRent\n\ntwo"
    assert [(x.level, x.text) for x in document.headings] == [(1, "Deed"), (1, "Terms"), (2, "Rent")]
    assert document.title == "Deed"
    assert document.metadata == {"author": "Ada", "keywords": "a, b", "created": "2024-05-01"}
    assert document.media_type == "application/vnd.oasis.opendocument.text"


def test_list_and_heading_numbers_are_worked_out() -> None:
    nested = items(p("one"), p("two") + items(p("a"), p("b")), p("three"))
    assert text(nested, NUMBERS) == "1. one\n2. two\n  c) a\n  d) b\n3. three"
    assert text(items(p("one"), style="B") + p("x") + items(p("two")), NUMBERS) == "- one\n\nx\n\n1. two"
    body = h("Scope") + h("Who", 2) + h("What", 2) + h("Rules") + h("When", 2)
    assert text(body, NUMBERS) == "I Scope\n\nI.1 Who\n\nI.2 What\n\nII Rules\n\nII.1 When"


def test_white_space_breaks_and_notes() -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>see it</text:p>"
        "</text:note-body></text:note>"
    )
    words = f'a  \n b<text:s text:c="2"/>c<text:tab/>d<text:line-break/><text:span>e{note}</text:span> f'
    assert text(p(words)) == "a b  c\td\ne[^1] f\n\n[^1]: see it"


def test_deleted_and_hidden_text_is_left_out_and_hidden_text_counted() -> None:
    styles = '<style:style style:name="H"><style:text-properties text:display="none"/></style:style>'
    changes = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p>"
        "</text:deletion></text:changed-region></text:tracked-changes>"
    )
    body = changes + p('shown <text:span text:style-name="H">not</text:span>') + p("neither", "H")
    body += '<text:section text:display="none"><text:p>nor this</text:p></text:section>'
    document = load(file("text", body, styles=styles))
    assert document.text == "shown"
    told = 'hidden text (marked as hidden), not read, 3 pieces: "not", "neither", "nor this"'
    assert document.warnings == (told,)


def test_tables_boxes_and_comments() -> None:
    comment = "<office:annotation><dc:creator>Eve</dc:creator><text:p>why?</text:p></office:annotation>"
    body = table(cell("Name") + cell("Price"), cell("rope" + comment) + cell("a | b"))
    body += p("with a box" + frame(p("in the box"), "1cm")) + table(cell("alone"), cell("in a frame"))
    assert text(body) == (
        "| Name | Price |\n|---|---|\n| rope | a \\| b |\n\nwith a box\n\nin the box\n\nalone\n\nin a frame\n\n"
        "Comment by Eve: why?"
    )


def test_slides_are_pages() -> None:
    styles = (
        '<style:style style:name="off"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    )
    notes = (
        '<presentation:notes><draw:frame presentation:class="notes"><draw:text-box>'
        "<text:p>say it</text:p></draw:text-box></draw:frame></presentation:notes>"
    )
    first = frame(p("below"), "9cm") + frame(p("above"), "3cm") + frame(p("Scope"), "5cm", "title") + notes
    second = frame(p("7"), "1cm", "page-number") + frame(p("Rules"), "1cm", "title") + frame(p("x"), "2cm")
    document = load(
        file(
            "presentation",
            f'<draw:page>{first}</draw:page><draw:page draw:style-name="off">{second}</draw:page>',
            styles=styles,
        )
    )
    assert document.text == "Scope\n\nabove\n\nbelow\n\nNotes: say it\n\nRules\n\nx"
    assert [heading.text for heading in document.headings] == ["Scope", "Rules"]
    assert [document.text[page.start : page.end][:5] for page in document.pages] == ["Scope", "Rules"]
    assert document.warnings == ("hidden slide read as the others: 2",)
    assert document.title == "Scope"


def test_the_data_of_a_chart_is_a_table() -> None:
    chart = (
        f"<office:document-content {SPACES}><office:body><office:chart><chart:chart>"
        f"<chart:title>{p('Ducks')}</chart:title>"
        f"{table(cell('') + cell('Lake'), cell('2019') + cell('120'))}</chart:chart></office:chart></office:body>"
        "</office:document-content>"
    )
    body = p('<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>')
    document = load(file("text", body, extra={"Object 1/content.xml": chart}))
    assert document.text == "Ducks\n\n|  | Lake |\n|---|---|\n| 2019 | 120 |"


def test_sheets_show_what_their_cells_show() -> None:
    styles = '<style:style style:name="off"><style:table-properties table:display="false"/></style:style>'
    value = 'office:value-type="percentage" office:value="0.455"'
    rows = (
        cell("Name") + cell("Share") + '<table:table-cell table:number-columns-repeated="16380"/>',
        cell("rope") + cell("45.5 %", value),
        '<table:table-row table:number-rows-repeated="2">'
        + cell("same", 'table:number-columns-repeated="2"')
        + "</table:table-row>",
        '<table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row>',
    )
    data = file("spreadsheet", table(*rows, name="Data") + table(cell("x"), name="Off", style="off"), styles=styles)
    document = load(data, "a.ods")
    assert document.text == (
        "Data\n\n| Name | Share |\n|---|---|\n| rope | 45.5 % |\n| same | same |\n| same | same |\n\nOff\n\nx"
    )
    assert [page.label for page in document.pages] == ["Data", "Off"]
    assert document.title == "a"
    assert document.warnings == ("hidden sheet read as the others: Off",)


def test_a_cell_repeated_without_end_is_refused() -> None:
    row = '<table:table-row table:number-rows-repeated="1048576">' + cell("x", 'table:number-columns-repeated="16384"')
    with pytest.raises(LoadError, match="20,000,000 cells"):
        load(file("spreadsheet", table(row + "</table:table-row>")), "a.ods")


def test_one_xml_file() -> None:
    flat = (
        f"<office:document {SPACES}><office:body><office:text>{h('Terms')}{p('one')}</office:text>"
        f"</office:body></office:document>"
    )
    assert load(flat.encode(), "a.fodt").text == "Terms\n\none"


def test_what_is_no_opendocument_file_is_refused() -> None:
    with pytest.raises(NoTextError):
        load(file("text", p("")))
    with pytest.raises(LoadError, match="no OpenDocument"):
        load(file("text", "").replace(b"content.xml", b"context.xml"))
    with pytest.raises(LoadError):
        load(b"<a><b></a>", "a.fodt")
    locked = "<manifest:manifest xmlns:manifest='m'><manifest:encryption-data/></manifest:manifest>"
    with pytest.raises(EncryptedError):
        load(file("text", p("x"), extra={"META-INF/manifest.xml": locked}))


def test_bombs_and_truncations(monkeypatch: pytest.MonkeyPatch) -> None:
    data = file("text", p("one"))
    for length in range(0, len(data), 29):
        with pytest.raises(LoadError):
            load(data[:length])
    entities = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    flat = (
        f"{entities}<office:document {SPACES}><office:body><office:text>{p('x &b;')}</office:text>"
        f"</office:body></office:document>"
    )
    assert load(flat.encode(), "a.fodt").text == "x"
    deep = "<text:section>" * 240 + p("deep") + "</text:section>" * 240
    assert text(deep) == "deep"
    with pytest.raises(LoadError):
        text("<text:span>" * 5000)
    monkeypatch.setattr("pincite.loaders.office_package._LARGEST_PART", 1 << 20)
    with pytest.raises(LoadError, match="unpacks to more than 1 MB"):
        text(p("x" * (2 << 20)))
