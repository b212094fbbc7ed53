from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from pincite.encoders import pairs
from pincite.errors import InputError, MissingExtraError
from pincite.support import nli
from pincite.support.nli import Labels, NliSupport, read_labels
from toys_support import write_nli

pytest.importorskip("onnx", reason="onnx, which builds the model, is not installed")

SOURCE = "The pump is checked every year. It stands in the hall. The valve is not red."


@pytest.fixture
def scorer(tmp_path: Path) -> NliSupport:
    return NliSupport(str(write_nli(tmp_path / "follows")), threads=1)


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["contradiction", "entailment", "neutral"], Labels(3, 1, 0)),
        (["ENTAILMENT", "NEUTRAL", "CONTRADICTION"], Labels(3, 0, 2)),
        (["entailment", "not_entailment"], Labels(2, 0)),
        (["not_entailment", "entailment"], Labels(2, 1)),
        (["LABEL_0", "LABEL_1"], Labels(2, 1)),
        (["unsupported", "supported"], Labels(2, 1)),
        (["consistent", "inconsistent"], Labels(2, 0)),
        (["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"], Labels(3, 0, 1)),
        (["hallucinated", "factual"], Labels(2, 1)),
        (["LABEL_0"], Labels(1, 0)),
    ],
)
def test_labels_are_read_by_name(names: list[str], labels: Labels) -> None:
    assert read_labels({str(i): name for i, name in enumerate(names)}) == labels


def test_two_labels_are_meant_where_none_is_stated() -> None:
    assert read_labels(None) == Labels(2, 1)


@pytest.mark.parametrize(
    "id2label",
    [
        {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
        {"0": "positive", "1": "negative"},
        {"0": "entailment", "1": "entailment_too", "2": "neutral"},
        {"1": "entailment", "2": "neutral"},
    ],
)
def test_labels_that_cannot_be_told(id2label: dict[object, object]) -> None:
    with pytest.raises(InputError, match=r"entailment|from 0"):
        read_labels(id2label, "the folder")


@pytest.mark.parametrize(
    "labels",
    [
        ("contradiction", "entailment", "neutral"),
        ("entailment", "neutral", "contradiction"),
        ("not_entailment", "entailment"),
        ("LABEL_0", "LABEL_1"),
        ("LABEL_0",),
    ],
)
def test_whatever_the_order_of_the_outputs(tmp_path: Path, labels: tuple[str, ...]) -> None:
    names = ["entailment" if label == "not_entailment" else label for label in labels]
    folder = write_nli(tmp_path, names if "not_entailment" not in labels else ["neutral", "entailment"])
    stated = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stated["id2label"] = {str(i): label for i, label in enumerate(labels)}
    (folder / "config.json").write_text(json.dumps(stated), encoding="utf-8")
    scorer = NliSupport(str(folder), threads=1)
    first, second = scorer.judge("The pump is checked, every year.", [SOURCE, "The hall is tall."])
    assert (first.verdict, second.verdict) == ("supported", "unsupported")
    assert SOURCE[first.start : first.end] == "The pump is checked every year."


def test_what_is_contradicted_is_told_and_shown(scorer: NliSupport) -> None:
    (support,) = scorer.judge("The valve is, red.", [SOURCE])
    assert support.verdict == "unsupported"
    assert support.why.startswith("the source contradicts it (probability 0.")
    assert SOURCE[support.start : support.end] == "The valve is not red."


def test_what_does_not_follow_is_told(scorer: NliSupport) -> None:
    (support,) = scorer.judge("The garden is green.", [SOURCE])
    assert support.why.startswith("it does not follow from the source (probability 0.0")


def test_neighbouring_sentences_support_together(scorer: NliSupport) -> None:
    (support,) = scorer.judge("The pump stands in the hall.", [SOURCE])
    assert support.verdict == "supported"
    assert SOURCE[support.start : support.end] == "The pump is checked every year. It stands in the hall."


def test_a_veto_by_numbers_is_told(scorer: NliSupport, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that finds everything entailed."""
    monkeypatch.setattr(scorer, "probabilities", lambda _, premises: (np.ones(len(premises)), np.zeros(len(premises))))
    (support,) = scorer.judge("The pump has 3 valves.", [SOURCE])
    assert (support.verdict, support.score, support.why) == ("unsupported", 0.49, "3 is not in the source")
    scorer.check_numbers = False
    assert scorer.judge("The pump has 3 valves.", [SOURCE])[0].verdict == "supported"


def test_the_threshold_is_at_a_half(tmp_path: Path) -> None:
    folder = str(write_nli(tmp_path))
    strict = NliSupport(folder, threshold=0.96, threads=1)  # the toy says .95
    (support,) = strict.judge("The pump is checked, every year.", [SOURCE])
    assert support.verdict == "unsupported"
    assert support.score < 0.5
    (support,) = NliSupport(folder, threshold=0.9, threads=1).judge("The pump is checked, every year.", [SOURCE])
    assert 0.5 <= support.score < 1
    for wrong in (0.0, 1.0, -1.0):
        with pytest.raises(InputError, match="threshold"):
            NliSupport(folder, threshold=wrong)


def test_a_sentence_longer_than_the_model_is_read_in_windows(tmp_path: Path) -> None:
    scorer = NliSupport(str(write_nli(tmp_path, max_length=24)), threads=1)
    source = "Rain " * 60 + "the pump is checked every year " + "and rain " * 60
    (support,) = scorer.judge("The pump is checked, every year.", [source])
    assert support.verdict == "supported"


def test_a_statement_longer_than_the_model_is_not_judged(tmp_path: Path) -> None:
    scorer = NliSupport(str(write_nli(tmp_path, max_length=24)), threads=1)
    (support,) = scorer.judge("The pump is checked every year in the hall " * 3, [SOURCE])
    assert (support.verdict, support.score) == ("unknown", 0.0)
    assert "longer than nli:" in support.why


def test_no_number_is_no_verdict(tmp_path: Path) -> None:
    scorer = NliSupport(str(write_nli(tmp_path / "broken", nan=True)), threads=1)
    (support,) = scorer.judge("The pump is checked, every year.", [SOURCE])
    assert (support.verdict, support.why) == ("unknown", "nli:broken gave no number")
    assert scorer.score("The pump.", ["The pump is checked."]) == [0.0]


def test_a_model_of_other_outputs_is_no_verdict(tmp_path: Path) -> None:
    scorer = NliSupport(str(write_nli(tmp_path / "other", outputs=4)), threads=1)
    (support,) = scorer.judge("The pump is checked, every year.", [SOURCE])
    assert support.verdict == "unknown"
    assert "4 logits for 3 labels" in support.why


def test_batches_do_not_change_scores(scorer: NliSupport, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = ["The pump is checked every year.", "The valve.", "It stands in the hall. " * 5]
    before = scorer.score("The pump is checked.", sentences)
    monkeypatch.setattr(nli, "BATCH_TOKENS", 16)
    assert scorer.score("The pump is checked.", sentences) == pytest.approx(before, abs=1e-6)


class TestErrors:
    def test_no_folder(self) -> None:
        with pytest.raises(InputError, match="no model folder"):
            NliSupport("there/is/nothing")

    def test_an_encoder_is_no_checker(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="BertModel, not a model that classifies"):
            NliSupport(str(write_nli(tmp_path, config={"architectures": ["BertModel"]})))

    def test_missing_files(self, tmp_path: Path) -> None:
        folder = write_nli(tmp_path)
        (folder / "model.onnx").unlink()
        with pytest.raises(InputError, match="neither"):
            NliSupport(str(folder))
        (folder / "tokenizer.json").unlink()
        with pytest.raises(InputError, match="tokenizer"):
            NliSupport(str(folder))

    def test_safetensors_without_torch(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = write_nli(tmp_path)
        (folder / "model.onnx").rename(folder / "model.safetensors")
        monkeypatch.setitem(sys.modules, "torch", None)
        monkeypatch.setattr(nli, "find_spec", lambda _: None)
        with pytest.raises(MissingExtraError, match="transformers"):
            NliSupport(str(folder))

    def test_a_damaged_model_is_no_verdict(self, tmp_path: Path) -> None:
        folder = write_nli(tmp_path / "damaged")
        (folder / "model.onnx").write_bytes(b"nothing")
        scorer = NliSupport(str(folder))
        (support,) = scorer.judge("The pump is checked, every year.", [SOURCE])
        assert support.verdict == "unknown"
        assert support.why.startswith("nli:damaged failed: ONNX Runtime cannot load")


def test_the_onnx_file_is_taken_before_safetensors(tmp_path: Path) -> None:
    folder = write_nli(tmp_path)
    (folder / "model.safetensors").write_bytes(b"")
    assert pairs.weights_file(folder).name == "model.onnx"
