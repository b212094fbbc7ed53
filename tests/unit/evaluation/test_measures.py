"""Measures of documents against trec_eval's own code and by hand, and of spans by hand."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import InputError, MissingExtraError
from pincite.evaluation.datasets import LabelledSpan
from pincite.evaluation.measures import MEASURES, Retrieved, measure, measure_spans, recall_curve

pytrec_eval = pytest.importorskip("pytrec_eval", reason="needs the extra eval")

DOCUMENTS = st.sampled_from([f"d{n}" for n in range(12)])
RUNS = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q4"]), st.lists(DOCUMENTS, max_size=15), max_size=4)
GRADES = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(DOCUMENTS, st.integers(-1, 4), min_size=1, max_size=8),
    min_size=1,
)
EVERY = (*MEASURES, "MRR", "MRR@1", "nDCG@3", "nDCG-exp@3", "nDCG-exp@10", "Success@2", "Recall@1")


@given(RUNS, GRADES)
def test_every_value_lies_between_0_and_1(run: dict[str, list[str]], qrels: dict[str, dict[str, int]]) -> None:
    measured = measure(run, qrels, EVERY)
    assert measured.queries == tuple(qrels)
    for name, values in measured.values.items():
        assert values.shape == (len(qrels),), name
        assert ((values >= 0) & (values <= 1 + 1e-12)).all(), name
    curve = recall_curve(run, qrels, 20)
    assert (np.diff(curve) >= -1e-12).all()
    assert curve[9] == pytest.approx(measured.mean("Recall@10"))


@given(RUNS, GRADES)
def test_it_agrees_with_trec_eval_on_random_cases(run: dict[str, list[str]], qrels: dict[str, dict[str, int]]) -> None:
    measured = measure(run, qrels, EVERY)
    direct = pytrec_eval.RelevanceEvaluator(
        {q: {d: max(0, g) for d, g in grades.items()} for q, grades in qrels.items()},
        {"ndcg_cut.3,10", "recall.1,10,100", "success.1,2,10", "recip_rank", "map"},
    )
    scored = {
        q: {d: 100.0 - place for place, d in reversed(list(enumerate(ranking)))}
        for q, ranking in run.items()
        if ranking
    }
    expected = direct.evaluate(scored)
    for row, query in enumerate(measured.queries):
        found = {name: values[row] for name, values in measured.values.items()}
        theirs = expected.get(query)
        if theirs is None:  # missing from the run
            assert set(found.values()) == {0.0}
            continue
        for ours, name in (
            ("nDCG@3", "ndcg_cut_3"),
            ("nDCG@10", "ndcg_cut_10"),
            ("Recall@1", "recall_1"),
            ("Recall@100", "recall_100"),
            ("Success@1", "success_1"),
            ("Success@2", "success_2"),
            ("MRR", "recip_rank"),
            ("MAP", "map"),
        ):
            assert found[ours] == pytest.approx(theirs[name], abs=1e-12), ours
        assert found["MRR@10"] == (theirs["recip_rank"] if theirs["recip_rank"] > 0.099 else 0)
        assert found["MRR@1"] == (1.0 if theirs["recip_rank"] == 1 else 0.0)


@given(RUNS, GRADES)
def test_it_agrees_with_a_plain_reckoning(run: dict[str, list[str]], qrels: dict[str, dict[str, int]]) -> None:
    """By the definitions, without anybody's library."""
    measured = measure(run, qrels, EVERY)
    for row, (query, grades) in enumerate(qrels.items()):
        ranking = list(dict.fromkeys(run.get(query, [])))
        for name, gain in (("nDCG@3", float), ("nDCG-exp@3", lambda g: 2.0**g - 1)):
            gains = [gain(max(0, grades.get(d, 0))) for d in ranking[:3]]
            ideal = sorted((gain(g) for g in grades.values() if g > 0), reverse=True)[:3]
            dcg, best = (sum(g / math.log2(i + 2) for i, g in enumerate(each)) for each in (gains, ideal))
            assert measured.values[name][row] == pytest.approx(dcg / best if best else 0.0), name
        relevant = {d for d, g in grades.items() if g > 0}
        share = len(relevant & set(ranking[:10])) / len(relevant) if relevant else 0.0
        assert measured.values["Recall@10"][row] == pytest.approx(share)


def test_the_same_document_thrice_counts_once() -> None:
    measured = measure({"q": ["a", "a", "a"]}, {"q": {"a": 1, "b": 1}}, ["Recall@3", "nDCG@3", "MAP"])
    assert measured.values["Recall@3"][0] == 0.5
    assert measured.values["nDCG@3"][0] == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert measured.values["nDCG@3"][0] == pytest.approx(0.613, abs=5e-4)
    assert measured.values["MAP"][0] == 0.5
    assert measured.duplicates == 2
    # What stands behind the repeats moves up.
    assert measure({"q": ["x", "x", "a"]}, {"q": {"a": 1}}, ["MRR@10"]).values["MRR@10"][0] == 0.5


def test_the_ideal_is_of_the_judged_documents_cut_at_k() -> None:
    # One relevant document at the first of ten places is perfect.
    first = measure({"q": ["a", *"bcdefghij"]}, {"q": {"a": 1}}, ["nDCG@10"])
    assert first.values["nDCG@10"][0] == 1.0
    # One of five found: the ideal has all five.
    one_of_five = measure({"q": ["a"]}, {"q": dict.fromkeys("abcde", 1)}, ["nDCG@10"])
    assert one_of_five.values["nDCG@10"][0] == pytest.approx(0.339, abs=5e-4)
    # Five relevant, cut at 2: two places can be right, and are.
    assert measure({"q": ["a", "b"]}, {"q": dict.fromkeys("abcde", 1)}, ["nDCG@2"]).values["nDCG@2"][0] == 1.0


def test_both_gains_by_name() -> None:
    measured = measure({"q": ["low", "high"]}, {"q": {"high": 3, "low": 1}}, ["nDCG@2", "nDCG-exp@2"])
    half = 1 / math.log2(3)
    assert measured.values["nDCG@2"][0] == pytest.approx((1 + 3 * half) / (3 + 1 * half))
    assert measured.values["nDCG-exp@2"][0] == pytest.approx((1 + 7 * half) / (7 + 1 * half))
    with pytest.raises(InputError, match="grades to 30"):
        measure({}, {"q": {"a": 31}}, ["nDCG-exp@2"])


def test_the_order_is_the_order_and_ids_decide_nothing() -> None:
    """trec_eval breaks ties by id: a long ranking must not have any, whatever its ids."""
    many = [f"{n:05}" for n in range(20_000)]
    for ranking in (many, many[::-1]):
        target = ranking[12_345]
        assert measure({"q": ranking}, {"q": {target: 1}}, ["MRR"]).values["MRR"][0] == pytest.approx(1 / 12_346)


def test_queries_that_are_missing_unjudged_or_without_a_relevant_document() -> None:
    run = {"found": ["a"], "empty": [], "nobody judged": ["a"], "nothing relevant": ["a"]}
    qrels = {"found": {"a": 1}, "empty": {"a": 1}, "absent": {"a": 1}, "nothing relevant": {"a": 0, "b": -1}}
    measured = measure(run, qrels, ["nDCG@10", "Success@1"])
    assert list(measured.values["nDCG@10"]) == [1, 0, 0, 0]
    assert measured.mean("Success@1") == 0.25
    assert (measured.missing, measured.unjudged, measured.without_relevant) == (2, 1, 1)


def test_a_grade_below_0_is_not_relevant() -> None:
    measured = measure({"q": ["bad", "good"]}, {"q": {"bad": -2, "good": 1}}, ["nDCG@10", "Recall@10", "MRR@10"])
    assert measured.values["Recall@10"][0] == 1.0
    assert measured.values["MRR@10"][0] == 0.5
    assert measured.values["nDCG@10"][0] == pytest.approx(1 / math.log2(3))


def test_success_is_not_recall() -> None:
    measured = measure({"q": ["a", "x"]}, {"q": {"a": 1, "b": 1}}, ["Success@1", "Recall@1"])
    assert measured.values["Success@1"][0] == 1.0
    assert measured.values["Recall@1"][0] == 0.5


@pytest.mark.parametrize("name", ["ndcg@10", "Recall", "nDCG@0", "Recall@x", "Precision@5", "MAP@10", ""])
def test_an_unknown_measure_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="there are nDCG@k"):
        measure({}, {"q": {"a": 1}}, [name])


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytrec_eval", None)
    with pytest.raises(MissingExtraError, match=r"pincite\[eval\]"):
        measure({"q": ["a"]}, {"q": {"a": 1}}, ["nDCG@10"])


# Spans


def at(document: str, start: int, end: int) -> Retrieved:
    return Retrieved(document, start, end, 0.0)


def test_a_span_is_found_where_one_passage_holds_it_whole() -> None:
    spans = {"q": (LabelledSpan("d", 10, 20),)}
    ranking = {"q": [at("other", 0, 99), at("d", 0, 19), at("d", 11, 30), at("d", 10, 20)]}
    found = measure_spans(ranking, spans, cutoffs=(2, 3, 4))
    assert [found.values[f"span recall@{k}"][0] for k in (2, 3, 4)] == [0, 0, 1]
    assert [found.values[f"span MRR@{k}"][0] for k in (2, 3, 4)] == [0, 0, 0.25]
    # Two halves together hold it one place earlier.
    assert [found.values[f"span union recall@{k}"][0] for k in (2, 3, 4)] == [0, 1, 1]


def test_a_gap_between_two_passages_is_not_covered_unless_it_is_white_space() -> None:
    spans = {"q": (LabelledSpan("d", 0, 11),)}
    ranking = {"q": [at("d", 0, 5), at("d", 6, 11)]}
    name = "span union recall@5"
    assert measure_spans(ranking, spans, cutoffs=(5,)).values[name][0] == 0
    assert measure_spans(ranking, spans, cutoffs=(5,), texts={"d": "first other"}).values[name][0] == 1
    assert measure_spans(ranking, spans, cutoffs=(5,), texts={"d": "first-other"}).values[name][0] == 0


def test_white_space_at_the_ends_of_a_label_need_not_be_covered() -> None:
    spans = {"q": (LabelledSpan("d", 0, 7),)}
    ranking = {"q": [at("d", 1, 5)]}
    assert measure_spans(ranking, spans, cutoffs=(1,)).values["span recall@1"][0] == 0
    assert measure_spans(ranking, spans, cutoffs=(1,), texts={"d": " here  and"}).values["span recall@1"][0] == 1


def test_spans_of_one_query_share_its_value_and_queries_without_spans_are_left_out() -> None:
    spans = {"q": (LabelledSpan("d", 0, 5), LabelledSpan("e", 0, 5), LabelledSpan("d", 0, 5)), "none": ()}
    found = measure_spans({"q": [at("x", 0, 9), at("d", 0, 9)], "other": []}, spans, cutoffs=(5,))
    assert found.queries == ("q",)
    assert found.values["span recall@5"][0] == 0.5  # the same label twice is one
    assert found.values["span MRR@5"][0] == 0.5


def test_a_passage_that_comes_twice_takes_one_place() -> None:
    spans = {"q": (LabelledSpan("d", 0, 5),)}
    found = measure_spans({"q": [at("x", 0, 9), at("x", 0, 9), at("d", 0, 9)]}, spans, cutoffs=(2,))
    assert found.values["span recall@2"][0] == 1
    assert found.duplicates == 1


@given(
    st.lists(st.tuples(st.sampled_from("de"), st.integers(0, 20), st.integers(1, 12)), max_size=8),
    st.lists(st.tuples(st.sampled_from("de"), st.integers(0, 20), st.integers(1, 12)), min_size=1, max_size=4),
)
def test_spans_agree_with_a_count_of_characters(
    passages: list[tuple[str, int, int]], labels: list[tuple[str, int, int]]
) -> None:
    ranking = [at(d, a, a + size) for d, a, size in passages]
    spans = list(dict.fromkeys(LabelledSpan(d, a, a + size) for d, a, size in labels))
    found = measure_spans({"q": ranking}, {"q": spans}, cutoffs=(3,))
    first = list(dict.fromkeys(ranking))[:3]
    whole = [
        any(p.document_id == s.document_id and p.start <= s.start and s.end <= p.end for p in first) for s in spans
    ]
    covered = {(p.document_id, i) for p in first for i in range(p.start, p.end)}
    union = [all((s.document_id, i) in covered for i in range(s.start, s.end)) for s in spans]
    assert found.values["span recall@3"][0] == pytest.approx(sum(whole) / len(spans))
    assert found.values["span union recall@3"][0] == pytest.approx(sum(union) / len(spans))
    assert found.values["span union recall@3"][0] >= found.values["span recall@3"][0]
    assert all(0 <= values[0] <= 1 for values in found.values.values())


@pytest.mark.data
def test_it_agrees_with_ir_measures_on_a_real_set() -> None:
    import os

    import ir_measures
    from ir_measures import AP, RR, R, Success, nDCG

    from pincite.evaluation.baselines import constant_run
    from pincite.evaluation.datasets import load_dataset

    root = Path(os.environ.get("PINCITE_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
    if not (root / "beir" / "cranfield").is_dir():
        pytest.skip(f"no evaluation data at {root}")
    dataset = load_dataset(root / "beir" / "cranfield")
    run = constant_run(dataset, [each.id for each in dataset.documents()], 100)
    measured = measure(run, dataset.qrels)
    scored = [ir_measures.ScoredDoc(q, d, -float(i)) for q, ranking in run.items() for i, d in enumerate(ranking)]
    qrels = [ir_measures.Qrel(q, d, g) for q, grades in dataset.qrels.items() for d, g in grades.items()]
    theirs = ir_measures.calc_aggregate([nDCG @ 10, R @ 100, RR @ 10, Success @ 10, AP], qrels, scored)
    for ours, name in (("nDCG@10", nDCG @ 10), ("Recall@100", R @ 100), ("MRR@10", RR @ 10), ("MAP", AP)):
        assert measured.mean(ours) == pytest.approx(theirs[name]), ours
    assert measured.mean("Success@10") == pytest.approx(theirs[Success @ 10])
    assert measured.mean("nDCG@10") > 0
