"""How chunks are named."""

from __future__ import annotations

__all__ = ["chunk_id"]


def chunk_id(document_id: str, version: int, ordinal: int) -> str:
    """The id of a chunk: ``document.version.ordinal``. Never the same for two versions of a document.

    >>> chunk_id("d41d8c", 2, 0)
    'd41d8c.2.0'
    """
    return f"{document_id}.{version}.{ordinal}"
