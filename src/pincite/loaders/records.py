"""Documents and outcomes as plain data that JSON can hold, and back: nothing is lost, nothing else is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from pincite.errors import InputError
from pincite.types import Document, FileOutcome, Heading, Page

__all__ = ["document_record", "outcome_record", "read_document", "read_outcome"]

_DOCUMENT = tuple(field.name for field in fields(Document))


def document_record(document: Document) -> dict[str, Any]:
    """`document` as dictionaries, lists, strings and numbers, under the names of its fields."""
    record = {name: getattr(document, name) for name in _DOCUMENT}
    record["metadata"] = dict(document.metadata)
    record["pages"] = [asdict(page) for page in document.pages]
    record["headings"] = [asdict(heading) for heading in document.headings]
    record["warnings"] = list(document.warnings)
    return record


def read_document(record: Mapping[str, Any]) -> Document:
    """The document of which `document_record` made `record`.

    Names are checked, types are not. Raises InputError for names that are missing or that a document does not have.
    """
    try:
        return Document(
            **{
                **record,
                "pages": tuple(Page(**page) for page in record["pages"]),
                "headings": tuple(Heading(**heading) for heading in record["headings"]),
                "warnings": tuple(record["warnings"]),
            }
        )
    except (KeyError, TypeError) as error:
        raise InputError(f"this is not the record of a document: {error}") from error


def outcome_record(outcome: FileOutcome) -> dict[str, Any]:
    """`outcome` as plain data, under the names of its fields."""
    return {**asdict(outcome), "warnings": list(outcome.warnings)}


def read_outcome(record: Mapping[str, Any]) -> FileOutcome:
    """The outcome of which `outcome_record` made `record`. Raises InputError as `read_document` does."""
    try:
        return FileOutcome(**{**record, "warnings": tuple(record["warnings"])})
    except (KeyError, TypeError) as error:
        raise InputError(f"this is not the record of an outcome: {error}") from error
