"""Cross-encoders: one pass of a model over the query and a passage together gives their relevance.

Nogueira and Cho 2019, "Passage Re-ranking with BERT", section 3. Any sequence-classification model in the Hugging Face
layout: an ONNX file runs in ONNX Runtime, safetensors alone need the ``transformers`` extra.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pincite.encoders.batching import BATCH_TOKENS
from pincite.encoders.folder import max_positions, read_json
from pincite.encoders.pairs import (
    classifier_folder,
    clean,
    load_classifier,
    load_tokenizer,
    logistic,
    pair_logits,
    weights_file,
)
from pincite.errors import BackendError, InputError, MissingExtraError
from pincite.protocols import Reranked
from pincite.rerankers.ordering import check_budget, passage_text, rerank_in_batches

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

    from pincite.encoders.pairs import Model
    from pincite.protocols import Matrix
    from pincite.types import Passage

__all__ = ["CrossEncoderReranker"]

#: A query may take this share of the positions at most; the rest is the passage's.
_QUERY_SHARE = 0.75
#: Neighbouring windows of a long passage have this share of the positions in common. Less than what the query leaves.
_OVERLAP_SHARE = 0.125


class CrossEncoderReranker:
    """A sequence-classification model with one label, or with two of which the second is "relevant".

    Parameters
    ----------
    path_or_name
        A model folder (``config.json``, ``tokenizer.json``, and ``onnx/model.onnx``, ``model.onnx`` or
        ``model.safetensors``), or a hub name such as ``cross-encoder/ms-marco-MiniLM-L6-v2``.
    depth, batch, seconds, weight
        See `pincite.rerankers.ordering.rerank_in_batches`.
    threads
        Threads for one pass; None lets the runtime use every core.

    The score of a model with one label is its logit, through the activation that the model's configuration states
    (``Sigmoid``, which is also meant where none is stated, or ``Identity``), as ``sentence_transformers.CrossEncoder``
    has it; with two labels the probability of label 1. A passage that does not fit the model's positions is read in
    overlapping windows, each with the whole query, and the highest of their scores is its own. A query is cut, with a
    note, where it would leave a passage less than a quarter of the positions.

    What can be known without running the model is checked here: raises InputError when there is no such folder, it is
    no model of this kind, or a file is missing, and MissingExtraError when it needs torch and torch is not installed.
    The weights are loaded at first use, or by `load`. Any thread may use it.
    """

    def __init__(
        self,
        path_or_name: str,
        *,
        depth: int = 50,
        batch: int = 16,
        seconds: float | None = None,
        weight: float = 1.0,
        threads: int | None = None,
    ) -> None:
        check_budget(depth, batch, seconds, weight)
        self.path_or_name = path_or_name
        self.batch = batch
        self.seconds = seconds
        self.weight = weight
        self.threads = threads
        self._depth = depth
        folder, config = classifier_folder(path_or_name, "a cross-encoder")
        labels = len(config.get("id2label") or "..")
        if labels > 2:
            raise InputError(f"{folder} tells {labels} classes apart; a cross-encoder has one label, or two")
        self._sigmoid = _states_sigmoid(folder, config)
        self._pad = int(config.get("pad_token_id") or 0)
        self._max_length = max_positions(folder, config)
        self._tokenizer_path = folder / "tokenizer.json"
        self._model_path = weights_file(folder)
        if self._model_path.suffix != ".onnx" and not (find_spec("torch") and find_spec("transformers")):
            raise MissingExtraError(f"the safetensors model {path_or_name}", "transformers")
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def name(self) -> str:
        """``cross-encoder:`` and the last part of the model's path or name."""
        return f"cross-encoder:{Path(self.path_or_name).expanduser().name or self.path_or_name}"

    @property
    def depth(self) -> int:
        """How many passages are scored."""
        return self._depth

    @property
    def max_length(self) -> int:
        """Positions of one pass: query, passage and special tokens."""
        return self._max_length

    def load(self) -> None:
        """Load the weights now. Raises InputError for a bad tokenizer and BackendError for bad weights."""
        self._load()

    def close(self) -> None:
        """Free the model; a later query loads it again. Idempotent."""
        with self._lock:
            self._loaded = None

    def rerank(self, query: str, passages: Sequence[Passage]) -> Reranked:
        """See `pincite.protocols.Reranker.rerank`. Raises InputError for a bad tokenizer."""
        if not passages:
            return Reranked([])
        _, cut = self._fit(query)
        found = rerank_in_batches(
            self.name,
            passages,
            lambda some: self.scores(query, [passage_text(passage) for passage in some]),
            depth=self.depth,
            batch=self.batch,
            seconds=self.seconds,
            weight=self.weight,
        )
        return Reranked(found.passages, (f"{self.name}: {cut}", *found.notes) if cut else found.notes)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The relevance of each text, in the order given; of a long text the highest of its windows'."""
        loaded = self._load()
        asked, _ = self._fit(query)
        windows: list[Encoding] = []
        owners: list[int] = []
        for owner, whole in enumerate(loaded.windowing.encode_batch([(asked, clean(text)) for text in texts])):
            for window in (whole, *whole.overflowing):
                windows.append(window)
                owners.append(owner)
        best = np.full(len(texts), -np.inf)
        # numpy's maximum hands a NaN on: it says that the model is broken, and must not be hidden by a better window.
        with np.errstate(invalid="ignore"):
            np.maximum.at(best, owners, self._relevance(self._logits(loaded.model, windows)))
        return [float(score) for score in best]

    def _fit(self, query: str) -> tuple[str, str]:
        """The query as it is read, and what was cut of it, in words."""
        counting = self._load().counting
        query = clean(query)
        limit = max(1, int((self._max_length - counting.num_special_tokens_to_add(True)) * _QUERY_SHARE))
        spans = counting.encode(query, add_special_tokens=False).offsets
        if len(spans) <= limit:
            return query, ""
        return query[: spans[limit - 1][1]], f"only the first {limit} of the query's {len(spans)} tokens are read"

    def _logits(self, model: Model, windows: Sequence[Encoding]) -> Matrix:
        """Logits of every window, float32 (len(windows), labels)."""
        logits = pair_logits(model, windows, pad=self._pad, budget=BATCH_TOKENS)
        if logits.shape[1] not in (1, 2):
            raise BackendError(
                f"{self.name} gave scores of shape {logits.shape} for {len(windows)} pairs; "
                "a cross-encoder gives one or two for each"
            )
        return logits

    def _relevance(self, logits: Matrix) -> NDArray[np.float64]:
        wide = logits.astype(np.float64)  # where float32 would make 1 of every good score, and ties of an order
        if wide.shape[1] == 2:
            return logistic(wide[:, 1] - wide[:, 0])
        return logistic(wide[:, 0]) if self._sigmoid else wide[:, 0]

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                windowing = load_tokenizer(self._tokenizer_path)
                windowing.enable_truncation(
                    self._max_length, stride=int(self._max_length * _OVERLAP_SHARE), strategy="only_second"
                )
                model = load_classifier(self._model_path, self.threads, "a cross-encoder")
                self._loaded = _Loaded(load_tokenizer(self._tokenizer_path), windowing, model)
            return self._loaded


class _Loaded(NamedTuple):
    counting: Tokenizer  # cuts nothing
    windowing: Tokenizer
    model: Model


def _states_sigmoid(folder: Path, config: dict[str, Any]) -> bool:
    """Whether a lone logit goes through the logistic function: what the configuration states, else yes."""
    newer = read_json(folder / "config_sentence_transformers.json").get("activation_fn")
    section = config.get("sentence_transformers")
    older = section.get("activation_fn") if isinstance(section, dict) else None
    stated = newer or older or config.get("sbert_ce_default_activation_function") or "Sigmoid"
    kind = str(stated).rsplit(".", 1)[-1]
    if kind not in ("Sigmoid", "Identity"):
        raise InputError(f"{folder} states the activation {stated}, which is not supported (Sigmoid and Identity are)")
    return kind == "Sigmoid"
