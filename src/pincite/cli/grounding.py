"""``pincite eval grounding``: whole answers, their citations and their refusals, on sets with gold answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from pincite.cli.answer_bench import (
    BUSY_SECONDS,
    SUFFIXES,
    Bench,
    about_run,
    check_place,
    load_sets,
    numbers,
    reader_settings,
    write,
)
from pincite.cli.common import ConfigOption, JsonOption, console, print_json

if TYPE_CHECKING:
    from pincite.config import Settings
    from pincite.evaluation.answer_sets import AnswerSet
    from pincite.evaluation.grounding_records import Asking, GroundedReader, GroundingReport
    from pincite.evaluation.index import CorpusIndex
    from pincite.evaluation.kept_generations import KeptGenerator
    from pincite.protocols import Encoder, Generator, Matrix, SupportScorer
    from pincite.types import Answer, Document

__all__ = ["grounding"]


def grounding(
    sets: Annotated[
        list[Path],
        typer.Argument(metavar="SET…", help="Folders in the BEIR layout whose queries.jsonl has answers."),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="What answers, as for `pincite ask`; repeat it to compare several. Default: the settings'.",
        ),
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
    support: Annotated[
        str | None,
        typer.Option(
            "--support",
            metavar="NAME",
            help="What tells whether a source supports a statement: lexical, semantic, nli:PATH, judge (the model that "
            "answers) or judge:NAME (another, as for --model). Default: the settings' support.model.",
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
        typer.Option("--answers", metavar="FILE", help="Write every answer and its proof there, a line of JSON each."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="DIR", help="Keep vectors, indexes and answers there. Default: the user's."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask and judge again, also what is kept.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure whole answers: do their sources bear them out, and do they refuse where they should?

    Every question goes through all that `pincite ask` does, once among all documents and once among the gold ones.
    Citation recall and precision (ALCE), faithfulness, relevance and refusals come with 95 % intervals; every
    citation's characters are read again from the index; and of each question that was lost the stage that lost it is
    told. Interrupted, it goes on where it was.

    Exit status: 0 when every question was answered or refused, 1 when some failed or a citation is not exact.
    """
    from dataclasses import replace

    from pincite.cli.bars import fit_pipe, watched
    from pincite.evaluation.answer_assessment import correct
    from pincite.evaluation.answer_measures import check_rule
    from pincite.evaluation.grounding import evaluate_grounding
    from pincite.evaluation.grounding_report import (
        grounding_data,
        grounding_remarks,
        grounding_rows,
        grounding_tables,
    )
    from pincite.evaluation.grounding_verdicts import Verdicts
    from pincite.evaluation.kept_replies import KeptReplies

    chosen = check_rule(rule)
    ks = None if k is None else numbers(k)
    settings = _settings(config, model, base_url, marginalize, None if ks is None else max(ks))
    ks = ks or (next(iter(settings.values())).answer.passages,)
    for file in (report, answers_file):
        if file is not None:
            check_place(file, SUFFIXES if file is report else ())
    err = console(stderr=True)
    found = load_sets(sets, split, limit, seed, err)
    reports: list[GroundingReport] = []
    with watched(err) as listener, Bench(settings, cache, listener) as bench:
        scorer = _scorer(support, bench)
        try:
            for each in found:
                index = bench.index(each)
                folder = bench.folder / "grounding"
                # Words are compared sooner than a verdict is read from a file.
                kept = (
                    None
                    if scorer.name == "lexical"
                    else KeptReplies(folder / f"{each.name}.verdicts.jsonl", fresh=fresh)
                )
                readers = [_reader(bench, name, of, ks, index, each, fresh) for name, of in settings.items()]
                made = evaluate_grounding(
                    each,
                    readers,
                    Verdicts(scorer, kept, bench.recipe(bench.first, index)),
                    support=_told(scorer),
                    rule=chosen,
                    seed=seed,
                    listener=listener,
                )
                facts = {"documents": index.documents, "passages": index.chunks}
                reports.append(replace(made, answers=replace(made.answers, facts=facts)))
        except KeyboardInterrupt:
            listener.told("interrupted: what was answered is kept; run it again for the rest")
            raise typer.Exit(130) from None
        finally:
            scorer.close()
    corrected = iter(correct([versus for each in reports for versus in each.versus]))
    reports = [replace(each, versus=tuple(next(corrected) for _ in each.versus)) for each in reports]
    about = about_run(settings, seed)
    if answers_file is not None:
        rows = (json.dumps(row, ensure_ascii=False) + "\n" for each in reports for row in grounding_rows(each))
        write(answers_file, "".join(rows))
        err.print(f"answers written to {answers_file}", markup=False, soft_wrap=True)
    if report is not None:
        write(report, _report_text(report.suffix.lower(), reports, about))
        err.print(f"written to {report}", markup=False, soft_wrap=True)
    if as_json:
        print_json({"about": about, **grounding_data(reports)})
    else:
        out = fit_pipe(console())
        for table in grounding_tables(reports, width=out.width):
            out.print(table)
        for told in reports:
            for remark in grounding_remarks(told):
                err.print(f"{told.answers.dataset}: {remark}", markup=False)
    if any(told.failed or told.broken for told in reports):
        raise typer.Exit(1)


def _settings(
    config: Path | None, models: list[str] | None, base_url: str | None, marginalize: str | None, most: int | None
) -> dict[str, Settings]:
    """Settings by the name of the reader: the way of weighing passages and, of several models, the model."""
    named: list[str | None] = list(dict.fromkeys(models or [])) or [None]
    found: dict[str, Settings] = {}
    for each in named:
        for mode, settings in reader_settings(config, each, base_url, marginalize, most).items():
            found[mode if len(named) == 1 else f"{each} {mode}"] = settings
    return found


# What tells support


def _scorer(name: str | None, bench: Bench) -> SupportScorer:
    """The scorer of that name; that of the settings for None. Raises as `pincite.support_models.build_support`."""
    from pincite.support.lexical import LexicalSupport
    from pincite.support_models import build_support

    settings = bench.first
    if name is not None:
        # `judge` alone is the model that answers; after a colon stands another.
        kind, _, model = name.partition(":")
        chosen = settings.support.model_copy(update={"model": kind if kind == "judge" else name, "threshold": None})
        answer = settings.answer.model_copy(update={"model": model} if kind == "judge" and model else {})
        settings = settings.model_copy(update={"support": chosen, "answer": answer})
    if settings.support.model == "lexical" and settings.support.threshold is None:
        return LexicalSupport()  # only the verdict counts here: vectors choose which sentence to show
    return build_support(settings, bench.encoder)


def _told(scorer: SupportScorer) -> Mapping[str, object]:
    """What a report tells of the scorer; of a judge its model, its prompt, and how its replies are drawn."""
    if not scorer.name.startswith("judge:"):
        return {"name": scorer.name}
    model, _, prompt = scorer.name.removeprefix("judge:").rpartition("/")
    return {
        "name": scorer.name,
        "model": model,
        "prompt": f"version {prompt}",
        "seed": "none: the likeliest reply (temperature 0)",
    }


# The parts put together


def _reader(
    bench: Bench,
    name: str,
    settings: Settings,
    ks: tuple[int, ...],
    index: CorpusIndex,
    answers: AnswerSet,
    fresh: bool,
) -> GroundedReader:
    from pincite.evaluation.grounding_records import GroundedReader

    kept = bench.folder / "grounding" / f"{answers.name}.jsonl"
    return GroundedReader(name, ks, lambda: _opened(bench, settings, index, kept, fresh))


@contextmanager
def _opened(bench: Bench, settings: Settings, index: CorpusIndex, kept: Path, fresh: bool) -> Iterator[Asking]:
    from pincite.build import Pincite, index_options
    from pincite.evaluation.grounding_records import Asking
    from pincite.evaluation.timed import TimedQueries
    from pincite.store.edge import EdgeStore

    timed = cast("Encoder", TimedQueries(bench.encoder, bench.cached))
    with (
        EdgeStore.open(index.folder, timeout=BUSY_SECONDS, index=index_options(settings)) as store,
        Pincite.over(settings, store, timed) as pincite,
    ):
        generator = _kept(pincite.generator, kept, bench.recipe(settings, index), fresh)
        pincite._generator = generator

        def ask(question: str, k: int) -> Answer:
            return pincite.ask(question, k=k)

        def from_gold(question: str, document_ids: Sequence[str]) -> Answer | None:
            answer = pincite.ask(question, k=len(document_ids), where={"document_id": list(document_ids)})
            return answer if answer.passages else None

        def document(document_id: str, version: int) -> Document | None:
            return store.get_document(document_id, version)

        def similarity(question: str, text: str) -> float:
            return _cosine(bench.cached.encode_queries([question])[0], bench.encoder.encode_passages([text])[0])

        yield Asking(generator.name, ask, from_gold, document, similarity, lambda: generator.taken)


def _kept(generator: Generator, file: Path, recipe: str, fresh: bool) -> KeptGenerator:
    """A generator whose answers are kept, and which can else do what `generator` can."""
    from pincite.evaluation.kept_generations import KeptGenerator

    class Kept(KeptGenerator):
        def __getattr__(self, name: str) -> Any:
            return getattr(object.__getattribute__(self, "inner"), name)

    return Kept(generator, file, recipe, fresh=fresh)


def _cosine(one: Matrix, other: Matrix) -> float:
    length = float((one @ one) ** 0.5 * (other @ other) ** 0.5)
    return float(one @ other) / length if length else 0.0


def _report_text(suffix: str, reports: Sequence[GroundingReport], about: Sequence[str]) -> str:
    from pincite.evaluation.grounding_report import grounding_data, grounding_html, grounding_markdown

    if suffix == ".json":
        return json.dumps({"about": list(about), **grounding_data(reports)}, ensure_ascii=False, indent=2) + "\n"
    title = f"Grounding on {', '.join(each.answers.dataset for each in reports)}"
    made = grounding_markdown if suffix == ".md" else grounding_html
    return made(reports, title=title, about=about)
