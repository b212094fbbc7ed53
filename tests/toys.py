"""Stand-ins that are quick and need no weights. They are called toys so that nobody takes them for the real thing.

`ToyEncoder` hashes words into a few dimensions: texts that share words are near each other, the same text always has
the same vector, on every machine. `make_document` and `make_chunks` build records that a store accepts.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pincite.loaders.ids import document_id
from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.types import Chunk, Document, MetadataValue, Page

if TYPE_CHECKING:
    from pincite.protocols import Matrix

__all__ = ["ToyEncoder", "ToyTokenizer", "copy_index", "make_chunks", "make_document", "toy_header"]

_WORD = re.compile(r"\S+")


class ToyTokenizer:
    """A word between white space is a token."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in _WORD.finditer(text)]


class ToyEncoder:
    """Words hashed into `dimension` signed sums, scaled to length 1. Reads the first `max_tokens` words.

    `permutation`, if given, reorders the dimensions: the vectors of another model of the same shape.
    """

    def __init__(
        self,
        dimension: int = 16,
        *,
        name: str = "toy",
        revision: str = "toy-1",
        max_tokens: int = 64,
        query_prefix: str = "",
        passage_prefix: str = "",
        permutation: Sequence[int] | None = None,
    ) -> None:
        self.dimension = dimension
        self.name = name
        self.revision = revision
        self._max_tokens = max_tokens
        self.query_prefix = query_prefix
        self.passage_prefix = passage_prefix
        self.permutation = permutation
        self.tokenizer = ToyTokenizer()

    @property
    def identity(self) -> EncoderIdentity:
        return EncoderIdentity(
            name=self.name,
            revision=self.revision,
            dimension=self.dimension,
            pooling="mean",
            normalize=True,
            query_prefix=self.query_prefix,
            passage_prefix=self.passage_prefix,
            max_tokens=self._max_tokens,
        )

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def reads(self, text: str) -> float:  # noqa: ARG002
        return 1.0

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        return self._encode([self.query_prefix + text for text in texts])

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        return self._encode([self.passage_prefix + text for text in texts])

    def _encode(self, texts: Sequence[str]) -> Matrix:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().split()[: self._max_tokens]:
                digest = hashlib.sha256(word.strip(".,;:!?()[]\"'").encode("utf-8", "surrogatepass")).digest()
                vectors[row] += np.frombuffer(digest, dtype=np.uint8)[: self.dimension].astype(np.float32) - 127.5
        # A text without words has a direction too: a store refuses a zero vector.
        vectors[~vectors.any(axis=1), 0] = 1
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors if self.permutation is None else vectors[:, list(self.permutation)]


def toy_header(encoder: ToyEncoder | None = None, language: str = "english") -> StoreHeader:
    """The header of an index made with `encoder`, without probes."""
    return StoreHeader((encoder or ToyEncoder()).identity, probes=(), language=language)


def make_document(
    text: str = "One line.\nAnother line.",
    uri: str = "toy:notes.txt",
    *,
    version: int = 1,
    title: str | None = None,
    id: str | None = None,
    media_type: str = "text/plain",
    metadata: Mapping[str, MetadataValue] | None = None,
    pages: tuple[Page, ...] = (),
) -> Document:
    """A document; its id follows from `uri`, its title from the last part of it."""
    return Document(
        id=document_id(uri) if id is None else id,
        text=text,
        title=re.split(r"[:/]", uri)[-1] if title is None else title,
        uri=uri,
        media_type=media_type,
        content_hash=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        version=version,
        metadata=metadata or {},
        pages=pages,
    )


def make_chunks(document: Document, split: Callable[[str], list[tuple[int, int]]] | None = None) -> list[Chunk]:
    """One chunk a line that is not blank, or one for every span that `split` gives."""
    spans = split(document.text) if split else [match.span() for match in re.finditer(r"\S[^\n]*", document.text)]
    return [
        Chunk(
            id=f"{document.id}.{document.version}.{ordinal}",
            document_id=document.id,
            version=document.version,
            text=document.text[start:end],
            start=start,
            end=end,
            ordinal=ordinal,
            page=document.page_at(start),
        )
        for ordinal, (start, end) in enumerate(spans)
    ]


def copy_index(source: Path, target: Path) -> None:
    """Copy the folder of a closed index; much quicker than to make one."""
    shutil.copytree(source, target, copy_function=_copy_sparse)


def _copy_sparse(source: str, target: str) -> None:
    """Copy what a file holds, not its holes: the engine's files are mostly that."""
    if not hasattr(os, "SEEK_DATA"):
        shutil.copyfile(source, target)
        return
    with open(source, "rb") as old, open(target, "wb") as new:
        size = os.fstat(old.fileno()).st_size
        new.truncate(size)
        start = 0
        while start < size:
            try:
                start = os.lseek(old.fileno(), start, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                return
            end = os.lseek(old.fileno(), start, os.SEEK_HOLE)
            old.seek(start)
            new.seek(start)
            new.write(old.read(end - start))
            start = end
