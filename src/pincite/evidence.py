"""Measuring whether what was found and written answers a question: numbers for `pincite.calibration` to weigh.

Nothing here asks a model for more than it said: the dearest step is the vectors of the few sentences that are cited.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pincite.citations import words_in_common
from pincite.missing import Missing, find_missing
from pincite.types import Evidence
from pincite.words import has_content

if TYPE_CHECKING:
    from pincite.protocols import Encoder
    from pincite.types import Citation, Generation, Passage, SearchResult

__all__ = ["evidence_of_answer", "evidence_of_search", "missing_from"]

#: Marks a citation that proves its sentence.
_PROVED = ("verbatim", "supported")


def missing_from(question: str, passages: Sequence[Passage], language: str) -> Missing:
    """What the question names and no passage, read with its title and headings, holds."""
    texts = ["\n".join((each.title, *each.chunk.headings, each.chunk.reading)) for each in passages]
    return find_missing(question, texts, language)


def evidence_of_search(
    question: str, found: SearchResult, passages: Sequence[Passage], missing: Missing, *, read: float = 1.0
) -> Evidence:
    """What is known before anything is written. `passages` are those of `found` as they were found.

    `read` is the share of the question's letters that the encoder's vocabulary knows: below
    half, what is near says nothing, and `Evidence.cosine` is None.
    """
    dense = found.legs.get("dense")
    cosine = max((hit.score for hit in dense), default=0.0) if dense is not None and read >= 0.5 else None
    return Evidence(
        cosine=cosine,
        words=words_in_common(question, passages),
        margin=_margin([each.hit.score for each in found.passages]),
        missing=missing.share,
    )


def evidence_of_answer(
    before: Evidence,
    question: str,
    generation: Generation,
    citations: Sequence[Citation],
    *,
    sentences: int,
    encoder: Encoder | None,
) -> Evidence:
    """`before`, and what the answer adds. `sentences` counts those of the answer that say something.

    `Evidence.support` and `unsupported` count a sentence by its best citation, and one without any as unsupported.
    Where tokens have no probabilities and passages no posterior, those are None.
    """
    best: dict[int, Citation] = {}
    for each in citations:
        if each.answer_start not in best or each.score > best[each.answer_start].score:
            best[each.answer_start] = each
    count = max(sentences, len(best), 1)
    proved = [each for each in best.values() if each.verdict in _PROVED]
    told = [token for token in generation.tokens if token.logprob is not None and math.isfinite(token.logprob)]
    known = [token for token in told if token.baseline is not None and math.isfinite(token.baseline)]
    marginal = generation.marginal
    return replace(
        before,
        reach=None
        if before.cosine is None
        else _reach(question, [each.quote for each in best.values() if has_content(each.quote)], encoder),
        support=sum(each.score for each in proved) / count,
        unsupported=1.0 - len(proved) / count,
        posterior=max(marginal.posteriors) if marginal is not None and marginal.posteriors else None,
        logprob=sum(token.logprob or 0.0 for token in told) / len(told) if told else None,
        gain=sum((t.logprob or 0.0) - (t.baseline or 0.0) for t in known) / len(known) if known else None,
    )


def _margin(scores: Sequence[float]) -> float:
    """By how much the first is above the second, as a share of the distance to the last; 0 where all are equal."""
    spread = scores[0] - min(scores) if scores else 0.0
    return max(0.0, min(1.0, (scores[0] - scores[1]) / spread)) if len(scores) > 1 and spread > 0 else 0.0


def _reach(question: str, quotes: Sequence[str], encoder: Encoder | None) -> float | None:
    """Cosine of the question and the nearest of `quotes`; None without any."""
    if encoder is None or not quotes:
        return None
    import numpy as np

    query = encoder.encode_queries([question])[0]
    vectors = encoder.encode_passages(list(dict.fromkeys(" ".join(each.split()) for each in quotes)))
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return float((vectors @ query / np.maximum(lengths, 1e-12)).max())
