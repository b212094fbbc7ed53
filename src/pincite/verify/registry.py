"""The authorities that the documents of an index are: cases with parties and dates, acts with their provisions.

Beside them is kept which report judgments of the corpus give for which case: ``Masud Khan v. State of UP, (1974) 3 SCC
469`` in a judgment ties that report to that name, also where the case itself is not in the corpus.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from pincite.types import StoredDocument
from pincite.verify.case_names import find_named
from pincite.verify.grammar import Grammar
from pincite.verify.judgments import case_of
from pincite.verify.known_cases import Case, CitedName, KnownCases, Tie
from pincite.verify.records import Place
from pincite.verify.statutes import ProvisionText, act_of, plain_act, provisions_of

if TYPE_CHECKING:
    from pincite.protocols import Store
    from pincite.types import Document

__all__ = ["Act", "Provision", "Registry", "build_registry"]

_EVER = "9999-12-31"


@dataclass(frozen=True, slots=True)
class Provision:
    """One provision in one version of a document, and when that is in force."""

    act: str
    unit: str
    number: str
    title: str
    place: Place
    starts: str  #: first day in force; empty: since ever
    ends: str  #: last day; empty: no end is known
    current: bool  #: whether its version is the one that is current in the index
    repealed: str = ""  #: what it says of its own repeal
    repealed_from: str = ""
    note: str = ""

    def in_force(self, day: str | None) -> bool:
        """Whether it is in force on a day; with None, whether it is what the index has as current."""
        if day is None:
            return self.current and not self.repealed
        if self.repealed and not (self.repealed_from and day < self.repealed_from):
            return False
        return self.starts <= day <= (self.ends or _EVER)


@dataclass(frozen=True, slots=True)
class Act:
    """An act of the corpus. `provisions` by unit and number, each with its versions, the earliest first."""

    key: str
    name: str
    provisions: Mapping[tuple[str, str], tuple[Provision, ...]]


@dataclass(frozen=True)
class Registry:
    """What `build_registry` found."""

    grammar: Grammar
    acts: Mapping[str, Act]  #: by key, or by name as `plain_act` where the grammar has none
    cases: KnownCases
    texts: Callable[[Place], str]  #: the characters at a place

    @property
    def summary(self) -> str:
        """In words: ``2914 cases, 5 acts with 2103 provisions``."""
        provisions = _count(sum(len(act.provisions) for act in self.acts.values()), "provision")
        return f"{_count(len(self.cases.cases), 'case')}, {_count(len(self.acts), 'act')} with {provisions}"

    def act(self, name: str) -> Act | None:
        """The act with this key or this name, whatever its year is said to be."""
        return self.acts.get(name) or self.acts.get(plain_act(name))


def build_registry(
    store: Store,
    grammar: Grammar,
    *,
    recorded: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Registry:
    """Scan every kept version of every document of the index.

    `recorded` is a moment, as in `pincite.types.PointInTime`: versions recorded later are not seen. `progress` is
    called with documents done and documents in all. Of a case only the newest version counts; of an act all do.
    """
    kept: dict[str, list[StoredDocument]] = defaultdict(list)
    for each in store.history():
        if recorded is None or each.added_at <= recorded:
            kept[each.id].append(each)
    cases: list[Case] = []
    cited: Counter[tuple[str, tuple[str, ...], tuple[str, ...]]] = Counter()
    spelled: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, str]] = {}
    provisions: dict[str, list[Provision]] = defaultdict(list)
    names: dict[str, str] = {}
    for done, versions in enumerate(kept.values(), start=1):
        spans = _spans(versions)
        for stored, starts, ends in reversed(spans):
            document = store.get_document(stored.id, stored.version)
            if document is None:
                continue
            key = act_of(document, grammar)
            if key:
                known = grammar.acts.get(key)
                act = key if known else plain_act(key)
                names[act] = known.full_name if known else key
                current = stored.current if recorded is None else stored is spans[-1][0]
                provisions[act] += [
                    _provision(act, each, document, stored, starts, ends, current)
                    for each in provisions_of(document, known, grammar)
                ]
                continue
            if found := case_of(document, grammar):
                words = tuple(grammar.parties.words(party) if party else () for party in found.parties)
                place = _place(document, stored, 0, len(document.text))
                cases.append(Case(place, found.parties, (words[0], words[1]), found.decided, found.reports))
            _note_cited(document, grammar, cited, spelled)
            break
        if progress is not None:
            progress(done, len(kept))
    ties = [
        Tie(report, CitedName(spelled[first, second], (first, second)), count)
        for (report, first, second), count in sorted(cited.items())
    ]
    acts = {key: Act(key, names[key], _by_number(found)) for key, found in sorted(provisions.items()) if found}

    def text_at(place: Place) -> str:
        document = store.get_document(place.document_id, place.version)
        return document.text[place.start : place.end] if document else ""

    return Registry(grammar, acts, KnownCases(cases, ties), text_at)


def _spans(versions: Sequence[StoredDocument]) -> list[tuple[StoredDocument, str, str]]:
    """Each version with the first and last day on which it is in force, in their order; see `PointInTime`.

    One whose bytes the next one repeats is left out: that one says anew what held of it.
    """
    ordered = sorted(versions, key=lambda each: (each.starts, each.version))
    ordered = [
        each
        for i, each in enumerate(ordered)
        if i + 1 == len(ordered) or ordered[i + 1].content_hash != each.content_hash
    ]
    spans = []
    for i, each in enumerate(ordered):
        ends = [each.valid_to] if each.valid_to else []
        if i + 1 < len(ordered):
            ends.append(_day_before(ordered[i + 1].starts))
        ends += [_day_before(later.removed_on) for later in ordered[i:] if later.removed_on]
        spans.append((each, each.starts, min(ends, default="")))
    return spans


def _day_before(day: str) -> str:
    if not day:
        return "0001-01-01"
    return (date.fromisoformat(day[:10]) - timedelta(days=1)).isoformat()


def _place(document: Document, stored: StoredDocument, start: int, end: int) -> Place:
    return Place(stored.id, stored.version, start, end, document.title, document.uri, document.page_at(start))


def _provision(
    act: str, found: ProvisionText, document: Document, stored: StoredDocument, starts: str, ends: str, current: bool
) -> Provision:
    return Provision(
        act,
        found.unit,
        found.number,
        found.title,
        _place(document, stored, found.start, found.end),
        starts,
        ends,
        current,
        found.repealed,
        found.repealed_from,
        found.note,
    )


def _by_number(found: Sequence[Provision]) -> dict[tuple[str, str], tuple[Provision, ...]]:
    by_number: dict[tuple[str, str], list[Provision]] = defaultdict(list)
    for each in sorted(found, key=lambda each: (each.starts, each.place.version)):
        by_number[each.unit, each.number].append(each)
    return {key: tuple(each) for key, each in by_number.items()}


def _note_cited(
    document: Document,
    grammar: Grammar,
    cited: Counter[tuple[str, tuple[str, ...], tuple[str, ...]]],
    spelled: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, str]],
) -> None:
    """Count, once for each document, which report it gives for which name."""
    seen = set()
    for each in find_named(document.text, grammar):
        if not each.reports or each.parties is None:
            continue
        first, second = (grammar.parties.words(party) for party in each.parties)
        if not first or not second:
            continue
        spelled.setdefault((first, second), each.parties)
        seen |= {(report, first, second) for report in each.reports}
    cited.update(seen)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
