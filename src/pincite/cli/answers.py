"""``pincite eval answers``: how well questions are answered, on sets with gold answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

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
    from pincite.evaluation.answer_records import AnswerReport, Opened, Reader
    from pincite.evaluation.index import CorpusIndex
    from pincite.protocols import Encoder

__all__ = ["answers"]


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
    ks = None if k is None else numbers(k)
    settings = reader_settings(config, model, base_url, marginalize, None if ks is None else max(ks))
    ks = ks or (next(iter(settings.values())).answer.passages,)
    for file in (report, answers_file):
        if file is not None:
            check_place(file, SUFFIXES if file is report else ())
    err = console(stderr=True)
    found = load_sets(sets, split, limit, seed, err)
    reports: list[AnswerReport] = []
    with watched(err) as listener, Bench(settings, cache, listener) as bench:
        try:
            for each in found:
                index = bench.index(each)
                readers = [_reader(bench, name, of, ks, index) for name, of in settings.items()]
                kept = KeptReplies(bench.folder / "answers" / f"{each.name}.jsonl", fresh=fresh)
                made = evaluate_answers(each, readers, rule=chosen, seed=seed, kept=kept, listener=listener)
                facts = {"documents": index.documents, "passages": index.chunks}
                reports.append(replace(made, facts=facts))
        except KeyboardInterrupt:
            listener.told("interrupted: what was answered is kept; run it again for the rest")
            raise typer.Exit(130) from None
    reports = correct_answers(reports)
    about = about_run(settings, seed)
    if answers_file is not None:
        rows = (json.dumps(row, ensure_ascii=False) + "\n" for each in reports for row in answers_rows(each))
        write(answers_file, "".join(rows))
        err.print(f"answers written to {answers_file}", markup=False, soft_wrap=True)
    if report is not None:
        write(report, _report_text(report.suffix.lower(), reports, about))
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


# The parts put together


def _reader(bench: Bench, name: str, settings: Settings, ks: tuple[int, ...], index: CorpusIndex) -> Reader:
    """A way of answering the questions of a set, over the index of its corpus."""
    from pincite.evaluation.answer_records import Reader

    return Reader(name, ks, bench.recipe(settings, index), lambda: _opened(bench, settings, index))


@contextmanager
def _opened(bench: Bench, settings: Settings, index: CorpusIndex) -> Iterator[Opened]:
    import time

    from pincite.build import Pincite, index_options
    from pincite.evaluation.answer_records import Found, Opened
    from pincite.evaluation.answerers import GeneratorAnswerer
    from pincite.evaluation.timed import TimedQueries
    from pincite.store.edge import EdgeStore
    from pincite.types import Hit, Passage

    timed = TimedQueries(bench.encoder, bench.cached)
    options = index_options(settings)
    # What writes answers is measured alone, and holds back by its own measure: nothing weighs the evidence behind it.
    alone = settings.model_copy(update={"answer": settings.answer.model_copy(update={"calibration": "off"})})
    with (
        EdgeStore.open(index.folder, timeout=BUSY_SECONDS, index=options) as store,
        Pincite.over(alone, store, cast("Encoder", timed)) as pincite,
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


def _report_text(suffix: str, reports: Sequence[AnswerReport], about: Sequence[str]) -> str:
    from pincite.evaluation.answer_page import answers_html
    from pincite.evaluation.answer_report import answers_data, answers_markdown

    if suffix == ".json":
        return json.dumps({"about": list(about), **answers_data(reports)}, ensure_ascii=False, indent=2) + "\n"
    title = f"Answers on {', '.join(each.dataset for each in reports)}"
    made = answers_markdown if suffix == ".md" else answers_html
    return made(reports, title=title, about=about)
