"""What an exported index says of itself, checked: the file may come from anywhere. See `pincite.portable`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date, datetime
from itertools import pairwise
from typing import Any

from pincite.loaders.records import read_document
from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.store.payload import MAX_ORDINAL
from pincite.types import VALIDITY_FIELDS, Chunk, Document, StoredDocument, StoredSource

__all__ = ["need", "read_header", "read_source", "read_version", "whole"]

#: No version number, page or dimension beyond it is believed.
_MOST = (1 << 31) - 1
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?\+00:00")
_ID = re.compile(r"\S{1,200}")


def read_header(record: dict[str, Any]) -> StoreHeader:
    """What the manifest says of how the index was made. Raises as `read_version` does."""
    identity = EncoderIdentity(**record["identity"])
    for name in ("name", "revision", "pooling", "query_prefix", "passage_prefix"):
        check_text(getattr(identity, name), name)
    whole(identity.dimension, "dimension", 1, 1 << 16)
    whole(identity.max_tokens, "max_tokens", 1)
    need(isinstance(identity.normalize, bool), "normalize is neither true nor false")
    header = StoreHeader(**{**record, "identity": identity, "probes": tuple(tuple(each) for each in record["probes"])})
    check_text(header.language, "language")
    need(header.created_at == "" or is_moment(header.created_at), "created_at is no moment")
    for probe in header.probes:
        need(len(probe) == identity.dimension, "a probe of another dimension")
        need(all(isinstance(each, int | float) and math.isfinite(each) for each in probe), "a probe of no numbers")
    return header


def read_version(record: dict[str, Any]) -> tuple[Document, StoredDocument, list[Chunk]]:
    """What a line says of one version. Raises ValueError, or whatever Python does, where that cannot be."""
    need(record.keys() == {"document", "stored", "chunks"}, "other fields than it should")
    document = read_document(record["document"])
    for name in ("id", "text", "title", "uri", "media_type", "content_hash"):
        check_text(getattr(document, name), name)
    need(_ID.fullmatch(document.id) is not None, "an id that is none")
    whole(document.version, "version", 1)
    _strings(document.warnings, "warnings")
    _check_metadata(document.metadata)
    length = len(document.text)
    for page in document.pages:
        whole(page.number, "the number of a page", 1)
        check_text(page.label, "the label of a page")
        _span(page.start, page.end, length, "a page")
    for heading in document.headings:
        whole(heading.level, "the level of a heading", 1)
        check_text(heading.text, "a heading")
        _span(heading.start, heading.end, length, "a heading")
    chunks = [_chunk(each, document) for each in record["chunks"]]
    ordinals = [each.ordinal for each in chunks]
    need(all(one < other for one, other in pairwise(ordinals)), "ordinals that do not rise")
    return document, _stored(record["stored"], document, len(chunks)), chunks


def _stored(record: dict[str, Any], document: Document, chunks: int) -> StoredDocument:
    stored = StoredDocument(**{**record, "warnings": tuple(record["warnings"])})
    for name in ("id", "version", "title", "uri", "media_type", "content_hash", "metadata", "warnings"):
        need(getattr(stored, name) == getattr(document, name), f"two different things as its {name}")
    need((stored.chunks, stored.characters) == (chunks, len(document.text)), "a wrong count of chunks or characters")
    for name in ("recipe", "source"):
        check_text(getattr(stored, name), name)
    need(is_moment(stored.added_at), "an added_at that is no moment")
    need(stored.ended_at == "" or is_moment(stored.ended_at), "an ended_at that is no moment")
    for name in ("starts", "removed_on"):
        day = getattr(stored, name)
        need(day == "" or is_day(day), f"a {name} that is no day")
    need(not stored.removed_on or bool(stored.ended_at), "removed_on and no ended_at")
    return stored


def _check_metadata(metadata: Mapping[Any, Any]) -> None:
    for name, value in metadata.items():
        check_text(name, "the name of a metadata field")
        if isinstance(value, str):
            check_text(value, name)
        elif isinstance(value, float):
            need(math.isfinite(value), f"{name} that is no number")
        else:
            need(isinstance(value, int) and abs(value) < 1 << 63, f"{name} that is neither text nor number")
    for name in VALIDITY_FIELDS:
        need(name not in metadata or is_day(metadata[name]), f"a {name} that is no day")


def _chunk(record: dict[str, Any], document: Document) -> Chunk:
    start, end, ordinal, parent, page = (record[name] for name in ("start", "end", "ordinal", "parent", "page"))
    _span(start, end, len(document.text), "a chunk")
    need(start < end, "a chunk without text")
    whole(ordinal, "an ordinal", 0, MAX_ORDINAL)
    _strings(record["headings"], "headings")
    for name in ("before", "after"):
        check_text(record[name], name)
    if page is not None:
        whole(page, "the page of a chunk", 1)
    if parent is not None:
        first, last = parent
        _span(first, last, len(document.text), "the parent of a chunk")
    return Chunk(
        **{
            **record,
            "id": f"{document.id}.{document.version}.{ordinal}",
            "document_id": document.id,
            "version": document.version,
            "text": document.text[start:end],
            "headings": tuple(record["headings"]),
            "parent": None if parent is None else (parent[0], parent[1]),
        }
    )


def read_source(record: dict[str, Any]) -> StoredSource:
    """What a line says of a source. Raises as `read_version` does."""
    source = StoredSource(**record)
    for name, value in asdict(source).items():
        check_text(value, name)
    return source


def need(condition: bool, otherwise: str) -> None:
    """Raise ValueError, which says what it has `otherwise`."""
    if not condition:
        raise ValueError(f"it has {otherwise}")


def whole(value: Any, name: str, least: int, most: int = _MOST) -> None:
    """Raise ValueError unless it is a whole number from `least` to `most`."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} is {value!r:.40}, expected {least} to {most}")


def check_text(value: Any, name: str) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name:.80} is {value!r:.40}, expected text")
    value.encode("utf-8")  # a lone surrogate cannot be


def _strings(values: Iterable[Any], name: str) -> None:
    if not isinstance(values, list | tuple):
        raise ValueError(f"{name} is {values!r:.40}, expected a list")
    for each in values:
        check_text(each, name)


def _span(start: Any, end: Any, length: int, name: str) -> None:
    whole(start, f"the start of {name}", 0, length)
    whole(end, f"the end of {name}", start, length)


def is_day(value: Any) -> bool:
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        return False
    try:
        return bool(date.fromisoformat(value))
    except ValueError:
        return False


def is_moment(value: Any) -> bool:
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        return False
    try:
        return bool(datetime.fromisoformat(value))
    except ValueError:
        return False
