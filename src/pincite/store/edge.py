"""The embedded store: Qdrant Edge for vectors, BM25 and filters, beside a SQLite catalogue of document versions.

A point is one chunk. Its id is ``key << 24 | ordinal``, where `key` is the catalogue's number of the document version,
so that ids are one space over both legs and sort by document and position. Every point carries its key, and those of
past versions a mark: what is not current is hidden by a filter inside the engine. A commit is the change of a set of
keys; marks and deletions follow it, and until they are on disk the keys themselves are filtered. The points lie in a
folder of their own, which the catalogue names: with one row it can be exchanged for another. So is every vector
index that the engine cannot build where the points are, and the codes that lie beside them.

Here is the order of things: what is written before what, who waits for whom, what stands after a crash. What is read of
it is in `reads`, how the points are searched in `search`, how the vector index is built and measured in `care`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.analysis import LANGUAGES
from pincite.errors import IndexFormatError, InputError, StoreError
from pincite.store.care import exchange, now
from pincite.store.catalogue import Catalogue
from pincite.store.exchange import Exchange
from pincite.store.locks import ProcessLock
from pincite.store.migrate import complete, migrate, migrates
from pincite.store.moment import later
from pincite.store.opening import begin_anew, lay_out, load_points, strangers
from pincite.store.payload import (
    ORDINAL_BITS,
    check_chunks,
    check_record,
    make_payload,
)
from pincite.store.placing import remove_unfinished
from pincite.store.plan import IndexOptions, Retention
from pincite.store.points import unit_rows
from pincite.store.reads import EdgeReads
from pincite.store.room import check_room, check_room_to_open, has_room
from pincite.store.runs import note_run
from pincite.store.visible import Visible
from pincite.types import (
    AddReport,
    Chunk,
    Document,
    StoredDocument,
    StoredSource,
)

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

    from pincite.protocols import Matrix, Rewrite, StoreHeader

__all__ = ["EdgeStore"]

#: Seconds from one look for past versions that are too old to the next, of a store that stays open.
_EXPIRE_AGAIN = 3600.0


class EdgeStore(EdgeReads):
    """See `pincite.protocols.Store`. Made by `create` or `open`; holds the folder until `close`."""

    def __init__(
        self,
        folder: Path,
        lock: ProcessLock,
        catalogue: Catalogue,
        shard: EdgeShard,
        options: IndexOptions | None = None,
        retention: Retention | None = None,
    ) -> None:
        super().__init__(folder, catalogue, shard, options or IndexOptions())
        self._retention = retention or Retention()
        self._process_lock = lock
        self._writer = threading.RLock()
        self._staged: dict[int, Document] = {}
        self._staged_past: set[int] = set()
        self._written: dict[int, int] = {}  # ticket → the last ordinal written
        self._last = catalogue.last_moment()  # the latest that was recorded
        # When it was last looked for what is too old, by the clock that is never set.
        self._expired: float | None = None
        self._exchange = Exchange(catalogue, self._points, self._visibility, self._index, self._header)
        if has_room(folder):
            self._join()
        self._settle(self._visible)

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether there is an index in `folder`."""
        return (folder / "catalogue.sqlite").is_file()

    @classmethod
    def create(
        cls,
        folder: Path,
        header: StoreHeader,
        *,
        timeout: float = 5.0,
        index: IndexOptions | None = None,
        retention: Retention | None = None,
    ) -> EdgeStore:
        """Make an empty index. Raises InputError if there is one, or if the language is not known.

        `index` says how vectors shall be searched once `optimize` has built what that takes, `retention` which past
        versions are kept; without, none is.
        """
        if header.language not in LANGUAGES:
            raise InputError(f"no stemmer for the language {header.language!r}; known: {', '.join(LANGUAGES)}")
        if cls.exists(folder):
            raise InputError(f"there is an index at {folder} already")
        if (folder / "catalogue.sqlite").exists():
            raise IndexFormatError(f"{folder / 'catalogue.sqlite'} is in the way: it is not a file")
        if others := strangers(folder):
            raise InputError(
                f"{folder} holds {others[0]}{' and more' if len(others) > 1 else ''}, which is not of an index: "
                "name an empty or a new folder for it"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the index folder {folder} cannot be made: {error.strerror}") from error
        return cls._open(folder, header, timeout, index or IndexOptions(), retention)

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        timeout: float = 5.0,
        index: IndexOptions | None = None,
        retention: Retention | None = None,
        salvage: bool = False,
    ) -> EdgeStore:
        """Open an index, finishing or undoing whatever a crash cut off. `index` is what the next `optimize` builds.

        An index of an older format is brought to this one. `retention` is what the next commit deletes by. To `salvage`
        one whose points cannot be opened is to begin with none: `repair` writes them anew from the catalogue.

        Raises StoreBusyError when another process holds it for longer than `timeout` seconds, and IndexFormatError
        when it was written by another version or is damaged.
        """
        if not cls.exists(folder):
            raise InputError(f"there is no index at {folder}: add documents first, with: pincite add PATH")
        return cls._open(folder, None, timeout, index or IndexOptions(), retention, salvage=salvage)

    @classmethod
    def _open(
        cls,
        folder: Path,
        header: StoreHeader | None,
        timeout: float,
        options: IndexOptions,
        retention: Retention | None,
        *,
        salvage: bool = False,
    ) -> EdgeStore:
        lock = ProcessLock(folder)
        lock.acquire(timeout)
        catalogue: Catalogue | None = None
        shard: EdgeShard | None = None
        try:
            check_room_to_open(folder)
            if header is not None and not cls.exists(folder):
                check_room(folder)
                with suppress(OSError):
                    remove_unfinished(folder)
                lay_out(folder, header, options.layout())
            catalogue = Catalogue(folder / "catalogue.sqlite")
            if catalogue.is_empty_file():
                raise IndexFormatError(f"the catalogue of the index at {folder} is empty: it is damaged")
            old = migrates(catalogue)
            if not old:
                catalogue.header()
            try:
                shard = load_points(folder, catalogue.points())
            except IndexFormatError:
                if not salvage or old:
                    raise
                check_room(folder)
                shard = begin_anew(folder, catalogue)
            if old:
                check_room(folder)
                migrate(catalogue, shard)
            complete(catalogue)
            store = cls(folder, lock, catalogue, shard, options, retention)
            store._index.clear_strays()
            # Where there is no room for it now, the next opening tries again, and `check` says so.
            with suppress(StoreError):
                store._finish_purge()
            return store
        except BaseException:
            if shard is not None:
                shard.close()
            if catalogue is not None:
                catalogue.close()
            lock.release()
            raise

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold off other writers. Raises StoreError when closed, and in a thread that reads: it would never end."""
        self._visibility.refuse_reader()
        with self._writer:
            self._refuse_closed()
            yield

    # Writing

    def writing(self) -> AbstractContextManager[None]:
        """See `pincite.protocols.Store`: in one process, whoever adds is alone by agreement."""
        return nullcontext()

    def next_version(self, document_id: str) -> int:
        """The number the next version of this document gets."""
        with self.reading():
            return self._catalogue.next_version(document_id)

    def numbers(self) -> dict[str, int]:
        """Document id → the last version number that was given; see `pincite.protocols.Store`."""
        with self.reading():
            return self._catalogue.numbers()

    def keep_numbers(self, numbers: Mapping[str, int]) -> None:
        """See to it that none of these version numbers is given again; see `pincite.protocols.Store`."""
        with self._changing():
            self._catalogue.keep_numbers(numbers)

    def stage(
        self,
        document: Document,
        recipe: str = "",
        added_at: str = "",
        *,
        source: str = "",
        starts: str | None = None,
        was: StoredDocument | None = None,
    ) -> int:
        """Begin a new version; see `pincite.protocols.Store`. A version staged earlier and not committed is dropped.

        One that is past already, by `was`, stands beside the others and drops none.
        """
        check_record(document)
        with self._changing():
            key = self._catalogue.stage(document, recipe, added_at, source, starts, was)
            # Hidden before its first point is written, and not while a search runs that began without knowing of it.
            with self._visibility.write():
                self._visible.hide(key)
            older = []
            if was is None or was.current:
                older = [
                    ticket
                    for ticket, staged in self._staged.items()
                    if staged.id == document.id and ticket not in self._staged_past
                ]
            else:
                self._staged_past.add(key)
            for ticket in older:
                del self._staged[ticket]
            self._staged[key] = replace(document, text="", pages=(), headings=())
            self._written[key] = -1
            self._delete(older)
            return key

    def stage_chunks(
        self,
        ticket: int,
        chunks: Sequence[Chunk],
        contexts: Sequence[str],
        vectors: Matrix,
        digests: Sequence[bytes] = (),
    ) -> None:
        """Write chunks of a staged version, in the order of their ordinals; see `pincite.protocols.Store`."""
        if not len(chunks) == len(contexts) == len(vectors):
            raise InputError(f"{len(chunks)} chunks, {len(contexts)} contexts and {len(vectors)} vectors do not match")
        if digests and len(digests) != len(chunks):
            raise InputError(f"{len(chunks)} chunks and {len(digests)} digests do not match")
        if not chunks:
            return
        units = unit_rows(vectors, self._points.dimension)
        check_room(self.folder)
        with self._changing():
            document = self._staged.get(ticket)
            if document is None:
                raise StoreError(f"ticket {ticket} is not staged: it was committed, discarded or replaced")
            last = check_chunks(chunks, document, self._written[ticket])
            ids = [ticket << ORDINAL_BITS | chunk.ordinal for chunk in chunks]
            payloads = [
                make_payload(ticket, chunk, document, context, self._header.language)
                for chunk, context in zip(chunks, contexts, strict=True)
            ]
            self._points.write(zip(ids, units.tolist(), payloads, strict=True))
            self._written[ticket] = last
            self._catalogue.count_chunks(ticket, len(chunks), zip(digests, ids, strict=False))

    def encoded(self, digests: Sequence[bytes]) -> dict[bytes, Matrix]:
        """Digest → vector, of texts that were encoded; see `pincite.protocols.Store`."""
        with self._changing():
            found = self._catalogue.encoded(digests)
            vectors = self._points.vectors(list(found.values()))
        # A point that is not there has a row of zeros.
        return {digest: vector for digest, vector in zip(found, vectors, strict=True) if vector.any()}

    def commit(
        self,
        tickets: Sequence[int],
        *,
        remove: Sequence[str] = (),
        on: str = "",
        sources: Sequence[StoredSource] = (),
    ) -> list[StoredDocument]:
        """Make staged versions current at one moment; see `pincite.protocols.Store`."""
        check_room(self.folder)
        with self._changing():
            # The points are on disk before the catalogue says that they count.
            self._points.flush()
            with self._visibility.write():
                try:
                    present = now()
                    self._last = moment = later(present, self._last)
                    past, retired = self._catalogue.commit(
                        tickets, remove, on, moment, sources, self._retention, present=present
                    )
                    committed = [(ticket, self._staged.pop(ticket)) for ticket in tickets]
                    self._visible.replace(committed, past, retired)
                except BaseException:
                    # What is in memory follows the catalogue, whatever that did before it was cut off.
                    self._visible.reload()
                    raise
            self._settle(self._visible)
            self._expire_now_and_then()
            listed = self._catalogue.listed_versions([ticket for ticket, _ in committed])
            self._last = max([self._last, *(moment for each in listed for moment in (each.added_at, each.ended_at))])
            return listed

    def discard(self, tickets: Sequence[int]) -> None:
        """Forget staged versions. What is committed stays."""
        with self._changing():
            known = self._catalogue.retire(tickets)
            for ticket in tickets:
                self._staged.pop(ticket, None)
            self._delete(known)

    def remove(self, document_id: str, on: str = "") -> bool:
        """Make a document unreachable in every leg before returning; see `pincite.protocols.Store`."""
        with self._changing():
            if self._catalogue.key_of(document_id) is None:
                return False
            self.commit([], remove=[document_id], on=on)
            return True

    def purge(self, document_ids: Sequence[str]) -> int:
        """Delete every version of documents, for good; see `pincite.protocols.Store`.

        Afterwards no file of the index holds their text or vectors, which takes writing all of it anew.
        """
        wanted = set(document_ids)
        with self._changing():
            listed = [each for each in self._catalogue.listed(past=True) if each.id in wanted]
            if listed:
                ids = sorted({each.id for each in listed})
                with self._visibility.write():
                    try:
                        self._catalogue.purge(ids, sorted({uri for each in listed for uri in (each.uri, each.source)}))
                    finally:
                        self._visible.reload()
                for ticket in [ticket for ticket, staged in self._staged.items() if staged.id in wanted]:
                    del self._staged[ticket]
                self._settle(self._visible)
            self._finish_purge()
            return len(listed)

    def _finish_purge(self) -> None:
        """See to it that no file holds anything of what was purged. A purge that was cut off is finished at opening."""
        if self._catalogue.purging():
            self.compact()

    def expire(self) -> int:
        """Delete the past versions that retention keeps no longer. How many."""
        return self._expire(all_rules=True)

    def _expire(self, *, all_rules: bool) -> int:
        with self._changing():
            with self._visibility.write():
                try:
                    retired = self._catalogue.expire(now(), self._retention, all_rules=all_rules)
                    self._visible.replace([], [], retired)
                except BaseException:
                    self._visible.reload()
                    raise
            self._settle(self._visible)
            return len(retired)

    def _expire_now_and_then(self) -> None:
        """A version grows too old without any change of its document: look for such, and not at every commit."""
        if self._retention.days is None:
            return
        if self._expired is None or time.monotonic() - self._expired >= _EXPIRE_AGAIN:
            self._expire(all_rules=False)
            self._expired = time.monotonic()

    def _settle(self, visible: Visible | None = None) -> None:
        """Bring the points to what the catalogue says: delete those of retired versions, mark those of past ones.

        The catalogue hears of it last, when it is on disk: until then a crash finds the rows and does it again.
        """
        to_delete, to_mark = self._catalogue.unsettled()
        to_delete = [key for key in to_delete if key not in self._staged]
        if not to_delete and not to_mark:
            return
        if not has_room(self.folder):
            return  # they stay hidden, and the next time finds them
        self._points.delete(to_delete)
        self._points.mark(to_mark)
        self._points.flush()
        self._catalogue.forget(to_delete)
        self._catalogue.mark(to_mark)
        if visible is not None:
            visible.settle([*to_delete, *to_mark])

    def _join(self) -> None:
        """Write the points anew where the engine has some twice: it was killed while it merged segments.

        It finds such a point once, and may fail to change it.
        """
        if self._points.count > self._catalogue.written() and self._points.count > self._points.distinct:
            with suppress(StoreError):
                self._exchange.copy_anew()

    def _delete(self, keys: Sequence[int]) -> None:
        if keys:
            self._settle(self._visible)

    def note_run(self, command: str, report: AddReport) -> None:
        """Keep what became of the files of a run; see `pincite.protocols.Store`."""
        with self._changing():
            note_run(self._catalogue, command, report, now())

    # Care

    def optimize(self) -> bool:
        """Merge segments, and above the threshold of the settings build the vector index. True if anything was done.

        What was built is measured against exact search; below the floor of the settings it is searched wider, then
        built once more with more care, and at last searched exactly, which `index_report` says. Cut off, the index
        that was there before stands, and until the new one does it is what readers search. A rebuild needs room on the
        disk for a second copy of the points.
        """
        with self._changing():
            return self._index.optimize(self._search_vector, self._exchange.rebuild, self._exchange.settle)

    def compact(self) -> None:
        """Write points and catalogue anew, without what was deleted: in no file is anything left of it.

        Cut off, the index that was there before stands. Needs room on the disk for a second copy.
        """
        with self._changing():
            self._exchange.copy_anew()
            self._catalogue.vacuum()
            if self._catalogue.purging():
                try:
                    remove_unfinished(self.folder)  # nobody makes one now: it would hold this one
                except OSError as error:
                    raise StoreError(f"{self.folder} holds what was cut off and cannot go: {error}") from error
                self._catalogue.purged()

    def check(self) -> list[str]:
        """Every broken invariant in words; empty when all is well."""
        with self._changing(), self.reading():
            return [each.told for each in self._broken()]

    def repair(self, rewrite: Rewrite, recipe: str = "") -> list[str]:
        """Mend what `check` finds wrong of the points, from the text in the catalogue; what was mended, in words.

        The points of a version are written anew where they are not as they must be, while readers wait; see
        `pincite.protocols.Store`. Where chunks and text differ, that is done only if what comes of the text has the
        digests that were recorded: else the text is what is damaged, it stays as it is, and `check` goes on saying so.
        """
        with self._changing():
            with self.reading():
                broken = self._broken()
            strays = sorted(
                {each.key for each in broken if each.key is not None and not self._visible.version_of(each.key)}
            )
            self._points.delete(strays)
            disputed = {each.key for each in broken if each.text}
            left: set[int | None] = set()
            for key in sorted({each.key for each in broken if each.key is not None} - set(strays)):
                document_id, version = self._visible.version_of(key) or ("", 0)
                document = self._catalogue.document(document_id, version)
                if document is None:
                    continue
                chunks, contexts, vectors, digests = rewrite(document)
                if key in disputed and self._catalogue.encodings_of(key) != set(digests):
                    left.add(key)
                    continue
                with self._visibility.write():
                    # Until it is whole a crash leaves what `check` finds again.
                    self._catalogue.rewrite(key, recipe)
                    self._points.delete([key])
                    self._staged[key] = replace(document, text="", pages=(), headings=())
                    self._written[key] = -1
                    try:
                        self.stage_chunks(key, chunks, contexts, vectors, digests)
                    finally:
                        del self._staged[key]
                    if key in self._visible.past:
                        self._points.mark([key])
            self._points.flush()
            self._catalogue.forget_encodings([digest for each in broken for digest in each.encodings])
            if self._index.state.sidecar is not None and self._index.codes is None:
                self._catalogue.set_index(self._index.state_without_codes().dump())
                with self._visibility.write():
                    self._index.reload()
            return [each.told for each in broken if each.key is None or each.key not in left]

    def close(self) -> None:
        """Release the store, once the reads that are running have ended. Idempotent."""
        self._visibility.refuse_reader()
        with self._writer:
            if not self._closed:
                try:
                    self._close_files()
                finally:
                    self._process_lock.release()

    def _close_files(self) -> None:
        with self._visibility.write():
            self._closed = True
            try:
                self._points.close()
            finally:
                self._catalogue.close()

    def give_place_to(self, fresh: Path) -> None:
        """Close, and let the complete index in the folder `fresh` take this one's place. Cut off, one of them stands.

        The lock is held until it is done, so that nobody can add to the old index in between.
        """
        with self._changing():
            points, numbers = self._catalogue.points(), self._catalogue.numbers()
            try:
                self._close_files()
                exchange(self.folder, points, numbers, fresh)
            except OSError as error:
                raise StoreError(f"the new index cannot take the place of {self.folder}: {error}") from error
            finally:
                self._process_lock.release()

    def __enter__(self) -> EdgeStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
