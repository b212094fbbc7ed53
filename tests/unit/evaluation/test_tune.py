"""Choosing settings: deterministic, nothing lost, and no change that the held-out questions do not bear out."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pincite.chunkers.structure import StructureChunker
from pincite.chunkers.window import WindowChunker
from pincite.encoders.cached import CachedEncoder
from pincite.errors import InputError
from pincite.evaluation.choice import LEVEL
from pincite.evaluation.choice_report import choice_comment, choice_tables
from pincite.evaluation.datasets import Dataset, load_dataset
from pincite.evaluation.significance import randomization_test
from pincite.evaluation.tune import (
    Kept,
    Point,
    Sides,
    Task,
    Tried,
    aim,
    choose,
    halves,
    kept,
    plan,
    points_of,
    read_sides,
    sweep,
)
from pincite.protocols import Chunker, Store
from pincite.retrieve import retrieve
from pincite.store.edge import EdgeStore
from pincite.types import SearchResult
from toys import ToyEncoder

WORDS = (
    *("lease", "rent", "roof", "notice", "tenant", "landlord", "euro", "month"),
    *("repair", "cellar", "garden", "window", "door", "key", "bicycle", "heating"),
)
PRESENT = {"chunk.recipe": "structure", "chunk.size": 24, "search.mode": "hybrid", "search.rrf_k": 10, "search.k": 5}
NUMBERS = st.floats(0, 1, allow_nan=False)


def write_dataset(folder: Path, *, documents: int = 10, train: bool = False, spans: bool = True) -> Path:
    """Every document says of each of its three words what no other says of it; a query asks for one such pair."""
    corpus, queries, rows = [], [], {"test": [], "train": []}  # type: ignore[var-annotated]
    for number in range(documents):
        sentences = [
            f"The {WORDS[(number + i) % 16]} of house {number} costs {number * 10 + i} crowns and no more than that."
            for i in range(6)
        ]
        text = f"House {number}\n\n" + "\n\n".join(" ".join(sentences[i : i + 2]) for i in (0, 2, 4))
        corpus.append({"_id": f"d{number}", "title": f"House {number}", "text": text})
        for i in (0, 3, 5):
            start = text.index(sentences[i])
            query = {"_id": f"q{number}-{i}", "text": f"what costs the {WORDS[(number + i) % 16]} of house {number}"}
            if spans:
                span = {"document": f"d{number}", "start": start, "end": start + len(sentences[i])}
                query["metadata"] = {"spans": [span]}  # type: ignore[assignment]
            queries.append(query)
            rows["train" if train and i == 0 else "test"].append(f"q{number}-{i}\td{number}\t1")
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    for split, lines in rows.items():
        if lines:
            (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(lines) + "\n")
    return folder


class Counting(ToyEncoder):
    """Counts the texts that were really encoded."""

    passages = 0

    def encode_passages(self, texts: Sequence[str]) -> Any:
        self.passages += len(texts)
        return super().encode_passages(texts)


def cut(encoder: ToyEncoder) -> Callable[[Point], Chunker]:
    def chunker(point: Point) -> Chunker:
        size = int(point["chunk.size"] or 24)
        if point["chunk.recipe"] == "window":
            return WindowChunker(encoder.tokenizer, size=size)
        return StructureChunker(encoder.tokenizer, size=size)

    return chunker


def searcher(encoder: Any) -> Callable[[Point, Store], Callable[[str, int], SearchResult]]:
    def make(point: Point, store: Store) -> Callable[[str, int], SearchResult]:
        def search(query: str, k: int) -> SearchResult:
            vector = encoder.encode_queries([query])[0]
            depth, rrf_k = int(point.get("search.depth") or 100), int(point["search.rrf_k"] or 0)
            mode: Any = point["search.mode"]
            return retrieve(store, query, vector, k=k, mode=mode, depth=depth, rrf_k=rrf_k)

        return search

    return make


def make_task(folder: Path, cache: Path, *, measure: str = "span-recall@2", encoder: Any = None) -> Task:
    goal = aim(measure)
    inner = encoder or Counting()
    cached = CachedEncoder(inner, cache / "vectors")
    return Task(
        sides=read_sides(folder, goal),
        goal=goal,
        encoder=cached,
        language="english",
        chunker=cut(inner),
        searcher=searcher(cached),
        create=EdgeStore.create,
        open=EdgeStore.open,
        folder=cache / "tune",
        version="test",
    )


def tried(name: str, values: dict[str, float], *, tokens: float = 100, chunks: int = 10, **settings: Any) -> Tried:
    return Tried({"search.name": name, **settings}, values, chunks, 1.0, tokens)


def sides(train: Sequence[str], held_out: Sequence[str]) -> Sides:
    dataset = Dataset("toy", "test", Path(), dict.fromkeys([*train, *held_out], ""), {})
    return Sides(dataset, tuple(train), tuple(held_out), "")


# Measures and sides


@pytest.mark.parametrize(
    ("name", "own", "k"),
    [
        ("recall@5", "Recall@5", 5),
        ("MRR@10", "MRR@10", 10),
        ("ndcg@10", "nDCG@10", 10),
        ("span-recall@3", "span recall@3", 3),
        ("span-recall", "span recall", None),
        ("span-union-recall@1", "span union recall@1", 1),
    ],
)
def test_measures_have_the_names_that_people_use(name: str, own: str, k: int | None) -> None:
    assert (aim(name).name, aim(name).k) == (own, k)


@pytest.mark.parametrize("name", ["recall", "accuracy@5", "recall@0", "recall@x", "recall@", "", "span-recall@99999"])
def test_other_measures_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="no measure"):
        aim(name)


@given(st.lists(st.text(min_size=1, max_size=6), unique=True, max_size=40), st.integers(0, 3))
def test_a_question_stays_on_its_side(names: list[str], seed: int) -> None:
    first, second = halves(names, seed)
    assert sorted([*first, *second]) == sorted(names)
    more_first, more_second = halves([*names, "one more question"], seed)
    assert set(first) <= set(more_first)
    assert set(second) <= set(more_second)


def test_the_halves_are_about_equal_and_the_seed_changes_them() -> None:
    names = [f"q{n}" for n in range(1000)]
    first, second = halves(names, 0)
    assert 430 < len(first) < 570
    assert halves(names, 1)[0] != first
    assert halves(names, 0) == (first, second)


def test_a_train_split_chooses_for_the_test_split(tmp_path: Path) -> None:
    divided = read_sides(write_dataset(tmp_path / "set", train=True), aim("recall@5"))
    assert {name.partition("-")[2] for name in divided.train} == {"0"}
    assert {name.partition("-")[2] for name in divided.held_out} == {"3", "5"}
    assert set(divided.dataset.queries) == {*divided.train, *divided.held_out}


def test_a_span_measure_needs_spans(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", spans=False)
    with pytest.raises(InputError, match="no labelled spans"):
        read_sides(folder, aim("span-recall@5"))
    assert read_sides(folder, aim("recall@5")).train


def test_too_few_questions_for_any_result_are_told_first(tmp_path: Path) -> None:
    # With a train split two questions of each document judge.
    few, six = (read_sides(write_dataset(tmp_path / str(n), documents=n, train=True), aim("recall@5")) for n in (2, 3))
    assert (len(few.held_out), len(six.held_out)) == (4, 6)
    assert few.notes[0].startswith("no result can be significant: only 4 questions judge")
    assert six.notes == ()
    # The border is where all won and none lost becomes significant.
    assert [randomization_test([1.0] * n) <= LEVEL for n in (5, 6)] == [False, True]


def test_a_side_without_questions_is_refused(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", documents=1)
    file = folder / "qrels" / "test.tsv"
    file.write_text(file.read_text().splitlines()[1] + "\n")
    with pytest.raises(InputError, match="more are needed"):
        read_sides(folder, aim("recall@5"))


# The grid


def test_the_grid_begins_with_the_present_settings() -> None:
    points, left_out = points_of(
        {"a": 1, "b": "x", "c": None},
        {"a": [2, 1], "b": ["x", "y"]},
        lambda point: "never 2 with y" if (point["a"], point["b"]) == (2, "y") else None,
    )
    assert points[0] == {"a": 1, "b": "x", "c": None}
    assert points[1:] == [{"a": 2, "b": "x", "c": None}, {"a": 1, "b": "y", "c": None}]
    assert left_out == {"never 2 with y": 1}
    assert points_of({"a": 1}, {"a": [1, 2, 3]}, lambda point: "" if point["a"] == 3 else None) == (
        [{"a": 1}, {"a": 2}],
        {},
    )
    with pytest.raises(InputError, match="cannot be tuned"):
        points_of({"a": 1}, {"z": [1]}, lambda _: None)
    with pytest.raises(InputError, match="no value"):
        points_of({"a": 1}, {"a": []}, lambda _: None)


# Sweeping


@pytest.mark.parametrize("measure", ["span-recall@2", "span-mrr@5", "recall@1", "ndcg@10"])
def test_what_is_measured_is_what_a_search_gives(tmp_path: Path, measure: str) -> None:
    """Legs remembered and refused in memory give every point the ranking that it would have by itself."""
    from pincite.evaluation.index import ensure_index
    from pincite.evaluation.measures import Retrieved, measure_spans
    from pincite.evaluation.measures import measure as measure_documents

    folder = write_dataset(tmp_path / "set")
    task = make_task(folder, tmp_path / "cache", measure=measure)
    grid = {"search.mode": ["hybrid", "bm25", "dense"], "search.rrf_k": [1, 60], "search.depth": [3, 40]}
    points, _ = points_of({**PRESENT, "search.depth": 40}, grid, lambda _: None)
    measured = sweep(task, points)
    assert [each.settings for each in measured] == points
    dataset = load_dataset(folder)
    index = ensure_index(
        dataset,
        tmp_path / "again",
        create=EdgeStore.create,
        encoder=ToyEncoder(),
        language="english",
        unit="chunk",
        chunker=cut(ToyEncoder())(PRESENT),
    )
    values = set()
    with EdgeStore.open(index.folder) as store:
        for each in measured:
            search = searcher(ToyEncoder())(each.settings, store)
            # No further than the depth: a search for more would also fuse more.
            k = max(5, int(each.settings["search.depth"] or 0))
            chunks = {q: [p.chunk for p in search(text, k).passages] for q, text in dataset.queries.items()}
            places = {q: [Retrieved(c.document_id, c.start, c.end, 0.0) for c in found] for q, found in chunks.items()}
            name = task.goal.name
            if task.goal.spans:
                alone = measure_spans(places, dataset.spans, cutoffs=[task.goal.k or 5])
            else:
                documents = {q: list(dict.fromkeys(p.document_id for p in ranked)) for q, ranked in places.items()}
                alone = measure_documents(documents, dataset.qrels, [name])
            for query, value in zip(alone.queries, alone.values[name], strict=True):
                assert each.values[query] == pytest.approx(float(value)), (each.settings, query)
            values.add(round(each.mean(list(each.values)), 6))
            assert each.chunks == index.chunks
            assert each.tokens > 0
            assert each.ms > 0
    assert len(values) > 1, "the points differ, or this test shows nothing"


def test_the_same_again_is_the_same(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set")
    grid = {"chunk.size": [16, 40], "search.rrf_k": [1, 60]}
    points, _ = points_of(PRESENT, grid, lambda _: None)
    one, other = (sweep(make_task(folder, tmp_path / name), points) for name in ("one", "other"))
    assert [replace(each, ms=0) for each in one] == [replace(each, ms=0) for each in other]
    assert len({each.chunks for each in one}) > 1


def test_only_new_texts_are_encoded_and_indexes_are_removed(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set")
    encoder = Counting()
    task = make_task(folder, tmp_path / "cache", encoder=encoder)
    points, _ = points_of(PRESENT, {"chunk.recipe": ["structure", "window"]}, lambda _: None)
    work = plan(task, points)
    assert (work.points, work.done, work.indexes) == (2, 0, 2)
    assert len(sweep(task, points)) == 2
    assert encoder.passages == work.texts, "each different text once, those of the estimate among them"
    assert not any((tmp_path / "cache" / "tune" / "indexes").iterdir()), "they are not kept: the vectors are"
    more, _ = points_of(PRESENT, {"chunk.recipe": ["structure", "window"], "search.rrf_k": [1, 10]}, lambda _: None)
    again = plan(task, more)
    assert (again.done, again.indexes) == (2, 2)
    assert len(sweep(task, more)) == 4
    assert encoder.passages == work.texts, "other rankings of the same passages encode nothing"


class Interrupting(Counting):
    """Stops in the middle of the second index."""

    def encode_passages(self, texts: Sequence[str]) -> Any:
        if self.passages and len(texts) > 1 and self.armed:
            raise KeyboardInterrupt
        return super().encode_passages(texts)

    armed = True


def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set")
    encoder = Interrupting()
    task = make_task(folder, tmp_path / "cache", encoder=encoder)
    points, _ = points_of(PRESENT, {"chunk.size": [24, 40], "search.rrf_k": [1, 10]}, lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        sweep(task, points)
    encoder.armed = False
    assert plan(task, points).done == 2, "the points of the first index are kept"
    asked: list[str] = []
    search = task.searcher
    task = replace(task, searcher=lambda point, store: asked.append(str(point)) or search(point, store))  # type: ignore[func-returns-value]
    found = sweep(task, points)
    assert len(found) == 4
    assert len(asked) == 2, "only what was missing was measured"
    fresh = sweep(make_task(folder, tmp_path / "fresh"), points)
    assert [replace(each, ms=0) for each in found] == [replace(each, ms=0) for each in fresh]


def test_the_time_limit_always_leaves_the_present_settings(tmp_path: Path) -> None:
    task = make_task(write_dataset(tmp_path / "set"), tmp_path / "cache")
    points, _ = points_of(PRESENT, {"chunk.size": [16, 24, 40], "search.rrf_k": [1, 10]}, lambda _: None)
    found = sweep(task, points, time_limit=0)
    assert [each.settings["chunk.size"] for each in found] == [24, 24]
    assert found[0].settings == PRESENT


def test_measurements_of_another_set_measure_or_version_are_not_used(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set")
    task = make_task(folder, tmp_path / "cache")
    files = {kept(task).file}
    files.add(kept(replace(task, version="next")).file)
    files.add(kept(replace(task, goal=aim("recall@5"))).file)
    files.add(kept(replace(task, language="german")).file)
    other = make_task(folder, tmp_path / "cache", encoder=ToyEncoder(revision="toy-2"))
    files.add(kept(other).file)
    queries = folder / "queries.jsonl"
    queries.write_text(queries.read_text().replace("what costs", "how much is"))
    files.add(kept(make_task(folder, tmp_path / "cache")).file)
    assert len(files) == 6


def test_a_measurement_cut_short_is_made_again(tmp_path: Path) -> None:
    file = tmp_path / "points.jsonl"
    first, second = tried("a", {"q": 0.5}), tried("b", {"q": 0.25})
    Kept(file).put(first)
    whole = file.read_text()
    Kept(file).put(second)
    file.write_text(file.read_text()[:-20])
    again = Kept(file)
    assert again.get(first.settings) == first
    assert again.get(second.settings) is None
    again.put(second)
    assert Kept(file).get(second.settings) == second
    assert file.read_text().startswith(whole)


def test_headings_that_a_set_keeps_are_used_for_cutting(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", documents=3)
    text = "Of rent\nThe rent is due in May.\nOf pets\nA cat is allowed, a dog is not."
    headings = [[1, "Of rent", 0, 7], [1, "Of pets", 32, 39]]
    row = {"_id": "d9", "title": "Rules", "text": text, "metadata": {"headings": headings}}
    with (folder / "corpus.jsonl").open("a") as out:
        out.write(json.dumps(row) + "\n")
    seen = []
    task = make_task(folder, tmp_path / "cache", measure="recall@5")

    class Spy:
        name = "spy"

        def __init__(self, inner: Chunker) -> None:
            self.inner = inner

        def chunk(self, document: Any) -> Any:
            if document.id == "d9":
                seen.append([heading.text for heading in document.headings])
            return self.inner.chunk(document)

    chunker = task.chunker
    sweep(replace(task, chunker=lambda point: Spy(chunker(point))), [PRESENT])
    assert seen == [["Of rent", "Of pets"]]


# Choosing


def values(names: Sequence[str], *numbers: float) -> dict[str, float]:
    return dict(zip(names, numbers, strict=True))


def test_the_train_half_chooses_and_the_other_judges() -> None:
    train, held = ["a", "b"], ["c", "d"]
    now = tried("now", values("abcd", 0.5, 0.5, 0.9, 0.9))
    flattered = tried("flattered", values("abcd", 1, 1, 0, 0))
    good = tried("good", values("abcd", 0.6, 0.6, 1, 1))
    choice = choose([now, good, flattered], now.settings, sides(train, held))
    assert choice.best is flattered, "what the held-out half says has no part in the choice"
    assert choice.train_gain == pytest.approx(0.5)
    assert choice.gain == pytest.approx(-0.9)
    assert not choice.worth_it
    assert [each.settings["search.name"] for each in choice.order] == ["flattered", "good", "now"]
    assert len(choice.warnings) == 2


def test_what_was_forced_says_so_in_the_file() -> None:
    names = [f"q{n}" for n in range(80)]
    divided = sides(names[:40], names[40:])
    now = tried("now", dict.fromkeys(names, 0.5))
    steady = tried("steady", dict.fromkeys(names, 0.6))
    luck = tried("luck", {**dict.fromkeys(names, 0.5), **dict.fromkeys(names[:40], 0.7), names[40]: 1.0})

    def comment(best: Tried, least_gain: float = 0.01) -> str:
        choice = choose([now, best], now.settings, divided, least_gain=least_gain)
        return "\n".join(choice_comment(choice, divided, aim("recall@5"), ["pincite", "tune"]))

    assert "--force" not in comment(steady)
    assert "by --force although not worth it: on the held-out" in comment(steady, least_gain=0.2)
    assert "not significant" not in comment(steady, least_gain=0.2)
    assert "by --force although not worth it: the gain is not significant (p = 1.000)" in comment(luck)


@pytest.mark.parametrize("width", [40, 80, 100])
def test_a_table_of_points_is_in_parts_that_cut_no_value(width: int) -> None:
    names = [f"q{n}" for n in range(40)]
    points = []
    for n in range(18):
        varied = {f"search.setting_{each}": f"value-{each}-{n}" for each in "abcdefgh"}
        point = tried("x", dict.fromkeys(names, 0.5 + n / 100))
        points.append(replace(point, settings={**varied, "rerank.model": f"cross-encoder:maker/name-{n:02}"}))
    divided = sides(names[:20], names[20:])
    choice = choose(points, points[0].settings, divided)
    out = Console(file=io.StringIO(), width=width)
    for table in choice_tables(choice, divided, aim("recall@5"), width=width):
        out.print(table)
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown
    for each in "abcdefgh":
        assert f"value-{each}-17" in shown
        assert f"setting_{each}" in shown
    assert "cross-encoder:maker/name-17" in shown
    parts = shown.count("#")
    assert parts > 1
    assert sum(line.strip().startswith("1 best") for line in shown.splitlines()) == parts
    assert sum(line.strip().startswith("18 now") for line in shown.splitlines()) == parts


def test_a_gain_must_be_large_enough_and_no_chance() -> None:
    names = [f"q{n}" for n in range(80)]
    train, held = names[:40], names[40:]
    now = tried("now", dict.fromkeys(names, 0.5))
    steady = tried("steady", dict.fromkeys(names, 0.6))
    choice = choose([now, steady], now.settings, sides(train, held))
    assert choice.worth_it
    assert choice.warnings == ()
    assert choice.p < 0.001
    assert choice.interval == pytest.approx((0.1, 0.1))
    assert not choose([now, steady], now.settings, sides(train, held), least_gain=0.2).worth_it
    luck = tried("luck", {**dict.fromkeys(names, 0.5), **dict.fromkeys(train, 0.7), held[0]: 1.0})
    lucky = choose([now, luck], now.settings, sides(train, held))
    assert lucky.gain == pytest.approx(0.0125)
    assert not lucky.worth_it
    assert "chance" in lucky.why


def test_of_equals_the_present_settings_then_the_fewest_changes_then_the_cheapest() -> None:
    names = [f"q{n}" for n in range(6)]
    same = dict.fromkeys(names, 0.1 + 0.2)
    now = tried("now", dict.fromkeys(names, 0.3), tokens=900, a=1)
    cheap = tried("cheap", same, tokens=10, a=1)
    half = sides(names[:3], names[3:])
    assert choose([cheap, now], now.settings, half).best is now
    worse = tried("now", dict.fromkeys(names, 0.2), tokens=900, a=1)
    changed = tried("changed", same, tokens=5, a=2)
    assert choose([worse, changed, cheap], worse.settings, half).best is cheap
    dear = tried("dear", same, tokens=11, a=1)
    assert choose([dear, worse, cheap], worse.settings, half).best is cheap


def test_a_budget_leaves_out_what_reads_more() -> None:
    names = [f"q{n}" for n in range(6)]
    now = tried("now", dict.fromkeys(names, 0.2), tokens=500)
    rich = tried("rich", dict.fromkeys(names, 0.9), tokens=400)
    lean = tried("lean", dict.fromkeys(names, 0.4), tokens=90)
    half = sides(names[:3], names[3:])
    assert choose([now, rich, lean], now.settings, half).best is rich
    assert choose([now, rich, lean], now.settings, half, budget=100).best is lean
    assert choose([now, rich, lean], now.settings, half, budget=50).best is now


def test_without_the_present_settings_there_is_nothing_to_compare() -> None:
    with pytest.raises(InputError, match="present settings were not measured"):
        choose([tried("a", {"q": 1.0, "r": 1.0})], {"search.name": "b"}, sides(["q"], ["r"]))


@given(
    st.lists(st.lists(NUMBERS, min_size=8, max_size=8), min_size=1, max_size=5),
    st.integers(0, 4),
)
def test_a_choice_is_never_worse_than_now_on_the_side_that_chose(rows: list[list[float]], present: int) -> None:
    names = [f"q{n}" for n in range(8)]
    points = [tried(str(i), dict(zip(names, row, strict=True)), tokens=i) for i, row in enumerate(rows)]
    now = points[present % len(points)]
    choice = choose(points, now.settings, sides(names[:4], names[4:]))
    assert choice.train_gain >= -1e-9
    assert choice.interval[0] - 1e-9 <= choice.gain <= choice.interval[1] + 1e-9
    assert 0 < choice.p <= 1
    if choice.worth_it:
        assert choice.gain >= 0.01
        assert choice.p <= 0.05
    assert choose(points, now.settings, sides(names[:4], names[4:])) == choice
