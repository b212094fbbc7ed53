"""Notes and lists of sources: what ``[1]``, ``[^1]`` and pincite's own pointers in a text refer to.

A model's answer carries ``[1]`` in its sentences and a list of sources below, as ``pincite ask`` prints it; a brief has
footnotes. Either way a line begins with the number, and what it names counts for the sentences with that number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from pincite.markers import CodeReader
from pincite.verify.records import Authority, Finding, Place

if TYPE_CHECKING:
    from pincite.protocols import Store
    from pincite.types import StoredDocument

__all__ = ["Note", "NoteMark", "find_notes", "find_references", "resolve_reference"]

_LIST_LINE = re.compile(r"^[ \t]{0,3}\[\^?(\d{1,3})\]:?[ \t]+(?=\S)", re.MULTILINE)
_MARK = re.compile(r"(?<![\w\]\[])\[\^?(\d{1,3})\](?!\()|(?<=\])\[\^?(\d{1,3})\](?!\()|(?<=\w)\[\^?(\d{1,3})\](?!\()")
#: ``DOCUMENT@VERSION:START-END``, see `pincite.types.Citation.reference`.
_POINTER = re.compile(r"\b(?P<document>[0-9a-f]{16})@(?P<version>\d{1,6}):(?P<start>\d{1,9})-(?P<end>\d{1,9})\b")
#: A source as ``pincite ask`` prints it: title and address, two spaces apart, and where it stands there.
_PRINTED = re.compile(r" · version (?P<version>\d{1,6})[^\n·]{0,200}·\s+characters (?P<start>\d{1,9})-(?P<end>\d{1,9})")
_LONGEST_ADDRESS = 1000
_BLANK = re.compile(r"\n[ \t]*(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Note:
    """A numbered line of a list of sources, or a footnote: from its number to the next one or a blank line."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NoteMark:
    """A number in a sentence that refers to a note."""

    number: int
    start: int
    end: int


def find_notes(text: str) -> tuple[list[Note], list[NoteMark]]:
    r"""The notes of a text, and the marks that refer to them; in the order of the text, none of them in code.

    Where a number has several notes the last one counts, since a list of sources stands below what cites it.

    >>> notes, marks = find_notes("It was held so.[1]\n\n[1] A v. B, 1973.")
    >>> [(each.number, each.start) for each in notes], [(each.number, each.start) for each in marks]
    ([(1, 20)], [(1, 15)])
    """
    if "[" not in text:
        return [], []
    coded = bytearray(len(text))
    if "`" in text:
        reader = CodeReader()
        coded = bytearray(reader.is_code(character) for character in text)
    heads = [match for match in _LIST_LINE.finditer(text) if not coded[match.end() - 1]]
    last: dict[int, Note] = {}
    for i, head in enumerate(heads):
        blank = _BLANK.search(text, head.end())
        end = min(
            heads[i + 1].start() if i + 1 < len(heads) else len(text),
            blank.start() if blank else len(text),
        )
        last[int(head[1])] = Note(int(head[1]), text.index("[", head.start()), end)
    notes = sorted(last.values(), key=lambda note: note.start)
    inside = [(note.start, note.end) for note in notes]
    marks = [
        NoteMark(int(match[1] or match[2] or match[3]), match.start(), match.end())
        for match in _MARK.finditer(text)
        if not coded[match.start()] and not any(start <= match.start() < end for start, end in inside)
    ]
    return notes, marks


def find_references(text: str) -> list[Authority]:
    """The pointers into documents that `text` carries, in its order: written out, or as ``pincite ask`` prints them.

    `Authority.act` is the document's id or its address as printed, `Authority.below` ``VERSION:START-END``.
    """
    found = [
        Authority(
            kind="reference",
            start=match.start(),
            end=match.end(),
            text=match.group(),
            act=match["document"],
            below=f"{match['version']}:{match['start']}-{match['end']}",
        )
        for match in _POINTER.finditer(text)
    ]
    for match in _PRINTED.finditer(text):
        # What is printed before the address is the title; the address is what follows the last two spaces.
        line = text[max(0, match.start() - _LONGEST_ADDRESS) : match.start()].rpartition("\n")[2]
        address = re.split(r"\s{2,}", line)[-1]
        start = match.start() - len(address)
        if not address.strip():
            continue
        found.append(
            Authority(
                kind="reference",
                start=start,
                end=match.end(),
                text=text[start : match.end()],
                act=address,
                below=f"{match['version']}:{match['start']}-{match['end']}",
            )
        )
    return sorted(found, key=lambda each: each.start)


def resolve_reference(reference: Authority, store: Store, documents: Mapping[str, Sequence[StoredDocument]]) -> Finding:
    """Whether what a pointer points at is kept. `documents` are those of the index, by the name of their file."""
    version_text, _, span = reference.below.partition(":")
    start, end = (int(each) for each in span.split("-"))
    document_id = reference.act
    if not re.fullmatch(r"[0-9a-f]{16}", document_id):
        path = PurePath(reference.act)
        named = [
            each
            for each in documents.get(path.name, ())
            if each.uri == reference.act or PurePath(each.uri).parts[-len(path.parts) :] == path.parts
        ]
        if len({each.id for each in named}) > 1:
            places = tuple(Place(each.id, each.version, 0, each.characters, each.title, each.uri) for each in named[:5])
            return Finding(reference, "ambiguous", f"{len(named)} documents have this address", others=places)
        if not named:
            return Finding(reference, "not-found", "no document of this corpus has this address")
        document_id = named[0].id
    document = store.get_document(document_id, int(version_text))
    if document is None:
        return Finding(reference, "not-found", f"version {version_text} of this document is not in this corpus")
    if not start < end <= len(document.text):
        return Finding(
            reference,
            "not-found",
            f"it points at characters {start}-{end}, and the document has {len(document.text)}",
            name=document.title,
        )
    place = Place(document_id, document.version, start, end, document.title, document.uri, document.page_at(start))
    return Finding(reference, "found", name=document.title, place=place)
