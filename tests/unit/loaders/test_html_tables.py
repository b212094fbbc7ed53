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
         ["| Year | Month | Cost |", "|---|---|---|", "| 2025 | May | 1 |", "| 2025 | June | 2 |"]),
        (["<th colspan=2>Name<th>Age", "<td>Ada<td>King<td>36"],
         ["| Name | | Age |", "|---|---|---|", "| Ada | King | 36 |"]),
        (["<td>1<td rowspan=3>b", "<td>2", "<td>3", "<td>4<td>f"],
         ["| 1 | b |", "| 2 | b |", "| 3 | b |", "| 4 | f |"]),
        (["<td rowspan=2 colspan=2>1<td>7", "<td>3"], ["| 1 | | 7 |", "| 1 | | 3 |"]),
        (["<td rowspan=2>1", "", "<td>3<td>4"], ["| 1 | |", "| 3 | 4 |"]),
        (["<td rowspan=x>a<td rowspan=-1>b<td colspan=0>c<td>d"], ["| a | b | c | d |"]),
        (["<td rowspan=2>" + "1 word " * 40 + "<td>2", "<td>3"],
         ["| " + "1 word " * 40 + "| 2 |", "|---|---|", "| | 3 |"]),
    ],
)  # fmt: skip
def test_spans_keep_every_cell_below_its_name(rows: list[str], written: list[str]) -> None:
    table = "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"
    assert text(table).split("\n") == written


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ("<tr><th>A<th>B<tr><td>1<td>2", 1),
        ("<thead><tr><td>1<td>2</thead><tr><td>3<td>4", 1),
        ("<thead><tr><th colspan=2>Limits<tr><th>low<th>high</thead><tr><td>3<td>4", 2),
        ("<tr><th><td hidden>x<tr><th>A<th>B<tr><td>1<td>2", 1),  # a row that shows nothing is none
        ("<tr><th>Born<td>1950<tr><th>Died<td>2001", 0),  # names at the left
        ("<tr><th>A<th>B<tr><th>C<th>D", 1),
        ("<tr><td>Name<td>Age<tr><td>Ada<td>36", 1),
        ("<tr><td colspan=2>People<tr><td>Name<td>Age<tr><td>Ada<td>36", 2),
        ("<tr><td>4<td>2<tr><td>3<td>4", 0),
        ("<tr><td>menu<td>words", 0),
    ],
)
def test_a_header_is_what_the_page_says_or_what_reads_like_one(rows: str, header: int) -> None:
    lines = text(f"<table>{rows}</table>").split("\n")
    assert all(line.startswith("| ") and line.endswith(" |") for line in lines if line != "|---|---|")
    assert [i for i, line in enumerate(lines) if line == "|---|---|"] == ([header] if header else [])


def test_cells_hold_their_row_together() -> None:
    row = "<td>a | b<pre></pre><td>1<br>2<ul><li>x<li>y</ul>10<sup>2</sup><td><sup>3</sup>4"
    assert text(f"<table><tr><th>A<th>B<th>C<tr>{row.replace('<pre></pre>', '')}</table>end") == (
        "| A | B | C |\n|---|---|---|\n| a \\| b | 1 2 - x - y 10^2 | 34 |\n\nend"
    )
    assert text("a | b<table><tr><th>A<th>B<tr><td id=x><td rowspan=2>c|d<tr><td>1</table>") == (
        "a | b\n\n| A | B |\n|---|---|\n| | c\\|d |\n| 1 | c\\|d |"
    )


def test_a_row_is_one_line_inside_of_pre_too() -> None:
    assert text("<pre>a\nb<table><tr><th>A\nx</th>\n\n<th>B<tr><td>1<br>2<td>3</table>c\nd") == (
        "a\nb\n\n| A x | B |\n|---|---|\n| 1 2 | 3 |\n\nc\nd"
    )


def test_one_column_is_a_frame_and_a_table_around_blocks_arranges_them() -> None:
    assert text("<table><tr><td><p>One.<p>Two.<tr><td>Three.</table>") == "One.\n\nTwo.\n\nThree."
    assert text("<table role=presentation><tr><td>a<td>b</table>") == "a\nb"
    nested = "<table><tr><td>menu<td><table><tr><th>A<th>B<tr><td>1<td>2</table></table>"
    assert text(nested) == "menu\n\n| A | B |\n|---|---|\n| 1 | 2 |"


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


def test_a_menu_is_read_where_the_page_shows_nothing_but_links() -> None:
    menu = (
        "<ul><li><a href=/a>Guides</a><ul role=menu><li><a href=/b>Setup</a></li>"
        "<li>More on <a href=/c>tides</a></li></ul></li></ul>"
    )
    assert text(menu) == "- Guides\n  - Setup\n  - More on tides"
    assert text(f"{menu}<p>Words.</p>") == "- Guides\n\nWords."
    assert text(f"<nav>{menu}</nav><ul><li><a href=/>Home</a></ul>") == "- Home"


def test_lists_of_links_in_the_main_part_stay() -> None:
    links = "".join(f"<li><a href='/{i}'>Act {i}</a><ul><li><a href='/{i}/1'>Part 1</a></ul>" for i in range(2))
    page = f"<nav><ul><li><a href=/>Home</a></ul></nav><main><h1>Acts</h1><ul>{links}</ul></main>"
    assert text(page) == "Acts\n\n- Act 0\n  - Part 1\n- Act 1\n  - Part 1"
