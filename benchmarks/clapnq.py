"""Refusals and citations on questions that a passage answers, and on others that it only seems to answer (CLAPNQ).

    python benchmarks/clapnq.py ask --data ../shared/data/beir --out clapnq.jsonl --column own
    python benchmarks/clapnq.py ask --data ../shared/data/beir --out clapnq.jsonl --column found
    python benchmarks/clapnq.py ask --set xquad-en --limit 300 --out xquad.jsonl --column taken  # found, renamed
    python benchmarks/clapnq.py report clapnq.jsonl xquad.jsonl --fit calibration.json

The data is in the BEIR layout (`to_beir.py clapnq` makes it). Columns: ``own``, a question is asked of the passage that
the set shows with it; ``found``, of what a search of the whole corpus finds; ``taken``, of what it finds when the
passage with the answer is taken away, and the question then has none; ``renamed``, a name or a number of the question
is replaced by one that no document has. `--fixed` asks as without a calibration: with
the extractive generator's fixed score.

`ask` goes on where it stopped. `report` fits on all rows of a generator together and tells each column apart, by
cross-validation: all rows of a question are held out together.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pincite.answer_models import build_generator
from pincite.build import Pincite, build_encoder, cache_folder
from pincite.calibration import FEATURES, OF_SEARCH, SEARCH, Calibration, kind_of, save_calibration
from pincite.config import load_settings
from pincite.encoders.cached import CachedEncoder
from pincite.evaluation.answer_sets import Question, load_answer_set
from pincite.evaluation.calibrating import (
    CrossValidated,
    Labelled,
    Measured,
    choose_least,
    cross_validate,
    fit,
    least_harm,
    measure,
    with_measures,
)
from pincite.evaluation.index import ensure_index
from pincite.evaluation.kept_generations import KeptGenerator
from pincite.evaluation.significance import bootstrap_interval
from pincite.missing import find_missing
from pincite.store.edge import EdgeStore
from pincite.types import Answer, Evidence, SearchResult

COLUMNS = ("own", "found", "taken", "renamed")
#: In place of a name. None of them is a word, and none is in the data.
NAMES = ("Zorvath", "Quellinor", "Brastev", "Mirodane", "Town37", "X300", "Ulveck", "Pranzo", "Kethiwar", "Dolmire")


def ask(arguments: argparse.Namespace) -> None:
    folder = arguments.data / arguments.set
    answers = load_answer_set(folder)
    sentences = gold_sentences(folder)
    settings = load_settings(
        environment={},
        overrides={"answer.model": arguments.model, "search.merge": 0, "answer.calibration": "off"},
    )
    encoder = CachedEncoder(build_encoder(settings), arguments.cache / "vectors")
    index = ensure_index(
        answers.dataset,
        arguments.cache / f"indexes-{arguments.model.partition(':')[0]}",
        create=lambda at, header: EdgeStore.create(at, header),
        encoder=encoder,
        language="english",
    )
    made = build_generator(settings, encoder, weighed=not arguments.fixed)
    recipe = f"least {0.0 if not arguments.fixed else 1.0}" if arguments.model == "extractive" else "r1"
    kept = KeptGenerator(made, arguments.cache / f"{arguments.set}-{arguments.model}.jsonl", recipe)
    questions = list(answers.questions)
    random.Random(arguments.seed).shuffle(questions)
    with (
        EdgeStore.open(index.folder) as store,
        Pincite.over(settings, store, encoder, generator=lambda: kept) as pincite,
        arguments.out.open("a", encoding="utf-8") as out,
    ):
        for done, question in enumerate(questions[: arguments.limit], 1):
            answer = asked(pincite, question, arguments.column)
            if answer is None:
                continue
            row = record(answer, question, sentences.get(question.id, []))
            head = {"set": arguments.set, "column": arguments.column, "fixed": arguments.fixed, "kind": kind_of(made)}
            out.write(json.dumps({**head, **row}) + "\n")
            out.flush()
            if done % 20 == 0:
                print(f"{done} of {len(questions[: arguments.limit])}", flush=True)


def asked(pincite: Pincite, question: Question, column: str) -> Answer | None:
    """The answer under a column; None for a question that the column has not."""
    if column == "own":
        shown = question.gold[0] if question.answerable and question.gold else question.shown
        return pincite.ask(question.text, where={"document_id": shown}) if shown else None
    if column == "found":
        return pincite.ask(question.text)
    if not question.gold:
        return None
    if column == "renamed":
        other = renamed(question.text)
        return pincite.ask(other) if other else None
    taken = Taken(pincite, question.gold)
    try:
        return pincite.ask(question.text)
    finally:
        taken.undo()


def renamed(question: str) -> str:
    """The question with one of its names or numbers replaced, drawn by the question; empty without any."""
    asked_for = [each for each in find_missing(question, []).asked if each in question]
    if not asked_for:
        return ""
    draw = random.Random(question)
    old = draw.choice(asked_for)
    new = str(draw.randrange(30_000, 90_000)) if old.isdigit() else draw.choice(NAMES)
    return question.replace(old, new, 1)


class Taken:
    """While it is in force, no search of a pipeline finds the documents."""

    def __init__(self, pincite: Pincite, documents: tuple[str, ...]) -> None:
        self.pincite, self.documents = pincite, documents
        self.search: Callable[..., SearchResult] = pincite._search
        pincite._search = self  # type: ignore[method-assign,assignment]

    def undo(self) -> None:
        self.pincite._search = self.search  # type: ignore[method-assign]

    def __call__(self, query: str, k: int, *rest: Any) -> SearchResult:
        found = self.search(query, k + len(self.documents), *rest)
        passages = [each for each in found.passages if each.chunk.document_id not in self.documents]
        gone = tuple(f"{each}." for each in self.documents)
        legs = {
            leg: tuple(hit for hit in hits if not hit.chunk_id.startswith(gone)) for leg, hits in found.legs.items()
        }
        return replace(found, passages=tuple(passages[:k]), legs=legs)


def gold_sentences(folder: Path) -> dict[str, list[str]]:
    rows = (json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["_id"]: row.get("metadata", {}).get("gold_sentences", []) for row in rows}


def record(answer: Answer, question: Question, sentences: list[str]) -> dict[str, Any]:
    texts = {each.chunk.document_id: each.chunk.text for each in answer.passages}
    spans = [
        (document, text.find(sentence), text.find(sentence) + len(sentence))
        for document, text in texts.items()
        if document in question.gold
        for sentence in sentences
        if sentence in text
    ]
    cited = [(each.document_id, each.start, each.end, each.verdict) for each in answer.citations]
    return {
        "id": question.id,
        "answerable": question.answerable,
        "gold_found": any(document in question.gold for document in texts),
        "refused": answer.abstained,
        "reason": answer.reason,
        "evidence": asdict(answer.evidence) if answer.evidence else None,
        "gold": spans,
        "cited": cited,
        "text": answer.text,
        "seconds": sum(answer.timings.values()),
    }


def report(arguments: argparse.Namespace) -> None:
    rows = [json.loads(line) for file in arguments.files for line in file.read_text(encoding="utf-8").splitlines()]
    weighed = [row for row in rows if not row["fixed"]]
    kinds = dict.fromkeys(row["kind"] for row in weighed)
    calibration: dict[str, Any] = {}
    for row in rows:
        # What was taken away cannot be what the passages answer from; what was not found neither.
        row["label"] = row["answerable"] and row["column"] not in ("taken", "renamed") and row["gold_found"]
    for kind in kinds:
        own = [row for row in weighed if row["kind"] == kind]
        told(f"{kind}, threshold of the best F1", own, FEATURES, partial(choose_least, beta=1.0), arguments.folds)
        calibration[kind] = told(kind, own, FEATURES, choose_least, arguments.folds)
        fixed = [row for row in rows if row["fixed"] and row["kind"] == kind]
        for name, part in [*columns(fixed), *sets(fixed)]:
            held = CrossValidated(tuple(0.5 for _ in part), tuple(row["refused"] for row in part))
            show(f"{kind}, {name}, fixed limits", measure([labelled(row) for row in part], held), part)
    # Every question's search, once.
    searched = [row for row in weighed if row["kind"] == next(iter(kinds))]
    calibration[SEARCH] = told(SEARCH, searched, OF_SEARCH, least_harm, arguments.folds)
    if arguments.fit:
        settings = load_settings(environment={})
        about = {"questions": ", ".join(sorted({f"{row['set']} ({row['column']})" for row in weighed}))}
        encoder = build_encoder(settings).identity.name
        save_calibration(Calibration(calibration, encoder, about), arguments.fit)


def labelled(row: dict[str, Any], *, search: bool = False) -> Labelled:
    return Labelled(row["id"], row["label"], Evidence(**row["evidence"]), row["refused"] and not search)


def columns(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for name in dict.fromkeys((row["set"], row["column"]) for row in rows):
        yield " ".join(name), [row for row in rows if (row["set"], row["column"]) == name]


def sets(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for name in dict.fromkeys(row["set"] for row in rows):
        yield f"{name}, all columns", [row for row in rows if row["set"] == name]


def told(kind: str, rows: list[dict[str, Any]], features: tuple[str, ...], rule: Any, folds: int) -> Any:
    known = [labelled(row, search=kind == SEARCH) for row in rows]
    held = cross_validate(known, features, folds=folds, rule=rule)
    everything = measure(known, held)
    show(f"{kind}, all", everything, [])
    for name, part in [*columns(rows), *sets(rows)]:
        places = [i for i, row in enumerate(rows) if row in part]
        some = CrossValidated(tuple(held.probabilities[i] for i in places), tuple(held.refused[i] for i in places))
        answered = [row for row, refused in zip(part, some.refused, strict=True) if not refused]
        show(f"{kind}, {name}", measure([known[i] for i in places], some), [] if kind == SEARCH else answered)
    return with_measures(replace(fit(known, features), least=rule(known, held.probabilities)), everything)


def show(name: str, found: Measured, answered: list[dict[str, Any]]) -> None:
    def three(interval: Any) -> str:
        return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"

    print(f"\n{name}: {found.questions} questions, {found.answerable} answered by their passages")
    print(f"  refusals: precision {three(found.precision)}  recall {three(found.recall)}  F1 {three(found.f1)}")
    print(f"  refused though answered {three(found.false_refusals)}")
    if found.answerable not in (0, found.questions) and "fixed" not in name:
        print(f"  AUC {three(found.auc)}  Brier {three(found.brier)}")
        print(f"  calibration error {found.calibration_error:.3f}, of a perfect one {found.chance_error:.3f}")
    given = [row for row in answered if row["label"] and not row["refused"] and row["gold"]]
    if not given:
        return
    hits = [[overlaps(each, row["gold"]) for each in row["cited"]] for row in given]
    precision = [float(np.mean(each)) for each in hits if each]
    recall = [float(np.mean([overlaps(gold, row["cited"]) for gold in row["gold"]])) for row in given]
    proved = [float(np.mean([each[3] in ("verbatim", "supported") for each in row["cited"]])) for row in given]
    for what, values in (
        ("citations on a selected sentence", precision),
        ("selected sentences cited", recall),
        ("a selected sentence is cited", [float(any(each)) for each in hits]),
        ("citations that support their sentence", proved),
    ):
        low, high = bootstrap_interval(values)
        print(f"  {what}: {np.mean(values):.3f} [{low:.3f}, {high:.3f}] of {len(values)} answers")


def overlaps(span: list[Any], others: list[list[Any]]) -> bool:
    return any(span[0] == other[0] and span[1] < other[2] and other[1] < span[2] for other in others)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="do", required=True)
    one = kinds.add_parser("ask")
    one.add_argument("--data", type=Path, default=Path("../shared/data/beir"))
    one.add_argument("--set", default="clapnq")
    one.add_argument("--model", default="extractive")
    one.add_argument("--column", choices=COLUMNS, default="found")
    one.add_argument("--fixed", action="store_true")
    one.add_argument("--limit", type=int)
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--cache", type=Path, default=None)
    one.add_argument("--out", type=Path, required=True)
    two = kinds.add_parser("report")
    two.add_argument("files", type=Path, nargs="+")
    two.add_argument("--folds", type=int, default=5)
    two.add_argument("--fit", type=Path, help="write a calibration that was fitted on all of it")
    arguments = parser.parse_args()
    if arguments.do == "ask":
        arguments.cache = arguments.cache or cache_folder() / "clapnq"
        ask(arguments)
    else:
        report(arguments)


if __name__ == "__main__":
    main()
