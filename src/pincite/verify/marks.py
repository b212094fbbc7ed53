"""What is said of the places of a checked text, and what all of it comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pincite.verify.records import Brief, Mark, MarkStatus

__all__ = ["SAID", "WRONG", "counts", "marks", "said", "wrong"]

#: What a status is called, for people.
SAID: dict[MarkStatus, str] = {
    "ok": "ok",
    "not-found": "not found in this corpus",
    "no-such-provision": "no such provision",
    "wrong-name": "wrong name",
    "wrong-year": "wrong year",
    "wrong-act": "wrong act or provision",
    "not-in-force": "not in force",
    "altered-quote": "altered quotation",
    "quote-elsewhere": "quotation stands elsewhere",
    "quote-absent": "quotation not found",
    "unsupported": "the passage found does not say so",
    "ambiguous": "ambiguous",
    "unchecked": "not checked",
}

#: What somebody has to look at. What the corpus does not have is apart: it may be right.
WRONG: frozenset[MarkStatus] = frozenset(
    {
        "no-such-provision",
        "wrong-name",
        "wrong-year",
        "wrong-act",
        "not-in-force",
        "altered-quote",
        "quote-elsewhere",
        "quote-absent",
        "unsupported",
    }
)


def marks(brief: Brief) -> list[Mark]:
    """What is said of every authority, every quotation and every claim that says what an authority holds.

    In the order of the text; of two that begin together the longer comes first.
    """
    order = {"claim": 0, "quotation": 1, "authority": 2}
    found = [mark for claim in brief.claims for mark in claim.marks]
    return sorted(found, key=lambda mark: (mark.start, -mark.end, order[mark.what]))


#: What is said of what is right, each for what was looked at.
_RIGHT = {"authority": "is there", "quotation": "stands there", "claim": "says so"}


def said(mark: Mark) -> str:
    """What is said of a place, for people. Of an authority that is right no more than that it is there.

    >>> said(Mark(0, 1, "authority", "ok")), said(Mark(0, 1, "claim", "unchecked"))
    ('is there', 'not checked')
    """
    return _RIGHT[mark.what] if mark.status == "ok" else SAID[mark.status]


def wrong(found: Iterable[Mark], *, missing: bool = True) -> list[Mark]:
    """The marks for which a check fails; with `missing` also those of what is not in the corpus."""
    return [mark for mark in found if mark.status in WRONG or (missing and mark.status == "not-found")]


def counts(found: Iterable[Mark]) -> dict[str, dict[str, int]]:
    """``authority``, ``quotation`` and ``claim`` → status → how many; in the order of `SAID`, without zeros."""
    table: dict[str, Counter[str]] = {"authority": Counter(), "quotation": Counter(), "claim": Counter()}
    for mark in found:
        table[mark.what][mark.status] += 1
    return {what: {status: row[status] for status in SAID if row[status]} for what, row in table.items()}
