"""One battery for every container: whatever the bytes, sound documents with addresses of their own, or a LoadError."""

from __future__ import annotations

import io
import tarfile
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.errors import LoadError
from pincite.loaders.archive import ArchiveLoader
from pincite.loaders.ids import document_id
from pincite.loaders.json_data import JsonLinesLoader
from pincite.loaders.long_text import LongTextLoader
from pincite.loaders.mail import MailLoader
from pincite.loaders.mailbox_file import MailboxLoader
from pincite.loaders.text import TextLoader
from pincite.protocols import Container, Loader, Source
from pincite.types import Document, FileOutcome

MAIL = (
    b"From: A <a@example.com>\nSubject: =?utf-8?q?S=C3=BC?=\nDate: Tue, 3 Mar 2020 10:11:12 +0100\nMessage-ID: <1@x>\n"
    b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=q\n\n--q\nContent-Type: text/html; charset=utf-8\n\n"
    b"<h1>One</h1><p>words</p>\n--q\nContent-Type: text/plain; name=a.txt\nContent-Transfer-Encoding: base64\n\n"
    b"aGVsbG8=\n--q--\n"
)


def make_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "one")
        archive.writestr("d/b.txt", "two " * 20)
    return buffer.getvalue()


def make_tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name in ("a.txt", "b.txt"):
            info = tarfile.TarInfo(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"one"))
    return buffer.getvalue()


def everything() -> list[Loader | Container]:
    return [*CONTAINERS, TextLoader()]


CONTAINERS: list[Container] = [
    MailLoader(everything),
    MailboxLoader(everything),
    JsonLinesLoader(),
    ArchiveLoader(everything, max_bytes=1 << 20, max_files=100),
    LongTextLoader(TextLoader(), limit=0, part=40),
]
FILES = {
    "text": [("a.txt", "".join(f"line {i} of the ünï text\n" for i in range(20)).encode())],
    "mail": [("a.eml", MAIL)],
    "mailbox": [
        ("a.mbox", b"From a@b Tue Mar  3 10:11:12 2020\n" + MAIL + b"\nFrom c@d\nFrom: c@d\nSubject: b\n\nx\n")
    ],
    "json-lines": [
        ("a.jsonl", b'{"_id": "a", "title": "T", "text": "one"}\n{"_id": 2, "text": "two", "x": [{"y": 1}]}\n')
    ],
    "archive": [("a.zip", make_zip()), ("a.tar.gz", make_tar())],
}
CASES = [(container, *file) for container in CONTAINERS for file in FILES[container.name]]
IDS = [name for _, name, _ in CASES]
cases = pytest.mark.parametrize(("container", "name", "data"), CASES, ids=IDS)
FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(container: Container, name: str, data: bytes) -> list[Document | FileOutcome] | None:
    """What is in the file, checked; None when the whole was refused. Any other exception fails the test."""
    source = Source(f"/x/{name}", name, data)
    try:
        found: list[Document | FileOutcome] | None = list(container.load_all(source))
    except LoadError as error:
        refused = error
        found = None
    if found is None:
        assert str(refused)
        return None
    documents = [each for each in found if isinstance(each, Document)]
    addresses = [each.uri for each in documents]
    assert len(set(addresses)) == len(addresses)
    for document in documents:
        # What the file is first of all may have its address: a message has, and its attachments are parts of it.
        assert document.uri.startswith(f"{source.uri}#") or (document is found[0] and document.uri == source.uri)
        assert document.uri.encode().decode() == document.uri
        assert document.id == document_id(document.uri)
        assert document.text.strip()
        assert document.title == " ".join(document.title.split()) != ""
        assert not set(document.text) & set("\x00\r\x0b\x0c\x1b\x7f")
        document.text.encode()
        assert all(type(value) in (str, int, float, bool) for value in document.metadata.values())
        assert all(warning and "\n" not in warning for warning in document.warnings)
        for heading in document.headings:
            assert heading.text in " ".join(document.text[heading.start : heading.end].split())
    for outcome in found:
        if isinstance(outcome, FileOutcome):
            assert outcome.status == "skipped"
            assert outcome.reason
            assert outcome.detail
            assert outcome.uri.startswith(source.uri)
    assert list(container.load_all(source)) == found
    return found


@cases
def test_it_is_a_container(container: Container, name: str, data: bytes) -> None:
    assert isinstance(container, Container)
    assert not isinstance(container, Loader)
    assert any(name.endswith(suffix) for suffix in container.suffixes)
    assert data


@cases
def test_a_real_file_gives_its_documents(container: Container, name: str, data: bytes) -> None:
    found = read(container, name, data)
    assert found is not None
    assert len(found) >= 2
    assert all(isinstance(each, Document) for each in found)


@cases
def test_documents_are_made_when_asked_for(container: Container, name: str, data: bytes) -> None:
    first = next(iter(container.load_all(Source(f"/x/{name}", name, data))))
    assert isinstance(first, Document)


@cases
def test_the_hash_is_that_of_the_part(container: Container, name: str, data: bytes) -> None:
    found = read(container, name, data) or []
    hashes = {each.text: each.content_hash for each in found if isinstance(each, Document)}
    assert len(set(hashes.values())) == len(hashes)


@cases
def test_every_truncation(container: Container, name: str, data: bytes) -> None:
    for length in range(0, len(data), max(1, len(data) // 60)):
        read(container, name, data[:length])


@cases
def test_files_of_the_other_formats(container: Container, name: str, data: bytes) -> None:
    for _, _, other in CASES:
        read(container, name, other)
        read(container, name, data + other)


@cases
@FUZZ
@given(noise=st.binary(max_size=300))
def test_random_bytes(container: Container, name: str, data: bytes, noise: bytes) -> None:
    read(container, name, noise)
    read(container, name, data[:40] + noise)


@cases
@FUZZ
@given(changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=6)), min_size=1, max_size=8))
def test_real_files_with_bytes_overwritten(
    container: Container, name: str, data: bytes, changes: list[tuple[int, bytes]]
) -> None:
    changed = bytearray(data)
    for at, new in changes:
        at %= len(changed)
        changed[at : at + len(new)] = new
    read(container, name, bytes(changed))
