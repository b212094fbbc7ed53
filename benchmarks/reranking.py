r"""What a reranker does to the order: nDCG@10 before and after, query by query, and its time.

    python benchmarks/reranking.py --data ../shared/data/beir/scifact ../shared/data/beir/cranfield \
        --rerankers late-interaction mmr likelihood cross-encoder:PATH --queries 100

One document = one passage; the hybrid search as shipped, then each reranker as `rerank.model` names it. A fixed sample
of the queries (seed 7) where there are more than `--queries`. The interval is a paired bootstrap of the difference over
queries (10,000 samples, seed 7). Needs the `eval` extra, and `local` for the likelihood of the local model.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
from ir_measures import nDCG

from pincite.build import build_reranker
from pincite.config import RerankSettings, Settings
from pincite.encoders.base import LocalEncoder
from pincite.encoders.minilm import minilm
from pincite.protocols import Encoder, StoreHeader
from pincite.retrieve import retrieve
from pincite.store.edge import EdgeStore
from pincite.types import Chunk, Document, Passage, SearchResult
from scifact import plain_loop, read_jsonl, read_qrels


def open_index(data: Path, folder: Path, encoder: Encoder) -> EdgeStore:
    """The index of a data set in `folder`, made if it is not there. Documents are named by their line."""
    if EdgeStore.exists(folder):
        return EdgeStore.open(folder)
    corpus = list(read_jsonl(data / "corpus.jsonl"))
    store = EdgeStore.create(folder, StoreHeader(encoder.identity, (), "english"))
    for first in range(0, len(corpus), 256):
        part = corpus[first : first + 256]
        vectors = encoder.encode_passages([f"{d.get('title', '')} {d['text']}".strip() or "(empty)" for d in part])
        tickets = []
        for row, source in enumerate(part):
            text, title = source["text"] or "(empty)", source.get("title", "")
            document = Document(str(first + row), text, title, source["_id"], "text/plain", "")
            chunk = Chunk(f"{document.id}.1.0", document.id, 1, text, 0, len(text), 0)
            tickets.append(store.stage(document))
            store.stage_chunks(tickets[-1], [chunk], [title], vectors[row : row + 1])
        store.commit(tickets)
    return store


class Remembering:
    """The encoder's token vectors, each text's computed once: for quality over many queries, not for times."""

    def __init__(self, encoder: LocalEncoder) -> None:
        self.identity = encoder.identity
        self.query_tokens = encoder.query_tokens
        self._encoder = encoder
        self._known: dict[str, Any] = {}

    def passage_tokens(self, texts: Sequence[str]) -> list[Any]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        for text, tokens in zip(missing, self._encoder.passage_tokens(missing), strict=True):
            self._known[text] = tokens.astype(np.float16)
        return [self._known[text].astype(np.float32) for text in texts]


def ndcg(qrels: list[ir_measures.Qrel], run: dict[str, list[Passage]]) -> dict[str, float]:
    scored = [
        ir_measures.ScoredDoc(query_id, passage.uri, 1 / rank)
        for query_id, passages in run.items()
        for rank, passage in enumerate(passages, start=1)
    ]
    found = {metric.query_id: metric.value for metric in ir_measures.iter_calc([nDCG @ 10], qrels, scored)}
    return {query_id: found.get(query_id, 0.0) for query_id in run}


def compare(before: dict[str, float], after: dict[str, float]) -> dict[str, Any]:
    differences = np.array([after[query_id] - before[query_id] for query_id in before])
    samples = np.random.default_rng(7).integers(0, len(differences), (10_000, len(differences)))
    low, high = np.quantile(differences[samples].mean(axis=1), [0.025, 0.975])
    return {
        "nDCG@10": round(statistics.mean(after.values()), 4),
        "difference": round(float(differences.mean()), 4),
        "interval": [round(float(low), 4), round(float(high), 4)],
        "better": int((differences > 1e-9).sum()),
        "worse": int((differences < -1e-9).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", default=[Path("../shared/data/beir/scifact")])
    parser.add_argument("--rerankers", nargs="+", default=["late-interaction", "mmr"])
    parser.add_argument("--split", default="test")
    parser.add_argument("--queries", type=int, default=100, help="at most so many, a fixed sample")
    parser.add_argument("--depth", type=int, help="unset: each reranker's own")
    parser.add_argument("--weight", type=float, nargs="+", default=[1.0], help="of the new score; several are compared")
    parser.add_argument("--mmr-lambda", type=float)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--cache", type=Path, help="keep the indexes here and use them again")
    parser.add_argument("--remember", action="store_true", help="compute each passage once; no times then")
    parser.add_argument("--threads", type=int, help="of the encoder and the cross-encoder")
    arguments = parser.parse_args()

    encoder = minilm(threads=arguments.threads)
    reading: Any = Remembering(encoder) if arguments.remember else encoder
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, five million additions {plain_loop()} s")
    with tempfile.TemporaryDirectory() as temporary:
        for data in arguments.data:
            qrels = read_qrels(data / "qrels" / f"{arguments.split}.tsv")
            judged = {qrel.query_id for qrel in qrels if qrel.relevance > 0}
            queries = {q["_id"]: q["text"] for q in read_jsonl(data / "queries.jsonl") if q["_id"] in judged}
            if len(queries) > arguments.queries:
                kept = random.Random(7).sample(sorted(queries), arguments.queries)
                queries = {query_id: queries[query_id] for query_id in sorted(kept)}
            vectors = encoder.encode_queries(list(queries.values()))
            with open_index(data, (arguments.cache or Path(temporary)) / data.name, encoder) as store:
                deepest = max(arguments.depth or 50, 10)
                found: dict[str, SearchResult] = {
                    query_id: retrieve(store, text, vector, k=deepest)
                    for (query_id, text), vector in zip(queries.items(), vectors, strict=True)
                }
                before = ndcg(qrels, {query_id: list(result.passages) for query_id, result in found.items()})
                print(
                    json.dumps(
                        {
                            "data": data.name,
                            "split": arguments.split,
                            "queries": len(queries),
                            "nDCG@10": round(statistics.mean(before.values()), 4),
                        }
                    ),
                    flush=True,
                )
                for name in arguments.rerankers:
                    for weight in arguments.weight:
                        settings = RerankSettings(
                            model=name,
                            depth=arguments.depth,
                            seconds=arguments.seconds,
                            weight=weight,
                            mmr_lambda=arguments.mmr_lambda if name == "mmr" else None,
                        )
                        reranker = build_reranker(Settings(rerank=settings), reading, store)
                        assert reranker is not None, "none changes nothing"
                        times, notes, after = [], Counter[str](), {}
                        computing = time.process_time()
                        for query_id, result in found.items():
                            started = time.perf_counter()
                            reranked = reranker.rerank(queries[query_id], result.passages)
                            times.append(time.perf_counter() - started)
                            notes.update(reranked.notes)
                            after[query_id] = reranked.passages
                        computing = time.process_time() - computing
                        reranker.close()
                        row = {"reranker": reranker.name, "depth": reranker.depth, "weight": weight}
                        row |= compare(before, ndcg(qrels, after))
                        if not arguments.remember:
                            # Of the processor too: on a busy machine the clock says little.
                            row["ms"] = round(statistics.median(times) * 1e3)
                            row["processor ms"] = round(computing / len(queries) * 1e3)
                        row["notes"] = dict(notes.most_common(3))
                        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
