"""Measures of a ranking, per query. Documents are measured by trec_eval's own code, spans by this file's.

How the odd cases are handled, everywhere:

- *A document that comes twice* counts once, at its first place, and those behind it move up. Repeats are counted.
- *The order of a ranking is the order.* trec_eval sorts by score and breaks ties by document id; it is therefore handed
  scores that fall by 1 from place to place, which are whole numbers, so that none is rounded into a tie.
- *A judged query that the run lacks* counts 0 on every measure (trec_eval's ``-c``); a query that nobody judged is left
  out. Both are counted.
- *A query without a relevant document* counts 0 on every measure, as in trec_eval: no system can do better, and
  leaving it out would make the mean another one than trec_eval's. They are counted.
- *Relevant* is a grade above 0. A grade below 0 is as 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from pincite.errors import InputError, MissingExtraError
from pincite.evaluation.datasets import LabelledSpan
from pincite.types import Qrels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

__all__ = [
    "MEASURES",
    "Measured",
    "Rankings",
    "Retrieved",
    "check_measure",
    "measure",
    "measure_spans",
    "recall_curve",
    "require_measures",
    "span_measure_names",
]

Rankings: TypeAlias = "Mapping[str, Sequence[str]]"
"""Query id → document ids, best first."""

MEASURES = ("nDCG@10", "Recall@10", "Recall@100", "MRR@10", "Success@1", "Success@10", "MAP")
"""What is measured unless something else is asked for."""

_NAME = re.compile(r"(nDCG|nDCG-exp|Recall|MRR|Success)@([1-9][0-9]{0,5})|MAP|MRR")

#: Two to the power of a greater grade is no number that trec_eval can hold.
_HIGHEST_EXPONENTIAL = 30


class Retrieved(NamedTuple):
    """One place of a ranking: characters of a document, half-open, and the score they were found with."""

    document_id: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Measures of one run, per query. Every value lies in [0, 1]."""

    queries: tuple[str, ...]  #: the judged queries, in the order of the judgements
    values: Mapping[str, Array]  #: measure → float64 (queries,)
    duplicates: int = 0  #: places that repeated what stood before, over all queries
    missing: int = 0  #: judged queries for which the run has nothing
    unjudged: int = 0  #: queries of the run that are not judged, and not counted
    without_relevant: int = 0  #: judged queries that have no relevant document, and count 0

    def mean(self, name: str) -> float:
        """The average over all judged queries."""
        return float(self.values[name].mean()) if self.queries else 0.0


def check_measure(name: str) -> str:
    """The name, if `measure` knows it. Raises InputError naming the forms there are."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"there is no measure {name!r}; there are nDCG@k, nDCG-exp@k, Recall@k, MRR@k, Success@k, MRR and MAP"
        )
    return name


def require_measures() -> None:
    """Raise MissingExtraError unless the extra `eval` is installed: before anything is searched, not after."""
    try:
        import pytrec_eval  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("measuring retrieval", "eval") from error


def measure(rankings: Rankings, qrels: Qrels, measures: Sequence[str] = MEASURES) -> Measured:
    """Measure `rankings` against `qrels`, query by query.

    nDCG@k: gain is the grade (linear, as in trec_eval), discounted by log2(rank + 1), over the ideal order of all the
    judged documents cut at k. nDCG-exp@k: the same with the gain 2^grade − 1 (Burges et al. 2005); grades to 30.
    Recall@k: share of the relevant documents within the first k. MRR@k: 1 / rank of the first relevant document, 0
    beyond k. Success@k: 1 if a relevant document is within the first k, else 0 (also called hit rate). MAP and MRR:
    over the whole ranking, which ends where the search ended.

    Raises InputError for an unknown measure, MissingExtraError without the extra `eval`.
    """
    for name in measures:
        check_measure(name)
    clean, duplicates = _once(rankings)
    queries = tuple(qrels)
    linear = [name for name in measures if not name.startswith("nDCG-exp")]
    exponential = [name for name in measures if name.startswith("nDCG-exp")]
    values = _evaluate(clean, queries, _plain(qrels), linear)
    if exponential:
        as_linear = {name: name.replace("nDCG-exp", "nDCG") for name in exponential}
        found = _evaluate(clean, queries, _exponential(qrels), list(as_linear.values()))
        values |= {name: found[linear_name] for name, linear_name in as_linear.items()}
    return Measured(
        queries=queries,
        values={name: values[name] for name in measures},
        duplicates=duplicates,
        missing=sum(not clean.get(query_id) for query_id in queries),
        unjudged=sum(query_id not in qrels for query_id in rankings),
        without_relevant=sum(not any(grade > 0 for grade in grades.values()) for grades in qrels.values()),
    )


def recall_curve(rankings: Rankings, qrels: Qrels, depth: int = 100) -> Array:
    """Recall@k averaged over the judged queries, for every k from 1 to `depth`: float64 (depth,), never falling."""
    names = [f"Recall@{k}" for k in range(1, depth + 1)]
    measured = measure(rankings, qrels, names)
    return np.array([measured.mean(name) for name in names])


def _once(rankings: Rankings) -> tuple[dict[str, list[str]], int]:
    clean = {query_id: list(dict.fromkeys(ranking)) for query_id, ranking in rankings.items()}
    return clean, sum(len(ranking) - len(clean[query_id]) for query_id, ranking in rankings.items())


def _plain(qrels: Qrels) -> dict[str, dict[str, int]]:
    # trec_eval gives grades below 0 meanings of their own (not pooled); here they are just not relevant.
    return {query_id: {d: max(0, grade) for d, grade in grades.items()} for query_id, grades in qrels.items()}


def _exponential(qrels: Qrels) -> dict[str, dict[str, int]]:
    if any(grade > _HIGHEST_EXPONENTIAL for grades in qrels.values() for grade in grades.values()):
        raise InputError(f"nDCG-exp takes grades to {_HIGHEST_EXPONENTIAL}, a greater one was found")
    return {query_id: {d: 2**grade - 1 for d, grade in grades.items()} for query_id, grades in _plain(qrels).items()}


def _evaluate(
    clean: Mapping[str, Sequence[str]], queries: Sequence[str], qrels: Mapping[str, Mapping[str, int]], names: list[str]
) -> dict[str, Array]:
    """Values by trec_eval for measures of linear gain."""
    if not names:
        return {}
    require_measures()
    import pytrec_eval

    # Cutoffs of one measure go in one name: of several with the same measure the library keeps one.
    cutoffs: dict[str, set[str]] = {}
    for name in names:
        kind, cutoff = _trec(name)
        cutoffs.setdefault(kind, set()).update([cutoff] if cutoff else [])
    wanted = {f"{kind}.{','.join(sorted(each, key=int))}" if each else kind for kind, each in cutoffs.items()}
    run = {
        query_id: {document_id: float(-place) for place, document_id in enumerate(clean[query_id])}
        for query_id in queries
        if clean.get(query_id)
    }
    rows: dict[str, dict[str, float]] = (
        pytrec_eval.RelevanceEvaluator({query_id: dict(qrels[query_id]) for query_id in run}, wanted).evaluate(run)
        if run
        else {}
    )
    return {
        name: np.array([_value(rows.get(query_id), name) for query_id in queries], dtype=np.float64) for name in names
    }


def _trec(name: str) -> tuple[str, str]:
    kind, _, cutoff = name.partition("@")
    if kind == "MRR":
        return "recip_rank", ""  # has no cutoff: it is made by `_value`
    return {"nDCG": "ndcg_cut", "Recall": "recall", "Success": "success", "MAP": "map"}[kind], cutoff


def _value(row: Mapping[str, float] | None, name: str) -> float:
    if row is None:
        return 0.0
    kind, cutoff = _trec(name)
    value = row[f"{kind}_{cutoff}" if cutoff else kind]
    if kind == "recip_rank" and "@" in name and value > 0 and round(1 / value) > int(name.partition("@")[2]):
        return 0.0
    return float(value)


# Spans


def span_measure_names(cutoffs: Sequence[int]) -> list[str]:
    """What `measure_spans` gives for these cutoffs."""
    kinds = ("span recall", "span union recall", "span MRR")
    return [f"{kind}@{k}" for kind in kinds for k in cutoffs]


def measure_spans(
    rankings: Mapping[str, Sequence[Retrieved]],
    spans: Mapping[str, Sequence[LabelledSpan]],
    *,
    cutoffs: Sequence[int] = (1, 5, 10),
    texts: Mapping[str, str] | None = None,
) -> Measured:
    """Measure ranked passages against labelled spans, for the queries that have any.

    ``span recall@k``: the share of a query's spans that *one* passage of the first k covers whole. A span cut in two
    is not found, though both halves are: what reads one passage sees half an answer.
    ``span union recall@k``: the share that the passages of the first k cover *together*.
    ``span MRR@k``: 1 / rank of the first passage that covers a span whole, 0 beyond k.

    Passages are trimmed and so are spans: with `texts` (document id → text) white space at the ends of a span, and
    between passages that cover it together, need not be covered. Spans are of the documents, so the same labels measure
    any way of cutting them. A passage that comes twice counts once, at its first place.
    """
    if any(k < 1 for k in cutoffs):
        raise InputError(f"cutoffs must be at least 1, got {list(cutoffs)}")
    texts = texts or {}
    queries = tuple(query_id for query_id, labelled in spans.items() if labelled)
    values = {name: np.zeros(len(queries)) for name in span_measure_names(cutoffs)}
    duplicates = 0
    for row, query_id in enumerate(queries):
        places = [(each.document_id, each.start, each.end) for each in rankings.get(query_id, ())]
        once = list(dict.fromkeys(places))
        duplicates += len(places) - len(once)
        found = [_ranks(span, once, texts.get(span.document_id)) for span in dict.fromkeys(spans[query_id])]
        for k in cutoffs:
            whole = [one for one, _ in found if one is not None and one <= k]
            together = [union for _, union in found if union is not None and union <= k]
            values[f"span recall@{k}"][row] = len(whole) / len(found)
            values[f"span union recall@{k}"][row] = len(together) / len(found)
            values[f"span MRR@{k}"][row] = 1 / min(whole) if whole else 0.0
    return Measured(
        queries=queries,
        values=values,
        duplicates=duplicates,
        missing=sum(not rankings.get(query_id) for query_id in queries),
        unjudged=sum(query_id not in spans for query_id in rankings),
    )


def _ranks(
    span: LabelledSpan, places: Sequence[tuple[str, int, int]], text: str | None
) -> tuple[int | None, int | None]:
    """The ranks, from 1, at which `span` is first covered by one passage, and by the passages so far together."""
    start, end = span.start, span.end
    if text is not None:
        inside = text[start:end]
        if stripped := inside.strip():
            start += len(inside) - len(inside.lstrip())
            end = start + len(stripped)
    # Half-open ranges of the span that no passage has covered yet.
    open_ranges = [(start, end)]
    one = union = None
    for rank, (document_id, a, b) in enumerate(places, 1):
        if document_id != span.document_id or b <= start or a >= end:
            continue
        if one is None and a <= start and end <= b:
            one = rank
        if union is None:
            open_ranges = [
                piece
                for low, high in open_ranges
                for piece in ((low, min(high, a)), (max(low, b), high))
                if piece[0] < piece[1] and not (text is not None and not text[piece[0] : piece[1]].strip())
            ]
            if not open_ranges:
                union = rank
        if one is not None and union is not None:
            break
    return one, union
