"""How likely a language model finds the query once it has read the passage: re-ranking without training.

Sachan et al. 2022, "Improving Passage Retrieval with Zero-Shot Question Generation" (UPR), section 2.2, equation 2:
the score of a passage z for a query q is the mean of ``log p(q_t | q_<t, z)`` over the tokens of q.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from pincite.errors import BackendError
from pincite.protocols import Reranked
from pincite.rerankers.ordering import check_budget, passage_text, rerank_in_batches

if TYPE_CHECKING:
    from pincite.types import Passage

__all__ = ["LikelihoodModel", "LikelihoodReranker"]

#: UTF-8 bytes of a token, roughly; of a query that is longer than this many tokens the rest is not scored.
_BYTES, _QUERY_TOKENS = 4, 256


class LikelihoodModel(Protocol):
    """A language model that tells how likely a given text is."""

    @property
    def name(self) -> str:
        """Which model."""
        ...

    def continuation_logprobs(self, context: str, continuation: str) -> Sequence[float]:
        """Natural log-probability of each token of `continuation` after `context`. Raises BackendError."""
        ...

    def close(self) -> None:
        """Free what it holds. Idempotent."""
        ...


class LikelihoodReranker:
    """Mean log-probability of the query's tokens after ``Passage: … Question:``.

    Parameters
    ----------
    model
        Closed with the reranker.
    passage_tokens
        How much of a passage is read, in tokens of about four bytes; a note counts those that were longer.
    depth, batch, seconds, weight
        See `pincite.rerankers.ordering.rerank_in_batches`. One pass of the model per passage: keep `depth` small.

    White space is folded to single spaces: the line breaks of the prompt are its frame, and no passage can forge it.
    """

    def __init__(
        self,
        model: LikelihoodModel,
        *,
        depth: int = 10,
        batch: int = 1,
        seconds: float | None = None,
        weight: float = 1.0,
        passage_tokens: int = 256,
    ) -> None:
        check_budget(depth, batch, seconds, weight)
        self.model = model
        self.batch = batch
        self.seconds = seconds
        self.weight = weight
        self.passage_tokens = passage_tokens
        self._depth = depth

    @property
    def name(self) -> str:
        """``likelihood:`` and the model's name."""
        return f"likelihood:{self.model.name}"

    @property
    def depth(self) -> int:
        """How many passages are scored."""
        return self._depth

    def rerank(self, query: str, passages: Sequence[Passage]) -> Reranked:
        """See `pincite.protocols.Reranker.rerank`."""
        asked, cut = _first(query, _QUERY_TOKENS)
        if not passages or not asked:
            return Reranked(list(passages), (f"{self.name}: the query is empty",) if passages else ())
        notes = [f"{self.name}: only the first {len(asked)} characters of the query are scored"] if cut else []
        shortened = 0

        def score(some: Sequence[Passage]) -> list[float]:
            nonlocal shortened
            scores = []
            for passage in some:
                text, long = _first(passage_text(passage), self.passage_tokens)
                shortened += long
                logprobs = self.model.continuation_logprobs(f"Passage: {text}\nQuestion:", f" {asked}")
                if not logprobs:
                    raise BackendError(f"{self.model.name} gave no log-probabilities for the query")
                scores.append(sum(logprobs) / len(logprobs))
            return scores

        found = rerank_in_batches(
            self.name,
            passages,
            score,
            depth=self.depth,
            batch=self.batch,
            seconds=self.seconds,
            weight=self.weight,
        )
        if shortened:
            notes.append(f"{self.name}: of {shortened} long passages only the first {self.passage_tokens} tokens read")
        return Reranked(found.passages, (*notes, *found.notes))

    def close(self) -> None:
        """Free the model."""
        self.model.close()


def _first(text: str, tokens: int) -> tuple[str, bool]:
    """About the first `tokens` tokens of `text` on one line, and whether it was longer."""
    line = " ".join(text.split())
    data = line.encode("utf-8", "replace")
    if len(data) <= tokens * _BYTES:
        return data.decode("utf-8"), False
    return data[: tokens * _BYTES].decode("utf-8", "ignore").rstrip(), True
