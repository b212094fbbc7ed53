"""Batches for a forward pass, and the hash of a model file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pincite.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding

__all__ = ["BATCH_TOKENS", "file_sha256", "padded_batches"]

#: Tokens, padding included, in one forward pass. Measured on two cores: larger batches win nothing and cost memory.
BATCH_TOKENS = 2048


def padded_batches(
    encodings: Sequence[Encoding], budget: int = BATCH_TOKENS
) -> Iterator[tuple[list[int], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield (indices into `encodings`, token ids, attention mask), longest texts first.

    Ids and mask are int64 of shape (batch, length), padded with 0. Texts of like length share a batch, so that little
    is padding; a batch holds at most `budget` positions, or one text.
    """
    order = sorted(range(len(encodings)), key=lambda i: -len(encodings[i].ids))
    start = 0
    while start < len(order):
        length = max(1, len(encodings[order[start]].ids))
        batch = order[start : start + max(1, budget // length)]
        start += len(batch)
        ids = np.zeros((len(batch), length), dtype=np.int64)
        mask = np.zeros((len(batch), length), dtype=np.int64)
        for row, i in enumerate(batch):
            tokens = encodings[i].ids
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        yield batch, ids, mask


def file_sha256(path: Path) -> str:
    """SHA-256 of a file in hex. Raises InputError if there is no such file."""
    if not path.is_file():
        raise InputError(f"there is no model file at {path}")
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
