"""Is the encoder the one an index was made with? Its stated identity is compared, and its vectors of a few texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pincite.errors import EncoderMismatchError

if TYPE_CHECKING:
    from pincite.protocols import Encoder, Matrix, Store

__all__ = ["PROBES", "check_identity", "check_probes", "probe_vectors"]

#: Encoded when an index is made and again when it is used: two encoders that differ on these are not the same.
PROBES = (
    "No person shall be deprived of life, liberty or property without due process of law.",
    "The tenant pays 1,250 euros on the third working day of each month.",
    "धारा 302 — murder; 第三条; naïve café 🙂",
)

#: Least cosine similarity between a probe's stored and new vector. Processors differ in the last bits, models in more.
_SAME = 0.999


def probe_vectors(encoder: Encoder) -> Matrix:
    """The encoder's vectors of `PROBES`, float32 (3, dimension)."""
    return encoder.encode_passages(PROBES)


_MEND = "Run `pincite reindex` to encode the documents anew, or set encoder.model to the encoder of the index."


def check_identity(store: Store, encoder: Encoder) -> None:
    """Raise EncoderMismatchError unless the index was made with this encoder. The name alone may differ."""
    stored, given = store.header.identity, encoder.identity
    if replace(stored, name="") == replace(given, name=""):
        return
    fields = ("revision", "dimension", "pooling", "normalize", "query_prefix", "passage_prefix", "max_tokens")
    differs = [
        f"{field} {_short(getattr(stored, field))} in the index, {_short(getattr(given, field))} here"
        for field in fields
        if getattr(stored, field) != getattr(given, field)
    ]
    raise EncoderMismatchError(
        f"this index was made with the encoder {stored.name}, not {given.name}: {'; '.join(differs)}. {_MEND}"
    )


def _short(value: object) -> str:
    return f"{value[:12]}…" if isinstance(value, str) and len(value) > 16 else repr(value)


def check_probes(store: Store, encoder: Encoder) -> None:
    """Raise EncoderMismatchError unless the encoder gives the probes the vectors that the index was made with."""
    import numpy as np

    stored = np.asarray(store.header.probes, dtype=np.float32)
    found = probe_vectors(encoder)
    lengths = np.linalg.norm(stored, axis=1) * np.linalg.norm(found, axis=1)
    cosines = (stored * found).sum(axis=1) / np.maximum(lengths, 1e-12)
    if cosines.min() < _SAME:
        raise EncoderMismatchError(
            f"the encoder {encoder.identity.name} no longer gives the vectors this index was made with "
            f"(cosine {cosines.min():.3f} on a probe sentence). {_MEND}"
        )
