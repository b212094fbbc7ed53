"""``pincite tune``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from pincite.cli.common import ConfigOption, JsonOption, StoreOption, console, print_json, read_settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from pincite.config import Settings
    from pincite.evaluation.tune import Aim, Choice, Point, Sides, TuneListener, Value
    from pincite.protocols import Encoder

__all__ = ["default_grid", "edit_settings", "parse_grid", "tune"]

#: What is tried of each setting unless --grid names others, beside its present value. Every recipe and every way of
#: fusing comes on top.
_TRIED: dict[str, tuple[Any, ...]] = {
    "chunk.size": (None, 128),
    "search.dense_weight": (0.3, 0.45, 0.6),
    "search.rrf_k": (5, 10, 30, 60),
    "search.depth": (50, 200),
}
#: Settings that are choices of a few names, all of which are tried.
_ALL_OF = ("chunk.recipe", "search.fusion")
#: A setting that only has a part in something when another has this value.
_ONLY_WITH = {"search.rrf_k": ("search.fusion", "rrf"), "search.dense_weight": ("search.fusion", "zscore")}
#: Fixed when an index is made, or nothing that a search result depends on.
_NOT_TUNED = ("search.language",)
#: Rows of the table; the present settings are always shown.
_ROWS = 15
_MARK = "# pincite tune"


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
    from pincite import __version__
    from pincite.build import Pincite, build_chunker, build_encoder, cache_folder
    from pincite.encoders.cached import CachedEncoder
    from pincite.errors import InputError
    from pincite.evaluation.tune import Task, aim, choose, plan, points_of, read_sides, sweep
    from pincite.store.edge import EdgeStore

    if apply and dry_run:
        raise InputError("--apply writes, --dry-run does not: give one of them")
    if not dry_run:
        _toml()
    settings = read_settings(store, config)
    goal = aim(measure or _default_measure(dataset, split))
    _require_measures()
    sides = read_sides(dataset, goal, split=split, seed=seed)
    out, err = console(), console(stderr=True)
    chosen = parse_grid(grid, settings) if grid else default_grid(settings)
    present = {name: _value(settings, name) for name in ("chunk.recipe", "chunk.size", "chunk.overlap", *chosen)}
    present |= {name: _value(settings, name) for name in ("search.mode", "search.depth", "search.k", "search.fusion")}
    folder = (cache.expanduser() if cache else cache_folder()) / "evaluation"
    encoder = CachedEncoder(build_encoder(settings), folder / "vectors")
    try:
        points, left_out = points_of(present, chosen, lambda point: _objection(settings, point, present, encoder))
        task = Task(
            sides=sides,
            goal=goal,
            encoder=encoder,
            language=settings.search.language or "english",
            chunker=lambda point: build_chunker(_with(settings, point), encoder),
            searcher=lambda point, opened: _search(Pincite.over(_with(settings, point), opened, encoder)),
            create=EdgeStore.create,
            open=EdgeStore.open,
            folder=folder / "tune",
            version=f"{__version__} {_rest(settings, present)}",
        )
        for note in sides.notes:
            err.print(f"[yellow]note[/] {note}")
        work = plan(task, points)
        err.print(
            f"{len(points)} settings to try for {goal.shown}"
            + (f", {work.done} measured before" if work.done else "")
            + f": {_count(work.indexes, 'index', 'indexes')} to build, at most {work.texts:,} texts to encode"
            + (f", about {_minutes(work.seconds)}" if work.seconds >= 1 else "")
            + "".join(f"; {n} left out: {why}" for why, n in left_out.items()),
            markup=False,
        )
        with _progress(err) as listener:
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
    changes = {name: value for name, value in choice.best.settings.items() if value != present[name]}
    take = bool(changes) and (choice.worth_it or force)
    if not as_json:
        _report(out, choice, sides, goal, present, changes)
    file = config or Path("pincite.toml")
    written = False
    if take and not dry_run and (apply or _agreed(out, file, as_json)):
        _write(file, changes, _comment(choice, sides, goal, dataset))
        written = True
    if as_json:
        print_json(_data(choice, sides, goal, present, changes, written))
    elif written:
        out.print(f"written to {file}", markup=False)
        if any(name.startswith("chunk.") for name in changes):
            out.print("run `pincite reindex` now: the documents are cut in another way")
        _warn_environment(err, store, file, changes)
    elif take:
        out.print(f"nothing written; --apply writes it to {file}", markup=False)
    else:
        out.print("the present settings stay" + ("; --force takes the best all the same" if changes else ""))


# Settings as points


def default_grid(settings: Settings) -> dict[str, list[Value]]:
    """Setting → values to try, the present one among them."""
    from pincite.config import setting_names

    known = setting_names()
    grid: dict[str, list[Value]] = {}
    for name in _ALL_OF:
        if name in known:
            grid[name] = list(get_args(_annotation(name)))
    grid |= {name: list(values) for name, values in _TRIED.items() if name in known}
    for name, values in grid.items():
        if (now := _value(settings, name)) not in values:
            values.insert(0, now)
    return grid


def parse_grid(written: Sequence[str], settings: Settings) -> dict[str, list[Value]]:
    """``["chunk.size=128,unset"]`` → setting → values, each checked. Raises InputError, or ConfigError for a value."""
    from pincite.config import setting_names
    from pincite.errors import InputError

    tunable = [n for n in setting_names() if n.startswith(("chunk.", "search.", "rerank.")) and n not in _NOT_TUNED]
    grid: dict[str, list[Value]] = {}
    for each in written:
        name, equals, values = each.partition("=")
        name = name.strip()
        if not equals or not values.strip():
            raise InputError(f"--grid takes SECTION.KEY=VALUE,VALUE, got {each!r}")
        if name not in tunable:
            raise InputError(f"{name!r} cannot be tuned; there are: {', '.join(tunable)}")
        for value in values.split(","):
            typed: Value = None if value.strip().lower() == "unset" else value.strip()
            # As the settings read it: "128" is a number where a number is meant.
            read = _value(_with(settings, {name: typed}, alone=True), name)
            if read not in grid.setdefault(name, []):
                grid[name].append(read)
    return grid


def _annotation(name: str) -> Any:
    from pincite.config import Settings

    section, _, key = name.partition(".")
    inner: Any = Settings.model_fields[section].annotation
    return inner.model_fields[key].annotation


def _value(settings: Settings, name: str) -> Value:
    section, _, key = name.partition(".")
    value: Value = getattr(getattr(settings, section), key)
    return value


def _with(settings: Settings, point: Point, *, alone: bool = False) -> Settings:
    """The settings with those of a point. `alone`: a single value is looked at, which others need not fit."""
    from pydantic import ValidationError

    from pincite.config import Settings
    from pincite.errors import ConfigError

    data = Settings().model_dump() if alone else settings.model_dump()
    for name, value in point.items():
        section, _, key = name.partition(".")
        data[section][key] = value
    if alone and "chunk.overlap" in point:
        data["chunk"]["size"] = None
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise ConfigError(f"{where}: {problem['msg'].removeprefix('Value error, ')}") from None


def _objection(settings: Settings, point: Point, present: Point, encoder: Encoder) -> str | None:
    """Why these settings cannot stand together, "" if they are another point in other words; None if they can."""
    from pincite.build import build_chunker
    from pincite.errors import ConfigError

    for name, (other, needed) in _ONLY_WITH.items():
        if name in point and other in point and point[other] != needed and point[name] != present[name]:
            return ""
    try:
        build_chunker(_with(settings, point), encoder)
    except ConfigError as error:
        return str(error)
    return None


def _rest(settings: Settings, present: Point) -> str:
    """Everything that a search depends on beside what is swept: measurements with other values of it are others."""
    import hashlib
    import json

    data = settings.masked()
    kept = {
        f"{section}.{key}": value
        for section in ("chunk", "search", "rerank")
        for key, value in data.get(section, {}).items()
        if f"{section}.{key}" not in present
    }
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def _search(pincite: Any) -> Any:
    return lambda query, k: pincite.search(query, k=k)


def _default_measure(folder: Path, split: str) -> str:
    from pincite.evaluation.datasets import load_dataset

    return "span-recall@5" if load_dataset(folder, split).spans else "recall@5"


def _require_measures() -> None:
    from pincite.evaluation import measures

    measures.require_measures()


# Telling


def _progress(err: Console) -> Any:
    from contextlib import contextmanager

    @contextmanager
    def bars() -> Any:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        from pincite.evaluation.tune import Tried, TuneListener

        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )
        points = progress.add_task("settings tried", total=None)
        documents = progress.add_task("documents", total=None, visible=False)

        class Bars(TuneListener):
            def indexing(self, dataset: str, done: int, total: int) -> None:
                description = f"{dataset}: cutting and encoding"
                progress.update(documents, description=description, completed=done, total=total, visible=done < total)

            def tried(self, point: Tried, done: int, total: int) -> None:
                progress.update(
                    points, description=f"settings tried ({point.chunks:,} chunks)", completed=done, total=total
                )

            def told(self, message: str) -> None:
                progress.console.print(message, markup=False)

        with progress:
            listener: TuneListener = Bars()
            yield listener

    return bars()


def _report(
    out: Console, choice: Choice, sides: Sides, goal: Aim, present: Point, changes: Mapping[str, Value]
) -> None:
    out.print(_table(choice, sides, goal))
    before, after = choice.present, choice.best
    if not changes:
        out.print(f"no other settings do better on the {len(sides.train)} questions that choose")
        return
    out.print(f"best: {_shown(changes)}   (now: {_shown({name: present[name] for name in changes})})", markup=False)
    out.print(
        f"{goal.shown} on the {len(sides.train)} questions that chose: "
        f"{before.mean(sides.train):.3f} → {after.mean(sides.train):.3f} (flattered by the choice)",
        markup=False,
    )
    out.print(
        f"{goal.shown} on the {len(sides.held_out)} held out: {before.mean(sides.held_out):.3f} → "
        f"{after.mean(sides.held_out):.3f}, {choice.gain:+.3f} (95 % interval {choice.interval[0]:+.3f} to "
        f"{choice.interval[1]:+.3f}, p = {choice.p:.3f})",
        markup=False,
    )
    out.print(f"{'worth it' if choice.worth_it else 'not worth it'}: {choice.why}", markup=False)


def _table(choice: Choice, sides: Sides, goal: Aim) -> Table:
    from rich.table import Table

    varied = [
        name for name in choice.present.settings if len({str(each.settings.get(name)) for each in choice.order}) > 1
    ]
    table = Table(title=f"{goal.shown}, {sides.how}", title_justify="left", box=None, header_style="bold")
    table.add_column("#", justify="right", no_wrap=True, min_width=len(str(len(choice.order))))
    keys = [name.partition(".")[2] for name in varied]
    for name, key in zip(varied, keys, strict=True):
        # Without their sections, where that leaves them apart: a table of 80 columns has no room for more.
        table.add_column(key if keys.count(key) == 1 else name, no_wrap=True)
    for name in ("chooses", "held out", "chunks", "ms", "tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for place, each in enumerate(choice.order, 1):
        if place > _ROWS and each is not choice.present:
            continue
        marks = [word for word, own in (("best", choice.best), ("now", choice.present)) if own is each]
        table.add_row(
            str(place),
            *(_word(each.settings.get(name)) for name in varied),
            f"{each.mean(sides.train):.3f}",
            f"{each.mean(sides.held_out):.3f}",
            f"{each.chunks:,}",
            f"{each.ms:.1f}",
            f"{each.tokens:.0f}",
            ", ".join(marks),
        )
    if len(choice.order) > _ROWS:
        table.caption = f"{len(choice.order)} settings in all; --json lists every one"
    return table


def _data(
    choice: Choice, sides: Sides, goal: Aim, present: Point, changes: Mapping[str, Value], written: bool
) -> dict[str, object]:
    return {
        "dataset": str(sides.dataset.folder),
        "measure": goal.shown,
        "sides": sides.how,
        "questions": {"choose": len(sides.train), "held_out": len(sides.held_out)},
        "points": [
            {
                "settings": each.settings,
                "choose": each.mean(sides.train),
                "held_out": each.mean(sides.held_out),
                "chunks": each.chunks,
                "ms": each.ms,
                "tokens": each.tokens,
                "present": each is choice.present,
            }
            for each in choice.order
        ],
        "present": present,
        "best": choice.best.settings,
        "changes": changes,
        "gain": choice.gain,
        "interval": choice.interval,
        "p": choice.p,
        "worth_it": choice.worth_it,
        "why": choice.why,
        "warnings": [*sides.notes, *choice.warnings],
        "written": written,
    }


def _shown(settings: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} = {_word(value)}" for name, value in settings.items())


def _word(value: Value) -> str:
    return "unset" if value is None else str(value)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _agreed(out: Console, file: Path, as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        return False
    out.file.flush()
    return input(f"Write this to {file}? [y/N] ").strip().lower() in ("y", "yes")


# Writing


def _comment(choice: Choice, sides: Sides, goal: Aim, dataset: Path) -> list[str]:
    import shlex
    from datetime import date

    return [
        f"{_MARK} {date.today().isoformat()}: {goal.shown} {choice.present.mean(sides.held_out):.3f} → "
        f"{choice.best.mean(sides.held_out):.3f} on {len(sides.held_out)} held-out questions of {dataset.name},",
        f"{_MARK} 95 % interval of the gain {choice.interval[0]:+.3f} to {choice.interval[1]:+.3f}, "
        f"p = {choice.p:.3f}; by: {shlex.join(['pincite', *sys.argv[1:]])}",
    ]


def edit_settings(text: str, changes: Mapping[str, Value], comment: Sequence[str]) -> str:
    """The settings file `text` with `changes` (None removes a setting) and `comment` above each group of them.

    Everything else stays as it is: order, comments, blank lines. Comments of an earlier tuning above the same settings
    are replaced. Raises ConfigError for what is not TOML, and InputError where the result would not say what was meant.
    """
    from pincite.errors import ConfigError, InputError

    tomlkit = _toml()
    try:
        file = tomlkit.parse(text)
    except tomlkit.exceptions.ParseError as error:
        raise ConfigError(f"the settings file is not valid TOML: {error}") from None
    wanted = file.unwrap()
    for name, value in changes.items():
        section, _, key = name.partition(".")
        if value is None:
            if key in wanted.get(section, {}):
                del file[section][key]
                del wanted[section][key]
            continue
        if section not in file:
            file[section] = tomlkit.table()
        file[section][key] = value
        wanted.setdefault(section, {})[key] = value
    result = _commented(tomlkit.dumps(file), changes, comment)
    if tomlkit.parse(result).unwrap() != wanted:
        raise InputError("the settings file is written in a way that cannot be edited safely: change it by hand")
    return result


def _commented(text: str, changes: Mapping[str, Value], comment: Sequence[str]) -> str:
    import re

    lines = text.splitlines()
    for section in dict.fromkeys(name.partition(".")[0] for name in changes):
        keys = {name.partition(".")[2] for name in changes if name.startswith(f"{section}.")}
        header = next((i for i, line in enumerate(lines) if re.match(rf"\s*\[\s*{section}\s*\]", line)), None)
        if header is None:  # written as an inline table or with dotted names
            lines[:0] = comment
            continue
        end = next((i for i in range(header + 1, len(lines)) if re.match(r"\s*\[", lines[i])), len(lines))
        body = [line for line in lines[header + 1 : end] if not line.strip().startswith(_MARK)]
        first = next(
            (i for i, line in enumerate(body) if (m := re.match(r'\s*"?([\w-]+)"?\s*=', line)) and m[1] in keys), 0
        )
        lines[header + 1 : end] = [*body[:first], *comment, *body[first:]]
    return "\n".join(lines) + "\n"


def _write(file: Path, changes: Mapping[str, Value], comment: Sequence[str]) -> None:
    import os
    import stat
    import tempfile

    from pincite.errors import InputError

    try:
        # A link is followed: what it points to is the file.
        target = Path(os.path.realpath(file))
        text = target.read_text(encoding="utf-8-sig") if target.exists() else ""
        edited = edit_settings(text, changes, comment)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
                out.write(edited)
                out.flush()
                os.fsync(out.fileno())
            os.chmod(name, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be changed: {error}") from None


def _warn_environment(err: Console, store: Path | None, file: Path, changes: Mapping[str, Value]) -> None:
    settings = read_settings(store, file)
    for name, value in changes.items():
        if _value(settings, name) != value:
            variable = f"PINCITE_{name.replace('.', '_').upper()}"
            err.print(f"[yellow]note[/] {variable} in the environment wins over {name} = {_word(value)}")


def _toml() -> Any:
    from pincite.errors import MissingExtraError

    try:
        import tomlkit
        import tomlkit.exceptions
    except ImportError as error:
        raise MissingExtraError("changing a settings file", "eval") from error
    return tomlkit
