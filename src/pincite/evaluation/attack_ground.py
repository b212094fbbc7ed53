"""An index for attacks: made for a run, with documents of one's own in it or none, and thrown away after it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pincite.errors import InputError
from pincite.evaluation.redteam import Ground
from pincite.identity import probe_vectors
from pincite.pipeline import Options, Pipeline
from pincite.protocols import Source, StoreHeader
from pincite.store.plan import Retention

if TYPE_CHECKING:
    from pincite.protocols import Chunker, Encoder, Generator, Reader

__all__ = ["open_ground"]


@contextmanager
def open_ground(
    encoder: Encoder,
    chunker: Chunker,
    reader: Reader,
    *,
    corpus: Sequence[Path] = (),
    passages: int = 5,
    language: str = "english",
) -> Iterator[Ground]:
    """An index in a temporary folder with the documents of `corpus`: files, folders, or a ``corpus.jsonl`` of BEIR.

    Raises InputError for a corpus of which nothing can be read.
    """
    from pincite.store.edge import EdgeStore

    with TemporaryDirectory(prefix="pincite-redteam-") as folder:
        header = StoreHeader(
            identity=encoder.identity,
            probes=tuple(tuple(float(x) for x in probe) for probe in probe_vectors(encoder)),
            language=language,
        )
        store = EdgeStore.create(Path(folder) / "index", header, retention=Retention(0, None))
        pipeline = Pipeline(
            store=store,
            encoder=encoder,
            chunker=chunker,
            reader=reader,
            generator=_no_generator,
            options=Options(answer_passages=passages),
        )
        try:
            for path in corpus:
                if path.suffix == ".jsonl":
                    pipeline.add_sources(list(_records(path)))
                else:
                    pipeline.add(path)
            if corpus and not pipeline.documents():
                raise InputError(f"nothing of {', '.join(map(str, corpus))} could be read")
            yield Ground(pipeline, passages)
        finally:
            pipeline.close()


def _no_generator() -> Generator:
    raise AssertionError("the readers are asked apart from the index")


def _records(path: Path) -> Iterator[Source]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            text = f"{row['title']}\n\n{row['text']}" if row.get("title") else str(row["text"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}, line {number}: no document of BEIR: {error}") from None
        yield Source(f"corpus:{row['_id']}", f"{number}.txt", text.encode("utf-8"))
