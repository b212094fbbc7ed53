"""Models that read two texts in one pass and classify them: what rerankers and checkers of support share.

Any sequence-classification model in the Hugging Face layout: an ONNX file runs in ONNX Runtime, safetensors alone need
the ``transformers`` extra.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pincite.encoders.folder import ONNX_FILES, model_folder, read_json
from pincite.encoders.onnx import open_session
from pincite.errors import BackendError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

    from pincite.protocols import Matrix

    Ids: TypeAlias = NDArray[np.int64]
    Model: TypeAlias = Callable[[Ids, Ids, Ids], Matrix]

__all__ = ["classifier_folder", "clean", "load_classifier", "load_tokenizer", "logistic", "pair_logits", "weights_file"]


def classifier_folder(path_or_name: str, kind: str) -> tuple[Path, dict[str, Any]]:
    """The folder of a sequence-classification model and its configuration. `kind` is what errors call the model.

    Raises InputError where there is no such folder, it holds another kind of model, or has no tokenizer.
    """
    folder = model_folder(path_or_name)
    config = read_json(folder / "config.json")
    if not config:
        raise InputError(f"{folder} is not a model: it has no config.json")
    kinds = config.get("architectures") or []
    if kinds and not any(str(each).endswith("ForSequenceClassification") for each in kinds):
        raise InputError(f"{folder} holds {', '.join(map(str, kinds))}, not {kind} (…ForSequenceClassification)")
    if not (folder / "tokenizer.json").is_file():
        raise InputError(f"{folder} has no tokenizer.json")
    return folder, config


def weights_file(folder: Path) -> Path:
    """The ONNX file of a model if there is one, else its safetensors. Raises InputError where there is neither."""
    for name in (*ONNX_FILES, "model.safetensors"):
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder} has neither {' nor '.join(ONNX_FILES)} nor model.safetensors")


def load_tokenizer(path: Path) -> Tokenizer:
    """One that neither cuts nor pads. Raises InputError for a bad file."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no type of its own
        raise InputError(f"{path} is not a tokenizer: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def load_classifier(path: Path, threads: int | None, kind: str) -> Model:
    """Gives logits (batch, labels) for ids, mask and types (batch, length). Raises BackendError for bad weights."""
    return _onnx_model(path, threads) if path.suffix == ".onnx" else _torch_model(path.parent, threads, kind)


def pair_logits(model: Model, windows: Sequence[Encoding], *, pad: int, budget: int) -> Matrix:
    """Logits of every pair, float32 (len(windows), labels), in the order given.

    Computed longest first in batches of like length, of at most `budget` tokens. Raises BackendError for a model that
    gives anything but a row of logits for each.
    """
    order = sorted(range(len(windows)), key=lambda i: -len(windows[i].ids))
    parts: list[Matrix] = []
    start = 0
    while start < len(order):
        length = len(windows[order[start]].ids)
        rows = order[start : start + max(1, budget // length)]
        start += len(rows)
        ids = np.full((len(rows), length), pad, dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, i in enumerate(rows):
            window = windows[i]
            ids[row, : len(window.ids)] = window.ids
            mask[row, : len(window.ids)] = 1
            types[row, : len(window.ids)] = window.type_ids
        logits = model(ids, mask, types)
        if logits.ndim != 2 or logits.shape[0] != len(rows):
            raise BackendError(f"the model gave scores of shape {logits.shape} for {len(rows)} pairs")
        parts.append(logits)
    logits = np.concatenate(parts)
    given: Matrix = np.empty_like(logits)
    given[order] = logits
    return given


def logistic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(values))
    found: NDArray[np.float64] = np.where(values >= 0, 1, small) / (1 + small)
    return found


def clean(text: str) -> str:
    """A question mark for each lone surrogate, which is no text and which the tokenizer refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _onnx_model(path: Path, threads: int | None) -> Model:
    session = open_session(path, threads)
    takes = {node.name for node in session.get_inputs()}

    def run(ids: Ids, mask: Ids, types: Ids) -> Matrix:
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        try:
            logits: Matrix = session.run(None, {name: value for name, value in feed.items() if name in takes})[0]
        except Exception as error:  # the runtime raises many unrelated types
            raise BackendError(f"ONNX Runtime cannot run {path}: {error}") from error
        return logits.astype(np.float32)

    return run


def _torch_model(folder: Path, threads: int | None, kind: str) -> Model:
    import inspect

    import torch
    from transformers import AutoModelForSequenceClassification

    if threads is not None:
        torch.set_num_threads(threads)
    try:
        model, report = AutoModelForSequenceClassification.from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
        )
    except Exception as error:  # the libraries below raise many unrelated types for a bad file
        raise BackendError(f"transformers cannot load {folder}: {error}") from error
    if missing := sorted(report["missing_keys"]):
        # They would be drawn at random, and the scores with them.
        raise BackendError(f"{folder} lacks weights of {kind}: {', '.join(missing[:5])}")
    model.eval()
    typed = "token_type_ids" in inspect.signature(model.forward).parameters
    typed = typed and int(getattr(model.config, "type_vocab_size", 2)) > 1

    def run(ids: Ids, mask: Ids, types: Ids) -> Matrix:
        feed: dict[str, Any] = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        if typed:
            feed["token_type_ids"] = torch.from_numpy(types)
        try:
            with torch.inference_mode():
                logits: Matrix = model(**feed).logits.float().numpy()
        except (RuntimeError, ValueError, IndexError) as error:
            raise BackendError(f"transformers cannot run {folder}: {error}") from error
        return logits

    return run
