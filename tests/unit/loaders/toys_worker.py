"""Loaders that do what no loader should, and the process that reads with them."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from pincite.errors import EncryptedError, LoadError
from pincite.loaders.alive import tell_alive
from pincite.loaders.ids import content_hash, document_id
from pincite.loaders.serving import serve
from pincite.loaders.text import TextLoader
from pincite.protocols import Source
from pincite.types import Document, FileOutcome


def document(uri: str, text: str = "text") -> Document:
    return Document(document_id(uri), text, "title", uri, "text/plain", content_hash(text.encode()))


class StrangeError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even a message")


class BadLoader:
    """Does what the bytes of the source say."""

    name = "bad"
    suffixes = frozenset({".bad"})

    def load(self, source: Source) -> Document:
        what, _, more = source.data.decode().partition(" ")
        if what == "hang":
            time.sleep(1000)
        elif what == "page-by-page":
            for _ in range(6):
                tell_alive()
                time.sleep(0.3)
        elif what == "spin":  # in C, without letting go of the interpreter
            sum(range(10**13))
        elif what == "grandchild":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
            with open(more, "w") as file:
                file.write(str(child.pid))
            child.wait()
        elif what == "allocate":
            held = []
            while True:
                held.append(bytes(10_000_000))
        elif what == "segfault":
            ctypes.string_at(0)
        elif what == "abort":
            sys.stderr.write(more)
            sys.stderr.flush()
            os.abort()
        elif what == "exit":
            os._exit(7)
        elif what == "system-exit":
            sys.exit("leaving")
        elif what == "interrupt":
            raise KeyboardInterrupt
        elif what == "strange":
            raise StrangeError
        elif what == "encrypted":
            raise EncryptedError("locked ü \udcff")
        elif what == "nothing":
            return None  # type: ignore[return-value]
        elif what == "print":
            sys.stdout.write("to standard output\n" * 1000)
            sys.stdout.flush()
            os.write(1, b"\x00\x00\x00\x00\x00\x00\x00\x02{}" * 1000)
            sys.stderr.write("much " * 100_000)
            assert sys.stdin.read() == ""
            subprocess.run(["echo", "from a grandchild"], check=True)
        elif what == "hold":
            self.held = bytearray(b"x" * int(more))
        elif what == "signals":
            return document(source.uri, str(os.getpid()))
        return document(source.uri)


class ManyLoader:
    """As many documents as the source says; after each, how many were made is in its text."""

    name = "many"
    suffixes = frozenset({".many"})

    def load_all(self, source: Source) -> Iterator[Document | FileOutcome]:
        count, _, then = source.data.decode().partition(" ")
        for i in range(int(count)):
            if then.startswith("note"):
                with open(then[5:], "w") as file:
                    file.write(str(i + 1))
            if i % 1000 == 7:
                yield FileOutcome(f"{source.uri}#{i}", "skipped", reason="no-text", detail="nothing", warnings=("w",))
            else:
                yield document(f"{source.uri}#{i}", f"text {i}")
        if then == "fail":
            raise LoadError("the rest is damaged")
        if then == "hang":
            time.sleep(1000)


def main() -> None:
    serve([BadLoader(), ManyLoader(), TextLoader()], json.loads(sys.argv[1])["memory_mb"])


if __name__ == "__main__":
    main()
