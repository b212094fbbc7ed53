"""Which versions were in force on a day, or known at a moment: the rule of `pincite.types.PointInTime` on rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pincite.store.catalogue import Catalogue
    from pincite.types import PointInTime

__all__ = ["Span", "keys_at", "later", "visible_at"]


class Span(NamedTuple):
    """When a version was recorded and when it is in force. Empty text stands for no bound."""

    key: int
    document_id: str
    version: int
    added_at: str
    ended_at: str
    starts: str
    valid_to: str
    removed_on: str
    content_hash: str = ""


def later(present: str, last: str) -> str:
    """The moment of a commit: the present one, or the millisecond after the `last` that was recorded, if that is ahead.

    A clock may be set back: what is recorded is in the order of the commits all the same. Moments are ISO 8601 in UTC;
    a `last` one that cannot be read, or that nothing comes after, counts for none.
    """
    if last <= present:
        return present
    try:
        following = datetime.fromisoformat(last) + timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        return present
    return max(present, following.isoformat(timespec="milliseconds"))


def keys_at(catalogue: Catalogue, at: PointInTime) -> frozenset[int]:
    """Keys of the kept versions that a search at this point in time sees."""
    rows = catalogue.rows(
        "SELECT key, document_id, version, added_at, ended_at, ifnull(starts, ''), valid_to, removed_on, content_hash"
        " FROM versions WHERE state IN ('current', 'past')"
    )
    return frozenset(visible_at(map(Span._make, rows), at))


def visible_at(spans: Iterable[Span], at: PointInTime) -> set[int]:
    """Keys of the versions that are visible: at most one of each document."""
    known = spans if at.recorded is None else [span for span in spans if span.added_at <= at.recorded]
    if at.as_of is None:
        if at.recorded is None:
            return {span.key for span in known if not span.ended_at}
        return {span.key for span in known if not span.ended_at or at.recorded < span.ended_at}
    known = list(known)
    #: Document → the last of its versions that its removal, by that day, has ended; those before it end with it.
    removed: dict[str, int] = {}
    for span in known:
        heard = at.recorded is None or span.ended_at <= at.recorded
        if span.removed_on and span.removed_on <= at.as_of and heard:
            removed[span.document_id] = max(span.version, removed.get(span.document_id, 0))
    #: What is said again of the same bytes, with other days, takes the place of what was said before.
    following = {(span.document_id, span.version - 1): span.content_hash for span in known if span.content_hash}
    #: Document → the version of latest start until the day.
    latest: dict[str, Span] = {}
    for span in known:
        if span.starts > at.as_of or span.version <= removed.get(span.document_id, 0):
            continue
        again = span.content_hash and following.get((span.document_id, span.version)) == span.content_hash
        if again and not span.removed_on:
            continue
        before = latest.get(span.document_id)
        if before is None or (span.starts, span.version) > (before.starts, before.version):
            latest[span.document_id] = span
    return {span.key for span in latest.values() if not span.valid_to or at.as_of <= span.valid_to}
