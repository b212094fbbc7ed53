"""``pincite show``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    console,
    open_index,
    print_json,
    read_settings,
    reading_markup,
)
from pincite.cli.versions import told_version, version_data

__all__ = ["show"]


def show(
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT",
            help="Its id, the beginning of one, or its path; or a citation, ID@VERSION:START-END, as `ask` prints it.",
        ),
    ],
    span: Annotated[
        str | None, typer.Option("--span", metavar="START-END", help="Only these characters, as a citation gives them.")
    ] = None,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="N", help="This version, if it is kept. Default: the current one."),
    ] = None,
    diff: Annotated[
        tuple[int, int] | None,
        typer.Option("--diff", metavar="V1 V2", help="What changed between two versions, by lines or sentences."),
    ] = None,
    chunks: Annotated[bool, typer.Option("--chunks", help="Show how it was cut instead.")] = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a document: what is known of it and its text, what a citation points at, or what a version changed."""
    from pincite.cli.citation import read_reference, show_citation
    from pincite.errors import InputError

    if (reference := read_reference(document)) is not None:
        if span is not None or version is not None or diff is not None or chunks:
            raise InputError("a citation says which version and which characters: give it alone")
        show_citation(reference, store, config, as_json)
        return

    if diff is not None:
        if span is not None or version is not None or chunks:
            raise InputError("--diff compares whole versions: give it alone")
        _show_diff(document, diff, store, config, as_json)
        return
    with open_index(read_settings(store, config)) as pincite:
        found = pincite.show(document, version)
        cut = pincite.store.chunks(found.id, found.version) if chunks else []
        listed = {each.version: each for each in pincite.store.history(found.id)}
    stored = listed.get(found.version)
    text = found.text
    if span is not None:
        first, dash, last = span.partition("-")
        if not (dash and first.isdecimal() and last.isdecimal() and int(first) <= int(last) <= len(text)):
            raise InputError(f"--span takes START-END within 0-{len(text)}, got {span!r}")
        text = text[int(first) : int(last)]
    if as_json:
        print_json(
            cut
            if chunks
            else {"document": found, **version_data(stored)}
            if span is None
            else {"id": found.id, "version": found.version, "text": text}
        )
        return
    from rich.markup import escape

    out = console()
    if chunks:
        for chunk in cut:
            page = f", p. {chunk.page}" if chunk.page is not None else ""
            headings = f"  {escape(' › '.join(chunk.headings))}" if chunk.headings else ""
            out.print(f"[bold]{chunk.id}[/] [dim]{chunk.start}-{chunk.end}{page}[/]{headings}")
            out.print(f"{reading_markup(chunk)}\n")
        return
    if span is None:
        out.print(f"[bold]{escape(found.title)}[/]")
        facts = {
            "id": found.id,
            "version": told_version(stored).removeprefix("version ") if stored else found.version,
            "source": found.uri,
            "type": found.media_type,
            "sha256": found.content_hash,
            "pages": len(found.pages) or None,
            "headings": len(found.headings) or None,
            **{f"· {name}": value for name, value in found.metadata.items() if name != "title"},
        }
        for name, value in facts.items():
            if value is not None:
                out.print(f"[dim]{escape(str(name)):12}[/] {escape(str(value))}")
        for warning in found.warnings:
            out.print(f"[yellow]note[/] {escape(warning)}")
        out.print()
    typer.echo(text)


def _show_diff(
    document: str, versions: tuple[int, int], store: Path | None, config: Path | None, as_json: bool
) -> None:
    from pincite.cli.diff import diff_data, print_diff

    with open_index(read_settings(store, config)) as pincite:
        old, new = (pincite.show(document, version) for version in versions)
    if as_json:
        print_json(diff_data(old, new))
    else:
        print_diff(console(), old, new)
