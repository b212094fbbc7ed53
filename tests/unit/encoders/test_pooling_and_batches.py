"""From token vectors to one vector a text, against numbers worked by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from pincite.encoders.batching import padded_batches
from pincite.encoders.pooling import normalize_rows, pool

# Two texts: one of three tokens, one of two and padding that must not count.
TOKENS = np.array([[[1, -2], [3, -4], [5, -9]], [[-2, -6], [-4, -2], [99, 99]]], dtype=np.float32)
MASK = np.array([[1, 1, 1], [1, 1, 0]], dtype=np.int64)


def test_mean_leaves_padding_out() -> None:
    # (1+3+5)/3, (-2-4-9)/3; (-2-4)/2, (-6-2)/2
    assert pool(TOKENS, MASK, "mean").tolist() == [[3, -5], [-3, -4]]


def test_max_of_negative_numbers_is_not_the_padding() -> None:
    assert pool(TOKENS, MASK, "max").tolist() == [[5, -2], [-2, -2]]


def test_cls_is_the_first() -> None:
    assert pool(TOKENS, MASK, "cls").tolist() == [[1, -2], [-2, -6]]


@pytest.mark.parametrize("how", ["mean", "max", "cls"])
def test_padding_of_any_value_and_length_changes_nothing(how: str) -> None:
    padded = np.concatenate([TOKENS, np.full((2, 4, 2), -1e6, np.float32)], axis=1)
    mask = np.concatenate([MASK, np.zeros((2, 4), np.int64)], axis=1)
    assert (pool(padded, mask, how) == pool(TOKENS, MASK, how)).all()  # type: ignore[arg-type]
    assert pool(TOKENS.astype(np.float16), MASK, how).dtype == np.float32  # type: ignore[arg-type]


def test_rows_are_scaled_and_a_zero_row_stays() -> None:
    vectors = normalize_rows(np.array([[3, 4], [0, 0], [1e-5, 0]], dtype=np.float32))
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0, 0], [1, 0]], rtol=1e-6)
    assert vectors.dtype == np.float32


@dataclass
class Tokens:
    ids: list[int]


def test_batches_hold_every_text_once_within_the_budget() -> None:
    lengths = [3, 50, 1, 7, 7, 120, 2, 0, 31]
    encodings = [Tokens(list(range(1, length + 1))) for length in lengths]
    seen = []
    for indices, ids, mask in padded_batches(encodings, budget=64):  # type: ignore[arg-type]
        assert ids.shape == mask.shape
        assert ids.dtype == mask.dtype == np.int64
        assert ids.size <= 64 or len(indices) == 1
        for row, i in enumerate(indices):
            assert mask[row].sum() == lengths[i]
            assert ids[row, : lengths[i]].tolist() == encodings[i].ids
            assert not ids[row, lengths[i] :].any()
        seen += indices
    assert sorted(seen) == list(range(len(lengths)))
    assert [lengths[i] for i in seen] == sorted(lengths, reverse=True)
    assert list(padded_batches([])) == []
