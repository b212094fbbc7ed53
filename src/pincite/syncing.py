"""Making the index equal to a folder: what is new or changed is added, what is gone removed, what moved has moved."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.adding import Adding, Given, Moves, file_uri, passed_over, skipped_outcome, unchanged
from pincite.errors import InputError, LoadError
from pincite.sources import Found, find_files
from pincite.types import AddReport, FileOutcome, StoredDocument

if TYPE_CHECKING:
    from pincite.indexing import AddListener
    from pincite.protocols import Source

__all__ = ["sync_folder"]

#: From so many documents that are gone on, half of a folder is too much to be believed without a word.
_MANY = 20


def sync_folder(
    adding: Adding,
    folder: Path,
    given: Given,
    listener: AddListener | None = None,
    *,
    dry_run: bool = False,
    remove_all: bool = False,
) -> AddReport:
    """See `pincite.pipeline.Pipeline.sync`."""
    if not folder.is_dir():
        raise InputError(f"{str(folder)!r} is not a folder: sync makes the index equal to a folder")
    found = list(find_files([folder]))
    below = file_uri(folder).rstrip(os.sep) + os.sep
    known = [each for each in adding.store.documents() if each.source.startswith(below)]
    gone = _gone(found, known)
    if gone and not remove_all:
        _doubt(adding, folder, found, known, gone)
    sources = (passed_over(each) if each.reason else adding.source(each.path) for each in found)
    if dry_run:
        return _foresee(adding, sources, gone, given)
    return adding.add(sources, len(found), given, listener, redate=False, gone=gone, on=given.valid_from)


def _gone(found: Sequence[Found], known: Sequence[StoredDocument]) -> list[StoredDocument]:
    """The documents whose files are no longer there."""
    here = {file_uri(each.path) for each in found if not each.reason}
    # A link to nothing stands for itself, not for what it names.
    here |= {os.path.join(file_uri(each.path.parent), each.path.name) for each in found if each.reason == "unreadable"}
    # Nobody can say what is in a folder that cannot be looked into.
    closed = tuple(
        file_uri(each.path) + os.sep for each in found if each.reason == "unreadable" and os.path.isdir(each.path)
    )
    return [
        each
        for each in known
        # One that was named itself, in a folder that is passed over, is still there.
        if each.source not in here and not each.source.startswith(closed) and not os.path.isfile(each.source)
    ]


def _doubt(
    adding: Adding,
    folder: Path,
    found: Sequence[Found],
    known: Sequence[StoredDocument],
    gone: Sequence[StoredDocument],
) -> None:
    """Raise InputError where so much is gone that a disk may not be mounted."""
    if all(each.reason for each in found):
        raise InputError(
            f"{folder} is empty, and the index has {len(gone)} documents from it: is the disk mounted? "
            "If they are to be removed, say --remove-all"
        )
    if len(gone) < _MANY or 2 * len(gone) <= len(known):
        return
    # What stands elsewhere in the folder has only moved.
    sources = {each.source for each in known}
    moved: dict[str, int] = {}
    for each in found:
        source = None if each.reason or file_uri(each.path) in sources else adding.source(each.path)
        if source is None or isinstance(source, FileOutcome):
            continue
        try:
            digest = adding.record(source).content_hash
        except LoadError:
            continue
        moved[digest] = moved.get(digest, 0) + 1
    lost = 0
    for document in gone:
        if moved.get(document.content_hash, 0):
            moved[document.content_hash] -= 1
        else:
            lost += 1
    if lost >= _MANY and 2 * lost > len(known):
        raise InputError(
            f"{lost} of the {len(known)} documents that the index has from {folder} are gone: is a disk not mounted? "
            "If they are to be removed, say --remove-all"
        )


def _foresee(
    adding: Adding, sources: Iterable[Source | FileOutcome], gone: Sequence[StoredDocument], given: Given
) -> AddReport:
    """What `Adding.add` would do, by the bytes of the sources alone: no loader reads them, nothing is written."""
    started = time.perf_counter()
    moves = Moves(gone)
    outcomes: list[FileOutcome] = []
    for source in sources:
        if isinstance(source, FileOutcome):
            outcomes.append(source)
            continue
        try:
            record = adding.record(source)
        except LoadError as error:
            outcomes.append(skipped_outcome(source.uri, error.reason, str(error)))
            continue
        olds = adding.store.documents_of(source.uri)
        if adding.is_as_it_was(record, olds, given, redate=False):
            outcomes.append(unchanged(source, olds))
        elif olds:
            outcomes.append(FileOutcome(source.uri, "updated", olds[0].id))
        else:
            origin = moves.origin_of(record.content_hash, source.uri)
            detail = f"from {origin.uri}" if origin is not None else ""
            outcomes.append(FileOutcome(source.uri, "added" if origin is None else "moved", detail=detail))
    outcomes += [moves.outcome(document, given.valid_from) for document in gone]
    return AddReport(tuple(outcomes), time.perf_counter() - started)
