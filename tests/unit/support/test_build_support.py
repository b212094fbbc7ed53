from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pincite import Pincite
from pincite.config import load_settings
from pincite.errors import ConfigError, InputError
from pincite.support.by_generator import ReplyJudge, TokenJudge
from pincite.support.lexical import LexicalSupport
from pincite.support.nli import NliSupport
from pincite.support.semantic import SemanticSupport
from pincite.support_models import build_support
from toys import ToyEncoder
from toys_support import write_nli


def built(**values: Any) -> Any:
    overrides = {name.replace("_", ".", 1): value for name, value in values.items()}
    return build_support(load_settings(environment={}, overrides=overrides), ToyEncoder())


def test_the_default_is_lexical() -> None:
    assert isinstance(built(), LexicalSupport)


def test_semantic() -> None:
    scorer = built(support_model="semantic", support_threshold=0.6)
    assert isinstance(scorer, SemanticSupport)
    assert scorer.threshold == 0.6
    assert built(support_model="semantic").threshold != 0.6


def test_nli(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx, which builds the model, is not installed")
    folder = write_nli(tmp_path / "follows")
    scorer = built(support_model=f"nli:{folder}", support_threshold=0.8, encoder_threads=1)
    assert isinstance(scorer, NliSupport)
    assert (scorer.name, scorer.threshold, scorer.threads) == ("nli:follows", 0.8, 1)


def test_a_judge_that_replies() -> None:
    scorer = built(
        support_model="judge",
        answer_model="openai:some",
        answer_base_url="http://127.0.0.1:9/v1",
        answer_temperature=0.7,
        answer_marginalize="token",
    )
    assert isinstance(scorer, ReplyJudge)
    assert scorer.name.startswith("judge:openai:some/")
    assert vars(scorer.generator)["temperature"] == 0.0
    assert built(support_model="judge", answer_model="ollama:other").name.startswith("judge:ollama:other/")


def test_a_judge_that_scores() -> None:
    scorer = built(support_model="judge", answer_model="local:some.gguf", answer_passages=3, support_threshold=0.9)
    assert isinstance(scorer, TokenJudge)
    assert (scorer.rows, scorer.threshold) == (3, 0.9)
    assert scorer.name.startswith("judge:local:some/")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"support_model": "guess"}, "lexical, semantic, nli:PATH"),
        ({"support_model": "lexical:x"}, "not known"),
        ({"support_model": "nli:"}, "not known"),
        ({"support_model": "judge:x"}, "not known"),
        ({"support_threshold": 0.5}, "lexical has none"),
        ({"support_model": "judge"}, "'extractive' cannot be asked"),
        ({"support_model": "judge", "answer_model": "local"}, "no better than chance"),
        ({"support_model": "judge", "answer_model": "fid:x"}, "cannot be asked"),
        ({"support_model": "judge", "answer_model": "ollama:x", "support_threshold": 0.5}, "replies with a letter"),
        ({"support_model": "judge", "answer_model": "openai:x"}, "needs a key"),
        ({"support_model": "semantic", "support_threshold": 1.0}, "support.threshold"),
    ],
)
def test_what_cannot_be_built_is_told(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        built(**values)


def test_a_folder_that_is_not_there_is_an_error_at_start(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model folder"):
        Pincite.open(tmp_path / "index", support_model="nli:/there/is/nothing")


def test_an_index_judges_with_what_is_set(tmp_path: Path) -> None:
    file = tmp_path / "pump.txt"
    file.write_text("The pump was built in Leeds. It stands in the hall.\n", encoding="utf-8")
    with Pincite.open(tmp_path / "index", support_model="semantic") as pincite:
        pincite.add(str(file))
        assert pincite.support.name == "semantic"
        answer = pincite.ask("Where was the pump built?")
        assert [citation.verdict for citation in answer.citations] == ["verbatim"]
