"""Configurations run, kept, measured and held against each other."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from eval_helpers import make_set

from pincite.errors import InputError
from pincite.evaluation.compare import (
    Configuration,
    Outcome,
    Ranked,
    Search,
    SearchRun,
    SetReport,
    assess,
    compare,
    correct,
    rankings_of,
    run_configuration,
    sample_queries,
)
from pincite.evaluation.datasets import Dataset, load_dataset
from pincite.evaluation.index import EvaluationListener
from pincite.evaluation.measures import Retrieved

pytest.importorskip("pytrec_eval", reason="needs the extra eval")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(make_set(tmp_path / "tiny"))


def places(*documents: str) -> list[Retrieved]:
    return [Retrieved(each, 0, 99, -float(n)) for n, each in enumerate(documents)]


def configuration(
    answer: Callable[[str], Ranked], name: str = "toy", recipe: str = "r"
) -> tuple[Configuration, list[str]]:
    calls: list[str] = []

    @contextmanager
    def opened() -> Iterator[Search]:
        def search(query: str) -> Ranked:
            calls.append(query)
            return answer(query)

        yield search
        calls.append("closed")

    return Configuration(name, recipe, opened), calls


def perfect(query: str) -> Ranked:
    return Ranked(places({"w": "d1", "h": "d3"}.get(query[0], "d2") if "roof" not in query else "d2"))


def test_every_query_is_searched_once_and_the_first_beforehand(dataset: Dataset) -> None:
    chosen, calls = configuration(perfect)
    seen: list[tuple[int, int]] = []

    class Listener(EvaluationListener):
        def searching(self, dataset: str, configuration: str, done: int, total: int) -> None:  # noqa: ARG002
            seen.append((done, total))

    run = run_configuration(dataset, chosen, listener=Listener())
    texts = list(dataset.queries.values())
    assert calls == [texts[0], *texts, "closed"]
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert list(run.passages) == list(dataset.queries)
    assert len(run.seconds) == 3
    outcome = assess(dataset, run)
    assert outcome.mean("nDCG@10") == 1.0
    assert outcome.mean("Recall@100") == 1.0
    assert outcome.curve == (1.0,) * 100
    assert outcome.intervals["nDCG@10"] == (1.0, 1.0)
    assert outcome.spans is not None
    assert outcome.mean("span recall@1") == 1.0


def test_a_finished_run_is_read_back(dataset: Dataset, tmp_path: Path) -> None:
    chosen, calls = configuration(lambda query: perfect(query)._replace(notes=["odd"], encode_seconds=0.001))
    first = run_configuration(dataset, chosen, saved_in=tmp_path / "runs")
    calls.clear()
    again = run_configuration(dataset, chosen, saved_in=tmp_path / "runs")
    assert calls == []
    assert again == replace(first, saved=True)
    assert again.notes == {"odd": 3}
    run_configuration(dataset, chosen, saved_in=tmp_path / "runs", fresh=True)
    assert len(calls) == 5
    calls.clear()
    # Another recipe, or other queries: another run.
    run_configuration(dataset, replace(chosen, recipe="other"), saved_in=tmp_path / "runs")
    run_configuration(sample_queries(dataset, 2), chosen, saved_in=tmp_path / "runs")
    assert len(calls) == 5 + 4


def test_a_run_that_was_interrupted_leaves_nothing(dataset: Dataset, tmp_path: Path) -> None:
    def interrupted(query: str) -> Ranked:
        if "roof" in query:
            raise KeyboardInterrupt
        return perfect(query)

    chosen, calls = configuration(interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_configuration(dataset, chosen, saved_in=tmp_path / "runs")
    assert not list(tmp_path.glob("runs/*"))
    whole, calls = configuration(perfect)
    assert not run_configuration(dataset, whole, saved_in=tmp_path / "runs").saved
    assert len(calls) == 5


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"recipe": "other"}', '{"recipe": 1, "passages": 2}'])
def test_a_kept_run_that_is_damaged_is_made_again(dataset: Dataset, tmp_path: Path, damage: str) -> None:
    chosen, calls = configuration(perfect)
    run_configuration(dataset, chosen, saved_in=tmp_path)
    (file,) = tmp_path.glob("*.json")
    data = json.loads(file.read_text())
    file.write_text(damage)
    calls.clear()
    assert not run_configuration(dataset, chosen, saved_in=tmp_path).saved
    assert len(calls) == 5
    assert set(json.loads(file.read_text())) == set(data)


def test_time_with_and_without_encoding(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def slow(query: str) -> Ranked:
        now[0] += 0.020
        return perfect(query)._replace(encode_seconds=0.015)

    outcome = assess(dataset, run_configuration(dataset, configuration(slow)[0]))
    assert outcome.latency is not None
    assert outcome.latency.p50 == pytest.approx(20)
    assert outcome.latency.p99 == pytest.approx(20)
    assert outcome.latency.p50_search == pytest.approx(5)
    assert outcome.latency.total_seconds == pytest.approx(0.060)  # without the search beforehand

    def remembered(query: str) -> Ranked:
        """The vector was there: fetching it took 15 ms, making it had taken a second."""
        now[0] += 0.020
        return perfect(query)._replace(encode_seconds=1.0, aside_seconds=0.015)

    outcome = assess(dataset, run_configuration(dataset, configuration(remembered)[0]))
    assert outcome.latency is not None
    assert outcome.latency.p50 == pytest.approx(1005)
    assert outcome.latency.p50_search == pytest.approx(5)


def test_notes_are_counted_and_bounded(dataset: Dataset) -> None:
    numbers = iter(range(1000))

    def noisy(query: str) -> Ranked:
        return perfect(query)._replace(notes=["same", "same", *(f"note {next(numbers)}" for _ in range(30))])

    notes = run_configuration(dataset, configuration(noisy)[0]).notes
    assert notes["same"] == 3  # queries, not times
    assert len(notes) == 21
    assert notes["other notes"] == 3 * 30 - 19


def test_a_document_scores_as_its_best_chunk(dataset: Dataset) -> None:
    run = SearchRun(
        "chunks",
        {
            "q1": (
                Retrieved("d2", 0, 10, 3.0),
                Retrieved("d2", 10, 20, 2.0),
                Retrieved("d1", 40, 60, 1.5),
                Retrieved("d1", 0, 30, 1.0),
            ),
            "q2": (Retrieved("d2", 0, 9, 1.0), Retrieved("d2", 0, 9, 1.0)),
            "q3": (),
        },
    )
    assert rankings_of(run) == {"q1": ["d2", "d1"], "q2": ["d2"], "q3": []}
    outcome = assess(dataset, run)
    assert list(outcome.measured.values["MRR@10"]) == [0.5, 1.0, 0.0]
    assert outcome.measured.duplicates == 1  # the same passage twice; other passages of a document are none
    assert outcome.measured.missing == 1
    assert outcome.documents == pytest.approx((2 + 1 + 0) / 3)
    assert outcome.spans is not None
    assert outcome.mean("span recall@5") == 1.0
    assert outcome.mean("span recall@1") == 0.0
    with pytest.raises(InputError):
        outcome.mean("nDCG@77")


def outcome_of(dataset: Dataset, name: str, *rankings: tuple[str, ...]) -> Outcome:
    passages = dict(zip(dataset.queries, (tuple(places(*each)) for each in rankings), strict=True))
    return assess(dataset, SearchRun(name, passages))


def test_two_configurations_query_by_query(dataset: Dataset) -> None:
    good = outcome_of(dataset, "good", ("d1",), ("d3", "d2"), ("d3",))
    bad = outcome_of(dataset, "bad", ("d2", "d1"), ("d2",), ("d3",))
    versus = compare(dataset, good, bad, primary="MRR@10")
    assert (versus.wins, versus.ties, versus.losses) == (1, 1, 1)
    assert versus.difference == pytest.approx(0.0)
    assert versus.differences == (0.5, -0.5, 0.0)
    assert versus.p == 1.0
    assert [change.query_id for change in versus.won_most] == ["q1"]
    assert [change.query_id for change in versus.lost_most] == ["q2"]
    assert (versus.won_most[0].before, versus.won_most[0].after) == (0.5, 1.0)
    assert versus.won_most[0].text == "when does the tenant pay rent"
    other = compare(dataset, bad, good, primary="MRR@10")
    assert other.differences == (-0.5, 0.5, 0.0)
    assert compare(dataset, good, good).p == 1.0


def test_all_comparisons_of_all_sets_are_corrected_together(dataset: Dataset) -> None:
    good = outcome_of(dataset, "good", ("d1",), ("d2",), ("d3",))
    bad = outcome_of(dataset, "bad", (), (), ())
    versus = compare(dataset, good, bad)
    assert versus.p == 0.25
    report = SetReport("tiny", "test", 3, 3, "document", 100, (bad, good), (versus,), "nDCG@10")
    (alone,) = correct([report])
    assert alone.versus[0].p_holm == 0.25
    twice = correct([report, replace(report, dataset="other")])
    assert [each.versus[0].p_holm for each in twice] == [0.5, 0.5]
    assert report.outcome("good") is good


def test_a_sample_is_drawn_by_its_seed_in_the_sets_order(tmp_path: Path) -> None:
    queries = [{"_id": f"q{n}", "text": f"text {n}"} for n in range(50)]
    dataset = load_dataset(make_set(tmp_path / "many", queries=queries, qrels={f"q{n}": {"d1": 1} for n in range(50)}))
    few = sample_queries(dataset, 10, seed=3)
    assert len(few.queries) == len(few.qrels) == 10
    assert list(few.queries) == [name for name in dataset.queries if name in few.queries]
    assert few.queries == sample_queries(dataset, 10, seed=3).queries
    assert few.queries != sample_queries(dataset, 10, seed=4).queries
    assert sample_queries(dataset, 50) is dataset
    assert sample_queries(dataset, None) is dataset
    with pytest.raises(InputError):
        sample_queries(dataset, 0)
