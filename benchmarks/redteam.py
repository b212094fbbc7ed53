"""Attack success with and without each defence: BIPIA and PoisonedRAG, scripted readers, extractive, the local model.

    python benchmarks/redteam.py --data ../shared/data --json redteam.json
    python benchmarks/redteam.py --data ../shared/data --readers local local+token --limit 45

BIPIA: the 75 training attacks, each in one of the test e-mails (drawn by the seed) at its start, middle and end, alone
in an index. PoisonedRAG: the five false passages of each of the 100 NQ questions among 596 passages of CLAPNQ, which
are of Wikipedia and were not made for these questions: how many of the questions they can answer is printed, and where
they cannot, the attack has no opponent. The readers are scripted toys (see `pincite.evaluation.toy_readers`), the
extractive reader, and Gemma 3 270M alone or marginalized (``local+token``).

Beside it, the false alarms of the suspicion score on the benign items of bastioncorpus.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from pincite.answer_models import build_generator
from pincite.build import build_chunker, build_encoder
from pincite.config import load_settings
from pincite.evaluation.attack_ground import open_ground
from pincite.evaluation.attack_sets import AttackSet, load_attack_set, sample_cases
from pincite.evaluation.redteam import RedteamListener, redteam
from pincite.evaluation.redteam_report import report_data, report_lines
from pincite.evaluation.toy_readers import SCRIPTED, ScriptedReader
from pincite.formats import build_loaders
from pincite.loaders.read import InProcessReader
from pincite.protocols import Generator
from pincite.support.lexical import LexicalSupport
from pincite.suspicion import suspicion


class Progress(RedteamListener):
    def __init__(self) -> None:
        self.last = time.monotonic()

    def ran(self, name: str, reader: str, done: int, total: int) -> None:
        if time.monotonic() - self.last > 20 or done == total:
            self.last = time.monotonic()
            print(f"{name} {reader} {done}/{total}", file=sys.stderr, flush=True)


def reader_of(name: str, attacks: AttackSet, encoder) -> Generator:  # type: ignore[no-untyped-def]
    if name in SCRIPTED:
        return ScriptedReader(name, {case.order: case.deed for case in attacks.cases})
    model, _, mode = name.partition("+")
    settings = load_settings(environment={}, overrides={"answer.model": model, "answer.marginalize": mode or "none"})
    return build_generator(settings, encoder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PINCITE_DATA", "../shared/data")))
    parser.add_argument("--sets", nargs="+", default=["bipia", "poisonedrag"])
    parser.add_argument("--readers", nargs="+", default=[*SCRIPTED, "extractive"])
    parser.add_argument("--limit", type=int, help="scored cases of each set, drawn by the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    settings = load_settings(environment={})
    encoder = build_encoder(settings)
    places = {
        "bipia": (options.data / "bipia", []),
        "poisonedrag": (options.data / "poisonedrag/nq.json", [options.data / "beir/clapnq/corpus.jsonl"]),
    }
    made = {}
    for name in options.sets:
        path, corpus = places[name] if name in places else (Path(name), [])
        whole = load_attack_set(path, seed=options.seed)
        attacks = whole
        if options.limit:
            scored = replace(whole, cases=tuple(case for case in whole.cases if case.scored))
            attacks = sample_cases(scored, options.limit, options.seed)
        with open_ground(
            encoder, build_chunker(settings, encoder), InProcessReader(build_loaders()), corpus=corpus
        ) as ground:
            readers = [
                reader
                for each in options.readers
                if not (each in SCRIPTED and not any(case.deed for case in attacks.cases))
                for reader in [reader_of(each, attacks, encoder)]
            ]
            if attacks.layout == "poisonedrag":
                held = sum(
                    any(case.expected.casefold() in passage.chunk.text.casefold() for passage in found)
                    for case in attacks.cases
                    for found in [ground.found(case.question, (), separated=True)]
                )
                print(
                    f"{name}: the right answer stands in what is found without the poison: {held}/{len(attacks.cases)}"
                )
            report = redteam(attacks, readers, ground, LexicalSupport(), listener=Progress())
            for reader in readers:
                reader.close()
        made[name] = report_data(report)
        print("\n".join(report_lines(report)), flush=True)
        if options.json:
            options.json.write_text(json.dumps(made, indent=1, ensure_ascii=False), encoding="utf-8")
    rows = [json.loads(line) for line in (options.data / "bastioncorpus/injections.jsonl").open(encoding="utf-8")]
    for label in ("benign", "malicious"):
        mine = [row for row in rows if row["label"] == label]
        hits = sum(suspicion(row["text"]).suspicious for row in mine)
        print(f"bastioncorpus {label}: {hits} of {len(mine)} suspicious")


if __name__ == "__main__":
    main()
