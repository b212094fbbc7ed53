"""Encoders in the folder layout of sentence-transformers: a local path, or a name on the model hub.

``modules.json`` lists the stages; a transformer, a pooling and optionally a normalisation are understood. An ONNX
file in the folder runs in ONNX Runtime; safetensors alone need the ``transformers`` extra.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.encoders.folder import ONNX_FILES, max_positions, model_folder, read_json
from pincite.encoders.onnx import OnnxEncoder
from pincite.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pincite.encoders.base import Pooling
    from pincite.protocols import Encoder

__all__ = ["load_sentence_transformer"]


def load_sentence_transformer(
    path_or_name: str,
    *,
    query_prefix: str | None = None,
    passage_prefix: str | None = None,
    threads: int | None = None,
) -> Encoder:
    """An encoder from a model folder, or from a hub name such as ``BAAI/bge-small-en-v1.5``.

    A folder is preferred; a name is looked up in the hub's cache on this machine and fetched if it is not there.
    Prefixes given here win over the folder's own ``prompts``. Raises InputError when the folder is not a model of this
    kind, and MissingExtraError when it holds only safetensors and torch is not installed.
    """
    folder = model_folder(path_or_name)
    config = read_json(folder / "config.json")
    if not isinstance(config.get("hidden_size"), int):
        raise InputError(f"{folder} is not an encoder: its config.json names no hidden_size")
    pooling, normalize = _stages(folder)
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    settings: dict[str, Any] = {
        "dimension": config["hidden_size"],
        "max_length": max_positions(folder, config),
        "pooling": pooling,
        "normalize": normalize,
        "query_prefix": (prompts.get("query") or "") if query_prefix is None else query_prefix,
        "passage_prefix": (prompts.get("passage") or prompts.get("document") or "")
        if passage_prefix is None
        else passage_prefix,
    }
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise InputError(f"{folder} has no tokenizer.json")
    for candidate in ONNX_FILES:
        if (folder / candidate).is_file():
            return OnnxEncoder(
                path_or_name,
                model_path=folder / candidate,
                tokenizer_path=tokenizer,
                threads=threads,
                **settings,
            )
    if not (folder / "model.safetensors").is_file():
        raise InputError(f"{folder} has neither {' nor '.join(ONNX_FILES)} nor model.safetensors")
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"the safetensors model {path_or_name}", "transformers") from error
    from pincite.encoders.transformer import TransformerEncoder

    return TransformerEncoder(
        path_or_name,
        model_path=folder / "model.safetensors",
        tokenizer_path=tokenizer,
        threads=threads,
        **settings,
    )


def _stages(folder: Path) -> tuple[Pooling, bool]:
    path = folder / "modules.json"
    if not path.is_file():
        return "mean", True
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise InputError(f"{path} should hold a list of stages")
    pooling: Pooling = "mean"
    normalize = False
    for module in modules:
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        if kind == "Pooling":
            pooling = _pooling(read_json(folder / str(module.get("path", "")) / "config.json"), folder)
        elif kind == "Normalize":
            normalize = True
        elif kind != "Transformer":
            raise InputError(
                f"{folder} has a stage {kind!r}, which is not supported (Transformer, Pooling, Normalize are)"
            )
    return pooling, normalize


def _pooling(config: dict[str, Any], folder: Path) -> Pooling:
    modes = {
        "pooling_mode_mean_tokens": "mean",
        "pooling_mode_cls_token": "cls",
        "pooling_mode_max_tokens": "max",
    }
    stated = config.get("pooling_mode")
    chosen = (
        [stated] if stated else [name for name, value in config.items() if name.startswith("pooling_mode_") and value]
    )
    names = [modes.get(name, name) for name in chosen]
    match names:
        case ["mean"]:
            return "mean"
        case ["cls"]:
            return "cls"
        case ["max"]:
            return "max"
        case _:
            raise InputError(f"{folder} pools by {names}, which is not supported (mean, cls and max are)")
