"""Killed at any point of writing, an index opens in the old state or in the new one, and nothing comes back.

The file is also the program of the child that is killed: ``python test_crash.py INDEX SCENARIO`` tries the scenario on
copies of the index, and dies in a copy before its first write, its second, and so on, until it survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.store.catalogue import Catalogue
from pincite.store.edge import EdgeStore
from pincite.store.plan import IndexOptions
from pincite.types import Document
from toys import ToyEncoder, copy_index, make_chunks, make_document, toy_header
from write_points import tick_before_writes

ENCODER = ToyEncoder(8)
OLD = make_document("first old alpha\nsecond old alpha\nthird old alpha", "toy:a")
NEW = replace(make_document("first new beta\nsecond new beta", "toy:a"), version=2)
EXTRA = make_document("an extra gamma", "toy:c")
STEADY = make_document("steady delta\nsteady too", "toy:b")

State = frozenset[str]


BEFORE = frozenset({OLD.text, STEADY.text})
SCENARIOS: dict[str, frozenset[str]] = {
    "remove": frozenset({STEADY.text}),
    "both": frozenset({NEW.text, STEADY.text, EXTRA.text}),
    "exchange": frozenset({EXTRA.text}),
    "recover": BEFORE,
    "rebuild": BEFORE,
    "compact": BEFORE,
    "purge": frozenset({STEADY.text}),
    "create": frozenset({STEADY.text}),
}


def stage(store: EdgeStore, document: Document) -> int:
    ticket = store.stage(document)
    for chunk in make_chunks(document):
        store.stage_chunks(ticket, [chunk], [""], ENCODER.encode_passages([chunk.text]))
    return ticket


def prepare_scenario(folder: Path, name: str) -> None:
    if name == "exchange":
        with EdgeStore.create(folder.with_name(folder.name + ".new"), toy_header(ENCODER)) as other:
            other.commit([stage(other, EXTRA)])
    elif name == "recover":  # from a death while writing
        with EdgeStore.open(folder) as store:
            stage(store, NEW)
            stage(store, EXTRA)


def run_scenario(folder: Path, name: str) -> None:
    if name == "create":
        with EdgeStore.create(folder, toy_header(ENCODER)) as store:
            store.commit([stage(store, STEADY)])
        return
    with EdgeStore.open(folder, index=IndexOptions("int8", exact_until=1) if name == "rebuild" else None) as store:
        match name:
            case "remove":
                assert store.remove(OLD.id)
            case "both":
                store.commit([stage(store, NEW), stage(store, EXTRA)])
            case "rebuild":
                assert store.optimize()
            case "compact":
                store.compact()
            case "purge":
                store.purge([OLD.id])
            case "exchange":
                store.give_place_to(folder.with_name(folder.name + ".new"))


def state(folder: Path) -> State | None:
    """The texts of the documents, after every invariant was looked at; None if there is no index."""
    if not EdgeStore.exists(folder):
        return None
    with EdgeStore.open(folder) as store:
        assert store.check() == []
        documents = {document.id: store.get_document(document.id) for document in store.documents()}
        chunks = {chunk.text for document_id in documents for chunk in store.chunks(document_id)}
        hits = store.search_dense(ENCODER.encode_queries(["anything"])[0], 99)
        assert {passage.chunk.text for passage in store.passages(hits)} == chunks
        assert store.point_count == len(hits) == len(chunks)
        every = store.search_lexical("old new alpha beta gamma delta steady", 99)
        assert {hit.chunk_id for hit in every} == {hit.chunk_id for hit in hits}
        texts = frozenset(document.text for document in documents.values() if document)
        assert chunks == {line for text in texts for line in text.splitlines()}
        return texts


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def index(tmp_path: Path) -> Path:
    with EdgeStore.create(tmp_path / "index", toy_header(ENCODER)) as store:
        store.commit([stage(store, OLD), stage(store, STEADY)])
    return tmp_path / "index"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_before_each_write(index: Path, scenario: str) -> None:
    if scenario == "create":
        shutil.rmtree(index)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.run(
        [sys.executable, __file__, str(index), scenario], env=environment, capture_output=True, text=True, timeout=120
    )
    assert child.returncode == 0, child.stderr
    points = child.stdout.split()
    new = SCENARIOS[scenario]
    old = None if scenario == "create" else BEFORE
    # Making an index and adding to it are two steps: in between it is empty.
    allowed = [old, frozenset(), new] if scenario == "create" else [old, new]
    seen = [state(index.parent / f"copy-{n}") for n in range(len(points))]
    assert len(seen) == len(points) >= 3
    assert set(seen) == set(allowed)
    # Once it has happened, it has happened: no later death undoes it.
    assert seen == sorted(seen, key=allowed.index), points
    assert points[-1] == "survived"
    if scenario == "purge":
        for n, found in enumerate(seen):
            held = any(b"second old alpha" in file.read_bytes() for file in files_of(index.parent / f"copy-{n}"))
            assert held == (found == old), points[n]
    # What was cut off can be done again, and leaves nothing lying about.
    for n, found in enumerate(seen):
        folder = index.parent / f"copy-{n}"
        if (scenario == "create" and found is None) or (scenario == "exchange" and found == old):
            shutil.rmtree(folder.with_name(folder.name + ".new"), ignore_errors=True)
            prepare_scenario(folder, scenario)
            run_scenario(folder, scenario)
            assert state(folder) == new
            assert len(list(folder.glob("points*"))) == 1


@pytest.mark.parametrize("scenario", ["remove", "both"])
def test_a_failure_before_each_write_leaves_old_or_new(
    index: Path, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process lives on: what it shows agrees with what is there when the index is opened again."""
    left = [0]

    def tick(_: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        tick_before_writes(tick, lambda owner, name, value: patched.setattr(owner, name, value))
        survived = False
        n = 0
        while not survived:
            n += 1
            assert n < 40
            folder = index.with_name(f"copy-{n}")
            copy_index(index, folder)
            store = EdgeStore.open(folder)
            left[0] = n
            tickets: list[int] = []
            try:
                if scenario == "remove":
                    store.remove(OLD.id)
                else:
                    tickets.append(stage(store, NEW))
                    tickets.append(stage(store, EXTRA))
                    store.commit(tickets)
                survived = True
            except KeyboardInterrupt:
                left[0] = 0
                store.discard(tickets)
            left[0] = 0
            shown = frozenset(text for d in store.documents() if (text := store.get_document(d.id).text))  # type: ignore[union-attr]
            found = {p.chunk.text for p in store.passages(store.search_lexical("alpha beta gamma delta steady", 99))}
            assert found == {line for text in shown for line in text.splitlines()}
            assert shown in (BEFORE, SCENARIOS[scenario])
            # And it can go on.
            more = make_document("going on", "toy:more")
            store.commit([stage(store, more)])
            assert store.check() == []
            store.close()
            with EdgeStore.open(folder) as store:
                assert {d.uri for d in store.documents()} >= {"toy:b", "toy:more"}
                assert store.check() == []
                assert frozenset(store.get_document(d.id).text for d in store.documents()) == shown | {more.text}  # type: ignore[union-attr]
            shutil.rmtree(folder)
    assert n >= 4


@pytest.mark.parametrize("change", ["commit", "remove"])
def test_interrupted_just_after_it_became_true(index: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the database has it and before the caller hears of it: what is shown follows the database."""
    real = Catalogue.commit

    def interrupted(*args: Any, **more: Any) -> None:
        real(*args, **more)
        raise KeyboardInterrupt

    with EdgeStore.open(index) as store:
        tickets = [stage(store, NEW)] if change == "commit" else []
        with monkeypatch.context() as patched:
            patched.setattr(Catalogue, "commit", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.commit(tickets) if tickets else store.remove(OLD.id)
        store.discard(tickets)
        shown = {NEW.text, STEADY.text} if tickets else {STEADY.text}
        found = {p.chunk.text for p in store.passages(store.search_lexical("alpha beta delta steady", 99))}
        assert found == {line for text in shown for line in text.splitlines()}
        assert store.check() == []
    assert state(index) == shown


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_while_a_folder_is_kept_in_step() -> None:
    """A short run of the benchmark, which has the checks."""
    path = Path(__file__).parents[2] / "benchmarks" / "kill9.py"
    # In a process of its own: it forks, and threads of an engine do not survive that.
    command = [sys.executable, str(path), "--rounds", "6", "--documents", "5", "--seed", "7", "--longest", "0.2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 rounds" in done.stdout


def main(index: Path, scenario: str) -> None:
    """Try the scenario on copies; print the name of the write that was not reached in each."""
    for n in range(200):
        folder = index.with_name(f"copy-{n}")
        if index.exists():
            copy_index(index, folder)
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            count = [0]

            def tick(name: str, n: int = n, send: int = send, count: list[int] = count) -> None:
                if count[0] == n:
                    os.write(send, name.encode())
                    os._exit(9)
                count[0] += 1

            prepare_scenario(folder, scenario)  # not before the fork: the engine's threads would not survive it
            tick_before_writes(tick, setattr)
            run_scenario(folder, scenario)
            os.write(send, b"survived")
            os._exit(0)
        os.close(send)
        _, status = os.waitpid(child, 0)
        where = os.read(receive, 100).decode()
        os.close(receive)
        print(where or "failed")
        if os.waitstatus_to_exitcode(status) != 9:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
