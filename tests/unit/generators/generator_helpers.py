from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from pincite.types import Chunk, Hit, Passage


def make_passage(text: str, rank: int = 1) -> Passage:
    chunk = Chunk(f"c{rank}", f"d{rank}", 1, text, 0, len(text), 0)
    return Passage(chunk, f"Title {rank}", f"file:///{rank}.txt", Hit(chunk.id, 1.0 / rank, rank, "fused"))


@dataclass
class Reply:
    """What the scripted server sends for one request: a status, headers, and the body in separate writes."""

    status: int = 200
    body: list[bytes] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    wait: threading.Event | None = None  #: waited for before the last write


@dataclass
class ScriptedServer:
    url: str
    replies: list[Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    broken_pipes: int = 0
    done: threading.Event = field(default_factory=threading.Event)
