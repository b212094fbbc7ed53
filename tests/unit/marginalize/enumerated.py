"""The slow way: every answer of a small vocabulary, its probability summed and multiplied as the paper writes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from toys_scorer import TableScorer

Answer = tuple[int, ...]

CONTEXTS = [("passage one",), ("two",), ("the third",), ("4",), ("fünf",)]


class Enumeration:
    """All answers of up to `longest` tokens, after the first passages of a toy reader, in plain probabilities."""

    def __init__(self, scorer: TableScorer, prior: Sequence[float], longest: int = 4) -> None:
        self.scorer, self.prior, self.longest = scorer, list(prior), longest
        self.contexts = CONTEXTS[: len(prior)]
        self.words = [t for t in range(len(scorer.vocabulary)) if t not in scorer.ends]
        self.answers = [y for length in range(longest + 1) for y in product(self.words, repeat=length)]
        self._known: dict[tuple[int, Answer], list[float]] = {}

    def after(self, z: int, prefix: Answer) -> list[float]:
        """Probability of every token after passage z and `prefix`."""
        if (z, prefix) not in self._known:
            logs = self.scorer.logprobs(self.contexts[z], prefix)
            self._known[z, prefix] = [math.exp(float(each)) for each in logs]
        return self._known[z, prefix]

    def end(self, z: int, prefix: Answer) -> float:
        return sum(self.after(z, prefix)[end] for end in self.scorer.ends)

    def columns(self, z: int, answer: Answer, *, end: bool = True) -> list[float]:
        """Probability of each token, and of the end, after passage z."""
        found = [self.after(z, answer[:i])[token] for i, token in enumerate(answer)]
        return [*found, self.end(z, answer)] if end else found

    def sequence(self, answer: Answer, *, end: bool = True) -> float:
        return sum(p * math.prod(self.columns(z, answer, end=end)) for z, p in enumerate(self.prior))

    def token(self, answer: Answer, *, end: bool = True) -> float:
        steps = zip(*(self.columns(z, answer, end=end) for z in range(len(self.prior))), strict=True)
        return math.prod(sum(p * each for p, each in zip(self.prior, step, strict=True)) for step in steps)

    def mixed(self, prefix: Answer) -> list[float]:
        """Of the words in order, and of the end last."""
        rows = [
            (*(self.after(z, prefix)[word] for word in self.words), self.end(z, prefix)) for z in range(len(self.prior))
        ]
        return [sum(p * row[i] for p, row in zip(self.prior, rows, strict=True)) for i in range(len(rows[0]))]

    def greedy(self, most: int) -> tuple[Answer, bool]:
        answer: Answer = ()
        while True:
            step = self.mixed(answer)
            best = step.index(max(step))
            if best == len(self.words) or len(answer) == most:
                return answer, best == len(self.words)
            answer = (*answer, self.words[best])

    def beam(self, beams: int, most: int) -> list[tuple[Answer, bool]]:
        """Beam search of the mixture as a textbook has it: the answers, best first, and whether each ended."""
        live: list[tuple[float, Answer]] = [(1.0, ())]
        found: list[tuple[float, Answer, bool]] = []
        for depth in range(most + 1):
            grown = [
                (p * q, prefix, word)
                for p, prefix in live
                for word, q in zip([*self.words, -1], self.mixed(prefix), strict=True)
            ]
            grown.sort(key=lambda each: -each[0])
            found += [(p, prefix, True) for p, prefix, word in grown[:beams] if word == -1]
            going = [each for each in grown if each[2] != -1][:beams]
            if depth == most:
                best = {prefix: p for p, prefix, _ in reversed(going)}
                found += [(p, prefix, False) for prefix, p in best.items()]
                break
            live = [(p, (*prefix, word)) for p, prefix, word in going]
            bar = sorted((p for p, _, _ in found), reverse=True)[beams - 1 : beams]
            if bar and live[0][0] <= bar[0]:
                break
        found.sort(key=lambda each: -each[0])
        return [(answer, ended) for _, answer, ended in found[:beams]]
