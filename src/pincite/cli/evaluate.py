"""``pincite eval``: how well this finds, on sets with known answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.answers import answers
from pincite.cli.common import ConfigOption, JsonOption, console, print_json, read_settings
from pincite.cli.grounding import grounding

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.cli.bench import Bench
    from pincite.config import Settings
    from pincite.evaluation.datasets import Dataset

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

#: What has no part in a search where a document is one passage.
_OF_CHUNKS = ("chunk.", "search.merge", "search.per_document")


@app.callback()
def _group() -> None:
    """Measure on sets with known answers."""


app.command("answers")(answers)
app.command("grounding")(grounding)


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
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of samples, tests and intervals.")] = 0,
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
    from pincite.cli.bars import fit_pipe, watched
    from pincite.cli.bench import Bench
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
    for name, overrides in chosen:
        _check_effect(name, overrides, settings[name], unit)
    if html is not None:
        _check_place(html)
    err = console(stderr=True)
    found = _load(datasets, split, queries, seed, err)
    with (
        watched(err) as listener,
        Bench(
            settings,
            unit=unit,
            k=k,
            measures=measures,
            against=against,
            seed=seed,
            cache=cache,
            trec_out=trec_out,
            fresh=fresh,
            listener=listener,
        ) as bench,
    ):
        try:
            reports = [bench.measure(dataset, judged, baselines=baselines) for dataset, judged in found]
        except KeyboardInterrupt:
            listener.told("interrupted: what is finished is kept; run it again for the rest")
            raise typer.Exit(130) from None
    reports = correct(reports)
    about = _about(bench, seed)
    if html is not None:
        title = f"Retrieval on {', '.join(report.dataset for report in reports)}"
        _write(html, html_page(reports, title=title, about=about))
        err.print(f"written to {html}", markup=False, soft_wrap=True)
    if as_json:
        print_json({"about": about, **as_data(reports)})
        return
    out = fit_pipe(console())
    for table in tables(reports, width=out.width):
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
    from pincite.errors import ConfigError

    try:
        # `read_settings` takes names with an underscore for the first full stop.
        return read_settings(None, config, **{key.replace(".", "_", 1): value for key, value in overrides.items()})
    except ConfigError as error:
        raise ConfigError(f"configuration {name}: {error}") from None


def _check_effect(name: str, overrides: Mapping[str, str], settings: Settings, unit: str) -> None:
    """Raises InputError for a change that has no effect on what is measured: two names for the same search."""
    from pincite.cli.bench import IRRELEVANT
    from pincite.errors import InputError

    for key in overrides:
        # The endpoint of a reranker is the one exception.
        endpoint = key in ("answer.base_url", "answer.api_key") and "openai" in settings.rerank.model
        if key.partition(".")[0] in IRRELEVANT and not endpoint:
            raise InputError(f"configuration {name}: {key} is no way of searching: nothing that is found depends on it")
        if unit == "document" and key.startswith(_OF_CHUNKS):
            raise InputError(
                f"configuration {name}: {key} has no effect with --unit document, where each document is one passage: "
                "give --unit chunk"
            )


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


def _measures(primary: str, k: int) -> list[str]:
    """What is measured: first what the comparisons are made on, nothing beyond the k passages that are asked for."""
    from pincite.errors import InputError
    from pincite.evaluation.measures import MEASURES

    def reaches(name: str) -> bool:
        return int(name.partition("@")[2] or 1) <= k

    if not reaches(primary):
        raise InputError(f"--measure {primary} needs --k {primary.partition('@')[2]} or more, got {k}")
    return list(dict.fromkeys([primary, *filter(reaches, MEASURES)]))


# Telling


def _about(bench: Bench, seed: int) -> list[str]:
    import os
    import platform
    import shlex
    import sys

    from pincite import __version__
    from pincite.cli.bench import IRRELEVANT

    lines = [
        shlex.join(["pincite", *sys.argv[1:]]),
        f"pincite {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, seed {seed}",
    ]
    for name, settings in bench.settings.items():
        data = settings.masked()
        changed = "; ".join(
            f"{section}.{key} = {value}"
            for section, body in data.items()
            if section not in IRRELEVANT
            for key, value in body.items()
            if value is not None
        )
        lines.append(f"{name}: {changed}")
    return lines


def _check_place(file: Path) -> None:
    """Raises InputError where a page cannot be written to `file`: known before the work rather than after it."""
    import os

    from pincite.errors import InputError

    if not file.parent.is_dir():
        raise InputError(f"--html {file}: there is no folder {file.parent}: create it first")
    if file.is_dir():
        raise InputError(f"--html {file} is a folder: name a file in it")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise InputError(f"--html {file} cannot be written: permission denied")


def _write(file: Path, text: str) -> None:
    from pincite.errors import InputError

    try:
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
