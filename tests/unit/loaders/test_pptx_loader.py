from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pptx
import pytest
from loader_samples import package, source
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.pptx import PptxLoader
from pincite.types import Document

A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def load(data: bytes) -> Document:
    document = PptxLoader().load(source("talk.pptx", data))
    for heading in document.headings:
        assert heading.text == document.text[heading.start : heading.end]
    return document


def show(fill: Callable[[Any], None]) -> bytes:
    slides = pptx.Presentation()
    slides.core_properties.title = ""
    fill(slides)
    buffer = io.BytesIO()
    slides.save(buffer)
    return buffer.getvalue()


def add(slides: Any, title: str, *lines: str) -> Any:
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text = title
    slide.placeholders[1].text = "\n".join(lines)
    return slide


def by_hand(*slides: str, extra: dict[str, str | bytes] | None = None, relations: str = "") -> bytes:
    """A presentation whose slides hold these shapes."""
    head = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{R}"><p:sldIdLst>'
        + "".join(f'<p:sldId id="{256 + i}" r:id="rId{i}"/>' for i in range(len(slides)))
        + "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": head
        + "".join(
            f'<Relationship Id="rId{i}" Type="{R}/slide" Target="slides/slide{i}.xml"/>' for i in range(len(slides))
        )
        + "</Relationships>",
    }
    for i, shapes in enumerate(slides):
        parts[f"ppt/slides/slide{i}.xml"] = (
            f'<p:sld xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{R}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>'
        )
        parts[f"ppt/slides/_rels/slide{i}.xml.rels"] = f"{head}{relations}</Relationships>"
    return package({**parts, **(extra or {})})


def box(text: str, x: int = 0, y: int = 0, height: int = 100, properties: str = "") -> str:
    paragraphs = "".join(f"<a:p>{properties}<a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return (
        f'<p:sp><p:spPr><a:xfrm><a:off x="{x}" y="{y}"/><a:ext cx="100" cy="{height}"/></a:xfrm></p:spPr>'
        f"<p:txBody>{paragraphs}</p:txBody></p:sp>"
    )


def test_slides_are_pages_and_titles_are_headings() -> None:
    def fill(slides: Any) -> None:
        add(slides, "Scope", "First point", "Second point").notes_slide.notes_text_frame.text = "Say hello.\nSmile."
        slides.slides.add_slide(slides.slide_layouts[6])
        add(slides, "Rules", "Third point")

    document = load(show(fill))
    assert document.text == (
        "Scope\n\n- First point\n- Second point\n\nNotes: Say hello.\nSmile.\n\nRules\n\n- Third point"
    )
    assert [(h.level, h.text) for h in document.headings] == [(1, "Scope"), (1, "Rules")]
    assert [page.number for page in document.pages] == [1, 2, 3]
    assert document.text[document.pages[0].start : document.pages[0].end].endswith("Smile.")
    assert document.pages[1].start == document.pages[1].end
    assert document.text[document.pages[2].start : document.pages[2].end] == "Rules\n\n- Third point"
    assert document.title == "Scope"
    assert document.metadata["slides"] == 3
    assert document.warnings == ()


def test_the_order_of_the_show_is_that_of_the_list_not_of_the_parts() -> None:
    def fill(slides: Any) -> None:
        add(slides, "One", "a")
        add(slides, "Two", "b")
        listed = slides.slides._sldIdLst
        listed.insert(0, listed[1])

    assert [heading.text for heading in load(show(fill)).headings] == ["Two", "One"]


def test_hidden_slides_are_read_and_named() -> None:
    def fill(slides: Any) -> None:
        add(slides, "One", "a")
        add(slides, "Two", "b")._element.set("show", "0")

    document = load(show(fill))
    assert "Two" in document.text
    assert document.metadata["hidden_slides"] == "2"
    assert document.warnings == ("hidden slide read as the others: 2",)


def test_tables_and_charts_are_tables() -> None:
    def fill(slides: Any) -> None:
        slide = slides.slides.add_slide(slides.slide_layouts[5])
        slide.shapes.title.text = "Numbers"
        table = slide.shapes.add_table(2, 3, Inches(1), Inches(2), Inches(4), Inches(1)).table
        for i, text in enumerate(["Name", "Price", "", "rope", "3", "a | b"]):
            table.cell(i // 3, i % 3).text = text
        table.cell(0, 1).merge(table.cell(0, 2))
        data = CategoryChartData()
        data.categories = ["2019", "2020"]
        data.add_series("Ducks", (120, 130.5))
        place = (Inches(1), Inches(4), Inches(4), Inches(2))
        chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "Ducks by year"

    assert load(show(fill)).text == (
        "Numbers\n\n| Name | Price |  |\n|---|---|---|\n| rope | 3 | a \\| b |\n\n"
        "Ducks by year\n\n|  | Ducks |\n|---|---|\n| 2019 | 120 |\n| 2020 | 130.5 |"
    )


def test_shapes_are_read_from_top_to_bottom_and_left_to_right() -> None:
    shapes = box("four", 0, 900) + box("two", 500, 10) + box("one", 0, 20) + box("three", 0, 400)
    assert load(by_hand(shapes)).text == "one\n\ntwo\n\nthree\n\nfour"


def test_groups_are_where_they_are_drawn() -> None:
    frame = (
        '<p:grpSpPr><a:xfrm><a:off x="0" y="500"/><a:ext cx="100" cy="100"/>'
        '<a:chOff x="0" y="0"/><a:chExt cx="100" cy="100"/></a:xfrm></p:grpSpPr>'
    )
    inner = box("in the group", 0, 0) + box("below it", 0, 300)
    text = load(by_hand(f"<p:grpSp>{frame}{inner}</p:grpSp>" + box("above", 0, 200))).text
    assert text == "above\n\nin the group\n\nbelow it"


def test_numbers_of_lists_are_worked_out() -> None:
    number = '<a:pPr><a:buAutoNum type="alphaLcParenR"/></a:pPr>'
    assert load(by_hand(box("x\ny", properties=number))).text == "a) x\nb) y"
    assert load(by_hand(box("x\ny", properties='<a:pPr><a:buChar char="o"/></a:pPr>'))).text == "- x\n- y"


def test_an_alternative_is_read_once() -> None:
    content = box("told once")
    both = f"<mc:Choice>{content}</mc:Choice><mc:Fallback>{content}</mc:Fallback>"
    space = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    assert load(by_hand(f'<mc:AlternateContent xmlns:mc="{space}">{both}</mc:AlternateContent>')).text == "told once"


def test_comments_and_diagrams() -> None:
    comments = f'<p:cmLst xmlns:p="{P}"><p:cm authorId="1"><p:text>why?</p:text></p:cm></p:cmLst>'
    diagram = (
        f'<d:dataModel xmlns:d="d" xmlns:a="{A}"><d:ptLst><d:pt type="doc"/>'
        "<d:pt><d:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></d:t></d:pt>"
        '<d:pt type="pres"><d:t><a:p><a:r><a:t>no</a:t></a:r></a:p></d:t></d:pt></d:ptLst></d:dataModel>'
    )
    frame = (
        '<p:graphicFrame><a:graphic><a:graphicData><d:relIds xmlns:d="d" r:dm="rId8"/></a:graphicData></a:graphic>'
        "</p:graphicFrame>"
    )
    relations = (
        f'<Relationship Id="rId7" Type="{R}/comments" Target="../comments/c.xml"/>'
        f'<Relationship Id="rId8" Type="{R}/diagramData" Target="../diagrams/d.xml"/>'
    )
    data = by_hand(frame, relations=relations, extra={"ppt/comments/c.xml": comments, "ppt/diagrams/d.xml": diagram})
    assert load(data).text == "- Plan\n\nComment: why?"


def test_a_missing_slide_is_named_and_the_others_are_read() -> None:
    document = load(by_hand(box("one"), box("two"), extra={"ppt/slides/slide0.xml": "<p:sld"}))
    assert document.text == "two"
    assert [page.number for page in document.pages] == [1, 2]
    assert document.warnings == ("slide missing or damaged, left out: 1",)


def test_what_is_no_presentation_is_refused() -> None:
    with pytest.raises(NoTextError):
        load(show(lambda _: None))
    with pytest.raises(LoadError, match="no presentation"):
        load(package({"ppt/presentation.xml": "<other/>"}))
    with pytest.raises(EncryptedError):
        load(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(LoadError, match="old binary"):
        load(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))


def test_entities_are_not_expanded(tmp_path: Any) -> None:
    (tmp_path / "secret").write_text("secret")
    entity = f'<!DOCTYPE p [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
    slide = (
        f'{entity}<p:sld xmlns:p="{P}" xmlns:a="{A}"><p:cSld><p:spTree>{box("told &x;")}</p:spTree></p:cSld></p:sld>'
    )
    assert load(by_hand(box("one"), extra={"ppt/slides/slide0.xml": slide})).text == "told"


def test_deep_groups_and_truncations() -> None:
    deep = load(by_hand("<p:grpSp>" * 100 + box("deep") + "</p:grpSp>" * 100 + box("flat")))
    assert deep.text == "flat"
    data = by_hand(box("one"))
    for length in range(0, len(data), 37):
        with pytest.raises(LoadError):
            load(data[:length])


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pincite.loaders.office_package._LARGEST_PART", 1 << 20)
    with pytest.raises(LoadError, match="unpacks to more than 1 MB"):
        load(by_hand(box("x" * (2 << 20))))
