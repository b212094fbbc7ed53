"""The folder of a model in the Hugging Face layout: where it is, and what its JSON files say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from pincite.errors import InputError

__all__ = ["ONNX_FILES", "max_positions", "model_folder", "read_json"]

ONNX_FILES = ("onnx/model.onnx", "model.onnx")


def model_folder(path_or_name: str) -> Path:
    """The folder at this path, or that of the hub model of this name (``owner/model``).

    A name is looked up in the hub's cache on this machine and fetched if it is not there. Raises InputError when
    there is neither.
    """
    folder = Path(path_or_name).expanduser()
    return folder if folder.is_dir() else _from_hub(path_or_name)


def _from_hub(name: str) -> Path:
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise InputError(f"there is no model folder {name!r}, and it is not a hub name of the form owner/model")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    wanted = ["*.json", "*/config.json", "model.safetensors", *ONNX_FILES, *(f"{file}_data" for file in ONNX_FILES)]
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


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where there is no file. Raises InputError for anything else."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} should hold an object")
    return value


def max_positions(folder: Path, config: dict[str, Any]) -> int:
    """How many tokens one pass of the model takes, special tokens included; 512 where nothing states it.

    Raises InputError for a statement that is not a number above 0.
    """
    positions = _number(folder / "config.json", "max_position_embeddings", config) or 512
    # RoBERTa numbers positions from padding_idx + 1: two of its 514 cannot be used.
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert"):
        positions -= 2
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        if stated := _number(folder / name, key, read_json(folder / name)):
            return min(positions, stated)
    return positions


def _number(file: Path, key: str, values: dict[str, Any]) -> int:
    """The number of that name; 0 where there is none or it is null."""
    value = values.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < math.inf:
        raise InputError(f"{file} states {key}: {value!r}, which is no number of tokens above 0")
    return int(value)
