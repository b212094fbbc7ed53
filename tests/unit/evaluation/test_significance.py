"""Tests and intervals against enumeration and by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import InputError
from pincite.evaluation import significance
from pincite.evaluation.significance import (
    EXACT_UP_TO,
    bootstrap_interval,
    bootstrap_intervals,
    holm,
    randomization_test,
)

FEW = st.lists(st.sampled_from([-0.5, -0.25, -0.1, 0.0, 0.1, 0.3, 0.7]), min_size=1, max_size=8)


@given(FEW)
def test_few_differences_are_enumerated(differences: list[float]) -> None:
    """Every sign of every difference, zeros as well, in plain Python."""
    observed = abs(sum(differences))
    totals = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(total >= observed - 1e-9 for total in totals) / len(totals)
    assert randomization_test(differences) == pytest.approx(expected)


def test_by_hand() -> None:
    # Of the 8 sign patterns of three equal differences two are as extreme: all up and all down.
    assert randomization_test([0.2, 0.2, 0.2]) == 0.25
    # 0.1 + 0.2 - 0.3 is 0 but for the last bit: every pattern reaches it.
    assert randomization_test([0.1, 0.2, -0.3]) == 1.0
    assert randomization_test([]) == 1.0
    assert randomization_test([0.0] * 50) == 1.0
    # Zeros change nothing: both signs of them are one.
    assert randomization_test([0.2] * 5 + [0.0] * 500) == 2 / 2**5


def test_many_differences_are_drawn_and_agree_with_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = [0.3, 0.2, -0.1, 0.25, 0.05, -0.2, 0.4, 0.1, -0.05, 0.15, 0.3, -0.35]
    assert len(differences) == EXACT_UP_TO
    exact = randomization_test(differences)
    monkeypatch.setattr(significance, "EXACT_UP_TO", 0)
    drawn = randomization_test(differences, permutations=20_000, seed=1)
    # Three standard errors of a share of 20,000.
    assert drawn == pytest.approx(exact, abs=3 * (exact * (1 - exact) / 20_000) ** 0.5)
    assert drawn == randomization_test(differences, permutations=20_000, seed=1)
    assert drawn != randomization_test(differences, permutations=20_000, seed=2)


def test_a_drawn_p_value_is_never_zero() -> None:
    assert randomization_test([1.0] * 100, permutations=999) == 1 / 1000


def test_it_is_two_sided_and_blind_to_scale() -> None:
    values = np.random.default_rng(0).normal(0.1, 1, 60)
    p = randomization_test(values)
    assert randomization_test(-values) == p
    assert randomization_test(values * 1e-6) == p


def test_no_difference_gives_uniform_p_values() -> None:
    """Under the null a test at 5 % rejects about one time in twenty."""
    generator = np.random.default_rng(7)
    rejected = sum(randomization_test(generator.normal(0, 1, 30), permutations=500) <= 0.05 for _ in range(400))
    assert 8 <= rejected <= 34


def test_memory_does_not_grow_with_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(0.1, 1, 40)
    whole = randomization_test(values), bootstrap_interval(values, draws=2000)
    monkeypatch.setattr(significance, "_BATCH", 400)
    parts = randomization_test(values), bootstrap_interval(values, draws=2000)
    assert parts[0] == pytest.approx(whole[0], abs=0.02)
    assert parts[1] == pytest.approx(whole[1], abs=0.02)
    assert significance._batches(25, 40) == [10, 10, 5]
    assert significance._batches(3, 10**9) == [1, 1, 1]


def test_holm_by_hand() -> None:
    # Sorted .005 ×4 = .02, .01 ×3 = .03, .03 ×2 = .06, .04 ×1 = .04, but not below .06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []
    # The classic example: of .01, .02, .03, .04 at 5 % only the first is left.
    assert [p < 0.05 for p in holm([0.01, 0.02, 0.03, 0.04])] == [True, False, False, False]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_only_raises_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(p <= after <= 1 for p, after in zip(p_values, corrected, strict=True))
    assert all(after <= min(1, len(p_values) * p) for p, after in zip(p_values, corrected, strict=True))
    ranked = [after for _, after in sorted(zip(p_values, corrected, strict=True))]
    assert ranked == sorted(ranked)


def test_holm_refuses_what_is_no_p_value() -> None:
    for bad in ([1.5], [-0.1], [float("nan")]):
        with pytest.raises(InputError):
            holm(bad)


def test_the_interval_of_a_mean() -> None:
    values = np.random.default_rng(3).normal(0.5, 0.2, 400)
    low, high = bootstrap_interval(values)
    error = values.std() / 400**0.5
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.1 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.1 * error)
    assert bootstrap_interval(values) == (low, high)
    narrow = bootstrap_interval(values, level=0.5)
    assert low < narrow[0] < values.mean() < narrow[1] < high


def test_intervals_of_several_columns_are_of_the_same_draws() -> None:
    values = np.random.default_rng(3).random((50, 3))
    values[:, 2] = values[:, 0] + 1
    found = bootstrap_intervals(values, draws=3000, seed=4)
    assert found[0] == pytest.approx(bootstrap_interval(values[:, 0], draws=3000, seed=4))
    assert found[1] == pytest.approx(bootstrap_interval(values[:, 1], draws=3000, seed=4))
    assert found[2] == pytest.approx([each + 1 for each in found[0]])
    # By the definition, in plain Python, with other draws.
    import random

    source = random.Random(1)
    column = values[:, 0].tolist()
    means = sorted(sum(source.choices(column, k=50)) / 50 for _ in range(3000))
    assert found[0] == pytest.approx((means[75], means[2925]), abs=0.01)


def test_intervals_at_the_edges() -> None:
    assert bootstrap_interval([0.3]) == (0.3, 0.3)
    assert bootstrap_interval([1.0] * 20) == (1.0, 1.0)
    for values in ([], [float("nan")], [float("inf"), 1.0]):
        with pytest.raises(InputError):
            bootstrap_interval(values)
    with pytest.raises(InputError):
        bootstrap_interval([1.0], level=1.0)
    with pytest.raises(InputError):
        randomization_test([float("nan")] * 20)
