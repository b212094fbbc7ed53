"""A pipeline over a real store, with an encoder that counts and a toy of a file that holds several documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.chunkers.structure import StructureChunker
from pincite.errors import LoadError
from pincite.generators.extractive import ExtractiveGenerator
from pincite.loaders.ids import document_id
from pincite.loaders.read import InProcessReader
from pincite.loaders.text import TextLoader
from pincite.pipeline import Options, Pipeline
from pincite.protocols import Source
from pincite.store.edge import EdgeStore
from pincite.store.plan import Retention
from pincite.types import Document, FileOutcome
from toys import ToyEncoder, toy_header

if TYPE_CHECKING:
    from pincite.protocols import Matrix


class CountingEncoder(ToyEncoder):
    """Counts the texts that it is given."""

    def __init__(self) -> None:
        super().__init__(8)
        self.given: list[str] = []

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        self.given += texts
        return super().encode_passages(texts)


class ToyBox:
    """Lines of ``name=text``: each a document of its own. ``name=!`` cannot be read; ``!!`` spoils the whole."""

    name = "toy-box"
    suffixes = frozenset({".box"})

    def __init__(self) -> None:
        self.read = 0

    def load_all(self, source: Source) -> Iterator[Document | FileOutcome]:
        self.read += 1
        for line in source.data.decode().splitlines():
            if line == "!!":
                raise LoadError("spoilt")
            name, _, text = line.partition("=")
            uri = f"{source.uri}#{name}"
            if text == "!":
                yield FileOutcome(uri, "skipped", reason="damaged", detail="a toy of damage")
            else:
                digest = hashlib.sha256(text.encode()).hexdigest()
                yield Document(document_id(uri), text, name, uri, "text/x-toy", digest)


class Library:
    """A folder of files, an index of it, and what was counted."""

    def __init__(self, root: Path, retention: Retention | None = None, recipe: str = "r1", reading: str = "l1") -> None:
        self.files = root / "files"
        self.files.mkdir(exist_ok=True)
        self.encoder = CountingEncoder()
        self.box = ToyBox()
        kept = retention or Retention(None)
        index = root / "index"
        if EdgeStore.exists(index):
            self.store = EdgeStore.open(index, retention=kept)
        else:
            self.store = EdgeStore.create(index, toy_header(self.encoder), retention=kept)
        self.pipeline = Pipeline(
            store=self.store,
            encoder=self.encoder,
            chunker=StructureChunker(self.encoder.tokenizer, size=40),
            reader=InProcessReader([self.box, TextLoader()]),
            generator=lambda: ExtractiveGenerator(self.encoder),
            options=Options(recipe=recipe, reading=reading),
        )

    def write(self, name: str, text: str) -> Path:
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def texts(self) -> dict[str, str]:
        """What is current, by the name of its file."""
        found = {}
        for each in self.pipeline.documents():
            document = self.store.get_document(each.id)
            assert document is not None
            found[Path(each.uri).name] = document.text.strip()
        return found

    def found(self, query: str, **at: str) -> list[str]:
        """Texts of the passages that words find."""
        result = self.pipeline.search(query, mode="bm25", **at)  # type: ignore[arg-type]
        return sorted(passage.chunk.text.strip() for passage in result.passages)

    def close(self) -> None:
        self.pipeline.close()


def told(outcomes: Sequence[FileOutcome]) -> dict[str, str]:
    """Name → what became of it."""
    return {Path(each.uri).name: each.status for each in outcomes}
