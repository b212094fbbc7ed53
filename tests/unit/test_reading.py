from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.chunkers.parent_child import ParentChildChunker
from pincite.chunkers.sentence_window import SentenceWindowChunker
from pincite.chunkers.structure import StructureChunker
from pincite.chunkers.window import WindowChunker
from pincite.errors import InputError
from pincite.protocols import Chunker
from pincite.reading import DocumentOf, arrange, parts_found, widen
from pincite.types import Chunk, Document, Hit, Page, Passage
from toys_text import ToyWords, text_document

TEXT = "One two three four. " * 30


def library(*documents: Document) -> DocumentOf:
    kept = {(document.id, document.version): document for document in documents}
    return lambda document_id, version: kept.get((document_id, version))


def span(document: Document, start: int, end: int, **more: object) -> Chunk:
    text = document.text[start:end]
    base = Chunk(f"{document.id}.{document.version}.{start}", document.id, document.version, text, start, end, start)
    return replace(base, page=document.page_at(start), headings=document.heading_path(start), **more)


def found(*chunks: Chunk) -> list[Passage]:
    return [Passage(chunk, "t", "u", Hit(chunk.id, 1 / rank, rank, "fused")) for rank, chunk in enumerate(chunks, 1)]


def spans(passages: Sequence[Passage]) -> list[tuple[int, int]]:
    return [(passage.chunk.start, passage.chunk.end) for passage in passages]


# Widening


def test_a_passage_is_read_in_its_parent() -> None:
    text = "# A\n\nFirst words here.\n\n# B\n\nRefunds are given. Not for sale items. End."
    document = replace(text_document(text), pages=(Page(1, 0, 25), Page(2, 26, len(text))))
    at = text.index("Not for")
    chunk = span(document, at, at + 19, parent=(text.index("# B"), len(text)), before="x", after="y")
    (passage,) = found(chunk)
    wide = widen(passage, library(document))
    assert wide.chunk.text == "# B\n\nRefunds are given. Not for sale items. End."
    assert wide.found == ((at, at + 19),)
    assert (wide.chunk.id, wide.chunk.page, wide.chunk.headings) == (
        chunk.id,
        document.page_at(text.index("# B")),
        ("B",),
    )
    assert (wide.chunk.before, wide.chunk.after, wide.chunk.parent) == ("", "", None)
    assert (wide.hit, wide.legs) == (passage.hit, passage.legs)
    assert widen(wide, library(document)) == wide


def test_a_passage_whose_document_is_gone_or_changed_stays_as_it_is() -> None:
    document = text_document(TEXT)
    (passage,) = found(span(document, 20, 39, parent=(0, 59)))
    assert widen(passage, library()) == passage
    assert widen(passage, library(replace(document, text="x" * 900))) == passage
    assert arrange([passage], k=3, document_of=library(), merge=500) == ((passage,), ())
    (plain,) = found(span(document, 20, 39))
    assert widen(plain, library(document)) is plain


def test_a_parent_that_begins_in_a_table_or_in_code_is_read_under_its_header() -> None:
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {i} | x |" for i in range(20))
    code = "```py\n" + "\n".join(f"v{i} = 1" for i in range(20)) + "\n```"
    text = f"{table}\n\n{code}"
    document = text_document(text)
    start, end = text.index("| 7 |"), text.index("v5 =") + 6
    passage = widen(found(span(document, start, start + 9, parent=(start, end)))[0], library(document))
    assert passage.chunk.before == "| a | b |\n|---|---|\n"
    assert passage.chunk.after == "\n```"
    assert passage.chunk.text == text[start:end]


# Merging


def test_neighbours_become_one_passage_in_the_place_of_the_best() -> None:
    document, other = text_document(TEXT), text_document("Else. " * 9, id="e")
    a, b, c = span(document, 0, 19), span(document, 20, 39), span(document, 60, 79)
    e = span(other, 0, 5)
    passages = found(e, b, c, a)
    merged, notes = arrange(passages, k=9, document_of=library(document, other), merge=500)
    assert notes == ()
    assert spans(merged) == [(0, 5), (0, 39), (60, 79)]
    assert merged[1].hit == passages[1].hit
    assert merged[1].chunk.id == b.id
    assert merged[1].found == ((0, 19), (20, 39))
    assert [each.found for each in merged[::2]] == [(), ()]


def test_one_that_fills_the_gap_joins_all_three() -> None:
    document = text_document(TEXT)
    a, b, c = (span(document, at, at + 19) for at in (0, 20, 40))
    merged, _ = arrange(found(a, c, b), k=9, document_of=library(document), merge=500)
    assert spans(merged) == [(0, 59)]
    assert merged[0].found == ((0, 19), (20, 39), (40, 59))
    assert merged[0].hit.chunk_id == a.id


def test_what_joined_counts_once_and_goes_on_joining() -> None:
    document = text_document(TEXT)
    chunks = [span(document, at, at + 19) for at in (0, 40, 20, 60, 300, 80)]
    read, notes = arrange(found(*chunks), k=9, document_of=library(document), merge=500, per_document=2)
    assert spans(read) == [(0, 99), (300, 319)]
    assert notes == ()


def test_one_that_lies_far_inside_a_long_passage_is_read_there() -> None:
    document = text_document(TEXT)
    chunks = [span(document, 0, 19, parent=(0, 599)), span(document, 500, 519)]
    for merge in (0, 100):
        (read,), _ = arrange(found(*chunks), k=9, document_of=library(document), merge=merge)
        assert read.found == ((0, 19), (500, 519))


def test_nothing_but_white_space_may_lie_between() -> None:
    document = text_document("One.\n\n \n\nTwo. x Three.")
    merged, _ = arrange(
        found(span(document, 0, 4), span(document, 9, 13), span(document, 16, 22)),
        k=9,
        document_of=library(document),
        merge=100,
    )
    assert spans(merged) == [(0, 13), (16, 22)]


def test_versions_and_documents_are_not_mixed() -> None:
    old, new, other = text_document(TEXT), text_document(TEXT, version=2), text_document(TEXT, id="e")
    chunks = [span(document, at, at + 19) for at in (0, 20) for document in (old, new, other)]
    merged, _ = arrange(found(*chunks), k=9, document_of=library(old, new, other), merge=500)
    assert [(p.chunk.document_id, p.chunk.version) for p in merged] == [("d", 1), ("d", 2), ("e", 1)]
    assert spans(merged) == [(0, 39)] * 3


def test_a_whole_document_is_not_swallowed_and_nothing_is_read_twice() -> None:
    document = text_document(TEXT)
    chunks = [span(document, at, at + 59) for at in range(0, 500, 40)]  # each overlaps the next
    read, _ = arrange(found(*chunks), k=99, document_of=library(document), merge=200)
    assert all(end - start <= 200 for start, end in spans(read))
    ordered = sorted(spans(read))
    assert all(before[1] <= after[0] for before, after in pairwise(ordered))
    assert ordered[0][0] == 0
    assert ordered[-1][1] == chunks[-1].end


def test_what_is_left_of_one_that_stays_apart_is_what_was_not_read() -> None:
    document = text_document(TEXT)
    first, second = span(document, 0, 119), span(document, 100, 219)
    read, _ = arrange(found(first, second), k=9, document_of=library(document), merge=150)
    assert spans(read) == [(0, 119), (120, 219)]
    assert [each.found for each in read] == [(), ()]
    # Of two windows the sentence that was found lies in the part that is read already.
    second = span(document, 100, 119, parent=(60, 219))
    read, _ = arrange(found(first, second), k=9, document_of=library(document), merge=150)
    assert spans(read) == [(0, 119)]


def test_one_that_joins_a_passage_is_not_read_twice_where_it_overlaps_another() -> None:
    document = text_document(TEXT)
    a, b, c = span(document, 0, 59), span(document, 100, 159), span(document, 40, 119)
    read, _ = arrange(found(a, b, c), k=9, document_of=library(document), merge=130)
    assert spans(read) == [(0, 99), (100, 159)]
    assert [each.found for each in read] == [((0, 59), (40, 99)), ()]
    read, _ = arrange(found(b, a, c), k=9, document_of=library(document), merge=130)
    assert spans(read) == [(60, 159), (0, 59)]
    assert [each.hit.rank for each in read] == [1, 2]


def test_without_merging_passages_stay_but_no_span_is_read_twice() -> None:
    document = text_document(TEXT)
    a, b = span(document, 0, 59), span(document, 40, 99)
    assert spans(arrange(found(a, b), k=9, document_of=library(document))[0]) == [(0, 59), (40, 99)]
    parent = (0, 199)
    children = [span(document, at, at + 19, parent=parent) for at in (0, 40, 100)]
    (read,), _ = arrange(found(*children), k=9, document_of=library(document))
    assert (read.chunk.start, read.chunk.end) == parent
    assert read.found == ((0, 19), (40, 59), (100, 119))


def test_pieces_of_one_table_that_join_have_the_first_ones_header() -> None:
    text = "| a | b |\n|---|---|\n" + "\n".join(f"| {i} | x |" for i in range(40))
    document = text_document(text)
    chunks = list(StructureChunker(ToyWords(), size=40).chunk(document))
    read, _ = arrange(found(chunks[2], chunks[1]), k=9, document_of=library(document), merge=2000)
    assert spans(read) == [(chunks[1].start, chunks[2].end)]
    assert read[0].chunk.before == "| a | b |\n|---|---|\n"
    read, _ = arrange(found(chunks[1], chunks[0]), k=9, document_of=library(document), merge=2000)
    assert read[0].chunk.before == ""
    assert read[0].chunk.reading == text[: chunks[1].end]


# What was found of it


def test_the_parts_of_a_passage_have_pages_and_headings_of_their_own() -> None:
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {i} | x |" for i in range(9))
    text = f"# A\n\nFirst words here.\n\n# B\n\n{table}"
    document = replace(text_document(text), pages=(Page(1, 0, 25), Page(2, 26, len(text))))
    row = text.index("| 3 |")
    chunks = [span(document, 5, 22), span(document, 24, row - 1), span(document, row, len(text), before="h")]
    (read,), _ = arrange(found(*chunks), k=9, document_of=library(document), merge=500)
    parts = parts_found(read, library(document))
    assert spans(parts) == [(c.start, c.end) for c in chunks]
    assert [p.chunk.text for p in parts] == [c.text for c in chunks]
    assert [p.chunk.headings for p in parts] == [("A",), ("B",), ("B",)]
    assert [p.chunk.page for p in parts] == [1, 1, 2]
    assert parts[2].chunk.before == "| a | b |\n|---|---|\n"
    assert {(p.hit, p.chunk.id, p.found) for p in parts} == {(read.hit, read.chunk.id, ())}
    assert parts_found(read, library()) == []
    assert parts_found(found(chunks[0])[0], library(document)) == []


def test_parts_that_overlap_are_read_once() -> None:
    document = text_document(TEXT)
    (read,), _ = arrange(
        found(span(document, 0, 59), span(document, 40, 99), span(document, 44, 59)),
        k=9,
        document_of=library(document),
        merge=500,
    )
    assert read.found == ((0, 59), (40, 99), (44, 59))
    assert spans(parts_found(read, library(document))) == [(0, 59), (60, 99)]


# Cap and k


def test_at_most_so_many_of_one_document_and_the_rest_are_counted() -> None:
    documents = [text_document(TEXT, id=name) for name in "abc"]
    chunks = [span(documents[i], at, at + 19) for i, at in ((0, 0), (0, 100), (0, 200), (1, 0), (0, 300), (2, 0))]
    read, notes = arrange(found(*chunks), k=9, document_of=library(*documents), per_document=2)
    assert [p.chunk.document_id for p in read] == ["a", "a", "b", "c"]
    assert notes == ("2 passages left out: at most 2 of one document (search.per_document)",)
    # One that joins a passage placed already takes no place of its own.
    touching = [span(documents[0], at, at + 19) for at in (0, 20, 40)]
    read, notes = arrange(found(*touching), k=9, document_of=library(*documents), per_document=1, merge=500)
    assert (spans(read), notes) == ([(0, 59)], ())


def test_the_first_k_places_and_nothing_of_what_ranks_behind() -> None:
    document = text_document(TEXT)
    a, b, c, d = (span(document, at, at + 19) for at in (0, 100, 20, 200))
    late = span(document, 120, 139)
    read, _ = arrange(found(a, b, c, d, late), k=2, document_of=library(document), merge=500)
    assert spans(read) == [(0, 39), (100, 119)]
    assert [p.hit.rank for p in read] == [1, 2]


def test_documents_are_asked_for_once_and_only_when_needed() -> None:
    document = text_document(TEXT)
    asked: list[tuple[str, int]] = []

    def document_of(document_id: str, version: int) -> Document:
        asked.append((document_id, version))
        return document

    arrange(found(span(document, 0, 19), span(document, 300, 319)), k=9, document_of=document_of, merge=500)
    assert asked == []
    arrange(found(*(span(document, at, at + 19) for at in (0, 20, 40))), k=9, document_of=document_of, merge=500)
    assert asked == [("d", 1)]


@pytest.mark.parametrize(("k", "merge", "per_document"), [(0, 0, 0), (1, -1, 0), (1, 0, -1)])
def test_impossible_limits_are_refused(k: int, merge: int, per_document: int) -> None:
    with pytest.raises(InputError, match="must be at least"):
        arrange([], k=k, document_of=library(), merge=merge, per_document=per_document)


# What always holds

PARTS = [
    "Refunds are given within 30 days. ",
    "No. ",
    "# Part\n\n",
    "## Scope\n\n",
    "Not for sale items, though.\n\n",
    "```py\na = 1\n\nb = 2\nc = 3\n```\n\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n",
    "第一条。この法律は。",
    "👨‍👩‍👧‍👦 ",
    "\n\n  \n",
]
CHUNKERS: list[Callable[[], Chunker]] = [
    lambda: StructureChunker(ToyWords(), size=9, overlap_sentences=1),
    lambda: WindowChunker(ToyWords(), size=9, overlap=4),
    lambda: SentenceWindowChunker(ToyWords(), size=12, window=2),
    lambda: ParentChildChunker(ToyWords(), size=6, parent_size=20),
]


@given(
    texts=st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=12).map("".join), min_size=1, max_size=3),
    chunker=st.sampled_from(CHUNKERS),
    draw=st.randoms(use_true_random=False),
    k=st.integers(1, 8),
    merge=st.sampled_from([0, 30, 90, 10_000]),
    per_document=st.integers(0, 3),
    gone=st.booleans(),
)
def test_spans_stay_exact_and_nothing_is_lost(  # type: ignore[no-untyped-def]
    texts: list[str], chunker: Callable[[], Chunker], draw, k: int, merge: int, per_document: int, gone: bool
) -> None:
    documents = [text_document(text, id=f"d{i}") for i, text in enumerate(texts)]
    chunks = [chunk for document in documents for chunk in chunker().chunk(document)]
    draw.shuffle(chunks)
    passages = found(*chunks)
    kept = documents[1:] if gone else documents
    read, notes = arrange(passages, k=k, document_of=library(*kept), merge=merge, per_document=per_document)
    texts_of = {document.id: document.text for document in documents}
    assert len(read) <= k
    assert bool(read) == bool(passages)
    cut_at = {p for c in chunks for p in (c.start, c.end, *(c.parent or ()))}
    for passage in read:
        chunk = passage.chunk
        assert texts_of[chunk.document_id][chunk.start : chunk.end] == chunk.text
        assert chunk.text
        assert chunk.text == chunk.text.strip()
        assert passage.hit.chunk_id == chunk.id
        assert list(passage.found) == sorted(set(passage.found))
        assert all(chunk.start <= a < b <= chunk.end for a, b in passage.found)
        parts = parts_found(passage, library(*kept))
        assert all(texts_of[chunk.document_id][p.chunk.start : p.chunk.end] == p.chunk.text for p in parts)
        assert all(a[1] <= b[0] for a, b in pairwise(spans(parts)))
        widest = max((c.parent or (c.start, c.end))[1] - (c.parent or (c.start, c.end))[0] for c in chunks)
        assert chunk.end - chunk.start <= max(merge, widest)
        assert chunk.start in cut_at or merge
    assert [p.hit.rank for p in read] == sorted(p.hit.rank for p in read)
    if per_document:
        names = [p.chunk.document_id for p in read]
        assert max((names.count(name) for name in names), default=0) <= per_document
    if k >= len(passages) and not per_document:
        assert notes == ()
        # Every character of every chunk found is read, and with merging once.
        for document in documents:
            covered = [0] * len(document.text)
            for passage in read:
                if passage.chunk.document_id == document.id:
                    for i in range(passage.chunk.start, passage.chunk.end):
                        covered[i] += 1
            assert all(n or c.isspace() for n, c in zip(covered, document.text, strict=True))
            if merge and document in kept:
                assert max(covered) <= 1


def test_very_many_passages_take_no_more_than_their_number() -> None:
    def seconds(number: int, *, one: bool) -> float:
        long = text_document("word " * 8 * number)
        documents = [long] if one else [text_document("word " * 8, id=f"d{i}") for i in range(number)]
        chunks = [span(documents[0 if one else i], 40 * i * one, 40 * i * one + 9) for i in range(number)]
        passages, document_of = found(*chunks), library(*documents)
        best = 9.0
        for _ in range(3):
            started = time.perf_counter()
            read, _ = arrange(passages, k=number, document_of=document_of, merge=3000, per_document=number)
            best = min(best, time.perf_counter() - started)
        assert len(read) == number
        return best

    for one in (True, False):
        assert seconds(4000, one=one) < 0.5, one  # over a second when each was held against all the others


def test_a_long_document_is_looked_through_for_tables_and_code_once() -> None:
    text = "".join(f"# S{i}\n\nText of it.\n\n```py\nx = {i}\n```\n\n| a |\n|---|\n| {i} |\n\n" for i in range(4000))
    document = text_document(text)
    middle = text.index("# S2000")
    passages = found(span(document, middle, middle + 7, parent=(middle, text.index("# S2001") - 2)))

    def seconds() -> float:
        started = time.perf_counter()
        (read,), _ = arrange(passages, k=1, document_of=library(document), merge=3000)
        assert read.chunk.text.endswith("| 2000 |")
        return time.perf_counter() - started

    first = seconds()
    assert min(seconds() for _ in range(5)) < first / 4


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


# Rule and exception, with real retrieval

FILLER = {
    "delivery": "Parcels leave the warehouse every working day. A parcel is usually delivered within three days. "
    "You are told by mail when it is on its way. Parcels to islands take a day longer.",
    "payment": "We accept cards and bank transfers. The amount is taken when the parcel leaves. "
    "Gift cards are valid for three years. A voucher cannot be paid out.",
    "office": "The office is open from Monday to Friday. Keys are handed out at the front desk. "
    "Visitors sign the book in the hall. Bicycles stand in the yard.",
    "records": "Every department keeps a register of its letters. Registers are kept for ten years. "
    "A clerk seals the register at the end of the year. Lost pages are reported at once.",
}
DOCUMENTS = {
    "shop.md": f"""# Orders

## Delivery

{FILLER["delivery"]}

## Payment

{FILLER["payment"]}

## Returns

Refunds are given within 30 days of purchase if the goods are unused and in their box.

Send the parcel with the label that came with it. Keep the receipt of the post office until the money has arrived.

The refund goes to the card that was used. It takes up to ten working days, and you are told by mail.

Refunds are not given for sale items, which can be exchanged only.

# Complaints

Complaints are answered within a week. The ombudsman may be asked when no answer comes.
""",
    "lease.md": f"""# House rules

{FILLER["office"]}

# Lease

## Term and notice

Either party may end this lease by giving three months' written notice to the other.

The notice must be signed and be received by the third working day of the month. Mail by courier is enough.

During the period the landlord may show the rooms to others after telling the tenant a day before.

No notice is needed where rent has been unpaid for two months in a row: the landlord may then end the lease at once.

## Rent

Rent is paid by the third day of each month. It may be raised once in two years.
""",
    "act.txt": f"""THE RECORDS ACT

1. Registers.
{FILLER["records"]}

2. Right of inspection.
(1) Every person may inspect the register of deeds on payment of the fee that is prescribed.

(2) The registrar shall give a copy of an entry to whoever has inspected it and asks for a copy in writing.

(3) Copies bear the seal of the office and the date on which they were made.

Provided that no person shall inspect an entry that concerns a minor without the leave of the court.

3. Offences.
Whoever removes a page from a register shall be punished with a fine of one thousand rupees.
""",
}
PAIRS = [
    ("Can I return a sale item within 30 days?", "Refunds are given within 30 days", "not given for sale items"),
    (
        "How much notice must a landlord give to end the lease when the rent has not been paid?",
        "three months' written notice",
        "No notice is needed where rent has been unpaid",
    ),
    (
        "May anybody inspect an entry in the register of deeds about a minor?",
        "Every person may inspect the register of deeds",
        "that concerns a minor without the leave",
    ),
]


@pytest.mark.parametrize(
    "chunk",
    [
        {},
        {"chunk_recipe": "parent-child"},
        {"chunk_recipe": "sentence-window"},
        {"chunk_recipe": "parent-child", "chunk_size": 40},
    ],
    ids=["structure", "parent-child", "sentence-window", "parent-child-small"],
)
@pytest.mark.parametrize("merge", [0, 3000])
def test_a_rule_is_read_with_its_exception(data: Path, tmp_path: Path, chunk: dict[str, object], merge: int) -> None:
    from pincite import Pincite

    with Pincite.open(tmp_path / "index", environment={}, **chunk) as p:
        p.add(data)
        for question, rule, exception in PAIRS:
            raw = p.search(question, k=9).passages
            read, _ = arrange(raw, k=3, document_of=p.store.get_document, merge=merge)
            together = "\n".join(passage.chunk.text for passage in read)
            assert rule in together, question
            assert exception in together, question
            best = read[0].chunk
            assert rule in best.text or exception in best.text, question


@pytest.mark.parametrize("mode", ["bm25", "hybrid"])
def test_a_row_far_down_is_found_by_the_name_of_its_column(tmp_path: Path, mode: str) -> None:
    from pincite import Pincite

    tables = "\n\n".join(
        f"| pump | {column} |\n|---|---|\n" + "\n".join(f"| P{i} | {i * factor} |" for i in range(100, 160))
        for column, factor in (("temperature", 3), ("price", 7), ("weight", 2))
    )
    with Pincite.open(tmp_path / "index", environment={}, chunk_size=100) as p:
        p.add_text(tables, name="pumps.md")
        for column, value in (("temperature", 444), ("price", 1036), ("weight", 296)):
            best = p.search(f"{column} of P148", k=1, mode=mode).passages[0].chunk  # type: ignore[arg-type]
            assert f"| P148 | {value} |" in best.text
            assert best.before == f"| pump | {column} |\n|---|---|\n"
