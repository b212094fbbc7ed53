"""One message of mail: its headers, its text, what is attached. Files of one message and of many are read with it."""

from __future__ import annotations

import binascii
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import policy
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.utils import parsedate_to_datetime

from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.loaders.decode import decode
from pincite.loaders.hidden import Hidden, tag_words
from pincite.loaders.hypertext import Hypertext, decode_page, read_hypertext
from pincite.loaders.ids import content_hash, document_id
from pincite.types import Document, Heading, MetadataValue

__all__ = ["Attachment", "Letter", "document_of", "parse_letter"]

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_MOST_PARTS = 10_000
_ENCODED_WORD = re.compile(r"=\?[^?\s]{1,80}\?[bqBQ]\?[^?]*\?=")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\]+")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that a message carries."""

    name: str
    data: bytes


@dataclass(slots=True)
class Letter:
    """A message as a reader sees it. `headings` are those of a body in HTML; offsets are into `text`."""

    headers: dict[str, str] = field(default_factory=dict)
    text: str = ""
    headings: list[Heading] = field(default_factory=list)
    metadata: dict[str, MetadataValue] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    attachments: list[Attachment] = field(default_factory=list)


def parse_letter(data: bytes) -> Letter:
    """The message that `data` is.

    The text begins with the headers that a reader is shown, each on a line, then a blank line, then the body: the plain
    text, or where there is none the HTML. Raises EncryptedError, LoadError for what has no headers of a message or
    nests too deeply, NoTextError for a message with neither text nor subject nor attachment.
    """
    try:
        message = BytesParser(policy=policy.default).parsebytes(data)
        return _read(message)
    except RecursionError as error:
        raise LoadError("the message nests its parts too deeply to be read") from error
    except (MessageError, ValueError, LookupError, TypeError, AttributeError, AssertionError) as error:
        # The parser of the standard library is lenient, but not with every broken header.
        if isinstance(error, LoadError):
            raise
        raise LoadError(f"the message could not be parsed: {error or type(error).__name__}") from error


def document_of(letter: Letter, uri: str, data: bytes) -> Document:
    """The document of a message, at `uri`; its title is the subject."""
    return Document(
        id=document_id(uri),
        text=letter.text,
        title=letter.headers.get("Subject") or "(no subject)",
        uri=uri,
        media_type="message/rfc822",
        content_hash=content_hash(data),
        metadata=letter.metadata,
        headings=tuple(letter.headings),
        warnings=letter.warnings,
    )


def _read(message: Message) -> Letter:
    letter = Letter()
    for name in (*_SHOWN, "Message-ID", "In-Reply-To", "List-Id"):
        value = _header(message, name)
        if value:
            letter.headers[name] = value
    if not letter.headers:
        raise LoadError("the file is no message: it has no headers of mail")
    _refuse_encrypted(message)
    _describe(letter)
    names = [name for name in _SHOWN if name in letter.headers] or list(letter.headers)
    shown = [f"{name}: {letter.headers[name]}" for name in names]
    body = _Body()
    body.read(message)
    head = "\n".join(shown)
    letter.text = head
    start = len(head)
    for page in body.pages:
        lead = "\n\n" if letter.text else ""
        start = len(letter.text) + len(lead)
        letter.text += lead + page.text
        letter.headings += [Heading(h.level, h.text, start + h.start, start + h.end) for h in page.headings]
    letter.attachments = body.attachments
    warnings = list(dict.fromkeys(body.warnings))
    controls = sum(page.controls for page in body.pages)
    invisible = sum(page.invisible for page in body.pages)
    warnings += loss_warnings(controls, invisible)
    hidden = Hidden()
    for page in body.pages:
        hidden.add(page.hidden)
    warnings += hidden.warnings()
    if not body.pages:
        if "Subject" not in letter.headers and not letter.attachments:
            raise NoTextError("the message holds no text")
        warnings.append("the message has no body that is text")
    letter.warnings = tuple(warnings)
    return letter


def _refuse_encrypted(message: Message) -> None:
    kind = message.get_content_type()
    enveloped = kind.endswith("pkcs7-mime") and "signed" not in str(message.get_param("smime-type", "")).lower()
    if kind == "multipart/encrypted" or enveloped:
        raise EncryptedError("the message is encrypted: only the recipient's program can open it")


def _describe(letter: Letter) -> None:
    for name, key in (("From", "from"), ("To", "to"), ("Cc", "cc"), ("Subject", "subject"), ("List-Id", "list")):
        if name in letter.headers:
            letter.metadata[key] = letter.headers[name]
    for name, key in (("Message-ID", "message_id"), ("In-Reply-To", "in_reply_to")):
        if name in letter.headers:
            letter.metadata[key] = letter.headers[name].strip("<> ")
    if "Date" in letter.headers:
        try:
            letter.metadata["date"] = parsedate_to_datetime(letter.headers["Date"]).isoformat()
        except (ValueError, TypeError, IndexError, OverflowError):
            letter.metadata["date"] = letter.headers["Date"]


def _header(message: Message, name: str) -> str:
    """A header on one line, decoded; "" where there is none."""
    raw = next((str(value) for key, value in message.raw_items() if key.lower() == name.lower()), "")
    if not raw:
        return ""
    try:
        value = str(message[name] or "")
    except Exception:
        # The parser of structured headers fails in many ways on what is no header; then its words are taken.
        value = "\ufffd"
    if not value.strip() or "\ufffd" in value or any("\ud800" <= c <= "\udfff" for c in value + raw):
        value = _decoded_words(_plain_bytes(raw))
    return collapse(clean(value).text)


def _plain_bytes(raw: str) -> str:
    """A header whose bytes beyond ASCII the parser has kept as surrogates."""
    data = raw.encode("utf-8", "surrogateescape")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _decoded_words(raw: str) -> str:
    def decoded(match: re.Match[str]) -> str:
        try:
            words, charset = decode_header(match[0])[0]
            return words if isinstance(words, str) else _text(words, charset or "ascii")[0]
        except (MessageError, ValueError, LookupError, binascii.Error):
            return match[0]

    # White space between two encoded words is not text.
    return _ENCODED_WORD.sub(decoded, re.sub(r"(\?=)\s+(?==\?)", r"\1", raw))


def _text(data: bytes, charset: str) -> tuple[str, tuple[str, ...]]:
    """`data` in `charset`, or in what it is where that is unknown or wrong."""
    declared = "ascii" if charset.lower() in ("", "us-ascii", "unknown-8bit", "x-unknown") else charset
    try:
        return data.decode(declared), ()
    except (UnicodeError, LookupError, ValueError):
        pass
    try:
        found = decode(data, declared)
    except LoadError:
        return data.decode("utf-8", "replace"), (f"the text is not in the encoding {charset!r} that it declares",)
    return found.text, found.warnings


class _Body:
    """Goes through the parts of a message: which are read with it, which are files of their own."""

    def __init__(self) -> None:
        self.pages: list[Hypertext] = []
        self.attachments: list[Attachment] = []
        self.warnings: list[str] = []
        self._parts = 0

    def read(self, part: Message) -> None:
        """Take in `part` and what is inside it."""
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise LoadError(f"the message has more than {_MOST_PARTS:,} parts")
        kind = part.get_content_type()
        if part.is_multipart() and kind.startswith("multipart/"):
            payload = part.get_payload()
            children = [each for each in payload if isinstance(each, Message)] if isinstance(payload, list) else []
            if kind == "multipart/alternative":
                self._alternatives(children)
            elif kind == "multipart/related":
                self._related(children)
            else:
                for child in children:
                    self.read(child)
        elif self._is_body(part):
            self._write(part)
        else:
            self._attach(part)

    def _is_body(self, part: Message) -> bool:
        if part.get_content_type() not in ("text/plain", "text/html") or part.is_multipart():
            return False
        return part.get_content_disposition() != "attachment" and not _file_name(part)

    def _alternatives(self, children: list[Message]) -> None:
        """The plain text if it says something, else the last of the others: the richest comes last."""
        plain = [each for each in children if each.get_content_type() == "text/plain"]
        for each in [*plain, *reversed([child for child in children if child not in plain])]:
            before = len(self.pages)
            self.read(each)
            if len(self.pages) > before:
                # A calendar or the like is neither a choice nor text.
                return

    def _related(self, children: list[Message]) -> None:
        for i, child in enumerate(children):
            if i and self._is_body(child):
                self._attach(child)
            else:
                self.read(child)

    def _write(self, part: Message) -> None:
        data = _payload(part)
        charset = part.get_content_charset("") or ""
        try:
            if part.get_content_type() == "text/html":
                source, doubts = _text(data, charset) if charset else (decode_page(data).text, ())
                page = read_hypertext(source, whole=True)
            else:
                source, doubts = _text(data, charset)
                if str(part.get_param("format", "")).lower() == "flowed":
                    source = _unflowed(source, str(part.get_param("delsp", "")).lower() == "yes")
                hidden = Hidden()
                tag_words(source, hidden)
                cleaned = clean(source)
                lines = "\n".join(line.rstrip() for line in cleaned.text.split("\n"))
                page = Hypertext(
                    lines.strip("\n"), controls=cleaned.controls, invisible=cleaned.invisible, hidden=hidden
                )
        except LoadError as error:
            self.warnings.append(collapse(f"a part could not be read: {error}"))
            return
        self.warnings += doubts
        if page.text.strip():
            self.pages.append(page)

    def _attach(self, part: Message) -> None:
        kind = part.get_content_type()
        name = _file_name(part)
        if kind.startswith("message/") and part.is_multipart():
            inner = part.get_payload(0)
            data = inner.as_bytes(policy=policy.compat32) if isinstance(inner, Message) else b""
            if kind == "message/delivery-status" or not data:
                return
            subject = _header(inner, "Subject") if isinstance(inner, Message) else ""
            name = name or f"{_safe(subject) or 'message'}.eml"
            if not name.lower().endswith(".eml"):
                name += ".eml"
        else:
            data = _payload(part)
            name = name or f"part-{self._parts}{mimetypes.guess_extension(kind) or ''}"
        if data:
            self.attachments.append(Attachment(name, data))


def _payload(part: Message) -> bytes:
    """The bytes of a part; where their transfer encoding is broken, what can be had."""
    data = part.get_payload(decode=True)
    if isinstance(data, bytes):
        return data
    payload = part.get_payload()
    return payload.encode("utf-8", "surrogateescape") if isinstance(payload, str) else b""


def _file_name(part: Message) -> str:
    try:
        return _safe(_decoded_words(_plain_bytes(part.get_filename() or "")))
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def _safe(name: str) -> str:
    """A file name without the path that a sender wrote before it."""
    return collapse(clean(_UNSAFE.sub(" ", re.split(r"[/\\]", name)[-1])).text).strip(". ")[:150]


def _unflowed(text: str, delete: bool) -> str:
    """Paragraphs of `text` whose lines were broken for sending (RFC 3676) on one line each; quotations stay."""
    return "\n".join(_flow(text.replace("\r\n", "\n").split("\n"), delete))


def _flow(lines: list[str], delete: bool) -> Iterator[str]:
    held: list[str] = []
    for line in lines:
        quoted = line.startswith(">")
        line = line[1:] if line.startswith(" ") else line
        if held and quoted:
            yield "".join(held)
            held = []
        if line.endswith(" ") and line != "-- " and not quoted:
            held.append(line[:-1] if delete else line)
            continue
        yield "".join(held) + line
        held = []
    if held:
        yield "".join(held)
