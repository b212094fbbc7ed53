"""Measures the in-process generators on SQuAD-style questions: exact match, F1, choice of passage, seconds.

    python benchmarks/local_generator.py --data PATH/xquad-en --split dev --limit 150

The data is a BEIR folder (corpus.jsonl, queries.jsonl whose metadata holds the answers, qrels/test.tsv). Questions are
shuffled with the seed; `dev` is the first `--limit` of them and `test` the next. Each question comes with three
passages: the best three by BM25 over the corpus, the third replaced by the right one where it is not among them.
Readings are made once and every rule of choice is applied to the same ones. `--extractive` measures sentences instead.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pincite.generators.extractive import ExtractiveGenerator
from pincite.generators.local import EXAMPLES, NOT_STATED, LocalGenerator, Reading, choose
from pincite.types import Chunk, Hit, Passage
from pincite.words import content_words


@dataclass(frozen=True)
class Case:
    question: str
    answers: tuple[str, ...]
    passages: tuple[str, ...]  #: in the order of retrieval
    gold: int  #: index of the right one


def normalized(text: str) -> list[str]:
    """Words by SQuAD's rule: lower case, without punctuation and articles."""
    bare = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def exact_and_f1(text: str, answers: Sequence[str]) -> tuple[float, float]:
    exact = f1 = 0.0
    own = normalized(text)
    for answer in answers:
        right = normalized(answer)
        exact = max(exact, float(own == right))
        common = sum((Counter(own) & Counter(right)).values())
        f1 = max(f1, 2 * common / (len(own) + len(right)) if common else 0.0)
    return exact, f1


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def cases(data: Path, split: str, limit: int, seed: int) -> list[Case]:
    corpus = {str(row["_id"]): str(row["text"]) for row in lines(data / "corpus.jsonl")}
    queries = lines(data / "queries.jsonl")
    rows = (data / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    gold = {row.split("\t")[0]: row.split("\t")[1] for row in rows}
    random.Random(seed).shuffle(queries)
    chosen = queries[:limit] if split == "dev" else queries[limit : 2 * limit]
    counts = {key: Counter(content_words(text)) for key, text in corpus.items()}
    lengths = {key: sum(c.values()) for key, c in counts.items()}
    mean = sum(lengths.values()) / len(lengths)
    df = Counter(word for c in counts.values() for word in c)

    def bm25(question: str, key: str) -> float:
        total = 0.0
        for word in sorted(set(content_words(question))):
            if tf := counts[key][word]:
                weight = math.log(1 + (len(corpus) - df[word] + 0.5) / (df[word] + 0.5))
                total += weight * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths[key] / mean))
        return total

    made = []
    for query in chosen:
        question, right = str(query["text"]), gold[str(query["_id"])]
        order = sorted(corpus, key=lambda key: (-bm25(question, key), key))[:3]
        if right not in order:
            order[2] = right
        answers = tuple(a["text"] for a in query["metadata"]["answers"])  # type: ignore[index, call-overload]
        made.append(Case(question, answers, tuple(corpus[key] for key in order), order.index(right)))
    return made


Rule = Callable[[str, Sequence[Reading]], "list[Reading]"]


def by(score: Callable[[Reading], float], least_support: float = 0.5) -> Rule:
    def rule(question: str, readings: Sequence[Reading]) -> list[Reading]:
        return sorted(choose(question, readings, least_support=least_support), key=lambda r: -score(r))

    return rule


RULES: dict[str, Rule] = {
    "first passage": by(lambda r: -r.passage),
    "log-probability": by(lambda r: r.mean_logprob),
    "log-probability, rank": by(lambda r: r.score(overlap_weight=0.0)),
    "log-probability, overlap": by(lambda r: r.score(rank_weight=0.0)),
    "against abstaining, rank": by(lambda r: r.score(overlap_weight=0.0) - 0.3 * max(r.abstain_logprob, -10.0)),
    "any support": by(lambda r: r.score(), least_support=0.0),
    "full support only": by(lambda r: r.score(), least_support=1.0),
    "as shipped": lambda question, readings: choose(question, readings),
}


def report_rules(made: Sequence[Case], readings: Sequence[Sequence[Reading]]) -> None:
    def row(name: str, picked: Sequence[Reading | None], right: str = "") -> None:
        pairs = [exact_and_f1(p.text if p else "", case.answers) for p, case in zip(picked, made, strict=True)]
        n = len(pairs)
        print(f"{name:28} {100 * sum(e for e, _ in pairs) / n:6.1f} {100 * sum(f for _, f in pairs) / n:6.1f} {right}")

    print(f"{'rule':28} {'EM':>6} {'F1':>6}  right passage %, no answer %, no answer without the right passage %")
    right_ones = [next((r for r in rs if r.passage == c.gold), None) for c, rs in zip(made, readings, strict=True)]
    row("(right passage given)", right_ones)
    for name, rule in RULES.items():
        ranked = [rule(c.question, rs) for c, rs in zip(made, readings, strict=True)]
        without = [
            rule(c.question, [r for r in rs if r.passage != c.gold]) for c, rs in zip(made, readings, strict=True)
        ]
        picked = [r[0] if r else None for r in ranked]
        hits = sum(p is not None and p.passage == c.gold for p, c in zip(picked, made, strict=True))
        none, none_without = sum(p is None for p in picked), sum(not r for r in without)
        n = len(made)
        row(name, picked, f"{100 * hits / n:6.1f} {100 * none / n:6.1f} {100 * none_without / n:6.1f}")


def measure_local(made: Sequence[Case], generator: LocalGenerator) -> list[list[Reading]]:
    generator.load()
    started, busy = time.perf_counter(), time.process_time()
    readings = [generator.read(case.question, case.passages) for case in made]
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    every = [r for rs in readings for r in rs]
    abstained = sum(r.text == NOT_STATED for r in every)
    computed = sum(r.prompt_tokens - r.cached_tokens for r in every) / len(every)
    print(
        f"{len(made)} questions, {seconds / len(made):.2f} s each ({busy / len(made):.2f} s of CPU); "
        f"per reading {computed:.0f} prompt tokens computed, "
        f"{sum(r.cached_tokens for r in every) / len(every):.0f} from the cache; "
        f"{abstained} of {len(every)} readings abstain"
    )
    return readings


def measure_extractive(made: Sequence[Case], generator: ExtractiveGenerator) -> None:
    first = second = 0
    started = time.perf_counter()
    for case in made:
        passages = tuple(
            Passage(Chunk(str(i), str(i), 1, text, 0, len(text), 0), "", "", Hit(str(i), 1.0, i + 1, "bm25"))
            for i, text in enumerate(case.passages)
        )
        best = generator.rank(case.question, passages)[:2]
        found = [any(answer in sentence.text for answer in case.answers) for sentence in best]
        first += found[:1] == [True]
        second += any(found)
    n = len(made)
    seconds = (time.perf_counter() - started) / n
    print(f"answer in the best sentence {100 * first / n:.1f} %, in the best two {100 * second / n:.1f} %")
    print(f"{seconds:.3f} s per question")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the in-process generators.")
    parser.add_argument("--data", type=Path, required=True, help="a BEIR folder with answers in the queries' metadata")
    parser.add_argument("--limit", type=int, default=150, help="questions")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--split", choices=["dev", "test"], default="test")
    parser.add_argument("--gold-only", action="store_true", help="give only the right passage")
    parser.add_argument("--examples", type=int, default=len(EXAMPLES), help="how many worked examples, from the first")
    parser.add_argument("--window-tokens", type=int, nargs="+", default=[96], help="one table for each")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--extractive", action="store_true", help="measure sentences, by overlap alone, instead")
    options = parser.parse_args()
    made = cases(options.data, options.split, options.limit, options.seed)
    if options.gold_only:
        made = [Case(c.question, c.answers, (c.passages[c.gold],), 0) for c in made]
    if options.extractive:
        measure_extractive(made, ExtractiveGenerator())
        return
    for window in options.window_tokens:
        generator = LocalGenerator(window_tokens=window, threads=options.threads, examples=EXAMPLES[: options.examples])
        print(f"\nwindow {window} tokens, {options.examples} examples, split {options.split}, seed {options.seed}")
        report_rules(made, measure_local(made, generator))
        generator.close()


if __name__ == "__main__":
    main()
