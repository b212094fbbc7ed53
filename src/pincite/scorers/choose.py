"""Which scorer a model of transformers needs: its ``config.json`` says whether it has an encoder."""

from __future__ import annotations

from typing import Any

from pincite.scorers.base import need_transformers, stated_config
from pincite.scorers.causal import CausalScorer
from pincite.scorers.seq2seq import Seq2SeqScorer

__all__ = ["choose_scorer"]


def choose_scorer(path_or_name: str, **settings: Any) -> CausalScorer | Seq2SeqScorer:
    """`Seq2SeqScorer` for an encoder-decoder model or a RAG checkpoint, else `CausalScorer`, with `settings`.

    Of a hub model that is not on this machine only the configuration is fetched; the rest at first use.
    Raises InputError where there is no such model, MissingExtraError without the ``transformers`` extra.
    """
    need_transformers()
    config = stated_config(path_or_name)
    encodes = config.get("is_encoder_decoder") is True or config.get("model_type") in ("rag", "t5", "bart")
    return (Seq2SeqScorer if encodes else CausalScorer)(path_or_name, **settings)
