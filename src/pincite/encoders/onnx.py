"""Encoders that run in ONNX Runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pincite.encoders.base import LocalEncoder
from pincite.errors import BackendError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

    from pincite.protocols import Matrix

__all__ = ["OnnxEncoder", "open_session"]


def open_session(model_path: Path, threads: int | None) -> InferenceSession:
    """An ONNX Runtime session on the CPU; `threads` of None uses every core. Raises BackendError for a bad file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if threads is not None:
        options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin between the steps of a pass make it a fifth faster; spinning on after it, they would
    # take the cores from the search that follows.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        return onnxruntime.InferenceSession(str(model_path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime raises many unrelated types for a bad file
        raise BackendError(f"ONNX Runtime cannot load {model_path}: {error}") from error


class OnnxEncoder(LocalEncoder):
    """An ``.onnx`` file, on the CPU.

    The graph takes ``input_ids`` and ``attention_mask``, and ``token_type_ids`` if it has that input; its first output
    holds token vectors (batch, length, dimension) or pooled ones (batch, dimension).
    """

    _session: InferenceSession | None = None

    def _load(self) -> InferenceSession:
        with self._lock:
            if self._session is None:
                _ = self.identity  # the hash is checked before anything of the file is run
                self._session = open_session(self.model_path, self.threads)
            return self._session

    def _forward(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Matrix:
        session = self._load()
        feed = {"input_ids": ids, "attention_mask": mask}
        if any(node.name == "token_type_ids" for node in session.get_inputs()):
            feed["token_type_ids"] = np.zeros_like(ids)
        try:
            output: Matrix = session.run(None, feed)[0]
        except Exception as error:  # as above
            raise BackendError(f"ONNX Runtime cannot run {self.model_path}: {error}") from error
        return output
