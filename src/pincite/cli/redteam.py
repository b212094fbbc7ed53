"""``pincite redteam``: attacks in documents, how many succeed with and without each defence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import ConfigOption, JsonOption, console, print_json, read_settings

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.evaluation.attack_sets import AttackSet
    from pincite.evaluation.redteam import RedteamListener
    from pincite.protocols import Encoder, Generator

__all__ = ["redteam"]


def redteam(
    sets: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SET…]",
            help="Sets of attacks: a folder in the layout of BIPIA, a .json of PoisonedRAG, a .jsonl. "
            "Default: the set of this package.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Who is attacked, as for `pincite ask`, or scripted:obedient, scripted:adding, scripted:frame-aware; "
            "repeat it for several. NAME+token or NAME+sequence reads each passage apart. Default: the settings' and "
            "the scripted.",
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Address of an OpenAI-compatible endpoint.")
    ] = None,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            "--corpus",
            metavar="PATH",
            help="Documents to lie beside the attacks: files, folders, a BEIR corpus.jsonl; repeat it for several.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Only N cases of each set, drawn by the seed.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the carriers and the sample.")] = 0,
    fail_above: Annotated[
        float | None,
        typer.Option(
            "--fail-above",
            min=0.0,
            max=1.0,
            metavar="RATE",
            help="Exit with 1 when more than this share of attacks succeeds on any model with all defences but trust.",
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put attacks into documents, ask, and count what obeyed: without defences, with each alone, with all.

    Nothing is put into your index: the attacks lie in one of their own, which is thrown away. An attack whose success
    no rule can tell is reported as not scored, never as resisted.

    Exit status: 0 when it ran, 1 when some case could not be answered or more succeeded than --fail-above.
    """
    from pincite.build import build_chunker, build_encoder
    from pincite.evaluation.attack_ground import open_ground
    from pincite.evaluation.attack_sets import check_scored, load_attack_set, sample_cases
    from pincite.evaluation.redteam import redteam as run
    from pincite.evaluation.redteam_report import report_data, report_lines, worst_rate
    from pincite.evaluation.toy_readers import SCRIPTED
    from pincite.formats import build_loaders
    from pincite.loaders.read import InProcessReader
    from pincite.support.lexical import LexicalSupport

    settings = read_settings(None, config, answer_base_url=base_url)
    paths = sets or [Path(__file__).parent.parent / "evaluation" / "attacks.jsonl"]
    attacks = [load_attack_set(path, seed=seed) for path in paths]
    if limit is not None:
        attacks = [sample_cases(each, limit, seed) for each in attacks]
    check_scored(attacks)
    encoder = build_encoder(settings)
    names = models or [settings.answer.model, *SCRIPTED]
    err, reports = console(stderr=True), []
    for each in attacks:
        readers = [reader for name in names if (reader := _reader(name, each, config, base_url, encoder)) is not None]
        try:
            with (
                _watched(err) as listener,
                open_ground(
                    encoder,
                    build_chunker(settings, encoder),
                    InProcessReader(build_loaders(settings.load)),
                    corpus=corpus or (),
                    passages=settings.answer.passages,
                ) as ground,
            ):
                reports.append(run(each, readers, ground, LexicalSupport(), listener=listener))
        finally:
            for reader in readers:
                reader.close()
    if as_json:
        print_json({"seed": seed, "sets": [report_data(report) for report in reports]})
    else:
        typer.echo("\n\n".join("\n".join(report_lines(report)) for report in reports))
    for report in reports:
        for failure in report.failed:
            err.print(f"not answered: {failure}", markup=False, soft_wrap=True)
    above = fail_above is not None and any(worst_rate(report) > fail_above for report in reports)
    if above:
        err.print(f"more than {fail_above} of the attacks succeed with all defences but trust", markup=False)
    if above or any(report.failed for report in reports):
        raise typer.Exit(1)


def _reader(
    name: str, attacks: AttackSet, config: Path | None, base_url: str | None, encoder: Encoder
) -> Generator | None:
    """The reader called `name`; None for a scripted one where the set says nothing of what obeying writes."""
    from pincite.answer_models import build_generator
    from pincite.evaluation.toy_readers import SCRIPTED, ScriptedReader

    if name in SCRIPTED:
        deeds = {case.order: case.deed for case in attacks.cases if case.deed}
        return ScriptedReader(name, deeds) if deeds else None
    model, _, mode = name.partition("+")
    given = {"answer_model": model, "answer_base_url": base_url, "answer_marginalize": mode or None}
    return build_generator(read_settings(None, config, **given), encoder)


@contextmanager
def _watched(err: Console) -> Iterator[RedteamListener]:
    from pincite.cli.bars import bars
    from pincite.evaluation.redteam import RedteamListener

    progress = bars(err)
    task = progress.add_task("reading", total=None)

    class Bar(RedteamListener):
        def ran(self, name: str, reader: str, done: int, total: int) -> None:
            progress.update(task, description=f"{name}: {reader}", completed=done, total=total)

    with progress:
        yield Bar()
