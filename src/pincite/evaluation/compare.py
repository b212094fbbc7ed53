"""Named ways of searching, run over the queries of a set, measured, and held against one of them."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from pincite.errors import InputError, StoreError
from pincite.evaluation.index import EvaluationListener
from pincite.evaluation.measures import (
    MEASURES,
    Measured,
    Retrieved,
    check_measure,
    measure,
    measure_spans,
    recall_curve,
)
from pincite.evaluation.significance import bootstrap_interval, bootstrap_intervals, holm, randomization_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.evaluation.datasets import Dataset

    Array: TypeAlias = NDArray[np.float64]

__all__ = [
    "Configuration",
    "Latency",
    "Outcome",
    "QueryChange",
    "Ranked",
    "Search",
    "SearchRun",
    "SetReport",
    "Versus",
    "assess",
    "compare",
    "correct",
    "rankings_of",
    "run_configuration",
    "sample_queries",
]

#: Raised whenever a saved run would be another one if it were made again by the code below.
RUN_FORMAT = 1

#: Two values of a measure that are no further apart are equal: sums in another order differ in the last bits.
_EQUAL = 1e-9

#: Queries that are named of those that changed most, on either side.
_EXAMPLES = 10

#: Notes that are kept apart; what more there are is counted together.
_NOTES = 20


class Ranked(NamedTuple):
    """What one search gave."""

    passages: Sequence[Retrieved]  #: best first
    notes: Sequence[str] = ()  #: a leg that found nothing, a reranker that could not score
    encode_seconds: float = 0.0  #: what encoding the query takes, or took when it was encoded
    aside_seconds: float | None = None  #: of this call's own time, what went into the vector; None: `encode_seconds`


Search: TypeAlias = "Callable[[str], Ranked]"
"""From a query's text to its ranking."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A named way of searching a set.

    `recipe` says everything that its results depend on beside the queries (index, settings, k): a saved run is used
    again where it is equal. `open` gives the search, and is left when the queries are done; only one is open at a time.
    """

    name: str
    recipe: str
    open: Callable[[], AbstractContextManager[Search]]


@dataclass(frozen=True, slots=True)
class SearchRun:
    """Every query of a set searched by one configuration."""

    name: str
    passages: Mapping[str, tuple[Retrieved, ...]]  #: query id → best first; a query that found nothing has none
    seconds: tuple[float, ...] = ()  #: of each search, in the order of `passages`; empty for what was not searched
    encode_seconds: tuple[float, ...] = ()  #: the part of them that is the query's encoding
    notes: Mapping[str, int] = field(default_factory=dict)  #: note → queries it was made for
    saved: bool = False  #: read back, not searched now


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of one search, the queries one after another."""

    p50: float
    p99: float
    p50_search: float  #: without encoding the query
    p99_search: float
    total_seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """One configuration on one set."""

    name: str
    measured: Measured
    spans: Measured | None  #: over the queries with labelled spans; None where there are none, or no offsets
    intervals: Mapping[str, tuple[float, float]]  #: measure → 95 % bootstrap interval of the mean
    curve: tuple[float, ...]  #: Recall@k for k from 1
    latency: Latency | None
    documents: float  #: different documents found, per query
    notes: Mapping[str, int]
    saved: bool
    is_baseline: bool = False  #: constant, random, oracle: made without searching

    def mean(self, name: str) -> float:
        """The average of a measure, of documents or spans. Raises InputError for one that was not taken."""
        for each in (self.measured, self.spans):
            if each is not None and name in each.values:
                return each.mean(name)
        raise InputError(f"{name!r} was not measured")


@dataclass(frozen=True, slots=True)
class QueryChange:
    """One query on which two configurations differ."""

    query_id: str
    text: str
    before: float  #: of the one held against
    after: float


@dataclass(frozen=True, slots=True)
class Versus:
    """One configuration held against another, query by query."""

    name: str
    against: str
    measure: str
    difference: float  #: of the means; above 0 where `name` is better
    interval: tuple[float, float]  #: 95 %, paired bootstrap
    p: float  #: randomization test, two-sided
    p_holm: float  #: corrected for all comparisons of the report
    wins: int
    ties: int
    losses: int
    differences: tuple[float, ...]  #: per query, in the order of the judgements
    lost_most: tuple[QueryChange, ...]
    won_most: tuple[QueryChange, ...]


@dataclass(frozen=True, slots=True)
class SetReport:
    """Every configuration on one set."""

    dataset: str
    split: str
    queries: int
    judged: int  #: queries that the split judges; more than `queries` where a sample was taken
    unit: str
    k: int
    outcomes: tuple[Outcome, ...]
    versus: tuple[Versus, ...]
    primary: str  #: the measure of `versus`
    notes: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)  #: documents, passages, hash of the corpus …

    def outcome(self, name: str) -> Outcome:
        """The outcome of that name."""
        return next(each for each in self.outcomes if each.name == name)


def sample_queries(dataset: Dataset, count: int | None, seed: int = 0) -> Dataset:
    """The set with `count` of its judged queries, drawn by the seed, in their order; all of them for None.

    Raises InputError for a count below 1.
    """
    if count is None or count >= len(dataset.queries):
        return dataset
    if count < 1:
        raise InputError(f"the number of queries must be at least 1, got {count}")
    drawn = np.random.default_rng(seed).choice(len(dataset.queries), size=count, replace=False)
    names = list(dataset.queries)
    kept = [names[i] for i in sorted(int(i) for i in drawn)]
    return replace(
        dataset,
        queries={name: dataset.queries[name] for name in kept},
        qrels={name: dataset.qrels[name] for name in kept},
        spans={name: dataset.spans[name] for name in kept if name in dataset.spans},
    )


def run_configuration(
    dataset: Dataset,
    configuration: Configuration,
    *,
    saved_in: Path | None = None,
    fresh: bool = False,
    listener: EvaluationListener | None = None,
) -> SearchRun:
    """Search every query of `dataset`, one after another, each timed.

    With `saved_in` a finished run is written there and read back by a later call with the same recipe and queries,
    unless `fresh`; one that was interrupted leaves nothing. The first query is searched once beforehand, untimed:
    models are loaded at first use. Errors of the search are passed on.
    """
    listener = listener or EvaluationListener()
    recipe = _recipe(dataset, configuration)
    file = None if saved_in is None else saved_in / f"{hashlib.sha256(recipe.encode()).hexdigest()[:32]}.json"
    total = len(dataset.queries)
    if file is not None and not fresh and (found := _load(file, recipe, configuration.name)):
        listener.searching(dataset.name, configuration.name, total, total)
        return found
    passages: dict[str, tuple[Retrieved, ...]] = {}
    seconds: list[float] = []
    encode_seconds: list[float] = []
    notes: Counter[str] = Counter()
    with configuration.open() as search:
        if dataset.queries:
            search(next(iter(dataset.queries.values())))
        for done, (query_id, text) in enumerate(dataset.queries.items(), 1):
            started = time.perf_counter()
            ranked = search(text)
            taken = time.perf_counter() - started
            aside = ranked.encode_seconds if ranked.aside_seconds is None else ranked.aside_seconds
            seconds.append(max(0.0, taken - aside) + ranked.encode_seconds)
            encode_seconds.append(ranked.encode_seconds)
            passages[query_id] = tuple(Retrieved(*each) for each in ranked.passages)
            notes.update(set(ranked.notes))
            listener.searching(dataset.name, configuration.name, done, total)
    kept = dict(notes.most_common(_NOTES))
    if others := sum(notes.values()) - sum(kept.values()):
        kept["other notes"] = others
    run = SearchRun(configuration.name, passages, tuple(seconds), tuple(encode_seconds), kept)
    if file is not None:
        _save(file, recipe, run)
    return run


def assess(
    dataset: Dataset,
    run: SearchRun,
    *,
    measures: Sequence[str] = MEASURES,
    depth: int = 100,
    texts: Mapping[str, str] | None = None,
    seed: int = 0,
    is_baseline: bool = False,
) -> Outcome:
    """Measure a run on the judgements of `dataset`. A document counts at the place of its best passage.

    `texts` (document id → text) lets labelled spans be measured without their white space; see `measure_spans`.
    """
    rankings = rankings_of(run)
    measured = measure(rankings, dataset.qrels, measures)
    # A place that repeats a document is another passage of it, not a fault; a passage that comes twice is one.
    repeated = sum(len(each) - len({(p.document_id, p.start, p.end) for p in each}) for each in run.passages.values())
    measured = replace(measured, duplicates=repeated)
    spans = None
    if dataset.spans and not is_baseline:
        spans = measure_spans(run.passages, dataset.spans, texts=texts)
        spans = replace(spans, unjudged=0)  # queries without labelled spans are judged by their documents
    intervals: dict[str, tuple[float, float]] = {}
    for each in (measured, spans):
        if each is not None and each.queries:
            found = bootstrap_intervals(np.stack(list(each.values.values()), axis=1), seed=seed)
            intervals |= dict(zip(each.values, found, strict=True))
    return Outcome(
        name=run.name,
        measured=measured,
        spans=spans,
        intervals=intervals,
        curve=tuple(float(value) for value in recall_curve(rankings, dataset.qrels, depth)),
        latency=_latency(run),
        documents=float(np.mean([len(set(each)) for each in rankings.values()])) if rankings else 0.0,
        notes=run.notes,
        saved=run.saved,
        is_baseline=is_baseline,
    )


def compare(dataset: Dataset, outcome: Outcome, against: Outcome, *, primary: str = "nDCG@10", seed: int = 0) -> Versus:
    """`outcome` held against `against` on `primary`, query by query. `p_holm` is `p` until `correct` has seen all."""
    check_measure(primary)
    after, before = outcome.measured.values[primary], against.measured.values[primary]
    differences = after - before
    differences[np.abs(differences) <= _EQUAL] = 0.0
    order = np.argsort(differences, kind="stable")

    def named(rows: Sequence[int]) -> tuple[QueryChange, ...]:
        names = outcome.measured.queries
        return tuple(
            QueryChange(names[row], dataset.queries.get(names[row], ""), float(before[row]), float(after[row]))
            for row in rows
        )

    p = randomization_test(differences, seed=seed)
    return Versus(
        name=outcome.name,
        against=against.name,
        measure=primary,
        difference=float(differences.mean()),
        interval=bootstrap_interval(differences, seed=seed),
        p=p,
        p_holm=p,
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
        differences=tuple(float(each) for each in differences),
        lost_most=named([int(row) for row in order[:_EXAMPLES] if differences[row] < 0]),
        won_most=named([int(row) for row in order[::-1][:_EXAMPLES] if differences[row] > 0]),
    )


def correct(reports: Sequence[SetReport]) -> list[SetReport]:
    """The reports with `Versus.p_holm` corrected over every comparison of all of them together."""
    corrected = iter(holm([versus.p for report in reports for versus in report.versus]))
    return [
        replace(report, versus=tuple(replace(versus, p_holm=next(corrected)) for versus in report.versus))
        for report in reports
    ]


def rankings_of(run: SearchRun) -> dict[str, list[str]]:
    """Query id → documents, each at the place of its best passage."""
    return {
        query_id: list(dict.fromkeys(each.document_id for each in passages))
        for query_id, passages in run.passages.items()
    }


def _latency(run: SearchRun) -> Latency | None:
    if not run.seconds:
        return None
    whole = np.array(run.seconds)
    search = whole - np.array(run.encode_seconds)
    p50, p99 = np.quantile(whole, [0.5, 0.99]) * 1e3
    p50_search, p99_search = np.quantile(search, [0.5, 0.99]) * 1e3
    return Latency(float(p50), float(p99), float(p50_search), float(p99_search), float(whole.sum()))


# Saved runs


def _recipe(dataset: Dataset, configuration: Configuration) -> str:
    queries = hashlib.sha256(json.dumps(list(dataset.queries.items())).encode()).hexdigest()
    return json.dumps([RUN_FORMAT, configuration.recipe, queries])


def _save(file: Path, recipe: str, run: SearchRun) -> None:
    data = {
        "recipe": recipe,
        "passages": {query_id: [list(each) for each in passages] for query_id, passages in run.passages.items()},
        "seconds": run.seconds,
        "encode_seconds": run.encode_seconds,
        "notes": run.notes,
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # Beside its place and moved there whole: a reader sees all of it or nothing.
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.stem}.", suffix=".new")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                json.dump(data, out)
            os.replace(name, file)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise StoreError(f"the run {run.name} cannot be kept in {file}: {error.strerror}") from error


def _load(file: Path, recipe: str, name: str) -> SearchRun | None:
    """The run, if there is one for this recipe; None for what is absent, cut off or of another recipe."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["recipe"] != recipe:
            return None
        return SearchRun(
            name,
            {query_id: tuple(Retrieved(*each) for each in places) for query_id, places in data["passages"].items()},
            tuple(data["seconds"]),
            tuple(data["encode_seconds"]),
            dict(data["notes"]),
            saved=True,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
