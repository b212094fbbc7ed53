"""The cases of a corpus, found again by the names of their parties, and the reports that judgments give for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from pincite.verify.forms import report_year
from pincite.verify.names import common_weights, party_score, skeleton
from pincite.verify.records import Place

__all__ = ["LIKE_NAME", "SAME_NAME", "Case", "CitedName", "KnownCases", "Tie", "Words", "listed", "name_score"]

#: Two names whose parties are this much alike are of one case. Measured: see docs/guides/verify.md.
SAME_NAME = 0.7
#: So much is enough where a report says the same.
LIKE_NAME = 0.5
#: Of the words of a name so many, the rarest, are looked up.
_ASKED = 6
#: So many cases are compared, unless the rarest word alone has more.
_ENOUGH = 150
#: So many names that were asked for are kept with what came of it.
_ASKED_BEFORE = 1024

Words = tuple[tuple[str, ...], tuple[str, ...]]  #: of both parties; the second empty where there is one


@dataclass(frozen=True, slots=True)
class Case:
    """A decided case that is a document of the corpus."""

    place: Place
    parties: tuple[str, str]
    words: Words
    decided: str  #: ISO 8601; empty where the document does not say
    reports: tuple[str, ...] = ()  #: its own, as its document gives them

    @property
    def year(self) -> int | None:
        """Of the decision."""
        return int(self.decided[:4]) if self.decided else None

    @property
    def name(self) -> str:
        """As it is shown: ``A v B, 26 September 1973`` with the day in ISO 8601."""
        both = " v ".join(each for each in self.parties if each)
        return f"{both} ({self.decided})" if self.decided else both


@dataclass(frozen=True, slots=True)
class CitedName:
    """A case as a judgment names it."""

    parties: tuple[str, str]
    words: Words


@dataclass(frozen=True, slots=True)
class Tie:
    """A report that `count` documents give for a name."""

    report: str
    name: CitedName
    count: int


def name_score(cited: Words, known: Words, weights: dict[str, float]) -> float:
    """How surely two names are of one case, in [0, 1]: both parties must be alike, in either order.

    A name of one party is compared with each party of the other.
    """
    if not cited[1] or not known[1]:
        one, others = (cited[0], known) if not cited[1] else (known[0], cited)
        return max(party_score(one, party, weights) for party in others if party)
    straight = min(party_score(a, b, weights) for a, b in zip(cited, known, strict=True))
    if straight >= 0.9:
        return straight
    # Parties change places on appeal.
    turned = min(party_score(a, b, weights) for a, b in zip(cited, reversed(known), strict=True))
    return max(straight, 0.95 * turned)


class KnownCases:
    """The cases of the corpus and what is known of reports. Immutable once made."""

    def __init__(self, cases: Sequence[Case], ties: Sequence[Tie]) -> None:
        self.cases = tuple(cases)
        self.ties = tuple(ties)
        self._near: dict[tuple[Words, float], list[tuple[float, Case]]] = {}

    @cached_property
    def weights(self) -> dict[str, float]:
        """How much each word says of who a party is."""
        return common_weights(party for case in self.cases for party in case.words if party)

    @cached_property
    def _postings(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for i, case in enumerate(self.cases):
            for key in _keys(case.words):
                found[key].append(i)
        return found

    def like(self, words: Words, least: float = SAME_NAME) -> list[tuple[float, Case]]:
        """The cases whose name is like `words`, with their scores, the best first."""
        asked = words, least
        if asked not in self._near:
            if len(self._near) >= _ASKED_BEFORE:
                self._near.clear()
            self._near[asked] = self._like(words, least)
        return list(self._near[asked])

    def _like(self, words: Words, least: float) -> list[tuple[float, Case]]:
        near: set[int] = set()
        for key in sorted(_keys(words) & self._postings.keys(), key=lambda key: len(self._postings[key]))[:_ASKED]:
            if near and len(near) + len(self._postings[key]) > _ENOUGH:
                break
            near.update(self._postings[key])
        scored = [(name_score(words, self.cases[i].words, self.weights), self.cases[i]) for i in near]
        return sorted((each for each in scored if each[0] >= least), key=lambda each: (-each[0], each[1].place.uri))

    @cached_property
    def _by_report(self) -> dict[str, list[Tie]]:
        found: dict[str, list[Tie]] = defaultdict(list)
        for tie in self.ties:
            found[tie.report].append(tie)
        return found

    def tied(self, report: str) -> list[Tie]:
        """The names that judgments give for a report, the most frequent first."""
        return sorted(self._by_report.get(report, ()), key=lambda tie: (-tie.count, tie.name.parties))

    def owners(self, report: str) -> list[Case]:
        """The cases whose own document gives this report."""
        return [case for case in self.cases if report in case.reports]

    @cached_property
    def _ties_by_word(self) -> dict[str, list[Tie]]:
        found: dict[str, list[Tie]] = defaultdict(list)
        for tie in self.ties:
            for key in _keys(tie.name.words):
                found[key].append(tie)
        return found

    def reports_of(self, case: Case) -> dict[str, int]:
        """The reports that judgments give for a case of the corpus, and how many do.

        A report counts only where its year fits the decision: many cases have the same name.
        """
        near: dict[int, Tie] = {}
        known = self._ties_by_word
        for key in sorted(_keys(case.words) & known.keys(), key=lambda key: len(known[key]))[:_ASKED]:
            if near and len(near) + len(known[key]) > 2 * _ENOUGH:
                break
            near.update((id(tie), tie) for tie in known[key])
        found: dict[str, int] = defaultdict(int)
        for tie in near.values():
            year = report_year(tie.report)
            if year and case.year and not 0 <= year - case.year <= 2:
                continue
            if name_score(tie.name.words, case.words, self.weights) >= SAME_NAME:
                found[tie.report] += tie.count
        return dict(found)


def _keys(words: Words) -> set[str]:
    single = {skeleton(word) for party in words for word in party if len(word) > 1}
    # "Uma Devi" is found by "Umadevi".
    pairs = {skeleton("".join(pair)) for party in words for pair in pairwise(party)}
    return single | pairs


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of them in words, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more
