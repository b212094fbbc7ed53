"""The vector index beside the points: built, measured, mended, damaged, cut off."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.errors import InputError, MissingExtraError, StoreError
from pincite.store import care, exchange, ivfpq, plan
from pincite.store.care import VectorIndex
from pincite.store.catalogue import Catalogue
from pincite.store.edge import EdgeStore
from pincite.store.plan import UNMEASURED, IndexOptions, IndexState, Layout
from toys import ToyEncoder, copy_index, make_chunks, make_document, toy_header

DIMENSION = 32
POINTS = 1200
HNSW = IndexOptions("hnsw", exact_until=500)
IVFPQ = IndexOptions("ivfpq", exact_until=500)


def clustered(count: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(30, DIMENSION))
    made = centres[random.integers(0, 30, count)] + 0.7 * random.normal(size=(count, DIMENSION))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def put(store: EdgeStore, uri: str, vectors: np.ndarray) -> str:
    document = make_document("\n".join(f"line {n}" for n in range(len(vectors))), uri)
    document = replace(document, version=store.next_version(document.id))
    ticket = store.stage(document)
    store.stage_chunks(ticket, make_chunks(document), [""] * len(vectors), vectors)
    store.commit([ticket])
    return document.id


@pytest.fixture(scope="module", autouse=True)
def few_queries() -> Iterator[None]:
    """The same ladder with a fifth of the queries: it has to be climbed, not to be measured to the third decimal."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(care, "_QUERIES", 60)
        yield


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled") / "index"
    with EdgeStore.create(folder, toy_header(ToyEncoder(DIMENSION))) as store:
        for n in range(4):
            put(store, f"toy:{n}", clustered(POINTS // 4, seed=n))
    return folder


@pytest.fixture
def index(filled: Path, tmp_path: Path) -> Path:
    copy_index(filled, tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture(scope="module")
def coded(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coded") / "index"
    copy_index(filled, folder)
    with EdgeStore.open(folder, index=IVFPQ) as store:
        assert store.optimize()
    return folder


def same_as_exact(store: EdgeStore, least: float = 1.0) -> None:
    queries = clustered(30, seed=99)
    shares = []
    for query in queries:
        found = {hit.chunk_id for hit in store.search_dense(query, 10)}
        shares.append(len(found & {hit.chunk_id for hit in store.search_dense(query, 10, exact=True)}) / 10)
    assert np.mean(shares) >= least


# The ladder, with engines that really miss


def test_a_search_that_is_too_narrow_is_widened_and_stays_so(index: Path) -> None:
    options = replace(HNSW, ef=1, m=4, ef_construct=16)
    with EdgeStore.open(index, index=options) as store:
        assert store.optimize()
        report = store.index_report()
        assert report.recall is not None
        assert report.recall.recall >= 0.98
        assert report.notes == ()
        assert int(report.beam.removeprefix("ef ")) > 1
        same_as_exact(store, 0.9)
    with EdgeStore.open(index, index=options) as store:
        assert store.index_report() == report


def test_a_build_that_is_too_careless_is_done_again(index: Path) -> None:
    """Of two links a chunk no beam finds them all: the graph falls into pieces."""
    options = replace(HNSW, m=2, ef_construct=4, recall_floor=0.999)
    with EdgeStore.open(index, index=options) as store:
        store.optimize()
        state = IndexState.parse(store._catalogue.index_record())
        assert (state.wanted.m, state.layout.m, state.layout.ef_construct) == (2, 32, 256)
        assert state.recall is not None
        assert state.recall.recall >= 0.999
        assert state.exact == ""
        assert not store.needs_optimizing()
        assert not store.optimize()
        same_as_exact(store, 0.9)


def test_what_cannot_be_mended_is_searched_exactly_and_said(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit a dimension of 32: neither twice the bits nor 8 candidates a result reach all."""
    monkeypatch.setattr(plan, "_LAST_OVERSAMPLING", 8.0)
    options = IndexOptions("binary", exact_until=500, recall_floor=1.0)
    with EdgeStore.open(index, index=options) as store:
        assert store.optimize()
        report = store.index_report()
        assert report.beam == ""
        assert report.recall is not None
        assert 0.3 < report.recall.recall < 1
        (note,) = report.notes
        assert "searched exactly" in note
        assert "index.recall_floor 1" in note
        assert store.measure_recall() is None
        same_as_exact(store)
        assert not store.needs_optimizing()
        assert not store.optimize()
    # With a floor that can be reached it is used, and nothing is built again.
    with EdgeStore.open(index, index=replace(options, recall_floor=0.3)) as store:
        points = store._catalogue.points()
        assert store.optimize()
        assert store._catalogue.points() == points
        assert store.index_report().beam
        assert store.index_report().notes == ()


def test_a_graph_in_pieces_gives_no_fewer_than_there_are(index: Path) -> None:
    with EdgeStore.open(index, index=replace(HNSW, m=2, ef_construct=4, recall_floor=0)) as store:
        store.optimize()
        state = IndexState.parse(store._catalogue.index_record())
        assert state.layout.m == 2
        query = clustered(1, seed=5)[0]
        for k in (1, 10, 300, POINTS, 10 * POINTS):
            assert len(store.search_dense(query, k)) == min(k, POINTS)


def test_codes_climb_the_same_ladder(index: Path) -> None:
    options = replace(IVFPQ, nlist=16, nprobe=1, oversampling=1)
    with EdgeStore.open(index, index=options) as store:
        assert store.optimize()
        report = store.index_report()
        assert report.recall is not None
        assert report.recall.recall >= 0.98
        assert report.beam not in ("oversampling 1, nprobe 1", "")


# Small indexes


@pytest.mark.parametrize("kind", ["auto", "hnsw", "int8", "pq", "binary", "ivfpq"])
def test_a_small_index_is_searched_exactly_and_says_why(tmp_path: Path, kind: Any) -> None:
    with EdgeStore.create(tmp_path / "index", toy_header(ToyEncoder(DIMENSION)), index=IndexOptions(kind)) as store:
        put(store, "toy:a", clustered(60, seed=1))
        assert not store.needs_optimizing()
        store.optimize()
        same_as_exact(store)
        report = store.index_report()
        assert report.search == "exact (recall 1)"
        assert len(report.notes) == (kind != "auto")
        if kind != "auto":
            assert "10,000 chunks" in report.notes[0]
        assert store.measure_recall() is None


def test_codes_need_something_to_learn_from(index: Path) -> None:
    options = IndexOptions("ivfpq", exact_until=10, nlist=64)
    with EdgeStore.open(index, index=options) as store:
        assert not store.optimize() or store.index_report().search == "exact (recall 1)"
        (note,) = [note for note in store.index_report().notes if "needs" in note]
        assert "2,496 chunks" in note
        same_as_exact(store)
        assert not store.needs_optimizing()


def test_cells_follow_the_number_of_points() -> None:
    for points, nlist in ((624, 16), (2000, 32), (10_000, 256), (200_000, 1024), (10_000_000, 8192)):
        assert ivfpq.cells(points) == nlist
        assert points >= 39 * nlist


def test_runs_are_the_numbers_again() -> None:
    assert ivfpq.runs([]) == ()
    assert ivfpq.runs([7, 1, 3, 2]) == ((1, 3), (7, 7))


# Indexes made before there was a choice


def test_an_index_without_a_record_is_as_it_was(index: Path) -> None:
    connection = sqlite3.connect(index / "catalogue.sqlite")
    connection.execute("DELETE FROM meta WHERE name = 'index'")
    connection.commit()
    connection.close()
    with EdgeStore.open(index) as store:
        same_as_exact(store)
        report = store.index_report()
        assert (report.search, report.notes, report.recall) == ("exact (recall 1)", (), None)
        assert not store.needs_optimizing()
    with EdgeStore.open(index, index=HNSW) as store:
        assert store.needs_optimizing()
        same_as_exact(store)
        assert store.optimize()
        assert store.index_report().search == f"HNSW over {POINTS:,} of {POINTS:,} chunks"


@pytest.mark.parametrize("record", ["", "{}", "[]", "not JSON", '{"wanted": {"kind": 1, "colour": 2}}'])
def test_a_damaged_record_is_not_believed(coded: Path, tmp_path: Path, record: str) -> None:
    copy_index(coded, tmp_path / "index")
    connection = sqlite3.connect(tmp_path / "index" / "catalogue.sqlite")
    connection.execute("UPDATE meta SET value = ? WHERE name = 'index'", (record,))
    connection.commit()
    connection.close()
    with EdgeStore.open(tmp_path / "index", index=IVFPQ) as store:
        same_as_exact(store)
        assert any("damaged" in note for note in store.index_report().notes)
        assert store.needs_optimizing()
        if record == "{}":  # what is read is the same for all
            assert store.optimize()
            assert store.index_report().notes == ()


def test_a_record_is_read_as_it_was_written() -> None:
    state = IndexState(
        wanted=Layout("ivfpq", nlist=5),
        exact="why",
        floor=0.5,
        sidecar=ivfpq.Sidecar("f", "0", "points-1.edge", 3, 4, ((1, 2), (5, 5))),
    )
    assert IndexState.parse(state.dump()) == state
    assert state.sidecar is not None
    assert state.sidecar.keys() == {1, 2, 5}


# Damage to the codes


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def other_points(file: Path) -> None:
    connection = sqlite3.connect(file.parent / "catalogue.sqlite")
    (record,) = connection.execute("SELECT value FROM meta WHERE name = 'index'").fetchone()
    state = json.loads(record)
    state["sidecar"]["points"] = "points-77.edge"
    connection.execute("UPDATE meta SET value = ? WHERE name = 'index'", (json.dumps(state),))
    connection.commit()
    connection.close()


def other_count(file: Path) -> None:
    connection = sqlite3.connect(file.parent / "catalogue.sqlite")
    (record,) = connection.execute("SELECT value FROM meta WHERE name = 'index'").fetchone()
    state = json.loads(record)
    state["sidecar"]["count"] += 1
    connection.execute("UPDATE meta SET value = ? WHERE name = 'index'", (json.dumps(state),))
    connection.commit()
    connection.close()


DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a bit": (flip, "damaged"),
    "the end": (lambda file: file.write_bytes(file.read_bytes()[:-100]), "damaged"),
    "everything": (lambda file: file.write_bytes(b""), "damaged"),
    "gone": (lambda file: file.unlink(), "cannot be read"),
    "a folder": (lambda file: (file.unlink(), file.mkdir()), "cannot be read"),
    "of other points": (other_points, "other points"),
    "of fewer points": (other_count, "points, not"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_or_stale_codes_are_told_and_never_searched(coded: Path, tmp_path: Path, damage: str) -> None:
    copy_index(coded, tmp_path / "index")
    (file,) = (tmp_path / "index").glob("ivfpq-*")
    do, message = DAMAGE[damage]
    do(file)
    with EdgeStore.open(tmp_path / "index", index=IVFPQ) as store:
        same_as_exact(store)
        report = store.index_report()
        assert report.search == "exact (recall 1)"
        assert message in " ".join(report.notes)
        assert any(message in problem for problem in store.check())
        assert store.needs_optimizing()
        if damage not in ("the end", "everything"):  # what is found out is the same as for a bit
            assert store.optimize()
            assert store.index_report().notes == ()
            assert store.check() == []


def test_without_faiss_codes_are_told_and_not_built(
    coded: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_index(coded, tmp_path / "coded")
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setattr(ivfpq, "installed", lambda: False)
    with EdgeStore.open(tmp_path / "coded", index=IVFPQ) as store:
        same_as_exact(store)
        assert "pincite[faiss]" in " ".join(store.index_report().notes)
    with EdgeStore.open(index, index=IVFPQ) as store, pytest.raises(MissingExtraError, match=r"pincite\[faiss\]"):
        store.optimize()


def test_codes_do_not_outlive_their_index(coded: Path, tmp_path: Path) -> None:
    """A reindexed store that takes the place of the old one has none."""
    copy_index(coded, tmp_path / "index")
    with EdgeStore.create(tmp_path / "fresh", toy_header(ToyEncoder(DIMENSION))) as fresh:
        put(fresh, "toy:other", clustered(50, seed=8))
    EdgeStore.open(tmp_path / "index").give_place_to(tmp_path / "fresh")
    with EdgeStore.open(tmp_path / "index", index=IVFPQ) as store:
        assert not list((tmp_path / "index").glob("ivfpq-*"))
        assert len(store.search_dense(clustered(1, seed=8)[0], 99)) == 50
        assert store.check() == []


# Cut off


class Snapshots:
    """Copies the folder before every step of a build: what a death at that moment would leave."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.copies: list[Path] = []
        for owner, name in (
            (exchange, "copy_shard"),
            (exchange, "load_shard"),
            (Catalogue, "transaction"),
            (shutil, "rmtree"),
            (Path, "replace"),
            (Path, "unlink"),
        ):
            self._watch(monkeypatch, owner, name)

    def _watch(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def watched(*args: Any, **options: Any) -> Any:
            self.take()
            return real(*args, **options)

        monkeypatch.setattr(owner, name, watched)

    def take(self) -> None:
        target = self.folder.with_name(f"copy-{len(self.copies)}")
        copy_index(self.folder, target)
        self.copies.append(target)


def whole(store: EdgeStore) -> None:
    """Every chunk, every invariant, the exact result."""
    assert store.check() == []
    assert store.point_count == POINTS
    assert len(store.search_lexical("line", 10_000)) == POINTS
    same_as_exact(store, 0.95)
    assert len(list(store.folder.glob("points-*"))) == 1
    assert len(list(store.folder.glob("ivfpq-*"))) <= 1


@pytest.mark.parametrize("options", [HNSW, IVFPQ], ids=["hnsw", "ivfpq"])
def test_cut_off_anywhere_one_index_stands(index: Path, options: IndexOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    with EdgeStore.open(index, index=HNSW if options is IVFPQ else None) as store:
        store.optimize()
    with EdgeStore.open(index, index=options) as store, monkeypatch.context() as patched:
        snapshots = Snapshots(index, patched)
        assert store.optimize()
        snapshots.take()
    assert len(snapshots.copies) >= 5
    kinds = set()
    for n, copy in enumerate(snapshots.copies):
        with EdgeStore.open(copy, index=options) as store:
            whole(store)
            kinds.add(store.index_report().search.partition(" over")[0])
            # Whatever it was cut off at, it can be done again.
            if n % 3 == 0 and store.optimize():
                same_as_exact(store, 0.95)
        shutil.rmtree(copy)
    old, new = ("exact (recall 1)", "HNSW") if options is HNSW else ("HNSW", "IVF-PQ")
    # Codes are made when the graph has gone: exact search, which needs nothing, stands between.
    assert kinds - {"exact (recall 1)"} == {old, new} - {"exact (recall 1)"}
    assert len(kinds) == (2 if options is HNSW else 3)


@pytest.mark.parametrize("step", ["copy_shard", "load_shard"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
def test_a_build_that_fails_leaves_the_store_open_and_as_it_was(
    index: Path, step: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EdgeStore.open(index, index=HNSW) as store:
        with monkeypatch.context() as patched:
            real = getattr(exchange, step)
            left = [error]

            def fail(*args: Any) -> Any:
                if left:
                    raise left.pop()
                return real(*args)

            patched.setattr(exchange, step, fail)
            with pytest.raises(StoreError if isinstance(error, OSError) else KeyboardInterrupt):
                store.optimize()
        same_as_exact(store)
        assert len(list(index.glob("points-*"))) == 1
        put(store, "toy:more", clustered(3, seed=1))
        assert store.check() == []
        assert store.optimize()
        assert store.index_report().recall is not None


def test_an_index_that_was_built_and_not_measured_is_not_used(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with EdgeStore.open(index, index=HNSW) as store, monkeypatch.context() as patched:
        patched.setattr(VectorIndex, "_reference", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            store.optimize()
        assert UNMEASURED in store.index_report().notes[0]
        assert store.index_report().search == "exact (recall 1)"
        assert store.measure_recall() is None
        same_as_exact(store)
    with EdgeStore.open(index, index=HNSW) as store:
        assert store.needs_optimizing()
        assert store.optimize()
        assert store.index_report().notes == ()


# Settings


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="hnsw"):
        IndexOptions("hnws")  # type: ignore[arg-type]


def test_rungs_widen_to_a_limit_and_begin_where_they_are_told() -> None:
    def beams(options: IndexOptions) -> list[str]:
        return [str(beam) for beam in options.layout().rungs(options)]

    assert beams(IndexOptions()) == ["ef 128", "ef 256", "ef 512", "ef 1024"]
    assert beams(IndexOptions("hnsw", ef=5000, oversampling=3)) == ["ef 5000"]
    assert beams(IndexOptions("int8"))[0] == "ef 128, oversampling 2"
    assert beams(IndexOptions("pq"))[-1] == "ef 1024, oversampling 64"
    assert beams(IndexOptions("ivfpq"))[0] == "oversampling 4, nprobe 16"
    assert beams(IndexOptions("ivfpq", nprobe=1, ef=7))[1] == "oversampling 8, nprobe 2"
