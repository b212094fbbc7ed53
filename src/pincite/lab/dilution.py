"""What further passages do to an answer."""

from __future__ import annotations

import math

from pincite.lab.example import ANSWER, READER, SCORES
from pincite.lab.record import Lesson, Step, Value, check_distribution, dec

__all__ = ["lesson"]


def lesson(
    scores: tuple[float, ...] = SCORES,
    reader: tuple[float, ...] = READER,
    late: tuple[float, float] = (0.3, 0.95),
) -> Lesson:
    """p(y|x) of the example with the first 1, 2, … passages, and with one more, whose score and reader `late` gives.

    Raises InputError where there is not one probability of the reader for each score.
    """
    check_distribution("reader", reader, len(scores))
    check_distribution("late", late[1:], 1)
    return Lesson(
        "dilution",
        "More passages are not always better",
        (
            Step(
                "The example",
                f"The passages of the lesson cricket, the answer “{ANSWER}”, and a passage that is found late.",
                values=(
                    *(Value(f"s(z{z})", s, "given", ".2f") for z, s in enumerate(scores, 1)),
                    *(Value(f"p(y|x,z{z})", p, "given", ".2f") for z, p in enumerate(reader, 1)),
                    Value("score of the late passage", late[0], "given", ".2f"),
                    Value("p(y|x,late)", late[1], "given", ".2f"),
                ),
            ),
            _growing(scores, reader),
            _late(scores, reader, late),
        ),
        ("Lewis et al. 2020, arXiv:2005.11401, section 4.5 (retrieving more documents)",),
    )


def _growing(scores: tuple[float, ...], reader: tuple[float, ...]) -> Step:
    import numpy as np

    from pincite.marginalize.dilution import dilution
    from pincite.marginalize.logspace import log
    from pincite.marginalize.prior import log_prior

    found = dilution(scores, log(reader))
    values = []
    for k, answer in enumerate(found.probabilities, 1):
        prior = [float(p) for p in np.exp(log_prior(scores[:k]))]
        working = " + ".join(f"{dec(p)} × {dec(q, '.2f')}" for p, q in zip(prior, reader[:k], strict=True))
        values.append(Value(f"p(y|x), k = {k}", answer, working))
    worst = found.first_harmful
    after = "No passage lowered it" if worst is None else f"Passage z{worst + 1} is the first that lowered it"
    return Step(
        "One passage more each time",
        "A further passage takes weight from those before it. It lowers the answer's probability exactly if it gives "
        "the answer less than they do together. That is dilution.",
        "p(y|x) with k = Σ over the first k  softmax(s(1) … s(k))(z) · p(y|x,z)",
        tuple(values),
        f"{after}; the highest is with k = {found.best_k}.",
    )


def _late(scores: tuple[float, ...], reader: tuple[float, ...], late: tuple[float, float]) -> Step:
    import numpy as np

    from pincite.marginalize.dilution import dilution
    from pincite.marginalize.logspace import log
    from pincite.marginalize.prior import log_prior

    more = (*scores, late[0])
    both = dilution(more, log((*reader, late[1]))).probabilities
    weight = math.exp(float(log_prior(more)[-1]))
    before, now = both[-2], both[-1]
    better = "more" if late[1] > before else "less"
    prior = [float(p) for p in np.exp(log_prior(more))]
    return Step(
        "A good passage found late",
        f"The late passage gives the answer {better} than the others together, and moves its probability by its own "
        "weight. How many passages to read is therefore measured on questions with known answers, not guessed.",
        "p(y|x) with k + 1 = p(y|x) with k + p(late|x) · (p(y|x,late) − p(y|x) with k)",
        (
            Value("p(late|x)", weight, f"1 − ({' + '.join(dec(p) for p in prior[:-1])})"),
            Value(
                f"p(y|x), k = {len(more)}",
                now,
                f"{dec(before)} + {dec(weight)} × ({dec(late[1], '.2f')} − {dec(before)})",
            ),
        ),
    )
