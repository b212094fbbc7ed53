"""DPR: two towers, compared with transformers' own classes; what is refused, and why."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pincite.build import build_encoder
from pincite.config import EncoderSettings, Settings
from pincite.encoders.dpr import DprEncoder, load_dpr
from pincite.errors import BackendError, ConfigError, EncoderMismatchError, InputError, MissingExtraError
from pincite.identity import check_identity, probe_vectors
from pincite.protocols import Encoder, StoreHeader
from pincite.rerankers.late_interaction import LateInteractionReranker
from pincite.store.edge import EdgeStore
from toys import make_chunks, make_document
from toys_dpr import make_dpr, make_dpr_rag, make_pair, wordpiece_tokenizer
from toys_models import needed

if TYPE_CHECKING:
    from pincite.protocols import Matrix

TEXTS = ["who pays the rent", "", "the tenant pays rent of 1250 by the third", "word " * 20, "café 第三条", "x"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    needed()
    return make_pair(tmp_path_factory.mktemp("dpr"))


@pytest.fixture(scope="module")
def rag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needed()
    return make_dpr_rag(tmp_path_factory.mktemp("rag") / "model")


def load(pair: tuple[str, str], **options: Any) -> DprEncoder:
    return load_dpr(*pair, threads=1, **options)


def reference(model: Any, texts: list[str], titles: list[str] | None = None) -> Matrix:
    """`pooler_output` of each text alone, without padding, as transformers' tokenizer and model make it."""
    import torch

    tokenizer = wordpiece_tokenizer()
    rows = []
    for number, text in enumerate(texts):
        parts = (text,) if titles is None else (titles[number], text)
        ids = tokenizer(*parts, truncation=True, max_length=40, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            rows.append(model(ids).pooler_output[0].numpy())
    return np.stack(rows)


def own(class_name: str, folder: str) -> Any:
    return getattr(needed(), class_name).from_pretrained(folder).eval()


def edit(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


def test_both_towers_give_the_pooler_output_of_transformers(pair: tuple[str, str]) -> None:
    encoder = load(pair)
    questions, passages = encoder.encode_queries(TEXTS), encoder.encode_passages(TEXTS)
    wanted = reference(own("DPRQuestionEncoder", pair[0]), TEXTS), reference(own("DPRContextEncoder", pair[1]), TEXTS)
    np.testing.assert_allclose(questions, wanted[0], atol=1e-5)
    np.testing.assert_allclose(passages, wanted[1], atol=1e-5)
    np.testing.assert_allclose(questions @ passages.T, wanted[0] @ wanted[1].T, rtol=1e-4, atol=1e-4)
    assert questions.dtype == passages.dtype == np.float32
    assert np.abs(questions - passages).max() > 0.1
    assert np.abs(wanted[0][0] - wanted[0][2]).max() > 0.1  # texts differ, so the oracle can tell


def test_vectors_are_not_scaled(pair: tuple[str, str]) -> None:
    lengths = np.linalg.norm(load(pair).encode_passages(TEXTS), axis=1)
    assert (np.abs(lengths - 1) > 0.1).all()
    assert load(pair).identity.normalize is False


def test_a_projection_is_part_of_the_tower(tmp_path: Path) -> None:
    needed()
    pair = make_pair(tmp_path, projection_dim=8)
    encoder = load(pair)
    assert encoder.identity.dimension == 8
    np.testing.assert_allclose(
        encoder.encode_passages(TEXTS), reference(own("DPRContextEncoder", pair[1]), TEXTS), atol=1e-5
    )


@pytest.mark.parametrize("pad", [0, 4])
def test_neither_batch_nor_padding_nor_order_changes_a_vector(tmp_path: Path, pad: int) -> None:
    """Whichever token the configuration pads with: the model takes that one for padding unless it is told."""
    needed()
    encoder = load(make_pair(tmp_path, pad_token_id=pad))
    for encode in (encoder.encode_queries, encoder.encode_passages):
        together = encode(TEXTS)
        alone = np.concatenate([encode([text]) for text in TEXTS])
        np.testing.assert_allclose(together, alone, atol=1e-5)
        np.testing.assert_allclose(encode(TEXTS[::-1])[::-1], together, atol=1e-5)
        assert encode([]).shape == (0, 32)


def test_the_form_of_training_is_title_separator_text(pair: tuple[str, str]) -> None:
    titles, texts = ["title of rent", "hello"], ["the tenant pays", "word of the elephant"]
    wanted = reference(own("DPRContextEncoder", pair[1]), texts, titles)
    written = [f"{title} [SEP] {text}" for title, text in zip(titles, texts, strict=True)]
    encoder = load(pair)
    np.testing.assert_allclose(encoder.encode_passages(written), wanted, atol=1e-5)
    plain = [written_one.replace(" [SEP] ", "\n") for written_one in written]
    assert np.abs(encoder.encode_passages(plain) - wanted).max() > 1e-2


def test_prefixes_and_limits(pair: tuple[str, str]) -> None:
    encoder = load(pair, query_prefix="word ", passage_prefix="title ")
    np.testing.assert_allclose(encoder.encode_queries(["x"]), load(pair).encode_queries(["word x"]), atol=1e-6)
    np.testing.assert_allclose(encoder.encode_passages(["x"]), load(pair).encode_passages(["title x"]), atol=1e-6)
    assert (encoder.identity.query_prefix, encoder.identity.passage_prefix) == ("word ", "title ")
    assert (load(pair).max_tokens, encoder.max_tokens, encoder.identity.max_tokens) == (38, 37, 40)


@pytest.mark.parametrize("class_name", ["RagSequenceForGeneration", "RagTokenForGeneration", "RagModel"])
def test_the_question_encoder_of_a_rag_checkpoint(pair: tuple[str, str], tmp_path: Path, class_name: str) -> None:
    needed()
    folder = make_dpr_rag(tmp_path / "rag", class_name=class_name)
    encoder = load((str(folder), pair[1]))
    model = own(class_name, str(folder))
    wanted = reference((model if class_name == "RagModel" else model.rag).question_encoder, TEXTS)
    np.testing.assert_allclose(encoder.encode_queries(TEXTS), wanted, atol=1e-5)
    # Its scores are those that the checkpoint's own p(z|x) is a softmax of.
    scores = encoder.encode_queries(TEXTS[:1]) @ encoder.encode_passages(TEXTS).T
    theirs = wanted[:1] @ reference(own("DPRContextEncoder", pair[1]), TEXTS).T
    np.testing.assert_allclose(scores, theirs, rtol=1e-4, atol=1e-4)


def test_a_rag_checkpoint_holds_no_passage_encoder(pair: tuple[str, str], rag: Path) -> None:
    with pytest.raises(InputError, match="no passage encoder"):
        load((pair[0], str(rag)))


def test_the_identity_is_of_the_pair(pair: tuple[str, str], rag: Path, tmp_path: Path) -> None:
    question = make_dpr(tmp_path / "q", "DPRQuestionEncoder", seed=7)
    passage = make_dpr(tmp_path / "p", "DPRContextEncoder", seed=8)
    pairs = [pair, (str(question), pair[1]), (pair[0], str(passage)), (str(rag), pair[1])]
    assert len({load(each).identity.revision for each in pairs}) == 4
    copied = shutil.copytree(pair[0], tmp_path / "copy")
    assert replace(load((str(copied), pair[1])).identity, name="") == replace(load(pair).identity, name="")


def test_an_index_is_searched_by_cosine_and_refuses_another_question_tower(
    pair: tuple[str, str], tmp_path: Path
) -> None:
    encoder = load(pair)
    texts = ["the tenant pays rent", "elephant", "hello word hello word", "number 5 of the thread", "paid by cafe"]
    document = make_document("\n".join(texts))
    chunks = make_chunks(document)
    vectors = encoder.encode_passages(texts)
    probes = tuple(tuple(float(x) for x in probe) for probe in probe_vectors(encoder))
    with EdgeStore.create(tmp_path / "index", StoreHeader(encoder.identity, probes, "english")) as store:
        ticket = store.stage(document)
        store.stage_chunks(ticket, chunks, [""] * len(chunks), vectors)
        store.commit([ticket])
        query = encoder.encode_queries(["who pays the rent"])[0]
        hits = store.search_dense(query, len(texts), exact=True)
        cosines = (vectors @ query) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
        names = [chunk.id for chunk in chunks]
        assert [hit.chunk_id for hit in hits] == [names[i] for i in np.argsort(-cosines)]
        np.testing.assert_allclose([hit.score for hit in hits], np.sort(cosines)[::-1], atol=1e-5)
        check_identity(store, encoder)
        other = make_dpr(tmp_path / "q", "DPRQuestionEncoder", seed=7)
        with pytest.raises(EncoderMismatchError, match="revision"):
            check_identity(store, load((str(other), pair[1])))


def test_it_has_no_token_vectors(pair: tuple[str, str]) -> None:
    encoder = load(pair)
    assert isinstance(encoder, Encoder)
    with pytest.raises(InputError, match="token vectors"):
        LateInteractionReranker(encoder)


# What is refused


def test_towers_in_the_wrong_order(pair: tuple[str, str]) -> None:
    with pytest.raises(InputError, match=r"DPRQuestionEncoder.*DPRContextEncoder.*QUESTION_MODEL,PASSAGE_MODEL"):
        load((pair[1], pair[0]))
    with pytest.raises(InputError, match=r"passage model.*DPRContextEncoder"):
        load((pair[0], pair[0]))


def test_a_folder_that_is_no_tower(pair: tuple[str, str], tmp_path: Path) -> None:
    shutil.copytree(pair[0], folder := tmp_path / "q")
    for values in (
        {"model_type": "bert", "architectures": ["BertModel"]},
        {"architectures": None, "model_type": "dpr"},
        {"architectures": ["DPRReader"]},
    ):
        edit(folder, **values)
        with pytest.raises(InputError, match="architectures"):
            load((str(folder), pair[1]))
    edit(folder, model_type="rag", question_encoder={"model_type": "bert", "hidden_size": 32})
    with pytest.raises(InputError, match="'bert', not dpr"):
        load((str(folder), pair[1]))
    edit(folder, model_type="dpr", architectures=["DPRQuestionEncoder"], hidden_size=None)
    with pytest.raises(InputError, match="hidden_size"):
        load((str(folder), pair[1]))


def test_pickled_weights_are_refused_and_it_says_how_to_convert(pair: tuple[str, str], tmp_path: Path) -> None:
    shutil.copytree(pair[1], folder := tmp_path / "p")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"only pytorch_model\.bin.*pickled.*save_pretrained"):
        load((pair[0], str(folder)))
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(InputError, match=r"no model\.safetensors.*save_pretrained"):
        load((pair[0], str(folder)))


def test_a_missing_tokenizer_says_how_to_make_one(pair: tuple[str, str], rag: Path, tmp_path: Path) -> None:
    transformers = needed()
    shutil.copytree(pair[1], folder := tmp_path / "p")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r" AutoTokenizer\.from_pretrained.*save_pretrained"):
        load((pair[0], str(folder)))
    # What is said is what helps: the published RAG checkpoints have a vocabulary alone.
    shutil.copytree(rag, question := tmp_path / "rag")
    words = question / "question_encoder_tokenizer"
    vocabulary = json.loads((words / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    shutil.rmtree(words)
    words.mkdir()
    (words / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)), encoding="utf-8")
    with pytest.raises(InputError, match=r" RagTokenizer\.from_pretrained.*save_pretrained"):
        load((str(question), pair[1]))
    transformers.RagTokenizer.from_pretrained(str(question)).save_pretrained(str(question))
    found = load((str(question), pair[1])).encode_queries(TEXTS)
    np.testing.assert_allclose(found, load((str(rag), pair[1])).encode_queries(TEXTS), atol=1e-5)


def test_dimensions_that_differ(pair: tuple[str, str], tmp_path: Path) -> None:
    small = make_dpr(tmp_path / "p", "DPRContextEncoder", projection_dim=8)
    with pytest.raises(InputError, match="dimension 32, the passage model of 8"):
        load((pair[0], str(small)))


def drop(file: Path, part: str) -> None:
    """The same weights without those whose names have `part`."""
    from safetensors.torch import load_file, save_file

    weights = load_file(file)
    left = {name: value for name, value in weights.items() if part not in name}
    assert 0 < len(left) < len(weights)
    save_file(left, file, metadata={"format": "pt"})


def test_weights_that_are_missing_are_not_made_up(pair: tuple[str, str], rag: Path, tmp_path: Path) -> None:
    shutil.copytree(pair[1], passage := tmp_path / "p")
    drop(passage / "model.safetensors", "layer.1.output")
    with pytest.raises(BackendError, match="lacks 4 weights of a DPRContextEncoder"):
        load((pair[0], str(passage))).encode_passages(["x"])
    shutil.copytree(rag, question := tmp_path / "rag")
    drop(question / "model.safetensors", "question_encoder.bert_model.encoder.layer.0.attention.output.dense")
    with pytest.raises(BackendError, match="lacks 2 weights of a DPRQuestionEncoder"):
        load((str(question), pair[1])).encode_queries(["x"])
    drop(question / "model.safetensors", "question_encoder.")
    with pytest.raises(BackendError, match="no question encoder"):
        load((str(question), pair[1])).encode_queries(["x"])


def test_a_passage_model_that_says_it_is_a_question_model(pair: tuple[str, str], tmp_path: Path) -> None:
    """The weights tell: under the other class every one of them would be random."""
    shutil.copytree(pair[1], folder := tmp_path / "p")
    edit(folder, architectures=["DPRQuestionEncoder"])
    with pytest.raises(BackendError, match="weights of a DPRQuestionEncoder"):
        load((str(folder), pair[1])).encode_queries(["x"])


def test_damaged_weights(pair: tuple[str, str], rag: Path, tmp_path: Path) -> None:
    shutil.copytree(pair[0], plain := tmp_path / "q")
    shutil.copytree(rag, question := tmp_path / "rag")
    for folder in (plain, question):
        (folder / "model.safetensors").write_bytes(b"no weights")
        with pytest.raises(BackendError, match=folder.name):
            load((str(folder), pair[1])).encode_queries(["x"])


def test_without_torch_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pincite\[transformers\]"):
        load_dpr("q", "p")


# By name


def settings(**values: Any) -> Settings:
    return Settings(encoder=EncoderSettings(threads=1, **values))


def test_it_is_built_by_name(pair: tuple[str, str]) -> None:
    encoder = build_encoder(settings(model=f"dpr:{pair[0]}, {pair[1]}", query_prefix="word "))
    assert isinstance(encoder, DprEncoder)
    assert encoder.identity.name == f"dpr:{pair[0]},{pair[1]}"
    wanted = load(pair, query_prefix="word ").encode_queries(["x"])
    np.testing.assert_allclose(encoder.encode_queries(["x"]), wanted, atol=1e-6)


@pytest.mark.parametrize("model", ["dpr:", "dpr:a", "dpr:a,", "dpr:,b", "dpr:a,b,c"])
def test_a_name_that_is_no_pair(model: str) -> None:
    with pytest.raises(ConfigError, match="dpr:QUESTION_MODEL,PASSAGE_MODEL"):
        build_encoder(settings(model=model))


# Encoders of one tower, by `TransformerEncoder`


@pytest.mark.parametrize("side", [0, 1])
def test_one_tower_alone_says_how_to_name_both(pair: tuple[str, str], side: int) -> None:
    with pytest.raises(BackendError, match="dpr:QUESTION_MODEL,PASSAGE_MODEL"):
        build_encoder(settings(model=pair[side])).encode_passages(["x"])


def test_a_model_without_some_of_its_weights_is_refused(tmp_path: Path) -> None:
    transformers = needed()
    tokenizer = wordpiece_tokenizer()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=40,
    )
    transformers.BertModel(config).save_pretrained(str(tmp_path))
    tokenizer.save_pretrained(str(tmp_path))
    whole = build_encoder(settings(model=str(tmp_path))).encode_passages(TEXTS)
    drop(tmp_path / "model.safetensors", "pooler.")  # what is not read may be absent
    np.testing.assert_allclose(build_encoder(settings(model=str(tmp_path))).encode_passages(TEXTS), whole, atol=1e-6)
    drop(tmp_path / "model.safetensors", "layer.1.attention.self.query")
    with pytest.raises(BackendError, match="lacks 2 weights of a BertModel"):
        build_encoder(settings(model=str(tmp_path))).encode_passages(TEXTS)
