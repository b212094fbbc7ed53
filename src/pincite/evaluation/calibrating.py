"""Fitting a calibration on labelled questions, and saying by cross-validation what it is worth.

Nothing is reported of a question that it was fitted on: probabilities are those of the fold that left the question out,
and so are the thresholds that refusals are counted by. Rows of one question are always in one fold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from pincite.calibration import Weights
from pincite.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.types import Evidence

    Array: TypeAlias = NDArray[np.float64]

__all__ = [
    "BINS",
    "HARM",
    "LEAST_QUESTIONS",
    "Bin",
    "CrossValidated",
    "Interval",
    "Labelled",
    "Measured",
    "auc",
    "bins",
    "calibration_error",
    "check_counts",
    "check_rows",
    "choose_least",
    "cross_validate",
    "fit",
    "least_harm",
    "measure",
    "with_measures",
]

BINS = 10
#: Of each class. With fewer, every figure is a guess.
LEAST_QUESTIONS = 20
#: Strength of the penalty on standardised weights, as so many observations of no effect.
RIDGE = 1.0
_DRAWS = 2000
#: The share of the answerable questions that may be refused for their search alone.
HARM = 0.02


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question with what was measured of it."""

    question: str  #: its id; rows of one question are held out together
    answerable: bool  #: the documents answer it
    evidence: Evidence
    refused: bool = False  #: whatever the probability: nothing was found, or nothing that was written is supported


class Interval(NamedTuple):
    """A measure with its 95 % bootstrap interval over questions."""

    value: float
    low: float
    high: float


class Bin(NamedTuple):
    """Questions of like probability."""

    mean: float  #: of the probabilities
    share: float  #: that could be answered
    size: int  #: rows


@dataclass(frozen=True, slots=True)
class Measured:
    """What a calibration is worth on questions that it was not fitted on."""

    questions: int  #: rows
    answerable: int
    weighed: int  #: rows whose probability decided
    brier: Interval
    calibration_error: float  #: expected, over `BINS` bins of equal size
    chance_error: float  #: the mean of the same where every probability is right, of as many questions
    auc: Interval
    precision: Interval  #: of refusals: the share of the refused that could not be answered
    recall: Interval  #: the share of what could not be answered that was refused
    f1: Interval
    false_refusals: Interval  #: the share of what could be answered that was refused
    bins: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class CrossValidated:
    """Every row under the weights of the folds that left it out."""

    probabilities: tuple[float, ...]
    refused: tuple[bool, ...]  #: by the threshold of those folds, or whatever the probability


def check_rows(rows: Sequence[Labelled]) -> None:
    """Raises InputError where there are too few questions of either class to fit anything."""
    can = len({row.question for row in rows if row.answerable})
    check_counts(can, len({row.question for row in rows if not row.answerable}))


def check_counts(can: int, cannot: int) -> None:
    """The same, by the numbers of questions that can and that cannot be answered."""
    for count, name in ((can, "can"), (cannot, "cannot")):
        if count < LEAST_QUESTIONS:
            raise InputError(
                f"{count} of the questions {name} be answered from the documents; a calibration needs at least "
                f"{LEAST_QUESTIONS} that can and {LEAST_QUESTIONS} that cannot"
            )


def fit(rows: Sequence[Labelled], features: Sequence[str], *, ridge: float = RIDGE) -> Weights:
    """The logistic regression of `answerable` on `features`, by Newton's method; `Weights.least` is left at 0.

    Features are standardised over the rows where they were measured; where one was not, a weight of its own takes its
    place. One that never varies is left out. The penalty is ``ridge / 2`` times the sum of squared weights, the
    intercept's aside.
    """
    labels = np.array([row.answerable for row in rows], dtype=float)
    if len(set(labels)) < 2:
        raise InputError("a calibration needs questions that can be answered and others that cannot")
    features = [name for name in features if len({getattr(row.evidence, name) for row in rows} - {None}) > 1]
    values = np.array([[_number(getattr(row.evidence, name)) for name in features] for row in rows])
    absent = np.isnan(values).reshape(len(rows), len(features))
    values = values.reshape(absent.shape)
    means, scales = np.zeros(len(features)), np.ones(len(features))
    for j in range(len(features)):
        known = values[~absent[:, j], j]
        means[j] = known.mean() if len(known) else 0.0
        scales[j] = known.std() if len(known) and known.std() > 1e-9 else 1.0
    standard = np.where(absent, 0.0, (values - means) / scales)
    solved = _newton(np.hstack([np.ones((len(rows), 1)), standard, absent.astype(float)]), labels, ridge)
    split = 1 + len(features)
    return Weights(
        features=tuple(features),
        means=_rounded(means),
        scales=_rounded(scales),
        weights=_rounded(solved[1:split]),
        absent=tuple(round(float(solved[split + j]), 6) if absent[:, j].any() else None for j in range(len(features))),
        intercept=round(float(solved[0]), 6),
        least=0.0,
        questions=len({row.question for row in rows}),
        answerable=len({row.question for row in rows if row.answerable}),
    )


def _newton(design: Array, labels: Array, ridge: float) -> Array:
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = 1e-6  # the intercept is as free as can be
    weights = np.zeros(design.shape[1])
    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (p - labels) + penalty * weights
        curvature = (design * (p * (1 - p) + 1e-9)[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        # A step of Newton's that is far too long would only go back and forth.
        weights = weights - step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-8:
            break
    return weights


def choose_least(rows: Sequence[Labelled], probabilities: Sequence[float], beta: float = 0.5) -> float:
    """The threshold that gives refusals the best F-measure over `rows`; of several the lowest, which refuses least.

    With a `beta` of one half their precision weighs twice as much as their recall: an answer that is withheld is worse
    than one too many, which carries its proof. A row is refused where its probability is below the threshold, or where
    it is refused anyhow. In hundredths, so that nothing hangs on a single question's last digit.
    Source: van Rijsbergen 1979, chapter 7.
    """
    labels = np.array([row.answerable for row in rows])
    anyhow, p = np.array([row.refused for row in rows]), np.array(probabilities)
    best, least = -1.0, 0.0
    for hundredths in range(100):
        precision, recall, _ = _refusal(anyhow | (p < hundredths / 100), labels)
        if not precision > 0:  # also where it is not a number
            continue
        score = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
        if score > best + 1e-9:
            best, least = score, hundredths / 100
    return least


def least_harm(rows: Sequence[Labelled], probabilities: Sequence[float], share: float = HARM) -> float:
    """The highest threshold, in hundredths, at which at most this `share` of the answerable rows is refused.

    Rows that are refused anyhow count; where they are more already, nothing else is refused: 0.
    """
    answerable = [(0.0 if row.refused else p) for row, p in zip(rows, probabilities, strict=True) if row.answerable]
    most = int(share * len(answerable))
    if most >= len(answerable):
        return 1.0
    return math.floor(100 * sorted(answerable)[most]) / 100


def cross_validate(
    rows: Sequence[Labelled],
    features: Sequence[str],
    *,
    folds: int = 5,
    seed: int = 0,
    rule: Callable[[Sequence[Labelled], Sequence[float]], float] = choose_least,
) -> CrossValidated:
    """Probabilities and refusals of every row, from fits on the other folds.

    The threshold of a fold is chosen by `rule` on the others as well, on probabilities that are cross-validated among
    them. Questions are dealt to the folds by the seed, each class evenly. Raises InputError for
    fewer than two folds, or more than there are questions of a class.
    """
    probabilities, refused = [0.0] * len(rows), [False] * len(rows)
    for held in _folds(rows, folds, seed):
        inside = set(held)
        train = [row for i, row in enumerate(rows) if i not in inside]
        weights = fit(train, features)
        inner = [0.0] * len(train)
        for part in _folds(train, folds, seed + 1):
            out = set(part)
            again = fit([row for i, row in enumerate(train) if i not in out], features)
            for i in part:
                inner[i] = _probability(again, train[i])
        threshold = rule(train, inner)
        for i in held:
            probabilities[i] = _probability(weights, rows[i])
            refused[i] = rows[i].refused or probabilities[i] < threshold
    return CrossValidated(tuple(probabilities), tuple(refused))


def _probability(weights: Weights, row: Labelled) -> float:
    """Of a row whose evidence is unlike all that the fold was fitted on: the share that could be answered there."""
    found = weights.probability(row.evidence)
    return weights.answerable / weights.questions if found is None else found


def _folds(rows: Sequence[Labelled], folds: int, seed: int) -> list[list[int]]:
    if folds < 2:
        raise InputError(f"there must be at least 2 folds, got {folds}")
    generator = np.random.default_rng(seed)
    place: dict[str, int] = {}
    for answerable in (True, False):
        names = sorted({row.question for row in rows if row.answerable is answerable})
        if len(names) < folds:
            raise InputError(f"{folds} folds need as many questions of each class, there are {len(names)} of one")
        for i, j in enumerate(generator.permutation(len(names))):
            place[names[j]] = i % folds
    return [[i for i, row in enumerate(rows) if place[row.question] == fold] for fold in range(folds)]


# Measures


def measure(rows: Sequence[Labelled], found: CrossValidated, *, seed: int = 0, draws: int = _DRAWS) -> Measured:
    """Every measure with its interval: questions are drawn with replacement, `draws` times.

    Brier score, calibration error and AUC are over the rows that were weighed, refusals over all of them.
    """
    labels = np.array([row.answerable for row in rows], dtype=bool)
    p, refused = np.array(found.probabilities), np.array(found.refused, dtype=bool)
    weighed = ~np.array([row.refused for row in rows], dtype=bool)
    names = sorted({row.question for row in rows})
    members = [np.array([i for i, row in enumerate(rows) if row.question == name]) for name in names]
    generator = np.random.default_rng(seed)
    samples = [
        np.concatenate([members[j] for j in generator.integers(0, len(names), len(names))]) for _ in range(draws)
    ]

    def interval(of: Callable[[NDArray[np.intp]], float]) -> Interval:
        drawn = np.array([of(sample) for sample in samples])
        drawn = drawn[~np.isnan(drawn)]
        low, high = np.percentile(drawn, [2.5, 97.5]) if len(drawn) else (np.nan, np.nan)
        return Interval(of(np.arange(len(rows))), float(low), float(high))

    def among(of: Callable[[Array, Array], float]) -> Interval:
        def one(sample: NDArray[np.intp]) -> float:
            kept = sample[weighed[sample]]
            return of(p[kept], labels[kept]) if len(kept) else float("nan")

        return interval(one)

    return Measured(
        questions=len(rows),
        answerable=int(labels.sum()),
        weighed=int(weighed.sum()),
        brier=among(lambda p, y: float(((p - y) ** 2).mean())),
        calibration_error=calibration_error(p[weighed], labels[weighed]),
        chance_error=_chance_error(p[weighed], generator),
        auc=among(auc),
        precision=interval(lambda s: _refusal(refused[s], labels[s])[0]),
        recall=interval(lambda s: _refusal(refused[s], labels[s])[1]),
        f1=interval(lambda s: _refusal(refused[s], labels[s])[2]),
        false_refusals=interval(lambda s: float(refused[s][labels[s]].mean()) if labels[s].any() else float("nan")),
        bins=tuple(bins(p[weighed], labels[weighed])),
    )


def with_measures(weights: Weights, measured: Measured) -> Weights:
    """The weights with what was measured of them, as it is kept in the file."""
    names = ("brier", "calibration_error", "auc", "precision", "recall", "f1", "false_refusals")
    values = {name: getattr(measured, name) for name in names}
    told = {name: each if isinstance(each, float) else each.value for name, each in values.items()}
    return replace(weights, measured={name: round(each, 4) for name, each in told.items() if math.isfinite(each)})


def _chance_error(probabilities: Array, generator: np.random.Generator, draws: int = 200) -> float:
    """What `calibration_error` comes to by chance alone: labels are drawn by the probabilities."""
    size = len(probabilities)
    drawn = ((generator.random(size) < probabilities).astype(float) for _ in range(draws))
    return float(np.mean([calibration_error(probabilities, labels) for labels in drawn]))


def bins(probabilities: Array, labels: Array, count: int = BINS) -> list[Bin]:
    """Bins of as many rows each as can be, by probability; fewer where there are fewer rows."""
    order = np.argsort(probabilities, kind="stable")
    parts = [part for part in np.array_split(order, count) if len(part)]
    return [Bin(float(probabilities[part].mean()), float(labels[part].mean()), len(part)) for part in parts]


def calibration_error(probabilities: Array, labels: Array) -> float:
    """Expected calibration error: mean distance of probability and share over bins of equal size, by their size.

    Source: Naeini, Cooper and Hauskrecht 2015 (the measure); Nguyen and O'Connor 2015 (bins of equal size).
    """
    return sum(each.size * abs(each.mean - each.share) for each in bins(probabilities, labels)) / len(labels)


def auc(probabilities: Array, labels: Array) -> float:
    """That one that can be answered has the higher probability of two, ties counting half; NaN with one class alone.

    Source: Mann and Whitney 1947.
    """
    answerable = labels.astype(bool)
    positive, negative = int(answerable.sum()), int((~answerable).sum())
    if not positive or not negative:
        return float("nan")
    _, inverse, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    return float((ranks[answerable].sum() - positive * (positive + 1) / 2.0) / (positive * negative))


def _refusal(refused: NDArray[np.bool_], labels: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Precision, recall and F1 of refusing. Without a refusal precision is NaN; F1 is then 0."""
    right = float((refused & ~labels).sum())
    precision = right / float(refused.sum()) if refused.any() else float("nan")
    recall = right / float((~labels).sum()) if (~labels).any() else float("nan")
    total = float(refused.sum()) + float((~labels).sum())
    return precision, recall, 2 * right / total if total else float("nan")


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _rounded(values: Array) -> tuple[float, ...]:
    return tuple(round(float(value), 6) for value in values)
