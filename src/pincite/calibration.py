"""From evidence to the probability that the passages answer the question, and to the decision to answer.

A logistic regression on standardised evidence, with weights for each kind of generator, fitted on questions of which it
is known whether the documents answer them: see `pincite.evaluation.calibrating` and ``pincite calibrate``. The weights
are a small file of JSON; applying them takes nothing but this module.

What is calibrated is calibrated for questions like those it was fitted on: `Weights.answerable` of `Weights.questions`
could be answered there. Where far more or fewer can, the probabilities are off by as much; fit it anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.errors import ConfigError, StoreError
from pincite.types import Evidence

if TYPE_CHECKING:
    from pincite.protocols import Generator

__all__ = [
    "FEATURES",
    "OF_SEARCH",
    "SEARCH",
    "Calibration",
    "Weights",
    "default_calibration",
    "kind_of",
    "load_calibration",
    "save_calibration",
]

#: Raised when a file of before would be read wrongly.
FORMAT = 1

FEATURES = tuple(each.name for each in fields(Evidence))
#: What is known before anything is written.
OF_SEARCH = ("cosine", "words", "margin", "missing")
#: The kind whose weights are of the search alone: for generators of which no answers were seen.
SEARCH = "search"

#: Of the numbers in a file: within these no logit overflows.
_MOST, _LEAST_SCALE = 1e9, 1e-9

_DEFAULT = "calibration_default.json"


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic regression: the logit is ``intercept + Σ weight · (value - mean) / scale``.

    Of a feature that was not measured (None) its `absent` weight is added in place of the term.
    """

    features: tuple[str, ...]  #: of `pincite.types.Evidence`
    means: tuple[float, ...]
    scales: tuple[float, ...]  #: above 0
    weights: tuple[float, ...]
    absent: tuple[float | None, ...]  #: None: it was measured of every question
    intercept: float
    least: float  #: the probability below which a question is refused, chosen on the same questions; 0: none is
    questions: int = 0  #: that it was fitted on
    answerable: int = 0  #: of them, those that the documents answer
    measured: Mapping[str, float] = field(default_factory=dict)  #: by cross-validation, by name

    def terms(self, evidence: Evidence) -> dict[str, float | None]:
        """What each feature adds to the logit; None for one that is lacking here and never was before."""
        found: dict[str, float | None] = {}
        for i, name in enumerate(self.features):
            value = getattr(evidence, name)
            standard = None if value is None else (value - self.means[i]) / self.scales[i]
            found[name] = self.absent[i] if standard is None else self.weights[i] * standard
        return found

    def probability(self, evidence: Evidence) -> float | None:
        """That the passages answer the question, in [0, 1]; None for evidence of another kind than it was fitted on.

        That is where something was not measured that always was then: a question that the encoder does not read.
        """
        terms = self.terms(evidence)
        known = [each for each in terms.values() if each is not None]
        if len(known) < len(terms):
            return None
        logit = self.intercept + math.fsum(known)
        if logit >= 0:
            return 1.0 / (1.0 + math.exp(-min(logit, 700.0)))
        return math.exp(max(logit, -700.0)) / (1.0 + math.exp(max(logit, -700.0)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights by kind of generator, and where they are from."""

    kinds: Mapping[str, Weights]
    encoder: str = ""  #: its name: similarities of another are other numbers; empty: of any
    about: Mapping[str, str] = field(default_factory=dict)  #: on what it was fitted, when, with which version

    def weights(self, kind: str) -> Weights | None:
        """Of this kind, else those of the search alone; None where there are neither."""
        return self.kinds.get(kind) or self.kinds.get(SEARCH)


def kind_of(generator: Generator) -> str:
    """``extractive``, ``marginal`` (passages weighed), ``endpoint`` (writes its own citations) or ``local``."""
    if generator.cites:
        return "endpoint"
    if generator.name == "extractive":
        return "extractive"
    return "marginal" if ", RAG-" in generator.name else "local"


def default_calibration() -> Calibration:
    """The one that is shipped: see docs/decisions/0020-abstention.md for what it was fitted on."""
    return _calibration(json.loads(files("pincite").joinpath(_DEFAULT).read_text(encoding="utf-8")), _DEFAULT)


def load_calibration(file: Path) -> Calibration:
    """The one in `file`. Raises ConfigError for a file that is not there or is no calibration."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the calibration {file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the calibration {file} is not JSON: {error}") from None
    return _calibration(data, str(file))


def save_calibration(calibration: Calibration, file: Path) -> None:
    """Write it, whole or not at all. Raises StoreError where that cannot be done."""
    data = {"format": FORMAT, **asdict(calibration)}
    beside = file.with_name(f".{file.name}.new")
    try:
        beside.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        beside.replace(file)
    except OSError as error:
        raise StoreError(f"the calibration cannot be written to {file}: {error.strerror}") from error


def _calibration(data: Any, where: str) -> Calibration:
    def wrong(what: str) -> ConfigError:
        return ConfigError(f"{where} is no calibration: {what}; `pincite calibrate` makes one")

    if not isinstance(data, dict) or not isinstance(data.get("kinds"), dict):
        raise wrong("it should be an object with kinds")
    if data.get("format") != FORMAT:
        raise wrong(f"its format is {data.get('format')!r}, this version reads {FORMAT}")
    kinds: dict[str, Weights] = {}
    for kind, given in data["kinds"].items():
        try:
            features = tuple(given["features"])
            columns = {name: _numbers(given[name]) for name in ("means", "scales", "weights")}
            absent = tuple(None if each is None else _numbers([each])[0] for each in given["absent"])
            intercept, least = _numbers([given["intercept"], given["least"]])
            told = given.get("measured", {})
            kinds[kind] = Weights(
                features,
                **columns,
                absent=absent,
                intercept=intercept,
                least=least,
                questions=int(given.get("questions", 0)),
                answerable=int(given.get("answerable", 0)),
                measured=dict(zip(told, _numbers(told.values()), strict=True)),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise wrong(f"{kind}: {error}") from None
        if unknown := [name for name in features if name not in FEATURES]:
            raise wrong(f"{kind}: there is no evidence named {unknown[0]!r}")
        if any(len(column) != len(features) for column in (absent, *columns.values())):
            raise wrong(f"{kind}: a number is missing for one of {', '.join(features)}")
        if min(columns["scales"], default=1.0) < _LEAST_SCALE or not 0 <= least <= 1:
            raise wrong(f"{kind}: scales should be above 0, and least from 0 to 1")
    about = data.get("about", {})
    if not isinstance(about, dict):
        raise wrong("about should be an object")
    return Calibration(kinds, str(data.get("encoder", "")), {str(name): str(value) for name, value in about.items()})


def _numbers(values: Any) -> tuple[float, ...]:
    found = tuple(values)
    for each in found:
        if isinstance(each, bool) or not isinstance(each, int | float) or not abs(each) <= _MOST:
            raise ValueError(f"{each!r} should be a number")
    return tuple(float(each) for each in found)
