"""Adding: what is new, changed and as it was; files of several documents; nothing is encoded twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from adding_helpers import Library, told

from pincite.errors import InputError
from pincite.protocols import Source
from pincite.store.catalogue import Catalogue
from pincite.store.plan import Retention


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    yield made
    made.close()


# What is encoded


def test_equal_text_in_two_files_is_encoded_once(library: Library) -> None:
    library.write("a.txt", "the same words stand here")
    library.write("b.txt", "the same words stand here")
    report = library.pipeline.add(library.files)
    assert told(report.outcomes) == {"a.txt": "added", "b.txt": "added"}
    assert report.encoded == len(library.encoder.given) == 1
    assert len(library.found("words")) == 2
    library.write("c.txt", "the same words stand here")
    assert library.pipeline.add(library.files).encoded == 0


def test_a_text_that_comes_back_is_not_encoded_again(library: Library) -> None:
    path = library.write("a.txt", "first text")
    library.pipeline.add(path)
    library.write("a.txt", "second text")
    assert library.pipeline.add(path).encoded == 1
    library.write("a.txt", "first text")
    report = library.pipeline.add(path)
    assert (report.encoded, told(report.outcomes)) == (0, {"a.txt": "updated"})
    library.pipeline.remove(path)
    report = library.pipeline.add(path)
    assert (report.encoded, told(report.outcomes)) == (0, {"a.txt": "added"})
    assert library.encoder.given.count("first text") <= 1
    assert library.found("text") == ["first text"]


def test_of_an_edited_file_only_the_chunks_that_changed_are_encoded(library: Library) -> None:
    parts = [f"part {n} " + "word " * 30 for n in range(6)]
    path = library.write("a.txt", "\n\n".join(parts))
    assert library.pipeline.add(path).encoded == 6
    parts[3] = parts[3].replace("part", "changed")
    library.write("a.txt", "\n\n".join(parts))
    assert library.pipeline.add(path).encoded == 1
    document = library.pipeline.documents()[0]
    # The vectors that were taken over are those of the texts.
    chunks = library.store.chunks(document.id)
    vectors = library.store.vectors([chunk.id for chunk in chunks])
    expected = library.encoder.encode_passages([chunk.text for chunk in chunks])
    assert abs(vectors - expected).max() < 1e-5


def test_after_purge_it_is_encoded_again(library: Library) -> None:
    path = library.write("a.txt", "first text")
    library.pipeline.add(path)
    library.pipeline.purge(path)
    report = library.pipeline.add(path)
    assert (report.encoded, told(report.outcomes)) == (1, {"a.txt": "added"})
    assert report.outcomes[0].version == 2


def test_a_restored_text_is_not_encoded_again(library: Library) -> None:
    path = library.write("a.txt", "first text")
    library.pipeline.add(path)
    library.write("a.txt", "second text")
    library.pipeline.add(path)
    given = len(library.encoder.given)
    restored = library.pipeline.restore(path, 1)
    assert len(library.encoder.given) == given
    assert (restored.version, library.found("text")) == (3, ["first text"])
    with pytest.raises(InputError, match="is the current one"):
        library.pipeline.restore(path, 3)
    with pytest.raises(InputError, match="version 9"):
        library.pipeline.restore(path, 9)


# The same again


def test_adding_again_changes_nothing(library: Library) -> None:
    library.write("a.txt", "some text")
    library.pipeline.add(library.files, metadata={"team": "red"})
    before = library.store.history()
    again = library.pipeline.add(library.files, metadata={"team": "red"})
    assert told(again.outcomes) == {"a.txt": "unchanged"}
    assert library.store.history() == before


def test_what_is_said_of_a_file_makes_a_version(library: Library) -> None:
    path = library.write("a.txt", "some text")
    library.pipeline.add(path)
    assert told(library.pipeline.add(path, valid_from="2020").outcomes) == {"a.txt": "updated"}
    assert told(library.pipeline.add(path, valid_from="2020-01-01").outcomes) == {"a.txt": "unchanged"}
    assert library.pipeline.documents()[0].starts == "2020-01-01"
    assert library.found("text", as_of="2019-12-31") == [], "what is said anew of the same bytes holds instead"
    assert len(library.pipeline.history(path)) == 2


def test_one_source_named_twice_in_a_run_is_one_document(library: Library) -> None:
    report = library.pipeline.add_sources(
        [Source("stdin:a.txt", "a.txt", b"first"), Source("stdin:a.txt", "a.txt", b"second"),
         Source("stdin:a.txt", "a.txt", b"second")]
    )  # fmt: skip
    assert [outcome.status for outcome in report.outcomes] == ["added", "updated", "unchanged"]
    assert library.texts() == {"stdin:a.txt": "second"}
    assert len(library.pipeline.history("a.txt")) == 2


def test_another_recipe_or_way_of_reading_cuts_and_reads_again(tmp_path: Path) -> None:
    library = Library(tmp_path)
    library.write("a.txt", "some text")
    library.pipeline.add(library.files)
    library.close()
    library = Library(tmp_path, recipe="r2")
    report = library.pipeline.add(library.files)
    assert (told(report.outcomes), report.encoded) == ({"a.txt": "updated"}, 0)
    library.close()
    # Read another way it is the same text: no new version.
    library = Library(tmp_path, recipe="r2", reading="l2")
    report = library.pipeline.add(library.files)
    assert (told(report.outcomes), report.encoded) == ({"a.txt": "unchanged"}, 0)
    assert len(library.store.history()) == 2
    library.close()


def test_a_shorter_file_leaves_nothing_of_the_longer_one(library: Library) -> None:
    """Without history: no word, vector, chunk or count of what was there before."""
    library.close()
    library = Library(library.files.parent, Retention(0))
    path = library.write("a.txt", "\n\n".join(f"oldword{n} " + "filler " * 30 for n in range(8)))
    library.pipeline.add(path)
    library.write("a.txt", "newword")
    library.pipeline.add(path)
    assert library.store.point_count == 1
    assert [library.found(f"oldword{n}") for n in range(8)] == [[]] * 8
    assert library.store.check() == []
    library.close()


# Sources of several documents


def test_a_changed_member_is_updated_and_the_others_are_as_they_were(library: Library) -> None:
    path = library.write("x.box", "one=first text\ntwo=second text\nthree=third text\n")
    assert set(told(library.pipeline.add(path).outcomes).values()) == {"added"}
    library.write("x.box", "one=first text\ntwo=changed text\nthree=third text\n")
    report = library.pipeline.add(path)
    assert told(report.outcomes) == {"x.box#one": "unchanged", "x.box#two": "updated", "x.box#three": "unchanged"}
    assert report.encoded == 1
    assert library.texts() == {"x.box#one": "first text", "x.box#two": "changed text", "x.box#three": "third text"}


def test_a_source_that_is_as_it_was_is_not_parsed(library: Library) -> None:
    path = library.write("x.box", "one=first text\ntwo=second text\n")
    library.pipeline.add(path)
    read = library.box.read
    report = library.pipeline.add(path)
    assert [(outcome.status, outcome.chunks) for outcome in report.outcomes] == [("unchanged", 2)]
    assert library.box.read == read


def test_a_member_that_is_gone_goes_with_the_commit_that_brings_the_others(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = library.write("x.box", "one=first text\ntwo=second text\n")
    library.pipeline.add(path)
    library.write("x.box", "two=changed text\nthree=third text\n")
    seen = []
    real = Catalogue.commit

    def commit(*args: object, **more: object) -> object:
        done = real(*args, **more)  # type: ignore[arg-type]
        catalogue = args[0]
        assert isinstance(catalogue, Catalogue)
        seen.append(sorted(Path(each.uri).name for each in catalogue.listed()))
        return done

    monkeypatch.setattr(Catalogue, "commit", commit)
    report = library.pipeline.add(path)
    assert told(report.outcomes) == {"x.box#two": "updated", "x.box#three": "added", "x.box#one": "removed"}
    assert seen == [["x.box#three", "x.box#two"]]
    assert library.found("first") == []
    assert [each.current for each in library.pipeline.history("x.box#one")] == [False]


def test_a_member_that_cannot_be_read_keeps_its_version_and_is_tried_again(library: Library) -> None:
    path = library.write("x.box", "one=first text\ntwo=second text\n")
    library.pipeline.add(path)
    library.write("x.box", "one=!\ntwo=second text again\n")
    for _ in range(2):
        report = library.pipeline.add(path)
        assert told(report.outcomes)["x.box#one"] == "skipped"
        assert library.texts() == {"x.box#one": "first text", "x.box#two": "second text again"}
    library.write("x.box", "one=mended text\ntwo=second text again\n")
    assert told(library.pipeline.add(path).outcomes) == {"x.box#one": "updated", "x.box#two": "unchanged"}


def test_a_source_that_cannot_be_read_keeps_everything(library: Library) -> None:
    path = library.write("x.box", "one=first text\ntwo=second text\n")
    library.pipeline.add(path)
    library.write("x.box", "!!\n")
    assert told(library.pipeline.add(path).outcomes) == {"x.box": "skipped"}
    assert library.texts() == {"x.box#one": "first text", "x.box#two": "second text"}


def test_two_members_of_one_name_are_one_and_the_second_is_named(library: Library) -> None:
    path = library.write("x.box", "one=first text\none=second text\n")
    report = library.pipeline.add(path)
    assert [(outcome.status, outcome.reason) for outcome in report.outcomes] == [
        ("skipped", "duplicate"),
        ("added", ""),
    ]
    assert library.texts() == {"x.box#one": "first text"}


def test_a_source_larger_than_a_batch_becomes_visible_at_one_moment(library: Library) -> None:
    path = library.write("x.box", "\n".join(f"m{n}=old text {n}" for n in range(700)))
    library.pipeline.add(path)
    library.write("x.box", "\n".join(f"m{n}=new text {n}" for n in range(100, 700)))
    library.pipeline.add(path)
    moments = {each.added_at for each in library.pipeline.documents()}
    ended = {each.ended_at for each in library.store.history() if not each.current}
    assert len(moments) == 1
    assert moments == ended
    assert library.store.document_count == 600


def test_interrupted_nothing_is_half_done_and_the_rest_is_done_later(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(20):
        library.write(f"f{n:02}.txt", "\n\n".join(f"file{n} part{m} " + "word " * 30 for m in range(40)))
    committed: list[str] = []
    real = type(library.encoder).encode_passages

    def interrupted(*args: object) -> object:
        if len(library.encoder.given) > 400:
            raise KeyboardInterrupt
        return real(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(type(library.encoder), "encode_passages", interrupted)
        with pytest.raises(KeyboardInterrupt):
            library.pipeline.add(library.files)
    committed = [Path(each.uri).name for each in library.pipeline.documents()]
    assert 0 < len(committed) < 20
    assert library.store.check() == []
    assert library.store.point_count == 40 * len(committed)
    report = library.pipeline.add(library.files)
    assert {name for name, status in told(report.outcomes).items() if status == "unchanged"} == set(committed)
    assert report.encoded == 40 * (20 - len(committed))


# Days


def test_days_given_win_over_the_files_own_and_wrong_ones_are_refused(library: Library) -> None:
    path = library.write("a.txt", "some text")
    for wrong in ("yesterday", "2024-13-01", "2024-02-30"):
        with pytest.raises(InputError, match="no day"):
            library.pipeline.add(path, valid_from=wrong)
    assert library.pipeline.documents() == []
    library.pipeline.add(path, metadata={"valid_from": "2001-01-01"}, valid_from="2002-02-02", valid_to="2003")
    (stored,) = library.pipeline.documents()
    assert (stored.starts, stored.valid_to) == ("2002-02-02", "2003-12-31"), "a year ends on its last day"
    assert library.found("text", as_of="2003-12-31") == ["some text"]
    assert library.found("text", as_of="2004-01-01") == []
    assert library.found("text") == ["some text"], "the days are asked for by who names a day"
