"""The example that several lessons share: a question, three passages, and what a reader makes of each."""

from __future__ import annotations

__all__ = ["ANSWER", "OTHER_QUERY", "PASSAGES", "QUERY", "QUESTION", "READER", "SCORES", "VECTORS"]

QUESTION = "Who won the cricket World Cup of 2023?"
ANSWER = "Australia"

#: What the three passages are about, in the order of their scores.
PASSAGES = (
    "the final of 2023: Australia beat India",
    "all finals so far, and their winners",
    "the rules of cricket",
)

#: Vectors of the passages and of the question, small enough for the head. They are ours, and made up.
VECTORS: tuple[tuple[float, ...], ...] = ((0.7, 1.3, 2.0), (0.9, 0.1, 0.0), (0.1, 0.2, 0.6))
QUERY: tuple[float, ...] = (2.0, 1.0, 0.0)
#: The same question in other words.
OTHER_QUERY: tuple[float, ...] = (0.5, 0.5, 0.5)

#: The inner products of QUERY with VECTORS.
SCORES = (2.7, 1.9, 0.4)
#: p(y|x,z): the probability that the reader gives the answer after reading each passage.
READER = (0.90, 0.35, 0.10)
