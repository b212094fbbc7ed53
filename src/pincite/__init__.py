"""pincite answers questions from your own documents and proves every sentence.

    >>> from pincite import Pincite
    >>> p = Pincite.open("library")           # doctest: +SKIP
    >>> p.add("contracts/")                   # doctest: +SKIP
    >>> answer = p.ask("When does it end?")   # doctest: +SKIP
    >>> answer.text, answer.citations         # doctest: +SKIP

Public names are resolved when they are first used: importing the package loads no model library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pincite.build import Pincite, reindex
    from pincite.config import Settings, load_settings
    from pincite.errors import (
        BackendError,
        ConfigError,
        EncoderMismatchError,
        EncryptedError,
        IndexFormatError,
        InputError,
        LoaderFaultError,
        LoadError,
        MemoryLimitError,
        MissingExtraError,
        NoTextError,
        PinciteError,
        ReadTimeoutError,
        StoreBusyError,
        StoreError,
        UnsupportedFormatError,
    )
    from pincite.indexing import AddListener
    from pincite.pipeline import Options, Pipeline
    from pincite.types import (
        AddReport,
        Alarm,
        Answer,
        Chunk,
        Citation,
        Conflict,
        Correction,
        Document,
        Evidence,
        FileOutcome,
        Filter,
        Generation,
        Heading,
        Hit,
        Message,
        Page,
        Passage,
        Prompt,
        Qrels,
        Quotation,
        Run,
        SearchResult,
        StoredDocument,
        Support,
        Token,
        Verdict,
    )

__version__ = "0.1.0"

_HOME = {
    "pincite.build": ("Pincite", "reindex"),
    "pincite.config": ("Settings", "load_settings"),
    "pincite.errors": (
        "BackendError",
        "ConfigError",
        "EncoderMismatchError",
        "EncryptedError",
        "IndexFormatError",
        "InputError",
        "LoaderFaultError",
        "LoadError",
        "MemoryLimitError",
        "MissingExtraError",
        "NoTextError",
        "PinciteError",
        "ReadTimeoutError",
        "StoreBusyError",
        "StoreError",
        "UnsupportedFormatError",
    ),
    "pincite.indexing": ("AddListener",),
    "pincite.pipeline": ("Options", "Pipeline"),
    "pincite.types": (
        "AddReport",
        "Alarm",
        "Answer",
        "Chunk",
        "Citation",
        "Conflict",
        "Correction",
        "Document",
        "Evidence",
        "FileOutcome",
        "Filter",
        "Generation",
        "Heading",
        "Hit",
        "Message",
        "Page",
        "Passage",
        "Prompt",
        "Qrels",
        "Quotation",
        "Run",
        "SearchResult",
        "StoredDocument",
        "Support",
        "Token",
        "Verdict",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "AddListener",
    "AddReport",
    "Alarm",
    "Answer",
    "BackendError",
    "Chunk",
    "Citation",
    "ConfigError",
    "Conflict",
    "Correction",
    "Document",
    "EncoderMismatchError",
    "EncryptedError",
    "Evidence",
    "FileOutcome",
    "Filter",
    "Generation",
    "Heading",
    "Hit",
    "IndexFormatError",
    "InputError",
    "LoadError",
    "LoaderFaultError",
    "MemoryLimitError",
    "Message",
    "MissingExtraError",
    "NoTextError",
    "Options",
    "Page",
    "Passage",
    "Pincite",
    "PinciteError",
    "Pipeline",
    "Prompt",
    "Qrels",
    "Quotation",
    "ReadTimeoutError",
    "Run",
    "SearchResult",
    "Settings",
    "StoreBusyError",
    "StoreError",
    "StoredDocument",
    "Support",
    "Token",
    "UnsupportedFormatError",
    "Verdict",
    "load_settings",
    "reindex",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
