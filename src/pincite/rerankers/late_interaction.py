"""Late interaction: each token of the query looks for its best token in the passage, and the matches are added.

Khattab and Zaharia 2020, "ColBERT", section 3.3, equation 3: the score of a passage d for a query q is
``Σ_i max_j ⟨q_i, d_j⟩`` over token vectors of length 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from pincite.errors import InputError
from pincite.protocols import Reranked
from pincite.rerankers.ordering import check_budget, passage_text, rerank_in_batches

if TYPE_CHECKING:
    from pincite.protocols import Matrix
    from pincite.types import Passage

__all__ = ["LateInteractionReranker", "TokenEncoder", "max_sim"]


@runtime_checkable
class TokenEncoder(Protocol):
    """An encoder that shows the vectors of single tokens; see `pincite.encoders.base.LocalEncoder`."""

    def query_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """Of each text, float32 (tokens, dimension), rows of length 1."""
        ...

    def passage_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """Of each text, float32 (tokens, dimension), rows of length 1."""
        ...


def max_sim(query: Matrix, passage: Matrix) -> float:
    """The sum over query tokens (n, dim) of the greatest inner product with a passage token (m, dim).

    A passage without tokens is as unlike as can be: -1 for each query token.

    >>> q = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> max_sim(q, np.array([[1, 0], [0.6, 0.8]], dtype=np.float32))
    1.7999999523162842
    """
    if not len(passage):
        return -float(len(query))
    return float((query @ passage.T).max(axis=1).sum(dtype=np.float64))


class LateInteractionReranker:
    """`max_sim` of token vectors that the encoder computes for the candidates when they are asked for.

    Special tokens take no part on either side: a model that was not trained for late interaction gives them no meaning
    of their own. A passage beyond the encoder's positions is encoded in pieces, and all their tokens take part.
    Raises InputError for an encoder that shows no token vectors. Parameters: see
    `pincite.rerankers.ordering.rerank_in_batches`. The encoder is not closed: it is another's.
    """

    name = "late-interaction"

    def __init__(
        self,
        encoder: object,
        *,
        depth: int = 20,
        batch: int = 8,
        seconds: float | None = None,
        weight: float = 1.0,
    ) -> None:
        check_budget(depth, batch, seconds, weight)
        if not isinstance(encoder, TokenEncoder):
            raise InputError("late interaction needs an encoder that gives token vectors; this one gives none")
        self.encoder = encoder
        self.batch = batch
        self.seconds = seconds
        self.weight = weight
        self._depth = depth

    @property
    def depth(self) -> int:
        """How many passages are scored."""
        return self._depth

    def rerank(self, query: str, passages: Sequence[Passage]) -> Reranked:
        """See `pincite.protocols.Reranker.rerank`."""
        if not passages:
            return Reranked([])
        asked = self.encoder.query_tokens([query])[0]

        def score(some: Sequence[Passage]) -> list[float]:
            texts = [passage_text(passage) for passage in some]
            return [max_sim(asked, tokens) for tokens in self.encoder.passage_tokens(texts)]

        return rerank_in_batches(
            self.name,
            passages,
            score,
            depth=self.depth,
            batch=self.batch,
            seconds=self.seconds,
            weight=self.weight,
        )

    def close(self) -> None:
        """Nothing is held."""
