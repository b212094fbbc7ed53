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
import json
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from pincite.chunkers.context import encoded_text
from pincite.evaluation.choice import LEAST_QUERIES, Choice, choose
from pincite.evaluation.index import EvaluationListener, corpus_hash, ensure_index, indexed_document
from pincite.evaluation.kept import Kept, Tried
from pincite.evaluation.legs import RememberedStore
from pincite.evaluation.points import (
    Aim,
    Point,
    Sides,
    Value,
    aim,
    cutting,
    default_aim,
    halves,
    point_key,
    points_of,
    read_sides,
)

if TYPE_CHECKING:
    from pincite.protocols import Chunker, Encoder, Store, StoreHeader
    from pincite.types import SearchResult

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
    "default_aim",
    "halves",
    "kept",
    "plan",
    "points_of",
    "read_sides",
    "sweep",
]

Searcher: TypeAlias = "Callable[[Point, Store], Callable[[str, int], SearchResult]]"
"""From the settings of a point and a store to the search itself: query, k → what a person would be given."""

#: Raised whenever a kept measurement would be another one if it were made again.
FORMAT = 2  # 2: documents whose set states that they have no heading are cut without their title
#: Texts encoded to see how fast the encoder is here.
_SAMPLE = 24


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
    cuttings = list({point_key(cutting(point)): cutting(point) for point in waiting}.values())
    texts: set[bytes] = set()
    sample: list[str] = []
    chunkers = [task.chunker(settings) for settings in cuttings]
    for record in task.sides.dataset.documents() if cuttings else ():
        if (document := indexed_document(record, "chunk")) is None:
            continue
        for chunker in chunkers:
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
        groups.setdefault(point_key(cutting(point)), []).append(point)
    for group in groups.values():
        waiting = [point for point in group if before.get(point) is None]
        late = time_limit is not None and time.monotonic() - started > time_limit
        if waiting and not (late and done):
            with _index(task, group[0], listener) as (store, chunks):
                depth = max(max(_number(p, "search.depth", 100), _number(p, "search.k", 10)) for p in group)
                memory = RememberedStore(store, depth)
                for point in waiting:
                    before.put(_measure(task, point, memory, chunks))
        for point in group:
            if (tried := before.get(point)) is not None:
                done.append(tried)
                listener.tried(tried, len(done), len(points))
    return done


@contextmanager
def _index(task: Task, point: Point, listener: EvaluationListener) -> Iterator[tuple[Store, int]]:
    """The index of one cutting and its size, built for the while: the vectors stay with the encoder that remembers."""
    folder, settings = task.folder / "indexes", cutting(point)
    made = ensure_index(
        task.sides.dataset,
        folder,
        create=task.create,
        encoder=task.encoder,
        language=task.language,
        unit="chunk",
        chunker=task.chunker(settings),
        recipe=json.dumps(["tune", FORMAT, task.version, settings], sort_keys=True),
        listener=listener,
    )
    store = task.open(made.folder)
    try:
        yield store, made.chunks
    finally:
        store.close()
        shutil.rmtree(made.folder, ignore_errors=True)
        (folder / f"{made.key}.lock").unlink(missing_ok=True)


def _measure(task: Task, point: Point, memory: RememberedStore, chunks: int) -> Tried:
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
