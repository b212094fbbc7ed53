"""The passage as a latent variable: from inner products to the probability of an answer and back to the passages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pincite.errors import InputError
from pincite.lab.example import ANSWER, OTHER_QUERY, PASSAGES, QUERY, QUESTION, READER, VECTORS
from pincite.lab.record import Lesson, Step, Value, check_distribution, dec, product, total

if TYPE_CHECKING:
    from pincite.marginalize.logspace import Floats

__all__ = ["lesson"]

#: Two passages that disagree as strongly as can be: the second all but rules the answer out.
_DISAGREEING = (0.9, 0.001)


def lesson(
    vectors: Sequence[Sequence[float]] = VECTORS,
    query: Sequence[float] = QUERY,
    other_query: Sequence[float] = OTHER_QUERY,
    reader: tuple[float, ...] = READER,
) -> Lesson:
    """p(y|x) of a one-word answer, its posterior, and what averaging logits would have said.

    `vectors` (k, d) are of the passages, `query` and `other_query` (d,) of the question in two wordings, `reader` (k,)
    is p(y|x,z). Raises InputError for shapes that do not fit, or numbers that are no probabilities.
    """
    import numpy as np

    table = np.array(vectors, dtype=np.float64)
    if table.ndim != 2 or not len(query) == len(other_query) == table.shape[1]:
        raise InputError("the vectors of the passages and of both queries must have the same dimension")
    check_distribution("reader", reader, len(table))
    scores, others = table @ np.array(query), table @ np.array(other_query)
    names = range(1, len(table) + 1)
    return Lesson(
        "cricket",
        "The passage as a latent variable: the probability of an answer",
        (
            Step(
                "The scores of the retriever",
                f"The question x is: {QUESTION} " + _about(len(table)) + "Question and passages are vectors. The score "
                "of a passage is the inner product. The vectors are small ones, made up for this lesson.",
                "s(z) = Σ over i  q(i) · z(i)",
                _inner("s", query, vectors, scores),
            ),
            _priors(scores),
            Step(
                "What the reader makes of each passage",
                f"The reader sees one passage at a time and gives the answer y = “{ANSWER}” a probability.",
                "p(y|x,z)",
                tuple(Value(f"p(y|x,z{z})", p, "given", ".2f") for z, p in zip(names, reader, strict=True)),
            ),
            _mixture(scores, reader),
            *(_fewer(scores[:k], reader[:k]) for k in range(1, len(table))),
            _posterior(scores, reader),
            _reworded(other_query, vectors, others, scores, reader),
            _logits(scores, reader),
            _sharper(),
        ),
        ("Lewis et al. 2020, arXiv:2005.11401, section 2.1",),
    )


def _about(count: int) -> str:
    if count != len(PASSAGES):
        return f"There are {count} passages. "
    return "The passages: " + "; ".join(f"z{z} {text}" for z, text in enumerate(PASSAGES, 1)) + ". "


def _inner(
    letter: str, query: Sequence[float], vectors: Sequence[Sequence[float]], scores: Floats
) -> tuple[Value, ...]:
    return tuple(
        Value(
            f"{letter}(z{z})",
            float(score),
            " + ".join(f"{dec(q, 'g')}×{dec(v, 'g')}" for q, v in zip(query, vector, strict=True)),
            ".2f",
        )
        for z, (vector, score) in enumerate(zip(vectors, scores, strict=True), 1)
    )


def _prior_of(scores: Floats) -> list[float]:
    import numpy as np

    from pincite.marginalize.prior import log_prior

    return [float(p) for p in np.exp(log_prior(scores))]


def _answer(scores: Floats, reader: Sequence[float]) -> float:
    from pincite.marginalize.logspace import log
    from pincite.marginalize.prior import log_prior
    from pincite.marginalize.rag_sequence import sequence_logprob

    return math.exp(float(sequence_logprob(log_prior(scores), log(reader))))


def _parts(scores: Floats, reader: Sequence[float]) -> list[float]:
    return [p * q for p, q in zip(_prior_of(scores), reader, strict=True)]


def _priors(scores: Floats) -> Step:
    exponentials = [math.exp(float(s)) for s in scores]
    norm = math.fsum(exponentials)
    prior = _prior_of(scores)
    return Step(
        "From scores to the prior",
        "The softmax makes probabilities of the scores: how far the retriever trusts each passage before anybody has "
        "read one. They add up to 1.",
        "p(z|x) = exp(s(z)) / Σ over j  exp(s(j))",
        (
            *(
                Value(f"exp(s(z{z}))", value, f"exp({dec(float(s), '.2f')})")
                for z, (s, value) in enumerate(zip(scores, exponentials, strict=True), 1)
            ),
            Value("Σ", norm, total(exponentials)),
            *(
                Value(f"p(z{z}|x)", p, f"{dec(value)} / {dec(norm)}")
                for z, (p, value) in enumerate(zip(prior, exponentials, strict=True), 1)
            ),
            Value("sum", math.fsum(prior), total(prior)),
        ),
    )


def _mixture(scores: Floats, reader: Sequence[float]) -> Step:
    prior, parts = _prior_of(scores), _parts(scores, reader)
    return Step(
        "The probability of the answer",
        "Which passage is the right one is not known. So the reader's probabilities are averaged, each weighted by how "
        "far its passage is trusted.",
        "p(y|x) = Σ over z  p(z|x) · p(y|x,z)",
        (
            *(
                Value(f"part of z{z}", part, f"{dec(p)} × {dec(q, '.2f')}")
                for z, (p, q, part) in enumerate(zip(prior, reader, parts, strict=True), 1)
            ),
            Value("p(y|x)", _answer(scores, reader), total(parts)),
        ),
    )


def _fewer(scores: Floats, reader: Sequence[float]) -> Step:
    prior, count = _prior_of(scores), len(reader)
    return Step(
        f"The same with k = {count}",
        "With fewer passages the prior is made of their scores alone.",
        "p(y|x) = Σ over the first k  p(z|x) · p(y|x,z)",
        (
            *(Value(f"p(z{z}|x)", p, f"softmax of {count}") for z, p in enumerate(prior, 1)),
            Value(
                f"p(y|x), k = {count}",
                _answer(scores, reader),
                " + ".join(f"{dec(p)} × {dec(q, '.2f')}" for p, q in zip(prior, reader, strict=True)),
            ),
        ),
    )


def _posterior(scores: Floats, reader: Sequence[float]) -> Step:
    from pincite.marginalize.logspace import log
    from pincite.marginalize.posterior import sequence_posterior
    from pincite.marginalize.prior import log_prior

    after = [float(p) for p in sequence_posterior(log_prior(scores), log(reader))]
    parts, answer = _parts(scores, reader), _answer(scores, reader)
    prior = _prior_of(scores)
    best = max(range(len(after)), key=after.__getitem__)
    moved = "rose" if after[best] > prior[best] else "did not rise"
    return Step(
        "Which passage the answer came from",
        "Once the answer is known, Bayes' rule says what each passage had to do with it: its part of the sum.",
        "p(z|x,y) = p(z|x) · p(y|x,z) / p(y|x)",
        (
            *(
                Value(f"p(z{z}|x,y)", p, f"{dec(part)} / {dec(answer)}" if answer else "the prior")
                for z, (p, part) in enumerate(zip(after, parts, strict=True), 1)
            ),
            Value("sum", math.fsum(after), total(after)),
        ),
        f"Passage z{best + 1} {moved} from {dec(prior[best])} to {dec(after[best])}.",
    )


def _reworded(
    query: Sequence[float],
    vectors: Sequence[Sequence[float]],
    others: Floats,
    scores: Floats,
    reader: Sequence[float],
) -> Step:
    prior = _prior_of(others)
    before, now = _answer(scores, reader), _answer(others, reader)
    return Step(
        "The question in other words",
        f"The query vector becomes ({', '.join(dec(q, 'g') for q in query)}). Nothing else changes. The scores move, "
        "the prior moves with them, and so does the answer's probability. Training a query encoder is moving this "
        "vector so that right answers become more probable.",
        "s'(z) = Σ over i  q'(i) · z(i)\np'(y|x) = Σ over z  softmax(s')(z) · p(y|x,z)",
        (
            *_inner("s'", query, vectors, others),
            *(Value(f"p'(z{z}|x)", p, "softmax of s'") for z, p in enumerate(prior, 1)),
            Value(
                "p'(y|x)", now, " + ".join(f"{dec(p)} × {dec(q, '.2f')}" for p, q in zip(prior, reader, strict=True))
            ),
            Value("p'(y|x) − p(y|x)", now - before, f"{dec(now)} − {dec(before)}"),
        ),
    )


def _logit(p: float) -> float:
    return math.log(p) - math.log1p(-p) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)


def _of_logit(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0


def _average(prior: Sequence[float], reader: Sequence[float]) -> tuple[list[float], float]:
    logits = [_logit(p) for p in reader]
    # What has no weight says nothing, also where its logit is infinite.
    return logits, sum(p * each for p, each in zip(prior, logits, strict=True) if p)


def _logits(scores: Floats, reader: Sequence[float]) -> Step:
    prior, right = _prior_of(scores), _answer(scores, reader)
    logits, mean = _average(prior, reader)
    return Step(
        "What averaging logits would have said",
        "It is wrong to average the reader's logits instead and to make a probability of the average. That is no sum "
        "over passages: no part of it belongs to one, and Bayes' rule says nothing about it.",
        "WRONG: sigmoid(Σ over z  p(z|x) · logit(z))\nlogit = ln(p / (1 − p))",
        (
            *(
                Value(f"logit of z{z}", each, f"ln({dec(p, '.2f')} / (1 − {dec(p, '.2f')}))")
                for z, (p, each) in enumerate(zip(reader, logits, strict=True), 1)
            ),
            Value(
                "their average",
                mean,
                " + ".join(f"{dec(p)} × {_bracket(each)}" for p, each in zip(prior, logits, strict=True)),
            ),
            Value("wrong", _of_logit(mean), f"1 / (1 + exp(−{_bracket(mean)}))"),
            Value("right", right, "the sum over passages, above"),
            Value("wrong − right", _of_logit(mean) - right, f"{dec(_of_logit(mean))} − {dec(right)}"),
        ),
    )


def _bracket(value: float) -> str:
    return f"({dec(value)})" if value < 0 else dec(value)


def _sharper() -> Step:
    import numpy as np

    from pincite.marginalize.rag_token import mixture

    half = 1 / len(_DISAGREEING)
    prior = [half] * len(_DISAGREEING)
    table = np.log([[p, 1 - p] for p in _DISAGREEING])
    right = math.exp(float(mixture(np.log(prior), table)[0]))
    _, mean = _average(prior, _DISAGREEING)
    products = " + ".join(product(half, p, form="g") for p in _DISAGREEING)
    return Step(
        "Where that matters most",
        "Two passages of equal weight, and “yes” or “no”. After one the reader is nearly sure of yes, after the other "
        "it all but rules it out. Half the trust stands behind yes; a logit average lets one passage forbid what the "
        "other found.",
        "p(yes) = Σ over z  p(z) · p(yes|z)",
        (
            *(Value(f"p(yes|z{z})", p, "given", ".3f") for z, p in enumerate(_DISAGREEING, 1)),
            Value("right", right, products),
            Value("wrong, by logits", _of_logit(mean), f"sigmoid({dec(mean)})"),
        ),
    )
