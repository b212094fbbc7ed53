from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.calibration import FEATURES, OF_SEARCH
from pincite.errors import InputError
from pincite.evaluation.calibrating import (
    CrossValidated,
    Labelled,
    auc,
    bins,
    calibration_error,
    check_rows,
    choose_least,
    cross_validate,
    fit,
    least_harm,
    measure,
    with_measures,
)
from pincite.evaluation.reliability import reliability_page, reliability_svg
from pincite.types import Evidence


def drawn(count: int, seed: int = 0, strength: float = 2.0) -> list[Labelled]:
    """Questions whose answerability is logistic in the cosine: logit = strength · (cosine - 0.5) / 0.2."""
    generator = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        cosine = float(generator.normal(0.5, 0.2))
        p = 1 / (1 + math.exp(-strength * (cosine - 0.5) / 0.2))
        rows.append(Labelled(str(i), bool(generator.random() < p), Evidence(cosine, words=float(generator.random()))))
    return rows


def test_the_fit_finds_what_the_data_were_drawn_from() -> None:
    rows = drawn(4000)
    weights = fit(rows, OF_SEARCH, ridge=1e-3)
    assert weights.features == ("cosine", "words")  # the others never vary
    at = weights.features.index("cosine")
    assert weights.weights[at] * 0.2 / weights.scales[at] == pytest.approx(2.0, abs=0.2)
    assert abs(weights.weights[1]) < 0.15
    p = weights.probability(Evidence(0.5, words=0.5))
    assert p == pytest.approx(0.5, abs=0.05)
    assert weights.absent == (None, None)


def test_the_gradient_is_zero_at_the_fit() -> None:
    rows = drawn(200)
    weights = fit(rows, ("cosine",), ridge=1.0)
    rest = [float(row.answerable) - (weights.probability(row.evidence) or 0.0) for row in rows]
    assert sum(rest) == pytest.approx(0.0, abs=1e-3)
    standard = [((row.evidence.cosine or 0.0) - weights.means[0]) / weights.scales[0] for row in rows]
    assert sum(r * s for r, s in zip(rest, standard, strict=True)) == pytest.approx(weights.weights[0], abs=1e-2)


def test_what_was_not_measured_gets_a_weight_of_its_own() -> None:
    rows = drawn(100)
    rows += [Labelled(f"n{i}", False, Evidence(None, words=0.5)) for i in range(40)]
    weights = fit(rows, ("cosine", "words"))
    assert weights.absent[0] is not None
    assert weights.absent[0] < -1.0
    p = weights.probability(Evidence(None, words=0.5))
    assert p is not None
    assert p < 0.2


def test_separated_questions_do_not_run_away() -> None:
    rows = [Labelled(str(i), i >= 30, Evidence(i / 60)) for i in range(60)]
    weights = fit(rows, FEATURES)
    assert all(math.isfinite(each) for each in weights.weights)
    assert (weights.probability(Evidence(1.0)) or 0) > 0.9


def test_nothing_is_told_of_a_question_that_was_fitted_on() -> None:
    # Labels without any rule: who had seen them would do better than chance.
    generator = np.random.default_rng(1)
    rows = [
        Labelled(str(i), bool(generator.random() < 0.5), Evidence(float(generator.random()), float(generator.random())))
        for i in range(400)
    ]
    held = cross_validate(rows, OF_SEARCH)
    found = auc(np.array(held.probabilities), np.array([row.answerable for row in rows]))
    assert abs(found - 0.5) < 0.08


def test_rows_of_one_question_are_held_out_together() -> None:
    # Each question is asked twice, with a mark of its own: held out apart, the other row would give it away.
    generator = np.random.default_rng(2)
    rows = []
    for i in range(60):
        answerable = bool(generator.random() < 0.5)
        rows += [Labelled(str(i), answerable, Evidence(i / 60 + (0.001 if answerable else 0.0))) for _ in range(2)]
    held = cross_validate(rows, ("cosine",), folds=3)
    assert all(held.probabilities[i] == held.probabilities[i + 1] for i in range(0, len(rows), 2))


def test_cross_validation_is_the_same_again_and_says_what_it_cannot_do() -> None:
    rows = drawn(80)
    assert cross_validate(rows, OF_SEARCH, seed=3) == cross_validate(rows, OF_SEARCH, seed=3)
    with pytest.raises(InputError, match="at least 2 folds"):
        cross_validate(rows, OF_SEARCH, folds=1)
    with pytest.raises(InputError, match="folds need as many questions"):
        cross_validate(rows[:6], OF_SEARCH, folds=5)


def test_measures_of_a_known_case() -> None:
    p = np.array([0.1, 0.4, 0.6, 0.9])
    y = np.array([0.0, 1.0, 0.0, 1.0])
    assert auc(p, y) == 0.75
    assert auc(np.array([0.5, 0.5]), np.array([0.0, 1.0])) == 0.5
    assert math.isnan(auc(p, np.ones(4)))
    assert [each.size for each in bins(p, y, 2)] == [2, 2]
    assert calibration_error(np.array([0.75] * 4), np.array([1.0, 1.0, 1.0, 0.0])) == pytest.approx(0.5, abs=0.2)
    assert sum(each.size * each.share for each in bins(p, y, 3)) == pytest.approx(y.sum())


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_bins_hold_every_row_once_and_are_alike_in_size(pairs: list[tuple[float, bool]]) -> None:
    p, y = np.array([a for a, _ in pairs]), np.array([float(b) for _, b in pairs])
    made = bins(p, y)
    assert sum(each.size for each in made) == len(pairs)
    assert max(each.size for each in made) - min(each.size for each in made) <= 1
    assert [each.mean for each in made] == sorted(each.mean for each in made) or len(set(p)) < len(p)
    assert 0.0 <= calibration_error(p, y) <= 1.0


def test_refusals_are_counted_with_those_that_are_refused_anyhow() -> None:
    rows = [
        Labelled("a", True, Evidence()),
        Labelled("b", True, Evidence(), refused=True),
        Labelled("c", False, Evidence()),
        Labelled("d", False, Evidence(), refused=True),
    ]
    found = measure(rows, CrossValidated((0.9, 0.5, 0.2, 0.5), (False, True, True, True)), draws=50)
    assert (found.precision.value, found.recall.value, found.false_refusals.value) == (pytest.approx(2 / 3), 1.0, 0.5)
    assert (found.questions, found.answerable, found.weighed) == (4, 2, 2)
    assert found.brier.value == pytest.approx((0.01 + 0.04) / 2)
    assert found.precision.low <= found.precision.value <= found.precision.high


def test_thresholds() -> None:
    rows = [Labelled(str(i), i >= 50, Evidence()) for i in range(100)]
    p = [i / 100 for i in range(100)]
    assert choose_least(rows, p) == 0.5
    assert choose_least(rows, p, beta=1.0) == 0.5
    assert least_harm(rows, p, share=0.02) == 0.51
    refused = [r for r in rows if r.answerable]
    assert least_harm([Labelled(r.question, True, r.evidence, refused=True) for r in refused], p[50:]) == 0.0
    # One half of the answerable below everything else: precision counts for more than recall.
    hard = [Labelled(str(i), i < 30 or i >= 60, Evidence()) for i in range(100)]
    assert choose_least(hard, p) <= choose_least(hard, p, beta=2.0)


def test_too_few_questions_or_one_class_is_said() -> None:
    with pytest.raises(InputError, match="0 of the questions cannot be answered"):
        check_rows([Labelled(str(i), True, Evidence()) for i in range(50)])
    with pytest.raises(InputError, match="at least 20 that can and 20 that cannot"):
        check_rows(drawn(20))
    check_rows(drawn(200))
    with pytest.raises(InputError, match="others that cannot"):
        fit([Labelled("a", True, Evidence(0.1))], FEATURES)


def test_the_plot_is_whole_and_escaped() -> None:
    rows = drawn(100)
    found = measure(rows, cross_validate(rows, OF_SEARCH), draws=20)
    svg = reliability_svg(found, "<set>")
    assert svg.startswith("<svg ")
    assert svg.count("<circle") == len(found.bins) == 10
    assert "&lt;set&gt;" in svg
    page = reliability_page({"a": found, "b": found}, "t", ["x < y"])
    assert page.count("<svg ") == 2
    assert "x &lt; y" in page
    assert with_measures(fit(rows, OF_SEARCH), found).measured["auc"] == round(found.auc.value, 4)
