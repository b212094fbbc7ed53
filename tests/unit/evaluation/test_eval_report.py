"""The report: as data, as tables, and as one page that needs nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from eval_helpers import make_set
from lxml import etree
from rich.console import Console
from selectolax.lexbor import LexborHTMLParser

from pincite.evaluation.compare import Latency, Outcome, SearchRun, SetReport, assess, compare, correct
from pincite.evaluation.datasets import Dataset, load_dataset
from pincite.evaluation.measures import Retrieved
from pincite.evaluation.page import html_page
from pincite.evaluation.report import as_data, mean_over_sets, remarks, tables

pytest.importorskip("pytrec_eval", reason="needs the extra eval")

EVIL = '<script>alert("1")</script>&amp;'


def outcome(dataset: Dataset, name: str, *rankings: str, seconds: float = 0.002) -> Outcome:
    passages = {
        query: tuple(Retrieved(d, 0, 99, 1.0) for d in ranking.split())
        for query, ranking in zip(dataset.queries, rankings, strict=True)
    }
    run = SearchRun(name, passages, (seconds,) * 3, (seconds / 2,) * 3, {f"bm25: {EVIL}": 2})
    return assess(dataset, run)


@pytest.fixture
def reports(tmp_path: Path) -> list[SetReport]:
    queries = [
        {"_id": "q1", "text": f"first {EVIL}", "metadata": {"spans": [{"document": "d1", "start": 0, "end": 5}]}},
        {"_id": "<i>q2", "text": "second"},
        {"_id": "q3", "text": "third"},
    ]
    qrels = {"q1": {"d1": 2, "d2": 0}, "<i>q2": {"d2": 1}, "q3": {"d3": 1}}
    dataset = load_dataset(make_set(tmp_path / "tiny", queries=queries, qrels=qrels))
    bad = outcome(dataset, "bad", "d2 d1", "d3 d2", "")
    good = outcome(dataset, "good", "d1", "d2", "d3", seconds=0.2)
    worse = outcome(dataset, "worse", "d3 d2 d1", "d3 d1 d2", "")
    report = SetReport(
        dataset="tiny <b>",
        split="test",
        queries=3,
        judged=5,
        unit="document",
        k=100,
        outcomes=(bad, good, worse),
        versus=(compare(dataset, good, bad), compare(dataset, worse, bad)),
        primary="nDCG@10",
        notes=("2 pairs are odd",),
        facts={"documents": 12345, "language": "english"},
    )
    other = replace(report, dataset="other", outcomes=(good, bad), versus=(compare(dataset, good, bad),))
    return correct([report, other])


def text_of(*items: object, width: int = 200) -> str:
    out = StringIO()
    console = Console(file=out, width=width, color_system=None)
    for item in items:
        console.print(item)
    return out.getvalue()


def test_as_data_is_json_and_whole(reports: list[SetReport]) -> None:
    data = json.loads(json.dumps(as_data(reports), allow_nan=False))
    first = data["sets"][0]
    assert first["dataset"] == "tiny <b>"
    assert list(first["configurations"]) == ["bad", "good", "worse"]
    good = first["configurations"]["good"]
    assert good["measures"]["nDCG@10"] == 1.0
    assert good["measures"]["span recall@1"] == 1.0
    assert good["per_query"][0]["values"]["MRR@10"] == [1.0, 1.0, 1.0]
    assert good["per_query"][0]["queries"] == ["q1", "<i>q2", "q3"]
    assert good["latency_ms"]["p50"] == pytest.approx(200)
    assert good["latency_ms"]["p50_search"] == pytest.approx(100)
    assert first["configurations"]["bad"]["queries_without_a_result"] == 1
    assert [each["name"] for each in first["comparisons"]] == ["good", "worse"]
    assert data["mean_over_sets"]["good"]["nDCG@10"] == 1.0
    assert "worse" in data["mean_over_sets"]  # of one set alone: no mean over all
    assert data["mean_over_sets"]["worse"] == {}


def test_the_mean_over_sets_counts_each_set_once(reports: list[SetReport]) -> None:
    values = [report.outcome("bad").mean("MRR@10") for report in reports]
    assert mean_over_sets(reports, "bad", "MRR@10") == pytest.approx(sum(values) / 2)
    assert mean_over_sets(reports, "worse", "MRR@10") is None
    assert mean_over_sets(reports, "bad", "nothing") is None


def test_one_set_is_a_table_of_measures(reports: list[SetReport]) -> None:
    shown = text_of(*tables(reports[:1]))
    assert "nDCG@10" in shown
    assert "span recall@10" in shown
    row = next(line for line in shown.splitlines() if line.strip().startswith("good"))
    assert "1.0000" in row
    assert "200.0" in row
    assert "100.0 / 100.0" in row
    assert "nDCG@10 against bad" in shown
    assert "p corrected" in shown


def test_several_sets_are_a_column_each(reports: list[SetReport]) -> None:
    shown = text_of(*tables(reports))
    assert "mean" in shown
    assert "Recall@100" in shown
    assert "milliseconds" in shown
    row = next(line for line in shown.splitlines() if line.strip().startswith("worse"))
    assert row.count("0.") == 1  # measured on one of the two sets: no mean
    assert "p corrected" in shown


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_narrow_table_is_in_parts_that_all_have_the_names(reports: list[SetReport], width: int) -> None:
    long = [replace(each, name=f"configuration-{each.name}-of-{'long-' * 3}name") for each in reports[0].outcomes]
    many = [replace(reports[0], dataset=f"set-number-{n}", outcomes=tuple(long), versus=()) for n in range(9)]
    for some in (reports[:1], reports, many[:1], many):
        parts = [text_of(table, width=width) for table in tables(some, width=width)]
        for part in parts:
            assert max(map(len, part.splitlines())) <= width
            assert "…" not in part
            squeezed = "".join(line.split("  ")[0].strip() for line in part.splitlines())
            names = ["good"] if some[0] is reports[0] else [outcome.name for outcome in long]
            assert all(name in squeezed for name in names), part
        whole = text_of(*tables(some), width=2000)
        assert sorted(re.findall(r"\d\.\d{4}", whole)) == sorted(re.findall(r"\d\.\d{4}", "".join(parts)))


def test_what_is_to_be_known_is_said(reports: list[SetReport]) -> None:
    lines = remarks(reports[0])
    assert "2 pairs are odd" in lines
    assert "a sample of 3 of 5 queries" in lines
    assert "bad: 1 queries found nothing and count 0" in lines
    assert f"good: bm25: {EVIL} (2 of the queries)" in lines


def test_the_page_is_one_well_formed_file_that_needs_no_other(reports: list[SetReport]) -> None:
    page = html_page(reports, title=f"Report {EVIL}", about=[f"pincite eval {EVIL}"])
    # As strict XML once the doctype and the void elements are seen to: every tag is closed, every value quoted or bare.
    body = re.sub(r"<(meta[^>]*)>", r"<\1/>", page.removeprefix("<!DOCTYPE html>\n"))
    body = re.sub(r" class=best", ' class="best"', body)
    etree.fromstring(body)
    tree = LexborHTMLParser(page)
    assert not tree.css("script, link, img, iframe, object, embed, base, form")
    for node in tree.css("*"):
        for name, value in node.attributes.items():
            assert name not in {"href", "src", "srcset", "action"}, name
            assert not name.startswith("on"), name
            assert name == "xmlns" or "://" not in (value or ""), (name, value)
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert "@import" not in page
    assert "url(" not in page


def test_everything_from_data_is_escaped(reports: list[SetReport]) -> None:
    page = html_page(reports, title=EVIL, about=[EVIL])
    assert "<script" not in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;i&gt;q2" in page
    text = LexborHTMLParser(page).body.text()  # type: ignore[union-attr]
    assert EVIL in text  # shown as it is
    assert "tiny <b>" in text


def test_the_page_shows_the_numbers_and_the_figures(reports: list[SetReport]) -> None:
    tree = LexborHTMLParser(html_page(reports, title="Report"))
    text = tree.body.text()  # type: ignore[union-attr]
    for report in reports:
        for each in report.outcomes:
            for name in each.measured.values:
                assert f"{each.mean(name):.4f}" in text
        for versus in report.versus:
            assert f"{versus.difference:+.4f}" in text
            assert f"{versus.wins} won, {versus.ties} tied, {versus.losses} lost" in text
    assert "12,345" in text
    # Of each set: a curve for every configuration, a point for every one, bars for every comparison.
    assert len(tree.css("svg")) == 2 * 2 + 3
    assert len(tree.css("polyline")) == 5
    assert len(tree.css("circle")) == 5
    assert len(tree.css("path.win")) == 2
    assert len(tree.css("path.loss")) == 1
    assert "All sets" in text


def test_every_drawn_place_is_within_its_figure(reports: list[SetReport]) -> None:
    tree = LexborHTMLParser(html_page(reports, title="Report"))
    for svg in tree.css("svg"):
        width, height = (float(each) for each in (svg.attributes["viewBox"] or "").split()[2:])
        for node in svg.css("polyline"):
            for pair in (node.attributes["points"] or "").split():
                x, y = map(float, pair.split(","))
                assert 0 <= x <= width
                assert 0 <= y <= height
        for node in svg.css("text, circle"):
            x = float(node.attributes.get("x") or node.attributes.get("cx") or "nan")
            y = float(node.attributes.get("y") or node.attributes.get("cy") or "nan")
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_a_baseline_far_below_does_not_squeeze_the_others(reports: list[SetReport]) -> None:
    first, *others = reports[0].outcomes
    high = replace(first, curve=(0.95,) * 100)
    low = replace(others[0], name="random", curve=(0.1,) * 99 + (0.97,), is_baseline=True)
    page = html_page([replace(reports[0], outcomes=(high, low), versus=())], title="Squeezed")
    one, other = LexborHTMLParser(page).css("polyline")
    assert len((one.attributes["points"] or "").split()) == 100
    assert len((other.attributes["points"] or "").split()) == 1
    assert "random 0.970" in page


@pytest.mark.parametrize("milliseconds", [0.0, 1e-4, 5.0, 1e6])
def test_odd_figures_are_drawn_too(reports: list[SetReport], milliseconds: float) -> None:
    report = reports[0]
    odd = [
        replace(
            each,
            name=f"{each.name} with a very long name indeed",
            curve=(0.0,),
            latency=Latency(milliseconds, milliseconds, milliseconds, milliseconds, 1.0),
        )
        for each in report.outcomes
    ]
    page = html_page([replace(report, outcomes=tuple(odd), versus=())], title="Odd")
    assert "nan" not in page
    assert "nothing to draw" in page
    none = replace(report, outcomes=tuple(replace(each, latency=None) for each in report.outcomes), versus=())
    assert "nothing was timed" in html_page([none], title="Odd")
    same = replace(report, versus=tuple(replace(each, differences=(0.0,) * 3) for each in report.versus))
    assert "nan" not in html_page([same], title="Same")
