"""How often lists of the N likeliest tokens prove what the whole vocabulary would have chosen.

    python benchmarks/certificate.py --data PATH/xquad-en --limit 100 --out certificate.json

Endpoints list a few likely tokens of each passage instead of the whole vocabulary. RAG-Token then chooses by bounds
(`pincite.marginalize.certificate`): a step is certified where they prove the choice. Here a local model gives the whole
vocabulary, greedy search is done on it, and again on its rows cut to lists. The data is a BEIR folder (corpus.jsonl,
queries.jsonl); passages are the best k by BM25, with BM25's scores as the prior, divided by each `--temperature`.
Questions are shuffled with the seed. A step is the choice of a token or of the end.

For every N the table says: how many steps of the exact search one list of N proves; how many where lists ten times as
long are asked for until one of `--widest` has been seen; how many tokens were listed then on average; how many whole
answers are certified either way; and, which must be none, how many certified steps or answers differ from the exact.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pincite.generators import gemma
from pincite.generators.few_shot import FewShotFrame
from pincite.marginalize import decode, prior
from pincite.marginalize.steps import END, best, checked_ends
from pincite.protocols import Context, NextTokens, Reading, TokenScorer
from pincite.scorers.llama import LlamaScorer
from pincite.words import content_words


@dataclass(frozen=True)
class Case:
    question: str
    passages: tuple[str, ...]  #: best first
    scores: tuple[float, ...]  #: BM25


def cases(data: Path, limit: int, k: int, seed: int) -> list[Case]:
    """Questions with the best `k` passages by BM25 over the corpus."""

    def lines(name: str) -> list[dict[str, str]]:
        return [json.loads(line) for line in (data / name).read_text(encoding="utf-8").splitlines() if line.strip()]

    corpus = {row["_id"]: row["text"] for row in lines("corpus.jsonl")}
    queries = [row["text"] for row in lines("queries.jsonl")]
    random.Random(seed).shuffle(queries)
    counts = {key: Counter(content_words(text)) for key, text in corpus.items()}
    lengths = {key: sum(each.values()) for key, each in counts.items()}
    mean = sum(lengths.values()) / len(lengths)
    df = Counter(word for each in counts.values() for word in each)

    def bm25(question: str, key: str) -> float:
        total = 0.0
        for word in sorted(set(content_words(question))):
            if tf := counts[key][word]:
                weight = math.log(1 + (len(corpus) - df[word] + 0.5) / (df[word] + 0.5))
                total += weight * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths[key] / mean))
        return total

    made = []
    for question in queries[:limit]:
        scored = sorted(((bm25(question, key), key) for key in corpus), key=lambda pair: (-pair[0], pair[1]))[:k]
        made.append(Case(question, tuple(corpus[key] for _, key in scored), tuple(score for score, _ in scored)))
    return made


def local_scorer(model: Path | None, **options: int | None) -> LlamaScorer:
    return LlamaScorer(model or gemma.locate(), **options)  # type: ignore[arg-type]


class Recorded:
    """What a model says after contexts and every answer that was begun; each beginning is computed once."""

    def __init__(self, scorer: TokenScorer, contexts: Sequence[Context]) -> None:
        self._scorer = scorer
        self._contexts = contexts
        self._reading: Reading = scorer.read(contexts)
        self._path: tuple[int, ...] = ()
        self._known: dict[tuple[int, ...], NDArray[np.float32]] = {}

    def rows(self, path: tuple[int, ...]) -> NDArray[np.float32]:
        if path not in self._known:
            if path[: len(self._path)] != self._path:
                self._reading.close()
                self._reading, self._path = self._scorer.read(self._contexts), ()
            for token in path[len(self._path) :]:
                self._reading.extend(range(self._reading.rows), [token] * self._reading.rows)
            self._path = path
            self._known[path] = self._reading.next_tokens().logprobs
        return self._known[path]

    def close(self) -> None:
        self._reading.close()


@dataclass
class Cut:
    """A `pincite.protocols.Reading` that lists no more than `widest` tokens of each row; 0 for the whole vocabulary."""

    recorded: Recorded
    widest: int
    path: tuple[int, ...] = ()
    listed: list[int] = field(default_factory=list)  #: how many at each asking

    @property
    def rows(self) -> int:
        return len(self.recorded.rows(self.path))

    def next_tokens(self, width: int | None = None) -> NextTokens:
        whole = self.recorded.rows(self.path)
        if not self.widest:
            return NextTokens(whole)
        n = min(width or self.widest, self.widest)
        self.listed.append(n)
        return cut(whole, n)

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        assert list(rows) == list(range(self.rows))
        assert len(set(tokens)) == 1
        self.path = (*self.path, tokens[0])

    def score(self, continuations: Sequence[Sequence[int]], *, end: bool = False) -> list[NDArray[np.float32]]:
        raise NotImplementedError

    def close(self) -> None: ...


def cut(whole: NDArray[np.float32], n: int) -> NextTokens:
    ids = np.argpartition(-whole, n - 1, axis=1)[:, :n]
    falling = np.argsort(-np.take_along_axis(whole, ids, axis=1), axis=1, kind="stable")
    ids = np.take_along_axis(ids, falling, axis=1)
    return NextTokens(np.take_along_axis(whole, ids, axis=1), ids.astype(np.int64))


@dataclass
class Tally:
    """Counts at one temperature and one N."""

    steps: int = 0
    proved: int = 0  #: by one list of N
    proved_asking: int = 0
    listed: int = 0  #: tokens of each row in the lists that were asked for last
    answers: int = 0
    certified: int = 0
    certified_asking: int = 0
    same: int = 0  #: answers by lists of N alone that are the exact one, certified or not
    wrong: int = 0  #: certified steps and answers that differ from the exact ones


def measure(recorded: Recorded, log_prior: NDArray[np.float64], ends: frozenset[int], n: int, widest: int,
            max_tokens: int, tally: Tally) -> None:  # fmt: skip
    exact = decode.greedy(Cut(recorded, 0), log_prior, ends, max_tokens=max_tokens)
    symbols = [*exact.tokens, *([END] if exact.ended else [])]
    stops = checked_ends(ends)
    for i, symbol in enumerate(symbols):
        tally.steps += 1
        whole, width = recorded.rows(exact.tokens[:i]), n
        while True:
            choice = best(cut(whole, width), slice(None), log_prior, stops)
            proved = choice.certainty.kind != "approximate"
            tally.wrong += proved and choice.symbol != symbol
            tally.proved += proved and width == n
            if proved or width >= widest:
                break
            width = min(10 * width, widest)
        tally.proved_asking += proved
        tally.listed += width
    tally.answers += 1
    alone = decode.greedy(Cut(recorded, n), log_prior, ends, max_tokens=max_tokens, width=n, widest=n)
    asking = decode.greedy(Cut(recorded, widest), log_prior, ends, max_tokens=max_tokens, width=n, widest=widest)
    for found, where in ((alone, "certified"), (asking, "certified_asking")):
        if found.certainty.kind != "approximate":
            setattr(tally, where, getattr(tally, where) + 1)
            tally.wrong += (found.tokens, found.finish) != (exact.tokens, exact.finish)
    tally.same += alone.tokens == exact.tokens


def report(tallies: dict[tuple[float, int], Tally], widest: int) -> None:
    print(f"{'':11} {'steps proved':>12} {f'asking ≤{widest}':>12} {'listed':>8} {'answers certified':>18} "
          f"{'asking':>7} {'same':>6} {'wrong':>6}")  # fmt: skip
    for (temperature, n), t in tallies.items():
        print(f"T={temperature:<4g} N={n:<5} {t.proved / t.steps:11.1%} {t.proved_asking / t.steps:12.1%} "
              f"{t.listed / t.steps:8.0f} {t.certified / t.answers:17.1%} {t.certified_asking / t.answers:8.1%} "
              f"{t.same / t.answers:6.1%} {t.wrong:6}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a BEIR folder")
    parser.add_argument("--model", type=Path, help="a GGUF file; the packaged model without it")
    parser.add_argument("--limit", type=int, default=100, help="questions")
    parser.add_argument("--passages", type=int, default=5, help="k")
    parser.add_argument("--lists", type=int, nargs="+", default=[20, 100, 1000], help="each N")
    parser.add_argument("--widest", type=int, default=1000, help="the longest list that is asked for")
    parser.add_argument("--temperature", type=float, nargs="+", default=[1.0, 5.0, 20.0], help="of the prior")
    parser.add_argument("--max-tokens", type=int, default=24, help="of an answer")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, help="a JSON file")
    options = parser.parse_args()
    scorer = local_scorer(options.model, threads=options.threads, max_rows=options.passages)
    frame, started = FewShotFrame(), time.perf_counter()
    tallies = {(t, n): Tally() for t in options.temperature for n in options.lists}
    for i, case in enumerate(cases(options.data, options.limit, options.passages, options.seed), 1):
        contexts = [frame.context(case.question, frame.window(case.question, text)) for text in case.passages]
        recorded = Recorded(scorer, contexts)
        for (temperature, n), tally in tallies.items():
            log_prior = prior.log_prior(prior.logits("bm25", np.array(case.scores)), temperature)
            widest = max(n, options.widest)
            measure(recorded, log_prior, scorer.ends, n, widest, options.max_tokens, tally)
        recorded.close()
        if i % 20 == 0 or i == options.limit:
            print(f"\n{i} questions, {time.perf_counter() - started:.0f} s", flush=True)
            report(tallies, options.widest)
    if options.out:
        rows = [{"temperature": t, "n": n, **asdict(tally)} for (t, n), tally in tallies.items()]
        told = {name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()}
        options.out.write_text(json.dumps({"model": scorer.name, "settings": told, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
