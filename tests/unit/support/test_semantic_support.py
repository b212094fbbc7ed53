from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.encoders.minilm import minilm
from pincite.errors import InputError
from pincite.support.lexical import LexicalSupport
from pincite.support.semantic import SemanticSupport
from pincite.support.sentences import Sentences, scaled
from toys import ToyEncoder

if TYPE_CHECKING:
    from pincite.protocols import Matrix

SOURCE = "The pump was built in Leeds. It stands in the hall. Nobody may paint it unless the owner agrees."


@pytest.fixture(scope="module")
def scorer() -> SemanticSupport:
    return SemanticSupport(minilm(threads=1))


def test_neighbouring_sentences_support_together(scorer: SemanticSupport) -> None:
    statement = "The pump was built in Leeds and stands in the hall."
    (support,) = scorer.judge(statement, [SOURCE])
    assert support.verdict == "supported"
    assert SOURCE[support.start : support.end] == "The pump was built in Leeds. It stands in the hall."
    assert LexicalSupport().judge(statement, [SOURCE])[0].verdict == "unsupported"


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("The pump was built in York.", "York is not named in the source"),
        ("The pump was not built in Leeds.", "the source does not deny: the statement has “not”"),
        ("Nobody may paint it.", "the source has “unless the owner agrees”"),
        ("The pump was built in Leeds in 1990.", "1990 is not in the sentence of the source"),
    ],
)
def test_every_veto_of_the_lexical_scorer_holds(scorer: SemanticSupport, statement: str, why: str) -> None:
    (support,) = scorer.judge(statement, [SOURCE])
    assert (support.verdict, support.why) == ("unsupported", why)
    assert support.score < 0.5


def test_what_is_denied_in_the_next_sentence_is_not_denied_here() -> None:
    source = "The tenant keeps two dogs. He does not keep cats."
    (support,) = SemanticSupport(minilm(threads=1)).judge("The tenant keeps 2 dogs.", [source])
    assert (support.verdict, source[support.start : support.end]) == ("supported", "The tenant keeps two dogs.")


def test_a_vector_without_length_or_number_has_no_say() -> None:
    class Broken(ToyEncoder):
        """Its vectors are none."""

        def encode_passages(self, texts: Sequence[str]) -> Matrix:
            return np.array([[np.nan] * 4 if i % 2 else [0.0] * 4 for i in range(len(texts))], dtype=np.float32)

    (support,) = SemanticSupport(Broken()).judge("The pump, stands in the yard.", [SOURCE])
    assert support.verdict == "unsupported"
    assert 0 <= support.score < 0.5


def test_the_encoder_is_asked_once_for_all_sources() -> None:
    class Counting(ToyEncoder):
        asked = 0

        def encode_passages(self, texts: Sequence[str]) -> Matrix:
            self.asked += 1
            return super().encode_passages(texts)

    encoder = Counting()
    SemanticSupport(encoder).judge("The pump is green today.", [SOURCE, "It is red.", "", "It stands."])
    assert encoder.asked == 1
    SemanticSupport(encoder).judge("It stands in the hall.", [SOURCE])
    assert encoder.asked == 1


def test_a_wrong_threshold() -> None:
    for wrong in (0.0, 1.0):
        with pytest.raises(InputError, match="threshold"):
            SemanticSupport(ToyEncoder(), threshold=wrong)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 0.99))
def test_scaling_keeps_the_order_and_puts_the_threshold_at_a_half(a: float, b: float, threshold: float) -> None:
    low, high = sorted((a, b))
    assert 0 <= scaled(low, threshold) <= scaled(high, threshold) <= 1
    assert (scaled(a, threshold) >= 0.5) == (a >= threshold)


@given(st.lists(st.integers(1, 60), max_size=30), st.integers(1, 100))
def test_packed_windows_hold_every_sentence_and_fit(lengths: list[int], room: int) -> None:
    windows = Sentences("").packed(lengths, room)
    assert sorted({i for first, last in windows for i in range(first, last)}) == list(range(len(lengths)))
    for first, last in windows:
        assert last - first == 1 or sum(lengths[first:last]) <= room


def test_the_coefficients_are_worth_something_on_wice() -> None:
    data = Path(os.environ.get("PINCITE_DATA", "../shared/data")) / "wice" / "dev.jsonl"
    if not data.is_file():
        pytest.skip(f"{data} is not here: set PINCITE_DATA to the folder that holds wice")
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    short = [row for row in rows if len(row["evidence"]) <= 30]
    chosen = [row for label in ("supported", "not_supported") for row in short if row["label"] == label]
    few = [*chosen[:2], *chosen[-2:]]
    scorer = SemanticSupport(minilm(threads=1))
    scores: dict[str, list[float]] = {"supported": [], "not_supported": []}
    for row in few:
        (support,) = scorer.judge(row["claim"], ["\n\n".join(row["evidence"])])
        scores[row["label"]].append(support.score)
    assert np.mean(scores["supported"]) > np.mean(scores["not_supported"]) + 0.1
