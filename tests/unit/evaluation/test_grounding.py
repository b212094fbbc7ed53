"""Whole answers put to questions, judged and held against each other. Pipelines and scorers are toys."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eval_helpers import make_set

from pincite.answering import INSUFFICIENT, NO_EVIDENCE
from pincite.assemble import REFUSAL
from pincite.errors import BackendError, InputError
from pincite.evaluation.answer_sets import AnswerSet, load_answer_set
from pincite.evaluation.grounding import IN_A_ROW, evaluate_grounding, gate_of
from pincite.evaluation.grounding_records import Asking, GroundedReader, GroundingReport
from pincite.evaluation.grounding_report import (
    grounding_data,
    grounding_html,
    grounding_markdown,
    grounding_remarks,
    grounding_rows,
    grounding_tables,
)
from pincite.evaluation.grounding_verdicts import Verdicts
from pincite.evaluation.kept_replies import KeptReplies
from pincite.support.lexical import LexicalSupport
from pincite.types import Answer, Chunk, Citation, Document, Gate, Generation, Hit, Passage, Prompt, Support, Token

TEXTS = {
    "d1": "The tower was opened in 1889. It is made of iron.",
    "d2": "The bridge is 1,280 metres long. It is red.",
    "d3": "The lamp is dark red. It was lit in 1901.",
}
QUERIES: list[dict[str, Any]] = [
    {
        "_id": "q1",
        "text": "When was the tower opened?",
        "metadata": {"answers": ["1889"], "gold_sentences": ["The tower was opened\nin 1889."]},
    },
    {"_id": "q2", "text": "How long is the bridge?", "metadata": {"answers": ["1,280 metres"]}},
    {"_id": "q3", "text": "Which colour is the lamp?", "metadata": {"answers": ["dark red"], "gold_sentences": ["?"]}},
    {"_id": "q4", "text": "Who owns the tower?", "metadata": {"answerable": False, "passage": "d1"}},
    {"_id": "q5", "text": "Who owns the lamp?", "metadata": {"answerable": False}},
]
BY_TEXT = {each["text"]: each["_id"] for each in QUERIES}


@pytest.fixture
def answers(tmp_path: Path) -> AnswerSet:
    documents = [{"_id": name, "title": "", "text": text} for name, text in TEXTS.items()]
    qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}, "q3": {"d3": 1}}
    return load_answer_set(make_set(tmp_path / "towers", documents, QUERIES, qrels))


def passage(name: str) -> Passage:
    chunk = Chunk(f"{name}.1.0", name, 1, TEXTS[name], 0, len(TEXTS[name]), 0)
    return Passage(chunk, name, name, Hit(chunk.id, 1.0, 1, "dense"))


def given(text: str, source: str, quote: str, *read: str, shift: int = 0) -> Answer:
    """An answer of one sentence that quotes `source`."""
    start = TEXTS[source].index(quote) + shift
    chunk = f"{source}.1.0"
    cited = Citation(
        1, 0, len(text), source, 1, chunk, start, start + len(quote), quote, source, source, None, (), "supported", 0.9
    )
    return Answer("?", f"{text} [1]", (cited,), tuple(map(passage, read or (source,))), timings={"generate": 0.25})


def refused(gate: Gate, *read: str) -> Answer:
    reason = NO_EVIDENCE if gate == "search" else INSUFFICIENT
    return Answer("?", "Not there.", (), tuple(map(passage, read)), True, reason, gate=gate)


GOOD: dict[str, Answer | Exception] = {
    "q1": given("The tower was opened in 1889.", "d1", "The tower was opened in 1889.", "d1", "d2"),
    "q2": given("The bridge is 900 metres long.", "d2", "The bridge is 1,280 metres long.", "d2"),
    "q3": refused("support", "d3"),
    "q4": given("It is made of iron.", "d1", "It is made of iron."),
    "q5": refused("search", "d1"),
}


class ToyPipeline:
    """Answers by question; None of its figures are of a model."""

    def __init__(
        self, replies: Mapping[str, Answer | Exception], name: str = "toy", ks: tuple[int, ...] = (2,)
    ) -> None:
        self.replies = replies
        self.name = name
        self.ks = ks
        self.asked: list[str] = []
        self.similarity: Callable[[str, str], float] = lambda *_: 0.5

    def ask(self, question: str, _: int) -> Answer:
        name = BY_TEXT[question]
        self.asked.append(name)
        reply = self.replies[name]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def from_gold(self, question: str, _: Sequence[str]) -> Answer | None:
        if BY_TEXT[question] == "q2" and isinstance(self.replies["q2"], Answer):
            return given("The bridge is 1,280 metres long.", "d2", "The bridge is 1,280 metres long.")
        return self.ask(question, 1)

    def document(self, name: str, version: int) -> Document | None:
        return Document(name, TEXTS[name], name, name, "text/plain", "", version) if name in TEXTS else None

    def reader(self) -> GroundedReader:
        @contextmanager
        def opened() -> Iterator[Asking]:
            yield Asking(self.name, self.ask, self.from_gold, self.document, self.similarity)

        return GroundedReader(self.name, self.ks, opened)


def evaluate(answers: AnswerSet, *pipelines: ToyPipeline, supports: Any = None) -> GroundingReport:
    return evaluate_grounding(
        answers,
        [each.reader() for each in pipelines],
        supports or Verdicts(LexicalSupport()),
        support={"name": "lexical"},
        rule="unicode",
    )


def test_every_item_ends_scored_or_refused_and_the_figures_are_those_by_hand(answers: AnswerSet) -> None:
    report = evaluate(answers, ToyPipeline(GOOD))
    (outcome,), (found,) = report.answers.outcomes, report.groundings
    assert [item.outcome for item in found.items] == ["scored", "scored", "refused", "scored", "refused"]
    assert (found.scored, found.refused, found.failed) == (3, 2, 0)
    # q1 and q4 are borne out, q2 has another number.
    assert [item.proof.recall for item in found.items if item.proof] == [1.0, 0.0, 1.0]
    assert found.recall is not None
    assert found.precision is not None
    assert found.faithfulness is not None
    assert found.recall.value == pytest.approx(2 / 3)
    assert found.recall.n == 3
    assert found.precision.value == pytest.approx(2 / 3)
    assert found.faithfulness.value == pytest.approx(2 / 3)
    assert (found.statements, found.cited_statements, found.citations, found.exact) == (3, 3, 3, 3)
    assert found.similarity is not None
    assert found.similarity.value == 0.5
    assert report.broken == 0
    assert report.failed == 0
    # The sentence of q1 is gold and is cited; that of q3 stands nowhere, and q3 is refused.
    assert found.gold_precision is not None
    assert (found.gold_precision.value, found.gold_precision.n) == (1.0, 1)
    assert found.gold_recall is not None
    assert found.gold_recall.value == 1.0
    # Refusals: q3 and q5 refused, of which q5 has no answer; q4 has none and is answered.
    refusals = outcome.end_to_end.refusals
    assert refusals is not None
    assert (refusals.right, refusals.wrong, refusals.missed) == (1, 1, 1)
    assert refusals.precision is not None
    assert refusals.precision.value == 0.5
    assert outcome.success is not None
    assert outcome.success.value == 1.0


def test_each_lost_question_has_its_stage(answers: AnswerSet) -> None:
    (outcome,) = evaluate(answers, ToyPipeline(GOOD)).answers.outcomes
    assert [lost and lost.stage for lost in outcome.lost] == [None, "reading", "refusal", "refusal", None]
    assert [lost and lost.by for lost in outcome.lost] == [
        None,
        "right from the gold passage alone",
        "support gate",
        "answered, and there is no answer",
        None,
    ]
    elsewhere = {
        **GOOD,
        "q1": given("The tower was opened in 1889.", "d2", "It is red.", "d1", "d2"),
        "q2": refused("search", "d1"),
        "q3": refused("generator", "d3"),
    }
    (outcome,) = evaluate(answers, ToyPipeline(elsewhere)).answers.outcomes
    assert [lost and (lost.stage, lost.by) for lost in outcome.lost[:3]] == [
        ("citation", "a source that is no gold passage is named"),
        ("retrieval", ""),
        ("refusal", "generator"),
    ]


def test_the_gates_are_told_apart() -> None:
    proved = given("The tower was opened in 1889.", "d1", "The tower was opened in 1889.")
    assert gate_of(proved) == ""
    assert gate_of(refused("search")) == "no-evidence gate"
    assert gate_of(refused("generator")) == "generator"
    assert gate_of(refused("support")) == "support gate"
    assert gate_of(refused("confidence")) == "confidence gate"


def test_the_gates_are_those_of_the_pipeline(tmp_path: Path) -> None:
    """Real parts but for the generator: what refused is read from what the pipeline says."""
    from pincite import Pincite

    class ToyGenerator:
        name = "toy"
        cites = False
        says = Generation("")

        def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
            assert prompt.passages
            yield self.says

        def close(self) -> None:
            pass

    (tmp_path / "tower.md").write_text("# The tower\n\nThe tower was opened in 1889. It is made of iron.\n")
    with Pincite.open(tmp_path / "index", environment={}) as pincite:
        pincite.add(tmp_path / "tower.md")
        toy = ToyGenerator()
        pincite._generator = toy

        def gate(question: str, said: Generation) -> str:
            toy.says = said
            return gate_of(pincite.ask(question))

        asked = "When was the tower opened?"
        good = Generation("The tower was opened in 1889.", sources=(0,))
        assert gate("Which glaciers drain into the Rhone?", good) == "no-evidence gate"
        assert gate(asked, Generation("")) == "generator"
        assert gate(asked, Generation(REFUSAL)) == "generator"
        assert gate(asked, Generation("The tower was painted in 1700.", sources=(0,))) == "support gate"
        pincite.options = replace(pincite.options, least_confidence=0.0)
        assert gate(asked, good) == ""
        pincite.options = replace(pincite.options, least_confidence=1.0)
        assert gate(asked, good) == "confidence gate"


def test_a_pointer_that_is_off_by_one_breaks_the_proof(answers: AnswerSet) -> None:
    shifted = given("The tower was opened in 1889.", "d1", "The tower was opened in 1889.", shift=1)
    report = evaluate(answers, ToyPipeline({**GOOD, "q1": shifted}))
    assert report.broken == 1
    assert "toy k=2: 1 citation does not point at what it quotes: the proof is broken" in grounding_remarks(report)


def test_failures_have_a_reason_and_are_in_no_mean(answers: AnswerSet) -> None:
    report = evaluate(answers, ToyPipeline({**GOOD, "q1": BackendError("the model is gone")}))
    (found,) = report.groundings
    assert [item.outcome for item in found.items] == ["failed", "scored", "refused", "scored", "refused"]
    assert (found.failed, found.failures) == (1, {"the model is gone": 1})
    assert found.recall is not None
    assert found.recall.n == 2
    assert report.failed == 2  # on the gold passage too
    lost = report.answers.outcomes[0].lost[0]
    assert lost is not None
    assert (lost.stage, lost.by) == ("failure", "the model is gone")


def test_a_judge_that_fails_makes_the_item_fail_and_denies_nothing(answers: AnswerSet) -> None:
    class ToyJudge(LexicalSupport):
        name = "judge:toy/1"

        def judge(self, statement: str, sources: Sequence[str], *, question: str = "") -> list[Support]:
            if "bridge" in statement:
                return [Support(0, len(each), "unknown", 0.0, f"a 'maybe' {question}") for each in sources]
            return [Support(0, len(each), "supported", 0.9) for each in sources]

    report = evaluate(answers, ToyPipeline(GOOD), supports=Verdicts(ToyJudge()))
    (found,) = report.groundings
    assert found.items[1].outcome == "failed"
    assert "judge:toy/1 came to no verdict: a 'maybe'" in found.items[1].failure
    assert report.answers.outcomes[0].end_to_end.failed == 1
    assert found.recall is not None
    assert (found.recall.value, found.recall.n) == (1.0, 2)


def test_nothing_is_ever_nan(answers: AnswerSet) -> None:
    nothing: dict[str, Answer | Exception] = {name: refused("search") for name in GOOD}
    broken: dict[str, Answer | Exception] = {**nothing, "q1": InputError("no")}
    for replies in (GOOD, nothing, broken):
        data = json.dumps(grounding_data([evaluate(answers, ToyPipeline(replies))]), allow_nan=False)
        assert "NaN" not in data
    (found,) = evaluate(answers, ToyPipeline(nothing)).groundings
    assert (found.recall, found.precision, found.similarity, found.gold_recall) == (None, None, None, None)


def test_a_model_that_is_gone_is_given_up(answers: AnswerSet) -> None:
    gone = {name: BackendError("gone") for name in GOOD}
    with pytest.raises(BackendError, match=f"toy failed {IN_A_ROW} times in a row, the last time: gone"):
        evaluate(answers, ToyPipeline(gone, ks=(1, 2)))
    second = ToyPipeline(gone, name="other", ks=(1, 2))
    report = evaluate(answers, ToyPipeline(GOOD), second)
    assert [each.failed for each in report.groundings] == [0, 5, 5]
    with pytest.raises(InputError, match="no reader"):
        evaluate(answers)
    with pytest.raises(InputError, match="two configurations have one name"):
        evaluate(answers, ToyPipeline(GOOD), ToyPipeline(GOOD))


def test_two_readers_are_held_against_each_other(answers: AnswerSet) -> None:
    right = {**GOOD, "q2": given("The bridge is 1,280 metres long.", "d2", "The bridge is 1,280 metres long.")}
    report = evaluate(answers, ToyPipeline(GOOD), ToyPipeline(right, name="better"))
    measured = {each.measure: each for each in report.versus}
    assert set(measured) == {"F1 of all questions", "citation recall", "citation precision", "faithfulness"}
    recall = measured["citation recall"]
    assert (recall.name, recall.against, recall.n) == ("better k=2", "toy k=2", 3)
    assert (recall.wins, recall.ties, recall.losses) == (1, 2, 0)
    assert recall.difference == pytest.approx(1 / 3)
    assert all(each.p <= each.p_holm <= 1 for each in report.versus)


def test_the_report_in_every_form(answers: AnswerSet) -> None:
    hostile = {**GOOD, "q1": given("The <b>tower</b> was opened in 1889.", "d1", "The tower was opened in 1889.")}
    report = evaluate(answers, ToyPipeline(hostile), ToyPipeline(GOOD, name="other"))
    tables = list(grounding_tables([report]))
    # What eval answers has (answers, questions without one, lost), borne out, relevance, comparisons.
    assert len(tables) == 6
    page = grounding_html([report], title="<Towers>", about=["a & b"])
    assert "&lt;b&gt;tower" in page
    assert "<b>tower" not in page
    assert "<script" not in page
    assert "refusal: support gate" in page
    text = grounding_markdown([report], title="Towers")
    assert "citation recall" in text
    assert "1 gold sentence not in the gold documents" in text
    rows = [json.loads(json.dumps(row)) for row in grounding_rows(report)]
    assert len(rows) == 10
    assert rows[1]["lost"] == {"stage": "reading", "by": "right from the gold passage alone"}
    assert rows[1]["grounding"]["statements"][0]["recalled"] is False
    assert rows[0]["grounding"]["citations"][0]["reference"] == "d1@1:0-29"
    data = grounding_data([report])["sets"][0]
    assert data["support"] == {"name": "lexical"}
    configuration = data["configurations"]["toy k=2"]
    assert configuration["grounding"]["exact_pointers"] == configuration["grounding"]["citations"] == 3
    assert configuration["lost"]["refusal"] == {
        "questions": 2,
        "by": {"support gate": 1, "answered, and there is no answer": 1},
        "ids": ["q3", "q4"],
    }
    assert len(data["comparisons"]) == 4


def test_verdicts_are_asked_for_once_and_kept(tmp_path: Path) -> None:
    class Counting(LexicalSupport):
        asked = 0

        def judge(self, statement: str, sources: Sequence[str], *, question: str = "") -> list[Support]:
            self.asked += len(sources)
            return super().judge(statement, sources, question=question)

    scorer = Counting()
    verdicts = Verdicts(scorer, KeptReplies(tmp_path / "v.jsonl"), "r")
    assert verdicts("The lamp is red.", ["The lamp is red.", "The lamp is blue.", "The lamp is red."]) == [
        True,
        False,
        True,
    ]
    assert verdicts("The lamp is red.", ["The lamp is blue."]) == [False]
    assert scorer.asked == 2
    again = Counting()
    assert Verdicts(again, KeptReplies(tmp_path / "v.jsonl"), "r")("The lamp is red.", ["The lamp is blue."]) == [False]
    assert again.asked == 0
    # Another recipe, or fresh: asked again.
    assert Verdicts(again, KeptReplies(tmp_path / "v.jsonl"), "other")("The lamp is red.", ["x"]) == [False]
    assert Verdicts(again, KeptReplies(tmp_path / "v.jsonl", fresh=True), "r")("The lamp is red.", ["x"]) == [False]
    assert again.asked == 2


def test_a_cosine_that_is_no_number_fails_the_item(answers: AnswerSet) -> None:
    pipeline = ToyPipeline(GOOD)
    pipeline.similarity = lambda *_: math.nan
    (found,) = evaluate(answers, pipeline).groundings
    assert [item.outcome for item in found.items] == ["failed", "failed", "refused", "failed", "refused"]
