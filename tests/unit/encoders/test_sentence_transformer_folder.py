"""Model folders in the layout of sentence-transformers, as they are found in the wild."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.encoders.folder import max_positions
from pincite.encoders.minilm import minilm
from pincite.encoders.onnx import OnnxEncoder
from pincite.encoders.sentence_transformer import load_sentence_transformer
from pincite.errors import InputError, MissingExtraError

TYPE = "sentence_transformers.models."


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The bundled model as a folder: transformer, mean pooling, normalisation; 128 positions."""
    good = minilm()
    folder = tmp_path / "a model"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").symlink_to(good.model_path)
    shutil.copy(good.tokenizer.path, folder / "tokenizer.json")
    write(folder / "config.json", {"hidden_size": 384, "max_position_embeddings": 512, "model_type": "bert"})
    write(folder / "sentence_bert_config.json", {"max_seq_length": 128})
    write(
        folder / "modules.json",
        [
            {"idx": 0, "name": "0", "path": "", "type": f"{TYPE}Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{TYPE}Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{TYPE}Normalize"},
        ],
    )
    write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True})
    return folder


def load(folder: Path, **options: Any) -> OnnxEncoder:
    encoder = load_sentence_transformer(str(folder), threads=1, **options)
    assert isinstance(encoder, OnnxEncoder)
    return encoder


def test_a_folder_gives_the_vectors_of_its_model(folder: Path) -> None:
    encoder = load(folder)
    assert (encoder.dimension, encoder.max_length, encoder.pooling, encoder.normalize) == (384, 128, "mean", True)
    texts = ["rent is due", "धारा 302"]
    np.testing.assert_allclose(encoder.encode_passages(texts), minilm(threads=1).encode_passages(texts), atol=1e-5)
    assert encoder.max_tokens == 126


def test_prompts_become_prefixes_and_arguments_win(folder: Path) -> None:
    config = folder / "config_sentence_transformers.json"
    write(config, {"prompts": {"query": "Represent this: ", "document": "doc: "}})
    assert (load(folder).query_prefix, load(folder).passage_prefix) == ("Represent this: ", "doc: ")
    write(config, {"prompts": {"query": "q: ", "passage": "p: ", "document": "d: "}})
    assert (load(folder).query_prefix, load(folder).passage_prefix) == ("q: ", "p: ")
    own = load(folder, query_prefix="", passage_prefix="x: ")
    assert (own.query_prefix, own.passage_prefix) == ("", "x: ")
    for nothing in ({}, {"prompts": None}, {"prompts": {}}, {"prompts": {"query": None, "document": None}}):
        write(config, nothing)
        assert (load(folder).query_prefix, load(folder).passage_prefix) == ("", "")


def test_how_many_positions(folder: Path) -> None:
    write(folder / "sentence_bert_config.json", {"max_seq_length": 9999})
    assert load(folder).max_length == 512
    write(folder / "sentence_bert_config.json", {"max_seq_length": None})
    assert load(folder).max_length == 512
    (folder / "sentence_bert_config.json").unlink()
    assert load(folder).max_length == 512
    write(folder / "tokenizer_config.json", {"model_max_length": 200})
    assert load(folder).max_length == 200
    write(folder / "tokenizer_config.json", {"model_max_length": 1000000000000000019884624838656})
    assert load(folder).max_length == 512
    # RoBERTa numbers positions from 2.
    write(folder / "config.json", {"hidden_size": 384, "max_position_embeddings": 514, "model_type": "xlm-roberta"})
    assert load(folder).max_length == 512


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_max_tokens": True}, "max"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": "mean", "include_prompt": True}, "mean"),
    ],
)
def test_pooling_modes(folder: Path, config: dict[str, object], expected: str) -> None:
    write(folder / "1_Pooling" / "config.json", config)
    assert load(folder).pooling == expected


@pytest.mark.parametrize(
    "config",
    [
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
        {"pooling_mode_weightedmean_tokens": True},
        {"pooling_mode": "lasttoken"},
        {},
    ],
)
def test_pooling_that_is_not_understood_is_refused(folder: Path, config: dict[str, object]) -> None:
    write(folder / "1_Pooling" / "config.json", config)
    with pytest.raises(InputError, match="pools by"):
        load(folder)


def test_stages(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", modules[:2])
    assert not load(folder).normalize
    write(folder / "modules.json", [*modules, {"idx": 3, "path": "3_Dense", "type": f"{TYPE}Dense"}])
    with pytest.raises(InputError, match="Dense"):
        load(folder)
    (folder / "modules.json").unlink()
    assert (load(folder).pooling, load(folder).normalize) == ("mean", True)
    for bad in ({"a": 1}, ["x"], "{", "7"):
        write(folder / "modules.json", bad)
        with pytest.raises(InputError, match=r"modules\.json"):
            load(folder)


def test_what_is_missing_is_named(folder: Path) -> None:
    (folder / "tokenizer.json").rename(folder / "elsewhere")
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        load(folder)
    (folder / "elsewhere").rename(folder / "tokenizer.json")
    (folder / "onnx" / "model.onnx").unlink()
    with pytest.raises(InputError, match=r"model\.safetensors"):
        load(folder)
    for config in ({}, {"hidden_size": "384"}, {"hidden_size": None}):
        write(folder / "config.json", config)
        with pytest.raises(InputError, match="hidden_size"):
            load(folder)
    write(folder / "config.json", "{")
    with pytest.raises(InputError, match=r"config\.json is not valid JSON"):
        load(folder)


def test_safetensors_alone_name_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "onnx" / "model.onnx").unlink()
    (folder / "model.safetensors").write_bytes(b"x")
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pincite\[transformers\]"):
        load(folder)


@pytest.mark.parametrize(
    "name", ["nothing", "../x", "a/b/c", "/no/such/folder", "~nobody/x", "a b/c d", "owner/", "a\0b/c"]
)
def test_a_name_that_is_neither_folder_nor_hub_name(name: str) -> None:
    with pytest.raises(InputError, match="folder"):
        load_sentence_transformer(name)


def test_a_hub_name_without_a_network_is_refused_quickly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    started = time.monotonic()
    with pytest.raises(InputError, match="give the path of a folder"):
        load_sentence_transformer("nobody/no-such-model")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("positions", "stated", "expected"),
    [(None, None, 512), (514, None, 514), (None, 128, 128), (512, 1e30, 512), (77, 0.5, None), ("512", None, None)],
)
def test_positions_that_are_null_are_not_stated_and_nonsense_is_refused(
    tmp_path: Path, positions: object, stated: object, expected: int | None
) -> None:
    write(tmp_path / "tokenizer_config.json", {"model_max_length": stated})
    if expected is None:
        with pytest.raises(InputError, match="no number of tokens"):
            max_positions(tmp_path, {"max_position_embeddings": positions})
    else:
        assert max_positions(tmp_path, {"max_position_embeddings": positions}) == expected
