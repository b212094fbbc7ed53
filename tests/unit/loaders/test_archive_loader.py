"""Archives: every kind, odd names, archives within archives, limits, damage."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable

import pytest
from loader_samples import docx, p

from pincite.errors import EncryptedError, LoadError, UnsupportedFormatError
from pincite.formats import build_loaders
from pincite.loaders.archive import ArchiveLoader
from pincite.loaders.mail import MailLoader
from pincite.loaders.markdown import MarkdownLoader
from pincite.loaders.read import read_documents
from pincite.loaders.text import TextLoader
from pincite.protocols import Container, Loader, Source
from pincite.types import Document, FileOutcome

FILES = {"a.txt": b"first", "dir/b.md": b"# Second\n\ntext"}


def make_zip(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def make_tar(files: dict[str, bytes], mode: str = "w", extra: tuple[tarfile.TarInfo, ...] = ()) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in extra:
            archive.addfile(info)
    return buffer.getvalue()


def unpack(
    data: bytes, name: str = "x.zip", depth: int = 2, max_bytes: int = 1 << 30, max_files: int = 1000
) -> list[Document | FileOutcome]:
    loaders: list[Loader | Container] = []
    archive = ArchiveLoader(lambda: loaders, depth, max_bytes, max_files)
    loaders += [archive, MailLoader(lambda: loaders), MarkdownLoader(), TextLoader()]
    return list(archive.load_all(Source(f"/{name}", name, data)))


def summary(found: list[Document | FileOutcome]) -> list[tuple[str, str]]:
    return [(each.uri, each.text if isinstance(each, Document) else each.reason) for each in found]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.zip", make_zip(FILES)),
        ("x.zip", make_zip(FILES, zipfile.ZIP_LZMA)),
        ("x.zip", b"#!/bin/sh\nexit\n" + make_zip(FILES)),
        ("x.tar", make_tar(FILES)),
        ("x.tar.gz", make_tar(FILES, "w:gz")),
        ("x.tgz", make_tar(FILES, "w:gz")),
        ("x.tar.bz2", make_tar(FILES, "w:bz2")),
        ("x.tar.xz", make_tar(FILES, "w:xz")),
        ("unheard", make_tar(FILES, "w:xz")),
    ],
)
def test_every_kind_gives_its_files(name: str, data: bytes) -> None:
    found = unpack(data, name)
    assert summary(found) == [(f"/{name}#a.txt", "first"), (f"/{name}#dir/b.md", "# Second\n\ntext")]
    assert isinstance(found[1], Document)
    assert found[1].title == "Second"


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_single_compressed_file(pack: Callable[[bytes], bytes]) -> None:
    suffix = {gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}[pack]
    assert summary(unpack(pack(b"# T\n\nx"), f"notes.md{suffix}")) == [(f"/notes.md{suffix}#notes.md", "# T\n\nx")]


def test_the_loaders_of_the_build_open_archives_in_mail_in_archives() -> None:
    attached = zlib.compress(b"")  # only to have bytes that no loader reads
    inner = make_zip({"deep.txt": b"deep", "x.bin": attached + bytes(50)})
    head = b"From: a@b\nSubject: S\nContent-Type: multipart/mixed; boundary=q\n\n--q\n\nhello\n--q\n"
    part = b"Content-Type: application/zip; name=i.zip\nContent-Transfer-Encoding: base64\n\n"
    mail = head + part + base64.encodebytes(inner) + b"--q--\n"
    found = list(read_documents(build_loaders(), Source("/x.zip", "x.zip", make_zip({"m.eml": mail}))))
    assert [each.uri for each in found][:1] == ["/x.zip#m.eml"]
    # The archive lies in two files already, which is the depth allowed.
    assert summary(found)[1] == ("/x.zip#m.eml#attachments/i.zip", "archive-limit")


def test_archives_within_archives_up_to_the_depth() -> None:
    data = make_zip({"a.txt": b"inmost"})
    for i in range(3):
        data = make_tar({f"{i}.zip": data}) if i % 2 else make_zip({f"{i}.tar": data, f"{i}.txt": b"%d" % i})
    assert summary(unpack(data, depth=2)) == [("/x.zip#2.tar#1.zip", "archive-limit"), ("/x.zip#2.txt", "2")]
    assert ("/x.zip#2.tar#1.zip#0.tar#a.txt", "inmost") in summary(unpack(data, depth=4))
    assert summary(unpack(data, depth=0)) == [("/x.zip", "archive-limit")]


def test_paths_that_lead_out_are_not_read() -> None:
    names = ["../up.txt", "/etc/passwd", "C:\\x.txt", "a/../../b.txt", "..\\w.txt"]
    for data in (make_zip(dict.fromkeys(names, b"x")), make_tar(dict.fromkeys(names, b"x"))):
        found = unpack(data)
        assert len(found) == len(names)
        assert all(isinstance(each, FileOutcome) and "leads out" in each.detail for each in found)


def test_links_and_devices_are_not_read() -> None:
    link, hard, device = tarfile.TarInfo("l.txt"), tarfile.TarInfo("h.txt"), tarfile.TarInfo("d.txt")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    hard.type, hard.linkname = tarfile.LNKTYPE, "a.txt"
    device.type = tarfile.CHRTYPE
    found = unpack(make_tar({"a.txt": b"x"}, extra=(link, hard, device)))
    assert [reason for _, reason in summary(found)] == ["x", "unreadable", "unreadable", "unreadable"]
    info = zipfile.ZipInfo("l.txt")
    info.external_attr = 0o120777 << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    assert summary(unpack(buffer.getvalue())) == [("/x.zip#l.txt", "unreadable")]


def test_what_systems_leave_behind_is_passed_over_and_hidden_files_are_counted() -> None:
    names = ["__MACOSX/._a.txt", ".DS_Store", "d/Thumbs.db", ".git/HEAD", ".git/config", "a.txt"]
    assert summary(unpack(make_zip(dict.fromkeys(names, b"x")))) == [("/x.zip#a.txt", "x"), ("/x.zip#.", "hidden")]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_of_one_name_have_addresses_of_their_own() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for text in ("one", "two"):
            archive.writestr("a.txt", text)
        archive.writestr("a.txt~2", "named so")
        archive.writestr("b#c.txt", "three")
    uris = [uri for uri, _ in summary(unpack(buffer.getvalue()))]
    assert uris == ["/x.zip#a.txt", "/x.zip#a.txt~2", "/x.zip#a.txt~2~2", "/x.zip#b%23c.txt"]


def test_names_that_are_not_marked_as_utf8() -> None:
    data = make_zip({"Grxxe.txt": b"x"})
    raw = "Grüe.txt".encode()
    assert summary(unpack(data.replace(b"Grxxe.txt", raw)))[0][0] == "/x.zip#Grüe.txt"
    assert summary(unpack(data.replace(b"Grxxe.txt", b"Gr\x81\x81e.txt")))[0][0] == "/x.zip#Grüüe.txt"
    tar = make_tar({"Grxxe.txt": b"x"})
    old, new = b"Grxxe.txt", b"Gr\xfcxe.txt"
    header = bytearray(tar.replace(old, new))
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\x00 " % sum(header[:512])
    uri = summary(unpack(bytes(header), "x.tar"))[0][0]
    uri.encode()
    assert uri == "/x.tar#Grüxe.txt"


def encrypted(data: bytes) -> bytes:
    """`data` with the mark of a password on every member."""
    out = bytearray(data)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = out.find(signature)
        while start >= 0:
            out[start + at] |= 1
            start = out.find(signature, start + 1)
    return bytes(out)


def test_passwords() -> None:
    with pytest.raises(EncryptedError):
        unpack(encrypted(make_zip(FILES)))
    data = bytearray(make_zip(FILES))
    second = data.find(b"PK\x01\x02", data.find(b"PK\x01\x02") + 1)
    data[second + 8] |= 1
    assert summary(unpack(bytes(data))) == [("/x.zip#a.txt", "first"), ("/x.zip#dir/b.md", "encrypted")]


def test_a_bomb_is_stopped_by_what_comes_out_of_it() -> None:
    bomb = make_zip({"a.txt": b"first", "zeros.txt": bytes(60 << 20), "b.txt": b"last"})
    assert summary(unpack(bomb)) == [
        ("/x.zip#a.txt", "first"),
        ("/x.zip#zeros.txt", "archive-limit"),
        ("/x.zip#b.txt", "last"),
    ]
    assert summary(unpack(gzip.compress(bytes(60 << 20)), "z.gz")) == [("/z.gz", "archive-limit")]
    tar = make_tar({"a.txt": b"first", "zeros.txt": bytes(60 << 20), "b.txt": b"last"}, "w:gz")
    assert summary(unpack(tar, "x.tgz")) == [("/x.tgz#a.txt", "first"), ("/x.tgz", "archive-limit")]


def test_declared_sizes_are_not_believed() -> None:
    data = make_zip({"a.txt": b"word " * 100_000})
    small = data.replace((500_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert small != data
    [(uri, reason)] = summary(unpack(small, max_bytes=100_000))
    assert uri.startswith("/x.zip")
    assert reason in ("unreadable", "archive-limit")


def test_the_limits_hold_for_all_archives_together() -> None:
    inner = make_zip({f"{i}.txt": b"word " * 2000 for i in range(3)})
    outer = make_zip({"1.zip": inner, "2.zip": inner})
    found = summary(unpack(outer, max_bytes=35_000 + 2 * len(inner)))
    assert [uri for uri, _ in found] == [f"/x.zip#1.zip#{i}.txt" for i in range(3)] + ["/x.zip#2.zip"]
    assert found[-1][1] == "archive-limit"
    found = summary(unpack(outer, max_files=6))
    assert len([text for _, text in found if text.startswith("word")]) == 4
    assert [each for each in found if each[1] == "archive-limit"] == [("/x.zip#2.zip", "archive-limit")]


def test_the_rest_beyond_the_limit_is_one_outcome() -> None:
    files = {f"{i}.txt": b"x" for i in range(50)}
    for data, name in ((make_zip(files), "x.zip"), (make_tar(files), "x.tar")):
        found = summary(unpack(data, name, max_files=10))
        assert len(found) == 11
        assert found[-1] == (f"/{name}", "archive-limit")


def test_a_sparse_file_of_any_size_takes_nothing() -> None:
    # The GNU form: a map of no pieces and a real size of one terabyte.
    header = bytearray(make_tar({"s.txt": b""})[:512])
    header[156:157] = b"S"
    header[257:265] = b"ustar  \x00"
    header[483:495] = b"\x80" + (1 << 40).to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\x00 " % sum(header)
    found = unpack(bytes(header) + bytes(1024), "x.tar")
    assert summary(found) == [("/x.tar#s.txt", "unreadable")]


@pytest.mark.parametrize(
    ("name", "data"), [("x.zip", make_zip(FILES)), ("x.tar", make_tar(FILES)), ("x.tgz", make_tar(FILES, "w:gz"))]
)
def test_every_truncation_ends_in_documents_or_an_error(name: str, data: bytes) -> None:
    for length in range(0, len(data), max(1, len(data) // 50)):
        try:
            found = unpack(data[:length], name)
        except LoadError:
            continue
        assert all(isinstance(each, (Document, FileOutcome)) for each in found)


MANY = {"a.txt": b"first." * 100, "b.txt": b"second", "c.txt": b"third"}


def damage_of(found: list[Document | FileOutcome], name: str) -> str:
    """What the last outcome says, if it is of the archive itself."""
    last = found[-1]
    assert isinstance(last, FileOutcome)
    assert (last.uri, last.status, last.reason) == (f"/{name}", "skipped", "unreadable")
    return last.detail


def test_a_tar_that_ends_early_is_told_wherever_it_is_cut() -> None:
    data = make_tar(MANY)
    ends = {2 * 512 + 512: 1, 2 * 512 + 512 + 1024: 2, 2 * 512 + 512 + 2048: 3, 2 * 512 + 512 + 2048 + 512: 3}
    for length, read in ends.items():
        found = unpack(data[:length], "x.tar")
        assert summary(found[:-1]) == [(f"/x.tar#{name}", text.decode()) for name, text in list(MANY.items())[:read]]
        assert "ends early" in damage_of(found, "x.tar")
    for length in range(1600, max(ends), 100):
        assert damage_of(unpack(data[:length], "x.tar"), "x.tar")
    # The end mark is all that is needed: the rest fills a record of a tape.
    assert len(unpack(data[: max(ends) + 512], "x.tar")) == 3


def test_one_wrong_byte_in_a_header_or_the_end_mark_is_told() -> None:
    data = make_tar(MANY)
    whole = summary(unpack(data, "x.tar"))
    second, mark = 1536, 1536 + 2048
    for place in [*range(second, second + 512, 7), *range(mark, mark + 1024, 31)]:
        changed = bytearray(data)
        changed[place] ^= 1
        found = unpack(bytes(changed), "x.tar")
        # Within the number that is the check itself a byte may mean the same.
        if second + 148 <= place < second + 156 and summary(found) == whole:
            continue
        assert damage_of(found, "x.tar"), place
        assert summary(found[:-1]) == whole[: 1 if place < mark else 3]


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_packed_tar_that_ends_early_is_told(mode: str) -> None:
    data = make_tar({f"{n}.txt": bytes(range(97, 123)) * n for n in range(1, 40)}, mode)
    name = f"x.tar.{mode[2:]}"
    assert len(unpack(data, name)) == 39
    # The last bytes only say that it has ended, and the sum of what came before.
    for cut in (1, 4, 8):
        found = unpack(data[:-cut], name)
        assert damage_of(found, name)
        if mode == "w:gz":
            assert len(found) == 40


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_file_that_ends_early_is_not_read(pack: Callable[[bytes], bytes]) -> None:
    data = pack(b"".join(b"line %d\n" % n for n in range(1000)))
    suffix = {gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}[pack]
    for cut in (1, 4, 8, len(data) // 2):
        with pytest.raises(LoadError, match="damaged"):
            unpack(data[:-cut], f"notes.txt{suffix}")


def test_what_is_no_archive() -> None:
    with pytest.raises(UnsupportedFormatError):
        unpack(b"words", "x.zip")


def test_a_word_document_goes_to_its_own_loader() -> None:
    word = docx(p("Deed", "t") + p("body"))
    found = list(read_documents(build_loaders(), Source("/x.zip", "x.zip", word)))
    assert [type(each) for each in found] == [Document]
    assert found[0].uri == "/x.zip"
    found = list(read_documents(build_loaders(), Source("/y.zip", "y.zip", make_zip({"x.zip": word}))))
    assert [each.uri for each in found] == ["/y.zip#x.zip"]
