"""Every error pincite raises on purpose, drawn as a tree.

    PinciteError                 exit code 1
    ├── ConfigError              a setting is unknown, of the wrong type or contradicts another      (2)
    ├── InputError               what the caller passed cannot be used                               (2)
    │   └── LoadError            one file cannot be read; the run goes on without it
    │       ├── UnsupportedFormatError
    │       ├── EncryptedError
    │       ├── LoaderFaultError
    │       ├── MemoryLimitError
    │       ├── NoTextError
    │       └── ReadTimeoutError
    ├── MissingExtraError        an optional part is not installed; names the extra                  (2)
    ├── StoreError               the index cannot do what was asked                                  (1)
    │   ├── StoreBusyError       another process holds it                                            (3)
    │   ├── IndexFormatError     written by another version, or damaged                              (4)
    │   └── EncoderMismatchError built with another encoder; names the command that mends it         (4)
    └── BackendError             a model or an endpoint failed while it worked                       (5)

The number in brackets is the exit code of the command line.
"""

from __future__ import annotations

__all__ = [
    "BackendError",
    "ConfigError",
    "EncoderMismatchError",
    "EncryptedError",
    "IndexFormatError",
    "InputError",
    "LoadError",
    "LoaderFaultError",
    "MemoryLimitError",
    "MissingExtraError",
    "NoTextError",
    "PinciteError",
    "ReadTimeoutError",
    "StoreBusyError",
    "StoreError",
    "UnsupportedFormatError",
]


class PinciteError(Exception):
    """Base of every error raised on purpose. The message says what, what was got, and what to do."""

    exit_code = 1


class ConfigError(PinciteError):
    """A setting is unknown, of the wrong type, out of range or contradicts another."""

    exit_code = 2


class InputError(PinciteError, ValueError):
    """An argument cannot be used."""

    exit_code = 2


class LoadError(InputError):
    """One document cannot be read. A run reports it under `reason` and goes on.

    `reason` is a short stable word for counting: ``unreadable``, ``unsupported``, ``encrypted``, ``no-text`` …
    """

    reason = "unreadable"


class UnsupportedFormatError(LoadError):
    """No loader reads this kind of file."""

    reason = "unsupported"


class LoaderFaultError(LoadError):
    """The loader itself failed: a fault to report, not one of the file's kind."""

    reason = "loader-fault"


class EncryptedError(LoadError):
    """The file needs a password to open."""

    reason = "encrypted"


class NoTextError(LoadError):
    """The file opened but holds no text to index."""

    reason = "no-text"


class ReadTimeoutError(LoadError):
    """Reading took longer than the setting `load.seconds` allows, and was stopped."""

    reason = "timeout"


class MemoryLimitError(LoadError):
    """Reading took more memory than the setting `load.memory_mb` allows, or than there was."""

    reason = "memory"


class MissingExtraError(PinciteError):
    """An optional dependency is absent."""

    exit_code = 2

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part. Install it with: pip install 'pincite[{extra}]'")
        self.extra = extra


class StoreError(PinciteError):
    """The index cannot do what was asked."""


class StoreBusyError(StoreError):
    """Another process holds the index."""

    exit_code = 3


class IndexFormatError(StoreError):
    """The index was written by another version of pincite, or is damaged."""

    exit_code = 4


class EncoderMismatchError(StoreError):
    """The index was built with another encoder: its vectors cannot be compared with new ones."""

    exit_code = 4


class BackendError(PinciteError):
    """A model or an endpoint failed while it worked."""

    exit_code = 5
