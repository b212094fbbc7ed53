"""Tables of a page whose cells span rows and columns, and pages that are XML."""

from __future__ import annotations

import time

import pytest

from pincite.loaders.html import HtmlLoader
from pincite.protocols import Source


def text(body: str, name: str = "a.html") -> str:
    return HtmlLoader().load(Source(f"/{name}", name, body.encode())).text


@pytest.mark.parametrize(
    ("rows", "written"),
    [
        (["<th>Year<th>Month<th>Cost", "<td rowspan=2>2025<td>May<td>1", "<td>June<td>2"],
         ["Year | Month | Cost", "2025 | May | 1", "2025 | June | 2"]),
        (["<th colspan=2>Name<th>Age", "<td>Ada<td>King<td>36"], ["Name | | Age", "Ada | King | 36"]),
        (["<td>a<td rowspan=3>b", "<td>c", "<td>d", "<td>e<td>f"], ["a | b", "c | b", "d | b", "e | f"]),
        (["<td rowspan=2 colspan=2>a<td>b", "<td>c"], ["a | | b", "a | | c"]),
        (["<td rowspan=2>a", "", "<td>c<td>d"], ["a", "c | d"]),
        (["<td colspan=3>all", "<td>a<td>b<td>c"], ["all", "a | b | c"]),
        (["<td rowspan=x>a<td rowspan=-1>b<td colspan=0>c<td>d"], ["a | b | c | d"]),
        (["<td rowspan=2>" + "long " * 40 + "<td>b", "<td>c"], ["long " * 39 + "long | b", "| c"]),
    ],
)  # fmt: skip
def test_spans_keep_every_cell_below_its_name(rows: list[str], written: list[str]) -> None:
    table = "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"
    assert text(table).split("\n") == written


def test_spans_of_a_hostile_table_take_bounded_time_and_space() -> None:
    cells = "<td rowspan=60000 colspan=60000>" + "x" * 100
    start = time.monotonic()
    written = text("<table><tr>" + cells * 5000 + "<tr><td>y" * 20_000 + "</table>")
    assert len(written) < 10_000_000
    assert time.monotonic() - start < 30


def test_an_empty_element_of_xml_ends_where_it_begins() -> None:
    head = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x"/></head>'
    assert text(head + '<body><a id="x"/><p/>seen<br/>too<textarea/></body></html>', "a.xhtml") == "seen\ntoo"


def test_a_page_of_script_and_navigation_gives_its_main_text() -> None:
    menu = "<ul>" + "".join(f"<li><a href='/{i}'>Entry number {i}</a></li>" for i in range(300)) + "</ul>"
    script = "<script>" + "var a = '<p>no</p>';" * 2000 + "</script>"
    page = (
        f"<html><head><title>T</title>{script}<style>p {{}}</style></head><body><header>{menu}</header>"
        f"<nav>{menu}</nav>"
        f"<div role='navigation'>{menu}</div><main><h1>Notice</h1><p>The tenant gives notice.</p>{script}</main>"
        f"<aside>{menu}</aside><footer>{menu}</footer>{script}</body></html>"
    )
    assert text(page) == "Notice\n\nThe tenant gives notice."
