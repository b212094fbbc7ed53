"""Which document versions readers may see: a copy of what the catalogue says, in memory, for every search to ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pincite.store.payload import MAX_ORDINAL, ORDINAL_BITS, chunk_id

if TYPE_CHECKING:
    from pincite.store.catalogue import Catalogue
    from pincite.types import Document

__all__ = ["Visible"]


class Visible:
    """The current document versions, and those whose points are there and must not be seen.

    Whoever changes it holds off readers, but for `forget`: no reader meets a point that is gone. A method that reads is
    called by a reader.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.edition = 0  #: rises with every change of the current versions
        self.reload()

    def reload(self) -> None:
        """Take everything from the catalogue."""
        #: Key of each current version → the document's id and version, and the other way about.
        self.keys = self._catalogue.current_keys()
        self.current = {document_id: (key, version) for key, (document_id, version) in self.keys.items()}
        self.hidden = frozenset(self._catalogue.unsettled())
        self.edition += 1

    def replace(self, committed: Iterable[tuple[int, Document]], retired: Sequence[int]) -> None:
        """Show what was committed and hide what it replaced, without reading the whole catalogue again."""
        for key in retired:
            del self.keys[key]
        shown = set()
        for key, document in committed:
            self.keys[key] = (document.id, document.version)
            self.current[document.id] = (key, document.version)
            shown.add(key)
        self.hidden = (self.hidden - shown) | set(retired)
        self.edition += 1

    def hide(self, key: int) -> None:
        """Hide a version that is being written."""
        self.hidden |= {key}

    def forget(self, keys: Iterable[int]) -> None:
        """Hide these no longer: no point of them is left."""
        self.hidden -= set(keys)

    def is_current(self, point_id: int) -> bool:
        """Whether a point is of a current version."""
        return point_id >> ORDINAL_BITS in self.keys

    def chunk_of(self, point_id: int) -> str:
        """The id of the chunk that a point of a current version is."""
        return chunk_id(*self.keys[point_id >> ORDINAL_BITS], point_id & MAX_ORDINAL)

    def point_ids(self, chunk_ids: Iterable[str]) -> dict[str, int]:
        """Chunk id → point id, of those that are of a current version. The point itself need not be there."""
        ids = {}
        for name in chunk_ids:
            rest, _, ordinal = name.rpartition(".")
            document_id, _, named = rest.rpartition(".")
            key, version = self.current.get(document_id, (0, 0))
            if named == str(version) and ordinal.isdecimal() and int(ordinal) <= MAX_ORDINAL:
                ids[name] = key << ORDINAL_BITS | int(ordinal)
        return ids
