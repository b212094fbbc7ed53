from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from pincite.errors import BackendError, InputError, MissingExtraError
from pincite.rerankers import cross_encoder
from pincite.rerankers.cross_encoder import CrossEncoderReranker
from toys_rerank import TOKENIZER, make_passages, write_cross_encoder

pytest.importorskip("onnx", reason="onnx, which builds the model, is not installed")

FILLER = "the court held that nothing of this kind was ever said in the year before . "


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def tokens(text: str) -> int:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_cross_encoder(tmp_path / "counts")


def test_the_score_is_that_of_the_pair(folder: Path) -> None:
    """Three of the query's four words are there; the logit is one more than two less."""
    reranker = CrossEncoderReranker(str(folder))
    scores = reranker.scores("when lease harbour end", ["the lease of the harbour will end", "no word", "end"])
    assert scores == pytest.approx([logistic(1), logistic(-2), logistic(-1)], abs=1e-6)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, logistic(1)),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}, logistic(1)),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}, 1.0),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}, 1.0),
        ({"sbert_ce_default_activation_function": None}, logistic(1)),
    ],
)
def test_the_stated_activation(tmp_path: Path, config: dict[str, Any], expected: float) -> None:
    reranker = CrossEncoderReranker(str(write_cross_encoder(tmp_path, config=config)))
    assert reranker.scores("when lease harbour end", ["lease harbour end"]) == pytest.approx([expected], abs=1e-6)


def test_the_activation_beside_the_configuration_wins(folder: Path) -> None:
    (folder / "config_sentence_transformers.json").write_text('{"activation_fn": "torch.nn.modules.linear.Identity"}')
    assert CrossEncoderReranker(str(folder)).scores("lease", ["lease"]) == pytest.approx([-1.0])


def test_an_unknown_activation_is_refused(tmp_path: Path) -> None:
    config = {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Tanh"}}
    with pytest.raises(InputError, match="Tanh"):
        CrossEncoderReranker(str(write_cross_encoder(tmp_path, config=config)))


def test_two_labels_give_the_probability_of_the_second(tmp_path: Path) -> None:
    reranker = CrossEncoderReranker(str(write_cross_encoder(tmp_path, labels=2)))
    scores = reranker.scores("when lease harbour end", ["lease harbour end", "no"])
    assert scores == pytest.approx([logistic(1), logistic(-2)], abs=1e-6)


def test_good_scores_do_not_all_become_one(tmp_path: Path) -> None:
    """In single precision the logistic of 20 and of 30 is 1: a tie, and the first stage's order for the best."""
    reranker = CrossEncoderReranker(str(write_cross_encoder(tmp_path, slope=10)))
    query = "one two three four five"
    found = reranker.rerank(query, make_passages(["one two three four", "one two three four five", "none"]))
    assert found.passages[0].chunk.text == query
    assert found.notes == ()


def test_a_sentence_at_the_end_of_a_long_passage_is_read(folder: Path) -> None:
    """Case 32: 900 tokens, only the last sentence relevant, 512 positions."""
    long = FILLER * 55 + "The lease of the harbour ends in 1871."
    assert 880 < tokens(long) < 1000
    reranker = CrossEncoderReranker(str(folder))
    assert reranker.max_length == 512
    end = reranker.scores("lease harbour ends", [long, FILLER * 55, "lease harbour ends"])
    assert end[0] == pytest.approx(end[2])
    assert end[0] > end[1]
    found = reranker.rerank("lease harbour ends", make_passages([FILLER * 55, FILLER, long]))
    assert found.passages[0].chunk.text == long
    assert found.notes == ()


def test_every_place_of_a_long_passage_is_read_whole(folder: Path) -> None:
    """Wherever three neighbouring words stand, some window has all of them, and the whole query."""
    reranker = CrossEncoderReranker(str(folder))
    words = FILLER.split() * 60
    for place in range(0, len(words), 97):
        text = " ".join([*words[:place], "lease harbour ends", *words[place:]])
        assert reranker.scores("lease harbour ends", [text]) == pytest.approx([logistic(1)])


def test_a_passage_that_just_fits_is_one_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = CrossEncoderReranker(str(write_cross_encoder(tmp_path, max_length=16)))
    sizes: list[list[int]] = []
    logits = reranker._logits

    def spy(model: Any, windows: Any) -> Any:
        sizes.append([len(window.ids) for window in windows])
        return logits(model, windows)

    monkeypatch.setattr(reranker, "_logits", spy)
    reranker.scores("one two", [" ".join(["word"] * 11), " ".join(["word"] * 12), ""])
    # [CLS] one two [SEP] and [SEP] leave eleven; the second's twelfth word is in a window that overlaps by two.
    assert sizes == [[16, 16, 8, 5]]


def test_a_long_query_is_cut_with_a_note(tmp_path: Path) -> None:
    reranker = CrossEncoderReranker(str(write_cross_encoder(tmp_path, max_length=40)))
    query = "lease " + "word " * 100
    found = reranker.rerank(query, make_passages(["nothing here", "the lease"]))
    assert found.passages[0].chunk.text == "the lease"
    assert found.notes == (f"{reranker.name}: only the first 27 of the query's 101 tokens are read",)
    assert reranker.rerank("lease " + "word " * 26, make_passages(["no", "the lease"])).notes == ()


def test_title_and_headings_are_read(folder: Path) -> None:
    found = CrossEncoderReranker(str(folder)).rerank(
        "harbour lease", [*make_passages(["it ends"], title="Cookery"), *make_passages(["it ends"], title="Lease")]
    )
    assert found.passages[0].title == "Lease"


def test_batches_do_not_change_scores(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{FILLER * (n % 7)} lease {n}" for n in range(40)]
    reranker = CrossEncoderReranker(str(folder))
    together = reranker.scores("lease 7", texts)
    assert together == [reranker.scores("lease 7", [text])[0] for text in texts]
    monkeypatch.setattr(cross_encoder, "BATCH_TOKENS", 64)
    assert reranker.scores("lease 7", texts) == together


def test_batches_hold_a_budget_of_tokens_longest_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = CrossEncoderReranker(str(folder))
    reranker.load()
    shapes: list[tuple[int, int]] = []
    assert reranker._loaded is not None
    model = reranker._loaded.model

    def spy(ids: Any, mask: Any, types: Any) -> Any:
        shapes.append(ids.shape)
        return model(ids, mask, types)

    reranker._loaded = reranker._loaded._replace(model=spy)
    monkeypatch.setattr(cross_encoder, "BATCH_TOKENS", 200)
    reranker.scores("lease", [FILLER * n for n in (1, 9, 3, 1, 1, 9)])
    assert all(rows * length <= 200 or rows == 1 for rows, length in shapes)
    assert [length for _, length in shapes] == sorted((length for _, length in shapes), reverse=True)
    assert sum(rows for rows, _ in shapes) == 6


@pytest.mark.parametrize("file", ["model.onnx", "onnx/model.onnx"])
def test_both_places_of_the_file(tmp_path: Path, file: str) -> None:
    assert CrossEncoderReranker(str(write_cross_encoder(tmp_path, file=file))).scores("lease", ["lease"])


def test_truncation_that_the_tokenizer_file_asks_for_is_not_done(folder: Path) -> None:
    path = folder / "tokenizer.json"
    stated = json.loads(path.read_text(encoding="utf-8"))
    stated["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    stated["padding"] = {
        "strategy": {"Fixed": 64},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    path.write_text(json.dumps(stated), encoding="utf-8")
    reranker = CrossEncoderReranker(str(folder))
    query = "one two three four five six seven eight nine ten"
    assert reranker.scores(query, [query]) == pytest.approx([logistic(8)])


class TestRefusals:
    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no model folder"):
            CrossEncoderReranker(str(tmp_path / "none"))

    @pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.onnx"])
    def test_a_file_is_missing(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        with pytest.raises(InputError, match=r"config\.json|tokenizer\.json|model\.onnx"):
            CrossEncoderReranker(str(folder))

    def test_an_encoder_is_no_cross_encoder(self, tmp_path: Path) -> None:
        """Loaded as one it would get a head of random numbers, and nobody would know."""
        with pytest.raises(InputError, match="BertModel, not a cross-encoder"):
            CrossEncoderReranker(str(write_cross_encoder(tmp_path, config={"architectures": ["BertModel"]})))

    def test_three_classes(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="3 classes"):
            CrossEncoderReranker(str(write_cross_encoder(tmp_path, labels=3)))

    def test_safetensors_without_torch(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "model.onnx").rename(folder / "model.safetensors")
        monkeypatch.setitem(sys.modules, "torch", None)
        monkeypatch.setattr(cross_encoder, "find_spec", lambda _: None)
        with pytest.raises(MissingExtraError, match=r"pincite\[transformers\]"):
            CrossEncoderReranker(str(folder))

    def test_weights_that_are_no_weights(self, folder: Path) -> None:
        (folder / "model.onnx").write_bytes(b"no model")
        with pytest.raises(BackendError, match="cannot load"):
            CrossEncoderReranker(str(folder)).rerank("lease", make_passages(["lease", "no"]))

    def test_a_tokenizer_that_is_none(self, folder: Path) -> None:
        (folder / "tokenizer.json").write_text("{}")
        with pytest.raises(InputError, match="not a tokenizer"):
            CrossEncoderReranker(str(folder)).load()

    def test_output_of_another_shape(self, tmp_path: Path) -> None:
        reranker = CrossEncoderReranker(str(write_cross_encoder(tmp_path, wide=True)))
        with pytest.raises(BackendError, match="gave scores of shape"):
            reranker.rerank("lease", make_passages(["lease", "no"]))
