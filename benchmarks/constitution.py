"""Whether a question about a day is answered from the text that was in force on that day.

    python benchmarks/constitution.py --data ../shared/data --json constitution.json

The Constitution of India at four points in time (26 January 1950, 18 June 1951, 20 June 1979, 2 February 1983), one
Markdown file for each article, part and schedule. Each point is laid out in the same folder in turn and synced with its
date. Then the twenty questions of benchmarks/constitution_questions.json are asked for three or four days each, with
the settings as shipped.

rank: of the first passage of the right article in the version of that day (for an article that is absent on the day,
there must be no passage of it at all). quote: of the first passage that holds the words that tell this version from the
others; they may stand in another part of the article than the question. wrong: passages among the first k, of any
document, whose text was not in force on the day or whose `valid_from` is not the day on which their text came into
force.

The exit status is 1 unless every rank is at most 3, every absent article is absent and no passage is wrong.

The archives date the 44th amendment by the assent to it, 30 April 1979; the day on which most of it came into force is
in their metadata and is the one used here. With --omit-repealed the files of repealed articles, which say so and no
more, are deleted from the folder: those articles must be absent then.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pincite import Pincite

QUESTIONS = Path(__file__).with_name("constitution_questions.json")
FOLDERS = ("articles", "parts", "schedules")
STATUSES = ("added", "updated", "moved", "removed", "unchanged", "skipped")
BEFORE = "1950-01-25"


@dataclass(frozen=True)
class Point:
    """One state of the folder: file → its text."""

    name: str
    valid_from: str
    files: dict[str, str]


@dataclass(frozen=True)
class Row:
    id: str
    as_of: str
    document: str
    expected: str  #: the day its version came into force; "absent"
    rank: int | None
    quote: int | None
    wrong: tuple[str, ...]
    ok: bool


def read_point(archive: Path, name: str, valid_from: str, *, omit_repealed: bool) -> Point:
    files = {}
    with tarfile.open(archive) as package:
        for member in package:
            path = member.name.removeprefix("./")
            if not member.isfile() or not path.startswith(FOLDERS) or not path.endswith(".md"):
                continue
            content = package.extractfile(member)
            assert content is not None
            text = content.read().decode()
            if omit_repealed and "\nstatus: repealed\n" in text:
                continue
            files[path] = text
    return Point(name, valid_from, files)


def lay_out(point: Point, folder: Path) -> None:
    """Make `folder` equal to the point. Files that stay as they are are not touched."""
    for path in folder.rglob("*.md"):
        if path.relative_to(folder).as_posix() not in point.files:
            path.unlink()
    for name, text in point.files.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != text.encode():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())


def in_force(points: Sequence[Point], as_of: str, document: str) -> tuple[str, str] | None:
    """When the text of `document` that was in force on the day came into force, and that text; None: absent."""
    until = [point for point in points if point.valid_from <= as_of]
    if not until or document not in until[-1].files:
        return None
    text, start = until[-1].files[document], ""
    for point in reversed(until):
        if point.files.get(document) != text:
            break
        start = point.valid_from
    return start, text


def plain(text: str) -> str:
    return " ".join(text.split())


def ask(p: Any, folder: Path, points: Sequence[Point], question: dict[str, Any], answer: dict[str, Any], k: int) -> Row:
    as_of, document = answer["as_of"], question["document"]
    expected = in_force(points, as_of, document)
    rank = quote = None
    wrong = []
    for number, passage in enumerate(p.search(question["question"], k=k, as_of=as_of).passages, start=1):
        name = Path(os.path.relpath(passage.uri, folder)).as_posix()
        truth = in_force(points, as_of, name)
        text = passage.chunk.text
        said = passage.metadata.get("valid_from")
        if truth is None or text not in truth[1] or said != truth[0]:
            wrong.append(f"{number}: {name} version {passage.chunk.version} of {said}")
        elif name == document:
            rank = rank or number
            if plain(answer.get("quote", "")) in plain(text):
                quote = quote or number
    absent = expected is None
    ok = not wrong and (rank is None if absent else rank is not None and rank <= 3)
    return Row(question["id"], as_of, document, expected[0] if expected else "absent", rank, quote, tuple(wrong), ok)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PINCITE_DATA", "../shared/data")))
    parser.add_argument("--json", type=Path, help="write every row here")
    parser.add_argument("--work", type=Path, help="keep the folder and the index here; what is there is deleted first")
    parser.add_argument("-k", type=int, default=10, help="passages of each search")
    parser.add_argument("--omit-repealed", action="store_true", help="leave out the files of repealed articles")
    arguments = parser.parse_args()
    source = arguments.data / "indian-constitution-git"
    if not source.is_dir():
        raise SystemExit(f"no data in {source}: name the folder of the data with --data")
    asked = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    points = [
        read_point(source / each["archive"], each["name"], each["valid_from"], omit_repealed=arguments.omit_repealed)
        for each in asked["points"]
    ]
    with tempfile.TemporaryDirectory() as temporary:
        work = (arguments.work or Path(temporary)).resolve()
        folder = work / "constitution"
        for each in (folder, work / "index"):
            shutil.rmtree(each, ignore_errors=True)
        folder.mkdir(parents=True)
        with Pincite.open(work / "index") as opened:
            p: Any = opened
            for point in points:
                lay_out(point, folder)
                started = time.perf_counter()
                report = p.sync(folder, valid_from=point.valid_from)
                counts = "  ".join(f"{report.count(each)} {each}" for each in STATUSES)
                print(f"{point.valid_from}  {counts}  {time.perf_counter() - started:.0f} s", flush=True)
            rows = [
                ask(p, folder, points, question, answer, arguments.k)
                for question in asked["questions"]
                for answer in question["answers"]
            ]
            before = len(p.search(asked["questions"][0]["question"], k=arguments.k, as_of=BEFORE).passages)
    print(f"\n{'question':24}{'as of':12}{'in force since':16}{'rank':>5}{'quote':>7}{'wrong':>7}")
    for row in rows:
        numbers = f"{row.rank or '-':>5}{row.quote or '-':>7}{len(row.wrong):>7}"
        print(f"{row.id:24}{row.as_of:12}{row.expected:16}{numbers}  {'' if row.ok else 'FAILED'}")
        for each in row.wrong:
            print(f"    wrong {each}")
    there = [row for row in rows if row.expected != "absent"]
    absent = [row for row in rows if row.expected == "absent"]
    good = sum(row.rank is not None and row.rank <= 3 for row in there)
    print(f"\n{good} of {len(there)} at rank <= 3, {sum(row.rank == 1 for row in there)} at rank 1")
    print(f"{sum(row.rank is None for row in absent)} of {len(absent)} absent articles are absent")
    print(f"{sum(len(row.wrong) for row in rows)} passages of a version that was not in force")
    print(f"{before} passages on {BEFORE}, the day before the first version")
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"rows": [asdict(row) for row in rows], "before": before}, indent=1) + "\n"
        )
    if before or not all(row.ok for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
