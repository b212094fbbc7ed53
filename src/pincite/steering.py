"""Signs in an answer that a document steered it: words that a passage brought about and does not support."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pincite.suspicion import SUSPICIOUS, suspicion
from pincite.types import Alarm, Citation, Generation, Passage
from pincite.words import content_words, has_content

__all__ = ["SHARE", "steering", "suspicious_passages"]

#: From this share of a sentence's posterior on, a passage is what made the model say it.
SHARE = 0.5

#: Share of the content words of an order that an answer's sentence holds when it is its echo.
_ECHO = 0.5

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
    the generator's own unless it is given. For a generator that marginalizes: a passage had at least `share` of the
    posterior of a sentence (``Generation.marginal``, whose spans are of the generator's text), and no citation of
    that sentence to this passage is verbatim or supported. For every other: a sentence that no citation supports,
    while a passage that was offered reads like orders (its `suspicion` is at `suspicious` or above) and the sentence
    echoes the order or is all there is. Each passage is named once, with its number in `passages`, from 1.
    """
    text = text or generation.text
    supported = [(c.answer_start, c.answer_end, c.chunk_id) for c in citations if c.verdict in _GOOD]

    def proved(start: int, end: int, chunk_id: str | None = None) -> bool:
        return any(a < end and start < b and chunk_id in (None, chunk) for a, b, chunk in supported)

    found: dict[tuple[str, int], Alarm] = {}

    def alarm(kind: str, number: int, detail: str) -> None:
        found.setdefault((kind, number), Alarm("steering" if kind == "steering" else "instruction", detail, number))

    bare = [(a, b) for a, b in sentences if has_content(text[a:b]) and not proved(a, b)]
    if generation.marginal is not None:
        for each, (start, end) in _aligned(generation, text, sentences):
            if not has_content(text[start:end]):
                continue
            for i, worth in enumerate(each):
                if worth >= share and i < len(passages) and not proved(start, end, passages[i].chunk.id):
                    alarm(
                        "steering",
                        i + 1,
                        f"passage {i + 1} ({passages[i].title}) had {worth:.0%} of the say in "
                        f"{_quoted(text[start:end])} and does not support it",
                    )
    for i, order in suspicious_passages(passages, suspicious):
        for start, end in bare:
            if not _echoes(text[start:end], order) and len(bare) < len(sentences):
                continue
            alarm(
                "instruction",
                i + 1,
                f"passage {i + 1} ({passages[i].title}) reads like orders to a model, {_quoted(order)}, and "
                f"{_quoted(text[start:end])} is supported by no source",
            )
    return list(found.values())


def suspicious_passages(
    passages: Sequence[Passage], at: float = SUSPICIOUS, score: Callable[[str], float] | None = None
) -> list[tuple[int, str]]:
    """(index, what in it reads like orders) of the passages that are suspicious.

    A passage's own `suspicion` counts where it was set, else its text is scored.
    """
    found = []
    for i, passage in enumerate(passages):
        judged = suspicion(passage.chunk.text)
        worth = max(passage.suspicion, score(passage.chunk.text) if score else judged.score)
        if worth >= at:
            start, end = judged.span
            found.append((i, passage.chunk.text[start:end] or passage.chunk.text))
    return found


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


def _echoes(sentence: str, order: str) -> bool:
    said, ordered = set(content_words(sentence)), set(content_words(order))
    return bool(said) and len(said & ordered) >= _ECHO * min(len(said), len(ordered))


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= 80 else f"“{line[:80]}…”"
