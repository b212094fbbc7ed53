"""Days and moments as people write them, in the one form in which they are compared: ISO 8601."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone

from pincite.errors import InputError
from pincite.types import VALIDITY_FIELDS, MetadataValue, PointInTime

__all__ = ["day", "moment", "point_in_time", "today", "with_days"]

_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
#: What `datetime.fromisoformat` takes differs from one Python to the next.
_MOMENT = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r"(?: ?(?:([Zz])|([+-])(\d{2}):?(\d{2})))?"
)


def day(text: str, what: str, *, whole: bool = False, end: bool = False) -> str:
    """A day as ``YYYY-MM-DD``. A year or a month stands for its first day, with `end` for its last.

    With `whole` neither will do. Raises InputError, which names `what` it should be.

    >>> day("1976-12", "valid_from")
    '1976-12-01'
    >>> day("1976-12", "valid_to", end=True)
    '1976-12-31'
    """
    match = _DAY.fullmatch(text.strip())
    if match and (match[3] or not whole):
        try:
            year, month = int(match[1]), int(match[2] or (12 if end else 1))
            return date(year, month, int(match[3] or (monthrange(year, month)[1] if end else 1))).isoformat()
        except ValueError:
            pass
    raise InputError(f"{what} is {text!r}, which is no day: write it as 2024-06-30")


def moment(text: str, what: str) -> str:
    """A moment in UTC as the index writes it. A day stands for its end; a time without a zone is local.

    Raises InputError, which names `what` it should be.

    >>> moment("2024-06-30", "as_recorded")
    '2024-06-30T23:59:59.999+00:00'
    """
    if _DAY.fullmatch(text.strip()):
        return f"{day(text, what, whole=True)}T23:59:59.999+00:00"
    try:
        if match := _MOMENT.fullmatch(text.strip()):
            return _read_moment(match).astimezone(timezone.utc).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):  # no such hour, or beyond what the calendar or the system reaches
        pass
    raise InputError(f"{what} is {text!r}, which is no moment: write 2024-06-30 or 2024-06-30T14:05")


def _read_moment(match: re.Match[str]) -> datetime:
    year, month, on, hour, minute, second, fraction, utc, sign, hours, minutes = match.groups()
    zone: timezone | None = None
    if utc:
        zone = timezone.utc
    elif sign:
        if int(minutes) > 59:
            raise ValueError("no such offset")
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        zone = timezone(-offset if sign == "-" else offset)
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    return datetime(int(year), int(month), int(on), int(hour), int(minute), int(second or 0), micros, zone)


def point_in_time(as_of: str | None, as_recorded: str | None) -> PointInTime | None:
    """What a search is limited to; None where nothing is asked. Raises InputError for what is no date."""
    if as_of is None and as_recorded is None:
        return None
    return PointInTime(
        None if as_of is None else day(as_of, "as_of", whole=True),
        None if as_recorded is None else moment(as_recorded, "as_recorded"),
    )


def today() -> str:
    """The present day, UTC."""
    return datetime.now(timezone.utc).date().isoformat()


def with_days(metadata: Mapping[str, MetadataValue]) -> tuple[dict[str, MetadataValue], tuple[str, ...]]:
    """The metadata with its days of validity in the form that is compared, and warnings of those that are no days.

    A year or a month that is named as the last day stands for its own last. What is no day is left out: it would say
    something that nobody can act by.
    """
    found, warnings = dict(metadata), []
    for name in VALIDITY_FIELDS:
        if name not in found:
            continue
        try:
            found[name] = day(str(found[name]), name, end=name == VALIDITY_FIELDS[1])
        except InputError as error:
            del found[name]
            warnings.append(f"left out: {error}")
    first, last = (str(found.get(name, "")) for name in VALIDITY_FIELDS)
    if first and last and last < first:
        warnings.append(f"it ends on {last}, before it begins on {first}: it is never in force")
    return found, tuple(warnings)
