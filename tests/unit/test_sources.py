from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.errors import InputError
from pincite.sources import Found, find_files

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX names, links and pipes")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("x")


def read(*names: str | Path) -> list[str]:
    """The files that would be read, in order."""
    return [str(found.path) for found in find_files(names) if not found.reason]


def passed_over(*names: str | Path) -> list[tuple[str, str]]:
    return [(str(found.path), found.reason) for found in find_files(names) if found.reason]


def test_an_index_in_a_file_is_no_document() -> None:
    import zipfile

    write("d/a.txt")
    for name, members in (("library.pincite", ("versions.jsonl", "pincite.json")), ("b.zip", ("versions.jsonl",))):
        with zipfile.ZipFile(f"d/{name}", "w") as archive:
            for member in members:
                archive.writestr(member, "x")
    Path("d/cut.zip").write_bytes(Path("d/library.pincite").read_bytes()[:60])
    assert read("d") == ["d/a.txt", "d/b.zip", "d/cut.zip"]
    assert passed_over("d") == [("d/library.pincite", "index")]
    assert passed_over("d/library.pincite") == [("d/library.pincite", "index")]


def test_files_come_as_named_and_folders_by_name(here: Path) -> None:
    write("b.txt", "d/z.txt", "d/a/2.txt", "d/a/1.txt", "d/B.txt", "a.txt")
    assert read("b.txt", "d", "a.txt") == ["b.txt", "d/B.txt", "d/a/1.txt", "d/a/2.txt", "d/z.txt", "a.txt"]
    assert read(here / "a.txt") == [str(here / "a.txt")]


def test_a_file_is_read_once_however_it_is_spelt(here: Path) -> None:
    write("d/a.txt", "d/b.txt")
    os.symlink("a.txt", "d/link.txt")
    os.symlink("d", "e")
    names = ["d/b.txt", "./d/b.txt", here / "d" / "b.txt", "d/../d/b.txt", "d", "e", "e/a.txt", "*/*.txt"]
    assert read(*names) == ["d/b.txt", "d/a.txt"]


def test_patterns() -> None:
    write("x/1.md", "x/2.md", "x/y/3.md", "x/4.txt", "x/.5.md")
    assert read("x/*.md") == ["x/1.md", "x/2.md"]
    assert read("x/**/*.md") == ["x/1.md", "x/2.md", "x/y/3.md"]
    assert read("x/[12].md") == ["x/1.md", "x/2.md"]
    assert read("?") == ["x/1.md", "x/2.md", "x/4.txt", "x/y/3.md"]


@pytest.mark.parametrize("name", ["missing.txt", "", "missing/", "a\0b", "~nobody-of-this-name/x"])
def test_a_name_of_nothing_is_an_error_before_anything_is_read(name: str) -> None:
    write("a.txt")
    with pytest.raises(InputError, match="no file or folder"):
        find_files(["a.txt", name])


def test_a_pattern_of_nothing_says_so() -> None:
    with pytest.raises(InputError, match=r"no file matches '\*\.pdf'"):
        find_files(["*.pdf"])


def test_the_home_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    write("notes.txt")
    assert read("~/notes.txt") == [str(here / "notes.txt")]
    assert read("~/*.txt") == [str(here / "notes.txt")]


def test_hidden_things_are_named_and_read_only_when_asked_for() -> None:
    write("d/.git/config", "d/.env", "d/a.txt", ".hidden/b.txt")
    assert read("d") == ["d/a.txt"]
    assert passed_over("d") == [("d/.env", "hidden"), ("d/.git", "hidden")]
    assert read("d/.env", ".hidden") == ["d/.env", ".hidden/b.txt"]
    assert read(".") == ["d/a.txt"]


@posix
def test_loops_of_links_end() -> None:
    write("d/a.txt")
    os.symlink("self", "d/self")
    os.symlink("pong", "d/ping")
    os.symlink("ping", "d/pong")
    os.symlink("nowhere", "d/broken")
    assert read("d") == ["d/a.txt"]
    assert passed_over("d") == [(f"d/{name}", "unreadable") for name in ("broken", "ping", "pong", "self")]
    assert passed_over("d/self", "d/broken") == [("d/self", "unreadable"), ("d/broken", "unreadable")]
    assert list(find_files(["d/broken"])) == [Found(Path("d/broken"), "unreadable", "a link to nothing")]


@posix
def test_a_link_is_followed_in_its_folder_and_never_out_of_it() -> None:
    write("client/a.txt", "client/deep/b.txt", "client2/c.txt", "other/d.txt")
    os.symlink("..", "client/up")
    os.symlink("../other", "client/folder")
    os.symlink("../../other/d.txt", "client/deep/file")
    os.symlink("../client2/c.txt", "client/like")  # the name begins as the folder's does
    os.symlink("deep", "client/a-within")
    assert read("client") == ["client/a-within/b.txt", "client/a.txt"]
    outside = ["client/a-within/file", "client/folder", "client/like", "client/up"]
    assert sorted(passed_over("client")) == [(name, "outside") for name in outside]
    # What is named itself is read, whatever it is.
    os.symlink("client", "all")
    assert read("all") == ["all/a-within/b.txt", "all/a.txt"]
    assert read("client/folder", "client/deep/file") == ["client/folder/d.txt"]


def test_an_index_is_not_a_folder_of_documents() -> None:
    write("papers/a.txt", "papers/index/catalogue.sqlite", "papers/index/points-1.edge/x")
    assert read("papers") == ["papers/a.txt"]
    assert passed_over("papers") == [("papers/index", "index")]
    with pytest.raises(InputError, match="is an index of pincite"):
        find_files(["papers/index"])


@posix
@pytest.mark.timeout(5)
def test_a_pipe_is_passed_over_and_never_opened() -> None:
    Path("d").mkdir()
    os.mkfifo("d/pipe")
    assert list(find_files(["d", "d/pipe"])) == [Found(Path("d/pipe"), "unreadable", "not a regular file")]
    assert passed_over("/dev/null") == [("/dev/null", "unreadable")]


@posix
def test_odd_names(here: Path) -> None:
    names = ["[a].txt", "a b.txt", "a\nb.txt", "naïve 法.txt", "*.txt", "-", "--help"]
    for name in names:
        (here / name).write_text("x")
    for name in names:
        assert read(name) == [name]  # as it stands, and not as a pattern
    assert read(".") == sorted(names)


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes no such names")
def test_a_name_that_is_no_text_is_passed_over() -> None:
    name = os.fsdecode(b"\xff\xfe.txt")
    write(name, f"{name}.d/a.txt", "b.txt")
    assert read(".") == ["b.txt"]
    assert passed_over(".") == [(name, "unreadable"), (f"{name}.d/a.txt", "unreadable")]


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="nothing is unreadable for root")
def test_a_closed_folder_is_named_and_the_rest_is_read() -> None:
    write("d/a/1.txt", "d/b/2.txt")
    os.chmod("d/a", 0)
    try:
        assert read("d") == ["d/b/2.txt"]
        assert passed_over("d") == [("d/a", "unreadable")]
    finally:
        os.chmod("d/a", 0o700)


def test_an_error_of_the_file_system_passes_over_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    write("d/a/1.txt", "d/b/2.txt")
    iterdir = Path.iterdir

    def fails(self: Path) -> Iterator[Path]:
        if self.name == "a":
            raise PermissionError(13, "Permission denied")
        return iter(list(iterdir(self)))

    monkeypatch.setattr(Path, "iterdir", fails)
    assert list(find_files(["d"])) == [
        Found(Path("d/a"), "unreadable", "Permission denied"),
        Found(Path("d/b/2.txt")),
    ]


def test_folders_may_lie_deeper_than_calls(here: Path) -> None:
    deep = here / "/".join(["d"] * 300)
    deep.mkdir(parents=True)
    (deep / "leaf.txt").write_text("x")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 150)
    try:
        found = list(find_files(["."]))
    finally:
        sys.setrecursionlimit(limit)
    assert [each.path.name for each in found] == ["leaf.txt"]
