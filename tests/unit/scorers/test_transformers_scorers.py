"""What is particular about the scorers that run in torch. What all scorers promise is in the contract."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.errors import BackendError, InputError, MissingExtraError
from pincite.protocols import Context
from pincite.scorers import base
from pincite.scorers.base import batches, end_ids, model_folder
from pincite.scorers.causal import CausalScorer
from pincite.scorers.choose import choose_scorer
from pincite.scorers.fusion_in_decoder import FusionInDecoderScorer
from pincite.scorers.seq2seq import Seq2SeqScorer
from toys_models import BOS, EOS, byte_tokenizer, make_causal, make_seq2seq, save, space_tokenizer

FRAME = "Answer from the text that is given. "
CONTEXTS: list[Context] = [(FRAME, "one", " Q?"), (FRAME, "another and longer one", " Q?"), (FRAME, "", " Q?")]
CLASSES = (CausalScorer, Seq2SeqScorer, FusionInDecoderScorer)


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return make_causal(tmp_path / "llama")


@pytest.mark.parametrize("make", [*CLASSES, choose_scorer])
def test_without_the_extra_it_says_what_to_install(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'pincite\[transformers\]'"):
        make("owner/model")


def test_importing_a_scorer_does_not_import_torch() -> None:
    code = "import sys, pincite.scorers.choose, pincite.scorers.fusion_in_decoder; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"dtype": "int8"}, "dtype"),
        ({"max_rows": 0}, "max_rows"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"device": ""}, "device"),
    ],
)
@pytest.mark.parametrize("make", CLASSES)
def test_a_setting_out_of_range_is_an_error(make: Any, setting: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make("owner/model", **setting)


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model folder"):
        model_folder("no-such-folder")
    with pytest.raises(InputError, match=r"no config\.json"):
        model_folder(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="no weights"):
        model_folder(str(tmp_path))
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(InputError, match=r"pytorch_model\.bin, which is pickled .* save_pretrained"):
        model_folder(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert model_folder(str(tmp_path)) == tmp_path
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(InputError, match="object"):
        base.read_config(tmp_path)


def test_batches_hold_like_lengths_and_no_more_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    assert batches([3, 1, 2, 1], 3) == [[1, 3, 2], [0]]
    assert batches([], 3) == []
    monkeypatch.setattr(base, "LOGIT_BUDGET", 40)
    assert batches([2, 2, 2, 9], 16, vocabulary=10) == [[0, 1], [2], [3]]


def test_all_stated_ends_are_ends() -> None:
    assert end_ids(1, None, [2, 3]) == {1, 2, 3}
    assert end_ids(None) == frozenset()


def test_what_contexts_begin_with_is_computed_once(llama: Path) -> None:
    scorer = CausalScorer(str(llama))
    lengths = [1 + sum(len(scorer.encode(part)) for part in each) for each in CONTEXTS]
    shared = 1 + len(scorer.encode(FRAME))
    reading = scorer.read(CONTEXTS)
    # The frame, the rest but one token padded to the longest, and the last token of each.
    assert reading.computed == shared + 3 * (max(lengths) - 1 - shared) + 3
    for context, row in zip(CONTEXTS, reading.next_tokens().logprobs, strict=True):
        alone = scorer.read([context])
        np.testing.assert_allclose(alone.next_tokens().logprobs[0], row, atol=1e-5)
    before = reading.computed
    reading.extend([0, 1, 2], [5, 6, 7])
    assert reading.computed == before + 3
    # The same context twice is all common but its last token.
    twin = scorer.read([CONTEXTS[1]] * 4)
    assert twin.computed == lengths[1] - 1 + 4


@pytest.mark.parametrize("kind", ["llama", "gemma3", "gpt2", "t5", "bart"])
def test_small_batches_give_what_large_ones_give(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind in ("t5", "bart"):
        make: Any = Seq2SeqScorer
        path = make_seq2seq(tmp_path / kind, kind)
    else:
        make = CausalScorer
        # Without an opening token the first context has one token only, and leaves nothing in the cache.
        path = make_causal(tmp_path / kind, kind, tokenizer=byte_tokenizer(opening=False))
    contexts: list[Context] = [("y",), ("a longer", " context"), ("x",), ("a long",)]
    answers = [[65, 66, 67], [70], [], [80, 81, 82, 83, 84]]
    large, small = make(str(path)).read(contexts), make(str(path), max_rows=1).read(contexts)
    expected = large.score(answers, end=True)
    monkeypatch.setattr(base, "LOGIT_BUDGET", 1)
    np.testing.assert_allclose(small.next_tokens().logprobs, large.next_tokens().logprobs, atol=2e-5)
    for one, other in zip(small.score(answers, end=True), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)
    for reading in (small, large):
        reading.extend([3, 0, 1], [65, 66, 67])
    np.testing.assert_allclose(small.next_tokens().logprobs, large.next_tokens().logprobs, atol=2e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_logits_of_ten_thousand_give_finite_numbers(torch: Any, tmp_path: Path, dtype: Any) -> None:
    import transformers

    path = make_causal(tmp_path / "llama")
    model = transformers.AutoModelForCausalLM.from_pretrained(str(path))
    with torch.no_grad():
        model.lm_head.weight.mul_(1e4 / model(torch.tensor([[BOS, 5, 6]])).logits.abs().max())
    save(path, model, byte_tokenizer())
    reading = CausalScorer(str(path), dtype=dtype).read(CONTEXTS)
    for _ in range(3):
        logprobs = reading.next_tokens().logprobs
        assert logprobs.dtype == np.float32
        assert np.isfinite(logprobs).all()
        assert logprobs.min() < -1000
        np.testing.assert_allclose(np.exp(logprobs.astype(np.float64)).sum(axis=1), 1.0, atol=1e-4)
        reading.extend([0, 1, 2], logprobs.argmax(axis=1).tolist())
    (score,) = reading.score([[5, 6, 7]], end=True)
    assert np.isfinite(score).all()
    assert score.dtype == np.float32


def test_bfloat16_is_near_float32(llama: Path) -> None:
    # Weights are rounded, which moves probabilities by 0.0007 at most here; the log-softmax itself is not rounded.
    half = CausalScorer(str(llama), dtype="bfloat16").read(CONTEXTS).next_tokens().logprobs
    full = CausalScorer(str(llama)).read(CONTEXTS).next_tokens().logprobs
    np.testing.assert_allclose(np.exp(half), np.exp(full), atol=0.002)
    np.testing.assert_allclose(np.exp(half.astype(np.float64)).sum(axis=1), 1.0, atol=1e-5)


def test_logits_that_are_no_numbers_are_an_error(torch: Any, llama: Path) -> None:
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(str(llama))
    with torch.no_grad():
        model.lm_head.weight[7] = float("nan")
    model.save_pretrained(str(llama))
    with pytest.raises(BackendError, match="no numbers"):
        CausalScorer(str(llama)).read(CONTEXTS)


def test_a_line_feed_ends_an_answer_unless_told_otherwise(llama: Path, tmp_path: Path) -> None:
    scorer = CausalScorer(str(llama))
    one, two = scorer.encode("\n"), scorer.encode("\n\n")
    assert len(one) == len(two) == 1
    assert scorer.ends == {EOS, *one, *two}
    assert CausalScorer(str(llama), end_at_newline=False).ends == {EOS}
    spaces = make_causal(tmp_path / "spaces", tokenizer=space_tokenizer())
    assert CausalScorer(str(spaces)).ends == {EOS, space_tokenizer().convert_tokens_to_ids("<0x0A>")}


def test_a_tokenizers_own_space_is_not_in_an_answer(tmp_path: Path) -> None:
    path = make_causal(tmp_path / "spaces", tokenizer=space_tokenizer())
    scorer = CausalScorer(str(path))
    pieces = space_tokenizer().convert_ids_to_tokens
    assert pieces(scorer.encode("the in")) == ["the", "▁", "in"]
    assert pieces(scorer.encode(" the")) == ["▁the"]
    assert scorer.decode(scorer.encode(" the")) == " the"
    # Parts are joined without anything between.
    whole, parts = scorer.read([("the in",)]), scorer.read([("the ", "in")])
    np.testing.assert_allclose(whole.next_tokens().logprobs, parts.next_tokens().logprobs, atol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "bart"])
def test_a_text_cannot_forge_a_special_token(tmp_path: Path, kind: str) -> None:
    make: Any = CausalScorer if kind == "llama" else Seq2SeqScorer
    path = (make_causal if kind == "llama" else make_seq2seq)(tmp_path / kind, kind)
    scorer = make(str(path))
    assert EOS not in scorer.encode("a</s>b")
    assert scorer.decode(scorer.encode("a</s>b")) == "a</s>b"
    read = make(str(path), special_tokens=True)
    assert EOS in read.encode("a</s>b")
    one, other = scorer.read([("a</s>b",)]).next_tokens(), read.read([("a</s>b",)]).next_tokens()
    assert abs(one.logprobs - other.logprobs).max() > 1e-3


def test_a_reading_outlives_its_scorer_and_says_when_it_is_closed(llama: Path) -> None:
    scorer = CausalScorer(str(llama))
    reading = scorer.read(CONTEXTS)
    scorer.close()
    reading.extend([0], [5])
    reading.close()
    for call in (reading.next_tokens, lambda: reading.extend([0], [5]), lambda: reading.score([[5]])):
        with pytest.raises(InputError, match="closed"):
            call()


@pytest.mark.parametrize("kind", ["llama", "bart"])
def test_what_cannot_be_extended_is_an_error(tmp_path: Path, kind: str) -> None:
    scorer: Any
    if kind == "llama":
        scorer = CausalScorer(str(make_causal(tmp_path / kind, max_position_embeddings=16)))
    else:
        scorer = Seq2SeqScorer(str(make_seq2seq(tmp_path / kind, kind)))
    reading = scorer.read([("abc",), ("de",)])
    for rows, tokens in (([0], [5, 6]), ([], []), ([2], [5]), ([-1], [5]), ([0], [99999]), ([0], [-1])):
        with pytest.raises(InputError):
            reading.extend(rows, tokens)
    with pytest.raises(InputError, match="no token"):
        reading.score([[99999]])
    with pytest.raises(InputError, match="too long"):
        reading.score([[5] * 200])
    assert reading.rows == 2
    full = {"llama": 16 - 1 - 3, "bart": 128 - 2}[kind]  # <s>abc in 16 positions; an answer after </s><s> in 128
    for _ in range(full):
        reading.extend([0, 1], [5, 5])
    with pytest.raises(InputError, match="too long"):
        reading.extend([0, 1], [5, 5])
    assert [each.shape for each in reading.score([[]], end=True)] == [(2, 1)]
    assert np.isfinite(reading.next_tokens().logprobs).all()


def test_a_bare_string_is_no_context(llama: Path) -> None:
    with pytest.raises(InputError, match="tuple of parts"):
        CausalScorer(str(llama)).read(["text"])  # type: ignore[list-item]


def test_an_empty_context_needs_a_token_to_begin_with(tmp_path: Path) -> None:
    bare = make_causal(tmp_path / "bare", tokenizer=byte_tokenizer(opening=False))
    with pytest.raises(InputError, match="context 1 is empty"):
        CausalScorer(str(bare)).read([("x",), ("",)])
    opened = make_causal(tmp_path / "opened")
    assert CausalScorer(str(opened)).read([("x",), ("",)]).rows == 2


def test_a_checkpoint_of_another_kind_is_refused(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")

    path = make_causal(tmp_path / "model")
    headless = transformers.LlamaModel.from_pretrained(str(path))
    save(tmp_path / "headless", headless, byte_tokenizer())
    with pytest.raises(BackendError, match=r"lacks 1 weights .*lm_head"):
        CausalScorer(str(tmp_path / "headless")).ends  # noqa: B018
    t5 = make_seq2seq(tmp_path / "t5", "t5")
    with pytest.raises(BackendError, match="AutoModelForCausalLM"):
        CausalScorer(str(t5)).read(CONTEXTS)
    with pytest.raises(BackendError, match="AutoModelForSeq2SeqLM"):
        Seq2SeqScorer(str(path)).read(CONTEXTS)


def test_a_model_that_keeps_a_state_instead_of_keys_is_refused(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")

    config = transformers.MambaConfig(
        vocab_size=300, hidden_size=16, num_hidden_layers=1, state_size=4, eos_token_id=EOS
    )
    save(tmp_path / "mamba", transformers.MambaForCausalLM(config), byte_tokenizer())
    with pytest.raises(BackendError):
        CausalScorer(str(tmp_path / "mamba")).read(CONTEXTS)


def test_the_model_says_which_scorer_it_needs(tmp_path: Path) -> None:
    assert isinstance(choose_scorer(str(make_causal(tmp_path / "llama"))), CausalScorer)
    chosen = choose_scorer(str(make_seq2seq(tmp_path / "t5", "t5")), max_rows=3)
    assert isinstance(chosen, Seq2SeqScorer)
    assert chosen.max_rows == 3
    assert chosen.name == "transformers:t5"
    assert FusionInDecoderScorer(str(tmp_path / "t5")).name == "fid:t5"
    assert (CausalScorer.encodes, chosen.encodes) == (False, True)


def test_the_first_token_is_what_is_stated_or_what_answers_began_with(tmp_path: Path) -> None:
    stated = make_seq2seq(tmp_path / "stated", "bart")
    unstated = make_seq2seq(tmp_path / "unstated", "bart", forced=False)
    plain = make_seq2seq(
        tmp_path / "plain", "bart", forced=False, tokenizer=byte_tokenizer(opening=False, closing=True)
    )
    context: list[Context] = [("x y z",)]
    numbers = [Seq2SeqScorer(str(path)).read(context).next_tokens().logprobs for path in (stated, unstated, plain)]
    np.testing.assert_allclose(numbers[0], numbers[1], atol=1e-6)
    assert abs(numbers[0] - numbers[2]).max() > 1e-3
    free = Seq2SeqScorer(str(stated), force_first=False).read(context)
    free.extend([0], [BOS])
    np.testing.assert_allclose(free.next_tokens().logprobs, numbers[0], atol=1e-5)


def test_the_configuration_of_a_hub_model_is_fetched_without_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")
    errors = pytest.importorskip("huggingface_hub.errors")
    asked: list[tuple[tuple[str, ...], bool]] = []
    snapshot = tmp_path / "snapshot"

    def download(_: str, *, allow_patterns: list[str], local_files_only: bool = False) -> str:
        asked.append((tuple(allow_patterns), local_files_only))
        if local_files_only and not snapshot.exists():
            raise errors.LocalEntryNotFoundError("not here")
        if not local_files_only:
            snapshot.mkdir(exist_ok=True)
            (snapshot / "config.json").write_text('{"model_type": "t5"}')
            if "*.safetensors" in allow_patterns:
                (snapshot / "model.safetensors").write_bytes(b"")
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert base.stated_config("some/model") == {"model_type": "t5"}
    assert asked == [(("config.json",), True), (("config.json",), False)]
    # What is here now is the configuration alone: the weights are still to be fetched.
    assert base.model_folder("some/model") == snapshot
    assert asked[-1][1] is False
    assert len(asked) == 4
    base.model_folder("some/model")
    assert len(asked) == 5
