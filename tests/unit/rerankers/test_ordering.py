from __future__ import annotations

import math

import pytest

from pincite.rerankers.ordering import order, passage_text, rerank_in_batches
from pincite.types import Chunk, Hit, Passage
from toys_rerank import make_passages


def test_blended_by_hand() -> None:
    """z of (0, 1, 2) is ∓1.2247; of the scores before (3, 2, 1) the same turned: with ¼ of it, half is left."""
    found = order("x", make_passages(["a", "b", "c"], [3.0, 2.0, 1.0]), {0: 0.0, 1: 1.0, 2: 2.0}, weight=0.75)
    assert [passage.chunk.text for passage in found.passages] == ["c", "b", "a"]
    assert [passage.hit.score for passage in found.passages] == pytest.approx(
        [0.5 * math.sqrt(1.5), 0.0, -0.5 * math.sqrt(1.5)]
    )


def test_equal_scores_before_have_no_say() -> None:
    found = order("x", make_passages(["a", "b"], [1.0, 1.0]), {0: 5.0, 1: 7.0}, weight=0.25)
    assert [passage.hit.score for passage in found.passages] == pytest.approx([0.25, -0.25])


def test_scores_before_that_are_no_numbers_have_no_weight() -> None:
    found = order("x", make_passages(["a", "b"], [1.0, math.nan]), {0: 5.0, 1: 7.0}, weight=0.25)
    assert [passage.hit.score for passage in found.passages] == [7.0, 5.0]
    assert found.notes == ("x: the scores before are no numbers and have no weight",)


def test_no_score_at_all() -> None:
    given = make_passages(["a", "b"])
    assert order("x", given, {}).passages == given


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_one_odd_score_spoils_them_all(odd: float) -> None:
    given = make_passages(["a", "b", "c"])
    found = order("x", given, {0: 1.0, 1: odd, 2: 3.0})
    assert found.passages == given
    assert found.notes == ("x: 1 of 3 scores are no numbers; the order is the one before",)


def test_the_clock_is_looked_at_between_batches() -> None:
    times = iter([0.0, 0.4, 0.9, 1.0, 99.0])
    scored: list[str] = []

    def score(some: list[Passage]) -> list[float]:
        scored.extend(passage.chunk.text for passage in some)
        return [float(len(scored))] * len(some)

    found = rerank_in_batches(
        "x",
        make_passages("abcdefgh"),
        score,  # type: ignore[arg-type]
        depth=7,
        batch=2,
        seconds=1.0,
        clock=lambda: next(times),
    )
    assert scored == list("abcdef")
    assert [passage.chunk.text for passage in found.passages] == list("efcdabgh")
    assert found.notes == ("x: 1 of 7 passages not scored within 1 s",)


def test_a_scorer_that_gives_too_few_is_found_out() -> None:
    with pytest.raises(ValueError, match="shorter"):
        rerank_in_batches("x", make_passages("ab"), lambda _: [1.0], depth=2, batch=2)


def test_what_is_read() -> None:
    chunk = Chunk("c", "d", 1, "It ends.", 0, 8, 0, headings=("Part I", "Term"), before="| a |\n", after="\n```")
    assert (
        passage_text(Passage(chunk, "Lease", "u", Hit("c", 1, 1, "s"))) == "Lease\nPart I\nTerm\n| a |\nIt ends.\n```"
    )
    plain = Chunk("c", "d", 1, "Lease. It ends.", 0, 15, 0)
    assert passage_text(Passage(plain, "Lease", "u", Hit("c", 1, 1, "s"))) == "Lease. It ends."
    assert passage_text(Passage(plain, " ", "u", Hit("c", 1, 1, "s"))) == "Lease. It ends."
