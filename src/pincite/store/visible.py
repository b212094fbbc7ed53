"""Which document versions readers may see: a copy of what the catalogue says, in memory, for every search to ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pincite.store.moment import keys_at
from pincite.store.payload import MAX_ORDINAL, ORDINAL_BITS, chunk_id

if TYPE_CHECKING:
    from pincite.store.catalogue import Catalogue
    from pincite.types import Document, PointInTime

__all__ = ["Visible"]

#: So many points in time are remembered between two changes.
_MOMENTS = 16


class Visible:
    """The current document versions, the past ones, and those whose points are there and must not be seen.

    Whoever changes it holds off readers, but for `forget`: no reader meets a point that is gone. A method that reads is
    called by a reader.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.edition = 0  #: rises with every change of the versions that are kept
        self.reload()

    def reload(self) -> None:
        """Take everything from the catalogue."""
        #: Key of each current version → the document's id and version, and the other way about.
        self.keys, self.past = self._catalogue.kept_keys()
        self.current = {document_id: (key, version) for key, (document_id, version) in self.keys.items()}
        self._past_keys = {named: key for key, named in self.past.items()}
        to_delete, to_mark = self._catalogue.unsettled()
        #: Keys whose points are not told apart by what they carry.
        self.hidden = frozenset(to_delete) | frozenset(to_mark)
        self._turn()

    def _turn(self) -> None:
        self.edition += 1
        self._moments: dict[PointInTime, frozenset[int]] = {}

    def replace(self, committed: Iterable[tuple[int, Document]], past: Sequence[int], retired: Sequence[int]) -> None:
        """Show what was committed and hide what it replaced, without reading the whole catalogue again."""
        shown = {key: (document.id, document.version) for key, document in committed}
        for key in (*past, *retired):
            named = self.keys.pop(key, None) or self.past.pop(key, None) or shown.pop(key)
            self._past_keys.pop(named, None)
            if self.current.get(named[0], (0, 0))[0] == key:
                del self.current[named[0]]
            if key in past:
                self.past[key] = named
                self._past_keys[named] = key
        for key, (document_id, version) in shown.items():
            self.keys[key] = (document_id, version)
            self.current[document_id] = (key, version)
        self.hidden = (self.hidden - shown.keys()) | set(past) | set(retired)
        self._turn()

    def hide(self, key: int) -> None:
        """Hide a version that is being written."""
        self.hidden |= {key}

    def settle(self, keys: Iterable[int]) -> None:
        """Hide these no longer: their points say what they are, or are gone."""
        self.hidden -= set(keys)

    def at(self, moment: PointInTime) -> frozenset[int]:
        """Keys of the versions that are seen at a point in time."""
        found = self._moments.get(moment)
        if found is None:
            if len(self._moments) >= _MOMENTS:
                self._moments.clear()
            found = self._moments[moment] = keys_at(self._catalogue, moment)
        return found

    def is_current(self, point_id: int) -> bool:
        """Whether a point is of a current version."""
        return point_id >> ORDINAL_BITS in self.keys

    def is_kept(self, point_id: int) -> bool:
        """Whether a point is of a version that is kept, current or past."""
        key = point_id >> ORDINAL_BITS
        return key in self.keys or key in self.past

    def version_of(self, key: int) -> tuple[str, int] | None:
        """The document's id and the version that a key stands for; None if it is not kept."""
        return self.keys.get(key) or self.past.get(key)

    def key_of(self, document_id: str, version: int | None = None) -> int | None:
        """The key of a version that is kept, of the current one unless one is named."""
        key, current = self.current.get(document_id, (None, None))
        return key if version in (None, current) else self._past_keys.get((document_id, version or 0))

    def chunk_of(self, point_id: int) -> str:
        """The id of the chunk that a point of a kept version is."""
        key = point_id >> ORDINAL_BITS
        return chunk_id(*(self.keys.get(key) or self.past[key]), point_id & MAX_ORDINAL)

    def point_ids(self, chunk_ids: Iterable[str]) -> dict[str, int]:
        """Chunk id → point id, of those that are of a kept version. The point itself need not be there."""
        ids = {}
        for name in chunk_ids:
            rest, _, ordinal = name.rpartition(".")
            document_id, _, named = rest.rpartition(".")
            if not (named.isdecimal() and ordinal.isdecimal() and int(ordinal) <= MAX_ORDINAL):
                continue
            if str(int(named)) == named and (key := self.key_of(document_id, int(named))) is not None:
                ids[name] = key << ORDINAL_BITS | int(ordinal)
        return ids
