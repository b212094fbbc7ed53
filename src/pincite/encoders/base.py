"""What every local encoder shares: settings, tokenizer, identity, batching. Running the model is the one step left."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from pincite.coverage import letters_read
from pincite.encoders.batching import file_sha256, padded_batches
from pincite.encoders.pooling import normalize_rows, pool
from pincite.encoders.tokenizer import FastTokenizer
from pincite.errors import BackendError, InputError
from pincite.protocols import EncoderIdentity

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding

    from pincite.protocols import Matrix

__all__ = ["LocalEncoder", "Pooling"]

Pooling = Literal["mean", "cls", "max"]


class LocalEncoder(ABC):
    """A BERT-like encoder on this machine: token vectors, pooled, and scaled to length 1 if `normalize`.

    The model is loaded at first use and may be used from several threads.

    Parameters
    ----------
    name
        What people call the model.
    model_path, tokenizer_path
        The weights, and the model's ``tokenizer.json``.
    dimension
        Length of a vector.
    max_length
        Positions of the model, special tokens included.
    query_prefix, passage_prefix
        Put before every text of that side.
    sha256
        If given, the weights must have this hash.
    threads
        Threads for one pass; None lets the runtime use every core.
    """

    def __init__(
        self,
        name: str,
        *,
        model_path: Path,
        tokenizer_path: Path,
        dimension: int,
        max_length: int,
        pooling: Pooling = "mean",
        normalize: bool = True,
        query_prefix: str = "",
        passage_prefix: str = "",
        sha256: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.name = name
        self.model_path = model_path
        self.dimension = dimension
        self.max_length = max_length
        self.pooling: Pooling = pooling
        self.normalize = normalize
        self.query_prefix = query_prefix
        self.passage_prefix = passage_prefix
        self.sha256 = sha256
        self.threads = threads
        self._tokenizer = FastTokenizer(tokenizer_path, max_length=max_length)
        self._lock = threading.Lock()

    @property
    def tokenizer(self) -> FastTokenizer:
        """The model's own tokenizer."""
        return self._tokenizer

    @cached_property
    def max_tokens(self) -> int:
        """The most content tokens of one passage: positions less special tokens and the passage prefix."""
        prefix = len(self._tokenizer.spans(self.passage_prefix)) if self.passage_prefix else 0
        return self.max_length - self._tokenizer.special_tokens() - prefix

    @cached_property
    def identity(self) -> EncoderIdentity:
        """Hashes the weights at first use. Raises InputError if they are absent or not the ones asked for."""
        revision = file_sha256(self.model_path)
        if self.sha256 is not None and revision != self.sha256:
            raise InputError(
                f"the model file {self.model_path} has SHA-256 {revision}, expected {self.sha256}: "
                "it is damaged or another version; install its package again"
            )
        return EncoderIdentity(
            name=self.name,
            revision=revision,
            dimension=self.dimension,
            pooling=self.pooling,
            normalize=self.normalize,
            query_prefix=self.query_prefix,
            passage_prefix=self.passage_prefix,
            max_tokens=self.max_length,
        )

    def reads(self, text: str) -> float:
        """The share of the letters of `text` that the vocabulary knows, in [0, 1]; see `pincite.coverage`."""
        return letters_read(text, self._tokenizer.known_spans(text))

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """Vectors of queries, float32 (len(texts), dimension)."""
        return self._encode([self.query_prefix + text for text in texts])

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        """Vectors of passages, float32 (len(texts), dimension). Text beyond `max_tokens` is cut."""
        return self._encode([self.passage_prefix + text for text in texts])

    def query_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """Token vectors of queries, one matrix a text: float32 (tokens, dimension), each row of length 1.

        Special tokens are left out. Text beyond the model's positions is read as well, in further passes of its own.
        Raises BackendError for a model that gives pooled vectors only.
        """
        return self._token_vectors([self.query_prefix + text for text in texts])

    def passage_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """Token vectors of passages, as `query_tokens` gives those of queries."""
        return self._token_vectors([self.passage_prefix + text for text in texts])

    @abstractmethod
    def _forward(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Matrix:
        """One pass: (batch, length) → token vectors (batch, length, dimension), or pooled (batch, dimension)."""

    def _encode(self, texts: Sequence[str]) -> Matrix:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if not texts:
            return vectors
        for batch, ids, mask in padded_batches(self._tokenizer.encode(texts)):
            output = self._forward(ids, mask)
            if output.ndim == 3:
                output = pool(output, mask, self.pooling)
            if output.shape != (len(batch), self.dimension):
                raise BackendError(
                    f"{self.name} gave vectors of shape {output.shape}, its configuration says {self.dimension}"
                )
            vectors[batch] = output
        return normalize_rows(vectors) if self.normalize else vectors

    def _token_vectors(self, texts: Sequence[str]) -> list[Matrix]:
        pieces: list[Encoding] = []
        owners: list[int] = []
        for owner, encoding in enumerate(self._tokenizer.encode(texts)):
            for piece in (encoding, *encoding.overflowing):
                pieces.append(piece)
                owners.append(owner)
        parts: list[Matrix] = [np.zeros((0, self.dimension), dtype=np.float32)] * len(pieces)
        for batch, ids, mask in padded_batches(pieces):
            output = self._forward(ids, mask)
            if output.ndim != 3 or output.shape[2] != self.dimension:
                raise BackendError(
                    f"{self.name} gives no token vectors (its output has shape {output.shape}): "
                    "late interaction needs a model that is not pooled in its graph"
                )
            for row, i in enumerate(batch):
                content = np.asarray(pieces[i].special_tokens_mask) == 0
                parts[i] = normalize_rows(output[row, : len(content)][content])
        return [
            np.concatenate([part for part, of in zip(parts, owners, strict=True) if of == owner])
            for owner in range(len(texts))
        ]
