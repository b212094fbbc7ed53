"""RAG-Sequence and RAG-Token on one token, where they agree, and on two, where they do not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pincite.errors import InputError
from pincite.lab.record import Lesson, Step, Value, check_distribution, dec, total

if TYPE_CHECKING:
    from pincite.marginalize.logspace import Floats

__all__ = ["FIRST", "PRIOR", "SECOND", "lesson"]

PRIOR = (0.6, 0.3, 0.1)
#: p(first token|x,z) of the first of two tokens after each passage; the other has the rest.
FIRST: Mapping[str, tuple[float, ...]] = {"New": (0.9, 0.2, 0.5), "Los": (0.1, 0.8, 0.5)}
#: p(second token|x,z,first token).
SECOND: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "New": {"York": (0.9, 0.3, 0.5), "Angeles": (0.1, 0.7, 0.5)},
    "Los": {"York": (0.2, 0.1, 0.5), "Angeles": (0.8, 0.9, 0.5)},
}


def lesson(
    prior: tuple[float, ...] = PRIOR,
    first: Mapping[str, tuple[float, ...]] = FIRST,
    second: Mapping[str, Mapping[str, tuple[float, ...]]] = SECOND,
) -> Lesson:
    """Both models over every answer of two tokens.

    `prior` (k,) is p(z|x). `first` gives each first token's probability after each passage, `second` the same of each
    second token after each first one. Raises InputError for numbers that are no distributions.
    """
    check_distribution("prior", prior, len(prior), sums=True)
    _check("first", first, len(prior))
    for token, following in second.items():
        _check(f"second after {token}", following, len(prior))
    if set(second) != set(first):
        raise InputError("`second` must say what follows each token of `first`, and no other")
    answers = [(one, two) for one in first for two in second[one]]
    tables = {(one, two): _logs(first[one], second[one][two]) for one, two in answers}
    sequence = {answer: _sequence(prior, table) for answer, table in tables.items()}
    tokenwise = {answer: _token(prior, table) for answer, table in tables.items()}
    return Lesson(
        "sequence-and-token",
        "One passage for the answer, or one for each token",
        (
            _given(prior, first, second),
            _one_token(prior, first),
            _two_tokens(prior, *answers[0], first, second),
            _why(prior, *answers[0], first, second),
            _all_answers(sequence, tokenwise),
        ),
        ("Lewis et al. 2020, arXiv:2005.11401, section 2.1",),
    )


def _check(name: str, table: Mapping[str, tuple[float, ...]], count: int) -> None:
    for token, row in table.items():
        check_distribution(f"{name}, {token}", row, count)
    for z in range(count):
        check_distribution(f"{name} after z{z + 1}", tuple(row[z] for row in table.values()), len(table), sums=True)


def _logs(*columns: tuple[float, ...]) -> Floats:
    """The log-probabilities (k, T) of the tokens of one answer."""
    import numpy as np

    from pincite.marginalize.logspace import log

    return log(np.array(columns).T)


def _sequence(prior: tuple[float, ...], table: Floats) -> float:
    from pincite.marginalize.logspace import log
    from pincite.marginalize.rag_sequence import sequence_logprob, totals

    return math.exp(float(sequence_logprob(log(prior), totals(table))))


def _token(prior: tuple[float, ...], table: Floats) -> float:
    from pincite.marginalize.logspace import log
    from pincite.marginalize.rag_token import token_logprobs

    return math.exp(float(token_logprobs(log(prior), table).sum()))


def _working(weights: tuple[float, ...] | list[float], *columns: tuple[float, ...], form: str = "g") -> str:
    return " + ".join(
        "·".join([dec(row[0], form), *(dec(p, "g") for p in row[1:])]) for row in zip(weights, *columns, strict=True)
    )


def _given(
    prior: tuple[float, ...],
    first: Mapping[str, tuple[float, ...]],
    second: Mapping[str, Mapping[str, tuple[float, ...]]],
) -> Step:
    values = [Value(f"p(z{z}|x)", p, "given", ".2f") for z, p in enumerate(prior, 1)]
    for token, row in first.items():
        values += [Value(f"p({token}|z{z})", p, "given", ".2f") for z, p in enumerate(row, 1)]
    for token, following in second.items():
        for after, row in following.items():
            values += [Value(f"p({after}|{token}, z{z})", p, "given", ".2f") for z, p in enumerate(row, 1)]
    return Step(
        "The example",
        f"{len(prior)} passages, and answers of two tokens. First comes {' or '.join(first)}, then "
        f"{' or '.join(dict.fromkeys(t for each in second.values() for t in each))}.",
        values=tuple(values),
    )


def _one_token(prior: tuple[float, ...], first: Mapping[str, tuple[float, ...]]) -> Step:
    token, row = next(iter(first.items()))
    a, b = _sequence(prior, _logs(row)), _token(prior, _logs(row))
    return Step(
        "One token: both agree",
        "With one token there is one sum, and nothing to multiply.",
        "Σ over z  p(z|x) · p(y|x,z)",
        (
            Value(f"RAG-Sequence, “{token}”", a, _working(prior, row)),
            Value(f"RAG-Token, “{token}”", b, _working(prior, row)),
            Value("difference", a - b, f"{dec(a)} − {dec(b)}"),
        ),
    )


def _two_tokens(
    prior: tuple[float, ...],
    one: str,
    two: str,
    first: Mapping[str, tuple[float, ...]],
    second: Mapping[str, Mapping[str, tuple[float, ...]]],
) -> Step:
    import numpy as np

    from pincite.marginalize.logspace import log
    from pincite.marginalize.rag_sequence import totals
    from pincite.marginalize.rag_token import token_logprobs

    a, b = first[one], second[one][two]
    table = _logs(a, b)
    whole = [float(p) for p in np.exp(totals(table))]
    sequence, token = _sequence(prior, table), _token(prior, table)
    each = [float(p) for p in np.exp(token_logprobs(log(prior), table))]
    return Step(
        f"Two tokens: “{one} {two}”",
        "RAG-Sequence multiplies first, within each passage, and sums then: one passage explains the whole answer. "
        "RAG-Token sums first, for each token, and multiplies then: each token may come from another passage.",
        "Sequence: Σ over z  p(z|x) · Π over i  p(y(i)|x,z,y(<i))\n"
        "Token: Π over i  Σ over z  p(z|x) · p(y(i)|x,z,y(<i))",
        (
            *(
                Value(f"p({one} {two}|z{z})", p, f"{dec(x, 'g')} × {dec(y, 'g')}")
                for z, (p, x, y) in enumerate(zip(whole, a, b, strict=True), 1)
            ),
            Value(
                "RAG-Sequence",
                sequence,
                " + ".join(f"{dec(p, 'g')}·{dec(q)}" for p, q in zip(prior, whole, strict=True)),
            ),
            Value(f"sum for “{one}”", each[0], _working(prior, a)),
            Value(f"sum for “{two}” after “{one}”", each[1], _working(prior, b)),
            Value("RAG-Token", token, f"{dec(each[0])} × {dec(each[1])}"),
            Value("difference", sequence - token, f"{dec(sequence)} − {dec(token)}"),
        ),
    )


def _why(
    prior: tuple[float, ...],
    one: str,
    two: str,
    first: Mapping[str, tuple[float, ...]],
    second: Mapping[str, Mapping[str, tuple[float, ...]]],
) -> Step:
    import numpy as np

    from pincite.marginalize.logspace import log
    from pincite.marginalize.posterior import running_posterior
    from pincite.marginalize.rag_sequence import conditional_logprobs
    from pincite.marginalize.rag_token import token_logprobs

    a, b = first[one], second[one][two]
    table = _logs(a, b)
    after = [float(p) for p in running_posterior(log(prior), table)[0]]
    sequence = math.exp(float(conditional_logprobs(log(prior), table)[1]))
    token = math.exp(float(token_logprobs(log(prior), table)[1]))
    norm = float(np.dot(prior, a))
    return Step(
        "Why they differ",
        f"After “{one}” RAG-Sequence knows more about the passage: the weights of the second sum are the posterior. "
        "RAG-Token begins each token with the prior anew.",
        "p(z|x,y(1)) = p(z|x) · p(y(1)|x,z) / p(y(1)|x)",
        (
            *(
                Value(f"p(z{z}|x, {one})", p, f"{dec(w, 'g')}·{dec(x, 'g')} / {dec(norm)}")
                for z, (p, w, x) in enumerate(zip(after, prior, a, strict=True), 1)
            ),
            Value(f"p({two}|{one}), RAG-Sequence", sequence, _working(after, b, form=".4f")),
            Value(f"p({two}|{one}), RAG-Token", token, _working(prior, b)),
        ),
    )


def _all_answers(sequence: Mapping[tuple[str, str], float], token: Mapping[tuple[str, str], float]) -> Step:
    values = []
    for answer in sequence:
        values.append(Value(f"{' '.join(answer)}, RAG-Sequence", sequence[answer]))
        values.append(Value(f"{' '.join(answer)}, RAG-Token", token[answer]))
    for name, table in (("RAG-Sequence", sequence), ("RAG-Token", token)):
        values.append(Value(f"sum, {name}", math.fsum(table.values()), total(list(table.values()))))
    gained = max(sequence, key=lambda answer: token[answer] - sequence[answer])
    return Step(
        "Every answer there is",
        "Both are distributions over all answers: each adds up to 1.",
        "Σ over y  p(y|x) = 1",
        tuple(values),
        f"RAG-Token gives most in addition to “{' '.join(gained)}”: {dec(token[gained])} against "
        f"{dec(sequence[gained])}. Tokens of different passages can meet in one answer.",
    )
