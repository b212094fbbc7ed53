"""How well "nothing in the index speaks to this question" is told apart, before any model is called.

    python benchmarks/no_evidence.py --data ../shared/data/beir

Questions of a data set are asked of its own corpus (evidence is there) and questions of other sets of the same corpus
(off topic). Prints, for a grid of the two thresholds, the share of each that is let through. A question is let
through when its nearest passage reaches the cosine, or one of the passages found holds the share of its content words.
Every second question is for choosing, the others are for reporting.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from pincite.answering import RELEVANT_COSINE, RELEVANT_WORDS
from pincite.citations import words_in_common
from pincite.encoders.minilm import minilm
from pincite.protocols import StoreHeader
from pincite.retrieve import retrieve
from pincite.store.edge import EdgeStore
from pincite.types import Chunk, Document
from scifact import read_jsonl, read_qrels


def questions(folder: Path, limit: int) -> list[str]:
    judged = {qrel.query_id for qrel in read_qrels(folder / "qrels" / "test.tsv")}
    texts = [query["text"] for query in read_jsonl(folder / "queries.jsonl") if query["_id"] in judged]
    return texts[:: max(1, len(texts) // limit)][:limit]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/beir"))
    parser.add_argument("--corpus", default="xquad-en")
    parser.add_argument("--off-topic", nargs="*", default=["scifact", "cranfield", "clapnq"])
    parser.add_argument("--limit", type=int, default=300, help="questions of each set")
    arguments = parser.parse_args()
    for name in (arguments.corpus, *arguments.off_topic):
        if not (arguments.data / name).is_dir():
            raise SystemExit(f"no data set in {arguments.data / name}: name the folder of the sets with --data")
    encoder = minilm()
    with tempfile.TemporaryDirectory() as folder:
        store = EdgeStore.create(Path(folder) / "index", StoreHeader(encoder.identity, (), "english"))
        corpus = [d for d in read_jsonl(arguments.data / arguments.corpus / "corpus.jsonl") if d["text"].strip()]
        vectors = encoder.encode_passages([f"{d.get('title', '')} {d['text']}".strip() for d in corpus])
        tickets = []
        for i, source in enumerate(corpus):
            document = Document(source["_id"], source["text"], source.get("title", ""), source["_id"], "text/plain", "")
            ticket = store.stage(document)
            chunk = Chunk(f"{document.id}.1.0", document.id, 1, document.text, 0, len(document.text), 0)
            store.stage_chunks(ticket, [chunk], [document.title], vectors[i : i + 1])
            tickets.append(ticket)
        store.commit(tickets)

        def features(name: str) -> list[tuple[float, float]]:
            found = []
            texts = questions(arguments.data / name, arguments.limit)
            for text, vector in zip(texts, encoder.encode_queries(texts), strict=True):
                result = retrieve(store, text, vector, k=5)
                found.append((result.legs["dense"][0].score, words_in_common(text, result.passages)))
            return found

        sets = {name: features(name) for name in [arguments.corpus, *arguments.off_topic]}
        store.close()
    names = "  ".join(f"{name:>10}" for name in sets)
    for half, label in ((0, "for choosing"), (1, "for reporting")):
        print(f"{label}: share let through\ncosine  words  {names}")
        for cosine in (0.25, 0.30, 0.35, 0.40, 0.45, 0.50):
            for words in (0.5, 0.6, 0.7, 0.8, 2.0):
                mark = " *" if (cosine, words) == (RELEVANT_COSINE, RELEVANT_WORDS) else ""
                shares = (
                    sum(c >= cosine or w >= words for c, w in values[half::2]) / len(values[half::2])
                    for values in sets.values()
                )
                shown = "none" if words > 1 else f"{words:.2f}"
                print(f"  {cosine:.2f}   {shown:>4}  {'  '.join(f'{share:10.3f}' for share in shares)}{mark}")


if __name__ == "__main__":
    main()
