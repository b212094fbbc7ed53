"""Does a source say it? A natural-language-inference model reads both: entailed, neutral or contradicted.

Sentence-level premises with the maximum over them: Laban et al. 2022, "SummaC: Re-Visiting NLI-based Models for
Inconsistency Detection in Summarization", section 4 (SummaC-ZS); here also runs of two and as many sentences as the
model takes. Checkers of one logit or two classes (MiniCheck, Tang et al. 2024; HHEM) are read the same way.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pincite.encoders.batching import BATCH_TOKENS
from pincite.encoders.folder import max_positions
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
from pincite.support.sentences import MOST_DENIED, Sentences, numbers_missing, scaled, settled
from pincite.types import Support

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

    from pincite.encoders.pairs import Model

__all__ = ["Labels", "NliSupport", "read_labels"]

#: A statement may take this share of the positions at most; the rest is the source's.
_STATEMENT_SHARE = 0.5
#: Neighbouring windows of a sentence that is too long share this part of the positions.
_OVERLAP_SHARE = 0.125
_NAMES = ("entail", "support", "consistent", "factual", "faithful", "attributable", "true", "yes")
_DENIES = ("not", "non", "no_", "no-", "un", "in", "contra", "hallucinat")


@dataclass(frozen=True, slots=True)
class Labels:
    """Which of a model's outputs says what."""

    count: int
    entailment: int
    contradiction: int | None = None  #: None where the model does not tell it from "does not say"

    def probabilities(self, logits: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of entailment and of contradiction, for logits (n, count); zeros where contradiction is not told apart."""
        if self.count == 1:
            return logistic(logits[:, 0]), np.zeros(len(logits))
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = exponentials / exponentials.sum(axis=1, keepdims=True)
        against = np.zeros(len(logits)) if self.contradiction is None else shares[:, self.contradiction]
        return shares[:, self.entailment], against


def read_labels(id2label: Mapping[object, object] | None, where: str = "the model") -> Labels:
    """What the configuration's ``id2label`` says of the outputs.

    One output is a logit of support. Of two without names the second is support, as checkers are trained. Of three or
    more one must be named for entailment. Raises InputError where that cannot be told.
    """
    if not id2label:
        return Labels(2, 1)  # what the layout means where nothing is stated
    names = {int(str(key)): str(value).casefold() for key, value in id2label.items()}
    if sorted(names) != list(range(len(names))):
        raise InputError(f"{where} numbers its labels {', '.join(map(str, sorted(names)))}, not from 0")
    if len(names) == 1:
        return Labels(1, 0)
    held = [i for i, name in names.items() if any(each in name for each in _NAMES) and not name.startswith(_DENIES)]
    against = [i for i, name in names.items() if name.startswith(("contra", "refut"))]
    if len(held) == 1:
        return Labels(len(names), held[0], against[0] if len(names) > 2 and against else None)
    if len(names) == 2 and all(name.removeprefix("label_") in ("0", "1") for name in names.values()):
        return Labels(2, 1)
    raise InputError(
        f"{where} does not say which of its labels is entailment ({', '.join(names.values())}): "
        "name one so in id2label of its config.json"
    )


class NliSupport:
    """A sequence-classification model that has learnt whether a text follows from another.

    Parameters
        path_or_name: a model folder (``config.json``, ``tokenizer.json``, and ``onnx/model.onnx``, ``model.onnx`` or
            ``model.safetensors``), or a hub name such as ``cross-encoder/nli-deberta-v3-small``.
        threshold: probability of entailment from which a source supports a statement.
        check_numbers: whether a number of the statement that the premise lacks is a veto; such models overlook them.
        threads: for one pass; None lets the runtime use every core.

    Each sentence of a source, each two that follow each other, and runs of as many as the model takes are premises;
    the statement is the hypothesis. Of the premises that reach the threshold the shortest is shown, of several the
    likeliest; its probability is the score, moved so that the threshold is at a half.

    What can be known without running the model is checked here: raises InputError when there is no such folder, it is
    no model of this kind, its labels cannot be told or a file is missing, and MissingExtraError when it needs torch
    and torch is not installed. The weights are loaded at first use. Any thread may use it. A model that gives no
    number for a source, or fails, has not judged it: the verdict is ``unknown`` with the reason.
    """

    def __init__(
        self,
        path_or_name: str,
        *,
        threshold: float = 0.5,
        check_numbers: bool = True,
        threads: int | None = None,
    ) -> None:
        if not 0 < threshold < 1:
            raise InputError(f"the threshold must be between 0 and 1, it is {threshold}")
        self.path_or_name = path_or_name
        self.threshold = threshold
        self.check_numbers = check_numbers
        self.threads = threads
        folder, config = classifier_folder(path_or_name, "a model that classifies pairs of texts")
        self.labels = read_labels(config.get("id2label"), str(folder))
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
        """``nli:`` and the last part of the model's path or name."""
        return f"nli:{Path(self.path_or_name).expanduser().name or self.path_or_name}"

    def close(self) -> None:
        """Free the model; a later statement loads it again. Idempotent."""
        with self._lock:
            self._loaded = None

    def judge(self, statement: str, sources: Sequence[str], *, question: str = "") -> list[Support]:
        """What each of `sources` is worth for `statement`, in their order. Raises InputError for a bad tokenizer."""
        return [self._judge(statement, Sentences(source), question) for source in sources]

    def score(self, statement: str, sentences: Sequence[str]) -> list[float]:
        """How far each sentence alone supports `statement`, in [0, 1]; 0 where the model gives no number."""
        if not sentences:
            return []
        held, _ = self.probabilities(statement, sentences)
        return [scaled(float(p), self.threshold) if np.isfinite(p) else 0.0 for p in held]

    def probabilities(self, statement: str, premises: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of entailment and of contradiction by each premise; of one that is read in windows the greatest.

        NaN where the model gives it. Raises BackendError when the model fails.
        """
        loaded = self._load()
        hypothesis = self._fit(statement, loaded)
        windows: list[Encoding] = []
        owners: list[int] = []
        pairs = [(clean(premise), hypothesis) for premise in premises]
        for owner, whole in enumerate(loaded.windowing.encode_batch(pairs)):
            for window in (whole, *whole.overflowing):
                windows.append(window)
                owners.append(owner)
        logits = pair_logits(loaded.model, windows, pad=self._pad, budget=BATCH_TOKENS)
        if logits.shape[1] != self.labels.count:
            raise BackendError(f"{self.name} gave {logits.shape[1]} logits for {self.labels.count} labels")
        best = []
        with np.errstate(invalid="ignore"):
            for values in self.labels.probabilities(logits.astype(np.float64)):
                greatest = np.full(len(premises), -np.inf)
                np.maximum.at(greatest, owners, values)
                best.append(greatest)
        return best[0], best[1]

    def _judge(self, statement: str, found: Sentences, question: str) -> Support:
        if (support := settled(statement, found, question)) is not None:
            return support
        whole = Support(0, len(found.source), "unknown", 0.0)
        try:
            if self._fit(statement, self._load()) != clean(statement):
                return _unknown(whole, f"the statement is longer than {self.name} reads")
            runs = self._runs(statement, found)
            held, against = self.probabilities(statement, [found.text(*run) for run in runs])
        except BackendError as error:
            return _unknown(whole, f"{self.name} failed: {error}")
        if not np.isfinite(held).all():
            return _unknown(whole, f"{self.name} gave no number")
        relevance = found.relevance(question)

        def order(i: int) -> tuple[float, float, float]:
            # Shorter first, then likelier, then nearer to the question.
            return -float(runs[i][1] - runs[i][0]), float(held[i]), max(relevance[slice(*runs[i])])

        lacking = ""
        for i in sorted((i for i in range(len(runs)) if held[i] >= self.threshold), key=order, reverse=True):
            lacking = numbers_missing(statement, found.text(*runs[i])) if self.check_numbers else ""
            if not lacking:
                return Support(*found.span(*runs[i]), "supported", scaled(float(held[i]), self.threshold))
        best = max(range(len(runs)), key=lambda i: (float(held[i]), -i))
        score = min(MOST_DENIED, scaled(float(held[best]), self.threshold))
        denier = int(np.argmax(against))
        if lacking:
            why = lacking
        elif against[denier] >= self.threshold:
            best, why = denier, f"the source contradicts it (probability {against[denier]:.2f})"
        else:
            why = f"it does not follow from the source (probability {held[best]:.2f})"
        return Support(*found.span(*runs[best]), "unsupported", score, why)

    def _runs(self, statement: str, found: Sentences) -> list[tuple[int, int]]:
        """Each sentence, each pair of neighbours, and runs that fill the model, half of each in the next."""
        loaded = self._load()
        room = self._max_length - loaded.counting.num_special_tokens_to_add(True)
        room -= len(loaded.counting.encode(self._fit(statement, loaded), add_special_tokens=False).ids)
        lengths = [len(loaded.counting.encode(clean(text), add_special_tokens=False).ids) for text in found.texts]
        return [*found.runs(2), *((a, b) for a, b in found.packed(lengths, room) if b - a > 2)]

    def _fit(self, statement: str, loaded: _Loaded) -> str:
        """The statement as `probabilities` reads it: one that would leave a source too little room is cut."""
        statement = clean(statement)
        limit = max(1, int((self._max_length - loaded.counting.num_special_tokens_to_add(True)) * _STATEMENT_SHARE))
        spans = loaded.counting.encode(statement, add_special_tokens=False).offsets
        return statement if len(spans) <= limit else statement[: spans[limit - 1][1]]

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                windowing = load_tokenizer(self._tokenizer_path)
                windowing.enable_truncation(
                    self._max_length, stride=int(self._max_length * _OVERLAP_SHARE), strategy="only_first"
                )
                model = load_classifier(self._model_path, self.threads, "a model that classifies pairs of texts")
                self._loaded = _Loaded(load_tokenizer(self._tokenizer_path), windowing, model)
            return self._loaded


class _Loaded(NamedTuple):
    counting: Tokenizer  # cuts nothing
    windowing: Tokenizer
    model: Model


def _unknown(whole: Support, why: str) -> Support:
    return Support(whole.start, whole.end, "unknown", 0.0, why)
