"""Kill a process that writes to an index, again and again, and look for anything lost, half done or come back.

    python benchmarks/kill9.py --rounds 50 --documents 40 --seed 1

A child adds, updates and removes generated documents through the pipeline and notes each change in a file, synced,
once the call has returned. The parent kills it with SIGKILL at a random moment, opens the index and checks:

- it opens, and `check` finds nothing;
- every document that was noted as written is there in exactly that version, or in the next one if the kill fell
  between the commit and the note; what was noted as removed stays removed;
- every chunk is found by its own unique word, and no word of an older version is found;
- no document has half its chunks.

All rounds work on the same index. Prints a table; the exit status is 1 if anything was violated.
SIGKILL ends the process, not the machine: this says nothing of a loss of power.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from pincite.build import build_loaders
from pincite.chunkers.window import WindowChunker
from pincite.generators.extractive import ExtractiveGenerator
from pincite.loaders.ids import document_id
from pincite.pipeline import Pipeline
from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.store.edge import EdgeStore

DIMENSION = 16


class WordTokenizer:
    def spans(self, text: str) -> list[tuple[int, int]]:
        spans, start = [], 0
        for word in text.split():
            start = text.index(word, start)
            spans.append((start, start + len(word)))
            start += len(word)
        return spans


class CheapEncoder:
    """Vectors drawn from each text's own seed: no meaning, no weights, no time."""

    tokenizer = WordTokenizer()
    max_tokens = 32
    identity = EncoderIdentity("cheap", "1", DIMENSION, "none", False, "", "", 32)

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self.encode_passages(texts)

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        rows = [np.random.default_rng(list(text.encode())[:64] or [0]).normal(size=DIMENSION) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), DIMENSION)


def open_store(folder: Path) -> EdgeStore:
    if EdgeStore.exists(folder):
        return EdgeStore.open(folder)
    return EdgeStore.create(folder, StoreHeader(CheapEncoder.identity, (), "english"))


def open_pipeline(folder: Path) -> Pipeline:
    encoder = CheapEncoder()
    return Pipeline(
        store=open_store(folder),
        encoder=encoder,
        chunker=WindowChunker(encoder.tokenizer, size=encoder.max_tokens, overlap=0),
        loaders=build_loaders(),
        generator=lambda: ExtractiveGenerator(encoder),
    )


def unique_word(name: str, version: int, part: int) -> str:
    return f"w{name}v{version}p{part}"


def make_text(name: str, version: int, parts: int) -> str:
    """`parts` paragraphs, each longer than half a chunk and with one word that stands nowhere else."""
    return "\n\n".join(f"{unique_word(name, version, part)} " + "filler " * 24 for part in range(parts))


# The child


class Notebook:
    """What was acknowledged, each line on disk before the next change begins."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")

    def note(self, **what: object) -> None:
        self._file.write(json.dumps(what) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def work(folder: Path, notes: Path, seed: int, documents: int) -> NoReturn:
    """Change the index until killed."""
    rng = random.Random(seed)
    pipeline = open_pipeline(folder)
    notebook = Notebook(notes)
    notebook.note(did="opened")
    while True:
        name = f"d{rng.randrange(documents)}"
        address = f"{name}.txt"
        known = pipeline.store.find(uri=f"stdin:{address}")
        if known is not None and rng.random() < 0.25:
            notebook.note(doing="remove", name=name)
            pipeline.remove(known.id)
            notebook.note(did="removed", name=name)
            continue
        version = pipeline.store.next_version(document_id(f"stdin:{address}"))
        parts = rng.randint(1, 12) if rng.random() < 0.95 else 400  # the last: more than one batch
        notebook.note(doing="add", name=name, version=version, parts=parts)
        (outcome,) = pipeline.add_text(make_text(name, version, parts), name=address).outcomes
        assert outcome.version == version, outcome
        notebook.note(did="added", name=name, version=version, parts=parts)


# The parent


@dataclass
class Known:
    """What must be true of one document: (version, paragraphs), or None where there must be none."""

    state: tuple[int, int] | None = None
    highest: int = 0


@dataclass
class Round:
    number: int
    changes: int = 0
    documents: int = 0
    chunks: int = 0
    cut: str = ""
    opened: float = 0.0
    problems: list[str] = field(default_factory=list)


def check_round(
    folder: Path, lines: list[dict[str, object]], known: dict[str, Known], number: int, sample: random.Random
) -> Round:
    found = Round(number)
    possible: dict[str, tuple[int, int] | None] = {}  # the one change that may or may not have happened
    for line in lines:
        name = str(line.get("name", ""))
        if line.get("doing"):
            possible = {name: (int(str(line["version"])), int(str(line["parts"]))) if line["doing"] == "add" else None}
            if line["doing"] == "add":
                known.setdefault(name, Known()).highest = int(str(line["version"]))
        elif line["did"] in ("added", "removed"):
            known.setdefault(name, Known()).state = possible[name]
            possible = {}
            found.changes += 1
    found.cut = next(iter(f"{'add' if state else 'remove'} {name}" for name, state in possible.items()), "between")
    started = time.perf_counter()
    with EdgeStore.open(folder) as store:
        found.opened = time.perf_counter() - started
        found.problems += store.check()
        listed = {document.uri: document for document in store.documents()}
        for name, expected in known.items():
            stored = listed.pop(f"stdin:{name}.txt", None)
            document = store.get_document(stored.id) if stored else None
            now = (stored.version, document.text.count(f"w{name}v")) if stored and document else None
            allowed = [expected.state, *([possible[name]] if name in possible else [])]
            if now not in allowed:
                found.problems.append(f"{name}: found {now}, allowed {allowed}")
            expected.state = now
            if stored and now and document:
                if document.text.strip() != make_text(name, *now).strip():
                    found.problems.append(f"{name}: its text is another")
                if stored.chunks != len(store.chunks(stored.id)) or stored.chunks < (now[1] + 1) // 2:
                    found.problems.append(
                        f"{name}: {stored.chunks} chunks recorded, {len(store.chunks(stored.id))} found"
                    )
                for part in {0, now[1] - 1, sample.randrange(now[1])}:
                    hits = store.search_lexical(unique_word(name, now[0], part), 10)
                    if len(hits) != 1 or not hits[0].chunk_id.startswith(f"{stored.id}.{now[0]}."):
                        found.problems.append(f"{name}: {unique_word(name, now[0], part)} gives {hits}")
            for version in range(max(1, expected.highest - 5), expected.highest + 1):
                if (now is None or version != now[0]) and store.search_lexical(unique_word(name, version, 0), 10):
                    found.problems.append(f"{name}: version {version} can be found, {now} is current")
            if store.next_version(document_id(f"stdin:{name}.txt")) < expected.highest:
                found.problems.append(f"{name}: the number {expected.highest} would be given twice")
        found.problems += [f"{uri}: nobody wrote it" for uri in listed]
        every = store.search_dense(np.ones(DIMENSION, dtype=np.float32), 10**6)
        found.documents = sum(expected.state is not None for expected in known.values())
        found.chunks = store.point_count
        if len(every) != found.chunks or len(store.passages(every)) != found.chunks:
            found.problems.append(f"{found.chunks} points, {len(every)} reached by the dense leg")
    return found


def run(folder: Path, rounds: int, documents: int, seed: int, longest: float, out: object = None) -> list[Round]:
    """Every round's findings. Prints a line a round when `out` is a stream."""
    rng = random.Random(seed)
    notes = folder.with_name(folder.name + ".notes")
    known: dict[str, Known] = {}
    seen = 0
    done = []
    for number in range(1, rounds + 1):
        command = [sys.executable, __file__, "--child", str(folder), str(notes), "--seed", str(rng.randrange(1 << 30))]
        child = subprocess.Popen([*command, "--documents", str(documents)])
        begun = time.monotonic()
        while not notes.exists() or notes.read_bytes().count(b"\n") <= seen:
            if child.poll() is not None or time.monotonic() - begun > 60:
                child.kill()
                raise SystemExit(f"round {number}: the child did not begin (exit status {child.poll()})")
            time.sleep(0.005)
        time.sleep(rng.uniform(0, longest))
        alive = child.poll() is None
        child.send_signal(signal.SIGKILL)
        child.wait()
        lines = notes.read_text(encoding="utf-8").splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):  # the kill cut the note itself: it says nothing
            torn = lines.pop()
            os.truncate(notes, notes.stat().st_size - len(torn.encode()))
        result = check_round(folder, [json.loads(line) for line in lines[seen:]], known, number, rng)
        if not alive:
            result.problems.append(f"the child ended by itself, with status {child.returncode}")
        seen = len(lines)
        done.append(result)
        if out is not None:
            print(
                f"{number:5} {result.changes:8} {result.documents:10} {result.chunks:8} {result.opened * 1000:9.0f}"
                f"  {result.cut:14} {'; '.join(result.problems) or 'ok'}",
                file=out,  # type: ignore[call-overload]
                flush=True,
            )
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--documents", type=int, default=40, help="different documents (default 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=1.0, help="seconds from opening to the kill, at most")
    parser.add_argument("--child", nargs=2, type=Path, metavar=("INDEX", "NOTES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        work(*options.child, options.seed, options.documents)
    folder = Path(tempfile.mkdtemp(prefix="kill9-"))
    try:
        print("round  changes  documents   chunks   open ms  cut off at     findings")
        rounds = run(folder / "index", options.rounds, options.documents, options.seed, options.longest, sys.stdout)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    bad = sum(bool(each.problems) for each in rounds)
    middle = sum(each.cut != "between" for each in rounds)
    print(
        f"{len(rounds)} rounds (seed {options.seed}), {sum(each.changes for each in rounds)} acknowledged changes, "
        f"{middle} kills inside a change: {bad} rounds with a violation"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
