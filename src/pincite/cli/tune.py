"""``pincite tune``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import ConfigOption, JsonOption, StoreOption, console, print_json, read_settings

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.build import Pincite
    from pincite.evaluation.tune import Aim, Plan, Value
    from pincite.types import SearchResult

__all__ = ["tune"]


def tune(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="A set in the BEIR layout: see `pincite eval`.")],
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            metavar="NAME",
            help="span-recall@5, recall@5, mrr@10, ndcg@10 … Default: span-recall@5 where answers are labelled in the "
            "text, else recall@5.",
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="SECTION.KEY=VALUE,VALUE",
            help="Settings to try, `unset` for none. Repeat for several; then only these are tried.",
        ),
    ] = None,
    split: Annotated[str, typer.Option("--split", help="Whose questions: qrels/SPLIT.tsv.")] = "test",
    budget: Annotated[
        float | None,
        typer.Option("--budget", min=1, metavar="TOKENS", help="Only choose what reads at most so many tokens."),
    ] = None,
    least_gain: Annotated[
        float, typer.Option("--least-gain", min=0, help="Least gain on the held-out questions that is worth a change.")
    ] = 0.01,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0, metavar="MINUTES", help="Begin no index after so long.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the halves, the test and the interval.")] = 0,
    apply: Annotated[bool, typer.Option("--apply", help="Write the settings without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing and do not ask.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Take the best also where its gain is small or may be chance.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="DIR", help="Keep vectors and measurements there. Default: the user's cache."),
    ] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find better settings on a set with known answers, and write them into the settings file.

    Half of the questions choose among the settings, the other half says what the choice is worth (a train split, where
    the set has one, chooses for the test split). The settings change only for a gain on the held-out half that is large
    enough and unlikely to be chance. Interrupted, it goes on where it was. Needs the eval extra.
    """
    from rich.text import Text

    from pincite import __version__
    from pincite.build import Pincite, build_chunker, build_encoder, cache_folder, index_options
    from pincite.cli.bars import fit_pipe, watched
    from pincite.cli.tune_grid import default_grid, objection, parse_grid, present_point, rest_of, with_point
    from pincite.encoders.cached import CachedEncoder
    from pincite.errors import InputError
    from pincite.evaluation.choice_report import choice_comment, choice_data, choice_lines, choice_tables
    from pincite.evaluation.measures import require_measures
    from pincite.evaluation.settings_file import require_toml, write_settings
    from pincite.evaluation.tune import Task, aim, choose, default_aim, plan, points_of, read_sides, sweep
    from pincite.store.edge import EdgeStore

    if apply and dry_run:
        raise InputError("--apply writes, --dry-run does not: give one of them")
    if not dry_run:
        require_toml()
    settings = read_settings(store, config)
    goal = aim(measure) if measure else default_aim(dataset, split)
    require_measures()
    sides = read_sides(dataset, goal, split=split, seed=seed)
    out, err = fit_pipe(console()), console(stderr=True)
    chosen = parse_grid(grid, settings) if grid else default_grid(settings)
    present = present_point(settings, chosen)
    options = index_options(settings)
    folder = (cache.expanduser() if cache else cache_folder()) / "evaluation"
    encoder = CachedEncoder(build_encoder(settings), folder / "vectors")
    try:
        points, left_out = points_of(present, chosen, lambda point: objection(settings, point, present, encoder))
        task = Task(
            sides=sides,
            goal=goal,
            encoder=encoder,
            language=settings.search.language or "english",
            chunker=lambda point: build_chunker(with_point(settings, point), encoder),
            searcher=lambda point, opened: _search(Pincite.over(with_point(settings, point), opened, encoder)),
            create=lambda place, header: EdgeStore.create(place, header, index=options),
            open=lambda place: EdgeStore.open(place, index=options),
            folder=folder / "tune",
            version=f"{__version__} {rest_of(settings, present)}",
        )
        for note in sides.notes:
            err.print(Text.assemble(("note ", "yellow"), note))
        _tell_plan(err, plan(task, points), goal, left_out)
        with watched(err) as listener:
            limit = None if time_limit is None else time_limit * 60
            tried = sweep(task, points, time_limit=limit, listener=listener)
        choice = choose(tried, present, sides, least_gain=least_gain, budget=budget, seed=seed)
    except KeyboardInterrupt:
        err.print("interrupted: what was measured is kept; run it again for the rest")
        raise typer.Exit(130) from None
    finally:
        encoder.close()
    if missing := len(points) - len(tried):
        err.print(f"[yellow]note[/] {missing} of {len(points)} settings were not tried within the time limit")
    for warning in choice.warnings:
        err.print(f"[yellow]note[/] {warning}")
    changes = choice.changes
    take = bool(changes) and (choice.worth_it or force)
    if not as_json:
        for table in choice_tables(choice, sides, goal, width=out.width):
            out.print(table)
        for line in choice_lines(choice, sides, goal):
            out.print(line, markup=False)
    file = config or Path("pincite.toml")
    written = take and not dry_run and (apply or _agreed(out, file, as_json))
    if written:
        write_settings(file, changes, choice_comment(choice, sides, goal, ["pincite", *sys.argv[1:]]))
    if as_json:
        print_json({**choice_data(choice, sides, goal), "written": written})
    elif written:
        out.print(f"written to {file}", markup=False)
        if any(name.startswith("chunk.") for name in changes):
            out.print("run `pincite reindex` now: the documents are cut in another way")
    elif take:
        out.print(f"nothing written; --apply writes it to {file}", markup=False)
    else:
        out.print("the present settings stay" + ("; --force takes the best all the same" if changes else ""))
    if written:
        _warn_environment(err, store, file, changes)


def _search(pincite: Pincite) -> Callable[[str, int], SearchResult]:
    return lambda query, k: pincite.search(query, k=k)


def _tell_plan(err: Console, work: Plan, goal: Aim, left_out: Mapping[str, int]) -> None:
    minutes = f"{work.seconds:.0f} s" if work.seconds < 90 else f"{work.seconds / 60:.0f} min"
    err.print(
        f"{work.points} {'setting' if work.points == 1 else 'settings'} to try for {goal.shown}"
        + (f", {work.done} measured before" if work.done else "")
        + f": {work.indexes} {'index' if work.indexes == 1 else 'indexes'} to build, "
        + f"at most {work.texts:,} texts to encode"
        + (f", about {minutes}" if work.seconds >= 1 else "")
        + "".join(f"; {n} left out: {why}" for why, n in left_out.items()),
        markup=False,
    )


def _agreed(out: Console, file: Path, as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        return False
    out.file.flush()
    return input(f"Write this to {file}? [y/N] ").strip().lower() in ("y", "yes")


def _warn_environment(err: Console, store: Path | None, file: Path, changes: Mapping[str, Value]) -> None:
    from pincite.cli.tune_grid import value_of
    from pincite.evaluation.choice_report import shown_value

    settings = read_settings(store, file)
    for name, value in changes.items():
        if value_of(settings, name) != value:
            variable = f"PINCITE_{name.replace('.', '_').upper()}"
            err.print(f"[yellow]note[/] {variable} in the environment wins over {name} = {shown_value(value)}")
