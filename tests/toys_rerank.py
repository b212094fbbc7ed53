"""Small models for the tests of rerankers: a cross-encoder in ONNX that counts words, and two that need no weights."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pincite.encoders.minilm
from pincite.types import Chunk, Hit, Passage
from toys import ToyEncoder

if TYPE_CHECKING:
    from pincite.protocols import Matrix

__all__ = ["ToyLikelihood", "ToyTokenEncoder", "make_passages", "write_cross_encoder"]

TOKENIZER = Path(pincite.encoders.minilm.__file__).with_name("tokenizer.json")


def make_passages(texts: Sequence[str], scores: Sequence[float] | None = None, *, title: str = "") -> list[Passage]:
    """One passage a text, as a first stage found them: by falling scores, unless scores are given."""
    scores = [1 / (10 + rank) for rank in range(1, len(texts) + 1)] if scores is None else scores
    found = []
    for rank, (text, score) in enumerate(zip(texts, scores, strict=True), start=1):
        chunk = Chunk(f"d{rank}.1.0", f"d{rank}", 1, text, 0, len(text), 0)
        bm25 = Hit(chunk.id, 2 * score, rank, "bm25")
        found.append(Passage(chunk, title, f"/{rank}.txt", Hit(chunk.id, score, rank, "fused"), {"bm25": bm25}))
    return found


def write_cross_encoder(
    folder: Path,
    *,
    labels: int = 1,
    max_length: int = 512,
    file: str = "model.onnx",
    config: dict[str, Any] | None = None,
    nan: bool = False,
    slope: float = 1.0,
    wide: bool = False,
) -> Path:
    """A model folder whose one pass counts the query's tokens that stand in the passage.

    Logits are ``slope · (count - 2)``, with two labels ``[1, 1 + that]``. The graph tells query from passage by
    ``token_type_ids`` alone, leaves special tokens (ids below 104) and padding out, and is as wrong as it should be
    when given neither. `wide` gives a third dimension, as an encoder has it; `nan` divides nothing by nothing.
    """
    import onnx
    from onnx import TensorProto, helper

    def tensor(name: str, kind: int, value: float) -> Any:
        return helper.make_tensor(name, kind, [1], [value])

    ints = [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "l"]) for name in _INPUTS]
    n = helper.make_node
    nodes = [
        n("GreaterOrEqual", ["input_ids", "first_word"], ["is_word"]),
        n("Cast", ["is_word"], ["word"], to=TensorProto.FLOAT),
        n("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        n("Cast", ["token_type_ids"], ["type"], to=TensorProto.FLOAT),
        n("Mul", ["word", "mask"], ["content"]),
        n("Mul", ["content", "type"], ["in_passage"]),
        n("Sub", ["content", "in_passage"], ["in_query"]),
        n("Unsqueeze", ["input_ids", "two"], ["rows"]),
        n("Unsqueeze", ["input_ids", "one"], ["columns"]),
        n("Equal", ["rows", "columns"], ["same"]),
        n("Cast", ["same"], ["matches"], to=TensorProto.FLOAT),
        n("Unsqueeze", ["in_passage", "one"], ["passage_columns"]),
        n("Mul", ["matches", "passage_columns"], ["matched"]),
        n("ReduceMax", ["matched", "two"], ["found"], keepdims=0),
        n("Mul", ["found", "in_query"], ["counted"]),
        n("ReduceSum", ["counted", "one"], ["count"], keepdims=1),
        n("Sub", ["count", "middle"], ["centred"]),
        n("Mul", ["centred", "slope"], ["logit"]),
        n("Add", ["logit", "unit"], ["second"]),
        n("Sub", ["second", "logit"], ["first"]),
    ]
    result = "logit"
    if labels == 2:
        nodes.append(n("Concat", ["first", "second"], ["pair"], axis=1))
        result = "pair"
    if nan:
        nodes += [n("Sub", [result, result], ["nothing"]), n("Div", ["nothing", "nothing"], ["broken"])]
        result = "broken"
    if wide:
        nodes.append(n("Unsqueeze", [result, "two"], ["wide"]))
        result = "wide"
    graph = helper.make_graph(
        nodes,
        "counts",
        ints,
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, ["b", "n", "w"] if wide else ["b", "n"])],
        [
            tensor("first_word", TensorProto.INT64, 104),
            tensor("one", TensorProto.INT64, 1),
            tensor("two", TensorProto.INT64, 2),
            tensor("middle", TensorProto.FLOAT, 2.0),
            tensor("unit", TensorProto.FLOAT, 1.0),
            tensor("slope", TensorProto.FLOAT, slope),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    target = folder / file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(model.SerializeToString())
    shutil.copyfile(TOKENIZER, folder / "tokenizer.json")
    stated = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "id2label": {str(i): f"LABEL_{i}" for i in range(labels)},
        "max_position_embeddings": max_length,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps({**stated, **(config or {})}), encoding="utf-8")
    return folder


_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class ToyTokenEncoder(ToyEncoder):
    """A vector for each word, wherever it stands."""

    def __init__(self, *, nan: bool = False) -> None:
        super().__init__()
        self.nan = nan

    def query_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        return [self._words(text) for text in texts]

    def passage_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        return [self._words(text) * (np.float32(math.nan) if self.nan else np.float32(1)) for text in texts]

    def _words(self, text: str) -> Matrix:
        return self._encode(text.split()) if text.split() else np.zeros((0, self.dimension), dtype=np.float32)


class ToyLikelihood:
    """A language model to which a word is likely that it has just read."""

    name = "toy"

    def __init__(self, *, nan: bool = False) -> None:
        self.nan = nan
        self.asked: list[tuple[str, str]] = []
        self.closed = 0

    def continuation_logprobs(self, context: str, continuation: str) -> list[float]:
        self.asked.append((context, continuation))
        read = set(context.split())
        return [math.nan if self.nan else -0.5 if word in read else -4.0 for word in continuation.split()]

    def close(self) -> None:
        self.closed += 1
