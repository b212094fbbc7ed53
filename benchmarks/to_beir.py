"""Other layouts of evaluation sets into BEIR's, for `pincite eval retrieval` and `pincite tune`.

    python benchmarks/to_beir.py squad xquad.es.json OUT --every 3
    python benchmarks/to_beir.py glasgow CISI.ALL CISI.QRY CISI.REL OUT
    python benchmarks/to_beir.py clapnq clapnq_dev_answerable.jsonl clapnq_dev_unanswerable.jsonl OUT

`squad`: each paragraph is a document, each question a query whose answer's place is kept as a span. `glasgow`: the
numbered records of the classic test collections (.I, .T, .W); every pair listed is relevant. `clapnq`: each passage is
a document; a question keeps its answer and the sentences it rests on, or which passage only looks right.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def write(out: Path, corpus: list[dict[str, Any]], queries: list[dict[str, Any]], qrels: list[tuple[str, str]]) -> None:
    (out / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        (out / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [f"{query}\t{document}\t1" for query, document in qrels]
    (out / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n", encoding="utf-8")
    print(f"{out}: {len(corpus)} documents, {len(queries)} queries, {len(qrels)} judgements")


def squad(file: Path, every: int, out: Path) -> None:
    corpus, queries, qrels = [], [], []
    number = 0
    for a, article in enumerate(json.loads(file.read_text(encoding="utf-8"))["data"]):
        for p, paragraph in enumerate(article["paragraphs"]):
            document = f"{a}-{p}"
            corpus.append({"_id": document, "title": "", "text": paragraph["context"]})
            for question in paragraph["qas"]:
                number += 1
                if number % every:
                    continue
                answer = question["answers"][0]
                start = answer["answer_start"]
                span = {"document": document, "start": start, "end": start + len(answer["text"])}
                queries.append({"_id": question["id"], "text": question["question"], "metadata": {"spans": [span]}})
                qrels.append((question["id"], document))
    write(out, corpus, queries, qrels)


def records(file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    text = file.read_text(encoding="utf-8", errors="replace")
    for part in re.split(r"^\.I ", text, flags=re.M)[1:]:
        number, _, body = part.partition("\n")
        fields = re.findall(r"^\.([A-Z])\s*\n(.*?)(?=^\.[A-Z]\s*\n|\Z)", body, flags=re.M | re.S)
        yield number.strip(), {name: " ".join(value.split()) for name, value in fields}


def glasgow(documents: Path, asked: Path, judged: Path, out: Path) -> None:
    corpus = [{"_id": i, "title": f.get("T", ""), "text": f.get("W", "")} for i, f in records(documents)]
    pairs = dict.fromkeys((row[0], row[1]) for line in judged.read_text().splitlines() if len(row := line.split()) > 1)
    known = {query for query, _ in pairs}
    queries = [{"_id": i, "text": f.get("W", "")} for i, f in records(asked) if i in known]
    write(out, corpus, queries, list(pairs))


def clapnq(answerable: Path, unanswerable: Path, out: Path) -> None:
    corpus: dict[tuple[str, str], str] = {}
    queries: list[dict[str, Any]] = []
    qrels: list[tuple[str, str]] = []
    for file, answered in ((answerable, True), (unanswerable, False)):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            passage = row["passages"][0]
            document = corpus.setdefault((passage["title"], passage["text"]), f"clapnq-{len(corpus) + 1:03}")
            metadata: dict[str, Any] = {"answerable": answered, "passage": document}
            if answered:
                first, *others = row["output"]
                metadata["answer"] = first["answer"]
                metadata["other_answers"] = [each["answer"] for each in others]
                metadata["gold_sentences"] = first["selected_sentences"]
                qrels.append((row["id"], document))
            queries.append({"_id": row["id"], "text": row["input"], "metadata": metadata})
    documents = [{"_id": name, "title": title, "text": text} for (title, text), name in corpus.items()]
    write(out, documents, queries, qrels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("squad")
    one.add_argument("file", type=Path)
    one.add_argument("out", type=Path)
    one.add_argument("--every", type=int, default=1, help="keep every so many-th question")
    two = kinds.add_parser("glasgow")
    for name in ("documents", "queries", "judgements", "out"):
        two.add_argument(name, type=Path)
    three = kinds.add_parser("clapnq")
    for name in ("answerable", "unanswerable", "out"):
        three.add_argument(name, type=Path)
    chosen = parser.parse_args()
    if chosen.kind == "squad":
        squad(chosen.file, chosen.every, chosen.out)
    elif chosen.kind == "clapnq":
        clapnq(chosen.answerable, chosen.unanswerable, chosen.out)
    else:
        glasgow(chosen.documents, chosen.queries, chosen.judgements, chosen.out)


if __name__ == "__main__":
    main()
