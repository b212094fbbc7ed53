"""What a search over tens of millions of passages costs: every vector, or a graph."""

from __future__ import annotations

import math

from pincite.errors import InputError
from pincite.lab.record import Lesson, Step, Value, dec

__all__ = ["DIMENSION", "PASSAGES", "brute_force", "lesson", "measure"]

#: The passages of Wikipedia in Karpukhin et al. 2020, and the dimension of their vectors.
PASSAGES = 21_015_324
DIMENSION = 768


def brute_force(passages: int, dimension: int) -> int:
    """Operations of comparing a query with every vector: one multiplication and one addition for each number."""
    return 2 * passages * dimension


def lesson(passages: int = PASSAGES, dimension: int = DIMENSION) -> Lesson:
    """The operations and bytes of exact search, codes and HNSW over `passages` vectors of `dimension` numbers.

    `m`, `ef_search` and `nprobe` are those an index of pincite begins with. Raises InputError below 2 passages or
    without a dimension.
    """
    from pincite.store.ivfpq import cells
    from pincite.store.plan import IndexOptions

    if passages < 2 or dimension < 1:
        raise InputError(f"{passages} passages of {dimension} numbers: at least 2 passages of 1 number are needed")
    options = IndexOptions()
    ef = next(options.layout().rungs(options)).ef or 0
    codes = IndexOptions("ivfpq")
    nprobe = next(codes.layout().rungs(codes)).nprobe or 0
    nlist = cells(passages)
    n, d = dec(passages, ",d"), dec(dimension, ",d")
    scale = (
        Value("passages n", passages, "given", ",d"),
        Value("dimension d", dimension, "given", ",d"),
    )
    return Lesson(
        "search-cost",
        "Searching every vector, or a graph",
        (
            Step("The size", "Each passage is one vector of d numbers. So is the query.", values=scale),
            Step(
                "Every vector: operations",
                "The inner product with one vector takes d multiplications and d additions. Exact search takes one "
                "with each of n vectors.",
                "operations = 2 · n · d",
                (
                    Value("operations of a query", brute_force(passages, dimension), f"2 × {n} × {d}", ",d"),
                    Value("about", brute_force(passages, dimension), "the same in two digits", "e"),
                ),
            ),
            Step(
                "Every vector: bytes",
                "All of them are read for each query. A product code here cuts a vector into pieces of "
                f"{_PIECE} numbers and keeps {_BITS} bits of each.",
                "bytes = n · bytes of a vector",
                tuple(_bytes(passages, dimension)),
            ),
            _graph(passages, dimension, options.m, ef),
            Step(
                "Cells and codes instead of a graph",
                f"IVF-PQ puts the vectors into nlist cells and looks at the codes in the nprobe nearest. nlist = "
                f"{dec(nlist, ',d')} is what pincite takes for so many. Assumed: cells of equal size.",
                "compared = nlist + n · nprobe / nlist",
                (
                    Value("cells compared", nlist, f"all {dec(nlist, ',d')} centres", ",d"),
                    Value("codes compared", passages * nprobe / nlist, f"{n} × {nprobe} / {dec(nlist, ',d')}", ",.0f"),
                    Value("share of all passages", nprobe / nlist, f"{nprobe} / {dec(nlist, ',d')}", ".5f"),
                ),
                "What the codes choose is scored again with the vectors themselves.",
            ),
        ),
        (
            "Karpukhin et al. 2020, section 4.1 (the passages)",
            "Malkov and Yashunin 2018, section 4 (HNSW)",
            "Jégou, Douze and Schmid 2011 (product quantization)",
        ),
    )


#: Numbers in a piece of a product code, and bits that are kept of it, as in `pincite.store.ivfpq`.
_PIECE, _BITS = 4, 4


def _bytes(passages: int, dimension: int) -> list[Value]:
    n, d = dec(passages, ",d"), dec(dimension, ",d")
    values = []
    for name, each in (("float32", 4), ("float16", 2), ("int8", 1)):
        size = passages * dimension * each
        values.append(Value(name, size / 1e9, f"{n} × {d} × {each} bytes = {dec(size, ',d')}", ".1f", "GB"))
    pieces = math.ceil(dimension / _PIECE)
    code = math.ceil(pieces * _BITS / 8)
    how = f"{n} × ⌈{pieces} pieces × {_BITS} bits / 8⌉ = {n} × {code} = {dec(passages * code, ',d')}"
    values.append(Value("product code", passages * code / 1e9, how, ".1f", "GB"))
    return values


def _graph(passages: int, dimension: int, m: int, ef: int) -> Step:
    links = 2 * m
    ground = ef * links
    levels = math.log(passages) / math.log(m)
    above = levels * m
    visited = ground + above
    everything, some = brute_force(passages, dimension), 2 * visited * dimension
    memory = passages * 4 * (links + m / (m - 1))
    n, d = dec(passages, ",d"), dec(dimension, ",d")
    return Step(
        "A graph: HNSW",
        f"m = {m} links a node on each upper level and {links} on the ground level, ef_search = {ef}. The search walks "
        "down the levels and then widens on the ground level until its ef_search best nodes have been opened. "
        "This is an estimate. Assumed: each of them is opened once and none of its neighbours was compared before, "
        "and one node is opened on each upper level. Neighbours are shared in fact, so that fewer are compared.",
        "compared ≈ ef_search · 2m + m · ln(n) / ln(m)",
        (
            Value("on the ground level", ground, f"{ef} × 2 × {m}", ",d"),
            Value("upper levels", levels, f"ln({n}) / ln({m})", ".2f"),
            Value("on the upper levels", above, f"{m} × {dec(levels, '.2f')}", ",.0f"),
            Value("vectors compared", visited, f"{dec(ground, ',d')} + {dec(above, ',.0f')}", ",.0f"),
            Value("operations of a query", some, f"2 × {dec(visited, ',.0f')} × {d}", "e"),
            Value(
                "times fewer than every vector",
                everything / some,
                f"{n} / {dec(visited, ',.0f')}",
                ",.0f",
            ),
            Value("bytes of the links", memory / 1e9, f"{n} × 4 × (2 × {m} + {m} / ({m} − 1))", ".1f", "GB"),
        ),
        "The price: the links in memory beside the vectors, the time to build, and a recall that must be measured.",
    )


def measure(passages: int = 20_000, dimension: int = DIMENSION, scaled_to: int = PASSAGES, repeats: int = 7) -> Step:
    """Exact search over `passages` random vectors timed on this machine, and what that would make of `scaled_to`."""
    import time

    import numpy as np

    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((passages, dimension), dtype=np.float32)
    query = rng.standard_normal(dimension, dtype=np.float32)
    taken = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        np.argpartition(vectors @ query, -10)
        taken.append(time.perf_counter() - started)
    median = float(np.median(taken[1:]))  # the first one touches the memory
    work = brute_force(passages, dimension)
    n = dec(passages, ",d")
    return Step(
        "Measured here, now",
        f"{n} random float32 vectors on this machine with numpy, the median of {repeats} runs. The long search is "
        "scaled up, which supposes that all vectors lie in memory.",
        "seconds for n = seconds measured · n / vectors measured",
        (
            Value("milliseconds", median * 1e3, f"measured over {n} vectors", ".2f", "ms"),
            Value("operations a second", work / median, f"{dec(work, ',d')} / {dec(median * 1e3, '.2f')} ms", "e"),
            Value(
                "a query over all passages",
                median * scaled_to / passages,
                f"{dec(median * 1e3, '.2f')} ms × {dec(scaled_to, ',d')} / {n}",
                ".2f",
                "s",
            ),
        ),
        measured=True,
    )
