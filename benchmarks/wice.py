"""Does a page support a claim, and which of its sentences do? WiCE: claims of Wikipedia against the pages they cite.

    python benchmarks/wice.py --data ../shared/data/wice/dev.jsonl
    python benchmarks/wice.py --scorers overlap lexical semantic --vectors /tmp/wice.npz --json

Kamoi et al. 2023, "WiCE: Real-World Entailment for Claims in Wikipedia" (EMNLP). Each claim is judged as it stands,
against the sentences of the page it cites, metadata lines included: nothing is added to it, so "he" stays "he". Half of
the claims, drawn with `--seed`, is for choosing thresholds (and was for fitting `pincite.support.semantic`), the other
half is reported, with 95 % intervals of a bootstrap over its claims.

supported   F1 of "supported" against "partially supported" and "not supported", with precision and recall
3-way       macro-F1 of the three labels, by two thresholds on the score
said        what the scorer says with its own threshold: how often "supported", and how often that is right
sentences   F1 of the sentences chosen against the nearest of the gold sets, and how often the first one is in one
            of them; over the claims that have such a set
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pincite.claims import with_digits
from pincite.encoders.minilm import minilm
from pincite.support.lexical import LexicalSupport
from pincite.support.semantic import SemanticSupport
from pincite.types import Support
from pincite.words import content_words, overlap

if TYPE_CHECKING:
    from pincite.protocols import Matrix, SupportScorer

LABELS = ("not_supported", "partially_supported", "supported")


@dataclass(frozen=True)
class Claim:
    text: str
    label: str
    sentences: list[str]
    gold: list[set[int]]

    @property
    def page(self) -> str:
        return "\n\n".join(self.sentences)


@dataclass(frozen=True)
class Judged:
    """What a scorer made of a claim."""

    score: float  #: of the whole page
    said: bool  #: supported, by its own threshold
    sentences: list[float]


def read_claims(path: Path) -> list[Claim]:
    claims = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        # A blank evidence sentence keeps its number; it supports nothing.
        sentences = [" ".join(each.split()) for each in row["evidence"]]
        gold = [set(each) for each in row["supporting_sentences"] if each]
        claims.append(Claim(row["claim"].strip(), row["label"], sentences, gold))
    return claims


class WordOverlap:
    """The baseline: the share of the claim's content words that stand in the best sentence, and nothing else."""

    name = "overlap"

    def judge(self, statement: str, sources: Sequence[str], *, question: str = "") -> list[Support]:
        del question
        found = []
        for source in sources:
            best = max(self.score(statement, [each for each in source.split("\n\n") if each]), default=0.0)
            found.append(Support(0, len(source), "supported" if best >= 0.85 else "unsupported", best))
        return found

    def score(self, statement: str, sentences: Sequence[str]) -> list[float]:
        own = content_words(with_digits(statement))
        return [overlap(own, content_words(with_digits(each))) if each.strip() else 0.0 for each in sentences]

    def close(self) -> None: ...


class KeptVectors:
    """The bundled encoder; vectors are kept in a file, for encoding the pages is nearly all of the time."""

    def __init__(self, path: Path | None) -> None:
        self._encoder = minilm(threads=1)
        self._path = path
        self._known: dict[str, Matrix] = {}
        if path is not None and path.is_file():
            with np.load(path) as kept:
                self._known = dict(zip(kept["texts"].tolist(), kept["vectors"].astype(np.float32), strict=True))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            self._known.update(zip(new, self._encoder.encode_passages(new), strict=True))
        return np.stack([self._known[text] for text in texts])

    def save(self) -> None:
        if self._path is not None:
            vectors = np.stack(list(self._known.values())).astype(np.float16)
            np.savez(self._path, texts=np.array(list(self._known)), vectors=vectors)


def judge_all(scorer: SupportScorer, claims: Sequence[Claim]) -> list[Judged]:
    judged = []
    for claim in claims:
        (support,) = scorer.judge(claim.text, [claim.page])
        written = [i for i, each in enumerate(claim.sentences) if each]
        scores = [0.0] * len(claim.sentences)
        for i, score in zip(written, scorer.score(claim.text, [claim.sentences[i] for i in written]), strict=True):
            scores[i] = score
        judged.append(Judged(support.score, support.verdict in ("verbatim", "supported"), scores))
    return judged


# Measures


def f1(said: Sequence[bool], right: Sequence[bool]) -> tuple[float, float, float]:
    """F1, precision and recall."""
    true = sum(a and b for a, b in zip(said, right, strict=True))
    precision = true / sum(said) if any(said) else 0.0
    recall = true / sum(right) if any(right) else 0.0
    return (2 * precision * recall / (precision + recall) if true else 0.0), precision, recall


def macro(said: Sequence[str], right: Sequence[str]) -> float:
    return sum(f1([s == label for s in said], [r == label for r in right])[0] for label in LABELS) / len(LABELS)


def labelled(score: float, low: float, high: float) -> str:
    return LABELS[2] if score >= high else LABELS[1] if score >= low else LABELS[0]


def chosen(scores: Sequence[float], least: float, most: int) -> set[int]:
    """The sentences of at least that score, and of those the best; the first of all in any case."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return set(order[:1]) | {i for i in order[:most] if scores[i] >= least}


def set_f1(found: set[int], gold: Sequence[set[int]]) -> float:
    return max(2 * len(found & each) / (len(found) + len(each)) for each in gold)


def first_right(scores: Sequence[float], gold: Sequence[set[int]]) -> bool:
    return any(max(range(len(scores)), key=lambda i: (scores[i], -i)) in each for each in gold)


def steps(values: Sequence[float]) -> list[float]:
    """Thresholds worth trying: between neighbouring values."""
    kept = sorted(set(values))
    return [kept[0], *((a + b) / 2 for a, b in pairwise(kept)), kept[-1] + 1e-9]


def quantiles(values: Sequence[float], count: int) -> list[float]:
    return sorted({float(each) for each in np.quantile(values, np.linspace(0, 1, count))})


def interval(
    measure: Callable[[Sequence[int]], float], count: int, rng: np.random.Generator, rounds: int
) -> tuple[float, float]:
    drawn = [measure(rng.integers(0, count, count).tolist()) for _ in range(rounds)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def measure(
    claims: Sequence[Claim], judged: Sequence[Judged], choosing: set[int], seed: int, rounds: int
) -> dict[str, Any]:
    """The numbers of one scorer; every threshold is chosen on the claims `choosing`, all else is of the others."""
    tune = [i for i in range(len(claims)) if i in choosing]
    test = [i for i in range(len(claims)) if i not in choosing]
    right = [claim.label == LABELS[2] for claim in claims]
    scores = [each.score for each in judged]

    def verdict(at: float, among: Sequence[int]) -> tuple[float, float, float]:
        return f1([scores[i] >= at for i in among], [right[i] for i in among])

    at = max(steps([scores[i] for i in tune]), key=lambda t: verdict(t, tune)[0])
    grid = quantiles([scores[i] for i in tune], 40)
    low, high = max(
        ((a, b) for a in grid for b in grid if a <= b),
        key=lambda pair: macro([labelled(scores[i], *pair) for i in tune], [claims[i].label for i in tune]),
    )
    with_gold = [i for i in tune if claims[i].gold]
    levels = quantiles([s for i in with_gold for s in sorted(judged[i].sentences)[-5:]], 30)
    least, most = max(
        ((level, k) for level in levels for k in range(1, 9)),
        key=lambda pair: sum(set_f1(chosen(judged[i].sentences, *pair), claims[i].gold) for i in with_gold),
    )
    tested = [i for i in test if claims[i].gold]
    sets = [set_f1(chosen(judged[i].sentences, least, most), claims[i].gold) for i in tested]
    firsts = [first_right(judged[i].sentences, claims[i].gold) for i in tested]
    said = [judged[i].said for i in test]
    rng = np.random.default_rng(seed)

    def spread(count: int, value: Callable[[Sequence[int]], float]) -> dict[str, Any]:
        return {
            "value": value(range(count)),
            "interval": interval(value, count, rng, rounds),
        }

    def three(rows: Sequence[int]) -> float:
        some = [test[r] for r in rows]
        return macro([labelled(scores[i], low, high) for i in some], [claims[i].label for i in some])

    _, precision, recall = verdict(at, test)
    return {
        "threshold": at,
        "supported_f1": spread(len(test), lambda rows: verdict(at, [test[r] for r in rows])[0]),
        "precision": precision,
        "recall": recall,
        "three_way_macro_f1": {"thresholds": [low, high], **spread(len(test), three)},
        "said_supported": sum(said),
        "said_right": sum(s and right[i] for s, i in zip(said, test, strict=True)),
        "sentences_f1": {
            "least": least,
            "most": most,
            **spread(len(sets), lambda rows: float(np.mean([sets[r] for r in rows]))),
        },
        "first_sentence": spread(len(firsts), lambda rows: float(np.mean([firsts[r] for r in rows]))),
        "claims": len(test),
        "claims_with_sentences": len(tested),
    }


def halves(count: int, seed: int) -> set[int]:
    """The claims that thresholds are chosen on."""
    return set(np.random.default_rng(seed).permutation(count)[: count // 2].tolist())


def build(name: str, vectors: KeptVectors, threads: int | None) -> SupportScorer:
    if name == "overlap":
        return WordOverlap()
    if name == "lexical":
        return LexicalSupport()
    if name == "semantic":
        return SemanticSupport(vectors)
    if name.startswith("nli:"):
        from pincite.support.nli import NliSupport

        return NliSupport(name.removeprefix("nli:"), threads=threads)
    if name == "judge:local":
        from pincite.build import cache_folder
        from pincite.generators import gemma
        from pincite.scorers.llama import LlamaScorer
        from pincite.support.by_generator import TokenJudge

        cache = cache_folder()
        scorer = LlamaScorer(lambda: gemma.locate(cache), name="local:gemma-3-270m", max_rows=4, threads=threads)
        return TokenJudge(scorer, rows=4)
    raise SystemExit(f"no scorer is called {name!r}: overlap, lexical, semantic, nli:PATH, judge:local")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("PINCITE_DATA", "../shared/data")) / "wice" / "dev.jsonl"
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--scorers", nargs="+", default=["overlap", "lexical", "semantic"])
    parser.add_argument("--vectors", type=Path, help="a .npz file in which the sentences' vectors are kept")
    parser.add_argument("--limit", type=int, help="so many claims, drawn with the seed")
    parser.add_argument("--longest", type=int, help="leave out claims whose page has more sentences than this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1000, help="of the bootstrap")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not arguments.data.is_file():
        raise SystemExit(f"there is no file {arguments.data}: name dev.jsonl of WiCE with --data")
    claims = read_claims(arguments.data)
    choosing = halves(len(claims), arguments.seed)
    kept = list(range(len(claims)))
    if arguments.longest:
        kept = [i for i in kept if len(claims[i].sentences) <= arguments.longest]
    if arguments.limit:
        # Drawn from what is left, half of it from either half.
        order = [i for i in np.random.default_rng(arguments.seed + 1).permutation(len(claims)).tolist() if i in kept]
        sides = [[i for i in order if (i in choosing) == side][: arguments.limit // 2] for side in (True, False)]
        kept = sorted(sides[0] + sides[1])
    choosing = {new for new, old in enumerate(kept) if old in choosing}
    claims = [claims[i] for i in kept]
    vectors = KeptVectors(arguments.vectors)
    results: dict[str, Any] = {}
    for name in arguments.scorers:
        started = time.perf_counter()
        scorer = build(name, vectors, arguments.threads)
        judged = judge_all(scorer, claims)
        scorer.close()
        seconds = time.perf_counter() - started
        results[name] = {**measure(claims, judged, choosing, arguments.seed, arguments.rounds), "seconds": seconds}
        if name == "semantic":
            vectors.save()
    if arguments.json:
        print(json.dumps({"seed": arguments.seed, "claims": len(claims), "scorers": results}, indent=2))
        return
    first = next(iter(results.values()))
    print(f"{first['claims']} claims reported, {first['claims_with_sentences']} of them with supporting sentences")
    print(
        f"{'':<12}  {'supported F1':<18}  {'P':>4} {'R':>4}  {'3-way macro-F1':<18}  {'said':>8}  "
        f"{'sentences F1':<18}  {'first sentence':<18}"
    )
    for name, each in results.items():
        cells = [_shown(each[key]) for key in ("supported_f1", "three_way_macro_f1", "sentences_f1", "first_sentence")]
        said = f"{each['said_right']}/{each['said_supported']}"
        print(
            f"{name:<12}  {cells[0]}  {each['precision']:.2f} {each['recall']:.2f}  {cells[1]}  {said:>8}  "
            f"{cells[2]}  {cells[3]}"
        )


def _shown(value: dict[str, Any]) -> str:
    return f"{value['value']:.3f} [{value['interval'][0]:.3f}, {value['interval'][1]:.3f}]"


if __name__ == "__main__":
    main()
