from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.coverage import letters_read
from pincite.encoders.minilm import minilm


@pytest.mark.parametrize(
    ("text", "pieces", "share"),
    [
        ("tax law", [(0, 3), (4, 7)], 1.0),
        ("tax law", [(0, 3), (4, 5), (5, 6), (6, 7)], 0.5),  # spelled out
        ("tax law", [(0, 3)], 0.5),  # the other is unknown
        ("a b", [(0, 1), (2, 3)], 1.0),  # words of one letter
        ("税法", [(0, 1), (1, 2)], 1.0),  # ideographs
        ("かぜ", [(0, 1), (1, 2)], 0.0),  # letters of a syllabary
        ("?! —", [(0, 1), (1, 2)], 1.0),  # nothing to read
        ("", [], 1.0),
        ("tax", [(0, 1), (1, 3)], 2 / 3),
        ("a b c", [(0, 5)], 1.0),  # a piece over several words
    ],
)
def test_worked_by_hand(text: str, pieces: list[tuple[int, int]], share: float) -> None:
    assert letters_read(text, pieces) == pytest.approx(share)


@given(st.text(max_size=40), st.data())
def test_a_share_is_between_0_and_1(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = list(pairwise(cuts))
    assert 0.0 <= letters_read(text, pieces) <= 1.0


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("When does the lease end?", 0.99, 1.0),
        ("myocardial angiotensin receptor blockade", 0.95, 1.0),
        ("¿Quién puede rescindir el contrato?", 0.9, 1.0),
        ("धारा ३०२ में हत्या के लिए क्या दंड है", 0.0, 0.5),
        ("Кто может расторгнуть договор?", 0.0, 0.35),
        ("ผู้ใดอาจบอกเลิกสัญญา", 0.0, 0.2),
        ("🙂", 1.0, 1.0),
        ("\ud800 lease", 0.5, 1.0),
    ],
)
def test_the_bundled_encoder_reads_english_and_spells_out_hindi(text: str, least: float, most: float) -> None:
    assert least <= minilm().reads(text) <= most
