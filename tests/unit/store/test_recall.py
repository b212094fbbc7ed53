"""Recall is counted, not believed."""

from __future__ import annotations

import numpy as np
import pytest

from pincite.store import recall
from pincite.types import Hit


def hits(text: str, scores: list[float] | None = None) -> list[Hit]:
    return Hit.ranked(list(text), scores or [1 - n / 100 for n in range(len(text))], "dense")


@pytest.mark.parametrize(
    ("found", "wanted", "share"),
    [
        ("abcd", "abcd", 1),
        ("dcba", "abcd", 1),
        ("abxy", "abcd", 0.5),
        ("xyzw", "abcd", 0),
        ("", "abcd", 0),
        ("", "", 1),
    ],
)
def test_the_share_of_the_exact_result(found: str, wanted: str, share: float) -> None:
    scores = {name: 0.9 - ord(name) / 1000 for name in "abcdwxyz"}
    result = hits(found, [scores[name] for name in found])
    assert recall.found_share(result, hits(wanted, [scores[name] for name in wanted])) == share


def test_a_tie_with_the_last_is_as_good_and_nothing_counts_twice() -> None:
    wanted = hits("abc", [0.9, 0.5, 0.5])
    assert recall.found_share(hits("abx", [0.9, 0.5, 0.5]), wanted) == 1
    assert recall.found_share(hits("abx", [0.9, 0.5, 0.49]), wanted) == pytest.approx(2 / 3)
    assert recall.found_share(hits("aaa", [0.9, 0.9, 0.9]), wanted) == pytest.approx(1 / 3)
    assert recall.found_share(hits("bcxy", [0.5] * 4), hits("a", [0.5])) == 1


def test_wilsons_interval() -> None:
    """The values of Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    for found, trials, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        assert recall.wilson(found / trials, trials) == pytest.approx((low, high), abs=5e-5)
    assert recall.wilson(1.0, 200) == (pytest.approx(0.98116, abs=1e-4), 1.0)
    assert recall.wilson(1.0, 0) == (0.0, 1.0)


def test_queries_are_half_way_and_none_is_a_stored_vector() -> None:
    first = np.eye(4, dtype=np.float32)
    second = np.array([[0, 1, 0, 0], [0, -1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]], np.float32)
    made = recall.halfway(first, second)
    # Opposite and empty rows are left out; a row with itself is the row.
    np.testing.assert_allclose(made, [[0.5**0.5, 0.5**0.5, 0, 0], [0, 0, 0, 1]], atol=1e-6)
    assert made.dtype == np.float32


def test_both_are_timed_and_compared() -> None:
    queries = np.eye(3, dtype=np.float32)
    exact = {0: hits("ab"), 1: hits("cd"), 2: hits("ef")}
    found = {0: hits("ab"), 1: hits("cx", [1.0, 0.2]), 2: hits("xy", [0.3, 0.2])}
    reference = recall.exact_results(queries, lambda query: exact[int(query.argmax())])
    measured = recall.compare(reference, lambda query: found[int(query.argmax())], 99, "2026-01-01")
    assert measured.recall == pytest.approx(0.5)
    assert (measured.queries, measured.points, measured.measured_at) == (3, 99, "2026-01-01")
    assert 0 <= measured.low < 0.5 < measured.high <= 1
    assert 0 <= measured.p50_ms <= measured.p99_ms


def test_slow_exact_searches_end_the_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "_SECONDS", 0.0)
    asked = recall.exact_results(np.ones((80, 2), np.float32), lambda _: hits("a"))
    assert 50 <= len(asked.queries) < 80
