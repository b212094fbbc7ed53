"""What flows through the check of a finished text. All are frozen; offsets are into the text that is checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pincite.types import Quotation, Support

__all__ = ["Authority", "AuthorityStatus", "Brief", "Claim", "Finding", "Mark", "MarkStatus", "Place"]


@dataclass(frozen=True, slots=True)
class Authority:
    """A provision or a decided case as a text names it, or a pointer into a document as pincite writes them."""

    kind: Literal["provision", "case", "reference"]
    start: int
    end: int
    text: str  #: as it stands there
    act: str = ""  #: of a provision: key of the act in the grammar (``ipc``), or its name as written where none fits
    unit: str = ""  #: ``section``, ``article``, ``order``, ``rule``, ``schedule``
    provision: str = ""  #: its number without what is below it: ``302``, ``21A``
    below: str = ""  #: what is below it: ``(1)(a)``
    parties: tuple[str, str] | None = None  #: of a case, as written; the second empty where only one is named
    reports: tuple[str, ...] = ()  #: of a case, in one form each: ``AIR 1973 SC 1461``, ``(1973) 4 SCC 225``
    year: int | None = None  #: of a case, as the text gives it, of the report where it gives no other
    decided: bool = False  #: whether `year` is that of the decision, said apart from the reports: ``A v. B (1973)``
    pinpoint: str = ""  #: where in the case: ``para 12``, ``p. 290``
    short: bool = False  #: a case named before, or by one party: ``Maneka Gandhi's case``, ``Masud Khan (supra)``


@dataclass(frozen=True, slots=True)
class Place:
    """Characters of a version of a document."""

    document_id: str
    version: int
    start: int
    end: int
    title: str
    uri: str
    page: int | None = None


AuthorityStatus: TypeAlias = Literal[
    "found", "not-found", "no-such-provision", "wrong-name", "wrong-year", "wrong-act", "not-in-force", "ambiguous"
]
"""What the corpus says of an authority.

found: it is there as named. not-found: it is not in this corpus, which does not make it false. no-such-provision: the
corpus has the whole act, or the whole section, and in it there is no such provision. wrong-name: the report
is there, of a case with other parties. wrong-year: a case of that name is there, of another year or under another
report. wrong-act: the act has no such provision or its provision is about something else, and another act's fits.
not-in-force: it is there, and not in force on the day that was asked. ambiguous: several fit, or the text
does not say which is meant.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one authority."""

    authority: Authority
    status: AuthorityStatus
    note: str = ""  #: in words: what is there instead, since when it is not in force
    name: str = ""  #: what stands at `place`: ``Section 302, Indian Penal Code``, the name of the case and its day
    place: Place | None = None  #: where it stands, or what comes nearest
    others: tuple[Place, ...] = ()  #: of what is ambiguous


MarkStatus: TypeAlias = Literal[
    "ok",
    "not-found",
    "no-such-provision",
    "wrong-name",
    "wrong-year",
    "wrong-act",
    "not-in-force",
    "altered-quote",
    "quote-elsewhere",
    "quote-absent",
    "unsupported",
    "ambiguous",
    "unchecked",
]
"""What is said of a place of the text.

Those of an authority are as in `AuthorityStatus`. altered-quote: the words stand there nearly so, or in pieces.
quote-elsewhere: not there, but elsewhere in the corpus. quote-absent: nowhere in the corpus. unsupported: the passage
found does not say so, which does not make it false. unchecked: it was not compared, and the note says why.
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """What is said of a place of the text."""

    start: int
    end: int
    what: Literal["authority", "quotation", "claim"]
    status: MarkStatus
    note: str = ""  #: in words: what is there instead, what differs
    place: Place | None = None
    quote: str = ""  #: the words at `place`, of a quotation or a claim


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the text that names authorities, and how it fares against them.

    One that goes on about those of the claim before it ("It further held that …") has no findings of its own.
    """

    start: int
    end: int
    text: str
    findings: tuple[Finding, ...]
    quotations: tuple[Quotation, ...] = ()  #: offsets are into the whole text
    support: Support | None = None  #: the best among the authorities found; None where nothing could be compared
    place: Place | None = None  #: the characters that support it, or come nearest
    statement: str = ""  #: what was compared: the sentence without its citations and what merely leads to them
    marks: tuple[Mark, ...] = ()  #: what is said of it, of its authorities and of its quotations


@dataclass(frozen=True, slots=True)
class Brief:
    """A text that was checked."""

    name: str
    text: str
    claims: tuple[Claim, ...]
    silent: tuple[tuple[int, int], ...] = ()  #: spans of the sentences that name no authority and go on about none
    as_of: str = ""  #: the day of the law that was asked for, ISO 8601; empty: as recorded last
    warnings: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)  #: what it was checked with
