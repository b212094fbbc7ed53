"""What the temperature of the prior does."""

from __future__ import annotations

import math

from pincite.lab.example import ANSWER, READER, SCORES
from pincite.lab.record import Lesson, Step, Value, check_distribution, dec

__all__ = ["lesson"]


def lesson(
    scores: tuple[float, ...] = SCORES,
    reader: tuple[float, ...] = READER,
    temperatures: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 10.0, 100.0),
) -> Lesson:
    """p(y|x) of the example under several temperatures, and its two limits.

    Raises InputError where there is not one probability of the reader for each score, or a temperature is not above 0.
    """
    import numpy as np

    from pincite.marginalize.logspace import log
    from pincite.marginalize.prior import log_prior
    from pincite.marginalize.rag_sequence import sequence_logprob

    check_distribution("reader", reader, len(scores))
    priors, answers = [], []
    for temperature in temperatures:
        logs = log_prior(scores, temperature)
        prior = [float(p) for p in np.exp(logs)]
        name = f"T = {dec(temperature, 'g')}"
        priors += [
            Value(f"p(z{z}|x), {name}", p, f"exp({dec(s, '.2f')} / {dec(temperature, 'g')}) / Σ")
            for z, (s, p) in enumerate(zip(scores, prior, strict=True), 1)
        ]
        working = " + ".join(f"{dec(p)} × {dec(q, '.2f')}" for p, q in zip(prior, reader, strict=True))
        answers.append(Value(f"p(y|x), {name}", math.exp(float(sequence_logprob(logs, log(reader)))), working))
    best = max(scores)
    firsts = [q for s, q in zip(scores, reader, strict=True) if s == best]
    return Lesson(
        "temperature",
        "How far to trust the retriever",
        (
            Step(
                "The prior at several temperatures",
                "Before the softmax the scores are divided by a temperature T. A low one trusts the first passage "
                "alone, a high one all alike. Scores of other units (cosines, BM25, ranks) need other temperatures.",
                "p(z|x) = exp(s(z) / T) / Σ over j  exp(s(j) / T)",
                tuple(priors),
            ),
            Step(
                f"The probability of “{ANSWER}”",
                "The reader's probabilities stay what they are; only their weights change.",
                "p(y|x) = Σ over z  p(z|x) · p(y|x,z)",
                tuple(answers),
            ),
            Step(
                "The two limits",
                "Towards T = 0 the answer is that of the best passage; for an endless T it is the plain mean. The "
                "right T is measured: the one under which known answers are most probable.",
                values=(
                    Value("T → 0", math.fsum(firsts) / len(firsts), "p(y|x,z) of the highest score"),
                    Value(
                        "T → ∞",
                        math.fsum(reader) / len(reader),
                        f"({' + '.join(dec(q, '.2f') for q in reader)}) / {len(reader)}",
                    ),
                ),
            ),
        ),
    )
