"""Documents from the web: a list of URLs is to `sync_urls` what a folder is to `Pipeline.sync`.

Only the hosts of the URLs are contacted, and those that they redirect to, which is told. Nothing is kept of a page
beside its document: every run fetches every page again, and one whose bytes are as before is left alone.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from pincite.adding import Adding, Given
from pincite.errors import InputError
from pincite.protocols import Source
from pincite.types import AddReport, FileOutcome, MetadataValue, StoredDocument, StoredSource

if TYPE_CHECKING:
    import httpx

    from pincite.indexing import AddListener
    from pincite.pipeline import Pipeline
    from pincite.protocols import Store

__all__ = ["Fetching", "Manifest", "page_url", "read_manifests", "sync_urls"]

#: Content type → suffix, where the system's own table has another or none.
_SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "application/rtf": ".rtf",
    "text/rtf": ".rtf",
    "application/epub+zip": ".epub",
    "message/rfc822": ".eml",
}
#: Types that say nothing of what the bytes are.
_NO_TYPE = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download"})
#: A page that answers so is no longer there.
_GONE = frozenset({404, 410})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Stands in `StoredSource.reading`, after how the page was read, before each manifest that lists it.
_MARK = "\nurls of "
_NOT_IN_URLS = re.compile(r"[\s\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Manifest:
    """URLs that were named. `name` is the address of the file that lists them; empty: they were named themselves."""

    name: str
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fetching:
    """How pages are fetched."""

    user_agent: str = "pincite"
    max_bytes: int = 512_000_000  #: a larger page is skipped, however it is compressed
    seconds: float = 300.0  #: for a whole page, redirects included
    connect_seconds: float = 10.0
    silence_seconds: float = 30.0  #: without a byte
    redirects: int = 5


def page_url(text: str) -> str:
    """A URL as it names a document: as written, without its fragment.

    Raises InputError for any scheme but http and https, and for one that carries a user's name or password.

    >>> page_url("https://example.org/act.html#section-3")
    'https://example.org/act.html'
    """
    url = text.strip()
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # either raises for what is none
    except ValueError as error:
        raise InputError(f"{url!r} is not a URL: {error}") from None
    if parts.scheme.lower() not in ("http", "https") or not host or _NOT_IN_URLS.search(url):
        raise InputError(f"{url!r} is not an http or https URL")
    if "@" in parts.netloc:
        raise InputError(f"the URL of a page on {host} carries a name or a password: it would be stored and shown")
    return url.partition("#")[0]


def read_manifests(names: Sequence[str]) -> list[Manifest]:
    """What the user named: URLs, and files with a URL on each line, in which a line that begins with # is a comment.

    Raises InputError for a file that cannot be read and for a line that is no URL, before anything is fetched.
    """
    found: list[Manifest] = []
    direct: list[str] = []
    for name in names:
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", name):
            direct.append(page_url(name))
            continue
        file = Path(os.path.expanduser(name))
        try:
            lines = file.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputError(f"the list of URLs {name!r} cannot be read: {why}") from None
        urls = []
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                urls.append(page_url(line))
            except InputError as error:
                raise InputError(f"{name}, line {number}: {error}") from None
        found.append(Manifest(os.path.realpath(file), tuple(dict.fromkeys(urls))))
    if direct:
        found.append(Manifest("", tuple(dict.fromkeys(direct))))
    return found


def sync_urls(
    pipeline: Pipeline,
    manifest: Manifest,
    *,
    metadata: Mapping[str, MetadataValue] | None = None,
    valid_from: str | None = None,
    listener: AddListener | None = None,
    fetching: Fetching | None = None,
    tell: Callable[[str], None] = lambda _: None,
    dry_run: bool = False,
    remove_all: bool = False,
) -> AddReport:
    """Make the index equal to a list of URLs, as `Pipeline.sync` does to a folder. Every page is fetched.

    The identity of a document is its URL as written. One that answers 404 or 410 is removed, and so is one that was
    listed in this manifest when it was synced last and no longer is, nor in another. One that fails in another way
    keeps the version that was read, and is skipped with the reason. `tell` hears of redirects. All are fetched before
    anything is written, so that others may write meanwhile; with `dry_run` nothing is. Raises InputError when the
    manifest lists nothing but the index has documents from it alone, unless `remove_all` says that this is meant.
    """
    given = Given.checked(metadata, valid_from)
    store = pipeline.store
    gone, _ = _dropped(store, manifest, remove_all)
    pages = _Pages(fetching or Fetching(), tell)
    with tempfile.TemporaryDirectory(prefix="pincite-") as folder:
        if dry_run:
            fetched = pages.fetched(manifest.urls, Path(folder), listener)
            return _foresee(pipeline, fetched, gone)
        pipeline.check_encoder()
        # The network is waited for while others may write; who writes waits for no page.
        found = list(pages.fetched(manifest.urls, Path(folder), listener))
        adding = _Listing(
            store=store,
            encoder=pipeline.encoder,
            chunker=pipeline.chunker,
            reader=pipeline.reader,
            recipe=pipeline.options.recipe,
            reading=f"{pipeline.options.reading}{_MARK}{manifest.name}",
            max_file_bytes=pipeline.options.max_file_bytes,
        )
        with store.writing():
            gone, unlisted = _dropped(store, manifest, remove_all)
            sources: list[Source | FileOutcome] = []
            for each in found:
                if isinstance(each, FileOutcome) and each.reason == "gone" and (olds := store.documents_of(each.uri)):
                    gone += olds  # told as removed when it is
                else:
                    sources.append(each)
            on = given.valid_from
            report = adding.add(sources, len(manifest.urls), given, listener, redate=False, gone=gone, on=on)
            if unlisted:
                store.commit([], sources=unlisted)
            store.note_run("sync", report)
            return report


def _dropped(store: Store, manifest: Manifest, remove_all: bool) -> tuple[list[StoredDocument], list[StoredSource]]:
    """The documents that go because a manifest lists their pages no longer, and what is known of pages that stay.

    A page stays that another manifest lists, or that was named itself.
    """
    if not manifest.name:  # URLs that are named themselves are no list: what was named another time stays
        return [], []
    listed = set(manifest.urls)
    gone: list[StoredDocument] = []
    unlisted: list[StoredSource] = []
    for each in store.sources():
        how, names = _lists(each.reading)
        if manifest.name not in names or each.uri in listed:
            continue
        if others := names - {manifest.name}:
            unlisted.append(replace(each, reading=_reading(how, others)))
        else:
            gone += store.documents_of(each.uri)
    if gone and not listed and not remove_all:
        raise InputError(
            f"{manifest.name} lists no URL, and the index has {len(gone)} documents from it. "
            "If they are to be removed, say --remove-all"
        )
    return gone, unlisted


def _lists(reading: str) -> tuple[str, set[str]]:
    """How a page was read, and the manifests that list it."""
    how, *names = reading.split(_MARK)
    return how, set(names)


def _reading(how: str, names: Iterable[str]) -> str:
    return how + "".join(f"{_MARK}{name}" for name in sorted(names))


class _Listing(Adding):
    """Adds the pages of one manifest, which others may list too."""

    __slots__ = ()

    def record(self, source: Source) -> StoredSource:
        """See `Adding.record`."""
        found = Adding.record(self, source)
        known = self.store.find_source(source.uri)
        how, names = _lists(found.reading)
        return replace(found, reading=_reading(how, names | (_lists(known.reading)[1] if known else set())))


def _foresee(pipeline: Pipeline, fetched: Iterable[Source | FileOutcome], gone: list[StoredDocument]) -> AddReport:
    started = time.perf_counter()
    store = pipeline.store
    outcomes: list[FileOutcome] = []
    for each in fetched:
        olds = store.documents_of(each.uri)
        if isinstance(each, FileOutcome):
            if each.reason == "gone" and olds:
                gone += olds
            else:
                outcomes.append(each)
            continue
        how, recipe = pipeline.options.reading, pipeline.options.recipe
        record = StoredSource(each.uri, hashlib.sha256(each.data).hexdigest(), how, recipe)
        known = store.find_source(each.uri)
        same = known is not None and replace(known, reading=how) == record
        first = olds[0].id if olds else None
        outcomes.append(FileOutcome(each.uri, "unchanged" if same else "updated" if olds else "added", first))
    outcomes += [FileOutcome(each.uri, "removed", each.id, each.version) for each in gone]
    return AddReport(tuple(outcomes), time.perf_counter() - started)


class _Pages:
    """Fetches pages one after the other, each into a file of its own."""

    def __init__(self, fetching: Fetching, tell: Callable[[str], None]) -> None:
        self._how = fetching
        self._tell = tell

    def fetched(
        self, urls: Iterable[str], folder: Path, listener: AddListener | None
    ) -> Iterator[Source | FileOutcome]:
        """Every page, in a file in `folder`, which whoever gave it deletes; or why it was not fetched."""
        import httpx

        limits = httpx.Timeout(self._how.silence_seconds, connect=self._how.connect_seconds)
        headers = {"User-Agent": self._how.user_agent, "Accept": "*/*"}
        with httpx.Client(timeout=limits, headers=headers, follow_redirects=False) as client:
            for number, url in enumerate(urls):
                if listener is not None:
                    listener.reading(url)
                file = folder / f"page-{number}"
                try:
                    found: Source | FileOutcome = self._fetch(client, url, file)
                except _FailedError as error:
                    found = FileOutcome(url, "skipped", reason=error.reason, detail=str(error))
                except (httpx.HTTPError, httpx.InvalidURL) as error:
                    found = FileOutcome(url, "skipped", reason="unreachable", detail=_in_words(error))
                if isinstance(found, FileOutcome):
                    file.unlink(missing_ok=True)
                yield found

    def _fetch(self, client: httpx.Client, url: str, file: Path) -> Source:
        """The page at `url`, its bytes in `file`. Raises _FailedError, or what httpx does."""
        deadline = time.monotonic() + self._how.seconds
        address = url
        for _ in range(self._how.redirects + 1):
            with client.stream("GET", address) as response:
                target = response.headers.get("location")
                if response.status_code in _REDIRECTS and target:
                    try:
                        address = page_url(urljoin(address, target))
                    except InputError as error:
                        raise _FailedError("redirect", f"it redirects to where nothing is fetched: {error}") from None
                    continue
                if response.status_code in _GONE:
                    raise _FailedError("gone", f"it answers {response.status_code}")
                if response.status_code != 200:
                    raise _FailedError("http-status", f"it answers {response.status_code} {response.reason_phrase}")
                self._save(response, file, deadline)
                kind = response.headers.get("content-type", "")
            if address != url:
                self._tell(f"{url} redirects to {address}")
            return Source(uri=url, name=_name(address, kind), path=file)
        raise _FailedError("redirect", f"it redirects more than {self._how.redirects} times, at last to {address}")

    def _save(self, response: httpx.Response, file: Path, deadline: float) -> None:
        most = self._how.max_bytes
        limit = f"the limit is {most / 1e6:.0f} MB (load.max_file_mb)"
        size = 0
        with file.open("wb") as out:
            for block in response.iter_bytes(1 << 16):
                size += len(block)
                if size > most:
                    raise _FailedError("too-large", f"it is larger than allowed: {limit}")
                if time.monotonic() > deadline:
                    raise _FailedError("timeout", f"it took longer than {self._how.seconds:g} s to fetch")
                out.write(block)


class _FailedError(Exception):
    """A page that was not fetched, with the stable word for why."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def _name(address: str, content_type: str) -> str:
    """What the page would be called as a file: by the end of its address, with the suffix of its type."""
    parts = urlsplit(address)
    name = unquote(PurePosixPath(parts.path).name) or parts.hostname or "page"
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _NO_TYPE:
        return name
    suffix = _SUFFIXES.get(kind) or mimetypes.guess_extension(kind) or ""
    own = PurePosixPath(name).suffix.lower()
    # "text/plain" is what servers say of what they do not know: a suffix of the name says more.
    if not suffix or own == suffix or mimetypes.guess_type(name)[0] == kind or (own and kind == "text/plain"):
        return name
    return f"{name}{suffix}"


def _in_words(error: Exception) -> str:
    import httpx

    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        return "no connection in time"
    if isinstance(error, httpx.TimeoutException):
        return "it stopped answering"
    return str(error) or type(error).__name__
