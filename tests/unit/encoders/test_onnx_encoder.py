"""The bundled model: that it is the one that is meant, and what is said when it is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.encoders.minilm import minilm
from pincite.encoders.onnx import OnnxEncoder
from pincite.encoders.tokenizer import FastTokenizer
from pincite.errors import BackendError, InputError


def model(**changes: Any) -> OnnxEncoder:
    good = minilm()
    settings: dict[str, Any] = {
        "model_path": good.model_path,
        "tokenizer_path": good.tokenizer.path,
        "dimension": 384,
        "max_length": 256,
        "threads": 1,
    }
    return OnnxEncoder("m", **{**settings, **changes})


def test_the_identity_of_the_bundled_model() -> None:
    identity = minilm().identity
    assert identity.name == "all-MiniLM-L6-v2"
    assert (identity.dimension, identity.pooling, identity.normalize, identity.max_tokens) == (384, "mean", True, 256)
    assert (identity.query_prefix, identity.passage_prefix) == ("", "")
    assert len(identity.revision) == 64
    assert minilm().max_tokens == 254  # two positions are the special tokens'


def test_making_an_encoder_reads_nothing(tmp_path: Path) -> None:
    encoder = model(model_path=tmp_path / "no.onnx", tokenizer_path=tmp_path / "no.json")
    with pytest.raises(InputError, match=r"no\.onnx"):
        _ = encoder.identity
    with pytest.raises(InputError, match=r"no\.json"):
        encoder.encode_queries(["x"])
    with pytest.raises(InputError, match=r"no\.json"):
        _ = encoder.max_tokens


def test_neither_onnxruntime_nor_tokenizers_is_loaded_before_first_use() -> None:
    code = (
        "import sys; from pincite.encoders.minilm import minilm; minilm(); "
        "sys.exit(bool({'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_another_file_than_the_one_meant_is_refused_before_it_is_run(tmp_path: Path) -> None:
    good = minilm()
    data = bytearray(good.model_path.read_bytes())
    data[len(data) // 2] ^= 1
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    encoder = model(model_path=path, sha256=good.sha256)
    for use in (lambda: encoder.identity, lambda: encoder.encode_passages(["x"])):
        with pytest.raises(InputError, match="SHA-256"):
            use()


@pytest.mark.parametrize("content", [b"", b"not onnx", b"\x00" * 4096])
def test_a_file_that_is_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(BackendError, match=r"model\.onnx"):
        model(model_path=path).encode_queries(["x"])


def test_a_file_that_is_no_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for content in ("", "{}", "not json"):
        path.write_text(content)
        with pytest.raises(InputError, match=r"tokenizer\.json"):
            model(tokenizer_path=path).encode_queries(["x"])


def test_a_dimension_that_is_not_the_models() -> None:
    with pytest.raises(BackendError, match="384"):
        model(dimension=768).encode_queries(["x"])


def test_more_positions_than_the_model_has() -> None:
    """BERT has 512: what goes wrong inside the runtime has our name and the file's."""
    with pytest.raises(BackendError, match="cannot run"):
        model(max_length=600).encode_queries(["word " * 700])


def test_prefixes_are_put_before_their_side_and_counted() -> None:
    plain, prefixed = model(), model(query_prefix="query: ", passage_prefix="passage: ")
    np.testing.assert_allclose(prefixed.encode_queries(["rent"]), plain.encode_queries(["query: rent"]), atol=1e-6)
    np.testing.assert_allclose(prefixed.encode_passages(["rent"]), plain.encode_passages(["passage: rent"]), atol=1e-6)
    assert plain.max_tokens - prefixed.max_tokens == 2  # "passage", ":"
    assert prefixed.identity != plain.identity


def test_without_scaling_the_direction_is_the_same() -> None:
    raw = model(normalize=False).encode_queries(["rent", "a longer text about rent"])
    unit = model().encode_queries(["rent", "a longer text about rent"])
    assert not np.allclose(np.linalg.norm(raw, axis=1), 1, atol=0.05)
    np.testing.assert_allclose(raw / np.linalg.norm(raw, axis=1, keepdims=True), unit, atol=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "max"])
def test_pooling_is_used_and_is_part_of_the_identity(pooling: str) -> None:
    other = model(pooling=pooling)
    assert other.identity.pooling == pooling
    assert not np.allclose(other.encode_queries(["rent is due"]), model().encode_queries(["rent is due"]), atol=0.01)


def test_truncation_and_padding_of_the_file_are_off() -> None:
    """The file asks for truncation at 128 and for padding; chunkers must see every token."""
    tokenizer = FastTokenizer(minilm().tokenizer.path, max_length=8)
    assert len(tokenizer.spans("word " * 1000)) == 1000
    assert len(tokenizer.spans("word")) == 1
    short, long = tokenizer.encode(["word", "word " * 1000])
    assert (len(short.ids), len(long.ids)) == (3, 8)
    assert tokenizer.special_tokens() == 2
