"""What the relevance cut-off of prompts leaves out, and whether it was wanted.

    python benchmarks/relevance.py --data ../shared/data/beir

For each share of the best score: how many of the k passages found are cut, how many of those judged relevant are among
them, and how many questions lose every relevant passage that had been found. Each document is one passage.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pincite.assemble import RELEVANCE, assemble
from pincite.encoders.minilm import minilm
from pincite.protocols import StoreHeader
from pincite.retrieve import retrieve
from pincite.store.edge import EdgeStore
from pincite.types import Chunk, Document, Passage
from scifact import read_jsonl, read_qrels

SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


def found(folder: Path, limit: int, k: int) -> list[tuple[list[Passage], set[str]]]:
    """For each question the passages found and the documents judged relevant."""
    relevant: dict[str, set[str]] = {}
    for qrel in read_qrels(folder / "qrels" / "test.tsv"):
        if qrel.relevance > 0:
            relevant.setdefault(qrel.query_id, set()).add(qrel.doc_id)
    queries = [query for query in read_jsonl(folder / "queries.jsonl") if query["_id"] in relevant]
    queries = queries[:: max(1, len(queries) // limit)][:limit]
    encoder = minilm()
    with tempfile.TemporaryDirectory() as index:
        store = EdgeStore.create(Path(index) / "index", StoreHeader(encoder.identity, (), "english"))
        corpus = [each for each in read_jsonl(folder / "corpus.jsonl") if each["text"].strip()]
        vectors = encoder.encode_passages([f"{each.get('title', '')} {each['text']}".strip() for each in corpus])
        tickets = []
        for i, source in enumerate(corpus):
            document = Document(source["_id"], source["text"], source.get("title", ""), source["_id"], "text/plain", "")
            ticket = store.stage(document)
            chunk = Chunk(f"{document.id}.1.0", document.id, 1, document.text, 0, len(document.text), 0)
            store.stage_chunks(ticket, [chunk], [document.title], vectors[i : i + 1])
            tickets.append(ticket)
        store.commit(tickets)
        texts = [query["text"] for query in queries]
        results = [
            list(retrieve(store, text, vector, k=k).passages)
            for text, vector in zip(texts, encoder.encode_queries(texts), strict=True)
        ]
        store.close()
    return [(passages, relevant[query["_id"]]) for passages, query in zip(results, queries, strict=True)]


def row(asked: Sequence[tuple[list[Passage], set[str]]], share: float) -> str:
    total = cut = wanted = lost = questions = emptied = 0
    for passages, relevant in asked:
        prompt = assemble("?", passages, budget=1 << 40, relevance=share)
        dropped = [passage for passage, _ in prompt.dropped]
        total, cut = total + len(passages), cut + len(dropped)
        here = sum(passage.chunk.document_id in relevant for passage in passages)
        gone = sum(passage.chunk.document_id in relevant for passage in dropped)
        wanted, lost = wanted + here, lost + gone
        questions, emptied = questions + bool(here), emptied + (0 < here == gone)
    mark = " *" if share == RELEVANCE else ""
    return f"  {share:.1f}  {cut / total:7.3f}  {lost:5d} of {wanted:<5d}  {emptied:5d} of {questions}{mark}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/beir"))
    parser.add_argument(
        "--sets", nargs="*", default=["xquad-en", "xquad-hi", "clapnq", "aila-statutes-mteb", "cranfield"]
    )
    parser.add_argument("--limit", type=int, default=300, help="questions of each set")
    parser.add_argument("-k", type=int, default=10, help="passages found for each")
    arguments = parser.parse_args()
    for name in arguments.sets:
        asked = found(arguments.data / name, arguments.limit, arguments.k)
        print(f"{name}, {len(asked)} questions, k={arguments.k}\nshare    cut  relevant cut    questions left without")
        for share in SHARES:
            print(row(asked, share), flush=True)


if __name__ == "__main__":
    main()
