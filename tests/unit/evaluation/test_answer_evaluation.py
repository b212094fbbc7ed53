"""Readers put to questions, measured, kept and held against each other. Readers and searches are toys."""

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

from pincite.assemble import REFUSAL
from pincite.errors import BackendError, ConfigError, InputError
from pincite.evaluation.answer_assessment import correct_answers
from pincite.evaluation.answer_measures import Rule
from pincite.evaluation.answer_page import answers_html
from pincite.evaluation.answer_records import AnswerReport, Found, GoldProbability, Opened, Reader
from pincite.evaluation.answer_report import (
    answers_data,
    answers_markdown,
    answers_remarks,
    answers_rows,
    answers_tables,
)
from pincite.evaluation.answer_sets import AnswerSet, load_answer_set
from pincite.evaluation.answerers import GeneratorAnswerer, without_markers
from pincite.evaluation.answers import IN_A_ROW, evaluate_answers
from pincite.evaluation.index import EvaluationListener
from pincite.evaluation.kept_replies import KeptReplies, Reply
from pincite.types import Chunk, Generation, Hit, Marginal, Passage, Prompt, Token

TEXTS = {
    "d1": "The tower opened in 1889.",
    "d2": "The bridge is 1,280 metres long.",
    "d3": "The lamp is red.",
    "d4": "Nothing of use.",
}
QUERIES: list[dict[str, Any]] = [
    {"_id": "q1", "text": "When did the tower open?", "metadata": {"answers": [{"text": "1889"}]}},
    {"_id": "q2", "text": "How long is the bridge?", "metadata": {"answers": ["1280 metres", "1280 m"]}},
    {"_id": "q3", "text": "Which colour is the lamp?", "metadata": {"answers": ["dark red"]}},
    {"_id": "q4", "text": "Who owns the tower?", "metadata": {"answerable": False, "passage": "d1"}},
    {"_id": "q5", "text": "Who owns the lamp?", "metadata": {"answerable": False}},
]
QRELS = {"q1": {"d1": 1}, "q2": {"d2": 1}, "q3": {"d3": 1}}

#: What a search finds: the gold passage first, second, and not at all.
FOUND = {"q1": ["d1", "d4"], "q2": ["d3", "d2"], "q3": ["d4", "d1"], "q4": ["d1", "d4"], "q5": []}
BY_TEXT = {each["text"]: each["_id"] for each in QUERIES}


@pytest.fixture
def answers(tmp_path: Path) -> AnswerSet:
    documents = [{"_id": name, "title": "", "text": text} for name, text in TEXTS.items()]
    return load_answer_set(make_set(tmp_path / "towers", documents, QUERIES, QRELS))


def passage(document: str, rank: int = 1) -> Passage:
    text = TEXTS[document]
    chunk = Chunk(f"{document}.1.0", document, 1, text, 0, len(text), 0)
    return Passage(chunk, document, document, Hit(chunk.id, 1.0 / rank, rank, "dense"))


class ToyAnswerer:
    """Replies by question and the documents it is given: a text, a generation, or an error to raise."""

    name = "toy"

    def __init__(
        self,
        replies: Mapping[tuple[str, ...], str | Generation | Exception],
        gold: Callable[[str, Sequence[Passage]], float | None] = lambda *_: None,
    ) -> None:
        self.replies = replies
        self.gold = gold
        self.asked: list[tuple[str, ...]] = []
        self.opened = 0

    def answer(self, question: str, passages: Sequence[Passage]) -> Generation:
        key = (BY_TEXT[question], *(each.chunk.document_id for each in passages))
        self.asked.append(key)
        reply = self.replies.get(key, self.replies.get(key[:1], ""))
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Generation) else Generation(reply)

    def gold_logprob(self, question: str, passages: Sequence[Passage], gold: Sequence[str]) -> float | None:
        assert gold
        return self.gold(BY_TEXT[question], passages)


def reader(answerer: ToyAnswerer, *ks: int, name: str = "toy", recipe: str = "r") -> Reader:
    @contextmanager
    def opened() -> Iterator[Opened]:
        answerer.opened += 1
        yield Opened(
            answerer,
            lambda text, k: Found([passage(d, n) for n, d in enumerate(FOUND[BY_TEXT[text]][:k], 1)], 0.5),
            lambda names: [passage(each) for each in names if each in TEXTS],
        )

    return Reader(name, ks or (2,), recipe, opened)


RIGHT: dict[tuple[str, ...], str | Generation | Exception] = {
    ("q1",): "in 1889",
    ("q2", "d2"): "1,280 metres",
    ("q2", "d3", "d2"): "1,280 metres",
    ("q2", "d3"): "",
    ("q3", "d3"): "red",
    ("q3",): "",
    ("q4",): REFUSAL,
}


def test_the_three_columns(answers: AnswerSet) -> None:
    report = evaluate_answers(answers, [reader(ToyAnswerer(RIGHT), 1, 2)], rule="unicode")
    one, two = report.outcomes
    assert (one.name, two.name, two.k, two.model) == ("toy k=1", "toy k=2", 2, "toy")
    assert (report.questions, report.unanswerable, report.failed) == (5, 2, 0)
    # Retrieval, over the questions with a passage to find.
    assert one.success is not None
    assert two.success is not None
    assert (one.success.value, one.success.n) == (pytest.approx(1 / 3), 3)
    assert two.success.value == pytest.approx(2 / 3)
    # The gold passage alone, the same whatever k: "in 1889" has F1 2/3, "red" of "dark red" as well.
    for each in (one, two):
        assert each.on_gold is not None
        assert each.on_gold.exact is not None
        assert each.on_gold.f1 is not None
        assert each.on_gold.exact.value == pytest.approx(1 / 3)
        assert each.on_gold.f1.value == pytest.approx((2 / 3 + 1 + 2 / 3) / 3)
        assert each.on_gold.abstained == 0
    # End to end: what was not found is not answered, and counts 0.
    assert one.end_to_end.f1 is not None
    assert two.end_to_end.f1 is not None
    assert one.end_to_end.f1.value == pytest.approx(2 / 3 / 3)
    assert two.end_to_end.f1.value == pytest.approx((2 / 3 + 1) / 3)
    assert (one.end_to_end.answered, one.end_to_end.abstained) == (1, 2)
    assert two.end_to_end.f1.low <= two.end_to_end.f1.value <= two.end_to_end.f1.high
    assert two.p50_seconds is not None
    assert two.p50_seconds >= 0.5  # with the search


def test_an_abstention_is_right_where_there_is_no_answer(answers: AnswerSet) -> None:
    (two,) = evaluate_answers(answers, [reader(ToyAnswerer(RIGHT))], rule="unicode").outcomes
    assert two.end_to_end.right_abstentions is not None
    assert (two.end_to_end.right_abstentions.value, two.end_to_end.right_abstentions.n) == (1.0, 2)
    assert two.end_to_end.all_f1 is not None
    assert two.end_to_end.all_f1.value == pytest.approx((2 / 3 + 1 + 0 + 1 + 1) / 5)
    # Only one of the two has a passage that looks right.
    assert two.on_gold is not None
    assert two.on_gold.right_abstentions is not None
    assert two.on_gold.right_abstentions.n == 1
    # Nothing is found for q5: the reader is not asked.
    assert two.asked[4].end_to_end == Reply("abstained", reason="nothing was found")
    talker = ToyAnswerer({**RIGHT, ("q4",): "The mayor."})
    (two,) = evaluate_answers(answers, [reader(talker)], rule="unicode").outcomes
    assert two.end_to_end.right_abstentions is not None
    assert two.end_to_end.right_abstentions.value == 0.5
    assert two.scores[3] == (0.0, 0.0)


def test_failures_are_counted_with_their_reason_and_in_no_mean(answers: AnswerSet) -> None:
    broken: dict[tuple[str, ...], str | Generation | Exception] = {
        **RIGHT,
        ("q2", "d3", "d2"): BackendError("the endpoint is gone"),
        ("q4", "d1", "d4"): InputError("too long"),
    }
    report = evaluate_answers(answers, [reader(ToyAnswerer(broken))], rule="unicode")
    own = report.outcomes[0].end_to_end
    assert own.failures == {"the endpoint is gone": 1, "too long": 1}
    assert (own.failed, own.answered, own.abstained) == (2, 1, 1)
    assert own.f1 is not None
    assert own.exact is not None
    assert (own.f1.value, own.f1.n) == (pytest.approx(2 / 3 / 2), 2)  # of q1 and q3
    assert own.right_abstentions is not None
    assert own.right_abstentions.n == 1
    assert own.failed_as_wrong == (pytest.approx(1 / 5), pytest.approx((2 / 3 + 1) / 5))
    assert report.outcomes[0].scores[1] is None
    assert report.failed == 2
    assert any(
        "2 failed and are in no mean: 1 × the endpoint is gone; 1 × too long" in each
        for each in answers_remarks(report)
    )


def test_a_reader_that_only_fails_is_given_up(answers: AnswerSet, tmp_path: Path) -> None:
    gone = ToyAnswerer({(name,): BackendError("refused") for name in FOUND})
    with pytest.raises(BackendError, match=rf"toy failed {IN_A_ROW} times in a row, the last time: refused"):
        evaluate_answers(answers, [reader(gone)], kept=KeptReplies(tmp_path / "kept.jsonl"))
    assert len(gone.asked) == IN_A_ROW
    assert not (tmp_path / "kept.jsonl").exists()
    # What no question can mend ends it at once.
    with pytest.raises(ConfigError):
        evaluate_answers(answers, [reader(ToyAnswerer({("q1",): ConfigError("no key")}))])


def test_a_configuration_that_only_fails_is_given_up_and_the_others_go_on(
    answers: AnswerSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.evaluation.answers.IN_A_ROW", 2)
    gone = ToyAnswerer({(name,): BackendError("refused") for name in FOUND})
    report = evaluate_answers(
        answers, [reader(ToyAnswerer(RIGHT), name="one"), reader(gone, 1, 2, name="two"), reader(ToyAnswerer(RIGHT))]
    )
    assert [key[0] for key in gone.asked] == ["q1", "q2"] * 3  # of the gold passages, and of each number
    assert [each.end_to_end.failed for each in report.outcomes] == [0, 4, 4, 0]
    assert report.outcomes[1].end_to_end.failures == {"refused": 2, "not asked, after 5 failures in a row": 2}
    assert report.outcomes[1].end_to_end.f1 is None
    assert {each.name for each in report.versus} == {"two k=1", "two k=2", "toy k=2"}  # on q5, where nothing is found
    # Probabilities that are told do not hide that no answer comes.
    odd = ToyAnswerer({(name,): BackendError("refused") for name in FOUND}, lambda *_: -1.0)
    with pytest.raises(BackendError, match="toy failed 2 times in a row"):
        evaluate_answers(answers, [reader(odd)])


def test_failures_between_answers_stop_nothing(answers: AnswerSet) -> None:
    half = ToyAnswerer(
        {**RIGHT, ("q1",): BackendError("gone"), ("q3",): BackendError("gone"), ("q3", "d3"): BackendError("gone")}
    )
    report = evaluate_answers(answers, [reader(half, 1, 2)])
    assert [each.end_to_end.failed for each in report.outcomes] == [2, 2]
    assert report.failed > IN_A_ROW


def test_the_probability_of_the_gold_answers(answers: AnswerSet) -> None:
    told: dict[str, float] = {"q1": math.log(0.5), "q2": math.log(0.25), "q3": -math.inf}
    (outcome,) = evaluate_answers(answers, [reader(ToyAnswerer(RIGHT, lambda q, _: told[q]))]).outcomes
    assert outcome.probability is not None
    assert outcome.probability.mean is not None
    assert outcome.probability.mean_log is not None
    assert outcome.probability.mean.value == pytest.approx((0.5 + 0.25 + 0) / 3)
    assert outcome.probability.mean_log.value == pytest.approx((math.log(0.5) + math.log(0.25)) / 2)
    assert (outcome.probability.impossible, outcome.probability.failed) == (1, 0)

    def failing(question: str, _: Sequence[Passage]) -> float:
        if question == "q2":
            raise BackendError("no logprobs")
        return told[question]

    report = evaluate_answers(answers, [reader(ToyAnswerer(RIGHT, failing))])
    assert report.outcomes[0].probability is not None
    assert report.outcomes[0].probability.failed == report.failed == 1
    assert report.outcomes[0].probability.mean is not None
    assert report.outcomes[0].probability.mean.n == 2

    def mute(*_: object) -> float:
        raise BackendError("no logprobs")

    report = evaluate_answers(answers, [reader(ToyAnswerer(RIGHT, mute))])
    assert report.outcomes[0].probability == GoldProbability(None, None, impossible=0, failed=3)
    assert report.failed == 3
    assert "could not be told: 3 × no logprobs" in "".join(answers_remarks(report))
    never = evaluate_answers(answers, [reader(ToyAnswerer(RIGHT, lambda *_: -math.inf))]).outcomes[0].probability
    assert never is not None
    assert never.mean is not None
    assert (never.mean.value, never.mean_log, never.impossible) == (0.0, None, 3)
    # It must be a probability given the passages that were found.
    seen: list[tuple[str, ...]] = []

    def looking(question: str, passages: Sequence[Passage]) -> float:
        seen.append((question, *(each.chunk.document_id for each in passages)))
        return -1.0

    evaluate_answers(answers, [reader(ToyAnswerer(RIGHT, looking))])
    assert seen == [("q1", "d1", "d4"), ("q2", "d3", "d2"), ("q3", "d4", "d1")]
    silent = evaluate_answers(answers, [reader(ToyAnswerer(RIGHT))])
    assert silent.outcomes[0].probability is None


def test_configurations_are_compared_question_by_question(answers: AnswerSet) -> None:
    told = {"q1": -1.0, "q2": -2.0, "q3": -3.0}
    better = ToyAnswerer({**RIGHT, ("q1",): "1889"}, lambda q, _: told[q] + 0.5)
    report = evaluate_answers(
        answers,
        [reader(ToyAnswerer(RIGHT, lambda q, _: told[q]), name="one"), reader(better, name="two")],
        rule="unicode",
    )
    f1, logprob = report.versus
    assert (f1.name, f1.against, f1.measure, f1.n) == ("two k=2", "one k=2", "F1 of all questions", 5)
    assert f1.difference == pytest.approx((1 - 2 / 3) / 5)
    assert (f1.wins, f1.ties, f1.losses) == (1, 4, 0)
    assert f1.p == 1.0  # one difference proves nothing
    assert (logprob.measure, logprob.n, logprob.difference) == ("log p(gold)", 3, pytest.approx(0.5))
    assert logprob.p == 0.25
    assert logprob.p_holm == 0.5  # of two comparisons
    twice = correct_answers([report, report])
    assert twice[0].versus[1].p_holm == 1.0


def test_what_failed_in_either_is_not_compared(answers: AnswerSet) -> None:
    broken = ToyAnswerer({**RIGHT, ("q1",): BackendError("gone")})
    report = evaluate_answers(
        answers, [reader(ToyAnswerer(RIGHT), name="one"), reader(broken, name="two")], rule="unicode"
    )
    (versus,) = report.versus
    assert (versus.n, versus.difference) == (4, 0.0)


def test_replies_are_kept_and_not_asked_again(answers: AnswerSet, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "kept.jsonl"
    broken = {**RIGHT, ("q3", "d4", "d1"): BackendError("gone")}
    first = ToyAnswerer(broken, lambda *_: -1.0)
    before = evaluate_answers(answers, [reader(first)], kept=KeptReplies(file))
    assert before.outcomes[0].kept == 0
    with file.open("a") as out:
        out.write('\n{"key": "cut of')
    again = ToyAnswerer(RIGHT, lambda *_: pytest.fail("asked again"))
    after = evaluate_answers(answers, [reader(again)], kept=KeptReplies(file), rule="unicode")
    assert again.asked == [("q3", "d4", "d1")]  # failures alone
    assert after.outcomes[0].kept == 7  # four of the gold passages, three of what was found
    assert after.outcomes[0].asked[0].end_to_end == before.outcomes[0].asked[0].end_to_end
    # Other settings, another model, other passages: asked anew.
    other = ToyAnswerer(RIGHT)
    evaluate_answers(answers, [reader(other, recipe="s")], kept=KeptReplies(file))
    assert len(other.asked) == 8
    fresh = ToyAnswerer(RIGHT)
    evaluate_answers(answers, [reader(fresh)], kept=KeptReplies(file, fresh=True))
    assert len(fresh.asked) == 8
    fewer = ToyAnswerer(RIGHT)
    evaluate_answers(answers, [reader(fewer, 1)], kept=KeptReplies(file))
    assert fewer.asked == [("q2", "d3"), ("q3", "d4")]  # q1 and q4 had this passage as their gold one


def test_an_interruption_loses_nothing(answers: AnswerSet, tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"

    class Impatient(EvaluationListener):
        def searching(self, dataset: str, configuration: str, done: int, total: int) -> None:
            assert (dataset, total) == ("towers", 5)
            if (configuration, done) == ("toy k=2", 2):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate_answers(answers, [reader(ToyAnswerer(RIGHT))], kept=KeptReplies(file), listener=Impatient())
    rest = ToyAnswerer(RIGHT)
    evaluate_answers(answers, [reader(rest)], kept=KeptReplies(file))
    assert rest.asked == [("q3", "d4", "d1"), ("q4", "d1", "d4")]


def test_a_reader_is_opened_once_for_all_its_numbers(answers: AnswerSet) -> None:
    answerer = ToyAnswerer(RIGHT)
    evaluate_answers(answers, [reader(answerer, 1, 2)])
    assert answerer.opened == 1
    assert len([key for key in answerer.asked if key == ("q3", "d3")]) == 1  # the gold passage once
    for bad in ([], [reader(answerer), reader(answerer)]):
        with pytest.raises(InputError, match=r"no reader|one name"):
            evaluate_answers(answers, bad)


@pytest.mark.parametrize(("rule", "notes"), [("squad", 1), ("unicode", 0)])
def test_gold_answers_that_a_rule_makes_nothing_of_are_told(tmp_path: Path, rule: Rule, notes: int) -> None:
    queries = [{**QUERIES[0], "metadata": {"answers": ["A"]}}]
    documents = [{"_id": name, "text": text} for name, text in TEXTS.items()]
    odd = load_answer_set(make_set(tmp_path / "odd", documents, queries, {"q1": {"d1": 1}}))
    report = evaluate_answers(odd, [reader(ToyAnswerer({("q1",): "B"}))], rule=rule)
    told = [each for each in report.notes if "leaves nothing" in each]
    assert len(told) == notes
    assert all("'A' the first" in each for each in told)
    assert report.outcomes[0].scores == ((0.0, 0.0),)


# Generators


class ToyGenerator:
    """Says `text` to everything, and keeps the prompts."""

    name = "toy-generator"

    def __init__(self, generation: Generation | None, *, cites: bool = False) -> None:
        self.generation = generation
        self.cites = cites
        self.prompts: list[Prompt] = []

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        self.prompts.append(prompt)
        yield Token("x")
        if self.generation is not None:
            yield self.generation

    def close(self) -> None:
        pass


class ToyMarginal(ToyGenerator):
    def answer_logprob(self, question: str, passages: Sequence[Passage], answer: str) -> float:
        assert (question, len(passages)) == ("q?", 1)
        return {"one": math.log(0.25), "two": math.log(0.5), "odd": math.nan, "more": 0.1, "never": -math.inf}[answer]


def test_a_generator_that_cites_is_given_a_prompt_and_its_markers_go() -> None:
    generator = ToyGenerator(Generation("It opened in 1889 [1][2]."), cites=True)
    reply = GeneratorAnswerer(generator).answer("When?", [passage("d1"), passage("d2")])
    assert reply.text == "It opened in 1889."
    (prompt,) = generator.prompts
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert reply.usage["passages_dropped"] == 0
    assert reply.sources == (0, 1)
    # Whole passages only: what does not fit is counted.
    long = replace(passage("d1"), chunk=replace(passage("d1").chunk, text="word " * 2000))
    reply = GeneratorAnswerer(generator, 600).answer("When?", [long, passage("d2")])
    assert reply.usage["passages_dropped"] == 1
    assert reply.sources == (1,)  # [1] was the second of those given; [2] was not read
    with pytest.raises(InputError, match="no passage fits"):
        GeneratorAnswerer(generator, 600).answer("When?", [long])


def test_each_lost_question_has_the_stage_that_lost_it(answers: AnswerSet, tmp_path: Path) -> None:
    one, two = evaluate_answers(answers, [reader(ToyAnswerer(RIGHT), 1, 2)], rule="unicode").outcomes
    # q2 is found with two passages only, q3 never; q4 and q5 have no answer and are refused.
    assert [lost and lost.stage for lost in one.lost] == [None, "retrieval", "retrieval", None, None]
    assert [lost and lost.stage for lost in two.lost] == [None, None, "retrieval", None, None]
    misread = {
        ("q1",): "in 1900",
        ("q1", "d1"): "in 1889",
        ("q2", "d3", "d2"): "",
        ("q2", "d2"): "1280 m",
        ("q4",): "the city",
    }
    (wrong,) = evaluate_answers(answers, [reader(ToyAnswerer(misread), 2)], rule="unicode").outcomes
    assert [lost and (lost.stage, lost.by) for lost in wrong.lost] == [
        ("reading", "right from the gold passage alone"),
        ("refusal", "the reader"),
        ("retrieval", ""),
        ("refusal", "answered, and there is no answer"),
        None,
    ]
    refusals = wrong.end_to_end.refusals
    assert refusals is not None
    assert (refusals.right, refusals.wrong, refusals.missed) == (1, 2, 1)
    assert "toy k=2: lost by refusal: 1 × the reader" in "\n".join(
        answers_remarks(evaluate_answers(answers, [reader(ToyAnswerer(misread), 2)], rule="unicode"))
    )
    # A reader that names its sources is held to them, also when its replies were kept.
    naming = ToyAnswerer({("q1",): Generation("in 1889", sources=(1,)), ("q2",): Generation("1280 m", sources=(1,))})
    naming.names_sources = True  # type: ignore[attr-defined]
    for asked in (True, False):
        kept = KeptReplies(tmp_path / "kept.jsonl")
        (cited,) = evaluate_answers(answers, [reader(naming, 2)], rule="unicode", kept=kept).outcomes
        assert [each.end_to_end.cited for each in cited.asked[:2]] == [("d4",), ("d2",)]
        assert [lost and (lost.stage, lost.by) for lost in cited.lost[:2]] == [
            ("citation", "a source that is no gold passage is named"),
            None,
        ]
        assert bool(cited.kept) is not asked


def test_a_generator_that_does_not_cite_is_given_the_passages() -> None:
    generator = ToyGenerator(Generation("array [2] stays"))
    assert GeneratorAnswerer(generator).answer("When?", [passage("d1")]).text == "array [2] stays"
    assert generator.prompts == [Prompt("When?", (passage("d1"),))]
    assert GeneratorAnswerer(generator).gold_logprob("When?", [passage("d1")], ["x"]) is None
    with pytest.raises(BackendError, match="toy-generator ended without a result"):
        GeneratorAnswerer(ToyGenerator(None)).answer("When?", [])


def test_several_gold_answers_add_their_probabilities() -> None:
    tell = GeneratorAnswerer(ToyMarginal(Generation("x")))
    assert tell.gold_logprob("q?", [passage("d1")], ["one", "two", "one"]) == pytest.approx(math.log(0.75))
    assert tell.gold_logprob("q?", [passage("d1")], ["one", "never"]) == pytest.approx(math.log(0.25))
    assert tell.gold_logprob("q?", [passage("d1")], ["never"]) == -math.inf
    for bad in ("odd", "more"):
        with pytest.raises(BackendError, match="as the logarithm of a probability"):
            tell.gold_logprob("q?", [passage("d1")], [bad])


def test_markers_of_several_forms_go() -> None:
    assert without_markers("One [1, 3]. Two 【2】, three[4], four[5][1].", 5) == "One. Two, three, four."
    assert without_markers("One [9]. array[2] and `f(x)[1]`", 1) == "One. array[2] and `f(x)[1]`"


# Reports


@pytest.fixture
def report(answers: AnswerSet) -> AnswerReport:
    marginal = Marginal("token", math.log(0.25), (0.75, 0.25), (0.5, 0.5), "exact")
    replies: dict[tuple[str, ...], str | Generation | Exception] = {
        **RIGHT,
        ("q1", "d1", "d4"): Generation("in <b>1889</b>", marginal=marginal, finish_reason="length"),
        ("q2", "d3", "d2"): BackendError("no | pipe"),
    }
    told: dict[str, float] = {"q1": -0.5, "q2": -math.inf, "q3": -1.0}
    return evaluate_answers(
        answers, [reader(ToyAnswerer(replies, lambda q, _: told[q])), reader(ToyAnswerer(RIGHT), 1, name="none")]
    )


def test_the_data_are_json_and_whole(report: AnswerReport) -> None:
    text = json.dumps(answers_data([report]), allow_nan=False)
    (found,) = json.loads(text)["sets"]
    assert (found["dataset"], found["rule"], found["questions"], found["failed"]) == ("towers", "squad", 5, 1)
    toy = found["configurations"]["toy k=2"]
    assert toy["end_to_end"]["failures"] == {"no | pipe": 1}
    assert toy["end_to_end"]["cut"] == 1
    assert toy["probability_of_gold"]["impossible"] == 1
    assert found["configurations"]["none k=1"]["probability_of_gold"] is None
    assert [each["id"] for each in toy["per_question"]] == ["q1", "q2", "q3", "q4", "q5"]
    assert {each["measure"] for each in found["comparisons"]} == {"F1 of all questions"}


def test_every_answer_has_a_row(report: AnswerReport) -> None:
    rows = list(answers_rows(report))
    assert len(rows) == 10
    json.dumps(rows, allow_nan=False)
    first = rows[0]
    assert first["configuration"] == "toy k=2"
    assert (first["question"], first["gold"], first["passages"]) == ("When did the tower open?", ["1889"], ["d1", "d4"])
    assert (first["priors"], first["posteriors"]) == ([0.75, 0.25], [0.5, 0.5])
    assert (first["logprob"], first["certainty"]) == (pytest.approx(math.log(0.25)), "exact")
    assert first["on_gold_passage"]["answer"] == "in 1889"
    assert (rows[1]["outcome"], rows[1]["exact"], rows[1]["reason"]) == ("failed", None, "no | pipe")
    assert (rows[1]["gold_logprob"], rows[1]["gold_impossible"]) == (None, True)


def test_the_tables_tell_what_there_is_and_what_there_is_not(report: AnswerReport) -> None:
    from rich.console import Console

    out = Console(width=200, record=True, file=None, quiet=True)
    for table in answers_tables([report], width=200):
        out.print(table)
    wide = list(answers_tables([report], None))
    assert len(wide) == 4  # answers, questions without one, where questions were lost, comparisons
    assert len(list(answers_tables([report], 60))) > 4
    text = answers_markdown([report], title="Towers", about=["pincite eval answers towers"])
    (line,) = [each for each in text.splitlines() if each.startswith("| none k=1 | 0.")][:1]
    cells = [each.strip() for each in line.strip("|").split("|")]
    assert cells[9:11] == ["—", "—"]  # no probability
    assert cells[7:9] == ["2", "0"]  # abstained, failed
    (line,) = [each for each in text.splitlines() if each.startswith("| toy k=2 | 0.") and "to" in each][:1]
    assert [each.strip() for each in line.strip("|").split("|")][7:10] == [
        "1",
        "1",
        f"{(math.exp(-0.5) + math.exp(-1)) / 3:.4f}",
    ]
    assert "no \\| pipe" in text
    assert "    pincite eval answers towers" in text


def test_the_page_escapes_what_comes_from_data(report: AnswerReport) -> None:
    page = answers_html([report], title="<Towers>", about=["a & b"])
    assert "<b>1889" not in page
    assert "in &lt;b&gt;1889&lt;/b&gt;" in page
    assert "&lt;Towers&gt;" in page
    assert "<script" not in page
    assert "http" not in page


def test_remarks_say_what_is_to_be_known(report: AnswerReport) -> None:
    told = "\n".join(answers_remarks(replace(report, total=9)))
    assert "a sample of 5 of 9 questions, drawn by the seed 0" in told
    assert "toy k=2: 1 gold answer has probability 0 and is not" in told
    assert "toy k=2: 1 answer was cut off at its" in told
    assert "toy k=2: 1 failed and is in no mean" in told


def test_remarks_and_titles_count_in_words_that_fit(report: AnswerReport) -> None:
    def told(questions: int, unanswerable: int, number: int = 1) -> str:
        probability = replace(report.outcomes[0].probability or GoldProbability(None, None, 0, 0), impossible=number)
        own = replace(report.outcomes[0].end_to_end, failed=number, cut=number)
        outcome = replace(report.outcomes[0], kept=number, dropped=number, probability=probability, end_to_end=own)
        counts = replace(report, questions=questions, unanswerable=unanswerable, outcomes=(outcome,))
        return answers_markdown([counts], title="Towers")

    one = told(1, 1)
    assert "## towers test: 1 question, without an answer, rule squad" in one
    assert "## towers: 1 question without an answer" in one
    assert "1 passage did not fit into its prompt and was not read" in one
    assert "1 reply was kept from before, with the time it took then" in one
    two = told(2, 2, 2)
    assert "## towers test: 2 questions, 2 of them without an answer, rule squad" in two
    assert "## towers: 2 questions without an answer" in two
    assert "2 passages did not fit into their prompts and were not read" in two
    assert "2 replies were kept from before, with the time they took then" in two
    assert "2 gold answers have probability 0 and are not" in two
    assert "2 answers were cut off at their" in two
    assert "2 failed and are in no mean" in two
    assert "## towers test: 3 questions, 1 of them without an answer" in told(3, 1)
    for text in (one, told(1, 0)):
        assert "1 questions" not in text
        assert "1 answers" not in text


@pytest.mark.parametrize(
    ("questions", "unanswerable", "said"),
    [
        (1, 0, ["1 question"]),
        (29, 4, ["29 questions"]),
        (30, 0, []),
        (30, 5, ["25 questions with an answer", "5 questions without an answer"]),
        (60, 30, []),
        (40, 11, ["29 questions with an answer", "11 questions without an answer"]),
        (40, 1, ["1 question without an answer"]),
        (40, 40, []),
    ],
)
def test_intervals_of_few_questions_are_said_to_be_too_narrow(
    report: AnswerReport, questions: int, unanswerable: int, said: list[str]
) -> None:
    asked = replace(report, questions=questions, unanswerable=unanswerable, total=questions)
    suffix = ": intervals by resampling are too narrow"
    assert [each.removesuffix(suffix) for each in answers_remarks(asked) if each.endswith(suffix)] == said
