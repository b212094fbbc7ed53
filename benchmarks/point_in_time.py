"""What a point in time costs a search, and how long comparing two versions takes.

    python benchmarks/point_in_time.py

Chunks with vectors drawn at random and words of a made language, in documents of five chunks; then each of half of the
documents gets a second version, so that the other half of the points of the first is past. Medians of exact searches
for the 100 nearest chunks, in milliseconds, of what is current and of what was in force before and after. Then two
texts, one of which has a tenth of its lines changed, or all of them shuffled, compared as `show --diff` does.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pincite.differences import differences
from pincite.loaders.ids import document_id
from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.store.edge import EdgeStore
from pincite.store.plan import Retention
from pincite.types import Chunk, Document, PointInTime

DIMENSION = 64
PER_DOCUMENT = 5
WORDS = [f"{a}{b}{c}" for a in ("ba", "de", "ki", "lo", "mu") for b in ("ra", "ne", "ti") for c in ("n", "s", "x", "l")]
OLD, NEW = "2000-01-01", "2020-01-01"


def put(store: EdgeStore, numbers: range, version: int, starts: str, rng: np.random.Generator) -> None:
    tickets = []
    for number in numbers:
        lines = [" ".join(rng.choice(WORDS, 30)) for _ in range(PER_DOCUMENT)]
        text, uri = "\n".join(lines), f"made:{number}"
        document = Document(document_id(uri), text, uri, uri, "text/plain", f"{number}.{version}", version)
        ticket = store.stage(document, starts=starts)
        start, chunks = 0, []
        for ordinal, line in enumerate(lines):
            name = f"{document.id}.{version}.{ordinal}"
            chunks.append(Chunk(name, document.id, version, line, start, start + len(line), ordinal))
            start += len(line) + 1
        vectors = rng.normal(size=(PER_DOCUMENT, DIMENSION)).astype(np.float32)
        store.stage_chunks(ticket, chunks, [""] * PER_DOCUMENT, vectors)
        tickets.append(ticket)
    store.commit(tickets)


def median(call: Callable[[], object], times: int = 30) -> float:
    call()  # the keys of a point in time are computed once between two changes
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return 1000 * statistics.median(taken)


def searches(store: EdgeStore, name: str, at: PointInTime | None, query: np.ndarray) -> None:
    dense = median(lambda: store.search_dense(query, 100, at=at))
    lexical = median(lambda: store.search_lexical(" ".join(WORDS[:4]), 100, at=at))
    print(f"{name:52} {dense:8.2f} {lexical:8.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=8000, help="of five chunks each (default 8000)")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    header = StoreHeader(EncoderIdentity("made", "1", DIMENSION, "none", True, "", "", 64), (), "english")
    with tempfile.TemporaryDirectory() as folder:
        store = EdgeStore.create(Path(folder) / "index", header, retention=Retention(None))
        half = options.documents // 2
        put(store, range(options.documents), 1, OLD, rng)
        query = rng.normal(size=DIMENSION).astype(np.float32)
        print(f"{'':52} {'dense ms':>8} {'BM25 ms':>8}")
        searches(store, f"current, {store.point_count:,} chunks, none past", None, query)
        put(store, range(half), 2, NEW, rng)
        searches(store, f"current, {store.point_count:,} chunks, a third of them past", None, query)
        for day in ("2010-01-01", "2025-01-01"):
            started = time.perf_counter()
            seen = len(store._visible.at(PointInTime(day)))
            keys = 1000 * (time.perf_counter() - started)
            searches(store, f"as of {day}, {seen:,} documents (keys {keys:.0f} ms, once)", PointInTime(day), query)
        store.close()
    chooser = random.Random(0)
    lines = [" ".join(chooser.choices(WORDS, k=12)) + "\n" for _ in range(20_000)]
    changed = [f"changed {line}" if chooser.random() < 0.1 else line for line in lines]
    shuffled = chooser.sample(lines, len(lines))
    for name, other in (("a tenth of the lines changed", changed), ("all lines shuffled", shuffled)):
        one, two = "".join(lines), "".join(other)
        started = time.perf_counter()
        found = len(differences(one, two))
        print(f"{len(one):,} characters, {name}: {time.perf_counter() - started:.2f} s, {found:,} changes")


if __name__ == "__main__":
    main()
