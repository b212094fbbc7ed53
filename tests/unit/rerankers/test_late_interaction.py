from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pincite.encoders.minilm import minilm
from pincite.encoders.onnx import OnnxEncoder
from pincite.errors import BackendError, InputError
from pincite.rerankers.late_interaction import LateInteractionReranker, max_sim
from toys import ToyEncoder
from toys_rerank import ToyTokenEncoder, make_passages

if TYPE_CHECKING:
    from pincite.protocols import Matrix


@lru_cache(maxsize=1)
def bundled() -> OnnxEncoder:
    return minilm(threads=1)


def test_by_hand() -> None:
    query = np.array([[1, 0], [0, 1]], dtype=np.float32)
    passage = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
    assert max_sim(query, passage) == pytest.approx(1.8)
    assert max_sim(passage, query) == pytest.approx(1.8)
    assert max_sim(query, passage[:1]) == 1.0
    assert max_sim(query, passage[:0]) == -2.0
    assert max_sim(query[:0], passage) == 0.0


def test_as_a_plain_einsum() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, d = (rng.normal(size=(rng.integers(1, 30), 24)).astype(np.float32) for _ in range(2))
        expected = np.einsum("qk,dk->qd", q.astype(np.float64), d.astype(np.float64)).max(axis=1).sum()
        assert max_sim(q, d) == pytest.approx(expected, rel=1e-5)


def test_the_hits_are_max_sim_of_what_is_read() -> None:
    encoder = ToyTokenEncoder()
    found = LateInteractionReranker(encoder).rerank("the lease", make_passages(["lease the", "no"], title="Harbour"))
    text = "Harbour\nlease the"
    expected = max_sim(encoder.query_tokens(["the lease"])[0], encoder.passage_tokens([text])[0])
    assert found.passages[0].hit.score == pytest.approx(expected)
    assert expected == pytest.approx(2.0)


def test_an_encoder_without_token_vectors_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="token vectors"):
        LateInteractionReranker(ToyEncoder())


class TestTokenVectors:
    """What the bundled encoder gives."""

    @pytest.fixture
    def encoder(self) -> OnnxEncoder:
        return bundled()

    def test_one_row_of_length_one_for_each_token_without_specials(self, encoder: OnnxEncoder) -> None:
        texts = ["The lease ends.", "", "naïve café 第三条"]
        for given in (encoder.query_tokens(texts), encoder.passage_tokens(texts)):
            assert [len(each) for each in given] == [len(encoder.tokenizer.spans(text)) for text in texts]
            assert [each.shape[1] for each in given] == [384] * 3
            for each in given:
                assert each.dtype == np.float32
                assert np.linalg.norm(each, axis=1) == pytest.approx(np.ones(len(each)), abs=1e-5)

    def test_they_pool_to_the_texts_vector(self, encoder: OnnxEncoder) -> None:
        """The mean of all token vectors, special ones too, is the text's: so the rows must be near it."""
        (tokens,) = encoder.passage_tokens(["The lease of the harbour ends in 1871."])
        whole = encoder.encode_passages(["The lease of the harbour ends in 1871."])[0]
        mean = tokens.mean(axis=0)
        assert mean @ whole / np.linalg.norm(mean) > 0.95

    def test_the_end_of_a_long_text_is_there(self, encoder: OnnxEncoder) -> None:
        long = "word " * 600 + "harbour"
        (tokens,) = encoder.passage_tokens([long])
        assert len(tokens) == len(encoder.tokenizer.spans(long)) == 601
        (query,) = encoder.query_tokens(["harbour"])
        assert (query @ tokens.T).argmax() == 600

    def test_order_and_batches_do_not_matter(self, encoder: OnnxEncoder) -> None:
        texts = ["a lease " * n for n in (1, 90, 2, 300, 0, 5)]
        together = encoder.passage_tokens(texts)
        for text, tokens in zip(texts, together, strict=True):
            np.testing.assert_allclose(tokens, encoder.passage_tokens([text])[0], atol=1e-4)

    def test_no_texts(self, encoder: OnnxEncoder) -> None:
        assert encoder.query_tokens([]) == []

    def test_a_pooled_model_says_so(self, encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
        def pooled(ids: Matrix, mask: Matrix) -> Matrix:
            assert len(ids) == len(mask)
            return np.zeros((len(ids), 384), dtype=np.float32)

        monkeypatch.setattr(encoder, "_forward", pooled)
        with pytest.raises(BackendError, match="no token vectors"):
            encoder.passage_tokens(["text"])
