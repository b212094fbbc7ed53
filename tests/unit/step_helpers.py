"""Small records for the tests of the steps between the parts."""

from __future__ import annotations

from pincite.types import Chunk, Hit, Passage


def passage(text: str, *, title: str = "Lease", start: int = 0, headings: tuple[str, ...] = (), n: int = 1) -> Passage:
    chunk = Chunk(f"d{n}.1.0", f"d{n}", 1, text, start, start + len(text), 0, headings)
    return Passage(chunk, title, f"/{title}.txt", Hit(chunk.id, 1.0, n, "fused"))


def ranking(chunk_ids: str | list[str], stage: str = "dense") -> list[Hit]:
    return [Hit(chunk_id, 0.0, rank, stage) for rank, chunk_id in enumerate(chunk_ids, start=1)]
