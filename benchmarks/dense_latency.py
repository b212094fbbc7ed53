"""Exact search against the HNSW graph: milliseconds and recall as the number of chunks grows.

    python benchmarks/dense_latency.py --points 10000 50000 100000 200000

Vectors are made (seeded): 384 dimensions, in clusters as text embeddings are, no two alike. Below the threshold of the
store everything is searched exactly; with --hnsw the graph is built and its recall@10 measured against the exact
result.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.store.edge import EdgeStore
from pincite.types import Chunk, Document

DIMENSION = 384


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[10_000, 50_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--hnsw", action="store_true", help="also build the graph and measure it")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    centres = random.normal(size=(500, DIMENSION)).astype(np.float32)
    identity = EncoderIdentity("made", "made", DIMENSION, "mean", True, "", "", 256)

    def vectors(count: int) -> np.ndarray:
        found = centres[random.integers(0, len(centres), count)] + random.normal(size=(count, DIMENSION)) * 0.7
        return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)

    queries = vectors(arguments.queries)
    print(
        "points   upsert s   open s   exact p50 ms   p99 ms" + ("   build s   HNSW p50 ms   recall@10" * arguments.hnsw)
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "index"
        store = EdgeStore.create(folder, StoreHeader(identity, (), "english"))
        stored = 0
        for target in sorted(arguments.points):
            started = time.perf_counter()
            while stored < target:
                size = min(1000, target - stored)
                document = Document(f"d{stored}", "x " * size, "made", f"d{stored}", "text/plain", "")
                ticket = store.stage(document)
                chunks = [Chunk(f"{document.id}.1.{i}", document.id, 1, f"x{i}", 0, 1, i) for i in range(size)]
                store.stage_chunks(ticket, chunks, [""] * size, vectors(size))
                store.commit([ticket])
                stored += size
            written = time.perf_counter() - started
            store.close()
            started = time.perf_counter()
            store = EdgeStore.open(folder)
            opened = time.perf_counter() - started
            exact = [[hit.chunk_id for hit in store.search_dense(query, 10)] for query in queries]
            p50, p99 = timed(store, queries)
            line = f"{stored:7,}  {written:8.1f}  {opened:7.2f}  {p50:12.2f}  {p99:7.2f}"
            if arguments.hnsw:
                started = time.perf_counter()
                built = store.optimize()
                seconds = time.perf_counter() - started
                found = [[hit.chunk_id for hit in store.search_dense(query, 10)] for query in queries]
                recall = statistics.mean(len(set(a) & set(b)) / 10 for a, b in zip(exact, found, strict=True))
                p50, _ = timed(store, queries)
                note = f" ({store.indexed_count:,} in the graph, the rest exact{', nothing to build' * (not built)})"
                line += f"  {seconds:8.1f}  {p50:12.2f}  {recall:10.4f}{note}"
            print(line, flush=True)
        store.close()


def timed(store: EdgeStore, queries: np.ndarray) -> tuple[float, float]:
    times = []
    for query in queries:
        started = time.perf_counter()
        store.search_dense(query, 100)
        times.append((time.perf_counter() - started) * 1e3)
    cuts = statistics.quantiles(times, n=100)
    return cuts[49], cuts[98]


if __name__ == "__main__":
    main()
