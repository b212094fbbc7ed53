"""Encoders that run in torch, for models published as safetensors only. Needs the ``transformers`` extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pincite.encoders.base import LocalEncoder
from pincite.errors import BackendError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.protocols import Matrix

__all__ = ["TransformerEncoder"]


class TransformerEncoder(LocalEncoder):
    """A ``model.safetensors`` beside its ``config.json``, read by ``transformers.AutoModel``, on the CPU in float32."""

    _model: Any = None

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                _ = self.identity
                import torch
                from transformers import AutoModel

                if self.threads is not None:
                    torch.set_num_threads(self.threads)
                try:
                    self._model = AutoModel.from_pretrained(
                        str(self.model_path.parent),
                        local_files_only=True,
                        use_safetensors=True,
                        dtype=torch.float32,
                    ).eval()
                except Exception as error:  # the libraries below raise many unrelated types for a bad file
                    raise BackendError(f"transformers cannot load {self.model_path.parent}: {error}") from error
            return self._model

    def _forward(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Matrix:
        import torch

        model = self._load()
        with torch.inference_mode():
            output = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
        vectors: Matrix = output.last_hidden_state.float().numpy()
        return vectors
