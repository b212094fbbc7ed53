"""``pincite show CITATION``: what a citation points at, and what has become of it since."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.cli.common import console, open_index, print_json, read_settings, short_path
from pincite.cli.versions import told_version, version_data

if TYPE_CHECKING:
    from pincite.protocols import Store
    from pincite.types import Document, StoredDocument

__all__ = ["Reference", "read_reference", "show_citation"]

_REFERENCE = re.compile(r"(?P<document>\S.*)@(?P<version>\d{1,9}):(?P<start>\d{1,12})-(?P<end>\d{1,12})")
#: Characters shown before and after the words of a citation.
_AROUND = 240


@dataclass(frozen=True, slots=True)
class Reference:
    """Characters of a version of a document."""

    document: str
    version: int
    start: int
    end: int


def read_reference(text: str) -> Reference | None:
    """``DOCUMENT@VERSION:START-END``, as `pincite.types.Citation.reference` writes it; None for anything else."""
    match = _REFERENCE.fullmatch(text.strip())
    if match is None:
        return None
    return Reference(match["document"], int(match["version"]), int(match["start"]), int(match["end"]))


def show_citation(reference: Reference, store: Path | None, config: Path | None, as_json: bool) -> None:
    """Print the quoted characters with their surroundings, and whether the document still says so.

    Raises InputError where the document, the version or the characters are not there, and says which.
    """
    with open_index(read_settings(store, config)) as pincite:
        history = {each.version: each for each in _history(pincite.store, reference)}
        document = _document(pincite.store, reference, history)
        newest = max(history.values(), key=lambda each: (each.current, each.version))
        latest = document
        if newest.version != document.version:
            latest = pincite.store.get_document(newest.id, newest.version) or document
    quote = document.text[reference.start : reference.end]
    now = _place_now(quote, reference, document, latest) if newest.current else None
    data: dict[str, Any] = {
        "reference": f"{document.id}@{document.version}:{reference.start}-{reference.end}",
        "document_id": document.id,
        "version": document.version,
        "title": document.title,
        "uri": document.uri,
        "page": document.page_at(reference.start),
        "headings": document.heading_path(reference.start),
        "start": reference.start,
        "end": reference.end,
        "quote": quote,
        "before": _before(document.text, reference.start),
        "after": _after(document.text, reference.end),
        **version_data(history[document.version]),
        "current_version": newest.version if newest.current else None,
        "now": None if now is None else {"version": latest.version, "start": now[0], "end": now[1]},
    }
    if as_json:
        print_json(data)
    else:
        _print(data, history[document.version])


def _history(store: Store, reference: Reference) -> list[StoredDocument]:
    from pincite.errors import InputError

    found = store.history(reference.document)
    if not found:
        # Not by its id: a path or the beginning of an id, as other commands take them.
        matching = {each.id for each in store.history() if _names(each, reference.document)}
        if len(matching) != 1:
            raise InputError(
                f"the document {reference.document!r} of this citation is not in the index: it was purged, or the "
                "citation is from another index"
            )
        found = store.history(matching.pop())
    return found


def _names(stored: StoredDocument, name: str) -> bool:
    return (len(name) >= 4 and stored.id.startswith(name)) or name in (stored.uri, Path(stored.uri).name)


def _document(store: Store, reference: Reference, history: dict[int, StoredDocument]) -> Document:
    from pincite.errors import InputError

    stored = next(iter(history.values()))
    found = store.get_document(stored.id, reference.version)
    if found is None or reference.version not in history:
        kept = ", ".join(str(version) for version in sorted(history))
        raise InputError(f"version {reference.version} of {stored.uri} is not kept any longer; there are: {kept}")
    if not reference.start < reference.end <= len(found.text):
        raise InputError(
            f"the citation points at characters {reference.start}-{reference.end}, and version {reference.version} of "
            f"{stored.uri} has the characters 0-{len(found.text)}"
        )
    return found


def _place_now(quote: str, reference: Reference, then: Document, now: Document) -> tuple[int, int] | None:
    """Where the words stand in the current version: the same place if nothing changed, else the nearest."""
    from pincite.normal_text import NormalText

    if now.version == then.version:
        return reference.start, reference.end
    places = list(NormalText(now.text).find(quote))
    return min(places, key=lambda place: abs(place[0] - reference.start), default=None)


def _before(text: str, start: int) -> str:
    """Some of what stands before, from the beginning of a word, or of the paragraph if that is near."""
    first = max(0, start - _AROUND)
    paragraph = text.rfind("\n\n", first, start)
    if paragraph >= 0:
        return text[paragraph + 2 : start]
    space = text.find(" ", first, start) + 1 if first else 0
    return text[max(first, space) : start]


def _after(text: str, end: int) -> str:
    last = min(len(text), end + _AROUND)
    paragraph = text.find("\n\n", end, last)
    if paragraph >= 0:
        return text[end:paragraph]
    space = text.rfind(" ", end, last) if last < len(text) else last
    return text[end : max(end, space)]


def _print(data: dict[str, Any], stored: StoredDocument) -> None:
    from rich.markup import escape

    out = console()
    where = [f"p. {data['page']}"] if data["page"] is not None else []
    where += [heading for heading in data["headings"] if heading != data["title"]]
    out.print(f"[bold]{escape(data['title'])}[/]{escape(''.join(f', {each}' for each in where))}")
    out.print(
        f"[dim]{escape(short_path(data['uri']))} · {escape(told_version(stored))} · "
        f"characters {data['start']}-{data['end']}[/]"
    )
    out.print(_fate(data))
    out.print()
    before, after = (" ".join(data[side].split()) for side in ("before", "after"))
    if before:
        out.print(f"[dim]{escape(before)}[/]")
    out.print(f"[bold]» {escape(' '.join(data['quote'].split()))} «[/]")
    if after:
        out.print(f"[dim]{escape(after)}[/]")


def _fate(data: dict[str, Any]) -> str:
    """Whether the document still says so, as markup."""
    if data["current_version"] is None:
        return "[yellow]The document was removed since; this is what it said.[/]"
    if data["current_version"] == data["version"]:
        return "[green]This is the current version.[/]"
    current = f"The current version is {data['current_version']}"
    if data["now"] is None:
        return f"[red]{current}, in which these words do not stand any longer.[/]"
    return (
        f"[yellow]{current}, in which these words stand at characters {data['now']['start']}-{data['now']['end']}.[/]"
    )
