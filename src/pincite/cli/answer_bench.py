"""What the evaluations of answers share on the command line: the sets, the settings, the index, where reports go."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.cli.common import read_settings

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.config import Settings
    from pincite.encoders.cached import CachedEncoder
    from pincite.evaluation.answer_sets import AnswerSet
    from pincite.evaluation.index import CorpusIndex, EvaluationListener
    from pincite.protocols import Encoder

__all__ = [
    "BUSY_SECONDS",
    "IRRELEVANT",
    "SUFFIXES",
    "Bench",
    "about_run",
    "check_place",
    "load_sets",
    "numbers",
    "reader_settings",
    "write",
]

#: How long to wait for another evaluation that searches the same index.
BUSY_SECONDS = 60.0

#: Sections of the settings that no answer depends on. How documents are cut has none either: each is one passage.
IRRELEVANT = ("store", "load", "chunk")

SUFFIXES = (".md", ".html", ".json")


class Bench:
    """Settings, the encoder and the cache of one run."""

    def __init__(self, settings: Mapping[str, Settings], cache: Path | None, listener: EvaluationListener) -> None:
        from pincite.answer_models import build_generator
        from pincite.build import build_encoder, cache_folder
        from pincite.encoders.cached import CachedEncoder

        self.settings = settings
        self.listener = listener
        self.folder = (cache.expanduser() if cache else cache_folder()) / "evaluation"
        self.encoder: Encoder = build_encoder(self.first)
        for each in settings.values():
            build_generator(each, self.encoder).close()  # what cannot be made is told before anything is indexed
        self.cached: CachedEncoder = CachedEncoder(self.encoder, self.folder / "vectors")

    @property
    def first(self) -> Settings:
        """Those of the first reader."""
        return next(iter(self.settings.values()))

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.cached.close()

    def index(self, answers: AnswerSet) -> CorpusIndex:
        """The index of the corpus of a set, built where it is not there."""
        from pincite.build import index_options
        from pincite.evaluation.index import ensure_index
        from pincite.store.edge import EdgeStore

        settings = self.first
        options = index_options(settings)
        vectors = json.dumps(settings.index.model_dump(mode="json"), sort_keys=True)
        return ensure_index(
            answers.dataset,
            self.folder / "indexes",
            create=lambda folder, header: EdgeStore.create(folder, header, index=options),
            encoder=self.cached,
            language=settings.search.language or "english",
            recipe=f" {vectors}",  # as `pincite eval retrieval` names it: one index serves both
            listener=self.listener,
        )

    def recipe(self, settings: Settings, index: CorpusIndex) -> str:
        """Everything that a reader's answers depend on beside question and passages."""
        from pincite import __version__

        data = {key: value for key, value in settings.masked().items() if key not in IRRELEVANT}
        data["answer"] = {key: value for key, value in data["answer"].items() if key not in ("passages", "timeout")}
        return json.dumps({"index": index.key, "settings": data, "pincite": __version__}, sort_keys=True)


def numbers(written: str) -> tuple[int, ...]:
    """``1,3,5`` as numbers, each once. Raises InputError for what is none."""
    from pincite.errors import InputError

    parts = [each.strip() for each in written.split(",")]
    if not all(each.isascii() and each.isdecimal() and 1 <= int(each) <= 1000 for each in parts):
        raise InputError(f"-k takes whole numbers from 1 to 1000 with commas between them, got {written!r}")
    return tuple(dict.fromkeys(int(each) for each in parts))


def reader_settings(
    config: Path | None, model: str | None, base_url: str | None, marginalize: str | None, most: int | None
) -> dict[str, Settings]:
    """Settings by the name of the reader they make: one for each way of weighing passages.

    `most` passages are offered to it; None leaves the settings' own number.
    """
    from pincite.answer_models import marginalization

    # What is put together of neighbours, and looked for deeper, has no part where a document is one passage.
    given: dict[str, object] = {
        "answer_model": model,
        "answer_base_url": base_url,
        "answer_passages": most,
        "search_merge": 0,
        "search_per_document": 0,
    }
    if marginalize is None:
        settings = read_settings(None, config, **given)
        return {marginalization(settings): settings}
    modes = dict.fromkeys(each.strip() for each in marginalize.split(","))
    return {mode: read_settings(None, config, **given, answer_marginalize=mode) for mode in modes}


def load_sets(folders: Sequence[Path], split: str, limit: int | None, seed: int, err: Console) -> list[AnswerSet]:
    """The sets. Every one is read before any question is asked."""
    from pincite.errors import InputError
    from pincite.evaluation.answer_sets import load_answer_set, sample_questions
    from pincite.evaluation.datasets import find_datasets

    found: list[AnswerSet] = []
    for folder in folders:
        inside = find_datasets(folder)
        for each in inside:
            try:
                loaded = load_answer_set(each, split)
            except InputError as error:
                # One that is named must have answers; one of many that has none is passed over.
                if inside == [folder]:
                    raise
                err.print(f"left out: {error}", markup=False, soft_wrap=True)
                continue
            found.append(sample_questions(loaded, limit, seed))
    if not found:
        raise InputError(f"no set in {', '.join(map(str, folders))} has questions with answers")
    names = [each.name for each in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two sets are named {twice[0]!r}: rename a folder, or measure them apart")
    return found


def about_run(settings: Mapping[str, Settings], seed: int) -> list[str]:
    """How the figures were made: the command, the version, the machine and the settings in force, a line each."""
    import os
    import platform
    import shlex
    import sys

    from pincite import __version__
    from pincite.answer_models import marginalization

    lines = [
        shlex.join(["pincite", *sys.argv[1:]]),
        f"pincite {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, seed {seed}",
    ]
    for name, each in settings.items():
        in_force = {
            f"{section}.{key}": value
            for section, body in each.masked().items()
            if section not in IRRELEVANT
            for key, value in body.items()
        }
        if marginalization(each) != "none" and each.answer.prior_temperature is None:
            in_force["answer.prior_temperature"] = "by stage"  # unset, each stage's scores have their own
        told = "; ".join(f"{key} = {value}" for key, value in in_force.items() if value is not None)
        lines.append(f"{name}: {told}")
    return lines


def check_place(file: Path, suffixes: Sequence[str]) -> None:
    """Raises InputError where `file` cannot be written: known before the work rather than after it."""
    import os

    from pincite.errors import InputError

    if suffixes and file.suffix.lower() not in suffixes:
        raise InputError(f"--report {file}: the name must end with {', '.join(suffixes)}")
    if not file.parent.is_dir():
        raise InputError(f"{file}: there is no folder {file.parent}: create it first")
    if file.is_dir():
        raise InputError(f"{file} is a folder: name a file in it")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise InputError(f"{file} cannot be written: permission denied")


def write(file: Path, text: str) -> None:
    """Write a report. Raises InputError where that fails."""
    from pincite.errors import InputError

    try:
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
