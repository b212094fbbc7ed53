"""Does the memory of adding grow with what is added?

    python benchmarks/memory.py --files 2000
    python benchmarks/memory.py --files 40 --kilobytes 512     # the same text in few, large files
    python benchmarks/memory.py --files 100 --bundled          # with the bundled encoder

A child adds N files, another ten times as many, through the pipeline: real loaders, the structure chunker and the real
tokenizer, and an encoder that takes no memory, or the bundled one. Each reports the most memory that was resident
(which counts what the system has cached of the index's files) and the most that was its own (``RssAnon``), sampled as
it goes. The exit status is 1 if that of ten times as much is more than 1.3 times that of one. Needs Linux.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

DIMENSION = 64
MOST = 1.3
_WORDS = [
    f"{a}{b}{c}" for a in ("ba", "de", "ki", "lo", "mu") for b in ("ra", "ne", "ti") for c in ("n", "s", "x", "l")
]


def write_files(folder: Path, files: int, kilobytes: float) -> None:
    rng = random.Random(1)
    for number in range(files):
        text, size = [f"# File {number}"], 0.0
        while size < kilobytes * 1000:
            paragraph = f"{number} {len(text)} " + " ".join(rng.choices(_WORDS, k=60)) + "."
            text.append(paragraph)
            size += len(paragraph) + 2
        path = folder / f"{number // 500:04}" / f"{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(text))


def own_memory() -> float:
    """Megabytes of this process's own: not what the system has cached of files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1000
    raise SystemExit("the system does not say RssAnon: this needs Linux")


def measure(place: Path, bundled: bool) -> dict[str, float]:
    """Add the files in this process."""
    from pincite.build import build_encoder
    from pincite.chunkers.structure import StructureChunker
    from pincite.config import load_settings
    from pincite.formats import build_loaders
    from pincite.generators.extractive import ExtractiveGenerator
    from pincite.loaders.read import InProcessReader
    from pincite.pipeline import Options, Pipeline
    from pincite.protocols import EncoderIdentity, StoreHeader
    from pincite.store.edge import EdgeStore

    default = build_encoder(load_settings(environment={}, overrides={}))

    class CheapEncoder:
        """Vectors drawn at random, the tokenizer of the default encoder."""

        tokenizer = default.tokenizer
        max_tokens = 256
        identity = EncoderIdentity("cheap", "1", DIMENSION, "none", True, "", "", 256)

        def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
            return np.random.default_rng(len(texts[0])).normal(size=(len(texts), DIMENSION)).astype(np.float32)

    encoder: Any = default if bundled else CheapEncoder()
    pipeline = Pipeline(
        store=EdgeStore.create(place / f"index-{time.time_ns()}", StoreHeader(encoder.identity, (), "english")),
        encoder=encoder,
        chunker=StructureChunker(encoder.tokenizer, size=200),
        reader=InProcessReader(build_loaders()),
        generator=lambda: ExtractiveGenerator(encoder),
        options=Options(recipe="toy", reading="toy"),
    )
    most = [own_memory()]
    before, done = most[0], threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            most[0] = max(most[0], own_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    started = time.perf_counter()
    report = pipeline.add(place / "files")
    seconds = time.perf_counter() - started
    done.set()
    watcher.join()
    pipeline.close()
    assert not report.skipped, report.skipped[0]
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"chunks": report.chunks, "before": before, "own": most[0], "resident": resident, "seconds": seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--kilobytes", type=float, default=1.0, help="of each file (default 1)")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--bundled", action="store_true", help="encode with the bundled encoder")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.child, options.bundled)))
        return 0
    found = []
    print("  files    chunks  own before  own most  resident most  seconds   (MB)")
    for files in (options.files, options.files * options.times):
        with tempfile.TemporaryDirectory(prefix="memory-") as folder:
            write_files(Path(folder) / "files", files, options.kilobytes)
            command = [sys.executable, __file__, "--child", folder, *(["--bundled"] if options.bundled else [])]
            said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        found.append(said)
        print(
            f"{files:7} {said['chunks']:9.0f} {said['before']:11.0f} {said['own']:9.0f} {said['resident']:14.0f} "
            f"{said['seconds']:8.0f}",
            flush=True,
        )
    ratio = found[1]["own"] / found[0]["own"]
    print(f"{options.times} times as much takes {ratio:.2f} times its own memory (at most {MOST})")
    return 1 if ratio > MOST else 0


if __name__ == "__main__":
    raise SystemExit(main())
