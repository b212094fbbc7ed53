"""What becomes of every file of three collections, and how much of its words is read.

    python benchmarks/every_file.py --data ../shared/data --json every-file.json

Documents in fourteen formats from the tests of docling, the Debian Policy Manual in five forms, and three Acts as PDF.
Each file is read in this process by the loader that would read it; nothing is indexed.

outcome: documents read, or the reason why none was. For the files of docling that come with Markdown, recall is the
share of its words that are in the text read, precision the share of the words read that are in the Markdown, both as
multisets of lower-case runs of letters and digits. That Markdown is what docling gave when it was recorded, not checked
by hand: it repeats merged cells, sets subscripts apart, marks ticked boxes with an x, keeps the marks of footnotes and
has formulas in LaTeX, so that 1 is not the best there is.

The exit status is 1 if a loader failed by a fault of its own rather than with a reason.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import statistics
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from pincite.errors import LoaderFaultError, LoadError
from pincite.formats import build_loaders
from pincite.loaders.read import read_documents
from pincite.protocols import Source
from pincite.types import Document

FOLDERS = ("docs-docling", "docs-debian-policy", "indian-acts-pdf")
#: Notes on where the collections are from.
NOT_READ = frozenset({"SOURCE.md"})

_WORD = re.compile(r"[^\W_]+")
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_LINK = re.compile(r"(!?\[[^\]]*\])\((?:[^()\s]|\([^()]*\))*\)")


@dataclass(frozen=True)
class Row:
    folder: str
    file: str
    outcome: str
    detail: str
    documents: int
    seconds: float
    characters: int
    headings: int
    pages: int
    warnings: list[str]
    recall: float | None
    precision: float | None
    fault: bool


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def expected_words(markdown: str) -> Counter[str]:
    """The words of Markdown without comments and the targets of links."""
    return words(html.unescape(_LINK.sub(r"\1", _COMMENT.sub(" ", markdown))))


def ground_truth(path: Path) -> Path | None:
    folder = path.parent.parent / "groundtruth"
    candidates = (folder / f"{path.name}.md", folder / f"{path.stem}.md")
    return next((each for each in candidates if path.parent.name == "sources" and each.is_file()), None)


def read(path: Path, root: Path) -> Row:
    documents: list[Document] = []
    outcomes: Counter[str] = Counter()
    details: list[str] = []
    fault = False
    started = time.perf_counter()
    try:
        for got in read_documents(build_loaders(), Source(str(path), path.name, path=path)):
            if isinstance(got, Document):
                documents.append(got)
            else:
                outcomes[got.reason or got.status] += 1
                details.append(got.detail)
    except LoadError as error:
        outcomes[error.reason] += 1
        details.append(str(error))
        fault = isinstance(error, LoaderFaultError)
    seconds = time.perf_counter() - started
    read_words = sum((words(each.text) for each in documents), Counter[str]())
    recall = precision = None
    truth = ground_truth(path)
    if truth is not None and documents:
        expected = expected_words(truth.read_text(encoding="utf-8"))
        common = sum((expected & read_words).values())
        recall = common / sum(expected.values()) if expected else None
        precision = common / sum(read_words.values()) if read_words else None
    parts = [f"{len(documents)} read"] if documents else []
    parts += [f"{count} {reason}" if count > 1 or documents else reason for reason, count in outcomes.items()]
    name = path.relative_to(root)
    return Row(
        folder="/".join(name.parts[:2]) if len(name.parts) > 2 else name.parts[0],
        file=name.as_posix(),
        outcome=", ".join(parts) or "nothing",
        detail="; ".join(details),
        documents=len(documents),
        seconds=round(seconds, 3),
        characters=sum(len(each.text) for each in documents),
        headings=sum(len(each.headings) for each in documents),
        pages=sum(len(each.pages) for each in documents),
        warnings=[warning for each in documents for warning in each.warnings],
        recall=recall,
        precision=precision,
        fault=fault,
    )


def share(value: float | None) -> str:
    return f"{value:8.3f}" if value is not None else f"{'':8}"


def line(name: str, row: Row) -> str:
    numbers = f"{row.seconds:8.2f}{row.characters:10}{row.headings:9}{row.pages:6}{len(row.warnings):9}"
    return f"{name[-52:]:53}{row.outcome:16}{numbers}{share(row.recall)}{share(row.precision)}"


def total(folder: str, rows: list[Row]) -> str:
    read_files = [row for row in rows if row.documents]
    numbers = (
        f"{sum(row.seconds for row in rows):8.2f}{sum(row.characters for row in rows):10}"
        f"{sum(row.headings for row in rows):9}{sum(row.pages for row in rows):6}"
        f"{sum(len(row.warnings) for row in rows):9}"
    )
    recalls, precisions = (
        [value for row in rows if (value := getattr(row, name)) is not None] for name in ("recall", "precision")
    )
    means = "".join(share(statistics.mean(each) if each else None) for each in (recalls, precisions))
    return f"{folder:53}{f'{len(read_files)} of {len(rows)}':16}{numbers}{means}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PINCITE_DATA", "../shared/data")))
    parser.add_argument("--folders", nargs="+", default=list(FOLDERS))
    parser.add_argument("--details", action="store_true", help="print why files were not read, and the warnings")
    parser.add_argument("--json", type=Path, help="write every row here")
    arguments = parser.parse_args()
    root = arguments.data.resolve()
    files = [
        path
        for folder in arguments.folders
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and path.name not in NOT_READ and path.parent.name != "groundtruth"
    ]
    if not files:
        raise SystemExit(f"no files in {root}: name the folder of the data with --data")
    heading = f"{'seconds':>8}{'chars':>10}{'headings':>9}{'pages':>6}{'warnings':>9}{'recall':>8}{'prec.':>8}"
    print(f"{'file':53}{'outcome':16}{heading}")
    rows = []
    for path in files:
        rows.append(read(path, root))
        print(line(rows[-1].file, rows[-1]), flush=True)
        if arguments.details:
            for each in filter(None, [rows[-1].detail, *rows[-1].warnings]):
                print(f"    {each}")
    print(f"\n{'folder':53}{'files read':16}{heading}")
    folders = dict.fromkeys(row.folder for row in rows)
    for folder in folders:
        print(total(folder, [row for row in rows if row.folder == folder]))
    print(total("all", rows))
    reasons = Counter(row.outcome for row in rows if not row.documents)
    print("\nnot read: " + (", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or "none"))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    if any(row.fault for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
