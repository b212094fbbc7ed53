"""A checked text as data, and its places as lines for people: what the terminal, the page and the comments share."""

from __future__ import annotations

import re

from pincite.verify.marks import WRONG, counts, marks, said
from pincite.verify.records import Brief, Mark, MarkStatus, Place

__all__ = ["brief_data", "kind", "named", "reference", "shortened", "sign", "undated"]

_SIGNS = {"ok": "✓", "wrong": "✗", "missing": "?", "open": "–"}


def kind(status: MarkStatus) -> str:
    """``ok``, ``wrong``, ``missing`` for what is not in the corpus, ``open`` for what decides nothing."""
    if status == "ok" or status in WRONG:
        return "ok" if status == "ok" else "wrong"
    return "missing" if status == "not-found" else "open"


def sign(status: MarkStatus) -> str:
    """One character for a status."""
    return _SIGNS[kind(status)]


def reference(place: Place) -> str:
    """A place as ``pincite show`` opens it: ``DOCUMENT@VERSION:START-END``."""
    return f"{place.document_id}@{place.version}:{place.start}-{place.end}"


def shortened(text: str, limit: int) -> str:
    """`text` on one line, of at most `limit` characters."""
    plain = " ".join(text.split())
    return plain if len(plain) <= limit else plain[: limit - 1].rstrip() + "…"


def named(text: str, limit: int) -> str:
    """An authority as the text has it, `shortened`, without the asterisks of emphasis.

    >>> named("Ram Lal* v. *State of Punjab* (1983)", 80)
    'Ram Lal v. State of Punjab (1983)'
    """
    return shortened(re.sub(r"(?<=\w)\*{1,3}|\*{1,3}(?=\w)", "", text), limit)


def undated(brief: Brief) -> str:
    """A remark where no day was asked for and law is found that has ended; empty elsewhere."""
    ended = sum(
        "in force until " in finding.note for claim in brief.claims for finding in claim.findings if not brief.as_of
    )
    if not ended:
        return ""
    many = "1 provision found has" if ended == 1 else f"{ended} provisions found have"
    return f"law as recorded, no day was asked for (--as-of): {many} an end"


def brief_data(brief: Brief, *, missing: bool = True) -> dict[str, object]:
    """What was found, as JSON data; `missing`: what is not in the corpus counts as a fault.

    Offsets are code points of `text`. A claim's ``support`` has offsets into the document at its ``place``.
    """
    found = marks(brief)
    return {
        "name": brief.name,
        "as_of": brief.as_of or None,
        "remark": undated(brief),
        "checked_with": dict(brief.settings),
        "warnings": list(brief.warnings),
        "sentences_without_authority": len(brief.silent),
        "without_authority": [
            {"start": start, "end": end, "text": brief.text[start:end]} for start, end in brief.silent
        ],
        "summary": counts(found),
        "ok": not any(mark.status in WRONG or (missing and mark.status == "not-found") for mark in found),
        "claims": [
            {
                "start": claim.start,
                "end": claim.end,
                "text": claim.text,
                "statement": claim.statement,
                "support": None
                if claim.support is None
                else {
                    "verdict": claim.support.verdict,
                    "score": round(claim.support.score, 4),
                    "why": claim.support.why,
                    "place": _place(claim.place),
                },
                "marks": [_mark(mark, brief.text) for mark in claim.marks],
            }
            for claim in brief.claims
        ],
    }


def _mark(mark: Mark, text: str) -> dict[str, object]:
    return {
        "what": mark.what,
        "status": mark.status,
        "said": said(mark),
        "start": mark.start,
        "end": mark.end,
        "text": text[mark.start : mark.end],
        "note": mark.note,
        "place": _place(mark.place),
        "quote": mark.quote if mark.what != "authority" else "",
    }


def _place(place: Place | None) -> dict[str, object] | None:
    if place is None:
        return None
    return {
        "document_id": place.document_id,
        "version": place.version,
        "start": place.start,
        "end": place.end,
        "title": place.title,
        "uri": place.uri,
        "page": place.page,
        "reference": reference(place),
    }
