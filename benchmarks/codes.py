"""Whether the old criminal law is found up to 30 June 2024 and the new one from 1 July 2024.

    python benchmarks/codes.py --data ../shared/data --json codes.json

The Indian Penal Code and the Code of Criminal Procedure (PDF) are added as in force until 30 June 2024, the two
Sanhitas that took their place as in force from 1 July 2024. Eleven questions are asked as of either day, with the
settings as shipped. rank: of the first passage of the right code that holds words of the right section. wrong:
passages, among the first ten, of a code that was not in force.

The Sanhitas come as JSON, an object for each section, and are added as they are; four of the labels of sections in the
file are off by one. With --as-markdown they are written out as Markdown first, with a heading for each section.

The exit status is 1 unless every rank is at most 3 and no passage is wrong. The words of each section were looked up in
the files; tests/unit/test_benchmark_questions.py holds them against the files again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pincite import Pincite

OLD_DAY, NEW_DAY = "2024-06-30", "2024-07-01"
PASSAGES = 10


class Code(NamedTuple):
    title: str
    file: str  #: in the folder of the data
    valid_from: str
    valid_to: str | None


class Place(NamedTuple):
    code: str
    sections: str
    words: tuple[str, ...]  #: of these sections and of no other of the code, white space aside; any of them will do


class Pair(NamedTuple):
    question: str
    old: Place
    new: Place


CODES = {
    "IPC": Code("Indian Penal Code", "indian-acts-pdf/ipc.pdf", "1862-01-01", OLD_DAY),
    "CrPC": Code(
        "Code of Criminal Procedure",
        "indian-acts-pdf/THE CODE OF CRIMINAL PROCEDURE, 1973 - A1974-02.pdf",
        "1974-04-01",
        OLD_DAY,
    ),
    "BNS": Code("Bharatiya Nyaya Sanhita", "indian-new-criminal-codes/bns.json", NEW_DAY, None),
    "BNSS": Code("Bharatiya Nagarik Suraksha Sanhita", "indian-new-criminal-codes/bnss.json", NEW_DAY, None),
}

_MURDER = "Whoever commits murder shall be punished with death or"
_THEFT = ("moves that property in order to such taking", "Whoever commits theft shall be punished with")
_CHEATING = "Whoever cheats and thereby dishonestly induces the person deceived to deliver"
_DEFAMATION = ("will harm, the reputation of such person, is said", "Whoever defames another shall be punished with")
_RAPE = "except in the cases provided for in sub-section (2), commits rape"
_DOWRY = "soon before her death she was subjected to cruelty or harassment by her husband"
_HOMICIDE = "Whoever commits culpable homicide not amounting to murder, shall be punished with"
_TRUST = (
    "or with any dominion over property, dishonestly misappropriates or converts",
    "Whoever commits criminal breach of trust shall be punished",
)
_BAIL = "he may be arrested on an accusation of having committed a non-bailable offence"
_REPORT = "be read over to the informant; and every such information"
_MAINTENANCE = "may, upon proof of such neglect or refusal, order such person to make a monthly"

PAIRS = (
    Pair("punishment for murder", Place("IPC", "302", (_MURDER,)), Place("BNS", "103", (_MURDER,))),
    Pair("What counts as theft of movable property?", Place("IPC", "378, 379", _THEFT), Place("BNS", "303", _THEFT)),
    Pair(
        "What is the punishment for cheating somebody into handing over property?",
        Place("IPC", "420", (_CHEATING,)),
        Place("BNS", "318", (_CHEATING,)),
    ),
    Pair(
        "What is defamation and how is it punished?",
        Place("IPC", "499, 500", _DEFAMATION),
        Place("BNS", "356", _DEFAMATION),
    ),
    Pair("What is the least sentence for rape?", Place("IPC", "376", (_RAPE,)), Place("BNS", "64", (_RAPE,))),
    Pair(
        "When is the death of a wife treated as a dowry death?",
        Place("IPC", "304B", (_DOWRY,)),
        Place("BNS", "80", (_DOWRY,)),
    ),
    Pair(
        "How is culpable homicide not amounting to murder punished?",
        Place("IPC", "304", (_HOMICIDE,)),
        Place("BNS", "105", (_HOMICIDE,)),
    ),
    Pair(
        "What is criminal breach of trust and how is it punished?",
        Place("IPC", "405, 406", _TRUST),
        Place("BNS", "316", _TRUST),
    ),
    Pair(
        "Can a person who expects to be arrested apply for bail in advance?",
        Place("CrPC", "438", (_BAIL,)),
        Place("BNSS", "482", (_BAIL,)),
    ),
    Pair(
        "How is information given orally at a police station about a cognizable offence recorded?",
        Place("CrPC", "154", (_REPORT,)),
        Place("BNSS", "173", (_REPORT,)),
    ),
    Pair(
        "When must a man pay maintenance to his wife, children or parents?",
        Place("CrPC", "125", (_MAINTENANCE,)),
        Place("BNSS", "144", (_MAINTENANCE,)),
    ),
)


@dataclass(frozen=True)
class Row:
    question: str
    as_of: str
    code: str
    sections: str
    rank: int | None
    wrong: tuple[str, ...]
    ok: bool


def plain(text: str) -> str:
    return " ".join(text.split())


def as_markdown(path: Path, title: str, folder: Path) -> Path:
    """The sections of a JSON file as a Markdown file in `folder`."""
    sections = json.loads(path.read_text(encoding="utf-8"))
    parts = [f"## Section {i}\n\n{section['content'].strip()}" for i, section in enumerate(sections, start=1)]
    made = folder / f"{path.stem}.md"
    made.write_text("\n\n".join([f"# {title}", *parts]) + "\n", encoding="utf-8")
    return made


def ask(p: Any, paths: dict[str, Path], question: str, place: Place, as_of: str) -> Row:
    rank, wrong = None, []
    for number, passage in enumerate(p.search(question, k=PASSAGES, as_of=as_of).passages, start=1):
        # A file may give several documents, whose addresses begin with its own.
        name = next(each for each, path in paths.items() if passage.uri.startswith(str(path)))
        if not CODES[name].valid_from <= as_of <= (CODES[name].valid_to or "9999-12-31"):
            wrong.append(f"{number}: {name}")
        elif name == place.code and any(plain(words) in plain(passage.chunk.text) for words in place.words):
            rank = rank or number
    ok = not wrong and rank is not None and rank <= 3
    return Row(question, as_of, place.code, place.sections, rank, tuple(wrong), ok)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PINCITE_DATA", "../shared/data")))
    parser.add_argument("--json", type=Path, help="write every row here")
    parser.add_argument("--as-markdown", action="store_true", help="write the JSON files out as Markdown first")
    parser.add_argument("--work", type=Path, help="keep the index here; what is there is deleted first")
    arguments = parser.parse_args()
    paths = {name: (arguments.data / code.file).resolve() for name, code in CODES.items()}
    if missing := [str(path) for path in paths.values() if not path.is_file()]:
        raise SystemExit(f"no file {missing[0]}: name the folder of the data with --data")
    with tempfile.TemporaryDirectory() as temporary:
        work = (arguments.work or Path(temporary)).resolve()
        shutil.rmtree(work / "index", ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        if arguments.as_markdown:
            made = {
                name: as_markdown(path, CODES[name].title, work)
                for name, path in paths.items()
                if path.suffix == ".json"
            }
            paths |= made
        with Pincite.open(work / "index") as opened:
            p: Any = opened
            for name, code in CODES.items():
                started = time.perf_counter()
                report = p.add(paths[name], valid_from=code.valid_from, valid_to=code.valid_to)
                until = code.valid_to or "now"
                print(f"{name:5}{code.valid_from} to {until:12}{report.chunks:5} chunks", end="")
                print(f"{time.perf_counter() - started:6.0f} s", flush=True)
            rows = [
                ask(p, paths, pair.question, place, as_of)
                for pair in PAIRS
                for place, as_of in ((pair.old, OLD_DAY), (pair.new, NEW_DAY))
            ]
    print(f"\n{'question':88}{'as of':12}{'section':16}{'rank':>5}{'wrong':>7}")
    for row in rows:
        place_name = f"{row.code} {row.sections}"
        failed = "" if row.ok else "FAILED"
        print(f"{row.question:88}{row.as_of:12}{place_name:16}{row.rank or '-':>5}{len(row.wrong):>7}  {failed}")
    good = sum(row.rank is not None and row.rank <= 3 for row in rows)
    print(f"\n{good} of {len(rows)} at rank <= 3, {sum(row.rank == 1 for row in rows)} at rank 1")
    print(f"{sum(len(row.wrong) for row in rows)} passages of a code that was not in force")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if not all(row.ok for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
