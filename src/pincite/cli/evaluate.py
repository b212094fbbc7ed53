"""``pincite eval``: how well this finds, on sets with known answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite.cli.common import ConfigOption, JsonOption, console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.config import Settings
    from pincite.encoders.cached import CachedEncoder
    from pincite.evaluation.compare import Configuration, Outcome, Search, SearchRun, SetReport
    from pincite.evaluation.datasets import Dataset
    from pincite.evaluation.index import CorpusIndex, EvaluationListener
    from pincite.protocols import Encoder, EncoderIdentity, Matrix, Tokenizer

__all__ = ["app", "retrieval"]

app = typer.Typer(
    name="eval",
    help="Measure on sets with known answers.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: What is compared when nothing is named. `hybrid` is the settings in force, unchanged.
_DEFAULTS: dict[str, dict[str, str]] = {
    "bm25": {"search.mode": "bm25", "rerank.model": "none"},
    "dense": {"search.mode": "dense", "rerank.model": "none"},
    "rrf": {"search.mode": "hybrid", "search.fusion": "rrf", "rerank.model": "none"},
    "hybrid": {},
}

#: Sections of the settings that no search depends on.
_IRRELEVANT = ("store", "answer", "load")

#: How long to wait for another evaluation that searches the same index.
_BUSY_SECONDS = 60.0

_SEED = 0


@app.callback()
def _group() -> None:
    """Measure on sets with known answers."""


@app.command("retrieval")
def retrieval(
    datasets: Annotated[
        list[Path], typer.Argument(metavar="DATASET…", help="Folders in the BEIR layout, or folders that hold several.")
    ],
    split: Annotated[str, typer.Option("--split", help="Which judgements: qrels/SPLIT.tsv.")] = "test",
    configuration: Annotated[
        list[str] | None,
        typer.Option(
            "--configuration",
            "-c",
            metavar="NAME[:SECTION.KEY=VALUE,…]",
            help="A way of searching: the settings in force with these changed. Repeat for several. bm25, dense, rrf "
            "and hybrid (the settings in force) are there by name and are compared when none is given.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="NAME", help="Compare the others against this. Default: the first."),
    ] = None,
    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            metavar="document|chunk",
            help="document: each is one passage, as in BEIR; chunk: cut as by `pincite add`.",
        ),
    ] = "document",
    k: Annotated[int, typer.Option("-k", "--k", min=1, max=10_000, help="Passages asked of every search.")] = 100,
    measure: Annotated[
        str,
        typer.Option("--measure", metavar="NAME", help="What the comparisons are made on: nDCG@10, Recall@20, MAP …"),
    ] = "nDCG@10",
    queries: Annotated[
        int | None, typer.Option("--queries", min=1, metavar="N", help="Only N queries of each set, drawn by the seed.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of samples, tests and intervals.")] = _SEED,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also constant, random and oracle rankings, to read the others by.")
    ] = False,
    trec_out: Annotated[
        Path | None, typer.Option("--trec-out", metavar="DIR", help="Write runs and judgements in TREC's format there.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the report as one page with figures.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="DIR", help="Keep vectors, indexes and runs there. Default: the user's cache."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Search again, also what is kept. Indexes and vectors are used again.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare ways of searching on sets of judged queries.

    Each is measured by trec_eval's measures with 95 % intervals, timed, and held against the baseline by a
    randomization test, corrected for the number of comparisons. Indexes are built once and kept; interrupted, it goes
    on where it was. Needs the eval extra.

    Exit status: 0 when every configuration was measured on every set.
    """
    from pincite.cli.common import read_settings
    from pincite.errors import InputError
    from pincite.evaluation.compare import correct
    from pincite.evaluation.measures import check_measure, require_measures
    from pincite.evaluation.page import html_page
    from pincite.evaluation.report import as_data, remarks, tables

    require_measures()
    measures = _measures(check_measure(measure), k)
    if unit not in ("document", "chunk"):
        raise InputError(f"--unit is document or chunk, got {unit!r}")
    read_settings(None, config)  # a fault in the settings themselves is told as such, not as one of a configuration
    chosen = [_parse(each) for each in configuration or _default_names()]
    names = [name for name, _ in chosen]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two configurations are named {twice[0]!r}")
    if taken := sorted({"constant", "random", "oracle"} & set(names)) if baselines else []:
        raise InputError(
            f"{taken[0]!r} is the name of a ranking that --baselines adds: name the configuration otherwise"
        )
    against = baseline or names[0]
    if against not in names:
        raise InputError(f"--baseline {against!r} is none of the configurations: {', '.join(names)}")
    settings = {name: _settings(config, name, overrides) for name, overrides in chosen}
    err = console(stderr=True)
    found = _load(datasets, split, queries, seed, err)
    reports: list[SetReport] = []
    with _Bench(settings, unit=unit, k=k, cache=cache) as bench, _progress(err) as listener:
        try:
            for dataset, judged in found:
                reports.append(
                    bench.measure(
                        dataset,
                        judged=judged,
                        measures=measures,
                        against=against,
                        seed=seed,
                        baselines=baselines,
                        trec_out=trec_out,
                        fresh=fresh,
                        listener=listener,
                    )
                )
        except KeyboardInterrupt:
            listener.told("interrupted: what is finished is kept; run it again for the rest")
            raise typer.Exit(130) from None
    reports = correct(reports)
    about = _about(bench, seed)
    if html is not None:
        title = f"Retrieval on {', '.join(report.dataset for report in reports)}"
        _write(html, html_page(reports, title=title, about=about))
    if as_json:
        print_json({"about": about, **as_data(reports)})
        return
    out = console()
    if not out.is_terminal:
        out.width = 160  # into a pipe or a file no line need be broken
    for table in tables(reports):
        out.print(table)
    for report in reports:
        for remark in remarks(report):
            err.print(f"{report.dataset}: {remark}", markup=False)


# What is compared


def _default_names() -> list[str]:
    from pincite.config import setting_names

    # A default that needs a setting this version lacks is left out.
    known = setting_names()
    return [name for name, overrides in _DEFAULTS.items() if all(key in known for key in overrides)]


def _parse(written: str) -> tuple[str, dict[str, str]]:
    """``NAME`` or ``NAME:section.key=value,…`` → the name and what it changes."""
    import re

    from pincite.errors import InputError

    name, colon, changes = written.partition(":")
    # Names become names of files.
    if not re.fullmatch(r"[\w.+-]+", name) or set(name) == {"."}:
        raise InputError(
            f"--configuration takes NAME:section.key=value,…; {name!r} is no name: letters, digits, . + - _"
        )
    if not colon:
        if name not in _DEFAULTS:
            raise InputError(f"--configuration {name}: without changes there are {', '.join(_DEFAULTS)}")
        return name, _DEFAULTS[name]
    overrides: dict[str, str] = {}
    for change in changes.split(","):
        key, equals, value = change.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--configuration {name}: expected section.key=value, got {change!r}")
        overrides[key.strip()] = value.strip()
    return name, overrides


def _settings(config: Path | None, name: str, overrides: Mapping[str, str]) -> Settings:
    from pincite.cli.common import read_settings
    from pincite.errors import ConfigError

    try:
        # `read_settings` takes names with an underscore for the first full stop.
        return read_settings(None, config, **{key.replace(".", "_", 1): value for key, value in overrides.items()})
    except ConfigError as error:
        raise ConfigError(f"configuration {name}: {error}") from None


def _load(
    folders: Sequence[Path], split: str, queries: int | None, seed: int, err: Console
) -> list[tuple[Dataset, int]]:
    """The sets with how many queries each judges. Every one is read before any is searched."""
    from pincite.errors import InputError
    from pincite.evaluation.compare import sample_queries
    from pincite.evaluation.datasets import find_datasets, load_dataset, splits

    found: list[tuple[Dataset, int]] = []
    for folder in folders:
        inside = find_datasets(folder)
        # One that is named must have the split; one of many that has it not is passed over.
        for each in inside:
            if inside != [folder] and split not in splits(each):
                err.print(f"{each.name} has no split {split} and is left out", markup=False)
                continue
            dataset = load_dataset(each, split)
            found.append((sample_queries(dataset, queries, seed), len(dataset.queries)))
    if not found:
        raise InputError(f"no set in {', '.join(map(str, folders))} has the split {split}")
    names = [dataset.name for dataset, _ in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two sets are named {twice[0]!r}: rename a folder, or measure them apart")
    return found


# Measuring


@dataclass(frozen=True, slots=True)
class _Survey:
    """What one reading of a corpus tells beside its index."""

    document_ids: list[str]
    texts: dict[str, str]  #: of the documents with labelled spans
    absent: int  #: relevant pairs whose document is not in the corpus


class _TimedQueries:
    """An encoder whose queries are encoded once for all configurations, and cost each what it cost then.

    What else a search asks of it (a reranker: passages) is as live as it is for somebody who asks a question.
    """

    def __init__(self, encoder: Any, cached: CachedEncoder) -> None:
        self._encoder = encoder
        self._cached = cached
        self.encode_seconds = 0.0
        self.aside_seconds = 0.0

    @property
    def identity(self) -> EncoderIdentity:
        """See `pincite.protocols.Encoder`."""
        return self._cached.identity

    @property
    def tokenizer(self) -> Tokenizer:
        """See `pincite.protocols.Encoder`."""
        return self._cached.tokenizer

    @property
    def max_tokens(self) -> int:
        """See `pincite.protocols.Encoder`."""
        return self._cached.max_tokens

    def reads(self, text: str) -> float:
        """See `pincite.protocols.Encoder`."""
        return self._cached.reads(text)

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        """See `pincite.protocols.Encoder`."""
        vectors: Matrix = self._encoder.encode_passages(texts)
        return vectors

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """See `pincite.protocols.Encoder`."""
        import numpy as np

        started = time.perf_counter()
        timed = [self._cached.timed_query(text) for text in texts]
        self.aside_seconds += time.perf_counter() - started
        self.encode_seconds += sum(seconds for _, seconds in timed)
        return np.stack([vector for vector, _ in timed])


class _TimedTokens(_TimedQueries):
    """The same for an encoder that shows the vectors of single tokens."""

    def query_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """See `pincite.encoders.base.LocalEncoder`."""
        vectors: list[Matrix] = self._encoder.query_tokens(texts)
        return vectors

    def passage_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """See `pincite.encoders.base.LocalEncoder`."""
        vectors: list[Matrix] = self._encoder.passage_tokens(texts)
        return vectors


class _Bench:
    """Settings, encoders and the cache of one run: puts the parts together."""

    def __init__(self, settings: Mapping[str, Settings], *, unit: str, k: int, cache: Path | None) -> None:
        from pincite.build import cache_folder

        if unit == "document":
            # There is nothing to put together, and looking for it would search deeper than the settings say.
            alone = {"merge": 0, "per_document": 0}
            settings = {
                name: each.model_copy(update={"search": each.search.model_copy(update=alone)})
                for name, each in settings.items()
            }
        self.settings = settings
        self.unit: Any = unit
        self.k = k
        self.folder = (cache.expanduser() if cache else cache_folder()) / "evaluation"
        self._encoders: dict[str, tuple[Encoder, CachedEncoder]] = {}

    def __enter__(self) -> _Bench:
        return self

    def __exit__(self, *_: object) -> None:
        for _encoder, cached in self._encoders.values():
            cached.close()

    def measure(
        self,
        dataset: Dataset,
        *,
        judged: int,
        measures: Sequence[str],
        against: str,
        seed: int,
        baselines: bool,
        trec_out: Path | None,
        fresh: bool,
        listener: EvaluationListener,
    ) -> SetReport:
        """Every configuration on one set. The first of `measures` is what they are compared on."""
        from pincite.evaluation.compare import SetReport, assess, compare, run_configuration
        from pincite.evaluation.trec import write_qrels

        survey = _survey(dataset)
        notes = list(dataset.notes)
        if survey.absent:
            notes.append(f"{survey.absent} relevant judgements are of documents that the corpus lacks: never found")
        primary = measures[0]
        outcomes: list[Outcome] = []
        indexes: dict[str, CorpusIndex] = {}
        for name, settings in self.settings.items():
            configuration, index = self._configuration(dataset, name, settings, listener)
            indexes[name] = index
            run = run_configuration(
                dataset, configuration, saved_in=self.folder / "runs", fresh=fresh, listener=listener
            )
            if trec_out is not None:
                _write_run(run, trec_out / dataset.name / f"{name}.run")
            depth = min(100, self.k)
            outcomes.append(assess(dataset, run, measures=measures, depth=depth, texts=survey.texts, seed=seed))
        if trec_out is not None:
            write_qrels(dataset.qrels, trec_out / dataset.name / f"{dataset.split}.qrels")
        base = next(each for each in outcomes if each.name == against)
        versus = [compare(dataset, each, base, primary=primary, seed=seed) for each in outcomes if each is not base]
        if baselines:
            outcomes += [
                assess(dataset, run, measures=measures, depth=min(100, self.k), seed=seed, is_baseline=True)
                for run in _baseline_runs(dataset, survey.document_ids, self.k, seed)
            ]
        first = next(iter(indexes.values()))
        if first.empty:
            notes.append(f"{len(first.empty)} empty documents are not in the index: {', '.join(first.empty[:5])}")
        facts: dict[str, object] = {"documents": first.documents, "passages": first.chunks}
        for name, index in indexes.items():
            if index.key != first.key:
                facts[f"passages of {name}"] = index.chunks
        return SetReport(
            dataset=dataset.name,
            split=dataset.split,
            queries=len(dataset.queries),
            judged=judged,
            unit=self.unit,
            k=self.k,
            outcomes=tuple(outcomes),
            versus=tuple(versus),
            primary=primary,
            notes=tuple(notes),
            facts=facts,
        )

    def _configuration(
        self, dataset: Dataset, name: str, settings: Settings, listener: EvaluationListener
    ) -> tuple[Configuration, CorpusIndex]:
        import json

        from pincite import __version__
        from pincite.build import Pincite, build_chunker, chunk_recipe, index_options
        from pincite.evaluation.compare import Configuration, Ranked
        from pincite.evaluation.index import ensure_index
        from pincite.evaluation.measures import Retrieved
        from pincite.store.edge import EdgeStore

        encoder, cached = self._encoder(settings)
        options = index_options(settings)
        vectors = json.dumps(settings.index.model_dump(mode="json"), sort_keys=True)
        cut = f"{chunk_recipe(settings.chunk)}, pincite {__version__}" if self.unit == "chunk" else ""
        index = ensure_index(
            dataset,
            self.folder / "indexes",
            create=lambda folder, header: EdgeStore.create(folder, header, index=options),
            encoder=cached,
            language=settings.search.language or "english",
            unit=self.unit,
            chunker=build_chunker(settings, encoder) if self.unit == "chunk" else None,
            recipe=f"{cut} {vectors}",
            listener=listener,
        )

        @contextmanager
        def opened() -> Iterator[Search]:
            timed = (_TimedTokens if hasattr(encoder, "passage_tokens") else _TimedQueries)(encoder, cached)
            with (
                EdgeStore.open(index.folder, timeout=_BUSY_SECONDS, index=options) as store,
                Pincite.over(settings, store, timed) as pincite,
            ):

                def search(query: str) -> Ranked:
                    timed.encode_seconds = timed.aside_seconds = 0.0
                    result = pincite.search(query, k=self.k)
                    passages = [
                        Retrieved(each.chunk.document_id, each.chunk.start, each.chunk.end, each.hit.score)
                        for each in result.passages
                    ]
                    return Ranked(passages, result.notes, timed.encode_seconds, timed.aside_seconds)

                yield search

        searching = {key: value for key, value in settings.masked().items() if key not in _IRRELEVANT}
        if "openai" in settings.rerank.model:
            searching["endpoint"] = settings.answer.base_url
        recipe = json.dumps(
            {"index": index.key, "settings": searching, "k": self.k, "pincite": __version__}, sort_keys=True
        )
        return Configuration(name, recipe, opened), index

    def _encoder(self, settings: Settings) -> tuple[Encoder, CachedEncoder]:
        from pincite.build import build_encoder
        from pincite.encoders.cached import CachedEncoder

        key = settings.encoder.model_dump_json()
        if key not in self._encoders:
            encoder = build_encoder(settings)
            self._encoders[key] = (encoder, CachedEncoder(encoder, self.folder / "vectors"))
        return self._encoders[key]


def _survey(dataset: Dataset) -> _Survey:
    labelled = {span.document_id for spans in dataset.spans.values() for span in spans}
    relevant = [d for grades in dataset.qrels.values() for d, grade in grades.items() if grade > 0]
    document_ids: list[str] = []
    texts: dict[str, str] = {}
    for record in dataset.documents():
        document_ids.append(record.id)
        if record.id in labelled:
            texts[record.id] = record.text
    known = set(document_ids)
    return _Survey(document_ids, texts, sum(each not in known for each in relevant))


def _measures(primary: str, k: int) -> list[str]:
    """What is measured: first what the comparisons are made on, nothing beyond the k passages that are asked for."""
    from pincite.errors import InputError
    from pincite.evaluation.measures import MEASURES

    def reaches(name: str) -> bool:
        return int(name.partition("@")[2] or 1) <= k

    if not reaches(primary):
        raise InputError(f"--measure {primary} needs --k {primary.partition('@')[2]} or more, got {k}")
    return list(dict.fromkeys([primary, *filter(reaches, MEASURES)]))


def _baseline_runs(dataset: Dataset, document_ids: Sequence[str], k: int, seed: int) -> Iterator[SearchRun]:
    from pincite.evaluation.baselines import constant_run, oracle_run, random_run
    from pincite.evaluation.compare import SearchRun
    from pincite.evaluation.measures import Retrieved

    for name, run in (
        ("constant", constant_run(dataset, document_ids, k)),
        ("random", random_run(dataset, document_ids, k, seed)),
        ("oracle", oracle_run(dataset, k)),
    ):
        yield SearchRun(
            name,
            {
                query_id: tuple(Retrieved(each, 0, 0, -float(place)) for place, each in enumerate(ranking))
                for query_id, ranking in run.items()
            },
        )


def _write_run(run: SearchRun, file: Path) -> None:
    from pincite.evaluation.trec import falling, write_run

    documents: dict[str, list[tuple[str, float]]] = {}
    for query_id, passages in run.passages.items():
        best: dict[str, float] = {}
        for each in passages:
            best.setdefault(each.document_id, each.score)
        documents[query_id] = falling(list(best.items()))
    write_run(documents, file, tag=run.name)


# Telling


def _about(bench: _Bench, seed: int) -> list[str]:
    import os
    import platform
    import shlex
    import sys

    from pincite import __version__

    lines = [
        shlex.join(["pincite", *sys.argv[1:]]),
        f"pincite {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, seed {seed}",
    ]
    for name, settings in bench.settings.items():
        data = settings.masked()
        changed = "; ".join(
            f"{section}.{key} = {value}"
            for section, body in data.items()
            if section not in _IRRELEVANT
            for key, value in body.items()
            if value is not None
        )
        lines.append(f"{name}: {changed}")
    return lines


def _write(file: Path, text: str) -> None:
    from pincite.errors import InputError

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None


@contextmanager
def _progress(err: Console) -> Iterator[EvaluationListener]:
    """A bar for what is at work, on standard error; silent where nobody watches, but for what is told."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from pincite.evaluation.index import EvaluationListener

    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
    task = progress.add_task("", total=None)

    class Bars(EvaluationListener):
        def indexing(self, dataset: str, done: int, total: int) -> None:
            progress.update(task, description=f"{dataset}: indexing", completed=done, total=total)

        def searching(self, dataset: str, configuration: str, done: int, total: int) -> None:
            progress.update(task, description=f"{dataset}: {configuration}", completed=done, total=total)

        def told(self, message: str) -> None:
            progress.console.print(message, markup=False)

    with progress:
        yield Bars()
