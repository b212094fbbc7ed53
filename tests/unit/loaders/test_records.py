"""Documents as plain data: everything comes back, and nothing else does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import InputError
from pincite.loaders.frames import pack, unpack
from pincite.loaders.records import document_record, outcome_record, read_document, read_outcome
from pincite.types import Document, FileOutcome, Heading, Page

words = st.text(st.characters(), max_size=20)
offsets = st.integers(0, 1 << 40)
values = st.one_of(words, st.integers(-(10**18), 10**18), st.floats(allow_nan=False), st.booleans())
documents = st.builds(
    Document,
    id=words,
    text=st.text(st.characters()),
    title=words,
    uri=words,
    media_type=words,
    content_hash=words,
    version=st.integers(1, 10**9),
    metadata=st.dictionaries(words, values, max_size=4),
    pages=st.lists(st.builds(Page, offsets, offsets, offsets, words), max_size=4).map(tuple),
    headings=st.lists(st.builds(Heading, offsets, words, offsets, offsets), max_size=4).map(tuple),
    warnings=st.lists(words, max_size=3).map(tuple),
)
outcomes = st.builds(
    FileOutcome,
    uri=words,
    status=st.sampled_from(["added", "updated", "unchanged", "skipped"]),
    document_id=st.none() | words,
    version=st.none() | offsets,
    chunks=offsets,
    reason=words,
    detail=words,
    warnings=st.lists(words, max_size=3).map(tuple),
)


def same_types(one: Document, other: Document) -> bool:
    return [type(value) for value in one.metadata.values()] == [type(value) for value in other.metadata.values()]


@given(documents)
def test_a_document_comes_back_as_it_was(document: Document) -> None:
    again = read_document(json.loads(json.dumps(document_record(document))))
    assert again == document
    assert same_types(again, document)


@given(documents)
def test_a_document_comes_back_through_the_pipe(document: Document) -> None:
    assert read_document(unpack(pack(document_record(document)))) == document


@given(outcomes)
def test_an_outcome_comes_back_as_it_was(outcome: FileOutcome) -> None:
    assert read_outcome(json.loads(json.dumps(outcome_record(outcome)))) == outcome


def test_half_a_surrogate_comes_through() -> None:
    assert unpack(pack({"path": "a\udcffb"})) == {"path": "a\udcffb"}


@pytest.mark.parametrize("change", [{"text": None}, {"colour": "red"}, {"pages": [{"number": 1}]}, {"headings": 3}])
def test_what_is_no_record_is_refused(change: dict[str, object]) -> None:
    record = document_record(Document("i", "t", "t", "u", "text/plain", "h"))
    changed = {**record, **change}
    if change.get("text", "") is None:
        del changed["text"]
    with pytest.raises(InputError, match="record"):
        read_document(changed)


def test_what_is_no_outcome_is_refused() -> None:
    with pytest.raises(InputError, match="record"):
        read_outcome({"uri": "u"})
    with pytest.raises(ValueError, match="object"):
        unpack(b"[]")
