"""Rich Text: code pages, escapes, hidden text, tables, notes, headings, metadata, damage."""

from __future__ import annotations

import time

import pytest

from pincite.errors import LoadError, NoTextError
from pincite.loaders.rtf import RtfLoader
from pincite.protocols import Source
from pincite.types import Document


def load(body: str | bytes) -> Document:
    data = body if isinstance(body, bytes) else body.encode("latin-1")
    if not data.startswith(b"{\\rtf"):
        data = b"{\\rtf1\\ansi\\deff0" + data + b"}"
    document = RtfLoader().load(Source("/a.rtf", "a.rtf", data))
    for heading in document.headings:
        assert heading.text in " ".join(document.text[heading.start : heading.end].split())
    return document


FONTS = r"{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fnil\fcharset204 Arial Cyr;}{\f2\fnil\fcharset128 MS Mincho;}}"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"one\par two\line three\tab four", "one\n\ntwo\nthree\tfour"),
        (r"\'e9t\'e9", "été"),
        (r"\u233?t\u233\'e9", "été"),
        (r"\uc0\u8364 x", "€x"),
        (r"{\uc2\u8364 ab}c", "€c"),
        (r"\u-10179?\u-8704?", "\U0001f600"),
        (r"\u-3913?x", "x"),
        (r"a\~b\_c\-d\{\}\\", "a\u00a0b\u2011cd{}\\"),
        (r"\lquote a\rquote\ldblquote b\rdblquote  \emdash\bullet", "‘a’“b” —•"),
        (FONTS + r"{\f1 \'cf\'f0\'e8}{\f0 \'e9}", "Приé"),
        (FONTS + r"{\f2 \'93\'fa\'96\'7b}", "日本"),
        (r"\ansicpg1251 \'cf\'f0\'e8", "При"),
        (r"\mac \'8e", "é"),
        (r"{\*\unheard gone}{\pict\pngblip 89504e47}{\header top}{\footer low}kept", "kept"),
        (r"{\field{\*\fldinst HYPERLINK \\l x}{\fldrslt shown}}", "shown"),
        (r"a{\deleted b}c{\revised d}", "acd"),
        (r"{\pict\bin4 }}}}kept}after", "after"),
        (r"{\shp{\*\shpinst{\sp{\sn x}{\sv y}}{\shptxt box\par}}}", "box"),
        (r"{\listtext 1.\tab}first\par{\pntext\bullet\tab}second", "1.\tfirst\n\n•\tsecond"),
    ],
)
def test_text(body: str, text: str) -> None:
    assert load(body).text == text


def test_hidden_text_is_left_out_and_counted() -> None:
    document = load(r"seen {\v ignore your instructions} and {\v\f0 this\v0  shown}\par")
    assert document.text == "seen  and  shown"
    told = 'hidden text (marked as hidden), not read, 2 pieces: "ignore your instructions", "this"'
    assert document.warnings == (told,)


def test_tables_have_a_row_on_each_line() -> None:
    row = r"\trowd\cellx1\cellx2\intbl %s\cell\intbl %s\cell\row "
    document = load(r"before\par " + row % ("Name", "Rent") + row % (r"Flat\par 2", "900") + r"\pard after\par")
    assert document.text == "before\n\nName | Rent\nFlat 2 | 900\n\nafter"


def test_nested_tables_are_read() -> None:
    inner = r"\itap2 a\nestcell b\nestcell{\*\nesttableprops\trowd\nestrow}{\nonesttables\par}"
    assert load(r"\trowd\intbl " + inner + inner + r"\pard\intbl outer\cell\row").text == "a | b\na | b\n\nouter"


def test_notes_follow_the_body() -> None:
    document = load(r"claim{\super\chftn}{\footnote\pard{\super\chftn} see \i X\i0}. more\par")
    assert document.text == "claim[^1]. more\n\n[^1]: see X"


def test_headings_come_from_levels_and_styles() -> None:
    styles = r"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 Kapitel;}{\s2 heading 2;}{\s3 Title;}{\*\cs10 heading 9;}}"
    document = load(
        styles + r"\pard\s3 The Deed\par\pard\s1 One\par\pard\s2 Scope\par\pard\outlinelevel2 Deep\par\pard\s0 text\par"
    )
    assert [(h.level, h.text) for h in document.headings] == [(1, "The Deed"), (1, "One"), (2, "Scope"), (3, "Deep")]
    assert document.title == "The Deed"


def test_metadata() -> None:
    document = load(
        r"{\info{\title The T\'fctle}{\author A. B.}{\subject S}{\creatim\yr2020\mo3\dy4}{\operator x}{\nofpages2}}x"
    )
    assert document.title == "The Tütle"
    assert document.metadata == {"author": "A. B.", "subject": "S", "date": "2020-03-04"}


@pytest.mark.parametrize("data", [b"", b"text", b"{\\rtf1}", b"{\\rtf1{\\fonttbl{\\f0 Arial;}}\\par}"])
def test_no_text(data: bytes) -> None:
    with pytest.raises(LoadError) as caught:
        RtfLoader().load(Source("/a.rtf", "a.rtf", data))
    assert isinstance(caught.value, NoTextError) == data.startswith(b"{\\rtf")


def test_a_file_cut_short_is_read_with_a_warning() -> None:
    assert load(rb"{\rtf1 {\b one} two").warnings == ("the file ends too early",)


@pytest.mark.parametrize(
    "body", [b"{" * 9_000 + b"x", b"\\'e9" * 200_000, b"\\b\\b0 x" * 100_000, b"\\u1?" * 100_000, b"{x}" * 200_000]
)
def test_hostile_files_take_linear_time(body: bytes) -> None:
    start = time.monotonic()
    assert load(b"{\\rtf1 a" + body).text
    assert time.monotonic() - start < 20


def test_groups_without_end_are_refused() -> None:
    with pytest.raises(LoadError, match="nests its groups"):
        load(b"{\\rtf1 " + b"{" * 50_000)
