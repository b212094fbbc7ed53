"""How often passages are said to contradict each other where nothing does: the rate of false alarms.

    python benchmarks/conflicts.py --data ../shared/data --questions 100

The sets (xquad-en, clapnq: paragraphs of an encyclopedia) and the documents of law (the bundled ones and the Indian
Penal Code, with the golden questions and those of codes.py) hold no contradiction that anybody knows of. Each question
is asked with the settings as shipped, five passages, and the answer's citations are held against the passages. Every
conflict found is printed for reading; the rate is the share of answers with one. Questions are drawn by the seed 0;
answers that abstain have no citation and are counted apart.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codes import PAIRS
from pincite import Pincite
from pincite.conflicts import conflicts
from pincite.evaluation.datasets import load_dataset
from pincite.protocols import Source

SETS = ("xquad-en", "clapnq")
DEMO = Path(__file__).parent.parent / "src" / "pincite" / "demo"


@contextmanager
def index_of(data: Path, name: str) -> Iterator[tuple[Pincite, list[str]]]:
    with tempfile.TemporaryDirectory() as folder, Pincite.open(Path(folder) / "index") as pincite:
        if name == "law":
            pincite.add([DEMO / "documents", data / "indian-acts-pdf" / "ipc.pdf"])
            asked = json.loads((DEMO / "questions.json").read_text(encoding="utf-8"))
            yield pincite, [*(each["question"] for each in asked), *(each.question for each in PAIRS)]
            return
        dataset = load_dataset(data / "beir" / name, "test")
        sources = [
            Source(uri=f"set:{each.id}", name=f"{each.id}.txt", data=f"{each.title}\n\n{each.text}".encode())
            for each in dataset.documents()
        ]
        pincite.add_sources(sources)
        yield pincite, [dataset.queries[each] for each in dataset.qrels]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--questions", type=int, default=100, help="of each set")
    parser.add_argument("--sets", nargs="+", default=[*SETS, "law"], help=f"of {', '.join(SETS)}, law")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = {}
    for name in arguments.sets:
        with index_of(arguments.data, name) as (pincite, questions):
            drawn = random.Random(0).sample(questions, min(arguments.questions, len(questions)))
            answered, alarms, seconds = 0, 0, 0.0
            for question in drawn:
                answer = pincite.ask(question)
                answered += not answer.abstained
                started = time.perf_counter()
                found = conflicts(answer.citations, answer.passages)
                seconds += time.perf_counter() - started
                alarms += bool(found)
                for each in found:
                    print(f"  {name}: {each.difference}\n    {each.citation.quote}\n    {each.against.quote}")
        rows[name] = {
            "questions": len(drawn),
            "answered": answered,
            "alarms": alarms,
            "ms": 1000 * seconds / len(drawn),
        }
        print(f"{name}: {rows[name]}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
