"""What a document that is a decided case says of itself: its parties, its date, its own reports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from pincite.types import Document
from pincite.verify.forms import report_year
from pincite.verify.grammar import Grammar

__all__ = ["CaseText", "case_of", "first_date"]

#: So far into a judgment its date and its reports are looked for, in characters.
_HEAD = 700
_MONTHS = {
    name: i
    for i, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"), start=1)
    for name in names.split()
}  # fmt: skip
_DATES = re.compile(
    r"\b(?P<d1>\d{1,2})(?:st|nd|rd|th)?[\s-]+(?:of\s+)?(?P<m1>[A-Za-z]{3,9})\.?,?[\s-]+(?P<y1>(?:1[6-9]|20)\d\d)\b"
    r"|\b(?P<m2>[A-Za-z]{3,9})\.?\s+(?P<d2>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<y2>(?:1[6-9]|20)\d\d)\b"
    r"|\b(?P<d3>\d{1,2})[./-](?P<m3>\d{1,2})[./-](?P<y3>(?:1[6-9]|20)\d\d)\b"
    r"|\b(?P<y4>(?:1[6-9]|20)\d\d)-(?P<m4>\d\d)-(?P<d4>\d\d)\b"
)
_SAID = ("decided", "decided_on", "decision_date", "judgment_date", "date_of_judgment", "date")
_CITED_AS = re.compile(r"(?:equivalent\s+)?citations?\s*:|\bcited as\b|\breported in\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CaseText:
    """A case as its document gives it."""

    parties: tuple[str, str]
    decided: str  #: ISO 8601; empty where it does not say
    reports: tuple[str, ...]


def case_of(document: Document, grammar: Grammar) -> CaseText | None:
    """The case that a document is; None for one that is none. A case is called "A v. B", or "In re A"."""
    parties = _parties(document.title, grammar) or _heading(document, grammar)
    if parties is None:
        return None
    head = document.text[:_HEAD]
    decided = next(
        (found for key in _SAID if (found := first_date(str(document.metadata.get(key, ""))))), ""
    ) or first_date(head)
    reports = []
    for line in head.splitlines():
        begins = grammar.reader.match(line, len(line) - len(line.lstrip()))
        if begins or _CITED_AS.search(line):
            reports += [each.text for each in grammar.reader.find(line)]
    for key in ("citation", "citations", "neutral_citation", "reports"):
        reports += [each.text for each in grammar.reader.find(str(document.metadata.get(key, "")))]
    # A head names other cases as well: a report is its own only if it can be, within two years of the decision.
    own = [each for each in reports if not decided or 0 <= (report_year(each) or 0) - int(decided[:4]) <= 2]
    return CaseText(parties, decided, tuple(dict.fromkeys(own)))


def _parties(title: str, grammar: Grammar) -> tuple[str, str] | None:
    either = "|".join(map(re.escape, grammar.versus))
    plain = " ".join(title.lstrip("# ").split())
    # "T. V. Rao v State": a capital V is an initial where a small one stands as well, and never without a full stop.
    match = re.fullmatch(rf"(.+?)\s+(?!V\b)(?i:{either})\b\.?\s+(.+)", plain) or re.fullmatch(
        rf"(.+?)\s+(?!V\s)(?i:{either})\b\.?\s+(.+)", plain
    )
    if match and len(title) < 600:
        return match.group(1), match.group(2)
    if re.match(r"\s*in\s+re\b", title, re.IGNORECASE):
        return title.strip(), ""
    return None


def _heading(document: Document, grammar: Grammar) -> tuple[str, str] | None:
    """The parties from a line of the head that is nothing but them, of a document that is called something else."""
    if len(document.headings) > 40:
        return None
    lines = [line.strip() for line in document.text[:_HEAD].splitlines() if line.strip()][:8]
    for line in lines:
        if len(line) <= 200 and not line.endswith((".", ":", ";")) and (found := _parties(line, grammar)):
            return found
    for i in range(1, len(lines) - 1):
        if re.fullmatch(rf"[-–—.\s]*(?:{'|'.join(grammar.versus)})\.?[-–—.\s]*", lines[i], re.IGNORECASE):
            return lines[i - 1], lines[i + 1]
    return None


def first_date(text: str) -> str:
    """The first day that `text` names, ISO 8601; empty for none.

    >>> first_date("Supreme Court of India, 26 September 1973")
    '1973-09-26'
    """
    for match in _DATES.finditer(text):
        for i in "1234":
            if not match.group(f"y{i}"):
                continue
            month = match.group(f"m{i}")
            number = int(month) if month.isdigit() else _MONTHS.get(month.casefold(), 0)
            try:
                return date(int(match.group(f"y{i}")), number, int(match.group(f"d{i}"))).isoformat()
            except ValueError:
                break
    return ""
