"""What a point of the engine carries: the chunk, what filters compare, and how it is told from others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pincite.analysis import analyze
from pincite.errors import InputError
from pincite.types import Chunk, Document, Hit, MetadataValue, Passage

__all__ = [
    "KEY",
    "MAX_ORDINAL",
    "NO_POINT",
    "ORDINAL_BITS",
    "PAST",
    "TAGS",
    "TERMS",
    "check_chunks",
    "check_record",
    "chunk_id",
    "make_payload",
    "read_chunk",
    "read_passage",
    "storable",
    "tag",
]

ORDINAL_BITS = 24
#: An id that no point has: keys count from 1.
NO_POINT = 0
MAX_ORDINAL = (1 << ORDINAL_BITS) - 1

#: Names of the fields that are searched and filtered.
TERMS = "terms"
KEY = "key"
TAGS = "tags"
#: 1 in the points of a version that is no longer current; absent in others.
PAST = "past"


def chunk_id(document_id: str, version: int, ordinal: int) -> str:
    """The id of a chunk, which follows from its place."""
    return f"{document_id}.{version}.{ordinal}"


def storable(text: str) -> bool:
    """Whether text can be written as UTF-8, which a lone surrogate cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def check_record(document: Document) -> None:
    """Raise InputError for what neither engine can keep as it is."""
    for name in ("id", "uri", "title", "text", "media_type", "content_hash"):
        if not storable(getattr(document, name)):
            raise InputError(f"the {name} of {document.uri!r} holds a lone surrogate, which is not text")
    for name, value in document.metadata.items():
        if not isinstance(value, str | int | float | bool):
            raise InputError(
                f"the metadata field {name!r} of {document.uri!r} is {value!r}: expected text, a number, true or false"
            )
        if not storable(f"{name}{value}"):
            raise InputError(f"the metadata field {name!r} of {document.uri!r} holds a lone surrogate")


def check_chunks(chunks: Iterable[Chunk], document: Document, last: int) -> int:
    """Raise InputError for chunks that do not follow ordinal `last` in this document. Returns their last ordinal."""
    for chunk in chunks:
        if (chunk.document_id, chunk.version) != (document.id, document.version):
            raise InputError(f"chunk {chunk.id} is not of {document.id} version {document.version}")
        if not last < chunk.ordinal <= MAX_ORDINAL:
            raise InputError(f"chunk {chunk.id} has ordinal {chunk.ordinal}: ordinals rise, to {MAX_ORDINAL}")
        if chunk.id != chunk_id(document.id, document.version, chunk.ordinal):
            raise InputError(f"chunk {chunk.id!r} is not named by its document, version and ordinal")
        last = chunk.ordinal
    return last


def tag(name: str, value: MetadataValue) -> str:
    """One filterable fact. Values compare as people write them: ``--where year=1973`` finds 1973 and "1973"."""
    if isinstance(value, bool):
        written = "true" if value else "false"
    elif isinstance(value, float) and value.is_integer():
        written = str(int(value))
    else:
        written = str(value)
    return json.dumps([name, written])  # not "name=value": a name may hold "=" as well


def make_payload(key: int, chunk: Chunk, document: Document, context: str, language: str) -> dict[str, Any]:
    """Everything the engine keeps of a chunk beside its vector. `key` is the catalogue's of the document version."""
    facts: dict[str, MetadataValue] = {
        **document.metadata,
        "document_id": document.id,
        "media_type": document.media_type,
        "title": document.title,
        "uri": document.uri,
        "version": chunk.version,
    }
    if chunk.page is not None:
        facts["page"] = chunk.page
    return {
        KEY: key,
        TAGS: [tag(name, value) for name, value in facts.items()],
        TERMS: " ".join(analyze(f"{context}\n{chunk.text}", language)),
        "id": chunk.id,
        "document_id": chunk.document_id,
        "version": chunk.version,
        "ordinal": chunk.ordinal,
        "text": chunk.text,
        "start": chunk.start,
        "end": chunk.end,
        "headings": list(chunk.headings),
        "page": chunk.page,
        "before": chunk.before,
        "after": chunk.after,
        "parent": chunk.parent,
        "title": document.title,
        "uri": document.uri,
        # As JSON: the engine would turn 2.0 into 2 and reorder.
        "metadata": json.dumps(dict(document.metadata), ensure_ascii=False),
    }


def read_chunk(payload: Mapping[str, Any]) -> Chunk:
    """The chunk that a payload holds."""
    return Chunk(
        id=payload["id"],
        document_id=payload["document_id"],
        version=payload["version"],
        text=payload["text"],
        start=payload["start"],
        end=payload["end"],
        ordinal=payload["ordinal"],
        headings=tuple(payload["headings"]),
        page=payload["page"],
        # Absent in an index of an older version.
        before=payload.get("before", ""),
        after=payload.get("after", ""),
        parent=tuple(parent) if (parent := payload.get("parent")) else None,
    )


def read_passage(payload: Mapping[str, Any], hit: Hit) -> Passage:
    """The chunk of a payload with its document's names and the hit that found it."""
    return Passage(
        chunk=read_chunk(payload),
        title=payload["title"],
        uri=payload["uri"],
        hit=hit,
        metadata=json.loads(payload["metadata"]),
    )
