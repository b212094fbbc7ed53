"""A reader that is a table: probabilities of tokens that are made up, but the same for the same context and answer.

`TableScorer` is a `pincite.protocols.TokenScorer`. Its probabilities come from a function of (context, answer so far),
or are drawn anew from a seed and those two. It gives the whole vocabulary or, with `widest`, only the likeliest tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from pincite.errors import BackendError, InputError
from pincite.protocols import Context, NextTokens

__all__ = ["TableReading", "TableScorer"]

Table = Callable[[Context, tuple[int, ...]], Sequence[float]]


class TableScorer:
    """Token t is the text ``vocabulary[t]``; `table` gives p(t | context, answer so far) for every t, summing to 1.

    Without a table probabilities are drawn for every (seed, context, answer so far); a greater `sharpness` makes them
    further apart. `dtype` is what it answers in. `widest` is the most tokens it lists; None for the whole vocabulary.
    """

    def __init__(
        self,
        vocabulary: Sequence[str] = ("a", "b", "c", "d", "\n"),
        ends: Sequence[int] = (4,),
        table: Table | None = None,
        *,
        seed: int = 0,
        sharpness: float = 1.0,
        dtype: type[np.floating] = np.float32,
        widest: int | None = None,
    ) -> None:
        self.vocabulary = tuple(vocabulary)
        self._ends = frozenset(ends)
        self._table = table or self._drawn
        self.seed = seed
        self.sharpness = sharpness
        self.dtype = dtype
        self._widest = widest
        self.closed = False
        self.open = 0  #: readings that are not closed
        self._kept: dict[tuple[Context, tuple[int, ...]], np.ndarray] = {}
        self.widths: list[int | None] = []  #: what was asked for, call by call

    @property
    def name(self) -> str:
        return f"table:{self.seed}"

    @property
    def ends(self) -> frozenset[int]:
        return self._ends

    @property
    def widest(self) -> int | None:
        return self._widest

    def encode(self, text: str) -> list[int]:
        """The longest token that fits, from the left."""
        tokens, at = [], 0
        while at < len(text):
            fitting = [t for t, piece in enumerate(self.vocabulary) if piece and text.startswith(piece, at)]
            if not fitting:
                raise InputError(f"no token begins {text[at : at + 10]!r}")
            tokens.append(max(fitting, key=lambda t: len(self.vocabulary[t])))
            at += len(self.vocabulary[tokens[-1]])
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self.vocabulary[token] for token in tokens if token not in self._ends)

    def read(self, contexts: Sequence[Context]) -> TableReading:
        if not contexts:
            raise InputError("no contexts to read")
        self.closed = False
        self.open += 1
        return TableReading(self, [(tuple(context), ()) for context in contexts])

    def close(self) -> None:
        self.closed = True

    def logprobs(self, context: Context, answer: Sequence[int]) -> np.ndarray:
        """log p(t | context, answer) of every token, in `dtype`: what a test computes with."""
        key = (tuple(context), tuple(answer))
        if key not in self._kept:
            found = np.asarray(self._table(*key), dtype=np.float64)
            with np.errstate(divide="ignore"):
                self._kept[key] = np.log(found).astype(self.dtype)
        return self._kept[key]

    def _drawn(self, context: Context, answer: tuple[int, ...]) -> np.ndarray:
        key = repr((self.seed, "".join(context), answer)).encode()
        rng = np.random.default_rng(int.from_bytes(hashlib.sha256(key).digest()[:8], "big"))
        weights = np.exp(self.sharpness * rng.standard_normal(len(self.vocabulary)))
        return weights / weights.sum()


class TableReading:
    """Rows of (context, answer so far)."""

    def __init__(self, scorer: TableScorer, rows: list[tuple[Context, tuple[int, ...]]]) -> None:
        self._scorer = scorer
        self._rows = rows
        self.steps = 0  #: how often it was extended
        self._closed = False

    @property
    def rows(self) -> int:
        return len(self._rows)

    def next_tokens(self, width: int | None = None) -> NextTokens:
        self._check()
        self._scorer.widths.append(width)
        table = np.stack([self._scorer.logprobs(*row) for row in self._rows])
        if self._scorer.widest is None:
            return NextTokens(table)
        n = min(width or 5, self._scorer.widest, table.shape[1])
        ids = np.argsort(-table, axis=1, kind="stable")[:, :n]
        return NextTokens(np.take_along_axis(table, ids, axis=1), ids)

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        self._check()
        self._rows = [
            (self._rows[row][0], (*self._rows[row][1], int(token))) for row, token in zip(rows, tokens, strict=True)
        ]
        self.steps += 1

    def score(self, continuations: Sequence[Sequence[int]], *, end: bool = False) -> list[np.ndarray]:
        self._check()
        found = []
        for tokens in continuations:
            scores = np.full((self.rows, len(tokens) + end), -np.inf, dtype=self._scorer.dtype)
            for r, (context, answer) in enumerate(self._rows):
                for i in range(len(tokens) + end):
                    table = self._scorer.logprobs(context, (*answer, *tokens[:i]))
                    wanted = sorted(self._scorer.ends) if i == len(tokens) else [tokens[i]]
                    listed = np.argsort(-table, kind="stable")[: self._scorer.widest]
                    scores[r, i] = np.logaddexp.reduce([table[t] for t in wanted if t in listed] or [-np.inf])
            found.append(scores)
        return found

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._scorer.open -= 1

    def _check(self) -> None:
        if self._closed:
            raise BackendError("the reading is closed")
