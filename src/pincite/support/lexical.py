"""Does a source say it? The lexical baseline: exact words first, then shared content words, with a veto.

The veto falls where statement and source claim different things (see `pincite.claims`). It says ``unsupported`` sooner
than it is generous.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pincite.claims import agrees, same_sense, with_digits
from pincite.sentences import statement_spans
from pincite.types import Support
from pincite.words import content_words, has_content, idf, overlap

if TYPE_CHECKING:
    from pincite.protocols import Encoder, Matrix

__all__ = ["LexicalSupport", "judge"]

_QUOTED = re.compile(r"[\"“«„]([^\"“”«»„]{8,})[\"”»]")

#: Share of a statement's content words that the source sentence must hold.
#: Vectors have no say: sentences that differ in one decisive word ("on payment", "on delivery") are the nearest of all.
COVERED = 0.85
#: From so many content words on, words that stand in the source are a claim of their own and no mere "two years".
_CLAUSE = 3
#: So is anything with a verb of statements and rules.
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|may|might|must|shall|should|will|would|can|could)\b", re.I
)
#: Words around a quotation that merely introduce it ("the lease provides: …"); more of them claim something.
_FRAMING = 4
_INTRODUCES = re.compile(r"\b(?:says?|said|states?|provides?|reads?|according|declares?|lays? down|quot\w+)\b", re.I)


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

    Sentences that hold the statement (or all it quotes, if they agree with the rest of it) word for word come first,
    among them the one that shares most with the question: a short answer such as "two" may stand in many. Then the
    share of the statement's content words decides. An `encoder` has no part in the verdict: it helps to choose the
    sentence to show for a statement that nothing supports. A statement without content ("Yes.") is ``unknown``, shown
    with the sentence that shares most with the question, and so is everything where the source has no sentences.
    """
    spans = statement_spans(source)
    if not spans:
        return Support(0, len(source), "unknown", 0.0)
    texts = [source[start:end] for start, end in spans]
    plain = [_plain(sentence) for sentence in texts]
    exact = [i for i, sentence in enumerate(plain) if _holds(sentence, _plain(statement))]
    quoted = [] if exact else [match.group(1) for match in _QUOTED.finditer(statement)]
    if quoted:
        exact = [i for i, sentence in enumerate(plain) if all(_holds(sentence, _plain(part)) for part in quoted)]
    words = [content_words(with_digits(sentence)) for sentence in texts]
    weights = idf(words)
    asked = content_words(with_digits(question))
    if not has_content(statement):
        best = max(range(len(texts)), key=lambda i: (overlap(asked, words[i], weights), -i))
        return Support(*spans[best], "unknown", 0.0)
    own = content_words(with_digits(statement))
    # True words prove nothing where those around them, in the statement or in the source, turn their sense.
    if quoted or len(own) >= _CLAUSE or _VERB.search(statement):
        exact = [i for i in exact if same_sense(statement, texts[i])]
    if quoted:
        # A quotation proves itself, not what is said around it: that must introduce it, or stand there too.
        rest = _QUOTED.sub(" ", statement)
        around = content_words(with_digits(rest))
        introduced = not around or (len(around) <= _FRAMING and _INTRODUCES.search(rest))
        exact = [i for i in exact if introduced or overlap(around, words[i]) >= COVERED]
    if exact:
        best = max(exact, key=lambda i: (overlap(asked, words[i], weights), -i))
        return Support(*spans[best], "verbatim", 1.0)
    covered = [overlap(own, each) for each in words]
    supported = [share >= COVERED and agrees(statement, texts[i], source) for i, share in enumerate(covered)]
    if any(supported):
        best = max(range(len(texts)), key=lambda i: (supported[i], covered[i], overlap(asked, words[i], weights), -i))
        return Support(*spans[best], "supported", min(covered[best], 0.99))
    near = [0.0] * len(texts)
    if encoder is not None:
        near = _cosines(encoder.encode_passages([statement, *texts]))
    best = max(range(len(texts)), key=lambda i: (covered[i] + near[i], -i))
    return Support(*spans[best], "unsupported", min(covered[best], 0.49))


def _cosines(vectors: Matrix) -> list[float]:
    """Of the first with each of the others; not every encoder gives vectors of length 1."""
    lengths = (vectors * vectors).sum(axis=1) ** 0.5
    lengths[lengths == 0] = 1
    unit = vectors / lengths[:, None]
    return [float(value) for value in unit[1:] @ unit[0]]


_DASHES = str.maketrans(
    dict.fromkeys("‐‑‒–−", "-") | dict.fromkeys("—―", " - ") | dict.fromkeys("‘’‛", "'") | dict.fromkeys("“”„«»", '"')
)
# "5" does not stand in "5,000", "3.14" or "-5", nor "two" in "twenty-two".
_LEFT = r"(?<!\w)(?<!\d[.,])(?<!\w[-'])(?<!(?<![^\s(])-)"
_RIGHT = r"(?!\w)(?![.,]\d)(?![-']\w)"
_HYPHENATED = re.compile(r"(?<=\w)-\s*\n\s*(?=\w)")


def _plain(text: str) -> str:
    """For comparing word for word: ligatures, quotes, dashes, case and white space made alike, outer marks removed."""
    text = unicodedata.normalize("NFKC", _HYPHENATED.sub("", text)).translate(_DASHES).casefold()
    return " ".join(text.split()).strip(" .,;:!?\"'()[]")


def _holds(sentence: str, part: str) -> bool:
    return bool(part) and re.search(_LEFT + re.escape(part) + _RIGHT, sentence) is not None
