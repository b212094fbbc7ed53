from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pincite import build
from pincite.build import build_reranker
from pincite.config import RerankSettings, Settings, load_settings
from pincite.encoders.minilm import minilm
from pincite.errors import ConfigError, InputError, MissingExtraError, PinciteError
from pincite.generators.openai import OpenAIGenerator
from pincite.protocols import Reranker
from pincite.rerankers.cross_encoder import CrossEncoderReranker
from pincite.rerankers.late_interaction import LateInteractionReranker
from pincite.rerankers.likelihood import LikelihoodReranker
from pincite.rerankers.mmr import MmrReranker
from pincite.retrieve import retrieve
from pincite.store.edge import EdgeStore
from toys import ToyEncoder, make_chunks, make_document, toy_header
from toys_rerank import write_cross_encoder

if TYPE_CHECKING:
    from pincite.protocols import Encoder, Store


class NoStore:
    """Its vectors are named, not fetched, until something is reranked."""

    def vectors(self, chunk_ids: Any) -> Any:
        raise AssertionError(chunk_ids)


def made(model: str, *, encoder: object = None, answer: dict[str, Any] | None = None, **given: Any) -> Reranker | None:
    settings = Settings.model_validate({"rerank": {"model": model, **given}, "answer": answer or {}})
    return build_reranker(settings, cast("Encoder", encoder or ToyEncoder()), cast("Store", NoStore()))


def test_none_is_the_default() -> None:
    assert RerankSettings().model == "none"
    assert made("none") is None


def test_a_cross_encoder(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx, which builds the model, is not installed")
    write_cross_encoder(tmp_path / "counts")
    reranker = made(f"cross-encoder:{tmp_path / 'counts'}", depth=7, seconds=2.5, batch=3, weight=0.5)
    assert isinstance(reranker, CrossEncoderReranker)
    assert (reranker.name, reranker.depth) == ("cross-encoder:counts", 7)
    assert (reranker.seconds, reranker.batch, reranker.weight) == (2.5, 3, 0.5)
    assert made(f"cross-encoder:{tmp_path / 'counts'}").depth == 50  # type: ignore[union-attr]


def test_late_interaction() -> None:
    reranker = made("late-interaction", encoder=minilm(threads=1), depth=5)
    assert isinstance(reranker, LateInteractionReranker)
    assert reranker.depth == 5
    with pytest.raises(InputError, match="token vectors"):
        made("late-interaction")


def test_mmr() -> None:
    reranker = made("mmr", depth=9, mmr_lambda=0.25)
    assert isinstance(reranker, MmrReranker)
    assert (reranker.depth, reranker.weight) == (9, 0.25)
    assert made("mmr").weight == 0.7  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("mmr", {"seconds": 1}),
        ("mmr", {"batch": 4}),
        ("mmr", {"weight": 0.5}),
        ("late-interaction", {"mmr_lambda": 0.7}),
    ],
)
def test_a_setting_that_the_reranker_does_not_have_is_an_error(model: str, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="rerank"):
        made(model, **given)


def test_likelihood_of_an_endpoint() -> None:
    reranker = made("likelihood:openai:base:8b", answer={"base_url": "http://127.0.0.1:1/v1", "api_key": "k"})
    assert isinstance(reranker, LikelihoodReranker)
    assert isinstance(reranker.model, OpenAIGenerator)
    assert reranker.name == "likelihood:openai:base:8b"
    assert reranker.depth == 10
    with pytest.raises(ConfigError, match=r"answer\.base_url"):
        made("likelihood:openai:base")


def test_likelihood_of_the_local_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    with pytest.raises(ConfigError, match="not a file"):
        made(f"likelihood:{tmp_path / 'none.gguf'}")
    (tmp_path / "some.gguf").write_bytes(b"")
    assert made(f"likelihood:{tmp_path / 'some.gguf'}").name == "likelihood:local:some"  # type: ignore[union-attr]
    monkeypatch.setattr("pincite.generators.local.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pincite\[local\]"):
        made("likelihood")


@pytest.mark.parametrize(
    "model",
    [
        "",
        "None",
        "cross-encoder",
        "cross-encoder:",
        "late-interaction:x",
        "mmr:x",
        "none:x",
        "likelihood:openai",
        "colbert",
    ],
)
def test_an_unknown_one_is_an_error_that_names_what_there_is(model: str) -> None:
    with pytest.raises(ConfigError, match="none, cross-encoder:PATH, late-interaction, mmr, likelihood"):
        made(model)


def test_a_folder_that_is_not_there_is_an_error_at_the_start(tmp_path: Path) -> None:
    """Case 34: a stage that is asked for and cannot run does not turn into silence."""
    with pytest.raises(PinciteError, match="no model folder"):
        made(f"cross-encoder:{tmp_path / 'none'}")


@pytest.mark.parametrize(
    "wrong", ["depth = 0", "seconds = 0", "batch = 0", "weight = 0", "weight = 1.1", "mmr_lambda = -0.1", "dept = 3"]
)
def test_wrong_settings_are_errors(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "pincite.toml"
    file.write_text(f"[rerank]\n{wrong}\n")
    with pytest.raises(ConfigError, match=f"rerank.{wrong.split()[0]}"):
        load_settings(file, environment={})


def test_from_the_environment() -> None:
    settings = load_settings(environment={"PINCITE_RERANK_MODEL": "mmr", "PINCITE_RERANK_MMR_LAMBDA": "0.5"})
    assert (settings.rerank.model, settings.rerank.mmr_lambda) == ("mmr", 0.5)


def test_mmr_over_a_store(tmp_path: Path) -> None:
    """With the vectors that the index holds: of two lines that say the same the second goes behind the third."""
    encoder = ToyEncoder()
    document = make_document("the lease ends now\nthe lease ends now\nthe lease of a boat, rent and all the rest")
    chunks = make_chunks(document)
    with EdgeStore.create(tmp_path / "index", toy_header(encoder)) as store:
        ticket = store.stage(document)
        store.stage_chunks(ticket, chunks, [""] * 3, encoder.encode_passages([chunk.text for chunk in chunks]))
        store.commit([ticket])
        reranker = build_reranker(
            Settings(rerank=RerankSettings(model="mmr", mmr_lambda=0.1)), cast("Encoder", encoder), store
        )
        assert reranker is not None
        given = retrieve(store, "lease", encoder.encode_queries(["the lease ends now"])[0], k=3).passages
        assert [passage.chunk.ordinal for passage in given] == [0, 1, 2]
        found = reranker.rerank("lease", given).passages
        assert [passage.chunk.ordinal for passage in found] == [0, 2, 1]


def test_it_is_public() -> None:
    assert "build_reranker" in build.__all__
