"""Keeping step with a folder where it is not plain what happened: nothing is lost, and nothing stays for good."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from adding_helpers import Library, told

from pincite.adding import NO_TESSERACT
from pincite.errors import InputError
from pincite.indexing import AddListener
from pincite.protocols import Source
from pincite.types import Document, FileOutcome
from pincite.validity import today


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    yield made
    made.close()


# Read another way


def test_bytes_that_are_read_another_way_keep_what_was_said_of_them(tmp_path: Path) -> None:
    first = Library(tmp_path)
    path = first.write("act.txt", "ten rupees")
    first.pipeline.add(path, metadata={"court": "high"}, valid_from="1990-01-01", valid_to="1999-12-31")
    first.close()
    second = Library(tmp_path, recipe="r2", reading="l2")
    assert told(second.pipeline.sync(second.files).outcomes) == {"act.txt": "updated"}
    (now,) = second.pipeline.documents()
    assert now.metadata == {"court": "high", "valid_from": "1990-01-01", "valid_to": "1999-12-31"}
    assert now.starts == "1990-01-01"
    assert second.found("rupees", as_of="1995-01-01") == ["ten rupees"]
    assert second.found("rupees", as_of="2005-01-01") == []
    second.close()


def test_a_scan_that_was_read_is_not_read_again_for_want_of_tesseract(tmp_path: Path) -> None:
    for reading, box_reads in (("l1, scans: auto eng", 1), ("l1, scans: auto eng" + NO_TESSERACT, 0), ("l2", 1)):
        library = Library(tmp_path, reading=reading)
        library.write("scan.box", "page=some words")
        library.pipeline.sync(library.files)
        assert library.box.read == box_reads, reading
        library.close()


# Read while it changes


def test_a_file_that_changes_while_it_is_read_is_told_and_read_again(library: Library) -> None:
    path = library.write("a.txt", "old words")
    library.pipeline.sync(library.files)
    library.write("a.txt", "new words")
    real = library.pipeline.reader

    class Meanwhile:
        def read(self, source: Source) -> Iterator[Document | FileOutcome]:
            path.write_text("other words")
            os.utime(path, ns=(1, 1))
            yield from real.read(Source(source.uri, source.name, path=source.path))

        def close(self) -> None: ...

    library.pipeline.reader = Meanwhile()
    (outcome,) = library.pipeline.sync(library.files).outcomes
    assert (outcome.status, outcome.reason) == ("skipped", "changed")
    assert library.texts() == {"a.txt": "old words"}
    library.pipeline.reader = real
    assert told(library.pipeline.sync(library.files).outcomes) == {"a.txt": "updated"}
    assert library.texts() == {"a.txt": "other words"}


# Parts of a file


class Cut:
    """A toy of a damaged container: what stands before the damage, then that the rest cannot be read."""

    def __init__(self, parts: dict[str, str], damaged: str) -> None:
        self.parts, self.damaged = parts, damaged

    def read(self, source: Source) -> Iterator[Document | FileOutcome]:
        from pincite.loaders.ids import content_hash, document_id

        for name, text in self.parts.items():
            uri = f"{source.uri}#{name}"
            yield Document(document_id(uri), text, name, uri, "text/x-toy", content_hash(text.encode()))
        yield FileOutcome(f"{source.uri}{self.damaged}", "skipped", reason="damaged")

    def close(self) -> None: ...


@pytest.mark.parametrize("damaged", ["", "#inner.zip", "#folder"])
def test_what_a_damaged_archive_no_longer_gives_stays(library: Library, damaged: str) -> None:
    library.write("a.box", "one=first words\ninner.zip#two=second words\nfolder/three=third words")
    library.pipeline.sync(library.files)
    before = library.texts()
    library.write("a.box", "damaged")
    parts = {"one": "first words", "inner.zip#two": "second words", "folder/three": "third words"}
    inside = damaged.lstrip("#")
    library.pipeline.reader = Cut(
        {name: text for name, text in parts.items() if inside and not name.startswith(inside)}, damaged
    )
    library.pipeline.sync(library.files)
    assert library.texts() == before


def test_a_part_and_a_file_with_one_address_do_not_fight(library: Library) -> None:
    library.write("a.box", "x.txt=of the box")
    library.write("a.box#x.txt", "of the file")
    library.write("z.txt", "last words")
    for _ in range(2):
        outcomes = library.pipeline.sync(library.files).outcomes
        assert [each.reason for each in outcomes if each.status == "skipped"] == ["duplicate"]
        assert library.texts()["z.txt"] == "last words"
    assert library.store.check() == []


def test_a_removed_part_comes_back_like_a_removed_file(library: Library) -> None:
    library.write("a.box", "one=first words\ntwo=second words")
    library.write("b.txt", "third words")
    library.pipeline.sync(library.files)
    for name in ("a.box#one", "b.txt"):
        library.pipeline.remove(str(library.files / name))
    assert library.texts() == {"a.box#two": "second words"}
    library.pipeline.sync(library.files)
    assert library.texts().keys() == {"a.box#one", "a.box#two", "b.txt"}
    with pytest.raises(InputError, match="holds 2 documents"):
        library.pipeline.remove(library.files / "a.box")


# Days


def test_a_correction_of_a_text_with_a_day_of_its_own_has_that_day(library: Library) -> None:
    path = library.write("a.txt", "ten rupes")
    library.pipeline.add(path, valid_from="1976-01-01")
    library.write("a.txt", "ten rupees")
    library.pipeline.add(path, valid_from="1976-01-01")
    assert library.found("ten", as_of="1980-01-01") == ["ten rupees"]


def test_a_text_that_moved_and_was_corrected_is_found_as_corrected(library: Library) -> None:
    path = library.write("a.txt", "ten rupes")
    library.pipeline.sync(library.files, valid_from="1976-01-01")
    path.rename(library.files / "b.txt")
    library.pipeline.sync(library.files)
    library.write("b.txt", "ten rupees")
    library.pipeline.add(library.files / "b.txt", valid_from="1976-01-01")
    assert library.found("ten", as_of="2099-01-01") == ["ten rupees"]
    assert library.found("ten", as_of="1980-01-01") == ["ten rupes"], "under its old address"


def test_what_replaces_a_text_that_is_not_yet_in_force_begins_with_it(library: Library) -> None:
    path = library.write("a.txt", "ten rupees")
    library.pipeline.add(path, valid_from="2999-01-01")
    library.write("a.txt", "twelve rupees")
    library.pipeline.sync(library.files)
    assert library.found("rupees", as_of="2999-06-01") == ["twelve rupees"]


def test_an_end_that_a_new_version_no_longer_gives_is_told(library: Library) -> None:
    path = library.write("a.txt", "ten rupees")
    library.pipeline.add(path, valid_to="1999-12-31")
    library.write("a.txt", "twelve rupees")
    (outcome,) = library.pipeline.sync(library.files).outcomes
    assert any("valid_to" in warning for warning in outcome.warnings)


def test_a_wrong_day_can_be_corrected_and_is_remembered(library: Library) -> None:
    path = library.write("a.txt", "ten rupees")
    library.pipeline.add(path, valid_from="1967-01-01")
    library.pipeline.add(path, valid_from="1976-01-01")
    assert library.found("rupees", as_of="1970-01-01") == []
    assert library.found("rupees", as_of="1980-01-01") == ["ten rupees"]
    known = library.pipeline.history(path)[0].added_at
    assert library.found("rupees", as_of="1970-01-01", as_recorded=known) == ["ten rupees"]


def test_what_is_removed_before_it_begins_is_told(library: Library) -> None:
    path = library.write("a.txt", "ten rupees")
    library.write("b.txt", "something else")
    library.pipeline.sync(library.files, valid_from="1995-01-01")
    path.unlink()
    outcomes = library.pipeline.sync(library.files, valid_from="1990-01-01").outcomes
    assert any("in force on no day" in warning for each in outcomes for warning in each.warnings)


# Files that are gone


def test_a_file_that_became_a_folder_is_gone(library: Library) -> None:
    path = library.write("a.txt", "some words")
    library.write("b.txt", "other words")
    library.pipeline.sync(library.files)
    path.unlink()
    library.write("a.txt/c.txt", "third words")
    library.pipeline.sync(library.files)
    assert library.texts().keys() == {"b.txt", "c.txt"}


def test_a_link_to_nothing_does_not_keep_what_it_named(library: Library) -> None:
    library.write("a.txt", "some words")
    library.write("b.txt", "other words")
    (library.files / "latest.txt").symlink_to("a.txt")
    library.pipeline.sync(library.files)
    (library.files / "a.txt").unlink()
    library.pipeline.sync(library.files)
    assert library.texts().keys() == {"b.txt"}


def test_much_that_is_gone_at_once_is_doubted_unless_it_moved(library: Library) -> None:
    for number in range(30):
        library.write(f"acts/{number}.txt", f"act number {number}")
    library.write("README.txt", "about these")
    library.pipeline.sync(library.files)
    (library.files / "acts").rename(library.files / "laws")
    assert library.pipeline.sync(library.files).count("moved") == 30
    away = library.files.parent / "away"
    shutil.move(library.files / "laws", away)
    for dry in (True, False):
        with pytest.raises(InputError, match=r"30 of the 31 documents.*--remove-all"):
            library.pipeline.sync(library.files, dry_run=dry)
    assert len(library.texts()) == 31
    assert library.pipeline.sync(library.files, remove_all=True).count("removed") == 30


def test_of_several_that_are_gone_the_one_of_the_same_name_has_moved(library: Library) -> None:
    for name in ("x/a.txt", "x/b.txt"):
        library.pipeline.add(library.write(name, "the same words"), metadata={"name": name})
    shutil.move(library.files / "x", library.files / "y")
    (library.files / "y" / "a.txt").unlink()
    library.pipeline.sync(library.files)
    (moved,) = library.pipeline.documents()
    assert moved.metadata == {"name": "x/b.txt"}
    assert moved.starts == today()


# Runs


def test_a_run_that_is_cut_off_is_remembered_with_what_it_came_to(library: Library) -> None:
    library.write("a.txt", "some words")
    library.write("b.txt", "other words")
    library.pipeline.add(library.files / "a.txt")

    class Interrupting(AddListener):
        def reading(self, uri: str) -> None:
            if uri.endswith("b.txt"):
                raise KeyboardInterrupt

    library.write("0.txt", "")
    with pytest.raises(KeyboardInterrupt):
        library.pipeline.sync(library.files, listener=Interrupting())
    (last,) = library.store.runs(1)
    assert last.command == "sync (cut off)"
    assert [Path(each.uri).name for each in last.outcomes] == ["0.txt"]


def test_a_removal_is_remembered(library: Library) -> None:
    path = library.write("a.txt", "some words")
    library.pipeline.add(path)
    library.pipeline.remove(path)
    (last,) = library.store.runs(1)
    assert (last.command, told(last.outcomes)) == ("remove", {"a.txt": "removed"})


def test_a_purge_is_remembered_and_not_what_was_purged(library: Library) -> None:
    path = library.write("a.txt", "some words")
    library.pipeline.add(path)
    library.pipeline.purge(path)
    (last,) = library.store.runs(1)
    assert (last.command, last.outcomes) == ("purge of 1", ())


def test_what_was_removed_by_mistake_is_restored_without_a_gap(library: Library) -> None:
    path = library.write("a.txt", "ten rupees")
    library.pipeline.add(path, valid_from="1950-01-26")
    library.pipeline.remove(path, on="1990-01-01")
    library.pipeline.restore(path, 1, valid_from="1990-01-01")
    for day in ("1960-01-01", "1989-12-31", "1990-01-01", "2099-01-01"):
        assert library.found("rupees", as_of=day) == ["ten rupees"], day
