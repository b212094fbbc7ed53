"""Messages and mailboxes: headers, bodies, encodings, attachments, and mailboxes that are not held in memory."""

from __future__ import annotations

import tracemalloc
from email.message import EmailMessage
from pathlib import Path

import pytest

from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.choose import choose_loader
from pincite.loaders.mail import MailLoader
from pincite.loaders.mailbox_file import MailboxLoader
from pincite.loaders.text import TextLoader
from pincite.protocols import Container, Loader, Source
from pincite.types import Document, FileOutcome


def everything() -> list[Loader | Container]:
    return [MailLoader(everything), TextLoader()]


def mail(data: bytes) -> list[Document | FileOutcome]:
    return list(MailLoader(everything).load_all(Source("/a.eml", "a.eml", data)))


def one(data: bytes) -> Document:
    first = mail(data)[0]
    assert isinstance(first, Document)
    for heading in first.headings:
        assert heading.text in " ".join(first.text[heading.start : heading.end].split())
    return first


def box(data: bytes) -> list[Document | FileOutcome]:
    return list(MailboxLoader(everything).load_all(Source("/a.mbox", "a.mbox", data)))


HEAD = b"From: Alice <alice@example.com>\nTo: bob@example.com\nSubject: Rent\n"


def test_headers_are_the_first_lines_and_metadata() -> None:
    document = one(
        b"Received: from x\nFrom: Alice <alice@example.com>\nTo: bob@example.com,\n carol@example.com\n"
        b"Cc: d@example.com\n"
        b"Date: Tue, 3 Mar 2020 10:11:12 +0100\nSubject: Notice of\n termination\nMessage-ID: <1@x>\n\nDear Bob,\n\n"
        b"I leave.  \n\n> You said you would stay.\n"
    )
    assert document.text == (
        "From: Alice <alice@example.com>\nTo: bob@example.com, carol@example.com\nCc: d@example.com\n"
        "Date: Tue, 03 Mar 2020 10:11:12 +0100\nSubject: Notice of termination\n\nDear Bob,\n\n"
        "I leave.\n\n> You said you would stay."
    )
    assert document.title == "Notice of termination"
    assert document.uri == "/a.eml"
    assert document.metadata == {
        "from": "Alice <alice@example.com>",
        "to": "bob@example.com, carol@example.com",
        "cc": "d@example.com",
        "subject": "Notice of termination",
        "date": "2020-03-03T10:11:12+01:00",
        "message_id": "1@x",
    }


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        ("text/plain; charset=iso-8859-1", "Gr\xfc\xdfe".encode("latin-1"), "Grüße"),
        ("text/plain; charset=koi8-r", "Привет, мир".encode("koi8_r"), "Привет, мир"),
        ("text/plain; charset=gb2312", "你好世界".encode("gb2312"), "你好世界"),
        ("text/plain; charset=us-ascii", "Grüße".encode(), "Grüße"),
        ("text/plain; charset=no-such-set", "Grüße".encode(), "Grüße"),
        ("text/plain", "plain 8 bit: Grüße".encode(), "plain 8 bit: Grüße"),
        ("text/plain\nContent-Transfer-Encoding: base64", b"SGVsbG8=", "Hello"),
        ("text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable", b"Gr=C3=BC=C3=9Fe=\nx", "Grüßex"),
        ("text/plain\nContent-Transfer-Encoding: base64", b"SGVsbG8", "Hello"),
        ("text/plain\nContent-Transfer-Encoding: x-unheard", b"Hello", "Hello"),
        ("text/plain; format=flowed", b"one \ntwo\n> quoted \nthree\n-- \nA", "one two\n> quoted\nthree\n--\nA"),
        ("text/html; charset=utf-8", b"<p>one</p><p>two</p><script>x</script>", "one\n\ntwo"),
    ],
)
def test_character_sets_and_transfer_encodings(head: str, body: bytes, text: str) -> None:
    document = one(HEAD + b"Content-Type: " + head.encode() + b"\n\n" + body)
    assert document.text.split("Subject: Rent\n\n", 1)[1] == text


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        (b"=?utf-8?b?R3LDvMOfZQ==?=", "Grüße"),
        (b"=?iso-8859-1?q?Gr=FC=DFe?= =?iso-8859-1?q?_und?=", "Grüße und"),
        ("Grüße".encode(), "Grüße"),
        ("Grüße".encode("latin-1"), "Grüße"),
        (b"=?no-such?b?SGk=?=", "Hi"),
        (b"a\x00b", "ab"),
    ],
)
def test_encoded_and_broken_subjects(raw: bytes, subject: str) -> None:
    assert one(b"From: a@b\nSubject: " + raw + b"\n\nx").title == subject


def test_broken_headers_do_not_stop_it() -> None:
    document = one(b"From: <<<@@,;:\nTo: undisclosed-recipients:;\nDate: yesterday\nSubject: x\nnonsense line\n\nbody")
    assert "Date: yesterday" in document.text
    assert document.metadata["date"] == "yesterday"
    assert document.title == "x"


def letter() -> EmailMessage:
    message = EmailMessage()
    message["From"] = "a@example.com"
    message["Subject"] = "S"
    message.set_content("plain words")
    return message


def test_plain_text_is_preferred_to_html_unless_it_says_nothing() -> None:
    message = letter()
    message.add_alternative("<h1>Rich</h1><p>words</p>", subtype="html")
    assert "plain words" in one(message.as_bytes()).text
    assert "Rich" not in one(message.as_bytes()).text
    message = letter()
    message.set_content(" \n")
    message.add_alternative("<h1>Rich</h1><p>words</p>", subtype="html")
    document = one(message.as_bytes())
    assert document.text.endswith("Rich\n\nwords")
    assert [heading.text for heading in document.headings] == ["Rich"]


def test_attachments_are_documents_and_what_cannot_be_read_is_skipped() -> None:
    message = letter()
    message.add_attachment(b"the lease", maintype="text", subtype="plain", filename="../Lease \u00fc.txt")
    message.add_attachment(b"another", maintype="text", subtype="plain", filename="Lease ü.txt")
    message.add_attachment(b"\x89PNG\r\n\x1a\n", maintype="image", subtype="png", filename="logo.png")
    found = mail(message.as_bytes())
    assert [each.uri for each in found] == [
        "/a.eml",
        "/a.eml#attachments/Lease ü.txt",
        "/a.eml#attachments/Lease ü.txt~2",
        "/a.eml#attachments/logo.png",
    ]
    assert isinstance(found[1], Document)
    assert found[1].text.strip() == "the lease"
    assert isinstance(found[3], FileOutcome)
    assert found[3].reason == "unsupported"


def test_names_in_parts_and_charsets_of_their_own() -> None:
    data = (
        HEAD + b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nhi\n--x\nContent-Type: text/plain\n"
        b"Content-Disposition: attachment; filename*0*=utf-8''Gr%C3%BC; filename*1*=%C3%9Fe.txt\n\nthe file\n--x--\n"
    )
    assert [each.uri for each in mail(data)] == ["/a.eml", "/a.eml#attachments/Grüße.txt"]


def test_a_forwarded_message_is_a_document_with_its_own_attachments() -> None:
    inner = letter()
    inner.replace_header("Subject", "Inner")
    inner.add_attachment(b"deep", maintype="text", subtype="plain", filename="d.txt")
    outer = letter()
    outer.add_attachment(inner)
    found = mail(outer.as_bytes())
    assert [each.uri for each in found] == [
        "/a.eml",
        "/a.eml#attachments/Inner.eml",
        "/a.eml#attachments/Inner.eml#attachments/d.txt",
    ]


def test_messages_within_messages_are_opened_so_deep_only() -> None:
    message = letter()
    for _ in range(8):
        outer = letter()
        outer.add_attachment(message)
        message = outer
    found = mail(message.as_bytes())
    assert [type(each) for each in found] == [Document] * 5 + [FileOutcome]
    assert isinstance(found[-1], FileOutcome)
    assert found[-1].reason == "archive-limit"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", LoadError),
        (b"just some text\nwithout headers\n", LoadError),
        (b"From: a@b\n\n  \n", NoTextError),
        (HEAD + b"Content-Type: multipart/encrypted; boundary=x\n\n--x--", EncryptedError),
        (HEAD + b"Content-Type: application/pkcs7-mime; smime-type=enveloped-data\n\nAAAA", EncryptedError),
    ],
)
def test_what_is_no_message(data: bytes, error: type[LoadError]) -> None:
    with pytest.raises(error):
        mail(data)


def test_a_message_of_nothing_but_an_attachment_shows_the_headers_it_has() -> None:
    data = b"Message-ID: <1@x>\nContent-Type: text/plain; name=a.txt\n\nthe file\n"
    found = mail(data)
    assert [each.text for each in found if isinstance(each, Document)] == ["Message-ID: <1@x>", "the file\n"]
    assert found[0].warnings == ("the message has no body that is text",)


def test_deep_nesting_ends_in_an_error() -> None:
    data = HEAD
    for i in range(3000):
        data += b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i)
    with pytest.raises(LoadError):
        mail(data + b"\nx")


MBOX = (
    b"From alice@example.com Tue Mar  3 10:11:12 2020\n"
    + HEAD
    + b"Message-ID: <1@x>\n\nOne.\n>From the start on\n\nFrom here on, all is text.\n\n"
    + b"From MAILER-DAEMON Wed Mar  4 10:11:12 2020\nFrom: b@c\nSubject: Two\n\nsecond\n\n"
    + b"From - Wed Mar  4 10:11:13 2020\nFrom: b@c\nSubject: Three\nMessage-ID: <1@x>\n\nthird\n\n"
    + b"From x@y Wed Mar  4 10:11:13 2020\nno headers at all\n\n"
)


def test_every_message_of_a_mailbox_is_a_document() -> None:
    found = box(MBOX)
    assert [each.uri.partition("#")[2] for each in found][::2] == ["1@x", "1@x~2"]
    assert found[1].uri.startswith("/a.mbox#message-")
    first, second, third, broken = found
    assert isinstance(first, Document)
    assert first.text.endswith("One.\nFrom the start on\n\nFrom here on, all is text.")
    assert isinstance(second, Document)
    assert second.title == "Two"
    assert isinstance(third, Document)
    assert isinstance(broken, FileOutcome)
    assert broken.reason == "unreadable"


def test_the_address_of_a_message_stays_when_another_is_deleted() -> None:
    later = MBOX.index(b"From MAILER")
    assert box(MBOX)[1].uri == box(MBOX[later:])[0].uri


def test_attachments_of_a_mailbox() -> None:
    message = letter()
    message["Message-ID"] = "<7@x>"
    message.add_attachment(b"the file", maintype="text", subtype="plain", filename="f.txt")
    found = box(b"From a@b Tue Mar  3 10:11:12 2020\n" + message.as_bytes())
    assert [each.uri for each in found] == ["/a.mbox#7@x", "/a.mbox#7@x/attachments/f.txt"]


def test_a_large_mailbox_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    with path.open("wb") as file:
        for i in range(40):
            file.write(
                b"From a@b Tue Mar  3 10:11:12 2020\nSubject: m%d\n\n" % i
                + (b"words of it " * 9 + b"\n") * 4_500
                + b"\n"
            )
    assert path.stat().st_size > 19_000_000
    tracemalloc.start()
    try:
        count = sum(1 for _ in MailboxLoader().load_all(Source(str(path), "a.mbox", path=path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 40
    assert peak < 8_000_000


def test_a_mailbox_without_a_suffix_is_known_by_its_first_lines() -> None:
    loaders = [MailboxLoader(), TextLoader()]
    assert choose_loader(loaders, Source("/Inbox", "Inbox", MBOX)).name == "mailbox"
    assert choose_loader(loaders, Source("/Inbox", "Inbox", b"From 9:30 on\nwe met.\n")).name == "text"
    assert choose_loader(loaders, Source("/a.txt", "a.txt", MBOX)).name == "text"


@pytest.mark.parametrize(("data", "error"), [(b"", NoTextError), (b"\n\n", NoTextError), (b"text\n", LoadError)])
def test_what_is_no_mailbox(data: bytes, error: type[LoadError]) -> None:
    with pytest.raises(error):
        box(data)
