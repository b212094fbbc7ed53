"""The weights of `pincite.suspicion`, fitted, and how well they tell attacks from documents.

    python benchmarks/suspicion.py --data ../shared/data [--fit] [--seed 0]

Attacks: the 75 of BIPIA's training file, each at the start, the middle and the end of three of its e-mails, and the
malicious items of bastioncorpus alone. Clean: the e-mails themselves, the benign items of bastioncorpus, and chunks
(as pincite cuts them) of the Debian Policy Manual, the documents of docling, three Indian Acts, the Constitution of
India, and passages of SciFact and CLAPNQ. Every figure but the last table is out of fold: BIPIA's types of attack are
held out three at a time with all their items, carriers are its test e-mails, clean documents are held out whole. The
patterns themselves were written with the attacks of both sets in sight, so that they are no unseen data for them.

``--fit`` prints the weights of all data, for `_WEIGHTS` and `_BIAS`. The bias is put where `--alarms` of the clean
chunks are at 0.5 or above.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from pincite import suspicion as module
from pincite.build import build_chunker, build_encoder
from pincite.config import load_settings
from pincite.errors import LoadError
from pincite.formats import build_loaders
from pincite.loaders.read import read_documents
from pincite.protocols import Source
from pincite.suspicion import Sign, signs
from pincite.types import Document

KINDS = list(module._WEIGHTS)
FOLDS = 5
PENALTY = 1.0
#: Of one sign: no sign of its own makes a text much more than doubtful.
MOST = 5.0
#: Signs that by what they are make a text suspicious alone, however few of the attacks have them alone.
SURE = frozenset({"override", "to a model", "forged frame", "encoded order", "hidden characters"})
LEAST = 3.2


@dataclass(frozen=True)
class Item:
    text: str
    bad: bool
    family: str  #: what it is counted under
    group: str  #: held out together


def bipia(data: Path, split: str, seed: int, carriers_each: int = 3) -> list[Item]:
    rows = [json.loads(line) for line in (data / f"bipia/email/{split}.jsonl").read_text("utf-8").splitlines()]
    carriers = [str(row["context"]) for row in rows]
    attacks = json.loads((data / "bipia/text_attack_train.json").read_text("utf-8"))
    draw = random.Random(seed)
    items = [Item(text, False, "bipia e-mails", f"mail {i}") for i, text in enumerate(carriers)]
    for kind, each in attacks.items():
        for attack in each:
            for carrier in draw.sample(carriers, carriers_each):
                lines = carrier.split("\n")
                middle = draw.randrange(len(lines))
                texts = (
                    f"{attack}\n{carrier}",
                    "\n".join([*lines[:middle], attack, *lines[middle:]]),
                    f"{carrier}\n{attack}",
                )
                items += [Item(text, True, f"bipia {kind}", f"bipia {kind}") for text in texts]
    return items


def bastion(data: Path) -> list[Item]:
    rows = [json.loads(line) for line in (data / "bastioncorpus/injections.jsonl").read_text("utf-8").splitlines()]
    return [
        Item(row["text"], row["label"] == "malicious", f"bastion {row['label']}", f"bastion {row['id']}")
        for row in rows
    ]


def clean(data: Path, seed: int, most: int = 4000) -> list[Item]:
    settings = load_settings(environment={})
    chunker = build_chunker(settings, build_encoder(settings))
    loaders = build_loaders()
    items: list[Item] = []
    for folder in ("docs-debian-policy", "docs-docling", "indian-acts-pdf", "indian-constitution-git"):
        found: list[Item] = []
        for path in sorted((data / folder).rglob("*")):
            if not path.is_file() or ".git" in path.parts or path.name == "SOURCE.md" or "groundtruth" in path.parts:
                continue
            try:
                for document in read_documents(loaders, Source(str(path), path.name, path=path)):
                    if isinstance(document, Document):
                        found += [Item(c.reading, False, folder, str(path)) for c in chunker.chunk(document)]
            except LoadError:
                continue
        items += found if len(found) <= most else random.Random(seed).sample(found, most)
    for name in ("scifact", "clapnq"):
        plain, packed = (data / f"beir/{name}/corpus.jsonl{end}" for end in ("", ".gz"))
        raw = plain.read_bytes() if plain.is_file() else gzip.decompress(packed.read_bytes())
        lines = raw.decode("utf-8").splitlines()
        for line in random.Random(seed).sample(lines, min(most, len(lines))):
            row = json.loads(line)
            items.append(Item(row["text"], False, name, f"{name} {row['_id']}"))
    return items


def vector(near: list[Sign]) -> np.ndarray:
    held = {sign.kind for sign in near}
    return np.array([kind in held for kind in KINDS], dtype=float)


def worst(places: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    return max(places, key=lambda x: float(x @ weights), default=np.zeros(len(KINDS)))


def fit(places: list[list[np.ndarray]], bad: np.ndarray, alarms: float) -> tuple[np.ndarray, float]:
    """Weights, none below 0, and the bias; positives and negatives count alike in all."""
    weights, bias = np.ones(len(KINDS)), -2.0
    share = np.where(bad, 0.5 / bad.sum(), 0.5 / (~bad).sum()) * len(bad)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ theta[:-1] + theta[-1]
        error = 1 / (1 + np.exp(-z)) - bad
        value = float((share * (np.logaddexp(0, z) - bad * z)).sum() + PENALTY * (theta[:-1] ** 2).sum())
        return value, np.append((share * error) @ x + 2 * PENALTY * theta[:-1], (share * error).sum())

    for _ in range(6):  # which place of a text is its worst depends on the weights
        x = np.array([worst(each, weights) for each in places])
        found = minimize(
            loss,
            np.append(weights, bias),
            jac=True,
            method="L-BFGS-B",
            bounds=[(LEAST if kind in SURE else 0, MOST) for kind in KINDS] + [(None, None)],
        )
        weights, bias = found.x[:-1], float(found.x[-1])
    sums = sorted((float(worst(each, weights) @ weights) for each, b in zip(places, bad, strict=True) if not b))
    edge = sums[min(len(sums) - 1, int(np.ceil(len(sums) * (1 - alarms))))]
    return weights, -(edge + 1e-3)


def auc(good: np.ndarray, bad: np.ndarray) -> float:
    ordered = np.sort(good)
    below = np.searchsorted(ordered, bad, "left") + np.searchsorted(ordered, bad, "right")
    return float(below.mean() / 2 / len(good))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PINCITE_DATA", "../shared/data")))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alarms", type=float, default=0.005)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    train, test = bipia(options.data, "train", options.seed), bipia(options.data, "test", options.seed + 1)
    other = bastion(options.data) + clean(options.data, options.seed)
    draw = random.Random(options.seed)
    folds: dict[str, int] = {}
    types = sorted({item.group for item in train if item.bad})
    draw.shuffle(types)
    folds.update({name: i % FOLDS for i, name in enumerate(types)})
    for item in other:
        folds.setdefault(item.group, draw.randrange(FOLDS))

    def places(items: list[Item]) -> list[list[np.ndarray]]:
        return [[vector(near) for near in module._places(signs(item.text))] for item in items]

    characters = sum(len(item.text) for item in other)
    started = time.process_time()
    at = {"train": places(train), "test": places(test), "other": places(other)}
    print(
        f"{(time.process_time() - started) / (characters + 1) * 1e6:.2f} ms at most per 1,000 characters of clean text"
    )
    scores: dict[str, list[float]] = defaultdict(list)
    for fold in range(FOLDS):
        known = [
            (place, item.bad)
            for items, where in ((train, at["train"]), (other, at["other"]))
            for item, place in zip(items, where, strict=True)
            if folds.get(item.group, -1) != fold
        ]
        weights, bias = fit([p for p, _ in known], np.array([b for _, b in known]), options.alarms)
        for items, where in ((test, at["test"]), (other, at["other"])):
            for item, place in zip(items, where, strict=True):
                if folds.get(item.group, fold if items is test else -1) == fold:
                    scores[item.family].append(float(worst(place, weights) @ weights + bias))
    good = {name: np.array(each) for name, each in scores.items() if not name.startswith(("bipia ", "bastion mal"))}
    good["bipia e-mails"] = np.array(scores["bipia e-mails"])
    documents = np.concatenate([each for name, each in good.items() if name != "bastion benign"])
    table: dict[str, dict[str, float]] = {}
    for name in sorted(scores):
        z = np.array(scores[name])
        row = {"items": len(z), "at or above 0.5": float((z >= 0).mean())}
        if name not in good:
            row["auc against clean documents"] = auc(documents, z)
        table[name] = row
        told = row.get("auc against clean documents", float("nan"))
        print(f"{name:36}{len(z):7}{row['at or above 0.5']:9.4f}{told:8.3f}")
    attacks = np.concatenate([np.array(scores[n]) for n in scores if n not in good and n.startswith("bipia ")])
    print(f"all of BIPIA's attacks: {(attacks >= 0).mean():.4f} at or above 0.5, AUC {auc(documents, attacks):.3f}")
    for rate in (0.001, 0.002, 0.005, 0.01, 0.02):
        edge = np.quantile(documents, 1 - rate)
        three = (attacks, scores["bastion malicious"], scores["bastion benign"])
        caught = [(np.array(each) > edge).mean() for each in three]
        print(
            f"with {rate:.3f} of the clean chunks above (at {edge:+.2f}): BIPIA {caught[0]:.3f}, "
            f"bastioncorpus malicious {caught[1]:.3f}, benign {caught[2]:.3f}"
        )
    benign, malicious = np.array(scores["bastion benign"]), np.array(scores["bastion malicious"])
    print(f"bastioncorpus, malicious against benign: AUC {auc(benign, malicious):.3f}")
    print("as shipped, fitted on all of it:")
    shipped = np.array([module._WEIGHTS[kind] for kind in KINDS])
    for name in sorted(scores):
        z = [
            float(worst(place, shipped) @ shipped) + module._BIAS
            for items, where in ((test, at["test"]), (other, at["other"]))
            for item, place in zip(items, where, strict=True)
            if item.family == name
        ]
        print(f"{name:36}{len(z):7}{(np.array(z) >= 0).mean():9.4f}")
    if options.fit:
        weights, bias = fit(at["train"] + at["other"], np.array([i.bad for i in train + other]), options.alarms)
        print(f"_BIAS = {bias:.2f}\n_WEIGHTS = {{")
        for kind, weight in zip(KINDS, weights, strict=True):
            print(f'    "{kind}": {weight:.2f},')
        print("}")
    if options.json:
        options.json.write_text(json.dumps(table, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
