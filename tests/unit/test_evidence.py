from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pincite.evidence import evidence_of_answer, evidence_of_search, missing_from
from pincite.types import Chunk, Citation, Generation, Hit, Marginal, Passage, SearchResult, Token
from toys import ToyEncoder


def passage(text: str, score: float = 1.0, title: str = "T") -> Passage:
    chunk = Chunk("d.1.0", "d", 1, text, 0, len(text), 0)
    return Passage(chunk, title, "u", Hit("d.1.0", score, 1, "fused"))


def found(*passages: Passage, dense: Sequence[float] = (0.6, 0.5)) -> SearchResult:
    hits = tuple(Hit.ranked([str(i) for i in range(len(dense))], dense, "dense"))
    return SearchResult("q", passages, {"dense": hits} if dense else {})


def citation(start: int, score: float, verdict: str = "supported", quote: str = "a quote here") -> Citation:
    return Citation(1, start, start + 5, "d", 1, "c", 0, 5, quote, "T", "u", None, (), verdict, score)  # type: ignore[arg-type]


def test_of_a_search() -> None:
    passages = [passage("The rent is due on Monday.", 3.0), passage("Cats.", 2.0), passage("Dogs.", 1.0)]
    question = "When is the rent for X300 due?"
    missing = missing_from(question, passages, "english")
    evidence = evidence_of_search(question, found(*passages), passages, missing)
    assert evidence.cosine == 0.6
    assert evidence.words == pytest.approx(2 / 3)
    assert evidence.margin == 0.5
    assert evidence.missing == 1.0
    assert (evidence.reach, evidence.posterior, evidence.logprob, evidence.gain) == (None, None, None, None)


def test_of_one_passage_or_equal_ones_there_is_no_margin() -> None:
    for passages in ([], [passage("a")], [passage("a"), passage("b")]):
        missing = missing_from("a?", passages, "english")
        assert evidence_of_search("a?", found(*passages), passages, missing).margin == 0.0


def test_what_is_not_read_or_not_searched_has_no_cosine() -> None:
    missing = missing_from("a?", [], "english")
    assert evidence_of_search("a?", found(), [], missing, read=0.4).cosine is None
    assert evidence_of_search("a?", found(dense=()), [], missing).cosine is None


def test_the_title_and_the_headings_are_read_too() -> None:
    one = passage("It was repealed.", title="Amendment XXI")
    assert missing_from("What became of Amendment 21?", [one], "english").named == ()


def test_of_an_answer() -> None:
    before = evidence_of_search("a?", found(), [], missing_from("a?", [], "english"))
    tokens = (Token("a", -1.0, baseline=-3.0), Token("b", -2.0, baseline=None))
    marginal = Marginal("token", -3.0, (0.5, 0.5), (0.9, 0.1), "exact")
    generation = Generation("a b", tokens, marginal=marginal)
    cited = [citation(0, 0.9), citation(0, 0.4, "unsupported"), citation(10, 0.3, "unsupported")]
    evidence = evidence_of_answer(before, "a?", generation, cited, sentences=3, encoder=ToyEncoder())
    assert evidence.support == pytest.approx(0.3)
    assert evidence.unsupported == pytest.approx(2 / 3)
    assert evidence.posterior == 0.9
    assert evidence.logprob == -1.5
    assert evidence.gain == 2.0
    assert evidence.reach is not None
    assert -1.0 <= evidence.reach <= 1.0


def test_of_no_answer() -> None:
    before = evidence_of_search("a?", found(), [], missing_from("a?", [], "english"))
    evidence = evidence_of_answer(before, "a?", Generation(""), (), sentences=0, encoder=ToyEncoder())
    assert (evidence.support, evidence.unsupported, evidence.reach) == (0.0, 1.0, None)
    unread = replace(before, cosine=None)
    cited = [citation(0, 1.0, "verbatim")]
    assert evidence_of_answer(unread, "a?", Generation("x"), cited, sentences=1, encoder=ToyEncoder()).reach is None
