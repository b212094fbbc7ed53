"""Where the process that holds an index listens, and how the two sides prove to each other that they may talk.

The holder writes a socket's address and a random key into ``serving.json`` in the index's folder, for its user alone to
read. The socket lies in a folder that only this user may enter; where the system has no such sockets it is one of the
loopback. Either side shows that it knows the key by a code over what the other made up, so that the key is never sent,
and a stranger who has come by the address of a dead process learns nothing and is not believed.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import stat
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pincite.store import wire
from pincite.store.wire import FINGERPRINT, WireError

__all__ = ["FILE", "Address", "greet", "introduce", "listen", "look_up", "publish", "withdraw"]

FILE = "serving.json"

#: The longest path of a socket that every system takes: 104 bytes with the end on some, 108 on others.
_LONGEST = 100
_GREETING = 1000  #: bytes, at most, of a message from whom is not known


@dataclass(frozen=True, slots=True)
class Address:
    """Where a holder listens. `path` is empty for a socket of the loopback, `port` 0 for one of the file system."""

    path: str
    port: int
    key: str
    pid: int
    wire: str  #: `pincite.store.wire.FINGERPRINT` of the holder

    def connect(self, seconds: float) -> socket.socket:
        """A connection to it. Raises OSError when nobody listens there."""
        if self.path:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            target: str | tuple[str, int] = self.path
        else:
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            target = ("127.0.0.1", self.port)
        try:
            connection.settimeout(max(seconds, 0.001))
            connection.connect(target)
        except BaseException:
            connection.close()
            raise
        return connection


def listen(*, backlog: int, loopback: bool = not hasattr(socket, "AF_UNIX")) -> tuple[socket.socket, Address]:
    """A listening socket and its address, with a new key. Raises OSError."""
    key = secrets.token_hex(32)
    if loopback:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        path = ""
        target: str | tuple[str, int] = ("127.0.0.1", 0)
    else:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = str(_private_folder() / "socket")
        target = path
    try:
        listener.bind(target)
        listener.listen(backlog)
    except BaseException:
        listener.close()
        _clear(path)
        raise
    port = listener.getsockname()[1] if loopback else 0
    return listener, Address(path, port, key, os.getpid(), FINGERPRINT)


def _private_folder() -> Path:
    """A new folder that only this user may enter, with room for a socket's name within what systems allow."""
    folder = Path(tempfile.mkdtemp(prefix="pincite-"))
    if len(os.fsencode(folder / "socket")) > _LONGEST:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="pincite-", dir="/tmp"))
    return folder


def publish(folder: Path, address: Address) -> None:
    """Say in the index's folder where this process listens, in place of whoever did before. Raises OSError."""
    before = look_up(folder)
    fresh = folder / f"{FILE}.{address.pid}"
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(address), file)
    fresh.replace(folder / FILE)
    if before is not None and before.path != address.path:
        _clear(before.path)  # of a process that was killed


def look_up(folder: Path) -> Address | None:
    """Where the holder of an index listens, or one that is dead did; None if nobody says."""
    try:
        with open(folder / FILE, encoding="utf-8") as file:
            # Written by another user it would send this one wherever that user likes.
            if hasattr(os, "geteuid") and os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            said = json.load(file)
        address = Address(**said)
        bytes.fromhex(address.key)
        types = {"path": str, "port": int, "key": str, "pid": int, "wire": str}
        return address if all(isinstance(said[name], kind) for name, kind in types.items()) else None
    except (OSError, ValueError, TypeError):
        return None


def withdraw(folder: Path, address: Address) -> None:
    """Take back what `publish` said, unless another has taken the place since. Never fails."""
    if look_up(folder) == address:
        with suppress(OSError):
            (folder / FILE).unlink()
    _clear(address.path)


def _clear(path: str) -> None:
    """Remove a socket and its folder. Nothing else: the path may come from a file."""
    with suppress(OSError):
        if path and stat.S_ISSOCK(os.stat(path).st_mode):
            os.unlink(path)
    with suppress(OSError):
        if path and Path(path).parent.name.startswith("pincite-"):
            Path(path).parent.rmdir()


def _code(key: str, who: str, *made_up: str) -> str:
    return hmac.new(bytes.fromhex(key), "\n".join((who, *made_up)).encode(), "sha256").hexdigest()


def greet(connection: socket.socket, address: Address, seconds: float) -> bool:
    """The holder's part: whether the other side knows the key. Raises OSError, EOFError or WireError if it is rude."""
    mine = secrets.token_hex(32)
    wire.send(connection, wire.pack({"nonce": mine}), seconds)
    answer = wire.receive(connection, seconds, _GREETING)
    theirs, code = str(answer.get("nonce", "")), str(answer.get("code", ""))
    if not hmac.compare_digest(code.encode("utf-8", "replace"), _code(address.key, "asks", mine, theirs).encode()):
        return False
    wire.send(connection, wire.pack({"code": _code(address.key, "holds", mine, theirs)}), seconds)
    return True


def introduce(connection: socket.socket, address: Address, seconds: float) -> str:
    """The part of who asks. Returns why the holder has no room, "" when it listens.

    Raises OSError, EOFError or WireError if the other side is not the holder that wrote the address.
    """
    greeting = wire.receive(connection, seconds, _GREETING)
    if "busy" in greeting:
        return str(greeting["busy"])
    theirs, mine = str(greeting.get("nonce", "")), secrets.token_hex(32)
    wire.send(connection, wire.pack({"nonce": mine, "code": _code(address.key, "asks", theirs, mine)}), seconds)
    answer = wire.receive(connection, seconds, _GREETING)
    expected = _code(address.key, "holds", theirs, mine)
    if not hmac.compare_digest(str(answer.get("code", "")).encode("utf-8", "replace"), expected.encode()):
        raise WireError("whoever listens at the holder's address does not know its key")
    return ""
