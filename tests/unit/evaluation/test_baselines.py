"""Rankings that nobody searched for."""

from __future__ import annotations

from pathlib import Path

import pytest
from eval_helpers import make_set

from pincite.errors import InputError
from pincite.evaluation.baselines import constant_run, oracle_run, random_run
from pincite.evaluation.datasets import Dataset, load_dataset
from pincite.evaluation.measures import measure

IDS = ["d1", "d2", "d3", "d4", "d5"]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    qrels = {"q1": {"d1": 1, "d2": 0, "d3": 3}, "q2": {"d3": 1}, "q3": {"d5": -1}}
    return load_dataset(make_set(tmp_path / "tiny", qrels=qrels))


def test_the_constant_ranks_by_popularity_for_everybody(dataset: Dataset) -> None:
    run = constant_run(dataset, IDS, 3)
    assert run == {query: ["d3", "d1", "d2"] for query in ("q1", "q2", "q3")}
    assert run["q1"] is not run["q2"]


def test_the_random_run_repeats_by_its_seed(dataset: Dataset) -> None:
    run = random_run(dataset, IDS, 3, seed=5)
    assert run == random_run(dataset, IDS, 3, seed=5)
    assert run != random_run(dataset, IDS, 3, seed=6)
    assert all(len(set(ranking)) == 3 for ranking in run.values())
    assert sorted(random_run(dataset, IDS, 100)["q1"]) == IDS


def test_nothing_is_above_the_oracle(dataset: Dataset) -> None:
    pytest.importorskip("pytrec_eval")
    run = oracle_run(dataset)
    assert run == {"q1": ["d3", "d1"], "q2": ["d3"], "q3": []}
    measured = measure(run, dataset.qrels)
    assert list(measured.values["nDCG@10"]) == [1, 1, 0]
    assert measured.without_relevant == 1
    assert oracle_run(dataset, 1)["q1"] == ["d3"]


def test_k_must_be_positive(dataset: Dataset) -> None:
    for make in (
        lambda k: constant_run(dataset, IDS, k),
        lambda k: random_run(dataset, IDS, k),
        lambda k: oracle_run(dataset, k),
    ):
        with pytest.raises(InputError):
            make(0)
