"""The probability of an answer as passages are added."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pincite.errors import InputError
from pincite.marginalize.dilution import dilution, mean_by_k, preferred_k
from pincite.marginalize.prior import log_prior


def test_a_passage_that_says_less_than_those_before_it_lowers_the_answer() -> None:
    found = dilution(np.log([0.5, 0.3, 0.2]), np.log([0.4, 0.9, 0.1]))
    assert found.probabilities == pytest.approx((0.4, (0.2 + 0.27) / 0.8, 0.2 + 0.27 + 0.02))
    assert found.first_harmful == 2
    assert found.best_k == 2


def test_scores_and_the_prior_of_all_are_the_same() -> None:
    scores, reader = np.array([2.7, 1.9, 0.4]), np.log([0.9, 0.35, 0.1])
    found = dilution(scores, reader)
    assert found.by_k == pytest.approx(dilution(log_prior(scores), reader).by_k)
    assert found.probabilities[-1] == pytest.approx(0.6888, abs=5e-5)
    assert (found.first_harmful, found.best_k) == (1, 1)


def test_a_passage_that_says_the_same_or_has_no_prior_harms_nothing() -> None:
    assert dilution([0.0, 0.0, 0.0], np.log([0.3, 0.3, 0.3])).first_harmful is None
    found = dilution([1.0, -math.inf, 1.0], np.log([0.3, 1e-9, 0.5]))
    assert found.probabilities == pytest.approx((0.3, 0.3, 0.4))
    assert (found.first_harmful, found.best_k) == (None, 3)
    late = dilution([-math.inf, 1.0], np.log([0.9, 0.5]))
    assert late.by_k == pytest.approx((-math.inf, math.log(0.5)))


def test_the_k_that_questions_prefer() -> None:
    rising, falling = dilution([0.0] * 3, np.log([0.1, 0.2, 0.9])), dilution([0.0] * 3, np.log([0.5, 0.49, 0.48]))
    assert preferred_k([rising]) == 3
    assert preferred_k([falling]) == 1
    assert preferred_k([rising, falling]) == 3
    assert mean_by_k([rising, falling])[0] == pytest.approx((math.log(0.1) + math.log(0.5)) / 2)
    # A question with fewer passages keeps what it has.
    assert preferred_k([dilution([0.0], np.log([0.5])), rising]) == 3
    assert preferred_k([dilution([0.0, 0.0], np.log([0.5, 0.5]))]) == 1


def test_a_question_that_one_passage_cannot_answer_does_not_hide_the_others() -> None:
    second = dilution([0.0, 0.0, 0.0], [-math.inf, math.log(0.5), -math.inf])
    assert second.by_k == pytest.approx((-math.inf, math.log(0.25), math.log(0.5 / 3)))
    assert preferred_k([second]) == 2
    never = dilution([0.0, 0.0, 0.0], [-math.inf] * 3)
    assert preferred_k([never]) == 1
    assert preferred_k([never, second]) == 2
    assert mean_by_k([never, second])[1] == -math.inf


def test_what_has_no_dilution() -> None:
    with pytest.raises(InputError, match="one for each"):
        dilution([0.0, 1.0], [-1.0])
    with pytest.raises(InputError, match="NaN"):
        dilution([0.0], [math.nan])
    with pytest.raises(InputError, match="no questions"):
        preferred_k([])
