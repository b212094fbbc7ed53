"""Kill a process that writes to an index, again and again, and look for anything lost, half done or come back.

    python benchmarks/kill9.py --rounds 200 --documents 12 --seed 1

A child changes an index through the pipeline: it adds, updates and removes files, makes the index equal to their
folder after files were changed, moved and deleted, restores earlier versions, purges, compacts and builds the vector
index. It notes each change in a file, synced, before it begins and once the call has returned. In every other round it
dies before a write that was drawn at random (to the engine, the database or the folder); in the others the parent kills
it after a random time. A new process then opens the index and checks:

- it opens, and `check` finds nothing;
- every document is in the state that was acknowledged, or in the one that the change that was cut off would have given;
  its text and its chunks are whole, and each is found by a word that stands nowhere else and by its own vector;
- what is not current is found by neither, unless one asks for the moment at which it was;
- the history of every document begins with what it was before, but where it was purged; no number is used twice;
- of what was purged no byte is in any file of the index, nor of its vectors;
- after a change of many files was cut off, `sync` does only the rest: what was done is unchanged, and nothing that was
  committed is encoded again.

All rounds work on the same index. Prints a line for each violation and a table of where the kills fell; the exit status
is 1 if anything was violated. SIGKILL ends the process, not the machine: this says nothing of a loss of power.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from pincite.chunkers.window import WindowChunker
from pincite.formats import build_loaders
from pincite.generators.extractive import ExtractiveGenerator
from pincite.loaders.ids import document_id
from pincite.loaders.read import InProcessReader
from pincite.pipeline import Options, Pipeline
from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.store.copies import copies
from pincite.store.edge import EdgeStore
from pincite.store.plan import IndexOptions, Retention
from pincite.types import PointInTime, StoredDocument

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from write_points import tick_before_writes

DIMENSION = 16
#: More writes than most changes make, so that some rounds die in the second change or later.
_WRITES = 45


class WordTokenizer:
    def spans(self, text: str) -> list[tuple[int, int]]:
        spans, start = [], 0
        for word in text.split():
            start = text.index(word, start)
            spans.append((start, start + len(word)))
            start += len(word)
        return spans


class CheapEncoder:
    """Vectors drawn from each text's own seed: no meaning, no weights, no time. Counts what it is given."""

    tokenizer = WordTokenizer()
    max_tokens = 32
    identity = EncoderIdentity("cheap", "1", DIMENSION, "none", False, "", "", 32)

    def __init__(self) -> None:
        self.given = 0

    def reads(self, text: str) -> float:  # noqa: ARG002
        return 1.0

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self._encode(texts)

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        self.given += len(texts)
        return self._encode(texts)

    def _encode(self, texts: Sequence[str]) -> np.ndarray:
        seeds = [list(hashlib.sha256(text.encode()).digest()) for text in texts]
        rows = [np.random.default_rng(seed).normal(size=DIMENSION) for seed in seeds]
        return np.array(rows, dtype=np.float32).reshape(len(texts), DIMENSION)


def open_store(folder: Path, kind: str = "exact") -> EdgeStore:
    index = IndexOptions(kind, exact_until=40, m=4, ef_construct=16)  # type: ignore[arg-type]
    kept = Retention(None)
    if EdgeStore.exists(folder):
        return EdgeStore.open(folder, index=index, retention=kept)
    return EdgeStore.create(folder, StoreHeader(CheapEncoder.identity, (), "english"), index=index, retention=kept)


def open_pipeline(folder: Path, kind: str = "exact") -> Pipeline:
    encoder = CheapEncoder()
    return Pipeline(
        store=open_store(folder, kind),
        encoder=encoder,  # type: ignore[arg-type]
        chunker=WindowChunker(encoder.tokenizer, size=encoder.max_tokens, overlap=0),
        reader=InProcessReader(build_loaders()),
        generator=lambda: ExtractiveGenerator(encoder),  # type: ignore[arg-type]
        options=Options(recipe="toy", reading="toy"),
    )


# What is written: a content has a name of its own, which stands in every chunk of it


def new_content(rng: random.Random) -> str:
    """A name for a text: its size, and letters that no other has."""
    parts = rng.choices([1, rng.randint(2, 9), 300], weights=[20, 75, 5])[0]  # the last: more than one batch
    return f"q{rng.randrange(1 << 44):011x}x{parts}"


def word_of(content: str, part: int) -> str:
    return f"{content}p{part}"


def parts_of(content: str) -> int:
    return int(content.rpartition("x")[2])


def make_text(content: str) -> str:
    """Paragraphs, each longer than half a chunk and with one word that stands nowhere else."""
    return "\n\n".join(f"{word_of(content, part)} " + "filler " * 24 for part in range(parts_of(content)))


def content_of(text: str) -> str:
    """The name of a whole text; whatever else the text is, it is not whole."""
    content = text.split(None, 1)[0].rpartition("p")[0]
    return content if text.strip() == make_text(content).strip() else f"torn: {text[:60]!r}"


# The child


class Notebook:
    """What was acknowledged, each line on disk before the next change begins."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")

    def note(self, **what: object) -> None:
        self._file.write(json.dumps(what) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def die_before_write(number: int) -> None:
    """Have this process die before its write with this number: to the engine, the database or the folder."""
    left = [number]

    def tick(_: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    tick_before_writes(tick)


def work(place: Path, seed: int, documents: int, write: int | None) -> NoReturn:
    """Change the index until killed. The files are the parent's to look at as well, never the catalogue."""
    rng = random.Random(seed)
    files = place / "files"
    files.mkdir(exist_ok=True)
    kind = rng.choice(["hnsw", "int8"])
    notebook = Notebook(place / "notes")
    notebook.note(doing="open", kind=kind)
    if write is not None:
        die_before_write(write)
    pipeline = open_pipeline(place / "index", kind)
    notebook.note(did="open")
    while True:
        change = _any_change(rng, pipeline, files, documents, notebook)
        if change is not None:
            change()
            notebook.note(did="it")


def _any_change(
    rng: random.Random, pipeline: Pipeline, files: Path, documents: int, notebook: Notebook
) -> Callable[[], object] | None:
    """One change, noted as about to be done; None where what was drawn does not apply."""
    name = f"d{rng.randrange(documents)}.txt"
    path = files / name
    address = os.path.realpath(path)
    current = pipeline.store.find(uri=address)
    history = pipeline.store.history(document_id(address))
    did = rng.choices(
        ["add", "sync", "remove", "purge", "restore", "optimize", "compact"], weights=[30, 30, 10, 8, 12, 5, 5]
    )[0]
    if did == "add":
        content = new_content(rng)
        notebook.note(doing="add" if current is None else "update", target={name: content})
        _put(path, content)
        return lambda: pipeline.add(path)
    if did == "sync":
        for _ in range(rng.randint(1, 5)):
            _edit(rng, files, documents)
        target = {each.name: content_of(each.read_text()) for each in files.iterdir()}
        gone = {Path(each.uri).name: None for each in pipeline.documents()}
        notebook.note(doing="sync", target={**gone, **target})
        return lambda: pipeline.sync(files, remove_all=True)
    if did == "remove" and current is not None:
        notebook.note(doing="remove", target={name: None})
        return lambda: pipeline.remove(current.id)
    if did == "purge" and history:
        moved = copies(pipeline.store.history(), history[0].id).removed
        wiped = sorted({name} | {Path(each.uri).name for each in moved})
        notebook.note(doing="purge", target={name: None}, purged=wiped)
        return lambda: pipeline.purge(history[0].id)
    if did == "restore" and (past := [each for each in history if not each.current]):
        old = rng.choice(past)
        document = pipeline.store.get_document(old.id, old.version)
        assert document is not None
        notebook.note(doing="restore", target={name: content_of(document.text)})
        return lambda: pipeline.restore(old.id, old.version)
    if did in ("optimize", "compact"):
        notebook.note(doing=did, target={})
        return pipeline.store.optimize if did == "optimize" else pipeline.store.compact
    return None


def _put(path: Path, content: str) -> None:
    """Whole or not at all: it is the index that is tried here, and a file cut short by the kill says nothing of it."""
    unfinished = path.parent.with_name("unfinished")
    unfinished.write_text(make_text(content))
    os.replace(unfinished, path)


def _edit(rng: random.Random, files: Path, documents: int) -> None:
    path = files / f"d{rng.randrange(documents)}.txt"
    match rng.choice(["write", "move", "delete"]):
        case "write":
            _put(path, new_content(rng))
        case "move" if path.exists():
            os.rename(path, files / f"d{rng.randrange(documents)}.txt")
        case "delete" if path.exists():
            os.remove(path)


# The parent, which never opens the index itself: what an engine keeps in a process does not survive its forks


@dataclass
class Known:
    """What was found of one document: the text that is current, and (version, text) of everything that is kept."""

    current: str | None = None
    history: list[tuple[int, str]] = field(default_factory=list)
    highest: int = 0


@dataclass
class Round:
    number: int
    changes: int = 0
    cut: str = "between"  #: the change that the kill fell into
    outcome: str = ""  #: what is there of it: old, new, or of many files some
    documents: int = 0
    versions: int = 0
    opened: float = 0.0
    problems: list[str] = field(default_factory=list)


@dataclass
class Facts:
    """What a process that opened the index found."""

    problems: list[str] = field(default_factory=list)
    known: dict[str, Known] = field(default_factory=dict)
    resumed: dict[str, Known] = field(default_factory=dict)  #: the same after what was cut off was done
    opened: float = 0.0


def look(place: Path, known: dict[str, Known], gone: list[str], purged: list[str], resume: bool, seed: int) -> Facts:
    """Open the index in a new process and look for what must not be."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(receive)
            facts = _look(place, known, gone, purged, resume, random.Random(seed))
        except BaseException:
            facts = Facts(problems=[traceback.format_exc()])
        said = {
            "problems": facts.problems,
            "opened": facts.opened,
            "known": _packed(facts.known),
            "resumed": _packed(facts.resumed),
        }
        with os.fdopen(send, "w") as out:
            out.write(json.dumps(said))
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as heard:
        text = heard.read()
    os.waitpid(child, 0)
    if not text:
        return Facts(problems=["the process that looked died"])
    data = json.loads(text)
    return Facts(data["problems"], _unpacked(data["known"]), _unpacked(data["resumed"]), data["opened"])


def _packed(known: dict[str, Known]) -> dict[str, Any]:
    return {name: [each.current, each.history, each.highest] for name, each in known.items()}


def _unpacked(data: dict[str, Any]) -> dict[str, Known]:
    return {
        name: Known(current, [(version, content) for version, content in history], highest)
        for name, (current, history, highest) in data.items()
    }


def _look(
    place: Path, known: dict[str, Known], gone: list[str], purged: list[str], resume: bool, rng: random.Random
) -> Facts:
    facts = Facts()
    started = time.perf_counter()
    pipeline = open_pipeline(place / "index")
    store, encoder = pipeline.store, pipeline.encoder
    facts.opened = time.perf_counter() - started
    wrong = facts.problems
    wrong += store.check()
    kept = store.history()
    facts.known = _histories(pipeline, kept, wrong)
    holders: dict[str, set[str]] = {}  # text → the documents that have it now
    for each in store.documents():
        holders.setdefault(facts.known[Path(each.uri).name].current or "", set()).add(each.id)
    for name, before in known.items():
        now = facts.known.setdefault(name, Known())
        now.highest = max(now.highest, before.highest)
        following = store.next_version(document_id(os.path.realpath(place / "files" / name)))
        if following <= now.highest:
            wrong.append(f"{name}: the number {following} is given twice")
    # What is current is found by word and by vector, once for each document that has it.
    for content, ids in holders.items():
        for part in {0, parts_of(content) - 1, rng.randrange(parts_of(content))}:
            hits = store.search_lexical(word_of(content, part), 10)
            if sorted({hit.chunk_id.partition(".")[0] for hit in hits}) != sorted(ids) or len(hits) != len(ids):
                wrong.append(f"{word_of(content, part)} of {sorted(ids)} gives {hits}")
        for each in ids:
            chunk = rng.choice(store.chunks(each))
            (vector,) = store.vectors([chunk.id])
            found = store.search_dense(vector, len(ids) + 5)
            if chunk.id not in {hit.chunk_id for hit in found}:
                wrong.append(f"{chunk.id} is not found by its own vector")
    # What is not, is found by neither.
    for content in gone + purged:
        if content not in holders:
            texts = [store.search_lexical(word_of(content, 0), 3), _by_vector(pipeline, content)]
            wrong += [f"{content} is not current and can be found: {hits}" for hits in texts if hits]
    for each in rng.sample(kept, min(10, len(kept))):
        _check_past(pipeline, each, facts.known[Path(each.uri).name], wrong)
    every = store.search_dense(np.ones(DIMENSION, dtype=np.float32), 10**6)
    if len(every) != sum(each.chunks for each in store.documents()) or len(store.passages(every)) != len(every):
        wrong.append(f"{len(every)} chunks reached by the dense leg")
    if store.point_count != sum(each.chunks for each in kept):
        wrong.append(f"{store.point_count} points, of {sum(each.chunks for each in kept)} chunks that are kept")
    if resume:
        _resume(pipeline, place / "files", wrong)
        facts.resumed = _histories(pipeline, store.history(), wrong)
        for name, before in facts.known.items():
            now = facts.resumed.setdefault(name, Known())
            now.highest = max(now.highest, before.highest)
        # What the folder still has, it brings back.
        held = {content for each in facts.resumed.values() for _, content in each.history}
        purged = [content for content in purged if content not in held]
    given = [np.asarray(encoder.encode_passages(_chunks(pipeline, content)), np.float64) for content in purged]
    pipeline.close()
    _check_bytes(place / "index", purged, given, wrong)
    return facts


def _histories(pipeline: Pipeline, kept: Sequence[StoredDocument], wrong: list[str]) -> dict[str, Known]:
    found: dict[str, Known] = {}
    for each in kept:
        document = pipeline.store.get_document(each.id, each.version)
        content = content_of(document.text) if document else "missing"
        name = Path(each.uri).name
        entry = found.setdefault(name, Known())
        entry.history.append((each.version, content))
        entry.highest = each.version
        if each.current:
            entry.current = content
        if content.startswith(("torn", "missing")):
            wrong.append(f"{name} version {each.version}: its text is not whole: {content}")
        elif each.current and (chunks := pipeline.store.chunks(each.id)):
            text = " ".join(chunk.text for chunk in chunks)
            if text.split() != make_text(content).split() or len(chunks) != each.chunks:
                wrong.append(f"{name}: its {len(chunks)} of {each.chunks} chunks are not its text")
    return found


def _chunks(pipeline: Pipeline, content: str) -> list[str]:
    """The texts that were encoded of a content, but for what stands above them."""
    from pincite.types import Document

    made = Document("", make_text(content), "", "", "text/plain", "")
    return [chunk.text for chunk in pipeline.chunker.chunk(made) if content in chunk.text][:3]


def _by_vector(pipeline: Pipeline, content: str) -> list[str]:
    (vector,) = pipeline.encoder.encode_queries(_chunks(pipeline, content)[:1])
    hits = pipeline.store.search_dense(vector, 3)
    return [each.chunk.text for each in pipeline.store.passages(hits) if f"{content}p" in each.chunk.text]


def _check_past(pipeline: Pipeline, stored: StoredDocument, known: Known, wrong: list[str]) -> None:
    """A version is found, in both legs, by who asks for the moment at which it became current."""
    content = dict(known.history)[stored.version]
    at = PointInTime(recorded=stored.added_at)
    if stored.ended_at and stored.ended_at <= stored.added_at:
        return  # ended in the same millisecond
    chunk = pipeline.store.chunks(stored.id, stored.version)[0]
    (vector,) = pipeline.store.vectors([chunk.id])
    for leg, hits in (
        ("word", pipeline.store.search_lexical(word_of(content, 0), 20, at=at)),
        ("vector", pipeline.store.search_dense(vector, 20, at=at)),
    ):
        if chunk.id not in {hit.chunk_id for hit in hits}:
            wrong.append(f"{chunk.id} was current at {stored.added_at} and is not found by its {leg}")


def _check_bytes(index: Path, purged: Sequence[str], vectors: Sequence[np.ndarray], wrong: list[str]) -> None:
    """No file holds a word of what was purged, nor a vector."""
    rows = [(row / np.linalg.norm(row)).astype(np.float32).tobytes() for some in vectors for row in some]
    for file in index.rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        wrong += [f"{each} was purged and is in {file.relative_to(index)}" for each in purged if each.encode() in data]
        if any(row[:20] in data for row in rows):
            wrong.append(f"a vector that was purged is in {file.relative_to(index)}")


def _resume(pipeline: Pipeline, files: Path, wrong: list[str]) -> None:
    """What is left of a change of many files is done, and no more than that."""
    encoder = pipeline.encoder
    assert isinstance(encoder, CheapEncoder)
    there = {Path(each.uri).name: each for each in pipeline.documents()}
    texts = {name: pipeline.store.get_document(each.id) for name, each in there.items()}
    target = {each.name: content_of(each.read_text()) for each in files.iterdir()}
    done = {name for name, text in texts.items() if text and target.get(name) == content_of(text.text)}
    every = {
        content
        for each in _histories(pipeline, pipeline.store.history(), wrong).values()
        for _, content in each.history
    }
    before = encoder.given
    report = pipeline.sync(files, remove_all=True)
    for outcome in report.outcomes:
        name = Path(outcome.uri).name
        if name in done and outcome.status != "unchanged":
            wrong.append(f"{name} was done and is {outcome.status}")
    most = sum(parts_of(content) for name, content in target.items() if content not in every)
    if encoder.given - before > most:
        wrong.append(f"{encoder.given - before} chunks encoded to resume, {most} were not there")
    now = {Path(each.uri).name: content_of(pipeline.store.get_document(each.id).text) for each in pipeline.documents()}  # type: ignore[union-attr]
    if now != target:
        wrong.append(f"after resuming the index is not the folder: {now}, {target}")
    again = pipeline.sync(files, remove_all=True)
    if again.encoded or any(outcome.status != "unchanged" for outcome in again.outcomes):
        wrong.append("a second sync finds something to do")
    wrong += pipeline.store.check()


@dataclass
class Judge:
    """What is known of the index, from round to round."""

    place: Path
    known: dict[str, Known] = field(default_factory=dict)
    purged: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)

    def round(self, number: int, lines: Sequence[dict[str, Any]], rng: random.Random) -> Round:
        """Hold what is there against what was noted."""
        found = Round(number)
        expected = {name: each.current for name, each in self.known.items()}
        wiped: set[str] = set()
        doing: dict[str, Any] = {}
        for line in lines:
            if "doing" in line:
                doing = line
                continue
            found.changes += line["did"] == "it"
            expected.update(doing.get("target", {}))
            if "purged" in doing:
                wiped |= set(doing["purged"])
            doing = {}
        found.cut = doing.get("doing", "between")
        if "purged" in doing:
            wiped |= set(doing["purged"])
        here = {content_of(path.read_text()) for path in (self.place / "files").glob("*")}
        self.purged -= here
        purged = rng.sample(sorted(self.purged), min(20, len(self.purged)))
        gone = rng.sample(self.gone, min(20, len(self.gone)))
        facts = look(self.place, self.known, gone, purged, found.cut in ("sync", "add", "update"), number)
        found.problems, found.opened = facts.problems, facts.opened
        self._hold(found, facts.known, expected, {**expected, **doing.get("target", {})}, wiped)
        state = facts.resumed or facts.known
        held = {content for each in state.values() for _, content in each.history}
        before = {content for name in wiped for _, content in self.known.get(name, Known()).history}
        self.purged = (self.purged | before) - held - here
        self.gone = sorted(held - {each.current for each in state.values()})
        self.known = state
        found.documents = sum(each.current is not None for each in state.values())
        found.versions = sum(len(each.history) for each in state.values())
        return found

    def _hold(
        self,
        found: Round,
        state: dict[str, Known],
        before: dict[str, str | None],
        after: dict[str, str | None],
        wiped: set[str],
    ) -> None:
        sides = Counter[str]()
        for name in before.keys() | after.keys():
            now = state.get(name, Known()).current
            old, new = before.get(name), after.get(name)
            if now not in (old, new):
                found.problems.append(f"{name}: found {now}, allowed {old} and {new}")
            elif old != new:
                sides["new" if now == new else "old"] += 1
        found.outcome = "some" if len(sides) > 1 else next(iter(sides), "")
        for name, each in self.known.items():
            now = state.get(name, Known()).history
            if name not in wiped and now[: len(each.history)] != each.history:
                found.problems.append(f"{name}: its history was {each.history} and is {now}")
            fresh = now if name in wiped else now[len(each.history) :]
            if any(version <= each.highest for version, _ in fresh) and now != each.history:
                found.problems.append(f"{name}: a number is used again: {each.history}, {now}")


def run(place: Path, rounds: int, documents: int, seed: int, longest: float) -> Iterator[Round]:
    """Every round's findings, as they come."""
    rng = random.Random(seed)
    place.mkdir(parents=True, exist_ok=True)
    notes = place / "notes"
    notes.touch()
    judge = Judge(place)
    seen = 0
    for number in range(1, rounds + 1):
        write = rng.randrange(_WRITES) if number % 2 else None
        work_seed = rng.randrange(1 << 30)
        child = os.fork()
        if child == 0:
            try:
                work(place, work_seed, documents, write)
            except BaseException:
                traceback.print_exc()
            os._exit(3)
        if write is None:
            begun = time.monotonic()
            while b'"did": "open"' not in _tail(notes, seen) and time.monotonic() - begun < 60:
                time.sleep(0.005)
            time.sleep(rng.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        lines = _tail(notes, seen).decode().splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):  # the kill cut the note itself: it says nothing
            os.truncate(notes, notes.stat().st_size - len(lines.pop().encode()))
        result = judge.round(number, [json.loads(line) for line in lines], rng)
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            result.problems.append(f"the child ended by itself, with status {status}")
        seen = notes.stat().st_size
        yield result


def _tail(path: Path, start: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--documents", type=int, default=12, help="different files (default 12)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=0.5, help="seconds from opening to the kill, at most")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="kill9-"))
    rounds = []
    try:
        for each in run(place, options.rounds, options.documents, options.seed, options.longest):
            rounds.append(each)
            for problem in each.problems:
                print(f"round {each.number}, {each.cut}: {problem}", flush=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print("killed in   rounds  old  new  some  resumed  bad")
    for cut in sorted({each.cut for each in rounds}):
        some = [each for each in rounds if each.cut == cut]
        count = Counter(each.outcome for each in some)
        resumed = len(some) if cut in ("sync", "add", "update") else 0
        bad = sum(bool(each.problems) for each in some)
        print(f"{cut:10} {len(some):7} {count['old']:4} {count['new']:4} {count['some']:5} {resumed:8} {bad:4}")
    bad = sum(bool(each.problems) for each in rounds)
    last = rounds[-1]
    print(
        f"{len(rounds)} rounds (seed {options.seed}), {sum(each.changes for each in rounds)} acknowledged changes, at "
        f"the end {last.documents} documents and {last.versions} versions: {bad} rounds with a violation; "
        f"opening took at most {max(each.opened for each in rounds):.2f} s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
