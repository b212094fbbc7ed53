"""What the documents of an index are: cases, acts, provisions, and since when."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from corpus_of_law import ARTICLE_31, PENAL_CODE, corpus, judgment, markdown, put

from pincite.loaders.json_data import JsonLinesLoader, JsonLoader
from pincite.loaders.pdf import PdfLoader
from pincite.protocols import Source
from pincite.types import Document, FileOutcome
from pincite.verify.grammar import load_grammar
from pincite.verify.judgments import case_of, first_date
from pincite.verify.registry import build_registry
from pincite.verify.statutes import act_of, number_key, plain_act, provisions_of
from toys import make_document

DATA = Path(os.environ.get("PINCITE_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
GRAMMAR = load_grammar()


def needs(folder: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not (DATA / folder).is_dir(), reason="needs the evaluation data: set PINCITE_DATA")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Supreme Court of India, 26 September 1973", "1973-09-26"),
        ("9  May  2008", "2008-05-09"),
        ("September 26, 1973", "1973-09-26"),
        ("dated 26.9.1973", "1973-09-26"),
        ("1973-09-26", "1973-09-26"),
        ("the 1st of March, 1950", "1950-03-01"),
        ("30 February 1950, then 2 March 1950", "1950-03-02"),
        ("Appeal No. 26 of 1973", ""),
    ],
)
def test_the_first_date(text: str, day: str) -> None:
    assert first_date(text) == day


def test_a_case_gives_its_parties_day_and_reports() -> None:
    document = judgment("Masud Khan v State Of Uttar Pradesh", "26 September 1973\nAIR 1974 SC 28")
    case = case_of(document, GRAMMAR)
    assert case is not None
    assert case.parties == ("Masud Khan", "State Of Uttar Pradesh")
    assert case.decided == "1973-09-26"
    assert case.reports == ("AIR 1974 SC 28",)


def test_a_report_in_the_head_that_cannot_be_its_own_is_anothers() -> None:
    case = case_of(judgment("A v B", "26 September 1973\nAIR 1955 SC 28 was followed"), GRAMMAR)
    assert case is not None
    assert case.reports == ()


def test_a_part_is_no_case() -> None:
    assert case_of(make_document("# Part V — The Union\n\nText.", title="Part V The Union"), GRAMMAR) is None


def test_the_parties_may_stand_in_the_head() -> None:
    document = make_document(
        "IN THE SUPREME COURT\nMasud Khan\nVersus\nState of U.P.\n26.9.1973\n1. Text.", title="1974_3_469"
    )
    case = case_of(document, GRAMMAR)
    assert case is not None
    assert case.parties == ("Masud Khan", "State of U.P.")


@pytest.mark.parametrize(
    ("title", "act"),
    [
        ("THE INDIAN PENAL CODE", "ipc"),
        ("The Code of Criminal Procedure, 1973", "crpc"),
        ("The Code of Criminal Procedure, 1898", "crpc-1898"),
        ("bns", "bns"),
        ("Notes on bail", ""),
    ],
)
def test_which_act_a_document_is(title: str, act: str) -> None:
    assert act_of(make_document(title=title), GRAMMAR) == act


def test_an_act_that_the_grammar_lacks_has_its_own_name() -> None:
    text = "# The Foreigners Act, 1946\n\n" + "".join(f"## {i}. Heading\n\nText.\n\n" for i in range(1, 8))
    document = markdown("foreigners.md", text)
    assert plain_act(act_of(document, GRAMMAR)) == plain_act("Foreigners Act")
    assert len(provisions_of(document, None, GRAMMAR)) == 7


def test_provisions_are_spans_of_the_text() -> None:
    document = markdown("ipc.md", PENAL_CODE)
    found = provisions_of(document, GRAMMAR.acts["ipc"], GRAMMAR)
    assert [each.number for each in found] == ["161", "162", "302", "304B", "378"]
    for each in found:
        assert each.number in document.text[each.start : each.start + 12]
    assert document.text[found[2].start : found[2].end].endswith("liable to fine.")


def test_what_is_repealed_says_since_when() -> None:
    found = provisions_of(markdown("ipc.md", PENAL_CODE), GRAMMAR.acts["ipc"], GRAMMAR)
    assert [(each.number, each.repealed_from) for each in found if each.repealed] == [("161", "1988"), ("162", "1988")]


def test_numbers_that_begin_again_are_of_a_schedule() -> None:
    text = PENAL_CODE + "\n## 1. A form\n\nText.\n\n## 2. Another form\n\nText.\n"
    found = provisions_of(markdown("ipc.md", text), GRAMMAR.acts["ipc"], GRAMMAR)
    assert [each.number for each in found] == ["161", "162", "302", "304B", "378"]


def test_labels_that_are_one_too_low_are_set_right() -> None:
    labels = [*range(1, 15), 14, 15, *range(17, 41)]
    text = "# bns\n\n" + "".join(f"## Section {label}\n\nText.\n\n" for label in labels)
    found = provisions_of(markdown("bns.md", text), GRAMMAR.acts["bns"], GRAMMAR)
    assert [each.number for each in found] == [str(i) for i in range(1, 41)]
    assert [each.number for each in found if each.note] == ["15", "16"]


def test_without_headings_numbered_lines_are_provisions() -> None:
    text = "The Foreigners Act\n" + "".join(f"{i}. Heading of it.—Text.\n" for i in range(1, 8))
    found = provisions_of(make_document(text, title="The Foreigners Act, 1946"), None, GRAMMAR)
    assert [(each.number, each.title) for each in found][:2] == [("1", "Heading of it"), ("2", "Heading of it")]


@pytest.mark.parametrize(("less", "more"), [("302", "302A"), ("302A", "303"), ("99", "100"), ("376A", "376AB")])
def test_the_order_of_numbers(less: str, more: str) -> None:
    assert number_key(less) < number_key(more)


def test_versions_have_their_days(tmp_path: Path) -> None:
    name = "constitution/article-031.md"
    with corpus(tmp_path) as store:
        active = ARTICLE_31.format(status="active", more="", text="No person shall be deprived of his property.")
        gone = ARTICLE_31.format(status="repealed", more='repealed_by: "Act, 1978"\n', text="*[Article 31 omitted.]*")
        put(store, [markdown(name, active)], valid_from="1950-01-26")
        put(store, [markdown(name, gone)], valid_from="1979-06-20")
        registry = build_registry(store, GRAMMAR)
    versions = registry.acts["constitution"].provisions["article", "31"]
    assert [(each.starts, each.ends, bool(each.repealed)) for each in versions] == [
        ("1950-01-26", "1979-06-19", False),
        ("1979-06-20", "", True),
    ]
    for day, there in (("1950-01-25", 0), ("1950-01-26", 1), ("1979-06-19", 1), ("1979-06-20", 0), (None, 0)):
        assert sum(each.in_force(day) for each in versions) == there


def test_a_document_that_was_removed_ended(tmp_path: Path) -> None:
    with corpus(tmp_path) as store:
        document = markdown("ipc.md", PENAL_CODE)
        put(store, [document], valid_from="1862-01-01")
        store.remove(document.id, on="2024-07-01")
        (version,) = build_registry(store, GRAMMAR).acts["ipc"].provisions["section", "302"]
    assert (version.starts, version.ends, version.current) == ("1862-01-01", "2024-06-30", False)


def test_judgments_tie_reports_to_names(tmp_path: Path) -> None:
    cited = "1. Ali Sher v. The State, AIR 1960 All 431 was followed, and Ali Sher v. State, AIR 1960 All 431 again."
    steps: list[tuple[int, int]] = []
    with corpus(tmp_path) as store:
        put(store, [judgment("A v B", "1 May 1973", cited, "one"), judgment("C v D", "2 May 1974", cited, "two")])
        registry = build_registry(store, GRAMMAR, progress=lambda done, of: steps.append((done, of)))
    (tie,) = registry.cases.tied("AIR 1960 All 431")
    assert (tie.name.parties[0], tie.count) == ("Ali Sher", 2)
    assert steps == [(1, 2), (2, 2)]
    assert registry.summary == "2 cases, 0 acts with 0 provisions"


def test_what_was_recorded_later_is_not_seen(tmp_path: Path) -> None:
    with corpus(tmp_path) as store:
        put(store, [judgment("A v B", "1 May 1973")])
        assert build_registry(store, GRAMMAR, recorded="2000-01-01T00:00:00+00:00").cases.cases == ()
        assert len(build_registry(store, GRAMMAR, recorded="9000-01-01T00:00:00+00:00").cases.cases) == 1


def load(loader: PdfLoader | JsonLoader, path: Path) -> Document:
    return loader.load(Source(str(path), path.name, path=path))


@pytest.mark.data
@needs("indian-acts-pdf")
def test_the_sections_of_the_penal_code() -> None:
    document = load(PdfLoader(), DATA / "indian-acts-pdf" / "ipc.pdf")
    assert act_of(document, GRAMMAR) == "ipc"
    found = {each.number: each for each in provisions_of(document, GRAMMAR.acts["ipc"], GRAMMAR)}
    assert {str(i) for i in range(1, 512)} <= found.keys()
    assert {"120A", "120B", "304B", "376AB", "498A"} <= found.keys()
    assert found["302"].title == "Punishment for murder"
    assert "Whoever commits murder" in document.text[found["302"].start : found["302"].end]
    gone = {number for number, each in found.items() if each.repealed}
    assert {"13", "58", "161", "165A", "490"} <= gone
    assert len(gone) == 21
    assert found["58"].repealed_from == "1956-01-01"


@pytest.mark.data
@needs("indian-new-criminal-codes")
def test_the_sections_of_the_sanhita_are_numbered_as_in_the_act() -> None:
    document = load(JsonLoader(), DATA / "indian-new-criminal-codes" / "bns.json")
    found = provisions_of(document, GRAMMAR.acts[act_of(document, GRAMMAR)], GRAMMAR)
    assert [each.number for each in found] == [str(i) for i in range(1, 359)]
    assert [each.number for each in found if each.note] == ["187", "188", "189", "196"]
    unlawful_assembly = next(each for each in found if each.number == "189")
    assert "unlawful assembly" in document.text[unlawful_assembly.start : unlawful_assembly.end]


@pytest.mark.data
@needs("beir/aila-cases")
def test_every_judgment_of_aila_has_parties_and_a_day() -> None:
    raw = gzip.decompress((DATA / "beir" / "aila-cases" / "corpus.jsonl.gz").read_bytes())
    lines = raw.splitlines()[::20]
    documents = list(JsonLinesLoader().load_all(Source("c.jsonl", "c.jsonl", data=b"\n".join(lines))))
    assert len(documents) == len(lines)
    for document in documents:
        assert not isinstance(document, FileOutcome)
        case = case_of(document, GRAMMAR)
        assert case is not None, document.title
        assert all(case.parties) or case.parties[0].startswith("In Re"), document.title
        assert "1950" <= case.decided[:4] <= "2018", document.title
