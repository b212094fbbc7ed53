"""Rankings that no retriever made, to read the others by: constant, random and oracle."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from pincite.errors import InputError
from pincite.evaluation.datasets import Dataset

__all__ = ["constant_run", "oracle_run", "random_run"]


def constant_run(dataset: Dataset, document_ids: Sequence[str], k: int = 100) -> dict[str, list[str]]:
    """The same k documents for every query: those that are relevant to most queries first, then by `document_ids`.

    It reads the judgements, not the queries. What it reaches is what a set gives away to whoever knows only which
    documents are popular; a retriever near it has not shown that it reads the query.
    """
    _check(k)
    popular = Counter(
        document_id for grades in dataset.qrels.values() for document_id, grade in grades.items() if grade > 0
    )
    ranking = sorted(document_ids, key=lambda document_id: -popular[document_id])[:k]
    return {query_id: list(ranking) for query_id in dataset.queries}


def random_run(dataset: Dataset, document_ids: Sequence[str], k: int = 100, seed: int = 0) -> dict[str, list[str]]:
    """Draw k documents for each query, without replacement. The same seed, queries and ids give the same run."""
    _check(k)
    source = random.Random(seed)
    few = min(k, len(document_ids))
    return {query_id: source.sample(document_ids, few) for query_id in dataset.queries}


def oracle_run(dataset: Dataset, k: int = 100) -> dict[str, list[str]]:
    """The relevant documents, highest grade first: the best that any ranking of k documents can reach."""
    _check(k)
    return {
        query_id: sorted((d for d, grade in grades.items() if grade > 0), key=lambda d, grades=grades: -grades[d])[:k]  # type: ignore[misc]
        for query_id, grades in dataset.qrels.items()
    }


def _check(k: int) -> None:
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
