"""The page: everything escaped, nothing lost, nothing that runs or loads."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from pincite.verify.marks import SAID, marks
from pincite.verify.page import to_html
from pincite.verify.records import Brief, Claim, Mark, MarkStatus, Place

VOID = {"meta", "link", "br", "hr", "img"}


class Reader(HTMLParser):
    """Reads a page strictly: every element closed where it must be."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.text.append(("sup" if "sup" in self.open else self.open[-1], data))


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def brief(text: str, spans: list[tuple[int, int, MarkStatus]], name: str = "brief", note: str = "") -> Brief:
    place = Place("0123456789abcdef", 1, 0, 3, "Title <b>", "/a.txt", 2)
    made = [Mark(start, end, "authority", status, note, place, "") for start, end, status in spans]
    claims = tuple(Claim(m.start, m.end, text[m.start : m.end], (), marks=(m,)) for m in made)
    return Brief(name, text, claims, ((0, 1), (1, 2), (2, 3)))


def test_markup_in_a_text_stays_text() -> None:
    attack = '<script>alert(1)</script> & "quoted" \'</title><img src=x onerror=alert(1)>'
    page = to_html(brief(attack, [(0, 8, "ok")], name=attack, note=attack))
    reader = read(page)
    assert {tag for tag, _ in reader.tags}.isdisjoint({"script", "img", "iframe", "link", "object", "base"})
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)
    assert "".join(text for tag, text in reader.text if tag == "title").startswith(attack)


def test_the_page_lets_nothing_load() -> None:
    page = to_html(brief("A v. B", [(0, 6, "wrong-year")]))
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!#)", page)
    assert "url(" not in page
    assert "@import" not in page


def test_every_place_has_its_number_and_what_is_said_of_it() -> None:
    text = "One A v. B two.\n\nThree C v. D four."
    page = to_html(brief(text, [(4, 10, "not-found"), (23, 29, "wrong-year")], note="decided 1994"))
    reader = read(page)
    links = [attributes["href"] for tag, attributes in reader.tags if tag == "a"]
    targets = {attributes["id"] for tag, attributes in reader.tags if tag == "li" and "id" in attributes}
    assert links == ["#m1", "#m2"]
    assert targets == {"m1", "m2"}
    assert SAID["wrong-year"] in page
    assert "decided 1994" in page


def test_a_text_without_authorities_says_so() -> None:
    assert "names no authority" in to_html(Brief("x", "It rained.", (), ((0, 10),)))


STATUSES: list[MarkStatus] = list(SAID)


@st.composite
def briefs(draw: st.DrawFn) -> Brief:
    text = draw(st.text(st.sampled_from("ab <&\"'\n\u0000é\ud800"), min_size=1, max_size=80))
    spans = draw(
        st.lists(st.tuples(st.integers(0, len(text) - 1), st.integers(1, 30), st.sampled_from(STATUSES)), max_size=8)
    )
    return brief(text, [(start, min(start + length, len(text)), status) for start, length, status in spans])


@given(briefs())
def test_marks_that_cross_still_nest_and_no_word_is_lost(made: Brief) -> None:
    page = to_html(made)
    page.encode("utf-8")
    reader = read(page)
    shown = "".join(text for tag, text in reader.text if tag in ("p", "mark"))
    for word in re.findall("[abé]+", made.text):
        assert word in shown
    body = page[page.index('<div class="text">') : page.index("</div>")]
    plain = unescape(re.sub(r"<sup>.*?</sup>|<[^>]*>", "", body))
    assert re.findall("[abé]", plain) == re.findall("[abé]", made.text)
    numbers = [int(number) for number in re.findall(r'href="#m(\d+)"', page)]
    visible = [number for number, mark in enumerate(marks(made), start=1) if made.text[mark.start : mark.end].strip()]
    assert set(visible) <= set(numbers)
