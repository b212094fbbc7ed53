"""One battery for everything that says whether a source supports a statement."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.encoders.minilm import minilm
from pincite.protocols import SupportScorer
from pincite.support.by_generator import ReplyJudge, TokenJudge
from pincite.support.lexical import LexicalSupport
from pincite.support.nli import NliSupport
from pincite.support.semantic import SemanticSupport
from pincite.types import Support
from toys import ToyEncoder
from toys_scorer import TableScorer
from toys_support import ToyChat, write_nli

VALVE = "The limit is 40 bar. Above that the valve opens. It is painted blue."
PUMP = "The pump is checked every year. It was not repaired."
SOURCES = [VALVE, PUMP, "", " \n ", "猫が好き。", "| Pump | Limit |\n|---|---|\n| P1 | 400 bar |"]

VOCABULARY = ("\n", " yes", " no", *map(chr, range(32, 0x3000)), *"猫好き限制为巴一个两です")


def _inside(text: str, name: str) -> str:
    found = re.search(rf"<{name}-(\w+)>\n(.*)\n</{name}-\1>", text, re.DOTALL)
    assert found is not None
    return found[2]


def words_there(statement: str, source: str) -> bool:
    """The rule of the toys: every word of the statement stands in the source."""
    return set(re.findall(r"\w+", statement.lower())) <= set(re.findall(r"\w+", source.lower()))


def chat_reply(_: str, user: str) -> str:
    return "A" if words_there(_inside(user, "statement"), _inside(user, "source")) else "C"


def table(context: tuple[str, ...], _: tuple[int, ...]) -> Sequence[float]:
    source, asked = context[1], context[2].partition("\n")[0].removeprefix("Statement: ")
    yes = 0.6 if words_there(asked, source) else 0.1
    rest = (1 - 0.7) / (len(VOCABULARY) - 2)
    row = np.full(len(VOCABULARY), rest)
    row[1], row[2] = yes, 0.7 - yes
    return list(row / row.sum())


KINDS: dict[str, Callable[[Path], SupportScorer]] = {
    "lexical": lambda _: LexicalSupport(),
    "lexical-encoder": lambda _: LexicalSupport(ToyEncoder()),
    "semantic": lambda _: SemanticSupport(ToyEncoder()),
    "semantic-minilm": lambda _: SemanticSupport(minilm(threads=1)),
    "nli": lambda folder: NliSupport(str(write_nli(folder)), threads=1),
    "nli-two-classes": lambda folder: NliSupport(str(write_nli(folder, ("LABEL_0", "LABEL_1"))), threads=1),
    "nli-one-logit": lambda folder: NliSupport(str(write_nli(folder, ("LABEL_0",))), threads=1),
    "nli-short": lambda folder: NliSupport(str(write_nli(folder, max_length=24)), threads=1),
    "judge-reply": lambda _: ReplyJudge(ToyChat(chat_reply)),
    "judge-tokens": lambda _: TokenJudge(TableScorer(VOCABULARY, (0,), table)),
}


@pytest.fixture(params=KINDS, scope="module")
def scorer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SupportScorer:
    if request.param.startswith("nli"):
        pytest.importorskip("onnx", reason="onnx, which builds the model, is not installed")
    return KINDS[request.param](tmp_path_factory.mktemp(request.param))


def check(support: Support, source: str) -> None:
    assert 0 <= support.start <= support.end <= len(source)
    assert support.verdict in ("verbatim", "supported", "unsupported", "unknown")
    assert type(support.score) is float
    assert 0.0 <= support.score <= 1.0
    assert (support.score == 1.0) == (support.verdict == "verbatim")
    assert (support.score >= 0.5) == (support.verdict in ("verbatim", "supported"))
    assert bool(support.why) == (support.verdict in ("unsupported", "unknown")), support


def test_it_follows_the_protocol(scorer: SupportScorer) -> None:
    assert isinstance(scorer, SupportScorer)
    assert scorer.name == scorer.name.strip() != ""


def test_every_source_is_judged_in_order(scorer: SupportScorer) -> None:
    for statement in ("The limit is 40 bar.", "The pump is painted blue.", "Above that it opens.", "No.", "猫", ""):
        found = scorer.judge(statement, SOURCES, question="What is the limit?")
        assert len(found) == len(SOURCES)
        for support, source in zip(found, SOURCES, strict=True):
            check(support, source)
        alone = [scorer.judge(statement, [source], question="What is the limit?")[0] for source in SOURCES]
        for one, among in zip(alone, found, strict=True):
            assert (one.start, one.end, one.verdict, one.why) == (among.start, among.end, among.verdict, among.why)
            assert one.score == pytest.approx(among.score, abs=1e-5)


def test_what_stands_there_is_verbatim(scorer: SupportScorer) -> None:
    (support,) = scorer.judge("The limit is 40 bar.", [VALVE])
    assert (support.verdict, support.score, VALVE[support.start : support.end]) == (
        "verbatim",
        1.0,
        "The limit is 40 bar.",
    )


def test_the_same_in_other_words_is_supported_where_it_is_said(scorer: SupportScorer) -> None:
    statement = "The pump is checked, every year."
    first, second = scorer.judge(statement, [VALVE, PUMP])
    assert first.verdict == "unsupported"
    assert second.verdict == "supported"
    assert PUMP[second.start : second.end].startswith("The pump is checked every year.")


@pytest.mark.parametrize("statement", ["The limit is 60 bar.", "The limit is 400 bar.", "Cats are green."])
def test_another_number_or_another_matter_is_not(scorer: SupportScorer, statement: str) -> None:
    (support,) = scorer.judge(statement, [VALVE])
    assert support.verdict == "unsupported"
    assert support.why


def test_nothing_to_check_is_unknown(scorer: SupportScorer) -> None:
    assert [each.verdict for each in scorer.judge("Yes, they do.", [VALVE, ""])] == ["unknown", "unknown"]
    assert [each.verdict for each in scorer.judge("The limit is 40 bar.", ["", "\n"])] == ["unknown", "unknown"]


def test_a_question_chooses_between_equals(scorer: SupportScorer) -> None:
    source = "Two keys are handed over. The term is two years."
    (support,) = scorer.judge("two", [source], question="How long is the term?")
    assert source[support.start : support.end] == "The term is two years."


def test_sentences_are_scored_alone_and_in_order(scorer: SupportScorer) -> None:
    sentences = ["It is painted blue.", "The pump is checked every year.", "Nobody knows."]
    scores = scorer.score("The pump is checked, every year.", sentences)
    assert len(scores) == 3
    assert all(type(score) is float and 0 <= score <= 1 for score in scores)
    assert scores[1] >= 0.5 > max(scores[0], scores[2])
    assert scorer.score("The pump is checked, every year.", list(reversed(sentences))) == pytest.approx(
        list(reversed(scores)), abs=1e-5
    )
    assert scorer.score("Anything.", []) == []
    assert scorer.judge("Anything.", []) == []


def test_a_long_source_is_read_to_its_end(scorer: SupportScorer) -> None:
    source = "Nobody knows. " * 200 + "The pump is checked every year. " + "It rains. " * 200
    (support,) = scorer.judge("The pump is checked, every year.", [source])
    assert support.verdict == "supported"
    assert "The pump is checked every year." in source[support.start : support.end]


def test_text_that_is_no_text(scorer: SupportScorer) -> None:
    source = "The limit \udcff is 40 bar.\x00 \u202eAbove."
    for support in scorer.judge("The limit\udcff is 50 \x00 bar.", [source]):
        check(support, source)


def test_threads_agree(scorer: SupportScorer) -> None:
    statements = ["The limit is 40 bar.", "It is blue.", "The valve opens above that."] * 4
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda each: scorer.judge(each, [VALVE])[0].verdict, statements))
    assert found == [scorer.judge(each, [VALVE])[0].verdict for each in statements]


def test_closing_twice_and_going_on(scorer: SupportScorer) -> None:
    before = scorer.judge("The pump is checked, every year.", [PUMP])
    scorer.close()
    scorer.close()
    assert scorer.judge("The pump is checked, every year.", [PUMP]) == before


texts = st.text(st.sampled_from("ab 12.,-'\"“”`[]()\n\tnot no é限。"), max_size=60)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(statement=texts, source=texts, question=texts)
def test_any_text_is_judged_within_its_source(
    scorer: SupportScorer, statement: str, source: str, question: str
) -> None:
    (support,) = scorer.judge(statement, [source], question=question)
    check(support, source)
    assert support == scorer.judge(statement, [source], question=question)[0]
    assert all(math.isfinite(score) for score in scorer.score(statement, [source, question]))
