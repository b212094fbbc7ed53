"""Whether the sources that an answer names bear it out: citation recall and precision, faithfulness, and the rest.

Gao et al. 2023 (ALCE, arXiv:2305.14627), section 4. For a statement s with the cited passages C:

- citation recall of s is 1 where C is not empty and the passages of C, one after the other, support s;
- a citation c of C is irrelevant where c alone does not support s and the others without it still do; its precision is
  1 where s has citation recall 1 and c is not irrelevant, else 0.

An answer's recall is the mean over its statements, its precision the mean over its citations, 0 for an answer without
any, as in the authors' own script. Unlike there, no more than three citations of a statement are counted too, and one
passage that a statement names twice counts once. What supports what is told by a `pincite.protocols.SupportScorer`.

Statements are the sentences of an answer that say anything: "Yes." is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pincite.statements import Statement, statements
from pincite.words import all_words, content_words, has_content, overlap

if TYPE_CHECKING:
    from pincite.types import Answer, Citation, Document

__all__ = [
    "Judged",
    "Proof",
    "Supports",
    "gold_spans",
    "judge_answer",
    "judge_statement",
    "pointers",
    "sentence_overlap",
    "words_of_question",
]

Supports: TypeAlias = "Callable[[str, Sequence[str]], Sequence[bool]]"
"""Whether each of the texts, alone, supports the statement."""

#: A citation points at a gold sentence where it has so much of the shorter of the two.
_SAME = 0.5

_NUMBERS = re.compile(r"\[\d{1,3}\]")


@dataclass(frozen=True, slots=True)
class Judged:
    """One statement of an answer, held against the passages."""

    text: str
    cited: tuple[str, ...]  #: ids of the chunks that it names as its sources, each once
    recalled: bool  #: these together support it
    precise: tuple[bool, ...]  #: each of them is needed, in the order of `cited`
    pinpointed: bool  #: the characters pointed at, together and without the rest of their passages, support it
    faithful: bool  #: any single passage that was read, or those cited together, supports it


@dataclass(frozen=True, slots=True)
class Proof:
    """The statements of one answer. Shares are None where there is nothing to divide by."""

    statements: tuple[Judged, ...]

    @property
    def recall(self) -> float | None:
        """Share of the statements that their sources support."""
        return _share([each.recalled for each in self.statements])

    @property
    def precision(self) -> float | None:
        """Share of the citations that are right and needed; 0 for an answer of statements without a citation."""
        if not self.statements:
            return None
        return _share([precise for each in self.statements for precise in each.precise]) or 0.0

    @property
    def pinpoint(self) -> float | None:
        """Share of the statements that the characters pointed at support."""
        return _share([each.pinpointed for each in self.statements])

    @property
    def faithfulness(self) -> float | None:
        """Share of the statements that what was read supports, cited or not."""
        return _share([each.faithful for each in self.statements])


def judge_statement(
    text: str,
    cited: Sequence[tuple[str, str]],
    supports: Supports,
    *,
    quotes: Sequence[str] = (),
    offered: Sequence[str] = (),
) -> Judged:
    """A statement with the (id, text) of each passage it cites, the `quotes` pointed at and the passages `offered`.

    >>> holds = lambda statement, texts: [all(word in text for word in statement.split()) for text in texts]
    >>> judged = judge_statement("red roof", [("a", "red"), ("b", "roof"), ("c", "blue")], holds)
    >>> judged.recalled, judged.precise
    (True, (True, True, False))
    """
    passages = dict(cited)
    ids = tuple(passages)

    def together(texts: Iterable[str]) -> bool:
        joined = "\n".join(texts)
        return bool(joined.strip()) and bool(supports(text, [joined])[0])

    recalled = together(passages.values())
    precise: list[bool] = []
    alone = list(supports(text, list(passages.values()))) if recalled and len(ids) > 1 else []
    for i, chunk_id in enumerate(ids):
        if not alone:
            precise.append(recalled)
        else:
            precise.append(alone[i] or not together(passages[each] for each in ids if each != chunk_id))
    return Judged(
        text=text,
        cited=ids,
        recalled=recalled,
        precise=tuple(precise),
        pinpointed=bool(quotes) and together(dict.fromkeys(quotes)),
        faithful=recalled or any(supports(text, list(offered)) if offered else ()),
    )


def judge_answer(answer: Answer, supports: Supports) -> Proof:
    """Every statement of an answer, with the citations that stand in it as numbers."""
    stated = statements(answer.text)

    def within(citation: Citation) -> list[Statement]:
        return [each for each in stated if citation.answer_start < each.end and each.start < citation.answer_end]

    # A sentence that nothing supports bears no number: what was held against it in vain is no citation of the answer.
    marked = [
        c
        for c in answer.citations
        if c.verdict in ("verbatim", "supported") or any(c.number - 1 in each.named for each in within(c))
    ]
    passages = {each.chunk.id: each.chunk.reading for each in answer.passages}
    judged = []
    for each in stated:
        # What stands between quotes written as `` and '' looks like code, and the number behind it like no marker.
        if not has_content(_NUMBERS.sub("", each.text)):
            continue
        own = [c for c in marked if each in within(c)]
        judged.append(
            judge_statement(
                each.text,
                [(c.chunk_id, passages.get(c.chunk_id, c.quote)) for c in own],
                supports,
                quotes=[f"{c.context}\n{c.quote}".strip() for c in own],
                offered=list(passages.values()),
            )
        )
    return Proof(tuple(judged))


def pointers(citations: Sequence[Citation], document_of: Callable[[str, int], Document | None]) -> tuple[int, int]:
    """How many citations point at exactly the characters that they quote, read again; and how many there are."""
    right = 0
    for each in citations:
        document = document_of(each.document_id, each.version)
        right += document is not None and bool(each.quote) and document.text[each.start : each.end] == each.quote
    return right, len(citations)


def words_of_question(question: str, answer: str) -> float:
    """The share of the question's content words that the answer says again, in [0, 1]."""
    return overlap(content_words(question), all_words(answer))


# Gold sentences


def gold_spans(text: str, sentences: Sequence[str]) -> list[tuple[int, int] | None]:
    """Where each sentence stands in `text`, give or take white space; None for one that does not."""
    found = []
    for sentence in sentences:
        match = re.search(r"\s+".join(map(re.escape, sentence.split())), text) if sentence.strip() else None
        found.append(match.span() if match else None)
    return found


def sentence_overlap(
    cited: Sequence[tuple[str, int, int]], gold: Sequence[tuple[str, int, int]]
) -> tuple[float | None, float | None]:
    """Precision and recall of the places cited against the gold ones, each (document, start, end).

    A place is met where the two share at least half of the shorter one. Precision is None where nothing is cited,
    recall where no place is gold.
    """

    def meet(a: tuple[str, int, int], b: tuple[str, int, int]) -> bool:
        shared = min(a[2], b[2]) - max(a[1], b[1])
        return a[0] == b[0] and shared > 0 and shared >= _SAME * min(a[2] - a[1], b[2] - b[1])

    own, right = list(dict.fromkeys(cited)), list(dict.fromkeys(gold))
    return (
        _share([any(meet(each, other) for other in right) for each in own]),
        _share([any(meet(each, other) for other in own) for each in right]),
    )


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
