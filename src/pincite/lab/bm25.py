"""BM25 over three tiny documents: every term's part, and the engine's own score beside it."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pincite.analysis import analyze
from pincite.errors import InputError
from pincite.lab.record import Lesson, Step, Value, dec, total

__all__ = ["DOCUMENTS", "QUERY", "engine_scores", "idf", "lesson", "part"]

#: No stop words, and no two words of one stem: the engine counts what is counted here.
DOCUMENTS: Mapping[str, str] = {
    "A": "cricket bat, cricket ball",
    "B": "cricket final",
    "C": "chess clock, chess board, indoor cricket",
}
QUERY = "cricket final"


def idf(documents: int, holding: int) -> float:
    """How rare a term is: ``ln(1 + (N - n + 0.5) / (n + 0.5))``; of n = `holding` of N = `documents`."""
    return math.log(1 + (documents - holding + 0.5) / (holding + 0.5))


def part(rarity: float, frequency: int, length: int, average: float, k1: float, b: float) -> float:
    """What one term gives a document: ``idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average))``.

    Source: Robertson and Zaragoza 2009, section 3.2; with the factor k1 + 1, as the store's engine has it.
    """
    return rarity * frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length / average))


def lesson(documents: Mapping[str, str] = DOCUMENTS, query: str = QUERY, k1: float = 1.2, b: float = 0.75) -> Lesson:
    """BM25 of `query`, by the formula and, with the store's own `k1` and `b`, by the store's engine.

    The terms of the query are each counted once. Raises InputError where no document has a term of it.
    """
    from pincite.store.search import BM25_B, BM25_K1

    terms = {name: Counter(analyze(text)) for name, text in documents.items()}
    lengths = {name: sum(counted.values()) for name, counted in terms.items()}
    wanted = list(dict.fromkeys(analyze(query)))
    holding = {term: sum(term in counted for counted in terms.values()) for term in wanted}
    if not any(holding.values()):
        raise InputError(f"no document holds a word of {query!r}")
    count, average = len(documents), math.fsum(lengths.values()) / len(documents)
    rarity = {term: idf(count, holding[term]) for term in wanted}
    base = {name: k1 * (1 - b + b * length / average) for name, length in lengths.items()}
    parts, scores, saturation = [], {}, []
    for name in documents:
        each = []
        for term in wanted:
            frequency = terms[name][term]
            each.append(part(rarity[term], frequency, lengths[name], average, k1, b))
            how = f"{dec(rarity[term])} × {frequency} × {dec(k1 + 1, 'g')} / ({frequency} + {dec(base[name])})"
            parts.append(Value(f"{term} in {name}", each[-1], how if frequency else "not in it"))
        scores[name] = Value(f"score of {name}", math.fsum(each), total(each))
    for frequency in (1, 2, 4, 8, 1000):
        value = part(1.0, frequency, 1, 1.0, k1, b)
        how = f"{frequency} × {dec(k1 + 1, 'g')} / ({frequency} + {dec(k1, 'g')})"
        saturation.append(Value(f"tf = {frequency}", value, how))
    order = sorted(scores, key=lambda name: (-scores[name].value, name))
    steps = [
        Step(
            "Documents and query",
            f"Three documents and the query “{query}”. " if count == 3 else f"The query is “{query}”. ",
            values=(
                *(
                    Value(f"length of {name}", lengths[name], f"words of “{text}”", "d")
                    for name, text in documents.items()
                ),
                Value("average length", average, f"({total(list(lengths.values()), 'd')}) / {count}"),
            ),
        ),
        Step(
            "How rare a term is",
            "A term that few documents hold tells more. N is the number of documents, n of those that hold the term.",
            "idf = ln(1 + (N − n + 0.5) / (n + 0.5))",
            tuple(
                Value(
                    f"idf of {term}",
                    rarity[term],
                    f"ln(1 + ({count} − {holding[term]} + 0.5) / ({holding[term]} + 0.5))",
                )
                for term in wanted
            ),
        ),
        Step(
            "Length",
            f"In a long document a word stands more easily by chance. b = {dec(b, 'g')} says how much that counts: "
            "0 for not at all, 1 for in full proportion.",
            "norm(d) = k1 · (1 − b + b · length / average length)",
            tuple(
                Value(
                    f"norm of {name}",
                    base[name],
                    f"{dec(k1, 'g')} × (1 − {dec(b, 'g')} + {dec(b, 'g')} × {lengths[name]} / {dec(average)})",
                )
                for name in documents
            ),
        ),
        Step(
            "Saturation",
            f"A word said twice is worth more than once, but not twice as much. k1 = {dec(k1, 'g')} says how soon "
            "it is enough. Here for a document of average length, without the idf.",
            "tf · (k1 + 1) / (tf + norm)",
            tuple(saturation),
            f"However often it is said, it is worth less than k1 + 1 = {dec(k1 + 1, 'g')} times.",
        ),
        Step(
            "Each term's part",
            "Rarity, times the saturated count.",
            "part = idf · tf · (k1 + 1) / (tf + norm)",
            tuple(parts),
        ),
        Step(
            "The sum is the score",
            "The parts of a document are added.",
            "score(d) = Σ over terms part",
            tuple(scores[name] for name in order),
            f"The order is {', '.join(order)}.",
        ),
    ]
    if (k1, b) == (BM25_K1, BM25_B):
        steps.append(_engine(documents, query, {name: each.value for name, each in scores.items()}))
    return Lesson(
        "bm25",
        "What a word is worth: BM25 by hand",
        tuple(steps),
        ("Robertson and Zaragoza 2009, section 3.2",),
    )


def _engine(documents: Mapping[str, str], query: str, scores: Mapping[str, float]) -> Step:
    found = engine_scores(documents, query)
    values = []
    for name in scores:
        values.append(Value(f"engine's score of {name}", found.get(name, 0.0), "asked just now"))
        difference = abs(found.get(name, 0.0) - scores[name])
        values.append(Value("  off the formula by", difference, "", ".6f"))
    return Step(
        "The engine says the same",
        "The same documents were put into a store in a temporary folder, and searched for the same words.",
        values=tuple(values),
        after="The engine keeps lengths and scores in 32 bits and may round a length.",
    )


def engine_scores(documents: Mapping[str, str], query: str) -> dict[str, float]:
    """The store's BM25 score of each document that has a word of `query`, from a store that is gone afterwards."""
    import numpy as np

    from pincite.protocols import EncoderIdentity, StoreHeader
    from pincite.store.edge import EdgeStore
    from pincite.types import Chunk, Document

    # Vectors are of no account here; a store has some.
    identity = EncoderIdentity("none", "", 2, "mean", True, "", "", 1)
    vector = np.array([[1.0, 0.0]], dtype=np.float32)
    with tempfile.TemporaryDirectory(prefix="pincite-lab-", ignore_cleanup_errors=True) as folder:
        store = EdgeStore.create(Path(folder) / "index", StoreHeader(identity, (), "english"))
        try:
            tickets, names = [], {}
            for name, text in documents.items():
                document = Document(name, text, "", name, "text/plain", "")
                chunk = Chunk(f"{name}.1.0", name, 1, text, 0, len(text), 0)
                names[chunk.id] = name
                tickets.append(store.stage(document))
                store.stage_chunks(tickets[-1], [chunk], [""], vector)
            store.commit(tickets)
            return {names[hit.chunk_id]: hit.score for hit in store.search_lexical(query, len(names))}
        finally:
            store.close()
