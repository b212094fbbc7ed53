"""The whole check of a finished text: its authorities, its quotations and what it says of them, against the corpus.

What is checked is told apart. An authority: is it in the corpus, as it is named, and in force on the day asked? A
quotation: do these words stand in the authority that it is credited to? A claim: does a passage of one of its
authorities say so? Where the answer is no, the text may still be right: the corpus holds what it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from pincite.quotes import find_quotations
from pincite.types import Document, PointInTime, StoredDocument, Support
from pincite.verify.american import find_american
from pincite.verify.case_tails import levelled, longer, with_tails
from pincite.verify.claims import Cited, split_claims
from pincite.verify.find import find_authorities, merge
from pincite.verify.grammar import Grammar
from pincite.verify.lookup import look_up
from pincite.verify.notes import find_notes, find_references, resolve_reference
from pincite.verify.penalties import in_words_of_acts
from pincite.verify.quoting import Quoting
from pincite.verify.reading import UNSEEN, Reader
from pincite.verify.records import Authority, Brief, Claim, Finding, Mark, MarkStatus, Place
from pincite.verify.registry import Registry

if TYPE_CHECKING:
    from pincite.protocols import Store, SupportScorer

__all__ = ["check_brief", "find_all"]

#: What an authority of these comes to is compared with: it is there, whatever is wrong with how it is named.
_COMPARED = frozenset({"found", "wrong-year", "not-in-force", "ambiguous"})
#: Letters from which on a word tells one name from another.
_TELLING = 5
#: So many passages of an authority are judged: a judgment of two hundred pages costs no more than one of two.
_WINDOWS = 6


def check_brief(
    document: Document,
    store: Store,
    *,
    grammar: Grammar,
    registry: Registry,
    support: SupportScorer,
    as_of: str | None = None,
    american: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Brief:
    """Check `document`, which need not be in the index, against what `store` holds.

    `as_of` is a day, ISO 8601: law that was not in force then is marked. `registry` was built of `store` with
    `grammar`. `progress` is called with claims done and claims in all. What cannot be compared is marked as such;
    nothing here raises for what a text holds.
    """
    text = document.text
    authorities = _lengthened(find_all(text, grammar, american=american), text, registry)
    notes, note_marks = find_notes(text)
    cited, silent = split_claims(text, authorities, find_quotations(text), notes, note_marks)
    checking = _Checking(store, registry, support, as_of)
    claims = []
    for done, each in enumerate(cited, start=1):
        claims.append(checking.claim(each))
        if progress is not None:
            progress(done, len(cited))
    return Brief(
        name=document.title,
        text=text,
        claims=tuple(claims),
        silent=tuple(silent),
        as_of=as_of or "",
        warnings=document.warnings,
        settings={"support": support.name, "corpus": registry.summary},
    )


def find_all(text: str, grammar: Grammar, *, american: bool = False) -> list[Authority]:
    """Every authority and every pointer that `text` names, in its order, none overlapping another.

    With `american` also those of the United States. Raises MissingExtraError where what finds them is not installed.
    """
    plain = levelled(text)
    named = with_tails(find_authorities(plain, grammar), plain)
    if american:
        named = merge(named, find_american(plain))
    return merge(find_references(text), [replace(each, text=text[each.start : each.end]) for each in named])


def _lengthened(authorities: Sequence[Authority], text: str, registry: Registry) -> list[Authority]:
    """The authorities, with the whole name of a case that the corpus has by a longer one only."""
    plain = levelled(text)
    out: list[Authority] = []
    for authority in authorities:
        chosen = authority
        if authority.kind == "case" and authority.parties and look_up(authority, registry).status == "not-found":
            tried = longer(authority, plain, out[-1].end if out else 0)
            chosen = next((each for each in tried if look_up(each, registry).status in _COMPARED), authority)
            chosen = replace(chosen, text=text[chosen.start : chosen.end])
        out.append(chosen)
    return out


class _Checking:
    """What the claims of one text share: sources that were read, authorities that were looked up."""

    def __init__(self, store: Store, registry: Registry, support: SupportScorer, as_of: str | None) -> None:
        self._store = store
        self._registry = registry
        self._support = support
        self._as_of = as_of
        self._reader = Reader(store)
        self._quoting = Quoting(store, self._reader, PointInTime(as_of) if as_of else None)
        self._findings: dict[tuple[int, int], Finding] = {}
        self._judged: dict[tuple[str, tuple[Place, ...]], tuple[Support | None, Place | None]] = {}
        self._documents: dict[str, list[StoredDocument]] | None = None

    def claim(self, cited: Cited) -> Claim:
        """One claim with everything that is said of it."""
        findings = [self._find(each, cited) for each in cited.authorities]
        against = [
            found
            for each in cited.sources
            if (found := self._find(each, cited)).status in _COMPARED and (found.place or found.others)
        ]
        places = tuple(dict.fromkeys(place for each in against for place in self._places(each)))
        marks: list[Mark] = []
        quotations = []
        for start, end in cited.quotations:
            words = cited.text[start - cited.start : end - cited.start]
            quotation, mark = self._quoting.hold(words, start, places, credited=cited.asserts)
            quotations += [quotation] if quotation is not None else []
            marks.append(mark)
        # What a true quotation names is named by the source: "section 299" is one of its own act.
        proven = [(mark.start, mark.end) for mark in marks if mark.status == "ok"]
        findings = [
            each
            for each in findings
            if not any(a <= each.authority.start and each.authority.end <= b for a, b in proven)
        ]
        marks += [_of_authority(finding) for finding in findings]
        for gone in cited.missing:
            note = "the text has no such note or source"
            marks.append(Mark(gone.start, gone.end, "authority", "not-found", note))
        support, place = self._judge(cited, places)
        there = bool(places) or any(each.place is not None for each in findings)
        made = _of_claim(cited, support, place, there, self._reader)
        if made is not None:
            marks.append(made)
        return Claim(
            start=cited.start,
            end=cited.end,
            text=cited.text,
            findings=tuple(findings),
            quotations=tuple(quotations),
            support=support,
            place=place,
            statement=cited.statement,
            marks=tuple(marks),
        )

    def _find(self, authority: Authority, cited: Cited) -> Finding:
        key = (authority.start, authority.end)
        if key not in self._findings:
            if authority.kind == "reference":
                self._findings[key] = resolve_reference(authority, self._store, self._by_name())
            else:
                found = look_up(authority, self._registry, self._as_of, sentence=_said(cited))
                if found.status == "not-found" and authority.kind == "provision":
                    # It is wrong as it is; a sentence about the parties may tell all the same which act was meant.
                    found = look_up(authority, self._registry, self._as_of, sentence=cited.text)
                self._findings[key] = _another(found, self._registry.grammar)
        return self._findings[key]

    def _places(self, finding: Finding) -> list[Place]:
        """What is read of an authority: the provision, the whole of a judgment."""
        places = [place for place in (finding.place, *finding.others) if place is not None]
        if finding.authority.kind == "case":
            return [self._reader.part(place, 0, len(self._reader.text(place))) for place in places]
        return places

    def _by_name(self) -> dict[str, list[StoredDocument]]:
        """The documents by the name of their file; asked for by texts that carry pincite's pointers alone."""
        if self._documents is None:
            self._documents = {}
            for each in self._store.documents():
                self._documents.setdefault(PurePath(each.uri).name, []).append(each)
        return self._documents

    def _judge(self, cited: Cited, places: tuple[Place, ...]) -> tuple[Support | None, Place | None]:
        """The best support among the places, and where it stands; nothing where there is nothing to compare."""
        if not (_compared(cited) and cited.statement and places):
            return None, None
        key = cited.statement, places
        if key not in self._judged:
            support, place = self._best(cited.statement, places)
            plain = in_words_of_acts(cited.statement)
            if plain != cited.statement and (support is None or support.verdict not in ("supported", "verbatim")):
                support, place = self._best(plain, places)
            self._judged[key] = support, place
        return self._judged[key]

    def _best(self, statement: str, places: Sequence[Place]) -> tuple[Support | None, Place | None]:
        best: tuple[Support, Place] | None = None
        for place in places:
            windows = self._reader.windows(place, statement, _WINDOWS)
            if not windows:
                continue
            texts = [
                self._reader.compared(self._reader.part(place, *window)).replace(UNSEEN, " ") for window in windows
            ]
            for (start, _), worth in zip(windows, self._support.judge(statement, texts), strict=True):
                if best is None or _rank(worth) > _rank(best[0]):
                    at = self._reader.part(place, start + worth.start, start + worth.end)
                    best = Support(at.start, at.end, worth.verdict, worth.score, worth.why), at
        return best if best is not None else (None, None)


def _another(finding: Finding, grammar: Grammar) -> Finding:
    """A case of another year that has words in its name which the one of the corpus has not is another case."""
    parties = finding.authority.parties
    if finding.status != "wrong-year" or parties is None or finding.authority.short:
        return finding
    names = [finding.name, *(place.title for place in finding.others)]
    there = [{word for side in re.split(r"\s+v\.?\s+", name) for word in grammar.parties.words(side)} for name in names]
    own = {word for party in parties if party for word in grammar.parties.words(party) if len(word) >= _TELLING}
    if any(own <= words for words in there):
        return finding
    note = f"not in this corpus; the nearest name is {finding.name}"
    return Finding(finding.authority, "not-found", note)


def _said(cited: Cited) -> str:
    """What the sentence says of its authorities, by which an act that was mistaken for another is known."""
    quoted = [cited.text[start - cited.start : end - cited.start] for start, end in cited.quotations]
    return " ".join([cited.statement, *quoted]).strip() if cited.asserts else ""


#: Why a sentence that names an authority is held against none.
_NOT_COMPARED = {
    "topic": "it says what the authority is about or what became of it, not what it holds",
    "other": "it is not seen to say what the authority holds; only whether that is there was looked up",
}


def _compared(cited: Cited) -> bool:
    return cited.asserts or cited.remark == "loose"


def _contradicted(cited: Cited, support: Support) -> bool:
    """Whether a provision has another number than a sentence about its penalty, and not merely other words."""
    told = not support.why.startswith("no sentence") and re.search(r"\d", support.why) is not None
    return told and all(each.kind == "provision" for each in cited.sources)


_ORDER = {"unknown": 0, "unsupported": 1, "supported": 2, "verbatim": 3}


def _rank(support: Support) -> tuple[int, float]:
    return _ORDER[support.verdict], support.score


def _of_authority(finding: Finding) -> Mark:
    authority = finding.authority
    status: MarkStatus = "ok" if finding.status == "found" else finding.status
    return Mark(authority.start, authority.end, "authority", status, finding.note or finding.name, finding.place)


def _of_claim(cited: Cited, support: Support | None, place: Place | None, found: bool, reader: Reader) -> Mark | None:
    """What is said of the sentence itself; nothing of a fact of the matter. `found`: an authority of it is there."""

    def unchecked(note: str) -> Mark:
        return Mark(cited.start, cited.end, "claim", "unchecked", note)

    if not cited.statement:
        return None
    if not _compared(cited):
        return unchecked(_NOT_COMPARED[cited.remark]) if found and cited.remark in _NOT_COMPARED else None
    if support is None or place is None or support.verdict == "unknown":
        if not found:
            return unchecked("none of its authorities is in this corpus")
        lacking = "no passage of its authorities shares words with it"
        return unchecked(lacking if support is None else "nothing in it can be compared")
    if not cited.asserts and support.verdict == "unsupported" and not _contradicted(cited, support):
        return unchecked(f"not said there in these words; {support.why}")
    status: MarkStatus = "unsupported" if support.verdict == "unsupported" else "ok"
    return Mark(cited.start, cited.end, "claim", status, support.why, place, reader.quote(place))
