"""Encoder-decoder models of transformers (T5, BART): one encoding, and one row of the decoder, for each context.

Needs the ``transformers`` extra.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pincite.scorers.encoder_decoder import DecoderReading, EncoderDecoder

if TYPE_CHECKING:
    from pincite.protocols import Context

__all__ = ["Seq2SeqScorer"]


class Seq2SeqScorer(EncoderDecoder):
    """An encoder-decoder model as a `TokenScorer`: the generator of Lewis et al. 2020, section 2.3.

    Takes RAG checkpoints too (see `EncoderDecoder`); `pincite.scorers.rag_checkpoint` has the form of their contexts.
    """

    def read(self, contexts: Sequence[Context]) -> DecoderReading:
        """Encode the contexts, each by itself, padded and masked in batches.

        Raises InputError for none, an empty one and one too long, BackendError when the model fails.
        """
        loaded, states = self._encoded(contexts)
        return DecoderReading(loaded, states, self.max_rows)
