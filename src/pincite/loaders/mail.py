"""Mail (.eml): one message, and the files that are attached to it."""

from __future__ import annotations

from collections.abc import Iterator

from pincite.loaders.message import document_of, parse_letter
from pincite.loaders.parts import LIMIT, Loaders, Names, Part, depth_of, read_part
from pincite.protocols import Source
from pincite.types import Document, FileOutcome

__all__ = ["MailLoader"]


class MailLoader:
    """Reads a message; its address is the file's own.

    The text begins with From, To, Cc, Date and Subject, each on a line. The body follows: the plain text, or where
    there is none the HTML; replies that it quotes stay. The headers are metadata as well: from, to, cc, subject,
    date as ISO 8601, message_id, in_reply_to, list.

    Every attachment that one of the `loaders` reads is a document, or several, at ``FILE#attachments/NAME``; a message
    that is forwarded as an attachment is one too. Without `loaders`, attachments are counted in a warning.
    """

    name = "mail"
    suffixes = frozenset({".eml"})

    def __init__(self, loaders: Loaders | None = None, depth: int = 4) -> None:
        self._loaders = loaders
        self._depth = depth

    def load_all(self, source: Source) -> Iterator[Document | FileOutcome]:
        """The message, then its attachments.

        Raises EncryptedError for an encrypted message, NoTextError for one without text, LoadError for a file that is
        no message.
        """
        letter = parse_letter(source.data)
        yield document_of(letter, source.uri, source.data)
        if self._loaders is None:
            return
        loaders, names = self._loaders(), Names(source.uri)
        for attachment in letter.attachments:
            uri = names.address(f"attachments/{attachment.name}")
            if depth_of(source) >= self._depth:
                yield FileOutcome(uri, "skipped", reason=LIMIT, detail=f"it lies in more than {self._depth} files")
            else:
                yield from read_part(loaders, Part(source, uri, attachment.name, attachment.data))
