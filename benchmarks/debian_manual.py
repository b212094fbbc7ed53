"""Whether one manual gives the same sections and the same answers in five forms.

    python benchmarks/debian_manual.py --data ../shared/data --json debian-manual.json

The Debian Policy Manual 4.6.2.0 as a folder of HTML pages, an EPUB, a PDF, plain text and a folder of reStructuredText.

Sections: the headings of each form against those of the HTML pages, as a multiset of titles without their numbers, by
letters and digits alone. The title of the manual itself and the index with its letters are not counted. moved: headings
of both that have another one above them than in HTML.

Answers: each form alone in an index, ten questions with the settings as shipped; rank of the first passage that holds
the expected sentence, compared by letters and digits alone (white space, hyphens at line ends, quotation marks and
markup differ).

The exit status is 1 unless every form has the same sections and every rank is at most 3.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pincite import Pincite
from pincite.errors import LoadError
from pincite.formats import build_loaders
from pincite.loaders.read import read_documents
from pincite.protocols import Source
from pincite.types import Document

QUESTIONS = Path(__file__).with_name("debian_manual_questions.json")
FORMS = {"html": "html", "epub": "policy.epub", "pdf": "policy.pdf", "txt": "policy.txt", "rst": "rst"}
NOT_SECTIONS = frozenset({"debianpolicymanual", "index", "appendices"})
PASSAGES = 10

#: "3.2.1. ", "CHAPTER TWO ", "APPENDIX A ": what stands before a title. A lone number needs its full stop.
_NUMBER = re.compile(
    r"(?:chapter|appendix)\s+[a-z]+(?:-[a-z]+)?[\s.:]+|(?:[A-Z]|\d+)(?:\.\d+)*\.\s+|(?:[A-Z]|\d+)(?:\.\d+)+\s+", re.I
)


@dataclass(frozen=True)
class Sections:
    headings: int
    missing: list[str]
    extra: list[str]
    moved: list[str]


def files_of(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def read(path: Path) -> Iterator[Document]:
    loaders = build_loaders()
    for each in files_of(path):
        for got in read_documents(loaders, Source(str(each), each.name, path=each)):
            if isinstance(got, Document):
                yield got
            else:
                print(f"  {each.name}: {Path(got.uri).name} not read: {got.reason}")


def letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def title(text: str) -> str:
    number = _NUMBER.match(text.strip())
    return letters(text.strip()[number.end() :] if number else text)


def headings(path: Path) -> list[tuple[str, str, str]]:
    """(title, title of the heading above, as it stands) of every section in the order of the files."""
    found = []
    for document in read(path):
        for heading in document.headings:
            above = [each for each in map(title, document.heading_path(heading.start)[:-1]) if each not in NOT_SECTIONS]
            name = title(heading.text)
            if name not in NOT_SECTIONS and len(name) > 1:
                found.append((name, above[-1] if above else "", heading.text))
    return found


def compare(expected: list[tuple[str, str, str]], found: list[tuple[str, str, str]]) -> Sections:
    shown = {name: text for name, _, text in [*found, *expected]}
    wanted, there = (Counter(name for name, _, _ in each) for each in (expected, found))
    placed = Counter((name, above) for name, above, _ in expected)
    moved = Counter((name, above) for name, above, _ in found) - placed
    return Sections(
        len(found),
        [shown[name] for name in (wanted - there).elements()],
        [shown[name] for name in (there - wanted).elements()],
        [shown[name] for name, _ in moved.elements() if name in wanted],
    )


def ask(p: Any, questions: list[dict[str, str]]) -> dict[str, int | None]:
    ranks = {}
    for question in questions:
        passages = p.search(question["question"], k=PASSAGES).passages
        wanted = letters(question["sentence"])
        ranks[question["id"]] = next(
            (i for i, passage in enumerate(passages, start=1) if wanted in letters(passage.chunk.text)), None
        )
    return ranks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PINCITE_DATA", "../shared/data")))
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    parser.add_argument("--sections-only", action="store_true", help="compare the sections, make no index")
    parser.add_argument("--cache", type=Path, help="keep the indexes here, and use those that are there as they are")
    parser.add_argument("--json", type=Path, help="write everything here")
    arguments = parser.parse_args()
    source = (arguments.data / "docs-debian-policy").resolve()
    if not source.is_dir():
        raise SystemExit(f"no data in {source}: name the folder of the data with --data")
    questions = json.loads(QUESTIONS.read_text(encoding="utf-8"))["questions"]

    expected = headings(source / FORMS["html"])
    sections: dict[str, Sections] = {}
    print(f"{'form':6}{'sections':>10}{'missing':>9}{'extra':>7}{'moved':>7}")
    for form in arguments.forms:
        try:
            found = headings(source / FORMS[form])
        except LoadError as error:
            print(f"{form:6}not read: {error.reason}")
            found = []
        each = sections[form] = compare(expected, found)
        print(f"{form:6}{each.headings:>10}{len(each.missing):>9}{len(each.extra):>7}{len(each.moved):>7}", flush=True)
    for form, each in sections.items():
        for what, names in (("missing", each.missing), ("extra", each.extra), ("moved", each.moved)):
            if names:
                more = f" … and {len(names) - 8} more" if len(names) > 8 else ""
                print(f"{form} {what}: {'; '.join(names[:8])}{more}")

    ranks: dict[str, dict[str, int | None]] = {}
    if not arguments.sections_only:
        with tempfile.TemporaryDirectory() as temporary:
            for form in arguments.forms:
                with Pincite.open((arguments.cache or Path(temporary)) / f"debian-{form}") as p:
                    if not p.documents():
                        p.add(source / FORMS[form])
                    ranks[form] = ask(p, questions)
        print(f"\n{'rank of the sentence':24}" + "".join(f"{form:>6}" for form in arguments.forms))
        for question in questions:
            cells = "".join(f"{ranks[form][question['id']] or '-':>6}" for form in arguments.forms)
            print(f"{question['id']:24}{cells}")
    if arguments.json:
        result = {"sections": {form: asdict(each) for form, each in sections.items()}, "ranks": ranks}
        arguments.json.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    same = not any(each.missing or each.extra or each.moved for each in sections.values())
    good = all(rank is not None and rank <= 3 for each in ranks.values() for rank in each.values())
    if not (same and good):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
