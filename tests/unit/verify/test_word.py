"""Comments in a Word document: where they stand, and that nothing else of it changes."""

from __future__ import annotations

import io
from typing import Any

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.errors import LoadError
from pincite.loaders.docx import DocxLoader
from pincite.protocols import Source
from pincite.verify.marks import SAID
from pincite.verify.records import Brief, Claim, Mark, MarkStatus, Place
from pincite.verify.word import to_docx

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def load(content: bytes) -> str:
    return DocxLoader().load(Source("/brief.docx", "brief.docx", data=content)).text


def saved(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def brief(text: str, words: list[str], status: MarkStatus = "wrong-year", note: str = "decided 1994") -> Brief:
    place = Place("0123456789abcdef", 1, 0, 3, "A v. B", "/a.txt")
    made = []
    for each in words:
        start = text.index(each)
        mark = Mark(start, start + len(each), "authority", status, note, place)
        made.append(Claim(start, mark.end, each, (), marks=(mark,)))
    return Brief("brief", text, tuple(made), ((0, 1),))


def commented(content: bytes) -> dict[str, str]:
    """What each comment says → the words that it is on; the first one is on the beginning."""
    document = docx.Document(io.BytesIO(content))
    said = {comment.comment_id: comment.text for comment in document.comments}
    found: dict[str, str] = {}
    open_ones: dict[int, str] = {}
    for element in document.element.body.iter():
        if element.tag == f"{W}commentRangeStart":
            open_ones[int(element.get(f"{W}id"))] = ""
        elif element.tag == f"{W}commentRangeEnd":
            number = int(element.get(f"{W}id"))
            found[said[number]] = open_ones.pop(number)
        elif element.tag == f"{W}t":
            open_ones = {number: words + (element.text or "") for number, words in open_ones.items()}
    assert not open_ones
    assert set(found) == set(said.values())
    return found


def formatted() -> Any:
    """A brief as people write it: runs of several kinds within one name, a table, a list."""
    document = docx.Document()
    document.add_heading("Submissions", 1)
    paragraph = document.add_paragraph("In ")
    paragraph.add_run("Ram Lal").italic = True
    paragraph.add_run(" v. ").bold = True
    paragraph.add_run("State (1983)").italic = True
    paragraph.add_run(" it was held that bail is the rule.")
    document.add_paragraph("See s. 302 IPC.", style="List Number")
    table = document.add_table(1, 2)
    table.rows[0].cells[0].text = "Article 21"
    table.rows[0].cells[1].text = "liberty"
    return document


def runs(content: bytes) -> list[tuple[str, bool | None, bool | None]]:
    """The characters with their formatting, however the runs are cut."""
    document = docx.Document(io.BytesIO(content))
    return [
        (character, run.italic, run.bold)
        for paragraph in document.paragraphs
        for run in paragraph.runs
        for character in run.text
    ]


def test_formatting_stays() -> None:
    original = saved(formatted())
    text = load(original)
    content, left = to_docx(brief(text, ["Ram Lal v. State (1983)", "s. 302 IPC", "Article 21"]), original)
    assert left == ()
    assert runs(content) == runs(original)
    assert load(content).startswith(text.split("\n\n")[0])
    assert len(docx.Document(io.BytesIO(content)).comments) == 4


def test_each_place_has_its_own_comment() -> None:
    original = saved(formatted())
    text = load(original)
    made = brief(text, ["Ram Lal v. State (1983)", "s. 302 IPC", "Article 21"])
    told = []
    for i, claim in enumerate(made.claims):
        (mark,) = claim.marks
        told.append(Claim(claim.start, claim.end, claim.text, (), marks=(Mark(*_with_note(mark, f"note {i}")),)))
    content, left = to_docx(Brief("brief", text, tuple(told), ((0, 1),)), original)
    assert left == ()
    by_note = {said.split("\n")[0]: words for said, words in commented(content).items()}
    assert by_note["✗ wrong year: note 0"] == "Ram Lal v. State (1983)"
    assert by_note["✗ wrong year: note 1"] == "s. 302 IPC"
    assert by_note["✗ wrong year: note 2"] == "Article 21"
    assert any(line.startswith("Checked by pincite") for line in by_note)


def _with_note(mark: Mark, note: str) -> tuple[Any, ...]:
    return (mark.start, mark.end, mark.what, mark.status, note, mark.place)


def test_what_takes_no_comment_is_told_at_the_beginning() -> None:
    original = saved(formatted())
    text = load(original) + "\n\n[^1]: A v. B, in a footnote"
    content, left = to_docx(brief(text, ["A v. B, in a footnote"]), original)
    assert [text[mark.start : mark.end] for mark in left] == ["A v. B, in a footnote"]
    (said,) = commented(content)
    assert "A v. B, in a footnote" in said


def test_of_another_file_a_document_is_made() -> None:
    text = "In A v. B it rained.\n\nC v. D\x00 held \ud800 so."
    content, left = to_docx(brief(text, ["A v. B", "C v. D"], "ok", note="a\x00b"))
    assert left == ()
    document = docx.Document(io.BytesIO(content))
    assert [paragraph.text for paragraph in document.paragraphs] == ["In A v. B it rained.", "C v. D� held � so."]
    assert "C v. D" in commented(content).values() or "A v. B" in commented(content).values()


def test_an_empty_text_and_one_without_marks() -> None:
    for text in ("", "It rained."):
        content, left = to_docx(Brief("brief", text, ()))
        assert left == ()
        (said,) = commented(content)
        assert "names no authority" in said


def test_what_is_no_word_document_is_refused() -> None:
    with pytest.raises(LoadError):
        to_docx(Brief("brief", "x", ()), b"PK nothing")


WORDS = st.text("ab cé\n", min_size=1, max_size=12).filter(str.strip)


@settings(max_examples=30)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=4), st.data())
def test_any_span_is_commented_in_full(paragraphs: list[list[str]], data: st.DataObject) -> None:
    document = docx.Document()
    for parts in paragraphs:
        paragraph = document.add_paragraph()
        for part in parts:
            paragraph.add_run(part.replace("\n", " "))
    original = saved(document)
    text = load(original)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    if not text[start:end].strip():
        return
    mark = Mark(start, end, "claim", "unsupported", "x")
    content, left = to_docx(Brief("brief", text, (Claim(start, end, text[start:end], (), marks=(mark,)),)), original)
    assert left == ()
    words = next(words for said, words in commented(content).items() if SAID["unsupported"] in said.split("\n")[0])
    assert "".join(words.split()) == "".join(text[start:end].split())
    assert "".join(c for c, _, _ in runs(content)) == "".join(c for c, _, _ in runs(original))
