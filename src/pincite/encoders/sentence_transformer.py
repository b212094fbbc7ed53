"""Encoders in the folder layout of sentence-transformers: a local path, or a name on the model hub.

``modules.json`` lists the stages; a transformer, a pooling and optionally a normalisation are understood. An ONNX
file in the folder runs in ONNX Runtime; safetensors alone need the ``transformers`` extra.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.encoders.onnx import OnnxEncoder
from pincite.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pincite.encoders.base import Pooling
    from pincite.protocols import Encoder

__all__ = ["load_sentence_transformer"]

_ONNX_FILES = ("onnx/model.onnx", "model.onnx")


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
    folder = Path(path_or_name).expanduser()
    if not folder.is_dir():
        folder = _from_hub(path_or_name)
    config = _read(folder / "config.json")
    if not isinstance(config.get("hidden_size"), int):
        raise InputError(f"{folder} is not an encoder: its config.json names no hidden_size")
    pooling, normalize = _stages(folder)
    prompts = _read(folder / "config_sentence_transformers.json").get("prompts") or {}
    settings: dict[str, Any] = {
        "dimension": config["hidden_size"],
        "max_length": _max_length(folder, config),
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
    for candidate in _ONNX_FILES:
        if (folder / candidate).is_file():
            return OnnxEncoder(
                path_or_name,
                model_path=folder / candidate,
                tokenizer_path=tokenizer,
                threads=threads,
                **settings,
            )
    if not (folder / "model.safetensors").is_file():
        raise InputError(f"{folder} has neither {' nor '.join(_ONNX_FILES)} nor model.safetensors")
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


def _from_hub(name: str) -> Path:
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise InputError(f"there is no model folder {name!r}, and it is not a hub name of the form owner/model")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    wanted = ["*.json", "*/config.json", "model.safetensors", *_ONNX_FILES, *(f"{file}_data" for file in _ONNX_FILES)]
    try:
        # What is on this machine is used as it is: no question to the hub, and no other model by the same name.
        return Path(snapshot_download(name, allow_patterns=wanted, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError):
        pass
    try:
        return Path(snapshot_download(name, allow_patterns=wanted))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise InputError(
            f"the model {name!r} is neither a folder here nor to be had from the hub ({type(error).__name__}); "
            "give the path of a folder instead"
        ) from error


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} should hold an object")
    return value


def _max_length(folder: Path, config: dict[str, Any]) -> int:
    positions = int(config.get("max_position_embeddings", 512))
    # RoBERTa numbers positions from padding_idx + 1: two of its 514 cannot be used.
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert"):
        positions -= 2
    stated = _read(folder / "sentence_bert_config.json").get("max_seq_length")
    stated = stated or _read(folder / "tokenizer_config.json").get("model_max_length")
    return min(positions, int(stated)) if stated else positions


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
            pooling = _pooling(_read(folder / str(module.get("path", "")) / "config.json"), folder)
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
