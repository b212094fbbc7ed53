"""Encoders that run in torch, for models published as safetensors only. Needs the ``transformers`` extra."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.encoders.base import LocalEncoder
from pincite.encoders.folder import read_json
from pincite.errors import BackendError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.protocols import Matrix

__all__ = ["TransformerEncoder", "load_model"]


class TransformerEncoder(LocalEncoder):
    """A ``model.safetensors`` beside its ``config.json``, read by ``transformers.AutoModel``, on the CPU in float32.

    Raises BackendError at first use for a folder that lacks weights of its model, which would be random, and for one
    tower of DPR, which is named with the other: see `pincite.encoders.dpr`.
    """

    _model: Any = None

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                _ = self.identity
                folder = self.model_path.parent
                if read_json(folder / "config.json").get("model_type") == "dpr":
                    raise BackendError(
                        f"{folder} is one tower of DPR, which encodes questions and passages with a model each: "
                        "set encoder.model to dpr:QUESTION_MODEL,PASSAGE_MODEL"
                    )
                # Many checkpoints come without BERT's pooler, whose output is not read here.
                self._model = load_model(folder, "AutoModel", threads=self.threads, unread=("pooler.",))
            return self._model

    def _forward(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Matrix:
        import torch

        model = self._load()
        with torch.inference_mode():
            output = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
        vectors: Matrix = output.last_hidden_state.float().numpy()
        return vectors


def load_model(
    folder: Path, class_name: str, *, threads: int | None, unread: tuple[str, ...] = (), **parts: Any
) -> Any:
    """The model in `folder` as the class of transformers of that name: on the CPU, in float32, in evaluation mode.

    From safetensors only, and never with code of the folder's own. Raises BackendError when it cannot be loaded, and
    when the checkpoint lacks weights of that class, because they would be random; those whose names begin with one of
    `unread` may be absent. `parts`: ``config`` and ``state_dict`` of a model that is only a part of the checkpoint.
    """
    import torch
    import transformers

    if threads is not None:
        torch.set_num_threads(threads)
    try:
        model, report = getattr(transformers, class_name).from_pretrained(
            None if parts else str(folder),
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
            **parts,
        )
        model = model.eval()
    except Exception as error:  # the libraries below raise many unrelated types for a bad file
        raise BackendError(f"transformers cannot load {folder}: {error}") from error
    if missing := sorted(name for name in map(str, report["missing_keys"]) if not name.startswith(unread)):
        shown = ", ".join(missing[:3]) + (" …" if len(missing) > 3 else "")
        raise BackendError(
            f"{folder} lacks {len(missing)} weights of a {type(model).__name__} ({shown}): it is another model, or "
            "damaged. They would be random, and so would be what is found"
        )
    return model
