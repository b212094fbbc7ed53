"""From a source to its documents, in this process: the loader is chosen, and its faults cost the one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pincite.errors import LoaderFaultError, LoadError
from pincite.loaders.choose import choose_loader
from pincite.protocols import Container, Loader, Source
from pincite.types import Document, FileOutcome

__all__ = ["InProcessReader", "read_documents"]


def read_documents(loaders: Sequence[Loader | Container], source: Source) -> Iterator[Document | FileOutcome]:
    """The documents of `source`; see `pincite.protocols.Reader`. Raises LoadError or one of its children."""
    try:
        loader = choose_loader(loaders, source)
        if isinstance(loader, Container):
            yield from loader.load_all(source)
        else:
            yield loader.load(source)
    except LoadError:
        raise
    except OSError as error:
        raise LoadError(error.strerror or str(error)) from error
    except Exception as error:
        # A fault of a loader, or of a library below it, costs the one file; its name says whom to tell.
        raise LoaderFaultError(f"the loader failed: {type(error).__name__}: {error}") from error


class InProcessReader:
    """Reads with `loaders` in this process. What hangs in one of them hangs here; see `pincite.loaders.worker`."""

    def __init__(self, loaders: Sequence[Loader | Container]) -> None:
        self._loaders = loaders

    def read(self, source: Source) -> Iterator[Document | FileOutcome]:
        """See `pincite.protocols.Reader`."""
        yield from read_documents(self._loaders, source)

    def close(self) -> None:
        """Nothing to release."""
