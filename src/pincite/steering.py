"""Signs in an answer that a document steered it: words that a passage brought about and does not support."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pincite.suspicion import SUSPICIOUS, suspicion
from pincite.types import Alarm, Citation, Generation, Passage
from pincite.words import has_content

__all__ = ["SHARE", "steering", "suspicious_passages"]

#: From this share of a sentence's posterior on, a passage is what made the model say it.
SHARE = 0.5

_BREAK = re.compile(r"[.!?](?=\s)|\n")
_GOOD = frozenset({"verbatim", "supported"})


def steering(
    passages: Sequence[Passage],
    generation: Generation,
    citations: Sequence[Citation],
    sentences: Sequence[tuple[int, int]],
    *,
    text: str = "",
    share: float = SHARE,
    suspicious: float = SUSPICIOUS,
) -> list[Alarm]:
    """Alarms for the sentences of an answer that some passage brought about without supporting them.

    `sentences` are the spans of the answer's sentences, `citations` those that were checked, both in `text`, which is
    the generator's own unless it is given. Three signs:

    - of a generator that marginalizes: a passage had at least `share` of the posterior of a sentence
      (``Generation.marginal``, whose spans are of the generator's text), and no citation of that sentence to this
      passage is verbatim or supported;
    - a sentence is supported by nothing but the words of an order: a passage reads like orders to a model (its
      `suspicion` is at `suspicious` or above), and what the citation points at is the order itself;
    - a sentence is supported by nothing, while a passage that was offered reads like orders.

    Each passage is named once for each kind, with its number in `passages`, from 1.
    """
    text = text or generation.text
    good = [citation for citation in citations if citation.verdict in _GOOD]
    orders = suspicious_passages(passages, suspicious)
    from_order = {id(each): i for each in good for i, span in orders if _points_into(each, passages[i], span)}
    found: dict[tuple[str, int], Alarm] = {}

    def alarm(kind: Literal["instruction", "steering"], i: int, detail: str) -> None:
        found.setdefault((kind, i), Alarm(kind, f"passage {i + 1} ({passages[i].title}) {detail}", i + 1))

    if generation.marginal is not None:
        for posteriors, (start, end) in _aligned(generation, text, sentences):
            for i, worth in enumerate(posteriors[: len(passages)]):
                proof = [c for c in _of(good, start, end) if c.chunk_id == passages[i].chunk.id]
                if worth >= share and not proof and has_content(text[start:end]):
                    said = _quoted(text[start:end])
                    alarm("steering", i, f"had {worth:.0%} of the say in {said} and does not support it")
    spoken = [(start, end) for start, end in sentences if has_content(text[start:end])]
    bare = [(start, end) for start, end in spoken if not _of(good, start, end)]
    for start, end in spoken:
        proof = _of(good, start, end)
        if proof and all(id(each) in from_order for each in proof):
            i = from_order[id(proof[0])]
            alarm(
                "instruction", i, f"reads like orders to a model, and nothing else supports {_quoted(text[start:end])}"
            )
    for i, (first, last) in orders:
        order = passages[i].chunk.text[first:last]
        for start, end in bare[:1]:
            said = _quoted(text[start:end])
            alarm("instruction", i, f"reads like orders to a model, {_quoted(order)}, and no source supports {said}")
    return list(found.values())


def suspicious_passages(passages: Sequence[Passage], at: float = SUSPICIOUS) -> list[tuple[int, tuple[int, int]]]:
    """(index, span of what reads like orders, whole sentences) of the passages that are suspicious.

    A passage's own `suspicion` counts where it was set; its text is scored all the same, for the span.
    """
    found = []
    for i, passage in enumerate(passages):
        judged = suspicion(passage.chunk.text)
        if max(passage.suspicion, judged.score) >= at:
            found.append((i, _sentences_around(passage.chunk.text, judged.span)))
    return found


def _sentences_around(text: str, span: tuple[int, int]) -> tuple[int, int]:
    start, end = span
    if start == end:
        return 0, len(text)
    before = max((match.end() for match in _BREAK.finditer(text, 0, start + 1)), default=0)
    after = _BREAK.search(text, max(start, end - 1))
    return min(before, start), max(end, after.start() + 1 if after else len(text))


def _points_into(citation: Citation, passage: Passage, span: tuple[int, int]) -> bool:
    """Whether what is cited is mostly the order."""
    chunk = passage.chunk
    if citation.chunk_id != chunk.id:
        return False
    start, end = chunk.start + span[0], chunk.start + span[1]
    shared = min(end, citation.end) - max(start, citation.start)
    return shared > 0.5 * (citation.end - citation.start)


def _of(citations: Sequence[Citation], start: int, end: int) -> list[Citation]:
    return [each for each in citations if each.answer_start < end and start < each.answer_end]


def _aligned(
    generation: Generation, text: str, sentences: Sequence[tuple[int, int]]
) -> list[tuple[tuple[float, ...], tuple[int, int]]]:
    """The posteriors of each sentence of the generator's text, with the span of the same words in `text`.

    Markers were written into the text since: sentences are matched by their words, in order.
    """
    assert generation.marginal is not None
    if text == generation.text:
        return [(each.posteriors, (each.start, each.end)) for each in generation.marginal.sentences]
    aligned = []
    left = list(sentences)
    for each in generation.marginal.sentences:
        words = _words(generation.text[each.start : each.end])
        for i, (start, end) in enumerate(left):
            if _words(text[start:end]) == words:
                aligned.append((each.posteriors, (start, end)))
                del left[: i + 1]
                break
    return aligned


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", re.sub(r"\[\d{1,3}\]", " ", text))


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= 80 else f"“{line[:80]}…”"
