"""An encoder whose queries cost what they cost once, for timing searches one after another."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pincite.encoders.cached import CachedEncoder
    from pincite.protocols import Encoder, Matrix

__all__ = ["TimedQueries"]


class TimedQueries:
    """See `pincite.protocols.Encoder`. Queries are encoded once for all configurations, by `cached`.

    What else a search asks of it (a reranker: passages, vectors of single tokens) comes from `encoder`, as live as it
    is for somebody who asks a question. `encode_seconds` counts what encoding the queries took when that was done,
    `aside_seconds` what was spent on it now.
    """

    def __init__(self, encoder: Encoder, cached: CachedEncoder) -> None:
        self._encoder = encoder
        self._cached = cached
        self.encode_seconds = self.aside_seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """See `pincite.protocols.Encoder`."""
        import numpy as np

        started = time.perf_counter()
        timed = [self._cached.timed_query(text) for text in texts]
        self.aside_seconds += time.perf_counter() - started
        self.encode_seconds += sum(seconds for _, seconds in timed)
        return np.stack([vector for vector, _ in timed])
