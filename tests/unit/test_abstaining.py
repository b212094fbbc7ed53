"""The decision within the pipeline: the three outcomes, what is said, and a model that writes its own citations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite import Pincite
from pincite.abstaining import told_scope
from pincite.calibration import SEARCH, Calibration, Weights, save_calibration
from pincite.errors import ConfigError
from pincite.types import Answer, Generation, PointInTime, Prompt, Token

TEXT = "The tenant pays the rent on the third working day of each month."
QUESTION = "When does the tenant pay the rent for Flat77?"


class ToyCiting:
    """Writes the text of the first source, with its marker."""

    name = "toy"
    cites = True

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:  # noqa: ARG002
        for piece in (TEXT[:20], TEXT[20:], " [1]"):
            yield Token(piece)
        yield Generation(f"{TEXT} [1]")

    def close(self) -> None:
        """Nothing is held."""


def calibration(folder: Path, *, kind: str = SEARCH, encoder: str = "", weight: float = -8.0) -> str:
    """Refuses what names something that is missing."""
    weights = Weights(("missing",), (0.0,), (1.0,), (weight,), (None,), 2.0, 0.5)
    save_calibration(Calibration({kind: weights}, encoder), folder / "c.json")
    return str(folder / "c.json")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    with Pincite.open(tmp_path / "index", environment={}) as pincite:
        pincite.add_text(TEXT, name="lease.txt")
    return tmp_path / "index"


def ask(pincite: Pincite, question: str) -> tuple[str, Answer]:
    *pieces, answer = pincite.stream(question)
    assert isinstance(answer, Answer)
    return "".join(map(str, pieces)), answer


def test_the_three_outcomes(index: Path, tmp_path: Path) -> None:
    with Pincite.open(index, environment={}, answer_calibration=calibration(tmp_path)) as pincite:
        text, answer = ask(pincite, "When does the tenant pay the rent?")
        assert (answer.abstained, answer.confidence) == (False, pytest.approx(0.8808))
        text, answer = ask(pincite, QUESTION)
        assert text == answer.text
        assert (answer.abstained, answer.reason, answer.citations) == (True, "insufficient-evidence", ())
        assert answer.confidence == pytest.approx(0.0025, abs=1e-4)
        assert "Searched: the 1 document of the index. No passage mentions: Flat77. Nearest: " in text
        assert any("not given, for want of evidence" in each for each in answer.warnings)
        text, answer = ask(pincite, "Which volcano erupted near Naples?")
        assert (answer.reason, answer.model) == ("no-evidence", "")
        assert answer.evidence is not None
        assert answer.confidence is not None


def test_a_model_that_streams_is_told_apart_at_the_end(index: Path, tmp_path: Path) -> None:
    with Pincite.open(index, environment={}, answer_calibration=calibration(tmp_path)) as pincite:
        pincite._generator = ToyCiting()
        text, answer = ask(pincite, QUESTION)
        assert text == answer.text
        assert text.startswith(f"{TEXT} [1]\n\nThe passages found do not answer")
        assert (answer.abstained, answer.reason) == (True, "insufficient-evidence")
        assert answer.citations
        text, answer = ask(pincite, "When does the tenant pay the rent?")
        assert (text, answer.abstained) == (f"{TEXT} [1]", False)


def test_the_least_confidence_is_a_setting(index: Path, tmp_path: Path) -> None:
    file = calibration(tmp_path)
    for least, abstains in ((0.0, False), (0.9, True)):
        settings = {"environment": {}, "answer_calibration": file, "answer_least_confidence": least}
        with Pincite.open(index, **settings) as pincite:  # type: ignore[arg-type]
            assert pincite.ask("When does the tenant pay the rent?").abstained is abstains


def test_off_there_is_no_probability_and_of_another_encoder_none_is_taken(index: Path, tmp_path: Path) -> None:
    with Pincite.open(index, environment={}, answer_calibration="off") as pincite:
        answer = pincite.ask(QUESTION)
        assert answer.confidence is None
        assert answer.evidence is not None
        assert answer.evidence.missing == 1.0
    with pytest.raises(ConfigError, match="fitted with the encoder other"):
        Pincite.open(index, environment={}, answer_calibration=calibration(tmp_path, encoder="other"))
    with pytest.raises(ConfigError, match="cannot be read"):
        Pincite.open(index, environment={}, answer_calibration=str(tmp_path / "none.json"))


def test_where_was_looked() -> None:
    assert told_scope(None, None, 1) == "the 1 document of the index"
    assert told_scope({"title": "Lease", "year": [1, 2]}, None, 5) == "the documents with title=Lease, year=1 or 2"
    at = PointInTime("2024-06-30", "2024-07-01T00:00:00Z")
    assert told_scope(None, at, 5) == "the documents in force on 2024-06-30 as the index was on 2024-07-01T00:00:00Z"
