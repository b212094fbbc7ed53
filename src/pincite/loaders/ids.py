"""Names of documents: an id from the address, a hash from the bytes, a title of last resort from the file name."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath

__all__ = ["content_hash", "document_id", "stem_title"]


def document_id(uri: str) -> str:
    """The id of the document at `uri`: the first 16 hex digits of the SHA-256 of the address.

    It depends on nothing but the address, so an edited file keeps its id. A lone surrogate, which Python puts in
    paths that are not valid UTF-8, is hashed as the byte it stands for.

    >>> document_id("stdin:notes.txt")
    '8a68b28646c6cf48'
    """
    return hashlib.sha256(uri.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def content_hash(data: bytes) -> str:
    """SHA-256 of `data` in hex."""
    return hashlib.sha256(data).hexdigest()


def stem_title(name: str) -> str:
    """What to call a document that does not say: its file name without folder and suffix.

    >>> stem_title("acts/penal_code.pdf")
    'penal_code'
    """
    base = name.replace("\\", "/").encode("utf-8", "replace").decode("utf-8")
    base = "".join(c if c.isprintable() else " " for c in base)
    return " ".join(PurePosixPath(base).stem.split()) or "untitled"
