"""Retrieval quality and speed on a BEIR data set, one document = one passage.

    python benchmarks/scifact.py --data ../shared/data/beir/scifact

Prints nDCG@10, Recall@100 and MRR@10 of each leg and of the hybrid (by ir-measures), the time of a search with and
without encoding the query, and the rate of indexing. Needs the `eval` extra.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ir_measures
from ir_measures import AP, MRR, R, nDCG

from pincite.encoders.minilm import minilm
from pincite.pipeline import Options
from pincite.protocols import StoreHeader
from pincite.retrieve import retrieve
from pincite.store.edge import EdgeStore
from pincite.types import Chunk, Document


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    packed = path.with_name(path.name + ".gz")
    with gzip.open(packed, "rt", encoding="utf-8") if packed.exists() else path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def read_qrels(path: Path) -> list[ir_measures.Qrel]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:] if line]
    return [ir_measures.Qrel(query, document, int(grade)) for query, document, grade in rows]


def plain_loop() -> float:
    """How fast this machine is just now, in seconds for what everybody can run: times below are to be read by it."""
    started = time.perf_counter()
    total = 0
    for number in range(5_000_000):
        total += number
    return round(time.perf_counter() - started, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/beir/scifact"))
    parser.add_argument("--split", default="test")
    parser.add_argument("--store", type=Path, help="keep the index here and use it again")
    parser.add_argument("--rrf-k", type=int, default=Options().rrf_k, help="the constant of fusion")
    parser.add_argument("--dense-weight", type=float, default=Options().dense_weight, help="the dense leg's in fusion")
    parser.add_argument("--language", default="english")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    corpus = list(read_jsonl(arguments.data / "corpus.jsonl"))
    qrels = read_qrels(arguments.data / "qrels" / f"{arguments.split}.tsv")
    judged = {qrel.query_id for qrel in qrels}
    queries = {q["_id"]: q["text"] for q in read_jsonl(arguments.data / "queries.jsonl") if q["_id"] in judged}
    encoder = minilm()
    report: dict[str, Any] = {
        "data": arguments.data.name,
        "split": arguments.split,
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "five million additions s": plain_loop(),
    }

    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.store or Path(temporary) / "index"
        if EdgeStore.exists(folder):
            store = EdgeStore.open(folder)
        else:
            header = StoreHeader(encoder.identity, (), arguments.language)
            store = EdgeStore.create(folder, header)
            texts = [f"{d.get('title', '')} {d['text']}".strip() or "(empty)" for d in corpus]
            started = time.perf_counter()
            vectors = encoder.encode_passages(texts)
            encoded = time.perf_counter()
            for first in range(0, len(corpus), 256):
                tickets = []
                for offset, source in enumerate(corpus[first : first + 256]):
                    document = Document(
                        id=source["_id"],
                        text=source["text"] or "(empty)",
                        title=source.get("title", ""),
                        uri=source["_id"],
                        media_type="text/plain",
                        content_hash="",
                    )
                    chunk = Chunk(f"{document.id}.1.0", document.id, 1, document.text, 0, len(document.text), 0)
                    ticket = store.stage(document)
                    store.stage_chunks(ticket, [chunk], [document.title], vectors[first + offset : first + offset + 1])
                    tickets.append(ticket)
                store.commit(tickets)
            report["encode passages/s"] = round(len(texts) / (encoded - started), 1)
            report["store documents/s"] = round(len(texts) / (time.perf_counter() - encoded), 1)
        with store:
            report["documents"] = len(store.documents())
            report["queries"] = len(queries)
            query_vectors = dict(zip(queries, encoder.encode_queries(list(queries.values())), strict=True))
            report["quality"] = {}
            ways: dict[str, dict[str, Any]] = {
                "bm25": {"mode": "bm25"},
                "dense": {"mode": "dense"},
                "rrf": {"fusion": "rrf", "rrf_k": arguments.rrf_k},
                "hybrid": {"dense_weight": arguments.dense_weight},
            }
            for mode, options in ways.items():
                run = []
                for query_id, text in queries.items():
                    given = dict(options)
                    if mode == "hybrid":
                        given["dense_weight"] *= encoder.reads(text) ** 2
                    result = retrieve(store, text, query_vectors[query_id], k=100, **given)
                    run += [
                        ir_measures.ScoredDoc(query_id, p.chunk.document_id, 1 / p.hit.rank) for p in result.passages
                    ]
                values = ir_measures.calc_aggregate([nDCG @ 10, R @ 100, MRR @ 10, AP], qrels, run)
                report["quality"][mode] = {str(measure): round(value, 4) for measure, value in values.items()}
            searches, encodings = [], []
            for query_id, text in list(queries.items()) * 3:
                started = time.perf_counter()
                retrieve(store, text, query_vectors[query_id], k=10)
                searches.append(time.perf_counter() - started)
            for text in queries.values():
                started = time.perf_counter()
                retrieve(store, text, encoder.encode_queries([text])[0], k=10)
                encodings.append(time.perf_counter() - started)
            for name, times in (("search ms", searches), ("search with encoding ms", encodings)):
                cuts = statistics.quantiles(times, n=100)
                report[name] = {"p50": round(cuts[49] * 1e3, 2), "p99": round(cuts[98] * 1e3, 2)}
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for name, value in report.items():
        if name == "quality":
            for mode, measures in value.items():
                print(f"{mode:10}", "  ".join(f"{measure} {number:.4f}" for measure, number in measures.items()))
        else:
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
