"""The folder of a model in the Hugging Face layout: where it is, and what its JSON files say."""

from __future__ import annotations

import json
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
    """How many tokens one pass of the model takes, special tokens included."""
    positions = int(config.get("max_position_embeddings", 512))
    # RoBERTa numbers positions from padding_idx + 1: two of its 514 cannot be used.
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert"):
        positions -= 2
    stated = read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    stated = stated or read_json(folder / "tokenizer_config.json").get("model_max_length")
    return min(positions, int(stated)) if stated else positions
