"""A checked text as a Word document with a comment at every place.

A Word document keeps its formatting: runs are split where a comment begins or ends, and nothing else of it changes. Of
any other text a new document is made. Comments cannot stand in footnotes, nor in other comments: what is said of places
there is told in the comment at the beginning.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from pincite.errors import LoadError
from pincite.verify.marks import SAID, counts, marks, said
from pincite.verify.records import Brief, Mark
from pincite.verify.reports import reference, shortened, sign

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

__all__ = ["to_docx"]

_AUTHOR, _INITIALS = "pincite", "pc"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
#: What XML cannot hold.
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
#: What may differ between a document and its text as it was read: white space and what is invisible.
_PASSED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
#: Characters from which on a paragraph says for certain where in the text it stands.
_CERTAIN = 12
_LONGEST = 500


def to_docx(brief: Brief, original: bytes | None = None) -> tuple[bytes, tuple[Mark, ...]]:
    """The bytes of the document, and the marks for which there was no place in it.

    `original` is the Word document that the text was read from, None for any other file. Raises LoadError for one that
    cannot be written to: of the ISO "strict" variant, or damaged.
    """
    import docx

    found = marks(brief)
    if original is None:
        document = docx.Document()
        paragraphs = _write(document, brief)
    else:
        document = _open(original)
        paragraphs = [p for p in document.element.body.iter(f"{_W}p") if not _inside(p, "txbxContent")]
    placed = _Placing(document, _UNSAFE.sub("\ufffd", brief.text), paragraphs)
    left = [mark for mark in found if not placed.comment(mark, _told(mark))]
    _first(document, paragraphs, _opening(brief, found, left))
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue(), tuple(left)


def _open(original: bytes) -> WordDocument:
    from zipfile import BadZipFile

    import docx
    from docx.opc.exceptions import OpcError
    from lxml.etree import LxmlError

    try:
        return docx.Document(io.BytesIO(original))
    except (OpcError, BadZipFile, LxmlError, KeyError, ValueError, AttributeError) as error:
        raise LoadError(f"this Word document cannot be written to: {type(error).__name__}: {error}") from error


def _write(document: WordDocument, brief: Brief) -> list[Any]:
    """The text as paragraphs of a new document."""
    made = []
    position = 0
    for end, following in [*((m.start(), m.end()) for m in _PARAGRAPH.finditer(brief.text)), (len(brief.text), 0)]:
        part = brief.text[position:end]
        if part.strip():
            paragraph = document.add_paragraph(_UNSAFE.sub("\ufffd", part))
            made.append(paragraph._p)
        position = following
    return made


class _Placing:
    """Where in a document the characters of a text stand."""

    def __init__(self, document: WordDocument, text: str, paragraphs: Sequence[Any]) -> None:
        self._document = document
        #: Of the text without white space: each character's place in the text.
        self._at = [i for i, character in enumerate(text) if _counts(character)]
        bare = "".join(text[i] for i in self._at)
        self._starts: list[int] = []  # into `bare`, ascending
        self._paragraphs: list[tuple[Any, int]] = []  # with its length
        cursor = 0
        found = []
        for paragraph in paragraphs:
            own = "".join(character for _, _, character in _characters(paragraph))
            if not own:
                continue
            start = bare.find(own, cursor, cursor + len(own) + 200)
            if start < 0 and len(own) >= _CERTAIN:
                start = bare.find(own, cursor)
                start = bare.find(own) if start < 0 else start
            if start < 0:
                continue
            if len(own) >= _CERTAIN or start <= cursor + 200:
                cursor = max(cursor, start + len(own))
            found.append((start, len(own), paragraph))
        taken = 0
        for start, length, paragraph in sorted(found, key=lambda each: each[0]):
            if start >= taken:
                self._starts.append(start)
                self._paragraphs.append((paragraph, length))
                taken = start + length

    def comment(self, mark: Mark, said: str) -> bool:
        """Put a comment at a mark. False where its characters are not in the document."""
        from docx.text.run import Run

        start, end = bisect_left(self._at, mark.start), bisect_left(self._at, mark.end)
        first = last = None
        for begins, (paragraph, length) in self._overlapping(start, end):
            left, right = max(start - begins, 0), min(end - begins, length)
            runs = _cut(paragraph, left, right)
            if runs is None:
                continue
            first = first if first is not None else runs[0]
            last = runs[1]
        if first is None or last is None:
            return False
        parent = self._document._body
        self._document.add_comment(
            [Run(first, parent), Run(last, parent)], text=said, author=_AUTHOR, initials=_INITIALS
        )
        return True

    def _overlapping(self, start: int, end: int) -> Iterator[tuple[int, tuple[Any, int]]]:
        i = max(bisect_left(self._starts, start + 1) - 1, 0)
        while i < len(self._starts) and self._starts[i] < end:
            if self._starts[i] + self._paragraphs[i][1] > start:
                yield self._starts[i], self._paragraphs[i]
            i += 1


def _counts(character: str) -> bool:
    return not character.isspace() and character not in _PASSED


def _characters(paragraph: Any) -> Iterator[tuple[Any, int, str]]:
    """The characters of a paragraph that count: element of text, offset in it, character."""
    for element in paragraph.iter(f"{_W}t"):
        if _nearest(element, "p") is not paragraph:
            continue
        for i, character in enumerate(element.text or ""):
            if _counts(character):
                yield element, i, character


def _nearest(element: Any, name: str) -> Any:
    found = element.getparent()
    while found is not None and found.tag != f"{_W}{name}":
        found = found.getparent()
    return found


def _inside(element: Any, name: str) -> bool:
    return _nearest(element, name) is not None


def _cut(paragraph: Any, left: int, right: int) -> tuple[Any, Any] | None:
    """The first and the last run of the characters from `left` to `right`, split off where they begin and end."""
    characters = list(_characters(paragraph))
    if not 0 <= left < right <= len(characters):
        return None
    # From the end: what is split off behind leaves the places before it as they are.
    last_element, offset, _ = characters[right - 1]
    _split(last_element, offset + 1)
    first_element, offset, _ = characters[left]
    same = first_element is last_element
    after = _split(first_element, offset)
    first = _nearest(after, "r")
    last = first if same else _nearest(last_element, "r")
    return (first, last) if first is not None and last is not None else None


def _split(element: Any, offset: int) -> Any:
    """Split the run of an element of text, so that a run begins at `offset` of it. The element that holds the rest.

    The element itself where there is nothing to split off.
    """
    text = element.text or ""
    run = _nearest(element, "r")
    content = [child for child in run if child.tag != f"{_W}rPr"]
    if offset <= 0 and content[0] is element:
        return element
    if offset >= len(text) and content[-1] is element:
        return element
    fresh = run.makeelement(run.tag, dict(run.attrib))
    properties = run.find(f"{_W}rPr")
    if properties is not None:
        fresh.append(deepcopy(properties))
    following = content[content.index(element) + 1 :]
    rest = element
    if offset > 0:
        rest = element.makeelement(element.tag, dict(element.attrib))
        rest.text = text[offset:]
        rest.set(_SPACE, "preserve")
        element.text = text[:offset]
        element.set(_SPACE, "preserve")
    fresh.append(rest)
    for child in following:
        fresh.append(child)
    run.addnext(fresh)
    return rest


def _first(document: WordDocument, paragraphs: Sequence[Any], said: str) -> None:
    """A comment at the beginning of the document."""
    from docx.text.run import Run

    paragraph = next((p for p in paragraphs if p.find(f".//{_W}r") is not None), None)
    if paragraph is None:
        run = document.add_paragraph().add_run(" ")
    else:
        run = Run(next(iter(paragraph.iter(f"{_W}r"))), document._body)
    document.add_comment([run, run], text=said, author=_AUTHOR, initials=_INITIALS)


def _opening(brief: Brief, found: Sequence[Mark], left: Sequence[Mark]) -> str:
    lines = ["Checked by pincite" + (f", law in force on {brief.as_of}" if brief.as_of else "")]
    if corpus := brief.settings.get("corpus"):
        lines.append(f"against {corpus}")
    for what, row in counts(found).items():
        if row:
            listed = ", ".join(f"{count} {SAID[status]}" for status, count in row.items())  # type: ignore[index]
            lines.append(f"{what}: {listed}")
    if not found:
        lines.append("The text names no authority.")
    lines.append(f"Sentences that name no authority: {len(brief.silent)}")
    if left:
        lines.append("Places that take no comment (notes, comments, hidden text):")
        lines += [f"“{shortened(brief.text[mark.start : mark.end], 120)}” {_told(mark)}" for mark in left]
    return _UNSAFE.sub("\ufffd", "\n".join(lines))


def _told(mark: Mark) -> str:
    lines = [f"{sign(mark.status)} {said(mark)}" + (f": {mark.note}" if mark.note else "")]
    if mark.place is not None:
        place = mark.place
        page = f", p. {place.page}" if place.page is not None else ""
        lines.append(f"{place.title}{page} · {reference(place)}")
    if mark.quote.strip():
        lines.append(f"“{shortened(mark.quote, _LONGEST)}”")
    return _UNSAFE.sub("\ufffd", "\n".join(lines))
