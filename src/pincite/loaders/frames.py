"""How the process that reads and the one that asked talk: frames of bytes, each behind its length."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

__all__ = ["LONGEST", "OUT_OF_MEMORY", "pack", "read_frame", "unpack", "write_frame"]

#: Bytes of a frame above which it is not one: the other side is out of its mind.
LONGEST = 1 << 32
#: With this exit status a child says that not even the memory to say so was left.
OUT_OF_MEMORY = 92

_HEAD = 8


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Send `data`. Raises OSError when nobody reads any more."""
    stream.write(len(data).to_bytes(_HEAD, "big"))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next frame, waited for; None when the other side has gone, or what it sends is no frame."""
    head = stream.read(_HEAD)
    length = int.from_bytes(head, "big")
    if len(head) < _HEAD or length > LONGEST:
        return None
    data = stream.read(length)
    return data if len(data) == length else None


def pack(message: Mapping[str, Any]) -> bytes:
    """`message` as JSON in UTF-8. Lone surrogates, as in paths that are not UTF-8, come through."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def unpack(data: bytes) -> dict[str, Any]:
    """What `pack` packed. Raises ValueError for anything else."""
    message = json.loads(data.decode("utf-8", "surrogatepass"))
    if not isinstance(message, dict):
        raise ValueError("a message is an object")
    return message
