"""One battery for every store. A new store joins by a line in `KINDS`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

from pincite.analysis import LANGUAGES
from pincite.errors import InputError, StoreError
from pincite.protocols import Store, StoreHeader
from pincite.store.edge import EdgeStore
from pincite.store.plan import IndexOptions
from pincite.types import Document, Hit, MetadataValue, StoredDocument
from toys import ToyEncoder, copy_index, make_chunks, make_document, toy_header

ENCODER = ToyEncoder(8)


class Kind(Protocol):
    def create(self, folder: Path, header: StoreHeader) -> Store: ...

    def open(self, folder: Path, *, index: IndexOptions | None = None) -> Store: ...


KINDS: dict[str, type[Kind]] = {"edge": EdgeStore}


@dataclass
class Shelf:
    """A store under test, and short ways to write to it and look into it."""

    kind: type[Kind]
    folder: Path
    store: Store

    def reopen(self) -> None:
        self.store.close()
        self.store = self.kind.open(self.folder)

    def stage(self, document: Document, vectors: Sequence[Sequence[float]] | None = None, context: str = "") -> int:
        chunks = make_chunks(document)
        matrix = ENCODER.encode_passages([c.text for c in chunks]) if vectors is None else np.array(vectors, np.float32)
        ticket = self.store.stage(document)
        self.store.stage_chunks(ticket, chunks, [context] * len(chunks), matrix)
        return ticket

    def put(
        self,
        text: str,
        uri: str = "toy:notes.txt",
        *,
        metadata: Mapping[str, MetadataValue] | None = None,
        vectors: Sequence[Sequence[float]] | None = None,
    ) -> Document:
        document = make_document(text, uri, metadata=metadata)
        document = replace(document, version=self.store.next_version(document.id))
        self.store.commit([self.stage(document, vectors)])
        return document

    def dense(self, text: str, k: int = 10, where: Mapping[str, MetadataValue] | None = None) -> list[Hit]:
        return self.store.search_dense(ENCODER.encode_queries([text])[0], k, where)

    def texts(self, hits: Sequence[Hit]) -> list[str]:
        return [passage.chunk.text for passage in self.store.passages(hits)]

    def reachable(self) -> set[str]:
        """Every text that any leg, or any listing, can give."""
        found = set(self.texts(self.dense("anything", 10_000)))
        for document in self.store.documents():
            found.update(chunk.text for chunk in self.store.chunks(document.id))
        return found


@pytest.fixture(scope="module", params=KINDS)
def template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[type[Kind], Path]:
    """An empty index, made once."""
    kind = KINDS[request.param]
    folder = tmp_path_factory.mktemp(request.param) / "index"
    kind.create(folder, toy_header(ENCODER)).close()
    return kind, folder


@pytest.fixture
def shelf(template: tuple[type[Kind], Path], tmp_path: Path) -> Iterator[Shelf]:
    kind, made = template
    folder = tmp_path / "index"
    copy_index(made, folder)
    shelf = Shelf(kind, folder, kind.open(folder))
    yield shelf
    shelf.store.close()


def unit(index: int) -> list[float]:
    return [1.0 if i == index else 0.0 for i in range(8)]


# Nothing, little, and more than there is


def test_an_empty_store_can_be_searched(shelf: Shelf) -> None:
    store = shelf.store
    assert shelf.dense("anything") == []
    assert store.search_lexical("anything", 10) == []
    assert store.documents() == []
    assert store.passages([]) == []
    assert store.chunks("none") == []
    assert store.find(uri="none") is None
    assert store.find(document_id="none") is None
    assert store.get_document("none") is None
    assert not store.remove("none")
    assert store.point_count == 0
    assert store.check() == []
    assert not store.needs_optimizing()
    assert store.commit([]) == []
    store.discard([])


def test_more_than_there_is_gives_what_there_is_in_order(shelf: Shelf) -> None:
    shelf.put("river bank\nriver delta\nmountain top")
    assert len(shelf.dense("river", 10_000)) == 3
    hits = shelf.store.search_lexical("river", 2**40)
    assert sorted(shelf.texts(hits)) == ["river bank", "river delta"]
    assert [hit.rank for hit in hits] == [1, 2]


def test_k_below_one_is_refused(shelf: Shelf) -> None:
    for k in (0, -1):
        with pytest.raises(InputError, match="k must be"):
            shelf.dense("x", k)
        with pytest.raises(InputError, match="k must be"):
            shelf.store.search_lexical("x", k)


def test_a_query_without_an_indexed_term_finds_nothing(shelf: Shelf) -> None:
    shelf.put("!!! ...\nthe of\nrain")
    for query in ("", "  \n", "the of and", "!?… —", "zebra"):
        assert shelf.store.search_lexical(query, 5) == [], query


def test_scores_fall_and_ranks_count_from_one(shelf: Shelf) -> None:
    shelf.put("apple\napple pear\napple pear plum\nquince")
    for hits in (shelf.dense("apple"), shelf.store.search_lexical("apple", 10)):
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.stage for hit in shelf.dense("apple")} == {"dense"}
    assert {hit.stage for hit in shelf.store.search_lexical("apple", 10)} == {"bm25"}


def test_ties_come_in_chunk_order_whatever_k_is(shelf: Shelf) -> None:
    tickets = [shelf.stage(make_document("\n".join(["equal line"] * 3), f"toy:{n}")) for n in range(40)]
    shelf.store.commit(tickets)
    # Updates and a merge of segments move points about inside an engine.
    for _ in range(2):
        for n in (0, 1, 2):
            shelf.put("\n".join(["equal line"] * 3), f"toy:{n}")
        for search in (shelf.dense, shelf.store.search_lexical):
            everything = [hit.chunk_id for hit in search("equal", 120)]
            assert len(set(everything)) == len(everything) == 120
            assert [int(chunk.rpartition(".")[2]) for chunk in everything] == [0, 1, 2] * 40
            for k in (1, 2, 7, 20, 77, 119):
                assert [hit.chunk_id for hit in search("equal", k)] == everything[:k]
        shelf.store.optimize()
    before = [hit.chunk_id for hit in shelf.dense("equal", 7)]
    shelf.reopen()
    assert [hit.chunk_id for hit in shelf.dense("equal", 7)] == before


# The dense leg


def test_similarity_is_the_cosine(shelf: Shelf) -> None:
    """Worked by hand: to (1, 0) the angle of (0.9, 0.1) is smaller than that of (5, 5), whose dot product is larger."""
    shelf.put("near\nlong", vectors=[[0.9, 0.1] + [0] * 6, [5, 5] + [0] * 6])
    hits = shelf.store.search_dense(np.array(unit(0), np.float32), 2)
    assert shelf.texts(hits) == ["near", "long"]
    assert hits[0].score == pytest.approx(0.9 / np.sqrt(0.82), abs=1e-6)
    assert hits[1].score == pytest.approx(1 / np.sqrt(2), abs=1e-6)


def test_no_length_of_a_vector_changes_a_score(shelf: Shelf) -> None:
    scales = (1e-30, 1e-4, 1.0, 1e4, 1e30)
    shelf.put("a\nb\nc\nd\ne", vectors=[[scale] * 8 for scale in scales])
    for length in scales:
        hits = shelf.store.search_dense(np.full(8, length, np.float32), 5)
        assert [hit.score for hit in hits] == pytest.approx([1] * 5, abs=1e-6)
        assert all(hit.score <= 1 for hit in hits)


def test_a_query_without_direction_finds_nothing(shelf: Shelf) -> None:
    shelf.put("text")
    for bad in (0.0, np.nan, np.inf):
        assert shelf.store.search_dense(np.full(8, bad, np.float32), 3) == []


def test_a_query_of_another_shape_is_refused(shelf: Shelf) -> None:
    for shape in ((7,), (9,), (1, 8)):
        with pytest.raises(InputError, match="shape"):
            shelf.store.search_dense(np.ones(shape, np.float32), 3)


def test_vectors_come_as_unit_rows_in_the_order_asked(shelf: Shelf) -> None:
    document = shelf.put("a\nb\nc", vectors=[[3.0, 4.0] + [0] * 6, unit(2), [0] * 7 + [-1e-20]])
    ids = [chunk.id for chunk in shelf.store.chunks(document.id)]
    stored = np.array([[0.6, 0.8] + [0] * 6, unit(2), [0] * 7 + [-1.0]], np.float32)
    found = shelf.store.vectors(ids)
    assert (found.dtype, found.shape) == (np.float32, (3, 8))
    np.testing.assert_allclose(found, stored, atol=1e-6)
    order = [2, 0, 0, 1]
    np.testing.assert_array_equal(shelf.store.vectors([ids[n] for n in order]), found[order])
    assert shelf.store.vectors([]).shape == (0, 8)
    # What a search says of a chunk is what its row says.
    query = np.array([1, 2, 3, 0, 0, 0, 0, 1], np.float32)
    for hit in shelf.store.search_dense(query, 3):
        row = shelf.store.vectors([hit.chunk_id])[0]
        assert float(row @ query / np.linalg.norm(query)) == pytest.approx(hit.score, abs=1e-6)


def test_a_chunk_that_is_not_there_has_a_row_of_zeros(shelf: Shelf) -> None:
    document = shelf.put("old", vectors=[unit(1)])
    ticket = shelf.stage(replace(make_document("new"), version=2), [unit(3)])
    old, new = f"{document.id}.1.0", f"{document.id}.2.0"
    strange = ["", ".", "..", "none.1.0", f"{document.id}.1.1", f"{document.id}.1.-1", f"{document.id}.1.{2**40}"]
    assert shelf.store.vectors([old, new]).tolist() == [unit(1), [0.0] * 8]
    shelf.store.commit([ticket])
    assert shelf.store.vectors([old, *strange, new]).tolist() == [[0.0] * 8] * 8 + [unit(3)]


BAD_VECTORS: list[tuple[list[list[float]], str]] = [
    ([unit(0), [0.0] * 8], "zero"),
    ([unit(0), [np.nan] + [0.0] * 7], "NaN"),
    ([unit(0), [np.inf] + [0.0] * 7], "infinity"),
    ([[1.0] * 7, [1.0] * 7], "dimension"),
    ([unit(0)], "match"),
]


def test_a_bad_vector_is_refused_before_anything_is_written(shelf: Shelf) -> None:
    document = make_document("one\ntwo")
    chunks = make_chunks(document)
    ticket = shelf.store.stage(document)
    for vectors, message in BAD_VECTORS:
        with pytest.raises(InputError, match=message):
            shelf.store.stage_chunks(ticket, chunks, ["", ""], np.array(vectors, np.float32))
        assert shelf.store.point_count == 0
    # The ticket is still good.
    shelf.store.stage_chunks(ticket, chunks, ["", ""], ENCODER.encode_passages(["one", "two"]))
    shelf.store.commit([ticket])
    assert shelf.reachable() == {"one", "two"}
    assert shelf.store.check() == []


# The lexical leg


def test_a_rare_term_finds_its_document_however_few_there_are(shelf: Shelf) -> None:
    for n, text in enumerate(["sun in Rome", "rain in Oslo", "snow in Bern"]):
        shelf.put(text, f"toy:{n}")
        hits = shelf.store.search_lexical("Rome", 5)
        assert shelf.texts(hits) == ["sun in Rome"]
        assert all(np.isfinite(hit.score) and hit.score > 0 for hit in hits)


def test_bm25_scores_are_those_of_the_formula(shelf: Shelf) -> None:
    """Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5)), by hand."""
    lines = ["apple apple pear", "apple plum", "quince fig melon lime grape"]
    shelf.put("\n".join(lines))
    lengths = [3, 2, 5]
    idf = np.log(1 + (3 - 2 + 0.5) / (2 + 0.5))

    def score(frequency: int, length: int) -> float:
        return float(idf * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length / np.mean(lengths))))

    hits = shelf.store.search_lexical("apple", 5)
    assert shelf.texts(hits) == lines[:2]
    assert [hit.score for hit in hits] == pytest.approx([score(2, 3), score(1, 2)], rel=1e-3)


def test_a_word_that_the_query_repeats_counts_more_but_not_as_often_as_it_is_said(shelf: Shelf) -> None:
    texts = ["rain falls on Oslo", "sun shines on Rome", "rain and sun, rain and sun", "nothing of the kind"]
    for number, text in enumerate(texts):
        shelf.put(text, f"toy:{number}")

    def scores(query: str, k: int = 10) -> dict[str, float]:
        return {hit.chunk_id: hit.score for hit in shelf.store.search_lexical(query, k)}

    rain, sun, both = scores("rain"), scores("sun"), scores("rain sun")
    assert both == pytest.approx({name: rain.get(name, 0) + sun.get(name, 0) for name in {*rain, *sun}}, rel=1e-5)
    for times in (2, 5, 40):
        weight = 9 * times / (8 + times)
        expected = {name: weight * rain.get(name, 0) + sun.get(name, 0) for name in {*rain, *sun}}
        found = scores("rain " * times + "sun")
        assert found == pytest.approx(expected, rel=1e-5)
        assert list(found.values()) == sorted(found.values(), reverse=True)
    # Fewer wanted is the beginning of more.
    assert list(scores("sun rain rain", 1)) == list(scores("sun rain rain", 10))[:1]
    # Only a stop word is repeated, and a word that is nowhere: neither says anything.
    assert scores("the the the rain") == pytest.approx(rain, rel=1e-5)
    assert scores("zebra zebra rain") == pytest.approx(rain, rel=1e-5)
    assert scores("zebra zebra") == {}


FOUND = [
    ("302", "Section 302 of the Penal Code"),
    ("1973", "the Code of 1973"),
    ("302(2)", "under section 302(2) thereof"),
    ("E1234-XZ", "error E1234-XZ was raised"),
    ("café", "the cafe on the corner"),
    ("CAFE", "Café des Arts"),
    ("東京", "私は東京都に住んでいます"),
    ("हत्या", "धारा ३०२ हत्या"),
    ("302", "धारा ३०२ हत्या"),
    ("Straße", "in der STRASSE"),
    ("Ελλάδα", "η ΕΛΛΆΔΑ σήμερα"),
    ("ﬁnal", "the final word"),
    ("1000", "a fee of 1,000 euros"),
    ("running", "he runs daily"),
]


def test_numbers_codes_accents_and_scripts_are_found(shelf: Shelf) -> None:
    for n, (query, text) in enumerate(FOUND):
        uri = f"toy:{n}"
        shelf.put(f"{text}\nnothing of the kind 7", uri)
        assert shelf.texts(shelf.store.search_lexical(query, 5, {"uri": uri})) == [text], query


def test_the_context_of_a_chunk_is_searched_and_is_not_its_text(shelf: Shelf) -> None:
    document = make_document("It is forbidden.")
    shelf.store.commit([shelf.stage(document, context="Smuggling")])
    (passage,) = shelf.store.passages(shelf.store.search_lexical("smuggling", 5))
    assert passage.chunk.text == "It is forbidden."


def test_a_megabyte_in_one_chunk(shelf: Shelf) -> None:
    text = ("lorem ipsum " * 90_000 + "needle").strip()
    document = shelf.put(text)
    assert shelf.texts(shelf.store.search_lexical("needle", 1)) == [text]
    kept = shelf.store.get_document(document.id)
    assert kept is not None
    assert kept.text == text


def test_a_very_long_query(shelf: Shelf) -> None:
    shelf.put("needle")
    assert len(shelf.store.search_lexical("hay " * 50_000 + "needle", 3)) == 1


# Filters


def test_filters_act_before_the_top_k_on_both_legs(shelf: Shelf) -> None:
    """1,000 chunks, 3 of them tagged, all farther from the query than the rest: exactly those 3, in score order."""
    store = shelf.store
    near = make_document("\n".join(["salary salary salary"] * 997), "toy:near")
    far = make_document("salary and a walk in the woods one\nsalary and hills two\nsalary and lakes three", "toy:far")
    far = replace(far, metadata={"team": "hr"})
    store.commit([shelf.stage(near, [unit(0)] * 997), shelf.stage(far, [unit(1), unit(2), [0.1, 1, 0, 0, 0, 0, 0, 0]])])
    query = np.array(unit(0), np.float32)
    assert all(far.id not in hit.chunk_id for hit in store.search_dense(query, 3))
    for hits in (store.search_dense(query, 3, {"team": "hr"}), store.search_lexical("salary", 3, {"team": "hr"})):
        assert len(hits) == 3
        assert all(hit.chunk_id.startswith(far.id) for hit in hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


FILTERS: list[tuple[str, MetadataValue | Sequence[MetadataValue] | set[str], str]] = [
    ("year", 1973, "a"),
    ("year", "1973", "a"),
    ("year", 1973.0, "a"),
    ("year", [1973, 1999], "ab"),
    ("year", (1973, 1860), "a"),
    ("year", 1860, ""),
    ("year", [], ""),
    ("final", True, "a"),
    ("final", False, "b"),
    ("final", "true", "a"),
    ("rate", 0.25, "a"),
    ("rate", "0.25", "a"),
    ("rate", 2, "b"),
    ("court", "Größtes Gericht — 最高", "a"),
    ("court", {"Größtes Gericht — 最高", "none"}, "a"),
    ("title", "a.txt", "a"),
    ("uri", "toy:b.txt", "b"),
    ("media_type", "text/plain", "ab"),
    ("version", 1, "ab"),
    ("version", 2, ""),
]


def test_typed_values_filter(shelf: Shelf) -> None:
    first = {"year": 1973, "final": True, "rate": 0.25, "court": "Größtes Gericht — 最高"}
    second = {"year": 1999, "final": False, "rate": 2.0, "court": "other"}
    ids = {
        shelf.put("common words", "toy:a.txt", metadata=first).id: "a",
        shelf.put("common words", "toy:b.txt", metadata=second).id: "b",
    }
    for name, value, expected in FILTERS:
        where = {name: value}
        for hits in (shelf.dense("common", 9, where), shelf.store.search_lexical("common", 9, where)):
            assert "".join(sorted(ids[hit.chunk_id.partition(".")[0]] for hit in hits)) == expected, where


def test_all_conditions_must_hold(shelf: Shelf) -> None:
    shelf.put("common", "toy:a", metadata={"year": 1, "team": "hr"})
    shelf.put("common", "toy:b", metadata={"year": 2, "team": "hr"})
    assert len(shelf.dense("common", 9, {"team": "hr"})) == 2
    assert len(shelf.dense("common", 9, {"team": "hr", "year": 2})) == 1
    assert shelf.store.search_lexical("common", 9, {"team": "it", "year": 2}) == []


def test_field_and_value_cannot_be_confused(shelf: Shelf) -> None:
    """A right granted by ``team = "x=hr"`` must not be had by a field that is called ``team=x``."""
    good = shelf.put("common", "toy:a", metadata={"team": "x=hr"})
    shelf.put("common", "toy:b", metadata={"team=x": "hr"})
    for hits in (shelf.dense("common", 9, {"team": "x=hr"}), shelf.store.search_lexical("common", 9, {"team": "x=hr"})):
        assert [hit.chunk_id for hit in hits] == [f"{good.id}.1.0"]


def test_a_page_filters_chunks_not_documents(shelf: Shelf) -> None:
    from pincite.types import Page

    document = make_document("common one\ncommon two", pages=(Page(1, 0, 11), Page(2, 11, 21)))
    shelf.store.commit([shelf.stage(document)])
    assert shelf.texts(shelf.store.search_lexical("common", 5, {"page": 2})) == ["common two"]


def test_an_unknown_field_is_an_error_that_names_the_nearest(shelf: Shelf) -> None:
    shelf.put("text", metadata={"team": "hr"})
    for search in (shelf.dense, shelf.store.search_lexical):
        with pytest.raises(InputError, match=r"'teem'.*'team'"):
            search("text", 3, {"teem": "hr"})
        with pytest.raises(InputError, match="media_type"):
            search("text", 3, {"zzz": "hr"})


def test_a_value_that_cannot_be_compared_is_an_error(shelf: Shelf) -> None:
    shelf.put("text", metadata={"team": "hr"})
    for value in (None, object(), {"a": 1}, [None], [["hr"]], 1j):
        with pytest.raises(InputError, match="'team'"):
            shelf.store.search_lexical("text", 3, {"team": value})  # type: ignore[dict-item]


# Versions


def test_a_shorter_version_leaves_nothing_of_the_longer_one(shelf: Shelf) -> None:
    old = shelf.put("\n".join(f"the limit is {n} oldword" for n in range(7)))
    new = shelf.put("the limit is 9\nnewword\nend")
    assert (old.version, new.version) == (1, 2)
    assert shelf.store.search_lexical("oldword", 99) == []
    assert {hit.chunk_id.split(".")[1] for hit in shelf.dense("the limit is 5 oldword", 99)} == {"2"}
    assert shelf.reachable() == {"the limit is 9", "newword", "end"}
    assert shelf.store.get_document(old.id, 1) is None
    assert shelf.store.passages([Hit(f"{old.id}.1.0", 1.0, 1, "dense")]) == []
    assert shelf.store.point_count == 3
    assert shelf.store.check() == []
    shelf.reopen()
    assert shelf.reachable() == {"the limit is 9", "newword", "end"}


def test_one_chunk_updated_removed_and_added_again(shelf: Shelf) -> None:
    """After each step: the exact vector, the exact term, the listing and the count agree."""

    def look() -> tuple[list[str], list[str], list[str], int]:
        return (
            shelf.texts(shelf.dense("secret alpha", 5)),
            shelf.texts(shelf.store.search_lexical("secret", 5)),
            [chunk.text for document in shelf.store.documents() for chunk in shelf.store.chunks(document.id)],
            shelf.store.point_count,
        )

    document = shelf.put("secret alpha")
    assert look() == (["secret alpha"], ["secret alpha"], ["secret alpha"], 1)
    shelf.put("secret beta")
    assert look() == (["secret beta"], ["secret beta"], ["secret beta"], 1)
    assert shelf.store.remove(document.id)
    assert look() == ([], [], [], 0)
    assert not shelf.store.remove(document.id)
    again = shelf.put("secret alpha")
    assert again.version == 3
    assert look() == (["secret alpha"], ["secret alpha"], ["secret alpha"], 1)
    shelf.reopen()
    assert look() == (["secret alpha"], ["secret alpha"], ["secret alpha"], 1)
    assert shelf.store.check() == []


def test_numbers_are_never_used_again(shelf: Shelf) -> None:
    document = shelf.put("one")
    shelf.store.remove(document.id)
    shelf.reopen()
    assert shelf.store.next_version(document.id) == 2
    with pytest.raises(InputError, match="version 1"):
        shelf.store.stage(document)
    ticket = shelf.stage(replace(document, version=2))
    shelf.store.discard([ticket])
    assert shelf.store.next_version(document.id) == 3
    # A copy of another index may leave numbers out.
    shelf.store.commit([shelf.stage(replace(document, version=9))])
    assert shelf.store.next_version(document.id) == 10


def test_what_is_staged_is_invisible(shelf: Shelf) -> None:
    old = shelf.put("old words")
    new = replace(make_document("new words\nmore words"), id=old.id, uri=old.uri, version=2, metadata={"fresh": True})
    ticket = shelf.stage(new)
    assert shelf.texts(shelf.dense("new words", 9)) == ["old words"]
    assert shelf.texts(shelf.store.search_lexical("words", 9)) == ["old words"]
    # Nor does it take the place of what may be seen.
    assert shelf.texts(shelf.dense("new words", 1)) == ["old words"]
    assert shelf.texts(shelf.store.search_lexical("new words", 1)) == ["old words"]
    assert shelf.store.passages([Hit(f"{old.id}.2.0", 1.0, 1, "dense")]) == []
    assert [chunk.text for chunk in shelf.store.chunks(old.id)] == ["old words"]
    assert [document.version for document in shelf.store.documents()] == [1]
    assert shelf.store.get_document(old.id, 2) is None
    found = shelf.store.find(uri=old.uri)
    assert found is not None
    assert found.version == 1
    assert shelf.store.search_lexical("words", 9, {"version": 2}) == []
    assert shelf.store.check() == []
    (committed,) = shelf.store.commit([ticket])
    assert (committed.version, committed.chunks, committed.metadata) == (2, 2, {"fresh": True})
    assert shelf.reachable() == {"new words", "more words"}


def test_staged_and_never_committed_is_gone_after_opening(shelf: Shelf) -> None:
    shelf.put("kept", "toy:kept")
    shelf.stage(make_document("lost", "toy:lost"))
    shelf.reopen()
    assert shelf.reachable() == {"kept"}
    assert shelf.store.point_count == 1
    assert shelf.store.check() == []


def test_discard(shelf: Shelf) -> None:
    ticket = shelf.stage(make_document("one\ntwo"))
    shelf.store.discard([ticket])
    assert shelf.store.point_count == 0
    assert shelf.reachable() == set()
    shelf.store.discard([ticket])
    with pytest.raises(StoreError, match="not staged"):
        shelf.store.commit([ticket])
    with pytest.raises(StoreError, match="not staged"):
        shelf.store.stage_chunks(ticket, make_chunks(make_document()), ["", ""], np.ones((2, 8), np.float32))


def test_discarding_what_was_committed_changes_nothing(shelf: Shelf) -> None:
    """Who is interrupted just after a commit discards what may be committed: that must not lose it."""
    ticket = shelf.stage(make_document("precious"))
    shelf.store.commit([ticket])
    shelf.store.discard([ticket])
    assert shelf.reachable() == {"precious"}
    shelf.reopen()
    assert shelf.reachable() == {"precious"}


def test_several_tickets_at_one_moment(shelf: Shelf) -> None:
    documents = [make_document(f"text {n}", f"toy:{n}") for n in range(5)]
    tickets = [shelf.stage(document) for document in documents]
    committed = shelf.store.commit(tickets)
    assert [each.id for each in committed] == [document.id for document in documents]
    assert len(shelf.reachable()) == 5


def test_one_bad_ticket_and_nothing_is_committed(shelf: Shelf) -> None:
    shelf.put("old", "toy:a")
    good = shelf.stage(replace(make_document("new", "toy:a"), version=2))
    with pytest.raises(StoreError, match="not staged"):
        shelf.store.commit([good, 9999])
    assert shelf.reachable() == {"old"}
    with pytest.raises(StoreError, match="not staged"):
        shelf.store.commit([good, good])
    assert shelf.reachable() == {"old"}
    shelf.store.commit([good])
    assert shelf.reachable() == {"new"}


def test_staging_twice_keeps_the_second(shelf: Shelf) -> None:
    first = shelf.stage(make_document("first attempt"))
    second_document = replace(make_document("second attempt"), version=2)
    second = shelf.stage(second_document)
    with pytest.raises(StoreError, match="not staged"):
        shelf.store.stage_chunks(first, make_chunks(make_document("more")), [""], np.ones((1, 8), np.float32))
    with pytest.raises(StoreError, match="not staged"):
        shelf.store.commit([first])
    shelf.store.commit([second])
    assert shelf.reachable() == {"second attempt"}
    assert shelf.store.point_count == 1
    assert shelf.store.check() == []


def test_chunks_in_several_calls(shelf: Shelf) -> None:
    document = make_document("\n".join(f"line {n}" for n in range(1, 8)))
    chunks = make_chunks(document)
    ticket = shelf.store.stage(document)
    shelf.store.stage_chunks(ticket, [], [], np.zeros((0, 8), np.float32))
    for start in range(0, 7, 3):
        part = chunks[start : start + 3]
        shelf.store.stage_chunks(ticket, part, [""] * len(part), ENCODER.encode_passages([c.text for c in part]))
    (stored,) = shelf.store.commit([ticket])
    assert stored.chunks == 7
    assert shelf.store.chunks(document.id) == chunks


def test_chunks_that_are_not_of_the_ticket_are_refused(shelf: Shelf) -> None:
    document = make_document("one")
    (chunk,) = make_chunks(document)
    ticket = shelf.store.stage(document)
    for wrong in (
        replace(chunk, document_id="other"),
        replace(chunk, version=2),
        replace(chunk, ordinal=-1),
        replace(chunk, ordinal=1 << 24),
        replace(chunk, id="another name"),
    ):
        with pytest.raises(InputError):
            shelf.store.stage_chunks(ticket, [wrong], [""], np.ones((1, 8), np.float32))
    with pytest.raises(InputError):
        shelf.store.stage_chunks(ticket, [chunk, chunk], ["", ""], np.ones((2, 8), np.float32))
    assert shelf.store.point_count == 0


def test_text_that_is_no_text_is_refused(shelf: Shelf) -> None:
    for field in ("id", "uri", "title", "text"):
        document = replace(make_document(), **{field: "bad \udcff"})  # type: ignore[arg-type]
        with pytest.raises(InputError, match="surrogate"):
            shelf.store.stage(document)
    assert shelf.store.find(uri="bad \udcff") is None
    assert shelf.store.find(document_id="bad \udcff") is None
    assert shelf.store.documents() == []


def test_metadata_that_cannot_be_kept_is_refused(shelf: Shelf) -> None:
    for value in (["a"], None, {"a": 1}, "bad \udcff", np.int64(3)):
        with pytest.raises(InputError, match="'team'"):
            shelf.store.stage(make_document(metadata={"team": value}))  # type: ignore[dict-item]
    assert shelf.store.next_version(make_document().id) == 1


# What comes back


def test_everything_comes_back_as_it_was(shelf: Shelf) -> None:
    from pincite.types import Heading, Page

    text = "# §1 Größe\u2028\n𝕿𝖊𝖝𝖙 👩‍👩‍👧 हिन्दी العربية\x00\n第三条"
    document = Document(
        id="日本.1-ä",
        text=text,
        title="Título «ß» \x01",
        uri="/tmp/with space/ñandú.md",
        media_type="text/markdown",
        content_hash="ff" * 32,
        metadata={"naïve": "ça", "n": 2, "x": 2.0, "b": True, "big": 2**60, "text": "true", "nan-like": "NaN"},
        pages=(Page(1, 0, 5, "xii"), Page(2, 5, len(text))),
        headings=(Heading(1, "§1 Größe", 0, 10),),
        warnings=("page 3: no text layer",),
    )
    chunks = [
        replace(c, headings=("§1 Größe",), before="| a |\n", after="\n```", parent=(0, 4), page=2)
        for c in make_chunks(document)
    ]
    store = shelf.store
    ticket = store.stage(document, "recipe x", "2024-01-02T03:04:05.000+00:00")
    store.stage_chunks(ticket, chunks, [""] * len(chunks), ENCODER.encode_passages([c.text for c in chunks]))
    (stored,) = store.commit([ticket])
    for reopened in (False, True):
        if reopened:
            shelf.reopen()
            store = shelf.store
        back = store.get_document(document.id)
        assert back == document
        assert {name: type(value) for name, value in back.metadata.items()} == {
            name: type(value) for name, value in document.metadata.items()
        }
        assert store.get_document(document.id, 1) == document
        assert store.get_document(document.id, 7) is None
        assert store.chunks(document.id) == chunks
        assert store.documents() == [stored]
        assert store.find(uri=document.uri) == store.find(document_id=document.id) == stored
        passages = store.passages([Hit(chunk.id, 0.5, 1, "dense") for chunk in reversed(chunks)])
        assert [passage.chunk for passage in passages] == chunks[::-1]
        assert all(p.title == document.title and p.uri == document.uri for p in passages)
        assert all(p.metadata == document.metadata for p in passages)
    assert stored == StoredDocument(
        id=document.id,
        version=1,
        title=document.title,
        uri=document.uri,
        media_type="text/markdown",
        content_hash="ff" * 32,
        chunks=len(chunks),
        characters=len(text),
        added_at="2024-01-02T03:04:05.000+00:00",
        recipe="recipe x",
        metadata=document.metadata,
        warnings=document.warnings,
        source=document.uri,
    )


def test_hits_that_name_no_chunk_are_left_out(shelf: Shelf) -> None:
    document = shelf.put("text")
    names = ["x", "", "a.b.c", "{id}.1.x", "{id}.1.99", "{id}.2.0", "{id}.1.-1", "{id}.1.99999999", "{id}.1.²"]
    hits = [Hit(name.format(id=document.id), 1.0, 1, "dense") for name in names]
    assert shelf.texts([*hits, Hit(f"{document.id}.1.0", 0.5, 2, "dense")]) == ["text"]


def test_documents_come_by_address(shelf: Shelf) -> None:
    for name in ("c", "a", "b"):
        shelf.put("text", f"toy:{name}")
    assert [document.uri for document in shelf.store.documents()] == ["toy:a", "toy:b", "toy:c"]


def test_closed_and_opened_it_gives_the_same(shelf: Shelf) -> None:
    for n in range(20):
        shelf.put("\n".join(f"word{n} common {m}" for m in range(4)), f"toy:{n}", metadata={"n": n})
    shelf.put("changed common", "toy:3")
    shelf.store.remove(shelf.store.documents()[0].id)

    def look() -> list[object]:
        return [
            shelf.dense("word5 common 2", 50),
            shelf.store.search_lexical("word5 common", 50),
            shelf.store.search_lexical("common", 50, {"n": [4, 5]}),
            shelf.store.documents(),
            shelf.store.header,
        ]

    before = look()
    shelf.reopen()
    assert look() == before
    assert shelf.store.check() == []


def test_the_header_comes_back(shelf: Shelf, tmp_path: Path) -> None:
    identity = replace(ENCODER.identity, query_prefix="Frage: ", passage_prefix="\n«»")
    header = StoreHeader(identity, ((0.1, -2.5e-9), (1.0, 3.0)), "german", "2024-01-02T03:04:05+00:00")
    folder = tmp_path / "ordner mit ä und 空白"
    shelf.kind.create(folder, header).close()
    store = shelf.kind.open(folder)
    assert store.header == header
    store.close()


def test_other_languages_can_be_indexed(shelf: Shelf, tmp_path: Path) -> None:
    assert shelf.store.header.language in LANGUAGES
    for language in LANGUAGES[::4]:
        store = shelf.kind.create(tmp_path / language, toy_header(ENCODER, language))
        shelf_of_it = Shelf(shelf.kind, tmp_path / language, store)
        shelf_of_it.put("Zyx 302 Привет ΓΕΙΑ sözcük")
        for query in ("zyx", "302", "привет", "γεια", "SÖZCÜK"):
            assert len(store.search_lexical(query, 3)) == 1, (language, query)
        store.close()


def test_an_unknown_language_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="klingon"):
        shelf.kind.create(tmp_path / "other", toy_header(language="klingon"))


def test_making_an_index_where_one_is_is_refused(shelf: Shelf) -> None:
    shelf.put("kept")
    shelf.store.close()
    with pytest.raises(InputError, match="already"):
        shelf.kind.create(shelf.folder, toy_header())
    shelf.reopen()
    assert shelf.reachable() == {"kept"}


def test_opening_nothing_says_how_to_begin(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pincite add"):
        shelf.kind.open(tmp_path / "nowhere")


def test_a_closed_store_says_so(shelf: Shelf) -> None:
    document = shelf.put("text")
    store = shelf.store
    store.close()
    store.close()
    calls: list[Callable[[], object]] = [
        store.documents,
        store.check,
        store.optimize,
        lambda: store.find(uri="x"),
        lambda: store.get_document(document.id),
        lambda: store.chunks(document.id),
        lambda: store.passages([]),
        lambda: store.next_version("x"),
        lambda: store.stage(make_document()),
        lambda: store.commit([]),
        lambda: store.discard([]),
        lambda: store.remove(document.id),
        lambda: shelf.dense("text"),
        lambda: store.search_lexical("text", 3),
        lambda: store.point_count,
    ]
    for call in calls:
        with pytest.raises(StoreError):
            call()


# Threads


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_store_may_be_closed_by_another_thread(shelf: Shelf) -> None:
    shelf.put("text")
    in_thread(shelf.store.close).join(10)
    shelf.store = shelf.kind.open(shelf.folder)
    assert shelf.reachable() == {"text"}


@pytest.mark.parametrize("change", ["commit", "remove"])
def test_reading_sees_one_state(shelf: Shelf, change: str) -> None:
    old = shelf.put("old common")
    ticket = shelf.stage(replace(make_document("new common"), version=2))
    done = threading.Event()

    def write() -> None:
        shelf.store.commit([ticket]) if change == "commit" else shelf.store.remove(old.id)
        done.set()

    def look() -> list[object]:
        document = shelf.store.get_document(old.id)
        return [
            shelf.texts(shelf.store.search_lexical("common", 5)),
            shelf.texts(shelf.dense("common", 5)),
            [(d.id, d.version) for d in shelf.store.documents()],
            [c.text for c in shelf.store.chunks(old.id)],
            document and document.text,
            shelf.store.find(uri=old.uri),
        ]

    with shelf.store.reading():
        before = look()
        thread = in_thread(write)
        for _ in range(5):
            assert look() == before
            assert not done.wait(0.03)
    thread.join(10)
    assert done.is_set()
    assert look() != before
    after = ["new common"] if change == "commit" else []
    assert shelf.texts(shelf.store.search_lexical("common", 5)) == after


def test_a_thread_that_reads_cannot_change_the_store(shelf: Shelf) -> None:
    """It would wait for itself. It gets an error before anything has happened, also while another thread waits."""
    document = shelf.put("old")
    ticket = shelf.stage(replace(make_document("new"), version=2))
    other = shelf.stage(make_document("other", "toy:other"))
    store = shelf.store
    calls: list[Callable[[], object]] = [
        lambda: store.commit([ticket]),
        lambda: store.remove(document.id),
        lambda: store.stage(make_document("x", "toy:x")),
        lambda: store.discard([ticket]),
        store.check,
        store.optimize,
        store.close,
    ]
    with store.reading(), store.reading():
        for call in calls:
            with pytest.raises(StoreError, match="reading"):
                call()
        waiting = in_thread(lambda: store.commit([other]))
        time.sleep(0.05)
        for call in calls:
            with pytest.raises(StoreError, match="reading"):
                call()
        assert shelf.reachable() == {"old"}
    waiting.join(10)
    assert not waiting.is_alive()
    assert store.next_version(make_document("x", "toy:x").id) == 1
    store.commit([ticket])
    assert shelf.reachable() == {"new", "other"}
    assert store.check() == []


def test_readers_always_see_exactly_one_version(shelf: Shelf) -> None:
    """Four readers, one writer. Every look finds every document once: never twice, never not at all."""
    count = 6
    for n in range(count):
        shelf.put(f"stable name{n} v1\nstable tail{n} v1", f"toy:{n}")
    ids = [document.id for document in shelf.store.documents()]
    stop = threading.Event()
    problems: list[str] = []
    looks = [0] * 4
    where = shelf.store

    def read(reader: int) -> None:
        try:
            while not stop.is_set():
                with where.reading():
                    legs = {
                        "dense": where.search_dense(np.ones(8, np.float32), 100),
                        "bm25": where.search_lexical("stable", 100),
                    }
                    for leg, hits in legs.items():
                        passages = where.passages(hits)
                        versions: dict[str, set[int]] = {}
                        for passage in passages:
                            versions.setdefault(passage.chunk.document_id, set()).add(passage.chunk.version)
                        if len(hits) != 2 * count or len(passages) != 2 * count:
                            problems.append(f"{leg}: {len(hits)} hits, {len(passages)} passages")
                        if set(versions) != set(ids) or any(len(found) != 1 for found in versions.values()):
                            problems.append(f"{leg}: {versions}")
                        listed = {document.id: {document.version} for document in where.documents()}
                        if listed != versions:
                            problems.append(f"{leg}: {versions} but listed {listed}")
                # One call alone, outside `reading`, sees one state as well.
                single = where.search_lexical("stable", 100)
                if len(single) != 2 * count:
                    problems.append(f"alone: {len(single)} hits")
                looks[reader] += 1
        except BaseException as error:
            problems.append(repr(error))
            raise

    threads = [in_thread(lambda n=n: read(n)) for n in range(4)]  # type: ignore[misc]
    until = time.monotonic() + 30
    writes = 0
    while (writes < 12 or min(looks) < 5) and time.monotonic() < until and not problems:
        n = writes % count
        shelf.put(f"stable name{n} v{writes}\nstable tail{n} v{writes}", f"toy:{n}")
        writes += 1
    stop.set()
    for thread in threads:
        thread.join(10)
    assert problems == []
    assert writes >= 12
    assert min(looks) >= 5
    assert shelf.store.check() == []


# Vector indexes: the same answers, only sooner

DIMENSION = 64
DOCUMENTS, LINES = 20, 60
TOTAL = DOCUMENTS * LINES

#: The share of chunks that a search by codes or a graph may miss when asked for their own vector. Which it misses is
#: chance: a graph is built by several threads. With a floor of 0.95 for ten results, one in a hundred is generous.
MAY_MISS = 0.01

#: What each kind is asked with, in a size where it is really built.
INDEXES = {
    kind: IndexOptions(kind, exact_until=400, recall_floor=0.95)
    for kind in ("exact", "hnsw", "int8", "pq", "binary", "ivfpq")
}


def clustered(count: int, seed: int) -> np.ndarray:
    """Unit vectors around 40 centres, no two alike."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(40, DIMENSION))
    made = centres[random.integers(0, 40, count)] + 0.7 * random.normal(size=(count, DIMENSION))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


class Large:
    """A store with more than a thousand chunks, and a plain array of the same vectors beside it."""

    def __init__(self, kind: type[Kind], folder: Path, options: IndexOptions) -> None:
        self.kind, self.folder, self.options = kind, folder, options
        self.store = kind.open(folder, index=options)
        self.vectors: dict[str, np.ndarray] = {}
        for document in self.store.documents():
            names = [f"{document.id}.{document.version}.{n}" for n in range(document.chunks)]
            self.vectors.update(zip(names, self.store.vectors(names), strict=True))

    def put(self, uri: str, vectors: np.ndarray, metadata: Mapping[str, MetadataValue] | None = None) -> list[str]:
        document = make_document("\n".join(f"line {n}" for n in range(len(vectors))), uri, metadata=metadata)
        document = replace(document, version=self.store.next_version(document.id))
        ticket = self.store.stage(document)
        chunks = make_chunks(document)
        self.store.stage_chunks(ticket, chunks, [""] * len(chunks), vectors)
        self.store.commit([ticket])
        self.vectors = {n: v for n, v in self.vectors.items() if not n.startswith(f"{document.id}.")}
        self.vectors.update(zip([chunk.id for chunk in chunks], vectors, strict=True))
        return [chunk.id for chunk in chunks]

    def remove(self, document_id: str) -> None:
        assert self.store.remove(document_id)
        self.vectors = {n: v for n, v in self.vectors.items() if not n.startswith(f"{document_id}.")}

    def truth(self, query: np.ndarray, k: int) -> list[str]:
        """The k nearest by plain arithmetic."""
        names = list(self.vectors)
        scores = np.array([self.vectors[name] for name in names]) @ query
        return [names[n] for n in np.argsort(-scores, kind="stable")[:k]]

    def recall(self, count: int = 60) -> float:
        queries = clustered(count, seed=99)
        found = [{hit.chunk_id for hit in self.store.search_dense(query, 10)} for query in queries]
        return float(np.mean([len(a & set(self.truth(q, 10))) / 10 for a, q in zip(found, queries, strict=True)]))

    def lost(self, *, exact: bool = False) -> list[str]:
        """Chunks that are not the best answer to their own vector, nor tie with it."""
        return [
            name
            for name, vector in self.vectors.items()
            if (best := self.store.search_dense(vector, 1, exact=exact)[0]).chunk_id != name and best.score < 1 - 1e-6
        ]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,200 chunks, nothing built: few enough that every kind is made quickly, enough for codes to miss some."""
    folder = tmp_path_factory.mktemp("filled") / "index"
    KINDS["edge"].create(folder, toy_header(ToyEncoder(DIMENSION))).close()
    large = Large(KINDS["edge"], folder, IndexOptions())
    for n in range(DOCUMENTS):
        large.put(f"toy:{n}", clustered(LINES, seed=n))
    large.store.close()
    return folder


@pytest.fixture(scope="module", params=INDEXES)
def optimized(request: pytest.FixtureRequest, filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the vector index of each kind, made once."""
    folder = tmp_path_factory.mktemp("large") / request.param
    copy_index(filled, folder)
    with KINDS["edge"].open(folder, index=INDEXES[request.param]) as store:
        assert store.needs_optimizing() == (request.param != "exact")
        assert store.optimize()
        assert not store.needs_optimizing()
        assert not store.optimize()
    return folder


@pytest.fixture
def large(optimized: Path, tmp_path: Path) -> Iterator[Large]:
    folder = tmp_path / "index"
    copy_index(optimized, folder)
    large = Large(KINDS["edge"], folder, INDEXES[optimized.name])
    yield large
    large.store.close()


def test_an_index_finds_what_arithmetic_finds(large: Large) -> None:
    store, kind = large.store, large.options.kind
    report = store.index_report()
    assert (report.kind, report.points) == (kind, TOTAL)
    assert report.notes == ()
    if kind == "exact":
        assert (report.search, report.indexed, report.recall) == ("exact (recall 1)", 0, None)
        assert store.measure_recall(20) is None
    else:
        assert report.indexed == TOTAL
        assert report.search != "exact (recall 1)"
        assert report.beam
        assert report.recall is not None
        assert report.recall.recall >= 0.95
        assert report.recall.queries == 300
        measured = store.measure_recall(50, seed=3)
        assert measured is not None
        assert (measured.queries, measured.k, measured.points) == (50, 10, TOTAL)
        assert 0.8 <= measured.low <= measured.recall <= measured.high <= 1
    assert large.recall() >= (1 if kind == "exact" else 0.95)
    for query in clustered(20, seed=7):
        assert [hit.chunk_id for hit in store.search_dense(query, 10, exact=True)] == large.truth(query, 10)


def test_scores_are_those_of_the_vectors_not_of_codes(large: Large) -> None:
    for query in clustered(20, seed=5):
        hits = large.store.search_dense(query * 3, 20)
        assert [hit.score for hit in hits] == pytest.approx([large.vectors[h.chunk_id] @ query for h in hits], abs=1e-5)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_more_than_the_beam_or_the_index_gives_all_there_is(large: Large) -> None:
    query = clustered(1, seed=1)[0]
    for k in (500, TOTAL // 2, TOTAL - 1, TOTAL, TOTAL + 1, 10_000, 2**40):
        hits = large.store.search_dense(query, k)
        assert len(hits) == len({hit.chunk_id for hit in hits}) == min(k, TOTAL)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    large.remove(large.store.documents()[0].id)
    large.put("toy:late", clustered(7, seed=77))
    left = TOTAL - LINES + 7
    for k in (1, 50, left - 1, left, left + 1, 10_000):
        assert len(large.store.search_dense(query, k)) == min(k, left)


def test_filters_act_before_the_top_k_in_every_index(large: Large) -> None:
    query = clustered(1, seed=1)[0]
    worst = [-query, -query + 0.1 * clustered(1, 2)[0], -query + 0.2 * clustered(1, 3)[0]]
    far = large.put("toy:far", np.array([v / np.linalg.norm(v) for v in worst], np.float32), {"team": "hr"})
    for _ in range(2):  # outside the index, and in it
        hits = large.store.search_dense(query, 3, {"team": "hr"})
        assert [hit.chunk_id for hit in hits] == [name for name in large.truth(query, 9999) if name in far]
        some = large.store.search_dense(query, 10, {"uri": ["toy:3", "toy:4"]})
        ids = {each.id for each in large.store.documents() if each.uri in ("toy:3", "toy:4")}
        wanted = [name for name in large.truth(query, 9999) if name.partition(".")[0] in ids][:10]
        assert [hit.chunk_id for hit in some] == wanted
        large.store.optimize()


def test_what_changes_after_the_build_is_seen_at_once(large: Large) -> None:
    fresh = clustered(5, seed=500)
    assert large.store.search_dense(fresh[0], 1)[0].chunk_id in large.vectors  # what it keeps of the index is old now
    names = large.put("toy:fresh", fresh)
    assert [large.store.search_dense(vector, 1)[0].chunk_id for vector in fresh] == names
    old = large.store.documents()[3]
    lines = [f"{old.id}.1.{n}" for n in range(LINES)]
    gone = large.store.vectors(lines)
    large.remove(old.id)
    for vector in gone[:20]:
        hits = large.store.search_dense(vector, 200)
        assert len(hits) == 200
        assert not {hit.chunk_id for hit in hits} & set(lines)
    ticket = large.store.stage(make_document("a", "toy:staged"))
    large.store.stage_chunks(ticket, make_chunks(make_document("a", "toy:staged")), [""], fresh[:1])
    assert large.store.search_dense(fresh[0], 2)[0].chunk_id == names[0]
    assert all(hit.chunk_id in large.vectors for hit in large.store.search_dense(fresh[0], 5))
    assert large.store.check() == []


def test_every_vector_finds_itself_after_half_were_deleted_and_put_back(large: Large) -> None:
    """Before the index is built anew, after it, and after opening."""
    for n, document in enumerate(large.store.documents()):
        if n % 2:
            vectors = large.store.vectors([f"{document.id}.1.{line}" for line in range(LINES)])
            large.remove(document.id)
            large.put(document.uri, vectors)
    assert large.lost(exact=True) == []
    assert large.recall() >= 0.9
    if large.options.kind != "exact":
        assert len(large.lost()) <= MAY_MISS * TOTAL
        large.store.optimize()
        report = large.store.index_report()
        assert report.indexed >= TOTAL / 2
        assert large.recall() >= 0.95
        assert len(large.lost()) <= MAY_MISS * TOTAL
    large.store.close()
    large.store = large.kind.open(large.folder, index=large.options)
    assert large.recall() >= 0.95
    assert large.lost(exact=True) == []
    assert large.store.check() == []


def test_another_kind_takes_the_place_of_the_one_that_was_built(filled: Path, tmp_path: Path) -> None:
    """Through all of them and back, without losing a chunk."""
    folder = tmp_path / "index"
    copy_index(filled, folder)
    for kind in ("hnsw", "ivfpq", "exact", "int8"):
        large = Large(KINDS["edge"], folder, INDEXES[kind])
        assert large.store.optimize(), kind
        assert large.store.index_report().notes == (), kind
        assert len(large.vectors) == large.store.point_count == TOTAL
        assert large.recall(20) >= 0.95
        assert large.store.check() == []
        assert len(large.store.search_lexical("line", 10_000)) == TOTAL
        large.store.close()
        assert len(list(folder.glob("points-*"))) == 1
        assert len(list(folder.glob("ivfpq-*"))) == (kind == "ivfpq")
