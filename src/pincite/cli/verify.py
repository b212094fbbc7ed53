"""``pincite verify``."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pincite.cli.common import ConfigOption, JsonOption, StoreOption, console, open_index, print_json, read_settings
from pincite.cli.versions import check_day, check_point

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.build import Pincite
    from pincite.protocols import Source
    from pincite.types import Document
    from pincite.verify.records import Brief, Mark, MarkStatus

__all__ = ["print_brief", "verify"]

_STYLES = {"ok": "green", "wrong": "red", "missing": "yellow", "open": "cyan"}
_SENTENCE, _NAMED, _QUOTE = 300, 120, 300


def verify(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="The texts to check, or - for standard input. Not indexed.")
    ],
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="DATE", help="The day on which what is cited must be in force."),
    ] = None,
    grammar: Annotated[
        list[Path] | None,
        typer.Option("--grammar", metavar="FILE", help="TOML file with more names of acts and reports. Repeatable."),
    ] = None,
    american: Annotated[
        bool, typer.Option("--american", help="Look for authorities of the United States as well (extra law).")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT", help="Write the text with its marks as a page. Of several files: a folder."
        ),
    ] = None,
    docx: Annotated[
        Path | None,
        typer.Option("--docx", metavar="OUT", help="Write it as a Word document with comments. Of several: a folder."),
    ] = None,
    support: Annotated[
        str | None,
        typer.Option(
            "--support",
            metavar="NAME",
            help="What judges whether a passage says so: lexical, semantic, nli:PATH, judge.",
        ),
    ] = None,
    missing: Annotated[
        Literal["fail", "ok"],
        typer.Option("--missing", help="Whether an authority that this corpus does not have makes the exit status 1."),
    ] = "fail",
    name: Annotated[
        str, typer.Option("--name", help="What standard input is called; its suffix says what it is.")
    ] = "stdin.md",
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a finished text: is every authority in the corpus, in force, quoted as it stands, and does it say so?

    The text may be of any kind that `add` reads: a brief, a memo, the answer of a model. Nothing is added to the index.
    An authority that is not in the corpus may exist all the same, and a claim of which the passage found does not say
    so may be true: both are marked for somebody to look at.

    Exit status: 0 when nothing is wrong, 1 when something is (an authority that is not in the corpus counts unless
    --missing ok), 2 when a text cannot be read.
    """
    from pincite.errors import LoadError
    from pincite.verify.grammar import load_grammar
    from pincite.verify.marks import marks, wrong
    from pincite.verify.reports import brief_data

    check_point(as_of, None)
    day = check_day(as_of, "--as-of")
    sources = _sources(files, name)
    many = len(sources) > 1
    _check_targets(sources, html, docx, many)
    rules = load_grammar(*(grammar or ()))
    settings = read_settings(store, config, support_model=support)
    err = console(stderr=True)
    data: list[dict[str, object]] = []
    failed = unread = False
    with open_index(settings) as pincite:
        check = _checker(pincite, rules, day, american, err)
        for source in sources:
            try:
                documents = list(_read(pincite, source))
            except LoadError as error:
                err.print(f"{source.name}: {error.reason}: {error}", style="red", markup=False)
                unread = True
                continue
            for i, document in enumerate(documents):
                brief = check(document)
                failed |= bool(wrong(marks(brief), missing=missing == "fail"))
                part = source.name if len(documents) == 1 else f"{source.name}-{i + 1}"
                notes = _write(brief, document, source, part, html, docx, many or len(documents) > 1)
                if as_json:
                    data.append({"file": source.uri, **brief_data(brief, missing=missing == "fail"), "written": notes})
                else:
                    print_brief(console(), brief, part)
                    for note in notes:
                        console().print(f"written: {note}", markup=False)
    if as_json:
        print_json({"briefs": data})
    if unread:
        raise typer.Exit(2)
    if failed:
        raise typer.Exit(1)


def _sources(files: Sequence[str], name: str) -> list[Source]:
    """What is to be checked. Raises InputError for a name that matches nothing."""
    from pincite.adding import file_uri
    from pincite.errors import InputError
    from pincite.protocols import Source
    from pincite.sources import find_files

    sources = []
    if "-" in files:
        sources.append(Source(uri=f"stdin:{name}", name=name, data=sys.stdin.buffer.read()))
    for found in find_files([each for each in files if each != "-"]):
        if found.reason:
            raise InputError(f"{found.path}: {found.detail}")
        sources.append(Source(uri=file_uri(found.path), name=found.path.name, path=found.path))
    if not sources:
        raise InputError("there is no file to check")
    return sources


def _read(pincite: Pincite, source: Source) -> list[Document]:
    """The texts of a file. Raises LoadError."""
    from pincite.errors import LoadError, NoTextError
    from pincite.types import Document

    size = source.path.stat().st_size if source.path is not None else len(source.data)
    if size > pincite.options.max_file_bytes:
        raise LoadError(f"{size / 1e6:.0f} MB, over the limit (load.max_file_mb)")
    documents = []
    for each in pincite.reader.read(source):
        if not isinstance(each, Document):
            raise LoadError(f"{each.uri}: {each.reason}: {each.detail}")
        documents.append(each)
    if not any(each.text.strip() for each in documents):
        raise NoTextError("the file holds no text")
    return documents


def _checker(
    pincite: Pincite, rules: object, day: str | None, american: bool, err: Console
) -> Callable[[Document], Brief]:
    """What checks one text; the corpus is looked through once."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from pincite.verify.check import check_brief
    from pincite.verify.grammar import Grammar
    from pincite.verify.registry import build_registry

    assert isinstance(rules, Grammar)

    def bar() -> Progress:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)

    with bar() as progress:
        task = progress.add_task("looking through the corpus", total=None)
        registry = build_registry(
            pincite.store, rules, progress=lambda done, total: progress.update(task, completed=done, total=total)
        )

    def check(document: Document) -> Brief:
        with bar() as progress:
            task = progress.add_task(f"checking {document.title[:40]}", total=None)
            return check_brief(
                document,
                pincite.store,
                grammar=rules,
                registry=registry,
                support=pincite.support,
                as_of=day,
                american=american,
                progress=lambda done, total: progress.update(task, completed=done, total=total),
            )

    return check


def _write(
    brief: Brief, document: Document, source: Source, part: str, html: Path | None, docx: Path | None, many: bool
) -> list[str]:
    """Write what is asked for. The files, with what to say of them."""
    from pincite.errors import InputError

    notes = []
    try:
        if html is not None:
            from pincite.verify.page import to_html

            path = _target(html, part, ".html", many)
            _put(path, to_html(brief).encode())
            notes.append(str(path))
        if docx is not None:
            from pincite.verify.word import to_docx

            is_word = document.uri == source.uri and "wordprocessingml" in document.media_type
            content, left = to_docx(brief, source.data if is_word else None)
            path = _target(docx, part, ".docx", many)
            _put(path, content)
            told = f", {len(left)} places take no comment and are told in the first one" if left else ""
            notes.append(f"{path}{told}")
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from error
    return notes


def _target(out: Path, part: str, suffix: str, many: bool, *, make: bool = True) -> Path:
    if not many and not out.is_dir():
        return out
    if make:
        out.mkdir(parents=True, exist_ok=True)
    return out / f"{part.replace('/', '_')}.checked{suffix}"


def _check_targets(sources: Sequence[Source], html: Path | None, docx: Path | None, many: bool) -> None:
    """Raises InputError where what is to be written would take the place of a text, or one of the other."""
    from pincite.errors import InputError

    files = [source.path for source in sources if source.path is not None]
    written: list[Path] = []
    for out, suffix in ((html, ".html"), (docx, ".docx")):
        if out is None:
            continue
        paths = [_target(out, source.name, suffix, many, make=False) for source in sources]
        for path in dict.fromkeys(paths):
            if any(_same(path, file) for file in files):
                raise InputError(f"{path} is a text that is checked: it is not written over")
            if any(_same(path, other) for other in written):
                raise InputError(f"--html and --docx would both be written to {path}")
        written += paths


def _same(one: Path, other: Path) -> bool:
    """Whether both are one file, by whatever names."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def _put(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all."""
    if path.exists() and not path.is_file():
        path.write_bytes(content)  # a pipe, /dev/stdout
        return
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def print_brief(out: Console, brief: Brief, name: str) -> None:
    """Each claim with what is said of it, then what all of it comes to."""
    from rich.markup import escape
    from rich.table import Table

    from pincite.verify.marks import SAID, counts, marks
    from pincite.verify.reports import kind, shortened, sign, undated

    found = marks(brief)
    out.print(f"[bold]{escape(name)}[/]" + (f", law in force on {brief.as_of}" if brief.as_of else ""))
    if asked := undated(brief):
        out.print(f"[yellow]note[/] {escape(asked)}")
    for number, claim in enumerate(brief.claims, start=1):
        out.print(f"\n[bold]{number}[/] {escape(shortened(claim.text, _SENTENCE))}")
        for mark in claim.marks:
            out.print(f"  {_line(mark, brief.text)}")
            if mark.status not in ("ok", "not-found") and mark.what != "authority" and mark.quote.strip():
                out.print(f"      [dim]there: “{escape(shortened(mark.quote, _QUOTE))}”[/]")
    out.print()
    if found:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("")
        for what in ("authorities", "quotations", "claims"):
            table.add_column(what, justify="right")
        rows = counts(found)
        status: MarkStatus
        for status in SAID:
            if any(status in row for row in rows.values()):
                said = f"[{_STYLES[kind(status)]}]{sign(status)} {SAID[status]}[/]"
                table.add_row(said, *(str(row.get(status, "")) for row in rows.values()))
        out.print(table)
    else:
        out.print("the text names no authority: there is nothing to check")
    silent = len(brief.silent)
    out.print(f"{silent} sentence{' names' if silent == 1 else 's name'} no authority")
    if corpus := brief.settings.get("corpus"):
        out.print(f"[dim]checked against {escape(corpus)}, support: {escape(brief.settings.get('support', ''))}[/]")
    for warning in brief.warnings:
        out.print(f"[yellow]note[/] {escape(warning)}")


def _line(mark: Mark, text: str) -> str:
    """One place as rich markup."""
    from rich.markup import escape

    from pincite.verify.marks import said
    from pincite.verify.reports import kind, named, shortened, sign

    parts = [f"[{_STYLES[kind(mark.status)]}]{sign(mark.status)} {said(mark)}[/]"]
    if mark.what == "quotation":
        parts.append(f"“{escape(shortened(text[mark.start : mark.end], _NAMED))}”")
    elif mark.what == "authority":
        parts.append(escape(named(text[mark.start : mark.end], _NAMED)))
    if mark.note:
        parts[-1] += ":"
        parts.append(escape(mark.note))
    if mark.place is not None and mark.what != "authority":
        page = f", p. {mark.place.page}" if mark.place.page is not None else ""
        parts.append(f"[dim]{escape(mark.place.title)}{page} · characters {mark.place.start}-{mark.place.end}[/]")
    return " ".join(parts)
