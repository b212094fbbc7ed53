"""What becomes of a marginalized answer on its way through the pipeline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pincite.answer_models import build_generator, build_scorer, marginalization
from pincite.chunkers.structure import StructureChunker
from pincite.cli.common import plain
from pincite.config import Settings
from pincite.errors import ConfigError
from pincite.formats import build_loaders
from pincite.generators.few_shot import FewShotFrame
from pincite.generators.marginal import MarginalGenerator
from pincite.generators.together import TogetherGenerator
from pincite.loaders.read import InProcessReader
from pincite.pipeline import Options, Pipeline
from pincite.protocols import Context
from pincite.store.edge import EdgeStore
from pincite.types import Answer
from toys import ToyEncoder, toy_header
from toys_scorer import TableScorer

WORDS = (" 500", " 900", " euros", "\n", "?", "!")
TEXTS = ("The tenant pays 500 euros a month.", "The tenant of the second house pays 900 euros a month.")


def table(context: Context, answer: tuple[int, ...]) -> Sequence[float]:
    if not answer:
        return (0.7, 0.1, 0.0, 0.0, 0.1, 0.1) if " 500 " in context[1] else (0.1, 0.8, 0.0, 0.0, 0.0, 0.1)
    return (0.0, 0.0, 0.9, 0.1, 0.0, 0.0) if answer[-1] < 2 else (0.0, 0.0, 0.0, 0.9, 0.1, 0.0)


def ask(folder: Path, scorer: TableScorer, question: str, **options: object) -> Answer:
    encoder = ToyEncoder()
    for i, text in enumerate(TEXTS):
        (folder / f"lease{i}.txt").write_text(text)
    pipeline = Pipeline(
        store=EdgeStore.create(folder / "index", toy_header(encoder)),
        encoder=encoder,
        chunker=StructureChunker(encoder.tokenizer, size=60),
        reader=InProcessReader(build_loaders()),
        generator=lambda: MarginalGenerator(scorer, "token", **options),  # type: ignore[arg-type]
        options=Options(),
    )
    pipeline.add([folder / f"lease{i}.txt" for i in range(len(TEXTS))])
    *pieces, answer = pipeline.stream(question)
    pipeline.close()
    assert isinstance(answer, Answer)
    assert "".join(str(piece) for piece in pieces) == answer.text
    return answer


def test_the_answer_holds_what_each_passage_was_worth(tmp_path: Path) -> None:
    answer = ask(tmp_path, TableScorer(WORDS, (3,), table), "How much does the tenant pay a month?")
    assert answer.text == "500 euros [1]"
    assert answer.citations[0].quote == TEXTS[0]
    assert answer.marginal is not None
    assert answer.probability == answer.marginal.probability
    assert "".join(token.text for token in answer.tokens) == "500 euros"
    assert [p.prior for p in answer.passages] == list(answer.marginal.priors)
    assert [p.posterior for p in answer.passages] == list(answer.marginal.posteriors)
    assert sum(p.prior or 0 for p in answer.passages) == pytest.approx(1)
    rent = next(p for p in answer.passages if "500" in p.chunk.text)
    assert rent.posterior is not None
    assert rent.prior is not None
    assert rent.posterior > rent.prior
    json.dumps(plain(answer), allow_nan=False)


def test_a_guess_from_short_lists_is_said(tmp_path: Path) -> None:
    answer = ask(tmp_path, TableScorer(WORDS, (3,), table, widest=1), "How much does the tenant pay a month?")
    assert answer.marginal is not None
    assert answer.marginal.certainty.startswith("approximate")
    assert any("too few tokens" in warning for warning in answer.warnings)


def test_an_abstention_tells_no_shares(tmp_path: Path) -> None:
    def refuses(_: Context, __: tuple[int, ...]) -> Sequence[float]:
        return (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)

    answer = ask(tmp_path, TableScorer(WORDS, (3,), refuses), "How much does the tenant pay a month?")
    assert answer.abstained
    assert answer.marginal is None
    assert answer.probability is None
    assert all(p.posterior is None for p in answer.passages)


@pytest.mark.parametrize(
    ("model", "wanted", "mode"),
    [
        ("extractive", "auto", "none"),
        ("transformers:somewhere", "auto", "token"),
        ("openai:some", "auto", "none"),
        ("openai:some", "sequence", "sequence"),
        ("fid:somewhere", "auto", "none"),
        ("local", "none", "none"),
    ],
)
def test_what_auto_is(model: str, wanted: str, mode: str) -> None:
    settings = Settings.model_validate({"answer": {"model": model, "marginalize": wanted}})
    assert marginalization(settings) == mode


def test_the_local_model_is_marginalized_where_its_probabilities_are_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.model_validate({"answer": {"model": "local"}})
    monkeypatch.setattr("pincite.answer_models.find_spec", lambda _: object())
    assert marginalization(settings) == "token"
    monkeypatch.setattr("pincite.answer_models.find_spec", lambda _: None)
    assert marginalization(settings) == "none"


def test_generators_by_name() -> None:
    pytest.importorskip("cyllama", reason="the extra 'local' is not installed")
    settings = Settings.model_validate({"answer": {"model": "local", "marginalize": "sequence", "passages": 3}})
    made = build_generator(settings, ToyEncoder())
    assert isinstance(made, MarginalGenerator)
    assert (made.mode, made.n_passages, made.scorer.max_rows) == ("sequence", 3, 3)  # type: ignore[attr-defined]
    assert isinstance(made.frame, FewShotFrame)
    assert made.name == "local:gemma-3-270m, RAG-Sequence"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"model": "extractive", "marginalize": "token"}, "extractive"),
        ({"model": "fid:x", "marginalize": "token"}, "fuses the passages"),
        ({"model": "openai:x", "marginalize": "token"}, "needs a key"),
        ({"model": "nonsense", "marginalize": "token"}, "is not known"),
        ({"model": "local", "marginalize": "token", "passages": 65}, "at most 64 passages"),
    ],
)
def test_settings_that_contradict_each_other(answer: dict[str, str], said: str) -> None:
    settings = Settings.model_validate({"answer": answer})
    with pytest.raises(ConfigError, match=said):
        build_generator(settings, ToyEncoder())


def test_no_scorer_for_sentences() -> None:
    with pytest.raises(ConfigError, match="no probability"):
        build_scorer(Settings())


def test_one_prompt_needs_no_mode() -> None:
    assert TogetherGenerator(TableScorer()).name == "table:0, one prompt"
    assert TogetherGenerator(TableScorer(), fused=True).name == "table:0, Fusion-in-Decoder"
