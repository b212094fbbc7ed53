"""``pincite sync``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.add import MetaOption, report_lines, unexpected
from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    console,
    cut_otherwise,
    open_index,
    parse_meta,
    plain,
    print_json,
    read_settings,
    short_path,
)
from pincite.cli.versions import ValidFromOption, check_day

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.build import Pincite
    from pincite.config import Settings
    from pincite.indexing import AddListener
    from pincite.types import AddReport, FileOutcome

    #: One run over what was named: an open index and who is told of it → its report.
    Work = Callable[[Pincite, AddListener], AddReport]

__all__ = ["sync"]

#: So many lines are printed of each kind of change; a dry run prints all.
_LINES = 20

#: Seconds until a busy index, or a folder that is away, is tried again while watching.
_RETRY = 5.0

#: Seconds between two rounds over URLs that are watched.
_URL_POLL = 3600.0

_COLOURS = {"added": "green", "updated": "cyan", "moved": "cyan", "removed": "magenta"}


def sync(
    names: Annotated[
        list[str], typer.Argument(metavar="DIR", help="A folder; with --urls, files that list URLs, or URLs.")
    ],
    urls: Annotated[
        bool,
        typer.Option(
            "--urls",
            help="What is named are files with a URL on each line (# begins a comment), or URLs: their pages are "
            "fetched. Only http and https.",
        ),
    ] = False,
    valid_from: Annotated[
        str | None,
        typer.Option(
            "--valid-from",
            metavar="DATE",
            help="The day from which what is new or changed is in force, and what is gone no longer is. Default: today",
        ),
    ] = None,
    meta: MetaOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")] = False,
    remove_all: Annotated[
        bool, typer.Option("--remove-all", help="An empty folder or list is meant: remove all that came from it.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on: sync again whenever something changes, until Ctrl-C.")
    ] = False,
    poll: Annotated[
        float | None,
        typer.Option(
            "--poll",
            min=0.1,
            metavar="SECONDS",
            help="With --watch, look for changes so often: for drives that report none, and for URLs (default 3600).",
        ),
    ] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the index equal to a folder: add what is new, update what changed, remove what is gone.

    A file that is gone and stands elsewhere in the folder with the same bytes has moved. What is replaced or removed is
    kept as a past version, see `history`. With --urls a list of URLs is what is synced: every page is fetched, one that
    answers 404 or 410, or is no longer listed, is removed, and one that fails otherwise keeps the version that was
    read. Redirects are followed, five at most, and told.

    Exit status: 0 when the index is as the folder is, 1 when something was skipped (each is named with its reason).
    """
    from pincite.errors import InputError

    if poll is not None and not watch:
        raise InputError("--poll goes with --watch")
    if watch and dry_run:
        raise InputError("--watch syncs, --dry-run does not: give one of them")
    metadata = parse_meta(meta)
    first_day = check_day(valid_from, "--valid-from")
    settings = read_settings(store, config)
    out = console(stderr=True)

    def works() -> list[Work]:
        if urls:
            return _pages(names, settings, metadata, first_day, dry_run, remove_all, out)
        folder = Path(names[0]).expanduser()
        if len(names) > 1:
            raise InputError("sync takes one folder: the index is made equal to it")
        if not folder.is_dir():
            raise InputError(f"{names[0]!r} is not a folder: sync makes the index equal to a folder")

        def run(pincite: Pincite, listener: AddListener) -> AddReport:
            return pincite.sync(
                folder,
                metadata=metadata,
                valid_from=first_day,
                listener=listener,
                dry_run=dry_run,
                remove_all=remove_all,
            )

        return [run]

    works()  # what is no folder or no list is told before an index is made
    if watch:
        from pincite.cli.watching import rounds

        _keep_on(
            lambda: _once(works(), settings, out, as_json=as_json, dry_run=False, line=True),
            rounds(None if urls else Path(names[0]).expanduser(), settings.store.path, poll or _URL_POLL, _RETRY)
            if urls
            else rounds(Path(names[0]).expanduser(), settings.store.path, poll, _RETRY),
            out,
        )
        return
    report = _once(works(), settings, out, as_json=as_json, dry_run=dry_run)
    if unexpected(report):
        raise typer.Exit(1)
