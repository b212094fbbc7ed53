"""Every kind of vector index side by side: recall, milliseconds, seconds to build, memory and disk.

    python benchmarks/vector_indexes.py --points 200000
    python benchmarks/vector_indexes.py --vectors vectors.npz     # arrays V of passages and Q of queries

Without --vectors they are made (seeded): 384 dimensions, 500 centres drawn from a normal distribution, each vector a
centre plus 0.7 times a normal one, scaled to length 1; queries are drawn in the same way and are not in the index.
Recall@10 is of these queries against exact search of the same store; `own` is what the store measured itself, with
queries made of its own vectors. Every kind is built and searched in processes of its own: memory is that of a fresh
one that has opened the index and searched it, less that of one that has only imported the store.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.store.edge import EdgeStore
from pincite.store.plan import IndexOptions
from pincite.types import Chunk, Document

DIMENSION = 384
KINDS = ("exact", "hnsw", "int8", "pq", "binary", "ivfpq")


def made(count: int, seed: int) -> np.ndarray:
    centres = np.random.default_rng(0).normal(size=(500, DIMENSION)).astype(np.float32)
    random = np.random.default_rng([1, seed])
    found = centres[random.integers(0, 500, count)]
    for start in range(0, count, 10_000):
        part = found[start : start + 10_000]
        part += 0.7 * random.normal(size=part.shape).astype(np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return found


def data(file: Path | None, points: int, queries: int) -> tuple[np.ndarray, np.ndarray]:
    if file is None:
        return made(points, 0), made(queries, 1)
    arrays = np.load(file)  # no pickles
    return arrays["V"].astype(np.float32), arrays["Q"].astype(np.float32)[:queries]


def fill(folder: Path, vectors: np.ndarray) -> None:
    identity = EncoderIdentity("made", "made", vectors.shape[1], "mean", True, "", "", 256)
    with EdgeStore.create(folder, StoreHeader(identity, (), "english")) as store:
        for start in range(0, len(vectors), 1000):
            some = vectors[start : start + 1000]
            document = Document(f"d{start}", "x " * len(some), "made", f"d{start}", "text/plain", "")
            ticket = store.stage(document)
            chunks = [Chunk(f"{document.id}.1.{i}", document.id, 1, "x", 2 * i, 2 * i + 1, i) for i in range(len(some))]
            store.stage_chunks(ticket, chunks, [""] * len(some), some)
            store.commit([ticket])


def resident() -> float:
    """Megabytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def options(kind: str, until: int) -> IndexOptions:
    return IndexOptions(kind, exact_until=until)  # type: ignore[arg-type]


def search(folder: Path, kind: str, queries: np.ndarray, until: int) -> dict[str, object]:
    before = resident()
    started = time.perf_counter()
    with EdgeStore.open(folder, index=options(kind, until)) as store:
        opened = time.perf_counter() - started
        times, found = [], []
        for _ in range(2):  # the first round warms up
            times, found = [], []
            for query in queries:
                started = time.perf_counter()
                hits = store.search_dense(query, 10)
                times.append((time.perf_counter() - started) * 1e3)
                found.append([hit.chunk_id for hit in hits])
        p50, p99 = np.percentile(times, [50, 99])
        report = store.index_report()
        memory = resident() - before
    return {
        "found": found,
        "p50": p50,
        "p99": p99,
        "open": opened,
        "memory": memory,
        "beam": report.beam,
        "own": report.recall.recall if report.recall else 1.0,
        "notes": report.notes,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--exact-until", type=int, default=1000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--folder", type=Path, help="where the indexes are made; default: a temporary one")
    parser.add_argument("--child", nargs=2, metavar=("STEP", "KIND"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        step, kind = arguments.child
        if step == "build":
            started = time.perf_counter()
            with EdgeStore.open(arguments.folder, index=options(kind, arguments.exact_until)) as store:
                store.optimize()
                own = store.index_report().recall
            seconds = time.perf_counter() - started
            print(json.dumps({"build": seconds, "measured": own is not None}))
        else:
            queries = np.load(arguments.folder.with_name("queries.npy"))
            print(json.dumps(search(arguments.folder, kind, queries, arguments.exact_until)))
        return

    def child(step: str, kind: str, folder: Path) -> dict[str, object]:
        command = [sys.executable, __file__, "--child", step, kind, "--folder", str(folder)]
        command += ["--exact-until", str(arguments.exact_until)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found: dict[str, object] = json.loads(done.stdout)
        return found

    with tempfile.TemporaryDirectory() as temporary:
        base = arguments.folder or Path(temporary)
        vectors, queries = data(arguments.vectors, arguments.points, arguments.queries)
        np.save(base / "queries.npy", queries)
        started = time.perf_counter()
        fill(base / "filled", vectors)
        print(f"{len(vectors):,} vectors of {vectors.shape[1]} dimensions, {len(queries)} queries", end="; ")
        print(f"written in {time.perf_counter() - started:.0f} s")
        del vectors
        print("kind     recall@10      own   p50 ms   p99 ms   build s   open s   RSS MB   disk MB   beam", flush=True)
        reference: list[list[str]] = []
        for kind in arguments.kinds:
            folder = base / kind
            # Holes and all: what the engine reserves is not on the disk.
            subprocess.run(["cp", "-r", "--sparse=always", str(base / "filled"), str(folder)], check=True)
            built = child("build", kind, folder)
            disk = sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file()) / 1e6
            row = child("search", kind, folder)
            found = row["found"]
            reference = reference or found  # type: ignore[assignment]
            recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, reference, strict=True)])  # type: ignore[call-overload]
            print(
                f"{kind:8} {recall:9.4f} {row['own']:8.4f} {row['p50']:8.2f} {row['p99']:8.2f} {built['build']:9.1f} "
                f"{row['open']:8.2f} {row['memory']:8.0f} {disk:9.0f}   {row['beam']} {' '.join(row['notes'])}",  # type: ignore[arg-type]
                flush=True,
            )
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
