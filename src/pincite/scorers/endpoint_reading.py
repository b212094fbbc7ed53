"""Contexts that an endpoint reads anew with every request, and the answers begun after them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from pincite.errors import InputError
from pincite.protocols import NextTokens

if TYPE_CHECKING:
    from pincite.protocols import Matrix
    from pincite.scorers.endpoint import EndpointScorer
    from pincite.scorers.endpoint_words import Prompt, Row, Words

__all__ = ["EndpointReading"]

_Job: TypeAlias = "tuple[int, int]"  #: a continuation and a row, by their places


class EndpointReading:
    """Prompts, one a row. Nothing is held at the endpoint, so any number may be open. See `EndpointScorer`."""

    def __init__(self, scorer: EndpointScorer, words: Words, prompts: Sequence[Prompt]) -> None:
        self._scorer = scorer
        self._words = words
        self._prompts: list[Prompt] = list(prompts)
        self._lists: list[Row] = []  #: of this step, with `_width` tokens or as many as there are
        self._width = 0
        self._closed = False

    @property
    def rows(self) -> int:
        return len(self._prompts)

    def next_tokens(self, width: int | None = None) -> NextTokens:
        """See `Reading.next_tokens`. One request; none where as many tokens of this step are known already."""
        import numpy as np

        self._check_open()
        asked = self._scorer.width if width is None else width
        if asked < 1:
            raise InputError(f"width must be at least 1, got {asked}")
        if asked > self._width:
            self._lists = self._scorer.lists(self._prompts, asked)
            self._width = asked
        longest = max(1, *map(len, self._lists))
        ids = np.full((self.rows, longest), -1, dtype=np.int64)
        logprobs = np.full((self.rows, longest), -np.inf, dtype=np.float32)
        for place, row in enumerate(self._lists):
            if row:
                ids[place, : len(row)], logprobs[place, : len(row)] = zip(*row, strict=True)
        return NextTokens(logprobs, ids)

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """See `Reading.extend`. The endpoint is asked when the next tokens are."""
        self._check_open()
        if len(rows) != len(tokens):
            raise InputError(f"{len(rows)} rows cannot take {len(tokens)} tokens: one each")
        if not rows:
            raise InputError("a reading keeps at least one row; close it instead")
        if any(not 0 <= row < self.rows for row in rows):
            raise InputError(f"rows are numbered from 0 to {self.rows - 1}: {list(rows)}")
        self._prompts = [self._words.grown(self._prompts[row], token) for row, token in zip(rows, tokens, strict=True)]
        self._lists, self._width = [], 0

    def score(self, continuations: Sequence[Sequence[int]], *, end: bool = False) -> list[Matrix]:
        """See `Reading.score`: all continuations after all rows together, a request or two for each token.

        One request for all of it where the endpoint echoes given text with its log-probabilities. The end is the sum
        over the ends that are among the `TokenScorer.widest` likeliest tokens; with numbered tokens, where none is,
        over all of them.
        """
        import numpy as np

        self._check_open()
        for each in continuations:
            self._words.check(each)
        scores = [np.full((self.rows, len(each) + end), -np.inf, dtype=np.float32) for each in continuations]
        jobs = [(index, row) for index in range(len(continuations)) for row in range(self.rows)]
        done: set[_Job] = set() if self._words.exact else self._echo(continuations, jobs, scores)
        groups = [jobs]
        if self._words.exact:
            # One continuation after the other: the last token of a prompt is then the only one that llama.cpp's server
            # has not computed. It is faster so, and several tokens at once come out a little otherwise.
            groups = [jobs[start : start + self.rows] for start in range(0, len(jobs), self.rows)]
        for group in groups:
            self._chain(continuations, group, done, scores, end=end)
        return scores

    def close(self) -> None:
        """See `Reading.close`."""
        self._closed = True
        self._lists, self._width = [], 0

    @property
    def _most(self) -> int:
        return self._scorer.widest or self._scorer.width

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("this reading is closed")

    def _chain(
        self,
        continuations: Sequence[Sequence[int]],
        jobs: Sequence[_Job],
        done: set[_Job],
        scores: Sequence[Matrix],
        *,
        end: bool,
    ) -> None:
        """Score token after token; of the jobs in `done` only the end, if at all."""
        grown = {job: self._prompts[job[1]] for job in jobs}
        for place in range(max((len(continuations[index]) for index, _ in jobs), default=0)):
            due = [job for job in jobs if place < len(continuations[job[0]])]
            tokens = [continuations[index][place] for index, _ in due]
            asked = [(job, token) for job, token in zip(due, tokens, strict=True) if job not in done]
            logprobs = self._logprobs([grown[job] for job, _ in asked], [token for _, token in asked])
            for (job, _), logprob in zip(asked, logprobs, strict=True):
                scores[job[0]][job[1], place] = logprob
            for job, token in zip(due, tokens, strict=True):
                grown[job] = self._words.grown(grown[job], token)
        if end and jobs:
            for job, logprob in zip(jobs, self._ended([grown[job] for job in jobs]), strict=True):
                scores[job[0]][job[1], -1] = logprob

    def _logprobs(self, prompts: Sequence[Prompt], tokens: Sequence[int]) -> list[float]:
        """The log-probability of each token after the prompt beside it; of a list and, where that can be, forced."""
        if not prompts:
            return []
        exact = self._words.exact
        rows = self._lists if exact and prompts == self._prompts else []
        rows = rows or self._scorer.lists(prompts, self._scorer.width if exact else self._most, bounding=False)
        found = [dict(row).get(token, -math.inf) for row, token in zip(rows, tokens, strict=True)]
        if exact:
            for token in sorted({token for token, known in zip(tokens, found, strict=True) if known == -math.inf}):
                # Of all the prompts, as they were asked for before: fewer at a time come out a little otherwise.
                for place, logprob in enumerate(self._scorer.forced(prompts, token)):
                    if tokens[place] == token and found[place] == -math.inf:
                        found[place] = logprob
        return found

    def _ended(self, prompts: Sequence[Prompt]) -> list[float]:
        """The log-probability that the answer ends after each prompt."""
        ends = self._words.ends
        found = [
            _sum([logprob for token, logprob in row if token in ends])
            for row in self._scorer.lists(prompts, self._most, bounding=False)
        ]
        if self._words.exact and -math.inf in found:
            by_end = [self._scorer.forced(prompts, token) for token in sorted(ends)]
            for place, logprobs in enumerate(zip(*by_end, strict=True)):
                if found[place] == -math.inf:
                    found[place] = _sum(logprobs)
        return found

    def _echo(
        self, continuations: Sequence[Sequence[int]], jobs: Sequence[_Job], scores: Sequence[Matrix]
    ) -> set[_Job]:
        """Score by the endpoint's echo, and say for which jobs it told: where it cuts the text as we do."""
        asked = [job for job in jobs if continuations[job[0]]]
        prompts: list[Prompt] = []
        for index, row in asked:
            prompt = self._prompts[row]
            for token in continuations[index]:
                prompt = self._words.grown(prompt, token)
            prompts.append(prompt)
        done: set[_Job] = set()
        echoed = self._scorer.echoed(prompts) if prompts else None
        for job, tokens in zip(asked, echoed or [], strict=echoed is not None):
            texts = [self._words.grown("", token) for token in continuations[job[0]]]
            last = tokens[-len(texts) :]
            values = [value for _, value in last if value is not None]
            if [text for text, _ in last] == texts and len(values) == len(texts):
                scores[job[0]][job[1], : len(texts)] = values
                done.add(job)
        return done


def _sum(logprobs: Sequence[float]) -> float:
    """The logarithm of the sum of the probabilities, at most 0."""
    greatest = max(logprobs, default=-math.inf)
    if greatest == -math.inf:
        return greatest
    return min(0.0, greatest + math.log(sum(math.exp(each - greatest) for each in logprobs)))
