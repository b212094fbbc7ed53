"""Small models for the tests of support: an entailment model in ONNX that compares words, a chat model of a rule."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pincite.types import Generation, Message, Prompt, Token
from toys_rerank import TOKENIZER

__all__ = ["ToyChat", "write_nli"]

#: In the bundled vocabulary words begin here, after special tokens, marks and single letters.
_FIRST_WORD, _NOT = 1996, 2025


def write_nli(
    folder: Path,
    labels: Sequence[str] = ("contradiction", "entailment", "neutral"),
    *,
    max_length: int = 512,
    config: dict[str, Any] | None = None,
    nan: bool = False,
    outputs: int | None = None,
) -> Path:
    """A model folder whose one pass looks for the words of the second text in the first.

    The logit of entailment is ``3 - 6 · missing - 12 · d``, of contradiction ``6 · d - 3 - 6 · missing``, of neutral
    0, where d is by how many "not" the two differ. Outputs stand in the order of `labels`; with two that are no such
    names they are 0 and entailment, with one it is entailment's. Texts are told apart by ``token_type_ids``. `nan`
    divides nothing by nothing; `outputs` says how many there are, whatever the labels.
    """
    import onnx
    from onnx import TensorProto, helper

    n = helper.make_node

    def constant(name: str, kind: int, value: float) -> Any:
        return helper.make_tensor(name, kind, [1], [value])

    nodes = [
        n("GreaterOrEqual", ["input_ids", "first_word"], ["is_word"]),
        n("Cast", ["is_word"], ["word"], to=TensorProto.FLOAT),
        n("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        n("Cast", ["token_type_ids"], ["type"], to=TensorProto.FLOAT),
        n("Mul", ["word", "mask"], ["content"]),
        n("Mul", ["content", "type"], ["second"]),
        n("Sub", ["content", "second"], ["first"]),
        n("Equal", ["input_ids", "not"], ["is_not"]),
        n("Cast", ["is_not"], ["no"], to=TensorProto.FLOAT),
        n("Mul", ["no", "second"], ["no_second"]),
        n("Mul", ["no", "first"], ["no_first"]),
        n("ReduceSum", ["no_second", "one"], ["nos_second"], keepdims=1),
        n("ReduceSum", ["no_first", "one"], ["nos_first"], keepdims=1),
        n("Sub", ["nos_first", "nos_second"], ["difference"]),
        n("Abs", ["difference"], ["d"]),
        n("Unsqueeze", ["input_ids", "two"], ["rows"]),
        n("Unsqueeze", ["input_ids", "one"], ["columns"]),
        n("Equal", ["rows", "columns"], ["same"]),
        n("Cast", ["same"], ["matches"], to=TensorProto.FLOAT),
        n("Unsqueeze", ["first", "one"], ["first_columns"]),
        n("Mul", ["matches", "first_columns"], ["matched"]),
        n("ReduceMax", ["matched", "two"], ["found"], keepdims=0),
        n("Sub", ["second", "no_second"], ["asked"]),
        n("Mul", ["asked", "found"], ["held"]),
        n("Sub", ["asked", "held"], ["lacking"]),
        n("ReduceSum", ["lacking", "one"], ["missing"], keepdims=1),
        n("Mul", ["missing", "six"], ["missing_6"]),
        n("Mul", ["d", "six"], ["d_6"]),
        n("Mul", ["d", "twelve"], ["d_12"]),
        n("Sub", ["three", "missing_6"], ["part"]),
        n("Sub", ["part", "d_12"], ["entailment"]),
        n("Sub", ["d_6", "three"], ["against"]),
        n("Sub", ["against", "missing_6"], ["contradiction"]),
        n("Sub", ["d", "d"], ["neutral"]),
    ]
    named = [label if label in ("contradiction", "entailment", "neutral") else "" for label in labels]
    if len(labels) == 1:
        named = ["entailment"]
    elif not any(named):
        named = ["neutral"] * (len(labels) - 1) + ["entailment"]
    named = (named * 4)[: outputs or len(named)]
    nodes.append(n("Concat", named, ["logits"], axis=1))
    result = "logits"
    if nan:
        nodes += [n("Sub", ["logits", "logits"], ["nothing"]), n("Div", ["nothing", "nothing"], ["broken"])]
        result = "broken"
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    numbers = {"six": 6.0, "twelve": 12.0, "three": 3.0}
    graph = helper.make_graph(
        nodes,
        "follows",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "l"]) for name in inputs],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, ["b", "n"])],
        [
            constant("first_word", TensorProto.INT64, _FIRST_WORD),
            constant("not", TensorProto.INT64, _NOT),
            constant("one", TensorProto.INT64, 1),
            constant("two", TensorProto.INT64, 2),
            *(constant(name, TensorProto.FLOAT, value) for name, value in numbers.items()),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    shutil.copyfile(TOKENIZER, folder / "tokenizer.json")
    stated = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "max_position_embeddings": max_length,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps({**stated, **(config or {})}), encoding="utf-8")
    return folder


class ToyChat:
    """A chat model that replies by a rule of what it is told; it writes down every message."""

    name = "toy:chat"
    cites = True

    def __init__(self, reply: Callable[[str, str], str]) -> None:
        self.reply = reply
        self.asked: list[tuple[Message, ...]] = []
        self.closed = 0

    def complete(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Generation:
        del max_tokens
        self.asked.append(tuple(messages))
        return Generation(self.reply(messages[0].content, messages[1].content), model=self.name)

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        yield self.complete(prompt.messages)

    def close(self) -> None:
        self.closed += 1
