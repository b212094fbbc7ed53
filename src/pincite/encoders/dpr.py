"""Dense Passage Retrieval: one BERT for questions and one for passages. Needs the ``transformers`` extra.

Karpukhin et al. 2020 (arXiv:2004.04906), section 3: a text's vector is that of its [CLS] token, and a passage p
answers a question q the better the larger the inner product of E_Q(q) and E_P(p) (equation 1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pincite.encoders.base import LocalEncoder
from pincite.encoders.folder import max_positions, model_folder, read_json
from pincite.encoders.transformer import load_model
from pincite.errors import BackendError, InputError, MissingExtraError
from pincite.protocols import EncoderIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.encoders.tokenizer import FastTokenizer
    from pincite.protocols import Matrix

__all__ = ["DprEncoder", "load_dpr"]

_Side = Literal["question", "passage"]
_CLASSES: dict[_Side, str] = {"question": "DPRQuestionEncoder", "passage": "DPRContextEncoder"}
#: Where the question encoder is in a checkpoint of the RAG classes; a bare RagModel has no ``rag.``
_IN_RAG = ("rag.question_encoder.", "question_encoder.")


class DprEncoder:
    """Two towers; see `pincite.protocols.Encoder`. Made by `load_dpr`; the weights are loaded at first use.

    **Vectors** are what transformers calls ``pooler_output``: the last layer at [CLS], through the projection if the
    checkpoint has one. They are not scaled, so the inner product of a question's vector and a passage's is the paper's
    score, and what a RAG checkpoint makes its p(z|x) of.

    **Searching** is by cosine, because the store scales every vector to length 1. A question's own length moves no
    passage before another, but a passage's does: the paper's score is the cosine times the passage's length (and the
    question's), so where lengths differ the order can differ from the paper's, and the scores of hits are cosines in
    [-1, 1]. Take the vectors from here where the inner product itself is needed.

    **Passages** were a title and a text in training: ``[CLS] title [SEP] text [SEP]``. Here a passage is one text,
    ``[CLS] text [SEP]``, and what is above it (a chunk's headings) stands in it as lines of their own. A caller who
    writes ``title [SEP] text`` gets the form of training exactly, since the tokenizer reads the separator and all of it
    is segment 0 there too.
    """

    def __init__(self, name: str, question: LocalEncoder, passage: LocalEncoder) -> None:
        if question.dimension != passage.dimension:
            raise InputError(
                f"{name} is no pair: the question model gives vectors of dimension {question.dimension}, the passage "
                f"model of {passage.dimension}"
            )
        self.name = name
        self.question = question
        self.passage = passage

    @property
    def tokenizer(self) -> FastTokenizer:
        """The passage tower's, which chunks are counted with."""
        return self.passage.tokenizer

    @property
    def max_tokens(self) -> int:
        """The most content tokens of one passage."""
        return self.passage.max_tokens

    @cached_property
    def identity(self) -> EncoderIdentity:
        """Hashes both weights at first use: another tower on either side is another encoder.

        That holds for a question tower that was trained against the same passage tower as well.
        """
        towers = f"question {self.question.identity.revision} passage {self.passage.identity.revision}"
        return EncoderIdentity(
            name=self.name,
            revision=hashlib.sha256(towers.encode()).hexdigest(),
            dimension=self.passage.dimension,
            pooling="cls",
            normalize=False,
            query_prefix=self.question.query_prefix,
            passage_prefix=self.passage.passage_prefix,
            max_tokens=self.passage.max_length,
        )

    def reads(self, text: str) -> float:
        """The share of the letters of `text` that the question tower's vocabulary knows, in [0, 1]."""
        return self.question.reads(text)

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """E_Q of each text, float32 (len(texts), dimension), not scaled."""
        return self.question.encode_queries(texts)

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        """E_P of each text, float32 (len(texts), dimension), not scaled. Text beyond `max_tokens` is cut."""
        return self.passage.encode_passages(texts)


def load_dpr(
    question_model: str,
    passage_model: str,
    *,
    query_prefix: str = "",
    passage_prefix: str = "",
    threads: int | None = None,
) -> DprEncoder:
    """The encoder of two model folders, or hub names; nothing is loaded yet.

    Parameters
        question_model: a ``DPRQuestionEncoder``, or a RAG checkpoint, whose question encoder is taken.
        passage_model: a ``DPRContextEncoder``. A RAG checkpoint holds none: it is the one its index was made with.
        query_prefix, passage_prefix: put before every text of that side; DPR was trained without.
        threads: threads for one pass; None lets torch use every core.

    Raises InputError for a folder that is not such a model, holds no safetensors or no tokenizer, and for two models
    whose vectors have different dimensions; MissingExtraError where torch or transformers is absent. What weights a
    checkpoint lacks is seen when it is loaded: BackendError.
    """
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise MissingExtraError("a DPR encoder", "transformers")
    name = f"dpr:{question_model},{passage_model}"
    question = _tower("question", question_model, query_prefix=query_prefix, threads=threads)
    passage = _tower("passage", passage_model, passage_prefix=passage_prefix, threads=threads)
    return DprEncoder(name, question, passage)


class _Tower(LocalEncoder):
    """One side, with its own tokenizer: the class of transformers of that name, or that part of a RAG checkpoint."""

    _model: Any = None

    def __init__(self, name: str, *, class_name: str, in_rag: bool, **settings: Any) -> None:
        super().__init__(name, pooling="cls", normalize=False, **settings)
        self.class_name = class_name
        self.in_rag = in_rag

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                _ = self.identity
                folder = self.model_path.parent
                parts = _rag_question_encoder(self.model_path) if self.in_rag else {}
                self._model = load_model(folder, self.class_name, threads=self.threads, **parts)
            return self._model

    def _forward(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Matrix:
        import torch

        model = self._load()
        with torch.inference_mode():
            output = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
        vectors: Matrix = output.pooler_output.float().numpy()
        return vectors


def _tower(side: _Side, path_or_name: str, **settings: Any) -> _Tower:
    folder = model_folder(path_or_name)
    config = read_json(folder / "config.json")
    in_rag = side == "question" and config.get("model_type") == "rag"
    if in_rag:
        stated = config.get("question_encoder")
        config = stated if isinstance(stated, dict) else {}
    else:
        _check_side(side, folder, config)
    dimension = _dimension(folder, config)
    _check_weights(folder)
    # A RAG checkpoint has a tokenizer for each of its two models.
    words = folder / "question_encoder_tokenizer" if in_rag else folder
    tokenizer = words / "tokenizer.json"
    if not tokenizer.is_file():
        maker, where = "RagTokenizer" if in_rag else "AutoTokenizer", str(folder)
        raise InputError(
            f"{words} has no tokenizer.json: make it once with transformers, "
            f"{maker}.from_pretrained({where!r}).save_pretrained({where!r})"
        )
    return _Tower(
        path_or_name,
        class_name=_CLASSES[side],
        in_rag=in_rag,
        model_path=folder / "model.safetensors",
        tokenizer_path=tokenizer,
        dimension=dimension,
        max_length=max_positions(words, config),
        **settings,
    )


def _check_side(side: _Side, folder: Path, config: dict[str, Any]) -> None:
    """By class: both sides have the same ``model_type``, which alone would load either as a question encoder."""
    named = config.get("architectures") or []
    if config.get("model_type") == "dpr" and named == [_CLASSES[side]]:
        return
    if named == [_CLASSES["passage" if side == "question" else "question"]]:
        hint = "the order is dpr:QUESTION_MODEL,PASSAGE_MODEL"
    elif config.get("model_type") == "rag":
        hint = "it holds no passage encoder; name the one that its index was made with"
    else:
        hint = "its config.json must name that class under architectures"
    found = f"{', '.join(map(str, named)) or 'of no stated class'} ({config.get('model_type')})"
    raise InputError(f"the {side} model of DPR must be a {_CLASSES[side]}, and {folder} is {found}: {hint}")


def _dimension(folder: Path, config: dict[str, Any]) -> int:
    if config.get("model_type") != "dpr":
        raise InputError(f"the question encoder of {folder} is {config.get('model_type')!r}, not dpr")
    for key in ("projection_dim", "hidden_size"):  # no projection is written as 0
        value = config.get(key)
        if isinstance(value, int) and value > 0:
            return value
    raise InputError(f"{folder} is not an encoder: its config.json names no hidden_size")


def _check_weights(folder: Path) -> None:
    if (folder / "model.safetensors").is_file():
        return
    pickled = sorted(each.name for each in folder.glob("*.bin"))
    found = f", only {', '.join(pickled)}, which is pickled: loading that runs what is in it" if pickled else ""
    raise InputError(
        f"{folder} has no model.safetensors{found}. Take a revision of the model that has one, or convert it once, in "
        "a place you trust: load it with the class of transformers that its config.json names under architectures, "
        "and write it with save_pretrained(FOLDER)"
    )


def _rag_question_encoder(file: Path) -> dict[str, Any]:
    """Configuration and weights of the question encoder in a RAG checkpoint; of the generator nothing is read."""
    # Of the extra, so not there for every check of types.
    from safetensors import SafetensorError, safe_open
    from transformers import DPRConfig

    stated = read_json(file.parent / "config.json")["question_encoder"]
    try:
        with safe_open(file, framework="pt") as weights:
            names = list(weights.keys())
            prefix = next((each for each in _IN_RAG if any(name.startswith(each) for name in names)), None)
            if prefix is None:
                raise BackendError(f"{file} holds no question encoder: it is not the checkpoint of a RAG model")
            state = {name.removeprefix(prefix): weights.get_tensor(name) for name in names if name.startswith(prefix)}
    except (OSError, SafetensorError) as error:
        raise BackendError(f"{file} cannot be read: {error}") from error
    return {"config": DPRConfig.from_dict(stated), "state_dict": state}
