"""What of an answer stands: its sentences proved, its quotations located, wrong numbers set right, the rest marked.

A sentence keeps the numbers of the passages that support it and loses the others. Where none that it names supports it
and exactly one other does, that one's number is put in their place. A sentence that nothing supports names no source
and is marked `UNSUPPORTED`. Nothing is re-pointed in silence: corrections and removals are told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from pincite.assemble import is_refusal
from pincite.citations import add_markers, cite, is_claim, is_good, quotation, supporting
from pincite.markers import CodeReader
from pincite.normal_text import NormalText
from pincite.quotation_marks import find_quotations
from pincite.statements import MARKER, UNSUPPORTED, Statement, statements
from pincite.types import Citation, Correction, Passage, Quotation
from pincite.words import content_words, has_content

if TYPE_CHECKING:
    from pincite.protocols import SupportScorer

__all__ = ["UNSUPPORTED", "Settled", "settle", "settle_unmarked"]

#: The difference of quoted words that are the same but for stops.
_PUNCTUATION = "punctuation"
_MOST_DENIED = 0.49
#: What `pincite.links` leaves of what it takes out.
_TAKEN_OUT = re.compile(r"\((?:image(?:: [^()]*)?|address removed)\)")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
#: What joins one marker of a sentence to the next.
_JOINS = re.compile(r"\s*(?:,\s*and\b|,|;|&|\band\b)\s*")

Check: TypeAlias = "Callable[[Iterable[Citation]], list[Citation]]"


@dataclass(frozen=True, slots=True)
class Settled:
    """An answer with its proof. All offsets are into `text`."""

    text: str
    citations: tuple[Citation, ...] = ()  #: in the order of the answer; of marked sentences too, with why
    quotations: tuple[Quotation, ...] = ()
    corrections: tuple[Correction, ...] = ()
    notes: tuple[str, ...] = ()  #: what lost its number, and what has none, in words

    @property
    def stands(self) -> bool:
        """Whether any of it is proved."""
        return any(map(is_good, self.citations))


def settle(
    text: str,
    question: str,
    passages: Sequence[Passage],
    *,
    support: SupportScorer,
    check: Check = list,
) -> Settled:
    """An answer that names its sources by ``[n]``, n from 1 in the order of `passages`, settled as above.

    `check` is given citations before anything is decided and gives back those that hold; what it drops supports
    nothing. Quoted words that are not where the sentence says make it unsupported, whatever else supports it, unless
    they differ in punctuation alone, or are words of the question or the name of a passage. A sentence that names no
    source is given none, and is marked if no passage supports it; headings, questions, lead-ins, rows of tables, code,
    refusals and what has no content are left alone. The text is changed nowhere else.
    """
    work = _Settling(text, question, passages, support, check)
    for statement in statements(text):
        # A number in code is no content.
        if content_words(MARKER.sub(" ", statement.text)):
            work.take(statement)
    return work.done()


def settle_unmarked(
    text: str,
    question: str,
    passages: Sequence[Passage],
    *,
    support: SupportScorer,
    sources: Sequence[int],
    parts: Sequence[tuple[int, int]] = (),
    check: Check = list,
) -> Settled:
    """An answer without markers, as `pincite.citations.cite` proves it, with numbers written behind its sentences.

    They count from 1 in the order of the answer, one for each span of a source. Sentences that nothing supports are
    marked. Where nothing is proved at all the text stays as it is. Quotations are looked for where the generator wrote
    the sentences itself: not where `parts` says which passage each was taken from.
    """
    found = check(cite(text, question, passages, sources=sources, parts=parts, support=support))
    if not any(map(is_good, found)):
        return Settled(text, tuple(found))
    numbers: dict[tuple[str, int, int], int] = {}
    found = [
        replace(each, number=numbers.setdefault((each.chunk_id, each.start, each.end), len(numbers) + 1))
        for each in found
    ]
    written, found = add_markers(text, found)
    proved = {each.answer_start for each in found if is_good(each) or each.verdict == "unknown"}
    ends = {each.answer_end for each in found if each.answer_start not in proved}
    edits = [_Edit(end, end, f" {UNSUPPORTED}") for end in sorted(ends)]
    final = _rewritten(written, edits)
    found = [_moved(each, edits) for each in found]
    made = [] if parts else [NormalText(each.chunk.text) for each in passages]
    quoted = [quotation(final, span, passages, made, sources) for span in (find_quotations(final) if made else ())]
    return Settled(final, tuple(found), tuple(_numbered(each, found) for each in quoted))


def _numbered(quoted: Quotation, citations: Sequence[Citation]) -> Quotation:
    """With the number of the citation that shows it, not that of the passage."""
    showing = (
        each.number
        for each in citations
        if each.document_id == quoted.document_id and each.start < quoted.end and each.end > quoted.start
    )
    return replace(quoted, number=next(showing, 0))


@dataclass
class _Settling:
    """The work of `settle`, one sentence after the other."""

    text: str
    question: str
    passages: Sequence[Passage]
    support: SupportScorer
    check: Check
    found: list[Citation] = field(default_factory=list)
    corrections: list[Correction] = field(default_factory=list)
    unsupported: list[Statement] = field(default_factory=list)
    bare: list[Statement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    edits: list[_Edit] = field(default_factory=list)
    dropped: list[tuple[int, int]] = field(default_factory=list)  #: markers that go
    joints: dict[int, int] = field(default_factory=dict)  #: where what joins two markers of a sentence begins and ends

    def __post_init__(self) -> None:
        self.spans = find_quotations(self.text)
        self.sources = [NormalText(each.chunk.text) for each in self.passages]
        self.located: dict[tuple[int, int], Quotation] = {}
        code = CodeReader()
        self.coded = [code.is_code(character) for character in self.text]

    def take(self, statement: Statement) -> None:
        if self._is_entry(statement):
            return
        for (_, end), (start, _) in pairwise(statement.markers):
            if _JOINS.fullmatch(self.text, end, start):
                self.joints[end] = start
        named = [i for i in statement.named if 0 <= i < len(self.passages)]
        spans = [span for span in self.spans if span[0] < statement.end and span[1] > statement.start]
        quoted = self._locate(spans, named)
        if not named:
            self.bare.append(statement)
            return
        own = self._proved(statement, named, quoted)
        kept = {each.number - 1 for each in own if is_good(each)}
        if kept:
            kept |= {each.number - 1 for each in own if each.verdict == "unknown"}
            lost = [span for span in statement.markers if self._number(span) not in kept]
            self.dropped += lost
            if numbers := ", ".join(dict.fromkeys(self.text[slice(*span)] for span in lost)):
                self.notes.append(f"{numbers}: no support for {_short(statement.text)!r}; removed")
        elif any(each.verdict != "unknown" for each in own) or not own:
            right = self._only_other(statement, named, spans)
            if right:
                own = right
                self._correct(statement, named, right[0].number)
                self._locate(spans, [right[0].number - 1])
            else:
                self.unsupported.append(statement)
                self._replace(statement, UNSUPPORTED)
        self.found += own

    def done(self) -> Settled:
        unproved = [each for each in self.bare if self._claims(each)]
        missing = [each for each in unproved if not self._anywhere(each)]
        self.edits += [_Edit(each.end, each.end, f" {UNSUPPORTED}") for each in missing]
        edits = sorted([*self.edits, *_removals(self.text, self.dropped, self.joints)])
        final = _rewritten(self.text, edits)
        quoted = [_moved(self.located[span], edits) for span in self.spans if span in self.located]
        return Settled(
            final,
            tuple(_moved(each, edits) for each in self.found),
            tuple(replace(each, text=final[each.answer_start : each.answer_end]) for each in quoted),
            tuple(_moved(each, edits) for each in self.corrections),
            (
                *self.notes,
                *_told(
                    self.unsupported,
                    "is not supported by the source it names, whose number was removed",
                    "are not supported by the sources they name, whose numbers were removed",
                ),
                *_told(unproved, "names no source and is not proved", "name no source and are not proved"),
            ),
        )

    # One sentence

    def _locate(self, spans: Sequence[tuple[int, int]], named: Sequence[int]) -> list[Quotation]:
        quoted = [quotation(self.text, span, self.passages, self.sources, named) for span in spans]
        self.located.update(zip(spans, quoted, strict=True))
        return quoted

    def _proved(self, statement: Statement, named: Sequence[int], quoted: Sequence[Quotation]) -> list[Citation]:
        found = self.check(supporting(statement, named, self.passages, support=self.support, question=self.question))
        if why := "; ".join(filter(None, (self._not_there(each, named) for each in quoted))):
            return [
                replace(each, verdict="unsupported", score=min(each.score, _MOST_DENIED), why=why)
                if is_good(each)
                else each
                for each in found
            ]
        return found

    def _not_there(self, quoted: Quotation, named: Sequence[int]) -> str:
        """Why quoted words make their sentence unsupported; empty if they do not."""
        if quoted.verdict == "verbatim" or quoted.difference == _PUNCTUATION or self._is_name(quoted.text, named):
            return ""
        told = {
            "elsewhere": f"stands in source {quoted.number}",
            "altered": f"is not quoted as it stands there: {quoted.difference}",
            "stitched": f"is set together of pieces: {quoted.difference}",
        }
        return f"“{_short(quoted.text)}” {told.get(quoted.verdict, 'stands in no source')}"

    def _is_name(self, words: str, named: Sequence[int]) -> bool:
        """Whether quoted words are the question's, or the title or a heading of a passage."""
        texts = [self.question]
        for i in named:
            texts += [self.passages[i].title, *self.passages[i].chunk.headings]
        return any(True for text in texts for _ in NormalText(text).find(words))

    def _only_other(
        self, statement: Statement, named: Sequence[int], spans: Sequence[tuple[int, int]]
    ) -> list[Citation]:
        """What the only other passage that supports the sentence supports it with; empty for none or several."""
        if not is_claim(statement.text):
            return []
        right: list[Citation] = []
        alone = replace(statement, parts=())  # its markers are wrong: they part nothing
        for i in range(len(self.passages)):
            if i in named:
                continue
            # In that one alone: it is only asked whether the words stand there.
            quoted = [quotation(self.text, span, [self.passages[i]], [self.sources[i]], [0]) for span in spans]
            own = self._proved(alone, [i], quoted)
            if any(map(is_good, own)):
                if right:
                    return []
                right = own
        return right

    def _anywhere(self, statement: Statement) -> bool:
        everywhere = range(len(self.passages))
        return any(map(is_good, self.check(supporting(statement, everywhere, self.passages, support=self.support))))

    def _claims(self, statement: Statement) -> bool:
        """Whether a sentence says something that a source would have to say."""
        if _TAKEN_OUT.fullmatch(statement.text):
            return False
        if UNSUPPORTED in self.text[statement.start : statement.end + len(UNSUPPORTED) + 1]:
            return False
        start = self.text.rfind("\n", 0, statement.start) + 1
        if self.coded[statement.start] or self.text[start:].lstrip().startswith(("#", "|", "---", "***", "===")):
            return False
        return has_content(statement.text) and statement.text[-1] not in ":?：？|" and not is_refusal(statement.text)

    def _is_entry(self, statement: Statement) -> bool:
        """Whether it is a line of a list of sources: what a passage that it names is called, or an address."""
        words = statement.text.strip(' :-–—.*_"“”')
        if not statement.named or _ADDRESS.fullmatch(words):
            return bool(_ADDRESS.fullmatch(words))
        called = (self.passages[i] for i in statement.named if 0 <= i < len(self.passages))
        return any(words.casefold() in (each.title.casefold(), each.uri.casefold()) for each in called)

    # Its markers

    def _number(self, marker: tuple[int, int]) -> int:
        return int(self.text[marker[0] + 1 : marker[1] - 1]) - 1

    def _correct(self, statement: Statement, named: Sequence[int], now: int) -> None:
        self.corrections += [Correction(statement.start, statement.end, i + 1, now) for i in named]
        if statement.markers:  # of a sentence of a block quote they may stand behind another
            self._replace(statement, f"[{now}]")

    def _replace(self, statement: Statement, written: str) -> None:
        if statement.markers:
            self.edits.append(_Edit(*statement.markers[0], written))
            self.dropped += statement.markers[1:]
        else:
            self.edits.append(_Edit(statement.end, statement.end, f" {written}"))


def _told(found: Sequence[Statement], one: str, several: str) -> list[str]:
    if not found:
        return []
    told = f"1 sentence of the answer {one}" if len(found) == 1 else f"{len(found)} sentences of the answer {several}"
    return [f"{told}: {_short(found[0].text)!r}"]


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}…"


# Changing the text


class _Edit(NamedTuple):
    """The characters of a half-open range, replaced."""

    start: int
    end: int
    written: str


def _removals(text: str, spans: Iterable[tuple[int, int]], joints: Mapping[int, int]) -> list[_Edit]:
    """Takes markers out with what joins them to another, and a space before them that would be at an end or double.

    `joints` are the ranges of what joins two markers, first → last.
    """
    runs: list[tuple[int, int]] = []
    for start, end in sorted(set(spans)):
        if runs and (not text[runs[-1][1] : start].strip(" ") or joints.get(runs[-1][1]) == start):
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    edits = []
    begins = {last: first for first, last in joints.items()}
    for start, end in runs:
        if start in begins:
            edits.append(_Edit(begins[start], end, ""))
            continue
        if end in joints:
            edits.append(_Edit(start, joints[end], ""))
            continue
        after = text[end : end + 1]
        if start and text[start - 1] == " " and (not after or after in " \r\n.,;:!?)"):
            start -= 1
        elif (not start or text[start - 1] == "\n") and after == " ":
            end += 1
        edits.append(_Edit(start, end, ""))
    return edits


def _rewritten(text: str, edits: Sequence[_Edit]) -> str:
    """The text with these edits made, which are in order and do not overlap."""
    out, position = [], 0
    for edit in edits:
        out += [text[position : edit.start], edit.written]
        position = edit.end
    return "".join([*out, text[position:]])


def _position(position: int, edits: Sequence[_Edit], *, is_end: bool) -> int:
    """Where a position comes to be. What is written in at a border belongs to neither side of it."""
    shift = 0
    for edit in edits:
        if edit.start < position < edit.end:
            return edit.start + shift + (0 if is_end else len(edit.written))
        if edit.end > position or (edit.start == edit.end == position and is_end):
            break
        shift += len(edit.written) - (edit.end - edit.start)
    return position + shift


_Record = TypeVar("_Record", Citation, Quotation, Correction)


def _moved(record: _Record, edits: Sequence[_Edit]) -> _Record:
    return replace(
        record,
        answer_start=_position(record.answer_start, edits, is_end=False),
        answer_end=_position(record.answer_end, edits, is_end=True),
    )
