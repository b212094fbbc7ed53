"""Do quoted words stand in a source, and where? Decided by comparing characters and words, nothing else.

First the words themselves are looked for (`pincite.normal_text`), then what comes near. What lawyers mark is allowed:
"…" for words left out, brackets for a changed letter or word ("[t]he", "[the tenant]", "allow[ed]", "[sic]").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from pincite.claims import numbers
from pincite.near_quotes import nearest, pieced
from pincite.normal_text import NormalText
from pincite.quotation_marks import find_quotations
from pincite.reservations import DUTY, LEAVE
from pincite.sentences import sentence_spans
from pincite.types import QuoteVerdict
from pincite.words import has_content

__all__ = ["Located", "NormalText", "find_quotations", "locate"]

#: "…" may leave out this many characters; more, and what stands together is no passage.
LONGEST_OMISSION = 2_000
#: Words in brackets may stand for this many characters of the source.
LONGEST_CHANGE = 80
#: An omission of so few words that drops a "not" has turned the sentence.
_SHORT = 5

_OMISSION = r"\[\s*(?:…|\.[ ]?\.[ ]?\.\.?)\s*\]|\(\s*(?:…|\.[ ]?\.[ ]?\.)\s*\)|…\.?|\.(?:[ ]?\.){2,}|\*(?:\s*\*){2}"
_MARKED = re.compile(rf"(?P<omission>{_OMISSION})|(?P<bracket>[^\W\d_]*\[[^\[\]]{{0,80}}\][^\W\d_]*)")
_BRACKETS = str.maketrans("", "", "[]")
#: Stops, quotation marks and dashes at the ends of a quote are the writer's; a sign belongs to its number.
_EDGES = re.compile(r"\A(?:[\s.,;:'\"‘’“”—–]|-(?!\d))+|[\s.,;:'\"‘’“”—–-]+\Z")
_AND, _OR = re.compile(r"\band\b"), re.compile(r"\bor\b")
_ENDED = re.compile(r"['\s]*[.!?。](?:['\s]|\Z)")
#: Before the first word of a sentence, as it is quoted.
_BEGINS = re.compile(r"[\s\"'“‘(\[]*(?:(?:the|an?)\s+)?", re.IGNORECASE)
_TURN_BEFORE = re.compile(r"\b(?:not?|never|neither|nor|none)\s+\Z")
_TURN = re.compile(r"\b(?:not|no|never|neither|nor|none|nothing|nobody|cannot)\b|n't\b")
#: What is left out right behind a piece, or right before the next, and begins or ends so, was its condition.
_HOLDS_BACK = r"(?:not|no|never|neither|nor|cannot|unless|except|save|excluding|provided|only|subject|if|without)"
_TURNS_ON = re.compile(rf"\A[\s,;:(]*{_HOLDS_BACK}\b|\b{_HOLDS_BACK}[\s,;:]*\Z")
_CONDITION = re.compile(rf"\b{_HOLDS_BACK}\b|n't\b")


@dataclass(frozen=True, slots=True)
class Located:
    """What became of quoted words."""

    verdict: QuoteVerdict
    source: int = -1  #: index of the source in which they stand, or come nearest; -1 for `absent`
    start: int = 0  #: into that source's text; of what is stitched, from the first piece to the last
    end: int = 0
    difference: str = ""  #: of what is altered or stitched: how it differs, in words


class _Place(NamedTuple):
    verdict: QuoteVerdict
    start: int
    end: int
    difference: str = ""


def locate(quote: str, sources: Sequence[NormalText | str], named: Sequence[int] = ()) -> Located:
    """Where the words of `quote`, given without its marks, stand among `sources`.

    `named` are the sources that they are credited to; with none all are. ``verbatim`` is what stands in a named one,
    ``elsewhere`` what stands in another. What is ``altered`` or ``stitched`` is looked for in the named ones first.
    A full stop, comma or quotation mark at either end counts only where the source has it. What is marked as left out
    or changed is no alteration, unless it reaches over more than `LONGEST_OMISSION` characters or goes on in the midst
    of another sentence (stitched), or changes a number, a "may" to a "must" or an "and" to an "or", brings in or drops
    a "not", or leaves out the condition of what it joins (altered). A source that is asked again is better given as a
    `NormalText`.
    """
    texts = [each if isinstance(each, NormalText) else NormalText(each) for each in sources]
    credited = [i for i in dict.fromkeys(named) if 0 <= i < len(texts)] or list(range(len(texts)))
    others = [i for i in range(len(texts)) if i not in credited]
    forms = list(_forms(quote))
    near: list[tuple[int, _Place]] = []
    verdict: QuoteVerdict
    for indices, verdict in ((credited, "verbatim"), (others, "elsewhere")):
        for i in indices:
            for form in forms:
                if place := form.place(texts[i]):
                    if place.verdict == "verbatim":
                        return Located(verdict, i, place.start, place.end)
                    near.append((i, place))
                    break
    wanted = NormalText(_MARKED.sub(_unmarked, quote))
    if not has_content(wanted.text):
        return Located("absent")
    marked = _marked_words(quote)
    for indices in (credited, others):
        found = [(i, place) for i, place in near if i in indices] or _nearby(wanted, texts, indices, marked)
        if found:
            i, place = found[0]
            return Located(place.verdict, i, *place[1:])
    return Located("absent")


def _nearby(
    wanted: NormalText, texts: Sequence[NormalText], indices: Sequence[int], marked: frozenset[int]
) -> list[tuple[int, _Place]]:
    """Of the sources in which something comes near the one in which it comes nearest, and where."""
    alike = [(i, near) for i in indices if (near := nearest(wanted, texts[i], marked))]
    alike.sort(key=lambda each: -each[1].ratio)
    # Words that all stand there, but not together, are told as such rather than as words exchanged.
    if not (alike and alike[0][1].complete):
        pieces = [(i, near) for i in indices if (near := pieced(wanted, texts[i], LONGEST_OMISSION))]
        alike = pieces or alike
    return [
        (i, _Place("stitched" if near.apart else "altered", *texts[i].span(*near.span), near.difference))
        for i, near in alike
    ]


# What is marked


@dataclass(frozen=True, slots=True)
class _Gap:
    """Between two pieces: words left out, or words in brackets that stand for others."""

    bracket: str = ""  #: what is written there
    omission: bool = False

    @property
    def reach(self) -> int:
        # What is left out and is too long is looked for as well: it is told from what stands nowhere.
        return 2 * LONGEST_OMISSION if self.omission else LONGEST_CHANGE


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to read a quote: pieces that stand in the source, and what is between them."""

    pieces: tuple[NormalText, ...]
    gaps: tuple[_Gap, ...] = ()
    edges: str = ""  #: what stands in brackets before the first piece and after the last
    opens: str = ""  #: what stands in brackets before the first piece

    def place(self, source: NormalText) -> _Place | None:
        """Where it stands; the longest piece is looked for first, and the others on either side of it."""
        anchor = max(range(len(self.pieces)), key=lambda i: len(self.pieces[i].normal))
        other: _Place | None = None
        for at in source.find_normal(self.pieces[anchor]):
            if spans := self._around(source, anchor, at):
                place = self._judged(source, spans)
                if place.verdict == "verbatim":
                    return place
                other = other or place
        return other

    def _around(self, source: NormalText, anchor: int, at: tuple[int, int]) -> list[tuple[int, int]]:
        """Where each piece stands, given the anchor's place; empty where one does not."""
        spans = [at]
        for gap, piece in zip(self.gaps[anchor:], self.pieces[anchor + 1 :], strict=True):
            start = spans[-1][1]
            found = next(source.find_normal(piece, start, start + gap.reach + len(piece.normal)), None)
            if found is None:
                return []
            spans.append(found)
        for gap, piece in zip(reversed(self.gaps[:anchor]), reversed(self.pieces[:anchor]), strict=True):
            end = spans[0][0]
            nearby = list(source.find_normal(piece, max(0, end - gap.reach - len(piece.normal)), end))
            if not nearby:
                return []
            spans.insert(0, nearby[-1])
        return spans

    def _judged(self, source: NormalText, spans: Sequence[tuple[int, int]]) -> _Place:
        whole = source.span(spans[0][0], spans[-1][1])
        if turn := _TURN.search(self.edges.casefold()):
            return _Place("altered", *whole, f"added in brackets: “{turn.group()}”")
        # "[Every] order": what is in brackets before the first piece stands for the word there.
        if self.opens and (turn := _TURN_BEFORE.search(source.normal, max(0, spans[0][0] - 10), spans[0][0])):
            return _Place("altered", *whole, f"[{self.opens}] for “{turn.group().strip()}”")
        for gap, ((_, end), (start, _)) in zip(self.gaps, pairwise(spans), strict=True):
            between = source.normal[end:start].strip()
            if gap.omission and start - end > LONGEST_OMISSION:
                return _Place("stitched", *whole, f"the dots stand for {start - end:,} characters")
            if gap.omission:
                if _halves(source, end, start):
                    return _Place("stitched", *whole, "the dots join parts of two sentences")
                pattern = _CONDITION if len(between.split()) <= _SHORT else _TURNS_ON
                if not _ENDED.match(between) and pattern.search(between):
                    return _Place("altered", *whole, f"the dots leave out “{_shortened(between)}”")
            elif _turned(gap.bracket, between):
                return _Place("altered", *whole, f"[{gap.bracket}] for “{between}”")
        return _Place("verbatim", *whole)


def _halves(source: NormalText, end: int, start: int) -> bool:
    """Whether a sentence ends between two pieces, and the second does not begin one: the dots make one of two."""
    if not source.normal[end:start].strip():
        return False
    first, last = source.span(end, start)
    # With a word of either piece: an abbreviation is told by what stands around it.
    around = source.text[max(0, first - 40) : last + 40]
    low, high = min(40, first), min(40, first) + last - first
    borders = [after for (_, after) in sentence_spans(around) if low < after <= high]
    return bool(borders) and not _BEGINS.fullmatch(around[borders[-1] : high])


def _shortened(text: str) -> str:
    words = text.strip(" ,;:").split()
    return " ".join(words) if len(words) <= 8 else f"{' '.join(words[:4])} … {' '.join(words[-3:])}"


def _turned(written: str, between: str) -> bool:
    """Whether words in brackets deny what those they stand for do not, or the other way round, or change a number."""
    if bool(_TURN.search(written.casefold())) != bool(_TURN.search(between)):
        return True
    # "[must]" for "may", "[and]" for "or".
    if any(
        one.search(written.casefold()) and another.search(between) and not one.search(between)
        for one, another in ((DUTY, LEAVE), (LEAVE, DUTY), (_AND, _OR), (_OR, _AND))
    ):
        return True
    here, there = numbers(written), numbers(between)
    return bool(here and there) and here != there


def _forms(quote: str) -> Iterator[_Form]:
    """The ways to read it: as it is, without its brackets, with "…" for what is left out, with brackets for changes."""
    yield from _literal(quote)
    if not _MARKED.search(quote):
        return
    unbracketed = _MARKED.sub(_unbracketed, quote)
    if not _MARKED.search(unbracketed):
        yield from _literal(unbracketed)
    else:
        yield from _pieced(unbracketed)
    if "[" in quote:
        yield from _pieced(quote)


def _literal(quote: str) -> Iterator[_Form]:
    """The whole, then without stops and quotation marks at its ends."""
    whole = NormalText(quote)
    bare = _EDGES.sub("", whole.normal)
    if not any(map(str.isalnum, bare)):
        return
    yield _Form((whole,))
    if bare != whole.normal.strip():
        first = whole.normal.index(bare)
        start, end = whole.span(first, first + len(bare))
        yield _Form((NormalText(quote[start:end]),))


def _pieced(quote: str) -> Iterator[_Form]:
    """Everything that is marked is a gap."""
    pieces: list[NormalText] = []
    gaps: list[_Gap] = []
    gap, edges, position = _Gap(), "", 0
    for match in [*_MARKED.finditer(quote), None]:
        text = _EDGES.sub("", quote[position : match.start() if match else len(quote)])
        if any(map(str.isalnum, text)):
            if pieces:
                gaps.append(gap)
            else:
                edges = gap.bracket
            pieces.append(NormalText(text))
            gap = _Gap()
        if match:
            written = "" if match["omission"] else match["bracket"].translate(_BRACKETS)
            gap = _Gap(f"{gap.bracket} {written}".strip(), gap.omission or not match["bracket"])
            position = match.end()
    if pieces:
        yield _Form(tuple(pieces), tuple(gaps), f"{edges} {gap.bracket}", edges)


def _unbracketed(match: re.Match[str]) -> str:
    return match.group() if match["omission"] else match.group().translate(_BRACKETS)


def _unmarked(match: re.Match[str]) -> str:
    """For comparing word by word: what is marked is left away, but not a word of which letters are changed."""
    bracket = match["bracket"] or ""
    return bracket.translate(_BRACKETS) if bracket and not (bracket[0] == "[" and bracket[-1] == "]") else " "


def _marked_words(quote: str) -> frozenset[int]:
    """Before which words of the quote, by index, something is marked as left out or changed."""
    return frozenset(
        len(NormalText(_MARKED.sub(_unmarked, quote[: match.start()])).words)
        for match in _MARKED.finditer(quote)
        if _unmarked(match) == " "
    )
