"""A store whose clock is set by the test, and short ways to write versions into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import pytest

from pincite.store import edge
from pincite.store.edge import EdgeStore
from pincite.store.plan import Retention
from pincite.types import Document, Hit, MetadataValue, PointInTime
from toys import ToyEncoder, make_chunks, make_document, toy_header

ENCODER = ToyEncoder(8)


def digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


@dataclass
class Archive:
    """A store under test. `clock` is what it holds for the present moment."""

    folder: Path
    store: EdgeStore
    clock: str = "2024-01-01T12:00:00.000+00:00"

    def reopen(self, retention: Retention | None = None) -> None:
        self.store.close()
        self.store = EdgeStore.open(self.folder, retention=retention or self.store._retention)

    def stage(self, text: str, uri: str = "toy:a", **metadata: MetadataValue) -> int:
        document = make_document(text, uri, metadata=metadata)
        document = replace(document, version=self.store.next_version(document.id))
        ticket = self.store.stage(document)
        chunks = make_chunks(document)
        vectors = ENCODER.encode_passages([chunk.text for chunk in chunks])
        self.store.stage_chunks(ticket, chunks, [""] * len(chunks), vectors, [digest(chunk.text) for chunk in chunks])
        return ticket

    def put(self, text: str, uri: str = "toy:a", **metadata: MetadataValue) -> Document:
        (stored,) = self.store.commit([self.stage(text, uri, **metadata)])
        found = self.store.get_document(stored.id, stored.version)
        # Of one that is not kept (it ended in the past) there is nothing.
        assert found is not None
        return found

    def words(self, query: str, at: PointInTime | None = None) -> list[str]:
        return self.texts(self.store.search_lexical(query, 99, at=at))

    def near(self, text: str, at: PointInTime | None = None) -> list[str]:
        """Every chunk that the dense leg reaches, nearest first."""
        return self.texts(self.store.search_dense(ENCODER.encode_queries([text])[0], 999, at=at))

    def texts(self, hits: Sequence[Hit]) -> list[str]:
        passages = self.store.passages(hits)
        assert len(passages) == len(hits)
        return [passage.chunk.text for passage in passages]


def make_archive(folder: Path, monkeypatch: pytest.MonkeyPatch, retention: Retention) -> Archive:
    archive = Archive(folder, EdgeStore.create(folder, toy_header(ENCODER), retention=retention))
    monkeypatch.setattr(edge, "now", lambda: archive.clock)
    return archive


ALL = Retention(None)
