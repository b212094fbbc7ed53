"""RAG-Sequence, RAG-Token and Fusion-in-Decoder against transformers, on models made here. Runs where torch is.

What the reference does, and how it is made comparable. Its `labels` are what the decoder is given, so they begin with
the start token (``</s>`` for BART); it shifts them left to have its targets and hides every target that is the padding
token. With ``exclude_bos_score`` the first target does not count, if it is ``<s>``: that is our forced first token. Its
RAG-Sequence adds log p(z|x) to the second target, so an answer whose second target is padding loses the prior; labels
of start, ``<s>``, answer and end never do. Its RAG-Token has no ``exclude_bos_score``: each token is a mixture of its
own, so the part of ``<s>`` is had by itself and taken off. Its thorough decoding generates without an attention mask
and so reads the padding of the contexts: there they are made equally long. Its RAG-Token `generate` heeds `max_length`,
which counts the start, and not `max_new_tokens`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.errors import BackendError, InputError
from pincite.marginalize.candidates import thorough
from pincite.marginalize.decode import greedy
from pincite.marginalize.prior import log_prior
from pincite.marginalize.rag_sequence import sequence_logprob, totals
from pincite.marginalize.rag_token import token_logprobs
from pincite.protocols import Context
from pincite.scorers.choose import choose_scorer
from pincite.scorers.fusion_in_decoder import FusionInDecoderScorer
from pincite.scorers.rag_checkpoint import RagForm, rag_form
from pincite.scorers.seq2seq import Seq2SeqScorer
from toys_models import BOS, EOS, PAD, byte_tokenizer, make_rag, make_seq2seq, save_rag

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="the reference is not installed")

PASSAGES = [
    ("Harbour", "The lease of the harbour ends in the year 1871."),
    ('"Algae"', "Photosynthesis needs  light."),
    ("Rent", "The tenant pays; the lease does not say when, and nobody asked."),
    ("", "It was."),
    ("House", "naïve café 🙂 in the winter the house is shut"),
]
QUESTIONS = ["when does the lease end", "who pays the rent of the house in winter?"]
ANSWERS = ["1871", "the tenant"]
SCORES = [[2.5, 0.3, 1.1, -0.7, 0.9], [0.1, 1.9, 1.4, 0.2, -1.0]]
TOLERANCE = 1e-4


def model_and_scorer(folder: Path, kind: str, generator: str = "bart", **options: Any) -> tuple[Any, Seq2SeqScorer]:
    """The reference, and ours from the checkpoint that it saved."""
    model = make_rag(kind, generator=generator)
    path = save_rag(folder / f"{kind}-{generator}", model)
    return model, Seq2SeqScorer(str(path), **options)


@pytest.fixture(scope="module")
def sequence(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Seq2SeqScorer]:
    return model_and_scorer(tmp_path_factory.mktemp("rag"), "sequence")


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Seq2SeqScorer]:
    return model_and_scorer(tmp_path_factory.mktemp("rag"), "token")


def contexts(question: str, k: int) -> list[Context]:
    return [RagForm().context(title, text, question) for title, text in PASSAGES[:k]]


def equally_long(index: int, k: int) -> list[Context]:
    """The contexts of a question with full stops at the end, a token each, so that none is padded."""
    tokenizer = byte_tokenizer(closing=True)
    texts = ["".join(each) for each in contexts(QUESTIONS[index], k)]
    lengths = [len(tokenizer(each)["input_ids"]) for each in texts]
    return [(text + " " + "." * (max(lengths) - length),) for text, length in zip(texts, lengths, strict=True)]


def given(questions: Sequence[int], k: int, texts: Sequence[str] = ()) -> dict[str, Any]:
    """What the reference is handed instead of a retriever: tokens of the contexts, padded, and scores."""
    texts = texts or ["".join(each) for index in questions for each in contexts(QUESTIONS[index], k)]
    made = byte_tokenizer(closing=True)(texts, padding=True, return_tensors="pt")
    return {
        "context_input_ids": made["input_ids"],
        "context_attention_mask": made["attention_mask"],
        "doc_scores": torch.tensor([SCORES[index][:k] for index in questions]),
        "n_docs": k,
    }


def labels(answers: Sequence[Sequence[int]], *, first: Sequence[int] = (EOS, BOS)) -> Any:
    rows = [[*first, *answer, EOS] for answer in answers]
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def ours(scorer: Seq2SeqScorer, index: int, k: int, answer: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """log p(z|x) of shape (k,), and log p(y_i|x,z,y<i) of shape (k, tokens and the end)."""
    reading = scorer.read(contexts(QUESTIONS[index], k))
    (scores,) = reading.score([answer], end=True)
    reading.close()
    return log_prior(SCORES[index][:k]), scores


def answer_of(generated: Any, begins: int = 2) -> tuple[int, ...]:
    """The answer's tokens of a generated sequence: after start and first, before the end and padding."""
    tokens = generated.tolist()[begins:]
    if EOS in tokens:
        tokens = tokens[: tokens.index(EOS)]
    return tuple(tokens)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_rag_sequence_is_the_references(sequence: tuple[Any, Seq2SeqScorer], k: int) -> None:
    model, scorer = sequence
    answers = [scorer.encode(each) for each in ANSWERS]
    with torch.no_grad():
        loss = model(**given([0, 1], k), labels=labels(answers), exclude_bos_score=True).loss
    for index, answer in enumerate(answers):
        prior, scores = ours(scorer, index, k, answer)
        assert float(sequence_logprob(prior, totals(scores))) == pytest.approx(-float(loss[index]), abs=TOLERANCE)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_rag_token_is_the_references(token: tuple[Any, Seq2SeqScorer], k: int) -> None:
    model, scorer = token
    answers = [scorer.encode(each) for each in ANSWERS]
    with torch.no_grad():
        loss = model(**given([0, 1], k), labels=labels(answers)).loss
        first = model(**given([0, 1], k), labels=torch.tensor([[EOS, BOS]] * 2)).loss
    for index, answer in enumerate(answers):
        prior, scores = ours(scorer, index, k, answer)
        found = float(token_logprobs(prior, scores).sum())
        assert found == pytest.approx(float(first[index] - loss[index]), abs=TOLERANCE)
        # The two models differ, so the agreement above says something.
        if k == 5:
            assert abs(found - float(sequence_logprob(prior, totals(scores)))) > 10 * TOLERANCE


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("kind", ["sequence", "token"])
def test_a_t5_generator_begins_with_padding_and_has_no_first_token(tmp_path: Path, kind: str, k: int) -> None:
    model = make_rag(kind, generator="t5")
    path = save_rag(tmp_path / "rag", model)
    # A T5 tokenizer puts nothing before a text.
    byte_tokenizer(opening=False, closing=True).save_pretrained(str(path / "generator_tokenizer"))
    scorer = Seq2SeqScorer(str(path))
    answer = scorer.encode(ANSWERS[0])
    texts = ["".join(each) for each in contexts(QUESTIONS[0], k)]
    made = byte_tokenizer(opening=False, closing=True)(texts, padding=True, return_tensors="pt")
    handed = given([0], k) | {
        "context_input_ids": made["input_ids"],
        "context_attention_mask": made["attention_mask"],
    }
    with torch.no_grad():
        loss = model(**handed, labels=labels([answer], first=[PAD])).loss
    prior, scores = ours(scorer, 0, k, answer)
    mixed = sequence_logprob(prior, totals(scores)) if kind == "sequence" else token_logprobs(prior, scores).sum()
    assert float(mixed) == pytest.approx(-float(loss[0]), abs=TOLERANCE)


def test_without_the_first_token_the_model_is_asked_for_it(token: tuple[Any, Seq2SeqScorer]) -> None:
    model, forced = token
    free = Seq2SeqScorer(forced.path_or_name, force_first=False)
    answer = free.encode(ANSWERS[1])
    with torch.no_grad():
        loss = model(**given([1], 5), labels=labels([[BOS, *answer]], first=[EOS])).loss
    prior, scores = ours(free, 1, 5, [BOS, *answer])
    assert float(token_logprobs(prior, scores).sum()) == pytest.approx(-float(loss[0]), abs=TOLERANCE)


def test_the_reference_loses_the_prior_of_an_answer_without_second_target(sequence: tuple[Any, Seq2SeqScorer]) -> None:
    model, scorer = sequence
    (one,) = scorer.encode("x")
    free = Seq2SeqScorer(scorer.path_or_name, force_first=False)
    with torch.no_grad():
        loss = model(**given([0], 5), labels=torch.tensor([[EOS, one]])).loss
    reading = free.read(contexts(QUESTIONS[0], 5))
    (scores,) = reading.score([[one]])
    # Its sum over the passages is then of p(y|x,z) alone, and may be more than 1; ours is a probability.
    assert -float(loss[0]) == pytest.approx(float(np.logaddexp.reduce(scores[:, 0])), abs=TOLERANCE)
    assert float(sequence_logprob(log_prior(SCORES[0]), scores[:, 0])) < -float(loss[0])


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("forced", [True, False], ids=["first token forced", "free"])
def test_greedy_rag_token_is_generate(token: tuple[Any, Seq2SeqScorer], k: int, forced: bool) -> None:
    model, scorer = token
    if not forced:
        scorer = Seq2SeqScorer(scorer.path_or_name, force_first=False)
    for index in range(2):
        extra = {"forced_bos_token_id": BOS} if forced else {}
        with torch.no_grad():
            generated = model.generate(**given([index], k), num_beams=1, max_length=13, **extra)[0]
        expected = answer_of(generated, 1 + forced)
        reading = scorer.read(contexts(QUESTIONS[index], k))
        found = greedy(reading, log_prior(SCORES[index][:k]), scorer.ends, max_tokens=12 - forced)
        assert found.tokens == expected
        assert len(expected) > 2
        assert str(found.certainty) == "exact"


@pytest.mark.parametrize("beams", [1, 3])
def test_thorough_decoding_finds_what_the_reference_finds(sequence: tuple[Any, Seq2SeqScorer], beams: int) -> None:
    model, scorer = sequence
    k = 5
    for index in range(2):
        level = equally_long(index, k)
        handed = given([index], k, ["".join(each) for each in level])
        assert bool(handed["context_attention_mask"].all())
        with torch.no_grad():
            candidates = model.generator.generate(
                handed["context_input_ids"],
                num_beams=beams,
                num_return_sequences=beams,
                forced_bos_token_id=BOS,
                max_new_tokens=6,
            )
            best = model.generate(
                **handed,
                num_beams=beams,
                num_return_sequences=1,
                forced_bos_token_id=BOS,
                max_new_tokens=6,
            )[0]
        theirs = sorted({tuple(each.tolist()) for each in candidates})
        prior = log_prior(SCORES[index])
        reading = scorer.read(level)
        # Every candidate of theirs has the score they give it, the end only where the candidate has one.
        scores = {}
        for each in theirs:
            with torch.no_grad():
                loss = model(**handed, labels=torch.tensor([each]), exclude_bos_score=True).loss
            tokens = answer_of(torch.tensor(each))
            (mine,) = reading.score([tokens], end=True)
            counted = mine if EOS in each[2:] else mine[:, :-1]
            scores[each] = float(sequence_logprob(prior, totals(counted)))
            assert scores[each] == pytest.approx(-float(loss[0]), abs=TOLERANCE)
        chosen = max(theirs, key=scores.__getitem__)
        assert answer_of(torch.tensor(chosen)) == answer_of(best)
        if beams == 1:
            found = thorough(reading, prior, scorer.ends, max_tokens=5, score_end=False)
            assert {each.tokens for each in found} == {answer_of(torch.tensor(each)) for each in theirs}


def test_a_context_is_written_as_the_references_retriever_writes_it(sequence: tuple[Any, Seq2SeqScorer]) -> None:
    from types import SimpleNamespace

    import transformers

    seen: list[str] = []

    def tokenizer(texts: list[str], **_: Any) -> dict[str, Any]:
        seen.extend(texts)
        return {"input_ids": [], "attention_mask": []}

    model, scorer = sequence
    retriever = SimpleNamespace(config=model.config, generator_tokenizer=tokenizer)
    docs = [{"title": [title for title, _ in PASSAGES], "text": [text for _, text in PASSAGES]}]
    for prefix in (None, "read:  "):
        seen.clear()
        transformers.RagRetriever.postprocess_docs(retriever, docs, [QUESTIONS[0]], prefix, len(PASSAGES))
        form = RagForm(prefix=prefix or "")
        assert seen == ["".join(form.context(title, text, QUESTIONS[0])) for title, text in PASSAGES]
    assert rag_form(scorer.path_or_name) == RagForm()


def test_the_form_is_read_from_the_checkpoint(tmp_path: Path) -> None:
    model = make_rag("token", title_sep=" | ", doc_sep=" || ", n_docs=7, max_combined_length=99, prefix="p: ")
    path = save_rag(tmp_path / "rag", model)
    assert rag_form(str(path)) == RagForm(" | ", " || ", "p: ", 7, 99)
    with pytest.raises(InputError, match="no RAG checkpoint"):
        rag_form(str(make_seq2seq(tmp_path / "bart", "bart")))


@pytest.mark.parametrize("kind", ["sequence", "token"])
def test_a_saved_checkpoint_gives_the_generators_own_numbers(tmp_path: Path, kind: str) -> None:
    model, scorer = model_and_scorer(tmp_path, kind)
    assert isinstance(choose_scorer(scorer.path_or_name), Seq2SeqScorer)
    assert scorer.ends == {EOS}
    handed = given([0], 2)
    with torch.no_grad():
        logits = model.generator(
            input_ids=handed["context_input_ids"],
            attention_mask=handed["context_attention_mask"],
            decoder_input_ids=torch.tensor([[EOS, BOS]] * 2),
        ).logits[:, -1]
    reading = scorer.read(contexts(QUESTIONS[0], 2))
    np.testing.assert_allclose(reading.next_tokens().logprobs, logits.log_softmax(-1).numpy(), atol=TOLERANCE)


def test_a_checkpoint_that_is_pickled_or_not_whole_is_refused(tmp_path: Path) -> None:
    model = make_rag("token")
    path = save_rag(tmp_path / "rag", model)
    weights = path / "model.safetensors"
    kept = weights.read_bytes()
    weights.unlink()
    torch.save({}, path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"pytorch_model\.bin.*pickle"):
        Seq2SeqScorer(str(path)).read([("x",)])
    # Weights of the generator alone are not a whole RAG model: what lacks would be random.
    weights.write_bytes(kept)
    from safetensors.torch import load_file, save_file

    tensors = {name: value for name, value in load_file(weights).items() if "decoder.layers.1" not in name}
    save_file(tensors, weights, metadata={"format": "pt"})
    with pytest.raises(BackendError, match="lacks"):
        Seq2SeqScorer(str(path)).read([("x",)])


@pytest.mark.parametrize("kind", ["t5", "bart"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_fusion_in_decoder_is_one_decoder_over_all_states(tmp_path: Path, kind: str, k: int) -> None:
    import transformers
    from transformers.modeling_outputs import BaseModelOutput

    path = make_seq2seq(tmp_path / kind, kind)
    scorer = FusionInDecoderScorer(str(path), max_rows=2)
    answer = scorer.encode(ANSWERS[1])
    texts = ["".join(each) for each in contexts(QUESTIONS[1], k)]
    made = byte_tokenizer(opening=kind == "bart", closing=True)(texts, padding=True, return_tensors="pt")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(str(path)).eval()
    start = [EOS, BOS] if kind == "bart" else [PAD]
    with torch.no_grad():
        states = model.get_encoder()(input_ids=made["input_ids"], attention_mask=made["attention_mask"])[0]
        # As the paper's code has it: (k, n, d) becomes (1, k · n, d), padding masked.
        logits = model(
            encoder_outputs=BaseModelOutput(last_hidden_state=states.reshape(1, -1, states.shape[-1])),
            attention_mask=made["attention_mask"].reshape(1, -1),
            decoder_input_ids=torch.tensor([[*start, *answer]]),
        ).logits
    expected = logits.log_softmax(-1)[0, len(start) - 1 :].numpy()
    reading = scorer.read(contexts(QUESTIONS[1], k))
    assert reading.rows == 1
    np.testing.assert_allclose(reading.next_tokens().logprobs[0], expected[0], atol=TOLERANCE)
    (score,) = reading.score([answer], end=True)
    np.testing.assert_allclose(score[0], [expected[i, each] for i, each in enumerate([*answer, EOS])], atol=TOLERANCE)
    # Passages in another order are the same passages.
    backward = scorer.read(contexts(QUESTIONS[1], k)[::-1])
    np.testing.assert_allclose(backward.next_tokens().logprobs[0], expected[0], atol=TOLERANCE)
