from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.calibration import (
    FEATURES,
    SEARCH,
    Calibration,
    Weights,
    default_calibration,
    kind_of,
    load_calibration,
    save_calibration,
)
from pincite.errors import ConfigError, StoreError
from pincite.generators.extractive import ExtractiveGenerator
from pincite.types import Evidence

WEIGHTS = Weights(("cosine", "missing"), (0.5, 0.2), (0.1, 0.2), (1.0, -2.0), (None, None), 0.5, 0.4, 60, 30)


def test_the_probability_is_that_of_the_logit() -> None:
    evidence = Evidence(cosine=0.6, missing=0.0)
    assert WEIGHTS.terms(evidence) == {"cosine": pytest.approx(1.0), "missing": pytest.approx(2.0)}
    assert WEIGHTS.probability(evidence) == pytest.approx(1 / (1 + math.exp(-3.5)))


def test_what_is_lacking_has_a_weight_of_its_own_or_no_probability() -> None:
    assert WEIGHTS.probability(Evidence(cosine=None)) is None
    known = replace(WEIGHTS, absent=(-1.0, None))
    assert known.probability(Evidence(cosine=None, missing=0.2)) == pytest.approx(1 / (1 + math.exp(0.5)))


@given(st.floats(-1e9, 1e9), st.floats(0, 1))
def test_it_lies_between_0_and_1(cosine: float, missing: float) -> None:
    found = WEIGHTS.probability(Evidence(cosine=cosine, missing=missing))
    assert found is not None
    assert 0.0 <= found <= 1.0


def test_a_file_holds_all_of_it(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    whole = Calibration(
        {"extractive": replace(WEIGHTS, absent=(0.1, None), measured={"auc": 0.9})}, "minilm", {"a": "b"}
    )
    save_calibration(whole, file)
    assert load_calibration(file) == whole
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(StoreError, match="cannot be written"):
        save_calibration(whole, tmp_path / "no" / "c.json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": 2}, "format is 2"),
        ({"kinds": []}, "object with kinds"),
        ({"features": ["cosine", "luck"]}, "no evidence named 'luck'"),
        ({"weights": [1.0]}, "a number is missing"),
        ({"weights": [1.0, float("inf")]}, "should be a number"),
        ({"weights": [1.0, "2"]}, "should be a number"),
        ({"scales": [1.0, 0.0]}, "scales should be above 0"),
        ({"least": 1.5}, "least from 0 to 1"),
        ({"intercept": None}, "should be a number"),
        ({"intercept": 10**400}, "should be a number"),
        ({"weights": [1.0, 1e300]}, "should be a number"),
        ({"scales": [1.0, 5e-324]}, "scales should be above 0"),
        ({"questions": float("inf")}, "cannot convert float infinity"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, change: dict[str, object], told: str) -> None:
    file = tmp_path / "c.json"
    save_calibration(Calibration({"extractive": WEIGHTS}), file)
    data = json.loads(file.read_text(encoding="utf-8"))
    (data if set(change) <= set(data) else data["kinds"]["extractive"]).update(change)
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ConfigError, match=told):
        load_calibration(file)


def test_brackets_without_end_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(ConfigError, match="is not JSON"):
        load_calibration(file)


def test_what_is_no_json_or_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_calibration(tmp_path / "none.json")
    (tmp_path / "c.json").write_text("weights: 1", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not JSON"):
        load_calibration(tmp_path / "c.json")


def test_a_kind_that_is_not_there_is_weighed_by_its_search() -> None:
    both = Calibration({"extractive": WEIGHTS, SEARCH: replace(WEIGHTS, least=0.1)})
    assert both.weights("extractive") is both.kinds["extractive"]
    assert both.weights("endpoint") is both.kinds[SEARCH]
    assert Calibration({}).weights("extractive") is None
    assert kind_of(ExtractiveGenerator()) == "extractive"


def test_the_shipped_one_refuses_what_is_plainly_not_there() -> None:
    shipped = default_calibration()
    assert shipped.encoder == "all-MiniLM-L6-v2"
    for kind, weights in shipped.kinds.items():
        assert set(weights.features) <= set(FEATURES)
        good = Evidence(0.8, 1.0, 1.0, 0.8, 1.0, 0.0, 0.9, -0.1, 2.0, 0.0)
        strange = replace(good, cosine=0.5, words=0.5, reach=0.4, missing=1.0)
        best, worst = weights.probability(good), weights.probability(strange)
        assert best is not None
        assert worst is not None
        assert best > 0.9, kind
        assert worst < best, kind
    assert {"extractive", SEARCH} <= set(shipped.kinds)
    # A name that stands nowhere, all else being as good as it usually is.
    usual = Evidence(0.65, 0.75, 0.5, 0.68, 1.0, 0.0, missing=1.0)
    extractive = shipped.kinds["extractive"]
    probability = extractive.probability(usual)
    assert probability is not None
    assert probability < extractive.least
