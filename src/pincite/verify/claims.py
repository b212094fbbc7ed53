"""From a text and the authorities in it to its claims: which sentence rests on which authorities.

A sentence rests on the authorities that it names and on those of the notes that it refers to. One that consists of a
citation belongs to the sentence before it ("Bail is the rule. See A v. B."). One that names none, but quotes or goes on
("It further held that …"), rests on those of the claim before it; so does a quotation that is a paragraph of its own,
right behind it. At the beginning of a later paragraph "It was further held that …" goes on from the last claim, as
"The Court held that …" does right behind it, until another authority is named.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pincite.sentences import sentence_spans
from pincite.verify.notes import Note, NoteMark
from pincite.verify.records import Authority
from pincite.verify.statement import (
    Remark,
    asserts,
    goes_on,
    only_cites,
    remark,
    says_further,
    statement_of,
    takes_up,
)

__all__ = ["Cited", "split_claims"]

_CARET = re.compile(r"\[\^(?=\d{1,2}\])")
_WORD = re.compile(r"[^\W_]")
_BLANK = re.compile(r"\n[ \t]*\n")
_BLOCK = re.compile(r"\s*(?:>|[\"“«„']|\*[\"“])")
_ITEM = re.compile(r"(?:[-*•]|\(?\d{1,3}[.)]|\([a-z]{1,3}\))\s")
_LEADS_ON = re.compile(r"[:—–-]\W*\Z|\b(?:held|observed|under|follows|reads?|states?|thus)\W*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence and what it rests on."""

    start: int
    end: int
    text: str
    authorities: tuple[Authority, ...]  #: that stand in it
    others: tuple[Authority, ...] = ()  #: of its notes, or of the claim that it goes on from
    quotations: tuple[tuple[int, int], ...] = ()  #: spans of the whole text, without the marks
    statement: str = ""  #: what it says of them, see `pincite.verify.statement`
    asserts: bool = False  #: whether it says that they hold that
    remark: Remark = "fact"  #: what it says where it does not
    missing: tuple[NoteMark, ...] = ()  #: numbers of notes that are not there

    @property
    def sources(self) -> tuple[Authority, ...]:
        """What it rests on. What only a quotation in it names is none of that, unless there is nothing else."""
        outside = tuple(each for each in self.authorities if not _within(each, self.quotations))
        return (*outside, *self.others) or self.authorities


def split_claims(
    text: str,
    authorities: Sequence[Authority],
    quotations: Sequence[tuple[int, int]] = (),
    notes: Sequence[Note] = (),
    marks: Sequence[NoteMark] = (),
) -> tuple[list[Cited], list[tuple[int, int]]]:
    """The sentences that rest on authorities, in the order of the text, and the spans of the others.

    `authorities` and `quotations` (spans without their marks) are in the order of the text, none overlapping another of
    its kind. Every authority is in `Cited.authorities` of exactly one of them. A note that nothing refers to is text
    like any other.
    """
    used = {mark.number for mark in marks}
    notes = [note for note in notes if note.number in used]
    by_number = {note.number: [each for each in authorities if note.start <= each.start < note.end] for note in notes}
    # A number behind a stop belongs to the sentence, whichever way it is written.
    plain = _CARET.sub("[0", text)
    spans = _joined(sentence_spans(plain), [(a.start, a.end) for a in authorities], quotations)
    spans = _joined(spans, [(note.start, note.end) for note in notes])
    spans = [part for span in spans for part in _opened(text, span, authorities)]
    starts = [start for start, _ in spans]

    def owner(position: int) -> int:
        return max(bisect_right(starts, position) - 1, 0)

    named: list[list[Authority]] = [[] for _ in spans]
    quoted: list[list[tuple[int, int]]] = [[] for _ in spans]
    numbers: list[list[NoteMark]] = [[] for _ in spans]
    for authority in authorities:
        named[owner(authority.start)].append(authority)
    for quotation in quotations:
        quoted[owner(quotation[0])].append(quotation)
    for mark in marks:
        # A number at the beginning of what follows belongs to what it stands behind.
        at = owner(mark.start)
        leads = at > 0 and mark.start == spans[at][0] and not _BLANK.search(text, spans[at - 1][1], mark.start)
        numbers[at - 1 if leads else at].append(mark)
    inside = {owner(note.start) for note in notes}
    found: list[Cited] = []
    silent: list[tuple[int, int]] = []
    last: int | None = None  # the sentence that a following one may go on from
    holder: Cited | None = None  # the last claim, from which a later paragraph may go on
    for i, (start, end) in enumerate(spans):
        if i in inside:
            if named[i]:
                found.append(Cited(start, end, text[start:end], tuple(named[i])))
            continue
        noted = [each for mark in numbers[i] for each in by_number.get(mark.number, ())]
        missing = [mark for mark in numbers[i] if by_number and mark.number not in by_number]
        outside = [each for each in named[i] if not _within(each, quoted[i])]
        gap = text[spans[i - 1][1] : start] if i else ""
        bare = not (outside or noted or missing) and bool(found)
        follows = (
            last is not None and last == i - 1 and _goes_on(text, spans[i - 1], (start, end), gap, bool(quoted[i]))
        )
        resumes = holder is not None and _BLANK.search(gap) is not None and says_further(text[start:end])
        follows = bare and (follows or resumes)
        if follows or not (named[i] or noted or missing):
            if follows:
                before = found[-1].sources if last == i - 1 or holder is None else holder.sources
                if last == i - 1 and quoted[i] and found[-1].text.rstrip("*_ ").endswith((":", ":-", "—", "–")):
                    found[-1] = replace(found[-1], statement="")  # it merely leads to the quotation
                found.append(_cited(text, start, end, named[i], before, quoted[i], inherited=True))
                last, holder = i, found[-1]
            else:
                if not _is_heading(text[start:end]) and _WORD.search(text, start, end):
                    silent.append((start, end))
                last = None if _BLANK.search(gap) else last
            continue
        whole, quotes = start, quoted[i]
        if i and not noted and _only_cites(text, (start, end), named[i]) and not named[i - 1] and i - 1 not in inside:
            before_start, before_end = spans[i - 1]
            apart = (
                _is_heading(text[before_start:before_end]) or text[before_end - 1] == ":" or _ITEM.match(text, start)
            )
            # A quotation in a paragraph of its own, and under it in brackets where it stands.
            under = bool(quoted[i - 1]) and text[start] in "([—–-"
            if not apart and not numbers[i - 1] and (under or not _BLANK.search(text, before_end, start)):
                whole, quotes = before_start, [*quoted[i - 1], *quoted[i]]
                if found and found[-1].start == before_start:
                    found.pop()
                elif silent and silent[-1] == (before_start, before_end):
                    silent.pop()
        made = _cited(text, whole, end, tuple(named[i]), tuple(noted), quotes, inherited=whole < start)
        found.append(replace(made, missing=tuple(missing)))
        last, holder = i, found[-1]
    return found, silent


def _within(authority: Authority, quotations: Sequence[tuple[int, int]]) -> bool:
    return any(start <= authority.start and authority.end <= end for start, end in quotations)


def _cited(
    text: str,
    start: int,
    end: int,
    own: Sequence[Authority],
    others: Sequence[Authority],
    quotes: Sequence[tuple[int, int]],
    *,
    inherited: bool,
) -> Cited:
    said = text[start:end]
    spans = [(each.start - start, each.end - start) for each in own]
    quoted = [(a - start, b - start) for a, b in quotes]
    holds = inherited or bool(others) or asserts(said, spans, quoted)
    return Cited(
        start,
        end,
        said,
        tuple(own),
        tuple(others),
        tuple(quotes),
        "" if _is_heading(said) else statement_of(said, spans, quoted),
        holds,
        "fact" if holds else remark(said, spans, quoted),
    )


def _goes_on(text: str, before: tuple[int, int], here: tuple[int, int], gap: str, quotes: bool) -> bool:
    said = text[here[0] : here[1]]
    if takes_up(said) if _BLANK.search(gap) else goes_on(said):
        return True
    # Words that somebody else said, a witness or a party, are not the authority's.
    led_to = _LEADS_ON.search(text[max(before[0], before[1] - 60) : before[1]]) is not None
    return quotes and (led_to or _BLOCK.match(text, here[0]) is not None)


def _only_cites(text: str, span: tuple[int, int], named: Sequence[Authority]) -> bool:
    parts, position = [], span[0]
    for each in named:
        parts.append(text[position : each.start])
        position = each.end
    return bool(named) and only_cites(" ".join([*parts, text[position : span[1]]]))


def _opened(text: str, span: tuple[int, int], authorities: Sequence[Authority]) -> list[tuple[int, int]]:
    """A sentence that opens with a citation in brackets, which belongs to the one before: "“…” (A v. B) It rained."."""
    start, end = span
    if text[start] not in "([":
        return [span]
    first = bisect_left(authorities, start, key=lambda each: each.start)
    if first == len(authorities) or authorities[first].start > start + 2:
        return [span]
    depth = 0
    for i in range(start, end):
        depth += (text[i] in "([") - (text[i] in ")]")
        if not depth:
            rest = text[i + 1 : end].lstrip()
            own = [each for each in authorities[first : first + 20] if each.start <= i]
            if rest[:1].isupper() and own[-1].end <= i + 1:
                return [(start, i + 1), (end - len(rest), end)]
            break
    return [span]


def _is_heading(sentence: str) -> bool:
    return sentence.lstrip().startswith("#") and "\n" not in sentence


def _joined(spans: Sequence[tuple[int, int]], *crossing: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """`spans` with those made one that a range of `crossing` reaches across."""
    if not spans:
        return []
    joined = list(spans)
    for ranges in crossing:
        out: list[tuple[int, int]] = []
        at = 0
        ranges = sorted(ranges)
        for start, end in joined:
            # The last range that begins before this sentence: where it ends within or behind, both are one.
            while at < len(ranges) and ranges[at][1] <= start:
                at += 1
            if out and at < len(ranges) and ranges[at][0] < out[-1][1] and ranges[at][1] > start:
                out[-1] = (out[-1][0], end)
            else:
                out.append((start, end))
        joined = out
    return joined
