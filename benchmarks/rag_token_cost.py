"""What RAG-Token costs beside one prompt that holds the same passages, on a local model, in one run.

    python benchmarks/rag_token_cost.py --data PATH/xquad-en --limit 20

The data is a BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv); passages are the best k by BM25. For each
question, in turn: greedy RAG-Token over k readings, and greedy decoding after one context with all k passages. Given
are medians over the questions:

    prefill        tokens of the contexts, and those of them that were computed (the others were kept from before)
    first token    seconds from the question to the first token, the choice included
    tokens/s       of the answer after its first token
    s/answer       all of it

once with the frame of the prompt kept ("warm") and, for the first `--cold` questions, with nothing kept ("cold").

The last table is about passages that are read whole, whatever the question is, so that they are kept too: for groups
of questions about one paragraph the computed tokens and the seconds to the first token, with everything kept and with
nothing but the frame.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from certificate import Case, cases, local_scorer
from pincite.generators.few_shot import FewShotFrame
from pincite.marginalize import decode, prior
from pincite.marginalize.decode import Decoded
from pincite.protocols import Context
from pincite.scorers.llama import LlamaScorer

Clock = Callable[[], float]


@dataclass(frozen=True)
class Cost:
    prompt: int
    computed: int
    first: float
    tokens: int
    rest: float


def ask(scorer: LlamaScorer, contexts: list[Context], scores: list[float], most: int, clock: Clock) -> Cost:
    started = clock()
    reading = scorer.read(contexts)
    log_prior = prior.log_prior(np.array(scores))
    first, count, decoded = 0.0, 0, None
    for step in decode.stream_greedy(reading, log_prior, scorer.ends, max_tokens=most):
        first = first or clock() - started
        if isinstance(step, Decoded):
            decoded = step
        else:
            count += 1
    assert decoded is not None
    computed, seconds = reading.prompt_tokens - reading.cached_tokens, clock() - started
    cost = Cost(reading.prompt_tokens, computed, first, count, seconds - first)
    reading.close()
    return cost


def forget(scorer: LlamaScorer, frame: FewShotFrame | None) -> None:
    """Nothing is kept but `frame`."""
    scorer.forget()
    if frame is not None:
        scorer.read([(frame.opening, " x")]).close()


def show(name: str, costs: list[Cost]) -> dict[str, float]:
    rates = [c.tokens / c.rest for c in costs if c.rest > 0 and c.tokens > 0]
    row = {
        "questions": len(costs),
        "prompt_tokens": statistics.median(c.prompt for c in costs),
        "computed_tokens": statistics.median(c.computed for c in costs),
        "first_token_s": statistics.median(c.first for c in costs),
        "tokens_per_s": statistics.median(rates) if rates else 0.0,
        "answer_s": statistics.median(c.first + c.rest for c in costs),
    }
    print(f"{name:30} {row['questions']:9.0f} {row['prompt_tokens']:8.0f} {row['computed_tokens']:9.0f} "
          f"{row['first_token_s']:12.2f} {row['tokens_per_s']:9.2f} {row['answer_s']:9.2f}", flush=True)  # fmt: skip
    return row


def by_paragraph(data: Path, groups: int, each: int, k: int, seed: int) -> list[list[Case]]:
    """For some paragraphs their first questions, with the passages of the first of them."""
    queries = [json.loads(line) for line in (data / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    asked: dict[str, list[str]] = defaultdict(list)
    of = dict(row.split("\t")[:2] for row in (data / "qrels" / "test.tsv").read_text().splitlines()[1:])
    for row in queries:
        asked[of[row["_id"]]].append(row["text"])
    found: list[list[Case]] = []
    for case in cases(data, len(queries), k, seed):
        paragraph = next(key for key, texts in asked.items() if case.question in texts)
        if len(asked[paragraph]) >= each:
            found.append([Case(text, case.passages, case.scores) for text in asked.pop(paragraph)[:each]])
        if len(found) == groups:
            break
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a BEIR folder")
    parser.add_argument("--model", type=Path, help="a GGUF file; the packaged model without it")
    parser.add_argument("--limit", type=int, default=20, help="questions")
    parser.add_argument("--cold", type=int, default=3, help="questions that are asked with nothing kept")
    parser.add_argument("--groups", type=int, default=3, help="paragraphs of the last table")
    parser.add_argument("--each", type=int, default=4, help="questions about each")
    parser.add_argument("--passages", type=int, default=5, help="k")
    parser.add_argument("--max-tokens", type=int, default=24, help="of an answer")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, help="a JSON file")
    parser.add_argument("--cpu-time", action="store_true", help="seconds of this process, not of the clock on the "
                        "wall: on a busy machine, with --threads 1, what an idle one would take")  # fmt: skip
    options = parser.parse_args()
    clock: Clock = time.process_time if options.cpu_time else time.perf_counter
    scorer = local_scorer(options.model, threads=options.threads, max_rows=options.passages)
    scorer.load()
    frame, most = FewShotFrame(), options.max_tokens
    made = cases(options.data, options.limit, options.passages, options.seed)

    def token(case: Case, frame: FewShotFrame = frame) -> Cost:
        contexts = [frame.context(case.question, frame.window(case.question, text)) for text in case.passages]
        return ask(scorer, contexts, list(case.scores), most, clock)

    def together(case: Case) -> Cost:
        windows = [frame.window(case.question, text) for text in case.passages]
        return ask(scorer, [frame.together(case.question, windows)], [0.0], most, clock)

    ways: dict[str, Callable[[Case], Cost]] = {"RAG-Token": token, "one prompt": together}
    rows: dict[str, dict[str, float]] = {}
    print(
        f"{'':30} {'questions':>9} {'prefill':>8} {'computed':>9} {'first token':>12} {'tokens/s':>9} {'s/answer':>9}"
    )
    costs: dict[str, list[Cost]] = defaultdict(list)
    for case in made[: options.cold]:
        for name, way in ways.items():
            forget(scorer, None)
            costs[name].append(way(case))
    for name, some in costs.items():
        rows[f"{name}, cold"] = show(f"{name}, cold", some)
    costs.clear()
    for case in made:
        for name, way in ways.items():
            forget(scorer, frame)
            costs[name].append(way(case))
    for name, some in costs.items():
        rows[f"{name}, warm"] = show(f"{name}, warm", some)

    print("\npassages read whole, questions after the first about the same passages")
    whole = FewShotFrame(window_tokens=None)
    kept, anew = [], []
    for group in by_paragraph(options.data, options.groups, options.each, options.passages, options.seed):
        forget(scorer, whole)
        token(group[0], whole)
        kept += [token(case, whole) for case in group[1:]]
        for case in group[1:]:
            forget(scorer, whole)
            anew.append(token(case, whole))
    for name, some in (("passages kept", kept), ("only the frame kept", anew)):
        rows[name] = show(name, some)
    if options.out:
        told = {name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()}
        options.out.write_text(json.dumps({"model": scorer.name, "settings": told, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
