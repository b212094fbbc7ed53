"""``pincite eval answers``: how well questions are answered, on sets with gold answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from pincite.cli.common import ConfigOption, JsonOption, console, print_json, read_settings

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.config import Settings
    from pincite.encoders.cached import CachedEncoder
    from pincite.evaluation.answer_records import AnswerReport, Opened, Reader
    from pincite.evaluation.answer_sets import AnswerSet
    from pincite.evaluation.index import CorpusIndex, EvaluationListener
    from pincite.protocols import Encoder

__all__ = ["answers"]

#: How long to wait for another evaluation that searches the same index.
_BUSY_SECONDS = 60.0

#: Sections of the settings that no answer depends on. How documents are cut has none either: each is one passage.
_IRRELEVANT = ("store", "load", "chunk")

_SUFFIXES = (".md", ".html", ".json")


def answers(
    sets: Annotated[
        list[Path],
        typer.Argument(metavar="SET…", help="Folders in the BEIR layout whose queries.jsonl has answers."),
    ],
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="What answers, as for `pincite ask`. Default: the settings'."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Address of an OpenAI-compatible endpoint.")
    ] = None,
    marginalize: Annotated[
        str | None,
        typer.Option(
            "--marginalize",
            metavar="none,token,sequence",
            help="How passages are weighed; several are compared. Default: the settings'.",
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "-k",
            "--k",
            metavar="N,N…",
            help="Passages to answer from; several are compared. Default: the settings' answer.passages.",
        ),
    ] = None,
    split: Annotated[str, typer.Option("--split", help="Which judgements: qrels/SPLIT.tsv.")] = "test",
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="Only N questions of each set, drawn by the seed."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the sample, the tests and the intervals.")] = 0,
    rule: Annotated[
        str,
        typer.Option(
            "--rule", metavar="squad|unicode", help="squad: the rule of published figures; unicode: of any language."
        ),
    ] = "squad",
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the report there: .md, .html or .json.")
    ] = None,
    answers_file: Annotated[
        Path | None,
        typer.Option("--answers", metavar="FILE", help="Write every answer there, a line of JSON each."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="DIR", help="Keep vectors, indexes and replies there. Default: the user's."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask again, also what is kept.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure answers: what is found, what the reader makes of the gold passage, and both together.

    Every question is answered from its gold passage alone and from the first k passages found. Exact match and F1 come
    with 95 % intervals, abstentions and failures are counted apart, and configurations are held against the first by a
    paired randomization test. Interrupted, it goes on where it was.

    Exit status: 0 when every question was answered or refused, 1 when some failed.
    """
    from dataclasses import replace

    from pincite.cli.bars import fit_pipe, watched
    from pincite.evaluation.answer_assessment import correct_answers
    from pincite.evaluation.answer_measures import check_rule
    from pincite.evaluation.answer_report import answers_data, answers_remarks, answers_rows, answers_tables
    from pincite.evaluation.answers import evaluate_answers
    from pincite.evaluation.kept_replies import KeptReplies

    chosen = check_rule(rule)
    ks = None if k is None else _numbers(k)
    settings = _settings(config, model, base_url, marginalize, None if ks is None else max(ks))
    ks = ks or (next(iter(settings.values())).answer.passages,)
    for file in (report, answers_file):
        if file is not None:
            _check_place(file, _SUFFIXES if file is report else ())
    err = console(stderr=True)
    found = _load(sets, split, limit, seed, err)
    reports: list[AnswerReport] = []
    with watched(err) as listener, _Bench(settings, ks, cache, listener) as bench:
        try:
            for each in found:
                readers, index = bench.readers(each)
                kept = KeptReplies(bench.folder / "answers" / f"{each.name}.jsonl", fresh=fresh)
                made = evaluate_answers(each, readers, rule=chosen, seed=seed, kept=kept, listener=listener)
                facts = {"documents": index.documents, "passages": index.chunks}
                reports.append(replace(made, facts=facts))
        except KeyboardInterrupt:
            listener.told("interrupted: what was answered is kept; run it again for the rest")
            raise typer.Exit(130) from None
    reports = correct_answers(reports)
    about = _about(settings, seed)
    if answers_file is not None:
        rows = (json.dumps(row, ensure_ascii=False) + "\n" for each in reports for row in answers_rows(each))
        _write(answers_file, "".join(rows))
        err.print(f"answers written to {answers_file}", markup=False, soft_wrap=True)
    if report is not None:
        _write(report, _report_text(report.suffix.lower(), reports, about))
        err.print(f"written to {report}", markup=False, soft_wrap=True)
    if as_json:
        print_json({"about": about, **answers_data(reports)})
    else:
        out = fit_pipe(console())
        for table in answers_tables(reports, width=out.width):
            out.print(table)
        for told in reports:
            for remark in answers_remarks(told):
                err.print(f"{told.dataset}: {remark}", markup=False)
    if any(told.failed for told in reports):
        raise typer.Exit(1)


# What is asked


def _numbers(written: str) -> tuple[int, ...]:
    from pincite.errors import InputError

    parts = [each.strip() for each in written.split(",")]
    if not all(each.isascii() and each.isdecimal() and 1 <= int(each) <= 1000 for each in parts):
        raise InputError(f"-k takes whole numbers from 1 to 1000 with commas between them, got {written!r}")
    return tuple(dict.fromkeys(int(each) for each in parts))


def _settings(
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


def _load(folders: Sequence[Path], split: str, limit: int | None, seed: int, err: Console) -> list[AnswerSet]:
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


# The parts put together


class _Bench:
    """Settings, the encoder and the cache of one run."""

    def __init__(
        self, settings: Mapping[str, Settings], ks: tuple[int, ...], cache: Path | None, listener: EvaluationListener
    ) -> None:
        from pincite.answer_models import build_generator
        from pincite.build import build_encoder, cache_folder
        from pincite.encoders.cached import CachedEncoder

        self.settings = settings
        self.ks = ks
        self.listener = listener
        self.folder = (cache.expanduser() if cache else cache_folder()) / "evaluation"
        first = next(iter(settings.values()))
        self.encoder: Encoder = build_encoder(first)
        for each in settings.values():
            build_generator(each, self.encoder).close()  # what cannot be made is told before anything is indexed
        self.cached: CachedEncoder = CachedEncoder(self.encoder, self.folder / "vectors")

    def __enter__(self) -> _Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.cached.close()

    def readers(self, answers: AnswerSet) -> tuple[list[Reader], CorpusIndex]:
        """Every way of answering the questions of a set, over the index of its corpus."""
        from pincite.build import index_options
        from pincite.evaluation.index import ensure_index
        from pincite.store.edge import EdgeStore

        settings = next(iter(self.settings.values()))
        options = index_options(settings)
        vectors = json.dumps(settings.index.model_dump(mode="json"), sort_keys=True)
        index = ensure_index(
            answers.dataset,
            self.folder / "indexes",
            create=lambda folder, header: EdgeStore.create(folder, header, index=options),
            encoder=self.cached,
            language=settings.search.language or "english",
            recipe=f" {vectors}",  # as `pincite eval retrieval` names it: one index serves both
            listener=self.listener,
        )
        return [self._reader(name, each, index) for name, each in self.settings.items()], index

    def _reader(self, name: str, settings: Settings, index: CorpusIndex) -> Reader:
        from pincite import __version__
        from pincite.evaluation.answer_records import Reader

        data: dict[str, Any] = {key: value for key, value in settings.masked().items() if key not in _IRRELEVANT}
        data["answer"] = {key: value for key, value in data["answer"].items() if key not in ("passages", "timeout")}
        recipe = json.dumps({"index": index.key, "settings": data, "pincite": __version__}, sort_keys=True)
        return Reader(name, self.ks, recipe, lambda: self._opened(settings, index))

    @contextmanager
    def _opened(self, settings: Settings, index: CorpusIndex) -> Iterator[Opened]:
        import time

        from pincite.build import Pincite, index_options
        from pincite.evaluation.answer_records import Found, Opened
        from pincite.evaluation.answerers import GeneratorAnswerer
        from pincite.evaluation.timed import TimedQueries
        from pincite.store.edge import EdgeStore
        from pincite.types import Hit, Passage

        timed = TimedQueries(self.encoder, self.cached)
        options = index_options(settings)
        with (
            EdgeStore.open(index.folder, timeout=_BUSY_SECONDS, index=options) as store,
            Pincite.over(settings, store, cast("Encoder", timed)) as pincite,
        ):

            def search(question: str, k: int) -> Found:
                timed.encode_seconds = timed.aside_seconds = 0.0
                started = time.perf_counter()
                result = pincite.search(question, k=k)
                taken = time.perf_counter() - started
                return Found(result.passages, max(0.0, taken - timed.aside_seconds) + timed.encode_seconds)

            def passages(document_ids: Sequence[str]) -> list[Passage]:
                chunks = [chunk for each in document_ids for chunk in store.chunks(each)]
                # Not found by anything: each as good as certain, whatever makes priors of scores.
                return store.passages(Hit.ranked([chunk.id for chunk in chunks], [1.0] * len(chunks), "dense"))

            answerer = GeneratorAnswerer(pincite.generator, pincite.options.prompt_tokens)
            yield Opened(answerer, search, passages)


# Telling


def _about(settings: Mapping[str, Settings], seed: int) -> list[str]:
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
            if section not in _IRRELEVANT
            for key, value in body.items()
        }
        if marginalization(each) != "none" and each.answer.prior_temperature is None:
            in_force["answer.prior_temperature"] = "by stage"  # unset, each stage's scores have their own
        told = "; ".join(f"{key} = {value}" for key, value in in_force.items() if value is not None)
        lines.append(f"{name}: {told}")
    return lines


def _report_text(suffix: str, reports: Sequence[AnswerReport], about: Sequence[str]) -> str:
    from pincite.evaluation.answer_page import answers_html
    from pincite.evaluation.answer_report import answers_data, answers_markdown

    if suffix == ".json":
        return json.dumps({"about": list(about), **answers_data(reports)}, ensure_ascii=False, indent=2) + "\n"
    title = f"Answers on {', '.join(each.dataset for each in reports)}"
    made = answers_markdown if suffix == ".md" else answers_html
    return made(reports, title=title, about=about)


def _check_place(file: Path, suffixes: Sequence[str]) -> None:
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


def _write(file: Path, text: str) -> None:
    from pincite.errors import InputError

    try:
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
