"""Answers with and without the passages as a latent variable: quality, probability of gold, dilution.

    python benchmarks/marginalize.py run --data PATH/xquad-en --limit 100 --out xquad.jsonl
    python benchmarks/marginalize.py report xquad.jsonl --plot dilution.svg

The data is a BEIR folder whose queries hold answers (`metadata.answers` or `metadata.answer`). Passages are the best
ten of pincite's own hybrid search over the whole corpus, one document one passage. Every passage is read once, and all
of these are compared on the same readings, for each k:

    top-1          greedy, from the first passage alone (the same for every k)
    one prompt     greedy, after one context that holds the k passages
    RAG-Sequence   thorough: the greedy answer of each of the k passages, scored under all of them
    RAG-Token      greedy over the mixture of the k
    chosen         `marginalize = "none"`: the best of three readings by probability, rank and words in common
    logit average  greedy over the mean of the k passages' log-probabilities, weighed by the prior: the wrong mixture

`run` writes a line for each question as it is done and goes on where it stopped; `report` needs no model. Questions are
shuffled with the seed; `--skip` leaves out the first of them (those that the temperature was calibrated on).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.answer_models import build_scorer
from pincite.build import build_encoder, cache_folder
from pincite.config import load_settings
from pincite.evaluation.answer_measures import exact_match, token_f1
from pincite.evaluation.datasets import load_dataset
from pincite.evaluation.significance import bootstrap_interval
from pincite.generators.few_shot import FewShotFrame, support
from pincite.generators.local import Reading as PassageReading
from pincite.generators.local import choose
from pincite.marginalize import decode, dilution, prior, rag_sequence, rag_token
from pincite.protocols import Context, NextTokens, Reading, TokenScorer
from pincite.types import Token
from pincite.words import all_words, content_words, overlap

KS = (1, 3, 5, 10)
Array = NDArray[np.float64]


def questions(folder: Path, limit: int, skip: int, seed: int) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    gold = load_dataset(folder).qrels
    found = []
    for row in rows:
        told = row.get("metadata", {})
        answers = [each["text"] for each in told.get("answers", [])] or [
            told[key] for key in ("answer",) if told.get(key)
        ]
        if answers and told.get("answerable", True) and row["_id"] in gold:
            found.append(
                {"id": row["_id"], "question": row["text"], "gold": answers, "right": sorted(gold[row["_id"]])}
            )
    random.Random(seed).shuffle(found)
    return found[skip : skip + limit]


class Retriever:
    """Pincite's own search over the corpus, one document one passage."""

    def __init__(self, folder: Path, cache: Path) -> None:
        from pincite.build import Pincite
        from pincite.evaluation.index import ensure_index
        from pincite.store.edge import EdgeStore

        settings = load_settings(environment={}, overrides={"search.merge": 0})
        encoder = build_encoder(settings)
        index = ensure_index(
            load_dataset(folder),
            cache / "marginalize",
            create=lambda at, header: EdgeStore.create(at, header),
            encoder=encoder,
            language="english",
        )
        self.pincite = Pincite.over(settings, EdgeStore.open(index.folder), encoder)

    def __call__(self, question: str, k: int) -> list[dict[str, Any]]:
        found = self.pincite.search(question, k=k).passages
        return [{"document": p.uri, "score": p.hit.score, "stage": p.hit.stage, "text": p.chunk.text} for p in found]


def greedy_rows(reading: Reading, log_prior: Array, scorer: TokenScorer, max_tokens: int) -> list[tuple[int, ...]]:
    """Each row's own greedy answer."""
    found = decode.fast(reading, log_prior, scorer.ends, max_tokens=max_tokens)
    own: dict[int, tuple[int, ...]] = {}
    for each in found:
        for row in np.flatnonzero(~np.isneginf(each.row_logprobs).any(axis=1)):
            own[int(row)] = each.tokens
    return [own[row] for row in range(len(log_prior))]


class Seen:
    """Distributions after the beginnings of answers, computed once: most ways of mixing begin alike.

    Holds one reading of all contexts and opens it anew where an answer leaves the way that was gone before.
    """

    def __init__(self, scorer: TokenScorer, contexts: Sequence[Context]) -> None:
        self.scorer, self.contexts = scorer, contexts
        self.reading = scorer.read(contexts)
        self.at: tuple[int, ...] = ()
        self.known: dict[tuple[int, ...], NDArray[np.float32]] = {(): self.reading.next_tokens().logprobs}

    def after(self, tokens: tuple[int, ...]) -> NDArray[np.float32]:
        if tokens not in self.known:
            if tokens[: len(self.at)] != self.at:
                self.reading.close()
                self.reading, self.at = self.scorer.read(self.contexts), ()
            while self.at != tokens:
                token = tokens[len(self.at)]
                self.reading.extend(range(len(self.contexts)), [token] * len(self.contexts))
                self.at = (*self.at, token)
                self.known[self.at] = self.reading.next_tokens().logprobs
        return self.known[tokens]

    def rows(self, count: int) -> Reading:
        return _Rows(self, count)


class _Rows:
    """The first rows of what was seen, as a reading for greedy search."""

    def __init__(self, seen: Seen, rows: int) -> None:
        self.seen, self.rows, self.tokens = seen, rows, ()

    def next_tokens(self, width: int | None = None) -> NextTokens:  # noqa: ARG002
        return NextTokens(self.seen.after(self.tokens)[: self.rows])

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:  # noqa: ARG002
        self.tokens = (*self.tokens, tokens[0])

    def close(self) -> None: ...


def logit_average(reading: Reading, log_prior: Array, ends: Sequence[int], max_tokens: int) -> tuple[int, ...]:
    """The wrong mixture: log-probabilities averaged by the prior, then renormalized. For contrast only."""
    tokens: list[int] = []
    while len(tokens) < max_tokens:
        logprobs = reading.next_tokens().logprobs.astype(np.float64)
        mean = (np.exp(log_prior)[:, None] * np.maximum(logprobs, -1e4)).sum(axis=0)
        ending = np.logaddexp.reduce(mean[ends])
        mean[ends] = -np.inf
        best = int(mean.argmax())
        if ending >= mean[best]:
            break
        tokens.append(best)
        reading.extend(range(len(log_prior)), [best] * len(log_prior))
    return tuple(tokens)


def chosen(
    question: str,
    windows: Sequence[str],
    scorer: TokenScorer,
    contexts: Sequence[Context],
    limit: int,
) -> str:
    """What `LocalGenerator` answers: each of three passages read apart, the best reading chosen."""
    readings = []
    for i, context in enumerate(contexts[:3]):
        reading = scorer.read([context])
        own = decode.greedy(reading, np.zeros(1), scorer.ends, max_tokens=limit)
        reading.close()
        text = scorer.decode(own.tokens).strip()
        words = set(all_words(windows[i]))
        readings.append(
            PassageReading(
                passage=i,
                text=text,
                tokens=tuple(Token("", float(each)) for each in own.token_logprobs[: len(own.tokens)]),
                finish_reason="stop",
                support=support(text, windows[i]),
                overlap=overlap(content_words(question), words),
            )
        )
    best = choose(question, readings)
    return best[0].text if best else ""


def measure(
    case: dict[str, Any],
    found: list[dict[str, Any]],
    scorer: TokenScorer,
    frame: FewShotFrame,
    options: argparse.Namespace,
) -> dict[str, Any]:
    question, limit = case["question"], options.max_tokens
    windows = [frame.window(question, each["text"]) for each in found]
    kept = [i for i, window in enumerate(windows) if window]
    windows, found = [windows[i] for i in kept], [found[i] for i in kept]
    contexts = [frame.context(question, window) for window in windows]
    scores = [each["score"] for each in found]
    stage = found[0]["stage"]
    temperature = options.temperature or prior.DEFAULT_TEMPERATURE.get(stage, 1.0)
    gold_tokens = [scorer.encode(frame.answer(text)) for text in case["gold"]]
    told = {
        **case,
        "found": [{key: value for key, value in each.items() if key != "text"} for each in found],
        "windows_hold_gold": [any(text.lower() in window.lower() for text in case["gold"]) for window in windows],
        "temperature": temperature,
    }
    reading = scorer.read(contexts)
    gold_rows = reading.score(gold_tokens, end=True)
    told["gold_rows"] = [rows.astype(float).tolist() for rows in gold_rows]  # answer, passage, token and end
    if options.gold_only:
        reading.close()
        return told
    if options.chosen_only:
        reading.close()
        return {**told, "answers": {"chosen": chosen(question, windows, scorer, contexts, limit)}}
    flat = prior.log_prior(np.zeros(len(contexts)))
    own = greedy_rows(reading, flat, scorer, limit)
    reading.close()
    candidates = sorted(set(own), key=own.index)
    seen = Seen(scorer, contexts)
    candidate_rows = [np.asarray(each, np.float64) for each in seen.reading.score(candidates, end=True)]
    answers = {"top-1": scorer.decode(own[0]).strip()}
    for k in [k for k in KS if k <= len(contexts)]:
        log_prior = prior.log_prior(prior.logits(stage, scores[:k]), temperature)
        among = [i for i, each in enumerate(candidates) if each in own[:k]]
        totals = np.array([rag_sequence.totals(candidate_rows[i][:k]) for i in among])
        order, _ = rag_sequence.rank_thorough(log_prior, totals)
        answers[f"RAG-Sequence@{k}"] = scorer.decode(candidates[among[int(order[0])]]).strip()
        if k > 1:
            ends = sorted(scorer.ends)
            mixed = decode.greedy(seen.rows(k), log_prior, ends, max_tokens=limit)
            answers[f"RAG-Token@{k}"] = scorer.decode(mixed.tokens).strip()
            wrong = logit_average(seen.rows(k), log_prior, ends, limit)
            answers[f"logit average@{k}"] = scorer.decode(wrong).strip()
    seen.reading.close()
    one_prompt: dict[str, list[float]] = {}
    for k in [k for k in KS if 1 < k <= len(contexts)]:
        reading = scorer.read([frame.together(question, windows[:k])])
        one_prompt[str(k)] = [float(each.sum()) for each in reading.score(gold_tokens, end=True)]
        whole = decode.greedy(reading, np.zeros(1), scorer.ends, max_tokens=limit)
        answers[f"one prompt@{k}"] = scorer.decode(whole.tokens).strip()
        reading.close()
    reading = scorer.read([frame.without_passage(question)])
    bare = [float(each.sum()) for each in reading.score(gold_tokens, end=True)]
    reading.close()
    return {**told, "answers": answers, "gold_one_prompt": one_prompt, "gold_bare": bare}


def run(options: argparse.Namespace) -> None:
    out = Path(options.out)
    done = {json.loads(line)["id"] for line in out.read_text(encoding="utf-8").splitlines()} if out.exists() else set()
    settings = load_settings(environment={}, overrides={"answer.model": options.model, "answer.passages": max(KS)})
    scorer = build_scorer(settings)
    retrieve = Retriever(Path(options.data), Path(options.cache) if options.cache else cache_folder())
    frame = FewShotFrame(window_tokens=options.window)
    todo = [
        each
        for each in questions(Path(options.data), options.limit, options.skip, options.seed)
        if each["id"] not in done
    ]
    started = time.perf_counter()
    with out.open("a", encoding="utf-8") as file:
        for i, case in enumerate(todo):
            row = measure(case, retrieve(case["question"], max(KS)), scorer, frame, options)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            each = (time.perf_counter() - started) / (i + 1)
            print(f"{i + 1}/{len(todo)}  {each:.1f} s a question", file=sys.stderr)
    scorer.close()


def calibrate(options: argparse.Namespace) -> None:
    """The temperature of every stage, on the passages that were read: their scores are looked up again."""
    rows = loaded(options.rows)
    retrieve = Retriever(Path(options.data), Path(options.cache) if options.cache else cache_folder())
    scores: dict[str, list[Array]] = {stage: [] for stage in ("fused", "dense", "bm25", "rrf")}
    kept: dict[str, list[Array]] = {stage: [] for stage in scores}
    for row in rows:
        legs = {p.uri: p.legs for p in retrieve.pincite.search(row["question"], k=len(row["found"]) * 5).passages}
        best = gold_totals(row)
        found = [legs.get(each["document"], {}) for each in row["found"]]
        by_stage = {
            "fused": [each["score"] for each in row["found"]],
            "dense": [leg["dense"].score if "dense" in leg else np.nan for leg in found],
            "bm25": [leg["bm25"].score if "bm25" in leg else np.nan for leg in found],
            "rrf": [sum(1 / (10 + hit.rank) for hit in leg.values()) or np.nan for leg in found],
        }
        for stage, given in by_stage.items():
            known = ~np.isnan(np.array(given))  # a leg that did not find a passage says nothing of it
            if known.any():
                scores[stage].append(prior.logits(stage, np.array(given)[known]))
                kept[stage].append(best[known])
    for stage in scores:
        print(stage, prior.calibrate(scores[stage], kept[stage]))


def gold_totals(row: dict[str, Any]) -> Array:
    """log p(gold|x,z) for each passage, of the gold answer that is likeliest after any."""
    return max((np.array(each).sum(axis=1) for each in row["gold_rows"]), key=lambda each: float(each.max()))


def loaded(paths: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of all files; those of one question are put together."""
    rows: dict[str, dict[str, Any]] = {}
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            before = rows.setdefault(row["id"], row)
            rows[row["id"]] = {**row, **before, "answers": {**row.get("answers", {}), **before.get("answers", {})}}
    return list(rows.values())


def mean_and_interval(values: Sequence[float]) -> str:
    low, high = bootstrap_interval(values, seed=0)
    return f"{100 * statistics.fmean(values):.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def gold_logprob(row: dict[str, Any], mode: str, k: int, temperature: float | None = None) -> float | None:
    """log p(gold), the best of the gold answers."""
    found = row["found"][:k]
    if mode == "one prompt":
        return max(row["gold_one_prompt"][str(k)], default=None) if str(k) in row["gold_one_prompt"] else None
    logits = prior.logits(found[0]["stage"], [each["score"] for each in found])
    log_prior = prior.log_prior(logits, temperature or row["temperature"])
    values = []
    for rows in row["gold_rows"]:
        rows = np.array(rows)[:k]
        if mode == "RAG-Sequence":
            values.append(float(rag_sequence.sequence_logprob(log_prior, rag_sequence.totals(rows))))
        else:
            values.append(float(rag_token.token_logprobs(log_prior, rows).sum()))
    return max(values)


def calibrated(rows: Sequence[dict[str, Any]]) -> Any:
    scores = [prior.logits(row["found"][0]["stage"], [each["score"] for each in row["found"]]) for row in rows]
    return prior.calibrate(scores, [gold_totals(row) for row in rows])


def table(rows: Sequence[dict[str, Any]], rule: str) -> Iterator[str]:
    yield "| | k | EM | F1 | mean log p(gold) | p(gold), mean |"
    yield "|---|---|---|---|---|---|"
    for mode in ("top-1", "chosen", "one prompt", "RAG-Sequence", "RAG-Token", "logit average"):
        for k in KS:
            alone = mode in ("top-1", "chosen")
            name = mode if alone else f"{mode}@{k}"
            if alone != (k == 1) or not any(name in row["answers"] for row in rows):
                continue
            measured = [row for row in rows if name in row["answers"]]
            em = [max(exact_match(row["answers"][name], text, rule) for text in row["gold"]) for row in measured]
            score = [max(token_f1(row["answers"][name], text, rule) for text in row["gold"]) for row in measured]
            gold = []
            if mode not in ("logit average", "chosen"):
                gold = [
                    p for row in measured if (p := gold_logprob(row, "RAG-Sequence" if k == 1 else mode, k)) is not None
                ]
            probability = f"{statistics.fmean(gold):.2f} | {statistics.fmean(np.exp(gold)):.3f}" if gold else "— | —"
            shown = 3 if mode == "chosen" else k
            yield f"| {mode} | {shown} | {mean_and_interval(em)} | {mean_and_interval(score)} | {probability} |"


def report(options: argparse.Namespace) -> None:
    rows = loaded(options.rows)
    if not rows[0]["answers"]:
        print(calibrated(rows))
        return
    print(f"{len(rows)} questions; the right passage first for", end=" ")
    ranks = [next((i for i, each in enumerate(row["found"]) if each["document"] in row["right"]), 99) for row in rows]
    print(", ".join(f"{100 * statistics.fmean(rank < k for rank in ranks):.0f} % (k={k})" for k in KS))
    for line in table(rows, options.rule):
        print(line)
    found = calibrated(rows)
    print(f"\ntemperature by marginal likelihood of these questions: {found}")
    curves = {
        mode: [statistics.fmean(gold_logprob(row, mode, k) or 0.0 for row in rows) for k in range(1, 11)]
        for mode in ("RAG-Sequence", "RAG-Token")
    }
    each = [_dilution(row) for row in rows]
    harmful = statistics.median(found.first_harmful or 11 for found in each)
    print(f"first harmful passage, median: {harmful}; preferred k: {dilution.preferred_k(each)}")
    for mode, curve in curves.items():
        print(f"mean log p(gold) by k, {mode}: " + " ".join(f"{value:.3f}" for value in curve))
    if options.plot:
        Path(options.plot).write_text(plot(curves, len(rows)), encoding="utf-8")


def _dilution(row: dict[str, Any]) -> Any:
    logits = prior.logits(row["found"][0]["stage"], [each["score"] for each in row["found"]])
    return dilution.dilution(logits / row["temperature"], gold_totals(row))


def plot(curves: dict[str, list[float]], count: int) -> str:
    """The dilution curves as a picture."""
    values = [value for curve in curves.values() for value in curve]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    colours = {"RAG-Sequence": "#0072b2", "RAG-Token": "#d55e00"}
    lines = []
    for number, (mode, curve) in enumerate(curves.items()):
        points = " ".join(f"{60 + 44 * i:.1f},{240 - 190 * (value - low) / span:.1f}" for i, value in enumerate(curve))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colours[mode]}" stroke-width="2"/>')
        lines.append(f'<text x="330" y="{30 + 16 * number}" fill="{colours[mode]}">{mode}</text>')
    ticks = "".join(f'<text x="{56 + 44 * i}" y="262">{i + 1}</text>' for i in range(len(next(iter(curves.values())))))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="500" height="290" font-family="sans-serif" font-size="12">'
        f'<text x="60" y="18">mean log p(gold), {count} questions</text>'
        f'<text x="4" y="54">{high:.2f}</text><text x="4" y="244">{low:.2f}</text>'
        f'<text x="230" y="282">passages k</text>{ticks}{"".join(lines)}</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run", help="read passages and answer")
    runs.add_argument("--data", required=True, help="a BEIR folder with answers")
    runs.add_argument("--out", required=True, help="JSON lines; continued where it stopped")
    runs.add_argument("--model", default="local", help="as answer.model")
    runs.add_argument("--limit", type=int, default=100)
    runs.add_argument("--skip", type=int, default=0)
    runs.add_argument("--seed", type=int, default=13)
    runs.add_argument("--max-tokens", type=int, default=24)
    runs.add_argument("--window", type=int, default=96, help="tokens read of a passage")
    runs.add_argument("--temperature", type=float, default=None, help="of the prior; the calibrated one")
    runs.add_argument("--gold-only", action="store_true", help="only what calibrating the temperature takes")
    runs.add_argument("--chosen-only", action="store_true", help="only the way that does not marginalize")
    runs.add_argument("--cache", default=None, help="where the index is kept")
    runs.set_defaults(do=run)
    reports = commands.add_parser("report", help="tables of what was run")
    reports.add_argument("rows", nargs="+")
    reports.add_argument("--rule", choices=["squad", "unicode"], default="squad")
    reports.add_argument("--plot", default=None, help="an SVG file of the dilution curves")
    reports.set_defaults(do=report)
    stages = commands.add_parser("calibrate", help="the prior's temperature for the scores of each stage")
    stages.add_argument("rows", nargs="+")
    stages.add_argument("--data", required=True)
    stages.add_argument("--cache", default=None)
    stages.set_defaults(do=calibrate)
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
