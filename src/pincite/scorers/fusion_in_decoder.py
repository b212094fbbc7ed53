"""Fusion-in-Decoder: passages are encoded apart, and one decoder attends to all of them together.

Needs the ``transformers`` extra. Source: Izacard and Grave 2021 (arXiv:2007.01282), section 3 and figure 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pincite.scorers.encoder_decoder import DecoderReading, EncoderDecoder

if TYPE_CHECKING:
    from pincite.protocols import Context

__all__ = ["FusionInDecoderScorer"]


class FusionInDecoderScorer(EncoderDecoder):
    """An encoder-decoder model that reads all its contexts at once: a reading has one row, whatever the contexts.

    Fusion is within the network: there is no p(z|x), and no posterior, and the order of the contexts does not matter.
    The paper writes each context as ``question: … title: … context: …``. A model that was not trained so gives
    probabilities all the same; whether they mean anything is to be measured.
    """

    kind = "fid"

    def read(self, contexts: Sequence[Context]) -> DecoderReading:
        """Encode each context by itself and join their states along the tokens.

        What pads a context in the encoder's batch is left out rather than masked, which comes to the same, as
        attention from decoder to encoder knows no positions. Raises InputError for none, an empty one and one too
        long, BackendError when the model fails.
        """
        import torch

        loaded, states = self._encoded(contexts)
        return DecoderReading(loaded, [torch.cat(states)], self.max_rows)
