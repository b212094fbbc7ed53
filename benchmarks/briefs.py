"""How many planted faults `pincite verify` finds in two hundred made-up briefs, and how often it cries wolf.

    python benchmarks/briefs.py --data ../shared/data --json briefs.json

The corpus: judgments of the Supreme Court of India (AILA 2019, a seeded sample), the Indian Penal Code and the Code of
Criminal Procedure as in force until 30 June 2024, the two Sanhitas from 1 July 2024, and the Constitution of India (its
46th amendment). Of these a hundred true briefs are written and a hundred with exactly one fault each: an invented case,
a real case with another year, a real section under another act, an altered quotation, law that was not in force, a
claim that the authority does not make; see benchmarks/brief_texts.py.

recall: faults that are marked by the status of their class. flagged: marked as anything that is wrong or not found.
false alarms: marks of true places (authorities, quotations, claims) that say that something is wrong or not found.
missed: authorities of true briefs that were not seen at all. Intervals are Wilson's, 95 %.

The check asks words and the text of documents, never vectors: the index is made with a stand-in for the encoder, which
saves the hour that encoding takes. The exit status is 1 unless recall is 1 for invented cases and wrong years and at
least .9 for altered quotations, and at most 2 % of the true places raise a false alarm.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import shutil
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from brief_texts import FAULTS, Brief, Case, Provision, Writer, _quotable, mine_reports, read_case
from codes import CODES
from pincite.build import Pincite
from pincite.config import load_settings
from pincite.encoders.minilm import minilm
from pincite.loaders.ids import content_hash, document_id
from pincite.protocols import EncoderIdentity, StoreHeader
from pincite.sentences import sentence_spans
from pincite.store.edge import EdgeStore
from pincite.support.lexical import LexicalSupport
from pincite.types import Document
from pincite.verify.check import check_brief
from pincite.verify.grammar import load_grammar
from pincite.verify.marks import WRONG, marks
from pincite.verify.registry import build_registry

GOALS = {"invented": 1.0, "wrong-year": 1.0, "altered-quote": 0.9}
MOST_FALSE = 0.02
CONSTITUTION_FROM = "1950-01-26"


class NoVectors:
    """Stands in for an encoder: every text has the same vector."""

    def __init__(self) -> None:
        self._real = minilm()
        self.tokenizer, self.max_tokens, self.dimension = self._real.tokenizer, self._real.max_tokens, 8
        self.identity = EncoderIdentity("none", "1", 8, "none", True, "", "", self.max_tokens)

    def reads(self, _text: str) -> float:
        return 1.0

    def encode_queries(self, texts: Sequence[str]) -> Any:
        return self.encode_passages(texts)

    def encode_passages(self, texts: Sequence[str]) -> Any:
        vectors = np.zeros((len(texts), 8), dtype=np.float32)
        vectors[:, 0] = 1
        return vectors

    def close(self) -> None:
        pass


def wilson(good: int, of: int) -> tuple[float, float]:
    if not of:
        return 0.0, 1.0
    z, share = 1.96, good / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def read_judgments(data: Path) -> list[dict[str, str]]:
    with gzip.open(data / "beir" / "aila-cases" / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def lay_out(work: Path, judgments: Sequence[dict[str, str]], data: Path) -> None:
    for each in judgments:
        # A heading, since the name of a file can hold no "S/O".
        path = work / "judgments" / f"{each['_id']}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {' '.join(each['title'].split())}\n\n{each['text']}\n", encoding="utf-8")
    with tarfile.open(data / "indian-constitution-git" / "head-amendment-046.tar.gz") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if member.isfile() and name.startswith(("articles/", "parts/", "schedules/")) and name.endswith(".md"):
                path = work / "constitution" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                assert content is not None
                path.write_bytes(content.read())


def make_index(work: Path, data: Path) -> Pincite:
    encoder: Any = NoVectors()
    settings = load_settings(environment={}, overrides={"store.path": work / "index"})
    store: Any
    if EdgeStore.exists(work / "index"):
        return Pincite.over(settings, EdgeStore.open(work / "index"), encoder)  # type: ignore[arg-type]
    store = EdgeStore.create(work / "index", StoreHeader(encoder.identity, (), "english"))
    p = Pincite.over(settings, store, encoder)
    started = time.perf_counter()
    reports = [p.add(work / "judgments")]
    reports += [
        p.add((data / code.file).resolve(), valid_from=code.valid_from, valid_to=code.valid_to)
        for code in CODES.values()
    ]
    reports.append(p.add(work / "constitution", valid_from=CONSTITUTION_FROM))
    skipped = [each for report in reports for each in report.skipped]
    print(f"indexed {p.store.document_count} documents in {time.perf_counter() - started:.0f} s; skipped: {skipped}")
    return p


def read_provisions(p: Pincite) -> dict[str, list[Provision]]:
    """The provisions of the corpus, by the headings of its documents; of the articles by the names of their files."""
    found: dict[str, list[Provision]] = {act: [] for act in ("ipc", "crpc", "bns", "bnss", "constitution")}
    for stored in p.documents():
        if "/constitution/articles/" in stored.uri:
            text = p.store.get_document(stored.id).text  # type: ignore[union-attr]
            number = re.sub(r"^0+", "", Path(stored.uri).stem.removeprefix("article-"))
            if stored.metadata.get("status") == "active":
                _add(found["constitution"], "constitution", number, f"\n{text}".partition("\n# ")[2].partition("\n")[2])
    by_name = {name: Path(code.file).name for name, code in CODES.items()}
    for stored in p.documents():
        act = next((name.lower() for name, file in by_name.items() if Path(stored.uri).name == file), None)
        if act is None:
            continue
        document = p.store.get_document(stored.id)
        assert document is not None
        heads = document.headings
        for head, following in zip(heads, [*heads[1:], None], strict=True):
            number_found = re.match(r"(?:section\s+)?(\d{1,3}[A-Z]{0,2})\b", head.text, re.IGNORECASE)
            body = document.text[head.end : following.start if following else len(document.text)]
            # Four of the labels of the new penal code are off by one in the file.
            off = act == "bns" and number_found and number_found[1] in {"186", "187", "188", "189", "195", "196"}
            if number_found and not off:
                _add(found[act], act, number_found[1], body)
    return found


def _add(to: list[Provision], act: str, number: str, body: str) -> None:
    # As people quote an act: without the marks of its amendments.
    plain = re.sub(r"\d{1,2}\[|(?<=\S)\](?!\()", "", re.split(r"\n\s*(?:Illustration|Explanation)", body)[0])
    sentences = []
    for start, end in sentence_spans(plain):
        said = re.sub(r"^(?:\(\w{1,3}\)|\W)+\s*", "", " ".join(plain[start:end].split()))
        # Notes at the foot of a page are no law.
        if (
            said
            and _quotable(said, case=False)
            and not re.search(r"\b(?:Act \d+ of|A\.O\.|Gazette|w\.e\.f)|\bby s\.", said)
        ):
            sentences.append(said)
    if sentences and not any(each.number == number for each in to):
        to.append(Provision(act, number, tuple(sentences)))


def check(p: Pincite, grammar: Any, registry: Any, brief: Brief) -> Any:
    content = brief.text.encode()
    document = Document(
        document_id(f"brief:{brief.number}"),
        brief.text,
        f"brief {brief.number}",
        "brief.md",
        "text/markdown",
        content_hash(content),
    )
    return check_brief(
        document, p.store, grammar=grammar, registry=registry, support=LexicalSupport(), as_of=brief.as_of
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PINCITE_DATA", "../shared/data")))
    parser.add_argument("--judgments", type=int, default=600, help="how many of the 2,914 are in the corpus; 0: all")
    parser.add_argument("--briefs", type=int, default=100, help="of each kind")
    parser.add_argument("--sample", type=int, default=21, help="seed of the sample of judgments")
    parser.add_argument("--seed", type=int, default=31, help="seed of the briefs")
    parser.add_argument("--work", type=Path, help="keep corpus and index here; an index that is there is used")
    parser.add_argument("--json", type=Path, help="write every brief and what was said of it here")
    parser.add_argument("--show", action="store_true", help="print every fault that was missed and every false alarm")
    arguments = parser.parse_args()
    data = arguments.data
    everything = read_judgments(data)
    chosen = list(everything)
    random.Random(arguments.sample).shuffle(chosen)
    chosen = chosen[: arguments.judgments or None]
    with tempfile.TemporaryDirectory() as temporary:
        work = (arguments.work or Path(temporary)).resolve()
        if not (work / "index").exists():
            shutil.rmtree(work / "judgments", ignore_errors=True)
            lay_out(work, chosen, data)
        # Of an index that was kept: what is in it, whatever the seed.
        chosen = [each for each in everything if (work / "judgments" / f"{each['_id']}.md").is_file()]
        p = make_index(work, data)
        try:
            run(p, arguments, everything, chosen)
        finally:
            p.close()


def run(p: Pincite, arguments: Any, everything: list[dict[str, str]], chosen: list[dict[str, str]]) -> None:
    read = [case for each in chosen if (case := read_case(each["_id"], each["title"], each["text"])) is not None]
    reports = mine_reports(read, [each["text"] for each in everything])
    names = Counter(case.name.lower() for case in read)
    cases = [
        Case(c.id, c.name, c.first, c.second, c.decided, c.sentences, tuple(reports.get(c.id, ())))
        for c in read
        if names[c.name.lower()] == 1
    ]
    provisions = read_provisions(p)
    writer = Writer(cases, provisions, arguments.seed)
    faults = list(FAULTS)
    briefs = [writer.brief(i) for i in range(arguments.briefs)]
    briefs += [writer.brief(arguments.briefs + i, faults[i % len(faults)]) for i in range(arguments.briefs)]
    counts = {act: len(each) for act, each in provisions.items()}
    print(f"{len(cases)} cases to cite, {sum(bool(c.reports) for c in cases)} with reports; provisions: {counts}")
    grammar = load_grammar()
    started = time.perf_counter()
    registry = build_registry(p.store, grammar)
    print(f"registry: {registry.summary}; {time.perf_counter() - started:.1f} s")
    started = time.perf_counter()
    checked = [(brief, marks(check(p, grammar, registry, brief))) for brief in briefs]
    print(f"checked {len(briefs)} briefs in {time.perf_counter() - started:.1f} s\n")
    report(checked, arguments)


def is_wrong(mark: Any) -> bool:
    return mark.status in WRONG or mark.status == "not-found"


def is_seen(named: str, text: str, authorities: Sequence[Any]) -> bool:
    """Whether a mark lies on an authority; of a list of sections, on that number."""
    places = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(named)}(?!\w)", text, re.IGNORECASE)]
    return any(mark.start < at + len(named) and at < mark.end for at in places for mark in authorities)


def report(checked: list[tuple[Brief, list[Any]]], arguments: Any) -> None:
    rows: list[dict[str, Any]] = []
    found: dict[str, list[tuple[bool, bool]]] = {fault: [] for fault in FAULTS}
    alarms: Counter[str] = Counter()
    places = false = missed = named = false_briefs = true_briefs = 0
    for brief, said in checked:
        inside = [mark for mark in said if mark.end > brief.at[0] and mark.start < brief.at[1]]
        outside = [mark for mark in said if mark not in inside]
        wrong = [mark for mark in outside if is_wrong(mark)]
        places += len(outside)
        false += len(wrong)
        alarms.update(f"{mark.what} {mark.status}" for mark in wrong)
        authorities = [mark for mark in said if mark.what == "authority"]
        unseen = [each for each in brief.named if not is_seen(each, brief.text, authorities)]
        if brief.fault is None:
            true_briefs += 1
            false_briefs += bool(wrong)
            missed += len(unseen)
            named += len(brief.named)
        else:
            status = FAULTS[brief.fault]
            right = any(mark.status == status for mark in inside)
            found[brief.fault].append((right, any(map(is_wrong, inside))))
        told = [{"what": m.what, "status": m.status, "text": brief.text[m.start : m.end], "note": m.note} for m in said]
        row = {"number": brief.number, "fault": brief.fault, "planted": brief.planted, "as_of": brief.as_of}
        rows.append({**row, "text": brief.text, "marks": told, "unseen": unseen})
        if arguments.show:
            for mark in wrong:
                print(
                    f"false {brief.number} {mark.what} {mark.status}: {brief.text[mark.start : mark.end]!r} {mark.note}"
                )
            for each in unseen:
                print(f"unseen {brief.number}: {each}")
            if brief.fault and not found[brief.fault][-1][0]:
                seen = [(m.what, m.status, brief.text[m.start : m.end][:60], m.note[:80]) for m in inside]
                print(f"missed {brief.number} {brief.fault} ({brief.planted}): {brief.text[slice(*brief.at)]!r} {seen}")
    print(f"{'fault':16}{'n':>4}{'recall':>8}  {'95 %':14}{'flagged':>8}")
    good = True
    summary: dict[str, Any] = {}
    for fault, results in found.items():
        right, any_way, of = sum(r for r, _ in results), sum(a for _, a in results), len(results)
        low, high = wilson(right, of)
        failed = right / max(of, 1) < GOALS.get(fault, 0)
        good &= not failed
        print(
            f"{fault:16}{of:>4}{right / max(of, 1):>8.3f}  {low:.3f}-{high:.3f}   {any_way / max(of, 1):>7.3f}"
            f"{'  BELOW THE GOAL' if failed else ''}"
        )
        summary[fault] = {
            "n": of,
            "recall": right / max(of, 1),
            "interval": [low, high],
            "flagged": any_way / max(of, 1),
        }
    low, high = wilson(false, places)
    failed = false > MOST_FALSE * places
    good &= not failed
    print(
        f"\nfalse alarms: {false} of {places} true places, {false / max(places, 1):.2%} ({low:.2%}-{high:.2%})", end=""
    )
    print(f"{'  ABOVE THE GOAL' if failed else ''}; {dict(alarms.most_common())}")
    print(f"true briefs with a false alarm: {false_briefs} of {true_briefs}")
    print(f"authorities of true briefs not seen: {missed} of {named}")
    summary["false_alarms"] = {"places": places, "false": false, "interval": [low, high], "by": dict(alarms)}
    summary |= {"true_briefs_with_alarm": false_briefs, "unseen": missed, "named": named}
    if arguments.json:
        arguments.json.write_text(json.dumps({"summary": summary, "briefs": rows}, indent=1, ensure_ascii=False) + "\n")
    if not good:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
