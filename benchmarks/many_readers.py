"""What it costs to ask the process that holds an index instead of opening it.

    python benchmarks/many_readers.py --chunks 10000 --questions 1000 --seed 1

Chunks have made vectors of 384 dimensions and 80 words drawn from 20,000 by rank; a query has six of the ranks 20 to
2,000. A question is what `retrieve` asks: both legs to a depth of 200, then ten passages, all of one state. It is asked
of a store that is open in the process, and of another process that holds it: of one that is idle, and of one that adds
documents of ten chunks without a pause.
Prints milliseconds, median and 99th percentile, and how long it takes until the first answer.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.store.edge import EdgeStore
from pincite.store.shared import SharedStore, open_shared
from pincite.types import Chunk, Document, Hit

DIMENSION = 384
PER_DOCUMENT = 10
WORDS = 80
DEPTH, K = 200, 10


class Maker:
    """Documents, vectors and queries, drawn with one seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def words(self, count: int) -> str:
        ranks = np.minimum(self._random.zipf(1.3, count), 20_000)
        return " ".join(f"w{rank}" for rank in ranks)

    def query(self) -> str:
        return " ".join(f"w{rank}" for rank in self._random.integers(20, 2000, 6))

    def vectors(self, count: int) -> np.ndarray:
        made = self._random.normal(size=(count, DIMENSION)).astype(np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    def put(self, store: Any, uri: str, count: int = PER_DOCUMENT) -> None:
        parts = [self.words(WORDS) for _ in range(count)]
        document = Document(uri, "\n".join(parts), uri, uri, "text/plain", uri)
        document = replace(document, version=store.next_version(uri))
        chunks, start = [], 0
        for n, part in enumerate(parts):
            name = f"{uri}.{document.version}.{n}"
            chunks.append(Chunk(name, uri, document.version, part, start, start + len(part), n))
            start += len(part) + 1
        ticket = store.stage(document)
        store.stage_chunks(ticket, chunks, [""] * len(chunks), self.vectors(len(chunks)))
        store.commit([ticket])


def use(folder: Path, *, write: bool = False) -> SharedStore:
    return open_shared(folder, lambda wait: EdgeStore.open(folder, timeout=wait), write=write, timeout=20)


def hold(folder: Path, writes: bool) -> None:
    """The other process: hold the index until its input ends."""
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    maker = Maker(99)
    with use(folder, write=True) as store:
        print("held", flush=True)
        n = 0
        while not stop.is_set():
            if not writes:
                stop.wait()
                break
            maker.put(store, f"extra{n % 100}")
            n += 1
    print(n, flush=True)


@contextmanager
def holder(folder: Path, *, writes: bool) -> Iterator[None]:
    command = [sys.executable, __file__, "--hold", str(folder), *(["--writes"] if writes else [])]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    started = time.perf_counter()
    yield
    seconds = time.perf_counter() - started
    written, _ = child.communicate()
    if writes:
        print(f"{'':34} (the holder committed {int(written) / seconds:.1f} documents a second)")


def measure(name: str, store: Any, questions: int, seed: int) -> None:
    maker = Maker(seed)
    times: dict[str, list[float]] = {"dense": [], "lexical": [], "passages": [], "question": []}

    def timed(what: str, call: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        found = call()
        times[what].append(time.perf_counter() - started)
        return found

    def question(vector: np.ndarray, words: str) -> None:
        with store.reading():
            store.search_lexical(words, DEPTH)
            store.passages(store.search_dense(vector, DEPTH)[:K])

    for n in range(questions + 20):
        vector, words = maker.vectors(1)[0], maker.query()
        hits: list[Hit] = timed("dense", lambda vector=vector: store.search_dense(vector, DEPTH))
        timed("lexical", lambda words=words: store.search_lexical(words, DEPTH))
        timed("passages", lambda hits=hits: store.passages(hits[:K]))
        timed("question", lambda vector=vector, words=words: question(vector, words))
        if n == 19:  # warm
            for each in times.values():
                each.clear()
    cells = (f"{1000 * np.median(t):6.2f} {1000 * np.quantile(t, 0.99):7.2f}" for t in times.values())
    print(f"{name:34} " + "   ".join(cells), flush=True)


def first_answer(name: str, open_one: Callable[[], Any]) -> None:
    times = []
    for _ in range(10):
        started = time.perf_counter()
        with open_one() as store:
            store.search_lexical("w1 w7", 10)
            times.append(time.perf_counter() - started)
    print(f"{name:34} {1000 * np.median(times):6.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hold", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--writes", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hold:
        hold(options.hold, options.writes)
        return
    folder = Path(tempfile.mkdtemp(prefix="many-readers-")) / "index"
    try:
        header = StoreHeader(EncoderIdentity("made", "1", DIMENSION, "none", True, "", "", 128), (), "english")
        with EdgeStore.create(folder, header) as store:
            maker = Maker(options.seed)
            for n in range(options.chunks // 500):
                maker.put(store, f"d{n}", 500)
            store.optimize()
        print(f"{'milliseconds, p50 and p99':34} {'dense':>14}   {'lexical':>14}   {'passages':>14}   {'question':>14}")
        with EdgeStore.open(folder) as store:
            measure("open in this process", store, options.questions, options.seed)
        with use(folder, write=True) as store:
            measure("the same, answering others as well", store, options.questions, options.seed)
            maker, stop = Maker(99), threading.Event()

            def write() -> None:
                n = 0
                while not stop.is_set():
                    maker.put(store, f"extra{n % 100}")
                    n += 1

            thread = threading.Thread(target=write)
            thread.start()
            measure("the same, a thread of it adds", store, options.questions, options.seed)
            stop.set()
            thread.join()
        for writes in (False, True):
            with holder(folder, writes=writes), use(folder) as store:
                assert not store.holds
                name = "in another, which adds" if writes else "in another process, which is idle"
                measure(name, store, options.questions, options.seed)
        print("\nmilliseconds from nothing open to the first answer")
        first_answer("opened in this process", lambda: EdgeStore.open(folder))
        first_answer("the same, answering others", lambda: use(folder))
        with holder(folder, writes=False):
            first_answer("asked of another process", lambda: use(folder))
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


if __name__ == "__main__":
    main()
