"""What is written is read again as the same, and nothing else is read."""

from __future__ import annotations

import json
import math
import socket
import threading
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from pincite import errors, protocols, types
from pincite.errors import MissingExtraError, PinciteError, StoreError
from pincite.protocols import EncoderIdentity, Recall, Store, StoreHeader
from pincite.store import wire
from pincite.store.wire import WireError
from pincite.types import Chunk, Document, Heading, Hit, Page, Passage, Prompt, StoredDocument

CHUNK = Chunk("d.1.0", "d", 1, "text", 0, 4, 0, ("Art. I", "§ 1"), 3, before="| a |", parent=(0, 9))
HIT = Hit("d.1.0", 0.1 + 0.2, 1, "bm25")

VALUES: list[Any] = [
    None,
    True,
    2**70,
    -1.5e-300,
    math.inf,
    "naïve 第三条 🙂",
    "lone \ud83d and \ude42 apart, \ud83d\ude42 beside each other",
    b"\x00\xff",
    [],
    (),
    {},
    [1, [2, (3, [4])], {"a": (5,)}],
    {"list": ["Hit", "rows"], "": None},
    ["Hit", "d.1.0", 0.5, 1, "bm25"],
    {b"digest": (1, 2), 3: [b""]},
    {(1, 2): "x"},
    [HIT, Hit("d.1.1", 0.25, 2, "bm25")],
    (HIT,),
    [HIT, "no hit"],
    CHUNK,
    Passage(CHUNK, "Title", "file:x", HIT, {"bm25": HIT}, {"year": 1971, "open": True}, ((0, 4), (5, 9)), 0.5, None),
    Document("d", "text", "T", "u", "text/plain", "h", 2, {"a": 1.5}, (Page(1, 0, 4, "i"),), (Heading(1, "x", 0, 1),)),
    StoredDocument("d", 1, "T", "u", "text/plain", "h", 1, 4, "2026-11-30T00:00:00+00:00", warnings=("page 3",)),
    StoreHeader(EncoderIdentity("toy", "1", 8, "mean", True, "", "", 64), ((0.1, 0.2), (0.3, 1e-8)), "english"),
    Recall(0.99, 0.98, 1.0, 10, 200, 5, 0.1, 0.2, 0.3, 0.4, "now"),
]


def through(value: Any) -> Any:
    """As it comes out of another process."""
    frame = wire.pack({"value": wire.encode(value)})
    return wire.decode(wire.unpack(frame[8:])["value"])


def types_of(value: Any) -> Any:
    if is_dataclass(value):
        return type(value), [types_of(getattr(value, each.name)) for each in fields(value)]
    if isinstance(value, dict):
        return dict, [types_of(each) for each in value.values()]
    if isinstance(value, list | tuple):
        return type(value), [types_of(each) for each in value]
    return type(value)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_out_as_it_went_in(value: Any) -> None:
    found = through(value)
    assert found == value
    assert types_of(found) == types_of(value)


@pytest.mark.parametrize("kind", ["<f4", ">f4", "<f8", "<i8"])
@pytest.mark.parametrize("shape", [(0,), (3,), (0, 8), (2, 3), (3, 2, 2)])
def test_arrays_come_out_bit_for_bit(kind: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).normal(size=shape).astype(kind)
    found = through(array)
    assert found.dtype == np.dtype(kind).newbyteorder("<")
    assert found.shape == shape
    assert (found == array).all()
    found[...] = 0  # one's own


def test_an_array_that_is_not_contiguous_and_has_no_numbers_in_it() -> None:
    array = np.array([[1.0, np.nan, 3.0], [4.0, np.inf, 6.0]], np.float32)[:, ::-1]
    np.testing.assert_array_equal(through(array), array)
    assert through({"k": np.int64(3), "score": np.float32(0.5)}) == {"k": 3, "score": 0.5}
    assert through([Hit("a", np.float32(0.5), 1, "dense")]) == [Hit("a", 0.5, 1, "dense")]  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [object(), print, np.array(["a"]), np.array([None]), {"a": iter(())}])
def test_what_cannot_be_sent_is_refused(value: Any) -> None:
    with pytest.raises(WireError, match="cannot be sent"):
        wire.encode(value)


def test_a_record_from_elsewhere_is_refused() -> None:
    class Hit(types.Hit):
        pass

    with pytest.raises(WireError, match="a Hit cannot be sent"):
        wire.encode(Hit("a", 1.0, 1, "x"))


@pytest.mark.parametrize(
    "data",
    [
        [],
        [[]],
        ["os.system", "true"],
        ["Store"],
        ["Hit", "a"],
        ["Hit", "a", 1.0, 1, "x", "more"],
        ["rows", "Hit", [["a"]]],
        ["rows", "os", [[]]],
        ["rows"],
        ["map", 1],
        ["map", ["list"], 1],
        ["bytes", "???"],
        ["array", "<f4", [2], "AAAA"],
        ["array", "O", [1], "AAAAAAAAAAA="],
        ["array", "<f4", [-1, -1], "AAAAAA=="],
        ["list", ["Chunk"]],
        [1, 2],
    ],
)
def test_what_is_never_written_is_never_read(data: Any) -> None:
    with pytest.raises(WireError):
        wire.decode(data)


def test_every_record_of_the_seams_can_be_sent() -> None:
    """Whatever the store's methods come to give, if it is a record of `types` or `protocols`."""
    for module in (types, protocols):
        for name in module.__all__:
            if is_dataclass(getattr(module, name)) or hasattr(getattr(module, name), "_fields"):
                assert wire.RECORDS[name] is getattr(module, name)
    assert Prompt.__name__ in wire.RECORDS
    assert "PurePath" not in wire.RECORDS


def test_every_member_of_the_store_is_read_written_or_ones_own() -> None:
    """Whoever adds a method to the protocol says here who may call it."""
    members = {name for name in vars(Store) if not name.startswith("_")}
    groups = [set(each) for each in (wire.READS, wire.PROPERTIES, wire.WRITES, wire.LOCAL)]
    assert members <= set().union(*groups)
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert {name for name in members if isinstance(vars(Store)[name], property)} == members & set(wire.PROPERTIES)


# Errors


def errors_of_the_tree() -> list[type[PinciteError]]:
    return [value for name in errors.__all__ if issubclass(value := getattr(errors, name), PinciteError)]


@pytest.mark.parametrize("kind", errors_of_the_tree(), ids=lambda kind: kind.__name__)
def test_an_error_of_the_tree_comes_as_what_it_is(kind: type[PinciteError]) -> None:
    error = kind("this thing", "eval") if kind is MissingExtraError else kind("k must be at least 1, got “0”")  # type: ignore[call-arg]
    message = json.loads(json.dumps(wire.pack_error(error)))
    with pytest.raises(kind) as caught:
        wire.raise_error(message)
    assert type(caught.value) is kind
    assert str(caught.value) == str(error)
    assert caught.value.exit_code == error.exit_code
    assert vars(caught.value) == vars(error)


def test_other_errors_come_as_store_errors_that_name_them() -> None:
    for error, text in (
        (ZeroDivisionError("division"), "ZeroDivisionError: division"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (WireError("too much"), "too much"),
    ):
        with pytest.raises(StoreError) as caught:
            wire.raise_error(wire.pack_error(error))
        assert type(caught.value) is StoreError
        assert str(caught.value) == text
    for name in ("SystemExit", "annotations", "PurePath", "", 7):
        with pytest.raises(StoreError, match="words") as caught:
            wire.raise_error({"error": name, "message": "words"})
        assert type(caught.value) is StoreError
    wire.raise_error({"value": None})


# Frames


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = socket.socketpair()
    yield left, right
    left.close()
    right.close()


def test_messages_of_any_size_arrive_whole(pair: tuple[socket.socket, socket.socket]) -> None:
    text = "ä" * 3_000_000
    sender = threading.Thread(
        target=lambda: [wire.send(pair[0], wire.pack(m), 20) for m in ({"a": text}, {}, {"b": 1})]
    )
    sender.start()
    assert wire.receive(pair[1], 20) == {"a": text}
    assert wire.receive(pair[1], 20) == {}
    assert wire.receive(pair[1], 20) == {"b": 1}
    sender.join()


def test_a_message_over_the_limit_is_not_read_nor_sent(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair[0].sendall((2 * wire.MAX_MESSAGE).to_bytes(8, "big"))
    with pytest.raises(WireError, match=r"2,000,000,000 bytes, at most 1,000,000,000"):
        wire.receive(pair[1], 5)
    monkeypatch.setattr(wire, "MAX_MESSAGE", 100)
    with pytest.raises(WireError, match="too much"):
        wire.pack({"text": "x" * 100})


@pytest.mark.parametrize(
    "body", [b"", b"[1]", b"{", b"\xff\xfe{}", b"[" * 100_000], ids=["empty", "list", "cut", "bytes", "deep"]
)
def test_a_frame_that_is_no_message_is_refused(pair: tuple[socket.socket, socket.socket], body: bytes) -> None:
    pair[0].sendall(len(body).to_bytes(8, "big") + body)
    with pytest.raises(WireError):
        wire.receive(pair[1], 5)


def test_waiting_ends_in_time_and_with_the_other_side(pair: tuple[socket.socket, socket.socket]) -> None:
    assert not wire.readable(pair[1], 0.01)
    pair[0].sendall(b"\x00\x00")
    assert wire.readable(pair[1], 5)
    with pytest.raises(TimeoutError):
        wire.receive(pair[1], 0.05)
    with pytest.raises(TimeoutError):
        wire.send(pair[1], b"x" * 10_000_000, 0.05)  # nobody reads


def test_the_end_of_the_other_side_is_told_from_silence(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].sendall(b"\x00\x00")
    pair[0].close()
    assert wire.readable(pair[1], 5)
    with pytest.raises(EOFError):
        wire.receive(pair[1], 5)
