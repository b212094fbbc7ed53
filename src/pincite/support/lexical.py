"""Does a source say it? The lexical baseline: exact words first, then shared content words, with a veto.

The veto falls where statement and source claim different things (see `pincite.claims`). It says ``unsupported`` sooner
than it is generous.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pincite.claims import disagreement, with_digits
from pincite.support.sentences import COVERED, MOST_DENIED, MOST_SUPPORTED, Sentences, cosines, missing_words, settled
from pincite.types import Support
from pincite.words import content_words, overlap

if TYPE_CHECKING:
    from pincite.protocols import Encoder

__all__ = ["LexicalSupport", "judge"]

#: A sentence with this share of a statement's content words is about the same, and is told how it differs.
_ABOUT = 0.5


class LexicalSupport:
    """`judge` as a `pincite.protocols.SupportScorer`."""

    name = "lexical"

    def __init__(self, encoder: Encoder | None = None) -> None:
        self.encoder = encoder

    def judge(self, statement: str, sources: Sequence[str], *, question: str = "") -> list[Support]:
        """What each of `sources` is worth for `statement`, in their order."""
        return [judge(statement, source, question=question, encoder=self.encoder) for source in sources]

    def score(self, statement: str, sentences: Sequence[str]) -> list[float]:
        """How far each sentence alone supports `statement`, in [0, 1]."""
        return [judge(statement, sentence).score for sentence in sentences]

    def close(self) -> None:
        """Nothing is held."""


def judge(statement: str, source: str, *, question: str = "", encoder: Encoder | None = None) -> Support:
    """The sentence of `source` that supports `statement` best, and how well.

    What stands there word for word comes first: see `pincite.support.sentences.settled`. Then the share of the
    statement's content words in one sentence decides, and whether the two agree in what they claim. An `encoder` has no
    part in the verdict: it helps to choose the sentence to show for a statement that nothing supports. Vectors have no
    say: sentences that differ in one decisive word ("on payment", "on delivery") are the nearest of all.
    """
    found = Sentences(source)
    if (support := settled(statement, found, question)) is not None:
        return support
    texts, spans = found.texts, found.spans
    own = content_words(with_digits(statement))
    covered = [overlap(own, each) for each in found.words]
    differs = {i: disagreement(statement, texts[i], source) for i, share in enumerate(covered) if share >= COVERED}
    if supported := [i for i, why in differs.items() if not why]:
        relevance = found.relevance(question)
        best = max(supported, key=lambda i: (covered[i], relevance[i], -i))
        return Support(*spans[best], "supported", min(covered[best], MOST_SUPPORTED))
    near = [0.0] * len(texts)
    if encoder is not None:
        near = cosines(encoder.encode_passages([statement, *texts]))
    best = max(range(len(texts)), key=lambda i: (covered[i] + near[i], -i))
    why = disagreement(statement, texts[best], source) if covered[best] >= _ABOUT else ""
    return Support(
        *spans[best],
        "unsupported",
        MOST_DENIED * covered[best],
        why or missing_words(statement, found.words[best]),
    )
