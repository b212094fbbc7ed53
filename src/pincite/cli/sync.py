"""``pincite sync``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from pincite.cli.versions import check_day, told_detail

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.build import Pincite
    from pincite.config import Settings
    from pincite.indexing import AddListener
    from pincite.types import AddReport, FileOutcome, MetadataValue

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
    settings = read_settings(store, config)
    out = console(stderr=True)
    asked = _Asked(names, urls, parse_meta(meta), check_day(valid_from, "--valid-from"), dry_run, remove_all)
    asked.works(settings, out)  # what is no folder or no list is told before an index is made
    rounds = _Rounds(asked, settings, out, as_json=as_json, watching=watch)
    if not watch:
        if unexpected(rounds.sync()):
            raise typer.Exit(1)
        return
    from pincite.cli.watching import changes_of, ticks

    if urls:
        waited = ticks(poll or _URL_POLL)
    else:
        waited = changes_of(asked.folder, ignored=settings.store.path, poll=poll, retry=_RETRY)
    rounds.keep_on(waited)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line asks for."""

    names: Sequence[str]
    urls: bool
    metadata: Mapping[str, MetadataValue]
    valid_from: str | None
    dry_run: bool
    remove_all: bool

    @property
    def folder(self) -> Path:
        return Path(self.names[0]).expanduser()

    def works(self, settings: Settings, out: Console) -> list[Work]:
        """What is to be done with an open index, one after the other. Raises InputError for what cannot be."""
        from pincite.errors import InputError

        if self.urls:
            return self._pages(settings, out)
        if len(self.names) > 1:
            raise InputError("sync takes one folder: the index is made equal to it")
        if "://" in self.names[0]:
            raise InputError(f"{self.names[0]} is a URL: say --urls")
        if not self.folder.is_dir():
            raise InputError(f"{self.names[0]!r} is not a folder: sync makes the index equal to a folder")

        def run(pincite: Pincite, listener: AddListener) -> AddReport:
            return pincite.sync(
                self.folder,
                metadata=self.metadata,
                valid_from=self.valid_from,
                listener=listener,
                dry_run=self.dry_run,
                remove_all=self.remove_all,
            )

        return [run]

    def _pages(self, settings: Settings, out: Console) -> list[Work]:
        from pincite import __version__
        from pincite.web_sources import Fetching, Manifest, read_manifests, sync_urls

        fetching = Fetching(
            user_agent=f"pincite/{__version__}",
            max_bytes=int(settings.load.max_file_mb * 1e6),
            seconds=settings.load.seconds,
        )

        def work(manifest: Manifest) -> Work:
            def run(pincite: Pincite, listener: AddListener) -> AddReport:
                return sync_urls(
                    pincite,
                    manifest,
                    metadata=self.metadata,
                    valid_from=self.valid_from,
                    listener=listener,
                    fetching=fetching,
                    tell=lambda told: out.print(f"note: {told}", style="yellow", markup=False),
                    dry_run=self.dry_run,
                    remove_all=self.remove_all,
                )

            return run

        return [work(manifest) for manifest in read_manifests(self.names)]


class _Rounds:
    """One sync, or one after every change. The index is open only while one runs, so that others can use it."""

    def __init__(self, asked: _Asked, settings: Settings, out: Console, *, as_json: bool, watching: bool) -> None:
        self._asked = asked
        self._settings = settings
        self._out = out
        self._as_json = as_json
        self._watching = watching
        self._told: object = None

    def sync(self) -> AddReport:
        """One round: print its report. Interrupted, it says so and leaves with 130."""
        from pincite.cli.progress import AddProgress
        from pincite.types import AddReport

        outcomes: list[FileOutcome] = []
        encoded = 0
        interrupted = False
        started = time.perf_counter()
        works = self._asked.works(self._settings, self._out)
        with open_index(self._settings, create=not self._asked.dry_run) as pincite:
            with AddProgress(self._out, outcomes) as listener:
                try:
                    for work in works:
                        report = work(pincite, listener)
                        encoded += report.encoded
                        if self._asked.dry_run:
                            outcomes += report.outcomes
                except KeyboardInterrupt:
                    interrupted = True
            if not interrupted and not self._asked.dry_run and pincite.store.needs_optimizing():
                self._out.print(f"building the vector index over {pincite.store.point_count:,} chunks …")
                pincite.store.optimize()
            total = pincite.store.document_count
            advice = cut_otherwise(pincite.documents(), self._settings)
        report = AddReport(tuple(outcomes), time.perf_counter() - started, encoded)
        self._print(report, total, advice, interrupted)
        if interrupted:
            self._out.print("interrupted: what is listed is in the index; run it again for the rest", style="yellow")
            raise typer.Exit(130)
        return report

    def keep_on(self, waited: Iterator[bool]) -> None:
        """Sync at the first of `waited` and at every true one, and again after one that failed, until Ctrl-C."""
        from pincite.errors import PinciteError, StoreBusyError

        due = True
        try:
            for changed in waited:
                if not (due or changed):
                    continue
                try:
                    self.sync()
                    due = False
                except StoreBusyError as error:
                    self._out.print(f"tried again later: {error}", style="yellow", markup=False)
                    due = True
                except (PinciteError, OSError) as error:
                    # The disk may be away for a while, the list or the settings be half written, a model be busy.
                    self._out.print(f"not synced: {error}", style="red", markup=False)
                    due = True
        except KeyboardInterrupt:
            self._out.print("stopped: the index holds what was reported")

    def _print(self, report: AddReport, total: int, advice: str, interrupted: bool) -> None:
        news = [each for each in report.outcomes if each.status != "unchanged"]
        told = [each for each in news if each.status == "skipped"]
        # While watching, a round that did nothing is not told of, nor is what was skipped before.
        if self._watching and len(told) == len(news) and told == self._told:
            return
        self._told = told
        if self._as_json:
            data = {
                "report": report,
                "dry_run": self._asked.dry_run,
                "interrupted": interrupted,
                "documents_in_index": total,
                "notes": [advice] if advice else [],
            }
            if self._watching:
                typer.echo(json.dumps(plain(data), ensure_ascii=False))
            else:
                print_json(data)
        else:
            lines = _change_lines(report, None if self._asked.dry_run else _LINES)
            for line in [*lines, *report_lines(report, total, moves=True)]:
                console().print(line)
            if self._asked.dry_run:
                console().print("nothing was written: this says what would be done")
        if advice:
            self._out.print(f"note: {advice}", style="yellow", markup=False)


def _change_lines(report: AddReport, most: int | None) -> list[str]:
    """What was added, updated, moved and removed, as rich markup lines; at most so many of each."""
    from rich.markup import escape

    lines = []
    for status, colour in _COLOURS.items():
        found = [each for each in report.outcomes if each.status == status]
        told = (short_path(each.uri) + told_detail(each) for each in found[:most])
        lines += [f"[{colour}]{status:7}[/] {escape(each)}" for each in told]
        if more := len(found) - len(found[:most]):
            lines.append(f"[{colour}]{status:7}[/] … and {more:,} more")
    return lines
