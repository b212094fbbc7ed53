"""Documents from the web: a real server on this machine, a real index, the encoder of tests."""

from __future__ import annotations

import gzip
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pincite import Pincite
from pincite.errors import InputError
from pincite.types import AddReport
from pincite.web_sources import Fetching, Manifest, page_url, read_manifests, sync_urls

Page = tuple[int, dict[str, str], bytes]


class Site:
    """What the server has: path → status, headers, body. Requests are kept."""

    def __init__(self, port: int) -> None:
        self.root = f"http://127.0.0.1:{port}"
        self.pages: dict[str, Page] = {}
        self.asked: list[tuple[str, str]] = []
        self.slow = 0.0

    def put(self, path: str, body: str | bytes, kind: str = "text/html", status: int = 200, **headers: str) -> str:
        raw = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = (status, {"Content-Type": kind, **named}, raw)
        return self.root + path


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append((self.path, self.headers["User-Agent"]))
            status, headers, body = found.pages.get(self.path, (404, {}, b"no such page"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for start in range(0, len(body), 1 << 16):
                    self.wfile.write(body[start : start + (1 << 16)])
                    time.sleep(found.slow)
            except OSError:
                pass  # the reader went away: it had enough

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Site(server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pincite]:
    with Pincite.open(tmp_path_factory.mktemp("web") / "index", environment={}) as pincite:
        yield pincite


@pytest.fixture
def pincite(shared: Pincite) -> Pincite:
    shared.store.purge([each.id for each in shared.store.history()])
    return shared


@pytest.fixture
def sync(pincite: Pincite) -> Callable[..., dict[str, tuple[str, str]]]:
    """Sync a list of URLs; URL → status and reason."""

    def run(urls: list[str], name: str = "/lists/a.txt", **options: Any) -> dict[str, tuple[str, str]]:
        report: AddReport = sync_urls(pincite, Manifest(name, tuple(urls)), **options)
        return {each.uri: (each.status, each.reason) for each in report.outcomes}

    return run


Sync = Callable[..., dict[str, tuple[str, str]]]


def test_a_page_is_added_updated_and_left_alone(site: Site, sync: Sync, pincite: Pincite) -> None:
    url = site.put("/act", "<html><body><h1>Lease Act</h1><p>The wombat rule is five pounds.</p></body></html>")
    assert sync([url], fetching=Fetching(user_agent="pincite/test")) == {url: ("added", "")}
    assert site.asked == [("/act", "pincite/test")]
    assert sync([url]) == {url: ("unchanged", "")}
    assert pincite.search("wombat rule").passages[0].uri == url
    assert pincite.show(url).title == "Lease Act"
    site.put("/act", "<html><body><h1>Lease Act</h1><p>The wombat rule is nine pounds.</p></body></html>")
    assert sync([url], dry_run=True) == {url: ("updated", "")}
    assert len(pincite.history(url)) == 1
    assert sync([url], valid_from="2024-01-01") == {url: ("updated", "")}
    assert [each.version for each in pincite.history(url)] == [1, 2]
    assert "five" in pincite.search("wombat rule", as_of="2023-12-31").passages[0].chunk.text
    assert pincite.store.runs(1)[0].command == "sync"


def test_the_content_type_says_how_it_is_read(site: Site, sync: Sync, pincite: Pincite) -> None:
    kinds = {
        "/plain": ("# not a heading\n\nText.", "text/plain; charset=utf-8", "text/plain"),
        "/marked": ("# A heading\n\nText.", "text/markdown", "text/markdown"),
        "/notes.md": ("# A heading\n\nText.", "text/plain", "text/markdown"),
        "/data?id=1": ('{"name": "kiwi", "colour": "green"}', "application/json", "application/json"),
        "/page.php": ("<html><body><p>Text.</p></body></html>", "text/html", "text/html"),
        "/": ("<html><body><p>Text of the root.</p></body></html>", "text/html", "text/html"),
    }
    urls = [site.put(path, body, kind) for path, (body, kind, _) in kinds.items()]
    assert set(sync(urls).values()) == {("added", "")}
    for url, (_, _, media_type) in zip(urls, kinds.values(), strict=True):
        assert pincite.documents()
        assert pincite.store.documents_of(url)[0].media_type == media_type, url


def test_what_is_gone_or_no_longer_listed_is_removed(site: Site, sync: Sync, pincite: Pincite) -> None:
    one, two, three = (site.put(f"/{n}", f"Clause {n} is about the quokka.", "text/plain") for n in range(3))
    pincite.add_text("Not from the web.", name="note.txt")
    sync([one, two, three])
    site.put("/1", "", status=410)
    assert sync([one, two, three], dry_run=True)[two] == ("removed", "")
    assert sync([one, two, three]) == {one: ("unchanged", ""), two: ("removed", ""), three: ("unchanged", "")}
    # Gone before it was ever read again: there is nothing to remove, and the list names what is not there.
    assert sync([one, two, three])[two] == ("skipped", "gone")
    assert sync([one], valid_from="2025-01-01") == {one: ("unchanged", ""), three: ("removed", "")}
    assert {each.uri for each in pincite.documents()} == {one, "stdin:note.txt"}
    assert [each.removed_on for each in pincite.history(three)] == ["2025-01-01"]


def test_lists_do_not_remove_what_another_lists(site: Site, sync: Sync, pincite: Pincite) -> None:
    one, two, three = (site.put(f"/{n}", f"Clause {n} is about the quokka.", "text/plain") for n in range(3))
    sync([one, two], "/lists/a.txt")
    sync([three], "/lists/b.txt")
    sync([two], "/lists/b.txt", remove_all=True)
    assert {each.uri for each in pincite.documents()} == {one, two}
    # One that is named itself removes nothing, and is not read as another version because of it.
    assert sync([one], "") == {one: ("unchanged", "")}
    assert {each.uri for each in pincite.documents()} == {one, two}
    # What b drops a still lists.
    assert sync([], "/lists/b.txt") == {}
    assert {each.uri for each in pincite.documents()} == {one, two}
    # What was named itself stays, and what no other list has goes with the list that drops it.
    with pytest.raises(InputError, match="--remove-all"):
        sync([], "/lists/a.txt")
    assert sync([], "/lists/a.txt", remove_all=True) == {two: ("removed", "")}
    assert {each.uri for each in pincite.documents()} == {one}


def test_a_page_read_another_way_since_still_belongs_to_its_list(site: Site, sync: Sync, pincite: Pincite) -> None:
    one, two = (site.put(f"/{n}", f"Clause {n} is about the quokka.", "text/plain") for n in range(2))
    sync([one, two])
    known = pincite.store.find_source(two)
    assert known is not None
    marks = known.reading[known.reading.index("\n") :]
    pincite.store.commit([], sources=[replace(known, reading=f"restored{marks}")])
    assert sync([one]) == {one: ("unchanged", ""), two: ("removed", "")}


def test_two_syncs_of_one_list_at_once(site: Site, tmp_path: Path) -> None:
    urls = [site.put(f"/{n}", f"Clause {n} is about the quokka.", "text/plain") for n in range(6)]
    site.slow = 0.01
    folder = tmp_path / "index"
    reports: list[dict[str, str]] = []
    # Two processes in one: each has the index open by itself, and only who writes holds it.
    with Pincite.open(folder, environment={}) as first, Pincite.open(folder, environment={}) as second:

        def run(one: Pincite) -> None:
            report = sync_urls(one, Manifest("/lists/a.txt", tuple(urls)))
            reports.append({each.uri: each.status for each in report.outcomes})

        threads = [threading.Thread(target=run, args=(each,)) for each in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(reports, key=str) == [dict.fromkeys(urls, "added"), dict.fromkeys(urls, "unchanged")]
        assert len(first.store.history()) == 6


def test_no_file_of_a_page_is_left(site: Site, sync: Sync, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    url = site.put("/a", "The kiwi rule is green.", "text/plain")
    for dry_run in (True, False):
        assert sync([url], dry_run=dry_run) == {url: ("added", "")}
        assert list(tmp_path.iterdir()) == []


def test_a_page_that_fails_keeps_the_version_that_was_read(site: Site, sync: Sync, pincite: Pincite) -> None:
    url = site.put("/a", "The kiwi rule is green.", "text/plain")
    other = site.put("/b", "The quokka clause.", "text/plain")
    sync([url, other])
    for status in (500, 403, 204):
        site.put("/a", "", "text/plain", status)
        assert sync([url, other]) == {url: ("skipped", "http-status"), other: ("unchanged", "")}
    site.put("/a", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "image/png")
    assert sync([url, other])[url] == ("skipped", "unsupported")
    assert pincite.search("kiwi rule").passages[0].chunk.version == 1
    nobody = "http://127.0.0.1:9/x"
    assert sync([url, other, nobody])[nobody] == ("skipped", "unreachable")


def test_a_page_over_the_limit_is_not_read_whole(site: Site, sync: Sync) -> None:
    big = site.put("/big", b"word " * 1_000_000, "text/plain")
    packed = site.put("/packed", gzip.compress(b"word " * 1_000_000), "text/plain", Content_Encoding="gzip")
    some = Fetching(max_bytes=100_000)
    assert sync([big, packed], fetching=some) == {big: ("skipped", "too-large"), packed: ("skipped", "too-large")}
    site.slow = 0.05
    assert sync([big], fetching=Fetching(seconds=0.2)) == {big: ("skipped", "timeout")}


def test_redirects_are_followed_told_and_bounded(site: Site, sync: Sync, pincite: Pincite) -> None:
    site.put("/new", "The kiwi rule is green.", "text/plain")
    old = site.put("/old", "", status=301, Location="/new")
    loop = site.put("/loop", "", status=302, Location="/loop")
    out = site.put("/out", "", status=302, Location="file:///etc/passwd")
    told: list[str] = []
    found = sync([old, loop, out], tell=told.append)
    assert found == {old: ("added", ""), loop: ("skipped", "redirect"), out: ("skipped", "redirect")}
    assert told == [f"{old} redirects to {site.root}/new"]
    assert pincite.show(old).uri == old
    assert sum(path == "/loop" for path, _ in site.asked) == 6


@pytest.mark.parametrize(
    "text",
    [
        "file:///etc/passwd",
        "ftp://example.org/a",
        "example.org/a",
        "http://",
        "https://me:secret@example.org/",
        "http://example.org:port/",
        "http://[::1/",
        "https://example.org/a b",
    ],
)
def test_what_is_no_page_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        page_url(text)
    assert "secret" not in str(caught.value)


def test_a_list_is_read_whole_before_anything_is_fetched(tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_text("# acts\nhttps://example.org/a#part\n\n  https://example.org/a\nhttp://example.org/b\n")
    listed, named = read_manifests([str(file), "https://example.org/c"])
    assert listed == Manifest(os.path.realpath(file), ("https://example.org/a", "http://example.org/b"))
    assert named == Manifest("", ("https://example.org/c",))
    file.write_text("https://example.org/a\nnonsense\n")
    with pytest.raises(InputError, match=r"urls.txt, line 2: 'nonsense' is not an http or https URL"):
        read_manifests([str(file)])
    with pytest.raises(InputError, match="cannot be read"):
        read_manifests([str(tmp_path / "missing.txt")])
