"""Choosing settings by measuring them: every point of a grid on one half of the questions, the best on the other.

A point is a choice of settings, ``section.key`` → value. Settings of the section ``chunk`` make another index, which
costs cutting and encoding; those of ``search`` only make other rankings of what the legs found, which costs little.
So an index is built for each cutting, each leg is asked once for each question at the greatest depth of the grid, and
every point then searches as it always would, over a store that answers from memory. What was measured is kept at once:
a run that is cut off goes on where it was.

The figure on the half that chose is flattered by the choice (the more points, the more). Only the other half counts.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pincite.chunkers.context import encoded_text
from pincite.errors import InputError
from pincite.evaluation.datasets import load_dataset, splits
from pincite.evaluation.index import EvaluationListener, corpus_hash, ensure_index
from pincite.evaluation.making import as_document

if TYPE_CHECKING:
    from pincite.evaluation.datasets import Dataset
    from pincite.protocols import Chunker, Encoder, Matrix, Store, StoreHeader
    from pincite.types import Chunk, Document, Filter, Hit, Passage, SearchResult

__all__ = [
    "LEAST_QUERIES",
    "Aim",
    "Choice",
    "Kept",
    "Plan",
    "Point",
    "Searcher",
    "Sides",
    "Task",
    "Tried",
    "TuneListener",
    "Value",
    "aim",
    "choose",
    "halves",
    "plan",
    "points_of",
    "read_sides",
    "sweep",
]

Value: TypeAlias = "str | int | float | None"
Point: TypeAlias = "Mapping[str, Value]"
"""``section.key`` → value."""

Searcher: TypeAlias = "Callable[[Point, Store], Callable[[str, int], SearchResult]]"
"""From the settings of a point and a store to the search itself: query, k → what a person would be given."""

#: Fewer questions than this on either side choose, or judge, by luck.
LEAST_QUERIES = 20
#: Raised whenever a kept measurement would be another one if it were made again.
FORMAT = 1
#: Two means no further apart than this are equal.
_EQUAL = 1e-9
#: Texts encoded to see how fast the encoder is here.
_SAMPLE = 24


# What is aimed at


@dataclass(frozen=True, slots=True)
class Aim:
    """A measure by its own name: ``Recall@5``, ``span recall@5``. `k` is None where the reading budget sets it."""

    name: str
    shown: str
    spans: bool
    k: int | None


_AIMS = {
    "recall": ("Recall", False),
    "ndcg": ("nDCG", False),
    "mrr": ("MRR", False),
    "success": ("Success", False),
    "span-recall": ("span recall", True),
    "span-union-recall": ("span union recall", True),
    "span-mrr": ("span MRR", True),
}


def aim(name: str) -> Aim:
    """The measure that a person calls `name`: ``recall@5``, ``mrr@10``, ``ndcg@10``, ``span-recall@5`` …

    A span measure without ``@k`` is taken at the point's own ``search.k``. Raises InputError for any other name.
    """
    kind, at, cutoff = name.strip().lower().partition("@")
    known = _AIMS.get(kind)
    if known is None or (at and not (cutoff.isdecimal() and 0 < int(cutoff) <= 1000)) or not (at or known[1]):
        listed = ", ".join(f"{each}@k" for each in _AIMS)
        raise InputError(f"there is no measure {name!r} to tune for; there are {listed}")
    k = int(cutoff) if at else None
    return Aim(f"{known[0]}@{k}" if k else known[0], f"{kind}@{k}" if k else kind, known[1], k)


# The two sides


@dataclass(frozen=True, slots=True)
class Sides:
    """The questions that choose and those that judge the choice, over one corpus."""

    dataset: Dataset  #: all of them
    train: tuple[str, ...]
    held_out: tuple[str, ...]
    how: str  #: in words, how they were divided
    notes: tuple[str, ...] = ()

    def only(self, query_ids: Sequence[str]) -> Dataset:
        """The set with these questions alone."""
        wanted = set(query_ids)
        return replace(
            self.dataset,
            queries={name: text for name, text in self.dataset.queries.items() if name in wanted},
            qrels={name: grades for name, grades in self.dataset.qrels.items() if name in wanted},
            spans={name: spans for name, spans in self.dataset.spans.items() if name in wanted},
        )


def halves(query_ids: Sequence[str], seed: int = 0) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two halves by the hash of each id: a question stays on its side whatever questions are added.

    The halves are about as large as each other, not exactly.
    """
    first = [hashlib.sha256(f"{seed}:{each}".encode()).digest()[0] % 2 == 0 for each in query_ids]
    return (
        tuple(each for each, side in zip(query_ids, first, strict=True) if side),
        tuple(each for each, side in zip(query_ids, first, strict=True) if not side),
    )


def read_sides(folder: Path, goal: Aim, *, split: str = "test", seed: int = 0) -> Sides:
    """The set in `folder`, divided: its own train split chooses and `split` judges, or else the halves of `split`.

    For a span measure only questions with labelled spans are taken. Raises InputError where there are none, or where
    a side is empty.
    """
    judged = load_dataset(folder, split)
    notes = list(judged.notes)
    dataset, how = judged, f"halves of {split} by the hash of the question's id"
    if split != "train" and "train" in splits(folder):
        training = load_dataset(folder, "train")
        notes += training.notes
        twice = set(training.queries) & set(judged.queries)
        if twice:
            notes.append(f"{len(twice)} questions are in train and in {split}: they only judge")
        dataset = replace(
            judged,
            queries={**training.queries, **judged.queries},
            qrels={**training.qrels, **judged.qrels},
            spans={**training.spans, **judged.spans},
        )
        train = tuple(each for each in training.queries if each not in twice)
        held_out = tuple(judged.queries)
        how = f"train chooses, {split} judges"
    else:
        train, held_out = halves(list(judged.queries), seed)
    if goal.spans:
        without = [each for each in dataset.queries if not dataset.spans.get(each)]
        if len(without) == len(dataset.queries):
            raise InputError(f"{folder} has no labelled spans: tune for recall@5, mrr@10 or ndcg@10 instead")
        if without:
            notes.append(f"{len(without)} questions have no labelled span and are left out")
        train = tuple(each for each in train if dataset.spans.get(each))
        held_out = tuple(each for each in held_out if dataset.spans.get(each))
    if not train or not held_out:
        raise InputError(
            f"{folder} leaves {len(train)} questions to choose by and {len(held_out)} to judge by: more are needed"
        )
    return Sides(dataset, train, held_out, how, tuple(notes))


# The grid


def points_of(
    present: Point, grid: Mapping[str, Sequence[Value]], check: Callable[[Point], str | None]
) -> tuple[list[dict[str, Value]], dict[str, int]]:
    """Every choice of the grid, the present settings first, and how many were left out for which reason.

    `present` has every setting that is swept; those that `grid` does not name stay. `check` says why settings cannot
    stand together, "" if they are another point in other words (dropped without a count), None if they can.
    """
    if unknown := sorted(set(grid) - set(present)):
        raise InputError(f"{unknown[0]} cannot be tuned; there are: {', '.join(present)}")
    if empty := [name for name, values in grid.items() if not values]:
        raise InputError(f"the grid has no value for {empty[0]}")
    found: dict[tuple[tuple[str, Value], ...], dict[str, Value]] = {_key(present): dict(present)}
    left_out: dict[str, int] = {}
    for values in itertools.product(*grid.values()):
        point = {**present, **dict(zip(grid, values, strict=True))}
        why = check(point)
        if why is None:
            found.setdefault(_key(point), point)
        elif why:
            left_out[why] = left_out.get(why, 0) + 1
    return list(found.values()), left_out


def _key(point: Point) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(point.items()))


def cutting(point: Point) -> dict[str, Value]:
    """The settings of a point that make another index."""
    return {name: value for name, value in point.items() if name.startswith("chunk.")}


# The work


@dataclass(frozen=True, slots=True)
class Task:
    """Everything that a sweep needs. `folder` keeps indexes while they are needed, and the measurements."""

    sides: Sides
    goal: Aim
    encoder: Encoder
    language: str
    chunker: Callable[[Point], Chunker]  #: of the settings of a cutting
    searcher: Searcher
    create: Callable[[Path, StoreHeader], Store]
    open: Callable[[Path], Store]
    folder: Path
    version: str = ""  #: of the code that cuts and ranks: measurements of another are not used


@dataclass(frozen=True, slots=True)
class Tried:
    """What one point gives. `values` has every question of both sides, each in [0, 1]."""

    settings: Point
    values: Mapping[str, float]
    chunks: int
    ms: float  #: median of a search, without encoding the question
    tokens: float  #: of the first search.k passages, mean over the questions

    def mean(self, query_ids: Sequence[str]) -> float:
        """The average over these questions."""
        return statistics.fmean(self.values[each] for each in query_ids)


@dataclass(frozen=True, slots=True)
class Plan:
    """The work that a sweep would be."""

    points: int
    done: int  #: measured in an earlier run
    indexes: int  #: to be built
    texts: int  #: different texts to encode at most; those that the encoder remembers cost nothing
    seconds: float  #: about, for encoding


class TuneListener(EvaluationListener):
    """Told what a sweep does. Every method does nothing: override what is wanted."""

    def tried(self, point: Tried, done: int, total: int) -> None:
        """A point was measured, and is kept."""


class _Structured:
    """A chunker that is given the headings and pages which a set keeps with its documents, where it does."""

    def __init__(self, chunker: Chunker, documents: Mapping[str, Document]) -> None:
        self._chunker = chunker
        self._documents = documents
        self.name = chunker.name

    def chunk(self, document: Document) -> Iterator[Chunk]:
        kept = self._documents.get(document.id)
        if kept is not None and kept.text == document.text:
            document = replace(document, headings=kept.headings, pages=kept.pages, media_type=kept.media_type)
        return self._chunker.chunk(document)


class Kept:
    """Measurements in a file, a line each, written at once; one that was cut short is not read."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._found: dict[tuple[tuple[str, Value], ...], Tried] = {}
        if file.is_file():
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    tried = Tried(**json.loads(line))
                    self._found[_key(tried.settings)] = tried
                except (ValueError, TypeError, AttributeError):
                    continue  # cut off while it was written: it is measured again

    def get(self, point: Point) -> Tried | None:
        """What was measured for exactly these settings."""
        return self._found.get(_key(point))

    def put(self, tried: Tried) -> None:
        """Keep it. On disk when this returns."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as out:
            # A line of its own also after one that was cut short.
            out.write(("\n" if out.tell() else "") + json.dumps(asdict(tried)))
            out.flush()
            os.fsync(out.fileno())
        self._found[_key(tried.settings)] = tried


def kept(task: Task) -> Kept:
    """The measurements that stand for this set, encoder, measure and version of the code, and no others."""
    sides = task.sides
    facts = [
        FORMAT,
        task.version,
        corpus_hash(sides.dataset),
        [[name, sides.dataset.queries[name], sorted(sides.dataset.qrels[name].items())] for name in _all(sides)],
        [[name, [[s.document_id, s.start, s.end] for s in sides.dataset.spans.get(name, ())]] for name in _all(sides)],
        asdict(task.encoder.identity),
        task.language,
        task.goal.name,
    ]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
    return Kept(task.folder / f"points-{digest}.jsonl")


def _all(sides: Sides) -> list[str]:
    return sorted({*sides.train, *sides.held_out})


def plan(task: Task, points: Sequence[Point]) -> Plan:
    """How much there is to do: cuts the corpus in every way of the grid, and encodes a few texts to see how fast."""
    before = kept(task)
    waiting = [point for point in points if before.get(point) is None]
    cuttings = list({_key(cutting(point)): cutting(point) for point in waiting}.values())
    texts: set[bytes] = set()
    sample: list[str] = []
    documents = _documents(task.sides.dataset) if cuttings else {}
    for settings in cuttings:
        chunker = task.chunker(settings)
        for document in documents.values():
            for chunk in chunker.chunk(document):
                text = encoded_text(chunk.headings, chunk.reading)
                digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]
                if digest not in texts and len(sample) < _SAMPLE and digest[0] < 64:
                    sample.append(text)
                texts.add(digest)
    seconds = 0.0
    if sample:
        task.encoder.encode_queries(["how fast"])  # loads the model
        started = time.perf_counter()
        task.encoder.encode_passages(sample)
        seconds = (time.perf_counter() - started) / len(sample) * len(texts)
    return Plan(len(points), len(points) - len(waiting), len(cuttings), len(texts), seconds)


def _documents(dataset: Dataset) -> dict[str, Document]:
    """The documents as they are cut: with their title as heading where the set keeps no headings of its own."""
    from pincite.types import Heading

    found = {}
    for record in dataset.documents():
        document = as_document(record)
        if not document.text.strip():
            continue
        if not document.headings and document.title:
            document = replace(document, headings=(Heading(1, document.title, 0, 0),))
        found[document.id] = document
    return found


def sweep(
    task: Task, points: Sequence[Point], *, time_limit: float | None = None, listener: TuneListener | None = None
) -> list[Tried]:
    """Measure every point, in order of their cuttings, the first point's cutting first. What was measured is kept.

    No index is begun after `time_limit` seconds but the first: those points are missing in what is returned. The
    same settings, set and encoder give the same values; only `ms` is the machine's.
    """
    listener = listener or TuneListener()
    before = kept(task)
    started = time.monotonic()
    done: list[Tried] = []
    groups: dict[tuple[tuple[str, Value], ...], list[Point]] = {}
    for point in points:
        groups.setdefault(_key(cutting(point)), []).append(point)
    structure = None
    for group in groups.values():
        waiting = [point for point in group if before.get(point) is None]
        late = time_limit is not None and time.monotonic() - started > time_limit
        if waiting and not (late and done):
            if structure is None:
                structure = _documents(task.sides.dataset)
            with _index(task, group[0], structure, listener) as (store, chunks):
                depth = max(max(_number(p, "search.depth", 100), _number(p, "search.k", 10)) for p in group)
                memory = _Memory(store, depth)
                for point in waiting:
                    before.put(_measure(task, point, memory, chunks))
        for point in group:
            if (tried := before.get(point)) is not None:
                done.append(tried)
                listener.tried(tried, len(done), len(points))
    return done


class _index:  # noqa: N801 - a context manager, used as one
    """The index of one cutting, built for the while and removed: the vectors stay with the encoder that remembers."""

    def __init__(
        self, task: Task, point: Point, structure: Mapping[str, Document], listener: EvaluationListener
    ) -> None:
        self._folder = task.folder / "indexes"
        settings = cutting(point)
        self._made = ensure_index(
            task.sides.dataset,
            self._folder,
            create=task.create,
            encoder=task.encoder,
            language=task.language,
            unit="chunk",
            chunker=_Structured(task.chunker(settings), structure),
            recipe=json.dumps(["tune", FORMAT, task.version, settings], sort_keys=True),
            listener=listener,
        )
        self._store = task.open(self._made.folder)

    def __enter__(self) -> tuple[Store, int]:
        return self._store, self._made.chunks

    def __exit__(self, *_: object) -> None:
        self._store.close()
        shutil.rmtree(self._made.folder, ignore_errors=True)
        (self._folder / f"{self._made.key}.lock").unlink(missing_ok=True)


class _Memory:
    """A store that asks the one within once for each question and leg, and remembers. For searching without a filter.

    `waited` counts the seconds that were spent on asking, `charged` those that asking would have taken every time.
    """

    def __init__(self, store: Store, depth: int) -> None:
        self._store = store
        self._depth = depth
        self._hits: dict[tuple[Any, ...], tuple[list[Hit], float]] = {}
        self._passages: dict[str, Passage | None] = {}
        self._documents: dict[tuple[str, int | None], Document | None] = {}
        self.tokens: dict[tuple[str, int, int], int] = {}
        self.waited = self.charged = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def search_dense(self, vector: Matrix, k: int, where: Filter | None = None, **more: Any) -> list[Hit]:
        key = ("dense", vector.tobytes(), repr(sorted(more.items())))
        return self._once(key, k, where, lambda depth: self._store.search_dense(vector, depth, where, **more))

    def search_lexical(self, query: str, k: int, where: Filter | None = None, **more: Any) -> list[Hit]:
        key = ("bm25", query, repr(sorted(more.items())))
        return self._once(key, k, where, lambda depth: self._store.search_lexical(query, depth, where, **more))

    def _once(self, key: tuple[Any, ...], k: int, where: Filter | None, ask: Callable[[int], list[Hit]]) -> list[Hit]:
        if where is not None or k > self._depth:
            return ask(k)
        if key not in self._hits:
            started = time.perf_counter()
            hits = ask(self._depth)
            self._hits[key] = hits, time.perf_counter() - started
            self.waited += self._hits[key][1]
        hits, seconds = self._hits[key]
        self.charged += seconds
        return hits[:k]

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        if new := [hit for hit in hits if hit.chunk_id not in self._passages]:
            self._passages.update(dict.fromkeys(hit.chunk_id for hit in new))
            self._passages.update({passage.chunk.id: passage for passage in self._store.passages(new)})
        return [replace(found, hit=hit) for hit in hits if (found := self._passages[hit.chunk_id]) is not None]

    def count(self, chunk: Chunk, encoder: Encoder) -> int:
        """Tokens of what is read, as the encoder counts them."""
        place = (chunk.document_id, chunk.start, chunk.end)
        if place not in self.tokens:
            self.tokens[place] = len(encoder.tokenizer.spans(chunk.reading))
        return self.tokens[place]

    def get_document(self, document_id: str, version: int | None = None) -> Document | None:
        if (document_id, version) not in self._documents:
            self._documents[document_id, version] = self._store.get_document(document_id, version)
        return self._documents[document_id, version]


def _measure(task: Task, point: Point, memory: _Memory, chunks: int) -> Tried:
    from pincite.evaluation.measures import Retrieved, measure, measure_spans

    goal = task.goal
    k = _number(point, "search.k", 10)
    cutoff = goal.k or k
    # Several passages may be of one document. Never more than the depth: a search for more would also fuse more.
    wanted = max(k, min(cutoff if goal.spans else 10 * cutoff, max(k, _number(point, "search.depth", 100))))
    search = task.searcher(point, cast("Store", memory))
    dataset = task.sides.only(_all(task.sides))
    rankings: dict[str, list[Retrieved]] = {}
    seconds, tokens = [], []
    for name, text in dataset.queries.items():
        task.encoder.encode_queries([text])  # remembered: what follows is the time of the search alone
        before, started = memory.charged - memory.waited, time.perf_counter()
        found = search(text, wanted)
        taken = time.perf_counter() - started - found.timings.get("encode", 0.0)
        seconds.append(taken + memory.charged - memory.waited - before)
        rankings[name] = [
            Retrieved(p.chunk.document_id, p.chunk.start, p.chunk.end, p.hit.score) for p in found.passages
        ]
        tokens.append(sum(memory.count(p.chunk, task.encoder) for p in found.passages[:k]))
    if goal.spans:
        name = f"{goal.name.partition('@')[0]}@{cutoff}"
        labelled = sorted({span.document_id for spans in dataset.spans.values() for span in spans})
        texts = {each: read.text for each in labelled if (read := memory.get_document(each)) is not None}
        measured = measure_spans(rankings, dataset.spans, cutoffs=[cutoff], texts=texts)
    else:
        name = goal.name
        documents = {each: list(dict.fromkeys(p.document_id for p in ranked)) for each, ranked in rankings.items()}
        measured = measure(documents, dataset.qrels, [name])
    values = dict(zip(measured.queries, measured.values[name].tolist(), strict=True))
    return Tried(dict(point), values, chunks, statistics.median(seconds) * 1e3, statistics.fmean(tokens))


def _number(point: Point, name: str, default: int) -> int:
    value = point.get(name, default)
    return int(value) if value is not None else default


# The choice


@dataclass(frozen=True, slots=True)
class Choice:
    """The best point by the choosing side, held against the present settings on the other."""

    present: Tried
    best: Tried
    order: tuple[Tried, ...]  #: all points, best first on the choosing side
    train_gain: float
    gain: float  #: on the held-out side, mean of the differences
    interval: tuple[float, float]  #: 95 %, paired bootstrap
    p: float  #: paired randomization test, two-sided
    worth_it: bool
    why: str  #: in words, the reason for `worth_it`
    warnings: tuple[str, ...] = ()


def choose(
    tried: Sequence[Tried],
    present: Point,
    sides: Sides,
    *,
    least_gain: float = 0.01,
    level: float = 0.05,
    budget: float | None = None,
    seed: int = 0,
) -> Choice:
    """The point with the best mean on the choosing side; of equals that which changes the fewest present settings.

    Then: fewest tokens read, fewest chunks, first in the grid. With `budget` only points that read at
    most so many tokens are taken, the present settings aside. A change is worth it if the held-out side gains at least
    `least_gain` and the difference is significant at `level` (randomization test, two-sided). Raises InputError if the
    present settings were not measured.
    """
    from pincite.evaluation.significance import bootstrap_interval, randomization_test

    now = next((each for each in tried if _key(each.settings) == _key(present)), None)
    if now is None:
        raise InputError("the present settings were not measured: nothing can be compared with them")
    means = {id(each): each.mean(sides.train) for each in tried}

    def rank(place_and_point: tuple[int, Tried]) -> tuple[Any, ...]:
        place, each = place_and_point
        # Rounded, so that sums in another order are still equal.
        changes = sum(value != now.settings.get(name) for name, value in each.settings.items())
        return -round(means[id(each)] / _EQUAL), changes, round(each.tokens), each.chunks, place

    order = [each for _, each in sorted(enumerate(tried), key=rank)]
    allowed = [each for each in order if budget is None or each is now or each.tokens <= budget]
    best = allowed[0]
    differences = [best.values[each] - now.values[each] for each in sides.held_out]
    gain = statistics.fmean(differences)
    p = randomization_test(differences, seed=seed)
    warnings = [
        f"only {len(side)} questions {what}: fewer than {LEAST_QUERIES}, the choice is weak"
        for side, what in ((sides.train, "choose"), (sides.held_out, "judge the choice"))
        if len(side) < LEAST_QUERIES
    ]
    if best is now:
        worth_it, why = False, "no other settings do better on the questions that choose"
    elif gain < least_gain:
        worth_it, why = False, f"on the held-out questions the gain is {gain:+.3f}, below {least_gain:g}"
    elif p > level:
        worth_it, why = False, f"on the held-out questions the gain of {gain:+.3f} may be chance (p = {p:.3f})"
    else:
        worth_it, why = True, f"on the held-out questions the gain is {gain:+.3f} (p = {p:.3f})"
    return Choice(
        present=now,
        best=best,
        order=tuple(order),
        train_gain=means[id(best)] - means[id(now)],
        gain=gain,
        interval=bootstrap_interval(differences, seed=seed),
        p=p,
        worth_it=worth_it,
        why=why,
        warnings=tuple(warnings),
    )
