"""Replace, remove and add documents for a long time, and see whether the index stays exact, found and small.

    python benchmarks/churn.py --chunks 50000 --rounds 100
    python benchmarks/churn.py --chunks 5000 --rounds 100 --versions 1

Documents of ten chunks with random vectors are written through the store. Every round changes 2 % of them: some get a
new version, some are removed, some of those removed are added again. After each round the number of chunks must be
exactly what is kept, and a sample of chunks must each be found first by its own vector, in exact search. Every
`--every` rounds the vector index is built and the same is asked of approximate search; what the index takes of the disk
(blocks, not apparent size) is measured. At the end the index is compacted and compared with one made of the same
content at once. The exit status is 1 if a count is wrong, a chunk is not found, or the disk use is more than twice.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.store.edge import EdgeStore
from pincite.store.plan import IndexOptions, Retention
from pincite.types import Chunk, Document

PER_DOCUMENT = 10
SHARE = 0.02
#: Chunks that are asked for by their own vectors after each round.
ASKED = 20
_TOGETHER = 50


def make_document(number: int, version: int) -> Document:
    lines = [f"document {number} version {version} line {line} " + "words " * 20 for line in range(PER_DOCUMENT)]
    return Document(f"d{number:08}", "\n".join(lines), f"{number}", f"toy:{number}", "text/plain", "", version)


def make_chunks(document: Document) -> list[Chunk]:
    chunks, start = [], 0
    for ordinal, line in enumerate(document.text.split("\n")):
        name = f"{document.id}.{document.version}.{ordinal}"
        end = start + len(line)
        chunks.append(Chunk(name, document.id, document.version, line, start, end, ordinal))
        start = end + 1
    return chunks


def make_vectors(document: Document, dimension: int) -> np.ndarray:
    seed = [int(document.id[1:]), document.version]
    return np.random.default_rng(seed).normal(size=(PER_DOCUMENT, dimension)).astype(np.float32)


def write(store: EdgeStore, documents: list[Document], dimension: int, remove: list[str] | None = None) -> None:
    """Make documents current and remove others, some at a moment."""
    for start in range(0, max(1, len(documents)), _TOGETHER):
        tickets = []
        for document in documents[start : start + _TOGETHER]:
            ticket = store.stage(document)
            chunks = make_chunks(document)
            store.stage_chunks(ticket, chunks, [""] * len(chunks), make_vectors(document, dimension))
            tickets.append(ticket)
        store.commit(tickets, remove=remove or [] if start == 0 else [])


def disk(folder: Path) -> float:
    """Megabytes that the files take: their blocks, without holes."""
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*")) / 1e6


def missed(store: EdgeStore, live: dict[int, int], dimension: int, rng: random.Random, *, exact: bool) -> int:
    """Of a sample of chunks, how many are not the first that their own vector finds."""
    wrong = 0
    for number in rng.sample(sorted(live), min(ASKED, len(live))):
        document = make_document(number, live[number])
        ordinal = rng.randrange(PER_DOCUMENT)
        hits = store.search_dense(make_vectors(document, dimension)[ordinal], 10, exact=exact)
        wrong += not hits or hits[0].chunk_id != f"{document.id}.{document.version}.{ordinal}"
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--every", type=int, default=10, help="rounds between two builds of the vector index")
    parser.add_argument("--dimension", type=int, default=64)
    parser.add_argument("--versions", type=int, default=0, help="past versions that are kept")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="churn-"))
    try:
        return churn(place, options)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def churn(place: Path, options: argparse.Namespace) -> int:
    rng = random.Random(options.seed)
    dimension = options.dimension
    header = StoreHeader(EncoderIdentity("random", "1", dimension, "none", True, "", "", 32), (), "english")
    index = IndexOptions("hnsw", exact_until=max(100, options.chunks // 5), m=8, ef_construct=64)
    kept = Retention(options.versions)
    documents = options.chunks // PER_DOCUMENT
    live = dict.fromkeys(range(documents), 1)
    last = dict(live)
    gone: set[int] = set()
    started = time.perf_counter()
    store = EdgeStore.create(place / "index", header, index=index, retention=kept)
    write(store, [make_document(number, 1) for number in live], dimension)
    print(f"{documents} documents of {PER_DOCUMENT} chunks written in {time.perf_counter() - started:.0f} s")
    print("round   kept chunks  counted  missed exact  missed by index  disk MB  built MB  seconds")
    bad = 0
    for number in range(1, options.rounds + 1):
        started = time.perf_counter()
        some = max(3, int(documents * SHARE))
        changed = rng.sample(sorted(live), some * 2 // 3)
        removed, updated = changed[: some // 3], changed[some // 3 :]
        back = rng.sample(sorted(gone), min(len(gone), some // 3))
        for each in removed:
            del live[each]
        gone = (gone | set(removed)) - set(back)
        for each in updated + back:
            live[each] = last[each] = last[each] + 1
        write(store, [make_document(n, live[n]) for n in updated + back], dimension, [f"d{n:08}" for n in removed])
        expected = sum(each.chunks for each in store.history()) if options.versions else len(live) * PER_DOCUMENT
        counted = store.point_count
        exact = missed(store, live, dimension, rng, exact=True)
        wrong = counted != expected or exact > 0 or store.document_count != len(live)
        by_index, before, after = "", "", ""
        if number % options.every == 0:
            before = f"{disk(place / 'index'):.1f}"
            store.optimize()
            by_index = str(missed(store, live, dimension, rng, exact=False))
            after = f"{disk(place / 'index'):.1f}"
            wrong = wrong or by_index != "0"
        bad += wrong
        if wrong or before:
            print(
                f"{number:5} {expected:13} {counted:8} {exact:13} {by_index:>16} {before:>8} {after:>9} "
                f"{time.perf_counter() - started:8.1f}{'  WRONG' if wrong else ''}",
                flush=True,
            )
    print(store.index_report().search)
    problems = store.check()
    store.compact()
    store.optimize()
    last_missed = missed(store, live, dimension, rng, exact=False)
    problems += store.check()
    store.close()
    compacted = disk(place / "index")
    with EdgeStore.create(place / "fresh", header, index=index) as fresh:
        write(fresh, [make_document(number, live[number]) for number in sorted(live)], dimension)
        fresh.optimize()
    size = disk(place / "fresh")
    print(
        f"{options.rounds} rounds: {bad} wrong, check says {problems or 'nothing'}; compacted {compacted:.1f} MB, "
        f"made at once of what is current {size:.1f} MB: {compacted / size:.2f} times; missed after it {last_missed}"
    )
    most = 2.0 * (1 + options.versions)
    return 1 if bad or problems or last_missed or compacted > most * size else 0


if __name__ == "__main__":
    raise SystemExit(main())
