"""A text too long for one document: all of it, in parts that begin and end where a reader would, in little memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.errors import LoadError, NoTextError, UnsupportedFormatError
from pincite.loaders.ids import content_hash
from pincite.loaders.long_text import LongTextLoader
from pincite.loaders.markdown import MarkdownLoader
from pincite.loaders.text import TextLoader
from pincite.protocols import Container, Source
from pincite.types import Document, FileOutcome


def parts(data: bytes, part: int = 100, name: str = "notes.txt") -> list[Document]:
    inner = MarkdownLoader() if name.endswith(".md") else TextLoader()
    found = list(LongTextLoader(inner, limit=part, part=part).load_all(Source(f"/f/{name}", name, data)))
    assert all(isinstance(each, Document) for each in found)
    return [each for each in found if isinstance(each, Document)]


def test_it_is_a_container_that_reads_short_files_as_they_are() -> None:
    loader = LongTextLoader(TextLoader())
    assert isinstance(loader, Container)
    source = Source("/f/a.txt", "a.txt", b"short")
    assert list(loader.load_all(source)) == [TextLoader().load(source)]
    assert (loader.name, loader.suffixes) == ("text", TextLoader.suffixes)


def test_a_part_says_where_it_is_from(tmp_path: Path) -> None:
    text = "".join(f"Paragraph {i} of the notes.\n\n" for i in range(40)).encode()
    path = tmp_path / "notes.txt"
    path.write_bytes(text)
    loader = LongTextLoader(TextLoader(), limit=500, part=400)
    found = list(loader.load_all(Source(str(path), "notes.txt", path=path)))
    assert len(found) > 2
    assert found == [
        part for part in loader.load_all(Source(str(path), "notes.txt", text)) if isinstance(part, Document)
    ]
    for number, part in enumerate(found, 1):
        assert isinstance(part, Document)
        start = part.metadata["from_byte"]
        assert isinstance(start, int)
        piece = text[start : start + len(part.text.encode())]
        assert part.text.encode() == piece
        assert part.content_hash == content_hash(piece)
        assert part.uri == f"{path}#part-{number:04d}"
        assert part.title == f"notes (part {number})"
        assert part.metadata["part"] == number
        assert part.text.startswith("Paragraph")
        assert part.text.endswith(".\n\n")
        assert not part.warnings


def test_what_is_appended_leaves_the_parts_before_the_last_as_they_are() -> None:
    lines = "".join(f"line {i}\n" for i in range(200)).encode()
    before, after = parts(lines), parts(lines + b"one more line\n" * 20)
    assert len(after) > len(before) > 5
    assert after[: len(before) - 1] == before[:-1]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("word word\n\nword. word\n" * 30, "\n\n"),
        ("word word\r\n\r\nword. word\r\n" * 30, "\n\n"),
        ("a line. of words\n" * 30, "\n"),
        ("a line. of words\r\n" * 30, "\n"),
        ("a line. of words\r" * 30, "\n"),
        ("A sentence of words. " * 30, ". "),
        ("一句话。" * 100, "。"),
        ("words without an end " * 30, " "),
    ],
)
@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-32"])
def test_a_part_ends_at_the_best_place_there_is(text: str, ends: str, codec: str) -> None:
    found = parts(text.encode(codec), {"utf-8": 120, "utf-16": 240, "utf-32": 480}[codec])
    assert len(found) > 2
    assert "".join(part.text for part in found) == text.replace("\r\n", "\n").replace("\r", "\n")
    assert all(part.text.endswith(ends) for part in found[:-1])
    assert not any(part.warnings for part in found)


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("word", ["x", "é", "e\u0301\u0323", "नि", "👩\u200d👧", "🇮🇳", "漢"])
def test_one_line_without_a_space_is_cut_between_what_a_reader_sees_as_characters(word: str, codec: str) -> None:
    text = word * 300
    mark = b"\xff\xfe" if codec == "utf-16-le" else b"\xfe\xff" if codec == "utf-16-be" else b""
    found = parts(mark + text.encode(codec))
    assert "".join(part.text for part in found) == text
    assert len(found) > 2
    clusters = set(regex.findall(r"\X", text))
    assert all(set(regex.findall(r"\X", part.text)) <= clusters for part in found)


@settings(max_examples=200)
@given(
    st.text(st.sampled_from("ab \n\r.é漢\u0301👩\u200d\u200b\x1b[1m"), min_size=150, max_size=600),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
def test_nothing_is_lost_between_parts(text: str, codec: str) -> None:
    data = ("visible" + text).encode(codec)
    whole = TextLoader().load(Source("/f/a.txt", "a.txt", data))
    found = parts(data)
    # What is invisible may be judged by its neighbour on the other side of a cut; blank parts are left out.
    assert [c for part in found for c in part.text if c.isalnum() or c == "."] == [
        c for c in whole.text if c.isalnum() or c == "."
    ]
    assert sum(part.text.count("\n") for part in found) <= whole.text.count("\n")


def test_a_detected_encoding_holds_for_every_part() -> None:
    text = ("Der Vertrag über die Prüfung größerer Häuser gilt für ein Jahr.\n\n" * 30) + "plain\n\n" * 30 + "Größe\n"
    found = parts(text.encode("cp1252"), 1000)
    assert "".join(part.text for part in found) == text
    assert {part.metadata["encoding"] for part in found} == {"cp1252"}
    assert all("detected as cp1252" in part.warnings[0] for part in found)


def test_a_byte_that_is_broken_later_is_replaced_and_counted() -> None:
    text = "Größe und Häuser überall\n" * 40
    data = bytearray(text.encode())
    at = data.rfind("ß".encode())
    data[at] = 0xFF
    found = parts(bytes(data), 400)
    assert "".join(part.text for part in found).count("\ufffd") in (1, 2)
    assert [part for part in found if part.warnings] == found[-1:]
    assert "could not be read as utf-8" in found[-1].warnings[0]
    wide = bytearray(text.encode("utf-16"))
    wide[-6:-4] = b"\x00\xd8"  # half a surrogate pair
    found = parts(bytes(wide), 400)
    assert [part for part in found if part.warnings] == found[-1:]
    assert "1 byte sequence could not be read as utf-16-le" in found[-1].warnings


def test_binary_data_is_refused_at_the_head_and_passed_over_later() -> None:
    text, noise = b"a line of text\n" * 20, bytes(range(32)) * 10
    with pytest.raises(UnsupportedFormatError):
        parts(noise + text)
    source = Source("/f/a.txt", "a.txt", text + noise + text * 4)
    found = list(LongTextLoader(TextLoader(), limit=100, part=300).load_all(source))
    skipped = [each for each in found if isinstance(each, FileOutcome)]
    assert 1 <= len(skipped) <= 3
    assert {(each.status, each.reason) for each in skipped} == {("skipped", "unsupported")}
    assert skipped[0].uri == "/f/a.txt#part-0002"
    assert isinstance(found[-1], Document)


def test_blank_parts_are_left_out_and_a_blank_file_has_no_text() -> None:
    found = parts(b"words\n" + b" \n" * 300 + b"more\n")
    assert [part.text.strip() for part in found] == ["words", "more"]
    with pytest.raises(NoTextError):
        parts(b" \n" * 300)


def test_a_file_that_was_cut_off_meanwhile(tmp_path: Path) -> None:
    class Shrunk(Source):
        @property
        def size(self) -> int:
            return 1000

    path = tmp_path / "a.txt"
    path.write_bytes(b"a line\n" * 20)
    found = list(LongTextLoader(TextLoader(), limit=100, part=100).load_all(Shrunk("/f/a.txt", "a.txt", path=path)))
    assert "".join(part.text for part in found if isinstance(part, Document)) == "a line\n" * 20


def test_long_markdown_has_its_headings_and_says_what_it_loses() -> None:
    text = "# Book\n\n" + "".join(f"## Chapter {i}\n\nwords of it\n\n---\nkey: value\n---\n\n" for i in range(30))
    found = parts(text.encode(), 200, "book.md")
    assert len(found) > 3
    assert "".join(part.text.lstrip("\n") for part in found).count("key: value") == 30
    assert sum(len(part.headings) for part in found) >= 31
    assert all(part.title.startswith("Book (part ") for part in found)
    assert [bool(part.warnings) for part in found] == [False] + [True] * (len(found) - 1)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process by itself is known on Linux")
def test_memory_is_that_of_one_part(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    with path.open("wb") as file:
        for i in range(60):
            file.write("".join(f"line {i} {j} ünï “quoted”\n" for j in range(34_000)).encode())
    assert path.stat().st_size > 60_000_000
    program = f"""
from pathlib import Path
from pincite.loaders.choose import choose_loader
from pincite.loaders.long_text import LongTextLoader
from pincite.loaders.text import TextLoader
from pincite.protocols import Source
path = Path({str(path)!r})
source = Source(str(path), path.name, path=path)
loader = choose_loader([LongTextLoader(TextLoader())], source)
print(sum(len(part.text.encode()) for part in loader.load_all(source)))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    size, peak = map(int, done.stdout.split())
    assert size == path.stat().st_size
    assert peak < 120_000  # kilobytes


def test_only_a_loaders_own_errors_come_out() -> None:
    loader = LongTextLoader(TextLoader(), limit=10, part=100)
    for data in (b"\xff\xfe" * 200, b"\x00" * 500, b"\xfe\xff" + b"\xd8" * 301, b"\xff\xfe\x00\x00" + b"\xff" * 99):
        with pytest.raises(LoadError):
            list(loader.load_all(Source("/f/a.txt", "a.txt", data)))
