"""What cutting costs and gives: answers found, and how much is read for them, by recipe.

    python benchmarks/chunking.py --data ../shared/data

Questions of our own (benchmarks/data/chunking-questions.json) on 41 pages of the Indian Penal Code from its PDF, which
has no heading map, and nine chapters of the Debian Policy Manual from HTML, which has one. Each has a short quote that
is looked up in the loader's text, white space aside, and must be there exactly once: its span is the label. Search is
hybrid with the settings in force; what is measured is the span that is read, after `pincite.reading.arrange`.

Questions with odd numbers are for choosing settings, those with even numbers for the figures reported.

found@5: the share of questions whose span lies whole in one of the first five passages read. MRR@5: of the rank of
the first such passage. tokens@5: what those five passages hold, their context included, on average. found in N
tokens: the share found when passages are read in order for as long as they fit into N tokens: a recipe that reads five
times as much has no advantage there. seconds: cutting, and encoding each text as long as it took when it was first
encoded; texts that several recipes share are encoded once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pincite.chunkers.context import encoded_text
from pincite.chunkers.parent_child import ParentChildChunker
from pincite.chunkers.sentence_window import SentenceWindowChunker
from pincite.chunkers.sentences import SentenceChunker
from pincite.chunkers.structure import StructureChunker
from pincite.chunkers.window import WindowChunker
from pincite.encoders.minilm import minilm
from pincite.formats import build_loaders
from pincite.indexing import lexical_context
from pincite.loaders.choose import choose_loader
from pincite.pipeline import Options
from pincite.protocols import Chunker, Encoder, Source, StoreHeader
from pincite.reading import POOL, arrange
from pincite.retrieve import retrieve
from pincite.store.edge import EdgeStore
from pincite.types import Document, Passage

QUESTIONS = Path(__file__).parent / "data" / "chunking-questions.json"
DEPTH = 5


@dataclass(frozen=True)
class Question:
    number: int
    text: str
    document: str
    start: int
    end: int


def locate(text: str, quote: str) -> tuple[int, int]:
    """The one place of `quote` in `text`, whatever white space is between its words."""
    pattern = r"\s+".join(re.escape(word) for word in quote.split())
    found = [match.span() for match in re.finditer(pattern, text)]
    if len(found) != 1:
        raise SystemExit(f"{len(found)} places in the text for the quote {quote!r}; there must be exactly one")
    return found[0]


def some_pages(document: Document, numbers: tuple[int, int] | None) -> Document:
    """The document from the first to the last of these pages; whole where there are none given."""
    if numbers is None:
        return document
    pages = [page for page in document.pages if numbers[0] <= page.number <= numbers[1]]
    start, end = pages[0].start, pages[-1].end
    moved = tuple(replace(page, start=page.start - start, end=page.end - start) for page in pages)
    headings = tuple(
        replace(each, start=each.start - start, end=each.end - start)
        for each in document.headings
        if start <= each.start < end
    )
    return replace(document, text=document.text[start:end], pages=moved, headings=headings)


def read(data: Path) -> tuple[list[Document], list[Question]]:
    loaders = build_loaders()
    given = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    documents = {}
    for name, where in given["documents"].items():
        path = data / where["file"]
        if not path.is_file():
            raise SystemExit(f"no document {path}: name the folder of the data with --data")
        source = Source(name, path.name, path.read_bytes(), path)
        documents[name] = some_pages(choose_loader(loaders, source).load(source), where.get("pages"))
    questions = []
    for each in given["questions"]:
        if len(each["quote"].split()) >= 25:
            raise SystemExit(f"the quote of question {each['id']} is too long to be a mere locator")
        document = documents[each["document"]]
        questions.append(
            Question(int(each["id"]), each["question"], document.id, *locate(document.text, each["quote"]))
        )
    return list(documents.values()), questions


@dataclass
class Cache:
    """Vectors by text, and how long each took."""

    encoder: Encoder
    file: Path | None
    vectors: dict[str, np.ndarray] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file and self.file.exists():
            kept = np.load(self.file)
            self.vectors = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))
            self.seconds = dict(zip(kept["keys"].tolist(), kept["seconds"].tolist(), strict=True))

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, float]:
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        new = list({key: text for key, text in zip(keys, texts, strict=True) if key not in self.vectors}.items())
        for start in range(0, len(new), 256):
            part = new[start : start + 256]
            lengths = [len(self.encoder.tokenizer.spans(text)) + 2 for _, text in part]
            started = time.perf_counter()
            vectors = self.encoder.encode_passages([text for _, text in part])
            took = time.perf_counter() - started
            for (key, _), vector, length in zip(part, vectors, lengths, strict=True):
                self.vectors[key] = vector
                self.seconds[key] = took * length / sum(lengths)
        if self.file and new:
            names = list(self.vectors)
            np.savez(
                self.file,
                keys=np.array(names),
                vectors=np.stack([self.vectors[name] for name in names]),
                seconds=np.array([self.seconds[name] for name in names]),
            )
        return np.stack([self.vectors[key] for key in keys]), sum(self.seconds[key] for key in keys)


@dataclass(frozen=True)
class Setting:
    name: str
    chunker: Chunker
    merge: tuple[int, ...] = (0,)


def recipes(encoder: Encoder) -> list[Setting]:
    tokenizer, limit = encoder.tokenizer, encoder.max_tokens

    def structure(size: int, merge: tuple[int, ...]) -> Setting:
        return Setting(f"structure {size}", StructureChunker(tokenizer, size=size), merge)

    def sentence_window(window: int) -> Setting:
        chunker = SentenceWindowChunker(tokenizer, size=limit, window=window)
        return Setting(f"sentence-window {window}", chunker, (0, 3000))

    def parent_child(size: int, parent_size: int) -> Setting:
        chunker = ParentChildChunker(tokenizer, size=size, parent_size=parent_size)
        return Setting(f"parent-child {size}/{parent_size}", chunker, (0, 3000))

    return [
        structure(limit, (0, 2000, 3000, 4000)),
        *map(sentence_window, (1, 2, 3, 5)),
        Setting(f"window {limit}", WindowChunker(tokenizer, size=limit), (0, 3000)),
        Setting(f"sentences {limit}", SentenceChunker(tokenizer, size=limit), (0, 3000)),
        structure(128, (0, 3000)),
        parent_child(128, 512),
        parent_child(128, 1024),
        Setting(f"window {limit}, overlap 64", WindowChunker(tokenizer, size=limit, overlap=64), (0, 3000)),
        structure(64, (0, 3000)),
        parent_child(64, 256),
        parent_child(64, 512),
        Setting(
            f"sentences {limit}, overlap 2", SentenceChunker(tokenizer, size=limit, overlap_sentences=2), (0, 3000)
        ),
    ]


def run(
    setting: Setting,
    documents: Sequence[Document],
    questions: Sequence[Question],
    cache: Cache,
    budgets: Sequence[int],
    options: Options,
) -> None:
    encoder = cache.encoder
    by_id = {document.id: document for document in documents}
    started = time.perf_counter()
    chunks = {document.id: list(setting.chunker.chunk(document)) for document in documents}
    seconds = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        store = EdgeStore.create(Path(folder) / "index", StoreHeader(encoder.identity, (), "english"))
        tickets = []
        for document in documents:
            some = chunks[document.id]
            vectors, took = cache.encode([encoded_text(c.headings, c.text, c.before, c.after) for c in some])
            seconds += took
            ticket = store.stage(document)
            store.stage_chunks(ticket, some, [lexical_context(document, chunk) for chunk in some], vectors)
            tickets.append(ticket)
        store.commit(tickets)
        queries, _ = cache.encode([question.text for question in questions])
        found = [
            retrieve(
                store,
                q.text,
                v,
                k=DEPTH * POOL,
                depth=options.depth,
                fusion=options.fusion,
                dense_weight=options.dense_weight,
                rrf_k=options.rrf_k,
            ).passages
            for q, v in zip(questions, queries, strict=True)
        ]
        store.close()
    number = sum(map(len, chunks.values()))
    odd = np.array([question.number % 2 == 1 for question in questions])
    for merge in setting.merge:
        rows = []
        for question, passages in zip(questions, found, strict=True):
            # All that there is to read: its first five are what is read when five are asked for.
            read, _ = arrange(passages, k=len(passages), document_of=lambda name, _: by_id[name], merge=merge)
            first, _ = arrange(passages, k=DEPTH, document_of=lambda name, _: by_id[name], merge=merge)
            rank = next((i for i, p in enumerate(first, 1) if covers(p, question)), 0)
            within = [covered_within(read, question, budget, encoder) for budget in budgets]
            tokens = sum(size(p, encoder) for p in first)
            rows.append((rank > 0, 1 / rank if rank else 0.0, tokens, *within))
        values = np.array(rows, dtype=float)
        shown = [f"{setting.name}{f', merge {merge}' if merge else ''}".ljust(34)]
        for half in (odd, ~odd):
            recall, mrr, tokens, *within = values[half].mean(axis=0)
            shown.append(f"{recall:8.3f}{mrr:8.3f}{tokens:8.0f}" + "".join(f"{share:8.3f}" for share in within))
        print(" |".join([*shown, f"{number:8d}{seconds:8.0f}"]), flush=True)


def size(passage: Passage, encoder: Encoder) -> int:
    return len(encoder.tokenizer.spans(passage.chunk.reading))


def covered_within(passages: Sequence[Passage], question: Question, budget: int, encoder: Encoder) -> bool:
    """Whether the answer is in the passages that fit into so many tokens, read in order."""
    for passage in passages:
        budget -= size(passage, encoder)
        if budget < 0:
            return False
        if covers(passage, question):
            return True
    return False


def covers(passage: Passage, question: Question) -> bool:
    chunk = passage.chunk
    return chunk.document_id == question.document and chunk.start <= question.start and question.end <= chunk.end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", default="", help="recipes whose name begins so")
    parser.add_argument("--tokens", type=int, nargs="*", default=[1000, 2000], help="budgets of `found in N tokens`")
    parser.add_argument("--fusion", choices=("zscore", "rrf"), default=Options().fusion)
    parser.add_argument("--dense-weight", type=float, default=Options().dense_weight, help="the dense leg's in zscore")
    parser.add_argument("--cache", type=Path, help="keep vectors in this .npz file, and use those in it")
    arguments = parser.parse_args()
    documents, questions = read(arguments.data)
    characters = sum(len(document.text) for document in documents)
    print(f"{len(documents)} documents, {characters} characters, {len(questions)} questions")
    head = "".join(f"{word:>8}" for word in ["found@5", "MRR@5", "tokens", *(f"in {n}" for n in arguments.tokens)])
    width = len(head)
    print(
        " |".join(["".ljust(34), "odd numbers, for choosing".ljust(width), "even numbers, reported".ljust(width), ""])
    )
    print(" |".join(["".ljust(34), head, head, f"{'chunks':>8}{'seconds':>8}"]))
    cache = Cache(minilm(), arguments.cache)
    for setting in recipes(cache.encoder):
        if setting.name.startswith(arguments.only):
            options = Options(fusion=arguments.fusion, dense_weight=arguments.dense_weight)
            run(setting, documents, questions, cache, arguments.tokens, options)


if __name__ == "__main__":
    main()
