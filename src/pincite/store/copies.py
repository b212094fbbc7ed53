"""Other documents of an index that hold the same bytes: the same file under the address it had before, or a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pincite.types import StoredDocument

__all__ = ["Copies", "copies"]


class Copies(NamedTuple):
    """Versions of other documents, in the order of the history."""

    removed: tuple[StoredDocument, ...]  #: every version of removed documents of which the last has the bytes
    held: tuple[StoredDocument, ...]  #: of all others, the versions that have the bytes of something named here


def copies(history: Sequence[StoredDocument], document_id: str) -> Copies:
    """What holds the bytes of a version of this document, among all versions that are kept.

    To purge a document is to purge the removed ones with it: a file that was moved is one of those under its earlier
    address, and its last version there has the bytes. A current one is a document of its own, and so is a removed one
    that has bytes of those alone, or had them once.
    """
    current = {each.id for each in history if each.current}
    hashes = {each.content_hash for each in history if each.id == document_id and each.characters}
    last = {each.id: each for each in history}  # the versions of a document stand in their order
    removed = {each.id for each in last.values() if each.content_hash in hashes} - current - {document_id}
    purged = removed | {document_id}
    hashes |= {each.content_hash for each in history if each.id in removed and each.characters}
    return Copies(
        tuple(each for each in history if each.id in removed),
        tuple(each for each in history if each.id not in purged and each.content_hash in hashes),
    )
