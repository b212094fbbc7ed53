"""What processes that share an index say to each other: which calls there are, how records are written, how framed.

A message is a length of eight bytes and so many bytes of UTF-8 JSON. JSON and not pickle: whoever unpickles runs what
the other side sends, and a holder needs no more trust than to look things up. Of records only those of `pincite.types`
and `pincite.protocols` are made, which are plain and do nothing when made.

In JSON an object is a mapping, and every array begins with a word that says what it is::

    ["list", …]  ["tuple", …]  ["map", key, value, …]  ["bytes", base64]  ["array", dtype, shape, base64]
    ["Chunk", field, field, …]      a record, its fields in order
    ["rows", "Hit", [[…], […]]]     a list of tuples with names, whose fields are plain
"""

from __future__ import annotations

import hashlib
import json
import math
import socket
import struct
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pincite import errors, protocols, types
from pincite.errors import PinciteError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "FINGERPRINT",
    "LOCAL",
    "MAX_MESSAGE",
    "PROPERTIES",
    "READS",
    "RECORDS",
    "WRITES",
    "Message",
    "WireError",
    "decode",
    "encode",
    "forwards",
    "pack",
    "pack_error",
    "raise_error",
    "readable",
    "receive",
    "send",
    "unpack",
]

#: Methods of `pincite.protocols.Store` that change nothing: asked of whoever holds the index.
READS = (
    "check",
    "chunks",
    "documents",
    "documents_of",
    "encoded",
    "find",
    "find_source",
    "get_document",
    "history",
    "index_report",
    "measure_recall",
    "needs_optimizing",
    "next_version",
    "numbers",
    "passages",
    "runs",
    "search_dense",
    "search_lexical",
    "sources",
    "vectors",
)
#: The same, without parentheses.
PROPERTIES = ("document_count", "header", "indexed_count", "point_count")
#: Methods that change the index: for its holder alone.
WRITES = (
    "commit",
    "compact",
    "discard",
    "keep_numbers",
    "note_run",
    "optimize",
    "purge",
    "remove",
    "repair",
    "stage",
    "stage_chunks",
)
#: What each side does for itself.
LOCAL = ("close", "reading", "writing")

#: The most bytes of one message.
MAX_MESSAGE = 1_000_000_000
#: Raised with every change of how messages are written that the lists here do not show.
_REVISION = 1
_LENGTH = struct.Struct("!Q")
_PLAIN = {str, float, int, bool, type(None)}
_ARRAYS = ("<f4", "<f8", "<i8")

Message = dict[str, Any]


class WireError(StoreError):
    """What came is no message, or something cannot be sent as one."""


def _is_record(value: object) -> bool:
    return isinstance(value, type) and (is_dataclass(value) or hasattr(value, "_make"))


def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(kind._fields if hasattr(kind, "_make") else (each.name for each in fields(kind)))


#: Name → class of every record that may be sent.
RECORDS: dict[str, Any] = {
    name: value
    for module in (types, protocols)
    for name, value in sorted(vars(module).items())
    if _is_record(value) and value.__module__ == module.__name__
}

_FIELDS = {name: _fields(kind) for name, kind in RECORDS.items()}

#: The same only for two versions of pincite that understand each other.
FINGERPRINT = hashlib.sha256(repr((_REVISION, READS, PROPERTIES, sorted(_FIELDS.items()))).encode()).hexdigest()[:16]


# Records


def encode(value: Any) -> Any:
    """A value of the store's methods as JSON data. Raises WireError for anything else."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [_known(value), *map(encode, value)]
    if isinstance(value, list | tuple):
        if isinstance(value, list) and _flat(value):
            return ["rows", _known(value[0]), value]  # a tuple is an array to JSON: nothing to do for each
        return ["tuple" if isinstance(value, tuple) else "list", *map(encode, value)]
    if is_dataclass(value) and not isinstance(value, type):
        name = _known(value)
        return [name, *(encode(getattr(value, each)) for each in _FIELDS[name])]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: encode(each) for key, each in value.items()}
        return ["map", *(encode(part) for pair in value.items() for part in pair)]
    if isinstance(value, bytes):
        return ["bytes", b64encode(value).decode("ascii")]
    return _encode_other(value)


def _encode_other(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.ndarray):
        kind = value.dtype.newbyteorder("<").str
        if kind not in _ARRAYS:
            raise WireError(f"an array of {value.dtype} cannot be sent")
        data = np.ascontiguousarray(value, dtype=kind).tobytes()
        return ["array", kind, list(value.shape), b64encode(data).decode("ascii")]
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, Sequence | AbstractSet):
        return ["list", *map(encode, value)]
    raise WireError(f"a {type(value).__name__} cannot be sent to another process")


def _flat(values: list[Any]) -> bool:
    """Whether these are many of one tuple with names and nothing nested in it, as hits are."""
    kind = type(values[0]) if values else None
    if kind is None or not hasattr(kind, "_make"):
        return False
    return {type(each) for each in values} == {kind} and {type(part) for each in values for part in each} <= _PLAIN


def _known(value: Any) -> str:
    name = type(value).__name__
    if RECORDS.get(name) is not type(value):
        raise WireError(f"a {name} cannot be sent to another process")
    return name


def decode(data: Any) -> Any:
    """What `encode` was given. Raises WireError for what it never makes."""
    if isinstance(data, dict):
        return {key: decode(value) for key, value in data.items()}
    if not isinstance(data, list):
        return data
    try:
        kind, *rest = data
        if kind in RECORDS:
            if len(rest) != len(_FIELDS[kind]):
                raise WireError(f"a {kind} of another version of pincite")
            return RECORDS[kind](*map(decode, rest))
        if kind == "rows":
            return list(map(RECORDS[rest[0]]._make, rest[1]))
        if kind == "list":
            return list(map(decode, rest))
        if kind == "tuple":
            return tuple(map(decode, rest))
        if kind == "map":
            return {decode(key): decode(value) for key, value in zip(rest[::2], rest[1::2], strict=True)}
        if kind == "bytes":
            return b64decode(rest[0], validate=True)
        if kind == "array":
            return _array(*rest)
    except WireError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise WireError(f"a message that cannot be read: {error!r}") from error
    raise WireError(f"a message with an unknown {kind!r:.40}")


def _array(kind: str, shape: list[int], data: str) -> Any:
    import numpy as np

    if kind not in _ARRAYS:
        raise WireError(f"an array of {kind!r:.40}")
    raw = b64decode(data, validate=True)
    if any(side < 0 for side in shape) or len(raw) != math.prod(shape) * int(kind[-1]):
        raise WireError("an array whose shape is not that of its data")
    return np.frombuffer(raw, dtype=kind).reshape(shape).copy()  # the copy may be written to, as one's own


def pack_error(error: BaseException) -> Message:
    """An error as it travels: one of pincite's own by its name, any other as a StoreError that names it."""
    if isinstance(error, PinciteError) and getattr(errors, type(error).__name__, None) is type(error):
        extra = {name: value for name, value in vars(error).items() if isinstance(value, str)}
        return {"error": type(error).__name__, "message": str(error), "extra": extra}
    if isinstance(error, StoreError):
        return {"error": "StoreError", "message": str(error), "extra": {}}
    return {"error": "StoreError", "message": f"{type(error).__name__}: {error}", "extra": {}}


def raise_error(answer: Message) -> None:
    """Raise the error that an answer carries, if it does."""
    if "error" not in answer:
        return
    kind = getattr(errors, str(answer["error"]), None)
    if not (isinstance(kind, type) and issubclass(kind, PinciteError)):
        kind = StoreError
    error = kind.__new__(kind)  # not by its constructor: that of some makes the message
    error.args = (str(answer.get("message", "")),)
    vars(error).update(answer.get("extra") or {})
    raise error


# Frames


def pack(message: Message) -> bytes:
    """A message as bytes, its length first. Raises WireError above `MAX_MESSAGE`."""
    # Lone surrogates of a query are sent as they are; in JSON's own escapes two of them would come to be one character.
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if len(body) > MAX_MESSAGE:
        raise WireError(f"{len(body) / 1e6:,.0f} MB are too much for one message: ask for less at a time")
    return _LENGTH.pack(len(body)) + body


def unpack(body: bytes | bytearray) -> Message:
    """The message of a frame's bytes. Raises WireError when it is none."""
    try:
        message = json.loads(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise WireError(f"a message that is no JSON: {error}") from error
    if not isinstance(message, dict):
        raise WireError("a message that is no JSON object")
    return message


def send(connection: socket.socket, frame: bytes, seconds: float) -> None:
    """Send what `pack` made, within `seconds` in all. Raises OSError."""
    connection.settimeout(max(seconds, 0.001))
    connection.sendall(frame)


def receive(connection: socket.socket, seconds: float, limit: int = MAX_MESSAGE) -> Message:
    """The next message, if it comes within `seconds` in all. Raises OSError, EOFError at the end of the stream."""
    until = time.monotonic() + seconds
    (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size, until))
    if length > limit:
        raise WireError(f"a message of {length:,} bytes, at most {limit:,} are taken")
    return unpack(_read(connection, length, until))


def _read(connection: socket.socket, length: int, until: float) -> bytearray:
    # Room is taken as bytes come, not as many as the other side says.
    data = bytearray()
    while len(data) < length:
        connection.settimeout(max(until - time.monotonic(), 0.001))
        part = connection.recv(min(length - len(data), 1 << 20))
        if not part:
            raise EOFError("the other side has closed")
        data += part
    return data


def readable(connection: socket.socket, seconds: float) -> bool:
    """Whether something comes, or the end, within `seconds`. Raises OSError when the connection is broken."""
    connection.settimeout(max(seconds, 0.001))
    try:
        connection.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return False
    return True


# Classes that pass calls on

Kind = TypeVar("Kind", bound=type)


def forwards(kind: Kind) -> Kind:
    """Give a class every name of `READS`, `PROPERTIES` and `WRITES` that it has not; its methods pass them on.

    To ``call(name, args, kwargs)``, ``look(name)`` and ``change(name, args, kwargs)``.
    """
    for name in READS:
        if name not in vars(kind):
            setattr(kind, name, _method(name, "call"))
    for name in WRITES:
        if name not in vars(kind):
            setattr(kind, name, _method(name, "change"))
    for name in PROPERTIES:
        if name not in vars(kind):
            setattr(kind, name, _property(name))
    return kind


def _documented(name: str) -> str:
    return f"See `pincite.protocols.Store.{name}`."


def _method(name: str, by: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, by)(name, args, kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = _documented(name)
    return method


def _property(name: str) -> property:
    def look(self: Any) -> Any:
        return self.look(name)

    return property(look, doc=_documented(name))
