"""Mailboxes (.mbox): many messages in one file, one after another."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import IO

from pincite.errors import LoadError, NoTextError
from pincite.loaders.ids import content_hash
from pincite.loaders.message import document_of, parse_letter
from pincite.loaders.parts import LIMIT, Loaders, Names, Part, depth_of, read_part, skipped
from pincite.protocols import Source
from pincite.types import Document, FileOutcome

__all__ = ["MailboxLoader"]

_LARGEST = 64 << 20  #: bytes of one message
_LINE = 1 << 20
# A line that begins a message names the sender and the time: "From here on" in a letter does not.
_BEGINS = re.compile(rb"From \S.{0,200}?\d:\d\d.{0,80}\s*$|From \S+@\S+\s*$")
_QUOTED = re.compile(rb">+From ")


class MailboxLoader:
    """Reads every message of a mailbox as `MailLoader` reads one. Its address is ``FILE#MESSAGE-ID``.

    A message without an id is called ``message-`` and the beginning of the hash of its bytes, so that its address stays
    when others are deleted. Attachments are read where `loaders` are given: ``FILE#MESSAGE-ID/attachments/NAME``.

    The file is read as a stream: what is in memory at once is one message. One of more than 64 MB is skipped, and so
    is one that cannot be read.
    """

    name = "mailbox"
    suffixes = frozenset({".mbox", ".mbx"})

    def __init__(self, loaders: Loaders | None = None, depth: int = 4) -> None:
        self._loaders = loaders
        self._depth = depth

    def load_all(self, source: Source) -> Iterator[Document | FileOutcome]:
        """The messages in the order of the file, each with its attachments behind it.

        Raises LoadError for a file that is no mailbox, NoTextError for an empty one.
        """
        names = Names(source.uri)
        loaders = self._loaders() if self._loaders is not None else None
        with source.path.open("rb") if source.path is not None else io.BytesIO(source.data) as file:
            for data in _messages(file):
                mark = f"message-{content_hash(data)[:16]}"
                if len(data) > _LARGEST:
                    detail = f"the message is larger than {_LARGEST >> 20} MB"
                    yield FileOutcome(names.address(mark), "skipped", reason="too-large", detail=detail)
                    continue
                try:
                    letter = parse_letter(data)
                except LoadError as error:
                    yield skipped(names.address(mark), error)
                    continue
                uri = names.address(str(letter.metadata.get("message_id") or mark))
                yield document_of(letter, uri, data)
                inner = Names(uri)
                for attachment in letter.attachments if loaders is not None else ():
                    # The message is a part of the file already: its attachments stand behind a slash.
                    where = inner.address(attachment.name).replace(f"{uri}#", f"{uri}/attachments/", 1)
                    if depth_of(source) >= self._depth:
                        detail = f"it lies in more than {self._depth} files"
                        yield FileOutcome(where, "skipped", reason=LIMIT, detail=detail)
                    elif loaders is not None:
                        yield from read_part(loaders, Part(source, where, attachment.name, attachment.data))


def _messages(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of each message, without the line that begins it; a message that is too long is cut above the limit.

    Raises LoadError where the file does not begin with a message.
    """
    message = bytearray()
    blank = True  # a message begins after a blank line, or with the file
    begun = False
    while line := file.readline(_LINE):
        if blank and line.startswith(b"From ") and _BEGINS.match(line):
            if begun:
                yield bytes(message)
            message.clear()
            begun, blank = True, False
            continue
        if not begun:
            if line.strip(b"\xef\xbb\xbf \t\r\n"):
                raise LoadError("the file is no mailbox: it does not begin with a message")
            continue
        blank = line in (b"\n", b"\r\n")
        if _QUOTED.match(line):
            line = line[1:]
        if len(message) <= _LARGEST:
            message += line
    if not begun:
        raise NoTextError("the mailbox is empty")
    yield bytes(message)
