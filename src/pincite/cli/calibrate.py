"""``pincite calibrate``: how sure to be of an answer, learnt from questions that can be answered and others."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from pincite.cli.answer_bench import BUSY_SECONDS, Bench, check_place, load_sets, reader_settings, write
from pincite.cli.common import ConfigOption, JsonOption, console, print_json

if TYPE_CHECKING:
    from pincite.calibration import Calibration, Weights
    from pincite.config import Settings
    from pincite.evaluation.answer_sets import AnswerSet
    from pincite.evaluation.calibrating import Interval, Measured
    from pincite.evaluation.index import EvaluationListener
    from pincite.evaluation.labelling import Labels
    from pincite.protocols import Encoder

__all__ = ["calibrate"]

_PLOTS = (".html", ".svg")


def calibrate(
    dataset: Annotated[
        Path,
        typer.Argument(metavar="SET", help="A folder in the BEIR layout whose queries.jsonl says what is answerable."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the calibration there; one that is there grows.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="What answers, as for `pincite ask`. Default: the settings'."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Address of an OpenAI-compatible endpoint.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, max=50, help="Parts of the cross-validation.")] = 5,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Only N questions, drawn by the seed.")
    ] = None,
    split: Annotated[str, typer.Option("--split", help="Which judgements: qrels/SPLIT.tsv.")] = "test",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the sample, the folds and the intervals.")] = 0,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Write the reliability plot there: .html or .svg.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="DIR", help="Keep vectors, indexes and answers there. Default: the user's."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask again, also what is kept.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn from a labelled set when an answer can be given, and how sure it is.

    Every question is asked of the set's own corpus, and what is measured of search and answer is weighed by a logistic
    regression. What it is worth is said by cross-validation: of no question that it was fitted on. With --out the
    weights of all questions are written; the setting answer.calibration names that file. Interrupted, it goes on where
    it was.

    Exit status: 0 when every question was asked, 1 when some failed.
    """
    from pincite import __version__
    from pincite.calibration import FEATURES, OF_SEARCH, SEARCH, Calibration, save_calibration
    from pincite.cli.bars import fit_pipe, watched
    from pincite.evaluation.calibrating import (
        check_rows,
        choose_least,
        cross_validate,
        fit,
        least_harm,
        measure,
        with_measures,
    )
    from pincite.evaluation.reliability import reliability_page, reliability_svg

    err = console(stderr=True)
    for file, suffixes in ((out, ()), (plot, _PLOTS)):
        if file is not None:
            check_place(file, suffixes)
    settings = next(iter(reader_settings(config, model, base_url, None, None).values()))
    settings = settings.model_copy(update={"answer": settings.answer.model_copy(update={"calibration": "off"})})
    (answers,) = load_sets([dataset], split, limit, seed, err)[:1]
    with watched(err) as listener, Bench({"calibrate": settings}, cache, listener) as bench:
        before = _earlier(out, bench.encoder.identity.name)
        try:
            labels, kind = _ask(bench, settings, answers, listener, fresh=fresh)
        except KeyboardInterrupt:
            listener.told("interrupted: what was answered is kept; run it again for the rest")
            raise typer.Exit(130) from None
        encoder = bench.encoder.identity.name
    rows = labels.rows
    check_rows(rows)
    measured: dict[str, Measured] = {}
    kinds: dict[str, Weights] = {}
    for name, features, rule in ((kind, FEATURES, choose_least), (SEARCH, OF_SEARCH, least_harm)):
        # Of the search alone every question can be weighed: nothing was written yet.
        own = rows if name != SEARCH else [replace(row, refused=False) for row in rows]
        held = cross_validate(own, features, folds=folds, seed=seed, rule=rule)
        measured[name] = measure(own, held, seed=seed)
        weights = replace(fit(own, features), least=rule(own, held.probabilities))
        kinds[name] = with_measures(weights, measured[name])
    about = {
        "set": f"{answers.name}, {len(rows)} of {answers.total} questions, seed {seed}, {folds} folds",
        "pincite": __version__,
    }
    calibration = Calibration({**(before.kinds if before else {}), **kinds}, encoder, about)
    if out is not None:
        save_calibration(calibration, out)
        err.print(f"written to {out}; to use it: [answer] calibration = {str(out)!r}", markup=False, soft_wrap=True)
    if plot is not None:
        title = f"{answers.name}, {kind}"
        page = reliability_page(measured, title, [f"{name}: {text}" for name, text in about.items()])
        write(plot, reliability_svg(measured[kind], title) if plot.suffix.lower() == ".svg" else page)
        err.print(f"plot written to {plot}", markup=False, soft_wrap=True)
    if as_json:
        data: dict[str, Any] = {name: {**_data(each), "least": kinds[name].least} for name, each in measured.items()}
        failed = dict(labels.failed)
        print_json({"about": about, "kinds": data, "not_found": labels.not_found, "failed": failed})
    else:
        _print(fit_pipe(console()), measured, kinds)
        for remark in _remarks(labels, answers):
            err.print(remark, markup=False)
    if labels.failed:
        raise typer.Exit(1)


def _earlier(out: Path | None, encoder: str) -> Calibration | None:
    """What is in the file already. Raises ConfigError where it is none, InputError where it is of another encoder."""
    from pincite.calibration import load_calibration
    from pincite.errors import InputError

    if out is None or not out.exists():
        return None
    found = load_calibration(out)
    if found.encoder != encoder:
        raise InputError(f"{out} was fitted with the encoder {found.encoder}, and this is {encoder}: name another file")
    return found


def _ask(
    bench: Bench, settings: Settings, answers: AnswerSet, listener: EvaluationListener, *, fresh: bool
) -> tuple[Labels, str]:
    """Every question through the pipeline, and the kind of generator that answered."""
    from pincite.answer_models import build_generator
    from pincite.build import Pincite, index_options
    from pincite.calibration import kind_of
    from pincite.evaluation.calibrating import check_counts
    from pincite.evaluation.kept_generations import KeptGenerator
    from pincite.evaluation.labelling import label_questions
    from pincite.store.edge import EdgeStore

    can = sum(each.answerable for each in answers.questions)
    check_counts(can, len(answers.questions) - can)  # before anything is indexed or asked
    index = bench.index(answers)
    recipe = bench.recipe(settings, index)
    file = bench.folder / "calibrations" / f"{answers.name}.jsonl"
    made = build_generator(settings, bench.encoder, weighed=True)
    kept = KeptGenerator(made, file, recipe, fresh=fresh)
    with (
        EdgeStore.open(index.folder, timeout=BUSY_SECONDS, index=index_options(settings)) as store,
        Pincite.over(settings, store, cast("Encoder", bench.cached), generator=lambda: kept) as pincite,
    ):
        labels = label_questions(answers, pincite.ask, listener=listener)
    if kept.taken:
        listener.told(f"{answers.name}: {kept.taken} answers were kept from before")
    return labels, kind_of(made)


# Telling


def _data(measured: Measured) -> dict[str, Any]:
    data = asdict(measured)
    for name, value in data.items():
        if name != "bins" and isinstance(value, tuple):
            data[name] = dict(zip(("value", "low", "high"), value, strict=True))
    data["bins"] = [each._asdict() for each in measured.bins]
    return data


def _print(out: Any, measured: dict[str, Measured], kinds: dict[str, Weights]) -> None:
    from rich.table import Table

    table = Table(title="by cross-validation, with 95 % intervals")
    table.add_column("")
    for name in measured:
        table.add_column(name, justify="right")
    rows: list[tuple[str, list[str]]] = [
        ("questions, answered by the passages", [f"{m.questions}, {m.answerable}" for m in measured.values()]),
        ("refused below a probability of", [f"{kinds[name].least:.2f}" for name in measured]),
        ("precision of refusals", [_told(m.precision) for m in measured.values()]),
        ("recall of refusals", [_told(m.recall) for m in measured.values()]),
        ("F1 of refusals", [_told(m.f1) for m in measured.values()]),
        ("refused, though answered", [_told(m.false_refusals) for m in measured.values()]),
        ("Brier score", [_told(m.brier) for m in measured.values()]),
        ("AUC", [_told(m.auc) for m in measured.values()]),
        ("calibration error", [f"{m.calibration_error:.3f}" for m in measured.values()]),
        ("of a perfect one, as many questions", [f"{m.chance_error:.3f}" for m in measured.values()]),
    ]
    for told, cells in rows:
        table.add_row(told, *cells)
    out.print(table)


def _told(interval: Interval) -> str:
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _remarks(labels: Labels, answers: AnswerSet) -> list[str]:
    remarks = list(answers.notes)
    if labels.not_found:
        remarks.append(
            f"of {labels.not_found} questions with an answer no passage that holds it was found: they count as not "
            "answered by the passages"
        )
    if labels.failed:
        first = next(iter(labels.failed.items()))
        remarks.append(f"{len(labels.failed)} questions failed and are left out, the first {first[0]!r}: {first[1]}")
    return remarks
